//! `gamewire diagnose`: clients, masters and broadcasts are parties of their own, and patterns of unanswered requests.

use std::fmt::Write;

use crate::support::diagnosis::{self, item, rounds};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

/// The diagnosis of a script's capture.
fn diagnosed(script: &str) -> Value {
    of(script, &Setting::udp(27015), &[])
}

fn of(script: &str, setting: &Setting, options: &[&str]) -> Value {
    diagnosis::diagnosed(script, setting, options).1
}

#[test]
fn a_client_that_returns_no_challenge_is_at_fault_and_not_the_server() {
    let left =
        rounds(4, |_, at| format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  FFFFFFFF 41 le32:7\n"));
    let report = diagnosed(&left);
    assert_eq!(item(&report, "clients", "ask.challenge"), "no challenge_not_returned");
    assert_eq!(item(&report, "servers", "seen.verified"), "unknown challenge_not_returned");
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown challenge_not_returned");
    let returned = rounds(4, |_, at| {
        format!(
            "{at}.0 c > s  {INFO}\n{at}.02 s > c  FFFFFFFF 41 le32:7\n{at}.03 c > s  {INFO} le32:7\n\
             {at}.05 s > c  {ANSWER}\n"
        )
    });
    let report = diagnosed(&returned);
    assert_eq!(item(&report, "clients", "ask.challenge"), "yes");
    assert_eq!(report["clients"][0]["verdict"], "ok");
    assert_eq!(report["servers"][0]["verdict"], "ok");
}

#[test]
fn challenges_that_no_client_returns_are_filtered() {
    let script = rounds(3, |nth, at| {
        let client = ["c", "d", "e"][nth as usize];
        format!("{at}.0 {client} > s  {INFO}\n{at}.02 s > {client}  FFFFFFFF 41 le32:7\n")
    });
    let report = diagnosed(&script);
    assert_eq!(item(&report, "servers", "seen.verified"), "no challenge_filtered");
    assert_eq!(item(&report, "clients", "ask.challenge"), "unknown challenge_filtered");
}

#[test]
fn a_challenge_from_another_port_or_as_text_is_named() {
    let port = rounds(3, |_, at| {
        format!(
            "{at}.0 c:50001 > s  FFFFFFFF 55 FFFFFFFF\n{at}.02 s > c:50001  FFFFFFFF 41 le32:70000\n\
             {at}.03 c:50002 > s  FFFFFFFF 55 le32:70000\n{at}.05 s > c:50002  FFFFFFFF 41 le32:80000\n"
        )
    });
    assert_eq!(item(&diagnosed(&port), "clients", "ask.challenge"), "no challenge_other_port");
    let text = rounds(3, |_, at| format!("{at}.0 c > s  FFFFFFFF 55 '4294967295'\n"));
    let report = diagnosed(&text);
    assert_eq!(item(&report, "clients", "ask.wellformed"), "no challenge_as_text");
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown request_wrong");
    for text in ["ffffffff", "0x11126f1c", "null"] {
        let script = rounds(3, |_, at| format!("{at}.0 c > s  FFFFFFFF 55 '{text}'\n"));
        let wellformed = item(&diagnosed(&script), "clients", "ask.wellformed");
        assert_eq!(wellformed, "no challenge_as_text", "{text}");
    }
}

#[test]
fn a_limit_that_lets_the_first_of_a_burst_pass_is_one() {
    let bursts = |answered: u32| {
        let request = |at: u32, nth: u32| {
            let port = 50_000 + nth;
            let mut script = format!("{at}.{nth}0 c:{port} > s  {INFO}\n");
            if nth < answered {
                writeln!(script, "{at}.{nth}2 s > c:{port}  {ANSWER}").unwrap();
            }
            script
        };
        let burst = |at: u32| (0..9).map(|nth| request(at, nth)).collect::<String>();
        let report = diagnosed(&rounds(5, |_, at| burst(at)));
        let item = item(&report, "servers", "seen.answered");
        (item, report["servers"][0]["items"].to_string())
    };
    let (answered, items) = bursts(6);
    assert_eq!(answered, "no rate_limited");
    assert!(items.contains("requests after the first 6 of a client within 1.0s"), "{items}");
    assert_eq!(bursts(9).0, "yes");
}

#[test]
fn words_and_zeros_in_place_of_responses_are_named() {
    let answers = |bytes: &str| {
        let script = rounds(4, |_, at| format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  {bytes}\n"));
        item(&diagnosed(&script), "servers", "seen.readable")
    };
    assert_eq!(answers("FFFFFFFF 6C 'Banned by server.' 0A 00"), "no refused_in_words");
    assert_eq!(answers("FFFFFFFF 65 'Update your client' 00"), "no other_protocol");
    assert_eq!(answers("00*40"), "no zero_filled");
    assert_eq!(answers(ANSWER), "yes");
    let text = |bytes: &str| {
        let script = rounds(4, |_, at| format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  {bytes}\n"));
        let report = diagnosed(&script);
        shown(&report, "servers", 0, "seen.readable")["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text("00*40"), "4 of 4 responses hold only zeros");
    assert_eq!(text("''"), "4 of 4 responses are empty");
}

/// What one client of several gets is said, and that it got something.
#[test]
fn the_client_that_is_refused_is_named() {
    let script = rounds(24, |nth, at| {
        let refused =
            format!("{at}.5 d > s  {INFO}\n{at}.52 s > d  FFFFFFFF 6C 'Banned by server.' 0A 00\n");
        let refused = if nth % 12 == 0 { refused } else { String::new() };
        format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n{refused}")
    });
    let report = diagnosed(&script);
    assert_eq!(item(&report, "servers", "seen.readable"), "unknown refused_in_words");
    assert_eq!(item(&report, "servers", "seen.answered"), "yes");
    let items = report["servers"][0]["items"].to_string();
    assert!(items.contains("Banned by server.\\\" to 10.0.1.1"), "{items}");
    assert!(items.contains("26 of 26 requests, 2 of them with something else"), "{items}");
}

#[test]
fn words_are_shown_where_only_one_direction_was_recorded() {
    let script = rounds(6, |_, at| {
        format!("{at}.0 s > c  {ANSWER}\n{at}.1 s > d  FFFFFFFF 6C 'Banned by server.' 0A 00\n")
    });
    let report = diagnosed(&script);
    assert_eq!(item(&report, "servers", "seen.readable"), "no refused_in_words", "{report}");
    let whole = diagnosed(&rounds(6, |_, at| format!("{at}.0 s > c  {ANSWER}\n")));
    assert_eq!(item(&whole, "servers", "seen.readable"), "yes", "{whole}");
}

/// Now and then, but only requests of one kind.
#[test]
fn a_kind_of_which_some_are_unanswered_is_named() {
    let script = rounds(24, |nth, at| {
        let players = if nth % 3 == 1 { "" } else { "s > c  FFFFFFFF 44 00" };
        let players = players.replace("s > c", &format!("{at}.22 s > c"));
        format!(
            "{at}.0 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n{at}.1 c > s  FFFFFFFF 55 FFFFFFFF\n\
             {at}.12 s > c  FFFFFFFF 41 le32:7\n{at}.2 c > s  FFFFFFFF 55 le32:7\n{players}\n"
        )
    });
    let report = diagnosed(&script);
    assert_eq!(item(&report, "servers", "seen.answered"), "no sometimes_unanswered");
    let items = report["servers"][0]["items"].as_array().unwrap();
    let by = items.iter().find_map(|item| item.get("by")).unwrap();
    assert_eq!(by["kind"], "player_request", "{report}");
}

/// The document exempts Counter-Strike: Source, and not the games of GoldSource. The game is the server's, whatever
/// socket it was told to.
#[test]
fn pings_are_owed_by_some_games() {
    let pinged = |app: &str, protocol: &str| {
        let answer = ANSWER.replace("B801", app).replace("49 11", &format!("49 {protocol}"));
        rounds(8, |_, at| {
            format!(
                "{at}.0 c:50001 > s  {INFO}\n{at}.02 s > c:50001  {answer}\n{at}.1 c:50002 > s  FFFFFFFF 69\n"
            )
        })
    };
    let report = diagnosed(&pinged("F000", "11"));
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report}");
    let (_project, file) = Project::of_script(&pinged("0A00", "30"), &Setting::udp(27015));
    let run = gamewire(["check", "--no-config", "--complete", &file]);
    assert!(run.out.contains("A2S062"), "{}", run.out);
    let (_project, file) = Project::of_script(&pinged("F000", "11"), &Setting::udp(27015));
    let run = gamewire(["check", "--no-config", "--complete", &file]);
    assert!(!run.out.contains("A2S062"), "{}", run.out);
}

#[test]
fn a_share_of_unanswered_requests_is_a_fault_from_a_tenth_on() {
    let answered = |is_answered: &dyn Fn(u32) -> bool| {
        let script = rounds(30, |nth, at| {
            let mut round = format!("{at}.0 c > s  {INFO}\n");
            if is_answered(nth) {
                writeln!(round, "{at}.02 s > c  {ANSWER}").unwrap();
            }
            round
        });
        diagnosed(&script)
    };
    let share = answered(&|nth| nth % 5 != 2);
    assert_eq!(item(&share, "servers", "seen.answered"), "no sometimes_unanswered");
    let period = answered(&|nth| !(10..20).contains(&nth));
    assert_eq!(item(&period, "servers", "seen.answered"), "no silent_period");
    let items = period["servers"][0]["items"].as_array().unwrap();
    let item_of = items.iter().find(|item| item["item"] == "seen.answered").unwrap();
    assert!(item_of["from"].is_string() && item_of["to"].is_string(), "{item_of}");
    assert_eq!(item(&answered(&|nth| nth != 7), "servers", "seen.answered"), "yes");
}

#[test]
fn a_few_wrong_requests_do_not_excuse_many_unanswered_ones() {
    const WRONG: &str = "FFFFFFFF 54 'Source Engine Qeury' 00";
    let info = |at: u32| format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n");
    let players = |at: u32| {
        format!(
            "{at}.1 c > s  FFFFFFFF 55 FFFFFFFF\n{at}.12 s > c  FFFFFFFF 41 le32:7\n\
             {at}.14 c > s  FFFFFFFF 55 le32:7\n"
        )
    };
    let wrong = |at: u32| format!("{at}.2 c > s  {WRONG}\n");
    let is_fault = |round: &dyn Fn(u32, u32) -> String| {
        let report = diagnosed(&rounds(12, round));
        item(&report, "servers", "seen.answered").starts_with("no ")
    };
    assert!(is_fault(&|_, at| info(at) + &players(at)));
    let few = |nth, at| info(at) + &players(at) + &if nth == 5 { wrong(at) } else { String::new() };
    assert!(is_fault(&few));
    assert!(!is_fault(&|_, at| info(at) + &wrong(at)), "the client's are wrong");
}

#[test]
fn a_master_that_never_answers_is_proven_silent_only_in_a_complete_capture() {
    // Nothing of another host is recorded: not even the packet that ends other scripts.
    let ask = |at: u32| format!("{}.0 c > m:27011  31FF '0.0.0.0:0' 00 00\n", at * 20);
    let script: String = (0..4).map(ask).collect();
    let setting = Setting::udp(27015);
    let report = of(&script, &setting, &[]);
    assert_eq!(item(&report, "masters", "master.reached"), "unknown master_silent");
    let report = of(&script, &setting, &["--complete"]);
    assert_eq!(item(&report, "masters", "master.reached"), "no master_silent");
    let listed = "0.0 c > m:27011  31FF '0.0.0.0:0' 00 00\n\
                  0.1 m:27011 > c  FFFFFFFF 660A ip:10.0.0.2:27015 00*6\nend 60";
    assert_eq!(of(listed, &setting, &[])["masters"][0]["verdict"], "ok");
}

#[test]
fn a_broadcast_is_no_server_and_a_probe_is_one() {
    let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let (client, server) = ("10.0.0.1:50000", "10.0.0.2:27015");
    // The last address of a network is one of all of its hosts, too.
    for to in ["255.255.255.255:27015", "10.0.0.255:27015", "10.0.3.255:27015", "10.0.0.63:27015"] {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..4 {
            let at = |ms: u64| START.after((nth * 20_000 + ms) * 1_000_000);
            capture.push(at(0), &Datagram::new(client, to, info).packet());
            capture.push(at(20), &Datagram::new(server, client, answer).packet());
        }
        let (_project, file) = Project::of_capture(capture.pcap());
        let (_, report) = diagnosis::report_of(&file, &[]);
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report}");
        assert_eq!(report["servers"][0]["verdict"], "ok");
        assert_eq!(report["broadcasts"][0]["to"], to);
        assert_eq!(report["broadcasts"][0]["asked"], 4);
        let run = gamewire(["check", "--no-config", &file]);
        assert!(!run.out.contains("A2S065"), "{}", run.out);
    }
    let probe = format!(
        "0.0 c > s:27016  {INFO}\n0.1 c > s:27017  {INFO}\n0.2 c > s  {INFO}\n0.22 s > c  {ANSWER}\nend 60"
    );
    let report = diagnosed(&probe);
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["servers"][0]["probed"].as_array().unwrap().len(), 2);
}

#[test]
fn a_broadcast_that_nobody_answers_is_one_line() {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..4 {
        let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
        let asked = Datagram::new("10.0.0.1:50000", "10.0.0.255:27015", info);
        capture.push(START.after(nth * 20_000_000_000), &asked.packet());
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    for format in ["text", "markdown"] {
        let run = gamewire(["diagnose", "--no-config", "--format", format, &file]);
        let line = "10.0.0.255:27015 (several hosts): asked 4 times, and none answers";
        assert!(run.out.contains(line), "{}", run.out);
        assert_eq!(run.code, 0);
    }
}

#[test]
fn one_server_recorded_before_and_behind_nat() {
    let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let other = b"\xFF\xFF\xFF\xFFI\x11B\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let (client, outside, inside) = ("203.0.113.9:50000", "203.0.113.7:27015", "172.18.0.2:27015");
    let servers = |inner: &[u8]| {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..3 {
            let at = |us: u64| START.after((nth * 20_000_000 + us) * 1_000);
            capture.push(at(0), &Datagram::new(client, outside, info).packet());
            capture.push(at(30), &Datagram::new(client, inside, info).packet());
            capture.push(at(400), &Datagram::new(inside, client, inner).packet());
            capture.push(at(430), &Datagram::new(outside, client, answer).packet());
        }
        let (_project, file) = Project::of_capture(capture.pcap());
        let (_, report) = diagnosis::report_of(&file, &[]);
        report["servers"].as_array().unwrap().clone()
    };
    let one = servers(answer);
    assert_eq!(one.len(), 1, "{one:#?}");
    assert_eq!(one[0]["server"], outside);
    assert_eq!(one[0]["addresses"][1]["role"], "nat");
    assert_eq!(servers(other).len(), 2, "they say different things");
}

#[test]
fn a_port_that_joins_and_one_that_answers_are_one_server() {
    let answers: String = (0..3_u32)
        .map(|nth| {
            format!("{0}.0 c > s:27015  {INFO}\n{0}.02 s:27015 > c  {ANSWER}\n", 5 + nth * 5)
        })
        .collect();
    let join = "0.0 s:61234 > m:27011  71\n0.02 m:27011 > s:61234  FFFFFFFF 730A le32:7\n";
    let report = diagnosed(&format!("{join}{answers}end 60"));
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["servers"][0]["server"], "10.0.0.2:27015");
    assert_eq!(report["servers"][0]["addresses"][0]["role"], "query", "its own is the first");
    assert_eq!(report["servers"][0]["addresses"][1]["role"], "join");
    assert_eq!(item(&report, "servers", "reg.join"), "yes");
}

#[test]
fn a_heartbeat_that_names_a_port_on_which_nothing_responds() {
    let script = r"0.0 s:7779 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\'
1.0 m:40001 > s:7778  '\\basic\\'
1.01 s:7778 > m:40001  icmp=3.3
2.0 c > s:7788  '\\info\\'
2.02 s:7788 > c  '\\hostname\\A\\mapname\\M\\numplayers\\0\\maxplayers\\8\\queryid\\1.1\\final\\'
end 60";
    let report = of(script, &Setting::udp(7778), &[]);
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["servers"][0]["server"], "10.0.0.2:7788");
    assert_eq!(item(&report, "servers", "list.address"), "no heartbeat_names_other_port");
}

#[test]
fn what_responses_say_may_not_be_true() {
    let players = |names: [&str; 4]| {
        let entry = |(nth, name): (usize, &str)| format!("{nth:02} '{name}' 00 00000000 f32:9.5 ");
        let list: String = names.into_iter().enumerate().map(entry).collect();
        format!(
            "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 le32:7\n0.03 c > s  FFFFFFFF 55 le32:7\n\
             0.05 s > c  FFFFFFFF 44 04 {list}\nend 20"
        )
    };
    let believable = |script: &str| item(&diagnosed(script), "servers", "seen.believable");
    assert_eq!(believable(&players(["", "", "", "A"])), "unknown names_missing");
    assert_eq!(believable(&players(["", "", "B", "A"])), "yes");
    let status = |players: u8| {
        let script = format!(
            r"0.0 c > s  '\\status\\'
0.02 s > c  '\\gamename\\ut\\hostname\\A\\mapname\\M\\numplayers\\{players}\\maxplayers\\8\\player_0\\Ann\\player_1\\Bob\\queryid\\1.1\\final\\'
end 20"
        );
        item(&of(&script, &Setting::udp(7778), &[]), "servers", "seen.believable")
    };
    assert_eq!(status(0), "unknown counts_disagree");
    assert_eq!(status(2), "yes");
}

#[test]
fn one_kind_of_gamespy_query_is_never_answered() {
    let script = rounds(4, |_, at| {
        format!(
            "{at}.0 c > s  '\\\\status\\\\'\n{0}.0 c > s  '\\\\basic\\\\'\n\
             {0}.02 s > c  '\\\\gamename\\\\ut\\\\gamever\\\\1\\\\queryid\\\\1.1\\\\final\\\\'\n",
            at + 4
        )
    });
    let report = of(&script, &Setting::udp(7778), &[]);
    let answered = item(&report, "servers", "seen.answered");
    assert_eq!(answered, "no only_info_answered");
    assert!(report["servers"][0]["items"].to_string().contains("status"), "{report:#}");
    // Of two kinds that are answered, neither is the only one.
    let info =
        "'\\\\hostname\\\\A\\\\mapname\\\\m\\\\numplayers\\\\0\\\\queryid\\\\2.1\\\\final\\\\'";
    let info = |at: u32| format!("{at}.0 c > s  '\\\\info\\\\'\n{at}.02 s > c  {info}\n");
    let both = format!("{}{script}", (0..4).map(|nth| info(nth * 20 + 8)).collect::<String>());
    let mut lines: Vec<_> = both.lines().collect();
    lines.sort_by_key(|line| {
        line.split('.').next().and_then(|at| at.parse::<u32>().ok()).unwrap_or(999)
    });
    let report = of(&lines.join("\n"), &Setting::udp(7778), &[]);
    let answered = item(&report, "servers", "seen.answered");
    assert_eq!(answered, "no only_some_kinds_answered", "{report:#}");
}

/// The text protocol and GameSpy 4, too, are answered by other programs.
#[test]
fn other_protocols_are_answered_with_words_and_zeros_too() {
    let readable = |port: u16, request: &str, bytes: &str| {
        let script =
            rounds(4, |_, at| format!("{at}.0 c > s  {request}\n{at}.02 s > c  {bytes}\n"));
        let report = of(&script, &Setting::udp(port), &[]);
        item(&report, "servers", "seen.readable")
    };
    let text = |bytes: &str| readable(7778, r"'\\info\\'", bytes);
    assert_eq!(text("00*40"), "no zero_filled");
    assert_eq!(text("'You are blocked.'"), "no refused_in_words");
    assert_eq!(text("02 'some' 05 'thing' 00 01 02"), "no other_protocol");
    let words = |bytes: &str| readable(25565, "FEFD09 10203040", bytes);
    assert_eq!(words("'You are blocked.'"), "no refused_in_words");
    assert_eq!(words("'Hello from another program'"), "no other_protocol");
}

/// A client sends the challenge 0, and gets no answer where others do.
#[test]
fn a_challenge_of_zero_that_nobody_gave_is_the_clients_fault() {
    let zero = "c:50001 > s  FFFFFFFF 55 00000000";
    let asks = |other: &str| {
        let script =
            rounds(5, |_, at| format!("{at}.0 {zero}\n{other}").replace("AT", &at.to_string()));
        diagnosed(&script)
    };
    let well = "AT.10 d > s  FFFFFFFF 55 FFFFFFFF\nAT.12 s > d  FFFFFFFF 41 le32:7\n\
                AT.13 d > s  FFFFFFFF 55 le32:7\nAT.15 s > d  FFFFFFFF 44 00\n";
    let report = asks(well);
    let clients = report["clients"].as_array().unwrap();
    let wrong = clients.iter().find(|it| it["verdict"] == "fault").expect("a client at fault");
    assert_eq!(
        diagnosis::verdict_of(wrong, "ask.wellformed"),
        ["no", "challenge_wrong"].map(str::to_owned)
    );
    assert_eq!(item(&report, "servers", "seen.answered"), "yes", "{report:#}");
    // Nobody is answered: the challenge is no reason.
    let report = asks("");
    assert_ne!(item(&report, "clients", "ask.wellformed"), "no challenge_wrong", "{report:#}");
}

/// The item of a party.
fn shown<'r>(report: &'r Value, kind: &str, party: usize, name: &str) -> &'r Value {
    let items = report[kind][party]["items"].as_array().unwrap();
    items.iter().find(|it| it["item"] == name).unwrap()
}

