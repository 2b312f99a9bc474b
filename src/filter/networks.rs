//! A set of networks, in which an address is found without looking at each of them.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Set;

use super::Network;

/// Networks, with or without a port.
#[derive(Clone, Debug, Default)]
pub struct Networks {
    /// The first address of each, its length, and its port.
    all: Set<(IpAddr, u8, Option<u16>)>,
    /// What kinds of them there are: few, of however many.
    kinds: BTreeSet<NetworkKind>,
}

/// Networks that are looked up in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NetworkKind {
    is_v6: bool,
    length: u8,
    has_port: bool,
}

impl Networks {
    /// Adds one.
    pub fn insert(&mut self, network: Network) {
        let Network { address, length, port } = network;
        let is_v6 = address.is_ipv6();
        self.kinds.insert(NetworkKind { is_v6, length, has_port: port.is_some() });
        self.all.insert((first_address(address, length), length, port));
    }

    /// Whether one of them contains this address and port.
    pub fn contain(&self, end: SocketAddr) -> bool {
        let address = end.ip().to_canonical();
        self.kinds.iter().filter(|kind| kind.is_v6 == address.is_ipv6()).any(|kind| {
            let port = kind.has_port.then_some(end.port());
            self.all.contains(&(first_address(address, kind.length), kind.length, port))
        })
    }
}

/// The first address of the network of this length that an address is in.
pub fn first_address(address: IpAddr, length: u8) -> IpAddr {
    let length = u32::from(length);
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::from((ip.to_bits() & mask).to_be_bytes())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::from((ip.to_bits() & mask).to_be_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Addresses and ports of few values, so that many networks contain many of them.
    fn end() -> impl Strategy<Value = SocketAddr> {
        let address = prop_oneof![
            any::<u32>().prop_map(|bits| IpAddr::from((bits & 0xC000_0003).to_be_bytes())),
            any::<u128>().prop_map(|bits| IpAddr::from((bits & 3 << 126 | bits & 3).to_be_bytes())),
            any::<u32>().prop_map(|bits| {
                std::net::Ipv4Addr::from_bits(bits & 0xC000_0003).to_ipv6_mapped().into()
            }),
        ];
        (address, 0u16..3).prop_map(|(address, port)| SocketAddr::new(address, port))
    }

    proptest! {
        /// It contains what one of its networks contains.
        #[test]
        fn a_set_contains_what_one_of_it_contains(
            networks in prop::collection::vec((end(), 0u8..=128, any::<bool>()), 0..8),
            ends in prop::collection::vec(end(), 20),
        ) {
            let networks = Vec::from_iter(networks.into_iter().map(|(end, length, has_port)| {
                let most = if end.is_ipv4() { 32 } else { 128 };
                let port = has_port.then_some(end.port());
                Network { address: end.ip(), length: length.min(most), port }
            }));
            let mut set = Networks::default();
            networks.iter().for_each(|network| set.insert(*network));
            for end in ends {
                let expected = networks.iter().any(|network| network.contains(end));
                prop_assert_eq!(set.contain(end), expected, "{} in {:?}", end, networks);
            }
        }
    }

    /// However many there are, an address is looked up once for each of few kinds.
    #[test]
    fn very_many_networks_are_of_few_kinds() {
        let mut set = Networks::default();
        for n in 0..20_000_u32 {
            set.insert(Network { address: IpAddr::from(n.to_be_bytes()), length: 32, port: None });
        }
        assert_eq!((set.all.len(), set.kinds.len()), (20_000, 1));
    }
}
