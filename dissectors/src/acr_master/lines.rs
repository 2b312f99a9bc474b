//! The lines of a response's body, and the information in them.

use crate::kit::{Reader, Sink, Span, http};

use super::digest;
use super::fields::NEWLINE;

/// The properties of a response that the conversation needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Response {
    /// The HTTP status.
    pub(super) status: u64,
    /// The result of an authentication: `f`, or `c`.
    pub(super) auth: Option<u8>,
    /// The number of lines with such a result.
    pub(super) auth_lines: usize,
    /// The challenge, if there is one.
    pub(super) challenge: Option<Box<[u8; digest::CHALLENGE]>>,
    /// The span of the auth line.
    pub(super) auth_at: Span,
    /// The result of a verification: `f`, `d` or `s`.
    pub(super) result: Option<u8>,
    /// Its span.
    pub(super) result_at: Span,
    /// It is compressed, so that its contents are unknown.
    pub(super) coded: bool,
    /// The master sent it only up to a place within its headers.
    pub(super) ends_in_headers: bool,
}

/// How much of a response's body can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyState {
    /// It is compressed, for example.
    pub(super) coded: bool,
    /// The recording lost its end, or it is too long.
    pub(super) is_cut: bool,
    /// The master sent it to its end.
    pub(super) is_whole: bool,
}

/// One line of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Its text.
    pub(super) text: &'a [u8],
    /// Its span.
    pub(super) at: Span,
    /// The length of the line with its end.
    pub(super) whole: usize,
}

/// The remaining lines in order; `start`: the offset of the first one.
pub(super) fn lines(bytes: &[u8], start: usize) -> impl Iterator<Item = Line<'_>> {
    let mut at = start;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (length, whole) = http::line(rest);
        let text = rest.get(..length).unwrap_or_default();
        let line = Line { text, at: Span::new(at, at + length), whole };
        at += whole;
        rest = rest.get(whole..).unwrap_or_default();
        Some(line)
    })
}

/// The end of a line.
pub(super) fn newline<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>) {
    let length = line.whole - line.text.len();
    if length > 0 {
        r.bytes(&NEWLINE, length);
    }
}
