//! What a capture shows about one condition: how often it was met, and why it was not.

pub(in crate::diagnose) mod find_or_add;
pub(in crate::diagnose) mod item_set;

use std::fmt::Display;
use std::ops::Deref;

use dissectors::kit::{Cause, CauseKind, Values};
pub(in crate::diagnose) use dissectors::ledger::NO_ACCIDENT;

use crate::session::ExchangeCounts;
use crate::text::grouped;
use find_or_add::keep_latest;

/// As many exchanges show a share.
pub(in crate::diagnose) const ENOUGH: u64 = 10;

/// Whether so many failures of all are too many: more than one of ten, or of fewer than ten more than an accident.
pub(in crate::diagnose) fn is_too_much(bad: u64, all: u64) -> bool {
    10 * bad > all && (all >= ENOUGH || bad >= NO_ACCIDENT)
}

/// Whether so many successes in a row, after so many failures of all, mean that these are over: the chance of that many is
/// small if nothing has changed.
pub(in crate::diagnose) fn are_over(bad: u64, all: u64, since: u64) -> bool {
    since >= NO_ACCIDENT && since.saturating_mul(bad) >= 3 * all.saturating_sub(since)
}

/// What is not known of a packet that was cut.
pub(in crate::diagnose) const NOT_WHOLE: &str =
    "it was not recorded whole: record with a larger snaplen";

/// Maximum number of packets named.
const NAMED: usize = 3;

/// Maximum number of failures stored.
const KEPT: usize = 4;

/// The state of one condition of a server.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnose) struct Fact {
    /// How often it was met.
    pub(in crate::diagnose) good: u64,
    /// The first packets that show it.
    pub(in crate::diagnose) shown: FirstFrames,
    /// The last one.
    last: u64,
    /// How often it was met since it last was not.
    streak: Streak,
    /// The latest failures since then, the last one last.
    bad: Vec<Failure>,
    /// How many there were.
    pub(in crate::diagnose) run: u64,
    /// Failures that were followed by a success.
    pub(in crate::diagnose) mended: u64,
    /// The latest of these.
    latest_mended: Option<Box<Failure>>,
    /// Why it is unknown.
    pub(in crate::diagnose) open: Option<Box<Failure>>,
    /// How often a packet that was not recorded whole might have failed it.
    doubts: u64,
}

/// The first packets that show something, without an allocation: there are very many conditions.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstFrames {
    frames: [u64; NAMED],
    count: u8,
}

impl FirstFrames {
    /// Adds a packet, unless it is the latest one, or there are enough.
    fn add(&mut self, frame: u64) {
        if frame == 0 || self.last() == Some(&frame) {
            return;
        }
        if let Some(place) = self.frames.get_mut(usize::from(self.count)) {
            *place = frame;
            self.count += 1;
        }
    }

    /// These frames in the order of the capture.
    pub(in crate::diagnose) fn in_order(mut self) -> FirstFrames {
        self.frames[..usize::from(self.count)].sort_unstable();
        self
    }
}

impl Deref for FirstFrames {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.frames.get(..usize::from(self.count)).unwrap_or_default()
    }
}

impl FromIterator<u64> for FirstFrames {
    fn from_iter<I: IntoIterator<Item = u64>>(frames: I) -> FirstFrames {
        frames.into_iter().fold(FirstFrames::default(), |mut first, frame| {
            first.add(frame);
            first
        })
    }
}

/// Successes in a row. A failure may be reported after later ones.
#[derive(Clone, Copy, Debug, Default)]
struct Streak {
    /// The packets of the latest ones; 0 for none.
    latest: [u64; Streak::LATEST],
    /// The place of the next one, which is that of the oldest.
    next: u8,
    /// How many there were before these, at least.
    more: u64,
    /// The packet of the first of all, as far as is known; 0 for none.
    first: u64,
    /// The packet of the latest failure.
    failed: u64,
}

impl Streak {
    const LATEST: usize = 8;

    fn met(&mut self, frame: u64) {
        if frame <= self.failed {
            return;
        }
        if self.length() == 0 {
            self.first = frame;
        }
        let oldest = &mut self.latest[usize::from(self.next)];
        self.more += u64::from(*oldest > 0);
        *oldest = frame;
        self.next = (self.next + 1) % Streak::LATEST as u8;
    }

    fn ends(&mut self, frame: u64) {
        self.failed = self.failed.max(frame);
        if frame < self.first {
            return;
        }
        // Which of those came after it is unknown.
        self.more = 0;
        self.latest.iter_mut().filter(|met| **met <= frame).for_each(|met| *met = 0);
        let left = self.latest.iter().copied().filter(|met| *met > 0);
        self.first = left.min().unwrap_or(0);
    }

    fn length(&self) -> u64 {
        self.more + self.latest.iter().filter(|frame| **frame > 0).count() as u64
    }
}

/// Why it was not met, or why that is unknown.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Failure {
    pub(in crate::diagnose) cause: &'static Cause,
    /// The packet that shows it; 0 for none.
    pub(in crate::diagnose) frame: u64,
    /// The details.
    pub(in crate::diagnose) text: String,
    /// The values in the cause's sentence.
    pub(in crate::diagnose) values: Values,
}

