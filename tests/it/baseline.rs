//! `--baseline` and `--write-baseline`: a project with known findings fails only on new ones.

use crate::support;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

/// A server that claims this number of players, and lists one.
fn players(said: &str, challenge: &str, at: &str) -> String {
    format!(
        "{at}0 c > s  FFFFFFFF 55 FFFFFFFF\n{at}2 s > c  FFFFFFFF 41 {challenge}\n\
         {at}3 c > s  FFFFFFFF 55 {challenge}\n\
         {at}5 s > c  FFFFFFFF 44 {said} 00 'Ann' 00 00000000 f32:1.5"
    )
}

/// A challenge of five bytes.
const NEW: &str = "\n9.00 c > s  FFFFFFFF 55 FFFFFFFF\n9.50 s > c  FFFFFFFF 41 0102030405";

fn project(name: &str) -> Project {
    let project = Project::new(name);
    project.play("old.pcap", &Setting::udp(27015), &players("02", "4BA1D522", "0.0"));
    let run = project.run(&["check", "--write-baseline", "known.json", "old.pcap"]);
    assert_eq!(run.code, 0, "what goes into the baseline does not fail");
    let says = "wrote a baseline of 1 finding to ";
    assert!(run.err.contains(says) && run.err.lines().count() == 1, "{}", run.err);
    project
}

fn check(project: &Project, options: &[&str], capture: &str) -> support::Run {
    project.run(&[&["check", "--baseline", "known.json"], options, &[capture]].concat())
}

#[test]
fn known_findings_do_not_fail_and_are_counted() {
    let project = project("known");
    assert_eq!(project.names(), ["known.json", "old.pcap"], "nothing but the baseline is written");
    let known: Value = serde_json::from_str(&project.read("known.json")).expect("JSON");
    let entry = serde_json::json!({
        "rule": "A2S030", "who": "server", "protocol": "a2s", "message": "player_response",
        "detail": "Num Players says #, the packet holds # entries",
    });
    assert_eq!(known, serde_json::json!({ "version": 1, "findings": [entry] }));
    let run = check(&project, &[], "old.pcap");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("PASS") && run.out.contains("\n1 finding in the baseline\n"));
    assert!(!run.out.contains("Num Players"), "{}", run.out);
}

#[test]
fn another_recording_shows_the_same_finding() {
    let project = project("again");
    let elsewhere = Setting::udp(27999);
    project.play("again.pcap", &elsewhere, &players("05", "01020304", "7.1"));
    let run = check(&project, &["--fail-on", "note"], "again.pcap");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
}

#[test]
fn a_new_finding_fails() {
    let project = project("new");
    let script = players("02", "4BA1D522", "0.0") + NEW;
    project.play("new.pcap", &Setting::udp(27015), &script);
    let run = check(&project, &["--format", "json"], "new.pcap");
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    let outcome: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(outcome["in_baseline"], 1);
    let rule = |code: &str| {
        let rules = outcome["rules"].as_array().expect("rules");
        rules.iter().find(|rule| rule["code"] == code).expect("the rule").clone()
    };
    let count = rule("A2S030");
    assert_eq!((&count["failed"], &count["in_baseline"]), (&0.into(), &1.into()));
    assert_eq!((&count["verdict"], &rule("A2S020")["verdict"]), (&"pass".into(), &"fail".into()));
    let findings = outcome["findings"].as_array().expect("findings");
    assert!(!findings.is_empty() && findings.iter().all(|finding| finding["rule"] != "A2S030"));
}

