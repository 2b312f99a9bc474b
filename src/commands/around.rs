//! A capture of an interface around a command: `gamewire record -i` and `gamewire check -i` with a command.
//!
//! Another process of gamewire captures. It gives up root's rights and is confined as always, while this one runs
//! the command with the rights that gamewire was started with, and sees no packet.
#![allow(clippy::disallowed_methods, reason = "a live capture's clock is the system's")]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::Failure;
use super::child::{self, Signals};
use super::sniff::LISTENING;
use crate::cli::{CheckArgs, RecordArgs};
use crate::live::LiveError;

/// The hidden option by which the capture ends when this process closes its input, or has ended itself.
const UNTIL_INPUT_ENDS: &str = "--until-input-ends";

/// Minimum time from the end of the command to that of the capture: packets come from the system with a delay.
const ON_THE_WAY: Duration = Duration::from_millis(100);

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(10);

/// Records what is on the interface while the command runs. Returns its exit code.
pub(super) fn record(
    args: &RecordArgs,
    interface: &str,
    err: &mut dyn Write,
) -> Result<u8, Failure> {
    // The command with the least to do: its table is not shown.
    let mut words: Vec<OsString> =
        ["flows", "--no-config", "-i", interface, "-w"].map(Into::into).into();
    words.push(args.write.clone().into());
    for (option, value) in [("-f", &args.capture_filter), ("-Z", &args.user)] {
        words.extend(value.iter().flat_map(|value| [option.into(), value.into()]));
    }
    let capture = Capture::begin(words, Stdio::null(), err)?;
    let (command, linger) = (&args.relays.command, args.relays.linger);
    let (_, code) = capture.during(command, Stdio::inherit(), linger, err)?;
    Ok(code)
}

/// Checks what is on the interface while the command runs. What the command writes to its standard output goes to
/// that of errors. `words`: the command line. Returns whether a finding fails the capture, and the command's exit code.
///
/// # Errors
/// The interface cannot be captured, or the command not be run.
pub fn check(
    args: &CheckArgs,
    words: &[OsString],
    err: &mut dyn Write,
) -> Result<(bool, u8), Failure> {
    // The command line without the program and the command.
    let words = words.iter().skip(1).take_while(|word| *word != "--").cloned();
    let capture = Capture::begin(words.collect(), Stdio::inherit(), err)?;
    let (command, linger) = (&args.relays.command, args.relays.linger);
    capture.during(command, Stdio::from(io::stderr()), linger, err)
}

/// A process that captures.
struct Capture {
    process: Child,
    /// It ends when this is closed.
    input: Option<ChildStdin>,
    /// The lines of its standard error.
    lines: Receiver<Vec<u8>>,
}

impl Capture {
    /// Starts it, and waits until it captures.
    fn begin(words: Vec<OsString>, stdout: Stdio, err: &mut dyn Write) -> Result<Capture, Failure> {
        let failed = |error: io::Error| Failure::Command {
            program: "gamewire itself as the process that captures".to_owned(),
            why: format!("{error}; is its file still there?"),
        };
        let mut program = Command::new(std::env::current_exe().map_err(failed)?);
        let program = program.args(words).arg(UNTIL_INPUT_ENDS).stdin(Stdio::piped());
        // Ctrl-C in a terminal is for the command, whose last packets are captured, too.
        let program = program.stdout(stdout).stderr(Stdio::piped()).process_group(0);
        let mut process = program.spawn().map_err(failed)?;
        let (input, stderr) = (process.stdin.take(), process.stderr.take());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = stderr.into_iter().flat_map(|it| BufReader::new(it).split(b'\n'));
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut capture = Capture { process, input, lines };
        while let Ok(line) = capture.lines.recv() {
            write_line(&line, err);
            if line.starts_with(LISTENING.as_bytes()) {
                return Ok(capture);
            }
        }
        // It has said why.
        capture.process.wait().ok();
        Err(Failure::Reported)
    }

    /// Runs the command until it ends, and the capture a little longer. Returns whether a finding fails the
    /// capture, and the command's exit code.
    fn during(
        self,
        command: &[OsString],
        stdout: Stdio,
        linger: Duration,
        err: &mut dyn Write,
    ) -> Result<(bool, u8), Failure> {
        let signals = Signals::register().map_err(LiveError::Signals)?;
        let status = child::run(command, Vec::new(), stdout, &signals, &mut || self.pass_on(err))?;
        let ended = Instant::now();
        while ended.elapsed() < linger.max(ON_THE_WAY) && !signals.came() {
            self.pass_on(err);
            std::thread::sleep(LOOK);
        }
        Ok((self.end(err)?, child::code(status)))
    }

    /// Passes on what the process has written so far.
    fn pass_on(&self, err: &mut dyn Write) {
        self.lines.try_iter().for_each(|line| write_line(&line, err));
    }

    /// Ends the capture. Returns whether a finding fails it.
    fn end(mut self, err: &mut dyn Write) -> Result<bool, Failure> {
        drop(self.input.take());
        self.lines.iter().for_each(|line| write_line(&line, err));
        match self.process.wait().map(|status| status.code()) {
            Ok(Some(0)) => Ok(false),
            Ok(Some(1)) => Ok(true),
            // It has said why, unless something has killed it.
            Ok(Some(_)) => Err(Failure::Reported),
            Ok(None) | Err(_) => {
                let why =
                    "the process that captures was killed, and its results are lost; run it again";
                Err(Failure::Other(why.to_owned()))
            }
        }
    }
}

impl Drop for Capture {
    /// Without a command there is no result. A process that has ended is not concerned.
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn write_line(line: &[u8], err: &mut dyn Write) {
    // The process has escaped what others have written.
    err.write_all(line).and_then(|()| err.write_all(b"\n")).ok();
}
