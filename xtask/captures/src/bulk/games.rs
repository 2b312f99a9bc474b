//! Traffic of Valve's master and GameSpy's protocols.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::bulk::a2s;
use crate::bulk::stage::Stage;
use crate::bulk::words;
use crate::bytes::Bytes;
use crate::wire::Prng;

const VALVE_MASTER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(208, 64, 200, 117), 27011);
const GAMESPY_MASTER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(92, 58, 17, 34), 27900);

/// Addresses that Valve's master puts into one packet.
const PAGE: u64 = 231;

/// Responses of servers, for reuse.
#[derive(Debug)]
pub(super) struct Responses {
    a2s: a2s::Responses,
    status: Vec<Vec<u8>>,
    properties: Vec<Vec<u8>>,
}

impl Responses {
    pub(super) fn new(prng: &mut Prng) -> Self {
        Self {
            a2s: a2s::Responses::new(prng),
            status: (0..256).map(|_| status_response(prng)).collect(),
            properties: (0..256).map(|_| properties_response(prng)).collect(),
        }
    }

    /// A conversation of one of the protocols.
    pub(super) fn converse(&self, stage: &mut Stage, time: u64) {
        match stage.prng.below(10) {
            0..6 => self.a2s.converse(stage, time),
            6 if stage.prng.per_mille(400) => join(stage, time),
            6 => list_servers(stage, time),
            7 | 8 if stage.prng.per_mille(300) => heartbeat(stage, time),
            7 | 8 => {
                let (client, server) = (stage.client(), stage.server_on(7778));
                stage.say(time, client, server, br"\status\");
                let response = stage.prng.pick(&self.status);
                stage.say(time + 50_000, server, client, response);
            }
            _ => self.ask_properties(stage, time),
        }
    }

    /// "UT3 query protocol": a challenge as a signed decimal number, which the request has as an integer.
    fn ask_properties(&self, stage: &mut Stage, time: u64) {
        let (client, server) = (stage.client(), stage.server_on(6500));
        stage.say(time, client, server, b"\xFE\xFD\x09\x01\x02\x03\x04");
        let challenge = stage.prng.next() as i32;
        let mut response = Bytes::new().raw(b"\x09\x01\x02\x03\x04").text(&challenge.to_string());
        while response.clone().done().len() < 17 {
            response = response.u8(0);
        }
        stage.say(time + 50_000, server, client, &response.done());
        let question = Bytes::new()
            .raw(b"\xFE\xFD\x00\x01\x02\x03\x04")
            .be32(challenge as u32)
            .raw(&[0xFF, 0xFF, 0xFF, 0x01]);
        stage.say(time + 50_300, client, server, &question.done());
        let response = stage.prng.pick(&self.properties);
        stage.say(time + 100_000, server, client, response);
    }
}

/// "Master Server Query Protocol": a server joins.
fn join(stage: &mut Stage, time: u64) {
    let server = stage.server();
    stage.say(time, server, VALVE_MASTER, b"q");
    let challenge = stage.prng.next() as u32 >> 1;
    let response = Bytes::new().raw(b"\xFF\xFF\xFF\xFFs\n").le32(challenge).done();
    stage.say(time + 40_000, VALVE_MASTER, server, &response);
    let (players, map) = (stage.prng.below(32), words::map(&mut stage.prng));
    let info = format!(
        "0\n\\protocol\\7\\challenge\\{challenge}\\players\\{players}\\max\\32\\bots\\0\\gamedir\\tf\
         \\map\\{map}\\password\\0\\os\\l\\lan\\0\\region\\255\\gametype\\arena\\type\\d\\secure\\1\
         \\version\\1.0.4.3\\product\\tf\n"
    );
    stage.say(time + 40_300, server, VALVE_MASTER, info.as_bytes());
}

/// "Master Server Query Protocol": a client pages through the list, requesting each page with the last
/// address of the previous one.
fn list_servers(stage: &mut Stage, mut time: u64) {
    let client = stage.client();
    let mut last = "0.0.0.0:0".to_owned();
    let pages = stage.prng.between(1, 6);
    for page in 1..=pages {
        let query = Bytes::new().raw(b"1\xFF").text(&last).text("\\gamedir\\tf\\secure\\1");
        stage.say(time, client, VALVE_MASTER, &query.done());
        time += 60_000;
        let mut response = Bytes::new().raw(b"\xFF\xFF\xFF\xFFf\n");
        let count = if page == pages { stage.prng.between(1, 200) } else { PAGE };
        for _ in 0..count {
            let server = stage.server();
            response = response.raw(&server.ip().octets()).be16(server.port());
            last = server.to_string();
        }
        let response = if page == pages { response.raw(&[0; 6]) } else { response };
        stage.say(time, VALVE_MASTER, client, &response.done());
        time += 400;
    }
}

/// "333networks MasterServer": a server is challenged and responds with its code.
fn heartbeat(stage: &mut Stage, time: u64) {
    let server = stage.server_on(7778);
    stage.say(time, server, GAMESPY_MASTER, br"\heartbeat\7778\gamename\ut\");
    stage.say(time + 30_000, GAMESPY_MASTER, server, br"\basic\\secure\l8jfVy");
    let proof = br"\heartbeat\7778\gamename\ut\validate\SAaJHX96\final\";
    stage.say(time + 30_500, server, GAMESPY_MASTER, proof);
}

/// The response of an Unreal Tournament server to `\status\`.
fn status_response(prng: &mut Prng) -> Vec<u8> {
    let (host, players) = (words::name(prng.between(2, 6), prng), prng.below(10));
    let map = words::map(prng);
    let mut text =
        format!(r"\gamename\ut\gamever\451\minnetver\432\location\0\hostname\{host}\hostport\7777");
    text += &format!(
        r"\maptitle\{map}\mapname\{map}\gametype\DeathMatchPlus\numplayers\{players}\maxplayers\16\gamemode\openplaying"
    );
    for index in 0..players {
        let (name, team) = (words::name(1, prng), prng.below(4));
        let (frags, ping) = (prng.below(60), prng.below(300));
        text += &format!(
            r"\player_{index}\{name}\frags_{index}\{frags}\ping_{index}\ {ping}\team_{index}\{team}\mesh_{index}\Male Soldier"
        );
    }
    text += r"\queryid\42.1\final\";
    text.into_bytes()
}

/// The properties of a UT3 server, and the names of its players.
fn properties_response(prng: &mut Prng) -> Vec<u8> {
    let players = prng.below(20);
    let count = players.to_string();
    let properties = [
        ("hostname", "Multiplay#83"),
        ("hostport", "7777"),
        ("numplayers", &count),
        ("maxplayers", "24"),
        ("gamemode", "openplaying"),
        ("mapname", words::map(prng)),
        ("OwningPlayerId", "113350319"),
        ("NumPublicConnections", "24"),
        ("bUsesStats", "True"),
        ("bIsDedicated", "True"),
        ("OwningPlayerName", "Multiplay#83"),
        ("AverageSkillRating", "1000.000000"),
        ("EngineVersion", "3543"),
        ("MinNetVersion", "3467"),
        ("s32779", "3"),
        ("s0", "2"),
        ("s1", "0"),
        ("s6", "1"),
        ("p1073741825", "DM-SHANGRILA"),
        ("p1073741826", "UTGame.UTDeathmatch"),
        ("p1073741827", "Deathmatch (24 Player)"),
        ("p268435705", "15"),
        ("p268435703", "5"),
        ("p268435717", "0"),
    ];
    let mut message = Bytes::new().raw(b"\x00\x01\x02\x03\x04").text("splitnum").u8(0x80).u8(0);
    for (key, value) in properties {
        message = message.text(key).text(value);
    }
    message = message.u8(0).u8(1).text("player_").u8(0);
    for _ in 0..players {
        message = message.text(&words::name(1, prng));
    }
    message.u8(0).u8(0).done()
}
