//! Runs gamewire inside the test process.
#![allow(dead_code, reason = "not every test program uses every helper")]

pub(crate) mod axe;
pub(crate) mod browser;
pub(crate) mod canary;
pub(crate) mod diagnosis;
pub(crate) mod examples;
pub(crate) mod exchanges;
pub(crate) mod player;
pub(crate) mod project;
pub(crate) mod recording;
pub(crate) mod screen;
pub(crate) mod sides;
pub(crate) mod skip;
pub(crate) mod terminal;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gamewire::Terminal;

/// The result of a run.
pub(crate) struct Run {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command line without terminals.
pub(crate) fn gamewire<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once(OsString::from("gamewire")).chain(args.into_iter().map(Into::into));
    let code = gamewire::run(args, &mut out, &mut err, Terminal::default());
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Run { code, out: text(out), err: text(err) }
}

/// The text without the number of rules that were not exercised: a new rule must not change each snapshot.
pub(crate) fn without_other_rules(text: &str) -> String {
    let Some((before, after)) = text.split_once(" were not exercised") else {
        return text.to_owned();
    };
    let passed = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
    format!("{passed}others were not exercised{after}")
}

/// The sample captures, in the order of their names.
pub(crate) fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let files = std::fs::read_dir(folder).expect("samples/ is there");
    let mut files: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
    files.retain(|file| {
        matches!(file.extension().and_then(|e| e.to_str()), Some("pcap" | "pcapng"))
    });
    files.sort();
    assert!(files.len() > 10, "samples/ holds captures");
    files
}

/// Captures of real programs, sorted by name, from a folder next to the checkout or in `GAMEWIRE_CAPTURES`.
pub(crate) fn captures(folder: &str) -> Option<Vec<PathBuf>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures");
    let root = std::env::var_os("GAMEWIRE_CAPTURES").map_or_else(beside, PathBuf::from);
    let mut files = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).ok()?.flatten() {
            let path = file.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("pcap" | "pcapng" | "cap") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Some(files)
}

/// The captures of reports, in order; without any, the test is skipped.
pub(crate) fn captures_of_reports() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reports");
    let Ok(found) = std::fs::read_dir(folder) else {
        skip::skipped("captures", "no captures of reports are here");
        return None;
    };
    let mut files: Vec<_> = found.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "pcap"));
    files.sort();
    Some(files)
}

/// Recorded captures that are read quickly; without any, the test is skipped.
pub(crate) fn small_recorded_captures() -> Option<Vec<PathBuf>> {
    let Some(mut files) = captures("recorded") else {
        skip::skipped("captures", "no recorded captures are here");
        return None;
    };
    files.retain(|file| file.metadata().is_ok_and(|it| it.len() < 4 << 20));
    assert!(!files.is_empty(), "there are recorded captures");
    Some(files)
}
