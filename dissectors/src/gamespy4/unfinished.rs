//! Packets of incomplete responses, and how they are grouped into responses. It checks no rules.

use super::decode::Header;
use crate::kit::{Budget, Limits, Mark, PartSpan, Payload, Piece, Unfinished};

/// Ten times the largest response of known servers.
/// Limit: bytes of one GameSpy 4 response's packets | {:bytes}, if `parts-bytes` is not less | NET011 as `parts-bytes`
const MOST: usize = 256 << 10;

/// Packets with one timestamp, which is their ID: of one response, or, if the request was repeated, of
/// several. A packet does not show which of these it belongs to.
pub(super) type IncompleteResponses = Unfinished<PacketNumbers>;

/// The numbers of the packets.
#[derive(Default)]
pub(super) struct PacketNumbers {
    /// Their 'numPackets' bytes: the index, and in the high bit whether it is the last.
    numbers: Vec<u8>,
    /// One of them is a copy of another, or of a packet of an earlier response.
    pub(super) has_copy: bool,
}

impl PacketNumbers {
    /// Memory in bytes.
    pub(super) fn held(&self) -> usize {
        crate::kit::room(&self.numbers)
    }
}

/// How a packet of a response relates to the earlier ones.
pub(super) enum PartResult {
    /// Kept.
    Kept,
    /// Kept, and the response is complete.
    Whole(Box<IncompleteResponses>),
    /// A copy of a stored one.
    Copy,
    /// A different one with a stored index.
    Repeated,
    /// The last bit is on packet `last`, and another packet has a higher index.
    LastMisplaced { highest: u8, last: u8 },
    /// There is no room for it.
    Full,
}

/// Packets by the response they belong to, as indices in the order of arrival.
pub(super) struct PacketsByResponse {
    /// Whole responses in the order of completion, the packets of each by their index.
    pub(super) responses: Vec<Vec<usize>>,
    /// Packets that belong to none of these.
    pub(super) left: Vec<usize>,
}

/// The number of packets of each index, and how many of these have the last bit.
struct IndexCount([(usize, usize); 128]);

impl IndexCount {
    fn of(numbers: impl Iterator<Item = u8>) -> IndexCount {
        let mut tally = [(0, 0); 128];
        for number in numbers {
            let (all, last) = &mut tally[usize::from(number & 0x7F)];
            *all += 1;
            *last += usize::from(is_last(number));
        }
        IndexCount(tally)
    }

    /// The minimum number of responses: none has an index twice, or one after its last.
    fn responses(&self) -> usize {
        let (mut least, mut ended) = (0, 0);
        for &(all, last) in &self.0 {
            if all > 0 {
                least = least.max(ended + all);
            }
            ended += last;
        }
        least
    }

    /// Whether these form whole responses only.
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

impl IncompleteResponses {
    /// Adds a packet of one of at most `most` responses.
    pub(super) fn add(
        &mut self,
        header: Header,
        payload: &Payload<'_>,
        most: usize,
        limits: &Limits,
        budget: &mut Budget,
    ) -> PartResult {
        let number = header.index | u8::from(header.last) << 7;
        if IndexCount::of(self.more.numbers.iter().copied().chain([number])).responses() > most {
            return self.contradicts(header, payload.bytes);
        }
        if !self.buffer.keep(payload, limits.parts_bytes.min(MOST), budget) {
            return PartResult::Full;
        }
        self.more.numbers.push(number);
        PartResult::Kept
    }

    /// Why a packet belongs to no response that is due.
    fn contradicts(&self, header: Header, bytes: &[u8]) -> PartResult {
        let mut same = self.with(|number| number & 0x7F == header.index).peekable();
        if same.peek().is_some() {
            let copy = same.any(|at| self.bytes(at) == bytes);
            return if copy { PartResult::Copy } else { PartResult::Repeated };
        }
        let highest = self.indices().max().unwrap_or_default().max(header.index);
        PartResult::LastMisplaced { highest, last: self.last().unwrap_or(header.index) }
    }

    /// Whether one of them is identical.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        self.each().any(|other| other == bytes)
    }

    /// Whether a packet with this index is there.
    pub(super) fn has_index(&self, index: u8) -> bool {
        self.indices().any(|other| other == index)
    }

    /// Whether it is complete.
    pub(super) fn is_whole(&self) -> bool {
        IndexCount::of(self.more.numbers.iter().copied()).is_whole()
    }

