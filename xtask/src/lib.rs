//! What the developers' tools share with tests and benchmarks; [`captures`] makes their captures.
//!
//! - [`callgrind`] counts the instructions of a program.

pub mod callgrind;

/// The pages that gamewire generates, and the arguments for it. Tests of the documentation compare the pages
/// by the same list.
pub const PAGES: [(&str, &[&str]); 2] = [
    ("docs/rules.md", &["rules", "--no-config", "--format", "markdown"]),
    ("docs/fields.md", &["fields", "--format", "markdown"]),
];
