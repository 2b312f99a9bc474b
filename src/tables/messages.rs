//! The table of messages.

use std::sync::Arc;

use dissectors::kit::{Code, Payload, Purpose, Verdict};

use super::places::{CarryingPackets, FlowEndName, PacketName, PacketPlaces};
use super::{Cell, Kind, TableColumn, TableRow, always, capture, cells, some};
use crate::report::json::Json;
use crate::report::{Envelope, json};
use crate::session::{MessageEvent, Value};
use crate::summary::described::{each_listed, number};

/// A row, which is reused for each message.
#[derive(Default)]
pub(super) struct MessageRecord {
    capture: Arc<str>,
    at: PacketName,
    /// The index among the messages that the packet completed, counted from 1.
    nth: u32,
    /// The packet's number in the capture.
    last: u64,
    carriers: CarryingPackets,
    time: i64,
    flow: u32,
    transport: &'static str,
    ends: [FlowEndName; 2],
    via: Option<String>,
    protocol: &'static str,
    message: &'static str,
    speaker: &'static str,
    bytes: u64,
    request: PacketName,
    response_time: Option<i64>,
    waited: Option<i64>,
    tries: Option<u32>,
    copy_of: PacketName,
    broken: Vec<Code>,
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
    left_out: u32,
    beside: Option<String>,
    frames: Vec<u64>,
}

pub(super) const COLUMNS: [TableColumn<MessageRecord>; 39] = [
    capture(|it| Cell::text(&it.capture)),
    some("file", Kind::Text, "The file with the packet that completed the message.", |it| {
        Cell::some_text(it.at.file.as_deref())
    }),
    some("frame", Kind::Integer, "The number of that packet in its file, counted from 1.", |it| {
        Cell::some_count(it.at.frame)
    }),
    always(
        "nth",
        Kind::Integer,
        "The index among the selected messages that this packet completed; `file`, `frame` and `nth` identify a message.",
        |it| Cell::count(it.nth),
    ),
    always(
        "frames",
        Kind::Integers,
        "The numbers of all packets that carried it, each counted in its own file.",
        |it| Cell::Integers(&it.carriers.frames),
    ),
    some(
        "frames_files",
        Kind::Texts,
        "The file of each element of `frames`, if they are in different files.",
        |it| it.carriers.files.as_deref().map_or(Cell::Absent, Cell::Texts),
    ),
    always("time", Kind::Time, "When the packet that completed it was recorded.", |it| {
        Cell::Time(it.time)
    }),
    always("flow", Kind::Integer, "Its flow: `flow` of `flows` with the same `capture`.", |it| {
        Cell::count(it.flow)
    }),
    always("transport", Kind::Text, "`udp` or `tcp`.", |it| Cell::text(it.transport)),
    always("src", Kind::Text, "The sender, as `address:port`.", |it| Cell::text(&it.ends[0].text)),
    always("src_address", Kind::Text, "Its address.", |it| Cell::text(&it.ends[0].address)),
    always("src_port", Kind::Integer, "Its port.", |it| Cell::count(it.ends[0].port)),
    always("dst", Kind::Text, "The receiver, as `address:port`.", |it| {
        Cell::text(&it.ends[1].text)
    }),
    always("dst_address", Kind::Text, "Its address.", |it| Cell::text(&it.ends[1].address)),
    always("dst_port", Kind::Integer, "Its port.", |it| Cell::count(it.ends[1].port)),
    some("via", Kind::Text, "The tunnels that carried it, outermost first.", |it| {
        Cell::some_text(it.via.as_deref())
    }),
    always("protocol", Kind::Text, "The protocol, such as `a2s`.", |it| Cell::text(it.protocol)),
    always("message", Kind::Text, "The message, such as `info_response`.", |it| {
        Cell::text(it.message)
    }),
    always(
        "speaker",
        Kind::Text,
        "The role of its sender: `client`, `server`, `master` or `any`.",
        |it| Cell::text(it.speaker),
    ),
    always(
        "bytes",
        Kind::Integer,
        "Bytes as sent: the payloads of all its packets, before decompression.",
        |it| Cell::count(it.bytes),
    ),
    some("request_file", Kind::Text, "For a response: the file with the request.", |it| {
        Cell::some_text(it.request.file.as_deref())
    }),
    some(
        "request_frame",
        Kind::Integer,
        "For a response: the number of the packet in that file that sent the request last.",
        |it| Cell::some_count(it.request.frame),
    ),
    some("response_time", Kind::Number, "Seconds from that packet to the response.", |it| {
        Cell::seconds(it.response_time)
    }),
    some(
        "waited",
        Kind::Number,
        "Seconds from the first packet of the exchange, if that is a different packet.",
        |it| Cell::seconds(it.waited),
    ),
    some(
        "tries",
        Kind::Integer,
        "The number of times that the request was sent, if more than one.",
        |it| Cell::some_count(it.tries),
    ),
    some(
        "copy_of_file",
        Kind::Text,
        "For a duplicate datagram: the file of `copy_of_frame`.",
        |it| Cell::some_text(it.copy_of.file.as_deref()),
    ),
    some(
        "copy_of_frame",
        Kind::Integer,
        "For a duplicate datagram: the number of the packet that it copies. Leave these rows out when counting messages.",
        |it| Cell::some_count(it.copy_of.frame),
    ),
    always(
        "rules",
        Kind::Texts,
        "The codes of the rules that this message breaks, or has a note on; rules that only several flows together can break are in `findings`.",
        |it| Cell::Texts(&it.rules),
    ),
    some("challenge", Kind::Integer, "The field `challenge`, if it is a number.", |it| {
        it.challenge.map_or(Cell::Absent, Cell::Integer)
    }),
    some("server_name", Kind::Text, "For a message that describes a server: its name.", |it| {
        Cell::some_text(it.server_name.as_deref())
    }),
    some("map", Kind::Text, "As above: its map.", |it| Cell::some_text(it.map.as_deref())),
    some("players", Kind::Integer, "As above: its number of players.", |it| {
        Cell::some_count(it.players)
    }),
    some("max_players", Kind::Integer, "As above: its maximum number of players.", |it| {
        Cell::some_count(it.max_players)
    }),
    some("bots", Kind::Integer, "As above: the number of bots among the players.", |it| {
        Cell::some_count(it.bots)
    }),
    some("version", Kind::Text, "As above: its version.", |it| {
        Cell::some_text(it.version.as_deref())
    }),
    some(
        "servers_listed",
        Kind::Integer,
        "For a master's list: the number of servers in this message.",
        |it| Cell::some_count(it.servers_listed),
    ),
    always(
        "fields",
        Kind::Json,
        "All its fields, as in `dissect --format json`; docs/fields.md lists them.",
        |it| Cell::Json(&it.fields),
    ),
    always(
        "fields_left_out",
        Kind::Integer,
        "The number of fields left out of `fields`, for decompressed messages with very many.",
        |it| Cell::count(it.left_out),
    ),
    some(
        "beside",
        Kind::Json,
        "Further members of the message in `dissect --format json`, such as `split`: how a split response was sent.",
        |it| it.beside.as_deref().map_or(Cell::Absent, Cell::Json),
    ),
];

