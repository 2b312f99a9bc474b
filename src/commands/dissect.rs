//! `gamewire dissect`: every message, in capture order.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use dissectors::Id;
use dissectors::kit::{
    Audience, Judge, Message, Payload, Reply, Severities, Show, Time, Tree, Verdict,
};

use crate::Terminal;
use crate::cli::{Dissect, DissectFormat};
use crate::commands::read::{Command, Slice, read};
use crate::commands::{Failure, painted};
use crate::flows::Told;
use crate::limits::Limits;
use crate::net::Tunnels;
use crate::report::json::Json;
use crate::report::paint::Paint;
use crate::report::text::{Detail, Text};
use crate::report::{Envelope, Report, unsigned};
use crate::session::{Moment, Scene, Totals, View};

/// How much is collected before it is written to what is no terminal.
const BUFFER: usize = 64 << 10;

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
    let mut dissecting = Dissecting {
        show: how.show(None),
        heading: how.report(),
        at_once: terminal.out || args.line_buffered || args.input.live.interface.is_some(),
        how,
        out,
    };
    read(&args.input, &config, &mut dissecting, err, terminal.err && !terminal.out)
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

    fn show(&self, places: Option<Vec<(Moment, Place)>>) -> Show<Collector> {
        let (report, text) = (self.report(), Vec::with_capacity(BUFFER));
        let collector = Collector { report, scene: None, told: Told::default(), text, places };
        let tree = Tree::bounded(self.limits.fields, self.limits.depth);
        let judge = Judge::new(self.severities.clone());
        Show { judge, tree, ..Show::new(collector) }
    }
}

struct Dissecting<'w> {
    show: Show<Collector>,
    /// Writes what stands above messages that others have shown.
    heading: Box<dyn Report>,
    how: How,
    at_once: bool,
    out: &'w mut dyn Write,
}

impl Dissecting<'_> {
    fn write(&mut self) -> io::Result<()> {
        let text = &mut self.show.audience.text;
        let written = self.out.write_all(text).and_then(|()| self.out.flush());
        text.clear();
        written
    }
}

impl Command for Dissecting<'_> {
    type View = Show<Collector>;
    type Entry = Place;

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        let Some(name) = name else { return Ok(()) };
        self.how.capture = Some(name.to_owned());
        // Each capture has its own headings, whoever reads it.
        (self.show, self.heading) = (self.how.show(None), self.how.report());
        if self.how.format == DissectFormat::Text {
            writeln!(self.show.audience.text, "==> {name} <==")?;
        }
        Ok(())
    }

    fn view(&mut self) -> &mut Self::View {
        &mut self.show
    }

    fn check(&mut self) -> io::Result<()> {
        let length = self.show.audience.text.len();
        if length >= BUFFER || self.at_once && length > 0 { self.write() } else { Ok(()) }
    }

    fn part(&self) -> Option<Self::View> {
        Some(self.how.show(Some(Vec::new())))
    }

    fn waiting(part: &Self::View) -> usize {
        part.audience.text.len()
    }

    fn cut(part: &mut Self::View, slice: &mut Slice<Place>) {
        let collector = &mut part.audience;
        if let Some(places) = &mut collector.places {
            std::mem::swap(places, &mut slice.entries);
        }
        std::mem::swap(&mut collector.text, &mut slice.text);
    }

    fn take(&mut self, _: Moment, place: &mut Place, text: &[u8], number: &dyn Fn(u32) -> u32) {
        let out = &mut self.show.audience.text;
        self.heading.heading(place.time, out);
        let get = |range: Range<usize>| text.get(range).unwrap_or_default();
        let Some(told) = &place.number else {
            out.extend_from_slice(get(place.text.clone()));
            return;
        };
        out.extend_from_slice(get(place.text.start..told.start));
        unsigned(out, number(place.flow).into());
        out.extend_from_slice(get(told.end..place.text.end));
    }

    fn end(&mut self, _: &Totals) -> io::Result<()> {
        self.write()
    }
}

/// Collects what is written of the messages as they become whole.
struct Collector {
    report: Box<dyn Report + Send>,
    scene: Option<Scene>,
    told: Told,
    text: Vec<u8>,
    /// Where the messages stand in the text, where others than us put them in order.
    places: Option<Vec<(Moment, Place)>>,
}

/// Where a message stands in a text.
struct Place {
    time: Time,
    flow: u32,
    text: Range<usize>,
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
        let Some(Scene { protocol: Some(id), digits, tunnels, moment, copy_of, .. }) = &self.scene
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
        let (time, flow, start) = (payload.time, payload.flow, self.text.len());
        if self.places.is_none() {
            self.report.heading(time, &mut self.text);
        }
        let number = self.report.message(&envelope, &mut self.text);
        if let Some(places) = &mut self.places {
            places.push((*moment, Place { time, flow, text: start..self.text.len(), number }));
        }
    }
}

impl View for Show<Collector> {
    #[inline]
    fn scene(&mut self, scene: Scene) {
        self.audience.scene = Some(scene);
    }

    fn settle(&mut self) -> Told {
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
