//! The outcome as annotations of GitHub Actions: a line per finding.

use std::fmt::Write;

use dissectors::kit::Severity;

use crate::check::{Outcome, gravest_first};

/// GitHub shows ten annotations of a kind in a step; more only hide each other.
const SHOWN: usize = 50;

/// Writes the findings of the outcomes.
pub fn write(outcomes: &[Outcome], out: &mut String) {
    for outcome in outcomes {
        for found in gravest_first(outcome.findings.iter()).into_iter().take(SHOWN) {
            let kind = match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            let file = property(outcome.file(found));
            let title = property(&format!("{} {}", found.rule.code, found.rule.slug));
            let party = found.party.map_or(String::new(), |party| format!(", {party}"));
            let detail = data(&format!("{}{party}: {}", found.place(), found.detail));
            // A `String` takes everything.
            let _ = writeln!(out, "::{kind} file={file},title={title}::{detail}");
        }
        let file = property(outcome.captures.first().map_or("", String::as_str));
        for rule in outcome.rules.iter().filter(|it| it.missing > 0).map(|it| it.rule) {
            let title = property(&format!("{} {}", rule.code, rule.slug));
            let _ = writeln!(out, "::error file={file},title={title}::required, and not exercised");
        }
    }
}

/// The workflow commands' own escapes: without them a server's name could issue commands.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_issue_a_command() {
        assert_eq!(data("a\r\n::error::b%"), "a%0D%0A::error::b%25");
        assert_eq!(property("a,b:c\n"), "a%2Cb%3Ac%0A");
    }
}
