//! `gamewire diagnose`: masters that are silent, or have several ports.

use crate::support::diagnosis::{
    self, diagnosed_at as diagnosed, item_with as item, listed_by_text_master, rounds, validated,
};
use captures::exchange::Setting;
use serde_json::Value;

/// The ports of a master are one party: what it does not do at one of them does not count, whichever comes first.
#[test]
fn a_master_with_several_ports_is_one() {
    // The challenge of a Valve master at one of two ports, and the answer to that.
    let said = |ports: [u32; 2], answers: &dyn Fn(u32) -> [bool; 2], name: &str| {
        let mut script = String::new();
        for (round, (place, port)) in
            (0..4).flat_map(|round| (0..).zip(ports).map(move |it| (round, it)))
        {
            let (at, number) = (round * 300 + place, 1000 + 10 * round + place);
            let [is_challenged, is_answered] = answers(port);
            script += &format!("{at}.0 s:27015 > m:{port}  71\n");
            if is_challenged {
                script += &format!("{at}.1 m:{port} > s:27015  FFFFFFFF 730A le32:{number}\n");
            }
            if is_challenged && is_answered {
                let info = VALVE_INFO.replace("NUMBER", &number.to_string());
                script += &format!("{at}.2 s:27015 > m:{port}  30 0A '{info}' 0A\n");
            }
        }
        let report = diagnosed(&format!("{script}end 1300"), 27010);
        let text = said_of(&report, name);
        (item(&report, name, "10.0.0.9"), text)
    };
    for ports in [[27010, 27011], [27011, 27010]] {
        let silent = said(ports, &|port| [port == 27010, true], "reg.challenged");
        let text = "except that none of 4 requests was answered, at port 27011";
        assert_eq!(silent, ("yes".to_owned(), text.to_owned()));
        let ignored = said(ports, &|port| [true, port == 27010], "reg.echo");
        assert_eq!(ignored.0, "yes", "{ports:?}");
        assert!(ignored.1.starts_with("except 4 times: "), "{ignored:?}");
        assert!(ignored.1.ends_with(", at port 27011"), "{ignored:?}");
        let all = said(ports, &|_| [true, true], "reg.echo");
        assert_eq!(all, ("yes".to_owned(), String::new()));
        let none = said(ports, &|_| [true, false], "reg.echo");
        assert_eq!(none.0, "no challenge_unanswered");
    }
    // A text master goes on to challenge it at the port where no validate comes.
    let report = diagnosed(
        &(0..5)
            .map(|round| {
                let at = round * 60;
                let beat = |port: u32, at: String| {
                    format!(
                        "{at} s:7778 > m:{port}  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\n"
                    )
                };
                let validated = if round == 0 { validated("m", at) } else { String::new() };
                let secure = "'\\\\basic\\\\\\\\secure\\\\XDWAOR'";
                beat(27900, format!("{at}.00"))
                    + &validated
                    + &beat(27901, format!("{at}.50"))
                    + &format!("{at}.60 m:27901 > s:7778  {secure}\n")
            })
            .chain(["end 400".to_owned()])
            .collect::<String>(),
        7778,
    );
    assert_eq!(item(&report, "reg.echo", "10.0.0.9"), "yes");
    let text = "except 5 times: no validate came to the challenge, at port 27901";
    assert_eq!(said_of(&report, "reg.echo"), text);
}

const VALVE_INFO: &str = r"\\protocol\\47\\challenge\\NUMBER\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\cstrike";

/// The text of an item of the first server.
fn said_of(report: &Value, name: &str) -> String {
    let items = report["servers"][0]["items"].as_array().unwrap();
    let item = items.iter().find(|it| it["item"] == name).unwrap();
    item["text"].as_str().unwrap_or_default().to_owned()
}

/// Whether the capture is of one direction, or the master of a silent one, depends on what comes to the server otherwise.
#[test]
fn a_master_of_which_nothing_comes_is_silent_as_far_as_is_known() {
    let joins = |nth: u32| format!("{}.0 s:27015 > m  71\n", nth * 300);
    let of = |count: u32, other: &dyn Fn(u32) -> String| {
        let script: String = (0..count).map(|nth| joins(nth) + &other(nth)).collect();
        diagnosed(&format!("{script}end {}", count * 300), 27010)
    };
    let challenged = |report: &Value| item(report, "reg.challenged", "10.0.0.9");
    // Somebody else answers it: a name server.
    let named = |nth: u32| format!("{}.5 d:53 > s:40000  00\n", nth * 300);
    let report = of(4, &named);
    assert_eq!(challenged(&report), "unknown master_silent", "{report:#}");
    let text = "none of 4 requests was answered; nothing of this master is in the capture, though packets of others to the server's host are";
    assert_eq!(said_of(&report, "reg.challenged"), text);
    // Nobody does.
    assert_eq!(challenged(&of(4, &|_| String::new())), "unknown capture_one_sided");
    // Another master does.
    let other = |nth: u32| {
        let at = nth * 300;
        format!("{at}.1 s:27015 > n  71\n{at}.2 n > s:27015  FFFFFFFF 730A le32:{nth}\n")
    };
    assert_eq!(challenged(&of(4, &other)), "unknown master_silent");
    // One join is too few.
    assert_eq!(challenged(&of(1, &other)), "unknown capture_too_short");
    // It is heard otherwise.
    let heard = |nth: u32| format!("{}.5 m:53 > d:40000  00\n", nth * 300);
    assert_eq!(challenged(&of(4, &heard)), "no join_unanswered");
}

