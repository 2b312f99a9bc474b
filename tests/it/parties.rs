//! `gamewire check` where it matters who did what, which findings are kept, and in which file they
//! are.

use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

const SETTING: Setting = Setting::udp(27015);

/// A player list whose count is right, of the first server; one whose count is wrong, of the
/// second.
const TWO_SERVERS: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n\
    0.02 s > c  FFFFFFFF 41 4BA1D522\n0.03 c > s  FFFFFFFF 55 4BA1D522\n\
    0.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 00000000 f32:1.5\n\
    1.00 c > t  FFFFFFFF 55 FFFFFFFF\n\
    1.02 t > c  FFFFFFFF 41 4BA1D522\n1.03 c > t  FFFFFFFF 55 4BA1D522\n\
    1.05 t > c  FFFFFFFF 44 02 00 'Ann' 00 00000000 f32:1.5\nend 9";

/// A response that ends inside a field: nobody may send such.
const CUT_SHORT: &str = "0.00 c > s  FFFFFFFF 54 'Source Engine Query' 00\n\
    0.02 s > c  FFFFFFFF 49 11 'Name' 00 'map' 00 'fol'\nend 9";

/// Requests for a challenge that are as good as right, and one challenge that nobody gave.
fn notes_then_an_error(notes: usize) -> String {
    let mut script =
        "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.00 s > c  FFFFFFFF 41 4BA1D522\n".to_owned();
    for turn in 0..notes {
        let at = turn as f64 / 10.0;
        script += &format!("{at:.1} c > s  FFFFFFFF 55 00000000\n");
        script += &format!("{:.2} s > c  FFFFFFFF 41 4BA1D522\n", at + 0.01);
    }
    script + "+1 c > s  FFFFFFFF 55 01020304\n+0.01 s > c  FFFFFFFF 41 4BA1D522\nend 999"
}

fn json(project: &Project, args: &[&str]) -> Value {
    let run = project.run(&[&["check", "--format", "json"], args].concat());
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("JSON: {}", run.err))
}

fn rule<'v>(outcome: &'v Value, code: &str) -> &'v Value {
    let rules = outcome["rules"].as_array().expect("rules");
    rules.iter().find(|rule| rule["code"] == code).expect("every rule is there")
}

fn found<'v>(outcome: &'v Value, code: &str) -> Vec<&'v Value> {
    let findings = outcome["findings"].as_array().expect("findings");
    findings.iter().filter(|found| found["rule"] == code).collect()
}

#[test]
fn what_fails_is_kept_whatever_came_before_it() {
    let project = Project::new("kept");
    project.play("kept.pcap", &SETTING, &notes_then_an_error(1100));
    let outcome = json(&project, &["kept.pcap"]);
    let findings = found(&outcome, "A2S022");
    let errors = findings.iter().filter(|found| found["severity"] == "error").count();
    assert_eq!((findings.len(), errors), (1001, 1));
    assert_eq!((&outcome["findings_left_out"], &outcome["verdict"]), (&100.into(), &"fail".into()));
    let run = project.run(&["check", "kept.pcap"]);
    let first = run.out.lines().next().expect("a verdict");
    assert!(first.contains(": 1 error, 0 warnings, 1,100 notes; "));
    assert!(run.out.contains("  1,100 x client 10.0.0.1, first in frame 3,"), "{}", run.out);
}

#[test]
fn the_findings_that_fail_come_first_where_not_all_are_shown() {
    let project = Project::new("first");
    project.play("many.pcap", &SETTING, &notes_then_an_error(60));
    let github = project.run(&["check", "--format", "github", "many.pcap"]).out;
    assert!(github.starts_with("::error "), "{github}");
    // GitHub shows ten of a kind in a step, of all captures together.
    let github = project.run(&["check", "--format", "github", "many.pcap", "many.pcap"]).out;
    let count = |kind: &str| github.lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!((count("::error "), count("::notice ")), (2, 10), "{github}");
    assert!(github.contains("\nand 110 more notes: GitHub shows 10 of a kind in a step\n"));
    let junit = project.run(&["check", "--format", "junit", "many.pcap"]).out;
    let failure = junit.lines().find(|line| line.contains("<failure ")).expect("a failure");
    assert!(failure.contains("never issued") && !failure.contains("to ask"), "{failure}");
}

#[test]
fn what_anybody_may_break_is_the_fault_of_who_sent_it() {
    let project = Project::new("any");
    project.play("short.pcap", &SETTING, CUT_SHORT);
    for (who, code) in [("server", 1), ("client", 0), ("master", 0)] {
        assert_eq!(project.run(&["check", "--who", who, "short.pcap"]).code, code, "{who}");
    }
    let outcome = json(&project, &["short.pcap"]);
    assert_eq!(rule(&outcome, "A2S004")["who"], "any");
    let findings = found(&outcome, "A2S004");
    assert_eq!((findings.len(), &findings[0]["who"]), (1, &"server".into()));
    assert!(project.run(&["check", "short.pcap"]).out.contains(", server 10.0.0.2:27015, info_"));
}

