//! The state of a server's registration with one master.

pub(in crate::diagnose) mod missing_steps;

use std::net::SocketAddr;

use dissectors::kit::{Item, ItemGroup, Time};

use crate::diagnose::facts::find_or_add::find_or_add;
use crate::diagnose::facts::{Fact, Failure, NO_ACCIDENT};

/// The usual interval of heartbeats, in nanoseconds: a server without one for twice that time sends
/// none.
pub(in crate::diagnose) const HEARTBEAT: i64 = 300_000_000_000;

/// The longest interval of heartbeats, with the tolerance of a tenth that the rules allow.
pub(in crate::diagnose) const LONGEST: i64 = HEARTBEAT + HEARTBEAT / 10;

/// Maximum number of ports of a master that are told apart.
const PORTS: usize = 4;

/// The first condition of registration.
const FIRST: usize = Item::Join as usize;

/// Maximum number of intervals between joins that are kept.
const GAPS: usize = 64;

/// What a server has to do with one master: it registers there, and is in the lists of it, or not.
#[derive(Debug, Default)]
pub(super) struct Registration {
    /// The master, where the server first addressed it; `None`: none is known.
    pub(super) master: Option<SocketAddr>,
    /// The conditions of registration and of lists follow each other.
    facts: [Fact; Item::Address as usize + 1 - FIRST],
    /// The address in the latest list that holds the server.
    pub(super) listed_as: Option<SocketAddr>,
    /// The master's response.
    pub(super) reported: Option<String>,
    /// A packet in which the master may say that it does not know the server.
    pub(super) stranger: Option<u64>,
    /// Joins or heartbeats: the first, the last, and their number.
    pub(super) joins: Option<(Time, Time, u64)>,
    /// When the first of the last ones began that belong together, and the number of such groups: a join is repeated while
    /// it waits, and sent to several ports of a master at once.
    rounds: (Time, u64),
    /// The nanoseconds between the first groups.
    gaps: Vec<i64>,
    /// Info strings that answer no challenge, where the master gave none.
    pub(super) unchallenged: u64,
    /// Challenges though the server has answered.
    pub(super) rechallenged: Rechallenges,
    /// Where challenges for joins to this master come from, if not from it, and the latest one.
    pub(super) challenged_by: Option<(SocketAddr, u64)>,
    /// A packet of the master to the server that was not recorded whole: it may be its reaction.
    pub(super) cut: Option<u64>,
    /// The master's ports.
    pub(super) ports: Vec<MasterPort>,
}

/// Challenges of a master though the server has answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rechallenges {
    times: u64,
    /// The packet of the one with which they are no accident.
    since: Option<u64>,
}

impl Rechallenges {
    /// One more.
    pub(super) fn add(&mut self, frame: u64) {
        self.times += 1;
        if self.times == NO_ACCIDENT {
            self.since = Some(frame);
        }
    }

    /// Whether a list that holds the server came after them: then the master accepts servers, and challenges them all the
    /// same.
    pub(super) fn are_usual(&self, listed: u64) -> bool {
        self.since.is_some_and(|since| since < listed)
    }
}

/// One of the ports of a master.
#[derive(Debug, Default)]
pub(super) struct MasterPort {
    pub(super) port: u16,
    /// A challenge that is not answered yet.
    pub(super) challenged: Option<(u64, Time)>,
    /// The master has challenged the server from it.
    pub(super) challenges: bool,
    /// The server has answered a challenge there.
    pub(super) is_answered: bool,
}

impl MasterPort {
    /// Whether the condition was met there.
    fn meets(&self, item: Item) -> bool {
        match item {
            Item::Challenged => self.challenges,
            Item::Echo => self.is_answered,
            _ => false,
        }
    }
}

/// Whether a condition is one of a registration: of a server and a master, not of the server alone.
pub(super) fn is_of_registration(item: Item) -> bool {
    matches!(item.group(), ItemGroup::Registration | ItemGroup::Lists)
}

impl Registration {
    /// With a master.
    pub(super) fn with(master: SocketAddr) -> Registration {
        Registration { master: Some(master), ..Registration::default() }
    }

