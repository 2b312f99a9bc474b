//! `gamewire.toml`: the settings of a project, and the precedence of the command line.

use crate::support::examples;
use std::os::unix::fs::lchown;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::project::Project;
use crate::support::{Run, skip};
use captures::exchange::Setting;
use serde_json::Value;

/// A server that claims 2 players and lists one.
const BROKEN: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
    0.03 c > s  FFFFFFFF 55 4BA1D522\n0.05 s > c  FFFFFFFF 44 02 00 'Ann' 00 00000000 f32:1.5";

/// The rule that it breaks.
const COUNT: &str = "A2S030";
const SERVER: &str = "10.0.0.2:27015";

fn project(name: &str, config: &str) -> Project {
    let project = Project::new(name);
    project.play("broken.pcap", &Setting::udp(27015), BROKEN);
    project.write("gamewire.toml", config);
    project
}

fn check(project: &Project, options: &[&str]) -> Run {
    project.run(&[&["check", "--config", "gamewire.toml"], options, &["broken.pcap"]].concat())
}

fn json(project: &Project, options: &[&str]) -> Value {
    let options = [&["--format", "json"], options].concat();
    serde_json::from_str(&check(project, &options).out).expect("JSON")
}

fn rule<'v>(outcome: &'v Value, code: &str) -> &'v Value {
    let rules = outcome["rules"].as_array().expect("rules");
    rules.iter().find(|rule| rule["code"] == code).unwrap_or(&Value::Null)
}

#[test]
fn a_changed_severity_decides_what_fails() {
    let project = project("severity", "[severity]\nA2S030 = \"warning\"");
    assert_eq!(check(&project, &[]).code, 0);
    assert_eq!(check(&project, &["--fail-on", "warning"]).code, 1);
    let without = project.run(&["check", "--no-config", "broken.pcap"]);
    assert_eq!(without.code, 1);
    project.write("gamewire.toml", "fail-on = \"warning\"\n[severity]\nplayer-count = \"warning\"");
    assert_eq!(check(&project, &[]).code, 1);
    assert_eq!(check(&project, &["--fail-on", "error"]).code, 0, "the command line wins");
}

#[test]
fn a_changed_severity_is_shown_in_every_format() {
    let project = project("shown", "[severity]\nA2S030 = \"warning\"");
    let outcome = json(&project, &[]);
    assert_eq!(
        (&outcome["verdict"], &rule(&outcome, COUNT)["severity"]),
        (&"pass".into(), &"warning".into())
    );
    let finding =
        outcome["findings"].as_array().and_then(|all| all.iter().find(|f| f["rule"] == COUNT));
    assert_eq!(finding.expect("found")["severity"], "warning");

    let text = check(&project, &[]).out;
    assert!(text.contains("0 errors, 1 warning,") && text.contains("\nwarning A2S030"), "{text}");
    let row = text.lines().find(|line| line.starts_with("A2S030 ")).expect("a row");
    assert!(row.contains("warning"), "{row}");

    let log: Value = serde_json::from_str(&check(&project, &["--format", "sarif"]).out).unwrap();
    let run = &log["runs"][0];
    let result =
        run["results"].as_array().and_then(|all| all.iter().find(|r| r["ruleId"] == COUNT));
    assert_eq!(result.expect("a result")["level"], "warning");
    let changed = &run["invocations"][0]["ruleConfigurationOverrides"][0];
    assert_eq!(
        (&changed["descriptor"]["id"], &changed["configuration"]["level"]),
        (&COUNT.into(), &"warning".into())
    );

    let junit = check(&project, &["--format", "junit", "--fail-on", "warning"]).out;
    assert!(junit.contains("type=\"warning\""), "{junit}");
    assert_eq!(check(&project, &["--format", "junit"]).out.matches("<failure").count(), 0);
    assert!(check(&project, &["--format", "github"]).out.contains("::warning file="));

    let rules = project.run(&["rules", "--config", "gamewire.toml"]).out;
    assert!(rules.lines().any(|line| line.starts_with(COUNT) && line.contains(" warning ")));
    let rules = project.run(&["rules", "--config", "gamewire.toml", "--format", "json"]).out;
    let rules: Value = serde_json::from_str(&rules).unwrap();
    let listed = rules.as_array().and_then(|all| all.iter().find(|r| r["code"] == COUNT)).unwrap();
    assert_eq!(
        (&listed["severity"], &listed["default_severity"]),
        (&"warning".into(), &"error".into())
    );
    let explained = project.run(&["explain", COUNT, "--config", "gamewire.toml"]).out;
    assert!(explained.contains("(error, here warning, server)"), "{explained}");
    let dissected = project.run(&["dissect", "--config", "gamewire.toml", "broken.pcap"]).out;
    assert!(dissected.contains("! warning A2S030"), "{dissected}");
}

