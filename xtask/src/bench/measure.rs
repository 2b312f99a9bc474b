//! Measures a run of a program: time, memory, instructions.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use xtask::callgrind::{self, Counted};

use crate::bench::programs::Program;

/// Interval at which the memory of a process is read.
const LOOK: Duration = Duration::from_millis(3);

/// The cost of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// From the start of the process to its end.
    pub(super) wall: Duration,
    /// User and system time of all its threads.
    pub(super) cpu: Duration,
    /// Peak of anonymous memory in bytes.
    pub(super) memory: u64,
}

impl Cost {
    /// The minimum time of two runs, because disturbances only make a run slower, and the maximum memory,
    /// because sampling may miss the peak.
    fn best(self, other: Cost) -> Cost {
        Cost {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
            memory: self.memory.max(other.memory),
        }
    }
}

/// Runs all programs on a file in turn, several times, and returns the best run of each.
pub(super) fn in_turn(programs: &[Program], file: &Path, runs: u32) -> io::Result<Vec<Cost>> {
    let turn = || programs.iter().map(|program| run(program, file)).collect::<io::Result<Vec<_>>>();
    let mut best = turn()?;
    for _ in 1..runs {
        for (best, cost) in best.iter_mut().zip(turn()?) {
            *best = best.best(cost);
        }
    }
    Ok(best)
}

/// Runs a program on a file; its output is discarded.
#[expect(clippy::disallowed_methods, reason = "this measures the time of this machine")]
fn run(program: &Program, file: &Path) -> io::Result<Cost> {
    let mut command = Command::new(&program.path);
    command.args(program.arguments(file)).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (before, began) = (cpu()?, Instant::now());
    let mut child = command.spawn()?;
    let (status, is_over) = (format!("/proc/{}/status", child.id()), AtomicBool::new(false));
    let (ended, wall, memory) = thread::scope(|scope| {
        let watch = scope.spawn(|| peak(&status, &is_over));
        let ended = child.wait();
        let wall = began.elapsed();
        is_over.store(true, Ordering::Relaxed);
        (ended, wall, watch.join().unwrap_or_default())
    });
    let code = ended?.code();
    if !code.is_some_and(|code| program.codes.contains(&code)) {
        let (name, file) = (&program.name, file.display());
        let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
        return Err(io::Error::other(format!("{name} on {file} ended with {code}")));
    }
    Ok(Cost { wall, cpu: cpu()?.saturating_sub(before), memory })
}

/// The CPU time of all child processes that have ended.
fn cpu() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let times = [usage.user_time(), usage.system_time()];
    let micros = times.map(|time| time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64);
    Ok(Duration::from_micros(micros.iter().sum()))
}

/// Peak of anonymous memory of a process until it ends, in bytes.
fn peak(status: &str, is_over: &AtomicBool) -> u64 {
    let mut most = 0;
    while !is_over.load(Ordering::Relaxed) {
        most = most.max(fs::read_to_string(status).map_or(0, |status| anonymous(&status)));
        thread::sleep(LOOK);
    }
    most
}

/// The value of RssAnon in bytes.
fn anonymous(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// What a program executes on a file, outside of the kernel.
pub(super) fn executed(program: &Program, file: &Path) -> io::Result<Counted> {
    callgrind::count(Command::new(&program.path).args(program.arguments(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_other_programs_are_read() {
        assert_eq!(anonymous("VmRSS:\t  90 kB\nRssAnon:\t     88 kB\nRssFile: 2 kB\n"), 90_112);
        assert_eq!(anonymous("State:\tZ (zombie)\n"), 0);
    }

    #[test]
    fn the_best_of_two_runs_has_the_least_time_and_the_most_memory() {
        let cost = |wall, cpu, memory| Cost {
            wall: Duration::from_secs(wall),
            cpu: Duration::from_secs(cpu),
            memory,
        };
        assert_eq!(cost(3, 2, 10).best(cost(2, 4, 20)), cost(2, 2, 20));
    }
}
