//! ICMP errors and the packets that they quote: which packet did not arrive, who reports it, and
//! why (RFC 792, RFC 1812, RFC 4443).

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use std::net::IpAddr;

use dissectors::kit::Transport;
use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice};

use super::outcome::Outcome;
use super::packet::{Echo, IcmpError, OtherIcmp, Quote};
use super::protocol;
use super::walk::{IpPayload, Walk, u16_be};

/// The identification in an IPv4 header, if it distinguishes datagrams: 0 with Don't Fragment does
/// not (RFC 6864). Other headers have none.
#[inline]
pub fn identification(header: &[u8]) -> Option<u16> {
    let &[_, _, _, _, high, low, flags, ..] = header else { return None };
    let identification = u16::from_be_bytes([high, low]);
    (identification != 0 || flags & 0x40 == 0).then_some(identification)
}

impl IcmpError<'_> {
    /// What the error says, in words.
    pub fn meaning(&self) -> &'static str {
        match (self.ip.source.is_ipv6(), self.kind, self.code) {
            (false, 3, 0) => "net unreachable",
            (false, 3, 1) => "host unreachable",
            (false, 3, 2) => "protocol unreachable",
            (false, 3, 3) | (true, 1, 4) => "port unreachable",
            (false, 3, 4) => "fragmentation needed",
            (false, 3, 5) => "source route failed",
            (false, 3, 6) => "net unknown",
            (false, 3, 7) => "host unknown",
            (false, 3, 9) => "net administratively prohibited",
            (false, 3, 10) => "host administratively prohibited",
            (false, 3, 13) | (true, 1, 1) => "administratively prohibited",
            (false, 3, _) => "destination unreachable",
            (false, 11, 0) | (true, 3, 0) => "time exceeded in transit",
            (false, 11, 1) | (true, 3, 1) => "fragment reassembly time exceeded",
            (false, 11, _) | (true, 3, _) => "time exceeded",
            (true, 1, 0) => "no route to destination",
            (true, 1, 2) => "beyond scope of source address",
            (true, 1, 3) => "address unreachable",
            (true, 1, 5) => "source address failed policy",
            (true, 1, 6) => "route to destination rejected",
            (true, 1, _) => "destination unreachable",
            (true, 2, _) => "packet too big",
            _ => "parameter problem",
        }
    }
}

impl<'a> Walk<'a> {
    /// ICMP of either version. Of what is no error about UDP or TCP, the type is enough.
    pub(super) fn icmp(&self, carried: &IpPayload<'a>) -> Outcome<'a> {
        match (error(carried), carried.bytes.first()) {
            (Some(error), _) => Outcome::Icmp(error),
            (None, Some(&kind)) => Outcome::OtherIcmp(OtherIcmp { ip: carried.ip, kind }),
            (None, None) => Outcome::Other,
        }
    }
}

impl OtherIcmp {
    /// Which part of a ping it is, if any (RFC 792, RFC 4443).
    pub fn echo(&self) -> Option<Echo> {
        match (self.ip.source.is_ipv6(), self.kind) {
            (false, 8) | (true, 128) => Some(Echo::Request),
            (false, 0) | (true, 129) => Some(Echo::Reply),
            _ => None,
        }
    }
}

fn error<'a>(carried: &IpPayload<'a>) -> Option<IcmpError<'a>> {
    let (&[kind, code, _, _, a, b, c, d], quoted) = carried.bytes.split_first_chunk::<8>()?;
    let quote = match (carried.protocol, kind) {
        (protocol::ICMP, 3 | 11 | 12) => quote4(quoted),
        (protocol::ICMP6, 1..=4) => quote6(quoted),
        _ => None,
    }?;
    let mtu = match (carried.protocol, kind, code) {
        (protocol::ICMP, 3, 4) => u32::from_be_bytes([0, 0, c, d]),
        (protocol::ICMP6, 2, _) => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    };
    let mtu = Some(mtu).filter(|mtu| *mtu > 0);
    Some(IcmpError { ip: carried.ip, kind, code, mtu, quote })
}

fn quote4(bytes: &[u8]) -> Option<Quote<'_>> {
    let header = Ipv4HeaderSlice::from_slice(bytes).ok()?;
    let rest = bytes.get(header.slice().len()..)?;
    // Only a first fragment has ports.
    if header.fragments_offset().value() != 0 {
        return None;
    }
    let identification = identification(header.slice());
    let hosts = [header.source_addr().into(), header.destination_addr().into()];
    quote(header.protocol().0, hosts, identification, rest)
}

