//! Texts from the wire, quoted in findings the way `dissect` writes texts.

use std::fmt::{self, Display, Write};

/// Maximum number of characters shown.
const SHOWN: usize = 64;

/// A text in quotes. Quotes inside are written `\x22`, bytes that are not UTF-8 as `\xE9`. Terminal
/// controls are escaped later, by the report. A long text is cut.
pub struct Quoted<'t>(pub &'t [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = SHOWN;
        f.write_char('"')?;
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match left.checked_sub(1) {
                    None => return f.write_str("\"..."),
                    Some(fewer) => left = fewer,
                }
                match c {
                    '"' => f.write_str("\\x22")?,
                    c => f.write_char(c)?,
                }
            }
            if !chunk.invalid().is_empty() {
                match left.checked_sub(1) {
                    None => return f.write_str("\"..."),
                    Some(fewer) => left = fewer,
                }
                chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02X}"))?;
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_contain_no_quote_and_all_bytes() {
        for (text, shown) in [
            (&b"de_dust2"[..], r#""de_dust2""#),
            (b"", r#""""#),
            (b"a \"b\" \\c", r#""a \x22b\x22 \c""#),
            (b"caf\xE9 \xC3\xA9", "\"caf\\xE9 \u{E9}\""),
        ] {
            assert_eq!(Quoted(text).to_string(), shown);
        }
        assert_eq!(Quoted(&[b'x'; 65]).to_string(), format!("\"{}\"...", "x".repeat(64)));
        assert_eq!(Quoted(&[b'x'; 64]).to_string(), format!("\"{}\"", "x".repeat(64)));
    }
}
