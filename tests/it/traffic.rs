//! Captures without the requested messages are reported, with their actual content.

use crate::support::project::Project;
use crate::support::samples;
use captures::exchange::Setting;
use serde_json::Value;

/// One exchange of players.
const PLAYERS: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
    0.03 c > s  FFFFFFFF 55 4BA1D522\n0.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 00000000 f32:1.5";

/// A DNS lookup, and an unknown protocol on a port of Quake 3.
const OTHERS: &str = "0.00 c > s:53  1234 0100 0001 0000 0000 0000 01 61 00 0001 0001\n\
    0.01 s:53 > c  1234 8180 0001 0000 0000 0000 01 61 00 0001 0001\n\
    0.02 c > s:27960  00 01 02 03\n0.03 s:27960 > c  00 01 02 03";

const THERE: &str = "4 packets, none of a supported protocol; UDP ports 53, 27960";

fn project(name: &str) -> Project {
    let project = Project::new(&format!("traffic-{name}"));
    project.play("players.pcap", &Setting::udp(27015), PLAYERS);
    project.play("others.pcap", &Setting::udp(27015), OTHERS);
    project
}

#[test]
fn every_command_reports_the_content_of_captures_without_supported_protocols() {
    let project = project("others");
    let expected = format!("gamewire: warning: {}: {THERE}\n", project.path("others.pcap"));
    for command in ["check", "dissect", "flows"] {
        for threads in ["1", "2", "8"] {
            let run = project.run(&[command, "--threads", threads, "others.pcap"]);
            assert_eq!((run.code, run.err.as_str()), (0, expected.as_str()), "{command}");
        }
        assert_eq!(project.run(&[command, "players.pcap"]).err, "", "{command}");
    }
}

#[test]
fn a_capture_without_packets_is_reported() {
    let project = Project::new("traffic-empty");
    let bytes = std::fs::read(&samples()[0]).expect("a sample");
    project.write("empty.pcap", &bytes[..24]);
    let run = project.run(&["check", "empty.pcap"]);
    let expected = format!("gamewire: warning: {}: no packets\n", project.path("empty.pcap"));
    assert_eq!((run.code, run.err), (0, expected));
}

#[test]
fn a_filter_without_matches_is_reported_and_fails_if_traffic_is_required() {
    let project = project("filters");
    for (options, capture, says) in [
        (&[][..], "others.pcap", THERE),
        (
            &["--host", "10.9.9.9"],
            "players.pcap",
            "no message from or to 10.9.9.9; 4 messages of a2s, between 10.0.0.1, 10.0.0.2",
        ),
        (&["--select", "VM,A2S04"], "players.pcap", "rules was exercised; 4 messages of a2s"),
        (
            &["--select", "VM001"],
            "players.pcap",
            "the rule that was selected was not exercised; 4 messages of a2s",
        ),
        (
            &["--protocol", "gamespy4"],
            "players.pcap",
            "no message matches --protocol gamespy4; 4 messages of a2s",
        ),
        (
            &["-Y", "a2s.info_response"],
            "players.pcap",
            "no message matches -Y 'a2s.info_response'; 4 messages of a2s",
        ),
        (&["--flow", "9"], "players.pcap", "no message matches --flow 9; 4 messages of a2s"),
        (
            &["--from", "2040-01-01T00:00:00Z"],
            "players.pcap",
            "no message matches --from 2040-01-01T00:00:00Z; 4 messages of a2s",
        ),
    ] {
        let run = project.run(&[&["check"], options, &[capture]].concat());
        assert_eq!((run.code, run.err.lines().count()), (0, 1), "{options:?}: {}", run.err);
        assert!(run.err.trim_end().ends_with(says), "{options:?}: {}", run.err);
        let strict = [&["check", "--require-traffic"], options, &[capture]].concat();
        assert_eq!(project.run(&strict).code, 1, "{options:?}");

        let json = [&["check", "--format", "json"], options, &[capture]].concat();
        let outcome: Value = serde_json::from_str(&project.run(&json).out).expect("JSON");
        let holds = &outcome["no_traffic"][0];
        assert_eq!(holds["capture"], project.path(capture));
        assert!(holds["holds"].as_str().expect("a text").ends_with(says), "{holds}");
        let junit = [&["check", "--format", "junit"], options, &[capture]].concat();
        assert!(project.run(&junit).out.contains(says), "{options:?}");
    }
    for some in [["--host", "10.0.0.2"], ["--protocol", "a2s"], ["-Y", "a2s.player_response"]] {
        let strict = [&["check", "--require-traffic"][..], &some, &["players.pcap"]].concat();
        let run = project.run(&strict);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{some:?}");
    }
    let json = project.run(&["check", "--format", "json", "players.pcap"]);
    assert!(!json.out.contains("no_traffic"));
}

#[test]
fn one_capture_of_several_without_traffic_is_enough_to_fail() {
    let project = project("several");
    let run = project.run(&["check", "--require-traffic", "players.pcap", "others.pcap"]);
    assert_eq!((run.code, run.err.lines().count()), (1, 1), "{}", run.err);
}
