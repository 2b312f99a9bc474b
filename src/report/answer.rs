//! What is wrong in a capture, in words: attacks first, then what players notice, as `abuse` and `diagnose` tell it.
//! The first screens of `report` and `view` are made of it.

use dissectors::kit::{Role, Time};

use super::abuse::AbuseReport;
use super::abuse_filters::EMITTED;
use super::conformance::{Conformance, named};
use super::diagnose::{NO_SERVER, SERVERS, headline, headline_of, near, tone, tone_of_fault};
use super::paint::Tone;
use super::{TimeFormatter, TimeStyle};
use crate::abuse::{Attack, Omitted, SeenTraffic};
use crate::diagnose::{DiagnosedParty, DiagnosedServer, Diagnoses, ItemVerdict, Outcome};
use crate::session::Totals;
use crate::text::{counted, escaped, grouped};

/// Maximum number of parties without a fault that have a line each.
const OTHERS: usize = 10;

/// How the times of attacks are written.
#[derive(Clone, Copy, Debug)]
pub struct AnswerTimes {
    /// The style.
    pub style: TimeStyle,
    /// The first time of the capture.
    pub first: Option<Time>,
    /// Digits of a second that the capture has.
    pub digits: u8,
}

impl AnswerTimes {
    /// Of a capture.
    pub fn of(style: TimeStyle, read: &Totals) -> AnswerTimes {
        AnswerTimes { style, first: read.span.map(|[first, _]| first), digits: read.digits }
    }

    /// One attack as `abuse` reports it.
    pub(in crate::report) fn report(self, attack: &Attack) -> AbuseReport<'_> {
        // The line about a capture without attacks is not needed.
        let (seen, tcp, unfinished) = (SeenTraffic::default(), 0, 0);
        AbuseReport {
            attacks: std::slice::from_ref(attack),
            capture: None,
            digits: self.digits,
            times: (self.style, self.first),
            omitted: Omitted::default(),
            packets: 0,
            tcp,
            unfinished,
            seen,
        }
    }
}

/// What to do against an attack: its filters.
pub(in crate::report) fn filters<'f>(
    figures: &'f [(&'static str, String)],
) -> impl Iterator<Item = &'f str> {
    let filters = figures.iter().filter(|(name, _)| *name == "filter");
    filters.map(|(_, text)| text.trim_end_matches(EMITTED))
}

/// The answer about a capture.
pub struct Answer<'d> {
    /// `fail`, `pass` or `unknown`.
    pub tone: &'static str,
    /// The first line.
    pub headline: String,
    /// There is an attack.
    pub is_attacked: bool,
    /// The addresses that are attacked, or at fault.
    pub who: Vec<String>,
    /// The first line is that of the only party with a fault.
    pub(in crate::report) names_fault: bool,
    pub(in crate::report) diagnoses: &'d Diagnoses,
    parties: Vec<Diagnosed<'d>>,
    times: AnswerTimes,
}

/// A line of the answer, unbroken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerLine {
    /// How it looks.
    pub tone: Option<Tone>,
    /// Columns before it.
    pub indent: usize,
    /// The line, with terminal controls escaped.
    pub text: String,
    /// The address of the party that it is about.
    pub about: Option<String>,
}

impl<'d> Answer<'d> {
    /// `proven`: the attacks that rules prove, a sentence each.
    pub fn of(diagnoses: &'d Diagnoses, proven: &[String], times: AnswerTimes) -> Answer<'d> {
        let parties = parties(diagnoses);
        let faults = parties.iter().copied().filter(|it| it.outcome() == Outcome::Fault);
        let faults = Vec::from_iter(faults);
        let headline_of = |attack| {
            let report = times.report(attack);
            report.headline(attack, &mut report.stamp())
        };
        let sentences = match proven {
            [] => diagnoses.attacks.iter().map(headline_of).collect(),
            proven => proven.to_vec(),
        };
        let (tone, headline) = match (&sentences[..], &faults[..]) {
            ([], []) => no_fault(&parties, diagnoses.left_out.servers > 0),
            ([], [one]) => ("fail", one.headline()),
            ([], _) => {
                ("fail", format!("Something is wrong with {}", kinds(faults.iter().copied())))
            }
            (attacks, _) => ("fail", format!("Under attack: {}", named(attacks.iter().cloned()))),
        };
        let mut who: Vec<_> =
            diagnoses.attacks.iter().map(|attack| attack.target.to_string()).collect();
        who.extend(faults.iter().map(|it| it.address()));
        who.dedup();
        let is_attacked = !sentences.is_empty();
        let names_fault = !is_attacked && faults.len() == 1;
        Answer { tone, headline, is_attacked, who, names_fault, diagnoses, parties, times }
    }

    /// The parties with this result.
    pub(in crate::report) fn of_outcome(
        &self,
        outcome: Outcome,
    ) -> impl Iterator<Item = Diagnosed<'d>> {
        self.parties.iter().copied().filter(move |it| it.outcome() == outcome)
    }

