//! The kinds of requests and responses, and of challenges.

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

    /// The specification's name.
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
    /// A text, a message the specification does not name, or bytes that are none.
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
    /// It may have: the recording lost a response, or too many have been seen to remember all.
    Unknown,
}
