//! Parquet files, written by a thread of their own: to encode and compress rows takes about as long as to
//! make them.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;

use super::FileSink;
use crate::commands::outputs::Whole;
use crate::tables::{Batches, Parquet, Row, Sink, Table};

/// Batches that wait to be written at most.
const WAITING: usize = 4;

type Batch = (Table, RecordBatch);

/// The files, once all batches were written.
type Written = io::Result<Vec<(Table, Whole)>>;

/// Hands batches of rows to a thread that writes them.
pub(super) struct Thread {
    batches: Batches,
    sender: SyncSender<Batch>,
    /// `None`: it has ended.
    writer: Option<JoinHandle<Written>>,
}

impl Thread {
    /// For these files, in row groups of about this many bytes.
    pub(super) fn new(files: Vec<(Table, Whole)>, row_group: usize) -> io::Result<Thread> {
        let parquet = Parquet::new(files, row_group)?;
        let (sender, receiver) = sync_channel(WAITING);
        let writer = std::thread::Builder::new().spawn(|| write(parquet, receiver))?;
        // As many as wait, and those of all tables that take rows, are held beside a row group.
        Ok(Thread { batches: Batches::of(row_group / 8), sender, writer: Some(writer) })
    }

    /// Hands over what is full.
    fn send(&mut self) -> io::Result<()> {
        while let Some(batch) = self.batches.next_full() {
            if self.sender.send(batch).is_err() {
                return self.join().and(Err(io::ErrorKind::Other.into()));
            }
        }
        Ok(())
    }

    /// What became of the writing.
    fn join(&mut self) -> Written {
        let Some(writer) = self.writer.take() else { return Ok(Vec::new()) };
        // It ends when nobody can send any more.
        self.sender = sync_channel(0).0;
        writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn write(mut parquet: Parquet<Whole>, batches: Receiver<Batch>) -> Written {
    for (table, batch) in batches {
        parquet.write(table, &batch)?;
    }
    parquet.finish()
}

impl Sink for Thread {
    fn row(&mut self, table: Table, row: &dyn Row) -> io::Result<()> {
        self.batches.row(table, row)?;
        self.send()
    }
}

impl Drop for Thread {
    /// Nothing is left of files that are not complete: the writer must have let go of them.
    fn drop(&mut self) {
        let _ = self.join();
    }
}

impl FileSink for Thread {
    fn finish(mut self: Box<Self>) -> io::Result<Vec<Whole>> {
        self.batches.finish()?;
        self.send()?;
        Ok(self.join()?.into_iter().map(|(_, file)| file).collect())
    }
}
