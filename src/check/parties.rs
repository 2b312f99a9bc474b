//! Counts how often each party broke a rule: findings are kept up to a thousand, but counted up to
//! millions.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Code, Map, Role, Rule, Verdict};

use super::found::{CurrentMessage, at_fault_by};
use super::{Checker, ReportedFinding};
use crate::session::{FlowContext, LeftOut};

/// Maximum number of parties and rules.
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
    /// The party at fault in a finding, if any.
    pub fn of(found: &ReportedFinding) -> Option<Party> {
        Party::new(found.who, found.party)
    }

    fn new(who: Role, party: Option<SocketAddr>) -> Option<Party> {
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

/// A counter of a party: notes on a rule, or breaches.
type PartyCount = (Code, bool, Party);

/// Findings by rule, verdict and party, up to a maximum of parties.
#[derive(Clone, Debug, Default)]
pub struct Parties(Map<PartyCount, u64>);

impl Parties {
    fn count(&mut self, key: PartyCount, times: u64) {
        if let Some(count) = self.0.get_mut(&key) {
            *count += times;
        } else if self.0.len() < MOST {
            self.0.insert(key, times);
        }
    }

    /// A server broke a rule so many times more.
    pub(super) fn is_proven(&mut self, rule: &Rule, server: SocketAddr, times: u64) {
        if let Some(party) = Party::new(rule.who, Some(server))
            && times > 0
        {
            self.count(key(rule, Verdict::Fail, party), times);
        }
    }

    /// How often parties broke each rule, by its code; notes separately, under `true`.
    pub fn by_rule(&self) -> BTreeMap<(Code, bool), Map<Party, u64>> {
        let mut rules: BTreeMap<_, Map<Party, u64>> = BTreeMap::new();
        // Sums do not depend on the order.
        self.0.iter().for_each(|(&(code, is_note, party), &count)| {
            *rules.entry((code, is_note)).or_default().entry(party).or_default() += count;
        });
        rules
    }
}

fn key(rule: &Rule, verdict: Verdict, party: Party) -> PartyCount {
    (rule.code, verdict == Verdict::Note, party)
}

impl Checker {
    /// Counts a finding for the party at fault.
    pub(super) fn count_party(&mut self, found: &ReportedFinding) {
        if let Some(party) = Party::of(found)
            && found.verdict != Verdict::Inconclusive
        {
            self.parties.count(key(found.rule, found.verdict, party), 1);
        }
    }

    /// Counts findings that are not kept, also for the party at fault.
    pub(super) fn leave_out(
        &mut self,
        left_out: &LeftOut,
        context: &FlowContext,
        current: Option<&CurrentMessage<'_>>,
    ) {
        let &LeftOut { rule, verdict, side, times, .. } = left_out;
        self.kept[rule.code.index()][verdict as usize] += times;
        self.left_out += times;
        if verdict != Verdict::Inconclusive
            && let Some((who, party)) = at_fault_by(rule, side, context, current)
            && let Some(party) = Party::new(who, party)
        {
            self.parties.count(key(rule, verdict, party), times);
        }
    }
}
