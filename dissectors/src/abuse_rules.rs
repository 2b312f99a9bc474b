//! Patterns of abuse that only several flows show, from operators' reports. They are not in a
//! specification; the [ledger](crate::ledger) checks them.

use crate::kit::{Group, Rule};
use crate::rule;

/// The group, which also has rules that one conversation can break.
pub const GROUP: Group = Group { prefix: "SEC", about: "shapes of abuse", document: None };

/// A player request with a challenge that is answered, and what follows.
macro_rules! players_answered {
    ($after:literal) => {
        concat!(
            "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n",
            "0.02 s > c  FFFFFFFF 41 4BA1D522\n",
            "0.03 c > s  FFFFFFFF 55 4BA1D522\n",
            "0.05 s > c  ",
            $after
        )
    };
}

rule! {
    /// A challenge proves that a client receives packets at an address; if the server accepts it
    /// from other addresses, it proves nothing.
    pub SEC004 "challenge-shared" { severity: Warning, who: Server, needs: Beginning,
        asks: "a challenge issued to one address is not accepted from another",
        cite: [],
        right: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5
0.10 d > s  FFFFFFFF 55 4BA1D522
0.12 s > d  FFFFFFFF 41 1C3F9A70"),
        wrong: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5
0.10 d > s  FFFFFFFF 55 4BA1D522
0.12 s > d  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5") }
}

/// The same response without a request, many times, at a port that asks for nothing.
macro_rules! reflected {
    ($($time:literal)+) => {
        concat!($($time, " s > c:53  FFFFFFFF 49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00\n"),+)
    };
}

/// Many info requests that are answered with challenges.
macro_rules! challenged {
    ($($time:literal)+) => {
        concat!($($time, "0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n", $time, "1 s > c  FFFFFFFF 41 4BA1D522\n"),+)
    };
}

/// Requests as frequent as a client's, so many that the load on the server is checked.
macro_rules! polled {
    () => {
        challenged!("0.0" "0.7" "1.4" "2.1" "2.8" "3.5" "4.2" "4.9" "5.6" "6.3" "7.0" "7.7" "8.4" "9.1" "9.8" "10.5" "11.2" "11.9" "12.6" "13.3" "14.0")
    };
}

rule! {
    /// Servers send responses to the source address of a request: by forging it, an attacker makes
    /// them flood a third party.
    ///
    /// The ledger checks this rule, because it needs the traffic of several pairs of hosts: once
    /// for each server that is asked 20 times, and for each address that gets 20 responses without
    /// a request.
    pub SEC005 "reflection" { severity: Warning, who: Any, needs: Message,
        asks: "an address that sent no request does not receive many responses (seat: victim); a server does not respond without a challenge to one source that repeats a query faster than clients do, nor to very many sources that send one or two packets each (seat: reflector)",
        cite: [],
        right: polled!(),
        wrong: reflected!("0.00" "0.01" "0.02" "0.03" "0.04" "0.05" "0.06" "0.07" "0.08" "0.09" "0.10" "0.11" "0.12" "0.13" "0.14" "0.15" "0.16" "0.17" "0.18" "0.19" "0.20" "0.21" "0.22" "0.23" "0.24" "0.25" "0.26" "0.27" "0.28" "0.29" "0.30" "0.31") }
}
rule! {
    /// A server under such a flood cannot answer its players, and its responses may fill its host's
    /// uplink.
    ///
    /// The ledger checks this rule, because it needs the traffic of several pairs of hosts: once
    /// for each server that is asked 20 times.
    pub SEC006 "query-flood" { severity: Warning, who: Client, needs: Message,
        asks: "requests to one server stay below a rate (1,000 a second over 5 s, configurable), regardless of the number of sources",
        cite: [],
        right: polled!(),
        wrong: "",
        unshown: "it takes 5,000 requests" }
}

rule! {
    /// A server's host reads all packets to its port, whether or not they mean anything: connection
    /// requests and junk are as expensive as queries.
    ///
    /// The ledger checks this rule, because it needs the traffic of several pairs of hosts: once
    /// for each server that is asked 20 times, and for each flooded server that is asked, joins a
    /// master or is listed.
    pub SEC007 "packet-flood" { severity: Warning, who: Any, needs: Message,
        asks: "packets of any content toward the port of a game server stay below a rate (1,000 a second over 5 s, configurable) and below three times what it sends; game traffic, which goes both ways, does not count",
        cite: [],
        right: polled!(),
        wrong: "",
        unshown: "it takes 5,000 packets" }
}

/// All of them, by code.
pub static ALL: &[&Rule] = &[&SEC004, &SEC005, &SEC006, &SEC007];
