//! The causes that responses of a server have together: shares, patterns, and what they say.

use crate::cause;

cause! {
    /// It is flooded.
    pub FLOODED "flooded" {
        no: [NotAttacked],
        says: "it is under attack: flooded with {kinds}, {rate} a second",
        details: "{packets} packets from {sources}",
        advice: "`gamewire abuse` measures the attack, and shows filters against it.",
    }
}

cause! {
    /// It is misused to flood others.
    pub MISUSED "misused" {
        no: [NotAttacked],
        says: "it is misused to flood others: it answers {kinds} without a challenge, {rate} a second",
        details: "{packets} requests from {sources}",
        advice: "Let the server challenge its clients; `gamewire abuse` measures the attack, and shows filters against it.",
    }
}

cause! {
    /// It gets packets that crash servers.
    pub CRASH_ATTEMPT "crash_attempt" {
        no: [NotAttacked],
        says: "somebody tries to crash it",
        details: "{packets} packets from {sources}: {kinds}",
        advice: "Keep the server up to date; `gamewire abuse` names the senders.",
    }
}

cause! {
    /// It never answers one kind of request, and answers others.
    pub ONLY_SOME_KINDS "only_some_kinds_answered" {
        no: [Answered],
        unknown: [GetsAnswers],
        says: "it answers other requests, but never {kind}",
        details: "none of {asked} {kind} is answered; others are",
        advice: "Something drops these requests or their responses: check the server's settings and plugins, and \
                 firewalls that know only some kinds.",
        at_server: "These requests arrive, and nothing is sent: check the server's settings and plugins, and the firewall on \
                    its host.",
    }
}

cause! {
    /// It leaves a share of the requests unanswered.
    pub SOMETIMES_UNANSWERED "sometimes_unanswered" {
        no: [Answered],
        unknown: [Answered, GetsAnswers],
        says: "it answers only {answered} of {asked} requests",
        details: "{missing} requests stay unanswered{pattern}",
        advice: "Packets are lost on the way, or the server is too busy to answer: compare a capture at the server with one \
                 at a client.",
        lacks: "Record longer: these may be an accident.",
        at_server: "These requests arrive, and no answer is sent: the server is too busy, or a limit of it or of the \
                    firewall on its host drops them. Look at its processor load and its settings.",
    }
}

cause! {
    /// It answers nothing for a while.
    pub SILENT_PERIOD "silent_period" {
        no: [Answered],
        unknown: [GetsAnswers],
        says: "it answers nothing from {from} to {to}{again}",
        details: "{missing} requests stay unanswered from {from} to {to}{again}; at other times, it answers",
        advice: "The server did not run, changed its map, or was too busy in that time: look into its log.",
    }
}

cause! {
    /// It answers requests only if they come slowly.
    pub RATE_LIMITED "rate_limited" {
        no: [Answered],
        unknown: [GetsAnswers],
        says: "it does not answer requests {when}",
        details: "requests {when}: {missing} of {fast} unanswered; others: {slow_missing} of {slow}",
        advice: "A limit drops them, in the server or in front of it: ask less often, or raise the limit.",
        at_server: "A limit drops them, in the server or in the firewall on its host: raise it if these clients should get \
                    answers.",
    }
}

cause! {
    /// It never answers one client, and answers others.
    pub ONE_CLIENT_UNANSWERED "one_client_unanswered" {
        no: [Answered, GetsAnswers],
        says: "requests of {client} stay unanswered, those of other clients do not",
        details: "{answered} of {asked} requests of {client}{toward} answered; other clients get their responses",
        advice: "The server has banned this client, a firewall drops its packets, or the responses to it are lost. If ICMP \
                 errors are named, look at the firewall that sends them first.",
        at_server: "The server has banned this client, or the firewall on its host drops its packets.",
    }
}

cause! {
    /// ICMP errors say that its responses do not reach their clients.
    pub RESPONSES_REFUSED "responses_refused" {
        no: [Answered],
        unknown: [Verified, Answered, ReturnsChallenge, GetsAnswers],
        kind: Icmp,
        says: "responses are dropped on the way to the clients: {from} says: {meaning}",
        details: "{refused} of {responses} dropped on the way: {from} says: {meaning}",
        advice: "The server responds, and its clients get nothing: look at the routes and the rules for outgoing packets of \
                 the host that sends the errors.",
        lacks: "What sends the errors may be near the client or near the server: look there first, at its routes and rules.",
    }
}

