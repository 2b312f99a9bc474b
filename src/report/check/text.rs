//! The outcome for people: what is wrong first, then how every rule fared.

use std::collections::BTreeMap;

use dissectors::kit::{Severity, Verdict};

use super::put;
use crate::check::{Excerpt, Fared, Found, Outcome, RuleOutcome};
use crate::report::clock::Clock;
use crate::report::paint::{Paint, Tone};
use crate::text::escaped;

/// Findings of one rule that are written out; further ones are counted.
const SHOWN: usize = 5;

/// Writes the outcome of one capture.
pub fn write(outcome: &Outcome, least: Severity, paint: Paint, out: &mut String) {
    let fared = outcome.fared(least);
    let tone = tone_of(fared);
    let name = outcome.captures.join(", ");
    let verdict = paint.text(tone, fared.name().replace('_', " ").to_uppercase());
    let counts = [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| many(outcome.count(severity), severity.name()));
    let (messages, flows) = (many(outcome.messages, "message"), many(outcome.flows, "flow"));
    put(out, format_args!("{verdict}  {name}: {}, in {messages} of {flows}\n", counts.join(", ")));
    let mut clock = Clock::default();
    let mut by_rule: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for found in outcome.findings.iter().filter(|it| it.verdict != Verdict::Inconclusive) {
        by_rule.entry((found.severity, found.rule.code)).or_default().push(found);
    }
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        for fared in &outcome.rules {
            if let Some(of_rule) = by_rule.get(&(severity, fared.rule.code)) {
                findings(outcome, fared, severity, of_rule, &mut clock, paint, out);
            }
        }
    }
    for rule in outcome.rules.iter().filter(|it| it.missing > 0).map(|it| it.rule) {
        let head = paint.text(Tone::Finding(Severity::Error, Verdict::Fail), "required");
        put(out, format_args!("\n{head} {} {}: it was not exercised\n", rule.code, rule.slug));
    }
    table(outcome, paint, out);
}

fn findings(
    outcome: &Outcome,
    fared: &RuleOutcome,
    severity: Severity,
    found: &[&Found],
    clock: &mut Clock,
    paint: Paint,
    out: &mut String,
) {
    let rule = fared.rule;
    let head = paint.text(tone(severity), severity.name());
    put(out, format_args!("\n{head} {} {}: {}\n", rule.code, rule.slug, rule.asks));
    if let Some(cite) = rule.cite.first() {
        put(out, format_args!("  {}, \"{}\"\n", cite.document.title(), cite.section));
    }
    for found in found.iter().take(SHOWN) {
        let mut time = Vec::new();
        // What is in no packet has no time.
        if found.frame() > 0 {
            time.extend_from_slice(b", ");
            clock.rfc3339(found.time, found.digits, &mut time);
        }
        let time = String::from_utf8_lossy(&time);
        let party =
            found.party.map_or(String::new(), |party| format!(", {} {party}", found.who.name()));
        let message = if found.message.is_empty() { "" } else { " " };
        put(
            out,
            format_args!(
                "  {}{time}{party}{message}{}: {}\n",
                outcome.place(found),
                found.message,
                escaped(&found.detail)
            ),
        );
        if let Some(excerpt) = found.excerpt.as_ref().filter(|_| severity > Severity::Note) {
            hex(excerpt, paint, out);
        }
    }
    let more = fared.count(severity).saturating_sub(found.len().min(SHOWN) as u64);
    if more > 0 {
        put(out, format_args!("  and {more} more\n"));
    }
}

/// Writes one finding in a line, as it happens.
pub fn line(found: &Found, paint: Paint, out: &mut String) {
    let mut time = Vec::new();
    Clock::default().time_of_day(found.time, found.digits, &mut time);
    let time = String::from_utf8_lossy(&time);
    let party =
        found.party.map_or(String::new(), |party| format!("{} {party}: ", found.who.name()));
    let (rule, frame, detail) = (found.rule, found.frame(), escaped(&found.detail));
    let severity = paint.text(tone(found.severity), found.severity.name());
    put(
        out,
        format_args!("{time} {frame:6}  {severity} {} {}  {party}{detail}\n", rule.code, rule.slug),
    );
}

/// One row: the bytes in question in brackets, some others round them.
fn hex(excerpt: &Excerpt, paint: Paint, out: &mut String) {
    if excerpt.bytes.is_empty() {
        return;
    }
    put(out, format_args!("    {:>5} ", excerpt.start));
    let marked = &excerpt.marked;
    for (at, byte) in excerpt.bytes.iter().enumerate() {
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
    out.push('\n');
}

fn table(outcome: &Outcome, paint: Paint, out: &mut String) {
    put(
        out,
        format_args!(
            "\n{:<8}{:<28}{:<9}{:<14}{:>9}{:>9}{:>14}\n",
            "RULE", "", "SEVERITY", "VERDICT", "PASSED", "FAILED", "INCONCLUSIVE"
        ),
    );
    let mut idle = 0;
    for fared in &outcome.rules {
        if fared.fared() == Fared::NotExercised {
            idle += 1;
            continue;
        }
        let verdict = fared.fared().name();
        let pad = " ".repeat(14_usize.saturating_sub(verdict.len()));
        put(
            out,
            format_args!(
                "{:<8}{:<28}{:<9}{}{pad}{:>9}{:>9}{:>14}\n",
                fared.rule.code.to_string(),
                fared.rule.slug,
                fared.severity.name(),
                paint.text(tone_of(fared.fared()), verdict),
                fared.passed,
                fared.failed,
                fared.inconclusive
            ),
        );
    }
    put(
        out,
        format_args!(
            "{idle} rules were not exercised; `gamewire explain CODE` says what a rule asks\n"
        ),
    );
    if outcome.in_baseline() > 0 {
        put(out, format_args!("{} in the baseline\n", many(outcome.in_baseline(), "finding")));
    }
    if outcome.left_out > 0 {
        let were = if outcome.left_out == 1 { "was" } else { "were" };
        let findings = many(outcome.left_out, "finding");
        put(out, format_args!("{findings} {were} counted but not kept\n"));
    }
}

fn many(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn tone(severity: Severity) -> Tone {
    Tone::Finding(severity, Verdict::Fail)
}

fn tone_of(fared: Fared) -> Tone {
    match fared {
        Fared::Fail => tone(Severity::Error),
        Fared::Pass => Tone::Good,
        Fared::Inconclusive | Fared::NotExercised => tone(Severity::Warning),
    }
}
