//! Variants of the protocol in other games, in recorded bytes.

use crate::kit::*;

use super::{GameSpy4, Stage, packet};

const MINECRAFT: &str = "10.0.0.2:25565";

/// mcstatus and CraftBukkit 1.8: masked session id, challenge not padded, zeros for a tail.
#[test]
fn minecraft_full() {
    let mut stage = Stage::between(super::CLIENT, MINECRAFT);
    stage.client(0, b"\xFE\xFD\x09\x0E\x1C\x02\x03");
    stage.server(10, b"\x09\x0E\x0C\x02\x039513307\0");
    stage.client(20, b"\xFE\xFD\x00\x0E\x1C\x02\x03\x00\x91\x29\x5B\0\0\0\0");
    let outcome = stage
        .server(
            30,
            b"\0\x0E\x0C\x02\x03splitnum\0\x80\0hostname\0\xA73TRIBES\0gametype\0SMP\0\
              game_id\0MINECRAFT\0version\x001.8\0plugins\0\0map\0world\0numplayers\x002\0\
              maxplayers\x0075\0hostport\x0025565\0hostip\x00173.236.91.122\0\0\x01player_\0\0\
              SlappMeDo\0wease\0\0",
        )
        .ends(40);
    assert!(outcome.failed().is_empty());
    assert_eq!(outcome.found(Verdict::Note), ["GS4004", "GS4009", "GS4004"]);
    assert_eq!(outcome.found(Verdict::Fail), ["GS4006"], "and no note about the port");
    let reported = &outcome.reported[3];
    assert!(reported.fields.contains("plugins= map=world numplayers=2"));
    assert!(reported.fields.ends_with("players[player{player_=SlappMeDo} player{player_=wease}]"));
    assert!(reported.meanings.iter().any(|meaning| meaning == "Minecraft, full"));
}

#[test]
fn minecraft_basic() {
    let mut stage = Stage::between(super::CLIENT, MINECRAFT);
    stage.client(0, b"\xFE\xFD\x09\0\0\0\x01").server(10, b"\x09\0\0\0\x019513307\0");
    stage.client(20, b"\xFE\xFD\x00\0\0\0\x01\x00\x91\x29\x5B");
    let outcome = stage
        .server(30, b"\0\0\0\0\x01A Minecraft Server\0SMP\0world\x002\x0020\0\xDD\x63127.0.0.1\0")
        .ends(40);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(
        outcome.reported[3].fields,
        "timestamp=1 properties{hostname=A Minecraft Server gametype=SMP map=world numplayers=2 \
         maxplayers=20 hostport=25565 hostip=127.0.0.1}"
    );
    for reported in &outcome.reported[2..] {
        assert!(reported.meanings.iter().any(|meaning| meaning == "Minecraft, basic"));
    }
}

/// Paper 1.17 sent too many zeros around the players.
#[test]
fn zeros_round_the_sections_are_skipped() {
    let content = b"hostname\0a\0game_id\0MINECRAFT\0\0\0\x01player_\0\0Ann\0\0\0\0\0";
    let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
    assert!(outcome.failed().is_empty());
    assert_eq!(outcome.found(Verdict::Note), ["GS4023"]);
    assert!(outcome.reported[3].fields.contains("player{player_=Ann}"));
}

/// The SDK sends a section's byte and its end if a game has no variables of players or teams.
#[test]
fn sections_without_a_column() {
    for (sections, fields) in [
        (&b"\x01\0\x02\0"[..], ""),
        (b"\x01player_\0\0Ann\0\0\0\x02\0", " players[player{player_=Ann}]"),
        (b"\x01\0\x02team_t\0\0Red\0\0\0", " teams[team{team_t=Red}]"),
    ] {
        let content = [b"hostport\x007777\0\0", sections].concat();
        let outcome = Stage::default().asks().server(50, &packet(0x80, 0, &content)).ends(60);
        assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
        let reported = &outcome.reported[3].fields;
        assert!(reported.ends_with(&format!("properties{{hostport=7777}}{fields}")), "{reported}");
    }
}

