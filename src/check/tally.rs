//! Counts findings by rule, verdict and party: they are kept up to a thousand, but counted up to millions.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Code, Counts, Map, Role, Rule, RuleCounts, Verdict};

use super::ReportedFinding;

/// Limit: parties whose findings are counted, by rule and verdict | {} | in text, those of further parties are `more`
const MOST: usize = 1 << 16;

/// A party for counting: a server by address and port, a client by its address, since each query
/// may have another source port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    /// Its address.
    pub address: IpAddr,
    /// Its port, if it is not a client.
    pub port: Option<u16>,
}

impl Hash for Party {
    /// As few numbers as possible: hashing octet by octet takes several times as long.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.address {
            IpAddr::V4(address) => state.write_u32(address.into()),
            IpAddr::V6(address) => state.write_u128(address.into()),
        }
        state.write_u32(self.port.map_or(u32::MAX, u32::from));
    }
}

impl Party {
    /// The party at fault in a finding, if it is one.
    pub fn of(found: &ReportedFinding) -> Option<Party> {
        Party::new(found.who, found.one_party())
    }

    /// A party with this role.
    pub(super) fn new(who: Role, party: Option<SocketAddr>) -> Option<Party> {
        let party = party.filter(|party| !party.ip().is_unspecified())?;
        let port = Some(party.port()).filter(|_| who != Role::Client);
        Some(Party { address: party.ip(), port })
    }
}

impl std::fmt::Display for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.address, port).fmt(f),
            None => self.address.fmt(f),
        }
    }
}

/// Findings by rule, verdict and party.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rules: RuleCounts,
    /// Breaches and notes of each rule by the party at fault, up to a maximum of parties: further ones count for their
    /// rule only.
    parties: BTreeMap<(Code, Verdict), Map<Party, u64>>,
    /// The number of parties of all rules.
    named: usize,
}

impl Tally {
    /// Counts findings. Returns how many of this rule and verdict there are now.
    pub(super) fn count(
        &mut self,
        rule: &Rule,
        verdict: Verdict,
        party: Option<Party>,
        times: u64,
    ) -> u64 {
        if let Some(party) = party.filter(|_| verdict != Verdict::Inconclusive) {
            self.count_party(rule, verdict, party, times);
        }
        let counts = self.rules.of_mut(rule);
        counts.count(verdict, times);
        counts.of(verdict)
    }

    /// A rule is kept, with a deviation that is no finding here.
    pub(super) fn pass(&mut self, rule: &Rule) {
        self.rules.of_mut(rule).passed += 1;
    }

    /// An inconclusive finding is known.
    pub(super) fn forget(&mut self, rule: &Rule) {
        self.rules.of_mut(rule).inconclusive -= 1;
    }

    fn count_party(&mut self, rule: &Rule, verdict: Verdict, party: Party, times: u64) {
        let parties = self.parties.entry((rule.code, verdict)).or_default();
        if let Some(count) = parties.get_mut(&party) {
            *count += times;
        } else if self.named < MOST {
            parties.insert(party, times);
            self.named += 1;
        }
    }

    /// So many inconclusive findings about a server are proven after all.
    pub(super) fn prove(&mut self, rule: &Rule, server: SocketAddr, times: u64) {
        self.rules.of_mut(rule).prove(times);
        if let Some(party) = Party::new(rule.who, Some(server)).filter(|_| times > 0) {
            self.count_party(rule, Verdict::Fail, party, times);
        }
    }

    /// The number of findings of a rule.
    pub fn of(&self, rule: &Rule) -> Counts {
        self.rules.of(rule)
    }

    /// How many breaches of each rule each party has, and how many notes.
    pub fn parties(&self) -> &BTreeMap<(Code, Verdict), Map<Party, u64>> {
        &self.parties
    }
}
