//! `gamewire diagnose`: servers that stop answering, and clients and kinds of requests of which that is so.

use std::fmt::Write;

use crate::support::project::Project;
use crate::support::{diagnosis, gamewire};
use captures::exchange::Setting;
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
const PLAYERS: &str = "FFFFFFFF 55 le32:7";
const NONE: &str = "FFFFFFFF 44 00";

/// The diagnosis of a script that says this at each of so many times, so many seconds apart. The server sends something
/// else each second.
fn of_times(count: u32, apart: u32, at: impl Fn(u32, u32) -> String) -> Value {
    let mut script = String::new();
    for second in 0..count * apart {
        if second % apart == 0 {
            script += &at(second / apart, second);
        }
        writeln!(script, "{second}.99 s:40000 > o:53  00").unwrap();
    }
    let end = count * apart + 4;
    diagnosis::diagnosed(&format!("{script}end {end}"), &Setting::udp(27015), &[]).1
}

/// A client gets the challenge of its requests for players.
fn challenged(client: &str) -> String {
    format!("0.80 {client} > s  FFFFFFFF 57\n0.81 s > {client}  FFFFFFFF 41 le32:7\n")
}

/// A request of a client, and the response if it is answered.
fn asked(time: &str, client: &str, [request, response]: [&str; 2], is_answered: bool) -> String {
    let mut script = format!("{time}0 {client} > s  {request}\n");
    if is_answered {
        writeln!(script, "{time}5 s > {client}  {response}").unwrap();
    }
    script
}

fn info(time: &str, client: &str, is_answered: bool) -> String {
    asked(time, client, [INFO, ANSWER], is_answered)
}

fn item<'r>(party: &'r Value, name: &str) -> &'r Value {
    party["items"].as_array().unwrap().iter().find(|it| it["item"] == name).unwrap()
}

/// The verdict and cause of the one server's answers, and what the unanswered requests have in common.
fn answered(report: &Value) -> (String, String) {
    let server = &report["servers"][0];
    let said = item(server, "seen.answered");
    (diagnosis::verdict_of(server, "seen.answered").join(" "), said["text"].to_string())
}

/// The cause of what a client is not answered, or its verdict.
fn of_client(report: &Value, address: &str) -> String {
    let clients = report["clients"].as_array().unwrap();
    let client = clients.iter().find(|it| it["client"] == address).unwrap();
    diagnosis::verdict_of(client, "ask.answered").join(" ")
}

/// Nothing is answered any more, by whatever clients: that it would be after a pause, nothing shows.
#[test]
fn a_server_that_stops_is_silent_however_short_the_capture_is() {
    let one = of_times(11, 5, |nth, at| info(&format!("{at}.0"), "c", nth < 6));
    assert_eq!(answered(&one).0, "no silent_period", "{one:#}");
    let many = of_times(11, 5, |nth, at| {
        let of = |client: &str, tenth: u32| info(&format!("{at}.{tenth}"), client, nth < 6);
        of("c", 0) + &of("d", 1) + &of("e", 2)
    });
    assert_eq!(answered(&many).0, "no silent_period");
    let (one, other) = ("c", "d");
    // A limit per minute: one client exceeds it, and the other does not.
    let limited = of_times(25, 5, |nth, at| {
        let slow = info(&format!("{at}.3"), other, true);
        let slow = if nth % 4 == 0 { slow } else { String::new() };
        info(&format!("{at}.0"), one, nth % 12 < 6) + &slow
    });
    assert_eq!(answered(&limited).0, "no rate_limited", "{limited:#}");
}

/// Its requests, and no others, stay unanswered from a time on: neither their pace nor the time is the reason.
#[test]
fn a_client_that_is_blocked_in_mid_capture_is_named() {
    for apart in [5, 15] {
        let report = of_times(45, 5, |nth, at| {
            let others = ["d", "e"].map(|client| info(&format!("{at}.2"), client, true)).concat();
            let others = if at % apart == 0 { others } else { String::new() };
            info(&format!("{at}.0"), "c", nth < 15) + &others
        });
        let (verdict, text) = answered(&report);
        assert_eq!(verdict, "no sometimes_unanswered", "{apart}");
        assert!(text.contains("of 10.0.0.1 since "), "{text}");
        assert_eq!(of_client(&report, "10.0.0.1"), "no one_client_unanswered");
        assert_eq!(of_client(&report, "10.0.1.1"), "yes ");
    }
}

