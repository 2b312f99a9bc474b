//! The parties of a conversation: letters, hosts, ports.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::exchange::{Setting, Transport};

/// A party of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Party {
    role: Role,
    /// Which host of its role, 0 to 2.
    host: u8,
    digit: u8,
    port: Option<u16>,
}

/// The role of a party; of two, the lesser one opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Client,
    Server,
    Master,
}

impl Party {
    /// Reads `c`, `s2`, `m:27016`.
    pub(super) fn parse(word: &str) -> Result<Party, String> {
        let wrong =
            || format!("`{word}` is not a party: a letter of cde stu mno, a digit, `:port`");
        let (name, port) = match word.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (word, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) => Some(port),
            Some(Err(_)) => return Err(format!("the port of `{word}` is not a number to 65535")),
        };
        let mut characters = name.chars();
        let (role, host) = match characters.next().ok_or_else(wrong)? {
            letter @ 'c'..='e' => (Role::Client, letter as u8 - b'c'),
            letter @ 's'..='u' => (Role::Server, letter as u8 - b's'),
            letter @ 'm'..='o' => (Role::Master, letter as u8 - b'm'),
            _ => return Err(wrong()),
        };
        let digit = match (characters.next(), characters.next()) {
            (None, _) => 0,
            (Some(digit @ '0'..='9'), None) => digit as u8 - b'0',
            _ => return Err(wrong()),
        };
        Ok(Party { role, host, digit, port })
    }

    pub(super) const fn role(self) -> Role {
        self.role
    }

    /// The party's socket.
    pub(super) fn address(self, setting: &Setting, transport: Transport) -> SocketAddr {
        let (last, base) = match self.role {
            Role::Client => (1, 50_000),
            Role::Server => (2, setting.port(transport)),
            Role::Master => (9, setting.port(transport)),
        };
        assert!(setting.network < 1 << 14, "there is no network {}", setting.network);
        let [high, low] = (setting.network << 2 | u16::from(self.host)).to_be_bytes();
        let host = Ipv4Addr::new(10, high, low, last);
        let port = self.port.unwrap_or_else(|| base.saturating_add(u16::from(self.digit)));
        SocketAddr::new(address(host, setting.ipv6), port)
    }
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

    fn socket(word: &str) -> String {
        let setting = Setting { tcp_port: 28900, ..Setting::udp(27015) };
        Party::parse(word).unwrap().address(&setting, Transport::Udp).to_string()
    }

    #[test]
    fn letters_are_hosts_and_digits_ports() {
        assert_eq!(socket("c"), "10.0.0.1:50000");
        assert_eq!(socket("e9"), "10.0.2.1:50009");
        assert_eq!(socket("s"), "10.0.0.2:27015");
        assert_eq!(socket("t2"), "10.0.1.2:27017");
        assert_eq!(socket("o:80"), "10.0.2.9:80");
        assert_eq!(socket("d3:40000"), "10.0.1.1:40000");
    }

    #[test]
    fn transports_have_their_own_ports() {
        let setting = Setting { tcp_port: 28900, ipv6: true, ..Setting::udp(27015) };
        let address = Party::parse("n1").unwrap().address(&setting, Transport::Tcp);
        assert_eq!(address.to_string(), "[fd00::a00:109]:28901");
    }

    #[test]
    fn networks_share_no_host() {
        let host = |network| {
            let setting = Setting { network, ..Setting::udp(1) };
            Party::parse("u").unwrap().address(&setting, Transport::Udp).to_string()
        };
        assert_eq!(
            [0, 1, 64, 16383].map(host),
            ["10.0.2.2:1", "10.0.6.2:1", "10.1.2.2:1", "10.255.254.2:1"]
        );
    }

    #[test]
    fn invalid_parties_are_rejected() {
        for word in ["", "x", "c12", "cs", "C", "s:", "s:65536", ":1", "c-1"] {
            assert!(Party::parse(word).is_err(), "{word}");
        }
    }
}
