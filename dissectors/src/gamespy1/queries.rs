//! Pending queries, and the responses to them.

use crate::kit::{
    Clock, Context, CrossFlowEvent, Evidence, Mark, Payload, Reply, Request, Side, Sink, Time,
};

use super::pending::{Asked, QueryKind};
use super::words::TextProperties;
use super::{GameSpy1, rules, uplink};

type Cx<'c> = Context<'c, GameSpy1>;

/// The query that a response answers.
#[derive(Clone, Copy)]
pub(super) struct AnsweredQuery {
    /// Its kind, if the response has the keys that it asks for: otherwise it may answer a query that the capture lacks.
    pub(super) kind: Option<QueryKind>,
    pub(super) reply: Reply,
}

/// Adds a query that waits for its response.
pub(super) fn query<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    if words.is_sound() {
        uplink::challenged_in_query(cx, payload, words);
    }
    let asks_master =
        cx.conversation.uplink_so_far().is_some_and(|uplink| uplink.is_server(payload.side));
    let unknown = || words.asks_unknown.then_some(QueryKind::Unknown);
    let Some(word) = QueryKind::of(words.first).or_else(unknown) else { return };
    if asks_master || !words.is_sound() || payload.lost {
        return;
    }
    sink.cross_flow(CrossFlowEvent::Queried, payload.seen());
    sink.asks(word.name(), payload);
    let answered = cx.conversation.unasked.take() == Some(payload.side.other());
    if answered && cx.flow.silence <= Time::MOMENT.unsigned_abs() {
        query_answered(word, payload, sink);
        return;
    }
    // For a repeat, or a copy from the network, no further response is due.
    let mark = payload.mark();
    let [a, b, c, d, e, ..] = mark.frame.to_le_bytes();
    let (length, first) = ((mark.length as u16).to_le_bytes(), [a, b, c, d, e]);
    let what = Asked { kind: word, length, first };
    let asked = Request::new(what, mark, true);
    let sent = cx.conversation.requests.send(asked, cx.settings, cx.budget);
    sink.sent(sent.sending);
    if let Some(overdue) = sent.overdue {
        give_up(cx, &overdue, cx.settings.clock(payload.time), sink);
    }
}

/// The kinds of queries that a response may answer by its keys, the likeliest first; the others may be answered with
/// them, too.
fn kinds_by_keys(words: &TextProperties<'_>, bytes: &[u8]) -> &'static [QueryKind] {
    if words.first.starts_with(b"echo") {
        return &[QueryKind::Echo];
    }
    let has = |key: &[u8]| memchr::memmem::find(bytes, key).is_some();
    let lists_players = has(b"\\player_0\\") || has(b"\\playername_0\\");
    match (has(b"\\hostname\\"), words.gamename.is_some(), lists_players) {
        (true, true, _) => &[QueryKind::Status, QueryKind::Info],
        (true, false, _) => &[QueryKind::Info, QueryKind::Status],
        (false, true, _) => &[QueryKind::Basic, QueryKind::Status],
        (false, false, true) => &[QueryKind::Players, QueryKind::Status],
        (false, false, false) if has(b"\\teamname_0\\") || has(b"\\team_0\\") => {
            &[QueryKind::Teams, QueryKind::Status]
        }
        // The keys of rules are the game's own.
        (false, false, false) => &[
            QueryKind::Rules,
            QueryKind::Status,
            QueryKind::Players,
            QueryKind::Info,
            QueryKind::Basic,
        ],
    }
}

/// A response begins: it answers the query of the other side that asks for its keys, and is not overdue, if any. A response
/// with other keys than any query asks for may answer one that the capture lacks: the latest query, which would be answered
/// last, is taken for it. Without a choice, it answers the only one.
pub(super) fn answered<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) -> Option<AnsweredQuery> {
    let clock = cx.settings.clock(payload.time);
    let asks = |asked: &Request<Asked>| asked.mark.side != payload.side;
    let in_time = |asked: &Request<Asked>| asks(asked) && !asked.is_overdue(clock);
    let requests = &cx.conversation.requests;
    let kinds = kinds_by_keys(words, payload.bytes);
    let first = |is: &dyn Fn(&Request<Asked>) -> bool| {
        let of_kind = |kind: &QueryKind| {
            requests.position(|asked: &Request<Asked>| is(asked) && asked.what.kind == *kind)
        };
        kinds.iter().find_map(of_kind)
    };
    let fitting = first(&in_time).or_else(|| first(&asks));
    let at = fitting.or_else(|| requests.latest(in_time)).or_else(|| requests.position(asks));
    let Some(at) = at else {
        cx.conversation.unasked = Some(payload.side);
        if is_seen(cx, payload.side.other()) {
            cx.flow.response_alone(payload, sink);
        } else {
            let evidence = Evidence { lost: payload.lost, ..cx.flow.evidence() };
            let kinds = kinds_by_keys(words, payload.bytes).iter().map(|kind| kind.bit());
            rules::unasked(kinds.fold(0, |all, kind| all | kind), evidence, payload.seen(), sink);
        }
        return None;
    };
    let asked = cx.conversation.requests.take(at)?;
    query_answered(asked.what.kind, payload, sink);
    sink.reflects(asked.what.kind.name(), asked.mark.length, payload);
    let kind = Some(asked.what.kind).filter(|kind| kinds.contains(kind));
    Some(AnsweredQuery { kind, reply: asked.reply(true) })
}

/// A payload belongs to a query that is answered.
fn query_answered<S: Sink>(kind: QueryKind, payload: &Payload<'_>, sink: &mut S) {
    if kind.demands_response() {
        rules::query_answered(payload.whole(), sink);
    }
}

/// A query is no longer waited for.
fn give_up<S: Sink>(cx: &Cx<'_>, asked: &Request<Asked>, clock: Clock, sink: &mut S) {
    if !asked.what.kind.demands_response() {
        return;
    }
    let evidence = cx.flow.missing(asked, clock);
    let [a, b, c, d, e] = asked.what.first;
    let frame = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
    let first = Mark { frame, time: asked.began, ..asked.mark };
    rules::query_ignored(asked, evidence, cx.flow.seen_in(first), sink);
}

fn is_seen(cx: &Cx<'_>, side: Side) -> bool {
    cx.flow.seen[side.index()]
}

/// Removes overdue queries, or with `end` all. While the capture has no packet of the asked party,
/// it may still appear.
pub(super) fn expire<S: Sink>(cx: &mut Cx<'_>, now: Time, end: bool, sink: &mut S) {
    let (flow, clock) = (cx.flow, cx.settings.clock(now));
    let waits = |asked: &Request<Asked>| !flow.seen[asked.mark.side.other().index()];
    while let Some(asked) = cx.conversation.requests.take_overdue(end, waits, clock) {
        give_up(cx, &asked, clock, sink);
    }
    uplink::expire(cx, now, end, sink);
}
