//! The table of verdicts.

use std::sync::Arc;

use super::{Cell, Column, Kind, Row, always, capture, cells};
use crate::check::RuleOutcome;

/// A row.
pub(super) struct Verdict {
    pub(super) capture: Arc<str>,
    pub(super) code: String,
    pub(super) fared: RuleOutcome,
}

pub(super) const COLUMNS: [Column<Verdict>; 12] = [
    capture(|it| Cell::text(&it.capture)),
    always("rule", Kind::Text, "The rule's code; docs/rules.md lists all.", |it| {
        Cell::text(&it.code)
    }),
    always("slug", Kind::Text, "The rule's name.", |it| Cell::text(it.fared.rule.slug)),
    always("severity", Kind::Text, "What a breach weighs: `error`, `warning` or `note`.", |it| {
        Cell::text(it.fared.severity.name())
    }),
    always(
        "who",
        Kind::Text,
        "Whom it holds to account: `client`, `server`, `master`, `any` or `capture`.",
        |it| Cell::text(it.fared.rule.who.name()),
    ),
    always("verdict", Kind::Text, "`fail`, `pass`, `inconclusive` or `not_exercised`.", |it| {
        Cell::text(it.fared.fared().name())
    }),
    always("passed", Kind::Integer, "How often it was kept.", |it| Cell::count(it.fared.passed)),
    always("failed", Kind::Integer, "How often it was broken.", |it| Cell::count(it.fared.failed)),
    always(
        "inconclusive",
        Kind::Integer,
        "How often what is missing from the capture could explain a breach.",
        |it| Cell::count(it.fared.inconclusive),
    ),
    always("notes", Kind::Integer, "How often it was kept in a known form that deviates.", |it| {
        Cell::count(it.fared.notes)
    }),
    always("in_baseline", Kind::Integer, "Breaches that the baseline holds.", |it| {
        Cell::count(it.fared.in_baseline)
    }),
    always("missing", Kind::Integer, "1 where it was required and not exercised.", |it| {
        Cell::count(it.fared.missing)
    }),
];

impl Row for Verdict {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}
