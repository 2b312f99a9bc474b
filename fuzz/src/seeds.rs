//! The initial inputs of fuzzing, made from the sample captures and the rules' examples.
//!
//! They are in `fuzz/corpus`, together with inputs that once broke a target; names of these start with
//! `found-`, and they are never removed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs};

use captures::exchange::{self, Setting};
use captures::samples;
use dissectors::Id;
use dissectors::catalogue;
use dissectors::kit::Transport;
use gamewire::Options;
use gamewire::capture::{self, Event, Packet};
use gamewire::net::packet::Fragment;
use gamewire::net::{Outcome, decode};
use gamewire::partition::{Plan, survey, to_bytes};

use crate::conversation::{FLOWS, kind};
use crate::decoder;
use crate::scratch::with_file;

/// Maximum size of a seed in bytes: small inputs are mutated faster.
const MOST: usize = 4096;

/// Inputs by their paths below `fuzz/corpus`.
pub type Seeds = BTreeMap<String, Vec<u8>>;

/// The folder of a protocol's conversations, which is also the name of its target.
pub fn conversation_folder(id: Id) -> String {
    format!("conversation-{}", id.info().id.replace('_', "-"))
}

/// The folder of the corpus.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// All seeds.
///
/// # Errors
/// A file for temporary use cannot be written.
pub fn all() -> io::Result<Seeds> {
    let mut seeds = Seeds::new();
    for sample in samples::all() {
        let name = sample.name.split('.').next().unwrap_or_default();
        let bytes = (sample.make)();
        let id = Id::ALL.iter().find(|id| name.starts_with(&id.info().id.replace('_', "-")));
        add(&mut seeds, name, &bytes, id.copied())?;
        if bytes.len() <= MOST {
            let survey = with_file(&bytes, |path| survey(path, &Options::default(), MOST));
            let survey = survey.map_err(|error| io::Error::other(error.to_string()))?;
            seeds.insert(format!("partition/{name}-survey"), to_bytes(&survey));
            let plan = Plan::new(vec![(sample.name.to_owned(), survey)], 2);
            seeds.insert(format!("partition/{name}-plan"), to_bytes(&plan));
            seeds.insert(format!("capture/{name}"), bytes);
        }
    }
    for rule in catalogue::rules() {
        let knows = |id: &&Id| id.info().rules.iter().any(|known| known.code == rule.code);
        let Some(&id) = Id::ALL.iter().find(knows) else { continue };
        let Ok(capture) = exchange::capture(rule.wrong, &Setting::of_rule(&rule.code.to_string()))
        else {
            continue;
        };
        let conversation = conversation(&capture.pcap())?;
        let name = format!("{}/{}", conversation_folder(id), rule.code);
        seeds.insert(name, conversation);
    }
    responses(&mut seeds);
    seeds.insert("config/all-keys".to_owned(), CONFIG.as_bytes().to_vec());
    for (at, source) in FILTERS.iter().enumerate() {
        seeds.insert(format!("filter/{at}"), source.as_bytes().to_vec());
    }
    seeds.insert("baseline/one-finding".to_owned(), BASELINE.as_bytes().to_vec());
    Ok(seeds)
}

