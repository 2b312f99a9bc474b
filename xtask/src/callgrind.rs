//! Counts the instructions that a program executes outside of the kernel, and those that are not in the processor's
//! cache, with valgrind's callgrind.

use std::io;
use std::process::{Command, Stdio};

/// The result of a run under callgrind.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Instructions.
    pub instructions: u64,
    /// Lines of 64 bytes of instructions that are not in a first-level cache of 32 KiB.
    pub misses: u64,
    /// Its standard output.
    pub out: Vec<u8>,
}

/// The caches that are simulated, whatever those of this machine are. Only instructions count.
const CACHES: [&str; 4] =
    ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// Runs a program, given by its path and arguments, under callgrind.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if valgrind is not installed; valgrind's output if it fails.
pub fn count(program: &Command) -> io::Result<Counted> {
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(CACHES)
        .arg(program.get_program())
        .args(program.get_args())
        .stdin(Stdio::null())
        .output()
        .map_err(
            |error| if error.kind() == io::ErrorKind::NotFound { not_here() } else { error },
        )?;
    let said = String::from_utf8_lossy(&ran.stderr);
    let count = |event| {
        let none = || io::Error::other(format!("valgrind printed no count of {event}:\n{said}"));
        collected(&said, event).ok_or_else(none)
    };
    Ok(Counted { instructions: count("Ir")?, misses: count("I1mr")?, out: ran.stdout })
}

/// The error that valgrind is not installed.
pub fn not_here() -> io::Error {
    let says = "valgrind is not installed, which counts instructions";
    io::Error::new(io::ErrorKind::NotFound, says)
}

/// The count of an event, which stands in two lines: `==42== Events    : Ir Dr`, `==42== Collected : 4711 815`.
fn collected(said: &str, event: &str) -> Option<u64> {
    let words = |name| said.lines().find_map(|line| line.split_once(name)).map(|(_, rest)| rest);
    let at = words("Events    :")?.split_whitespace().position(|word| word == event)?;
    words("Collected :")?.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        let said = "==7== Events    : Ir Dr I1mr\n==7== Collected : 123456 99 78\n==7== \n";
        let counts = ["Ir", "I1mr", "DLmr"].map(|event| collected(said, event));
        assert_eq!(counts, [Some(123_456), Some(78), None]);
        assert_eq!(collected("==7== Command: ls", "Ir"), None);
    }
}
