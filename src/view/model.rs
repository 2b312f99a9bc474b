//! The data that was read so far, filled by the reading thread.

use roaring::{RoaringBitmap, RoaringTreemap};

use dissectors::kit::{Rule, Severity, Time};
use dissectors::ledger::LedgerSettings;

use super::index::Index;
use super::messages::MessageIndex;
use crate::check::{Checker, Outcome, ReportedFinding, Selection};
use crate::diagnose::{Diagnoses, Diagnosis};
use crate::filter::Filter;
use crate::report::answer::{Answer, AnswerLine, AnswerTimes};
use crate::report::conformance::Conformance;
use crate::report::{TimeFormatter, TimeStyle};
use crate::session::{Event, Findings, Messages, Needs, Totals};
use crate::summary::Summary;

/// Limit: findings that `gamewire view` keeps of captures it has read | {} | further ones are counted in the last line
const FINDINGS: usize = 20_000;

/// Limit: answers that `gamewire view` shows | {} captures | of further ones, the other tabs show what was found
const ANSWERS: usize = 1000;

/// Lines of notes that are kept.
const NOTES: usize = 200;

/// The data read so far.
pub struct Model {
    /// The conversations.
    pub index: Index,
    /// All messages.
    pub(super) messages: MessageIndex,
    /// Servers and masters.
    summary: Summary,
    /// The memory limit of it.
    tables: usize,
    /// The summary with open flows, if computed.
    so_far: Option<Summary>,
    selection: Selection,
    ledger_settings: LedgerSettings,
    /// The user states that captures are complete.
    complete: bool,
    /// The minimum severity that fails a capture.
    least: Severity,
    checker: Option<Checker>,
    diagnosis: Option<Diagnosis>,
    /// The answers about finished captures, and about a live one so far.
    answers: Vec<CaptureAnswer>,
    answer_so_far: Option<CaptureAnswer>,
    /// The findings of finished captures, with their captures.
    found: Vec<(usize, ReportedFinding)>,
    left_out: u64,
    /// The conversations with a message that the display filter selects.
    pub matches: Option<Matches>,
    /// Packets that have been read, of captures to their ends.
    pub packets: u64,
    /// Notes, and errors about captures that cannot be read.
    pub notes: Vec<String>,
    /// The progress of reading.
    pub reading: ReadingProgress,
    /// The number of kept packets of input that can be read only once, and of dropped ones.
    pub kept: Option<(u64, u64)>,
}

/// What is wrong in a capture.
pub struct CaptureAnswer {
    /// The capture's name.
    pub name: String,
    diagnoses: Diagnoses,
    /// The attacks that rules prove.
    attacks: Vec<String>,
    conformance: Conformance,
    times: AnswerTimes,
}

impl CaptureAnswer {
    /// Of what was concluded about a capture.
    pub fn of(
        name: &str,
        diagnoses: Diagnoses,
        outcome: &Outcome,
        least: Severity,
        read: &Totals,
    ) -> CaptureAnswer {
        CaptureAnswer {
            name: name.to_owned(),
            diagnoses,
            attacks: outcome.attacks(),
            conformance: Conformance::of(outcome, least, read),
            times: AnswerTimes::of(TimeStyle::Utc, read),
        }
    }

    fn answer(&self, style: TimeStyle) -> Answer<'_> {
        Answer::of(&self.diagnoses, &self.attacks, AnswerTimes { style, ..self.times })
    }

    /// The less the more urgent: attacks, faults, everything else.
    pub fn urgency(&self) -> u8 {
        let answer = self.answer(TimeStyle::Utc);
        match answer.tone {
            _ if answer.is_attacked => 0,
            "fail" => 1,
            _ => 2,
        }
    }

    /// It as text.
    pub fn lines(&self, style: TimeStyle) -> Vec<AnswerLine> {
        self.answer(style).lines(&self.conformance)
    }
}

/// The progress of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ReadingProgress {
    /// Reading files; the share that was read, if known.
    Files(Option<f64>),
    /// Capturing on an interface.
    Live,
    /// All has been read.
    #[default]
    Over,
}

/// The conversations that a display filter selects.
pub struct Matches {
    /// The filter.
    pub filter: Filter,
    /// Their numbers.
    pub conversations: RoaringBitmap,
    /// The packets of selected messages, in all captures.
    packets: RoaringTreemap,
    /// Servers, masters and clients as far as selected messages show them, once they are counted.
    summary: Option<Summary>,
    /// Everything that has been read was checked.
    pub is_complete: bool,
    /// Increases with every change.
    pub changes: u64,
}

