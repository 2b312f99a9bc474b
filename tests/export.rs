//! `gamewire export`: compares each row of each table with the output of the other commands.
//! A program of its own, because it is built twice: with Parquet, and without.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use crate::support::project::Project;
use crate::support::{gamewire, samples};
use captures::wire::{Capture, Datagram, Link, START};
use dissectors::kit::NeededEvidence;
use gamewire::capture::{self, Packets};
use gamewire::catalogue;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

fn objects(lines: &str) -> Vec<Object> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The output of a command as JSON, line by line.
fn said(command: &str, args: &[&str]) -> Vec<Object> {
    let run = gamewire([command, "--no-config", "--format", "json"].iter().chain(args));
    assert!(run.code < 2, "{command} {args:?}: {}", run.err);
    objects(&run.out)
}

/// The tables of captures in one format.
struct Tables(BTreeMap<&'static str, Vec<Object>>);

impl Tables {
    fn of(project: &Project, format: &str, args: &[&str]) -> Tables {
        let folder = project.path("out");
        let words = ["export", "--no-config", "--format", format, "-o", &folder];
        let run = gamewire(words.iter().chain(args));
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
        let read = |table: &'static str| {
            let file = Path::new(&folder).join(format!("{table}.{format}"));
            (table, if format == "parquet" { parquet(&file) } else { ndjson(&file) })
        };
        let all = ["messages", "flows", "findings", "servers", "masters", "clients", "verdicts"];
        Tables(all.map(read).into())
    }

    fn rows(&self, table: &str) -> &[Object] {
        &self.0[table]
    }
}

fn ndjson(file: &Path) -> Vec<Object> {
    objects(&std::fs::read_to_string(file).unwrap())
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Path) -> Vec<Object> {
    unreachable!("not requested")
}

/// The rows of a Parquet file: times as text and JSON as values, as in NDJSON.
#[cfg(feature = "parquet")]
fn parquet(file: &Path) -> Vec<Object> {
    use arrow_array::RecordBatch;
    use gamewire::tables::{Kind, Table};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let file_ = std::fs::File::open(file).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file_).unwrap();
    let table = Table::named(file.file_stem().unwrap().to_str().unwrap()).unwrap();
    assert_eq!(reader.schema().fields(), table.schema().fields());
    assert_eq!(reader.schema().metadata(), table.schema().metadata());
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
    rows.map(|(batch, row)| {
        let columns = table.columns().into_iter().zip(batch.columns());
        let cell = |(heading, column): (gamewire::tables::Heading, &arrow_array::ArrayRef)| {
            let value = value(column, row);
            let value = match (heading.kind, &value) {
                (Kind::Json | Kind::Counts, Value::String(text)) => {
                    serde_json::from_str(text).unwrap()
                }
                (Kind::Time, Value::Number(time)) => json!(rfc3339(time.as_i64().unwrap())),
                _ => value,
            };
            (heading.name.to_owned(), value)
        };
        columns.map(cell).collect()
    })
    .collect()
}

#[cfg(feature = "parquet")]
fn value(column: &arrow_array::ArrayRef, row: usize) -> Value {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, TimestampNanosecondType};
    use arrow_schema::DataType;

    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Utf8 => json!(column.as_string::<i32>().value(row)),
        DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(row)),
        DataType::Timestamp(..) => {
            json!(column.as_primitive::<TimestampNanosecondType>().value(row))
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>().value(row);
            (0..list.len()).map(|at| value(&list, at)).collect()
        }
        other => panic!("no column is {other}"),
    }
}

fn rfc3339(nanoseconds: i64) -> String {
    let time = jiff::Timestamp::from_nanosecond(nanoseconds.into()).unwrap();
    format!("{time:.9}")
}

/// Asserts that a time is the same, to the precision of the other one.
fn assert_time(time: &Value, said: &Value, what: &str) {
    let (time, said) = (time.as_str().unwrap(), said.as_str().unwrap().trim_end_matches('Z'));
    assert!(time.len() == 30 && time.starts_with(said), "{what}: {time}, {said}");
}

