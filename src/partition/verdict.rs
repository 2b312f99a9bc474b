//! The verdict on the results of all partitions.

use std::collections::VecDeque;
use std::convert::Infallible;

use super::BrokenBytes;
use super::analysis::{Portion, content};
use super::plan::Plan;
use super::row::FileRun;
use crate::check::{Checker, Outcome};
use crate::session::{Event, EventPart, FileEvent, FilePlace, Files, Merge, PartMerge, Totals};

/// The outcome of a check over the portions of all partitions, and the totals of the capture. The order of
/// [`Portion::from`] needs the least memory; in other orders, portions are stored longer. `checker` must be
/// new.
///
/// # Errors
/// A portion is of another version, or one is missing.
pub fn verdict(
    plan: &Plan,
    mut checker: Checker,
    portions: &mut dyn Iterator<Item = Portion>,
) -> Result<(Outcome, Totals), BrokenBytes> {
    let mut arriving = PortionReader {
        portions,
        checker: &mut checker,
        waiting: vec![PendingPartition::default(); plan.partitions],
        totals: None,
        runs: Vec::new(),
        counted: 0,
        is_broken: false,
    };
    let Ok(()) = Merge::new(plan.partitions).run(&mut arriving);
    while arriving.pull().is_some() {}
    let PortionReader { totals, mut runs, counted, is_broken, .. } = arriving;
    let whole = totals.filter(|_| !is_broken && counted == plan.partitions);
    let mut totals = whole.ok_or(BrokenBytes)?;
    plan.complete(&mut totals);
    runs.sort_unstable();
    let mut files = Files::default();
    for (frame, file, number) in runs {
        files.note(FileEvent { frame, place: FilePlace { file, frame: number } });
    }
    totals.files = files;
    Ok((checker.outcome(plan.names(), &mut totals), totals))
}

/// The unread portions of a partition.
#[derive(Clone, Default)]
struct PendingPartition {
    portions: VecDeque<Vec<u8>>,
    /// There are no more events.
    is_over: bool,
}

/// Reads portions, and passes on their events.
struct PortionReader<'p> {
    portions: &'p mut dyn Iterator<Item = Portion>,
    checker: &'p mut Checker,
    waiting: Vec<PendingPartition>,
    totals: Option<Totals>,
    runs: Vec<FileRun>,
    /// Number of partitions whose totals have been read.
    counted: usize,
    is_broken: bool,
}

impl PortionReader<'_> {
    /// Reads another portion. `None` at the end.
    fn pull(&mut self) -> Option<()> {
        let Portion { partition, data, .. } = self.portions.next()?;
        // Totals are not events, so no reader waits for them.
        if let Some((totals, runs)) = content::totals(&data) {
            match &mut self.totals {
                Some(all) => all.add_share(totals),
                None => self.totals = Some(totals),
            }
            self.runs.extend(runs);
            self.counted += 1;
        } else if let Some(waiting) = self.waiting.get_mut(partition as usize) {
            waiting.portions.push_back(data);
        } else {
            self.is_broken = true;
        }
        Some(())
    }
}

impl PartMerge for PortionReader<'_> {
    type Error = Infallible;

    fn next(&mut self, nth: usize) -> Option<EventPart> {
        loop {
            let waiting = self.waiting.get_mut(nth)?;
            if waiting.is_over || self.is_broken {
                return None;
            }
            if let Some(data) = waiting.portions.pop_front() {
                let Ok((part, is_last)) = content::events(&data) else {
                    self.is_broken = true;
                    return None;
                };
                waiting.is_over = is_last;
                return Some(part);
            }
            if self.pull().is_none() {
                self.is_broken = true;
                return None;
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Infallible> {
        self.checker.event(event);
        Ok(())
    }
}
