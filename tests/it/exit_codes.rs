//! The exit codes, one by one.

use std::process::{Command, Stdio};

use crate::support::project::Project;
use crate::support::{Run, gamewire};
use captures::exchange::Setting;

/// One exchange that keeps every rule.
const GOOD: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
    0.03 c > s  FFFFFFFF 55 4BA1D522\n0.05 s > c  FFFFFFFF 44 01 00 'Ann' 00 00000000 f32:1.5";

/// Exchanges that break a rule of each severity, and none of a higher one.
const BROKEN: [(&str, &str); 3] = [
    ("note", "0.00 c > s  FFFFFFFF 69\n0.02 s > c  FFFFFFFF 6A 00"),
    ("warning", "0.02 s > c  FFFFFFFF 41 4BA1D522"),
    ("error", "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 0102030405"),
];

fn project(name: &str) -> Project {
    let project = Project::new(&format!("exit-{name}"));
    project.play("good.pcap", &Setting::udp(27015), GOOD);
    project
}

fn unusable(run: &Run, says: &str) {
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
    assert!(run.err.contains(says), "{}", run.err);
}

/// One clear line.
fn unusable_in_a_line(run: &Run, says: &str) {
    unusable(run, says);
    assert!(run.err.starts_with("gamewire: ") && run.err.lines().count() == 1, "{}", run.err);
}

#[test]
fn zero_without_faults() {
    let project = project("good");
    for least in ["error", "warning", "note"] {
        assert_eq!(project.run(&["check", "--fail-on", least, "good.pcap"]).code, 0, "{least}");
    }
    for command in [&["dissect"][..], &["flows"], &["check"], &["check", "--require", "A2S030"]] {
        assert_eq!(project.run(&[command, &["good.pcap"]].concat()).code, 0, "{command:?}");
    }
    for args in [&["rules"][..], &["explain", "A2S030"], &["--help"], &["--version"]] {
        assert_eq!(gamewire(args.iter().copied()).code, 0, "{args:?}");
    }
}

#[test]
fn one_from_the_severity_on_that_fails() {
    let project = project("severities");
    let severities = ["note", "warning", "error"];
    for (broken, (severity, script)) in BROKEN.iter().enumerate() {
        project.play("broken.pcap", &Setting::udp(27015), script);
        for (asked, least) in severities.iter().enumerate() {
            let run = project.run(&["check", "--complete", "--fail-on", least, "broken.pcap"]);
            let code = u8::from(broken >= asked);
            assert_eq!(run.code, code, "{severity}, fails on {least}: {}", run.out);
        }
        let code = u8::from(*severity == "error");
        assert_eq!(project.run(&["check", "--complete", "broken.pcap"]).code, code, "{severity}");
    }
}

#[test]
fn one_if_a_required_rule_was_not_exercised() {
    let project = project("required");
    let run = project.run(&["check", "--require", "A2S030,VM001", "good.pcap"]);
    assert_eq!((run.code, run.err.lines().count()), (1, 1));
    assert!(run.err.contains("required rule VM001 was not exercised"), "{}", run.err);
}

#[test]
fn two_for_an_option_without_effect() {
    for (args, says) in [
        (&["abuse", "--interval", "10s"][..], "--interval is only for live capture and needs -"),
        (&["summary", "--interval", "10s"], "--interval is only for live capture and needs -"),
        (&["dissect", "--duration", "10s"], "--duration is only for live capture and needs -"),
        (&["dissect", "--tree"], "--tree is a part of JSON and needs --format json"),
        (&["dissect", "--tree", "--format", "csv"], "needs --format json"),
        (&["dissect", "-x", "--format", "json"], "-x shows bytes in text only"),
        (&["dissect", "-x", "--fields", "map"], "-x shows bytes in text only"),
    ] {
        unusable_in_a_line(&gamewire(args.iter().copied().chain(["a.pcap"])), says);
    }
}

