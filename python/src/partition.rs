//! Reads many files with many processes: the steps of `gamewire::partition`, with bytes or record batches as
//! input and output. A cluster engine moves these between processes.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_pyarrow::PyArrowType;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use gamewire::Options;
use gamewire::check::{Checker, ledger_settings};
use gamewire::partition::{
    self, Analysis, BrokenBytes, PartitionRow, Plan, Portion, Portions, Reports, RowKind,
};
use gamewire::tables::{self, Batches, Collector, SelectedRows};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use crate::errors;
use crate::reading::Reading;
use crate::selection::Selection;
use crate::verdict::{as_json, as_text};

/// Maximum number of rows of a batch, and of bytes of its packets without the last one.
const ROWS: usize = 1 << 13;
const BYTES: usize = 8 << 20;

fn schema_of(columns: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, kind): &(&str, DataType)| Field::new(*name, kind.clone(), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

static ROW: LazyLock<SchemaRef> = LazyLock::new(|| {
    let (short, long) = (DataType::Int32, DataType::Int64);
    schema_of(&[
        ("partition", short.clone()),
        ("frame", long.clone()),
        ("kind", short.clone()),
        ("time", long.clone()),
        ("file", short.clone()),
        ("number", long.clone()),
        ("offset", long.clone()),
        ("link", short.clone()),
        ("interface", short.clone()),
        ("length", long),
        ("digits", short),
        ("data", DataType::Binary),
    ])
});

static PORTION: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("task", DataType::Int32),
        ("from", DataType::Int64),
        ("partition", DataType::Int32),
        ("number", DataType::Int32),
        ("data", DataType::Binary),
    ])
});

fn broken(why: BrokenBytes) -> PyErr {
    PyRuntimeError::new_err(why.to_string())
}

fn failed(why: ArrowError) -> PyErr {
    PyRuntimeError::new_err(why.to_string())
}

fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn short(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

pub(crate) fn plan_of(bytes: &[u8]) -> PyResult<Arc<Plan>> {
    partition::from_bytes(bytes).map(Arc::new).map_err(broken)
}

/// Surveys a file.
#[pyfunction]
fn survey<'py>(py: Python<'py>, path: PathBuf, reading: &Reading) -> PyResult<Bound<'py, PyBytes>> {
    let surveyed =
        py.detach(|| partition::survey(&path, &reading.options, reading.memory.unpacking()));
    let surveyed = surveyed.map_err(|error| errors::capture(py, &error))?;
    Ok(PyBytes::new(py, &partition::to_bytes(&surveyed)))
}

/// Makes a plan from the names and surveys of all files.
#[pyfunction]
fn plan<'py>(
    py: Python<'py>,
    files: Vec<(String, Vec<u8>)>,
    partitions: usize,
) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
    if partitions == 0 {
        return Err(PyValueError::new_err("partitions: must be at least 1"));
    }
    let files = files.into_iter().map(|(path, survey)| Ok((path, partition::from_bytes(&survey)?)));
    let files = files.collect::<Result<Vec<_>, _>>().map_err(broken)?;
    let plan = Plan::new(files, partitions);
    let warnings = plan.warnings().map(str::to_owned).collect();
    Ok((PyBytes::new(py, &partition::to_bytes(&plan)), warnings))
}

/// The rows of a file, batch by batch.
#[pyclass(module = "gamewire._native")]
struct Route {
    /// Used by one thread at a time; Python requires `Sync`.
    route: Mutex<partition::Route>,
    is_over: bool,
}

#[pymethods]
impl Route {
    #[new]
    fn new(py: Python<'_>, plan: &[u8], file: usize, reading: &Reading) -> PyResult<Route> {
        let route = partition::Route::new(plan_of(plan)?, file, reading.memory.unpacking());
        let route = route.map_err(|error| errors::capture(py, &error))?;
        Ok(Route { route: Mutex::new(route), is_over: false })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyArrowType<RecordBatch>>> {
        if self.is_over {
            return Ok(None);
        }
        py.check_signals()?;
        let route = self.route.get_mut().unwrap_or_else(PoisonError::into_inner);
        let rows = py.detach(|| {
            let mut rows = Rows::default();
            while rows.has_room() {
                if !route.next(&mut |row| rows.push(row)) {
                    self.is_over = true;
                    break;
                }
            }
            rows
        });
        Ok(Some(PyArrowType(rows.finish().map_err(failed)?)))
    }
}

/// Rows for an engine.
#[derive(Default)]
struct Rows {
    shorts: [Int32Builder; 6],
    longs: [Int64Builder; 5],
    data: BinaryBuilder,
    rows: usize,
    bytes: usize,
}

impl Rows {
    fn has_room(&self) -> bool {
        self.rows < ROWS && self.bytes < BYTES
    }

