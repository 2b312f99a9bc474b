//! The beginning of requests and responses: a first line, headers, an empty line.

use crate::kit::{Endings, Reader, Sink, Span};

use super::fields::{BLANK, HEADER, HEADER_NAME, HEADER_VALUE};

/// Faults in HTTP itself are not checked.
pub(crate) static ENDINGS: Endings =
    Endings { whole: None, terminated: None, utf8: None, after: None };

/// The length of the line at this place, without and with its end.
pub(crate) fn line(bytes: &[u8]) -> (usize, usize) {
    match memchr::memchr(b'\n', bytes) {
        Some(at) => (at - usize::from(at > 0 && bytes.get(at - 1) == Some(&b'\r')), at + 1),
        None => (bytes.len(), bytes.len()),
    }
}

/// The next word of a first line that ends after `left` bytes: its length, without and with the
/// space after it.
pub(crate) fn word(bytes: &[u8], left: usize) -> (usize, usize) {
    let line = bytes.get(..left).unwrap_or(bytes);
    match line.iter().position(|&byte| byte == b' ') {
        Some(at) => (at, at + 1),
        None => (line.len(), line.len()),
    }
}

/// The values of all headers of this name.
pub(crate) fn values<'b>(head: &'b [u8], name: &'static str) -> impl Iterator<Item = &'b [u8]> {
    head.split(|&byte| byte == b'\n').filter_map(move |line| {
        let (found, value) = line.split_at(memchr::memchr(b':', line)?);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        found.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    })
}

/// Whether a request says that it accepts some coding of the response's body.
pub(crate) fn accepts_codings(request: &[u8]) -> bool {
    let listed = values(request, "accept-encoding").flat_map(|value| value.split(|&b| b == b','));
    listed.map(<[u8]>::trim_ascii).any(|coding| {
        let mut parts = coding.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        let is_refused = parts.any(|weight| matches!(weight, b"q=0" | b"q=0.0"));
        !name.is_empty() && !name.eq_ignore_ascii_case(b"identity") && !is_refused
    })
}

/// Headers and the empty line after them. Returns whether the empty line is there.
pub(crate) fn headers<S: Sink>(r: &mut Reader<'_, S>) -> bool {
    while !r.is_empty() {
        let bytes = r.peek();
        let (length, whole) = line(bytes);
        if length == 0 {
            r.bytes(&BLANK, whole);
            return true;
        }
        let start = r.at();
        let text = bytes.get(..length).unwrap_or_default();
        let colon = text.iter().position(|&byte| byte == b':').unwrap_or(length);
        let value = text.get(colon..).unwrap_or_default();
        let blank = value.iter().take_while(|byte| matches!(byte, b':' | b' ' | b'\t')).count();
        r.open(&HEADER);
        r.text_in(&HEADER_NAME, colon, Span::new(start, start + colon));
        let place = Span::new(start + colon + blank, start + length);
        r.text_in(&HEADER_VALUE, whole - colon, place);
        r.close();
    }
    false
}
