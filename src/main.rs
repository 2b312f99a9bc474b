//! The program: passes the arguments to the library, and returns its exit code.

mod standard_output;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use gamewire::capture::Stop;
use gamewire::{FileId, Terminal};
use standard_output::Output;

fn main() -> ExitCode {
    let stdout = io::stdout();
    let terminal = Terminal {
        out: stdout.is_terminal(),
        err: io::stderr().is_terminal(),
        columns: columns(&stdout),
        rows: terminal_size::terminal_size_of(&stdout).map(|(_, height)| height.0.into()),
        file: FileId::of_standard_output(),
        stop: Some(Stop::at_signals),
        progress: None,
    };
    let code = gamewire::run(std::env::args_os(), &mut Output::new(), &mut io::stderr(), terminal);
    ExitCode::from(code)
}

/// The width of standard output: the value of `COLUMNS`, or else the width of the terminal.
fn columns(stdout: &io::Stdout) -> Option<usize> {
    let given = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    let is = || terminal_size::terminal_size_of(stdout).map(|(width, _)| width.0.into());
    stdout.is_terminal().then(|| given().or_else(is))?
}
