//! When servers register again, and what masters do about it, in `gamewire diagnose`.

use crate::support::diagnosis::{diagnosed, item};
use captures::exchange::Setting;
use serde_json::Value;

const VALVE: Setting = Setting { udp_port: 27010, ..Setting::udp(27010) };

/// The report of a script, in which `s` is a server at its usual port.
fn report_of(script: &str) -> Value {
    diagnosed(&script.replace(" s >", " s:27015 >").replace("> s ", "> s:27015 "), &VALVE, &[]).1
}

/// The lines of a join to a port of a master, from a second on.
fn joined(at: f64, port: u16) -> String {
    let challenge = 1_000_000 + at as u32;
    format!(
        "{at:.2} s > m:{port}  71\n{:.2} m:{port} > s  FFFFFFFF 730A le32:{challenge}\n\
         {:.2} s > m:{port}  '0\\n\\\\protocol\\\\7\\\\challenge\\\\{challenge}\\\\players\\\\0\\\\max\\\\8\\\\bots\\\\0\\\\gamedir\\\\cstrike\\\\map\\\\de_dust\\\\password\\\\0\\\\os\\\\l\\\\lan\\\\0\\\\region\\\\255\\\\type\\\\d\\\\secure\\\\0\\\\version\\\\1.0.0.0\\\\product\\\\cstrike\\n'\n",
        at + 0.1,
        at + 0.2
    )
}

/// The words of an item of the first server.
fn words(report: &Value, name: &str) -> String {
    let items = report["servers"][0]["items"].as_array().unwrap();
    let found = items.iter().find(|it| it["item"] == name).unwrap();
    found["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn heartbeats_that_cease_are_not_on_time() {
    let all: String = (0..3).map(|nth| joined(f64::from(nth) * 300.0, 27010)).collect();
    let report = report_of(&format!("{all}end 900"));
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "yes", "{report:#}");
    let report = report_of(&format!("{all}end 1800"));
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "unknown not_in_capture", "{report:#}");
    assert_eq!(words(&report, "reg.heartbeats"), "none in the last 20 min 0 s");
    // Who still answers did not stop.
    let answered = |until: u32| {
        let info = "FFFFFFFF 54 'Source Engine Query' 00";
        let answer =
            "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
        let polls = (1..until).map(|nth| {
            let at = nth * 60;
            format!("{at}.5 c > s  {info}\n{at}.52 s > c  {answer}\n")
        });
        polls.collect::<String>()
    };
    let report = report_of(&format!("{all}{}end 1800", answered(30)));
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "no heartbeat_rare", "{report:#}");
    assert_eq!(words(&report, "reg.heartbeats"), "none in the last 20 min 0 s");
    let report = report_of(&format!("{all}{}end 1800", answered(15)));
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "unknown not_in_capture", "{report:#}");
    // One alone is too few for a server that still answers.
    let once = joined(0.0, 27010);
    let report = report_of(&format!("{once}{}end 1800", answered(30)));
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "no heartbeat_rare", "{report:#}");
    let report = report_of(&format!("{once}{}end 660", answered(10)));
    assert_eq!(
        item(&report, "servers", "reg.heartbeats"),
        "unknown capture_too_short",
        "{report:#}"
    );
    let quit = "620.0 s > m:27010  620A\n";
    let report = report_of(&format!("{all}{quit}{}end 1800", answered(30)));
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "unknown not_in_capture", "{report:#}");
}

/// Two ports of one master, and a repeated join.
#[test]
fn joins_at_once_are_one_heartbeat() {
    let two: String = (0..4)
        .map(|nth| {
            let at = f64::from(nth) * 300.0;
            joined(at, 27010) + &joined(at + 0.5, 27011)
        })
        .collect();
    let repeated: String = (0..4)
        .map(|nth| {
            let at = f64::from(nth) * 300.0;
            format!("{at:.2} s > m:27010  71\n{}", joined(at + 1.0, 27010))
        })
        .collect();
    for script in [two, repeated] {
        let report = report_of(&format!("{script}end 1000"));
        assert_eq!(words(&report, "reg.heartbeats"), "every 5 min 0 s", "{report:#}");
    }
}

