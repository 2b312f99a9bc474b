//! A task on a cluster stays within its memory, regardless of the size of its partition. This test has its own
//! process, because it measures the process.

#![cfg(all(target_os = "linux", feature = "partition"))]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use captures::wire::Datagram;
use gamewire::Options;
use gamewire::capture::LinkType;
use gamewire::check::{self, Checker, Selection};
use gamewire::limits::RunLimits;
use gamewire::partition::{PartitionRow, Plan, Portions, Reports, RowKind, Survey};

/// Number of packets of a partition, each of another flow that stays open.
const PACKETS: u32 = 150_000;

/// Peak memory of the process in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes = line.trim().strip_suffix("kB").expect("kB").trim();
    kilobytes.parse::<usize>().expect("a number") << 10
}

/// Analyses the packets as a task with this memory.
fn analyse(memory: &str) {
    let survey = Survey { packets: PACKETS.into(), ..Survey::default() };
    let plan = Arc::new(Plan::new(vec![("generated".to_owned(), survey)], 1));
    let options = RunLimits::with(memory.parse().expect("a size"), &[]).options(Options::default());
    let ledger_settings =
        check::ledger_settings(&options.settings, options.settings.limits.remembered);
    let needs = Checker::needs(&Selection::default(), &ledger_settings);
    let mut portions = Portions::new(plan, Options { needs, ..options }, 0);
    let mut written = 0;
    let server = SocketAddr::from(([192, 0, 2, 1], 27015));
    for nth in 0..PACKETS {
        let client =
            SocketAddr::from((Ipv4Addr::from(0x0A00_0000 + nth / 64), 40_000 + nth as u16 % 64));
        let request = Datagram::new(
            &client.to_string(),
            &server.to_string(),
            b"\xFF\xFF\xFF\xFFTSource Engine Query\0",
        );
        let data = request.packet();
        let row = PartitionRow {
            partition: 0,
            frame: u64::from(nth) + 1,
            kind: RowKind::Packet,
            time: i64::from(nth) * 1000,
            file: 0,
            number: u64::from(nth) + 1,
            offset: 0,
            link: LinkType::RAW.0,
            interface: 0,
            original_length: data.len() as u32,
            digits: 9,
            data: &data,
        };
        portions.row(&row, &mut |portion| written += portion.data.len()).expect("a row");
    }
    portions.finish(&mut |portion| written += portion.data.len());
    assert!(written > 0);
}

#[test]
fn a_task_stays_within_its_memory() {
    let before = peak();
    let taken = ["16M", "1G"].map(|memory| {
        analyse(memory);
        (peak() - before) >> 20
    });
    assert!(taken[0] <= 16, "{taken:?} MB");
    assert!(taken[1] >= 2 * 16, "that was too little to show anything: {taken:?} MB");
}
