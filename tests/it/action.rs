//! The script of the GitHub Action, if bash is installed.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use crate::support::project::Project;
use crate::support::skip::skipped;
use captures::exchange::Setting;

const GOOD: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522";
const BROKEN: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 0102030405";

/// Runs the action's script with this gamewire installed; the exit code and what it prints.
fn act(project: &Project, captures: &str, args: &str) -> Option<(Option<i32>, String)> {
    act_with(project, captures, args, "")
}

fn act_with(
    project: &Project,
    captures: &str,
    args: &str,
    version: &str,
) -> Option<(Option<i32>, String)> {
    act_among(project, &[("CAPTURES", captures), ("ARGS", args), ("VERSION", version)])
}

/// The same with these variables.
fn act_among(project: &Project, variables: &[(&str, &str)]) -> Option<(Option<i32>, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = Path::new(env!("CARGO_BIN_EXE_gamewire")).parent()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        [project.path("bin").into(), installed.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&path)),
    );
    let folder = project.path("");
    let run = Command::new("bash")
        .arg(here.join(".ci/action"))
        .current_dir(&folder)
        .env("PATH", path.ok()?)
        .env("RUNNER_TEMP", folder.trim_end_matches('/'))
        .env("GITHUB_OUTPUT", project.path("outputs"))
        .env_remove("RUNNER_TOOL_CACHE")
        .envs(variables.iter().copied())
        .output();
    let Ok(run) = run else {
        skipped("bash", "bash is not installed");
        return None;
    };
    let said = [run.stdout, run.stderr].concat();
    Some((run.status.code(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn the_action_annotates_and_leaves_reports() {
    let project = Project::new("action");
    project.play("a good one.pcap", &Setting::udp(27015), GOOD);
    project.play("broken.pcap", &Setting::udp(27015), BROKEN);
    let Some((code, out)) = act(&project, "broken*.pcap\na good one.pcap\n", "--complete") else {
        return;
    };
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("::error file=broken.pcap,title=A2S020 "), "{out}");
    let (sarif, junit) = (project.read("gamewire.sarif"), project.read("gamewire.xml"));
    assert!(sarif.contains("\"ruleId\": \"A2S020\"") && junit.contains("<failure "));
    assert!(junit.contains("<testsuite name=\"a good one.pcap\""));
    let outputs = project.read("outputs");
    assert!(outputs.contains(&format!("sarif={}", project.path("gamewire.sarif"))), "{outputs}");

    let passes = act(&project, "a good one.pcap", "");
    assert_eq!(passes.map(|(code, _)| code), Some(Some(0)));
    let version = env!("CARGO_PKG_VERSION");
    let (code, out) = act_with(&project, "a good one.pcap", "", version).expect("bash is there");
    assert!(code == Some(0) && out.starts_with(&format!("using gamewire {version}")), "{out}");
    for (captures, args) in [("nothing*.pcap", ""), ("", ""), ("broken.pcap", "--bogus")] {
        let (code, _) = act(&project, captures, args).expect("bash is there");
        assert_eq!(code, Some(2), "{captures} {args}");
    }
}

#[test]
fn patterns_and_quotes_are_read_as_in_a_shell() {
    let project = Project::new("action-patterns");
    let folder = project.path("a folder/below");
    std::fs::create_dir_all(folder).expect("a folder");
    for name in ["top.pcap", "a folder/below/a good one.pcap", "[1].pcap"] {
        project.play(name, &Setting::udp(27015), GOOD);
    }
    let args =
        "--complete --host '10.0.0.2' -Y 'a2s.challenge_response and not ip.src == \"10.9.9.9\"'";
    let Some((code, out)) = act(&project, "**/*.pcap\n", args) else { return };
    assert_eq!(code, Some(0), "{out}");
    let junit = project.read("gamewire.xml");
    for name in ["top.pcap", "a folder/below/a good one.pcap", "[1].pcap"] {
        assert!(junit.contains(&format!("<testsuite name=\"{name}\"")), "{name}: {junit}");
    }
    let (code, _) = act(&project, "[1].pcap", "").expect("bash is there");
    assert_eq!(code, Some(0), "a name with signs of patterns");
    let (code, out) = act(&project, "top.pcap", "--host 'open").expect("bash is there");
    assert!(code == Some(2) && out.contains("the quotes in args do not match"), "{out}");
    let (code, out) =
        act(&project, "top.pcap", "$(touch made) `touch made`").expect("bash is there");
    assert!(code == Some(2) && !project.names().contains(&"made".to_owned()), "{out}");
}

/// The workflows of this repository, with their names.
fn workflows() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let files = std::fs::read_dir(folder).expect("workflows");
    let paths = files.map(|file| file.expect("a file").path());
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("a readable file"))
    };
    paths.map(read).collect()
}

/// The jobs of a workflow: what is indented below each name.
fn jobs(workflow: &str) -> Vec<Vec<&str>> {
    let lines = workflow.lines().skip_while(|line| *line != "jobs:").skip(1);
    let mut jobs: Vec<Vec<&str>> = Vec::new();
    for line in lines.filter(|line| !line.trim_start().starts_with('#')) {
        let is_name = line.len() > 2 && line.starts_with("  ") && !line[2..].starts_with(' ');
        if is_name {
            jobs.push(Vec::new());
        }
        jobs.last_mut().expect("a job has a name").push(line);
    }
    jobs
}

#[test]
fn what_workflows_use_is_pinned() {
    let is_hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut used = 0;
    for (name, workflow) in workflows() {
        let uses = workflow.lines().filter_map(|line| line.split_once("uses: "));
        for (_, action) in uses {
            let (_, pinned) = action.split_once('@').expect("a version");
            let (commit, version) = pinned.split_once(" # v").expect("its version as a comment");
            assert!(is_hex(commit, 40) && !version.is_empty(), "{name}: {action}");
            used += 1;
        }
        assert!(workflow.contains("\npermissions:\n  contents: read\n"), "{name}");
    }
    assert!(used >= 8, "{used} actions");
    let container = Path::new(env!("CARGO_MANIFEST_DIR")).join("Containerfile");
    let container = std::fs::read_to_string(container).expect("a readable file");
    for from in container.lines().filter_map(|line| line.strip_prefix("FROM ")) {
        let digest = from.split_once("@sha256:").and_then(|(_, digest)| digest.split(' ').next());
        assert!(from == "scratch" || digest.is_some_and(|digest| is_hex(digest, 64)), "{from}");
    }
}

/// A job that may write runs only what this file names: no build, nothing of the checkout.
#[test]
fn jobs_that_may_write_build_nothing() {
    // An image is made of programs that another job has built; none of them is run.
    let known = ["gh release ", "docker ", "mkdir ", "printenv ", "printf ", "tar "];
    let mut writing = 0;
    for (name, workflow) in workflows() {
        for job in jobs(&workflow) {
            if !job.iter().any(|line| line.contains(": write")) {
                continue;
            }
            writing += 1;
            let runs = job
                .iter()
                .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("run: "));
            let runs = Vec::from_iter(runs);
            let is_known = |run: &&str| known.iter().any(|known| run.starts_with(known));
            assert!(!runs.is_empty() && runs.iter().all(is_known), "{name}: {runs:?}");
            assert!(!job.iter().any(|line| line.contains("actions/checkout")), "{name}");
        }
    }
    assert_eq!(writing, 2);
}
