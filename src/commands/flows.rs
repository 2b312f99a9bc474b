//! `gamewire flows`: a row for every flow of a protocol of ours.

use std::io::{self, Write};

use dissectors::kit::{Evidence, Judge, Mark, Message, Payload, Rule, Sink, Span, Verdict};

use crate::Terminal;
use crate::cli::{Flows, FlowsFormat};
use crate::commands::read::{Command, Slice, read};
use crate::commands::{Failure, painted};
use crate::flows::{FlowRow, Told};
use crate::report::flows;
use crate::report::paint::Paint;
use crate::session::{Moment, Scene, Totals, View};

/// Flows that have ended and are kept, to be written in the order of their numbers, if there is
/// memory for it. When there are so many, they are written, and those that end later come behind them.
const KEPT: usize = 1 << 18;

/// Of what flows may take in memory, a row is kept for every so many bytes.
const BYTES: usize = 2048;

/// Rows that are put into words at a time.
const WRITTEN: usize = 1 << 12;

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &Flows,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let mut listing = Listing {
        view: Counting::default(),
        format: args.format,
        paint: painted(args.color, terminal.out),
        heading: None,
        kept: (args.input.limits().flow_bytes / BYTES).clamp(1, KEPT),
        table: None,
        headed: false,
        out,
    };
    read(&args.input, &config, &mut listing, err, terminal.err && !terminal.out)
}

struct Listing<'w> {
    view: Counting,
    format: FlowsFormat,
    paint: Paint,
    heading: Option<String>,
    /// How many flows that have ended wait to be written.
    kept: usize,
    /// The table of this capture, where rows of it were written.
    table: Option<flows::Table>,
    /// Rows of any capture were.
    headed: bool,
    out: &'w mut dyn Write,
}

impl Command for Listing<'_> {
    type View = Counting;
    type Entry = FlowRow;

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.heading = name.map(str::to_owned);
        Ok(())
    }

    fn view(&mut self) -> &mut Counting {
        &mut self.view
    }

    fn check(&mut self) -> io::Result<()> {
        while self.view.rows.len() >= self.kept {
            self.write(self.kept)?;
        }
        Ok(())
    }

    fn part(&self) -> Option<Counting> {
        Some(Counting::default())
    }

    fn waiting(part: &Counting) -> usize {
        part.rows.len() * size_of::<FlowRow>()
    }

    fn cut(part: &mut Counting, slice: &mut Slice<FlowRow>) {
        std::mem::swap(&mut part.rows, &mut slice.entries);
    }

    fn take(&mut self, at: Moment, row: &mut FlowRow, _: &[u8], number: &dyn Fn(u32) -> u32) {
        self.view.rows.push((at, FlowRow { flow: number(row.flow), ..row.clone() }));
    }

    fn end(&mut self, _: &Totals) -> io::Result<()> {
        self.check()?;
        self.write(self.view.rows.len())?;
        self.table = None;
        self.out.flush()
    }
}

impl Listing<'_> {
    /// Writes the next so many of the flows that are kept, in the order of their numbers.
    fn write(&mut self, count: usize) -> io::Result<()> {
        let mut rows: Vec<_> = self.view.rows.drain(..count).map(|(_, row)| row).collect();
        rows.sort_by_key(|row| row.flow);
        let mut text = Vec::new();
        if self.format == FlowsFormat::Csv && !self.headed {
            flows::csv_header(self.heading.is_some(), &mut text);
        }
        self.headed = true;
        if self.format == FlowsFormat::Text && self.table.is_none() {
            if let Some(heading) = &self.heading {
                writeln!(text, "==> {heading} <==")?;
            }
            self.table = Some(flows::Table::new(&rows, self.paint, &mut text));
        }
        let capture = self.heading.as_deref();
        for rows in rows.chunks(WRITTEN) {
            match self.format {
                FlowsFormat::Text => {
                    self.table.iter().for_each(|table| table.rows(rows, &mut text));
                }
                FlowsFormat::Json => {
                    rows.iter().for_each(|row| flows::json(row, capture, &mut text));
                }
                FlowsFormat::Csv => {
                    rows.iter().for_each(|row| flows::csv(row, capture, &mut text));
                }
            }
            self.out.write_all(&text)?;
            text.clear();
        }
        self.out.write_all(&text)
    }
}

/// Counts messages and findings, and keeps the flows.
#[derive(Default)]
struct Counting {
    judge: Judge,
    told: Told,
    moment: Moment,
    rows: Vec<(Moment, FlowRow)>,
}

impl Counting {
    fn broken(&mut self, rule: &'static Rule, recalled: Option<Evidence>) {
        if self.judge.verdict(rule, recalled) != Verdict::Inconclusive {
            self.told.findings += 1;
        }
    }
}

impl Sink for Counting {
    fn judged(&mut self, rule: &'static Rule, ok: bool, _: Span, _: impl FnOnce() -> String) {
        if !ok {
            self.broken(rule, None);
        }
    }
    fn noted(&mut self, _: &'static Rule, _: Span, _: impl FnOnce() -> String) {
        self.told.findings += 1;
    }
    fn recalled(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        evidence: Evidence,
        _: &Mark,
        _: impl FnOnce() -> String,
    ) {
        if !ok {
            self.broken(rule, Some(evidence));
        }
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.judge.evidence(evidence);
    }
    fn end(&mut self, _: &'static Message, _: &Payload<'_>) {
        self.told.messages += 1;
    }
}

impl View for Counting {
    fn scene(&mut self, scene: Scene) {
        self.moment = scene.moment;
    }

    fn settle(&mut self) -> Told {
        std::mem::take(&mut self.told)
    }

    fn flow_ended(&mut self, row: impl FnOnce() -> FlowRow) {
        self.rows.push((self.moment, row()));
    }
}
