//! `gamewire diagnose`: the requests of clients for masters' lists, and what those have in common that stay unanswered.

use crate::support::diagnosis::{
    self, diagnosed_at as diagnosed, item_with, listed_by_text_master, validated,
};
use captures::exchange::Setting;
use serde_json::Value;

/// The end of a Valve master's list of one server.
const LIST: &str = "FFFFFFFF 66 0A 0A000102 6987 00000000 0000";

/// The condition of the only master that it gives lists.
fn lists(report: &Value) -> Value {
    let items = report["masters"][0]["items"].as_array().unwrap();
    items.iter().find(|it| it["item"] == "master.lists").unwrap().clone()
}

/// What is said of requests for lists, one every 20 seconds: each with its sender, its master, its bytes, and whether it
/// is answered.
fn said(requests: &[(&str, &str, &str, bool)]) -> Value {
    let exchange =
        |(nth, (client, master, bytes, is_answered)): (usize, &(&str, &str, &str, bool))| {
            let (at, port) = (nth * 20, 50_000 + nth);
            let mut script = format!("{at}.00 {client}:{port} > {master}  {bytes}\n");
            if *is_answered {
                script += &format!("{at}.05 {master} > {client}:{port}  {LIST}\n");
            }
            script
        };
    let script: String = requests.iter().enumerate().map(exchange).collect();
    lists(&diagnosed(&format!("{script}end {}", requests.len() * 20 + 60), 27010))
}

/// A request for the servers of a region, with a filter.
fn ask(region: &str, filter: &str) -> String {
    format!("31{region} '0.0.0.0:0' 00 '{filter}' 00")
}

#[test]
fn what_all_unanswered_requests_have_in_common_is_named() {
    let (all, east) = (ask("FF", ""), ask("00", ""));
    let [game, other] = [r"\\gamedir\\cstrike", r"\\gamedir\\dmc"].map(|it| ask("FF", it));
    let unknown = ask("FF", r"\\engine\\d");
    let said = |good: (&str, &str, &str), bad: (&str, &str, &str)| {
        let requests = [(good.0, good.1, good.2, true), (bad.0, bad.1, bad.2, false)];
        said(&[requests; 6].concat())
    };
    let of = |it: &Value| format!("{} {}", it["cause"], it["text"]).replace('"', "");
    let port = said(("c", "m:27013", &all), ("c", "m:27010", &all));
    assert_eq!(
        of(&port),
        "list_unanswered 6 of 12 requests for its list stay unanswered: of those to port 27010, 6 of 6; of those to port 27013, 0 of 6"
    );
    assert_eq!(port["by"]["port"], "27010");
    let region = said(("c", "m:27010", &all), ("c", "m:27010", &east));
    assert!(of(&region).contains("with region 0, 6 of 6; of others, 0 of 6"), "{region}");
    let filter = said(("c", "m:27010", &game), ("c", "m:27010", &other));
    assert!(of(&filter).contains(r"with filter \\gamedir\\dmc, 6 of 6"), "{filter}");
    let key = said(("c", "m:27010", &game), ("c", "m:27010", &unknown));
    assert!(of(&key).contains("engine is not in the specification's table"), "{key}");
    let client = said(("c", "m:27010", &game), ("d", "m:27010", &game));
    assert!(of(&client).contains("of those of 10.0."), "{client}");
    // A part of those that are answered has it, too.
    let none = said_of_both(&all, &east);
    assert!(!of(&none).contains("of those"), "{none}");
}

/// Half of the requests of each of two kinds are unanswered, in turn.
fn said_of_both(one: &str, other: &str) -> Value {
    let of = |bytes, is_answered| ("c", "m:27010", bytes, is_answered);
    let round = [of(one, true), of(other, false), of(one, false), of(other, true)];
    said(&[round; 3].concat())
}

#[test]
fn a_silence_of_a_master_has_its_time() {
    let all = ask("FF", "");
    let requests =
        Vec::from_iter((0..20).map(|nth| ("c", "m:27010", all.as_str(), !(8..14).contains(&nth))));
    let item = said(&requests);
    assert_eq!(item["cause"], "list_unanswered", "{item}");
    assert!(item["from"].is_string() && item["to"].is_string(), "{item}");
    assert!(item["text"].as_str().unwrap().contains(", all from "), "{item}");
}

