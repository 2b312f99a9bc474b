//! Runs libFuzzer on the target that `FUZZ_TARGET` names. `cargo run -p xtask -- fuzz` builds and runs it.
#![no_main]

use std::sync::OnceLock;

use fuzz::Target;

static TARGET: OnceLock<Target> = OnceLock::new();

fn target() -> Target {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let named = fuzz::targets().into_iter().find(|target| target.name == name);
    named.unwrap_or_else(|| panic!("set FUZZ_TARGET to one of {}", names()))
}

fn names() -> String {
    let targets = fuzz::targets();
    let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
    names.join(" ")
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET.get_or_init(target).run(bytes));
