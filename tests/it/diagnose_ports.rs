//! `gamewire diagnose`: ports of one host that belong to one server, though none of them answers.

use crate::support::diagnosis::{self, item, rounds};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

/// The report of a script of queries of Source, and the names of its servers.
fn report_of(script: &str) -> (Value, Vec<String>) {
    named(diagnosis::diagnosed(script, &Setting::udp(27015), &[]).1)
}

fn named(report: Value) -> (Value, Vec<String>) {
    let servers = report["servers"].as_array().unwrap().iter();
    let mut names = Vec::from_iter(servers.map(|it| it["server"].as_str().unwrap().to_owned()));
    names.sort_unstable();
    (report, names)
}

/// A packet of the server's host to another one.
fn heard(at: u32) -> String {
    format!("{at}.9 s:40000 > n:53  00\n")
}

/// A client asks these ports, a tenth of a second apart.
fn asked(client: &str, at: u32, ports: &[u16]) -> String {
    let ask = |(nth, port): (usize, &u16)| format!("{at}.{nth} {client} > s:{port}  {INFO}\n");
    ports.iter().enumerate().map(ask).collect()
}

#[test]
fn ports_that_are_probed_in_vain_have_the_name_of_the_first() {
    let (report, names) =
        report_of(&rounds(4, |_, at| asked("c", at, &[27015, 27016, 2303]) + &heard(at)));
    assert_eq!(names, ["10.0.0.2:27015"], "{report:#}");
    assert_eq!(item(&report, "servers", "seen.answered"), "no queries_unanswered");
}

/// Beside a server that answers, too.
#[test]
fn ports_that_are_probed_in_vain_are_one_server_beside_others() {
    let other = |at: u32| format!("{at}.0 d > s:27021  {INFO}\n{at}.1 s:27021 > d  {ANSWER}\n");
    let (report, names) =
        report_of(&rounds(4, |_, at| asked("c", at, &[27015, 27016]) + &other(at + 5)));
    assert_eq!(names, ["10.0.0.2:27015", "10.0.0.2:27021"], "{report:#}");
    // Who asks one port a minute after the other does not look for one.
    let (report, names) = report_of(&rounds(4, |nth, at| {
        let port = if nth % 2 == 0 { 27015 } else { 27016 };
        asked("c", at, &[port]) + &other(at + 5)
    }));
    assert_eq!(names.len(), 3, "{report:#}");
}