/// The same for a duration, with at least microseconds.
fn assert_seconds(seconds: &Value, said: &Value, what: &str) {
    let is_same = match (seconds.as_f64(), said.as_f64()) {
        (Some(seconds), Some(said)) => (seconds - said).abs() < 1e-6,
        (seconds, said) => seconds == said,
    };
    assert!(is_same, "{what}: {seconds}, {said}");
}

/// Whether a party is an endpoint: it may be absent, or many sources.
fn is_one(party: &Value) -> bool {
    party.as_str().is_some_and(|party| !party.contains(" toward "))
}

fn end(text: &Value) -> (String, u16) {
    let end: SocketAddr = text.as_str().unwrap().parse().unwrap();
    (end.ip().to_string(), end.port())
}

/// The file of each packet and its number there.
struct PacketPlaces {
    names: Vec<String>,
    each: Vec<(u32, u64)>,
    times: Vec<i64>,
}

impl PacketPlaces {
    fn of(files: &[&str]) -> PacketPlaces {
        let paths: Vec<_> = files.iter().map(|file| Path::new(file).to_owned()).collect();
        let mut packets: Box<dyn Packets + Send> = match &paths[..] {
            [one] => capture::open(one).unwrap(),
            all => capture::open_merged(all, 1 << 26).unwrap(),
        };
        let (mut each, mut times, mut counts) = (Vec::new(), Vec::new(), vec![0; files.len()]);
        while let Some(event) = packets.next() {
            if let capture::Event::Packet(packet) = event {
                counts[packet.file as usize] += 1;
                each.push((packet.file, counts[packet.file as usize]));
                times.push(packet.time);
            }
        }
        let names = files.iter().map(|file| (*file).to_owned()).collect();
        PacketPlaces { names, each, times }
    }

    /// The file and number of a packet; null for null.
    fn place(&self, frame: &Value) -> [Value; 2] {
        let Some(frame) = frame.as_u64().filter(|frame| *frame > 0) else {
            return [Value::Null, Value::Null];
        };
        let (file, number) = self.each[frame as usize - 1];
        [json!(self.names[file as usize]), json!(number)]
    }

    /// Those of several packets, with files only if they differ.
    fn places(&self, frames: &Value) -> [Value; 2] {
        let places = frames.as_array().unwrap().iter().map(|frame| self.place(frame));
        let (files, numbers): (Vec<_>, Vec<_>) =
            places.map(|[file, number]| (file, number)).unzip();
        let differ = files.windows(2).any(|pair| pair[0] != pair[1]);
        [if differ { json!(files) } else { Value::Null }, json!(numbers)]
    }

    /// The time of a packet of a file.
    fn time(&self, file: &Value, frame: &Value) -> Value {
        let file = self.names.iter().position(|name| *file == json!(name)).unwrap() as u32;
        let place = (file, frame.as_u64().unwrap());
        let at = self.each.iter().position(|each| *each == place).unwrap();
        json!(rfc3339(self.times[at]))
    }

    fn capture(&self) -> Value {
        match &self.names[..] {
            [one] => json!(one),
            [first, others @ ..] => json!(format!("{first} and {} more", others.len())),
            [] => unreachable!("there is one"),
        }
    }
}

/// Asserts that a row has these values.
fn assert_row(row: &Object, expected: &[(&str, Value)], what: &str) {
    for (name, value) in expected {
        let found = row.get(*name).unwrap_or_else(|| panic!("{what}: no column {name}"));
        assert_eq!(found, value, "{what}: {name}");
    }
}

fn or_null(object: &Object, name: &str) -> Value {
    object.get(name).cloned().unwrap_or(Value::Null)
}

/// Asserts that a message breaks these rules; findings that depend on other flows may be left out.
fn assert_rules(row: &Object, findings: &Value, what: &str) {
    let rules = row["rules"].as_array().unwrap();
    for (at, rule) in rules.iter().enumerate() {
        assert!(!rules[..at].contains(rule), "{what}: {rule} is there once");
    }
    let found: Vec<_> = findings.as_array().unwrap().iter().map(|found| &found["rule"]).collect();
    assert!(rules.iter().all(|rule| found.contains(&rule)), "{what}: {rules:?}, {found:?}");
    for rule in found.into_iter().filter(|rule| !rules.contains(rule)) {
        let needs = catalogue::rule(rule.as_str().unwrap()).unwrap().needs;
        assert_ne!(needs, NeededEvidence::Message, "{what}: {rule} is missing");
    }
}