#[test]
fn an_ignore_with_a_host_hides_that_host_only() {
    let ignore = |host: &str| {
        format!("[[ignore]]\nrule = \"A2S030\"\nhost = \"{host}\"\nreason = \"known\"")
    };
    let project = project("host", &ignore(SERVER));
    for host in [SERVER, "10.0.0.2"] {
        project.write("gamewire.toml", ignore(host));
        assert_eq!(check(&project, &[]).code, 0, "{host}");
        let outcome = json(&project, &[]);
        assert_eq!(rule(&outcome, COUNT)["failed"], 0);
        assert!(!outcome.to_string().contains("Num Players"));
    }
    for host in ["10.0.0.2:27016", "10.0.0.1", "[::1]:27015"] {
        project.write("gamewire.toml", ignore(host));
        assert_eq!(check(&project, &[]).code, 1, "{host}");
    }
    project.write("gamewire.toml", "[[ignore]]\nrule = \"A2S030\"\nreason = \"known\"");
    assert_eq!(check(&project, &[]).code, 0);
    assert!(rule(&json(&project, &[]), COUNT).is_null(), "it does not count at all");
    assert_eq!(check(&project, &["--select", COUNT]).code, 1, "the command line wins");
}

/// Each finding is compared with very many ignored rules at once.
#[test]
fn one_of_very_many_ignores_hides_its_host() {
    let ignores = |last: &str| {
        let hosts = (0..20_000_u32).map(|n| std::net::Ipv4Addr::from(0x0B00_0000 + n).to_string());
        let one = |host| format!("{{rule='A2S030',host='{host}',reason='x'}},");
        format!("ignore=[{}{}]", hosts.map(one).collect::<String>(), one(last.to_owned()))
    };
    let project = project("many", &ignores("10.0.0.2"));
    assert_eq!(check(&project, &[]).code, 0);
    project.write("gamewire.toml", ignores("10.0.0.3"));
    assert_eq!(check(&project, &[]).code, 1);
}

#[test]
fn an_expired_ignore_is_a_warning_and_has_no_effect() {
    let ignore = |until: &str| {
        format!("\n[[ignore]]\nrule = \"A2S030\"\nuntil = {until}\nreason = \"next release\"")
    };
    let project = project("expired", &ignore("2999-12-31"));
    let run = check(&project, &[]);
    assert_eq!((run.code, run.err.lines().count()), (0, 1), "its note alone: {}", run.err);
    project.write("gamewire.toml", ignore("2020-02-29"));
    let run = check(&project, &[]);
    assert_eq!((run.code, run.err.lines().count()), (1, 2), "{}", run.err);
    let says =
        "gamewire.toml:2: A2S030 was ignored until 2020-02-29 (next release); it counts again";
    assert!(run.err.contains("\ngamewire: warning: ") && run.err.contains(says), "{}", run.err);
}

#[test]
fn settings_apply_and_the_command_line_has_precedence() {
    let project = project("demands", "require = [\"VM001\"]");
    let ignored = &["--ignore", COUNT][..];
    let run = check(&project, ignored);
    assert!(run.code == 1 && run.err.contains("required rule VM001"), "{}", run.err);
    assert_eq!(check(&project, &[ignored, &["--require", "A2S022"]].concat()).code, 0);

    project.play("broken.pcap", &Setting::udp(27015), "0.00 c > s  FFFFFFFF 55 FFFFFFFF\nend 10");
    project.write("gamewire.toml", "complete = true");
    let fared = |options: &[&str]| rule(&json(&project, options), "A2S062")["verdict"].clone();
    assert_eq!(fared(&[]), "fail");
    assert_eq!(fared(&["--complete=false"]), "inconclusive", "the command line wins");
    project.write("gamewire.toml", "complete = false");
    assert_eq!(fared(&["--complete"]), "fail", "the command line wins");
}

#[test]
fn a_challenge_of_a_port_is_known_after_hours_of_silence() {
    let project = project("hours", "complete = true");
    let asked = "0.00 c > s  FEFD 09 10203040\n0.02 s > c  09 10203040 '133961823' 00\n\
        9000.00 c > s  FEFD 00 10203040 07FC185F FFFFFF01\nend 9010";
    project.play("broken.pcap", &Setting::udp(6500), asked);
    let outcome = json(&project, &[]);
    assert_eq!(rule(&outcome, "GS4008")["verdict"], "pass");
    assert_eq!(rule(&outcome, "GS4010")["failed"], 0, "the server gave one");
}