/// A list that has a server shows that the master accepted it before, not that it challenged it.
#[test]
fn a_list_is_no_challenge() {
    let joins = |nth: u32| {
        let at = nth * 300;
        format!(
            "{at}.0 s:27015 > m  71\n{at}.1 t:27015 > m  71\n{at}.2 m > t:27015  FFFFFFFF 730A le32:{nth}\n"
        )
    };
    let list = "400.0 c > m  31 FF '0.0.0.0:0' 00 00\n\
                400.1 m > c  FFFFFFFF 660A 0A000002 6987 000000000000\n";
    let script = joins(0) + &joins(1) + list + &joins(2) + "end 700";
    let report = diagnosed(&script, 27010);
    let server = report["servers"].as_array().unwrap();
    let server = server.iter().find(|it| it["server"] == "10.0.0.2:27015").unwrap();
    let report = serde_json::json!({ "servers": [server] });
    assert_eq!(item(&report, "reg.challenged", "10.0.0.9"), "no join_unanswered", "{report:#}");
    let text = said_of(&report, "reg.challenged");
    assert!(!text.contains("as it should be"), "{text}");
}

/// A master is one party, and each of its services is judged.
#[test]
fn a_service_of_a_master_that_serves_nobody_is_named() {
    let ask = "31FF '0.0.0.0:0' 00 00";
    let list = "FFFFFFFF 66 0A 0A000102 6987 00000000 0000";
    // Of the Valve master, no list comes.
    let script = |nth: u32, at| {
        let valve = format!("{at}.50 d:{} > m:27011  {ask}\n", 50_000 + nth);
        listed_by_text_master(&format!("c:{}", 51_000 + nth), at) + &valve
    };
    let report = diagnosed(&rounds(5, script), 27010);
    let masters = report["masters"].as_array().unwrap();
    assert_eq!(masters.len(), 1, "{report:#}");
    assert_eq!(masters[0]["master"], "10.0.0.9:27011");
    assert_eq!(diagnosis::item(&report, "masters", "master.lists"), "no list_unanswered");
    let clients = report["clients"].as_array().unwrap();
    assert!(clients.iter().all(|it| it["verdict"] != "fault"), "{clients:#?}");
    // The text master accepts connections, and says nothing.
    let script = |nth: u32, at| {
        format!(
            "{at}.00 d:{port} > m:28900 tcp ''\n{at}.10 c:{port} > m:27011  {ask}\n\
             {at}.15 m:27011 > c:{port}  {list}\n{end}.00 d:{port} > m:28900 tcp fin\n\
             {end}.10 m:28900 > d:{port} tcp fin\n",
            end = at + 10,
            port = 51_000 + nth
        )
    };
    let report = diagnosed(&rounds(5, script), 27010);
    assert_eq!(report["masters"][0]["master"], "10.0.0.9:28900", "{report:#}");
    assert_eq!(diagnosis::item(&report, "masters", "master.greets"), "no never_speaks");
}

/// Who cannot connect to a master that serves others is at fault, or banned, as one that gets no answer.
#[test]
fn a_client_that_alone_cannot_connect_is_named() {
    let of = |refused: &str, is_served: bool| {
        let script = |nth: u32, at| {
            let served = listed_by_text_master(&format!("c:{}", 51_000 + nth), at);
            let served = if is_served { served } else { String::new() };
            let refused = refused.replace("AT", &at.to_string()).replace("NTH", &nth.to_string());
            format!("{served}{refused}")
        };
        let report = diagnosed(&rounds(4, script), 27010);
        let clients = report["clients"].as_array().unwrap();
        let client = clients.iter().find(|it| it["client"] == "10.0.1.1").unwrap();
        let items = client["items"].as_array().unwrap();
        let item = items.iter().find(|it| it["item"] == "ask.answered").unwrap();
        let master = report["masters"][0]["verdict"].as_str().unwrap().to_owned();
        (format!("{} {}", item["verdict"].as_str().unwrap(), item["text"]), master)
    };
    let refused = "AT.50 m:28900 > d:4000NTH tcp refused\n";
    let (said, master) = of(refused, true);
    assert_eq!(master, "ok");
    assert!(said.starts_with("no ") && said.contains("0 of 4 requests"), "{said}");
    assert!(said.contains("10.0.0.9:28900 refuses the connection"), "{said}");
    let (said, master) = of(refused, false);
    assert!(said.starts_with("unknown ") && master == "fault", "{said}");
}

/// A query of the master behind a heartbeat is its reaction, though it does not challenge the server.
#[test]
fn a_master_that_queries_a_server_does_not_ignore_it() {
    let of = |asker: &str| {
        let script = rounds(8, |nth, at| {
            let beat = r"'\\heartbeat\\7778\\gamename\\ut\\'";
            let at = (at + nth * 40, at + nth * 40 + 5);
            format!(
                "{}.00 s:7778 > m:27900  {beat}\n{}.50 m:53 > e:40000  00\n{at}.00 {asker} > s:7778  '\\\\info\\\\'\n\
                 {at}.05 s:7778 > {asker}  '\\\\hostname\\\\Test\\\\queryid\\\\1.1\\\\final\\\\'\n",
                at.0,
                at.0,
                at = at.1
            )
        });
        let script = script.replace("end 220", "end 600");
        let report = diagnosis::diagnosed(&script, &Setting::udp(7778), &["--complete"]).1;
        item(&report, "reg.challenged", "10.0.0.9")
    };
    assert_eq!(of("m:27900"), "unknown not_in_capture");
    assert_eq!(of("c:50000"), "no not_challenged");
}
