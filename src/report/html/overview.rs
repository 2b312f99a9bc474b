//! Several captures, the worst one first, in a table; a row leads to the capture.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dissectors::kit::Severity;
use maud::{Markup, html};

use super::Capture;
use super::answers::AnswerPart;
use crate::report::conformance::named;
use crate::text::{escaped, grouped};

/// Attacks first, then faults, errors and warnings.
pub(super) fn sort(captures: &mut [Capture]) {
    captures.sort_by_key(|capture| {
        let tones = ["fail", "unknown", "pass"];
        let tone = tones.iter().position(|tone| *tone == capture.answer.tone);
        (!capture.is_attacked(), Reverse(capture.is_at_fault()), Reverse(capture.counts), tone)
    });
}

/// The table.
pub(super) fn overview(captures: &[Capture]) -> Markup {
    html! {
        section class="overview" aria-labelledby="overview-title" {
            h2 id="overview-title" { "Captures" }
            div class="scroll" tabindex="0" role="group" aria-labelledby="overview-title" {
                table id="overview" {
                    thead {
                        tr {
                            th scope="col" { "Capture" } th scope="col" { "Verdict" }
                            th scope="col" class="number" { "Errors" } th scope="col" class="number" { "Warnings" }
                            th scope="col" { "Who" } th scope="col" { "When" }
                        }
                    }
                    tbody { @for (nth, capture) in captures.iter().enumerate() { (row(nth, capture)) } }
                }
            }
        }
    }
}

fn row(nth: usize, capture: &Capture) -> Markup {
    let [errors, warnings, _] = capture.counts;
    html! {
        tr data-of=(nth) {
            th scope="row" { a href={ "#capture=" (nth) } { bdi { (escaped(&capture.name)) } } }
            td class=(capture.answer.tone) { (capture.answer.headline) }
            td class={ "number" @if errors > 0 { " bad" } } { (grouped(errors)) }
            td class={ "number" @if warnings > 0 { " warn" } } { (grouped(warnings)) }
            td { (capture.who) }
            td class="when" { (capture.begin) }
        }
    }
}

impl Capture {
    fn is_attacked(&self) -> bool {
        self.answer.is_attacked
    }

    fn is_at_fault(&self) -> bool {
        self.answer.tone == "fail"
    }
}

/// Those that are attacked or at fault; without any, those with errors, or else with warnings.
pub(super) fn who(answer: &AnswerPart, parties: &BTreeMap<String, [u64; 3]>) -> String {
    if !answer.who.is_empty() {
        return named(answer.who.iter().cloned());
    }
    let with = |severity| {
        let at = Severity::ALL.iter().position(|it| *it == severity).unwrap_or_default();
        let parties = parties.iter().filter(move |(_, counts)| counts[at] > 0);
        Vec::from_iter(parties.map(|(party, _)| party.clone()))
    };
    match with(Severity::Error) {
        none if none.is_empty() => named(with(Severity::Warning).into_iter()),
        some => named(some.into_iter()),
    }
}
