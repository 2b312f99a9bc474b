//! Responses in several datagrams, in any order: they are kept until all have arrived, and then
//! reported as one message.

use crate::kit::{
    Buffer, Context, CrossFlowEvent, Evidence, IncompleteResponse, Limit, Mark, Name, Pair,
    PartsFound, Payload, Read, Side, Sink, Time, Unfinished, UnfinishedResponses, keyed_hash, room,
};

use super::queries::AnsweredQuery;
use super::rules::{self, Misnumbered};
use super::words::{self, Numbering, TextPairs, TextProperties};
use super::{GameSpy1, decode, messages, queries, uplink};

type Cx<'c> = Context<'c, GameSpy1>;

/// Far more than any server sends.
/// Limit: datagrams of one response of the GameSpy text protocol | {}, and `parts-bytes` | NET011 as `parts-bytes`; the
/// others are shown on their own
const MOST_HELD: usize = 256;

/// Whole responses that are kept to recognize copies.
const MOST_DONE: usize = 4;

/// One datagram of a response: the part that it has.
#[derive(Clone, Copy)]
struct HeldDatagram {
    first: u32,
    last: u32,
    closed: bool,
}

/// An incomplete response. Its ID is its number.
type OpenResponse = Unfinished<HeldDatagrams>;

/// The datagrams of an incomplete response.
struct HeldDatagrams {
    /// The first of them.
    mark: Mark,
    /// The part in each.
    held: Vec<HeldDatagram>,
    /// All of them were also in the previous whole response.
    copied: bool,
    /// The query that it answers.
    asked: Option<AnsweredQuery>,
}

impl OpenResponse {
    /// The datagrams in order; `Err`: the first missing part, if the last one is known.
    fn order(&self) -> Result<Vec<usize>, Option<u32>> {
        let mut order: Vec<usize> = (0..self.more.held.len()).collect();
        order.sort_by_key(|&at| self.more.held.get(at).map(|held| held.first));
        let mut next = 1_u32;
        let mut closed = false;
        for held in order.iter().filter_map(|&at| self.more.held.get(at)) {
            if held.first != next {
                return Err(Some(next));
            }
            closed |= held.closed;
            next = held.last.saturating_add(1);
        }
        if closed { Ok(order) } else { Err(None) }
    }
}

/// The latest response that ended with its first datagram.
#[derive(Clone, Copy, Default)]
pub(super) struct EndedResponse {
    /// As bytes, so that it takes no room for alignment.
    number: [u8; 4],
    more: MoreParts,
}

/// Whether parts came after the `\final\` of a response.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum MoreParts {
    /// There was no such response.
    #[default]
    NoResponse,
    No,
    /// A finding names the first of them.
    Reported,
}

/// One of the latest whole responses, to recognize a copy of one of its datagrams.
struct WholeResponse {
    side: Side,
    number: u32,
    time: Time,
    datagrams: Vec<u64>,
}

/// The incomplete responses of one flow.
#[derive(Default)]
pub(super) struct OpenResponses {
    waiting: UnfinishedResponses<HeldDatagrams>,
    /// The latest last.
    done: Vec<WholeResponse>,
}

impl OpenResponses {
    /// Bytes of memory that the budget does not count.
    pub(super) fn held(&self) -> usize {
        self.waiting.held(|more| room(&more.held))
            + room(&self.done)
            + self.done.iter().map(|done| room(&done.datagrams)).sum::<usize>()
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.waiting.due()
    }

    /// Whether a part of this response waits for the others.
    pub(super) fn is_waiting(&self, side: Side, number: u32) -> bool {
        self.waiting.find(side, number).is_some()
    }

    /// When the response with this datagram was complete, if it is one of the latest.
    fn was_in(&self, payload: &Payload<'_>, number: u32) -> Option<Time> {
        let same = |done: &&WholeResponse| done.side == payload.side && done.number == number;
        let mut done = self.done.iter().rev().filter(same).peekable();
        done.peek()?;
        let hash = keyed_hash(payload.bytes);
        done.find(|done| done.datagrams.contains(&hash)).map(|done| done.time)
    }
}

