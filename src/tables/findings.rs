//! The table of findings.

use std::sync::Arc;

use super::places::{Carriers, FlowEndName, PacketName, Places};
use super::{Cell, Column, Kind, Row, always, capture, cells, some};
use crate::check::Found;
use crate::session::Files;

/// A row.
pub(super) struct Finding {
    capture: Arc<str>,
    at: PacketName,
    carriers: Carriers,
    rule: String,
    party: Option<FlowEndName>,
    found: Found,
}

pub(super) const COLUMNS: [Column<Finding>; 22] = [
    capture(|it| Cell::text(&it.capture)),
    some("file", Kind::Text, "The file that holds the packet which it is about.", |it| {
        Cell::some_text(it.at.file.as_deref())
    }),
    some(
        "frame",
        Kind::Integer,
        "The number of that packet in its file: the one that completed the message. Nothing, where no \
         packet shows it.",
        |it| Cell::some_count(it.at.frame),
    ),
    always(
        "frames",
        Kind::Integers,
        "All packets that it is about, by their numbers in their files.",
        |it| Cell::Integers(&it.carriers.frames),
    ),
    some(
        "frames_files",
        Kind::Texts,
        "The files of `frames`, one for each, where they are not all in one file.",
        |it| it.carriers.files.as_deref().map_or(Cell::Absent, Cell::Texts),
    ),
    always("frames_left_out", Kind::Integer, "How many more packets there are.", |it| {
        Cell::count(it.found.frames_left_out)
    }),
    some("time", Kind::Time, "When that packet was recorded.", |it| match it.found.frame() {
        0 => Cell::Absent,
        _ => Cell::Time(it.found.time.0),
    }),
    some("flow", Kind::Integer, "The flow: `flow` of `flows` with the same `capture`.", |it| {
        Cell::some_count(Some(it.found.flow).filter(|flow| *flow > 0))
    }),
    always("rule", Kind::Text, "The rule's code; docs/rules.md lists all.", |it| {
        Cell::text(&it.rule)
    }),
    always("slug", Kind::Text, "The rule's name.", |it| Cell::text(it.found.rule.slug)),
    always("severity", Kind::Text, "`error`, `warning` or `note`.", |it| {
        Cell::text(it.found.severity.name())
    }),
    always("verdict", Kind::Text, "`fail`, `inconclusive` or `note`.", |it| {
        Cell::text(it.found.verdict.name())
    }),
    always(
        "who",
        Kind::Text,
        "Which party is at fault: `client`, `server`, `master`, `any` or `capture`.",
        |it| Cell::text(it.found.who.name()),
    ),
    some("party", Kind::Text, "The party at fault, as `address:port`.", |it| {
        Cell::some_text(it.party.as_ref().map(|party| party.text.as_str()))
    }),
    some("party_address", Kind::Text, "Its address.", |it| {
        Cell::some_text(it.party.as_ref().map(|party| party.address.as_str()))
    }),
    some("party_port", Kind::Integer, "Its port.", |it| {
        Cell::some_count(it.party.as_ref().map(|party| party.port))
    }),
    some("protocol", Kind::Text, "The protocol.", |it| Cell::some_text(Some(it.found.protocol))),
    some("message", Kind::Text, "The message that it is about, where one is.", |it| {
        Cell::some_text(Some(it.found.message))
    }),
    always("detail", Kind::Text, "What is wrong, in this message's own numbers.", |it| {
        Cell::text(&it.found.detail)
    }),
    always("offset", Kind::Integer, "The first byte in question, in the message.", |it| {
        Cell::count(it.found.offset)
    }),
    always("length", Kind::Integer, "How many bytes are in question.", |it| {
        Cell::count(it.found.length)
    }),
    some(
        "file_offset",
        Kind::Integer,
        "Where these bytes begin in the file, where the packet holds them as they are.",
        |it| Cell::some_count(it.found.file_offset),
    ),
];

impl Row for Finding {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}

impl Finding {
    /// `files`: what the session remembers of the first packets.
    pub(super) fn of(found: Found, places: &Places, files: &Files) -> Finding {
        let place = |frame| places.of_either(frame, files);
        Finding {
            capture: places.capture(),
            at: PacketName::of(place(found.frame()), places),
            carriers: Carriers::of(&found.frames, places, place),
            rule: found.rule.code.to_string(),
            party: found.party.map(FlowEndName::of),
            found,
        }
    }
}
