//! `-w` on files: writes the complete packets of selected messages, with comments.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::skip::skipped;
use gamewire::capture::write::PcapNgWriter;
use gamewire::capture::{self, Event};

fn gamewire(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(args)
        .arg("--no-config")
        .output()
        .unwrap()
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gamewire-extract-{}-{name}", std::process::id()))
}

/// The messages of a capture, without values that depend on their position.
fn messages(args: &[&str]) -> Vec<serde_json::Value> {
    let ran = gamewire(&[&["dissect", "--format", "json"], args].concat());
    assert!(ran.status.success(), "{ran:?}");
    let lines = std::str::from_utf8(&ran.stdout).unwrap().lines();
    let messages = lines.map(|line| serde_json::from_str(line).unwrap());
    messages
        .map(|mut message: serde_json::Value| {
            let object = message.as_object_mut().unwrap();
            for key in ["frame", "frames", "flow", "request", "response_time", "waited", "tries"] {
                object.remove(key);
            }
            // Depends on other messages.
            object.remove("findings");
            message
        })
        .collect()
}

#[test]
fn messages_are_written_with_all_their_packets() {
    for (sample, filter) in [
        ("samples/a2s-vlan-ipv6-fragments.pcapng", "length > 1000"),
        ("samples/a2s-split-bzip2.pcap", "a2s.rules_response"),
        ("samples/a2s-split-order.pcap", "split"),
        ("samples/gamespy1-list.pcap", "tcp"),
        ("samples/acr-master.pcap", "acr_master.client_response or acr_master.client_request"),
        ("samples/a2s-tunnels.pcap", "a2s.info_response"),
    ] {
        let out = file("whole.pcapng");
        let path = out.to_str().unwrap();
        let wanted = messages(&["-Y", filter, "-w", path, sample]);
        assert!(!wanted.is_empty(), "{sample}");
        // A split response is reassembled only if all its parts are there.
        let again = messages(&["-Y", filter, path]);
        assert_eq!(again, wanted, "{sample}");
        std::fs::remove_file(out).unwrap();
    }
}

/// Without `-w` it reads single datagrams only, and no flows.
#[test]
fn abuse_writes_the_packets_of_messages_too() {
    let (out, sample) = (file("abuse.pcapng"), "samples/abuse-query-flood.pcap");
    let path = out.to_str().unwrap();
    let plain = gamewire(&["abuse", "--format", "json", sample]);
    let ran = gamewire(&["abuse", "--format", "json", "-w", path, sample]);
    assert_eq!(ran.stdout, plain.stdout, "{ran:?}");
    assert_eq!(messages(&[path]).len(), messages(&[sample]).len());
    std::fs::remove_file(out).unwrap();
}

#[test]
fn check_writes_selected_messages_of_several_files_into_one() {
    let out = file("check.pcapng");
    let path = out.to_str().unwrap();
    let samples = ["samples/valve-master-faults.pcap", "samples/diagnose-registration-faults.pcap"];
    let args = ["check", "-q", "-Y", "severity == error", "-w", path, samples[0], samples[1]];
    let ran = gamewire(&args);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("wrote ") && said.contains(path), "{said}");
    let expected: usize =
        samples.iter().map(|it| messages(&["-Y", "severity == error", it]).len()).sum();
    assert!(messages(&[path]).len() >= expected && expected > 2);
    std::fs::remove_file(out).unwrap();
}

/// A file that becomes unreadable after its beginning keeps its own interface.
#[test]
fn a_file_that_cannot_be_read_takes_no_other_files_place() {
    let (unread, gone, out) = (file("unread.pcap"), file("gone.pcap"), file("others.pcapng"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut bytes = std::fs::read(root.join("samples/gamespy1-query.pcap")).unwrap();
    bytes[20..24].copy_from_slice(&195_u32.to_le_bytes());
    std::fs::write(&unread, bytes).unwrap();
    let samples = ["samples/a2s-info-players-rules.pcap", "samples/a2s-quirks.pcap"];
    let (path, filter) = (out.to_str().unwrap(), "a2s.info_response");
    let unread = [unread.to_str().unwrap(), gone.to_str().unwrap()];
    let files = [unread[0], samples[0], unread[1], samples[1]];
    let ran = gamewire(&[&["dissect", "-Y", filter, "-w", path], &files[..]].concat());
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    let expected = samples.map(|sample| messages(&["-Y", filter, sample])).concat();
    assert_eq!(messages(&[path]), expected);
    std::fs::remove_file(unread[0]).unwrap();
    std::fs::remove_file(out).unwrap();
}

#[test]
fn names_and_comments_of_the_input_stay() {
    let (input, output) = (file("named.pcapng"), file("kept.pcapng"));
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/a2s-info-players-rules.pcap");
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    let mut packets = capture::open(&sample).unwrap();
    for at in 0.. {
        let Some(Event::Packet(packet)) = packets.next() else { break };
        let packet = capture::Packet { interface: at % 2, ..packet };
        let name = ["lan", "wan"][at as usize % 2];
        writer.packet(&packet, 0, Some(name), &[format!("packet {at}")]).unwrap();
    }
    std::fs::write(&input, writer.finish().unwrap()).unwrap();
    let args = ["dissect", "-Y", "a2s.info_response", "--annotate", "-w"];
    let ran = gamewire(&[&args[..], &[output.to_str().unwrap(), input.to_str().unwrap()]].concat());
    assert!(ran.status.success(), "{ran:?}");
    let mut packets = capture::open(&output).unwrap();
    assert!(matches!(packets.next(), Some(Event::Packet(packet)) if packet.time % 1_000_000 == 0));
    assert_eq!(packets.interface_name(), Some("wan"));
    let comments = packets.comments();
    assert_eq!(comments[0], "packet 3");
    assert!(
        comments[1].starts_with("a2s info_response  \"Mill Creek 24/7\" map ctf_2fort"),
        "{comments:?}"
    );
    assert!(packets.next().is_none());

    let ran = Command::new("tshark")
        .arg("-r")
        .arg(&output)
        .args(["-T", "fields", "-e", "frame.comment"])
        .output();
    match ran {
        Ok(ran) => {
            let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
            assert!(shown.contains("packet 3") && shown.contains("a2s info_response"), "{shown}");
        }
        Err(error) => skipped("tshark", &error.to_string()),
    }
    std::fs::remove_file(input).unwrap();
    std::fs::remove_file(output).unwrap();
}

#[test]
fn invalid_options_are_rejected_before_files_are_overwritten() {
    let copy = file("same.pcap");
    let path = copy.to_str().unwrap();
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/gamespy1-query.pcap"), &copy)
        .unwrap();
    let before = std::fs::read(&copy).unwrap();
    for (args, what) in [
        (&["dissect", "-w", path, path][..], "would be destroyed"),
        (&["dissect", "-w", "/tmp/x.pcapng", "-"], "can be read only once"),
        (
            &["dissect", "-w", "/no/such/folder/x.pcapng", path],
            "cannot write /no/such/folder/x.pcapng",
        ),
        (&["dissect", "--annotate", path], "--write"),
        (&["dissect", "-W", "3", path], "--write"),
        (
            &["check", "-i", "lo", "--duration", "1s", "-w", "/tmp/x.pcap", "-W", "3"],
            "--rotate-size MB or --rotate-seconds",
        ),
    ] {
        let ran = gamewire(args);
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(what), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    std::fs::remove_file(copy).unwrap();
}
