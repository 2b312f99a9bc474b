//! The profile of which branches packets take, with which packages are optimized: recorded by an instrumented build of the
//! program on generated captures.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use captures::bulk::{self, Input, Size};

use crate::{cargo, host};

/// Packets of each capture.
const PACKETS: u64 = 50_000;

/// What the instrumented program runs on each.
const COMMANDS: [&[&str]; 6] = [
    &["check", "-q"],
    &["dissect", "--format", "json"],
    &["summary"],
    &["diagnose"],
    &["abuse"],
    &["flows"],
];

/// Records `target/profile/gamewire.profdata`. `LLVM_PROFDATA` names the tool that merges profiles, if it is not in
/// rustup's component llvm-tools.
pub(crate) fn run(root: &Path, out: &mut dyn Write) -> io::Result<ExitCode> {
    let merger = merger()?;
    let folder = root.join("target/profile");
    let recorded = folder.join("recorded");
    if recorded.exists() {
        fs::remove_dir_all(&recorded)?;
    }
    fs::create_dir_all(&recorded)?;
    let program = instrumented(root, &folder, &recorded)?;
    for input in Input::LARGE {
        let capture = folder.join(input.name()).with_extension("pcap");
        let mut file = BufWriter::new(File::create(&capture)?);
        bulk::write(input, Size::Packets(PACKETS), &mut file)?;
        file.flush()?;
        for command in COMMANDS {
            let ran = Command::new(&program)
                .args(command)
                .args(["--no-config", "--threads", "1"])
                .arg(&capture)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            // That a capture breaks rules is no failure here.
            if !matches!(ran.code(), Some(0 | 1)) {
                return Err(io::Error::other(format!("gamewire {command:?} fails: {ran}")));
            }
        }
        fs::remove_file(&capture)?;
    }
    let profile = folder.join("gamewire.profdata");
    let merged =
        Command::new(&merger).arg("merge").arg("-o").arg(&profile).arg(&recorded).status()?;
    if !merged.success() {
        return Err(io::Error::other(format!("{} fails", merger.display())));
    }
    writeln!(out, "wrote {}", profile.display())?;
    Ok(ExitCode::SUCCESS)
}

/// The program, which records what it executes.
fn instrumented(root: &Path, folder: &Path, recorded: &Path) -> io::Result<PathBuf> {
    // With a target named, what runs while it is built records nothing.
    let (built, host) = (folder.join("build"), host()?);
    let built_well = Command::new(cargo())
        .args(["build", "--quiet", "--profile", "dist", "--locked", "-p", "gamewire"])
        .args(["--features", "parquet", "--target", &host])
        .env("RUSTFLAGS", format!("-Cprofile-generate={}", recorded.display()))
        .env("CARGO_TARGET_DIR", &built)
        .current_dir(root)
        .status()?;
    if !built_well.success() {
        return Err(io::Error::other("gamewire does not build with -Cprofile-generate"));
    }
    Ok(built.join(host).join("dist/gamewire"))
}

/// The tool that merges profiles: it must be of the compiler's version of LLVM.
fn merger() -> io::Result<PathBuf> {
    if let Some(named) = std::env::var_os("LLVM_PROFDATA") {
        return Ok(named.into());
    }
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim_end().to_owned();
    let tool = Path::new(&sysroot).join("lib/rustlib").join(host()?).join("bin/llvm-profdata");
    if tool.exists() {
        return Ok(tool);
    }
    let how = "`rustup component add llvm-tools` brings it, or LLVM_PROFDATA names it";
    Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no llvm-profdata here: {how}")))
}