    fn push(&mut self, row: &PartitionRow<'_>) {
        let shorts = [
            short(row.partition),
            short(row.kind as u8),
            short(row.file),
            short(row.link),
            short(row.interface),
            short(row.digits),
        ];
        let longs = [
            signed(row.frame),
            row.time,
            signed(row.number),
            signed(row.offset),
            signed(row.original_length),
        ];
        self.shorts.iter_mut().zip(shorts).for_each(|(column, value)| column.append_value(value));
        self.longs.iter_mut().zip(longs).for_each(|(column, value)| column.append_value(value));
        self.data.append_value(row.data);
        self.rows += 1;
        self.bytes += row.data.len();
    }

    fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        let [partition, kind, file, link, interface, digits] =
            self.shorts.each_mut().map(|it| Arc::new(it.finish()) as ArrayRef);
        let [frame, time, number, offset, length] =
            self.longs.each_mut().map(|it| Arc::new(it.finish()) as ArrayRef);
        let data = Arc::new(self.data.finish()) as ArrayRef;
        let columns = vec![
            partition, frame, kind, time, file, number, offset, link, interface, length, digits,
            data,
        ];
        RecordBatch::try_new(Arc::clone(&ROW), columns)
    }
}

/// Calls `each` with the rows of a batch.
fn each_row(
    batch: &RecordBatch,
    each: &mut dyn FnMut(&PartitionRow<'_>) -> Result<(), BrokenBytes>,
) -> Result<(), BrokenBytes> {
    let shorts = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int32Type>();
    let longs = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Int64Type>();
    let columns = || {
        let shorts = ["partition", "kind", "file", "link", "interface", "digits"].map(shorts);
        let longs = ["frame", "time", "number", "offset", "length"].map(longs);
        let data = batch.column_by_name("data")?.as_binary_opt::<i32>()?;
        Some((all(shorts)?, all(longs)?, data))
    };
    let (shorts, longs, data) = columns().ok_or(BrokenBytes)?;
    for at in 0..batch.num_rows() {
        let [partition, kind, file, link, interface, digits] = shorts.map(|it| it.value(at));
        let [frame, time, number, offset, length] = longs.map(|it| it.value(at));
        let row = || {
            Some(PartitionRow {
                partition: partition.try_into().ok()?,
                frame: frame.try_into().ok()?,
                kind: RowKind::numbered(kind.try_into().ok()?)?,
                time,
                file: file.try_into().ok()?,
                number: number.try_into().ok()?,
                offset: offset.try_into().ok()?,
                link: link.try_into().ok()?,
                interface: interface.try_into().ok()?,
                original_length: length.try_into().ok()?,
                digits: digits.try_into().ok()?,
                data: data.value(at),
            })
        };
        each(&row().ok_or(BrokenBytes)?)?;
    }
    Ok(())
}

fn all<T: Copy, const N: usize>(some: [Option<T>; N]) -> Option<[T; N]> {
    let first = some.first().copied()??;
    some.iter().all(Option::is_some).then(|| some.map(|it| it.unwrap_or(first)))
}

/// Options of the analysis for a verdict.
fn checking(reading: &Reading, selection: &Selection) -> Options {
    let options = reading.options.clone();
    let ledger_settings = ledger_settings(&options.settings, options.settings.limits.remembered);
    let needs = Checker::needs(&selection.with(reading.filter.clone()), &ledger_settings);
    Options { needs, ..options }
}

/// Analyses partitions, one after the other, for a verdict.
#[pyclass(module = "gamewire._native")]
struct PortionsOf {
    plan: Arc<Plan>,
    options: Options,
    current: Current<Portions>,
}

#[pymethods]
impl PortionsOf {
    #[new]
    fn new(plan: &[u8], reading: &Reading, selection: &Selection) -> PyResult<PortionsOf> {
        let options = checking(reading, selection);
        Ok(PortionsOf { plan: plan_of(plan)?, options, current: Current::default() })
    }

    /// Takes rows, and returns the portions that result from them.
    fn rows(
        &mut self,
        py: Python<'_>,
        batch: PyArrowType<RecordBatch>,
    ) -> PyResult<PyArrowType<RecordBatch>> {
        let PortionsOf { plan, options, current } = self;
        current.rows(py, &batch.0, |partition| {
            Portions::new(Arc::clone(plan), options.clone(), partition)
        })
    }

    /// Ends the input.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyArrowType<RecordBatch>> {
        self.current.finish(py)
    }
}