    /// Whether there are packets of several responses that are not copies of each other: then only
    /// the order of arrival shows which belong together.
    pub(super) fn is_mixed(&self) -> bool {
        let numbers = || self.more.numbers.iter().copied();
        let own = |&(at, _): &(usize, u8)| !self.same(at).any(|other| other < at);
        IndexCount::of(numbers()).responses() > 1
            && IndexCount::of(numbers().enumerate().filter(own).map(|(_, number)| number))
                .responses()
                > 1
    }

    /// Groups the packets. If all have arrived, the first packets of each index form the first
    /// response. Otherwise, a missing packet more likely belongs to an earlier response: the latest
    /// packets form one response.
    pub(super) fn divide(&self) -> PacketsByResponse {
        let mut free = vec![Vec::new(); 1 + usize::from(self.indices().max().unwrap_or_default())];
        let mut ends = Vec::new();
        let mut sort = |(at, &number): (usize, &u8)| match free.get_mut(usize::from(number)) {
            Some(same) if !is_last(number) => same.push(at),
            _ => ends.push(at),
        };
        // The elements used first are pushed last.
        match self.is_whole() {
            true => self.more.numbers.iter().enumerate().rev().for_each(&mut sort),
            false => self.more.numbers.iter().enumerate().for_each(&mut sort),
        }
        let (mut responses, mut left) = (Vec::new(), Vec::new());
        for end in ends.into_iter().rev() {
            let before = free.get_mut(..usize::from(self.index(end))).unwrap_or_default();
            if before.iter().any(Vec::is_empty) {
                left.push(end);
            } else {
                responses.push(before.iter_mut().filter_map(Vec::pop).chain([end]).collect());
            }
        }
        responses.sort_by_key(|response: &Vec<usize>| response.iter().max().copied());
        left.extend(free.into_iter().flatten());
        left.sort_unstable();
        PacketsByResponse { responses, left }
    }

    /// Whether the remaining packet at an index is a copy of another one: in a response, or
    /// remaining before it.
    pub(super) fn is_copy(&self, at: usize, left: &[usize]) -> bool {
        self.same(at).any(|other| other < at || left.binary_search(&other).is_err())
    }

    /// The other packets that are identical to the one at an index.
    fn same(&self, at: usize) -> impl Iterator<Item = usize> {
        let (number, bytes) = (self.more.numbers.get(at).copied(), self.bytes(at));
        self.with(move |other| Some(other) == number)
            .filter(move |&other| other != at && self.bytes(other) == bytes)
    }

    fn with(&self, is: impl Fn(u8) -> bool) -> impl Iterator<Item = usize> {
        let numbers = self.more.numbers.iter().enumerate();
        numbers.filter(move |&(_, &number)| is(number)).map(|(at, _)| at)
    }

    fn indices(&self) -> impl Iterator<Item = u8> {
        self.more.numbers.iter().map(|number| number & 0x7F)
    }

    /// The index of the first packet with the last bit.
    fn last(&self) -> Option<u8> {
        let last = self.more.numbers.iter().find(|&&number| is_last(number));
        last.map(|number| number & 0x7F)
    }

    /// The index of the packet at a place.
    pub(super) fn index(&self, at: usize) -> u8 {
        self.more.numbers.get(at).copied().unwrap_or_default() & 0x7F
    }

    /// Whether the packet at a place has the last bit.
    pub(super) fn ends(&self, at: usize) -> bool {
        self.more.numbers.get(at).copied().is_some_and(is_last)
    }

    /// How many packets there are.
    pub(super) fn count(&self) -> usize {
        self.more.numbers.len()
    }

    /// The packet at a place.
    pub(super) fn part(&self, at: usize) -> Option<&PartSpan> {
        self.parts().get(at)
    }

    /// Its bytes.
    pub(super) fn bytes(&self, at: usize) -> &[u8] {
        self.part(at).map_or(&[], |part| self.bytes_of(part))
    }

    /// Where they were recorded.
    pub(super) fn pieces(&self, at: usize) -> Vec<Piece> {
        self.part(at).map_or_else(Vec::new, |part| self.buffer.pieces_of(part))
    }

    /// The mark of the packet at an index, for later.
    pub(super) fn mark(&self, at: usize) -> Option<Mark> {
        let &PartSpan { frame, time, .. } = self.part(at)?;
        Some(Mark { frame, time, length: self.bytes(at).len() as u32, side: self.side })
    }
}
