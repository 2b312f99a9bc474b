//! When exchanges were answered, and when they were not, in little memory and whatever order they end in.

use dissectors::kit::Time;

/// Number of spans of time that are told apart.
const SPANS: i64 = u128::BITS as i64;

/// Nanoseconds of a span at first.
const FIRST_WIDTH: i64 = 1_000_000_000;

/// Spans of time: in which of them answered exchanges began, and in which unanswered ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    /// When the first span begins.
    begun: Option<Time>,
    /// Nanoseconds of each.
    width: i64,
    /// A bit for each.
    answered: u128,
    missing: u128,
    /// When the first and the last unanswered one began.
    pub(super) silent: Option<[Time; 2]>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { begun: None, width: FIRST_WIDTH, answered: 0, missing: 0, silent: None }
    }
}

impl Timeline {
    pub(super) fn add(&mut self, time: Time, is_answered: bool) {
        let Some(at) = self.place(time) else { return };
        let bit = 1 << at;
        if is_answered {
            self.answered |= bit;
            return;
        }
        self.missing |= bit;
        let [first, last] = self.silent.unwrap_or([time; 2]);
        self.silent = Some([first.min(time), last.max(time)]);
    }

    /// From the first to the last unanswered one, if no answered one began between them, as far as is known.
    pub(super) fn silence(&self) -> Option<[Time; 2]> {
        let (span, begun) = (self.silent?, self.begun?);
        let [first, last] = span.map(|time| time.since(begun) / self.width);
        let until = 1_u128.checked_shl(u32::try_from(last).ok()?)? - 1;
        let since = u128::MAX.checked_shl(u32::try_from(first + 1).ok()?)?;
        // How those in the first and in the last span follow each other is unknown: there must be one between these.
        let within = until & since;
        (within != 0 && self.answered & within == 0).then_some(span)
    }

    /// The span of a time, for which there is room afterwards.
    fn place(&mut self, time: Time) -> Option<u32> {
        loop {
            let begun = *self.begun.get_or_insert(time);
            let at = time.0.saturating_sub(begun.0).div_euclid(self.width);
            let used = i64::from(u128::BITS - (self.answered | self.missing).leading_zeros());
            match at {
                0..SPANS => return u32::try_from(at).ok(),
                // Earlier than all others.
                ..0 if used - at <= SPANS => {
                    let more = u32::try_from(-at).ok()?;
                    self.answered = self.answered.checked_shl(more).unwrap_or(0);
                    self.missing = self.missing.checked_shl(more).unwrap_or(0);
                    self.begun = Some(Time(begun.0.checked_add(at.checked_mul(self.width)?)?));
                }
                _ => {
                    self.width = self.width.checked_mul(2)?;
                    (self.answered, self.missing) = (halved(self.answered), halved(self.missing));
                }
            }
        }
    }
}

/// Each two successive bits as one.
fn halved(bits: u128) -> u128 {
    let is_any = |at: &u32| (bits >> (2 * at)) & 3 != 0;
    (0..u128::BITS / 2).filter(is_any).fold(0, |halved, at| halved | 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silence(times: impl IntoIterator<Item = (i64, bool)>) -> Option<[i64; 2]> {
        const SECOND: i64 = 1_000_000_000;
        let mut timeline = Timeline::default();
        times.into_iter().for_each(|(at, is)| timeline.add(Time(at * SECOND), is));
        timeline.silence().map(|span| span.map(|time| time.0 / SECOND))
    }

    #[test]
    fn answers_between_unanswered_ones_are_known_in_any_order() {
        let answered = || (0..30).chain(60..90).map(|at| (at, true));
        let missing = || (30..60).map(|at| (at, false));
        assert_eq!(silence(answered().chain(missing())), Some([30, 59]));
        assert_eq!(silence(missing().chain(answered())), Some([30, 59]));
        assert_eq!(silence(answered().chain(missing()).chain([(45, true)])), None);
        assert_eq!(silence([(45, true)].into_iter().chain(missing())), None);
        assert_eq!(silence(answered()), None);
    }

    #[test]
    fn long_captures_have_long_spans() {
        let all = |gap: i64| (0..1_000).map(move |at| (at * gap, !(400..600).contains(&at)));
        for gap in [1, 60, 3_600] {
            assert_eq!(silence(all(gap)), Some([400 * gap, 599 * gap]));
            let late = all(gap).filter(|it| it.1).chain(all(gap).filter(|it| !it.1));
            assert_eq!(silence(late), Some([400 * gap, 599 * gap]));
        }
        assert_eq!(silence([(1 << 32, false), (0, false), (1 << 33, true)]), Some([0, 1 << 32]));
    }
}