#[test]
fn tolerances_decide() {
    let project = project("tolerances", "");
    let silent = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
        0.03 c > s  FFFFFFFF 55 4BA1D522\nend 4";
    project.play("broken.pcap", &Setting::udp(27015), silent);
    assert_eq!(rule(&json(&project, &[]), "A2S062")["failed"], 1);
    project.write("gamewire.toml", "[tolerances]\nanswer-timeout = \"5s\"");
    let outcome = json(&project, &[]);
    let fared = rule(&outcome, "A2S062");
    assert_eq!((&fared["failed"], &fared["inconclusive"]), (&0.into(), &1.into()));

    // Intervals of heartbeats, with a tolerance of a tenth.
    let beat = r"s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'";
    let beats = format!("0.00 {beat}\n10.00 {beat}\n");
    project.play("broken.pcap", &Setting::udp(27900), &beats);
    for (shortest, verdict) in [("30s", "fail"), ("11s", "pass"), ("12s", "fail")] {
        let config = format!("[tolerances]\ngamespy-heartbeat-shortest = \"{shortest}\"");
        project.write("gamewire.toml", config);
        assert_eq!(rule(&json(&project, &[]), "GS1024")["verdict"], verdict, "{shortest}");
    }

    let joins = |seconds: u32| {
        format!(
            "0.00 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le32:133961823\n\
             0.03 s:27015 > m  30 0A '\\\\challenge\\\\133961823' 0A\n\
             {seconds}.00 s:27015 > m  71\n{seconds}.02 m > s:27015  FFFFFFFF 730A le32:133961823"
        )
    };
    for (seconds, settled, verdict) in [
        (329, "", "pass"),
        (331, "", "fail"),
        (331, "valve-heartbeat-tolerance = \"12%\"", "pass"),
        (60, "valve-heartbeat = \"1min\"", "pass"),
        (300, "valve-heartbeat = \"1min\"", "fail"),
        (331, "flow-idle = \"2min\"", "not_exercised"),
        (8_000, "", "fail"),
    ] {
        project.play("broken.pcap", &Setting::udp(27010), &joins(seconds));
        project.write("gamewire.toml", format!("[tolerances]\n{settled}"));
        let fared = rule(&json(&project, &[]), "VM044")["verdict"].clone();
        assert_eq!(fared, verdict, "{seconds} s, {settled}");
    }
}

#[test]
fn a_protocol_is_forced_on_a_port() {
    let project = project("decode-as", "decode-as = [\"udp.port==27015,gamespy1\"]");
    let dissect = |options: &[&str]| {
        let options = [&["dissect", "--config", "gamewire.toml"], options, &["broken.pcap"]];
        project.run(&options.concat()).out
    };
    assert!(dissect(&[]).contains(" gamespy1 ") && !dissect(&[]).contains(" a2s "));
    assert!(dissect(&["-d", "udp.port==27015,a2s"]).contains(" a2s "), "the command line wins");
}

#[test]
fn keys_are_used_and_never_shown() {
    let project = project("keys", "");
    // The result of the algorithm for TONXSR and the key `LabKey`.
    let script = r"0.00 m > c  '\\basic\\\\secure\\TONXSR'".to_owned()
        + "\n"
        + r"0.02 c > m  '\\gamename\\unreal\\location\\0\\validate\\Uej7hxuk\\final\\'";
    project.play("broken.pcap", &Setting::tcp(28900), &script);
    let fared = |options: &[&str]| rule(&json(&project, options), "GS1005")["verdict"].clone();
    assert_eq!(fared(&[]), "not_exercised");
    assert_eq!(fared(&["--gamespy-key", "unreal=LabKey"]), "pass");
    project.write("gamewire.toml", "[keys.gamespy]\nunreal = \"LabKey\"");
    assert_eq!(fared(&[]), "pass");
    assert_eq!(fared(&["--gamespy-key", "unreal=Other"]), "fail", "the command line wins");

    let digest = dissectors::catalogue::rule("ACR033").expect("a rule");
    project.write("broken.pcap", examples::play(digest, digest.right, true).expect("a capture"));
    let fared = || rule(&json(&project, &[]), "ACR033")["verdict"].clone();
    project.write("gamewire.toml", "[keys.gamespy]\nunreal = \"LabKey\"");
    assert_eq!(fared(), "not_exercised");
    project.write("key.txt", "6c61626b6579\n");
    for (key, verdict) in [("6c61626b6579", "pass"), ("@key.txt", "pass"), ("6c61626b6570", "fail")]
    {
        project.write("gamewire.toml", format!("[keys.acr]\n42 = \"{key}\""));
        assert_eq!(fared(), verdict, "{key}");
    }

    for typed in [["--gamespy-key", "LabKey"], ["--acr-key", "user=me,key=LabKey"]] {
        let run = project.run(&[&["check", "--no-config"], &typed[..], &["broken.pcap"]].concat());
        assert_eq!((run.code, run.err.lines().count()), (2, 1));
        assert!(run.err.contains(typed[0]) && !run.err.contains("LabKey"), "{}", run.err);
    }
}

