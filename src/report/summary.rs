//! `gamewire summary`: the tables of a capture, for a terminal, a web page or a script.
//!
//! A column has the same name in JSON, in CSV and for `--sort`. Some columns are only for scripts.

use dissectors::kit::{Severity, Verdict};

use super::clock::TimeFormatter;
use super::lines::{LineColumns, LineWriter, Values};
use super::paint::{TextStyle, Tone};
use super::table::{PeopleTable, PeopleTimes, TimeForm};
use super::{TimeStyle, markdown, put, to_text};
use crate::rows::{BoxedRow, Cell, Order, Sorting, Table, of_summary};
use crate::session::{Port, Totals};
use crate::summary::Summary;
use crate::text::{counted, grouped, hanging, long_span, size};

/// What is shown of a summary.
#[derive(Clone, Debug)]
pub struct SummaryOptions {
    /// The only table; `None`: all.
    pub table: Option<Table>,
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
    attacks: Vec<String>,
    grids: Vec<Grid<'r>>,
    ports: Vec<Port>,
}

/// A table with its rows.
struct Grid<'r> {
    table: Table,
    rows: Vec<BoxedRow<'r>>,
    /// Some rows were left out because of the limit on memory.
    is_cut: bool,
    /// Rows that are not shown.
    left_out: usize,
}

