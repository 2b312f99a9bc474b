//! Registration of game servers with masters.

use std::ops::RangeInclusive;

use crate::kit::{Evidence, Mark, Read, Sink, Span};
use crate::rule;

use crate::gamespy1::words::decimal;

rule! {
    /// A heartbeat has only the port and the game; the address is that of the datagram.
    pub GS1020 "heartbeat-layout" { severity: Error, who: Server, needs: Message,
        asks: "a heartbeat is `\\heartbeat\\PORT\\gamename\\GAME`, port 1-65535",
        cite: [("Servers", "this information contains only the query port of the server, as well as the game name (ut)")],
        right: registered!(),
        wrong: r"0.00 s:7778 > m  '\\heartbeat\\0\\gamename\\ut\\'" }
}

/// The part of a finding about a heartbeat without a port.
const NO_PORT: &str = "is not a port";

/// Checks a heartbeat's own keys, and returns their values. `first`: the message's first key.
pub(in crate::gamespy1) fn heartbeat_layout<'a, S: Sink>(
    port: Read<&[u8]>,
    gamename: Option<Read<&'a [u8]>>,
    first: &[u8],
    sink: &mut S,
) -> Option<(u16, &'a [u8])> {
    let number = decimal::<u16>(port.value).filter(|&port| port > 0);
    let game = gamename.map(|game| game.value).filter(|game| !game.is_empty());
    let in_order =
        first == b"heartbeat" && gamename.is_none_or(|game| game.at.start > port.at.start);
    let announced = number.zip(game).filter(|_| in_order);
    sink.checked(&GS1020, announced.is_some(), port.at, || match (number, game) {
        (None, _) => format!("{} {NO_PORT}", crate::kit::Quoted(port.value)),
        (_, None) => "there is no game name".into(),
        _ => "the heartbeat does not come first".into(),
    });
    announced
}

rule! {
    /// A server without a challenge cannot prove its game, and is not listed.
    pub GS1021 "first-heartbeat-challenged" { severity: Warning, who: Master, needs: Response,
        asks: "the first heartbeat is answered by basic and a secure challenge (secure without basic is a known deviation: a note)",
        cite: [("Servers", "After receiving the first heartbeat, the masterserver responds with a \"secure\\validate\" challenge")],
        right: registered!(),
        wrong: concat!(
            r"0.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'", "\n",
            r"0.02 m > s:7778  '\\info\\'", "\n",
            r"0.03 s:7778 > m  '\\hostname\\Test\\mapname\\DM-Deck16\\numplayers\\0\\queryid\\1.1\\final\\'", "\n",
            "end 9") }
}

/// The first heartbeat is challenged.
pub(in crate::gamespy1) fn challenged<S: Sink>(basic: bool, at: Span, sink: &mut S) {
    if basic {
        sink.checked(&GS1021, true, at, String::new);
    } else {
        sink.noted(&GS1021, at, || "secure without basic".into());
    }
}

/// It was not.
pub(in crate::gamespy1) fn unchallenged<S: Sink>(evidence: Evidence, mark: &Mark, sink: &mut S) {
    sink.recalled(&GS1021, false, evidence, mark, || {
        "no challenge came to the first heartbeat".into()
    });
}

rule! {
    /// A server that does not answer the challenge is not listed.
    pub GS1022 "challenge-answered" { severity: Error, who: Server, needs: Response,
        asks: "the server answers with heartbeat, gamename, validate and final",
        cite: [("Servers", "The UT server, if legitimate, responds with its heartbeat port, game name and 8 byte validation code")],
        right: registered!(),
        wrong: challenged!("end 9") }
}

/// A challenge was answered. `missing`: what the response lacks; `as_query`: it has the form of a
/// response to a query, as in GameSpy's own software.
pub(in crate::gamespy1) fn challenge_answered<S: Sink>(
    missing: Option<&'static str>,
    as_query: bool,
    lost: bool,
    mark: &Mark,
    sink: &mut S,
) {
    let at = mark.whole();
    match missing {
        None => sink.checked(&GS1022, true, at, String::new),
        Some(missing) if as_query => {
            sink.noted(&GS1022, at, || format!("answered as a query, without {missing}"))
        }
        // The response itself is the proof.
        Some(missing) => {
            let evidence =
                Evidence { lost, waited: true, asked_party_seen: true, ..Evidence::default() };
            sink.recalled(&GS1022, false, evidence, mark, || format!("the answer lacks {missing}"));
        }
    }
}

