//! Where a message ends in a stream.
//!
//! `\final\` closes a message, or `\final`. The master's challenge often goes without, and so may a
//! list request: these end with what is there. What turns out to belong to them later is let go.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::kit::{Framed, Side, Unread};

use super::connection::{Connection, may_grow};
use super::list::{self, BLOCK, Form};
use super::validate::CHALLENGE;
use super::words::{self, Text};

/// Clients' words, and challenges, are far shorter than this.
const SHORT: usize = 1024;

const CLOSING: &[u8] = b"\\final";
const NUMBER: &[u8] = b"\\queryid\\";

/// How messages begin.
const OPENINGS: [&[u8]; 8] = [
    b"\\list\\",
    b"\\gamename\\",
    b"\\basic\\",
    b"\\secure\\",
    b"\\ip\\",
    b"\\echo\\",
    b"\\validate\\",
    b"\\final",
];

/// What may still come of a message that was handed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Late {
    #[default]
    Nothing,
    /// A `\queryid\`, and the backslash of `\final\`.
    Backslash,
    /// The whole `\final\`.
    Final,
}

/// How far the two directions of a stream are read.
#[derive(Default)]
pub(super) struct Framing {
    searched: [usize; 2],
    late: [Late; 2],
    /// Bytes are missing, and no message has begun since.
    astray: [bool; 2],
}

impl Framing {
    /// This side has spoken: what the other one says next is no longer part of what it said before.
    pub(super) fn spoke(&mut self, side: Side) {
        let other = &mut self.late[side.other().index()];
        if *other == Late::Final {
            *other = Late::Nothing;
        }
    }
}

/// What comes next. A message of `most` bytes without an end is handed on as it is.
pub(super) fn frame(
    framing: &mut Framing,
    connection: Option<&Connection>,
    side: Side,
    unread: &Unread<'_>,
    most: usize,
) -> Framed {
    let bytes = unread.bytes;
    let (searched, late) = (&mut framing.searched[side.index()], &mut framing.late[side.index()]);
    let astray = &mut framing.astray[side.index()];
    if unread.after_gap || *astray {
        *late = Late::Nothing;
        *astray = true;
        match opening(bytes) {
            Some(0) => *astray = false,
            found => return Framed::Junk(found.unwrap_or(bytes.len()).max(1)),
        }
    }
    match leftover(*late, bytes, unread.ended) {
        Leftover::None => {}
        Leftover::Unclear => return Framed::More,
        Leftover::Bytes(length) => {
            *searched = 0;
            *late = Late::Backslash;
            return Framed::Junk(length);
        }
    }
    let from = (*searched).min(unread.seen).min(bytes.len());
    let mut reached = from;
    let (framed, then) = match connection.and_then(|connection| binary(connection, side, bytes)) {
        Some(form) => in_blocks(form, bytes, unread.ended),
        None if bytes.first() != Some(&b'\\') => {
            (Framed::Junk(opening(bytes).unwrap_or(bytes.len())), Late::Nothing)
        }
        None => {
            let found = closing(bytes, from);
            // What follows the `\final` that is there may yet tell where its message ends.
            reached = found.unwrap_or(bytes.len());
            text(connection, bytes, from, found, unread.ended)
        }
    };
    let capped = framed == Framed::More && bytes.len() >= most;
    let framed = if capped { Framed::Message(most) } else { framed };
    if framed == Framed::More {
        *searched = reached;
    } else {
        (*searched, *late) = (0, then);
    }
    framed
}

/// Where the first message begins that is known by its first word.
fn opening(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\\', bytes).find(|&at| {
        bytes.get(at..).is_some_and(|rest| OPENINGS.iter().any(|opening| rest.starts_with(opening)))
    })
}

/// Whether bytes may yet become one of these.
fn may_become(bytes: &[u8], whole: &[u8]) -> bool {
    bytes.len() < whole.len() && whole.starts_with(bytes)
}

enum Leftover {
    None,
    Unclear,
    Bytes(usize),
}

