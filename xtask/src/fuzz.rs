//! Builds the fuzz targets once and runs each for a while, several at a time.
//!
//! It works with the stable toolchain: LLVM's own pass provides coverage, and the crate `fuzz` links libFuzzer.
//! Inputs that break a target are written to `target/fuzz/found`; add them to `fuzz/corpus` with a name that
//! begins with `found-`.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::{cargo, host};

/// Instrumentation by LLVM: a counter for every edge, and tracing of comparisons. Code has fixed addresses,
/// because the choices of libFuzzer depend on them.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions -Coverflow-checks -Crelocation-model=static --cfg fuzzing";

/// Memory limit of a target in MiB.
const MEMORY: u32 = 512;

struct Options {
    seconds: u32,
    jobs: usize,
    /// The seed of random numbers. Without one, runs differ, and each starts with the corpus that the previous
    /// one found.
    seed: Option<u32>,
    targets: Vec<String>,
}

/// A running target, and the file with its output.
struct Running {
    name: String,
    child: Child,
    log: PathBuf,
}

/// Runs the targets that the arguments select.
pub(crate) fn run(arguments: &[&str], out: &mut dyn Write) -> io::Result<ExitCode> {
    let options = parse(arguments)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("target/fuzz");
    let program = build(&root, &folder)?;
    let mut names: VecDeque<String> = targets(&root)?.into();
    names.retain(|name| options.targets.is_empty() || options.targets.contains(name));
    let found = folder.join("found");
    fs::create_dir_all(&found)?;
    let (mut running, mut broken) = (VecDeque::new(), 0);
    loop {
        while running.len() < options.jobs
            && let Some(name) = names.pop_front()
        {
            running.push_back(start(&root, &folder, &program, name, &options)?);
        }
        let Some(Running { name, mut child, log }) = running.pop_front() else { break };
        let ended = child.wait()?;
        let said = fs::read_to_string(&log).unwrap_or_default();
        let figure = |key: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(key));
            line.map_or("?", |line| line.trim_start_matches(':').trim()).to_owned()
        };
        let runs = figure("stat::number_of_executed_units");
        let rate = figure("stat::average_exec_per_sec");
        let peak = figure("stat::peak_rss_mb");
        let verdict = if ended.success() { "nothing found" } else { "BROKEN" };
        writeln!(out, "{name:28} {runs:>10} runs {rate:>7}/s {peak:>4} MB  {verdict}")?;
        if !ended.success() {
            broken += 1;
            let last: Vec<&str> = said.lines().rev().take(40).collect();
            last.iter().rev().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        out.flush()?;
    }
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse(arguments: &[&str]) -> io::Result<Options> {
    let mut options = Options { seconds: 10, jobs: 2, seed: None, targets: Vec::new() };
    let mut arguments = arguments.iter();
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    while let Some(&argument) = arguments.next() {
        let mut number = || {
            let number = arguments.next().and_then(|number| number.parse::<u32>().ok());
            number.filter(|&number| number > 0).ok_or_else(|| wrong("a number is missing"))
        };
        match argument {
            "--seconds" => options.seconds = number()?,
            "--jobs" => options.jobs = number()? as usize,
            "--seed" => options.seed = Some(number()?),
            name if name.starts_with('-') => {
                return Err(wrong("unknown option; valid ones are --seconds, --jobs and --seed"));
            }
            name => options.targets.push(name.to_owned()),
        }
    }
    Ok(options)
}

/// Builds the program with all targets. `--target` excludes build scripts and macros from instrumentation.
fn build(root: &Path, folder: &Path) -> io::Result<PathBuf> {
    let host = host()?;
    let built = Command::new(cargo())
        .args(["build", "--locked", "--profile", "fuzz", "-p", "fuzz", "--bin", "fuzz"])
        .args(["--features", "libfuzzer", "--target", &host, "--target-dir"])
        .arg(folder)
        .env("RUSTFLAGS", COVERAGE)
        .current_dir(root)
        .status()?;
    if !built.success() {
        return Err(io::Error::other("the fuzz targets do not build"));
    }
    Ok(folder.join(host).join("fuzz/fuzz"))
}

/// The names of all targets.
fn targets(root: &Path) -> io::Result<Vec<String>> {
    let arguments = ["run", "--quiet", "--locked", "-p", "fuzz", "--", "--list"];
    let listed = Command::new(cargo()).args(arguments).current_dir(root).output()?;
    Ok(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect())
}

fn start(
    root: &Path,
    folder: &Path,
    program: &Path,
    name: String,
    options: &Options,
) -> io::Result<Running> {
    let Options { seconds, seed, .. } = options;
    let grown = folder.join(if seed.is_some() { "seeded" } else { "corpus" }).join(&name);
    if seed.is_some() && grown.exists() {
        fs::remove_dir_all(&grown)?;
    }
    fs::create_dir_all(&grown)?;
    let log = folder.join(format!("{name}.log"));
    let mut command = Command::new(program);
    command
        .arg(&grown)
        .args(seeds(root, &name))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY}"))
        .arg(format!("-artifact_prefix={}/found/{name}-", folder.display()))
        .args(["-max_len=16384", "-timeout=10", "-print_final_stats=1"])
        .args(seed.map(|seed| format!("-seed={seed}")))
        .env("FUZZ_TARGET", &name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log)?);
    Ok(Running { child: command.spawn()?, name, log })
}

/// The folders with initial inputs.
fn seeds(root: &Path, name: &str) -> Vec<PathBuf> {
    let mut folders = vec![root.join("fuzz/corpus").join(name)];
    if matches!(name, "program" | "capture") {
        folders.push(root.join("samples"));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}
