//! Runs a command line.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;

use crate::capture::{CaptureError, Stop};
use crate::cli::{self, CheckArgs, Cli, Command};
use crate::commands::progress::Progress;
use crate::commands::record::Recording;
use crate::commands::{self, Failure};
use crate::file_id::FileId;
use crate::live::LiveError;

/// Properties of the standard streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal<'p> {
    /// Standard output.
    pub out: bool,
    /// Standard error.
    pub err: bool,
    /// The width of standard output in columns, if it is a terminal that reports it.
    pub columns: Option<usize>,
    /// Its height in lines, likewise.
    pub rows: Option<usize>,
    /// The regular file that standard output is redirected to, if it is.
    pub file: Option<FileId>,
    /// Installs signal handlers that stop the reading of files; called when there is something to read.
    pub stop: Option<fn() -> Stop>,
    /// Shows how far the reading of files is; [`run`] sets it.
    pub progress: Option<&'p Progress>,
}

/// Success.
pub const RAN: u8 = 0;
/// `check` found a broken rule at or above the severity that fails, or `diagnose` a fault.
pub const FOUND: u8 = 1;
/// A usage error, unreadable input, or output that cannot be written.
pub const UNUSABLE: u8 = 2;

/// Interrupted before there was a result.
pub const INTERRUPTED: u8 = 130;

/// Runs a command line and returns the exit code.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> u8 {
    let progress = Progress::new(terminal.err);
    let (mut out, mut err) =
        (progress.before_output(out, terminal.out), progress.before_errors(err));
    let (out, err): (&mut dyn Write, &mut dyn Write) = (&mut out, &mut err);
    let terminal = Terminal { progress: Some(&progress), ..terminal };
    let args = Vec::from_iter(args);
    let mut cli = match Cli::read(args.clone()) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, out, err, terminal),
    };
    if cli.command.input().is_some_and(|input| input.live.list_interfaces) {
        let listed = commands::interfaces(out);
        return ended(listed.map(|()| RAN), out, err);
    }
    if let Some(input) = cli.command.input() {
        commands::folders::expand(&mut input.files, err);
        if let Err(failure) = commands::outputs::refuse_standard_output(terminal.file, &input.files)
        {
            return ended(Err(failure), out, err);
        }
    }
    #[cfg(feature = "tui")]
    if let Command::View(view) = cli.command {
        let viewed = commands::view::run(view, err, terminal);
        return ended(viewed.map(|()| RAN), out, err);
    }
    let ran = command(&mut cli.command, &args, out, err, terminal);
    if cli.is_by_default && ran.is_ok() && out.flush().is_ok() {
        name_commands(err);
    }
    ended(ran, out, err)
}

