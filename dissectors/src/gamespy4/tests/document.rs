//! The specification's four packets and its table.

use crate::gamespy4::{GameSpy4, rules};
use crate::kit::*;

use super::{Stage, packet};

/// The table's example values, in its order; the hostname and the map name as the specification
/// requires.
const TABLE: &[u8] = b"hostname\0ut3.example\0hostport\x008277\0numplayers\x004\0maxplayers\x0024\0\
    gamemode\0openplaying\0mapname\0DM-SHANGRILA\0OwningPlayerId\x00113350319\0\
    NumPublicConnections\x0024\0bUsesStats\0True\0bIsDedicated\0True\0\
    OwningPlayerName\0Multiplay#83\0AverageSkillRating\x001000.000000\0EngineVersion\x003543\0\
    MinNetVersion\x003467\0s32779\x003\0s0\x002\0s1\x000\0s6\x000\0s7\x000\0s8\x000\0s9\x000\0s10\x000\0s11\x000\0\
    s12\x000\0s13\x000\0s14\x000\0p1073741825\0DM-SHANGRILA\0p1073741826\0UTGame.UTDeathmatch\0\
    p1073741827\0Deathmatch (24 Player)\0p1073741828\0BattleRPG\x1cServer Advertisements\0\
    p268435704\x000\0p268435705\x0015\0p268435703\x005\0p268435717\x0017\0\0";

#[test]
fn the_four_packets() {
    let outcome = Stage::default().asks().server(50, &packet(0x80, 0, TABLE)).ends(60);
    let names = ["challenge_request", "challenge_response", "info_request", "info_response"];
    assert_eq!(outcome.names(), names);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    let fields: Vec<_> = outcome.reported.iter().map(|reported| reported.fields.as_str()).collect();
    assert_eq!(fields[0], "timestamp=270544960");
    assert_eq!(fields[1], "timestamp=270544960 challenge=7");
    assert_eq!(fields[2], "timestamp=270544961 challenge=7");
    assert!(
        fields[3].starts_with("timestamp=270544961 properties{hostname=ut3.example hostport=8277")
    );
    assert!(fields[3].ends_with("p268435717=17}"));
}

#[test]
fn the_table_explains_the_values() {
    let outcome = Stage::default().asks().server(50, &packet(0x80, 0, TABLE)).ends(60);
    let meanings = &outcome.reported[3].meanings;
    for meaning in [
        "game mode: VCTF",
        "bot skill level: Average",
        "pure server: no, tainted with mutators",
        "players against bots: disabled",
        "custom mutators, since patch 1: BattleRPG, Server Advertisements",
        "stock mutators: BigHead, LowGrav",
        "UT3",
    ] {
        assert!(meanings.iter().any(|other| other == meaning), "{meaning} in {meanings:?}");
    }
}

#[test]
fn a_negative_challenge_is_sent_back_in_binary() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
    stage.server(20, b"\x09\x10\x20\x30\x40-1234567890\0");
    stage.client(30, b"\xFE\xFD\x00\x10\x20\x30\x41\xB6\x69\xFD\x2E\xFF\xFF\xFF\x01");
    let outcome = stage.server(50, &packet(0x80, 0, TABLE)).ends(60);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(outcome.reported[2].fields, "timestamp=270544961 challenge=-1234567890");
}

#[test]
fn a_challenge_that_is_not_a_number_is_shown_without_further_checks() {
    for (challenge, shown) in [
        (&b"12x\0"[..], "challenge=12x"),
        (b"99999999999\0", "challenge=99999999999"),
        (b"123456789012", "challenge=123456789012"),
        (b"\0", "challenge="),
        (b"-\0", "challenge=-"),
        (b"+5\0", "challenge=+5"),
    ] {
        let mut stage = Stage::default();
        stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
        let outcome = stage.server(20, &[b"\x09\x10\x20\x30\x40", challenge].concat()).ends(30);
        assert_eq!(outcome.failed(), ["GS4005"]);
        assert!(outcome.reported[1].fields.ends_with(shown), "{}", outcome.reported[1].fields);
    }
}

