//! `gamewire diagnose`: servers, clients and masters that speak text.

use crate::support::diagnosis::{self, item};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

/// The diagnosis of a script's capture.
fn diagnosed(script: &str) -> Value {
    diagnosis::diagnosed(script, &Setting::udp(7778), &[]).1
}

/// Four times this, with its second in place of `AT`; backslashes need not be doubled.
fn rounds(round: &str) -> String {
    let round = round.replace('\\', r"\\");
    let rounds: String = (0..4).map(|nth| round.replace("AT", &(nth * 20).to_string())).collect();
    rounds + "end 150"
}

/// A server that answers a query so, four times.
fn answered(answer: &str) -> Value {
    diagnosed(&rounds(&format!("AT.00 c > s  '\\info\\'\nAT.02 s > c  '{answer}'\n")))
}

#[test]
fn a_whole_answer_without_a_number_lacks_no_part() {
    let whole = answered(r"\hostname\A\mapname\B\numplayers\0\maxplayers\8\final\");
    assert_eq!(whole["servers"][0]["verdict"], "ok", "{whole:#}");
    assert_ne!(item(&whole, "servers", "seen.whole"), "no split_part_missing");
    let part = rounds(
        "AT.00 c > s  '\\info\\'\nAT.02 s > c  '\\hostname\\A\\queryid\\1.1'\n\
         AT.03 s > c  '\\player_0\\C\\queryid\\1.3\\final\\'\n",
    );
    let part = diagnosed(&part);
    assert_eq!(item(&part, "servers", "seen.whole"), "no split_part_missing", "{part:#}");
}

/// Games answer more queries than the specification demands.
#[test]
fn a_query_that_the_specification_does_not_name_is_answered() {
    let queries = [
        (r"\teams\", r"\team_0\Red\score_0\3\queryid\1.1\final\"),
        (r"\packets\", r"\packets\1\queryid\1.1\final\"),
        (r"\echo\hello", r"\echo_reply\hello\queryid\1.1\final\"),
        (r"\level_property\title", r"\title\Deck\queryid\1.1\final\"),
        (r"\game_property\fraglimit", r"\fraglimit\25\queryid\1.1\final\"),
        (r"\player_property\name", r"\name_0\Ann\queryid\1.1\final\"),
    ];
    for (query, answer) in queries.map(|(a, b)| (a.replace(r"\\", r"\"), b.replace(r"\\", r"\"))) {
        let both = rounds(&format!("AT.00 c > s  '{query}'\nAT.02 s > c  '{answer}'\n"));
        let both = diagnosed(&both);
        assert_eq!(item(&both, "servers", "seen.answered"), "yes", "{query} {both:#}");
        let silent = rounds(&format!(
            "AT.00 c > s  '\\info\\'\nAT.02 s > c  '\\hostname\\A\\final\\'\nAT.05 c > s  '{query}'\n"
        ));
        let codes = diagnosed(&silent)["findings"].to_string();
        assert!(!codes.contains("GS1030"), "a response is not demanded: {codes}");
    }
}

/// A client that gets this list in this second.
fn listed(at: u32, list: &str) -> String {
    format!(
        r"{at}.00 m:28900 > c:{port} tcp '\\basic\\\\secure\\XDWAOR'
{at}.02 c:{port} > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
{at}.03 c:{port} > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
{at}.05 m:28900 > c:{port} tcp '{list}' fin
{at}.06 c:{port} > m:28900 tcp fin
",
        port = 50000 + at
    )
}

#[test]
fn what_a_master_does_wrong_at_the_end_is_not_mended_by_what_it_did_before() {
    let whole = |at| listed(at, r"\\ip\\10.0.0.2:7778\\final\\");
    let cut = |at| listed(at, r"\\ip\\10.0.0.2:7778\\ip\\10.0.0.3");
    let refused = |at: u32| format!("{at}.0 m:28900 > c:40000 tcp refused\n");
    let of = |parts: &[String], name: &str| {
        item(&diagnosed(&(parts.concat() + "end 90")), "masters", name)
    };
    assert_eq!(of(&[whole(0), cut(20), cut(40)], "master.whole"), "no list_cut");
    assert_eq!(of(&[cut(0), cut(20), whole(40)], "master.whole"), "yes");
    assert_eq!(of(&[whole(0), refused(20)], "master.reached"), "no tcp_refused");
    assert_eq!(of(&[refused(0), whole(20)], "master.reached"), "yes");
    let no_route = |at: u32| format!("{at}.0 m:28900 > c:40000 tcp refused icmp=3.1\n");
    assert_eq!(of(&[whole(0), no_route(20)], "master.reached"), "no icmp_host_unreachable");
    assert_eq!(of(&[no_route(0), whole(20)], "master.reached"), "yes");
}

#[test]
fn a_connection_that_ends_at_once_accuses_no_master() {
    let ask = |at: u32, close: &str| {
        format!(
            r"{at}.00 c:{port} > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
{close} m:28900 > c:{port} tcp fin
{close}5 c:{port} > m:28900 tcp fin
",
            port = 50000 + at
        )
    };
    let asks = |after: u32| {
        let asks: String =
            (1..4).map(|nth| ask(nth * 20, &format!("{}.2", nth * 20 + after))).collect();
        diagnosed(&(asks + "end 120"))
    };
    let at_once = asks(0);
    let items = at_once["masters"].to_string();
    assert!(!items.contains("never_speaks") && !items.contains("list_unanswered"), "{at_once:#}");
    assert_eq!(item(&asks(12), "masters", "master.greets"), "no never_speaks");
}

#[test]
fn a_heartbeat_without_a_valid_port_is_malformed() {
    let joins = |port: &str| {
        let beat = format!("AT.00 s:7779 > m:27900  '\\heartbeat\\{port}\\gamename\\ut\\'\n");
        item(&diagnosed(&rounds(&beat)), "servers", "reg.join")
    };
    assert_eq!(joins("7778"), "yes");
    for port in ["", "0", "70000"] {
        assert_eq!(joins(port), "no heartbeat_malformed", "{port}");
    }
}

#[test]
fn a_client_that_asks_for_a_list_before_it_answers_the_challenge() {
    let ask = r"0.00 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
0.02 c > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
0.05 m:28900 > c tcp fin
0.06 c > m:28900 tcp fin
end 30";
    let report = diagnosed(ask);
    assert_eq!(item(&report, "clients", "ask.wellformed"), "no list_before_validate");
    assert_ne!(report["masters"][0]["verdict"], "fault", "{report:#}");
}

#[test]
fn a_key_that_stands_twice_is_a_doubt_and_no_fault() {
    let believed = |more: &str| {
        let answer =
            format!(r"\hostname\A\mapname\B\numplayers\0\maxplayers\8{more}\queryid\1.1\final\");
        let report = answered(&answer);
        assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
        item(&report, "servers", "seen.believable")
    };
    assert_eq!(believed(""), "yes");
    assert_eq!(believed(r"\hostname\C"), "unknown key_repeated");
}

#[test]
fn responses_that_never_end_are_not_cut_on_the_way() {
    let endless = answered(r"\hostname\A\mapname\B\queryid\1.1");
    for name in ["seen.whole", "seen.readable"] {
        assert_eq!(item(&endless, "servers", name), "no not_terminated", "{endless:#}");
    }
    assert!(!endless.to_string().contains("split_part_missing"), "{endless:#}");
    // Of a server whose responses had one part and an end before, nothing else can be missing.
    let round = |nth: u32, end: &str| {
        let at = nth * 20;
        format!(
            "{at}.00 c > s  '\\\\info\\\\'\n\
             {at}.02 s > c  '\\\\hostname\\\\A\\\\mapname\\\\B\\\\queryid\\\\{nth}.1{end}'\n"
        )
    };
    let end = |nth: u32| if nth < 6 { r"\\final\\" } else { "" };
    let script: String = (1..12).map(|nth| round(nth, end(nth))).collect();
    let report = diagnosed(&(script + "end 300"));
    assert_eq!(item(&report, "servers", "seen.whole"), "no not_terminated", "{report:#}");
}

#[test]
fn a_code_of_another_length_is_wrong_whatever_the_key() {
    let echo = |code: &str| {
        let script = format!(
            r"0.00 s:7779 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\'
0.02 m:27900 > s:7779  '\\basic\\\\secure\\XDWAOR'
0.04 s:7779 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\validate\\{code}\\final\\'
end 30"
        );
        item(&diagnosed(&script), "servers", "reg.echo")
    };
    assert_eq!(echo("3JOdDFU5"), "yes");
    assert_eq!(echo("3JOdDF"), "no validate_wrong");
}

#[test]
fn an_empty_list_of_players_is_a_list() {
    let round = |players: u32| {
        format!(
            "AT.00 c > s  '\\info\\'\n\
             AT.02 s > c  '\\hostname\\A\\mapname\\B\\numplayers\\{players}\\maxplayers\\16\\queryid\\1.1\\final\\'\n\
             AT.10 c > s  '\\players\\'\nAT.12 s > c  '\\queryid\\2.1\\final\\'\n"
        )
    };
    let believed =
        |players| item(&diagnosed(&rounds(&round(players))), "servers", "seen.believable");
    assert_eq!(believed(0), "yes");
    assert_eq!(believed(12), "unknown counts_disagree");
}

#[test]
fn one_answer_with_two_numbers_of_players_contradicts_itself() {
    let believed = |number: u32, names: &str| {
        let round = format!(
            "AT.00 c > s  FEFD 09 00000007\nAT.02 s > c  09 00000007 '9513307' 00\n\
             AT.03 c > s  FEFD 00 00000007 00912A8B FFFFFF01\n\
             AT.05 s > c  00 00000007 'splitnum' 00 80 00 'hostname' 00 'A' 00 'map' 00 'w' 00 'numplayers' 00 '{number}' 00 \
             'maxplayers' 00 '20' 00 00 01 'player_' 00 00 {names} 00\n"
        );
        item(&diagnosed(&rounds(&round)), "servers", "seen.believable")
    };
    let two = "'Ann' 00 'Bob' 00";
    assert_eq!(believed(2, two), "yes");
    assert_eq!(believed(3, two), "unknown counts_disagree");
    assert_eq!(believed(2, "00"), "unknown counts_disagree");
}

/// A master that hangs up on clients that wait for its first word says nothing, too.
#[test]
fn a_master_that_closes_connections_before_a_word_is_at_fault() {
    let list = |at| listed(at, r"\\ip\\10.0.0.2:7778\\final\\");
    let hangs_up = |at: u32| {
        let port = 40000 + at;
        format!(
            "{at}.0 c:{port} > m:28900 tcp ''\n{at}.2 m:28900 > c:{port} tcp fin\n\
             {at}.3 c:{port} > m:28900 tcp fin\n"
        )
    };
    let leaves = |at: u32| {
        let port = 40000 + at;
        format!(
            "{at}.0 c:{port} > m:28900 tcp ''\n{at}.2 c:{port} > m:28900 tcp fin\n\
             {at}.3 m:28900 > c:{port} tcp fin\n"
        )
    };
    let greets = |parts: &[String]| {
        item(&diagnosed(&(parts.concat() + "end 150")), "masters", "master.greets")
    };
    let three = |at: u32, how: &dyn Fn(u32) -> String| {
        (0..3).map(|nth| how(at + 10 * nth)).collect::<String>()
    };
    assert_eq!(greets(&[three(10, &hangs_up)]), "no never_speaks");
    assert_eq!(greets(&[list(0), three(10, &hangs_up)]), "no never_speaks");
    assert_eq!(greets(&[three(10, &hangs_up), list(60)]), "yes");
    assert_eq!(greets(&[list(0), three(10, &leaves)]), "yes", "the client hangs up");
}

/// A client whose list was cut has none, whatever others get.
#[test]
fn a_whole_list_for_another_client_does_not_mend_one_that_was_cut() {
    let whole = |at| listed(at, r"\\ip\\10.0.0.2:7778\\final\\");
    let cut = |at| listed(at, r"\\ip\\10.0.0.2:7778\\ip\\10.0.0.3");
    let other = |at| whole(at).replace("c:", "d:");
    let master = |parts: &[String]| {
        item(&diagnosed(&(parts.concat() + "end 90")), "masters", "master.whole")
    };
    assert_eq!(master(&[cut(0), other(20), other(40)]), "no list_cut");
    assert_eq!(master(&[cut(0), other(20), whole(40)]), "yes");
}

/// A server that is registered is not at fault where a client's list ends early.
#[test]
fn a_list_that_was_cut_is_the_masters_fault() {
    let beat = r"0.0 s:7779 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\'";
    let cut = listed(20, r"\\ip\\10.0.1.2:7778\\ip\\10.0.1.3");
    let report = diagnosed(&format!("{beat}\n{cut}{}end 200", asks(100, 7778, true)));
    assert_eq!(item(&report, "masters", "master.whole"), "no list_cut");
    assert_eq!(item(&report, "servers", "list.whole"), "unknown list_cut", "{report:#}");
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
}

/// All responses of a kind that may be cut are counted, those in one packet, too.
#[test]
fn one_of_ten_responses_without_an_end_is_an_accident() {
    let whole = |good: u32, bad: u32| {
        let answers = r"\\hostname\\A\\mapname\\B\\numplayers\\0\\maxplayers\\8\\queryid\\";
        let round = |nth: u32| {
            let end = if nth % (good + bad) < bad { "" } else { r"\\final\\" };
            format!(
                "{nth}0.0 c > s:7778  '\\\\status\\\\'\n{nth}0.1 s:7778 > c  '{answers}{nth}.1{end}'\n"
            )
        };
        let script: String = (1..=2 * (good + bad)).map(round).collect();
        let report = diagnosed(&format!("{script}end 900"));
        let items = report["servers"][0]["items"].as_array().unwrap();
        let whole = items.iter().find(|it| it["item"] == "seen.whole").unwrap();
        ["verdict", "text"].map(|key| whole[key].as_str().unwrap().to_owned())
    };
    let text = r"2 of 20 responses: \final\ is missing in the only part";
    assert_eq!(whole(9, 1), ["unknown", text]);
    assert_eq!(whole(19, 1)[0], "unknown");
    let [verdict, text] = whole(4, 1);
    assert_eq!(verdict, "no");
    assert!(text.starts_with("2 of 10 responses: "), "{text}");
    assert_eq!(whole(0, 3)[0], "no");
}

/// In place of a list, all words are a refusal, but not before one.
#[test]
fn a_master_that_says_something_in_place_of_a_list_refuses() {
    let words = |at| listed(at, r"\\error\\Your client is out of date.\\final\\");
    let list = |at| listed(at, r"\\ip\\10.0.0.2:7778\\final\\");
    let accepts = |parts: &[String]| {
        item(&diagnosed(&(parts.concat() + "end 90")), "masters", "master.accepts")
    };
    assert_eq!(accepts(&[words(0), words(20)]), "no refused_in_words");
    assert_eq!(accepts(&[list(0), list(20)]), "yes");
    assert_eq!(accepts(&[words(0), list(20)]), "yes");
}

#[test]
fn masters_are_shown_where_there_is_no_server() {
    let script = "0.00 c > m:27011  31 FF '0.0.0.0:0' 00 00\nend 1";
    let (_project, file) = Project::of_script(script, &Setting::udp(7778));
    let run = gamewire(["diagnose", "--no-config", &file]);
    let lines: Vec<_> = run.out.lines().collect();
    assert!(lines[0].starts_with("no server: "), "{}", run.out);
    assert!(lines[1].contains("master 10.0.0.9:27011 (valve_master): "), "{}", run.out);
}

#[test]
fn a_greeting_before_a_list_is_no_refusal() {
    let script = listed(0, r"\\echo\\Welcome\\ip\\10.0.0.2:7778\\ip\\10.0.0.3:7778\\final\\");
    let report = diagnosed(&(script + "end 90"));
    assert_eq!(item(&report, "masters", "master.whole"), "yes", "{report:#}");
    assert_eq!(report["masters"][0]["verdict"], "ok");
}

/// A client that asks a server at this port three times.
fn asks(begin: u32, port: u16, is_answered: bool) -> String {
    let answer = r"\\hostname\\A\\mapname\\B\\numplayers\\0\\maxplayers\\8\\queryid\\1.1\\final\\";
    let mut script = String::new();
    for at in [begin, begin + 10, begin + 20] {
        script += &format!("{at}.0 c:{at} > s:{port}  '\\\\info\\\\'\n");
        if is_answered {
            script += &format!("{at}.1 s:{port} > c:{at}  '{answer}'\n");
        }
    }
    script
}

#[test]
fn a_listed_port_that_never_answers_is_not_a_server_beside_the_one_that_does() {
    let both = asks(10, 7999, false) + &asks(100, 7778, true) + "end 200";
    let list = listed(0, r"\\ip\\10.0.0.2:7999\\final\\");
    let report = diagnosed(&(list + &both));
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(item(&report, "servers", "list.address"), "no listed_other_port");
    // What is not listed is a server of its own.
    let report = diagnosed(&both);
    assert_eq!(report["servers"].as_array().unwrap().len(), 2, "{report:#}");
}

#[test]
fn masters_whose_lists_disagree_about_a_server_are_told_apart() {
    let of_one = listed(0, r"\\ip\\10.0.0.2:7778\\final\\");
    let of_other = listed(5, r"\\ip\\10.0.0.3:7778\\final\\").replace("m:28900", "n:28900");
    let report = diagnosed(&(of_one + &of_other + &asks(10, 7778, true) + "end 200"));
    let items = report["servers"][0]["items"].as_array().unwrap();
    let of_lists = items.iter().filter(|it| it["item"] == "list.listed");
    let mut verdicts = Vec::from_iter(of_lists.map(|it| it["verdict"].as_str().unwrap()));
    verdicts.sort_unstable();
    assert_eq!(verdicts, ["no", "yes"], "{report:#}");
    assert_ne!(report["servers"][0]["verdict"], "fault", "one of them has it");
    // A list from before the server was seen in one may be older than the server.
    let of_one = listed(5, r"\\ip\\10.0.0.2:7778\\final\\");
    let before = listed(0, r"\\ip\\10.0.0.3:7778\\final\\").replace("m:28900", "n:28900");
    let report = diagnosed(&(before + &of_one + &asks(10, 7778, true) + "end 200"));
    assert_eq!(item(&report, "servers", "list.listed"), "yes", "{report:#}");
}

#[test]
fn a_list_with_another_number_of_players_than_it_says_contradicts_itself() {
    let believed = |number: u32| {
        let round = format!(
            "AT.00 c > s  FFFFFFFF 55 FFFFFFFF\nAT.01 s > c  FFFFFFFF 41 01020304\n\
             AT.02 c > s  FFFFFFFF 55 01020304\n\
             AT.03 s > c  FFFFFFFF 44 0{number} 00 'Ann' 00 le32:1 0000803F\n"
        );
        let report = diagnosis::diagnosed(&rounds(&round), &Setting::udp(27015), &[]).1;
        item(&report, "servers", "seen.believable")
    };
    assert_eq!(believed(1), "yes");
    assert_eq!(believed(2), "unknown counts_disagree");
}
