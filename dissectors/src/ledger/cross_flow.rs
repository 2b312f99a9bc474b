//! What the ledger is given: events of flows, with what is known about their flow.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::kit::{CrossFlowEvent, SeenMessage};

/// A listed server, in little memory, since lists may have thousands.
pub type Listed = [u8; 8];

/// A server as it is listed. IPv4 servers are distinct; IPv6 servers are hashed.
#[inline]
pub fn listed(server: SocketAddr) -> Listed {
    let port = u64::from(server.port());
    let word = match server.ip() {
        IpAddr::V4(address) => u64::from(u32::from(address)) << 16 | port,
        IpAddr::V6(address) => {
            let (bits, odd) = (u128::from(address), 0x9E37_79B9_7F4A_7C15_u64);
            let mixed = ((bits >> 64) as u64).wrapping_mul(odd).rotate_left(32) ^ bits as u64;
            (mixed ^ port).wrapping_mul(odd) | 1 << 63
        }
    };
    word.to_ne_bytes()
}

/// A message, and what is known about its flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Basis {
    /// The message.
    pub seen: SeenMessage,
    /// The flow's number.
    pub flow: u32,
    /// The flow's first packet opens a conversation.
    pub began: bool,
    /// The recording lost packets of the flow before it.
    pub lossy: bool,
}

/// Something that matters for rules that span flows.
#[derive(Clone, Copy, Debug)]
pub struct CrossFlow<'b> {
    /// What it is.
    pub event: CrossFlowEvent,
    /// The message that it is about.
    pub basis: Basis,
    /// The servers of a list.
    pub servers: &'b [Listed],
    /// The text beside the event.
    pub text: &'b [u8],
}
