//! A packet in each layer that may be below IP: link types, tags, tunnels.
//!
//! Written by the specifications of the layers, independently of the code that reads them.

use std::net::IpAddr;

use crate::bytes::Bytes;
use crate::wire::{Datagram, Ip, internet_checksum};

/// A packet with layers below its innermost IP header.
#[derive(Clone, Debug)]
pub struct Layered {
    /// Its name.
    pub name: &'static str,
    /// The link type of its capture.
    pub link: u16,
    /// Its bytes.
    pub packet: Vec<u8>,
}

impl Layered {
    /// A capture of only this packet.
    pub fn pcap(&self) -> Vec<u8> {
        let length = self.packet.len() as u32;
        let header = Bytes::new().le32(0xA1B2_C3D4).le16(2).le16(4).le64(0).le32(65_535);
        let header = header.le32(self.link.into());
        header.le32(1_767_225_600).le32(0).le32(length).le32(length).raw(&self.packet).done()
    }
}

/// Ethernet, and PPP, by the numbers of what they carry.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const ETHERNET: u16 = 1;

fn cat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    cat(&[&[2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1], &kind.to_be_bytes(), payload])
}

/// A frame with the tag of a switch after its addresses.
fn switched(tag: &[u8], payload: &[u8]) -> Vec<u8> {
    let frame = frame(IPV4, payload);
    cat(&[&frame[..12], tag, &frame[12..]])
}

/// A data frame of 802.11 from a station, with LLC and SNAP.
fn wireless(payload: &[u8]) -> Vec<u8> {
    cat(&[&[0x08, 0x01, 0, 0], &[2; 18], &[0, 0], b"\xAA\xAA\x03\0\0\0\x08\0", payload])
}

/// Linux's cooked header of an Ethernet interface, version 1.
fn cooked(kind: u16, payload: &[u8]) -> Vec<u8> {
    cat(&[b"\0\0\0\x01\0\x06\x02\0\0\0\0\x01\0\0", &kind.to_be_bytes(), payload])
}

/// An attribute of NFLOG.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let padding = vec![0; length.next_multiple_of(4) - length];
    cat(&[&(length as u16).to_le_bytes(), &kind.to_le_bytes(), value, &padding])
}

/// An IPv4 packet of another protocol around these bytes.
fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let ends = ["203.0.113.1", "203.0.113.2"].map(|it| it.parse::<IpAddr>().expect("an address"));
    Ip::new(ends[0], ends[1]).packet(protocol, payload)
}

/// The same in UDP.
fn in_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    Datagram::new("203.0.113.1:40000", &format!("203.0.113.2:{port}"), payload).packet()
}

/// GRE with this protocol; the payload starts with its optional fields.
fn gre(flags: u16, kind: u16, payload: &[u8]) -> Vec<u8> {
    outer(47, &cat(&[&flags.to_be_bytes(), &kind.to_be_bytes(), payload]))
}

/// A packet with this payload in every layer.
pub fn layers(payload: &[u8]) -> Vec<Layered> {
    let v4 = &Datagram::new("192.0.2.1:50000", "198.51.100.7:27015", payload).packet()[..];
    let v6 = &Datagram::new("[2001:db8::1]:50000", "[2001:db8::7]:27015", payload).packet()[..];
    let mut all = links(v4, v6);
    let ethernet = |(name, packet): (&'static str, Vec<u8>)| {
        let link = ETHERNET;
        Layered { name, link, packet }
    };
    all.extend(tags(v4, v6).into_iter().map(ethernet));
    let tunnels = tunnels(v4, v6).into_iter();
    all.extend(tunnels.map(|(name, packet)| ethernet((name, frame(IPV4, &packet)))));
    all
}

