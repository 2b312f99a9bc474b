//! How often each party broke a rule: findings are kept by the thousand, and counted by the million.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Code, Map, Rule, Side, Verdict, Who};

use super::found::{AtHand, at_fault};
use super::{Checker, Found};
use crate::session::{SHARDS, shard_of};

/// Parties and rules that are counted, in each shard: which ones does not depend on how many threads
/// have the shards.
const MOST: usize = 1 << 13;

/// A party as it is counted: a server by its address and port, a client by its address, since each of
/// its queries may come from another port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    /// Its address.
    pub address: IpAddr,
    /// Its port, where it is no client's.
    pub port: Option<u16>,
}

impl Hash for Party {
    /// In few numbers: octet by octet takes several times as long.
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
    /// The party that a finding blames, if it blames one.
    pub fn of(found: &Found) -> Option<Party> {
        Party::new(found.who, found.party)
    }

    fn new(who: Who, party: Option<SocketAddr>) -> Option<Party> {
        let party = party.filter(|party| !party.ip().is_unspecified())?;
        let port = Some(party.port()).filter(|_| who != Who::Client);
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

/// What is counted of a party: notes on a rule, or breaches.
type Key = (Code, bool, Party);

/// Findings by rule, verdict and party; the first parties of each shard, if there are very many.
#[derive(Clone, Debug, Default)]
pub struct Parties {
    shards: [Map<Key, u64>; SHARDS],
}

impl Parties {
    fn count(&mut self, ends: [SocketAddr; 2], key: Key, times: u64) {
        let Some(counts) = self.shards.get_mut(shard_of(ends[0].ip(), ends[1].ip(), SHARDS)) else {
            return;
        };
        if let Some(count) = counts.get_mut(&key) {
            *count += times;
        } else if counts.len() < MOST {
            counts.insert(key, times);
        }
    }

    /// Adds what other shards have.
    pub(super) fn join(&mut self, others: Parties) {
        for (counts, more) in self.shards.iter_mut().zip(others.shards) {
            // In whatever order: sums do not depend on it.
            more.into_iter().for_each(|(key, count)| *counts.entry(key).or_default() += count);
        }
    }

    /// How often parties broke each rule, by its code; notes on it apart, under `true`.
    pub fn by_rule(&self) -> BTreeMap<(Code, bool), Map<Party, u64>> {
        let mut rules: BTreeMap<_, Map<Party, u64>> = BTreeMap::new();
        for (&(code, is_note, party), &count) in self.shards.iter().flatten() {
            *rules.entry((code, is_note)).or_default().entry(party).or_default() += count;
        }
        rules
    }
}

fn key(rule: &Rule, verdict: Verdict, party: Party) -> Key {
    (rule.code, verdict == Verdict::Note, party)
}

/// A breach that was counted before it was known whose it is.
pub(super) struct Uncounted {
    rule: &'static Rule,
    verdict: Verdict,
    /// Whose message of the past it is in; `None`: whose the one at hand is.
    side: Option<Side>,
    times: u64,
}

impl Checker {
    /// Counts a breach whose party will be known with the message at hand.
    pub(super) fn uncounted(&mut self, rule: &'static Rule, verdict: Verdict, side: Option<Side>) {
        if verdict != Verdict::Inconclusive {
            self.uncounted.push(Uncounted { rule, verdict, side, times: 1 });
        }
    }

    /// Counts findings of the party that a finding blames.
    pub(super) fn count_party(&mut self, found: &Found, times: u64) {
        if let (Some(flow_context), Some(party)) = (&self.flow_context, Party::of(found))
            && found.verdict != Verdict::Inconclusive
        {
            self.parties.count(
                flow_context.flow.ends,
                key(found.rule, found.verdict, party),
                times,
            );
        }
    }

    /// Counts what a message at hand had, or what was left out of a past one.
    pub(super) fn count_uncounted(&mut self, at_hand: Option<&AtHand<'_>>) {
        let Some(flow_context) = &self.flow_context else { return self.uncounted.clear() };
        for Uncounted { rule, verdict, side, times } in self.uncounted.drain(..) {
            let message = at_hand.filter(|_| side.is_none());
            let Some(side) = side.or(message.map(|it| it.payload.side)) else { continue };
            let (who, party) = at_fault(rule, side, flow_context, message.map(|it| it.message));
            if let Some(party) = Party::new(who, party) {
                self.parties.count(flow_context.flow.ends, key(rule, verdict, party), times);
            }
        }
    }

    /// The same of very many findings of one message, which are not kept.
    pub(super) fn uncounted_of_message(
        &mut self,
        rule: &'static Rule,
        verdict: Verdict,
        times: u64,
    ) {
        if verdict != Verdict::Inconclusive {
            self.uncounted.push(Uncounted { rule, verdict, side: None, times });
        }
    }
}
