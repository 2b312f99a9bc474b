//! The servers that messages list, in a compact form for lists of thousands.

use std::iter;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::slice::Iter;

use dissectors::ledger::{Listed, listed};

/// In the number of a server: that it is of IPv6.
const IPV6: u64 = 1 << 63;

/// Appends a server: its number, and of IPv6 the server itself in three more words. The end of a list, which
/// is written as a server without an address, is none.
#[inline(always)]
pub(in crate::session) fn append(words: &mut Vec<u64>, number: Listed, server: SocketAddr) {
    let number = u64::from_ne_bytes(number);
    match server {
        SocketAddr::V4(it) if it.ip().is_unspecified() => {}
        SocketAddr::V4(_) => words.push(number),
        SocketAddr::V6(it) => append_ipv6(words, number, it),
    }
}

#[cold]
fn append_ipv6(words: &mut Vec<u64>, number: u64, server: SocketAddrV6) {
    // The address of an IPv4 server, as some masters write it.
    if let Some(host) = server.ip().to_ipv4_mapped() {
        let server = SocketAddrV4::new(host, server.port()).into();
        append(words, listed(server), server);
    } else if !server.ip().is_unspecified() {
        let (address, scope) = (server.ip().to_bits(), u64::from(server.scope_id()));
        let port = scope << 32 | u64::from(server.port());
        words.extend([number, (address >> 64) as u64, address as u64, port]);
    }
}

/// The servers that a message lists, without its end.
#[derive(Clone, Debug, Default)]
pub struct ListedServers<'b>(Iter<'b, u64>);

impl<'b> ListedServers<'b> {
    pub(in crate::session) fn of(words: &'b [u64]) -> ListedServers<'b> {
        ListedServers(words.iter())
    }

    /// Each server as a number that is always the same. Each of IPv4 has another; two of IPv6 have the same
    /// only by chance.
    #[inline]
    pub fn numbers(mut self) -> impl Iterator<Item = u64> + use<'b> {
        iter::from_fn(move || {
            let &number = self.0.next()?;
            if number & IPV6 > 0 {
                self.ipv6();
            }
            Some(number)
        })
    }

    /// The rest of a server of IPv6.
    #[cold]
    fn ipv6(&mut self) -> Option<SocketAddr> {
        let [&high, &low, &port] = [self.0.next()?, self.0.next()?, self.0.next()?];
        let address = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
        Some(SocketAddrV6::new(address, port as u16, 0, (port >> 32) as u32).into())
    }
}

impl Iterator for ListedServers<'_> {
    type Item = SocketAddr;

    fn next(&mut self) -> Option<SocketAddr> {
        let &number = self.0.next()?;
        if number & IPV6 > 0 {
            return self.ipv6();
        }
        let address = Ipv4Addr::from_bits((number >> 16) as u32);
        Some(SocketAddrV4::new(address, number as u16).into())
    }
}

#[cfg(test)]
mod tests {
    use dissectors::ledger::listed;

    use super::*;

    #[test]
    fn an_ipv4_server_in_the_form_of_ipv6_is_one() {
        let [mapped, server] = ["[::ffff:192.0.2.9]:28770", "192.0.2.9:28770"];
        let [mapped, server]: [SocketAddr; 2] = [mapped, server].map(|it| it.parse().unwrap());
        let mut words = Vec::new();
        append(&mut words, listed(mapped), mapped);
        assert_eq!(ListedServers::of(&words).collect::<Vec<_>>(), [server]);
    }

    #[test]
    fn servers_are_read_as_they_were_listed() {
        let texts = ["255.254.253.252:65535", "[2001:db8::1]:27015", "[fe80::1%7]:1", "0.0.0.1:0"];
        let servers = texts.map(|it| it.parse().unwrap());
        let ends = ["0.0.0.0:0", "[::]:7"].map(|it| it.parse().unwrap());
        let mut words = Vec::new();
        servers.iter().chain(&ends).for_each(|it| append(&mut words, listed(*it), *it));
        let read = ListedServers::of(&words);
        assert_eq!(read.clone().collect::<Vec<_>>(), servers);
        let numbers = servers.map(|server| u64::from_ne_bytes(listed(server)));
        assert_eq!(read.numbers().collect::<Vec<_>>(), numbers);
    }
}