/// A tool tries two ports at each poll, and only one of them answers. A poll of one port alone, or a recording that begins
/// between two requests, does not change what the other one is: no server.
#[test]
fn a_port_that_is_mostly_asked_shortly_before_another_is_probed() {
    let port = |at: f64, port| format!("{at:.1} c > s:{port}  {INFO}\n");
    let alone = |at| port(at, 27016);
    let answered = |at: f64| port(at, 27015) + &format!("{:.1} s:27015 > c  {ANSWER}\n", at + 0.1);
    let polls = |count: u32, between: f64| -> String {
        let poll = |nth| alone(60.0 * f64::from(nth)) + &answered(60.0 * f64::from(nth) + between);
        (1..=count).map(poll).collect::<String>() + "end 900"
    };
    let of = |script: &str| {
        let (_project, file) = Project::of_script(script, &Setting::udp(27015));
        let names = named(diagnosis::report_of(&file, &[]).1).1;
        let check = gamewire(["check", "--no-config", "--format", "json", &file]).out;
        let check: Value = serde_json::from_str(&check).unwrap();
        let rules = check["rules"].as_array().unwrap().iter();
        let silent = rules.filter(|it| it["code"] == "NET014").map(|it| it["verdict"].to_string());
        (names.join(" "), silent.collect::<String>())
    };
    let one = ("10.0.0.2:27015".to_owned(), r#""pass""#.to_owned());
    let two = ("10.0.0.2:27015 10.0.0.2:27016".to_owned(), r#""fail""#.to_owned());
    for begin in [String::new(), alone(20.0), answered(20.0)] {
        assert_eq!(of(&(begin + &polls(8, 2.0))), one);
    }
    // Others may ask the one that answers.
    let others: String =
        (1..=8).map(|nth| answered(60.0 * f64::from(nth) + 30.0).replace(" c ", " d ")).collect();
    assert_eq!(of(&(answered(20.0) + &others + &polls(8, 2.0))), one);
    assert_eq!(of(&polls(8, 20.0)), two, "20 seconds apart these are two servers");
    let monitor: String = (1..40).map(|nth| alone(20.0 * f64::from(nth))).collect();
    let script = monitor + &answered(790.0) + "end 900";
    assert_eq!(of(&script), two, "what was asked for ten minutes is a server");
}

/// The port from which it joins is not the one that players ask, whether that answers or not.
#[test]
fn a_port_that_joins_and_one_that_is_silent_are_one_server() {
    let join = "0.0 s:61234 > m:27011  71\n0.02 m:27011 > s:61234  FFFFFFFF 730A le32:7\n";
    let silent = rounds(6, |_, at| asked("c", at + 5, &[27015]));
    let (report, names) = report_of(&(join.to_owned() + &silent));
    assert_eq!(names, ["10.0.0.2:27015"], "{report:#}");
    assert_eq!(item(&report, "servers", "seen.answered"), "no queries_unanswered");
    assert_eq!(item(&report, "servers", "reg.join"), "yes");
    assert_eq!(report["servers"][0]["addresses"][1]["role"], "join", "{report:#}");
    // Two that join are two servers, and so is one that is asked where it joins.
    let two = join.to_owned() + &join.replace("61234", "61235").replace("0.0", "0.3");
    assert_eq!(report_of(&(two + &silent)).1.len(), 3);
    let both = rounds(6, |_, at| asked("c", at + 5, &[27015]) + &asked("d", at + 15, &[61234]));
    assert_eq!(report_of(&(join.to_owned() + &both)).1.len(), 2);
}

/// A client's list and its queries show nothing of the port that answers another client.
#[test]
fn a_listed_port_that_is_silent_belongs_to_the_one_that_answers_others() {
    let list = r"0.00 m:28900 > c:50000 tcp '\\basic\\\\secure\\XDWAOR'
0.02 c:50000 > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
0.03 c:50000 > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
0.05 m:28900 > c:50000 tcp '\\ip\\10.0.0.2:7779\\ip\\10.0.0.3:7778\\final\\' fin
0.06 c:50000 > m:28900 tcp fin
";
    let answer =
        r"'\\hostname\\A\\mapname\\B\\numplayers\\0\\maxplayers\\8\\queryid\\1.1\\final\\'";
    let script = rounds(4, |_, at| {
        format!(
            "{at}.5 c:40000 > s:7779  '\\\\info\\\\'\n{at}.7 d > s:7778  '\\\\info\\\\'\n{at}.8 s:7778 > d  {answer}\n"
        )
    });
    let of = |list: &str| {
        named(diagnosis::diagnosed(&format!("{list}{script}"), &Setting::udp(7778), &[]).1)
    };
    let (report, names) = of(list);
    assert_eq!(names, ["10.0.0.2:7778"], "{report:#}");
    assert_eq!(item(&report, "servers", "list.address"), "no listed_other_port", "{report:#}");
    // One that is listed itself is not listed with another port.
    let (report, names) = of(&list.replace("10.0.0.3:7778", "10.0.0.2:7778"));
    assert_eq!(names, ["10.0.0.2:7778", "10.0.0.2:7779"], "{report:#}");
}

/// The heartbeats of one socket are of one server.
#[test]
fn a_heartbeat_that_names_no_port_is_of_the_server_that_the_others_name() {
    let beat = |at: u32, port: &str| {
        format!("{at}.00 s:7779 > m:27900  '\\\\heartbeat\\\\{port}\\\\gamename\\\\ut\\\\'\n")
    };
    let of = |ports: [&str; 4]| {
        let beats = ports.iter().enumerate().map(|(nth, port)| beat(nth as u32 * 60, port));
        let script = beats.collect::<String>() + "end 250";
        named(diagnosis::diagnosed(&script, &Setting::udp(7778), &[]).1)
    };
    for (ports, join) in [
        (["", "7778", "7778", "7778"], "yes"),
        (["7778", "", "7778", "7778"], "yes"),
        (["7778", "7778", "7778", ""], "no heartbeat_malformed"),
    ] {
        let (report, names) = of(ports);
        assert_eq!(names, ["10.0.0.2:7778"], "{report:#}");
        assert_eq!(item(&report, "servers", "reg.join"), join, "{report:#}");
    }
}

/// Heartbeats that name no port come from another port than the only one that clients ask.
#[test]
fn a_host_whose_heartbeats_name_no_port_is_one_server() {
    let of = |port: &str, answer: &str| {
        let round = |nth: u32| {
            let at = nth * 60;
            let answer = answer.replace("AT", &format!("{}", at + 5));
            format!(
                "{at}.00 s:7779 > m:27900  '\\\\heartbeat\\\\{port}\\\\gamename\\\\ut\\\\'\n{}.00 c > s:7778  '\\\\info\\\\'\n{answer}",
                at + 5
            )
        };
        let script = (0..6).map(round).collect::<String>() + "end 400";
        named(diagnosis::diagnosed(&script, &Setting::udp(7778), &[]).1)
    };
    let answered = "AT.04 s:7778 > c  '\\\\hostname\\\\A\\\\final\\\\queryid\\\\1.1'\n";
    for answer in [answered, ""] {
        let (report, names) = of("", answer);
        assert_eq!(names, ["10.0.0.2:7778"], "{report:#}");
        assert_eq!(item(&report, "servers", "reg.join"), "no heartbeat_malformed", "{report:#}");
    }
    // One that is named, and that nobody asks, may be another server.
    assert_eq!(of("7780", answered).1.len(), 2);
}