#[test]
fn a_response_may_end_before_its_challenge() {
    for timestamp in [&b"\x10\x20\x30\x40"[..], b"\x10\x20"] {
        let mut stage = Stage::default();
        stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
        let outcome = stage.server(20, &[b"\x09", timestamp].concat()).ends(30);
        assert_eq!(outcome.details()[0], "the answer ends before the challenge");
    }
}

/// Both with the maximum number of pending requests and with more; and one timestamp is another's,
/// masked.
#[test]
fn requests_that_are_dropped_early_break_no_rule() {
    let mut stage = Stage::default();
    for timestamp in 0..30 {
        stage.client(0, &[0xFE, 0xFD, 0x09, 0, 0, 0, timestamp]);
    }
    for timestamp in 0..30 {
        stage.server(100, &[b"\x09\0\0\0", &[timestamp][..], b"123456\0"].concat());
    }
    let outcome = stage.ends(9000);
    assert_eq!(outcome.failed(), [""; 0]);
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4030"; 14]);
    assert_eq!(outcome.results.counts(&rules::GS4031), Counts { passed: 16, ..Counts::default() });
    assert_eq!(outcome.results.counts(&rules::GS4004), Counts { passed: 16, ..Counts::default() });
}

#[test]
fn a_timestamp_that_is_another_s_masked_is_taken_as_it_is() {
    let mut stage = Stage::default();
    for timestamp in [0x01, 0x11] {
        stage.client(0, &[0xFE, 0xFD, 0x09, 0, 0, 0, timestamp]);
    }
    for timestamp in [0x01, 0x11] {
        stage.server(100, &[b"\x09\0\0\0", &[timestamp][..], b"123456\0"].concat());
    }
    let outcome = stage.ends(9000);
    assert!(
        outcome.details().iter().all(|detail| !detail.contains("masks")),
        "{:?}",
        outcome.details()
    );
}

#[test]
fn a_request_after_a_late_start_proves_nothing_about_challenges() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01");
    let outcome = stage.server(10, &packet(0x80, 0, TABLE)).ends(60);
    assert!(outcome.failed().is_empty());
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4008", "GS4007", "GS4010"]);
}

/// That no challenge was given is proven once the server's direction is seen to be recorded, even
/// later.
#[test]
fn a_request_before_any_challenge() {
    let early = |stage: &mut Stage| {
        stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
        stage.client(100, b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01");
    };
    let challenge = b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    for response in [challenge, packet(0x80, 0, TABLE), packet(0x00, 0, TABLE), b"game".to_vec()] {
        let mut stage = Stage::default();
        early(&mut stage);
        stage.server(300, &response);
        assert_eq!(stage.lab.sink.results.findings[0].rule.code.to_string(), "GS4008");
        let outcome = stage.ends(400);
        // Data proves that the challenge was given, though it is not in the capture.
        let is_data = response.first() == Some(&0);
        assert_eq!(outcome.failed(), if is_data { &[][..] } else { &["GS4008"] });
        let finding = &outcome.results.findings[0];
        assert_eq!(finding.mark.map(|mark| (mark.frame, mark.length)), Some((2, 15)));
    }

    // The recording may have the request slightly too early.
    for (number, time, failed) in [(b"7\0", 104, 0), (b"7\0", 106, 1), (b"8\0", 104, 1)] {
        let mut stage = Stage::default();
        early(&mut stage);
        let challenge = [b"\x09\x10\x20\x30\x40", &number[..]].concat();
        let outcome = stage.server(time, &challenge).ends(400);
        assert_eq!(outcome.failed().len(), failed, "{:?}", outcome.results.findings);
        assert_eq!(outcome.results.counts(super::super::rules::ALL[7]).passed, 1 - failed as u64);
    }

    let mut stage = Stage::default();
    early(&mut stage);
    let outcome = stage.ends(9000);
    assert!(outcome.failed().is_empty(), "only the client's direction may have been recorded");
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4008", "GS4031"]);

    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
    for timestamp in 0..100 {
        let request = [b"\xFE\xFD\x00\0\0\0", &[timestamp][..], b"\0\0\0\x07\xFF\xFF\xFF\x01"];
        stage.client(100, &request.concat());
    }
    let outcome = stage.server(300, b"game").ends(400);
    let checked = outcome.results.counts(super::super::rules::ALL[7]);
    assert_eq!((checked.failed, checked.inconclusive), (16, 84), "what waits is bounded");
}

#[test]
fn repeated_requests_are_one_request_and_each_may_be_answered() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").client(1000, b"\xFE\xFD\x09\x10\x20\x30\x40");
    stage.server(1010, b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0");
    let outcome = stage.server(1011, b"\x09\x10\x20\x30\x408\0\0\0\0\0\0\0\0\0\0\0").ends(9000);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);

    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").client(1000, b"\xFE\xFD\x09\x10\x20\x30\x40");
    let outcome = stage.server(1010, b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0").ends(9000);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
}

#[test]
fn no_response_is_due_to_a_wrong_challenge() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").server(20, b"\x09\x10\x20\x30\x407\0");
    stage.client(30, b"\xFE\xFD\x00\x10\x20\x30\x41\x07\0\0\0\xFF\xFF\xFF\x01");
    let outcome = stage.ends(10_000);
    assert_eq!(outcome.failed(), ["GS4007"]);
    assert!(outcome.details().iter().any(|detail| detail.contains("its bytes are swapped")));
    let kept = outcome.results.counts(super::super::rules::ALL[9]);
    assert_eq!((kept.passed, kept.failed), (1, 0), "challenge-verified is kept");
}

