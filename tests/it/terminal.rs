//! What users see in a terminal, beside the tables of tests/live/terminal.rs.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::gamewire;
use crate::support::terminal::{on_a_terminal, plain, program, terminal, widest};

const SAMPLE: &str = "samples/a2s-info-players-rules.pcap";

/// The header of a capture, and a few thousand packets.
fn header_and_packets() -> (Vec<u8>, Vec<u8>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
    let mut header = std::fs::read(path).expect("a sample");
    let packets = header.split_off(24);
    (header, packets.repeat(1000))
}

/// The text on a terminal so far, piece by piece.
fn watched(mut terminal: File) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = terminal.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Runs a command on a terminal, with a pipe as input that has packets until the bar is seen. Returns all that was
/// written to the terminal.
fn until_a_bar_is_seen(command: &str) -> String {
    const BAR: &str = " packets read";
    let (ours, theirs) = terminal(100);
    let errors = theirs.try_clone().expect("a descriptor");
    let mut run = program(&[command, "--no-config", "--color", "never", "-"]);
    run.stdin(Stdio::piped()).stdout(theirs).stderr(errors);
    let mut child = run.spawn().expect("the program runs");
    drop(run);
    let (shown, mut seen) = (watched(ours), String::new());
    let mut pipe = child.stdin.take().expect("a pipe");
    let (header, packets) = header_and_packets();
    pipe.write_all(&header).expect("it is read");
    for _ in 0..300 {
        pipe.write_all(&packets).expect("it is read");
        thread::sleep(Duration::from_millis(100));
        seen.extend(shown.try_iter());
        if seen.contains(BAR) {
            break;
        }
    }
    drop(pipe);
    child.wait().expect("it ends");
    seen.extend(shown.iter());
    assert!(seen.contains(BAR), "{command}: {seen:?}");
    seen
}

#[test]
fn long_work_has_a_bar_that_is_erased_before_the_result() {
    let commands = ["summary", "check", "abuse", "diagnose", "flows"];
    let runs =
        commands.map(|command| thread::spawn(move || (command, until_a_bar_is_seen(command))));
    for run in runs {
        let (command, seen) = run.join().expect("a result");
        let (_, after) = seen.rsplit_once(" packets read").expect("a bar");
        let (rest, result) = after.rsplit_once("\u{1B}[2K").expect("the bar is erased");
        assert!(rest.trim().is_empty() && !result.trim().is_empty(), "{command}: {after:?}");
    }
}

#[test]
fn quick_work_has_no_bar() {
    let (ours, theirs) = terminal(300);
    let errors = theirs.try_clone().expect("a descriptor");
    let mut run = program(&["check", "--no-config", "--color", "never", SAMPLE]);
    let mut child = run.stdout(theirs).stderr(errors).spawn().expect("the program runs");
    drop(run);
    let seen = crate::support::terminal::read(ours);
    child.wait().expect("it ends");
    assert_eq!(seen, gamewire(["check", "--no-config", SAMPLE]).out);
}

#[test]
fn a_redirected_standard_error_has_no_bar() {
    let mut run = program(&["summary", "--no-config", "-"]);
    run.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = run.spawn().expect("the program runs");
    let mut pipe = child.stdin.take().expect("a pipe");
    let (header, packets) = header_and_packets();
    pipe.write_all(&header).expect("it is read");
    for _ in 0..3 {
        pipe.write_all(&packets).expect("it is read");
        thread::sleep(Duration::from_millis(600));
    }
    drop(pipe);
    let ran = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ran.stderr);
    // The packets come again, which is said in a line of its own.
    assert!(said.lines().all(|line| line.contains("out of order")), "{said}");
    assert!(!said.contains('\r'), "{said}");
}

/// The note of a filter that selects nothing.
fn note(selection: &str) -> String {
    format!("gamewire: note: {SAMPLE}: no message matches {selection}\n")
}

#[test]
fn a_filter_without_any_match_says_so() {
    let filter = "a2s.info_response.players > 1000";
    for command in ["dissect", "summary", "check", "abuse", "diagnose", "flows"] {
        let run = gamewire([command, "--no-config", "-Y", filter, SAMPLE]);
        let note = note(&format!("-Y '{filter}'"));
        // There is nothing to check.
        let warning = note.replace("note:", "warning:").replace("'\n", "'; 10 messages of a2s\n");
        let says = if command == "check" { warning } else { note };
        assert_eq!((run.code, run.err), (0, says), "{command}");
        for some in ["frame == 1", "a2s"] {
            let run = gamewire([command, "--no-config", "-Y", some, SAMPLE]);
            assert_eq!((run.code, run.err.as_str()), (0, ""), "{command} {some}");
        }
    }
    let run = gamewire(["follow", "--no-config", "-Y", filter, SAMPLE]);
    assert!(run.err.contains(&note(&format!("-Y '{filter}'"))), "{}", run.err);
}

