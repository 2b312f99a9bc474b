//! The scalars of JSON, into bytes.

use std::fmt;
use std::net::SocketAddrV4;

use serde_json::ser::{CompactFormatter, Formatter};

use crate::report::digits::{put, unsigned};
use crate::report::view::TextSlice;
use crate::text::is_hidden;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Whether a byte is not printable ASCII, or needs an escape in a string.
#[inline]
const fn is_special(byte: u8) -> bool {
    // Without branches, so that 16 bytes are classified at once. After adding one, 7F to FE are
    // negative and FF is zero.
    ((byte.wrapping_add(1) as i8) < 0x21) | (byte == b'"') | (byte == b'\\')
}

/// Whether a UTF-8 byte needs a closer check: all others are written unchanged. The characters of
/// [`is_hidden`] begin with one of these.
#[inline]
const fn is_unusual(byte: u8) -> bool {
    (is_special(byte) & (byte < 0x80))
        | (byte == 0xC2)
        | (byte == 0xCD)
        | (byte == 0xD8)
        | (byte.wrapping_sub(0xE1) < 3)
        | (byte.wrapping_sub(0xEF) < 6)
}

/// An integer.
#[inline]
pub(super) fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

/// The shortest digits that parse to the same 32-bit float; JSON supports only finite ones.
#[inline]
pub(super) fn float(out: &mut Vec<u8>, value: f32) {
    if value.is_finite() {
        let _ = CompactFormatter.write_f32(out, value);
    } else {
        out.extend_from_slice(b"null");
    }
}

/// The same, at the start of a buffer with enough room; returns the number of digits. Not inlined,
/// to keep the common path small.
#[inline(never)]
pub(super) fn short_float(mut out: &mut [u8], value: f32) -> Option<usize> {
    let room = out.len();
    if !value.is_finite() || CompactFormatter.write_f32(&mut out, value).is_err() {
        return None;
    }
    Some(room - out.len())
}

/// Bytes that are checked and copied at once.
pub(super) const CHUNK: usize = 16;

/// A mask: two chunks that count, and two that do not.
static COUNTING: [bool; 4 * CHUNK] = {
    let mut counting = [false; 4 * CHUNK];
    let mut at = 0;
    while at < 2 * CHUNK {
        counting[at] = true;
        at += 1;
    }
    counting
};

/// Whether none of the first `counts` bytes is special. `N` is one or two chunks.
#[inline(always)]
pub(super) fn is_plain<const N: usize>(bytes: &[u8; N], counts: usize) -> bool {
    has_none(bytes, counts, is_special)
}

/// Whether the first `counts` bytes are UTF-8 that needs no closer check.
#[inline(never)]
pub(super) fn is_usual<const N: usize>(bytes: &[u8; N], counts: usize) -> bool {
    let text = bytes.get(..counts).unwrap_or_default();
    has_none(bytes, counts, is_unusual) && std::str::from_utf8(text).is_ok()
}

#[inline(always)]
fn has_none<const N: usize>(bytes: &[u8; N], counts: usize, of: fn(u8) -> bool) -> bool {
    let counting = COUNTING.get(2 * CHUNK - counts.min(N)..).and_then(<[bool]>::first_chunk::<N>);
    let Some(counting) = counting else { return false };
    let found = bytes.iter().zip(counting).map(|(&byte, &counts)| of(byte) & counts);
    !found.fold(false, |any, found| any | found)
}

/// The contents of a string: UTF-8, with U+FFFD for invalid bytes, as `String::from_utf8_lossy`.
#[inline]
pub(crate) fn string(out: &mut Vec<u8>, text: &[u8]) {
    let (chunks, last) = text.as_chunks::<CHUNK>();
    let are_plain = chunks.iter().all(|chunk| is_plain(chunk, CHUNK));
    if are_plain && last.iter().all(|&byte| !is_special(byte)) {
        out.extend_from_slice(text);
    } else {
        unusual_string(out, text);
    }
}

/// The same. Whole chunks are copied, and surplus bytes are cut off again, so that most texts take
/// one step.
#[inline]
pub(super) fn string_among(out: &mut Vec<u8>, text: TextSlice<'_>) {
    let mut text = text;
    while let Some(chunk) = text.chunk::<CHUNK>() {
        let counts = text.length.min(CHUNK);
        if !is_plain(chunk, counts) {
            break;
        }
        let end = out.len() + counts;
        out.extend_from_slice(chunk);
        out.truncate(end);
        if text.length <= CHUNK {
            return;
        }
        text = text.without(CHUNK);
    }
    // The bytes before it were plain, so no character is split.
    string(out, text.text());
}

