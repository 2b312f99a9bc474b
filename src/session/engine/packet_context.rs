//! What all messages share, and what the current packet is: where bytes were recorded, and what its flow's protocol may
//! know.

use dissectors::kit::{FlowFacts, Piece, Rule, Time};
use dissectors::net_rules::NET008;

use super::Recorded;
use super::memory::Incomplete;
use crate::flows::FlowMut;
use crate::net::{Defragmenter, Hosts, Malformed, PacketDirection, Tunnels};
use crate::session::{CutPackets, EventOrder, FlowContext, Links, Numbers, Options};

/// The result of a rule about a packet's headers.
pub(super) struct HeaderResult {
    pub(super) rule: &'static Rule,
    pub(super) ok: bool,
    /// What is wrong, if it is broken.
    pub(super) detail: String,
}

impl HeaderResult {
    /// A rule that is kept.
    pub(super) const fn kept(rule: &'static Rule) -> HeaderResult {
        HeaderResult { rule, ok: true, detail: String::new() }
    }

    /// A rule that is broken.
    pub(super) const fn broken(rule: &'static Rule, detail: String) -> HeaderResult {
        HeaderResult { rule, ok: false, detail }
    }
}

/// Context that all messages share: the current packet, the time, losses.
pub(super) struct PacketContext {
    pub(super) options: Options,
    pub(super) defragmenter: Defragmenter,
    pub(super) pieces: Vec<Piece>,
    /// Results of rules about the current packet's headers, for the message in the packet.
    pub(super) headers: Vec<HeaderResult>,
    /// Packets are missing between unknown hosts.
    pub(super) lossy: bool,
    /// Some of them from before the notice.
    pub(super) dropped: bool,
    /// The recording broke off after the latest packet.
    pub(super) broke_off: bool,
    /// It did, no packet followed, and it is said to be complete: what still waits may have come later.
    pub(super) ended_early: bool,
    pub(super) frame: u64,
    /// The offset of the current packet in the capture file.
    pub(super) offset: u64,
    /// A hash of the current datagram's bytes, by `keyed_hash`.
    pub(super) hash: u64,
    pub(super) moment: EventOrder,
    pub(super) now: Time,
    pub(super) numbers: Numbers,
    pub(super) digits: u8,
    /// The earliest and the latest time of a packet.
    pub(super) span: [i64; 2],
    /// Bytes of all packets, as they were on the wire.
    pub(super) bytes: u64,
    pub(super) links: Links,
    /// The current packet's IPv4 time to live or IPv6 hop limit.
    pub(super) hop_limit: u8,
    pub(super) direction: PacketDirection,
}

impl PacketContext {
    /// Before the first packet. `numbers`: those of flows.
    pub(super) fn new(options: Options, numbers: Numbers) -> PacketContext {
        PacketContext {
            defragmenter: Defragmenter::new(options.fragments),
            pieces: Vec::new(),
            headers: Vec::new(),
            lossy: false,
            broke_off: false,
            ended_early: false,
            dropped: false,
            frame: 0,
            offset: 0,
            hash: 0,
            moment: EventOrder::default(),
            now: Time(i64::MIN),
            numbers,
            digits: 6,
            span: [i64::MAX, i64::MIN],
            bytes: 0,
            links: Links::default(),
            hop_limit: 0,
            direction: PacketDirection::Unknown,
            options,
        }
    }

    /// The current packet was cut before its protocol could be identified.
    #[cold]
    pub(super) fn count_cut(&self, cut: &mut CutPackets) {
        cut.see((self.frame, self.offset), self.now, self.digits);
    }

    /// Records what is wrong with a packet's headers.
    #[inline]
    pub(super) fn note(&mut self, note: Option<&Malformed>) {
        #[cold]
        fn reported(note: &Malformed) -> HeaderResult {
            HeaderResult::broken(&NET008, note.to_string())
        }
        if let Some(note) = note {
            self.headers.push(reported(note));
        }
    }

    /// The flow of the following messages and findings; its protocol is not known yet.
    #[inline]
    pub(super) fn flow_context(&self, flow: &FlowFacts) -> FlowContext {
        FlowContext {
            protocol: None,
            flow: *flow,
            roles: [None; 2],
            packet: (self.frame, self.offset),
            moment: self.moment,
            digits: self.digits,
            copy_of: None,
            tunnels: Tunnels::default(),
            hop_limit: self.hop_limit,
            direction: self.direction,
            window_closed: [0; 2],
        }
    }

    /// Where `length` bytes at `offset` of the decoded payload were recorded.
    pub(super) fn locate(
        &self,
        offset: u32,
        length: usize,
        from: Recorded<'_>,
        pieces: &mut Vec<Piece>,
    ) {
        pieces.clear();
        match from {
            Recorded::Here => pieces.push(self.piece(offset, length)),
            Recorded::Joined(whole) => {
                let end = offset.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
                for piece in &whole.pieces {
                    let start = piece.at.max(offset);
                    let stop = piece.at.saturating_add(piece.length).min(end);
                    if start < stop {
                        pieces.push(Piece {
                            at: start - offset,
                            length: stop - start,
                            frame: piece.frame,
                            offset: piece.offset.saturating_add(start - piece.at),
                        });
                    }
                }
                if pieces.is_empty() {
                    pieces.push(Piece { at: 0, length: 0, frame: self.frame, offset: 0 });
                }
            }
        }
    }

    /// The same for bytes in the current packet.
    pub(super) fn piece(&self, offset: u32, length: usize) -> Piece {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Piece { at: 0, length, frame: self.frame, offset }
    }

    /// The facts of a flow for its protocol, `silence` nanoseconds after its last packet.
    pub(super) fn facts(
        &self,
        flow: &FlowMut<'_>,
        silence: u64,
        incomplete: &Incomplete,
    ) -> FlowFacts {
        let is_midway = flow.is_midway && !self.options.complete;
        let mut lossy = self.lossy || self.ended_early || is_midway || flow.is_lossy;
        if !lossy && (!incomplete.is_empty() || self.defragmenter.waits()) {
            lossy = self.lacks_some(flow, incomplete);
        }
        FlowFacts { silence, lossy, ..flow.facts() }
    }

    /// Whether some message between the hosts of a flow is incomplete.
    #[inline(never)]
    fn lacks_some(&self, flow: &FlowMut<'_>, incomplete: &Incomplete) -> bool {
        let hosts = Hosts::at(flow.facts().ends);
        incomplete.contains(&hosts) || self.defragmenter.waits_between(&hosts)
    }
}
