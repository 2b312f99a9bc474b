//! Requests and responses: each request has one response.

use std::net::SocketAddr;

use crate::kit::{
    CrossFlowEvent, Evidence, Payload, Request, ResponseDue, ResponseRules, Rule, Sink, Span,
    Unmatched,
};
use crate::rule;
use crate::valve_master::listing::ReplyMatch;
use crate::valve_master::pending::Asked;
use crate::valve_master::registration::ChallengeReason;

rule! {
    /// The client waits, repeats the query, and finally treats the master as not responding.
    pub VM026 "query-answered" { severity: Warning, who: Master, needs: Response, checks: requests,
        asks: "a query is answered before the response timeout",
        cite: [("Client to master server", "Send the following UDP query to a master server to get a list of Source host servers.")],
        right: listed!("31 FF '0.0.0.0:0' 00 00"),
        wrong: paged!("0.03 c > m  31 FF '10.0.1.2:27015' 00 00\nend 9") }
}
rule! {
    /// A list without a query goes to a forged address, or is part of a flood.
    pub VM027 "reply-asked-for" { severity: Warning, who: Master, needs: Beginning,
        asks: "a reply answers a query of that client (several packets per reply in Xash3D's dialect, recognized by a key in the query or the reply, are a known deviation)",
        cite: [("End of IP address list", "Subsequent packets must be requested by using the last received IP address and Port as the 'seed' in the next request.")],
        right: listed!("31 FF '0.0.0.0:0' 00 00"),
        wrong: paged!("9.00 m > c  FFFFFFFF 660A ip:10.0.2.2:27015 00*6") }
}
rule! {
    /// An unsolicited challenge makes a server send its info string to any host that requests it.
    pub VM041 "challenge-asked-for" { severity: Warning, who: Master, needs: Beginning,
        asks: "a challenge follows a join or an info string with a wrong challenge",
        cite: [("Join", "If you send the master servers an invalid challenge, you will get another challenge as a response.")],
        right: registered!(""),
        wrong: registered!("9.00 m > s:27015  FFFFFFFF 730A le32:1339895703") }
}
rule! {
    /// A server whose challenge was not accepted, and that is not notified, assumes that it is
    /// listed.
    pub VM043 "rechallenge" { severity: Warning, who: Master, needs: Response,
        asks: "an info string with a wrong challenge is answered by a new challenge, another number",
        cite: [("Join", "If you send the master servers an invalid challenge, you will get another challenge as a response.")],
        right: joined!(goldsrc!("1"), "\n0.05 m > s:27015  FFFFFFFF 730A le32:133961823\n0.06 s:27015 > m  ", goldsrc!("133961823")),
        wrong: joined!(goldsrc!("1"), "\nend 9") }
}
rule! {
    /// Without a challenge the server cannot join, and clients do not find it.
    pub VM047 "join-answered" { severity: Warning, who: Master, needs: Response, checks: requests,
        asks: "a join is answered by a challenge",
        cite: [("Join", "The master servers each respond by sending FF FF FF FF 73 0A")],
        right: registered!(""),
        wrong: registered!("300.00 s:27015 > m  71\nend 309") }
}

rule! {
    /// A server that does not answer it is not listed. The challenge may have been lost on the way.
    pub VM049 "challenge-answered" { severity: Warning, who: Server, needs: Response,
        asks: "a challenge is answered by an info string, judged for each master on its own (a newer challenge of the same master takes the place of the older)",
        cite: [("Challenge response", "the game server then sends its challenge information in the following format:")],
        right: registered!(""),
        wrong: "0.00 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le32:1339895702\nend 9" }
}
rule! {
    /// A number that several servers get lets each of them answer for the others.
    ///
    /// The ledger checks this rule, because it needs more than one pair of hosts.
    pub VM048 "challenge-unique" { severity: Note, who: Master, needs: Interval,
        asks: "one number is not given to several servers within a minute",
        cite: [("Join", "followed by a (relatively) unique 4-byte \"challenge\" number.")],
        right: registered!("1.00 n:27015 > m  71\n1.02 m > n:27015  FFFFFFFF 730A le32:133961823\n1.03 n:27015 > m  ", goldsrc!("133961823")),
        wrong: registered!("1.00 n:27015 > m  71\n1.02 m > n:27015  FFFFFFFF 730A le32:1339895702\n1.03 n:27015 > m  ", goldsrc!("1339895702")) }
}

