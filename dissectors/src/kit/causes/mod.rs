//! The causes that several protocols share. Those of one protocol are in its `diagnosis.rs`.

pub mod answers;
pub mod clients;
pub mod masters;

use crate::cause;
use crate::kit::Cause;

/// All of them, in the order of the conditions.
pub const ALL: &[&Cause] = &[
    &answers::FLOODED,
    &answers::MISUSED,
    &answers::CRASH_ATTEMPT,
    &NEVER_JOINED,
    &JOIN_UNANSWERED,
    &CHALLENGE_UNANSWERED,
    &REGISTRATION_REFUSED,
    &REGISTRATION_UNCLEAR,
    &REGISTRATION_UNANSWERED,
    &NOT_REGISTERED,
    &TCP_REFUSED,
    &HEARTBEAT_RARE,
    &QUIT_SENT,
    &LIST_CUT,
    &NOT_IN_LIST,
    &LISTED_PRIVATE,
    &LISTED_LOOPBACK,
    &LISTED_OTHER_PORT,
    &HEARTBEAT_NAMES_OTHER_PORT,
    &CHALLENGE_LOOP,
    &answers::TWO_CHALLENGES,
    &CHALLENGED_REQUEST_UNANSWERED,
    &QUERIES_UNANSWERED,
    &ONLY_INFO_ANSWERED,
    &ICMP_PORT,
    &ICMP_HOST,
    &ICMP_PROHIBITED,
    &ICMP_TOO_BIG,
    &OTHER_ADDRESS,
    &OTHER_PORT,
    &ANSWERED_LATE,
    &FRAGMENT_LOST,
    &SPLIT_PART_MISSING,
    &LARGE_MISSING,
    &LARGE_ASKED_AGAIN,
    &HEADER_BROKEN,
    &answers::ONLY_SOME_KINDS,
    &answers::SOMETIMES_UNANSWERED,
    &answers::SILENT_PERIOD,
    &answers::RATE_LIMITED,
    &answers::ONE_CLIENT_UNANSWERED,
    &answers::RESPONSES_REFUSED,
    &answers::ANSWERS_REPEATED,
    &answers::APPENDED_CHALLENGE_IGNORED,
    &answers::CHALLENGE_FILTERED,
    &answers::OTHER_PROTOCOL,
    &answers::REFUSED_IN_WORDS,
    &answers::CUT_SHORT,
    &answers::NOT_TERMINATED,
    &answers::ZERO_FILLED,
    &answers::CHALLENGE_MISSING,
    &answers::COUNTS_DISAGREE,
    &answers::NAMES_MISSING,
    &answers::KEY_REPEATED,
    &answers::WRAPPED_COUNTS,
    &answers::TWO_HOSTS,
    &answers::ANSWERS_DIFFER,
    &masters::PRIVATE_ADDRESS,
    &answers::FAKE_ADDRESS,
    &answers::OTHER_PORT_ANSWERS,
    &answers::NAT_LOOPBACK,
    &answers::ASKED_AT_GAME_PORT,
    &answers::GAME_PORT_CLOSED,
    &answers::GAME_PORT_SILENT,
    &clients::CHALLENGE_NOT_RETURNED,
    &clients::CHALLENGE_ASTRAY,
    &clients::CHALLENGE_OTHER_PORT,
    &clients::CHALLENGE_EXPIRED,
    &clients::REQUEST_MALFORMED,
    &clients::LIST_BEFORE_VALIDATE,
    &clients::LIST_OVER_UDP,
    &clients::CHALLENGE_AS_TEXT,
    &clients::CHALLENGE_WRONG,
    &clients::CHALLENGE_ZERO_SENT,
    &clients::SESSION_CHANGED,
    &clients::WRONG_PROTOCOL,
    &masters::REGISTERS_THROUGH_STEAM,
    &masters::MASTER_SILENT,
    &masters::CHALLENGED_ELSEWHERE,
    &masters::TCP_UNANSWERED,
    &masters::LIST_UNANSWERED,
    &masters::LIST_UNREADABLE,
    &masters::NEVER_SPEAKS,
    &masters::VALIDATE_REFUSED,
    &masters::BANNED,
    &masters::SERVER_ERROR,
    &masters::REDIRECTED,
    &masters::LIST_THROTTLED,
    &masters::LIST_SLOW,
    &CHALLENGE_BYTESWAPPED,
    &KEY_UNKNOWN,
    &LIST_FILTERED,
    &LIST_ENCIPHERED,
    &REQUEST_WRONG,
    &CAPTURE_TOO_SHORT,
    &CAPTURE_ONE_SIDED,
    &CAPTURE_STARTS_LATE,
    &CAPTURE_DROPS,
    &NOT_IN_CAPTURE,
];

