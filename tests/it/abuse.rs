//! `gamewire abuse` finds the attacks of the samples, and none in the other samples.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::project::Project;
use crate::support::{gamewire, samples, skip, small_recorded_captures};
use captures::exchange::Setting;
use serde_json::{Value, json};

fn attacks(file: &str) -> Vec<Value> {
    let run = gamewire(["abuse", "--format", "json", "--no-config", file]);
    assert_eq!(run.code, 0, "{file}: {}", run.err);
    let capture: Value = serde_json::from_str(&run.out).unwrap();
    capture["attacks"].as_array().unwrap().clone()
}

#[test]
fn text_output() {
    for name in ["query-flood", "reflector", "victim", "players"] {
        let run = gamewire(["abuse", "--no-config", &format!("samples/abuse-{name}.pcap")]);
        insta::assert_snapshot!(format!("abuse-{name}"), run.out);
    }
}

#[test]
fn times_have_the_requested_style() {
    for (style, span) in
        [("utc", ", 00:00:00 - 00:00:04 UTC\n"), ("epoch", ", 1767225600."), ("relative", ", 0.")]
    {
        for emitted in [&[][..], &["--emit", "nft"]] {
            let args = ["abuse", "--no-config", "--time", style, "samples/abuse-query-flood.pcap"];
            let run = gamewire(args.iter().chain(emitted));
            let first = run.out.lines().next().unwrap_or_default().to_owned() + "\n";
            assert!(run.code == 0 && first.contains(span), "{style}: {first}{}", run.err);
            assert_eq!(first.ends_with(" s\n"), style != "utc", "{first}");
        }
    }
}

#[test]
fn a_flood_is_counted() {
    let [flood] = &attacks("samples/abuse-query-flood.pcap")[..] else { panic!("one attack") };
    assert_eq!(flood["seat"], "flooded_server");
    assert_eq!(flood["targets"], json!(["23.17.34.51:27015"]));
    let bytes = (6000 + 20) * 25 + 20 * 29;
    assert_eq!((&flood["packets"], &flood["bytes"]), (&json!(6040), &json!(bytes)));
    assert_eq!(flood["sources"]["error"], 0.0, "so few are counted exactly");
    assert_eq!((&flood["forged"], &flood["legitimate"]["clients"]), (&json!("yes"), &json!(20)));
    // Compared with the output of `dissect` for the same capture.
    let run =
        gamewire(["dissect", "--format", "json", "--no-config", "samples/abuse-query-flood.pcap"]);
    let messages = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let hosts = messages.filter(|it| it["message"] == "info_request").map(|it| {
        let from: std::net::SocketAddr = it["src"].as_str().unwrap().parse().unwrap();
        from.ip()
    });
    let hosts: std::collections::BTreeSet<_> = hosts.collect();
    assert_eq!(flood["sources"]["count"], json!(hosts.len()));
}

#[test]
fn a_reflector_and_its_victim_are_reported_apart() {
    let [reflector] = &attacks("samples/abuse-reflector.pcap")[..] else { panic!("one attack") };
    assert_eq!(reflector["seat"], "reflector");
    assert_eq!(reflector["targets"], json!(["23.17.34.51:27015"]));
    assert_eq!(reflector["amplification"], 4.64);
    assert_eq!(reflector["answered"], 1.0);
    let [victim] = &attacks("samples/abuse-victim.pcap")[..] else { panic!("one attack") };
    assert_eq!(victim["seat"], "victim");
    assert_eq!(victim["targets"], json!(["198.51.100.7:80"]));
    assert_eq!((&victim["sources"]["count"], &victim["forged"]), (&json!(30), &json!("no")));
    assert_eq!(victim["legitimate"]["clients"], 0);
}

/// The hop limits of packets to the server: those from forged sources, and those from players.
fn hop_limits() -> [Vec<u8>; 2] {
    let file = std::fs::read("samples/abuse-query-flood.pcap").unwrap();
    let (mut rest, mut limits) = (&file[24..], [Vec::new(), Vec::new()]);
    while let Some((header, after)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let (packet, next) = after.split_at(length);
        let (hop_limit, source, destination) = (packet[22], &packet[26..30], &packet[30..34]);
        if destination == [23, 17, 34, 51] {
            // Forged sources are in 100.64.0.0/10.
            limits[usize::from(source[0] != 100)].push(hop_limit);
        }
        rest = next;
    }
    limits
}

#[test]
fn a_filter_drops_as_much_as_was_measured() {
    let [flood] = &attacks("samples/abuse-query-flood.pcap")[..] else { panic!("one attack") };
    let best = &flood["filters"][0];
    assert_eq!(best["kind"], "hop_limit");
    let share = |limits: &[u8]| {
        let dropped = limits.iter().filter(|limit| **limit == 244).count();
        dropped as f64 / limits.len() as f64
    };
    let [forged, players] = hop_limits();
    assert_eq!((forged.len(), players.len()), (6000, 40));
    assert_eq!(
        (best["drops"].as_f64(), best["collateral"].as_f64()),
        (Some(share(&forged)), Some(share(&players)))
    );
    assert!(best["text"].as_str().unwrap().contains("ip daddr 23.17.34.51 udp dport 27015"));
}

