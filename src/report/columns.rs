//! Messages as a table of chosen columns: for spreadsheets, for `cut` and `awk`, for scripts.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::filter::Column;
use crate::message::Value;
use crate::report::clock::TimeFormatter;
use crate::report::json::{Escaped, string};
use crate::report::paint::Paint;
use crate::report::spreadsheet::{csv_cell, tsv_text, unformulated};
use crate::report::text_table::{TextColumn, TextTable};
use crate::report::{Envelope, Report, put};
use crate::rows::Importance;
use crate::session::IcmpEvent;
use crate::text::{decoded, escaped};

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLayout {
    /// Comma-separated values, with a header line.
    Csv,
    /// Separated by tabs, with a header line.
    Tsv,
    /// In columns, for people.
    Table,
    /// A JSON object a line.
    Ndjson,
}

/// Number of lines that determine the widths of columns.
const FIRST: usize = 200;

/// The width that a column may be shortened to.
const SHORTEST: usize = 8;

/// A line for each message.
pub struct Columns {
    columns: Vec<Column>,
    layout: TableLayout,
    stamp: TimeFormatter,
    /// The capture's name, where there are several.
    capture: Option<String>,
    cells: Vec<String>,
    /// How lines are laid out, in a table for people.
    table: TextTable,
    /// The first lines of such a table, kept until the widths are known.
    first: Vec<Vec<String>>,
    laid_out: bool,
    headed: bool,
}

impl Columns {
    /// These columns; `headed`: the header was written before. On a terminal with as many columns as that,
    /// the texts of a table for people are shortened to fit.
    pub fn new(
        columns: Vec<Column>,
        layout: TableLayout,
        terminal: Option<usize>,
        stamp: TimeFormatter,
        capture: Option<String>,
        headed: bool,
    ) -> Columns {
        let names = columns.iter().map(Column::name).chain(capture.is_some().then_some("capture"));
        let table = names.map(|name| TextColumn {
            heading: name.to_ascii_uppercase(),
            is_number: false,
            // All columns were requested.
            importance: Importance::Essential,
            shortest: Some(SHORTEST),
        });
        let table = TextTable::new(table.collect(), terminal);
        let cells = vec![String::new(); columns.len()];
        let capture = capture.map(|name| from_wire(&name, layout).into_owned());
        let (first, laid_out) = (Vec::new(), layout != TableLayout::Table);
        Columns { columns, layout, stamp, capture, cells, table, first, laid_out, headed }
    }

    fn header(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.headed, true) || self.layout == TableLayout::Ndjson {
            return;
        }
        let names = self.columns.iter().map(Column::name);
        let names = names.chain(self.capture.is_some().then_some("capture"));
        if self.layout == TableLayout::Table {
            return self.table.header(Paint::new(false), out);
        }
        self.line(&Vec::from_iter(names.map(str::to_owned)), out);
    }

    fn line(&mut self, cells: &[String], out: &mut Vec<u8>) {
        match self.layout {
            TableLayout::Csv => {
                for (at, cell) in cells.iter().enumerate() {
                    out.extend_from_slice(if at > 0 { b"," } else { b"" });
                    csv_cell(cell, out);
                }
                out.extend_from_slice(b"\r\n");
            }
            TableLayout::Tsv => put(out, format_args!("{}\n", cells.join("\t"))),
            TableLayout::Table => {
                let cells = shown(cells);
                self.table.widen(&cells);
                self.table.row(&cells, out);
            }
            TableLayout::Ndjson => {}
        }
    }

    fn object(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.push(b'"');
            string(out, column.name().as_bytes());
            out.extend_from_slice(b"\":");
            let (start, mut count) = (out.len(), 0);
            let stamp = &mut self.stamp;
            column.values(&m.message, &mut |value| {
                if !matches!(value, Value::Presence) {
                    out.extend_from_slice(if count > 0 { b"," } else { b"" });
                    json(value, m.digits, stamp, out);
                    count += 1;
                }
            });
            if column.has_many() || count > 1 {
                out.insert(start, b'[');
                out.push(b']');
            } else if count == 0 {
                out.extend_from_slice(b"null");
            }
        }
        if let Some(capture) = &self.capture {
            out.extend_from_slice(b",\"capture\":\"");
            string(out, capture.as_bytes());
            out.push(b'"');
        }
        out.extend_from_slice(b"}\n");
    }
}

