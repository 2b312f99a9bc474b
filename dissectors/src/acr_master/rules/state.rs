//! Rules that span the connections between a server and a master.

use crate::acr_master::params::ApiPath;
use crate::kit::{Evidence, Mark, Sink, Span};
use crate::rule;

rule! {
    /// An unregistered host that gets challenges can impersonate the master to its players.
    pub ACR030 "register-first" { severity: Warning, who: Master, needs: Beginning,
        asks: "an auth check from an unregistered server is answered *f; a server is identified by its source address and p; without --complete inconclusive if the capture has no /r from it",
        cite: [("Specification", "unregistered server")],
        right: asked!("0", "s:40001" "/a?p=28770&a=::ffff:192.0.2.127&i=7&u=42" => r"'*f\n*a\n'"),
        wrong: asked!("0", "s:40001" "/a?p=28770&a=::ffff:192.0.2.127&i=7&u=42" => "'*c' 'ab'*128" r"'\n*a\n'") }
}

/// A challenge was refused, or requested by a registered server.
pub(in crate::acr_master) fn register_first<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&ACR030, true, at, String::new);
}

/// A challenge for a server whose registration is not in the capture. It may have come before,
/// unless the user states that the capture is complete.
pub(in crate::acr_master) fn register_missing<S: Sink>(port: u64, mark: &Mark, sink: &mut S) {
    sink.recalled(&ACR030, false, Evidence::default(), mark, || {
        format!("a challenge for port {port}, which was not registered")
    });
}

/// A challenge for a server whose registration was refused.
pub(in crate::acr_master) fn register_refused<S: Sink>(port: u64, at: Span, sink: &mut S) {
    sink.checked(&ACR030, false, at, || {
        format!("a challenge for port {port}, whose registration was refused")
    });
}

rule! {
    /// A repeated challenge allows replaying an old response. The ledger checks this, over all
    /// servers of a master.
    pub ACR031 "challenge-fresh" { severity: Error, who: Master, needs: Interval,
        asks: "no 1024-bit challenge is given twice",
        cite: [("Specification", "cryptography-grade 1024-bit random challenge")],
        right: challenged!(
            asked!("2", "s:40002" "/a?p=28770&a=::ffff:192.0.2.128&i=8&u=43" => "'*c' 'cd'*128" r"'\n*a\n'")),
        wrong: challenged!(
            asked!("2", "s:40002" "/a?p=28770&a=::ffff:192.0.2.128&i=8&u=43" => "'*c' 'ab'*128" r"'\n*a\n'")) }
}

rule! {
    /// With an id that can be used again, an attacker can try digests one after the other.
    pub ACR032 "verify-known-id" { severity: Error, who: Master, needs: Beginning,
        asks: "/v for an id that was not challenged, or was verified before, is answered *f; without --complete inconclusive if the capture has no /a with that id",
        cite: [("Specification", "invalid request ID")],
        right: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=8&c=' '5f'*48 '&a=' '0a'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\n*f\n' fin")),
        wrong: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=7&c=' '5f'*48 '&a=' '0a'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\n*d\n' fin", "\n",
            "3.00 s:40003 > m  tcp 'GET /v?p=28770&i=7&c=' '5f'*48 '&a=' '0b'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"3.02 m > s:40003  tcp 'HTTP/1.0 200 OK\r\n\r\n*d\n' fin")) }
}

pub(in crate::acr_master) fn id_known<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&ACR032, true, at, String::new);
}

/// An id that was verified before gets another response than `*f`.
pub(in crate::acr_master) fn id_used<S: Sink>(id: u64, at: Span, sink: &mut S) {
    sink.checked(&ACR032, false, at, || format!("id {id} was verified before"));
}

/// An id without a challenge gets another response than `*f`.
pub(in crate::acr_master) fn id_refused<S: Sink>(id: u64, at: Span, sink: &mut S) {
    sink.checked(&ACR032, false, at, || format!("the challenge for id {id} was refused"));
}

/// An id whose challenge is not in the capture gets another response than `*f`.
pub(in crate::acr_master) fn id_unknown<S: Sink>(id: u64, mark: &Mark, sink: &mut S) {
    sink.recalled(&ACR032, false, Evidence::default(), mark, || {
        format!("no challenge was given for id {id}")
    });
}

