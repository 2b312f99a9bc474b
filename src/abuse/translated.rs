//! Datagrams that were recorded twice on their way to a server behind NAT, such as one in a container: outside with the
//! address that clients ask, and inside with the server's own.

use std::net::SocketAddr;

use dissectors::kit::{Map, Socket, TRANSLATED_ROUTERS, TRANSLATED_WITHIN, Time, is_private};

use crate::session::{DatagramEvent, DatagramHeaders};

/// Number of datagrams that are compared with later ones, by their identification. More do not come within that time.
const RECENT: usize = 1 << 10;

/// So many datagrams to both addresses are no accident.
const NO_ACCIDENT: u32 = 16;

/// Maximum number of addresses behind NAT.
const MOST: usize = 1 << 8;

/// The latest datagrams, and the addresses behind NAT.
#[derive(Default)]
pub(super) struct Translated {
    recent: Vec<Option<RecentDatagram>>,
    /// How many datagrams to such an address were recorded outside, too.
    inside: Map<Socket, u32>,
}

#[derive(Clone, Copy)]
struct RecentDatagram {
    time: Time,
    from: SocketAddr,
    to: SocketAddr,
    hop_limit: u8,
    identification: u16,
    /// A hash of its bytes.
    hash: u64,
}

impl RecentDatagram {
    /// Whether a later one is the same, behind NAT.
    fn is_before(&self, later: &RecentDatagram) -> bool {
        let key = |it: &RecentDatagram| (it.identification, it.hash, it.from);
        key(self) == key(later)
            && later.to.ip() != self.to.ip()
            && later.time.since(self.time) <= TRANSLATED_WITHIN
            && TRANSLATED_ROUTERS.contains(&self.hop_limit.wrapping_sub(later.hop_limit))
    }
}

impl Translated {
    /// Whether a datagram was recorded outside, too, and counts there.
    pub(super) fn is_inside(&mut self, event: &DatagramEvent<'_>) -> bool {
        let DatagramHeaders { time, from, to, hop_limit, hash, .. } = event.headers;
        // What the server sends leaves the inside first.
        if !self.inside.is_empty() && self.is_known(from) {
            return true;
        }
        // Many senders set 0.
        let Some(identification) = event.headers.identification.filter(|it| *it != 0) else {
            return false;
        };
        if self.recent.is_empty() {
            self.recent = vec![None; RECENT];
        }
        let datagram = RecentDatagram { time, from, to, hop_limit, identification, hash };
        let place = usize::from(identification) % RECENT;
        let Some(place) = self.recent.get_mut(place) else { return false };
        let is_same = |before: &RecentDatagram| before.is_before(&datagram);
        if !is_private(to.ip()) || !place.as_ref().is_some_and(is_same) {
            *place = Some(datagram);
            return false;
        }
        if self.inside.len() < MOST || self.inside.contains_key(&Socket(to)) {
            let times = self.inside.entry(Socket(to)).or_default();
            *times = times.saturating_add(1);
        }
        self.is_known(to)
    }

    fn is_known(&self, end: SocketAddr) -> bool {
        self.inside.get(&Socket(end)).is_some_and(|times| *times >= NO_ACCIDENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::LinkTags;

    fn datagram(nth: u16, from: [u8; 4], to: [u8; 4], hop_limit: u8) -> DatagramEvent<'static> {
        let headers = DatagramHeaders {
            time: Time(i64::from(nth) * 1_000_000),
            frame: 1,
            from: (from, 50_000).into(),
            to: (to, 27_015).into(),
            hop_limit,
            direction: Default::default(),
            tags: LinkTags::default(),
            identification: Some(nth + 1),
            length: 5,
            hash: 7,
            is_copy: false,
        };
        DatagramEvent { headers, bytes: b"query" }
    }

    const CLIENT: [u8; 4] = [84, 1, 2, 3];
    const OUTSIDE: [u8; 4] = [203, 0, 113, 7];
    const INSIDE: [u8; 4] = [172, 17, 0, 2];

    /// How many of 100 datagrams to the second address count at the first.
    fn count(second: [u8; 4], hop_limits: [u8; 2]) -> usize {
        let mut translated = Translated::default();
        let is_inside = (0..100).map(|nth| {
            assert!(!translated.is_inside(&datagram(nth, CLIENT, OUTSIDE, hop_limits[0])));
            translated.is_inside(&datagram(nth, CLIENT, second, hop_limits[1]))
        });
        is_inside.filter(|is_inside| *is_inside).count()
    }

    #[test]
    fn what_a_container_gets_was_recorded_before_it() {
        assert_eq!(count(INSIDE, [111, 110]), 85);
        assert_eq!(count(INSIDE, [111, 111]), 0, "sent to both");
        assert_eq!(count([203, 0, 113, 8], [111, 110]), 0, "another host of the Internet");
    }

    #[test]
    fn what_only_the_inside_gets_counts_there() {
        let mut translated = Translated::default();
        for nth in 0..100 {
            translated.is_inside(&datagram(nth, CLIENT, OUTSIDE, 111));
            translated.is_inside(&datagram(nth, CLIENT, INSIDE, 110));
        }
        assert!(!translated.is_inside(&datagram(200, CLIENT, INSIDE, 110)));
        let mut response = datagram(201, INSIDE, CLIENT, 64);
        response.headers.from.set_port(27_015);
        assert!(translated.is_inside(&response));
    }
}
