//! Reassembly compared with a simple model: an array of bytes, and which of them were sent.

use proptest::prelude::*;

use super::*;

/// A piece of the stream as it was sent: which bytes.
#[derive(Clone, Debug)]
struct Cut {
    from: usize,
    to: usize,
}

/// Segments that cover the stream once, then some that overlap them arbitrarily, in any order, some
/// of them lost.
fn traffic() -> impl Strategy<Value = (Vec<u8>, Vec<Cut>)> {
    let stream = prop::collection::vec(any::<u8>(), 1..600);
    let cuts = prop::collection::vec(1_usize..40, 1..80);
    let extra = prop::collection::vec((0_usize..600, 1_usize..100), 0..20);
    (stream, cuts, extra, 0_usize..4, any::<u64>()).prop_map(|(stream, cuts, extra, loss, seed)| {
        let mut sent = Vec::new();
        let mut at = 0;
        for len in cuts.iter().cycle() {
            let to = stream.len().min(at + len);
            sent.push(Cut { from: at, to });
            at = to;
            if at == stream.len() {
                break;
            }
        }
        sent.extend(extra.iter().filter_map(|&(from, len)| {
            let to = stream.len().min(from + len);
            (from < to).then_some(Cut { from, to })
        }));
        let mut state = seed | 1;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for i in (1..sent.len()).rev() {
            sent.swap(i, random(i + 1));
        }
        if loss > 0 {
            sent.retain(|_| random(10) >= loss);
        }
        (stream, sent)
    })
}

fn appetite() -> impl Strategy<Value = Appetite> {
    prop_oneof![
        Just(Appetite::All),
        (1_usize..50).prop_map(Appetite::Groups),
        Just(Appetite::Nothing)
    ]
}

/// Which bytes were sent at all, as unbroken stretches.
fn stretches(len: usize, sent: &[Cut]) -> Vec<(usize, usize)> {
    let mut covered = vec![false; len];
    sent.iter().for_each(|cut| covered[cut.from..cut.to].fill(true));
    let mut found: Vec<(usize, usize)> = Vec::new();
    for i in (0..len).filter(|&i| covered[i]) {
        match found.last_mut() {
            Some(last) if last.1 == i => last.1 = i + 1,
            _ => found.push((i, i + 1)),
        }
    }
    found
}

/// Delivered bytes and missing counts, joined by stream.
fn delivered(reported: &[Reported]) -> Vec<(u64, Vec<u8>)> {
    let mut found: Vec<(u64, Vec<u8>)> = vec![(0, Vec::new())];
    let mut broken = false;
    for reported in reported {
        let (bytes, missing) = match reported {
            Reported::Bytes(_, bytes, missing) => (bytes, *missing),
            Reported::End(_, bytes, _) => (bytes, 0),
            Reported::Event(_, _, StreamEventKind::Gap { missing, .. }) => {
                broken = true;
                found.push((*missing, Vec::new()));
                continue;
            }
            Reported::Event(..) => continue,
        };
        // What an end leaves after belongs before the gap that was announced just now.
        let left_over = matches!(reported, Reported::End(_, _, StreamEnd::Gap));
        let index = found.len() - 1 - usize::from(left_over && broken);
        if missing > 0 {
            let grown = found[..index].iter().rev().take_while(|(_, bytes)| bytes.is_empty());
            let before: u64 = grown.map(|(missing, _)| missing).sum();
            assert_eq!(missing, before + found[index].0);
        }
        found[index].1.extend_from_slice(bytes);
        broken = broken && !left_over;
    }
    found.retain(|(missing, bytes)| *missing > 0 || !bytes.is_empty());
    // A gap that has grown was reported in parts.
    found.dedup_by(|next, gap| {
        let grown = gap.1.is_empty();
        if grown {
            *gap = (gap.0 + next.0, std::mem::take(&mut next.1));
        }
        grown
    });
    found
}

