//! The conversation of one connection: requests wait in order for their responses.

use std::net::SocketAddr;

use crate::kit::http::{self, Framing};
use crate::kit::{
    Budget, Buffer, Closed, Context, CrossFlowEvent, Evidence, FlowState, Framed, Limit, Limits,
    Mark, NewFor, OnDemand, Payload, PendingRequests, Reply, Side, Sink, Time, Unread, room,
};

use super::lines::{BodyState, Response};
use super::params::ApiPath;
use super::probe::{self, ProbeState};
use super::request::{self, Request};
use super::response;
use super::shared::{CheckKey, ListedServer, RequestIdState};
use super::{AcrMaster, claim, digest, messages, rules};

pub(super) type Cx<'c> = Context<'c, AcrMaster>;

/// The state of one flow.
#[derive(Default)]
pub struct Conversation {
    connection: OnDemand<HttpConnection>,
    pub(super) probing: OnDemand<ProbeState>,
}

#[derive(Default)]
struct HttpConnection {
    framing: Framing,
    waiting: PendingRequests<HttpRequest>,
    /// The connection is identified: further messages are reported at once.
    known: bool,
    /// A message is missing, so that responses cannot be assigned.
    adrift: bool,
    /// The latest message is a whole response.
    settled: bool,
    /// A request was sent while another one was pending.
    pipelined: bool,
    /// The time of the latest message.
    latest: Option<Time>,
    registrations: Vec<(CheckKey, Mark)>,
}

/// A request that waits for its response.
struct HttpRequest {
    mark: Mark,
    request: Request,
}

impl FlowState for Conversation {
    fn held(&self) -> usize {
        let connection = self.connection.held(|connection| {
            let requests: usize = connection.waiting.iter().map(|it| it.request.held()).sum();
            connection.waiting.held() + requests + room(&connection.registrations)
        });
        self.probing.held(|_| 0) + connection
    }

    /// A request over TCP is not a single packet.
    fn refused(&mut self, frame: u64) {
        if let Some(probing) = self.probing.get_mut() {
            probing.refused(frame);
        }
    }
}

impl Conversation {
    fn connection(&mut self) -> &mut HttpConnection {
        self.connection.get_or_default()
    }

    /// The next message in a direction.
    pub(super) fn frame(
        &mut self,
        side: Side,
        unread: &Unread<'_>,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Framed {
        let connection = self.connection();
        // Where the capture begins within the connection, the first response belongs to the only request.
        let is_only = connection.waiting.len() == 1 && !connection.pipelined;
        connection.adrift |= unread.after_gap && !(unread.begins_late && is_only);
        let asked = connection.waiting.first();
        let bodiless = asked.is_some_and(|waiting| waiting.request.bodiless);
        let framed = connection.framing.next(side, unread, bodiless, limits, budget);
        if let Framed::Junk(length) = framed {
            let junk = unread.bytes.get(..length).unwrap_or_default();
            connection.adrift |= http::is_start(junk);
            // Empty lines may appear between messages.
            connection.settled &= junk.trim_ascii().is_empty();
        }
        framed
    }
}

impl HttpConnection {
    /// A new request. After missed messages, requests and responses can be assigned again if no
    /// response is due: a client without pipelining has had a response to all earlier requests, and
    /// after a silence nothing is due, as before the first request, if the capture begins within the connection: no program
    /// is known to send several. A request that is read late, because bytes before it were
    /// missing, may already have its response.
    fn find_way(&mut self, payload: &Payload<'_>, answer_timeout: i64) {
        let is_idle = self.waiting.is_empty() && !self.framing.is_midway(payload.side.other());
        let is_late = payload.lost || self.latest.is_some_and(|latest| payload.time < latest);
        let is_quiet = |latest: Time| payload.time.since(latest) >= answer_timeout;
        let is_over = self.settled && !self.pipelined || self.latest.is_none_or(is_quiet);
        self.adrift &= is_late || !is_idle || !is_over;
        self.pipelined |= !self.waiting.is_empty();
    }
}

/// One request or response.
pub(super) fn http<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    if !http::is_response(payload.bytes) {
        request(cx, payload, sink);
        return;
    }
    let (chunks, coded) = http::coding(payload.bytes);
    let Some(chunks) = chunks else {
        response(cx, payload, coded, sink);
        return;
    };
    let mut joined = Buffer::default();
    let mut append = |from: usize, to: usize| {
        joined.append(payload.bytes.get(from..to).unwrap_or_default(), from, payload.pieces);
    };
    append(0, chunks.start());
    chunks.for_each(|(from, to)| append(from, to));
    response(cx, &payload.joined(&joined, payload.sent()), coded, sink);
}

