//! `gamewire check`: exit codes, options, and output.

use crate::support;
use crate::support::gamewire;
use captures::exchange::{Setting, capture};
use serde_json::Value;

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
    insta::assert_snapshot!("check-text", support::without_other_rules(&out));
    let outcome = file.json(&[]);
    assert_eq!(outcome["verdict"], "fail");
    let findings = outcome["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["rule"] == "A2S030").expect("found");
    assert_eq!(finding["party"], "10.0.0.2:27015");
    assert_eq!(finding["frames"], serde_json::json!([4]));
    assert_eq!((&finding["offset"], &finding["length"]), (&5.into(), &1.into()));
}

#[test]
fn the_severity_that_fails_is_an_option() {
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
    assert_eq!(file.check(&["--fail-on", "never"]).code, 0);
    assert!(file.check(&["--fail-on", "never"]).out.starts_with("FAIL"));
}

#[test]
fn rules_are_selected_by_code_prefixes_and_names() {
    let file = File::of("prefixes", BROKEN);
    let exercised = |rules: &str| {
        let outcome = file.json(&["--select", rules]);
        outcome["rules"].as_array().expect("rules").len()
    };
    let listed = |words: &[&str]| gamewire(["rules"].iter().chain(words)).out.lines().count();
    assert_eq!(exercised("a2s04"), 9);
    assert_eq!(exercised("A2S04,player-count,A2S030"), 10);
    assert_eq!(listed(&["A2S04", "player-count", "A2S030"]), 10);
    let prefixes = Vec::from_iter(dissectors::GROUPS.iter().map(|group| group.prefix));
    let (first, others) = prefixes.split_first().expect("groups");
    assert_eq!(listed(&[*first]) + listed(others), listed(&[]));
    assert_eq!(file.check(&["--ignore", "A2S03"]).code, 0);
    assert_eq!(file.check(&["--ignore", "A2S03", "--require", "A2S02"]).code, 1);
    let explained = gamewire(["explain", "A2S04", "request-answered"]).out;
    for code in ["A2S040 ", "A2S048 ", "A2S062 ", "GS4031 "] {
        assert!(explained.contains(code), "{code}");
    }
}

#[test]
fn errors_about_misspelt_rules_suggest_similar_ones() {
    for (word, meant) in
        [("player-cuont", "`player-count`"), ("A2S0300", "`A2S030`"), ("VN001", "`VM001`")]
    {
        for command in [&["explain"][..], &["rules"], &["check", "--select"]] {
            let run = gamewire(command.iter().copied().chain([word, "a.pcap"]));
            assert_eq!((run.code, run.err.lines().count()), (2, 1), "{}", run.err);
            assert!(run.err.contains(&format!("did you mean {meant}")), "{}", run.err);
        }
    }
    let run = gamewire(["explain", "zzz"]);
    assert!(run.err.contains("`gamewire rules` lists them"), "{}", run.err);
}

/// A server that claims twice as many players as it lists, this number of times.
fn miscounted(times: u32) -> String {
    let exchange = |nth: u32| {
        let (from, second, tenth) = (50_000 + nth, nth / 10, nth % 10);
        format!(
            "{second}.{tenth}0 c:{from} > s FFFFFFFF 55 FFFFFFFF\n{second}.{tenth}2 s > c:{from} \
             FFFFFFFF 44 02 00 'Ann' 00 00000000 f32:1.5\n"
        )
    };
    (0..times).map(exchange).collect()
}

#[test]
fn all_findings_of_a_rule_are_counted_by_party() {
    let file = File::of("parties", &miscounted(1500));
    let out = file.check(&["--select", "A2S030"]).out;
    assert!(
        out.contains("\nerror A2S030 player-count: Num Players says 2, the packet holds 1 entr"),
        "{out}"
    );
    assert!(out.contains("\n  1,500 x server 10.0.0.2:27015\n    frame 2, "), "{out}");
    assert!(out.starts_with("FAIL") && out.contains(": 1,500 errors, "), "{out}");
    for threads in ["1", "2", "8"] {
        assert_eq!(file.check(&["--select", "A2S030", "--threads", threads]).out, out);
    }
    let findings = |most: &str| {
        let out = file.check(&["--select", "A2S030", "--max-findings", most]).out;
        out.lines().filter(|line| line.contains("frame ")).count()
    };
    assert_eq!([findings("0"), findings("2"), findings("7")], [0, 2, 7]);
}

