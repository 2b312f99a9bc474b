//! The scalars of JSON, into bytes.

use std::fmt;
use std::net::SocketAddrV4;

use serde_json::ser::{CompactFormatter, Formatter};

use crate::text::is_hidden;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Which bytes stand for themselves in a string: printable ASCII but the quote and the backslash.
static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x20;
    while byte < 0x7F {
        plain[byte] = byte != b'"' as usize && byte != b'\\' as usize;
        byte += 1;
    }
    plain
};

/// An integer.
#[inline]
pub(super) fn unsigned(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
    } else {
        // A `Vec` takes every byte, here and below.
        let _ = CompactFormatter.write_u64(out, value);
    }
}

/// An integer.
#[inline]
pub(super) fn signed(out: &mut Vec<u8>, value: i64) {
    let _ = CompactFormatter.write_i64(out, value);
}

/// The shortest digits that read back to the same 32-bit float; JSON knows no other than finite.
#[inline]
pub(super) fn float(out: &mut Vec<u8>, value: f32) {
    if value.is_finite() {
        let _ = CompactFormatter.write_f32(out, value);
    } else {
        out.extend_from_slice(b"null");
    }
}

/// The inside of a string: UTF-8, with U+FFFD for what is none, as `String::from_utf8_lossy`.
#[inline]
pub(super) fn string(out: &mut Vec<u8>, text: &[u8]) {
    if text.iter().all(|&byte| PLAIN[usize::from(byte)]) {
        out.extend_from_slice(text);
    } else {
        unusual_string(out, text);
    }
}

#[cold]
fn unusual_string(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        valid(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
}

/// What a terminal would obey or hide is spelled `\uNNNN` as well: parsers see no difference.
fn valid(out: &mut Vec<u8>, text: &str) {
    let mut rest = text;
    let special = |c: char| c == '"' || c == '\\' || is_hidden(c);
    while let Some(at) = rest.find(special) {
        let (plain, from) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let mut chars = from.chars();
        if let Some(c) = chars.next() {
            character(out, c);
        }
        rest = chars.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// One character inside a string.
pub(super) fn character(out: &mut Vec<u8>, c: char) {
    let short = match c {
        '"' => b'"',
        '\\' => b'\\',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        _ => 0,
    };
    if short != 0 {
        out.extend_from_slice(&[b'\\', short]);
    } else if is_hidden(c) {
        for &mut unit in c.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(b"\\u");
            for byte in unit.to_be_bytes() {
                hex_byte(out, byte);
            }
        }
    } else {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Two lower-case hex digits.
#[inline]
pub(super) fn hex_byte(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]]);
}

/// Bytes as lower-case hex.
pub(super) fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        hex_byte(out, byte);
    }
}

/// `10.0.0.2:27015`.
pub(super) fn ip4(out: &mut Vec<u8>, endpoint: SocketAddrV4) {
    for (index, octet) in endpoint.ip().octets().into_iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        unsigned(out, octet.into());
    }
    out.push(b':');
    unsigned(out, endpoint.port().into());
}

/// The inside of a string, from what formats itself.
pub(in crate::report) struct Escaped<'a>(pub(in crate::report) &'a mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        string(self.0, text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    fn quoted(text: &[u8]) -> String {
        format!("\"{}\"", written(|out| string(out, text)))
    }

    #[test]
    fn what_a_terminal_obeys_is_spelled_out() {
        assert_eq!(quoted(b"a\"b\\c\n\r\t\x00\x1B\x7F"), r#""a\"b\\c\n\r\t\u0000\u001b\u007f""#);
        assert_eq!(quoted("é\u{9B}\u{202E}\u{200B}東".as_bytes()), r#""é\u009b\u202e\u200b東""#);
        assert_eq!(quoted("\u{E0041}".as_bytes()), r#""\udb40\udc41""#);
        assert_eq!(quoted(b"A\xFFB\xE2\x82"), "\"A\u{FFFD}B\u{FFFD}\"");
    }

    #[test]
    fn floats_are_short_and_not_numbers_are_null() {
        for (value, text) in [(0.1, "0.1"), (1.0, "1.0"), (-0.0, "-0.0"), (f32::NAN, "null")] {
            assert_eq!(written(|out| float(out, value)), text);
        }
        assert_eq!(written(|out| float(out, f32::NEG_INFINITY)), "null");
    }

    #[test]
    fn integers_to_their_ends() {
        assert_eq!(written(|out| unsigned(out, u64::MAX)), u64::MAX.to_string());
        assert_eq!(written(|out| unsigned(out, 9)), "9");
        assert_eq!(written(|out| unsigned(out, 10)), "10");
        assert_eq!(written(|out| signed(out, i64::MIN)), i64::MIN.to_string());
        let endpoint = "0.10.255.1:65535";
        assert_eq!(written(|out| ip4(out, endpoint.parse().expect("valid"))), endpoint);
    }

    proptest! {
        #[test]
        fn any_bytes_read_back_as_lossy_text(text: Vec<u8>) {
            let read: String = serde_json::from_str(&quoted(&text)).expect("JSON");
            prop_assert_eq!(read, String::from_utf8_lossy(&text));
        }

        #[test]
        fn any_text_reads_back(text: String) {
            let read: String = serde_json::from_str(&quoted(text.as_bytes())).expect("JSON");
            prop_assert_eq!(read, text);
        }

        #[test]
        fn any_finite_float_reads_back(bits: u32) {
            let (value, text) = (f32::from_bits(bits), written(|out| float(out, f32::from_bits(bits))));
            if value.is_finite() {
                prop_assert_eq!(text.parse::<f32>().map(f32::to_bits), Ok(bits));
                prop_assert!(serde_json::from_str::<serde_json::Number>(&text).is_ok());
            } else {
                prop_assert_eq!(text, "null");
            }
        }
    }
}
