//! Queries to game servers, and their responses in parts.

use crate::gamespy1::pending::{Asked, QueryKind};
use crate::gamespy1::words::decimal;
use crate::kit::repeated_names::repeated;
use crate::kit::{
    CrossFlowEvent, Evidence, Mark, Quoted, Read, Request, ResponseRules, SeenMessage, Sink, Span,
    Unmatched,
};
use crate::rule;

rule! {
    /// Browsers show a server without a response as not responding, or not at all.
    pub GS1030 "query-answered" { severity: Warning, who: Server, needs: Response, checks: requests,
        asks: "a game server answers a query (`\\info\\`, `\\status\\`, `\\basic\\`, `\\rules\\`, `\\players\\`)",
        cite: [("Basic Operation", "Every server responds to this request with the server name, mapname, number of players and more.")],
        right: concat!(
            r"0.00 c > s:7778  '\\info\\'", "\n",
            r"0.02 s:7778 > c  '\\hostname\\Test\\mapname\\DM-Deck16\\numplayers\\0\\queryid\\1.1\\final\\'"),
        wrong: concat!(
            r"0.00 c > s:7778  '\\info\\'", "\n",
            r"0.02 s:7778 > c  '\\hostname\\Test\\mapname\\DM-Deck16\\numplayers\\0\\queryid\\1.1\\final\\'", "\n",
            r"1.00 c > s:7778  '\\players\\'", "\n",
            "end 9") }
}

rule! {
    /// Most clients, and firewalls, drop responses from an address that was not asked.
    ///
    /// The ledger checks this rule, because it needs several flows.
    pub GS1033 "answer-from-asked" { severity: Warning, who: Server, needs: Interval,
        asks: "a query's response comes from the address and port that the query was sent to (matched by kind, client endpoint and time, if exactly one such query is pending)",
        cite: [("Basic Operation", "Every server responds to this request with the server name, mapname, number of players and more.")],
        right: concat!(
            r"0.00 c > s:7778  '\\info\\'", "\n",
            r"0.02 s:7778 > c  '\\hostname\\Test\\mapname\\DM-Deck16\\numplayers\\0\\queryid\\1.1\\final\\'"),
        wrong: concat!(
            r"0.00 c > s:7778  '\\info\\'", "\n",
            r"0.02 s:7779 > c  '\\hostname\\Test\\mapname\\DM-Deck16\\numplayers\\0\\queryid\\1.1\\final\\'") }
}

/// The rules about which endpoint responds. An unsolicited response breaks none.
static ELSEWHERE: ResponseRules =
    ResponseRules { from_asked: &GS1033, asked_for: None, answered: &GS1030 };

pub(in crate::gamespy1) fn query_answered<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS1030, true, at, String::new);
    sink.checked(&GS1033, true, at, String::new);
}

/// A query that the asked server did not answer; another one may have.
pub(in crate::gamespy1) fn query_ignored<S: Sink>(
    asked: &Request<Asked>,
    evidence: Evidence,
    seen: SeenMessage,
    sink: &mut S,
) {
    let (query, kind) = (asked.what.kind.name(), asked.what.kind.bit());
    Unmatched::in_vain(&ELSEWHERE, query, kind, asked, evidence).ends_unanswered(
        seen,
        sink,
        || format!("no answer came to \\{query}\\"),
    );
}

/// A response from a server that was not asked. `kinds`: the bits of the kinds of queries that it may answer.
pub(in crate::gamespy1) fn unasked<S: Sink>(
    kinds: u8,
    evidence: Evidence,
    seen: SeenMessage,
    sink: &mut S,
) {
    let unmatched = Unmatched::new(&ELSEWHERE, "an answer", kinds, seen.mark.time, evidence);
    sink.cross_flow(CrossFlowEvent::Unasked(unmatched), seen);
}

