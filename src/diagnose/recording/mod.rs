//! The recording itself: its position, from hop limits and directions, which determines what it can show, and what it lacks.

pub(in crate::diagnose) mod identifications;
pub(in crate::diagnose) mod latest_packets;

use std::net::IpAddr;

use dissectors::kit::Map;

use crate::diagnose::Diagnosis;
use crate::session::{HopLimitKinds, IcmpEvent, PacketDirection, Totals};

dissectors::named! {
    /// The position of the capture.
    pub enum CapturePosition {
        /// At the server.
        Server = "server",
        /// At a client.
        Client = "client",
        /// At the master.
        Master = "master",
        /// On the path between them.
        Between = "between",
        /// Unknown.
        Unknown = "unknown",
    }
}

impl CapturePosition {
    /// Where the capture was taken, for people.
    pub const fn says(self) -> &'static str {
        match self {
            CapturePosition::Server => "captured at the server",
            CapturePosition::Client => "captured at a client",
            CapturePosition::Master => "captured at the master",
            CapturePosition::Between => "captured on the way between server and clients",
            CapturePosition::Unknown => "where it was captured is unknown",
        }
    }
}

/// Hop limits and directions of the packets of some hosts.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnose) struct PacketHopLimits {
    hops: HopLimitKinds,
    /// The recording host sent some, or passed them on.
    outgoing: bool,
    /// It received some.
    incoming: bool,
}

impl PacketHopLimits {
    /// Adds a packet's hop limit, 0 if unknown, and its direction.
    pub(in crate::diagnose) fn see(&mut self, hop_limit: u8, direction: PacketDirection) {
        self.outgoing |= direction == PacketDirection::Outgoing;
        self.incoming |= direction == PacketDirection::Incoming;
        self.hops.see(hop_limit);
    }

    /// Adds what is known of other packets.
    fn add(&mut self, other: PacketHopLimits) {
        self.hops.add(other.hops);
        self.outgoing |= other.outgoing;
        self.incoming |= other.incoming;
    }

    /// Adds what is known of packets without messages, whose hop limits count only if those of messages are unknown:
    /// programs may choose them.
    fn add_others(&mut self, others: PacketHopLimits) {
        let own = self.hops;
        self.add(others);
        if own != HopLimitKinds::default() {
            self.hops = own;
        }
    }

    /// Whether all come from the recording host, which received none of them.
    fn all_local(self) -> bool {
        self.outgoing && !self.incoming
    }

    fn all_fresh(self) -> bool {
        self.hops.all_fresh()
    }

    fn all_routed(self) -> bool {
        self.hops.all_routed()
    }
}

/// The hop limits of packets from a server, and of packets to it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnose) struct HopLimits {
    pub(in crate::diagnose) server: PacketHopLimits,
    pub(in crate::diagnose) clients: PacketHopLimits,
    pub(in crate::diagnose) masters: PacketHopLimits,
}

impl HopLimits {
    fn add(&mut self, other: HopLimits) {
        self.server.add(other.server);
        self.clients.add(other.clients);
        self.masters.add(other.masters);
    }
}

/// The hosts that are an end of every message; and of hosts with servers, the hop limits and directions of whatever they
/// send.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct CommonHosts {
    /// `None` before the first message.
    hosts: Option<Vec<IpAddr>>,
    /// There are messages between other pairs of hosts.
    pairs: bool,
    ways: Map<IpAddr, PacketHopLimits>,
}

impl CommonHosts {
    pub(in crate::diagnose) fn see(&mut self, from: IpAddr, to: IpAddr) {
        let hosts = self.hosts.get_or_insert_with(|| vec![from, to]);
        let before = hosts.len();
        hosts.retain(|host| *host == from || *host == to);
        self.pairs |= hosts.len() < before;
    }

    /// A host with a server sends a datagram, of whatever content, or a fragment of one.
    pub(in crate::diagnose) fn sends(
        &mut self,
        host: IpAddr,
        hop_limit: u8,
        direction: PacketDirection,
    ) {
        self.ways.entry(host).or_default().see(hop_limit, direction);
    }

    /// An ICMP error about a recorded packet to a host with a server. If it comes from a router behind the recorder, the
    /// packet went on to there: this is not where the server is.
    pub(in crate::diagnose) fn refuses(&mut self, host: IpAddr, error: &IcmpEvent) {
        let ways = self.ways.entry(host).or_default();
        let mut hops = PacketHopLimits::default();
        hops.see(error.hop_limit, PacketDirection::Unknown);
        if error.from == host || hops.hops.routed {
            ways.add(hops);
        }
    }

    fn has(&self, host: IpAddr) -> bool {
        self.pairs && self.hosts.as_ref().is_some_and(|hosts| hosts.contains(&host))
    }
}

impl Diagnosis {
    /// Whether some packet of a host is in the capture: of any of its addresses, unless its answers leave from another one
    /// than was asked, so that they may have been lost between the two.
    pub(in crate::diagnose) fn is_heard(&self, host: IpAddr, read: &Totals) -> bool {
        let is_heard = |host| read.heard.contains(host) || self.speakers.contains(&host);
        is_heard(host)
            || self.translations.answers_behind(host).is_none()
                && self.translations.sides(host).any(is_heard)
    }