fn request<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let request = request::request(payload.bytes, sink);
    let endpoint = request.endpoint;
    let server =
        ListedServer { address: payload.from.ip(), port: request.port, master: payload.to };
    cx.shared.ask_again(server, &request, cx.settings.limits.remembered);
    let connection = cx.conversation.connection();
    connection.known = connection.known || claim::claims_connection(payload.bytes);
    if endpoint == Some(ApiPath::Register) && request.sound && !payload.lost {
        call_for_check(cx, payload, &request, sink);
    }
    let connection = cx.conversation.connection();
    connection.find_way(payload, cx.settings.answer_timeout);
    connection.latest = connection.latest.max(Some(payload.time));
    connection.settled = false;
    if connection.waiting.len() < cx.settings.limits.pending.max(1) {
        connection.waiting.push(HttpRequest { mark: payload.mark(), request });
    } else {
        connection.adrift = true;
        cx.budget.meet(Limit::Pending);
    }
    sink.end(messages::request(endpoint), payload);
}

fn response<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, coded: bool, sink: &mut S) {
    let connection = cx.conversation.connection();
    connection.known = true;
    let interim = http::is_interim(payload.bytes);
    // Its request was lost, or is recorded after it.
    let is_unasked = !interim && !connection.adrift && connection.waiting.is_empty();
    connection.adrift |= is_unasked;
    let asked = if interim { None } else { connection.waiting.remove(0) };
    let asked = asked.filter(|_| !connection.adrift);
    connection.latest = connection.latest.max(Some(payload.time));
    connection.settled = !interim && !payload.lost && !is_unasked;
    if connection.adrift && !interim {
        connection.waiting = PendingRequests::default();
    }
    let is_cut = payload.lost || connection.framing.is_cut(payload.side);
    if is_cut {
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
    }
    let request = asked.as_ref().map(|waiting| &waiting.request);
    let is_whole = connection.framing.is_whole(payload.side);
    let body = BodyState { coded, is_cut, is_whole };
    let response = response::response(payload.bytes, body, request, sink);
    let mut endpoint = None;
    if let Some(HttpRequest { request, mark }) = &asked {
        endpoint = request.endpoint;
        match endpoint.filter(|_| request.sound && response.ends_in_headers) {
            Some(endpoint) => rules::response_cut(endpoint.name(), mark, sink),
            None => rules::request_answered(payload.whole(), sink),
        }
        sink.answers(Reply::to(mark.frame, mark.time));
        match response.status {
            _ if !request.sound || is_cut || response.ends_in_headers => {}
            200 => answered(cx, payload, request, response, sink),
            400..=499 => {
                let server = asker(payload, request);
                cx.shared.refuse(server, request, cx.settings.limits.remembered);
            }
            _ => {}
        }
    }
    sink.end(messages::response(endpoint), payload);
}

/// The server whose request gets this response.
fn asker(payload: &Payload<'_>, request: &Request) -> ListedServer {
    ListedServer { address: payload.to.ip(), port: request.port, master: payload.from }
}

/// A valid request has its response: updates the state for later requests.
fn answered<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    request: &Request,
    response: Response,
    sink: &mut S,
) {
    let server = asker(payload, request);
    match request.endpoint {
        Some(ApiPath::Register) => {
            cx.shared.registered.insert(server, true, cx.settings.limits.remembered);
        }
        Some(ApiPath::Auth) => {
            if request.wants_challenge() {
                registered(cx, payload, server, &response, sink);
            }
            challenged(cx, payload, server, request, response, sink);
        }
        Some(ApiPath::Verify) => verified(cx, payload, server, request, &response, sink),
        _ => {}
    }
}

/// A server that requested a challenge has a response: only a registered one gets a challenge.
fn registered<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    server: ListedServer,
    response: &Response,
    sink: &mut S,
) {
    let registered = cx.shared.registered.get_mut(&server, cx.settings.limits.remembered);
    match (response.auth, registered.copied()) {
        (Some(b'c'), Some(true)) | (Some(b'f'), None | Some(false)) => {
            rules::register_first(response.auth_at, sink);
        }
        (Some(b'c'), Some(false)) => rules::register_refused(server.port, response.auth_at, sink),
        (Some(b'c'), None) if !cx.shared.registered.forgot() => {
            rules::register_missing(server.port, &payload.mark(), sink);
        }
        _ => {}
    }
}

/// An auth check has its response: whether there is a challenge for its id.
fn challenged<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    server: ListedServer,
    request: &Request,
    response: Response,
    sink: &mut S,
) {
    let most = cx.settings.limits.remembered;
    let Some(id) = request.id else { return };
    if response.auth != Some(b'c') && !response.coded {
        cx.shared.refuse(server, request, most);
        return;
    }
    // The challenge may be unreadable.
    let mut state = RequestIdState::default();
    if let Some(challenge) = response.challenge {
        let given = digest::fingerprint(challenge.as_slice());
        let given = CrossFlowEvent::HandedOut(given, &rules::ACR031, NewFor::All);
        sink.cross_flow(given, payload.seen());
        let known = request.user.as_deref().filter(|user| key_of(cx, user).is_some());
        state.user = known.map(Box::from);
        state.challenge = known.map(|_| challenge);
    }
    cx.shared.ids.insert((server, id), state, most);
}

/// The key of a player that the user of gamewire has set.
fn key_of<'c>(cx: &Cx<'c>, user: &[u8]) -> Option<&'c [u8]> {
    let mut keys = cx.settings.protocols.acr_master.keys.iter();
    keys.find(|(name, _)| name.as_bytes() == user).map(|(_, key)| key.bytes())
}

