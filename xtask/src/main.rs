//! `cargo run -p xtask -- COMMAND`: tools for developers.

mod attack;
mod bench;
mod fuzz;
mod licenses;
mod profile;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use captures::samples;
use xtask::{PAGES, PARTS, VECTORS, fixed_limits, with_part};

const USAGE: &str = "usage: cargo run -p xtask -- COMMAND
  samples [--check]    writes samples/, or says what there is out of date
  docs                 writes docs/rules.md and docs/fields.md, and parts of other pages: what gamewire
                       itself makes, and limits in the code
  fuzz [--seconds N] [--jobs N] [TARGET...]
                       builds the fuzz targets and runs each for N seconds (10)
  bench [OPTION...]    measures gamewire, as it is packaged, and other programs on large captures, and
                       writes the tables of docs/performance.md; bench --help has the options
  mutate [--count N]   runs the release on N (1000) damaged captures, within 64 MiB
  exhaust              runs the release on captures made to exhaust it, within 64 MiB
  report               writes samples/report.html, the report of all samples, which is not kept
  licenses [FOLDER]    holds all dependencies, or those of another workspace, against deny.toml
  play PORT SCRIPT FILE  writes the capture that an exchange makes (xtask/captures/src/exchange), of servers
                       with this UDP port
  profile              records target/profile/gamewire.profdata, with which packages are optimized";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            // If standard error is closed, the exit code still reports it.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> io::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("samples");
    let mut out = io::stdout().lock();
    match arguments {
        ["samples"] => {
            for name in samples::write(&folder)? {
                writeln!(out, "wrote samples/{name}")?;
            }
            write_vectors(&root)?;
            Ok(ExitCode::SUCCESS)
        }
        ["samples", "--check"] => {
            let wrong = samples::check(&folder)?;
            for line in &wrong {
                writeln!(out, "samples/{line}")?;
            }
            Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["docs"] => {
            for (page, arguments) in PAGES {
                std::fs::write(root.join(page), written(&root, arguments)?)?;
                writeln!(out, "wrote {page}")?;
            }
            for (page, part, arguments) in PARTS {
                let file = root.join(page);
                let text = match arguments {
                    [] => fixed_limits::table(&root)?,
                    _ => String::from_utf8(written(&root, arguments)?).map_err(io::Error::other)?,
                };
                let updated = with_part(&std::fs::read_to_string(&file)?, part, &text);
                let lacks = || io::Error::other(format!("{page} has no part {part}"));
                std::fs::write(file, updated.ok_or_else(lacks)?)?;
                writeln!(out, "wrote {part} in {page}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        ["fuzz", arguments @ ..] => fuzz::run(arguments, &mut out),
        ["bench", arguments @ ..] => bench::run(&root, arguments, &mut out),
        ["play", port, script, file] => {
            let port = port
                .parse()
                .map_err(|_| io::Error::other("PORT must be a number from 0 to 65535"))?;
            let script = std::fs::read_to_string(script)?;
            let capture =
                captures::exchange::capture(&script, &captures::exchange::Setting::udp(port));
            std::fs::write(file, capture.map_err(io::Error::other)?.pcap())?;
            Ok(ExitCode::SUCCESS)
        }
        ["mutate"] => attack::mutate(&root, 1000, &mut out),
        ["mutate", "--count", count] => match count.parse() {
            Ok(count) => attack::mutate(&root, count, &mut out),
            Err(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE)),
        },
        ["exhaust"] => attack::exhaust(&root, &mut out),
        ["report"] => {
            let files = samples::all().map(|sample| format!("samples/{}", sample.name));
            let (files, page) = (Vec::from_iter(files), format!("samples/{}", samples::REPORT));
            let arguments = ["report", "--no-config", "-o", &page];
            let files = files.iter().map(String::as_str);
            written(&root, &Vec::from_iter(arguments.into_iter().chain(files)))?;
            Ok(ExitCode::SUCCESS)
        }
        ["licenses"] => licenses::run(&root, &root, &mut out),
        ["licenses", folder] => licenses::run(&root, &root.join(folder), &mut out),
        ["profile"] => profile::run(&root, &mut out),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE)),
    }
}

/// The cargo that runs this.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds gamewire with a profile of `Cargo.toml`, and returns its path.
fn built(root: &Path, profile: &str) -> io::Result<PathBuf> {
    let arguments = ["build", "--profile", profile, "--locked", "-p", "gamewire"];
    if !Command::new(cargo()).args(arguments).current_dir(root).status()?.success() {
        return Err(io::Error::other("gamewire does not build"));
    }
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(root.join(target).join(profile).join("gamewire"))
}

/// Writes the exchanges of some samples.
fn write_vectors(root: &Path) -> io::Result<()> {
    let folder = root.join("samples").join(samples::VECTORS);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let folder = folder.to_string_lossy();
    let arguments = ["export", "--no-config", "--format", "vectors", "-o", &folder];
    written(root, &Vec::from_iter(arguments.into_iter().chain(VECTORS))).map(drop)
}

/// The default target of rustc.
fn host() -> io::Result<String> {
    let version = Command::new("rustc").arg("-vV").output()?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| io::Error::other("rustc -vV does not report a host"))
}

/// A page that gamewire generates. It runs the program, since this crate does not depend on its code.
fn written(root: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let asked = Command::new(cargo())
        .args(["run", "--quiet", "--locked", "-p", "gamewire", "--"])
        .args(arguments)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()?;
    if !asked.status.success() {
        return Err(io::Error::other(format!("gamewire {arguments:?} fails")));
    }
    Ok(asked.stdout)
}
