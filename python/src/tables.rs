//! Tables of captures as Arrow streams, which are read batch by batch.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use gamewire::tables::{self, Reader, SelectedRows};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::reading::{Journal, Opened, Reading};
use crate::selection::Selection;
use crate::source::Source;

/// The number of frames up to the user's line; a native reader of a stream has no frame.
const FRAMES: i32 = 1;

/// A table of a capture. It is not in memory: each stream reads the capture.
#[pyclass(frozen, module = "gamewire")]
struct Table {
    table: tables::Table,
    source: Source,
    reading: Py<Reading>,
    selection: Py<Selection>,
    /// Already open, for the first stream: it was opened to check whether it can be read.
    opened: Mutex<Option<Opened>>,
}

#[pymethods]
impl Table {
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        source: Source,
        reading: Py<Reading>,
        selection: Py<Selection>,
    ) -> PyResult<Table> {
        let named = tables::Table::named(name);
        let table = named.ok_or_else(|| PyValueError::new_err(format!("no table {name:?}")))?;
        let opened = Mutex::new(Some(reading.get().open(py, &source)?));
        Ok(Table { table, source, reading, selection, opened })
    }

    /// The table as a stream of record batches, by Arrow's PyCapsule interface. The capture is read as batches
    /// are requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the requested schema: the consumer casts.
        let _ = requested_schema;
        let stream = FFI_ArrowArrayStream::new(Box::new(self.rows(py)?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema, by Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.table.schema().as_ref());
        let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The names of its columns.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.table.columns().iter().map(|column| column.name).collect()
    }

    fn __repr__(&self) -> String {
        format!("<gamewire.Table {} of {}>", self.table.name(), self.source.names().join(", "))
    }
}

impl Table {
    fn rows(&self, py: Python<'_>) -> PyResult<Rows> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reading = self.reading.get();
        let Opened { packets, journal } =
            opened.map_or_else(|| reading.open(py, &self.source), Ok)?;
        let options = reading.options.clone();
        let wanted = SelectedRows::of(&[self.table], &options).filtered(reading.filter.clone());
        let selection = self.selection.get().with(reading.filter.clone());
        let names = self.source.names();
        let reader = Reader::new(packets, &names, options, SelectedRows { selection, ..wanted });
        Ok(Rows { reader: Some(reader), names, schema: self.table.schema(), journal })
    }
}

/// The rows of a table while they are read.
struct Rows {
    /// `None` after the end or an error.
    reader: Option<Reader>,
    names: Vec<String>,
    schema: SchemaRef,
    journal: Journal,
}

impl Rows {
    /// The next batch. The caller may hold the GIL or not; it is released while reading.
    fn read(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        // There are no batches after an error.
        let Some(mut reader) = self.reader.take() else { return Ok(None) };
        let next = py.detach(|| reader.next().transpose());
        self.journal.report(py, FRAMES)?;
        let Some((_, batch)) = next? else {
            self.journal.end(py, FRAMES, &self.names, &reader.into_outcome().0)?;
            return Ok(None);
        };
        self.reader = Some(reader);
        Ok(Some(batch))
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        // Consumers only use the text of an error, not its type.
        let failed = |why: String| ArrowError::ExternalError(why.into());
        let read = Python::try_attach(|py| {
            self.read(py).map_err(|error| failed(error.to_string())).transpose()
        });
        read.unwrap_or_else(|| Some(Err(failed("Python is shutting down".to_owned()))))
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()
}