/// One for each link type.
fn links(v4: &[u8], v6: &[u8]) -> Vec<Layered> {
    let radio = cat(&[b"\0\0\x08\0\0\0\0\0", &wireless(v4)]);
    let avs = cat(&[b"\x80\x21\x10\x01\0\0\0\x40", &[0; 56], &wireless(v4)]);
    let prism = cat(&[&[0x44, 0, 0, 0, 144, 0, 0, 0], &[0; 136], &wireless(v4)]);
    let information = cat(&[&[0, 0, 8, 0, 105, 0, 0, 0], &wireless(v4)]);
    let filtered = cat(&[&[2, 0, 0, 0], &attribute(10, b"prefix\0"), &attribute(9, v4)]);
    let tap = Bytes::new().le32(108).le32(1).le32(1).raw(&[0; 96]).raw(&frame(IPV4, v4)).done();
    let session = pppoe(v4);
    let cooked2 = cat(&[b"\x08\0\0\0\0\0\0\x02\0\x01\0\x06\x02\0\0\0\0\x01\0\0", v4]);
    let all = [
        ("BSD loopback", 0, cat(&[&[2, 0, 0, 0], v4])),
        ("Ethernet", 1, frame(IPV4, v4)),
        ("SLIP", 8, cat(&[&[0; 16], v4])),
        ("PPP", 9, cat(&[b"\xFF\x03\0\x21", v4])),
        ("Cisco HDLC where PPP is said", 9, cat(&[b"\x0F\0\x08\0", v4])),
        ("raw IP, 12", 12, v4.to_vec()),
        ("raw IP, 14", 14, v4.to_vec()),
        ("PPP in HDLC-like framing", 50, cat(&[b"\xFF\x03\0\x21", v4])),
        ("PPPoE", 51, session),
        ("raw IP, 101", 101, v6.to_vec()),
        ("Cisco HDLC", 104, cat(&[b"\x0F\0\x08\0", v4])),
        ("802.11", 105, wireless(v4)),
        ("Frame Relay", 107, cat(&[b"\x18\x41\x03\xCC", v4])),
        ("OpenBSD loopback", 108, cat(&[&[0, 0, 0, 2], v4])),
        ("Linux cooked", 113, cooked(IPV4, v4)),
        ("802.11 with Prism", 119, prism),
        ("802.11 with radiotap", 127, radio),
        ("PKTAP, 149", 149, tap.clone()),
        ("802.11 with AVS", 163, avs),
        ("PPI", 192, information),
        ("PPP with direction", 204, cat(&[b"\x01\xFF\x03\0\x21", v4])),
        ("Cisco HDLC with direction", 205, cat(&[b"\0\x0F\0\x08\0", v4])),
        ("Frame Relay with direction", 206, cat(&[b"\x01\x18\x41\x03\xCC", v4])),
        ("raw IPv4", 228, v4.to_vec()),
        ("raw IPv6", 229, v6.to_vec()),
        ("NFLOG", 239, filtered),
        ("PKTAP, 258", 258, tap),
        ("Linux cooked 2", 276, cooked2),
        ("Broadcom tag", 281, switched(&[0x20, 0, 0, 1], v4)),
        ("Broadcom tag in front", 282, cat(&[&[0x20, 0, 0, 1], &frame(IPV4, v4)])),
        ("DSA", 284, switched(&[0xC0, 0, 0, 0], v4)),
        ("EDSA", 285, switched(&[0xDA, 0xDA, 0, 0, 0xC0, 0, 0, 0], v4)),
    ];
    all.into_iter().map(|(name, link, packet)| Layered { name, link, packet }).collect()
}

fn pppoe(packet: &[u8]) -> Vec<u8> {
    let length = (packet.len() as u16 + 2).to_be_bytes();
    cat(&[b"\x11\0\x12\x34", &length, b"\0\x21", packet])
}

