//! Packets of responses that are not whole yet, and which of them belong together. It knows no
//! rules.

use super::decode::Header;
use crate::kit::{Budget, Buffer, Limits, Mark, PartSpan, Payload, Piece, Side, Time};

/// Bytes that the packets of one timestamp may have: ten times what any known server sends.
const MOST: usize = 256 << 10;

/// Packets with one timestamp: of one response, or, where the request was repeated, of up to as
/// many as were asked for. No packet tells which of these it belongs to.
pub(super) struct Unfinished {
    pub(super) timestamp: u32,
    pub(super) side: Side,
    /// The packets as they came.
    pub(super) packets: Buffer,
    /// Their 'numPackets' bytes: the index, and in the high bit whether it is the last.
    numbers: Vec<u8>,
    /// When they are given up.
    pub(super) deadline: Time,
    /// Their request is in the capture: no packet of them can have come before.
    pub(super) asked: bool,
    /// One of them is a copy of another, or of a packet of a response before.
    pub(super) has_copy: bool,
}

/// What a packet of a response is to the packets before it.
pub(super) enum PartResult {
    /// Kept.
    Kept,
    /// Kept, and nothing is missing now.
    Whole(Unfinished),
    /// One that is there already.
    Copy,
    /// Another one with an index that is there already.
    Repeated,
    /// The last bit is on packet `last`, and another packet has a higher index.
    LastMisplaced { highest: u8, last: u8 },
    /// There is no room for it.
    Full,
}

/// Packets by the response they belong to, named by the place at which they came.
pub(super) struct Divided {
    /// Whole responses as they were completed, the packets of each by their index.
    pub(super) answers: Vec<Vec<usize>>,
    /// What belongs to none of these.
    pub(super) left: Vec<usize>,
}

/// How many packets there are of each index, and how many of these have the last bit.
struct Tally([(usize, usize); 128]);

impl Tally {
    fn of(numbers: impl Iterator<Item = u8>) -> Tally {
        let mut tally = [(0, 0); 128];
        for number in numbers {
            let (all, last) = &mut tally[usize::from(number & 0x7F)];
            *all += 1;
            *last += usize::from(is_last(number));
        }
        Tally(tally)
    }

    /// Of how many responses these are at least: none has an index twice, or one after its last.
    fn answers(&self) -> usize {
        let (mut least, mut ended) = (0, 0);
        for &(all, last) in &self.0 {
            if all > 0 {
                least = least.max(ended + all);
            }
            ended += last;
        }
        least
    }

    /// Whether these are whole responses and nothing else.
    fn is_whole(&self) -> bool {
        let mut open: usize = self.0.iter().map(|(_, last)| last).sum();
        self.0.iter().all(|&(all, last)| {
            let is = all == open;
            open = open.saturating_sub(last);
            is
        })
    }
}

const fn is_last(number: u8) -> bool {
    number & 0x80 != 0
}

impl Unfinished {
    pub(super) fn new(
        timestamp: u32,
        payload: &Payload<'_>,
        timeout: i64,
        asked: bool,
    ) -> Unfinished {
        Unfinished {
            timestamp,
            side: payload.side,
            packets: Buffer::default(),
            numbers: Vec::new(),
            deadline: Time(payload.time.0.saturating_add(timeout)),
            asked,
            has_copy: false,
        }
    }

    /// One packet more, of one of at most `most` answers.
    pub(super) fn add(
        &mut self,
        header: Header,
        payload: &Payload<'_>,
        most: usize,
        limits: &Limits,
        budget: &mut Budget,
    ) -> PartResult {
        let number = header.index | u8::from(header.last) << 7;
        if Tally::of(self.numbers.iter().copied().chain([number])).answers() > most {
            return self.contradicts(header, payload.bytes);
        }
        if !self.packets.keep(payload, limits.parts_bytes.min(MOST), budget) {
            return PartResult::Full;
        }
        self.numbers.push(number);
        PartResult::Kept
    }

    /// Why a packet is of no response that is owed.
    fn contradicts(&self, header: Header, bytes: &[u8]) -> PartResult {
        let mut same = self.with(|number| number & 0x7F == header.index).peekable();
        if same.peek().is_some() {
            let copy = same.any(|at| self.bytes(at) == bytes);
            return if copy { PartResult::Copy } else { PartResult::Repeated };
        }
        let highest = self.indices().max().unwrap_or_default().max(header.index);
        PartResult::LastMisplaced { highest, last: self.last().unwrap_or(header.index) }
    }

