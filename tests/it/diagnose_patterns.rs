//! `gamewire diagnose`: what tells unanswered requests from answered ones, and what is no answer.

use captures::exchange::Setting;
use captures::wire::{Capture, Link, START};
use serde_json::Value;

use crate::flood_sources::say;
use crate::support::diagnosis::{self, diagnosed_at, item, report_of, rounds};
use crate::support::project::Project;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

fn items(report: &Value) -> String {
    report["servers"][0]["items"].to_string()
}

/// The same as bytes.
const INFO_BYTES: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ANSWER_BYTES: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// A server that answered the first ones of a few requests.
fn answers(asked: u32, answered: u32) -> Value {
    let script = rounds(asked, |nth, at| {
        let request = format!("{at}.0 c:{} > s  {INFO}\n", 50_000 + nth);
        let answer = format!("{at}.02 s > c:{}  {ANSWER}\n", 50_000 + nth);
        if nth < answered { request + &answer } else { request }
    });
    diagnosed_at(&script, 27015)
}

#[test]
fn some_answers_to_a_few_requests_prove_nothing() {
    for (asked, answered) in [(7, 1), (9, 3), (9, 5)] {
        let report = answers(asked, answered);
        let is = item(&report, "servers", "seen.answered");
        assert_eq!(is, "unknown sometimes_unanswered", "{answered} of {asked}");
        assert_eq!(report["servers"][0]["verdict"], "unknown");
        assert!(items(&report).contains(&format!("\"answered\":{answered},\"asked\":{asked}")));
    }
    // One or two may be an accident.
    for (asked, answered) in [(7, 7), (7, 6), (4, 2)] {
        let is = item(&answers(asked, answered), "servers", "seen.answered");
        assert_eq!(is, "yes", "{answered} of {asked}");
    }
}

