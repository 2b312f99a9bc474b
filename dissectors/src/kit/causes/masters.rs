//! The causes that a master's messages to clients show.

use crate::cause;

cause! {
    /// No packet of a master is in the capture.
    pub MASTER_SILENT "master_silent" {
        no: [Reached],
        unknown: [Reached, Challenged, Accepted],
        kind: Silence,
        says: "nothing comes from the master",
        details: "{times} requests, and no packet of it",
        advice: "The master is down, its address has changed, or a firewall drops its packets: try another one.",
        lacks: "Record longer, and more of its clients or servers; if the capture is complete, --complete makes silence a fault.",
    }
}

cause! {
    /// The challenges for a server's joins come from another address than it asks.
    pub CHALLENGED_ELSEWHERE "challenged_from_other_address" {
        unknown: [Challenged],
        says: "the master's challenges come from another address: {from}",
        details: "its joins go to {asked}, and {from} sends the challenges",
        lacks: "The master has several addresses: whether it knows the server, its lists show. Where a firewall lets in only \
                answers from the addresses that were asked, let in this one, too.",
    }
}

cause! {
    /// No packet answers connections to a master that is heard otherwise.
    pub TCP_UNANSWERED "tcp_unanswered" {
        no: [Reached],
        unknown: [Reached],
        kind: Silence,
        says: "nothing answers connections to the master's port {port}",
        details: "{connections} to port {port}, and no packet answers",
        advice: "A firewall drops packets to this port, at the master or on the way: ask from another host, and on the \
                 master's other ports.",
        lacks: "Record longer, and more of its clients.",
    }
}

cause! {
    /// The server registers through Steam.
    pub REGISTERS_THROUGH_STEAM "registers_through_steam" {
        unknown: [Elsewhere],
        says: "it registers through Steam, which cannot be read here",
        details: "it exchanges packets with {address}, a server of Steam's network",
        lacks: "Current games register through Steam's own protocol: whether Steam lists it, only Steam shows.",
    }
}

cause! {
    /// A master does not answer requests for its list.
    pub LIST_UNANSWERED "list_unanswered" {
        no: [GivesList],
        kind: Silence,
        says: "the master does not answer {which} for its list",
        details: "{times} of {asked} requests for its list stay unanswered{pattern}",
        advice: "It is heard otherwise. Change what the unanswered requests have in common, if that is named; else ask from \
                 another host, and without a filter if the request has one.",
    }
}

cause! {
    /// A master sends its list in a form that the client did not ask for.
    pub LIST_UNREADABLE "list_unreadable" {
        no: [GivesList],
        says: "clients cannot read the master's list",
        advice: "Turn off compression at the master, or at the proxy before it: its clients read plain text.",
    }
}

cause! {
    /// A master accepts connections, and says nothing.
    pub NEVER_SPEAKS "never_speaks" {
        no: [Greets],
        says: "the master accepts connections, and says nothing",
        details: "it says nothing in {connections}",
        advice: "It should challenge clients at once: it hangs, or another program listens at its port.",
    }
}

cause! {
    /// A master refuses a client's answer to its challenge.
    pub VALIDATE_REFUSED "validate_refused" {
        no: [AcceptsClient],
        says: "the master refuses the client's answer to its challenge: it {text}",
        details: "after validate, it {text}",
        advice: "The key of the game, or the algorithm, is wrong: `gamewire check` shows both answers.",
    }
}

cause! {
    /// A master has banned the client.
    pub BANNED "banned" {
        no: [AcceptsClient],
        says: "the master has banned {clients}",
        details: "the master says that it has banned {clients}",
        advice: "Ask whoever runs the master.",
    }
}

cause! {
    /// The program at a master's address fails.
    pub SERVER_ERROR "server_error" {
        no: [AcceptsClient],
        says: "the master fails: status {status}",
        details: "it answers with status {status} ({times}), an error of its own",
        advice: "The program that keeps the list is down or overloaded, or a proxy in front of it cannot reach it: try later, \
                 or tell whoever runs it.",
    }
}

cause! {
    /// A master points to another address.
    pub REDIRECTED "redirected" {
        no: [AcceptsClient],
        says: "the master points to another address: {address}",
        details: "status {status}, to {address}",
        advice: "The program that asks must follow redirections, or use that address.",
    }
}

cause! {
    /// A master stops answering in the middle of its list.
    pub LIST_THROTTLED "list_throttled" {
        no: [GivesWholeList],
        says: "the master stops answering after {servers} servers of its list",
        details: "{servers} servers in {pages}; then {times} for the next ones unanswered",
        advice: "It limits how many packets a client gets: wait between requests.",
    }
}

cause! {
    /// A master takes long for its list.
    pub LIST_SLOW "list_slow" {
        no: [GivesListInTime],
        says: "the master takes {seconds} s for its list",
        details: "{seconds} s from the request to the end of the list",
        advice: "Programs give up earlier: the master is too busy, or waits between small packets.",
    }
}

cause! {
    /// A server registers from a private address, and nobody asks it.
    pub PRIVATE_ADDRESS "private_address" {
        unknown: [Address],
        says: "it registers from a private address, and no query comes",
        details: "no query comes to its private address in {time}",
        lacks: "Its router must pass the query port on to it: record there whether queries come, and ask the public address \
                from outside.",
    }
}
