//! The tables: their rows, in each format.

use std::cmp::Ordering;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::clock::TimeFormatter;
use super::super::markdown;
use super::super::paint::{Paint, Tone};
use super::super::put;
use super::super::spreadsheet::csv_line;
use super::super::text_table::{TextColumn, TextTable};
use super::cell::{ShownTimes, SummaryCell};
use super::columns::{
    KeyedRow, SummaryColumn, SummaryHeading, of_clients, of_masters, of_ports, of_protocols,
    of_servers,
};
use super::{Order, SummaryOptions};
use crate::session::Port;
use crate::summary::Summary;
use crate::text::grouped;

/// A table of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SummaryTable {
    /// The protocols
    Protocols,
    /// Game servers
    Servers,
    /// Master servers
    Masters,
    /// Hosts that send requests
    Clients,
    /// Ports of other traffic
    Ports,
}

impl SummaryTable {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SummaryTable::Protocols => "protocols",
            SummaryTable::Servers => "servers",
            SummaryTable::Masters => "masters",
            SummaryTable::Clients => "clients",
            SummaryTable::Ports => "ports",
        }
    }
}

/// What a row has in the column that its table is sorted by, if it is; its place among those that have the
/// same; and the row.
type SortedRow<T, P> = (Option<SummaryCell>, P, T);

/// A row, which its key gives its place.
fn keyed<K: Copy, V>((key, row): KeyedRow<'_, K, V>) -> (KeyedRow<'_, K, V>, K) {
    ((key, row), key)
}

/// A table with its rows.
pub(super) struct Grid {
    pub(super) table: SummaryTable,
    columns: Vec<SummaryHeading>,
    pub(super) rows: Vec<Vec<SummaryCell>>,
    /// Some rows were left out because of the limit.
    pub(super) is_cut: bool,
    /// Rows that are not shown.
    left_out: usize,
}

impl Grid {
    /// A table of a summary.
    pub(super) fn of(
        table: SummaryTable,
        summary: &Summary,
        ports: &[Port],
        shown: &SummaryOptions,
    ) -> Grid {
        match table {
            SummaryTable::Protocols => {
                let seen = summary.protocols.iter().filter(|it| it.messages > 0).zip(0..);
                Grid::new(table, &of_protocols(), seen, false, shown)
            }
            SummaryTable::Servers => {
                let rows = summary.servers.seen().map(keyed);
                Grid::new(table, &of_servers(), rows, summary.servers.is_cut, shown)
            }
            SummaryTable::Masters => {
                let rows = summary.masters.seen().map(keyed);
                Grid::new(table, &of_masters(), rows, summary.masters.is_cut, shown)
            }
            SummaryTable::Clients => {
                let rows = summary.clients.seen().map(keyed);
                Grid::new(table, &of_clients(), rows, summary.clients.is_cut, shown)
            }
            SummaryTable::Ports => {
                Grid::new(table, &of_ports(), ports.iter().zip(0..), false, shown)
            }
        }
    }

    /// From rows in any order, each with the key that decides between rows that are equal in the sort column.
    /// There may be very many rows, of which few are shown: only these are sorted.
    fn new<T, P: Ord>(
        table: SummaryTable,
        columns: &[SummaryColumn<T>],
        rows: impl Iterator<Item = (T, P)>,
        is_cut: bool,
        shown: &SummaryOptions,
    ) -> Grid {
        let by = order(table, columns, shown.order.as_ref());
        let mut rows: Vec<_> =
            rows.map(|(row, place)| (by.map(|by| (by.cell)(&row)), place, row)).collect();
        let compare = |a: &SortedRow<T, P>, b: &SortedRow<T, P>| {
            let by = a.0.as_ref().zip(b.0.as_ref()).map(|(a, b)| a.compare(b));
            by.unwrap_or(Ordering::Equal).then_with(|| a.1.cmp(&b.1))
        };
        let left_out = rows.len().saturating_sub(shown.top);
        if left_out > 0 {
            rows.select_nth_unstable_by(shown.top, compare);
            rows.truncate(shown.top);
        }
        rows.sort_by(compare);
        let cells = |row: &T| columns.iter().map(|column| (column.cell)(row)).collect();
        let rows = rows.iter().map(|(_, _, row)| cells(row)).collect();
        let columns = columns.iter().map(|it| it.heading).collect();
        Grid { table, columns, rows, is_cut, left_out }
    }

    /// Leaves out its last row.
    pub(super) fn leave_out_last(&mut self) {
        self.left_out += usize::from(self.rows.pop().is_some());
    }

    /// A note about what is not shown.
    pub(super) fn note(&self) -> Option<String> {
        let all = self.table.name();
        let name = if self.left_out == 1 { all.trim_end_matches('s') } else { all };
        let more = grouped(self.left_out as u64);
        match (self.left_out, self.is_cut) {
            (0, false) => None,
            (0, true) => Some(format!("there are more {all} than fit into memory; see --memory")),
            (_, false) => Some(format!("{more} more {name}; see --top")),
            (_, true) => Some(format!(
                "{more} more {name}, and others that did not fit into memory; see --top, --memory"
            )),
        }
    }

