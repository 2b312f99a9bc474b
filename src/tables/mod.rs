//! The contents of captures as tables: messages, flows, findings, servers, masters, clients and verdicts.
//!
//! A [`Collector`] makes rows from a session's events; a [`Sink`] takes them: lines of CSV and
//! JSON, or, with the feature `tables`, record batches of Arrow (`Batches`). The columns are in `rows`.

#[cfg(feature = "tables")]
mod batches;
mod collect;
mod messages;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "tables")]
mod reader;
#[cfg(feature = "commands")]
mod text;

use std::io;

#[cfg(feature = "tables")]
pub use batches::Batches;
pub use collect::{Collector, SelectedRows, rows_of_findings, rows_of_summary};
#[cfg(feature = "parquet")]
pub use parquet::Parquet;
#[cfg(feature = "tables")]
pub use reader::Reader;
#[cfg(feature = "commands")]
pub use text::{Format, Lines};

pub use crate::rows::{AnyRow, Cell, Heading, Kind, Table, VERSION};

/// Takes the rows of all tables.
pub trait Sink {
    /// The next row of a table, of the capture with this name.
    ///
    /// # Errors
    /// It cannot be written.
    fn row(&mut self, capture: &str, row: &dyn AnyRow<'_>) -> io::Result<()>;
}
