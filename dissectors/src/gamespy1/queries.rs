//! Pending queries, and the responses to them.

use crate::kit::{
    Context, CrossFlowEvent, Evidence, Limit, Mark, Payload, Reply, SeenMessage, Sending,
    ShortMark, Side, Sink, Time,
};

use super::words::TextProperties;
use super::{GameSpy1, rules, uplink};

type Cx<'c> = Context<'c, GameSpy1>;

/// A query that waits for its response.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingQuery {
    /// The first packet with it.
    pub(super) mark: ShortMark,
    pub(super) word: QueryKind,
    /// An ICMP error quotes its latest repeat.
    pub(super) refused: bool,
    /// It was repeated: [`More::again`] has the latest one.
    pub(super) again: bool,
}

/// A query that was repeated while it was pending.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepeatedQuery {
    /// The packet that it was sent in first.
    pub(super) first: u64,
    pub(super) latest: ShortMark,
    pub(super) tries: u32,
}

/// The kind of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryKind {
    Info,
    Status,
    Basic,
    Rules,
    Players,
}

impl PendingQuery {
    pub(super) fn sent_again<'a>(&self, again: &'a [RepeatedQuery]) -> Option<&'a RepeatedQuery> {
        again.iter().find(|again| self.again && again.first == self.mark.get().frame)
    }
}

impl QueryKind {
    pub(super) fn of(first: &[u8]) -> Option<QueryKind> {
        Some(match first {
            b"info" => QueryKind::Info,
            b"status" => QueryKind::Status,
            b"basic" => QueryKind::Basic,
            b"rules" => QueryKind::Rules,
            b"players" => QueryKind::Players,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            QueryKind::Info => "info",
            QueryKind::Status => "status",
            QueryKind::Basic => "basic",
            QueryKind::Rules => "rules",
            QueryKind::Players => "players",
        }
    }
}

/// Adds a query; for those of the specification, a response from game servers is due.
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
    let Some(word) = QueryKind::of(words.first) else { return };
    if asks_master || !words.is_sound() || payload.lost {
        return;
    }
    sink.fact(CrossFlowEvent::Queried, payload.seen());
    sink.asks(word.name(), payload);
    let answered = cx.conversation.unasked.take() == Some(payload.side.other());
    if answered && cx.flow.silence <= Time::MOMENT.unsigned_abs() {
        rules::query_answered(payload.whole(), sink);
        return;
    }
    let mark = payload.mark();
    // For a repeat, or a copy from the network, no further response is due.
    let again = |other: &PendingQuery| {
        let before = other.mark.get();
        (other.word, before.side, before.length) == (word, mark.side, mark.length)
            && !is_overdue(cx, &before, payload.time)
    };
    let mut pending = cx.conversation.pending.iter();
    let first = pending.find(|asked| again(asked)).map(|first| first.mark.get().frame);
    if let Some(first) = first {
        cx.conversation.repeat(first, mark);
        sink.sent(Sending::Again);
        return;
    }
    let asked = PendingQuery { mark: mark.into(), word, refused: false, again: false };
    let most = cx.settings.limits.pending.max(1);
    if let Some(oldest) = cx.conversation.pending.first()
        && cx.conversation.pending.len() >= most
    {
        cx.budget.meet(Limit::Pending);
        // A query that is removed before it is overdue is not checked.
        if is_overdue(cx, &oldest.mark.get(), payload.time) {
            give_up(cx, payload.time, sink);
        } else {
            cx.conversation.take(0);
        }
    }
    cx.conversation.pending.push(asked);
}

/// A response begins: it answers the oldest query of the other side, or one that is not overdue, if
/// any.
pub(super) fn answered<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    sink: &mut S,
) -> Option<Reply> {
    let asks = |asked: &PendingQuery| asked.mark.get().side != payload.side;
    let in_time =
        |asked: &PendingQuery| asks(asked) && !is_overdue(cx, &asked.mark.get(), payload.time);
    let pending = &cx.conversation.pending;
    let at = pending.iter().position(in_time).or_else(|| pending.iter().position(asks));
    let Some(at) = at else {
        cx.conversation.unasked = Some(payload.side);
        if !is_seen(cx, payload.side.other()) {
            let evidence = Evidence { lost: payload.lost, ..cx.flow.evidence() };
            rules::unasked(evidence, payload.seen(), sink);
        }
        return None;
    };
    let (asked, reply) = cx.conversation.take(at)?;
    rules::query_answered(payload.whole(), sink);
    sink.reflects(asked.word.name(), asked.mark.get().length, payload);
    Some(reply)
}

/// Removes the oldest query.
fn give_up<S: Sink>(cx: &mut Cx<'_>, now: Time, sink: &mut S) {
    let Some((asked, _)) = cx.conversation.take(0) else { return };
    let mark = asked.mark.get();
    let timeout = cx.settings.answer_timeout;
    let evidence = Evidence {
        lossy: cx.flow.lossy,
        refused: asked.refused,
        ..cx.flow.unanswered(mark.side.other(), mark.time, now, timeout)
    };
    let [from, to] = cx.flow.ends_from(mark.side);
    rules::query_ignored(asked.word.name(), evidence, SeenMessage { mark, from, to }, sink);
}

fn is_seen(cx: &Cx<'_>, side: Side) -> bool {
    cx.flow.seen[side.index()]
}

fn is_overdue(cx: &Cx<'_>, mark: &Mark, now: Time) -> bool {
    now.since(mark.time) >= cx.settings.answer_timeout
}

/// Removes overdue queries, or with `end` all. While the capture has no packet of the asked party,
/// it may still appear.
pub(super) fn expire<S: Sink>(cx: &mut Cx<'_>, now: Time, end: bool, sink: &mut S) {
    while let Some(asked) = cx.conversation.pending.first() {
        let mark = asked.mark.get();
        let due = is_overdue(cx, &mark, now) && is_seen(cx, mark.side.other());
        if !end && !due {
            break;
        }
        give_up(cx, now, sink);
    }
    uplink::expire(cx, now, end, sink);
}
