//! Shapes of abuse, from operators' reports. No document states them.

use crate::kit::{Evidence, Mark, Sink, Span};
use crate::rule;

use crate::a2s::facts::{Answer, ChallengeStatus, Request};
use crate::a2s::pending::PendingRequest;

rule! {
    /// Engines reassemble split packets before they know who sent them; crafted headers have crashed servers.
    pub SEC001 "split-toward-server" { severity: Warning, who: Client, needs: Message,
        asks: "no split header (FE FF FF FF) travels toward a server: a known crash attack",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FEFFFFFF 01000000 02 00 E004 FFFFFFFF 55 FFFFFFFF" }
}
rule! {
    /// Such packets ask for nothing; they are sent to trip parsers that read before they measure.
    pub SEC002 "runt-query" { severity: Warning, who: Client, needs: Message,
        asks: "no connectionless packet toward a server is shorter than its own header demands",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF" }
}

/// A whole request travels toward a server.
pub(super) fn toward_server<S: Sink>(at: Span, sink: &mut S) {
    sink.judged(&SEC001, true, at, String::new);
    sink.judged(&SEC002, true, at, String::new);
}

pub(in crate::a2s) fn split_toward_server<S: Sink>(at: Span, sink: &mut S) {
    sink.judged(&SEC001, false, at, split_seen);
}

/// Split packets travelled toward a server, of which this was the first.
pub(in crate::a2s) fn was_toward_server<S: Sink>(evidence: Evidence, mark: &Mark, sink: &mut S) {
    sink.recalled(&SEC001, false, evidence, mark, split_seen);
}

fn split_seen() -> String {
    "a split packet travels toward a server".to_owned()
}

pub(in crate::a2s) fn runt_query<S: Sink>(length: usize, at: Span, sink: &mut S) {
    sink.judged(&SEC002, false, at, || match length {
        0 => "an empty packet travels toward a server, after others without a message".to_owned(),
        4 => "a header without a message travels toward a server".to_owned(),
        _ => format!("{length} of a header's 4 bytes travel toward a server, and no more"),
    });
}

rule! {
    /// A forged sender's address draws an answer of many times the request's size to its owner.
    pub SEC003 "unchallenged-info" { severity: Note, who: Server, needs: Message,
        asks: "an info answer is given to a challenged request: without, the server can be used as a reflector",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 54 'Source Engine Query' 00
0.02 s > c  FFFFFFFF 41 4BA1D522
0.03 c > s  FFFFFFFF 54 'Source Engine Query' 00 4BA1D522
0.05 s > c  FFFFFFFF 49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00",
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00") }
}

pub(super) fn info_challenged<S: Sink>(
    asked: &PendingRequest,
    answer: Answer,
    at: Span,
    sink: &mut S,
) {
    if asked.request != Request::Info || answer == Answer::Challenge {
        return;
    }
    let challenged = match asked.standing {
        ChallengeStatus::Issued => true,
        ChallengeStatus::Absent | ChallengeStatus::Asking | ChallengeStatus::Zero => false,
        ChallengeStatus::NeverIssued | ChallengeStatus::Unknown => return,
    };
    sink.judged(&SEC003, challenged, at, || "info is given without a challenge".to_owned());
}

rule! {
    /// A challenge proves that its user can receive at an address; accepted from others it proves nothing.
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

/// A challenge is accepted from the address that it was given to.
pub(in crate::a2s) fn own_challenge<S: Sink>(at: Span, sink: &mut S) {
    sink.judged(&SEC004, true, at, String::new);
}

/// The same unasked answer, over and over.
macro_rules! reflected {
    ($($time:literal)+) => {
        concat!($($time, " s > c  FFFFFFFF 49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00\n"),+)
    };
}

/// Requests for info, over and over, that are answered by challenges.
macro_rules! challenged {
    ($($time:literal)+) => {
        concat!($($time, "0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n", $time, "1 s > c  FFFFFFFF 41 4BA1D522\n"),+)
    };
}

rule! {
    /// Servers answer whoever is in the packet as sender: an attacker lets them flood a third.
    ///
    /// It takes more than one pair of hosts to see: the ledger judges it, once for each server that is
    /// asked 20 times, and for each address that gets 20 answers without asking.
    pub SEC005 "reflection" { severity: Warning, who: Any, needs: Message,
        asks: "answers do not go in numbers to an address that never asked (the victim's seat); a server does not answer, without a challenge, one source that repeats a query faster than clients do, nor very many sources with one or two packets each that never go on (the reflector's seat)",
        cite: [],
        right: challenged!("0.0" "0.7" "1.4" "2.1" "2.8" "3.5" "4.2" "4.9" "5.6" "6.3" "7.0" "7.7" "8.4" "9.1" "9.8" "10.5" "11.2" "11.9" "12.6" "13.3" "14.0"),
        wrong: reflected!("0.00" "0.01" "0.02" "0.03" "0.04" "0.05" "0.06" "0.07" "0.08" "0.09" "0.10" "0.11" "0.12" "0.13" "0.14" "0.15" "0.16" "0.17" "0.18" "0.19" "0.20" "0.21" "0.22" "0.23" "0.24" "0.25" "0.26" "0.27" "0.28" "0.29" "0.30" "0.31") }
}
rule! {
    /// A server under such a flood answers nobody, and its host's uplink is full of its answers.
    ///
    /// It takes more than one pair of hosts to see: the ledger judges it, once for each server that is
    /// asked 20 times.
    pub SEC006 "query-flood" { severity: Warning, who: Client, needs: Message,
        asks: "requests to one server stay below a rate (1,000 a second over 5 s, settable), whatever the number of sources",
        cite: [],
        right: challenged!("0.0" "0.7" "1.4" "2.1" "2.8" "3.5" "4.2" "4.9" "5.6" "6.3" "7.0" "7.7" "8.4" "9.1" "9.8" "10.5" "11.2" "11.9" "12.6" "13.3" "14.0"),
        wrong: "" }
}
