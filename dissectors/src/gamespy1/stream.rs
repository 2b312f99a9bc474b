//! Finds the end of messages in a stream.
//!
//! The end of a text is certain only when another message begins, the other side sends something after a whole pair,
//! the direction ends or time passes: until then the text is held, so that the boundaries of
//! segments do not matter. A list is reported as soon as its `\final\` is there: it may be long,
//! and the master closes the connection.

use crate::kit::scan::is_plain_text;
use crate::kit::{Buffer, Framed, Payload, Side, Time, Unread, room};

use super::ends::{self, CLOSING, LONGEST, Reach, may_become};
use super::form::Form;
use super::list::{self, BLOCK};
use super::words;

/// A text that may continue.
pub(super) struct HeldText {
    pub(super) side: Side,
    pub(super) buffer: Buffer,
    pub(super) frame: u64,
    pub(super) time: Time,
    pub(super) lost: bool,
    /// Its kind.
    pub(super) found: StreamUnit,
    /// It ends after this many bytes.
    ends: Option<usize>,
    /// When it is complete if no more bytes come.
    due: Option<Time>,
    /// The other side had sent nothing before it began.
    pub(super) opens: bool,
    /// The other side has sent something since.
    answered: bool,
}

/// The kind of the latest bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StreamUnit {
    /// A whole message.
    #[default]
    Whole,
    /// A part of a text.
    Text,
    /// Invalid bytes after a list.
    Loose,
    /// A part of words without a leading backslash: of a first message, or in place of a list.
    Plain,
}

/// The read position in both directions of a stream.
#[derive(Default)]
pub(super) struct StreamFraming {
    searched: [usize; 2],
    /// The last message was a list with its end.
    listed: [bool; 2],
    /// Bytes are missing, and no message has begun since then.
    astray: [bool; 2],
    /// The first message has begun.
    begun: [bool; 2],
    found: StreamUnit,
    held: [Option<Box<HeldText>>; 2],
}

impl StreamFraming {
    /// Heap memory in bytes.
    pub(super) fn held(&self) -> usize {
        let of = |held: &HeldText| {
            size_of::<HeldText>() + room(&held.buffer.bytes) + room(&held.buffer.pieces)
        };
        self.held.iter().flatten().map(|held| of(held)).sum()
    }

    /// The held text of this side.
    pub(super) fn held_of(&self, side: Side) -> Option<&[u8]> {
        Some(&self.held[side.index()].as_ref()?.buffer.bytes)
    }

    /// When the first held text times out.
    pub(super) fn due(&self) -> Option<Time> {
        self.held.iter().flatten().filter_map(|held| held.due).min()
    }

    /// Whether this side is in the middle of a list in text, which has an end of its own.
    pub(super) fn lists(&self, side: Side) -> bool {
        self.searched[side.index()] > 0
    }

    /// This side sends something: the held text of the other side is complete, unless it is cut inside of a pair.
    fn heard(&mut self, side: Side) {
        if let Some(held) = &mut self.held[side.other().index()] {
            held.answered = true;
            if !held.is_cut_in_pair() {
                held.due = Some(held.time);
            }
        }
    }

    /// Nothing of the other side, whose messages separate those of this one, is in the capture: a held text of this side
    /// that is closed is complete.
    pub(super) fn closes(&mut self, side: Side) {
        if let Some(held) = &mut self.held[side.index()]
            && ends::is_closed(&held.buffer.bytes)
        {
            held.ends.get_or_insert(held.buffer.bytes.len());
        }
    }

    /// A held text that is complete by now, or with `end` any, the oldest first.
    pub(super) fn take(&mut self, now: Time, end: bool) -> Option<HeldText> {
        let is_over = |held: &&HeldText| end || held.due.is_some_and(|due| due <= now);
        let all = self.held.iter().flatten().map(|held| &**held);
        let side = all.filter(is_over).min_by_key(|held| held.frame)?.side;
        self.held[side.index()].take().map(|held| *held)
    }