#[test]
fn each_file_without_a_match_is_named() {
    let other = "samples/a2s-quirks.pcap";
    let run = gamewire(["dissect", "-Y", "frame == 30", SAMPLE, other, "--no-config"]);
    assert_eq!((run.code, run.err), (0, note("-Y 'frame == 30'")));
}

#[test]
fn other_options_that_select_messages_are_named_too() {
    let args = ["--host", "192.0.2.1", "--message", "rules_request", "--rule", "A2S03,VM"];
    let run = gamewire([&["dissect", "--no-config", SAMPLE], &args[..]].concat());
    assert_eq!(run.err, note("--host 192.0.2.1 --message rules_request --rule A2S03,VM"));
}

#[test]
fn a_report_and_tables_without_a_match_say_so() {
    let folder = std::env::temp_dir().join(format!("gamewire-no-match-{}", std::process::id()));
    let (folder, page) = (folder.to_string_lossy().into_owned(), folder.with_extension("html"));
    let page = page.to_string_lossy().into_owned();
    for args in [&["report", "-o", &page][..], &["export", "--format", "csv", "-o", &folder]] {
        let run = gamewire([args, &["--no-config", "-Y", "frame == 9999", SAMPLE]].concat());
        assert!(run.err.starts_with(&note("-Y 'frame == 9999'")), "{args:?}: {}", run.err);
    }
    std::fs::remove_file(page).expect("a page");
    std::fs::remove_dir_all(folder).expect("a folder");
}

#[test]
fn a_file_in_place_of_a_command_is_summarized() {
    let run = gamewire([SAMPLE, "--no-config", "--top", "3"]);
    let summary = gamewire(["summary", SAMPLE, "--no-config", "--top", "3"]);
    assert_eq!((run.code, &run.out), (0, &summary.out));
    assert!(run.err.contains("`gamewire summary`"), "{}", run.err);
    for command in ["diagnose", "abuse", "dissect", "flows", "check", "view"] {
        assert!(run.err.contains(&format!("\n  {command} ")), "{command}: {}", run.err);
    }
    assert_eq!(summary.err, "", "who knows the command needs no hint");
    let run = gamewire([SAMPLE, "samples/a2s-quirks.pcap", "--format", "json", "--no-config"]);
    assert_eq!((run.code, run.out.lines().count()), (0, 2));
}