/// Eight challenges are stored: an older one may have been given.
#[test]
fn a_challenge_before_those_that_are_remembered_proves_nothing() {
    for (given, challenge, failed, open) in [
        (8, 1, &[][..], &[][..]),
        (8, 99, &["GS4007", "GS4010"], &[]),
        (9, 2, &[], &[]),
        (9, 1, &[], &["GS4007"]),
    ] {
        let mut stage = Stage::default();
        for number in 1..=given {
            stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
            let challenge = format!("\x09\x10\x20\x30\x40{number}\0\0\0\0\0\0\0\0\0\0\0");
            stage.server(20, challenge.as_bytes());
        }
        let asked = [b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0", &[challenge][..]].concat();
        stage.client(30, &[&asked[..], b"\xFF\xFF\xFF\x01"].concat());
        let outcome = stage.server(50, &packet(0x80, 0, TABLE)).ends(60);
        assert_eq!(outcome.failed(), failed, "{challenge} of {given}");
        assert_eq!(outcome.found(Verdict::Inconclusive), open, "{challenge} of {given}");
    }
}

#[test]
fn a_missing_response_is_a_fault_only_after_the_timeout() {
    let outcome = Stage::default().asks().ends(2_000);
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4031"]);
    let outcome = Stage::default().asks().ends(4_000);
    assert_eq!(outcome.failed(), ["GS4031"]);
    let mut stage = Stage::default();
    let outcome = stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").ends(10_000);
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4031"], "nothing of the server is there");
}

#[test]
fn a_copy_of_a_response_is_a_note() {
    let response = packet(0x80, 0, TABLE);
    let outcome = Stage::default().asks().server(50, &response).server(51, &response).ends(60);
    assert!(outcome.failed().is_empty());
    assert_eq!(outcome.found(Verdict::Note), ["GS4021"]);
}

#[test]
fn a_copy_of_any_recent_response_is_a_note() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
    stage.server(20, b"\x09\x10\x20\x30\x407\0").server(21, b"\x09\x10\x20\x30\x407\0");
    let again = b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01";
    stage.client(30, again).client(31, again);
    let responses = [b"numplayers\x001\0\0", b"numplayers\x002\0\0"];
    let [first, second] = responses.map(|content| packet(0x80, 0, content));
    stage.server(50, &first).server(51, &second).server(52, &first).server(53, &second);
    let outcome = stage.server(54, b"\x09\x10\x20\x30\x407\0").ends(60);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
    let notes = outcome.found(Verdict::Note);
    assert_eq!(notes, ["GS4030", "GS4021", "GS4021", "GS4030"]);
}

