//! Captures of attacks with legitimate clients, and of crowds that are not attacks. The sender of each packet
//! is known.
//!
//! Hop limits, source ports, identifications and payloads of attackers vary between scenarios, so that no
//! single property distinguishes attackers from clients in all of them.

pub mod floods;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::wire::{Capture, Datagram, Ip, Link, Prng, START, Time, TimedPacket, icmp, protocol};

const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const RESPONSE: &[u8] =
    b"\xFF\xFF\xFF\xFFI\x11Under attack\0de_dust2\0csgo\0Counter-Strike: Global \
    Offensive\0\xDA\x02\x05\x20\0dl\0\x011.38.7.9\0";
const PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFD\x01\0Ann\0\x03\0\0\0\0\0\x76\x42";
const LIST: &[u8] = b"1\xFF0.0.0.0:0\0\\gamedir\\valve\0";

/// The attacked server.
pub const SERVER: &str = "203.0.113.5:27015";

/// The kind of sender of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// An attacker: requests, or responses in captures at a victim.
    Attack,
    /// A real client.
    Client,
    /// The server, or another host.
    Other,
}

/// A capture with the expected results.
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// The packets.
    pub capture: Capture,
    /// The sender of each packet.
    pub whose: Vec<Whose>,
    /// The place of the capture; `None` if there is no attack.
    pub seat: Option<&'static str>,
    /// The attacked addresses.
    pub targets: Vec<String>,
    /// Number of addresses that send packets to a target.
    pub sources: u64,
    /// Whether sources are forged, as far as the capture shows it.
    pub forged: &'static str,
    /// The attack's packets can be distinguished from those of clients.
    pub is_distinct: bool,
}

/// All scenarios.
pub const ALL: &[fn() -> Scenario] = &[
    spoofed_with_challenges,
    spoofed_without_challenges,
    spoofed_like_players,
    one_source,
    small_network,
    at_the_reflector,
    at_the_victim,
    in_transit,
    lists,
    carpet,
    pulses,
    players_after_restart,
    monitor,
];

struct Stage {
    random: Prng,
    packets: Vec<(Time, Vec<u8>, Whose)>,
    sources: BTreeSet<IpAddr>,
    identification: u16,
}

/// Header fields of a packet.
#[derive(Clone, Copy)]
struct Header {
    ttl: u8,
    id: u16,
}

impl Stage {
    fn new(seed: u64) -> Stage {
        let random = Prng::new(seed);
        Stage { random, packets: Vec::new(), sources: BTreeSet::new(), identification: 0 }
    }

    fn send(
        &mut self,
        now: u64,
        ends: [SocketAddr; 2],
        header: Header,
        payload: &[u8],
        whose: Whose,
    ) {
        let [source, destination] = ends;
        let datagram = Datagram::new(&source.to_string(), &destination.to_string(), payload);
        let ip =
            Ip { id: header.id.into(), ttl: header.ttl, ..Ip::new(source.ip(), destination.ip()) };
        if whose != Whose::Other {
            self.sources.insert(source.ip());
        }
        let packet = ip.packet(protocol::UDP, &datagram.bytes());
        self.packets.push((START.after(now * 1000), packet, whose));
    }

    /// The next IP identification of a host that counts them up.
    fn next(&mut self) -> u16 {
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }

    /// A random one.
    fn any(&mut self) -> u16 {
        self.random.between(1, 65_535) as u16
    }

    /// A random public address.
    fn anywhere(&mut self) -> Ipv4Addr {
        loop {
            let [a, b, c, d] = (self.random.next() as u32).to_be_bytes();
            if matches!(a, 1..=9 | 11..=99 | 101..=126 | 128..=168 | 173..=191 | 193..=202 | 205..=223)
            {
                return Ipv4Addr::from([a, b, c, d]);
            }
        }
    }

    fn port(&mut self) -> u16 {
        self.random.between(1024, 65_000) as u16
    }

    /// The hop limit of a packet that was routed through the Internet.
    fn routed(&mut self) -> u8 {
        let begin = *self.random.pick(&[64, 128]);
        begin - self.random.between(6, 22) as u8
    }

