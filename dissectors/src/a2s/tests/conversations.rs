//! Conversations: requests, responses, and who is at fault.

use crate::a2s::{A2s, rules};
use crate::kit::{Claim, CrossFlowEvent, Hint, Protocol, Rule};

use super::lab::{C, Lab, S, TestRecorder, bytes};

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const INFO_RESPONSE: &str =
    "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 01 10 00 'dl' 00 01 '1' 00";
const OBSOLETE: &str =
    "FFFFFFFF 6D '10.0.0.2:27015' 00 'n' 00 'm' 00 'f' 00 'g' 00 05 10 2F 'dl' 00 00 01 00";
const PLAYERS: &str = "FFFFFFFF 44 01 00 'a' 00 00000000 f32:1";

/// Lines of time, sender (`c` or `s`) and message.
fn conversation(lines: &[(f64, char, &str)], end: f64) -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    for &(time, who, what) in lines {
        match who {
            'c' => lab.c(time, &bytes(what)),
            _ => lab.s(time, &bytes(what)),
        };
    }
    lab.end(end);
    lab
}

fn verdict(lab: &Lab<TestRecorder>, rule: &Rule) -> [u64; 3] {
    let counts = lab.counts(rule);
    [counts.passed, counts.failed, counts.inconclusive]
}

#[test]
fn info_by_way_of_a_challenge() {
    let challenged = &format!("{INFO} 4BA1D522");
    let lab = conversation(
        &[
            (0.0, 'c', INFO),
            (0.1, 's', "FFFFFFFF 41 4BA1D522"),
            (0.2, 'c', challenged),
            (0.3, 's', INFO_RESPONSE),
        ],
        9.0,
    );
    assert_eq!(lab.codes(), ["(A2S026)"]);
    assert_eq!(verdict(&lab, &rules::SEC003), [1, 0, 0]);
    assert_eq!(verdict(&lab, &rules::A2S022), [1, 0, 0]);
    assert_eq!(verdict(&lab, &rules::A2S062), [2, 0, 0]);
}

#[test]
fn an_unanswered_request_is_proven_only_by_time_and_by_the_servers_packets() {
    let answered = [(0.0, 'c', "FFFFFFFF 55 FFFFFFFF"), (0.1, 's', "FFFFFFFF 41 4BA1D522")];
    let unanswered = (0.2, 'c', "FFFFFFFF 55 4BA1D522");
    let with = |end| conversation(&[answered[0], answered[1], unanswered], end);
    assert_eq!(verdict(&with(9.0), &rules::A2S062), [1, 1, 0]);
    assert_eq!(verdict(&with(1.0), &rules::A2S062), [1, 0, 1]);
    assert_eq!(verdict(&conversation(&[(0.0, 'c', INFO)], 9.0), &rules::A2S062), [0, 0, 1]);

    let mut complete = Lab::new();
    complete.complete = true;
    complete.c(0.0, &bytes(INFO)).end(0.1);
    assert_eq!(verdict(&complete, &rules::A2S062), [0, 1, 0]);
}

#[test]
fn a_late_packet_of_a_server_proves_its_earlier_silence() {
    let lab =
        conversation(&[(0.0, 'c', INFO), (50.0, 'c', INFO), (50.1, 's', INFO_RESPONSE)], 60.0);
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 1, 0]);
    assert_eq!(lab.sink.recalled()[0].mark.map(|mark| mark.frame), Some(1));
}

#[test]
fn a_ping_or_a_challenge_alone_is_owed_by_all_games_but_some() {
    let asked = |request: &str, app: u16| {
        let info = format!(
            "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 le16:{app} 00 18 00 'd' 'l' 00 01 '1' 00 00"
        );
        let lab = conversation(&[(0.0, 'c', INFO), (0.1, 's', &info), (0.2, 'c', request)], 9.0);
        verdict(&lab, &rules::A2S062)
    };
    let [ping, challenge] = ["FFFFFFFF 69", "FFFFFFFF 57"];
    assert_eq!([10, 730].map(|app| asked(ping, app)), [[1, 1, 0]; 2]);
    assert_eq!([240, 440].map(|app| asked(ping, app)), [[1, 0, 0]; 2]);
    assert_eq!([240, 730].map(|app| asked(challenge, app)), [[1, 1, 0]; 2]);
    assert_eq!([10, 550].map(|app| asked(challenge, app)), [[1, 0, 0]; 2]);
    // Of a game that is not known, nothing is due.
    let unknown = conversation(&[(0.0, 'c', challenge)], 9.0);
    assert_eq!(verdict(&unknown, &rules::A2S062), [0, 0, 0]);
}

