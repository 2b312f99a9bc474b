//! Measures the time for a packet or a message in each stage: `cargo bench --bench wall`.

mod stages;

use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

#[divan::bench(args = stages::STAGES.iter().map(|stage| stage.name))]
fn stage(bencher: Bencher<'_, '_>, name: &str) {
    let stage = stages::STAGES.iter().find(|stage| stage.name == name).expect("a stage");
    let mut prepared = (stage.prepare)();
    let items = ItemsCount::new(prepared.items);
    bencher.counter(items).bench_local(|| prepared.round());
}
