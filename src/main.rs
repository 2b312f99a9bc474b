//! The binary: hands the arguments to the library and its outcome to the shell.

use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;

use gamewire::Terminal;

fn main() -> ExitCode {
    let stdout = io::stdout();
    let size = terminal_size::terminal_size_of(&stdout);
    let terminal = Terminal {
        out: stdout.is_terminal(),
        err: io::stderr().is_terminal(),
        columns: size.map(|(width, _)| width.0.into()),
    };
    let mut out = BufWriter::with_capacity(1 << 16, stdout.lock());
    let code = gamewire::run(std::env::args_os(), &mut out, &mut io::stderr(), terminal);
    ExitCode::from(code)
}
