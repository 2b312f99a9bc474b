//! Finds the end of a text in a stream, from its bytes only.
//!
//! `\final\` or `\final` closes a text, but the master's challenge often has none, and a list
//! request may have none. Bytes after the end belong to the text until the next message begins. The
//! boundaries of segments do not matter.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::validate::CHALLENGE;
use super::words::{self, TextPairs};

/// Maximum length of a text: clients' messages and challenges are far shorter.
pub(super) const LONGEST: usize = 1024;

pub(super) const CLOSING: &[u8] = b"\\final";
/// `\final` with the backslash after it.
pub(super) const CLOSED: &[u8] = b"\\final\\";
const NUMBER: &[u8] = b"\\queryid\\";

/// The beginnings of messages.
pub(super) const OPENINGS: [&[u8]; 9] = [
    CLOSING,
    b"\\list\\",
    b"\\gamename\\",
    b"\\basic\\",
    b"\\secure\\",
    b"\\ip\\",
    b"\\echo\\",
    b"\\validate\\",
    b"\\sync\\",
];

/// How far a text extends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// At least this many bytes belong to it; the following ones may, too.
    Open(usize),
    /// It has this many bytes.
    Over(usize),
}

/// How far the text at the start of these bytes extends. `loose`: it follows a list; `ended`: no
/// more bytes will come.
pub(super) fn reach(text: &[u8], loose: bool, ended: bool) -> Reach {
    let (text, ended) = match text.get(..LONGEST) {
        Some(longest) if text.len() > LONGEST => (longest, false),
        _ => (text, ended),
    };
    let reach = match closing(text, 0) {
        _ if loose => junk(text, 0, ended),
        found => match (next_message(text), found) {
            (Some(next), _) => Reach::Over(next),
            (None, Some(found)) => after_final(text, found + CLOSING.len(), ended),
            (None, None) => Reach::until(text, text.len() - unsure_of_next(text), ended),
        },
    };
    match reach {
        Reach::Open(_) if text.len() >= LONGEST => Reach::Over(LONGEST),
        reach => reach,
    }
}

impl Reach {
    /// At least `sure` bytes of `text`; all, if no more bytes will come.
    fn until(text: &[u8], sure: usize, ended: bool) -> Reach {
        if ended { Reach::Over(text.len()) } else { Reach::Open(sure) }
    }
}

/// Whether a message with a known first word begins here.
pub(super) fn opens(bytes: &[u8]) -> bool {
    OPENINGS.iter().any(|opening| bytes.starts_with(opening))
}

/// Whether a message, or a `\queryid\`, may begin here.
pub(super) fn may_open(bytes: &[u8]) -> bool {
    OPENINGS.iter().chain([&NUMBER]).any(|opening| may_become(bytes, opening))
}

/// Whether bytes may become one of these when more arrive.
pub(super) fn may_become(bytes: &[u8], whole: &[u8]) -> bool {
    bytes.len() < whole.len() && whole.starts_with(bytes)
}

/// The position of the first message with a known first word.
pub(super) fn opening(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\\', bytes).find(|&at| bytes.get(at..).is_some_and(opens))
}

/// Finds [`CLOSING`] in long lists.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(CLOSING));

/// The positions of `\final`, except those completely before `from`.
fn closings(bytes: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let at = from.saturating_sub(CLOSING.len());
    FINDER.find_iter(bytes.get(at..).unwrap_or_default()).map(move |found| at + found)
}

/// The first `\final` that is a keyword and not completely before `from`.
pub(super) fn closing(bytes: &[u8], from: usize) -> Option<usize> {
    let is_keyword = |found: &usize| matches!(bytes.get(found + CLOSING.len()), None | Some(b'\\'));
    closings(bytes, from).find(is_keyword)
}

/// The same in a list of addresses, in which no other key begins so: it is returned before the
/// following bytes arrive.
pub(super) fn list_closing(bytes: &[u8], from: usize) -> Option<usize> {
    closings(bytes, from).next()
}

/// Where reading can continue after missing bytes: at the first message with a known first word, or
/// at bytes that may begin one.
pub(super) fn resumption(bytes: &[u8], ended: bool) -> Option<usize> {
    let begins = |at: &usize| !ended && bytes.get(*at..).is_some_and(may_open);
    opening(bytes).or_else(|| memchr::memrchr(b'\\', bytes).filter(begins))
}

/// The length of the `\queryid\` that begins here, without the backslash after it.
pub(super) fn number(bytes: &[u8]) -> Option<usize> {
    let value = bytes.strip_prefix(NUMBER)?;
    Some(NUMBER.len() + memchr::memchr(b'\\', value).unwrap_or(value.len()))
}

/// Whether a challenge begins here.
fn challenges(text: &[u8]) -> bool {
    text.starts_with(b"\\basic\\") || text.starts_with(b"\\secure\\")
}

