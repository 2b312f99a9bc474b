//! The number of packets over time.

use dissectors::kit::Time;

use super::SECOND;

/// Maximum number of spans: with more, pairs of them are merged.
pub(super) const MOST: usize = 1 << 11;

/// Maximum length of a span in seconds.
const LONGEST: i64 = 1 << 33;

/// Maximum number of columns of a sparkline.
const COLUMNS: usize = 40;

/// A shorter pause, in seconds, does not end an attack.
pub(super) const PAUSE: i64 = 3;

/// The packets of a span.
#[derive(Clone, Copy, Default)]
struct SpanCount {
    packets: u64,
    bytes: u64,
    /// Packets of real clients that ask no faster than clients do.
    proven: u64,
}

impl SpanCount {
    fn add(&mut self, other: SpanCount) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.proven += other.proven;
    }

    fn unproven(&self) -> u64 {
        self.packets.saturating_sub(self.proven)
    }
}

/// Packets and bytes by time.
#[derive(Clone, Default)]
pub(super) struct Timeline {
    /// The start of the first span, in spans.
    first: i64,
    /// The length of a span in seconds; 0 before the first packet.
    step: i64,
    counts: Vec<SpanCount>,
    /// The second of the latest packet, and the index of its span.
    latest: (i64, usize),
}

impl Timeline {
    /// Adds a packet of this many bytes. `room`: the remaining spans over all targets.
    pub(super) fn see(&mut self, time: Time, bytes: u64, room: &mut usize) {
        let second = time.0.div_euclid(SECOND);
        let packet = SpanCount { packets: 1, bytes, proven: 0 };
        // Most packets are in the same second as the previous one.
        match self.counts.get_mut(self.latest.1).filter(|_| self.latest.0 == second) {
            Some(counts) => counts.add(packet),
            None => self.latest = (second, self.add_at(second, packet, room)),
        }
    }

    /// A packet that was counted at this time is of a real client.
    pub(super) fn proves(&mut self, time: Time) {
        let at = self.place_of(time).and_then(|at| self.counts.get_mut(at));
        at.into_iter().for_each(|counts| counts.proven += 1);
    }

    /// The index of the span of a time, if that is not before the first.
    fn place_of(&self, time: Time) -> Option<usize> {
        let second = time.0.div_euclid(SECOND);
        usize::try_from(second.div_euclid(self.step.max(1)).saturating_sub(self.first)).ok()
    }

    /// Takes back packets that were counted up to this time, the latest first.
    pub(super) fn take_back(&mut self, time: Time, [mut packets, mut bytes]: [u64; 2]) {
        let end = self.place_of(time).map_or(0, |at| (at + 1).min(self.counts.len()));
        for counts in self.counts.iter_mut().take(end).rev() {
            let some = [packets.min(counts.packets), bytes.min(counts.bytes)];
            (counts.packets, counts.bytes) = (counts.packets - some[0], counts.bytes - some[1]);
            (packets, bytes) = (packets - some[0], bytes - some[1]);
            if packets == 0 {
                return;
            }
        }
    }

    /// Returns the index of their span.
    fn add_at(&mut self, second: i64, more_packets: SpanCount, room: &mut usize) -> usize {
        if self.step == 0 {
            (self.step, self.first) = (1, second);
            self.counts.push(SpanCount::default());
        }
        loop {
            let at = second.div_euclid(self.step);
            // Packets from before the first one count with it.
            let place = usize::try_from(at.saturating_sub(self.first)).unwrap_or(0);
            let more = (place + 1).saturating_sub(self.counts.len());
            let has_room = place < MOST && more <= *room;
            if more > 0 && !has_room && self.step < LONGEST {
                self.halve(room);
                continue;
            }
            if has_room {
                *room -= more;
                self.counts.resize(self.counts.len() + more, SpanCount::default());
            }
            let place = place.min(self.counts.len().saturating_sub(1));
            if let Some(counts) = self.counts.get_mut(place) {
                counts.add(more_packets);
            }
            return place;
        }
    }

    fn halve(&mut self, room: &mut usize) {
        let odd = self.first.rem_euclid(2) as usize;
        let mut counts = vec![SpanCount::default(); (self.counts.len() + odd).div_ceil(2)];
        for (place, one) in self.counts.iter().enumerate() {
            if let Some(both) = counts.get_mut((place + odd) / 2) {
                both.add(*one);
            }
        }
        *room += self.counts.len().saturating_sub(counts.len());
        (self.first, self.step, self.counts) = (self.first.div_euclid(2), self.step * 2, counts);
    }

    /// The room that it takes: the first span takes none.
    pub(super) fn room(&self) -> usize {
        self.counts.len().saturating_sub(1)
    }

    /// Adds the packets of another target.
    pub(super) fn add(&mut self, other: &Timeline) {
        self.add_within(other, &mut MOST.clone());
    }

