//! Generates captures: packets with correct or deliberately wrong headers, conversations from scripts, and
//! the files of `samples/`.
//!
//! - [`wire`] builds packets and capture files.
//! - [`exchange`] turns a readable script of a conversation into packets.
//! - [`samples`] is the list of sample captures and how each is made.
//! - [`attacks`] makes attacks in which the sender of each packet is known.
//! - [`bulk`] writes captures of millions of packets for measurements.
//! - [`mutate`] damages captures.
//! - [`bytes`] builds byte strings; [`callgrind`] counts the instructions of a program.
//! - [`traffic`] plays many conversations at once, and records them completely or not.
//!
//! This crate follows the tables of the protocols' specifications and is independent of the dissectors, so
//! that an error there cannot be hidden by the same error in a sample. It uses no clock and no randomness
//! except [`wire::Prng`], so its output is reproducible. It is a tool for developers: invalid text is an
//! error, invalid arguments are a panic.

pub mod attacks;
pub mod bulk;
pub mod bytes;
pub mod callgrind;
pub mod exchange;
pub mod mutate;
pub mod samples;
pub mod traffic;
pub mod wire;

/// Parts of pages that gamewire generates: the page, the name of the part in it, and the arguments.
pub const PARTS: [(&str, &str, &[&str]); 2] = [
    ("docs/answers.md", "causes", &["docs", "causes"]),
    ("docs/tables.md", "tables", &["docs", "tables"]),
];

/// A page with this text as the part between the lines `<!-- PART -->` and `<!-- end of PART -->`. `None`
/// if it lacks one of them.
pub fn with_part(page: &str, part: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- end of {part} -->\n"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

/// The pages that gamewire generates, and the arguments for it. Tests of the documentation compare the pages
/// by the same list.
pub const PAGES: [(&str, &[&str]); 2] = [
    ("docs/rules.md", &["rules", "--no-config", "--format", "markdown"]),
    ("docs/fields.md", &["fields", "--format", "markdown"]),
];
