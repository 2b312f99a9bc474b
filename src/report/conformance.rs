//! Whether a capture is as specified, in a line and some sentences: for the first screens of `report` and `view`.

use std::collections::{BTreeMap, BTreeSet};

use dissectors::kit::{Role, Severity};

use crate::check::{ByParty, FindingGroup, Outcome, RuleStatus};
use crate::session::Totals;
use crate::text::{counted, escaped, grouped};

/// Maximum number of rules and parties named in a sentence.
const NAMED: usize = 4;

/// Conformance in a line, with its explanation.
pub struct Conformance {
    /// That of the worst severity: `fail`, `warning`, `pass` or `unknown`.
    pub tone: &'static str,
    /// The line.
    pub headline: String,
    /// Which rules were broken by whom, and what the capture lacks.
    pub sentences: Vec<String>,
}

impl Conformance {
    /// Of a capture that was checked. `least`: the minimum severity that fails it.
    pub fn of(outcome: &Outcome, least: Severity, read: &Totals) -> Conformance {
        let [errors, warnings, notes] = Severity::ALL.map(|severity| outcome.count(severity));
        let counts = || {
            let [errors, warnings, notes] =
                [(errors, "error"), (warnings, "warning"), (notes, "note")]
                    .map(|(count, noun)| (count > 0).then(|| counted(count, noun)));
            Vec::from_iter([errors, warnings, notes].into_iter().flatten()).join(", ")
        };
        let headline = match outcome.status(least) {
            RuleStatus::Fail => format!("Not as specified: {}", counts()),
            RuleStatus::Pass if warnings + errors > 0 => format!("Passed, with {}", counts()),
            RuleStatus::Pass if notes > 0 => format!("As specified: {}", counts()),
            RuleStatus::Pass => "As specified: no rule was broken".to_owned(),
            RuleStatus::Inconclusive => {
                "Inconclusive: the capture does not show enough to decide".to_owned()
            }
            RuleStatus::NotExercised => "Nothing to check in this capture".to_owned(),
        };
        let tone = match outcome.status(least) {
            _ if errors > 0 => "fail",
            _ if warnings > 0 => "warning",
            RuleStatus::Inconclusive | RuleStatus::NotExercised => "unknown",
            RuleStatus::Fail | RuleStatus::Pass => "pass",
        };
        let groups = FindingGroup::all(outcome, 0);
        let mut sentences = Vec::from_iter(many_sources(&groups));
        let each = [Role::Server, Role::Client, Role::Master, Role::Any];
        sentences.extend(each.iter().filter_map(|who| broken(*who, &groups)));
        let (asked, answered) = (outcome.requests.asked, outcome.requests.answered);
        if asked > 0 {
            let (some, all) = (grouped(answered), counted(asked, "request"));
            let which = match (answered, asked) {
                (0, 1) => "The only request was not answered".to_owned(),
                _ if answered == asked => "All requests were answered".to_owned(),
                (1, _) => format!("{some} of {all} was answered"),
                _ => format!("{some} of {all} were answered"),
            };
            sentences.push(format!("{which}."));
        }
        let open: u64 = outcome.rules.iter().map(|rule| rule.counts.inconclusive).sum();
        if open > 0 {
            let findings = counted(open, "finding");
            let are = if open == 1 { "is" } else { "are" };
            sentences.push(format!(
                "{findings} {are} inconclusive: what this capture lacks could explain them."
            ));
        }
        if read.lossy || read.dropped {
            sentences.push(
                "The recording lost packets: that something is missing from it proves nothing."
                    .to_owned(),
            );
        }
        for (_, holds) in &outcome.lacking {
            sentences.push(as_sentence(holds));
        }
        Conformance { tone, headline, sentences }
    }
}

/// A text as a sentence: `No message matches -Y 'frame == 4'; 41 messages of a2s.`
pub(super) fn as_sentence(text: &str) -> String {
    let text = escaped(text);
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

/// The rules that one kind of party broke, and the parties.
fn broken(who: Role, groups: &[FindingGroup<'_>]) -> Option<String> {
    let is_it = |group: &FindingGroup<'_>, by: &ByParty<'_>| {
        !by.is_attack() && by.who(group.rule_outcome.rule) == who
    };
    let (rules, parties) = rules_and_parties(groups, is_it, |by| by.party);
    // What neither its messages nor its port show to be more.
    let noun = if who == Role::Any { "host" } else { who.name() };
    let kind = counted(parties.len().max(1) as u64, noun);
    let by = named(parties.iter().map(ToString::to_string));
    let by = if by.is_empty() { by } else { format!(": {by}") };
    rules.map(|rules| format!("{kind} broke {rules}{by}."))
}

/// The rules that many sources together broke, and whom they hit.
fn many_sources(groups: &[FindingGroup<'_>]) -> Option<String> {
    let (rules, attacks) = rules_and_parties(groups, |_, by| by.is_attack(), |by| by.name());
    rules.map(|rules| {
        format!("Many sources together broke {rules}: {}.", named(attacks.into_iter()))
    })
}

/// The rules with errors or warnings of such parties, with their number, and these parties.
fn rules_and_parties<T: Ord>(
    groups: &[FindingGroup<'_>],
    is_it: impl Fn(&FindingGroup<'_>, &ByParty<'_>) -> bool,
    party: impl Fn(&ByParty<'_>) -> Option<T>,
) -> (Option<String>, BTreeSet<T>) {
    let (mut rules, mut parties) = (BTreeMap::new(), BTreeSet::new());
    for group in groups.iter().filter(|it| it.severity > Severity::Note) {
        let rule = group.rule_outcome.rule;
        for by in group.parties.iter().filter(|by| is_it(group, by)) {
            rules.insert(rule.code, rule.slug);
            parties.extend(party(by));
        }
    }
    let names = named(rules.iter().map(|(code, slug)| format!("{code} {slug}")));
    let count = rules.len() as u64;
    ((count > 0).then(|| format!("{} ({names})", counted(count, "rule"))), parties)
}

/// How many errors, warnings and notes each party has.
pub(super) fn party_counts(outcome: &Outcome) -> BTreeMap<String, [u64; 3]> {
    let severities = outcome.rules.iter().map(|it| (it.rule.code, it.severity));
    let severities = BTreeMap::from_iter(severities);
    let mut counts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for ((code, verdict), parties) in outcome.tally.parties() {
        let of_rule = severities.get(code).copied().unwrap_or(Severity::Note);
        let severity = verdict.severity(of_rule);
        let Some(at) = Severity::ALL.iter().position(|it| *it == severity) else { continue };
        parties.iter().for_each(|(party, count)| {
            counts.entry(party.to_string()).or_default()[at] += count;
        });
    }
    counts
}

/// The first of some names, and how many more there are.
pub(super) fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let mut named: Vec<_> = names.take(NAMED).collect();
    if more > 0 {
        named.push(format!("{} more", grouped(more as u64)));
    }
    named.join(", ")
}