#[test]
fn a_note_is_reported_once_for_each_server() {
    let asked = |at: u32| {
        let (from, server) = (50_000 + at, if at.is_multiple_of(2) { "s" } else { "t" });
        format!(
            "{at}.0 c:{from} > {server} FFFFFFFF 54 'Source Engine Query' 00\n\
             {at}.1 {server} > c:{from} FFFFFFFF 41 01020304\n"
        )
    };
    let script: String = (1..10).map(asked).collect();
    let file = File::of("notes-once", &script);
    let out = file.check(&["--select", "A2S026"]).out;
    let reported: Vec<_> = out.lines().filter(|line| line.contains(" x server ")).collect();
    let begin = [
        "  5 x server 10.0.1.2:27015, first in frame 2,",
        "  4 x server 10.0.0.2:27015, first in frame 4,",
    ];
    assert!(
        reported.len() == 2 && reported.iter().zip(begin).all(|(a, b)| a.starts_with(b)),
        "{out}"
    );
    let outcome = file.json(&["--select", "A2S026"]);
    assert_eq!(outcome["findings"].as_array().map(Vec::len), Some(9), "all of them");
}

#[test]
fn the_table_omits_passed_rules_unless_all_are_requested() {
    let file = File::of("table", BROKEN);
    let rows = |options: &[&str]| {
        let out = file.check(options).out;
        out.lines()
            .skip_while(|line| !line.starts_with("RULE "))
            .filter(|line| line.starts_with("A2S"))
            .count()
    };
    assert_eq!([rows(&[]), rows(&["--quiet"])], [1, 0]);
    assert_eq!(rows(&["--all-rules"]), gamewire(["rules", "A2S"]).out.lines().count());
    let quiet = file.check(&["-q"]).out;
    assert!(
        quiet.starts_with("FAIL") && quiet.contains("error A2S030") && !quiet.contains("RULE ")
    );
}

#[test]
fn the_totals_of_several_captures_name_failed_ones() {
    let (good, bad) = (File::of("total-good", UNANSWERED), File::of("total-bad", BROKEN));
    let [good, bad] = [&good, &bad].map(|file| file.0.to_string_lossy().into_owned());
    let run = gamewire(["check", &good, &bad]);
    let last = run.out.lines().last().expect("a line");
    let expected = format!(
        "FAIL  2 captures, 1 failed ({bad}): 1 error, 0 warnings, 0 notes; 1 of 2 requests answered, 5 messages in 2 flows"
    );
    assert_eq!(last, expected);
    let quiet = gamewire(["check", "-q", &good, &bad]).out;
    assert!(!quiet.contains(&good) && quiet.ends_with(&format!("{last}\n")), "{quiet}");
}

#[test]
fn lower_severities_do_not_fail() {
    let script = format!("{BROKEN}\n0.06 c > s  FFFFFFFF 69").replace("44 02", "44 01");
    let file = File::of("notes", &script);
    assert_eq!(file.check(&[]).code, 0);
    assert_eq!(file.check(&["--fail-on", "note"]).code, 1);
}

