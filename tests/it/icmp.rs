//! ICMP errors with the messages that they quote, and duplicated datagrams.

use std::path::PathBuf;

use crate::support::diagnosis;
use crate::support::project::Project;
use crate::support::{Run, gamewire};
use captures::exchange::{Setting, capture};
use captures::wire::{self, Capture, Datagram, Ip, Link, START};
use serde_json::Value;

struct Recording(PathBuf);

impl Recording {
    fn of(name: &str, script: &str, setting: &Setting) -> Recording {
        let file = format!("gamewire-icmp-{}-{name}.pcap", std::process::id());
        let path = std::env::temp_dir().join(file);
        let capture = capture(script, setting).expect("a good script");
        std::fs::write(&path, capture.pcap()).expect("a writable folder");
        Recording(path)
    }

    fn run(&self, args: &[&str]) -> Run {
        let file = self.0.to_string_lossy().into_owned();
        let run = gamewire(args.iter().map(|arg| (*arg).to_owned()).chain([file]));
        assert!(run.code < 2, "{}", run.err);
        run
    }

    fn messages(&self) -> Vec<Value> {
        let out = self.run(&["dissect", "--format", "json"]).out;
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

const REFUSED: &str = "
    0.00 c > s  FFFFFFFF 55 FFFFFFFF
    0.02 s > c  icmp=3.3
    0.50 c > s  FFFFFFFF 55 FFFFFFFF
    0.51 m > c  icmp=11.0
    0.52 s > c  icmp=3.3
    end 9";

#[test]
fn an_error_is_in_the_line_of_the_message_that_it_quotes() {
    let recording = Recording::of("line", REFUSED, &Setting::udp(27015));
    let out = recording.run(&["dissect"]).out;
    let lines: Vec<_> = out.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].contains("challenge -1"), "{out}");
    assert!(lines[0].ends_with("  ! port unreachable, from 10.0.0.2"), "{out}");
    let both = "  ! time exceeded in transit, from 10.0.0.9  ! port unreachable, from 10.0.0.2";
    assert!(lines[1].ends_with(both), "{out}");
    let shown = recording.run(&["dissect", "-v"]).out;
    assert!(shown.lines().nth(1).unwrap().ends_with("from 10.0.0.2"), "{shown}");
}

#[test]
fn an_error_is_in_the_object_of_the_message_that_it_quotes() {
    let recording = Recording::of("object", REFUSED, &Setting::udp(27015));
    let messages = recording.messages();
    let expected =
        r#"[{"frame":2,"from":"10.0.0.2","type":3,"code":3,"meaning":"port unreachable"}]"#;
    let expected: Value = serde_json::from_str(expected).unwrap();
    assert_eq!(messages[0]["icmp"], expected);
    assert_eq!(messages[1]["icmp"].as_array().unwrap().len(), 2);
    for threads in ["2", "8"] {
        let args = ["dissect", "--format", "json", "--threads"];
        let one = recording.run(&[&args[..], &["1"]].concat());
        let many = recording.run(&[&args[..], &[threads]].concat());
        assert_eq!(one.out, many.out);
    }
}

#[test]
fn errors_of_ipv6_are_assigned_in_the_same_way() {
    let setting = Setting { ipv6: true, ..Setting::udp(27015) };
    let script = "0 c > s FFFFFFFF 55 FFFFFFFF\n0.1 s > c icmp=1.4\n0.2 m > c icmp=2.0";
    let messages = Recording::of("ipv6", script, &setting).messages();
    let icmp = messages[0]["icmp"].as_array().unwrap();
    let said: Vec<_> = icmp.iter().map(|it| (&it["meaning"], &it["from"])).collect();
    assert_eq!(said[0], (&"port unreachable".into(), &"fd00::a00:2".into()));
    assert_eq!(said[1], (&"packet too big".into(), &"fd00::a00:9".into()));
}

