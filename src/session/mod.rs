//! Decodes a capture: packets in, events and totals out.
//!
//! - `options`, `needs`: what is asked for.
//! - `engine`: the way of a packet through a decoder.
//! - `drive`: the loop that feeds a decoder from a capture.
//! - `events`: what comes out, in the order of the capture; `merge` puts the events of several decoders in that order.
//! - `totals`: what has been counted at the end.
//! - `translation`: datagrams that were recorded before and behind NAT.
//!
//! It knows no output, no file and no threads; but several decoders can share a capture: each reads
//! all of it, and follows the flows of its part of all pairs of hosts.

mod drive;
mod engine;
mod events;
mod merge;
mod needs;
mod options;
mod totals;
mod translation;

pub use crate::flows::{ExchangeCounts, ExchangeEffect};
pub use crate::message::{Checked, LeftOut, PassedRule, Value};
pub use crate::net::{LinkTags, PacketDirection};
#[cfg(any(feature = "commands", feature = "tables"))]
pub(crate) use drive::{Drive, Observer};
pub use engine::{Decoder, Partition};
pub use events::{
    Batch, CheckedEvent, CrossFlow, DatagramEvent, DatagramHeaders, Event, EventOrder, Events,
    FileEvent, FilePlace, Files, FlowContext, IcmpEvent, ListedServers, MessageEvent, Numbers,
    UnansweredRequest,
};
pub use merge::{EventDivider, EventPart, Merge, PartMerge};
pub use needs::{Datagrams, FieldLimits, FieldsOf, Findings, Messages, Needs, Passes};
pub use options::Options;
pub(crate) use totals::joined_spans;
pub use totals::{
    CutPackets, HeardServer, HopLimitKinds, Links, NamedTraffic, OtherHosts, OtherPairs, PROBE,
    PairTraffic, Port, PortPackets, ProbedPorts, RequestReview, Requests, STEAM_PORTS, Totals,
    Traffic, Unanswered, UnknownLinks,
};
#[cfg(feature = "partition")]
pub(crate) use translation::Recording;
pub(crate) use translation::Translations;
