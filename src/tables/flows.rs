//! The table of flows.

use std::sync::Arc;

use dissectors::kit::Role;

use super::places::{FlowEndName, PacketName, PacketPlaces};
use super::{Cell, Kind, TableColumn, TableRow, always, capture, cells, some};
use crate::flows::FlowRow;
use crate::report::json::transport;

/// A row.
pub(super) struct FlowRecord {
    capture: Arc<str>,
    first: PacketName,
    ends: [FlowEndName; 2],
    row: FlowRow,
}

pub(super) const COLUMNS: [TableColumn<FlowRecord>; 34] = [
    capture(|it| Cell::text(&it.capture)),
    always(
        "flow",
        Kind::Integer,
        "The number of the flow, in the order in which protocols were identified. It depends on which files \
         are read; `file` and `frame` do not.",
        |it| Cell::count(it.row.flow),
    ),
    some("file", Kind::Text, "The file with its first packet.", |it| {
        Cell::some_text(it.first.file.as_deref())
    }),
    some("frame", Kind::Integer, "The number of that packet in its file.", |it| {
        Cell::some_count(it.first.frame)
    }),
    always("transport", Kind::Text, "`udp` or `tcp`.", |it| {
        Cell::text(transport(it.row.transport))
    }),
    always("a", Kind::Text, "The sender of the first recorded packet, as `address:port`.", |it| {
        Cell::text(&it.ends[0].text)
    }),
    always("a_address", Kind::Text, "Its address.", |it| Cell::text(&it.ends[0].address)),
    always("a_port", Kind::Integer, "Its port.", |it| Cell::count(it.ends[0].port)),
    always("b", Kind::Text, "The other end, as `address:port`.", |it| Cell::text(&it.ends[1].text)),
    always("b_address", Kind::Text, "Its address.", |it| Cell::text(&it.ends[1].address)),
    always("b_port", Kind::Integer, "Its port.", |it| Cell::count(it.ends[1].port)),
    some("protocol", Kind::Text, "The protocol.", |it| Cell::some_text(Some(it.row.protocol))),
    always("first", Kind::Time, "When its first packet was recorded.", |it| {
        Cell::Time(it.row.first.0)
    }),
    always("last", Kind::Time, "When its last packet was recorded.", |it| {
        Cell::Time(it.row.last.0)
    }),
    always("duration", Kind::Number, "Seconds from `first` to `last`.", |it| {
        Cell::seconds(Some(it.row.last.since(it.row.first).max(0)))
    }),
    always("packets", Kind::Integer, "Packets in both directions.", |it| both(it.row.packets)),
    always("bytes", Kind::Integer, "Payload bytes in both directions.", |it| both(it.row.bytes)),
    always("messages", Kind::Integer, "Messages in both directions.", |it| both(it.row.messages)),
    always("findings", Kind::Integer, "Certain findings.", |it| Cell::count(it.row.findings)),
    some("role_a", Kind::Text, "The role of end a, if it has sent messages.", |it| role(it, 0)),
    some("role_b", Kind::Text, "The role of end b.", |it| role(it, 1)),
    always("packets_a", Kind::Integer, "Packets sent by end a.", |it| {
        Cell::count(it.row.packets[0])
    }),
    always("packets_b", Kind::Integer, "Packets sent by end b.", |it| {
        Cell::count(it.row.packets[1])
    }),
    always("bytes_a", Kind::Integer, "Payload bytes sent by end a.", |it| {
        Cell::count(it.row.bytes[0])
    }),
    always("bytes_b", Kind::Integer, "Payload bytes sent by end b.", |it| {
        Cell::count(it.row.bytes[1])
    }),
    always("messages_a", Kind::Integer, "Messages sent by end a.", |it| {
        Cell::count(it.row.messages[0])
    }),
    always("messages_b", Kind::Integer, "Messages sent by end b.", |it| {
        Cell::count(it.row.messages[1])
    }),
    always(
        "requests",
        Kind::Integer,
        "Requests, each with its repeats and its challenge round.",
        |it| Cell::count(it.row.exchanges),
    ),
    always("answered", Kind::Integer, "The number of these that were answered.", |it| {
        Cell::count(it.row.exchanges_answered)
    }),
    always(
        "exchanges",
        Kind::Integer,
        "Requests, with all their repeats and challenges counted as one.",
        |it| Cell::count(it.row.exchanges),
    ),
    always(
        "exchanges_answered",
        Kind::Integer,
        "The number of these that received the requested data.",
        |it| Cell::count(it.row.exchanges_answered),
    ),
    some("response_time_p50", Kind::Number, "Median response time, in seconds.", |it| {
        Cell::response_time(it.row.response_times, 0)
    }),
    some(
        "response_time_p95",
        Kind::Number,
        "95th percentile of response times, in seconds.",
        |it| Cell::response_time(it.row.response_times, 1),
    ),
    some("response_time_max", Kind::Number, "Maximum response time, in seconds.", |it| {
        Cell::response_time(it.row.response_times, 2)
    }),
];

fn both([a, b]: [u64; 2]) -> Cell<'static> {
    Cell::count(a.saturating_add(b))
}

fn role(it: &FlowRecord, end: usize) -> Cell<'_> {
    Cell::some_text(it.row.roles.get(end).copied().flatten().map(Role::name))
}

impl TableRow for FlowRecord {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}

impl FlowRecord {
    pub(super) fn of(row: &FlowRow, places: &PacketPlaces) -> FlowRecord {
        FlowRecord {
            capture: places.capture(),
            first: PacketName::of(places.of(row.frame), places),
            ends: row.ends.map(FlowEndName::of),
            row: row.clone(),
        }
    }
}
