//! Makes captures: packets with right (or wilfully wrong) headers, conversations written down as
//! text, and the files of `samples/`.
//!
//! - [`wire`] lays packets and capture files out, byte for byte.
//! - [`exchange`] turns a readable script of a conversation into packets.
//! - [`samples`] is the list of sample captures and how each is made.
//! - [`attacks`] makes attacks of which is known who sent what.
//! - [`bulk`] writes captures of millions of packets, to measure by.
//! - [`mutate`] damages captures.
//! - [`bytes`] lays out what all of these write; [`callgrind`] counts what a program executes.
//! - [`traffic`] plays many conversations at once, and records them well or badly.
//!
//! This crate writes what the protocols' documents say by their tables and knows nothing of the
//! code that reads it back: a mistake there must not be able to hide in a sample made by the same
//! mistake. There is no clock here and no randomness but [`wire::Prng`], so that everything comes
//! out the same every time. It is a developer's tool: wrong text gets an error, wrong arguments
//! a panic.

pub mod attacks;
pub mod bulk;
pub mod bytes;
pub mod callgrind;
pub mod exchange;
pub mod mutate;
pub mod samples;
pub mod traffic;
pub mod wire;

/// The pages that gamewire itself makes, and the arguments that make it do so. The tests of the
/// documentation hold the pages against the same list.
pub const PAGES: [(&str, &[&str]); 2] = [
    ("docs/rules.md", &["rules", "--no-config", "--format", "markdown"]),
    ("docs/fields.md", &["fields", "--format", "markdown"]),
];
