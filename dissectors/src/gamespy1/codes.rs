//! The latest challenges of one party, and whether its response to one of them is correct.

use crate::kit::{Payload, Read, Settings, Sink, Time};

use super::rules;
use super::validate::{CHALLENGE, RESPONSE, expected};

/// Limit: challenges of a flow of the GameSpy text protocol that may be answered at the same time | {} | an older one's
/// answer is checked by these
const MOST: usize = 4;

/// The result of checking a response to a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValidateResult {
    Right,
    Wrong,
    /// The game's key, or the challenge, is not known.
    Unknown,
}

/// Whether the key of a game is known.
pub(super) fn has_key(game: &[u8], settings: &Settings) -> bool {
    expected(game, [b'0'; CHALLENGE], 0, settings).is_some()
}

/// Whether a response could be checked: the game's key is known.
pub(super) fn is_known(game: Option<&[u8]>, code: Read<&[u8]>, settings: &Settings) -> bool {
    code.value.len() == RESPONSE && game.is_some_and(|game| has_key(game, settings))
}

/// The latest challenges.
#[derive(Clone, Copy, Default)]
pub(super) struct RecentChallenges {
    given: [Option<([u8; CHALLENGE], Time)>; MOST],
    next: usize,
    /// One of them could not be read, or is invalid.
    blurred: bool,
}

impl RecentChallenges {
    /// A challenge is given.
    pub(super) fn give(&mut self, challenge: &[u8], payload: &Payload<'_>) {
        match <[u8; CHALLENGE]>::try_from(challenge) {
            Ok(challenge) if !payload.lost && rules::is_secure_string(&challenge) => {
                if let Some(place) = self.given.get_mut(self.next % MOST) {
                    *place = Some((challenge, payload.time));
                }
                self.next = (self.next + 1) % MOST;
            }
            _ => self.blurred = true,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.iter().all(Option::is_none)
    }

    /// Whether there is no challenge to check a response against, as if none had been recorded.
    pub(super) fn are_unseen(&self) -> bool {
        self.is_empty() && !self.blurred
    }

    /// The correct response to the latest challenge. `None`: the key is unknown.
    pub(super) fn expected(
        &self,
        game: &[u8],
        enctype: u8,
        settings: &Settings,
    ) -> Option<[u8; RESPONSE]> {
        let (latest, _) = self.latest()?;
        expected(game, latest, enctype, settings)
    }

    fn latest(&self) -> Option<([u8; CHALLENGE], Time)> {
        self.given.get((self.next + MOST - 1) % MOST).copied().flatten()
    }

    /// Checks a response of this time against the latest challenge, and those for which an answer may still come: a newer
    /// one may have crossed it on the way. `lacks_some`: there may be one that the capture lacks.
    pub(super) fn check<S: Sink>(
        &self,
        game: Option<&[u8]>,
        code: Read<&[u8]>,
        enctype: u8,
        now: Time,
        lacks_some: bool,
        settings: &Settings,
        sink: &mut S,
    ) -> ValidateResult {
        if code.value.len() != RESPONSE {
            // There is no correct response to an invalid challenge.
            return if self.blurred { ValidateResult::Unknown } else { ValidateResult::Wrong };
        }
        let Some(game) = game else { return ValidateResult::Unknown };
        let Some(latest) = self.expected(game, enctype, settings) else {
            return ValidateResult::Unknown;
        };
        let is_due = |given: &&([u8; CHALLENGE], Time)| {
            self.latest() == Some(**given) || now.since(given.1) <= settings.answer_timeout
        };
        let is_right = |&(given, _): &([u8; CHALLENGE], Time)| {
            expected(game, given, enctype, settings) == code.value.try_into().ok()
        };
        let ok = self.given.iter().flatten().filter(is_due).any(is_right);
        if !ok && (self.blurred || lacks_some) {
            return ValidateResult::Unknown;
        }
        rules::validate_code(code, ok, latest, sink);
        if ok { ValidateResult::Right } else { ValidateResult::Wrong }
    }
}
