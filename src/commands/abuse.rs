//! `gamewire abuse`: attacks, and whether their sources are forged.

use std::io::{self, Write};
use std::time::Duration;

use dissectors::kit::Transport;
use dissectors::ledger::LedgerSettings;
use dissectors::net_rules::{NET005, NET011};

use crate::Terminal;
use crate::abuse::{Abuse, AbuseSetting, Attack, AttackKind};
use crate::check;
use crate::cli::{self, AbuseFormat};
use crate::commands::abuse_reports::AttackReports;
use crate::commands::consumer::Consumer;
use crate::commands::read::{identifier, read};
use crate::commands::{Failure, text_style};
use crate::live::LaterOutput;
use crate::metrics::{AttackRate, Metrics};
use crate::report::abuse::AbuseReport;
use crate::report::firewall::RuleNames;
use crate::report::paint::TextStyle;
use crate::session::{Decoder, Event, Needs, Totals};

/// The interval of attacks in metrics, if there is no `--interval`.
const MEASURED: Duration = Duration::from_secs(10);

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &cli::AbuseArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let config = args.input.config.load()?;
    let limits = args.input.limits();
    let ledger_settings: LedgerSettings =
        check::ledger_settings(&config.settings, limits.protocols.remembered);
    let setting =
        AbuseSetting { ledger_settings, networks: args.prefix.0, collateral: args.collateral };
    check_interval(args.interval, &ledger_settings)?;
    let identifier = identifier(&args.input, &config);
    let reports = args.report.as_deref().zip(args.reporter.as_ref());
    let reports = reports.map(|(folder, reporter)| AttackReports::into_folder(folder, reporter));
    let has_reports = reports.is_some();
    let new = move || {
        let abuse = Abuse::new(limits.attack_bytes(), setting, identifier.clone());
        if has_reports { abuse.with_senders() } else { abuse }
    };
    let mut consumer = AbuseConsumer {
        args,
        reports: reports.transpose()?,
        rule_names: RuleNames::default(),
        rates: Vec::new(),
        // Without `--interval`, the report covers the whole capture, and metrics the latest
        // interval.
        recent: (args.input.live.metrics.is_some() && args.interval.is_none()).then(&new),
        abuse: new(),
        new: Box::new(new),
        style: text_style(args.color, terminal),
        capture: None,
        has_begun: false,
        has_traffic: false,
        reported: [0; 3],
        out,
    };
    let running = terminal.err && !terminal.out;
    let ran = read(&args.input, &config, &mut consumer, terminal, err, running);
    if args.interval.is_none() {
        let end = consumer.end_of_rules();
        consumer.out.write_all(end.as_bytes())?;
        consumer.out.flush()?;
    }
    let reports = consumer.reports.iter().filter(|it| ran.is_ok() || !it.is_empty());
    reports.for_each(|reports| reports.say(err));
    ran
}

/// A flood is measured over its window, which the interval must not cut short.
fn check_interval(interval: Option<i64>, settings: &LedgerSettings) -> Result<(), Failure> {
    let window = settings.abuse.flood_window;
    if interval.is_none_or(|interval| interval >= window) {
        return Ok(());
    }
    let seconds = window as f64 / 1e9;
    Err(Failure::Other(format!(
        "--interval is shorter than the {seconds} s over which a flood is measured (flood-window in \
         gamewire.toml): use --interval {seconds}s or longer"
    )))
}

struct AbuseConsumer<'w> {
    args: &'w cli::AbuseArgs,
    /// Abuse reports, if requested.
    reports: Option<AttackReports>,
    /// Names of firewall rules, of all captures so far.
    rule_names: RuleNames,
    /// The attacks that metrics show.
    rates: Vec<AttackRate>,
    abuse: Abuse,
    /// The attacks since the last update of metrics, if these differ from the reports.
    recent: Option<Abuse>,
    /// For the next capture.
    new: Box<dyn Fn() -> Abuse + 'w>,
    style: TextStyle,
    /// The capture's name, if there are several.
    capture: Option<String>,
    has_begun: bool,
    /// There was supported traffic.
    has_traffic: bool,
    /// All packets, those of TCP, and unfinished datagrams, that earlier reports on this capture were about.
    reported: [u64; 3],
    out: &'w mut dyn Write,
}

