//! The messages on a page: all, or a sample that includes those with findings.

use dissectors::kit::{Role, Set};
use serde_json::{Value, json};

use crate::message::MessageRef;
use crate::report::json::{Json, hex, line};
use crate::report::ladder::Ladder;
use crate::report::{Envelope, put};
use crate::session::{IcmpEvent, MessageEvent, UnansweredRequest};

/// Maximum bytes of the fields of one message; of a larger one only its first bytes are shown.
const LARGE: usize = 64 << 10;

/// Those first bytes.
const SHOWN: usize = 4096;

/// The messages of a page: an arrow of the ladder each, with the fields and the bytes stored
/// separately.
pub struct Sample {
    /// Maximum number of messages, and bytes of their fields.
    most: usize,
    room: usize,
    /// The messages to take; `None`: all, as long as they fit.
    choice: Option<SampleSelection>,
    ladder: Ladder,
    /// Further data of each arrow; `None` for an ICMP error.
    rows: Vec<Option<Row>>,
    taken: usize,
    json: Json,
    /// A line for each arrow: its fields and its bytes.
    details: Vec<u8>,
    /// The number of messages, and of copies among them, which count nowhere.
    seen: u64,
    copies: u64,
    /// The latest packet that completed one, and how many more messages than one packets completed.
    latest: u64,
    further: u64,
    is_full: bool,
}

/// How to take a sample of a known number of messages.
struct SampleSelection {
    /// Packets that findings are about.
    frames: Set<u64>,
    /// The number of other messages that are still to be taken, and that are still to come.
    wanted: u64,
    left: u64,
    random: u64,
}

struct Row {
    flow: u32,
    length: u64,
    speaker: Role,
    /// It was taken because of a finding, and represents no other messages.
    is_certain: bool,
    is_copy: bool,
    /// For a response: the requested data has arrived.
    completes: Option<bool>,
}

impl Sample {
    /// For this many messages, whose fields take this many bytes.
    pub fn new(most: usize, room: usize) -> Sample {
        Sample {
            most,
            room,
            choice: None,
            ladder: Ladder::default(),
            rows: Vec::new(),
            taken: 0,
            json: Json::new(true),
            details: Vec::new(),
            seen: 0,
            copies: 0,
            latest: 0,
            further: 0,
            is_full: false,
        }
    }

    /// Whether there were more messages than fit: the capture must be read again, with
    /// [`Sample::again`].
    pub fn is_full(&self) -> bool {
        self.is_full && self.choice.is_none()
    }

    /// How many messages there are.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many of them it has, and how many bytes their fields take.
    pub fn taken(&self) -> (usize, usize) {
        (self.taken, self.details.len())
    }

    /// An empty sample for the second pass: the messages that these packets completed, and as many
    /// others as fit.
    pub fn again(&self, frames: Set<u64>, most: usize, room: usize) -> Sample {
        let of_findings = (frames.len() as u64).min(self.seen);
        let left = self.seen - of_findings;
        // Findings may be about all messages of a packet.
        let certain = of_findings.saturating_add(self.further);
        let wanted = (most as u64).saturating_sub(certain).min(left);
        let choice = SampleSelection { frames, wanted, left, random: 0 };
        Sample { choice: Some(choice), ..Sample::new(most, room) }
    }

    /// A message, taken or not, may answer a request.
    pub fn exchange(&mut self, m: &MessageEvent<'_>) {
        self.ladder.undrawn(m.exchange(), m.sending(), m.reply(), &m.payload());
    }

    /// The next message of the capture.
    pub fn message(&mut self, m: &MessageEvent<'_>) {
        self.seen += 1;
        self.copies += u64::from(m.context().copy_of.is_some());
        let payload = m.payload();
        let is_further = payload.frame == self.latest;
        self.latest = payload.frame;
        self.further += u64::from(is_further);
        if self.is_full() {
            return;
        }
        let has_finding = self.choice.as_ref().is_some_and(|it| it.frames.contains(&payload.frame));
        if !has_finding && !self.choice.as_mut().is_none_or(|choice| choice.takes(is_further)) {
            return self.exchange(m);
        }
        let Some(envelope) = Envelope::of(m) else { return };
        if self.taken >= self.most {
            self.exchange(m);
            return self.fill();
        }
        let before = self.ladder.steps();
        // Findings are stored separately: many are known only after the message.
        self.ladder.message(&envelope.with_findings(&[]));
        if self.ladder.steps() == before {
            return self.fill();
        }
        self.taken += 1;
        self.rows.push(Some(Row {
            flow: payload.flow,
            length: m.length(),
            speaker: m.message().speaker,
            is_certain: has_finding,
            is_copy: m.context().copy_of.is_some(),
            completes: m.reply().map(|reply| reply.complete),
        }));
        let is_exempt = has_finding || self.choice.is_none();
        let room = if is_exempt { self.room } else { self.room / 2 };
        if !self.detail(&envelope.message, room) && self.choice.is_none() {
            self.fill();
        }
    }