impl<'r> SummaryReport<'r> {
    /// That of a capture, with its name where there are several.
    pub fn new(
        summary: &'r Summary,
        read: &'r Totals,
        capture: Option<&'r str>,
        shown: SummaryOptions,
    ) -> SummaryReport<'r> {
        let ports = summary.foreign(read);
        let has_one_table = shown.table.is_some();
        let wanted = Table::OF_SUMMARY.into_iter();
        let wanted = wanted.filter(|it| shown.table.is_none_or(|only| only == *it));
        let grid = |table| {
            let (rows, is_cut) = of_summary(table, summary, &ports);
            let sorting = Sorting::of(table, shown.order.as_ref());
            let (rows, left_out) = sorting.first(rows, shown.top, |row| sorting.cell(&**row));
            Grid { table, rows, is_cut, left_out }
        };
        let grids = wanted.map(grid).collect();
        let (times, attacks) = (shown.times, Vec::new());
        SummaryReport { read, capture, has_one_table, times, attacks, grids, ports }
    }

    /// With these attacks, a sentence each.
    pub fn with_attacks(self, attacks: Vec<String>) -> SummaryReport<'r> {
        SummaryReport { attacks, ..self }
    }

    /// The line about attacks, if there are any.
    fn under_attack(&self) -> Option<String> {
        let attacks = self.attacks.join("; ");
        (!attacks.is_empty()).then(|| {
            format!("Under attack: {attacks}. gamewire abuse shows who, how, and filters.")
        })
    }

    /// For people; on a terminal, tables fit into this many columns.
    pub fn text(&self, style: TextStyle, out: &mut Vec<u8>) {
        let TextStyle { terminal, paint } = style;
        if let Some(capture) = self.capture {
            put(out, format_args!("==> {capture} <==\n"));
        }
        if !self.has_one_table {
            if let Some(attacks) = self.under_attack() {
                let tone = Tone::Finding(Severity::Error, Verdict::Fail);
                let line = hanging(&attacks, 0, terminal);
                paint.paint(tone, out, |out| put(out, format_args!("{line}\n")));
            }
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
            let (shown, name) = (PeopleTable::of(grid.table, &grid.rows), grid.table.name());
            let all = format!("--format csv --table {name}");
            shown.text(&grid.rows, &all, &mut times, style, out);
            if let Some(note) = grid.note() {
                paint.paint(Tone::Faint, out, |out| put(out, format_args!("{note}\n")));
            }
        }
    }

    /// The same in fewer lines than `rows`, so that the beginning stays on the screen: the longest tables are
    /// shortened.
    pub fn screen(&mut self, rows: usize, style: TextStyle, out: &mut Vec<u8>) {
        loop {
            let start = out.len();
            self.text(style, out);
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
            let is_shown = |grid: &&mut Grid<'_>| has_one_table || grid.table != Table::Ports;
            let longest = self.grids.iter_mut().filter(is_shown).max_by_key(|it| it.rows.len());
            let Some(grid) = longest.filter(|grid| grid.rows.len() > 1) else { break };
            grid.left_out += usize::from(grid.rows.pop().is_some());
            any = true;
        }
        any
    }

    /// For a web page.
    pub fn markdown(&self, out: &mut Vec<u8>) {
        if let Some(capture) = self.capture {
            put(out, format_args!("### {}\n\n", markdown::cell(capture)));
        }
        if let Some(attacks) = self.under_attack() {
            put(out, format_args!("**{attacks}**\n\n"));
        }
        put(out, format_args!("{}\n", self.recording()));
        if let Some(foreign) = self.not_ours() {
            put(out, format_args!("\n{foreign}\n"));
        }
        let mut times = self.shown_times();
        for grid in self.for_people() {
            out.push(b'\n');
            PeopleTable::of(grid.table, &grid.rows).markdown(&grid.rows, &mut times, out);
            if let Some(note) = grid.note() {
                put(out, format_args!("\n{note}\n"));
            }
        }
    }

    /// One JSON object, and the end of its line.
    pub fn json(&self, out: &mut Vec<u8>) {
        let mut lines = self.lines();
        out.push(b'{');
        if let Some(capture) = self.capture {
            out.extend_from_slice(b"\"capture\":");
            lines.json_value(&capture.into(), out);
            out.push(b',');
        }
        for (name, nth) in [("first", 0), ("last", 1)] {
            let time = self.read.span.and_then(|span| span.get(nth).copied());
            put(out, format_args!("\"{name}\":"));
            lines.json_value(&time.into(), out);
            out.push(b',');
        }
        let Totals { packets, bytes, flows, lossy, .. } = *self.read;
        let links = Cell::Texts(self.read.links.names().into_iter().map(Into::into).collect());
        put(out, format_args!("\"packets\":{packets},\"bytes\":{bytes},\"links\":"));
        lines.json_value(&links, out);
        put(out, format_args!(",\"flows\":{flows},\"lossy\":{lossy}"));
        for Grid { table, rows, .. } in &self.grids {
            put(out, format_args!(",\"{}\":[", table.name()));
            let columns = table.of_json();
            let columns = LineColumns { columns: &columns, before: None, after: None };
            for (nth, row) in rows.iter().enumerate() {
                out.extend_from_slice(if nth > 0 { b"," } else { b"" });
                lines.object(columns, &**row, out);
            }
            out.push(b']');
        }
        let cut = self.grids.iter().filter(|grid| grid.is_cut).map(|grid| grid.table.name());
        out.extend_from_slice(b",\"cut\":");
        lines.json_value(&Cell::Texts(cut.map(Into::into).collect()), out);
        out.extend_from_slice(b"}\n");
    }

    /// One table as RFC 4180 has it, of the capture with this name. `header`: with the line of names.
    pub fn csv(&self, table: Table, name: &str, header: bool, out: &mut Vec<u8>) {
        let (mut lines, columns) = (self.lines(), table.of_csv());
        let columns = LineColumns { columns: &columns, before: None, after: Some(name) };
        for grid in self.grids.iter().filter(|grid| grid.table == table) {
            if header {
                columns.header(out);
            }
            grid.rows.iter().for_each(|row| lines.csv(columns, &**row, out));
        }
    }

    /// Tables with rows; that of ports only if requested, because a line shows the same.
    fn for_people(&self) -> impl Iterator<Item = &Grid<'r>> {
        let shown = |grid: &&Grid<'_>| {
            self.has_one_table || (grid.table != Table::Ports && !grid.rows.is_empty())
        };
        self.grids.iter().filter(shown)
    }

    fn stamp(&self) -> TimeFormatter {
        TimeFormatter::new(self.times).since(self.read.span.map(|[first, _]| first))
    }

    fn lines(&self) -> LineWriter {
        LineWriter::new(self.stamp(), self.read.digits, Values::Floats)
    }

    /// How tables for people show times.
    fn shown_times(&self) -> PeopleTimes {
        let mut stamp = self.stamp();
        let mut day = |time| to_text(|out| stamp.day(time, out));
        let has_date = self.read.span.is_some_and(|[first, last]| day(first) != day(last));
        let form = if has_date { TimeForm::WithDate } else { TimeForm::Brief };
        PeopleTimes { stamp, digits: self.read.digits, form }
    }

    /// How many rows of each table are not shown.
    pub(in crate::report) fn left_out(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let cut = self.grids.iter().filter(|grid| grid.left_out > 0);
        cut.map(|grid| (grid.table.name(), grid.left_out))
    }

    /// When the recording begins.
    pub(in crate::report) fn begin(&self) -> Option<String> {
        let [first, _] = self.read.span?;
        Some(to_text(|out| self.stamp().moment(first, out)))
    }

    /// The time of the recording, its size, and losses.
    pub(in crate::report) fn recording(&self) -> String {
        let Totals { packets, bytes, span, .. } = *self.read;
        let (packets, size) = (counted(packets, "packet"), size(bytes));
        let Some([first, last]) = span else { return packets };
        let when = self.begin().unwrap_or_default();
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
            let transport = it.transport.to_uppercase();
            let name = match (it.port, it.protocol) {
                (0, Some(protocol)) => protocol.to_owned(),
                (port, Some(protocol)) => format!("{transport} {port}, {protocol}"),
                (port, None) => format!("{transport} {port}"),
            };
            format!("{name}: {}", grouped(it.packets))
        });
        let mut named: Vec<_> = named.collect();
        if let Some(more) = self.ports.len().checked_sub(PORTS).filter(|more| *more > 0) {
            named.push(counted(more as u64, "more port"));
        }
        let packets = counted(packets, "packet");
        Some(format!("other traffic: {packets} ({})", named.join(", ")))
    }
}

impl Grid<'_> {
    /// A note about what is not shown.
    fn note(&self) -> Option<String> {
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
}
