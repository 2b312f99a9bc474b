//! Runs gamewire inside the test process.
#![allow(dead_code, reason = "not every test file uses every helper")]

pub(crate) mod skip;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gamewire::Terminal;

/// What a run came to.
pub(crate) struct Run {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command line as the shell would, neither stream a terminal.
pub(crate) fn gamewire<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once(OsString::from("gamewire")).chain(args.into_iter().map(Into::into));
    let code = gamewire::run(args, &mut out, &mut err, Terminal::default());
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Run { code, out: text(out), err: text(err) }
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
