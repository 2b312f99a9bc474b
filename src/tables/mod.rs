//! The contents of captures as tables: messages, flows, findings, servers and verdicts.
//!
//! A table is a list of columns, each with its name, its kind, its meaning, and its value in a row.
//! A [`Collector`] makes rows from a session's events; a [`Sink`] takes them: lines of CSV and
//! JSON, or, with the feature `tables`, record batches of Arrow (`Batches`). `docs/tables.md` is
//! written from the columns.

#[cfg(feature = "tables")]
mod batches;
mod collect;
mod findings;
mod flows;
mod messages;
#[cfg(feature = "parquet")]
mod parquet;
mod places;
#[cfg(feature = "tables")]
mod reader;
mod servers;
#[cfg(feature = "cli")]
mod text;
mod verdicts;

use std::io;
use std::sync::Arc;

#[cfg(feature = "tables")]
pub use batches::Batches;
pub use collect::{Collector, SelectedRows, rows_of_findings, rows_of_servers};
#[cfg(feature = "parquet")]
pub use parquet::Parquet;
#[cfg(feature = "tables")]
pub use reader::Reader;
#[cfg(feature = "cli")]
pub use text::{Format, Lines};

/// The version of all tables: it changes when a column is removed or changes its meaning; not when
/// one is added.
pub const VERSION: u32 = 1;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// A row for each message.
    Messages,
    /// A row for each flow of a supported protocol.
    Flows,
    /// A row for each finding of `check`.
    Findings,
    /// A row for each game server.
    Servers,
    /// A row for each rule: its result for a capture.
    Verdicts,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 5] =
        [Table::Messages, Table::Flows, Table::Findings, Table::Servers, Table::Verdicts];

    /// Its name, and that of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Messages => "messages",
            Table::Flows => "flows",
            Table::Findings => "findings",
            Table::Servers => "servers",
            Table::Verdicts => "verdicts",
        }
    }

    /// That of this name.
    pub fn named(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// A sentence about its rows.
    pub const fn about(self) -> &'static str {
        match self {
            Table::Messages => "A row for each message, in the order of the capture.",
            Table::Flows => {
                "A row for each flow of a supported protocol, in the order in which they end."
            }
            Table::Findings => {
                "A row for each finding of `check`: the first 1,000 of each rule and verdict in a \
                 capture. `verdicts` counts all."
            }
            Table::Servers => {
                "A row for each game server, as in `summary`: every host that was queried, joined a master, \
                 sent heartbeats or registered. The first 4,096 of a capture, or more with more `--memory`."
            }
            Table::Verdicts => {
                "A row for each rule and capture: how often the rule passed and failed."
            }
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> Vec<Heading> {
        match self {
            Table::Messages => headings(&messages::COLUMNS),
            Table::Flows => headings(&flows::COLUMNS),
            Table::Findings => headings(&findings::COLUMNS),
            Table::Servers => headings(&servers::COLUMNS),
            Table::Verdicts => headings(&verdicts::COLUMNS),
        }
    }
}

/// A column, for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// Whether each row has a value here.
    pub always: bool,
    /// What it means.
    pub about: &'static str,
}

/// The kind of a column's values. Integers are signed, because several engines have no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// An object of JSON, as text.
    Json,
    /// A whole number of 64 bits.
    Integer,
    /// A floating-point number of 64 bits.
    Number,
    /// Nanoseconds since 1970, in UTC.
    Time,
    /// Whole numbers.
    Integers,
    /// Texts.
    Texts,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Json => "JSON",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Time => "time",
            Kind::Integers => "list of integers",
            Kind::Texts => "list of texts",
        }
    }
}

