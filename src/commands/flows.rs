//! `gamewire flows`: a row for every flow of a protocol of ours.

use std::convert::Infallible;
use std::io::{self, Write};

use dissectors::kit::{Evidence, Judge, Mark, Message, Payload, Rule, Sink, Span, Verdict};

use crate::Terminal;
use crate::cli::{Flows, FlowsFormat};
use crate::commands::read::{Command, Slice, read};
use crate::commands::{Failure, painted};
use crate::flows::FlowRow;
use crate::report::flows;
use crate::report::paint::Paint;
use crate::session::{Moment, Scene, Told, Totals, View};

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
        begun: false,
        out,
    };
    read(&args.input, &config, &mut listing, err, terminal.err && !terminal.out)
}

struct Listing<'w> {
    view: Counting,
    format: FlowsFormat,
    paint: Paint,
    heading: Option<String>,
    begun: bool,
    out: &'w mut dyn Write,
}

impl Command for Listing<'_> {
    type View = Counting;
    type Entry = Infallible;

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.heading = name.map(str::to_owned);
        Ok(())
    }

    fn view(&mut self) -> &mut Counting {
        &mut self.view
    }

    fn check(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn part(&self) -> Option<Counting> {
        Some(Counting::default())
    }

    fn told(_: &Counting) -> usize {
        0
    }

    fn cut(_: &mut Counting) -> Slice<Infallible> {
        Slice { entries: Vec::new(), text: Vec::new() }
    }

    fn take(&mut self, _: Moment, told: &Infallible, _: &[u8], _: &dyn Fn(u32) -> u32) {
        match *told {}
    }

    fn join(&mut self, parts: Vec<Counting>, number: &dyn Fn(usize, u32) -> u32) {
        for (nth, part) in parts.into_iter().enumerate() {
            let rows = part.rows.into_iter();
            self.view.rows.extend(rows.map(|row| FlowRow { flow: number(nth, row.flow), ..row }));
        }
    }

    fn end(&mut self, _: &Totals) -> io::Result<()> {
        let mut rows = std::mem::take(&mut self.view.rows);
        rows.sort_by_key(|row| row.flow);
        let mut text = Vec::new();
        match self.format {
            FlowsFormat::Text => {
                if let Some(heading) = &self.heading {
                    writeln!(text, "==> {heading} <==")?;
                }
                flows::text(&rows, self.paint, &mut text);
            }
            FlowsFormat::Json => rows.iter().for_each(|row| flows::json(row, &mut text)),
            FlowsFormat::Csv => {
                if !self.begun {
                    flows::csv_header(&mut text);
                }
                rows.iter().for_each(|row| flows::csv(row, &mut text));
            }
        }
        self.begun = true;
        self.out.write_all(&text)
    }
}

/// Counts messages and findings, and keeps the flows.
#[derive(Default)]
struct Counting {
    judge: Judge,
    told: Told,
    rows: Vec<FlowRow>,
}

impl Counting {
    fn broken(&mut self, rule: &'static Rule, recalled: Option<Evidence>) {
        if self.judge.count_broken(rule, recalled) != Verdict::Inconclusive {
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
    fn scene(&mut self, _: &Scene) {}

    fn settle(&mut self) -> Told {
        std::mem::take(&mut self.told)
    }

    fn flow_ended(&mut self, row: &FlowRow) {
        self.rows.push(row.clone());
    }
}