/// An info string follows a challenge.
pub(in crate::valve_master) fn challenge_answered<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&VM049, true, at, String::new);
}

/// The rule that demands a response, and what is wrong without one.
fn demands(asked: &Request<Asked>) -> (&'static Rule, &'static str) {
    match asked.what {
        Asked::List(_) => (&VM026, "no reply came to the query"),
        Asked::Challenge(_) => (&VM047, "no challenge came to the join"),
        Asked::NewChallenge => (&VM043, "no new challenge came to the info string"),
        Asked::Info => (&VM049, "no info string came to the challenge"),
    }
}

/// A message that another port of the master answered.
pub(in crate::valve_master) fn answered_elsewhere<S: Sink>(asked: &Request<Asked>, sink: &mut S) {
    sink.recalled(demands(asked).0, true, Evidence::default(), &asked.mark, String::new);
}

/// A message that was not answered.
pub(in crate::valve_master) fn unanswered<S: Sink>(
    asked: &Request<Asked>,
    evidence: Evidence,
    sink: &mut S,
) {
    let (rule, what) = demands(asked);
    sink.recalled(rule, false, evidence, &asked.mark, || what.to_owned());
}

/// Checks whether a reply has a query before it.
pub(in crate::valve_master) fn replied<S: Sink>(answers: ReplyMatch, at: Span, sink: &mut S) {
    match answers {
        ReplyMatch::Query { due, asked } => {
            sink.answers(asked);
            sink.checked(&VM027, true, at, String::new);
            if due {
                sink.checked(&VM026, true, at, String::new);
            }
        }
        ReplyMatch::Again => sink.checked(&VM027, true, at, String::new),
        ReplyMatch::Copy => sink.checked(&VM027, false, at, || {
            "the query was answered already, with the same reply".to_owned()
        }),
        ReplyMatch::More { dialect: true } => sink.noted(&VM027, at, || {
            "one more packet in reply to one query, as Xash3D's master sends them".to_owned()
        }),
        ReplyMatch::More { dialect: false } => sink.checked(&VM027, false, at, || {
            "the query was answered already: further pages must be asked for".to_owned()
        }),
        ReplyMatch::Late => sink.checked(&VM027, false, at, || {
            "the queries on this socket have long been answered".to_owned()
        }),
        ReplyMatch::Nothing => {
            sink.checked(&VM027, false, at, || "there is no query on this socket".to_owned());
        }
    }
}

/// A list that goes to somebody who asked for none counts against [`SEC005`](crate::abuse_rules::SEC005).
static UNASKED: ResponseRules =
    ResponseRules { from_asked: &VM027, asked_for: None, answered: &VM026 };

/// A reply on a socket without any query; `asked`: another port of the master that was asked.
pub(in crate::valve_master) fn unasked<S: Sink>(
    at: Span,
    evidence: Evidence,
    payload: &Payload<'_>,
    asked: Option<SocketAddr>,
    sink: &mut S,
) {
    if let Some(asked) = asked {
        sink.checked(&VM027, false, at, || format!("the query was sent to {asked}"));
        return;
    }
    replied(ReplyMatch::Nothing, at, sink);
    let unmatched = Unmatched::new(&UNASKED, "a list", 1, payload.time, evidence);
    sink.cross_flow(CrossFlowEvent::Unasked(unmatched), payload.seen());
}

/// Checks whether a challenge has a reason. `again`: it is the number that an info string answered wrongly.
pub(in crate::valve_master) fn challenged<S: Sink>(
    why: ChallengeReason,
    again: Option<Evidence>,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let at = payload.whole();
    let unasked = || "no join and no wrong challenge came before this challenge".to_owned();
    if why == ChallengeReason::Unseen {
        let evidence = Evidence { lost: true, ..Evidence::default() };
        sink.recalled(&VM041, false, evidence, &payload.mark(), unasked);
    } else {
        sink.checked(&VM041, why != ChallengeReason::Nothing, at, unasked);
    }
    if let ChallengeReason::Asked(asked) = why
        && asked.due == ResponseDue::Yes
    {
        sink.answers(asked.reply(true));
        match asked.what {
            Asked::NewChallenge => {
                let evidence = again.unwrap_or_default();
                sink.recalled(&VM043, again.is_none(), evidence, &payload.mark(), || {
                    "the number is the one that the server answered wrongly".to_owned()
                });
            }
            _ => sink.checked(&VM047, true, at, String::new),
        }
    }
}