impl Model {
    /// Empty. `index`, `tables`: memory limits in bytes.
    pub fn new(
        index: usize,
        tables: usize,
        selection: Selection,
        ledger_settings: LedgerSettings,
    ) -> Model {
        Model {
            // Its messages share the memory with the conversations.
            index: Index::new(index / 2),
            messages: MessageIndex::new(index / 2),
            // What a filter selects has the other half.
            summary: Summary::new(tables / 2, false),
            tables: tables / 2,
            so_far: None,
            selection,
            ledger_settings,
            complete: false,
            least: Severity::Error,
            checker: None,
            diagnosis: None,
            answers: Vec::new(),
            answer_so_far: None,
            found: Vec::new(),
            left_out: 0,
            matches: None,
            packets: 0,
            notes: Vec::new(),
            reading: ReadingProgress::default(),
            kept: None,
        }
    }

    /// This model, which judges captures like this: whether they are complete, and which severity fails them.
    pub fn judging(self, complete: bool, least: Severity) -> Model {
        Model { complete, least, ..self }
    }

    /// The events that it needs.
    pub fn needs(selection: &Selection, ledger_settings: &LedgerSettings) -> Needs {
        Needs {
            messages: Messages::All,
            fields: Needs::messages_with_fields().fields,
            findings: Findings::All { in_words: false },
            flows: true,
            servers: true,
            ..Checker::needs(selection, ledger_settings)
        }
        .and(Diagnosis::needs(ledger_settings))
    }

    /// A capture begins.
    pub fn begin(&mut self, name: &str) {
        self.index.begin(name);
        self.checker =
            Some(Checker::new(self.selection.clone(), self.ledger_settings, self.complete));
    }

    /// Diagnoses the capture that has begun.
    pub fn diagnose(&mut self, diagnosis: Diagnosis) {
        self.diagnosis = Some(diagnosis);
    }

    /// The next event.
    pub fn event(&mut self, event: &Event<'_>, wanted: impl FnOnce(&Filter) -> bool) {
        self.summary.event(event, true);
        if let Some(checker) = &mut self.checker {
            checker.event(event);
        }
        if let Some(diagnosis) = &mut self.diagnosis {
            diagnosis.event(event);
        }
        match event {
            Event::Message(message) => {
                let Some(number) = self.index.message(message) else { return };
                let is_first_end =
                    self.index.get(number).is_some_and(|it| it.ends[0] == message.payload().from);
                self.messages.push(number, is_first_end, message);
                if let Some(matches) = &mut self.matches
                    && wanted(&matches.filter)
                {
                    matches.add(number, message.payload().frame);
                }
            }
            Event::Checked(checked) => self.index.checked(checked),
            Event::CrossFlow(_) | Event::Icmp(_) | Event::FlowEnded(_) => {}
            Event::Unanswered(_) => {}
            Event::Datagram(_) | Event::File(_) => {}
        }
    }

    /// A live capture continues: in tables, open flows count as if they had ended.
    pub fn so_far(&mut self, open: impl FnOnce(&mut Summary)) {
        let mut summary = self.summary.clone();
        open(&mut summary);
        self.so_far = Some(summary);
    }

    /// The capture was read.
    pub fn end(&mut self, name: &str, read: &mut Totals) {
        self.packets += read.packets;
        self.index.reaches(read.end());
        (self.so_far, self.answer_so_far) = (None, None);
        let Some(checker) = self.checker.take() else { return };
        let capture = self.index.captures().len().saturating_sub(1);
        // Both review the same counts, which the first one takes.
        let traffic = read.traffic.clone();
        let diagnoses = self.diagnosis.take().map(|diagnosis| diagnosis.outcome(read));
        read.traffic = traffic;
        let outcome = checker.outcome(vec![name.to_owned()], read);
        self.summary.settle(&outcome.reviewed);
        outcome.reviewed.flows().for_each(|(flow, it)| self.index.reviewed(flow, it));
        outcome.findings.iter().for_each(|found| self.index.proven(found));
        if let Some(diagnoses) = diagnoses.filter(|_| self.answers.len() < ANSWERS) {
            self.answers.push(CaptureAnswer::of(name, diagnoses, &outcome, self.least, read));
        }
        for attack in outcome.attacks() {
            self.note(&format!(
                "Under attack: {attack}; gamewire abuse shows who, how, and filters"
            ));
        }
        let room = FINDINGS.saturating_sub(self.found.len());
        self.left_out += outcome.left_out + outcome.findings.len().saturating_sub(room) as u64;
        self.found.extend(outcome.findings.into_iter().take(room).map(|found| (capture, found)));
    }

