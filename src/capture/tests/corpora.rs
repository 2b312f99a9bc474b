//! Captures of public test suites, many malformed on purpose, if they are next to the checkout.
//! They are not part of the project; without them this test prints a note and does nothing.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../tests/support/skip.rs"]
mod skip;

use skip::skipped;

use super::{drain, forget_path, open, streamed};

fn files() -> Option<Vec<PathBuf>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures");
    let root = std::env::var_os("GAMEWIRE_CAPTURES").map_or_else(beside, PathBuf::from);
    let (mut files, mut folders) = (Vec::new(), vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    Some(files)
}

#[test]
fn every_file_is_read_to_its_end_or_refused() {
    let Some(files) = files() else {
        skipped("captures", "no captures are beside the checkout");
        return;
    };
    let mut packets = 0;
    for path in files {
        let bytes = fs::read(&path).expect("the file");
        match open(&path) {
            Ok(capture) => {
                let mut all = drain(capture, bytes.len());
                all.notices.iter_mut().for_each(forget_path);
                packets += all.packets.len();
                let other = streamed(&bytes, &[1, 4_096, 13]).expect("a capture");
                assert!(other == all, "{}: read differently from a stream", path.display());
            }
            Err(error) => {
                let error = error.to_string();
                assert!(!error.contains('\n') && !error.is_empty(), "{error}");
                let capture = path.extension().is_some_and(|ext| ext == "pcap" || ext == "pcapng");
                let is_old = path.to_string_lossy().contains("invalid-ver");
                assert!(!capture || is_old, "{error}");
            }
        }
    }
    assert!(packets > 0, "captures were read");
}
