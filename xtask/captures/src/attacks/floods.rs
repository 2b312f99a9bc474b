//! A table of floods: packets of each kind, in turn with each property that tells an attacker's packets from
//! those of players. Players ask and play all the while.

use std::net::{Ipv4Addr, SocketAddr};

use super::{Header, INFO, SERVER, Scenario, Stage, Whose, server};

/// Packets of a flood, and the microseconds between two.
const PACKETS: u64 = 6_500;
const BETWEEN: u64 = 700;

/// What the packets of a flood are.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name that the report gives them.
    pub name: &'static str,
    payload: fn(&mut Stage) -> Vec<u8>,
    /// Players send such packets, too.
    pub is_players: bool,
}

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind { name: "A2S_INFO request", payload: |_| INFO.to_vec(), is_players: true },
    Kind { name: "A2S_PLAYER request", payload: |_| with_challenge(b'U', -1), is_players: false },
    Kind { name: "A2S_RULES request", payload: |_| with_challenge(b'V', -1), is_players: false },
    Kind {
        name: "A2S_SERVERQUERY_GETCHALLENGE request",
        payload: |_| connectionless(b"W"),
        is_players: false,
    },
    Kind { name: "A2A_PING request", payload: |_| connectionless(b"i"), is_players: false },
    Kind {
        name: "getchallenge packet",
        payload: |_| connectionless(b"getchallenge steam\n"),
        is_players: false,
    },
    Kind {
        name: "qconnect packet",
        payload: |_| connectionless(b"qconnect 0x0B5C3A11\0"),
        is_players: false,
    },
    Kind {
        name: "connect packet",
        payload: |_| connectionless(b"connect 48 1 \"\\prot\\3\""),
        is_players: false,
    },
    Kind { name: "rcon packet", payload: |_| connectionless(b"rcon challenge"), is_players: false },
    Kind {
        name: "empty connectionless packet",
        payload: |_| connectionless(b""),
        is_players: false,
    },
    Kind {
        name: "split packet",
        payload: |_| b"\xFE\xFF\xFF\xFF\x01\0\0\0\x02\0".to_vec(),
        is_players: false,
    },
    Kind { name: "packet of other content", payload: junk, is_players: false },
];

fn connectionless(message: &[u8]) -> Vec<u8> {
    [b"\xFF\xFF\xFF\xFF", message].concat()
}

fn with_challenge(message: u8, challenge: i32) -> Vec<u8> {
    [&[0xFF, 0xFF, 0xFF, 0xFF, message], &challenge.to_le_bytes()[..]].concat()
}

/// Random bytes of random length, which no header begins.
fn junk(stage: &mut Stage) -> Vec<u8> {
    let length = stage.random.between(700, 1_100);
    (0..length).map(|_| 1 + stage.random.below(200) as u8).collect()
}

/// What tells the attacker's packets from players'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// One hop limit that no path from a player has.
    HopLimit,
    /// A range of such hop limits.
    HopLimits,
    /// One source port.
    SourcePort,
    /// One IP identification.
    Identification,
    /// Source addresses that no host of the Internet has.
    Bogons,
    /// Nothing but the payload.
    Payload,
}

/// All of them.
pub const TRAITS: [Trait; 6] = [
    Trait::HopLimit,
    Trait::HopLimits,
    Trait::SourcePort,
    Trait::Identification,
    Trait::Bogons,
    Trait::Payload,
];

/// The capture of a flood.
pub fn flood(kind: Kind, by: Trait) -> Scenario {
    let seed = kind.name.bytes().map(u64::from).sum::<u64>() * 8 + by as u64;
    let mut stage = Stage::new(seed);
    for n in 0..PACKETS {
        let payload = (kind.payload)(&mut stage);
        let (source, header) = attacker(&mut stage, by);
        stage.send(n * BETWEEN, [source, server()], header, &payload, Whose::Attack);
    }
    let length = PACKETS * BETWEEN;
    stage.clients(60, length, server(), 64);
    (0..6).for_each(|_| player(&mut stage, length));
    stage.done("flood", Some("flooded_server"), vec![SERVER.to_owned()])
}

/// A flood of junk toward the port for players that a server announces on another one, as UT3 does.
pub fn announced(response: &[u8], query: &[u8], [queried, game]: [u16; 2]) -> Scenario {
    let mut stage = Stage::new(u64::from(queried));
    let host = server().ip();
    let [queried, game] = [queried, game].map(|port| SocketAddr::from((host, port)));
    for n in 0..PACKETS {
        let payload = junk(&mut stage);
        let (source, header) = attacker(&mut stage, Trait::HopLimit);
        stage.send(n * BETWEEN, [source, game], header, &payload, Whose::Attack);
    }
    for n in 0..9 {
        let (client, ttl, id) = (stage.anywhere(), stage.routed(), stage.any());
        let client = SocketAddr::from((client, 50_000 + n as u16));
        let header = Header { ttl, id };
        stage.send(n * 500_000, [client, queried], header, query, Whose::Client);
        let own = Header { ttl: 64, id };
        stage.send(n * 500_000 + 90, [queried, client], own, response, Whose::Other);
    }
    stage.done("flood", Some("flooded_server"), vec![game.to_string()])
}

/// A flood of junk toward many ports of one host, to each at a rate that alone is none; or toward a few, to
/// each at one that is.
pub fn many_ports(ports: u16) -> Scenario {
    let mut stage = Stage::new(u64::from(ports));
    let at = |port: u16| SocketAddr::from((server().ip(), 27_015 + port % ports));
    let packets = match ports {
        0..10 => PACKETS * u64::from(ports),
        10..20 => PACKETS * 2,
        _ => PACKETS,
    };
    for n in 0..packets {
        let payload = junk(&mut stage);
        let (source, header) = attacker(&mut stage, Trait::HopLimit);
        let now = n * PACKETS * BETWEEN / packets;
        stage.send(now, [source, at(n as u16)], header, &payload, Whose::Attack);
    }
    for port in 0..ports {
        stage.clients(4, PACKETS * BETWEEN, at(port), 64);
    }
    let targets = (0..ports).map(|port| at(port).to_string());
    stage.done("flood", Some("flooded_server"), targets.collect())
}

fn attacker(stage: &mut Stage, by: Trait) -> (SocketAddr, Header) {
    let (mut host, mut port) = (stage.anywhere(), stage.port());
    let mut header = Header { ttl: stage.routed(), id: stage.any() };
    match by {
        Trait::HopLimit => header.ttl = 239,
        Trait::HopLimits => header.ttl = 225 + stage.random.below(20) as u8,
        Trait::SourcePort => port = 53,
        Trait::Identification => header.id = 54_321,
        Trait::Bogons => host = Ipv4Addr::new(10, stage.random.below(256) as u8, port as u8, 7),
        Trait::Payload => {}
    }
    (SocketAddr::from((host, port)), header)
}

/// A player on the server: 25 packets a second in each direction.
fn player(stage: &mut Stage, length: u64) {
    let client = SocketAddr::from((stage.anywhere(), 27_005));
    let (ttl, mut now) = (stage.routed(), stage.random.below(40_000));
    while now < length {
        for (ends, ttl, whose) in
            [([client, server()], ttl, Whose::Client), ([server(), client], 64, Whose::Other)]
        {
            let payload = {
                let bytes = 30 + stage.random.below(200);
                (0..bytes).map(|_| stage.random.below(250) as u8).collect::<Vec<_>>()
            };
            let id = stage.any();
            stage.send(now, ends, Header { ttl, id }, &payload, whose);
        }
        now += 40_000;
    }
}