#[inline(never)]
fn unusual_string(out: &mut Vec<u8>, text: &[u8]) {
    if let Ok(text) = std::str::from_utf8(text) {
        return valid(out, text);
    }
    for chunk in text.utf8_chunks() {
        valid(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
}

/// Terminal controls and invisible characters are escaped as `\uNNNN`, too, which parsers treat
/// equally.
fn valid(out: &mut Vec<u8>, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.as_bytes().iter().position(|&byte| is_unusual(byte)) {
        let Some((usual, from)) = rest.split_at_checked(at) else { break };
        out.extend_from_slice(usual.as_bytes());
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
pub(in crate::report) fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        hex_byte(out, byte);
    }
}

/// The digits of each octet with a point after them, and how long both are.
static OCTETS: [([u8; 4], u8); 256] = {
    let mut octets = [([0; 4], 0); 256];
    let mut octet = 0;
    while octet < 256 {
        let digits = [octet / 100, octet / 10 % 10, octet % 10];
        let mut zeros = if octet < 10 { 2 } else { (octet < 100) as usize };
        let (text, length) = &mut octets[octet];
        while zeros < 3 {
            text[*length as usize] = b'0' + digits[zeros] as u8;
            *length += 1;
            zeros += 1;
        }
        text[*length as usize] = b'.';
        *length += 1;
        octet += 1;
    }
    octets
};

/// `10.0.0.2:27015`.
#[inline]
pub(super) fn ip4(out: &mut Vec<u8>, endpoint: SocketAddrV4) {
    let mut window = [0; 32];
    let end = out.len() + short_ip4(&mut window, endpoint).unwrap_or_default();
    out.extend_from_slice(&window);
    out.truncate(end);
}

/// The same, at the start of a buffer with enough room; returns the length.
#[inline(always)]
pub(super) fn short_ip4(out: &mut [u8], endpoint: SocketAddrV4) -> Option<usize> {
    let mut end = 0;
    for octet in endpoint.ip().octets() {
        let (text, length) = &OCTETS[usize::from(octet)];
        *out.get_mut(end..)?.first_chunk_mut()? = *text;
        end += usize::from(*length);
    }
    *out.get_mut(end - 1)? = b':';
    Some(end + put(out.get_mut(end..)?, endpoint.port())?)
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

    fn quoted_among(bytes: &[u8], start: usize, length: usize) -> String {
        format!("\"{}\"", written(|out| string_among(out, TextSlice { bytes, start, length })))
    }

    #[test]
    fn hidden_characters_begin_with_an_unusual_byte() {
        for c in '\0'..=char::MAX {
            let first = c.encode_utf8(&mut [0; 4]).as_bytes()[0];
            let is_special = c == '"' || c == '\\' || is_hidden(c);
            assert!(!is_special || is_unusual(first), "{c:?}");
            assert!(is_special || first > 0x7F || !is_unusual(first), "{c:?}");
        }
    }

    #[test]
    fn every_octet() {
        for octet in 0..=255 {
            let endpoint = SocketAddrV4::new([octet, 1, 255 - octet, octet].into(), octet.into());
            assert_eq!(written(|out| ip4(out, endpoint)), endpoint.to_string());
            let mut window = [b'!'; 32];
            let length = short_ip4(&mut window, endpoint).expect("room");
            assert_eq!(window[..length], *endpoint.to_string().as_bytes());
        }
    }

    #[test]
    fn a_special_byte_is_found_anywhere() {
        for (length, at) in (0..40).flat_map(|length| (0..64).map(move |at| (length, at))) {
            for special in [b'"', b'\\', 0, 0x1F, 0x7F, 0x80, 0xFF] {
                let mut bytes = [b'a'; 64];
                bytes[at] = special;
                assert_eq!(quoted_among(&bytes, 0, length), quoted(&bytes[..length]));
                assert_eq!(quoted_among(&bytes[..length], 0, length), quoted(&bytes[..length]));
            }
        }
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
        fn a_text_is_the_same_among_other_bytes(bytes: Vec<u8>, text: String, start: u8, end: u8) {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let end = usize::from(end).min(bytes.len());
                let start = usize::from(start).min(end);
                let among = quoted_among(bytes, start, end - start);
                prop_assert_eq!(among, quoted(&bytes[start..end]));
            }
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