    /// The state of a condition of registration.
    pub(super) fn fact(&self, item: Item) -> &Fact {
        &self.facts[item as usize - FIRST]
    }

    pub(super) fn fact_mut(&mut self, item: Item) -> &mut Fact {
        &mut self.facts[item as usize - FIRST]
    }

    /// The condition is met, as this packet shows.
    pub(super) fn good(&mut self, item: Item, frame: u64) {
        self.fact_mut(item).good(frame);
    }

    /// What is known of a port of the master.
    pub(super) fn at(&mut self, port: u16) -> Option<&mut MasterPort> {
        let new = || MasterPort { port, ..MasterPort::default() };
        find_or_add(&mut self.ports, PORTS, |known| known.port == port, new)
    }

    /// Whether the server addresses several ports of the master.
    pub(super) fn has_several_ports(&self) -> bool {
        self.ports.len() > 1
    }

    /// A condition is not met at a port of the master. Where it never is met there, but at another port, the master
    /// knows the server all the same.
    pub(super) fn fails_at(&mut self, port: u16, item: Item, mut why: Failure) {
        let (here, others): (Vec<_>, Vec<_>) = self.ports.iter().partition(|it| it.port == port);
        let is_met_elsewhere = others.iter().any(|it| it.meets(item));
        if is_met_elsewhere && !here.iter().any(|it| it.meets(item)) {
            why.text += &format!(", at port {port}");
            self.fact_mut(item).fails_for_nothing(why);
        } else {
            self.fact_mut(item).fails(why);
        }
    }

    /// The server joins, or sends a heartbeat. `timeout`: how long it may wait for an answer, in nanoseconds.
    pub(super) fn joins_at(&mut self, time: Time, timeout: i64) {
        let (_, last, count) = self.joins.get_or_insert((time, time, 0));
        let is_new = *count == 0 || time.since(*last) >= timeout;
        (*last, *count) = (time.max(*last), *count + 1);
        if is_new {
            let (before, count) = self.rounds;
            if count > 0 && self.gaps.len() < GAPS {
                self.gaps.push(time.since(before));
            }
            self.rounds = (time, count + 1);
        }
    }

    /// It joined the same master before, from another port.
    pub(super) fn joined_before(&mut self, before: &Registration) {
        let (Some((first, _, times)), Some((next, _, count))) = (before.joins, &mut self.joins)
        else {
            return;
        };
        let between = next.since(before.rounds.0);
        let gaps = before.gaps.iter().copied().chain([between]).chain(self.gaps.drain(..));
        self.gaps = gaps.take(GAPS).collect();
        (*next, *count, self.rounds.1) = (first, *count + times, self.rounds.1 + before.rounds.1);
    }

    /// Whether a join may still wait for its challenge, and no port of the master has challenged the server.
    pub(super) fn awaits_challenge(&self, now: Time, timeout: i64) -> bool {
        let is_new = self.joins.is_some_and(|(_, last, _)| now.since(last) < timeout);
        is_new && !self.ports.iter().any(|port| port.challenges)
    }

    /// How often it joined or sent a heartbeat.
    pub(super) fn joined(&self) -> u64 {
        self.joins.map_or(0, |(.., count)| count)
    }

    /// The usual nanoseconds between joins that do not belong together: a restart, which comes between two, does not change
    /// them.
    pub(super) fn interval(&self) -> Option<i64> {
        let mut gaps = self.gaps.clone();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_does_not_change_the_interval_of_heartbeats() {
        let interval = |times: &[i64]| {
            let mut registration = Registration::default();
            for second in times {
                registration.joins_at(Time(second * 1_000_000_000), 3_000_000_000);
            }
            registration.interval().map(|it| it / 1_000_000_000)
        };
        assert_eq!(interval(&[0]), None);
        assert_eq!(interval(&[0, 300, 600]), Some(300));
        // Repeated at once, and joined anew in between.
        assert_eq!(interval(&[0, 1, 300, 340, 640, 940]), Some(300));
    }
}
