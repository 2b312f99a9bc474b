//! Patterns of abuse within one conversation, from operators' reports. They are not in a
//! specification.

use crate::abuse_rules::SEC004;
use crate::kit::{Evidence, Mark, Request, Sink, Span};
use crate::rule;

use crate::a2s::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use crate::a2s::pending::Asked;

rule! {
    /// Engines reassemble split packets before they verify the sender; crafted headers have crashed
    /// servers.
    pub SEC001 "split-toward-server" { severity: Warning, who: Client, needs: Message,
        asks: "no split header (FE FF FF FF) travels toward a server: a known crash attack",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FEFFFFFF 01000000 02 00 E004 FFFFFFFF 55 FFFFFFFF" }
}
rule! {
    /// Such packets request nothing; they are sent to crash parsers that read before checking the
    /// length.
    pub SEC002 "runt-query" { severity: Warning, who: Client, needs: Message,
        asks: "no connectionless packet toward a server is shorter than its header",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF" }
}

/// A complete request travels toward a server.
pub(super) fn toward_server<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&SEC001, true, at, String::new);
    sink.checked(&SEC002, true, at, String::new);
}

pub(in crate::a2s) fn split_toward_server<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&SEC001, false, at, split_seen);
}

/// Split packets travelled toward a server; this was the first one.
pub(in crate::a2s) fn was_toward_server<S: Sink>(evidence: Evidence, mark: &Mark, sink: &mut S) {
    sink.recalled(&SEC001, false, evidence, mark, split_seen);
}

fn split_seen() -> String {
    "a split packet travels toward a server".to_owned()
}

pub(in crate::a2s) fn runt_query<S: Sink>(length: usize, at: Span, sink: &mut S) {
    sink.checked(&SEC002, false, at, || match length {
        0 => "an empty packet travels toward a server, after others without a message".to_owned(),
        4 => "a header without a message travels toward a server".to_owned(),
        _ => format!("{length} of a header's 4 bytes travel toward a server, and no more"),
    });
}

rule! {
    /// An attacker can forge the source address: the response, many times larger than the request,
    /// goes to the victim.
    pub SEC003 "unchallenged-info" { severity: Note, who: Server, needs: Message,
        asks: "info is sent only in response to a request with a challenge: otherwise the server can be misused as a reflector",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 54 'Source Engine Query' 00
0.02 s > c  FFFFFFFF 41 4BA1D522
0.03 c > s  FFFFFFFF 54 'Source Engine Query' 00 4BA1D522
0.05 s > c  FFFFFFFF 49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00",
        wrong: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00") }
}

pub(super) fn info_challenged<S: Sink>(
    asked: &Request<Asked>,
    response: ResponseKind,
    at: Span,
    sink: &mut S,
) {
    if asked.what.kind != RequestKind::Info || response == ResponseKind::Challenge {
        return;
    }
    let challenged = match asked.what.status {
        ChallengeStatus::Issued => true,
        ChallengeStatus::Absent | ChallengeStatus::Asking | ChallengeStatus::Zero => false,
        ChallengeStatus::NeverIssued | ChallengeStatus::Unknown => return,
    };
    sink.checked(&SEC003, challenged, at, || "info is given without a challenge".to_owned());
}

/// A challenge is accepted from the address that received it.
pub(in crate::a2s) fn own_challenge<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&SEC004, true, at, String::new);
}
