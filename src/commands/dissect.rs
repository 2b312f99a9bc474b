//! `gamewire dissect`: every message, in capture order.

use std::fmt;
use std::io::{self, Write};

use dissectors::Id;
use dissectors::kit::{Audience, Finding, Judge, Message, Payload, Show, Tree};

use crate::Terminal;
use crate::cli::{Dissect, DissectFormat};
use crate::commands::read::{Command, read};
use crate::commands::{Failure, painted};
use crate::limits::Limits;
use crate::net::Tunnels;
use crate::report::json::Json;
use crate::report::text::{Detail, Text};
use crate::report::{Envelope, Report};
use crate::session::{Scene, Session, Told, View};

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
    let report: Box<dyn Report> = match args.format {
        DissectFormat::Text => {
            let detail = Detail { fields: args.verbose, bytes: args.hex };
            Box::new(Text::new(detail, painted(args.color, terminal.out)))
        }
        DissectFormat::Json => Box::new(Json::new(args.tree)),
    };
    let headings = args.format == DissectFormat::Text;
    let audience = Printer {
        report,
        scene: None,
        told: Told::default(),
        text: Vec::with_capacity(BUFFER),
        at_once: terminal.out || args.line_buffered || args.input.live.interface.is_some(),
        headings,
        out,
        error: None,
    };
    let limits = Limits::with(&args.input.limit);
    let tree = Tree::bounded(limits.fields, limits.depth);
    let judge = Judge::new(config.severities.clone());
    let mut dissecting = Dissecting { show: Show { judge, tree, ..Show::new(audience) } };
    read(&args.input, &config, &mut dissecting, err, terminal.err && !terminal.out)
}

struct Dissecting<'w> {
    show: Show<Printer<'w>>,
}

impl<'w> Command for Dissecting<'w> {
    type View = Show<Printer<'w>>;

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        let printer = &mut self.show.audience;
        if let Some(name) = name.filter(|_| printer.headings) {
            writeln!(printer.text, "==> {name} <==")?;
        }
        Ok(())
    }

    fn view(&mut self) -> &mut Self::View {
        &mut self.show
    }

    fn check(&mut self) -> io::Result<()> {
        self.show.audience.error.take().map_or(Ok(()), Err)
    }

    fn end(&mut self, _: &Session) -> io::Result<()> {
        self.show.audience.write();
        self.check()
    }
}

/// Writes each message as it becomes whole.
struct Printer<'w> {
    report: Box<dyn Report>,
    scene: Option<Scene>,
    told: Told,
    text: Vec<u8>,
    at_once: bool,
    headings: bool,
    out: &'w mut dyn Write,
    error: Option<io::Error>,
}

impl Printer<'_> {
    fn write(&mut self) {
        let written = self.out.write_all(&self.text).and_then(|()| self.out.flush());
        self.text.clear();
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }
}

impl Audience for Printer<'_> {
    fn message(
        &mut self,
        message: &'static Message,
        payload: &Payload<'_>,
        tree: &Tree,
        findings: &[Finding],
    ) {
        let Some(Scene { protocol: Some(id), digits, tunnels, .. }) = &self.scene else { return };
        self.told.messages += 1;
        self.told.findings += findings.len() as u32;
        let via = Via(*tunnels);
        let via: Option<&dyn fmt::Display> = if tunnels.is_empty() { None } else { Some(&via) };
        let info = Id::info(*id);
        let envelope = Envelope { info, message, payload, tree, findings, digits: *digits, via };
        self.report.message(&envelope, &mut self.text);
        if self.at_once || self.text.len() >= BUFFER {
            self.write();
        }
    }
}

impl View for Show<Printer<'_>> {
    fn scene(&mut self, scene: &Scene) {
        self.audience.scene = Some(*scene);
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