/// Advice for a master that does not react.
const REACH_MASTER: &str = "Check the master's address and port, and that a firewall lets its packets back in; else \
                            the master is down.";

/// Advice for a server that does not answer the challenge of a master.
pub(crate) const LET_MASTER_IN: &str = "The challenge does not reach the game, or the game does not know it: let packets of the \
     master in, on the port that the server sends from.";

/// Advice for a server that does not know its own challenges.
pub(crate) const ONE_PROGRAM: &str = "The challenge is given by one program and checked by another, or tied to a port that \
     changes: check caches, proxies and load balancers in front of the server.";

/// Advice for a server that is listed with an address of its own network.
const PUBLIC_ADDRESS: &str = "The master saw the server under its local address: let it register through its public \
     address, or set that address in the server.";

/// Advice for responses that no client reads.
pub(crate) const CHECK_SHOWS: &str = "Clients drop such packets: `gamewire check` shows the bytes.";

cause! {
    /// It never asked a master to list it.
    pub NEVER_JOINED "never_joined" {
        no: [Join],
        says: "it never registers with a master",
        advice: "Enable the server's public listing, and check the master in its configuration.",
    }
}

cause! {
    /// The master did not react to a join.
    pub JOIN_UNANSWERED "join_unanswered" {
        no: [Challenged],
        kind: Silence,
        says: "it joins, and the master does not react",
        advice: REACH_MASTER,
    }
}

cause! {
    /// The server did not answer the master's challenge.
    pub CHALLENGE_UNANSWERED "challenge_unanswered" {
        no: [Echo],
        kind: Silence,
        says: "the master challenges it, and it does not answer",
        advice: LET_MASTER_IN,
    }
}

cause! {
    /// The master refused to register it.
    pub REGISTRATION_REFUSED "registration_refused" {
        no: [Accepted],
        says: "the master refuses to register it",
        advice: "The master's response has the reason: correct that, and register again.",
    }
}

cause! {
    /// The master's response is not known as a success, or as a refusal.
    pub REGISTRATION_UNCLEAR "registration_unclear" {
        unknown: [Accepted],
        says: "the master's response is not known as a success: {text}",
        details: "the master says {text}, which is not known as a success",
        lacks: "A list of this master shows whether it has the server.",
    }
}

cause! {
    /// The master did not answer the registration.
    pub REGISTRATION_UNANSWERED "registration_unanswered" {
        no: [Accepted],
        kind: Silence,
        says: "it registers, and the master does not respond",
        advice: REACH_MASTER,
    }
}

cause! {
    /// The master does not know it.
    pub NOT_REGISTERED "not_registered" {
        no: [Accepted],
        unknown: [Accepted],
        says: "the master answers its checks of players as if it were not registered",
        details: "the answer to a check of a player is *f",
        advice: "Register anew: restart the server, or wait until it does so by itself. Where it is listed, the \
                 player is unknown, or the master checks none.",
    }
}

cause! {
    /// A host refused the TCP connection.
    pub TCP_REFUSED "tcp_refused" {
        no: [Accepted, ListWhole, Reached],
        says: "the master refuses the connection",
        details: "{master} refuses the connection of {from}",
        advice: "Nothing listens on the master's TCP port: correct the address or the port, or ask who \
                 runs the master.",
    }
}

