//! What a packet turned out to be.

use std::net::IpAddr;

use super::packet::{Datagram, Fragment, IcmpError, Layer, Malformed, Segment, UnreadLayer};
use super::walk::Walk;
use crate::capture::LinkType;

/// What a packet turned out to be.
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
    /// Anything else that is in order: ARP, other ICMP, routing protocols, encrypted payloads.
    Other,
    /// A layer that may carry IP, and that is not read.
    Unread(UnreadLayer),
    /// The snap length cut the packet before its ports.
    Snapped,
    /// The link type is none that this program reads.
    UnknownLink(LinkType),
    /// A header does not parse.
    Malformed(Malformed),
}

impl Outcome<'_> {
    /// Between which hosts the datagram or segment goes that it is; of an ICMP error, that it quotes.
    pub fn hosts(&self) -> Option<[IpAddr; 2]> {
        match self {
            Outcome::Udp(datagram) => Some([datagram.ip.source, datagram.ip.destination]),
            Outcome::Tcp(segment) => Some([segment.ip.source, segment.ip.destination]),
            Outcome::Icmp(error) => Some([error.quote.source, error.quote.destination]),
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
    /// As far as the headers before them.
    pub(super) walk: Walk<'a>,
    pub(super) bytes: &'a [u8],
}

impl<'a> Walk<'a> {
    /// The end of a packet whose header is not all there.
    pub(super) fn short(&self, layer: Layer) -> Outcome<'a> {
        if self.cut > 0 { Outcome::Snapped } else { malformed(layer, "the packet ends in it") }
    }
}

/// The outcome of a packet whose header is wrong.
pub(super) fn malformed<'a>(layer: Layer, what: &'static str) -> Outcome<'a> {
    Outcome::Malformed(Malformed { layer, what })
}