    /// This side sends something: the next held text that is complete, if any.
    pub(super) fn over(&mut self, side: Side) -> Option<HeldText> {
        if let Some(other) = self.held[side.other().index()].take_if(|it| !it.is_cut_in_pair()) {
            return Some(*other);
        }
        let own = &mut self.held[side.index()];
        let end = own.as_ref()?.ends?;
        let mut held = *own.take()?;
        if end < held.buffer.bytes.len() {
            *own = Some(Box::new(held.split(end)));
        }
        Some(held)
    }

    /// Whether the latest bytes are held now, for at most `timeout`. Otherwise they are a whole
    /// message.
    pub(super) fn holds(&mut self, payload: &Payload<'_>, timeout: i64) -> bool {
        if self.found == StreamUnit::Whole {
            return false;
        }
        let opens = !self.begun[payload.side.other().index()];
        let held = self.held[payload.side.index()].get_or_insert_with(|| {
            Box::new(HeldText {
                side: payload.side,
                buffer: Buffer::default(),
                frame: payload.frame,
                time: payload.time,
                lost: false,
                found: self.found,
                ends: None,
                due: None,
                opens,
                answered: false,
            })
        });
        held.buffer.append(payload.bytes, 0, payload.pieces);
        (held.frame, held.time, held.answered) = (payload.frame, payload.time, false);
        held.lost |= payload.lost;
        let over = ends::is_whole(&held.buffer.bytes);
        held.due = over.then(|| payload.time.after(timeout));
        true
    }

    /// After missing bytes, reading continues where a message begins.
    fn resumes(&mut self, side: Side, unread: &Unread<'_>) -> Option<Framed> {
        let astray = self.astray.get_mut(side.index())?;
        if !unread.after_gap && !*astray {
            return None;
        }
        if let Some(held) = self.held[side.index()].as_mut().filter(|held| held.ends.is_none()) {
            held.ends = Some(held.buffer.bytes.len());
            held.lost |= !held.is_whole();
        }
        self.listed[side.index()] = false;
        *astray = !ends::opens(unread.bytes);
        astray.then(|| match ends::resumption(unread.bytes, unread.ended) {
            Some(0) => Framed::More,
            found => Framed::Junk(found.unwrap_or(unread.bytes.len())),
        })
    }

    /// The held text may continue.
    fn goes_on(&mut self, side: Side, unread: &Unread<'_>) -> Option<Framed> {
        let held = self.held[side.index()].as_mut().filter(|held| held.ends.is_none())?;
        let before = held.buffer.bytes.len();
        // One byte more than the maximum shows that there is more.
        let seen = unread.bytes.get(..=LONGEST).unwrap_or(unread.bytes);
        let ended = unread.ended && seen.len() == unread.bytes.len();
        let reach = ends::reach(
            &[&held.buffer.bytes, seen].concat(),
            held.found != StreamUnit::Text,
            ended,
        );
        self.found = held.found;
        match reach {
            Reach::Open(end) | Reach::Over(end) if end > before => {
                Some(Framed::Message(end - before))
            }
            Reach::Open(_) => Some(Framed::More),
            Reach::Over(end) => {
                held.ends = Some(end);
                // Its last backslash belongs to the next message.
                (end < before).then_some(Framed::Message(1))
            }
        }
    }

    /// Bytes after a list: backslashes, a `\queryid\`, the next message, or invalid bytes.
    fn after_list(&mut self, side: Side, unread: &Unread<'_>) -> Option<Framed> {
        let (bytes, ended) = (unread.bytes, unread.ended);
        let listed = self.listed.get_mut(side.index()).filter(|listed| **listed)?;
        if let Some(length) = ends::number(bytes) {
            let whole = length < bytes.len() || ended;
            return Some(if whole { Framed::Junk(length) } else { Framed::More });
        }
        if ends::opens(bytes) && !bytes.starts_with(CLOSING) {
            *listed = false;
            return None;
        }
        if ends::may_open(bytes) && !ended {
            return Some(Framed::More);
        }
        if bytes.first() == Some(&b'\\') && !bytes.starts_with(CLOSING) {
            return Some(Framed::Junk(1));
        }
        *listed = false;
        self.found = StreamUnit::Loose;
        Some(part(ends::reach(bytes, true, ended)))
    }

