//! `gamewire report`: an HTML page.

use std::io::{self, Write};
use std::path::Path;

use dissectors::ledger::LedgerSettings;

use crate::Terminal;
use crate::capture;
use crate::check::{self, Checker, FailOn, Selection};
use crate::cli;
use crate::commands::consumer::Consumer;
use crate::commands::diagnose::DiagnosisSetting;
use crate::commands::kept_input::KeptInputs;
use crate::commands::read::read;
use crate::commands::{Failure, check as checking, outputs, settings_of};
use crate::diagnose::Diagnosis;
use crate::filter::Filter;
use crate::output_file::OutputFile;
use crate::report::html::{self, Capture, Sample, Verdicts};
use crate::session::{Event, Needs, Totals};
use crate::summary::Summary;
use crate::text::{counted, escaped};

/// Maximum number of messages on a page.
const MESSAGES: usize = 10_000;

/// Maximum bytes of their fields.
const DETAILS: usize = 8 << 20;

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &cli::ReportArgs,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let input = &args.input;
    if input.live.interface.is_some() || input.live.write.is_some() {
        let why = "report reads files and writes to -o; --interface and -w are for other commands";
        return Err(Failure::Other(why.to_owned()));
    }
    let why = "a report is written whole or not at all; name a file";
    outputs::refuse_dash(&args.output, "-o", why)?;
    outputs::refuse_capture(&args.output, "-o", &input.files)?;
    let config = settings_of(input, err)?;
    let selection = checking::selection_of(&input.wanted, &config, err)?;
    let limits = input.limits();
    let room = DETAILS.min(limits.flow_bytes / 8);
    let mut collecting = PageCollector {
        ledger_settings: check::ledger_settings(&config.settings, limits.protocols.remembered),
        filter: input.wanted.filter(true).map_err(Failure::Other)?,
        complete: args.complete.unwrap_or(config.complete),
        diagnosing: DiagnosisSetting::new(input, &config, args.complete),
        fail_on: config.fail_on.unwrap_or(FailOn::Severity(dissectors::kit::Severity::Error)),
        bytes: limits.flow_bytes / 4,
        most: MESSAGES,
        room,
        merged: merged(input),
        name: String::new(),
        selection,
        has_selected: false,
        captures: Vec::new(),
        current: None,
        again: None,
    };
    // From here on, an interrupt is remembered: what a pipe had until then is kept, and read afterwards.
    terminal.stop.iter().for_each(|stop| _ = stop());
    let mut kept = KeptInputs::of(&input.files)?;
    let ran = read(input, &config, &mut collecting, terminal, err, terminal.err);
    if collecting.captures.is_empty() {
        return ran;
    }
    if collecting.shares_out(room) {
        if let Some(once) = input.files.iter().find(|file| capture::is_read_once(file)) {
            let name = escaped(&once.to_string_lossy()).into_owned();
            return Err(Failure::Other(format!(
                "a report of more than {MESSAGES} messages, or of very large ones, reads its input twice, and \
                 {name} can be read only once; give it as standard input (gamewire report - < {name})"
            )));
        }
        kept.rewind().map_err(|error| Failure::Other(format!("standard input: {error}")))?;
        collecting.again = Some(0);
        // Warnings were written in the first pass.
        let again = read(input, &config, &mut collecting, terminal, &mut io::sink(), false);
        if !matches!(again, Ok(()) | Err(Failure::Reported)) {
            return again;
        }
    }
    save(&args.output, &mut collecting.captures)?;
    let (name, seen) = (args.output.to_string_lossy(), collecting.captures.len() as u64);
    writeln!(err, "gamewire: wrote a report of {} to {}", counted(seen, "capture"), escaped(&name))
        .ok();
    ran
}

/// The name of the input if it is one capture.
fn merged(input: &cli::InputArgs) -> String {
    let names = input.files.iter().map(|file| escaped(&file.to_string_lossy()).into_owned());
    Vec::from_iter(names).join(", ")
}

/// Writes the page.
fn save(output: &Path, captures: &mut [Capture]) -> Result<(), Failure> {
    let written = OutputFile::create(output).and_then(|mut file| {
        html::write(captures, cli::VERSION, &mut file)?;
        file.put()
    });
    written.map_err(|error| Failure::unwritable(output, &error))
}

/// The state of the current capture.
struct Current {
    /// Of the findings that are listed.
    checker: Checker,
    /// Of all messages, if only some are selected: the verdict is of the whole capture.
    whole: Option<Checker>,
    diagnosis: Diagnosis,
    summary: Summary,
    sample: Sample,
}

struct PageCollector {
    selection: Selection,
    ledger_settings: LedgerSettings,
    /// Selects the messages that are shown.
    filter: Option<Filter>,
    complete: bool,
    diagnosing: DiagnosisSetting,
    fail_on: FailOn,
    /// Memory limit for the tables of a capture.
    bytes: usize,
    /// Maximum number of messages of a capture, and bytes of their fields.
    most: usize,
    room: usize,
    /// The name of a single capture.
    merged: String,
    name: String,
    /// A message of the current capture was selected.
    has_selected: bool,
    /// The captures that were read.
    captures: Vec<Capture>,
    current: Option<Current>,
    /// In the second pass, for a sample of the messages: the index of the next capture.
    again: Option<usize>,
}