/// The part of a finding about an unanswered challenge.
pub(in crate::gamespy1) const NO_VALIDATE: &str = "no validate came to the challenge";

/// A challenge was not answered.
pub(in crate::gamespy1) fn challenge_ignored<S: Sink>(
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(&GS1022, false, evidence, mark, || NO_VALIDATE.into());
}

rule! {
    /// The challenge was for one server: the response of another proves nothing about it.
    pub GS1023 "validate-same-server" { severity: Error, who: Server, needs: Beginning,
        asks: "the response to a challenge has the port and the game name of its heartbeat",
        cite: [("Servers", "responds with its heartbeat port, game name and 8 byte validation code")],
        right: registered!(),
        wrong: challenged!(r"0.03 s:7778 > m  '\\heartbeat\\7779\\gamename\\ut\\validate\\SAaJHX96\\final\\'") }
}

/// Checks port and game name of the heartbeat against those of the response.
pub(in crate::gamespy1) fn same_server<S: Sink>(
    beat: (u16, &[u8]),
    response: (u16, &[u8]),
    at: Span,
    sink: &mut S,
) {
    let same = beat.0 == response.0 && beat.1.eq_ignore_ascii_case(response.1);
    sink.checked(&GS1023, same, at, || {
        format!(
            "the heartbeat is of {} on port {}, the answer of {} on port {}",
            crate::kit::Quoted(beat.1),
            beat.0,
            crate::kit::Quoted(response.1),
            response.0
        )
    });
}

/// The heartbeat of the response is not in the capture.
pub(in crate::gamespy1) fn heartbeat_unseen<S: Sink>(mark: &Mark, sink: &mut S) {
    let evidence = Evidence { lost: true, ..Evidence::default() };
    sink.recalled(&GS1023, false, evidence, mark, || {
        "the capture holds no heartbeat with a port and a game before it".into()
    });
}

rule! {
    /// Masters drop a server after some minutes of silence, and treat too frequent heartbeats as an
    /// attack. A tenth more or less is tolerated, since timers are not exact.
    pub GS1024 "heartbeat-interval" { severity: Warning, who: Server, needs: Interval,
        asks: "heartbeats come twice a minute to once in five minutes; the response to a challenge does not count",
        cite: [("Servers", "The time between heartbeats varies between twice per minute and once per few minutes.")],
        right: registered!(r"60.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'"),
        wrong: registered!(r"10.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'") }
}

/// The part of a finding about a late heartbeat.
pub(in crate::gamespy1) const BEATS_LATE: &str = "only after";

/// Nanoseconds since the previous heartbeat; `regular`: since the last one that was not caused by a
/// change of the game's state, if this one was not, either; `usual`: neither early nor late.
pub(in crate::gamespy1) fn interval<S: Sink>(
    latest: i64,
    regular: Option<i64>,
    usual: &RangeInclusive<i64>,
    at: Span,
    sink: &mut S,
) {
    let early = regular.is_some_and(|regular| regular < *usual.start());
    let late = latest > *usual.end();
    // A heartbeat after a change may come at any time: it shows only that none is overdue.
    if regular.is_none() && !late {
        return;
    }
    sink.checked(&GS1024, !early && !late, at, || {
        let seconds = |nanoseconds: i64| nanoseconds as f64 / 1e9;
        match regular.filter(|_| early) {
            Some(regular) => format!("{:.1} s since the heartbeat before", seconds(regular)),
            None => format!("comes {BEATS_LATE} {:.1} s", seconds(latest)),
        }
    });
}

rule! {
    /// One proof is enough as long as heartbeats continue; further challenges are needless traffic.
    pub GS1025 "no-rechallenge" { severity: Note, who: Master, needs: Interval,
        asks: "a server that is validated and keeps sending is not challenged again",
        cite: [("Servers", "The masterserver does not verify the UT server anymore, as long as it keeps sending heartbeats")],
        right: registered!(r"60.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'", r"120.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'"),
        wrong: registered!(
            r"60.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'",
            r"60.02 m > s:7778  '\\basic\\\\secure\\XDWAOR'",
            r"60.03 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\validate\\3JOdDFU5\\final\\'") }
}

/// A validated server continues: whether it was challenged again.
pub(in crate::gamespy1) fn rechallenged<S: Sink>(again: bool, at: Span, sink: &mut S) {
    sink.checked(&GS1025, !again, at, || "the server was validated before".into());
}
