//! `gamewire diagnose`: why players see a server or not.

use std::io::{self, Write};
use std::net::IpAddr;

use dissectors::ledger::LedgerSettings;

use crate::Terminal;
use crate::abuse::{Abuse, AbuseSetting};
use crate::check;
use crate::cli;
use crate::commands::consumer::Consumer;
use crate::commands::read::{identifier, read};
use crate::commands::{Failure, settings_of, text_style};
use crate::config::Config;
use crate::diagnose::Diagnosis;
use crate::flows::Identifier;
use crate::report::diagnose::DiagnosisReport;
use crate::report::paint::TextStyle;
use crate::session::{Event, Needs, Totals};

/// Runs the command. `true`: something is wrong with a server.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub fn run(
    args: &cli::DiagnoseArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<bool, Failure> {
    let config = settings_of(&args.input, err)?;
    let new = DiagnosisSetting {
        server: args.server,
        of_probe: args.of_probe,
        ..DiagnosisSetting::new(&args.input, &config, args.complete)
    };
    let mut consumer = DiagnoseConsumer {
        args,
        diagnosis: new.diagnosis(),
        setting: new,
        style: text_style(args.color, terminal),
        capture: None,
        has_begun: false,
        found: false,
        out,
    };
    let running = terminal.err && !terminal.out;
    let ran = read(&args.input, &config, &mut consumer, terminal, err, running);
    match ran {
        // A reader that closes the pipe has seen enough; the exit code still counts findings.
        Err(failure) if failure.reader_is_gone() => Ok(consumer.found),
        ran => ran.map(|()| consumer.found),
    }
}

/// Memory of a diagnosis, in sixteenths of that for flows.
/// Limit: servers that `gamewire diagnose`, `report` and `view` diagnose | one for every
/// {crate::diagnose::BYTES_OF_SERVER:bytes} of {}/32 of `flow-bytes`
/// ({SIXTEENTHS * 16_777_216 / crate::diagnose::BYTES_OF_SERVER} of 512 MiB), 16 at least; the one that `--server`
/// names always has room | the output says how many were left out; `cut` and `left_out` in JSON
/// Limit: servers in masters' lists that these know | one for every {crate::diagnose::BYTES_OF_FACT} bytes of {}/128 of
/// `flow-bytes` | the output says so; that a server is in no list is unknown
const SIXTEENTHS: usize = 3;

/// What a diagnosis begins with.
pub(super) struct DiagnosisSetting {
    /// Memory limit for the state of a capture, and for its attacks.
    bytes: usize,
    attack_bytes: usize,
    ledger_settings: LedgerSettings,
    /// The user states that captures are complete.
    complete: bool,
    /// The server that is asked about.
    server: Option<(IpAddr, Option<u16>)>,
    /// They are of what gamewire asked by itself.
    of_probe: Option<cli::OfProbe>,
    identifier: Identifier,
}

impl DiagnosisSetting {
    /// As the command line says, or else the configuration.
    pub(super) fn new(
        input: &cli::InputArgs,
        config: &Config,
        complete: Option<bool>,
    ) -> DiagnosisSetting {
        let limits = input.limits();
        DiagnosisSetting {
            bytes: limits.flow_bytes / 16 * SIXTEENTHS,
            attack_bytes: limits.attack_bytes(),
            ledger_settings: check::ledger_settings(&config.settings, limits.protocols.remembered),
            complete: complete.unwrap_or(config.complete),
            server: None,
            of_probe: None,
            identifier: identifier(input, config),
        }
    }

    /// The events that it needs.
    pub(super) fn needs(&self) -> Needs {
        Diagnosis::needs(&self.ledger_settings)
    }

    /// Of the next capture.
    pub(super) fn diagnosis(&self) -> Diagnosis {
        let setting = AbuseSetting::usual(self.ledger_settings);
        let abuse = Abuse::new(self.attack_bytes, setting, self.identifier.clone());
        let diagnosis = Diagnosis::new(self.bytes, self.ledger_settings, self.complete);
        let diagnosis = diagnosis.with_attacks(abuse).of_server(self.server);
        match self.of_probe {
            Some(probe) => diagnosis.of_probe(probe.master),
            None => diagnosis,
        }
    }
}

struct DiagnoseConsumer<'w> {
    args: &'w cli::DiagnoseArgs,
    setting: DiagnosisSetting,
    diagnosis: Diagnosis,
    style: TextStyle,
    /// The capture's name, if there are several.
    capture: Option<String>,
    has_begun: bool,
    found: bool,
    out: &'w mut dyn Write,
}

impl Consumer for DiagnoseConsumer<'_> {
    fn needs(&self) -> Needs {
        self.setting.needs()
    }

    /// Other messages contribute, too.
    fn selects_messages(&self) -> bool {
        true
    }

    fn complete(&self) -> bool {
        self.setting.complete
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
        let empty = self.setting.diagnosis();
        let diagnosis = std::mem::replace(&mut self.diagnosis, empty);
        let diagnoses = diagnosis.outcome(read);
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
            cli::DiagnoseFormat::Text => report.text(self.style, &mut bytes),
            cli::DiagnoseFormat::Markdown => report.markdown(&mut bytes),
            cli::DiagnoseFormat::Json => report.json(&mut bytes),
        }
        self.has_begun = true;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}