#[test]
fn no_response_is_due_to_wrong_and_ignored_requests() {
    let wrong = ["FFFFFFFF 54 'Quarry' 00", "FFFFFFFF 55 01"];
    for request in wrong {
        let lab =
            conversation(&[(0.0, 'c', INFO), (0.1, 's', INFO_RESPONSE), (0.2, 'c', request)], 9.0);
        assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0], "{request}");
    }
    let lab = conversation(
        &[(0.0, 'c', INFO), (0.1, 's', INFO_RESPONSE), (0.2, 'c', "FFFFFFFF 55 01020304")],
        9.0,
    );
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0]);
    assert_eq!(verdict(&lab, &rules::A2S022), [0, 1, 0]);
}

#[test]
fn a_challenge_counts_for_the_address_and_not_for_the_port() {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 55 FFFFFFFF")).s(0.1, &bytes("FFFFFFFF 41 4BA1D522"));
    lab.packet(0.2, "10.0.0.1:50009", S, &bytes(INFO), false);
    lab.packet(0.2, "10.0.0.1:50009", S, &bytes("FFFFFFFF 56 4BA1D522"), false);
    assert_eq!(verdict(&lab, &rules::A2S022), [2, 0, 0]);
    let other = "10.0.1.1:50000";
    lab.packet(0.3, other, S, &bytes(INFO), false);
    lab.packet(0.3, other, S, &bytes("FFFFFFFF 56 4BA1D522"), false);
    assert_eq!(verdict(&lab, &rules::A2S022), [2, 0, 1], "the server is not in the capture");
    lab.packet(0.4, S, other, &bytes(INFO_RESPONSE), false);
    lab.packet(0.5, other, S, &bytes("FFFFFFFF 56 4BA1D522"), false);
    assert_eq!(verdict(&lab, &rules::A2S022), [2, 0, 2], "a challenge may be missing");
}

#[test]
fn without_a_beginning_or_with_a_challenge_lost_nothing_is_proven() {
    let lab = conversation(&[(0.0, 'c', "FFFFFFFF 55 4BA1D522"), (0.1, 's', PLAYERS)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S022), [0, 0, 1]);
    assert_eq!(verdict(&lab, &rules::A2S024), [0, 0, 1]);

    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 55 FFFFFFFF"));
    lab.packet(0.1, S, C, &bytes("FFFFFFFF 41 4B"), true);
    lab.c(0.2, &bytes("FFFFFFFF 55 4BA1D522"));
    assert_eq!(verdict(&lab, &rules::A2S022), [1, 0, 1]);
    assert_eq!(verdict(&lab, &rules::A2S020), [0, 0, 1]);

    let lab = conversation(&[(0.0, 's', INFO_RESPONSE), (0.1, 's', PLAYERS)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S061), [0, 0, 2]);
}

#[test]
fn a_wrong_challenge_may_be_answered_by_a_new_one_but_not_by_data() {
    let start = [(0.0, 'c', INFO), (0.1, 's', INFO_RESPONSE), (0.2, 'c', "FFFFFFFF 55 01020304")];
    let [a, b, c] = start;
    let lab = conversation(&[a, b, c, (0.3, 's', "FFFFFFFF 41 4BA1D522")], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S024), [1, 0, 0]);
    let lab = conversation(&[a, b, c, (0.3, 's', PLAYERS)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S024), [0, 1, 0]);
}

