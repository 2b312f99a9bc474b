//! The file of known findings.

use gamewire::check::Baseline;
use gamewire::text::is_hidden;

use crate::scratch::with_file;

/// What is read is written and read again; what is none is refused in a line that a terminal can show.
pub(crate) fn run(bytes: &[u8]) {
    with_file(bytes, |path| match Baseline::read(path) {
        Ok(baseline) => {
            baseline.write(path).expect("the folder takes a file");
            assert!(Baseline::read(path).is_ok(), "it does not read what it writes");
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.contains(is_hidden), "a terminal would obey it: {said:?}");
        }
    });
}
