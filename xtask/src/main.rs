//! `cargo run -p xtask -- COMMAND`: what developers run beside `cargo`.

mod fuzz;

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use xtask::samples;

const USAGE: &str = "usage: cargo run -p xtask -- COMMAND
  samples [--check]                  writes samples/, or says what there is out of date
  fuzz [--seconds N] [--jobs N] [TARGET...]
                                     builds the fuzz targets and runs each for N seconds (10)";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            // Where not even standard error takes it, the exit code still tells.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[&str]) -> io::Result<ExitCode> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let mut out = io::stdout().lock();
    match arguments {
        ["samples"] => {
            for name in samples::write(&folder)? {
                writeln!(out, "wrote samples/{name}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        ["samples", "--check"] => {
            let wrong = samples::check(&folder)?;
            for line in &wrong {
                writeln!(out, "samples/{line}")?;
            }
            Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["fuzz", arguments @ ..] => fuzz::run(arguments, &mut out),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE)),
    }
}
