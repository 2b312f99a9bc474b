//! Clients' requests to servers, and what comes in response.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Description, Item, Purpose, Time, causes, is_broadcast};

use crate::diagnose::exchanges::latest_queries::LatestQuery;
use crate::diagnose::facts::{Failure, NOT_WHOLE};
use crate::diagnose::server::Server;
use crate::diagnose::signs::contradiction;
use crate::diagnose::{Diagnosis, ServerPacket, ServerPacketKind, Shown};
use crate::session::MessageEvent;
use crate::summary::described;

/// The challenge in a message, as a number.
fn number_of(event: &MessageEvent<'_>) -> Option<i64> {
    event.field("challenge").and_then(described::signed)
}

/// Whether this is the number of a challenge, and not one that asks for it.
fn is_challenge(number: i64) -> bool {
    !matches!(number, -1 | 0)
}

impl Server {
    /// It sends a client a challenge, `taken` nanoseconds after the request.
    fn sends_challenge(&mut self, event: &MessageEvent<'_>, taken: i64, timeout: i64) {
        self.largest_challenge = self.largest_challenge.max(event.length());
        self.challenge_hops.see(event.context().hop_limit);
        if taken > timeout {
            self.late_challenge = Some((taken, event.frame()));
        }
    }

    /// It sends a client what this request asks for, `taken` nanoseconds after it.
    fn sends_data(
        &mut self,
        event: &MessageEvent<'_>,
        request: Option<ServerPacketKind>,
        taken: i64,
        timeout: i64,
        shown: &mut Shown,
    ) {
        let payload = event.payload();
        let frame = payload.frame;
        self.takes(taken, timeout, shown.kind, payload.to.ip(), frame);
        self.last_answered = self.last_answered.max(Some(payload.time));
        let mut packets = Vec::new();
        payload.frames(&mut packets);
        self.packets = self.packets.max(packets.len());
        shown.items.insert(Item::Readable);
        shown.items.insert(Item::Answered);
        // If some responses have one packet and others several, only the latter can be cut short.
        match packets.len() {
            // The end of a text is in its last bytes.
            0 | 1 if payload.lost && self.ends_in_text() => {
                let why = Failure::new(&causes::CAPTURE_DROPS, frame, NOT_WHOLE);
                self.fact_mut(Item::Whole).may_fail(why);
            }
            0 | 1 => self.comes_in_one_packet(frame),
            _ if self.too_large.is_some_and(|packet| packets.contains(&packet)) => {}
            _ => shown.items.insert(Item::Whole),
        }
        let Some(ServerPacketKind::Request { kind, follows, .. }) = request else { return };
        if follows {
            shown.items.insert(Item::Verified);
        }
        self.counts.see(event, kind, contradiction(event));
        if let Some(kind) = self.kind(kind) {
            kind.describes = kind.describes || only_describes(event, kind.name);
            kind.sizes.see(event, packets.len());
            kind.hops.see(event.context().hop_limit);
        }
        let describes = event.message().describes;
        let port = describes.and_then(|it| described::first(event, it.game_port));
        let port = port.and_then(described::number).and_then(|it| it.try_into().ok());
        self.game_port = port.or(self.game_port);
    }
}