#[test]
fn the_file_is_found_from_below_and_can_be_left_out() {
    let project = project("nearest", "[severity]\nA2S030 = \"note\"");
    let capture = project.path("broken.pcap");
    let code = |options: &[&str]| {
        let args = [&["check"], options, &[capture.as_str()]].concat();
        project.spawn("a/b", &args).status.code()
    };
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--no-config"]), Some(1));
    project.write("gamewire.toml", "nonsense = 1");
    let run = project.spawn("a/b", &["flows", &capture]);
    let err = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!((run.status.code(), err.lines().count()), (Some(2), 1));
    assert!(err.contains("gamewire.toml:1: unknown key `nonsense`"), "{err}");
    let run = project.spawn("", &["flows", &capture]);
    let err = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(err.starts_with("gamewire: gamewire.toml:1: unknown key"), "{err}");
    let run = project.run(&["check", "--config", "missing.toml", "broken.pcap"]);
    assert!(run.code == 2 && run.err.contains("missing.toml"), "{}", run.err);
}

/// Users who can write to a parent folder must not be able to make gamewire read files elsewhere.
#[test]
fn a_file_in_a_parent_folder_names_only_keys_below_its_folder() {
    let project = Project::new("above");
    std::fs::create_dir_all(project.path("deep/er")).expect("a folder");
    project.play("deep/er/c.pcap", &Setting::udp(27015), BROKEN);
    project.write("deep/key", "6b6c");
    project.write("key", "6b6c");
    let check = |config: &str| {
        project.write("deep/gamewire.toml", config);
        project.spawn("deep/er", &["check", "--fail-on", "never", "c.pcap"])
    };
    let run = check("[keys]\nacr = { 7 = \"@key\" }\n");
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    std::os::unix::fs::symlink(project.path("key"), project.path("deep/link")).expect("a link");
    for name in ["../key", "link", "/etc/hostname"] {
        let run = check(&format!("[keys]\nacr = {{ 7 = \"@{name}\" }}\n"));
        let err = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{name}: {err}");
        assert!(err.contains("is outside the folder of this gamewire.toml"), "{err}");
    }
    // A file that is named explicitly is trusted.
    project.write("deep/gamewire.toml", "[keys]\nacr = { 7 = \"@../key\" }\n");
    let named = ["check", "--config", "../gamewire.toml", "--fail-on", "never", "c.pcap"];
    assert_eq!(project.spawn("deep/er", &named).status.code(), Some(0));
}

#[test]
fn a_key_is_in_a_regular_file() {
    let project = project("fifo", "[keys]\nacr = { 7 = \"@pipe\" }\n");
    let made = std::process::Command::new("mkfifo").arg(project.path("pipe")).status();
    assert!(made.expect("mkfifo").success());
    let run = check(&project, &[]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("pipe is not a regular file"), "{}", run.err);
}

/// The program, in a folder of the project and as somebody.
fn spawned(project: &Project, below: &str, args: &[&str], as_whom: impl Fn(&mut Command)) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    command.current_dir(project.path(below)).args(args).env_remove("SUDO_UID");
    as_whom(&mut command);
    let ran = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let code = ran.status.code().and_then(|code| u8::try_from(code).ok()).expect("a code");
    Run { code, out: text(ran.stdout), err: text(ran.stderr) }
}

