//! `gamewire abuse` on a table of floods: every kind of packets with every property that tells them from
//! players', on links with tags and labels; and the filters for libpcap and XDP, applied to the packets.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::attacks::{attacks_of, filtered, number, run, written};
use crate::support::{gamewire, skip};
use captures::attacks::floods::{self, KINDS, Kind, TRAITS, Trait};
use captures::attacks::{Scenario, Whose};
use captures::wire::TimedPacket;
use serde_json::{Value, json};

/// The largest share of players' packets that a proposed filter may drop.
const MOST: f64 = 0.05;

/// The share of attackers' and of players' packets that a filter takes.
fn taken(scenario: &Scenario, takes: impl Iterator<Item = bool>) -> [f64; 2] {
    let mut counts = [[0_u32; 2]; 2];
    for (whose, takes) in scenario.whose.iter().zip(takes) {
        let at = match whose {
            Whose::Attack => 0,
            Whose::Client => 1,
            Whose::Other => continue,
        };
        counts[at][0] += u32::from(takes);
        counts[at][1] += 1;
    }
    counts.map(|[taken, all]| f64::from(taken) / f64::from(all.max(1)))
}

/// What libpcap takes of a file's packets.
fn by_libpcap(expression: &str, scenario: &Scenario, file: &Path) -> Option<[f64; 2]> {
    let mut takes = Vec::new();
    filtered(expression, file, |_, taken| takes.push(taken))?;
    Some(taken(scenario, takes.into_iter()))
}

/// One row of the table; `Err`: what is wrong.
fn row(kind: Kind, by: Trait) -> Result<(), String> {
    let scenario = floods::flood(kind, by);
    let file = written(&scenario);
    let (found, name) = (attacks_of(&file), format!("{}, {by:?}", kind.name));
    let [attack] = &found[..] else { return Err(format!("{name}: not one attack: {found:#?}")) };
    let seen = [&attack["seat"], &attack["targets"], &attack["kinds"][0]["kind"]];
    if seen != [&json!("flooded_server"), &json!(scenario.targets), &json!(kind.name)] {
        return Err(format!("{name}: {seen:?}"));
    }
    if attack["forged"] == "no" {
        return Err(format!("{name} is forged: {}", attack["evidence"]));
    }
    let may_be_alike = kind.is_players && by == Trait::Payload;
    let best = &attack["filters"][0];
    if best.is_null() || best["kind"].as_str().unwrap().contains("rate") {
        let alike = if may_be_alike { Ok(()) } else { Err(format!("{name}: no filter: {best:#}")) };
        return alike;
    }
    let said = ["drops", "collateral"].map(|it| best[it].as_f64().unwrap_or_default());
    let Some(took) = by_libpcap(&run(&["--emit", "bpf"], &file), &scenario, &file) else {
        return Ok(());
    };
    std::fs::remove_file(&file).unwrap();
    let is_as_said = [0, 1].iter().all(|at| (took[*at] - said[*at]).abs() <= 0.02);
    match is_as_said && took[0] >= 0.95 && took[1] <= MOST {
        true => Ok(()),
        false => Err(format!("{name}: takes {took:?}, said {said:?}: {best:#}")),
    }
}

