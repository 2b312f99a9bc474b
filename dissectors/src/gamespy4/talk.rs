//! What one client and one server have said to each other: who asks, what waits for an answer,
//! which challenges were given, and the packets of answers that are not whole yet. It knows no
//! rules.

use super::decode::{Form, Header, Kind, Request};
use crate::kit::{Budget, Buffer, Limits, Mark, Payload, ShortMark, Side, Time, room};

/// The state of a flow.
#[derive(Default)]
pub struct Talk {
    /// Which side asks.
    pub(super) client: Option<Side>,
    /// The port that answers has been judged.
    pub(super) port_judged: bool,
    /// The latest request.
    latest: Option<Asked>,
    rest: Option<Box<Rest>>,
}

/// What only a flow has that said more than one thing.
#[derive(Default)]
struct Rest {
    /// Earlier requests that may still be answered.
    older: Vec<Asked>,
    /// The challenges given, the latest first.
    given: Vec<i32>,
    /// Answers of which not all packets are there.
    open: Vec<Unfinished>,
    /// The latest answer that was whole.
    done: Done,
}

/// How many given challenges are remembered.
const GIVEN: usize = 8;

/// Bytes that the packets of one answer may have: ten times what any known server sends.
const MOST: usize = 256 << 10;

/// A request, with its repetitions.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) kind: Kind,
    pub(super) form: Form,
    pub(super) timestamp: u32,
    /// The latest repetition.
    pub(super) mark: ShortMark,
    /// How often it was sent.
    times: u8,
    /// How often it was answered.
    pub(super) answers: u8,
    /// Nothing is wrong with it: it is owed an answer.
    pub(super) owed: bool,
    /// Its challenge is right (`Some(true)`), or wrong.
    pub(super) verified: Option<bool>,
    /// The recording lost something of it.
    pub(super) lost: bool,
}

/// What an answer answers.
pub(super) enum Found {
    /// A request that waits for it.
    Asked(Asked),
    /// Nothing, but it is, byte for byte, a packet of the answer before it.
    Copy,
    /// Nothing.
    Nothing,
}

/// An answer of which not all packets are there.
pub(super) struct Unfinished {
    pub(super) timestamp: u32,
    pub(super) side: Side,
    /// The packets as they came.
    pub(super) packets: Buffer,
    /// Their indices.
    indices: Vec<u8>,
    /// Which indices are there, a bit each.
    pub(super) have: u128,
    /// The index of the packet with the last bit.
    pub(super) last: Option<u8>,
    /// Its first packet.
    pub(super) mark: Mark,
    /// When it is given up.
    pub(super) deadline: Time,
    /// Its request is in the capture: no packet of it can have come before.
    pub(super) asked: bool,
}

/// The latest whole answer, to tell a copy of one of its packets.
#[derive(Default)]
struct Done {
    timestamp: u32,
    packets: Vec<u32>,
}

/// What a packet of an answer is to the packets before it.
pub(super) enum Part {
    /// Kept.
    Kept,
    /// Kept, and the answer is whole now.
    Whole(Unfinished),
    /// One that is there already.
    Copy,
    /// Another one with an index that is there already.
    Repeated,
    /// The last bit stands on packet `last`, and another packet has a higher index.
    LastMisplaced { highest: u8, last: u8 },
    /// There is no room for it.
    Full,
}

impl Unfinished {
    /// The packets in the order of their indices.
    pub(super) fn in_order(&self) -> Vec<&crate::kit::PartSpan> {
        let mut parts: Vec<_> = self.indices.iter().zip(self.packets.parts()).collect();
        parts.sort_by_key(|&(&index, _)| index);
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// The recording lost something of a packet.
    pub(super) fn lost(&self) -> bool {
        self.packets.parts().iter().any(|part| part.lost)
    }

    fn bytes_of(&self, index: u8) -> Option<&[u8]> {
        let at = self.indices.iter().position(|&other| other == index)?;
        self.packets.parts().get(at).map(|part| self.packets.bytes_of(part))
    }

    fn is_whole(&self) -> bool {
        self.last.is_some_and(|last| self.have.trailing_ones() > u32::from(last))
    }

    fn highest(&self) -> u8 {
        (127_u32.saturating_sub(self.have.leading_zeros())) as u8
    }
}

impl Talk {
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// The challenges that the client was given, the latest first.
    pub(super) fn given(&self) -> &[i32] {
        self.rest.as_ref().map_or(&[], |rest| &rest.given)
    }

    /// The server gave a challenge.
    pub(super) fn give(&mut self, challenge: i32) {
        let given = &mut self.rest().given;
        given.retain(|&other| other != challenge);
        given.truncate(GIVEN - 1);
        given.insert(0, challenge);
    }