    /// Adds other packets. `room`: how many spans may be added.
    pub(super) fn add_within(&mut self, other: &Timeline, room: &mut usize) {
        let begins = |timeline: &Timeline| timeline.first.saturating_mul(timeline.step);
        if other.step > 0 && (self.step == 0 || begins(other) < begins(self)) {
            let mine = std::mem::replace(self, other.clone());
            return self.add_within(&mine, room);
        }
        // What came in a long span did not come at once.
        while self.step < other.step {
            self.halve(room);
        }
        // The indices of spans may have changed.
        self.latest = (i64::MIN, 0);
        for (at, counts) in (other.first..).zip(&other.counts) {
            self.add_at(at.saturating_mul(other.step), *counts, room);
        }
    }

    /// Maximum packets and bytes per second.
    pub(super) fn peak(&self) -> [f64; 2] {
        let most = |of: fn(&SpanCount) -> u64| {
            let most = self.counts.iter().map(of).max();
            most.map_or(0.0, |most| most as f64 / self.step.max(1) as f64)
        };
        [most(|counts| counts.packets), most(|counts| counts.bytes)]
    }

    /// Maximum packets within this many seconds; at least so many, if spans are longer than a second.
    pub(super) fn most_within(&self, seconds: i64) -> u64 {
        self.most_of(seconds, |counts| counts.packets)
    }

    /// The same without the packets of real clients.
    pub(super) fn most_unproven_within(&self, seconds: i64) -> u64 {
        self.most_of(seconds, SpanCount::unproven)
    }

    fn most_of(&self, seconds: i64, count: fn(&SpanCount) -> u64) -> u64 {
        let step = self.step.max(1);
        let spans = (seconds / step).max(1) as usize;
        let sums = self.counts.windows(spans.min(self.counts.len()).max(1));
        let most = sums.map(|span| span.iter().map(count).sum()).max().unwrap_or(0);
        if step <= seconds {
            return most;
        }
        // In a longer span, there is a time with the average number of packets or more.
        let average =
            u128::from(most) * u128::from(seconds.unsigned_abs()) / u128::from(step.unsigned_abs());
        u64::try_from(average).unwrap_or(most)
    }

    /// The spans of pulses, by their places. A tenth of the peak is a pulse.
    fn spans_of_pulses(&self) -> impl Iterator<Item = (i64, &SpanCount)> {
        let most = self.counts.iter().map(|counts| counts.packets).max().unwrap_or(0);
        (self.first..).zip(&self.counts).filter(move |(_, counts)| counts.packets * 10 >= most)
    }

    /// Packets and bytes in the pulses until the end of an attack.
    pub(super) fn in_pulses(&self, end: Time) -> [u64; 2] {
        let begins = |at: i64| at.saturating_mul(self.step).saturating_mul(SECOND);
        let spans = self.spans_of_pulses().take_while(|(at, _)| begins(*at) <= end.0);
        spans.fold([0; 2], |sum, (_, it)| [sum[0] + it.packets, sum[1] + it.bytes])
    }

    /// The pulses of an attack with pauses.
    pub(super) fn pulses(&self) -> Vec<[Time; 2]> {
        let mut pulses: Vec<[i64; 2]> = Vec::new();
        for (at, _) in self.spans_of_pulses() {
            let begin = at.saturating_mul(self.step);
            let end = begin.saturating_add(self.step);
            match pulses.last_mut() {
                Some([_, last]) if begin - *last < PAUSE * self.step => *last = end,
                _ => pulses.push([begin, end]),
            }
        }
        pulses.into_iter().map(|pulse| pulse.map(|at| Time(at.saturating_mul(SECOND)))).collect()
    }

    /// A bar for each span, of at most 40.
    pub(super) fn sparkline(&self) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let wide = self.counts.len().div_ceil(COLUMNS).max(1);
        let sum = |span: &[SpanCount]| span.iter().map(|counts| counts.packets).sum();
        let sums: Vec<u64> = self.counts.chunks(wide).map(sum).collect();
        let most = sums.iter().copied().max().unwrap_or(0).max(1);
        let bar = |sum: &u64| {
            let height = (u128::from(*sum) * 7).div_ceil(u128::from(most)) as usize;
            BARS.get(height).copied().unwrap_or(' ')
        };
        sums.iter().map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(timeline: &Timeline) -> u64 {
        timeline.counts.iter().map(|counts| counts.packets).sum()
    }

    #[test]
    fn long_captures_have_longer_spans() {
        let mut timeline = Timeline::default();
        for second in 0..20_000 {
            for _ in 0..=u8::from(second == 7) * 9 {
                timeline.see(Time(second * SECOND + 5), 25, &mut 10_000);
            }
        }
        assert!(timeline.counts.len() <= MOST + 1);
        assert_eq!(packets(&timeline), 20_009);
        assert!(timeline.peak()[0] >= 1.0);
        assert!(timeline.sparkline().chars().count() <= COLUMNS);
        timeline.see(Time(i64::MAX), 25, &mut 10_000);
        timeline.see(Time(i64::MIN), 25, &mut 10_000);
        assert_eq!(packets(&timeline), 20_011);
    }

