//! `gamewire check`: what was said, judged by the protocols' documents.

use std::io::{self, Write};

use dissectors::kit::{Rule, Severity};

use crate::Terminal;
use crate::check::{Checker, Fared, Ignore, Outcome, Selection};
use crate::cli::{Check, CheckFormat};
use crate::commands::read::{Command, read};
use crate::commands::{Failure, painted};
use crate::config::{self, Config};
use crate::report::check::{github, json, junit, sarif, text};
use crate::session::Session;
use crate::text::escaped;

/// Runs the command. `true`: something was found that fails.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &Check,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<bool, Failure> {
    let merged = args.input.files.iter().map(|file| escaped(&file.to_string_lossy()).into_owned());
    let names = merged.collect();
    let config = args.input.config.load()?;
    let demands = Demands::of(args, &config);
    let selection = selection(args, &config, err);
    let checker = Checker::new(selection.clone());
    let mut checking = Checking {
        args,
        demands,
        selection,
        checker,
        names,
        terminal,
        found: false,
        outcomes: Vec::new(),
        missing: Vec::new(),
        out,
    };
    let ran = read(&args.input, &config, &mut checking, err, terminal.err && !terminal.out);
    // What was worked out before a file that cannot be read is not lost.
    let outcomes = std::mem::take(&mut checking.outcomes);
    if !outcomes.is_empty() {
        checking.write(outcomes)?;
    }
    ran?;
    let Checking { found, missing, .. } = checking;
    for (capture, code) in &missing {
        writeln!(err, "gamewire: {capture}: required rule {code} was not exercised").ok();
    }
    Ok(found || !missing.is_empty())
}

/// What is not judged by these rules, what by these only, and what everything weighs. What the
/// command line selects is judged whatever the configuration ignores.
fn selection(args: &Check, config: &Config, err: &mut dyn Write) -> Selection {
    let (mut ignores, warnings) = config.ignores(config::today());
    for warning in warnings {
        writeln!(err, "gamewire: warning: {warning}").ok();
    }
    ignores.retain(|ignore| !args.select.iter().any(|rule| rule.code == ignore.rule.code));
    ignores.extend(args.ignore.iter().map(|&rule| Ignore { rule, host: None }));
    Selection {
        select: args.select.clone(),
        ignores,
        who: args.who,
        host: args.host,
        severities: config.severities.clone(),
    }
}

/// What is asked of every capture.
struct Demands {
    /// The least severity that fails.
    least: Severity,
    /// Captures are vouched for as complete.
    complete: bool,
    /// Rules that must be exercised.
    require: Vec<&'static Rule>,
}

impl Demands {
    /// What the command line asks; else what the configuration asks.
    fn of(args: &Check, config: &Config) -> Demands {
        let require = if args.require.is_empty() { &config.require } else { &args.require };
        Demands {
            least: args.fail_on.or(config.fail_on).unwrap_or(Severity::Error),
            complete: args.complete.unwrap_or(config.complete),
            require: require.clone(),
        }
    }
}

struct Checking<'a> {
    args: &'a Check,
    demands: Demands,
    selection: Selection,
    checker: Checker,
    /// The captures' names; those that are left.
    names: std::collections::VecDeque<String>,
    terminal: Terminal,
    found: bool,
    /// What came of the captures so far, for formats that tell all in one.
    outcomes: Vec<Outcome>,
    /// Required rules that were not exercised, by capture.
    missing: Vec<(String, String)>,
    out: &'a mut dyn Write,
}

impl Command for Checking<'_> {
    type View = Checker;

    fn begin(&mut self, _: Option<&str>) -> io::Result<()> {
        self.checker = Checker::new(self.selection.clone());
        Ok(())
    }

    fn view(&mut self) -> &mut Checker {
        &mut self.checker
    }

    fn complete(&self) -> bool {
        self.demands.complete
    }

    fn check(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, session: &Session) -> io::Result<()> {
        let checker = std::mem::replace(&mut self.checker, Checker::new(Selection::default()));
        let merged = self.args.input.merge;
        let names: Vec<_> = if merged {
            self.names.drain(..).collect()
        } else {
            self.names.pop_front().into_iter().collect()
        };
        let outcome = checker.outcome(names, session);
        self.found |= outcome.is_broken(self.demands.least);
        self.require(&outcome);
        if self.args.format != CheckFormat::Text {
            self.outcomes.push(outcome);
            return Ok(());
        }
        let paint = painted(self.args.color, self.terminal.out);
        let mut lines = String::new();
        text::write(&outcome, self.demands.least, paint, &mut lines);
        self.out.write_all(lines.as_bytes())
    }
}

impl Checking<'_> {
    fn write(&mut self, outcomes: Vec<Outcome>) -> io::Result<()> {
        let least = self.demands.least;
        let mut bytes = Vec::new();
        match self.args.format {
            CheckFormat::Text => {}
            CheckFormat::Json => {
                if let Some(outcome) = Outcome::sum(outcomes) {
                    json::write(&outcome, least, &mut bytes)?;
                }
            }
            CheckFormat::Junit => {
                junit::write(&outcomes, least, &mut bytes).map_err(io::Error::other)?;
            }
            CheckFormat::Sarif => sarif::write(&outcomes, &mut bytes)?,
            CheckFormat::Github => {
                let mut lines = String::new();
                github::write(&outcomes, &mut lines);
                bytes = lines.into_bytes();
            }
        }
        self.out.write_all(&bytes)
    }

    fn require(&mut self, outcome: &Outcome) {
        let capture = outcome.captures.first().cloned().unwrap_or_default();
        for rule in &self.demands.require {
            let exercised = outcome
                .rules
                .iter()
                .any(|fared| fared.rule.code == rule.code && fared.fared() != Fared::NotExercised);
            if !exercised {
                self.missing.push((capture.clone(), rule.code.to_string()));
            }
        }
    }
}
