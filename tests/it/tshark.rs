//! Compares display filters with those of tshark: they select the same packets. Skipped without tshark or the
//! captures.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::Command;

use crate::support::skip::skipped;
use crate::support::{captures, gamewire};
use serde_json::Value;

/// A message.
struct Message {
    /// The packet that completed it.
    frame: u64,
    frames: Vec<u64>,
    ends: [SocketAddr; 2],
    is_tcp: bool,
}

fn messages(path: &str, filter: &str) -> Vec<Message> {
    let run = gamewire(["dissect", "--no-config", "--format", "json", "-Y", filter, path]);
    assert!(run.code == 0 || run.code == 2, "{path}: {}", run.err);
    let message = |line: &str| {
        let message: Value = serde_json::from_str(line).unwrap();
        let end = |name: &str| message[name].as_str().unwrap().parse().unwrap();
        Message {
            frame: message["frame"].as_u64().unwrap(),
            frames: serde_json::from_value(message["frames"].clone()).unwrap(),
            ends: [end("src"), end("dst")],
            is_tcp: message["transport"] == "tcp",
        }
    };
    run.out.lines().map(message).collect()
}

/// The packets that tshark selects; `None` if it is not installed.
fn selected(path: &str, filter: &str) -> Option<BTreeSet<u64>> {
    let ran = Command::new("tshark")
        .args(["-n", "-r", path, "-Y", filter, "-T", "fields", "-e", "frame.number"])
        .output();
    let ran = match ran {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        ran => ran.unwrap(),
    };
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() || err.contains("cut short"), "{path}: {filter}: {err}");
    let out = String::from_utf8(ran.stdout).unwrap();
    Some(out.lines().map(|line| line.parse().unwrap()).collect())
}

/// Filters that select some of these messages.
fn filters(all: &[Message]) -> Vec<String> {
    let Message { frame, ends: [src, dst], is_tcp, .. } = &all[all.len() / 2];
    let (ip, transport) =
        (if src.is_ipv6() { "ipv6" } else { "ip" }, if *is_tcp { "tcp" } else { "udp" });
    let (source, destination) = (src.ip(), dst.ip());
    let network = if src.is_ipv6() { 120 } else { 24 };
    vec![
        format!("{ip}.addr == {source}/{network} and {transport}"),
        format!("{ip}.src == {source} and {transport}.dstport == {}", dst.port()),
        format!("{transport}.port == {}", src.port()),
        format!("{transport}.srcport in {{{}, 1..1023}} || {ip}.dst == {destination}", dst.port()),
        format!("{ip}.addr != {source} or not {transport}.port == {}", dst.port()),
        format!("frame.number >= {} && frame.number < {}", frame, frame + 20),
    ]
}

#[test]
fn filters_select_the_packets_that_tshark_selects() {
    let mut compared = 0;
    for folder in ["recorded", "corpora"] {
        let Some(files) = captures(folder) else {
            return skipped("captures", "no recorded captures are here");
        };
        for file in files {
            let path = file.to_string_lossy().into_owned();
            let all = messages(&path, "udp or tcp");
            if all.is_empty() {
                continue;
            }
            // Each file is compared with some of the filters, and each filter with many files.
            let some = filters(&all).into_iter().skip(compared % 3).step_by(3);
            for filter in some {
                let Some(packets) = selected(&path, &filter) else {
                    return skipped("tshark", "tshark is not installed");
                };
                // For fragments, tshark knows the ports only in the last one.
                let is_by_packet = filter.starts_with("frame");
                let is = |message: &&Message| match is_by_packet {
                    true => message.frames.iter().any(|frame| packets.contains(frame)),
                    false => packets.contains(&message.frame),
                };
                let theirs = Vec::from_iter(all.iter().filter(is).map(|message| message.frame));
                let ours = messages(&path, &filter);
                let ours = Vec::from_iter(ours.iter().map(|message| message.frame));
                assert_eq!(ours, theirs, "{path}: {filter}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 40, "{compared} filters were compared");
}
