//! A part of a split answer that another address sends: nothing is missing then, whichever command
//! says so.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;

const ASKED: &str = "
    0.00 c > s  FFFFFFFF 56 FFFFFFFF
    0.01 s > c  FFFFFFFF 41 11223344
    0.02 c > s  FFFFFFFF 56 11223344
    0.03 s > c  FEFFFFFF 07000000 03 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
";

/// A part in the middle, and the last one.
const PARTS: [&str; 2] =
    ["FEFFFFFF 07000000 03 01 E004 'x'*1248", "FEFFFFFF 07000000 03 02 E004 'x'*60 00"];

/// The second and third part come from these, the third one first or last.
fn script(from: [&str; 2], last_first: bool, to: &str) -> String {
    let times = if last_first { ["0.05", "0.04"] } else { ["0.04", "0.05"] };
    let mut lines: Vec<_> = (0..2)
        .map(|nth| {
            let to = if from[nth] == "s" { "c" } else { to };
            format!("{} {} > {to}  {}\n", times[nth], from[nth], PARTS[nth])
        })
        .collect();
    lines.sort();
    format!("{ASKED}{}end 20", lines.concat())
}

/// Whether a command says that parts are missing.
fn names_it(file: &str, command: &[&str]) -> bool {
    let run = gamewire([command, &["--no-config", file]].concat());
    // Of a part that nobody asked for, the rest may be on its way: that is no fault.
    run.out.lines().any(|line| line.replace("error? A2S043", "").contains("A2S043"))
}

/// Commands that show messages while they come.
const STREAMING: [&[&str]; 5] = [
    &["dissect", "--threads", "1"],
    &["dissect", "--threads", "8"],
    &["dissect", "--format", "json"],
    &["dissect", "--fields", "frame,rule"],
    &["follow"],
];

#[test]
fn a_part_from_another_address_is_not_missing() {
    for from in [["t", "s"], ["s", "t"], ["t", "t"]] {
        for last_first in [false, true] {
            let script = script(from, last_first, "c");
            let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
            assert!(!names_it(&file, &["check"]), "{script}");
            for command in STREAMING {
                assert!(!names_it(&file, command), "{command:?}: {script}");
            }
        }
    }
}

/// A text that ends, or packets that are counted: the last part comes from another port, or another host, and from nobody.
#[test]
fn parts_of_other_protocols_may_come_from_another_address() {
    let text = [
        "'\\\\hostname\\\\A\\\\queryid\\\\1.1'",
        "'\\\\player_0\\\\Ann\\\\queryid\\\\1.2\\\\final\\\\'",
    ];
    let binary = |index: &str| format!("00 10203041 'splitnum' 00 {index} 'a' 00 'b' 00");
    let asked = "FEFD00 10203041 00000007 FFFFFF01";
    let challenge = "0.00 c > s  FEFD09 10203040\n0.01 s > c  09 10203040 '7' 00\n";
    let cases = [
        (7778, "", "'\\\\status\\\\'", text.map(str::to_owned), "GS1033", "GS1031"),
        (6500, challenge, asked, ["00", "81"].map(binary), "GS4033", "GS4021"),
    ];
    for (port, before, ask, [first, last], moved, missing) in cases {
        for (from, is_missing) in [("t", false), ("s:61001", false), ("", true)] {
            let last =
                if is_missing { String::new() } else { format!("0.04 {from} > c  {last}\n") };
            let script = format!(
                "{before}0.02 c > s  {ask}\n0.03 s > c  {first}\n{last}0.5 s > d:9  00\nend 20"
            );
            let (_project, file) = Project::of_script(&script, &Setting::udp(port));
            for command in [&["check"][..], STREAMING[0], STREAMING[1], STREAMING[4]] {
                let out = gamewire([command, &["--no-config", &file]].concat()).out;
                // Of a part that nobody asked for, that is no fault.
                let out = out.replace(&format!("error? {missing}"), "");
                assert_eq!(out.contains(missing), is_missing, "{command:?}: {script}\n{out}");
                let is_moved = command == ["check"] && !is_missing;
                assert_eq!(out.contains(moved), is_moved, "{command:?}: {script}\n{out}");
            }
        }
    }
}

#[test]
fn what_another_client_gets_or_nobody_sends_is_missing() {
    let for_another = script(["t", "s"], false, "d");
    let too_few =
        script(["t", "s"], false, "c").replace(&format!("0.05 s > c  {}\n", PARTS[1]), "");
    for script in [for_another, too_few] {
        let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
        assert!(names_it(&file, &["check"]), "{script}");
        for command in STREAMING {
            assert!(names_it(&file, command), "{command:?}: {script}");
        }
    }
}

/// What answers a request from another host is an answer.
#[test]
fn a_request_that_another_host_answers_has_an_answer() {
    let asked = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.50 s > d:4000  'game traffic'\n";
    let says_none = |script: &str, threads: &str| {
        let (_project, file) = Project::of_script(script, &Setting::udp(27015));
        gamewire(["dissect", "--no-config", "--threads", threads, &file]).out.contains("no answer")
    };
    for (response, is_none) in [
        ("0.02 t > c  FFFFFFFF 41 11223344\n", false),
        ("0.02 t > d  FFFFFFFF 41 11223344\n", true),
        (
            "0.02 t > c  FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 B801 00 18 00 'dl' 00 00 '1' 00\n",
            true,
        ),
        ("", true),
    ] {
        let script = format!("{asked}{response}end 20");
        assert_eq!(says_none(&script, "1"), is_none, "{script}");
        assert_eq!(says_none(&script, "8"), is_none, "{script}");
    }
}
