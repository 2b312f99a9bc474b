//! What decoding a packet yields: small `Copy` values that borrow from the packet.
//!
//! Knows the shape of the result, not how it is come by.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::ops::BitOr;

use serde::{Deserialize, Serialize};

use super::icmp::IcmpError;
use super::ip::protocol;
use super::limits;
use super::udp_tunnel;
use super::wireless::Aggregate;
use crate::capture::LinkType;

/// What a packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A part of an IP datagram, for the [`Defragmenter`](super::Defragmenter).
    Fragment(Fragment<'a>),
    /// Several frames in one, each of which is any of these.
    Aggregate(Aggregate<'a>),
    /// An ICMP error about a UDP datagram.
    Icmp(IcmpError<'a>),
    /// Anything else that is in order: ARP, other ICMP, routing protocols, encrypted payloads.
    Other,
    /// A layer that may carry IP, and that is not read.
    Unread(UnreadLayer),
    /// The snap length cut the packet before its ports.
    Snapped,
    /// The link type is none that this program reads.
    UnknownLink(LinkType),
    /// A header does not parse.
    Malformed(Malformed),
}

impl Outcome<'_> {
    /// Between which hosts the datagram or segment goes that it is; of an ICMP error, that it quotes.
    pub fn hosts(&self) -> Option<[IpAddr; 2]> {
        match self {
            Outcome::Udp(datagram) => Some([datagram.ip.source, datagram.ip.destination]),
            Outcome::Tcp(segment) => Some([segment.ip.source, segment.ip.destination]),
            Outcome::Icmp(error) => Some([error.quote.source, error.quote.destination]),
            _ => None,
        }
    }
}

impl<'a> Outcome<'a> {
    /// Calls `see` with this outcome, or with that of every frame in it.
    pub fn each(self, see: &mut dyn FnMut(Outcome<'a>)) {
        match self {
            Outcome::Aggregate(aggregate) => aggregate.frames().for_each(|frame| frame.each(see)),
            outcome => see(outcome),
        }
    }
}

/// A layer that may carry IP, and that is not read: mostly because it is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnreadLayer {
    /// IEEE 802.1AE.
    MacSec,
    /// RFC 6325.
    Trill,
    /// Encapsulating Security Payload, RFC 4303.
    Esp,
    /// IP Payload Compression, RFC 3173.
    IpComp,
    /// Minimal Encapsulation within IP, RFC 2004.
    MinimalEncapsulation,
    /// Layer Two Tunneling Protocol, version 3, over IP, RFC 3931.
    L2tpV3,
    /// IEEE 802.11 data that is encrypted.
    EncryptedWireless,
}

impl UnreadLayer {
    /// All of them.
    pub const ALL: [UnreadLayer; 7] = [
        UnreadLayer::MacSec,
        UnreadLayer::Trill,
        UnreadLayer::Esp,
        UnreadLayer::IpComp,
        UnreadLayer::MinimalEncapsulation,
        UnreadLayer::L2tpV3,
        UnreadLayer::EncryptedWireless,
    ];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            UnreadLayer::MacSec => "MACsec",
            UnreadLayer::Trill => "TRILL",
            UnreadLayer::Esp => "IPsec (ESP)",
            UnreadLayer::IpComp => "IPComp",
            UnreadLayer::MinimalEncapsulation => "Minimal Encapsulation within IP",
            UnreadLayer::L2tpV3 => "L2TPv3 over IP",
            UnreadLayer::EncryptedWireless => "encrypted 802.11",
        }
    }
}

/// Who sent a packet to whom, as the innermost IP header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ip {
    /// The sender.
    pub source: IpAddr,
    /// The receiver; with an IPv6 routing header, the final one.
    pub destination: IpAddr,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// The innermost 802.1Q VLAN identifier.
    pub vlan: Option<u16>,
    /// The tunnels that this packet was found in.
    pub tunnels: Tunnels,
}

/// The bytes that a transport header announces, as far as the capture holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// What is there.
    pub bytes: &'a [u8],
    /// Where it begins in the bytes that were decoded: the packet, or the reassembled datagram.
    pub offset: u32,
    /// How many bytes the headers announce; more than `bytes` holds if some are not there.
    pub announced: u32,
    /// Announced bytes are not there because the capture cut the packet.
    pub snapped: bool,
}

