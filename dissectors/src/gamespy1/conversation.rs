//! The conversation of one flow: determines the kind of a message and passes it on.

use crate::kit::{
    Closed, Context, Evidence, Exchanges, FlowState, OnDemand, Payload, Side, Sink, Time, Transport,
};

use super::connection::{self, MasterConnection};
use super::decode::{self, MessageKind};
use super::form::Form;
use super::list;
use super::pending::Asked;
use super::queries::{expire, query};
use super::responses::{self, EndedResponse, OpenResponses};
use super::stream::{HeldText, StreamFraming, StreamUnit};
use super::uplink::{self, Uplink};
use super::words::{self, Numbering, TextProperties};
use super::{GameSpy1, messages};

type Cx<'c> = Context<'c, GameSpy1>;

/// The state of one flow.
#[derive(Default)]
pub struct Conversation {
    /// Queries that wait for a response.
    pub(super) requests: Exchanges<Asked>,
    /// The side whose latest response had no query: it may have been recorded before its query.
    pub(super) unasked: Option<Side>,
    /// The latest response counted as one only because a query was pending.
    was_bare: bool,
    /// A datagram came before.
    began: bool,
    pub(super) ended: EndedResponse,
    /// State that a flow of one query does not need.
    more: OnDemand<MultiMessageState>,
}

#[derive(Default)]
struct MultiMessageState {
    responses: OpenResponses,
    uplink: OnDemand<Uplink>,
    connection: OnDemand<MasterConnection>,
    framing: StreamFraming,
    /// The flow belongs to the protocol only because the user forces it: all its bytes are shown.
    is_forced: bool,
}

impl FlowState for Conversation {
    fn held(&self) -> usize {
        let more = self.more.held(|more| {
            let uplink = more.uplink.held(Uplink::held);
            let connection = more.connection.held(MasterConnection::held);
            more.responses.held() + more.framing.held() + uplink + connection
        });
        self.requests.held() + more
    }

    fn refused(&mut self, frame: u64) {
        self.requests.refused(frame);
        if let Some(uplink) = self.uplink_so_far() {
            uplink.refuse(frame);
        }
    }

    /// When the first response in parts is overdue, or a text in a stream is complete.
    fn deadline(&self) -> Option<Time> {
        let more = self.more.get()?;
        more.responses.due().into_iter().chain(more.framing.due()).min()
    }
}

impl Conversation {
    pub(super) fn responses(&mut self) -> &mut OpenResponses {
        &mut self.more.get_or_default().responses
    }

    /// Whether a part of this response waits for the others.
    pub(super) fn has_parts(&self, side: Side, number: u32) -> bool {
        self.more.get().is_some_and(|more| more.responses.is_waiting(side, number))
    }

    pub(super) fn uplink(&mut self) -> &mut Uplink {
        self.more.get_or_default().uplink.get_or_default()
    }

    pub(super) fn uplink_so_far(&mut self) -> Option<&mut Uplink> {
        self.more.get_mut()?.uplink.get_mut()
    }

    pub(super) fn connection(&mut self) -> &mut MasterConnection {
        self.more.get_or_default().connection.get_or_default()
    }

    pub(super) fn connection_so_far(&mut self) -> Option<&mut MasterConnection> {
        self.more.get_mut()?.connection.get_mut()
    }

    /// The read position in the stream.
    pub(super) fn framing(&mut self) -> &mut StreamFraming {
        &mut self.more.get_or_default().framing
    }

    /// The form of the list that is due from this side; its request may still be held.
    pub(super) fn wanted(&mut self, side: Side) -> Option<Form> {
        let more = self.more.get_or_default();
        let asked = more.framing.held_of(side.other()).map(words::scan);
        let connection = more.connection.get_or_default();
        let asked = asked.and_then(|words| connection.due(side, &words));
        asked.or_else(|| connection.owes().filter(|_| connection.is_master(side)))
    }

    /// Whether a query from `answering`'s other side is pending that came since then.
    pub(super) fn awaits(&self, answering: Side, since: Time) -> bool {
        let mut marks = self.requests.iter().map(|asked| asked.mark);
        marks.any(|mark| mark.side != answering && mark.time >= since)
    }
}

