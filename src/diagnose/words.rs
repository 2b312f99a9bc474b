//! The texts: for each condition, what is wrong if it is not met, and what to do about it.

use dissectors::kit::{Cause, Item};

use super::CapturePosition;

/// What the server does, if the item is so.
pub const fn label(item: Item) -> &'static str {
    match item {
        Item::Join => "joins the master",
        Item::Challenged => "is challenged by the master",
        Item::Echo => "answers the challenge correctly",
        Item::Info => "sends a complete info string",
        Item::Probed => "is probed by the master",
        Item::ProbeBack => "answers the probe",
        Item::Accepted => "is accepted by the master",
        Item::Heartbeats => "sends heartbeats on time",
        Item::Stays => "stays registered",
        Item::ListWhole => "the list is complete",
        Item::Listed => "is in the master's list",
        Item::Address => "is listed with an address that can be reached",
        Item::Asked => "is asked by clients",
        Item::Challenges => "challenges clients",
        Item::Verified => "accepts its own challenge",
        Item::Answered => "responds to clients",
        Item::FromAsked => "responds from the address asked",
        Item::InTime => "responds in time",
        Item::Whole => "gets complete responses to clients",
        Item::Readable => "sends responses that can be read",
    }
}

/// The text of the first line about a condition that is not met.
pub fn headline(item: Item, cause: Cause) -> String {
    let what = of_cause(cause);
    match item {
        Item::Join | Item::Challenged | Item::Accepted if is_icmp(cause) => {
            format!("it cannot reach the master: {what}")
        }
        _ => what.to_owned(),
    }
}

/// The text of the first line about a condition that is unknown.
pub fn open(item: Item, cause: Cause) -> String {
    let it = if item == Item::ListWhole { "" } else { "it " };
    format!("whether {it}{} is unknown: {}", label(item), of_cause(cause))
}

/// Whether an ICMP error shows the cause.
const fn is_icmp(cause: Cause) -> bool {
    matches!(cause, Cause::IcmpPort | Cause::IcmpHost | Cause::IcmpProhibited | Cause::IcmpTooBig)
}

const fn of_cause(cause: Cause) -> &'static str {
    match cause {
        Cause::NeverJoined => "it never registers with a master",
        Cause::JoinUnanswered => "it joins, and the master does not react",
        Cause::IcmpPort => "nothing listens on the port that is asked",
        Cause::IcmpHost => "there is no route to the host",
        Cause::IcmpProhibited => "a firewall refuses the requests",
        Cause::IcmpTooBig => "its responses are larger than the path's MTU, and are dropped",
        Cause::ChallengeUnanswered => "the master challenges it, and it does not answer",
        Cause::ChallengeNotEchoed => {
            "it answers the master with another challenge than it was given"
        }
        Cause::ChallengeByteswapped => "it answers the master's challenge with its bytes reversed",
        Cause::InfoKeysMissing => "its info string lacks keys",
        Cause::InfoMalformed => "its info string is not made of key and value pairs",
        Cause::InfoPlayersOverMax => "its info string has more players than its maximum",
        Cause::HeartbeatRare => "its heartbeats are too rare, and the master drops it",
        Cause::QuitSent => "it announced to the master that it has shut down",
        Cause::NotInList => "the master's list does not have it",
        Cause::NotChallenged => "it sends heartbeats, and the master does not challenge it",
        Cause::SecureUnanswered => "the master challenges it, and no validate comes",
        Cause::ValidateWrong => "its answer to the master's challenge is wrong",
        Cause::RegistrationRefused => "the master refuses to register it",
        Cause::NotRegistered => {
            "the master answers its checks of players as if it were not registered"
        }
        Cause::RegistrationUnanswered => "it registers, and the master does not respond",
        Cause::ProbeUnanswered => "the master probes its port, and nothing comes back",
        Cause::ProbeOtherPort => "it answers the master's probe from another port",
        Cause::TcpRefused => "the master refuses the connection",
        Cause::ListCut => "the master's list ends early",
        Cause::ListedPrivate => "it is listed with an address of a private network",
        Cause::ListedLoopback => "it is listed with a loopback address",
        Cause::ListedOtherPort => "it is listed with another port than it responds on",
        Cause::QueriesUnanswered => "clients ask it, and it does not respond",
        Cause::OnlyInfoAnswered => "it responds only to the request for its name and map",
        Cause::ChallengedRequestUnanswered => {
            "it gives challenges, but does not respond to requests with them"
        }
        Cause::ChallengeLoop => {
            "it answers its own challenge with another challenge, again and again"
        }
        Cause::OtherAddress => "clients ask it, and its responses come from another address",
        Cause::OtherPort => "clients ask it, and its responses come from another port",
        Cause::AnsweredLate => "its responses come after clients have stopped waiting",
        Cause::FragmentLost => "IP fragments of its responses are lost",
        Cause::SplitPartMissing => "parts of its responses are missing",
        Cause::HeaderBroken => "its responses do not have the format that clients expect",
        Cause::ChallengeNotANumber => "its challenge is not a number",
        Cause::CaptureTooShort => "the capture is too short",
        Cause::CaptureOneSided => "the capture has only one direction",
        Cause::CaptureStartsLate => "the capture begins too late",
        Cause::CaptureDrops => "the recorder lost packets that may explain it",
        Cause::ListFiltered => "the lists in the capture were requested with a filter",
        Cause::ListEnciphered => "the list is encrypted",
        Cause::NotInCapture => "the capture has no messages of this kind",
        Cause::LargeMissing => "all possibly large responses are missing",
        Cause::LargeAskedAgain => "clients repeat only requests for large responses",
        Cause::RequestWrong => "the requests are wrong, and need no response",
        Cause::KeyUnknown => "the game's secret key is not known",
    }
}

