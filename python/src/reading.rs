//! Options for reading captures, and Ctrl-C, warnings and errors of file objects while reading.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gamewire::capture::{CaptureBytes, Event, Notice, Packets};
use gamewire::filter::Filter;
use gamewire::flows::Identifier;
use gamewire::limits::{Memory, RunLimits};
use gamewire::session::{Totals, UnknownLinks};
use gamewire::text::escaped;
use gamewire::{Options, Secret};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::errors;
use crate::source::Source;

/// Number of packets between two checks for Ctrl-C.
const LOOK: u32 = 1 << 12;

/// Options for reading captures, which tables and verdicts share.
#[pyclass(frozen, module = "gamewire._native")]
pub(crate) struct Reading {
    /// Selects messages.
    pub(crate) filter: Option<Filter>,
    /// Options of the session, except for its needs and the filter.
    pub(crate) options: Options,
    pub(crate) memory: Memory,
}

#[pymethods]
impl Reading {
    #[new]
    #[pyo3(signature = (filter=None, *, complete=false, decode_as=Vec::new(), gamespy_keys=None,
        acr_keys=None, memory=None))]
    fn new(
        py: Python<'_>,
        filter: Option<&str>,
        complete: bool,
        decode_as: Vec<PyBackedStr>,
        gamespy_keys: Option<BTreeMap<String, PyBackedStr>>,
        acr_keys: Option<BTreeMap<String, PyBackedBytes>>,
        memory: Option<&str>,
    ) -> PyResult<Reading> {
        let filter = filter.map(|source| {
            source.parse::<Filter>().map_err(|error| errors::filter(py, source, &error))
        });
        let memory = memory.map(|text| parsed("memory", text)).transpose()?.unwrap_or_default();
        let forced = decode_as.iter().map(|text| parsed("decode_as", text));
        let mut options = Options {
            identifier: Identifier::new(forced.collect::<PyResult<_>>()?),
            complete,
            ..RunLimits::with(memory, &[]).options(Options::default())
        };
        let protocols = &mut options.settings.protocols;
        protocols.gamespy1.keys = secrets(gamespy_keys);
        protocols.acr_master.keys = secrets(acr_keys);
        Ok(Reading { filter: filter.transpose()?, options, memory })
    }
}

/// Secret keys, by game or user.
fn secrets(keys: Option<BTreeMap<String, impl AsRef<[u8]>>>) -> Vec<(String, Secret)> {
    let keys = keys.into_iter().flatten();
    keys.map(|(name, key)| (name, Secret::new(key.as_ref()))).collect()
}

/// Parses the value of an argument.
///
/// # Errors
/// It is invalid.
pub(crate) fn parsed<T: FromStr<Err: Display>>(argument: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|why| refused(argument, text, why))
}

/// The error that the value of an argument is invalid.
pub(crate) fn refused(argument: &str, text: &str, why: impl Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: {text:?}: {why}"))
}

impl Reading {
    /// Opens a source.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub(crate) fn open(&self, py: Python<'_>, source: &Source) -> PyResult<Opened> {
        let journal = Journal::default();
        let packets = source.open(py, self.memory, &journal)?;
        let watched = Watched { packets, journal: journal.clone(), until_look: LOOK };
        Ok(Opened { packets: Box::new(watched), journal })
    }
}

/// An open source.
pub(crate) struct Opened {
    /// They end when Python raises an error.
    pub(crate) packets: Box<dyn Packets + Send>,
    /// Errors and notices of the reader.
    pub(crate) journal: Journal,
}

/// Errors and notices while a capture is read: the reader writes them, and the caller collects them.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    /// The error that Python raised.
    raised: Option<PyErr>,
    /// The number of notices of each kind.
    kinds: Vec<(&'static str, u64)>,
    /// Warnings that were not issued yet.
    warnings: Vec<String>,
}