/// The delivery that the model expects, up to the FIN at the end of the stream.
fn expected(stream: &[u8], sent: &[Cut], begin: usize) -> Vec<(u64, Vec<u8>)> {
    let mut at = begin;
    let mut found = Vec::new();
    for (from, to) in stretches(stream.len(), sent) {
        found.push(((from - at) as u64, stream[from..to].to_vec()));
        at = to;
    }
    if at < stream.len() {
        found.push(((stream.len() - at) as u64, Vec::new()));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_was_sent_is_delivered(
        (stream, sent) in traffic(),
        first in prop_oneof![any::<u32>(), (u32::MAX - 700)..=u32::MAX],
        appetite in appetite(),
        fin_at in any::<prop::sample::Index>(),
    ) {
        let mut bench = Bench::begun(appetite, first);
        let number = |at: usize| first.wrapping_add(at as u32);
        let fin_at = fin_at.index(sent.len() + 1);
        for i in 0..=sent.len() {
            if i == fin_at {
                bench.send(A, FIN, number(stream.len()), 0, b"");
            }
            if let Some(cut) = sent.get(i) {
                bench.data(number(cut.from), &stream[cut.from..cut.to]);
            }
        }
        bench.connection.give_up_gaps(&mut bench.budget, &mut bench.listener);
        let pieces = std::mem::take(&mut bench.listener.pieces);
        let reported = bench.finish();
        prop_assert_eq!(delivered(&reported), expected(&stream, &sent, 0));
        let ends = reported.iter().filter(|reported| matches!(reported, Reported::End(_, _, StreamEnd::Fin))).count();
        prop_assert_eq!(ends, 1);
        // Each piece names a packet that held just these bytes there.
        let mut bytes = reported.iter().filter_map(|reported| match reported {
            Reported::Bytes(_, bytes, _) => Some(bytes.as_slice()),
            _ => None,
        });
        let mut message: &[u8] = &[];
        for (_, sequence, piece) in &pieces {
            if piece.at == 0 {
                message = bytes.next().unwrap();
            }
            let (index, length) = (piece.frame as usize - 2, piece.length as usize);
            prop_assert_ne!(index, fin_at);
            let cut = &sent[index - usize::from(index > fin_at)];
            let from = cut.from + piece.offset as usize - 54;
            prop_assert_eq!(number(from), sequence.wrapping_add(piece.at));
            prop_assert!(from + length <= cut.to);
            prop_assert_eq!(&message[piece.at as usize..][..length], &stream[from..from + length]);
        }
        let total: usize = pieces.iter().map(|(_, _, piece)| piece.length as usize).sum();
        let consumed: usize = reported.iter().map(|reported| match reported {
            Reported::Bytes(_, bytes, _) => bytes.len(),
            _ => 0,
        }).sum();
        prop_assert_eq!(total, consumed);
    }

    #[test]
    fn from_the_middle_nothing_is_lost_while_nothing_is_consumed(
        (stream, sent) in traffic(),
        first in any::<u32>(),
    ) {
        prop_assume!(!sent.is_empty());
        // The beginning may move back sixteen times.
        let sent = &sent[..sent.len().min(16)];
        let mut bench = Bench::new(Appetite::Nothing);
        for cut in sent {
            bench.data(first.wrapping_add(cut.from as u32), &stream[cut.from..cut.to]);
        }
        let begin = sent.iter().map(|cut| cut.from).min().unwrap_or(0);
        let mut wanted = expected(&stream, sent, begin);
        wanted.retain(|(_, bytes)| !bytes.is_empty()); // no FIN: nobody knows of more
        prop_assert_eq!(delivered(&bench.finish()), wanted);
    }

    #[test]
    fn acknowledged_losses_are_gaps(
        (stream, mut sent) in traffic(),
        first in prop_oneof![any::<u32>(), (u32::MAX - 700)..=u32::MAX],
        appetite in appetite(),
        patience in 0_u8..4,
    ) {
        // In order, so that nothing comes after the other side acknowledged it.
        sent.sort_by_key(|cut| (cut.from, cut.to));
        let mut bench = Bench::with(appetite, StreamLimits { patience, ..StreamLimits::default() });
        bench.send(A, SYN, first.wrapping_sub(1), 0, b"");
        let mut holes_open = 0;
        for cut in &sent {
            let number = first.wrapping_add(cut.from as u32);
            bench.data(number, &stream[cut.from..cut.to]);
            for _ in 0..=patience {
                bench.ack(number);
            }
            holes_open += usize::from(bench.connection.has_hole(A));
        }
        prop_assert_eq!(holes_open, 0);
        bench.send(A, FIN, first.wrapping_add(stream.len() as u32), 0, b"");
        let reported = bench.finish();
        prop_assert_eq!(delivered(&reported), expected(&stream, &sent, 0));
    }

    #[test]
    fn acknowledgments_ahead_of_their_data_change_nothing(
        stream in prop::collection::vec(any::<u8>(), 1..2000),
        lengths in prop::collection::vec(1_usize..20, 1..40),
        lost in prop::collection::vec(prop::bool::weighted(0.1), 1..300),
        delays in prop::collection::vec(prop_oneof![3 => Just(0), 1 => 1_usize..30], 1..20),
        recorded in any::<bool>(),
        lead in 0_usize..300,
        first in prop_oneof![any::<u32>(), (u32::MAX - 700)..=u32::MAX],
        appetite in appetite(),
    ) {
        // As received by the other side: single segments are lost and retransmitted. Or segments
        // are only missing in the recording: if both happen together, a segment may arrive after
        // the wait for it has ended.
        let mut at = 0;
        let cuts = lengths.iter().cycle().map_while(|len| {
            let cut = Cut { from: at, to: stream.len().min(at + len) };
            at = cut.to;
            (cut.from < stream.len()).then_some(cut)
        });
        let mut cuts: Vec<_> = cuts.collect();
        let mut at = 0;
        for delay in delays.iter().filter(|_| recorded) {
            if at + delay < cuts.len() {
                cuts[at..=at + delay].rotate_left(1);
            }
            at += delay + 1;
        }
        let acks: Vec<_> = (1..=cuts.len()).map(|count| {
            stretches(stream.len(), &cuts[..count]).first().map_or(0, |&(from, to)| {
                if from == 0 { to } else { 0 }
            })
        }).collect();
        let mut bench = Bench::begun(appetite, first);
        let number = |at: usize| first.wrapping_add(at as u32);
        let (early, late) = acks.split_at(lead.min(acks.len()));
        early.iter().for_each(|&ack| bench.ack(number(ack)));
        let is_recorded = |i: usize| recorded || !lost[i % lost.len()];
        for (i, cut) in cuts.iter().enumerate() {
            if is_recorded(i) {
                bench.data(number(cut.from), &stream[cut.from..cut.to]);
            }
            late.get(i).into_iter().for_each(|&ack| bench.ack(number(ack)));
        }
        bench.send(A, FIN, number(stream.len()), 0, b"");
        let mut at = 0..;
        cuts.retain(|_| at.next().is_some_and(is_recorded));
        prop_assert_eq!(delivered(&bench.finish()), expected(&stream, &cuts, 0));
    }

    #[test]
    fn other_bytes_are_noticed_and_not_taken(
        (stream, sent) in traffic(),
        appetite in appetite(),
        forged in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!sent.is_empty());
        let forged = forged.index(sent.len());
        let mut bench = Bench::begun(appetite, 1000);
        for (i, cut) in sent.iter().enumerate() {
            bench.data(1000 + cut.from as u32, &stream[cut.from..cut.to]);
            if i == forged {
                bench.reported().iter().for_each(|reported| {
                    assert!(!matches!(reported, Reported::Event(..)), "{reported:?}");
                });
                let wrong: Vec<u8> = stream[cut.from..cut.to].iter().map(|byte| !byte).collect();
                let next_is_end = wrong.len() == 1;
                let before = bench.budget.counts;
                bench.data(1000 + cut.from as u32, &wrong);
                let kept_alive = bench.budget.counts.keep_alives > before.keep_alives;
                // After many tiny segments even few bytes are forgotten, and that is counted.
                let forgotten = bench.budget.counts.uncompared - before.uncompared;
                prop_assert!(forgotten == 0 || i > 64);
                let all_forgotten = forgotten == wrong.len() as u64;
                prop_assert!(!kept_alive || next_is_end);
                let noticed = bench.reported().iter().any(|reported| matches!(
                    reported, Reported::Event(A, _, StreamEventKind::OverlapDiffers { .. })
                ));
                prop_assert!(noticed != (kept_alive || all_forgotten));
            }
        }
        for (at, reported) in consumed_at(&bench.listener) {
            prop_assert_eq!(&stream[at..at + reported.len()], reported);
        }
    }

    #[test]
    fn anything_goes(
        segments in prop::collection::vec(anything(), 0..200),
        appetite in prop_oneof![9 => appetite(), 1 => Just(Appetite::Ignore)],
        stream in 0_usize..8000,
        ranges in 0_usize..6,
        total in 0_usize..12_000,
        patience in 0_u8..4,
    ) {
        let limits = StreamLimits { stream, ranges, total, patience };
        let mut bench = Bench::with(appetite, limits);
        for (side, flags, sequence, acknowledgment, len, cut, time) in segments {
            let payload = [len as u8; 2000];
            bench.time = time;
            let payload = &payload[..len];
            bench.send_cut(side, flags, sequence, acknowledgment, payload, len.saturating_add(cut));
        }
        bench.finish(); // which checks that all memory is given back
    }
}

