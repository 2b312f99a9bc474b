//! The kinds of requests and responses, and of challenges.

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    Info,
    Challenge,
    Player,
    Rules,
    Ping,
}

impl RequestKind {
    /// All of them.
    pub(super) const ALL: [RequestKind; 5] = [
        RequestKind::Info,
        RequestKind::Challenge,
        RequestKind::Player,
        RequestKind::Rules,
        RequestKind::Ping,
    ];

    /// By its message byte.
    pub(super) const fn of(kind: u8) -> Option<RequestKind> {
        Some(match kind {
            b'T' => RequestKind::Info,
            b'W' => RequestKind::Challenge,
            b'U' => RequestKind::Player,
            b'V' => RequestKind::Rules,
            b'i' => RequestKind::Ping,
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
            RequestKind::Info => "A2S_INFO",
            RequestKind::Challenge => "A2S_SERVERQUERY_GETCHALLENGE",
            RequestKind::Player => "A2S_PLAYER",
            RequestKind::Rules => "A2S_RULES",
            RequestKind::Ping => "A2A_PING",
        }
    }
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseKind {
    Info,
    ObsoleteInfo,
    Challenge,
    Players,
    Rules,
    Ping,
    /// A text, a message the specification does not name, or bytes that are none.
    Other,
}

impl ResponseKind {
    /// By its message byte.
    pub(super) const fn of(kind: u8) -> ResponseKind {
        match kind {
            b'I' => ResponseKind::Info,
            b'm' => ResponseKind::ObsoleteInfo,
            b'A' => ResponseKind::Challenge,
            b'D' => ResponseKind::Players,
            b'E' => ResponseKind::Rules,
            b'j' => ResponseKind::Ping,
            _ => ResponseKind::Other,
        }
    }

    /// As people read it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ResponseKind::Info => "an info answer",
            ResponseKind::ObsoleteInfo => "an obsolete info answer",
            ResponseKind::Challenge => "a challenge",
            ResponseKind::Players => "a player list",
            ResponseKind::Rules => "a rules list",
            ResponseKind::Ping => "a ping answer",
            ResponseKind::Other => "something else",
        }
    }

    /// The kinds of requests that it may be to, a bit of each.
    pub(super) fn kinds(self) -> u8 {
        let fitting = RequestKind::ALL.into_iter().filter(|&request| self.is_for(request));
        fitting.fold(0, |kinds, request| kinds | request.bit())
    }

    /// Whether it is what this kind of request may be answered by.
    pub(super) const fn is_for(self, request: RequestKind) -> bool {
        matches!(
            (self, request),
            (
                ResponseKind::Info | ResponseKind::ObsoleteInfo | ResponseKind::Challenge,
                RequestKind::Info
            ) | (
                ResponseKind::Challenge,
                RequestKind::Challenge | RequestKind::Player | RequestKind::Rules
            ) | (ResponseKind::Players, RequestKind::Player)
                | (ResponseKind::Rules, RequestKind::Rules)
                | (ResponseKind::Ping, RequestKind::Ping)
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