/// Whether the bytes begin with what was missing of the message before.
fn leftover(late: Late, bytes: &[u8], ended: bool) -> Leftover {
    match late {
        Late::Nothing => Leftover::None,
        Late::Backslash => match bytes {
            b"\\" if ended => Leftover::Bytes(1),
            b"\\" => Leftover::Unclear,
            [b'\\', b'\\', ..] => Leftover::Bytes(1),
            _ if bytes.starts_with(NUMBER) => Leftover::Bytes(number_end(bytes, 0)),
            _ if may_become(bytes, NUMBER) && !ended => Leftover::Unclear,
            _ => Leftover::None,
        },
        Late::Final => {
            let word = bytes.strip_prefix(b"\\").unwrap_or(bytes);
            if may_become(word, words::FINAL) && !ended {
                return Leftover::Unclear;
            }
            if !word.starts_with(words::FINAL) {
                return Leftover::None;
            }
            let end = bytes.len() - word.len() + words::FINAL.len();
            match bytes.get(end..).unwrap_or_default() {
                [b'\\'] | [b'\\', b'\\', ..] => Leftover::Bytes(end + 1),
                [] | [b'\\', ..] => Leftover::Bytes(end),
                _ => Leftover::None,
            }
        }
    }
}

/// Where the `\queryid\` that stands at `start` ends, with the backslash behind it.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let value = start + NUMBER.len();
    let length = bytes.get(value..).and_then(|rest| rest.iter().position(|&byte| byte == b'\\'));
    let Some(length) = length else { return bytes.len() };
    match bytes.get(value + length + 1) {
        None | Some(b'\\') => value + length + 1,
        Some(_) => value + length,
    }
}

/// The form of the list that begins here, if it is not text.
fn binary(connection: &Connection, side: Side, bytes: &[u8]) -> Option<Form> {
    if !connection.is_master(side) {
        return None;
    }
    let form = connection.owes()?;
    let is_text = OPENINGS.iter().any(|opening| {
        (bytes.starts_with(opening) || may_become(bytes, opening))
            && !(form == Form::Compact && *opening == CLOSING)
    });
    (matches!(form, Form::Compact | Form::Enciphered) && !is_text).then_some(form)
}

fn in_blocks(form: Form, bytes: &[u8], ended: bool) -> (Framed, Late) {
    let end = (form == Form::Compact).then(|| blocks_end_at_end(bytes)).flatten();
    match end {
        Some(late) => (Framed::Message(bytes.len()), late),
        None if ended => (Framed::Message(bytes.len()), Late::Nothing),
        None => (Framed::More, Late::Nothing),
    }
}

/// Whether a compact list ends with the last byte that is there.
fn blocks_end_at_end(bytes: &[u8]) -> Option<Late> {
    let closings = [(&b"\\final\\"[..], Late::Nothing), (CLOSING, Late::Backslash)];
    let closing = closings.into_iter().find(|(closing, _)| {
        bytes.strip_suffix(*closing).is_some_and(|blocks| blocks.len().is_multiple_of(BLOCK))
    });
    closing.map(|(_, late)| late)
}

/// A message in text. `found`: where the first `\final` stands that is not wholly before `from`.
fn text(
    connection: Option<&Connection>,
    bytes: &[u8],
    from: usize,
    found: Option<usize>,
    ended: bool,
) -> (Framed, Late) {
    if from < SHORT
        && let Some(cut) = next_message(bytes)
    {
        return (Framed::Message(cut), Late::Nothing);
    }
    if let Some(found) = found {
        return closed(bytes, found + CLOSING.len(), ended);
    }
    if ended || is_whole_without_final(connection, bytes) {
        return (Framed::Message(bytes.len()), Late::Final);
    }
    (Framed::More, Late::Nothing)
}

/// Finds [`CLOSING`]: long lists are searched for it.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(CLOSING));

/// The first `\final` that is a keyword, if it does not lie wholly before `from`.
fn closing(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from.saturating_sub(CLOSING.len());
    loop {
        let found = at + FINDER.find(bytes.get(at..)?)?;
        let behind = found + CLOSING.len();
        if matches!(bytes.get(behind), None | Some(b'\\')) {
            return Some(found);
        }
        at = behind;
    }
}

