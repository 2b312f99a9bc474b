//! How large responses are, and which are asked for again.

use std::net::SocketAddr;

use dissectors::kit::{Message, RecentMap, Time};

use crate::session::MessageEvent;

/// When a server responded last to a client's requests of each kind.
#[derive(Default)]
pub(in crate::diagnose) struct Responded {
    latest: RecentMap<([SocketAddr; 2], &'static str), Time>,
}

impl Responded {
    /// A client asks. Whether it did so, and had a response, less than so many nanoseconds ago.
    pub(in crate::diagnose) fn is_asked_again(
        &mut self,
        event: &MessageEvent<'_>,
        within: i64,
        most: usize,
    ) -> bool {
        let key = (event.ends(), event.message().name);
        let now = event.payload().time;
        let before = self.latest.get_mut(&key, most);
        before.is_some_and(|before| (0..within).contains(&now.since(*before)))
    }

    /// A server responds to a request of this kind.
    pub(in crate::diagnose) fn responds(
        &mut self,
        to: &Message,
        event: &MessageEvent<'_>,
        most: usize,
    ) {
        let [server, client] = event.ends();
        self.latest.insert(([client, server], to.name), event.payload().time, most);
    }
}

/// Responses of one kind, as far as their size matters.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct Sizes {
    /// Bytes in the largest packet.
    pub(in crate::diagnose) largest: u64,
    pub(in crate::diagnose) responses: u64,
    /// How many were followed by the same request at once, and the first such requests.
    pub(in crate::diagnose) again: u64,
    pub(in crate::diagnose) frames: Vec<u64>,
}

impl Sizes {
    /// One more came, in so many packets.
    pub(in crate::diagnose) fn see(&mut self, event: &MessageEvent<'_>, packets: usize) {
        // Of several packets, one has as much as all have on average; of fragments, all but the last one are full.
        let average = event.length().div_ceil(packets.max(1) as u64);
        let largest = event.payload().pieces.iter().map(|piece| piece.length.into()).max();
        self.largest = self.largest.max(average).max(largest.unwrap_or(0));
        self.responses += 1;
    }

    /// It was asked for again at once.
    pub(in crate::diagnose) fn again(&mut self, frame: u64) {
        self.again += 1;
        if self.frames.len() < 3 {
            self.frames.push(frame);
        }
    }
}
