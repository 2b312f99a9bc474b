//! The table of messages.

use std::sync::Arc;

use dissectors::kit::{Payload, Verdict};

use super::places::{Carriers, Named, Places};
use super::{Cell, Column, Kind, Row, always, cells, some};
use crate::report::json::Json;
use crate::report::{Envelope, json};
use crate::session::{MessageEvent, Value};
use crate::summary::described::number;

/// A row; it is filled again for each message.
#[derive(Default)]
pub(super) struct Message {
    capture: Arc<str>,
    at: Named,
    /// Which of the messages that the packet completed, counted from 1.
    nth: u32,
    /// The packet's number in the capture.
    last: u64,
    carriers: Carriers,
    time: i64,
    flow: u32,
    transport: &'static str,
    addresses: [String; 2],
    ports: [u16; 2],
    via: Option<String>,
    protocol: &'static str,
    message: &'static str,
    speaker: &'static str,
    bytes: u64,
    request: Named,
    response_time: Option<i64>,
    waited: Option<i64>,
    tries: Option<u32>,
    copy_of: Named,
    rules: Vec<Arc<str>>,
    challenge: Option<i64>,
    server_name: Option<String>,
    map: Option<String>,
    version: Option<String>,
    players: Option<u64>,
    max_players: Option<u64>,
    bots: Option<u64>,
    servers_listed: Option<u64>,
    fields: String,
    frames: Vec<u64>,
}

pub(super) const COLUMNS: [Column<Message>; 35] = [
    always("capture", Kind::Text, "The capture: its file; of merged files, the first one.", |it| {
        Cell::text(&it.capture)
    }),
    some("file", Kind::Text, "The file that holds the packet which completed the message.", |it| {
        Cell::some_text(it.at.file.as_deref())
    }),
    some("frame", Kind::Integer, "The number of that packet in its file, counted from 1.", |it| {
        Cell::some_count(it.at.frame)
    }),
    always(
        "nth",
        Kind::Integer,
        "Which of the messages that this packet completed; with `file` and `frame` it names a message.",
        |it| Cell::count(it.nth),
    ),
    always(
        "frames",
        Kind::Integers,
        "All packets that carried it, by their numbers in their files.",
        |it| Cell::Integers(&it.carriers.frames),
    ),
    some(
        "frames_files",
        Kind::Texts,
        "The files of `frames`, one for each, where they are not all in one file.",
        |it| it.carriers.files.as_deref().map_or(Cell::Absent, Cell::Texts),
    ),
    always("time", Kind::Time, "When the packet that completed it was recorded.", |it| {
        Cell::Time(it.time)
    }),
    always("flow", Kind::Integer, "Its flow: `flow` of `flows` with the same `capture`.", |it| {
        Cell::count(it.flow)
    }),
    always("transport", Kind::Text, "`udp` or `tcp`.", |it| Cell::text(it.transport)),
    always("src_address", Kind::Text, "The sender's address.", |it| Cell::text(&it.addresses[0])),
    always("src_port", Kind::Integer, "The sender's port.", |it| Cell::count(it.ports[0])),
    always("dst_address", Kind::Text, "The receiver's address.", |it| Cell::text(&it.addresses[1])),
    always("dst_port", Kind::Integer, "The receiver's port.", |it| Cell::count(it.ports[1])),
    some("via", Kind::Text, "The tunnels that it came through, outermost first.", |it| {
        Cell::some_text(it.via.as_deref())
    }),
    always("protocol", Kind::Text, "The protocol, such as `a2s`.", |it| Cell::text(it.protocol)),
    always("message", Kind::Text, "The message, such as `info_response`.", |it| {
        Cell::text(it.message)
    }),
    always("speaker", Kind::Text, "Who sends it: `client`, `server`, `master` or `any`.", |it| {
        Cell::text(it.speaker)
    }),
    always(
        "bytes",
        Kind::Integer,
        "Its bytes as sent: the payloads of all its packets, before decompression.",
        |it| Cell::count(it.bytes),
    ),
    some("request_file", Kind::Text, "Of a response: the file that holds the request.", |it| {
        Cell::some_text(it.request.file.as_deref())
    }),
    some(
        "request_frame",
        Kind::Integer,
        "Of a response: the packet of the latest sending of the request, by its number in its file.",
        |it| Cell::some_count(it.request.frame),
    ),
    some("response_time", Kind::Number, "Seconds from that sending to the response.", |it| {
        Cell::seconds(it.response_time)
    }),
    some(
        "waited",
        Kind::Number,
        "Seconds from the first sending of the exchange, where it is another one.",
        |it| Cell::seconds(it.waited),
    ),
    some("tries", Kind::Integer, "How often the request was sent, where more than once.", |it| {
        Cell::some_count(it.tries)
    }),
    some("copy_of_file", Kind::Text, "Of a doubled datagram: the file of `copy_of_frame`.", |it| {
        Cell::some_text(it.copy_of.file.as_deref())
    }),
    some(
        "copy_of_frame",
        Kind::Integer,
        "Of a doubled datagram: the packet that it is a copy of. To count messages, leave these rows out.",
        |it| Cell::some_count(it.copy_of.frame),
    ),
    always(
        "rules",
        Kind::Texts,
        "The codes of the rules that it breaks, or keeps in a known form.",
        |it| Cell::Texts(&it.rules),
    ),
    some("challenge", Kind::Integer, "The field `challenge`, where it is a number.", |it| {
        it.challenge.map_or(Cell::Absent, Cell::Integer)
    }),
    some("server_name", Kind::Text, "Of a message that describes a server: its name.", |it| {
        Cell::some_text(it.server_name.as_deref())
    }),
    some("map", Kind::Text, "The same: its map.", |it| Cell::some_text(it.map.as_deref())),
    some("players", Kind::Integer, "The same: its players.", |it| Cell::some_count(it.players)),
    some("max_players", Kind::Integer, "The same: the players that it has room for.", |it| {
        Cell::some_count(it.max_players)
    }),
    some("bots", Kind::Integer, "The same: how many of the players are bots.", |it| {
        Cell::some_count(it.bots)
    }),
    some("version", Kind::Text, "The same: its version.", |it| {
        Cell::some_text(it.version.as_deref())
    }),
    some(
        "servers_listed",
        Kind::Integer,
        "Of a master's list: the servers in this message.",
        |it| Cell::some_count(it.servers_listed),
    ),
    always(
        "fields",
        Kind::Text,
        "All its fields as a JSON object, as in `dissect --format json`; docs/fields.md lists them.",
        |it| Cell::text(&it.fields),
    ),
];

