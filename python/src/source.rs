//! Sources of captures: paths, bytes, and Python file objects.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gamewire::capture::{self, Packets};
use gamewire::limits::Memory;
use gamewire::text::escaped;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};

use crate::errors;
use crate::reading::Journal;

/// A source.
#[derive(Clone)]
pub(crate) enum Source {
    /// A file, or several that are merged in the order of time.
    Files(Vec<PathBuf>),
    /// A capture in memory.
    Bytes(Arc<PyBackedBytes>),
    /// A binary file object, which is read once, from its current position.
    Object(Arc<FileObject>),
}

/// A binary file object.
pub(crate) struct FileObject {
    /// Its name.
    name: PathBuf,
    /// Its method `read`, until it is used.
    read: Mutex<Option<Py<PyAny>>>,
}

impl<'py> FromPyObject<'_, 'py> for Source {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Source> {
        if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            return Ok(Source::Bytes(Arc::new(object.extract()?)));
        }
        if object.is_instance_of::<PyMemoryView>() {
            let bytes = object.call_method0("tobytes")?;
            return Ok(Source::Bytes(Arc::new(bytes.extract()?)));
        }
        if let Ok(path) = object.extract() {
            return Ok(Source::Files(vec![path]));
        }
        if let Ok(read) = object.getattr("read") {
            let name = object.getattr("name").and_then(|name| name.extract());
            let name = name.unwrap_or_else(|_| PathBuf::from("<file object>"));
            let read = Mutex::new(Some(read.unbind()));
            return Ok(Source::Object(Arc::new(FileObject { name, read })));
        }
        match object.extract::<Vec<PathBuf>>() {
            Ok(files) if files.is_empty() => {
                Err(PyValueError::new_err("the list of paths is empty; name at least one file"))
            }
            Ok(files) => Ok(Source::Files(files)),
            Err(_) => Err(PyTypeError::new_err(format!(
                "a source is a path, a list of paths, bytes, or a binary file object, not {}",
                object.get_type().name()?
            ))),
        }
    }
}

impl Source {
    /// The names of its files, escaped for output.
    pub(crate) fn names(&self) -> Vec<String> {
        let shown = |path: &PathBuf| escaped(&path.to_string_lossy()).into_owned();
        match self {
            Source::Files(files) => files.iter().map(shown).collect(),
            Source::Bytes(_) => vec!["<bytes>".to_owned()],
            Source::Object(object) => vec![shown(&object.name)],
        }
    }

    /// Opens it; decompressing uses a part of `memory`. Errors that Python raises while reading are in the
    /// journal.
    ///
    /// # Errors
    /// It is not a capture, cannot be opened, or is a file object that was read before.
    pub(crate) fn open(
        &self,
        py: Python<'_>,
        memory: Memory,
        journal: &Journal,
    ) -> PyResult<Box<dyn Packets + Send>> {
        let opened = match self {
            Source::Files(files) => py.detach(|| capture::open_merged(files, memory.unpacking())),
            Source::Bytes(bytes) => {
                let reader = Box::new(Cursor::new(Shared(Arc::clone(bytes))));
                py.detach(|| {
                    capture::open_stream_within(Path::new("<bytes>"), reader, memory.unpacking())
                })
            }
            Source::Object(object) => {
                let read = object.read.lock().unwrap_or_else(PoisonError::into_inner).take();
                let read = read.ok_or_else(|| {
                    let why =
                        "a file object can be read only once; pass its path or its bytes instead";
                    let name = object.name.to_string_lossy();
                    errors::unreadable(py, format!("{}: {why}", escaped(&name)), &name)
                })?;
                let reader = Box::new(Reading { read, journal: journal.clone() });
                py.detach(|| capture::open_stream_within(&object.name, reader, memory.unpacking()))
            }
        };
        journal.check()?;
        opened.map_err(|error| errors::capture(py, &error))
    }
}

/// Bytes of Python, without a copy.
struct Shared(Arc<PyBackedBytes>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().as_ref()
    }
}

/// Reads a file object.
struct Reading {
    read: Py<PyAny>,
    journal: Journal,
}

impl Reading {
    /// Reads up to this number of bytes.
    fn call(&self, py: Python<'_>, most: usize) -> PyResult<PyBackedBytes> {
        let read = self.read.bind(py).call1((most,))?;
        let bytes = read.extract::<PyBackedBytes>().map_err(|_| {
            let kind = read.get_type().name().map_or_else(|_| String::new(), |it| it.to_string());
            PyTypeError::new_err(format!(
                "read() returned {kind}, not bytes; open the file with mode \"rb\""
            ))
        })?;
        match bytes.len() {
            length if length > most => {
                Err(PyValueError::new_err("read() returned more bytes than requested"))
            }
            _ => Ok(bytes),
        }
    }
}

impl Read for Reading {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = Python::try_attach(|py| {
            let bytes = self.call(py, out.len()).map_err(|error| {
                let stopped = io::Error::other(error.to_string());
                self.journal.raised(error);
                stopped
            })?;
            out[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        });
        read.unwrap_or(Ok(0))
    }
}
