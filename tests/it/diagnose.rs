//! `gamewire diagnose`: what is wrong with each server of the samples, and that nothing is with their twins.

use std::collections::BTreeMap;

use crate::support::diagnosis;
use crate::support::project::Project;
use crate::support::{gamewire, samples};
use captures::exchange::Setting;
use serde_json::Value;

/// What a run says as JSON, one value a capture, and its exit code.
fn diagnosed(args: &[&str]) -> (Vec<Value>, u8) {
    let run = gamewire(["diagnose", "--format", "json", "--no-config"].iter().chain(args));
    assert!(run.code < 2, "{args:?}: {}", run.err);
    (run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), run.code)
}

/// The first item of each server that is not so, and why.
fn faults(file: &str) -> BTreeMap<String, String> {
    let (captures, code) = diagnosed(&[file]);
    let servers = captures[0]["servers"].as_array().unwrap();
    assert_eq!(code == 1, servers.iter().any(|server| server["verdict"] == "fault"), "{file}");
    let fault = |server: &Value| {
        let (item, cause) = (server["first_no"].as_str()?, server["cause"].as_str()?);
        Some((server["server"].as_str()?.to_owned(), format!("{item} {cause}")))
    };
    servers.iter().filter_map(fault).collect()
}

fn text(args: &[&str]) -> String {
    gamewire(["diagnose", "--no-config"].iter().chain(args)).out
}

#[test]
fn each_fault_is_named() {
    let expected = [
        (
            "registration",
            &[
                ("10.0.0.2:27015", "reg.challenged join_unanswered"),
                ("10.0.0.2:27016", "reg.info info_keys_missing"),
                ("10.0.1.2:27015", "reg.echo challenge_unanswered"),
                ("10.0.1.2:27016", "reg.stays quit_sent"),
                ("10.0.2.2:27015", "reg.echo challenge_byteswapped"),
                ("10.0.2.2:27016", "list.listed not_in_list"),
            ][..],
        ),
        (
            "text-master",
            &[
                ("10.0.0.2:7778", "reg.echo validate_wrong"),
                ("10.0.1.2:7778", "reg.echo secure_unanswered"),
                ("10.0.2.2:7778", "reg.heartbeats heartbeat_rare"),
            ],
        ),
        (
            "acr",
            &[
                ("10.0.0.2:28770", "reg.accepted registration_refused"),
                ("10.0.1.2:28770", "reg.probe_back probe_unanswered"),
                ("10.0.2.2:28770", "list.address listed_other_port"),
            ],
        ),
        (
            "queries",
            &[
                ("10.0.0.2:27015", "seen.answered icmp_port_unreachable"),
                ("10.0.0.2:27016", "seen.verified challenged_request_unanswered"),
                ("10.0.1.2:27015", "seen.from_asked answers_from_other_address"),
                ("10.0.1.2:27016", "seen.whole split_part_missing"),
                ("10.0.2.2:27015", "seen.answered only_info_answered"),
                ("10.0.2.2:27016", "seen.in_time answered_late"),
            ],
        ),
        (
            "path",
            &[
                ("10.0.0.2:27015", "seen.from_asked answers_from_other_port"),
                ("10.0.0.2:27016", "seen.whole fragment_lost"),
                ("10.0.1.2:27015", "seen.answered icmp_admin_prohibited"),
                ("10.0.1.2:27016", "seen.verified challenge_loop"),
                ("10.0.2.2:27015", "seen.whole icmp_fragmentation_needed"),
                ("10.0.2.2:27016", "seen.readable header_broken"),
            ],
        ),
        (
            "masters",
            &[
                ("10.0.0.2:27015", "reg.echo challenge_not_echoed"),
                ("10.0.0.2:28770", "reg.probe_back probe_answered_from_other_port"),
                ("10.0.1.2:7778", "list.whole tcp_refused"),
                ("10.0.1.2:27015", "reg.info info_players_over_max"),
                ("10.0.1.2:28770", "reg.accepted not_registered"),
                ("10.0.2.2:28770", "reg.accepted registration_unanswered"),
            ],
        ),
    ];
    for (name, servers) in expected {
        let expected: BTreeMap<_, _> =
            servers.iter().map(|(server, fault)| (server.to_string(), fault.to_string())).collect();
        assert_eq!(faults(&format!("samples/diagnose-{name}-faults.pcap")), expected);
    }
    // A client whose connection is refused meets a fault of the master, not of a server that this has accepted.
    let (captures, _) = diagnosed(&["samples/diagnose-masters-faults.pcap"]);
    let masters = captures[0]["masters"].as_array().unwrap();
    assert!(masters.iter().any(|it| it["cause"] == "tcp_refused"), "{masters:#?}");
    // The master may have accepted it before the capture, and then challenges it no more.
    let (captures, _) = diagnosed(&["--complete", "samples/diagnose-masters-faults.pcap"]);
    let servers = captures[0]["servers"].as_array().unwrap();
    let ignored = servers.iter().find(|it| it["server"] == "10.0.1.2:7778").unwrap();
    assert_eq!(ignored["cause"], "not_challenged");
}

