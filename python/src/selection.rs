//! The selection of findings by `select`, `ignore`, `who`, `host`, `require` and `fail_on`.

use gamewire::check::{self, Ignore, Rules};
use gamewire::filter::Filter;
use gamewire::{Rule, Severity};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::reading::{parsed, refused};

/// Which findings count, and the lowest severity that fails a capture.
#[pyclass(frozen, module = "gamewire._native")]
pub(crate) struct Selection {
    selection: check::Selection,
    pub(crate) least: Severity,
}

#[pymethods]
impl Selection {
    #[new]
    #[pyo3(signature = (*, select=Vec::new(), ignore=Vec::new(), require=Vec::new(), who=None, host=None,
        fail_on="error"))]
    fn new(
        select: Vec<PyBackedStr>,
        ignore: Vec<PyBackedStr>,
        require: Vec<PyBackedStr>,
        who: Option<&str>,
        host: Option<&str>,
        fail_on: &str,
    ) -> PyResult<Selection> {
        let ignores = rules("ignore", &ignore)?.into_iter();
        let selection = check::Selection {
            select: rules("select", &select)?,
            ignores: ignores.map(|rule| Ignore { rule, host: None }).collect(),
            require: rules("require", &require)?,
            who: who
                .map(|who| check::who(who).map_err(|why| refused("who", who, why)))
                .transpose()?,
            host: host.map(|host| parsed("host", host)).transpose()?,
            ..check::Selection::default()
        };
        let least = check::severity(fail_on).map_err(|why| refused("fail_on", fail_on, why))?;
        Ok(Selection { selection, least })
    }
}

impl Selection {
    /// Adds a filter for the messages of findings.
    pub(crate) fn with(&self, filter: Option<Filter>) -> check::Selection {
        check::Selection { filter, ..self.selection.clone() }
    }
}

fn rules(argument: &str, words: &[PyBackedStr]) -> PyResult<Vec<&'static Rule>> {
    let rules = words.iter().map(|word| parsed(argument, word).map(|rules: Rules| rules.all));
    Ok(rules.collect::<PyResult<Vec<_>>>()?.concat())
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Selection>()
}