/// If lines are written immediately, a later error has its own line.
#[test]
fn an_error_about_a_message_that_was_already_written_is_reported() {
    let recording = Recording::of("late", REFUSED, &Setting::udp(27015));
    let out = recording.run(&["dissect", "--line-buffered"]).out;
    let lines: Vec<_> = out.lines().skip(1).collect();
    assert_eq!(lines.len(), 6, "{out}");
    assert!(lines[5].ends_with("     3  no answer"), "{out}");
    assert!(lines[1].ends_with("     2  ! port unreachable, from 10.0.0.2, for packet 1"), "{out}");
    let json = recording.run(&["dissect", "--line-buffered", "--format", "json"]);
    assert_eq!(json.out.lines().count(), 2);
    assert!(json.err.contains("3 ICMP errors are not shown"), "{}", json.err);
}

#[test]
fn a_duplicated_datagram_is_shown_and_not_counted() {
    let script = "
        0.00 c > s  twice FFFFFFFF 54 'Source Engine Query' 00
        0.02 s > c  twice FFFFFFFF 41 4BA1D522";
    let recording = Recording::of("twice", script, &Setting::udp(27015));
    let messages = recording.messages();
    let copies: Vec<_> = messages.iter().map(|it| it["copy_of"].as_u64()).collect();
    assert_eq!(copies, [None, Some(1), None, Some(3)]);
    assert_eq!(messages[1]["message"], "info_request");
    assert_eq!(messages[3]["fields"]["challenge"], messages[2]["fields"]["challenge"]);
    let text = recording.run(&["dissect"]).out;
    assert!(text.lines().nth(2).unwrap().contains("(copy of 1)"), "{text}");
    let object: Value =
        serde_json::from_str(&recording.run(&["check", "--format", "json"]).out).unwrap();
    assert_eq!(object["messages"], 2);
    let failed = |code: &str| {
        let rules = object["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["code"] == code).unwrap()["failed"].as_u64().unwrap()
    };
    assert_eq!((failed("NET013"), failed("A2S061")), (2, 0));
    let flows = recording.run(&["flows", "--format", "json"]).out;
    let row: Value = serde_json::from_str(&flows).unwrap();
    assert_eq!(row["messages"], 2);
}

#[test]
fn a_missing_response_that_an_error_proves_fails() {
    let recording = Recording::of("silence", REFUSED, &Setting::udp(27015));
    let run = recording.run(&["check", "--format", "json"]);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &object["requests"], &object["answered"]), (1, &1.into(), &0.into()));
    let found = object["findings"].as_array().unwrap().iter();
    let found: Vec<_> =
        found.map(|it| (it["rule"].as_str().unwrap(), it["verdict"].as_str().unwrap())).collect();
    for code in ["NET012", "NET014", "A2S062"] {
        assert!(found.contains(&(code, "fail")), "{found:?}");
    }
}

/// Routers quote no more than the ports, and many senders set no identification: such a quote may be about any packet.
#[test]
fn a_header_without_an_identification_tells_no_request() {
    let (router, server) = ("62.115.1.9", "203.0.113.7:27015");
    let refused = |quoted: usize| {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..4 {
            let client = format!("192.168.1.5:{}", 50_000 + nth);
            let info = Datagram::new(&client, server, b"\xFF\xFF\xFF\xFFTSource Engine Query\0");
            let ends = [router, "192.168.1.5"].map(|host| host.parse().unwrap());
            let error = wire::icmp::error([3, 1], 0, ends, &info.packet()[..quoted]);
            let at = |ms: u64| START.after((nth * 5000 + ms) * 1_000_000);
            capture.push(at(0), &info.packet());
            capture.push(at(30), &Ip::new(ends[0], ends[1]).packet(1, &error));
        }
        let (_project, file) = Project::of_capture(capture.pcap());
        let (_, report) = diagnosis::report_of(&file, &[]);
        diagnosis::item(&report, "servers", "seen.answered")
    };
    assert_eq!(refused(53), "no icmp_host_unreachable", "the whole request");
    assert_ne!(refused(28), "no icmp_host_unreachable", "the headers alone");
}