cause! {
    /// It answers one request many times.
    pub ANSWERS_REPEATED "answers_repeated" {
        yes: [Answered],
        says: "it answers one request up to {most} times",
        details: "up to {most} responses to one request, {further} more than were asked for",
        advice: "Something sends the responses again: look for a loop between proxies, relays or filters in front of the \
                 server, and for other programs that answer in its place.",
    }
}

cause! {
    /// Two programs answer each request.
    pub ANSWERS_DIFFER "answers_differ" {
        unknown: [Believable],
        says: "two responses to one request say different things",
        details: "two responses to one request say different things, {times}: two programs answer",
        lacks: "Find the other program: a cache or a filter in front of the server, or a second server on its port.",
    }
}

cause! {
    /// It ignores requests with an appended challenge.
    pub APPENDED_CHALLENGE_IGNORED "appended_challenge_ignored" {
        no: [Answered],
        unknown: [GetsAnswers],
        says: "it does not answer requests with {appendix} appended, and answers plain ones",
        details: "requests with {appendix} appended: 0 of {asked} answered; plain ones: {answered} of {plain}",
        advice: "Ask without a challenge first: a filter in front may know only the plain request.",
    }
}

cause! {
    /// Challenges come to several clients, and none returns one.
    pub CHALLENGE_FILTERED "challenge_filtered" {
        no: [Verified],
        unknown: [ReturnsChallenge],
        says: "challenges reach {clients} clients, and none comes back",
        details: "{challenges} challenges to {clients} clients, none of which comes back",
        advice: "Something in front of the server drops the longer request that returns the challenge: let it in.",
    }
}

cause! {
    /// It answers with messages of another program.
    pub OTHER_PROTOCOL "other_protocol" {
        no: [Readable],
        unknown: [Readable],
        says: "it answers with something else: {text}",
        details: "{times} of {all} are of another program or protocol: {text}",
        advice: "Another program listens at this port, or answers in the server's place.",
        lacks: "Record longer: it may be an accident.",
    }
}

cause! {
    /// It refuses in words.
    pub REFUSED_IN_WORDS "refused_in_words" {
        no: [Readable, AcceptsClient],
        unknown: [Readable],
        says: "it refuses: {text}",
        details: "it says {text} ({times})",
        advice: "Ask whoever runs it why it refuses, and to lift that.",
        lacks: "Record longer: it may be an accident.",
    }
}

cause! {
    /// Its lists end too early.
    pub CUT_SHORT "cut_short" {
        no: [Readable],
        says: "its lists end before their last entry, at the size of a datagram",
        advice: "The server, or a program in front of it, cuts responses at a limit: let it split them, or show fewer entries.",
    }
}

cause! {
    /// Its responses never end.
    pub NOT_TERMINATED "not_terminated" {
        no: [Whole, Readable],
        says: "its responses never end",
        advice: "Programs wait for the end, and then drop the response: the server must close it, in the last part.",
    }
}

cause! {
    /// Its responses are filled with zeros.
    pub ZERO_FILLED "zero_filled" {
        no: [Readable],
        unknown: [Readable],
        says: "{times} of {all} {text}",
        details: "{times} of {all} {text}",
        advice: "The server, or a program that answers in its place, sends responses before they are filled in.",
        lacks: "Record longer: it may be an accident.",
    }
}

cause! {
    /// Its challenges are not numbers of four bytes.
    pub CHALLENGE_MISSING "challenge_missing" {
        no: [Readable],
        says: "its challenges are not numbers of four bytes",
        details: "{times} challenges are not numbers of four bytes",
        advice: "A program in front of the server answers in its place, and does it wrong: check caches and filters.",
    }
}

