//! The registration of one game server with one master: joins, challenges, and challenge responses.
//! It makes observations and checks no rules.

use crate::kit::{Exchanges, Mark, Request, ResponseDue, Time, room};

use super::info_keys::{Engine, InfoSummary};
use super::pending::{Asked, ServerChallenge};

/// Why a challenge may have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeReason {
    /// A join or an info string with a wrong challenge, as it waited.
    Asked(Request<Asked>),
    /// An info string before it that cannot be checked, or a join that was given up.
    Perhaps,
    /// A join that is due, and not in the capture.
    Unseen,
    /// There was no reason.
    Nothing,
}

/// How the challenge of an info string compares with those given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// It was given, and is used for the first time.
    Given,
    /// It was given, and was used before.
    Spent { value: u32 },
    /// It was not given; `given` is the latest one that was. `begun`: the latest join and its challenge were seen, so
    /// that no other challenge can be valid.
    Other { value: u32, given: u32, begun: bool },
    /// It is not a 32-bit int.
    NoInt,
    /// None was given.
    Unchallenged,
    /// Unknown: the info string has none, or is a repeat, or a given challenge was unreadable or
    /// forgotten.
    Unclear,
}

impl Claimed {
    /// Whether it is wrong regardless of packets before the capture.
    pub(super) fn is_certain(self) -> bool {
        match self {
            Claimed::Other { value, given, begun } => begun || value == given.swap_bytes(),
            Claimed::NoInt => true,
            _ => false,
        }
    }
}

/// A challenge that the master gave.
#[derive(Clone, Copy, Debug)]
struct GivenChallenge {
    /// `None`: unreadable.
    value: Option<u32>,
    spent: bool,
}

/// Limit: challenges of a Valve master to one server | {} | if one of them is unused, an unknown one is inconclusive
const MOST_GIVEN: usize = 16;

/// A game server and a master.
#[derive(Default)]
pub(super) struct Registration {
    /// The challenge in the latest join.
    server_challenge: ServerChallenge,
    /// Those in the joins that it repeats.
    earlier: Vec<[u8; 4]>,
    /// The latest join was answered, or needs no answer.
    is_challenged: bool,
    /// The latest info string before any challenge or other packet from the master: a challenge
    /// after it proves that there was none before.
    early: Option<Mark>,
    /// A challenge may come for a reason that is not in the capture.
    perhaps: bool,
    /// The latest challenges, the latest last.
    given: Vec<GivenChallenge>,
    /// An unused one was dropped from this list.
    forgot: bool,
    /// An info string came after the latest one, for which it was meant, whatever number it has; or another round began. The
    /// next challenge takes the place of all.
    is_taken: bool,
    /// The one that was the latest when an info string came with another.
    mistaken: Option<u32>,
    /// The time of the first join of the latest round.
    round: Option<Time>,
    /// The time of the latest join.
    joined: Option<Time>,
    /// An info string followed the latest join and its challenge; or only the join, if no challenge
    /// was ever seen because the master's side is not in the capture.
    reported: bool,
    /// The latest info string's challenge, and its time.
    claim: Option<(u32, Time)>,
    /// The engine whose order the latest info string has.
    engine: Option<Engine>,
    /// The time of the quit.
    quit: Option<Time>,
    /// The join of the latest round is not in the capture.
    is_join_unseen: bool,
}

/// Maximum number of challenges in earlier joins that are kept.
const EARLIER: usize = 8;

/// The result of a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JoinResult {
    /// Nanoseconds since the previous join, if both are heartbeats.
    pub(super) interval: Option<i64>,
    /// It is the first after a quit.
    pub(super) after_quit: bool,
    /// An info string before any challenge that was not followed by one.
    pub(super) early: Option<Mark>,
}

/// The first join that waits.
pub(super) fn first_join(requests: &Exchanges<Asked>) -> Option<(ServerChallenge, Request<Asked>)> {
    requests.iter().find_map(|asked| match asked.what {
        Asked::Challenge(server_challenge) => Some((server_challenge, asked)),
        _ => None,
    })
}

