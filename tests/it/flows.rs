//! `gamewire flows`: traffic of each direction, requests and responses, and sort order.

use std::path::PathBuf;

use crate::support::{Run, gamewire};
use captures::exchange::{Setting, capture};
use serde_json::{Value, json};

/// Two requests, one of which is answered after a challenge.
const HALF_ANSWERED: &str = "
    0.00 c > s  FFFFFFFF 55 FFFFFFFF
    0.02 s > c  FFFFFFFF 41 4BA1D522
    0.03 c > s  FFFFFFFF 55 4BA1D522
    0.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 00000000 f32:1.5
    9.00 c > s  FFFFFFFF 55 4BA1D522
    end 30";

fn flows(name: &str, script: &str, args: &[&str]) -> Run {
    played(name, script, "flows", args)
}

fn played(name: &str, script: &str, command: &str, args: &[&str]) -> Run {
    let file = format!("gamewire-flows-{}-{name}.pcap", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(file);
    let capture = capture(script, &Setting::udp(27015)).expect("a good script");
    std::fs::write(&path, capture.pcap()).expect("a writable folder");
    let words = [command].into_iter().chain(args.iter().copied()).map(str::to_owned);
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
        ("answered", json!(1)),
        ("requests", json!(2)),
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

/// `flows` and `summary` count exchanges: a challenge is not an answer, and a round of it not a request.
#[test]
fn answered_is_the_same_number_in_summary_and_in_any_format() {
    let with = |command: &str, args: &[&str]| {
        let run = played("same", HALF_ANSWERED, command, args);
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    let summary: Value = serde_json::from_str(&with("summary", &["--format", "json"])).unwrap();
    let numbers = |row: &Value, asked: &str| [row[asked].clone(), row["answered"].clone()];
    let expected = [json!(2), json!(1)];
    assert_eq!(numbers(&summary["servers"][0], "exchanges"), expected);
    let row: Value = serde_json::from_str(&with("flows", &["--format", "json"])).unwrap();
    assert_eq!(numbers(&row, "requests"), expected);
    // People see the same columns under the same headings.
    for text in [with("flows", &[]), with("summary", &["--table", "servers"])] {
        let (head, row) = text.split_once('\n').unwrap();
        let at = head.find("ASKED  ANSWERED  ").unwrap();
        assert!(row[at..].trim_start().starts_with("2    50.0 %"), "{text}");
    }
}

/// The columns of comma-separated values are those of the table that `export` writes.
#[test]
fn columns_are_those_of_export() {
    let folder = std::env::temp_dir().join(format!("gamewire-flows-{}-export", std::process::id()));
    let sample = "samples/a2s-quirks.pcap";
    let out = folder.to_string_lossy().into_owned();
    let run = gamewire(["export", "--no-config", "--format", "csv", "-o", &out, sample]);
    assert_eq!(run.code, 0, "{}", run.err);
    let names = |text: &str| {
        let header = text.lines().next().unwrap().to_owned();
        header.split(',').map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    for (table, command) in [
        ("flows", &["flows"][..]),
        ("servers", &["summary", "--table", "servers"]),
        ("masters", &["summary", "--table", "masters"]),
        ("clients", &["summary", "--table", "clients"]),
    ] {
        let words = [command, &["--no-config", "--format", "csv", sample]].concat();
        let shown = names(&gamewire(words).out);
        let file = std::fs::read_to_string(folder.join(format!("{table}.csv"))).unwrap();
        assert_eq!(shown, names(&file), "{table}");
    }
    std::fs::remove_dir_all(folder).ok();
}

#[test]
fn a_table_fits_its_terminal() {
    let flows = |terminal: usize| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let args = ["gamewire", "flows", "--no-config", "samples/a2s-quirks.pcap"];
        let terminal = gamewire::Terminal { columns: Some(terminal), ..Default::default() };
        gamewire::run(args.map(Into::into), &mut out, &mut err, terminal);
        String::from_utf8(out).unwrap()
    };
    let whole = flows(1000).lines().next().unwrap().len();
    for terminal in [80, 100, 120, 200] {
        let table = flows(terminal);
        assert!(table.lines().all(|line| line.len() <= terminal), "{terminal}:\n{table}");
        assert!(table.contains("SERVER") && table.contains("ANSWERED"), "{table}");
        let header = table.lines().next().unwrap();
        assert_eq!(header.contains("P95"), terminal >= whole, "{table}");
    }
}

#[test]
fn an_unknown_column_is_an_error() {
    let run = flows("none", HALF_ANSWERED, &["--sort", "colour"]);
    assert!(run.code == 2 && run.err.contains("colour"), "{}", run.err);
}
