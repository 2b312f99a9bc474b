//! Behaviour at limits.

use super::*;

const SMALL: StreamLimits =
    StreamLimits { stream: 16 << 10, ranges: 8, total: 20 << 10, patience: 8 };

fn limit_event(reported: &Reported) -> Option<(StreamLimit, u64)> {
    match reported {
        Reported::Event(_, _, StreamEventKind::Limit { limit, dropped }) => {
            Some((*limit, *dropped))
        }
        _ => None,
    }
}

#[test]
fn unread_bytes_are_dropped_and_reading_continues() {
    let mut bench = Bench::with(Appetite::Nothing, SMALL);
    bench.send(A, SYN, 999, 0, b"");
    let block = [b'x'; 1000];
    for i in 0..40 {
        bench.data(1000 + i * 1000, &block);
    }
    let reported = bench.reported();
    let dropped: Vec<_> = reported.iter().filter_map(limit_event).collect();
    assert!(!dropped.is_empty());
    assert!(dropped.iter().all(|(limit, count)| *limit == StreamLimit::Stream && *count > 8000));
    let ends = reported
        .iter()
        .filter(|reported| matches!(reported, Reported::End(_, _, StreamEnd::Limit)))
        .count();
    assert_eq!(ends, dropped.len());
    // The reader learns how much it has lost since the last end.
    bench.listener.appetite = Appetite::All;
    bench.data(41_000, b"on");
    let reported = bench.reported();
    let [Reported::Bytes(_, bytes, missing)] = &reported[..] else { panic!("{reported:?}") };
    assert_eq!(Some(*missing), dropped.last().map(|(_, count)| *count));
    let all = dropped.iter().map(|(_, count)| *count).sum::<u64>() + bytes.len() as u64;
    assert_eq!(all, 40_002);
}

#[test]
fn holes_are_given_up_when_there_are_too_many() {
    let mut bench = Bench::with(Appetite::All, SMALL);
    bench.send(A, SYN, 999, 0, b"");
    for i in 1..=8 {
        bench.data(1000 + i * 10, b"ab");
    }
    assert_eq!(bench.reported(), []);
    bench.data(1090, b"ab");
    assert_eq!(
        bench.reported(),
        [
            Reported::Event(
                A,
                10,
                StreamEventKind::Limit { limit: StreamLimit::Ranges, dropped: 0 }
            ),
            gap(2, 1000, 10, GapCause::Limit),
            end("", StreamEnd::Gap),
            after(10, "ab"),
        ]
    );
}

#[test]
fn early_bytes_are_bounded() {
    let mut bench = Bench::with(Appetite::All, SMALL);
    bench.send(A, SYN, 999, 0, b"");
    let block = [b'x'; 1000];
    for i in 1..100 {
        bench.data(1000 + i * 1000, &block);
    }
    let reported = bench.reported();
    assert_eq!(reported.iter().find_map(limit_event), Some((StreamLimit::Stream, 0)));
    let delivered: usize = reported
        .iter()
        .map(|reported| if let Reported::Bytes(_, bytes, _) = reported { bytes.len() } else { 0 })
        .sum();
    assert_eq!(delivered, 99_000, "one hole is given up, and no byte trailing it is lost");
}

#[test]
fn the_budget_is_shared() {
    let mut budget = StreamBudget::new(SMALL);
    let mut listener = Listener::new(Appetite::Nothing);
    let mut connections: Vec<_> = (0..10).map(|_| Connection::default()).collect();
    for (i, connection) in connections.iter_mut().enumerate() {
        let segment = segment(DATA, [1, 0], &[0; 4000], 4000);
        let at = FrameRef { frame: i as u64, time: 0 };
        let arrival = ArrivingSegment { segment: &segment, at, pieces: &[] };
        connection.segment(A, &arrival, &mut budget, &mut listener);
        assert!(budget.used() <= SMALL.total);
    }
    let limits: Vec<_> = listener.reported.iter().filter_map(limit_event).collect();
    assert_eq!(limits, [(StreamLimit::Total, 4000); 5]);
    for connection in connections {
        connection.finish(&mut budget, &mut listener);
    }
    assert_eq!(budget.used(), 0);
}

#[test]
fn no_room_at_all() {
    let nothing = StreamLimits { stream: 0, ranges: 0, total: 0, patience: 0 };
    let mut bench = Bench::with(Appetite::Groups(2), nothing);
    bench.send(A, SYN, 999, 0, b"");
    bench.data(1000, b"abcd");
    bench.data(1006, b"gh");
    bench.data(1008, b"i");
    let reported = bench.reported();
    let bytes: Vec<_> =
        reported.iter().filter(|reported| matches!(reported, Reported::Bytes(..))).collect();
    assert_eq!(bytes, [&super::bytes("abcd"), &after(2, "gh")]);
    assert_eq!(reported.iter().filter_map(limit_event).next_back(), Some((StreamLimit::Stream, 1)));
}

#[test]
fn consumed_bytes_do_not_pile_up() {
    let mut bench = Bench::begun(Appetite::Groups(1000), 1000);
    for i in 0..20_000_u32 {
        bench.data(1000 + i * 7, b"1234567");
        assert!(bench.budget.used() < 32 << 10, "{}", bench.budget.used());
    }
}

#[test]
fn overhead_of_buffered_bytes_is_reported() {
    let mut bench = Bench::begun(Appetite::Nothing, 1000);
    assert_eq!(bench.connection.uncharged(), 0);
    bench.data(1000, b"a");
    let one = bench.connection.uncharged();
    assert!((200..400).contains(&one), "{one}");
    bench.send(B, ACK, 9000, 1001, b"a");
    assert_eq!(bench.connection.uncharged(), 2 * one);
    bench.send(A, FIN, 1001, 9001, b"");
    bench.send(B, FIN, 9001, 1002, b"");
    assert_eq!(bench.connection.uncharged(), 0);
}

#[test]
fn a_byte_after_a_hole_costs_a_node_of_the_map() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1002, b"c");
    assert!(bench.budget.used() > 700, "{}", bench.budget.used());
    bench.data(1004, b"e");
    assert!(bench.budget.used() < 1200, "{}", bench.budget.used());
    bench.data(1000, b"abcd");
    assert!(bench.budget.used() < 500, "{}", bench.budget.used());
}

#[test]
fn memory_of_a_large_message_is_given_back() {
    let mut bench = Bench::begun(Appetite::Groups(500_000), 0);
    for i in 0..500 {
        bench.data(i * 1000, &[0; 1000]);
    }
    assert_eq!(bench.listener.largest, 500_000);
    bench.data(500_000, b"x");
    assert!(bench.budget.used() < 32 << 10, "{}", bench.budget.used());
}
