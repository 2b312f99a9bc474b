//! Pairs of sockets between which other packets come than those of supported protocols, such as a player's and a game
//! server's: what looks like a message there is none, unless its bytes are certain.

use foldhash::fast::FixedState;

use crate::flows::FlowKey;

/// Number of pairs that are known. A new one replaces another.
const PLACES: usize = 1 << 8;

/// So many packets each way are no accident.
const MANY: u8 = 8;

/// Determines the places: the same in every run.
const SAME: FixedState = FixedState::with_seed(0x6F74_6865_7200);

/// The latest pairs. Memory is allocated for the first one.
#[derive(Default)]
pub(super) struct BusyPairs {
    pairs: Box<[Pair]>,
}

/// A pair.
#[derive(Clone, Copy, Default)]
struct Pair {
    /// A hash of both ends.
    hash: u64,
    /// Packets of the lower address and port, and of the other one, up to a maximum.
    packets: [u8; 2],
}

impl BusyPairs {
    /// A packet that belongs to no supported protocol.
    #[inline]
    pub(super) fn see(&mut self, key: &FlowKey) {
        if self.pairs.is_empty() {
            self.pairs = vec![Pair::default(); PLACES].into();
        }
        let hash = key.hash(&SAME);
        let Some(pair) = self.pairs.get_mut(hash as usize % PLACES) else { return };
        if pair.hash != hash {
            *pair = Pair { hash, packets: [0; 2] };
        }
        let count = &mut pair.packets[usize::from(key.from() > key.to())];
        *count = count.saturating_add(1).min(MANY);
    }

    /// Whether many such packets came before, each way.
    pub(super) fn is_between(&self, key: &FlowKey) -> bool {
        let hash = key.hash(&SAME);
        let pair = self.pairs.get(hash as usize % PLACES).filter(|pair| pair.hash == hash);
        pair.is_some_and(|pair| pair.packets == [MANY; 2])
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use dissectors::kit::Transport;

    use super::*;

    #[test]
    fn packets_in_one_direction_are_not_enough() {
        let key = FlowKey {
            source: Ipv4Addr::new(10, 0, 0, 1).into(),
            destination: Ipv4Addr::new(10, 0, 0, 2).into(),
            ports: [27_005, 27_010],
            transport: Transport::Udp,
        };
        let mut other = BusyPairs::default();
        for _ in 0..1000 {
            other.see(&key);
        }
        assert!(!other.is_between(&key));
        for _ in 0..MANY {
            assert!(!other.is_between(&key.reversed()));
            other.see(&key.reversed());
        }
        assert!(other.is_between(&key) && other.is_between(&key.reversed()));
        let another = FlowKey { ports: [27_006, 27_010], ..key };
        assert!(!other.is_between(&another));
    }
}
