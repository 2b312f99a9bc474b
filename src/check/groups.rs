//! The findings of one rule, by party, counted from the tally: `check` prints them, and the page of `report` shows them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dissectors::kit::{Map, Role, Rule, Severity, Verdict};

use super::{Outcome, Party, ReportedFinding, RuleOutcome, Tally};

/// Findings of one rule and one severity.
pub struct FindingGroup<'o> {
    /// The rule.
    pub rule_outcome: &'o RuleOutcome,
    /// The severity.
    pub severity: Severity,
    /// Their number, kept or only counted.
    pub count: u64,
    /// The parties with most findings first, up to the number that is named; the others in no
    /// order.
    pub parties: Vec<ByParty<'o>>,
    /// The finding that is shown first.
    pub first: Option<&'o ReportedFinding>,
}

/// The findings of one party, or of many sources together.
pub struct ByParty<'o> {
    /// The party; `None` for many sources, and for faults of the recording.
    pub party: Option<Party>,
    /// Their number, kept or only counted.
    pub count: u64,
    /// Those that are kept, in the order of the packets.
    pub found: Vec<&'o ReportedFinding>,
}

impl ByParty<'_> {
    /// The party's role.
    pub fn who(&self, rule: &Rule) -> Role {
        match (self.found.first(), self.party) {
            (Some(found), _) => found.who,
            // Only clients are counted without a port.
            (None, Some(Party { port: None, .. })) => Role::Client,
            (None, _) => rule.who,
        }
    }

    /// The party as reports name it: without a port if it is a client, or many sources.
    pub fn name(&self) -> Option<String> {
        let attack = self.found.first().and_then(|found| found.attack.as_ref());
        let one = || self.party.map(|party| party.to_string());
        attack.map(ToString::to_string).or_else(one)
    }

    /// Whether it is many sources.
    pub fn is_attack(&self) -> bool {
        self.found.first().is_some_and(|found| found.attack.is_some())
    }

    /// Its sort key.
    fn rank(&self) -> impl Ord + use<> {
        let first = self.found.first().map_or(u64::MAX, |found| found.frame());
        (Reverse(self.count), first, self.party)
    }
}

impl<'o> FindingGroup<'o> {
    /// All groups: the most severe first, then by the codes of the rules. This many parties are
    /// named per group.
    pub fn all(outcome: &'o Outcome, named: usize) -> Vec<FindingGroup<'o>> {
        let mut kept: BTreeMap<_, Vec<&ReportedFinding>> = BTreeMap::new();
        for found in outcome.findings.iter().filter(|it| it.verdict != Verdict::Inconclusive) {
            kept.entry((Reverse(found.severity), found.rule.code)).or_default().push(found);
        }
        let group =
            |((severity, code), found): ((Reverse<Severity>, _), Vec<&'o ReportedFinding>)| {
                let rule_outcome = outcome.rules.iter().find(|it| it.rule.code == code)?;
                let mut parties = by_party(rule_outcome, severity.0, &found, &outcome.tally);
                let first =
                    parties.iter().filter(|by| !by.found.is_empty()).min_by_key(|by| by.rank());
                let first = first.and_then(|by| by.found.first().copied());
                // Under a flood there are very many: only those that are named are sorted.
                if named < parties.len() {
                    parties.select_nth_unstable_by_key(named, ByParty::rank);
                }
                let end = named.min(parties.len());
                parties[..end].sort_unstable_by_key(ByParty::rank);
                Some(FindingGroup {
                    rule_outcome,
                    severity: severity.0,
                    count: rule_outcome.count(severity.0),
                    parties,
                    first,
                })
            };
        kept.into_iter().filter_map(group).collect()
    }
}

/// The counts of each party, in no particular order.
fn by_party<'o>(
    rule_outcome: &RuleOutcome,
    severity: Severity,
    found: &[&'o ReportedFinding],
    tally: &Tally,
) -> Vec<ByParty<'o>> {
    let mut parties: Vec<ByParty<'_>> = Vec::new();
    let mut places: Map<(Option<Party>, Option<String>), usize> = Map::default();
    let mut place = |parties: &mut Vec<ByParty<'o>>, party, attack| {
        let at = *places.entry((party, attack)).or_insert(parties.len());
        if at == parties.len() {
            parties.push(ByParty { party, count: 0, found: Vec::new() });
        }
        at
    };
    // A rule with severity note has its breaches among its notes.
    let verdicts = [Verdict::Note, Verdict::Fail].into_iter();
    for verdict in verdicts.filter(|it| it.severity(rule_outcome.severity) == severity) {
        let of_rule = tally.parties().get(&(rule_outcome.rule.code, verdict));
        for (&party, count) in of_rule.into_iter().flatten() {
            let at = place(&mut parties, Some(party), None);
            parties[at].count += count;
        }
    }
    for &found in found {
        let attack = found.attack.as_ref().map(ToString::to_string);
        let at = place(&mut parties, Party::of(found), attack);
        let by = &mut parties[at];
        by.found.push(found);
        by.count = by.count.max(by.found.len() as u64);
    }
    if rule_outcome.rule.who == Role::Capture
        && let [nobody] = &mut *parties
    {
        nobody.count = rule_outcome.count(severity);
    }
    parties
}
