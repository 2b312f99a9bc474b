//! A capture as an iterator over record batches.

use std::io;

use arrow_array::RecordBatch;

use super::{Batches, Collector, SelectedRows, Table};
use crate::capture::{Notice, Packets};
use crate::check::Outcome;
use crate::session::{Decoder, Drive, Observer, Options, Totals};

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
    drive: Drive,
    rows: Rows,
    totals: Totals,
    outcome: Option<Outcome>,
}

/// The rows so far, and warnings about the recording.
struct Rows {
    collector: Collector,
    batches: Batches,
    notices: Vec<Notice>,
}

impl Observer for Rows {
    type Error = io::Error;

    fn notice(&mut self, _: &Decoder, notice: Notice) {
        if notice.is_warning() && self.notices.len() < NOTICES {
            self.notices.push(notice);
        }
    }

    fn events(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        decoder.each_event(|event| self.collector.event(event, &mut self.batches))
    }
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
        let filter = wanted.filter.clone().filter(|_| !wanted.needs_all());
        let mut decoder = Decoder::new(Options { needs, complete, severities, filter, ..options });
        if let Some(capture) = packets.in_memory() {
            decoder.lend(capture);
        }
        let mut collector = Collector::new(wanted);
        collector.begin(files);
        Reader {
            packets,
            decoder: Some(decoder),
            drive: Drive::default(),
            rows: Rows { collector, batches: Batches::default(), notices: Vec::new() },
            totals: Totals::default(),
            outcome: None,
        }
    }

    /// The notices about the recording since the last call: at most the first thousand.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.rows.notices)
    }

    /// The totals, once all batches were read; and the outcome, if it was checked.
    pub fn into_outcome(self) -> (Totals, Option<Outcome>) {
        (self.totals, self.outcome)
    }

    /// Reads on until a batch is full, or the capture is over.
    fn read(&mut self) -> io::Result<Option<(Table, RecordBatch)>> {
        loop {
            if let Some(full) = self.rows.batches.next_full() {
                return Ok(Some(full));
            }
            let Reader { packets, drive, rows, decoder, .. } = self;
            let Some(decoder) = decoder else { return Ok(None) };
            let goes_on = drive.step(&mut **packets, decoder, rows)?;
            if !goes_on {
                let mut totals = self.decoder.take().map(Decoder::into_totals).unwrap_or_default();
                let Rows { collector, batches, .. } = &mut self.rows;
                self.outcome = collector.end(&mut totals, batches)?;
                self.totals = totals;
                batches.finish()?;
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
