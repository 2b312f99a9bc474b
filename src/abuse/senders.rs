//! Senders and targets, with some of their packets: the contents of abuse reports.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Map, Socket, Time};

use super::clients::port_bit;
use super::target::share;
use super::{Abuse, Attack, AttackKind, Forged};
use crate::session::DatagramEvent;

/// Senders that are kept.
const MOST: usize = 1 << 13;

/// Packets of a sender that are kept.
const PACKETS: usize = 10;

/// Minimum number of unsolicited responses of a reported server: fewer may be late.
const RESPONSES: u64 = 3;

/// Minimum number of requests of a reported client, and minimum rate: players and browsers send
/// fewer.
const REQUESTS: u64 = 100;
const REQUESTS_A_SECOND: f64 = 5.0;

/// The behaviour of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SenderBehavior {
    /// It asks a server.
    Asks,
    /// It sends unsolicited responses.
    Responds,
    /// It sends what crashes servers.
    Crashes,
}

/// The target; for responses, the port is 0 and means any.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SenderKey {
    does: SenderBehavior,
    to: SocketAddr,
    from: IpAddr,
}

/// One packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// When it came.
    pub time: Time,
    /// Who sent it, and where to.
    pub ends: [SocketAddr; 2],
    /// Its name in the specification.
    pub message: &'static str,
    /// Bytes of payload.
    pub bytes: u64,
}

impl SentPacket {
    /// The packet of this kind of message.
    pub(super) fn of(event: &DatagramEvent<'_>, message: &'static str) -> SentPacket {
        let headers = &event.headers;
        let (time, ends) = (headers.time, [headers.from, headers.to]);
        SentPacket { time, ends, message, bytes: headers.length.into() }
    }
}

/// The packets of one sender to one target.
#[derive(Clone, Debug)]
pub struct Sender {
    /// In which protocol.
    pub protocol: Id,
    /// How many messages.
    pub packets: u64,
    /// Their payloads' bytes.
    pub bytes: u64,
    /// When the first and the last one came.
    pub span: [Time; 2],
    /// The maximum within one second.
    pub peak: u64,
    /// The first packets.
    pub first: Vec<SentPacket>,
    /// The current second, and the packets in it.
    second: (i64, u64),
    /// The ports that returned a challenge, a bit each, so that its address is not forged, and the packets from there:
    /// others may be forged in its name.
    real_ports: u64,
    real: u64,
}

impl Sender {
    /// Average packets per second; if shorter than a second, per second.
    pub fn rate(&self) -> f64 {
        let seconds = self.span[1].since(self.span[0]) as f64 / 1e9;
        self.packets as f64 / seconds.max(1.0)
    }

    fn see(&mut self, packet: SentPacket) {
        self.packets += 1;
        self.bytes += packet.bytes;
        let [first, last] = &mut self.span;
        (*first, *last) = ((*first).min(packet.time), (*last).max(packet.time));
        let second = packet.time.0.div_euclid(1_000_000_000);
        self.second = match self.second {
            (now, count) if now == second => (now, count + 1),
            _ => (second, 1),
        };
        self.peak = self.peak.max(self.second.1);
        if self.first.len() < PACKETS {
            self.first.push(packet);
        }
    }
}

/// All senders of a capture; if there are too many, without those with few packets.
#[derive(Default)]
pub struct Senders {
    kept: Map<SenderKey, Sender>,
    /// Senders with at most this many packets were left out.
    pub left_out: u64,
}

impl Senders {
    /// A client's request; `is_real`: with a challenge that it was given.
    pub(super) fn asks(&mut self, id: Id, packet: SentPacket, is_real: bool) {
        let sender = self.see(id, SenderBehavior::Asks, packet.ends[1], packet);
        let port = port_bit(packet.ends[0].port());
        if is_real {
            sender.real_ports |= port;
        }
        sender.real += u64::from(sender.real_ports & port != 0);
    }

    /// A server's unsolicited response.
    pub(super) fn responds_unasked(&mut self, id: Id, packet: SentPacket) {
        self.see(id, SenderBehavior::Responds, SocketAddr::new(packet.ends[1].ip(), 0), packet);
    }

    /// A packet that crashes servers.
    pub(super) fn crashes(&mut self, id: Id, packet: SentPacket) {
        self.see(id, SenderBehavior::Crashes, packet.ends[1], packet);
    }

    fn see(
        &mut self,
        protocol: Id,
        does: SenderBehavior,
        to: SocketAddr,
        packet: SentPacket,
    ) -> &mut Sender {
        let key = SenderKey { does, to, from: packet.ends[0].ip() };
        if self.kept.len() >= MOST && !self.kept.contains_key(&key) {
            self.make_room();
        }
        let sender = self.kept.entry(key).or_insert_with(|| Sender {
            protocol,
            packets: 0,
            bytes: 0,
            span: [packet.time; 2],
            peak: 0,
            first: Vec::new(),
            second: (i64::MIN, 0),
            real_ports: 0,
            real: 0,
        });
        sender.see(packet);
        sender
    }

