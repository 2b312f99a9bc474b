//! The same capture gives the same output, byte for byte: in every run, though each hashes with other
//! seeds, and with any number of threads.
//!
//! The captures are the samples, and floods from so many hosts that tables of bounded size overflow.
//! `GAMEWIRE_RUNS` is the number of runs with each number of threads.

use crate::support;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{gamewire, samples};
use captures::wire::{Capture, Datagram, Ip, Link, START, protocol};

const THREADS: [&str; 4] = ["1", "2", "3", "8"];

/// Hosts of a flood.
const HOSTS: u32 = 50_000;

/// Every command that reads captures, in every format; `OUT` is a folder for files.
const COMMANDS: [&[&str]; 40] = [
    &["dissect"],
    &["dissect", "-v", "-x"],
    &["dissect", "--format", "json", "--tree"],
    &["dissect", "--format", "ndjson", "--fields", "time,src,dst,map,players"],
    &["dissect", "--format", "csv", "--fields", "time,src,dst,map,players"],
    &["dissect", "--format", "tsv", "--fields", "time,src,dst,map,players"],
    &["dissect", "--format", "table", "--fields", "time,src,dst,map,players"],
    &["dissect", "-w", "OUT/selected.pcapng", "--annotate", "-Y", "severity>=warning"],
    &["check"],
    &["check", "-q", "--complete"],
    &["check", "--format", "json"],
    &["check", "--format", "junit"],
    &["check", "--format", "sarif"],
    &["check", "--format", "github"],
    &["check", "--write-baseline", "OUT/baseline.json"],
    &["check", "--format", "json", "--verify-checksums", "-c", "700"],
    &["flows"],
    &["flows", "--format", "json"],
    &["flows", "--format", "csv"],
    &["summary"],
    &["summary", "--format", "json"],
    &["summary", "--format", "csv"],
    &["summary", "--format", "markdown"],
    &["diagnose"],
    &["diagnose", "--format", "json"],
    &["diagnose", "--format", "markdown"],
    &["abuse"],
    &["abuse", "--format", "json"],
    &["abuse", "--emit", "nft"],
    &["abuse", "--emit", "iptables"],
    &["abuse", "--report", "OUT", "--reporter", "Example Hosting <abuse@example.net>"],
    &["follow"],
    &["follow", "--format", "json"],
    &["follow", "--format", "svg"],
    &["follow", "--format", "mermaid"],
    &["report", "-o", "OUT/report.html"],
    &["export", "-o", "OUT", "--format", "csv"],
    &["export", "-o", "OUT", "--format", "ndjson"],
    &["scrub", "-o", "OUT/copy.pcapng", "--key", "a key"],
    &["scrub", "-o", "OUT/copy.pcapng", "--key", "a key", "--keep-foreign"],
];

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("gamewire-reproducible-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        Folder(folder)
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let files = std::fs::read_dir(&self.0).expect("a readable folder");
        let file = |file: std::io::Result<std::fs::DirEntry>| {
            let path = file.expect("a file").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read(path).expect("a readable file"))
        };
        files.map(file).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// All that a run writes, by name.
fn outputs(command: &[&str], threads: &str, files: &[PathBuf]) -> BTreeMap<String, Vec<u8>> {
    let folder = Folder::new();
    let place = folder.0.to_string_lossy().into_owned();
    let words = command.iter().map(|word| word.replace("OUT", &place));
    let options = ["--no-config", "--threads", threads].map(str::to_owned);
    let files = files.iter().map(|file| file.to_string_lossy().into_owned());
    let run = gamewire(words.chain(options).chain(files));
    assert!(run.code < 2, "{command:?}: {}", run.err);
    let mut outputs = folder.files();
    for (name, text) in [("output", run.out), ("errors", run.err), ("code", run.code.to_string())] {
        outputs.insert(name.to_owned(), text.replace(&place, "OUT").into_bytes());
    }
    outputs
}

