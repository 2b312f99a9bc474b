//! Makes rows from the events of a session.

use std::io;
use std::sync::Arc;

use dissectors::kit::Set;
use dissectors::ledger::LedgerSettings;

use super::{Sink, Table};
use crate::check::{self, Checker, Outcome, ReviewedFlows, Reviewer, Selection};
use crate::filter::Filter;
use crate::report::json::Json;
use crate::rows::{self, FindingRow, MessageRow, Of, PacketPlaces, PlacedFlow, of_summary};
use crate::session::{
    Event, FieldLimits, Files, Findings, MessageEvent, Messages, Needs, Options, Totals,
};
use crate::summary::Summary;

/// Maximum number of ended flows that wait for what only the whole capture shows about their findings.
const ENDED: usize = 1 << 18;

/// One ended flow may wait for each of this many bytes of memory for tables.
const BYTES_OF_FLOW: usize = 512;

/// The selected rows.
#[derive(Clone, Debug)]
pub struct SelectedRows {
    /// The tables to produce.
    pub tables: Vec<Table>,
    /// Only messages that this display filter selects, and their flows and servers. `selection`
    /// selects findings and verdicts.
    pub filter: Option<Filter>,
    /// Selects findings.
    pub selection: Selection,
    /// Settings for rules that span flows.
    pub ledger_settings: LedgerSettings,
    /// The user states that captures are complete.
    pub complete: bool,
    /// Limits on fields and on nested groups of a message.
    pub fields: FieldLimits,
    /// Memory limit for servers, in bytes.
    pub bytes: usize,
}

impl SelectedRows {
    /// These tables of all messages, as a session with these options checks them.
    pub fn of(tables: &[Table], options: &Options) -> SelectedRows {
        SelectedRows {
            tables: tables.to_vec(),
            filter: None,
            selection: Selection::default(),
            ledger_settings: check::ledger_settings(
                &options.settings,
                options.settings.limits.remembered,
            ),
            complete: options.complete,
            fields: FieldLimits::default(),
            bytes: options.flow_bytes / 4,
        }
    }

    /// These rows, of messages that this filter wants.
    #[must_use]
    pub fn filtered(self, filter: Option<Filter>) -> SelectedRows {
        let selection = Selection { filter: filter.clone(), ..self.selection };
        SelectedRows { filter, selection, ..self }
    }

    fn has(&self, table: Table) -> bool {
        self.tables.contains(&table)
    }

    /// The tables of a summary.
    fn of_summary(&self) -> impl Iterator<Item = Table> {
        self.tables.iter().copied().filter(|table| Table::OF_SUMMARY.contains(table))
    }

    /// Whether all messages are needed, regardless of the filter: for findings, and for the answers to selected requests.
    pub fn needs_all(&self) -> bool {
        self.checks() || self.of_summary().next().is_some()
    }

    /// Whether the findings of flows or parties are counted.
    fn counts_findings(&self) -> bool {
        self.has(Table::Flows) || self.of_summary().next().is_some()
    }

    /// Whether messages are checked.
    pub fn checks(&self) -> bool {
        self.has(Table::Findings) || self.has(Table::Verdicts)
    }

    /// The events that they need.
    pub fn needs(&self) -> Needs {
        let checks = if self.checks() {
            Checker::needs(&self.selection, &self.ledger_settings)
        } else {
            // Findings that only several flows show do not belong to a message, whether it is
            // checked or not.
            let needs =
                Needs { findings: Findings::OfMessages, cross_flow: true, ..Needs::default() };
            match self.counts_findings() {
                true => needs.and(Reviewer::needs(&self.ledger_settings)),
                false => needs,
            }
        };
        let filtered = self.filter.is_some();
        let (messages, parties) = (self.has(Table::Messages), self.of_summary().next().is_some());
        let all = messages || parties || filtered;
        let of_parties = if parties { Summary::needs(filtered).findings } else { Findings::None };
        // A filter may need any field.
        let fields = match messages || filtered {
            true => Some(self.fields),
            false => parties.then(FieldLimits::of_servers).or(checks.fields),
        };
        Needs {
            messages: if all { Messages::All } else { checks.messages },
            fields,
            findings: checks.findings.max(of_parties),
            files: true,
            flows: self.has(Table::Flows) || parties,
            flow_details: self.has(Table::Flows),
            ports: parties,
            servers: parties || messages,
            ..checks
        }
    }
}

/// The rows of findings in files that were read as one capture. `files`: the files of packets.
///
/// # Errors
/// Those of the sink.
pub fn rows_of_findings(outcome: &Outcome, files: &Files, sink: &mut dyn Sink) -> io::Result<()> {
    let places = PacketPlaces::known(&outcome.captures, files.clone());
    findings(outcome, &places, files, sink)
}

/// The rows of a table of a summary, of files that were read as one capture. Returns whether others were left out
/// because of the limit on memory.
///
/// # Errors
/// Those of the sink.
pub fn rows_of_summary(
    table: Table,
    summary: &Summary,
    files: &[String],
    sink: &mut dyn Sink,
) -> io::Result<bool> {
    let capture = PacketPlaces::new(files).capture();
    let (rows, is_cut) = of_summary(table, summary, &[]);
    rows.iter().try_for_each(|row| sink.row(&capture, &**row))?;
    Ok(is_cut)
}

fn findings(
    outcome: &Outcome,
    places: &PacketPlaces,
    files: &Files,
    sink: &mut dyn Sink,
) -> io::Result<()> {
    let capture = places.capture();
    outcome.findings.iter().try_for_each(|found| {
        sink.row(&capture, &Of::<rows::FindingTable>(&FindingRow::of(found, places, files)))
    })
}