#[test]
fn a_client_that_gets_responses_in_another_protocol_asks_in_the_wrong_one() {
    let status =
        r"'\\gamename\\ut\\hostname\\My server\\numplayers\\0\\maxplayers\\8\\final\\\\queryid\\";
    for answers in [true, false] {
        let script = rounds(4, |nth, at| {
            let answer = format!("{at}.02 s > c  {status}{nth}.1'\n");
            let answer = if answers { answer } else { String::new() };
            format!(
                "{at}.0 c > s  {INFO}\n{answer}{at}.5 d > s  '\\\\status\\\\'\n\
                 {at}.52 s > d  {status}1{nth}.1'\n"
            )
        });
        let report = of(&script, &Setting::udp(7778), &[]);
        let asks = |at: usize| shown(&report, "clients", at, "ask.protocol");
        assert_eq!(asks(0)["cause"], "wrong_protocol", "{report:#}");
        assert_eq!(asks(1)["verdict"], "yes", "{report:#}");
        assert_eq!(item(&report, "servers", "seen.readable"), "yes", "{report:#}");
        let answered = shown(&report, "servers", 0, "seen.answered")["text"].as_str().unwrap();
        assert!(answered.ends_with("; 4 are owed none, by a fault of the client"), "{answered}");
    }
}

