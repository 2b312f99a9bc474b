//! What is wrong, in words: attacks first, then what players notice, as `abuse` and `diagnose` tell it.

use dissectors::kit::Role;
use maud::{Markup, html};

use super::attack::{self, what_to_do};
use super::verdict::named;
use crate::diagnose::{DiagnosedParty, DiagnosedServer, Diagnoses, ItemVerdict, Outcome, Verdict};
use crate::report::diagnose::{
    ABSENT, ChecklistLine, NO_SERVER, SERVERS, advice, checklist, frames, headline, headline_of,
    near, shown,
};
use crate::session::Totals;
use crate::text::{counted, escaped};

/// The answer about a capture.
pub(super) struct Answer {
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

impl Answer {
    /// `proven`: the attacks that rules prove, a sentence each.
    pub(super) fn of(diagnoses: &Diagnoses, proven: &[String], read: &Totals) -> Answer {
        let parties = parties(diagnoses);
        let attacks = attack::lines(&diagnoses.attacks, read);
        let faults = Vec::from_iter(of_outcome(&parties, Outcome::Fault));
        let sentences = match proven {
            [] => attacks.iter().map(|(headline, _)| headline.clone()).collect(),
            proven => proven.to_vec(),
        };
        let (tone, headline) = match (&sentences[..], &faults[..]) {
            ([], []) => no_fault(&parties),
            ([], [one]) => ("fail", one.headline()),
            ([], _) => {
                ("fail", format!("Something is wrong with {}", kinds(faults.iter().copied())))
            }
            (attacks, _) => ("fail", format!("Under attack: {}", named(attacks.iter().cloned()))),
        };
        let is_told = sentences.is_empty() && faults.len() == 1;
        let mut who: Vec<_> =
            diagnoses.attacks.iter().map(|attack| attack.target.to_string()).collect();
        who.extend(faults.iter().map(|it| it.address()));
        who.dedup();
        let body = html! {
            @for (headline, block) in &attacks {
                div class="answer fail" {
                    p class="what" { "Under attack: " (escaped(headline)) }
                    (block)
                }
            }
            @for note in diagnoses.omitted.notes() { p class="more" { (note) } }
            @for party in faults.iter().take(SERVERS) { (fault(party, diagnoses, !is_told)) }
            @if faults.len() > SERVERS {
                p class="more" { (counted((faults.len() - SERVERS) as u64, "more")) " with a fault: gamewire diagnose lists them" }
            }
            (others(&parties, Outcome::Unknown, diagnoses))
            (others(&parties, Outcome::Good, diagnoses))
            @if let Some(near) = near(diagnoses) { p class="more" { (escaped(&near)) } }
            @if let Some(cut) = diagnoses.cut { p class="more" { (cut) } }
        };
        let is_attacked = !sentences.is_empty();
        Answer { tone, headline: escaped(&headline).into_owned(), is_attacked, who, body }
    }
}

/// A server, a client or a master.
#[derive(Clone, Copy)]
enum Diagnosed<'d> {
    Server(&'d DiagnosedServer),
    Other(&'d DiagnosedParty),
}

impl<'d> Diagnosed<'d> {
    fn outcome(self) -> Outcome {
        match self {
            Diagnosed::Server(server) => server.outcome(),
            Diagnosed::Other(party) => party.outcome(),
        }
    }

    fn headline(self) -> String {
        match self {
            Diagnosed::Server(server) => headline(server),
            Diagnosed::Other(party) => headline_of(party),
        }
    }

    fn address(self) -> String {
        match self {
            Diagnosed::Server(server) => server.server.to_string(),
            Diagnosed::Other(party) => party.address.clone(),
        }
    }

    /// The condition that the headline is about.
    fn decisive(self) -> Option<&'d ItemVerdict> {
        match self {
            Diagnosed::Server(server) => server.decisive(),
            Diagnosed::Other(party) => party.first_no(),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Diagnosed::Server(_) => "server",
            Diagnosed::Other(party) if party.role == Role::Client => "client",
            Diagnosed::Other(_) => "master",
        }
    }
}

/// All parties: servers, masters, clients.
fn parties(diagnoses: &Diagnoses) -> Vec<Diagnosed<'_>> {
    let others = diagnoses.masters.iter().chain(&diagnoses.clients);
    diagnoses.servers.iter().map(Diagnosed::Server).chain(others.map(Diagnosed::Other)).collect()
}