impl AbuseConsumer<'_> {
    /// What ends the rules of a firewall.
    fn end_of_rules(&self) -> String {
        self.args.emit.map_or_else(String::new, |firewall| self.rule_names.end(firewall))
    }
}

impl Consumer for AbuseConsumer<'_> {
    fn needs(&self) -> Needs {
        Abuse::needs()
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.capture = name.map(str::to_owned);
        self.has_traffic = false;
        self.reported = [0; 3];
        Ok(())
    }

    fn makes(&self) -> Vec<LaterOutput> {
        self.reports.iter().map(AttackReports::output).collect()
    }

    fn measure(&mut self, metrics: &Metrics) {
        metrics.attacks(&AttackKind::ALL.map(AttackKind::name), &self.rates);
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.abuse.event(event);
        self.recent.iter_mut().for_each(|recent| recent.event(event));
        Ok(())
    }

    fn no_traffic(&self, read: &Totals) -> Option<String> {
        // With a filter, only what it selects was counted.
        let is_all = self.args.input.wanted.is_all();
        // What TCP carries is looked at elsewhere, and said in the result.
        let has_tcp = read.foreign.packets(Transport::Tcp) > 0;
        if self.has_traffic || has_tcp || !is_all && read.packets > 0 {
            None
        } else {
            read.no_traffic()
        }
    }

    fn interval(&self) -> Option<Duration> {
        let given = self.args.interval.and_then(|time| u64::try_from(time).ok());
        given.map(Duration::from_nanos).or(self.recent.as_ref().map(|_| MEASURED))
    }

    /// Each report covers the time since the previous one.
    fn so_far(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        if let Some(recent) = &mut self.recent {
            self.rates = recent.attacks().iter().map(rate).collect();
            recent.begin_anew();
            return Ok(());
        }
        let read = decoder.so_far(|_| ());
        self.write(&read)?;
        self.abuse.begin_anew();
        Ok(())
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        self.write(read)?;
        self.abuse = (self.new)();
        Ok(())
    }
}

impl AbuseConsumer<'_> {
    fn write(&mut self, read: &Totals) -> io::Result<()> {
        self.has_traffic |= !self.abuse.is_empty();
        self.abuse.spans(read.span);
        let attacks = self.abuse.attacks();
        self.rates = attacks.iter().map(rate).collect();
        if let Some(reports) = &mut self.reports {
            reports.write(&attacks, &self.abuse)?;
        }
        let unfinished = [&NET005, &NET011].map(|rule| read.rules.of(rule).findings());
        let unfinished = unfinished.iter().sum();
        let read_by_now = [read.packets, read.foreign.packets(Transport::Tcp), unfinished];
        let reported = std::mem::replace(&mut self.reported, read_by_now);
        let [packets, tcp, unfinished] =
            [0, 1, 2].map(|nth| read_by_now[nth].saturating_sub(reported[nth]));
        let report = AbuseReport {
            attacks: &attacks,
            capture: self.capture.as_deref(),
            digits: read.digits,
            times: (self.args.times.style(), read.span.map(|[first, _]| first)),
            omitted: self.abuse.omitted(),
            packets,
            tcp,
            unfinished,
            seen: self.abuse.seen(),
        };
        let mut bytes = Vec::new();
        match self.args.format {
            _ if self.args.emit.is_some() => {
                if self.args.interval.is_some() {
                    // Each report replaces the one before it.
                    self.rule_names = RuleNames::default();
                }
                let names = &mut self.rule_names;
                self.args.emit.iter().for_each(|it| report.rules(*it, names, &mut bytes));
                if self.args.interval.is_some() {
                    bytes.extend_from_slice(self.end_of_rules().as_bytes());
                }
            }
            AbuseFormat::Text => {
                if self.has_begun {
                    bytes.push(b'\n');
                }
                report.text(self.style, &mut bytes);
            }
            AbuseFormat::Json => report.json(&mut bytes),
        }
        self.has_begun = true;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}

fn rate(attack: &Attack) -> AttackRate {
    AttackRate { seat: attack.kind.name(), target: attack.target, rate: attack.rate[0] }
}
