//! What a server sends in place of responses: words, zeros, and what other programs say.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Item, Purpose, Time, Transport, causes};

use super::{ODD_NAMED, Odd, OddResponse, Server};
use crate::diagnose::Diagnosis;
use crate::diagnose::exchanges::latest_queries::LatestQuery;
use crate::diagnose::facts::find_or_add::find_or_add;
use crate::diagnose::facts::{Failure, NOT_WHOLE};
use crate::session::{DatagramEvent, MessageEvent, Value};
use crate::summary::described;

/// How connectionless packets of many games begin.
const HEADER: [u8; 4] = [0xFF; 4];

/// A datagram that is no message, as far as is known: if it is one, that follows.
pub(in crate::diagnose) struct UnreadDatagram {
    pub(in crate::diagnose) frame: u64,
    time: Time,
    from: SocketAddr,
    to: SocketAddr,
    is: Odd,
}

impl Diagnosis {
    /// A datagram, of a supported protocol or none, before the message in it.
    pub(in crate::diagnose) fn datagram(
        &mut self,
        event: &DatagramEvent<'_>,
        protocol: Option<Id>,
    ) {
        self.unread_datagram();
        let headers = &event.headers;
        if protocol.is_some() || event.is_cut() || event.bytes.is_empty() {
            return;
        }
        let (from, to) = (headers.from, headers.to);
        if let Some(query) = self.asked.of(to, from, self.remembered) {
            // A player, at the port of the game.
            query.plays = true;
        } else if !self.is_understood(from) && self.latest_query(from, to).is_some() {
            let (frame, time, is) = (headers.frame, headers.time, what_is(event.bytes, None));
            self.unread = Some(UnreadDatagram { frame, time, from, to, is });
        }
    }

    /// The latest datagram carries no message: a server that is understood by nobody answers so.
    pub(in crate::diagnose) fn unread_datagram(&mut self) {
        let Some(UnreadDatagram { frame, time, from, to, is }) = self.unread.take() else { return };
        let query = self.latest_query(from, to);
        if query.is_none_or(|query| query.plays) || self.is_understood(from) {
            return;
        }
        if let Some(kind) = self.answers_latest([from, to], time) {
            self.odd_answer([from, to], frame, time, Some(kind), is);
        }
    }

    /// Whether no server has this address, or some response of it could be read: then not each datagram is looked at.
    fn is_understood(&self, address: SocketAddr) -> bool {
        self.servers.get(&address).is_none_or(|server| server.fact(Item::Readable).good > 0)
    }

    /// Whether a server sends a client, in answer, its own request, only zeros, or a refusal.
    pub(in crate::diagnose) fn is_no_response(&mut self, event: &MessageEvent<'_>) -> bool {
        let (payload, [from, to]) = (event.payload(), event.ends());
        if error_words(event).is_some() && self.latest_query(from, to).is_some() {
            return true;
        }
        let is_request =
            matches!(event.message().purpose, Purpose::Query | Purpose::ChallengeRequest);
        let is_empty = || payload.bytes.iter().all(|byte| *byte == 0);
        if payload.transport == Transport::Tcp || payload.lost || !(is_request || is_empty()) {
            return false;
        }
        let Some(query) = self.latest_query(from, to) else { return false };
        !is_request || query.kinds().any(|(_, key)| self.log.waits([to, from], key))
    }

    /// The client's latest query to this server.
    pub(in crate::diagnose) fn latest_query(
        &mut self,
        server: SocketAddr,
        client: SocketAddr,
    ) -> Option<LatestQuery> {
        self.asked.of(server, client, self.remembered).copied()
    }

    /// Whether the client's latest query was to this server, in another protocol.
    pub(in crate::diagnose) fn is_asked_otherwise(
        &mut self,
        id: Id,
        server: SocketAddr,
        client: SocketAddr,
    ) -> bool {
        self.latest_query(server, client).is_some_and(|query| query.protocol != id)
    }

    /// Whether a client asked this server, or its requests are not in the capture, only the server's responses.
    pub(in crate::diagnose) fn may_be_asked(
        &mut self,
        server: SocketAddr,
        client: SocketAddr,
    ) -> bool {
        self.latest_query(server, client).is_some()
            || self.asked.server(client, None, self.remembered).is_none()
                && self.servers.get(&server).is_some_and(|it| {
                    it.orphans > 0 && it.first_asked.is_none() && it.registers.is_none()
                })
    }

