//! The library's events say what the program writes.

mod support;

use std::path::Path;

use gamewire::{Decoder, Event, Needs, Options, Value, capture};
use serde_json::Value as Json;
use support::{gamewire, samples};

/// Hands every event of a capture to `read`.
fn each_event(file: &Path, needs: Needs, read: impl FnMut(&Event<'_>)) {
    let mut packets = capture::open(file).expect("a capture");
    let decoder = Decoder::new(Options { needs, ..Options::default() });
    decoder.read(&mut *packets, read);
}

/// The values in `fields` of JSON, each with its path.
fn flatten(json: &Json, path: &str, values: &mut Vec<(String, String)>) {
    match json {
        Json::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(value, &path, values);
            }
        }
        Json::Array(elements) => elements.iter().for_each(|it| flatten(it, path, values)),
        Json::String(text) => values.push((path.to_owned(), text.clone())),
        other => values.push((path.to_owned(), other.to_string())),
    }
}

/// As JSON has it, for values that look alike there.
fn written(value: &Value<'_>) -> Option<String> {
    match value {
        // JSON writes floats, texts that are not UTF-8, and odd characters in its own way.
        Value::Float(_) => None,
        Value::Text(text) => std::str::from_utf8(text).ok().map(str::to_owned),
        value => Some(value.to_string()),
    }
}

#[test]
fn every_field_in_json_has_a_path() {
    let mut compared = 0;
    for file in samples() {
        let run = gamewire(["dissect", "--format", "json", &file.to_string_lossy()]);
        let lines = run.out.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
        let mut lines = lines.collect::<Vec<_>>().into_iter();
        each_event(&file, Needs::messages_with_fields(), |event| {
            let Event::Message(message) = event else { return };
            let line = lines.next().expect("a line for each message");
            let name = format!("{}.{}", line["protocol"], line["message"]).replace('"', "");
            assert_eq!(message.path(), name);
            let unlisted = message.tree().and_then(|tree| message.message().unlisted(&tree));
            assert_eq!(unlisted, None, "a field that {name} does not list");
            let mut expected = Vec::new();
            flatten(&line["fields"], "", &mut expected);
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            for values in expected.chunk_by(|a, b| a.0 == b.0) {
                let path = &values[0].0;
                let found = message.values(path);
                assert_eq!(found.len(), values.len(), "{} {name} {path}", file.display());
                for ((_, json), value) in values.iter().zip(&found) {
                    if let Some(value) = written(value).filter(|_| json != "null") {
                        assert_eq!(&value, json, "{} {name} {path}", file.display());
                        compared += 1;
                    }
                }
            }
        });
        assert!(lines.next().is_none(), "{}", file.display());
    }
    assert!(compared > 2000, "{compared}");
}

#[test]
fn a_field_that_is_not_there_has_no_value() {
    let file = Path::new("samples/a2s-info-players-rules.pcap");
    let (mut names, mut without_fields) = (Vec::new(), 0);
    each_event(file, Needs::messages_with_fields(), |event| {
        let Event::Message(message) = event else { return };
        assert_eq!(message.field("no_such_field"), None);
        assert_eq!(message.field(""), None);
        names.extend(message.values("players.name").iter().map(Value::to_string));
    });
    assert_eq!(names.len(), 3, "{names:?}");
    let needs = Needs { fields: None, ..Needs::messages_with_fields() };
    each_event(file, needs, |event| {
        let Event::Message(message) = event else { return };
        assert!(message.tree().is_none() && message.field("map").is_none());
        without_fields += 1;
    });
    assert!(without_fields > 0);
}
