//! `gamewire view`: browses captures in a terminal.
//!
//! Packets are read on the thread that opened them, as in other commands, because only that thread
//! is confined when an interface is open. It starts a thread for the screen, which starts further
//! ones for long tasks, so that all of them are confined.

mod again;
mod kept;
mod screen;
mod tasks;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use dissectors::kit::Severity;

use crate::Terminal;
use crate::capture::Packet;
use crate::check::{self, FailOn, Selection};
use crate::cli::{self, InputArgs};
use crate::commands::consumer::{Consumer, Meter};
use crate::commands::diagnose::DiagnosisSetting;
use crate::commands::read::read;
use crate::commands::{Failure, painted};
use crate::config::{self, Config};
use crate::filter::Filter;
use crate::session::{Decoder, Event, Needs, Totals};
use crate::view::{Model, ReadingProgress, View};
use again::CaptureAgain;
use kept::{KeptPackets, KeptReader};
use screen::SignalFlags;

/// Flows take half of the memory of a run. An eighth of the rest is for each kind of state here.
/// Limit: conversations that `gamewire view` shows | one for every {crate::view::index::BYTES_OF_CONVERSATION} bytes of
/// 1/{2 * SHARE} of `flow-bytes`, over IPv6 {crate::view::index::BYTES_OF_CONVERSATION + 32} | the oldest are dropped;
/// the last line says how many
/// Limit: messages that `gamewire view` lists | one for every {crate::view::messages::BYTES_OF_MESSAGE} bytes of
/// 1/{2 * SHARE} of `flow-bytes` | the oldest are dropped from the list; the last line says how many
/// Limit: bytes of packets that `gamewire view` keeps of a pipe or an interface | 1/{} of `flow-bytes`,
/// {2 * crate::commands::view::kept::CHUNK:bytes} at least | the oldest are dropped; the last line says how many
const SHARE: usize = 4;

/// The interval of updates of a live capture's tables.
const TABLES: Duration = Duration::from_secs(1);

/// How long the reading thread yields the model to other threads.
const LET: Duration = Duration::from_micros(50);

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or there is no terminal.
pub fn run(
    args: cli::ViewArgs,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    if !terminal.out {
        return Err(Failure::NoTerminal("standard output is none".to_owned()));
    }
    let config = args.input.config.load()?;
    let filter = args.input.wanted.filter(true).map_err(Failure::Other)?;
    let colours = painted(args.color, terminal.out).is_enabled();
    let view = View::new(args.times.style(), filter.clone());
    let again = CaptureAgain::new(args.input, config);
    let (input, config, shared) =
        (Arc::clone(&again.input), Arc::clone(&again.config), Arc::clone(&again.shared));
    let mut watching =
        ModelFiller::new(again.clone(), |again| screen::start(again, view, filter, colours));
    let mut log = ScreenLog { shared: Arc::clone(&shared), line: Vec::new() };
    // The screen shows how far it is.
    let terminal = Terminal { progress: None, ..terminal };
    let ran = read(&input, &config, &mut watching, terminal, &mut log, false);
    shared.is_read.store(true, Ordering::Relaxed);
    if let Err(failure) = &ran {
        shared.lock_now().note(&failure.to_string());
    }
    shared.lock_now().reading = ReadingProgress::Over;
    let shown = match watching.screen.take() {
        None => Ok(()),
        Some(screen) => match screen::wait(screen, &shared.signals) {
            Some(shown) => shown.map_err(|error| Failure::NoTerminal(error.to_string())),
            // Notes cannot be written, either.
            None => return Ok(()),
        },
    };
    // Notes from reading, except for the address of metrics.
    let notes = std::mem::take(&mut shared.lock_now().notes);
    let failed = ran.as_ref().err().map(Failure::to_string);
    for note in notes.iter().filter(|note| !note.contains("listening on")) {
        if Some(note) != failed.as_ref() {
            writeln!(err, "{note}").ok();
        }
    }
    shown.and(ran)
}