cause! {
    /// Its responses have different numbers of players.
    pub COUNTS_DISAGREE "counts_disagree" {
        unknown: [Believable],
        says: "it says two numbers of players: {numbers}",
        details: "{numbers}",
        lacks: "Bots, joining players and caches can cause that: compare with what the game shows.",
    }
}

cause! {
    /// Most players have no name.
    pub NAMES_MISSING "names_missing" {
        unknown: [Believable],
        says: "{unnamed} of {all} players in its list have no name",
        details: "{unnamed} of {all} players in its list have no name",
        lacks: "Players who are joining have none; those who stay so are sessions that the server never closed.",
    }
}

cause! {
    /// A key stands twice in its responses.
    pub KEY_REPEATED "key_repeated" {
        unknown: [Believable],
        says: "a key stands twice in its responses",
        lacks: "Some programs take the first value, others the last one: see what the server's settings or mods add.",
    }
}

cause! {
    /// A count of it does not fit into a byte.
    pub WRAPPED_COUNTS "wrapped_counts" {
        unknown: [Believable],
        says: "its description says {info} players of {most}: there are more than the field can hold",
        details: "{info} players of {most} in its description: there are more than the field can hold",
        lacks: "Keywords or rules of the server may have the true number.",
    }
}

cause! {
    /// Two hosts answer for it.
    pub TWO_HOSTS "answered_by_two_hosts" {
        unknown: [Believable],
        says: "{one} and {other} come from two hosts",
        details: "{one} have hop limit {first}, {other} {second}",
        lacks: "A cache may answer in the server's place: what it says may be old.",
    }
}

cause! {
    /// Its game port is closed.
    pub GAME_PORT_CLOSED "game_port_closed" {
        no: [PlayOpen],
        kind: Icmp,
        says: "nothing listens at its game port {port}",
        details: "an ICMP error comes back from port {port}, which its responses announce",
        advice: "The game does not listen at the port that its responses announce: check its settings, and what NAT forwards.",
    }
}

cause! {
    /// Nothing comes from its game port.
    pub GAME_PORT_SILENT "game_port_silent" {
        no: [PlayOpen],
        unknown: [PlayOpen],
        kind: Silence,
        says: "nothing comes back from its game port {port}",
        details: "{times} packets to port {port}, which its responses announce, and none from it",
        advice: "Open the game port in the firewall, and forward it: players need it beside the query port.",
        lacks: "Record longer, while somebody joins.",
    }
}

cause! {
    /// The client and the server are in one private network.
    pub NAT_LOOPBACK "nat_loopback" {
        unknown: [FromAsked],
        kind: Suspicion,
        says: "a client of its own network asks its public address, and gets the responses from {from}",
        details: "responses come from {from} ({times}): client and server are in one private network",
        lacks: "Players elsewhere are not concerned. Within the network, use the private address, or enable NAT loopback.",
    }
}

cause! {
    /// Clients ask it at its game port.
    pub ASKED_AT_GAME_PORT "asked_at_game_port" {
        unknown: [PlayPort],
        says: "clients ask it at its game port {port}",
        details: "{times} requests to port {port}, which port {own} announces as the game port",
        lacks: "Ask the other port.",
    }
}

cause! {
    /// Two programs challenge each client.
    pub TWO_CHALLENGES "two_challenges" {
        unknown: [Verified],
        says: "two different challenges answer one request",
        details: "two different challenges answer one request, {times} times: two programs answer",
        lacks: "Find the other program: a cache or a filter in front of the server, or a second server on its port.",
    }
}

cause! {
    /// It is asked at an address of a relay.
    pub FAKE_ADDRESS "fake_address" {
        unknown: [Answered],
        kind: Suspicion,
        says: "its address stands for a relay, which no query reaches",
        details: "an address of 169.254.0.0/16 stands for Steam's relays: no query over UDP reaches it",
        lacks: "Players join such servers through Steam: ask Steam for its description.",
    }
}

cause! {
    /// Another port of its host answers.
    pub OTHER_PORT_ANSWERS "other_port_answers" {
        unknown: [Answered],
        kind: Suspicion,
        says: "another port of its host answers",
        details: "none of its requests was answered; {other} answers",
        lacks: "Ask the port that answers: it is its query port, or that of another server of this host.",
    }
}