rule! {
    /// Datagrams can be reordered or lost: a reader can assemble a response only by the numbers.
    pub GS1031 "queryid" { severity: Error, who: Server, needs: Response,
        asks: "the parts of a response have the same queryid, numbered from 1 without a gap, `\\final\\` in the last",
        cite: [("Basic Operation", "Every server responds to this request with the server name, mapname, number of players and more.")],
        right: concat!(
            r"0.00 c > s:7778  '\\status\\'", "\n",
            r"0.02 s:7778 > c  '\\hostname\\Test\\queryid\\1.1'", "\n",
            r"0.02 s:7778 > c  '\\player_0\\Ann\\queryid\\1.2\\final\\'"),
        wrong: concat!(
            r"0.00 c > s:7778  '\\status\\'", "\n",
            r"0.02 s:7778 > c  '\\hostname\\Test\\queryid\\1.1'", "\n",
            r"0.02 s:7778 > c  '\\player_0\\Ann\\queryid\\1.3\\final\\'", "\n",
            "end 9") }
}

/// A response is complete and correctly numbered.
pub(in crate::gamespy1) fn numbered<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS1031, true, at, String::new);
}

/// A fault in the numbers of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gamespy1) enum Misnumbered {
    Absent,
    Unreadable,
    FromZero,
    /// This part comes again, with other bytes.
    Twice(u32),
    /// `\final\` is in the first of these parts, the other is the last.
    FinalInside(u32, u32),
}

/// A response shows by itself that it is wrongly numbered.
pub(in crate::gamespy1) fn misnumbered<S: Sink>(
    what: Misnumbered,
    lost: bool,
    mark: &Mark,
    sink: &mut S,
) {
    let evidence = Evidence { lost, waited: true, asked_party_seen: true, ..Evidence::default() };
    sink.recalled(&GS1031, false, evidence, mark, || match what {
        Misnumbered::Absent => "there is no queryid".into(),
        Misnumbered::Unreadable => {
            "the queryid is not ANSWER.PART, or does not follow the previous one".into()
        }
        Misnumbered::FromZero => "the parts are numbered from 0, not from 1".into(),
        Misnumbered::Twice(part) => format!("part {part} comes twice, with different bytes"),
        Misnumbered::FinalInside(closed, last) => {
            format!("\\final\\ is in part {closed}, and there is a part {last} as well")
        }
    });
}

/// The part of a finding about a response of which a part is missing.
pub(in crate::gamespy1) const PART_MISSING: &str = "is missing";

/// The part of a finding about a response of one part, which does not end.
pub(in crate::gamespy1) const LONE_PART: &str = "\\final\\ is missing in the only part";

/// The same, of one of several parts, by what it lacks: this one, or the last.
pub(in crate::gamespy1) const ONE_MISSING: &str = "part {place} is missing";
pub(in crate::gamespy1) const END_MISSING: &str = "the part with \\final\\ is missing";

/// The rules about the address that the parts of a response come from.
pub(in crate::gamespy1) static PARTS_FROM: ResponseRules =
    ResponseRules { from_asked: &GS1033, asked_for: Some(&GS1031), answered: &GS1031 };

rule! {
    /// Browsers show these; a server without them has an empty line, and one with more players than
    /// places is taken for full, or for forged.
    pub GS1034 "answer-has" { severity: Warning, who: Server, needs: Interval,
        asks: "`\\info\\` has hostname, mapname and numplayers, `\\basic\\` gamename, `\\players\\` numbered players; numbers are decimal, numplayers at most maxplayers; no key stands twice",
        cite: [("Basic Operation", "Every server responds to this request with the server name, mapname, number of players and more.")],
        right: concat!(
            r"0.00 c > s:7778  '\\info\\'", "\n",
            r"0.02 s:7778 > c  '\\hostname\\Test\\mapname\\DM-Deck16\\numplayers\\4\\maxplayers\\16\\queryid\\1.1\\final\\'"),
        wrong: concat!(
            r"0.00 c > s:7778  '\\info\\'", "\n",
            r"0.02 s:7778 > c  '\\hostname\\Test\\mapname\\DM-Deck16\\queryid\\1.1\\final\\'") }
}

