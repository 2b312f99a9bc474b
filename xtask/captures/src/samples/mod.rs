//! The sample captures, and how they are written to `samples/`.
//!
//! Each protocol has a file in this folder with a list of [`Sample`]s, and one line in `PROTOCOLS`.
//! Conversations that are readable as text are in `<sample>.txt` as [exchange scripts](crate::exchange), with
//! `{name}` for parts that code generates.

pub(crate) mod a2s;
mod abuse;
mod acr_master;
mod diagnose;
mod gamespy1;
mod gamespy4;
mod near;
mod silence;
mod valve_master;

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use crate::bytes::hex;
use crate::exchange::{self, Setting};
use crate::traffic::Conversation;
use crate::wire::{Capture, PcapNg, TimedPacket};

/// The report that `xtask report` makes of all samples.
pub const REPORT: &str = "report.html";

/// The folder in it with exchanges of some samples as JSON; gamewire writes it.
pub const VECTORS: &str = "vectors";

const PROTOCOLS: &[(&str, &[Sample])] = &[
    ("Server queries (A2S)", a2s::SAMPLES),
    ("Master Server Query Protocol", valve_master::SAMPLES),
    ("UT3 query protocol (GameSpy 4)", gamespy4::SAMPLES),
    ("333networks MasterServer (GameSpy text protocol)", gamespy1::SAMPLES),
    ("AssaultCube Reloaded master server", acr_master::SAMPLES),
    ("Silence, copies and strangers", silence::SAMPLES),
    ("Near protocols, and exceptions", near::SAMPLES),
    ("Servers that players do not see", diagnose::SAMPLES),
    ("Abuse", abuse::SAMPLES),
];

/// A file of `samples/`.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The file's name.
    pub name: &'static str,
    /// Its content in one line.
    pub shows: &'static str,
    /// Makes it, the same every time.
    pub make: fn() -> Vec<u8>,
}

impl Sample {
    /// Whether its line mentions faults; all others conform to the specifications.
    pub fn holds_faults(&self) -> bool {
        self.shows.contains("fault")
    }
}

/// All samples.
pub fn all() -> impl Iterator<Item = &'static Sample> {
    PROTOCOLS.iter().flat_map(|(_, samples)| *samples)
}

/// The conversations of samples without faults that are scripts.
pub fn conversations() -> Vec<Conversation> {
    let protocols = [
        a2s::conversations(),
        valve_master::conversations(),
        gamespy4::conversations(),
        gamespy1::conversations(),
        acr_master::conversations(),
        silence::conversations(),
        diagnose::conversations(),
    ];
    let named = |(script, setting): (String, Setting)| {
        let name = script.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Conversation { name: name.to_owned(), script, setting }
    };
    protocols.into_iter().flatten().map(named).collect()
}

/// Writes all files that have changed into the folder; returns their names.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path) -> io::Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let mut written = Vec::new();
    for (name, bytes) in files() {
        let path = folder.join(&name);
        if fs::read(&path).ok().as_ref() != Some(&bytes) {
            fs::write(&path, bytes)?;
            written.push(name);
        }
    }
    Ok(written)
}

/// Compares the folder with the samples; returns a line for each file that differs.
///
/// # Errors
/// If the folder cannot be read.
pub fn check(folder: &Path) -> io::Result<Vec<String>> {
    let files = files();
    let mut wrong = Vec::new();
    for (name, bytes) in &files {
        match fs::read(folder.join(name)) {
            Ok(found) if found == *bytes => {}
            Ok(_) => wrong.push(format!("{name} differs")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                wrong.push(format!("{name} is missing"));
            }
            Err(error) => return Err(error),
        }
    }
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !files.contains_key(&name) && ![REPORT, VECTORS].contains(&&*name) {
            wrong.push(format!("{name} belongs to no sample"));
        }
    }
    wrong.sort();
    Ok(wrong)
}

/// The files of the folder: names and bytes.
fn files() -> BTreeMap<String, Vec<u8>> {
    let captures = all().map(|sample| (sample.name.to_owned(), (sample.make)()));
    captures.chain([("README.md".to_owned(), readme().into_bytes())]).collect()
}

fn readme() -> String {
    let mut text = String::from(
        "# Sample captures\n\n\
         `cargo run -p xtask -- samples` generates these files reproducibly; do not edit them by hand.\n\
         `cargo run -p xtask -- samples --check` compares them. The conversations are in\n\
         `xtask/captures/src/samples/`. `vectors/` has exchanges of some of them as JSON, for tests of\n\
         parsers: docs/vectors.md.\n",
    );
    for (protocol, samples) in PROTOCOLS {
        text += &format!("\n## {protocol}\n\n| file | content |\n|---|---|\n");
        for sample in *samples {
            text += &format!("| `{}` | {} |\n", sample.name, sample.shows);
        }
    }
    text
}

/// A script with its `{name}`s replaced.
fn fill(script: &str, parts: &[(&str, Vec<u8>)]) -> String {
    let fill = |script: String, (name, bytes): &(&str, Vec<u8>)| {
        let place = format!("{{{name}}}");
        assert!(script.contains(&place), "the script has no place for {place}");
        script.replace(&place, &hex(bytes))
    };
    parts.iter().fold(script.to_owned(), fill)
}

/// The capture of a script with its `{name}`s replaced.
fn play(script: &str, setting: &Setting, parts: &[(&str, Vec<u8>)]) -> Capture {
    exchange::capture(&fill(script, parts), setting)
        .unwrap_or_else(|error| panic!("a sample's script: {error}"))
}

/// Records the packets of an interface, and statistics without drops.
fn record(file: &mut PcapNg, interface: u32, packets: &[TimedPacket]) {
    for packet in packets {
        file.enhanced(interface, packet);
    }
    if let Some(last) = packets.last() {
        file.statistics(interface, last.time, packets.len() as u64, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum size of a sample in bytes; floods may be larger.
    const LIMIT: usize = 64 * 1024;
    const FLOOD: (&str, usize) = ("abuse-query-flood.pcap", 600_000);

    #[test]
    fn the_folder_is_up_to_date() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples");
        let wrong = check(&folder).unwrap();
        assert!(wrong.is_empty(), "run `cargo run -p xtask -- samples`: {wrong:#?}");
    }

    #[test]
    fn samples_are_small_and_reported_apart() {
        let files = files();
        assert_eq!(files.len(), all().count() + 1, "two samples have one name");
        for (name, bytes) in files {
            let limit = if name == FLOOD.0 { FLOOD.1 } else { LIMIT };
            assert!(bytes.len() < limit, "{name} weighs {} bytes", bytes.len());
        }
    }

    #[test]
    fn every_difference_is_found() {
        let folder = std::env::temp_dir().join(format!("xtask-samples-{}", std::process::id()));
        assert!(!write(&folder).unwrap().is_empty());
        assert_eq!(write(&folder).unwrap(), Vec::<String>::new());
        assert_eq!(check(&folder).unwrap(), Vec::<String>::new());

        let mut names = all().map(|sample| sample.name);
        let (first, second) = (names.next().unwrap(), names.next().unwrap());
        fs::write(folder.join(first), b"other").unwrap();
        fs::remove_file(folder.join(second)).unwrap();
        fs::write(folder.join("stray.pcap"), b"").unwrap();
        let mut expected = [
            format!("{first} differs"),
            format!("{second} is missing"),
            "stray.pcap belongs to no sample".to_owned(),
        ];
        expected.sort();
        assert_eq!(check(&folder).unwrap(), expected);
        fs::remove_dir_all(folder).unwrap();
    }
}
