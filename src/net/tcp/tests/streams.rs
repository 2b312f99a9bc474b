//! Order, repeats, flags, beginnings and ends.

use super::*;

#[test]
fn in_order_is_borrowed() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    let payload = b"hello";
    bench.data(1000, payload);
    assert_eq!(bench.listener.borrowed, Some(payload.as_ptr()));
    let payload = b" world";
    bench.data(1005, payload);
    assert_eq!(bench.listener.borrowed, Some(payload.as_ptr()));
    assert_eq!(bench.reported(), [bytes("hello"), bytes(" world")]);
    assert!(bench.connection.began(A));
}

/// TCP Fast Open (RFC 7413): data travels in the SYN, and is sent again if the other side does not acknowledge it.
#[test]
fn data_in_a_syn_is_read_once() {
    for acknowledged in [1000, 1002, 1005] {
        let mut bench = Bench::new(Appetite::All);
        bench.send(A, SYN, 999, 0, b"hello");
        bench.send(B, SYN_ACK, 4999, acknowledged, b"");
        if acknowledged < 1005 {
            bench.send(A, ACK, acknowledged, 5000, &b"hello"[acknowledged as usize - 1000..]);
        }
        bench.send(A, ACK, 1005, 5000, b"!");
        bench.send(B, ACK, 5000, 1006, b"answer");
        let answer = Reported::Bytes(B, b"answer".to_vec(), 0);
        assert_eq!(bench.reported(), [bytes("hello"), bytes("!"), answer], "{acknowledged}");
        assert!(bench.connection.began(B));
    }
    // What acknowledges more than was sent belongs to another connection.
    let mut bench = Bench::new(Appetite::All);
    bench.send(A, SYN, 999, 0, b"hello");
    bench.send(B, SYN_ACK, 4999, 1006, b"");
    assert!(!bench.connection.began(B));
}

#[test]
fn a_segment_of_several_packets_is_read_at_once() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    let piece = |at, length, frame| Piece { at, length, frame, offset: 34 };
    let pieces = [piece(0, 1, 7), piece(1, 2, 5), piece(3, 3, 6)];
    let segment = segment(FIN, [1000, 0], b"abcdef", 6);
    let arrival =
        ArrivingSegment { segment: &segment, at: FrameRef { frame: 7, time: 0 }, pieces: &pieces };
    bench.connection.segment(A, &arrival, &mut bench.budget, &mut bench.listener);
    assert_eq!(bench.reported(), [bytes("abcd"), end("ef", StreamEnd::Fin)]);
    assert_eq!(bench.listener.seen, [0, 0], "in one, and what is left of it");
    let places: Vec<_> = bench.listener.pieces.iter().map(|(_, _, piece)| *piece).collect();
    assert_eq!(places, [piece(0, 1, 7), piece(1, 2, 5), piece(3, 1, 6)]);
}

#[test]
fn unconsumed_bytes_come_back() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.data(1000, b"abcdef");
    bench.data(1006, b"g");
    bench.data(1007, b"hi");
    assert_eq!(bench.reported(), [bytes("abcd"), bytes("efgh")]);
    // Twice for the first segment (again after the consumption), and each time what was shown.
    assert_eq!(bench.listener.seen, [0, 0, 2, 3, 0]);
    let places: Vec<_> = bench
        .listener
        .pieces
        .iter()
        .map(|(_, _, p)| (p.at..p.at + p.length, p.frame, p.offset))
        .collect();
    assert_eq!(places, [(0..4, 2, 54), (0..2, 2, 58), (2..3, 3, 54), (3..4, 4, 54)]);
    assert_eq!(bench.finish(), [end("i", StreamEnd::Abandoned)]);
}

#[test]
fn any_order() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1004, b"ef");
    bench.data(1008, b"ij");
    bench.data(1002, b"cd");
    bench.data(1006, b"gh");
    assert!(bench.connection.has_hole(A));
    assert_eq!(bench.reported(), []);
    bench.data(1000, b"ab");
    assert!(!bench.connection.has_hole(A));
    assert_eq!(bench.reported(), [bytes("abcdefghij")]);
    let frames: Vec<_> = bench.listener.pieces.iter().map(|(_, _, p)| p.frame).collect();
    assert_eq!(frames, [6, 4, 2, 5, 3]);
}

