//! `gamewire check`: checks messages against the protocols' specifications.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use dissectors::catalogue;
use dissectors::kit::{Severity, Verdict};
use dissectors::ledger::LedgerSettings;

use crate::Terminal;
use crate::capture;
use crate::check::{
    self, Baseline, BaselineError, Checker, FailOn, Fingerprint, Ignore, Outcome, RuleOutcome,
    Selection,
};
use crate::cli::{CheckArgs, CheckFormat, FilterArgs};
use crate::commands::consumer::Consumer;
use crate::commands::outputs;
use crate::commands::read::read;
use crate::commands::record::Recording;
use crate::commands::{Failure, files_of, settings_of, text_style};
use crate::config::{self, Config};
use crate::diagnose;
use crate::live::LaterOutput;
use crate::metrics::Metrics;
use crate::output_file;
use crate::report::TimeFormatter;
use crate::report::check::{Unreadable, github, json, junit, sarif, text};
use crate::session::{Event, Needs, Totals};
use crate::text::{escaped, width};

/// Runs the command; `recording` makes the capture when all else is known to be right. `true`: a finding fails
/// the capture.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub fn run(
    args: &CheckArgs,
    recording: Option<&mut Recording>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<bool, Failure> {
    let names = files_of(&args.input, None);
    let config = settings_of(&args.input, err)?;
    let demands = Demands::of(args, &config);
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?.map(Arc::new);
    if let (Some(file), Some(baseline)) = (&args.baseline, &baseline) {
        warn_of_unknown(file, baseline, err);
    }
    try_outputs(args, &config)?;
    let selection = selection(args, &config, baseline, err)?;
    recording.map_or(Ok(()), |recording| recording.run(err))?;
    let ledger_settings =
        check::ledger_settings(&config.settings, args.input.limits().protocols.remembered);
    let checker = Checker::new(selection.clone(), ledger_settings, demands.complete);
    let mut consumer = CheckConsumer {
        args,
        demands,
        selection,
        config: config.name(),
        ledger_settings,
        checker,
        names,
        terminal,
        found: false,
        lacking: None,
        lacks: false,
        outcomes: Vec::new(),
        unreadable: Vec::new(),
        totals: text::CheckTotals::default(),
        several: false,
        missing: Vec::new(),
        occurred: BTreeSet::new(),
        is_full: false,
        attacked: false,
        points: false,
        shown: 0,
        stamp: TimeFormatter::new(args.times.style()),
        out,
    };
    let ran = read(&args.input, &config, &mut consumer, terminal, err, terminal.err);
    // Results from before an unreadable file are kept.
    let outcomes = std::mem::take(&mut consumer.outcomes);
    let written = consumer.write(outcomes);
    let CheckConsumer { found, missing, occurred, is_full, selection, lacks, .. } = consumer;
    let fails = !missing.is_empty() || lacks;
    match ran.and(written) {
        // A reader that closes the pipe has seen enough; the exit code still counts findings.
        Err(failure) if failure.reader_is_gone() => return Ok(found || fails),
        ended => ended?,
    }
    for (capture, code) in &missing {
        writeln!(err, "gamewire: {capture}: required rule {code} was not exercised").ok();
    }
    if let (Some(file), Some(known)) = (&args.baseline, &selection.baseline) {
        gone(file, known, &occurred, &selection, err);
    }
    let Some(file) = &args.write_baseline else { return Ok(found || fails) };
    write_baseline(file, occurred, is_full, err)?;
    Ok(fails)
}

/// What else than standard output to name.
const NAME_A_FILE: &str = "standard output has the findings; name a file";

/// Finds out before hours of reading whether the files can be written that the command is to write.
fn try_outputs(args: &CheckArgs, config: &Config) -> Result<(), Failure> {
    if let Some(file) = args.write_baseline.as_deref() {
        outputs::refuse_dash(file, "--write-baseline", NAME_A_FILE)?;
        outputs::refuse_baseline(file, &args.input.files, config.file.as_deref())?;
        Baseline::try_writing(file)?;
    }
    if let Some(file) = args.summary.as_deref() {
        outputs::refuse_dash(file, "--summary", NAME_A_FILE)?;
        outputs::refuse_capture(file, "--summary", &args.input.files)?;
        output_file::try_appending(file).map_err(|error| Failure::unwritable(file, &error))?;
    }
    Ok(())
}

