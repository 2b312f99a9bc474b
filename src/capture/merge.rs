//! Several captures as one, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Event, Packets};

/// Captures side by side; the one whose event is next is in front. Where times are equal, the order
/// of the files counts. A capture whose own clock goes backwards keeps its own order.
pub(super) struct Merge {
    captures: Vec<Box<dyn Packets + Send>>,
    waiting: BinaryHeap<Reverse<(i64, usize)>>,
    front: Option<(usize, i64)>,
    begun: bool,
}

impl Merge {
    pub(super) fn new(captures: Vec<Box<dyn Packets + Send>>) -> Merge {
        Merge { captures, waiting: BinaryHeap::new(), front: None, begun: false }
    }

    /// Lets a capture go on; a time before its last one counts as that one.
    fn go_on(&mut self, at: usize, last: i64) {
        if let Some(time) = self.captures.get_mut(at).and_then(|capture| capture.advance()) {
            self.waiting.push(Reverse((time.max(last), at)));
        }
    }
}

impl Packets for Merge {
    fn advance(&mut self) -> Option<i64> {
        if !self.begun {
            self.begun = true;
            for at in 0..self.captures.len() {
                self.go_on(at, i64::MIN);
            }
        } else if let Some((at, time)) = self.front.take() {
            self.go_on(at, time);
        }
        let Reverse((time, at)) = self.waiting.pop()?;
        self.front = Some((at, time));
        Some(time)
    }

    fn current(&self) -> Event<'_> {
        let at = self.front.map_or(0, |(at, _)| at);
        self.captures[at].current()
    }

    fn fork(&self) -> Option<Box<dyn Packets + Send>> {
        let captures = self.captures.iter().map(|capture| capture.fork());
        Some(Box::new(Merge::new(captures.collect::<Option<_>>()?)))
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let progress = self.captures.iter().map(|capture| capture.progress());
        progress.sum::<Option<Sum>>().map(|Sum(done, total)| (done, total))
    }
}

/// Progress of several captures added up.
struct Sum(u64, u64);

impl std::iter::Sum<(u64, u64)> for Sum {
    fn sum<I: Iterator<Item = (u64, u64)>>(each: I) -> Sum {
        each.fold(Sum(0, 0), |sum, (done, total)| Sum(sum.0 + done, sum.1 + total))
    }
}
