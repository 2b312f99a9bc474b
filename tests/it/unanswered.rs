//! `dissect` marks requests that are not answered.

use std::fs::File;
use std::process::Command;

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;

/// The second request is not answered; one more follows in time, and the last one is at the end.
const SCRIPT: &str = "
    0.00 c > s  FFFFFFFF 55 FFFFFFFF
    0.01 s > c  FFFFFFFF 41 11223344
    0.02 c > s  FFFFFFFF 55 11223344
    9.00 c > s  FFFFFFFF 55 11223344
    9.01 s > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5
    20.0 c > s  FFFFFFFF 55 11223344
    end 40";

/// The packets whose lines have the mark, and the packets of lines that have nothing else.
fn marked(out: &str) -> (Vec<u64>, Vec<u64>) {
    let (mut marked, mut alone) = (Vec::new(), Vec::new());
    for line in out.lines().filter(|line| line.ends_with("no answer")) {
        let mut words = line.split_whitespace().skip(1);
        let frame = words.next().unwrap().parse().unwrap();
        if words.next() == Some("no") { alone.push(frame) } else { marked.push(frame) }
    }
    (marked, alone)
}

#[test]
fn a_request_without_a_response_is_marked_in_its_line() {
    let (_project, file) = Project::of_script(SCRIPT, &Setting::udp(27015));
    for threads in ["1", "8"] {
        let run = gamewire(["dissect", "--no-config", "--threads", threads, &file]);
        assert_eq!(marked(&run.out), (vec![3, 6], vec![]), "{}", run.out);
        let run = gamewire(["dissect", "--no-config", "-v", "--threads", threads, &file]);
        assert_eq!(run.out.matches("no answer").count(), 2, "{}", run.out);
    }
    // Scripts ask `check`.
    let json = gamewire(["dissect", "--no-config", "--format", "json", &file]);
    assert!(!json.out.contains("no answer"), "{}", json.out);
}

#[test]
fn of_selected_messages_only_those_are_marked() {
    let (_project, file) = Project::of_script(SCRIPT, &Setting::udp(27015));
    let requests = r#"message == "player_request""#;
    let run = gamewire(["dissect", "--no-config", "-Y", requests, &file]);
    assert_eq!(marked(&run.out), (vec![3, 6], vec![]), "{}", run.out);
    let run = gamewire(["dissect", "--no-config", "-Y", "a2s.player_response", &file]);
    assert_eq!(marked(&run.out), (vec![], vec![]), "{}", run.out);
}

/// What was written at once gets a line of its own.
#[test]
fn in_a_stream_the_mark_follows() {
    let (_project, file) = Project::of_script(SCRIPT, &Setting::udp(27015));
    let command = ["dissect", "--no-config", "--line-buffered", "-"];
    let run = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .args(command)
        .stdin(File::open(&file).unwrap())
        .output()
        .unwrap();
    let out = String::from_utf8(run.stdout).unwrap();
    let (mut inside, alone) = marked(&out);
    inside.extend(alone);
    inside.sort_unstable();
    assert_eq!(inside, [3, 6], "{out}");
}

/// Any packet of a host shows that it runs. Where the recorder sees responses, one request is enough then.
#[test]
fn a_host_that_joins_and_does_not_answer_is_silent() {
    let verdict = |script: &str| {
        let (_project, file) = Project::of_script(script, &Setting::udp(27015));
        let run = gamewire(["check", "--no-config", "--format", "json", &file]);
        let checked: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let mut rules = checked["rules"].as_array().unwrap().iter();
        rules.find(|rule| rule["code"] == "A2S062").unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    let join = "0.0 s > m:27010  71\n";
    let challenge = "0.02 m:27010 > s  FFFFFFFF 730A le32:7\n";
    let question = "1.0 c > s  FFFFFFFF 'TSource Engine Query' 00\nend 9";
    assert_eq!(verdict(&format!("{join}{challenge}{question}")), "fail");
    assert_eq!(
        verdict(&format!("{join}{question}")),
        "inconclusive",
        "one direction may be missing"
    );
    assert_eq!(verdict(question), "inconclusive");
}

/// What comes from another port of the master is an answer, too.
#[test]
fn a_master_that_answers_from_another_port_is_not_silent() {
    let list = "FFFFFFFF 660A ip:10.0.0.2:27015 00*6";
    for (asked, answer) in [
        ("c > m:27011  31 FF '0.0.0.0:0' 00 00", list),
        ("c > m:27011  71", "FFFFFFFF 730A 09000000"),
    ] {
        for (port, verdict) in [(27099, "pass"), (27011, "pass"), (0, "fail")] {
            let answered = format!("0.02 m:{port} > c  {answer}\n");
            let answered = if port == 0 { String::new() } else { answered };
            let script = format!("0.00 {asked}\n{answered}end 20");
            let (_project, file) = Project::of_script(&script, &Setting::udp(27011));
            let run = gamewire(["check", "--no-config", "--complete", "--format", "json", &file]);
            let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
            for code in ["NET012", "NET014"] {
                let rules = report["rules"].as_array().unwrap();
                let rule = rules.iter().find(|it| it["code"] == code).unwrap();
                assert_eq!(rule["verdict"], verdict, "{code}: {script}");
            }
        }
    }
}
