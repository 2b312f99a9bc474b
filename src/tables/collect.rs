//! From the events of a session to rows.

use std::io;
use std::sync::Arc;

use dissectors::kit::Set;
use dissectors::ledger::Terms;

use super::findings::Finding;
use super::flows::Flow;
use super::messages::Message;
use super::places::Places;
use super::servers::Server;
use super::verdicts::Verdict;
use super::{Sink, Table};
use crate::check::{self, Checker, Outcome, Selection};
use crate::filter::Filter;
use crate::report::json::Json;
use crate::session::{
    Event, FieldLimits, Files, Findings, MessageEvent, Messages, Needs, Options, Totals,
};
use crate::summary::Summary;

/// Which rows are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which tables.
    pub tables: Vec<Table>,
    /// Only messages that this display filter wants, and their flows and servers. Of findings and verdicts,
    /// `selection` says which count.
    pub filter: Option<Filter>,
    /// Which findings count.
    pub selection: Selection,
    /// On which terms what spans flows is checked.
    pub terms: Terms,
    /// The user vouches that captures are complete.
    pub complete: bool,
    /// Fields of a message, and groups within groups, that are written.
    pub fields: FieldLimits,
    /// Bytes of memory that servers may take.
    pub bytes: usize,
}

impl Wanted {
    /// These tables of all messages, as a session with these options checks them.
    pub fn of(tables: &[Table], options: &Options) -> Wanted {
        Wanted {
            tables: tables.to_vec(),
            filter: None,
            selection: Selection::default(),
            terms: check::terms(&options.settings, options.settings.limits.remembered),
            complete: options.complete,
            fields: FieldLimits::default(),
            bytes: options.flow_bytes / 4,
        }
    }

    /// The same, of messages that this filter wants.
    #[must_use]
    pub fn filtered(self, filter: Option<Filter>) -> Wanted {
        let selection = Selection { filter: filter.clone(), ..self.selection };
        Wanted { filter, selection, ..self }
    }

    fn has(&self, table: Table) -> bool {
        self.tables.contains(&table)
    }

    /// Whether messages are checked: all of them are needed for that, whatever the filter wants.
    pub fn checks(&self) -> bool {
        self.has(Table::Findings) || self.has(Table::Verdicts)
    }

    /// Which events they take.
    pub fn needs(&self) -> Needs {
        let checks = if self.checks() {
            Checker::needs(&self.selection, &self.terms)
        } else {
            // What only several flows show is not a finding of a message, whether it is checked or not.
            Needs { findings: Findings::OfMessages, cross_flow: true, ..Needs::default() }
        };
        let filtered = self.filter.is_some();
        let (messages, servers) = (self.has(Table::Messages), self.has(Table::Servers));
        let all = messages || servers || filtered;
        // A filter may ask for any field.
        let fields = match messages || filtered {
            true => Some(self.fields),
            false => servers.then(FieldLimits::of_servers).or(checks.fields),
        };
        Needs {
            messages: if all { Messages::All } else { checks.messages },
            fields,
            files: true,
            flows: self.has(Table::Flows) || servers,
            flow_details: self.has(Table::Flows),
            ports: servers,
            servers: servers || messages,
            ..checks
        }
    }
}

/// The rows of what was found in files that were read as one capture. `files`: which packets are in which.
///
/// # Errors
/// Those of the sink.
pub fn rows_of_findings(outcome: &Outcome, files: &Files, sink: &mut dyn Sink) -> io::Result<()> {
    let places = Places::known(&outcome.captures, files.clone());
    findings(outcome, &places, files, sink)
}

/// The rows of the servers of files that were read as one capture.
///
/// # Errors
/// Those of the sink.
pub fn rows_of_servers(summary: &Summary, files: &[String], sink: &mut dyn Sink) -> io::Result<()> {
    servers(summary, &Places::new(files), sink)
}