/// The message that `\final` closes; `behind`: what stands behind it.
fn closed(bytes: &[u8], behind: usize, ended: bool) -> (Framed, Late) {
    let rest = bytes.get(behind..).unwrap_or_default();
    let next = match rest {
        [] => return (Framed::Message(behind), Late::Backslash),
        [b'\\'] => return (Framed::Message(behind + 1), Late::Backslash),
        [b'\\', b'\\', ..] => behind + 1,
        _ => behind,
    };
    let rest = bytes.get(next..).unwrap_or_default();
    if rest.starts_with(NUMBER) {
        return (Framed::Message(number_end(bytes, next)), Late::Nothing);
    }
    if OPENINGS.iter().any(|opening| rest.starts_with(opening)) {
        return (Framed::Message(next), Late::Nothing);
    }
    let unclear = OPENINGS.iter().chain([&NUMBER]).any(|opening| may_become(rest, opening));
    if unclear && !ended {
        return (Framed::More, Late::Nothing);
    }
    (Framed::Message(bytes.len()), Late::Nothing)
}

/// Where a list is asked for behind a validate that nothing closes, or given behind a challenge:
/// where the client is not recorded, nothing else tells them apart.
fn next_message(bytes: &[u8]) -> Option<usize> {
    let opens = |opening: &[u8]| bytes.starts_with(opening);
    let next: &[u8] = match () {
        () if opens(b"\\gamename\\") => b"list",
        () if opens(b"\\basic\\") || opens(b"\\secure\\") => b"ip",
        () => return None,
    };
    let short = bytes.get(..SHORT).unwrap_or(bytes);
    let mut before = Text::new(short, 0).take_while(|pair| pair.key != words::FINAL);
    let list = before.find(|pair| pair.key == next)?;
    Some(list.at().start as usize)
}

