//! The outcome as JUnit XML: a suite per capture, a case per rule; valid by the schema that Jenkins
//! uses.
//!
//! JUnit has no "inconclusive": such a rule, like one that was not exercised, is skipped with a
//! reason. A rule broken below the failing severity is a success with its findings as output.

use std::borrow::Cow;

use dissectors::kit::{Severity, Time};

use super::{Unreadable, put};
use crate::check::{Excerpt, ExchangeCounts, Outcome, RuleOutcome, RuleStatus, gravest_first};
use crate::report::clock::rfc3339;
use crate::text::{escaped as visible, is_hidden};

/// Maximum number of findings per rule.
const SHOWN: usize = 20;

/// Writes the outcomes as one document. `config`: the configuration file that was read.
pub fn write(
    outcomes: &[Outcome],
    unreadable: &[Unreadable],
    least: Severity,
    config: Option<&str>,
    out: &mut String,
) {
    let suites: Vec<_> = outcomes.iter().map(|outcome| Suite::of(outcome, least)).collect();
    let errors = unreadable.len();
    let tests = errors + suites.iter().map(Suite::tests).sum::<usize>();
    let failures: usize = suites.iter().map(Suite::failures).sum();
    put(out, format_args!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
    put(
        out,
        format_args!(
            "<testsuites name=\"gamewire check\" tests=\"{tests}\" failures=\"{failures}\" \
             errors=\"{errors}\">\n"
        ),
    );
    for suite in &suites {
        suite.write(config, out);
    }
    for Unreadable { file, why } in unreadable {
        let (file, why) = (escaped(file), escaped(why));
        put(
            out,
            format_args!(
                "  <testsuite name=\"{file}\" tests=\"1\" failures=\"0\" errors=\"1\" \
                 skipped=\"0\">\n    <testcase name=\"readable\" classname=\"gamewire.capture\">\n      \
                 <error type=\"unreadable\" message=\"{why}\"/>\n    </testcase>\n  \
                 </testsuite>\n"
            ),
        );
    }
    put(out, format_args!("</testsuites>\n"));
}

struct Suite<'a> {
    name: String,
    cases: Vec<Case<'a>>,
    /// The capture has none of the selected traffic, and what it contains.
    lacking: &'a [(String, String)],
    /// The same, where that is a failure.
    missing: &'a [(String, String)],
    requests: ExchangeCounts,
    /// The earliest and the latest time of a packet.
    span: Option<[Time; 2]>,
}

struct Case<'a> {
    rule_outcome: &'a RuleOutcome,
    came: CaseResult,
}

/// The result of a case.
enum CaseResult {
    /// The reason, and the findings.
    Failure(String, String),
    /// Why.
    Skipped(String),
    /// Notes.
    Success(String),
}

impl Suite<'_> {
    fn of(outcome: &Outcome, least: Severity) -> Suite<'_> {
        let cases = outcome.rules.iter();
        let cases = cases
            .map(|rule_outcome| Case { rule_outcome, came: came(outcome, rule_outcome, least) });
        let (name, lacking) = (outcome.captures.join(", "), &*outcome.lacking);
        Suite {
            name,
            cases: cases.collect(),
            lacking,
            missing: outcome.missing_traffic(),
            requests: outcome.requests,
            span: outcome.span,
        }
    }

    /// The beginning of the capture in UTC, and its duration in seconds, as attributes.
    fn times(&self) -> String {
        let Some([began, ended]) = self.span else { return String::new() };
        let began_at = rfc3339(began, 6);
        let second = began_at.split('.').next().unwrap_or_default().to_owned();
        let lasted = ended.since(began) / 1_000_000;
        format!(" timestamp=\"{second}\" time=\"{}.{:03}\"", lasted / 1000, lasted % 1000)
    }

    fn tests(&self) -> usize {
        self.cases.len() + self.missing.len()
    }

    fn failures(&self) -> usize {
        self.count(|case| case.fails()) + self.missing.len()
    }

    fn count(&self, which: impl Fn(&Case<'_>) -> bool) -> usize {
        self.cases.iter().filter(|case| which(case)).count()
    }

    fn write(&self, config: Option<&str>, out: &mut String) {
        let (name, tests, failures) = (escaped(&self.name), self.tests(), self.failures());
        let skipped = self.count(|case| matches!(case.came, CaseResult::Skipped(_)));
        put(
            out,
            format_args!(
                "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" \
                 errors=\"0\" skipped=\"{skipped}\"{}>\n",
                self.times()
            ),
        );
        let ExchangeCounts { asked, answered } = self.requests;
        put(
            out,
            format_args!(
                "    <properties>\n      <property name=\"requests\" value=\"{asked}\"/>\n      \
                 <property name=\"answered\" value=\"{answered}\"/>\n"
            ),
        );
        if let Some(config) = config.map(escaped) {
            put(out, format_args!("      <property name=\"config\" value=\"{config}\"/>\n"));
        }
        put(out, format_args!("    </properties>\n"));
        for (_, holds) in self.missing {
            put(
                out,
                format_args!(
                    "    <testcase name=\"traffic\" classname=\"gamewire.capture\">\n      <failure \
                     type=\"required\" message=\"required, and there is none: {}\"/>\n    </testcase>\n",
                    escaped(holds)
                ),
            );
        }
        self.cases.iter().for_each(|case| case.write(out));
        for (_, holds) in self.lacking {
            put(out, format_args!("    <system-err>{}</system-err>\n", escaped(holds)));
        }
        put(out, format_args!("  </testsuite>\n"));
    }
}

