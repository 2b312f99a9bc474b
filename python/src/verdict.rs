//! Verdicts: the results of `gamewire check` as JSON and text.

use gamewire::check::{Checker, Outcome, ledger_settings};
use gamewire::report::TimeStyle;
use gamewire::report::check::{json, text};
use gamewire::report::paint::{Paint, TextStyle};
use gamewire::{Decoder, Options, Severity};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::reading::{Opened, Reading};
use crate::selection::Selection;
use crate::source::Source;

/// Maximum number of findings of one rule in the text.
const WRITTEN_OUT: usize = 5;

/// The number of frames up to the user's line, with `gamewire.check` between.
const FRAMES: i32 = 2;

/// Checks a capture. Returns the outcome as JSON, and as text.
#[pyfunction]
fn check(
    py: Python<'_>,
    source: Source,
    reading: &Reading,
    selection: &Selection,
) -> PyResult<(String, String)> {
    let Opened { mut packets, journal } = reading.open(py, &source)?;
    let (options, rules) = (reading.options.clone(), selection.with(reading.filter.clone()));
    let (outcome, totals) = py.detach(|| {
        let ledger_settings =
            ledger_settings(&options.settings, options.settings.limits.remembered);
        let needs = Checker::needs(&rules, &ledger_settings);
        let mut checker = Checker::new(rules, ledger_settings, options.complete);
        let decoder = Decoder::new(Options { needs, ..options });
        let mut totals = decoder.read(&mut *packets, |event| checker.event(event));
        (checker.outcome(source.names(), &mut totals), totals)
    });
    journal.end(py, FRAMES, &outcome.captures, &totals)?;
    let json = as_json(&outcome, selection.least)?;
    Ok((json, as_text(&outcome, selection.least)))
}

pub(crate) fn as_json(outcome: &Outcome, least: Severity) -> PyResult<String> {
    let failed = |why: String| PyRuntimeError::new_err(why);
    let mut out = Vec::new();
    json::write(outcome, &[], least, None, &mut out).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(out).map_err(|error| failed(error.to_string()))
}

pub(crate) fn as_text(outcome: &Outcome, least: Severity) -> String {
    let style = text::Style {
        least,
        most: WRITTEN_OUT,
        all_rules: false,
        quiet: false,
        several: false,
        text: TextStyle { terminal: None, paint: Paint::new(false) },
        times: TimeStyle::Utc,
    };
    let mut out = String::new();
    text::write(outcome, &style, &mut out);
    out
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check, module)?)
}
