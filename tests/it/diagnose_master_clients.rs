//! What masters do to some of their clients, in `gamewire diagnose`: whose fault it is, for whom it is so, and whether it is over.

use crate::support::diagnosis::{self, diagnosed_at as diagnosed, item};
use crate::support::project::Project;
use captures::exchange::{Setting, capture};
use serde_json::Value;

const WHOLE: &str = r"\\ip\\10.0.0.2:7778\\final\\";
const CUT: &str = r"\\ip\\10.0.0.2:7778\\ip\\10.0.0.3";
const RIGHT: &str = "3JOdDFU5";

/// A client asks a text master for its list in this second, and answers its challenge so. An empty list: the master closes
/// the connection without a word.
fn visit(client: &str, at: u32, answer: &str, list: &str) -> String {
    format!(
        r"{at}.00 m:28900 > {client}:{port} tcp '\\basic\\\\secure\\XDWAOR'
{at}.02 {client}:{port} > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\{answer}\\final\\'
{at}.03 {client}:{port} > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
{at}.05 m:28900 > {client}:{port} tcp {list}fin
{at}.06 {client}:{port} > m:28900 tcp fin
",
        port = 40_000 + at,
        list = if list.is_empty() { String::new() } else { format!("'{list}' ") },
    )
}

/// Two clients ask for lists in turn.
fn in_turn(of_first: impl Fn(u32) -> String, of_second: impl Fn(u32) -> String) -> String {
    let rounds = (0..6).map(|nth| of_first(nth * 40) + &of_second(nth * 40 + 20));
    rounds.collect::<String>() + "end 300"
}

/// The item of the only master.
fn of_master<'r>(report: &'r Value, name: &str) -> &'r Value {
    let mut items = report["masters"][0]["items"].as_array().unwrap().iter();
    items.find(|it| it["item"] == name).unwrap()
}

#[test]
fn a_master_owes_no_list_to_who_answers_its_challenge_wrongly() {
    let report = diagnosed(
        &in_turn(|at| visit("c", at, RIGHT, WHOLE), |at| visit("d", at, "AAAAAAAA", "")),
        28900,
    );
    assert_eq!(report["masters"][0]["verdict"], "ok", "{report:#}");
    let clients = report["clients"].as_array().unwrap();
    let wrong = clients.iter().find(|it| it["client"] == "10.0.1.1").unwrap();
    assert_eq!(wrong["first_no"], "ask.wellformed", "{report:#}");
}

#[test]
fn a_wrong_request_that_a_master_refuses_is_its_clients_fault() {
    let visit = |client: &str, at: u32, request: &str, response: &str| {
        let port = 40_000 + at;
        format!(
            "{at}.00 {client}:{port} > m tcp '{request} HTTP/1.0\\r\\n\\r\\n'\n\
             {at}.03 m > {client}:{port} tcp 'HTTP/1.1 {response}' fin\n\
             {at}.04 {client}:{port} > m tcp fin\n"
        )
    };
    let list = r"200 OK\r\n\r\nmasterserver_flags 0\naddserver 10.0.1.2 28770 1\n";
    let said = |request: &str, status: &str| {
        let right = |at| visit("c", at, "GET /c?build_defs=4", list);
        let other =
            |at| visit("d", at, request, &format!(r"{status}\r\nContent-Length: 0\r\n\r\n"));
        diagnosis::diagnosed(&in_turn(right, other), &Setting::tcp(80), &[]).1
    };
    for (request, status) in [
        ("POST /c?build_defs=4", "405 Method Not Allowed"),
        ("GET /c?build_defs=abc", "400 Bad Request"),
    ] {
        let report = said(request, status);
        assert_eq!(report["masters"][0]["verdict"], "ok", "{report:#}");
        assert_eq!(report["clients"][0]["client"], "10.0.1.1", "{report:#}");
        assert_eq!(report["clients"][0]["first_no"], "ask.wellformed", "{report:#}");
    }
    let refused = said("GET /c?build_defs=4", "403 Forbidden");
    let item = of_master(&refused, "master.accepts");
    assert_eq!(
        (&item["cause"], &item["by"]["client"]),
        (&"refused_in_words".into(), &"10.0.1.1".into())
    );
}

#[test]
fn what_only_one_client_meets_is_said_of_that_one() {
    let whole = |at| visit("c", at, RIGHT, WHOLE);
    let report = diagnosed(&in_turn(whole, |at| visit("d", at, RIGHT, CUT)), 28900);
    let item = of_master(&report, "master.whole");
    assert_eq!((&item["cause"], &item["by"]["client"]), (&"list_cut".into(), &"10.0.1.1".into()));
    let text = item["text"].to_string();
    assert!(text.contains("; so for 10.0.1.1, not for other clients"), "{text}");
    let all = diagnosed(
        &in_turn(|at| visit("c", at, RIGHT, CUT), |at| visit("d", at, RIGHT, CUT)),
        28900,
    );
    let text = of_master(&all, "master.whole")["text"].to_string();
    assert!(!text.contains("so for"), "{text}");
}

