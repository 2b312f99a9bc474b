//! The output does not depend on the number of threads.
//!
//! The captures are the samples, and incomplete ones of many simultaneous conversations, right and wrong
//! ones.

use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::support::sides::of_containers;
use crate::support::{Run, gamewire, samples};
use captures::exchange::Setting;
use captures::traffic::{Conversation, Traffic};
use captures::wire::tunnel::{self, Gre};
use captures::wire::{Capture, Datagram, Ip, Link, Prng, START};
use dissectors::catalogue;

const COMMANDS: [&[&str]; 10] = [
    &["dissect", "--format", "json"],
    &["dissect", "-v"],
    &["check"],
    &["check", "--format", "json", "--complete"],
    &["check", "--format", "json", "--who", "server"],
    &["flows", "--format", "csv"],
    &["summary", "--format", "json"],
    &["diagnose", "--format", "json"],
    &["abuse", "--format", "json"],
    &["check", "--format", "json", "--verify-checksums", "-c", "700"],
];

fn run(command: &[&str], threads: &str, file: &Path) -> Run {
    let options = ["--threads", threads, &file.to_string_lossy()].map(str::to_owned);
    gamewire(command.iter().map(|&word| word.to_owned()).chain(options))
}

fn is_the_same(file: &Path) {
    is_the_same_in(&COMMANDS, file);
}

fn is_the_same_in(commands: &[&[&str]], file: &Path) {
    for command in commands {
        let one = run(command, "1", file);
        assert!(one.code < 2, "{}", one.err);
        for threads in ["3", "100"] {
            let many = run(command, threads, file);
            let what = format!("{command:?} with {threads} threads on {}", file.display());
            assert!(one.out == many.out, "{what}: other output");
            assert_eq!((one.code, &one.err), (many.code, &many.err), "{what}");
        }
    }
}

#[test]
fn samples_have_the_same_output() {
    for sample in samples() {
        is_the_same(&sample);
    }
}

/// The examples of all rules at the same time in one incomplete capture.
fn recording(seed: u64) -> PathBuf {
    let rules = catalogue::rules().into_iter();
    let scripts = rules.flat_map(|rule| [(rule, rule.right), (rule, rule.wrong)]);
    let held: Vec<_> = scripts
        .filter(|(_, script)| !script.trim().is_empty())
        .map(|(rule, script)| Conversation {
            name: rule.code.to_string(),
            script: script.to_owned(),
            setting: Setting::of_rule(&rule.code.to_string()),
        })
        .collect();
    let held: Vec<_> = std::iter::repeat_n(held, 2).flatten().collect();
    let mut traffic = Traffic::interleaved(&held, seed).expect("good scripts");
    let mut prng = Prng::new(seed);
    if seed > 1 {
        traffic.lose_fragments(&mut prng);
        traffic.lose_segments(&mut prng);
    }
    if seed > 2 {
        traffic.snap(&mut prng);
    }
    let name = format!("gamewire-threads-{}-{seed}.pcapng", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, traffic.pcapng()).expect("a writable folder");
    path
}

#[test]
fn all_rules_at_once_are_checked_the_same() {
    for seed in 1..=3 {
        let file = recording(seed);
        is_the_same(&file);
        std::fs::remove_file(file).ok();
    }
}

#[test]
fn several_files_and_merged_ones_have_the_same_output() {
    let (first, second) = (recording(11), recording(12));
    let files = [&first, &second].map(|file| file.to_string_lossy().into_owned());
    for options in [["dissect", "--format=json"], ["check", "--format=text"]] {
        for merge in [None, Some("--merge")] {
            let run = |threads: &str| {
                let words = options.into_iter().chain(merge).chain(["--threads", threads]);
                gamewire(words.map(str::to_owned).chain(files.clone()))
            };
            let (one, many) = (run("1"), run("3"));
            assert!(one.code < 2 && one.out.len() > 1000, "{}", one.err);
            assert!(one.out == many.out, "{options:?} {merge:?}: other output");
        }
    }
    for file in [first, second] {
        std::fs::remove_file(file).ok();
    }
}

