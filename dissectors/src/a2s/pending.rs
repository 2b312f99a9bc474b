//! A request that waits for its response, and its compact form, since captures may have millions of
//! flows.

use std::num::NonZeroU16;

use super::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use crate::kit::{Mark, Reply, Side, Time};

/// A request that waits for its response. Sent again while it waits, it is the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingRequest {
    /// The latest packet with it.
    pub(super) mark: Mark,
    /// When the exchange began: for a request with a challenge, with the request before it.
    pub(super) began: Time,
    pub(super) challenge: i32,
    pub(super) request: RequestKind,
    pub(super) standing: ChallengeStatus,
    pub(super) owed: ResponseDue,
    /// Flags: [`BEHIND_INFO`] and so on.
    pub(super) past: u8,
    /// How often it was sent, up to a maximum.
    pub(super) tries: u8,
    /// How many responses may still come: one for each packet with it. At [`MOST_LEFT`] they are no
    /// longer counted.
    pub(super) left: u8,
}

/// It was sent after a response with info: once it is answered, no further info is expected.
pub(super) const BEHIND_INFO: u8 = 1;
/// A list of its kind came while it waited, as the right response to another request.
pub(super) const PASSED_OVER: u8 = 2;
/// An ICMP error says that its latest packet did not arrive.
pub(super) const REFUSED: u8 = 4;
/// It was answered with a challenge, which the client will use.
pub(super) const GOES_ON: u8 = 8;

/// This server never gave its challenge; another endpoint may have, in a response instead of this
/// server.
pub(super) const FOREIGN: u8 = 16;

/// The maximum of counted responses, and of counted packets.
const MOST_LEFT: u8 = 15;
const MOST_TRIES: u8 = 127;

/// Whether a response is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseDue {
    Yes,
    /// The request is itself wrong, or one that servers are documented to ignore.
    No,
    /// A response came that may or may not belong to it: it keeps waiting, but a missing response
    /// is not a fault.
    NoMore,
    /// It was answered. Its repeats may be, too, and the client may use the challenge that it got.
    Answered,
}

impl PendingRequest {
    /// How well a response fits: the lower, the better. `None`: not at all. `guarded`: the server
    /// requires a challenge for info, so it sends none without.
    pub(super) fn fits(&self, response: ResponseKind, guarded: bool) -> Option<u8> {
        let asks = match self.standing {
            // Servers ignore a list request without a challenge.
            ChallengeStatus::Absent => {
                matches!(self.request, RequestKind::Info | RequestKind::Challenge)
            }
            standing => matches!(standing, ChallengeStatus::Asking | ChallengeStatus::Zero),
        };
        response.is_for(self.request).then_some(match (response, self.request) {
            (ResponseKind::Players | ResponseKind::Rules, _) => match self.standing {
                ChallengeStatus::Issued | ChallengeStatus::Unknown => 0,
                ChallengeStatus::NeverIssued => 1,
                _ => 2,
            },
            (ResponseKind::Info | ResponseKind::ObsoleteInfo, _) => u8::from(guarded && asks),
            (ResponseKind::Challenge, RequestKind::Info) if asks => u8::from(!guarded),
            (ResponseKind::Challenge, _) => u8::from(!asks) * 2,
            _ => 0,
        })
    }

    pub(super) const fn is(&self, past: u8) -> bool {
        self.past & past != 0
    }

    /// Whether it requests a challenge.
    pub(super) const fn is_asking(&self) -> bool {
        matches!(
            self.standing,
            ChallengeStatus::Absent | ChallengeStatus::Asking | ChallengeStatus::Zero
        )
    }

    /// Whether it was answered before.
    pub(super) const fn was_answered(&self) -> bool {
        matches!(self.owed, ResponseDue::Answered) || self.is(GOES_ON)
    }

    /// Whether a response to it may come, now or at an earlier time.
    pub(super) fn may_be_answered(&self, now: Time, timeout: i64) -> bool {
        self.owed != ResponseDue::Answered || self.left > 0 && now.since(self.mark.time) < timeout
    }

    /// Whether this request repeats another.
    pub(super) fn repeats(&self, before: &PendingRequest) -> bool {
        let kind = |asked: &PendingRequest| (asked.request, asked.mark.side, asked.standing);
        kind(self) == kind(before) && self.challenge == before.challenge
    }