impl Journal {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Python raised an error: the capture ends here.
    pub(crate) fn raised(&self, error: PyErr) {
        self.entries().raised = Some(error);
    }

    /// Returns the error that Python raised, if any.
    ///
    /// # Errors
    /// Python raised an error.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.entries().raised.take().map_or(Ok(()), Err)
    }

    /// Issues warnings about the recording since the last call: the first notice of each kind. They are
    /// attributed to the line this number of frames up.
    ///
    /// # Errors
    /// The error that Python raised while reading, or because of a warning.
    pub(crate) fn report(&self, py: Python<'_>, frames: i32) -> PyResult<()> {
        self.check()?;
        // Warnings call Python, where another thread may continue to read, so no lock is held.
        let warnings = std::mem::take(&mut self.entries().warnings);
        warnings.iter().try_for_each(|warning| errors::warn(py, warning, frames))
    }

    /// The same at the end of the capture with these names, with the number of further notices of each kind and
    /// the packets that could not be read.
    ///
    /// # Errors
    /// As [`Journal::report`]; and no packet could be read.
    pub(crate) fn end(
        &self,
        py: Python<'_>,
        frames: i32,
        names: &[String],
        read: &Totals,
    ) -> PyResult<()> {
        let unread = UnknownLinks::of(&names.join(", "), read);
        let mut entries = self.entries();
        let Entries { kinds, warnings, .. } = &mut *entries;
        let many = kinds.drain(..).filter(|(_, count)| *count > 1);
        warnings.extend(many.map(|(kind, count)| format!("{} more {kind}", count - 1)));
        warnings.extend(unread.as_ref().filter(|it| !it.is_all()).map(UnknownLinks::to_string));
        drop(entries);
        self.report(py, frames)?;
        match unread.filter(UnknownLinks::is_all) {
            Some(unread) => Err(errors::unreadable(py, unread.to_string(), &names.join(", "))),
            None => Ok(()),
        }
    }

    fn note(&self, notice: &Notice) {
        let (mut entries, kind) = (self.entries(), notice.kind());
        if let Some((_, count)) = entries.kinds.iter_mut().find(|(known, _)| *known == kind) {
            *count += 1;
            return;
        }
        entries.kinds.push((kind, 1));
        entries.warnings.push(notice.to_string());
    }
}

/// A capture that is read for Python.
struct Watched {
    packets: Box<dyn Packets + Send>,
    journal: Journal,
    /// Number of packets until the next check for Ctrl-C.
    until_look: u32,
}

impl Watched {
    /// Whether to continue: Ctrl-C was not pressed, and Python is still running.
    #[cold]
    fn goes_on(&mut self) -> bool {
        self.until_look = LOOK;
        let looked = Python::try_attach(|py| py.check_signals());
        match looked {
            Some(Err(error)) => self.journal.raised(error),
            Some(Ok(())) => return true,
            None => {}
        }
        false
    }
}

impl Packets for Watched {
    fn advance(&mut self) -> Option<i64> {
        self.until_look -= 1;
        if self.until_look == 0 && !self.goes_on() {
            return None;
        }
        let time = self.packets.advance()?;
        match self.packets.current() {
            Event::Notice(Notice::Unopened { path, what }) => {
                let path = path.to_string_lossy();
                let why = format!("{}: {}", escaped(&path), escaped(&what));
                Python::try_attach(|py| self.journal.raised(errors::unreadable(py, why, &path)));
                return None;
            }
            Event::Notice(notice) if notice.is_warning() => self.journal.note(&notice),
            Event::Notice(_) | Event::Packet(_) => {}
        }
        Some(time)
    }

    fn current(&self) -> Event<'_> {
        self.packets.current()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.packets.progress()
    }

    fn fork(&self) -> Option<Box<dyn Packets + Send>> {
        None
    }

    fn in_memory(&self) -> Option<CaptureBytes> {
        self.packets.in_memory()
    }
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Reading>()
}