/// Flows that end before others begin keep their numbers in all reports.
#[test]
fn flows_of_a_long_capture_have_the_same_numbers() {
    let mut capture = Capture::new(Link::Ethernet);
    for n in 0..24_000_u32 {
        // They begin in bursts, and every hundredth of them has another packet in the next burst.
        let time = u64::from(n / 2000) * 300_000 + u64::from(n % 2000);
        let mut say = |n: u32, time: u64| {
            let client = format!("10.{}.{}.{}:5000", n >> 16, n >> 8 & 255, n & 255);
            let server = format!("20.0.0.{}:27015", n % 7);
            let payload: &[u8] =
                if n.is_multiple_of(50) { b"\xFF\xFF\xFF\xFFT?" } else { b"\xFF\xFF\xFF\xFFW" };
            capture.push(START.after_ms(time), &Datagram::new(&client, &server, payload).packet());
        };
        say(n, time);
        if n >= 2000 && n % 100 == 0 {
            say(n - 2000, time);
        }
    }
    let name = format!("gamewire-threads-{}-long.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, capture.pcap()).expect("a writable folder");
    let numbered =
        [&["dissect", "--format", "json"][..], &["check"], &["flows", "--format", "csv"]];
    is_the_same_in(&numbered, &path);
    std::fs::remove_file(path).ok();
}

/// Compressed files are read by one thread, regardless of the number of threads.
#[test]
fn compressed_files_among_others_have_the_same_headings() {
    let plain = recording(13);
    let packed = plain.with_extension("pcapng.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&std::fs::read(&plain).expect("it was written")).expect("memory takes all");
    std::fs::write(&packed, gzip.finish().expect("memory takes all")).expect("a writable folder");
    let files = [&packed, &plain, &packed].map(|file| file.to_string_lossy().into_owned());
    for command in ["dissect", "flows", "check"] {
        let run = |threads: &str| {
            gamewire(
                [command, "--threads", threads].map(str::to_owned).into_iter().chain(files.clone()),
            )
        };
        let (one, many) = (run("1"), run("3"));
        assert!(one.code < 2 && one.out.len() > 1000, "{}", one.err);
        assert!(one.out == many.out, "{command}: other output");
    }
    for file in [plain, packed] {
        std::fs::remove_file(file).ok();
    }
}

#[test]
fn a_truncated_file_is_reported_once() {
    let file = recording(21);
    let mut bytes = std::fs::read(&file).expect("it was written");
    bytes.truncate(bytes.len() - 5);
    std::fs::write(&file, bytes).expect("a writable folder");
    let many = run(&["check"], "4", &file);
    assert_eq!(many.err.matches("warning").count(), 1, "{}", many.err);
    is_the_same(&file);
    std::fs::remove_file(file).ok();
}

/// The fragments of a packet's payload, between the same hosts.
fn fragments(packet: &[u8], id: u32, size: usize) -> Vec<Vec<u8>> {
    let address = |at: usize| IpAddr::from([0, 1, 2, 3].map(|n| packet[at + n]));
    let ip = Ip { id, ..Ip::new(address(12), address(16)) };
    ip.fragments(packet[9], size, &packet[20..])
}

/// Outer and inner hosts of a tunnel may belong to different threads: the one of the inner hosts must
/// reassemble fragments between the outer ones.
#[test]
fn fragmented_tunnels_are_read_by_the_thread_of_the_inner_hosts() {
    let host = |net: u8, n: u32| IpAddr::from([net, 0, (n >> 8) as u8, n as u8]);
    let mut capture = Capture::new(Link::Ethernet);
    let mut id = 0;
    for n in 0..120 {
        let (client, server) = (host(10, n * 7), host(20, n % 5));
        let conversation = [
            (client, server, &b"\xFF\xFF\xFF\xFFV\xFF\xFF\xFF\xFF"[..]),
            (
                server,
                client,
                b"\xFF\xFF\xFF\xFFE\x01\x00a name\x00and its value, which takes some room\x00",
            ),
        ];
        for (turn, (from, to, payload)) in conversation.into_iter().enumerate() {
            let from_port = if turn == 0 { 5000 } else { 27015 };
            let (source, destination) =
                (format!("{from}:{from_port}"), format!("{to}:{}", 32_015 - from_port));
            let mut packets = vec![Datagram::new(&source, &destination, payload).packet()];
            if n % 2 == 0 {
                id += 1;
                packets = fragments(&packets[0], id, 32);
            }
            // The last ones are nested fragments beyond the maximum depth.
            for depth in 0..n / 30 * 2 {
                let outer = Ip::new(host(30, n + depth), host(40, depth));
                let wrap = |inner: &Vec<u8>| match n % 3 {
                    0 => tunnel::ip_in_ip(&outer, inner),
                    1 => Gre::default().packet(&outer, inner),
                    _ => tunnel::vxlan(&outer, 51_000, 7, &Link::Ethernet.frame(&[], inner)),
                };
                packets = packets.iter().map(wrap).collect();
                let cut = |packet: &Vec<u8>| {
                    id += 1;
                    fragments(packet, id, packet.len().next_multiple_of(16) / 2)
                };
                packets = packets.iter().flat_map(cut).collect();
            }
            let time = START.after_ms(u64::from(n) * 10 + turn as u64);
            packets.iter().for_each(|packet| capture.push(time, packet));
        }
    }
    let name = format!("gamewire-threads-{}-tunnels.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, capture.pcap()).expect("a writable folder");
    let one = run(&["dissect", "--format", "json"], "1", &path);
    assert!(one.out.lines().count() > 120, "{}", one.out);
    is_the_same(&path);
    std::fs::remove_file(path).ok();
}

/// The originals of copies may be in the part of another thread.
#[test]
fn datagrams_before_and_behind_nat_have_the_same_output() {
    let name = format!("gamewire-threads-nat-{}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, of_containers(200).both.pcap()).expect("a writable folder");
    is_the_same(&path);
    std::fs::remove_file(path).ok();
}