    /// Whether this request repeats another that is still waiting. This has a time limit, since a
    /// client that asks a dead server every second sends several requests. After a challenge, the
    /// exchange began earlier.
    pub(super) fn is_again(&self, before: &PendingRequest, timeout: i64) -> bool {
        let rounds = if self.is_asking() { 1 } else { 3 };
        let now = self.mark.time;
        matches!(before.owed, ResponseDue::Yes | ResponseDue::No)
            && self.repeats(before)
            && now.since(before.mark.time) < timeout
            && now.since(before.began) / rounds < timeout
    }

    /// It was repeated.
    pub(super) fn sent_again(&mut self, again: Mark) {
        self.mark = again;
        self.past &= !REFUSED;
        self.tries = self.tries.saturating_add(1).min(MOST_TRIES);
        self.left = self.left.saturating_add(1).min(MOST_LEFT);
    }

    /// Whether this request continues an exchange with the challenge from its response so far.
    pub(super) fn goes_on_from(&self, before: &PendingRequest) -> bool {
        let kind = |asked: &PendingRequest| (asked.request, asked.mark.side);
        !self.is_asking() && before.is(GOES_ON) && kind(self) == kind(before)
    }

    /// Whether this request replaces the other, which was or may have been answered.
    pub(super) fn replaces(&self, before: &PendingRequest) -> bool {
        match before.owed {
            ResponseDue::NoMore => {
                before.request == self.request && before.mark.side == self.mark.side
            }
            ResponseDue::Answered => {
                before.left == 0 && !before.is(GOES_ON) || self.repeats(before)
            }
            ResponseDue::Yes | ResponseDue::No => false,
        }
    }

    /// A response to one of its packets came.
    pub(super) fn answered(&mut self) {
        if self.left < MOST_LEFT {
            self.left = self.left.saturating_sub(1);
        }
    }

    /// The reply for a response to it.
    pub(super) fn reply(&self, complete: bool) -> Reply {
        let PendingRequest { mark, began, tries, .. } = *self;
        Reply { began, tries: tries.into(), complete, ..Reply::to(mark.frame, mark.time) }
    }

    /// Whether such a response has all the requested data.
    pub(super) fn is_complete(&self, response: ResponseKind) -> bool {
        response != ResponseKind::Challenge || self.request == RequestKind::Challenge
    }
}

/// A [`PendingRequest`] in two thirds of the space. Packet numbers above 2^40 are clamped; times
/// between the beginning of the exchange and the latest packet are stored in microseconds if they
/// exceed two seconds, up to 35 minutes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompactRequest {
    // Bytes, so that no padding is needed.
    /// From the highest bit on: the packet number in 40 bits, the length in 16, the number of times
    /// that it was sent in seven, and its side.
    place: [u8; 8],
    time: [u8; 8],
    /// From the beginning of the exchange to the latest packet.
    since: [u8; 4],
    challenge: [u8; 4],
    /// From the lowest bit on: the index of the kind of request plus one in three bits, the origin
    /// of its challenge in three, whether a response is due in two, the flags, the responses left.
    state: NonZeroU16,
}

impl CompactRequest {
    const MOST_FRAME: u64 = (1 << 40) - 1;
    /// The origin of a challenge that was never issued but may be from another endpoint.
    const FOREIGN: u16 = 6;
    /// Marks that the other bits are microseconds, not nanoseconds.
    const COARSE: u32 = 1 << 31;

    fn since(nanoseconds: i64) -> u32 {
        match u32::try_from(nanoseconds) {
            Ok(fine) if fine < CompactRequest::COARSE => fine,
            _ => {
                (nanoseconds / 1000).clamp(0, i64::from(CompactRequest::COARSE) - 1) as u32
                    | CompactRequest::COARSE
            }
        }
    }

