//! Captures that begin within a connection or between the requests of a client, or end within a response: what is in the
//! capture counts.

use crate::support::diagnosis::{self, item};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::{Setting, capture};
use captures::wire::Capture;
use serde_json::Value;

/// A script's capture with a changed list of packets, in a file.
fn changed(script: &str, setting: &Setting, change: impl Fn(&mut Capture)) -> (Project, String) {
    let mut capture = capture(script, setting).unwrap();
    change(&mut capture);
    Project::of_capture(capture.pcap())
}

/// The diagnosis of a script's capture without its first packets.
fn late(script: &str, setting: &Setting, lost: usize) -> Value {
    let (_project, file) = changed(script, setting, |it| _ = it.packets.drain(..lost));
    diagnosis::report_of(&file, &[]).1
}

/// The verdict of `gamewire check` on a rule, without the first packets.
fn late_rule(script: &str, setting: &Setting, lost: usize, code: &str) -> String {
    let (_project, file) = changed(script, setting, |it| _ = it.packets.drain(..lost));
    let run = gamewire(["check", "--no-config", "--format", "json", &file]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let rules = report["rules"].as_array().unwrap();
    let rule = rules.iter().find(|it| it["code"] == code).unwrap();
    rule["verdict"].as_str().unwrap().to_owned()
}

/// A handshake has three packets.
const HANDSHAKE: std::ops::RangeInclusive<usize> = 0..=3;

#[test]
fn a_response_over_http_belongs_to_its_request() {
    let register = |response: &str| {
        format!(
            r"0.00 s:40000 > m tcp 'GET /r?v=140&g=20700&p=28770 HTTP/1.0\r\n\r\n'
0.02 m > s:40000 tcp 'HTTP/1.0 {response}' fin
0.03 s:40000 > m tcp fin
end 60"
        )
    };
    let accepted = register(r"200 OK\r\n\r\nserver registered");
    let refused = register(r"403 Forbidden\r\n\r\nbanned");
    let setting = Setting::tcp(80);
    for lost in HANDSHAKE {
        let report = late(&accepted, &setting, lost);
        assert_eq!(item(&report, "servers", "reg.accepted"), "yes", "{lost}: {report:#}");
        let report = late(&refused, &setting, lost);
        let verdict = item(&report, "servers", "reg.accepted");
        assert_eq!(verdict, "no registration_refused", "{lost}: {report:#}");
    }
    // A request may be repeated that was recorded before the capture.
    let both = "0.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.1\\r\\n\\r\\n'\n\
                0.02 c > m tcp 'GET /c?build_defs=5 HTTP/1.1\\r\\n\\r\\n'\n\
                0.04 m > c tcp 'HTTP/1.1 403 No\\r\\nContent-Length: 0\\r\\n\\r\\n'\nend 60";
    let report = late(both, &setting, 3);
    assert_ne!(
        item(&report, "masters", "master.accepts"),
        "yes",
        "whose response it is, is unknown"
    );
}

#[test]
fn a_response_that_goes_on_when_the_capture_ends_has_lost_nothing() {
    let response = |headers: &str| {
        format!(
            r"0.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.0\r\n\r\n'
0.02 m > c tcp 'HTTP/1.0 200 OK\r\n{headers}\r\nmasterserver_flags 0\nadds'"
        )
    };
    for headers in ["", r"Content-Length: 900\r\n"] {
        let verdict = |code: &str| late_rule(&response(headers), &Setting::tcp(80), 0, code);
        assert_eq!(verdict("NET006"), "pass");
        assert_eq!(verdict("ACR014"), "inconclusive");
    }
}

#[test]
fn a_list_in_text_is_judged_by_what_is_recorded() {
    let list = |code: &str, answer: &str| {
        format!(
            r"0.00 m > c tcp '\\basic\\\\secure\\XDWAOR'
0.02 c > m tcp '\\gamename\\ut\\location\\0\\validate\\{code}\\final\\'
0.03 c > m tcp '\\list\\\\gamename\\ut\\final\\'
0.05 m > c tcp '{answer}' fin
0.06 c > m tcp fin
end 60"
        )
    };
    let cut = list("3JOdDFU5", r"\\ip\\10.0.0.2:7778\\ip\\10.0.0.3");
    let wrong = list("AAAAAAAA", r"\\echo\\No.\\final\\");
    for lost in HANDSHAKE {
        let verdict =
            |script: &str, code: &str| late_rule(script, &Setting::tcp(28900), lost, code);
        assert_eq!(verdict(&cut, "GS1016"), "fail", "{lost}");
        assert_eq!(verdict(&wrong, "GS1005"), "fail", "{lost}");
    }
}

#[test]
fn a_probe_of_several_ports_is_one_wherever_the_capture_begins() {
    let mut script = String::new();
    for round in 0..5 {
        for (nth, port) in (0..).zip([27016, 27017, 27015]) {
            let at = format!("{}.{nth}", 60 * round);
            let client = 50_000 + 10 * round + nth;
            script += &format!("{at} c:{client} > s:{port}  FFFFFFFF 55 FFFFFFFF\n");
            if port == 27015 {
                script += &format!("{at}5 s:{port} > c:{client}  FFFFFFFF 44 00\n");
            }
        }
    }
    script += "end 400";
    for lost in [0, 1, 2, 3, 5] {
        let report = late(&script, &Setting::udp(27015), lost);
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{lost}: {report:#}");
    }
}

#[test]
fn a_server_that_is_asked_beside_another_one_from_later_on_is_one_of_its_own() {
    let mut script = String::new();
    for round in 0..10 {
        let at = 60 * round;
        script += &format!("{at}.0 c:{at} > s:27015  FFFFFFFF 55 FFFFFFFF\n");
        script += &format!("{at}.1 s:27015 > c:{at}  FFFFFFFF 44 00\n");
        if round >= 5 {
            script += &format!("{at}.2 c:1{at} > s:27016  FFFFFFFF 55 FFFFFFFF\n");
        }
    }
    let report = late(&(script + "end 700"), &Setting::udp(27015), 0);
    assert_eq!(report["servers"].as_array().unwrap().len(), 2, "{report:#}");
}

#[test]
fn fragments_may_follow_the_end_of_the_capture() {
    let request = "FFFFFFFF 56 le32:7";
    let response = "FFFFFFFF 45 0100 'a' 00 'b'*1200 00";
    let round = |at: u32| format!("{at}.0 c > s  {request}\n{at}.1 s > c frag=512  {response}\n");
    let script = round(0) + &round(20);
    let whole = |rest: &str| {
        // The last fragments of the last response are missing, whether the capture goes on or not.
        let script = format!("{script}{rest}");
        let (_project, file) = changed(&script, &Setting::udp(27015), |it| {
            let last = it.packets.iter().filter(|packet| packet.bytes.len() > 300).count();
            let mut seen = 0;
            it.packets.retain(|packet| {
                seen += usize::from(packet.bytes.len() > 300);
                packet.bytes.len() <= 300 || seen < last
            });
        });
        item(&diagnosis::report_of(&file, &[]).1, "servers", "seen.whole")
    };
    assert!(!whole("").starts_with("no"), "{}", whole(""));
    // One of two is too little for a fault.
    assert_eq!(whole("40.0 d > e:9  'x'\nend 60"), "unknown fragment_lost");
}

#[test]
fn a_wrong_request_stays_wrong_if_the_capture_ends_behind_a_challenge() {
    let round = |nth: u32| {
        let at = 6 * nth;
        format!(
            "{at}.0 c > s  FEFD 09 be32:{nth}\n{at}.02 s > c  09 be32:{nth} '7' 00\n\
             {at}.04 c > s  FEFD 00 be32:99 be32:7 FFFFFF01\n"
        )
    };
    let script: String = (0..6).map(round).collect();
    let (_project, file) = changed(&script, &Setting::udp(6500), |it| _ = it.packets.pop());
    let report = diagnosis::report_of(&file, &[]).1;
    assert_eq!(item(&report, "clients", "ask.wellformed"), "no session_changed", "{report:#}");
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown request_wrong");
}

#[test]
fn round_after_round_without_what_should_come_before_is_proof() {
    let players = |second: usize, challenge: &str| {
        format!(
            "{second}.00 c > s  FFFFFFFF 55 {challenge}\n\
             {second}.02 s > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5\n"
        )
    };
    let given = |second: usize| {
        format!(
            "{second}.00 c > s  FFFFFFFF 55 FFFFFFFF\n{second}.02 s > c  FFFFFFFF 41 0D000000\n{}",
            players(second + 1, "0D000000")
        )
    };
    let all = |rounds: &[(usize, &str)]| -> String {
        rounds.iter().map(|&(second, challenge)| players(second, challenge)).collect()
    };
    let (one, two, three) = ("01000000", "02000000", "03000000");
    for (script, expected) in [
        (all(&[(0, one), (5, two)]), "inconclusive"),
        (all(&[(0, one), (5, two), (10, three)]), "fail"),
        (all(&[(0, one), (5, one), (10, one), (15, one)]), "inconclusive"),
        (all(&[(0, one), (1, two), (2, three)]), "inconclusive"),
        (all(&[(0, one), (5, two)]) + &given(10) + &all(&[(20, three)]), "pass"),
    ] {
        let verdict = late_rule(&script, &Setting::udp(27_015), 0, "A2S022");
        assert_eq!(verdict, expected, "{script}");
    }
    // Challenges that no join asks for.
    let challenged = |round: usize| {
        format!(
            "{0}.00 m > s:27015  FFFFFFFF 730A le32:{round}\n\
             {0}.02 s:27015 > m  30 0A '\\\\protocol\\\\48\\\\challenge\\\\{round}' 0A\n",
            round * 300
        )
    };
    let script: String = (0..3).map(challenged).collect();
    assert_eq!(late_rule(&script, &Setting::udp(27_011), 0, "VM041"), "fail");
}

#[test]
fn parts_of_a_response_to_a_request_in_the_capture_show_no_lost_packets() {
    let asked = |client: u16, time: u16| {
        format!(
            "{time}.00 c:{client} > s  FFFFFFFF 56 22D5A14B
{time}.02 s > c:{client}  FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236\n"
        )
    };
    let script = |sockets: u16| {
        let rounds = (0..12).map(|round| asked(40000 + round % sockets, round * 10));
        format!("{}end 140", rounds.collect::<String>())
    };
    for sockets in [1, 12] {
        let (_project, file) = Project::of_script(&script(sockets), &Setting::udp(27015));
        let run = gamewire(["check", "--no-config", &file]);
        assert!(!run.out.contains("NET010"), "{}", run.out);
        assert!(run.out.contains("0 of 12 requests"), "{}", run.out);
    }
    let (_, report) = diagnosis::diagnosed(&script(1), &Setting::udp(27015), &[]);
    assert_eq!(item(&report, "servers", "seen.whole"), "no split_part_missing", "{report:#}");
}

/// A client asks many servers from one socket: the first response may be to a request before the capture, and not to the
/// one that waits.
#[test]
fn a_response_of_a_server_that_was_asked_before_the_capture_is_its_own() {
    const ASK: &str = "FFFFFFFF 54 'Source Engine Query' 00";
    const ANSWER: &str =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let verdict = |at: f64, others: &str, options: &[&str]| {
        let asked = |time: f64, server: char| {
            format!(
                "{time:.2} c:5000 > {server}  {ASK}\n{:.2} {server} > c:5000  {ANSWER}\n",
                time + 0.02
            )
        };
        let mut script: String = others
            .chars()
            .enumerate()
            .map(|(nth, server)| asked(0.1 + nth as f64 * 0.05, server))
            .collect();
        script += &format!(
            "{at:.2} c:5000 > s  {ASK}\n{:.2} t > c:5000  {ANSWER}\nend {:.2}",
            at + 0.03,
            at + 20.0
        );
        let mut lines: Vec<_> = script.lines().collect();
        lines.sort_by_key(|line| {
            let time = line.trim_start_matches("end ").split(' ').next().unwrap();
            (line.starts_with("end"), (time.parse::<f64>().unwrap() * 1000.0) as u64)
        });
        let (_project, file) = Project::of_script(&lines.join("\n"), &Setting::udp(27015));
        let run = gamewire([&["check", "--no-config"], options, &[&file]].concat());
        run.out.lines().any(|line| line.starts_with("warning A2S065"))
    };
    assert!(!verdict(0.0, "ud", &[]), "it may have been asked before");
    assert!(verdict(0.0, "ud", &["--complete"]), "nothing was");
    assert!(verdict(0.0, "", &[]), "no other server is asked from this socket");
    assert!(verdict(9.0, "ud", &[]), "a request before the capture would be too old");
}

#[test]
fn a_challenge_that_comes_at_the_beginning_need_not_answer_another_server() {
    let (info, own) = ("FFFFFFFF 54 'Source Engine Query' 00", "FFFFFFFF 41 11111111");
    let scan = |returned: &str| {
        format!(
            "0.000 c > s  {info}\n0.001 c > t  {info}\n0.040 s > c  {own}\n{returned}\n\
             0.042 t > c  FFFFFFFF 41 22222222\n0.043 c > t  {info} 22222222\nend 60"
        )
    };
    let goes_on = scan(&format!("0.041 c > s  {info} 11111111"));
    assert_eq!(late_rule(&goes_on, &Setting::udp(27015), 1, "A2S065"), "pass");
    // Whoever does not return it may have been answered by the wrong host.
    let stops = scan("0.041 c > t:9  00");
    assert_eq!(late_rule(&stops, &Setting::udp(27015), 1, "A2S065"), "fail");
}

#[test]
fn a_socket_that_was_used_before_the_capture_is_not_new() {
    let page = |host: u8| format!("FFFFFFFF 660A ip:81.20.{host}.1:27015 ip:81.20.{host}.2:27015");
    let (first, second, third) = (page(1), page(2), page(3));
    let query = |seed: &str| format!("31 FF '{seed}' 00 00");
    let [zero, one, two] = ["0.0.0.0:0", "81.20.1.2:27015", "81.20.2.2:27015"].map(query);
    let both = format!(
        "0.00 c > m  {zero}\n0.02 m > c  {first}\n0.10 c1 > m  {zero}\n0.12 m > c1  {first}\n\
         0.20 c > m  {one}\n0.22 m > c  {second}\n0.30 c > m  {two}\n0.32 m > c  {third}\nend 60"
    );
    let setting = Setting::udp(27011);
    assert_eq!(late_rule(&both, &setting, 0, "VM017"), "not_exercised");
    assert_eq!(late_rule(&both, &setting, 6, "VM017"), "not_exercised");
    let other = format!(
        "0.00 c > m  {one}\n0.02 m > c  {second}\n0.10 c1 > m  {zero}\n0.12 m > c1  {first}\n\
         0.20 c2 > m  {two}\n0.22 m > c2  {third}\n0.30 c3 > m  {query}\n0.32 m > c3  {third}\nend 60",
        query = query("81.20.9.9:27015")
    );
    assert_eq!(
        late_rule(&other, &setting, 0, "VM017"),
        "fail",
        "the third socket goes on from the first"
    );
    let (_, inconclusive) = other.split_once("0.10").unwrap();
    let (inconclusive, last) = inconclusive.split_once("0.20").unwrap();
    let (_, last) = last.split_once("0.30").unwrap();
    let script = format!("0.10{inconclusive}0.30{last}");
    assert_eq!(late_rule(&script, &setting, 0, "VM017"), "inconclusive");
}
