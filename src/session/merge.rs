//! Merges the events of several decoders of one capture into the order of a single one.
//!
//! Decoders that share a capture run in threads or on other machines. Their events arrive in parts,
//! each in its own order; flows get the numbers that a single decoder would have assigned. Readers
//! of the merged events notice no difference.

use serde::{Deserialize, Serialize};

use super::{Batch, Decoder, Event, EventOrder};

/// Minimum number of newly numbered flows, or twice the open ones if more, between two reports of
/// the flows that are still needed. This limits the cost of the reports to a fraction of the
/// numbering.
const NUMBERED: usize = 1 << 12;

/// A part of the events of a decoder.
#[derive(Default, Serialize, Deserialize)]
pub struct EventPart {
    /// The events.
    pub events: Batch,
    /// The order of the flows that were numbered in it.
    pub(super) begun: Vec<EventOrder>,
    /// The flows that later parts may mention, besides later flows, if known.
    pub(super) needed: Option<Vec<u32>>,
    /// Later parts have no earlier events.
    pub(super) through: EventOrder,
}

/// Divides the events of a decoder into parts.
#[derive(Default)]
pub struct EventDivider {
    /// The number of flows at the last report of needed flows.
    numbered: u32,
}

impl EventDivider {
    /// The events since the last call; `empty` is a batch to use next.
    pub fn take(&mut self, decoder: &mut Decoder, empty: Batch) -> EventPart {
        EventPart {
            needed: self.needed(decoder),
            events: std::mem::replace(decoder.batch(), empty),
            begun: decoder.take_begun(),
            through: decoder.order(),
        }
    }

    /// Periodically, the flows that are still needed: in a long capture, most have ended.
    fn needed(&mut self, decoder: &Decoder) -> Option<Vec<u32>> {
        let numbered = decoder.flows();
        let since = (numbered - self.numbered) as usize;
        if since < NUMBERED + 2 * decoder.open_flows() {
            return None;
        }
        self.numbered = numbered;
        let mut needed = Vec::from_iter(decoder.open_numbers());
        needed.sort_unstable();
        Some(needed)
    }
}

impl EventPart {
    /// Later parts have no earlier events.
    pub fn through(&self) -> EventOrder {
        self.through
    }
}

