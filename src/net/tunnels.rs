//! Kinds of tunnels, and the tunnels of one packet.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::limits;

dissectors::named! {
    /// A kind of tunnel.
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

/// The tunnels of a packet, outermost first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tunnels {
    kinds: [Option<Tunnel>; limits::TUNNELS],
    identifier: Option<u32>,
}

impl PartialEq for Tunnels {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Most packets have none.
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

    /// The identifier of the innermost tunnel that has one: network, endpoint, key, session or
    /// label.
    pub fn identifier(&self) -> Option<u32> {
        self.identifier
    }

    /// Adds an inner tunnel; `false` if there are too many.
    pub(super) fn enter(&mut self, kind: Tunnel, identifier: Option<u32>) -> bool {
        let Some(slot) = self.kinds.iter_mut().find(|slot| slot.is_none()) else {
            return false;
        };
        *slot = Some(kind);
        self.identifier = identifier.or(self.identifier);
        true
    }
}