#[test]
fn both_ways_are_apart() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.data(1000, b"ask");
    bench.send(B, ACK, 5000, 1003, b"answer");
    let answer = Reported::Bytes(B, b"answer".to_vec(), 0);
    assert_eq!(bench.reported(), [bytes("ask"), answer]);
    assert!(bench.connection.began(B));
}

#[test]
fn sequence_numbers_wrap() {
    let first = u32::MAX - 2;
    let mut bench = Bench::begun(Appetite::All, first);
    bench.data(first.wrapping_add(4), b"ef");
    bench.data(first, b"abcd");
    bench.data(first.wrapping_add(6), b"g");
    bench.data(first.wrapping_add(2), b"cdefg");
    assert_eq!(bench.reported(), [bytes("abcdef"), bytes("g")]);
    assert_eq!(bench.budget.counts.repeated, 5);
}

#[test]
fn more_than_four_gibibytes() {
    let mut bench = Bench::begun(Appetite::All, 1);
    let block = vec![7; 1 << 20];
    for i in 0..4100_u32 {
        bench.data(1_u32.wrapping_add(i << 20), &block);
        bench.reported();
    }
    bench.data(1_u32.wrapping_add(4100 << 20), b"end");
    assert_eq!(bench.reported(), [bytes("end")]);
}

#[test]
fn identical_repeats_are_silent() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.data(1000, b"abcdef"); // abcd consumed, ef unread
    bench.data(1000, b"abcdef");
    bench.data(1002, b"cdef");
    bench.data(1008, b"ij"); // out of order
    bench.data(1008, b"ij");
    assert_eq!(bench.reported(), [bytes("abcd")]);
    assert_eq!(bench.budget.counts.repeated, 12);
    assert_eq!(bench.budget.counts.uncompared, 0);
}

#[test]
fn first_copy_wins_among_consumed_unread_and_early_bytes() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.data(1000, b"abcdef");
    bench.data(1008, b"ij");
    bench.reported();
    bench.data(1000, b"aXcd");
    assert_eq!(bench.reported(), [differs(4, 1001, 2)]);
    bench.data(1004, b"eX");
    assert_eq!(bench.reported(), [differs(5, 1005, 2)]);
    bench.data(1007, b"hXXk"); // one event for a segment
    assert_eq!(bench.reported(), [differs(6, 1008, 3)]);
    bench.data(1005, b"XgXijk"); // fills the hole; differs in old bytes and in new
    assert_eq!(bench.reported(), [differs(7, 1005, 2), bytes("efgh")]);
    assert_eq!(bench.finish(), [end("ijk", StreamEnd::Abandoned)]);
}

#[test]
fn a_filler_does_not_overwrite_earlier_bytes() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1002, b"cd");
    bench.data(1006, b"gh");
    bench.data(1000, b"abXXefYYij");
    assert_eq!(bench.reported(), [differs(4, 1002, 2), bytes("abcdefghij")]);
}

#[test]
fn repeats_of_old_bytes_are_counted() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1000, b"first");
    bench.data(1005, &[b'x'; 10_000]);
    bench.reported();
    bench.data(1000, b"FIRST");
    assert_eq!(bench.reported(), []);
    assert_eq!(bench.budget.counts.uncompared, 5);
    bench.data(11_000, b"xxXxx");
    assert_eq!(bench.reported(), [differs(5, 11_002, 3)]);
}

#[test]
fn keep_alives_are_not_data() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1000, b"abc");
    bench.reported();
    bench.data(1002, b"");
    bench.data(1002, b"\0");
    bench.data(1002, b"c");
    assert_eq!(bench.budget.counts.keep_alives, 3);
    assert_eq!(bench.reported(), []);
    // Two bytes are not a keep-alive, and neither is one byte further back.
    bench.data(1001, b"b\0");
    bench.data(1000, b"\0");
    assert_eq!(bench.reported(), [differs(6, 1002, 2), differs(7, 1000, 2)]);
}

#[test]
fn zero_window_probe_is_data_once() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1000, b"abc");
    bench.ack(1003);
    bench.data(1003, b"d"); // the probe
    bench.ack(1003);
    bench.data(1003, b"defg");
    assert_eq!(bench.reported(), [bytes("abc"), bytes("d"), bytes("efg")]);
}

