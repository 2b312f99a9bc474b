//! Counts the instructions for a packet or a message in each stage with valgrind's callgrind:
//! `cargo bench --bench instructions [-- STAGE...]`. Unlike times, these hardly depend on the load of the
//! machine.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a program")]

mod stages;

use std::env;
use std::io;
use std::process::{Command, ExitCode};

use xtask::callgrind;

use stages::{STAGES, Stage};

/// The argument that makes this program run the rounds of one stage.
const ROUNDS: &str = "--rounds";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [mode, name, rounds] = &arguments[..]
        && mode == ROUNDS
    {
        return go(name, rounds);
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("instructions are counted by `cargo bench`, not by tests");
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|name| !name.starts_with('-')).collect();
    let is_wanted =
        |stage: &&Stage| wanted.is_empty() || wanted.iter().any(|name| name.as_str() == stage.name);
    println!("{:14} {:>7} {:>12}", "stage", "items", "instructions");
    for stage in STAGES.iter().filter(is_wanted) {
        match per_item(stage) {
            Ok((items, counted)) => println!("{:14} {items:>7} {counted:>12}", stage.name),
            Err(error) => {
                eprintln!("{}: {error}", stage.name);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs the rounds of one stage under callgrind.
fn go(name: &str, rounds: &str) -> ExitCode {
    let stage = STAGES.iter().find(|stage| stage.name == name);
    let (Some(stage), Ok(rounds)) = (stage, rounds.parse::<u32>()) else {
        return ExitCode::FAILURE;
    };
    let mut prepared = (stage.prepare)();
    println!("{}", prepared.items);
    (0..rounds).for_each(|_| prepared.round());
    ExitCode::SUCCESS
}

/// Items of a round, and instructions for each: the difference between three rounds and one, which excludes
/// preparing the input and one-time work of the first round.
fn per_item(stage: &Stage) -> io::Result<(u64, u64)> {
    let (items, one) = count(stage, 1)?;
    let (_, three) = count(stage, 3)?;
    Ok((items, three.saturating_sub(one) / 2 / items.max(1)))
}

/// Items of a round, and instructions of a run.
fn count(stage: &Stage, rounds: u32) -> io::Result<(u64, u64)> {
    let mut program = Command::new(env::current_exe()?);
    let counted = callgrind::count(program.args([ROUNDS, stage.name, &rounds.to_string()]))?;
    let items = String::from_utf8_lossy(&counted.out).trim().parse();
    Ok((items.map_err(io::Error::other)?, counted.instructions))
}
