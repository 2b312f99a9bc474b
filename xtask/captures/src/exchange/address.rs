//! The sockets of the parties of a script.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dissectors::kit::Role;
use dissectors::script::Party;

use crate::exchange::{Setting, Transport};

/// The party's socket.
pub(super) fn socket(party: Party, setting: &Setting, transport: Transport) -> SocketAddr {
    let (last, base) = match party.role {
        Role::Client => (1, 50_000),
        Role::Server => (2, setting.port(transport)),
        _ => (9, setting.port(transport)),
    };
    assert!(setting.network < 1 << 14, "there is no network {}", setting.network);
    let [high, low] = (setting.network << 2 | u16::from(party.host)).to_be_bytes();
    let host = Ipv4Addr::new(10, high, low, last);
    let port = party.port.unwrap_or_else(|| base.saturating_add(u16::from(party.digit)));
    SocketAddr::new(address(host, setting.ipv6), port)
}

/// An IPv4 address, or its IPv6 counterpart.
pub(super) fn address(host: Ipv4Addr, ipv6: bool) -> IpAddr {
    if !ipv6 {
        return host.into();
    }
    let [a, b, c, d] = host.octets().map(u16::from);
    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, a << 8 | b, c << 8 | d).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sender of a step.
    fn party(word: &str) -> Party {
        let steps = dissectors::script::parse(&format!("0 {word} > m9 00")).unwrap();
        let dissectors::script::What::Say(say) = &steps[0].what else { panic!("a step") };
        say.from
    }

    fn written(word: &str) -> String {
        let setting = Setting { tcp_port: 28900, ..Setting::udp(27015) };
        super::socket(party(word), &setting, Transport::Udp).to_string()
    }

    #[test]
    fn letters_are_hosts_and_digits_ports() {
        assert_eq!(written("c"), "10.0.0.1:50000");
        assert_eq!(written("e9"), "10.0.2.1:50009");
        assert_eq!(written("s"), "10.0.0.2:27015");
        assert_eq!(written("t2"), "10.0.1.2:27017");
        assert_eq!(written("o:80"), "10.0.2.9:80");
        assert_eq!(written("d3:40000"), "10.0.1.1:40000");
    }

    #[test]
    fn transports_have_their_own_ports() {
        let setting = Setting { tcp_port: 28900, ipv6: true, ..Setting::udp(27015) };
        let address = super::socket(party("n1"), &setting, Transport::Tcp);
        assert_eq!(address.to_string(), "[fd00::a00:109]:28901");
    }

    #[test]
    fn networks_share_no_host() {
        let host = |network| {
            let setting = Setting { network, ..Setting::udp(1) };
            super::socket(party("u"), &setting, Transport::Udp).to_string()
        };
        assert_eq!(
            [0, 1, 64, 16383].map(host),
            ["10.0.2.2:1", "10.0.6.2:1", "10.1.2.2:1", "10.255.254.2:1"]
        );
    }
}