/// What to do about it.
pub const fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::NeverJoined => {
            "Enable the server's public listing, and check the master in its configuration."
        }
        Cause::JoinUnanswered | Cause::RegistrationUnanswered => {
            "Check the master's address and port, and that a firewall lets its packets back in; else the \
             master is down."
        }
        Cause::IcmpPort => {
            "The port is closed: start the program that should listen there, or correct the port."
        }
        Cause::IcmpHost => "A router has no route: check the address, and that the host is up.",
        Cause::IcmpProhibited => "Open the port in the firewall that sent the error.",
        Cause::IcmpTooBig => {
            "Set the MTU of the server's interface to the router's, or make its responses smaller, or \
             send them without Don't Fragment; and let ICMP \"fragmentation needed\" through to the server."
        }
        Cause::ChallengeUnanswered | Cause::SecureUnanswered => {
            "The challenge does not reach the game, or the game does not know it: let packets of the master \
             in, on the port that the server sends from."
        }
        Cause::ChallengeNotEchoed => {
            "Answer with the challenge of the latest join to this master: each master gives its own."
        }
        Cause::ChallengeByteswapped => {
            "Read the master's 4 bytes as a little-endian number, whatever the byte order of the machine."
        }
        Cause::InfoKeysMissing => {
            "Send all keys of the protocol's table, as \\key\\value pairs with a line feed at the end."
        }
        Cause::InfoMalformed => {
            "Send each key once, none empty, and no backslash in a value: a server's name or map may have one."
        }
        Cause::InfoPlayersOverMax => "Send a player count that is at most the number of slots.",
        Cause::HeartbeatRare => {
            "Send heartbeats as often as the protocol requires; check that the server does not stop while \
             it is empty."
        }
        Cause::QuitSent => {
            "Join again when the server starts; check that it does not quit on a map change."
        }
        Cause::NotInList => {
            "Ask the master's operator whether the address is banned or the version outdated; a list \
             may be some minutes old."
        }
        Cause::NotChallenged => {
            "Check the game name in the heartbeat: masters ignore games that they do not know."
        }
        Cause::ValidateWrong => {
            "Check the game's secret key, and the port and game name in the response."
        }
        Cause::RegistrationRefused => {
            "The master's response has the reason: correct that, and register again."
        }
        Cause::NotRegistered => {
            "Register anew: restart the server, or wait until it does so by itself. Where it is listed, the \
             player is unknown, or the master checks none."
        }
        Cause::ProbeUnanswered => {
            "Open and forward the UDP port that the master probes: one above the server's."
        }
        Cause::ProbeOtherPort => {
            "NAT or a container rewrites the port: publish the probed UDP port, one above the server's, one \
             to one."
        }
        Cause::TcpRefused => {
            "Nothing listens on the master's TCP port: correct the address or the port, or ask who \
             runs the master."
        }
        Cause::ListCut => {
            "Ask for the list again; if it ends early each time, the master is at fault."
        }
        Cause::ListedPrivate | Cause::ListedLoopback => {
            "The master saw the server under its local address: let it register through its public \
             address, or set that address in the server."
        }
        Cause::ListedOtherPort => {
            "The port is changed on the way, or the wrong one is set: forward the port one to one, and \
             register from the port that takes queries."
        }
        Cause::QueriesUnanswered => {
            "Check that the server runs, that it listens on this address and port, and that the firewall \
             lets UDP in and out."
        }
        Cause::OnlyInfoAnswered => {
            "A filter or a cache in front of the server responds in its stead: let the other requests \
             through."
        }
        Cause::ChallengedRequestUnanswered | Cause::ChallengeLoop => {
            "The challenge is given by one program and checked by another, or tied to a port that \
             changes: check caches, proxies and load balancers in front of the server."
        }
        Cause::OtherAddress => {
            "The server sends from another interface, or NAT rewrites it: bind it to the public address, \
             or fix source NAT for its UDP port."
        }
        Cause::OtherPort => {
            "NAT or a container rewrites the port: publish the UDP port one to one, or use the host's \
             network."
        }
        Cause::AnsweredLate => {
            "The server or the way to it is overloaded: look at its processor load and for floods."
        }
        Cause::FragmentLost => {
            "Fragments are dropped on the way: make responses smaller than the path's MTU."
        }
        Cause::SplitPartMissing => {
            "Packets are lost on the way, or a rate limit drops them: let the burst of a response through. If \
             the same part is missing each time, it may be larger than the path's MTU."
        }
        Cause::HeaderBroken | Cause::ChallengeNotANumber => {
            "Clients drop such packets: `gamewire check` shows the bytes."
        }
        Cause::CaptureTooShort => "Record longer.",
        Cause::CaptureOneSided => {
            "Record both directions; if the capture has them, --complete makes silence a fault."
        }
        Cause::CaptureStartsLate => "Start recording before the server starts.",
        Cause::CaptureDrops => "Record with a larger buffer, or with a capture filter.",
        Cause::ListFiltered => "Ask for a list without a filter while you record.",
        Cause::ListEnciphered => "Ask for a list that is not enciphered: \\list\\cmp\\ or plain.",
        Cause::NotInCapture => "Record where it passes.",
        Cause::LargeMissing => {
            "Record at the server: if it does not respond there either, its settings or a filter are the reason. If it \
             does, find what passes by `ping -M do -s 1472` and less, set the MTU of its interface to that, and let \
             fragments and ICMP \"fragmentation needed\" through."
        }
        Cause::LargeAskedAgain => {
            "Find what passes between client and server by `ping -M do -s 1472` and less, set the MTU of the server's \
             interface to that, and let fragments and ICMP \"fragmentation needed\" through."
        }
        Cause::RequestWrong => "`gamewire check` shows what is wrong with the requests.",
        Cause::KeyUnknown => "Give it with --gamespy-key GAME=KEY.",
    }
}

/// Where the capture was taken, and how that is known.
pub const fn position(position: CapturePosition) -> &'static str {
    match position {
        CapturePosition::Server => "captured at the server",
        CapturePosition::Client => "captured at a client",
        CapturePosition::Master => "captured at the master",
        CapturePosition::Between => "captured on the way between server and clients",
        CapturePosition::Unknown => "where it was captured is unknown",
    }
}
