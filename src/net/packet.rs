//! The values from a packet's headers: small `Copy` types that borrow from the packet.

use std::fmt;
use std::net::IpAddr;
use std::ops::BitOr;

use serde::{Deserialize, Serialize};

use dissectors::kit::Transport;

use super::tunnels::Tunnels;

dissectors::named! {
    /// An unsupported layer that may carry IP, usually because it is encrypted.
    pub enum UnreadLayer {
        /// IEEE 802.1AE.
        MacSec = "MACsec",
        /// RFC 6325.
        Trill = "TRILL",
        /// Encapsulating Security Payload, RFC 4303.
        Esp = "IPsec (ESP)",
        /// IP Payload Compression, RFC 3173.
        IpComp = "IPComp",
        /// Minimal Encapsulation within IP, RFC 2004.
        MinimalEncapsulation = "Minimal Encapsulation within IP",
        /// Layer Two Tunneling Protocol, version 3, over IP, RFC 3931.
        L2tpV3 = "L2TPv3 over IP",
        /// IEEE 802.11 data that is encrypted.
        EncryptedWireless = "encrypted 802.11",
    }
}

/// A packet of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameRef {
    /// Its number in the capture.
    pub frame: u64,
    /// Its capture time in nanoseconds.
    pub time: i64,
}

/// Sender and receiver, from the innermost IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ip {
    /// The sender.
    pub source: IpAddr,
    /// The receiver; with an IPv6 routing header, the final one.
    pub destination: IpAddr,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// Its direction.
    pub direction: PacketDirection,
    /// The innermost 802.1Q VLAN identifier.
    pub vlan: Option<u16>,
    /// The tags and labels around it.
    pub tags: LinkTags,
    /// The tunnels that this packet was found in.
    pub tunnels: Tunnels,
}

/// The direction of a packet at the recording host, which Linux cooked captures tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PacketDirection {
    /// Not recorded, or the packet is for another host.
    #[default]
    Unknown,
    /// To this host.
    Incoming,
    /// From this host.
    Outgoing,
}

impl PacketDirection {
    /// By the packet type of a Linux cooked capture.
    pub(super) fn of_cooked(packet_type: u8) -> PacketDirection {
        match packet_type {
            0 => PacketDirection::Incoming,
            4 => PacketDirection::Outgoing,
            _ => PacketDirection::Unknown,
        }
    }
}

/// How many VLAN tags, then MPLS labels, come before the outermost IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkTags {
    /// VLAN tags.
    pub vlans: u8,
    /// MPLS labels.
    pub labels: u8,
    /// That header is a tunnel of another kind than MPLS.
    pub tunnel: bool,
}

/// The bytes that a transport header announces, as far as they were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportPayload<'a> {
    /// The recorded bytes.
    pub bytes: &'a [u8],
    /// Their offset in the bytes that were decoded: the packet, or the reassembled datagram.
    pub offset: u32,
    /// The announced length; more than the length of `bytes` if some are missing. Of a packet that the
    /// capture cut, no more than it had room for.
    pub announced: u32,
    /// Bytes are missing because the capture cut the packet.
    pub snapped: bool,
}

impl TransportPayload<'_> {
    /// No announced bytes are missing.
    pub fn is_whole(&self) -> bool {
        usize::try_from(self.announced).is_ok_and(|announced| announced <= self.bytes.len())
    }

    /// How many bytes the capture cut off. Others that are missing were never sent.
    pub fn cut_off(&self) -> u32 {
        let missing = self.announced.saturating_sub(self.recorded());
        if self.snapped { missing } else { 0 }
    }

    /// The number of bytes that were sent.
    pub fn sent(&self) -> u32 {
        self.recorded().saturating_add(self.cut_off())
    }

    fn recorded(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
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
    /// Its payload.
    pub payload: TransportPayload<'a>,
    /// A length that contradicts the packet; the payload has the consistent part.
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
    /// The next sequence number expected from the other side; valid only with ACK.
    pub acknowledgment: u32,
    /// The eight flags.
    pub flags: TcpFlags,
    /// The window in the header, unscaled.
    pub window: u16,
    /// The stream's bytes in this segment.
    pub payload: TransportPayload<'a>,
    /// A length that contradicts the packet; the payload has the consistent part.
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
    /// The protocol of the datagram's payload; in IPv6 the header after the fragment header. Only
    /// that of the first fragment counts.
    pub protocol: u8,
    /// The payload's offset in the datagram, in bytes; a multiple of 8.
    pub at: u32,
    /// Another fragment follows this one.
    pub more: bool,
    /// This part of the datagram.
    pub payload: TransportPayload<'a>,
    /// A length that contradicts the packet.
    pub note: Option<Malformed>,
    /// For checksums.
    pub headers: Headers<'a>,
}

/// An ICMP error about a UDP datagram or a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError<'a> {
    /// Addresses of the error itself: the source reports that the packet did not arrive.
    pub ip: Ip,
    /// Its type, whose meaning depends on the IP version.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// The path's MTU in bytes, if the error contains it (RFC 1191, RFC 4443).
    pub mtu: Option<u32>,
    /// The packet that did not arrive.
    pub quote: Quote<'a>,
}

/// An ICMP message that is no error about UDP or TCP. Its sender runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherIcmp {
    /// Its addresses.
    pub ip: Ip,
    /// Its type, whose meaning depends on the IP version.
    pub kind: u8,
}

/// What a ping consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// The question.
    Request,
    /// The answer.
    Reply,
}

/// The beginning of a datagram or a segment, as an ICMP error quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote<'a> {
    /// Who sent it.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// Whether it is a datagram or a segment.
    pub transport: Transport,
    /// The source and the destination port.
    pub ports: [u16; 2],
    /// The IPv4 identification, if it distinguishes datagrams; see
    /// [`identification`](super::icmp::identification).
    pub identification: Option<u16>,
    /// Length of the datagram's payload; of a segment it is unknown, and 0 here.
    pub length: usize,
    /// The quoted part of it.
    pub bytes: &'a [u8],
}

/// An invalid header, and why.
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

dissectors::named! {
    /// The kinds of header that can be malformed.
    pub enum Layer {
        /// Ethernet, Linux cooked, null/loopback, HDLC.
        Link = "link header",
        /// 802.1Q tag.
        Vlan = "VLAN tag",
        /// MPLS label stack.
        Mpls = "MPLS",
        /// PPP or PPPoE.
        Ppp = "PPP",
        /// A header between two packets: GRE and the like.
        Tunnel = "tunnel header",
        /// IPv4.
        Ipv4 = "IPv4",
        /// IPv6 and its extension headers.
        Ipv6 = "IPv6",
        /// UDP.
        Udp = "UDP",
        /// TCP.
        Tcp = "TCP",
    }
}
