//! How one game server stands with one master: its joins, the challenges it was given, what it made
//! of them. It makes facts and knows no rules.

use crate::kit::{Mark, ShortMark, Side, Time, room};

use super::info::{Engine, Info};

/// What is remembered of a join.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub(super) mark: ShortMark,
    /// What Xash3D's servers send along.
    pub(super) server_challenge: Option<u32>,
    /// An answer is owed: the join is whole.
    pub(super) owed: bool,
}

/// Why a challenge may have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// For one of these, or both.
    Asked {
        /// A join waited for it.
        join: bool,
        /// An info string with a wrong challenge did.
        wrong: bool,
    },
    /// An info string came before that cannot be judged.
    Perhaps,
    /// For nothing that was said.
    Nothing,
}

/// How the challenge of an info string stands to those given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    /// It was given, and serves for the first time.
    Given,
    /// It was given, and has served before.
    Spent { value: u32 },
    /// It was not given; `given` is the latest that was.
    Other { value: Option<u32>, given: u32 },
    /// None was given.
    Unchallenged,
    /// Nothing can be said: the info string has none, or is sent again.
    Unclear,
}

/// A challenge that the master gave.
#[derive(Clone, Copy, Debug)]
struct Given {
    value: u32,
    spent: bool,
}

/// Challenges remembered.
const MOST_GIVEN: usize = 4;

/// A game server and a master.
#[derive(Default)]
pub(super) struct Registration {
    /// The join that waits for its challenge.
    join: Option<Mark>,
    /// Joins that no challenge came to yet.
    due: u8,
    /// What the latest join sent along.
    server_challenge: Option<Option<u32>>,
    /// The info string with a wrong challenge that waits for a new one.
    wrong: Option<Mark>,
    /// A challenge may come for a reason that the capture does not tell.
    perhaps: bool,
    /// The latest challenges, the latest last.
    given: Vec<Given>,
    /// When the latest round began: its first join.
    round: Option<Time>,
    /// The latest info string's challenge, and when it came.
    claim: Option<(u32, Time)>,
    /// The engine whose order the latest info string has.
    engine: Option<Engine>,
    quit: bool,
    /// Older joins that still wait.
    waiting: Vec<Mark>,
}

/// What comes of a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Joined {
    /// Nanoseconds since the join before, where both are heartbeats.
    pub(super) interval: Option<i64>,
    /// It is the first after a quit.
    pub(super) after_quit: bool,
    /// An older join that is given up for its sake.
    pub(super) given_up: Option<Mark>,
}

impl Registration {
    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        size_of::<Registration>() + room(&self.given) + room(&self.waiting)
    }

    /// What the latest join sent along, if there was a join.
    pub(super) fn server_challenge(&self) -> Option<Option<u32>> {
        self.server_challenge
    }

    /// The engine the latest info string shows.
    pub(super) fn engine(&self) -> Option<Engine> {
        self.engine
    }

    /// Takes a join; at most `most` wait for an answer.
    pub(super) fn join(&mut self, join: Join, timeout: i64, most: usize) -> Joined {
        let now = join.mark.get().time;
        let mut joined = Joined { after_quit: self.quit, ..Joined::default() };
        if self.quit {
            self.quit = false;
            self.round = None;
            self.claim = None;
        }
        match (self.round, self.join) {
            (Some(round), None) => {
                joined.interval = Some(now.since(round));
                self.round = Some(now);
            }
            // Not answered yet, it is sent again: where that is soon, it is the same attempt.
            (Some(_), Some(waiting)) if now.since(waiting.time) < timeout => {}
            _ => self.round = Some(now),
        }
        self.due = self.due.saturating_add(1);
        self.server_challenge = Some(join.server_challenge);
        match self.join {
            Some(waiting) if now.since(waiting.time) < timeout => {}
            waiting => {
                joined.given_up = waiting.and_then(|waiting| self.wait(waiting, most));
                self.join = join.owed.then_some(join.mark.get());
            }
        }
        joined
    }

    fn wait(&mut self, mark: Mark, most: usize) -> Option<Mark> {
        let given_up = (self.waiting.len() >= most.max(1)).then(|| self.waiting.remove(0));
        self.waiting.push(mark);
        given_up
    }

    /// Takes a challenge; `None`: it could not be read.
    pub(super) fn challenge(&mut self, value: Option<u32>, side: Side) -> Why {
        let of_other = |mark: &mut Mark| mark.side != side;
        let join = self.join.take_if(of_other).is_some();
        let wrong = self.wrong.take_if(of_other).is_some();
        let why = if join || wrong || self.due > 0 {
            Why::Asked { join, wrong }
        } else if self.perhaps {
            Why::Perhaps
        } else {
            Why::Nothing
        };
        self.due = self.due.saturating_sub(1);
        self.perhaps = value.is_none();
        if let Some(value) = value {
            if self.given.len() >= MOST_GIVEN {
                self.given.remove(0);
            }
            self.given.push(Given { value, spent: false });
        }
        why
    }

    /// Takes an info string, `whole` as it was sent.
    pub(super) fn info(&mut self, info: &Info, whole: bool, mark: Mark, timeout: i64) -> Claimed {
        self.engine = info.engine.or(self.engine);
        let claimed = self.claimed(info, mark.time, timeout);
        self.claim = info.challenge.and_then(|echo| Some((echo.value?, mark.time)));
        self.wrong = None;
        match claimed {
            Claimed::Given => {}
            Claimed::Other { .. } if whole && info.sound => self.wrong = Some(mark),
            _ => self.perhaps = true,
        }
        claimed
    }

    fn claimed(&mut self, info: &Info, now: Time, timeout: i64) -> Claimed {
        let Some(echo) = info.challenge else { return Claimed::Unclear };
        let Some(latest) = self.given.last() else { return Claimed::Unchallenged };
        let other = Claimed::Other { value: echo.value, given: latest.value };
        let Some(value) = echo.value else { return other };
        let fits = |given: &&mut Given| given.value == value;
        match self.given.iter_mut().filter(fits).min_by_key(|given| given.spent) {
            Some(given) if !given.spent => {
                given.spent = true;
                Claimed::Given
            }
            Some(_) => match self.claim {
                Some((last, time)) if last == value && now.since(time) < timeout => {
                    Claimed::Unclear
                }
                _ => Claimed::Spent { value },
            },
            None => other,
        }
    }

    /// Takes a quit. Says whether it is the second.
    pub(super) fn quit(&mut self) -> bool {
        std::mem::replace(&mut self.quit, true)
    }

    /// Something other than a join comes. Says whether the server has quit before; it is said once.
    pub(super) fn speaks(&mut self) -> bool {
        std::mem::take(&mut self.quit)
    }

    /// The joins and the info string that still wait for a challenge.
    pub(super) fn unanswered(&self) -> (impl Iterator<Item = Mark> + '_, Option<Mark>) {
        (self.waiting.iter().copied().chain(self.join), self.wrong)
    }
}