#[test]
fn only_what_the_party_did_counts() {
    let project = Project::new("host");
    project.play("two.pcap", &SETTING, TWO_SERVERS);
    let counts = |host: &str| {
        let outcome = json(&project, &["--host", host, "two.pcap"]);
        let rule = rule(&outcome, "A2S030");
        (rule["passed"].as_u64(), rule["failed"].as_u64(), outcome["verdict"].to_string())
    };
    assert_eq!(counts("10.0.0.2"), (Some(1), Some(0), "\"pass\"".to_owned()));
    assert_eq!(counts("10.0.1.2:27015"), (Some(0), Some(1), "\"fail\"".to_owned()));
    assert_eq!(counts("10.0.0.99"), (Some(0), Some(0), "\"not_exercised\"".to_owned()));
    // What a client sends is not for the server to keep.
    let outcome = json(&project, &["--who", "client", "two.pcap"]);
    assert_eq!(rule(&outcome, "A2S030")["verdict"], "not_exercised");
    assert_eq!(rule(&outcome, "A2S022")["verdict"], "pass");
    for threads in ["1", "2"] {
        let args = ["--host", "10.0.0.2", "--threads", threads, "two.pcap"];
        assert_eq!(json(&project, &args), json(&project, &["--host", "10.0.0.2", "two.pcap"]));
    }
}

#[test]
fn a_rule_that_is_required_and_not_exercised_fails_in_every_format() {
    let project = Project::new("required");
    project.play("two.pcap", &SETTING, TWO_SERVERS);
    project.play("short.pcap", &SETTING, CUT_SHORT);
    let args = ["check", "--host", "10.0.0.99", "--require", "A2S030"];
    let run = |more: &[&str]| project.run(&[&args, more].concat());
    let text = run(&["two.pcap"]);
    assert_eq!(text.code, 1);
    assert!(text.out.starts_with("FAIL ") && text.err.contains("A2S030 was not exercised"));
    assert!(text.out.contains("required A2S030 player-count: it was not exercised"));
    let outcome = json(&project, &[&args[1..], &["two.pcap", "short.pcap"]].concat());
    let missing = &rule(&outcome, "A2S030")["missing"];
    assert_eq!((&outcome["verdict"], missing), (&"fail".into(), &2.into()));
    let junit = run(&["--format", "junit", "two.pcap"]).out;
    assert!(junit.contains("message=\"required, and not exercised\""));
    let github = run(&["--format", "github", "two.pcap"]).out;
    assert!(github.contains("title=A2S030 player-count::required, and not exercised"));
    let sarif = run(&["--format", "sarif", "two.pcap"]).out;
    assert!(sarif.contains("required, and not exercised"));
    let ignored = json(&project, &["--require", "A2S004", "--ignore", "A2S004", "two.pcap"]);
    assert_eq!(
        (&ignored["verdict"], &rule(&ignored, "A2S004")["missing"]),
        (&"fail".into(), &1.into())
    );
    let exercised = project.run(&["check", "--require", "A2S004", "two.pcap"]);
    assert!(!exercised.out.contains("it was not exercised"), "{}", exercised.out);
}

#[test]
fn a_known_form_counts_for_who_has_it() {
    let project = Project::new("forms");
    // A challenge is asked for with 0.
    let script = "0.00 c > s  FFFFFFFF 55 00000000\n0.02 s > c  FFFFFFFF 41 01020304\nend 1";
    project.play("zero.pcap", &SETTING, script);
    let passed = |args: &[&str]| {
        let outcome = json(&project, &[args, &["zero.pcap"]].concat());
        assert_eq!(found(&outcome, "A2S022").len() as u64, rule(&outcome, "A2S022")["passed"]);
        rule(&outcome, "A2S022")["passed"].clone()
    };
    assert_eq!((passed(&[]), passed(&["--who", "client"])), (1.into(), 1.into()));
    assert_eq!(passed(&["--who", "server"]), 0);
    assert_eq!(passed(&["--host", "10.0.0.99"]), 0);
}

#[test]
fn a_finding_in_merged_files_names_its_own() {
    let project = Project::new("merged");
    project.play("a.pcap", &SETTING, "0.00 c > s  FFFFFFFF 69\n0.02 s > c  FFFFFFFF 6A 00\nend 1");
    project.play("b.pcap", &SETTING, CUT_SHORT);
    let outcome = json(&project, &["--merge", "a.pcap", "b.pcap"]);
    let cut = found(&outcome, "A2S004");
    assert_eq!(cut[0]["capture"], project.path("b.pcap").as_str());
    let ping = found(&outcome, "A2S064");
    assert_eq!(ping[0]["capture"], project.path("a.pcap").as_str());
    for format in ["text", "github", "junit"] {
        let run = project.run(&["check", "--format", format, "--merge", "a.pcap", "b.pcap"]);
        let place = format!("frame 4 of all, in {}", project.path("b.pcap"));
        assert!(run.out.contains(&place), "{}", run.out);
    }
    let sarif = project.run(&["check", "--format", "sarif", "--merge", "a.pcap", "b.pcap"]).out;
    let log: Value = serde_json::from_str(&sarif).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let result = results.iter().find(|result| result["ruleId"] == "A2S004").expect("found");
    let place = &result["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().expect("a file").ends_with("b.pcap"));
    let at = place["region"]["byteOffset"].as_u64().expect("a place") as usize;
    let bytes = std::fs::read(project.path("b.pcap")).expect("the capture");
    assert!(bytes[..at].ends_with(b"map\0") || bytes[at..].starts_with(b"fol"), "{at}");
}
