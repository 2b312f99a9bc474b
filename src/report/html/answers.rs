//! What is wrong, in words: the answer as a part of the page, with checklists and filters.

use maud::{Markup, html};

use super::attack::{self, what_to_do};
use crate::diagnose::{DiagnosedServer, ItemVerdict, Met, Outcome};
use crate::report::answer::{Answer, AnswerTimes, Diagnosed, more_others, says_of_others};
use crate::report::diagnose::{ChecklistLine, SERVERS, absent, checklist, frames, near, shown};
use crate::text::escaped;

/// The answer about a capture.
pub(super) struct AnswerPart {
    /// `fail`, `pass` or `unknown`.
    pub(super) tone: &'static str,
    pub(super) headline: String,
    /// There is an attack.
    pub(super) is_attacked: bool,
    /// The addresses that are attacked, or at fault.
    pub(super) who: Vec<String>,
    /// Everything below the headline.
    pub(super) body: Markup,
}

impl AnswerPart {
    pub(super) fn of(answer: &Answer<'_>, times: AnswerTimes) -> AnswerPart {
        let diagnoses = answer.diagnoses;
        let has_lists = diagnoses.has_lists;
        let body = html! {
            @for (headline, block) in attack::blocks(&diagnoses.attacks, times) {
                div class="answer fail" {
                    p class="what" { "Under attack: " (escaped(&headline)) }
                    (block)
                }
            }
            @for note in diagnoses.omitted.notes() { p class="more" { (note) } }
            @for party in answer.of_outcome(Outcome::Fault).take(SERVERS) { (fault(party, has_lists, !answer.names_fault)) }
            @if let Some(more) = answer.more_faults() { p class="more" { (more) } }
            (others(answer, Outcome::Unknown))
            (others(answer, Outcome::Good))
            @if let Some(near) = near(diagnoses) { p class="more" { (escaped(&near)) } }
            @for left_out in diagnoses.left_out() { p class="more" { (left_out) } }
        };
        AnswerPart {
            tone: answer.tone,
            headline: escaped(&answer.headline).into_owned(),
            is_attacked: answer.is_attacked,
            who: answer.who.clone(),
            body,
        }
    }
}

/// A party with a fault: the headline, what to do, and the checklist. `with_headline`: the page's
/// headline is another one.
fn fault(party: Diagnosed<'_>, has_lists: bool, with_headline: bool) -> Markup {
    let item = party.decisive();
    html! {
        div class="answer fail" {
            @if with_headline { p class="what" { (escaped(&party.headline())) } }
            @if let Some(text) = item.map(|it| &it.text).filter(|text| !text.is_empty()) { p class="details" { (escaped(text)) } }
            @if let Some(todo) = item.and_then(ItemVerdict::advice) { (what_to_do(&on_page(todo))) }
            details { summary { "Checklist" } (conditions(party, has_lists)) }
        }
    }
}

/// Advice that names another command, where the page has what that command shows.
fn on_page(advice: &str) -> String {
    let measures = "`gamewire abuse` measures the attack, and shows filters against it.";
    match advice.strip_suffix(measures) {
        Some("") => "See the attack above: its figures, and filters against it.".to_owned(),
        Some(first) => format!("{first}the attack's figures, and filters against it, are above."),
        None => advice.to_owned(),
    }
}

/// The parties with another result, as one line with their number.
fn others(answer: &Answer<'_>, outcome: Outcome) -> Markup {
    let own = Vec::from_iter(answer.of_outcome(outcome));
    html! {
        @if let Some(says) = says_of_others(&own, outcome) {
            details class={ "answer " (outcome.name()) } {
                summary { (says) }
                @for party in own.iter().take(SERVERS) {
                    details class="one" {
                        summary { (escaped(&party.headline())) }
                        (conditions(*party, answer.diagnoses.has_lists))
                    }
                }
                @if own.len() > SERVERS {
                    p class="more" { (more_others(own.len(), SERVERS)) }
                }
            }
        }
    }
}

/// The checklist of a party.
fn conditions(party: Diagnosed<'_>, has_lists: bool) -> Markup {
    let lines = match party {
        Diagnosed::Server(server) => checklist(server, has_lists),
        Diagnosed::Other(party) => {
            let line = |it| ChecklistLine::Item(it, it.advice().filter(|_| it.met == Met::No));
            party.items.iter().map(line).collect()
        }
    };
    let absent = if let Diagnosed::Server(server) = party { absent(server) } else { "" };
    html! {
        @if let Diagnosed::Server(server) = party { p class="about" { (server.position.says()) } }
        div class="scroll" {
            table class="checklist" {
                @for line in lines {
                    @match line {
                        ChecklistLine::Absent(group) => tr class="unknown" {
                            td { "?" } td { (group.does()) } td {} td { (absent) }
                        }
                        ChecklistLine::Item(item, advice) => tr class=(item.met.name()) {
                            td { (shown(item.met)) }
                            td { (item.item.does()) }
                            td { (frames(item)) }
                            td { (escaped(&item.text)) @if let Some(advice) = advice { p { (advice) } } }
                        }
                    }
                }
            }
        }
        @if let Diagnosed::Server(server) = party { (with_other_masters(server)) }
    }
}

/// The masters with which a server's registration goes less well.
fn with_other_masters(server: &DiagnosedServer) -> Markup {
    html! {
        @for (master, _, headline) in server.other_masters() {
            p class="about" { "with " (master) ": " (escaped(&headline)) }
        }
    }
}