#[test]
fn syn_with_data_and_its_repeat() {
    let mut bench = Bench::new(Appetite::All);
    bench.send(A, SYN, 999, 0, b"early");
    bench.send(A, SYN, 999, 0, b"early");
    bench.send(A, SYN, 999, 0, b"");
    bench.data(1000, b"early data");
    assert_eq!(bench.reported(), [bytes("early"), bytes(" data")]);
    assert_eq!(bench.budget.counts.repeated, 10);
}

#[test]
fn port_reuse_ends_the_old_connection_first() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.data(1000, b"abcdef");
    bench.data(1008, b"ij");
    bench.reported();
    bench.send(A, SYN, 77, 0, b"");
    bench.data(78, b"next");
    assert_eq!(
        bench.reported(),
        [
            gap(3, 1006, 2, GapCause::End),
            end("ef", StreamEnd::Gap),
            end("ij", StreamEnd::Abandoned),
            Reported::Event(A, 4, StreamEventKind::NewConnection),
            bytes("next"),
        ]
    );
}

#[test]
fn reuse_after_the_end_even_with_the_same_number() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.send(B, RST | ACK, 0, 1000, b"");
    assert!(bench.connection.is_over());
    bench.reported();
    bench.send(A, SYN, 999, 0, b"");
    assert_eq!(bench.reported(), [Reported::Event(A, 3, StreamEventKind::NewConnection)]);
    assert!(!bench.connection.is_over());
}

#[test]
fn answer_to_a_new_syn_keeps_it() {
    // The old connection was seen from B only; then both SYNs of a new one are.
    let mut bench = Bench::new(Appetite::All);
    bench.send(B, ACK, 5000, 100, b"old");
    bench.send(A, SYN, 999, 0, b"");
    bench.send(B, SYN_ACK, 8_000_000, 1000, b"");
    assert!(bench.connection.began(A) && bench.connection.began(B));
    bench.reported();
    bench.data(1002, b"c");
    bench.data(1000, b"ab");
    assert_eq!(bench.reported(), [bytes("abc")]);
}

#[test]
fn an_acknowledgment_of_recorded_bytes_has_no_effect() {
    let mut bench = Bench::begun(Appetite::Groups(4), 100);
    bench.send(B, SYN_ACK, 8999, 100, b"");
    let settled = |bench: &Bench, sequence, ack| bench.connection.is_settled(B, sequence, ack);
    assert!(settled(&bench, 9000, 100));
    bench.data(100, b"abcdef");
    assert!(settled(&bench, 9000, 106) && settled(&bench, 9000, 103));
    bench.ack(106);
    bench.ack(103);
    assert!(!settled(&bench, 9001, 106), "bytes of its own are missing");
    assert!(!settled(&bench, 9000, 107), "acknowledged bytes are missing");
    bench.data(110, b"k");
    assert!(!settled(&bench, 9000, 106), "bytes before the last ones are missing");
    bench.data(106, b"ghij");
    assert!(settled(&bench, 9000, 111));
}

#[test]
fn fin_in_and_out_of_order() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.send(A, FIN, 1004, 0, b"ef");
    bench.send(A, FIN, 1004, 0, b"ef");
    assert_eq!(bench.reported(), []);
    bench.data(1000, b"abcd");
    assert_eq!(bench.reported(), [bytes("abcd"), end("ef", StreamEnd::Fin)]);
    bench.send(A, FIN, 1004, 0, b"ef");
    bench.send(A, FIN, 1006, 0, b"");
    assert_eq!(bench.reported(), []);
    bench.send(B, FIN, 5000, 0, b"");
    assert_eq!(bench.reported(), [Reported::End(B, vec![], StreamEnd::Fin)]);
    assert!(bench.connection.is_over());
    assert_eq!(bench.budget.used(), 0);
    assert_eq!(bench.finish(), []);
}

#[test]
fn bare_fin_with_a_hole_before_it() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.send(A, FIN, 1003, 0, b"");
    assert!(bench.connection.has_hole(A));
    assert_eq!(
        bench.finish(),
        [gap(2, 1000, 3, GapCause::End), end("", StreamEnd::Gap), end("", StreamEnd::Fin)]
    );
}

#[test]
fn data_after_the_fin_do_not_count() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1004, b"efgh");
    bench.send(A, FIN, 1004, 0, b"ef"); // ends before what came
    bench.data(1000, b"abcd");
    assert_eq!(bench.reported(), [bytes("abcdef"), end("", StreamEnd::Fin)]);
    bench.data(1006, b"more");
    assert_eq!(bench.reported(), []);
    assert_eq!(bench.budget.counts.after_end, 1);
}

