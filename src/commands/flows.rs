//! `gamewire flows`: a row for every flow of a supported protocol.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::io::{self, Write};

use dissectors::ledger::LedgerSettings;

use crate::Terminal;
use crate::check::{self, Reviewer};
use crate::cli::{FlowsArgs, FlowsFormat, InputArgs};
use crate::commands::consumer::Consumer;
use crate::commands::read::read;
use crate::commands::{Failure, files_of, painted};
use crate::report::lines::{LineColumns, LineWriter, Values};
use crate::report::paint::Paint;
use crate::report::table::{LongTable, PeopleTimes, TimeForm};
use crate::report::{TimeFormatter, TimeStyle};
use crate::rows::{
    FlowTable, Of, PacketPlaces, PlacedFlow, PlacedHeading, Sorting, Table, keep_first,
};
use crate::session::{Event, Needs, Totals};

/// Limit: flows that have ended and wait to be listed by `gamewire flows` in the order of their numbers | {}, or one
/// for every {BYTES:bytes} of `flow-bytes` if that is less | later ones come after them; with `--sort` or `--top`, only
/// the first are listed, and standard error says how many are not
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
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let kept = (args.input.limits().flow_bytes / BYTES).clamp(1, KEPT);
    let by = args.sort.as_ref().map(|by| by.0.as_str());
    let by = by.or(args.reverse.then_some("flow")).or(args.top.map(|_| "bytes"));
    let by = by.and_then(|by| Table::Flows.column(by));
    let top = args.top.map_or(usize::MAX, |top| top as usize);
    let filtered = !args.input.wanted.is_all();
    let ledger_settings =
        check::ledger_settings(&config.settings, args.input.limits().protocols.remembered);
    let mut listing = FlowListing {
        filtered,
        ledger_settings,
        reviewer: Reviewer::new(ledger_settings, false),
        wanted: HashSet::new(),
        rows: Vec::new(),
        format: args.format,
        paint: painted(args.color, terminal.out),
        columns: terminal.columns,
        input: &args.input,
        heading: None,
        places: PacketPlaces::default(),
        csv: Table::Flows.of_csv(),
        json: Table::Flows.of_json(),
        kept,
        sorting: by.map(|by| FirstFlows {
            by: Sorting::by(Table::Flows, Some(by), args.reverse),
            most: top.min(kept),
            left_out: 0,
        }),
        table: None,
        times: args.times.style(),
        lines: None,
        headed: false,
        out,
    };
    let running = terminal.err && !terminal.out;
    let read = read(&args.input, &config, &mut listing, terminal, err, running);
    if let Some(FirstFlows { most, left_out, .. }) = listing.sorting
        && left_out > 0
        && top > most
    {
        let by = by.and_then(|by| Table::Flows.headings().get(by).map(|it| it.name));
        let by = by.unwrap_or_default();
        writeln!(
            err,
            "gamewire: warning: {left_out} flows are not listed: only {most} of a capture are \
             kept, the first by {by}"
        )?;
    }
    read
}

/// The first flows in an order other than by number.
struct FirstFlows {
    by: Sorting,
    /// Maximum number of flows listed per capture.
    most: usize,
    /// Number of flows not listed.
    left_out: u64,
}

impl FirstFlows {
    fn compare(by: Sorting, a: &PlacedFlow, b: &PlacedFlow) -> Ordering {
        let order = by.compare(&by.cell(&Of::<FlowTable>(a)), &by.cell(&Of::<FlowTable>(b)));
        order.then(a.row.flow.cmp(&b.row.flow))
    }

    /// Keeps only the first ones, in any order.
    fn keep_first(&mut self, rows: &mut Vec<PlacedFlow>) {
        let by = self.by;
        self.left_out += keep_first(rows, self.most, |a, b| FirstFlows::compare(by, a, b)) as u64;
    }
}