/// Lets a firewall check rules without loading them; `None` if it is not installed, or not permitted.
fn tested(program: &str, args: &[&str], rules: &str) -> Option<(bool, String)> {
    let command = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = command else {
        skip::skipped("firewalls", &format!("{program} is not installed"));
        return None;
    };
    child.stdin.take().unwrap().write_all(rules.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lacks = [
        "not permitted",
        "Permission denied",
        "must be root",
        "not supported",
        "Could not fetch",
        "netlink",
    ];
    if !output.status.success() && lacks.iter().any(|lack| said.contains(lack)) {
        skip::skipped("firewalls", &format!("{program} has no permission here: {said}"));
        return None;
    }
    Some((output.status.success(), said))
}

/// The outline of a datagram without its flow agrees with decoding it in its flow.
#[test]
fn outlines_agree_with_decoding() {
    use dissectors::kit::{Purpose, Transport};
    use gamewire::session::{Decoder, Event, Needs, Options};
    let (mut compared, mut without) = (0, 0);
    for file in samples() {
        let options = Options { needs: Needs::messages_with_fields(), ..Options::default() };
        let mut packets = gamewire::capture::open(&file).unwrap();
        Decoder::new(options).read(packets.as_mut(), |event| {
            let Event::Message(event) = event else { return };
            let (payload, message) = (event.payload(), event.message());
            let is_counted = matches!(
                message.purpose,
                Purpose::Query
                    | Purpose::ChallengeRequest
                    | Purpose::ListRequest
                    | Purpose::Response
                    | Purpose::ClientChallenge
                    | Purpose::List
            );
            let is_whole = payload.transport == Transport::Udp
                && payload.pieces.len() == 1
                && !payload.inflated
                && payload.bytes.len() as u64 == event.length();
            let Some(id) = event.context().protocol.filter(|_| is_counted && is_whole) else {
                return;
            };
            let Some(outline) = id.outline(payload.bytes) else {
                without += 1;
                return;
            };
            // An outline cannot know whether a part belongs to a response that became complete.
            let is_part = outline.last_part.is_some() || message.name.ends_with("fragment");
            let same = outline.message.name == message.name;
            assert!(
                same || is_part,
                "{}: {} is {}",
                file.display(),
                outline.message.name,
                message.name
            );
            compared += 1;
        });
    }
    assert!(compared > 5000 && without * 200 < compared, "{compared} compared, {without} without");
}

#[test]
fn firewalls_accept_the_filters() {
    for name in ["query-flood", "reflector", "victim"] {
        let file = format!("samples/abuse-{name}.pcap");
        for (firewall, program, args) in [
            ("nft", "nft", &["-c", "-f", "-"][..]),
            ("iptables", "iptables-restore", &["--test", "--noflush"]),
        ] {
            let run = gamewire(["abuse", "--no-config", "--emit", firewall, &file]);
            assert_eq!(run.code, 0, "{}", run.err);
            // The filter that gamewire chooses against a flood, and each one that it tried.
            let mut all = vec![run.out];
            if firewall == "nft" {
                let tried = attacks(&file)[0]["filters"].as_array().unwrap().clone();
                all.extend(tried.iter().map(|it| it["text"].as_str().unwrap().to_owned()));
            }
            for rules in all {
                if let Some((taken, said)) = tested(program, args, &rules) {
                    assert!(taken, "{firewall}: {said}\n{rules}");
                }
            }
        }
    }
}

#[test]
fn other_captures_hold_no_attack() {
    let attacked = ["abuse-query-flood", "abuse-reflector", "abuse-victim"];
    let others = samples().into_iter().chain(small_recorded_captures().unwrap_or_default());
    for file in others {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let found = attacks(file.to_str().unwrap());
        let crashes = found.iter().filter(|attack| attack["seat"] == "crash_attempt").count();
        let is_attacked = found.len() > crashes;
        assert_eq!(is_attacked, attacked.contains(&name), "{name}: {found:?}");
    }
}

#[test]
fn memory_is_bounded_and_omissions_are_reported() {
    let args = ["abuse", "--no-config", "--limit", "flow-bytes=4096"];
    let run =
        gamewire(args.iter().chain(&["samples/a2s-quirks.pcap", "samples/abuse-victim.pcap"]));
    assert_eq!(run.code, 0, "{}", run.err);
}

/// Messages that break SEC001 and SEC002 are attempts to crash a server; those that keep them are not.
#[test]
fn attempts_to_crash_a_server_are_attacks() {
    let project = Project::new("abuse-crash");
    for code in ["SEC001", "SEC002"] {
        let rule = dissectors::catalogue::rule(code).unwrap();
        for (script, is_right) in [(rule.wrong, false), (rule.right, true)] {
            project.play("capture.pcap", &Setting::of_rule(code), script);
            let run = project.run(&["abuse", "--no-config", "--format", "json", "capture.pcap"]);
            let capture: Value = serde_json::from_str(&run.out).unwrap();
            let attacks = capture["attacks"].as_array().unwrap();
            let crashes = attacks.iter().filter(|attack| attack["seat"] == "crash_attempt");
            assert_eq!(crashes.count(), usize::from(!is_right), "{code}: {attacks:?}");
        }
    }
}

#[test]
fn an_interval_that_is_too_short_for_a_flood_is_an_error() {
    // A process of its own: one that captures gives its rights away.
    let run = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .args(["abuse", "--no-config", "-i", "lo", "--interval", "1s", "--duration", "1s"])
        .output()
        .unwrap();
    let err = String::from_utf8(run.stderr).unwrap();
    assert_eq!((run.status.code(), run.stdout), (Some(2), Vec::new()), "{err}");
    assert!(err.contains("use --interval 5s or longer"), "{err}");
}