    /// Whether the recorder lost packets.
    pub(in crate::diagnose) fn is_lossy(&self, read: &Totals) -> bool {
        read.lossy || read.dropped || self.seems_lossy
    }

    /// A host has one place, whichever of its ports is asked, and which of them answers.
    pub(in crate::diagnose) fn one_place_each(&mut self, read: &Totals) {
        let mut hosts: Map<IpAddr, HopLimits> = Map::default();
        self.servers.iter().for_each(|(address, server)| {
            hosts.entry(address.ip()).or_default().add(server.hops);
        });
        self.everywhere.ways.iter().for_each(|(host, ways)| {
            hosts.entry(*host).or_default().server.add_others(*ways);
        });
        for (host, of_host) in read.heard.hops() {
            let others = PacketHopLimits { hops: of_host, ..PacketHopLimits::default() };
            hosts.entry(host).and_modify(|hops| hops.server.add_others(others));
        }
        self.servers.iter_mut().for_each(|(address, server)| {
            server.hops = hosts.get(&address.ip()).copied().unwrap_or_default();
        });
    }
}

/// The position of the capture, as seen from one server.
pub(in crate::diagnose) fn position(
    server: IpAddr,
    hops: &HopLimits,
    everywhere: &CommonHosts,
    clients: &[IpAddr],
    masters: &[IpAddr],
) -> CapturePosition {
    let HopLimits { server: own, clients: asking, masters: listing } = *hops;
    let others_routed =
        asking.all_routed() && !listing.hops.fresh || listing.all_routed() && !asking.hops.fresh;
    match () {
        // The recorder says it.
        () if own.all_local() && !asking.all_local() => CapturePosition::Server,
        () if asking.all_local() && !own.outgoing => CapturePosition::Client,
        () if listing.all_local() && own.incoming => CapturePosition::Master,
        () if own.all_fresh() && others_routed => CapturePosition::Server,
        () if own.all_routed() && asking.all_fresh() => CapturePosition::Client,
        () if own.all_routed() && listing.all_fresh() => CapturePosition::Master,
        () if own.all_routed() && others_routed => CapturePosition::Between,
        () if everywhere.has(server) => CapturePosition::Server,
        () if clients.iter().any(|client| everywhere.has(*client)) => CapturePosition::Client,
        () if masters.iter().any(|master| everywhere.has(*master)) => CapturePosition::Master,
        () => CapturePosition::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(server: &[u8], clients: &[u8], masters: &[u8]) -> HopLimits {
        let of = |limits: &[u8]| {
            let mut hops = PacketHopLimits::default();
            limits.iter().for_each(|limit| hops.see(*limit, PacketDirection::Unknown));
            hops
        };
        HopLimits { server: of(server), clients: of(clients), masters: of(masters) }
    }

    #[test]
    fn hop_limits_tell_the_seat() {
        let host = |n: u8| IpAddr::from([10, 0, 0, n]);
        let (server, client, master) = (host(1), host(2), host(3));
        let position = |hops: HopLimits, pairs: &[(IpAddr, IpAddr)]| {
            let mut everywhere = CommonHosts::default();
            pairs.iter().for_each(|(from, to)| everywhere.see(*from, *to));
            position(server, &hops, &everywhere, &[client], &[master])
        };
        assert_eq!(position(hops(&[64], &[117, 50], &[55]), &[]), CapturePosition::Server);
        assert_eq!(position(hops(&[50], &[128], &[]), &[]), CapturePosition::Client);
        assert_eq!(position(hops(&[50], &[], &[64]), &[]), CapturePosition::Master);
        assert_eq!(position(hops(&[50], &[120], &[]), &[]), CapturePosition::Between);
        assert_eq!(
            position(hops(&[64], &[64], &[]), &[(server, client)]),
            CapturePosition::Unknown
        );
        let both = [(server, client), (master, server)];
        assert_eq!(position(hops(&[64], &[64], &[64]), &both), CapturePosition::Server);
        let both = [(server, client), (client, master)];
        assert_eq!(position(hops(&[64], &[64], &[64]), &both), CapturePosition::Client);
        let apart = [(server, client), (client, master), (master, server)];
        assert_eq!(position(hops(&[64], &[64], &[64]), &apart), CapturePosition::Unknown);
    }

    #[test]
    fn directions_tell_the_seat() {
        use PacketDirection::{Incoming, Outgoing};
        let of = |directions: &[PacketDirection]| {
            let mut hops = PacketHopLimits::default();
            directions.iter().for_each(|direction| hops.see(64, *direction));
            hops
        };
        let position = |server: &[PacketDirection], clients: &[PacketDirection]| {
            let hops =
                HopLimits { server: of(server), clients: of(clients), ..HopLimits::default() };
            let server = IpAddr::from([10, 0, 0, 1]);
            position(server, &hops, &CommonHosts::default(), &[], &[])
        };
        assert_eq!(position(&[Outgoing], &[Incoming]), CapturePosition::Server);
        assert_eq!(position(&[Incoming], &[Outgoing]), CapturePosition::Client);
        assert_eq!(position(&[], &[Outgoing]), CapturePosition::Client);
        // A router, or the host of a container, passes on what it receives.
        let both = [Incoming, Outgoing];
        assert_eq!(position(&both, &both), CapturePosition::Unknown);
    }
}
