//! Missing bytes, and acknowledgments of them.

use super::*;

#[test]
fn acknowledged_hole_is_given_up_after_a_while() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.data(1000, b"abcdef");
    bench.reported();
    bench.data(1010, b"klmnop");
    for _ in 0..20 {
        bench.ack(1006); // the other side waits too
    }
    assert_eq!(bench.reported(), []);
    bench.ack(1016);
    for _ in 0..7 {
        bench.ack(1016);
    }
    assert_eq!(bench.reported(), []);
    bench.ack(1016);
    let reported =
        [gap(3, 1006, 4, GapCause::Acknowledged), end("ef", StreamEnd::Gap), after(4, "klmn")];
    assert_eq!(bench.reported(), reported);
    bench.data(1006, b"ghij"); // too late
    bench.data(1016, b"qr");
    assert_eq!(bench.reported(), [bytes("opqr")]);
    assert_eq!(bench.budget.counts.uncompared, 4);
}

#[test]
fn acknowledged_hole_may_still_be_filled() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.ack(1004);
    bench.send(B, ACK, 9000, 1004, b"answer");
    assert!(bench.connection.has_hole(A));
    assert!(bench.listener.other_has_hole, "what it answers to is not here yet");
    bench.data(1000, b"abcd");
    for _ in 0..20 {
        bench.ack(1004);
    }
    assert_eq!(bench.reported(), [Reported::Bytes(B, b"answer".to_vec(), 0), bytes("abcd")]);
    bench.send(B, ACK, 9006, 1004, b"more");
    assert!(!bench.listener.other_has_hole);
}

#[test]
fn a_response_and_its_fin_may_wait_for_the_request() {
    let fin = FIN | ACK;
    let mut bench = Bench::begun(Appetite::InOrder, 1000);
    bench.send(B, ACK, 9000, 1000, b"hello");
    bench.send(B, fin, 9005, 1004, b"answer");
    // A repeated older acknowledgment does not revert the later one.
    bench.send(B, ACK, 9000, 1000, b"hello");
    assert!(bench.connection.has_hole(A));
    bench.send(A, ACK, 1000, 9005, b"abcd");
    assert_eq!(bench.reported(), [Reported::Bytes(B, b"hello".to_vec(), 0), bytes("abcd")]);
    bench.connection.read_again(B, &mut bench.budget, &mut bench.listener);
    let answer = b"answer".to_vec();
    let ended = Reported::End(B, Vec::new(), StreamEnd::Fin);
    assert_eq!(bench.reported(), [Reported::Bytes(B, answer, 0), ended]);
}

#[test]
fn responses_are_held_back_after_other_bytes() {
    let mut bench = Bench::begun(Appetite::InOrder, 1000);
    // Both directions were recorded from their ends to their beginnings.
    bench.send(B, SYN_ACK, 8999, 1000, b"");
    bench.send(B, ACK, 9005, 1004, b"answer");
    bench.send(A, ACK, 1000, 9005, b"abcd");
    bench.send(B, ACK, 9000, 1000, b"hello");
    assert_eq!(bench.reported(), [Reported::Bytes(B, b"hello".to_vec(), 0)]);
    bench.connection.read_again(A, &mut bench.budget, &mut bench.listener);
    bench.connection.read_again(B, &mut bench.budget, &mut bench.listener);
    assert_eq!(bench.reported(), [bytes("abcd"), Reported::Bytes(B, b"answer".to_vec(), 0)]);
}

#[test]
fn waiting_bytes_are_passed_on_at_the_end_in_order() {
    let mut bench = Bench::begun(Appetite::InOrder, 1000);
    bench.send(B, SYN_ACK, 8999, 1000, b"");
    bench.send(A, ACK, 1000, 9002, b"thanks");
    bench.send(B, ACK, 9004, 1000, b"ef");
    let reported = bench.finish();
    let read: Vec<_> =
        reported.iter().filter(|reported| !matches!(reported, Reported::Event(..))).collect();
    let end = |side, end| Reported::End(side, Vec::new(), end);
    let after_gap = Reported::Bytes(B, b"ef".to_vec(), 4);
    let expected =
        [end(B, StreamEnd::Gap), after_gap, bytes("thanks"), end(A, StreamEnd::Abandoned)];
    assert_eq!(read[..4], expected.iter().collect::<Vec<_>>()[..]);
}

