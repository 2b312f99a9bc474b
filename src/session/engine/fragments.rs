//! Fragments: their datagrams go the way of other packets once they are whole.

use dissectors::net_rules::{NET004, NET005};

use super::packet_context::HeaderResult;
use super::recorder::{FieldSink, Recorder};
use super::recording::words;
use super::{Recorded, Session};
use crate::net::ip_defrag::{self, FragmentEventKind, Joined};
use crate::net::limits::NESTED_DATAGRAMS;
use crate::net::{Fragment, FrameRef, decode_ip_payload};

impl Session {
    /// A fragment, and its datagram if it is now whole.
    pub(super) fn fragment<F: FieldSink>(
        &mut self,
        fragment: &Fragment<'_>,
        recorded: Recorded<'_>,
        depth: usize,
        recorder: &mut Recorder<F>,
    ) {
        self.context.note(fragment.note.as_ref());
        // Timeouts are checked first, because the incomplete datagram does not affect them.
        let place = self.range.place_of(fragment.ip.source, fragment.ip.destination);
        if let Some(shard) = place.and_then(|at| self.shards.get_mut(at)) {
            shard.ask_due(&mut self.context, recorder);
        } else {
            self.may_be_filtered(recorder);
        }
        let at = FrameRef { frame: self.context.frame, time: self.context.now.0 };
        let (range, mut is_of_others) = (self.range, false);
        let wanted = |joined: Joined<'_>| {
            // Possible tunnels and invalid datagrams are for every part.
            is_of_others = depth < NESTED_DATAGRAMS && joined.is_udp() && !range.has(joined.ip);
            !is_of_others
        };
        let (defragmenter, events) = (&mut self.context.defragmenter, &mut self.fragment_events);
        let whole = match recorded {
            Recorded::Here => defragmenter.add(fragment, at, events, wanted),
            Recorded::Joined(outer) => defragmenter.add_inside(fragment, outer, at, events, wanted),
        };
        if is_of_others {
            self.context.headers.clear();
        }
        if !self.fragment_events.is_empty() {
            if whole.as_ref().is_some_and(|whole| whole.overlapped) {
                let overlaps = |event: &mut ip_defrag::FragmentEvent| {
                    matches!(event.kind, FragmentEventKind::Overlap { .. })
                };
                for event in self.fragment_events.extract_if(.., overlaps) {
                    self.context.headers.push(HeaderResult::broken(&NET004, words(&event)));
                }
            }
            self.fragment_events(recorder);
        }
        let Some(whole) = whole else { return };
        self.context.headers.push(HeaderResult::kept(&NET005));
        if !whole.overlapped {
            self.context.headers.push(HeaderResult::kept(&NET004));
        }
        if depth < NESTED_DATAGRAMS {
            let outcome = decode_ip_payload(whole.ip, whole.protocol, &whole.bytes);
            self.outcome(&outcome, Recorded::Joined(&whole), depth + 1, recorder);
        }
        self.context.defragmenter.recycle(whole);
    }
}