#[test]
fn heartbeats_that_come_often_are_counted() {
    let all: String = (0..8)
        .map(|nth| {
            format!(
                "{}.0 s > m  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\final\\\\'\n",
                nth * 20
            )
        })
        .collect();
    let (_, report) = diagnosed(
        &format!("{}end 200", all.replace(" s >", " s:7778 >").replace("> m", "> m:27900")),
        &Setting::udp(7778),
        &[],
    );
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "unknown not_in_capture", "{report:#}");
    assert!(words(&report, "reg.heartbeats").contains("20.0s"), "{report:#}");
}

/// A later list does not have it, an earlier one has.
#[test]
fn a_server_that_was_listed_was_accepted() {
    let list = |at: f64, server: &str| {
        format!(
            "{at:.1} c > m:27010  31 FF '0.0.0.0:0' 00 00\n{:.2} m:27010 > c  FFFFFFFF 660A {server} 00000000 0000\n",
            at + 0.05
        )
    };
    let joins = joined(0.0, 27010) + &joined(300.0, 27010);
    let lists = list(301.0, "0A000002 6987 01020304 6987") + &list(320.0, "01020304 6987");
    let report = report_of(&format!("{joins}{lists}end 400"));
    assert_eq!(item(&report, "servers", "reg.accepted"), "yes", "{report:#}");
    assert_eq!(item(&report, "servers", "list.listed"), "no not_in_list", "{report:#}");
}

/// A list of IPv4 addresses cannot have it.
#[test]
fn a_server_with_an_ipv6_address_is_in_no_list_of_ipv4_addresses() {
    let list = "301.0 c > m:27010  31 FF '0.0.0.0:0' 00 00\n\
                301.1 m:27010 > c  FFFFFFFF 660A 01020304 6987 00000000 0000\n";
    let script = joined(0.0, 27010) + &joined(300.0, 27010) + list + "end 400";
    let listed = |ipv6: bool| {
        let setting = Setting { ipv6, ..Setting::udp(27015) };
        let (_, report) = crate::support::diagnosis::diagnosed(&script, &setting, &[]);
        item(&report, "servers", "list.listed")
    };
    assert_eq!([false, true].map(listed), ["no not_in_list", "unknown not_in_capture"]);
}

const ACR: Setting = Setting::udp(28770);

/// Registrations, a minute apart, to which nothing comes.
#[test]
fn registrations_without_a_response_are_counted_once() {
    let all: String = (0..3)
        .map(|nth| {
            format!(
                "{}.0 s:{} > m:80 tcp  'GET /r?v=140&g=20700&p=28770 HTTP/1.0\\r\\nHost: ms.example.net\\r\\n\\r\\n'\n",
                nth * 60,
                40_000 + nth
            )
        })
        .collect();
    let report = diagnosed(&format!("{all}end 300"), &ACR, &["--complete"]).1;
    assert_eq!(
        item(&report, "servers", "reg.accepted"),
        "no registration_unanswered",
        "{report:#}"
    );
    assert!(!words(&report, "reg.accepted").contains("times"), "{report:#}");
}

/// The server's host says that nothing listens where the master probes.
#[test]
fn a_probe_that_is_refused_is_named() {
    let script = r"0.000  s:40000 > m:80 tcp  'GET /r?v=140&g=20700&p=28770 HTTP/1.0\r\nHost: ms.example.net\r\n\r\n'
0.012  m:41000 > s:28771  01
0.013  s > m:41000  icmp=3.3
0.020  m:80 > s:40000 tcp  'HTTP/1.0 200 OK\r\n\r\nThe master-server could not connect to your server.' fin
0.021  s:40000 > m:80 tcp  fin
end 30";
    let report = diagnosed(script, &ACR, &[]).1;
    let probed = item(&report, "servers", "reg.probe_back");
    assert_eq!(probed, "no icmp_port_unreachable", "{report:#}");
}

/// Where nothing of its host is in the capture, its heartbeats are not, either.
#[test]
fn a_host_that_is_not_heard_may_join_elsewhere() {
    let asked = |nth: u32| format!("{}.0 c > s:7778  '\\\\info\\\\'\n", nth * 10);
    let script: String = (0..4).map(asked).collect();
    let of = |heard: &str| {
        let script = format!("{script}{heard}end 60");
        diagnosed(&script, &Setting::udp(7778), &["--complete"]).1
    };
    let first = |report: &Value| report["servers"][0]["cause"].clone();
    assert_eq!(first(&of("")), "queries_unanswered");
    assert_eq!(first(&of("45.0 s:40000 > n:53  00\n")), "never_joined");
}