#[test]
fn an_acknowledgment_covers_only_earlier_bytes() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1010, b"kl");
    for _ in 0..9 {
        bench.ack(1004);
    }
    assert_eq!(
        bench.reported(),
        [gap(3, 1000, 4, GapCause::Acknowledged), end("", StreamEnd::Gap)]
    );
    // The rest of the gap arrives after all.
    bench.data(1004, b"efghij");
    assert_eq!(bench.reported(), [after(4, "efghijkl")]);
}

#[test]
fn a_side_that_is_never_recorded_makes_one_gap() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    for i in 1..1000 {
        bench.time += 9_000_000;
        bench.ack(1000 + i * 100);
        assert_eq!(bench.listener.reported.is_empty(), i <= 300, "three seconds at 10 ms each");
    }
    assert_eq!(
        bench.reported(),
        [gap(302, 1000, 30_100, GapCause::Acknowledged), end("", StreamEnd::Gap)]
    );
    bench.data(1000 + 99_900, b"here");
    (0..8).for_each(|_| bench.ack(1000 + 99_904));
    let reported = bench.reported();
    assert!(matches!(
        reported[..],
        [Reported::Event(_, _, StreamEventKind::Gap { .. }), Reported::Bytes(_, _, 99_900)]
    ));
}

#[test]
fn acknowledgments_ahead_of_their_data_are_waited_with() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    for _ in 0..50 {
        bench.ack(1008);
    }
    for i in 0..5 {
        bench.data(1000 + i * 4, b"abcd");
        for _ in 0..50 {
            bench.ack(1012 + i * 4);
        }
    }
    assert_eq!(bench.reported(), vec![bytes("abcd"); 5]);
    // The rest of the acknowledged bytes does not arrive, and others continue.
    bench.data(1026, b"ghi");
    for i in 0..8 {
        assert_eq!(bench.reported(), [], "{i}");
        bench.ack(1029);
    }
    assert_eq!(
        bench.reported(),
        [gap(307, 1020, 6, GapCause::Acknowledged), end("", StreamEnd::Gap), after(6, "ghi")]
    );
}

#[test]
fn a_retransmission_after_its_acknowledgment_is_waited_for() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    // Of 1000 to 1004 the first copy got lost; when the second came, all up to 1080 was there.
    bench.ack(1000);
    bench.ack(1080);
    for i in 1..20 {
        bench.data(1000 + i * 4, b"abcd");
    }
    bench.data(1000, b"abcd");
    assert_eq!(bench.reported(), [bytes(&"abcd".repeat(20))]);
}

#[test]
fn a_lost_end_is_reported_after_three_seconds() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.data(1000, b"abcdef");
    bench.ack(1010);
    bench.time += 2_990_000_000;
    bench.ack(1010);
    assert_eq!(bench.reported(), [bytes("abcd")]);
    bench.time += 10_000_000;
    bench.ack(1010);
    assert_eq!(
        bench.reported(),
        [gap(3, 1006, 4, GapCause::Acknowledged), end("ef", StreamEnd::Gap)]
    );
}

#[test]
fn losses_are_reported_three_seconds_after_later_bytes() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    // All is acknowledged a while before it comes; the first half of it is not recorded.
    let mut reported_at = Vec::new();
    for i in 0..100 {
        bench.ack(1000 + (i + 10) * 4);
        bench.time += 98_000_000;
        bench.data(1002 + i * 4, b"cd");
        let gaps = bench.reported();
        let gaps = gaps.iter().filter(|reported| matches!(reported, Reported::Event(..)));
        reported_at.extend(gaps.map(|_| i));
    }
    let later: Vec<_> = (30..100).collect();
    assert_eq!(reported_at, later);
}

