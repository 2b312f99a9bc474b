//! Which of merged files a packet is from.

/// Changes from one file to another that are remembered.
const MOST: usize = 1 << 20;

/// Where the packets of each file begin among those of all: what packets are told of later, too, is
/// told with its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The first packet of a row, and its file, wherever that is another than before.
    rows: Vec<(u64, u32)>,
    latest: u32,
}

impl Files {
    /// The next packet is from this file.
    #[inline]
    pub(super) fn go_on(&mut self, frame: u64, file: u32) {
        if file != self.latest && self.rows.len() < MOST {
            self.latest = file;
            self.rows.push((frame, file));
        }
    }

    /// The file that a packet is from, counted from 0.
    pub fn of(&self, frame: u64) -> u32 {
        let behind = self.rows.partition_point(|&(first, _)| first <= frame);
        behind.checked_sub(1).and_then(|at| self.rows.get(at)).map_or(0, |&(_, file)| file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_has_its_file() {
        let of = [0, 0, 1, 1, 2, 0, 0, 2];
        let mut files = Files::default();
        (1..).zip(of).for_each(|(frame, file)| files.go_on(frame, file));
        assert_eq!(Vec::from_iter((1..=8).map(|frame| files.of(frame))), of);
        assert_eq!((files.of(0), files.of(99)), (0, 2));
        assert_eq!(Files::default().of(7), 0);
    }
}