/// Servers that require no challenge for info ignore the bytes in its place.
#[test]
fn a_wrong_challenge_for_info_is_verified_by_servers_that_ask_for_one() {
    let wrong = &format!("{INFO} 01020304");
    let lab = conversation(&[(0.0, 'c', INFO), (0.1, 's', INFO_RESPONSE), (0.2, 'c', wrong)], 0.2);
    assert_eq!(verdict(&lab, &rules::A2S022), [0, 1, 0]);
    let with = |first, response| {
        let asked = (0.0, 'c', INFO);
        let lab =
            conversation(&[asked, (0.1, 's', first), (0.2, 'c', wrong), (0.3, 's', response)], 9.0);
        verdict(&lab, &rules::A2S024)
    };
    let challenge = "FFFFFFFF 41 4BA1D522";
    assert_eq!(with(INFO_RESPONSE, INFO_RESPONSE), [0, 0, 0]);
    assert_eq!(with(challenge, INFO_RESPONSE), [0, 1, 0]);
    assert_eq!(with(challenge, challenge), [1, 0, 0]);
}

#[test]
fn hybrid_servers_answer_info_up_to_three_times() {
    let first = (0.0, 'c', INFO);
    let lab = conversation(
        &[first, (0.1, 's', OBSOLETE), (0.1, 's', INFO_RESPONSE), (0.1, 's', PLAYERS)],
        9.0,
    );
    assert_eq!(verdict(&lab, &rules::A2S060), [3, 0, 0]);
    assert_eq!(verdict(&lab, &rules::A2S061), [1, 0, 0]);
    let lab = conversation(&[first, (0.1, 's', INFO_RESPONSE), (0.1, 's', INFO_RESPONSE)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S061), [1, 1, 0]);
}

#[test]
fn responses_find_their_requests_in_any_order() {
    let lab = conversation(
        &[
            (0.0, 'c', INFO),
            (0.0, 'c', "FFFFFFFF 55 FFFFFFFF"),
            (0.0, 'c', "FFFFFFFF 56 FFFFFFFF"),
            (0.1, 's', "FFFFFFFF 41 4BA1D522"),
            (0.1, 's', "FFFFFFFF 41 4BA1D522"),
            (0.2, 'c', "FFFFFFFF 55 4BA1D522"),
            (0.2, 'c', "FFFFFFFF 56 4BA1D522"),
            (0.3, 's', "FFFFFFFF 45 0100 'motd' 00 'x' 00"),
            (0.3, 's', PLAYERS),
            (0.4, 's', INFO_RESPONSE),
        ],
        9.0,
    );
    assert_eq!(lab.codes(), ["(SEC003)"]);
    assert_eq!(verdict(&lab, &rules::A2S062), [5, 0, 0]);
}

#[test]
fn responses_from_another_port_differ_from_unsolicited_ones() {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 55 FFFFFFFF"));
    lab.packet(0.1, "10.0.0.2:40000", C, &bytes("FFFFFFFF 41 4BA1D522"), false).end(9.0);
    assert_eq!(lab.codes(), ["A2S065"]);

    // The challenge is valid at the endpoint that was asked, and the request counts as answered.
    let mut lab = Lab::new();
    lab.complete = true;
    lab.c(0.0, &bytes("FFFFFFFF 55 FFFFFFFF"));
    lab.packet(0.1, "10.0.0.2:40000", C, &bytes("FFFFFFFF 41 4BA1D522"), false);
    lab.c(0.2, &bytes("FFFFFFFF 55 4BA1D522")).s(0.3, &bytes(PLAYERS));
    for time in 0..20 {
        lab.packet(f64::from(time), "10.0.1.1:50000", "10.0.1.2:27015", &bytes(INFO), false);
        lab.packet(
            f64::from(time),
            "10.0.1.2:27015",
            "10.0.1.1:50000",
            &bytes(INFO_RESPONSE),
            false,
        );
    }
    lab.end(20.0);
    assert_eq!(
        lab.codes().iter().filter(|code| *code != "(SEC003)").collect::<Vec<_>>(),
        ["A2S065"]
    );

    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 55 FFFFFFFF"));
    lab.packet(0.1, "10.0.0.3:27015", C, &bytes("FFFFFFFF 41 4BA1D522"), false).end(9.0);
    assert_eq!(verdict(&lab, &rules::A2S065), [0, 0, 0]);
}

