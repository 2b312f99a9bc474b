//! Delays messages for a short time, so that an ICMP error that quotes one, or that a request was not
//! answered, can be added to its line.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use dissectors::kit::Time;
use foldhash::quality::RandomState;

use crate::report::Report;
use crate::session::{IcmpEvent, UnansweredRequest};

/// Size of the output buffer if the output is not a terminal.
pub(super) const BUFFER: usize = 64 << 10;

/// Maximum number of delayed bytes.
const MOST: usize = 4 << 20;

/// How long a message is delayed for errors, which arrive as quickly as responses, in nanoseconds of the
/// capture.
const ERRORS: i64 = 1_000_000_000;

/// Maximum number of errors about messages that were not reported yet.
const EARLY: usize = 32;

/// Limit: ICMP errors that the line of a message names | {} | further ones are left out
const NOTES: usize = 16;

/// Text, with the positions where a note can be inserted into a message's line.
#[derive(Default)]
pub(super) struct QuotableText {
    pub(super) bytes: Vec<u8>,
    lines: Vec<QuotableLine>,
    /// Packets with parts of messages, and the indices of these messages' lines.
    parts: HashMap<u64, usize, RandomState>,
    /// The notes to insert, by line, in the order of the capture.
    notes: Vec<(usize, Note)>,
    latest: Option<Time>,
}

/// A note at a message's line.
#[derive(Clone, Copy)]
enum Note {
    Icmp(IcmpEvent),
    Unanswered,
}

impl Note {
    fn icmp(&self) -> Option<&IcmpEvent> {
        match self {
            Note::Icmp(error) => Some(error),
            Note::Unanswered => None,
        }
    }
}

/// The line of a message.
struct QuotableLine {
    frame: u64,
    /// The end of its line in the text.
    end: usize,
    /// The number of its notes.
    notes: usize,
}

impl QuotableText {
    /// A message with this last packet was appended; notes can be inserted at `end`.
    pub(super) fn push(&mut self, frame: u64, end: usize, time: Time) {
        self.latest = self.latest.max(Some(time));
        // Increasing, for binary search. A message reported late is an incomplete response.
        if self.lines.last().is_none_or(|line| line.frame < frame) {
            self.lines.push(QuotableLine { frame, end, notes: 0 });
        }
    }

    /// These packets also carried parts of the latest message.
    fn push_parts(&mut self, frames: &[u64]) {
        let latest = self.lines.len().saturating_sub(1);
        self.parts.extend(frames.iter().map(|&frame| (frame, latest)));
    }

    /// The time of the latest message.
    pub(super) fn latest(&self) -> Option<Time> {
        self.latest
    }

    /// Adds a note to the line of the message in this packet. Returns whether the message is here.
    fn note(&mut self, frame: u64, note: Note) -> bool {
        let found = self.lines.binary_search_by_key(&frame, |line| line.frame).ok();
        let Some(at) = found.or_else(|| self.parts.get(&frame).copied()) else { return false };
        let line = self.lines.get_mut(at).filter(|line| line.notes < NOTES);
        if let Some(line) = line {
            line.notes += 1;
            self.notes.push((at, note));
        }
        true
    }

    fn write(&mut self, report: &dyn Report, out: &mut dyn Write) -> io::Result<()> {
        self.notes.sort_by_key(|(line, _)| *line);
        let (mut written, mut put) = (0, Vec::new());
        for notes in self.notes.chunk_by(|one, next| one.0 == next.0) {
            let Some(line) = notes.first().and_then(|(at, _)| self.lines.get(*at)) else {
                continue;
            };
            out.write_all(self.bytes.get(written..line.end).unwrap_or_default())?;
            written = line.end;
            put.clear();
            let mut icmp = notes.iter().filter_map(|(_, note)| note.icmp()).peekable();
            // An error says why there is no answer.
            match icmp.peek() {
                Some(_) => report.icmp(&mut icmp, &mut put),
                None => report.unanswered(&mut put),
            }
            out.write_all(&put)?;
        }
        out.write_all(self.bytes.get(written..).unwrap_or_default())?;
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
        self.parts.clear();
        self.notes.clear();
        self.latest = None;
    }
}

