//! Compares `length`, the bytes of a message as it was sent, with the UDP headers of its packets.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use captures::exchange::Setting;
use serde_json::Value;

use crate::support::gamewire;
use crate::support::project::Project;

/// The payload lengths of all unfragmented UDP packets over IPv4 in a little-endian pcap file, by packet
/// number.
fn payloads(capture: &Path) -> BTreeMap<u64, u64> {
    let bytes = std::fs::read(capture).unwrap();
    if ![[0xd4, 0xc3, 0xb2, 0xa1], [0x4d, 0x3c, 0xb2, 0xa1]]
        .contains(&bytes[..4].try_into().unwrap())
    {
        return BTreeMap::new();
    }
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let is_plain = |packet: &[u8]| {
        packet.len() >= 42
            && packet[12..14] == [8, 0]
            && packet[14] == 0x45
            && packet[23] == 17
            && packet[20] & 0x3f == 0
            && packet[21] == 0
    };
    let (mut lengths, mut at, mut number) = (BTreeMap::new(), 24, 0);
    while at + 16 <= bytes.len() {
        let packet = &bytes[at + 16..at + 16 + word(at + 8)];
        number += 1;
        if is_plain(packet) {
            let length = u16::from_be_bytes([packet[38], packet[39]]);
            lengths.insert(number, u64::from(length) - 8);
        }
        at += 16 + packet.len();
    }
    lengths
}

#[test]
fn the_length_is_the_sum_of_all_packets() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let (mut messages, mut joined) = (0, 0);
    for entry in std::fs::read_dir(samples).unwrap() {
        let capture = entry.unwrap().path();
        if capture.extension().is_none_or(|it| it != "pcap")
            || capture.ends_with("a2s-tunnels.pcap")
        {
            continue;
        }
        let payloads = payloads(&capture);
        let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
            .args(["dissect", "--no-config", "--format", "ndjson", "--fields", "frames,length,udp"])
            .arg(&capture)
            .output()
            .unwrap();
        for line in String::from_utf8(ran.stdout).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let frames: Vec<u64> = serde_json::from_value(row["frames"].clone()).unwrap();
            let sent: Option<u64> = frames.iter().map(|frame| payloads.get(frame)).sum();
            if let Some(sent) = sent {
                assert_eq!(row["length"], sent, "{}: {line}", capture.display());
                messages += 1;
                joined += usize::from(frames.len() > 1);
            }
        }
    }
    assert!(
        messages > 500 && joined >= 10,
        "{messages} messages, {joined} of them in several packets"
    );
}

/// What SEC005 says of answers to a client that asks too often, and to one that never asked, where each packet has
/// these options.
fn reflected(options: &str) -> Vec<String> {
    let answer =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'x'*400 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let round = |nth: u32| {
        let at = format!("{}.{}", nth / 10, nth % 10);
        format!(
            "{at}0 c > s {options} FFFFFFFF 54 'Source Engine Query' 00\n\
             {at}2 s > c {options} {answer}\n{at}3 t > d:53 {options} {answer}\n"
        )
    };
    let script = (0..60).map(round).collect::<String>() + "end 30";
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    let run = gamewire(["check", "--no-config", "--format", "json", "--rule", "SEC005", &file]);
    let outcome: Value = serde_json::from_str(&run.out).unwrap();
    let findings = outcome["findings"].as_array().unwrap().iter();
    findings.map(|it| it["message"].as_str().unwrap().to_owned()).collect()
}

/// The snap length changes nothing of what was sent.
#[test]
fn reflection_is_measured_in_bytes_that_were_sent() {
    let whole = reflected("");
    assert_eq!(whole.len(), 2, "{whole:?}");
    assert_eq!(reflected("snap=96"), whole);
    // Of a request that was cut, it is not known whether it has a challenge.
    let to_victim = whole.into_iter().filter(|it| it.contains("never asked"));
    assert_eq!(reflected("snap=64"), Vec::from_iter(to_victim));
}

/// A response of 217 bytes in one packet, and one of three whose middle was not recorded in full.
const CUT: &str = "
    0.00 c > s  FFFFFFFF 55 FFFFFFFF
    0.02 s > c  FFFFFFFF 41 4BA1D522
    0.04 c > s  FFFFFFFF 55 4BA1D522
    0.06 s > c  snap=60 FFFFFFFF 44 02 00 'Ann' 00 03000000 f32:61.5 01 'b'*188 00 03000000 f32:1.5
    0.08 c > s  FFFFFFFF 56 4BA1D522
    0.10 s > c  FEFFFFFF 07000000 03 00 1400 FFFFFFFF 45 0100 'a' 00
    0.11 s > c  snap=60 FEFFFFFF 07000000 03 01 1400 'b'*300
    0.12 s > c  FEFFFFFF 07000000 03 02 1400 'c' 00";

/// What the snap length cut off was sent all the same.
#[test]
fn the_length_of_a_message_that_was_cut_is_that_which_was_sent() {
    let (_project, file) = Project::of_script(CUT, &Setting::udp(27015));
    let run = |args: &[&str]| gamewire(args.iter().copied().chain(["--no-config", &file])).out;
    let rows = run(&["dissect", "--format", "ndjson", "--fields", "message,length"]);
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lengths = Vec::from_iter(rows.iter().map(|row| row["length"].as_u64().unwrap()));
    let split = (12 + 9) + (12 + 300) + (12 + 2);
    assert_eq!(lengths, [9, 9, 9, 217, 9, split], "{rows:?}");
    let longer = run(&["dissect", "-Y", "length > 100B"]);
    assert_eq!(longer.matches("_response").count(), 2, "{longer}");
    let summary: Value = serde_json::from_str(&run(&["summary", "--format", "json"])).unwrap();
    assert_eq!(summary["servers"][0]["largest"], split, "{summary}");
    let flow: Value = serde_json::from_str(&run(&["flows", "--format", "json"])).unwrap();
    assert_eq!((&flow["bytes_a"], &flow["bytes_b"]), (&27.into(), &(9 + 217 + split).into()));
}
