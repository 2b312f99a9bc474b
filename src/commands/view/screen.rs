//! The terminal: drawing, and keys. It may be closed at any time, or take no more output.
#![allow(clippy::disallowed_methods, reason = "the screen's clock is the system's")]

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    Event, KeyEventKind,
};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Position, Rect};
use ratatui::{TerminalOptions, Viewport};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};

use super::again::CaptureAgain;
use super::tasks::Tasks;
use super::{ScreenThread, ViewState};
use crate::commands::closed::{is_full, is_gone};
use crate::filter::Filter;
use crate::view::{Model, ReadingProgress, TaskReply, TaskRequest, View, draw};

/// How long to wait for a key.
const WAIT: Duration = Duration::from_millis(50);

/// How long a terminal may take no output after a signal.
const FULL: Duration = Duration::from_secs(1);

/// Maximum number of keys that wait.
const EVENTS: usize = 64;

/// The interval of updates while reading.
const REFRESH: Duration = Duration::from_millis(250);

/// Starts the screen's thread. `filter`: the initial display filter.
pub(super) fn start(
    again: CaptureAgain,
    view: View,
    filter: Option<Filter>,
    colours: bool,
) -> ScreenThread {
    std::thread::spawn(move || {
        let (sender, replies) = channel();
        let mut tasks = Tasks::new(again.clone(), sender);
        if filter.is_some() {
            tasks.filter(filter);
        }
        let shared = Arc::clone(&again.shared);
        shared.signals.register();
        let has_keys = io::stdin().is_terminal();
        let shown = ScreenTerminal::enter().and_then(|mut terminal| {
            let events = events();
            let shared = &shared;
            let mut showing =
                RunningView { shared, view, tasks, replies, events, has_keys, colours };
            let shown = showing.run(&mut terminal);
            terminal.leave().and(shown)
        });
        quit(&shared);
        // A terminal that was closed is as if the user had quit.
        if is_closed(has_keys) { Ok(()) } else { shown }
    })
}

/// Waits for the screen's thread. `None`: after a signal, the terminal takes no output, as when a connection is
/// lost, so the thread cannot end.
pub(super) fn wait(screen: ScreenThread, signals: &SignalFlags) -> Option<io::Result<()>> {
    let mut full = None;
    while !screen.is_finished() {
        full = match signals.is_any() && is_full(&io::stdout()) {
            true => full.or_else(|| Some(Instant::now())),
            false => None,
        };
        if full.is_some_and(|since| since.elapsed() >= FULL) {
            disable_raw_mode().ok();
            return None;
        }
        std::thread::sleep(WAIT);
    }
    Some(screen.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// The user has quit: reading ends as with Ctrl-C, unless a signal has ended it.
fn quit(shared: &ViewState) {
    shared.has_quit.store(true, Ordering::Relaxed);
    if !shared.is_read() && !shared.signals.by_signal.load(Ordering::Relaxed) {
        signal_hook::low_level::raise(SIGINT).ok();
    }
}

/// Whether the terminal was closed. `has_keys`: standard input is a terminal, too.
fn is_closed(has_keys: bool) -> bool {
    is_gone(&io::stdout()) || has_keys && is_gone(&io::stdin())
}

/// The terminal's events. A thread of its own reads them: when the terminal was closed, that does not end.
fn events() -> Receiver<io::Result<Event>> {
    let (sender, events) = sync_channel(EVENTS);
    std::thread::spawn(move || while sender.send(event::read()).is_ok() {});
    events
}

/// Flags set by signals.
#[derive(Default)]
pub(super) struct SignalFlags {
    /// A signal that also ends reading.
    by_signal: Arc<AtomicBool>,
    /// The terminal was closed.
    by_hangup: Arc<AtomicBool>,
}

impl SignalFlags {
    fn register(&self) {
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&self.by_signal)).ok();
        }
        signal_hook::flag::register(SIGHUP, Arc::clone(&self.by_hangup)).ok();
    }

    fn is_any(&self) -> bool {
        self.by_signal.load(Ordering::Relaxed) || self.by_hangup.load(Ordering::Relaxed)
    }
}

/// The terminal in raw mode.
struct ScreenTerminal {
    drawn: ratatui::Terminal<CrosstermBackend<BufWriter<File>>>,
}

/// Standard output, bypassing its lock, which the program holds.
fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// The drawing backend in the terminal's size. The size is fixed, because ratatui's resize asks the
/// terminal for its cursor position, through the locked output.
fn drawn() -> io::Result<ratatui::Terminal<CrosstermBackend<BufWriter<File>>>> {
    let backend = CrosstermBackend::new(BufWriter::new(output()?));
    let viewport = Viewport::Fixed(Rect::from((Position::ORIGIN, backend.size()?)));
    ratatui::Terminal::with_options(backend, TerminalOptions { viewport })
}

impl ScreenTerminal {
    /// Takes over the terminal; a panic restores it first.
    fn enter() -> io::Result<ScreenTerminal> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if let Ok(mut out) = output() {
                give_back(&mut out).ok();
            }
            before(panic);
        }));
        let mut terminal = ScreenTerminal { drawn: drawn()? };
        terminal.take()?;
        Ok(terminal)
    }

    fn take(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        let out = self.drawn.backend_mut();
        execute!(
            out,
            EnterAlternateScreen,
            EnableMouseCapture,
            EnableBracketedPaste,
            cursor::Hide
        )?;
        self.fit()
    }

    /// Begins again with an empty screen of the terminal's current size.
    fn fit(&mut self) -> io::Result<()> {
        self.drawn = drawn()?;
        execute!(self.drawn.backend_mut(), Clear(ClearType::All))
    }

    fn leave(&mut self) -> io::Result<()> {
        give_back(self.drawn.backend_mut())
    }
}