/// State shared by the threads.
pub(super) struct ViewState {
    model: Mutex<Model>,
    /// Number of threads waiting for the model; the filling thread yields to them.
    wanted: AtomicUsize,
    /// The user has quit.
    has_quit: AtomicBool,
    /// The signals that came.
    signals: SignalFlags,
    is_read: AtomicBool,
    meter: Arc<Meter>,
    kept: Mutex<KeptPackets>,
    /// Of each capture, the index of its file, and whether its packets are kept.
    captures: Mutex<Vec<(usize, bool)>>,
}

impl ViewState {
    fn new(input: &InputArgs, config: &Config) -> ViewState {
        let limits = input.limits();
        let ledger_settings = check::ledger_settings(&config.settings, limits.protocols.remembered);
        let selection = selection(config);
        let part = limits.flow_bytes / SHARE;
        let least = config.fail_on.unwrap_or(FailOn::Severity(Severity::Error)).least();
        let model =
            Model::new(part, part, selection, ledger_settings).judging(config.complete, least);
        ViewState {
            model: Mutex::new(model),
            wanted: AtomicUsize::new(0),
            has_quit: AtomicBool::new(false),
            signals: SignalFlags::default(),
            is_read: AtomicBool::new(false),
            meter: Arc::default(),
            kept: Mutex::new(KeptPackets::new(part)),
            captures: Mutex::default(),
        }
    }

    /// The model, for the filling thread: others have priority.
    fn lock(&self) -> MutexGuard<'_, Model> {
        while self.wanted.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(LET);
        }
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model, for other threads.
    fn lock_now(&self) -> MutexGuard<'_, Model> {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        self.wanted.fetch_sub(1, Ordering::Relaxed);
        model
    }

    fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    fn has_quit(&self) -> bool {
        self.has_quit.load(Ordering::Relaxed)
    }

    /// The number of captures that have begun.
    fn captures(&self) -> usize {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The index of a capture's file.
    fn file_of(&self, capture: usize) -> usize {
        let captures = self.captures.lock().unwrap_or_else(PoisonError::into_inner);
        captures.get(capture).map_or(capture, |(file, _)| *file)
    }

    /// Whether the packets of a capture are kept, because they can be read only once.
    fn is_kept(&self, capture: usize) -> bool {
        let captures = self.captures.lock().unwrap_or_else(PoisonError::into_inner);
        captures.get(capture).is_some_and(|(_, is_kept)| *is_kept)
    }

    /// The packets of a capture that are kept now.
    fn kept_of(&self, capture: usize) -> KeptReader {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).reader(capture)
    }
}

/// The rules to check, from the project's configuration.
fn selection(config: &Config) -> Selection {
    let (ignores, _) = config.ignores(config::today);
    let ignores = ignores.into_iter().collect();
    Selection { ignores, severities: config.severities.clone(), ..Selection::default() }
}

impl CaptureAgain {
    fn new(input: InputArgs, config: Config) -> CaptureAgain {
        let shared = Arc::new(ViewState::new(&input, &config));
        CaptureAgain { input: Arc::new(input), config: Arc::new(config), shared }
    }

    /// The events that the model needs.
    fn needs(&self) -> Needs {
        let (input, config) = (&self.input, &self.config);
        let ledger_settings =
            check::ledger_settings(&config.settings, input.limits().protocols.remembered);
        Model::needs(&selection(config), &ledger_settings)
    }

    /// What a diagnosis begins with.
    fn diagnosing(&self) -> DiagnosisSetting {
        DiagnosisSetting::new(&self.input, &self.config, None)
    }
}

/// Messages for the user, kept for the screen.
struct ScreenLog {
    shared: Arc<ViewState>,
    line: Vec<u8>,
}

impl Write for ScreenLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.shared.lock_now().note(String::from_utf8_lossy(&line).trim_end());
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The screen's thread.
type ScreenThread = JoinHandle<io::Result<()>>;