#[test]
fn unsolicited_responses_are_not_copies() {
    let mut stage = Stage::default();
    stage.asks().server(40, b"\x09\x10\x20\x30\x408\0").server(41, b"\x09\x10\x20\x30\x408\0");
    assert_eq!(stage.server(50, &packet(0x80, 0, TABLE)).ends(60).failed(), ["GS4030"; 2]);
}

#[test]
fn values_outside_the_table() {
    for (content, code) in [
        (&b"hostport\0\0\0"[..], "GS4024"),
        (b"AverageSkillRating\0inf\0\0", "GS4024"),
        (b"s3\0x\0\0", "GS4024"),
        (b"p268435704\0many\0\0", "GS4024"),
        (b"numplayers\x003\0maxplayers\x002\0\0", "GS4025"),
        (b"numplayers\x003\0maxplayers\x009\0NumPublicConnections\x008\0\0", "GS4025"),
        (b"gamemode\0paused\0\0", "GS4026"),
        (b"s32779\x006\0\0", "GS4026"),
        (b"s0\x000\0\0", "GS4026"),
        (b"s8\x005\0\0", "GS4026"),
        (b"p268435717\x004096\0\0", "GS4027"),
        (b"p268435717\0-1\0\0", "GS4027"),
        // Beyond an int32, and beyond 64 bits.
        (b"p268435717\x002147483648\0\0", "GS4027"),
        (b"p268435717\x004294967295\0\0", "GS4027"),
        (b"p268435717\x0099999999999999999999\0\0", "GS4027"),
        (b"numplayers\x009999999999\0maxplayers\x0024\0\0", "GS4025"),
        (b"numplayers\x0099999999999999999999\0maxplayers\x0024\0\0", "GS4025"),
        (b"s0\x004294967297\0\0", "GS4026"),
        // Without numplayers.
        (b"maxplayers\x0016\0NumPublicConnections\x0024\0\0", "GS4025"),
    ] {
        let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
        assert_eq!(outcome.failed(), [code], "{}", String::from_utf8_lossy(content));
    }
}

#[test]
fn variables_that_contradict_each_other_or_the_table() {
    for (content, code) in [
        (&b"numplayers\x004\0maxplayers\0-99999999999999999999\0\0"[..], "GS4035"),
        (b"numplayers\0-1\0\0", "GS4035"),
        (b"p268435703\0-1\0\0", "GS4035"),
        (b"s1\x001\0\0", "GS4035"),
        (b"s13\x002\0\0", "GS4035"),
        (b"s6\x001\0p268435717\x0016\0\0", "GS4036"),
        (b"s32779\x002\0p1073741826\0UTGame.UTTeamGame\0\0", "GS4036"),
        (b"EngineVersion\x003543\0MinNetVersion\x003544\0\0", "GS4036"),
        (b"hostport\x001\0numplayers\x004\0hostport\x001\0\0", "GS4038"),
    ] {
        let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
        let found = outcome.found(Verdict::Fail);
        assert!(
            found.iter().any(|it| *it == code),
            "{found:?}: {}",
            String::from_utf8_lossy(content)
        );
    }
    for content in [
        &b"s6\x001\0p268435717\x000\0p1073741828\0BattleRPG\0\0"[..],
        b"s6\x000\0p268435717\x0016\0\0",
        b"s32779\x004\0p1073741826\0UTGame.UTTeamGame\0\0",
        b"s32779\x004\0p1073741826\0Custom.Game\0\0",
        b"s12\x001\0s9\x000\0EngineVersion\x003543\0MinNetVersion\x003543\0\0",
    ] {
        let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
        let found = outcome.found(Verdict::Fail);
        assert_eq!(found, ["GS4037"], "{}", String::from_utf8_lossy(content));
    }
}

