//! The library's events agree with the program's output.

use std::path::Path;

use crate::support::{gamewire, samples};
use gamewire::flows::FindingCounts;
use gamewire::{
    Decoder, Event, FieldLimits, Findings, Messages, Needs, Options, Passes, Value, capture,
};
use serde_json::Value as Json;

/// Calls `read` with every event of a capture.
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

/// The value in JSON, if it has the same form there.
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
fn an_absent_field_has_no_value() {
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

/// All that is needed of messages and rules, as different readers need it.
fn different_needs() -> Vec<Needs> {
    let all = Findings::All { in_words: true };
    let with_fields = Needs::messages_with_fields();
    let mut needs = vec![
        Needs::default(),
        with_fields,
        Needs { messages: Messages::All, ..Needs::default() },
        Needs {
            messages: Messages::WithFindings,
            findings: Findings::OfMessages,
            ..Needs::default()
        },
        Needs {
            findings: all,
            passes: Passes::All,
            cross_flow: true,
            traffic: Some(1000),
            ..Needs::default()
        },
        Needs {
            findings: Findings::All { in_words: false },
            refusals: true,
            icmp: true,
            ..Needs::default()
        },
        Needs { fields: Some(FieldLimits::of_servers()), servers: true, ..with_fields },
        Needs {
            fields: Some(FieldLimits { fields: 3, depth: 1, ..FieldLimits::default() }),
            ..with_fields
        },
        Needs {
            findings: all,
            passes: Passes::All,
            files: true,
            ports: true,
            hosts: true,
            ..with_fields
        },
    ];
    needs.iter_mut().for_each(|it| (it.flows, it.flow_details) = (true, true));
    needs
}

/// The counts of a flow do not depend on the needs, nor on the messages that a filter selects.
#[test]
fn counts_of_flows_do_not_depend_on_what_is_needed() {
    let [mut messages, mut findings, mut requests] = [0; 3];
    for file in samples() {
        let rows = |needs: Needs, filter: Option<&str>| {
            let filter = filter.map(|filter| filter.parse().expect("a filter"));
            let decoder = Decoder::new(Options { needs, filter, ..Options::default() });
            let (mut rows, mut packets) = (Vec::new(), capture::open(&file).expect("a capture"));
            let totals = decoder.read(&mut *packets, |event| {
                if let Event::FlowEnded(row) = event {
                    rows.push((*row).clone());
                }
            });
            let found = rows.iter().map(|row| row.findings.certain()).sum::<u64>();
            // Those that other flows may explain are events of their own, if these are needed.
            rows.iter_mut().for_each(|row| row.findings = FindingCounts::default());
            ((rows, totals.packets, totals.flows), found)
        };
        let all = different_needs();
        let (expected, found) = rows(all[0], None);
        findings += found;
        for needs in all {
            for filter in
                [None, Some("frame.number > 5"), Some("a2s.info_response"), Some("not udp")]
            {
                let (found, _) = rows(needs, filter);
                assert!(found == expected, "{}: {needs:?}, {filter:?}: {found:#?}", file.display());
            }
        }
        for row in expected.0 {
            messages += row.messages.iter().sum::<u64>();
            requests += row.exchanges.asked;
        }
    }
    assert!(messages > 500 && findings > 100 && requests > 100, "{messages} {findings} {requests}");
}
