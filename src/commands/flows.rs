//! `gamewire flows`: a row for every flow of a protocol of ours.

use std::io::{self, Write};

use dissectors::kit::{
    Evidence, Judge, Mark, Message, Payload, Reply, Rule, Side, Sink, Span, Verdict, Who,
};

use crate::Terminal;
use crate::cli::{Flows, FlowsFormat};
use crate::commands::read::{Command, Slice, read};
use crate::commands::{Failure, painted};
use crate::flows::{Detail, FlowRow, MessageCounts};
use crate::report::flows;
use crate::report::paint::Paint;
use crate::session::{EventOrder, FlowContext, Observer, Totals};

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
    let kept = (args.input.limits().flow_bytes / BYTES).clamp(1, KEPT);
    let by = args.sort.or_else(|| flows::Column::named("flow").filter(|_| args.reverse));
    let by = by.or_else(|| flows::Column::named("bytes").filter(|_| args.top.is_some()));
    let top = args.top.map_or(usize::MAX, |top| top as usize);
    let mut listing = Listing {
        observer: Counting::default(),
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
        headed: false,
        out,
    };
    let read = read(&args.input, &config, &mut listing, err, terminal.err && !terminal.out);
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

/// In which order flows are listed, if not by their numbers.
struct Sorting {
    by: flows::Column,
    reverse: bool,
    /// Flows of a capture that are listed at most.
    most: usize,
    /// How many are not.
    left_out: u64,
}

impl Sorting {
    /// Only the first are kept, in any order. Done when there are twice as many, this takes a constant
    /// time for each.
    fn keep_first(&mut self, rows: &mut Vec<(EventOrder, FlowRow)>) {
        if rows.len() <= self.most {
            return;
        }
        let (by, reverse) = (self.by, self.reverse);
        rows.select_nth_unstable_by(self.most, |(_, a), (_, b)| by.compare(reverse, a, b));
        self.left_out += (rows.len() - self.most) as u64;
        rows.truncate(self.most);
    }
}

struct Listing<'w> {
    observer: Counting,
    format: FlowsFormat,
    paint: Paint,
    /// The terminal's, if the output is one.
    columns: Option<usize>,
    heading: Option<String>,
    /// How many flows that have ended wait to be written.
    kept: usize,
    sorting: Option<Sorting>,
    /// The table of this capture, where rows of it were written.
    table: Option<flows::Table>,
    /// Rows of any capture were.
    headed: bool,
    out: &'w mut dyn Write,
}

impl Command for Listing<'_> {
    type Observer = Counting;
    type Entry = FlowRow;

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.heading = name.map(str::to_owned);
        Ok(())
    }

    fn observer(&mut self) -> &mut Counting {
        &mut self.observer
    }

    fn lists(&self) -> bool {
        true
    }

    fn check(&mut self) -> io::Result<()> {
        if let Some(sorting) = &mut self.sorting {
            if self.observer.rows.len() >= sorting.most.saturating_mul(2) {
                sorting.keep_first(&mut self.observer.rows);
            }
            return Ok(());
        }
        while self.observer.rows.len() >= self.kept {
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

    fn take(&mut self, at: EventOrder, row: &mut FlowRow, _: &[u8], number: &dyn Fn(u32) -> u32) {
        self.observer.rows.push((at, FlowRow { flow: number(row.flow), ..row.clone() }));
    }

    fn end(&mut self, _: &Totals) -> io::Result<()> {
        self.check()?;
        if let Some(sorting) = &mut self.sorting {
            sorting.keep_first(&mut self.observer.rows);
        }
        self.write(self.observer.rows.len())?;
        self.table = None;
        self.out.flush()
    }
}

impl Listing<'_> {
    /// Writes the next so many of the flows that are kept, in their order.
    fn write(&mut self, count: usize) -> io::Result<()> {
        let mut rows: Vec<_> = self.observer.rows.drain(..count).map(|(_, row)| row).collect();
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
            self.table = Some(flows::Table::new(&rows, self.columns, self.paint, &mut text));
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
    told: MessageCounts,
    /// What was told since the last context of requests, and of the second end.
    messages: u32,
    requests: u32,
    answered: u32,
    /// The request that the message at hand answers, and how long responses took, in nanoseconds.
    reply: Option<Reply>,
    response_times: Vec<u64>,
    moment: EventOrder,
    rows: Vec<(EventOrder, FlowRow)>,
}

impl Counting {
    fn broken(&mut self, rule: &'static Rule, recalled: Option<Evidence>) {
        if self.judge.verdict(rule, recalled) != Verdict::Inconclusive {
            self.told.findings += 1;
        }
    }

    /// A rule was exercised so many times: perhaps that a request is answered.
    #[inline]
    fn exercised(&mut self, rule: &'static Rule, ok: bool, times: u32) {
        if rule.asks_for_answer {
            self.requests = self.requests.saturating_add(times);
            self.answered = self.answered.saturating_add(if ok { times } else { 0 });
        }
    }
}

impl Sink for Counting {
    fn judged(&mut self, rule: &'static Rule, ok: bool, _: Span, _: impl FnOnce() -> String) {
        self.exercised(rule, ok, 1);
        if !ok {
            self.broken(rule, None);
        }
    }
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        self.exercised(rule, true, times);
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
        self.exercised(rule, ok, 1);
        if !ok {
            self.broken(rule, Some(evidence));
        }
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.judge.evidence(evidence);
    }
    fn answers(&mut self, reply: Reply) {
        self.reply = Some(reply);
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        self.told.messages += 1;
        self.messages += u32::from(payload.side == Side::Second);
        if let Some(reply) = self.reply.take().filter(|reply| reply.complete) {
            let time = payload.time.since(reply.sent).max(0);
            self.response_times.push(time.unsigned_abs());
        }
        if matches!(message.speaker, Who::Client | Who::Server | Who::Master) {
            self.told.spoke = Some((payload.side, message.speaker));
        }
    }
}

impl Observer for Counting {
    fn flow_context(&mut self, flow_context: FlowContext) {
        self.moment = flow_context.moment;
        (self.messages, self.requests, self.answered) = (0, 0, 0);
        self.reply = None;
        self.response_times.clear();
    }

    fn settle(&mut self) -> MessageCounts {
        std::mem::take(&mut self.told)
    }

    fn count_exchanges(&mut self, detail: &mut Detail) {
        detail.messages = detail.messages.saturating_add(self.messages);
        detail.requests = detail.requests.saturating_add(self.requests);
        detail.answered = detail.answered.saturating_add(self.answered);
        self.response_times.drain(..).for_each(|time| detail.response(time));
    }

    fn flow_ended(&mut self, row: impl FnOnce() -> FlowRow) {
        self.rows.push((self.moment, row()));
    }
}