/// Adds a datagram of a response. Its first datagram answers the query.
pub(super) fn datagram<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    let mark = payload.mark();
    let (number, held) = match words.numbering {
        Numbering::Parts { response, first, last } if first > 0 => {
            (response, HeldDatagram { first, last, closed: words.closed.is_some() })
        }
        other => {
            let what = match other {
                Numbering::Absent => Misnumbered::Absent,
                Numbering::Wrong => Misnumbered::Unreadable,
                Numbering::Parts { .. } => Misnumbered::FromZero,
            };
            whole(cx, payload, words, sink, |sink| {
                if words.is_sound() {
                    rules::misnumbered(what, payload.lost, &mark, sink);
                }
            });
            return;
        }
    };
    let is_begun = cx.conversation.has_parts(payload.side, number);
    if held.first == 1 && held.closed && !is_begun {
        cx.conversation.ended = EndedResponse { number: number.to_le_bytes(), more: MoreParts::No };
        whole(cx, payload, words, sink, |sink| rules::numbered(mark.whole(), sink));
    } else if held.first > 1 && !is_begun && goes_on(cx, payload, number) {
        after_end(cx, payload, number, held, sink);
    } else {
        gather(cx, payload, words, number, held, sink);
    }
}

/// Whether this is the number of the response that has just ended, and no query asks for another.
fn goes_on(cx: &Cx<'_>, payload: &Payload<'_>, number: u32) -> bool {
    let EndedResponse { number: ended, more } = cx.conversation.ended;
    more != MoreParts::NoResponse
        && ended == number.to_le_bytes()
        && cx.flow.silence <= cx.settings.answer_timeout.unsigned_abs()
        && !cx.conversation.awaits(payload.side, Time(i64::MIN))
}

/// A part of a response whose first part has `\final\`: that one counted as the whole response.
fn after_end<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    number: u32,
    held: HeldDatagram,
    sink: &mut S,
) {
    single_datagram(cx, payload, number, held, sink);
    let before = std::mem::replace(&mut cx.conversation.ended.more, MoreParts::Reported);
    if before == MoreParts::No {
        let what = Misnumbered::FinalInside(1, held.last);
        rules::misnumbered(what, payload.lost, &payload.mark(), sink);
    }
}

/// A response in one datagram.
fn whole<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
    numbering: impl FnOnce(&mut S),
) {
    decode::message(payload.bytes, words, decode::MessageKind::Response, sink);
    numbering(sink);
    uplink::answered(cx, payload, words, sink);
    let asked = queries::answered(cx, payload, words, sink);
    report_reply(asked, sink);
    if words.is_sound() && !payload.lost {
        answer_has(payload.bytes, &[payload.bytes.len()], asked, sink);
    }
    // A few bytes may be what is left of a response.
    let is_response = payload.bytes.len() < 4 || payload.bytes.contains(&b'\\');
    sink.end(if is_response { &messages::QUERY_RESPONSE } else { &messages::TEXT }, payload);
}

/// Checks the contents of a response whose datagrams end here.
fn answer_has<S: Sink>(bytes: &[u8], ends: &[usize], asked: Option<AnsweredQuery>, sink: &mut S) {
    let mut pairs = Vec::new();
    let mut start = 0;
    for &end in ends {
        let text = bytes.get(start..end).unwrap_or_default();
        let own = |pair: &Pair<'_>| {
            pair.value.is_some()
                && ![words::QUERYID, words::FINAL, b"echo", b"validate"].contains(&pair.key)
        };
        pairs.extend(TextPairs::new(text, start).filter(own).map(|pair| {
            let (key, at) = (pair.key, pair.key_at());
            [Read { value: key, at }, Read { value: pair.text(), at: pair.value_at() }]
        }));
        start = end;
    }
    rules::answer_has(&pairs, asked.and_then(|asked| asked.kind), sink);
}

fn report_reply<S: Sink>(asked: Option<AnsweredQuery>, sink: &mut S) {
    if let Some(asked) = asked {
        sink.answers(asked.reply);
    }
}

fn gather<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    number: u32,
    held: HeldDatagram,
    sink: &mut S,
) {
    let (side, responses) = (payload.side, cx.conversation.responses());
    let is_known = responses.waiting.find(side, number).is_some();
    let done = responses.was_in(payload, number);
    // Without a repeated query, the network or the recorder duplicated it.
    if let Some(done) = done.filter(|_| !is_known)
        && !cx.conversation.awaits(side, done)
    {
        // A duplicate query is answered by this.
        report_reply(queries::answered(cx, payload, words, sink), sink);
        single_datagram(cx, payload, number, held, sink);
        return;
    }
    if held.first == 1 && held.closed {
        give_up_older(cx, payload, number, sink);
    }
    match cx.conversation.responses().waiting.find(side, number) {
        None => begin(cx, payload, words, number, sink),
        Some(response) => match repeats(response, payload, held) {
            NumberRepeat::No => {}
            NumberRepeat::Same => {
                single_datagram(cx, payload, number, held, sink);
                return;
            }
            NumberRepeat::Differs => {
                if let Some(response) = cx.conversation.responses().waiting.take(side, number) {
                    replaced(cx, *response, held.first, payload, sink);
                }
                begin(cx, payload, words, number, sink);
            }
        },
    }
    keep(cx, payload, number, held, done.is_some(), sink);
}