    /// The client asks. Hands back a request that has waited so long that there is no room for it.
    pub(super) fn ask(
        &mut self,
        said: &Request,
        verified: Option<bool>,
        payload: &Payload<'_>,
        limits: &Limits,
    ) -> Option<Asked> {
        let timestamp = said.timestamp?;
        let asked = Asked {
            kind: said.kind,
            form: said.form,
            timestamp,
            mark: payload.mark().into(),
            times: 1,
            answers: 0,
            owed: said.sound && verified != Some(false),
            verified,
            lost: payload.lost,
        };
        if let Some(same) =
            self.find(|other| other.kind == asked.kind && other.timestamp == timestamp)
        {
            same.times = same.times.saturating_add(1);
            same.verified = if same.verified == Some(true) { same.verified } else { verified };
            same.owed |= asked.owed;
            (same.form, same.mark, same.lost) = (asked.form, asked.mark, asked.lost);
            return None;
        }
        let older = self.latest.replace(asked)?;
        let rest = self.rest();
        rest.older.push(older);
        (rest.older.len() >= limits.pending.max(1)).then(|| rest.older.remove(0))
    }

    fn find(&mut self, is: impl Fn(&Asked) -> bool) -> Option<&mut Asked> {
        let older = self.rest.as_mut().into_iter().flat_map(|rest| rest.older.iter_mut().rev());
        self.latest.iter_mut().chain(older).find(|asked| is(asked))
    }

    /// How the answer with this timestamp was asked for, if it was.
    pub(super) fn form(&mut self, timestamp: u32) -> Option<Form> {
        let is = |asked: &Asked| asked.kind == Kind::Info && echoes(asked.timestamp, timestamp);
        self.find(is).map(|asked| asked.form)
    }

    /// What an answer answers: the request with its timestamp, or else any of its kind.
    pub(super) fn answer(&mut self, kind: Kind, timestamp: u32, bytes: &[u8]) -> Found {
        let is = |asked: &Asked| asked.kind == kind && echoes(asked.timestamp, timestamp);
        let exact = self.find(is).map(|asked| asked.timestamp);
        if exact.is_none() && self.copies(timestamp, bytes) {
            return Found::Copy;
        }
        let found = self.find(|asked| match exact {
            Some(exact) => asked.kind == kind && asked.timestamp == exact,
            None => asked.kind == kind && asked.answers == 0,
        });
        let Some(found) = found else { return Found::Nothing };
        found.answers = found.answers.saturating_add(1);
        let asked = *found;
        if asked.answers >= asked.times {
            self.forget(|other| other.kind == kind && other.timestamp == asked.timestamp);
        }
        Found::Asked(asked)
    }

    /// What came for the request with this timestamp is no whole answer, but no silence either.
    pub(super) fn settle(&mut self, timestamp: u32) {
        let is = |asked: &Asked| asked.kind == Kind::Info && echoes(asked.timestamp, timestamp);
        if let Some(asked) = self.find(is) {
            asked.answers = asked.answers.saturating_add(1);
            if asked.answers >= asked.times {
                self.forget(is);
            }
        }
    }

    /// Whether an info request waits for an answer.
    pub(super) fn waits_for_info(&mut self) -> bool {
        self.find(|asked| asked.kind == Kind::Info).is_some()
    }

    fn forget(&mut self, is: impl Fn(&Asked) -> bool) {
        if self.latest.as_ref().is_some_and(&is) {
            self.latest = None;
        }
        if let Some(rest) = &mut self.rest {
            rest.older.retain(|asked| !is(asked));
        }
    }

    /// All requests that are left, the oldest first.
    pub(super) fn take_asked(&mut self) -> impl Iterator<Item = Asked> + use<> {
        let older = self.rest.as_mut().map(|rest| std::mem::take(&mut rest.older));
        older.unwrap_or_default().into_iter().chain(self.latest.take())
    }

    /// An answer in one packet was whole.
    pub(super) fn done(&mut self, timestamp: u32, bytes: &[u8]) {
        let done = &mut self.rest().done;
        done.timestamp = timestamp;
        done.packets.clear();
        done.packets.push(crc32fast::hash(bytes));
    }

    fn copies(&self, timestamp: u32, bytes: &[u8]) -> bool {
        let Some(done) = self.rest.as_ref().map(|rest| &rest.done) else { return false };
        let index = Header::of(bytes).map_or(0, |header| header.index);
        done.timestamp == timestamp
            && done.packets.get(usize::from(index)) == Some(&crc32fast::hash(bytes))
    }

