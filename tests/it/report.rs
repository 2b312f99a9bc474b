//! `gamewire report`: the content of the page, and that it is written completely or not at all.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use crate::support::project::Project;
use crate::support::{gamewire, samples, small_recorded_captures};
use captures::exchange::Setting;
use serde_json::Value;

/// The data of a page, by its id.
fn data(page: &str, id: &str) -> String {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page.split_once(&start).unwrap();
    rest.split_once("</script>").unwrap().0.to_owned()
}

fn captures(page: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(&data(page, "report")).unwrap();
    report["captures"].as_array().unwrap().clone()
}

fn messages(capture: &Value) -> Vec<Value> {
    let all = capture["sample"]["messages"].as_array().unwrap().iter();
    all.filter(|message| message.get("icmp").is_none()).cloned().collect()
}

/// The page about a capture.
fn page(project: &Project, arguments: &[&str]) -> String {
    let out = project.path("report.html");
    let run = gamewire([&["report", "--no-config", "-o", &out], arguments].concat());
    assert_eq!((run.code, &*run.out), (0, ""), "{}", run.err);
    project.read("report.html")
}

fn object(command: &str, file: &str) -> Value {
    let run = gamewire([command, "--no-config", "--format", "json", file]);
    serde_json::from_str(&run.out).unwrap()
}

/// Compares the numbers of a page with those of the commands.
fn numbers_are_those_of_the_commands(project: &Project, file: &Path) {
    let file = file.to_str().unwrap();
    let page = page(project, &[file]);
    let capture = captures(&page).remove(0);
    assert_eq!(capture["summary"], object("summary", file), "{file}");
    assert_eq!(capture["check"], object("check", file), "{file}");
    let shown = messages(&capture);
    assert_eq!(capture["sample"]["seen"], shown.len(), "{file}");
    let details = data(&page, "details-0");
    assert_eq!(details.lines().count(), capture["sample"]["messages"].as_array().unwrap().len());
    let dissected = gamewire(["dissect", "--no-config", "--format", "json", "--tree", file]).out;
    let dissected: Vec<Value> =
        dissected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(shown.len(), dissected.len(), "{file}");
    let all = capture["sample"]["messages"].as_array().unwrap().iter();
    let trees = all.zip(details.lines()).filter(|(it, _)| it.get("icmp").is_none());
    for ((message, detail), dissected) in trees.zip(&dissected) {
        for key in ["frame", "flow", "src", "dst", "protocol", "message", "time"] {
            assert_eq!(message[key], dissected[key], "{file}");
        }
        let detail: Value = serde_json::from_str(detail).unwrap();
        assert_eq!(detail["tree"], dissected["tree"], "{file}");
    }
}

#[test]
fn the_numbers_are_those_of_summary_and_check() {
    let project = Project::new("report-numbers");
    for file in samples().iter().chain(&small_recorded_captures().unwrap_or_default()) {
        numbers_are_those_of_the_commands(&project, file);
    }
}

#[test]
fn the_page_has_the_requests_of_the_summary() {
    let project = Project::new("report-requests");
    let mut compared = 0;
    for name in
        ["a2s-quirks", "silence-unanswered", "silence-icmp", "abuse-answers-from-another-host"]
    {
        let capture = captures(&page(&project, &[&format!("samples/{name}.pcap")])).remove(0);
        let shown = messages(&capture);
        for server in capture["summary"]["servers"].as_array().unwrap() {
            let own = shown.iter().filter(|it| it["dst"] == server["server"]);
            let fared: Vec<_> = own.filter_map(|it| it.get("answered")).collect();
            assert_eq!(server["exchanges"], fared.len(), "{name}: {server}");
            let answered = fared.iter().filter(|it| **it == true).count();
            assert_eq!(server["answered"], answered, "{name}: {server}");
            compared += 1;
        }
    }
    assert!(compared > 5, "{compared}");
}

/// This number of exchanges, one per millisecond, every 500th with a fault.
fn exchanges(count: u64) -> String {
    let mut script = String::new();
    for nth in 0..count {
        let players = if nth % 500 == 250 { "02" } else { "00" };
        let at = nth as f64 / 1000.0;
        write!(
            script,
            "{at:.4} c{} > s FFFFFFFF 55 11223344\n{:.4} s > c{} FFFFFFFF 44 {players}\n",
            nth % 7,
            at + 0.0004,
            nth % 7
        )
        .unwrap();
    }
    script
}