cause! {
    /// Its heartbeats are too rare.
    pub HEARTBEAT_RARE "heartbeat_rare" {
        no: [Heartbeats],
        says: "its heartbeats are too rare, and the master drops it",
        advice: "Send heartbeats as often as the protocol requires; check that the server does not stop while \
                 it is empty.",
    }
}

cause! {
    /// It announced to the master that it is gone.
    pub QUIT_SENT "quit_sent" {
        no: [Stays],
        says: "it announced to the master that it has shut down",
        details: "a quit",
        advice: "Join again when the server starts; check that it does not quit on a map change.",
    }
}

cause! {
    /// The list ends early.
    pub LIST_CUT "list_cut" {
        no: [ListWhole, GivesWholeList],
        unknown: [ListWhole, Listed, GivesWholeList],
        says: "the master's list ends early",
        advice: "Ask for the list again; if it ends early each time, the master is at fault.",
    }
}

cause! {
    /// The list does not have it.
    pub NOT_IN_LIST "not_in_list" {
        no: [Listed],
        says: "the master's list does not have it",
        details: "the latest complete list does not have it",
        advice: "Ask the master's operator whether the address is banned or the version outdated; a list \
                 may be some minutes old.",
    }
}

cause! {
    /// It is listed with an address of a private network.
    pub LISTED_PRIVATE "listed_private_address" {
        no: [Address],
        says: "it is listed with an address of a private network",
        details: "as {address}, to {client}",
        advice: PUBLIC_ADDRESS,
    }
}

cause! {
    /// It is listed with a loopback address.
    pub LISTED_LOOPBACK "listed_loopback" {
        no: [Address],
        says: "it is listed with a loopback address",
        details: "as {address}",
        advice: PUBLIC_ADDRESS,
    }
}

cause! {
    /// It is listed with another port.
    pub LISTED_OTHER_PORT "listed_other_port" {
        no: [Address],
        says: "it is listed with another port than it responds on",
        details: "as {address}",
        advice: "The port is changed on the way, or the wrong one is set: forward the port one to one, and \
                 register from the port that takes queries.",
    }
}

cause! {
    /// Its heartbeat names a port on which it does not respond.
    pub HEARTBEAT_NAMES_OTHER_PORT "heartbeat_names_other_port" {
        no: [Address],
        says: "its heartbeat names port {named}, and it responds on port {answers}",
        details: "its heartbeat names port {named}, where nothing responds",
        advice: "Set the query port that the heartbeat names to the one on which the game responds.",
    }
}

cause! {
    /// It does not respond to requests with its challenge.
    pub CHALLENGED_REQUEST_UNANSWERED "challenged_request_unanswered" {
        no: [Verified, Answered],
        says: "it gives challenges, but does not respond to requests with them",
        advice: ONE_PROGRAM,
    }
}

cause! {
    /// It responds to no request.
    pub QUERIES_UNANSWERED "queries_unanswered" {
        no: [Answered],
        unknown: [GetsAnswers],
        kind: Silence,
        says: "clients ask it, and it does not respond",
        advice: "Check that the server runs, that it listens on this address and port, and that the firewall \
                 lets UDP in and out.",
    }
}

cause! {
    /// It responds only to the request for its name and map.
    pub ONLY_INFO_ANSWERED "only_info_answered" {
        no: [Answered],
        says: "it responds only to the request for its name and map",
        details: "it never responds to {kind}",
        advice: "A filter or a cache in front of the server responds in its stead: let the other requests \
                 through.",
        at_server: "The other requests arrive, and nothing is sent: check the server's settings and plugins, and the firewall \
                    on its host.",
    }
}

cause! {
    /// An ICMP error: the port is closed.
    pub ICMP_PORT "icmp_port_unreachable" {
        no: [Answered, Challenged, Echo, Reached, Accepted, ListWhole, ProbeBack],
        unknown: [GetsAnswers],
        kind: Icmp,
        says: "nothing listens on the port that is asked",
        advice: "The port is closed: start the program that should listen there, or correct the port.",
    }
}

