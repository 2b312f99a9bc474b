//! The output of a session: events, in the order of the capture.
//!
//! A session writes them into a batch, whose memory is reused; readers borrow from it. A batch owns
//! everything that its events show, so that it can be sent to another thread.

mod event;

use std::net::SocketAddr;

use dissectors::kit::{
    CrossFlowEvent, Finding, Message, Node, Payload, Piece, Reply, RuleResults, Sending, Side,
    Span, Time, Transport, TreeView,
};
use dissectors::ledger::{Basis, CrossFlow, Listed};
use serde::{Deserialize, Serialize};

use super::listed;
use crate::flows::{ExchangeEffect, FlowRow};
use crate::session::{
    Checked, DatagramEvent, DatagramHeaders, EventOrder, FileEvent, FlowContext, IcmpEvent,
    LeftOut, PassedRule, UnansweredRequest,
};

pub use event::{CheckedEvent, Event, MessageEvent};

/// Events in the order of the capture. Serialized for another process, it has only the events that
/// a check reads, without fields.
#[derive(Default, Serialize, Deserialize)]
pub struct Batch {
    entries: Vec<BatchEntry>,
    /// The first ones are in use; one of them holds the context of the next event.
    records: Vec<Record>,
    #[serde(skip)]
    records_in_use: usize,
    #[serde(skip)]
    context: usize,
    cross_flow: Vec<StoredCrossFlow>,
    /// The texts beside cross-flow events.
    cross_flow_texts: Vec<u8>,
    #[serde(skip)]
    icmp: Vec<IcmpEvent>,
    #[serde(skip)]
    unanswered: Vec<UnansweredRequest>,
    #[serde(skip)]
    datagrams: Vec<(DatagramHeaders, Span)>,
    #[serde(skip)]
    rows: Vec<FlowRow>,
    #[serde(skip)]
    files: Vec<FileEvent>,
    details: Vec<Details>,
    /// What the details refer to by index.
    found: BatchFindings,
    /// Findings were added since the last record.
    #[serde(skip)]
    has_found: bool,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// The fields of messages, and their decoded texts.
    #[serde(skip)]
    nodes: Vec<Node>,
    #[serde(skip)]
    texts: Vec<u8>,
    /// The servers of lists in the form of cross-flow events and of messages, and where those of
    /// the current message begin.
    servers: Vec<Listed>,
    #[serde(skip)]
    next_list: usize,
    #[serde(skip)]
    listed: Vec<u64>,
    #[serde(skip)]
    next_listed: usize,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct BatchEntry {
    order: EventOrder,
    kind: EventKind,
    at: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum EventKind {
    Record,
    CrossFlow,
    Icmp,
    Unanswered,
    Datagram,
    FlowEnded,
    File,
}

/// The results of rules, of all events.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::session) struct BatchFindings {
    pub(in crate::session) findings: Vec<Finding>,
    pub(in crate::session) left_out: Vec<LeftOut>,
    pub(in crate::session) passes: Vec<PassedRule>,
}

/// The results that belong to one event.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Details {
    findings: Span,
    left_out: Span,
    passes: Span,
}

/// A message, or results that belong to no message.
#[derive(Serialize, Deserialize)]
struct Record {
    context: FlowContext,
    message: Option<Decoded>,
    /// The index of its details, if there are any.
    details: Option<u32>,
}

/// The position of a message's fields.
#[derive(Clone, Copy)]
struct FieldSpans {
    nodes: Span,
    texts: Span,
    left_out: u32,
}

/// A cross-flow event, with the places of its servers and its text.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct StoredCrossFlow {
    event: CrossFlowEvent,
    basis: Basis,
    servers: Span,
    text: Span,
}

/// A decoded message.
#[derive(Serialize, Deserialize)]
struct Decoded {
    message: &'static Message,
    bytes: Span,
    pieces: Span,
    #[serde(skip)]
    fields: Option<FieldSpans>,
    frame: u64,
    time: Time,
    side: Side,
    transport: Transport,
    inflated: bool,
    unlisted: u32,
    lost: bool,
    /// Bytes as sent.
    length: u64,
    reply: Option<Reply>,
    sending: Sending,
    is_optional: bool,
    effect: ExchangeEffect,
    #[serde(skip)]
    library: Option<&'static str>,
    /// The servers that it lists.
    listed: Span,
}