struct FlowListing<'w> {
    /// Only flows with selected messages are listed; the numbers of open ones.
    filtered: bool,
    wanted: HashSet<u32>,
    /// The settings for rules that span flows.
    ledger_settings: LedgerSettings,
    /// What only the whole capture shows.
    reviewer: Reviewer,
    /// Ended flows that are not written yet.
    rows: Vec<PlacedFlow>,
    format: FlowsFormat,
    paint: Paint,
    /// The terminal's width, if the output is one.
    columns: Option<usize>,
    input: &'w InputArgs,
    heading: Option<String>,
    /// The files of the capture.
    places: PacketPlaces,
    csv: Vec<PlacedHeading>,
    json: Vec<PlacedHeading>,
    /// Maximum number of ended flows that wait.
    kept: usize,
    sorting: Option<FirstFlows>,
    /// The table of this capture, once rows were written.
    table: Option<LongTable>,
    times: TimeStyle,
    /// Writes the lines of this capture, with times relative to its first flow.
    lines: Option<LineWriter>,
    /// Rows of any capture were written.
    headed: bool,
    out: &'w mut dyn Write,
}

impl Consumer for FlowListing<'_> {
    fn needs(&self) -> Needs {
        let messages = if self.filtered { Needs::messages_with_fields() } else { Needs::default() };
        let flows = Needs { flows: true, flow_details: true, files: true, ..messages };
        flows.and(Reviewer::needs(&self.ledger_settings))
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.heading = name.map(str::to_owned);
        self.places = PacketPlaces::new(&files_of(self.input, name));
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.reviewer.event(event);
        match event {
            Event::Message(message) if self.filtered => {
                self.wanted.insert(message.context().flow.number);
            }
            Event::FlowEnded(row) if !self.filtered || self.wanted.remove(&row.flow) => {
                self.rows.push(PlacedFlow::of(row, &self.places));
                self.make_room()?;
            }
            Event::File(change) => self.places.note(*change),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        let reviewer = Reviewer::new(self.ledger_settings, false);
        let (reviewed, _) = std::mem::replace(&mut self.reviewer, reviewer).end(read);
        self.rows.iter_mut().for_each(|line| reviewed.settle(&mut line.row));
        if let Some(sorting) = &mut self.sorting {
            sorting.keep_first(&mut self.rows);
        }
        self.write(self.rows.len())?;
        let mut note = Vec::new();
        let all = "--format csv";
        self.table.iter().for_each(|table| table.end(all, self.paint, &mut note));
        self.out.write_all(&note)?;
        (self.table, self.lines) = (None, None);
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
            Some(FirstFlows { by, .. }) => {
                rows.sort_by(|a, b| FirstFlows::compare(*by, a, b));
            }
            None => rows.sort_by_key(|line| line.row.flow),
        }
        let capture = self.places.capture();
        let csv = LineColumns { columns: &self.csv, before: None, after: Some(&capture) };
        let json =
            LineColumns { columns: &self.json, before: None, after: self.heading.as_deref() };
        let mut text = Vec::new();
        if self.format == FlowsFormat::Csv && !self.headed {
            csv.header(&mut text);
        }
        self.headed = true;
        let first = rows.iter().map(|line| line.row.first).min();
        let stamp = || TimeFormatter::new(self.times).since(first);
        if self.format == FlowsFormat::Text && self.table.is_none() {
            if let Some(heading) = &self.heading {
                writeln!(text, "==> {heading} <==")?;
            }
            let times = PeopleTimes { stamp: stamp(), digits: 6, form: TimeForm::Brief };
            let all = rows.iter().map(Of::<FlowTable>);
            let table = LongTable::new(Table::Flows, all, self.columns, times);
            table.header(self.paint, &mut text);
            self.table = Some(table);
        }
        let lines = self.lines.get_or_insert_with(|| LineWriter::new(stamp(), 6, Values::Digits));
        for (nth, line) in rows.iter().enumerate() {
            let row = Of::<FlowTable>(line);
            lines.digits = line.row.digits;
            match self.format {
                FlowsFormat::Text => {
                    self.table.iter_mut().for_each(|table| table.row(&row, &mut text));
                }
                FlowsFormat::Json => {
                    lines.object(json, &row, &mut text);
                    text.push(b'\n');
                }
                FlowsFormat::Csv => lines.csv(csv, &row, &mut text),
            }
            if nth % WRITTEN == WRITTEN - 1 {
                self.out.write_all(&text)?;
                text.clear();
            }
        }
        self.out.write_all(&text)
    }
}
