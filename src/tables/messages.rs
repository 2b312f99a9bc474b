//! Fills the rows of messages.

use std::sync::Arc;

use dissectors::kit::{Payload, Purpose};

use crate::report::json::Json;
use crate::rows::{CarryingPackets, MessageRow, PacketName, PacketPlaces};
use crate::session::{MessageEvent, Value};
use crate::summary::described::{each_listed, first, number};

impl MessageRow {
    /// Fills the row. `json`: writes the fields.
    pub(super) fn fill(&mut self, m: &MessageEvent<'_>, places: &PacketPlaces, json: &mut Json) {
        let (payload, context) = (m.payload(), m.context());
        self.nth = if payload.frame == self.last { self.nth + 1 } else { 1 };
        self.last = payload.frame;
        self.packets(&payload, places);
        self.time = payload.time.0;
        self.flow = payload.flow;
        self.transport = payload.transport.name();
        self.ends.iter_mut().zip(m.ends()).for_each(|(end, at)| end.rewrite(at));
        self.via = (!context.tunnels.is_empty()).then(|| context.tunnels.to_string());
        self.protocol = context.protocol.map_or("", |id| id.info().id);
        self.message = m.message().name;
        self.speaker = m.message().speaker.name();
        self.bytes = m.length();
        self.reply(m, &payload, places);
        self.copy_of = PacketName::of(context.copy_of.and_then(|frame| places.of(frame)), places);
        self.breaks(m);
        self.describe(m);
        self.fields.clear();
        (self.left_out, self.beside) = (0, None);
        let mut room = Vec::new();
        let message = m.to_ref().brief(&mut room);
        if message.tree.is_some() {
            self.left_out = message.fields_left_out();
            self.beside = json.fields(&message, &mut self.fields);
        }
    }

    /// The rules that it breaks itself, each once.
    fn breaks(&mut self, m: &MessageEvent<'_>) {
        self.broken.clear();
        for it in m.checked().broken().filter(|it| it.side.is_none()) {
            if !self.broken.contains(&it.rule.code) {
                self.broken.push(it.rule.code);
            }
        }
        self.rules.clear();
        self.rules.extend(self.broken.iter().map(|code| Arc::from(code.to_string())));
    }

    /// The packets that carried it.
    fn packets(&mut self, payload: &Payload<'_>, places: &PacketPlaces) {
        payload.frames(&mut self.frames);
        self.at = PacketName::of(places.of(payload.frame), places);
        self.carriers = CarryingPackets::of(&self.frames, places, |frame| places.of(frame));
    }

    fn reply(&mut self, m: &MessageEvent<'_>, payload: &Payload<'_>, places: &PacketPlaces) {
        let reply = m.reply();
        self.request = PacketName::of(reply.and_then(|reply| places.of(reply.request)), places);
        self.response_time = reply.map(|reply| payload.time.since(reply.sent));
        let waits = reply.filter(|reply| reply.began != reply.sent);
        self.waited = waits.map(|reply| payload.time.since(reply.began));
        self.tries = reply.map(|reply| reply.tries).filter(|tries| *tries > 1);
    }

    /// Its description of a server, and its number of servers.
    fn describe(&mut self, m: &MessageEvent<'_>) {
        let whole = |value| match value {
            Value::Signed(value) => Some(value),
            Value::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        };
        self.challenge = m.field("challenge").and_then(whole);
        let paths = m.message().describes;
        let value = |paths: Option<&[&str]>| first(m, paths?);
        let text = |paths| value(paths).map(|value| value.to_string());
        let count = |paths| value(paths).and_then(number);
        self.server_name = text(paths.map(|it| it.name));
        self.map = text(paths.map(|it| it.map));
        self.version = text(paths.map(|it| it.version));
        self.players = count(paths.map(|it| it.players));
        self.max_players = count(paths.map(|it| it.max_players));
        self.bots = count(paths.map(|_| &["bots"][..]));
        let is_list = m.message().purpose == Purpose::List;
        self.servers_listed = is_list.then(|| each_listed(m).count() as u64);
    }
}
