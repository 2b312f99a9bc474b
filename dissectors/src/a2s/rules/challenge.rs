//! Challenges: their format, which clients may use them, and which requests need them.

use crate::kit::{CrossFlowEvent, Evidence, Mark, Read, Request, Rule, Sink, Span};
use crate::rule;

use crate::a2s::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use crate::a2s::occasion::Occasion;
use crate::a2s::pending::{Asked, Notes};

rule! {
    /// Clients copy the four bytes into their next request; with fewer they have nothing to copy.
    pub A2S020 "challenge-layout" { severity: Error, who: Server, needs: Message,
        asks: "`A` is followed by exactly 4 bytes",
        cite: [("A2S_SERVERQUERY_GETCHALLENGE, Response format", "The challenge number to use")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1" }
}

pub(in crate::a2s) fn challenge_layout<S: Sink>(length: usize, at: Span, sink: &mut S) {
    sink.checked(&A2S020, length == 4, at, || {
        format!("A is followed by {}", crate::kit::counted(length, "byte"))
    });
}

rule! {
    /// Without these bytes, a server cannot answer a list request.
    pub A2S021 "challenge-present" { severity: Error, who: Client, needs: Message,
        asks: "a player or rules request has 4 challenge bytes (fewer break this rule; more break A2S006, and the first four are the challenge)",
        cite: [("A2S_PLAYER, Request format", "FF FF FF FF 55 <4 byte challenge number>")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55" }
}

pub(in crate::a2s) fn challenge_present<S: Sink>(ok: bool, length: usize, at: Span, sink: &mut S) {
    sink.checked(&A2S021, ok, at, || format!("the challenge has {length} of 4 bytes"));
}

rule! {
    /// A server ignores a challenge that it did not give to this address, or answers with a new
    /// one: the client gets no data.
    pub A2S022 "challenge-echo" { severity: Error, who: Client, needs: Beginning,
        asks: "the challenge in a request is -1 or one that this server issued to this client",
        cite: [("A2S_PLAYER, Request format", "or use the value from a previous A2S_SERVERQUERY_GETCHALLENGE request.")],
        right: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5"),
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n0.03 c > s  FFFFFFFF 55 22D5A14B" }
}

/// A challenge that this server never gave, but another endpoint may have.
pub(super) fn challenge_from_another<S: Sink>(
    challenge: Read<i32>,
    occasion: &Occasion,
    sink: &mut S,
) {
    sink.claims_number(challenge.value.cast_unsigned());
    let event = CrossFlowEvent::NotGiven {
        challenge: challenge.value as u32,
        evidence: occasion.evidence,
        rule: &A2S022,
    };
    sink.unless_explained(&A2S022, Some(challenge.at), event, occasion.seen, || {
        format!("the challenge {} was never issued to this client", challenge.value)
    });
}

/// The result of comparing a request's challenge with those that were issued.
pub(super) fn challenge_echo<S: Sink>(
    challenge: Read<i32>,
    status: ChallengeStatus,
    mark: &Mark,
    sink: &mut S,
) {
    let detail = || format!("the challenge {} was never issued to this client", challenge.value);
    match status {
        ChallengeStatus::Absent => {}
        ChallengeStatus::Asking | ChallengeStatus::Issued => {
            sink.checked(&A2S022, true, challenge.at, detail)
        }
        ChallengeStatus::Zero => sink.noted(&A2S022, challenge.at, || {
            "0 is sent to request a challenge, where the specification has -1".to_owned()
        }),
        ChallengeStatus::NeverIssued => {
            sink.claims_number(challenge.value.cast_unsigned());
            sink.checked(&A2S022, false, challenge.at, detail);
        }
        ChallengeStatus::Unknown => {
            let evidence = Evidence { lost: true, ..Evidence::default() };
            sink.recalled(&A2S022, false, evidence, mark, detail);
        }
    }
}

rule! {
    /// A server that sends data without a challenge can be misused to flood any address that an
    /// attacker forges as the sender.
    pub A2S023 "challenge-enforced" { severity: Error, who: Server, needs: Interval,
        asks: "a player or rules request with -1 is answered by a challenge, not by data",
        cite: [("A2S_PLAYER, Request format", "to have the server response with S2C_CHALLENGE")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5" }
}
rule! {
    /// If the challenge is not checked, it protects nothing: any four bytes get the response.
    pub A2S024 "challenge-verified" { severity: Error, who: Server, needs: Beginning,
        asks: "a request with a challenge never issued is not answered by data",
        cite: [("A2S_SERVERQUERY_GETCHALLENGE", "Challenge values are required for A2S_PLAYER")],
        right: "0.00 c > s  FFFFFFFF 55 00000000\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n0.03 c > s  FFFFFFFF 55 00000000\n0.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5" }
}
rule! {
    /// All servers answer a request with -1 with a challenge; only some answer this message.
    pub A2S025 "getchallenge-obsolete" { severity: Note, who: Client, needs: Message,
        asks: "a challenge is requested with -1: `W` does not work on GoldSrc and Left 4 Dead 2",
        cite: [("A2S_SERVERQUERY_GETCHALLENGE", "the implementation of this query does not function in Goldsource nor Left4Dead2 servers.")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 57\n0.02 s > c  FFFFFFFF 41 4BA1D522" }
}

/// A challenge was requested; `obsolete`: with `W`.
pub(in crate::a2s) fn challenge_asked<S: Sink>(obsolete: bool, at: Span, sink: &mut S) {
    sink.checked(&A2S025, !obsolete, at, || "W is sent, where -1 would do".to_owned());
}

rule! {
    /// Older clients expect the info itself; since 2020 a client must be able to handle a
    /// challenge.
    pub A2S026 "info-challenge" { severity: Note, who: Server, needs: Interval,
        asks: "an info request is answered by info (by a challenge: later practice, not in the specification)",
        cite: [("A2S_INFO, Response format", "")],
        right: info_answered!("49 11 'Test' 00 'de_dust2' 00 'csgo' 00 'Counter-Strike' 00 le16:730 05 10 00 'dl' 00 01 '1.38' 00"),
        wrong: info_answered!("41 4BA1D522") }
}
rule! {
    /// Clients stop after a few rounds, and show the server as not responding.
    pub A2S027 "challenge-rounds" { severity: Warning, who: Server, needs: Interval,
        asks: "a valid challenge is not answered by yet another challenge more than 3 times in a row",
        cite: [("A2S_SERVERQUERY_GETCHALLENGE, Request format", "they will respond with a challenge value to use")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF
0.01 s > c  FFFFFFFF 41 01000000
0.02 c > s  FFFFFFFF 55 01000000
0.03 s > c  FFFFFFFF 41 02000000
0.04 c > s  FFFFFFFF 55 02000000
0.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF
0.01 s > c  FFFFFFFF 41 01000000
0.02 c > s  FFFFFFFF 55 01000000
0.03 s > c  FFFFFFFF 41 02000000
0.04 c > s  FFFFFFFF 55 02000000
0.05 s > c  FFFFFFFF 41 03000000
0.06 c > s  FFFFFFFF 55 03000000
0.07 s > c  FFFFFFFF 41 04000000
0.08 c > s  FFFFFFFF 55 04000000
0.09 s > c  FFFFFFFF 41 05000000" }
}

/// How often in a row a valid challenge may be answered with another one.
const MOST_ROUNDS: u8 = 3;

/// How often in a row a server has answered a valid challenge for this kind of request with another
/// one, including this response.
pub(super) fn challenge_rounds<S: Sink>(
    asked: &Request<Asked>,
    rounds: u8,
    at: Span,
    sink: &mut S,
) {
    if asked.what.status == ChallengeStatus::Issued {
        sink.checked(&A2S027, rounds <= MOST_ROUNDS, at, || {
            format!(
                "each valid challenge that comes back is answered by a new one, more than {MOST_ROUNDS} in a row"
            )
        });
    }
}

/// How a server handled a request's challenge, or its absence. `guarded`: the server requires a
/// challenge for such requests. Servers from before 2020 ignore bytes after an info request.
pub(super) fn challenge_used<S: Sink>(
    asked: &Request<Asked>,
    response: ResponseKind,
    guarded: bool,
    at: Span,
    sink: &mut S,
) {
    let again = response == ResponseKind::Challenge;
    // It is not known yet whether another endpoint gave the challenge.
    if asked.what.has(Notes::NOT_GIVEN) && !again {
        return;
    }
    match (asked.what.kind, asked.what.status) {
        (RequestKind::Player | RequestKind::Rules, ChallengeStatus::Asking) => {
            let detail =
                || format!("{} with -1 is answered by {}", asked.what.kind.name(), response.name());
            if asked.is_challenged() && !again {
                // The request that returns the challenge may be missing from the capture.
                sink.evidence(Evidence { lost: true, ..Evidence::default() });
            }
            sink.checked(&A2S023, again, at, detail);
        }
        (RequestKind::Player | RequestKind::Rules, ChallengeStatus::Zero)
        | (_, ChallengeStatus::NeverIssued)
            if guarded =>
        {
            let detail = || {
                let (request, challenge) = (asked.what.kind.name(), asked.what.challenge());
                format!(
                    "{request} with {challenge}, never issued to this client, is answered by {}",
                    response.name()
                )
            };
            if asked.what.has(Notes::UNSEEN) && !again {
                // Three rounds in a row are proof all the same.
                sink.evidence(Evidence { asked_party_seen: true, ..Evidence::default() });
            }
            sink.claims_number(asked.what.challenge().cast_unsigned());
            sink.checked(&A2S024, again, at, detail);
        }
        (
            RequestKind::Info,
            ChallengeStatus::Absent | ChallengeStatus::Asking | ChallengeStatus::Zero,
        ) => {
            sink.checked(&A2S026, !again, at, || "info is answered by a challenge".to_owned());
        }
        _ => {}
    }
}

/// A challenge is accepted that this server is not known to have given to this client.
pub(in crate::a2s) fn accepted<S: Sink>(
    asked: &Request<Asked>,
    occasion: &Occasion,
    guarded: bool,
    at: Span,
    sink: &mut S,
) {
    let is_not_given = asked.what.has(Notes::NOT_GIVEN) && guarded;
    let not_given: Option<(_, &'static Rule)> =
        is_not_given.then_some((occasion.evidence, &A2S024));
    let event = CrossFlowEvent::Accepted { challenge: asked.what.challenge() as u32, not_given };
    if not_given.is_none() {
        sink.cross_flow(event, occasion.seen);
        return;
    }
    sink.claims_number(asked.what.challenge().cast_unsigned());
    sink.unless_explained(&A2S024, Some(at), event, occasion.seen, || {
        let (request, challenge) = (asked.what.kind.name(), asked.what.challenge());
        format!("{request} with {challenge}, never issued to this client, is answered")
    });
}