impl Case<'_> {
    fn fails(&self) -> bool {
        matches!(self.came, CaseResult::Failure(..))
    }

    fn write(&self, out: &mut String) {
        let RuleOutcome { rule, severity, .. } = self.rule_outcome;
        let (code, slug, who) = (rule.code, rule.slug, rule.who.name());
        put(out, format_args!("    <testcase name=\"{code} {slug}\" classname=\"gamewire.{who}\""));
        let inside = match &self.came {
            CaseResult::Success(text) if text.is_empty() => return put(out, format_args!("/>\n")),
            CaseResult::Success(text) => format!("<system-out>{}</system-out>", escaped(text)),
            CaseResult::Skipped(why) => format!("<skipped message=\"{}\"/>", escaped(why)),
            CaseResult::Failure(why, findings) => format!(
                "<failure type=\"{}\" message=\"{}\">{}</failure>",
                severity.name(),
                escaped(why),
                escaped(findings)
            ),
        };
        put(out, format_args!(">\n      {inside}\n    </testcase>\n"));
    }
}

fn came(outcome: &Outcome, rule_outcome: &RuleOutcome, least: Severity) -> CaseResult {
    match rule_outcome.status() {
        RuleStatus::Fail if rule_outcome.severity >= least => {
            let times = if rule_outcome.counts.failed == 1 { "time" } else { "times" };
            let why = format!(
                "broken {} {times}: {}",
                rule_outcome.counts.failed, rule_outcome.rule.asks
            );
            CaseResult::Failure(
                why,
                format!("{}{}", findings(outcome, rule_outcome), cited(rule_outcome)),
            )
        }
        RuleStatus::Fail | RuleStatus::Pass => CaseResult::Success(findings(outcome, rule_outcome)),
        RuleStatus::Inconclusive => CaseResult::Skipped(format!(
            "inconclusive: what is missing from the capture could explain each of {} occasions",
            rule_outcome.counts.inconclusive
        )),
        RuleStatus::NotExercised if rule_outcome.missing > 0 => {
            CaseResult::Failure("required, and not exercised".to_owned(), String::new())
        }
        RuleStatus::NotExercised => CaseResult::Skipped("not exercised".to_owned()),
    }
}

fn findings(outcome: &Outcome, rule_outcome: &RuleOutcome) -> String {
    let mut text = String::new();
    let of_rule = outcome.findings.iter().filter(|found| found.rule == rule_outcome.rule);
    for found in gravest_first(of_rule).into_iter().take(SHOWN) {
        put(&mut text, format_args!("{}\n", outcome.line(found)));
        if let Some(excerpt) = found.excerpt.as_ref().filter(|it| !it.bytes.is_empty()) {
            put(&mut text, format_args!("{}\n", hex(excerpt)));
        }
    }
    if rule_outcome.in_baseline > 0 {
        put(&mut text, format_args!("{} more in the baseline\n", rule_outcome.in_baseline));
    }
    text
}

/// The bytes in question in brackets, with some context.
fn hex(excerpt: &Excerpt) -> String {
    let Excerpt { start, bytes, marked } = excerpt;
    let mut text = format!("  {start:>5} ");
    for (at, byte) in bytes.iter().enumerate() {
        let before = match at {
            at if at == marked.start && !marked.is_empty() => '[',
            at if at == marked.end && !marked.is_empty() => ']',
            _ => ' ',
        };
        put(&mut text, format_args!("{before}{byte:02x}"));
    }
    if marked.end == bytes.len() && !marked.is_empty() {
        text.push(']');
    }
    text
}

/// The citations of a rule.
fn cited(rule_outcome: &RuleOutcome) -> String {
    let mut text = String::new();
    let rule = rule_outcome.rule;
    for cite in rule.cite {
        put(&mut text, format_args!("by: {}, \"{}\"", rule.document(), cite.section));
        let before = if cite.quote.is_empty() { "" } else { ": " };
        put(&mut text, format_args!("{before}{}\n", cite.quote));
    }
    text
}

/// Escapes text for XML, with terminal controls and characters that are invalid in XML written out.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_markup = |c| matches!(c, '&' | '<' | '>' | '"');
    if !text.contains(|c| is_markup(c) || c != '\n' && is_hidden(c)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        for c in visible(line).chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                c => out.push(c),
            }
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_leave_its_place() {
        assert_eq!(escaped("a\"<b>&c;\n"), "a&quot;&lt;b&gt;&amp;c;\n");
        assert_eq!(escaped("\0\t\r\n\u{85}\u{FFFE}"), "\\x00\\x09\\x0D\n\\u{85}\\u{FFFE}");
        assert_eq!(escaped("Größe 😀"), "Größe 😀");
    }
}
