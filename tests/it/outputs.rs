//! Outputs never overwrite inputs, errors of writing are reported, and notices are brief.

use crate::support;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gamewire::Terminal;
use gamewire::capture::Stop;

use crate::support::project::Project;
use captures::exchange::Setting;

const PING: &str = "0.00 c > s  FFFFFFFF 69\n0.02 s > c  FFFFFFFF 6A '00000000000000' 00";

#[test]
fn a_baseline_or_a_summary_does_not_overwrite_a_capture() {
    let project = Project::new("onto");
    project.play("c.pcap", &Setting::udp(27015), PING);
    let before = std::fs::read(project.path("c.pcap")).expect("the capture");
    std::os::unix::fs::symlink(project.path("c.pcap"), project.path("other.json")).expect("a link");
    let options = [&["--write-baseline"][..], &["--format", "github", "--summary"]];
    for (output, option) in
        ["c.pcap", "other.json"].into_iter().flat_map(|it| options.map(|of| (it, of)))
    {
        let run = project.run(&[&["check", "--no-config"], option, &[output, "c.pcap"]].concat());
        assert_eq!(run.code, 2, "{}{}", run.out, run.err);
        let is_named = option.last().is_some_and(|name| run.err.contains(name));
        assert!(is_named && run.err.contains("c.pcap"), "{}", run.err);
        assert_eq!(std::fs::read(project.path("c.pcap")).expect("the capture"), before);
    }
}

#[test]
fn a_baseline_does_not_overwrite_the_configuration() {
    let project = Project::new("onto-config");
    project.play("c.pcap", &Setting::udp(27015), PING);
    project.write("gamewire.toml", "complete = true\n");
    let run = project.run(&[
        "check",
        "--config",
        "gamewire.toml",
        "--write-baseline",
        "gamewire.toml",
        "c.pcap",
    ]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert_eq!(project.read("gamewire.toml"), "complete = true\n");
}

fn program(project: &Project, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    command.args(args).current_dir(project.path(""));
    command
}

#[test]
fn standard_output_is_not_the_capture() {
    let project = Project::new("stdout");
    project.play("c.pcap", &Setting::udp(27015), PING);
    let before = std::fs::read(project.path("c.pcap")).expect("the capture");
    for command in
        [&["dissect", "c.pcap"][..], &["dissect", "other.pcap", "c.pcap"], &["flows", "."]]
    {
        let onto = OpenOptions::new().append(true).open(project.path("c.pcap")).expect("a file");
        let run = program(&project, command).stdout(onto).output().expect("it runs");
        let err = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{command:?}: {err}");
        assert!(err.contains("standard output is the capture"), "{err}");
        assert_eq!(std::fs::read(project.path("c.pcap")).expect("the capture"), before);
    }
    // A device cannot be overwritten.
    let null = OpenOptions::new().write(true).open("/dev/null").expect("a device");
    let run = program(&project, &["dissect", "/dev/null"]).stdout(null).output().expect("it runs");
    assert!(!String::from_utf8_lossy(&run.stderr).contains("standard output"));
}

#[test]
fn a_closed_standard_output_is_an_error() {
    let project = Project::new("closed");
    project.play("c.pcap", &Setting::udp(27015), PING);
    let shell = |script: &str| {
        Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_gamewire")])
            .current_dir(project.path(""))
            .stdin(Stdio::null())
            .output()
            .expect("a shell")
    };
    for script in [r#""$0" dissect c.pcap >&-"#, r#""$0" check c.pcap >&-"#, r#""$0" rules >&-"#] {
        let run = shell(script);
        let err = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{script}: {err}");
        assert!(err.contains("cannot write the output: standard output is closed"), "{err}");
    }
    let run = shell(r#""$0" dissect c.pcap >/dev/null"#);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
}

/// A section with an interface, then `count` packets of one that does not exist, then a good packet.
fn with_bad_blocks(count: usize) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = 12 + body.len() as u32;
        let mut block = Vec::new();
        block.extend(kind.to_le_bytes());
        block.extend(length.to_le_bytes());
        block.extend(body);
        block.extend(length.to_le_bytes());
        block
    };
    let mut section = Vec::new();
    section.extend(0x1A2B_3C4D_u32.to_le_bytes());
    section.extend([1, 0, 0, 0]);
    section.extend([0xFF; 8]);
    let mut file = block(0x0A0D_0D0A, &section);
    file.extend(block(1, &[101, 0, 0, 0, 0, 0, 4, 0]));
    let packet = |interface: u8| {
        let mut body = vec![interface, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0];
        body.extend([0x45, 0, 0, 4]);
        block(6, &body)
    };
    for _ in 0..count {
        file.extend(packet(7));
    }
    file.extend(packet(0));
    file
}

#[test]
fn many_notices_of_a_kind_are_counted() {
    let project = Project::new("notices");
    project.write("bad.pcapng", with_bad_blocks(1000));
    let file = project.path("bad.pcapng");
    for threads in ["1", "2"] {
        let run = support::gamewire(["flows", "--threads", threads, &file]);
        let lines: Vec<&str> = run.err.lines().filter(|line| line.contains("at byte")).collect();
        assert_eq!(lines.len(), 20, "{}", run.err);
        let counted = run.err.lines().filter(|line| line.contains("980 more")).count();
        assert_eq!(counted, 1, "{}", run.err);
    }
    project.write("few.pcapng", with_bad_blocks(20));
    let run = support::gamewire(["flows", &project.path("few.pcapng")]);
    assert_eq!(run.err.matches("at byte").count(), 20, "{}", run.err);
    assert!(!run.err.contains("more"), "{}", run.err);
}

