//! `gamewire flows`: a row for every flow of a supported protocol.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::Terminal;
use crate::cli::{FlowsArgs, FlowsFormat};
use crate::commands::consumer::Consumer;
use crate::commands::read::read;
use crate::commands::{Failure, painted};
use crate::flows::FlowRow;
use crate::report::flows;
use crate::report::paint::Paint;
use crate::report::{TimeFormatter, TimeStyle};
use crate::session::{Event, Needs, Totals};

/// Maximum number of ended flows that are kept to write them in the order of their numbers. When it
/// is reached, they are written, and flows that end later come after them.
const KEPT: usize = 1 << 18;

/// One row may be kept for each of this many bytes of flow memory.
const BYTES: usize = 2048;

/// Rows that are formatted at a time.
const WRITTEN: usize = 1 << 12;

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &FlowsArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let kept = (args.input.limits().flow_bytes / BYTES).clamp(1, KEPT);
    let by = args.sort.or_else(|| flows::FlowColumn::named("flow").filter(|_| args.reverse));
    let by = by.or_else(|| flows::FlowColumn::named("bytes").filter(|_| args.top.is_some()));
    let top = args.top.map_or(usize::MAX, |top| top as usize);
    let filtered = !args.input.wanted.is_all();
    let mut listing = FlowListing {
        filtered,
        wanted: HashSet::new(),
        rows: Vec::new(),
        format: args.format,
        paint: painted(args.color, terminal.out),
        columns: terminal.columns,
        heading: None,
        kept,
        sorting: by.map(|by| Sorting {
            by,
            reverse: args.reverse,
            most: top.min(kept),
            left_out: 0,
        }),
        table: None,
        times: args.times.style(),
        stamp: None,
        headed: false,
        out,
    };
    let running = terminal.err && !terminal.out;
    let read = read(&args.input, &config, &mut listing, terminal.stop, err, running);
    if let Some(Sorting { by, most, left_out, .. }) = listing.sorting
        && left_out > 0
        && top > most
    {
        let by = by.name();
        writeln!(
            err,
            "gamewire: warning: {left_out} flows are not listed: only {most} of a capture are \
             kept, the first by {by}"
        )?;
    }
    read
}

/// The order of flows, if not by number.
struct Sorting {
    by: flows::FlowColumn,
    reverse: bool,
    /// Maximum number of flows listed per capture.
    most: usize,
    /// Number of flows not listed.
    left_out: u64,
}

impl Sorting {
    /// Keeps only the first ones, in any order. Called whenever there are twice as many, it takes
    /// amortized constant time per row.
    fn keep_first(&mut self, rows: &mut Vec<FlowRow>) {
        if rows.len() <= self.most {
            return;
        }
        let (by, reverse) = (self.by, self.reverse);
        rows.select_nth_unstable_by(self.most, |a, b| by.compare(reverse, a, b));
        self.left_out += (rows.len() - self.most) as u64;
        rows.truncate(self.most);
    }
}

struct FlowListing<'w> {
    /// Only flows with selected messages are listed; the numbers of open ones.
    filtered: bool,
    wanted: HashSet<u32>,
    /// Ended flows that are not written yet.
    rows: Vec<FlowRow>,
    format: FlowsFormat,
    paint: Paint,
    /// The terminal's width, if the output is one.
    columns: Option<usize>,
    heading: Option<String>,
    /// Maximum number of ended flows that wait.
    kept: usize,
    sorting: Option<Sorting>,
    /// The table of this capture, once rows were written.
    table: Option<flows::FlowTableWriter>,
    times: TimeStyle,
    /// Formats the times of this capture, relative to its first flow.
    stamp: Option<TimeFormatter>,
    /// Rows of any capture were written.
    headed: bool,
    out: &'w mut dyn Write,
}

impl Consumer for FlowListing<'_> {
    fn needs(&self) -> Needs {
        if !self.filtered {
            return Needs { flows: true, flow_details: true, ..Needs::default() };
        }
        Needs { flows: true, flow_details: true, ..Needs::messages_with_fields() }
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.heading = name.map(str::to_owned);
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Message(message) if self.filtered => {
                self.wanted.insert(message.context().flow.number);
            }
            Event::FlowEnded(row) if !self.filtered || self.wanted.remove(&row.flow) => {
                self.rows.push((*row).clone());
                self.make_room()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Totals) -> io::Result<()> {
        if let Some(sorting) = &mut self.sorting {
            sorting.keep_first(&mut self.rows);
        }
        self.write(self.rows.len())?;
        let mut note = Vec::new();
        self.table.iter().for_each(|table| table.end(self.paint, &mut note));
        self.out.write_all(&note)?;
        (self.table, self.stamp) = (None, None);
        self.out.flush()
    }
}

impl FlowListing<'_> {
    /// If there are too many flows, writes the first ones, or keeps the first ones in the requested
    /// order.
    fn make_room(&mut self) -> io::Result<()> {
        if let Some(sorting) = &mut self.sorting {
            if self.rows.len() >= sorting.most.saturating_mul(2) {
                sorting.keep_first(&mut self.rows);
            }
            return Ok(());
        }
        while self.rows.len() >= self.kept {
            self.write(self.kept)?;
        }
        Ok(())
    }

    /// Writes the next kept flows, in order.
    fn write(&mut self, count: usize) -> io::Result<()> {
        let mut rows: Vec<_> = self.rows.drain(..count).collect();
        match &self.sorting {
            Some(Sorting { by, reverse, .. }) => rows.sort_by(|a, b| by.compare(*reverse, a, b)),
            None => rows.sort_by_key(|row| row.flow),
        }
        let mut text = Vec::new();
        if self.format == FlowsFormat::Csv && !self.headed {
            flows::csv_header(self.heading.is_some(), &mut text);
        }
        self.headed = true;
        if self.format == FlowsFormat::Text && self.table.is_none() {
            if let Some(heading) = &self.heading {
                writeln!(text, "==> {heading} <==")?;
            }
            self.table =
                Some(flows::FlowTableWriter::new(&rows, self.columns, self.paint, &mut text));
        }
        let capture = self.heading.as_deref();
        let began = rows.iter().map(|row| row.first).min();
        let stamp = self.stamp.get_or_insert_with(|| TimeFormatter::new(self.times).since(began));
        for rows in rows.chunks(WRITTEN) {
            match self.format {
                FlowsFormat::Text => {
                    self.table.iter().for_each(|table| table.rows(rows, &mut text));
                }
                FlowsFormat::Json => {
                    rows.iter().for_each(|row| flows::json(row, capture, &mut text));
                }
                FlowsFormat::Csv => {
                    rows.iter().for_each(|row| flows::csv(row, capture, stamp, &mut text));
                }
            }
            self.out.write_all(&text)?;
            text.clear();
        }
        self.out.write_all(&text)
    }
}