impl Consumer for PageCollector {
    fn needs(&self) -> Needs {
        let sample = Needs { icmp: true, unanswered: true, ..Needs::messages_with_fields() };
        // The second pass only takes a sample.
        if self.again.is_some() {
            return sample;
        }
        let sample = sample.and(Checker::needs(&self.selection, &self.ledger_settings));
        let tables = Needs { ports: true, pairs: true, servers: true, ..Needs::default() };
        sample.and(tables).and(self.diagnosing.needs())
    }

    fn selects_messages(&self) -> bool {
        false
    }

    fn complete(&self) -> bool {
        self.complete
    }

    fn has_selected(&self, _: &Totals) -> bool {
        self.has_selected
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.name = name.map_or_else(|| self.merged.clone(), str::to_owned);
        self.has_selected = false;
        let known = self.again.and_then(|nth| self.captures.get(nth));
        let sample = match known {
            Some(capture) => capture.sample.again(capture.found(), self.most, self.room),
            None => Sample::new(self.most, self.room),
        };
        let checker = |selection| Checker::new(selection, self.ledger_settings, self.complete);
        self.current = Some(Current {
            checker: checker(self.selection.clone()),
            whole: self.filter.is_some().then(|| checker(self.selection.clone().of_all())),
            diagnosis: self.diagnosing.diagnosis(),
            summary: Summary::new(self.bytes, self.filter.is_some()),
            sample,
        });
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let is_wanted = event.is_wanted(self.filter.as_ref());
        if self.again.is_none() {
            current.checker.event(event);
            current.whole.iter_mut().for_each(|whole| whole.event(event));
            current.diagnosis.event(event);
            current.summary.event(event, is_wanted);
        }
        match event {
            Event::Message(message) if is_wanted => {
                self.has_selected = true;
                current.sample.message(message);
            }
            Event::Message(message) => current.sample.exchange(message),
            Event::Icmp(icmp) => current.sample.icmp(icmp),
            Event::Unanswered(request) => current.sample.unanswered(request),
            Event::Checked(_) | Event::CrossFlow(_) | Event::FlowEnded(_) => {}
            Event::Datagram(_) | Event::File(_) => {}
        }
        Ok(())
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let Current { checker, whole, diagnosis, mut summary, sample } = current;
        if let Some(nth) = &mut self.again {
            let capture = self.captures.get_mut(*nth);
            if let Some(capture) = capture.filter(|it| is_short(&it.sample, self.most)) {
                capture.sample = sample;
            }
            *nth += 1;
            return Ok(());
        }
        let (messages, bytes) = sample.taken();
        (self.most, self.room) = (self.most - messages, self.room.saturating_sub(bytes));
        // All review the same counts, which each one takes.
        let traffic = read.traffic.clone();
        let diagnoses = diagnosis.outcome(read);
        let whole = whole.map(|whole| {
            read.traffic = traffic.clone();
            whole.outcome(vec![self.name.clone()], read)
        });
        read.traffic = traffic;
        let listed = checker.outcome(vec![self.name.clone()], read);
        if self.filter.is_none() {
            summary.settle(&listed.reviewed);
        }
        let typed = self.selection.typed.as_deref().unwrap_or_default();
        let verdicts = Verdicts {
            outcome: whole.as_ref().unwrap_or(&listed),
            selected: whole.is_some().then_some((typed, &listed)),
            least: self.fail_on.least(),
            diagnoses: &diagnoses,
        };
        let name = self.name.clone();
        self.captures.push(Capture::new(name, &summary, &verdicts, sample, read)?);
        Ok(())
    }
}

impl PageCollector {
    /// Divides the available space among the captures: those that need more than their share are
    /// read again. Returns whether there are any.
    fn shares_out(&mut self, room: usize) -> bool {
        let seen = self.captures.iter().map(|capture| capture.sample.seen());
        self.most = fair_share(seen.collect(), MESSAGES);
        self.room = room / self.captures.len().max(1);
        self.captures.iter().any(|capture| is_short(&capture.sample, self.most))
    }
}

/// Whether a capture must be read again, with this maximum number of messages.
fn is_short(sample: &Sample, most: usize) -> bool {
    sample.is_full() || sample.taken().0 > most
}

/// How much each of several captures gets of all, so that a large one does not take from smaller ones.
fn fair_share(mut wanted: Vec<u64>, all: usize) -> usize {
    wanted.sort_unstable();
    let (mut left, mut sharers) = (all, wanted.len());
    for wants in wanted {
        let each = left / sharers;
        let Some(wants) = usize::try_from(wants).ok().filter(|wants| *wants <= each) else {
            return each.max(1);
        };
        (left, sharers) = (left - wants, sharers - 1);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::fair_share;

    #[test]
    fn shares_are_fair() {
        assert_eq!(fair_share(vec![3, 5], 10), 10, "all get what they want");
        assert_eq!(fair_share(vec![100, 2], 10), 8);
        assert_eq!(fair_share(vec![100, 2, 100], 10), 4);
        assert_eq!(fair_share(vec![7, 7], 10), 5);
        assert_eq!(fair_share(vec![1; 20], 10), 1);
    }
}
