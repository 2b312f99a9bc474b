//! What a display filter selects is what is shown without one, to the byte: what is left out of the
//! messages that it rules out early changes nothing of the others.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::Value;
use support::{gamewire, samples, small_recorded_captures};
use xtask::bulk::{self, Input, Size};

/// Of each capture, addresses and ends that are filtered by.
const ENDS: usize = 6;

/// What `dissect` writes of the messages that pass.
fn messages(capture: &Path, options: &[&str]) -> Vec<String> {
    let command = ["dissect", "--format", "json", "--no-config", "--threads", "1"];
    let capture = capture.to_string_lossy();
    let run = gamewire(command.iter().chain(options).copied().chain([&*capture]));
    assert!(run.code < 2, "{options:?} on {capture}: {}", run.err);
    run.out.lines().filter(|line| line.contains("\"message\":")).map(str::to_owned).collect()
}

/// Whether a message passes: asked of what was written of it.
type Passes<'f> = Box<dyn Fn(&Value) -> bool + 'f>;

/// Filters that select something of these messages.
fn filters(all: &[Value]) -> Vec<(String, Passes<'static>)> {
    let texts =
        |key: &'static str| all.iter().filter_map(move |it| Some(it[key].as_str()?.to_owned()));
    let host = |end: &str| end.rsplit_once(':').unwrap().0.trim_matches(['[', ']']).to_owned();
    let ends: BTreeSet<String> = texts("src").collect();
    let hosts: BTreeSet<String> = ends.iter().map(|end| host(end)).collect();
    let kinds: BTreeSet<[String; 2]> = texts("protocol")
        .zip(texts("message"))
        .map(|(protocol, message)| [protocol, message])
        .collect();
    let mut filters: Vec<(String, Passes<'static>)> = Vec::new();
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

/// Returns how many messages were selected in all.
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
fn of_samples_a_filter_selects_what_is_shown_without_it() {
    let selected: usize = samples().iter().map(|sample| is_selected_alike(sample)).sum();
    assert!(selected > 10_000, "{selected}");
}

#[test]
fn of_recorded_captures_a_filter_selects_what_is_shown_without_it() {
    for capture in small_recorded_captures().unwrap_or_default() {
        is_selected_alike(&capture);
    }
}

#[test]
fn of_many_conversations_a_filter_selects_what_is_shown_without_it() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("filtered-a2s.pcap");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    bulk::write(Input::A2s, Size::Packets(4000), &mut file).unwrap();
    file.flush().unwrap();
    assert!(is_selected_alike(&path) > 2000);
}
