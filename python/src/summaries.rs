//! The table of servers of captures that many processes read: what each partition has of them, and how shares of
//! that are put together.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use gamewire::Options;
use gamewire::partition::{self, Plan, Portion, Summaries};
use gamewire::tables::{self, Batches, Table, Wanted};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::partition::{Arriving, as_batch, broken, each_row, plan_of, taken};
use crate::reading::Reading;

/// Which rows are wanted.
fn wanted(reading: &Reading) -> Wanted {
    Wanted::of(&[Table::Servers], &reading.options).filtered(reading.filter.clone())
}

/// What partitions have of servers, one after the other.
#[pyclass(module = "gamewire._native")]
struct SummariesOf {
    plan: Arc<Plan>,
    options: Options,
    wanted: Wanted,
    current: Option<(u32, Summaries)>,
}

#[pymethods]
impl SummariesOf {
    #[new]
    fn new(plan: &[u8], reading: &Reading) -> PyResult<SummariesOf> {
        let wanted = wanted(reading);
        let options = Options { needs: wanted.needs(), ..reading.options.clone() };
        Ok(SummariesOf { plan: plan_of(plan)?, options, wanted, current: None })
    }

    /// Takes rows, and returns the portions that they come to.
    fn rows(
        &mut self,
        py: Python<'_>,
        batch: PyArrowType<RecordBatch>,
    ) -> PyResult<PyArrowType<RecordBatch>> {
        let portions = py.detach(|| {
            let mut portions = Vec::new();
            each_row(&batch.0, &mut |row| {
                if self.current.as_ref().is_none_or(|(partition, _)| *partition != row.partition) {
                    self.end(&mut portions);
                    self.current = Some((row.partition, self.summaries(row.partition)));
                }
                match &mut self.current {
                    Some((_, summaries)) => {
                        summaries.row(row, &mut |portion| portions.push(portion))
                    }
                    None => Ok(()),
                }
            })?;
            Ok(portions)
        });
        as_batch(portions.map_err(broken)?)
    }

    /// There are no more rows.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyArrowType<RecordBatch>> {
        let portions = py.detach(|| {
            let mut portions = Vec::new();
            self.end(&mut portions);
            portions
        });
        as_batch(portions)
    }
}

impl SummariesOf {
    /// Those of a partition, for as many shares as there are partitions.
    fn summaries(&self, partition: u32) -> Summaries {
        let (options, plan) = (self.options.clone(), Arc::clone(&self.plan));
        let shares = u32::try_from(plan.partitions).unwrap_or(u32::MAX);
        let filter = self.wanted.filter.clone();
        Summaries::new(plan, options, filter, self.wanted.bytes, [partition, shares])
    }

    fn end(&mut self, portions: &mut Vec<Portion>) {
        if let Some((_, summaries)) = self.current.take() {
            summaries.finish(&mut |portion| portions.push(portion));
        }
    }
}

/// Puts together one share of the servers. Returns their rows, and whether there was no room for some.
#[pyfunction]
fn servers(
    plan: &[u8],
    reading: &Reading,
    portions: Bound<'_, PyIterator>,
) -> PyResult<(Vec<PyArrowType<RecordBatch>>, bool)> {
    let plan = plan_of(plan)?;
    let mut arriving = Arriving::new(portions);
    let together = partition::put_together(&plan, wanted(reading).bytes, &mut arriving);
    let (summary, _) = arriving.had(together)?;
    let mut batches = Batches::default();
    tables::rows_of_servers(&summary, &plan.names(), &mut batches)?;
    batches.finish()?;
    Ok((taken(&mut batches), summary.servers.is_cut))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SummariesOf>()?;
    module.add_function(wrap_pyfunction!(servers, module)?)
}