/// How often each command is run with each number of threads, if the developer wants more than the least.
fn wanted_runs() -> Option<usize> {
    std::env::var("GAMEWIRE_RUNS").ok()?.parse().ok()
}

/// Numbers of threads. By default one and several, because all of them take minutes.
fn threads() -> &'static [&'static str] {
    if wanted_runs().is_some() { &THREADS } else { &THREADS[..2] }
}

/// Asserts that all runs write the same.
fn are_the_same(command: &[&str], files: &[PathBuf], threads: &[&str]) {
    let mut first = None;
    for threads in std::iter::repeat_n(threads, wanted_runs().unwrap_or(1)).flatten() {
        let outputs = outputs(command, threads, files);
        let first = first.get_or_insert_with(|| outputs.clone());
        let names = |all: &BTreeMap<String, Vec<u8>>| Vec::from_iter(all.keys().cloned());
        let what = format!("{command:?} with {threads} threads on {files:?}");
        assert_eq!(names(first), names(&outputs), "{what}: other files");
        for (name, bytes) in &outputs {
            let differs = first[name].iter().zip(bytes).position(|(a, b)| a != b);
            let [a, b] = [&first[name], bytes].map(|bytes| {
                let near = differs.unwrap_or(bytes.len());
                String::from_utf8_lossy(
                    &bytes[near.saturating_sub(200)..bytes.len().min(near + 100)],
                )
            });
            assert!(first[name] == *bytes, "{what}: {name} differs:\n{a}\n{b}");
        }
    }
}

#[test]
fn samples_have_the_same_output_in_every_run() {
    for command in COMMANDS {
        // One file at a time is scrubbed.
        let at_once = if command[0] == "scrub" { 1 } else { usize::MAX };
        samples().chunks(at_once).for_each(|files| are_the_same(command, files, threads()));
    }
}

/// An address that looks random, another for each number.
fn host(number: u32) -> Ipv4Addr {
    (number.wrapping_mul(0x9E37_79B1) ^ 0x5A5A_0000).into()
}

/// A flood: a packet every twenty microseconds.
struct Flood(Capture);

impl Flood {
    fn new() -> Flood {
        Flood(Capture::new(Link::Ethernet))
    }

    fn packet(&mut self, packet: &[u8]) {
        let time = START.after(self.0.packets.len() as u64 * 20_000);
        self.0.push(time, packet);
    }

    fn say(&mut self, (from, from_port): (Ipv4Addr, u16), to: (Ipv4Addr, u16), payload: &[u8]) {
        let (source, destination) = ((from, from_port).into(), to.into());
        let payload = payload.to_vec();
        let checksum = captures::wire::Checksum::Right;
        self.packet(&Datagram { source, destination, payload, checksum }.packet());
    }

    /// Asserts that the commands write the same in every run.
    fn is_the_same(&self, commands: &[&[&str]]) {
        let folder = Folder::new();
        let file = folder.0.join("flood.pcap");
        std::fs::write(&file, self.0.pcap()).expect("a writable folder");
        let files = std::slice::from_ref(&file);
        commands.iter().for_each(|command| are_the_same(command, files, threads()));
    }
}

const ASKED: (Ipv4Addr, u16) = (Ipv4Addr::new(23, 17, 34, 51), 27015);
const ASKING: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 51, 100, 7), 50_000);
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";
const INFO_RESPONSE: &[u8] = b"\xFF\xFF\xFF\xFFI\x11Test\0de_dust2\0csgo\0Counter-Strike\0\
    \xDA\x02\x05\x10\0dl\0\x011.38\0";

