//! What counts as a request and as answered is decided in one place: every command, format and page prints the same
//! numbers for the same capture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::project::Project;
use crate::support::{captures_of_reports, gamewire, samples, small_recorded_captures};
use captures::exchange::Setting;
use dissectors::kit::RuleResults;
use gamewire::check::{Selection, ledger_settings};
use gamewire::view::Model;
use gamewire::{Decoder, Options, capture};
use serde_json::Value;

/// Requests, each with its repeats and its challenge round, and answered ones.
type Counts = [u64; 2];

fn out(args: &[&str], file: &str) -> String {
    gamewire([args, &["--no-config", file]].concat()).out
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The numbers under two names.
fn numbers(object: &Value, names: [&str; 2]) -> Counts {
    names.map(|name| object[name].as_u64().unwrap_or_else(|| panic!("{name}: {object}")))
}

fn sum(all: impl IntoIterator<Item = Counts>) -> Counts {
    all.into_iter().fold([0; 2], |[a, b], [c, d]| [a + c, b + d])
}

/// The sums of two columns.
fn columns(csv: &str, names: [&str; 2]) -> Counts {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let Some(header) = lines.next() else { return [0; 2] };
    let at = names.map(|name| header.iter().position(|it| *it == name).unwrap());
    // Names may contain commas, so that columns are counted from the nearer end.
    let from_end = at.map(|at| header.len() - at);
    sum(lines.map(|row| from_end.map(|from_end| row[row.len() - from_end].parse().unwrap())))
}

/// A number in a text for people.
fn ungrouped(text: &str) -> u64 {
    text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// The numbers in `2 of 3 requests`, which follow this text.
fn in_words(text: &str, after: &str) -> Counts {
    let Some((before, _)) = text.split_once(" answered") else { return [0; 2] };
    let words = before.rsplit(after).next().unwrap();
    let (answered, asked) = words.split_once(" of ").unwrap();
    [ungrouped(asked), ungrouped(answered)]
}

/// The text between two others.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).unwrap().0
}

fn of_check(file: &str) -> Vec<(&'static str, Counts)> {
    let junit = out(&["check", "--format", "junit"], file);
    let property = |name: &str| {
        between(&junit, &format!("<property name=\"{name}\" value=\""), "\"").parse().unwrap()
    };
    let sarif = json(&out(&["check", "--format", "sarif"], file));
    let github = out(&["check", "--format", "github"], file);
    let text = out(&["check", "--quiet"], file);
    let checked = json(&out(&["check", "--format", "json"], file));
    vec![
        ("check", numbers(&checked, ["requests", "answered"])),
        ("check, text", in_words(text.lines().next().unwrap(), "; ")),
        ("check, junit", ["requests", "answered"].map(property)),
        (
            "check, sarif",
            numbers(&sarif["runs"][0]["properties"], ["requestsAsked", "requestsAnswered"]),
        ),
        ("check, github", {
            let line = github.lines().rfind(|line| line.ends_with(" requests answered")).unwrap();
            in_words(line, ": ")
        }),
    ]
}

fn of_flows(file: &str) -> Vec<(&'static str, Counts)> {
    let rows = out(&["flows", "--format", "json"], file);
    let rows = rows.lines().map(|line| numbers(&json(line), ["requests", "answered"]));
    let rows: Vec<_> = rows.collect();
    let csv = out(&["flows", "--format", "csv"], file);
    let text = out(&["flows"], file);
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), rows.len(), "{file}: {text}");
    let shown = lines.iter().zip(&rows).map(|(line, &[asked, answered])| {
        let cells: Vec<_> = line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        let [share, count] = [5, 6].map(|nth| cells[cells.len() - nth]);
        let tenths = (answered * 1000).checked_div(asked);
        let expected = tenths.map(|it| format!("{}.{} %", it / 10, it % 10));
        assert_eq!(share, expected.as_deref().unwrap_or("-"), "{file}: {line}");
        [ungrouped(count), answered]
    });
    vec![
        ("flows, text", sum(shown)),
        ("flows", sum(rows.iter().copied())),
        ("flows, csv", columns(&csv, ["requests", "answered"])),
    ]
}