/// A request that was answered from another port counts as answered, once.
#[test]
fn a_request_that_is_answered_from_another_port_counts_as_answered() {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 55 FFFFFFFF"));
    lab.packet(0.1, "10.0.0.2:40000", C, &bytes("FFFFFFFF 41 4BA1D522"), false).end(9.0);
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0]);
    assert_eq!(verdict(&lab, &rules::A2S061), [0, 0, 0]);
}

/// If two ports of a host were asked, either may be meant.
#[test]
fn a_response_to_one_of_two_ports_is_left_to_the_ledger() {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 55 FFFFFFFF"));
    lab.packet(0.05, C, "10.0.0.2:27016", &bytes("FFFFFFFF 55 FFFFFFFF"), false);
    lab.packet(0.1, "10.0.0.2:40000", C, &bytes("FFFFFFFF 41 4BA1D522"), false).end(9.0);
    assert_eq!(verdict(&lab, &rules::A2S065), [0, 0, 0]);
    let unasked = |event: &&CrossFlowEvent| matches!(event, CrossFlowEvent::Unasked(it) if it.challenge.is_some());
    assert_eq!(lab.sink.events.iter().filter(unasked).count(), 1);
}

/// A challenge that this server did not give may be from another one, if this server has not
/// responded yet.
#[test]
fn a_challenge_of_another_flow_is_left_to_the_ledger() {
    let not_given = |steps: &[(f64, char, &str)]| {
        let events = conversation(steps, 9.0).sink.events;
        events.iter().any(|event| matches!(event, CrossFlowEvent::NotGiven { .. }))
    };
    let (asks, uses) = ((0.0, 'c', "FFFFFFFF 55 FFFFFFFF"), (0.3, 'c', "FFFFFFFF 55 07000000"));
    assert!(not_given(&[asks, uses]));
    assert!(!not_given(&[asks, (0.1, 's', "FFFFFFFF 41 4BA1D522"), uses]));
}

#[test]
fn waiting_for_a_response_from_another_port_is_limited() {
    for (time, heard) in [(2.9, 2), (3.1, 1), (86400.0, 1)] {
        let mut lab = Lab::new();
        lab.c(0.0, &bytes(INFO));
        lab.packet(time, "10.0.0.2:9998", C, &bytes("FFFFFFFF 7A 0102"), false);
        assert_eq!(lab.names().len(), heard, "{time}");
    }
}

#[test]
fn one_socket_may_ask_several_servers_of_one_host() {
    let mut lab = Lab::new();
    for port in 0..3 {
        lab.packet(0.0, C, &format!("10.0.0.2:{}", 27015 + port), &bytes(INFO), false);
    }
    for port in 0..3 {
        lab.packet(0.1, &format!("10.0.0.2:{}", 27015 + port), C, &bytes(INFO_RESPONSE), false);
    }
    lab.end(9.0);
    assert_eq!(lab.codes(), ["(SEC003)"; 3]);
}

#[test]
fn game_traffic_on_the_port_is_ignored() {
    let mut lab = conversation(&[(0.0, 'c', INFO), (0.1, 's', INFO_RESPONSE)], 0.2);
    let before = lab.sink.heard.len();
    lab.c(1.0, &bytes(INFO)).s(1.1, &bytes(INFO_RESPONSE));
    for time in 2..20 {
        lab.c(time.into(), &bytes("05000080 01000080 DEADBEEF"));
        lab.s(time.into(), &bytes("06000080 01000080 DEADBEEF"));
    }
    lab.end(30.0);
    assert_eq!(lab.sink.heard.len(), before + 2);
    assert_eq!(lab.counts(&rules::A2S001).failed, 0);
}

/// A player's game queries the server from the port on which it plays.
#[test]
fn game_packets_are_no_responses_while_a_request_waits() {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes(INFO)).s(0.1, &bytes(INFO_RESPONSE));
    lab.c(1.0, &bytes("05000080 01000080 DEADBEEF")).s(1.1, &bytes("06000080 01000080 DEADBEEF"));
    lab.c(2.0, &bytes(INFO)).s(2.1, &bytes("07000080 01000080 DEADBEEF"));
    lab.s(2.2, &bytes(INFO_RESPONSE)).end(30.0);
    assert_eq!(lab.counts(&rules::A2S001).failed, 0);
    assert_eq!(verdict(&lab, &rules::A2S062), [2, 0, 0]);
    // A client that plays elsewhere gets something else than a response.
    let mut lab = Lab::new();
    lab.c(0.0, &bytes(INFO)).s(0.1, &bytes("07000080 01000080 DEADBEEF")).end(30.0);
    assert_eq!(lab.counts(&rules::A2S001).failed, 1);
}