/// A whole response came, to the query that waits: a part that came before that answers an older one.
fn give_up_older<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, number: u32, sink: &mut S) {
    let (side, responses) = (payload.side, cx.conversation.responses());
    let unasked = responses.waiting.find(side, number).filter(|it| it.more.asked.is_none());
    if let Some(since) = unasked.map(|it| it.more.mark.time)
        && cx.conversation.awaits(side, since)
        && let Some(older) = cx.conversation.responses().waiting.take(side, number)
    {
        give_up(cx, *older, payload.time, sink);
    }
}

/// Keeps a part until its response is complete. `is_again`: a complete one had its number.
fn keep<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    number: u32,
    held: HeldDatagram,
    is_again: bool,
    sink: &mut S,
) {
    let (side, most) = (payload.side, cx.settings.limits.parts_bytes);
    let waiting = &mut cx.conversation.responses().waiting;
    let Some(response) = waiting.find_mut(side, number) else { return };
    let is_full = response.more.held.len() >= MOST_HELD;
    if is_full {
        cx.budget.meet(Limit::PartsBytes);
    }
    if is_full || !response.buffer.keep(payload, most, cx.budget) {
        if response.more.held.is_empty() {
            report_reply(response.more.asked, sink);
            waiting.take(side, number);
        }
        single_datagram(cx, payload, number, held, sink);
        return;
    }
    response.more.held.push(held);
    response.more.copied &= is_again;
    if let Ok(order) = response.order()
        && let Some(response) = waiting.take(side, number)
    {
        join(cx, *response, &order, payload, sink);
    } else if !cx.flow.seen[side.other().index()] {
        sink.cross_flow(CrossFlowEvent::StrayPart(number), payload.seen());
    }
}

/// Makes room for a response; if there are too many, the oldest is removed.
fn begin<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    number: u32,
    sink: &mut S,
) {
    let most = cx.settings.limits.unfinished;
    if let Some(oldest) = cx.conversation.responses().waiting.take_beyond(most, cx.budget) {
        give_up(cx, *oldest, payload.time, sink);
    }
    let due = payload.time.after(cx.settings.answer_timeout);
    let asked = cx.flow.seen[payload.side.other().index()];
    let query = queries::answered(cx, payload, words, sink);
    let more = HeldDatagrams { mark: payload.mark(), held: Vec::new(), copied: true, asked: query };
    let begun = Unfinished { due, ..Unfinished::new(number, payload.side, asked, more) };
    cx.conversation.responses().waiting.push(Box::new(begun));
}

enum NumberRepeat {
    No,
    Same,
    Differs,
}

fn repeats(response: &OpenResponse, payload: &Payload<'_>, new: HeldDatagram) -> NumberRepeat {
    let overlaps = |held: &HeldDatagram| held.first <= new.last && new.first <= held.last;
    if !response.more.held.iter().any(overlaps) {
        NumberRepeat::No
    } else if response.each().any(|bytes| bytes == payload.bytes) {
        NumberRepeat::Same
    } else {
        NumberRepeat::Differs
    }
}

/// A datagram that is reported on its own.
fn single_datagram<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    number: u32,
    held: HeldDatagram,
    sink: &mut S,
) {
    let words = words::scan(payload.bytes);
    sink.evidence(Evidence { lost: payload.lost, ..cx.flow.evidence() });
    decode::fragment(payload.bytes, &words, number, held.first, sink);
    uplink::answered(cx, payload, &words, sink);
    sink.end(&messages::QUERY_FRAGMENT, payload);
}

