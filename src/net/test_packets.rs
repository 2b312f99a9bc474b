//! Packets built byte by byte, for the tests of this folder.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Datagram, Outcome, Segment, Tunnel, decode};
use crate::capture::LinkType;

pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
pub(crate) const CLIENT6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
pub(crate) const SERVER6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);

/// An A2S_INFO request as payload.
pub(crate) const QUERY: &[u8] = b"\xff\xff\xff\xffTSource Engine Query\0";

pub(crate) fn cat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    cat(&[b"\x02\x00\x00\x00\x00\x07\x02\x00\x00\x00\x00\x01", &ether_type.to_be_bytes(), payload])
}

/// A tag as it follows the EtherType that announces it.
pub(crate) fn vlan(id: u16, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    cat(&[&id.to_be_bytes(), &ether_type.to_be_bytes(), payload])
}

pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_with(protocol, &[], 0, 0, payload)
}

/// `flags_offset` is the whole field of flags and fragment offset.
pub(crate) fn ipv4_with(
    protocol: u8,
    options: &[u8],
    id: u16,
    flags_offset: u16,
    payload: &[u8],
) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | (header / 4) as u8, 0];
    packet.extend(((header + payload.len()) as u16).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend(flags_offset.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(CLIENT.octets());
    packet.extend(SERVER.octets());
    packet.extend(options);
    let sum = checksum(&[&packet]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    let fixed = [0x60, 0, 0, 0, length[0], length[1], next, 64];
    cat(&[&fixed, &CLIENT6.octets(), &SERVER6.octets(), payload])
}

/// An IPv6 fragment header with its payload.
pub(crate) fn fragment6(next: u8, at: u16, more: bool, id: u32, payload: &[u8]) -> Vec<u8> {
    let offset = (at & !7) | u16::from(more);
    cat(&[&[next, 0], &offset.to_be_bytes(), &id.to_be_bytes(), payload])
}

/// With the checksum for IPv4 between the two hosts of this file.
pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = ((8 + payload.len()) as u16).to_be_bytes();
    let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    let mut datagram = cat(&[&ports, &length, &[0, 0], payload]);
    let sum = checksum(&[&CLIENT.octets(), &SERVER.octets(), &[0, 17], &length, &datagram]);
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    datagram
}

pub(crate) fn query() -> Vec<u8> {
    udp(50_000, 27_015, QUERY)
}

pub(crate) fn tcp(source: u16, destination: u16, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    segment.extend(1000u32.to_be_bytes());
    segment.extend(2000u32.to_be_bytes());
    segment.extend([0x60, flags, 0x10, 0x00, 0, 0, 0, 0, 2, 4, 5, 0xb4]);
    segment.extend(payload);
    let length = (segment.len() as u16).to_be_bytes();
    let sum = checksum(&[&CLIENT.octets(), &SERVER.octets(), &[0, 6], &length, &segment]);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}

/// RFC 1071, over parts of even length (the last may be odd).
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for pair in parts.concat().chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[track_caller]
pub(crate) fn datagram(outcome: Outcome<'_>) -> Datagram<'_> {
    match outcome {
        Outcome::Udp(datagram) => datagram,
        other => panic!("no datagram: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn segment(outcome: Outcome<'_>) -> Segment<'_> {
    match outcome {
        Outcome::Tcp(segment) => segment,
        other => panic!("no segment: {other:?}"),
    }
}

/// Checks that `outcome` is the query from client to server over IPv4, all of it, at its place.
#[track_caller]
pub(crate) fn is_query(packet: &[u8], outcome: Outcome<'_>) {
    let datagram = datagram(outcome);
    assert_eq!(datagram.ip.source, IpAddr::V4(CLIENT));
    assert_eq!(datagram.ip.destination, IpAddr::V4(SERVER));
    is_query_payload(packet, &datagram);
}

/// The same over IPv6.
#[track_caller]
pub(crate) fn is_query6(packet: &[u8], outcome: Outcome<'_>) {
    let datagram = datagram(outcome);
    assert_eq!(datagram.ip.source, IpAddr::V6(CLIENT6));
    assert_eq!(datagram.ip.destination, IpAddr::V6(SERVER6));
    is_query_payload(packet, &datagram);
}

#[track_caller]
fn is_query_payload(packet: &[u8], datagram: &Datagram<'_>) {
    assert_eq!((datagram.source_port, datagram.destination_port), (50_000, 27_015));
    assert_eq!(datagram.payload.bytes, QUERY);
    assert!(datagram.payload.is_whole() && !datagram.payload.snapped);
    assert_eq!(datagram.note, None);
    let offset = datagram.payload.offset as usize;
    assert_eq!(&packet[offset..offset + QUERY.len()], QUERY);
}

/// Cuts a packet with the query at every length, and checks that the outcome has only available
/// bytes: first as if cut by the snap length, then as if the packet had been that short.
#[track_caller]
pub(crate) fn survives_cuts(link: LinkType, packet: &[u8]) {
    for length in 0..packet.len() {
        let cut = &packet[..length];
        match decode(link, cut, packet.len() as u32) {
            Outcome::Snapped => {}
            Outcome::Udp(datagram) if datagram.payload.snapped => {
                assert!(!datagram.payload.is_whole());
                assert_eq!(datagram.note, None);
            }
            // Only bytes after the IP packet are cut.
            Outcome::Udp(datagram) => assert_eq!(datagram.payload.bytes, QUERY),
            Outcome::Fragment(fragment) => assert!(fragment.payload.snapped),
            outcome => panic!("{length} bytes with a snap length: {outcome:?}"),
        }
        match decode(link, cut, length as u32) {
            Outcome::Malformed(_) => {}
            Outcome::Udp(datagram) => {
                assert!(!datagram.payload.snapped);
                assert_eq!(datagram.payload.is_whole(), datagram.note.is_none());
            }
            Outcome::Fragment(fragment) => assert!(fragment.note.is_some()),
            outcome => panic!("{length} bytes sent: {outcome:?}"),
        }
    }
}

/// A packet of raw IP that the capture holds whole.
pub(crate) fn uncut(packet: &[u8]) -> Outcome<'_> {
    decode(LinkType::RAW, packet, packet.len() as u32)
}

/// A query was found inside these tunnels.
#[track_caller]
pub(crate) fn through(packet: &[u8], kinds: &[Tunnel], identifier: Option<u32>) {
    is_query(packet, uncut(packet));
    let tunnels = datagram(uncut(packet)).ip.tunnels;
    assert_eq!(tunnels.iter().collect::<Vec<_>>(), kinds);
    assert_eq!(tunnels.identifier(), identifier);
    survives_cuts(LinkType::RAW, packet);
}

pub(crate) fn inner() -> Vec<u8> {
    ipv4(17, &query())
}

pub(crate) fn frame() -> Vec<u8> {
    ethernet(0x0800, &inner())
}

/// Outer addresses are those of the inner packet swapped, so that a test notices the difference.
pub(crate) fn turned(mut packet: Vec<u8>) -> Vec<u8> {
    let (source, destination) = packet[12..20].split_at_mut(4);
    source.swap_with_slice(destination);
    packet
}

pub(crate) fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
    turned(ipv4(protocol, payload))
}

pub(crate) fn outer_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    outer(17, &udp(40_000, port, payload))
}