fn compare_messages(rows: &[Object], said: &[Object], places: &PacketPlaces) {
    assert_eq!(rows.len(), said.len(), "messages of {:?}", places.names);
    let beside = ["split"];
    for (row, it) in rows.iter().zip(said) {
        let what = format!("frame {} of {:?}", it["frame"], places.names);
        let ([file, frame], [files, frames]) =
            (places.place(&it["frame"]), places.places(&it["frames"]));
        let [request_file, request_frame] = places.place(&or_null(it, "request"));
        let [copy_of_file, copy_of_frame] = places.place(&or_null(it, "copy_of"));
        let ((src, src_port), (dst, dst_port)) = (end(&it["src"]), end(&it["dst"]));
        assert_time(&row["time"], &it["time"], &what);
        assert_rules(row, &it["findings"], &what);
        let others: Object = beside
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), it.get(*name)?.clone())))
            .collect();
        let expected = [
            ("capture", places.capture()),
            ("file", file),
            ("frame", frame),
            ("frames", frames),
            ("frames_files", files),
            ("flow", it["flow"].clone()),
            ("transport", it["transport"].clone()),
            ("src", it["src"].clone()),
            ("dst", it["dst"].clone()),
            ("src_address", json!(src)),
            ("src_port", json!(src_port)),
            ("dst_address", json!(dst)),
            ("dst_port", json!(dst_port)),
            ("via", or_null(it, "via")),
            ("protocol", it["protocol"].clone()),
            ("message", it["message"].clone()),
            ("request_file", request_file),
            ("request_frame", request_frame),
            ("tries", or_null(it, "tries")),
            ("copy_of_file", copy_of_file),
            ("copy_of_frame", copy_of_frame),
            ("fields", it["fields"].clone()),
            ("fields_left_out", it.get("fields_left_out").cloned().unwrap_or(json!(0))),
            ("beside", if others.is_empty() { Value::Null } else { Value::Object(others) }),
        ];
        assert_row(row, &expected, &what);
        for name in ["response_time", "waited"] {
            assert_seconds(&row[name], &or_null(it, name), &format!("{what}: {name}"));
        }
        if let Some(challenge) = it["fields"].get("challenge").and_then(Value::as_i64) {
            assert_eq!(row["challenge"], challenge, "{what}");
        }
        if it["message"] == "info_response" && it["protocol"] == "a2s" {
            for (column, field) in [
                ("server_name", "name"),
                ("map", "map"),
                ("players", "players"),
                ("max_players", "max_players"),
                ("bots", "bots"),
                ("version", "version"),
            ] {
                let field = it["fields"].get(field).filter(|field| **field != json!(""));
                assert_eq!(row[column], field.cloned().unwrap_or(Value::Null), "{what}: {column}");
            }
        }
    }
    let mut names: Vec<_> =
        rows.iter().map(|row| [&row["file"], &row["frame"], &row["nth"]]).collect();
    names.sort_by_key(|name| format!("{name:?}"));
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two messages have one name");
}

fn compare_flows(rows: &[Object], said: &[Object], places: &PacketPlaces) {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by_key(|row| row["flow"].as_u64());
    assert_eq!(rows.len(), said.len(), "flows of {:?}", places.names);
    for (row, it) in rows.into_iter().zip(said) {
        let what = format!("flow {} of {:?}", it["flow"], places.names);
        let ((a, a_port), (b, b_port)) = (end(&it["a"]), end(&it["b"]));
        let ends = [("a_address", json!(a)), ("a_port", json!(a_port))];
        assert_row(row, &ends, &what);
        assert_time(&row["first"], &it["first"], &what);
        assert_time(&row["last"], &it["last"], &what);
        assert_row(row, &[("b_address", json!(b)), ("b_port", json!(b_port))], &what);
        assert_eq!(
            places.time(&row["file"], &row["frame"]),
            row["first"],
            "{what}: its first packet"
        );
        for name in
            ["flow", "transport", "a", "b", "protocol", "packets", "bytes", "messages", "findings"]
        {
            assert_eq!(row[name], it[name], "{what}: {name}");
        }
        for name in ["role", "packets", "bytes", "messages"] {
            for name in [format!("{name}_a"), format!("{name}_b")] {
                assert_eq!(row[&name], it[&name], "{what}: {name}");
            }
        }
        for name in ["requests", "answered"] {
            assert_eq!(row[name], it[name], "{what}: {name}");
        }
        for name in ["duration", "response_time_p50", "response_time_p95", "response_time_max"] {
            assert_seconds(&row[name], &it[name], &format!("{what}: {name}"));
        }
        assert_eq!(
            (&row["exchanges"], &row["exchanges_answered"]),
            (&it["requests"], &it["answered"])
        );
    }
}

