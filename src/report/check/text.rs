//! The outcome as text: a summary line, what is wrong, then the rules that did not pass. Each
//! broken rule begins with the fault, then the requirement and its source, and which party broke it
//! how often.

mod groups;
mod totals;

use std::fmt::Display;

use dissectors::kit::{Severity, Verdict};

use super::put;
use crate::check::{
    Excerpt, ExchangeCounts, FindingGroup, Outcome, ReportedFinding, RuleOutcome, RuleStatus,
};
use crate::report::paint::{Paint, TextStyle, Tone};
use crate::report::text_table::{TextColumn, TextTable};
use crate::report::{TimeFormatter, TimeStyle};
use crate::rows::Importance;
use crate::text::{counted, escaped, grouped, hanging};

pub use totals::CheckTotals;

/// How an outcome is written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The minimum severity that fails the capture.
    pub least: Severity,
    /// Findings of one rule that are written out; further ones are counted.
    pub most: usize,
    /// The table has the rules that passed or were not exercised, too.
    pub all_rules: bool,
    /// Findings and totals only.
    pub quiet: bool,
    /// The capture is one of several.
    pub several: bool,
    /// The width and the colours.
    pub text: TextStyle,
    /// How times are written.
    pub times: TimeStyle,
}

/// The width of the table of rules.
const WIDE: usize = 91;

/// Writes the outcome of one capture.
pub fn write(outcome: &Outcome, style: &Style, out: &mut String) {
    let missing = || outcome.rules.iter().filter(|it| it.missing > 0);
    let groups = FindingGroup::all(outcome, style.most);
    let no_traffic = outcome.missing_traffic();
    let is_reported = !groups.is_empty() || missing().next().is_some() || !no_traffic.is_empty();
    if style.quiet && style.several && !is_reported {
        return;
    }
    let paint = style.text.paint;
    let headline = Headline {
        status: outcome.status(style.least),
        subject: &outcome.captures.join(", "),
        attacks: &outcome.attacks(),
        counts: Severity::ALL.map(|severity| outcome.count(severity)),
        requests: outcome.requests,
        messages: outcome.messages,
        flows: outcome.flows,
    };
    headline.write(style, out);
    let first = outcome.span.map(|[first, _]| first);
    let mut stamp = TimeFormatter::new(style.times).since(first);
    for group in &groups {
        out.push('\n');
        group.write(outcome, style, &mut stamp, out);
    }
    let head = paint.text(Tone::Finding(Severity::Error, Verdict::Fail), "required");
    for (_, holds) in no_traffic {
        put(out, format_args!("\n{head} traffic: there is none: {}\n", escaped(holds)));
    }
    for rule in missing().map(|it| it.rule) {
        put(out, format_args!("\n{head} {} {}: it was not exercised\n", rule.code, rule.slug));
    }
    if !style.quiet {
        table(outcome, style, out);
    }
    if outcome.in_baseline() > 0 {
        put(out, format_args!("{} in the baseline\n", counted(outcome.in_baseline(), "finding")));
    }
    if style.several && (is_reported || !style.quiet) {
        out.push('\n');
    }
}

/// The first line about one capture, or about several.
struct Headline<'o> {
    status: RuleStatus,
    /// What it is about.
    subject: &'o str,
    /// Attacks, a sentence each.
    attacks: &'o [String],
    /// The number of findings, by severity.
    counts: [u64; 3],
    requests: ExchangeCounts,
    messages: u64,
    flows: u64,
}

