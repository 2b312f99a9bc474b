//! What a capture lacks is no fault of anybody: packets that were cut by the snap length, lost segments of a stream, a
//! late start. And of several servers, each with troubles is explained.

use crate::support::diagnosis::{self, item};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

/// A script's capture in which packets longer than this are cut, in a file.
fn cut_file(script: &str, port: u16, most: usize) -> (Project, String) {
    let mut capture = captures::exchange::capture(script, &Setting::udp(port)).unwrap();
    capture.packets = capture.packets.into_iter().map(|packet| packet.snapped(most)).collect();
    Project::of_capture(capture.pcap())
}

/// The diagnosis of that capture.
fn cut(script: &str, port: u16, most: usize) -> Value {
    let (_project, file) = cut_file(script, port, most);
    diagnosed(&file)
}

fn diagnosed(file: &str) -> Value {
    diagnosis::report_of(file, &[]).1
}

fn of_script(script: &str, port: u16) -> Value {
    diagnosis::diagnosed(script, &Setting::udp(port), &[]).1
}

#[test]
fn fragments_that_were_cut_are_not_lost() {
    let response = "FFFFFFFF 45 0100 'a' 00 'b'*400 00";
    let script = format!("1.0 c > s  FFFFFFFF 56 le32:7\n1.02 s > c frag=256  {response}\nend 60");
    assert_eq!(item(&cut(&script, 27015, 2000), "servers", "seen.whole"), "yes");
    let report = cut(&script, 27015, 96);
    assert_eq!(item(&report, "servers", "seen.whole"), "unknown capture_drops");
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
    let (_project, file) = cut_file(&script, 27015, 96);
    let run = gamewire(["check", "--no-config", &file]);
    let of = |code: &str| run.out.lines().find(|line| line.starts_with(code)).unwrap().to_owned();
    assert!(of("NET001").contains(" fail "), "{}", run.out);
    assert!(of("NET005").contains(" inconclusive "), "{}", run.out);
}

#[test]
fn text_that_was_cut_is_no_other_protocol() {
    let answer =
        r"'\\gamename\\deusex\\gamever\\1100\\location\\0\\hostname\\A\\queryid\\1.1\\final\\'";
    let rounds: String = (0..4_u32)
        .map(|nth| format!("{nth}.0 c > s  '\\\\basic\\\\'\n{nth}.02 s > c  {answer}\n"))
        .collect();
    let report = cut(&format!("{rounds}end 60"), 7778, 68);
    let readable = item(&report, "servers", "seen.readable");
    assert!(!readable.starts_with("no"), "{report:#}");
}

#[test]
fn a_challenge_that_was_cut_off_may_have_been_returned() {
    let round = |nth: u32| {
        let (at, port) = (f64::from(nth) / 5.0, 50_000 + nth);
        format!(
            "{at:.3} c:{port} > s  {INFO}\n{0:.3} s > c:{port}  FFFFFFFF 41 le32:7\n\
             {1:.3} c:{port} > s  {INFO} le32:7\n{2:.3} s > c:{port}  {ANSWER}\n",
            at + 0.001,
            at + 0.021,
            at + 0.022,
        )
    };
    let script: String = (0..60).map(round).collect::<String>() + "end 60";
    // The challenge begins at byte 67.
    for most in [2000, 67, 68] {
        let (_project, file) = cut_file(&script, 27015, most);
        let run = gamewire(["abuse", "--no-config", "--format", "json", &file]);
        let found: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(found["attacks"].as_array().unwrap().len(), 0, "{most}: {found:#}");
        let run = gamewire(["check", "--no-config", &file]);
        assert!(!run.out.contains("error SEC005"), "{most}: {}", run.out);
    }
}

#[test]
fn a_join_port_is_known_without_its_join() {
    let rest = format!(
        "0.02 m:27011 > s:61234  FFFFFFFF 730A le32:7\n\
         5.0 c > s:27015  {INFO}\n5.02 s:27015 > c  {ANSWER}\n\
         6.0 c > m:27011  31 FF '0.0.0.0:0' 00 00\n\
         6.02 m:27011 > c  FFFFFFFF 660A 0A000002EF32 00000000 0000\nend 60"
    );
    for script in [format!("0.0 s:61234 > m:27011  71\n{rest}"), rest] {
        let report = of_script(&script, 27015);
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
        assert_eq!(item(&report, "servers", "list.listed"), "yes", "{report:#}");
    }
}