/// Of the page, and whether it has all messages.
fn of_report(project: &Project, file: &str) -> (Vec<(&'static str, Counts)>, Value) {
    let page = project.path("page.html");
    gamewire(["report", "--no-config", "-o", &page, file]);
    let page = project.read("page.html");
    let data = between(&page, "<script type=\"application/json\" id=\"report\">", "</script>");
    let capture = json(data)["captures"][0].clone();
    let sentence = between(&page, "<main", "<section").to_owned();
    let protocols = capture["summary"]["protocols"].as_array().unwrap().iter();
    let mut all = vec![
        ("report, check", numbers(&capture["check"], ["requests", "answered"])),
        ("report, summary", sum(protocols.map(|row| numbers(row, ["exchanges", "answered"])))),
    ];
    let messages = capture["sample"]["messages"].as_array().unwrap();
    let asked = messages.iter().filter_map(|message| message.get("answered"));
    let asked = asked.map(|it| [1, u64::from(*it == true)]);
    if messages.len() as u64 >= capture["sample"]["seen"].as_u64().unwrap() {
        all.push(("report, messages", sum(asked)));
    }
    if sentence.contains(" were answered.") && !sentence.contains("All requests were") {
        let words = sentence.split(" were answered.").next().unwrap();
        let words = words.rsplit('>').next().unwrap();
        let (answered, asked) = words.rsplit_once(" of ").unwrap();
        let answered = answered.rsplit(". ").next().unwrap();
        all.push(("report, headline", [ungrouped(asked), ungrouped(answered)]));
    }
    (all, capture["summary"].clone())
}

fn of_export(project: &Project, file: &str) -> Vec<(&'static str, Counts)> {
    let folder = project.path("tables");
    let args = ["export", "--no-config", "--format", "csv", "--tables", "flows", "-o", &folder];
    let run = gamewire([&args[..], &[file]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    let csv = project.read("tables/flows.csv");
    vec![
        ("export, requests", columns(&csv, ["requests", "answered"])),
        ("export, exchanges", columns(&csv, ["exchanges", "exchanges_answered"])),
    ]
}

/// What `view` shows in its tables.
fn of_view(file: &Path) -> Counts {
    let options = Options::default();
    let ledger_settings = ledger_settings(&options.settings, options.settings.limits.remembered);
    let selection = Selection::default();
    let needs = Model::needs(&selection, &ledger_settings);
    let mut model = Model::new(1 << 28, 1 << 28, selection, ledger_settings);
    model.begin("one");
    let mut packets = capture::open(file).unwrap();
    let decoder = Decoder::new(Options { needs, ..options });
    decoder.read(&mut *packets, |event| model.event(event, |_| false));
    sum(model.summary().protocols.iter().map(|it| [it.exchanges.asked, it.exchanges.answered]))
}

/// Compares what `diagnose` says of each server with the row of `summary`. Returns the number of servers.
fn servers_of_diagnose(file: &str, summary: &Value) -> usize {
    let diagnosed = out(&["diagnose", "--format", "json"], file);
    let mut compared = 0;
    for line in diagnosed.lines() {
        for server in json(line)["servers"].as_array().unwrap() {
            let rows = summary["servers"].as_array().unwrap();
            let Some(row) = rows.iter().find(|row| row["server"] == server["server"]) else {
                continue;
            };
            let items = server["items"].as_array().unwrap();
            let Some(item) = items.iter().find(|it| it["item"] == "seen.answered") else {
                continue;
            };
            let of_summary = numbers(row, ["exchanges", "answered"]);
            let of_item = ["asked", "answered"].map(|name| item[name].as_u64().unwrap_or(0));
            assert_eq!(of_item, of_summary, "{file}: {server}");
            let asked = items.iter().find(|it| it["item"] == "seen.asked").unwrap();
            if asked["verdict"] == "yes" {
                let (_, count) = asked["text"].as_str().unwrap().split_once(", ").unwrap();
                let count = if count == "by broadcast" { 0 } else { ungrouped(count) };
                assert_eq!(count, of_summary[0], "{file}: {server}");
            }
            compared += 1;
        }
    }
    compared
}

/// Compares all commands, formats and pages. Returns the number of exchanges, and of servers in `diagnose`.
fn all_are_equal(project: &Project, path: &Path) -> (u64, usize) {
    let file = path.to_str().unwrap();
    let (mut all, summary) = of_report(project, file);
    let protocols = summary["protocols"].as_array().unwrap().iter();
    let expected = sum(protocols.map(|row| numbers(row, ["exchanges", "answered"])));
    let csv = out(&["summary", "--format", "csv", "--table", "protocols"], file);
    all.push(("summary, csv", columns(&csv, ["exchanges", "answered"])));
    all.extend(of_check(file));
    all.extend(of_flows(file));
    all.extend(of_export(project, file));
    all.push(("view", of_view(path)));
    let different: Vec<_> = all.iter().filter(|(_, it)| *it != expected).collect();
    assert!(different.is_empty(), "{file}: summary has {expected:?}, but {different:?}");
    (expected[0], servers_of_diagnose(file, &summary))
}

/// Compares all of these captures, several at a time.
fn compare(name: &str, files: &[PathBuf]) -> (u64, usize) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let compare = |nth: usize, files: &[PathBuf]| {
        let project = Project::new(&format!("exchanges-{name}-{nth}"));
        let counted = files.iter().map(|file| all_are_equal(&project, file));
        counted.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    };
    std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(threads)).enumerate();
        let parts = parts.map(|(nth, files)| scope.spawn(move || compare(nth, files)));
        let counted = Vec::from_iter(parts).into_iter().map(|part| part.join().unwrap());
        counted.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    })
}

#[test]
fn all_commands_count_the_same_in_samples() {
    let (exchanges, servers) = compare("samples", &samples());
    assert!(exchanges > 1000 && servers > 40, "{exchanges} {servers}");
}

#[test]
fn all_commands_count_the_same_in_recorded_captures() {
    let Some(files) = small_recorded_captures() else { return };
    let (exchanges, servers) = compare("recorded", &files);
    assert!(exchanges > 100 && servers > 10, "{exchanges} {servers}");
}

