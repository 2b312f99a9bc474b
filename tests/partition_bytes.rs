//! Reading any bytes from another process is safe. This test has its own process, because names that are read stay in
//! memory permanently, up to a limit.

#![cfg(feature = "partition")]

use std::path::Path;
use std::sync::Arc;

use dissectors::kit::Time;
use gamewire::Options;
use gamewire::capture::Notice;
use gamewire::check::{Checker, Selection, ledger_settings};
use gamewire::partition::{
    Plan, Portions, Reports, Route, RowKind, Survey, from_bytes, survey, to_bytes,
};
use gamewire::session::{EventPart, OtherHosts, Totals};

const MEMORY: usize = 1 << 20;

/// The first packet of a run of packets from one file.
type Run = (u64, u32, u64);

/// The bytes that processes exchange for a sample: its survey, the plan, metadata of rows, and portions.
fn handed_over(sample: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(sample);
    let survey = survey(&path, &Options::default(), MEMORY).expect("a capture");
    let mut all = vec![to_bytes(&survey)];
    let plan = Arc::new(Plan::new(vec![(path.to_string_lossy().into_owned(), survey)], 1));
    all.push(to_bytes(&*plan));
    let settings = Options::default().settings;
    let ledger_settings = ledger_settings(&settings, settings.limits.remembered);
    let needs = Checker::needs(&Selection::default(), &ledger_settings);
    let options = Options { needs, ..Options::default() };
    let (mut portions, mut early) = (Portions::new(plan.clone(), options, 0), Vec::new());
    let mut route = Route::new(plan, 0, MEMORY).expect("a capture");
    while route.next(&mut |row| {
        if !matches!(row.kind, RowKind::Begins | RowKind::Packet) {
            all.push(row.data.to_vec());
        }
        assert_eq!(portions.row(row, &mut |portion| early.push(portion)), Ok(()));
    }) {}
    assert_eq!(early, []);
    portions.finish(&mut |portion| all.push(portion.data));
    all
}

/// Reads bytes as each type. Returns whether they are valid as one.
fn read(bytes: &[u8]) -> bool {
    [
        from_bytes::<Survey>(bytes).is_ok(),
        from_bytes::<Plan>(bytes).is_ok(),
        from_bytes::<OtherHosts>(bytes).is_ok(),
        from_bytes::<Vec<Run>>(bytes).is_ok(),
        from_bytes::<(Time, Notice)>(bytes).is_ok(),
        from_bytes::<(u8, EventPart)>(bytes).is_ok(),
        from_bytes::<(u8, Totals, Vec<Run>)>(bytes).is_ok(),
    ]
    .contains(&true)
}

#[test]
fn bytes_are_read_back_and_changed_ones_are_safe() {
    for sample in ["a2s-quirks.pcap", "abuse-answers-from-another-host.pcap"] {
        let all = handed_over(sample);
        assert!(all.len() > 4, "{sample}: {}", all.len());
        for mut bytes in all {
            assert!(read(&bytes), "{sample}");
            for at in 0..bytes.len() {
                for flipped in [1, 0x80, 0xFF] {
                    bytes[at] ^= flipped;
                    read(&bytes);
                    bytes[at] ^= flipped;
                }
            }
        }
    }
}