/// A program that tries one protocol after the other finds the right one.
#[test]
fn a_client_that_is_answered_in_the_right_protocol_has_found_it() {
    let status =
        r"'\\gamename\\ut\\hostname\\My server\\numplayers\\0\\maxplayers\\8\\final\\\\queryid\\";
    let of_rounds =
        |round: &dyn Fn(u32, u32) -> String| of(&rounds(5, round), &Setting::udp(7778), &[]);
    let right = |nth: u32, at: u32| {
        format!("{at}.5 c:40000 > s  '\\\\status\\\\'\n{at}.52 s > c:40000  {status}{nth}.1'\n")
    };
    let tries = of_rounds(&|nth, at| format!("{at}.0 c > s  {INFO}\n{}", right(nth, at)));
    assert_eq!(item(&tries, "clients", "ask.protocol"), "yes", "{tries:#}");
    assert_eq!(item(&tries, "servers", "seen.answered"), "yes", "{tries:#}");
    assert_eq!(tries["clients"][0]["verdict"], "ok", "{tries:#}");
    // Not so one that leaves the right one for another.
    let leaves = of_rounds(&|nth, at| {
        if nth < 2 { right(nth, at) } else { format!("{at}.0 c > s  {INFO}\n") }
    });
    assert_eq!(item(&leaves, "clients", "ask.protocol"), "no wrong_protocol", "{leaves:#}");
    let text = shown(&leaves, "clients", 0, "ask.protocol")["text"].as_str().unwrap();
    assert!(text.contains("which answers in GameSpy"), "{text}");
}

