//! Findings of `check`.

use super::cell::named;
use super::column::{columns, shown};
use super::places::{CarryingPackets, PacketName, PacketPlaces};
use super::{Cell, Rows};
use crate::check::ReportedFinding;
use crate::session::Files;

/// The table of findings.
pub enum FindingTable {}

/// A row.
pub struct FindingRow<'f> {
    found: &'f ReportedFinding,
    at: PacketName,
    carriers: CarryingPackets,
}

impl FindingRow<'_> {
    /// `files`: the files of the first packets that the session remembers.
    pub fn of<'f>(
        found: &'f ReportedFinding,
        places: &PacketPlaces,
        files: &Files,
    ) -> FindingRow<'f> {
        let place = |frame| places.of_either(frame, files);
        FindingRow {
            found,
            at: PacketName::of(place(found.frame()), places),
            carriers: CarryingPackets::of(&found.frames, places, place),
        }
    }
}

impl Rows for FindingTable {
    const NAME: &'static str = "findings";
    const TITLE: &'static str = "Findings";
    const ABOUT: &'static str = "A row for each finding of `check`, up to 1,000 of each rule and verdict in a \
        capture; fewer of those that were inconclusive at first, and proven by what came later. `verdicts` counts all.";
    const ORDER: &'static str = "severity";
    type Row<'r> = &'r FindingRow<'r>;

    columns! { FindingTable, FindingRow { found, at, carriers } =>
        /// The file with the packet that the finding is about.
        file: Text or absent = at.file.as_deref();
        /// The number of that packet in its file: the one that completed the message. Empty if no single packet
        /// shows the finding.
        frame: Integer or absent = at.frame, shown("FRAME").place(5);
        /// The numbers of all packets that it is about, each counted in its own file.
        frames: Integers = Cell::Integers(&carriers.frames);
        /// The file of each element of `frames`, if they are in different files.
        frames_files: Texts or absent = carriers.files();
        /// The number of further packets that are not listed.
        frames_left_out: Count = found.frames_left_out;
        /// When that packet was recorded.
        time: Time or absent = (found.frame() > 0).then_some(found.time), shown("TIME").useful(0).place(3);
        /// The flow: `flow` of `flows` with the same `capture`.
        flow: Integer or absent = Some(found.flow).filter(|flow| *flow > 0);
        /// The rule's code; docs/rules.md lists all.
        rule: Text = found.rule.code.to_string(), shown("RULE").usual(7).toned().place(2);
        /// The rule's name.
        slug: Text = found.rule.slug;
        /// `error`, `warning` or `note`.
        severity: Text = Cell::Severity(found.severity, found.verdict, 1),
            shown("SEVERITY").usual(8).toned().place(1);
        /// `fail`, `inconclusive` or `note`.
        verdict: Text = found.verdict.name();
        /// The party at fault: `client`, `server`, `master`, `any` or `capture`.
        who: Text = found.who.name();
        /// The party at fault, as `address:port`, or as "N sources toward address:port".
        party: Text or absent = found.named_party(), shown("PARTY").usual(21).place(4),
            found.named_party().map_or_else(|| "the recording".into(), Cell::from);
        /// Its address, if it is one party.
        party_address: Text or absent = found.one_party().map(|party| party.ip());
        /// Its port.
        party_port: Integer or absent = found.one_party().map(|party| party.port());
        /// The protocol.
        protocol: Text or absent = named(found.protocol);
        /// The message that it is about, if there is one.
        message: Text or absent = named(found.message);
        /// What is wrong, with the values from this message.
        detail: Text = found.detail.as_str(), shown("WHAT").shortened(20).usual(52).place(6),
            format!("{}: {}", found.rule.slug, found.detail);
        /// The offset of the first byte in question, from the start of the message.
        offset: Integer = found.offset;
        /// The number of bytes in question.
        length: Integer = found.length;
        /// The offset of these bytes in the file, if the packet contains them unchanged.
        file_offset: Integer or absent = found.file_offset;
    }
}