#[test]
fn requests_that_pile_up_are_bounded() {
    let mut lab = Lab::new();
    lab.settings.limits.pending = 2;
    let kinds = ["54 'Source Engine Query' 00", "55", "56"];
    for n in 0..40 {
        let challenge = ["FFFFFFFF", "00000000"][n % 2];
        let request = format!("FFFFFFFF {} {challenge}", kinds[n % 3]);
        lab.c(n as f64 / 100.0, &bytes(&request));
    }
    lab.s(1.5, &bytes(INFO_RESPONSE)).end(9.0);
    // A request that was removed because of the limit before it was overdue is not checked.
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 1, 0]);
}

#[test]
fn other_protocols_are_not_claimed() {
    let none = Hint::default();
    let port = Hint { to_port: true, from_port: true, ..none };
    let known = Hint { known: true, ..port };
    let others = [
        "FFFFFFFF 21 4C 61 6E", // Steam discovery
        "FFFFFFFF 66 0A 0A00000269870000",
        "FFFFFFFF 73 0A 12345678",
        "FFFFFFFF 'infoResponse' 0A",
        "FFFFFFFF 'log L 01/01/2020 - 00:00:00: \"x\" say \"y\"' 0A 00",
    ];
    for other in others {
        assert_eq!(A2s::claim(&bytes(other), known), Claim::No, "{other}");
    }
    let games = [
        "FFFFFFFF 'getstatus'",
        "FFFFFFFF 'statusResponse' 0A '\\\\x\\\\y'",
        "FFFFFFFF 'getinfo xxx'",
        "FFFFFFFF 'infoResponse' 0A '\\\\x\\\\y'",
        "FFFFFFFF 'challengeResponse 1'",
        "FFFFFFFF 'netinfo 49 0 0' 0A",
        "FFFFFFFF 'i' 00",
        "FFFFFFFF 'join'",
        "05000080 01000080 DEADBEEF",
        "00*64",
        "",
        "FF",
    ];
    for game in games {
        let claim = A2s::claim(&bytes(game), port);
        assert_eq!(claim, Claim::No, "{game}");
    }
}

#[test]
fn own_messages_are_claimed() {
    let none = Hint::default();
    let requests = ["FFFFFFFF 55 01020304", "FFFFFFFF 56 FFFFFFFF", "FFFFFFFF 57", "FFFFFFFF 69"];
    let ping_response = "FFFFFFFF 6A '00000000000000' 00";
    for sure in requests.into_iter().chain([INFO, INFO_RESPONSE, OBSOLETE, PLAYERS, ping_response])
    {
        assert_eq!(A2s::claim(&bytes(sure), none), Claim::Sure, "{sure}");
    }
    // Cut by the snaplen.
    assert_eq!(A2s::claim(&bytes("FFFFFFFF 'TSource E'"), none), Claim::Sure);
    for (padded, expected) in [
        ("FFFFFFFF 55 FFFFFFFF 00*1191", Claim::Weak),
        ("FFFFFFFF 56 01020304 00*12", Claim::Weak),
        ("FFFFFFFF 55 FFFFFFFF 00*1190 01", Claim::No),
    ] {
        let to_port = Hint { to_port: true, ..none };
        assert_eq!(A2s::claim(&bytes(padded), to_port), expected, "{padded}");
    }
    let weak = [
        "FFFFFFFF 'TSource'",
        "FFFFFFFF 6A",
        "FFFFFFFF 6A 00",
        "FFFFFFFF 6A '0000' 00",
        "FFFFFFFF 41 01020304",
        "FFFFFFFF 6C 'x'",
    ];
    for weak in weak.into_iter().chain(["FEFFFFFF 01000000 02 00 E004", "FFFFFFFF 44 05 01"]) {
        assert_eq!(A2s::claim(&bytes(weak), none), Claim::Weak, "{weak}");
    }
}

