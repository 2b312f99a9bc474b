//! What addresses say about their hosts.

use std::net::IpAddr;

/// Two ends in their order, which is the same for both directions.
pub fn sorted<T: Ord>([one, other]: [T; 2]) -> [T; 2] {
    if one <= other { [one, other] } else { [other, one] }
}

/// Whether an address is one of several hosts, whatever their network.
pub fn is_broadcast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => ip.is_broadcast() || ip.is_multicast(),
        IpAddr::V6(ip) => ip.is_multicast(),
    }
}

/// Whether an address is one of several hosts, of which this one answers what is sent there: also the last address of
/// its network.
pub fn is_of_several(address: IpAddr, host: IpAddr) -> bool {
    is_broadcast(address) || is_last_of_network(address, host, 4)
}

/// Whether an address from which nothing comes is one of several hosts, of which this is one. The last address of a small
/// network may well be a host's.
pub fn may_be_of_several(address: IpAddr, host: IpAddr) -> bool {
    is_broadcast(address) || is_last_of_network(address, host, 8)
}

/// Whether an address is the last one of a host's network, if that is one of so many bits, or of more, up to 16.
fn is_last_of_network(address: IpAddr, host: IpAddr, least_bits: u32) -> bool {
    const MOST_BITS: u32 = 16;
    let is_last = match (address, host) {
        (IpAddr::V4(address), IpAddr::V4(host)) => {
            let bits = address.to_bits().trailing_ones().min(MOST_BITS);
            let differ = u32::BITS - (address.to_bits() ^ host.to_bits()).leading_zeros();
            bits >= least_bits && differ <= bits
        }
        _ => false,
    };
    is_last && address != host
}

/// Nanoseconds between the recordings of one datagram before and behind NAT.
pub const TRANSLATED_WITHIN: i64 = 2_000_000;

/// Routers between these recordings.
pub const TRANSLATED_ROUTERS: std::ops::RangeInclusive<u8> = 1..=4;

/// Whether an address is valid only in its own network.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            // 100.64.0.0/10 is between providers and their customers.
            ip.is_private() || ip.is_link_local() || ip.is_loopback() || a == 100 && b & 0xC0 == 64
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_loopback(),
    }
}

/// Why no host of the Internet is at an address, if so: the kind of the address.
pub fn unreachable(address: IpAddr) -> Option<&'static str> {
    let is_link_local = match address {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    match address {
        _ if address.is_unspecified() => Some("unspecified"),
        _ if address.is_loopback() => Some("loopback"),
        _ if is_link_local => Some("link-local"),
        _ if address.is_multicast() => Some("multicast"),
        _ if is_broadcast(address) => Some("broadcast"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_address_of_a_network_is_of_several_hosts() {
        let is_of_several =
            |one: &str, other: &str| is_of_several(one.parse().unwrap(), other.parse().unwrap());
        let may_be_of_several = |one: &str, other: &str| {
            may_be_of_several(one.parse().unwrap(), other.parse().unwrap())
        };
        for broadcast in
            ["255.255.255.255", "239.1.2.3", "10.1.0.255", "10.1.1.255", "10.1.255.255"]
        {
            assert!(is_of_several(broadcast, "10.1.0.2"), "{broadcast}");
            assert!(may_be_of_several(broadcast, "10.1.0.2"), "{broadcast}");
        }
        for host in ["10.1.0.7", "10.2.0.255", "10.1.2.255"] {
            assert!(!is_of_several(host, "10.1.0.2"), "{host}");
        }
        assert!(is_of_several("10.1.0.127", "10.1.0.2"));
        assert!(!may_be_of_several("10.1.0.127", "10.1.0.2"));
        assert!(!is_of_several("10.1.0.127", "10.1.0.130"));
        assert!(is_of_several("ff02::1", "fe80::2") && !is_of_several("fe80::1", "fe80::2"));
    }

    #[test]
    fn private_addresses_are_known() {
        for ip in [
            "10.1.2.3",
            "192.168.0.9",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(is_private(ip.parse().unwrap()), "{ip}");
        }
        for ip in ["203.0.113.5", "100.128.0.1", "172.32.0.1", "2001:db8::1"] {
            assert!(!is_private(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn no_host_of_the_internet_is_at_a_special_address() {
        let why = |ip: &str| unreachable(ip.parse().unwrap());
        assert_eq!(why("127.0.0.1"), Some("loopback"));
        assert_eq!(why("169.254.7.7"), Some("link-local"));
        assert_eq!(why("239.1.2.3"), Some("multicast"));
        assert_eq!(why("255.255.255.255"), Some("broadcast"));
        assert_eq!([why("0.0.0.0"), why("::")], [Some("unspecified"); 2]);
        assert_eq!([why("10.0.0.2"), why("203.0.113.5"), why("2001:db8::1")], [None; 3]);
    }
}