#[test]
fn a_kind_that_nobody_gets_is_no_matter_of_a_client() {
    let report = of_times(30, 5, |nth, at| {
        let players = asked(&format!("{at}.3"), "e", [PLAYERS, NONE], true);
        let players = if nth % 2 == 0 { players } else { String::new() };
        let players = if nth == 0 { challenged("e") } else { players };
        let info = ["c", "d", "e"].map(|client| info(&format!("{at}.0"), client, false)).concat();
        info + &players
    });
    assert_eq!(answered(&report).0, "no only_some_kinds_answered", "{report:#}");
    for client in ["10.0.0.1", "10.0.1.1"] {
        assert!(of_client(&report, client).starts_with("unknown"), "{client}");
    }
}

/// The kind was answered before, and all others still are.
#[test]
fn a_kind_that_is_no_longer_answered_is_named() {
    for lost in [15, 25] {
        let report = of_times(30, 5, |nth, at| {
            let time = |tenth: u32| format!("{at}.{tenth}");
            let players = match nth {
                0 => String::new(),
                _ => asked(&time(1), "c", [PLAYERS, NONE], nth < lost),
            };
            let given = if nth == 0 { challenged("c") } else { String::new() };
            info(&time(0), "c", true) + &players + &info(&time(2), "d", true) + &given
        });
        let (verdict, text) = answered(&report);
        assert_eq!(verdict, "no sometimes_unanswered", "{lost} {report:#}");
        assert!(text.contains("of player requests since "), "{text}");
        assert!(item(&report["servers"][0], "seen.answered")["from"].is_string());
    }
}

/// A firewall that says so refuses one client.
#[test]
fn an_icmp_error_for_one_client_is_shown_with_it() {
    let report = of_times(6, 20, |_, at| {
        let refused = format!("{at}.0 c > s  {INFO}\n{at}.01 n > c  icmp=3.13\n");
        refused + &info(&format!("{at}.3"), "d", true) + &info(&format!("{at}.6"), "e", true)
    });
    let client = report["clients"].as_array().unwrap().iter().find(|it| it["client"] == "10.0.0.1");
    let answered = item(client.unwrap(), "ask.answered");
    assert_eq!(answered["cause"], "one_client_unanswered", "{report:#}");
    assert!(
        answered["text"].as_str().unwrap().contains("administratively prohibited"),
        "{answered}"
    );
}

/// That requests come too fast explains all, that they are of one kind only half.
#[test]
fn what_explains_more_is_named() {
    let report = of_times(30, 5, |nth, at| {
        let players = |client: &str, time: String, is_answered| {
            let players = asked(&time, client, [PLAYERS, NONE], is_answered);
            if nth == 0 { String::new() } else { players }
        };
        let info = info(&format!("{at}.01"), "c", false);
        let again = players("c:50009", format!("{at}.02"), false);
        let again = if nth % 2 == 0 { again } else { String::new() };
        let both = || challenged("c") + &challenged("c:50009");
        let given = if nth == 0 { both() } else { String::new() };
        players("c", format!("{at}.00"), true) + &info + &again + &given
    });
    assert_eq!(answered(&report).0, "no rate_limited", "{report:#}");
}

/// Where something else explains that a client gets no answer, that stands alone: it is not banned.
#[test]
fn who_is_not_answered_for_another_reason_is_not_banned() {
    // Of one client, each request has a number appended.
    let appended = [&*format!("{INFO} FFFFFFFF"), ANSWER];
    let report = of_times(12, 10, |_, at| {
        info(&format!("{at}.0"), "c", true) + &asked(&format!("{at}.3"), "d", appended, false)
    });
    assert_eq!(answered(&report).0, "no appended_challenge_ignored");
    assert_eq!(of_client(&report, "10.0.1.1"), "unknown appended_challenge_ignored");
    // The first two of each round are answered, whoever asks.
    let report = of_times(12, 10, |_, at| {
        let clients = ["c", "d", "e", "c1"];
        let ask = |nth: usize| info(&format!("{at}.{nth}"), clients[nth], nth < 2);
        (0..4).map(ask).collect()
    });
    assert_eq!(answered(&report).0, "no rate_limited");
    assert_eq!(of_client(&report, "10.0.2.1"), "unknown rate_limited", "{report:#}");
    // It asks only after the server has stopped.
    let report = of_times(24, 10, |nth, at| {
        let late = info(&format!("{at}.3"), "d", false);
        info(&format!("{at}.0"), "c", nth < 20) + if nth > 20 { &late } else { "" }
    });
    assert_eq!(answered(&report).0, "no silent_period");
    assert_eq!(of_client(&report, "10.0.1.1"), "unknown silent_period");
    // Its requests are as those of others, at the same time.
    let report = of_times(12, 10, |_, at| {
        info(&format!("{at}.0"), "c", true) + &info(&format!("{at}.3"), "d", false)
    });
    assert_eq!(answered(&report).0, "no one_client_unanswered");
    assert_eq!(of_client(&report, "10.0.1.1"), "no one_client_unanswered");
    let clients = report["clients"].as_array().unwrap();
    let client = clients.iter().find(|it| it["client"] == "10.0.1.1").unwrap();
    let text = "0 of 12 requests of 10.0.1.1 to 10.0.0.2:27015 answered; other clients get their responses";
    assert_eq!(item(client, "ask.answered")["text"], text);
}

