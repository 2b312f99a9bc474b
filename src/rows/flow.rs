//! Flows of supported protocols.

use dissectors::kit::Role;

use super::cell::{named, of_three, sum};
use super::column::{columns, shown};
use super::places::{PacketName, PacketPlaces};
use super::{Cell, Rows};
use crate::flows::FlowRow;

/// The width of an IPv4 address and a port. On a narrow terminal, longer ones and roles are shortened to it.
const END: usize = 21;

/// The table of flows.
pub enum FlowTable {}

/// A row.
#[derive(Clone, Debug)]
pub struct PlacedFlow {
    /// The flow.
    pub row: FlowRow,
    /// Its first packet.
    first: PacketName,
}

impl PlacedFlow {
    /// A flow that has ended.
    pub fn of(row: &FlowRow, places: &PacketPlaces) -> PlacedFlow {
        PlacedFlow { row: row.clone(), first: PacketName::of(places.of(row.frame), places) }
    }
}

impl Rows for FlowTable {
    const NAME: &'static str = "flows";
    const TITLE: &'static str = "Flows";
    const ABOUT: &'static str =
        "A row for each flow of a supported protocol, in the order in which they end.";
    const ORDER: &'static str = "flow";
    type Row<'r> = &'r PlacedFlow;

    columns! { FlowTable, PlacedFlow { row, first } =>
        /// The number of the flow, in the order in which protocols were identified. It depends on which files are
        /// read; `file` and `frame` do not.
        flow: Integer = row.flow, shown("FLOW").place(1);
        /// The file with its first packet.
        [Extra] file: Text or absent = first.file.as_deref();
        /// The number of that packet in its file.
        [Extra] frame: Integer or absent = first.frame;
        /// `udp` or `tcp`.
        transport: Text = row.transport.name();
        /// The sender of the first recorded packet, as `address:port`.
        a: Text = row.ends[0];
        /// Its address.
        [Extra] a_address: Text = row.ends[0].ip();
        /// Its port.
        [Extra] a_port: Integer = row.ends[0].port();
        /// The other end, as `address:port`.
        b: Text = row.ends[1];
        /// Its address.
        [Extra] b_address: Text = row.ends[1].ip();
        /// Its port.
        [Extra] b_port: Integer = row.ends[1].port();
        /// The protocol.
        protocol: Text or absent = named(row.protocol), shown("PROTOCOL").useful(7).place(1);
        /// The end that is the client, or would be.
        [People] client: Text = end(row, 0, Role::Client), shown("CLIENT").shortened(END).place(1);
        /// The other end.
        [People] server: Text = end(row, 1, Role::Server), shown("SERVER").shortened(END).place(1);
        /// When its first packet was recorded.
        first: Time = row.first;
        /// When its last packet was recorded.
        last: Time = row.last;
        /// Packets in both directions.
        packets: Count = sum(row.packets), shown("PACKETS").useful(5), sides(row, row.packets);
        /// Payload bytes in both directions.
        bytes: Count = sum(row.bytes), shown("BYTES").useful(1), sides(row, row.bytes);
        /// Messages in both directions.
        messages: Count = sum(row.messages), shown("MESSAGES").useful(4), sides(row, row.messages);
        /// Certain findings.
        findings: Count = row.findings.certain(), shown("FINDINGS").toned().place(99);
        /// The role of end a, if it has sent messages.
        role_a: Text or absent = row.roles[0].map(Role::name);
        /// The role of end b.
        role_b: Text or absent = row.roles[1].map(Role::name);
        /// Packets sent by end a.
        packets_a: Count = row.packets[0];
        /// Packets sent by end b.
        packets_b: Count = row.packets[1];
        /// Payload bytes sent by end a.
        bytes_a: Count = row.bytes[0];
        /// Payload bytes sent by end b.
        bytes_b: Count = row.bytes[1];
        /// Messages sent by end a.
        messages_a: Count = row.messages[0];
        /// Messages sent by end b.
        messages_b: Count = row.messages[1];
        /// Seconds from `first` to `last`.
        duration: Seconds = Cell::Seconds(row.last.since(row.first).max(0)), shown("DURATION").useful(3).place(2);
        /// Requests, with all their repeats and challenges counted as one.
        requests: Count = row.exchanges.asked, shown("ASKED");
        /// The number of these that were answered: that received the requested data.
        answered: Count = row.exchanges.answered, shown("ANSWERED").of("requests"),
            Cell::Portion(row.exchanges.answered, row.exchanges.asked);
        /// The same as `requests`, as other tables call it.
        [Extra] exchanges: Count = row.exchanges.asked;
        /// The same as `answered`.
        [Extra] exchanges_answered: Count = row.exchanges.answered;
        /// Median response time, in seconds.
        response_time_p50: Seconds or absent = of_three(row.response_times, 0), shown("P50").useful(2);
        /// 95th percentile of response times, in seconds.
        response_time_p95: Seconds or absent = of_three(row.response_times, 1), shown("P95").useful(0);
        /// Maximum response time, in seconds.
        response_time_max: Seconds or absent = of_three(row.response_times, 2), shown("MAX").useful(6);
    }
}

/// The indices of both ends, that of the client first.
fn sides_of(row: &FlowRow) -> [usize; 2] {
    let is_second = match row.roles {
        [Some(Role::Client), _] => false,
        [_, Some(Role::Client)] | [Some(Role::Master), _] | [Some(Role::Server), None] => true,
        _ => false,
    };
    if is_second { [1, 0] } else { [0, 1] }
}

/// An end, with its role if that is another one than the heading says.
fn end(row: &FlowRow, nth: usize, heading: Role) -> String {
    let at = sides_of(row)[nth];
    match row.roles[at] {
        Some(who) if who != heading => format!("{} ({})", row.ends[at], who.name()),
        _ => row.ends[at].to_string(),
    }
}

/// Counts of both ends, those of the client first.
fn sides(row: &FlowRow, counts: [u64; 2]) -> Cell<'static> {
    Cell::Sides(sides_of(row).map(|at| counts[at]))
}