#[test]
fn reset_ends_both_ways() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.data(1000, b"abcdef");
    bench.data(1008, b"ij");
    bench.reported();
    bench.send(A, RST, 1012, 0, b"");
    assert_eq!(
        bench.reported(),
        [
            gap(4, 1006, 2, GapCause::End),
            end("ef", StreamEnd::Gap),
            gap(5, 1010, 2, GapCause::End),
            end("ij", StreamEnd::Gap),
            end("", StreamEnd::Reset),
            Reported::End(B, vec![], StreamEnd::Reset),
        ]
    );
    // What the other side sent before it knew.
    bench.send(B, ACK, 5000, 1006, b"late");
    bench.data(1004, b"ef");
    assert_eq!(bench.reported(), []);
}

#[test]
fn a_reset_that_was_not_the_end_is_passed_over() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.data(1000, b"ask");
    bench.send(A, RST, 1003, 0, b"");
    bench.send(A, RST, 1003, 0, b"");
    bench.reported();
    // It is not known yet.
    bench.send(B, ACK, 5000, 1003, b"answer");
    assert_eq!(bench.reported(), []);
    bench.send(A, ACK, 1003, 5006, b"");
    assert_eq!(bench.reported(), [Reported::Bytes(B, b"answer".to_vec(), 0)]);
    bench.data(1003, b"more");
    assert_eq!(bench.reported(), [bytes("more")]);
}

#[test]
fn reset_ends_the_direction_of_its_sender_first() {
    for (side, acknowledged) in [(A, 0), (B, 1003)] {
        let mut bench = Bench::begun(Appetite::Groups(4), 1000);
        bench.send(B, SYN_ACK, 4999, 1000, b"");
        bench.data(1000, b"ask");
        bench.send(B, ACK, 5000, 1003, b"an");
        bench.reported();
        let sequence = if side == A { 1003 } else { 5002 };
        bench.send(side, RST, sequence, acknowledged, b"");
        let (asked, answered) =
            (end("ask", StreamEnd::Reset), Reported::End(B, b"an".to_vec(), StreamEnd::Reset));
        let both = if side == A { [asked, answered] } else { [answered, asked] };
        assert_eq!(bench.reported(), both);
    }
}

#[test]
fn reset_out_of_window_is_ignored() {
    let mut bench = Bench::begun(Appetite::All, 1_000_000_000);
    bench.send(A, RST, 1, 0, b"");
    bench.send(A, RST, 999_999_999, 0, b"");
    bench.send(A, RST, 1_002_000_000, 0, b"");
    bench.send(B, RST | ACK, 0, 77, b"");
    assert_eq!(bench.budget.counts.out_of_window, 4);
    bench.data(1_000_000_000, b"on");
    assert_eq!(bench.reported(), [bytes("on")]);
    // The refusal of a SYN has no number of its own.
    let mut bench = Bench::begun(Appetite::All, 1_000_000_000);
    bench.send(B, RST | ACK, 0, 1_000_000_000, b"");
    assert!(bench.connection.is_over());
}

#[test]
fn capture_begins_in_the_middle() {
    let mut bench = Bench::new(Appetite::Groups(8));
    bench.ack(500);
    bench.data(1004, b"ef");
    bench.data(1002, b"cd"); // right before
    bench.data(1008, b"ij");
    bench.data(998, b"AB"); // before, with a hole
    assert_eq!(bench.reported(), []);
    bench.data(1000, b"ab");
    assert_eq!(bench.reported(), [bytes("ABabcdef")]);
    assert!(!bench.connection.began(A));
    bench.data(996, b"__"); // something was consumed: too late
    bench.data(1006, b"gh");
    assert_eq!(bench.finish(), [end("ghij", StreamEnd::Abandoned)]);
}

#[test]
fn beginning_is_not_moved_far() {
    let mut bench = Bench::new(Appetite::Nothing);
    bench.data(1_000_000, b"ab");
    bench.data(900_000, b"old");
    assert_eq!(bench.budget.counts.uncompared, 3);
    assert_eq!(bench.finish(), [end("ab", StreamEnd::Abandoned)]);
}

