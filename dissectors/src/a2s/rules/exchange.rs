//! Requests and responses: each request has one response, of the right kind, between the same two
//! endpoints.

use std::net::SocketAddr;

use crate::kit::{
    CrossFlowEvent, Evidence, Mark, Read, Request, ResponseDue, ResponseRules, Sink, Span,
    Unmatched,
};
use crate::rule;

use super::{abuse, challenge};
use crate::a2s::kinds::{ChallengeStatus, ResponseKind};
use crate::a2s::occasion::Occasion;
use crate::a2s::pending::Asked;

rule! {
    /// A client that gets another kind of response cannot use it.
    pub A2S060 "answer-matches" { severity: Error, who: Server, needs: Interval,
        asks: "a response is of the requested kind (several responses to one info request, 'm' and 'I' and 'D' from hybrid GoldSrc servers, are a known deviation: a note)",
        cite: [("Requests", "The server responds to 5 queries:")],
        right: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5"),
        wrong: players_answered!("FFFFFFFF 45 0100 'motd' 00 'hello' 00") }
}
rule! {
    /// Unsolicited responses are noise, or part of a flood; some clients loop on them.
    pub A2S061 "answer-asked-for" { severity: Warning, who: Server, needs: Beginning,
        asks: "no response without a request",
        cite: [("Requests", "")],
        right: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5"),
        wrong: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5\n0.06 s > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5") }
}
rule! {
    /// The client waits, repeats the request, and finally shows the server as not responding.
    pub A2S062 "request-answered" { severity: Warning, who: Server, needs: Response, checks: requests,
        asks: "a request is answered",
        cite: [("Requests", "The server responds to 5 queries:")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n0.03 c > s  FFFFFFFF 55 4BA1D522\nend 9" }
}
rule! {
    /// Most clients, and firewalls, drop responses from an address that was not asked.
    pub A2S065 "answer-from-asked" { severity: Warning, who: Server, needs: Interval,
        asks: "the response comes from the address and port that the request was sent to (matched by challenge or split ID, else by kind, client endpoint and time if exactly one such request is pending)",
        cite: [("Requests", "Queries should be sent in UDP packets to the listen port of the server.")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s:27016 > c  FFFFFFFF 41 4BA1D522" }
}

/// A request was sent. `not_given`: another endpoint may have given its challenge.
pub(in crate::a2s) fn sent<S: Sink>(
    challenge: Option<Read<i32>>,
    status: ChallengeStatus,
    mark: &Mark,
    not_given: Option<&Occasion>,
    at: Span,
    sink: &mut S,
) {
    abuse::toward_server(at, sink);
    match (challenge, not_given) {
        (Some(challenge), Some(occasion)) => {
            challenge::challenge_from_another(challenge, occasion, sink);
        }
        (Some(challenge), None) => challenge::challenge_echo(challenge, status, mark, sink),
        (None, _) => {}
    }
}

/// A request was answered. `rounds`: how often in a row a valid challenge was answered by another challenge, up to a limit.
/// `guarded`: the server requires a challenge for such requests. `again`: an earlier sending of the request was answered, too.
pub(in crate::a2s) fn answered<S: Sink>(
    asked: &Request<Asked>,
    response: ResponseKind,
    rounds: u8,
    guarded: bool,
    again: bool,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&A2S060, true, at, String::new);
    sink.checked(&A2S061, true, at, String::new);
    if !again {
        sink.checked(&A2S062, true, at, String::new);
    }
    sink.checked(&A2S065, true, at, String::new);
    challenge::challenge_used(asked, response, guarded, at, sink);
    if !again {
        challenge::challenge_rounds(asked, rounds, at, sink);
    }
    abuse::info_challenged(asked, response, at, sink);
}

/// A request was answered by bytes that were not recorded.
pub(in crate::a2s) fn answered_unread<S: Sink>(at: Span, sink: &mut S) {
    for rule in [&A2S061, &A2S062, &A2S065] {
        sink.checked(rule, true, at, String::new);
    }
}

/// An info request got a second response in another form.
pub(in crate::a2s) fn answered_in_another_form<S: Sink>(
    response: ResponseKind,
    at: Span,
    sink: &mut S,
) {
    let detail = || format!("{} follows as one more answer to the info request", response.name());
    sink.noted(&A2S060, at, detail);
}

/// A request was answered with another kind of response.
pub(in crate::a2s) fn answered_wrongly<S: Sink>(
    asked: &Request<Asked>,
    response: ResponseKind,
    at: Span,
    sink: &mut S,
) {
    let detail = || format!("{} is answered by {}", asked.what.kind.name(), response.name());
    sink.checked(&A2S060, false, at, detail);
}

/// An unsolicited response. `elsewhere`: the sender was never asked, but another endpoint may have been.
pub(in crate::a2s) fn unasked<S: Sink>(
    response: ResponseKind,
    elsewhere: Option<&Occasion>,
    at: Span,
    sink: &mut S,
) {
    let detail = || format!("no request for {}", response.name());
    match elsewhere {
        None => sink.checked(&A2S061, false, at, detail),
        Some(occasion) => {
            let event = CrossFlowEvent::Unasked(stray(response, occasion));
            sink.unless_explained(&A2S061, Some(at), event, occasion.seen, detail);
        }
    }
}

/// An earlier player list was unsolicited; or it came `instead` of info.
pub(in crate::a2s) fn unmatched_list<S: Sink>(
    instead: bool,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    let (rule, detail) = match instead {
        true => (&A2S060, "A2S_INFO is answered by a player list"),
        false => (&A2S061, "no request for a player list"),
    };
    sink.recalled(rule, false, evidence, mark, || detail.to_owned());
}

/// Another endpoint of the asked host responded.
pub(in crate::a2s) fn answered_elsewhere<S: Sink>(
    response: ResponseKind,
    asked: SocketAddr,
    from: SocketAddr,
    at: Span,
    sink: &mut S,
) {
    let detail = || format!("{} comes from {from}, asked was {asked}", response.name());
    sink.checked(&A2S065, false, at, detail);
}

/// A response of another endpoint answered that request.
pub(in crate::a2s) fn was_answered_elsewhere<S: Sink>(asked: &Request<Asked>, sink: &mut S) {
    if asked.due == ResponseDue::Yes {
        sink.recalled(&A2S062, true, Evidence::default(), &asked.mark, String::new);
    }
}

/// No response came, unless another endpoint sent it.
pub(in crate::a2s) fn overdue<S: Sink>(asked: &Request<Asked>, occasion: &Occasion, sink: &mut S) {
    let (name, bit) = (asked.what.kind.name(), asked.what.kind.bit());
    let unmatched = Unmatched::in_vain(&ELSEWHERE, name, bit, asked, occasion.evidence);
    let unmatched = Unmatched { challenge: occasion.challenge, ..unmatched };
    unmatched.ends_unanswered(occasion.seen, sink, || format!("{name} is not answered"));
}

/// The rules about which endpoint responds.
static ELSEWHERE: ResponseRules =
    ResponseRules { from_asked: &A2S065, asked_for: Some(&A2S061), answered: &A2S062 };

/// A response whose sender got no request.
fn stray(response: ResponseKind, occasion: &Occasion) -> Unmatched {
    let Occasion { seen, evidence, challenge } = *occasion;
    let (name, began) = (response.name(), seen.mark.time);
    let unmatched = Unmatched::new(&ELSEWHERE, name, response.kinds(), began, evidence);
    Unmatched { challenge, ..unmatched }
}