/// The source of parts, and the receiver of their events.
pub trait PartMerge {
    /// Why the receiver failed.
    type Error;
    /// The next part of one of the decoders; `None` at the end.
    fn next(&mut self, nth: usize) -> Option<EventPart>;
    /// A part of this decoder has been read.
    fn done(&mut self, _nth: usize, _events: Batch) {}
    /// Receives the next event of all.
    ///
    /// # Errors
    /// The receiver failed: no more events follow.
    fn event(&mut self, event: &Event<'_>) -> Result<(), Self::Error>;
    /// There are no more events for now.
    ///
    /// # Errors
    /// As for [`PartMerge::event`].
    fn pause(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The unread parts of a decoder.
#[derive(Default)]
struct PartQueue {
    part: Option<EventPart>,
    /// Number of events of it that were read, and of beginnings of flows.
    event: usize,
    begun: usize,
    is_over: bool,
}

/// The next element of a queue.
#[derive(Clone, Copy)]
enum QueueHead {
    /// Unknown yet; it is not earlier than this.
    Unknown(EventOrder),
    Known(EventOrder),
}

impl QueueHead {
    fn moment(self) -> EventOrder {
        match self {
            QueueHead::Unknown(moment) | QueueHead::Known(moment) => moment,
        }
    }
}

/// Merges the events of all decoders.
pub struct Merge {
    /// The numbers of each decoder's flows in the whole capture.
    numbers: Vec<FlowNumbers>,
    given: u32,
    queues: Vec<PartQueue>,
}

impl Merge {
    /// For this many decoders.
    pub fn new(decoders: usize) -> Merge {
        let numbers = (0..decoders).map(|_| FlowNumbers::default()).collect();
        let queues = (0..decoders).map(|_| PartQueue::default()).collect();
        Merge { numbers, given: 0, queues }
    }

    /// Reads all parts, and passes on their events.
    ///
    /// # Errors
    /// Those of the parts.
    pub fn run<P: PartMerge>(&mut self, parts: &mut P) -> Result<(), P::Error> {
        loop {
            let heads = (0..self.queues.len()).filter_map(|nth| Some((self.head(nth)?, nth)));
            let Some((head, nth)) = heads.clone().min_by_key(|(head, _)| head.moment()) else {
                return Ok(());
            };
            match head {
                QueueHead::Unknown(_) => self.receive(nth, parts),
                QueueHead::Known(moment) => {
                    let others = heads.filter(|&(_, other)| other != nth);
                    let until = others.map(|(head, _)| head.moment()).min();
                    let until = until.map(|until| until.max(moment.next()));
                    self.hand_over(nth, until, parts)?;
                    parts.pause()?;
                }
            }
        }
    }

    /// The next element of a decoder, if it has not ended, in the order of the whole capture.
    fn head(&self, nth: usize) -> Option<QueueHead> {
        let queue = self.queues.get(nth).filter(|queue| !queue.is_over)?;
        let Some(part) = &queue.part else {
            return Some(QueueHead::Unknown(EventOrder::default()));
        };
        let numbers = self.numbers.get(nth)?;
        let whole = |moment: EventOrder| moment.renumbered(|local| numbers.whole(local));
        let event = part.events.order(queue.event);
        let next = event.into_iter().chain(part.begun.get(queue.begun).copied()).min();
        Some(match next {
            Some(moment) => QueueHead::Known(whole(moment)),
            None => QueueHead::Unknown(whole(part.through).next()),
        })
    }

    fn receive<P: PartMerge>(&mut self, nth: usize, parts: &mut P) {
        let Some(queue) = self.queues.get_mut(nth) else { return };
        (queue.event, queue.begun) = (0, 0);
        if let Some(mut read) = queue.part.take() {
            if let (Some(needed), Some(numbers)) = (read.needed, self.numbers.get_mut(nth)) {
                numbers.keep(&needed);
            }
            read.events.clear();
            parts.done(nth, read.events);
        }
        queue.part = parts.next(nth);
        queue.is_over = queue.part.is_none();
    }

    /// Passes on a decoder's events before this position; all events, if no other decoder has any.
    fn hand_over<P: PartMerge>(
        &mut self,
        nth: usize,
        until: Option<EventOrder>,
        parts: &mut P,
    ) -> Result<(), P::Error> {
        let Merge { numbers, given, queues } = self;
        let (Some(queue), Some(numbers)) = (queues.get_mut(nth), numbers.get_mut(nth)) else {
            return Ok(());
        };
        let Some(part) = &mut queue.part else { return Ok(()) };
        loop {
            let whole = |moment: EventOrder| moment.renumbered(|local| numbers.whole(local));
            let is_due = |moment: EventOrder| until.is_none_or(|until| whole(moment) < until);
            let order = part.events.order(queue.event);
            // A flow is numbered before its first event.
            if let Some(&begun) = part.begun.get(queue.begun)
                && order.is_none_or(|order| begun <= order)
            {
                if !is_due(begun) {
                    return Ok(());
                }
                *given = given.saturating_add(1);
                numbers.push(*given);
                queue.begun += 1;
            } else if order.is_some_and(is_due) {
                part.events.renumber(queue.event, |local| numbers.whole(local));
                if let Some(event) = part.events.event(queue.event) {
                    parts.event(&event)?;
                }
                queue.event += 1;
            } else {
                return Ok(());
            }
        }
    }
}

/// Maps a decoder's flow numbers to those in the whole capture, for flows that are still needed.
#[derive(Default)]
struct FlowNumbers {
    /// Stored pairs: own number, and that in the whole capture.
    kept: Vec<(u32, u32)>,
    /// The number before all others, which are consecutive.
    before: u32,
    latest: Vec<u32>,
}

impl FlowNumbers {
    /// The number of the decoder's next flow.
    fn push(&mut self, whole: u32) {
        self.latest.push(whole);
    }

    /// The number in the whole capture. A flow without a reported beginning sorts before all
    /// others: it has no events before that.
    fn whole(&self, own: u32) -> u32 {
        if own == 0 {
            return 0;
        }
        let whole = match own.checked_sub(self.before + 1) {
            Some(at) => self.latest.get(at as usize).copied(),
            None => {
                let at = self.kept.binary_search_by_key(&own, |&(own, _)| own).ok();
                at.and_then(|at| self.kept.get(at)).map(|&(_, whole)| whole)
            }
        };
        whole.unwrap_or(1)
    }

    /// Keeps only these flows, which are sorted.
    fn keep(&mut self, needed: &[u32]) {
        self.kept = needed.iter().map(|&own| (own, self.whole(own))).collect();
        self.before = self.before.saturating_add(self.latest.len() as u32);
        self.latest = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_known_as_long_as_they_are_needed() {
        let mut numbers = FlowNumbers::default();
        (1..=9).for_each(|own| numbers.push(own * 10));
        numbers.keep(&[0, 2, 5, 9]);
        (10..=12).for_each(|own| numbers.push(own * 10));
        let known = [0, 2, 5, 9, 10, 11, 12];
        assert_eq!(known.map(|own| numbers.whole(own)), known.map(|own| own * 10));
        numbers.keep(&[5, 11]);
        numbers.push(130);
        assert_eq!([5, 11, 13].map(|own| numbers.whole(own)), [50, 110, 130]);
        assert_eq!((numbers.kept.len(), numbers.latest.len()), (2, 1));
        assert_eq!(numbers.whole(14), 1, "it comes before all others");
    }
}