fn of_outcome<'d>(
    parties: &[Diagnosed<'d>],
    outcome: Outcome,
) -> impl Iterator<Item = Diagnosed<'d>> {
    parties.iter().copied().filter(move |it| it.outcome() == outcome)
}

/// How many servers, masters and clients: `2 servers and 1 client`.
fn kinds<'d>(parties: impl Iterator<Item = Diagnosed<'d>> + Clone) -> String {
    let count = |kind| parties.clone().filter(|it| it.kind() == kind).count() as u64;
    let kinds = ["server", "master", "client"].map(|kind| (count(kind), kind));
    let mut named: Vec<_> = kinds.into_iter().filter(|(count, _)| *count > 0).collect();
    let last = named.pop().map(|(count, kind)| counted(count, kind)).unwrap_or_default();
    match Vec::from_iter(named.into_iter().map(|(count, kind)| counted(count, kind))).join(", ") {
        first if first.is_empty() => last,
        first => format!("{first} and {last}"),
    }
}

/// The headline of a capture without faults.
fn no_fault(parties: &[Diagnosed<'_>]) -> (&'static str, String) {
    let servers = parties.iter().copied().filter(|it| it.kind() == "server");
    let servers = Vec::from_iter(servers);
    let good = of_outcome(&servers, Outcome::Good).count();
    match (good, &servers[..]) {
        (_, []) => ("unknown", format!("No server in this capture: {NO_SERVER}")),
        (0, [one]) => ("unknown", one.headline()),
        (0, all) => {
            let all = counted(all.len() as u64, "server");
            ("unknown", format!("This capture shows too little of its {all} to tell"))
        }
        (_, [one]) => ("pass", one.headline()),
        (good, all) if good == all.len() => {
            ("pass", format!("Nothing is wrong with {}", counted(good as u64, "server")))
        }
        (good, all) => {
            let all = counted(all.len() as u64, "server");
            let text = format!(
                "Nothing is wrong with {good} of {all}; of the others too little is in this capture"
            );
            ("pass", text)
        }
    }
}

/// A party with a fault: the headline, what to do, and the checklist. `with_headline`: the page's
/// headline is another one.
fn fault(party: &Diagnosed<'_>, diagnoses: &Diagnoses, with_headline: bool) -> Markup {
    let item = party.decisive();
    html! {
        div class="answer fail" {
            @if with_headline { p class="what" { (escaped(&party.headline())) } }
            @if let Some(text) = item.map(|it| &it.text).filter(|text| !text.is_empty()) { p class="details" { (escaped(text)) } }
            @if let Some(todo) = item.and_then(advice) { (what_to_do(&on_page(todo))) }
            details { summary { "Checklist" } (conditions(*party, diagnoses)) }
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
fn others(parties: &[Diagnosed<'_>], outcome: Outcome, diagnoses: &Diagnoses) -> Markup {
    let own = Vec::from_iter(of_outcome(parties, outcome));
    let what = match outcome {
        Outcome::Good => "nothing is wrong",
        _ => "this capture does not show enough to tell",
    };
    html! {
        @if !own.is_empty() {
            details class={ "answer " (outcome.name()) } {
                summary { (kinds(own.iter().copied())) ": " (what) }
                @for party in own.iter().take(SERVERS) {
                    details class="one" {
                        summary { (escaped(&party.headline())) }
                        (conditions(*party, diagnoses))
                    }
                }
                @if own.len() > SERVERS {
                    p class="more" { (counted((own.len() - SERVERS) as u64, "more")) ": gamewire diagnose --server IP:PORT shows each" }
                }
            }
        }
    }
}

/// The checklist of a party.
fn conditions(party: Diagnosed<'_>, diagnoses: &Diagnoses) -> Markup {
    let lines = match party {
        Diagnosed::Server(server) => checklist(server, diagnoses.has_lists),
        Diagnosed::Other(party) => {
            let line =
                |it| ChecklistLine::Item(it, advice(it).filter(|_| it.verdict == Verdict::No));
            party.items.iter().map(line).collect()
        }
    };
    html! {
        @if let Diagnosed::Server(server) = party { p class="about" { (server.position.says()) } }
        div class="scroll" {
            table class="checklist" {
                @for line in lines {
                    @match line {
                        ChecklistLine::Absent(group) => tr class="unknown" {
                            td { "?" } td { (group.does()) } td {} td { (ABSENT) }
                        }
                        ChecklistLine::Item(item, advice) => tr class=(item.verdict.name()) {
                            td { (shown(item.verdict)) }
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
