//! The screen of `gamewire view` on a pseudoterminal: keys in, text out.

#![allow(clippy::disallowed_methods, reason = "waiting for a screen ends by the system's clock")]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

/// How long a text may take to appear on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running view.
pub(crate) struct Screen {
    child: Child,
    keys: File,
    output: Receiver<Vec<u8>>,
    /// Bytes of an escape sequence, or of a letter, whose rest is still to come.
    rest: Vec<u8>,
    cells: Vec<Vec<char>>,
    /// The colours of the palette that were used for text.
    colours: BTreeSet<u8>,
    /// Row and column of the next letter.
    at: [usize; 2],
    /// The latest drawing is there as a whole: each ends with the cursor.
    is_whole: bool,
}

impl Screen {
    /// Starts the view on a terminal of this width and height, which is that of its session.
    pub(crate) fn start((columns, rows): (u16, u16), args: &[&str]) -> Screen {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(Some(&size), None).expect("a terminal");
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_gamewire"), "view", "--no-config"]);
        command.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
        command.env("TERM", "xterm").env_remove("COLUMNS").env_remove("LINES");
        command.stdin(terminal.slave.try_clone().expect("a descriptor"));
        command.stdout(terminal.slave).stderr(Stdio::null());
        let child = command.spawn().expect("setsid of util-linux runs");
        drop(command);
        let mut read = File::from(terminal.master);
        let keys = read.try_clone().expect("a descriptor");
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 1 << 14];
            // Reading from a terminal without a writer is an error, not the end of a file.
            while let Ok(read @ 1..) = read.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = vec![vec![' '; columns.into()]; rows.into()];
        let (rest, colours) = (Vec::new(), BTreeSet::new());
        Screen { child, keys, output, rest, cells, colours, at: [0; 2], is_whole: false }
    }

    /// Types keys.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys are taken");
    }

    /// Waits until all of these texts are on the screen, and returns that.
    pub(crate) fn wait_for(&mut self, texts: &[&str]) -> String {
        self.wait_until(&format!("{texts:?}"), |shown| texts.iter().all(|it| shown.contains(it)))
    }

    /// Waits until a text is gone.
    pub(crate) fn wait_without(&mut self, text: &str) -> String {
        self.wait_until(&format!("no {text:?}"), |shown| !shown.contains(text))
    }

    fn wait_until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let shown = self.text();
            if self.is_whole && is_there(&shown) {
                return shown;
            }
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.draw(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("{what} did not appear:\n{shown}"),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without {what}:\n{shown}"),
            }
        }
    }

    /// What is on the screen.
    pub(crate) fn text(&self) -> String {
        let rows = self.cells.iter().map(|row| String::from_iter(row).trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }

    /// The colours of the palette of 256 in which letters were drawn.
    pub(crate) fn colours(&self) -> &BTreeSet<u8> {
        &self.colours
    }

    /// Quits, and checks that it ends well.
    pub(crate) fn quit(self) {
        assert_eq!(self.end(), Some(0));
    }

    /// Quits; returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.type_keys("\u{3}");
        // It can end only if its output is read.
        while self.output.recv_timeout(PATIENCE).is_ok() {}
        self.child.wait().expect("it ends").code()
    }

    fn draw(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.rest);
        let whole = match std::str::from_utf8(&all) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&all[..error.valid_up_to()]).expect("valid"),
        };
        let mut text = whole;
        while let Some(letter) = text.chars().next() {
            let Some(length) = sequence(text) else { break };
            let (one, after) = text.split_at(length);
            match letter {
                '\u{1B}' => self.obey(one),
                letter if letter.is_control() => {}
                letter => self.put(letter),
            }
            text = after;
        }
        let done = whole.len() - text.len();
        self.rest = all[done..].to_vec();
    }

    fn put(&mut self, letter: char) {
        let [row, column] = self.at;
        if let Some(cell) = self.cells.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = letter;
        }
        self.at[1] += 1;
        self.is_whole = false;
    }

    /// Cursor positions and erasure; the view uses nothing else that changes places.
    fn obey(&mut self, sequence: &str) {
        let body = sequence.strip_prefix("\u{1B}[").unwrap_or_default();
        if let Some(place) = body.strip_suffix('H') {
            let (row, column) = place.split_once(';').unwrap_or(("1", "1"));
            let number = |text: &str| text.parse::<usize>().unwrap_or(1).saturating_sub(1);
            self.at = [number(row), number(column)];
        } else if let Some(number) = body.strip_prefix("38;5;") {
            let number = number.split([';', 'm']).next().unwrap_or_default();
            self.colours.extend(number.parse::<u8>().ok());
        } else if body.starts_with("?25") {
            self.is_whole = true;
        } else if body.ends_with('J') {
            self.cells.iter_mut().for_each(|row| row.fill(' '));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The length of the letter, or of the escape sequence, at the beginning of a text; `None`: its rest is missing.
fn sequence(text: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    let (_, first) = letters.next()?;
    if first != '\u{1B}' {
        return Some(first.len_utf8());
    }
    let (_, kind) = letters.next()?;
    let is_end = |c: char| match kind {
        '[' => c.is_ascii_alphabetic() || c == '~',
        ']' => c == '\u{7}',
        _ => true,
    };
    match kind {
        '[' | ']' => letters.find(|(_, c)| is_end(*c)).map(|(at, c)| at + c.len_utf8()),
        kind => Some(1 + kind.len_utf8()),
    }
}
