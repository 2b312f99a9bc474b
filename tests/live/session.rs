//! The program in a session of its own: on a pseudoterminal that can be closed, or without any terminal.
#![allow(dead_code, reason = "not every test file uses every helper")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::libc::O_NOCTTY;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};

/// How long something may take that takes less than a second, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The terminal of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalKind {
    /// None, as of a service.
    None,
    /// Its controlling terminal, which sends SIGHUP when it is closed.
    Controlling,
    /// A terminal that sends no signals to it.
    Other,
}

/// The two ends of a pseudoterminal. Programs that are started meanwhile inherit neither: as long as ours is
/// open anywhere, the terminal is not closed.
fn pseudoterminal() -> (File, File) {
    let ours = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname_r(&ours).unwrap();
    let mut options = File::options();
    let its = options.read(true).write(true).custom_flags(O_NOCTTY).open(name).unwrap();
    let mut size = Command::new("stty");
    let set = size.args(["rows", "24", "cols", "100"]).stdin(its.try_clone().unwrap()).status();
    assert!(set.unwrap().success());
    (File::from(OwnedFd::from(ours)), its)
}

/// A running program. It is killed on drop.
pub(crate) struct Session {
    child: Child,
    /// The other end of its terminal.
    terminal: Option<File>,
    /// What it has shown so far.
    shown: String,
    /// The lines of its standard error.
    said: Receiver<String>,
    /// All of them so far.
    pub(crate) err: String,
}

impl Session {
    /// Starts it, with its output on the terminal or in a file.
    pub(crate) fn start<A: AsRef<OsStr>>(
        kind: TerminalKind,
        program: &[A],
        output: Option<File>,
    ) -> Session {
        let mut command = Command::new("setsid");
        if kind == TerminalKind::Controlling {
            command.arg("--ctty");
        }
        command.args(program).stderr(Stdio::piped()).env("TERM", "xterm");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut terminal = None;
        if kind != TerminalKind::None {
            let (ours, its) = pseudoterminal();
            command.stdin(its.try_clone().unwrap()).stdout(its);
            terminal = Some(ours);
        }
        if let Some(file) = output {
            command.stdout(file);
        }
        let mut child = command.spawn().expect("setsid, of util-linux");
        drop(command);
        let (tell, said) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        Session { child, terminal, shown: String::new(), said, err: String::new() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.id().to_string()]).status();
        assert!(status.unwrap().success(), "it still runs");
    }

    /// Waits for a line on standard error with this text.
    pub(crate) fn says(&mut self, text: &str) {
        while !self.err.contains(text) {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) => self.err += &format!("{line}\n"),
                Err(error) => panic!("it did not say {text}: {error}: {}", self.err),
            }
        }
    }

    /// Waits until its terminal has shown this text.
    pub(crate) fn shows(&mut self, text: &str) {
        let terminal = self.terminal.as_mut().expect("a terminal");
        let mut buffer = [0; 4096];
        let until = Instant::now() + PATIENCE;
        while !self.shown.contains(text) {
            let mut fds = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
            let is_readable = poll(&mut fds, PollTimeout::from(100_u8)).unwrap() > 0;
            let read = if is_readable { terminal.read(&mut buffer).unwrap_or(0) } else { 0 };
            self.shown += &String::from_utf8_lossy(&buffer[..read]);
            assert!(Instant::now() < until, "{}", self.shown);
        }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.terminal.as_mut().expect("a terminal").write_all(keys.as_bytes()).unwrap();
    }

    /// Whether one of its threads waits in this function of the kernel.
    pub(crate) fn is_in(&self, function: &str) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.id()));
        let threads = threads.into_iter().flatten().flatten();
        let mut waits =
            threads.filter_map(|it| std::fs::read_to_string(it.path().join("wchan")).ok());
        waits.any(|it| it == function)
    }

    /// Waits until one is; if the kernel does not tell, for a while.
    pub(crate) fn waits_in(&self, function: &str) {
        let until = Instant::now() + Duration::from_secs(5);
        while !self.is_in(function) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Closes the terminal, as when a connection is lost.
    pub(crate) fn hang_up(&mut self) {
        drop(self.terminal.take().expect("a terminal"));
    }

    /// Waits until it has ended, and until all that it started has.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.said.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => self.err += &format!("{line}\n"),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {}", self.err),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // All of its processes, if a shell started it.
        let group = format!("-{}", self.id());
        let killed =
            Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        drop(killed);
        self.child.wait().ok();
    }
}