/// Writes what occurred as a baseline; `is_full`: not all of it.
fn write_baseline(
    file: &Path,
    occurred: BTreeSet<Fingerprint>,
    is_full: bool,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let (count, name) = (occurred.len(), file.to_string_lossy());
    Baseline(occurred).write(file).map_err(|failed| match failed {
        BaselineError::Unwritable { error, .. } if capture::was_interrupted(&error) => {
            Failure::Interrupted
        }
        failed => Failure::Baseline(failed),
    })?;
    let findings = if count == 1 { "finding" } else { "findings" };
    writeln!(err, "gamewire: wrote a baseline of {count} {findings} to {}", escaped(&name)).ok();
    if is_full {
        writeln!(err, "gamewire: warning: there are more: they are not in the baseline").ok();
    }
    Ok(())
}

/// Warns of unknown rules in the baseline: their findings can never occur.
fn warn_of_unknown(file: &Path, baseline: &Baseline, err: &mut dyn Write) {
    let (codes, count) = baseline.unknown();
    if count == 0 {
        return;
    }
    let findings = if count == 1 { "finding" } else { "findings" };
    // A file may have any number of them.
    let first: Vec<_> = codes.iter().take(10).map(|code| escaped(code)).collect();
    let more = if codes.len() > first.len() { ", and others" } else { "" };
    writeln!(
        err,
        "gamewire: warning: {}: {count} {findings} of rules that are not known: {}{more}; \
         was it written by another version?",
        escaped(&file.to_string_lossy()),
        first.join(", "),
    )
    .ok();
}

/// Reports baseline entries that no longer occur, except for those that the selection excludes.
fn gone(
    file: &Path,
    known: &Baseline,
    occurred: &BTreeSet<Fingerprint>,
    selection: &Selection,
    err: &mut dyn Write,
) {
    let asked_for = |known: &&Fingerprint| {
        selection.host.is_none()
            && selection.filter.is_none()
            && selection.who.is_none_or(|who| known.is_of(who))
            && catalogue::rule(&known.rule).is_none_or(|rule| selection.has(rule))
    };
    let name = file.to_string_lossy();
    for entry in known.0.difference(occurred).filter(asked_for) {
        let entry = entry.to_string();
        writeln!(err, "gamewire: {}: no longer occurs: {}", escaped(&name), escaped(&entry)).ok();
    }
}

/// The selection of rules and the severities. Rules selected on the command line are checked even
/// if the configuration ignores them.
fn selection(
    args: &CheckArgs,
    config: &Config,
    baseline: Option<Arc<Baseline>>,
    err: &mut dyn Write,
) -> Result<Selection, Failure> {
    let chosen = selection_of(&args.input.wanted, config, err)?;
    let mut ignores = chosen.ignores;
    let [select, ignored, require] = [&args.select, &args.ignore, &args.require]
        .map(|named| Vec::from_iter(named.iter().flat_map(|rules| rules.all.iter().copied())));
    ignores.retain(|code| !select.iter().any(|rule| rule.code == code));
    ignores.extend(ignored.into_iter().map(|rule| Ignore { rule, host: None }));
    let require = if require.is_empty() { config.require.clone() } else { require };
    Ok(Selection {
        select,
        ignores,
        who: args.who,
        require,
        requires_traffic: args.require_traffic,
        baseline: baseline.or_else(|| args.write_baseline.as_ref().map(|_| Arc::default())),
        ..chosen
    })
}

/// The selection from the configuration and the options about messages.
pub(super) fn selection_of(
    wanted: &FilterArgs,
    config: &Config,
    err: &mut dyn Write,
) -> Result<Selection, Failure> {
    let (ignores, warnings) = config.ignores(config::today);
    for warning in warnings {
        writeln!(err, "gamewire: warning: {warning}").ok();
    }
    let ignores = ignores.into_iter().collect();
    let host = match *wanted.host {
        [] => None,
        [host] => Some(host),
        _ => {
            let why = "check and report take one --host: the party whose findings are shown";
            return Err(Failure::Other(why.to_owned()));
        }
    };
    let (filter, severities) =
        (wanted.filter(false).map_err(Failure::Other)?, config.severities.clone());
    let typed = wanted.typed();
    Ok(Selection { ignores, host, filter, typed, severities, ..Selection::default() })
}

/// The requirements for every capture.
struct Demands {
    /// The minimum severity that fails.
    least: Severity,
    /// Broken rules change the exit code.
    fails: bool,
    /// The user states that captures are complete.
    complete: bool,
}

impl Demands {
    /// From the command line, or else from the configuration.
    fn of(args: &CheckArgs, config: &Config) -> Demands {
        let fail_on = args.fail_on.or(config.fail_on).unwrap_or(FailOn::Severity(Severity::Error));
        Demands {
            least: fail_on.least(),
            fails: fail_on != FailOn::Never,
            complete: args.complete.unwrap_or(config.complete),
        }
    }
}

