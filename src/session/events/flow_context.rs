//! The flow and the packet of an event.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{FlowFacts, Role, Transport};
use serde::{Deserialize, Serialize};

use crate::net::{PacketDirection, Tunnels};
use crate::session::EventOrder;

/// The flow and the packet of an event.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowContext {
    /// The protocol; `None` if a packet is checked before its protocol is known.
    pub protocol: Option<Id>,
    /// The flow; its number is 0 if there is none.
    pub flow: FlowFacts,
    /// The role of each end, if it has sent messages, by
    /// [`Side::index`](dissectors::kit::Side::index).
    pub roles: [Option<Role>; 2],
    /// The packet, and the offset of its recorded bytes in the capture file.
    pub packet: (u64, u64),
    /// The order of the event.
    pub moment: EventOrder,
    /// Number of digits of a second in the capture's times: 6 or 9.
    pub digits: u8,
    /// The original packet, if the datagram is a duplicate.
    pub copy_of: Option<u64>,
    /// The tunnels of the packet.
    pub tunnels: Tunnels,
    /// The packet's IPv4 time to live or IPv6 hop limit; 0 if unknown.
    pub hop_limit: u8,
    /// The packet's direction at the recording host.
    pub direction: PacketDirection,
    /// For how many milliseconds each end's TCP window was closed since it last sent bytes.
    pub window_closed: [u32; 2],
}

impl FlowContext {
    /// The context of an event without flow and packet.
    pub fn outside(digits: u8) -> FlowContext {
        FlowContext {
            protocol: None,
            flow: NOWHERE,
            roles: [None; 2],
            packet: (0, 0),
            moment: EventOrder::END,
            digits,
            copy_of: None,
            tunnels: Tunnels::default(),
            hop_limit: 0,
            direction: PacketDirection::Unknown,
            window_closed: [0; 2],
        }
    }
}

/// The flow of events without one.
pub(in crate::session) const NOWHERE: FlowFacts = FlowFacts {
    ends: [SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0); 2],
    began: false,
    seen: [false; 2],
    silence: 0,
    lossy: false,
    number: 0,
    transport: Transport::Udp,
};
