//! Ports of other traffic.

use super::Rows;
use super::column::{columns, shown};
use crate::session::Port;

/// The table of ports.
pub enum PortTable {}

impl Rows for PortTable {
    const NAME: &'static str = "ports";
    const TITLE: &'static str = "Ports of other traffic";
    const ABOUT: &'static str = "A row for each port of other traffic, as in `summary`.";
    type Row<'r> = Port;

    columns! { PortTable, it =>
        /// `udp`, `tcp` or `icmp`.
        transport: Text = it.transport, shown("TRANSPORT");
        /// The lower one of the two ports, usually the server's; or the port of a known server; 0 for ICMP, which
        /// has none.
        port: Integer = it.port, shown("PORT");
        /// The number of its packets.
        packets: Count = it.packets, shown("PACKETS");
        /// The protocol of most of them, if its first bytes are known, or which of ICMP's messages it is; none of these is decoded.
        protocol: Text or absent = it.protocol, shown("PROTOCOL");
    }
}
