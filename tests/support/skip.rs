//! A test that cannot run here says so where it is seen.
#![allow(dead_code, reason = "not every test file can lack something")]

use std::io::Write;

/// Says that a test does not run for want of something. Where `GAMEWIRE_DEMAND` lists that, separated by
/// commas, the test fails: it is known to be here.
///
/// # Panics
/// What is lacking is demanded.
pub(crate) fn skipped(need: &str, why: &str) {
    let demanded = std::env::var("GAMEWIRE_DEMAND").unwrap_or_default();
    assert!(!demanded.split(',').any(|it| it == need), "{need} is demanded, but {why}");
    // Not by `eprintln!`: the harness keeps to itself what a test that passes writes by that.
    writeln!(std::io::stderr(), "skipped: {why}").ok();
}