/// The results up to the interrupt are reported as partial.
#[test]
fn an_interrupted_check_reports_its_results() {
    static ASKED: AtomicBool = AtomicBool::new(true);
    let sample = format!("{}/samples/abuse-query-flood.pcap", env!("CARGO_MANIFEST_DIR"));
    for threads in ["1", "2"] {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let args = ["gamewire", "check", "--no-config", "--threads", threads, &sample, &sample];
        let terminal = Terminal { stop: Some(|| Stop(Some(&ASKED))), ..Terminal::default() };
        let code = gamewire::run(args.map(Into::into), &mut out, &mut err, terminal);
        let [out, err] = [out, err].map(|text| String::from_utf8(text).expect("UTF-8"));
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("1,024 messages") && out.contains("NET009"), "{out}");
        let says =
            "abuse-query-flood.pcap: interrupted after 1024 packets; what follows was not read";
        assert!(err.contains(says), "{err}");
        assert!(err.contains("interrupted: 1 more file was not read"), "{err}");
        assert_eq!(err.lines().count(), 2, "{err}");
    }
}

/// Interrupts the program with either signal while it reads a large file. A second signal ends it without
/// results.
#[test]
fn a_signal_ends_the_reading_of_a_file_and_a_second_one_the_program() {
    let project = Project::new("signals");
    let sample = format!("{}/samples/abuse-query-flood.pcap", env!("CARGO_MANIFEST_DIR"));
    let sample = std::fs::read(sample).expect("a sample");
    let (header, packets) = sample.split_at(24);
    project.write("large.pcap", [header, &packets.repeat(100)].concat());
    let start = |args: &[&str]| {
        let mut command = program(&project, args);
        command.args(["--no-config", "large.pcap"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        // The file is mapped as soon as it is read.
        let maps = format!("/proc/{}/maps", child.id());
        let is_mapped =
            || std::fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("large.pcap"));
        while !is_mapped() {
            assert!(child.try_wait().expect("a child").is_none(), "it has not ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    };
    let signal = |child: &std::process::Child, name: &str| {
        let killed = Command::new("kill").args([name, &child.id().to_string()]).status();
        assert!(killed.expect("kill").success(), "it still runs");
    };
    for name in ["-INT", "-TERM"] {
        let child = start(&["check", "--format", "json"]);
        std::thread::sleep(Duration::from_millis(200));
        signal(&child, name);
        let run = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&run.stderr);
        assert!(err.contains("large.pcap: interrupted after "), "{name}: {err}");
        let checked: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let read = checked["packets"].as_u64().expect("packets");
        assert!((1024..728_000).contains(&read), "{name}: {read} packets");
        let fails = checked["verdict"] == "fail";
        assert_eq!(run.status.code(), Some(fails.into()), "{name}: {err}");
        // Its output is not read, so it cannot end by itself.
        let child = start(&["dissect"]);
        std::thread::sleep(Duration::from_millis(200));
        signal(&child, name);
        std::thread::sleep(Duration::from_millis(200));
        signal(&child, name);
        let run = child.wait_with_output().expect("it ends");
        assert_eq!(run.status.code(), Some(130), "{name}");
    }
}

/// The same of a pipe that nothing more comes from.
#[test]
fn an_interrupted_pipe_is_reported_as_far_as_it_came() {
    let project = Project::new("pipe");
    project.play("c.pcap", &Setting::udp(27015), PING);
    let bytes = std::fs::read(project.path("c.pcap")).expect("the capture");
    let pipe = project.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut command = program(&project, &["dissect", "--no-config", "pipe"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut writer = OpenOptions::new().write(true).open(&pipe).expect("a reader is there");
    writer.write_all(&bytes).expect("it is read");
    std::thread::sleep(Duration::from_millis(300));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill").success(), "it still runs");
    let run = child.wait_with_output().expect("it ends");
    drop(writer);
    let out = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(out.matches("a2s ping_").count(), 2, "{out}");
}

/// A program that writes to a pipe was often interrupted, too: what it has left is read.
#[test]
fn a_pipe_is_read_to_its_end_after_it_was_interrupted() {
    static ASKED: AtomicBool = AtomicBool::new(true);
    let project = Project::new("rest");
    let pipe = project.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let sample = format!("{}/samples/abuse-query-flood.pcap", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(sample).expect("a sample");
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, bytes).expect("it is read"))
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["gamewire", "check", "--no-config", &pipe];
    let terminal = Terminal { stop: Some(|| Stop(Some(&ASKED))), ..Terminal::default() };
    gamewire::run(args.map(Into::into), &mut out, &mut err, terminal);
    writer.join().expect("it has written");
    let out = String::from_utf8(out).expect("UTF-8");
    assert!(out.contains("7,280 messages") && !out.contains("NET009"), "{out}");
}
