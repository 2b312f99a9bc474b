//! Reports tests that cannot run here.
#![allow(dead_code, reason = "not every test file can lack something")]

use std::io::Write;

/// Reports that a test is skipped because of a missing requirement. If `GAMEWIRE_DEMAND`, a list separated by
/// commas, contains the requirement, the test fails.
///
/// # Panics
/// The requirement is in `GAMEWIRE_DEMAND`.
pub(crate) fn skipped(need: &str, why: &str) {
    let demanded = std::env::var("GAMEWIRE_DEMAND").unwrap_or_default();
    assert!(!demanded.split(',').any(|it| it == need), "{need} is demanded, but {why}");
    // Not with `eprintln!`: the harness hides such output of tests that pass.
    writeln!(std::io::stderr(), "skipped: {why}").ok();
}