    /// That there are more faults than are shown.
    pub(in crate::report) fn more_faults(&self) -> Option<String> {
        let more = self.of_outcome(Outcome::Fault).count().saturating_sub(SERVERS);
        let more = (more > 0).then(|| grouped(more as u64));
        more.map(|more| format!("{more} more with a fault: gamewire diagnose lists them"))
    }

    /// It as text: what is wrong, conformance in a line, then who has no fault, and conformance in full.
    pub fn lines(&self, conformance: &Conformance) -> Vec<AnswerLine> {
        let first = self.of_outcome(Outcome::Fault).next().filter(|_| self.names_fault);
        let about = first.map(Diagnosed::address).or_else(|| self.who.first().cloned());
        let mut lines = vec![AnswerLine::of(0, tone_named(self.tone), &self.headline).about(about)];
        for attack in &self.diagnoses.attacks {
            self.attack(attack, &mut lines);
        }
        let faint = |text: &str| AnswerLine::of(0, Some(Tone::Faint), text);
        lines.extend(self.diagnoses.omitted.notes().map(&faint));
        for party in self.of_outcome(Outcome::Fault).take(SERVERS) {
            self.fault(party, &mut lines);
        }
        lines.extend(self.more_faults().map(|more| faint(&more)));
        let no_fault = (!self.is_attacked && !self.names_fault && lines.len() == 1)
            .then(|| self.only_one(&mut lines))
            .flatten();
        lines.push(AnswerLine::of(0, tone_named(conformance.tone), &conformance.headline));
        for outcome in [Outcome::Unknown, Outcome::Good] {
            self.others(outcome, no_fault, &mut lines);
        }
        lines.extend(near(self.diagnoses).map(|near| faint(&near)));
        lines.extend(self.diagnoses.left_out().map(|text| faint(&text)));
        if !conformance.sentences.is_empty() {
            lines.push(AnswerLine::of(0, None, "Conformance, in full:"));
        }
        let sentences = conformance.sentences.iter();
        lines.extend(sentences.map(|text| AnswerLine::of(2, None, text)));
        lines
    }

    fn attack(&self, attack: &Attack, lines: &mut Vec<AnswerLine>) {
        let report = self.times.report(attack);
        let mut stamp: TimeFormatter = report.stamp();
        let about = Some(attack.target.to_string());
        // One attack is named in the first line already.
        let indent = if self.diagnoses.attacks.len() == 1 { 2 } else { 0 };
        let before = if indent == 0 { "Under attack: " } else { "" };
        let headline = format!("{before}{}", report.headline(attack, &mut stamp));
        let line = AnswerLine::of(indent, Some(tone_of_fault()), &headline);
        lines.push(line.about(about.clone()));
        let figures = report.figures(attack, &mut stamp);
        for todo in filters(&figures) {
            lines.push(AnswerLine::todo(todo).about(about.clone()));
        }
    }

    fn fault(&self, party: Diagnosed<'_>, lines: &mut Vec<AnswerLine>) {
        let about = Some(party.address());
        if !self.names_fault {
            let line = AnswerLine::of(0, Some(tone_of_fault()), &party.headline());
            lines.push(line.about(about.clone()));
        }
        let Some(item) = party.decisive() else { return };
        if !item.text.is_empty() {
            lines.push(AnswerLine::of(2, None, &item.text).about(about.clone()));
        }
        lines.extend(item.advice().map(|todo| AnswerLine::todo(todo).about(about)));
    }

