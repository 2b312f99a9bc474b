//! Many responses to an address that requested none of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr};

use super::elsewhere::UnmatchedReview;
use super::loads::{CHECKED_FROM, Loads};
use super::sources::{KINDS, SourceSample, host_hash};
use super::{AttackOn, Basis, CrossFlowBreach, Detail, KeptRule, LedgerSettings};
use crate::abuse_rules::SEC005;
use crate::kit::{Evidence, Map, Role, SeenMessage, Set, Time};

/// The first port that programs use to ask: those below are of services, which ask for nothing.
const OF_CLIENTS: u16 = 1024;

/// Whether a client may get so many responses within a window, at this port, that asks so many servers no faster than
/// clients do: each for at most `repeats` of a kind.
pub fn may_be_answers(most: u64, port: u16, servers: u64, repeats: u32) -> bool {
    port >= OF_CLIENTS && most <= servers.max(1).saturating_mul(u64::from(repeats) * KINDS as u64)
}

/// Tells of a response whether a client may have asked for it before the capture began: it comes within a timeout after
/// that, to a host that also asks later, and the server sends it no more than one of each kind. `clients`: the hosts that ask.
pub(super) fn asked_before(
    unasked: &[SeenMessage],
    begin: Time,
    timeout: i64,
    clients: &Set<u32>,
) -> impl Fn(&SeenMessage) -> bool + use<> {
    let is_soon = move |seen: &SeenMessage| seen.mark.time.since(begin) < timeout;
    let mut early: Map<(SocketAddr, IpAddr), usize> = Map::default();
    for seen in unasked.iter().filter(|seen| is_soon(seen)) {
        *early.entry((seen.from, seen.to.ip())).or_default() += 1;
    }
    early.retain(|(_, to), count| *count <= KINDS && clients.contains(&host_hash(*to)));
    move |seen| is_soon(seen) && early.contains_key(&(seen.from, seen.to.ip()))
}

/// How many of the responses answer requests that the recorder lost: those of servers that are asked to hosts that ask. What
/// comes soon after the beginning may answer what was sent before it, and of a host that never asks, it has one direction.
/// What comes from a server to a client that waits for it is its answer, in another protocol perhaps.
pub(super) fn orphans(
    UnmatchedReview { unasked, waiting, .. }: &UnmatchedReview,
    begin: Time,
    timeout: i64,
    loads: &Loads,
    clients: &Set<u32>,
) -> u64 {
    let is_lost = |seen: &&SeenMessage| {
        seen.mark.time.since(begin) >= timeout
            && loads.is_asked(seen.from)
            && !waiting.contains(&[seen.to, seen.from])
            && clients.contains(&host_hash(seen.to.ip()))
    };
    unasked.iter().filter(is_lost).count() as u64
}

/// The receivers of unsolicited responses.
#[derive(Clone, Default)]
pub(super) struct Victims {
    victims: BTreeMap<IpAddr, Victim>,
    /// The total number of stored reflectors.
    reflectors: usize,
    is_full: bool,
}

#[derive(Clone)]
struct Victim {
    latest: SeenMessage,
    first: Time,
    responses: u64,
    bytes: u64,
    /// The hosts that they came from, and one of them.
    reflectors: SourceSample,
    one: SocketAddr,
    /// The start of the window, the number of responses in it, and the maximum of all windows.
    window: (Time, u64),
    most: u64,
}