impl Registration {
    /// One that begins with the join that waits, if there is one.
    pub(super) fn of(requests: &Exchanges<Asked>) -> Registration {
        let Some((server_challenge, join)) = first_join(requests) else {
            return Registration::default();
        };
        let (round, joined) = (Some(join.mark.time), Some(join.mark.time));
        let is_challenged = join.due == ResponseDue::No;
        Registration { round, joined, server_challenge, is_challenged, ..Registration::default() }
    }

    /// Memory in bytes.
    pub(super) fn held(&self) -> usize {
        room(&self.given) + room(&self.earlier)
    }

    /// The challenge in the latest join, if there was a join.
    pub(super) fn server_challenge(&self) -> ServerChallenge {
        self.server_challenge
    }

    /// Whether a join that still waits, beside the latest one, had this challenge.
    pub(super) fn has_sent(&self, challenge: [u8; 4]) -> bool {
        self.earlier.contains(&challenge)
    }

    /// The time of the latest join, if there was one.
    pub(super) fn joined(&self) -> Option<Time> {
        self.joined
    }

    /// The engine the latest info string shows.
    pub(super) fn engine(&self) -> Option<Engine> {
        self.engine
    }

    /// Whether an info string with a challenge came after this time.
    pub(super) fn claimed_since(&self, time: Time) -> bool {
        self.claim.is_some_and(|(_, claimed)| claimed > time)
    }

    /// Whether no challenge came to the latest join.
    pub(super) fn awaits_challenge(&self) -> bool {
        self.joined.is_some() && !self.is_challenged
    }

    /// Adds a join. `waits`: so does an earlier one.
    pub(super) fn join(&mut self, join: &Request<Asked>, waits: bool, timeout: i64) -> JoinResult {
        let Asked::Challenge(server_challenge) = join.what else { return JoinResult::default() };
        let now = join.mark.time;
        let early = self.early.take();
        let mut joined = JoinResult { after_quit: self.quit.is_some(), early, interval: None };
        if self.quit.take().is_some() {
            self.round = None;
            self.claim = None;
        }
        match (self.round, self.joined) {
            (Some(round), _) if self.reported => {
                // If the clock was set back, there is no interval.
                joined.interval = (now >= round).then(|| now.since(round));
                self.begin_round(now);
            }
            // A join before any info string is a repeat: if it comes soon, it belongs to the same
            // attempt.
            (Some(_), Some(before)) if now.since(before) < timeout => {}
            _ => self.begin_round(now),
        }
        self.joined = Some(now);
        (self.reported, self.is_join_unseen) = (false, false);
        self.is_challenged = join.due == ResponseDue::No;
        let before = std::mem::replace(&mut self.server_challenge, server_challenge);
        if !waits {
            self.earlier.clear();
        } else if let Some(Some(before)) = before
            && self.earlier.len() < EARLIER
        {
            self.earlier.push(before);
        }
        joined
    }

    /// A challenge came for no reason. Where a join is due, that of this server is missing: it begins a round as if it had
    /// been recorded, but never twice in a row. `is_near`: whether a join is due after so many nanoseconds.
    pub(super) fn joins_unseen(&mut self, now: Time, is_near: impl Fn(i64) -> bool) -> bool {
        let is_due = self.round.is_some_and(|round| is_near(now.since(round)));
        if !is_due || self.quit.is_some() || self.is_join_unseen {
            return false;
        }
        self.begin_round(now);
        (self.is_taken, self.is_join_unseen, self.is_challenged) = (false, true, true);
        (self.joined, self.reported) = (Some(now), false);
        true
    }

    fn begin_round(&mut self, now: Time) {
        self.round = Some(now);
        self.is_taken = true;
    }

    /// A challenge may come for a reason that is not in the capture.
    pub(super) fn expect_any(&mut self) {
        self.perhaps = true;
    }

    /// A challenge was given by another port of the master, so that its number is not known here.
    pub(super) fn expect_unreadable(&mut self) {
        if self.given.is_empty() {
            self.given.push(GivenChallenge { value: None, spent: false });
        }
    }