#[test]
fn standard_input_without_a_command_is_summarized() {
    let read = |args: &[&str]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(args)
            .arg("--no-config")
            .stdin(File::open(SAMPLE).expect("a sample"))
            .output()
            .expect("it runs");
        (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    assert_eq!(read(&["-"]), read(&["summary", "-"]));
    assert_eq!(read(&["-"]).0, Some(0));
}

#[test]
fn a_word_that_is_neither_a_command_nor_a_file_is_an_error() {
    let run = gamewire(["sumary", SAMPLE]);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    for says in ["unrecognized subcommand 'sumary'", "'summary'", "no file has this name"] {
        assert!(run.err.contains(says), "{}", run.err);
    }
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    let run = gamewire(["samples/no-such-file.pcap"]);
    assert!(run.code == 2 && run.err.contains("no file has this name"), "{}", run.err);
    // Not every command takes files.
    let run = gamewire(["help", SAMPLE]);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    let run = gamewire([SAMPLE, "--no-such-option"]);
    assert!(run.code == 2 && run.err.contains("--no-such-option"), "{}", run.err);
}

/// The short help on a terminal of 80 columns.
fn short_help(command: Option<&str>) -> String {
    let args = Vec::from_iter(command.into_iter().chain(["-h"]));
    plain(&on_a_terminal(80, None, &args))
}

const COMMANDS: [&str; 16] = [
    "summary",
    "diagnose",
    "abuse",
    "dissect",
    "flows",
    "follow",
    "view",
    "check",
    "report",
    "export",
    "scrub",
    "rules",
    "explain",
    "fields",
    "man",
    "completions",
];

#[test]
fn the_short_help_fits_a_screen() {
    for command in COMMANDS.iter().copied().map(Some).chain([None]) {
        let help = short_help(command);
        let (lines, most) = (help.lines().count(), if command.is_none() { 24 } else { 40 });
        assert!(lines <= most, "{command:?}: {lines} lines\n{help}");
        assert!(widest(&help) <= 80, "{command:?}:\n{help}");
        let long = gamewire(Vec::from_iter(command.into_iter().chain(["--help"])));
        assert!(long.code == 0 && long.out.contains("-h, --help"), "{command:?}: {}", long.out);
    }
    let main = short_help(None);
    assert!(COMMANDS.iter().all(|command| main.contains(&format!("\n  {command} "))), "{main}");
}

/// The examples are command lines that the program understands.
#[test]
fn every_help_ends_with_two_examples() {
    for command in COMMANDS.iter().copied().map(Some).chain([None]) {
        let help = short_help(command);
        let (_, examples) = help.rsplit_once("\nExamples: ").expect("examples");
        assert_eq!(examples.trim_end().lines().count(), 2, "{command:?}: {examples}");
        for line in examples.lines().flat_map(|line| line.split("; ")) {
            let (_, args) = line.split_once("gamewire ").expect("a command line");
            let args = args.split([')', '|', '>']).next().unwrap_or_default();
            // A word in quotes is one argument, which may have spaces.
            let words = args.replace("'a secret'", "secret").replace('\'', "");
            let args = std::iter::once("gamewire").chain(words.split_whitespace());
            let read = gamewire::cli::Cli::read(args.map(Into::into));
            assert!(read.is_ok(), "{command:?}: {line:?}: {}", read.unwrap_err());
        }
    }
}

/// The words of a text, in which a line's indent does not count.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn long_texts_are_broken_between_words() {
    let texts: [&[&str]; 5] = [
        &["check", "--no-config", "samples/valve-master-faults.pcap", "samples/a2s-quirks.pcap"],
        &["check", "--no-config", "-q", "samples/abuse-query-flood.pcap"],
        &["rules", "--no-config"],
        &["explain", "--no-config", "A2S0", "VM04", "SEC"],
        &["fields", "a2s"],
    ];
    for args in texts {
        let whole = gamewire(args.iter().copied()).out;
        let broken = |columns| plain(&on_a_terminal(columns, None, args));
        assert_eq!(broken(2000), whole, "{args:?}: a wide terminal is like a pipe");
        for columns in [80, 100] {
            let shown = broken(columns);
            // Bytes, names and addresses are never broken.
            let too_long = |line: &&str| {
                let is_bytes = line.trim_start().starts_with("0x") || words(line).len() < 12;
                line.chars().count() > columns.into() && !is_bytes
            };
            assert_eq!(shown.lines().find(too_long), None, "{args:?} in {columns} columns");
            assert!(shown.lines().count() > whole.lines().count(), "{args:?}");
            if args[0] != "check" {
                assert_eq!(words(&shown), words(&whole), "{args:?} in {columns} columns");
            }
        }
    }
}

#[test]
fn a_text_goes_on_below_itself() {
    let rules = on_a_terminal(100, None, &["rules", "--no-config", "A2S003"]);
    let lines: Vec<_> = rules.lines().collect();
    assert!(lines.len() > 1 && lines[1].starts_with(&" ".repeat(54)), "{rules}");
    let rules = on_a_terminal(60, None, &["rules", "--no-config", "A2S003"]);
    assert!(rules.lines().nth(1).is_some_and(|line| line.starts_with("        ")), "{rules}");
}

/// A capture of one IPv4 packet with a UDP datagram from a client to port 27015.
fn capture_of(payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip.extend([0xC3, 0x50, 0x69, 0x87, 0, 0, 0, 0]);
    ip.extend(payload);
    let length = ip.len() as u16;
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip[24..26].copy_from_slice(&(length - 20).to_be_bytes());
    let mut file =
        vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
    let length = u32::from(length).to_le_bytes();
    file.extend([[0; 4], [0; 4], length, length].concat());
    file.extend(ip);
    file
}

#[test]
fn rows_of_padding_are_folded_and_offsets_are_hexadecimal() {
    let mut payload = b"\xFF\xFF\xFF\xFFTSource Engine Query\0".to_vec();
    payload.resize(100, 0);
    let file = std::env::temp_dir().join(format!("gamewire-padding-{}.pcap", std::process::id()));
    std::fs::write(&file, capture_of(&payload)).expect("a writable folder");
    let run = gamewire(["dissect", "-v", "-x", "--no-config", &file.to_string_lossy()]);
    let zeros = " 00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  ................  ..";
    let rows = [&format!("    0x0020 {zeros}"), "    *", "    0x0060  00 00 00 00  "];
    let at = rows.map(|row| run.out.find(row).unwrap_or_else(|| panic!("{row:?}:\n{}", run.out)));
    assert!(at.is_sorted() && !run.out.contains("    0x0030"), "{}", run.out);
    assert!(run.out.contains("    0x05-0x18  "), "{}", run.out);
    assert_eq!(run.out.matches("\n    *\n").count(), 1, "{}", run.out);
    // What is not padding is not folded, though its rows are alike.
    let text = gamewire(["dissect", "-x", "--no-config", "samples/a2s-split-order.pcap"]);
    assert!(!text.out.contains("\n    *\n"));
    std::fs::remove_file(file).expect("the file");
}
