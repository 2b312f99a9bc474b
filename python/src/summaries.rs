//! The tables of servers, masters and clients of captures that many processes read: the results of each partition,
//! and how they are merged, in tasks of some hosts each.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use gamewire::Options;
use gamewire::partition::{self, Plan, Summaries};
use gamewire::tables::{self, Batches, SelectedRows, Table};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::partition::{Current, PortionReader, plan_of, taken};
use crate::reading::Reading;

/// The rows to produce: those of servers need the same as those of masters and clients.
fn wanted(reading: &Reading) -> SelectedRows {
    SelectedRows::of(&[Table::Servers], &reading.options).filtered(reading.filter.clone())
}

/// The servers, masters and clients of partitions, one after the other.
#[pyclass(module = "gamewire._native")]
struct SummariesOf {
    plan: Arc<Plan>,
    options: Options,
    wanted: SelectedRows,
    current: Current<Summaries>,
}

#[pymethods]
impl SummariesOf {
    #[new]
    fn new(plan: &[u8], reading: &Reading) -> PyResult<SummariesOf> {
        let wanted = wanted(reading);
        let options = Options { needs: wanted.needs(), ..reading.options.clone() };
        Ok(SummariesOf { plan: plan_of(plan)?, options, wanted, current: Current::default() })
    }

    /// Takes rows, and returns the portions that result from them.
    fn rows(
        &mut self,
        py: Python<'_>,
        batch: PyArrowType<RecordBatch>,
    ) -> PyResult<PyArrowType<RecordBatch>> {
        let SummariesOf { plan, options, wanted, current } = self;
        // As many tasks as there are partitions.
        let tasks = u32::try_from(plan.partitions).unwrap_or(u32::MAX);
        current.rows(py, &batch.0, |partition| {
            let (plan, filter) = (Arc::clone(plan), wanted.filter.clone());
            Summaries::new(plan, options.clone(), filter, wanted.bytes, [partition, tasks])
        })
    }

    /// Ends the input.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyArrowType<RecordBatch>> {
        self.current.finish(py)
    }
}

/// Merges the servers, masters or clients of one task. Returns their rows, and whether some did not fit into memory.
#[pyfunction]
fn parties(
    table: &str,
    plan: &[u8],
    reading: &Reading,
    portions: Bound<'_, PyIterator>,
) -> PyResult<(Vec<PyArrowType<RecordBatch>>, bool)> {
    let named = Table::named(table).filter(|table| Table::OF_SUMMARY.contains(table));
    let table = named.ok_or_else(|| PyValueError::new_err(format!("no table {table:?}")))?;
    let plan = plan_of(plan)?;
    let mut arriving = PortionReader::new(portions);
    let together = partition::put_together(&plan, wanted(reading).bytes, &mut arriving);
    let (summary, _) = arriving.had(together)?;
    let mut batches = Batches::default();
    let is_cut = tables::rows_of_summary(table, &summary, &plan.names(), &mut batches)?;
    batches.finish()?;
    Ok((taken(&mut batches), is_cut))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SummariesOf>()?;
    module.add_function(wrap_pyfunction!(parties, module)?)
}
