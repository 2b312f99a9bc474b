//! `gamewire summary`: the tables of a capture, for a terminal, a web page or a script.
//!
//! A column has the same name in JSON, in CSV and for `--sort`. Some columns are only for scripts;
//! others, which combine several, are only for people.

mod cell;
mod columns;
mod tables;

use clap::ValueEnum;
use serde::ser::{Serialize, SerializeMap, Serializer};

use self::cell::{ShownTimes, SummaryCell};
use self::tables::Grid;
use super::clock::TimeFormatter;
use super::json::line;
use super::paint::Paint;
use super::{TimeStyle, flows, markdown, put};
use crate::session::{Port, Totals};
use crate::summary::Summary;
use crate::text::{counted, grouped, hanging, long_span};

pub use columns::columns;
pub use tables::SummaryTable;

/// A column to sort by, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(pub String);

/// What is shown of a summary.
#[derive(Clone, Debug)]
pub struct SummaryOptions {
    /// The only table; `None`: all.
    pub table: Option<SummaryTable>,
    /// The sort column of tables that have it.
    pub order: Option<Order>,
    /// Maximum number of rows per table.
    pub top: usize,
    /// The style of times, except in JSON.
    pub times: TimeStyle,
}

/// Maximum number of ports in the line about other traffic.
const PORTS: usize = 8;

/// A summary to be written.
pub struct SummaryReport<'r> {
    read: &'r Totals,
    capture: Option<&'r str>,
    has_one_table: bool,
    times: TimeStyle,
    grids: Vec<Grid>,
    ports: Vec<Port>,
}

