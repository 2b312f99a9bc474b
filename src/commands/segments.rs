//! Retransmitted segments: their bytes were in an earlier packet.
//!
//! A stream's reader ignores them. A ladder shows them, like copies of datagrams.

use std::collections::HashMap;
use std::net::SocketAddr;

use dissectors::kit::{Payload, Time, Transport};
use foldhash::quality::RandomState;

use crate::capture::Packet;
use crate::net::{self, Outcome};
use crate::report::ladder::SegmentAgain;

/// Maximum number of segments of a capture, and of packets of messages.
const MOST: usize = 1 << 18;

/// A segment whose bytes are all in an earlier one.
struct RepeatedSegment {
    frame: u64,
    time: Time,
    /// The packet that carried the bytes first.
    first: u64,
}

/// The segments of a capture.
#[derive(Default)]
pub(super) struct Segments {
    /// By ends and sequence number: the length of the first one, and its packet.
    first: HashMap<([SocketAddr; 2], u32), (u32, u64), RandomState>,
    repeats: Vec<RepeatedSegment>,
    /// By packet, the packet that completed its message.
    messages: HashMap<u64, u64, RandomState>,
}

impl Segments {
    /// The next packet.
    pub(super) fn packet(&mut self, frame: u64, packet: &Packet<'_>) {
        let outcome = net::decode(packet.link, packet.data, packet.original_length);
        outcome.each(&mut |outcome| {
            let Outcome::Tcp(segment) = outcome else { return };
            let length = segment.payload.announced;
            if length == 0 || self.first.len() + self.repeats.len() >= MOST {
                return;
            }
            let ip = segment.ip;
            let from = SocketAddr::new(ip.source, segment.source_port);
            let to = SocketAddr::new(ip.destination, segment.destination_port);
            let first = self.first.entry(([from, to], segment.sequence)).or_insert((0, frame));
            if length > first.0 {
                *first = (length, frame);
            } else {
                self.repeats.push(RepeatedSegment {
                    frame,
                    time: Time(packet.time),
                    first: first.1,
                });
            }
        });
    }

    /// A message that is shown.
    pub(super) fn message(&mut self, payload: &Payload<'_>) {
        if payload.transport == Transport::Tcp && self.messages.len() < MOST {
            let pieces = payload.pieces.iter().map(|piece| piece.frame);
            self.messages.extend(pieces.map(|frame| (frame, payload.frame)));
        }
    }

    /// The retransmitted segments of shown messages, in the order of the capture.
    pub(super) fn again(&self) -> impl Iterator<Item = SegmentAgain> {
        self.repeats.iter().filter_map(|&RepeatedSegment { frame, time, first }| {
            let message = *self.messages.get(&first)?;
            Some(SegmentAgain { frame, time, first, message })
        })
    }
}