    /// A message begins.
    fn begins(
        &mut self,
        wanted: Option<Form>,
        side: Side,
        unread: &Unread<'_>,
        most: usize,
    ) -> Framed {
        let (bytes, ended) = (unread.bytes, unread.ended);
        let doubled = bytes.strip_prefix(b"\\").filter(|rest| rest.starts_with(b"\\"));
        self.found = StreamUnit::Whole;
        let framed = match wanted.filter(|form| is_blocks(*form, bytes)) {
            _ if self.lists(side) => self.list(side, unread),
            Some(form) => self.blocks(form, side, unread),
            None if bytes.first() != Some(&b'\\')
                && (!self.begun[side.index()] || wanted.is_some() && is_readable(bytes)) =>
            {
                self.found = StreamUnit::Plain;
                return part(ends::reach(bytes, true, ended));
            }
            None if bytes.first() != Some(&b'\\') => {
                Framed::Junk(ends::opening(bytes).unwrap_or(bytes.len()))
            }
            None if doubled.is_some_and(ends::opens) => Framed::Junk(1),
            None if doubled.is_some_and(ends::may_open) && !ended => Framed::More,
            None => match is_list(wanted, bytes, ended) {
                None => Framed::More,
                Some(true) => self.list(side, unread),
                Some(false) => {
                    self.found = StreamUnit::Text;
                    return part(ends::reach(bytes, false, ended));
                }
            },
        };
        let capped = framed == Framed::More && bytes.len() >= most;
        if capped { Framed::Message(most) } else { framed }
    }

    fn blocks(&mut self, form: Form, side: Side, unread: &Unread<'_>) -> Framed {
        let closed = form == Form::Compact && are_closed(unread.bytes);
        let is_text = is_plain_text(unread.bytes) && unread.bytes.first() != Some(&b'\\');
        if !closed && unread.ended && is_text {
            self.found = StreamUnit::Plain;
        }
        self.listed[side.index()] = closed;
        if closed || unread.ended { Framed::Message(unread.bytes.len()) } else { Framed::More }
    }

    /// A list in text.
    fn list(&mut self, side: Side, unread: &Unread<'_>) -> Framed {
        let (bytes, searched) = (unread.bytes, &mut self.searched[side.index()]);
        let of_addresses = bytes.starts_with(list::OPENING) || bytes.starts_with(CLOSING);
        let closing = if of_addresses { ends::list_closing } else { ends::closing };
        let found = closing(bytes, (*searched).min(unread.seen).min(bytes.len()));
        *searched = bytes.len();
        let Some(end) = found.map(|found| found + CLOSING.len()) else {
            return if unread.ended { Framed::Message(bytes.len()) } else { Framed::More };
        };
        self.listed[side.index()] = true;
        let rest = bytes.get(end..).unwrap_or_default();
        let backslash = rest.starts_with(b"\\") && !ends::opens(rest);
        Framed::Message(end + usize::from(backslash))
    }
}

/// What comes next. A list of `most` bytes without an end is returned as it is. `wanted`: the form
/// of the list that is due from this side; none is requested in the middle of a list in text.
pub(super) fn frame(
    framing: &mut StreamFraming,
    wanted: Option<Form>,
    side: Side,
    unread: &Unread<'_>,
    most: usize,
) -> Framed {
    framing.heard(side);
    let framed = framing
        .resumes(side, unread)
        .or_else(|| framing.goes_on(side, unread))
        .or_else(|| framing.after_list(side, unread));
    let framed = framed.unwrap_or_else(|| framing.begins(wanted, side, unread, most));
    if framed != Framed::More {
        framing.searched[side.index()] = 0;
        framing.begun[side.index()] = true;
    }
    framed
}

/// The certain part of a text.
fn part(reach: Reach) -> Framed {
    match reach {
        Reach::Open(0) => Framed::More,
        Reach::Open(length) | Reach::Over(length) => Framed::Message(length),
    }
}