/// A user who can write to a folder above, such as /tmp, must not decide what fails.
#[test]
fn a_file_of_another_user_that_was_found_is_refused() {
    const OTHER: u32 = 64_242;
    if !nix::unistd::geteuid().is_root() {
        return skip::skipped("root", "only root can give a file to another user");
    }
    let project = project("stranger", "fail-on = \"never\"");
    std::fs::create_dir_all(project.path("a/b")).expect("a folder");
    let (capture, file) = (project.path("broken.pcap"), project.path("gamewire.toml"));
    let root = |_: &mut Command| {};
    let check = ["check", capture.as_str()];
    assert_eq!(spawned(&project, "a/b", &check, root).code, 0, "a file of this user");
    lchown(&file, Some(OTHER), None).expect("root may");
    // The file is in the working directory, or above it; every command reads it.
    for (below, named) in [("", "gamewire.toml"), ("a/b", &*file)] {
        for args in [&check[..], &["dissect", &capture], &["rules"], &["summary", &capture]] {
            let run = spawned(&project, below, args, root);
            assert_eq!((run.code, run.out.as_str()), (2, ""), "{args:?}");
            let says = format!(
                "gamewire: {named} belongs to user {OTHER}, who could change verdicts with it; if you trust it, \
                 use --config {named}, or else --no-config\n"
            );
            assert_eq!(run.err, says);
        }
        let trusting = [&check[..], &["--config", named]].concat();
        assert_eq!(spawned(&project, below, &trusting, root).code, 0, "it was named");
        let without = [&check[..], &["--no-config"]].concat();
        assert_eq!(spawned(&project, below, &without, root).code, 1);
    }
    let sudo = |id: u32| {
        move |command: &mut Command| {
            command.env("SUDO_UID", id.to_string());
        }
    };
    assert_eq!(spawned(&project, "a/b", &check, sudo(OTHER)).code, 0, "the user who called sudo");
    assert_eq!(spawned(&project, "a/b", &check, sudo(OTHER + 1)).code, 2);
    // The link of another user selects one of many files of this user.
    std::fs::rename(&file, project.path("mine.toml")).expect("a folder");
    lchown(project.path("mine.toml"), Some(0), None).expect("root may");
    std::os::unix::fs::symlink(project.path("mine.toml"), &file).expect("a link");
    assert_eq!(spawned(&project, "a/b", &check, root).code, 0);
    lchown(&file, Some(OTHER), None).expect("root may");
    assert_eq!(spawned(&project, "a/b", &check, root).code, 2);
    // Files of root are trusted by all.
    lchown(&file, Some(0), None).expect("root may");
    let other = |command: &mut Command| {
        command.uid(OTHER).gid(OTHER);
    };
    let started = std::panic::catch_unwind(|| spawned(&project, "a/b", &check, other));
    match started {
        Ok(run) => assert_eq!(run.code, 0, "{}", run.err),
        Err(_) => skip::skipped("root", "other users cannot start the program here"),
    }
}

#[test]
fn which_file_can_change_the_verdict_is_told() {
    let project = project("told", "fail-on = \"never\"\n[severity]\nA2S030 = \"warning\"");
    let capture = project.path("broken.pcap");
    let (page, tables) = (project.path("page.html"), project.path("tables"));
    let nearest = |below: &str, args: &[&str]| {
        let run = project.spawn(below, &[args, &[&capture]].concat());
        String::from_utf8(run.stderr).expect("UTF-8")
    };
    std::fs::create_dir_all(project.path("a/b")).expect("a folder");
    let commands: [&[&str]; 5] = [
        &["check"],
        &["check", "-q"],
        &["diagnose"],
        &["report", "-o", &page],
        &["export", "--format", "csv", "-o", &tables],
    ];
    let above = project.path("gamewire.toml");
    for args in commands {
        for (below, named) in [("", "gamewire.toml"), ("a/b", &*above)] {
            let note = format!("gamewire: settings of {named} apply: fail-on, severity\n");
            let said = nearest(below, args);
            assert_eq!(said.matches(&note).count(), 1, "{args:?}: {said}");
            std::fs::remove_dir_all(&tables).ok();
        }
    }
    for args in [&["dissect"][..], &["flows"], &["check", "--no-config"]] {
        assert_eq!(nearest("a/b", args), "", "{args:?}");
    }
    project.write("gamewire.toml", "# fail-on = \"never\"");
    assert_eq!(nearest("", &["check"]), "", "it sets nothing");
}

#[test]
fn reports_name_the_file() {
    let project = project("named", "fail-on = \"never\"");
    project.write("a\"<b.toml", "fail-on = \"never\"");
    let of = |config: &[&str], format: &str| {
        project.run(&[&["check", "--format", format], config, &["broken.pcap"]].concat()).out
    };
    let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    for name in ["gamewire.toml", "a\"<b.toml"] {
        let (config, path) = (["--config", name], project.path(name));
        assert_eq!(json(&of(&config, "json"))["config"], path);
        assert_eq!(json(&of(&config, "sarif"))["runs"][0]["properties"]["config"], path);
        let value = path.replace('"', "&quot;").replace('<', "&lt;");
        let property = format!("<property name=\"config\" value=\"{value}\"/>");
        let junit = of(&config, "junit");
        assert_eq!(junit.matches(&property).count(), 1, "{junit}");
    }
    for format in ["json", "sarif", "junit"] {
        assert!(!of(&["--no-config"], format).contains("\"config\""), "{format}");
    }
}