#[test]
fn a_missing_response_fails_only_in_complete_captures() {
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

/// As docs/ci.md says.
#[test]
fn a_server_that_answers_some_requests_fails_as_warnings_do() {
    let ask = |at: u32| format!("{at}.00 c > s  FFFFFFFF 54 'Source Engine Query' 00\n");
    let info = "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let script = format!("{}0.02 s > c  {info}\n{}{}end 90", ask(0), ask(30), ask(60));
    let file = File::of("some-answered", &script);
    assert_eq!(file.check(&["--complete"]).code, 0);
    let run = file.check(&["--complete", "--fail-on", "warning", "--require-traffic"]);
    assert!(run.code == 1 && run.out.contains("A2S062"), "{}", run.out);
}

#[test]
fn a_reset_is_a_fault_of_its_sender() {
    let listed = r"0.00 m:28900 > c tcp '\\basic\\\\secure\\abcdef'
        0.02 c > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\AAAAAAAA\\final\\'
        0.04 c > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
        0.06 m:28900 > c tcp '\\ip\\10.0.0.2:7778'";
    let asked = r"0.00 c > m:80 tcp 'GET /c?build_defs=4 HTTP/1.0\r\n\r\n'";
    for (rule, script, client, master) in [
        ("GS1016", listed, "c > m:28900", "m:28900 > c"),
        ("ACR035", asked, "c > m:80", "m:80 > c"),
    ] {
        for (who, verdict) in [(client, "not_exercised"), (master, "fail")] {
            let outcome =
                File::of("reset", &format!("{script}\n0.50 {who} tcp rst\nend 9")).json(&[]);
            let rules = outcome["rules"].as_array().expect("rules");
            let found = rules.iter().find(|listed| listed["code"] == rule).expect("the rule");
            assert_eq!(found["verdict"], verdict, "{rule}: {who}");
        }
    }
}

#[test]
fn a_conversation_that_began_before_the_capture_is_checked_from_its_first_complete_exchange() {
    let asks = r"'GET /a?a=::1 HTTP/1.1\r\n\r\n'";
    let responses = r"'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n*bx\n'";
    let pair = |at: u32| format!("{at} c > m:80 tcp {asks}\n{at}.1 m:80 > c tcp {responses}\n");
    let pairs = |apart: u32| (1..16).map(|nth| pair(nth * apart)).collect::<String>();
    let gap = format!(
        r"0 c > m:80 tcp {asks}
        0.04 m:80 > c tcp 'HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n*c0123456789'
        0.05 m:80 > c tcp lost 'x'*9
        0.06 m:80 > c tcp 'x'*9
        "
    );
    for (script, wrong) in [
        (format!("0 m:80 > c tcp nosyn {responses}\n{}", pairs(1)), 15),
        (pairs(1).replacen("tcp", "tcp nosyn", 1), 15),
        (gap + &pairs(4), 15),
    ] {
        let outcome = File::of("inside", &script).json(&[]);
        let rules = outcome["rules"].as_array().expect("rules");
        let found = rules.iter().find(|listed| listed["code"] == "ACR022").expect("the rule");
        assert_eq!(found["failed"], wrong, "{script}");
    }
}

#[test]
fn messages_before_the_protocol_is_identified_are_read_in_order() {
    let script = r"0.0 c > m:80 tcp 'GET /index.html HTTP/1.1\r\n\r\n'
        0.1 m:80 > c tcp 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage'
        0.2 c > m:80 tcp 'GET /r?v=140 HTTP/1.1\r\n\r\n'
        0.3 m:80 > c tcp 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
        0.4 c > m:80 tcp 'GET /a?a=::1 HTTP/1.1\r\n\r\n'
        0.5 m:80 > c tcp 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n*a\n'
        end 9";
    let outcome = File::of("order", script).json(&["--ignore", "ACR002,ACR034"]);
    let findings = outcome["findings"].as_array().expect("findings");
    assert!(findings.is_empty(), "{findings:?}");
    let rules = outcome["rules"].as_array().expect("rules");
    for (code, passed) in [("ACR020", 1), ("ACR022", 1), ("ACR035", 3)] {
        let found = rules.iter().find(|rule| rule["code"] == code).expect("the rule");
        assert_eq!(found["passed"], passed, "{code}");
    }
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

#[test]
fn several_captures_are_one_json_object() {
    let (first, second) = (File::of("first", BROKEN), File::of("second", UNANSWERED));
    let names = [&first, &second].map(|file| file.0.to_string_lossy().into_owned());
    let args = ["check", "--format", "json"].map(str::to_owned).into_iter().chain(names.clone());
    let run = gamewire(args);
    assert_eq!(run.code, 1);
    let outcome: Value = serde_json::from_str(&run.out).expect("one object");
    assert_eq!(outcome["captures"], serde_json::json!(names));
    assert_eq!(outcome["messages"], 5);
    let findings = outcome["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|f| f["rule"] == "A2S030" && f["capture"] == names[0].as_str()));
    assert!(findings.iter().any(|f| f["rule"] == "A2S062" && f["capture"] == names[1].as_str()));
}

#[test]
fn results_before_an_unreadable_file_are_reported() {
    let file = File::of("readable", BROKEN);
    let name = file.0.to_string_lossy().into_owned();
    let run = gamewire(["check", "--format", "json", &name, "/no/such/file"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("/no/such/file") && run.out.contains("A2S030"));
    // And those after it.
    let other = File::of("after", UNANSWERED);
    let after = other.0.to_string_lossy().into_owned();
    let files = ["/no/such/file", &name, "/nor/this", &after, "/nor/that"];
    let run = gamewire(["check", "--format", "json"].iter().chain(&files).copied());
    assert_eq!((run.code, run.err.lines().count()), (2, 3), "{}", run.err);
    let outcome: Value = serde_json::from_str(&run.out).expect("one object");
    assert_eq!(outcome["captures"], serde_json::json!([name, after]));
}

#[test]
fn every_format_has_the_files_that_cannot_be_read() {
    let file = File::of("beside", BROKEN);
    let (name, none) = (file.0.to_string_lossy().into_owned(), "/no/such/file");
    let why = "no such file; check its name and folder";
    // The rule that is broken is not selected.
    for files in [&[&*name, none][..], &[none]] {
        let checked = |format: &str| {
            let options = ["check", "--no-config", "--select", "A2S062", "--format", format];
            let run = gamewire(options.iter().chain(files).copied());
            assert_eq!(run.code, 2, "{format}: {}", run.err);
            run.out
        };
        let outcome: Value = serde_json::from_str(&checked("json")).expect("one object");
        assert_eq!(outcome["verdict"], "fail");
        assert_eq!(outcome["captures"].as_array().expect("captures").len(), files.len() - 1);
        let [unread] = &outcome["unreadable"].as_array().expect("a list")[..] else { panic!() };
        assert_eq!(unread["capture"], none);
        assert!(unread["why"].as_str().expect("a text").ends_with(why), "{unread}");
        let github = checked("github");
        let line = github.lines().next().expect("a line");
        assert!(line.starts_with("::error file=/no/such/file,title=unreadable::"), "{github}");
        assert!(line.ends_with(why), "{github}");
        for format in ["junit", "sarif"] {
            assert!(checked(format).contains(why), "{format}");
        }
    }
    let run = gamewire(["check", "--no-config", "--format", "json", &name]);
    assert!(!run.out.contains("unreadable"));
}

/// The reader has asked for none of them.
#[test]
fn without_any_finding_their_number_is_that_of_all() {
    let sample = "samples/valve-master-faults.pcap";
    let run =
        gamewire(["check", "--no-config", "--max-findings", "0", "--select", "VM040", sample]);
    assert!(run.out.contains("\n  2 times\n") && !run.out.contains("another"), "{}", run.out);
}

#[test]
fn junit_has_a_case_per_rule() {
    let file = File::of("junit", BROKEN);
    let run = file.check(&["--format", "junit"]);
    let listed = gamewire(["rules"]).out.lines().count();
    assert_eq!(run.code, 1);
    assert_eq!(run.out.matches("<testcase ").count(), listed);
    assert_eq!(run.out.matches("<failure ").count(), 1);
    assert!(run.out.contains("A2S030 player-count") && run.out.contains("not exercised"));
}

#[test]
fn sarif_points_at_the_bytes_in_the_file() {
    let file = File::of("sarif", BROKEN);
    let run = file.check(&["--format", "sarif"]);
    let log: Value = serde_json::from_str(&run.out).expect("JSON");
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("results");
    let result = results.iter().find(|result| result["ruleId"] == "A2S030").expect("found");
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "A2S030");
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 1);
    let at = region["byteOffset"].as_u64().expect("an offset") as usize;
    let bytes = std::fs::read(&file.0).expect("the capture");
    assert_eq!(&bytes[at - 5..=at], b"\xFF\xFF\xFF\xFF\x44\x02");
}

#[test]
fn github_annotations_name_file_rule_and_packet() {
    let file = File::of("github", BROKEN);
    let run = file.check(&["--format", "github"]);
    let line = run.out.lines().find(|line| line.contains("A2S030")).expect("an annotation");
    assert!(
        line.starts_with("::error file=") && line.contains("title=A2S030 player-count::frame 4")
    );
}

/// A master that repeatedly sends its list to one address without a challenge can be misused for reflection.
#[test]
fn a_master_that_repeats_its_list_is_a_reflector() {
    let asked = |apart: f64| {
        let exchange = |n: u32| {
            let at = f64::from(n) * apart;
            format!(
                "{at:.3} c > s 31 FF '0.0.0.0:0' 00 00\n{:.3} s > c FFFFFFFF 660A 0A000003 6987 00000000 0000\n",
                at + 0.01
            )
        };
        let script = (0..25).map(exchange).collect::<String>();
        let bytes = capture(&script, &Setting::udp(27011)).expect("a good script").pcap();
        let file = File::of("reflecting-master", UNANSWERED);
        std::fs::write(&file.0, bytes).expect("a writable folder");
        let out = file.check(&["--format", "json"]).out;
        let outcome: Value = serde_json::from_str(&out).expect("one object");
        let rules = outcome["rules"].as_array().expect("rules").clone();
        let of = |code: &str| {
            let rule = rules.iter().find(|rule| rule["code"] == code);
            rule.map_or(Value::Null, |rule| rule["verdict"].clone())
        };
        [of("SEC005"), of("SEC006")]
    };
    assert_eq!(asked(0.1), ["fail", "pass"]);
    assert_eq!(asked(1.0), ["pass", "pass"]);
}

/// Parts of one split response from two addresses are one fault: no part is missing.
#[test]
fn parts_of_one_response_may_come_from_two_addresses() {
    let rules = |parts: &str, case: &str| {
        let script = format!(
            "0.00 c > s FFFFFFFF 56 FFFFFFFF\n0.02 s > c FFFFFFFF 41 4BA1D522\n\
             0.03 c > s FFFFFFFF 56 4BA1D522\n{parts}\nend 30"
        );
        let out = File::of(case, &script).check(&["--format", "json"]).out;
        let outcome: Value = serde_json::from_str(&out).expect("one object");
        let findings = outcome["findings"].as_array().expect("findings");
        let of = |found: &Value| {
            let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}: {}", text("rule"), text("party"), text("message"))
        };
        findings.iter().filter(|it| it["severity"] != "note").map(of).collect::<Vec<_>>()
    };
    let first = "s > c FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0200 'motd' 00 'hello' 00";
    let second = "t > c FEFFFFFF 01000000 02 01 E004 'mp_x' 00 '1' 00";
    let moved = ["A2S065 10.0.1.2:27015: a part of a split answer comes from 10.0.1.2:27015, \
                  asked was 10.0.0.2:27015"];
    assert_eq!(rules(&format!("0.05 {first}\n0.06 {second}"), "split-apart"), moved);
    assert_eq!(rules(&format!("0.05 {second}\n0.06 {first}"), "split-apart-swapped"), moved);
    let alone = ["A2S043 10.0.0.2:27015: 1 of 2 packets arrived; the first missing one is the 2nd"];
    assert_eq!(rules(&format!("0.05 {first}"), "split-alone"), alone);
}

#[test]
fn required_traffic_that_is_not_there_is_a_failure_in_all_formats() {
    let file = File::of("no-traffic", "0.00 c > s:5000  01020304\nend 10");
    for (format, fails, says) in [
        ("text", "FAIL", "required traffic: there is none: "),
        ("github", "::error file=", "title=traffic::required, and there is none: "),
        ("junit", "failures=\"1\"", "message=\"required, and there is none: "),
        ("sarif", "\"executionSuccessful\": false", "required traffic: there is none: "),
        ("json", "\"verdict\":\"fail\"", "\"no_traffic\":["),
    ] {
        let run = file.check(&["--no-config", "--require-traffic", "--format", format]);
        assert_eq!(run.code, 1, "{format}");
        assert!(run.out.contains(fails) && run.out.contains(says), "{format}: {}", run.out);
        let run = file.check(&["--no-config", "--format", format]);
        assert_eq!(run.code, 0, "{format}");
        assert!(!run.out.contains(fails), "{format}: {}", run.out);
    }
}
