//! SARIF and JUnit output is valid by the published schemas: for all samples and the wrong example of every
//! rule, with and without a configuration and a baseline.

use crate::support::examples;
use crate::support::project::Project;
use crate::support::{gamewire, samples};
use dissectors::catalogue;
use serde_json::Value;
use uppsala::XsdValidator;

const SARIF: &str = include_str!("../schemas/sarif-schema-2.1.0.json");
const JUNIT: &str = include_str!("../schemas/junit-10.xsd");

/// The schema's errors for a SARIF log.
fn sarif_errors(log: &Value) -> Vec<String> {
    // The schema's pattern for languages, which gamewire does not write, has an unbalanced bracket that
    // this implementation rejects.
    let schema = SARIF.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&schema).expect("the schema is JSON");
    let validator = jsonschema::options().should_validate_formats(true).build(&schema);
    let validator = validator.expect("the schema is one");
    validator.iter_errors(log).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The schema's errors for a JUnit document.
fn junit_errors(document: &str) -> Vec<String> {
    let schema = uppsala::parse(JUNIT).expect("the schema is XML");
    let validator = XsdValidator::from_schema(&schema).expect("the schema is one");
    let document = match uppsala::parse(document) {
        Ok(document) => document,
        Err(error) => return vec![error.to_string()],
    };
    validator.validate(&document).iter().map(ToString::to_string).collect()
}

/// All samples and all wrong examples, as captures in a folder.
fn captures(project: &Project) -> Vec<String> {
    let mut captures: Vec<String> =
        samples().iter().map(|sample| sample.to_string_lossy().into_owned()).collect();
    for rule in catalogue::rules() {
        if let Ok(bytes) = examples::play(rule, rule.wrong, false) {
            let name = format!("{}.pcap", rule.code);
            project.write(&name, bytes);
            captures.push(project.path(&name));
        }
    }
    assert!(captures.len() > 100, "there are samples and examples");
    captures
}

fn check(options: &[&str], captures: &[String]) -> String {
    let options = options.iter().map(|option| (*option).to_owned());
    let args = ["check", "--verify-checksums", "--complete"].map(str::to_owned).into_iter();
    let run = gamewire(args.chain(options).chain(captures.iter().cloned()));
    assert!(run.code < 2, "{}", run.err);
    run.out
}

#[test]
fn sarif_is_valid() {
    let project = Project::new("sarif-schema");
    let captures = captures(&project);
    project.write("gamewire.toml", "[severity]\nA2S030 = \"note\"\nVM001 = \"warning\"");
    let (config, known) = (project.path("gamewire.toml"), project.path("known.json"));
    check(&["--select", "A2S030,A2S022", "--write-baseline", &known], &captures);
    for options in [&[][..], &["--config", &config, "--baseline", &known]] {
        let out = check(&[&["--format", "sarif"], options].concat(), &captures);
        let log: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(sarif_errors(&log), Vec::<String>::new(), "{options:?}");
        let results = log["runs"][0]["results"].as_array().expect("results");
        assert!(results.len() > 100);
        let invoked = log["runs"][0].get("invocations").is_some();
        assert_eq!(invoked, !options.is_empty());
        let suppressed = |result: &Value| result["suppressions"][0].is_object();
        assert_eq!(results.iter().any(suppressed), !options.is_empty());
        every_result_names_its_rule(&log["runs"][0]);
    }
}

/// Checks that indices refer to the right rules, which the schema cannot express.
fn every_result_names_its_rule(run: &Value) {
    let at = |index: &Value| {
        let index = usize::try_from(index.as_u64().expect("an index")).expect("a small one");
        run["tool"]["driver"]["rules"][index]["id"].clone()
    };
    for result in run["results"].as_array().expect("results") {
        assert_eq!(at(&result["ruleIndex"]), result["ruleId"]);
    }
    let overrides = run["invocations"][0]["ruleConfigurationOverrides"].as_array();
    for changed in overrides.into_iter().flatten() {
        assert_eq!(at(&changed["descriptor"]["index"]), changed["descriptor"]["id"]);
    }
}

#[test]
fn junit_is_valid() {
    let project = Project::new("junit-schema");
    let captures = captures(&project);
    let known = project.path("known.json");
    check(&["--select", "A2S030,A2S022", "--write-baseline", &known], &captures);
    for options in [&[][..], &["--fail-on", "note"], &["--baseline", &known]] {
        let out = check(&[&["--format", "junit"], options].concat(), &captures);
        assert_eq!(junit_errors(&out), Vec::<String>::new(), "{options:?}");
        let document = uppsala::parse(&out).expect("XML");
        counts_are_right(&document);
        let suites = document.get_elements_by_tag_name("testsuite").len();
        assert_eq!(suites, captures.len());
        let cases = document.get_elements_by_tag_name("testcase").len();
        assert_eq!(cases, suites * catalogue::rules().len());
        assert!(!document.get_elements_by_tag_name("failure").is_empty());
    }
}

/// The path of the first sample whose name starts with this.
fn sample(begins: &str) -> String {
    let is = |path: &&std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins))
    };
    samples().iter().find(is).expect("the sample").to_string_lossy().into_owned()
}