#[test]
fn players_within_the_limits() {
    for (content, checked) in [
        (&b"numplayers\x009999999999\0maxplayers\x0099999999999\0\0"[..], 1),
        (b"maxplayers\x0024\0NumPublicConnections\x0024\0\0", 1),
        (b"numplayers\x0024\0maxplayers\x0024\0\0", 1),
        (b"maxplayers\x0024\0\0", 0),
        (b"numplayers\x0025\0NumPublicConnections\x0024\0\0", 0),
        (b"numplayers\x00many\0maxplayers\x00few\0\0", 0),
    ] {
        let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
        let limits = super::super::rules::ALL.iter().find(|rule| rule.slug == "player-limits");
        let counts = outcome.results.counts(limits.unwrap());
        assert_eq!(
            (counts.passed, counts.failed),
            (checked, 0),
            "{}",
            String::from_utf8_lossy(content)
        );
    }
}

#[test]
fn names_without_values_and_values_without_an_end() {
    for (content, fields) in [
        (&b"mapname\0DM-Deck"[..], "mapname=DM-Deck"),
        (b"mapname\0DM-Deck\0hostport\0", "mapname=DM-Deck hostport="),
        (b"p1073741828\0p268435704\x0050\0\0", "p1073741828= p268435704=50"),
        (b"hostname\0a\0b\0gametype\0SMP\0map\0w\0\0", "hostname=a b= gametype=SMP map=w"),
    ] {
        let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
        assert_eq!(outcome.failed(), ["GS4023"], "{}", String::from_utf8_lossy(content));
        let reported = &outcome.reported[3].fields;
        assert!(reported.ends_with(&format!("properties{{{fields}}}")), "{reported}");
    }
}

/// "This is random", and byte 16 "isn't understood": other values than the usual ones have no
/// meaning.
#[test]
fn any_text_and_number_may_precede_the_variables() {
    for (text, section) in [(b"splitnum", 5), (b"A7x.q0~Z", 0), (b"A7x.q0~Z", 5)] {
        let header = [b"\0\x10\x20\x30\x41", &text[..], &[0, 0x80, section]].concat();
        let response = [&header[..], b"hostport\x007777\0\0"].concat();
        let outcome = Stage::default().asks().server(50, &response).ends(60);
        assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
        assert!(outcome.reported[3].fields.ends_with("properties{hostport=7777}"));
    }
}

/// A coloured name, as the first variable of a response without a header.
#[test]
fn variables_are_not_mistaken_for_text() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\0\x10\x20\x30\x41\xFF\0\0");
    let outcome = stage.server(20, b"\0\x10\x20\x30\x41hostname\0\x1B\x01\xFFa\0\0").ends(9000);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(outcome.names(), ["info_request", "info_response"]);
}

#[test]
fn the_two_documented_bugs_are_one_note() {
    let content = b"hostname\0Ann\0mapname\0OwningPlayerId=830,s0=2\0OwningPlayerName\0Ann\0\0";
    let outcome = Stage::default().asks().server(50, &packet(0x80, 0, content)).ends(60);
    assert!(outcome.failed().is_empty());
    assert_eq!(outcome.found(Verdict::Fail), ["GS4037", "GS4028"]);
}

#[test]
fn a_response_whose_timestamp_looks_like_the_identifier() {
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\xFD\0\x30\x40").server(20, b"\x09\xFD\0\x30\x407\0");
    let outcome = stage.ends(30);
    assert_eq!(outcome.names(), ["challenge_request", "challenge_response"]);
    assert!(outcome.failed().is_empty());
}

/// The challenge round and the info request after it are one exchange, including repeats.
#[test]
fn a_response_has_its_request() {
    let mut stage = Stage::default();
    let challenge = b"\xFE\xFD\x09\x10\x20\x30\x40";
    stage.client(0, challenge).client(1000, challenge).server(1020, b"\x09\x10\x20\x30\x407\0");
    stage.client(1030, b"\xFE\xFD\0\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01");
    stage.server(1050, b"\0\x10\x20\x30\x41splitnum\0\x80\0hostport\x007777\0\0");
    let reported: Vec<_> = stage
        .ends(1060)
        .replies
        .iter()
        .map(|reply| (reply.sent.0, reply.began.0, reply.tries, reply.complete))
        .collect();
    assert_eq!(reported, [(1_000_000_000, 0, 2, false), (1_030_000_000, 0, 1, true)]);
}

