//! How many packets there were when.

use dissectors::kit::Time;

/// Spans that are kept: with more, two become one.
const MOST: usize = 1 << 12;

/// Columns of a sparkline.
const COLUMNS: usize = 40;

const SECOND: i64 = 1_000_000_000;

/// Packets by time.
#[derive(Clone, Default)]
pub(super) struct Timeline {
    /// When the first span begins, in spans.
    first: i64,
    /// How many seconds a span has; 0 before the first packet.
    step: i64,
    counts: Vec<u64>,
}

impl Timeline {
    /// One more packet.
    pub(super) fn see(&mut self, time: Time) {
        if self.step == 0 {
            self.step = 1;
            self.first = time.0.div_euclid(SECOND);
        }
        loop {
            let at = time.0.div_euclid(self.step * SECOND);
            // What comes from before the first packet counts with it.
            let place = at.saturating_sub(self.first).max(0);
            if place < MOST as i64 {
                let place = place as usize;
                if self.counts.len() <= place {
                    self.counts.resize(place + 1, 0);
                }
                self.counts[place] += 1;
                return;
            }
            self.halve();
        }
    }

    fn halve(&mut self) {
        let odd = self.first.rem_euclid(2) as usize;
        let mut counts = vec![0; self.counts.len().div_ceil(2) + 1];
        for (place, count) in self.counts.iter().enumerate() {
            if let Some(both) = counts.get_mut((place + odd) / 2) {
                *both += count;
            }
        }
        (self.first, self.step, self.counts) = (self.first.div_euclid(2), self.step * 2, counts);
    }

    /// Packets a second where there were most.
    pub(super) fn peak(&self) -> f64 {
        self.counts.iter().max().map_or(0.0, |most| *most as f64 / self.step.max(1) as f64)
    }

    /// A bar for each span, of at most 40.
    pub(super) fn sparkline(&self) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let wide = self.counts.len().div_ceil(COLUMNS).max(1);
        let sums: Vec<u64> = self.counts.chunks(wide).map(|span| span.iter().sum()).collect();
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

    #[test]
    fn long_captures_have_longer_spans() {
        let mut timeline = Timeline::default();
        for second in 0..20_000 {
            for _ in 0..=u8::from(second == 7) * 9 {
                timeline.see(Time(second * SECOND + 5));
            }
        }
        assert!(timeline.counts.len() <= MOST + 1);
        assert_eq!(timeline.counts.iter().sum::<u64>(), 20_009);
        assert!(timeline.peak() >= 1.0);
        assert!(timeline.sparkline().chars().count() <= COLUMNS);
        timeline.see(Time(i64::MAX));
        timeline.see(Time(i64::MIN));
        assert_eq!(timeline.counts.iter().sum::<u64>(), 20_011);
    }

    #[test]
    fn the_peak_is_that_of_a_second() {
        let mut timeline = Timeline::default();
        for n in 0..10 {
            timeline.see(Time(n * SECOND));
        }
        (0..20).for_each(|_| timeline.see(Time(3 * SECOND)));
        assert_eq!(timeline.peak(), 21.0);
        assert_eq!(timeline.sparkline(), "▂▂▂█▂▂▂▂▂▂");
    }
}