/// Runs a command, and returns its exit code. `words`: the command line.
fn command(
    command: &mut Command,
    words: &[OsString],
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<u8, Failure> {
    let found = |is_found: bool| if is_found { FOUND } else { RAN };
    let ran = match command {
        Command::Dissect(dissect) => commands::dissect::run(dissect, out, err, terminal),
        Command::Summary(summary) => commands::summary::run(summary, out, err, terminal),
        Command::Abuse(abuse) => commands::abuse::run(abuse, out, err, terminal),
        Command::Follow(follow) => commands::follow::run(follow, out, err, terminal),
        // It was run above: its threads own the command.
        #[cfg(feature = "tui")]
        Command::View(_) => Ok(()),
        Command::Report(report) => commands::report::run(report, err, terminal),
        Command::Export(export) => commands::export::run(export, err, terminal),
        Command::Scrub(scrub) => commands::scrub::run(scrub, err, terminal),
        Command::Flows(flows) => commands::flows::run(flows, out, err, terminal),
        Command::Check(check) => return self::check(check, words, out, err, terminal),
        #[cfg(feature = "cli")]
        Command::Record(record) => return commands::record::run(record, err),
        #[cfg(feature = "cli")]
        Command::Probe(probe) => {
            return commands::probe::run(probe, out, err, terminal).map(found);
        }
        Command::Diagnose(diagnose) => {
            return commands::diagnose::run(diagnose, out, err, terminal).map(found);
        }
        #[cfg(feature = "cli")]
        Command::Serve(serve) => commands::serve::run(serve, out, err, terminal),
        Command::Rules(rules) => commands::rules::list(rules, out, terminal),
        Command::Explain(explain) => commands::rules::explain(explain, out, terminal),
        Command::Fields(fields) => commands::fields::list(fields, out, terminal),
        #[cfg(feature = "program")]
        Command::Docs(docs) => commands::docs::part(docs, out),
        #[cfg(feature = "program")]
        Command::Man(man) => commands::manual::page(man, out),
        #[cfg(feature = "program")]
        Command::Completions(shell) => commands::manual::completions(shell, out),
    };
    ran.map(|()| RAN)
}

/// Checks captures, or what it records of a command: then the exit code is the command's if nothing fails. `words`:
/// the command line.
fn check(
    args: &mut CheckArgs,
    words: &[OsString],
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<u8, Failure> {
    if args.captures_around_command() {
        let (found, passed) = commands::around::check(args, words, err)?;
        return Ok(if found { FOUND } else { passed });
    }
    let mut recording = Recording::of(args)?;
    let found = commands::check::run(args, recording.as_mut(), out, err, terminal)?;
    let passed = recording.map_or(RAN, |recording| recording.code);
    Ok(if found { FOUND } else { passed })
}

/// Names the commands that show more of a capture, after a summary that no command asked for.
fn name_commands(err: &mut dyn Write) {
    writeln!(err, "\ngamewire: this is `gamewire summary`; other commands show more:").ok();
    for (name, about) in cli::others() {
        writeln!(err, "  {name:<9} {about}").ok();
    }
    writeln!(err, "gamewire: `gamewire -h` lists all commands").ok();
}

/// Reports an error, and returns the exit code. A closed pipe is not an error, and changes no verdict.
fn ended(ran: Result<u8, Failure>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let (code, failure) = match ran {
        Ok(code) => (code, out.flush().err().map(Failure::Output)),
        Err(failure) => (RAN, Some(failure)),
    };
    let Some(failure) = failure.filter(|failure| !failure.reader_is_gone()) else { return code };
    if !matches!(failure, Failure::Reported) {
        writeln!(err, "gamewire: {failure}").ok();
    }
    match failure {
        Failure::Interrupted
        | Failure::Capture(CaptureError::Interrupted { .. })
        | Failure::Live(LiveError::Interrupted) => INTERRUPTED,
        _ => UNUSABLE,
    }
}

/// Writes help to standard output, with colours on a terminal, and usage errors in one line to
/// standard error.
fn usage(
    error: &clap::Error,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> u8 {
    let text = error.render();
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        writeln!(err, "gamewire: {}", in_a_line(&text.to_string())).ok();
        return UNUSABLE;
    }
    let show = |to: &mut dyn Write, is_terminal: bool| {
        if is_terminal { write!(to, "{}", text.ansi()) } else { write!(to, "{text}") }
    };
    if error.use_stderr() {
        show(err, terminal.err).ok();
        return UNUSABLE;
    }
    let shown = show(out, terminal.out).map(|()| RAN).map_err(Failure::Output);
    ended(shown, out, err)
}

/// A usage error in one line, without the usage text of `--help`.
fn in_a_line(text: &str) -> String {
    let lines = text.strip_prefix("error: ").unwrap_or(text).lines().map(str::trim);
    let mut line = String::new();
    for part in lines.filter(|part| !part.is_empty() && !part.starts_with("Usage: ")) {
        if !line.is_empty() {
            line.push_str(if line.ends_with(':') || part.starts_with('[') { " " } else { "; " });
        }
        line.push_str(part.strip_prefix("For more information, ").unwrap_or(part));
    }
    line.trim_end_matches('.').to_owned()
}