#[test]
fn nothing_is_wrong_with_their_twins() {
    for name in ["registration", "text-master", "acr", "queries", "path", "masters"] {
        let file = format!("samples/diagnose-{name}.pcap");
        let (captures, code) = diagnosed(&[&file]);
        assert_eq!(code, 0, "{name}");
        let servers = captures[0]["servers"].as_array().unwrap();
        assert!(servers.len() >= 3, "{name}");
        for server in servers {
            assert_eq!(server["verdict"], "ok", "{server}");
            for item in server["items"].as_array().unwrap() {
                assert_eq!(item["verdict"], "yes", "{item}");
                assert!(!item["frames"].as_array().unwrap().is_empty(), "{item}");
            }
        }
    }
}

#[test]
fn what_people_read() {
    let faults = "samples/diagnose-queries-faults.pcap";
    insta::assert_snapshot!("diagnose-lines", text(&[faults]));
    insta::assert_snapshot!("diagnose-one", text(&["--server", "10.0.1.2:27015", faults]));
    let markdown = text(&["--format", "markdown", "--server", "10.0.1.2:27016", faults]);
    insta::assert_snapshot!("diagnose-markdown", markdown);
    let registration = "samples/diagnose-registration-faults.pcap";
    insta::assert_snapshot!(
        "diagnose-registration",
        text(&["--server", "10.0.2.2:27015", registration])
    );
}

#[test]
fn every_sample_is_diagnosed_the_same_as_one_of_several() {
    for sample in samples() {
        let file = sample.to_str().unwrap();
        let (alone, _) = diagnosed(&[file]);
        let (twice, _) = diagnosed(&[file, file]);
        assert_eq!(twice.len(), 2, "{file}");
        assert_eq!(alone[0]["servers"], twice[1]["servers"], "{file}");
        // The first item that is not so is the first one with that verdict.
        for server in alone[0]["servers"].as_array().unwrap() {
            let items = server["items"].as_array().unwrap();
            // With several masters, the result is about the one with which it goes best.
            let masters: std::collections::BTreeSet<_> =
                items.iter().filter_map(|item| item["master"].as_str()).collect();
            let counts = |item: &&Value| masters.len() < 2 || item.get("master").is_none();
            let first = items.iter().filter(counts).find(|item| item["verdict"] == "no");
            assert_eq!(first.map(|item| &item["item"]), server.get("first_no"), "{file}");
            for item in items {
                assert_eq!(item["verdict"] == "yes", item.get("cause").is_none(), "{item}");
            }
        }
    }
}

#[test]
fn a_server_of_which_the_capture_has_nothing() {
    let file = "samples/diagnose-queries.pcap";
    let (captures, code) = diagnosed(&["--server", "203.0.113.5:27015", file]);
    let server = &captures[0]["servers"][0];
    assert_eq!((server["verdict"].as_str(), code), (Some("unknown"), 0));
    assert_eq!(server["server"], "203.0.113.5:27015");
    let items = server["items"].as_array().unwrap();
    assert!(
        !items.is_empty() && items.iter().all(|it| it["cause"] == "not_in_capture"),
        "{server}"
    );
    let run = gamewire(["diagnose", "--server", "example.net", file]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("203.0.113.5:27015"), "{}", run.err);
}