    /// A packet of an answer in several comes.
    pub(super) fn part(
        &mut self,
        header: Header,
        payload: &Payload<'_>,
        limits: &Limits,
        timeout: i64,
        budget: &mut Budget,
    ) -> Part {
        let waiting = self
            .find(|asked| asked.kind == Kind::Info && echoes(asked.timestamp, header.timestamp));
        let waits = waiting.is_some();
        let rest = self.rest();
        let is =
            |open: &Unfinished| open.timestamp == header.timestamp && open.side == payload.side;
        let at = match rest.open.iter().position(is) {
            Some(at) => at,
            None => {
                if !waits && let Some(told) = rest.done.after(header, payload.bytes) {
                    return told;
                }
                rest.open.push(Unfinished::new(header.timestamp, payload, timeout, waits));
                rest.open.len() - 1
            }
        };
        let Some(open) = rest.open.get_mut(at) else { return Part::Full };
        let part = open.add(header, payload, limits, budget);
        if !open.is_whole() {
            return part;
        }
        let open = rest.open.remove(at);
        rest.done.timestamp = open.timestamp;
        let parts = open.in_order().into_iter();
        rest.done.packets =
            parts.map(|part| crc32fast::hash(open.packets.bytes_of(part))).collect();
        Part::Whole(open)
    }

    /// Bytes held beside what the budget counts.
    pub(super) fn held(&self) -> usize {
        let Some(rest) = &self.rest else { return 0 };
        let indices: usize = rest.open.iter().map(|open| room(&open.indices)).sum();
        let lists = room(&rest.older) + room(&rest.given) + room(&rest.open) + indices;
        size_of::<Rest>() + lists + room(&rest.done.packets)
    }

    /// A request for the answer with this timestamp was sent, or repeated, after `time`.
    pub(super) fn asked_since(&mut self, timestamp: u32, time: Time) -> bool {
        let is = |asked: &Asked| asked.kind == Kind::Info && echoes(asked.timestamp, timestamp);
        self.find(is).is_some_and(|asked| asked.mark.get().time > time)
    }

    /// Whether packets of the answer with this timestamp wait for the rest.
    pub(super) fn is_open(&self, timestamp: u32) -> bool {
        let open = self.rest.as_ref().map_or(&[][..], |rest| &rest.open);
        open.iter().any(|open| open.timestamp == timestamp)
    }

    /// Takes out the unfinished answer with this timestamp.
    pub(super) fn take_open(&mut self, timestamp: u32) -> Option<Unfinished> {
        let open = &mut self.rest.as_mut()?.open;
        let at = open.iter().position(|open| open.timestamp == timestamp)?;
        Some(open.remove(at))
    }

    /// Takes out an answer that is overdue, or any with `all`, or one too many.
    pub(super) fn take_overdue(&mut self, now: Time, all: bool, most: usize) -> Option<Unfinished> {
        let open = &mut self.rest.as_mut()?.open;
        let due = |unfinished: &Unfinished| all || unfinished.deadline <= now;
        let at = open.iter().position(due).or((open.len() > most).then_some(0))?;
        Some(open.remove(at))
    }

    /// When the first unfinished answer is given up.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.rest.as_ref()?.open.iter().map(|open| open.deadline).min()
    }
}

/// Whether an answer's timestamp is a request's, which Minecraft masks.
fn echoes(asked: u32, got: u32) -> bool {
    got == asked || got == asked & 0x0F0F_0F0F
}

impl Unfinished {
    fn new(timestamp: u32, payload: &Payload<'_>, timeout: i64, asked: bool) -> Unfinished {
        Unfinished {
            timestamp,
            side: payload.side,
            packets: Buffer::default(),
            indices: Vec::new(),
            have: 0,
            last: None,
            mark: payload.mark(),
            deadline: Time(payload.time.0.saturating_add(timeout)),
            asked,
        }
    }

    fn add(
        &mut self,
        header: Header,
        payload: &Payload<'_>,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Part {
        if let Some(there) = self.bytes_of(header.index) {
            return if there == payload.bytes { Part::Copy } else { Part::Repeated };
        }
        let last = self.last.or(header.last.then_some(header.index));
        let highest = if self.have == 0 { header.index } else { self.highest().max(header.index) };
        if let Some(last) = last
            && (highest > last || header.last && header.index != last)
        {
            return Part::LastMisplaced { highest, last };
        }
        if !self.packets.keep(payload, limits.parts_bytes.min(MOST), budget) {
            return Part::Full;
        }
        self.have |= 1 << header.index;
        self.indices.push(header.index);
        self.last = last;
        Part::Kept
    }
}

impl Done {
    /// What a packet is to the whole answer before it, when nobody waits for another.
    fn after(&self, header: Header, bytes: &[u8]) -> Option<Part> {
        if self.packets.is_empty() || self.timestamp != header.timestamp {
            return None;
        }
        let last = self.packets.len().saturating_sub(1).min(127) as u8;
        Some(match self.packets.get(usize::from(header.index)) {
            Some(&there) if there == crc32fast::hash(bytes) => Part::Copy,
            Some(_) => Part::Repeated,
            None => Part::LastMisplaced { highest: header.index, last },
        })
    }
}
