//! `gamewire abuse`: who is attacked, how, and whether the sources are forged.

use std::io::{self, Write};
use std::path::PathBuf;

use dissectors::ledger::Terms;

use crate::Terminal;
use crate::abuse::{Abuse, Attack, Seat, Senders};
use crate::check;
use crate::cli::{self, AbuseFormat};
use crate::commands::abuse_reports::Reports;
use crate::commands::consumer::Consumer;
use crate::commands::read::read;
use crate::commands::{Failure, painted};
use crate::metrics::{AttackRate, Metrics};
use crate::report::abuse::Report;
use crate::report::paint::Paint;
use crate::session::{Event, Needs, Totals};

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &cli::Abuse,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let limits = args.input.limits();
    let terms = check::terms(&config.settings, limits.protocols.remembered);
    let bytes = limits.flow_bytes / 4;
    let reports = args.report.as_deref().zip(args.reporter.as_ref());
    let reports = reports.map(|(folder, reporter)| Reports::into_folder(folder, reporter));
    let mut watching = Watching {
        args,
        reports: reports.transpose()?,
        senders: Senders::default(),
        rates: Vec::new(),
        terms,
        bytes,
        abuse: Abuse::new(bytes, terms),
        paint: painted(args.color, terminal.out),
        capture: None,
        has_begun: false,
        out,
    };
    let running = terminal.err && !terminal.out;
    let ran = read(&args.input, &config, &mut watching, terminal.stop, err, running);
    watching.reports.iter().for_each(|reports| reports.say(err));
    ran
}

struct Watching<'w> {
    args: &'w cli::Abuse,
    /// Reports to others, if they are wanted, and what they are made of.
    reports: Option<Reports>,
    senders: Senders,
    /// The attacks that were shown last, for metrics.
    rates: Vec<AttackRate>,
    terms: Terms,
    /// Memory for what is known of a capture.
    bytes: usize,
    abuse: Abuse,
    paint: Paint,
    /// Which capture it is, where there are several.
    capture: Option<String>,
    has_begun: bool,
    out: &'w mut dyn Write,
}

impl Consumer for Watching<'_> {
    fn needs(&self) -> Needs {
        let needs = Abuse::needs(&self.terms);
        if self.reports.is_some() { Senders::needs(needs) } else { needs }
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.capture = name.map(str::to_owned);
        Ok(())
    }

    fn makes(&self) -> Vec<PathBuf> {
        // A file in the folder.
        self.args.report.iter().map(|folder| folder.join("report")).collect()
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.abuse.event(event);
        if self.reports.is_some() {
            self.senders.event(event);
        }
        Ok(())
    }

    fn measure(&mut self, metrics: &Metrics) {
        metrics.attacks(&Seat::ALL.map(Seat::name), &self.rates);
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        let empty = Abuse::new(self.bytes, self.terms);
        let mut abuse = std::mem::replace(&mut self.abuse, empty);
        let attacks = abuse.attacks(read);
        self.rates = attacks.iter().map(rate).collect();
        let senders = std::mem::take(&mut self.senders);
        if let Some(reports) = &mut self.reports {
            reports.write(&attacks, &senders)?;
        }
        let report = Report {
            attacks: &attacks,
            capture: self.capture.as_deref(),
            digits: read.digits,
            is_cut: abuse.is_cut,
        };
        let mut bytes = Vec::new();
        match self.args.format {
            _ if self.args.emit.is_some() => {
                self.args.emit.iter().for_each(|firewall| report.rules(*firewall, &mut bytes));
            }
            AbuseFormat::Text => {
                if self.has_begun {
                    bytes.push(b'\n');
                }
                report.text(self.paint, &mut bytes);
            }
            AbuseFormat::Json => report.json(&mut bytes),
        }
        self.has_begun = true;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}

fn rate(attack: &Attack) -> AttackRate {
    AttackRate { seat: attack.seat.name(), target: attack.target, rate: attack.rate[0] }
}
