//! `gamewire dissect`: every message, in capture order.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use dissectors::Id;
use dissectors::kit::{
    Audience, Judge, Message, Payload, Reply, Severities, Show, Time, Transport, Tree, Verdict,
};

use crate::Terminal;
use crate::cli::{Dissect, DissectFormat};
use crate::commands::held::{self, BUFFER, Held};
use crate::commands::read::{Command, Slice, read};
use crate::commands::{Failure, painted};
use crate::flows::MessageCounts;
use crate::limits::Limits;
use crate::net::Tunnels;
use crate::report::json::Json;
use crate::report::paint::Paint;
use crate::report::text::{Detail, Text};
use crate::report::{Envelope, IcmpNote, Report, Written, unsigned};
use crate::session::{EventOrder, FlowContext, Observer, Quoted, Totals};

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &Dissect,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let how = How {
        format: args.format,
        detail: Detail { fields: args.verbose, bytes: args.hex },
        tree: args.tree,
        paint: painted(args.color, terminal.out),
        limits: args.input.limits(),
        severities: config.severities.clone(),
        capture: None,
    };
    let is_stream = args.input.live.interface.is_some()
        || args.input.files.iter().any(|file| file.as_os_str() == "-");
    let at_once = terminal.out || args.line_buffered || args.input.live.interface.is_some();
    let mut dissecting = Dissecting {
        show: how.show(None),
        at_once: at_once && (is_stream || args.line_buffered),
        late: 0,
        how,
        out,
    };
    let ran = read(&args.input, &config, &mut dissecting, err, terminal.err && !terminal.out);
    let late = dissecting.late + dissecting.show.audience.held.late;
    if late > 0 {
        let errors = if late == 1 { "ICMP error is" } else { "ICMP errors are" };
        let note = "about messages that were written before it came";
        writeln!(err, "gamewire: warning: {late} {errors} not shown, {note}").ok();
    }
    ran
}

/// How messages are shown.
struct How {
    format: DissectFormat,
    detail: Detail,
    tree: bool,
    paint: Paint,
    limits: Limits,
    severities: Severities,
    /// Which capture it is, where there are several.
    capture: Option<String>,
}

impl How {
    fn report(&self) -> Box<dyn Report + Send> {
        match self.format {
            DissectFormat::Text => Box::new(Text::new(self.detail, self.paint)),
            DissectFormat::Json => {
                let json = Json::new(self.tree);
                Box::new(match &self.capture {
                    Some(capture) => json.of(capture),
                    None => json,
                })
            }
        }
    }

    fn show(&self, places: Option<Vec<(EventOrder, Entry)>>) -> Show<Collector> {
        let (text, held) = (held::Text::default(), Held::default());
        let (report, told) = (self.report(), MessageCounts::default());
        let collector = Collector { report, flow_context: None, told, text, held, places };
        let tree = Tree::bounded(self.limits.fields, self.limits.depth);
        let judge = Judge::new(self.severities.clone());
        Show { judge, tree, ..Show::new(collector) }
    }
}

struct Dissecting<'w> {
    show: Show<Collector>,
    how: How,
    /// What comes while somebody waits for it is written when it comes.
    at_once: bool,
    /// See [`Held::late`]: of captures that were read before.
    late: u64,
    out: &'w mut dyn Write,
}

impl Dissecting<'_> {
    /// Writes what need not wait any more, or all.
    fn write(&mut self, all: bool) -> io::Result<()> {
        let Collector { text, held, report, .. } = &mut self.show.audience;
        let now = text.latest().filter(|_| !all);
        if all {
            held.give_up(text, &mut **report);
        }
        held.push(text);
        held.write(now, &**report, self.out)?;
        self.out.flush()
    }
}

impl Command for Dissecting<'_> {
    type Observer = Show<Collector>;
    type Entry = Entry;

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        let Some(name) = name else { return Ok(()) };
        self.how.capture = Some(name.to_owned());
        // Each capture has its own headings, whoever reads it.
        self.late += self.show.audience.held.late;
        self.show = self.how.show(None);
        if self.how.format == DissectFormat::Text {
            writeln!(self.show.audience.text.bytes, "==> {name} <==")?;
        }
        Ok(())
    }

    fn observer(&mut self) -> &mut Self::Observer {
        &mut self.show
    }

    fn check(&mut self) -> io::Result<()> {
        let Collector { text, held, .. } = &self.show.audience;
        let length = text.bytes.len();
        let at_once = self.at_once && (length > 0 || held.has_early());
        if length >= BUFFER || at_once { self.write(at_once) } else { Ok(()) }
    }

    fn part(&self) -> Option<Self::Observer> {
        Some(self.how.show(Some(Vec::new())))
    }

    fn waiting(part: &Self::Observer) -> usize {
        part.audience.text.bytes.len()
    }

    fn cut(part: &mut Self::Observer, slice: &mut Slice<Entry>) {
        let collector = &mut part.audience;
        if let Some(places) = &mut collector.places {
            std::mem::swap(places, &mut slice.entries);
        }
        std::mem::swap(&mut collector.text.bytes, &mut slice.text);
    }

    fn take(&mut self, _: EventOrder, entry: &mut Entry, text: &[u8], number: &dyn Fn(u32) -> u32) {
        let Collector { text: out, held, report, .. } = &mut self.show.audience;
        let place = match entry {
            Entry::Message(place) => place,
            Entry::Icmp(message, note) => {
                return held.note(out, *message, *note, &mut **report);
            }
        };
        report.heading(place.time, &mut out.bytes);
        let get = |range: Range<usize>| text.get(range).unwrap_or_default();
        let mut rest = place.text.clone();
        if let Some(told) = &place.number {
            out.bytes.extend_from_slice(get(rest.start..told.start));
            unsigned(&mut out.bytes, number(place.flow).into());
            rest.start = told.end;
        }
        let end = out.bytes.len() + place.end.saturating_sub(rest.start);
        out.bytes.extend_from_slice(get(rest));
        out.push(place.frame, end, place.time);
        if !place.parts.is_empty() {
            held.parts(out, &place.parts);
        }
    }

    fn end(&mut self, _: &Totals) -> io::Result<()> {
        self.write(true)
    }
}

