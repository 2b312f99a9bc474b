//! Finds the file of a packet among merged files, and its number in that file.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Limit: changes from one file to another in `--merge` | {} | NET011; findings after that name no file, and rows of
/// `export` name no file for packets before the latest {} changes
pub(in crate::session) const MOST_FILES: usize = 1 << 20;

/// A packet by its file and number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct FilePlace {
    /// The file, counted from 0.
    pub file: u32,
    /// The packet's number in it, counted from 1.
    pub frame: u64,
}

/// The following packets are from another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEvent {
    /// The first of them, by its number in the capture.
    pub frame: u64,
    /// Where that is.
    pub place: FilePlace,
}

impl FileEvent {
    /// The position of a packet, if no other change comes before it.
    fn place(self, frame: u64) -> FilePlace {
        let after = frame.saturating_sub(self.frame);
        FilePlace { frame: self.place.frame.saturating_add(after), ..self.place }
    }
}

/// Where each file's packets begin among all packets, so that later events about them can name the
/// file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// The changes from one file to another.
    changes: VecDeque<FileEvent>,
    latest: Option<FileEvent>,
    /// The first packet whose file is not stored.
    end: Option<u64>,
    /// The last packet whose file is not stored any more because of too many changes.
    forgotten: u64,
}

/// The effect of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Change {
    /// It is from the same file as the previous one.
    None,
    /// It is from another one.
    File(FileEvent),
    /// The same, and it is the first whose file is not stored.
    End(FileEvent),
}

impl Files {
    /// The next packet is from this file, with this number in it; 0: its number in the capture.
    #[inline]
    pub(in crate::session) fn go_on(&mut self, frame: u64, file: u32, number: u64) -> Change {
        let place = FilePlace { file, frame: if number == 0 { frame } else { number } };
        let expected =
            self.latest.map_or(FilePlace { file: 0, frame }, |latest| latest.place(frame));
        if place == expected { Change::None } else { self.change(FileEvent { frame, place }) }
    }

    fn change(&mut self, event: FileEvent) -> Change {
        self.latest = Some(event);
        if self.end.is_some() {
            return Change::File(event);
        }
        if self.changes.len() >= MOST_FILES {
            self.end = Some(event.frame);
            return Change::End(event);
        }
        self.changes.push_back(event);
        Change::File(event)
    }

    /// Stores a reported change; if there are too many, the latest are kept.
    pub fn note(&mut self, event: FileEvent) {
        if self.changes.len() >= MOST_FILES {
            self.changes.pop_front();
            self.forgotten = self.changes.front().map_or(event.frame, |it| it.frame) - 1;
        }
        self.changes.push_back(event);
    }

    /// The file of a packet, counted from 0; `None` if it is not stored.
    pub fn of(&self, frame: u64) -> Option<u32> {
        self.place(frame).map(|place| place.file)
    }

    /// The position of a packet, by its number in the capture; `None` if it is not stored.
    pub fn place(&self, frame: u64) -> Option<FilePlace> {
        if self.end.is_some_and(|end| frame >= end) || frame <= self.forgotten && frame > 0 {
            return None;
        }
        let after = self.changes.partition_point(|change| change.frame <= frame);
        let change = after.checked_sub(1).and_then(|at| self.changes.get(at));
        Some(change.map_or(FilePlace { file: 0, frame }, |change| change.place(frame)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(frame: u64, file: u32) -> FileEvent {
        FileEvent { frame, place: FilePlace { file, frame: 1 } }
    }

    #[test]
    fn each_packet_has_its_file_and_its_number_there() {
        let of = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (0, 3), (0, 4), (2, 2)];
        let mut files = Files::default();
        let changed = (1..).zip(of).map(|(frame, (file, number))| files.go_on(frame, file, number));
        let changed: Vec<_> = changed.map(|change| change != Change::None).collect();
        assert_eq!(changed, [false, false, true, false, true, true, false, true]);
        let place = |(file, frame)| Some(FilePlace { file, frame });
        assert_eq!(Vec::from_iter((1..=8).map(|frame| files.place(frame))), of.map(place));
        assert_eq!((files.of(0), files.of(99)), (Some(0), Some(2)));
        assert_eq!(Files::default().place(7), place((0, 7)));
    }

    #[test]
    fn without_numbers_of_their_own_packets_have_that_of_the_capture() {
        let mut files = Files::default();
        assert!((1..9).all(|frame| files.go_on(frame, 0, 0) == Change::None));
        assert_eq!(files.place(5), Some(FilePlace { file: 0, frame: 5 }));
    }

    #[test]
    fn after_too_many_changes_no_file_is_named() {
        let mut files = Files::default();
        let first = MOST_FILES as u64 + 2;
        let ends = (1..first + 9).filter(|&frame| {
            matches!(files.go_on(frame, 1 - frame as u32 % 2, frame), Change::End(_))
        });
        assert_eq!(Vec::from_iter(ends), [first]);
        assert_eq!((files.of(first - 1), files.of(first)), (Some(0), None));
        assert_eq!((files.of(8), files.of(u64::MAX)), (Some(1), None));
    }

    #[test]
    fn of_changes_that_are_reported_the_latest_are_remembered() {
        let mut files = Files::default();
        (1..=MOST_FILES as u64 + 3).for_each(|nth| files.note(changes(nth * 10, nth as u32)));
        assert_eq!((files.of(39), files.of(40)), (None, Some(4)));
        assert_eq!(files.of(MOST_FILES as u64 * 10 + 35), Some(MOST_FILES as u32 + 3));
    }
}
