//! Requests and responses of "Server queries", by the specification's tables.

use std::net::SocketAddrV4;

use bzip2::Compression;

use crate::bulk::stage::Stage;
use crate::bulk::words;
use crate::bytes::Bytes;
use crate::samples::a2s::messages::{split_compressed, split_orange_box};
use crate::wire::Prng;

/// A2S_INFO, "Request format".
pub(super) const INFO_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";

/// The Size field of the Orange Box engine's packets.
const SPLIT_SIZE: u16 = 1248;

/// Maximum size of a player list that fits into one packet.
const PLAYERS_SIZE: usize = 1300;

/// Folder, game and AppID.
const GAMES: &[(&str, &str, u16)] = &[
    ("cstrike", "Counter-Strike: Source", 240),
    ("tf", "Team Fortress", 440),
    ("garrysmod", "DarkRP", 4000),
    ("left4dead2", "Left 4 Dead 2", 550),
    ("csgo", "Counter-Strike: Global Offensive", 730),
    ("ship", "The Ship", 2400),
];

/// Responses for reuse, each as a list of packets.
#[derive(Debug)]
pub(super) struct Responses {
    info: Vec<Vec<u8>>,
    players: Vec<Vec<u8>>,
    short_rules: Vec<Vec<u8>>,
    split_rules: Vec<Vec<Vec<u8>>>,
    compressed_rules: Vec<Vec<Vec<u8>>>,
    long_rules: Vec<Vec<u8>>,
}

impl Responses {
    pub(super) fn new(prng: &mut Prng) -> Self {
        let mut rules = |count: usize, least, most| -> Vec<Vec<u8>> {
            (0..count).map(|_| rules_response(prng.between(least, most) as usize, prng)).collect()
        };
        let short_rules = rules(256, 300, 1100);
        let split = rules(512, 1500, 6000);
        let compressed = rules(128, 6000, 14_000);
        let long_rules = rules(256, 1600, 9000);
        // Larger blocks would not improve compression, and cost the reader memory.
        let compress =
            |rules: &Vec<u8>| split_compressed(0, Some(SPLIT_SIZE), Compression::fast(), rules);
        Self {
            info: (0..512).map(|_| info_response(prng)).collect(),
            players: (0..512).map(|_| player_response(prng)).collect(),
            short_rules,
            split_rules: split.iter().map(|rules| split_orange_box(0, rules)).collect(),
            compressed_rules: compressed.iter().map(compress).collect(),
            long_rules,
        }
    }

    /// One of the responses to A2S_INFO.
    pub(super) fn info(&self, prng: &mut Prng) -> &[u8] {
        prng.pick::<Vec<u8>>(&self.info)
    }

    /// A client sends several kinds of requests to a server.
    pub(super) fn converse(&self, stage: &mut Stage, time: u64) {
        let ends = [stage.client(), stage.server()];
        match stage.prng.below(100) {
            0..25 => drop(self.ask_info(stage, time, ends, false)),
            25..55 => drop(self.ask_info(stage, time, ends, true)),
            55..75 => drop(self.ask_players(stage, time, ends)),
            75..90 => self.ask_rules(stage, time, ends),
            _ => {
                let time = self.ask_info(stage, time, ends, true);
                let time = self.ask_players(stage, time, ends);
                self.ask_rules(stage, time, ends);
            }
        }
    }

    /// A client requests rules; the response is one datagram that must be fragmented.
    pub(super) fn converse_in_fragments(&self, stage: &mut Stage, time: u64) {
        let (client, server) = (stage.client(), stage.server());
        let arrives = time + stage.round_trip();
        let challenge = (stage.prng.next() as u32).to_le_bytes();
        stage.say(time, client, server, &with_challenge(0x56, challenge));
        let rules = stage.prng.pick(&self.long_rules);
        let mtu = *stage.prng.pick(&[1500, 1500, 1500, 1280, 576]);
        stage.say_in_fragments(arrives, [server, client], rules, mtu);
    }

    /// Returns the time at which the client continues.
    fn ask_info(
        &self,
        stage: &mut Stage,
        time: u64,
        [client, server]: [SocketAddrV4; 2],
        challenged: bool,
    ) -> u64 {
        stage.say(time, client, server, INFO_REQUEST);
        if stage.prng.per_mille(20) {
            return time + 1_000_000;
        }
        let round_trip = stage.round_trip();
        let mut time = time + round_trip;
        if challenged {
            let challenge = (stage.prng.next() as u32).to_le_bytes();
            stage.say(time, server, client, &with_challenge(0x41, challenge));
            time += 200;
            stage.say(time, client, server, &[INFO_REQUEST, &challenge].concat());
            time += round_trip;
        }
        let response = stage.prng.pick(&self.info);
        stage.say(time, server, client, response);
        if stage.prng.per_mille(10) {
            stage.say(time + 50, server, client, response);
        }
        time + 300
    }