/// Collects what is written of the messages as they become whole.
struct Collector {
    report: Box<dyn Report + Send>,
    flow_context: Option<FlowContext>,
    told: MessageCounts,
    text: held::Text,
    /// What was written before, and waits.
    held: Held,
    /// Where the messages stand in the text, where others than us put them in order.
    places: Option<Vec<(EventOrder, Entry)>>,
}

/// What is told of a part of the flows.
enum Entry {
    Message(Place),
    /// About the message in this packet.
    Icmp(u64, IcmpNote),
}

/// Where a message stands in a text.
struct Place {
    frame: u64,
    /// Packets that carried parts of it, where there are several.
    parts: Box<[u64]>,
    time: Time,
    flow: u32,
    text: Range<usize>,
    /// Where its line ends.
    end: usize,
    /// Where the number of its flow stands, if it is told.
    number: Option<Range<usize>>,
}

impl Audience for Collector {
    fn message(
        &mut self,
        message: &'static Message,
        payload: &Payload<'_>,
        tree: &Tree,
        judge: &Judge,
        reply: Option<&Reply>,
    ) {
        let Some(FlowContext { protocol: Some(id), digits, tunnels, moment, copy_of, .. }) =
            &self.flow_context
        else {
            return;
        };
        let copy_of = *copy_of;
        self.told.messages += u32::from(copy_of.is_none());
        let left_out = judge.left_out().filter(|(_, verdict, _)| *verdict != Verdict::Inconclusive);
        let (findings, findings_left_out) =
            (&*judge.findings, left_out.map(|(.., times)| times).sum::<u64>());
        let found = findings.len() as u64 + findings_left_out;
        self.told.findings += u32::try_from(found).unwrap_or(u32::MAX);
        let via = Via(*tunnels);
        let via: Option<&dyn fmt::Display> = if tunnels.is_empty() { None } else { Some(&via) };
        let info = Id::info(*id);
        let digits = *digits;
        let envelope = Envelope {
            info,
            message,
            payload,
            tree,
            findings,
            findings_left_out,
            digits,
            reply,
            copy_of,
            via,
        };
        let Payload { time, flow, frame, .. } = *payload;
        let (start, text) = (self.text.bytes.len(), &mut self.text.bytes);
        if self.places.is_none() {
            self.report.heading(time, text);
        }
        let Written { flow: number, end } = self.report.message(&envelope, text);
        let parts = parts(payload);
        match &mut self.places {
            Some(places) => {
                let text = start..text.len();
                let place = Place { frame, parts, time, flow, text, end, number };
                places.push((*moment, Entry::Message(place)));
            }
            None => {
                self.text.push(frame, end, time);
                if !parts.is_empty() {
                    self.held.parts(&mut self.text, &parts);
                }
            }
        }
    }
}

/// The packets of the parts of a message that came in several datagrams.
fn parts(payload: &Payload<'_>) -> Box<[u64]> {
    if payload.pieces.len() < 2 || payload.transport == Transport::Tcp {
        return Box::default();
    }
    payload.pieces.iter().map(|piece| piece.frame).collect()
}

impl Observer for Show<Collector> {
    #[inline]
    fn flow_context(&mut self, flow_context: FlowContext) {
        self.audience.flow_context = Some(flow_context);
    }

    fn icmp(&mut self, quoted: &Quoted<'_>) {
        let collector = &mut self.audience;
        let Some(FlowContext { moment, digits, .. }) = collector.flow_context else { return };
        let error = quoted.error;
        let note = IcmpNote {
            frame: quoted.frame,
            time: quoted.time,
            digits,
            from: error.ip.source,
            kind: [error.kind, error.code],
            meaning: error.meaning(),
        };
        match &mut collector.places {
            Some(places) => places.push((moment, Entry::Icmp(quoted.message, note))),
            None => {
                let Collector { report, text, held, .. } = collector;
                held.note(text, quoted.message, note, &mut **report);
            }
        }
    }

    fn settle(&mut self) -> MessageCounts {
        self.clear();
        std::mem::take(&mut self.audience.told)
    }
}

/// The tunnels that a packet came through, outermost first: `vxlan 42`, `gre > ipip`.
struct Via(Tunnels);

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, tunnel) in self.0.iter().enumerate() {
            let arrow = if at > 0 { " > " } else { "" };
            write!(f, "{arrow}{}", tunnel.name())?;
        }
        match self.0.identifier() {
            Some(identifier) => write!(f, " {identifier}"),
            None => Ok(()),
        }
    }
}