    /// Removes senders with few packets, until half of the room is free.
    fn make_room(&mut self) {
        let mut counts: Vec<_> = self.kept.values().map(|sender| sender.packets).collect();
        let (_, median, _) = counts.select_nth_unstable(MOST / 2);
        let least = *median;
        self.kept.retain(|_, sender| sender.packets > least);
        self.left_out = self.left_out.max(least);
    }
}

impl Abuse {
    /// The senders of an attack that can be reported to their networks, most packets first, if senders are kept: those
    /// whose addresses are not forged, and that are no clients.
    pub fn reported(&self, attack: &Attack) -> Vec<(IpAddr, &Sender)> {
        let does = match attack.kind {
            // Whose addresses they are has nothing to do with it.
            AttackKind::FloodedServer | AttackKind::FloodedMaster | AttackKind::Transit
                if attack.forged == Forged::Yes =>
            {
                return Vec::new();
            }
            AttackKind::FloodedServer | AttackKind::FloodedMaster | AttackKind::Transit => {
                SenderBehavior::Asks
            }
            AttackKind::Victim => SenderBehavior::Responds,
            AttackKind::CrashAttempt => SenderBehavior::Crashes,
            // Its requests come from the unknown attacker, with the victims' addresses.
            AttackKind::Reflector => return Vec::new(),
        };
        let is_target = |to: SocketAddr| match does {
            SenderBehavior::Responds => to.ip() == attack.target.ip(),
            SenderBehavior::Asks | SenderBehavior::Crashes => attack.targets.contains(&to),
        };
        let kept = self.senders.iter().flat_map(|senders| &senders.kept);
        let of_attack = kept.filter(|(key, _)| key.does == does && is_target(key.to));
        let reported = of_attack.filter(|(key, sender)| match does {
            SenderBehavior::Responds => sender.packets >= RESPONSES,
            SenderBehavior::Asks => {
                let rate = sender.rate() * share(sender.real, sender.packets);
                sender.real >= REQUESTS && rate >= REQUESTS_A_SECOND && !self.is_client(key)
            }
            SenderBehavior::Crashes => {
                let key = SenderKey { does: SenderBehavior::Asks, ..**key };
                let asks = self.senders.as_ref().and_then(|senders| senders.kept.get(&key));
                asks.is_some_and(|sender| sender.real > 0)
            }
        });
        let mut reported: Vec<_> = reported.map(|(key, sender)| (key.from, sender)).collect();
        reported.sort_by_key(|(from, sender)| (std::cmp::Reverse(sender.packets), *from));
        reported
    }

    /// Whether a sender is a client of the server that it asks, as far as it sent the packets that bear its address.
    fn is_client(&self, key: &SenderKey) -> bool {
        let server = self.servers.get(&Socket(key.to));
        server.is_some_and(|it| it.current.clients.is_slow(key.from, self.thresholds().repeats))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(from: [u8; 4], time: i64) -> SentPacket {
        let ends = [(from, 50_000).into(), ([10, 0, 0, 2], 27_015).into()];
        SentPacket { time: Time(time), ends, message: "A2S_INFO request", bytes: 25 }
    }

    #[test]
    fn many_forged_sources_do_not_displace_large_senders() {
        let mut senders = Senders::default();
        for n in 0..200_000_u32 {
            senders.asks(Id::ALL[0], packet(n.to_be_bytes(), i64::from(n)), false);
            if n % 10 == 0 {
                senders.asks(Id::ALL[0], packet([192, 0, 2, 1], i64::from(n)), false);
            }
            assert!(senders.kept.len() <= MOST);
        }
        assert!(senders.left_out > 0);
        let most = senders.kept.values().max_by_key(|sender| sender.packets).unwrap();
        assert_eq!((most.packets, most.bytes), (20_000, 25 * 20_000));
        assert_eq!(most.first.len(), PACKETS);
    }

    #[test]
    fn the_peak_is_that_of_a_second_of_the_clock() {
        let mut senders = Senders::default();
        for time in [0, 1, 999_999_999, 1_000_000_000, 5_000_000_000, 5_000_000_001] {
            senders.asks(Id::ALL[0], packet([192, 0, 2, 1], time), false);
        }
        let sender = senders.kept.values().next().unwrap();
        assert_eq!((sender.packets, sender.peak), (6, 3));
        assert!((sender.rate() - 1.2).abs() < 0.01, "{}", sender.rate());
    }
}