#[test]
fn silence_is_a_fault_where_the_capture_is_complete() {
    let file = "samples/silence-unanswered.pcap";
    let of = |args: &[&str]| {
        let (captures, _) = diagnosed(args);
        let servers = captures[0]["servers"].as_array().unwrap().clone();
        let verdict =
            |it: &Value| (it["server"].as_str().unwrap().to_owned(), it["verdict"].clone());
        servers.iter().map(verdict).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(of(&[file])["10.0.1.2:27015"], "unknown");
    assert_eq!(of(&["--complete", file])["10.0.1.2:27015"], "fault");
}

#[test]
fn check_points_to_it_where_it_has_something_to_say() {
    let last = |args: &[&str]| {
        let run = gamewire(["check", "--no-config"].iter().chain(args));
        run.out.lines().last().unwrap_or_default().to_owned()
    };
    let file = "samples/silence-icmp.pcap";
    assert!(last(&[file]).ends_with("gamewire diagnose samples/silence-icmp.pcap"));
    assert!(last(&[file, file]).ends_with("gamewire diagnose FILE..."));
    for args in [&["-q", file][..], &["samples/a2s-info-players-rules.pcap"]] {
        assert!(!last(args).contains("diagnose"), "{args:?}");
    }
}

/// The verdict on the server that a script's capture shows: the first fault, or nothing.
fn of_script(script: &str, setting: &Setting, args: &[&str]) -> Option<String> {
    let (_project, file) = Project::of_script(script, setting);
    let (captures, _) = diagnosed(&[args, &[&*file]].concat());
    let servers = captures[0]["servers"].as_array().unwrap();
    let server =
        servers.iter().find(|server| !server["server"].as_str().unwrap().starts_with("10.0.0.9"));
    let server = server.unwrap();
    Some(format!("{} {}", server["first_no"].as_str()?, server["cause"].as_str()?))
}

#[test]
fn other_faults_of_queries() {
    let a2s = Setting::udp(27015);
    let fault = |script: &str| of_script(script, &a2s, &[]);
    let port = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s:40000 > c  FFFFFFFF 41 4BA1D522\n\
        1.0 c > s  FFFFFFFF 55 4BA1D522\n1.02 s:40000 > c  FFFFFFFF 44 00\nend 9";
    assert_eq!(fault(port).as_deref(), Some("seen.from_asked answers_from_other_port"));
    let again = (0..8).map(|n| {
        let challenge = 1000 + n;
        format!(
            "{n}.0 c > s  FFFFFFFF 55 le32:{}\n{n}.02 s > c  FFFFFFFF 41 le32:{challenge}\n",
            challenge - 1
        )
    });
    let looping = again.collect::<String>().replace("le32:999", "FFFFFFFF") + "end 19";
    assert_eq!(fault(&looping).as_deref(), Some("seen.verified challenge_loop"));
    let firewall = "0.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n0.01 m > c  icmp=3.13\nend 9";
    assert_eq!(fault(firewall).as_deref(), Some("seen.answered icmp_admin_prohibited"));
    let mended = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.01 s > c  icmp=3.3\n9.0 c > s  FFFFFFFF 55 FFFFFFFF\n\
        9.02 s > c  FFFFFFFF 41 4BA1D522\n9.1 c > s  FFFFFFFF 55 4BA1D522\n9.12 s > c  FFFFFFFF 44 00\nend 20";
    assert_eq!(fault(mended), None, "what is mended is no fault");
    let no_route = firewall.replace("icmp=3.13", "icmp=11.0");
    assert_eq!(fault(&no_route).as_deref(), Some("seen.answered icmp_host_unreachable"));
}

/// By errors of which none has a cause of its own.
#[test]
fn refused_requests_are_counted_once() {
    let request = |at: u32| {
        format!("{at}.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n{at}.01 m > c  icmp=12.0\n")
    };
    let script = (0..8).map(|nth| request(10 * nth)).collect::<String>() + "end 100";
    let (_, report) = diagnosis::diagnosed(&script, &Setting::udp(27015), &[]);
    let answered = report["servers"][0]["items"].as_array().unwrap();
    let answered = answered.iter().find(|it| it["item"] == "seen.answered").unwrap();
    let text = "none of 8 requests was answered; 8 requests were refused by an ICMP error";
    assert_eq!(answered["text"], text);
}

#[test]
fn other_faults_of_registration() {
    let valve = Setting::udp(27010);
    let fault = |script: &str, args: &[&str]| of_script(script, &valve, args);
    let refused = "0.0 s > m  71\n0.01 m > s  icmp=3.3\nend 9";
    assert_eq!(fault(refused, &[]).as_deref(), Some("reg.challenged icmp_port_unreachable"));
    let ignored = "0.0 s > m  71\n10.0 s > m  71\n20.0 s > m  71\nend 40";
    assert_eq!(fault(ignored, &[]), None, "it may have been answered where nobody recorded");
    assert_eq!(fault(ignored, &["--complete"]).as_deref(), Some("reg.challenged join_unanswered"));
    let text = Setting::udp(7778);
    let query = "0.0 c > s  '\\\\info\\\\'\n0.02 s > c  '\\\\hostname\\\\A\\\\queryid\\\\1.1\\\\final\\\\'\nend 9";
    assert_eq!(of_script(query, &text, &[]), None);
    let never = of_script(query, &text, &["--complete"]);
    assert_eq!(never.as_deref(), Some("reg.join never_joined"));
}

/// What is said of one item of the server that a script's capture shows: its verdict, and the cause.
fn item_of_script(script: &str, setting: &Setting, server: &str, item: &str) -> String {
    let item = said_of_script(script, setting, (server, item));
    let cause = item.get("cause").and_then(Value::as_str).unwrap_or_default();
    format!("{} {cause}", item["verdict"].as_str().unwrap()).trim_end().to_owned()
}

#[test]
fn a_probe_that_is_answered_from_another_port() {
    let script = |port: u16| {
        format!(
            r"0.000  s:40000 > m:80 tcp  'GET /r?v=140&g=20700&p=28770 HTTP/1.0\r\nHost: ms.example.net\r\n\r\n'
0.012  m:41000 > s:28771  01
0.013  s:{port} > m:41000  01 808c 00
0.020  m:80 > s:40000 tcp  'HTTP/1.0 200 OK\r\n\r\nserver registered' fin
0.021  s:40000 > m:80 tcp  fin
end 30"
        )
    };
    let probed = |port| {
        item_of_script(&script(port), &Setting::udp(28770), "10.0.0.2:28770", "reg.probe_back")
    };
    assert_eq!(probed(28771), "yes");
    assert_eq!(probed(35000), "no probe_answered_from_other_port");
}

#[test]
fn a_connection_that_the_master_refuses() {
    let heartbeats = (0..4).map(|nth| {
        format!("{}.0 s:7778 > m:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\n", nth * 60)
    });
    let heartbeats: String = heartbeats.collect();
    let item = |rest: &str| {
        let script = format!("{heartbeats}{rest}\nend 300");
        item_of_script(&script, &Setting::udp(7778), "10.0.0.2:7778", "list.whole")
    };
    assert_eq!(item("200.0 m:28900 > c tcp refused"), "no tcp_refused");
    assert_eq!(item("200.0 m:28900 > c tcp refused icmp=3.10"), "no icmp_admin_prohibited");
    let of_size = item("200.0 m:28900 > c tcp refused icmp=3.4 mtu=1400");
    assert_eq!(of_size, "unknown not_in_capture", "it refuses nothing");
    let given = r"
201.00 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
201.02 c > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
201.03 c > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
201.05 m:28900 > c tcp '\\ip\\10.0.0.2:7778\\final\\' fin
201.06 c > m:28900 tcp fin";
    assert_eq!(item(given), "yes");
    // Who refuses other connections is not a master.
    assert!(item("200.0 m:443 > c tcp refused").starts_with("unknown"));
    assert!(item("200.0 n:28900 > c tcp refused").starts_with("unknown"));
}

#[test]
fn a_list_with_a_filter_counts_for_the_servers_that_it_lets_through() {
    let join = r"0.000  s:27015 > m  71
0.020  m > s:27015  FFFFFFFF 730A le32:1339895702
0.030  s:27015 > m  300A '\\protocol\\47\\challenge\\1339895702\\players\\3\\max\\24\\bots\\0\\gamedir\\tfc\\map\\2fort\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\tfc\n'
";
    let item = |filter: &str, listed: &str, item: &str| {
        let filter = filter.replace('\\', r"\\");
        let script = format!(
            "{join}10.0 c > m  31FF '0.0.0.0:0' 00 '{filter}' 00\n\
             10.02 m > c  FFFFFFFF 660A {listed} ip:0.0.0.0:0\nend 30"
        );
        item_of_script(&script, &Setting::udp(27010), "10.0.0.2:27015", item)
    };
    let (own, other) = ("ip:10.0.0.2:27015", "ip:10.9.9.9:27015");
    assert_eq!(item(r"\gamedir\tfc", own, "list.listed"), "yes");
    assert_eq!(item(r"\gamedir\tfc", other, "list.listed"), "no not_in_list");
    assert_eq!(item(r"\gamedir\tfc\empty\1", other, "list.whole"), "yes");
    assert_eq!(item(r"\gamedir\tfc\empty\1", other, "list.listed"), "no not_in_list");
    assert_eq!(item(r"\gamedir\valve", other, "list.listed"), "unknown list_filtered");
    assert_eq!(item(r"\appid\20", other, "list.listed"), "unknown list_filtered");
}

#[test]
fn a_lost_fragment_is_laid_to_the_server_whose_it_is() {
    let response = "FFFFFFFF 45 0100 'a' 00 'b'*40 00";
    let script = format!(
        "0.0 c > s1  FFFFFFFF 54 'Source Engine Query' 00\n\
         20.0 c > s2  FFFFFFFF 56 le32:7\n\
         20.02 s2 > c frag=32  {response}\n\
         end 60"
    );
    let setting = Setting::udp(27015);
    let cut = |keeps: fn(usize) -> bool, server: &str| {
        let mut capture = captures::exchange::capture(&script, &setting).unwrap();
        let mut at = 0;
        capture.packets.retain(|_| {
            at += 1;
            keeps(at)
        });
        let (_project, file) = Project::of_capture(capture.pcap());
        let whole = item_of(&file, (server, "seen.whole"));
        format!("{} {}", whole["verdict"].as_str().unwrap(), whole["cause"].as_str().unwrap_or(""))
    };
    let (first, second) = ("10.0.0.2:27016", "10.0.0.2:27017");
    // Packets 3 and 4 are fragments.
    assert_eq!(cut(|_| true, second), "yes ");
    assert_eq!(cut(|at| at != 4, second), "no fragment_lost");
    assert_eq!(cut(|at| at != 4, first), "unknown not_in_capture");
    assert_eq!(cut(|at| at != 3, second), "unknown fragment_lost");
    assert_eq!(cut(|at| at != 3, first), "unknown fragment_lost");
}

#[test]
fn a_request_that_is_wrong_is_owed_nothing() {
    let item = |request: &str| {
        let requests: String = (0..4).map(|nth| format!("{nth}0.0 c > s  {request}\n")).collect();
        let script = format!("{requests}50.0 s > d  FFFFFFFF 49 11\nend 90");
        item_of_script(&script, &Setting::udp(27015), "10.0.0.2:27015", "seen.answered")
    };
    assert_eq!(item("FFFFFFFF 54 'Source Engine Qeury' 00"), "unknown request_wrong");
    assert_ne!(item("FFFFFFFF 54 'Source Engine Query' 00"), "unknown request_wrong");
}

/// The result for one item of a server in a script's capture.
fn said_of_script(script: &str, setting: &Setting, of: (&str, &str)) -> Value {
    let (_project, file) = Project::of_script(script, setting);
    item_of(&file, of)
}

/// The result for one item of a server in a capture.
fn item_of(file: &str, (server, item): (&str, &str)) -> Value {
    let (captures, _) = diagnosed(&["--server", server, file]);
    let items = captures[0]["servers"][0]["items"].as_array().unwrap();
    items.iter().find(|it| it["item"] == item).unwrap().clone()
}

#[test]
fn a_response_that_is_too_large_for_the_path() {
    let whole = |error: &str| {
        let script = format!(
            "0.0 c > s  FFFFFFFF 56 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 le32:7\n\
             0.1 c > s  FFFFFFFF 56 le32:7\n0.12 s > c df  FFFFFFFF 45 0100 'a' 00 'b'*1400 00\n\
             {error}\nend 20"
        );
        said_of_script(&script, &Setting::udp(27015), ("10.0.0.2:27015", "seen.whole"))
    };
    let item = whole("0.13 m > s  icmp=3.4 mtu=1400");
    assert_eq!(item["cause"], "icmp_fragmentation_needed", "{item}");
    let text = "10.0.0.9 says: fragmentation needed; packets of at most 1,400 bytes pass";
    assert_eq!(item["text"], text);
    assert!(item["advice"].as_str().unwrap().contains("Don't Fragment"), "{item}");
    // Old routers do not say how large a packet may be.
    assert_eq!(whole("0.13 m > s  icmp=3.4")["text"], "10.0.0.9 says: fragmentation needed");
    assert_eq!(whole("")["verdict"], "yes");
}

#[test]
fn a_part_of_a_response_that_is_too_large_for_the_path() {
    let part = |number: u8| format!("FEFFFFFF le32:77 02 0{number} E004");
    let item = |rest: &str| {
        let script = format!(
            "0.0 c > s  FFFFFFFF 56 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 le32:7\n0.1 c > s  FFFFFFFF 56 le32:7\n\
             0.12 s > c df  {} FFFFFFFF 45 0100 'a' 00 'b'*1230\n{rest}\n\
             0.14 s > c df  {} 'b'*99 00\nend 20",
            part(0),
            part(1)
        );
        let item = ("10.0.0.2:27015", "seen.whole");
        said_of_script(&script, &Setting::udp(27015), item)["cause"].clone()
    };
    assert_eq!(item("0.13 m > s  icmp=3.4 mtu=1200"), "icmp_fragmentation_needed");
    assert_eq!(item(""), Value::Null);
}

/// The server of AssaultCube Reloaded says this to the master, and is not in the list.
fn of_acr(path: &str, answer: &str, listed: &str) -> String {
    format!(
        r"0.00 s:40000 > m tcp 'GET {path} HTTP/1.0\r\nHost: ms.example.net\r\n\r\n'
0.02 m > s:40000 tcp 'HTTP/1.0 200 OK\r\n\r\n{answer}' fin
0.03 s:40000 > m tcp fin
{listed}
end 60"
    )
}

const NOT_LISTED: &str = r"20.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.0\r\nHost: ms.example.net\r\n\r\n'
20.03 m > c tcp 'HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\ncurrent_version 20700 140\n' fin
20.04 c > m tcp fin";

#[test]
fn a_registration_that_is_refused() {
    let accepted = |path: &str, answer: &str| {
        let (server, script) = ("10.0.0.2:28770", of_acr(path, answer, ""));
        said_of_script(&script, &Setting::tcp(80), (server, "reg.accepted"))
    };
    let register = "/r?v=140&g=20700&p=28770";
    for (answer, said) in [("*f\\n", "\"*f\""), ("ERROR: no way in", "\"ERROR: no way in\"")] {
        let item = accepted(register, answer);
        assert_eq!((&item["cause"], &item["text"]), (&"registration_refused".into(), &said.into()));
    }
    for answer in ["Your server cannot be listed", "your server did not respond"] {
        assert_eq!(accepted(register, answer)["cause"], "registration_refused", "{answer}");
    }
    for answer in ["OK", "unregistered", "<html><body>Welcome</body></html>"] {
        let item = accepted(register, answer);
        assert_eq!(
            (&item["verdict"], &item["cause"]),
            (&"unknown".into(), &"registration_unclear".into())
        );
        assert!(item["text"].as_str().unwrap().contains(answer), "{item}");
    }
    let item = accepted(register, "server registered");
    assert_eq!((&item["verdict"], &item["text"]), (&"yes".into(), &"\"server registered\"".into()));
}

#[test]
fn a_server_that_the_master_does_not_know() {
    let auth = "/a?p=28770&a=::ffff:c000:027f&i=7&u=42";
    let accepted = |answer: &str, listed: &str| {
        let script = of_acr(auth, answer, listed);
        let item = ("10.0.0.2:28770", "reg.accepted");
        let said = said_of_script(&script, &Setting::tcp(80), item);
        format!("{} {}", said["verdict"].as_str().unwrap(), said["cause"].as_str().unwrap_or(""))
    };
    assert_eq!(accepted(r"*f\n*a\n", NOT_LISTED), "no not_registered");
    assert_eq!(accepted(r"*f\n*a\n", ""), "unknown not_registered");
    let listed = NOT_LISTED.replace("140\\n", "140\\naddserver 10.0.0.2\\n");
    assert_eq!(accepted(r"*f\n*a\n", &listed), "yes ", "the player is unknown, or auth is off");
    let challenge = format!("*c{}\\n*a\\n", "ab".repeat(128));
    assert_eq!(accepted(&challenge, ""), "yes ", "the master challenges only whom it knows");
    assert_eq!(accepted(r"*a\n", ""), "unknown not_in_capture");
}

/// What is shown of the one server of a script's capture.
fn shown_of_script(script: &str, setting: &Setting) -> String {
    let (_project, file) = Project::of_script(script, setting);
    text(&["--server", "10.0.0.2", &file])
}

#[test]
fn the_first_line_hides_nothing() {
    let a2s = Setting::udp(27015);
    let info = "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let one = |nth: u32| {
        let at = nth * 20;
        format!(
            "{at}.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n{at}.000224 s > c  {info}\n\
             {at}.1 c > s  FFFFFFFF 56 FFFFFFFF\n{at}.100224 s > c  FFFFFFFF 45 0000\n\
             {at}.2 c > s  FFFFFFFF 55 FFFFFFFF\n"
        )
    };
    let shown = shown_of_script(&format!("{}end 90", (0..4).map(one).collect::<String>()), &a2s);
    let first = shown.lines().next().unwrap();
    assert_eq!(
        first,
        "10.0.0.2:27015 (a2s, \"A\"): it answers other requests, but never player requests"
    );
    assert!(shown.contains("within 224us"), "{shown}");

    // Clients ask it, and it is in a list: that it responds is not shown by that.
    let listed = r"0.0 c > m:27010  31FF '0.0.0.0:0' 00 00
0.02 m:27010 > c  FFFFFFFF 660A ip:10.0.0.2:27015 00*6
1.0 c > s  FFFFFFFF 54 'Source Engine Query' 00
end 9";
    let shown = shown_of_script(listed, &a2s);
    let first = "10.0.0.2:27015 (a2s): whether it responds to clients is unknown: the capture may have only one direction";
    assert_eq!(shown.lines().next(), Some(first));
    assert!(shown.contains("\n     Record both directions"), "what to do is said: {shown}");
    let project = Project::new("diagnose-listed");
    project.play("capture.pcap", &a2s, listed);
    let (captures, _) = diagnosed(&["--server", "10.0.0.2", &project.path("capture.pcap")]);
    assert_eq!(captures[0]["servers"][0]["verdict"], "unknown");
}