impl Headline<'_> {
    /// `FAIL  a.pcap: 1 error, 0 warnings, 0 notes; 2 of 2 requests answered, 4 messages in 1 flow`
    ///
    /// An attack comes before all that: its target may keep to the specification, and still be down.
    fn write(&self, style: &Style, out: &mut String) {
        let Headline { status, subject, requests, .. } = *self;
        let is_attacked = !self.attacks.is_empty();
        let word = match is_attacked {
            true => "UNDER ATTACK".to_owned(),
            false => status.name().replace('_', " ").to_uppercase(),
        };
        let tone = tone_of(if is_attacked { RuleStatus::Fail } else { status });
        let mut line = format!("{subject}: ");
        self.attacks.iter().for_each(|attack| put(&mut line, format_args!("{attack}; ")));
        let counts = Severity::ALL.into_iter().zip(self.counts);
        let counts = counts.map(|(severity, count)| counted(count, severity.name()));
        put(&mut line, format_args!("{}; ", Vec::from_iter(counts).join(", ")));
        if requests.asked > 0 {
            let (answered, asked) =
                (grouped(requests.answered), counted(requests.asked, "request"));
            put(&mut line, format_args!("{answered} of {asked} answered, "));
        }
        let (messages, flows) = (counted(self.messages, "message"), counted(self.flows, "flow"));
        put(&mut line, format_args!("{messages} in {flows}"));
        let line = hanging(&line, word.len() + 2, style.text.terminal);
        put(out, format_args!("{}  {line}\n", style.text.paint.text(tone, word)));
    }
}

/// Writes one finding in a line, as it happens.
pub fn line(found: &ReportedFinding, stamp: &mut TimeFormatter, paint: Paint, out: &mut String) {
    let mut time = Vec::new();
    stamp.brief(found.time, found.digits, &mut time);
    stamp.seen(found.time);
    let time = String::from_utf8_lossy(&time);
    let party = found.party_with_role().map_or(String::new(), |party| format!("{party}: "));
    let (rule, frame, detail) = (found.rule, found.frame(), escaped(&found.detail));
    let severity = paint.text(tone(found.severity), found.severity.name());
    put(
        out,
        format_args!("{time} {frame:6}  {severity} {} {}  {party}{detail}\n", rule.code, rule.slug),
    );
}

/// The bytes in question in brackets, with some context: one row, or on a terminal as many as it takes.
fn hex(excerpt: &Excerpt, indent: &str, style: TextStyle, out: &mut String) {
    const WIDTH_OF_OFFSET: usize = 7;
    let TextStyle { terminal, paint } = style;
    let before = indent.len() + WIDTH_OF_OFFSET;
    // The last byte may have a bracket after it.
    let fit = |terminal: usize| (terminal.saturating_sub(before + 1) / 3).max(8);
    let most = terminal.map_or(usize::MAX, fit);
    let marked = &excerpt.marked;
    for (at, byte) in excerpt.bytes.iter().enumerate() {
        if at % most == 0 {
            let end = if at > 0 { "\n" } else { "" };
            put(out, format_args!("{end}{indent}{:#06x} ", excerpt.start + at));
        }
        let open = if at == marked.start && !marked.is_empty() { "[" } else { " " };
        let before = if at == marked.end && !marked.is_empty() { "]" } else { open };
        let byte = format!("{byte:02x}");
        if marked.contains(&at) {
            put(out, format_args!("{before}{}", paint.text(tone(Severity::Error), byte)));
        } else {
            put(out, format_args!("{before}{byte}"));
        }
    }
    if marked.end == excerpt.bytes.len() && !marked.is_empty() {
        out.push(']');
    }
    if !excerpt.bytes.is_empty() {
        out.push('\n');
    }
}

fn table(outcome: &Outcome, style: &Style, out: &mut String) {
    let of =
        |which: RuleStatus| outcome.rules.iter().filter(move |it| it.status() == which).count();
    let is_shown = |rule_outcome| {
        style.all_rules || matches!(rule_outcome, RuleStatus::Fail | RuleStatus::Inconclusive)
    };
    let shown = outcome.rules.iter().filter(|it| is_shown(it.status()));
    match style.text.terminal.filter(|&terminal| terminal < WIDE) {
        Some(terminal) => narrow_table(&Vec::from_iter(shown), terminal, style.text.paint, out),
        None => wide_table(shown, style, out),
    }
    let (passed, idle) = (of(RuleStatus::Pass) as u64, of(RuleStatus::NotExercised) as u64);
    let were = if idle == 1 { "was" } else { "were" };
    let (passed, hint) = (counted(passed, "rule"), "`gamewire explain CODE` says what a rule asks");
    let totals = format!("{passed} passed, {idle} {were} not exercised; {hint}");
    put(out, format_args!("\n{}\n", hanging(&totals, 0, style.text.terminal)));
}

