//! The names by which clients may ask for metrics.
//!
//! A web page can make its own name stand for an address of this host, and then read what is served
//! there (DNS rebinding). Its requests still have that name in `Host`, so other names than those of this
//! host are refused.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A name or an address of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(Named);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Address(IpAddr),
    /// In lower case, without a dot at the end.
    Name(String),
}

impl FromStr for HostName {
    type Err = String;

    fn from_str(typed: &str) -> Result<HostName, String> {
        let bare: Option<Ipv6Addr> = typed.parse().ok();
        let named = bare.map(|it| HostName(Named::Address(it.into())));
        let named = named.or_else(|| HostName::of(typed, ""));
        named.ok_or_else(|| {
            "expected the name or the IP address of a host, without a port: metrics.example.net"
                .to_owned()
        })
    }
}

impl HostName {
    /// From the text of a host, as it is in `Host`, and of its port.
    fn of(host: &str, port: &str) -> Option<HostName> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let named = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(inner) => Named::Address(inner?.parse::<Ipv6Addr>().ok()?.into()),
            None if host.is_empty() || !host.chars().all(is_name) => return None,
            None => match host.parse() {
                Ok(address) => Named::Address(address),
                Err(_) => Named::Name(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()),
            },
        };
        port.bytes().all(|digit| digit.is_ascii_digit()).then_some(HostName(named))
    }

    /// From the value of `Host`. `None`: it is invalid.
    fn of_header(value: &[u8]) -> Option<HostName> {
        let value = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
        match value.rsplit_once(':') {
            // The last colon is within an IPv6 address.
            Some(_) if value.ends_with(']') => HostName::of(value, ""),
            Some((host, port)) => HostName::of(host, port),
            None => HostName::of(value, ""),
        }
    }
}

/// The other names of this host, from the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct HostNames(pub(super) Vec<HostName>);

/// Whether a request is meant for this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    Here,
    Elsewhere,
    Invalid,
}

impl HostNames {
    /// By the values of `Host` in a request to this address of this host. `needs_host`: the version of
    /// HTTP demands one.
    pub(super) fn meant<'v>(
        &self,
        mut hosts: impl Iterator<Item = &'v [u8]>,
        needs_host: bool,
        address: IpAddr,
    ) -> Meant {
        let host = match (hosts.next(), hosts.next()) {
            (None, _) if needs_host => return Meant::Invalid,
            // Browsers always send it.
            (None, _) => return Meant::Here,
            (Some(host), None) => host,
            (Some(_), Some(_)) => return Meant::Invalid,
        };
        let Some(host) = HostName::of_header(host) else { return Meant::Invalid };
        let is_here = match &host.0 {
            Named::Address(named) => named.to_canonical() == address.to_canonical(),
            Named::Name(name) => name == "localhost",
        };
        if is_here || self.0.contains(&host) { Meant::Here } else { Meant::Elsewhere }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(names: &[&str], hosts: &[&str], address: &str) -> Meant {
        let names = HostNames(names.iter().map(|name| name.parse().unwrap()).collect());
        names.meant(hosts.iter().map(|host| host.as_bytes()), true, address.parse().unwrap())
    }

    #[test]
    fn the_address_and_localhost_are_this_host() {
        for (host, address) in [
            ("127.0.0.1:9642", "127.0.0.1"),
            ("127.0.0.1", "127.0.0.1"),
            // A tunnel has another port.
            ("localhost:8080", "127.0.0.1"),
            ("LocalHost.", "127.0.0.1"),
            ("[::1]:9642", "::1"),
            ("[::1]", "::1"),
            // Who listens on all addresses of IPv6 may get connections over IPv4.
            ("192.0.2.1:80", "::ffff:192.0.2.1"),
            ("127.0.0.1:", "127.0.0.1"),
        ] {
            assert_eq!(meant(&[], &[host], address), Meant::Here, "{host}");
        }
    }

    #[test]
    fn other_names_are_elsewhere_unless_they_are_given() {
        for host in [
            "evil.example:9642",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:9642",
            "192.0.2.1",
            "[::1]:9642",
            "0.0.0.0:9642",
            "2130706433",
        ] {
            assert_eq!(meant(&[], &[host], "127.0.0.1"), Meant::Elsewhere, "{host}");
            let names = ["metrics.example.net", "198.51.100.1"];
            assert_eq!(meant(&names, &[host], "127.0.0.1"), Meant::Elsewhere, "{host}");
        }
        let names = ["Metrics.example.net", "198.51.100.1", "2001:db8::1"];
        for host in [
            "metrics.EXAMPLE.net:9642",
            "metrics.example.net.",
            "198.51.100.1:1",
            "[2001:db8::1]:9642",
        ] {
            assert_eq!(meant(&names, &[host], "127.0.0.1"), Meant::Here, "{host}");
        }
    }

    #[test]
    fn a_request_has_exactly_one_valid_host() {
        for hosts in [
            &[][..],
            &["localhost", "localhost"],
            &[""],
            &["localhost:x"],
            &["a b"],
            &["[::1"],
            &["::1"],
            &["user@localhost"],
            &["http://localhost"],
            &["localhost/"],
        ] {
            assert_eq!(meant(&[], hosts, "127.0.0.1"), Meant::Invalid, "{hosts:?}");
        }
        let none = std::iter::empty();
        let address = "127.0.0.1".parse().unwrap();
        assert_eq!(HostNames::default().meant(none, false, address), Meant::Here);
    }

    #[test]
    fn an_option_is_a_name_without_a_port() {
        for typed in ["metrics.example.net", "game_1", "192.0.2.1", "::1", "[::1]"] {
            assert!(typed.parse::<HostName>().is_ok(), "{typed}");
        }
        for typed in ["", "a:1", "192.0.2.1:80", "http://a", "a/b", "a b", "[a]", "*"] {
            assert!(typed.parse::<HostName>().unwrap_err().contains("without a port"), "{typed}");
        }
    }
}