/// More sources than are kept ask one server, which answers some of them; some ask again.
#[test]
fn a_flood_of_requests_has_the_same_output_in_every_run() {
    let mut flood = Flood::new();
    for n in 0..HOSTS {
        let client = |n: u32| (host(n), 1024 + (n % 60_000) as u16);
        flood.say(client(n), ASKED, INFO);
        match n % 10 {
            0 => flood.say(ASKED, client(n), INFO_RESPONSE),
            5 => flood.say(ASKED, client(n), CHALLENGE),
            7 => flood.say(client(n / 2), ASKED, INFO),
            _ => {}
        }
    }
    let json = "--format=json";
    flood.is_the_same(&[&["abuse", json], &["abuse", json], &["summary", json], &["check", json]]);
}

/// One client asks more servers than are kept.
#[test]
fn a_scan_has_the_same_output_in_every_run() {
    let mut flood = Flood::new();
    for n in 0..HOSTS {
        flood.say(ASKING, (host(n), 27015), INFO);
        flood.say((host(n), 27015), ASKING, INFO_RESPONSE);
    }
    let json = "--format=json";
    flood.is_the_same(&[
        &["abuse", json],
        &["summary", json],
        &["diagnose", json],
        &["check", json],
        &["export", "-o", "OUT", "--tables", "servers,findings,verdicts", "--format", "csv"],
    ]);
}

/// Servers answer more addresses than are kept, none of which asked.
#[test]
fn a_flood_of_responses_has_the_same_output_in_every_run() {
    let mut flood = Flood::new();
    for n in 0..HOSTS {
        let server = (Ipv4Addr::from(0x1711_0000 + n % 50), 27015);
        flood.say(server, (host(n), 1024), INFO_RESPONSE);
        flood.say((host(n + HOSTS), 27015), ASKING, INFO_RESPONSE);
    }
    let json = "--format=json";
    flood.is_the_same(&[&["abuse", json], &["diagnose", json], &["check", json]]);
}

/// More servers than are kept join a master.
#[test]
fn a_flood_of_joins_has_the_same_output_in_every_run() {
    let mut flood = Flood::new();
    let master = (Ipv4Addr::new(23, 17, 34, 52), 27010);
    for n in 0..HOSTS {
        flood.say((host(n), 27015), master, b"q");
        if n % 3 == 0 {
            flood.say(master, (host(n), 27015), b"\xFF\xFF\xFF\xFFs\x0A\x01\x02\x03\x04");
        }
    }
    let json = "--format=json";
    flood.is_the_same(&[
        &["abuse", json],
        &["summary", json],
        &["diagnose", json],
        &["check", json],
    ]);
}

/// More datagrams than are kept lack a fragment, some until they are given up in the middle of the
/// capture, the others until its end.
#[test]
fn a_flood_of_fragments_has_the_same_output_in_every_run() {
    let mut flood = Flood::new();
    let datagram = |n: u32| Datagram {
        source: (host(n % 5000), 27015).into(),
        destination: ASKING.into(),
        payload: [INFO_RESPONSE, &[0; 256]].concat(),
        checksum: captures::wire::Checksum::Right,
    };
    for n in 0..HOSTS {
        flood.say(ASKING, (host(n % 5000), 27015 + (n % 2) as u16), INFO);
        let datagram = datagram(n);
        let ip = Ip { id: n, ..Ip::new(datagram.source.ip(), datagram.destination.ip()) };
        let fragments = ip.fragments(protocol::UDP, 128, &datagram.bytes());
        // Without the first one, its ports are unknown.
        flood.packet(&fragments[usize::from(n % 4 == 0)]);
    }
    let json = "--format=json";
    flood.is_the_same(&[&["diagnose", json], &["check", json], &["dissect", json]]);
}

/// A recording of masters and servers of one host, with tunnels and lost fragments.
#[test]
fn lost_fragments_of_a_host_with_several_servers_are_named_the_same() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/hostile/threads-diagnose.pcap");
    if !file.is_file() {
        return support::skip::skipped("captures", "no recorded captures are here");
    }
    let files = std::slice::from_ref(&file);
    COMMANDS.iter().for_each(|command| are_the_same(command, files, &THREADS));
}