fn compare_findings(rows: &[Object], said: &Object, places: &PacketPlaces) {
    let said = said["findings"].as_array().unwrap();
    assert_eq!(rows.len(), said.len(), "findings of {:?}", places.names);
    for (row, it) in rows.iter().zip(said) {
        let what = format!("{} of {:?}", it["rule"], places.names);
        let frames = it["frames"].as_array().unwrap();
        let [file, frame] = places.place(frames.last().unwrap_or(&Value::Null));
        let [files, numbers] = places.places(&it["frames"]);
        let flow = Some(it["flow"].clone()).filter(|flow| *flow != 0).unwrap_or(Value::Null);
        match frames.is_empty() {
            true => assert_eq!(row["time"], Value::Null, "{what}"),
            false => assert_time(&row["time"], &it["time"], &what),
        }
        let expected = [
            ("capture", places.capture()),
            ("file", file),
            ("frame", frame),
            ("frames", numbers),
            ("frames_files", files),
            ("flow", flow),
            ("detail", it["message"].clone()),
            ("message", it["about"].clone()),
        ];
        assert_row(row, &expected, &what);
        for name in
            ["rule", "slug", "severity", "verdict", "who", "party", "protocol", "offset", "length"]
        {
            assert_eq!(row[name], it[name], "{what}: {name}");
        }
        if let Some((address, port)) = Some(&it["party"]).filter(|it| is_one(it)).map(end) {
            assert_eq!(
                (&row["party_address"], &row["party_port"]),
                (&json!(address), &json!(port))
            );
        }
    }
}

fn compare_verdicts(rows: &[Object], said: &Object, places: &PacketPlaces) {
    let said = said["rules"].as_array().unwrap();
    assert_eq!(rows.len(), said.len(), "every rule has a row");
    for (row, it) in rows.iter().zip(said) {
        assert_eq!(row["capture"], places.capture());
        assert_eq!(row["rule"], it["code"]);
        for name in ["slug", "severity", "who", "verdict", "passed", "failed", "inconclusive"] {
            assert_eq!(row[name], it[name], "{} of {:?}: {name}", it["code"], places.names);
        }
    }
}

/// Compares the rows of a table of `summary`; `key`: its first column.
fn compare_parties(
    (table, key): (&str, &str),
    tables: &Tables,
    said: &Object,
    places: &PacketPlaces,
) {
    let place = |end: &Value| {
        let end = end.as_str().unwrap();
        let end = end.parse().map(|host| SocketAddr::new(host, 0)).or_else(|_| end.parse());
        end.unwrap()
    };
    let mut said: Vec<_> = said[table].as_array().unwrap().iter().collect();
    said.sort_by_key(|it| place(&it[key]));
    let rows = tables.rows(table);
    assert_eq!(rows.len(), said.len(), "{table} of {:?}", places.names);
    for (row, it) in rows.iter().zip(said) {
        assert_eq!(row["capture"], places.capture());
        for (name, value) in it.as_object().unwrap() {
            let what = format!("{} of {:?}: {name}", it[key], places.names);
            match name.as_str() {
                "first" | "last" => assert_time(&row[name], value, &what),
                _ if name.starts_with("response_time") => {
                    assert_seconds(&row[name], value, &what);
                }
                // An empty name is null.
                _ if *value == json!("") => assert_eq!(row[name], Value::Null, "{what}"),
                _ => assert_eq!(row[name], *value, "{what}"),
            }
        }
        if row.contains_key("port") {
            let (address, port) = end(&row[key]);
            assert_row(row, &[("address", json!(address)), ("port", json!(port))], table);
        }
    }
}

