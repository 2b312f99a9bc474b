//! The kinds of requests and responses, and of challenges.

crate::named! {
    /// The kind of a request.
    pub(super) enum RequestKind {
        Info = "A2S_INFO",
        Challenge = "A2S_SERVERQUERY_GETCHALLENGE",
        Player = "A2S_PLAYER",
        Rules = "A2S_RULES",
        Ping = "A2A_PING",
    }
}

impl RequestKind {
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
}

crate::named! {
    /// The kind of a response.
    pub(super) enum ResponseKind {
        Info = "an info answer",
        ObsoleteInfo = "an obsolete info answer",
        Challenge = "a challenge",
        Players = "a player list",
        Rules = "a rules list",
        Ping = "a ping answer",
        /// A text, an unknown message, or bytes that are not a message.
        Other = "something else",
    }
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

    /// The kinds of requests that it may answer, as bits.
    pub(super) fn kinds(self) -> u8 {
        let fitting = RequestKind::ALL.into_iter().filter(|&request| self.is_for(request));
        fitting.fold(0, |kinds, request| kinds | request.bit())
    }

    /// Whether it is a valid response to this kind of request.
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

/// The origin of the challenge in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeStatus {
    /// The request has none.
    Absent,
    /// -1: a request for one.
    Asking,
    /// 0, which some clients send to request one.
    Zero,
    /// This server gave it to this client.
    Issued,
    /// This server did not give it to this client.
    NeverIssued,
    /// The server may have given it: the recording lost a response, or there were too many to
    /// remember.
    Unknown,
}