    /// Whether one of them is byte for byte this one.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        (0..self.count()).any(|at| self.bytes(at) == bytes)
    }

    /// Whether a packet with this index is there.
    pub(super) fn has_index(&self, index: u8) -> bool {
        self.indices().any(|other| other == index)
    }

    /// Nothing is missing.
    pub(super) fn is_whole(&self) -> bool {
        Tally::of(self.numbers.iter().copied()).is_whole()
    }

    /// Whether packets of several responses are there that are not copies of each other: then only
    /// the order in which they came tells which belong together.
    pub(super) fn is_mixed(&self) -> bool {
        let numbers = || self.numbers.iter().copied();
        let own = |&(at, _): &(usize, u8)| !self.same(at).any(|other| other < at);
        Tally::of(numbers()).answers() > 1
            && Tally::of(numbers().enumerate().filter(own).map(|(_, number)| number)).answers() > 1
    }

    /// Puts together what belongs together. If all of it is there, the first packets of each index
    /// are the first response's. Otherwise a packet that is missing more likely belongs to a
    /// response that another was sent after: the latest packets are one response's.
    pub(super) fn divide(&self) -> Divided {
        let mut free = vec![Vec::new(); 1 + usize::from(self.indices().max().unwrap_or_default())];
        let mut ends = Vec::new();
        let mut sort = |(at, &number): (usize, &u8)| match free.get_mut(usize::from(number)) {
            Some(same) if !is_last(number) => same.push(at),
            _ => ends.push(at),
        };
        // What is used first is put in last.
        match self.is_whole() {
            true => self.numbers.iter().enumerate().rev().for_each(&mut sort),
            false => self.numbers.iter().enumerate().for_each(&mut sort),
        }
        let (mut answers, mut left) = (Vec::new(), Vec::new());
        for end in ends.into_iter().rev() {
            let before = free.get_mut(..usize::from(self.index(end))).unwrap_or_default();
            if before.iter().any(Vec::is_empty) {
                left.push(end);
            } else {
                answers.push(before.iter_mut().filter_map(Vec::pop).chain([end]).collect());
            }
        }
        answers.sort_by_key(|answer: &Vec<usize>| answer.iter().max().copied());
        left.extend(free.into_iter().flatten());
        left.sort_unstable();
        Divided { answers, left }
    }

    /// Whether what is left at a place is a copy of another packet: in a response, or left before
    /// it.
    pub(super) fn is_copy(&self, at: usize, left: &[usize]) -> bool {
        self.same(at).any(|other| other < at || left.binary_search(&other).is_err())
    }

    /// The other packets that are byte for byte the one at a place.
    fn same(&self, at: usize) -> impl Iterator<Item = usize> {
        let (number, bytes) = (self.numbers.get(at).copied(), self.bytes(at));
        self.with(move |other| Some(other) == number)
            .filter(move |&other| other != at && self.bytes(other) == bytes)
    }

    fn with(&self, is: impl Fn(u8) -> bool) -> impl Iterator<Item = usize> {
        let numbers = self.numbers.iter().enumerate();
        numbers.filter(move |&(_, &number)| is(number)).map(|(at, _)| at)
    }

    fn indices(&self) -> impl Iterator<Item = u8> {
        self.numbers.iter().map(|number| number & 0x7F)
    }

    /// The index of the first packet with the last bit.
    fn last(&self) -> Option<u8> {
        let last = self.numbers.iter().find(|&&number| is_last(number));
        last.map(|number| number & 0x7F)
    }

    /// The index of the packet at a place.
    pub(super) fn index(&self, at: usize) -> u8 {
        self.numbers.get(at).copied().unwrap_or_default() & 0x7F
    }

    /// Whether the packet at a place has the last bit.
    pub(super) fn ends(&self, at: usize) -> bool {
        self.numbers.get(at).copied().is_some_and(is_last)
    }

    /// How many packets there are.
    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The packet at a place.
    pub(super) fn part(&self, at: usize) -> Option<&PartSpan> {
        self.packets.parts().get(at)
    }

    /// Its bytes.
    pub(super) fn bytes(&self, at: usize) -> &[u8] {
        self.part(at).map_or(&[], |part| self.packets.bytes_of(part))
    }

    /// Where they were recorded.
    pub(super) fn pieces(&self, at: usize) -> Vec<Piece> {
        self.part(at).map_or_else(Vec::new, |part| self.packets.pieces_of(part))
    }

    /// The packet at a place, for what is said of it later.
    pub(super) fn mark(&self, at: usize) -> Option<Mark> {
        let &PartSpan { frame, time, .. } = self.part(at)?;
        Some(Mark { frame, time, length: self.bytes(at).len() as u32, side: self.side })
    }

    /// Bytes of memory beside the packets.
    pub(super) fn held(&self) -> usize {
        crate::kit::room(&self.numbers)
    }
}