#[test]
fn a_query_in_words_needs_the_port() {
    let to_port = Hint { to_port: true, ..Hint::default() };
    for (text, expected) in [
        ("'details' 00", Claim::Weak),
        ("'ping'", Claim::Weak),
        ("'getchallenge' 00", Claim::Weak),
        ("'infostring' 00", Claim::Weak),
        ("'connected'", Claim::No),
        ("'getinfo xyz'", Claim::No),
    ] {
        let bytes = bytes(&format!("FFFFFFFF {text}"));
        assert_eq!(A2s::claim(&bytes, to_port), expected, "{text}");
        assert_eq!(A2s::claim(&bytes, Hint::default()), Claim::No, "{text}");
    }
}

/// A message that does not end with its fields, or has a wrong count, may be from any game.
#[test]
fn a_response_is_certain_only_if_complete() {
    let none = Hint::default();
    let rules = "FFFFFFFF 45 0200 'motd' 00 'hello' 00 'sv_cheats' 00 '0' 00";
    for whole in [INFO_RESPONSE, OBSOLETE, PLAYERS, rules].map(bytes) {
        assert_eq!(A2s::claim(&whole, none), Claim::Sure);
        assert_eq!(A2s::claim(&[&whole[..], b"\x01"].concat(), none), Claim::Weak);
        assert_eq!(A2s::claim(&whole[..whole.len() - 1], none), Claim::Weak);
        let known = Hint { known: true, ..none };
        assert_eq!(A2s::claim(&whole, known), Claim::Weak, "the flow is known already");
        if matches!(whole[4], b'D' | b'E') {
            let mut miscounted = whole.clone();
            miscounted[5] += 1;
            assert_eq!(A2s::claim(&miscounted, none), Claim::Weak);
        }
    }
    let cut_off = bytes("FFFFFFFF 45 0200 'motd' 00 'x'*1240 00");
    let empty = ["FFFFFFFF 44 00", "FFFFFFFF 45 0000"].map(bytes);
    for weak in empty.into_iter().chain([cut_off]) {
        assert_eq!(A2s::claim(&weak, none), Claim::Weak);
    }
}

#[test]
fn a_conversation_that_begins_with_the_obsolete_request_is_heard_on_any_port() {
    let mut lab = Lab::new();
    lab.complete = true;
    let server = "10.0.0.2:7777";
    for (time, from, to, what) in [
        (0.0, C, server, "FFFFFFFF 57"),
        (0.1, server, C, "FFFFFFFF 41 4BA1D522"),
        (0.2, C, server, "FFFFFFFF 55 4BA1D522"),
        (0.3, server, C, PLAYERS),
    ] {
        lab.packet(time, from, to, &bytes(what), false);
    }
    lab.end(9.0);
    assert_eq!(lab.codes(), ["(A2S025)"]);
}

#[test]
fn pings_are_heard_on_any_port() {
    let server = "10.0.0.2:3000";
    for response in ["FFFFFFFF 6A", "FFFFFFFF 6A 00", "FFFFFFFF 6A '00000000000000' 00"] {
        let mut lab = Lab::new();
        lab.packet(0.0, C, server, &bytes("FFFFFFFF 69"), false);
        lab.packet(0.1, server, C, &bytes(response), false);
        assert_eq!(lab.names(), ["ping_request", "ping_response"], "{response}");
    }
}

#[test]
fn conversations_begin_with_messages_that_need_no_context() {
    for opens in [INFO, "FFFFFFFF 57", "FFFFFFFF 69", "FFFFFFFF 55 FFFFFFFF"] {
        assert!(A2s::opens(&bytes(opens)), "{opens}");
    }
    let challenged = &format!("{INFO} 4BA1D522");
    // Servers may have given 0.
    let zero = "FFFFFFFF 56 00000000";
    let split = "FEFFFFFF 01000000 02 00 E004";
    for not in [challenged, zero, "FFFFFFFF 55 4BA1D522", INFO_RESPONSE, "", split] {
        assert!(!A2s::opens(&bytes(not)), "{not}");
    }
}
