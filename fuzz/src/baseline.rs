//! Baseline files.

use gamewire::check::Baseline;
use gamewire::text::is_hidden;

use crate::scratch::with_file;

/// A valid baseline can be written and read again; the error for an invalid one has one line without control
/// characters.
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