/// The rows with one trait.
fn rows(by: Trait) {
    let wrong: Vec<_> = KINDS.iter().filter_map(|kind| row(*kind, by).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn floods_with_one_hop_limit() {
    rows(Trait::HopLimit);
}

#[test]
fn floods_with_a_range_of_hop_limits() {
    rows(Trait::HopLimits);
}

#[test]
fn floods_from_one_source_port() {
    rows(Trait::SourcePort);
}

#[test]
fn floods_with_one_identification() {
    rows(Trait::Identification);
}

#[test]
fn floods_from_addresses_of_nobody() {
    rows(Trait::Bogons);
}

#[test]
fn floods_that_only_their_payload_tells() {
    rows(Trait::Payload);
    assert!(KINDS.len() * TRAITS.len() >= 40);
}

/// The kind and the trait of captures for tests of links and languages.
fn example() -> Scenario {
    floods::flood(KINDS[0], Trait::HopLimits)
}

#[test]
fn filters_for_libpcap_match_behind_tags_and_labels() {
    let plain: &[u8] = b"\x08\0";
    let vlan: &[u8] = b"\x81\0\0\x07\x08\0";
    let qinq: &[u8] = b"\x88\xA8\0\x64\x81\0\0\x07\x08\0";
    let mpls: &[u8] = b"\x88\x47\0\x01\x41\x40";
    let labels: &[u8] = b"\x88\x47\0\x01\x40\x40\0\x02\x41\x40";
    let labelled: &[u8] = b"\x81\0\0\x07\x88\x47\0\x01\x41\x40";
    let links: [(&str, &[&[u8]]); 7] = [
        ("plain", &[plain]),
        ("VLAN", &[vlan]),
        ("QinQ", &[qinq]),
        ("MPLS", &[mpls]),
        ("two labels", &[labels]),
        ("a label behind a tag", &[labelled]),
        ("with and without tags", &[plain, vlan, qinq]),
    ];
    for (name, headers) in links {
        let mut scenario = example();
        for (packet, header) in scenario.capture.packets.iter_mut().zip(headers.iter().cycle()) {
            *packet = TimedPacket::new(
                packet.time,
                [&packet.bytes[..12], header, &packet.bytes[14..]].concat(),
            );
        }
        let file = written(&scenario);
        let [attack] = &attacks_of(&file)[..] else { panic!("{name}: one attack") };
        assert!(number(&attack["filters"][0]["drops"]) >= 0.99, "{name}: {attack:#}");
        let expression = run(&["--emit", "bpf"], &file);
        let Some([attackers, players]) = by_libpcap(&expression, &scenario, &file) else { return };
        assert!(attackers >= 0.99 && players == 0.0, "{name}: {attackers}: {expression}");
    }
}

#[test]
fn filters_say_what_they_do_not_look_behind() {
    let tunnel: &[u8] = &[0x45, 0, 0, 0, 0, 1, 0, 0, 64, 4, 0, 0, 9, 9, 9, 1, 9, 9, 9, 2];
    let label: &[u8] = b"\0\x01\x41\x40";
    let cases = [
        (b"\x08\0", &[][..], [false, false]),
        (b"\x08\0", tunnel, [true, true]),
        (b"\x88\x47", label, [false, true]),
    ];
    for (protocol, before, is_said) in cases {
        let mut scenario = example();
        for packet in &mut scenario.capture.packets {
            let mut before = before.to_vec();
            if let Some(length) = before.get_mut(2..4).filter(|_| protocol == b"\x08\0") {
                length.copy_from_slice(&(packet.bytes.len() as u16 + 6).to_be_bytes());
            }
            let bytes = [&packet.bytes[..12], protocol, &before, &packet.bytes[14..]].concat();
            *packet = TimedPacket::new(packet.time, bytes);
        }
        let file = written(&scenario);
        assert_eq!(attacks_of(&file).len(), 1, "{before:?}");
        for (language, is_said) in ["bpf", "xdp"].into_iter().zip(is_said) {
            let filter = run(&["--emit", language], &file);
            assert_eq!(filter.contains("in a tunnel or behind labels"), is_said, "{filter}");
        }
    }
}

/// Each tag moves the offsets of all that follows it in an expression.
#[test]
fn one_expression_for_libpcap_matches_several_attacks_behind_tags_and_labels() {
    let vlan: &[u8] = b"\x81\0\0\x07\x08\0";
    let qinq: &[u8] = b"\x88\xA8\0\x64\x81\0\0\x07\x08\0";
    let mpls: &[u8] = b"\x88\x47\0\x01\x41\x40";
    for header in [vlan, qinq, mpls] {
        let (mut both, other) = (example(), floods::flood(KINDS[0], Trait::HopLimit));
        let elsewhere = other.capture.packets.into_iter().map(|packet| {
            let mut bytes = packet.bytes;
            // Another server's address, as source and as target.
            for at in [26, 30] {
                if bytes[at..at + 4] == [203, 0, 113, 5] {
                    bytes[at + 3] = 6;
                }
            }
            TimedPacket::new(packet.time, bytes)
        });
        both.capture.packets.extend(elsewhere);
        both.whose.extend(other.whose);
        for packet in &mut both.capture.packets {
            *packet = TimedPacket::new(
                packet.time,
                [&packet.bytes[..12], header, &packet.bytes[14..]].concat(),
            );
        }
        let file = written(&both);
        assert_eq!(attacks_of(&file).len(), 2, "{header:?}");
        let expression = run(&["--emit", "bpf"], &file);
        let Some([attackers, players]) = by_libpcap(&expression, &both, &file) else { return };
        assert!(attackers >= 0.99 && players <= MOST, "{attackers}, {players}: {expression}");
    }
}

/// A program that gives the packets on standard input, each after its length, to the XDP program.
const HARNESS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    u32 length;
    while (fread(&length, 4, 1, stdin) == 1) {
        u8 *packet = malloc(length);
        if (fread(packet, 1, length, stdin) != length) return 1;
        struct xdp_md context = {(long)packet, (long)packet + length};
        putchar(gamewire(&context) == 1 ? 'd' : 'p');
        free(packet);
    }
    return 0;
}
"#;

/// A program of the machine that is there.
fn has(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|it| it.success())
}

/// Compiles the XDP program as if packets were in memory, with a check of each access, and runs it.
fn by_xdp(source: &str, scenario: &Scenario, name: &str) -> [f64; 2] {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let [code, program] = ["c", "out"].map(|it| folder.join(format!("xdp-{name}.{it}")));
    let native = source.replace("u32 data, data_end;", "unsigned long data, data_end;");
    assert_ne!(native, source);
    std::fs::write(&code, native + HARNESS).unwrap();
    let flags = ["-O1", "-Wall", "-Werror", "-o"];
    let compiled = Command::new("cc").args(flags).arg(&program).arg(&code).status().unwrap();
    assert!(compiled.success(), "{source}");
    let mut packets = Vec::new();
    for packet in &scenario.capture.packets {
        packets.extend((packet.bytes.len() as u32).to_ne_bytes());
        packets.extend(&packet.bytes);
    }
    let piped = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = piped.unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&packets).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    taken(scenario, output.stdout.iter().map(|verdict| *verdict == b'd'))
}