/// Fills the model. The screen starts when there is something to read.
struct ModelFiller<S> {
    again: CaptureAgain,
    start: Option<S>,
    screen: Option<ScreenThread>,
    name: String,
    /// The number of files that were opened, or failed to open.
    files: usize,
    /// The current capture's packets are kept.
    is_kept: bool,
}

impl<S: FnOnce(CaptureAgain) -> ScreenThread> ModelFiller<S> {
    fn new(again: CaptureAgain, start: S) -> ModelFiller<S> {
        let (name, screen) = (String::new(), None);
        ModelFiller { again, start: Some(start), screen, name, files: 0, is_kept: false }
    }

    fn shared(&self) -> &ViewState {
        &self.again.shared
    }

    /// Whether the capture's packets can be read only once.
    fn comes_once(&self) -> bool {
        let input = &self.again.input;
        let files = match input.merge {
            true => &input.files[..],
            false => input.files.get(self.files..=self.files).unwrap_or_default(),
        };
        input.live.interface.is_some() || files.iter().any(|file| !file.is_file())
    }

    /// The capture's name.
    fn called(&self, name: Option<&str>) -> String {
        let input = &self.again.input;
        let names = input.files.iter().map(|file| file.to_string_lossy());
        let called = match (name, &input.live.interface) {
            (Some(name), _) => return name.to_owned(),
            (None, Some(interface)) => interface.clone(),
            (None, None) => names.collect::<Vec<_>>().join(", "),
        };
        crate::text::escaped(&called).into_owned()
    }
}

impl<S: FnOnce(CaptureAgain) -> ScreenThread> Consumer for ModelFiller<S> {
    fn needs(&self) -> Needs {
        self.again.needs()
    }

    fn complete(&self) -> bool {
        self.again.config.complete
    }

    /// The display filter can be changed, so all messages are read.
    fn selects_messages(&self) -> bool {
        false
    }

    /// The screen shows how many there are.
    fn has_selected(&self, _: &Totals) -> bool {
        true
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.name = self.called(name);
        self.is_kept = self.comes_once();
        let capture = (self.files, self.is_kept);
        self.shared().captures.lock().unwrap_or_else(PoisonError::into_inner).push(capture);
        self.files += 1;
        let is_live = self.again.input.live.interface.is_some();
        let diagnosis = self.again.diagnosing().diagnosis();
        let mut model = self.shared().lock();
        model.begin(&self.name);
        model.diagnose(diagnosis);
        model.reading = if is_live { ReadingProgress::Live } else { ReadingProgress::Files(None) };
        drop(model);
        if let Some(start) = self.start.take() {
            self.screen = Some(start(self.again.clone()));
        }
        Ok(())
    }

    fn packet(&mut self, frame: u64, packet: &Packet<'_>) {
        if self.is_kept && !self.shared().has_quit() {
            let kept = self.shared().kept.lock();
            let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
            kept.push(self.files.saturating_sub(1), frame, packet);
        }
    }

    fn meter(&self) -> Option<Arc<Meter>> {
        Some(Arc::clone(&self.shared().meter))
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if self.shared().has_quit() {
            return Ok(());
        }
        let wanted = |filter: &Filter| match event {
            Event::Message(message) => message.is_wanted(filter),
            _ => false,
        };
        self.shared().lock().event(event, wanted);
        Ok(())
    }

    fn interval(&self) -> Option<Duration> {
        Some(TABLES)
    }

    fn so_far(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        self.shared().lock().so_far(|summary| {
            decoder.so_far(|row| summary.flow(row));
        });
        Ok(())
    }

    fn unreadable(&mut self, _: &str, why: &Failure) {
        // A capture without readable packets has begun.
        self.files += usize::from(!matches!(why, Failure::Unread(_)));
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        self.shared().lock().end(&self.name, read);
        Ok(())
    }
}
