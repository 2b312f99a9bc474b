//! Runs the program on a pseudoterminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// The two ends of a terminal with this number of columns: ours, and that of the program.
pub(crate) fn terminal(columns: u16) -> (File, OwnedFd) {
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    (File::from(terminal.master), terminal.slave)
}

/// The program, in the folder of the project, without settings from its environment.
pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("COLUMNS");
    command.env("TERM", "xterm");
    command
}

/// The output of the program on a terminal with this number of columns; `variable`: the value of `COLUMNS`.
pub(crate) fn on_a_terminal(columns: u16, variable: Option<&str>, args: &[&str]) -> String {
    let (ours, theirs) = terminal(columns);
    let mut command = program(args);
    command.stdout(theirs).stderr(Stdio::null());
    command.envs(variable.map(|columns| ("COLUMNS", columns)));
    let mut child = command.spawn().expect("the program runs");
    // The last descriptor of the other end must be closed, or reading would not end.
    drop(command);
    let out = read(ours);
    // 1: check or diagnose found a fault.
    assert!(matches!(child.wait().expect("it ends").code(), Some(0 | 1)), "{args:?}");
    out
}

/// All that is written to a terminal.
pub(crate) fn read(mut terminal: File) -> String {
    let (mut out, mut buffer) = (Vec::new(), [0; 4096]);
    // Reading from a terminal without a writer is an error, not the end of a file.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        out.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8(out).expect("UTF-8").replace("\r\n", "\n")
}

/// The number of characters of the longest line.
pub(crate) fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// A text without the codes for bold letters and underlines.
pub(crate) fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1B}');
    let mut out = parts.next().unwrap_or_default().to_owned();
    out.extend(parts.filter_map(|part| part.split_once('m')).map(|(_, rest)| rest));
    out
}