#[test]
fn two_for_a_wrong_command_line() {
    unusable(&gamewire(<[&str; 0]>::default()), "Usage: ");
    for args in [
        &["check"][..],
        &["chek", "a.pcap"],
        &["check", "--fail-on", "fatal", "a.pcap"],
        &["check", "--select", "A2S999", "a.pcap"],
        &["check", "--host", "example", "a.pcap"],
        &["check", "--config", "a.toml", "--no-config", "a.pcap"],
        &["dissect", "-d", "udp.port==1,nothing", "a.pcap"],
        &["dissect", "-c", "0", "a.pcap"],
        &["explain", "A2S999"],
    ] {
        unusable_in_a_line(&gamewire(args.iter().copied()), "");
    }
    for args in [
        &["dissect", "-c"][..],
        &["flows", "--top"],
        &["summary", "--top"],
        &["dissect", "--threads"],
        &["dissect", "--flow"],
        &["check", "--max-findings"],
        &["dissect", "-i", "lo", "-B"],
        &["dissect", "-i", "lo", "-w", "x", "-C"],
    ] {
        let run = gamewire(args.iter().copied().chain(["ten", "a.pcap"]));
        unusable_in_a_line(&run, ": expected a whole number");
    }
    unusable_in_a_line(&gamewire(["serve", "a2s", "--seed", "-"]), ": expected a whole number");
    let above = gamewire(["dissect", "--threads", "0", "a.pcap"]);
    unusable_in_a_line(&above, "expected a whole number from 1 to 65535");
    let below = gamewire(["dissect", "-c", "0", "a.pcap"]);
    unusable_in_a_line(&below, "expected a whole number from 1 on");
    let misspelt = gamewire(["check", "--fail-onn", "note", "a.pcap"]);
    unusable_in_a_line(&misspelt, "a similar argument exists: '--fail-on'; try '--help'");
    let unknown = gamewire(["dissect", "--message", "info_respons", "a.pcap"]);
    let says = "there is no message `info_respons`; did you mean `info_response`";
    unusable_in_a_line(&unknown, says);
    assert!(!unknown.err.contains(['|', '^']), "a filter that nobody typed: {}", unknown.err);
    unusable_in_a_line(
        &gamewire(["check", "--acr-key", "6b", "a.pcap"]),
        "invalid --acr-key: write it as",
    );
}

#[test]
fn two_for_a_file_that_cannot_be_read_or_is_not_a_capture() {
    let project = project("files");
    project.write("notes.pcap", "these are notes\n");
    for command in ["check", "dissect", "flows"] {
        unusable_in_a_line(&project.run(&[command, "missing.pcap"]), "missing.pcap: no such file");
        unusable_in_a_line(&project.run(&[command, "notes.pcap"]), "notes.pcap");
    }
    let folder = project.path("folder");
    std::fs::create_dir(&folder).expect("a folder");
    unusable_in_a_line(&gamewire(["check", &folder]), folder.trim_end_matches('/'));
}

#[test]
fn two_for_options_of_live_capture_with_files() {
    for option in [&["-s", "96"][..], &["-p"], &["-B", "64"], &["-Z", "nobody"]] {
        let args = [&["check"], option, &["a.pcap"]].concat();
        unusable_in_a_line(&gamewire(args), "is only for live capture and needs --interface");
    }
    unusable(&gamewire(["check", "-i", "lo", "-w", "-"]), "name a file with --write");
    let rotated = ["dissect", "--write", "b", "-G", "5", "--duration", "1s", "a.pcap"];
    unusable(&gamewire(rotated), "--duration is only for live capture");
}

#[test]
fn two_for_an_unknown_link_type() {
    let project = project("link");
    let mut bytes = std::fs::read(project.path("good.pcap")).expect("a capture");
    bytes[20..24].copy_from_slice(&200_u32.to_le_bytes());
    project.write("link.pcap", bytes);
    let run = project.run(&["check", "good.pcap", "link.pcap"]);
    assert!(run.code == 2 && run.out.contains("PASS") && run.out.contains("good.pcap"));
    assert_eq!(run.err.lines().count(), 1);
    let said = "link.pcap: gamewire cannot read any of its packets: link type 200;";
    assert!(run.err.contains(said), "{}", run.err);
}

