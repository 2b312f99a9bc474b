//! JSON of any value, without terminal controls.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::write::character;
use crate::text::is_hidden;

/// Writes the value in one line, with terminal controls and invisible characters as `\uNNNN`.
///
/// # Errors
///
/// As for [`serde_json::to_writer`].
pub(in crate::report) fn line<T: Serialize>(
    value: &T,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Visible))?;
    out.push(b'\n');
    Ok(())
}

struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_hidden) {
            let (plain, hidden) = rest.split_at(at);
            let mut escaped = Vec::new();
            let mut chars = hidden.chars();
            chars.by_ref().take(1).for_each(|c| character(&mut escaped, c));
            to.write_all(plain.as_bytes())?;
            to.write_all(&escaped)?;
            rest = chars.as_str();
        }
        to.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_line_reads_back() {
        let text = "a\t\u{1B}[2J\u{202E}\u{E0001}\"b\\\u{FFFE}";
        let mut out = Vec::new();
        line(&[text], &mut out).expect("JSON");
        let written = String::from_utf8(out).expect("UTF-8");
        assert_eq!(written, "[\"a\\t\\u001b[2J\\u202e\\udb40\\udc01\\\"b\\\\\\ufffe\"]\n");
        let read: [String; 1] = serde_json::from_str(&written).expect("JSON");
        assert_eq!(read, [text]);
    }
}
