//! The order of messages: which request a response answers, and the use of challenges.

use crate::gamespy4::pending::Asked;
use crate::kit::{
    CrossFlowEvent, Evidence, FlowFacts, Mark, Read, Request, ResponseRules, Rule, SeenMessage,
    Sink, Span, Unmatched,
};
use crate::rule;

rule! {
    /// Only the timestamp shows a client which of its requests is answered.
    pub GS4004 "timestamp-echo" { severity: Error, who: Server, needs: Interval,
        asks: "every packet of a response repeats the request's 4 timestamp bytes",
        cite: [("Packet 2: First response", "(XX XX XX XX) are the sequence number that was in the initial request."),
               ("Packet 4: Server information response", "are the new timestamp, sent in Packet 3.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203041 '7\\0'" }
}
rule! {
    /// The number proves that the client receives packets at its address; with another number the
    /// server does not respond.
    pub GS4007 "challenge-echo" { severity: Error, who: Client, needs: Beginning,
        asks: "the info request carries the number that was given, as a big-endian signed 32-bit integer",
        cite: [("Packet 3: Second request", "Bytes 8 to 11 (ZZ ZZ ZZ ZZ) is binary packed number received from Packet 2 (signed 4-byte big-endian integer).")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '-2'  00\n0.03 c > s  FEFD00 10203041 FFFFFFFE FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 07000000 FFFFFF01" }
}
rule! {
    /// Without the challenge an attacker could direct a server's long responses to a victim's
    /// address.
    pub GS4008 "challenge-first" { severity: Error, who: Client, needs: Beginning,
        asks: "no info request without a challenge given to that client's address and port before",
        cite: [("UT3 query protocol", "Client sends new request to Server, including said number")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.03 s > c  09 10203040 '7\\0'" }
}
rule! {
    /// A server that responds to any challenge amplifies forged requests.
    pub GS4010 "challenge-verified" { severity: Error, who: Server, needs: Beginning,
        asks: "an info request with a wrong challenge is not answered (one that was given to another client, or never given, is wrong)",
        cite: [("UT3 query protocol", "Server replies with a unique number")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000008 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'" }
}
rule! {
    /// An unsolicited response is a stray packet, a reflection, or noise.
    pub GS4030 "answer-asked-for" { severity: Warning, who: Server, needs: Beginning,
        asks: "no response without a request",
        cite: [("UT3 query protocol", "Client sends request to Server")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 s > c  09 10203040 '8\\0'" }
}
rule! {
    /// Clients do not list a server that does not respond.
    pub GS4031 "request-answered" { severity: Warning, who: Server, needs: Response, checks: requests,
        asks: "a request is answered",
        cite: [("UT3 query protocol", "Server replies with query information")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\nend 10" }
}

rule! {
    /// Most clients, and firewalls, drop responses from an address that was not asked.
    ///
    /// The ledger checks this rule, because it needs several flows.
    pub GS4033 "answer-from-asked" { severity: Warning, who: Server, needs: Interval,
        asks: "the response comes from the address and port that the request was sent to (matched by timestamp, client endpoint and time)",
        cite: [("UT3 query protocol", "Server replies with query information")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 t > c  09 10203040 '1234567\\0'" }
}

/// The rules about which endpoint responds.
static ELSEWHERE: ResponseRules =
    ResponseRules { from_asked: &GS4033, asked_for: Some(&GS4030), answered: &GS4031 };

/// The bit of a kind of request.
const fn bit(kind: u8) -> u8 {
    1 << (kind % 8)
}

/// What a request and a response to it have in common: Minecraft masks the timestamp.
pub(in crate::gamespy4) const fn masked(timestamp: u32) -> u32 {
    timestamp & 0x0F0F_0F0F
}

/// A response that no request of its flow waits for.
pub(in crate::gamespy4) struct UnaskedResponse {
    /// What a request for it is called.
    pub(in crate::gamespy4) name: &'static str,
    pub(in crate::gamespy4) kind: u8,
    pub(in crate::gamespy4) timestamp: u32,
    /// The challenge that it gives, if it is one.
    pub(in crate::gamespy4) challenge: Option<i32>,
}

/// A response from a server that was never asked; another one may have been.
pub(in crate::gamespy4) fn asked_of_another<S: Sink>(
    response: UnaskedResponse,
    evidence: Evidence,
    seen: SeenMessage,
    sink: &mut S,
) {
    let UnaskedResponse { name, kind, timestamp, challenge } = response;
    let unmatched = Unmatched::new(&ELSEWHERE, name, bit(kind), seen.mark.time, evidence);
    let (id, challenge) = (Some(masked(timestamp)), challenge.map(i32::cast_unsigned));
    let event = CrossFlowEvent::Unasked(Unmatched { id, challenge, ..unmatched });
    sink.unless_explained(&GS4030, Some(Span::default()), event, seen, || {
        format!("no {name} request of this client waits for an answer")
    });
}

/// A request that is no longer pending, unless another endpoint has answered it.
pub(in crate::gamespy4) fn answered_by_another<S: Sink>(
    name: &'static str,
    asked: &Request<Asked>,
    evidence: Evidence,
    flow: &FlowFacts,
    sink: &mut S,
) {
    let (what, seen) = (asked.what, flow.seen_in(asked.mark));
    let unmatched = Unmatched::in_vain(&ELSEWHERE, name, bit(what.kind as u8), asked, evidence);
    Unmatched { id: Some(masked(what.timestamp())), ..unmatched }.ends_unanswered(
        seen,
        sink,
        || "no answer came".to_owned(),
    );
}

/// Checks whether a response repeats the request's timestamp.
pub(in crate::gamespy4) fn timestamp_echo<S: Sink>(asked: u32, got: Read<u32>, sink: &mut S) {
    let masked = masked(asked);
    if got.value != asked && got.value == masked {
        sink.noted(&GS4004, got.at, || {
            format!(
                "the answer repeats {asked:08X} as {masked:08X}: Minecraft masks it with 0F0F0F0F"
            )
        });
        return;
    }
    sink.checked(&GS4004, got.value == asked, got.at, || {
        format!("the response says {:08X}, the request {asked:08X}", got.value)
    });
}

/// A packet of a response repeats another timestamp than that of its request.
pub(in crate::gamespy4) fn packet_timestamp<S: Sink>(
    asked: u32,
    got: u32,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(&GS4004, false, evidence, mark, || {
        format!("a packet of the response says {got:08X}, the request {asked:08X}")
    });
}

pub(in crate::gamespy4) const NONE_GIVEN: &str =
    "the server has given no challenge to this client yet";

/// The position of a request's challenge.
fn challenge_at(challenge: Option<Read<i32>>) -> Span {
    challenge.map_or(Span::new(7, 7), |challenge| challenge.at)
}

/// The challenge of a request has been given before, if it is right.
fn claims<S: Sink>(challenge: Option<Read<i32>>, sink: &mut S) {
    if let Some(challenge) = challenge {
        sink.claims_number(challenge.value.cast_unsigned());
    }
}

/// Checks whether the client of an info request was given a challenge before.
pub(in crate::gamespy4) fn challenge_first<S: Sink>(
    given: bool,
    challenge: Option<Read<i32>>,
    sink: &mut S,
) {
    claims(challenge, sink);
    sink.checked(&GS4008, given, challenge_at(challenge), || NONE_GIVEN.to_owned());
}

/// Checks an info request before any packet from the server: whether the client was given a
/// challenge nevertheless.
pub(in crate::gamespy4) fn challenge_came_later<S: Sink>(
    given: bool,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(&GS4008, given, evidence, mark, || NONE_GIVEN.to_owned());
}

/// An info request without a challenge, on a flow where the server has sent nothing. One challenge may be missing from the
/// capture; if the client sends several and the server's host is heard elsewhere, there was none.
pub(in crate::gamespy4) fn never_challenged<S: Sink>(
    evidence: Evidence,
    seen: SeenMessage,
    sink: &mut S,
) {
    sink.unless_unheard(&GS4008, NONE_GIVEN, evidence, seen);
}

/// An info request before any challenge from its server: another one may have given it, because the client has asked
/// for one, and none came on this flow. `read`: the challenge in the current message, if the request is that.
pub(in crate::gamespy4) fn challenge_of_another<S: Sink>(
    read: Option<Read<i32>>,
    challenge: i32,
    evidence: Evidence,
    seen: SeenMessage,
    sink: &mut S,
) {
    let challenge = challenge.cast_unsigned();
    let event = CrossFlowEvent::NotGiven { challenge, evidence, rule: &GS4008 };
    let at = read.map(|read| read.at);
    sink.unless_explained(&GS4008, at, event, seen, || NONE_GIVEN.to_owned());
}

/// What GS4007 says of a request without a challenge.
pub(in crate::gamespy4) const HAS_NONE: &str = "the request has none";

/// Checks the challenge of an info request against those that its client was given on this flow,
/// the latest first; if the flow began before the capture, there may be more. Returns whether the
/// challenge is correct.
pub(in crate::gamespy4) fn challenge<S: Sink>(
    given: &[i32],
    challenge: Option<Read<i32>>,
    began: bool,
    sink: &mut S,
) -> Option<bool> {
    let at = challenge_at(challenge);
    claims(challenge, sink);
    let Some(&latest) = given.first() else {
        if challenge.is_some() && !began {
            sink.checked(&GS4007, false, at, || NONE_GIVEN.to_owned());
        }
        return None;
    };
    let Some(challenge) = challenge else {
        if latest == 0 {
            sink.noted(&GS4007, at, || {
                "the challenge is 0 and left out, as the GameSpy SDK's clients do".to_owned()
            });
            return Some(true);
        }
        sink.checked(&GS4007, false, at, || {
            format!("the server gave the challenge {latest}, {HAS_NONE}")
        });
        return Some(false);
    };
    let ok = given.contains(&challenge.value);
    sink.checked(&GS4007, ok, at, || {
        let swapped =
            if challenge.value.swap_bytes() == latest { ": its bytes are swapped" } else { "" };
        format!(
            "the server gave the challenge {latest}, the request has {}{swapped}",
            challenge.value
        )
    });
    Some(ok)
}

/// A request with a wrong challenge is answered. `claimed`: the challenge, if it is known.
pub(in crate::gamespy4) fn wrong_challenge_answered<S: Sink>(claimed: Option<i32>, sink: &mut S) {
    if let Some(challenge) = claimed {
        sink.claims_number(challenge.cast_unsigned());
    }
    sink.checked(&GS4010, false, Span::default(), || WRONG_ANSWERED.to_owned());
}

const WRONG_ANSWERED: &str = "this answers a request with a wrong challenge";

/// The same, if another server may have given the challenge.
pub(in crate::gamespy4) fn challenge_of_another_answered<S: Sink>(
    challenge: i32,
    evidence: Evidence,
    seen: SeenMessage,
    sink: &mut S,
) {
    let not_given: Option<(_, &'static Rule)> = Some((evidence, &GS4010));
    let event = CrossFlowEvent::Accepted { challenge: challenge.cast_unsigned(), not_given };
    sink.unless_explained(&GS4010, Some(Span::default()), event, seen, || {
        WRONG_ANSWERED.to_owned()
    });
}

/// A request with a wrong challenge was not answered.
pub(in crate::gamespy4) fn wrong_challenge_refused<S: Sink>(mark: &Mark, sink: &mut S) {
    sink.recalled(&GS4010, true, Evidence::default(), mark, String::new);
}

/// A request with the correct challenge is answered.
pub(in crate::gamespy4) fn right_challenge_answered<S: Sink>(sink: &mut S) {
    sink.checked(&GS4010, true, Span::default(), String::new);
}

pub(in crate::gamespy4) fn asked_for<S: Sink>(ok: bool, what: &str, sink: &mut S) {
    sink.checked(&GS4030, ok, Span::default(), || {
        format!("no {what} request of this client waits for an answer")
    });
}

/// An identical copy of a challenge: a capture on several interfaces has it twice.
pub(in crate::gamespy4) fn challenge_copy<S: Sink>(sink: &mut S) {
    sink.noted(&GS4030, Span::default(), || "an identical copy of an answer before it".to_owned());
}

/// A request is answered by the endpoint that was asked.
pub(in crate::gamespy4) fn answered<S: Sink>(mark: &Mark, sink: &mut S) {
    sink.recalled(&GS4031, true, Evidence::default(), mark, String::new);
    sink.recalled(&GS4033, true, Evidence::default(), mark, String::new);
}