    /// The severity of a rule in this project.
    pub fn severity(&self, rule: &'static Rule) -> Severity {
        self.selection.severities.of(rule)
    }

    /// Writes times in a style, relative to the first message.
    pub fn stamp(&self, style: TimeStyle) -> TimeFormatter {
        let first = self.index.order().first().and_then(|number| self.index.get(*number));
        TimeFormatter::new(style).since(first.map(|first| first.start))
    }

    /// The time of a message in a list, with this number of digits of a second. `before`: that of the one above it.
    pub(super) fn time_of_message(
        &self,
        style: TimeStyle,
        time: Time,
        digits: u8,
        before: Option<Time>,
    ) -> String {
        let stamp = self.stamp(style);
        let mut stamp = match style {
            TimeStyle::Delta => stamp.since(before.or(Some(time))),
            _ => stamp,
        };
        stamp.of_row(time, digits)
    }

    /// The answers about the captures.
    pub fn answers(&self) -> impl Iterator<Item = &CaptureAnswer> {
        self.answers.iter().chain(&self.answer_so_far)
    }

    /// The answer about a live capture so far.
    pub fn answer_so_far(&mut self, answer: CaptureAnswer) {
        if self.checker.is_some() {
            self.answer_so_far = Some(answer);
        }
    }

    /// The settings of rules that span flows.
    pub fn ledger_settings(&self) -> LedgerSettings {
        self.ledger_settings
    }

    /// Judges a capture that was read again.
    pub fn checker(&self) -> (Checker, Severity) {
        (Checker::new(self.selection.clone(), self.ledger_settings, self.complete), self.least)
    }

    /// A note.
    pub fn note(&mut self, line: &str) {
        if self.notes.len() >= NOTES {
            self.notes.remove(0);
        }
        self.notes.push(crate::text::escaped(line).into_owned());
    }

    /// The findings with their captures.
    pub fn found(&self) -> impl Iterator<Item = (usize, &ReportedFinding)> {
        let current = self.index.captures().len().saturating_sub(1);
        let now = self
            .checker
            .iter()
            .flat_map(move |checker| checker.found().iter().map(move |found| (current, found)));
        self.found.iter().map(|(capture, found)| (*capture, found)).chain(now)
    }

    /// The number of findings that were only counted.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Servers, masters and clients: of what the filter selects, as soon as that is counted.
    pub fn summary(&self) -> &Summary {
        let of_matches = self.matches.as_ref().and_then(|matches| matches.summary.as_ref());
        of_matches.or(self.so_far.as_ref()).unwrap_or(&self.summary)
    }

    /// An empty table of what a filter selects.
    pub fn summary_of_matches(&self) -> Summary {
        Summary::new(self.tables, true)
    }

    /// The conversation for this flow of a capture.
    pub fn conversation_of(&self, capture: usize, flow: u32) -> Option<u32> {
        self.index.first_of(capture)?.checked_add(flow.checked_sub(1)?)
    }
}

impl Matches {
    /// Nothing was looked at.
    pub fn of(filter: Filter) -> Matches {
        let (conversations, packets) = (RoaringBitmap::new(), RoaringTreemap::new());
        Matches { filter, conversations, packets, summary: None, is_complete: false, changes: 0 }
    }

    /// A message in this packet is wanted, and its conversation.
    pub fn add(&mut self, conversation: u32, frame: u64) {
        let is_new = self.conversations.insert(conversation);
        if self.packets.insert(frame) || is_new {
            self.changes += 1;
        }
    }

    /// All captures were read: this is what the selected messages show.
    pub fn count(&mut self, summary: Summary) {
        self.summary = Some(summary);
        self.changes += 1;
    }

    /// Whether a message is wanted.
    pub(super) fn has(&self, conversation: u32, frame: u64) -> bool {
        self.conversations.contains(conversation) && self.packets.contains(frame)
    }
}