#[test]
fn forged_acknowledgment_does_not_move_the_stream() {
    for ahead in [100, 100_000, 1_000_000_000] {
        let mut bench = Bench::begun(Appetite::All, 1000);
        bench.data(1000, b"abcd");
        bench.ack(1004 + ahead);
        for i in 1..10 {
            bench.data(1000 + i * 4, b"abcd");
        }
        assert!(bench.connection.has_hole(A));
        bench.ack(1040); // the next true one
        assert!(!bench.connection.has_hole(A));
        bench.time += 10_000_000_000;
        bench.ack(1040);
        bench.data(1040, b"abcd");
        // A hole after which bytes wait ends at them.
        bench.data(1046, b"ghij");
        bench.ack(1044 + ahead);
        for _ in 0..9 {
            assert_eq!(bench.reported().iter().find(|reported| **reported != bytes("abcd")), None);
            bench.ack(1050);
        }
        assert_eq!(
            bench.reported(),
            [gap(16, 1044, 2, GapCause::Acknowledged), end("", StreamEnd::Gap), after(2, "ghij")]
        );
    }
}

#[test]
fn forged_acknowledgment_from_afar_is_not_believed() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    for _ in 0..20 {
        bench.send(B, ACK, 1_000_000_000, 50_000, b"");
    }
    bench.data(1000, b"ab");
    assert_eq!(bench.reported(), [bytes("ab")]);
}

#[test]
fn hole_without_anybody_to_acknowledge_is_given_up_by_time() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1002, b"cd");
    bench.time += 2_900_000_000;
    bench.data(1004, b"ef");
    assert_eq!(bench.reported(), []);
    bench.time += 200_000_000;
    bench.data(1006, b"gh");
    let reported = [gap(2, 1000, 2, GapCause::Late), end("", StreamEnd::Gap), after(2, "cdefgh")];
    assert_eq!(bench.reported(), reported);
}

#[test]
fn an_answer_to_a_syn_shows_where_both_directions_begin() {
    let mut bench = Bench::new(Appetite::All);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.data(1002, b"cd");
    for _ in 0..9 {
        bench.send(B, ACK, 5000, 1004, b"");
    }
    let reported = bench.reported();
    assert!(reported.contains(&gap(2, 1000, 2, GapCause::Acknowledged)), "{reported:?}");
    assert!(bench.connection.began(A) && bench.connection.began(B));
    // The SYN itself may be recorded later.
    let mut bench = Bench::new(Appetite::All);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.send(A, SYN, 999, 0, b"");
    bench.data(1000, b"ab");
    assert_eq!(bench.reported(), [bytes("ab")]);
}

#[test]
fn a_direction_that_is_only_answered_is_not_waited_for() {
    let mut bench = Bench::new(Appetite::All);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.send(B, ACK, 5002, 1000, b"cd");
    bench.time += 3_100_000_000;
    bench.send(B, ACK, 5004, 1000, b"ef");
    let reported = bench.reported();
    let is_late = |it: &Reported| format!("{it:?}").contains("Late");
    assert!(reported.iter().any(is_late), "{reported:?}");
}

#[test]
fn hole_is_given_up_on_demand() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1002, b"cd");
    bench.data(1006, b"gh");
    bench.connection.give_up_gaps(&mut bench.budget, &mut bench.listener);
    let reported = [
        gap(2, 1000, 2, GapCause::End),
        end("", StreamEnd::Gap),
        after(2, "cd"),
        gap(3, 1004, 2, GapCause::End),
        end("", StreamEnd::Gap),
        after(2, "gh"),
    ];
    assert_eq!(bench.reported(), reported);
    bench.data(1008, b"ij");
    assert_eq!(bench.reported(), [bytes("ij")]);
}
