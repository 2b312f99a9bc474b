//! Events in the form for readers: views of a batch.

use std::net::SocketAddr;

use dissectors::kit::{Message, Payload, Reply, Sending, Time, TreeView};
use dissectors::ledger::CrossFlow;

use super::Decoded;
use super::FieldSpans;
use super::Record;
use super::part;
use crate::filter::Filter;
use crate::flows::{ExchangeEffect, FlowRow};
use crate::message::MessageRef;
use crate::session::{
    Batch, Checked, DatagramEvent, FileEvent, FlowContext, IcmpEvent, ListedServers,
    UnansweredRequest,
};

/// One event. [`Needs`](crate::session::Needs) selects which of them are reported.
///
/// ```
/// use gamewire::{Decoder, Event, Findings, Needs, Options, capture};
///
/// let needs = Needs { findings: Findings::All { in_words: true }, ..Needs::messages_with_fields() };
/// let decoder = Decoder::new(Options { needs, ..Options::default() });
/// let mut packets = capture::open("samples/a2s-quirks.pcap".as_ref())?;
/// let mut broken = Vec::new();
/// decoder.read(&mut *packets, |event| {
///     let checked = match event {
///         Event::Message(message) => message.checked(),
///         Event::Checked(it) => it.checked(), // about an earlier message, or the recording
///         _ => return,
///     };
///     broken.extend(checked.findings.iter().map(|it| format!("{}: {}", it.rule.code, it.detail)));
/// });
/// assert!(broken.iter().any(|finding| finding.starts_with("A2S")));
/// # Ok::<(), capture::CaptureError>(())
/// ```
#[derive(Clone, Copy)]
pub enum Event<'b> {
    /// A complete message.
    Message(MessageEvent<'b>),
    /// Results of rules about an earlier message, or about the recording.
    Checked(CheckedEvent<'b>),
    /// A message shows something that matters for rules that span flows.
    CrossFlow(CrossFlow<'b>),
    /// An ICMP error says that a message did not arrive.
    Icmp(&'b IcmpEvent),
    /// A request was not answered.
    Unanswered(UnansweredRequest),
    /// A datagram of any protocol.
    Datagram(DatagramEvent<'b>),
    /// A flow has ended.
    FlowEnded(&'b FlowRow),
    /// The following packets are from another file.
    File(FileEvent),
}

/// A message with its results of rules.
///
/// ```
/// use gamewire::{Decoder, Event, Needs, Options, Value, capture};
///
/// let mut packets = capture::open("samples/a2s-info-players-rules.pcap".as_ref())?;
/// let options = Options { needs: Needs::messages_with_fields(), ..Options::default() };
/// let mut players = Vec::new();
/// Decoder::new(options).read(&mut *packets, |event| {
///     let Event::Message(message) = event else { return };
///     if message.path() == "a2s.info_response" {
///         assert_eq!(message.field("map"), Some(Value::Text(b"ctf_2fort")));
///     }
///     players.extend(message.values("players.name").iter().map(Value::to_string));
/// });
/// assert_eq!(players.len(), 3);
/// # Ok::<(), capture::CaptureError>(())
/// ```
#[derive(Clone, Copy)]
pub struct MessageEvent<'b> {
    pub(super) batch: &'b Batch,
    pub(super) record: &'b Record,
    pub(super) decoded: &'b Decoded,
}

impl Event<'_> {
    /// Whether a display filter, if there is one, selects it; it rejects nothing but messages.
    pub fn is_wanted(&self, filter: Option<&Filter>) -> bool {
        match (filter, self) {
            (Some(filter), Event::Message(message)) => message.is_wanted(filter),
            _ => true,
        }
    }
}

impl<'b> MessageEvent<'b> {
    /// Its flow, its protocol, and its packet.
    #[inline]
    pub fn context(&self) -> &'b FlowContext {
        &self.record.context
    }

    /// The message of its protocol.
    #[inline]
    pub fn message(&self) -> &'static Message {
        self.decoded.message
    }

    /// Its bytes as sent: the payloads of all its packets, before decompression.
    #[inline]
    pub fn length(&self) -> u64 {
        self.decoded.length
    }

    /// The sender and the receiver.
    #[inline]
    pub fn ends(&self) -> [SocketAddr; 2] {
        self.record.context.flow.ends_from(self.decoded.side)
    }

    /// When it was sent, or the last of its packets.
    #[inline]
    pub fn time(&self) -> Time {
        self.decoded.time
    }

    /// Its packet, the last one of several, by its number in the capture.
    #[inline]
    pub fn frame(&self) -> u64 {
        self.decoded.frame
    }

    /// Its bytes, if requested or if a finding is about them, and where they were recorded; with
    /// sender and time.
    pub fn payload(&self) -> Payload<'b> {
        let &Decoded { inflated, unlisted, frame, time, transport, lost, .. } = self.decoded;
        let Decoded { side, bytes, pieces, .. } = *self.decoded;
        let (bytes, pieces) = (part(&self.batch.bytes, bytes), part(&self.batch.pieces, pieces));
        let whole = self.record.context.flow.payload(side, bytes, pieces);
        Payload { inflated, unlisted, frame, time, transport, lost, ..whole }
    }

    /// Its fields, if requested.
    pub fn tree(&self) -> Option<TreeView<'b>> {
        let FieldSpans { nodes, texts, left_out } = self.decoded.fields?;
        let (nodes, store) = (part(&self.batch.nodes, nodes), part(&self.batch.texts, texts));
        Some(TreeView { nodes, store, left_out })
    }

    /// The request that it answers, if it is a response to one.
    pub fn reply(&self) -> Option<&'b Reply> {
        self.decoded.reply.as_ref()
    }

    /// The servers that it lists, if requested.
    pub fn listed(&self) -> ListedServers<'b> {
        ListedServers::of(part(&self.batch.listed, self.decoded.listed))
    }

    /// How it relates to earlier requests, if it is a request.
    pub fn sending(&self) -> Sending {
        self.decoded.sending
    }

    /// Whether it is a request that its server need not answer.
    pub fn is_optional(&self) -> bool {
        self.decoded.is_optional
    }

    /// Its effect on the exchanges of its flow.
    pub fn exchange(&self) -> ExchangeEffect {
        self.decoded.effect
    }

    /// The library of its client, if this message shows it, and flows are needed.
    pub fn library(&self) -> Option<&'static str> {
        self.decoded.library
    }

    /// The results of rules.
    #[inline]
    pub fn checked(&self) -> Checked<'b> {
        self.batch.checked(self.record)
    }

    /// The message as filters and reports see it.
    pub fn to_ref(self) -> MessageRef<'b> {
        let FlowContext { protocol, copy_of, .. } = *self.context();
        MessageRef {
            protocol,
            kind: Some(self.message()),
            payload: self.payload(),
            tree: self.tree(),
            reply: self.reply(),
            copy_of,
            checked: self.checked(),
        }
    }

    /// Whether a display filter selects it.
    pub fn is_wanted(&self, filter: &Filter) -> bool {
        filter.matches(&self.to_ref())
    }
}

/// Results of rules about something other than the latest message.
#[derive(Clone, Copy)]
pub struct CheckedEvent<'b> {
    pub(super) batch: &'b Batch,
    pub(super) record: &'b Record,
}

impl<'b> CheckedEvent<'b> {
    /// The flow concerned; its number is 0 if there is none.
    pub fn context(&self) -> &'b FlowContext {
        &self.record.context
    }

    /// The results.
    pub fn checked(&self) -> Checked<'b> {
        self.batch.checked(self.record)
    }
}