/// Delayed texts, the oldest first, and empty ones.
#[derive(Default)]
pub(super) struct DelayedTexts {
    waiting: VecDeque<QuotableText>,
    bytes: usize,
    spare: Vec<QuotableText>,
    /// Errors about packets without a reported message so far: a later packet may complete it.
    early: Vec<IcmpEvent>,
    /// Only some messages are shown: errors about others are not shown, either.
    only_some: bool,
    /// How long a message is delayed, in nanoseconds of the capture.
    delay: i64,
    /// ICMP errors about messages that were already written, in formats that cannot add a line.
    pub(super) late: u64,
}

impl DelayedTexts {
    /// For all messages, or for some. `answers`: how long requests wait for a response, if it matters
    /// whether they are answered.
    pub(super) fn new(only_some: bool, answers: Option<i64>) -> DelayedTexts {
        let delay = ERRORS.saturating_add(answers.unwrap_or(0));
        DelayedTexts { only_some, delay, ..DelayedTexts::default() }
    }

    /// Empty ones like these, for another capture.
    pub(super) fn again(&self) -> DelayedTexts {
        let DelayedTexts { only_some, delay, .. } = *self;
        DelayedTexts { only_some, delay, ..DelayedTexts::default() }
    }

    /// Takes a full text, and leaves an empty one.
    pub(super) fn push(&mut self, text: &mut QuotableText) {
        let empty = self.spare.pop().unwrap_or_default();
        let full = std::mem::replace(text, empty);
        self.bytes += full.bytes.len();
        self.waiting.push_back(full);
    }

    /// Adds an error about the message in this packet, in delayed text or in `text`; or as a line
    /// of its own, if the message was already written.
    pub(super) fn note(
        &mut self,
        text: &mut QuotableText,
        note: IcmpEvent,
        report: &mut dyn Report,
    ) {
        if self.is_added(text, note.message, Note::Icmp(note)) {
            return;
        }
        self.early.push(note);
        if self.early.len() > EARLY {
            let note = self.early.remove(0);
            self.note_late(text, &note, report);
        }
    }

    /// Adds to the request that it was not answered, if that is certain; or as a line of its own, if the request was
    /// already written.
    pub(super) fn unanswered(
        &mut self,
        text: &mut QuotableText,
        request: UnansweredRequest,
        report: &mut dyn Report,
    ) {
        if !request.is_certain {
            return;
        }
        if !self.is_added(text, request.frame, Note::Unanswered) && !self.only_some {
            report.unanswered_late(request, &mut text.bytes);
        }
    }

    /// Adds a note to the message in this packet. Returns whether it is in `text` or delayed.
    fn is_added(&mut self, text: &mut QuotableText, frame: u64, note: Note) -> bool {
        let mut waiting = self.waiting.iter_mut().rev();
        text.note(frame, note) || waiting.any(|text| text.note(frame, note))
    }

    /// These packets carried the latest message of `text`; errors about them may have come before.
    pub(super) fn parts(&mut self, text: &mut QuotableText, frames: &[u64]) {
        text.push_parts(frames);
        self.early.retain(|&note| {
            let is_of_it = frames.contains(&note.message);
            !(is_of_it && text.note(note.message, Note::Icmp(note)))
        });
    }

    /// Whether there are errors about messages that were not reported yet.
    pub(super) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Errors about messages that were already written get lines of their own.
    pub(super) fn give_up(&mut self, text: &mut QuotableText, report: &mut dyn Report) {
        for note in std::mem::take(&mut self.early) {
            self.note_late(text, &note, report);
        }
    }

    fn note_late(&mut self, text: &mut QuotableText, note: &IcmpEvent, report: &mut dyn Report) {
        if !self.only_some && !report.icmp_late(note, &mut text.bytes) {
            self.late += 1;
        }
    }

    /// Writes text that need not wait any longer at this time, or with `None`, all.
    pub(super) fn write(
        &mut self,
        now: Option<Time>,
        report: &dyn Report,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let is_due = |text: &QuotableText, bytes| match (now, text.latest) {
            (Some(now), Some(latest)) => bytes > MOST || now.since(latest) > self.delay,
            _ => true,
        };
        while self.waiting.front().is_some_and(|text| is_due(text, self.bytes)) {
            let Some(mut text) = self.waiting.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(text.bytes.len());
            text.write(report, out)?;
            self.spare.push(text);
        }
        Ok(())
    }
}
