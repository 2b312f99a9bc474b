//! The table of verdicts.

use std::sync::Arc;

use super::{Cell, Kind, TableColumn, TableRow, always, capture, cells};
use crate::check::RuleOutcome;

/// A row.
pub(super) struct VerdictRecord {
    pub(super) capture: Arc<str>,
    pub(super) code: String,
    pub(super) rule_outcome: RuleOutcome,
}

pub(super) const COLUMNS: [TableColumn<VerdictRecord>; 12] = [
    capture(|it| Cell::text(&it.capture)),
    always("rule", Kind::Text, "The rule's code; docs/rules.md lists all.", |it| {
        Cell::text(&it.code)
    }),
    always("slug", Kind::Text, "The rule's name.", |it| Cell::text(it.rule_outcome.rule.slug)),
    always(
        "severity",
        Kind::Text,
        "The severity of a breach: `error`, `warning` or `note`.",
        |it| Cell::text(it.rule_outcome.severity.name()),
    ),
    always(
        "who",
        Kind::Text,
        "The party that the rule applies to: `client`, `server`, `master`, `any` or `capture`.",
        |it| Cell::text(it.rule_outcome.rule.who.name()),
    ),
    always("verdict", Kind::Text, "`fail`, `pass`, `inconclusive` or `not_exercised`.", |it| {
        Cell::text(it.rule_outcome.status().name())
    }),
    always("passed", Kind::Integer, "The number of times that it passed.", |it| {
        Cell::count(it.rule_outcome.passed)
    }),
    always("failed", Kind::Integer, "The number of times that it failed.", |it| {
        Cell::count(it.rule_outcome.failed)
    }),
    always(
        "inconclusive",
        Kind::Integer,
        "The number of breaches that packets missing from the capture could explain.",
        |it| Cell::count(it.rule_outcome.inconclusive),
    ),
    always(
        "notes",
        Kind::Integer,
        "The number of times that it passed with a known deviation.",
        |it| Cell::count(it.rule_outcome.notes),
    ),
    always(
        "in_baseline",
        Kind::Integer,
        "The number of breaches that are in the baseline.",
        |it| Cell::count(it.rule_outcome.in_baseline),
    ),
    always("missing", Kind::Integer, "1 if it was required and not exercised, else 0.", |it| {
        Cell::count(it.rule_outcome.missing)
    }),
];

impl TableRow for VerdictRecord {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}