rule! {
    /// This is the purpose of the protocol: only users with the key are admitted.
    pub ACR033 "digest" { severity: Error, who: Master, needs: Message,
        asks: "if the user's key is given: the response is *s exactly if a is HMAC-SHA256 with that key over client nonce and master challenge, else *d",
        cite: [("Specification", "expected response: HMAC (RFC 2104) result with"),
               ("Specification", "key: pre-shared key between the client and master-server")],
        right: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=7&c=' '0'*96 '&a=229c3b4f83318cd133e2e9ad6476ac6f7ae27634f55e309e7578458a69672b86", r" HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\n*sxPlayer\n' fin")),
        wrong: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=7&c=' '0'*96 '&a=' '0a'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\n*sxPlayer\n' fin")) }
}

/// `right`: whether the digest is correct; `result`: the master's response.
pub(in crate::acr_master) fn digest<S: Sink>(right: bool, result: u8, at: Span, sink: &mut S) {
    sink.checked(&ACR033, right == (result == b's'), at, || {
        if right {
            "the digest is right, and is answered *d".into()
        } else {
            "the digest is wrong, and is answered *s".into()
        }
    });
}

rule! {
    /// Clients cannot play on a server that cannot be reached over UDP.
    pub ACR034 "socket-check" { severity: Note, who: Master, needs: Response,
        asks: "after /r a probe of one byte that is not zero goes to UDP port p+1, and at least one byte comes back",
        cite: [("Specification", "a socket check should be performed (but is not required):")],
        right: registered!("end 9"),
        wrong: concat!(
            asked!("0", "s:40000" "/r?v=140&g=180300&p=28770" => "'server registered'"), "end 9") }
}

/// The result of a socket check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::acr_master) enum SocketCheckResult {
    Answered,
    Unanswered,
    /// It came from this port, which was not probed.
    Elsewhere(u16),
    WithZero,
    NotAtAll,
}

/// The part of a finding about an unanswered probe.
pub(in crate::acr_master) const PROBE_UNANSWERED: &str = "was not answered";

/// The part of a finding about a response from another port.
pub(in crate::acr_master) const PROBE_ELSEWHERE: &str = "was answered from UDP port";

pub(in crate::acr_master) fn socket_check<S: Sink>(
    checked: SocketCheckResult,
    port: u16,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(
        &ACR034,
        checked == SocketCheckResult::Answered,
        evidence,
        mark,
        || match checked {
            SocketCheckResult::Answered => String::new(),
            SocketCheckResult::Unanswered => {
                format!("the probe to UDP port {port} {PROBE_UNANSWERED}")
            }
            SocketCheckResult::Elsewhere(from) => {
                format!("the probe to UDP port {port} {PROBE_ELSEWHERE} {from}")
            }
            SocketCheckResult::WithZero => format!("the probe to UDP port {port} is a zero byte"),
            SocketCheckResult::NotAtAll => {
                format!("no probe of the master to UDP port {port} is in the capture")
            }
        },
    );
}

rule! {
    /// A server without a response appears to be listed but is not.
    pub ACR035 "request-answered" { severity: Warning, who: Master, needs: Response, checks: requests,
        asks: "every request gets a response",
        cite: [("Specification", "The master-server provides a HTTP API for clients and servers.")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\n'"),
        wrong: concat!(r"0.00 c > m  tcp 'GET /c?build_defs=4 HTTP/1.0\r\n\r\n'", "\n", "0.02 m > c  tcp fin") }
}

pub(in crate::acr_master) fn request_answered<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&ACR035, true, at, String::new);
}

/// The master has closed the connection: no response will come.
pub(in crate::acr_master) fn after_close() -> Evidence {
    Evidence { waited: true, asked_party_seen: true, ..Evidence::default() }
}

/// What came is no response: it ends within its headers.
pub(in crate::acr_master) fn response_cut<S: Sink>(endpoint: &str, mark: &Mark, sink: &mut S) {
    sink.recalled(&ACR035, false, after_close(), mark, || {
        format!("the response to {endpoint} ends within its headers")
    });
}

pub(in crate::acr_master) fn request_ignored<S: Sink>(
    endpoint: ApiPath,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(&ACR035, false, evidence, mark, || {
        let what = match endpoint {
            ApiPath::Client => "the request for the list",
            ApiPath::Register => "the registration",
            ApiPath::Auth => "the check of a player",
            ApiPath::Verify => "the verification of a player",
        };
        format!("{what} ({}) was not answered", endpoint.name())
    });
}