impl Diagnosis {
    /// A client's request to a server.
    pub(in crate::diagnose) fn query(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, to, frame) = (payload.from, payload.to, payload.frame);
        let message = event.message();
        let is_known = || self.broadcasts.iter().any(|it| it.to == to);
        if is_broadcast(to.ip()) || is_known() {
            self.broadcast(id, from, to, 1);
            return None;
        }
        let challenged = self.challenged.get_mut(&[from, to], self.remembered);
        let was_challenged = challenged.is_some();
        let kind = described::request_kind(event);
        let follows = challenged.is_some_and(|of| of.is_none_or(|of| of == kind));
        let follows = follows || !was_challenged && self.returns_challenge(event);
        let what = ServerPacketKind::Request { message, protocol: id, kind, follows };
        self.sent.insert(frame, ServerPacket { server: to, what }, self.remembered);
        let query = LatestQuery::new(to, frame, payload.time, id, kind);
        self.asked.asks(from, query, self.remembered);
        let timeout = self.ledger_settings.answer_timeout;
        let is_again = self.responded.is_asked_again(event, timeout, self.remembered);
        let server = self.server(to)?;
        if (is_again || was_challenged)
            && let Some(kind) = server.kind(kind)
        {
            kind.was_challenged |= was_challenged;
            if is_again {
                kind.sizes.again(frame);
            }
        }
        // What it answers in is its protocol, whatever else it is asked in.
        if server.fact(Item::FromAsked).good == 0 {
            server.query = Some(id);
        }
        server.first_asked.get_or_insert(payload.time);
        server.asked_by(from.ip());
        server.good(Item::Asked, frame);
        Some(to)
    }

    /// Whether a request has the challenge that the server gave another port of the client's host.
    fn returns_challenge(&mut self, event: &MessageEvent<'_>) -> bool {
        self.challenge_age(event, || number_of(event)).is_some()
    }

    /// How many nanoseconds before a request the server gave the client's host the challenge in it, if that was the latest.
    pub(in crate::diagnose) fn challenge_age(
        &mut self,
        event: &MessageEvent<'_>,
        number: impl FnOnce() -> Option<i64>,
    ) -> Option<i64> {
        let [from, to] = event.ends();
        let (given, since) = self.given.get_mut(&(from.ip(), to), self.remembered).copied()?;
        // What was given is no number that asks for a challenge.
        (number()? == given).then(|| event.time().since(since))
    }

    /// A server's response to a client.
    pub(in crate::diagnose) fn response(
        &mut self,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, frame) = (payload.from, payload.frame);
        let Some(reply) = event.reply() else { return self.unmatched(event, shown) };
        let request = self.sent.get_mut(reply.request, self.remembered).map(|sent| sent.what);
        // A challenge is not the requested data.
        let is_challenge = event.message().purpose == Purpose::ClientChallenge;
        shown.kind = match request {
            Some(ServerPacketKind::Request { kind, .. }) if !is_challenge => Some(kind),
            _ => None,
        };
        let what = ServerPacketKind::Response { to: shown.kind };
        self.sent.insert(frame, ServerPacket { server: from, what }, self.remembered);
        // Of what is asked of a server, and given to its clients, nothing is kept if there is no room for it.
        let server = self.servers.get_mut(&from)?;
        server.query = event.context().protocol.or(server.query);
        server.good(Item::FromAsked, frame);
        let timeout = self.ledger_settings.answer_timeout;
        let taken = payload.time.since(reply.sent);
        if is_challenge {
            shown.items.insert(Item::Challenges);
            server.sends_challenge(event, taken, timeout);
            self.challenges_client(event, request);
            return Some(from);
        }
        server.sends_data(event, request, taken, timeout, shown);
        self.repeated.answers(event, self.remembered);
        if let Some(ServerPacketKind::Request { message, .. }) = request {
            self.responded.responds(message, event, self.remembered);
        }
        Some(from)
    }

    /// A server challenges the client that sent this request.
    fn challenges_client(&mut self, event: &MessageEvent<'_>, request: Option<ServerPacketKind>) {
        let payload = event.payload();
        let (from, to) = (payload.from, payload.to);
        let of = match request {
            Some(ServerPacketKind::Request { message, kind, .. }) => {
                (message.purpose == Purpose::Query).then_some(kind)
            }
            _ => None,
        };
        self.challenged.insert([to, from], of, self.remembered);
        if let Some(number) = number_of(event).filter(|number| is_challenge(*number)) {
            self.given.insert((to.ip(), from), (number, payload.time), self.remembered);
        }
    }

    /// A response that matches no request.
    fn unmatched(&mut self, event: &MessageEvent<'_>, shown: &mut Shown) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, to, frame) = (payload.from, payload.to, payload.frame);
        if let Some(query) = self.latest_query(from, to) {
            if let Some(answer) = self.repeated.answers_again(event, query.time, self.remembered) {
                let server = self.servers.get_mut(&from)?;
                server.surplus.add(&answer, frame);
                return Some(from);
            }
            if event.message().purpose == Purpose::Response && self.is_orphan(event, query.time) {
                return self.only_answers(event, shown);
            }
            let what = ServerPacketKind::Part { request: query.frame };
            let sent = ServerPacket { server: from, what };
            self.sent.insert(frame, sent, self.remembered);
        } else if let Some(server) = self.answers_broadcast(event, shown) {
            return Some(server);
        } else if let Some(asked) = self.asked.server(to, Some(from.ip()), self.remembered)
            && let Some(query) = self.latest_query(asked, to)
        {
            // If it is only a part, what it would answer is known by this.
            let what = match event.message().purpose {
                Purpose::ClientChallenge => ServerPacketKind::Response { to: None },
                _ => ServerPacketKind::Part { request: query.frame },
            };
            self.sent.insert(frame, ServerPacket { server: asked, what }, self.remembered);
        } else if self.asked.server(to, None, self.remembered).is_none() {
            return self.only_answers(event, shown);
        }
        self.servers.contains_key(&from).then_some(from)
    }

    /// Whether a response comes so long after the client's latest request, which was answered, that it is the response to
    /// another one.
    fn is_orphan(&self, event: &MessageEvent<'_>, since: Time) -> bool {
        let Some(server) = self.servers.get(&event.payload().from) else { return false };
        let usual = i64::try_from(server.slowest).unwrap_or(i64::MAX).saturating_mul(2);
        let waited = event.time().since(since);
        server.fact(Item::InTime).good > 0 && waited > usual.saturating_add(Time::SOON)
    }

    /// A server answers a client whose requests are not in the capture.
    fn only_answers(&mut self, event: &MessageEvent<'_>, shown: &mut Shown) -> Option<SocketAddr> {
        let (payload, id) = (event.payload(), event.context().protocol?);
        let server = self.server(payload.from)?;
        server.orphans += 1;
        shown.items.insert(Item::Readable);
        if payload.has_parts() {
            shown.items.insert(Item::Whole);
        }
        if server.query.is_none() {
            server.query = Some(id);
            let text = "only its responses are in the capture";
            for item in [Item::Asked, Item::Answered] {
                server.fact_mut(item).open(&causes::CAPTURE_ONE_SIDED, payload.frame, text);
            }
        }
        Some(payload.from)
    }
}

