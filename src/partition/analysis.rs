//! Analyses the traffic of one partition.

use std::sync::Arc;

use dissectors::kit::Time;

use super::BrokenBytes;
use super::plan::{Plan, PlanEnd};
use super::row::{FileRun, PartitionRow, RowKind};
use crate::capture::Notice;
use crate::session::{
    Decoder, Event, EventDivider, EventPart, Options, OtherHosts, Partition, Totals,
};

/// Maximum bytes of a part, without its last message.
const FULL: usize = 1 << 18;

/// Maximum number of packets of a part.
const PACKETS: u64 = 1 << 14;

/// Reads the rows of a partition in order, and reports events.
pub struct Analysis {
    plan: Arc<Plan>,
    decoder: Decoder,
    partition: Partition,
    /// The files of packets, as runs.
    runs: Vec<FileRun>,
}

impl Analysis {
    /// For this partition; the options are the same for all.
    pub fn new(plan: Arc<Plan>, options: Options, partition: u32) -> Analysis {
        let partition = Partition { nth: partition as usize, of: plan.partitions };
        let decoder = Decoder::partition(options, partition);
        Analysis { plan, decoder, partition, runs: Vec::new() }
    }

    /// Reads the next row.
    ///
    /// # Errors
    /// It is invalid.
    pub fn row(&mut self, row: &PartitionRow<'_>) -> Result<(), BrokenBytes> {
        match row.kind {
            RowKind::Begins => {}
            RowKind::Heard => self.decoder.heard(&row.content::<OtherHosts>()?),
            RowKind::Files => self.runs.extend(row.content::<Vec<FileRun>>()?),
            RowKind::Packet => {
                let before = row.frame.checked_sub(1).ok_or(BrokenBytes)?;
                self.decoder.go_to(before, Time(row.time));
                self.decoder.push(&row.packet());
            }
            RowKind::Notice => {
                let (now, notice) = row.content::<(Time, Notice)>()?;
                self.decoder.go_to(row.frame, now);
                self.decoder.notice(&notice);
            }
        }
        Ok(())
    }

    /// The capture has ended: moves to the last packet of all partitions.
    pub fn end(&mut self) {
        let PlanEnd { packets, time, .. } = self.plan.end();
        self.decoder.go_to(packets, time);
    }

    /// Passes on the events since the last call. Flow numbers differ between partitions, and from
    /// those of a single process.
    pub fn events<E>(
        &mut self,
        each: &mut dyn FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Partition { nth, of } = self.partition;
        let number = |own: u32| match own.checked_sub(1) {
            Some(own) => own.saturating_mul(of as u32).saturating_add(nth as u32 + 1),
            None => 0,
        };
        self.decoder.take_begun();
        let batch = self.decoder.batch();
        for at in 0..batch.len() {
            batch.renumber(at, number);
            if let Some(event) = batch.event(at) {
                each(&event)?;
            }
        }
        batch.clear();
        Ok(())
    }

    /// The totals.
    pub(super) fn into_totals(self) -> Totals {
        self.decoder.into_totals()
    }

    /// After the end: ends the next open flow. `false`: there are no more.
    pub fn finish(&mut self) -> bool {
        self.decoder.finish()
    }
}

/// A part of the results of a partition, to be merged with those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The task that reads it, if several share the work; otherwise 0.
    pub task: u32,
    /// The earliest position in it; portions are read in this order.
    pub from: u64,
    /// Its partition, and its number in that, from 0.
    pub partition: u32,
    /// See [`Portion::partition`].
    pub number: u32,
    /// The contents.
    pub data: Vec<u8>,
}

/// Reads the rows of a partition and reports portions, to be merged with those of other partitions.
pub trait Reports {
    /// Reads the next row. Passes on portions, if any.
    ///
    /// # Errors
    /// As for [`Analysis::row`].
    fn row(
        &mut self,
        row: &PartitionRow<'_>,
        each: &mut dyn FnMut(Portion),
    ) -> Result<(), BrokenBytes>;

    /// The capture has ended: passes on the remaining portions.
    fn finish(self, each: &mut dyn FnMut(Portion));
}

/// The contents of a portion: a tag, and data.
pub(super) mod content {
    use super::super::{BrokenBytes, from_bytes, to_bytes};
    use super::{EventPart, FileRun, Totals};

    /// Events, or the last events, or totals.
    const EVENTS: u8 = 0;
    const LAST: u8 = 1;
    const TOTALS: u8 = 2;

    pub(super) fn of_events(part: &EventPart, is_last: bool) -> Vec<u8> {
        to_bytes(&(if is_last { LAST } else { EVENTS }, part))
    }

    /// The events, and whether they are the last ones.
    pub(in crate::partition) fn events(data: &[u8]) -> Result<(EventPart, bool), BrokenBytes> {
        let (sign, part) = from_bytes::<(u8, EventPart)>(data)?;
        Ok((part, sign == LAST))
    }

    pub(super) fn of_totals(totals: &Totals, runs: &[FileRun]) -> Vec<u8> {
        to_bytes(&(TOTALS, totals, runs))
    }

    /// The totals, and the files of packets as runs; `None`: these are events.
    pub(in crate::partition) fn totals(data: &[u8]) -> Option<(Totals, Vec<FileRun>)> {
        let sign = data.first()?;
        let (_, totals, runs) = (*sign == TOTALS).then(|| from_bytes::<(u8, _, _)>(data))?.ok()?;
        Some((totals, runs))
    }
}

/// Analyses a partition for the verdict on all of them.
pub struct Portions {
    analysis: Analysis,
    divider: EventDivider,
    partition: u32,
    number: u32,
    from: u64,
    packets: u64,
}

impl Portions {
    /// For this partition; the options' needs must be those of a
    /// [`Checker`](crate::check::Checker).
    pub fn new(plan: Arc<Plan>, options: Options, partition: u32) -> Portions {
        let analysis = Analysis::new(plan, options, partition);
        let (divider, number, from, packets) = (EventDivider::default(), 0, 0, 0);
        Portions { analysis, divider, partition, number, from, packets }
    }

    fn is_full(&mut self) -> bool {
        self.analysis.decoder.batch().size() >= FULL
    }

    fn portion(&mut self, is_last: bool) -> Portion {
        let part = self.divider.take(&mut self.analysis.decoder, Default::default());
        let through = part.through().rank();
        let data = content::of_events(&part, is_last);
        let Portions { from, partition, number, .. } = *self;
        let portion = Portion { task: 0, from, partition, number, data };
        (self.from, self.number) = (through, self.number + 1);
        portion
    }
}

impl Reports for Portions {
    fn row(
        &mut self,
        row: &PartitionRow<'_>,
        each: &mut dyn FnMut(Portion),
    ) -> Result<(), BrokenBytes> {
        self.analysis.row(row)?;
        self.packets += 1;
        if self.packets.is_multiple_of(PACKETS) || self.is_full() {
            each(self.portion(false));
        }
        Ok(())
    }

    fn finish(mut self, each: &mut dyn FnMut(Portion)) {
        self.analysis.end();
        while self.analysis.finish() {
            if self.is_full() {
                each(self.portion(false));
            }
        }
        each(self.portion(true));
        let Portions { analysis, partition, number, .. } = self;
        let data = content::of_totals(&analysis.decoder.into_totals(), &analysis.runs);
        each(Portion { task: 0, from: u64::MAX >> 1, partition, number, data });
    }
}
