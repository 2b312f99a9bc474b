//! The registration of one game server with one master: joins, challenges, and challenge responses.
//! It makes observations and checks no rules.

use crate::kit::{Mark, PendingRequests, Reply, ShortMark, Time, room};

use super::info_keys::{Engine, InfoSummary};

/// The remembered properties of a join.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub(super) mark: ShortMark,
    /// The challenge of Xash3D's servers, if it is complete.
    pub(super) server_challenge: Option<Option<[u8; 4]>>,
    /// The join is complete, so that a response is due.
    pub(super) due: bool,
}

/// Why a challenge may have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeReason {
    /// One of these, or both, were pending.
    Asked {
        /// A join.
        join: bool,
        /// An info string with a wrong challenge.
        wrong: bool,
        /// The request, if it was still pending.
        asked: Option<Reply>,
    },
    /// An info string before it that cannot be checked.
    Perhaps,
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
    /// It was not given; `given` is the latest one that was. `begun`: a join was seen, so that no
    /// challenge from before the capture can still be valid.
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

/// Maximum number of challenges.
const MOST_GIVEN: usize = 16;

/// A game server and a master.
#[derive(Default)]
pub(super) struct Registration {
    /// The join that waits for its challenge.
    join: Option<Mark>,
    /// Joins without a challenge so far.
    due: u8,
    /// The packet of the latest join, and its time; and how often it was sent since the first
    /// pending one.
    sent: (u64, Time),
    tries: u32,
    /// The challenge in the latest join.
    server_challenge: Option<Option<[u8; 4]>>,
    /// Those in the joins before it that still wait.
    earlier: Vec<[u8; 4]>,
    /// The pending info string with a wrong challenge.
    wrong: Option<Mark>,
    /// The latest info string before any challenge or other packet from the master: a challenge
    /// after it proves that there was none before.
    early: Option<Mark>,
    /// A challenge may come for a reason that is not in the capture.
    perhaps: bool,
    /// The latest challenges, the latest last.
    given: Vec<GivenChallenge>,
    /// An unused one was dropped from this list.
    forgot: bool,
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
    /// The latest challenge, if no info string followed.
    info_due: Option<Mark>,
    /// Older pending joins.
    waiting: PendingRequests<Mark>,
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
    /// An older join that is removed for it.
    pub(super) given_up: Option<Mark>,
    /// An info string before any challenge that was not followed by one.
    pub(super) early: Option<Mark>,
}

impl Registration {
    /// Memory in bytes.
    pub(super) fn held(&self) -> usize {
        size_of::<Registration>() + room(&self.given) + room(&self.earlier) + self.waiting.held()
    }

    /// The challenge in the latest join, if there was a join.
    pub(super) fn server_challenge(&self) -> Option<Option<[u8; 4]>> {
        self.server_challenge
    }

    /// Whether a join that still waits, beside the latest one, had this challenge.
    pub(super) fn has_sent(&self, challenge: [u8; 4]) -> bool {
        self.earlier.contains(&challenge)
    }

    /// The engine the latest info string shows.
    pub(super) fn engine(&self) -> Option<Engine> {
        self.engine
    }

    /// Adds a join; at most `most` are pending.
    pub(super) fn join(&mut self, join: Join, timeout: i64, most: usize) -> JoinResult {
        let Mark { frame, time: now, .. } = join.mark.get();
        self.sent = (frame, now);
        let early = self.early.take();
        let mut joined =
            JoinResult { after_quit: self.quit.is_some(), early, ..JoinResult::default() };
        if self.quit.take().is_some() {
            self.round = None;
            self.claim = None;
        }
        match (self.round, self.joined) {
            (Some(round), _) if self.reported => {
                // If the clock was set back, there is no interval.
                joined.interval = (now >= round).then(|| now.since(round));
                self.round = Some(now);
            }
            // A join before any info string is a repeat: if it comes soon, it belongs to the same
            // attempt.
            (Some(_), Some(before)) if now.since(before) < timeout => {}
            _ => self.round = Some(now),
        }
        self.joined = Some(now);
        self.due = self.due.saturating_add(1);
        self.reported = false;
        if self.join.is_none() {
            self.earlier.clear();
        }
        if let Some(Some(before)) = self.server_challenge.filter(|_| self.join.is_some())
            && self.earlier.len() < EARLIER
        {
            self.earlier.push(before);
        }
        self.server_challenge = join.server_challenge;
        match self.join {
            Some(waiting) if now.since(waiting.time) < timeout => {
                self.tries = self.tries.saturating_add(1);
            }
            waiting => {
                self.tries = 1;
                joined.given_up =
                    waiting.and_then(|waiting| self.waiting.push_within(waiting, most));
                self.join = join.due.then_some(join.mark.get());
            }
        }
        joined
    }