/// Makes rows of events.
pub struct Collector {
    wanted: SelectedRows,
    places: PacketPlaces,
    capture: Arc<str>,
    checker: Option<Checker>,
    summary: Option<Summary>,
    /// A message of the capture was selected.
    has_selected: bool,
    /// What only the whole capture shows, if nothing is checked.
    reviewer: Option<Reviewer>,
    /// Open flows with a selected message.
    flows: Set<u32>,
    /// Ended flows that are not written yet.
    ended: Vec<PlacedFlow>,
    message: MessageRow,
    json: Json,
    /// The tables of which there were more rows than fit in memory.
    cut: Vec<Table>,
}

impl Collector {
    /// For these rows.
    pub fn new(wanted: SelectedRows) -> Collector {
        Collector {
            wanted,
            places: PacketPlaces::default(),
            capture: Arc::default(),
            checker: None,
            summary: None,
            reviewer: None,
            has_selected: false,
            flows: Set::default(),
            ended: Vec::new(),
            message: MessageRow::default(),
            json: Json::new(false),
            cut: Vec::new(),
        }
    }

    /// The rows to produce.
    pub fn wanted(&self) -> &SelectedRows {
        &self.wanted
    }

    /// The tables that lack rows of finished captures because of the memory limit.
    pub fn cut(&self) -> &[Table] {
        &self.cut
    }

    /// Whether a message of the capture was selected.
    pub fn has_selected(&self) -> bool {
        self.has_selected
    }

    /// A capture begins that is made of these files.
    pub fn begin(&mut self, files: &[String]) {
        let wanted = &self.wanted;
        self.places = PacketPlaces::new(files);
        self.capture = self.places.capture();
        self.checker = wanted.checks().then(|| {
            Checker::new(wanted.selection.clone(), wanted.ledger_settings, wanted.complete)
        });
        let summary = || Summary::new(wanted.bytes, wanted.filter.is_some());
        self.summary = wanted.of_summary().next().map(|_| summary());
        self.has_selected = false;
        self.reviewer = (!wanted.checks() && wanted.counts_findings())
            .then(|| Reviewer::new(wanted.ledger_settings, wanted.complete));
        self.flows = Set::default();
        self.message = MessageRow::default();
    }

    /// The next event, in the order of the capture.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn event(&mut self, event: &Event<'_>, sink: &mut dyn Sink) -> io::Result<()> {
        if let Some(checker) = &mut self.checker {
            checker.event(event);
        }
        if let Some(reviewer) = &mut self.reviewer {
            reviewer.event(event);
        }
        let is_wanted = event.is_wanted(self.wanted.filter.as_ref());
        if let Some(summary) = &mut self.summary {
            summary.event(event, is_wanted);
        }
        match event {
            Event::Message(m) if is_wanted => {
                self.has_selected = true;
                self.message(m, sink)?;
            }
            Event::FlowEnded(row) => {
                let has_messages = self.wanted.filter.is_none() || self.flows.remove(&row.flow);
                if has_messages && self.wanted.has(Table::Flows) {
                    self.ended.push(PlacedFlow::of(row, &self.places));
                    if self.ended.len() >= (self.wanted.bytes / BYTES_OF_FLOW).clamp(1, ENDED) {
                        self.write_flows(sink)?;
                    }
                }
            }
            Event::File(change) => self.places.note(*change),
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, m: &MessageEvent<'_>, sink: &mut dyn Sink) -> io::Result<()> {
        if self.wanted.filter.is_some() && self.wanted.has(Table::Flows) {
            self.flows.insert(m.context().flow.number);
        }
        if !self.wanted.has(Table::Messages) {
            return Ok(());
        }
        self.message.fill(m, &self.places, &mut self.json);
        sink.row(&self.capture, &Of::<rows::MessageTable>(&self.message))
    }

    /// The capture was read: writes the rows that depend on the whole capture. Returns the outcome
    /// if it was checked.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn end(&mut self, read: &mut Totals, sink: &mut dyn Sink) -> io::Result<Option<Outcome>> {
        let outcome = self.checker.take().map(|it| it.outcome(self.places.names(), read));
        let reviewed = self.reviewer.take().map(|reviewer| reviewer.end(read).0);
        let reviewed = outcome.as_ref().map(|outcome| &outcome.reviewed).or(reviewed.as_ref());
        if let Some(reviewed) = reviewed {
            self.settle(reviewed);
        }
        self.write_flows(sink)?;
        if let Some(summary) = self.summary.take() {
            for table in self.wanted.of_summary() {
                let (rows, is_cut) = of_summary(table, &summary, &[]);
                rows.iter().try_for_each(|row| sink.row(&self.capture, &**row))?;
                if is_cut && !self.cut.contains(&table) {
                    self.cut.push(table);
                }
            }
        }
        let Some(outcome) = outcome else { return Ok(None) };
        if self.wanted.has(Table::Findings) {
            findings(&outcome, &self.places, &read.files, sink)?;
        }
        if self.wanted.has(Table::Verdicts) {
            let mut rules = outcome.rules.iter();
            rules.try_for_each(|rule| sink.row(&self.capture, &Of::<rows::VerdictTable>(rule)))?;
        }
        Ok(Some(outcome))
    }

    /// Settles which findings of flows and parties are proven.
    fn settle(&mut self, reviewed: &ReviewedFlows) {
        self.ended.iter_mut().for_each(|line| reviewed.settle(&mut line.row));
        if let Some(summary) = self.summary.as_mut().filter(|_| self.wanted.filter.is_none()) {
            summary.settle(reviewed);
        }
    }

    /// Writes the flows that have ended.
    fn write_flows(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let mut ended = self.ended.drain(..);
        ended.try_for_each(|line| sink.row(&self.capture, &Of::<rows::FlowTable>(&line)))
    }
}