/// The current partition, and its reader.
pub(crate) struct Current<R>(Option<(u32, R)>);

impl<R> Default for Current<R> {
    fn default() -> Current<R> {
        Current(None)
    }
}

impl<R: Reports + Send> Current<R> {
    /// Takes rows, and returns the portions that result from them. `begin` makes a reader for a partition.
    pub(crate) fn rows(
        &mut self,
        py: Python<'_>,
        batch: &RecordBatch,
        begin: impl Fn(u32) -> R + Sync,
    ) -> PyResult<PyArrowType<RecordBatch>> {
        let portions = py.detach(|| {
            let mut portions = Vec::new();
            each_row(batch, &mut |row| {
                if self.0.as_ref().is_none_or(|(partition, _)| *partition != row.partition) {
                    self.end(&mut portions);
                    self.0 = Some((row.partition, begin(row.partition)));
                }
                match &mut self.0 {
                    Some((_, reads)) => reads.row(row, &mut |portion| portions.push(portion)),
                    None => Ok(()),
                }
            })?;
            Ok(portions)
        });
        as_batch(portions.map_err(broken)?)
    }

    /// Ends the input.
    pub(crate) fn finish(&mut self, py: Python<'_>) -> PyResult<PyArrowType<RecordBatch>> {
        let portions = py.detach(|| {
            let mut portions = Vec::new();
            self.end(&mut portions);
            portions
        });
        as_batch(portions)
    }

    fn end(&mut self, portions: &mut Vec<Portion>) {
        if let Some((_, reads)) = self.0.take() {
            reads.finish(&mut |portion| portions.push(portion));
        }
    }
}

fn as_batch(portions: Vec<Portion>) -> PyResult<PyArrowType<RecordBatch>> {
    let (mut from, mut data) = (Int64Builder::new(), BinaryBuilder::new());
    let [mut task, mut partition, mut number] = [(); 3].map(|()| Int32Builder::new());
    for portion in portions {
        task.append_value(short(portion.task));
        from.append_value(signed(portion.from));
        partition.append_value(short(portion.partition));
        number.append_value(short(portion.number));
        data.append_value(portion.data);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(task.finish()),
        Arc::new(from.finish()),
        Arc::new(partition.finish()),
        Arc::new(number.finish()),
        Arc::new(data.finish()),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&PORTION), columns);
    Ok(PyArrowType(batch.map_err(failed)?))
}

/// Portions from a Python iterator of batches.
pub(crate) struct PortionReader<'py> {
    batches: Bound<'py, PyIterator>,
    batch: Option<RecordBatch>,
    at: usize,
    raised: Option<PyErr>,
}

impl<'py> PortionReader<'py> {
    pub(crate) fn new(batches: Bound<'py, PyIterator>) -> PortionReader<'py> {
        PortionReader { batches, batch: None, at: 0, raised: None }
    }

    /// The result, unless the iterator has raised an error.
    pub(crate) fn had<T>(self, result: Result<T, BrokenBytes>) -> PyResult<T> {
        self.raised.map_or_else(|| result.map_err(broken), Err)
    }

    fn advance(&mut self) -> PyResult<Option<Portion>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.at < batch.num_rows()) {
                let at = self.at;
                self.at += 1;
                return portion(batch, at).map(Some).ok_or_else(|| broken(BrokenBytes));
            }
            let Some(next) = self.batches.next().transpose()? else { return Ok(None) };
            self.batch = Some(next.extract::<PyArrowType<RecordBatch>>()?.0);
            self.at = 0;
        }
    }
}

fn portion(batch: &RecordBatch, at: usize) -> Option<Portion> {
    let short = |name: &str| {
        let column = batch.column_by_name(name)?.as_primitive_opt::<Int32Type>()?;
        u32::try_from(column.value(at)).ok()
    };
    let from = batch.column_by_name("from")?.as_primitive_opt::<Int64Type>()?.value(at);
    let data = batch.column_by_name("data")?.as_binary_opt::<i32>()?.value(at).to_vec();
    Some(Portion {
        task: short("task")?,
        from: from.try_into().ok()?,
        partition: short("partition")?,
        number: short("number")?,
        data,
    })
}

impl Iterator for PortionReader<'_> {
    type Item = Portion;

    fn next(&mut self) -> Option<Portion> {
        self.advance().unwrap_or_else(|error| {
            self.raised = Some(error);
            None
        })
    }
}

