//! A capture around a command.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::sniffer::{Server, client, only, query};
use crate::support::gamewire;
use crate::support::skip::skipped;

/// The port that this program asks as the client of other tests.
const PORT: &str = "GAMEWIRE_TEST_PORT";

/// The command that other tests record: this program runs itself.
#[test]
#[ignore = "the client of other tests"]
fn as_client() {
    if let Ok(port) = std::env::var(PORT) {
        query(&client(), port.parse().unwrap());
    }
}

/// A folder that anyone may write to: root's captures are another user's.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gamewire-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The program with these arguments, and traffic of this port alone.
fn program(args: &[&str], port: u16) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    program.args(args).args(["-i", "lo", "--linger", "200ms"]);
    program.args(only(&format!("udp port {port}")));
    program.env(PORT, port.to_string());
    program
}

/// Runs it with a client as its command. `None`: nothing can be captured here.
fn with_client(mut program: Command) -> Option<Output> {
    let this = std::env::current_exe().unwrap();
    let client = ["around::as_client", "--exact", "--ignored"];
    ran(program.arg("--").arg(this).args(client))
}

/// Runs it with a line of a shell as its command.
fn with_shell(mut program: Command, line: &str) -> Option<Output> {
    ran(program.args(["--", "sh", "-c", line]))
}

fn ran(program: &mut Command) -> Option<Output> {
    let output = program.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stderr);
    if said.contains("no permission (") || said.contains("not installed") {
        skipped("live", &said);
        return None;
    }
    Some(output)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_a_command_says_is_recorded_and_checked() {
    let (server, folder) = (Server::start(), folder("around"));
    let file = folder.join("x.pcapng").to_string_lossy().into_owned();
    let Some(run) = with_client(program(&["record", "-w", &file], server.port)) else { return };
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(said.contains("listening on lo; until the command has ended; "), "{said}");
    assert!(said.contains("lo: 2 packets captured, 0 dropped"), "{said}");
    assert!(text(&run.stdout).contains("running 1 test"), "the command's own output");
    let read = gamewire(["dissect", "--no-config", "--format", "json", &file]);
    assert_eq!(read.out.matches("\"a2s\"").count(), 2, "{}", read.out);
    std::fs::remove_dir_all(folder).unwrap();

    let check = ["check", "--no-config", "--complete", "--require-traffic", "--format", "json"];
    let run = with_client(program(&check, server.port)).expect("it could be captured before");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let verdict: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON alone");
    assert_eq!((&verdict["verdict"], &verdict["messages"]), (&"pass".into(), &2.into()));
    assert_eq!(verdict["captures"], serde_json::json!(["lo"]));
    assert!(text(&run.stderr).contains("running 1 test"), "the command's output");
}

#[test]
fn the_exit_code_is_that_of_the_verdict_or_else_of_the_command() {
    let (server, folder) = (Server::start(), folder("around-codes"));
    let file = folder.join("x.pcapng").to_string_lossy().into_owned();
    let record = ["record", "-w", &file];
    let Some(run) = with_shell(program(&record, server.port), "exit 7") else { return };
    assert_eq!(run.status.code(), Some(7));
    let said = text(&run.stderr);
    assert!(said.contains("warning: lo: "), "nothing was said: {said}");
    let check = ["check", "--no-config", "--quiet"];
    let coded = |args: &[&str], line: &str| {
        let run = with_shell(program(&[&check, args].concat(), server.port), line);
        run.and_then(|run| run.status.code())
    };
    assert_eq!(coded(&[], "exit 7"), Some(7));
    assert_eq!(coded(&["--require-traffic"], "exit 7"), Some(1));
    assert_eq!(coded(&[], "kill -KILL $$"), Some(137));
    // A command that cannot be run has no verdict.
    let mut missing = program(&check, server.port);
    let run = missing.args(["--", "/no/such/program"]).output().unwrap();
    assert_eq!((run.status.code(), text(&run.stdout).as_str()), (Some(2), ""));
    let said = text(&run.stderr);
    assert!(said.contains("cannot run /no/such/program: there is no such program"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_interface_that_is_not_there_is_an_error_before_the_command_runs() {
    let folder = folder("around-none");
    let (file, made) = (folder.join("x.pcapng"), folder.join("made"));
    let [file, made] = [file, made].map(|it| it.to_string_lossy().into_owned());
    let args = ["record", "-w", &file, "-i", "nowhere0", "--", "touch", &made];
    let run = Command::new(env!("CARGO_BIN_EXE_gamewire")).args(args).output().unwrap();
    let said = text(&run.stderr);
    if said.contains("not installed") {
        return skipped("live", &said);
    }
    assert_eq!((run.status.code(), text(&run.stdout).as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("cannot capture on nowhere0: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A signal ends the command, whose traffic is kept, and the capture; without gamewire, the capture ends, too.
#[test]
fn a_signal_ends_the_command_and_then_the_capture() {
    let server = Server::start();
    for (signal, verdict) in [("-TERM", Some(143)), ("-KILL", None)] {
        let mut program = program(&["check", "--no-config"], server.port);
        let program = program.args(["--", "sh", "-c", "echo begun >&2; exec sleep 20"]);
        let (program, begun) = (program.stdin(Stdio::null()), Instant::now());
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("begun") {
            line.clear();
            let read = std::io::BufRead::read_line(&mut said, &mut line).unwrap();
            if line.contains("no permission (") || line.contains("not installed") {
                child.wait().unwrap();
                return skipped("live", &line);
            }
            assert!(read > 0, "the command does not begin");
        }
        let number = child.id().to_string();
        assert!(Command::new("kill").args([signal, &number]).status().unwrap().success());
        // It is closed by both processes.
        let mut report = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut report).unwrap();
        assert!(report.contains("lo: 0 errors"), "{report}");
        assert_eq!(child.wait().unwrap().code(), verdict);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