    /// A client requests info and players, and returns its challenge. Times are in microseconds.
    fn client(&mut self, now: u64, server: SocketAddr, own: u8) {
        let client = SocketAddr::from((self.anywhere(), self.port()));
        self.client_at(now, client, server, own);
    }

    /// A client requests rules, which arrive in two parts without a challenge, and then players.
    fn client_of_split(&mut self) {
        let client = SocketAddr::from((self.anywhere(), self.port()));
        let (now, ttl) = (self.random.below(8_000_000), self.routed());
        let part = |number: u8| {
            [b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02", &[number][..], b"\xE0\x04part"].concat()
        };
        let said: [(u64, bool, &[u8]); 5] = [
            (0, true, b"\xFF\xFF\xFF\xFFV\xFF\xFF\xFF\xFF"),
            (90, false, &part(0)),
            (95, false, &part(1)),
            (40_000, true, b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF"),
            (40_090, false, PLAYERS),
        ];
        for (after, is_client, payload) in said {
            let id = self.any();
            let (ends, ttl, whose) = match is_client {
                true => ([client, server()], ttl, Whose::Client),
                false => ([server(), client], 128, Whose::Other),
            };
            self.send(now + after, ends, Header { ttl, id }, payload, whose);
        }
    }

    fn client_at(&mut self, now: u64, client: SocketAddr, server: SocketAddr, own: u8) {
        let challenge = self.random.between(1, 0x7FFF_FFFF) as u32;
        let with = |head: &[u8]| [head, &challenge.to_le_bytes()].concat();
        let (ttl, trip) = (self.routed(), self.random.between(8_000, 90_000));
        let steps: [(u64, bool, Vec<u8>); 6] = [
            (0, true, INFO.to_vec()),
            (100, false, with(b"\xFF\xFF\xFF\xFFA")),
            (trip, true, with(INFO)),
            (trip + 100, false, RESPONSE.to_vec()),
            (2 * trip, true, with(b"\xFF\xFF\xFF\xFFU")),
            (2 * trip + 100, false, PLAYERS.to_vec()),
        ];
        for (after, asks, payload) in steps {
            let id = self.any();
            let (ends, ttl, whose) = match asks {
                true => ([client, server], ttl, Whose::Client),
                false => ([server, client], own, Whose::Other),
            };
            self.send(now + after, ends, Header { ttl, id }, &payload, whose);
        }
    }

    /// The server challenges a client.
    fn challenges(&mut self, now: u64, client: SocketAddr) {
        let (id, payload) = (self.any(), challenge(&mut self.random));
        self.send(now, [server(), client], Header { ttl: 64, id }, &payload, Whose::Other);
    }

    /// Clients throughout the capture.
    fn clients(&mut self, count: u64, length: u64, server: SocketAddr, own: u8) {
        for _ in 0..count {
            let now = self.random.below(length);
            self.client(now, server, own);
        }
    }

    fn done(
        self,
        name: &'static str,
        seat: Option<&'static str>,
        targets: Vec<String>,
    ) -> Scenario {
        let Stage { mut packets, sources, .. } = self;
        packets.sort_by_key(|(time, ..)| *time);
        let mut capture = Capture::new(Link::Ethernet);
        let mut whose = Vec::new();
        for (time, packet, who) in packets {
            capture.push(time, &packet);
            whose.push(who);
        }
        let sources = sources.len() as u64;
        let (forged, is_distinct) = ("unknown", true);
        Scenario { name, capture, whose, seat, targets, sources, forged, is_distinct }
    }
}

fn server() -> SocketAddr {
    SERVER.parse().expect("an endpoint")
}

fn challenge(random: &mut Prng) -> Vec<u8> {
    let challenge = random.between(1, 0x7FFF_FFFF) as u32;
    [b"\xFF\xFF\xFF\xFFA", &challenge.to_le_bytes()[..]].concat()
}

/// Forged sources from everywhere with the same hop limit; the server challenges most of them.
fn spoofed_with_challenges() -> Scenario {
    let mut stage = Stage::new(1);
    for n in 0..16_000_u64 {
        let (now, client) = (n * 500, SocketAddr::from((stage.anywhere(), stage.port())));
        let id = stage.any();
        stage.send(now, [client, server()], Header { ttl: 244, id }, INFO, Whose::Attack);
        if n % 3 > 0 {
            stage.challenges(now + 80, client);
        }
        // Some of the hosts that receive a challenge respond with an ICMP error.
        if n % 40 == 1 {
            let (_, sent, _) = stage.packets.last().expect("a challenge").clone();
            let error = icmp::error([3, 3], 0, [client.ip(), server().ip()], &sent);
            let ip = Ip { ttl: 50, ..Ip::new(client.ip(), server().ip()) };
            let packet = ip.packet(icmp::protocol(client.ip()), &error);
            stage.packets.push((START.after((now + 40_000) * 1000), packet, Whose::Other));
        }
    }
    stage.clients(60, 8_000_000, server(), 64);
    Scenario {
        forged: "yes",
        ..stage.done("spoofed-with-challenges", Some("flooded_server"), vec![SERVER.to_owned()])
    }
}

/// The server sends no challenges, and responds to some requests; all packets of the attack have the same
/// source port and an additional byte.
fn spoofed_without_challenges() -> Scenario {
    let mut stage = Stage::new(2);
    let payload = [INFO, &[0x0A]].concat();
    for n in 0..12_000_u64 {
        let client = SocketAddr::from((stage.anywhere(), 31_337));
        let header = Header { ttl: stage.routed(), id: stage.next() };
        stage.send(n * 700, [client, server()], header, &payload, Whose::Attack);
        if n % 20 == 0 {
            let id = stage.any();
            stage.send(
                n * 700 + 90,
                [server(), client],
                Header { ttl: 128, id },
                RESPONSE,
                Whose::Other,
            );
        }
    }
    for _ in 0..40 {
        let now = stage.random.below(8_000_000);
        let client = SocketAddr::from((stage.anywhere(), stage.port()));
        let (ttl, trip) = (stage.routed(), stage.random.between(8_000, 90_000));
        for (after, ask, response) in
            [(0, INFO, RESPONSE), (trip, b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF", PLAYERS)]
        {
            let (id, own) = (stage.any(), stage.any());
            stage.send(now + after, [client, server()], Header { ttl, id }, ask, Whose::Client);
            let header = Header { ttl: 128, id: own };
            stage.send(now + after + 90, [server(), client], header, response, Whose::Other);
        }
    }
    for _ in 0..15 {
        stage.client_of_split();
    }
    Scenario {
        forged: "yes",
        ..stage.done("spoofed-without-challenges", Some("flooded_server"), vec![SERVER.to_owned()])
    }
}

/// Forged sources with packets that look like a player's first one.
fn spoofed_like_players() -> Scenario {
    let mut stage = Stage::new(3);
    for n in 0..18_000_u64 {
        let (now, client) = (n * 600, SocketAddr::from((stage.anywhere(), stage.port())));
        let header = Header { ttl: stage.routed(), id: stage.any() };
        stage.send(now, [client, server()], header, INFO, Whose::Attack);
        if n % 2 == 0 {
            stage.challenges(now + 80, client);
        }
    }
    stage.clients(150, 10_000_000, server(), 64);
    Scenario {
        forged: "yes",
        is_distinct: false,
        ..stage.done("spoofed-like-players", Some("flooded_server"), vec![SERVER.to_owned()])
    }
}

/// A real host that keeps requesting players with its valid challenge.
fn one_source() -> Scenario {
    let mut stage = Stage::new(4);
    let attacker: SocketAddr = "198.51.100.77:4444".parse().expect("an endpoint");
    let given = 0x1122_3344_u32.to_le_bytes();
    let asked = [b"\xFF\xFF\xFF\xFFU", &given[..]].concat();
    for n in 0..15_000_u64 {
        let (id, own) = (stage.next(), stage.any());
        let header = Header { ttl: 117, id };
        let first = [INFO, &[b"\xFF\xFF\xFF\xFFA", &given[..]].concat()];
        let (ask, response): (&[u8], &[u8]) =
            if n == 0 { (first[0], first[1]) } else { (&asked, PLAYERS) };
        stage.send(n * 600, [attacker, server()], header, ask, Whose::Attack);
        if n % 4 == 0 {
            let header = Header { ttl: 64, id: own };
            stage.send(n * 600 + 60, [server(), attacker], header, response, Whose::Other);
        }
    }
    stage.clients(50, 8_000_000, server(), 64);
    Scenario {
        forged: "no",
        ..stage.done("one-source", Some("flooded_server"), vec![SERVER.to_owned()])
    }
}

/// All hosts of two networks, each with as few requests as a player.
fn small_network() -> Scenario {
    let mut stage = Stage::new(5);
    for n in 0..14_000_u64 {
        let [third, host] = [stage.random.below(2) as u8, stage.random.between(1, 254) as u8];
        let client = SocketAddr::from(([185, 12, 40 + third, host], stage.port()));
        let header = Header { ttl: stage.routed(), id: stage.any() };
        stage.send(n * 600, [client, server()], header, INFO, Whose::Attack);
        if n % 5 == 0 {
            stage.challenges(n * 600 + 70, client);
        }
    }
    stage.clients(50, 8_000_000, server(), 64);
    Scenario {
        forged: "yes",
        ..stage.done("small-network", Some("flooded_server"), vec![SERVER.to_owned()])
    }
}

/// A server responds to a victim whose address is forged; `ttl`: of requests and of responses.
fn reflected(stage: &mut Stage, [to, of]: [u8; 2]) {
    let victim: SocketAddr = "198.51.100.7:80".parse().expect("an endpoint");
    for n in 0..900_u64 {
        let (id, own) = (stage.next(), stage.any());
        stage.send(n * 9_000, [victim, server()], Header { ttl: to, id }, INFO, Whose::Attack);
        let header = Header { ttl: of, id: own };
        stage.send(n * 9_000 + 90, [server(), victim], header, RESPONSE, Whose::Other);
    }
}

fn at_the_reflector() -> Scenario {
    let mut stage = Stage::new(6);
    reflected(&mut stage, [238, 64]);
    stage.clients(30, 8_000_000, server(), 64);
    stage.done("reflector", Some("reflector"), vec![SERVER.to_owned()])
}

fn in_transit() -> Scenario {
    let mut stage = Stage::new(7);
    reflected(&mut stage, [241, 58]);
    stage.clients(30, 8_000_000, server(), 58);
    stage.done("transit", Some("transit"), vec![SERVER.to_owned()])
}

/// 200 game servers, resolvers and time servers respond to an address that sent no requests to them. It also
/// uses its own resolver.
fn at_the_victim() -> Scenario {
    let mut stage = Stage::new(8);
    let victim = "198.51.100.7:80";
    let to: SocketAddr = victim.parse().expect("an endpoint");
    let servers: Vec<_> = (0..200).map(|_| stage.anywhere()).collect();
    for n in 0..9_000_u64 {
        let host = servers[stage.random.below(200) as usize];
        let (port, payload): (u16, &[u8]) = match n % 5 {
            0 => (53, b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0\x07example\x03com\0\0\xFF\0\x01"),
            1 => (123, b"\xD7\0\x03\x2A\0\x06\0\x48"),
            _ => (27015, RESPONSE),
        };
        let header = Header { ttl: stage.routed(), id: stage.any() };
        stage.send(n * 900, [SocketAddr::from((host, port)), to], header, payload, Whose::Attack);
    }
    let (resolver, asks) = ("9.9.9.9:53".parse().expect("an endpoint"), b"\x77\x01\x01\0\0\x01");
    for n in 1..=20_u64 {
        let (id, own) = (stage.next(), stage.any());
        stage.send(n * 300_000, [to, resolver], Header { ttl: 64, id }, asks, Whose::Other);
        let header = Header { ttl: 57, id: own };
        stage.send(n * 300_000 + 9000, [resolver, to], header, asks, Whose::Other);
    }
    Scenario { forged: "no", ..stage.done("victim", Some("victim"), vec![victim.to_owned()]) }
}

/// Endless list requests to a master, all with the same IP identification.
fn lists() -> Scenario {
    let mut stage = Stage::new(9);
    let master = "203.0.113.9:27010";
    let to: SocketAddr = master.parse().expect("an endpoint");
    for n in 0..13_000_u64 {
        let client = SocketAddr::from((stage.anywhere(), stage.port()));
        let header = Header { ttl: stage.routed(), id: 54_321 };
        stage.send(n * 600, [client, to], header, b"1\xFF0.0.0.0:0\0\0", Whose::Attack);
    }
    // A client requests the first page, and then the next one after its last server.
    for _ in 0..30 {
        let now = stage.random.below(7_000_000);
        let client = SocketAddr::from((stage.anywhere(), stage.port()));
        let ttl = stage.routed();
        let pages = [LIST, b"1\xFF203.0.113.5:27015\0\\gamedir\\valve\0"];
        let replies = [
            &b"\xFF\xFF\xFF\xFFf\n\xCB\x00\x71\x05\x69\x87"[..],
            b"\xFF\xFF\xFF\xFFf\n\xCB\x00\x71\x06\x69\x87\0\0\0\0\0\0",
        ];
        for (n, (ask, reply)) in (0..).zip(pages.into_iter().zip(replies)) {
            let (id, own) = (stage.any(), stage.any());
            let at = now + n * 60_000;
            stage.send(at, [client, to], Header { ttl, id }, ask, Whose::Client);
            stage.send(at + 100, [to, client], Header { ttl: 64, id: own }, reply, Whose::Other);
        }
    }
    Scenario {
        forged: "yes",
        ..stage.done("lists", Some("flooded_master"), vec![master.to_owned()])
    }
}

/// Requests to all hosts of a network, to each at a rate below the threshold.
fn carpet() -> Scenario {
    let mut stage = Stage::new(10);
    for n in 0..16_000_u64 {
        let server = SocketAddr::from(([203, 0, 113, (n % 256) as u8], 27015));
        let client = SocketAddr::from((stage.anywhere(), stage.port()));
        let id = stage.any();
        stage.send(n * 500, [client, server], Header { ttl: 249, id }, INFO, Whose::Attack);
    }
    stage.clients(40, 8_000_000, server(), 64);
    let targets = (0..=255).map(|host| format!("203.0.113.{host}:27015")).collect();
    Scenario { forged: "yes", ..stage.done("carpet", Some("flooded_server"), targets) }
}

/// A flood in pulses.
fn pulses() -> Scenario {
    let mut stage = Stage::new(11);
    for pulse in 0..3_u64 {
        for n in 0..7_000_u64 {
            // Some have forged addresses of the server's network.
            let neighbour = Ipv4Addr::new(203, 0, 113, stage.random.between(6, 254) as u8);
            let host = if n % 20 == 0 { neighbour } else { stage.anywhere() };
            let client = SocketAddr::from((host, stage.port()));
            let header = Header { ttl: 51, id: stage.any() };
            let now = pulse * 20_000_000 + n * 800;
            stage.send(now, [client, server()], header, b"\xFF\xFF\xFF\xFFW", Whose::Attack);
        }
    }
    stage.clients(60, 45_000_000, server(), 64);
    Scenario {
        forged: "yes",
        ..stage.done("pulses", Some("flooded_server"), vec![SERVER.to_owned()])
    }
}

/// 2,400 players reconnect within three seconds: more requests than in many floods.
fn players_after_restart() -> Scenario {
    let mut stage = Stage::new(12);
    stage.clients(2_400, 3_000_000, server(), 64);
    stage.done("players-after-restart", None, Vec::new())
}

/// One host queries 300 servers every few seconds.
fn monitor() -> Scenario {
    let mut stage = Stage::new(13);
    for round in 0..4_u64 {
        for n in 0..300_u64 {
            let server = SocketAddr::from(([198, 18 + (n % 2) as u8, (n / 2) as u8, 9], 27015));
            let client = SocketAddr::from(([203, 0, 113, 200], 40_000 + n as u16));
            stage.client_at(round * 5_000_000 + n * 10_000, client, server, 57);
        }
    }
    stage.done("monitor", None, Vec::new())
}

impl Scenario {
    /// The packets of one kind of sender.
    pub fn of(&self, whose: Whose) -> impl Iterator<Item = &TimedPacket> {
        let packets = self.capture.packets.iter().zip(&self.whose);
        packets.filter(move |(_, who)| **who == whose).map(|(packet, _)| packet)
    }
}