#[test]
fn two_for_a_bad_configuration() {
    let project = project("config");
    project.write("gamewire.toml", "fail-on = \"error\"\n\nbogus = 1\n");
    for command in ["check", "dissect", "flows"] {
        let run = project.run(&[command, "--config", "gamewire.toml", "good.pcap"]);
        unusable_in_a_line(&run, "gamewire.toml:3: unknown key `bogus`");
    }
    let run = project.run(&["rules", "--config", "gamewire.toml"]);
    unusable_in_a_line(&run, "gamewire.toml:3");
    let run = project.run(&["check", "--config", "missing.toml", "good.pcap"]);
    unusable_in_a_line(&run, "missing.toml: no such file; check its name");
    project.write("gamewire.toml", b"fail-on = \xFF");
    let run = project.run(&["check", "--config", "gamewire.toml", "good.pcap"]);
    unusable_in_a_line(&run, "gamewire.toml: it is not UTF-8 text");
}

#[test]
fn two_for_a_bad_baseline() {
    let project = project("baseline");
    let check = || project.run(&["check", "--baseline", "known.json", "good.pcap"]);
    unusable_in_a_line(&check(), "known.json: no such file; check its name");
    for (text, says) in [
        ("", "this is not a baseline"),
        ("[1, 2]", "this is not a baseline"),
        (r#"{"version": 1, "findings": [{"rule": "A2S030"}]}"#, "missing field"),
        (r#"{"version": 2, "findings": []}"#, "its version is 2, not 1"),
    ] {
        project.write("known.json", text);
        unusable_in_a_line(&check(), says);
    }
}

#[test]
fn two_for_a_baseline_that_cannot_be_written_before_anything_is_read() {
    let project = project("unwritable");
    std::fs::create_dir(project.path("folder.json")).expect("a folder");
    for (file, why) in [
        ("none/known.json", "no such folder; create it first"),
        ("folder.json", "it is a folder; name a file"),
    ] {
        let run = project.run(&["check", "--write-baseline", file, "good.pcap"]);
        unusable_in_a_line(&run, &format!("{file}: cannot write the baseline: {why}"));
        assert_eq!(run.out, "");
    }
    let run = project.run(&["check", "--write-baseline", "known.json", "good.pcap"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(project.names(), ["folder.json", "good.pcap", "known.json"]);
}

#[test]
fn a_closed_output_pipe_ends_it_silently() {
    let project = project("reader");
    project.play("broken.pcap", &Setting::udp(27015), BROKEN[2].1);
    let capture = project.path("broken.pcap");
    for (args, code) in [
        (&["dissect", "-x", &capture][..], 0),
        (&["flows", &capture], 0),
        (&["rules", "--format", "json"], 0),
        (&["explain", "A2S030"], 0),
        (&["--help"], 0),
        (&["check", "--select", "A2S022", &capture], 0),
        (&["check", &capture], 1),
        (&["check", "--format", "sarif", &capture], 1),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
        let command = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = command.spawn().expect("the program runs");
        drop(program.stdout.take());
        let run = program.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!((run.status.code(), err.as_str()), (Some(code), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn two_if_the_disk_is_full() {
    let project = project("full");
    for args in [
        &["dissect", "-l"][..],
        &["dissect", "--format", "json"],
        &["check"],
        &["check", "--format", "sarif"],
        &["flows", "--format", "csv"],
        &["rules"],
        &["man"],
        &["completions", "zsh"],
        &["--help"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full device");
        let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
        command.args(args).stdout(Stdio::from(full)).stderr(Stdio::piped());
        if matches!(args.first(), Some(&("dissect" | "check" | "flows"))) {
            command.arg(project.path("good.pcap"));
        }
        let ran = command.output().expect("the binary runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains("no space left"), "{args:?}: {said}");
    }
}

#[test]
fn metrics_are_only_for_live_capture() {
    let project = project("metrics");
    let run = project.run(&["summary", "--metrics", "9642", "good.pcap"]);
    unusable(&run, "--metrics is only for live capture");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has one").to_string();
    for typed in [&address[..], address.rsplit(':').next().expect("a port")] {
        let run = project.run(&["check", "-i", "lo", "--metrics", typed]);
        unusable_in_a_line(&run, &format!("--metrics: cannot listen on {address}: "));
    }
    let run = project.run(&["check", "-i", "lo", "--metrics", "example.net"]);
    unusable(&run, "expected a port, or an IP address and a port");
}
