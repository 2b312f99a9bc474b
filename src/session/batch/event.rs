//! Events as readers see them: views of what a batch holds.

use std::net::SocketAddr;

use dissectors::kit::{CrossFlowEvent, Message, Payload, Reply, Sending, TreeView};
use dissectors::ledger::{Listed, Witness};

use super::{Batch, Decoded, FieldSpans, Record, part};
use crate::flows::FlowRow;
use crate::session::datagram_event::DatagramEvent;
use crate::session::icmp_event::IcmpEvent;
use crate::session::{Checked, FileEvent, FlowContext, ListedServers};

/// One thing that a session reports. [`Needs`](crate::session::Needs) says which of them it does.
#[derive(Clone, Copy)]
pub enum Event<'b> {
    /// A message is whole.
    Message(MessageEvent<'b>),
    /// Something was found about a message of the past, or about the recording.
    Checked(CheckedEvent<'b>),
    /// A message shows something that matters beyond its flow.
    CrossFlow(CrossFlow<'b>),
    /// An ICMP error says that a message did not arrive.
    Icmp(&'b IcmpEvent),
    /// A datagram, of whatever protocol.
    Datagram(DatagramEvent<'b>),
    /// A flow has ended.
    FlowEnded(&'b FlowRow),
    /// Packets are from another file from here on.
    File(FileEvent),
}

/// A message, and what was found in it.
#[derive(Clone, Copy)]
pub struct MessageEvent<'b> {
    pub(super) batch: &'b Batch,
    pub(super) record: &'b Record,
    pub(super) decoded: &'b Decoded,
}

impl<'b> MessageEvent<'b> {
    /// Its flow, its protocol, and its packet.
    #[inline]
    pub fn context(&self) -> &'b FlowContext {
        &self.record.context
    }

    /// Which message of its protocol it is.
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

    /// Its bytes, if they were asked for or a finding is about them, and where they were recorded;
    /// who sent it, and when.
    pub fn payload(&self) -> Payload<'b> {
        let (decoded, [from, to]) = (self.decoded, self.ends());
        Payload {
            bytes: part(&self.batch.bytes, decoded.bytes),
            pieces: part(&self.batch.pieces, decoded.pieces),
            inflated: decoded.inflated,
            headers: decoded.headers,
            frame: decoded.frame,
            time: decoded.time,
            side: decoded.side,
            from,
            to,
            flow: self.record.context.flow.number,
            transport: decoded.transport,
            lost: decoded.lost,
            hash: None,
        }
    }

    /// Its fields, if they were asked for.
    pub fn tree(&self) -> Option<TreeView<'b>> {
        let FieldSpans { nodes, texts, left_out } = self.decoded.fields?;
        let (nodes, store) = (part(&self.batch.nodes, nodes), part(&self.batch.texts, texts));
        Some(TreeView { nodes, store, left_out })
    }

    /// The request that it answers, if it is a response to one.
    pub fn reply(&self) -> Option<&'b Reply> {
        self.decoded.reply.as_ref()
    }

    /// The servers that it lists, if they were asked for.
    pub fn listed(&self) -> ListedServers<'b> {
        ListedServers::of(part(&self.batch.listed, self.decoded.listed))
    }

    /// What it is, if it is a request, beside those before it.
    pub fn sending(&self) -> Sending {
        self.decoded.sending
    }

    /// The library that its client uses, if it is the message that shows that, and flows were asked for.
    pub fn library(&self) -> Option<&'static str> {
        self.decoded.library
    }

    /// How rules fared by it.
    #[inline]
    pub fn checked(&self) -> Checked<'b> {
        self.batch.checked(self.record)
    }
}

/// How rules fared by something other than the message that was decoded last.
#[derive(Clone, Copy)]
pub struct CheckedEvent<'b> {
    pub(super) batch: &'b Batch,
    pub(super) record: &'b Record,
}

impl<'b> CheckedEvent<'b> {
    /// The flow concerned; its number is 0 where none is.
    pub fn context(&self) -> &'b FlowContext {
        &self.record.context
    }

    /// How they fared.
    pub fn checked(&self) -> Checked<'b> {
        self.batch.checked(self.record)
    }
}

/// Something that matters beyond its flow.
#[derive(Clone, Copy, Debug)]
pub struct CrossFlow<'b> {
    /// What it is.
    pub event: CrossFlowEvent,
    /// The message that shows it.
    pub witness: Witness,
    /// The servers of a list.
    pub servers: &'b [Listed],
}
