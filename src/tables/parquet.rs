//! Writes record batches to Parquet files.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::{Kind, Table};

/// Rows of a row group at most.
const ROWS: usize = 1 << 17;

/// Bytes of a page at most, where there is memory for it.
const PAGE: usize = 1 << 20;

/// Writes the record batches of each table to a separate output: Snappy, in row groups of bounded
/// size.
pub struct Parquet<W: Write + Send> {
    writers: [Option<ArrowWriter<W>>; Table::EVERY.len()],
}

impl<W: Write + Send> Parquet<W> {
    /// For these tables; batches of others are ignored. A row group is held in memory, and takes
    /// about this many bytes.
    ///
    /// # Errors
    /// Those of the outputs.
    pub fn new(
        outputs: impl IntoIterator<Item = (Table, W)>,
        bytes: usize,
    ) -> io::Result<Parquet<W>> {
        let mut writers = [const { None }; Table::EVERY.len()];
        for (table, output) in outputs {
            let properties = properties(table, bytes);
            let writer = ArrowWriter::try_new(output, table.schema(), Some(properties));
            writers[table as usize] = Some(writer.map_err(failed)?);
        }
        Ok(Parquet { writers })
    }

    /// The next rows of a table.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, table: Table, batch: &RecordBatch) -> io::Result<()> {
        match &mut self.writers[table as usize] {
            Some(writer) => writer.write(batch).map_err(failed),
            None => Ok(()),
        }
    }

    /// There are no more rows. Returns the outputs.
    ///
    /// # Errors
    /// Those of the outputs.
    pub fn finish(self) -> io::Result<Vec<(Table, W)>> {
        let writers = Table::EVERY.into_iter().zip(self.writers);
        let writers = writers.filter_map(|(table, writer)| Some((table, writer?)));
        writers.map(|(table, writer)| Ok((table, writer.into_inner().map_err(failed)?))).collect()
    }
}

fn properties(table: Table, bytes: usize) -> WriterProperties {
    let page = (bytes / 64).clamp(1 << 12, PAGE);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("gamewire ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_max_row_group_row_count(Some(ROWS))
        .set_max_row_group_bytes(Some(bytes))
        .set_data_page_size_limit(page)
        .set_dictionary_page_size_limit(page);
    // Times and numbers of packets are increasing and distinct: delta encoding is smaller than a
    // dictionary.
    for heading in table.columns() {
        let rises = heading.kind == Kind::Time || heading.name.ends_with("frame");
        if rises {
            let column = ColumnPath::from(heading.name);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