#[test]
fn one_challenge_after_others_that_were_passed_is_a_restart() {
    let beat = |at: u32| {
        format!("{at}.00 s:7778 > m:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\n")
    };
    let validated = |at: u32| {
        format!(
            "{at}.02 m:27900 > s:7778  '\\\\basic\\\\\\\\secure\\\\XDWAOR'\n\
             {at}.03 s:7778 > m:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\validate\\\\3JOdDFU5\\\\final\\\\'\n"
        )
    };
    let script = |last: u32| {
        let all = (0..=last).map(|nth| {
            beat(nth * 60) + &if nth == 0 || nth > 3 { validated(nth * 60) } else { String::new() }
        });
        all.collect::<String>() + &format!("end {}", last * 60 + 20)
    };
    assert_eq!(item(&of_script(&script(4), 7778), "servers", "reg.accepted"), "yes");
    assert_eq!(
        item(&of_script(&script(8), 7778), "servers", "reg.accepted"),
        "no rechallenged_always"
    );
}

#[test]
fn a_client_that_appends_the_challenge_0_is_named_however_often_it_asks() {
    let round = |nth: u32| {
        let at = nth * 6;
        format!(
            "{at}.0 c > s  FEFD 09 be32:{nth}\n{at}.02 s > c  09 be32:{nth} '0' 00\n\
             {at}.04 c > s  FEFD 00 be32:{nth} be32:0 FFFFFF01\n"
        )
    };
    for times in [4, 30] {
        let script: String = (1..times).map(round).collect::<String>() + "end 900";
        let report = of_script(&script, 6500);
        assert_eq!(
            item(&report, "clients", "ask.wellformed"),
            "no challenge_zero_sent",
            "{times}: {report:#}"
        );
    }
}

#[test]
fn a_request_to_a_server_of_which_nothing_was_recorded_is_not_doubted() {
    let round = |nth: u32, heard: &str| {
        format!(
            "{nth}.0 c > s  FEFD 09 be32:{nth}\n{heard}{nth}.04 c > s  FEFD 00 be32:99 be32:7 FFFFFF01\n"
        )
    };
    let heard = |nth: u32| format!("{nth}.02 s > c  09 be32:{nth} '7' 00\n");
    let both: String = (1..5).map(|nth| round(nth * 6, &heard(nth * 6))).collect();
    let one_way: String = (1..5).map(|nth| round(nth * 6, "")).collect();
    let wellformed =
        |script: String| item(&of_script(&(script + "end 90"), 6500), "clients", "ask.wellformed");
    assert_eq!(wellformed(both), "no session_changed");
    assert_eq!(wellformed(one_way), "yes");
}