#[test]
fn all_commands_count_the_same_in_captures_of_reports() {
    let Some(files) = captures_of_reports() else { return };
    let (exchanges, servers) = compare("reports", &files);
    assert!(exchanges > 1000 && servers > 100, "{exchanges} {servers}");
}

/// Findings about flows, by protocol: those that `check` lists are counted in all tables.
fn findings(file: &str) -> Option<BTreeMap<String, u64>> {
    let checked = json(&out(&["check", "--format", "json"], file));
    let is_listed = |rule: &Value| rule["failed"].as_u64() < Some(RuleResults::MOST);
    if !checked["rules"].as_array()?.iter().all(is_listed) {
        return None;
    }
    let mut counts = BTreeMap::new();
    for found in checked["findings"].as_array()? {
        let is_of_capture = found["rule"].as_str()?.starts_with("NET");
        if found["verdict"] != "inconclusive" && found["flow"] != 0 && !is_of_capture {
            *counts.entry(found["protocol"].as_str()?.to_owned()).or_default() += 1;
        }
    }
    Some(counts)
}

/// The counts of findings in rows, by their protocol.
fn counted<'v>(rows: impl IntoIterator<Item = &'v Value>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for row in rows {
        let findings = row["findings"].as_u64().unwrap();
        if findings > 0 {
            *counts.entry(row["protocol"].as_str().unwrap().to_owned()).or_default() += findings;
        }
    }
    counts
}

#[test]
fn tables_count_the_findings_that_check_lists() {
    let project = Project::new("findings");
    let mut compared = 0;
    for path in samples().into_iter().chain(captures_of_reports().unwrap_or_default()) {
        let file = path.to_str().unwrap();
        let Some(expected) = findings(file) else { continue };
        let summary = json(&out(&["summary", "--format", "json"], file));
        assert_eq!(counted(summary["protocols"].as_array().unwrap()), expected, "{file}: summary");
        let rows = |text: &str| Vec::from_iter(text.lines().map(json));
        let flows = out(&["flows", "--format", "json"], file);
        assert_eq!(counted(&rows(&flows)), expected, "{file}: flows");
        let folder = project.path("tables");
        let args = ["export", "--no-config", "--format", "ndjson", "--tables", "flows", "-o"];
        gamewire([&args[..], &[&folder, file]].concat());
        let exported = project.read("tables/flows.ndjson");
        assert_eq!(counted(&rows(&exported)), expected, "{file}: export");
        compared += expected.values().sum::<u64>();
    }
    assert!(compared > 100, "{compared}");
}

/// The packets of a `.pcap` file, and an hour behind the last one all of them again. `None`: another format.
fn behind_itself(bytes: &[u8]) -> Option<Vec<u8>> {
    const HEADER: usize = 24;
    const RECORD: usize = 16;
    let is_big = match bytes.first_chunk::<4>()? {
        [0xA1, 0xB2, ..] => true,
        [_, _, 0xB2, 0xA1] => false,
        _ => return None,
    };
    let number = |at: usize| {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let mut records = Vec::new();
    let mut at = HEADER;
    while let Some(length) = number(at + 8) {
        records.push(at);
        at += RECORD + length as usize;
    }
    let (first, last) = (number(*records.first()?)?, number(*records.last()?)?);
    let mut twice = bytes.to_vec();
    for at in records {
        let time = number(at)? + (last - first) + 3600;
        twice.extend(if is_big { time.to_be_bytes() } else { time.to_le_bytes() });
        let end = at + RECORD + number(at + 8)? as usize;
        twice.extend_from_slice(bytes.get(at + 4..end)?);
    }
    Some(twice)
}

/// Clients ask again, from the same ports and with the same bytes: that is no repeat of what they asked an hour ago.
#[test]
fn the_same_an_hour_later_is_as_much_again() {
    let mut counted = 0;
    for path in samples() {
        let Some(twice) = behind_itself(&std::fs::read(&path).unwrap()) else { continue };
        let (_project, twice) = Project::of_capture(twice);
        let counts = |file: &str| {
            let checked = json(&out(&["check", "--format", "json"], file));
            numbers(&checked, ["requests", "answered"])
        };
        let once = counts(path.to_str().unwrap());
        assert_eq!(counts(&twice), once.map(|count| 2 * count), "{}", path.display());
        counted += once[0];
    }
    assert!(counted > 1000, "{counted}");
}

#[test]
fn a_question_that_is_repeated_after_its_timeout_is_another() {
    for (port, question) in [
        (27015, "FFFFFFFF 'TSource Engine Query' 00"),
        (7778, r"'\\status\\'"),
        (6500, "FEFD 09 01020304"),
    ] {
        let asked = (0..10).map(|nth| format!("{nth}0.0 c > s  {question}\n"));
        let script = asked.collect::<String>() + "end 110";
        let (_project, file) = Project::of_script(&script, &Setting::udp(port));
        let checked = json(&out(&["check", "--format", "json"], &file));
        assert_eq!(numbers(&checked, ["requests", "answered"]), [10, 0], "{question}");
    }
}
