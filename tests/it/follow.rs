//! `gamewire follow`: ladder diagrams of the samples, as text and in the other formats.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::project::Project;
use captures::exchange::Setting;

fn follow(args: &[&str]) -> (Option<i32>, String, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["follow", "--no-config", "--color", "never"])
        .args(args)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

fn drawn(args: &[&str]) -> String {
    let (code, out, err) = follow(args);
    assert_eq!(code, Some(0), "{args:?}: {err}");
    out
}

#[test]
fn ladders_of_six_samples() {
    for (name, args) in [
        ("a2s", &["samples/a2s-info-players-rules.pcap"][..]),
        ("split", &["samples/a2s-split-bzip2.pcap", "--host", "10.0.0.2"]),
        ("icmp", &["samples/silence-icmp.pcap"]),
        ("doubled", &["samples/silence-doubled.pcap", "-c", "8"]),
        ("master", &["samples/valve-master-faults.pcap", "--flow", "1,2"]),
        ("acr", &["samples/acr-master.pcap", "--host", "10.0.0.2"]),
    ] {
        insta::assert_snapshot!(format!("follow-{name}"), drawn(args));
    }
}

#[test]
fn nothing_is_cut_in_a_pipe_and_every_message_has_a_line() {
    for sample in
        ["gamespy1-faults.pcap", "gamespy4-faults.pcap", "a2s-quirks.pcap", "silence-icmp.pcap"]
    {
        let path = format!("samples/{sample}");
        let text = drawn(&[&path]);
        // Names between lines may be: those are as far apart as 120 columns allow.
        assert!(!text.lines().any(|line| line.ends_with('\u{2026}')), "{sample}: {text}");
        let arrows = text.lines().filter(|line| line.contains(['>', '<', '\u{2500}', '\u{254C}']));
        let json: serde_json::Value =
            serde_json::from_str(&drawn(&["--format", "json", &path])).unwrap();
        let steps = json["steps"].as_array().unwrap().len();
        assert!(arrows.count() >= steps, "{sample}: {steps}");
    }
}

#[test]
fn two_hosts_are_a_conversation_between_them() {
    let sample = "samples/valve-master-registration.pcap";
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&drawn(&[&["--format", "json", sample], args].concat())).unwrap()
    };
    let both = json(&["--host", "10.0.0.2", "--host", "10.0.0.9"]);
    assert_eq!(both["parties"].as_array().unwrap().len(), 2);
    // A client's flows to several masters share one ladder.
    let one = json(&["--host", "10.0.0.2"]);
    assert_eq!(one["parties"].as_array().unwrap().len(), 3);
    assert!(one["steps"].as_array().unwrap().len() > both["steps"].as_array().unwrap().len());
}

#[test]
fn json_agrees_with_dissect() {
    let sample = "samples/a2s-info-players-rules.pcap";
    let json: serde_json::Value =
        serde_json::from_str(&drawn(&["--format", "json", sample])).unwrap();
    let step = &json["steps"][3];
    assert_eq!((&step["frame"], &step["request"]), (&4.into(), &3.into()));
    assert_eq!(step["response_time"], 0.02);
    assert_eq!(json["parties"][step["from"].as_u64().unwrap() as usize]["address"], "10.0.0.2");
}

#[test]
fn a_repeated_request_is_marked() {
    let sample = "samples/silence-icmp.pcap";
    let json: serde_json::Value =
        serde_json::from_str(&drawn(&["--format", "json", sample])).unwrap();
    let steps = json["steps"].as_array().unwrap();
    let again = Vec::from_iter(steps.iter().filter(|step| !step["sent_first"].is_null()));
    assert!(!again.is_empty() && again.len() < steps.len(), "{} of {}", again.len(), steps.len());
    for step in again {
        let first = steps.iter().find(|first| first["frame"] == step["sent_first"]).unwrap();
        for key in ["src", "dst", "message", "summary"] {
            assert_eq!(first[key], step[key]);
        }
        let between = |it: &&serde_json::Value| {
            let frame = it["frame"].as_u64();
            frame > first["frame"].as_u64() && frame < step["frame"].as_u64()
        };
        let mut between = steps.iter().filter(between);
        assert!(between.all(|it| it["src"] != step["dst"] || it["dst"] != step["src"]));
    }
    let text = drawn(&[sample]);
    // The line is as long as the page is wide.
    assert!(text.contains("(sent again"), "{text}");
}