    pub(super) fn get(self) -> PendingRequest {
        let (place, state) = (u64::from_le_bytes(self.place), self.state.get());
        let time = i64::from_le_bytes(self.time);
        let since = match u32::from_le_bytes(self.since) {
            fine @ 0..CompactRequest::COARSE => i64::from(fine),
            coarse => i64::from(coarse & !CompactRequest::COARSE) * 1000,
        };
        let mark = Mark {
            frame: place >> 24,
            time: Time(time),
            length: u32::from((place >> 8) as u16),
            side: if place & 1 == 0 { Side::First } else { Side::Second },
        };
        let request = usize::from(state & 7).saturating_sub(1);
        PendingRequest {
            mark,
            began: Time(time.saturating_sub(since)),
            challenge: i32::from_le_bytes(self.challenge),
            request: RequestKind::ALL.get(request).copied().unwrap_or(RequestKind::Ping),
            standing: match state >> 3 & 7 {
                0 => ChallengeStatus::Absent,
                1 => ChallengeStatus::Asking,
                2 => ChallengeStatus::Zero,
                3 => ChallengeStatus::Issued,
                4 | CompactRequest::FOREIGN => ChallengeStatus::NeverIssued,
                _ => ChallengeStatus::Unknown,
            },
            owed: match state >> 6 & 3 {
                0 => ResponseDue::Yes,
                1 => ResponseDue::No,
                2 => ResponseDue::NoMore,
                _ => ResponseDue::Answered,
            },
            past: (state >> 8 & 15) as u8
                | if state >> 3 & 7 == CompactRequest::FOREIGN { FOREIGN } else { 0 },
            tries: (place >> 1 & u64::from(MOST_TRIES)) as u8,
            left: (state >> 12) as u8,
        }
    }
}

impl From<PendingRequest> for CompactRequest {
    fn from(asked: PendingRequest) -> CompactRequest {
        let Mark { frame, time, length, side } = asked.mark;
        let length = length.min(u16::MAX.into());
        let tries = asked.tries.min(MOST_TRIES);
        let place = frame.min(CompactRequest::MOST_FRAME) << 24
            | u64::from(length) << 8
            | u64::from(tries) << 1
            | side.index() as u64;
        let is_foreign = asked.standing == ChallengeStatus::NeverIssued && asked.is(FOREIGN);
        let standing = if is_foreign { CompactRequest::FOREIGN } else { asked.standing as u16 };
        let state = (asked.request as u16 + 1)
            | standing << 3
            | (asked.owed as u16) << 6
            | u16::from(asked.past & 15) << 8
            | u16::from(asked.left.min(MOST_LEFT)) << 12;
        CompactRequest {
            place: place.to_le_bytes(),
            time: time.0.to_le_bytes(),
            since: CompactRequest::since(time.since(asked.began)).to_le_bytes(),
            challenge: asked.challenge.to_le_bytes(),
            state: NonZeroU16::new(state).unwrap_or(NonZeroU16::MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_kept_as_it_was() {
        const STANDINGS: [ChallengeStatus; 6] = [
            ChallengeStatus::Absent,
            ChallengeStatus::Asking,
            ChallengeStatus::Zero,
            ChallengeStatus::Issued,
            ChallengeStatus::NeverIssued,
            ChallengeStatus::Unknown,
        ];
        for request in RequestKind::ALL {
            for standing in STANDINGS {
                for owed in
                    [ResponseDue::Yes, ResponseDue::No, ResponseDue::NoMore, ResponseDue::Answered]
                {
                    for (waited, side) in [(0, Side::First), (2_147_483_647, Side::Second)] {
                        let asked = PendingRequest {
                            mark: Mark { frame: 7_000_000_001, time: Time(5), length: 1400, side },
                            began: Time(5 - waited),
                            challenge: -2,
                            request,
                            standing,
                            owed,
                            past: PASSED_OVER
                                | GOES_ON
                                | if standing == ChallengeStatus::NeverIssued {
                                    FOREIGN
                                } else {
                                    0
                                },
                            tries: 100,
                            left: 9,
                        };
                        assert_eq!(CompactRequest::from(asked).get(), asked);
                    }
                }
            }
        }
        assert_eq!(size_of::<Option<CompactRequest>>(), 26);
    }

    #[test]
    fn beyond_two_seconds_an_exchange_is_reported_in_microseconds() {
        for (nanoseconds, reported) in [
            (2_147_483_648, 2_147_483_000),
            (90_000_000_999, 90_000_000_000),
            (i64::MAX, 2_147_483_647_000),
        ] {
            let mark = Mark { frame: 1, time: Time(i64::MAX), length: 9, side: Side::First };
            let asked = PendingRequest {
                mark,
                began: Time(i64::MAX - nanoseconds),
                challenge: 0,
                request: RequestKind::Info,
                standing: ChallengeStatus::Absent,
                owed: ResponseDue::Yes,
                past: 0,
                tries: 1,
                left: 1,
            };
            assert_eq!(mark.time.since(CompactRequest::from(asked).get().began), reported);
        }
    }
}
