//! The command whose traffic is recorded: runs it until it ends, and passes signals on to it.
#![allow(clippy::disallowed_methods, reason = "what is recorded live has the system's clock")]

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgrp, tcgetpgrp};
use signal_hook::flag;

use super::Failure;
use crate::live::is_ignored;
use crate::text::escaped;

/// Time between two looks at whether the command has ended, and at signals.
const LOOK: Duration = Duration::from_millis(10);

/// What a shell adds to the number of the signal that ended a command.
const KILLED: i32 = 128;

/// Signals that would end gamewire, and end the command instead: its recording is kept.
pub(super) struct Signals(Vec<(Signal, Arc<AtomicBool>)>);

impl Signals {
    /// From now on. A signal that gamewire was started to ignore, as by nohup, is left so, for the command too.
    ///
    /// # Errors
    /// The system refuses it.
    pub(super) fn register() -> io::Result<Signals> {
        let mut signals = Vec::new();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            if !is_ignored(signal as i32) {
                let came = Arc::new(AtomicBool::new(false));
                flag::register(signal as i32, Arc::clone(&came))?;
                signals.push((signal, came));
            }
        }
        Ok(Signals(signals))
    }

    /// Whether one came that was not passed on.
    pub(super) fn came(&self) -> bool {
        self.0.iter().any(|(_, came)| came.load(Ordering::Relaxed))
    }

    /// Passes on to the command what came.
    fn pass_on(&self, child: &Child) {
        for (signal, came) in &self.0 {
            if came.swap(false, Ordering::Relaxed)
                && !(*signal == Signal::SIGINT && is_in_foreground())
                && let Ok(process) = i32::try_from(child.id())
            {
                // It may have ended meanwhile; it is still this process's child, so no other has its number.
                kill(Pid::from_raw(process), *signal).ok();
            }
        }
    }
}

/// Whether Ctrl-C in the terminal reaches the command by itself.
fn is_in_foreground() -> bool {
    File::open("/dev/tty").is_ok_and(|terminal| tcgetpgrp(terminal) == Ok(getpgrp()))
}

/// Runs the command with these environment variables until it ends. `meanwhile` is called again and again.
///
/// # Errors
/// It cannot be run.
pub(super) fn run(
    command: &[OsString],
    variables: Vec<(String, String)>,
    stdout: Stdio,
    signals: &Signals,
    meanwhile: &mut dyn FnMut(),
) -> Result<ExitStatus, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::Other("there is no command to record; name it after --".to_owned()));
    };
    let failed = |error: io::Error| Failure::Command {
        program: escaped(&program.to_string_lossy()).into_owned(),
        why: why(&error),
    };
    let mut started = Command::new(program);
    let started = started.args(arguments).envs(variables).stdout(stdout);
    let mut child = started.spawn().map_err(failed)?;
    loop {
        signals.pass_on(&child);
        meanwhile();
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        std::thread::sleep(LOOK);
    }
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "there is no such program; check its name, or name its file".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied; name a program that you may run (chmod +x makes a script one)"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// The exit code of a command, as a shell returns it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| KILLED + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
