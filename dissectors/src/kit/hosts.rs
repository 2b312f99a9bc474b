//! Addresses of several hosts.

use std::net::IpAddr;

/// Whether an address is one of several hosts, whatever their network.
pub fn is_broadcast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => ip.is_broadcast() || ip.is_multicast(),
        IpAddr::V6(ip) => ip.is_multicast(),
    }
}

/// Whether an address is one of several hosts, of which this is one: also the last address of its network, which is
/// taken to be one of 256 addresses or more.
pub fn is_of_several(address: IpAddr, host: IpAddr) -> bool {
    let is_last = match (address, host) {
        (IpAddr::V4(address), IpAddr::V4(host)) => {
            let ([a, b, c, last], [d, e, f, _]) = (address.octets(), host.octets());
            last == 255 && ([a, b, c] == [d, e, f] || c == 255 && [a, b] == [d, e])
        }
        _ => false,
    };
    is_broadcast(address) || is_last && address != host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_address_of_a_network_is_of_several_hosts() {
        let is_of_several =
            |one: &str, other: &str| is_of_several(one.parse().unwrap(), other.parse().unwrap());
        for broadcast in ["255.255.255.255", "239.1.2.3", "10.1.0.255", "10.1.255.255"] {
            assert!(is_of_several(broadcast, "10.1.0.2"), "{broadcast}");
        }
        for host in ["10.1.0.7", "10.2.0.255", "10.1.1.255"] {
            assert!(!is_of_several(host, "10.1.0.2"), "{host}");
        }
        assert!(is_of_several("ff02::1", "fe80::2") && !is_of_several("fe80::1", "fe80::2"));
    }
}