fn quote6(bytes: &[u8]) -> Option<Quote<'_>> {
    let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
    let rest = bytes.get(header.slice().len()..)?;
    let (protocol, rest) = match header.next_header().0 {
        // A first fragment: its header has offset 0.
        protocol::FRAGMENT => match rest.split_first_chunk::<8>()? {
            (&[protocol, _, high, low, ..], rest)
                if u16::from_be_bytes([high, low]) & 0xFFF8 == 0 =>
            {
                (protocol, rest)
            }
            _ => return None,
        },
        protocol => (protocol, rest),
    };
    quote(protocol, [header.source_addr().into(), header.destination_addr().into()], None, rest)
}

/// The packet between these hosts; `bytes`: what follows its IP header.
fn quote(
    protocol: u8,
    [source, destination]: [IpAddr; 2],
    identification: Option<u16>,
    bytes: &[u8],
) -> Option<Quote<'_>> {
    let transport = match protocol {
        protocol::UDP => Transport::Udp,
        protocol::TCP => Transport::Tcp,
        _ => return None,
    };
    let (ports, length, bytes) = match transport {
        Transport::Udp => udp(bytes)?,
        Transport::Tcp => (tcp(bytes)?, 0, &[][..]),
    };
    Some(Quote { source, destination, transport, ports, identification, length, bytes })
}