/// The value of a row in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'c> {
    /// Nothing.
    Absent,
    /// Text.
    Text(&'c str),
    /// An object of JSON.
    Json(&'c str),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Nanoseconds since 1970.
    Time(i64),
    /// Whole numbers.
    Integers(&'c [i64]),
    /// Texts.
    Texts(&'c [Arc<str>]),
}

impl<'c> Cell<'c> {
    fn text(text: &'c str) -> Cell<'c> {
        Cell::Text(text)
    }

    fn some_text(text: Option<&'c str>) -> Cell<'c> {
        text.filter(|text| !text.is_empty()).map_or(Cell::Absent, Cell::Text)
    }

    fn count(count: impl TryInto<i64>) -> Cell<'c> {
        Cell::Integer(count.try_into().unwrap_or(i64::MAX))
    }

    fn some_count<T: TryInto<i64>>(count: Option<T>) -> Cell<'c> {
        count.map_or(Cell::Absent, Cell::count)
    }

    /// Nanoseconds, as seconds.
    fn seconds(nanoseconds: Option<i64>) -> Cell<'c> {
        nanoseconds.map_or(Cell::Absent, |it| Cell::Number(it as f64 / 1e9))
    }

    /// One of the times of [`ResponseTimes::of_half_most_all`](crate::flows::ResponseTimes::of_half_most_all).
    fn response_time(times: Option<[u64; 3]>, nth: usize) -> Cell<'c> {
        let time = times.and_then(|times| times.get(nth).copied());
        Cell::seconds(time.map(|time| i64::try_from(time).unwrap_or(i64::MAX)))
    }
}

/// A row of some table.
pub trait TableRow {
    /// Its cells, in the order of the columns.
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>));
}

/// Takes the rows of all tables.
pub trait Sink {
    /// The next row of a table.
    ///
    /// # Errors
    /// It cannot be written.
    fn row(&mut self, table: Table, row: &dyn TableRow) -> io::Result<()>;
}

/// A column, and how a row of type `R` fills it.
struct TableColumn<R> {
    heading: Heading,
    cell: for<'r> fn(&'r R) -> Cell<'r>,
}

/// A column that every row fills.
const fn always<R>(
    name: &'static str,
    kind: Kind,
    about: &'static str,
    cell: for<'r> fn(&'r R) -> Cell<'r>,
) -> TableColumn<R> {
    TableColumn { heading: Heading { name, kind, always: true, about }, cell }
}

/// The first column of every table.
const fn capture<R>(cell: for<'r> fn(&'r R) -> Cell<'r>) -> TableColumn<R> {
    always(
        "capture",
        Kind::Text,
        "The name of the capture: its file, or the first of several merged files and the number of the others.",
        cell,
    )
}

/// A column that is empty in some rows.
const fn some<R>(
    name: &'static str,
    kind: Kind,
    about: &'static str,
    cell: for<'r> fn(&'r R) -> Cell<'r>,
) -> TableColumn<R> {
    TableColumn { heading: Heading { name, kind, always: false, about }, cell }
}

fn headings<R>(columns: &[TableColumn<R>]) -> Vec<Heading> {
    columns.iter().map(|column| column.heading).collect()
}

/// The cells of a row.
fn cells<R>(columns: &[TableColumn<R>], row: &R, each: &mut dyn FnMut(Cell<'_>)) {
    columns.iter().for_each(|column| each((column.cell)(row)));
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// The section of a table in the documentation.
    fn section(table: Table) -> String {
        let mut text = format!("## {}\n\n{}\n\n", table.name(), table.about());
        text += "| column | type | | meaning |\n|---|---|---|---|\n";
        for Heading { name, kind, always, about } in table.columns() {
            let (kind, empty) = (kind.name(), if always { "" } else { "may be empty" });
            let _ = writeln!(text, "| `{name}` | {kind} | {empty} | {about} |");
        }
        text
    }

    #[test]
    fn the_page_has_all_columns() {
        let page = include_str!("../../docs/tables.md");
        assert!(page.contains(&format!("version {VERSION}")), "the version");
        for table in Table::ALL {
            let section = section(table);
            assert!(page.contains(&section), "docs/tables.md lacks\n{section}");
        }
    }

    #[test]
    fn columns_have_names_of_their_own_and_end_their_sentences() {
        for table in Table::ALL {
            let columns = table.columns();
            for (at, column) in columns.iter().enumerate() {
                let others = columns.get(at + 1..).unwrap_or_default();
                assert!(others.iter().all(|other| other.name != column.name), "{}", column.name);
                assert!(column.about.ends_with('.'), "{}", column.name);
            }
        }
    }
}