cause! {
    /// An ICMP error: the host cannot be reached.
    pub ICMP_HOST "icmp_host_unreachable" {
        no: [Answered, Challenged, Echo, Reached, Accepted, ListWhole],
        unknown: [GetsAnswers],
        kind: Icmp,
        says: "there is no route to the host",
        advice: "A router has no route: check the address, and that the host is up.",
    }
}

cause! {
    /// An ICMP error: a firewall rejects the packet.
    pub ICMP_PROHIBITED "icmp_admin_prohibited" {
        no: [Answered, Challenged, Echo, Reached, Accepted, ListWhole],
        unknown: [GetsAnswers],
        kind: Icmp,
        says: "a firewall refuses the requests",
        advice: "Open the port in the firewall that sent the error.",
    }
}

cause! {
    /// An ICMP error: the packet is too large.
    pub ICMP_TOO_BIG "icmp_fragmentation_needed" {
        no: [Whole, Answered, Challenged],
        kind: Icmp,
        says: "its responses are larger than the path's MTU, and are dropped",
        advice: "Set the MTU of the server's interface to the router's, or make its responses smaller, or \
                 send them without Don't Fragment; and let ICMP \"fragmentation needed\" through to the server.",
    }
}

cause! {
    /// Its responses come from another host.
    pub OTHER_ADDRESS "answers_from_other_address" {
        no: [FromAsked, GivesList],
        unknown: [FromAsked, Answered],
        says: "clients ask it, and responses come from another address",
        details: "{from} sends {elsewhere} of {responses}",
        advice: "The server sends from another interface, or NAT rewrites it: bind it to the public address, \
                 or fix source NAT for its UDP port.",
        lacks: "The other host may have been asked itself, by a request that the capture lacks: record longer, and see whether \
                its responses come each time that this server is asked.",
    }
}

cause! {
    /// Its responses come from another port.
    pub OTHER_PORT "answers_from_other_port" {
        no: [FromAsked, GivesList],
        says: "clients ask it, and its responses come from another port",
        details: "{from} sends {elsewhere} of {responses}",
        advice: "NAT or a container rewrites the port: publish the UDP port one to one, or use the host's \
                 network.",
    }
}

cause! {
    /// Its responses come after clients have stopped waiting.
    pub ANSWERED_LATE "answered_late" {
        no: [InTime],
        says: "its responses come after clients have stopped waiting",
        details: "after {seconds} s",
        advice: "The server or the way to it is overloaded: look at its processor load and for floods.",
        at_server: "This time is the server's own: it is overloaded. Look at its processor load and for floods.",
    }
}

cause! {
    /// A fragment of a response is missing.
    pub FRAGMENT_LOST "fragment_lost" {
        no: [Whole],
        unknown: [Whole],
        says: "IP fragments of its responses are lost",
        advice: "Fragments are dropped on the way: make responses smaller than the path's MTU.",
        at_server: "Fragments are missing where the server sends them: look at the firewall on its host, or make responses \
                    smaller than the MTU.",
    }
}

cause! {
    /// A part of a response is missing.
    pub SPLIT_PART_MISSING "split_part_missing" {
        no: [Whole],
        unknown: [Whole],
        says: "parts of its responses are missing",
        advice: "Packets are lost on the way, or a rate limit drops them: let the burst of a response through. If \
                 the same part is missing each time, it may be larger than the path's MTU.",
        at_server: "The server itself does not send these parts: look for a limit or a filter on its host.",
    }
}

cause! {
    /// No response comes to requests whose responses may be larger than those that do come.
    pub LARGE_MISSING "large_responses_missing" {
        unknown: [Whole],
        kind: Suspicion,
        says: "all possibly large responses are missing",
        details: "nothing comes to {kind}, and to others no packet of more than {largest} bytes: a larger one may not pass ({times})",
        lacks: "Record at the server: if it does not respond there either, its settings or a filter are the reason. If it \
                does, find what passes by `ping -M do -s 1472` and less, set the MTU of its interface to that, and let \
                fragments and ICMP \"fragmentation needed\" through.",
    }
}

