//! A capture as an iterator over record batches.

use std::collections::VecDeque;
use std::io;

use arrow_array::RecordBatch;

use super::{Batches, Collector, SelectedRows, Table};
use crate::capture::{Event, Notice, Packets};
use crate::check::Outcome;
use crate::session::{Decoder, Options, Totals};

/// Reads a capture, and yields the rows of its tables in batches of bounded size; those of several tables
/// take turns.
///
/// ```no_run
/// use gamewire::tables::{Reader, SelectedRows, Table};
/// use gamewire::{Options, capture};
///
/// let options = Options::default();
/// let wanted = SelectedRows::of(&[Table::Messages], &options);
/// let packets = capture::open("a.pcap".as_ref())?;
/// for batch in Reader::new(packets, &["a.pcap".to_owned()], options, wanted) {
///     let (table, batch) = batch?;
///     println!("{}: {} rows", table.name(), batch.num_rows());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader {
    packets: Box<dyn Packets + Send>,
    /// `None`: the capture has ended, and all rows were made.
    decoder: Option<Decoder>,
    collector: Collector,
    batches: Batches,
    notices: VecDeque<Notice>,
    totals: Totals,
    outcome: Option<Outcome>,
}

/// Maximum number of unread warnings about the recording.
const NOTICES: usize = 1 << 10;

impl Reader {
    /// For a capture of these files. `wanted` determines what is decoded, regardless of the
    /// options.
    pub fn new(
        packets: Box<dyn Packets + Send>,
        files: &[String],
        options: Options,
        wanted: SelectedRows,
    ) -> Reader {
        let (needs, complete) = (wanted.needs(), wanted.complete);
        let severities = wanted.selection.severities.clone();
        let filter = wanted.filter.clone().filter(|_| !wanted.checks());
        let mut decoder = Decoder::new(Options { needs, complete, severities, filter, ..options });
        if let Some(capture) = packets.in_memory() {
            decoder.lend(capture);
        }
        let mut collector = Collector::new(wanted);
        collector.begin(files);
        Reader {
            packets,
            decoder: Some(decoder),
            collector,
            batches: Batches::default(),
            notices: VecDeque::new(),
            totals: Totals::default(),
            outcome: None,
        }
    }

    /// The notices about the recording since the last call: at most the first thousand.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.drain(..).collect()
    }

    /// The totals, once all batches were read; and the outcome, if it was checked.
    pub fn into_outcome(self) -> (Totals, Option<Outcome>) {
        (self.totals, self.outcome)
    }

    /// Reads on until a batch is full, or the capture is over.
    fn read(&mut self) -> io::Result<Option<(Table, RecordBatch)>> {
        loop {
            if let Some(full) = self.batches.next_full() {
                return Ok(Some(full));
            }
            let Some(decoder) = &mut self.decoder else { return Ok(None) };
            let goes_on = match self.packets.next() {
                Some(Event::Packet(packet)) => {
                    decoder.push(&packet);
                    true
                }
                Some(Event::Notice(notice)) => {
                    decoder.notice(&notice);
                    if notice.is_warning() && self.notices.len() < NOTICES {
                        self.notices.push_back(notice);
                    }
                    true
                }
                None => decoder.finish(),
            };
            let mut events = decoder.events();
            while let Some(event) = events.next() {
                self.collector.event(&event, &mut self.batches)?;
            }
            drop(events);
            if !goes_on {
                let mut totals = self.decoder.take().map(Decoder::into_totals).unwrap_or_default();
                self.outcome = self.collector.end(&mut totals, &mut self.batches)?;
                self.totals = totals;
                self.batches.finish()?;
            }
        }
    }
}

impl Iterator for Reader {
    type Item = io::Result<(Table, RecordBatch)>;

    fn next(&mut self) -> Option<io::Result<(Table, RecordBatch)>> {
        self.read().transpose()
    }
}
