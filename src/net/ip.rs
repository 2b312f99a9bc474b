//! IPv4 and IPv6: addresses, lengths, fragments, extension headers.
//!
//! Finds the end of an IP packet (which may differ from that of the frame) and its payload.
//! Fragments are joined in `ip_defrag`, because that needs state of earlier packets.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use std::net::{IpAddr, Ipv6Addr};
use std::ops::ControlFlow;

use etherparse::err::{ip_auth, ipv4, ipv6};
use etherparse::{
    IpAuthHeaderSlice, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice,
};

use super::outcome::{Outcome, malformed};
use super::packet::{Fragment, Headers, Ip, Layer, Malformed, UnreadLayer};
use super::tunnels::Tunnel;
use super::walk::{IpPayload, Walk};
use super::{limits, protocol};

const BEYOND: &str = "its length reaches beyond the packet";

impl<'a> Walk<'a> {
    /// IP of the version in the first four bits.
    pub(super) fn ip(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes.first() {
            Some(0x40..=0x4f) => self.ipv4(bytes),
            Some(0x60..=0x6f) => self.ipv6(bytes),
            Some(_) => malformed(Layer::Link, "what should be IP is of no known version"),
            None => self.short(Layer::Link),
        }
    }

    pub(super) fn ipv4(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let header = match Ipv4HeaderSlice::from_slice(bytes) {
            Ok(header) => header,
            Err(ipv4::HeaderSliceError::Len(_)) => return self.short(Layer::Ipv4),
            Err(ipv4::HeaderSliceError::Content(_)) => {
                return malformed(
                    Layer::Ipv4,
                    "the version is not 4 or the header length below 20",
                );
            }
        };
        let length = header.slice().len();
        let rest = bytes.get(length..).unwrap_or_default();
        let announced = match usize::from(header.total_len()) {
            // Left to the network card, which cuts the packet into segments.
            0 => None,
            total => match total.checked_sub(length) {
                Some(announced) => Some(announced),
                None => return malformed(Layer::Ipv4, "the total length is less than the header"),
            },
        };
        let ip = Ip {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            hop_limit: header.ttl(),
            direction: self.direction,
            vlan: self.vlan,
            tags: self.tags,
            tunnels: self.tunnels,
        };
        let carried =
            self.carried(ip, header.slice(), header.protocol().0, rest, announced, Layer::Ipv4);
        let (at, more) = (header.fragments_offset().value(), header.more_fragments());
        if more || at != 0 {
            return self.fragment(carried, u32::from(header.identification()), at, more);
        }
        self.ip_payload(carried)
    }

    pub(super) fn ipv6(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let header = match Ipv6HeaderSlice::from_slice(bytes) {
            Ok(header) => header,
            Err(ipv6::HeaderSliceError::Len(_)) => return self.short(Layer::Ipv6),
            Err(ipv6::HeaderSliceError::Content(_)) => {
                return malformed(Layer::Ipv6, "the version is not 6");
            }
        };
        let rest = bytes.get(header.slice().len()..).unwrap_or_default();
        let next = header.next_header().0;
        let announced = match usize::from(header.payload_length()) {
            // A jumbogram, or left to the network card.
            0 if next != protocol::NO_NEXT_HEADER => None,
            length => Some(length),
        };
        let ip = Ip {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            hop_limit: header.hop_limit(),
            direction: self.direction,
            vlan: self.vlan,
            tags: self.tags,
            tunnels: self.tunnels,
        };
        let carried = self.carried(ip, &[], next, rest, announced, Layer::Ipv6);
        self.ip_payload(carried)
    }

