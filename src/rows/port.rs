//! Ports of other traffic.

use super::Rows;
use super::column::{columns, shown};
use crate::session::Port;

/// The table of ports.
pub enum Ports {}

impl Rows for Ports {
    const NAME: &'static str = "ports";
    const TITLE: &'static str = "Ports of other traffic";
    const ABOUT: &'static str = "A row for each port of other traffic, as in `summary`.";
    type Row<'r> = Port;

    columns! { Ports, it =>
        /// `udp` or `tcp`.
        transport: Text = it.transport.name(), shown("TRANSPORT");
        /// The lower one of the two ports, usually the server's; or the port of a known server.
        port: Integer = it.port, shown("PORT");
        /// The number of its packets.
        packets: Count = it.packets, shown("PACKETS");
        /// The protocol of most of them, if its first bytes are known; none of these is decoded.
        protocol: Text or absent = it.protocol, shown("PROTOCOL");
    }
}