#[test]
fn a_sample_of_many_messages_has_those_with_findings() {
    let project = Project::new("report-sample");
    project.play("many.pcap", &Setting::udp(27015), &exchanges(7000));
    let file = project.path("many.pcap");
    let page_of = |threads: &str| page(&project, &[&file, "--threads", threads]);
    let page = page_of("1");
    assert!(page == page_of("4"), "the same for any number of threads");
    let capture = captures(&page).remove(0);
    let shown = messages(&capture);
    assert_eq!(capture["sample"]["seen"], 14_000);
    assert_eq!(shown.len(), 10_000);
    let frames: BTreeSet<_> = shown.iter().map(|it| it["frame"].as_u64().unwrap()).collect();
    let findings = capture["check"]["findings"].as_array().unwrap();
    let found = findings.iter().filter_map(|it| it["frames"].as_array().unwrap().last());
    let found: Vec<_> = found.map(|frame| frame.as_u64().unwrap()).collect();
    assert!(found.len() >= 14 && found.iter().all(|frame| frames.contains(frame)));
    // Other messages are left out at random; weights compensate for it.
    let certain = shown.iter().filter(|it| it.get("certain").is_some()).count() as f64;
    let weight = capture["sample"]["weight"].as_f64().unwrap();
    let estimated = certain + (10_000.0 - certain) * weight;
    assert!((estimated - 14_000.0).abs() < 1.0, "{estimated}");
    let requests = shown.iter().filter(|it| it["speaker"] == "client").count();
    assert!((4500..5500).contains(&requests), "{requests}");

    let once = gamewire(["report", "--no-config", "-o", &project.path("x.html"), "/dev/null"]);
    assert_eq!(once.code, 2, "{}", once.err);
}

#[test]
fn a_filter_selects_the_embedded_messages() {
    let project = Project::new("report-filter");
    let file = "samples/a2s-quirks.pcap";
    let filtered = ["-Y", "a2s.rules_response", file];
    let capture = captures(&page(&project, &filtered)).remove(0);
    let shown = messages(&capture);
    assert!(!shown.is_empty() && shown.iter().all(|it| it["message"] == "rules_response"));
    let check = gamewire([&["check", "--no-config", "--format", "json"], &filtered[..]].concat());
    let check: Value = serde_json::from_str(&check.out).unwrap();
    assert_eq!(capture["check"]["findings"], check["findings"]);
    let summary =
        gamewire([&["summary", "--no-config", "--format", "json"], &filtered[..]].concat());
    assert_eq!(capture["summary"], serde_json::from_str::<Value>(&summary.out).unwrap());
}

#[test]
fn it_is_written_completely_or_not_at_all() {
    let project = Project::new("report-whole");
    let sample = std::fs::read("samples/a2s-quirks.pcap").unwrap();
    project.write("a.pcap", &sample);
    let file = project.path("a.pcap");
    let report = |out: &str, files: &[&str]| {
        gamewire([&["report", "--no-config", "-o", out], files].concat())
    };
    let onto = report(&file, &[&file]);
    assert!(onto.code == 2 && onto.err.contains("would be destroyed"), "{}", onto.err);
    assert_eq!(std::fs::read(&file).unwrap(), sample);
    let stream = report("-", &[&file]);
    assert!(stream.code == 2 && stream.err.contains("name a file"), "{}", stream.err);
    let nowhere = report(&project.path("no/such/folder.html"), &[&file]);
    assert!(nowhere.code == 2 && nowhere.err.contains("folder.html"), "{}", nowhere.err);
    let missing = report(&project.path("out.html"), &["no-such.pcap"]);
    assert!(missing.code == 2 && missing.err.contains("no-such.pcap"), "{}", missing.err);
    assert_eq!(project.names(), ["a.pcap"], "nothing is left of an attempt");
    // Readable files are in the report, and others are errors.
    let some = report(&project.path("out.html"), &[&file, "no-such.pcap"]);
    assert!(some.code == 2 && some.err.contains("no-such.pcap"), "{}", some.err);
    assert_eq!(captures(&project.read("out.html")).len(), 1);
    assert_eq!(project.names(), ["a.pcap", "out.html"]);
}

#[test]
fn several_captures_are_in_one_page() {
    let project = Project::new("report-several");
    let files = ["samples/a2s-quirks.pcap", "samples/gamespy4-ut3.pcap"];
    let page = page(&project, &files);
    let names: Vec<_> = captures(&page).iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, files);
    assert_eq!(page.matches("data-capture=").count(), 2);
    assert!(page.contains("id=\"details-1\""));
}
