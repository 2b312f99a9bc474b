//! Parquet files, written by a separate thread: encoding and compressing rows takes about as long
//! as producing them.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;

use super::FileSink;
use crate::output_file::OutputFile;
use crate::tables::{AnyRow, Batches, Parquet, Sink, Table};

/// Maximum number of batches that wait to be written.
const WAITING: usize = 4;

type TableBatch = (Table, RecordBatch);

/// The files, once all batches were written.
type Written = io::Result<Vec<(Table, OutputFile)>>;

/// Hands batches of rows to a thread that writes them.
pub(super) struct Thread {
    batches: Batches,
    sender: SyncSender<TableBatch>,
    /// `None`: it has ended.
    writer: Option<JoinHandle<Written>>,
}

impl Thread {
    /// For these files, in row groups of about this many bytes.
    pub(super) fn new(files: Vec<(Table, OutputFile)>, row_group: usize) -> io::Result<Thread> {
        let parquet = Parquet::new(files, row_group)?;
        let (sender, receiver) = sync_channel(WAITING);
        let writer = std::thread::Builder::new().spawn(|| write(parquet, receiver))?;
        // The waiting batches, and those of all tables that are being filled, are in memory
        // together with a row group.
        Ok(Thread { batches: Batches::of(row_group / 8), sender, writer: Some(writer) })
    }

    /// Sends full batches.
    fn send(&mut self) -> io::Result<()> {
        while let Some(batch) = self.batches.next_full() {
            if self.sender.send(batch).is_err() {
                return self.join().and(Err(io::ErrorKind::Other.into()));
            }
        }
        Ok(())
    }

    /// The result of writing.
    fn join(&mut self) -> Written {
        let Some(writer) = self.writer.take() else { return Ok(Vec::new()) };
        // The thread ends when the sender is dropped.
        self.sender = sync_channel(0).0;
        writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn write(mut parquet: Parquet<OutputFile>, batches: Receiver<TableBatch>) -> Written {
    for (table, batch) in batches {
        parquet.write(table, &batch)?;
    }
    parquet.finish()
}

impl Sink for Thread {
    fn row(&mut self, capture: &str, row: &dyn AnyRow<'_>) -> io::Result<()> {
        self.batches.row(capture, row)?;
        self.send()
    }
}

impl Drop for Thread {
    /// The writer must have released the files before incomplete ones are removed.
    fn drop(&mut self) {
        let _ = self.join();
    }
}

impl FileSink for Thread {
    fn finish(mut self: Box<Self>) -> io::Result<Vec<OutputFile>> {
        self.batches.finish()?;
        self.send()?;
        Ok(self.join()?.into_iter().map(|(_, file)| file).collect())
    }
}
