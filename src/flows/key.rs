//! What makes two packets belong to one flow: both ends and the transport, in either direction.

use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dissectors::kit::{Side, Transport};

/// Both ends of a packet, and what carries it: source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The source and the destination port.
    pub ports: [u16; 2],
    /// What carries it.
    pub transport: Transport,
}

impl Key {
    /// The sender.
    pub fn from(&self) -> SocketAddr {
        SocketAddr::new(self.source, self.ports[0])
    }

    /// The receiver.
    pub fn to(&self) -> SocketAddr {
        SocketAddr::new(self.destination, self.ports[1])
    }

    /// The same for both directions of a flow: what the index is hashed by. IPv4 fits in one word.
    pub fn hash(&self, hasher: &impl BuildHasher) -> u64 {
        if let (IpAddr::V4(source), IpAddr::V4(destination)) = (self.source, self.destination) {
            let end = |address: Ipv4Addr, port: u16| {
                u64::from(u32::from(address)) << 16 | u64::from(port)
            };
            let (a, b) = (end(source, self.ports[0]), end(destination, self.ports[1]));
            let word = u128::from(a.min(b)) << 56 | u128::from(a.max(b)) << 8;
            return hasher.hash_one(word | self.transport as u128);
        }
        let (a, b) = ((self.source, self.ports[0]), (self.destination, self.ports[1]));
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        hasher.hash_one((low, high, self.transport))
    }
}

/// The ends of a flow, the sender of its first packet first. IPv4, the ordinary case, takes half
/// the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Two IPv4 addresses.
    V4([Ipv4Addr; 2], [u16; 2]),
    /// Any others.
    Other(Box<([IpAddr; 2], [u16; 2])>),
}

impl Ends {
    /// The ends of a flow that begins with a packet of this key.
    pub fn of(key: &Key) -> Ends {
        match (key.source, key.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Ends::V4([source, destination], key.ports)
            }
            (source, destination) => Ends::Other(Box::new(([source, destination], key.ports))),
        }
    }

    /// One end.
    pub fn end(&self, side: Side) -> SocketAddr {
        let at = side.index();
        match self {
            Ends::V4(addresses, ports) => SocketAddr::new(IpAddr::V4(addresses[at]), ports[at]),
            Ends::Other(both) => SocketAddr::new(both.0[at], both.1[at]),
        }
    }

    /// Which end sent a packet of this key, if it belongs to this flow.
    pub fn side(&self, key: &Key) -> Option<Side> {
        if let Ends::V4([first, second], ports) = self {
            let ([a, b], [p, q]) = ([first, second].map(|ip| IpAddr::V4(*ip)), *ports);
            let same = |source, destination, ports| {
                key.source == source && key.destination == destination && key.ports == ports
            };
            if same(a, b, [p, q]) {
                return Some(Side::First);
            }
            return same(b, a, [q, p]).then_some(Side::Second);
        }
        let (from, to) = (key.from(), key.to());
        if self.end(Side::First) == from && self.end(Side::Second) == to {
            return Some(Side::First);
        }
        (self.end(Side::First) == to && self.end(Side::Second) == from).then_some(Side::Second)
    }
}
