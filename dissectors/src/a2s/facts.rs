//! What a conversation shows: requests, answers, and what came of them. The conversation makes these facts,
//! the rules look at them.

use std::net::SocketAddr;

use super::pending::PendingRequest;
use crate::kit::{Evidence, Mark, Payload, Read, Seen};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Info,
    Challenge,
    Player,
    Rules,
    Ping,
}

impl Request {
    /// All of them.
    pub(super) const ALL: [Request; 5] =
        [Request::Info, Request::Challenge, Request::Player, Request::Rules, Request::Ping];

    /// By its message byte.
    pub(super) const fn of(kind: u8) -> Option<Request> {
        Some(match kind {
            b'T' => Request::Info,
            b'W' => Request::Challenge,
            b'U' => Request::Player,
            b'V' => Request::Rules,
            b'i' => Request::Ping,
            _ => return None,
        })
    }

    /// A bit of its own.
    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The document's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Request::Info => "A2S_INFO",
            Request::Challenge => "A2S_SERVERQUERY_GETCHALLENGE",
            Request::Player => "A2S_PLAYER",
            Request::Rules => "A2S_RULES",
            Request::Ping => "A2A_PING",
        }
    }
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Info,
    ObsoleteInfo,
    Challenge,
    Players,
    Rules,
    Ping,
    /// A text, a message the document does not name, or bytes that are none.
    Other,
}

impl Answer {
    /// By its message byte.
    pub(super) const fn of(kind: u8) -> Answer {
        match kind {
            b'I' => Answer::Info,
            b'm' => Answer::ObsoleteInfo,
            b'A' => Answer::Challenge,
            b'D' => Answer::Players,
            b'E' => Answer::Rules,
            b'j' => Answer::Ping,
            _ => Answer::Other,
        }
    }

    /// As people read it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Answer::Info => "an info answer",
            Answer::ObsoleteInfo => "an obsolete info answer",
            Answer::Challenge => "a challenge",
            Answer::Players => "a player list",
            Answer::Rules => "a rules list",
            Answer::Ping => "a ping answer",
            Answer::Other => "something else",
        }
    }

    /// The kinds of requests that it may be to, a bit of each.
    pub(super) fn kinds(self) -> u8 {
        let fitting = Request::ALL.into_iter().filter(|&request| self.is_for(request));
        fitting.fold(0, |kinds, request| kinds | request.bit())
    }

    /// Whether it is what this kind of request may be answered by.
    pub(super) const fn is_for(self, request: Request) -> bool {
        matches!(
            (self, request),
            (Answer::Info | Answer::ObsoleteInfo | Answer::Challenge, Request::Info)
                | (Answer::Challenge, Request::Challenge | Request::Player | Request::Rules)
                | (Answer::Players, Request::Player)
                | (Answer::Rules, Request::Rules)
                | (Answer::Ping, Request::Ping)
        )
    }

    /// How well it answers a request: the lower, the better. `None`: not at all. `guarded`: the server
    /// has answered info by a challenge: it gives none without.
    pub(super) fn fits(self, asked: &PendingRequest, guarded: bool) -> Option<u8> {
        let asks = match asked.standing {
            // A list request without a challenge is none that servers know.
            ChallengeStatus::Absent => matches!(asked.request, Request::Info | Request::Challenge),
            standing => matches!(standing, ChallengeStatus::Asking | ChallengeStatus::Zero),
        };
        self.is_for(asked.request).then_some(match (self, asked.request) {
            (Answer::Players | Answer::Rules, _) => match asked.standing {
                ChallengeStatus::Issued | ChallengeStatus::Unknown => 0,
                ChallengeStatus::NeverIssued => 1,
                _ => 2,
            },
            (Answer::Info | Answer::ObsoleteInfo, _) => u8::from(guarded && asks),
            (Answer::Challenge, Request::Info) if asks => u8::from(!guarded),
            (Answer::Challenge, _) => u8::from(!asks) * 2,
            _ => 0,
        })
    }
}

/// What is known of the challenge that a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeStatus {
    /// There is none.
    Absent,
    /// -1: it asks for one.
    Asking,
    /// 0, with which some clients ask.
    Zero,
    /// This server gave it to this client.
    Issued,
    /// It did not.
    NeverIssued,
    /// It may have: the recording lost an answer, or too many have been seen to remember all.
    Unknown,
}

/// What a conversation shows. The rules look at it, the conversation does not know them.
pub(super) enum Observation<'a> {
    /// A request was sent. `foreign`: its challenge may be another's answer.
    Sent {
        challenge: Option<Read<i32>>,
        standing: ChallengeStatus,
        mark: Mark,
        foreign: Option<Told>,
    },
    /// A request was answered. `rounds`: how often in a row a valid challenge was by another, as far
    /// as that is counted. `guarded`: the server asks for a challenge before it answers the like.
    /// `again`: so was the request's sending before.
    Answered { asked: &'a PendingRequest, answer: Answer, rounds: u8, guarded: bool, again: bool },
    /// One more answer of another form came to an info request.
    Again { answer: Answer },
    /// A request was answered by something else than it asked for.
    Other { asked: &'a PendingRequest, answer: Answer },
    /// Nobody asked for it. `elsewhere`: the sender was never asked at all, and another may have been.
    Unasked { answer: Answer, elsewhere: Option<Told> },
    /// Nor for a player list that came in the past; or it came `instead` of info.
    UnmatchedList { mark: Mark, instead: bool, evidence: Evidence },
    /// Another endpoint of the asked host answered.
    Elsewhere { answer: Answer, asked: SocketAddr, from: SocketAddr },
    /// That request was answered by it.
    Moved { asked: &'a PendingRequest },
    /// The answer did not come, unless it came from another.
    Overdue { asked: &'a PendingRequest, told: Told },
}

/// What other flows may explain: the message, or the two ends of that of the past.
pub(super) struct Told {
    pub(super) seen: Seen,
    pub(super) evidence: Evidence,
    /// The challenge that an answer gives, or that a request carries and should not.
    pub(super) challenge: Option<u32>,
}

impl Told {
    /// Of the current message.
    pub(super) fn of(payload: &Payload<'_>, evidence: Evidence, challenge: Option<i32>) -> Told {
        let evidence = Evidence { lost: payload.lost, ..evidence };
        Told { seen: payload.seen(), evidence, challenge: challenge.map(|it| it as u32) }
    }
}