/// Layers between Ethernet and IP.
fn tags(v4: &[u8], v6: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let inner = &frame(IPV4, v4)[..];
    let snap = cat(&[b"\xAA\xAA\x03\0\0\0\x08\0", v4]);
    vec![
        ("VLAN", frame(0x8100, &cat(&[b"\0\x07\x08\0", v4]))),
        ("provider's VLAN", frame(0x88A8, &cat(&[b"\0\x64\x81\0\0\xC8\x08\0", v4]))),
        ("old QinQ", frame(0x9100, &cat(&[b"\0\x64\x81\0\0\xC8\x08\0", v4]))),
        ("LLC and SNAP", frame(snap.len() as u16, &snap)),
        ("IPv6 announced as IPv4", frame(IPV4, v6)),
        ("IPv6", frame(IPV6, v6)),
        ("MPLS", frame(0x8847, &cat(&[&[0, 1, 0x41, 64], v4]))),
        ("MPLS, multicast", frame(0x8848, &cat(&[&[0, 1, 0x41, 64], v4]))),
        ("PPPoE session", frame(0x8864, &pppoe(v4))),
        ("Cisco metadata", frame(0x8909, &cat(&[&[1, 1, 0, 1, 0, 9, 8, 0], v4]))),
        ("VN-tag", frame(0x8926, &cat(&[&[0, 1, 0, 2, 8, 0], v4]))),
        ("E-tag", frame(0x893F, &cat(&[&[0, 1, 0, 2, 0, 0, 8, 0], v4]))),
        ("HSR", frame(0x892F, &cat(&[&[0x10, 0x34, 0, 7, 8, 0], v4]))),
        ("802.1ah", frame(0x88E7, &cat(&[&[0, 0, 1, 2], inner]))),
        ("FabricPath", frame(0x8903, &cat(&[&[0, 0x60], inner]))),
        ("NSH", frame(0x894F, &cat(&[&[0x0F, 0xC2, 2, 3, 0, 0, 7, 255], inner]))),
    ]
}

/// What may be between two IP headers.
fn tunnels(v4: &[u8], v6: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let inner = &frame(IPV4, v4)[..];
    let gtp = cat(&[&[0x30, 0xFF], &(v4.len() as u16).to_be_bytes(), &[0, 0, 0x12, 0x34], v4]);
    let mut summed = cat(&[&[0x80, 0, 8, 0, 0, 0, 0, 0], v4]);
    let sum = internet_checksum(&[&summed]);
    summed[4..6].copy_from_slice(&sum.to_be_bytes());
    let pptp = b"\0\x40\0\x07\0\0\0\x01\0\0\0\x02\xFF\x03\0\x21";
    vec![
        ("IPv4 in IP", outer(4, v4)),
        ("IPv6 in IPv4", outer(41, v6)),
        ("GRE", gre(0, IPV4, v4)),
        ("GRE with a checksum", outer(47, &summed)),
        ("Ethernet in GRE", gre(0, 0x6558, inner)),
        ("PPTP", gre(0x3081, 0x880B, &cat(&[pptp, v4]))),
        ("ERSPAN I", gre(0, 0x88BE, inner)),
        ("ERSPAN II", gre(0x1000, 0x88BE, &cat(&[b"\0\0\0\x05\x10\x01\0\x21\0\0\0\0", inner]))),
        ("ERSPAN III", {
            let header = b"\0\0\0\x05\x20\x01\0\x22\0\0\0\0\0\0\0\0";
            gre(0x1000, 0x22EB, &cat(&[header, inner]))
        }),
        ("EtherIP", outer(97, &cat(&[b"\x30\0", inner]))),
        ("VXLAN", in_udp(4789, &cat(&[b"\x08\0\0\0\x01\x02\x03\0", inner]))),
        ("VXLAN on Linux's old port", in_udp(8472, &cat(&[b"\x08\0\0\0\x01\x02\x03\0", inner]))),
        ("VXLAN-GPE", in_udp(4790, &cat(&[&[0x0C, 0, 0, 3, 0, 0, 7, 0], inner]))),
        ("Geneve", in_udp(6081, &cat(&[b"\0\0\x65\x58\0\0\x77\0", inner]))),
        ("GTP-U", in_udp(2152, &gtp)),
        ("L2TP", in_udp(1701, &cat(&[b"\0\x02\0\x05\0\x09\xFF\x03\0\x21", v4]))),
        ("Teredo", in_udp(3544, v6)),
        ("MPLS in UDP", in_udp(6635, &cat(&[&[0, 1, 0x41, 64], v4]))),
        ("TZSP", in_udp(37_008, &cat(&[b"\x01\0\0\x01\x0A\x01\xC4\0\x01", inner]))),
    ]
}