/// The verdict from the portions of all partitions: the outcome as JSON and as text, and the findings as batches.
#[pyfunction]
fn verdict(
    plan: &[u8],
    reading: &Reading,
    selection: &Selection,
    portions: Bound<'_, PyIterator>,
) -> PyResult<(String, String, Vec<PyArrowType<RecordBatch>>)> {
    let (plan, options) = (plan_of(plan)?, &reading.options);
    let ledger_settings = ledger_settings(&options.settings, options.settings.limits.remembered);
    let checker =
        Checker::new(selection.with(reading.filter.clone()), ledger_settings, options.complete);
    let mut arriving = PortionReader::new(portions);
    let checked = partition::verdict(&plan, checker, &mut arriving);
    let (outcome, totals) = arriving.had(checked)?;
    let mut batches = Batches::default();
    tables::rows_of_findings(&outcome, &totals.files, &mut batches)?;
    batches.finish()?;
    Ok((
        as_json(&outcome, selection.least)?,
        as_text(&outcome, selection.least),
        taken(&mut batches),
    ))
}

pub(crate) fn taken(batches: &mut Batches) -> Vec<PyArrowType<RecordBatch>> {
    std::iter::from_fn(|| batches.next_full()).map(|(_, batch)| PyArrowType(batch)).collect()
}

/// The messages of partitions, one after the other.
#[pyclass(module = "gamewire._native")]
struct MessagesOf {
    plan: Arc<Plan>,
    options: Options,
    wanted: SelectedRows,
    current: Option<(u32, Analysis, Collector)>,
    batches: Batches,
}

#[pymethods]
impl MessagesOf {
    #[new]
    fn new(plan: &[u8], reading: &Reading) -> PyResult<MessagesOf> {
        let options = reading.options.clone();
        let wanted =
            SelectedRows::of(&[tables::Table::Messages], &options).filtered(reading.filter.clone());
        let options = Options { needs: wanted.needs(), ..options };
        let (plan, batches) = (plan_of(plan)?, Batches::default());
        Ok(MessagesOf { plan, options, wanted, current: None, batches })
    }

    /// Takes rows, and returns full batches of messages.
    fn rows(
        &mut self,
        py: Python<'_>,
        batch: PyArrowType<RecordBatch>,
    ) -> PyResult<Vec<PyArrowType<RecordBatch>>> {
        py.detach(|| {
            each_row(&batch.0, &mut |row| {
                if self.current.as_ref().is_none_or(|(partition, ..)| *partition != row.partition) {
                    self.end()?;
                    let plan = Arc::clone(&self.plan);
                    let analysis = Analysis::new(plan, self.options.clone(), row.partition);
                    let mut collector = Collector::new(self.wanted.clone());
                    collector.begin(&self.plan.names());
                    self.current = Some((row.partition, analysis, collector));
                }
                let Some((_, analysis, collector)) = &mut self.current else { return Ok(()) };
                analysis.row(row)?;
                analysis.events(&mut |event| {
                    collector.event(event, &mut self.batches).map_err(|_| BrokenBytes)
                })
            })
        })
        .map_err(broken)?;
        Ok(taken(&mut self.batches))
    }

    /// Ends the input.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Vec<PyArrowType<RecordBatch>>> {
        py.detach(|| self.end()).map_err(broken)?;
        self.batches.finish()?;
        Ok(taken(&mut self.batches))
    }
}

impl MessagesOf {
    fn end(&mut self) -> Result<(), BrokenBytes> {
        let Some((_, mut analysis, mut collector)) = self.current.take() else { return Ok(()) };
        analysis.end();
        while analysis.finish() {
            analysis.events(&mut |event| {
                collector.event(event, &mut self.batches).map_err(|_| BrokenBytes)
            })?;
        }
        Ok(())
    }
}

/// The schemas of rows, portions and five tables.
#[pyfunction]
fn schemas() -> Vec<PyArrowType<Schema>> {
    use tables::Table::{Clients, Findings, Masters, Messages, Servers};
    let tables = [Messages, Findings, Servers, Masters, Clients].map(tables::Table::schema);
    let all = [Arc::clone(&ROW), Arc::clone(&PORTION)].into_iter().chain(tables);
    all.map(|schema| PyArrowType(schema.as_ref().clone())).collect()
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Route>()?;
    module.add_class::<PortionsOf>()?;
    module.add_class::<MessagesOf>()?;
    module.add_function(wrap_pyfunction!(survey, module)?)?;
    module.add_function(wrap_pyfunction!(plan, module)?)?;
    module.add_function(wrap_pyfunction!(verdict, module)?)?;
    module.add_function(wrap_pyfunction!(schemas, module)?)
}
