//! The table of servers.

use std::net::SocketAddr;
use std::sync::Arc;

use dissectors::Id;

use super::places::FlowEndName;
use super::{Cell, Kind, TableColumn, TableRow, always, capture, cells, some};
use crate::summary;

/// A row.
pub(super) struct ServerRecord {
    capture: Arc<str>,
    end: FlowEndName,
    server: summary::Server,
    /// See [`ResponseTimes::of_half_most_all`](crate::flows::ResponseTimes::of_half_most_all).
    times: Option<[u64; 3]>,
}

pub(super) const COLUMNS: [TableColumn<ServerRecord>; 23] = [
    capture(|it| Cell::text(&it.capture)),
    always("server", Kind::Text, "The server, as `address:port`.", |it| Cell::text(&it.end.text)),
    always("address", Kind::Text, "Its address.", |it| Cell::text(&it.end.address)),
    always("port", Kind::Integer, "Its port.", |it| Cell::count(it.end.port)),
    some("protocol", Kind::Text, "The protocol of the latest message from or to it.", |it| {
        Cell::some_text(it.server.protocol().map(|id| Id::info(id).id))
    }),
    some("name", Kind::Text, "Its latest name.", |it| text_of(&it.server.name)),
    some("map", Kind::Text, "Its latest map.", |it| text_of(&it.server.map)),
    some("players", Kind::Integer, "The latest number of players.", |it| {
        Cell::some_count(it.server.players.get().copied())
    }),
    some("max_players", Kind::Integer, "The latest maximum number of players.", |it| {
        Cell::some_count(it.server.max_players.get().copied())
    }),
    some("version", Kind::Text, "Its version.", |it| text_of(&it.server.version)),
    always("changes", Kind::Integer, "The number of changes of its name or map.", |it| {
        Cell::count(it.server.changes)
    }),
    some(
        "first",
        Kind::Time,
        "The first time that it was queried, responded or announced itself.",
        |it| it.server.seen.map_or(Cell::Absent, |seen| Cell::Time(seen.first.0)),
    ),
    some("last", Kind::Time, "The last such time.", |it| {
        it.server.seen.map_or(Cell::Absent, |seen| Cell::Time(seen.last.0))
    }),
    always("sent", Kind::Integer, "Requests that were sent to it, with repeats.", |it| {
        Cell::count(it.server.sent)
    }),
    always(
        "requests",
        Kind::Integer,
        "The same, without repeats of a request that was still waiting.",
        |it| Cell::count(it.server.requests),
    ),
    always(
        "exchanges",
        Kind::Integer,
        "Requests, with all their repeats and challenges counted as one.",
        |it| Cell::count(it.server.exchanges),
    ),
    always("answered", Kind::Integer, "The number of these that were answered.", |it| {
        Cell::count(it.server.answered)
    }),
    always("challenged", Kind::Integer, "Responses that only asked for a challenge.", |it| {
        Cell::count(it.server.challenged)
    }),
    some("response_time_p50", Kind::Number, "Median response time, in seconds.", |it| {
        Cell::response_time(it.times, 0)
    }),
    some(
        "response_time_p95",
        Kind::Number,
        "95th percentile of response times, in seconds.",
        |it| Cell::response_time(it.times, 1),
    ),
    some("response_time_max", Kind::Number, "Maximum response time, in seconds.", |it| {
        Cell::response_time(it.times, 2)
    }),
    always("largest", Kind::Integer, "Its largest response, in bytes as sent.", |it| {
        Cell::count(it.server.largest)
    }),
    always("findings", Kind::Integer, "Certain findings in its flows.", |it| {
        Cell::count(it.server.findings)
    }),
];

fn text_of(text: &summary::Latest<String>) -> Cell<'_> {
    Cell::some_text(text.get().map(String::as_str))
}

impl TableRow for ServerRecord {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}

impl ServerRecord {
    pub(super) fn of(capture: Arc<str>, end: SocketAddr, server: &summary::Server) -> ServerRecord {
        let times = server.times.of_half_most_all();
        ServerRecord { capture, end: FlowEndName::of(end), server: server.clone(), times }
    }
}
