//! From the bytes of one recorded packet to addresses, ports and payload.
//!
//! [`decode()`] walks link, network and transport headers, and through tunnels, to the innermost
//! datagram or segment; [`Defragmenter`] joins IP fragments, and [`decode_ip_payload`] continues
//! with the joined payload. All types borrow from the packet and are `Copy`: an ordinary packet
//! needs no allocation.
//!
//! This module is independent of files, flows, application protocols, rules and clocks: times are
//! those of the capture, and malformed packets are reported as values.
//!
//! ```text
//! bytes --link--> --ip--> Fragment --ip_defrag--> Whole --+
//!                   |                                     |  decode_ip_payload
//!                   +--transport--> Udp | Tcp <-----------+
//!                   +--tunnel--> back to link or ip, a bounded number of times
//! ```

pub mod checksum;
mod glance;
pub mod icmp;
pub mod ip_defrag;
pub mod limits;
pub mod link;
pub mod packet;
pub mod tcp;

mod decode;
mod ether_type;
mod hosts;
mod ip;
mod link_types;
mod looks_like;
mod outcome;
mod protocol;
mod transport;
mod tunnel;
mod tunnels;
mod udp_tunnel;
mod walk;
mod wireless;

#[cfg(test)]
pub(crate) mod test_packets;

pub use decode::{decode, decode_ip_payload};
pub use glance::{Glance, glance};
pub use hosts::Hosts;
pub use ip_defrag::{Defragmenter, WholeDatagram};
pub use link_types::{link_name, read_links};
pub use outcome::{Aggregate, Outcome};
pub use packet::{
    Datagram, Echo, Fragment, FrameRef, Headers, IcmpError, Ip, Layer, LinkTags, Malformed,
    OtherIcmp, PacketDirection, Quote, Segment, TcpFlags, TransportPayload, UnreadLayer,
};
pub use tunnels::{Tunnel, Tunnels};
