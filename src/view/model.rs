//! The data that was read so far, filled by the reading thread.

use roaring::RoaringBitmap;

use dissectors::ledger::Terms;

use super::index::Index;
use crate::check::{Checker, ReportedFinding, Selection};
use crate::filter::Filter;
use crate::session::{Event, Findings, Messages, Needs, Totals};
use crate::summary::Summary;

/// Maximum number of findings of finished captures; further ones are counted.
const FINDINGS: usize = 20_000;

/// Lines of notes that are kept.
const NOTES: usize = 200;

/// The data read so far.
pub struct Model {
    /// The conversations.
    pub index: Index,
    /// Servers and masters.
    summary: Summary,
    /// The same with open flows, if computed.
    so_far: Option<Summary>,
    selection: Selection,
    terms: Terms,
    checker: Option<Checker>,
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
    /// Everything that has been read was checked.
    pub is_complete: bool,
    /// Increases with every change.
    pub changes: u64,
}

impl Model {
    /// Empty. `index`, `tables`: memory limits in bytes.
    pub fn new(index: usize, tables: usize, selection: Selection, terms: Terms) -> Model {
        Model {
            index: Index::new(index),
            summary: Summary::new(tables, false),
            so_far: None,
            selection,
            terms,
            checker: None,
            found: Vec::new(),
            left_out: 0,
            matches: None,
            packets: 0,
            notes: Vec::new(),
            reading: ReadingProgress::default(),
            kept: None,
        }
    }

    /// The events that it needs.
    pub fn needs(selection: &Selection, terms: &Terms) -> Needs {
        Needs {
            messages: Messages::All,
            fields: Needs::messages_with_fields().fields,
            findings: Findings::All { in_words: false },
            flows: true,
            servers: true,
            ..Checker::needs(selection, terms)
        }
    }

    /// A capture begins.
    pub fn begin(&mut self, name: &str) {
        self.index.begin(name);
        self.checker = Some(Checker::new(self.selection.clone(), self.terms, false));
    }

    /// The next event.
    pub fn event(&mut self, event: &Event<'_>, wanted: impl FnOnce(&Filter) -> bool) {
        self.summary.event(event);
        if let Some(checker) = &mut self.checker {
            checker.event(event);
        }
        match event {
            Event::Message(message) => {
                let number = self.index.message(message);
                if let (Some(matches), Some(number)) = (&mut self.matches, number)
                    && wanted(&matches.filter)
                {
                    matches.add(number);
                }
            }
            Event::Checked(checked) => self.index.checked(checked),
            Event::CrossFlow(_) | Event::Icmp(_) | Event::FlowEnded(_) => {}
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
        self.so_far = None;
        let Some(checker) = self.checker.take() else { return };
        let capture = self.index.captures().len().saturating_sub(1);
        let outcome = checker.outcome(vec![name.to_owned()], read);
        for attack in outcome.attacks() {
            self.note(&format!(
                "Under attack: {attack}; gamewire abuse shows who, how, and filters"
            ));
        }
        let room = FINDINGS.saturating_sub(self.found.len());
        self.left_out += outcome.left_out + outcome.findings.len().saturating_sub(room) as u64;
        self.found.extend(outcome.findings.into_iter().take(room).map(|found| (capture, found)));
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

    /// Servers, masters and clients.
    pub fn summary(&self) -> &Summary {
        self.so_far.as_ref().unwrap_or(&self.summary)
    }

    /// The conversation for this flow of a capture.
    pub fn conversation_of(&self, capture: usize, flow: u32) -> Option<u32> {
        self.index.first_of(capture)?.checked_add(flow.checked_sub(1)?)
    }
}

impl Matches {
    /// Nothing was looked at.
    pub fn of(filter: Filter) -> Matches {
        Matches { filter, conversations: RoaringBitmap::new(), is_complete: false, changes: 0 }
    }

    /// A conversation is wanted.
    pub fn add(&mut self, number: u32) {
        if self.conversations.insert(number) {
            self.changes += 1;
        }
    }
}
