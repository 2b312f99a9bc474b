//! Tables on a terminal are not wider than it, and are complete in a pipe. The tests run the program on a
//! pseudoterminal.

use crate::support::skip;
use crate::support::terminal::{self, read, widest};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// The output of the program on a terminal with this number of columns.
fn on_a_terminal(columns: u16, variable: Option<&str>, args: &[&str]) -> String {
    let args = [args, &["--no-config", "--color", "never"]].concat();
    terminal::on_a_terminal(columns, variable, &args)
}

fn piped(variable: Option<&str>, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    command.args(args).arg("--no-config").current_dir(env!("CARGO_MANIFEST_DIR"));
    command.env_remove("COLUMNS").envs(variable.map(|columns| ("COLUMNS", columns)));
    let out = command.output().expect("the program runs").stdout;
    String::from_utf8(out).expect("UTF-8")
}

const NAMES: &str = "samples/a2s-documents-examples.pcap";

#[test]
fn tables_fit_a_terminal() {
    let tables: [&[&str]; 6] = [
        &["summary", "samples/a2s-quirks.pcap"],
        &["summary", "--table", "servers", NAMES],
        &["summary", "--table", "clients", "samples/a2s-quirks.pcap"],
        &["summary", "--table", "masters", "samples/diagnose-masters.pcap"],
        &["flows", NAMES],
        &[
            "dissect",
            "--format",
            "table",
            "--fields",
            "time,src,name,map",
            "samples/a2s-quirks.pcap",
        ],
    ];
    for args in tables {
        for columns in [80, 120] {
            let shown = on_a_terminal(columns, None, args);
            assert!(widest(&shown) <= columns.into(), "{args:?} in {columns} columns:\n{shown}");
            assert!(shown.lines().count() > 1, "{args:?}: {shown}");
        }
        assert!(widest(&piped(None, args)) > 80, "{args:?}: a narrow table shows nothing");
    }
}

#[test]
fn what_a_narrow_table_lacks_is_said() {
    let narrow = on_a_terminal(80, None, &["summary", "--table", "servers", NAMES]);
    assert!(narrow.contains('\u{2026}'), "long names are shortened: {narrow}");
    let (_, note) = narrow.split_once("no room for ").expect("a note");
    let note = note.replace('\n', " ");
    assert!(note.ends_with("; see --format csv --table servers "), "{note}");
    assert!(note.contains("P95") && !narrow.contains("  P95"), "{narrow}");
    let flows = on_a_terminal(80, None, &["flows", NAMES]);
    assert!(flows.contains("\nno room for ") && flows.ends_with("--format csv\n"), "{flows}");
}

/// Somebody who watches sees the beginning: what is drawn in place is not higher than the terminal.
#[test]
fn what_is_drawn_in_place_is_not_higher_than_the_terminal() {
    const ROWS: u16 = 16;
    let size = Winsize { ws_row: ROWS, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    command.args(["summary", "-i", "lo", "-f", "udp portrange 42300-42340", "--duration", "4s"]);
    command.args(["--no-config", "--color", "never"]).env_remove("COLUMNS");
    command.stdout(terminal.slave).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    drop(command);
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut first = String::new();
    said.read_line(&mut first).expect("UTF-8");
    if first.contains("no permission (") || first.contains("not installed") {
        skip::skipped("live", &first);
        child.wait().expect("it ends");
        return;
    }
    let sender = std::thread::spawn(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for port in 42_300..42_340 {
            // Nothing listens there.
            let _ = socket.send_to(b"\xFF\xFF\xFF\xFFTSource Engine Query\0", ("127.0.0.1", port));
        }
    });
    let shown = read(File::from(terminal.master));
    sender.join().expect("all is sent");
    assert!(child.wait().expect("it ends").success());
    let screens: Vec<_> = shown.split("\x1b[H\x1b[2J").skip(1).collect();
    assert!(screens.len() >= 3, "{shown}");
    let (last, screens) = screens.split_last().expect("a screen");
    for screen in screens {
        assert!(screen.lines().count() < ROWS.into(), "{screen}");
    }
    let full = screens.last().expect("a screen");
    assert!(full.contains("\nSERVER") && full.contains("more servers"), "{full}");
    assert!(last.lines().count() > ROWS.into(), "at the end, there is time to scroll: {last}");
}

#[test]
fn texts_are_broken_between_words() {
    let server = ["--server", "10.0.2.2:27015"];
    let texts: [&[&str]; 4] = [
        &["abuse", "samples/abuse-query-flood.pcap"],
        &["diagnose", "samples/diagnose-queries-faults.pcap"],
        &["diagnose", server[0], server[1], "samples/diagnose-registration-faults.pcap"],
        &["diagnose", server[0], server[1], "samples/diagnose-path-faults.pcap"],
    ];
    for args in texts {
        let whole = piped(None, args);
        for columns in [80, 100] {
            let shown = on_a_terminal(columns, None, args);
            assert!(widest(&shown) <= columns.into(), "{args:?} in {columns} columns:\n{shown}");
            assert!(shown.split_whitespace().eq(whole.split_whitespace()), "{args:?}:\n{shown}");
        }
        assert!(widest(&whole) > 100, "{args:?}: nothing is broken");
        assert_eq!(on_a_terminal(300, None, args), whole, "{args:?}");
    }
}

#[test]
fn the_environment_says_how_wide_a_terminal_is_but_not_a_pipe() {
    let args = ["summary", "--table", "servers", NAMES];
    let wide = piped(None, &args);
    assert_eq!(on_a_terminal(300, None, &args), wide);
    assert_ne!(on_a_terminal(80, None, &args), wide);
    assert_eq!(on_a_terminal(80, Some("300"), &args), wide);
    assert_eq!(on_a_terminal(300, Some("80"), &args), on_a_terminal(80, None, &args));
    assert_eq!(on_a_terminal(80, Some("wide"), &args), on_a_terminal(80, None, &args));
    assert_eq!(piped(Some("80"), &args), wide, "a pipe gets all");
    assert_eq!(on_a_terminal(0, None, &args), wide, "a terminal that does not say how wide it is");
}
