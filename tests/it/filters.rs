//! Display filters on the samples: the examples of docs/filters.md, and their effect in each command.

use std::path::Path;
use std::process::Command;

use crate::support::skip::skipped;

fn gamewire(args: &[&str]) -> (Option<i32>, String, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .args(args)
        .arg("--no-config")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

fn messages(args: &[&str]) -> usize {
    let (code, out, err) = gamewire(&[&["dissect", "--format", "json"], args].concat());
    assert_eq!(code, Some(0), "{args:?}: {err}");
    out.lines().count()
}

#[test]
fn the_documented_examples_are_true() {
    let page = include_str!("../../docs/filters.md");
    let examples = page.split("## Examples").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut cases = 0;
    for row in examples.lines().filter(|line| line.starts_with("| `")) {
        let row = row.replace("\\|", "|");
        let cells: Vec<_> = row.split("` | `").collect();
        let capture = cells[0].trim_start_matches("| `");
        let (filter, count) = cells[1].rsplit_once("` | ").unwrap();
        let count: usize = count.trim_end_matches(" |").parse().unwrap();
        let path = format!("samples/{capture}");
        assert_eq!(messages(&["-Y", filter, &path]), count, "{row}");
        // The negated filter selects all other messages.
        let not = format!("not ({filter})");
        assert_eq!(messages(&["-Y", &not, &path]), messages(&[&path]) - count, "{row}");
        assert_eq!(messages(&["-Y", &format!("not ({not})"), &path]), count, "{row}");
        assert_eq!(messages(&["-Y", filter, "--threads", "2", &path]), count, "{row}");
        cases += 1;
    }
    assert!(cases >= 30, "{cases}");
}

#[test]
fn the_short_options_equal_their_filters() {
    let capture = "samples/gamespy1-faults.pcap";
    for (short, filter) in [
        (&["--host", "10.0.0.2"][..], "host == 10.0.0.2"),
        (&["--host", "10.0.0.0/8"], "ip.addr == 10.0.0.0/8"),
        (&["--flow", "1,3"], "flow == 1 or flow == 3"),
        (&["--protocol", "gamespy1"], "gamespy1"),
        (&["--message", "heartbeat,secure"], "gamespy1.heartbeat or gamespy1.secure"),
        (&["--rule", "GS1"], "rule == GS1"),
        (&["--from", "2026-01-01T00:00:01Z"], "time >= \"2026-01-01T00:00:01Z\""),
        (&["--to", "2026-01-01 00:00:01"], "time <= \"2026-01-01T00:00:01Z\""),
    ] {
        let typed = messages(&["-Y", filter, capture]);
        assert!(typed > 0, "{filter}");
        assert_eq!(messages(&[short, &[capture]].concat()), typed, "{filter}");
    }
}

#[test]
fn errors_are_reported_before_anything_is_read() {
    let (code, out, err) =
        gamewire(&["dissect", "-Y", "a2s.info_response.playrs == 0", "no such file"]);
    assert_eq!((code, &*out), (Some(2), ""));
    insta::assert_snapshot!(err, @r"
    gamewire: -Y: there is no field `a2s.info_response.playrs`
      |
    1 | a2s.info_response.playrs == 0
      | ^^^^^^^^^^^^^^^^^^^^^^^^ did you mean `a2s.info_response.players` or `a2s.info_response.max_players` or `a2s.info_response.port`?
    ");
    for command in ["check", "flows"] {
        let (code, _, err) = gamewire(&[command, "-Y", "x", "samples/gamespy1-query.pcap"]);
        assert_eq!(code, Some(2), "{command}: {err}");
        assert!(err.contains("there is no field `x`"), "{err}");
    }
}

#[test]
fn check_counts_findings_of_selected_messages_and_flows_lists_theirs() {
    let capture = "samples/valve-master-faults.pcap";
    let findings = |filter: &str| {
        let (code, out, err) = gamewire(&["check", "--format", "json", "-Y", filter, capture]);
        assert!(code == Some(0) || code == Some(1), "{err}");
        let outcome: serde_json::Value = serde_json::from_str(&out).unwrap();
        let findings = outcome["findings"].as_array().unwrap();
        findings.iter().map(|it| it["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = findings("frame >= 0");
    let [some, others] = ["rule == VM034", "not rule == VM034"].map(findings);
    assert!(!some.is_empty() && some.iter().all(|rule| rule == "VM034"), "{some:?}");
    assert_eq!(some.len() + others.len(), all.len());
    assert!(findings("valve_master.challenge_response").contains(&"VM034".to_owned()));
    assert_eq!(findings("a2s"), [""; 0]);

    let rows = |filter: &str| {
        let (_, out, _) = gamewire(&["flows", "--format", "json", "-Y", filter, capture]);
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = rows("valve_master");
    assert_eq!(
        rows("flow == 2"),
        all[1..2],
        "a row says of its flow what it says without a filter"
    );
    assert!(rows("a2s").is_empty());
}

#[test]
fn a_capture_filter_that_loses_fragments_is_reported_with_a_remedy() {
    let capture = "samples/a2s-vlan-ipv6-fragments.pcapng";
    let with = |filter: &str| gamewire(&["dissect", "--format", "json", "-f", filter, capture]);
    let (code, some, err) = with("udp port 27015");
    if code == Some(2) && err.contains("libpcap") {
        return skipped("libpcap", err.trim());
    }
    let advice = "add `or (ip[6:2] & 0x1fff != 0) or (ip6 proto 44)`";
    assert!(err.contains("4 IP fragments did not pass -f") && err.contains(advice), "{err}");
    let (_, more, err) = with("udp port 27015 or (ip[6:2] & 0x1fff != 0) or (ip6 proto 44)");
    assert!(!err.contains("fragment"), "{err}");
    assert!(more.lines().count() > some.lines().count());
    // Messages are selected when they are complete.
    assert!(messages(&["-Y", "udp.port == 27015", capture]) >= more.lines().count());
}
