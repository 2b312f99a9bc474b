//! Requests and responses: each request has one response, of the right kind, between the same two
//! endpoints.

use crate::kit::{self, Evidence, Exchange, ResponseDue, ResponseRules, Sink, Span};
use crate::rule;

use super::{abuse, challenge};
use crate::a2s::kinds::ResponseKind;
use crate::a2s::observation::{Observation, Occasion};

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

/// Checks an observation of the conversation. `at`: the bytes that identify the current message.
pub(in crate::a2s) fn exchange<S: Sink>(fact: &Observation<'_>, at: Span, sink: &mut S) {
    match *fact {
        Observation::Sent { challenge, status, ref mark, ref foreign } => {
            abuse::toward_server(at, sink);
            match (challenge, foreign) {
                (Some(challenge), Some(occasion)) => {
                    challenge::challenge_from_another(challenge, occasion, sink);
                }
                (Some(challenge), None) => {
                    challenge::challenge_echo(challenge, status, mark, sink);
                }
                (None, _) => {}
            }
        }
        Observation::Answered { asked, response, rounds, guarded, again } => {
            answered(again, at, sink);
            challenge::challenge_used(asked, response, guarded, at, sink);
            if !again {
                challenge::challenge_rounds(asked, rounds, at, sink);
            }
            abuse::info_challenged(asked, response, at, sink);
        }
        Observation::Unread => {
            for rule in [&A2S061, &A2S062, &A2S065] {
                sink.checked(rule, true, at, String::new);
            }
        }
        Observation::Again { response } => sink.noted(&A2S060, at, || {
            format!("{} follows as one more answer to the info request", response.name())
        }),
        Observation::Other { asked, response } => sink.checked(&A2S060, false, at, || {
            format!("{} is answered by {}", asked.what.kind.name(), response.name())
        }),
        Observation::Unasked { response, elsewhere: None } => {
            sink.checked(&A2S061, false, at, || format!("no request for {}", response.name()))
        }
        Observation::Unasked { response, elsewhere: Some(ref occasion) } => {
            let fact = kit::CrossFlowEvent::Unasked(stray(response, occasion));
            let detail = || format!("no request for {}", response.name());
            sink.unless_explained(&A2S061, Some(at), fact, occasion.seen, detail);
        }
        Observation::UnmatchedList { ref mark, instead: true, evidence } => {
            sink.recalled(&A2S060, false, evidence, mark, || {
                "A2S_INFO is answered by a player list".to_owned()
            });
        }
        Observation::UnmatchedList { ref mark, instead: false, evidence } => {
            sink.recalled(&A2S061, false, evidence, mark, || {
                "no request for a player list".to_owned()
            });
        }
        Observation::Elsewhere { response, asked, from } => {
            sink.checked(&A2S065, false, at, || {
                format!("{} comes from {from}, asked was {asked}", response.name())
            })
        }
        Observation::Moved { asked } => {
            if asked.due == ResponseDue::Yes {
                sink.recalled(&A2S062, true, Evidence::default(), &asked.mark, String::new);
            }
        }
        Observation::Overdue { asked, ref occasion } => {
            let (name, bit) = (asked.what.kind.name(), asked.what.kind.bit());
            let exchange = Exchange::in_vain(&ELSEWHERE, name, bit, asked, occasion.evidence);
            Exchange { challenge: occasion.challenge, ..exchange }.ends_unanswered(
                occasion.seen,
                sink,
                || format!("{name} is not answered"),
            );
        }
    }
}

/// A request was answered; `again`: it was before.
fn answered<S: Sink>(again: bool, at: Span, sink: &mut S) {
    sink.checked(&A2S060, true, at, String::new);
    sink.checked(&A2S061, true, at, String::new);
    if !again {
        sink.checked(&A2S062, true, at, String::new);
    }
    sink.checked(&A2S065, true, at, String::new);
}

/// The rules about which endpoint responds.
static ELSEWHERE: ResponseRules =
    ResponseRules { from_asked: &A2S065, asked_for: Some(&A2S061), answered: &A2S062 };

/// A response whose sender got no request.
fn stray(response: ResponseKind, occasion: &Occasion) -> Exchange {
    let Occasion { seen, evidence, challenge } = *occasion;
    let (name, began) = (response.name(), seen.mark.time);
    let exchange = Exchange::new(&ELSEWHERE, name, response.kinds(), began, evidence);
    Exchange { challenge, ..exchange }
}