#[test]
fn requests_that_are_wrong_accuse_no_server_however_soon_they_follow_each_other() {
    let script: String = (0..3)
        .map(|nth| {
            let at = 2 * nth;
            format!(
                "{at}.0 c > s  FEFD 09 be32:{nth}\n{at}.02 s > c  09 be32:{nth} '7' 00\n\
                 {at}.04 c > s  FEFD 00 be32:99 be32:7 FFFFFF01\n"
            )
        })
        .collect();
    let report = of_script(&(script + "end 30"), 6500);
    assert_eq!(item(&report, "clients", "ask.wellformed"), "no session_changed");
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown request_wrong", "{report:#}");
}

/// What sixty players send, or as many sources as packets; and whether the server answers a query.
fn toward_a_server(is_crowd: bool, answers: bool) -> Capture {
    let (client, server) = ("10.0.0.1:50000", "10.0.0.2:27015");
    let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let mut capture = Capture::new(Link::Ethernet);
    capture.push(START, &Datagram::new(client, server, info).packet());
    if answers {
        capture.push(START.after_ms(20), &Datagram::new(server, client, answer).packet());
    }
    for nth in 0..6_120_u64 {
        let player = if is_crowd { nth } else { nth % 60 };
        let from = format!("198.51.{}.{}:27005", 1 + player / 250, 1 + player % 250);
        let bytes = [&nth.to_be_bytes()[..], &[7; 80][..nth as usize % 60 + 20]].concat();
        let at = START.after(1_000_000_000 + nth * 555_000);
        capture.push(at, &Datagram::new(&from, server, &bytes).packet());
    }
    capture.push(START.after_ms(60_000), &Datagram::new(client, "10.0.0.3:9", b"\0").packet());
    capture
}

#[test]
fn players_of_whom_one_direction_was_recorded_are_no_flood() {
    for (is_crowd, answers, verdict) in
        [(false, false, "inconclusive"), (false, true, "inconclusive"), (true, false, "fail")]
    {
        let (_project, file) = Project::of_capture(toward_a_server(is_crowd, answers).pcap());
        let run = gamewire(["abuse", "--no-config", &file]);
        // A server that answers queries may hang nevertheless: another program answers for it.
        let why = if answers { "hangs or has ended" } else { "record both directions" };
        let is_open = run.out.contains(why);
        assert_eq!(is_open, verdict == "inconclusive", "{is_crowd} {answers}: {}", run.out);
        assert_eq!(run.out.starts_with("no attack"), is_open, "{}", run.out);
        let run = gamewire(["check", "--no-config", &file]);
        let rule = run.out.lines().find(|line| line.starts_with("SEC007")).unwrap();
        assert!(rule.contains(&format!(" {verdict} ")), "{is_crowd} {answers}: {rule}");
        assert_eq!(run.out.contains("UNDER ATTACK"), !is_open, "{}", run.out);
        let run = gamewire(["summary", "--no-config", &file]);
        assert_eq!(run.out.contains("is flooded"), !is_open, "{}", run.out);
        let report = diagnosed(&file);
        assert_eq!(
            item(&report, "servers", "attack.none").starts_with("no"),
            !is_open,
            "{report:#}"
        );
    }
}

/// The packets of a sample toward a host, or without its first ones.
fn part_of(sample: &str, keeps: impl Fn(usize, &[u8]) -> bool) -> Value {
    let pcap = std::fs::read(format!("samples/{sample}.pcap")).unwrap();
    let (mut rest, mut kept, mut nth) = (&pcap[24..], pcap[..24].to_vec(), 0);
    while let Some((record, packets)) = rest.split_at_checked(16) {
        let held = u32::from_le_bytes(record[8..12].try_into().unwrap()) as usize;
        nth += 1;
        if keeps(nth, &packets[..held]) {
            kept.extend(&rest[..16 + held]);
        }
        rest = &packets[held..];
    }
    let (_project, file) = Project::of_capture(kept);
    diagnosed(&file)
}

#[test]
fn what_one_direction_does_not_show_is_no_fault() {
    let toward = |host: [u8; 4]| move |_, packet: &[u8]| packet[30..34] == host;
    let report = part_of("valve-master-list", toward([10, 0, 0, 9]));
    assert_eq!(item(&report, "masters", "master.reached"), "unknown master_silent", "{report:#}");
    let report = part_of("diagnose-text-master", toward([10, 0, 0, 2]));
    let joins = item(&report, "servers", "reg.join");
    assert!(!joins.starts_with("no "), "{report:#}");
    // The challenge to its first heartbeat was not recorded.
    let report = part_of("gamespy1-heartbeat", |nth, _| nth > 3);
    let challenged = item(&report, "servers", "reg.challenged");
    assert!(challenged.starts_with("unknown"), "{report:#}");
}

#[test]
fn troubles_of_several_servers_are_explained_below_their_lines() {
    let round = |nth: u32, server: &str, answer: &str| {
        format!("{nth}.0 c > {server}  {INFO}\n{nth}.02 {server} > c  {answer}\n")
    };
    let full = |names: &str| format!("FFFFFFFF 44 08 {names}");
    let nameless = full(&"00 00 le32:0 le32:0 ".repeat(8));
    let players = format!(
        "9.0 c > s2  FFFFFFFF 55 FFFFFFFF\n9.02 s2 > c  FFFFFFFF 41 le32:7\n\
         9.04 c > s2  FFFFFFFF 55 le32:7\n9.06 s2 > c  {nameless}\n"
    );
    let silent: String = (8..12).map(|at| format!("{at}0.0 c > s3  {INFO}\n")).collect();
    let (one, two) = (round(1, "s1", ANSWER), round(2, "s2", ANSWER));
    let script = format!(
        "{one}{two}{players}{silent}150.0 c > s1  {INFO}\n150.02 s1 > c  {ANSWER}\nend 160"
    );
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    let run = gamewire(["diagnose", "--no-config", &file]);
    insta::assert_snapshot!("diagnose-several", run.out);
}

/// The verdict of a rule in `gamewire check`, with its counts: passed, failed, inconclusive.
fn rule_of(script: &str, code: &str) -> (String, [u64; 3]) {
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    let run = gamewire(["check", "--no-config", "--format", "json", &file]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let rules = report["rules"].as_array().unwrap();
    let rule = rules.iter().find(|rule| rule["code"] == code).unwrap();
    let count = |name: &str| rule[name].as_u64().unwrap();
    let counts = ["passed", "failed", "inconclusive"].map(count);
    (rule["verdict"].as_str().unwrap().to_owned(), counts)
}

/// A client opens a new socket for each request, of which the server answers some; this one is never answered, and is
/// judged all the same.
#[test]
fn a_host_is_heard_on_any_flow() {
    let answered: String = (0..4)
        .map(|nth| {
            let at = nth * 10;
            format!("{at}.0 c:500{nth} > s1  {INFO}\n{at}.02 s1 > c:500{nth}  {ANSWER}\n")
        })
        .collect();
    let fails = |script: &str| rule_of(&format!("{script}end 60"), "A2S062");
    let one = format!("{answered}45.0 c:5009 > s1  {INFO}\n");
    assert_eq!(fails(&one), ("fail".to_owned(), [4, 1, 0]));
    // Of another client, too.
    let other = format!("{answered}45.0 d:5009 > s1  {INFO}\n");
    assert_eq!(fails(&other), ("fail".to_owned(), [4, 1, 0]));
    // Not of a host of which nothing was recorded.
    let elsewhere = format!("{answered}45.0 c:5009 > t1  {INFO}\n");
    assert_eq!(fails(&elsewhere), ("pass".to_owned(), [4, 0, 1]));
    // Who answers in another protocol alone owes nothing.
    let other_protocol: String = (0..4)
        .map(|nth| {
            let at = nth * 10;
            format!(
                "{at}.0 c:500{nth} > s1  FEFD 09 00000007\n{at}.02 s1 > c:500{nth}  09 00000007 '9513307' 00\n\
                 {at}.5 d:500{nth} > s1  {INFO}\n"
            )
        })
        .collect();
    assert_eq!(fails(&other_protocol), ("inconclusive".to_owned(), [0, 0, 4]));
}

/// The recorder lost the challenge: what answers it, and what it guards, cannot be judged.
#[test]
fn a_code_whose_challenge_was_lost_proves_nothing() {
    let script = r"0.0 m:28900 > c lost tcp '\\basic\\\\secure\\XDWAOR'
0.1 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
0.2 c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'
0.3 m:28900 > c  tcp '\\ip\\10.0.0.2:7778\\final\\' fin
end 9";
    for code in ["GS1005", "GS1014"] {
        assert_eq!(rule_of(script, code), ("inconclusive".to_owned(), [0, 0, 1]), "{code}");
    }
}

/// Responses from a host that was not asked: each belongs to the only query or request that it can answer.
#[test]
fn responses_from_elsewhere_are_matched_by_what_they_hold() {
    let queries = r"0.0 c:5001 > s:7778  '\\players\\'
0.0 c:5001 > t:7778  '\\info\\'
";
    let answered =
        |text: &str| rule_of(&format!("{queries}0.1 u:7778 > c:5001  '{text}'\nend 9"), "GS1033");
    let of_players = r"\\player_0\\Ann\\frags_0\\3\\queryid\\1.1\\final\\";
    assert_eq!(answered(of_players), ("fail".to_owned(), [0, 1, 0]));
    let of_basic = r"\\gamename\\ut\\gamever\\451\\queryid\\1.1\\final\\";
    assert_eq!(answered(of_basic), ("not_exercised".to_owned(), [0; 3]));
    // A number of few digits is no sure sign of the protocol, but for the timestamp that was sent.
    let challenge = |timestamp: &str| {
        let asked = "0.0 c:5001 > s1:7777  FEFD09 10203040\n";
        let script = format!("{asked}0.1 s1:7778 > c:5001  09 {timestamp} '12\\0'\nend 9");
        rule_of(&script, "GS4033")
    };
    assert_eq!(challenge("10203040"), ("fail".to_owned(), [0, 1, 0]));
    assert_eq!(challenge("10203041"), ("not_exercised".to_owned(), [0; 3]));
}

/// Responses whose requests are not in the capture show that the recorder lost packets: then other requests may have
/// been answered.
#[test]
fn losses_that_show_prove_nothing() {
    let round = |nth: u32| {
        let (at, lost) = (nth * 10, if nth % 3 == 1 { "lost" } else { "" });
        format!("{at}.0 c:500{nth} > s1 {lost} {INFO}\n{at}.02 s1 > c:500{nth}  {ANSWER}\n")
    };
    let all: String = (10..40).map(round).collect();
    let script = format!("{all}450.0 c:5009 > s1  {INFO}\nend 500");
    assert_eq!(rule_of(&script, "A2S062"), ("pass".to_owned(), [20, 0, 1]));
    let report = of_script(&script, 27015);
    assert!(item(&report, "servers", "seen.answered").starts_with("yes"), "{report:#}");
}

/// Only what still waits when a file breaks off may have come later.
#[test]
fn a_file_that_breaks_off_proves_what_was_overdue() {
    let round = |nth: u32| {
        let (at, port) = (nth * 10, 50_000 + 2 * nth);
        format!(
            "{at}.0 c:{port} > s  {INFO}\n{at}.02 s > c:{port}  {ANSWER}\n\
             {at}.1 c:{0} > s  FFFFFFFF 56 FFFFFFFF\n",
            port + 1
        )
    };
    let rounds: String = (0..6).map(round).collect();
    let capture = captures::exchange::capture(&rounds, &Setting::udp(27015)).unwrap().pcap();
    let answered = |bytes: &[u8]| {
        let (_project, file) = Project::of_capture(bytes);
        let run = gamewire(["check", "--no-config", &file]);
        let rule = run.out.lines().find(|line| line.starts_with("A2S062")).map(str::to_owned);
        (item(&diagnosed(&file), "servers", "seen.answered"), rule.unwrap_or_default())
    };
    let (whole, rule) = answered(&capture);
    assert_eq!(whole, "no only_some_kinds_answered");
    let (cut, of_cut) = answered(&capture[..capture.len() - 4]);
    assert_eq!(cut, whole);
    assert!(rule.contains(" fail ") && of_cut.contains(" fail "), "{rule}\n{of_cut}");
}

/// The numbers of packets stand in their headers.
#[test]
fn packets_of_a_response_are_missing_wherever_the_others_were_cut() {
    let split = |nth: u32| {
        let (at, port) = (nth * 10, 50_000 + nth);
        format!(
            "{at}.0 c:{port} > s  FFFFFFFF 56 FFFFFFFF\n\
             {at}.02 s > c:{port}  FEFFFFFF 0{nth}000000 03 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1200\n\
             {at}.03 s > c:{port}  FEFFFFFF 0{nth}000000 03 02 E004 'x'*100 00\n"
        )
    };
    let rounds = (1..6).map(split).collect::<String>() + "end 90";
    for most in [2000, 96] {
        let whole = item(&cut(&rounds, 27015, most), "servers", "seen.whole");
        assert_eq!(whole, "no split_part_missing", "at most {most} bytes");
    }
    let two = |nth: u32| {
        let (at, port) = (nth * 10, 50_000 + nth);
        format!(
            "{at}.0 c:{port} > s  FEFD09 0000000{nth}\n{at}.01 s > c:{port}  09 0000000{nth} '7' 00\n\
             {at}.015 c:{port} > s  FEFD00 0000000{nth} 00000007 FFFFFF01\n\
             {at}.02 s > c:{port}  00 0000000{nth} 'splitnum' 00 00 00 'hostname' 00 'A' 00 'x'*900\n\
             {at}.03 s > c:{port}  00 0000000{nth} 'splitnum' 00 01 01 'player_' 00 00 'Ann' 00 'y'*900\n"
        )
    };
    let rounds = (1..6).map(two).collect::<String>() + "end 90";
    for most in [2000, 96] {
        let whole = item(&cut(&rounds, 6500, most), "servers", "seen.whole");
        assert_eq!(whole, "no split_part_missing", "the last packet is missing; {most} bytes");
    }
}

/// The words that accept or refuse a server are behind the cut.
#[test]
fn what_is_behind_the_cut_proves_nothing() {
    let round = |at: u32, text: &str| {
        format!(
            "{at}.0 s:50000 > m:80  'GET /r?v=1&g=28770 HTTP/1.1' 0D0A 'Host: m' 0D0A0D0A\n\
             {at}.1 m:80 > s:50000  'HTTP/1.1 200 OK' 0D0A 'Content-Length: {}' 0D0A0D0A '{text}'\n",
            text.len()
        )
    };
    let refused = "Server is banned from this master, and could not be registered";
    let accepted = |most: usize| {
        let script = format!("{}end 60", round(1, refused));
        let mut capture = captures::exchange::capture(&script, &Setting::tcp(80)).unwrap();
        capture.packets = capture.packets.into_iter().map(|it| it.snapped(most)).collect();
        let (_project, file) = Project::of_capture(capture.pcap());
        item(&diagnosed(&file), "servers", "reg.accepted")
    };
    assert_eq!(accepted(2000), "no registration_refused");
    assert_eq!(accepted(96), "unknown capture_drops");
}

/// Far too few requests are answered in a capture that lost packets: neither a yes nor a no.
#[test]
fn too_few_answers_are_no_yes_where_the_recorder_lost_packets() {
    let rounds = |is_lossy: bool| {
        let exchange = |nth: u32| {
            let request = format!("{nth}.0 c:{} > s  {INFO}\n", 50_000 + nth);
            let answer = format!("{nth}.02 s > c:{}  {ANSWER}\n", 50_000 + nth);
            match nth % 3 {
                0 => request + &answer,
                1 => request,
                _ if is_lossy => answer,
                _ => String::new(),
            }
        };
        let rounds: String = (0..60).map(exchange).collect();
        format!("{rounds}end 120")
    };
    let answered = |is_lossy: bool| {
        let report = of_script(&rounds(is_lossy), 27015);
        item(&report, "servers", "seen.answered")
    };
    assert!(answered(false).starts_with("no "));
    assert_eq!(answered(true), "unknown capture_drops");
}

/// Of a challenge of ten digits, the zero after it is cut: what the client should return is unknown.
#[test]
fn a_challenge_whose_end_was_cut_is_compared_with_nothing() {
    let rounds: String = [("12345", 0), ("-1001234567", 1), ("77", 2)]
        .iter()
        .map(|(challenge, at)| {
            let number = challenge.parse::<i32>().unwrap().cast_unsigned();
            format!(
                "{at}.00 c > s  FEFD 09 be32:{at}\n{at}.02 s > c  09 be32:{at} '{challenge}' 00\n\
                 {at}.03 c > s  FEFD 00 be32:{at} be32:{number} FFFFFF01\n\
                 {at}.05 s > c  00 be32:{at} 'splitnum' 00 80 00 'hostname' 00 'A' 00 00\n"
            )
        })
        .collect();
    let (_project, file) = cut_file(&format!("{rounds}end 60"), 6500, 58);
    let run = gamewire(["check", "--no-config", &file]);
    assert!(!run.out.contains("error GS4007"), "{}", run.out);
    let report = diagnosed(&file);
    assert_eq!(item(&report, "clients", "ask.wellformed"), "yes", "{report:#}");
}

/// The length of a request shows that the challenge is appended, also where it was cut: the server does not answer.
#[test]
fn a_challenge_that_was_cut_is_returned() {
    let rounds: String = (0..6)
        .map(|nth| {
            let (at, port) = (nth * 10, 50_000 + nth);
            format!(
                "{at}.00 c:{port} > s  {INFO}\n{at}.02 s > c:{port}  FFFFFFFF 41 le32:{nth}7\n\
                 {at}.03 c:{port} > s  {INFO} le32:{nth}7\n"
            )
        })
        .collect();
    for most in [200, 68] {
        let report = cut(&format!("{rounds}end 100"), 27015, most);
        let verified = item(&report, "servers", "seen.verified");
        assert_eq!(verified, "no challenged_request_unanswered", "{most}: {report:#}");
        let returned = item(&report, "clients", "ask.challenge");
        assert!(!returned.starts_with("no"), "{most}: {report:#}");
    }
}

/// Minecraft's plain list has no header: a challenge before it shows what it is.
#[test]
fn a_plain_list_is_no_other_protocol_where_its_request_is_missing() {
    let answers: String = (0..5)
        .map(|nth| {
            format!(
                "{nth}.00 s > c  09 be32:{nth} '9513307' 00\n\
                 {nth}.05 s > c  00 be32:{nth} 'A Minecraft Server' 00 'SMP' 00 'world' 00 '2' 00 '20' 00 DD63 '127.0.0.1' 00\n"
            )
        })
        .collect();
    let report = of_script(&format!("{answers}end 60"), 25565);
    assert_eq!(report["servers"][0]["verdict"], "unknown", "{report:#}");
    assert_eq!(
        item(&report, "servers", "seen.answered"),
        "unknown capture_one_sided",
        "{report:#}"
    );
}