#[test]
fn the_xdp_program_drops_what_was_said() {
    let traits = [Trait::HopLimits, Trait::SourcePort, Trait::Identification, Trait::Bogons];
    for (by, name) in traits.into_iter().zip(["hops", "port", "id", "bogons"]) {
        let scenario = floods::flood(KINDS[0], by);
        let file = written(&scenario);
        let source = run(&["--emit", "xdp"], &file);
        let [attackers, players] = by_xdp(&source, &scenario, name);
        assert!(attackers >= 0.99 && players == 0.0, "{by:?}: {attackers}, {players}: {source}");
        for_bpf(&source, name);
    }
}

/// Where clang is installed, the program compiles for the kernel.
fn for_bpf(source: &str, name: &str) {
    if !has("clang") {
        skip::skipped("clang", "the XDP program is not compiled for the kernel");
        return;
    }
    let code = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("xdp-{name}-bpf.c"));
    std::fs::write(&code, source).unwrap();
    let flags = ["-O2", "-Wall", "-Werror", "-target", "bpf", "-c", "-o"];
    let object = code.with_extension("o");
    let compiled = Command::new("clang").args(flags).arg(object).arg(&code).status().unwrap();
    assert!(compiled.success(), "{source}");
}

#[test]
fn xdp_programs_for_no_attack_and_for_several_captures_are_whole() {
    let scenario = floods::flood(KINDS[0], Trait::Payload);
    let nothing = run(&["--emit", "xdp"], Path::new("samples/a2s-goldsrc.pcap"));
    assert_eq!(by_xdp(&nothing, &scenario, "nothing"), [0.0; 2]);

    let (one, other) = (example(), floods::flood(KINDS[7], Trait::SourcePort));
    let [first, second] = [&one, &other].map(written);
    let both = run(&["--emit", "xdp", first.to_str().unwrap()], &second);
    for (scenario, name) in [(one, "one"), (other, "other")] {
        let [attackers, players] = by_xdp(&both, &scenario, name);
        assert!(attackers >= 0.99 && players == 0.0, "{name}: {attackers}: {both}");
    }
}

#[test]
fn ports_that_servers_announce_are_known() {
    let source: &[u8] =
        b"\xFF\xFF\xFF\xFFI\x11A\0b\0c\0d\0\xDA\x02\x05\x20\0dl\0\x011\0\x80\x61\x1E";
    let info: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let text: &[u8] =
        b"\\hostname\\A\\mapname\\b\\numplayers\\0\\hostport\\7777\\queryid\\1.1\\final\\";
    for (response, query, queried) in [(source, info, 27015), (text, b"\\info\\", 7778)] {
        let scenario = floods::announced(response, query, [queried, 7777]);
        let file = written(&scenario);
        let [attack] = &attacks_of(&file)[..] else { panic!("{queried}: one attack") };
        assert_eq!(attack["targets"], json!(scenario.targets), "{queried}");
        let check = gamewire(["check", "--no-config", file.to_str().unwrap()]);
        assert!(check.out.starts_with("UNDER ATTACK"), "{queried}: {}", check.out);
        let summary = gamewire(["summary", "--no-config", file.to_str().unwrap()]);
        assert!(summary.out.starts_with("Under attack"), "{queried}: {}", summary.out);
    }
}

#[test]
fn a_flood_of_many_ports_of_a_host_is_one() {
    for ports in [3, 12, 40] {
        let scenario = floods::many_ports(ports);
        let file = written(&scenario);
        let [attack] = &attacks_of(&file)[..] else { panic!("{ports} ports: one attack") };
        assert_eq!(attack["targets"], json!(scenario.targets), "{ports} ports");
        let text = run(&[], &file);
        assert!(text.contains(&format!("203.0.113.5, on {ports} ports, is flooded")), "{text}");
        // Of many ports, each gets too little in the groups of hosts in which the rules count.
        let ruled: &[&str] = if ports < 40 { &["check", "summary"] } else { &[] };
        for command in ruled {
            let out = gamewire([command, "--no-config", file.to_str().unwrap()]).out;
            assert!(out.lines().next().unwrap().contains("flooded"), "{command}: {out}");
        }
        let bpf = run(&["--emit", "bpf"], &file);
        let Some([attackers, players]) = by_libpcap(&bpf, &scenario, &file) else { return };
        assert!(attackers >= 0.99 && players == 0.0, "{attackers}, {players}: {bpf}");
        let xdp = run(&["--emit", "xdp"], &file);
        assert_eq!(by_xdp(&xdp, &scenario, &format!("ports-{ports}")), [attackers, players]);
    }
}

/// What `Value` prints of an attack is the same in each run.
#[test]
fn the_same_floods_give_the_same_bytes() {
    let file = written(&example());
    let [one, other] = [0, 1].map(|_| run(&["--format", "json"], &file));
    assert_eq!(one, other);
    let _: Value = serde_json::from_str(&one).unwrap();
}