impl Victims {
    /// Adds an unsolicited response.
    pub(super) fn answered(&mut self, seen: &SeenMessage, settings: &LedgerSettings) {
        let now = seen.mark.time;
        let is_known = self.victims.contains_key(&seen.to.ip());
        if !is_known && self.victims.len() >= settings.most {
            self.is_full = true;
            return;
        }
        let victim = self.victims.entry(seen.to.ip()).or_insert_with(|| Victim {
            latest: *seen,
            first: now,
            responses: 0,
            bytes: 0,
            reflectors: SourceSample::default(),
            one: seen.from,
            window: (now, 0),
            most: 0,
        });
        if seen.mark.frame >= victim.latest.mark.frame {
            victim.latest = *seen;
        }
        victim.first = victim.first.min(now);
        victim.responses += 1;
        victim.bytes += u64::from(seen.mark.length);
        victim.one = victim.one.min(seen.from);
        let before = victim.reflectors.len();
        let is_full = self.reflectors >= settings.most;
        victim.reflectors.entry(seen.from.ip(), now, is_full);
        self.reflectors = (self.reflectors + victim.reflectors.len()).saturating_sub(before);
        if now.since(victim.window.0) >= settings.abuse.repeat_window {
            victim.window = (now, 0);
        }
        victim.window.1 += 1;
        victim.most = victim.most.max(victim.window.1);
    }

    /// Removes the addresses that may have asked.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(IpAddr) -> bool) {
        self.victims.retain(|address, _| is_kept(*address));
    }

    /// Adds responses that came later.
    pub(super) fn add(&mut self, later: Victims, settings: &LedgerSettings) {
        self.is_full |= later.is_full;
        for (address, later) in later.victims {
            let has_room = self.victims.len() < settings.most;
            match self.victims.entry(address) {
                Entry::Occupied(victim) => victim.into_mut().add(later),
                Entry::Vacant(victim) if has_room => _ = victim.insert(later),
                Entry::Vacant(_) => self.is_full = true,
            }
        }
    }

    /// The results. `is_recorded`: what this address asks would be in the recording. Returns whether there was no
    /// room for some.
    pub(super) fn review(
        &mut self,
        settings: &LedgerSettings,
        is_recorded: impl Fn(IpAddr) -> bool,
        breaches: &mut Vec<CrossFlowBreach>,
        kept: &mut Vec<KeptRule>,
    ) -> bool {
        for (address, victim) in std::mem::take(&mut self.victims) {
            if victim.responses < CHECKED_FROM {
                continue;
            }
            let rule = &SEC005;
            if victim.most < settings.abuse.repeats.into() {
                kept.push(KeptRule { rule, server: None, times: 1 });
                continue;
            }
            let Victim { latest, first, responses, bytes, ref reflectors, one, most, .. } = victim;
            let seconds = settings.abuse.repeat_window as f64 / 1e9;
            let detail = format!(
                "{responses} answers, {bytes} bytes, went to {address}, which never asked, from {}, \
                 {one} among them: up to {most} within {seconds} s, from {} to {}",
                reflectors.count(responses),
                first.utc(),
                latest.mark.time.utc(),
            );
            let basis = Basis { seen: latest, flow: 0, began: true, lossy: false };
            // Otherwise, it may have asked in the direction that is missing.
            let servers = reflectors.estimate(reflectors.len());
            let is_proven = is_recorded(address)
                || !may_be_answers(most, latest.to.port(), servers, settings.abuse.repeats);
            let evidence = Evidence { lost: !is_proven, ..Evidence::default() };
            let detail = Detail::Text(detail);
            breaches.push(CrossFlowBreach {
                attack: is_proven.then(|| AttackOn {
                    sources: reflectors.count(responses),
                    target: address.to_string(),
                    suffers: Some("gets many responses that it did not ask for"),
                }),
                ..CrossFlowBreach::of(rule, evidence, basis, Role::Server, detail)
            });
        }
        self.is_full
    }
}

impl Victim {
    fn add(&mut self, later: Victim) {
        if later.latest.mark.frame >= self.latest.mark.frame {
            self.latest = later.latest;
        }
        self.first = self.first.min(later.first);
        self.responses += later.responses;
        self.bytes += later.bytes;
        self.one = self.one.min(later.one);
        self.most = self.most.max(later.most);
        self.reflectors.add(later.reflectors);
    }
}