#[test]
fn what_a_server_owes_nothing_for_is_no_fault_of_anybody_else() {
    let answered = |report: &Value| shown(report, "servers", 0, "seen.answered")["text"].clone();
    let malformed = rounds(4, |_, at| {
        format!(
            "{at}.0 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n\
             {at}.1 d > s  FFFFFFFF 54 'Source Engine' 00\n"
        )
    });
    let report = diagnosed(&malformed);
    let excused = "4 of 8 requests; 4 are owed none, by a fault of the client";
    assert_eq!(answered(&report), excused, "{report:#}");
    let wrong = report["clients"].as_array().unwrap().iter().find(|it| it["verdict"] == "fault");
    let wrong = wrong.unwrap();
    assert_eq!(wrong["cause"], "request_malformed");
    assert_ne!(diagnosis::verdict_of(wrong, "ask.answered")[0], "no", "{wrong:#}");
    let left = rounds(8, |nth, at| {
        let returned = format!("{at}.03 c > s  {INFO} le32:7\n{at}.05 s > c  {ANSWER}\n");
        let returned = if nth % 2 == 0 { returned } else { String::new() };
        format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  FFFFFFFF 41 le32:7\n{returned}")
    });
    let excused = "4 of 8 requests; 4 are owed none: their challenges were not returned";
    assert_eq!(answered(&diagnosed(&left)), excused);
}