#[test]
fn a_request_that_did_not_arrive_has_no_response() {
    let request = b"\xFE\xFD\x09\x10\x20\x30\x40";
    let outcome = Stage::default().client(0, request).refuses(1).ends(10);
    assert_eq!(outcome.failed(), ["GS4031"], "though there was no time to answer");
    let outcome = Stage::default().client(0, request).client(5, request).refuses(2).ends(10);
    assert_eq!(outcome.failed(), ["GS4031"]);
    let outcome = Stage::default().client(0, request).refuses(1).client(5, request).ends(10);
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4031"], "the second may have arrived");
    let mut stage = Stage::default();
    stage.client(0, request).refuses(1).client(5, request);
    assert!(stage.server(8, b"\x09\x10\x20\x30\x407\0").ends(9000).failed().is_empty());
}

#[test]
fn a_doubled_datagram_is_shown_and_changes_nothing() {
    let requests: [&[u8]; 2] = [
        b"\xFE\xFD\x09\x10\x20\x30\x40",
        b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01",
    ];
    let challenge = b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0";
    let first = packet(0x00, 0, b"hostport\x007777\0\0");
    let last = packet(0x81, 1, b"player_\0\0Ann\0\0\0");
    let (client, server) = (Side::First, Side::Second);
    let mut stage = Stage::default();
    stage.client(0, requests[0]).again(client, requests[0]);
    stage.server(20, challenge).again(server, challenge);
    stage.client(30, requests[1]).again(client, requests[1]);
    stage.server(50, &first).again(server, &first);
    stage.server(51, &last).again(server, &last);
    let outcome = stage.ends(9000);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(outcome.replies.len(), 2);
    assert_eq!(
        outcome.names(),
        [
            "challenge_request",
            "challenge_request",
            "challenge_response",
            "challenge_response",
            "info_request",
            "info_request",
            "info_fragment",
            "info_response",
            "info_fragment"
        ]
    );
    let whole = packet(0x80, 0, TABLE);
    let mut stage = Stage::default();
    let outcome = stage.asks().server(50, &whole).again(server, &whole).ends(60);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(outcome.reported[4].fields, outcome.reported[3].fields);
}

#[test]
fn zeros_before_the_variables_are_a_header() {
    for name in ["hostport", "numplayers", "s32779"] {
        let text = format!("{name}\x003\0\0");
        let response = [b"\0\x10\x20\x30\x41\0\0\0\0\0\0\0\0\0\x80\0", text.as_bytes()].concat();
        let outcome = Stage::default().asks().server(50, &response).ends(60);
        let incomplete = if name == "s32779" { &["GS4020", "GS4037"][..] } else { &["GS4020"] };
        assert_eq!(outcome.found(Verdict::Fail), incomplete);
        assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
        assert!(outcome.reported[3].fields.ends_with(&format!("properties{{{name}=3}}")));
    }
}

