//! Memory and time that fragments take.

use super::*;

#[test]
fn memory_is_bounded_in_all_and_per_source() {
    let limits = FragmentLimits { total: 4 << 20, source: 1 << 20, ..FragmentLimits::default() };
    let mut bench = Bench::with(limits);
    // The most expensive fragment: eight bytes at a high offset.
    for number in 0..20_000 {
        let far = fragment(65_000, true, &[1; 8]);
        let one = Fragment { identification: number, ..far };
        let spread = Fragment { ip: addresses(number % 2 == 0, number % 64 + 10), ..one };
        bench.add(&one);
        let source = bench.source(one.ip.source);
        assert!(source <= limits.source);
        bench.add(&spread);
        assert!(bench.defragmenter.used() <= limits.total);
    }
    let pending = bench.defragmenter.pending();
    let used = bench.defragmenter.used();
    assert!(pending > 500, "{pending} of {used} bytes");
    let by_limit = |event: &FragmentEvent| {
        matches!(event.kind, FragmentEventKind::Missing { cause: GiveUpCause::Limit, .. })
    };
    assert_eq!(bench.events.iter().filter(|event| by_limit(event)).count(), 40_000 - pending);
    bench.finish();
}

#[test]
fn one_source_does_not_push_out_another() {
    let mut bench = Bench::new();
    let (head, tail) = (count(16), count(8));
    let quiet = addresses(false, 99);
    bench.add(&Fragment { ip: quiet, ..fragment(0, true, &head) });
    for identification in 0..50_000 {
        bench.add(&Fragment { identification, ..fragment(0, true, &head) });
    }
    let whole = bench.add(&Fragment { ip: quiet, ..fragment(16, false, &tail) });
    assert_eq!(whole.unwrap().bytes.len(), 24);
}

#[test]
fn a_hundred_thousand_fragments_of_one_datagram() {
    let bytes = Arc::new(count(65_528));
    let started = cpu_seconds();
    for reverse in [false, true] {
        let mut bench = Bench::over(&bytes);
        let mut whole = None;
        for round in 0..13 {
            for index in 0..8190u32 {
                let index = if reverse { 8189 - index } else { index };
                // In later rounds 16 bytes long: every one of them overlaps two.
                let length = if round == 0 { 8 } else { 16 };
                let (from, to) = (index as usize * 8, index as usize * 8 + length);
                let part = fragment(index * 8, true, &bytes[from..to]);
                whole = bench.add(&part).or(whole);
            }
        }
        let whole = bench.add(&fragment(65_520, false, &bytes[65_520..])).or(whole).unwrap();
        assert_eq!(whole.bytes, *bytes);
        consistent(&whole);
        assert_eq!(bench.finish(), [FragmentEventKind::Overlap { differs: false }]);
    }
    let spent = cpu_seconds() - started;
    assert!(spent < 20.0, "{spent} s for 213,000 fragments");
}

/// Processor time of this process; other work on the machine does not count.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}

#[test]
fn memory_is_used_again() {
    let bytes = Arc::new(count(3000));
    let mut bench = Bench::over(&bytes);
    let mut buffer = None;
    for identification in 0..100 {
        let one = |at: usize, more, to: usize| Fragment {
            identification,
            ..fragment(at as u32, more, &bytes[at..to])
        };
        bench.add(&one(0, true, 1480));
        let whole = bench.add(&one(1480, false, 3000)).unwrap();
        let used = (whole.bytes.as_ptr(), whole.pieces.as_ptr());
        assert_eq!(*buffer.get_or_insert(used), used);
        bench.defragmenter.recycle(whole);
    }
}

#[test]
fn unneeded_fragments_are_dropped_silently() {
    let bytes = Arc::new(count(3000));
    for is_lent in [false, true] {
        let mut bench = Bench::new();
        if is_lent {
            bench.defragmenter.lend(Arc::clone(&bytes) as _);
        }
        let packet = FrameRef { frame: 1, time: 0 };
        for (from, to) in [(0, 1480), (0, 1600), (1480, 3000)] {
            let part = fragment(from as u32, to < 3000, &bytes[from..to]);
            let refuse = |joined: Joined<'_>| {
                assert_eq!((joined.ip, joined.protocol), (&part.ip, 17));
                assert_eq!((joined.head, joined.length), (&bytes[..8], 3000));
                false
            };
            assert!(bench.defragmenter.add(&part, packet, &mut bench.events, refuse).is_none());
        }
        assert_eq!(bench.finish(), []);
    }
}

#[test]
fn bytes_are_left_in_memory_while_fragments_are_few_and_apart() {
    let bytes = Arc::new(count(4096));
    let one = |at: usize, to: usize| fragment(at as u32, true, &bytes[at..to]);
    let mut bench = Bench::over(&bytes);
    let is_lent = |bench: &Bench| {
        let lender = bench.lender.as_ref().unwrap();
        let oldest = lender.defragmenter.age.oldest().unwrap();
        lender.defragmenter.entries.at(oldest).coverage.is_none()
    };
    bench.add(&one(1600, 2400));
    bench.add(&one(0, 800));
    bench.add(&one(800, 1600));
    assert!(is_lent(&bench));
    bench.add(&one(2392, 2400));
    assert!(!is_lent(&bench));
    let mut bench = Bench::over(&bytes);
    for at in (0..64).rev() {
        bench.add(&one(at * 16, at * 16 + 16));
        assert!(is_lent(&bench));
    }
    bench.add(&one(2000, 2016));
    assert!(!is_lent(&bench));
}

#[test]
fn copies_within_the_remembered_datagrams_are_ignored() {
    let mut bench = Bench::new();
    let datagrams = 0..RecentlyWhole::MOST as u32;
    let part = |identification, at| Fragment { identification, ..fragment(at, at == 0, &[1; 8]) };
    for number in datagrams.clone() {
        assert!(bench.add(&part(number, 0)).is_none());
        assert!(bench.add(&part(number, 8)).is_some());
    }
    for number in datagrams {
        assert!(bench.add(&part(number, 0)).is_none());
    }
    bench.defragmenter.finish(&mut bench.events);
    assert_eq!(bench.events, []);
}
