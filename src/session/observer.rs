//! Who looks on: what a command wants to know of the messages as they are told.

use dissectors::Id;
use dissectors::kit::{FlowFacts, Sink, Time, Who};

use super::EventOrder;
use crate::flows::{Detail, FlowRow, MessageCounts};
use crate::net::{IcmpError, Tunnels};

/// Round which flow the next messages and judgements happen.
#[derive(Clone, Copy)]
pub struct FlowContext {
    /// The protocol; `None` where a packet is judged before its protocol is told.
    pub protocol: Option<Id>,
    /// The flow; its number is 0 where no flow is concerned.
    pub flow: FlowFacts,
    /// Which part each end plays, as far as it has spoken, by
    /// [`Side::index`](dissectors::kit::Side::index).
    pub roles: [Option<Who>; 2],
    /// The packet at hand, and where its recorded bytes begin in the capture file.
    pub packet: (u64, u64),
    /// When this is told.
    pub moment: EventOrder,
    /// How many digits behind the second the capture's times have: 6 or 9.
    pub digits: u8,
    /// The packet of which that is a copy, where the datagram was doubled on the way.
    pub copy_of: Option<u64>,
    /// The tunnels that the packet at hand came through.
    pub tunnels: Tunnels,
}

/// A message that did not arrive, as an ICMP error says.
#[derive(Clone, Copy)]
pub struct Quoted<'a> {
    /// The packet that carried the message; the flow is that of the context.
    pub message: u64,
    /// The packet of the error, and its time.
    pub frame: u64,
    /// See there.
    pub time: Time,
    /// What it says.
    pub error: &'a IcmpError<'a>,
}

/// Receives messages and judgements, and is told which flow they belong to.
pub trait Observer: Sink {
    /// What follows belongs to this flow.
    fn flow_context(&mut self, flow_context: FlowContext);
    /// Nothing more follows for now; says how much was reported since `flow_context`.
    fn settle(&mut self) -> MessageCounts;
    /// Behind `settle`: what was reported since `flow_context` that a listing of flows asks for.
    #[inline]
    fn count_exchanges(&mut self, _: &mut Detail) {}
    /// An ICMP error quotes a message that was told before.
    #[inline]
    fn icmp(&mut self, _: &Quoted<'_>) {}
    /// A flow has ended; who wants its row asks for it.
    #[inline]
    fn flow_ended(&mut self, _: impl FnOnce() -> FlowRow) {}
}
