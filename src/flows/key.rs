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
    #[inline]
    pub fn hash(&self, hasher: &impl BuildHasher) -> u64 {
        if let Some([a, b]) = self.words() {
            let word = u128::from(a.min(b)) << 56 | u128::from(a.max(b)) << 8;
            return hasher.hash_one(word | self.transport as u128);
        }
        self.hash_of_any(hasher)
    }

    #[inline(never)]
    fn hash_of_any(&self, hasher: &impl BuildHasher) -> u64 {
        let (a, b) = ((self.source, self.ports[0]), (self.destination, self.ports[1]));
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        hasher.hash_one((low, high, self.transport))
    }

    /// The sender and the receiver, each as a number, if both are IPv4.
    #[inline]
    fn words(&self) -> Option<[u64; 2]> {
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (self.source, self.destination) else {
            return None;
        };
        Some([word(source, self.ports[0]), word(destination, self.ports[1])])
    }
}

#[inline]
fn word(address: Ipv4Addr, port: u16) -> u64 {
    u64::from(address.to_bits()) << 16 | u64::from(port)
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
    #[inline]
    pub fn side(&self, key: &Key) -> Option<Side> {
        if let Some([from, to]) = key.words() {
            let Ends::V4([first, second], ports) = *self else { return None };
            let ends = (word(first, ports[0]), word(second, ports[1]));
            if ends == (from, to) {
                return Some(Side::First);
            }
            return (ends == (to, from)).then_some(Side::Second);
        }
        self.side_of_any(key)
    }

    #[inline(never)]
    fn side_of_any(&self, key: &Key) -> Option<Side> {
        let (from, to) = (key.from(), key.to());
        if self.end(Side::First) == from && self.end(Side::Second) == to {
            return Some(Side::First);
        }
        (self.end(Side::First) == to && self.end(Side::Second) == from).then_some(Side::Second)
    }
}