const PARTIES: [(&str, &str); 3] =
    [("servers", "server"), ("masters", "master"), ("clients", "client")];

/// Asserts that all tables of these files agree with the other commands.
fn compare(project: &Project, format: &str, files: &[&str]) {
    let mut args = files.to_vec();
    if files.len() > 1 {
        args.push("--merge");
    }
    let (places, tables) = (PacketPlaces::of(files), Tables::of(project, format, &args));
    let checked = &said("check", &args)[0];
    compare_messages(tables.rows("messages"), &said("dissect", &args), &places);
    compare_flows(tables.rows("flows"), &said("flows", &args), &places);
    let summary = &said("summary", &args)[0];
    PARTIES.iter().for_each(|table| compare_parties(*table, &tables, summary, &places));
    compare_findings(tables.rows("findings"), checked, &places);
    compare_verdicts(tables.rows("verdicts"), checked, &places);
}

#[cfg(not(feature = "parquet"))]
const FORMAT: &str = "ndjson";
#[cfg(feature = "parquet")]
const FORMAT: &str = "parquet";

#[test]
fn tables_agree_with_other_commands() {
    let project = Project::new("export-samples");
    for sample in samples() {
        compare(&project, FORMAT, &[sample.to_str().unwrap()]);
    }
}

#[test]
fn packets_of_merged_files_are_identified_by_file_and_number() {
    let project = Project::new("export-merged");
    let all = samples();
    let all: Vec<_> = all.iter().map(|sample| sample.to_str().unwrap()).collect();
    // The files overlap in time, so their packets are interleaved.
    all.chunks(5).for_each(|files| compare(&project, FORMAT, files));
}

#[test]
fn only_selected_rows_are_written() {
    let project = Project::new("export-wanted");
    let (sample, filter) = ("samples/a2s-quirks.pcap", "a2s.info_response.players > 0");
    let args = [sample, "-Y", filter];
    let (places, tables) = (PacketPlaces::of(&[sample]), Tables::of(&project, FORMAT, &args));
    let messages = said("dissect", &args);
    assert!(!messages.is_empty() && messages.len() < said("dissect", &[sample]).len());
    compare_messages(tables.rows("messages"), &messages, &places);
    compare_flows(tables.rows("flows"), &said("flows", &args), &places);
    let summary = &said("summary", &args)[0];
    PARTIES.iter().for_each(|table| compare_parties(*table, &tables, summary, &places));
    compare_findings(tables.rows("findings"), &said("check", &args)[0], &places);
    let rest = ["--format", "csv", "--tables", "servers,flows,flows", "--host", "10.0.2.2", sample];
    let folder = project.path("some");
    let run = gamewire(["export", "--no-config", "-o", &folder].iter().chain(&rest));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.ends_with("some, in rows: flows 2, servers 1\n"), "{}", run.err);
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert_eq!(names.len(), 2, "{:?}", names.pop());
}

#[test]
fn messages_are_the_same_with_and_without_other_tables() {
    let project = Project::new("export-alone");
    let exported = |folder: &str, tables: &str| {
        let folder = project.path(folder);
        let args =
            ["export", "--no-config", "--format", "ndjson", "--tables", tables, "-o", &folder];
        let samples = samples().into_iter().map(|sample| sample.to_string_lossy().into_owned());
        let run = gamewire(args.map(str::to_owned).into_iter().chain(samples));
        assert_eq!(run.code, 0, "{}", run.err);
        std::fs::read_to_string(Path::new(&folder).join("messages.ndjson")).unwrap()
    };
    let alone = exported("alone", "messages");
    assert!(alone == exported("all", "messages,flows,findings,servers,masters,clients,verdicts"));
    assert!(alone == exported("some", "servers,messages"));
}

/// The cells of a file of comma-separated values, line by line.
fn csv(text: &str) -> Vec<Vec<String>> {
    let line = |line: &str| {
        let (mut cells, mut quoted, mut chars) =
            (vec![String::new()], false, line.chars().peekable());
        while let Some(c) = chars.next() {
            let cell = cells.last_mut().unwrap();
            match c {
                '"' if quoted && chars.next_if_eq(&'"').is_some() => cell.push('"'),
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                _ => cell.push(c),
            }
        }
        cells
    };
    text.split_terminator("\r\n").map(line).collect()
}

