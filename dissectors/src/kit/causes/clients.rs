//! The causes that requests of a client show.

use crate::cause;

cause! {
    /// A client gets challenges, and returns none.
    pub CHALLENGE_NOT_RETURNED "challenge_not_returned" {
        no: [ReturnsChallenge],
        unknown: [Verified, Answered],
        says: "challenges are not returned",
        details: "none of {challenges} challenges of {server} is returned",
        advice: "The program takes the challenge for the answer: it must repeat its request with the challenge appended.",
        lacks: "Ask with another program.",
        at_server: "The program of these clients takes the challenge for the answer: it must repeat its request with the \
                    challenge appended.",
    }
}

cause! {
    /// Challenges do not reach it where it waits for them.
    pub CHALLENGE_ASTRAY "challenge_astray" {
        unknown: [ReturnsChallenge, Verified, Answered],
        says: "challenges do not reach the port that waits for them",
        details: "challenges come from an address that was not asked, or are refused by the client's host",
        lacks: "First let the server respond from the address asked, and soon enough; then record again.",
    }
}

cause! {
    /// A client returns challenges from another port.
    pub CHALLENGE_OTHER_PORT "challenge_other_port" {
        no: [ReturnsChallenge],
        unknown: [ReturnsChallenge, Verified, Answered],
        says: "challenges are returned from another port",
        details: "a challenge of {server} for port {given} is returned from port {port}",
        advice: "A challenge holds for the address and the port that got it: send both requests from the same socket.",
        lacks: "Ask with another program.",
        at_server: "A challenge holds for the address and the port that got it: the program of these clients must send both \
                    requests from the same socket.",
    }
}

cause! {
    /// A client sends requests that the protocol does not have.
    pub REQUEST_MALFORMED "request_malformed" {
        no: [WellFormed],
        says: "its requests are not as the protocol demands",
        advice: "`gamewire check` shows the bytes, and what the specification demands.",
    }
}

cause! {
    /// A client asks a master for its list, and has not answered its challenge.
    pub LIST_BEFORE_VALIDATE "list_before_validate" {
        no: [WellFormed],
        says: "it asks the master for its list, and has not answered its challenge",
        advice: "Wait for the master's challenge, answer it with validate, and then send the request for the list.",
    }
}

cause! {
    /// A client asks a master for its list in a datagram.
    pub LIST_OVER_UDP "list_over_udp" {
        no: [WellFormed],
        says: "it asks the master for its list over UDP",
        advice: "Masters of this protocol give their lists over TCP only, usually at port 28900: connect there.",
    }
}

cause! {
    /// A client sends the challenge as text.
    pub CHALLENGE_AS_TEXT "challenge_as_text" {
        no: [WellFormed],
        says: "it sends the challenge as text",
        details: "the challenge is sent as the text \"{text}\"",
        advice: "The challenge is a number of four bytes: convert the text before you send it.",
    }
}

cause! {
    /// A client returns a challenge for longer than the server accepts it.
    pub CHALLENGE_EXPIRED "challenge_expired" {
        no: [ReturnsChallenge],
        says: "it returns challenges that are too old",
        details: "of requests with a challenge that is {age} old, or older, {old} stay unanswered; of others, {others}",
        advice: "Ask for a new challenge before each request: the server forgets old ones.",
    }
}

cause! {
    /// A client returns another challenge than it got.
    pub CHALLENGE_WRONG "challenge_wrong" {
        no: [WellFormed],
        says: "it sends a challenge that the server did not give it",
        advice: "Ask for a challenge, and return the number that the server sent, with its sign.",
    }
}

cause! {
    /// A client sends the challenge 0.
    pub CHALLENGE_ZERO_SENT "challenge_zero_sent" {
        no: [WellFormed],
        says: "it sends the challenge 0",
        details: "the server gives the challenge {given}, and the client returns 0",
        advice: "Append the number that the server sent; after the challenge 0, which means none, send the request without one.",
    }
}

cause! {
    /// A client uses another session number for each request.
    pub SESSION_CHANGED "session_changed" {
        no: [WellFormed],
        says: "the number that identifies its session changes within an exchange",
        details: "the session is {first} in one request, and {second} in the next",
        advice: "Use the same number in the request for a challenge and in the one that returns it.",
    }
}

cause! {
    /// A client asks in another protocol than the server answers in.
    pub WRONG_PROTOCOL "wrong_protocol" {
        no: [RightProtocol],
        says: "it asks in {asked} a server that answers in {answers}",
        details: "it asks {server} in {asked}, which answers in {answers}",
        advice: "Choose the other protocol in the program that asks.",
    }
}
