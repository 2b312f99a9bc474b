//! Numbers of the "Next Header" and "Protocol" fields of IP headers.

pub(super) const HOP_BY_HOP: u8 = 0;
pub(super) const ICMP: u8 = 1;
pub(super) const IPV4: u8 = 4;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const IPV6: u8 = 41;
pub(super) const ROUTING: u8 = 43;
pub(super) const FRAGMENT: u8 = 44;
pub(super) const GRE: u8 = 47;
pub(super) const ETHER_IP: u8 = 97;
pub(super) const ESP: u8 = 50;
pub(super) const AUTHENTICATION: u8 = 51;
pub(super) const MINIMAL: u8 = 55;
pub(super) const IP_COMP: u8 = 108;
pub(super) const L2TP: u8 = 115;
pub(super) const ICMP6: u8 = 58;
pub(super) const NO_NEXT_HEADER: u8 = 59;
pub(super) const DESTINATION_OPTIONS: u8 = 60;
pub(super) const MPLS: u8 = 137;
