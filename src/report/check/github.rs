//! The outcome as annotations of GitHub Actions: a line per finding.

use dissectors::kit::{Severity, Verdict};

use super::{Unreadable, put};
use crate::check::{ExchangeCounts, Outcome, ReportedFinding};
use crate::report::markdown::cell;
use crate::text::escaped;

/// GitHub shows this many annotations of a kind per step, and ignores the others.
const SHOWN: usize = 10;

/// Writes the files that cannot be read; the findings of the outcomes, the most severe first; and how many
/// requests were answered.
pub fn write(outcomes: &[Outcome], unreadable: &[Unreadable], out: &mut String) {
    for severity in Severity::ALL {
        let is_reported = |found: &&ReportedFinding| {
            found.verdict != Verdict::Inconclusive && found.severity == severity
        };
        let findings = outcomes.iter().flat_map(|outcome| {
            outcome.findings.iter().filter(is_reported).map(|found| line(found, outcome))
        });
        let is_error = severity == Severity::Error;
        let unread = if is_error { unreadable } else { &[] };
        let required = outcomes.iter().filter(|_| is_error).flat_map(required);
        let lines = unread.iter().map(unread_line).chain(required).chain(findings);
        let shown = Vec::from_iter(lines.take(SHOWN));
        out.extend(shown.iter().map(String::as_str));
        let all = outcomes.iter().map(|outcome| all(outcome, severity)).sum::<u64>()
            + unread.len() as u64;
        let more = all.saturating_sub(shown.len() as u64);
        if more > 0 {
            let s = if more == 1 { "" } else { "s" };
            let kind = severity.name();
            put(
                out,
                format_args!(
                    "and {more} more {kind}{s}: GitHub shows {SHOWN} of a kind in a step\n"
                ),
            );
        }
    }
    for outcome in outcomes {
        let (captures, ExchangeCounts { asked, answered }) = (&outcome.captures, outcome.requests);
        let name = data(&captures.join(", "));
        put(out, format_args!("gamewire: {name}: {answered} of {asked} requests answered\n"));
    }
}

/// A Markdown summary for the step: the outcome of each capture, and broken rules.
pub fn summary(outcomes: &[Outcome], unreadable: &[Unreadable], least: Severity) -> String {
    let mut out = String::from(
        "### gamewire check\n\n| capture | verdict | errors | warnings | notes | requests answered |\n\
         |---|---|--:|--:|--:|--:|\n",
    );
    for outcome in outcomes {
        let name = cell(&outcome.captures.join(", "));
        let verdict = outcome.status(least).name();
        let [errors, warnings, notes] =
            [Severity::Error, Severity::Warning, Severity::Note].map(|it| outcome.count(it));
        let ExchangeCounts { asked, answered } = outcome.requests;
        let counts = format!("{errors} | {warnings} | {notes} | {answered} of {asked}");
        put(&mut out, format_args!("| {name} | {verdict} | {counts} |\n"));
    }
    for Unreadable { file, why } in unreadable {
        put(&mut out, format_args!("| {} | {} | | | | |\n", cell(file), cell(why)));
    }
    let broken = |outcome: &&Outcome| outcome.rules.iter().any(|it| it.counts.failed > 0);
    if outcomes.iter().any(|outcome| broken(&outcome)) {
        out.push_str("\n| rule | severity | times | capture | first |\n|---|---|--:|---|---|\n");
    }
    for outcome in outcomes {
        for rule_outcome in outcome.rules.iter().filter(|it| it.counts.failed > 0) {
            let first = outcome.findings.iter().find(|found| found.rule == rule_outcome.rule);
            let first = first.map_or(String::new(), |found| cell(&outcome.line(found)));
            let (code, slug) = (rule_outcome.rule.code, rule_outcome.rule.slug);
            let (severity, name) =
                (rule_outcome.severity.name(), cell(&outcome.captures.join(", ")));
            let times = rule_outcome.counts.failed;
            put(
                &mut out,
                format_args!("| {code} {slug} | {severity} | {times} | {name} | {first} |\n"),
            );
        }
    }
    out.push('\n');
    out
}

/// The number of annotations of a severity.
fn all(outcome: &Outcome, severity: Severity) -> u64 {
    let missing: u64 = outcome.rules.iter().map(|rule| rule.missing).sum();
    let required = missing + outcome.missing_traffic().len() as u64;
    outcome.count(severity) + if severity == Severity::Error { required } else { 0 }
}

fn line(found: &ReportedFinding, outcome: &Outcome) -> String {
    let kind = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let file = property(outcome.file(found));
    let title = property(&format!("{} {}", found.rule.code, found.rule.slug));
    let detail = data(&outcome.line(found));
    format!("::{kind} file={file},title={title}::{detail}\n")
}

fn unread_line(Unreadable { file, why }: &Unreadable) -> String {
    format!("::error file={},title=unreadable::{}\n", property(file), data(why))
}

/// Required traffic that is not there, and required rules that were not exercised.
fn required(outcome: &Outcome) -> impl Iterator<Item = String> {
    let file = property(outcome.captures.first().map_or("", String::as_str));
    let traffic = outcome.missing_traffic().iter().map(|(capture, holds)| {
        let (file, holds) = (property(capture), data(holds));
        format!("::error file={file},title=traffic::required, and there is none: {holds}\n")
    });
    let rules = outcome.rules.iter().filter(|it| it.missing > 0).map(move |it| {
        let title = property(&format!("{} {}", it.rule.code, it.rule.slug));
        format!("::error file={file},title={title}::required, and not exercised\n")
    });
    traffic.chain(rules)
}

/// Escapes for workflow commands: without them a server's name could inject commands.
fn data(text: &str) -> String {
    let line = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    escaped(&line).into_owned()
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markdown() {
        assert_eq!(cell("a|b\n<img src=x> `c` \\"), "a\\|b &lt;img src=x&gt; \\`c\\` \\\\");
    }

    #[test]
    fn no_text_can_issue_a_command() {
        assert_eq!(data("a\r\n::error::b%"), "a%0D%0A::error::b%25");
        assert_eq!(data("1\u{B}2\u{202E}"), r"1\x0B2\u{202E}");
        assert_eq!(cell("1\u{B}\n2"), r"1\\x0B 2");
        assert_eq!(property("a,b:c\n"), "a%2Cb%3Ac%0A");
    }
}