/// The part of a finding about a key that stands twice.
pub(in crate::gamespy1) const TWICE: &str = "stands twice";

/// Checks a whole answer: the names and values of its pairs, and what was asked for, if known.
pub(in crate::gamespy1) fn answer_has<S: Sink>(
    pairs: &[[Read<&[u8]>; 2]],
    asked: Option<QueryKind>,
    sink: &mut S,
) {
    let Some(place) = pairs.first().map(|[name, _]| name.at) else { return };
    let value = |key: &[u8]| pairs.iter().find(|[name, _]| name.value == key).map(|it| it[1]);
    let due: &[&str] = match asked {
        Some(QueryKind::Info) => &["hostname", "mapname", "numplayers"],
        Some(QueryKind::Basic) => &["gamename"],
        _ => &[],
    };
    // An answer with the keys of another kind answers another query, which the recorder lost.
    let is_other = match asked {
        Some(QueryKind::Info) => value(b"gamename").is_some(),
        Some(QueryKind::Basic) => value(b"hostname").is_some(),
        Some(QueryKind::Players) => {
            ["hostname", "gamename"].iter().any(|key| value(key.as_bytes()).is_some())
        }
        _ => false,
    };
    let is_numbered = |[name, _]: &[Read<&[u8]>; 2]| {
        let number = name.value.rsplit(|&byte| byte == b'_').next().unwrap_or_default();
        number.len() < name.value.len() && decimal::<u32>(number).is_some()
    };
    let lists_none =
        asked == Some(QueryKind::Players) && !is_other && !pairs.iter().any(is_numbered);
    let asked = asked.map(QueryKind::name).unwrap_or_default();
    let mut faults: Vec<(Span, String)> = Vec::new();
    let missing = due.iter().filter(|key| !is_other && value(key.as_bytes()).is_none());
    faults.extend(missing.map(|key| (place, format!("the answer to \\{asked}\\ has no {key}"))));
    if lists_none {
        faults.push((place, format!("the answer to \\{asked}\\ numbers no player")));
    }
    let numbers = ["hostport", "numplayers", "maxplayers"].map(|key| {
        let value = value(key.as_bytes())?;
        let number = decimal::<u32>(value.value);
        if number.is_none() {
            let text = format!("{key} is {}, not a decimal number", Quoted(value.value));
            faults.push((value.at, text));
        }
        Some((number?, value.at))
    });
    if let [_, Some((players, at)), Some((most, _))] = numbers
        && players > most
    {
        faults.push((at, format!("numplayers is {players}, maxplayers {most}")));
    }
    let mut names: Vec<_> = pairs.iter().map(|[name, _]| *name).collect();
    let twice = repeated(&mut names);
    if faults.is_empty() && twice.is_empty() {
        sink.checked(&GS1034, true, place, String::new);
    }
    for (at, text) in faults {
        sink.checked(&GS1034, false, at, || text);
    }
    for name in twice {
        sink.checked(&GS1034, false, name.at, || format!("{} {TWICE}", Quoted(name.value)));
    }
}

rule! {
    /// A client that queries no listed server may be a tool and not a game.
    ///
    /// The ledger checks this rule, because it needs more than one pair of hosts.
    pub GS1032 "listed-then-queried" { severity: Note, who: Client, needs: Beginning,
        asks: "a client queries servers of its list",
        cite: [("Clients", "In-game, the server browser queries all servers in the list in order to display individual server statistics.")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin\n0.10 c > s:7778  '\\\\info\\\\'\n0.12 s:7778 > c  '\\\\hostname\\\\Test\\\\mapname\\\\DM-Deck16\\\\numplayers\\\\0\\\\queryid\\\\1.1\\\\final\\\\'"),
        wrong: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin\nend 60") }
}
