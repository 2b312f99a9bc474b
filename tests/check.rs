//! `gamewire check`: exit codes, choices, and what it writes.

mod support;

use serde_json::Value;
use support::gamewire;
use xtask::exchange::{Setting, capture};

const BROKEN: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
    0.03 c > s  FFFFFFFF 55 4BA1D522\n0.05 s > c  FFFFFFFF 44 02 00 'Ann' 00 00000000 f32:1.5";

const UNANSWERED: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\nend 10";

struct File(std::path::PathBuf);

impl File {
    fn of(name: &str, script: &str) -> File {
        let bytes = capture(script, &Setting::udp(27015)).expect("a good script").pcap();
        let path =
            std::env::temp_dir().join(format!("gamewire-check-{}-{name}.pcap", std::process::id()));
        std::fs::write(&path, bytes).expect("a writable folder");
        File(path)
    }

    fn check(&self, options: &[&str]) -> support::Run {
        let path = self.0.to_string_lossy().into_owned();
        let options = options.iter().map(|option| (*option).to_owned());
        gamewire(["check".to_owned()].into_iter().chain(options).chain([path]))
    }

    fn json(&self, options: &[&str]) -> Value {
        let options: Vec<_> = ["--format", "json"].iter().chain(options).copied().collect();
        serde_json::from_str(&self.check(&options).out).expect("JSON")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[test]
fn a_broken_rule_is_exit_1_and_named_with_its_party() {
    let file = File::of("broken", BROKEN);
    let run = file.check(&[]);
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    let out = run.out.replace(&*file.0.to_string_lossy(), "broken.pcap");
    insta::assert_snapshot!("check-text", out);
    let outcome = file.json(&[]);
    assert_eq!(outcome["verdict"], "fail");
    let findings = outcome["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["rule"] == "A2S030").expect("found");
    assert_eq!(finding["party"], "10.0.0.2:27015");
    assert_eq!(finding["frames"], serde_json::json!([4]));
    assert_eq!((&finding["offset"], &finding["length"]), (&5.into(), &1.into()));
}

#[test]
fn what_fails_can_be_chosen() {
    let file = File::of("chosen", BROKEN);
    assert_eq!(file.check(&["--ignore", "A2S030"]).code, 0);
    assert_eq!(file.check(&["--select", "A2S022,A2S023"]).code, 0);
    assert_eq!(file.check(&["--select", "player-count"]).code, 1);
    assert_eq!(file.check(&["--who", "client"]).code, 0);
    assert_eq!(file.check(&["--who", "server"]).code, 1);
    assert_eq!(file.check(&["--host", "10.0.0.1"]).code, 0);
    assert_eq!(file.check(&["--host", "10.0.0.2:27015"]).code, 1);
    assert_eq!(file.check(&["--host", "10.0.0.2:27016"]).code, 0);
    let run = file.check(&["--ignore", "A2S030", "--require", "VM001"]);
    assert!(run.code == 1 && run.err.contains("VM001 was not exercised"), "{}", run.err);
    assert_eq!(file.check(&["--ignore", "A2S030", "--require", "A2S022"]).code, 0);
    assert_eq!(file.check(&["--select", "A2S999"]).code, 2);
}

#[test]
fn severities_below_the_least_do_not_fail() {
    let script = format!("{BROKEN}\n0.06 c > s  FFFFFFFF 69").replace("44 02", "44 01");
    let file = File::of("notes", &script);
    assert_eq!(file.check(&[]).code, 0);
    assert_eq!(file.check(&["--fail-on", "note"]).code, 1);
}

#[test]
fn a_missing_answer_is_a_proof_only_if_the_user_vouches() {
    let file = File::of("unanswered", UNANSWERED);
    let fared = |options: &[&str]| {
        let outcome = file.json(options);
        let rules = outcome["rules"].as_array().expect("rules").clone();
        let rule = rules.iter().find(|rule| rule["code"] == "A2S062").expect("the rule").clone();
        rule["verdict"].as_str().expect("a verdict").to_owned()
    };
    assert_eq!(fared(&[]), "inconclusive");
    assert_eq!(fared(&["--complete"]), "fail");
}

#[test]
fn every_rule_is_listed_exercised_or_not() {
    let outcome = File::of("listed", BROKEN).json(&[]);
    let listed = gamewire(["rules"]).out.lines().count();
    assert_eq!(outcome["rules"].as_array().map(Vec::len), Some(listed));
    let rules: Value =
        serde_json::from_str(&gamewire(["rules", "--format", "json"]).out).expect("JSON");
    assert_eq!(rules.as_array().map(Vec::len), Some(listed));
}

#[test]
fn a_rule_is_explained() {
    let run = gamewire(["explain", "A2S030"]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!("explain", run.out);
    assert_eq!(gamewire(["explain", "XYZ"]).code, 2);
}