/// UT3 with one player and two bots, which have no names: columns of three values each.
#[test]
fn empty_values_are_reported_from_the_end_of_a_column() {
    let content = b"hostport\x007777\0\0\x01player_\0\0Sierra Vasquez\0\0\0\0score_\0\x000\0\0\0\0\
        team_\0\0\0\0\0\0deaths_\0\x001\0\0\0\0pid_\0\x00289\0\0\0\0\0";
    let mut stage = Stage::default();
    stage.asks().server(50, &packet(0x00, 0, content));
    let outcome = stage.server(51, &packet(0x81, 2, b"team_t\0\0\0score_t\0\0\0\0")).ends(60);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    let bot = "player{player_= score_= team_= deaths_= pid_=}";
    assert!(outcome.reported[3].fields.ends_with(&format!(
        "players[player{{player_=Sierra Vasquez score_=0 team_= deaths_=1 pid_=289}} {bot} {bot}] teams[]"
    )));
}

/// Battlefield 2: a name is cut at the end of packet 0, a number to nothing at the end of packet 1.
#[test]
fn battlefield_2() {
    let mut stage = Stage::between(super::CLIENT, "10.0.0.2:29900");
    stage.client(0, b"\xFE\xFD\x00\x10\x20\x30\x41\xFF\xFF\xFF");
    stage.server(10, &packet(0x00, 0, b"gamename\0battlefield2\0\0\x01player_\0\0aahnz\0 hekut\0"));
    stage.server(
        11,
        &packet(
            0x01,
            1,
            b"player_\0\x01 hekutooo\0 Bl4ck^Sun\0\0pid_\0\x0063902872\x00479665451\0\0",
        ),
    );
    let last = packet(
        0x82,
        1,
        b"pid_\0\x021293319\0\0AIBot_\0\x000\x000\x000\0\0\0\x02team_t\0\0MEC\0US\0\0\0",
    );
    let outcome = stage.server(12, &last).ends(60);
    assert_eq!(outcome.failed(), ["GS4009"]);
    assert_eq!(
        outcome.reported.last().unwrap().fields,
        "timestamp=270544961 properties{gamename=battlefield2} \
         players[player{player_=aahnz pid_=63902872 AIBot_=0} \
         player{player_= hekutooo pid_=479665451 AIBot_=0} \
         player{player_= Bl4ck^Sun pid_=1293319 AIBot_=0}] teams[team{team_t=MEC} team{team_t=US}]"
    );
}

/// The GameSpy SDK: the challenge is 0, and then left out.
#[test]
fn gamespy_sdk() {
    let mut stage = Stage::between(super::CLIENT, "10.0.0.2:11111");
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").server(10, b"\x09\x10\x20\x30\x400\0");
    stage.client(20, b"\xFE\xFD\x00\x10\x20\x30\x41\xFF\xFF\xFF\x01");
    let outcome =
        stage.server(30, &packet(0x80, 0, b"gamever\x002.00\0gamemode\0exiting\0\0")).ends(40);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(outcome.found(Verdict::Note), ["GS4007"]);
    assert_eq!(outcome.reported[2].fields, "timestamp=270544961");
    assert!(
        outcome.reported[2].meanings.iter().any(|meaning| meaning == "GameSpy QR2, no challenge")
    );
}

/// After a challenge, any of the sections may be requested.
#[test]
fn sections_that_are_asked_for_alone() {
    let closed_by = |tail: &[u8]| {
        let mut stage = Stage::default();
        stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").server(20, b"\x09\x10\x20\x30\x407\0");
        let request = [b"\xFE\xFD\0\x10\x20\x30\x41\0\0\0\x07", tail].concat();
        let outcome = stage.client(30, &request).ends(40);
        (outcome.failed(), outcome.found(Verdict::Note))
    };
    for tail in [&b""[..], b"\0\0\0\0", b"\xFF\0\0", b"\0\xFF\xFF"] {
        assert_eq!(closed_by(tail), (vec![], vec!["GS4009".to_owned()]), "{tail:02X?}");
    }
    for tail in [
        &b"\xFF\xFF\xFF\x02"[..],
        b"\xFF\xFF\xFF",
        b"\xFF\0\x01",
        b"\xFF\0\0\x01",
        b"\0\0\0\x01",
        b"\xFF\xFF\xFF\0",
    ] {
        assert_eq!(closed_by(tail), (vec!["GS4009".to_owned()], vec![]), "{tail:02X?}");
    }
}

