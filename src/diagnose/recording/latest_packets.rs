//! What is known of the latest packets.

use dissectors::kit::RecentMap;

/// Values by the numbers of packets: between `most` and twice as many. Nearly all come in the order of their numbers, and
/// those that are looked for came just before: lists have these together, where a map would spread them.
pub(in crate::diagnose) struct LatestPackets<V> {
    young: Packets<V>,
    old: Packets<V>,
    /// Those that came after later ones, such as bytes of a stream that waited for a packet before them.
    late: RecentMap<u64, V>,
}

/// Packets in order. The numbers are apart, where searching them takes little memory.
struct Packets<V> {
    numbers: Vec<u64>,
    values: Vec<V>,
}

impl<V> Default for LatestPackets<V> {
    fn default() -> LatestPackets<V> {
        let [young, old] = [(); 2].map(|()| Packets { numbers: Vec::new(), values: Vec::new() });
        LatestPackets { young, old, late: RecentMap::default() }
    }
}

impl<V> LatestPackets<V> {
    /// Replaces the value of a packet; after more than `most` new ones the oldest are forgotten.
    pub(in crate::diagnose) fn insert(&mut self, frame: u64, value: V, most: usize) {
        let LatestPackets { young, old, .. } = self;
        if let Some(known) = young.find(frame).or_else(|| old.find(frame)) {
            *known = value;
            return;
        }
        if self.young.numbers.last().is_some_and(|last| *last > frame) {
            return self.late.insert(frame, value, most);
        }
        if self.young.numbers.len() >= most.max(1) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.numbers.clear();
            self.young.values.clear();
        }
        self.young.numbers.push(frame);
        self.young.values.push(value);
    }

    /// The value of a packet.
    pub(in crate::diagnose) fn get_mut(&mut self, frame: u64, most: usize) -> Option<&mut V> {
        let LatestPackets { young, old, late } = self;
        young.find(frame).or_else(|| old.find(frame)).or_else(|| late.get_mut(&frame, most))
    }
}

impl<V> Packets<V> {
    fn find(&mut self, frame: u64) -> Option<&mut V> {
        let last = *self.numbers.last()?;
        // It is at most as many places before the last one as their numbers differ.
        let before = usize::try_from(last.checked_sub(frame)?).unwrap_or(usize::MAX);
        let first = self.numbers.len().saturating_sub(before).saturating_sub(1);
        let at = self.numbers.get(first..)?.binary_search(&frame).ok()?;
        self.values.get_mut(first + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_known_in_whatever_order_they_come() {
        let mut packets = LatestPackets::default();
        for frame in [3, 4, 9, 7, 20, 1] {
            packets.insert(frame, frame * 10, 8);
        }
        packets.insert(7, 71, 8);
        packets.insert(9, 91, 8);
        let known = [1, 2, 3, 4, 7, 9, 20, 21].map(|frame| packets.get_mut(frame, 8).copied());
        let all = [Some(10), None, Some(30), Some(40), Some(71), Some(91), Some(200), None];
        assert_eq!(known, all);
    }

    #[test]
    fn as_many_packets_are_known_as_there_may_be() {
        let mut packets = LatestPackets::default();
        for frame in 1..1000 {
            packets.insert(frame, frame, 100);
            let first = frame.saturating_sub(99).max(1);
            assert!((first..=frame).all(|it| packets.get_mut(it, 100) == Some(&mut it.clone())));
            assert!(packets.young.values.len() <= 100 && packets.old.values.len() <= 100);
        }
        assert_eq!(packets.get_mut(700, 100), None);
    }
}