#[test]
fn what_was_so_before_is_said() {
    let heartbeat = r"'\\heartbeat\\7778\\gamename\\ut\\'";
    let script = format!(
        r"0.0 s:7778 > m:27900  {heartbeat}
0.02 m:27900 > s:7778  '\\basic\\\\secure\\XDWAOR'
0.03 s:7778 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\validate\\3JOdDFU5\\final\\'
60.0 s:7778 > m:27900  {heartbeat}
60.02 m:27900 > s:7778  icmp=3.3
end 90"
    );
    let item = said_of_script(&script, &Setting::udp(7778), ("10.0.0.2:7778", "reg.challenged"));
    assert_eq!(
        item["text"],
        "10.0.0.9 says: port unreachable; earlier, it was as it should be: frame 2"
    );
}

#[test]
fn servers_that_are_not_shown_are_counted() {
    // One after the other: several ports at once are a probe of one server.
    let ask = |port: u16| {
        let second = (port - 30_000) * 20;
        format!("{second}.0 c > s:{port}  FFFFFFFF 54 'Source Engine Query' 00\n")
    };
    let script: String = (30_000..30_060).map(ask).collect();
    let project = Project::new("diagnose-many");
    project.play("capture.pcap", &Setting::udp(27015), &script);
    let shown = text(&[&project.path("capture.pcap")]);
    assert!(
        shown.contains("\n10 more servers; --server IP:PORT shows all items of one server\n"),
        "{shown}"
    );
}