/// The ports of a segment. Every host quotes at least its first eight bytes.
fn tcp(bytes: &[u8]) -> Option<[u16; 2]> {
    let (&[a, b, c, d, ..], _) = bytes.split_first_chunk::<8>()?;
    Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

/// The ports, the length of the datagram's payload, and the quoted part of it.
fn udp(bytes: &[u8]) -> Option<([u16; 2], usize, &[u8])> {
    let (source, rest) = u16_be(bytes)?;
    let (destination, rest) = u16_be(rest)?;
    let (length, rest) = u16_be(rest)?;
    let length = usize::from(length).checked_sub(8)?;
    let carried = rest.get(2..).unwrap_or_default();
    // After a short quote there is padding (RFC 4884).
    let carried = carried.get(..length).unwrap_or(carried);
    Some(([source, destination], length, carried))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;
    use crate::net::decode;
    use crate::net::test_packets::*;

    fn quoted(packet: &[u8]) -> Option<IcmpError<'_>> {
        match decode(LinkType::RAW, packet, packet.len() as u32) {
            Outcome::Icmp(error) => Some(error),
            _ => None,
        }
    }

    #[test]
    fn an_error_quotes_the_datagram_that_did_not_arrive() {
        let inner = ipv4(17, &query());
        let packet = ipv4(1, &cat(&[&[3, 3, 0, 0, 0, 0, 0, 0], &inner]));
        let error = quoted(&packet).unwrap();
        assert_eq!((error.kind, error.code, error.meaning()), (3, 3, "port unreachable"));
        let sent = datagram(decode(LinkType::RAW, &inner, inner.len() as u32));
        let quote = error.quote;
        assert_eq!((quote.source, quote.destination), (sent.ip.source, sent.ip.destination));
        assert_eq!(quote.ports, [sent.source_port, sent.destination_port]);
        assert_eq!((quote.bytes, quote.length), (sent.payload.bytes, sent.payload.bytes.len()));
        // Every host quotes at least eight bytes after the IP header.
        let bare = ipv4(1, &cat(&[&[11, 0, 0, 0, 0, 0, 0, 0], &inner[..28]]));
        let error = quoted(&bare).unwrap();
        assert_eq!(error.meaning(), "time exceeded in transit");
        assert_eq!((error.quote.bytes, error.quote.length), (&[][..], sent.payload.bytes.len()));
        // Padded up to 128 bytes, as RFC 4884 has it.
        let padded = ipv4(1, &cat(&[&[3, 1, 0, 0, 0, 0, 0, 0], &inner, &[0; 60]]));
        assert_eq!(quoted(&padded).unwrap().quote.bytes, sent.payload.bytes);
    }

    #[test]
    fn an_error_of_ipv6_quotes_the_same() {
        let inner = ipv6(17, &query());
        for (kind, code, meaning) in [
            (1, 4, "port unreachable"),
            (2, 0, "packet too big"),
            (3, 0, "time exceeded in transit"),
        ] {
            let packet = ipv6(58, &cat(&[&[kind, code, 0, 0, 0, 0, 0, 0], &inner]));
            let error = quoted(&packet).unwrap();
            assert_eq!(error.meaning(), meaning);
            assert_eq!(error.quote.length, query().len() - 8);
            assert_eq!(error.quote.bytes, &query()[8..]);
        }
    }

    #[test]
    fn of_a_segment_the_ports_are_known() {
        let segment = [0xC4, 0x9B, 0x6C, 0xFC, 0, 0, 0, 1];
        let inner = ipv4(6, &segment);
        let packet = ipv4(1, &cat(&[&[3, 10, 0, 0, 0, 0, 0, 0], &inner]));
        let quote = quoted(&packet).unwrap().quote;
        assert_eq!((quote.transport, quote.ports), (Transport::Tcp, [0xC49B, 0x6CFC]));
        assert_eq!((quote.length, quote.bytes), (0, &[][..]));
        let packet = ipv6(58, &cat(&[&[1, 1, 0, 0, 0, 0, 0, 0], &ipv6(6, &segment)]));
        assert_eq!(quoted(&packet).unwrap().quote.ports, [0xC49B, 0x6CFC]);
    }

    #[test]
    fn too_big_errors_have_the_mtu() {
        let mtu = |packet: &[u8]| quoted(packet).unwrap().mtu;
        let (inner, inner6) = (ipv4(17, &query()), ipv6(17, &query()));
        assert_eq!(mtu(&ipv4(1, &cat(&[&[3, 4, 0, 0, 9, 9, 5, 120], &inner]))), Some(1400));
        assert_eq!(mtu(&ipv6(58, &cat(&[&[2, 0, 0, 0, 0, 1, 5, 0], &inner6]))), Some(66_816));
        assert_eq!(mtu(&ipv4(1, &cat(&[&[3, 4, 0, 0, 0, 0, 0, 0], &inner]))), None, "RFC 792");
        assert_eq!(mtu(&ipv4(1, &cat(&[&[3, 3, 0, 0, 0, 0, 5, 120], &inner]))), None);
    }

    #[test]
    fn of_other_icmp_messages_the_type_is_known() {
        let inner = ipv4(17, &query());
        let icmp = |kind: u8, quoted: &[u8]| ipv4(1, &cat(&[&[kind, 0, 0, 0, 0, 0, 0, 0], quoted]));
        let fragment = ipv4_with(17, &[], 1, 0x2001, &query());
        let short = ipv4(17, &[0, 1, 0, 2, 0, 7, 0, 0]);
        for packet in [
            icmp(0, &inner),
            icmp(5, &inner),
            icmp(3, &ipv4(6, &[0; 7])),
            icmp(3, &ipv4(132, &[0; 20])),
            icmp(3, &inner[..25]),
            icmp(3, &fragment),
            icmp(3, &short),
            ipv4(1, &[3, 3, 0]),
        ] {
            let Outcome::OtherIcmp(other) = decode(LinkType::RAW, &packet, packet.len() as u32)
            else {
                panic!("{packet:02x?}")
            };
            assert_eq!(other.kind, packet[20]);
        }
    }

    #[test]
    fn a_ping_is_an_echo_request_and_its_reply() {
        let echo = |packet: &[u8]| match decode(LinkType::RAW, packet, packet.len() as u32) {
            Outcome::OtherIcmp(other) => other.echo(),
            _ => None,
        };
        assert_eq!(echo(&ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 1])), Some(Echo::Request));
        assert_eq!(echo(&ipv4(1, &[0, 0, 0, 0, 0, 1, 0, 1])), Some(Echo::Reply));
        assert_eq!(echo(&ipv6(58, &[128, 0, 0, 0, 0, 1, 0, 1])), Some(Echo::Request));
        assert_eq!(echo(&ipv6(58, &[129, 0, 0, 0, 0, 1, 0, 1])), Some(Echo::Reply));
        assert_eq!(echo(&ipv4(1, &[3, 3, 0, 0])), None);
    }

    #[test]
    fn an_identification_of_0_under_dont_fragment_tells_nothing() {
        let header = |identification: u8, flags: u8| {
            identification_of(&[0x45, 0, 0, 0, 0, identification, flags, 0])
        };
        fn identification_of(bytes: &[u8]) -> Option<u16> {
            identification(bytes)
        }
        assert_eq!(header(0, 0x40), None);
        assert_eq!(header(0, 0), Some(0));
        assert_eq!(header(7, 0x40), Some(7));
        assert_eq!(identification(&[]), None);
    }
}
