//! The findings of one rule, by party, as text.

use dissectors::kit::Severity;

use super::{Style, faint, hex, tone};
use crate::check::{ByParty, FindingGroup, Outcome, ReportedFinding};
use crate::report::TimeFormatter;
use crate::report::check::put;
use crate::text::{counted, escaped, grouped, hanging};

impl<'o> FindingGroup<'o> {
    pub(super) fn write(
        &self,
        outcome: &Outcome,
        style: &Style,
        stamp: &mut TimeFormatter,
        out: &mut String,
    ) {
        let rule = self.rule_outcome.rule;
        let severity = self.severity.name();
        let detail = self.first.map_or("", |found| &found.detail);
        let head = format!("{severity} {} {}: {}", rule.code, rule.slug, escaped(detail));
        let head = hanging(&head, 2, style.text.terminal);
        let rest = head.strip_prefix(severity).unwrap_or_default();
        put(out, format_args!("{}{rest}\n", style.text.paint.text(tone(self.severity), severity)));
        if self.severity > Severity::Note {
            self.expected(style, out);
        }
        let mut shown_count = 0;
        let shown = self.shown(style.most);
        for (by, found) in self.parties.iter().zip(&shown) {
            self.party(by, found, outcome, style, stamp, out);
            shown_count += by.count;
        }
        let (more, others) =
            (self.count.saturating_sub(shown_count), self.parties.len() - shown.len());
        match (more, others) {
            (0, _) => {}
            _ if shown.is_empty() => put(out, format_args!("  {}\n", counted(more, "time"))),
            (_, 0) => put(out, format_args!("  and {} more\n", grouped(more))),
            (_, 1) => put(out, format_args!("  and {} by another\n", grouped(more))),
            _ => put(out, format_args!("  and {} by {others} others\n", grouped(more))),
        }
    }

    fn expected(&self, style: &Style, out: &mut String) {
        let rule = self.rule_outcome.rule;
        let asks = hanging(rule.asks, 12, style.text.terminal);
        put(out, format_args!("  {} {asks}\n", faint("expected:", style.text.paint)));
        if let Some(cite) = rule.cite.first() {
            let source = format!("{}, \"{}\"", rule.document(), cite.section);
            let source = hanging(&source, 6, style.text.terminal);
            put(out, format_args!("  {} {source}\n", faint("by:", style.text.paint)));
        }
    }

    /// The findings that are shown of each named party: the first one of each, then more if there
    /// is room. Notes are shown once per party.
    fn shown(&self, most: usize) -> Vec<Vec<&'o ReportedFinding>> {
        let mut shown: Vec<Vec<_>> = self.parties.iter().take(most).map(|_| Vec::new()).collect();
        let mut left = most;
        for nth in 0..most {
            for (by, of_party) in self.parties.iter().zip(&mut shown) {
                if let Some(found) = by.found.get(nth).filter(|_| left > 0) {
                    of_party.push(*found);
                    left -= 1;
                }
            }
            if left == 0 || self.severity == Severity::Note {
                break;
            }
        }
        shown
    }

    fn party(
        &self,
        by: &ByParty<'_>,
        shown: &[&ReportedFinding],
        outcome: &Outcome,
        style: &Style,
        stamp: &mut TimeFormatter,
        out: &mut String,
    ) {
        let name = by.name().map(|name| match by.is_attack() {
            true => name,
            false => format!("{} {name}", by.who(self.rule_outcome.rule).name()),
        });
        if self.count == 1 || by.party.is_none() && self.parties.len() == 1 && by.count == 1 {
            for found in shown {
                // For a single message, the port is shown.
                let party = found.party_with_role();
                self.finding(found, "  ", party.as_deref(), outcome, style, stamp, out);
            }
            return;
        }
        let name = name.unwrap_or_else(|| "the capture".to_owned());
        let counted = format!("  {} x {name}", grouped(by.count));
        if let (Severity::Note, [found]) = (self.severity, shown) {
            let first = if by.count == 1 { ", " } else { ", first in " };
            return self.finding(found, &(counted + first), None, outcome, style, stamp, out);
        }
        put(out, format_args!("{counted}\n"));
        for found in shown {
            self.finding(found, "    ", None, outcome, style, stamp, out);
        }
    }

    fn finding(
        &self,
        found: &ReportedFinding,
        before: &str,
        party: Option<&str>,
        outcome: &Outcome,
        style: &Style,
        stamp: &mut TimeFormatter,
        out: &mut String,
    ) {
        let mut place = outcome.place(found);
        // A finding without a packet has no time.
        if found.frame() > 0 {
            let mut time = Vec::new();
            stamp.next(found.time, found.digits, &mut time);
            place += ", ";
            place += &String::from_utf8_lossy(&time);
        }
        for part in party.into_iter().chain(Some(found.message).filter(|name| !name.is_empty())) {
            place += ", ";
            place += part;
        }
        let is_said = self.first.is_some_and(|first| first.detail == found.detail);
        let detail = if is_said { "".into() } else { escaped(&found.detail) };
        let colon = if is_said { "" } else { ": " };
        let line = format!("{before}{place}{colon}{detail}");
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let text = hanging(text, indent + 2, style.text.terminal);
        put(out, format_args!("{:indent$}{text}\n", ""));
        if let Some(excerpt) = found.excerpt.as_ref().filter(|_| self.severity > Severity::Note) {
            hex(excerpt, before, style.text, out);
        }
    }
}
