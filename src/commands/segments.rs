//! Segments that were sent again: bytes of a stream that an earlier packet carried, too.
//!
//! A stream's reader passes over them. A ladder shows them, as it does copies of datagrams.

use std::collections::HashMap;
use std::net::SocketAddr;

use dissectors::kit::{Payload, Time, Transport};
use foldhash::quality::RandomState;

use crate::capture::Packet;
use crate::net::{self, Outcome};
use crate::report::ladder::SegmentAgain;

/// Segments of a capture that are remembered, and packets of messages.
const MOST: usize = 1 << 18;

/// A segment without a byte that an earlier one does not have.
struct RepeatedSegment {
    frame: u64,
    time: Time,
    /// The packet that carried the bytes first.
    first: u64,
}

/// What a capture has of them.
#[derive(Default)]
pub(super) struct Segments {
    /// By ends and sequence number: how long the first one was, and its packet.
    first: HashMap<([SocketAddr; 2], u32), (u32, u64), RandomState>,
    repeats: Vec<RepeatedSegment>,
    /// Which message a packet carried a part of, by the packet that completed that.
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

    /// The segments of messages that are shown, in the order of the capture.
    pub(super) fn again(&self) -> impl Iterator<Item = SegmentAgain> {
        self.repeats.iter().filter_map(|&RepeatedSegment { frame, time, first }| {
            let message = *self.messages.get(&first)?;
            Some(SegmentAgain { frame, time, first, message })
        })
    }
}