/// A request shows its response.
#[test]
fn requests_name_their_responses() {
    let mut answered = 0;
    for sample in ["a2s-info-players-rules.pcap", "silence-unanswered.pcap", "a2s-quirks.pcap"] {
        let path = format!("samples/{sample}");
        let json: serde_json::Value =
            serde_json::from_str(&drawn(&["--format", "json", &path])).unwrap();
        let steps = json["steps"].as_array().unwrap();
        for step in steps.iter().filter(|step| !step["answered_by"].is_null()) {
            let by = steps.iter().filter(|by| by["frame"] == step["answered_by"]);
            assert!(by.clone().any(|by| by["request"] == step["frame"]), "{sample}: {step}");
            // A challenge alone is not the response.
            let is_challenge = by.clone().all(|by| by["message"] == "challenge_response");
            assert_eq!(step["answered"].is_null(), is_challenge, "{sample}: {step}");
            answered += 1;
        }
        for step in steps.iter().filter(|step| !step["request"].is_null()) {
            let request = steps.iter().find(|it| it["frame"] == step["request"]).unwrap();
            assert!(!request["answered_by"].is_null(), "{sample}: {step}");
        }
    }
    assert!(answered > 8, "{answered}");
}

/// Retransmitted bytes of a stream contain no further message.
#[test]
fn retransmitted_segments_are_drawn() {
    let sample = "samples/gamespy1-list.pcap";
    let whole: serde_json::Value =
        serde_json::from_str(&drawn(&["--format", "json", sample])).unwrap();
    let list = whole["steps"].as_array().unwrap();
    let is_list =
        |step: &&serde_json::Value| step["message"] == "list_response" && step["segment"].is_null();
    let list = list.iter().find(is_list).unwrap();
    let first = list["frame"].as_u64().unwrap();
    let bytes = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(sample));
    let bytes = bytes.unwrap();
    // The segment that completed the list, again after all others.
    let (mut at, mut frame) = (24, 0);
    let record = loop {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        frame += 1;
        let record = &bytes[at..at + 16 + length];
        if frame == first {
            break record;
        }
        at += 16 + length;
    };
    let path = std::env::temp_dir().join(format!("gamewire-follow-{}.pcap", std::process::id()));
    let (before, after) = bytes.split_at(at + record.len());
    std::fs::write(&path, [before, record, after].concat()).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&drawn(&["--format", "json", path.to_str().unwrap()])).unwrap();
    let steps = json["steps"].as_array().unwrap();
    assert_eq!(steps.len(), whole["steps"].as_array().unwrap().len() + 1);
    let again = steps.iter().position(|step| step["frame"] == first + 1).unwrap();
    let is_segment = steps[again]["segment"] == true;
    assert_eq!((is_segment, &steps[again]["sent_first"]), (true, &first.into()));
    for key in ["message", "src", "dst"] {
        assert_eq!(steps[again][key], list[key]);
    }
    assert_eq!(steps[again - 1]["frame"], first, "it is in its place");
    let text = drawn(&[path.to_str().unwrap()]);
    assert!(text.contains(&format!("segment  (sent again, first in {first})")), "{text}");
    // One of a message that is not selected is not shown.
    let others = drawn(&["-Y", "gamespy1.secure", path.to_str().unwrap()]);
    assert!(!others.contains("sent again"), "{others}");
    std::fs::remove_file(path).unwrap();
}