struct CheckConsumer<'a> {
    args: &'a CheckArgs,
    demands: Demands,
    selection: Selection,
    /// The file of the configuration.
    config: Option<String>,
    /// Limits of state across flows.
    ledger_settings: LedgerSettings,
    checker: Checker,
    /// The names of the current capture, or of all that are merged.
    names: Vec<String>,
    terminal: Terminal<'a>,
    found: bool,
    /// What the last capture contains, if it has none of the selected traffic; whether any has
    /// none.
    lacking: Option<String>,
    lacks: bool,
    /// The outcomes so far, for formats that need all of them.
    outcomes: Vec<Outcome>,
    /// Files that cannot be read, and why.
    unreadable: Vec<Unreadable>,
    /// The sum of them, for text output.
    totals: text::CheckTotals,
    /// There is more than one capture.
    several: bool,
    /// Required rules that were not exercised, by capture.
    missing: Vec<(String, String)>,
    /// Findings that occurred, known or not, if a baseline is read or written.
    occurred: BTreeSet<Fingerprint>,
    /// There were too many to store.
    is_full: bool,
    /// An attack was found: suggest `abuse`.
    attacked: bool,
    /// Something was found that `diagnose` explains: suggest it.
    points: bool,
    /// Findings of a live capture that were shown immediately.
    shown: usize,
    stamp: TimeFormatter,
    out: &'a mut dyn Write,
}

impl Consumer for CheckConsumer<'_> {
    fn needs(&self) -> Needs {
        Checker::needs(&self.selection, &self.ledger_settings)
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.several = name.is_some();
        if let Some(name) = name {
            self.names = vec![name.to_owned()];
        }
        self.checker =
            Checker::new(self.selection.clone(), self.ledger_settings, self.demands.complete);
        Ok(())
    }

    fn selects_messages(&self) -> bool {
        false
    }

    fn complete(&self) -> bool {
        self.demands.complete
    }

    fn makes(&self) -> Vec<LaterOutput> {
        let baseline = self.args.write_baseline.clone().map(LaterOutput::Replaced);
        let summary = self.args.summary.clone().map(LaterOutput::Appended);
        baseline.into_iter().chain(summary).collect()
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.checker.event(event);
        Ok(())
    }

    fn pause(&mut self, live: bool) -> io::Result<()> {
        if !live {
            return Ok(());
        }
        let paint = self.style().text.paint;
        let mut lines = String::new();
        for found in self.checker.found().iter().skip(self.shown) {
            self.shown += 1;
            let is_reported = found.verdict != Verdict::Inconclusive;
            if is_reported && self.args.format == CheckFormat::Text {
                text::line(found, &mut self.stamp, paint, &mut lines);
            }
        }
        self.out.write_all(lines.as_bytes())?;
        self.out.flush()
    }

    fn measure(&mut self, metrics: &Metrics) {
        self.checker
            .counts()
            .for_each(|(rule, severity, count)| metrics.found(rule, severity, count));
    }

    fn running(&self) -> String {
        let [notes, warnings, errors] = self.checker.severity_counts();
        format!("{errors} errors, {warnings} warnings, {notes} notes")
    }

    fn no_traffic(&self, _: &Totals) -> Option<String> {
        self.lacking.clone()
    }

    fn has_selected(&self, _: &Totals) -> bool {
        // If there is no message that is selected, that is reported as the lack of traffic.
        true
    }

    fn unreadable(&mut self, file: &str, why: &Failure) {
        self.unreadable.push(Unreadable { file: file.to_owned(), why: why.to_string() });
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        let empty = Checker::new(Selection::default(), self.ledger_settings, false);
        let checker = std::mem::replace(&mut self.checker, empty);
        let outcome = checker.outcome(self.names.clone(), read);
        self.lacks |= !outcome.missing_traffic().is_empty();
        self.lacking = outcome.lacking.first().map(|(_, holds)| holds.clone());
        self.found |= self.demands.fails && outcome.is_broken(self.demands.least);
        self.attacked |= !outcome.attacks().is_empty();
        self.points |= outcome.findings.iter().any(diagnose::concerns);
        self.require(&outcome);
        if let Some(known) = &outcome.baselined {
            self.is_full |= known.is_full;
            self.occurred.extend(known.occurred.iter().cloned());
        }
        if self.args.format != CheckFormat::Text {
            self.outcomes.push(outcome);
            return Ok(());
        }
        let style = self.style();
        let mut lines = String::new();
        text::write(&outcome, &style, &mut lines);
        self.totals.add(&outcome, &style);
        if self.args.write_baseline.is_some() {
            return Ok(());
        }
        self.out.write_all(lines.as_bytes())?;
        self.out.flush()
    }
}