impl Payload<'_> {
    /// All that was announced is there.
    pub fn is_whole(&self) -> bool {
        usize::try_from(self.announced).is_ok_and(|announced| announced <= self.bytes.len())
    }
}

/// The header bytes that checksums are computed over; see [`checksum`](super::checksum).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    /// The innermost IPv4 header with its options; empty for IPv6 and for reassembled datagrams.
    pub ipv4: &'a [u8],
    /// The transport header and its payload; empty for fragments.
    pub transport: &'a [u8],
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Addresses.
    pub ip: Ip,
    /// UDP source port.
    pub source_port: u16,
    /// UDP destination port.
    pub destination_port: u16,
    /// What the datagram carries.
    pub payload: Payload<'a>,
    /// A length that contradicts the packet; the payload is what could be kept.
    pub note: Option<Malformed>,
    /// For checksums.
    pub headers: Headers<'a>,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Addresses.
    pub ip: Ip,
    /// TCP source port.
    pub source_port: u16,
    /// TCP destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte of payload (of the SYN, if there is one).
    pub sequence: u32,
    /// The next sequence number expected from the other side; means something with ACK only.
    pub acknowledgment: u32,
    /// The eight flags.
    pub flags: TcpFlags,
    /// The window as it is in the header, unscaled.
    pub window: u16,
    /// The stream's bytes in this segment.
    pub payload: Payload<'a>,
    /// A length that contradicts the packet; the payload is what could be kept.
    pub note: Option<Malformed>,
    /// For checksums.
    pub headers: Headers<'a>,
}

/// The flag byte of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// The sender has no more to send.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Aborts a connection.
    pub const RST: Self = Self(0x04);
    /// The acknowledgment number is valid.
    pub const ACK: Self = Self(0x10);
    /// FIN, SYN and RST: the flags that open or end a direction.
    pub const CHANGING: u8 = 0x07;

    /// Whether [`Self::FIN`] is set.
    pub fn fin(self) -> bool {
        self.0 & Self::FIN.0 != 0
    }

    /// Whether [`Self::SYN`] is set.
    pub fn syn(self) -> bool {
        self.0 & Self::SYN.0 != 0
    }

    /// Whether [`Self::RST`] is set.
    pub fn rst(self) -> bool {
        self.0 & Self::RST.0 != 0
    }

    /// Whether [`Self::ACK`] is set.
    pub fn ack(self) -> bool {
        self.0 & Self::ACK.0 != 0
    }
}

impl BitOr for TcpFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A part of an IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// Addresses.
    pub ip: Ip,
    /// The datagram's number: 16 bits in IPv4, 32 in IPv6.
    pub identification: u32,
    /// The protocol of the datagram's payload; in IPv6 the header that follows the fragment
    /// header; only the first fragment's counts.
    pub protocol: u8,
    /// Where the payload is in the datagram, in bytes; a multiple of 8.
    pub at: u32,
    /// Another fragment follows this one.
    pub more: bool,
    /// This part of the datagram.
    pub payload: Payload<'a>,
    /// A length that contradicts the packet.
    pub note: Option<Malformed>,
    /// For checksums.
    pub headers: Headers<'a>,
}

impl Fragment<'_> {
    /// Whether its datagram may hold another packet, as far as this part shows.
    pub fn may_be_tunnel(&self) -> bool {
        match self.protocol {
            protocol::ICMP | protocol::ICMP6 | protocol::TCP => false,
            protocol::UDP => {
                let port = self.payload.bytes.get(2..4).and_then(<[u8]>::first_chunk);
                self.at == 0
                    && port.is_none_or(|port| udp_tunnel::is_port(u16::from_be_bytes(*port)))
            }
            _ => true,
        }
    }
}

/// A header that does not parse, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Malformed {
    /// The header.
    pub layer: Layer,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.layer.name(), self.what)
    }
}