/// A silence that goes on when the capture ends is told from one that is over.
#[test]
fn a_silence_to_the_end_says_so() {
    let text = |is_answered: &dyn Fn(u32) -> bool| {
        answered(&of_times(24, 10, |nth, at| info(&format!("{at}.0"), "c", is_answered(nth)))).1
    };
    let last = text(&|nth| nth < 12);
    assert!(
        last.contains("from 00:02:00 to 00:03:50, the last request that was due; at other times"),
        "{last}"
    );
    let over = text(&|nth| !(6..15).contains(&nth));
    assert!(over.contains("from 00:01:00 to 00:02:20; at other times"), "{over}");
}

/// The last request may still be answered when the capture ends: it counts in all totals, and in no silence.
#[test]
fn the_headline_and_the_item_have_one_total() {
    let mut script = String::new();
    for nth in 0..60_u32 {
        let (at, port) = (nth * 10, 40_000 + nth);
        script += &format!("{at}.0 c:{port} > s  {INFO}\n");
        if ![4, 9, 11, 22, 26, 33, 37, 43, 50, 59].contains(&nth) {
            script += &format!("{at}.1 s > c:{port}  {ANSWER}\n");
        }
    }
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    let text = gamewire(["diagnose", "--no-config", &file]).out;
    assert!(text.contains("it answers only 50 of 60 requests"), "{text}");
    assert!(text.contains("50 of 60 requests answered; 9 requests stay unanswered"), "{text}");
    assert!(!text.contains("59"), "{text}");
}

/// In a capture of several days, a time without its day may be any.
#[test]
fn a_silence_in_a_capture_of_several_days_has_its_day() {
    let said = |begin: u32| {
        let round = |nth: u32| {
            let at = begin + nth * 600;
            info(&format!("{at}.0"), "c", !(14..20).contains(&nth))
        };
        let script: String = (0..40).map(round).collect();
        let script = format!("{}{script}end {}", info("0.0", "c", true), begin + 25_000);
        answered(&diagnosis::diagnosed(&script, &Setting::udp(27015), &[]).1)
    };
    let (cause, text) = said(75_000);
    assert_eq!(cause, "no silent_period");
    assert!(text.contains("from 2026-01-01 23:10:00 to 2026-01-02 00:00:00"), "{text}");
    let (cause, text) = said(600);
    assert_eq!(cause, "no silent_period");
    assert!(text.contains("from 02:30:00 to 03:20:00"), "{text}");
}

/// The program that asks a silent port may mean another one of the host.
#[test]
fn a_silent_port_beside_one_that_answers_says_so() {
    let said = |other: &str, until: u32| {
        let round = |nth: u32| {
            let at = nth * 20;
            let silent = info(&format!("{at}.0"), "c", nth < until);
            silent + &format!("{at}.50 d > {other}  {INFO}\n{at}.55 {other} > d  {ANSWER}\n")
        };
        let script: String = (0..20).map(round).collect();
        let report = diagnosis::diagnosed(&(script + "end 500"), &Setting::udp(27015), &[]).1;
        let servers = report["servers"].as_array().unwrap();
        let own = servers.iter().find(|it| it["server"] == "10.0.0.2:27015").unwrap();
        item(own, "seen.answered")["text"].as_str().unwrap().to_owned()
    };
    for until in [0, 10] {
        let text = said("s:27020", until);
        assert!(text.contains("; 10.0.0.2:27020 answers"), "{until}: {text}");
        let text = said("o:27020", until);
        assert!(!text.contains(" answers;") && !text.contains(":27020"), "{until}: {text}");
    }
}

