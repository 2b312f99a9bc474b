//! The result of decoding a packet.

use std::net::IpAddr;

use super::packet::{
    Datagram, Fragment, IcmpError, Layer, Malformed, OtherIcmp, Segment, UnreadLayer,
};
use super::walk::Walk;
use crate::capture::LinkType;

/// The result of decoding a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A part of an IP datagram, for the [`Defragmenter`](super::Defragmenter).
    Fragment(Fragment<'a>),
    /// Several frames in one, each of which is any of these.
    Aggregate(Aggregate<'a>),
    /// An ICMP error about a UDP datagram.
    Icmp(IcmpError<'a>),
    /// Any other ICMP: a ping, an error about something else.
    OtherIcmp(OtherIcmp),
    /// Anything else that is valid: ARP, routing protocols, encrypted payloads.
    Other,
    /// An unsupported layer that may carry IP.
    Unread(UnreadLayer),
    /// The snap length cut the packet before its ports.
    Snapped,
    /// An unsupported link type.
    UnknownLink(LinkType),
    /// An invalid header.
    Malformed(Malformed),
}

impl Outcome<'_> {
    /// The hosts of the packet; of an ICMP error about a datagram, those of the datagram.
    pub fn hosts(&self) -> Option<[IpAddr; 2]> {
        match self {
            Outcome::Udp(datagram) => Some([datagram.ip.source, datagram.ip.destination]),
            Outcome::Tcp(segment) => Some([segment.ip.source, segment.ip.destination]),
            Outcome::Icmp(error) => Some([error.quote.source, error.quote.destination]),
            Outcome::OtherIcmp(icmp) => Some([icmp.ip.source, icmp.ip.destination]),
            _ => None,
        }
    }
}

impl<'a> Outcome<'a> {
    /// Calls `see` with this outcome, or with that of every frame in it.
    pub fn each(self, see: &mut dyn FnMut(Outcome<'a>)) {
        match self {
            Outcome::Aggregate(aggregate) => aggregate.frames().for_each(|frame| frame.each(see)),
            outcome => see(outcome),
        }
    }
}

/// Several frames in one packet, each to be decoded as one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate<'a> {
    /// The state of decoding after the headers before them.
    pub(super) walk: Walk<'a>,
    pub(super) bytes: &'a [u8],
}

impl<'a> Walk<'a> {
    /// The outcome of a packet with an incomplete header.
    pub(super) fn short(&self, layer: Layer) -> Outcome<'a> {
        if self.cut > 0 { Outcome::Snapped } else { malformed(layer, "the packet ends in it") }
    }
}

/// The outcome of a packet whose header is wrong.
pub(super) fn malformed<'a>(layer: Layer, what: &'static str) -> Outcome<'a> {
    Outcome::Malformed(Malformed { layer, what })
}