#[test]
fn answers_of_another_kind_are_none() {
    let players = "FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5";
    let answered_by = |answer: &str| {
        let script = rounds(6, |_, at| format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  {answer}\n"));
        diagnosed_at(&script, 27015)
    };
    let report = answered_by(players);
    assert_eq!(item(&report, "servers", "seen.readable"), "no header_broken");
    assert!(items(&report).contains("A2S_INFO is answered by a player list"), "{report:#}");
    assert_eq!(answered_by(ANSWER)["servers"][0]["verdict"], "ok");
}

/// The longer requests of GameSpy 4 ask for all, and are answered or not.
#[test]
fn requests_above_a_length_are_told_from_others() {
    let of = |is_answered: bool| {
        let script = rounds(16, |nth, at| {
            let (end, is_long) = if nth % 2 == 1 { (" FFFFFF01", true) } else { ("", false) };
            let asked = format!(
                "{at}.0 c > s  FEFD 09 00000007\n{at}.02 s > c  09 00000007 '9513307' 00\n\
                 {at}.03 c > s  FEFD 00 00000007 0091295B{end}\n"
            );
            let answer = format!(
                "{at}.05 s > c  00 00000007 'A' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 DD63 '10.0.0.2' 00\n"
            );
            if is_long && !is_answered { asked } else { asked + &answer }
        });
        diagnosed_at(&script, 25565)
    };
    let report = of(false);
    assert_eq!(item(&report, "servers", "seen.answered"), "no sometimes_unanswered");
    assert!(
        items(&report).contains("of 15 bytes or more, 8 of 8; of others, 0 of 8"),
        "{report:#}"
    );
    assert_eq!(item(&of(true), "servers", "seen.answered"), "yes");
}

/// A filter knows only requests with a number appended.
#[test]
fn requests_below_a_length_are_told_from_others() {
    let of = |is_answered: bool| {
        let script = rounds(16, |nth, at| {
            let end = if nth % 2 == 1 { " FFFFFFFF" } else { "" };
            let asked = |client: &str, tenth: u32| {
                let request = format!("{at}.{tenth}0 {client}:{} > s  {INFO}{end}\n", 50_000 + nth);
                let answer = format!("{at}.{tenth}2 s > {client}:{}  {ANSWER}\n", 50_000 + nth);
                if nth % 2 == 1 || is_answered { request + &answer } else { request }
            };
            asked("c", 0) + &asked("d", 4)
        });
        diagnosed_at(&script, 27015)
    };
    let report = of(false);
    assert_eq!(item(&report, "servers", "seen.answered"), "no sometimes_unanswered");
    let said = items(&report);
    assert!(said.contains("of 25 bytes, 16 of 16; of others, 0 of 16"), "{report:#}");
    assert!(said.contains("\"by\":{\"length\":\"25\"}"), "{report:#}");
    assert!(said.contains("Only requests of this length are concerned"), "{report:#}");
    assert!(!report["clients"].to_string().contains("one_client_unanswered"), "{report:#}");
    assert_eq!(item(&of(true), "servers", "seen.answered"), "yes");
}

/// Who is challenged goes on with a longer request: that those without a challenge stay short is no reason.
#[test]
fn requests_are_not_short_because_nothing_answers_them() {
    let script = rounds(24, |nth, at| {
        let asked = format!(
            "{at}.00 c:{0} > s  {INFO}\n{at}.02 s > c:{0}  FFFFFFFF 41 le32:7\n",
            50_000 + nth
        );
        let goes_on = format!(
            "{at}.03 c:{0} > s  {INFO} le32:7\n{at}.05 s > c:{0}  {ANSWER}\n",
            50_000 + nth
        );
        let lost = format!("{at}.00 c:{} > s  {INFO}\n", 50_000 + nth);
        if nth % 3 == 1 || nth % 7 == 2 { lost } else { asked + &goes_on }
    });
    let report = diagnosed_at(&script, 27015);
    assert!(items(&report).contains("without a pattern"), "{report:#}");
}

#[test]
fn the_challenge_0_and_a_wrong_one_are_named() {
    let returned = |challenge: &str, is_answered: bool| {
        let script = rounds(5, |nth, at| {
            let given = 70_000 + nth;
            let asked = format!(
                "{at}.0 c > s  {INFO}\n{at}.02 s > c  FFFFFFFF 41 le32:{given}\n{at}.03 c > s  {INFO} {}\n",
                challenge.replace("GIVEN", &given.to_string())
            );
            if is_answered { format!("{asked}{at}.05 s > c  {ANSWER}\n") } else { asked }
        });
        let report = diagnosed_at(&script, 27015);
        let challenge = item(&report, "clients", "ask.challenge");
        (item(&report, "clients", "ask.wellformed"), challenge, report.to_string())
    };
    let (wellformed, challenge, report) = returned("le32:0", false);
    assert_eq!(wellformed, "no challenge_zero_sent");
    assert!(!challenge.starts_with("no"), "{challenge}");
    assert!(report.contains("the server gives the challenge 70004, and the client returns 0"));
    assert_eq!(returned("le32:12345", false).0, "no challenge_wrong");
    assert_eq!(returned("le32:GIVEN", true).0, "yes");
    // Who never goes on gets so many challenges, and no more.
    let never = rounds(5, |_, at| {
        format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  FFFFFFFF 41 le32:7\n{at}.5 c > s  {INFO}\n")
    });
    let never = diagnosed_at(&never, 27015).to_string();
    assert!(never.contains("none of 5 challenges of 10.0.0.2:27015 is returned"), "{never}");
}

/// Of a burst of requests of all kinds, a limit lets the first two pass.
#[test]
fn a_limit_on_requests_of_several_kinds_is_one() {
    let kinds = ["info", "rules", "players", "status", "basic"];
    let of = |most: usize| {
        let script = rounds(8, |nth, at| {
            let mut script = String::new();
            // Players come too late each time, and all others in turn.
            let first = [0, 1, 4, 0, 1, 4, 3, 3][nth as usize % 8];
            let order = [kinds[first], kinds[(first + 1) % 2], "players", "status", "basic"];
            for (place, kind) in order.iter().enumerate() {
                let port = 50_000 + nth;
                script += &format!("{at}.{place}0 c:{port} > s  '\\\\{kind}\\\\'\n");
                let text = match *kind {
                    "rules" => r"\\mutators\\Arena",
                    "players" => r"\\player_0\\Ann",
                    _ => r"\\gamename\\ut\\hostname\\A\\mapname\\M",
                };
                if place < most {
                    script += &format!(
                        "{at}.{place}2 s > c:{port}  '{text}\\\\queryid\\\\{nth}{place}.1\\\\final\\\\'\n"
                    );
                }
            }
            script
        });
        diagnosed_at(&script, 7778)
    };
    assert_eq!(item(&of(2), "servers", "seen.answered"), "no rate_limited");
    assert_eq!(item(&of(5), "servers", "seen.answered"), "yes");
}

/// Clients that ask one after the other every 30 seconds, each of them as often as the server lets so many pass.
fn crowd(clients: u32, is_answered: impl Fn(u32) -> bool) -> Value {
    let mut capture = Capture::new(Link::Ethernet);
    for round in 0..6_u32 {
        for nth in 0..clients {
            let (client, server) =
                (format!("198.51.{nth}.7:{}", 40_000 + round), "203.0.113.7:27015");
            let at = START.after_ms(u64::from(round * 30_000 + nth * 20));
            say(&mut capture, at, [&client, server], INFO_BYTES, 52);
            if is_answered(nth) {
                say(&mut capture, at.after(15_000_000), [server, &client], ANSWER_BYTES, 64);
            }
        }
    }
    // The server is heard long enough.
    let late = START.after_ms(200_000);
    say(&mut capture, late, ["198.51.0.7:9", "203.0.113.7:27015"], INFO_BYTES, 52);
    say(
        &mut capture,
        late.after(15_000_000),
        ["203.0.113.7:27015", "198.51.0.7:9"],
        ANSWER_BYTES,
        64,
    );
    let (_project, file) = Project::of_capture(capture.in_time().pcap());
    report_of(&file, &[]).1
}

#[test]
fn a_limit_in_sum_says_more_than_a_list_of_clients() {
    let report = crowd(20, |nth| nth < 8);
    assert_eq!(item(&report, "servers", "seen.answered"), "no rate_limited");
    assert!(items(&report).contains("requests after the first 8 within 1.0s"), "{report:#}");
    assert!(!report["clients"].to_string().contains("one_client_unanswered"), "{report:#}");
    // Whoever is refused among the others is refused for himself.
    let report = crowd(20, |nth| nth % 5 != 2);
    assert_eq!(item(&report, "servers", "seen.answered"), "no sometimes_unanswered");
    assert!(report["clients"].to_string().contains("one_client_unanswered"), "{report:#}");
}

/// Very many sources that ask once are no burst of anybody.
#[test]
fn one_client_that_is_answered_is_told_from_all_others() {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..600_u32 {
        let at = START.after_ms(u64::from(nth) * 50);
        let (client, server) = match nth % 60 {
            0 => (format!("192.0.2.9:{}", 40_000 + nth), "203.0.113.7:27015"),
            _ => (format!("198.{}.{}.7:1024", nth / 256, nth % 256), "203.0.113.7:27015"),
        };
        say(&mut capture, at, [&client, server], INFO_BYTES, 52);
        if nth % 60 == 0 {
            say(&mut capture, at.after(15_000_000), [server, &client], ANSWER_BYTES, 64);
        }
    }
    let (_project, file) = Project::of_capture(capture.in_time().pcap());
    let (_, report) = report_of(&file, &[]);
    assert_eq!(item(&report, "servers", "seen.answered"), "no sometimes_unanswered");
    assert!(items(&report).contains("of all clients but 192.0.2.9"), "{report:#}");
}

/// Very many sources ask once each, of which some are challenged; `goes_on`: whether these return the challenge.
fn once_each(goes_on: bool) -> Value {
    let mut capture = Capture::new(Link::Ethernet);
    let (server, challenge) = ("203.0.113.7:27015", b"\xFF\xFF\xFF\xFFA\x07\0\0\0");
    let returned = [INFO_BYTES, &challenge[5..]].concat();
    for nth in 0..1_200_u32 {
        let at = START.after_ms(u64::from(nth) * 20);
        let client = format!("198.{}.{}.7:1024", nth / 256, nth % 256);
        say(&mut capture, at, [&client, server], INFO_BYTES, 52);
        if nth % 50 >= 5 {
            continue;
        }
        say(&mut capture, at.after(1_000_000), [server, &client], challenge, 64);
        if goes_on || nth % 250 == 0 {
            say(&mut capture, at.after(2_000_000), [&client, server], &returned, 52);
            say(&mut capture, at.after(3_000_000), [server, &client], ANSWER_BYTES, 64);
        }
    }
    let late = START.after_ms(60_000);
    say(&mut capture, late, ["198.0.0.7:9", server], INFO_BYTES, 52);
    say(&mut capture, late.after(1_000_000), [server, "198.0.0.7:9"], challenge, 64);
    let (_project, file) = Project::of_capture(capture.in_time().pcap());
    report_of(&file, &[]).1
}

#[test]
fn forged_addresses_are_not_told_to_ask_less_often() {
    let advice = |report: &Value| {
        let items = report["servers"][0]["items"].as_array().unwrap();
        let said = items.iter().find(|it| it["item"] == "seen.answered").unwrap();
        assert_eq!(said["cause"], "rate_limited", "{said}");
        said["advice"].as_str().unwrap().to_owned()
    };
    assert!(advice(&once_each(false)).contains("forged addresses"));
    assert!(!advice(&once_each(true)).contains("forged addresses"));
}

#[test]
fn a_client_that_gets_half_of_its_answers_is_not_banned() {
    let of = |is_answered: &dyn Fn(u32) -> bool| {
        let script = rounds(30, |nth, at| {
            let other = format!("{at}.5 d > s  {INFO}\n{at}.52 s > d  {ANSWER}\n");
            let own = format!("{at}.0 c > s  {INFO}\n");
            let answer = format!("{at}.02 s > c  {ANSWER}\n");
            if is_answered(nth) { own + &answer + &other } else { own + &other }
        });
        let (_, report) = diagnosis::diagnosed(&script, &Setting::udp(27015), &[]);
        let clients = report["clients"].as_array().unwrap().iter();
        let banned = clients.filter(|it| it.to_string().contains("one_client_unanswered"));
        (item(&report, "servers", "seen.answered"), banned.count())
    };
    let (answered, banned) = of(&|nth| !(5..20).contains(&nth) || nth % 5 == 4);
    assert_eq!((&answered[..2], banned), ("no", 0), "{answered}");
    let (answered, banned) = of(&|_| false);
    assert_eq!((&*answered, banned), ("no one_client_unanswered", 1));
}

#[test]
fn a_list_of_one_region_does_not_convict_a_server_of_another() {
    let listed = |region: &str| {
        let join = "0.0 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le32:7\n\
             0.03 s:27015 > m  300A '\\\\protocol\\\\47\\\\challenge\\\\7\\\\players\\\\3\\\\max\\\\24\\\\bots\\\\0\\\\gamedir\\\\tfc\\\\map\\\\2fort\\\\type\\\\d\\\\password\\\\0\\\\os\\\\l\\\\secure\\\\0\\\\lan\\\\0\\\\version\\\\1.1.2.5/Stdio\\\\region\\\\255\\\\product\\\\tfc\\n'\n";
        let list = format!(
            "30.0 c > m  31 {region} '0.0.0.0:0' 00 00\n30.05 m > c  FFFFFFFF 660A 05050505 6987 000000000000\nend 90"
        );
        item(&diagnosed_at(&(join.to_owned() + &list), 27010), "servers", "list.listed")
    };
    assert_eq!(listed("03"), "unknown list_filtered");
    assert_eq!(listed("FF"), "no not_in_list");
}

#[test]
fn what_masters_get_is_no_response_to_a_client() {
    let script = "0.00 s:7778 > m:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\n\
         0.02 m:27900 > s:7778  '\\\\basic\\\\\\\\secure\\\\XDWAOR'\n\
         0.03 s:7778 > m:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\validate\\\\3JOdDFU5'\n\
         60.00 s:7778 > m:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\nend 200";
    let report = diagnosed_at(script, 7778);
    assert!(!item(&report, "servers", "seen.whole").starts_with("no"), "{report:#}");
    assert!(!item(&report, "servers", "seen.readable").starts_with("no"), "{report:#}");
    let nameless = "0.00 s:7778 > m:27900  '\\\\heartbeat\\\\7778'\nend 200";
    let report = diagnosed_at(nameless, 7778);
    assert_eq!(item(&report, "servers", "reg.join"), "no heartbeat_malformed");
}

/// Text queries of two clients, in another order each time; which are answered.
fn of_clients(is_answered: impl Fn(u32, &str, &str) -> bool) -> String {
    let script = rounds(30, |nth, at| {
        let mut all = [("c", "basic"), ("c", "players"), ("d", "basic"), ("d", "players")];
        all.rotate_left(nth as usize % 4);
        let mut script = String::new();
        for (place, (client, kind)) in all.into_iter().enumerate() {
            let end = format!("{client}:{}", 50_000 + 4 * nth + place as u32);
            script += &format!("{at}.{place}0 {end} > s  '\\\\{kind}\\\\'\n");
            let text = match kind {
                "players" => r"\\player_0\\Ann",
                _ => r"\\gamename\\ut\\hostname\\A\\mapname\\M",
            };
            if is_answered(nth, client, kind) {
                script += &format!(
                    "{at}.{place}2 s > {end}  '{text}\\\\queryid\\\\{nth}{place}.1\\\\final\\\\'\n"
                );
            }
        }
        script
    });
    let (_, report) = diagnosis::diagnosed(&script, &Setting::udp(7778), &[]);
    assert_eq!(item(&report, "servers", "seen.answered"), "no sometimes_unanswered", "{report:#}");
    items(&report)
}

#[test]
fn what_one_kind_or_client_misses_only_of_some_or_for_a_while_is_told_with_both() {
    let report = of_clients(|_, client, kind| (client, kind) != ("d", "players"));
    assert!(report.contains("30 requests stay unanswered: of "), "{report}");
    assert!(
        report.contains(", 30 of 30; of other clients, 0 of 30); of others, 0 of 60"),
        "{report}"
    );
    let report = of_clients(|nth, _, kind| kind == "basic" || !(10..18).contains(&nth));
    let with_both =
        [": of players queries, 16 of 60 (from ", ", 16 of 16; at other times, 0 of 44)"];
    assert!(with_both.iter().all(|part| report.contains(part)), "{report}");
    assert!(report.contains("\"from\":"), "{report}");
    let report = of_clients(|nth, client, _| client == "c" || !(10..22).contains(&nth));
    assert!(
        report.contains(", 24 of 24; at other times, 0 of 36); of others, 0 of 60"),
        "{report}"
    );
    // Now and then, in any order: there is nothing more to say.
    let report = of_clients(|nth, _, kind| kind == "basic" || nth % 3 > 0);
    assert!(report.contains(": of players queries, 20 of 60; of others, 0 of 60"), "{report}");
}

/// Responses from another port, or another host, that come when no rule connects them with the requests any more.
#[test]
fn late_responses_from_elsewhere_are_found() {
    for (from, cause) in
        [("s:40000", "answers_from_other_port"), ("t:27015", "answers_from_other_address")]
    {
        let script = rounds(8, |nth, at| {
            let client = format!("c:{}", 50_000 + nth);
            format!("{at}.0 {client} > s  {INFO}\n{}.0 {from} > {client}  {ANSWER}\n", at + 4)
        });
        let report = diagnosed_at(&script, 27015);
        assert_eq!(
            item(&report, "servers", "seen.from_asked"),
            format!("no {cause}"),
            "{report:#}"
        );
        assert!(!report.to_string().contains("0 requests stay"), "{report:#}");
        assert_eq!(item(&report, "servers", "seen.in_time"), "no answered_late", "{report:#}");
    }
}

/// One client of three gets its responses from another port: that is said, and that they are responses all the same.
#[test]
fn the_client_that_gets_its_responses_from_elsewhere_is_named() {
    let report = diagnosed_at(
        &rounds(15, |nth, at| {
            let client = ["c", "d", "e"][nth as usize % 3];
            let from = if client == "d" { "s:40000" } else { "s" };
            format!("{at}.0 {client} > s  {INFO}\n{at}.02 {from} > {client}  {ANSWER}\n")
        }),
        27015,
    );
    let elsewhere = item(&report, "servers", "seen.from_asked");
    assert_eq!(elsewhere, "no answers_from_other_port", "{report:#}");
    let items = report["servers"][0]["items"].to_string();
    assert!(items.contains("sends 5 of 15 responses, all to 10.0.1.1"), "{items}");
    assert!(items.contains("15 of 15 requests, 5 of them from elsewhere"), "{items}");
}

/// Only the responses to one kind of request are late.
#[test]
fn the_kind_whose_responses_are_late_is_named() {
    let report = diagnosed_at(
        &rounds(8, |_, at| {
            format!(
                "{at}.0 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n{at}.1 c > s  FFFFFFFF 55 FFFFFFFF\n\
                 {at}.12 s > c  FFFFFFFF 41 le32:7\n{at}.2 c > s  FFFFFFFF 55 le32:7\n\
                 {}.2 s > c  FFFFFFFF 44 00\n",
                at + 5
            )
        }),
        27015,
    );
    assert_eq!(item(&report, "servers", "seen.in_time"), "no answered_late", "{report:#}");
    let items = report["servers"][0]["items"].to_string();
    assert!(items.contains("8 of 16 responses, all to player requests: after 5.0 s"), "{items}");
}

/// What the first reason does not explain is said beside it.
#[test]
fn what_is_unanswered_beside_a_kind_that_never_is_answered_is_counted() {
    let players = "FFFFFFFF 55 le32:7";
    let of = |is_answered: &dyn Fn(u32) -> bool| {
        let script = rounds(30, |nth, at| {
            let answer = format!("{at}.02 s > c  {ANSWER}\n");
            let answer = if is_answered(nth) { answer } else { String::new() };
            let challenge = format!(
                "{at}.10 c > s  FFFFFFFF 55 FFFFFFFF\n{at}.12 s > c  FFFFFFFF 41 le32:7\n\
                 {at}.14 c > s  {players}\n"
            );
            format!("{at}.00 c > s  {INFO}\n{answer}{challenge}")
        });
        let report = diagnosed_at(&script, 27015);
        let items = report["servers"][0]["items"].as_array().unwrap();
        items.iter().find(|it| it["item"] == "seen.answered").unwrap()["text"].to_string()
    };
    let span = of(&|nth| !(10..16).contains(&nth));
    assert!(span.contains("; of 30 others, 6 stay unanswered, from "), "{span}");
    let apart = of(&|nth| nth % 5 > 0);
    assert!(apart.contains("; of 30 others, 6 stay unanswered\""), "{apart}");
    let one = of(&|nth| nth != 7);
    assert!(!one.contains("others, "), "{one}");
}

/// ICMP errors about some of the unanswered requests are facts, too.
#[test]
fn an_icmp_error_about_one_of_two_silent_clients_is_named() {
    let script = rounds(12, |_, at| {
        format!(
            "{at}.00 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n{at}.10 d > s  {INFO}\n\
             {at}.20 e > s  {INFO}\n{at}.25 n > e  icmp=3.13\n"
        )
    });
    let report = diagnosed_at(&script, 27015);
    let said = "to 12 requests, 10.0.1.9 says: administratively prohibited";
    assert!(items(&report).contains(said), "{report:#}");
    let clients = report["clients"].as_array().unwrap();
    let of = |address: &str| clients.iter().find(|it| it["client"] == address).unwrap().to_string();
    assert!(of("10.0.2.1").contains("10.0.1.9 says"), "{report:#}");
    assert!(!of("10.0.1.1").contains("10.0.1.9 says"), "{report:#}");
}