/// A Valve master's lists of two pages, of which a client asks for the second one three times; or its only page comes from
/// this port.
fn paged(at: u32, is_stopped: bool, from: u16) -> String {
    let (page, port) = ("FFFFFFFF 66 0A 0A000103 6987", 50_000 + at);
    let begin = format!("{at}.00 c:{port} > m:27011  31FF '0.0.0.0:0' 00 00\n");
    let next = |second: u32| {
        format!("{}.10 c:{port} > m:27011  31FF '10.0.1.3:27015' 00 00\n", at + second)
    };
    match is_stopped {
        true => {
            let first = format!("{at}.05 m:27011 > c:{port}  {page}\n");
            begin + &first + &[0, 2, 4].map(next).concat()
        }
        false => begin + &format!("{at}.05 m:{from} > c:{port}  {page} 00000000 0000\n"),
    }
}

#[test]
fn lists_that_a_client_gets_since_mend_those_before() {
    let verdict = |of: &dyn Fn(u32) -> String| {
        let lists: String = (0..10).map(|nth| of(nth * 20)).collect();
        let report = diagnosed(&format!("{lists}end 300"), 27011);
        (report["masters"][0]["verdict"].clone(), report["masters"][0]["cause"].clone())
    };
    for stops in [3..4, 0..4] {
        let over = verdict(&|at| paged(at, stops.contains(&(at / 20)), 27011));
        assert_eq!(over.0, "ok", "{stops:?} {over:?}");
        let elsewhere = |at: u32| if stops.contains(&(at / 20)) { 27099 } else { 27011 };
        let over = verdict(&|at| paged(at, false, elsewhere(at)));
        assert_eq!(over.0, "ok", "{stops:?} {over:?}");
    }
    assert_eq!(verdict(&|at| paged(at, at >= 100, 27011)).1, "list_throttled");
    let other = verdict(&|at| paged(at, false, if at >= 100 { 27099 } else { 27011 }));
    assert_eq!(other.1, "answers_from_other_port");
}

#[test]
fn a_master_that_was_heard_is_not_one_without_a_packet() {
    let attempts = (1..6).map(|nth| {
        let (at, port) = (nth * 20, 50_000 + nth);
        format!("{at}.0 c:{port} > m:28900 tcp ''\n{}.0 c:{port} > m:28900 tcp fin\n", at + 5)
    });
    let others = "110.0 c:53 > o:53  'q'\n110.1 o:53 > c:53  'a'\nend 200";
    let script = visit("c", 0, RIGHT, WHOLE) + &attempts.collect::<String>() + others;
    let mut capture = capture(&script, &Setting::udp(28900)).unwrap();
    // Of the later connections, the first segment alone.
    let is_attempt = |bytes: &[u8]| bytes[14 + 9] == 6 && bytes[34..38].contains(&0xC3);
    capture.packets.retain(|it| !is_attempt(&it.bytes) || it.bytes[14 + 20 + 13] == 0x02);
    let (_project, file) = Project::of_capture(capture.pcap());
    let report = diagnosis::report_of(&file, &[]).1;
    assert_eq!(item(&report, "masters", "master.reached"), "no tcp_unanswered", "{report:#}");
}

/// A client's connection to a master is refused: a server that the master knows is well.
#[test]
fn a_refused_client_is_no_fault_of_a_registered_server() {
    let registered = |at: u32, server: &str, port: u32| {
        format!(
            "{at}.00 {server}:{port} > m tcp 'GET /r?v=140&g=20700&p=28770 HTTP/1.0\\r\\n\\r\\n'\n\
             {at}.02 m > {server}:{port} tcp 'HTTP/1.0 200 OK\\r\\n\\r\\nserver registered' fin\n\
             {at}.03 {server}:{port} > m tcp fin\n"
        )
    };
    let refused = |host: &str| {
        let script =
            registered(0, "s", 40_000) + &format!("20.0 m > {host}:41000 tcp refused\nend 60");
        let report = diagnosis::diagnosed(&script, &Setting::tcp(80), &[]).1;
        report["servers"][0]["verdict"].clone()
    };
    assert_eq!(refused("c"), "ok");
    assert_eq!(refused("t"), "ok");
    assert_eq!(refused("s"), "fault");
}

/// A client's requests for lists, as far as they are recorded, are not answered: what was cut off may be wrong.
#[test]
fn requests_that_were_not_recorded_whole_accuse_no_master() {
    let verdict = |snap: &str| {
        let ask = |client: &str, at: u32, region: &str| {
            format!(
                "{at}.00 {client}:{} > m:27011 {snap} 31{region} '0.0.0.0:0' 00 '\\\\gamedir\\\\cstrike' 00\n",
                50_000 + at
            )
        };
        let answer = |at: u32| {
            format!(
                "{at}.05 m:27011 > c:{}  FFFFFFFF 66 0A 0A000103 6987 00000000 0000\n",
                50_000 + at
            )
        };
        let script = in_turn(|at| ask("c", at, "FF") + &answer(at), |at| ask("d", at, "03"));
        let report = diagnosed(&script, 27011);
        report["masters"][0]["verdict"].clone()
    };
    assert_eq!(verdict(""), "fault");
    assert_eq!(verdict("snap=64"), "ok");
}