    /// The payload of an IP header, limited to the announced length (`None`: not announced).
    #[inline]
    fn carried(
        &self,
        ip: Ip,
        ipv4: &'a [u8],
        protocol: u8,
        rest: &'a [u8],
        announced: Option<usize>,
        layer: Layer,
    ) -> IpPayload<'a> {
        let whole =
            IpPayload { ip, ipv4, protocol, bytes: rest, missing: 0, snapped: false, note: None };
        let Some(announced) = announced else {
            return IpPayload { missing: self.cut, snapped: self.cut > 0, ..whole };
        };
        if let Some(bytes) = rest.get(..announced) {
            return IpPayload { bytes, ..whole };
        }
        let missing = u32::try_from(announced.saturating_sub(rest.len())).unwrap_or(u32::MAX);
        let snapped = self.cut > 0;
        let missing = if snapped { missing.min(self.cut) } else { missing };
        let note = (!snapped).then_some(Malformed { layer, what: BEYOND });
        IpPayload { missing, snapped, note, ..whole }
    }

    /// The payload of an IP header: extension headers, then a transport, a tunnel or something
    /// else.
    #[inline(always)]
    pub(super) fn ip_payload(&mut self, mut carried: IpPayload<'a>) -> Outcome<'a> {
        // Bytes cut off inside a tunnel are cut off this packet's payload.
        self.cut = if carried.snapped { carried.missing } else { 0 };
        if !matches!(carried.protocol, protocol::UDP | protocol::TCP) {
            carried = match self.step_to_transport(carried) {
                ControlFlow::Continue(carried) => carried,
                ControlFlow::Break(outcome) => return outcome,
            };
        }
        match carried.protocol {
            protocol::UDP => self.udp(carried),
            _ => self.tcp(carried),
        }
    }

    /// Skips extension headers up to UDP or TCP; returns early if anything else follows.
    #[inline(never)]
    fn step_to_transport(
        &mut self,
        mut carried: IpPayload<'a>,
    ) -> ControlFlow<Outcome<'a>, IpPayload<'a>> {
        let version6 = carried.ip.source.is_ipv6();
        for _ in 0..=limits::EXTENSION_HEADERS {
            let after = match carried.protocol {
                protocol::UDP | protocol::TCP => return ControlFlow::Continue(carried),
                protocol::AUTHENTICATION => authentication(&mut carried),
                protocol::FRAGMENT if version6 => match self.fragment_header(&mut carried) {
                    Some(fragment) => return ControlFlow::Break(fragment),
                    None => Ok(()),
                },
                protocol::HOP_BY_HOP | protocol::DESTINATION_OPTIONS | protocol::ROUTING
                    if version6 =>
                {
                    options(&mut carried)
                }
                _ => return ControlFlow::Break(self.tunnelled(carried)),
            };
            match after {
                Ok(()) => {}
                Err(None) => {
                    let layer = if version6 { Layer::Ipv6 } else { Layer::Ipv4 };
                    return ControlFlow::Break(self.short(layer));
                }
                Err(Some(malformed)) => return ControlFlow::Break(Outcome::Malformed(malformed)),
            }
        }
        ControlFlow::Break(malformed(Layer::Ipv6, "too many extension headers are chained"))
    }

    /// Packets directly inside IP, without a transport protocol.
    fn tunnelled(&mut self, carried: IpPayload<'a>) -> Outcome<'a> {
        let (kind, bytes) = match carried.protocol {
            protocol::IPV4 => (Tunnel::Ipv4InIp, carried.bytes),
            protocol::IPV6 => (Tunnel::Ipv6InIp, carried.bytes),
            protocol::GRE => return self.gre(carried.bytes),
            protocol::ETHER_IP => return self.ether_ip(carried.bytes),
            protocol::ICMP | protocol::ICMP6 => return self.icmp(&carried),
            protocol::MPLS => return self.mpls(carried.bytes),
            protocol::ESP => return Outcome::Unread(UnreadLayer::Esp),
            protocol::IP_COMP => return Outcome::Unread(UnreadLayer::IpComp),
            protocol::MINIMAL => return Outcome::Unread(UnreadLayer::MinimalEncapsulation),
            protocol::L2TP => return Outcome::Unread(UnreadLayer::L2tpV3),
            _ => return Outcome::Other,
        };
        if let Err(malformed) = self.enter(kind, None) {
            return Outcome::Malformed(malformed);
        }
        match kind {
            Tunnel::Ipv4InIp => self.ipv4(bytes),
            _ => self.ipv6(bytes),
        }
    }

    /// Skips an IPv6 fragment header; `Some` if the packet is really a fragment, or cut here.
    ///
    /// An "atomic fragment" (RFC 6946) is a whole packet with this header.
    fn fragment_header(&mut self, carried: &mut IpPayload<'a>) -> Option<Outcome<'a>> {
        let Ok(header) = Ipv6FragmentHeaderSlice::from_slice(carried.bytes) else {
            return Some(self.short(Layer::Ipv6));
        };
        carried.protocol = header.next_header().0;
        carried.bytes = carried.bytes.get(header.slice().len()..).unwrap_or_default();
        let (at, more) = (header.fragment_offset().value(), header.more_fragments());
        if more || at != 0 {
            return Some(self.fragment(*carried, header.identification(), at, more));
        }
        None
    }

    /// `at` counts in units of eight bytes, as the header does.
    #[inline(never)]
    fn fragment(
        &self,
        carried: IpPayload<'a>,
        identification: u32,
        at: u16,
        more: bool,
    ) -> Outcome<'a> {
        Outcome::Fragment(Fragment {
            ip: carried.ip,
            identification,
            protocol: carried.protocol,
            at: u32::from(at).saturating_mul(8),
            more,
            payload: self.payload(carried.bytes, carried.missing, carried.snapped),
            note: carried.note,
            headers: Headers { ipv4: carried.ipv4, transport: &[] },
        })
    }
}

/// Skips an authentication header; `Err(None)` if it is incomplete.
fn authentication(carried: &mut IpPayload<'_>) -> Result<(), Option<Malformed>> {
    match IpAuthHeaderSlice::from_slice(carried.bytes) {
        Ok(header) => {
            carried.protocol = header.next_header().0;
            carried.bytes = carried.bytes.get(header.slice().len()..).unwrap_or_default();
            Ok(())
        }
        Err(ip_auth::HeaderSliceError::Len(_)) => Err(None),
        Err(ip_auth::HeaderSliceError::Content(_)) => {
            let layer = if carried.ipv4.is_empty() { Layer::Ipv6 } else { Layer::Ipv4 };
            Err(Some(Malformed { layer, what: "the authentication header has no length" }))
        }
    }
}

/// Skips hop-by-hop options, destination options or a routing header.
fn options(carried: &mut IpPayload<'_>) -> Result<(), Option<Malformed>> {
    let header = Ipv6RawExtHeaderSlice::from_slice(carried.bytes).map_err(|_| None)?;
    if carried.protocol == protocol::ROUTING
        && let Some(destination) = final_destination(header.slice())
    {
        carried.ip.destination = IpAddr::V6(destination);
    }
    carried.protocol = header.next_header().0;
    carried.bytes = carried.bytes.get(header.slice().len()..).unwrap_or_default();
    Ok(())
}

/// The final destination of a packet with a routing header; flows and checksums use that address
/// (RFC 8200, 8.1).
fn final_destination(header: &[u8]) -> Option<Ipv6Addr> {
    let (&[_, _, kind, segments_left, _, _, _, _], addresses) = header.split_first_chunk()?;
    if segments_left == 0 {
        return None;
    }
    let address = match kind {
        // Source route (RFC 2460) and mobility (RFC 6275): in the order they are visited.
        0 | 2 => addresses.last_chunk::<16>()?,
        // Segment routing (RFC 8754): in reverse, and options may follow.
        4 => addresses.first_chunk::<16>()?,
        _ => return None,
    };
    Some(Ipv6Addr::from(*address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;
    use crate::net::test_packets::*;
    use crate::net::{decode, decode_ip_payload};

    const RAW: LinkType = LinkType::RAW;

    fn uncut(packet: &[u8]) -> Outcome<'_> {
        decode(RAW, packet, packet.len() as u32)
    }

    /// Options, a routing header or the like, with a length of `8 + 8 * more` bytes.
    fn extension(next: u8, more: u8, body: &[u8]) -> Vec<u8> {
        let mut header = vec![next, more];
        header.extend(body);
        header.resize(8 + 8 * usize::from(more), 0);
        header
    }

    fn authentication_header(next: u8) -> Vec<u8> {
        cat(&[&[next, 4], &[0; 22]])
    }

    #[test]
    fn ipv4_options_are_stepped_over() {
        for options in 1..=10 {
            let packet = ipv4_with(17, &vec![1; options * 4], 1, 0x4000, &query());
            is_query(&packet, uncut(&packet));
            survives_cuts(RAW, &packet);
        }
    }

    #[test]
    fn ipv4_header_fields() {
        let packet = ipv4(17, &query());
        let datagram = datagram(uncut(&packet));
        assert_eq!(datagram.ip.hop_limit, 64);
        assert_eq!(datagram.headers.ipv4, &packet[..20]);
        assert_eq!(datagram.headers.transport, &packet[20..]);
        assert!(datagram.ip.tunnels.is_empty());
    }

    #[test]
    fn total_length_zero_means_all_there_is() {
        let mut packet = ipv4(17, &query());
        packet[2..4].fill(0);
        is_query(&packet, uncut(&packet));
        let mut segment_packet = ipv4(6, &tcp(80, 50_000, 0x18, &[7; 3000]));
        segment_packet[2..4].fill(0);
        let whole = segment(uncut(&segment_packet));
        assert_eq!(whole.payload.bytes.len(), 3000);
        let cut = segment(decode(RAW, &segment_packet[..1000], 3044));
        assert!(cut.payload.snapped);
        assert_eq!(cut.payload.announced, 3000);
    }

    #[test]
    fn lengths_that_contradict() {
        let mut packet = ipv4(17, &query());
        packet[3] = 19;
        assert!(matches!(uncut(&packet), Outcome::Malformed(Malformed { layer: Layer::Ipv4, .. })));
        let mut packet = ipv4(17, &query());
        packet[3] += 5;
        let datagram = datagram(uncut(&packet));
        assert_eq!(datagram.payload.bytes, QUERY);
        assert!(datagram.note.is_some_and(|note| note.layer == Layer::Ipv4));
        packet[0] = 0x44;
        assert!(matches!(uncut(&packet), Outcome::Malformed(_)));
    }

    #[test]
    fn ipv4_fragments_are_handed_up() {
        let packet = ipv4_with(17, &[], 0xbeef, 0x2000 | 185, &[9; 16]);
        let Outcome::Fragment(fragment) = uncut(&packet) else { panic!() };
        assert_eq!((fragment.at, fragment.more, fragment.identification), (1480, true, 0xbeef));
        assert_eq!((fragment.protocol, fragment.payload.offset), (17, 20));
        assert_eq!(fragment.payload.bytes, [9; 16]);
        let last = ipv4_with(17, &[], 0xbeef, 187, &[9; 3]);
        let Outcome::Fragment(fragment) = uncut(&last) else { panic!() };
        assert!(!fragment.more);
        survives_cuts(RAW, &last);
    }

    #[test]
    fn ipv6_extension_headers_in_any_chain() {
        let fragment = fragment6(51, 0, false, 7, &[]);
        let chain = cat(&[
            &extension(60, 0, &[]),
            &extension(43, 2, &[]),
            &extension(44, 0, &[]),
            &fragment,
            &authentication_header(60),
            &extension(17, 1, &[]),
            &query(),
        ]);
        let packet = ipv6(0, &chain);
        is_query6(&packet, uncut(&packet));
        survives_cuts(RAW, &packet);
    }

    #[test]
    fn authentication_headers_in_ipv4() {
        let packet = ipv4(51, &cat(&[&authentication_header(17), &query()]));
        is_query(&packet, uncut(&packet));
        survives_cuts(RAW, &packet);
        let mut wrong = packet;
        wrong[21] = 0;
        assert!(matches!(uncut(&wrong), Outcome::Malformed(_)));
    }

    #[test]
    fn endless_extension_headers_are_malformed() {
        let packet = ipv6(60, &extension(60, 0, &[]).repeat(500));
        assert!(matches!(uncut(&packet), Outcome::Malformed(_)));
    }

    #[test]
    fn ipv6_headers_mean_nothing_in_ipv4() {
        for protocol in [0, 43, 44, 60] {
            let packet = ipv4(protocol, &cat(&[&extension(17, 0, &[]), &query()]));
            assert_eq!(uncut(&packet), Outcome::Other);
        }
    }

    #[test]
    fn atomic_fragments_are_complete_packets() {
        let packet = ipv6(44, &fragment6(17, 0, false, 99, &query()));
        is_query6(&packet, uncut(&packet));
    }

    #[test]
    fn ipv6_fragments_are_handed_up() {
        let inner = fragment6(17, 1448, true, 0xdead_beef, &[3; 24]);
        let packet = ipv6(0, &cat(&[&extension(44, 0, &[]), &inner]));
        let Outcome::Fragment(fragment) = uncut(&packet) else { panic!() };
        assert_eq!((fragment.at, fragment.more), (1448, true));
        assert_eq!((fragment.identification, fragment.protocol), (0xdead_beef, 17));
        assert_eq!((fragment.payload.offset, fragment.payload.bytes.len()), (56, 24));
        survives_cuts(RAW, &packet);
    }

    #[test]
    fn a_routing_header_names_the_final_destination() {
        let last = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 99);
        let middle = SERVER6.octets();
        for (kind, addresses) in [
            (0u8, [middle, last.octets()]),
            (2, [middle, last.octets()]),
            (4, [last.octets(), middle]),
        ] {
            for (left, destination) in [(1, last), (0, SERVER6)] {
                let body = cat(&[&[kind, left, 0, 0, 0, 0], addresses.as_flattened()]);
                let packet = ipv6(43, &cat(&[&extension(17, 4, &body), &query()]));
                assert_eq!(datagram(uncut(&packet)).ip.destination, IpAddr::V6(destination));
            }
        }
    }

    #[test]
    fn jumbograms_and_unset_ipv6_lengths() {
        let mut packet = ipv6(17, &query());
        packet[4..6].fill(0);
        is_query6(&packet, uncut(&packet));
        let nothing = cat(&[&ipv6(59, &[]), &[0; 6]]);
        assert_eq!(uncut(&nothing), Outcome::Other);
    }

    #[test]
    fn other_protocols_are_other() {
        for protocol in [2, 89, 132, 136, 255] {
            assert_eq!(uncut(&ipv4(protocol, &query())), Outcome::Other);
        }
        for (protocol, unread) in [
            (50, UnreadLayer::Esp),
            (55, UnreadLayer::MinimalEncapsulation),
            (108, UnreadLayer::IpComp),
            (115, UnreadLayer::L2tpV3),
        ] {
            assert_eq!(uncut(&ipv4(protocol, &query())), Outcome::Unread(unread));
        }
    }

    #[test]
    fn joined_datagrams_are_decoded_like_packets() {
        let packet = ipv6(44, &fragment6(60, 0, true, 1, &[0; 8]));
        let Outcome::Fragment(first) = uncut(&packet) else { panic!() };
        let bytes = cat(&[&extension(17, 0, &[]), &query()]);
        is_query6(&bytes, decode_ip_payload(first.ip, first.protocol, &bytes));
        let again = fragment6(17, 8, true, 2, &[0; 8]);
        assert!(matches!(decode_ip_payload(first.ip, 44, &again), Outcome::Fragment(_)));
    }
}