impl Report for Columns {
    fn message(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) -> usize {
        let (layout, time) = (self.layout, m.message.payload.time);
        if layout == TableLayout::Ndjson {
            self.object(m, out);
            self.stamp.seen(time);
            return out.len();
        }
        for (cell, column) in self.cells.iter_mut().zip(&self.columns) {
            cell.clear();
            let stamp = &mut self.stamp;
            column.values(&m.message, &mut |value| {
                if !matches!(value, Value::Presence) {
                    cell.push_str(if cell.is_empty() { "" } else { "," });
                    match value.as_text() {
                        Some(text) => cell.push_str(&from_wire(&readable(&text, layout), layout)),
                        None => text(value, m.digits, stamp, cell),
                    }
                }
            });
        }
        self.stamp.seen(time);
        let mut cells = std::mem::take(&mut self.cells);
        cells.extend(self.capture.clone());
        if !self.laid_out {
            self.first.push(cells);
            if self.first.len() >= FIRST {
                self.rest(out);
            }
            self.cells = vec![String::new(); self.columns.len()];
            return out.len();
        }
        self.header(out);
        self.line(&cells, out);
        cells.truncate(self.columns.len());
        self.cells = cells;
        out.len()
    }

    fn rest(&mut self, out: &mut Vec<u8>) {
        let first = std::mem::take(&mut self.first);
        if first.is_empty() {
            return;
        }
        self.laid_out = true;
        first.iter().for_each(|cells| self.table.widen(&shown(cells)));
        self.header(out);
        first.iter().for_each(|cells| self.line(cells, out));
    }

    fn icmp(&self, _: &mut dyn Iterator<Item = &IcmpEvent>, _: &mut Vec<u8>) {}

    fn icmp_late(&mut self, _: &IcmpEvent, _: &mut Vec<u8>) -> bool {
        true
    }
}

/// A text that may not be UTF-8: people are told if its encoding is guessed.
fn readable(text: &[u8], layout: TableLayout) -> Cow<'_, str> {
    match layout {
        TableLayout::Table => decoded(text),
        TableLayout::Csv | TableLayout::Tsv | TableLayout::Ndjson => String::from_utf8_lossy(text),
    }
}

/// A text from the wire, or the name of a file, as this layout writes it.
fn from_wire(text: &str, layout: TableLayout) -> Cow<'_, str> {
    match layout {
        TableLayout::Csv => unformulated(text),
        TableLayout::Tsv => tsv_text(text),
        TableLayout::Table | TableLayout::Ndjson => text.into(),
    }
}

/// The cells of a table for people.
fn shown(cells: &[String]) -> Vec<Cow<'_, str>> {
    cells.iter().map(|cell| escaped(if cell.is_empty() { "-" } else { cell })).collect()
}

fn text(value: &Value<'_>, digits: u8, stamp: &mut TimeFormatter, cell: &mut String) {
    let _ = match *value {
        Value::Time(time) => {
            let mut out = Vec::new();
            stamp.whole(time, digits, &mut out);
            cell.push_str(&String::from_utf8_lossy(&out));
            Ok(())
        }
        value => write!(cell, "{value}"),
    };
}

fn json(value: &Value<'_>, digits: u8, stamp: &mut TimeFormatter, out: &mut Vec<u8>) {
    if let Some(text) = value.as_text() {
        out.push(b'"');
        string(out, &text);
        return out.push(b'"');
    }
    if matches!(value, Value::Float(value) if !value.is_finite()) {
        // JSON has no such numbers.
        return out.extend_from_slice(b"null");
    }
    let mut cell = String::new();
    text(value, digits, stamp, &mut cell);
    let is_plain = matches!(
        value,
        Value::Unsigned(_)
            | Value::Signed(_)
            | Value::Float(_)
            | Value::Seconds(_)
            | Value::Flag(_)
    );
    if is_plain {
        return out.extend_from_slice(cell.as_bytes());
    }
    out.push(b'"');
    let _ = std::fmt::write(&mut Escaped(out), format_args!("{cell}"));
    out.push(b'"');
}
