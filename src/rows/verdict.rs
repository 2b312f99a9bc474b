//! The results of rules.

use super::Rows;
use super::column::columns;
use crate::check::RuleOutcome;

/// The table of verdicts.
pub enum VerdictTable {}

impl Rows for VerdictTable {
    const NAME: &'static str = "verdicts";
    const TITLE: &'static str = "Results of rules";
    const ABOUT: &'static str =
        "A row for each rule and capture: how often the rule passed and failed.";
    type Row<'r> = &'r RuleOutcome;

    columns! { VerdictTable, it =>
        /// The rule's code; docs/rules.md lists all.
        rule: Text = it.rule.code.to_string();
        /// The rule's name.
        slug: Text = it.rule.slug;
        /// The severity of a breach: `error`, `warning` or `note`.
        severity: Text = it.severity.name();
        /// The party that the rule applies to: `client`, `server`, `master`, `any` or `capture`.
        who: Text = it.rule.who.name();
        /// `fail`, `pass`, `inconclusive` or `not_exercised`.
        verdict: Text = it.status().name();
        /// The number of times that it passed.
        passed: Count = it.counts.passed;
        /// The number of times that it failed.
        failed: Count = it.counts.failed;
        /// The number of breaches that packets missing from the capture could explain.
        inconclusive: Count = it.counts.inconclusive;
        /// The number of times that it passed with a known deviation.
        notes: Count = it.counts.noted;
        /// The number of breaches that are in the baseline.
        in_baseline: Count = it.in_baseline;
        /// 1 if it was required and not exercised, else 0.
        missing: Count = it.missing;
    }
}