    /// A challenge may come for a reason that is not in the capture.
    pub(super) fn expect_any(&mut self) {
        self.perhaps = true;
    }

    /// Adds a challenge; `None`: unreadable.
    pub(super) fn challenge(&mut self, value: Option<u32>, given: Mark) -> ChallengeReason {
        let side = given.side;
        let of_other = |mark: &mut Mark| mark.side != side;
        let (request, sent) = self.sent;
        let joined = self.join.take_if(of_other).map(|first| Reply {
            began: first.time,
            tries: self.tries,
            ..Reply::to(request, sent)
        });
        let join = joined.is_some();
        // One challenge answers one request, and joins come first.
        let corrected = if join { None } else { self.wrong.take_if(of_other) };
        let wrong = corrected.is_some();
        let asked = joined.or(corrected.map(|mark| Reply::to(mark.frame, mark.time)));
        let why = if join || wrong || self.due > 0 {
            ChallengeReason::Asked { join, wrong, asked }
        } else if self.perhaps {
            ChallengeReason::Perhaps
        } else {
            ChallengeReason::Nothing
        };
        if why != ChallengeReason::Nothing && value.is_some() {
            self.info_due = Some(given);
        }
        if !wrong {
            self.due = self.due.saturating_sub(1);
        }
        self.perhaps = value.is_none();
        if self.given.len() >= MOST_GIVEN {
            let oldest = self.given.iter().position(|given| given.spent).unwrap_or_default();
            self.forgot |= !self.given.remove(oldest).spent;
        }
        self.given.push(GivenChallenge { value, spent: false });
        why
    }

    /// Adds an info string, `whole` as it was sent. Returns the status of its challenge, and the
    /// older info string with a wrong challenge that is removed for it.
    pub(super) fn info(
        &mut self,
        info: &InfoSummary,
        whole: bool,
        mark: Mark,
        timeout: i64,
    ) -> (Claimed, Option<Mark>) {
        self.engine = info.engine.or(self.engine);
        self.reported |= self.given.is_empty() || self.join.is_none();
        let claimed = self.claimed(info, mark.time, timeout);
        self.claim = info.challenge.and_then(|echo| Some((echo.value?, mark.time)));
        let given_up = self.wrong.take().filter(|wrong| mark.time.since(wrong.time) >= timeout);
        match claimed {
            Claimed::Given => {}
            wrong if wrong.is_certain() && whole && info.is_valid => self.wrong = Some(mark),
            _ => self.perhaps = true,
        }
        (claimed, given_up)
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
                Claimed::Other { value, given, begun: self.round.is_some() }
            }
            _ => Claimed::Unclear,
        }
    }

    /// The challenge that no info string has followed so far, if any; it waits no longer.
    pub(super) fn take_due_info(&mut self) -> Option<Mark> {
        self.info_due.take()
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
        self.info_due = None;
        let before = self.quit.replace(now);
        before.is_some_and(|before| now.since(before) > Time::MOMENT)
    }

    /// A message other than a join comes. Returns, once, whether the server has quit before.
    pub(super) fn speaks(&mut self) -> bool {
        self.quit.take().is_some()
    }

    /// The joins and the info string that still wait for a challenge, each with the packet of its
    /// latest repeat.
    pub(super) fn unanswered(
        &self,
    ) -> (impl Iterator<Item = (Mark, u64)> + '_, Option<(Mark, u64)>) {
        let older = self.waiting.iter().map(|&mark| (mark, mark.frame));
        let joins = older.chain(self.join.map(|mark| (mark, self.sent.0)));
        (joins, self.wrong.map(|mark| (mark, mark.frame)))
    }
}
