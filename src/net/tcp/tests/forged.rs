//! Segments that somebody else has sent, with numbers of their own.

use super::*;

/// A connection of which both SYNs are recorded: A sends from 1000 on, B from 5000 on.
fn established() -> Bench {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.send(A, ACK, 1000, 5000, b"");
    bench
}

/// A TCP header of a SYN with an option for the window's scale.
const SYN_HEADER: [u8; 24] =
    [0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x60, 2, 0x10, 0, 0, 0, 0, 0, 3, 3, 2, 0];

#[test]
fn a_syn_with_other_numbers_alone_changes_nothing() {
    for (side, flags, sequence) in
        [(A, SYN, 77), (B, SYN_ACK, 77), (A, SYN, 1500), (B, SYN, 900_000)]
    {
        let mut bench = established();
        bench.data(1000, b"ab");
        bench.send(side, flags, sequence, 12345, b"");
        bench.send(B, ACK, 5000, 1002, b""); // B says where it is
        bench.data(1002, b"cd");
        bench.send(B, ACK, 5000, 1004, b"here");
        assert_eq!(bench.reported(), [bytes("abcd"), Reported::Bytes(B, b"here".to_vec(), 0)]);
    }
}

#[test]
fn a_syn_that_is_forgotten_begins_nothing_later() {
    let mut bench = established();
    bench.send(A, SYN, 1003, 0, b"");
    bench.data(1000, b"abcd");
    bench.data(1004, b"efgh");
    bench.send(B, ACK, 5000, 1004, b"");
    assert_eq!(bench.reported(), [bytes("abcd"), bytes("efgh")]);
}

#[test]
fn a_syn_while_only_the_other_side_was_recorded_sets_no_position() {
    let mut bench = Bench::new(Appetite::All);
    bench.send(B, ACK, 5000, 1000, b"list");
    bench.send(A, SYN, 70_000_000, 0, b"");
    bench.data(1000, b"ask");
    assert_eq!(bench.reported(), [Reported::Bytes(B, b"list".to_vec(), 0), bytes("ask")]);
}

#[test]
fn an_answered_syn_begins_another_connection_with_its_packet() {
    let next = |bench: &mut Bench| {
        bench.data(78, b"next");
        let all = bench.reported();
        assert!(all.contains(&Reported::Event(A, 4, StreamEventKind::NewConnection)), "{all:?}");
        assert_eq!(all.last(), Some(&bytes("next")));
        assert!(bench.connection.began(A));
    };
    let mut bench = established();
    bench.send(A, SYN, 77, 0, b"");
    bench.send(A, SYN, 77, 0, b"");
    bench.send(B, SYN_ACK, 900, 78, b"");
    next(&mut bench);
    assert!(bench.connection.began(B));
    // The answer is not recorded, or comes first.
    let mut bench = established();
    bench.send(A, SYN, 77, 0, b"");
    next(&mut bench);
    let mut bench = established();
    bench.send(B, SYN_ACK, 900, 78, b"");
    bench.send(A, SYN, 77, 0, b"");
    bench.send(A, ACK, 78, 901, b"");
    let all = bench.reported();
    assert!(all.contains(&Reported::Event(B, 4, StreamEventKind::NewConnection)), "{all:?}");
    assert!(bench.connection.began(A) && bench.connection.began(B));
}

#[test]
fn a_new_syn_that_is_refused_ends_the_old_connection() {
    let mut bench = established();
    bench.send(A, SYN, 77, 0, b"");
    bench.send(B, RST | ACK, 0, 78, b"");
    assert!(bench.connection.is_over());
    let begins = Reported::Event(A, 4, StreamEventKind::NewConnection);
    assert!(bench.reported().contains(&begins));
}

#[test]
fn a_reset_outside_of_the_window_is_ignored() {
    let begun = || {
        let mut bench = Bench::new(Appetite::All);
        bench.headers = &SYN_HEADER;
        bench.window = 1000;
        bench.send(A, SYN, 999, 0, b"");
        bench.send(B, SYN_ACK, 4999, 1000, b"");
        bench.data(1000, b"ask");
        bench
    };
    // The window is 1000 << 2.
    for (side, sequence) in [(A, 1003 + 4001), (B, 5000 + 4001), (A, 1002), (A, 1003 + (1 << 19))] {
        let mut bench = begun();
        bench.send(side, RST, sequence, 0, b"");
        assert_eq!(bench.budget.counts.out_of_window, 1, "{sequence}");
        assert!(!bench.connection.is_over());
    }
    for (side, sequence) in [(A, 1003), (A, 1003 + 4000), (B, 5000), (B, 5000 + 4000)] {
        let mut bench = begun();
        bench.send(side, RST, sequence, 0, b"");
        assert_eq!(bench.budget.counts.out_of_window, 0, "{sequence}");
    }
    // Where bytes are missing, more may be.
    let mut bench = begun();
    bench.data(3000, b"more");
    bench.send(A, RST, 20_000, 0, b"");
    assert_eq!(bench.budget.counts.out_of_window, 0);
}

#[test]
fn a_syn_is_refused_only_with_its_number() {
    for (flags, acknowledgment, refuses) in
        [(RST, 0, false), (RST, 1000, false), (RST | ACK, 1001, false), (RST | ACK, 1000, true)]
    {
        let mut bench = Bench::begun(Appetite::All, 1000);
        bench.send(B, flags, 0, acknowledgment, b"");
        assert_eq!(bench.connection.is_over(), refuses);
    }
}

#[test]
fn a_closed_window_is_the_time_of_its_side_since_it_last_sent() {
    let mut bench = established();
    let now = |bench: &Bench| bench.connection.window_closed(A, bench.time) / 1_000_000;
    bench.data(1000, b"ask!");
    let at = |bench: &mut Bench, window| {
        bench.window = window;
        bench.send(A, ACK, 1004, 5000, b"");
    };
    at(&mut bench, 0);
    bench.send(B, ACK, 5000, 1004, b"list");
    assert_eq!(now(&bench), 1);
    at(&mut bench, 500);
    at(&mut bench, 500);
    assert_eq!(now(&bench), 2);
    at(&mut bench, 0);
    at(&mut bench, 0);
    assert_eq!(now(&bench), 3);
    bench.data(1004, b"next");
    assert_eq!(now(&bench), 0);
    at(&mut bench, 500);
    assert_eq!(now(&bench), 1);
}