    /// In a capture of a day, a span is longer than the window of a flood.
    #[test]
    fn what_came_in_a_long_span_did_not_come_at_once() {
        let mut timeline = Timeline::default();
        for second in 0..86_400 {
            timeline.see(Time(second * SECOND), 25, &mut 10_000);
            timeline.see(Time(second * SECOND), 25, &mut 10_000);
        }
        assert_eq!((timeline.step, timeline.most_within(5)), (64, 10));
        assert_eq!(timeline.most_within(3600), 2 * (3600 / 64 * 64));
    }

    #[test]
    fn room_for_spans_is_shared_and_given_back() {
        let room = &mut 100;
        let mut timelines = vec![Timeline::default(); 4];
        for second in -500..500 {
            timelines.iter_mut().for_each(|it| it.see(Time(second * SECOND), 25, room));
        }
        let spans: usize = timelines.iter().map(|it| it.counts.len()).sum();
        assert_eq!(spans, 104 - *room, "and the first span of each");
        assert!(timelines.iter().all(|it| packets(it) == 1000));
    }

    #[test]
    fn the_peak_is_that_of_a_second() {
        let mut timeline = Timeline::default();
        for n in 0..10 {
            timeline.see(Time(n * SECOND), 25, &mut 10_000);
        }
        (0..20).for_each(|_| timeline.see(Time(3 * SECOND), 100, &mut 10_000));
        assert_eq!(timeline.peak(), [21.0, 2025.0]);
        assert_eq!(timeline.most_within(5), 25);
        assert_eq!(timeline.sparkline(), "▂▂▂█▂▂▂▂▂▂");
    }

    #[test]
    fn intermittent_floods_have_pulses() {
        let mut timeline = Timeline::default();
        // One other packet per second; floods of 50 in each second from 10 to 14 and 60 to 61.
        for second in 0..100 {
            let flood = matches!(second, 10..15 | 60..62);
            (0..if flood { 50 } else { 1 })
                .for_each(|_| timeline.see(Time(second * SECOND), 25, &mut 10_000));
        }
        let seconds: Vec<_> =
            timeline.pulses().iter().map(|pulse| pulse.map(|at| at.0 / SECOND)).collect();
        assert_eq!(seconds, [[10, 15], [60, 62]]);
        assert_eq!(timeline.in_pulses(timeline.pulses()[1][1]), [350, 350 * 25]);
        assert_eq!(timeline.in_pulses(timeline.pulses()[0][1])[0], 250);
    }

    #[test]
    fn packets_are_taken_back_from_the_latest_seconds() {
        let mut timeline = Timeline::default();
        (0..10).for_each(|second| timeline.see(Time(second * SECOND), 25, &mut 10_000));
        timeline.take_back(Time(5 * SECOND), [3, 75]);
        let kept: Vec<u64> = timeline.counts.iter().map(|counts| counts.packets).collect();
        assert_eq!(kept, [1, 1, 1, 0, 0, 0, 1, 1, 1, 1]);
        // More than there are, and before the first.
        timeline.take_back(Time(2 * SECOND), [9, 9]);
        timeline.take_back(Time(-SECOND), [9, 9]);
        assert_eq!((packets(&timeline), timeline.peak()), (4, [1.0, 25.0]));
    }

    /// A timeline of longer spans is no burst in one of shorter ones.
    #[test]
    fn spans_of_different_lengths_are_added_as_long_ones() {
        let (mut long, mut short) = (Timeline::default(), Timeline::default());
        (1..=86_400).for_each(|second| long.see(Time(second * SECOND), 25, &mut 10_000));
        (0..9).for_each(|second| short.see(Time(second * SECOND), 25, &mut 10_000));
        let mut none = Timeline::default();
        none.add(&long);
        short.add(&long);
        assert_eq!((none.step, none.peak()[0]), (64, 1.0));
        assert_eq!((short.step, packets(&short)), (64, 86_409));
        assert!(short.peak()[0] < 2.0, "{:?}", short.peak());
    }

    #[test]
    fn two_targets_together_have_both_their_packets() {
        let (mut one, mut other) = (Timeline::default(), Timeline::default());
        (5..10).for_each(|second| one.see(Time(second * SECOND), 10, &mut 10_000));
        (0..7).for_each(|second| other.see(Time(second * SECOND), 10, &mut 10_000));
        one.add(&other);
        assert_eq!(packets(&one), 12);
        assert_eq!(one.peak(), [2.0, 20.0]);
        let mut none = Timeline::default();
        none.add(&one);
        assert_eq!(packets(&none), 12);
    }
}
