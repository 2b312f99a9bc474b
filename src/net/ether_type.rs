//! Numbers of the EtherType field of Ethernet and GRE headers.

pub(super) const IPV4: u16 = 0x0800;
pub(super) const VLAN: u16 = 0x8100;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const MPLS: u16 = 0x8847;
pub(super) const MPLS_UPSTREAM: u16 = 0x8848;
pub(super) const PPPOE_SESSION: u16 = 0x8864;
pub(super) const PROVIDER_VLAN: u16 = 0x88a8;
pub(super) const OLD_QINQ: u16 = 0x9100;
pub(super) const PROVIDER_BACKBONE: u16 = 0x88e7;
pub(super) const FABRIC_PATH: u16 = 0x8903;
/// Cisco metadata, which holds a security group.
pub(super) const METADATA: u16 = 0x8909;
pub(super) const VN_TAG: u16 = 0x8926;
pub(super) const SERVICE_CHAIN: u16 = 0x894f;
/// High-availability Seamless Redundancy, IEC 62439-3.
pub(super) const REDUNDANCY: u16 = 0x892f;
/// Port extension, IEEE 802.1BR.
pub(super) const E_TAG: u16 = 0x893f;
pub(super) const MAC_SEC: u16 = 0x88e5;
pub(super) const TRILL: u16 = 0x22f3;
pub(super) const ERSPAN_3: u16 = 0x22eb;
pub(super) const ETHERNET: u16 = 0x6558;
pub(super) const PPP: u16 = 0x880b;
pub(super) const ERSPAN_2: u16 = 0x88be;
/// Values up to this one are lengths: IEEE 802.3 with an LLC header.
pub(super) const LONGEST_FRAME: u16 = 1500;
