//! `gamewire dissect`: every message, in capture order.

use std::fmt;
use std::io::{self, Write};

use dissectors::kit::{Payload, Transport};

use crate::Terminal;
use crate::capture::is_read_once;
use crate::cli::{DissectArgs, DissectFormat};
use crate::commands::consumer::Consumer;
use crate::commands::elsewhere::Elsewhere;
use crate::commands::held::{BUFFER, DelayedTexts, QuotableText};
use crate::commands::read::read;
use crate::commands::{Failure, painted};
use crate::filter::Column;
use crate::limits::RunLimits;
use crate::report::columns::{Columns, TableLayout};
use crate::report::json::Json;
use crate::report::paint::Paint;
use crate::report::text::{DetailLevel, Text};
use crate::report::{Envelope, Report, TimeFormatter, TimeStyle};
use crate::session::{Event, FieldLimits, Findings, MessageEvent, Messages, Needs, Totals};

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &DissectArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let by_default = if args.fields.is_empty() { DissectFormat::Text } else { DissectFormat::Tsv };
    let format = args.format.unwrap_or(by_default);
    let how = DissectOptions {
        format,
        columns: columns(args, format)?,
        times: args.times.style(),
        detail: DetailLevel { fields: args.verbose, bytes: args.hex, full: args.full },
        tree: args.tree,
        paint: painted(args.color, terminal.out),
        terminal: terminal.columns,
        limits: args.input.limits(),
        capture: None,
    };
    let is_stream = args.input.live.interface.is_some()
        || args.input.files.iter().any(|file| file.as_os_str() == "-" || is_read_once(file));
    let at_once = terminal.out || args.line_buffered || args.input.live.interface.is_some();
    let filtered = !args.input.wanted.is_all();
    let answers = (format == DissectFormat::Text).then_some(config.settings.answer_timeout);
    let mut consumer = DissectConsumer {
        report: how.report(false),
        text: QuotableText::default(),
        held: DelayedTexts::new(filtered, answers),
        elsewhere: Elsewhere::default(),
        has_begun: false,
        at_once: at_once && (is_stream || args.line_buffered),
        late: 0,
        how,
        out,
    };
    let running = terminal.err && !terminal.out;
    let ran = read(&args.input, &config, &mut consumer, terminal, err, running);
    let late = consumer.late + consumer.held.late;
    if late > 0 {
        let errors = if late == 1 { "ICMP error is" } else { "ICMP errors are" };
        let note = "about messages that were written before it came";
        writeln!(err, "gamewire: warning: {late} {errors} not shown, {note}").ok();
    }
    ran
}

/// The columns of a table.
fn columns(args: &DissectArgs, format: DissectFormat) -> Result<Vec<Column>, Failure> {
    let is_table = !matches!(format, DissectFormat::Text | DissectFormat::Json);
    if !is_table {
        return match args.fields.is_empty() {
            true => Ok(Vec::new()),
            false => Err(Failure::Other(
                "--fields are the columns of --format csv, tsv, table and ndjson".to_owned(),
            )),
        };
    }
    if !args.fields.is_empty() {
        return Ok(args.fields.clone());
    }
    let by_default = ["frame", "time", "src", "dst", "protocol", "message"].map(str::parse);
    by_default.into_iter().collect::<Result<_, _>>().map_err(Failure::Other)
}

/// How messages are shown.
struct DissectOptions {
    format: DissectFormat,
    /// Of a table.
    columns: Vec<Column>,
    times: TimeStyle,
    detail: DetailLevel,
    tree: bool,
    paint: Paint,
    /// The terminal's width.
    terminal: Option<usize>,
    limits: RunLimits,
    /// The capture's name, if there are several.
    capture: Option<String>,
}

impl DissectOptions {
    /// Whether only some fields of decompressed messages are shown. Those of a table were
    /// requested.
    fn is_brief(&self) -> bool {
        let is_whole = matches!(self.format, DissectFormat::Text | DissectFormat::Json);
        is_whole && !self.detail.full
    }

    fn report(&self, headed: bool) -> Box<dyn Report> {
        let stamp = TimeFormatter::new(self.times);
        let layout = match self.format {
            DissectFormat::Text => {
                return Box::new(Text::new(self.detail, self.paint).times(stamp));
            }
            DissectFormat::Json => {
                let json = Json::new(self.tree);
                return Box::new(match &self.capture {
                    Some(capture) => json.of(capture),
                    None => json,
                });
            }
            DissectFormat::Csv => TableLayout::Csv,
            DissectFormat::Tsv => TableLayout::Tsv,
            DissectFormat::Table => TableLayout::Table,
            DissectFormat::Ndjson => TableLayout::Ndjson,
        };
        let (columns, capture) = (self.columns.clone(), self.capture.clone());
        Box::new(Columns::new(columns, layout, self.terminal, stamp, capture, headed))
    }
}

