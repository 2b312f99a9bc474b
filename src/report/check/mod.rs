//! The verdicts of `gamewire check`, and the catalogue after them.
//!
//! - [`text`]: what is wrong first, then a table of verdicts, for people.
//! - [`json`]: one object, for scripts.
//! - [`junit`], [`sarif`], [`github`]: for the machinery of continuous integration.
//! - [`rules`], [`markdown`]: the catalogue, and one rule explained.

pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod rules;
pub mod sarif;
pub mod text;

use serde::Serialize;

/// A file that cannot be read, or not to its end.
#[derive(Clone, Debug, Serialize)]
pub struct Unreadable {
    /// Its name.
    #[serde(rename = "capture")]
    pub file: String,
    /// Why.
    pub why: String,
}

/// Formats into a text, which cannot fail.
pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    use std::fmt::Write;

    let _ = out.write_fmt(text);
}