impl Failure {
    /// With details that only this packet has, such as the words of a finding.
    pub(in crate::diagnose) fn new(
        cause: &'static Cause,
        frame: u64,
        text: impl Into<String>,
    ) -> Failure {
        Failure { cause, frame, text: text.into(), values: Values::new() }
    }

    /// With the details of its cause, and the values in these and in its sentence.
    pub(in crate::diagnose) fn with(
        cause: &'static Cause,
        frame: u64,
        values: &[(&'static str, &dyn Display)],
    ) -> Failure {
        let values: Values =
            values.iter().map(|(name, value)| (*name, value.to_string())).collect();
        Failure { cause, frame, text: cause.details(&values).into_owned(), values }
    }

    /// Its sentence counts all exchanges, as other texts do: some may still be answered, or are owed no answer.
    pub(in crate::diagnose) fn counts(&mut self, all: ExchangeCounts) {
        for (name, value) in self.values.iter_mut().filter(|_| all.asked > 0) {
            match *name {
                "answered" => *value = grouped(all.answered),
                "asked" => *value = grouped(all.asked),
                _ => {}
            }
        }
    }
}

impl Fact {
    /// Whether the capture shows anything about it.
    pub(in crate::diagnose) fn is_known(&self) -> bool {
        self.good > 0 || self.run > 0 || self.open.is_some()
    }

    /// The last packet that shows that it is met.
    pub(in crate::diagnose) fn latest(&self) -> u64 {
        self.last
    }

    /// It is met, as this packet shows.
    pub(in crate::diagnose) fn good(&mut self, frame: u64) {
        self.good += 1;
        self.streak.met(frame);
        self.shown.add(frame);
        self.last = self.last.max(frame);
        self.mend(frame);
    }

    /// Failures before this packet do not count any more, if there are none after it.
    pub(in crate::diagnose) fn mend(&mut self, frame: u64) {
        let is_last = |failure: &Failure| failure.frame <= frame;
        if self.run > 0 && self.bad.iter().all(is_last) {
            self.mended += self.run;
            self.run = 0;
            self.latest_mended = self.bad.pop().map(Box::new);
            self.bad.clear();
        }
    }

    /// It is not met.
    pub(in crate::diagnose) fn bad(
        &mut self,
        cause: &'static Cause,
        frame: u64,
        text: impl Into<String>,
    ) {
        self.fails(Failure::new(cause, frame, text));
    }

    /// It is not met, for this reason.
    pub(in crate::diagnose) fn fails(&mut self, failure: Failure) {
        self.streak.ends(failure.frame);
        if failure.frame > 0 && failure.frame < self.last {
            return self.fails_for_nothing(failure);
        }
        // A missing response after an ICMP error adds nothing to it.
        let is_silence = |it: &Failure| it.cause.kind == CauseKind::Silence;
        if is_silence(&failure) && !self.bad.iter().all(is_silence) {
            return;
        }
        self.run += 1;
        keep_latest(&mut self.bad, KEPT, failure);
    }

    /// It is not met, which is counted elsewhere.
    pub(in crate::diagnose) fn interrupted(&mut self, frame: u64) {
        self.streak.ends(frame);
    }

    /// Whether it was not met so many times, and is met again since.
    pub(in crate::diagnose) fn is_mended(&self, bad: u64) -> bool {
        are_over(bad, bad + self.good, self.streak.length())
    }

    /// The latest packet that does not meet it.
    pub(in crate::diagnose) fn latest_failed(&self) -> u64 {
        self.streak.failed
    }

    /// It is not met, which does not count, because it is met otherwise.
    pub(in crate::diagnose) fn fails_for_nothing(&mut self, failure: Failure) {
        self.mended += 1;
        self.latest_mended = Some(Box::new(failure));
    }

    /// The latest failure that does not count.
    pub(in crate::diagnose) fn latest_mended(&self) -> Option<&Failure> {
        self.latest_mended.as_deref()
    }

    /// It is not met, as the end of the capture shows: what met it since then counts for nothing.
    pub(in crate::diagnose) fn fails_at_the_end(&mut self, failure: Failure) {
        self.last = 0;
        self.fails(failure);
    }

    /// It is unknown whether it is met.
    pub(in crate::diagnose) fn open(
        &mut self,
        cause: &'static Cause,
        frame: u64,
        text: impl Into<String>,
    ) {
        self.open_by(Failure::new(cause, frame, text));
    }

    /// It is unknown whether it is met, for this reason.
    pub(in crate::diagnose) fn open_by(&mut self, why: Failure) {
        self.open = Some(Box::new(why));
    }

    /// What was recorded of this packet does not show whether it is met.
    pub(in crate::diagnose) fn may_fail(&mut self, why: Failure) {
        self.doubts += 1;
        self.open_by(why);
    }

    /// Beside those that were cut, so many packets show that it is met.
    pub(in crate::diagnose) fn good_beside_doubts(&mut self, times: u64) {
        if self.doubts > 0 {
            self.good = self.good.max(times);
        }
    }

    /// Why it is unknown, how often it was, and of how many, where that is too much.
    pub(in crate::diagnose) fn doubtful_share(&self) -> Option<(&Failure, u64, u64)> {
        let all = self.doubts + self.good + self.times_not();
        let is_much = is_too_much(self.doubts, all) && self.good > 0;
        self.open.as_deref().filter(|_| is_much).map(|why| (why, self.doubts, all))
    }

    /// It was met, but these packets suggest that it may not always be.
    pub(in crate::diagnose) fn doubt(
        &mut self,
        frames: impl IntoIterator<Item = u64>,
        why: Failure,
    ) {
        (self.good, self.shown) = (0, frames.into_iter().collect());
        self.open_by(why);
    }

    /// Replaces its failures by these, which count as one, regardless of successes.
    pub(in crate::diagnose) fn fails_by(&mut self, failures: Vec<Failure>) {
        self.mended += self.run;
        self.run = u64::from(!failures.is_empty());
        if !failures.is_empty() {
            self.good = 0;
        }
        self.bad = failures;
    }

    /// That it was not met at times is no fault of the party.
    pub(in crate::diagnose) fn excuse(&mut self) {
        (self.run, self.mended, self.latest_mended) = (0, 0, None);
        self.bad.clear();
    }

    /// How often it was not met.
    pub(in crate::diagnose) fn times_not(&self) -> u64 {
        self.run + self.mended
    }

    /// The latest failure, with its number and that of all, if some fail and others do not.
    pub(in crate::diagnose) fn share(&self) -> Option<(&Failure, u64, u64)> {
        let bad = self.times_not();
        let all = bad + self.good;
        let latest = self.bad.last().or(self.latest_mended.as_deref());
        latest.filter(|_| bad > 0 && self.good > 0).map(|latest| (latest, bad, all))
    }

    /// The failure that counts at the end, if any. `of_many`: the condition is checked repeatedly,
    /// so that one failure after many successes means little.
    pub(in crate::diagnose) fn failure(&self, of_many: bool) -> Option<&Failure> {
        let enough = if of_many && self.good > 0 { NO_ACCIDENT } else { 1 };
        if self.run < enough {
            return None;
        }
        // An ICMP error says more than a missing response.
        let says_why = |failure: &&Failure| failure.cause.kind != CauseKind::Silence;
        self.bad.iter().rev().find(says_why).or_else(|| self.bad.last())
    }

    /// That failure, if it is that nothing came.
    pub(in crate::diagnose) fn silence(&self) -> Option<&Failure> {
        self.failure(false).filter(|failure| failure.cause.kind == CauseKind::Silence)
    }

    /// The details of these failures have this, too.
    pub(in crate::diagnose) fn says_more(&mut self, more: &str) {
        self.bad.iter_mut().for_each(|failure| failure.text += more);
    }

    /// The failures since the last success, up to a maximum.
    pub(in crate::diagnose) fn failures(&self) -> &[Failure] {
        &self.bad
    }

    /// The packets of these failures.
    pub(in crate::diagnose) fn failed(&self) -> FirstFrames {
        self.bad.iter().map(|failure| failure.frame).collect()
    }
}

#[cfg(test)]
mod tests {
    use dissectors::kit::causes;

    use super::*;

    #[test]
    fn the_end_counts() {
        let mut fact = Fact::default();
        fact.bad(&causes::QUERIES_UNANSWERED, 1, "");
        assert_eq!(fact.failure(true).map(|it| it.cause), Some(&causes::QUERIES_UNANSWERED));
        fact.good(5);
        assert!(fact.failure(true).is_none() && fact.mended == 1);
        fact.bad(&causes::QUERIES_UNANSWERED, 4, "reported late");
        assert_eq!((fact.run, fact.mended), (0, 2));
        (6..8).for_each(|frame| fact.bad(&causes::QUERIES_UNANSWERED, frame, ""));
        assert!(fact.failure(true).is_none(), "two of many are an accident");
        assert!(fact.failure(false).is_some(), "one is enough where it happens once");
        fact.bad(&causes::ICMP_PORT, 8, "");
        fact.bad(&causes::QUERIES_UNANSWERED, 9, "");
        assert_eq!(fact.failure(true).map(|it| it.cause), Some(&causes::ICMP_PORT));
        assert_eq!((&*fact.failed(), fact.run), (&[6, 7, 8][..], 3));
    }

    /// What several flows together show is reported at the end.
    #[test]
    fn a_failure_that_is_reported_late_does_not_end_what_began_after_it() {
        let mut fact = Fact::default();
        (20..60).for_each(|frame| fact.good(frame));
        (10..20).for_each(|frame| fact.bad(&causes::SPLIT_PART_MISSING, frame, "late"));
        assert!(fact.is_mended(10));
        fact.bad(&causes::SPLIT_PART_MISSING, 55, "in between");
        assert!(!fact.is_mended(11));
    }
}
