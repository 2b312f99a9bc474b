//! The tables of servers, masters and clients: merges the rows of all partitions.

use std::convert::Infallible;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::analysis::{Analysis, Portion, Reports};
use super::bytes::{BrokenBytes, from_bytes, to_bytes};
use super::plan::Plan;
use super::row::PartitionRow;
use crate::filter::Filter;
use crate::session::{Options, Totals};
use crate::summary::{Changes, NameChanges, Summary};

/// Maximum number of messages with servers' names in a portion.
const NAMED: usize = 1 << 16;

/// What is in a portion.
#[derive(Serialize, Deserialize)]
enum Content {
    /// Messages with servers' names.
    Names(NameChanges),
    /// Rows that are added up, and totals.
    Rows(Box<Summary>, Option<Box<Totals>>),
}

/// Analyses a partition for the tables of servers, masters and clients. The rows are divided by
/// host among tasks, each of which is [merged](put_together) separately.
pub struct Summaries {
    analysis: Analysis,
    summary: Summary,
    filter: Option<Filter>,
    tasks: u32,
    partition: u32,
    number: u32,
}

impl Summaries {
    /// For this partition; the options' needs must be those of a summary. Only messages that this
    /// filter selects count. Tables take at most this many bytes of memory.
    pub fn new(
        plan: Arc<Plan>,
        options: Options,
        filter: Option<Filter>,
        bytes: usize,
        [partition, tasks]: [u32; 2],
    ) -> Summaries {
        Summaries {
            analysis: Analysis::new(plan, options, partition),
            summary: Summary::of_partition(bytes, filter.is_some()),
            filter,
            tasks,
            partition,
            number: 0,
        }
    }

    fn read(&mut self, each: &mut dyn FnMut(Portion)) {
        let Summaries { analysis, summary, filter, .. } = self;
        let Ok(()) = analysis.events(&mut |event| {
            summary.event(event, event.is_wanted(filter.as_ref()));
            Ok::<(), Infallible>(())
        });
        if self.summary.names() >= NAMED {
            self.names(each);
        }
    }

    /// Passes on the messages with servers' names.
    fn names(&mut self, each: &mut dyn FnMut(Portion)) {
        let names = self.summary.take_names().split(self.tasks as usize);
        for (task, names) in (0..).zip(names).filter(|(_, names)| !names.is_empty()) {
            let (partition, number) = (self.partition, self.number);
            let from = names.from();
            let data = to_bytes(&Content::Names(names));
            each(Portion { task, from, partition, number, data });
            self.number += 1;
        }
    }
}

impl Reports for Summaries {
    fn row(
        &mut self,
        row: &PartitionRow<'_>,
        each: &mut dyn FnMut(Portion),
    ) -> Result<(), BrokenBytes> {
        self.analysis.row(row)?;
        self.read(each);
        Ok(())
    }

    fn finish(mut self, each: &mut dyn FnMut(Portion)) {
        self.analysis.end();
        while self.analysis.finish() {
            self.read(each);
        }
        self.names(each);
        let Summaries { analysis, summary, tasks, partition, number, .. } = self;
        let mut totals = Some(Box::new(analysis.into_totals()));
        for (task, summary) in (0..).zip(summary.split(tasks as usize)) {
            // Totals are reported once.
            let data = to_bytes(&Content::Rows(Box::new(summary), totals.take()));
            each(Portion { task, from: u64::MAX >> 1, partition, number, data });
        }
    }
}

/// Merges the servers, masters and clients of one task, of all partitions: its portions, in the order of
/// [`Portion::from`]. Tables take at most this many bytes of memory. Returns the totals, too, with
/// the first task; packets of other traffic are not counted by port.
///
/// # Errors
/// A portion is invalid in this version, or missing.
pub fn put_together(
    plan: &Plan,
    bytes: usize,
    portions: &mut dyn Iterator<Item = Portion>,
) -> Result<(Summary, Option<Totals>), BrokenBytes> {
    let mut all = Summary::new(bytes, false);
    let mut changes = Changes::of(&all);
    let (mut totals, mut counted, mut from) = (None::<Totals>, 0, 0);
    for portion in portions {
        if portion.from < from {
            return Err(BrokenBytes);
        }
        from = portion.from;
        match from_bytes(&portion.data)? {
            Content::Names(names) => changes.add(&names),
            Content::Rows(summary, read) => {
                all.merge(*summary);
                counted += 1;
                match (&mut totals, read) {
                    (Some(all), Some(read)) => all.add_share(*read),
                    (_, read) => totals = totals.take().or(read.map(|read| *read)),
                }
            }
        }
    }
    if counted != plan.partitions {
        return Err(BrokenBytes);
    }
    changes.finish(&mut all);
    all.join_ports();
    totals.iter_mut().for_each(|totals| plan.complete(totals));
    Ok((all, totals))
}
