//! `gamewire diagnose`: why players see a server or not.

use std::io::{self, Write};

use dissectors::ledger::Terms;

use crate::Terminal;
use crate::check;
use crate::cli;
use crate::commands::consumer::Consumer;
use crate::commands::read::read;
use crate::commands::{Failure, painted, settings_of};
use crate::diagnose::Diagnosis;
use crate::report::diagnose::DiagnosisReport;
use crate::report::paint::Paint;
use crate::session::{Event, Needs, Totals};

/// Runs the command. `true`: something is wrong with a server.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub fn run(
    args: &cli::DiagnoseArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal,
) -> Result<bool, Failure> {
    let config = settings_of(&args.input, err)?;
    let limits = args.input.limits();
    let terms = check::terms(&config.settings, limits.protocols.remembered);
    let (bytes, complete) = (limits.flow_bytes / 4, args.complete.unwrap_or(config.complete));
    let mut consumer = DiagnoseConsumer {
        args,
        terms,
        bytes,
        complete,
        diagnosis: Diagnosis::new(bytes, terms, complete),
        paint: painted(args.color, terminal.out),
        columns: terminal.columns,
        capture: None,
        has_begun: false,
        found: false,
        out,
    };
    let running = terminal.err && !terminal.out;
    let ran = read(&args.input, &config, &mut consumer, terminal.stop, err, running);
    match ran {
        // A reader that closes the pipe has seen enough; the exit code still counts findings.
        Err(failure) if failure.reader_is_gone() => Ok(consumer.found),
        ran => ran.map(|()| consumer.found),
    }
}

struct DiagnoseConsumer<'w> {
    args: &'w cli::DiagnoseArgs,
    terms: Terms,
    /// Memory limit for the state of a capture.
    bytes: usize,
    /// The user states that captures are complete.
    complete: bool,
    diagnosis: Diagnosis,
    paint: Paint,
    /// The terminal's width.
    columns: Option<usize>,
    /// The capture's name, if there are several.
    capture: Option<String>,
    has_begun: bool,
    found: bool,
    out: &'w mut dyn Write,
}

impl Consumer for DiagnoseConsumer<'_> {
    fn needs(&self) -> Needs {
        Diagnosis::needs(&self.terms)
    }

    /// Other messages contribute, too.
    fn selects_messages(&self) -> bool {
        true
    }

    fn complete(&self) -> bool {
        self.complete
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.capture = name.map(str::to_owned);
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.diagnosis.event(event);
        Ok(())
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        let empty = Diagnosis::new(self.bytes, self.terms, self.complete);
        let diagnosis = std::mem::replace(&mut self.diagnosis, empty);
        let diagnoses = diagnosis.outcome(read, self.args.server);
        self.found |= diagnoses.has_fault();
        let report = DiagnosisReport {
            diagnoses: &diagnoses,
            capture: self.capture.as_deref(),
            is_named: self.args.server.is_some(),
        };
        let mut bytes = Vec::new();
        if self.has_begun && self.args.format != cli::DiagnoseFormat::Json {
            bytes.push(b'\n');
        }
        match self.args.format {
            cli::DiagnoseFormat::Text => report.text(self.columns, self.paint, &mut bytes),
            cli::DiagnoseFormat::Markdown => report.markdown(&mut bytes),
            cli::DiagnoseFormat::Json => report.json(&mut bytes),
        }
        self.has_begun = true;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}
