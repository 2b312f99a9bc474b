//! The text and JSON output of every sample.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{gamewire, samples, without_other_rules};
use captures::samples::all;
use serde_json::Value;

fn stem(sample: &Path) -> String {
    sample.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Whether standard error is empty, except for the sample without supported protocols.
fn said_nothing_amiss(err: &str) -> bool {
    let holds = "4 packets, none of a supported protocol; UDP ports 53, 27960\n";
    err.is_empty() || err.ends_with(&format!("samples/silence-others.pcap: {holds}"))
}

/// The first lines of a long text.
fn head(text: &str) -> String {
    const MOST: usize = 64 << 10;
    const HEAD: usize = 20;
    if text.len() <= MOST {
        return text.to_owned();
    }
    let count = text.lines().count();
    let head = text.lines().take(HEAD).map(|line| format!("{line}\n"));
    String::from_iter(head) + &format!("... {} more lines\n", count - HEAD)
}

#[test]
fn lines() {
    for sample in samples() {
        let run = gamewire([Path::new("dissect").as_os_str(), sample.as_os_str()]);
        assert!(run.code == 0 && said_nothing_amiss(&run.err), "{}: {}", sample.display(), run.err);
        insta::assert_snapshot!(format!("lines-{}", stem(&sample)), head(&run.out));
    }
}

#[test]
fn json() {
    for sample in samples() {
        let args = ["dissect", "--format", "json", &sample.to_string_lossy()].map(str::to_owned);
        let run = gamewire(args);
        assert_eq!(run.code, 0);
        let keys = [
            "frame",
            "frames",
            "time",
            "flow",
            "transport",
            "src",
            "dst",
            "protocol",
            "message",
            "fields",
            "findings",
        ];
        for line in run.out.lines() {
            let message: Value = serde_json::from_str(line).expect("a JSON object a line");
            let object = message.as_object().expect("an object");
            for key in keys {
                assert!(object.contains_key(key), "{key} in {line}");
            }
        }
        insta::assert_snapshot!(format!("json-{}", stem(&sample)), head(&run.out));
    }
}

#[test]
fn check() {
    for sample in samples() {
        let run = gamewire([Path::new("check").as_os_str(), sample.as_os_str()]);
        assert!(run.code < 2 && said_nothing_amiss(&run.err), "{}: {}", sample.display(), run.err);
        let folder = format!("{}/", env!("CARGO_MANIFEST_DIR"));
        let text = without_other_rules(&run.out.replace(&folder, ""));
        insta::assert_snapshot!(format!("check-{}", stem(&sample)), text);
    }
}

/// A new rule changes only snapshots of captures that exercise it.
#[test]
fn snapshots_do_not_count_rules_that_were_not_exercised() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    for file in std::fs::read_dir(folder).expect("snapshots") {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let mut before = text.split(" were not exercised").collect::<Vec<_>>();
        before.pop();
        let counts = before.iter().any(|text| text.ends_with(|c: char| c.is_ascii_digit()));
        assert!(!counts, "{}", path.display());
    }
}

/// A sample has findings of error or warning severity if, and only if, its line in the list mentions faults.
#[test]
fn faults_are_where_the_list_says_so() {
    for path in samples() {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let sample = all().find(|sample| sample.name == name).expect("a sample");
        let args = ["check", "--format", "json", &path.to_string_lossy()].map(str::to_owned);
        let outcome: Value = serde_json::from_str(&gamewire(args).out).expect("JSON");
        let findings = outcome["findings"].as_array().expect("findings").iter();
        let grave: Vec<_> = findings.filter(|finding| finding["severity"] != "note").collect();
        assert_eq!(!grave.is_empty(), sample.holds_faults(), "{name}: {grave:#?}");
    }
}

/// Every byte of a message belongs to exactly one leaf.
#[test]
fn leaves_cover_every_byte_once() {
    for sample in samples() {
        let path = sample.to_string_lossy().into_owned();
        let run = gamewire(["dissect", "--format", "json", "--tree", &path]);
        for line in run.out.lines() {
            let message: Value = serde_json::from_str(line).expect("JSON");
            let mut leaves = BTreeSet::new();
            for node in message["tree"].as_array().expect("a tree") {
                collect(node, &mut leaves);
            }
            let mut at = 0;
            for (offset, length) in leaves {
                assert_eq!(offset, at, "{path}: {line}");
                at = offset + length;
            }
            assert!(at > 0, "{path}: a message without bytes");
        }
    }
}

fn collect(node: &Value, leaves: &mut BTreeSet<(u64, u64)>) {
    let number = |key: &str| node[key].as_u64().expect("a number");
    match node["children"].as_array() {
        Some(children) if !children.is_empty() => {
            children.iter().for_each(|child| collect(child, leaves));
        }
        _ if number("length") > 0 => {
            assert!(leaves.insert((number("offset"), number("length"))), "one leaf a byte");
        }
        _ => {}
    }
}

#[test]
fn tree_and_bytes_of_one_response() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/a2s-documents-examples.pcap");
    let path = sample.to_string_lossy().into_owned();
    insta::assert_snapshot!("tree", gamewire(["dissect", "-v", &path]).out);
    insta::assert_snapshot!("bytes", gamewire(["dissect", "-x", &path]).out);
    insta::assert_snapshot!("colours", gamewire(["dissect", "-vx", "--color=always", &path]).out);
}

#[test]
fn flows() {
    // A relative path, because it is in the output.
    let path = "samples/a2s-split-order.pcap";
    insta::assert_snapshot!("flows-text", gamewire(["flows", path]).out);
    insta::assert_snapshot!("flows-json", gamewire(["flows", "--format", "json", path]).out);
    insta::assert_snapshot!("flows-csv", gamewire(["flows", "--format", "csv", path]).out);
}
