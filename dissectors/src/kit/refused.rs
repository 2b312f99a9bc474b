//! Packets that did not arrive, according to ICMP errors.

/// The latest packets of a flow that drew an ICMP error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused([u64; Refused::MOST]);

impl Refused {
    /// Maximum number of packets.
    pub const MOST: usize = 8;

    /// This packet did not arrive.
    pub fn insert(&mut self, frame: u64) {
        if !self.has(frame) {
            self.0.rotate_right(1);
            self.0[0] = frame;
        }
    }

    /// Whether this packet did not arrive.
    pub fn has(&self, frame: u64) -> bool {
        frame > 0 && self.0.contains(&frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered() {
        let mut refused = Refused::default();
        assert!(!refused.has(0));
        for frame in [1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9] {
            refused.insert(frame);
        }
        assert_eq!([0, 1, 2, 9].map(|frame| refused.has(frame)), [false, false, true, true]);
    }
}