/// The ledger knows what it was given on another flow.
#[test]
fn a_response_to_a_challenge_that_was_never_sent() {
    let accepted = |event: &&CrossFlowEvent| matches!(event, CrossFlowEvent::Accepted { .. });
    let response = packet(0x80, 0, TABLE);
    for (given, challenge, failed, accepts) in
        [(None, 7, &[][..], 1), (Some(8), 7, &["GS4010"], 1), (Some(7), 7, &[], 0)]
    {
        let mut stage = Stage::default();
        stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
        if let Some(given) = given {
            stage.server(10, format!("\x09\x10\x20\x30\x40{given}\0").as_bytes());
        }
        let request = [b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0", &[challenge][..]].concat();
        stage.client(20, &[&request, &b"\xFF\xFF\xFF\x01"[..]].concat());
        let outcome = stage.server(30, &response).ends(60);
        let broken: Vec<_> = outcome.failed().into_iter().filter(|code| code == "GS4010").collect();
        assert_eq!(broken, failed, "{given:?}");
        assert_eq!(outcome.events.iter().filter(accepted).count(), accepts);
        let reported = given.map(CrossFlowEvent::Challenged);
        assert!(reported.is_none_or(|reported| outcome.events.contains(&reported)), "{given:?}");
    }

    // Other games' form has no challenge.
    let mut stage = Stage::default();
    stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
    stage.client(20, b"\xFE\xFD\x00\x10\x20\x30\x41\xFF\xFF\xFF\x01");
    let outcome = stage.server(30, &response).ends(60);
    assert!(!outcome.failed().contains(&"GS4010".to_owned()));
    assert_eq!(outcome.events.iter().filter(accepted).count(), 0);
}

#[test]
fn a_response_of_another_type_is_an_error_and_not_missing() {
    let challenge = b"\x0A\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0";
    let known = Hint { known: true, ..Hint::default() };
    assert_eq!(GameSpy4::claim(challenge, known), Claim::Weak);
    assert_eq!(GameSpy4::claim(challenge, Hint::default()), Claim::No);
    let mut stage = Stage::default();
    let outcome = stage.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40").server(20, challenge).ends(9000);
    assert_eq!(outcome.failed(), ["GS4034"], "{:?}", outcome.results.findings);
    assert_eq!(outcome.names()[1], "challenge_response");
    assert_eq!(outcome.replies.len(), 1);

    let mut response = packet(0x80, 0, TABLE);
    response[0] = 0x01;
    assert_eq!(GameSpy4::claim(&response, known), Claim::Weak);
    let outcome = Stage::default().asks().server(50, &response).ends(9000);
    assert_eq!(outcome.failed(), ["GS4034"], "{:?}", outcome.results.findings);
    assert_eq!(outcome.names()[3], "info_response");

    // The type of a challenge.
    response[0] = 0x09;
    assert_eq!(GameSpy4::claim(&response, known), Claim::Weak);
    let outcome = Stage::default().asks().server(50, &response).ends(9000);
    assert_eq!(outcome.failed(), ["GS4034"], "{:?}", outcome.results.findings);
    assert_eq!(outcome.names()[3], "info_response");
    response[0] = 0x01;

    // There is no request for it.
    response[4] = 0x55;
    let outcome = Stage::default().asks().server(50, &response).ends(60);
    assert_eq!(outcome.names()[3], "unknown");
}

/// The challenge of the second round is missing from the capture.
#[test]
fn a_challenge_that_was_asked_for_may_be_missing() {
    let mut lab = crate::kit::lab::Lab::<crate::gamespy4::GameSpy4, _>::new();
    let (client, server) = ("10.0.0.1:50000", "10.0.0.2:6500");
    let info = b"\0\0\0\0\x02splitnum\0\x80\0hostport\x007777\0\0";
    lab.udp(0.0, client, server, b"\xFE\xFD\x09\0\0\0\x01");
    lab.udp(0.1, server, client, b"\x09\0\0\0\x015\0");
    lab.udp(10.0, client, server, b"\xFE\xFD\x09\0\0\0\x02");
    lab.udp(10.2, client, server, b"\xFE\xFD\x00\0\0\0\x02\0\0\0\x06\xFF\xFF\xFF\x01");
    lab.udp(10.3, server, client, info);
    let codes = lab.codes();
    assert!(codes.contains(&"GS4007?".to_owned()), "{codes:?}");
    assert!(!codes.iter().any(|code| code == "GS4007" || code == "GS4010"), "{codes:?}");
    // Without a request for another challenge, the latest one counts.
    let mut lab = crate::kit::lab::Lab::<crate::gamespy4::GameSpy4, _>::new();
    lab.udp(0.0, client, server, b"\xFE\xFD\x09\0\0\0\x01");
    lab.udp(0.1, server, client, b"\x09\0\0\0\x015\0");
    lab.udp(0.2, client, server, b"\xFE\xFD\x00\0\0\0\x02\0\0\0\x06\xFF\xFF\xFF\x01");
    assert!(lab.codes().contains(&"GS4007".to_owned()), "{:?}", lab.codes());
}