impl TableRow for MessageRecord {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}

impl MessageRecord {
    /// Resets the record at the start of a capture.
    pub(super) fn begin(&mut self, places: &PacketPlaces) {
        *self = MessageRecord { capture: places.capture(), ..MessageRecord::default() };
    }

    /// Fills the row. `json`: writes the fields.
    pub(super) fn fill(&mut self, m: &MessageEvent<'_>, places: &PacketPlaces, json: &mut Json) {
        let (payload, context) = (m.payload(), m.context());
        self.nth = if payload.frame == self.last { self.nth + 1 } else { 1 };
        self.last = payload.frame;
        self.packets(&payload, places);
        self.time = payload.time.0;
        self.flow = payload.flow;
        self.transport = json::transport(payload.transport);
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
        let (envelope, mut room) = (Envelope::of(m, &payload), Vec::new());
        if let Some(envelope) = envelope.map(|it| it.brief(m.length(), &mut room)) {
            self.left_out = envelope.tree.left_out;
            self.beside = json.fields(&envelope, &mut self.fields);
        }
    }

    /// The rules that it breaks itself, each once.
    fn breaks(&mut self, m: &MessageEvent<'_>) {
        let checked = m.checked();
        let findings = checked.findings.iter().filter(|it| it.mark.is_none());
        let left_out = checked.left_out.iter().filter(|it| it.side.is_none());
        let all = findings.map(|it| (it.rule, it.verdict));
        let all = all.chain(left_out.map(|it| (it.rule, it.verdict)));
        self.broken.clear();
        for (rule, verdict) in all {
            if verdict != Verdict::Inconclusive && !self.broken.contains(&rule.code) {
                self.broken.push(rule.code);
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
        let first = |paths: &[&str]| paths.iter().find_map(|path| m.field(path));
        let text = |paths: Option<&[&str]>| paths.and_then(first).map(|value| value.to_string());
        let count = |paths: Option<&[&str]>| paths.and_then(first).and_then(number);
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
