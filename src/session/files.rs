//! Which of merged files a packet is from.

/// Changes from one file to another that are remembered.
pub(super) const MOST: usize = 1 << 20;

/// Where the packets of each file begin among those of all: what is reported of packets later, too,
/// is reported with its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The first packet of a row, and its file, wherever that is another than before.
    rows: Vec<(u64, u32)>,
    latest: u32,
    /// The first packet whose file is not remembered.
    end: Option<u64>,
}

impl Files {
    /// The next packet is from this file. Says whether it is the first that is not remembered.
    #[inline]
    pub(super) fn go_on(&mut self, frame: u64, file: u32) -> bool {
        file != self.latest && self.change(frame, file)
    }

    fn change(&mut self, frame: u64, file: u32) -> bool {
        if self.end.is_some() {
            return false;
        }
        if self.rows.len() >= MOST {
            self.end = Some(frame);
            return true;
        }
        self.latest = file;
        self.rows.push((frame, file));
        false
    }

    /// The file that a packet is from, counted from 0; `None` if that is not remembered.
    pub fn of(&self, frame: u64) -> Option<u32> {
        if self.end.is_some_and(|end| frame >= end) {
            return None;
        }
        let after = self.rows.partition_point(|&(first, _)| first <= frame);
        Some(after.checked_sub(1).and_then(|at| self.rows.get(at)).map_or(0, |&(_, file)| file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_has_its_file() {
        let of = [0, 0, 1, 1, 2, 0, 0, 2];
        let mut files = Files::default();
        assert!((1..).zip(of).all(|(frame, file)| !files.go_on(frame, file)));
        assert_eq!(Vec::from_iter((1..=8).map(|frame| files.of(frame))), of.map(Some));
        assert_eq!((files.of(0), files.of(99)), (Some(0), Some(2)));
        assert_eq!(Files::default().of(7), Some(0));
    }

    #[test]
    fn after_too_many_changes_no_file_is_named() {
        let mut files = Files::default();
        let first = MOST as u64 + 2;
        let ends = (1..first + 9).filter(|&frame| files.go_on(frame, 1 - frame as u32 % 2));
        assert_eq!(Vec::from_iter(ends), [first]);
        assert_eq!((files.of(first - 1), files.of(first)), (Some(0), None));
        assert_eq!((files.of(8), files.of(u64::MAX)), (Some(1), None));
    }
}