    fn ask_players(&self, stage: &mut Stage, time: u64, ends: [SocketAddrV4; 2]) -> u64 {
        let Some(time) = ask_challenged(stage, time, ends, 0x55) else { return time + 1_000_000 };
        let response = stage.prng.pick(&self.players);
        stage.say(time, ends[1], ends[0], response);
        time + 300
    }

    fn ask_rules(&self, stage: &mut Stage, time: u64, ends: [SocketAddrV4; 2]) {
        let Some(time) = ask_challenged(stage, time, ends, 0x56) else { return };
        let kind = stage.prng.below(100);
        if kind < 10 {
            let response = stage.prng.pick(&self.short_rules);
            return stage.say(time, ends[1], ends[0], response);
        }
        let is_compressed = kind < 15;
        let responses = if is_compressed { &self.compressed_rules } else { &self.split_rules };
        let mut packets = stage.prng.pick(responses).clone();
        let id = stage.prng.next() as u32;
        let id = if is_compressed { id | 0x8000_0000 } else { id & 0x7FFF_FFFF };
        for packet in &mut packets {
            packet[4..8].copy_from_slice(&id.to_le_bytes());
        }
        if packets.len() > 1 && stage.prng.per_mille(15) {
            let first = stage.prng.below(packets.len() as u64 - 1) as usize;
            packets.swap(first, first + 1);
        }
        if stage.prng.per_mille(5) {
            packets.pop();
        }
        for (number, packet) in (0..).zip(&packets) {
            stage.say(time + number * 12, ends[1], ends[0], packet);
        }
    }
}

/// A request with a challenge.
pub(super) fn with_challenge(message: u8, challenge: [u8; 4]) -> Vec<u8> {
    Bytes::new().le32(0xFFFF_FFFF).u8(message).raw(&challenge).done()
}

/// Requests a challenge and sends the request with it; returns the time of the response, if there is one.
fn ask_challenged(
    stage: &mut Stage,
    time: u64,
    [client, server]: [SocketAddrV4; 2],
    request: u8,
) -> Option<u64> {
    stage.say(time, client, server, &with_challenge(request, [0xFF; 4]));
    if stage.prng.per_mille(20) {
        return None;
    }
    let round_trip = stage.round_trip();
    let challenge = (stage.prng.next() as u32).to_le_bytes();
    stage.say(time + round_trip, server, client, &with_challenge(0x41, challenge));
    let time = time + round_trip + 150;
    stage.say(time, client, server, &with_challenge(request, challenge));
    Some(time + round_trip)
}

/// A2S_INFO, "Response format".
fn info_response(prng: &mut Prng) -> Vec<u8> {
    let (folder, game, app) = *prng.pick(GAMES);
    let most = prng.between(8, 64);
    let players = prng.below(most);
    let bots = prng.below(players.min(3) + 1);
    let message = Bytes::new()
        .le32(0xFFFF_FFFF)
        .u8(0x49)
        .u8(17)
        .text(&words::name(prng.between(3, 8), prng))
        .text(words::map(prng))
        .text(folder)
        .text(game)
        .le16(app)
        .raw(&[players as u8, most as u8, bots as u8])
        .raw(&[b'd', *prng.pick(b"lw"), 0, 1]);
    // Mode, witnesses and duration of The Ship.
    let message = if app == 2400 { message.raw(&[1, 3, 3]) } else { message };
    let has_tags = prng.per_mille(900);
    let message = message
        .text("1.0.0.70")
        .u8(if has_tags { 0xB1 } else { 0x91 })
        .le16(27015)
        .le64(0x0110_0001_0000_0000 + prng.below(1 << 32));
    let tags = "alltalk,cp,increased_maxplayers,nocrits,norespawntime,payload";
    let message = if has_tags { message.text(tags) } else { message };
    message.le64(u64::from(app)).done()
}

/// A2S_PLAYER, "Response format".
fn player_response(prng: &mut Prng) -> Vec<u8> {
    let mut message = Bytes::new().le32(0xFFFF_FFFF).u8(0x44).u8(0).done();
    for index in 0..prng.below(33) as u8 {
        let entry = Bytes::new()
            .u8(index)
            .text(&words::name(prng.between(1, 3), prng))
            .le32(prng.below(120) as u32)
            .f32(prng.below(7_200_000) as f32 / 1000.0)
            .done();
        if message.len() + entry.len() > PLAYERS_SIZE {
            break;
        }
        message.extend_from_slice(&entry);
        message[5] = index + 1;
    }
    message
}

/// A2S_RULES, "Response format", of about this size.
fn rules_response(size: usize, prng: &mut Prng) -> Vec<u8> {
    let mut message = Bytes::new().le32(0xFFFF_FFFF).u8(0x45).le16(0).done();
    for number in 0.. {
        if message.len() >= size {
            break;
        }
        let rule = Bytes::new().text(&words::variable(number)).text(&words::setting(prng));
        message.extend_from_slice(&rule.done());
        message[5..7].copy_from_slice(&(number as u16 + 1).to_le_bytes());
    }
    message
}
