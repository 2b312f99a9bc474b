//! `gamewire summary`: an overview of a capture.

use std::io::{self, Write};
use std::time::Duration;

use dissectors::ledger::LedgerSettings;

use crate::Terminal;
use crate::check::{self, Reviewer};
use crate::cli::{self, SummaryFormat};
use crate::commands::consumer::Consumer;
use crate::commands::read::read;
use crate::commands::{Failure, files_of, text_style};
use crate::filter::Filter;
use crate::report::paint::TextStyle;
use crate::report::summary::{SummaryOptions, SummaryReport};
use crate::rows::{PacketPlaces, Table};
use crate::session::{Decoder, Event, Needs, Totals};
use crate::summary::Summary;

/// Rows per table in text output.
const ROWS: usize = 20;

/// The interval of updates in place.
const IN_PLACE: Duration = Duration::from_secs(1);

/// Moves the cursor to the top and clears the terminal.
const ABOVE: &[u8] = b"\x1b[H\x1b[2J";

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &cli::SummaryArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let bytes = args.input.limits().flow_bytes / 4;
    let filter = args.input.wanted.filter(true).map_err(Failure::Other)?;
    let ledger_settings =
        check::ledger_settings(&config.settings, args.input.limits().protocols.remembered);
    let mut consumer = SummaryConsumer {
        args,
        bytes,
        summary: Summary::new(bytes, filter.is_some()),
        filter,
        has_selected: false,
        ledger_settings,
        reviewer: Reviewer::new(ledger_settings, false),
        style: text_style(args.color, terminal),
        is_terminal: terminal.out,
        rows: terminal.rows,
        capture: None,
        has_begun: false,
        out,
    };
    let running = terminal.err && !terminal.out;
    read(&args.input, &config, &mut consumer, terminal, err, running)
}

struct SummaryConsumer<'w> {
    args: &'w cli::SummaryArgs,
    /// Memory limit for the tables of a capture.
    bytes: usize,
    summary: Summary,
    /// Selects the messages that count. The others tell which of those were answered.
    filter: Option<Filter>,
    /// A message of the latest capture was selected.
    has_selected: bool,
    /// The thresholds of attacks.
    ledger_settings: LedgerSettings,
    /// What only the whole capture shows.
    reviewer: Reviewer,
    style: TextStyle,
    is_terminal: bool,
    /// Its height.
    rows: Option<usize>,
    /// The capture's name, if there are several.
    capture: Option<String>,
    has_begun: bool,
    out: &'w mut dyn Write,
}

impl Consumer for SummaryConsumer<'_> {
    fn needs(&self) -> Needs {
        // With some of the messages, it is unknown how many there were.
        if self.filter.is_some() {
            return Summary::needs(true);
        }
        Summary::needs(false).and(Reviewer::needs(&self.ledger_settings))
    }

    fn selects_messages(&self) -> bool {
        false
    }

    fn has_selected(&self, _: &Totals) -> bool {
        self.has_selected
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.capture = name.map(str::to_owned);
        self.has_selected = false;
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let is_wanted = event.is_wanted(self.filter.as_ref());
        self.has_selected |= is_wanted && matches!(event, Event::Message(_));
        self.summary.event(event, is_wanted);
        if self.filter.is_none() {
            self.reviewer.event(event);
        }
        Ok(())
    }

    /// The tables show it.
    fn no_traffic(&self, _: &Totals) -> Option<String> {
        None
    }

    fn interval(&self) -> Option<Duration> {
        let given = self.args.interval.and_then(|time| u64::try_from(time).ok());
        let in_place = self.is_in_place().then_some(IN_PLACE);
        given.map(Duration::from_nanos).or(in_place)
    }

    /// Open flows count as if they had ended.
    fn so_far(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        let mut summary = self.summary.clone();
        let mut read = decoder.so_far(|row| summary.flow(row));
        if let Some(traffic) = decoder.traffic() {
            read.traffic.loads = traffic.loads.clone();
        }
        if self.is_in_place() {
            self.out.write_all(ABOVE)?;
            self.has_begun = false;
        }
        // Only what is on the screen can be seen.
        let rows = self.rows.filter(|_| self.is_in_place() && self.args.top.is_none());
        let reviewer = self.reviewer.clone();
        self.write(summary, &mut read, reviewer, rows)
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        let empty = Summary::new(self.bytes, self.filter.is_some());
        let summary = std::mem::replace(&mut self.summary, empty);
        if self.is_in_place() {
            self.out.write_all(ABOVE)?;
            self.has_begun = false;
        }
        let reviewer = Reviewer::new(self.ledger_settings, false);
        let reviewer = std::mem::replace(&mut self.reviewer, reviewer);
        self.write(summary, read, reviewer, None)
    }
}

impl SummaryConsumer<'_> {
    /// Whether the tables of a live capture are updated in place.
    fn is_in_place(&self) -> bool {
        let is_live = self.args.input.live.interface.is_some();
        is_live && self.is_terminal && self.args.format == SummaryFormat::Text
    }

    /// `rows`: only what fits into so many lines of the terminal.
    fn write(
        &mut self,
        mut summary: Summary,
        read: &mut Totals,
        reviewer: Reviewer,
        rows: Option<usize>,
    ) -> io::Result<()> {
        let is_for_people =
            matches!(self.args.format, SummaryFormat::Text | SummaryFormat::Markdown);
        let top = self.args.top.map(|top| top as usize);
        let shown = SummaryOptions {
            table: self.args.table,
            order: self.args.sort.clone(),
            times: self.args.times.style(),
            top: top.unwrap_or(if is_for_people { ROWS } else { usize::MAX }),
        };
        let capture = self.capture.as_deref();
        let (reviewed, attacks) = reviewer.end(read);
        summary.settle(&reviewed);
        let report = SummaryReport::new(&summary, read, capture, shown);
        let mut report = report.with_attacks(attacks);
        let mut bytes = Vec::new();
        if is_for_people && self.has_begun {
            bytes.push(b'\n');
        }
        match self.args.format {
            SummaryFormat::Text => match rows {
                Some(rows) => report.screen(rows, self.style, &mut bytes),
                None => report.text(self.style, &mut bytes),
            },
            SummaryFormat::Markdown => report.markdown(&mut bytes),
            SummaryFormat::Json => report.json(&mut bytes),
            SummaryFormat::Csv => {
                let table = self.args.table.unwrap_or(Table::Servers);
                let name = PacketPlaces::new(&files_of(&self.args.input, capture)).capture();
                report.csv(table, &name, !self.has_begun, &mut bytes);
            }
        }
        self.has_begun = true;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}