#[test]
fn gamespy_sdk_in_one_packet_without_a_header() {
    let mut stage = Stage::between(super::CLIENT, "10.0.0.2:11111");
    stage.client(0, b"\xFE\xFD\x00\x10\x20\x30\x41\xFF\xFF\xFF");
    let response = b"\0\x10\x20\x30\x41hostname\0a\0mapname\0b\0\0\0\x02player_\0score_\0\0Ann\x003\0Bob\x004\0\
        \0\x01team_t\0\0Red\0";
    let outcome = stage.server(10, response).ends(40);
    assert_eq!(outcome.failed(), ["GS4009"]);
    assert_eq!(
        outcome.reported[1].fields,
        "timestamp=270544961 properties{hostname=a mapname=b} \
         players[player{player_=Ann score_=3} player{player_=Bob score_=4}] teams[team{team_t=Red}]"
    );
}

#[test]
fn just_cause_2_multiplayer() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").server(10, b"\x09\x10\x20\x30\x407\0");
    stage.client(20, b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x02");
    let response = packet(0x05, 0, b"hostname\0a\0\0\0\x01Ann\0STEAM_0:0:1\0\0\x2A");
    let outcome = stage.server(30, &response).ends(40);
    assert_eq!(outcome.failed(), ["GS4009"]);
    assert!(
        outcome.reported[3]
            .fields
            .ends_with("players[player{name=Ann steam_id=STEAM_0:0:1 ping=42}]")
    );
}

#[test]
fn traffic_that_is_identified_by_content() {
    let claim = |bytes: &[u8]| GameSpy4::claim(bytes, Hint::default());
    for bytes in [
        &b"\xFE\xFD\x09\x10\x20\x30\x40"[..],
        b"\xFE\xFD\x09\x10\x20\x30\x40\0\0\0\0",
        b"\xFE\xFD\x00\x10\x20\x30\x40\x00\x91\x29\x5B\xFF\xFF\xFF\x01",
        b"\xFE\xFD\x00\x10\x20\x30\x40\x00\x91\x29\x5B\0\0\0\0",
        b"\xFE\xFD\x00\x10\x20\x30\x40\xFF\xFF\xFF\x01",
        b"\x09\x10\x20\x30\x409513307\0",
        b"\x09\x10\x20\x30\x409513307\0\0\0\0\0",
        b"\0\x10\x20\x30\x40splitnum\0\x80\0",
    ] {
        assert_eq!(claim(bytes), Claim::Sure, "{bytes:02X?}");
    }
    for bytes in [
        &b"\xFE\xFD\x09\0\0\0\0"[..], // a master server is up
        b"\xFE\xFD\x09\0\0\0\0\0\0\0\0",
        b"\xFE\xFD\x09\0\0\0\0\0\0\0\x01",
        b"\x09\x10\x20\x30\x407\0",
        b"\xFE\xFD\x09\x10\x20\x30\x40\x01",
    ] {
        assert_eq!(claim(bytes), Claim::Weak, "{bytes:02X?}");
    }
    for bytes in [
        &b""[..],
        b"\xFE\xFD",
        b"\xFE\xFD\x01\x10\x20\x30\x40secret", // a master server's challenge
        b"\xFE\xFD\x0A\x10\x20\x30\x40",
        b"\xFE\xFD\x02\x10\x20\x30\x40",
        b"\xFE\xFD\x00\x10\x20\x30\x40\xFF\xFF\xFF", // GameSpy 2
        b"\xFE\xFD\x04\x10\x20\x30\x40",
        b"\x03\x10\x20\x30\x40localip0\x0010.0.0.2\0",
        b"\x16\xFE\xFD\0\0\0\0\0\0\0\0\0\0", // DTLS
        b"\0\x10\x20\x30\x40hostname\0a\0\0",
        b"\x09\x10\x20\x30\x40abc\0",
        b"\x09\0\0\0\0gamename\0", // a master server is asked whether it is up
        b"\x09\x10\x20\x30\x409513307",
    ] {
        assert_eq!(claim(bytes), Claim::No, "{bytes:02X?}");
    }
}