    /// A server sends a client something that does not say what it answers: the client's latest query that waits.
    /// Returns the kind of that, if there is one.
    fn answers_latest(
        &mut self,
        [server, client]: [SocketAddr; 2],
        time: Time,
    ) -> Option<&'static str> {
        let timeout = self.ledger_settings.answer_timeout;
        let query = self.asked.of(server, client, self.remembered)?;
        if query.is_for_other(time, timeout) {
            return None;
        }
        let mut kinds = query.kinds();
        let ends = [client, server];
        kinds.find_map(|(kind, key)| self.log.odd_answer(ends, key).then_some(kind))
    }

    /// A client says something else to a server than a query: a player joins, or an administrator speaks to it.
    pub(in crate::diagnose) fn says_other(&mut self, event: &MessageEvent<'_>) {
        let [from, to] = event.ends();
        if let Some(query) = self.asked.of(to, from, self.remembered) {
            query.says_other(event.time());
        }
    }

    /// A server sends a message that is no response.
    pub(in crate::diagnose) fn odd(&mut self, event: &MessageEvent<'_>) {
        let (payload, ends) = (event.payload(), event.ends());
        let kind = self.answers_latest(ends, event.time());
        let query = self.latest_query(ends[0], ends[1]);
        // Where it answers in another protocol, the flow is of that, and not each request is a message.
        let is_same = |query: LatestQuery| event.context().protocol == Some(query.protocol);
        if kind.is_none() && query.is_some_and(is_same) {
            return;
        }
        // Of a packet that was cut, the rest may show what it is.
        if payload.lost {
            if let Some(server) = self.servers.get_mut(&ends[0]) {
                let why = Failure::new(&causes::CAPTURE_DROPS, payload.frame, NOT_WHOLE);
                server.fact_mut(Item::Readable).may_fail(why);
            }
            return;
        }
        let text = match event.field("text").or_else(|| error_words(event)) {
            Some(Value::Text(text)) => Some(readable(text)),
            _ => None,
        };
        self.odd_answer(ends, payload.frame, payload.time, kind, what_is(payload.bytes, text));
    }

    /// A server sends something else than a response to a request; to one of this kind, if that is known.
    fn odd_answer(
        &mut self,
        [from, to]: [SocketAddr; 2],
        frame: u64,
        time: Time,
        kind: Option<&'static str>,
        is: Odd,
    ) {
        let query = self.latest_query(from, to);
        let timeout = self.ledger_settings.answer_timeout;
        let Some(server) = self.servers.get_mut(&from) else { return };
        // Whatever it is, it came in answer.
        if let Some(LatestQuery { time: sent, .. }) = query {
            server.good_of(kind, Item::Answered, frame);
            server.good(Item::FromAsked, frame);
            server.takes(time.since(sent), timeout, kind, to.ip(), frame);
        }
        let client = Some(to.ip());
        let new = || OddResponse { is: is.clone(), client, times: 0, frames: Vec::new() };
        let known = find_or_add(&mut server.odd, Server::ODD, |odd| odd.is == is, new);
        // Where each is another one, the last one stands for all further ones.
        let Some(odd) = (match known {
            None => server.odd.last_mut(),
            known => known,
        }) else {
            return;
        };
        odd.client = odd.client.filter(|known| *known == to.ip());
        odd.times += 1;
        if odd.frames.len() < ODD_NAMED {
            odd.frames.push(frame);
        }
        server.fails_beside(to.ip(), Item::Readable, frame);
    }
}

/// The words with which a server refuses a client, in place of what it says of itself.
fn error_words<'b>(event: &MessageEvent<'b>) -> Option<Value<'b>> {
    let paths = event.message().describes.filter(|it| !it.error.is_empty())?;
    let says = |paths: &[&str]| described::first(event, paths).is_some();
    described::first(event, paths.error).filter(|_| !says(paths.name) && !says(paths.players))
}

impl Server {
    /// Maximum number of different things that it sends in place of responses.
    const ODD: usize = 8;
}

/// What these bytes are; `text`: a text in them.
fn what_is(bytes: &[u8], text: Option<String>) -> Odd {
    if bytes.is_empty() {
        return Odd::Nothing;
    }
    if bytes.iter().all(|byte| *byte == 0) {
        return Odd::Zeros;
    }
    let words = || readable(bytes.strip_prefix(&HEADER).map_or(bytes, after_kind));
    Odd::Text(text.unwrap_or_else(words))
}

/// Without the byte that is the kind of a message. In many games that is a word, with which the text begins.
fn after_kind(bytes: &[u8]) -> &[u8] {
    match bytes {
        [first, second, ..] if [first, second].iter().all(|it| it.is_ascii_lowercase()) => bytes,
        _ => bytes.get(1..).unwrap_or_default(),
    }
}

/// The readable part of a message.
fn readable(bytes: &[u8]) -> String {
    const LONGEST: usize = 120;
    let parts = bytes.split(|byte| !(byte.is_ascii_graphic() || *byte == b' '));
    let longest = parts.max_by_key(|part| part.len()).unwrap_or_default();
    if longest.len() >= 6 {
        return String::from_utf8_lossy(
            longest.get(..longest.len().min(LONGEST)).unwrap_or_default(),
        )
        .trim()
        .to_owned();
    }
    let hex = bytes.iter().take(16).map(|byte| format!("{byte:02x}"));
    Vec::from_iter(hex).join(" ")
}