    /// The only party, if the first line is that about it.
    fn only_one(&self, lines: &mut [AnswerLine]) -> Option<Diagnosed<'d>> {
        let is_it = |it: &Diagnosed<'d>| it.headline() == self.headline;
        let party = self.parties.iter().copied().find(is_it)?;
        lines.iter_mut().for_each(|line| line.about = Some(party.address()));
        Some(party)
    }

    fn others(&self, outcome: Outcome, named: Option<Diagnosed<'d>>, lines: &mut Vec<AnswerLine>) {
        let named = named.map(Diagnosed::address);
        let own = self.of_outcome(outcome).filter(|it| Some(it.address()) != named);
        let own = Vec::from_iter(own);
        let Some(says) = says_of_others(&own, outcome) else { return };
        lines.push(AnswerLine::of(0, Some(tone(outcome)), &says));
        for party in own.iter().take(OTHERS) {
            let line = AnswerLine::of(2, None, &party.headline());
            lines.push(line.about(Some(party.address())));
        }
        if own.len() > OTHERS {
            let more = more_others(own.len(), OTHERS);
            lines.push(AnswerLine::of(2, Some(Tone::Faint), &more));
        }
    }
}

impl AnswerLine {
    fn of(indent: usize, tone: Option<Tone>, text: &str) -> AnswerLine {
        AnswerLine { tone, indent, text: escaped(text).into_owned(), about: None }
    }

    fn todo(text: &str) -> AnswerLine {
        AnswerLine::of(2, Some(Tone::Label), &format!("What to do: {text}"))
    }

    fn about(self, about: Option<String>) -> AnswerLine {
        AnswerLine { about, ..self }
    }
}

/// The tone with a name of [`Answer::tone`] or [`Conformance::tone`].
fn tone_named(name: &str) -> Option<Tone> {
    use dissectors::kit::{Severity, Verdict};
    match name {
        "fail" => Some(tone_of_fault()),
        "warning" => Some(Tone::Finding(Severity::Warning, Verdict::Fail)),
        "pass" => Some(Tone::Good),
        _ => None,
    }
}

/// That parties have another result than a fault, with their number.
pub(in crate::report) fn says_of_others(own: &[Diagnosed<'_>], outcome: Outcome) -> Option<String> {
    let what = match outcome {
        Outcome::Good => "nothing is wrong",
        _ => "this capture does not show enough to tell",
    };
    (!own.is_empty()).then(|| format!("{}: {what}", kinds(own.iter().copied())))
}

/// That there are more of them than are shown.
pub(in crate::report) fn more_others(all: usize, shown: usize) -> String {
    let more = grouped(all.saturating_sub(shown) as u64);
    format!("{more} more: gamewire diagnose --format json lists all")
}

/// A server, a client or a master.
#[derive(Clone, Copy)]
pub(in crate::report) enum Diagnosed<'d> {
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

    pub(in crate::report) fn headline(self) -> String {
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
    pub(in crate::report) fn decisive(self) -> Option<&'d ItemVerdict> {
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

/// The headline of a capture without faults. `is_cut`: there are servers of which nothing is known.
fn no_fault(parties: &[Diagnosed<'_>], is_cut: bool) -> (&'static str, String) {
    let servers = parties.iter().copied().filter(|it| it.kind() == "server");
    let servers = Vec::from_iter(servers);
    let good = servers.iter().filter(|it| it.outcome() == Outcome::Good).count();
    match (good, &servers[..]) {
        (_, []) => ("unknown", format!("No server in this capture: {NO_SERVER}")),
        (0, [one]) => ("unknown", one.headline()),
        (0, all) => {
            let all = counted(all.len() as u64, "server");
            ("unknown", format!("This capture shows too little of its {all} to tell"))
        }
        (good, _) if is_cut => {
            let good = counted(good as u64, "server");
            ("unknown", format!("Nothing is wrong with {good}; others did not fit into memory"))
        }
        (_, [one]) => ("pass", one.headline()),
        (good, all) if good == all.len() => {
            ("pass", format!("Nothing is wrong with {}", counted(good as u64, "server")))
        }
        (good, all) => {
            let all = counted(all.len() as u64, "server");
            let text = format!(
                "Nothing is wrong with {} of {all}; of the others too little is in this capture",
                grouped(good as u64)
            );
            ("pass", text)
        }
    }
}