/// One datagram, or one framed message.
pub(super) fn message<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    if payload.transport == Transport::Tcp {
        in_stream(cx, payload, sink);
        return;
    }
    let words = words::scan(payload.bytes);
    let kind_alone = MessageKind::of(&words, Transport::Udp, Form::Text);
    let kind = reported_as(cx, payload, &words, kind_alone);
    let is_first = !std::mem::replace(&mut cx.conversation.began, true);
    if kind == MessageKind::Other && !payload.bytes.starts_with(b"\\") && is_first {
        // The user says so.
        cx.conversation.more.get_or_default().is_forced = true;
    }
    let is_forced = cx.conversation.more.get().is_some_and(|more| more.is_forced);
    if kind == MessageKind::Other && !payload.bytes.starts_with(b"\\") && !is_forced {
        // Games use these ports for their own traffic as well.
        expire(cx, payload.time, false, sink);
        return;
    }
    if kind == MessageKind::Response {
        cx.conversation.was_bare = kind_alone == MessageKind::Other;
        responses::datagram(cx, payload, &words, sink);
        sink.announces(words.hostport, payload);
        expire(cx, payload.time, false, sink);
        return;
    }
    decode::message(payload.bytes, &words, kind, sink);
    match kind {
        MessageKind::Heartbeat => uplink::heartbeat(cx, payload, &words, sink),
        MessageKind::Secure => uplink::secure(cx, payload, &words, sink),
        MessageKind::Validate => uplink::validate(cx, payload, &words, sink),
        MessageKind::Query => query(cx, payload, &words, sink),
        MessageKind::ListRequest if !words.is_exempt() => {
            // Whatever the capture lacks, there is no validate over UDP before it.
            let there = Evidence { began: true, asked_party_seen: true, ..Evidence::default() };
            sink.evidence(Evidence { lost: payload.lost, ..there });
            super::rules::list_over_udp(words.list.map_or(payload.whole(), |list| list.at), sink);
            sink.evidence(cx.flow.evidence());
        }
        _ => {}
    }
    expire(cx, payload.time, false, sink);
    sink.end(kind.message(), payload);
}

/// The kind of a datagram that by itself looks like `said`.
fn reported_as(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    kind_alone: MessageKind,
) -> MessageKind {
    // Queries have no end: a master answers a heartbeat in words.
    let is_remark = [&b"echo"[..], b"error"].contains(&words.first) && words.closed.is_some();
    let is_of_master = |uplink: &mut Uplink| uplink.is_server(payload.side.other());
    if is_remark && cx.conversation.uplink_so_far().is_some_and(is_of_master) {
        return MessageKind::Other;
    }
    // A response without a number and an end is recognized only by a pending query. So is one with
    // another beginning than a text's.
    if kind_alone == MessageKind::Other && words.properties > 0 {
        let since = Time(payload.time.0.saturating_sub(cx.settings.answer_timeout));
        if cx.conversation.awaits(payload.side, since) {
            return MessageKind::Response;
        }
    }
    // A response to a challenge is not part of another response, either.
    if kind_alone == MessageKind::Response
        && words.is_lone_validate()
        && cx.conversation.uplink_so_far().is_some_and(|uplink| uplink.owes(payload.side))
    {
        return MessageKind::Validate;
    }
    kind_alone
}

/// A duplicate datagram is shown as it was the first time.
pub(super) fn again<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let (bytes, words) = (payload.bytes, words::scan(payload.bytes));
    let kind = match MessageKind::of(&words, Transport::Udp, Form::Text) {
        MessageKind::Other if cx.conversation.was_bare => MessageKind::Response,
        MessageKind::Other if !bytes.starts_with(b"\\") => return,
        kind => kind,
    };
    match words.numbering {
        Numbering::Parts { response, first, .. }
            if kind == MessageKind::Response && words.is_part() =>
        {
            decode::fragment(bytes, &words, response, first, sink);
            sink.end(&messages::QUERY_FRAGMENT, payload);
        }
        _ => {
            decode::message(bytes, &words, kind, sink);
            sink.end(kind.message(), payload);
        }
    }
}

/// A message in a stream: an earlier held text may be complete, and this one be held in its place.
fn in_stream<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    while let Some(held) = cx.conversation.framing().over(payload.side) {
        reported(cx, &held, sink);
        sink.evidence(Evidence { lost: payload.lost, ..cx.flow.evidence() });
    }
    let timeout = cx.settings.answer_timeout;
    if !cx.conversation.framing().holds(payload, timeout) {
        in_whole(cx, payload, sink);
    }
}

/// A held text is complete.
fn reported<S: Sink>(cx: &mut Cx<'_>, held: &HeldText, sink: &mut S) {
    // If the recording has a gap, the rest may be missing.
    let lost = held.lost || cx.flow.lossy && !held.is_whole();
    let &HeldText { frame, time, side, ref buffer, .. } = held;
    let payload =
        Payload { frame, time, lost, ..cx.flow.payload(side, &buffer.bytes, &buffer.pieces) };
    sink.evidence(Evidence { lost, ..cx.flow.evidence() });
    if held.opens {
        connection::opens(cx, side);
    }
    match held.found {
        StreamUnit::Loose => {
            decode::loose(payload.bytes, sink);
            sink.end(MessageKind::Other.message(), &payload);
        }
        StreamUnit::Plain => {
            decode::plain(payload.bytes, sink);
            connection::other(cx, &payload, sink);
            sink.end(MessageKind::Other.message(), &payload);
        }
        StreamUnit::Text | StreamUnit::Whole => in_whole(cx, &payload, sink),
    }
}

