//! `gamewire flows`: traffic of each direction, requests and responses, and sort order.

mod support;

use std::path::PathBuf;

use captures::exchange::{Setting, capture};
use serde_json::{Value, json};
use support::{Run, gamewire};

/// Two requests, one of which is answered after a challenge.
const HALF_ANSWERED: &str = "
    0.00 c > s  FFFFFFFF 55 FFFFFFFF
    0.02 s > c  FFFFFFFF 41 4BA1D522
    0.03 c > s  FFFFFFFF 55 4BA1D522
    0.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 00000000 f32:1.5
    9.00 c > s  FFFFFFFF 55 4BA1D522
    end 30";

fn flows(name: &str, script: &str, args: &[&str]) -> Run {
    let file = format!("gamewire-flows-{}-{name}.pcap", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(file);
    let capture = capture(script, &Setting::udp(27015)).expect("a good script");
    std::fs::write(&path, capture.pcap()).expect("a writable folder");
    let words = ["flows"].iter().chain(args).map(|word| (*word).to_owned());
    let run = gamewire(words.chain([path.to_string_lossy().into_owned()]));
    std::fs::remove_file(&path).ok();
    run
}

#[test]
fn a_flow_has_counts_of_each_end_and_of_requests() {
    let run = flows("half", HALF_ANSWERED, &["--format", "json"]);
    let row: Value = serde_json::from_str(&run.out).expect("one object");
    for (name, value) in [
        ("role_a", json!("client")),
        ("role_b", json!("server")),
        ("packets", json!(5)),
        ("packets_a", json!(3)),
        ("packets_b", json!(2)),
        ("messages_a", json!(3)),
        ("messages_b", json!(2)),
        ("bytes_a", json!(27)),
        ("duration", json!(9.0)),
        ("answered", json!(2)),
        ("requests", json!(3)),
        ("response_time_p50", json!(0.02)),
        ("response_time_max", json!(0.02)),
    ] {
        assert_eq!(row[name], value, "{name}: {}", run.out);
    }
}

#[test]
fn a_master_is_not_a_server() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/valve-master-list.pcap");
    let out = gamewire(["flows", &path.to_string_lossy()]).out;
    assert!(out.lines().nth(1).is_some_and(|row| row.contains(" (master) ")), "{out}");
}

fn sample_rows(args: &[&str]) -> Vec<u64> {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/a2s-split-order.pcap");
    let words = ["flows", "--format", "json"].iter().chain(args).map(|word| (*word).to_owned());
    let run = gamewire(words.chain([path.to_string_lossy().into_owned()]));
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
    let rows = run.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.filter_map(|row| row["flow"].as_u64()).collect()
}

#[test]
fn flows_are_sorted_by_any_column() {
    assert_eq!(sample_rows(&[]), [1, 2, 3, 4]);
    assert_eq!(sample_rows(&["--reverse"]), [4, 3, 2, 1]);
    assert_eq!(sample_rows(&["--sort", "packets"]), [3, 2, 1, 4]);
    assert_eq!(sample_rows(&["--sort", "packets", "--reverse"]), [4, 1, 2, 3]);
    assert_eq!(sample_rows(&["--sort", "a"]), [1, 4, 2, 3]);
    assert_eq!(sample_rows(&["--top", "2"]), [3, 2], "by bytes");
    assert_eq!(sample_rows(&["--top", "1", "--sort", "first"]), [1]);
}

#[test]
fn an_unknown_column_is_an_error() {
    let run = flows("none", HALF_ANSWERED, &["--sort", "colour"]);
    assert!(run.code == 2 && run.err.contains("colour"), "{}", run.err);
}
