//! `gamewire record`: runs a command while relays record its traffic. `gamewire check --relay` does the same
//! before it checks what was recorded. Where an interface is captured instead, `around` does it.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::Failure;
use super::around;
use super::child::{self, Signals};
use crate::cli::{CheckArgs, RecordArgs, RelayArgs};
use crate::live::LiveError;
use crate::relay::{BoundRelays, MOST_CLIENTS, SharedTape};
use crate::spoken::Recorded;
use crate::text::{counted, escaped};

/// The environment variables with the addresses of relays, from 1 on.
const VARIABLE: &str = "GAMEWIRE_RELAY_";

/// The name of a recording that is not kept.
pub(super) const UNKEPT: &str = "recording";

/// Number of names that are tried for a temporary folder: some may be left over from runs that were killed.
const NAMES: u32 = 100;

/// Runs `gamewire record`. Returns the exit code of the command.
///
/// # Errors
/// The command cannot be run, or its traffic not be recorded.
pub fn run(args: &RecordArgs, err: &mut dyn Write) -> Result<u8, Failure> {
    if args.write == Path::new("-") {
        let why = "cannot write packets to standard output, which has the command's own output; name a file \
            with --write";
        return Err(Failure::Other(why.to_owned()));
    }
    if let Some(interface) = &args.interface {
        return around::record(args, interface, err);
    }
    record(&args.relays, &args.write, true, Stdio::inherit(), err)
}

/// What `check --relay` records before it checks.
pub struct Recording {
    relays: RelayArgs,
    file: PathBuf,
    /// The folder of a recording that is not kept.
    folder: Option<TemporaryFolder>,
    /// The command's exit code, once it has ended.
    pub code: u8,
}

impl Recording {
    /// Takes the recording out of the arguments, and lets them name its file; `None`: there is none.
    ///
    /// # Errors
    /// There is no place for its file.
    pub fn of(args: &mut CheckArgs) -> Result<Option<Recording>, Failure> {
        if args.relays.relay.is_empty() {
            return Ok(None);
        }
        let relays = RelayArgs {
            relay: std::mem::take(&mut args.relays.relay),
            command: std::mem::take(&mut args.relays.command),
            ..args.relays
        };
        let (file, folder) = match args.input.live.write.take() {
            Some(file) => (file, None),
            None => {
                let folder = TemporaryFolder::create()?;
                args.input.called = Some(UNKEPT.to_owned());
                (folder.file(), Some(folder))
            }
        };
        args.input.files = vec![file.clone()];
        Ok(Some(Recording { relays, file, folder, code: 0 }))
    }

    /// Runs the command and records. What it writes to its standard output goes to that of errors, because
    /// the report of `check` is on standard output.
    ///
    /// # Errors
    /// The command cannot be run, or its traffic not be recorded.
    pub(super) fn run(&mut self, err: &mut dyn Write) -> Result<(), Failure> {
        let (is_kept, stdout) = (self.folder.is_none(), Stdio::from(io::stderr()));
        self.code = record(&self.relays, &self.file, is_kept, stdout, err)?;
        Ok(())
    }
}

/// A folder that only this user can read. It is removed on drop.
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(super) fn create() -> Result<TemporaryFolder, Failure> {
        let (parent, process) = (std::env::temp_dir(), std::process::id());
        let mut number = 0;
        loop {
            let folder = parent.join(format!("gamewire-{process}-{number}"));
            number += 1;
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(TemporaryFolder(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < NAMES => {}
                Err(error) => return Err(Failure::unwritable(&folder, &error)),
            }
        }
    }

    /// The recording in it.
    pub(super) fn file(&self) -> PathBuf {
        self.0.join("recording.pcapng")
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // If that fails, there is nothing else to do about it.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Records what the relays forward while the command runs. Returns its exit code.
fn record(
    args: &RelayArgs,
    file: &Path,
    is_kept: bool,
    stdout: Stdio,
    err: &mut dyn Write,
) -> Result<u8, Failure> {
    let bound = BoundRelays::bind(&args.relay, args.allow_remote)?;
    let unwritable = |error: io::Error| Failure::unwritable(file, &error);
    let tape = SharedTape::create(file).map_err(unwritable)?;
    let mut variables = Vec::new();
    for (number, plan) in (1..).zip(bound.plans()) {
        writeln!(err, "gamewire: relay {number}: {plan}").ok();
        variables.push((format!("{VARIABLE}{number}"), plan.listen.to_string()));
    }
    let signals = Signals::register().map_err(LiveError::Signals)?;
    let relays = bound.start(tape)?;
    let status = child::run(&args.command, variables, stdout, &signals, &mut || {})?;
    relays.settle(args.linger, || signals.came());
    let recorded = relays.finish().map_err(unwritable)?;
    if is_kept {
        let (count, name) = (counted(recorded.packets, "packet"), file.to_string_lossy());
        writeln!(err, "gamewire: wrote {count} to {}", escaped(&name)).ok();
    }
    warn(recorded, relays.strangers(), err);
    Ok(child::code(status))
}

/// Says what was not recorded or not forwarded.
fn warn(recorded: Recorded, strangers: u64, err: &mut dyn Write) {
    let Recorded { packets, lost } = recorded;
    if packets == 0 {
        let why =
            "nothing came to a relay; let the command send to the address in GAMEWIRE_RELAY_1";
        writeln!(err, "gamewire: warning: {why}").ok();
    }
    if lost > 0 {
        let lost = counted(lost, "datagram");
        let why = format!(
            "could not be forwarded, for want of a route, or because more than {MOST_CLIENTS} client sockets \
             asked at a time: a missing response proves nothing after that"
        );
        writeln!(err, "gamewire: warning: {lost} {why}").ok();
    }
    if strangers > 0 {
        let strangers = counted(strangers, "datagram");
        let why = "from other hosts than TARGET: neither forwarded nor recorded";
        writeln!(err, "gamewire: warning: {strangers} {why}").ok();
    }
}