/// Whether a message without `\final` is whole: a challenge, or a request for a list.
fn is_whole_without_final(connection: Option<&Connection>, bytes: &[u8]) -> bool {
    if bytes.len() > SHORT || bytes.starts_with(list::OPENING) {
        return false;
    }
    let words = words::scan(bytes);
    let growing = words.open_key.is_some_and(|key| !key.is_empty());
    match words.first {
        b"basic" | b"secure" => words.secure.is_some_and(|challenge| {
            let ended = words.open_key == Some(b"");
            let whole = challenge.value.len() >= CHALLENGE && !growing;
            whole || ended && !challenge.value.is_empty()
        }),
        b"list" => {
            let named = words.gamename.is_some_and(|game| !game.value.is_empty());
            let validated = connection.and_then(Connection::game);
            let last = words.gamename.is_some_and(|game| game.at.end as usize == bytes.len());
            named && !growing && !(last && may_grow(words.gamename, validated))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 1 << 20;

    /// The messages of one direction that comes in these segments, and what is let go.
    fn messages(segments: &[&[u8]], ended: bool) -> (Vec<String>, usize) {
        let mut framing = Framing::default();
        let (mut bytes, mut messages, mut junk) = (Vec::new(), Vec::new(), 0);
        for (i, segment) in segments.iter().enumerate() {
            let mut seen = bytes.len();
            bytes.extend_from_slice(segment);
            let ended = ended && i + 1 == segments.len();
            while !bytes.is_empty() {
                let unread = Unread { bytes: &bytes, seen, ended, after_gap: false };
                let n = match frame(&mut framing, None, Side::First, &unread, LONGEST) {
                    Framed::Message(n) => {
                        messages.push(String::from_utf8_lossy(&bytes[..n]).into_owned());
                        n
                    }
                    Framed::Junk(n) => {
                        junk += n;
                        n
                    }
                    Framed::More => break,
                };
                assert!(n > 0);
                bytes.drain(..n);
                seen = seen.saturating_sub(n);
            }
        }
        (messages, junk)
    }

    const VALIDATE: &str = r"\gamename\ut\location\0\validate\3JOdDFU5\final";

    #[test]
    fn several_messages_in_one_segment() {
        for (closing, list) in [
            (r"\", r"\list\\gamename\ut\"),
            (r"\", r"\list\gamename\ut"),
            ("", r"\list\gamename\ut"),
            ("", r"\list\\gamename\ut\final\"),
            (r"\\queryid\1.1\", r"\list\cmp\gamename\ut\final\"),
        ] {
            let first = format!("{VALIDATE}{closing}");
            let both = format!("{first}{list}");
            let expected = (vec![first, list.to_owned()], 0);
            assert_eq!(messages(&[both.as_bytes()], false), expected);
        }
    }

    #[test]
    fn a_validate_that_nothing_closes_ends_before_the_list() {
        let text = br"\gamename\ut\location\0\validate\3JOdDFU5\list\\gamename\ut\final\";
        let (found, junk) = messages(&[text], false);
        assert_eq!(
            found,
            [r"\gamename\ut\location\0\validate\3JOdDFU5", r"\list\\gamename\ut\final\"]
        );
        assert_eq!(junk, 0);
    }

    #[test]
    fn the_challenge_ends_with_what_is_there() {
        for challenge in
            [&br"\basic\\secure\XDWAOR"[..], br"\basic\secure\XDWAOR", br"\secure\XDWAOR"]
        {
            let whole = String::from_utf8_lossy(challenge).into_owned();
            assert_eq!(messages(&[challenge], false), (vec![whole], 0));
        }
        let (found, _) = messages(&[br"\basic\\secure\XDWAOR", br"\ip\1.2.3.4:5\final\"], false);
        assert_eq!(found, [r"\basic\\secure\XDWAOR", r"\ip\1.2.3.4:5\final\"]);
    }

    #[test]
    fn segments_of_one_byte_say_the_same() {
        let text = format!(r"{VALIDATE}\\list\\gamename\ut\final\");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        let (found, _) = messages(&bytes, true);
        assert_eq!(found[0], VALIDATE);
        assert!(found[1].starts_with(r"\list\\gamename\u"), "{found:?}");
        let master = br"\basic\\secure\XDWAOR\final\";
        let bytes: Vec<&[u8]> = master.chunks(1).collect();
        assert_eq!(messages(&bytes, true), (vec![r"\basic\\secure\XDWAOR".to_owned()], 7));
        let list = br"\ip\1.2.3.4:5\ip\1.2.3.4:6\final\";
        let bytes: Vec<&[u8]> = list.chunks(1).collect();
        assert_eq!(
            messages(&bytes, true),
            (vec![r"\ip\1.2.3.4:5\ip\1.2.3.4:6\final".to_owned()], 1)
        );
    }

    #[test]
    fn what_follows_final_may_come_later() {
        let first = format!("{VALIDATE}\\l");
        let (found, junk) = messages(&[first.as_bytes(), br"ist\gamename\ut\final\"], false);
        assert_eq!(
            (found, junk),
            (vec![VALIDATE.to_owned(), r"\list\gamename\ut\final\".into()], 0)
        );
        let text = br"\echo\finally\final\";
        assert_eq!(messages(&[text], false), (vec![r"\echo\finally\final\".to_owned()], 0));
    }

    #[test]
    fn a_list_without_its_end_waits_for_the_close() {
        let list = br"\ip\1.2.3.4:5\ip\1.2";
        assert_eq!(messages(&[list], false), (vec![], 0));
        assert_eq!(messages(&[list], true).0, [r"\ip\1.2.3.4:5\ip\1.2"]);
    }

    #[test]
    fn what_stands_behind_final_goes_with_it() {
        assert_eq!(
            messages(&[br"\ip\1.2.3.4:5\final\rest"], false).0,
            [r"\ip\1.2.3.4:5\final\rest"]
        );
        assert_eq!(messages(&[br"noise\ip\1.2.3.4:5\final\"], false).1, 5);
    }

    #[test]
    fn an_unterminated_message_is_capped() {
        let long = [br"\ip\".to_vec(), vec![b'1'; LONGEST]].concat();
        let (found, junk) = messages(&[&long], false);
        assert_eq!((found[0].len(), junk), (LONGEST, 4));
    }

    #[test]
    fn behind_a_gap_reading_goes_on_at_a_known_word() {
        let mut framing = Framing::default();
        let bytes = &br"4:7778\ip\1.2.3.4:5\final\"[..];
        let unread = Unread { bytes, seen: 0, ended: false, after_gap: true };
        assert_eq!(frame(&mut framing, None, Side::First, &unread, LONGEST), Framed::Junk(6));
        // Until there is one, however the rest is divided.
        let mut framing = Framing::default();
        let mut parts = [&br"on"[..], br"\0\validate\3JOd", br"\validate\3JOd"].into_iter();
        let mut framed = |after_gap| {
            let bytes = parts.next().unwrap();
            let unread = Unread { bytes, seen: 0, ended: false, after_gap };
            frame(&mut framing, None, Side::First, &unread, LONGEST)
        };
        assert_eq!([framed(true), framed(false)], [Framed::Junk(2), Framed::Junk(2)]);
        assert_eq!(framed(false), Framed::More);
    }
}