#[test]
fn sarif_suppresses_only_known_findings() {
    let project = project("sarif");
    let script = players("02", "4BA1D522", "0.0") + NEW;
    project.play("new.pcap", &Setting::udp(27015), &script);
    let sarif = |options: &[&str]| -> Vec<Value> {
        let options = [&["check", "--format", "sarif"], options, &["new.pcap"]].concat();
        let log: Value = serde_json::from_str(&project.run(&options).out).expect("JSON");
        log["runs"][0]["results"].as_array().expect("results").clone()
    };
    let results = sarif(&["--baseline", "known.json"]);
    for result in &results {
        let suppressions = result["suppressions"].as_array().expect("suppressions in every result");
        assert_eq!(!suppressions.is_empty(), result["ruleId"] == "A2S030", "{result}");
    }
    let plain = sarif(&[]);
    assert_eq!(plain.len(), results.len());
    assert!(plain.iter().all(|result| result.get("suppressions").is_none()));
    let marks = |results: &[Value]| {
        let mark = |result: &Value| result["partialFingerprints"]["gamewire/v1"].to_string();
        let mut marks: Vec<_> = results.iter().map(mark).collect();
        marks.sort();
        marks
    };
    assert_eq!(marks(&results), marks(&plain), "the baseline changes no fingerprint");
    let known = "A2S030/server/a2s/player_response/Num Players says #, the packet holds # entries";
    assert!(marks(&plain).contains(&format!("{known:?}")));
}

#[test]
fn findings_that_no_longer_occur_are_reported() {
    let project = project("gone");
    project.play("good.pcap", &Setting::udp(27015), &players("01", "4BA1D522", "0.0"));
    let run = check(&project, &[], "good.pcap");
    assert_eq!(run.code, 0);
    let says = "known.json: no longer occurs: A2S030/server/a2s/player_response/Num Players says #";
    assert!(run.err.contains(says) && run.err.lines().count() == 1, "{}", run.err);
    for narrowed in [&["--select", "A2S022"], &["--who", "client"], &["--host", "10.0.0.1"]] {
        assert_eq!(check(&project, narrowed, "good.pcap").err, "", "it was not asked for");
    }
    let both = [project.path("good.pcap"), project.path("old.pcap")];
    let args = ["check", "--baseline", "known.json", &both[0], &both[1]];
    assert_eq!(project.run(&args).err, "", "another capture shows it");
}

#[test]
fn a_baseline_is_written_completely_or_not_at_all() {
    let project = project("whole");
    let before = project.read("known.json");
    let script = players("02", "4BA1D522", "0.0") + NEW;
    project.play("new.pcap", &Setting::udp(27015), &script);
    let run = project.run(&["check", "--write-baseline", "known.json", "new.pcap", "missing.pcap"]);
    assert_eq!((run.code, project.read("known.json")), (2, before.clone()));
    let run = project.run(&["check", "--write-baseline", "no/such/known.json", "new.pcap"]);
    assert!(run.code == 2 && run.err.contains("cannot write the baseline"), "{}", run.err);
    let run = project.run(&["check", "--write-baseline", "known.json", "new.pcap"]);
    assert_eq!(run.code, 0);
    assert_ne!(project.read("known.json"), before);
    let again = project.read("known.json");
    project.run(&["check", "--write-baseline", "known.json", "new.pcap"]);
    assert_eq!(project.read("known.json"), again);
    assert_eq!(project.names(), ["known.json", "new.pcap", "old.pcap"]);
    assert_eq!(check(&project, &["--fail-on", "note"], "new.pcap").code, 0);
}

#[test]
fn unknown_rules_are_a_warning() {
    let project = project("unknown");
    let known = project.read("known.json").replace("A2S030", "A2S999");
    project.write("known.json", &known);
    let run = check(&project, &["--fail-on", "never"], "old.pcap");
    assert!(run.err.contains("warning: "), "{}", run.err);
    assert!(run.err.contains("1 finding of rules that are not known: A2S999"), "{}", run.err);
}

#[test]
fn a_baseline_that_is_too_large_is_an_error() {
    let project = project("large");
    let file = std::fs::File::create(project.path("known.json")).expect("a file");
    file.set_len((64 << 20) + 1).expect("a file with a hole");
    let run = check(&project, &[], "old.pcap");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("known.json: it is larger than a baseline can be"), "{}", run.err);
}
