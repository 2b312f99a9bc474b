//! The program: a capture of any bytes in every command and format.

use std::ffi::OsString;
use std::path::Path;

use gamewire::Terminal;
use gamewire::text::is_hidden;
use serde_json::Value;

use crate::scratch::with_file;

/// Every command that reads captures, in each of its formats.
const COMMANDS: &[&[&str]] = &[
    &["dissect", "-v", "-x"],
    &["check", "--verify-checksums"],
    &["check", "--format", "junit"],
    &["check", "--format", "sarif"],
    &["check", "--format", "github", "--complete"],
    &["flows"],
    &["flows", "--format", "json"],
    &["summary"],
    &["summary", "--format", "json"],
    &["abuse"],
    &["abuse", "--format", "json"],
    &["diagnose"],
    &["diagnose", "--complete", "--format", "json"],
    &["follow"],
    &["scrub", "--key", "a key", "-o", "/dev/null"],
    &["follow", "--format", "json"],
    &["dissect", "--fields", "frame,src,message,map,players,rule", "--format", "ndjson"],
];

/// Checks guarantees for all captures, with one thread and with several.
pub(crate) fn run(bytes: &[u8]) {
    with_file(bytes, |path| {
        let dissected = gamewire(path, &["dissect", "--format", "json", "--tree"]);
        let many = ["dissect", "--format", "json", "--tree", "--threads", "3"];
        assert_eq!(dissected, gamewire(path, &many), "the same capture has the same output");
        let checked = gamewire(path, &["check", "--format", "json"]);
        let many = gamewire(path, &["check", "--format", "json", "--threads", "2"]);
        assert_eq!(checked, many, "the same capture is checked the same");
        if checked.code == 2 {
            assert_eq!(dissected.code, 2, "only one of them reads it");
            return;
        }
        let report: Value = serde_json::from_str(&checked.out).expect("check writes JSON");
        let packets = report["packets"].as_u64().expect("a number of packets");
        frames(&report["findings"], packets);
        for line in dissected.out.lines() {
            let message: Value = serde_json::from_str(line).expect("dissect writes JSON");
            let frame = message["frame"].as_u64().expect("a frame");
            assert!((1..=packets).contains(&frame));
            numbers(&message["frames"], packets);
            covers(&message["tree"], line);
        }
        // Only one of the others, selected by the input, to run more inputs.
        let sum: usize = bytes.iter().map(|&byte| usize::from(byte)).sum();
        if let Some(command) = COMMANDS.get(sum % COMMANDS.len()) {
            shown(&gamewire(path, command).out);
        }
        table(&gamewire(path, &["flows", "--format", "csv"]).out);
    });
}

#[derive(Debug, PartialEq, Eq)]
struct Ran {
    code: u8,
    out: String,
}

fn gamewire(path: &Path, args: &[&str]) -> Ran {
    let args = std::iter::once(OsString::from("gamewire")).chain(args.iter().map(OsString::from));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = args.chain(["--no-config".into(), path.into()]);
    let code = gamewire::run(args, &mut out, &mut err, Terminal::default());
    let (out, err) = (text(out), text(err));
    assert!(code < 3);
    let is_error = |line: &str| {
        let notices = ["gamewire: warning: ", "gamewire: note: ", "gamewire: wrote "];
        !notices.iter().any(|notice| line.starts_with(notice))
    };
    assert_eq!(code == 2, err.lines().any(is_error), "{err}");
    shown(&err);
    Ran { code, out }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("output is UTF-8")
}

/// A text contains no control characters, except for line ends.
fn shown(text: &str) {
    let hidden = text.split('\n').flat_map(str::chars).find(|&c| is_hidden(c));
    assert_eq!(hidden, None, "a terminal would obey it");
}

fn frames(findings: &Value, packets: u64) {
    for finding in findings.as_array().expect("a list of findings") {
        numbers(&finding["frames"], packets);
    }
}

fn numbers(frames: &Value, packets: u64) {
    for frame in frames.as_array().expect("a list of frames") {
        let frame = frame.as_u64().expect("a number");
        assert!((1..=packets).contains(&frame), "there is no packet {frame}");
    }
}

/// The leaves of a tree have no gaps and do not overlap.
fn covers(tree: &Value, line: &str) {
    let mut leaves = Vec::new();
    collect(tree, &mut leaves);
    leaves.sort_unstable();
    let mut next = 0;
    for (offset, length) in leaves {
        assert_eq!(offset, next, "a hole or an overlap: {line}");
        next += length;
    }
}

fn collect(nodes: &Value, leaves: &mut Vec<(u64, u64)>) {
    for node in nodes.as_array().expect("a list of nodes") {
        let number = |key: &str| node[key].as_u64().expect("a number");
        if node["children"].is_array() {
            collect(&node["children"], leaves);
        } else if number("length") > 0 {
            leaves.push((number("offset"), number("length")));
        }
    }
}

/// No cell of a table starts a formula.
fn table(csv: &str) {
    for line in csv.split_terminator("\r\n") {
        assert!(!line.contains(is_hidden), "a terminal would obey it");
        for cell in line.split(',') {
            let cell = cell.strip_prefix('"').unwrap_or(cell);
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "a formula: {cell}");
        }
    }
}