#[test]
fn syn_after_the_first_data() {
    let mut bench = Bench::new(Appetite::Nothing);
    bench.data(1002, b"cd");
    bench.send(A, SYN, 999, 0, b"");
    assert!(bench.connection.began(A) && bench.connection.has_hole(A));
    bench.data(1000, b"ab");
    assert_eq!(bench.finish(), [end("abcd", StreamEnd::Abandoned)]);

    let mut bench = Bench::new(Appetite::All);
    bench.data(1000, b"ab");
    bench.send(A, SYN, 999, 0, b"");
    bench.data(1002, b"cd");
    assert!(bench.connection.began(A));
    assert_eq!(bench.reported(), [bytes("ab"), bytes("cd")]);
}

#[test]
fn snapped_bytes_are_missing_at_once() {
    let mut bench = Bench::begun(Appetite::Groups(4), 1000);
    bench.send_cut(A, DATA, 1000, 0, b"abcdef", 10);
    bench.data(1010, b"klmn");
    assert_eq!(
        bench.reported(),
        [
            bytes("abcd"),
            gap(2, 1006, 4, GapCause::Snapped),
            end("ef", StreamEnd::Gap),
            after(4, "klmn"),
        ]
    );
    // Out of order, and with a FIN.
    bench.send_cut(A, FIN, 1020, 0, b"uv", 6);
    bench.send_cut(A, DATA, 1018, 0, b"st", 2);
    assert_eq!(bench.reported(), []);
    bench.data(1014, b"opqr");
    assert_eq!(
        bench.reported(),
        [
            bytes("opqrstuv"),
            gap(4, 1022, 4, GapCause::Snapped),
            end("", StreamEnd::Gap),
            end("", StreamEnd::Fin)
        ]
    );
}

#[test]
fn snapped_to_the_headers() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    for i in 0..100 {
        bench.send_cut(A, DATA, 1000 + i * 10, 0, b"", 10);
    }
    // The first is reported, the rest when there is something to say.
    assert_eq!(bench.reported(), [gap(2, 1000, 10, GapCause::Snapped), end("", StreamEnd::Gap)]);
    bench.data(2000, b"z");
    assert_eq!(bench.reported(), [gap(101, 1010, 990, GapCause::Snapped), after(1000, "z")]);
}

#[test]
fn ignored_connection_keeps_nothing_and_follows_the_flags() {
    let mut bench = Bench::begun(Appetite::Ignore, 1000);
    bench.data(1000, b"\x16\x03\x01");
    assert!(bench.connection.is_ignored());
    let calls = bench.listener.calls;
    for i in 0..100 {
        bench.data(1003 + 1000 * (i * 7 % 100), &[0; 1000]);
    }
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    assert_eq!((bench.listener.calls, bench.budget.used()), (calls, 0));
    bench.send(A, SYN, 999, 0, b""); // a repeat
    assert!(bench.connection.is_ignored());
    bench.send(A, FIN, 200_000, 0, b"");
    bench.send(B, FIN, 200_000, 0, b"");
    assert!(bench.connection.is_over());
    assert_eq!(bench.reported(), []);
    bench.listener.appetite = Appetite::All;
    bench.send(A, SYN, 5, 0, b"");
    bench.data(6, b"ours");
    assert_eq!(
        bench.reported(),
        [Reported::Event(A, 107, StreamEventKind::NewConnection), bytes("ours")]
    );
}

#[test]
fn garbage_from_afar_is_not_kept() {
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.data(1000 + (1 << 30) + 1, b"ahead");
    bench.data(1000_u32.wrapping_sub((1 << 30) + 1), b"trailing");
    assert_eq!(bench.budget.counts.out_of_window, 2);
    assert_eq!(bench.budget.used(), 0);
    bench.data(1000, b"ab");
    assert_eq!(bench.finish(), [bytes("ab"), end("", StreamEnd::Abandoned)]);
}

#[test]
fn nothing_costs_little() {
    assert_eq!(size_of::<Connection>(), 64);
    let mut bench = Bench::begun(Appetite::All, 1000);
    bench.send(B, SYN_ACK, 4999, 1000, b"");
    bench.ack(1000);
    assert_eq!((bench.budget.used(), bench.connection.uncharged()), (0, 0));
    assert_eq!(
        bench.finish(),
        [end("", StreamEnd::Abandoned), Reported::End(B, vec![], StreamEnd::Abandoned)]
    );
}
