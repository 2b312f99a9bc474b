//! `gamewire probe`: asks one server or master, and diagnoses what was said.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use dissectors::kit::Role;

use crate::Terminal;
use crate::capture::write::END;
use crate::cli::{
    CheckArgs, Cli, Command, DiagnoseArgs, DiagnoseFormat, InputArgs, OfProbe, ProbeArgs,
};
use crate::commands::record::{TemporaryFolder, UNKEPT};
use crate::commands::{Failure, check, diagnose, end_of_recording};
use crate::probe::{self, Host, MOST_REQUESTS, Outcome, Probe, Step, Way};
use crate::spoken::Tape;
use crate::text::{counted, escaped};

/// The name of the interface in the recording.
const INTERFACE: &str = "gamewire probe";

/// Maximum size of a recording in bytes: what comes later is not recorded.
const LARGEST: usize = 64 << 20;

/// Runs the command. `true`: something is wrong.
///
/// # Errors
/// The host cannot be asked, or the recording or the output not be written.
pub fn run(
    args: &ProbeArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<bool, Failure> {
    if args.write.as_deref() == Some(Path::new("-")) {
        let why = "cannot write packets to standard output, which has the diagnosis; name a file with --write";
        return Err(Failure::Other(why.to_owned()));
    }
    let host = Host::of(&args.host, args.allow_remote)?;
    let probe = Probe {
        host: host.address,
        way: args.protocol.as_deref().and_then(Way::named),
        timeout: args.timeout,
    };
    let folder = args.write.is_none().then(TemporaryFolder::create).transpose()?;
    let file = match (&args.write, &folder) {
        (Some(file), _) => file.clone(),
        (None, folder) => folder.as_ref().map(TemporaryFolder::file).unwrap_or_default(),
    };
    let outcome = ask(args, &host, &probe, &file, err, terminal)?;
    let recording = Recording { args, file, probe: &probe, outcome };
    let is_wrong = recording.diagnose(out, err, terminal)?;
    // Of silence, the diagnosis says it all.
    let is_checked = args.check || recording.outcome.answers > 0;
    if args.format != DiagnoseFormat::Text || !is_checked {
        return Ok(is_wrong);
    }
    let breaks_rules = recording.check(out, err, terminal)?;
    Ok(is_wrong || args.check && breaks_rules)
}

/// Asks, and writes what was said to a file.
fn ask(
    args: &ProbeArgs,
    host: &Host,
    probe: &Probe,
    file: &Path,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<Outcome, Failure> {
    let unwritable = |error: io::Error| Failure::unwritable(file, &error);
    let mut tape = Tape::new(Some(file), INTERFACE, LARGEST).map_err(unwritable)?;
    if let Some(name) = &host.name {
        writeln!(err, "gamewire: {} is {}", escaped(name), host.address.ip()).ok();
    }
    let stop = end_of_recording(terminal);
    let mut report = |step: Step| {
        if args.verbose {
            writeln!(err, "gamewire: {}", described(step)).ok();
        }
    };
    let outcome = probe::run(probe, &mut tape, &mut report, &|| stop.is_asked())?;
    if stop.is_asked() && outcome.answers == 0 {
        return Err(Failure::Interrupted);
    }
    tape.keep(&END);
    tape.finish().map_err(unwritable)?;
    let requests = counted(u64::from(outcome.requests), "request");
    let answers = counted(u64::from(outcome.answers), "answer");
    writeln!(err, "gamewire: sent {requests} to {}, got {answers}", host.address.ip()).ok();
    if outcome.answers == 0 && probe.way.is_none() {
        writeln!(
            err,
            "gamewire: note: it was asked as a server; a master is named with --protocol"
        )
        .ok();
    }
    if outcome.is_cut {
        let most = counted(u64::from(MOST_REQUESTS), "request");
        writeln!(err, "gamewire: note: there is more to ask; a probe ends after {most}").ok();
    }
    if args.write.is_some() {
        writeln!(err, "gamewire: wrote {}", escaped(&file.to_string_lossy())).ok();
    }
    Ok(outcome)
}

fn described(step: Step) -> String {
    match step {
        Step::Request(label, to, 0) => format!("connects to {to}: {label}"),
        Step::Request(label, to, length) => format!("asks {to}: {label}, {length} bytes"),
        Step::Answer(from, length) => format!("{from} answers: {length} bytes"),
        Step::Silence(to) => format!("{to} does not answer"),
        Step::Closed(to) => format!("nobody listens at {to}"),
    }
}

/// What was said, in a file.
struct Recording<'p> {
    args: &'p ProbeArgs,
    file: PathBuf,
    probe: &'p Probe,
    outcome: Outcome,
}

impl Recording<'_> {
    fn diagnose(
        &self,
        out: &mut dyn Write,
        err: &mut dyn Write,
        terminal: Terminal,
    ) -> Result<bool, Failure> {
        let Command::Diagnose(read) = self.command("diagnose")? else { return Ok(false) };
        let ProbeArgs { format, color, .. } = *self.args;
        let input = self.input(read.input);
        // That nothing came is said already.
        let mut nowhere = io::sink();
        let err = if self.outcome.answers > 0 { err } else { &mut nowhere };
        let of_probe = Some(OfProbe { master: self.probe.master() });
        let args = DiagnoseArgs { format, color, input, of_probe, ..read };
        diagnose::run(&args, out, err, terminal)
    }

    fn check(
        &self,
        out: &mut dyn Write,
        err: &mut dyn Write,
        terminal: Terminal,
    ) -> Result<bool, Failure> {
        let Command::Check(read) = self.command("check")? else { return Ok(false) };
        // What gamewire itself does, which may be about a host that it was not to ask, is not the question.
        let who = Some(if self.probe.master().is_some() { Role::Master } else { Role::Server });
        let ProbeArgs { color, check, .. } = *self.args;
        let args = CheckArgs { color, who, quiet: !check, input: self.input(read.input), ..read };
        writeln!(out)?;
        check::run(&args, None, out, err, terminal)
    }

    /// The command line that reads the file.
    fn command(&self, name: &str) -> Result<Command, Failure> {
        // Nothing that came to the sockets is missing.
        let complete = format!("--complete={}", self.outcome.is_certain);
        let mut words: Vec<OsString> = ["gamewire", name, &complete].map(Into::into).to_vec();
        if let Some(way) = self.probe.way {
            let (transport, port) = (way.transport().name(), self.probe.host.port());
            let forced = format!("{transport}.port=={port},{}", way.protocol.info().id);
            words.extend(["--decode-as".into(), forced.into()]);
        }
        words.extend(["--read".into(), self.file.clone().into()]);
        let read = Cli::read(words);
        read.map(|cli| cli.command).map_err(|error| Failure::Other(error.to_string()))
    }

    fn input(&self, read: InputArgs) -> InputArgs {
        let called = self.args.write.is_none().then(|| UNKEPT.to_owned());
        InputArgs { called, config: self.args.config.clone(), ..read }
    }
}
