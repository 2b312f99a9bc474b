//! Messages that a display filter selects have the same output as without a filter, to the byte: skipping
//! others early does not change them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::support::{gamewire, samples, small_recorded_captures};
use captures::bulk::{self, Input, Size};
use serde_json::Value;

/// Number of addresses and of endpoints of each capture to filter by.
const ENDS: usize = 6;

/// The output of `dissect` for the selected messages.
fn messages(capture: &Path, options: &[&str]) -> Vec<String> {
    let command = ["dissect", "--format", "json", "--no-config", "--threads", "1"];
    let capture = capture.to_string_lossy();
    let run = gamewire(command.iter().chain(options).copied().chain([&*capture]));
    assert!(run.code < 2, "{options:?} on {capture}: {}", run.err);
    run.out.lines().filter(|line| line.contains("\"message\":")).map(str::to_owned).collect()
}

/// Whether a message passes, by its output.
type PassedRule<'f> = Box<dyn Fn(&Value) -> bool + 'f>;

/// Filters that select some of these messages.
fn filters(all: &[Value]) -> Vec<(String, PassedRule<'static>)> {
    let texts =
        |key: &'static str| all.iter().filter_map(move |it| Some(it[key].as_str()?.to_owned()));
    let host = |end: &str| end.rsplit_once(':').unwrap().0.trim_matches(['[', ']']).to_owned();
    let ends: BTreeSet<String> = texts("src").collect();
    let hosts: BTreeSet<String> = ends.iter().map(|end| host(end)).collect();
    let kinds: BTreeSet<[String; 2]> = texts("protocol")
        .zip(texts("message"))
        .map(|(protocol, message)| [protocol, message])
        .collect();
    let mut filters: Vec<(String, PassedRule<'static>)> = Vec::new();
    for it in hosts.into_iter().take(ENDS) {
        let filter = format!("ip.addr == {it}");
        let is_at = move |message: &Value, key: &str| host(message[key].as_str().unwrap()) == it;
        filters.push((filter, Box::new(move |it| is_at(it, "src") || is_at(it, "dst"))));
    }
    for it in ends.into_iter().take(ENDS) {
        filters
            .push((format!("host == {it}"), Box::new(move |m| m["src"] == *it || m["dst"] == *it)));
    }
    for [protocol, message] in kinds {
        let filter = format!("{protocol}.{message}");
        filters.push((
            filter,
            Box::new(move |it| it["protocol"] == *protocol && it["message"] == *message),
        ));
    }
    let players = |it: &Value| it["fields"]["players"] == 3 && it["message"] == "info_response";
    filters.push(("a2s.info_response.players == 3".to_owned(), Box::new(players)));
    filters
}

/// Compares all filters of a capture. Returns the number of selected messages.
fn is_selected_alike(capture: &Path) -> usize {
    let all = messages(capture, &[]);
    let parsed: Vec<Value> = all.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut selected = 0;
    for (filter, passes) in filters(&parsed) {
        let expected: Vec<&String> =
            all.iter().zip(&parsed).filter(|(_, it)| passes(it)).map(|(line, _)| line).collect();
        selected += expected.len();
        let filtered = messages(capture, &["-Y", &filter]);
        let what = format!("{filter} on {}", capture.display());
        for (one, other) in filtered.iter().zip(&expected) {
            assert_eq!(one, *other, "{what}");
        }
        assert_eq!(filtered.len(), expected.len(), "{what}");
    }
    selected
}

#[test]
fn filters_do_not_change_messages_of_samples() {
    let selected: usize = samples().iter().map(|sample| is_selected_alike(sample)).sum();
    assert!(selected > 10_000, "{selected}");
}

#[test]
fn filters_do_not_change_messages_of_recorded_captures() {
    for capture in small_recorded_captures().unwrap_or_default() {
        is_selected_alike(&capture);
    }
}

#[test]
fn filters_do_not_change_messages_of_many_conversations() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("filtered-a2s.pcap");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    bulk::write(Input::A2s, Size::Packets(4000), &mut file).unwrap();
    file.flush().unwrap();
    assert!(is_selected_alike(&path) > 2000);
}
