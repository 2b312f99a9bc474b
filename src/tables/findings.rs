//! The table of findings.

use std::sync::Arc;

use super::places::{CarryingPackets, FlowEndName, PacketName, PacketPlaces};
use super::{Cell, Kind, TableColumn, TableRow, always, capture, cells, some};
use crate::check::ReportedFinding;
use crate::session::Files;

/// A row.
pub(super) struct FindingRecord {
    capture: Arc<str>,
    at: PacketName,
    carriers: CarryingPackets,
    rule: String,
    party: Option<FlowEndName>,
    found: ReportedFinding,
}

pub(super) const COLUMNS: [TableColumn<FindingRecord>; 22] = [
    capture(|it| Cell::text(&it.capture)),
    some("file", Kind::Text, "The file with the packet that the finding is about.", |it| {
        Cell::some_text(it.at.file.as_deref())
    }),
    some(
        "frame",
        Kind::Integer,
        "The number of that packet in its file: the one that completed the message. Empty if no single \
         packet shows the finding.",
        |it| Cell::some_count(it.at.frame),
    ),
    always(
        "frames",
        Kind::Integers,
        "The numbers of all packets that it is about, each counted in its own file.",
        |it| Cell::Integers(&it.carriers.frames),
    ),
    some(
        "frames_files",
        Kind::Texts,
        "The file of each element of `frames`, if they are in different files.",
        |it| it.carriers.files.as_deref().map_or(Cell::Absent, Cell::Texts),
    ),
    always(
        "frames_left_out",
        Kind::Integer,
        "The number of further packets that are not listed.",
        |it| Cell::count(it.found.frames_left_out),
    ),
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
        "The party at fault: `client`, `server`, `master`, `any` or `capture`.",
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
    some("message", Kind::Text, "The message that it is about, if there is one.", |it| {
        Cell::some_text(Some(it.found.message))
    }),
    always("detail", Kind::Text, "What is wrong, with the values from this message.", |it| {
        Cell::text(&it.found.detail)
    }),
    always(
        "offset",
        Kind::Integer,
        "The offset of the first byte in question, from the start of the message.",
        |it| Cell::count(it.found.offset),
    ),
    always("length", Kind::Integer, "The number of bytes in question.", |it| {
        Cell::count(it.found.length)
    }),
    some(
        "file_offset",
        Kind::Integer,
        "The offset of these bytes in the file, if the packet contains them unchanged.",
        |it| Cell::some_count(it.found.file_offset),
    ),
];

impl TableRow for FindingRecord {
    fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
        cells(&COLUMNS, self, each);
    }
}

impl FindingRecord {
    /// `files`: the files of the first packets that the session remembers.
    pub(super) fn of(
        found: ReportedFinding,
        places: &PacketPlaces,
        files: &Files,
    ) -> FindingRecord {
        let place = |frame| places.of_either(frame, files);
        FindingRecord {
            capture: places.capture(),
            at: PacketName::of(place(found.frame()), places),
            carriers: CarryingPackets::of(&found.frames, places, place),
            rule: found.rule.code.to_string(),
            party: found.party.map(FlowEndName::of),
            found,
        }
    }
}