/// One client gets no answer for a while, and others do: that it gets some again mends nothing.
#[test]
fn a_client_that_is_left_out_for_a_while_is_named() {
    let of = |others: u32, is_answered: &dyn Fn(u32) -> bool| {
        of_times(60, 10, |nth, at| {
            let others = (1..=others).map(|host| {
                let client = ["d", "e"][host as usize - 1];
                info(&format!("{at}.{host}"), client, true)
            });
            info(&format!("{at}.0"), "c", is_answered(nth)) + &others.collect::<String>()
        })
    };
    // Of few clients, or of so many that the server answers nearly all requests.
    for others in [1, 2] {
        let report = of(others, &|nth| !(20..35).contains(&nth));
        assert_eq!(of_client(&report, "10.0.0.1"), "no one_client_unanswered", "{report:#}");
        assert_eq!(of_client(&report, "10.0.1.1"), "yes ");
        let clients = report["clients"].as_array().unwrap();
        let client = clients.iter().find(|it| it["client"] == "10.0.0.1").unwrap();
        let said = item(client, "ask.answered");
        let text = said["text"].as_str().unwrap();
        assert!(text.ends_with("; none of 15 from 00:03:20 to 00:05:40"), "{text}");
        assert!(said["from"].is_string() && said["to"].is_string(), "{said}");
    }
    // One that misses some now and then has no silence.
    for often in [3, 7] {
        let report = of(2, &|nth| nth % often != 1);
        assert_eq!(of_client(&report, "10.0.0.1"), "yes ", "{often}");
    }
    // Nor has one that asks too fast, or alone.
    let report = of(0, &|nth| !(20..40).contains(&nth));
    assert_eq!(answered(&report).0, "no silent_period");
    assert_eq!(of_client(&report, "10.0.0.1"), "yes ");
    let fast = of_times(60, 10, |nth, at| {
        let more = (2..9).map(|tenth| info(&format!("{at}.{tenth}"), &format!("c:{tenth}"), false));
        let more = if (20..40).contains(&nth) { more.collect() } else { String::new() };
        info(&format!("{at}.0"), "c", true) + &info(&format!("{at}.1"), "d", true) + &more
    });
    assert_eq!(answered(&fast).0, "no rate_limited");
    assert_eq!(of_client(&fast, "10.0.0.1"), "yes ", "{fast:#}");
}

/// Nobody gets an answer in that time: it is no matter of one client.
#[test]
fn a_silence_toward_all_is_the_servers() {
    let report = of_times(60, 10, |nth, at| {
        let is_answered = !(20..40).contains(&nth);
        info(&format!("{at}.0"), "c", is_answered) + &info(&format!("{at}.3"), "d", is_answered)
    });
    assert_eq!(answered(&report).0, "no silent_period");
    for client in ["10.0.0.1", "10.0.1.1"] {
        assert_eq!(of_client(&report, client), "yes ");
    }
}

/// All unanswered requests are of one client in one span, and of a kind that others send, too.
#[test]
fn who_and_when_come_before_what() {
    let report = of_times(40, 10, |nth, at| {
        let players = asked(&format!("{at}.4"), "d", [PLAYERS, NONE], true);
        let given = if nth == 0 { challenged("d") } else { String::new() };
        let players = if nth == 0 { String::new() } else { players };
        let is_answered = !(10..22).contains(&nth);
        info(&format!("{at}.0"), "c", is_answered) + &players + &given
    });
    let (verdict, text) = answered(&report);
    assert_eq!(verdict, "no sometimes_unanswered");
    assert!(text.contains("of 10.0.0.1, 12 of 40 (from 00:01:40 to 00:03:30, 12 of 12;"), "{text}");
    let said = item(&report["servers"][0], "seen.answered");
    assert!(said["advice"].as_str().unwrap().contains("Only some clients"), "{said}");
}

/// Three servers, of three hosts, are silent in the same minute: not each of them fails then. Where one of them answers in
/// between, each does.
#[test]
fn servers_that_are_silent_together_are_not_silent_for_reasons_of_their_own() {
    let remark = "no server of another host answers";
    let report = |answers_meanwhile: &str| {
        of_times(40, 5, |nth, at| {
            let is_silent = (15..27).contains(&nth);
            let of = |server: &&str| {
                let is_answered = !is_silent || *server == answers_meanwhile && nth == 20;
                let script = info(&format!("{at}.0"), "c", is_answered);
                script
                    .replace(" s ", &format!(" {server} "))
                    .replace("s >", &format!("{server} >"))
                    .replace("> s", &format!("> {server}"))
            };
            ["s", "t", "u"].iter().map(of).collect()
        })
    };
    let together = report("");
    let servers = together["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 3, "{together:#}");
    for server in servers {
        assert_eq!(diagnosis::verdict_of(server, "seen.answered"), ["no", "silent_period"]);
        let text = item(server, "seen.answered")["text"].to_string();
        assert!(text.contains(remark), "{text}");
    }
    assert!(!report("t").to_string().contains(remark));
}