    /// The columns for people, with their indices.
    fn headed(&self) -> Vec<(usize, SummaryHeading)> {
        let columns = self.columns.iter().copied().enumerate();
        let is_shown = |(at, heading): &(usize, SummaryHeading)| {
            let is_none =
                |row: &Vec<SummaryCell>| row.get(*at) == Some(&SummaryCell::Count(Some(0)));
            let is_empty = || heading.is_rare && self.rows.iter().all(is_none);
            !(heading.text.is_empty() || is_empty())
        };
        columns.filter(is_shown).collect()
    }

    fn is_number(&self, at: usize) -> bool {
        self.rows.first().and_then(|row| row.get(at)).is_some_and(SummaryCell::is_number)
    }

    /// For people: a table that is as wide as a terminal at most, and notes about what is not shown.
    pub(super) fn text(
        &self,
        terminal: Option<usize>,
        times: &mut ShownTimes,
        paint: Paint,
        out: &mut Vec<u8>,
    ) {
        let headed = self.headed();
        let column = |(at, heading): &(usize, SummaryHeading)| TextColumn {
            heading: heading.text.to_owned(),
            is_number: self.is_number(*at),
            importance: heading.importance,
            shortest: heading.shortest,
        };
        let mut table = TextTable::new(headed.iter().map(column).collect(), terminal);
        let mut cells = |row: &Vec<SummaryCell>| -> Vec<String> {
            let cells = headed.iter().filter_map(|(at, _)| row.get(*at));
            cells.map(|cell| cell.text(times)).collect()
        };
        let rows: Vec<_> = self.rows.iter().map(&mut cells).collect();
        rows.iter().for_each(|row| table.widen(row));
        table.header(paint, out);
        rows.iter().for_each(|row| table.row(row, out));
        let all = format!("--format csv --table {}", self.table.name());
        table.note(&all, paint, out);
        if let Some(note) = self.note() {
            paint.paint(Tone::Faint, out, |out| put(out, format_args!("{note}\n")));
        }
    }

    /// As a table of GitHub's Markdown.
    pub(super) fn markdown(&self, times: &mut ShownTimes, out: &mut Vec<u8>) {
        let headed = self.headed();
        for (_, heading) in &headed {
            put(out, format_args!("| {} ", heading.text));
        }
        out.extend_from_slice(b"|\n");
        for (at, _) in &headed {
            let rule = if self.is_number(*at) { "|--:" } else { "|---" };
            out.extend_from_slice(rule.as_bytes());
        }
        out.extend_from_slice(b"|\n");
        for row in &self.rows {
            for cell in headed.iter().filter_map(|(at, _)| row.get(*at)) {
                put(out, format_args!("| {} ", markdown::cell(&cell.text(times))));
            }
            out.extend_from_slice(b"|\n");
        }
    }

    /// As RFC 4180 has it.
    pub(super) fn csv(
        &self,
        capture: Option<&str>,
        header: bool,
        digits: u8,
        stamp: &mut TimeFormatter,
        out: &mut Vec<u8>,
    ) {
        let named = |(at, heading): (usize, &SummaryHeading)| {
            (!heading.name.is_empty()).then_some((at, heading.name))
        };
        let named: Vec<_> = self.columns.iter().enumerate().filter_map(named).collect();
        if header {
            let names = named.iter().map(|(_, name)| *name);
            csv_line(names.chain(capture.map(|_| "capture")), out);
        }
        for row in &self.rows {
            let cells = named.iter().filter_map(|(at, _)| row.get(*at));
            let cells: Vec<_> = cells.map(|cell| cell.csv(digits, stamp)).collect();
            csv_line(cells.iter().map(String::as_str).chain(capture), out);
        }
    }

    /// For JSON: an array of objects.
    pub(super) fn json(&self, digits: u8) -> impl Serialize {
        GridJson { grid: self, digits }
    }
}

/// The sort column of a table; by default the number of requests.
fn order<'c, T>(
    table: SummaryTable,
    columns: &'c [SummaryColumn<T>],
    by: Option<&Order>,
) -> Option<&'c SummaryColumn<T>> {
    let usual = match table {
        SummaryTable::Protocols | SummaryTable::Ports => None,
        SummaryTable::Servers => Some("exchanges"),
        SummaryTable::Masters => Some("lists_asked"),
        SummaryTable::Clients => Some("sent"),
    };
    let named = |name: &str| {
        let is_named = |column: &&SummaryColumn<T>| {
            let SummaryHeading { name: own, text, .. } = column.heading;
            [own, text].iter().any(|it| it.eq_ignore_ascii_case(name))
        };
        columns.iter().filter(|column| !column.heading.name.is_empty()).find(is_named)
    };
    by.and_then(|by| named(&by.0)).or_else(|| usual.and_then(named))
}

struct GridJson<'g> {
    grid: &'g Grid,
    digits: u8,
}

struct JsonRow<'g>(&'g GridJson<'g>, &'g [SummaryCell]);

impl Serialize for GridJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut rows = to.serialize_seq(Some(self.grid.rows.len()))?;
        self.grid.rows.iter().try_for_each(|row| rows.serialize_element(&JsonRow(self, row)))?;
        rows.end()
    }
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut row = to.serialize_map(None)?;
        for (SummaryHeading { name, .. }, cell) in self.0.grid.columns.iter().zip(self.1) {
            if !name.is_empty() {
                row.serialize_entry(name, &cell.json(self.0.digits))?;
            }
        }
        row.end()
    }
}