/// The kinds of header that can be malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Ethernet, Linux cooked, null/loopback, HDLC.
    Link,
    /// 802.1Q tag.
    Vlan,
    /// MPLS label stack.
    Mpls,
    /// PPP or PPPoE.
    Ppp,
    /// A header between two packets: GRE and the like.
    Tunnel,
    /// IPv4.
    Ipv4,
    /// IPv6 and its extension headers.
    Ipv6,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl Layer {
    /// The usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link header",
            Self::Vlan => "VLAN tag",
            Self::Mpls => "MPLS",
            Self::Ppp => "PPP",
            Self::Tunnel => "tunnel header",
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
        }
    }
}

dissectors::named! {
    /// A way to carry packets inside packets.
    #[derive(Serialize, Deserialize)]
    pub enum Tunnel {
        /// MPLS label stack; the identifier is the last label.
        Mpls = "mpls",
        /// PPP over Ethernet; the identifier is the session.
        PppOverEthernet = "pppoe",
        /// IPv4 inside IP (protocol 4).
        Ipv4InIp = "ipip",
        /// IPv6 inside IP (protocol 41).
        Ipv6InIp = "6in4",
        /// Generic Routing Encapsulation; the identifier is the key (of PPTP, the call).
        Gre = "gre",
        /// Mirrored Ethernet frames inside GRE; the identifier is the session.
        Erspan = "erspan",
        /// VXLAN; the identifier is the network (VNI).
        Vxlan = "vxlan",
        /// Geneve; the identifier is the network (VNI).
        Geneve = "geneve",
        /// GTP user plane; the identifier is the endpoint (TEID).
        GtpU = "gtp-u",
        /// VXLAN with the generic protocol extension; the identifier is the network (VNI).
        VxlanGpe = "vxlan-gpe",
        /// A service chain (NSH); the identifier is the path.
        ServiceChain = "nsh",
        /// IPv6 through NAT (Teredo).
        Teredo = "teredo",
        /// L2TP, version 2; the identifier is the tunnel and the session.
        L2tp = "l2tp",
        /// Ethernet inside IP (protocol 97).
        EtherIp = "etherip",
        /// Mirrored frames inside UDP (TZSP).
        Tzsp = "tzsp",
        /// Ethernet inside Ethernet (802.1ah); the identifier is the service (I-SID).
        ProviderBackbone = "802.1ah",
        /// Cisco FabricPath; the identifier is the tree.
        FabricPath = "fabricpath",
    }
}

/// The tunnels that a packet was found in, outermost first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tunnels {
    kinds: [Option<Tunnel>; limits::TUNNELS],
    identifier: Option<u32>,
}

impl PartialEq for Tunnels {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Mostly there is none.
        self.kinds[0] == other.kinds[0]
            && (self.is_empty() || (self.kinds, self.identifier) == (other.kinds, other.identifier))
    }
}

impl Eq for Tunnels {}

impl Hash for Tunnels {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        if !self.is_empty() {
            (self.kinds, self.identifier).hash(state);
        }
    }
}

impl fmt::Display for Tunnels {
    /// Outermost first: `vxlan 42`, `gre > ipip`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, tunnel) in self.iter().enumerate() {
            let arrow = if at > 0 { " > " } else { "" };
            write!(f, "{arrow}{}", tunnel.name())?;
        }
        match self.identifier {
            Some(identifier) => write!(f, " {identifier}"),
            None => Ok(()),
        }
    }
}

impl Tunnels {
    /// The tunnels, outermost first.
    pub fn iter(&self) -> impl Iterator<Item = Tunnel> + '_ {
        self.kinds.iter().map_while(|kind| *kind)
    }

    /// The packet was in no tunnel.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.kinds[0].is_none()
    }

    /// The number of the innermost tunnel that has one: network, endpoint, key, session or label.
    pub fn identifier(&self) -> Option<u32> {
        self.identifier
    }

    /// Goes one tunnel deeper; `false` if the packet is in too many already.
    pub(super) fn enter(&mut self, kind: Tunnel, identifier: Option<u32>) -> bool {
        let Some(slot) = self.kinds.iter_mut().find(|slot| slot.is_none()) else {
            return false;
        };
        *slot = Some(kind);
        self.identifier = identifier.or(self.identifier);
        true
    }
}