/// A direction has ended, and with it the held text: closing counts as a response, too.
pub(super) fn closed<S: Sink>(cx: &mut Cx<'_>, how: Closed, payload: &Payload<'_>, sink: &mut S) {
    while let Some(held) = cx.conversation.framing().take(payload.time, true) {
        reported(cx, &held, sink);
        sink.evidence(cx.flow.evidence());
    }
    connection::closed(cx, how, payload, sink);
}

/// A whole message of a stream.
fn in_whole<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let connection = cx.conversation.connection();
    let owes = connection.owes().filter(|_| connection.is_master(payload.side));
    let bytes = payload.bytes;
    let blocks = owes == Some(Form::Compact) && list::is_blocks(bytes);
    if bytes.starts_with(list::OPENING) && !blocks {
        list_in_text(cx, payload, sink);
        return;
    }
    let words = words::scan(bytes);
    let text = bytes.starts_with(b"\\") && !blocks && !is_blocks(owes, bytes, &words);
    if !text {
        let form = owes.filter(|form| matches!(form, Form::Compact | Form::Enciphered));
        // A list that is not encrypted can be read, whatever was requested.
        let plain = form == Some(Form::Enciphered) && list::are_closed_blocks(bytes);
        let complete = match form.unwrap_or(Form::Unknown) {
            Form::Compact => Some(list::compact(bytes, connection::lists(cx, payload), sink)),
            _ if plain => Some(list::compact(bytes, connection::lists(cx, payload), sink)),
            form => {
                list::opaque(bytes, form, sink);
                None
            }
        };
        connection::list_response(cx, payload, complete, sink);
        sink.end(MessageKind::ListResponse(Form::Compact).message(), payload);
        return;
    }
    let wants = connection.asks().filter(|_| owes.is_some()).unwrap_or_default();
    let kind = match MessageKind::of(&words, Transport::Tcp, wants) {
        MessageKind::Other if connection.is_due_to_synchronise(payload.side) => {
            MessageKind::SyncResponse
        }
        kind => kind,
    };
    if kind == MessageKind::ListResponse(Form::Text) {
        list_in_text(cx, payload, sink);
        return;
    }
    decode::message(bytes, &words, kind, sink);
    match kind {
        MessageKind::Secure => connection::secure(cx, payload, &words, sink),
        MessageKind::Validate => connection::validate(cx, payload, &words, sink),
        MessageKind::ListRequest => connection::list_request(cx, payload, &words, sink),
        MessageKind::SyncRequest => connection::sync_request(cx, payload, sink),
        MessageKind::ListResponse(_) => {
            connection::list_response(cx, payload, Some(words.closed.is_some()), sink);
        }
        _ => connection::other(cx, payload, sink),
    }
    sink.end(kind.message(), payload);
}

fn list_in_text<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let seen = connection::lists(cx, payload);
    let words = list::text(payload.bytes, seen, sink);
    connection::list_response(cx, payload, Some(words.closed.is_some()), sink);
    sink.end(MessageKind::ListResponse(Form::Text).message(), payload);
}

/// Whether bytes after a backslash are a list in blocks: its first address may begin with that
/// byte.
fn is_blocks(owes: Option<Form>, bytes: &[u8], words: &TextProperties<'_>) -> bool {
    let text = [&b"ip"[..], b"echo", b"basic", b"secure"].contains(&words.first);
    match owes {
        Some(Form::Compact) => !text,
        Some(Form::Enciphered) => {
            !text
                && words.first != words::FINAL
                && !bytes.iter().all(|byte| (b' '..=b'~').contains(byte))
        }
        _ => false,
    }
}

/// The capture has reached `now`.
pub(super) fn elapse<S: Sink>(cx: &mut Cx<'_>, now: Time, end: bool, sink: &mut S) {
    if !cx.conversation.more.is_none() {
        while let Some(mut held) = cx.conversation.framing().take(now, end) {
            // The capture may end before the text does.
            held.lost |= !held.may_be_over();
            reported(cx, &held, sink);
        }
        responses::expire(cx, now, end, sink);
    }
    if end {
        expire(cx, now, true, sink);
        connection::end(cx, now, sink);
    }
}