/// Times with nine digits leave room for the packet's number.
#[test]
fn long_times_do_not_truncate_numbers() {
    let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/silence-icmp.pcap");
    let mut bytes = std::fs::read(sample).unwrap();
    bytes[..4].copy_from_slice(&0xA1B2_3C4D_u32.to_le_bytes());
    let path = std::env::temp_dir().join(format!("gamewire-nano-{}.pcap", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    for (style, time) in [("utc", "00:00:00.000000000"), ("epoch", "1767225600.000000000")] {
        let text = drawn(&["--time", style, path.to_str().unwrap()]);
        let first = text.lines().find(|line| line.starts_with(time)).unwrap();
        let rest = first.strip_prefix(time).unwrap();
        assert!(rest.starts_with("      1  \u{2502}"), "{style}: {text}");
        let lines = Vec::from_iter(text.lines().filter(|line| line.contains('\u{2502}')));
        let lane = first.find('\u{2502}').unwrap();
        assert!(lines.iter().all(|line| line.find('\u{2502}') == Some(lane)), "{text}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn pictures_and_diagrams_contain_no_active_content() {
    let sample = "samples/silence-icmp.pcap";
    let svg = drawn(&["--format", "svg", sample]);
    let document = uppsala::parse(&svg).unwrap();
    let _ = document;
    assert!(svg.contains("port unreachable") && !svg.contains("<script"));
    let beside = Vec::from_iter(svg.lines().filter(|line| line.contains("class=\"time end\"")));
    assert!(
        beside[0].contains(">1<") && beside[1].contains(">+"),
        "packets and differences: {beside:?}"
    );
    let diagram = drawn(&["--format", "mermaid", sample]);
    assert!(diagram.starts_with("sequenceDiagram\n    participant p0 as 10.0.0.1:50000\n"));
    let icmp = diagram.lines().find(|line| line.contains("    p1--xp0: ")).unwrap();
    assert!(icmp.ends_with(" ICMP port unreachable, about packet 1"), "{icmp}");
    assert!(icmp.contains("p0: 00:00:00."), "with the time: {icmp}");
    // A name that tries to break out of either format.
    let quirks = "samples/gamespy1-faults.pcap";
    for format in ["svg", "mermaid"] {
        let text = drawn(&["--format", format, quirks]);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{format}");
    }
}

#[test]
fn an_empty_diagram_is_reported() {
    let (code, out, err) = follow(&["-Y", "a2s", "samples/acr-master.pcap"]);
    assert_eq!((code, &*out), (Some(0), ""));
    assert!(err.contains("no message to draw"), "{err}");
}

/// The work for an arrow does not depend on the number of hosts: with work for each of them, this would
/// take minutes.
#[test]
fn hosts_that_do_not_fit_are_not_drawn() {
    use captures::wire::{Capture, Datagram, Link, START};
    const CLIENTS: u64 = 10_000;
    let mut capture = Capture::new(Link::Ethernet);
    for n in 0..CLIENTS {
        let client = format!("10.{}.{}.{}:{}", n >> 16, n >> 8 & 255, n & 255, 1024 + n);
        // Some are servers on one host, each with a column of its own.
        let (from, to) = match n % 2 {
            0 => (client, "20.0.0.1:27015".to_owned()),
            _ => (format!("20.0.0.2:{}", 10_000 + n), "20.0.0.2:27015".to_owned()),
        };
        let asks = Datagram::new(&from, &to, b"\xFF\xFF\xFF\xFFTSource Engine Query\0").packet();
        capture.push(START.after_ms(2 * n), &asks);
    }
    let name = format!("gamewire-follow-{}-hosts.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, capture.pcap()).unwrap();
    let (code, out, err) = follow(&[path.to_str().unwrap()]);
    std::fs::remove_file(path).ok();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("{} hosts do not fit", CLIENTS + 2)), "{err}");
    // Above them are the names and the day.
    assert_eq!(out.lines().count() as u64, CLIENTS + 2);
    assert!(out.lines().all(|line| line.chars().count() <= 120));
}

/// The packets of requests that are marked as unanswered, and of all arrows.
fn unanswered(args: &[&str]) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let ladder: serde_json::Value =
        serde_json::from_str(&drawn(&[&["--format", "json"], args].concat())).unwrap();
    let steps = ladder["steps"].as_array().unwrap();
    let silent = steps.iter().filter(|step| step["answered"] == false);
    let frame = |step: &serde_json::Value| step["frame"].as_u64().unwrap();
    (silent.map(frame).collect(), steps.iter().map(frame).collect())
}

#[test]
fn a_filter_that_hides_responses_does_not_change_which_requests_are_unanswered() {
    let requests = "a2s.info_request or a2s.player_request or a2s.rules_request";
    for sample in ["a2s-quirks", "diagnose-path-faults", "diagnose-queries-faults"] {
        let path = format!("samples/{sample}.pcap");
        let (silent, _) = unanswered(&[&path]);
        let (marked, drawn) = unanswered(&[&path, "-Y", requests]);
        assert!(!marked.is_empty() && drawn.len() > marked.len(), "{sample}: {marked:?}");
        assert_eq!(marked, &silent & &drawn, "{sample}");
    }
}

/// The packets whose rows in a picture have the mark of a request without an answer.
fn marked_in_picture(svg: &str) -> BTreeSet<u64> {
    let attribute = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!(" {name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let mut frames = std::collections::BTreeMap::new();
    let mut marked = BTreeSet::new();
    for line in svg.lines().filter(|line| line.starts_with("<text")) {
        let y = attribute(line, "y").unwrap();
        let text = line.split_once('>').unwrap().1.split_once('<').unwrap().0;
        if line.contains("class=\"time end\"")
            && let Ok(frame) = text.parse::<u64>()
        {
            frames.insert(y.clone(), frame);
        }
        if line.contains("<tspan class=\"silent\">no answer</tspan>") {
            marked.insert(frames[&y]);
        }
    }
    marked
}

#[test]
fn pictures_and_diagrams_mark_the_requests_that_were_not_answered() {
    for sample in ["silence-unanswered", "silence-icmp", "a2s-quirks", "diagnose-queries-faults"] {
        let path = format!("samples/{sample}.pcap");
        let (silent, _) = unanswered(&[&path]);
        assert!(!silent.is_empty(), "{sample}");
        let svg = drawn(&["--format", "svg", &path]);
        assert_eq!(marked_in_picture(&svg), silent, "{sample}");
        let diagram = drawn(&["--format", "mermaid", &path]);
        let lost = diagram.lines().filter(|line| line.contains(" no answer"));
        assert!(lost.clone().all(|line| line.contains("-x") && !line.contains("--x")), "{diagram}");
        assert_eq!(lost.count(), silent.len(), "{sample}");
    }
}

#[test]
fn a_request_is_sent_again_only_if_no_response_came_shown_or_not() {
    let script = "0.00 c > s  FFFFFFFF 69\n\
                  0.01 s > c  FFFFFFFF 6A 00\n\
                  0.02 c > s  FFFFFFFF 69\n\
                  0.50 c > s  FFFFFFFF 69\n\
                  end 1";
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    let text = drawn(&["-Y", "a2s.ping_request", &file]);
    assert_eq!(text.matches("(sent again, first in 3)").count(), 1, "{text}");
    assert_eq!(text.matches("sent again").count(), 1, "{text}");
}

#[test]
fn a_request_at_the_end_of_a_capture_may_have_been_answered_after_it() {
    let script = |end: &str| {
        format!(
            "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.01 s > c  FFFFFFFF 41 11223344\n\
             0.50 c > s  FFFFFFFF 55 11223344\n{end}"
        )
    };
    for (end, is_marked) in [("0.6 m > d:5  00", false), ("9.0 m > d:5  00", true)] {
        let (_project, file) = Project::of_script(&script(end), &Setting::udp(27015));
        assert_eq!(drawn(&[&file]).contains("no answer"), is_marked, "{end}");
        let json: serde_json::Value =
            serde_json::from_str(&drawn(&["--format", "json", &file])).unwrap();
        let answered = &json["steps"][2]["answered"];
        assert_eq!(answered, &if is_marked { false.into() } else { serde_json::Value::Null });
        let run = crate::support::gamewire(["dissect", "--no-config", &file]);
        assert_eq!(run.out.contains("no answer"), is_marked, "{end}: {}", run.out);
    }
}

#[test]
fn requests_in_one_segment_have_their_responses() {
    let script = r"0.00 c > m tcp 'GET /c HTTP/1.1\r\n\r\nGET /r?v=140&g=20700&p=28770 HTTP/1.1\r\n\r\n'
0.02 m > c tcp 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n'
end 20";
    let (project, file) = Project::of_script(script, &Setting::tcp(80));
    assert!(!drawn(&[&file]).contains("no answer"), "{}", drawn(&[&file]));
    let verdict = crate::support::gamewire(["check", "--no-config", &file]).out;
    assert!(verdict.contains("2 of 2 requests answered"), "{verdict}");
    let folder = project.path("vectors");
    let export = ["export", "--no-config", "--format", "vectors", "-o", &folder, &file];
    assert_eq!(crate::support::gamewire(export).code, 0);
    let mut names = Vec::from_iter(
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()),
    );
    names.sort();
    let pairs = ["client_request-client_response", "register_request-register_response"];
    let expected = [1, 2].map(|nth| format!("000{nth}-acr_master-{}.json", pairs[nth - 1]));
    assert_eq!(names, expected);
}

/// A challenge that is not returned, or a part of a split answer, leaves its own exchange open, not a later one.
#[test]
fn the_mark_is_at_the_request_of_the_exchange_that_has_no_answer() {
    const PLAYERS: &str = "FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5";
    const PART: &str = "FEFFFFFF 07000000 02 00 E004 FFFFFFFF 44 01 00 'A'";
    let exchange = |at: f64, answer: &str| {
        format!(
            "{:.2} c > s  FFFFFFFF 55 FFFFFFFF\n{:.2} s > c  FFFFFFFF 41 11223344\n\
             {:.2} c > s  FFFFFFFF 55 11223344\n{:.2} s > c  {answer}\n",
            at,
            at + 0.02,
            at + 0.03,
            at + 0.05
        )
    };
    let challenged = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 11223344\n";
    let other = "0.00 c > s  FFFFFFFF 56 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 11223344\n";
    let twice = "0.0 c > s  FFFFFFFF 69\n0.5 c > s  FFFFFFFF 69\n";
    let end = "end 60";
    for (script, marked) in [
        (format!("{challenged}{}{end}", exchange(10.0, PLAYERS)), 1),
        (format!("{other}{}{end}", exchange(10.0, PLAYERS)), 1),
        (format!("{}{}{end}", exchange(0.0, PART), exchange(10.0, PLAYERS)), 3),
        (format!("{twice}{}{end}", exchange(10.0, PLAYERS)), 2),
    ] {
        let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
        let (silent, _) = unanswered(&[&file]);
        assert_eq!(silent, BTreeSet::from([marked]), "{}", drawn(&[&file]));
        // Also where the answers are not shown.
        let requests = "a2s.player_request or a2s.rules_request or a2s.ping_request";
        let (silent, _) = unanswered(&["-Y", requests, &file]);
        assert_eq!(silent, BTreeSet::from([marked]), "{script}");
    }
}

#[test]
fn a_request_of_a_later_exchange_is_not_sent_again() {
    let script =
        "0.0 c > s  FFFFFFFF 69\n10.0 c > s  FFFFFFFF 69\n10.1 s > c  FFFFFFFF 6A 00\nend 20";
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    let text = drawn(&[&file]);
    assert!(!text.contains("sent again") && text.contains("no answer"), "{text}");
}