#[test]
fn sarif_has_links_to_rules_and_the_number_of_answered_requests() {
    let out = check(&["--format", "sarif"], &[sample("silence-unanswered")]);
    let log: Value = serde_json::from_str(&out).expect("JSON");
    let run = &log["runs"][0];
    assert_eq!(run["automationDetails"]["id"], "gamewire/check/");
    assert_eq!(run["properties"]["requestsAnswered"], 0);
    assert!(run["properties"]["requestsAsked"].as_u64() > Some(0));
    for rule in run["tool"]["driver"]["rules"].as_array().expect("rules") {
        let (id, name) = (rule["id"].as_str().unwrap(), rule["name"].as_str().unwrap());
        let anchor = format!("docs/rules.md#{}-{name}", id.to_lowercase());
        assert!(rule["helpUri"].as_str().unwrap().ends_with(&anchor), "{rule}");
        let is_security = rule["properties"]["security-severity"].is_string();
        assert_eq!(is_security, id.starts_with("SEC"), "{rule}");
    }
}

#[test]
fn junit_has_bytes_texts_and_the_number_of_answered_requests() {
    let out = check(&["--format", "junit"], &[sample("silence-unanswered")]);
    assert!(out.contains("<property name=\"answered\" value=\"0\"/>"), "{out}");
    let project = Project::new("junit-failure");
    let rule = catalogue::rule("A2S030").expect("a rule");
    project.write("a.pcap", examples::play(rule, rule.wrong, false).expect("an example"));
    let out = check(&["--format", "junit"], &[project.path("a.pcap")]);
    assert!(out.contains("ff ff ff ff 44["), "{out}");
    assert!(out.contains("\nby: Valve Developer Community, Server queries, &quot;"), "{out}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_in_the_report() {
    let good = sample("a2s-goldsrc");
    for files in [&["/no/such/file", &good][..], &["/no/such/file"]] {
        let run = |format| gamewire([&["check", "--format", format], files].concat());
        let junit = run("junit");
        assert_eq!(junit.code, 2);
        assert_eq!(junit_errors(&junit.out), Vec::<String>::new());
        let document = uppsala::parse(&junit.out).expect("XML");
        counts_are_right(&document);
        assert_eq!(document.get_elements_by_tag_name("testsuite").len(), files.len());
        assert!(junit.out.contains("<testsuite name=\"/no/such/file\" tests=\"1\""));
        let sarif = run("sarif");
        assert_eq!(sarif.code, 2);
        let log: Value = serde_json::from_str(&sarif.out).expect("JSON");
        assert_eq!(sarif_errors(&log), Vec::<String>::new());
        let invocation = &log["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        let reported = &invocation["toolExecutionNotifications"][0];
        let location = &reported["locations"][0]["physicalLocation"]["artifactLocation"];
        assert_eq!(location["uri"], "/no/such/file");
    }
}

/// Checks that the counts are those of the cases, which the schema cannot express.
fn counts_are_right(document: &uppsala::Document<'_>) {
    let number = |element, name| {
        let value = document.get_attribute(element, name).expect("an attribute");
        value.parse::<usize>().expect("a number")
    };
    let root = document.document_element().expect("a root");
    let suites = document.get_elements_by_tag_name("testsuite");
    for name in ["tests", "failures", "errors"] {
        let sum: usize = suites.iter().map(|&suite| number(suite, name)).sum();
        assert_eq!(number(root, name), sum, "{name}");
    }
    for (count, tag) in [
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ] {
        let sum: usize = suites.iter().map(|&suite| number(suite, count)).sum();
        assert_eq!(document.get_elements_by_tag_name(tag).len(), sum, "{count}");
    }
}

#[test]
fn the_schemas_reject_invalid_output() {
    let sample = samples()[0].to_string_lossy().into_owned();
    let log = check(&["--format", "sarif"], std::slice::from_ref(&sample));
    let log: Value = serde_json::from_str(&log).expect("JSON");
    let spoilt: [fn(&mut Value); 4] = [
        |log| log["version"] = "2.0.0".into(),
        |log| log["runs"][0]["tool"]["driver"]["name"] = 5.into(),
        |log| log["runs"][0]["results"][0]["level"] = "fatal".into(),
        |log| log["runs"][0]["results"][0]["bogus"] = true.into(),
    ];
    for spoil in spoilt {
        let mut log = log.clone();
        spoil(&mut log);
        assert!(!sarif_errors(&log).is_empty(), "{log}");
    }
    let junit = check(&["--format", "junit"], &[sample]);
    for (right, wrong) in [
        (" classname=", " assertions=\"1\" classname="),
        (" tests=", " count="),
        ("<skipped message=\"not exercised\"/>", "<skip/>"),
        ("<testsuites ", "<testsuites skipped=\"1\" "),
    ] {
        assert!(junit.contains(right));
        assert!(!junit_errors(&junit.replacen(right, wrong, 1)).is_empty(), "{wrong}");
    }
}

#[test]
fn a_suite_has_the_time_of_its_capture() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/silence-unanswered.pcap");
    let run = gamewire(["check", "--format", "junit", sample]);
    assert!(run.out.contains(r#" timestamp="2026-01-01T00:00:00" time="40.000""#), "{}", run.out);
}

#[test]
fn the_summary_of_a_step_is_appended() {
    let file = std::env::temp_dir().join(format!("gamewire-summary-{}.md", std::process::id()));
    std::fs::write(&file, "before\n").expect("a writable folder");
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/silence-unanswered.pcap");
    let path = file.to_string_lossy().into_owned();
    let run =
        gamewire(["check", "--format", "github", "--summary", &path, sample, "/nowhere.pcap"]);
    let summary = std::fs::read_to_string(&file).expect("it is there");
    std::fs::remove_file(&file).ok();
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(summary.starts_with("before\n### gamewire check\n"), "{summary}");
    for text in
        ["| fail | 1 | 7 | 0 | 0 of 9 |", "| NET012 nothing-answered | error | 1 |", "nowhere.pcap"]
    {
        assert!(summary.contains(text), "{text}: {summary}");
    }
}
