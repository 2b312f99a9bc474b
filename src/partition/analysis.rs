//! What is said between the hosts of one partition, analysed.

use std::sync::Arc;

use dissectors::kit::Time;

use super::Broken;
use super::plan::Plan;
use super::row::{Kind, Row, Run};
use crate::capture::Notice;
use crate::session::{Decoder, Event, Heard, Options, Part, Parting, Partition, Totals};

/// Bytes that a part of the events holds at most, but for its last message.
const FULL: usize = 1 << 18;

/// Packets after which a part is closed, whatever is in it.
const PACKETS: u64 = 1 << 14;

/// Reads the rows of a partition in their order, and reports what their messages come to.
pub struct Analysis {
    plan: Arc<Plan>,
    decoder: Decoder,
    partition: Partition,
    /// From which packets on packets are from which file.
    runs: Vec<Run>,
}

impl Analysis {
    /// Of this partition; the options are the same for all.
    pub fn new(plan: Arc<Plan>, options: Options, partition: u32) -> Analysis {
        let partition = Partition { nth: partition as usize, of: plan.partitions };
        let decoder = Decoder::partition(options, partition);
        Analysis { plan, decoder, partition, runs: Vec::new() }
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// It says something that it cannot say.
    pub fn row(&mut self, row: &Row<'_>) -> Result<(), Broken> {
        match row.kind {
            Kind::Begins => {}
            Kind::Heard => self.decoder.heard(&row.said::<Heard>()?),
            Kind::Files => self.runs.extend(row.said::<Vec<Run>>()?),
            Kind::Packet => {
                let before = row.frame.checked_sub(1).ok_or(Broken)?;
                self.decoder.go_to(before, Time(row.time));
                self.decoder.push(&row.packet());
            }
            Kind::Notice => {
                let (now, notice) = row.said::<(Time, Notice)>()?;
                self.decoder.go_to(row.frame, now);
                self.decoder.notice(&notice);
            }
        }
        Ok(())
    }

    /// Takes note that the capture is over, with its last packet, whosever that is.
    pub fn end(&mut self) {
        let (packets, time, _) = self.plan.end();
        self.decoder.go_to(packets, time);
    }

    /// Hands over what was reported since the last time. Flows of different partitions have different numbers;
    /// they are others than those that one process gives.
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

    /// What was read and counted.
    pub(super) fn into_totals(self) -> Totals {
        self.decoder.into_totals()
    }

    /// After the end: ends the next of the flows that are open. `false`: there is nothing more.
    pub fn finish(&mut self) -> bool {
        self.decoder.finish()
    }
}

/// Some of what a partition reports, on its way to where all of it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// By which task it is to be read, of several that share the work; 0 where it is one.
    pub share: u32,
    /// Nothing in it is earlier than this; portions are to be read in this order.
    pub from: u64,
    /// Whose it is, and which of its portions, from 0.
    pub partition: u32,
    /// See [`Portion::partition`].
    pub number: u32,
    /// What it is.
    pub data: Vec<u8>,
}

/// What reads the rows of a partition and reports in portions what is to be put together with other partitions'.
pub trait Reports {
    /// Takes the next row. Hands over portions if there are any.
    ///
    /// # Errors
    /// As [`Analysis::row`].
    fn row(&mut self, row: &Row<'_>, each: &mut dyn FnMut(Portion)) -> Result<(), Broken>;

    /// The capture is over: hands over what is left.
    fn finish(self, each: &mut dyn FnMut(Portion));
}

/// What is in a portion: a sign, and that.
pub(super) mod content {
    use super::super::{Broken, from_bytes, to_bytes};
    use super::{Part, Run, Totals};

    /// Events follow, or the last ones, or what was counted.
    const EVENTS: u8 = 0;
    const LAST: u8 = 1;
    const TOTALS: u8 = 2;

    pub(super) fn of_events(part: &Part, is_last: bool) -> Vec<u8> {
        to_bytes(&(if is_last { LAST } else { EVENTS }, part))
    }

    /// Events, and whether they are the last ones.
    pub(in crate::partition) fn events(data: &[u8]) -> Result<(Part, bool), Broken> {
        let (sign, part) = from_bytes::<(u8, Part)>(data)?;
        Ok((part, sign == LAST))
    }

    pub(super) fn of_totals(totals: &Totals, runs: &[Run]) -> Vec<u8> {
        to_bytes(&(TOTALS, totals, runs))
    }

    /// What was counted, and from which packets on packets are from which file; `None`: these are events.
    pub(in crate::partition) fn totals(data: &[u8]) -> Option<(Totals, Vec<Run>)> {
        let sign = data.first()?;
        let (_, totals, runs) = (*sign == TOTALS).then(|| from_bytes::<(u8, _, _)>(data))?.ok()?;
        Some((totals, runs))
    }
}

/// Analyses a partition for what is judged of all.
pub struct Portions {
    analysis: Analysis,
    parting: Parting,
    partition: u32,
    number: u32,
    from: u64,
    packets: u64,
}

impl Portions {
    /// Of this partition; the options' needs are those of a [`Checker`](crate::check::Checker).
    pub fn new(plan: Arc<Plan>, options: Options, partition: u32) -> Portions {
        let analysis = Analysis::new(plan, options, partition);
        let (parting, number, from, packets) = (Parting::default(), 0, 0, 0);
        Portions { analysis, parting, partition, number, from, packets }
    }

    fn is_full(&mut self) -> bool {
        self.analysis.decoder.batch().size() >= FULL
    }

    fn portion(&mut self, is_last: bool) -> Portion {
        let part = self.parting.take(&mut self.analysis.decoder, Default::default());
        let through = part.through().rank();
        let data = content::of_events(&part, is_last);
        let Portions { from, partition, number, .. } = *self;
        let portion = Portion { share: 0, from, partition, number, data };
        (self.from, self.number) = (through, self.number + 1);
        portion
    }
}

impl Reports for Portions {
    fn row(&mut self, row: &Row<'_>, each: &mut dyn FnMut(Portion)) -> Result<(), Broken> {
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
        each(Portion { share: 0, from: u64::MAX >> 1, partition, number, data });
    }
}