/// Whether a response says what the server is, and lists no players.
fn only_describes(event: &MessageEvent<'_>, kind: &str) -> bool {
    let any = |it: &Description| {
        [it.name, it.map, it.version].iter().any(|paths| described::first(event, paths).is_some())
    };
    event.message().describes.is_some_and(any) && described::listed_players(event, kind).is_none()
}

impl Server {
    /// A response came so many nanoseconds after the request.
    pub(in crate::diagnose) fn takes(
        &mut self,
        taken: i64,
        timeout: i64,
        kind: Option<&'static str>,
        client: IpAddr,
        frame: u64,
    ) {
        self.slowest = self.slowest.max(taken.unsigned_abs());
        if taken <= timeout {
            self.good_of(kind, Item::InTime, frame);
            return;
        }
        self.fails(kind, None, Item::InTime, &late(taken, frame));
        self.fails_toward(client, Item::InTime, frame);
    }

    /// A client that no longer waits for its challenge gets no response that could be late; nor one whose responses come
    /// from another address.
    pub(in crate::diagnose) fn late_challenges(&mut self) {
        let is_elsewhere = self.fact(Item::FromAsked).run > 0;
        let late_elsewhere = self.late_elsewhere.filter(|_| is_elsewhere);
        if let Some((taken, frame)) = self.late_challenge.or(late_elsewhere)
            && !self.fact(Item::InTime).is_known()
        {
            self.fact_mut(Item::InTime).fails(late(taken, frame));
        }
    }
}

/// What came after so many nanoseconds came too late.
fn late(taken: i64, frame: u64) -> Failure {
    let seconds = format!("{:.1}", taken as f64 / 1e9);
    let values: [(_, &dyn Display); 1] = [("seconds", &seconds)];
    Failure::with(&causes::ANSWERED_LATE, frame, &values)
}