/// Restores the terminal.
fn give_back(out: &mut impl Write) -> io::Result<()> {
    let left = execute!(
        out,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
    disable_raw_mode().and(left)
}

/// A running view.
struct RunningView<'s> {
    shared: &'s ViewState,
    view: View,
    tasks: Tasks,
    replies: Receiver<(Arc<AtomicBool>, TaskReply)>,
    events: Receiver<io::Result<Event>>,
    /// Standard input is a terminal.
    has_keys: bool,
    colours: bool,
}

impl RunningView<'_> {
    fn run(&mut self, terminal: &mut ScreenTerminal) -> io::Result<()> {
        let (mut is_new, mut refreshed) = (true, None::<Instant>);
        let mut shown = None;
        loop {
            is_new |= self.replies();
            if refreshed.is_none_or(|at| at.elapsed() >= REFRESH) {
                refreshed = Some(Instant::now());
                let mut model = self.shared.lock_now();
                self.see_progress(&mut model);
                let state = state(&model);
                if shown.as_ref() != Some(&state) {
                    self.view.refresh(&model);
                    (shown, is_new) = (Some(state), true);
                }
            }
            if std::mem::take(&mut is_new) {
                let (shared, view, colours) = (self.shared, &mut self.view, self.colours);
                // The terminal gets it afterwards, without the model: that may take long.
                terminal.drawn.draw(|frame| draw(frame, view, &shared.lock_now(), colours))?;
            }
            let mut next = self.events.recv_timeout(WAIT);
            loop {
                if self.shared.signals.is_any() || is_closed(self.has_keys) {
                    return Ok(());
                }
                let event = match next {
                    Ok(event) => event?,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                };
                is_new = true;
                if self.event(&event, terminal)? {
                    return Ok(());
                }
                next = self.events.recv_timeout(Duration::ZERO);
            }
        }
    }

    /// Handles results of tasks that were not cancelled. Returns whether there were any.
    fn replies(&mut self) -> bool {
        let mut has_some = false;
        while let Ok((cancelled, reply)) = self.replies.try_recv() {
            if !cancelled.load(Ordering::Relaxed) {
                let is_of_all = matches!(reply, TaskReply::Filtered | TaskReply::Judged);
                self.view.reply(reply);
                has_some = true;
                if is_of_all {
                    self.view.refresh(&self.shared.lock_now());
                }
            }
        }
        has_some
    }

    fn see_progress(&self, model: &mut Model) {
        if let ReadingProgress::Files(share) = &mut model.reading {
            let done = self.shared.meter.done.load(Ordering::Relaxed);
            let all = self.shared.meter.all.load(Ordering::Relaxed);
            *share = (all > 0).then(|| done as f64 / all as f64);
        }
        let kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        model.kept = Some(kept.counts());
    }

    /// Handles an event. `true`: the user quits.
    fn event(&mut self, event: &Event, terminal: &mut ScreenTerminal) -> io::Result<bool> {
        let request = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.view.key(*key, &self.shared.lock_now())
            }
            Event::Mouse(mouse) => self.view.mouse(*mouse, &self.shared.lock_now()),
            Event::Paste(text) => {
                self.view.paste(text);
                None
            }
            Event::Resize(..) => {
                terminal.fit()?;
                None
            }
            _ => None,
        };
        match request {
            None => {}
            Some(TaskRequest::Quit) => return Ok(true),
            Some(TaskRequest::Suspend) => {
                terminal.leave()?;
                signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
                terminal.take()?;
            }
            Some(TaskRequest::Copy(text)) => {
                let copied = crate::text::counted(text.lines().count() as u64, "line");
                // OSC 52: the terminal copies it, also over ssh.
                let out = terminal.drawn.backend_mut();
                write!(out, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
                Write::flush(out)?;
                self.view
                    .reply(TaskReply::Done(format!("copied {copied}, if the terminal allows it")));
            }
            Some(request) => self.start(request),
        }
        Ok(false)
    }

    fn start(&mut self, request: TaskRequest) {
        match request {
            TaskRequest::Ladder { conversations, frame } => self.tasks.ladder(conversations, frame),
            TaskRequest::Message(conversations, nth) => self.tasks.message(conversations, nth),
            TaskRequest::Filter(filter) => {
                self.tasks.filter(filter);
                self.view.refresh(&self.shared.lock_now());
            }
            TaskRequest::Answer => self.tasks.answer(),
            TaskRequest::Write(file, chosen) => self.tasks.write(file, chosen),
            TaskRequest::Save(file, bytes) => self.tasks.save(file, bytes),
            TaskRequest::Cancel => self.tasks.cancel(),
            TaskRequest::Copy(_) | TaskRequest::Suspend | TaskRequest::Quit => {}
        }
    }
}

/// The state of reading that the screen depends on.
fn state(model: &Model) -> (u64, u64, Option<(u64, u64)>, ReadingProgress, usize, usize) {
    let matches = model.matches.as_ref().map_or(0, |it| it.changes + u64::from(it.is_complete));
    let found = model.found().count();
    (model.index.changes(), matches, model.kept, model.reading, model.notes.len(), found)
}
