//! The type of the first header of packets.

use serde::{Deserialize, Serialize};

/// The type of the first header of packets, as numbered in capture files (the `LINKTYPE_` registry
/// of tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the recording host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without address and control bytes.
    pub const PPP: Self = Self(9);
    /// Raw IP as most systems number it in old files.
    pub const RAW_12: Self = Self(12);
    /// Raw IP as OpenBSD numbers it in old files.
    pub const RAW_14: Self = Self(14);
    /// PPP in HDLC-like framing, or Cisco HDLC.
    pub const PPP_HDLC: Self = Self(50);
    /// PPP over Ethernet, from the PPPoE header on.
    pub const PPP_ETHER: Self = Self(51);
    /// Raw IP, either version.
    pub const RAW: Self = Self(101);
    /// Cisco HDLC.
    pub const CISCO_HDLC: Self = Self(104);
    /// OpenBSD loopback: the address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture.
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}