/// However many there are.
#[test]
fn all_unanswered_requests_are_counted() {
    let all = ask("FF", "");
    let requests = vec![("c", "m:27010", all.as_str(), false); 90];
    let requests = [vec![("c", "m:27010", all.as_str(), true)], requests].concat();
    let text = said(&requests)["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("90 of 91 requests for its list"), "{text}");
}

/// A request and its repeats while it waits are one, as `check` counts them.
#[test]
fn repeats_of_a_request_for_a_list_are_one() {
    let all = ask("FF", "");
    let exchange = |nth: usize| {
        let (at, port) = (nth * 20, 50_000 + nth);
        let mut script =
            format!("{at}.00 c:{port} > m  {all}\n{}.00 c:{port} > m  {all}\n", at + 1);
        if nth.is_multiple_of(2) {
            script += &format!("{}.05 m > c:{port}  {LIST}\n", at + 1);
        }
        script
    };
    let script: String = (0..12).map(exchange).collect();
    let report = diagnosed(&format!("{script}end 300"), 27010);
    let text = lists(&report)["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("6 of 12 requests for its list"), "{text}");
}

#[test]
fn a_list_from_another_address_is_not_nothing() {
    let asked = |nth: u32, from: &str| {
        let (at, port) = (nth * 20, 50_000 + nth);
        format!(
            "{at}.00 c:{port} > m:27010  {}\n{at}.05 {from}:27010 > c:{port}  {LIST}\n",
            ask("FF", "")
        )
    };
    let said = |from: &str| {
        let script: String = (0..5).map(|nth| asked(nth, from)).collect();
        diagnosed(&(script + "end 200"), 27010)
    };
    let elsewhere = said("n");
    assert_eq!(lists(&elsewhere)["cause"], "answers_from_other_address", "{elsewhere:#}");
    assert!(!elsewhere.to_string().contains("master_silent"), "{elsewhere:#}");
    assert_eq!(elsewhere["masters"].as_array().unwrap().len(), 1);
    assert_eq!(lists(&said("m"))["verdict"], "yes");
}

#[test]
fn a_challenge_from_another_address_is_not_nothing() {
    let said = |from: &str| {
        let round = |nth: u32| {
            let at = nth * 300;
            format!(
                "{at}.00 s:27015 > m:27010  71\n{at}.05 {from}:27010 > s:27015  FFFFFFFF 730A le32:{}\n",
                7 + nth
            )
        };
        let script: String = (0..4).map(round).collect();
        diagnosed(&(script + "end 1000"), 27010)
    };
    let report = said("n");
    let challenged = item_with(&report, "reg.challenged", "10.0.0.9");
    assert_eq!(challenged, "unknown challenged_from_other_address");
    assert_eq!(item_with(&said("m"), "reg.challenged", "10.0.0.9"), "yes");
}

/// A list in a datagram is never given: the client is at fault, and the master accepts no connection without a word.
#[test]
fn a_list_of_a_text_master_is_asked_for_in_a_connection() {
    let list = r"'\\list\\\\gamename\\ut\\final\\'";
    let ask = |nth: u32| format!("{}.00 c:5{nth} > m:27900  {list}\n", nth * 20);
    let asks: String = (0..6).map(ask).collect();
    let beats = "1.00 s:7778 > m:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\n";
    let report = diagnosed(&format!("{asks}{beats}{}end 200", validated("m", 1)), 27900);
    assert_eq!(diagnosis::item(&report, "clients", "ask.wellformed"), "no list_over_udp");
    assert!(!report.to_string().contains("never_speaks"), "{report:#}");
}

#[test]
fn a_master_that_challenges_each_heartbeat_and_lists_the_server_accepts_it() {
    let beat = |nth: u32| {
        let at = nth * 60;
        let text = r"'\\heartbeat\\7778\\gamename\\ut\\'";
        format!("{at}.00 s:7778 > m:27900  {text}\n{}", validated("m", at))
    };
    let accepted = |listed: u32| {
        let mut script = String::new();
        for nth in 0..10 {
            script += &beat(nth);
            if nth == listed {
                script += &listed_by_text_master("c", nth * 60 + 30);
            }
        }
        item_with(&diagnosed(&(script + "end 700"), 7778), "reg.accepted", "10.0.0.9")
    };
    assert_eq!(accepted(5), "yes");
    // One that it lists only before may have been forgotten since.
    assert_eq!(accepted(0), "no rechallenged_always");
    assert_eq!(accepted(99), "no rechallenged_always");
}

#[test]
fn a_client_that_has_the_list_already_is_not_sent_elsewhere() {
    let said = |status: &str| {
        let script = format!(
            "0.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.1\\r\\nIf-None-Match: \"7\"\\r\\n\\r\\n'\n\
             0.02 m > c tcp 'HTTP/1.1 {status}\\r\\nContent-Length: 0\\r\\n\\r\\n' fin\n\
             0.04 c > m tcp fin\nend 60"
        );
        let report = diagnosis::diagnosed(&script, &Setting::tcp(80), &[]).1;
        let verdict = report["masters"][0]["verdict"].as_str().unwrap().to_owned();
        (verdict, report.to_string().contains("redirected"))
    };
    assert_eq!(said("304 Not Modified"), ("ok".to_owned(), false));
    assert_eq!(said("302 Found"), ("fault".to_owned(), true));
}

/// A client asks at a port that serves nobody, or while nobody is served: it is not banned.
#[test]
fn a_client_is_banned_only_where_others_are_served_meanwhile() {
    let of = |port: &str, is_served: &dyn Fn(u32) -> bool| {
        let rounds: String = (0..12)
            .map(|nth| {
                let (at, ask) = (nth * 20, ask("FF", ""));
                let in_vain = format!("{at}.00 d:{} > m:{port}  {ask}\n", 50_000 + nth);
                let in_vain = if nth < 4 { String::new() } else { in_vain };
                let served = format!("{at}.05 m:27011 > c:{}  {LIST}\n", 51_000 + nth);
                let served = if is_served(nth) { served } else { String::new() };
                format!("{in_vain}{at}.04 c:{} > m:27011  {ask}\n{served}", 51_000 + nth)
            })
            .collect();
        let report = diagnosed(&format!("{rounds}end 300"), 27011);
        let clients = report["clients"].as_array().unwrap();
        let client = clients.iter().find(|it| it["client"] == "10.0.1.1").unwrap();
        diagnosis::verdict_of(client, "ask.answered").join(" ")
    };
    assert_eq!(of("27011", &|_| true), "no one_client_unanswered");
    assert!(of("27010", &|_| true).starts_with("unknown"));
    assert!(of("27011", &|nth| nth < 4).starts_with("unknown"));
}

#[test]
fn a_time_from_which_on_no_list_comes_is_named() {
    let all = ask("FF", "");
    let requests = Vec::from_iter((0..16).map(|nth| ("c", "m:27010", &*all, nth < 8)));
    let said = said(&requests);
    assert!(said["text"].to_string().contains(", all from"), "{said}");
}