impl<'r> SummaryReport<'r> {
    /// That of a capture, with its name where there are several.
    pub fn new(
        summary: &Summary,
        read: &'r Totals,
        capture: Option<&'r str>,
        shown: SummaryOptions,
    ) -> SummaryReport<'r> {
        let ports = summary.foreign(&read.foreign);
        let has_one_table = shown.table.is_some();
        let wanted = SummaryTable::value_variants()
            .iter()
            .copied()
            .filter(|it| shown.table.is_none_or(|only| only == *it));
        let grids = wanted.map(|table| Grid::of(table, summary, &ports, &shown)).collect();
        SummaryReport { read, capture, has_one_table, times: shown.times, grids, ports }
    }

    /// For people; on a terminal, tables fit into this many columns.
    pub fn text(&self, terminal: Option<usize>, paint: Paint, out: &mut Vec<u8>) {
        if let Some(capture) = self.capture {
            put(out, format_args!("==> {capture} <==\n"));
        }
        if !self.has_one_table {
            let lines = std::iter::once(self.recording()).chain(self.not_ours());
            for line in lines {
                put(out, format_args!("{}\n", hanging(&line, 0, terminal)));
            }
        }
        let mut times = self.shown_times();
        for grid in self.for_people() {
            if !self.has_one_table {
                out.push(b'\n');
            }
            grid.text(terminal, &mut times, paint, out);
        }
    }

    /// The same in fewer lines than `rows`, so that the beginning stays on the screen: the longest tables are
    /// shortened.
    pub fn screen(
        &mut self,
        (columns, rows): (Option<usize>, usize),
        paint: Paint,
        out: &mut Vec<u8>,
    ) {
        loop {
            let start = out.len();
            self.text(columns, paint, out);
            let lines = out.iter().skip(start).filter(|byte| **byte == b'\n').count();
            let excess = (lines + 1).saturating_sub(rows);
            if excess == 0 || !self.leave_out(excess) {
                return;
            }
            out.truncate(start);
        }
    }

    /// Leaves out so many rows, or as many as there are besides the first of each table. `false`: there are none.
    fn leave_out(&mut self, rows: usize) -> bool {
        let mut any = false;
        for _ in 0..rows {
            let has_one_table = self.has_one_table;
            let is_shown = |grid: &&mut Grid| has_one_table || grid.table != SummaryTable::Ports;
            let longest = self.grids.iter_mut().filter(is_shown).max_by_key(|it| it.rows.len());
            let Some(grid) = longest.filter(|grid| grid.rows.len() > 1) else { break };
            grid.leave_out_last();
            any = true;
        }
        any
    }

    /// For a web page.
    pub fn markdown(&self, out: &mut Vec<u8>) {
        if let Some(capture) = self.capture {
            put(out, format_args!("### {}\n\n", markdown::cell(capture)));
        }
        put(out, format_args!("{}\n", self.recording()));
        if let Some(foreign) = self.not_ours() {
            put(out, format_args!("\n{foreign}\n"));
        }
        let mut times = self.shown_times();
        for grid in self.for_people() {
            out.push(b'\n');
            grid.markdown(&mut times, out);
            if let Some(note) = grid.note() {
                put(out, format_args!("\n{note}\n"));
            }
        }
    }

    /// One JSON object, and the end of its line.
    pub fn json(&self, out: &mut Vec<u8>) {
        // Writing numbers and texts to a vector cannot fail.
        let _ = line(self, out);
    }

    /// One table as RFC 4180 has it. `header`: with the line of names.
    pub fn csv(&self, table: SummaryTable, header: bool, out: &mut Vec<u8>) {
        let mut stamp = self.stamp();
        for grid in self.grids.iter().filter(|grid| grid.table == table) {
            grid.csv(self.capture, header, self.read.digits, &mut stamp, out);
        }
    }

    /// Tables with rows; that of ports only if requested, because a line shows the same.
    fn for_people(&self) -> impl Iterator<Item = &Grid> {
        let shown = |grid: &&Grid| {
            self.has_one_table || (grid.table != SummaryTable::Ports && !grid.rows.is_empty())
        };
        self.grids.iter().filter(shown)
    }

    fn stamp(&self) -> TimeFormatter {
        TimeFormatter::new(self.times).since(self.read.span.map(|[first, _]| first))
    }

    /// How tables for people show times.
    fn shown_times(&self) -> ShownTimes {
        let mut stamp = self.stamp();
        let mut day = |time| flows::string(|out| stamp.day(time, out));
        let has_date = self.read.span.is_some_and(|[first, last]| day(first) != day(last));
        ShownTimes { stamp, digits: self.read.digits, has_date }
    }

    /// The time of the recording, its size, and losses.
    pub(in crate::report) fn recording(&self) -> String {
        let Totals { packets, bytes, span, .. } = *self.read;
        let (packets, size) = (counted(packets, "packet"), cell::bytes(bytes));
        let Some([first, last]) = span else { return packets };
        let when = flows::string(|out| self.stamp().moment(first, out));
        let length = long_span(last.since(first).max(0).unsigned_abs());
        let links = self.read.links.names().join(" and ");
        let flows = counted(self.read.flows.into(), "flow");
        let lost = match self.read.lossy {
            true => "some packets are missing",
            false => "no loss recorded",
        };
        format!("{when}, {length}, {packets}, {size}, {links}, {flows}, {lost}")
    }

    /// The ports of other traffic.
    fn not_ours(&self) -> Option<String> {
        let packets: u64 = self.ports.iter().map(|port| port.packets).sum();
        if packets == 0 {
            return None;
        }
        let named = self.ports.iter().take(PORTS).map(|it| {
            let transport = super::json::transport(it.transport).to_uppercase();
            format!("{transport} {}: {}", it.port, grouped(it.packets))
        });
        let mut named: Vec<_> = named.collect();
        if let Some(more) = self.ports.len().checked_sub(PORTS).filter(|more| *more > 0) {
            named.push(format!("{more} more ports"));
        }
        let packets = counted(packets, "packet");
        Some(format!("other traffic: {packets} ({})", named.join(", ")))
    }
}

impl Serialize for SummaryReport<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if let Some(capture) = self.capture {
            map.serialize_entry("capture", capture)?;
        }
        let digits = self.read.digits;
        for (name, nth) in [("first", 0), ("last", 1)] {
            let time = self.read.span.and_then(|span| span.get(nth).copied());
            map.serialize_entry(name, &SummaryCell::Time(time).json(digits))?;
        }
        map.serialize_entry("packets", &self.read.packets)?;
        map.serialize_entry("bytes", &self.read.bytes)?;
        map.serialize_entry("links", &self.read.links.names())?;
        map.serialize_entry("flows", &self.read.flows)?;
        map.serialize_entry("lossy", &self.read.lossy)?;
        for grid in &self.grids {
            map.serialize_entry(grid.table.name(), &grid.json(digits))?;
        }
        let cut = self.grids.iter().filter(|grid| grid.is_cut).map(|grid| grid.table.name());
        map.serialize_entry("cut", &cut.collect::<Vec<_>>())?;
        map.end()
    }
}