#[test]
fn comma_separated_values_have_the_same_content() {
    let project = Project::new("export-csv");
    let sample = "samples/a2s-info-players-rules.pcap";
    let tables = Tables::of(&project, "ndjson", &[sample]);
    let folder = project.path("csv");
    let run = gamewire(["export", "--no-config", "--format", "csv", "-o", &folder, sample]);
    assert_eq!(run.code, 0, "{}", run.err);
    for (table, rows) in tables.0 {
        let text =
            std::fs::read_to_string(Path::new(&folder).join(format!("{table}.csv"))).unwrap();
        let lines = csv(&text);
        let (header, lines) = lines.split_first().unwrap();
        assert_eq!(lines.len(), rows.len(), "{table}");
        for (line, row) in lines.iter().zip(rows) {
            assert_eq!(line.len(), header.len(), "{table}");
            for (name, cell) in header.iter().zip(line) {
                let cell = cell.strip_prefix('\'').unwrap_or(cell);
                let said = match &row[name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    Value::Array(many) => {
                        let text = |it: &Value| it.as_str().map_or(it.to_string(), str::to_owned);
                        many.iter().map(text).collect::<Vec<_>>().join(",")
                    }
                    Value::Object(counts) if name == "kinds" => {
                        let each = counts.iter().map(|(name, count)| format!("{name}={count}"));
                        assert_eq!(*cell, each.collect::<Vec<_>>().join(" "));
                        continue;
                    }
                    Value::Object(_) => {
                        assert_eq!(serde_json::from_str::<Value>(cell).unwrap(), row[name]);
                        continue;
                    }
                    number => number.to_string(),
                };
                assert_eq!(*cell, said, "{table}: {name}");
            }
        }
    }
}

/// The files of a folder with their bytes.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files
        .map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(file.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let project = Project::new("export-threads");
    let exported = |threads: &str| {
        let folder = project.path(threads);
        let mut args = vec!["export", "--no-config", "--merge", "--format", FORMAT, "-o", &folder];
        args.extend([
            "--threads",
            threads,
            "samples/a2s-quirks.pcap",
            "samples/valve-master-registration.pcap",
        ]);
        let run = gamewire(args);
        assert_eq!(run.code, 0, "{}", run.err);
        files(&folder)
    };
    let one = exported("1");
    assert!(one.len() == 7 && one == exported("3"));
}

#[test]
fn unreadable_files_leave_only_the_tables_of_others() {
    let project = Project::new("export-unreadable");
    project.write("no.pcap", b"nothing of the kind");
    let export = |folder: &str, files: &[&str]| {
        let folder = project.path(folder);
        let mut args = vec!["export", "--no-config", "--format", "csv", "-o", &folder];
        args.extend(files);
        let run = project.run(&args);
        (run.code, run.err)
    };
    let (code, err) = export("none", &["no.pcap"]);
    assert!(code == 2 && err.contains("no.pcap: not a capture file"), "{err}");
    assert!(!Path::new(&project.path("none")).exists());
    let sample = "samples/a2s-quirks.pcap";
    std::fs::copy(sample, project.path("a.pcap")).unwrap();
    let (code, err) = export("others", &["no.pcap", "a.pcap"]);
    assert!(code == 2 && err.contains("no.pcap: not a capture file"), "{err}");
    assert_eq!(files(&project.path("others")).len(), 7, "{err}");
}

#[test]
fn a_capture_is_not_overwritten() {
    let project = Project::new("export-onto");
    std::fs::copy("samples/a2s-quirks.pcap", project.path("flows.csv")).unwrap();
    let (file, folder) = (project.path("flows.csv"), project.path(""));
    let run = gamewire(["export", "--no-config", "--format", "csv", "-o", &folder, &file]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("which would be destroyed"), "{}", run.err);
    assert_eq!(project.names(), ["flows.csv"]);
}

