//! A generated capture for each layer that may be below IP: all are read, and no layer is without a capture.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::{gamewire, skip};
use captures::wire::layers;
use gamewire::capture::write::PcapNgWriter;
use gamewire::capture::{LinkType, Packet};
use gamewire::net::{Tunnel, read_links};
use serde_json::Value;

const QUERY: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";

#[test]
fn every_layer_is_read_and_has_a_capture() {
    let (mut links, mut tunnels) = (BTreeSet::new(), BTreeSet::new());
    let path = std::env::temp_dir().join(format!("gamewire-layers-{}.pcap", std::process::id()));
    for layered in layers(QUERY) {
        std::fs::write(&path, layered.pcap()).unwrap();
        let path = path.to_str().unwrap();
        let run = gamewire(["dissect", "--no-config", "--format", "json", path]);
        let lines: Vec<_> = run.out.lines().collect();
        assert_eq!((run.code, lines.len()), (0, 1), "{}: {}{}", layered.name, run.out, run.err);
        let message: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(message["message"], "info_request", "{}", layered.name);
        assert!(message["dst"].as_str().unwrap().ends_with(":27015"), "{}", layered.name);
        links.insert(layered.link);
        let via = message["via"].as_str().unwrap_or_default();
        tunnels.extend(via.split([' ', '>']).map(str::to_owned));
        let args = ["check", "--no-config", "--verify-checksums", "--format", "json", path];
        let checked: Value = serde_json::from_str(&gamewire(args).out).unwrap();
        let findings = checked["findings"].as_array().unwrap().iter();
        let failed = Vec::from_iter(findings.filter(|it| it["verdict"] == "fail"));
        assert!(failed.is_empty(), "{}: {failed:?}", layered.name);
    }
    std::fs::remove_file(path).unwrap();
    let without = Vec::from_iter(read_links().filter(|link| !links.contains(&link.0)));
    assert!(without.is_empty(), "link types without a capture: {without:?}");
    let without = Tunnel::ALL.iter().filter(|tunnel| !tunnels.contains(tunnel.name()));
    let without = Vec::from_iter(without);
    assert!(without.is_empty(), "tunnels without a capture: {without:?}");
}

/// Layers that tshark 4.0 does not read, or not by default.
const UNKNOWN: [&str; 9] = [
    "SLIP",
    "PKTAP, 149",
    "Cisco HDLC with direction",
    "Frame Relay with direction",
    "Broadcom tag",
    "Broadcom tag in front",
    "DSA",
    "EDSA",
    "VXLAN on Linux's old port",
];

/// Another program reads the generated captures in the same way.
#[test]
fn tshark_reads_the_same_packets() {
    let all = layers(QUERY);
    let all = Vec::from_iter(all.iter().filter(|it| !UNKNOWN.contains(&it.name)));
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    for it in &all {
        let packet = Packet::new(0, &it.packet);
        writer.packet(&Packet { link: LinkType(it.link), ..packet }, 0, None, &[]).unwrap();
    }
    let name = format!("gamewire-layers-{}.pcapng", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let ran = Command::new("tshark")
        .arg("-nr")
        .arg(&path)
        .args(["-T", "fields", "-E", "occurrence=l", "-e", "udp.dstport"])
        .output();
    std::fs::remove_file(path).unwrap();
    let Ok(ran) = ran else {
        return skip::skipped("tshark", "tshark is not installed");
    };
    let ports = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ports.lines().count(), all.len(), "{}", String::from_utf8_lossy(&ran.stderr));
    let read = all.iter().zip(ports.lines());
    let others = Vec::from_iter(read.filter(|(_, port)| *port != "27015").map(|(it, _)| it.name));
    assert!(others.is_empty(), "{others:?}");
}
