//! The key of a flow: both ends and the transport, in either direction.

use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dissectors::kit::Transport;

/// Both ends of a packet, and what carries it: source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The source and the destination port.
    pub ports: [u16; 2],
    /// What carries it.
    pub transport: Transport,
}

impl FlowKey {
    /// The sender.
    pub fn from(&self) -> SocketAddr {
        SocketAddr::new(self.source, self.ports[0])
    }

    /// The receiver.
    pub fn to(&self) -> SocketAddr {
        SocketAddr::new(self.destination, self.ports[1])
    }

    /// The key of a packet in the other direction.
    #[inline]
    pub fn reversed(&self) -> FlowKey {
        let [from, to] = self.ports;
        FlowKey { source: self.destination, destination: self.source, ports: [to, from], ..*self }
    }

    /// A hash for the index, the same for both directions of a flow.
    #[inline]
    pub fn hash(&self, hasher: &impl BuildHasher) -> u64 {
        if let Some([a, b]) = self.words() {
            // They fit in one number.
            let word = u128::from(a.min(b)) << 56 | u128::from(a.max(b)) << 8;
            return hasher.hash_one(word | self.transport as u128);
        }
        let (a, b) = ((self.source, self.ports[0]), (self.destination, self.ports[1]));
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        hasher.hash_one((low, high, self.transport))
    }

    /// The sender and the receiver, each as a number, if both are IPv4.
    #[inline]
    pub(crate) fn words(&self) -> Option<[u64; 2]> {
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (self.source, self.destination) else {
            return None;
        };
        Some([word(source, self.ports[0]), word(destination, self.ports[1])])
    }
}

/// An end as a number.
#[inline]
fn word(address: Ipv4Addr, port: u16) -> u64 {
    u64::from(u32::from_ne_bytes(address.octets())) << 16 | u64::from(port)
}
