//! Fuzz targets for all code that reads bytes.
//!
//! A target is a function that takes bytes and panics if a guarantee is violated. [`targets`] lists them: the
//! fixed ones, one line each, and one for every protocol of the registry. The program `fuzz` runs them with
//! libFuzzer; the test of this crate replays `fuzz/corpus`, as a regression test for earlier finds. [`seeds`]
//! makes the initial inputs.

mod baseline;
mod capture;
mod config;
mod conversation;
mod decoder;
mod filter;
mod fragments;
mod input;
mod packet;
mod partition;
mod program;
mod scratch;
pub mod seeds;
mod split;
mod stream;

use dissectors::Id;

/// A fuzz target.
pub struct Target {
    /// Its name on the command line, and of its folder in the corpus.
    pub name: String,
    run: Run,
}

/// Reads bytes, and panics if a guarantee is violated.
type Reads = fn(&[u8]);

enum Run {
    Bytes(Reads),
    Conversation(Id),
}

/// The targets that are not made from the registry.
const FIXED: &[(&str, Reads)] = &[
    ("capture", capture::run),
    ("packet", packet::run),
    ("fragments", fragments::run),
    ("stream", stream::run),
    ("split", split::run),
    ("config", config::run),
    ("baseline", baseline::run),
    ("filter", filter::run),
    ("program", program::run),
    ("decoder", decoder::run),
    ("partition", partition::run),
];

/// All targets: the fixed ones, then one for each protocol's dissector.
pub fn targets() -> Vec<Target> {
    let fixed = FIXED.iter().map(|&(name, run)| Target { name: name.into(), run: Run::Bytes(run) });
    let protocols = Id::ALL
        .iter()
        .map(|&id| Target { name: seeds::conversation_folder(id), run: Run::Conversation(id) });
    fixed.chain(protocols).collect()
}

impl Target {
    /// Runs the target with these bytes.
    ///
    /// # Panics
    /// A guarantee is violated.
    pub fn run(&self, bytes: &[u8]) {
        match self.run {
            Run::Bytes(run) => run(bytes),
            Run::Conversation(id) => conversation::run(id, bytes),
        }
    }
}