    /// An ICMP error about a message.
    pub fn icmp(&mut self, icmp: &IcmpEvent) {
        let before = self.ladder.steps();
        if !self.is_full() && self.rows.len() < 2 * self.most {
            self.ladder.icmp(icmp);
        }
        if self.ladder.steps() > before {
            self.rows.push(None);
            self.details.extend_from_slice(b"null\n");
        }
    }

    /// A request was not answered, as a finding says.
    pub fn unanswered(&mut self, request: &UnansweredRequest) {
        self.ladder.unanswered(request);
    }

    /// All flows have ended.
    pub(super) fn settle(&mut self) {
        self.ladder.settle();
    }

    /// Writes the fields and the bytes of a message. Returns whether there was room.
    fn detail(&mut self, m: &MessageRef<'_>, room: usize) -> bool {
        let (start, out) = (self.details.len(), &mut self.details);
        let line = |out: &mut Vec<u8>, bytes: &[u8]| {
            out.extend_from_slice(b"{\"bytes\":\"");
            hex(out, bytes);
            put(out, format_args!("\",\"length\":{}", m.payload.bytes.len()));
        };
        line(out, m.payload.bytes);
        self.json.tree(m, out);
        if out.len() - start > LARGE {
            out.truncate(start);
            line(out, m.payload.bytes.get(..SHOWN).unwrap_or(m.payload.bytes));
        }
        out.extend_from_slice(b"}\n");
        let has_room = out.len() <= room;
        if !has_room {
            out.truncate(start);
            out.extend_from_slice(b"null\n");
        }
        has_room
    }

    /// The sample is full: without a choice, the capture is read again, and the present data is not
    /// needed.
    fn fill(&mut self) {
        self.is_full = true;
        if self.choice.is_none() {
            let empty = Sample::new(self.most, self.room);
            let Sample { seen, copies, latest, further, .. } = *self;
            *self = Sample { seen, copies, latest, further, is_full: true, ..empty };
        }
    }

    /// The number of messages without copies.
    fn counted(&self) -> u64 {
        self.seen - self.copies
    }

    /// The number of messages that each one represents, except for those with findings.
    fn weight(&self) -> f64 {
        let count = |certain: bool| {
            let is = |row: &&Row| row.is_certain == certain && !row.is_copy;
            self.rows.iter().flatten().filter(is).count() as f64
        };
        let (others, all) = (count(false), self.counted() as f64 - count(true));
        if self.choice.is_none() || others == 0.0 { 1.0 } else { (all / others).max(1.0) }
    }

    /// Lines of JSON, one for each arrow: `{"bytes": "...", "length": 9, "tree": [...]}`, or `null`.
    pub(super) fn details(&self) -> &[u8] {
        &self.details
    }

    /// `{"seen": .., "weight": .., "parties": [..], "messages": [..]}`, with a message for each line
    /// of the details.
    pub(super) fn json(&self, out: &mut Vec<u8>) {
        let (parties, weight) = (self.ladder.party_objects(), self.weight());
        let head = json!({ "seen": self.counted(), "weight": weight, "parties": parties });
        let text = head.to_string();
        out.extend_from_slice(text.strip_suffix('}').unwrap_or(&text).as_bytes());
        out.extend_from_slice(b",\"messages\":[\n");
        for (nth, (step, row)) in self.ladder.step_objects().zip(&self.rows).enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            // Writing to a vector cannot fail.
            let _ = line(&with_row(step, row.as_ref()), out);
        }
        out.extend_from_slice(b"]}");
    }
}

impl SampleSelection {
    /// Whether the next message without a finding is taken: with equal probability for all
    /// remaining ones, and the same ones in every run. `is_further`: there was room for it in case that it has one.
    fn takes(&mut self, is_further: bool) -> bool {
        self.wanted += u64::from(is_further);
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let is_taken =
            (u128::from(mixed) * u128::from(self.left.max(1))) >> 64 < u128::from(self.wanted);
        self.left = self.left.saturating_sub(1);
        self.wanted -= u64::from(is_taken);
        is_taken
    }
}

/// An arrow, with what else a page knows of it.
fn with_row(mut step: Value, row: Option<&Row>) -> Value {
    let (Some(object), Some(row)) = (step.as_object_mut(), row) else { return step };
    object.remove("findings");
    let mut add = |name: &str, value: Value| object.insert(name.to_owned(), value);
    add("flow", row.flow.into());
    add("length", row.length.into());
    add("speaker", row.speaker.name().into());
    if row.is_certain {
        add("certain", true.into());
    }
    if row.completes == Some(false) {
        add("completes", false.into());
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_about_all_messages_of_a_packet_have_room() {
        let seen = Sample { seen: 100, further: 5, ..Sample::new(50, 0) };
        let mut again = seen.again((1..=20).collect(), 50, 0).choice.unwrap();
        assert_eq!((again.wanted, again.left), (25, 80));
        // The room for one that has no finding is for others.
        let taken = (0..80).filter(|nth| again.takes(*nth < 5)).count();
        assert_eq!(taken, 30);
    }
}