/// Where in the stream the bytes are that were consumed, by their sequence numbers.
fn consumed_at(listener: &Listener) -> Vec<(usize, &[u8])> {
    let bytes = listener.reported.iter().filter_map(|reported| match reported {
        Reported::Bytes(_, bytes, _) => Some(bytes.as_slice()),
        _ => None,
    });
    let starts: Vec<usize> = listener
        .pieces
        .iter()
        .filter(|(_, _, piece)| piece.at == 0)
        .map(|(_, sequence, _)| *sequence as usize - 1000)
        .collect();
    let bytes: Vec<_> = bytes.collect();
    // Those reported before the forgery were taken away; the last ones match.
    let skipped = starts.len() - bytes.len();
    starts.into_iter().skip(skipped).zip(bytes).collect()
}

type Anything = (Side, TcpFlags, u32, u32, usize, usize, i64);

fn anything() -> impl Strategy<Value = Anything> {
    let side = prop_oneof![Just(A), Just(B)];
    let flag = |flag: TcpFlags, often| prop_oneof![often => Just(DATA), 1 => Just(flag)];
    let flags = (flag(SYN, 12), flag(FIN, 12), flag(RST, 40), flag(ACK, 1))
        .prop_map(|(syn, fin, rst, ack)| syn | fin | rst | ack);
    let number = prop_oneof![
        8 => (0_u32..6000).prop_map(|n| n.wrapping_sub(3000)),
        1 => any::<u32>(),
        1 => (0_u32..6000).prop_map(|n| n.wrapping_add(1 << 30)),
    ];
    let len = prop_oneof![3 => 0_usize..4, 3 => 0_usize..200, 1 => 0_usize..2000];
    let cut = prop_oneof![8 => Just(0), 1 => 0_usize..2000, 1 => any::<usize>()];
    let time = prop_oneof![4 => 0_i64..10_000_000_000, 1 => any::<i64>()];
    let time = time.prop_map(|time| time.min(i64::MAX - 1_000_000));
    (side, flags, number.clone(), number, len, cut, time)
}