cause! {
    /// Large responses are sent, and clients ask for them again.
    pub LARGE_ASKED_AGAIN "large_responses_asked_again" {
        unknown: [Whole],
        kind: Suspicion,
        says: "clients repeat only requests for large responses",
        details: "{again} of {responses} large responses to {kind} are asked for again within {seconds} s, and no small ones: they may not arrive",
        advice: "Find what passes between client and server by `ping -M do -s 1472` and less, set the MTU of the server's \
                 interface to that, and let fragments and ICMP \"fragmentation needed\" through.",
    }
}

cause! {
    /// Its responses do not have the format that clients expect.
    pub HEADER_BROKEN "header_broken" {
        no: [Readable],
        unknown: [Readable],
        says: "its responses do not have the format that clients expect",
        advice: CHECK_SHOWS,
    }
}

cause! {
    /// The game's secret key is not known.
    pub KEY_UNKNOWN "key_unknown" {
        unknown: [Echo],
        kind: Capture,
        says: "the game's secret key is not known",
        details: "whether the response is right cannot be known without the game's secret key",
        lacks: "Give it with --gamespy-key GAME=KEY.",
    }
}

cause! {
    /// The list was requested with a filter.
    pub LIST_FILTERED "list_filtered" {
        unknown: [Listed],
        kind: Capture,
        says: "the lists in the capture were requested with a filter",
        details: "only filtered lists are in the capture",
        lacks: "Ask for a list without a filter while you record.",
    }
}

cause! {
    /// The list is enciphered.
    pub LIST_ENCIPHERED "list_enciphered" {
        unknown: [Listed],
        kind: Capture,
        says: "the list is encrypted or compressed",
        details: "the list is encrypted or compressed, and cannot be read",
        lacks: "Ask for a list that is neither: \\list\\cmp\\ or plain; over HTTP, without Accept-Encoding.",
    }
}

cause! {
    /// The request was wrong, so no response is due.
    pub REQUEST_WRONG "request_wrong" {
        unknown: [Answered, Verified],
        says: "the requests are wrong, and need no response",
        advice: "`gamewire check` shows what is wrong with the requests.",
    }
}

cause! {
    /// The capture ends too early.
    pub CAPTURE_TOO_SHORT "capture_too_short" {
        unknown: any,
        kind: Capture,
        says: "the capture is too short",
        lacks: "Record longer.",
    }
}

cause! {
    /// Only one direction was recorded.
    pub CAPTURE_ONE_SIDED "capture_one_sided" {
        unknown: any,
        kind: Capture,
        says: "the capture may have only one direction",
        lacks: "Record both directions; if the capture has them, --complete makes silence a fault.",
    }
}

cause! {
    /// The capture begins too late.
    pub CAPTURE_STARTS_LATE "capture_starts_late" {
        unknown: any,
        kind: Capture,
        says: "the capture begins too late",
        lacks: "Start recording before the server starts.",
    }
}

cause! {
    /// The recorder lost packets.
    pub CAPTURE_DROPS "capture_drops" {
        unknown: any,
        kind: Capture,
        says: "the recorder lost packets that may explain it",
        lacks: "Record whole packets (snaplen 0), with a larger buffer or a capture filter.",
    }
}

cause! {
    /// The capture has no messages of this kind.
    pub NOT_IN_CAPTURE "not_in_capture" {
        unknown: any,
        kind: Capture,
        says: "the capture has no messages of this kind",
        lacks: "Record where it passes.",
    }
}

cause! {
    /// A challenge was answered, or returned, with the bytes in reverse order.
    pub CHALLENGE_BYTESWAPPED "challenge_byteswapped" {
        no: [Echo, WellFormed],
        says: "the challenge comes back with its bytes reversed",
        advice: "Read and write its 4 bytes in the order that the specification demands, on any machine.",
    }
}

cause! {
    /// It answers each challenge with another one.
    pub CHALLENGE_LOOP "challenge_loop" {
        no: [Verified],
        unknown: [Answered],
        says: "it answers its own challenge with another challenge, again and again",
        advice: ONE_PROGRAM,
        lacks: "Requests get challenges in place of data: once it accepts one, see what it answers.",
    }
}