/// The beginning of the next message, although this one has no end: a list request after a validate
/// or before it, or a list after a challenge. If the client is not recorded, nothing else separates
/// them.
fn follower(text: &[u8]) -> Option<&'static [u8]> {
    let is = |opening: &[u8]| text.starts_with(opening);
    match () {
        () if is(b"\\gamename\\") => Some(b"\\list\\"),
        () if is(b"\\list\\") => Some(b"\\gamename\\"),
        () if challenges(text) => Some(b"\\ip\\"),
        () => None,
    }
}

/// The position of binary data after a challenge, and what closes that: a list in blocks, or an
/// encrypted one.
fn blocks(text: &[u8]) -> Option<usize> {
    let mut pairs = TextPairs::new(text, 0);
    let challenge = pairs.find(|pair| pair.key == b"secure" && pair.text().len() >= CHALLENGE)?;
    let end = challenge.value_at().start as usize + CHALLENGE;
    let after = text.get(end..)?;
    let closing = [CLOSED, CLOSING].into_iter().find(|closing| after.starts_with(closing));
    let end = end + closing.map_or(0, <[u8]>::len);
    let after = text.get(end..)?;
    let after = after.get(..opening(after).unwrap_or(after.len()))?;
    let is_text = |byte: &u8| matches!(byte, b'\0' | b'\t' | b'\n' | b'\r' | b' '..=b'~');
    (!after.iter().all(is_text)).then_some(end)
}

fn next_message(text: &[u8]) -> Option<usize> {
    let next = follower(text)?;
    if challenges(text)
        && let Some(blocks) = blocks(text)
    {
        return Some(blocks);
    }
    let starts = TextPairs::new(text, 0).take_while(|pair| pair.key != words::FINAL);
    // If the text ends with a backslash of its own, its last pair seems to have an empty key.
    let starts = starts.map(|pair| pair.at().start as usize + usize::from(pair.key.is_empty()));
    let starts = starts.filter(|&start| start > 0);
    let mut starts =
        starts.filter(|&start| text.get(start..).is_some_and(|rest| rest.starts_with(next)));
    // A list request has a game name, too.
    starts.nth(usize::from(text.starts_with(b"\\list\\")))
}

/// The number of bytes at the end that may begin the next message.
fn unsure_of_next(text: &[u8]) -> usize {
    follower(text).map_or(0, |next| unsure(text, &[next]))
}

/// The number of bytes at the end that may begin one of these. A single backslash does not count:
/// it belongs to this text until the next message turns out to begin with it.
fn unsure(text: &[u8], openings: &[&[u8]]) -> usize {
    let begins = |count: &usize| {
        let end = text.get(text.len().saturating_sub(*count)..).unwrap_or_default();
        end.len() == *count && openings.iter().any(|opening| may_become(end, opening))
    };
    (2..10).rev().find(begins).unwrap_or(0)
}

/// The bytes after `\final`: a backslash, a `\queryid\`, the next message, or invalid bytes.
fn after_final(text: &[u8], mut end: usize, ended: bool) -> Reach {
    let mut numbered = false;
    loop {
        let next = match text.get(end..).unwrap_or_default() {
            [] => return Reach::until(text, end, ended),
            [b'\\'] => return Reach::until(text, end + 1, ended),
            [b'\\', b'\\', ..] => end + 1,
            _ => end,
        };
        let rest = text.get(next..).unwrap_or_default();
        match number(rest) {
            Some(length) if !numbered => (end, numbered) = (next + length, true),
            _ if opens(rest) => return Reach::Over(next),
            _ if may_open(rest) && !ended => return Reach::Open(next),
            _ => return junk(text, next, ended),
        }
    }
}

/// Invalid bytes from `start` on: they end where the next message begins.
fn junk(text: &[u8], start: usize, ended: bool) -> Reach {
    let openings = OPENINGS.get(1..).unwrap_or_default();
    let opens = |at: &usize| {
        let rest = text.get(*at..).unwrap_or_default();
        *at >= start && openings.iter().any(|opening| rest.starts_with(opening))
    };
    match memchr::memchr_iter(b'\\', text).find(opens) {
        Some(next) => Reach::Over(next),
        None => {
            let unsure = unsure(text.get(start..).unwrap_or_default(), openings);
            Reach::until(text, text.len() - unsure, ended)
        }
    }
}

/// Whether a text ends with `\final\`.
pub(super) fn is_closed(text: &[u8]) -> bool {
    text.strip_suffix(b"\\").is_some_and(|text| text.ends_with(CLOSING))
}

/// Whether a text is complete, as far as its bytes show: it is closed, or a challenge.
pub(super) fn is_whole(text: &[u8]) -> bool {
    let is_challenge = || {
        let words = words::scan(text);
        words.is_sound() && words.secure.is_some_and(|it| it.value.len() >= CHALLENGE)
    };
    closing(text, 0).is_some() || is_challenge()
}