/// Who gets the challenge from elsewhere cannot return it, and the sum counts each exchange.
#[test]
fn a_challenge_from_elsewhere_is_no_fault_of_the_client() {
    let round = |_: u32, at: u32| {
        format!(
            "{at}.0 c > s  FEFD 09 00000007\n{at}.02 s:49153 > c  09 00000007 '9513307' 00\n{}",
            of_gamespy4("d", at + 3, "0091295B")
        )
    };
    let report = of(&rounds(4, round), &Setting::udp(6500), &[]);
    assert_eq!(item(&report, "servers", "seen.from_asked"), "no answers_from_other_port");
    let answered = shown(&report, "servers", 0, "seen.answered")["text"].as_str().unwrap();
    assert_eq!(
        answered,
        "4 of 8 requests; in 4, the challenge did not come where the client waits for it"
    );
}

/// An exchange of GameSpy 4 that returns this challenge for 0091295B.
fn of_gamespy4(client: &str, at: u32, returned: &str) -> String {
    let answer =
        "00 00000007 'splitnum' 00 80 00 'hostname' 00 'A' 00 'numplayers' 00 '0' 00 00 00";
    let answered = format!("{at}.05 s > {client}  {answer}\n");
    let answered = if returned == "0091295B" { answered } else { String::new() };
    format!(
        "{at}.0 {client} > s  FEFD 09 00000007\n{at}.02 s > {client}  09 00000007 '9513307' 00\n\
         {at}.03 {client} > s  FEFD 00 00000007 {returned} FFFFFF01\n{answered}"
    )
}