/// The stored parts of a message.
pub(in crate::session) struct StoredParts<'k> {
    /// Its bytes.
    pub(in crate::session) bytes: bool,
    /// Where they were recorded.
    pub(in crate::session) pieces: bool,
    pub(in crate::session) fields: Option<TreeView<'k>>,
    pub(in crate::session) reply: Option<&'k Reply>,
    pub(in crate::session) sending: Sending,
    /// See [`MessageEvent::is_optional`].
    pub(in crate::session) is_optional: bool,
    pub(in crate::session) effect: ExchangeEffect,
    pub(in crate::session) library: Option<&'static str>,
}

/// Maximum number of records that are kept for reuse.
const SPARE: usize = 1 << 12;

impl Batch {
    /// A batch with findings that belong to no message, for tests of readers.
    #[cfg(test)]
    pub(crate) fn of_findings(context: FlowContext, findings: Vec<Finding>) -> Batch {
        let mut batch = Batch::default();
        batch.set_context(context);
        batch.found().findings = findings;
        batch.push_found();
        batch
    }

    /// Whether it has no events.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many events it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The approximate size of its events in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.records_in_use * size_of::<Record>()
            + self.found.findings.len() * size_of::<Finding>()
            + self.nodes.len() * size_of::<Node>()
            + self.bytes.len()
            + self.texts.len()
            + self.pieces.len() * size_of::<Piece>()
            + self.rows.len() * size_of::<FlowRow>()
            + self.files.len() * size_of::<FileEvent>()
            + self.datagrams.len() * size_of::<(DatagramHeaders, Span)>()
            + self.cross_flow.len() * size_of::<StoredCrossFlow>()
            + self.cross_flow_texts.len()
            + self.servers.len() * size_of::<Listed>()
            + self.listed.len() * size_of::<u64>()
    }

    /// Removes its events and keeps the memory.
    pub fn clear(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.entries.clear();
        self.records.truncate(SPARE);
        self.records_in_use = 0;
        if !self.details.is_empty() {
            self.details.clear();
            self.found.clear();
        }
        self.bytes.clear();
        self.pieces.clear();
        self.icmp.clear();
        self.unanswered.clear();
        self.datagrams.clear();
        self.rows.clear();
        self.files.clear();
        self.cross_flow.clear();
        self.cross_flow_texts.clear();
        if self.next_list + self.next_listed > 0 {
            self.servers.drain(..self.next_list);
            self.listed.drain(..self.next_listed);
            (self.next_list, self.next_listed) = (0, 0);
        }
        self.nodes.clear();
        self.texts.clear();
    }

    /// The order of an event.
    pub fn order(&self, at: usize) -> Option<EventOrder> {
        self.entries.get(at).map(|entry| entry.order)
    }

    /// The event at this index.
    pub fn event(&self, at: usize) -> Option<Event<'_>> {
        let &BatchEntry { kind, at, .. } = self.entries.get(at)?;
        let at = at as usize;
        Some(match kind {
            EventKind::Record => {
                let record = self.records.get(at)?;
                match &record.message {
                    Some(decoded) => Event::Message(MessageEvent { batch: self, record, decoded }),
                    None => Event::Checked(CheckedEvent { batch: self, record }),
                }
            }
            EventKind::CrossFlow => {
                let &StoredCrossFlow { event, basis, servers, text } = self.cross_flow.get(at)?;
                Event::CrossFlow(CrossFlow {
                    event,
                    basis,
                    servers: part(&self.servers, servers),
                    text: part(&self.cross_flow_texts, text),
                })
            }
            EventKind::Icmp => Event::Icmp(self.icmp.get(at)?),
            EventKind::Unanswered => Event::Unanswered(*self.unanswered.get(at)?),
            EventKind::Datagram => {
                let &(headers, bytes) = self.datagrams.get(at)?;
                Event::Datagram(DatagramEvent { headers, bytes: part(&self.bytes, bytes) })
            }
            EventKind::FlowEnded => Event::FlowEnded(self.rows.get(at)?),
            EventKind::File => Event::File(*self.files.get(at)?),
        })
    }

    #[inline]
    fn checked(&self, record: &Record) -> Checked<'_> {
        let details = record.details.and_then(|at| self.details.get(at as usize));
        details.map_or_else(Checked::default, |details| Checked {
            findings: part(&self.found.findings, details.findings),
            left_out: part(&self.found.left_out, details.left_out),
            passes: part(&self.found.passes, details.passes),
        })
    }

    /// Sets the flow number of an event to the one in the whole capture.
    pub fn renumber(&mut self, at: usize, number: impl Fn(u32) -> u32) {
        let Some(&BatchEntry { kind, at, .. }) = self.entries.get(at) else { return };
        let at = at as usize;
        let flow = match kind {
            EventKind::Record => {
                self.records.get_mut(at).map(|record| &mut record.context.flow.number)
            }
            EventKind::CrossFlow => {
                self.cross_flow.get_mut(at).map(|stored| &mut stored.basis.flow)
            }
            EventKind::FlowEnded => self.rows.get_mut(at).map(|row| &mut row.flow),
            EventKind::Icmp | EventKind::Unanswered => None,
            EventKind::Datagram | EventKind::File => None,
        };
        if let Some(flow) = flow {
            *flow = number(*flow);
        }
    }

    #[inline]
    fn push(&mut self, order: EventOrder, kind: EventKind, at: usize) {
        self.entries.push(BatchEntry { order, kind, at: at as u32 });
    }

    /// The following events belong to this flow. The context is stored only if there are any.
    #[inline]
    pub(in crate::session) fn set_context(&mut self, context: FlowContext) {
        self.context = self.records_in_use;
        match self.records.get_mut(self.context) {
            Some(record) => record.context = context,
            None => self.records.push(Record { context, message: None, details: None }),
        }
    }

    /// The flow that the following events belong to.
    #[inline]
    pub(in crate::session) fn context(&self) -> Option<&FlowContext> {
        self.records.get(self.context).map(|record| &record.context)
    }

    /// Adds results that belong to no message, since the last record.
    pub(in crate::session) fn push_found(&mut self) {
        self.push_record(None);
    }

    /// Adds a message, or results that belong to no message. Inlined, because copying a finished record
    /// reads it in other units than it was written, which stalls the processor until the stores complete.
    #[inline(always)]
    fn push_record(&mut self, message: Option<Decoded>) {
        if self.context != self.records_in_use
            && let Some(&context) = self.context()
        {
            self.set_context(context);
        }
        let details = self.has_found.then(|| self.push_details());
        let Some(record) = self.records.get_mut(self.context) else { return };
        record.message = message;
        record.details = details;
        let order = record.context.moment;
        self.records_in_use += 1;
        self.push(order, EventKind::Record, self.context);
    }

    fn push_details(&mut self) -> u32 {
        let (last, found) = (self.details.last().copied().unwrap_or_default(), &self.found);
        self.details.push(Details {
            findings: since(last.findings, found.findings.len()),
            left_out: since(last.left_out, found.left_out.len()),
            passes: since(last.passes, found.passes.len()),
        });
        self.has_found = false;
        self.details.len() as u32 - 1
    }

    /// Whether there are results since the last record.
    #[inline]
    pub(in crate::session) fn has_found(&self) -> bool {
        self.has_found
    }

    /// Whether some of them have a text.
    #[inline]
    pub(in crate::session) fn has_findings(&self) -> bool {
        let start = self.details.last().map_or(0, |last| last.findings.end);
        self.has_found && self.found.findings.len() > start as usize
    }

    /// The results, to add to.
    #[inline]
    pub(in crate::session) fn found(&mut self) -> &mut BatchFindings {
        self.has_found = true;
        &mut self.found
    }

    /// Takes what rules found.
    #[cold]
    pub(in crate::session) fn take_found(&mut self, results: &mut RuleResults) {
        let found = self.found();
        found.left_out.extend(results.left_out());
        found.findings.append(&mut results.findings);
        results.clear();
    }

    /// Adds findings without a text.
    pub(in crate::session) fn leave_out(&mut self, left_out: LeftOut) {
        let start = self.details.last().map_or(0, |last| last.left_out.end);
        left_out.add_to(&mut self.found().left_out, start as usize);
    }

    /// The passes since the last record.
    pub(in crate::session) fn passes_now(&mut self) -> &mut [PassedRule] {
        let start = self.details.last().map_or(0, |last| last.passes.end);
        self.found.passes.get_mut(start as usize..).unwrap_or_default()
    }

    /// Adds a message: all results since the last record belong to it.
    #[inline]
    pub(in crate::session) fn push_message(
        &mut self,
        message: &'static Message,
        payload: &Payload<'_>,
        kept: StoredParts<'_>,
    ) {
        let (mut bytes, mut pieces) = (Span::default(), Span::default());
        if kept.bytes {
            bytes = append(&mut self.bytes, payload.bytes);
        }
        if kept.pieces {
            pieces = append(&mut self.pieces, payload.pieces);
        }
        let fields = kept.fields.map(|tree| FieldSpans {
            nodes: append(&mut self.nodes, tree.nodes),
            texts: append(&mut self.texts, tree.store),
            left_out: tree.left_out,
        });
        let &Payload { inflated, unlisted, frame, time, side, transport, lost, .. } = payload;
        let listed = self.take_listed();
        self.push_record(Some(Decoded {
            message,
            bytes,
            pieces,
            fields,
            frame,
            time,
            side,
            transport,
            inflated,
            unlisted,
            lost,
            length: payload.sent(),
            reply: kept.reply.copied(),
            sending: kept.sending,
            is_optional: kept.is_optional,
            effect: kept.effect,
            library: kept.library,
            listed,
        }));
    }

    /// The current message lists a server, for a cross-flow event.
    pub(in crate::session) fn lists(&mut self, server: Listed) {
        self.servers.push(server);
    }

    /// The same, for the message.
    #[inline(always)]
    pub(in crate::session) fn message_lists(&mut self, number: Listed, server: SocketAddr) {
        listed::append(&mut self.listed, number, server);
    }

    fn take_listed(&mut self) -> Span {
        let listed = Span::new(self.next_listed, self.listed.len());
        self.next_listed = self.listed.len();
        listed
    }

    /// Removes listed servers that belong to no event.
    #[inline]
    pub(in crate::session) fn forget_listed(&mut self) {
        self.servers.truncate(self.next_list);
        self.listed.truncate(self.next_listed);
    }

    pub(in crate::session) fn push_cross_flow(
        &mut self,
        order: EventOrder,
        event: CrossFlowEvent,
        basis: Basis,
        text: &[u8],
    ) {
        let servers = match event {
            CrossFlowEvent::Listed(_) => Span::new(self.next_list, self.servers.len()),
            _ => Span::default(),
        };
        self.next_list = self.servers.len();
        self.push(order, EventKind::CrossFlow, self.cross_flow.len());
        let text = append(&mut self.cross_flow_texts, text);
        self.cross_flow.push(StoredCrossFlow { event, basis, servers, text });
    }

    pub(in crate::session) fn push_icmp(&mut self, order: EventOrder, icmp: IcmpEvent) {
        self.push(order, EventKind::Icmp, self.icmp.len());
        self.icmp.push(icmp);
    }

    pub(in crate::session) fn push_unanswered(
        &mut self,
        order: EventOrder,
        request: UnansweredRequest,
    ) {
        self.push(order, EventKind::Unanswered, self.unanswered.len());
        self.unanswered.push(request);
    }

    #[inline]
    pub(in crate::session) fn push_datagram(
        &mut self,
        order: EventOrder,
        headers: DatagramHeaders,
        bytes: &[u8],
    ) {
        let bytes = append(&mut self.bytes, bytes);
        self.push(order, EventKind::Datagram, self.datagrams.len());
        self.datagrams.push((headers, bytes));
    }

    pub(in crate::session) fn push_file(&mut self, order: EventOrder, event: FileEvent) {
        self.push(order, EventKind::File, self.files.len());
        self.files.push(event);
    }

    pub(in crate::session) fn push_row(&mut self, order: EventOrder, row: FlowRow) {
        self.push(order, EventKind::FlowEnded, self.rows.len());
        self.rows.push(row);
    }
}

impl BatchFindings {
    fn clear(&mut self) {
        self.findings.clear();
        self.left_out.clear();
        self.passes.clear();
    }
}

#[inline]
fn part<T>(all: &[T], at: Span) -> &[T] {
    all.get(at.start as usize..at.end as usize).unwrap_or_default()
}

#[inline]
fn since(last: Span, end: usize) -> Span {
    Span { start: last.end, end: end as u32 }
}

fn append<T: Copy>(all: &mut Vec<T>, more: &[T]) -> Span {
    let start = all.len();
    all.extend_from_slice(more);
    Span::new(start, all.len())
}