/// A verification has its result.
fn verified<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    server: ListedServer,
    request: &Request,
    response: &Response,
    sink: &mut S,
) {
    let (Some(id), Some(result @ (b'f' | b'd' | b's'))) = (request.id, response.result) else {
        return;
    };
    let forgot = cx.shared.ids.forgot();
    let most = cx.settings.limits.remembered;
    let before = cx.shared.ids.get_mut(&(server, id), most).map(|state| {
        let before = state.clone();
        state.used = true;
        before
    });
    match (&before, result) {
        (Some(before), b'd' | b's') if before.refused => {
            rules::id_refused(id, response.result_at, sink);
            return;
        }
        (Some(before), b'd' | b's') if before.used => {
            rules::id_used(id, response.result_at, sink);
            return;
        }
        (None, b'd' | b's') if forgot => {}
        (None, b'd' | b's') => rules::id_unknown(id, &payload.mark(), sink),
        (Some(_), b'd' | b's') | (None, _) => rules::id_known(response.result_at, sink),
        (Some(before), _) if before.used || before.refused => {
            rules::id_known(response.result_at, sink)
        }
        (Some(_), _) => {}
    }
    let Some(RequestIdState { user: Some(user), challenge: Some(challenge), .. }) = before else {
        return;
    };
    if let (Some(key), Some(nonce), Some(digest), b'd' | b's') =
        (key_of(cx, &user), &request.nonce, &request.digest, result)
    {
        let right = digest::is_right(key, nonce, &challenge, digest);
        rules::digest(right, result, response.result_at, sink);
    }
}

/// A socket check is due for a registration.
fn call_for_check<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    request: &Request,
    sink: &mut S,
) {
    let Some(ports) = request.ports() else { return };
    ports.into_iter().for_each(|known| sink.announces(Some(known), payload));
    let [_, port] = ports;
    let key = (SocketAddr::new(payload.from.ip(), port), payload.to.ip());
    let mark = payload.mark();
    let late = !cx.conversation.connection().known;
    if let Some(earlier) = cx.shared.call_for_check(key, mark, late) {
        probe::check_probe(cx, key, &earlier, payload.time, sink);
    }
    let registrations = &mut cx.conversation.connection().registrations;
    if registrations.len() < cx.settings.limits.pending.max(1) {
        registrations.push((key, mark));
    } else {
        cx.budget.meet(Limit::Pending);
    }
}

/// A direction has ended. If it is the master's, there are no further responses.
pub(super) fn closed<S: Sink>(cx: &mut Cx<'_>, how: Closed, payload: &Payload<'_>, sink: &mut S) {
    let connection = cx.conversation.connection();
    let asker = connection.waiting.first().map(|waiting| waiting.mark.side);
    if asker == Some(payload.side) {
        if how == Closed::Reset {
            withdrawn(cx, payload.time, sink);
        }
        return;
    }
    give_up(cx, rules::after_close(), sink);
}

/// The client has reset the connection and wants no more responses. One that was due by then is
/// missing.
fn withdrawn<S: Sink>(cx: &mut Cx<'_>, now: Time, sink: &mut S) {
    let answer_timeout = cx.settings.answer_timeout;
    let is_due = |waiting: &HttpRequest| now.since(waiting.mark.time) >= answer_timeout;
    let connection = cx.conversation.connection();
    connection.waiting.retain(is_due);
    let master = connection.waiting.first().map(|waiting| waiting.mark.side.other());
    let asked_party_seen = master.is_some_and(|master| cx.flow.seen[master.index()]);
    give_up(cx, Evidence { waited: true, asked_party_seen, ..Evidence::default() }, sink);
}

/// The flow has ended: checks what is pending.
pub(super) fn ended<S: Sink>(cx: &mut Cx<'_>, now: Time, sink: &mut S) {
    let Some(connection) = cx.conversation.connection.get_mut() else { return };
    for (key, mark) in std::mem::take(&mut connection.registrations) {
        if let Some(check) = cx.shared.take_unprobed(&key, &mark) {
            probe::check_probe(cx, key, &check, now, sink);
        }
    }
    let Some(waiting) = cx.conversation.connection().waiting.first() else { return };
    let mark = waiting.mark;
    let timeout = cx.settings.answer_timeout;
    let evidence = cx.flow.unanswered(mark.side.other(), mark.time, now, timeout);
    give_up(cx, evidence, sink);
}

/// Pending requests will not be answered. For invalid ones no response is due.
fn give_up<S: Sink>(cx: &mut Cx<'_>, evidence: Evidence, sink: &mut S) {
    let connection = cx.conversation.connection();
    let adrift = connection.adrift;
    for waiting in connection.waiting.take() {
        let Some(endpoint) = waiting.request.endpoint else { continue };
        if waiting.request.sound {
            let evidence = Evidence { lost: adrift, ..evidence };
            rules::request_ignored(endpoint, evidence, &waiting.mark, sink);
        }
    }
}