/// Also of the last one, whose answer would not be due yet.
#[test]
fn each_wrong_challenge_is_owed_nothing() {
    let both = |at| of_gamespy4("c", at, "0091295C") + &of_gamespy4("d", at + 2, "0091295B");
    let script: String = (0..4).map(|nth| both(nth * 20)).collect();
    let report = of(&format!("{script}end 63"), &Setting::udp(6500), &[]);
    let answered = shown(&report, "servers", 0, "seen.answered");
    assert_eq!(answered["verdict"], "yes", "{report:#}");
    let text = "4 of 8 requests; 4 are owed none, by a fault of the client";
    assert_eq!(answered["text"], text, "{report:#}");
}

#[test]
fn a_count_that_met_a_limit_says_so() {
    let (_, report) = diagnosis::report_of("samples/abuse-query-flood.pcap", &[]);
    let of = |server: usize| {
        let asked = shown(&report, "servers", server, "seen.asked");
        (asked["text"].as_str().unwrap().starts_with("at least"), asked["at_least"] == true)
    };
    let servers = Vec::from_iter((0..report["servers"].as_array().unwrap().len()).map(of));
    assert!(servers.contains(&(true, true)), "{servers:?}");
    assert!(servers.iter().all(|(says, has)| says == has), "{servers:?}");
}

#[test]
fn the_kind_that_is_never_answered_is_what_they_have_in_common() {
    let script = rounds(6, |_, at| {
        format!(
            "{at}.0 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n{at}.1 c > s  FFFFFFFF 55 FFFFFFFF\n\
             {at}.12 s > c  FFFFFFFF 41 le32:7\n{at}.13 c > s  FFFFFFFF 55 le32:7\n"
        )
    });
    let report = diagnosed(&script);
    let answered = shown(&report, "servers", 0, "seen.answered");
    assert_eq!(answered["cause"], "challenged_request_unanswered");
    assert_eq!(answered["by"]["kind"], "player_request", "{answered:#}");
}
