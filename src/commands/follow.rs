//! `gamewire follow`: conversations as a ladder.

use std::io::{self, Write};

use crate::Terminal;
use crate::capture::Packet;
use crate::cli::{FollowArgs, FollowFormat};
use crate::commands::consumer::Consumer;
use crate::commands::elsewhere::Elsewhere;
use crate::commands::read::read;
use crate::commands::segments::Segments;
use crate::commands::{Failure, painted};
use crate::filter::Filter;
use crate::report::ladder::Ladder;
use crate::report::paint::Paint;
use crate::report::{Envelope, TimeFormatter};
use crate::session::{Event, Findings, Needs, Totals};

/// The width of a ladder if the output is not a terminal.
const COLUMNS: usize = 120;

/// Maximum number of hosts in a text ladder.
const HOSTS: usize = 12;

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &FollowArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let mut following = FollowConsumer {
        args,
        filter: args.input.wanted.filter(true).map_err(Failure::Other)?,
        has_selected: false,
        ladder: Ladder::default(),
        segments: Segments::default(),
        elsewhere: Elsewhere::default(),
        paint: painted(args.color, terminal.out),
        columns: terminal.columns.unwrap_or(COLUMNS),
        is_terminal: terminal.columns.is_some(),
        capture: None,
        warnings: Vec::new(),
        out,
    };
    let running = terminal.err && !terminal.out;
    let ran = read(&args.input, &config, &mut following, terminal, err, running);
    for warning in following.warnings {
        writeln!(err, "gamewire: warning: {warning}").ok();
    }
    ran
}

struct FollowConsumer<'w> {
    args: &'w FollowArgs,
    /// Selects the messages that are drawn. The others tell which of those were answered.
    filter: Option<Filter>,
    has_selected: bool,
    ladder: Ladder,
    segments: Segments,
    elsewhere: Elsewhere,
    paint: Paint,
    /// The width of ladders.
    columns: usize,
    /// That is the width of a terminal.
    is_terminal: bool,
    /// The capture's name, if there are several.
    capture: Option<String>,
    warnings: Vec<String>,
    out: &'w mut dyn Write,
}

impl Consumer for FollowConsumer<'_> {
    fn needs(&self) -> Needs {
        let findings = Findings::All { in_words: true };
        Needs {
            icmp: true,
            elsewhere: true,
            unanswered: true,
            findings,
            ..Needs::messages_with_fields()
        }
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

    fn sees_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, frame: u64, packet: &Packet<'_>) {
        self.segments.packet(frame, packet);
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Message(message) => {
                let payload = message.payload();
                if self.filter.as_ref().is_some_and(|filter| !message.is_wanted(filter)) {
                    let (effect, sending) = (message.exchange(), message.sending());
                    self.ladder.undrawn(effect, sending, message.reply(), &payload);
                } else if let Some(envelope) = Envelope::of(message) {
                    let (findings, mut room) = (message.checked().findings, Vec::new());
                    let certain = self.elsewhere.certain(payload.frame, findings, &mut room);
                    self.has_selected = true;
                    self.ladder.message(&envelope.with_findings(certain));
                    self.segments.message(&payload);
                }
            }
            Event::Icmp(icmp) => self.ladder.icmp(icmp),
            Event::Unanswered(request) => self.ladder.unanswered(request),
            Event::CrossFlow(it) => self.elsewhere.event(it),
            Event::Checked(_) | Event::FlowEnded(_) | Event::Datagram(_) | Event::File(_) => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Totals) -> io::Result<()> {
        let mut ladder = std::mem::take(&mut self.ladder);
        let segments = std::mem::take(&mut self.segments);
        ladder.settle();
        ladder.segments_again(segments.again());
        let called = self.capture.as_ref().map_or(String::new(), |name| format!("{name}: "));
        if ladder.left_out() > 0 {
            let (left_out, help) = (ladder.left_out(), "choose some with --flow, --host or -Y");
            self.warnings.push(format!("{called}{left_out} messages are not drawn; {help}"));
        }
        let mut stamp = TimeFormatter::new(self.args.times.style());
        let mut bytes = Vec::new();
        match self.args.format {
            FollowFormat::Json => ladder.json(self.capture.as_deref(), &mut bytes),
            FollowFormat::Mermaid => ladder.mermaid(&mut stamp, &mut bytes),
            FollowFormat::Svg => ladder.svg(&mut stamp, &mut bytes),
            FollowFormat::Text if ladder.is_empty() => {
                self.warnings.push(format!("{called}no message to draw"));
            }
            FollowFormat::Text => {
                if ladder.parties() > HOSTS {
                    let (hosts, help) = (ladder.parties(), "choose some with --flow, --host or -Y");
                    self.warnings.push(format!("{called}{hosts} hosts do not fit; {help}"));
                }
                if let Some(name) = &self.capture {
                    writeln!(bytes, "==> {name} <==")?;
                }
                ladder.text(self.columns, self.is_terminal, &mut stamp, self.paint, &mut bytes);
            }
        }
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}