/// Whether bytes can be words, in whatever encoding.
fn is_readable(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// Whether a list that is not text begins here.
fn is_blocks(form: Form, bytes: &[u8]) -> bool {
    let is_text = ends::OPENINGS.iter().any(|opening| {
        (bytes.starts_with(opening) || may_become(bytes, opening))
            && !(form == Form::Compact && *opening == CLOSING)
    });
    let is_text = is_text && !(form == Form::Compact && list::is_blocks(bytes));
    matches!(form, Form::Compact | Form::Enciphered) && !is_text
}

/// Whether a list in text begins here. `None`: not certain yet.
fn is_list(wanted: Option<Form>, bytes: &[u8], ended: bool) -> Option<bool> {
    let others: [&[u8]; 3] = [b"\\echo\\", b"\\basic\\", b"\\secure\\"];
    let of_pairs = matches!(wanted, Some(Form::Groups | Form::Info));
    let lists = [list::OPENING, CLOSING];
    let may = |wholes: &[&[u8]]| !ended && wholes.iter().any(|whole| may_become(bytes, whole));
    let is = |wholes: &[&[u8]]| wholes.iter().any(|whole| bytes.starts_with(whole));
    match () {
        () if is(&lists) => Some(true),
        () if may(&lists) => None,
        () if of_pairs && may(&others) => None,
        () => Some(of_pairs && !is(&others)),
    }
}

/// Whether the last byte closes a compact list.
fn are_closed(bytes: &[u8]) -> bool {
    let blocks = bytes.strip_suffix(b"\\final\\");
    blocks.is_some_and(|blocks| blocks.len().is_multiple_of(BLOCK))
}

impl HeldText {
    /// Whether it may be complete.
    pub(super) fn may_be_over(&self) -> bool {
        self.answered || self.is_whole()
    }

    /// Whether its last key has no value yet, so that the other side's message cannot be the answer.
    fn is_cut_in_pair(&self) -> bool {
        self.found == StreamUnit::Text && !words::scan(&self.buffer.bytes).is_sound()
    }

    /// Whether it is complete, as far as its bytes show.
    pub(super) fn is_whole(&self) -> bool {
        ends::is_whole(&self.buffer.bytes)
    }

    /// Keeps the bytes before `end`, and returns the rest.
    fn split(&mut self, end: usize) -> HeldText {
        let (mut head, mut rest) = (Buffer::default(), Buffer::default());
        let (first, second) = self.buffer.bytes.split_at_checked(end).unwrap_or_default();
        head.append(first, 0, &self.buffer.pieces);
        rest.append(second, end, &self.buffer.pieces);
        self.buffer = head;
        let found = StreamUnit::Text;
        HeldText { buffer: rest, found, ends: None, due: None, answered: false, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::Transport;

    const LONGEST: usize = 1 << 20;

    /// The messages of one direction with these segments, and the skipped bytes.
    fn messages(segments: &[&[u8]], ended: bool) -> (Vec<String>, usize) {
        let mut framing = StreamFraming::default();
        let (mut bytes, mut messages, mut junk) = (Vec::new(), Vec::new(), 0);
        let mut push = |bytes: &[u8]| messages.push(String::from_utf8_lossy(bytes).into_owned());
        for (i, segment) in segments.iter().enumerate() {
            let mut seen = bytes.len();
            bytes.extend_from_slice(segment);
            let ended = ended && i + 1 == segments.len();
            while !bytes.is_empty() {
                let unread = Unread { bytes: &bytes, seen, ended, ..Unread::default() };
                let n = match frame(&mut framing, None, Side::First, &unread, LONGEST) {
                    Framed::Message(n) => {
                        let payload = payload(&bytes[..n]);
                        if let Some(held) = framing.over(Side::First) {
                            push(&held.buffer.bytes);
                        }
                        if !framing.holds(&payload, 1) {
                            push(payload.bytes);
                        }
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
        if let Some(held) = framing.take(Time(0), true) {
            push(&held.buffer.bytes);
        }
        (messages, junk)
    }

    fn payload(bytes: &[u8]) -> Payload<'_> {
        let end = ([192, 0, 2, 1], 28900).into();
        Payload { frame: 1, flow: 1, transport: Transport::Tcp, ..Payload::of(bytes, [end, end]) }
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
    fn a_challenge_ends_with_the_recorded_bytes() {
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
    fn boundaries_of_segments_do_not_matter() {
        for (text, expected) in [
            (format!(r"{VALIDATE}\\list\\gamename\ut\final\"), 2),
            (format!(r"{VALIDATE}\list\gamename\ut"), 2),
            (format!(r"{VALIDATE}\\queryid\1.1\\list\gamename\ut\where\x"), 2),
            (format!(r"{VALIDATE}\foo\bar\\list\gamename\ut\"), 2),
            (r"\gamename\ut\location\0\validate\3JOdDFU5\list\\gamename\ut".into(), 2),
            (r"\basic\\secure\XDWAOR\final\\ip\1.2.3.4:5\ip\1.2.3.4:6\final\".into(), 2),
            (r"\basic\\secure\XDWAORXX\ip\1.2.3.4:5\final\\ip\1.2.3.4:5\final\".into(), 3),
            (r"\ip\1.2.3.4:5\final\rest\x".into(), 2),
            ("\\ip\\1.2.3.4:5\\final\r\n".into(), 2),
            (r"\ip\1.2.3.4:5\finality\ip\1.2.3.4:5\final\".into(), 3),
            (format!(r"{}\\list\\gamename\ut\final\", &VALIDATE[..VALIDATE.len() - 6]), 2),
            (r"\secure\XDW".into(), 1),
            (r"\echo\finally\final\".into(), 1),
        ] {
            let whole = messages(&[text.as_bytes()], true);
            assert_eq!(whole.0.len(), expected, "{:?}", whole.0);
            // The backslash at a list's end may come after the list was reported.
            let trimmed = |messages: Vec<String>| -> Vec<String> {
                let trim = |it: String| match it.strip_suffix(r"\final\") {
                    Some(list) if list.starts_with(r"\ip") => format!(r"{list}\final"),
                    _ => it,
                };
                messages.into_iter().map(trim).collect()
            };
            let whole = trimmed(whole.0);
            for cut in 1..text.len() {
                let (front, back) = text.split_at(cut);
                let found = messages(&[front.as_bytes(), back.as_bytes()], true).0;
                assert_eq!(trimmed(found), whole, "{front} | {back}");
            }
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(trimmed(messages(&bytes, true).0), whole, "{text}");
        }
    }

    #[test]
    fn text_after_final_may_arrive_later() {
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
    fn text_after_final_belongs_to_the_message() {
        assert_eq!(
            messages(&[br"\ip\1.2.3.4:5\final\rest"], false).0,
            [r"\ip\1.2.3.4:5\final\", "rest"]
        );
        let (found, junk) = messages(&[br"noise\ip\1.2.3.4:5\final\"], false);
        assert_eq!((&*found[0], found.len(), junk), ("noise", 2, 0), "first words are reported");
    }

    #[test]
    fn an_unterminated_message_is_capped() {
        let long = [br"\ip\".to_vec(), vec![b'1'; LONGEST]].concat();
        let (found, junk) = messages(&[&long], false);
        assert_eq!((found[0].len(), junk), (LONGEST, 4));
    }

    #[test]
    fn reading_continues_at_a_known_word_after_a_gap() {
        let mut framing = StreamFraming::default();
        let bytes = &br"4:7778\ip\1.2.3.4:5\final\"[..];
        let unread = Unread { bytes, after_gap: true, ..Unread::default() };
        assert_eq!(frame(&mut framing, None, Side::First, &unread, LONGEST), Framed::Junk(6));
        // Until there is one, however the rest is divided.
        let mut framing = StreamFraming::default();
        let parts = [&br"on"[..], br"\0\va", br"\va", br"\validate\3JOd"];
        let mut parts = parts.into_iter();
        let mut framed = |after_gap| {
            let bytes = parts.next().unwrap();
            let unread = Unread { bytes, after_gap, ..Unread::default() };
            frame(&mut framing, None, Side::First, &unread, LONGEST)
        };
        assert_eq!([framed(true), framed(false)], [Framed::Junk(2), Framed::Junk(2)]);
        assert_eq!(framed(false), Framed::More);
        assert_eq!(framed(false), Framed::Message(r"\validate\3JOd".len()));
    }
}