    /// Whether this is the number of the latest challenge that an info string answered wrongly.
    pub(super) fn is_mistaken(&self, value: u32) -> bool {
        self.mistaken == Some(value)
    }

    /// Adds a challenge; `None`: unreadable. `asked`: what it answers.
    pub(super) fn challenge(
        &mut self,
        value: Option<u32>,
        asked: Option<Request<Asked>>,
    ) -> ChallengeReason {
        let why = match asked {
            Some(asked) => ChallengeReason::Asked(asked),
            None if self.perhaps => ChallengeReason::Perhaps,
            None => ChallengeReason::Nothing,
        };
        self.is_challenged |= asked.is_some_and(|asked| matches!(asked.what, Asked::Challenge(_)));
        self.perhaps = value.is_none();
        if std::mem::take(&mut self.is_taken) {
            self.given.iter_mut().for_each(|given| given.spent = true);
        }
        if self.given.len() >= MOST_GIVEN {
            let oldest = self.given.iter().position(|given| given.spent).unwrap_or_default();
            self.forgot |= !self.given.remove(oldest).spent;
        }
        self.given.push(GivenChallenge { value, spent: false });
        why
    }

    /// Adds an info string. Returns the status of its challenge.
    pub(super) fn info(&mut self, info: &InfoSummary, now: Time, timeout: i64) -> Claimed {
        self.engine = info.engine.or(self.engine);
        self.reported |= self.given.is_empty() || self.is_challenged;
        let claimed = self.claimed(info, now, timeout);
        self.is_taken = true;
        if claimed.is_certain() {
            self.mistaken = self.given.last().and_then(|latest| latest.value);
        }
        self.claim = info.challenge.and_then(|echo| Some((echo.value?, now)));
        claimed
    }

    fn claimed(&mut self, info: &InfoSummary, now: Time, timeout: i64) -> Claimed {
        let Some(echo) = info.challenge else { return Claimed::Unclear };
        if self.given.is_empty() {
            return Claimed::Unchallenged;
        }
        let Some(value) = echo.value else { return Claimed::NoInt };
        let served = self.given.iter().any(|given| given.spent && given.value == Some(value));
        let mut fresh = self.given.iter_mut().filter(|given| !given.spent);
        if let Some(given) = fresh.find(|given| given.value == Some(value)) {
            given.spent = true;
            // The master may accept its latest challenge only.
            self.perhaps |= fresh.next().is_some();
            return Claimed::Given;
        }
        let again = |(last, time): (u32, Time)| last == value && now.since(time) < timeout;
        if served && self.claim.is_some_and(again) {
            return Claimed::Unclear;
        }
        let mut fresh = self.given.iter_mut().filter(|given| !given.spent);
        if let Some(unread) = fresh.find(|given| given.value.is_none()) {
            *unread = GivenChallenge { value: Some(value), spent: true };
            return Claimed::Unclear;
        }
        if served {
            return Claimed::Spent { value };
        }
        match self.given.last().and_then(|latest| latest.value) {
            Some(given) if !self.forgot => {
                // It may answer one that the capture lacks, if that one was answered.
                let waits = self.is_challenged && self.given.last().is_some_and(|it| !it.spent);
                let begun = self.round.is_some() && waits;
                Claimed::Other { value, given, begun }
            }
            _ => Claimed::Unclear,
        }
    }

    /// An info string came before any challenge. Returns an earlier one with the same fault.
    pub(super) fn reported_early(&mut self, mark: Mark) -> Option<Mark> {
        self.early.replace(mark)
    }

    /// The info string before any challenge, if it is not checked yet.
    pub(super) fn take_early(&mut self) -> Option<Mark> {
        self.early.take()
    }

    /// Adds a quit. Returns whether it is a second one and not a copy, which would follow
    /// immediately.
    pub(super) fn quit(&mut self, now: Time) -> bool {
        let before = self.quit.replace(now);
        before.is_some_and(|before| now.since(before) > Time::MOMENT)
    }

    /// A message other than a join comes. Returns, once, whether the server has quit before.
    pub(super) fn speaks(&mut self) -> bool {
        self.quit.take().is_some()
    }
}
