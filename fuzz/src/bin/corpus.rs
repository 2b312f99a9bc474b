//! `cargo run -p fuzz [-- --check | --list]`: writes the seeds in `fuzz/corpus`, or reports outdated ones, or
//! lists the targets.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use fuzz::seeds;

fn main() -> io::Result<ExitCode> {
    let folder = seeds::folder();
    let mut out = io::stdout().lock();
    match env::args().nth(1).as_deref() {
        Some("--list") => {
            fuzz::targets().iter().try_for_each(|target| writeln!(out, "{}", target.name))?;
            return Ok(ExitCode::SUCCESS);
        }
        Some("--check") => {}
        _ => {
            seeds::write(&folder)?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    let wrong = seeds::check(&folder)?;
    for line in &wrong {
        writeln!(out, "fuzz/corpus/{line}")?;
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