/// All parts have arrived.
fn join<S: Sink>(
    cx: &mut Cx<'_>,
    response: OpenResponse,
    order: &[usize],
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let mut joined = Buffer::for_parts_of(&response.buffer);
    let mut ends = Vec::with_capacity(order.len());
    let (mut lost, mut sent) = (false, 0);
    let (mut closed, mut last) = (None, 0);
    for &at in order {
        let (Some(part), Some(held)) = (response.parts().get(at), response.more.held.get(at))
        else {
            continue;
        };
        joined.append_part(&response.buffer, part, 0);
        ends.push(joined.bytes.len());
        lost |= part.lost;
        sent += part.sent();
        last = held.last;
        if held.closed && closed.is_none() {
            closed = Some(held.last);
        }
    }
    let datagrams = response.each().map(keyed_hash).collect();
    let (side, number, time) = (response.side, response.id, payload.time);
    let asked = response.more.asked;
    let done = WholeResponse { side, number, time, datagrams };
    let latest = &mut cx.conversation.responses().done;
    if latest.len() >= MOST_DONE {
        latest.remove(0);
    }
    latest.push(done);
    response.release(cx.budget);
    let payload = Payload { lost, ..payload.joined(&joined, sent) };
    sink.evidence(Evidence { lost, ..cx.flow.evidence() });
    let inside = closed.filter(|closed| *closed < last);
    let words = decode::joined(payload.bytes, &ends, inside.is_none(), sink);
    match inside {
        Some(closed) => {
            let what = Misnumbered::FinalInside(closed, last);
            rules::misnumbered(what, lost, &payload.mark(), sink);
        }
        None => rules::numbered(payload.whole(), sink),
    }
    uplink::answered(cx, &payload, &words, sink);
    report_reply(asked, sink);
    if words.is_sound() && !lost && inside.is_none() {
        answer_has(payload.bytes, &ends, asked, sink);
    }
    sink.end(&messages::QUERY_RESPONSE, &payload);
}

/// A part came again, with other bytes: its number is reused for the response to another query, or there is no such query.
fn replaced<S: Sink>(
    cx: &mut Cx<'_>,
    response: OpenResponse,
    part: u32,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let asked_once = response.more.asked.is_some_and(|asked| asked.reply.tries == 1);
    if !asked_once || cx.conversation.awaits(payload.side, Time(i64::MIN)) {
        give_up(cx, response, payload.time, sink);
        return;
    }
    let lost = payload.lost || response.is_lost() || cx.flow.lossy;
    single_datagrams(cx, &response, sink);
    response.release(cx.budget);
    rules::misnumbered(Misnumbered::Twice(part), lost, &payload.mark(), sink);
}

/// The rest of a response did not come.
fn give_up<S: Sink>(cx: &mut Cx<'_>, response: OpenResponse, now: Time, sink: &mut S) {
    let HeldDatagrams { mark, copied, .. } = response.more;
    let evidence = Evidence {
        began: cx.flow.began,
        lost: response.is_lost(),
        asked_party_seen: response.asked,
        waited: cx.settings.clock(now).is_over(mark.time),
        lossy: cx.flow.lossy,
        ..Evidence::default()
    };
    if !copied {
        sink.evidence(evidence);
        let incomplete = IncompleteResponse {
            rules: &rules::PARTS_FROM,
            id: response.id,
            parts: parts_of(&response),
            is_asked: response.asked,
            first: cx.flow.seen_in(mark),
            evidence,
        };
        incomplete.report(cx.settings.answer_timeout, sink);
    }
    single_datagrams(cx, &response, sink);
    response.release(cx.budget);
}

/// The parts of an incomplete response that came.
fn parts_of(response: &OpenResponse) -> PartsFound {
    let held = || response.more.held.iter();
    let number = |part: u32| u16::try_from(part).unwrap_or(u16::MAX);
    let found = held().map(|it| it.last.saturating_sub(it.first).saturating_add(1));
    let last = held().map(|it| it.last).max().unwrap_or_default();
    let ends = held().filter(|it| it.closed).map(|it| it.last).max();
    let gap = response.order().err().flatten();
    let says = match gap {
        Some(_) => rules::ONE_MISSING,
        None if response.more.held.len() == 1 => rules::LONE_PART,
        None => rules::END_MISSING,
    };
    PartsFound {
        found: number(found.fold(0, u32::saturating_add)),
        total: ends.map_or(0, number),
        missing: number(gap.map_or(last, |gap| gap.saturating_sub(1))),
        highest: number(last),
        has_request: response.asked,
        says: Name(says),
    }
}

/// Each datagram of a response is reported on its own.
fn single_datagrams<S: Sink>(cx: &mut Cx<'_>, response: &OpenResponse, sink: &mut S) {
    for (part, held) in response.parts().iter().zip(&response.more.held) {
        let pieces = response.buffer.pieces_of(part);
        let payload = response.payload(cx.flow, part, &pieces);
        single_datagram(cx, &payload, response.id, *held, sink);
    }
}

/// Removes overdue responses; with `end`, all of them.
pub(super) fn expire<S: Sink>(cx: &mut Cx<'_>, now: Time, end: bool, sink: &mut S) {
    while let Some(response) = cx.conversation.responses().waiting.take_overdue(now, end) {
        give_up(cx, *response, now, sink);
    }
}