/// The rules with columns of fixed width.
fn wide_table<'r>(rules: impl Iterator<Item = &'r RuleOutcome>, style: &Style, out: &mut String) {
    let mut shown = rules.peekable();
    if shown.peek().is_some() {
        put(
            out,
            format_args!(
                "\n{:<8}{:<28}{:<9}{:<14}{:>9}{:>9}{:>14}\n",
                "RULE", "", "SEVERITY", "VERDICT", "PASSED", "FAILED", "INCONCLUSIVE"
            ),
        );
    }
    for rule_outcome in shown {
        let verdict = rule_outcome.status().name().replace('_', " ");
        let pad = " ".repeat(14_usize.saturating_sub(verdict.len()));
        put(
            out,
            format_args!(
                "{:<8}{:<28}{:<9}{}{pad}{:>9}{:>9}{:>14}\n",
                rule_outcome.rule.code.to_string(),
                rule_outcome.rule.slug,
                rule_outcome.severity.name(),
                style.text.paint.text(tone_of(rule_outcome.status()), verdict),
                rule_outcome.counts.passed,
                rule_outcome.counts.failed,
                rule_outcome.counts.inconclusive
            ),
        );
    }
}

/// The rules on a terminal that is narrower than the other table.
fn narrow_table(rules: &[&RuleOutcome], terminal: usize, paint: Paint, out: &mut String) {
    if rules.is_empty() {
        return;
    }
    let column = |heading: &str, is_number, importance, shortest| TextColumn {
        heading: heading.to_owned(),
        is_number,
        importance,
        shortest,
    };
    let columns = vec![
        column("RULE", false, Importance::Essential, None),
        column("", false, Importance::Useful(1), Some(12)),
        column("SEVERITY", false, Importance::Useful(0), None),
        column("VERDICT", false, Importance::Essential, None),
        column("PASSED", true, Importance::Essential, None),
        column("FAILED", true, Importance::Essential, None),
        column("INCONCLUSIVE", true, Importance::Essential, None),
    ];
    let mut table = TextTable::new(columns, Some(terminal));
    let cells = |it: &&RuleOutcome| {
        let counts = [it.counts.passed, it.counts.failed, it.counts.inconclusive]
            .map(|count| count.to_string());
        let verdict = it.status().name().replace('_', " ");
        let names = [&it.rule.code.to_string(), it.rule.slug, it.severity.name(), &verdict];
        let mut cells = Vec::from_iter(names.map(str::to_owned));
        cells.extend(counts);
        cells
    };
    let rows = Vec::from_iter(rules.iter().map(cells));
    rows.iter().for_each(|row| table.widen(row));
    let mut lines = b"\n".to_vec();
    table.header(paint, &mut lines);
    rows.iter().for_each(|row| table.row(row, &mut lines));
    out.push_str(&String::from_utf8_lossy(&lines));
}

fn tone(severity: Severity) -> Tone {
    Tone::Finding(severity, Verdict::Fail)
}

fn tone_of(rule_outcome: RuleStatus) -> Tone {
    match rule_outcome {
        RuleStatus::Fail => tone(Severity::Error),
        RuleStatus::Pass => Tone::Good,
        RuleStatus::Inconclusive | RuleStatus::NotExercised => tone(Severity::Warning),
    }
}

/// The text in a faint tone.
fn faint(text: impl Display, paint: Paint) -> String {
    paint.text(Tone::Faint, text)
}