#[test]
fn an_interrupted_export_leaves_no_files() {
    use gamewire::capture::Stop;
    use std::sync::atomic::AtomicBool;

    static ASKED: AtomicBool = AtomicBool::new(true);
    let project = Project::new("export-interrupted");
    let stop: fn() -> Stop = || Stop(Some(&ASKED));
    let terminal = gamewire::Terminal { stop: Some(stop), ..Default::default() };
    let (mut out, mut err, folder) = (Vec::new(), Vec::new(), project.path("out"));
    let args = ["gamewire", "export", "--no-config", "--format", FORMAT, "-o", &folder];
    let args = args.into_iter().chain(["samples/a2s-quirks.pcap"]).map(Into::into);
    let code = gamewire::run(args, &mut out, &mut err, terminal);
    let err = String::from_utf8(err).unwrap();
    assert_eq!((code, err.as_str()), (130, "gamewire: interrupted: nothing was written\n"));
    assert_eq!(files(&folder), []);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_existing_files() {
    let project = Project::new("export-full");
    std::fs::create_dir(project.path("out")).unwrap();
    project.write(&format!("out/messages.{FORMAT}"), b"older");
    // The maximum size of a file is one block of 1 KiB.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} export --no-config --format {FORMAT} -o {} \
         samples/a2s-quirks.pcap",
        env!("CARGO_BIN_EXE_gamewire"),
        project.path("out")
    );
    let ran = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.code() == Some(2) && err.contains("cannot write "), "{err}");
    assert_eq!(files(&project.path("out")), [(format!("messages.{FORMAT}"), b"older".to_vec())]);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn the_error_without_parquet_names_the_feature() {
    let run =
        gamewire(["export", "--format", "parquet", "-o", "nowhere", "samples/a2s-quirks.pcap"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("--features parquet"), "{}", run.err);
}

#[test]
fn rows_that_do_not_fit_into_memory_are_reported() {
    let project = Project::new("export-cut");
    let sample = "samples/a2s-quirks.pcap";
    let export = |limit: &str| {
        let folder = project.path("out");
        let args = ["export", "--no-config", "--format", "csv", "--limit", limit, "-o", &folder];
        gamewire(args.iter().chain(&[sample])).err
    };
    let cut = "warning: there are more servers and clients than fit in --memory";
    assert!(export("flow-bytes=4K").contains(cut), "{}", export("flow-bytes=4K"));
    assert!(!export("flow-bytes=64M").contains("there are more"));
}

/// Rows are limited by the memory that they take, not by the most that they could take.
#[test]
fn many_servers_fit_into_the_usual_memory() {
    const SERVERS: u32 = 20_000;
    let mut capture = Capture::new(Link::Raw);
    let client = "10.0.0.1:50000";
    for n in 0..SERVERS {
        let server = SocketAddr::from((Ipv4Addr::from(0x1711_0000 + n), 27015)).to_string();
        let mut say = |from: &str, to: &str, payload: &[u8], at: u64| {
            let time = START.after((u64::from(n) * 2 + at) * 100_000);
            capture.push(time, &Datagram::new(from, to, payload).packet());
        };
        say(client, &server, b"\xFF\xFF\xFF\xFFTSource Engine Query\0", 0);
        let response = b"\xFF\xFF\xFF\xFFI\x11Test\0de_dust2\0csgo\0Counter-Strike\0\
            \xDA\x02\x05\x10\0dl\0\x011.38\0";
        say(&server, client, response, 1);
    }
    let project = Project::new("export-many");
    project.write("many.pcap", capture.pcap());
    let (file, folder) = (project.path("many.pcap"), project.path("out"));
    let of = |memory: &str| {
        let options = ["export", "--no-config", "--tables", "servers", "--format", "csv"];
        let run = gamewire(options.iter().chain(&["--memory", memory, "-o", &folder, &file]));
        assert_eq!(run.code, 0, "{}", run.err);
        let text = std::fs::read_to_string(project.path("out/servers.csv")).unwrap();
        (text.lines().count() - 1, run.err.contains("there are more servers"))
    };
    assert_eq!(of("1G"), (SERVERS as usize, false));
    let (rows, is_cut) = of("64M");
    assert!((2000..SERVERS as usize).contains(&rows) && is_cut, "{rows}");
}