/// Writes the seeds, and removes obsolete ones.
///
/// # Errors
/// A file cannot be written or removed.
pub fn write(folder: &Path) -> io::Result<()> {
    let seeds = all()?;
    for stale in listed(folder)?.iter().filter(|name| is_made(name) && !seeds.contains_key(*name)) {
        fs::remove_file(folder.join(stale))?;
    }
    for (name, bytes) in &seeds {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// Compares the folder with the seeds; returns a line for each file that differs.
///
/// # Errors
/// A file cannot be read.
pub fn check(folder: &Path) -> io::Result<Vec<String>> {
    let seeds = all()?;
    let mut wrong = Vec::new();
    for (name, bytes) in &seeds {
        match fs::read(folder.join(name)) {
            Ok(found) if found == *bytes => {}
            Ok(_) => wrong.push(format!("{name} differs")),
            Err(_) => wrong.push(format!("{name} is missing")),
        }
    }
    let stale = listed(folder)?.into_iter().filter(|name| is_made(name));
    let stale = stale.filter(|name| !seeds.contains_key(name));
    wrong.extend(stale.map(|name| format!("{name} belongs to no seed")));
    Ok(wrong)
}

/// The inputs of a target that are in the folder.
///
/// # Errors
/// The folder cannot be read.
pub fn of(folder: &Path, target: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let names = listed(folder)?.into_iter();
    let names = names.filter(|name| name.split('/').next() == Some(target));
    names.map(|name| Ok((name.clone(), fs::read(folder.join(name))?))).collect()
}

fn is_made(name: &str) -> bool {
    !name.split('/').next_back().is_some_and(|file| file.starts_with("found-"))
}

fn listed(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    if !folder.is_dir() {
        return Ok(names);
    }
    for target in fs::read_dir(folder)? {
        let target = target?;
        for file in fs::read_dir(target.path())? {
            let (target, file) = (target.file_name(), file?.file_name());
            names.push(format!("{}/{}", target.to_string_lossy(), file.to_string_lossy()));
        }
    }
    names.sort();
    Ok(names)
}

/// Adds the seeds of a sample for its layers and its protocol.
fn add(seeds: &mut Seeds, name: &str, bytes: &[u8], id: Option<Id>) -> io::Result<()> {
    let (mut packets, mut fragments) = (Vec::new(), Vec::new());
    // With all needs.
    let mut session = vec![0xFF];
    each(bytes, |packet| {
        let record = decoder::record(packet).unwrap_or_default();
        if session.len() + record.len() <= MOST {
            session.extend(record);
        }
        let mut seed = packet.link.0.to_le_bytes().to_vec();
        seed.push(0);
        seed.extend(packet.data);
        packets.push(seed);
        let outcome = decode(packet.link, packet.data, packet.original_length);
        if let Outcome::Fragment(fragment) = outcome {
            fragments.extend(fragment_record(&fragment));
        }
    })?;
    // The first packet of a capture has its usual headers; a tunnelled one has more.
    let shows_more = packets.iter().max_by_key(|packet| packet.len().min(200)).cloned();
    for (kind, packet) in [("first", packets.first().cloned()), ("long", shows_more)] {
        if let Some(packet) = packet {
            seeds.insert(format!("packet/{name}-{kind}"), packet);
        }
    }
    seeds.insert(format!("decoder/{name}"), session);
    if !fragments.is_empty() && fragments.len() <= MOST {
        seeds.insert(format!("fragments/{name}"), fragments);
    }
    if let Some(id) = id {
        let conversation = conversation(bytes)?;
        if conversation.len() <= MOST {
            seeds.insert(format!("{}/{name}", conversation_folder(id)), conversation);
        }
    }
    Ok(())
}

/// A fragment in the input format of the target `fragments`.
fn fragment_record(fragment: &Fragment<'_>) -> Vec<u8> {
    let flags = u8::from(fragment.ip.source.is_ipv6()) | u8::from(fragment.more) << 2;
    let which = fragment.identification as u8 & 15;
    let units = (fragment.at / 8) as u16;
    let (bytes, times) = match fragment.payload.bytes.len() {
        // Too long for a record: the same length of one repeated byte.
        length if length > 255 => (&fragment.payload.bytes[..length.div_ceil(256)], 255),
        _ => (fragment.payload.bytes, 0),
    };
    let mut record = vec![flags, which];
    record.extend(units.to_le_bytes());
    record.extend([1, times, 0, bytes.len() as u8]);
    record.extend(bytes);
    record
}

/// A capture's payloads in the input format of the conversation targets.
fn conversation(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut flows: Vec<(Transport, [u16; 2])> = Vec::new();
    let mut seed = vec![0_u8];
    each(bytes, |packet| {
        let outcome = decode(packet.link, packet.data, packet.original_length);
        let (transport, ports, payload, closes) = match outcome {
            Outcome::Udp(udp) => {
                (Transport::Udp, [udp.source_port, udp.destination_port], udp.payload.bytes, false)
            }
            Outcome::Tcp(tcp) => {
                let ports = [tcp.source_port, tcp.destination_port];
                (Transport::Tcp, ports, tcp.payload.bytes, tcp.flags.fin())
            }
            _ => return,
        };
        if payload.is_empty() && !closes {
            return;
        }
        let [from, to] = ports;
        let known = flows.iter().position(|&(other, ends)| {
            other == transport && (ends == [from, to] || ends == [to, from])
        });
        let number = known.unwrap_or_else(|| {
            flows.push((transport, ports));
            flows.len() - 1
        });
        let is_second = flows.get(number).is_some_and(|flow| flow.1 != ports);
        let number = number % FLOWS;
        if transport == Transport::Tcp {
            seed[0] |= 1 << number;
        }
        let mut kind = (number as u8) << kind::FLOW_SHIFT;
        if is_second {
            kind |= kind::SECOND;
        }
        if closes {
            kind |= kind::CLOSES;
        }
        seed.extend([kind, 4]);
        seed.extend((payload.len().min(usize::from(u16::MAX)) as u16).to_le_bytes());
        seed.extend(payload);
    })?;
    Ok(seed)
}

/// Calls `show` with every packet of a capture.
fn each(bytes: &[u8], mut show: impl FnMut(&Packet<'_>)) -> io::Result<()> {
    let reader = Box::new(io::Cursor::new(bytes.to_vec()));
    let opened = capture::open_stream(Path::new("seed"), reader);
    let mut packets = opened.map_err(|error| io::Error::other(error.to_string()))?;
    while let Some(event) = packets.next() {
        if let Event::Packet(packet) = event {
            show(&packet);
        }
    }
    Ok(())
}

/// A configuration with all kinds of settings.
const CONFIG: &str = "fail-on = \"warning\"\ncomplete = true\nrequire = [\"A2S022\"]\n\
    decode-as = [\"udp.port==27999,a2s\"]\n[severity]\nA2S030 = \"note\"\n\
    [[ignore]]\nrule = \"A2S005\"\nhost = \"10.0.0.2\"\nreason = \"known\"\nuntil = 2030-01-31\n\
    [tolerances]\nanswer-timeout = \"5s\"\n";

/// Filters with all kinds of syntax.
const FILTERS: [&str; 4] = [
    "a2s.info_response.players == 0 and ip.src == 10.0.0.0/8",
    "not (map matches \"^ctf_\" || response_time > 200ms) and rule in {A2S030, VM034}",
    "gamespy4.info_response.properties[\"game type\"] contains \"\\x41\" or frame not in {1, 5..9}",
    "host == [::1]:27015 && time >= \"2026-11-20T10:00:00Z\" && severity >= warning",
];

/// A baseline of one finding.
const BASELINE: &str = "{\"version\": 1, \"findings\": [{\"rule\": \"A2S030\", \"who\": \"server\", \
    \"protocol\": \"a2s\", \"message\": \"player_response\", \"detail\": \"Num Players says #\"}]}\n";

/// Responses to split, in every layout, plain and compressed; and segments to reassemble.
fn responses(seeds: &mut Seeds) {
    let rules = b"\x45\x02\x00motd\0hello\0sv_gravity\x00800\0".repeat(9);
    for flags in [0x00, 0x01, 0x02, 0x05, 0x0D, 0x16, 0x25, 0x45, 0x85] {
        let mut seed = vec![flags, 24, 0xFF];
        seed.extend(&rules);
        seeds.insert(format!("split/answer-{flags:02x}"), seed);
    }
    let segment = |flags: u8, at: u16, bytes: &[u8]| {
        let mut record = vec![flags, 0, 4];
        record.extend((0x100 + at).to_le_bytes());
        record.extend((0x100_u16 + 1).to_le_bytes());
        record.push(bytes.len() as u8);
        record.extend(bytes);
        record
    };
    let opened = [vec![0], segment(2, 0, b""), segment(3 | 16, 0, b""), segment(16, 1, b"one")];
    let opened = opened.concat();
    let ordered = [&opened[..], &segment(16, 4, b"two"), &segment(16 | 4, 7, b"")].concat();
    let late = [&opened[..], &segment(16, 7, b"three"), &segment(16, 4, b"two")].concat();
    let reset = [&opened[..], &segment(16, 3, b"eTwo"), &segment(8, 4, b"")].concat();
    for (name, seed) in [("ordered", ordered), ("late", late), ("reset", reset)] {
        seeds.insert(format!("stream/{name}"), seed);
    }
}