impl CheckConsumer<'_> {
    fn style(&self) -> text::Style {
        let CheckArgs { max_findings, all_rules, quiet, .. } = *self.args;
        text::Style {
            least: self.demands.least,
            most: max_findings as usize,
            all_rules,
            quiet,
            several: self.several,
            text: text_style(self.args.color, self.terminal),
            times: self.args.times.style(),
        }
    }

    /// What another command shows. Where the command has no room beside that, it has a line of its own, unbroken.
    fn hint(&self, what: &str, command: &str) -> String {
        let command = format!("gamewire {command} {}", self.files());
        let needed = width(what) + 1 + width(&command);
        match self.style().text.terminal {
            Some(terminal) if needed > terminal => format!("{what}\n  {command}\n"),
            _ => format!("{what} {command}\n"),
        }
    }

    fn write(&mut self, outcomes: Vec<Outcome>) -> Result<(), Failure> {
        let least = self.demands.least;
        let mut bytes = Vec::new();
        let is_reported = !outcomes.is_empty() || !self.unreadable.is_empty();
        if !is_reported && self.args.format != CheckFormat::Text {
            return Ok(());
        }
        match self.args.format {
            CheckFormat::Text if self.args.write_baseline.is_some() => {}
            CheckFormat::Text => {
                let mut line = String::new();
                self.totals.write(&self.style(), &mut line);
                if self.attacked && !self.args.quiet {
                    line += &self.hint("What attacks these are:", "abuse");
                }
                if self.points && !self.args.quiet {
                    line += &self.hint("What this means for players, and what to do:", "diagnose");
                }
                bytes = line.into_bytes();
            }
            CheckFormat::Json => {
                let outcome = Outcome::sum(outcomes).unwrap_or_else(|| self.nothing_read());
                let config = self.config.as_deref();
                json::write(&outcome, &self.unreadable, least, config, &mut bytes)
                    .map_err(io::Error::from)?;
            }
            CheckFormat::Junit => {
                let mut document = String::new();
                let config = self.config.as_deref();
                junit::write(&outcomes, &self.unreadable, least, config, &mut document);
                bytes = document.into_bytes();
            }
            CheckFormat::Sarif => {
                let config = self.config.as_deref();
                sarif::write(&outcomes, &self.unreadable, config, &mut bytes)
                    .map_err(io::Error::from)?;
            }
            CheckFormat::Github => {
                let mut lines = String::new();
                github::write(&outcomes, &self.unreadable, &mut lines);
                bytes = lines.into_bytes();
                if let Some(file) = &self.args.summary {
                    append(file, &github::summary(&outcomes, &self.unreadable, least))?;
                }
            }
        }
        Ok(self.out.write_all(&bytes)?)
    }

    /// The outcome without any capture.
    fn nothing_read(&self) -> Outcome {
        let selection = Selection { require: Vec::new(), ..self.selection.clone() };
        let checker = Checker::new(selection, self.ledger_settings, false);
        let outcome = checker.outcome(Vec::new(), &mut Totals::default());
        Outcome { lacking: Vec::new(), ..outcome }
    }

    /// The input for suggested commands: one file, or a placeholder for several.
    fn files(&self) -> String {
        if self.args.input.called.is_some() {
            return "FILE (-w FILE keeps the recording)".to_owned();
        }
        let files = self.args.input.files.iter().chain(&self.args.input.read);
        let files: Vec<_> = files.take(2).map(|file| file.to_string_lossy()).collect();
        match &files[..] {
            [file] => escaped(file).into_owned(),
            _ => "FILE...".to_owned(),
        }
    }

    fn require(&mut self, outcome: &Outcome) {
        let capture = outcome.captures.first().cloned().unwrap_or_default();
        for rule in &self.selection.require {
            // A rule that is not selected is not exercised, either.
            let is = |rule_outcome: &RuleOutcome| {
                rule_outcome.rule == *rule && rule_outcome.missing == 0
            };
            if !outcome.rules.iter().any(is) {
                self.missing.push((capture.clone(), rule.code.to_string()));
            }
        }
    }
}

/// Appends to a file, which is created if needed.
fn append(file: &Path, text: &str) -> Result<(), Failure> {
    output_file::append(file)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::unwritable(file, &error))
}