fn servers(summary: &Summary, places: &Places, sink: &mut dyn Sink) -> io::Result<()> {
    let (capture, rows) = (places.capture(), summary.servers.rows());
    rows.into_iter().try_for_each(|(end, server)| {
        sink.row(Table::Servers, &Server::of(capture.clone(), end, server))
    })
}

fn findings(
    outcome: &Outcome,
    places: &Places,
    files: &Files,
    sink: &mut dyn Sink,
) -> io::Result<()> {
    outcome
        .findings
        .iter()
        .try_for_each(|found| sink.row(Table::Findings, &Finding::of(found.clone(), places, files)))
}

/// Makes rows of events.
pub struct Collector {
    wanted: Wanted,
    places: Places,
    capture: Arc<str>,
    checker: Option<Checker>,
    summary: Option<Summary>,
    /// Of flows that are open: those with a message that is wanted.
    flows: Set<u32>,
    message: Message,
    json: Json,
    /// There were more servers than fit in memory.
    is_cut: bool,
}

impl Collector {
    /// Of rows that are wanted.
    pub fn new(wanted: Wanted) -> Collector {
        Collector {
            wanted,
            places: Places::default(),
            capture: Arc::default(),
            checker: None,
            summary: None,
            flows: Set::default(),
            message: Message::default(),
            json: Json::new(false),
            is_cut: false,
        }
    }

    /// What rows are wanted.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Whether some servers of a capture that has ended have no row: there was no memory for more.
    pub fn lacks_servers(&self) -> bool {
        self.is_cut
    }

    /// A capture begins that is made of these files.
    pub fn begin(&mut self, files: &[String]) {
        let wanted = &self.wanted;
        self.places = Places::new(files);
        self.capture = self.places.capture();
        self.checker = wanted
            .checks()
            .then(|| Checker::new(wanted.selection.clone(), wanted.terms, wanted.complete));
        self.summary =
            wanted.has(Table::Servers).then(|| Summary::new(wanted.bytes, wanted.filter.is_some()));
        self.flows = Set::default();
        self.message.begin(&self.places);
    }

    /// The next event, in the order of the capture.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn event(&mut self, event: &Event<'_>, sink: &mut dyn Sink) -> io::Result<()> {
        if let Some(checker) = &mut self.checker {
            checker.event(event);
        }
        match event {
            Event::Message(m) => {
                if self.wanted.filter.as_ref().is_some_and(|filter| !m.is_wanted(filter)) {
                    return Ok(());
                }
                self.message(m, sink)?;
            }
            Event::FlowEnded(row) => {
                let has_messages = self.wanted.filter.is_none() || self.flows.remove(&row.flow);
                if has_messages && self.wanted.has(Table::Flows) {
                    sink.row(Table::Flows, &Flow::of(row, &self.places))?;
                }
            }
            Event::File(change) => self.places.note(*change),
            _ => {}
        }
        if let Some(summary) = &mut self.summary {
            summary.event(event);
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
        sink.row(Table::Messages, &self.message)
    }

    /// The capture was read: the rows that only the whole of it shows. Returns what came of checking it, if
    /// it was checked.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn end(&mut self, read: &mut Totals, sink: &mut dyn Sink) -> io::Result<Option<Outcome>> {
        if let Some(summary) = self.summary.take() {
            self.is_cut |= summary.servers.is_cut;
            servers(&summary, &self.places, sink)?;
        }
        let Some(checker) = self.checker.take() else { return Ok(None) };
        let outcome = checker.outcome(self.places.names(), read);
        if self.wanted.has(Table::Findings) {
            findings(&outcome, &self.places, &read.files, sink)?;
        }
        if self.wanted.has(Table::Verdicts) {
            for &fared in &outcome.rules {
                let (capture, code) = (self.capture.clone(), fared.rule.code.to_string());
                sink.row(Table::Verdicts, &Verdict { capture, code, fared })?;
            }
        }
        Ok(Some(outcome))
    }
}
