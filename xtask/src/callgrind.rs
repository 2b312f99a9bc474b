//! Counts the instructions that a program executes outside of the kernel, with valgrind's callgrind.

use std::io;
use std::process::{Command, Stdio};

/// The result of a run under callgrind.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Instructions.
    pub instructions: u64,
    /// Its standard output.
    pub out: Vec<u8>,
}

/// Runs a program, given by its path and arguments, under callgrind.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if valgrind is not installed; valgrind's output if it fails.
pub fn count(program: &Command) -> io::Result<Counted> {
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program.get_program())
        .args(program.get_args())
        .stdin(Stdio::null())
        .output()
        .map_err(
            |error| if error.kind() == io::ErrorKind::NotFound { not_here() } else { error },
        )?;
    let said = String::from_utf8_lossy(&ran.stderr);
    let instructions = collected(&said)
        .ok_or_else(|| io::Error::other(format!("valgrind printed no count:\n{said}")))?;
    Ok(Counted { instructions, out: ran.stdout })
}

/// The error that valgrind is not installed.
pub fn not_here() -> io::Error {
    let says = "valgrind is not installed, which counts instructions";
    io::Error::new(io::ErrorKind::NotFound, says)
}

/// The count in the last line of callgrind: `==42== Collected : 4711`.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.split_once("Collected :"));
    line?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read() {
        let said = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(said), Some(123_456));
        assert_eq!(collected("==7== Command: ls"), None);
    }
}