/// The timestamp can be any value, and the port can be configured.
#[test]
fn a_challenge_request_with_timestamp_0_differs_from_a_master_s_response() {
    let expects = |from: &str, bytes: &[u8]| {
        let ends = [from, "10.0.0.2:12345"].map(|end| end.parse().unwrap());
        let payload = Payload { frame: 1, flow: 1, ..Payload::of(bytes, ends) };
        GameSpy4::expects(&mut crate::gamespy4::SharedState::default(), &payload)
    };
    assert!(expects(super::CLIENT, b"\xFE\xFD\x09\0\0\0\0"));
    assert!(expects(super::CLIENT, b"\xFE\xFD\x09\0\0\0\0\0\0\0\0"));
    for flags in [&b""[..], b"\0\0\0\0", b"\0\0\0\x01"] {
        let response = [b"\xFE\xFD\x09\0\0\0\0", flags].concat();
        assert!(!expects("10.0.0.1:27900", &response), "the master is up");
    }
    for bytes in
        [&b"\xFE\xFD\x09\0\0\0"[..], b"\xFE\xFD\x09\0\0\0\x01", b"\xFE\xFD\x09\0\0\0\0\x01", b""]
    {
        assert!(!expects(super::CLIENT, bytes), "{bytes:02X?}");
    }
}

/// The SDK's masters send servers the others, on the same port.
#[test]
fn requests_of_other_types_are_faults_unless_a_master_sends_such() {
    let to_server = Hint { to_port: true, ..Hint::default() };
    for kind in 1..=0xFF_u8 {
        let of_master = [0x01, 0x02, 0x04, 0x06, 0x08, 0x0A].contains(&kind);
        let claim = GameSpy4::claim(&[0xFE, 0xFD, kind, 0x10, 0x20, 0x30], to_server);
        assert_eq!(claim == Claim::Weak, !of_master, "{kind:02X}");
    }
}

/// A server that is queried on its game port.
#[test]
fn game_traffic_on_the_same_flow_is_not_checked() {
    let mut stage = Stage::default();
    stage.asks().server(50, &packet(0x80, 0, b"hostport\x007777\0\0"));
    stage.client(60, b"\x01\x11\x22\x33\x44\x55\x66\x77\x88");
    let outcome = stage.server(70, b"\0\x11\x22\x33\x44\x55\x66").ends(80);
    assert_eq!(outcome.names()[4..], ["unknown", "unknown"]);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
}

#[test]
fn a_flow_with_few_messages_is_small() {
    assert!(size_of::<super::Conversation>() <= 40, "{}", size_of::<super::Conversation>());
}

/// A zero in the name of a Minecraft server begins other variables, or players.
#[test]
fn variables_and_columns_that_a_name_brings_in() {
    for (content, codes) in [
        (
            &b"hostname\0Evil\0hostport\x0099999\0x\0gametype\0SMP\0hostport\x0025565\0\0"[..],
            &["GS4023", "GS4038"][..],
        ),
        // What is no known name may be the value of another.
        (b"gametype\0x\0y\0hostname\0m\0x\x001\0x\x002\0\0", &["GS4023"]),
        (
            b"hostname\0Evil\0\0\0\x01player_\0\0Fake\0\0\0\x01player_\0\0Ann\0\0score_\0\x003\0\0\0",
            &["GS4038"],
        ),
        (
            b"hostname\0Evil\0\0\0\x01player_\0\0Fake\0\0gametype\0SMP\0\0\x01player_\0\0Ann\0\0\0",
            &["GS4038"],
        ),
    ] {
        let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
        let text = String::from_utf8_lossy(content);
        assert_eq!(outcome.found(Verdict::Fail), codes, "{text}");
    }
    // Where packets are missing, those of two responses may be joined.
    let mut stage = Stage::default();
    stage.asks().server(50, &packet(0x00, 0, b"hostname\0A\0\0\x01player_\0\0Ann\0\0\0"));
    let outcome = stage.server(51, &packet(0x81, 1, b"player_\0\0Ann\0Bob\0\0\0")).ends(60);
    assert!(!outcome.found(Verdict::Fail).contains(&"GS4038".to_owned()));
    // The rest of a column, and a column of teams.
    let content = b"hostname\0a\0gamename\0b\0\0\x01player_\0\0Ann\0\0player_\0\x01Bob\0\0\0\x02player_\0\0Red\0\0\0";
    let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
    assert_eq!(outcome.found(Verdict::Fail), [""; 0]);
}
