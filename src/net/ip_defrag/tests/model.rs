//! Defragmentation against a plain model: a byte array where the first writer wins.

use std::ops::Range;

use proptest::prelude::*;

use super::*;

/// A fragment of the property tests: a part of a datagram, with its own bytes.
#[derive(Clone, Debug)]
struct Part {
    from: usize,
    units: usize,
    value: u8,
    /// Sent that many times more.
    copies: usize,
}

/// A byte array where the first writer wins.
struct Model {
    bytes: Vec<Option<u8>>,
    length: Option<usize>,
}

impl Model {
    fn write(&mut self, from: usize, bytes: &[u8], last: bool) -> Option<Vec<u8>> {
        let end = from + bytes.len();
        let reach = self.bytes.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let refused = match self.length {
            Some(length) => end > length || (last && end != length),
            None => last && end < reach,
        };
        if refused {
            return None;
        }
        if last {
            self.length = Some(end);
        }
        for (slot, byte) in self.bytes[from..].iter_mut().zip(bytes) {
            slot.get_or_insert(*byte);
        }
        let whole = self.bytes.get(..self.length?)?.iter().copied().collect::<Option<Vec<u8>>>()?;
        self.bytes.fill(None);
        self.length = None;
        Some(whole)
    }
}

/// The bytes of fragments one after the other, as in a capture, and where they are.
fn in_memory<'a>(
    fragments: impl IntoIterator<Item = &'a Vec<u8>>,
) -> (Arc<Vec<u8>>, Vec<Range<usize>>) {
    let (mut memory, mut places) = (vec![], vec![]);
    for bytes in fragments {
        places.push(memory.len()..memory.len() + bytes.len());
        memory.extend(bytes);
    }
    (Arc::new(memory), places)
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let part = (0usize..600, 1usize..300, any::<u8>(), 0usize..3)
        .prop_map(|(from, units, value, copies)| Part { from, units, value, copies });
    prop::collection::vec(part, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Cut a datagram arbitrarily, shuffle, repeat and lose fragments: it is whole exactly when all
    /// arrived, and then has the bytes that were sent.
    #[test]
    fn cut_shuffled_repeated_lost(
        length in 1usize..20_000,
        cuts in prop::collection::vec(1usize..200, 1..20),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        lost in prop::option::of(any::<prop::sample::Index>()),
        version6: bool,
    ) {
        let bytes = Arc::new(count(length));
        let mut sent = vec![];
        let (mut at, mut sizes) = (0, cuts.iter().cycle());
        while at < length {
            let to = (at + sizes.next().unwrap() * 8).min(length);
            sent.push((at, to));
            at = to;
        }
        if let Some(lost) = lost {
            sent.remove(lost.index(sent.len()));
        }
        let received = sent.clone();
        for place in order {
            if !received.is_empty() {
                sent.insert(place.index(sent.len() + 1), received[place.index(received.len())]);
            }
        }
        let mut bench = Bench::over(&bytes);
        let mut wholes = vec![];
        for (from, to) in &sent {
            let part = Fragment {
                ip: addresses(version6, 1),
                ..fragment(*from as u32, *to < length, &bytes[*from..*to])
            };
            wholes.extend(bench.add(&part));
        }
        if lost.is_some() {
            prop_assert!(wholes.is_empty());
        } else {
            prop_assert_eq!(&wholes[0].bytes, &*bytes);
        }
        for whole in &wholes {
            prop_assert_eq!(&whole.bytes, &*bytes);
            prop_assert!(!whole.overlapped);
            consistent(whole);
        }
        let missing = bench.finish();
        prop_assert_eq!(missing.len(), usize::from(lost.is_some() && !received.is_empty()));
    }

    /// Arbitrary overlaps and contradictions: the result equals the model's, byte by byte.
    #[test]
    fn any_overlap_is_the_models(
        parts in parts(),
        ends in prop::collection::vec((any::<prop::sample::Index>(), 0usize..7200), 1..4),
        version6: bool,
    ) {
        let mut sent: Vec<(usize, Vec<u8>, bool)> = vec![];
        for part in &parts {
            for _ in 0..=part.copies {
                sent.push((part.from * 8, vec![part.value; part.units * 8], false));
            }
        }
        for (place, end) in ends {
            let from = (end / 16) * 8;
            sent.insert(place.index(sent.len() + 1), (from, vec![end as u8; end - from], true));
        }
        // Closes the remaining gaps, so that most runs become whole.
        sent.push((0, count(7200), false));
        let (memory, places) = in_memory(sent.iter().map(|(_, bytes, _)| bytes));
        let mut bench = Bench::over(&memory);
        let mut model = Model { bytes: vec![None; 65_536], length: None };
        for ((from, bytes, last), place) in sent.iter().zip(places) {
            let part = Fragment {
                ip: addresses(version6, 1),
                ..fragment(*from as u32, !last, &memory[place])
            };
            let whole = bench.add(&part);
            if let Some(whole) = &whole {
                consistent(whole);
            }
            let expected = model.write(*from, bytes, *last);
            prop_assert_eq!(whole.map(|whole| whole.bytes), expected);
        }
    }

    /// The overlap report against intervals: a fragment overlaps unless it is new or a copy.
    #[test]
    fn overlaps_are_reported_exactly(parts in parts()) {
        let sent: Vec<_> = parts.iter().map(|part| vec![part.value; part.units * 8]).collect();
        let (memory, places) = in_memory(&sent);
        let mut bench = Bench::over(&memory);
        let mut held = vec![None; 8192];
        let mut known: Vec<(usize, usize, u8)> = vec![];
        let (mut overlap, mut differs) = (false, false);
        for (Part { from, units, value, .. }, range) in parts.into_iter().zip(places) {
            let place = &mut held[from..from + units];
            let copy = known.contains(&(from, units, value));
            overlap = !copy && place.iter().any(Option::is_some);
            differs = place.iter().any(|byte| byte.is_some_and(|byte| byte != value));
            place.fill(Some(value));
            known.push((from, units, value));
            bench.add(&fragment(from as u32 * 8, true, &memory[range]));
            if overlap {
                // From here on pieces are cut, and there is only one report.
                break;
            }
        }
        let reported = bench.finish().iter().find_map(|kind| match kind {
            FragmentEventKind::Overlap { differs } => Some(*differs),
            _ => None,
        });
        prop_assert_eq!(reported, overlap.then_some(differs));
    }
}