struct DissectConsumer<'w> {
    report: Box<dyn Report>,
    /// The text of the latest messages.
    text: QuotableText,
    /// Earlier text that waits.
    held: DelayedTexts,
    elsewhere: Elsewhere,
    how: DissectOptions,
    /// A capture was begun.
    has_begun: bool,
    /// Output is written immediately, because someone may be watching.
    at_once: bool,
    /// See [`DelayedTexts::late`]: of earlier captures.
    late: u64,
    out: &'w mut dyn Write,
}

impl DissectConsumer<'_> {
    /// Writes text that need not wait any longer, or all.
    fn write(&mut self, all: bool) -> io::Result<()> {
        let DissectConsumer { text, held, report, .. } = self;
        let now = text.latest().filter(|_| !all);
        if all {
            report.rest(&mut text.bytes);
            held.give_up(text, &mut **report);
        }
        held.push(text);
        held.write(now, &**report, self.out)?;
        self.out.flush()
    }

    fn message(&mut self, m: &MessageEvent<'_>) {
        let (payload, tunnels) = (m.payload(), m.context().tunnels);
        let Some(envelope) = Envelope::of(m) else { return };
        let via = (!tunnels.is_empty()).then_some(&tunnels as &dyn fmt::Display);
        let mut room = Vec::new();
        let message = match self.how.is_brief() {
            true => envelope.message.brief(&mut room),
            false => envelope.message,
        };
        let mut certain = Vec::new();
        let findings =
            self.elsewhere.certain(payload.frame, message.checked.findings, &mut certain);
        let envelope = Envelope { message, via, ..envelope }.with_findings(findings);
        self.report.heading(payload.time, &mut self.text.bytes);
        let end = self.report.message(&envelope, &mut self.text.bytes);
        self.text.push(payload.frame, end, payload.time);
        let parts = parts(&payload);
        if !parts.is_empty() {
            self.held.parts(&mut self.text, &parts);
        }
    }
}

impl Consumer for DissectConsumer<'_> {
    fn needs(&self) -> Needs {
        let RunLimits { fields, depth, .. } = self.how.limits;
        Needs {
            messages: Messages::All,
            fields: Some(FieldLimits { fields, depth, ..FieldLimits::default() }),
            findings: Findings::OfMessages,
            elsewhere: true,
            unanswered: self.how.format == DissectFormat::Text,
            icmp: true,
            ..Needs::default()
        }
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        let Some(name) = name else { return Ok(()) };
        self.how.capture = Some(name.to_owned());
        // Each capture has its own header line.
        self.late += self.held.late;
        (self.text, self.held) = (QuotableText::default(), self.held.again());
        self.elsewhere = Elsewhere::default();
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        self.report = self.how.report(!is_first);
        if self.how.format == DissectFormat::Text {
            writeln!(self.text.bytes, "==> {name} <==")?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Message(message) => self.message(message),
            Event::Icmp(icmp) => self.held.note(&mut self.text, **icmp, &mut *self.report),
            Event::CrossFlow(it) => self.elsewhere.event(it),
            Event::Unanswered(it) if self.elsewhere.answers(it) => {}
            Event::Unanswered(it) => self.held.unanswered(&mut self.text, *it, &mut *self.report),
            Event::Checked(_) | Event::Datagram(_) => {}
            Event::FlowEnded(_) | Event::File(_) => {}
        }
        if self.text.bytes.len() >= BUFFER { self.write(false) } else { Ok(()) }
    }

    fn is_prompt(&self) -> bool {
        self.at_once
    }

    fn pause(&mut self, _: bool) -> io::Result<()> {
        if !self.at_once {
            return Ok(());
        }
        self.report.rest(&mut self.text.bytes);
        let is_waiting = !self.text.bytes.is_empty() || self.held.has_early();
        if is_waiting { self.write(true) } else { Ok(()) }
    }

    fn idle(&mut self) -> io::Result<()> {
        self.write(true)
    }

    fn end(&mut self, _: &mut Totals) -> io::Result<()> {
        self.write(true)
    }
}

/// The packets of the parts of a message that came in several datagrams.
fn parts(payload: &Payload<'_>) -> Box<[u64]> {
    if payload.pieces.len() < 2 || payload.transport == Transport::Tcp {
        return Box::default();
    }
    payload.pieces.iter().map(|piece| piece.frame).collect()
}