/// A client that asks for info, players and rules every ten seconds, and again where nothing comes. Of
/// the rules, `sent` says what the server sends, and how.
fn polled(sent: &str) -> String {
    let info = "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let one = |nth: u32| {
        let (at, rules) = (nth * 20, "c > s  FFFFFFFF 56 le32:7");
        let sent = if sent.is_empty() { String::new() } else { format!("+0.02 s > c {sent}\n") };
        format!(
            "{at}.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n{at}.02 s > c  {info}\n\
             {at}.1 c > s  FFFFFFFF 55 FFFFFFFF\n{at}.12 s > c  FFFFFFFF 41 le32:7\n\
             {at}.2 c > s  FFFFFFFF 55 le32:7\n{at}.22 s > c  FFFFFFFF 44 00\n\
             {at}.3 {rules}\n{sent}+1.5 {rules}\n{sent}+1.5 {rules}\n{sent}"
        )
    };
    format!("{}end 110", (0..4).map(one).collect::<String>())
}

/// Nothing in the capture says that a packet was too large: there are other reasons, too.
#[test]
fn responses_that_may_be_lost_for_their_size() {
    let a2s = Setting::udp(27015);
    let whole = |script: &str| said_of_script(script, &a2s, ("10.0.0.2:27015", "seen.whole"));
    let is_a_guess = |item: &Value, cause: &str, text: &str| {
        assert_eq!(
            (&item["verdict"], &item["cause"]),
            (&"unknown".into(), &cause.into()),
            "{item}"
        );
        assert_eq!(item["text"], text);
        assert!(item["advice"].as_str().unwrap().contains("ping -M do"), "{item}");
    };
    // At a client, they are missing.
    let missing = polled("");
    let text = "nothing comes to rules requests, and to others no packet of more than 27 bytes: a larger one may not \
                pass (4 times)";
    let item = whole(&missing);
    is_a_guess(&item, "large_responses_missing", text);
    assert_eq!(item["frames"], serde_json::json!([9, 18, 27]), "{item}");
    let shown = shown_of_script(&missing, &a2s);
    let first = "10.0.0.2:27015 (a2s, \"A\"): it answers other requests, but never rules requests";
    assert_eq!(shown.lines().next(), Some(first), "other reasons are as likely");
    assert!(shown.contains("ping -M do"), "what to do is said: {shown}");
    // At the server, nothing is missing: the client asks again.
    let large = polled("df FFFFFFFF 45 0100 'a' 00 'b'*1400 00");
    let text = "8 of 12 large responses to rules requests are asked for again within 3 s, and no small ones: they may \
                not arrive";
    is_a_guess(&whole(&large), "large_responses_asked_again", text);
    let shown = shown_of_script(&large, &a2s);
    let first = "10.0.0.2:27015 (a2s, \"A\"): whether it gets complete responses to clients is unknown: clients repeat \
                 only requests for large responses";
    assert_eq!(shown.lines().next(), Some(first));
    for length in [2400, 3000] {
        let fragments = polled(&format!("frag=1480 FFFFFFFF 45 0100 'a' 00 'b'*{length} 00"));
        assert_eq!(whole(&fragments)["cause"], "large_responses_asked_again", "{length}");
    }

    // The same of a protocol where all but a challenge is large.
    let ut3 = |nth: u32| {
        let at = nth * 20;
        format!(
            "{at}.0 c > s  FEFD 09 000000{nth:02}\n+0.02 s > c  09 000000{nth:02} '77' 00\n\
             +0.1 c > s  FEFD 00 000000{nth:02} be32:77 FFFFFF01\n"
        )
    };
    let ut3 = format!("{}end 110", (0..4).map(ut3).collect::<String>());
    let item = said_of_script(&ut3, &Setting::udp(6500), ("10.0.0.2:6500", "seen.whole"));
    assert_eq!(item["cause"], "large_responses_missing", "{item}");

    // A list of a few players is small.
    let listed = |players: u8| {
        let one = |nth: u32| {
            let at = nth * 20;
            format!(
                "{at}.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n\
                 +0.02 s > c  FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 {players:02X} 40 00 'd' 'l' 00 01 '1' 00 00\n\
                 {at}.1 c > s  FFFFFFFF 55 FFFFFFFF\n"
            )
        };
        let whole = whole(&format!("{}end 110", (0..4).map(one).collect::<String>()));
        whole["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!([3, 60].map(listed), ["yes", "unknown"]);

    // Small responses are not lost for their size, and who polls everything fast waits for nothing.
    assert_eq!(whole(&polled("FFFFFFFF 45 0100 'a' 00 'b' 00"))["verdict"], "yes");
    let fast = |nth: u32| {
        format!(
            "{nth}.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n{nth}.02 s > c  FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00\n\
             {nth}.2 c > s  FFFFFFFF 56 FFFFFFFF\n{nth}.22 s > c  FFFFFFFF 45 0100 'a' 00 'b'*1400 00\n"
        )
    };
    assert_eq!(
        whole(&format!("{}end 60", (0..20).map(fast).collect::<String>()))["verdict"],
        "yes"
    );
    // As large a packet arrives.
    let others = polled("").replace("44 00", "44 01 00 'a'*1380 00 le32:7 f32:61.5");
    assert_eq!(whole(&others)["verdict"], "yes");
    // A server that challenges others, and not who asks for them, does not know the request.
    let ignored = polled("").replace("c > s  FFFFFFFF 56 le32:7", "d > s  FFFFFFFF 56 FFFFFFFF");
    assert_eq!(whole(&ignored)["verdict"], "yes");
}

/// As UT3 and others speak the GameSpy 4 protocol.
#[test]
fn responses_of_game_spy_4_that_clients_cannot_read() {
    let readable = |challenge: &str, response: &str| {
        let script = format!(
            "0.0 c > s  FEFD 09 00000001\n0.02 s > c  09 00000001 {challenge} 00\n\
             {response}\nend 60"
        );
        let item = ("10.0.0.2:6500", "seen.readable");
        let item = said_of_script(&script, &Setting::udp(6500), item);
        let cause = item["cause"].as_str().unwrap_or_default();
        format!("{} {cause} {}", item["verdict"].as_str().unwrap(), item["frames"])
    };
    let response = |header: &str, end: &str| {
        let response = format!("00 {header} 'hostport' 00 '7777' {end}");
        readable(
            "'77'",
            &format!("0.1 c > s  FEFD 00 00000002 be32:77 FFFFFF01\n0.12 s > c  {response}"),
        )
    };
    let whole = "00000002 'splitnum' 00 80 00";
    assert_eq!(response(whole, "00 00"), "yes  [4]");
    // The last packet is not marked as such, as a recorded server leaves it.
    assert_eq!(response("00000002 'splitnum' 00 00 00", "00 00"), "no header_broken [4]");
    assert_eq!(response("02000000 'splitnum' 00 80 00", "00 00"), "no header_broken [4]");
    assert_eq!(response(whole, ""), "no header_broken [4]");
    assert_eq!(readable("'seventy'", ""), "no challenge_not_a_number [2]");
}

/// A server that clients knew, and that is gone: its challenge is not at fault.
#[test]
fn a_port_that_is_closed_later_is_no_fault_of_the_challenge() {
    let asks = |at: u32, answer: &str| {
        format!(
            "{at}.0 c > s  FFFFFFFF 55 FFFFFFFF\n+0.02 s > c  {answer}\n+0.1 c > s  FFFFFFFF 55 le32:7\n"
        )
    };
    let alive = asks(0, "FFFFFFFF 41 le32:7") + "+0.02 s > c  FFFFFFFF 44 00\n";
    let gone =
        |nth: u32| format!("{}.0 c > s  FFFFFFFF 55 le32:7\n+0.01 s > c  icmp=3.3\n", nth * 10);
    let script = format!("{alive}{}end 90", (1..6).map(gone).collect::<String>());
    let fault = of_script(&script, &Setting::udp(27015), &[]);
    assert_eq!(fault.as_deref(), Some("seen.answered icmp_port_unreachable"));
    // Where nothing says so, it is as likely as other reasons.
    let silent = |nth: u32| asks(nth * 10, "FFFFFFFF 41 le32:7");
    let script = format!("{alive}{}end 90", (1..6).map(silent).collect::<String>());
    let fault = of_script(&script, &Setting::udp(27015), &[]);
    assert_eq!(fault.as_deref(), Some("seen.answered challenged_request_unanswered"));
}

/// A server that is asked about has room, however many others there are; of those that have none, nothing is said.
#[test]
fn servers_that_do_not_fit_into_memory() {
    const SERVER: &str = "10.0.0.2:29999";
    const ASK: &str = "FFFFFFFF 54 'Source Engine Query' 00";
    const INFO: &str =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let ask = |port: u16| {
        let second = (port - 29_000) * 20;
        format!("{second}.0 c > s:{port}  {ASK}\n{second}.1 s:{port} > c  {INFO}\n")
    };
    let others: String = (29_000..29_100).map(ask).collect();
    let from_another_port = |nth: u16| {
        let second = 3000 + 20 * nth;
        format!("{second}.0 c > s:29999  {ASK}\n{second}.1 s:30003 > c  {INFO}\n")
    };
    let asked: String = (0..6).map(from_another_port).collect();
    let project = Project::new("diagnose-no-room");
    let script = format!("{others}{asked}end 3200");
    project.play("capture.pcap", &Setting::udp(27015), &script);
    let file = project.path("capture.pcap");
    let little = ["--limit", "flow-bytes=4K", &file];

    let (named, code) = diagnosed(&[&["--server", SERVER][..], &little].concat());
    assert_eq!(named[0]["servers"][0]["verdict"], "fault", "{named:?}");
    assert_eq!(code, 1);

    let (all, _) = diagnosed(&little);
    assert_eq!(all[0]["cut"], true);
    assert!(all[0]["left_out"]["servers"].as_u64().is_some_and(|it| it >= 16), "{all:?}");
    let shown = text(&little);
    let note = "did not fit into memory, and nothing is said of them; see --memory";
    assert!(shown.contains("at least 16 more servers") && shown.contains(note), "{shown}");

    let absent = text(&[&["--server", "10.9.9.9:1"][..], &little].concat());
    assert!(!absent.contains("in this capture") && !absent.contains("in the capture"), "{absent}");
    let (absent, _) = diagnosed(&[&["--server", "10.9.9.9:1"][..], &little].concat());
    assert!(!absent[0].to_string().contains("in this capture"), "{absent:?}");
    let whole = text(&["--server", "10.9.9.9:1", &file]);
    assert!(whole.contains("10.9.9.9:1: nothing of it is in this capture"), "{whole}");

    let healthy: String = (29_000..29_100).map(ask).collect();
    project.play("healthy.pcap", &Setting::udp(27015), &format!("{healthy}end 3200"));
    let page = project.path("page.html");
    gamewire([
        "report",
        "--no-config",
        "--limit",
        "flow-bytes=4K",
        "-o",
        &page,
        &project.path("healthy.pcap"),
    ]);
    let page = project.read("page.html");
    assert!(page.contains("others did not fit into memory"));
    assert!(!page.contains("Nothing is wrong with 16 servers<"));
}

/// Whoever is attacked is named, also where it is no server of the capture.
#[test]
fn a_victim_of_a_reflection_is_in_the_json() {
    let run =
        gamewire(["diagnose", "--no-config", "--format", "json", "samples/abuse-victim.pcap"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(run.code, 1);
    assert_eq!(report["attacks"][0]["targets"], serde_json::json!(["198.51.100.7:80"]));
    assert_eq!(report["broadcasts"], serde_json::json!([]));
}
