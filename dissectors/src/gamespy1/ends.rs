//! How far a text of a stream reaches, as far as its bytes tell.
//!
//! `\final\` closes a text, or `\final`; the master's challenge often goes without, and so may a
//! list request. What follows belongs to it too, until the next message begins: only that shows its
//! end. Nothing here asks where a segment ends.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::validate::CHALLENGE;
use super::words::{self, TextPairs};

/// Bytes of a text that is waited for: clients' words, and challenges, are far shorter.
pub(super) const LONGEST: usize = 1024;

pub(super) const CLOSING: &[u8] = b"\\final";
/// The same with the backslash after it.
pub(super) const CLOSED: &[u8] = b"\\final\\";
const NUMBER: &[u8] = b"\\queryid\\";

/// How messages begin.
pub(super) const OPENINGS: [&[u8]; 8] = [
    CLOSING,
    b"\\list\\",
    b"\\gamename\\",
    b"\\basic\\",
    b"\\secure\\",
    b"\\ip\\",
    b"\\echo\\",
    b"\\validate\\",
];

/// How far a text reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// This many bytes are its own; what follows may be, too.
    Open(usize),
    /// It ends after this many.
    Over(usize),
}

/// How far the text reaches that begins here. `loose`: it is what follows a list; `ended`: no
/// more will come.
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
    /// Of `text`, this many bytes are sure; all are, if no more will come.
    fn until(text: &[u8], sure: usize, ended: bool) -> Reach {
        if ended { Reach::Over(text.len()) } else { Reach::Open(sure) }
    }
}

/// Whether a message begins here that is known by its first word.
pub(super) fn opens(bytes: &[u8]) -> bool {
    OPENINGS.iter().any(|opening| bytes.starts_with(opening))
}

/// Whether one may yet begin here, or a `\queryid\`.
pub(super) fn may_open(bytes: &[u8]) -> bool {
    OPENINGS.iter().chain([&NUMBER]).any(|opening| may_become(bytes, opening))
}

/// Whether bytes may yet become one of these.
pub(super) fn may_become(bytes: &[u8], whole: &[u8]) -> bool {
    bytes.len() < whole.len() && whole.starts_with(bytes)
}

/// Where the first message begins that is known by its first word.
pub(super) fn opening(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\\', bytes).find(|&at| bytes.get(at..).is_some_and(opens))
}

/// Finds [`CLOSING`]: long lists are searched for it.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(CLOSING));

/// Where `\final` is, unless wholly before `from`.
fn closings(bytes: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let at = from.saturating_sub(CLOSING.len());
    FINDER.find_iter(bytes.get(at..).unwrap_or_default()).map(move |found| at + found)
}

/// The first `\final` that is a keyword, if it does not lie wholly before `from`.
pub(super) fn closing(bytes: &[u8], from: usize) -> Option<usize> {
    let is_keyword = |found: &usize| matches!(bytes.get(found + CLOSING.len()), None | Some(b'\\'));
    closings(bytes, from).find(is_keyword)
}

/// The same in a list of addresses, where nothing else begins so: it is reported before it is known
/// what follows.
pub(super) fn list_closing(bytes: &[u8], from: usize) -> Option<usize> {
    closings(bytes, from).next()
}

/// Where reading may go on after missing bytes: at the first message that is known by its first
/// word, or at what may yet begin one.
pub(super) fn resumption(bytes: &[u8], ended: bool) -> Option<usize> {
    let begins = |at: &usize| !ended && bytes.get(*at..).is_some_and(may_open);
    opening(bytes).or_else(|| memchr::memrchr(b'\\', bytes).filter(begins))
}

/// How long the `\queryid\` is that begins here, without the backslash after it.
pub(super) fn number(bytes: &[u8]) -> Option<usize> {
    let value = bytes.strip_prefix(NUMBER)?;
    Some(NUMBER.len() + memchr::memchr(b'\\', value).unwrap_or(value.len()))
}

/// Whether a challenge begins here.
fn challenges(text: &[u8]) -> bool {
    text.starts_with(b"\\basic\\") || text.starts_with(b"\\secure\\")
}

/// What begins the next message, though nothing closes this one: a list is asked for after a
/// validate, or before it, or given after a challenge. Where the client is not recorded, nothing
/// else tells them apart.
fn follower(text: &[u8]) -> Option<&'static [u8]> {
    let is = |opening: &[u8]| text.starts_with(opening);
    match () {
        () if is(b"\\gamename\\") => Some(b"\\list\\"),
        () if is(b"\\list\\") => Some(b"\\gamename\\"),
        () if challenges(text) => Some(b"\\ip\\"),
        () => None,
    }
}

/// Where what is not text begins after a challenge, and what closes that: a list in blocks, or an
/// enciphered one.
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
    // Where the text ends in a backslash of its own, its last pair seems to have an empty key.
    let starts = starts.map(|pair| pair.at().start as usize + usize::from(pair.key.is_empty()));
    let starts = starts.filter(|&start| start > 0);
    let mut starts =
        starts.filter(|&start| text.get(start..).is_some_and(|rest| rest.starts_with(next)));
    // A list request has a game name itself.
    starts.nth(usize::from(text.starts_with(b"\\list\\")))
}

/// Bytes at the end that may begin the next message.
fn unsure_of_next(text: &[u8]) -> usize {
    follower(text).map_or(0, |next| unsure(text, &[next]))
}

/// How many bytes at the end begin one of these. A backslash alone does not: it is this text's own
/// until the next message turns out to begin with it.
fn unsure(text: &[u8], openings: &[&[u8]]) -> usize {
    let begins = |count: &usize| {
        let end = text.get(text.len().saturating_sub(*count)..).unwrap_or_default();
        end.len() == *count && openings.iter().any(|opening| may_become(end, opening))
    };
    (2..10).rev().find(begins).unwrap_or(0)
}

/// What follows `\final`: a backslash, a `\queryid\`, the next message, or what should not.
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

/// What should not be there, from `start` on: it ends where the next message begins.
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

/// Whether nothing of a text is missing, as far as its bytes tell: it is closed, or a challenge.
pub(super) fn is_whole(text: &[u8]) -> bool {
    let is_challenge = || words::scan(text).secure.is_some_and(|it| it.value.len() >= CHALLENGE);
    closing(text, 0).is_some() || is_challenge()
}