impl Row for Message {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}

impl Message {
    /// Of this capture, before its first message.
    pub(super) fn begin(&mut self, places: &Places) {
        *self = Message { capture: places.capture(), ..Message::default() };
    }

    /// Fills the row. `json`: writes the fields.
    pub(super) fn fill(&mut self, m: &MessageEvent<'_>, places: &Places, json: &mut Json) {
        let (payload, context) = (m.payload(), m.context());
        self.nth = if payload.frame == self.last { self.nth + 1 } else { 1 };
        self.last = payload.frame;
        self.packets(&payload, places);
        self.time = payload.time.0;
        self.flow = payload.flow;
        self.transport = json::transport(payload.transport);
        for (end, (address, port)) in
            m.ends().iter().zip(self.addresses.iter_mut().zip(&mut self.ports))
        {
            rewrite(address, end.ip());
            *port = end.port();
        }
        self.via = (!context.tunnels.is_empty()).then(|| context.tunnels.to_string());
        self.protocol = context.protocol.map_or("", |id| id.info().id);
        self.message = m.message().name;
        self.speaker = m.message().speaker.name();
        self.bytes = m.length();
        self.reply(m, &payload, places);
        self.copy_of = Named::of(context.copy_of.and_then(|frame| places.of(frame)), places);
        self.rules.clear();
        let findings = m.checked().findings;
        let certain = findings.iter().filter(|it| it.verdict != Verdict::Inconclusive);
        self.rules.extend(certain.map(|it| Arc::from(it.rule.code.to_string())));
        self.describe(m);
        self.fields.clear();
        if let Some(envelope) = Envelope::of(m, &payload) {
            json.fields(&envelope, &mut self.fields);
        }
    }

    /// The packets that carried it.
    fn packets(&mut self, payload: &Payload<'_>, places: &Places) {
        payload.frames(&mut self.frames);
        self.at = Named::of(places.of(payload.frame), places);
        self.carriers = Carriers::of(&self.frames, places, |frame| places.of(frame));
    }

    fn reply(&mut self, m: &MessageEvent<'_>, payload: &Payload<'_>, places: &Places) {
        let reply = m.reply();
        self.request = Named::of(reply.and_then(|reply| places.of(reply.request)), places);
        self.response_time = reply.map(|reply| payload.time.since(reply.sent));
        let waits = reply.filter(|reply| reply.began != reply.sent);
        self.waited = waits.map(|reply| payload.time.since(reply.began));
        self.tries = reply.map(|reply| reply.tries).filter(|tries| *tries > 1);
    }

    /// What it says of a server, and of how many.
    fn describe(&mut self, m: &MessageEvent<'_>) {
        let whole = |value| match value {
            Value::Signed(value) => Some(value),
            Value::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        };
        self.challenge = m.field("challenge").and_then(whole);
        let paths = m.message().describes;
        let first = |paths: &[&str]| paths.iter().find_map(|path| m.field(path));
        let text = |paths: Option<&[&str]>| paths.and_then(first).map(|value| value.to_string());
        let count = |paths: Option<&[&str]>| paths.and_then(first).and_then(number);
        self.server_name = text(paths.map(|it| it.name));
        self.map = text(paths.map(|it| it.map));
        self.version = text(paths.map(|it| it.version));
        self.players = count(paths.map(|it| it.players));
        self.max_players = count(paths.map(|it| it.max_players));
        self.bots = count(paths.map(|_| &["bots"][..]));
        let is_list = m.message().purpose == dissectors::kit::Purpose::List;
        self.servers_listed =
            is_list.then(|| crate::summary::described::each_listed(m).count() as u64);
    }
}

/// Writes a text in place of another.
fn rewrite(text: &mut String, value: impl std::fmt::Display) {
    use std::fmt::Write;
    text.clear();
    let _ = write!(text, "{value}");
}
