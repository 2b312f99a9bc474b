//! What a capture shows about one condition: how often it was met, and why it was not.

use dissectors::kit::Cause;

/// Maximum number of packets named.
const NAMED: usize = 3;

/// Maximum number of failures stored.
const KEPT: usize = 4;

/// More failures in a row than this are not coincidental, even if others succeeded before.
pub(super) const NO_ACCIDENT: u64 = 3;

/// The state of one condition of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Fact {
    /// How often it was met.
    pub(super) good: u64,
    /// The first packets that show it.
    pub(super) shown: Vec<u64>,
    /// The last one.
    last: u64,
    /// The latest failures since then, the last one last.
    bad: Vec<Failure>,
    /// How many there were.
    pub(super) run: u64,
    /// Failures that were followed by a success.
    pub(super) mended: u64,
    /// Why it is unknown.
    pub(super) open: Option<Failure>,
}

/// Why it was not met, or why that is unknown.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) cause: Cause,
    /// The packet that shows it; 0 for none.
    pub(super) frame: u64,
    /// The details.
    pub(super) text: String,
}

impl Fact {
    /// It is met, as this packet shows.
    pub(super) fn good(&mut self, frame: u64) {
        self.good += 1;
        if self.shown.len() < NAMED && frame > 0 && self.shown.last() != Some(&frame) {
            self.shown.push(frame);
        }
        self.last = self.last.max(frame);
        let after = self.bad.iter().all(|failure| failure.frame <= frame);
        if self.run > 0 && after {
            self.mended += self.run;
            self.run = 0;
            self.bad.clear();
        }
    }

    /// It is not met.
    pub(super) fn bad(&mut self, cause: Cause, frame: u64, text: impl Into<String>) {
        if frame > 0 && frame < self.last {
            self.mended += 1;
            return;
        }
        // A missing response after an ICMP error adds nothing to it.
        if is_mere_silence(cause) && self.bad.iter().any(|it| !is_mere_silence(it.cause)) {
            return;
        }
        self.run += 1;
        if self.bad.len() == KEPT {
            self.bad.remove(0);
        }
        self.bad.push(Failure { cause, frame, text: text.into() });
    }

    /// It is unknown whether it is met.
    pub(super) fn open(&mut self, cause: Cause, frame: u64, text: impl Into<String>) {
        self.open = Some(Failure { cause, frame, text: text.into() });
    }

    /// It was met, but these packets suggest that it may not always be.
    pub(super) fn doubt(&mut self, cause: Cause, frames: Vec<u64>, text: String) {
        (self.good, self.shown) = (0, frames);
        self.open = Some(Failure { cause, frame: 0, text });
    }

    /// Replaces its failures by these, which count as one, regardless of successes.
    pub(super) fn fails_by(&mut self, failures: Vec<Failure>) {
        self.mended += self.run;
        self.run = u64::from(!failures.is_empty());
        if !failures.is_empty() {
            self.good = 0;
        }
        self.bad = failures;
    }

    /// The failure that counts at the end, if any. `of_many`: the condition is checked repeatedly,
    /// so that one failure after many successes means little.
    pub(super) fn failure(&self, of_many: bool) -> Option<&Failure> {
        let enough = if of_many && self.good > 0 { NO_ACCIDENT } else { 1 };
        if self.run < enough {
            return None;
        }
        // An ICMP error says more than a missing response.
        let says_why = |failure: &&Failure| !is_mere_silence(failure.cause);
        self.bad.iter().rev().find(says_why).or_else(|| self.bad.last())
    }

    /// The failures since the last success, up to a maximum.
    pub(super) fn failures(&self) -> &[Failure] {
        &self.bad
    }

    /// The packets of these failures.
    pub(super) fn failed(&self) -> Vec<u64> {
        let mut frames: Vec<_> = self.bad.iter().map(|failure| failure.frame).collect();
        frames.retain(|frame| *frame > 0);
        frames.dedup();
        frames.truncate(NAMED);
        frames
    }
}

/// Whether a cause only says that no response came.
fn is_mere_silence(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::QueriesUnanswered | Cause::JoinUnanswered | Cause::RegistrationUnanswered
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_counts() {
        let mut fact = Fact::default();
        fact.bad(Cause::QueriesUnanswered, 1, "");
        assert_eq!(fact.failure(true).map(|it| it.cause), Some(Cause::QueriesUnanswered));
        fact.good(5);
        assert!(fact.failure(true).is_none() && fact.mended == 1);
        fact.bad(Cause::QueriesUnanswered, 4, "reported late");
        assert_eq!((fact.run, fact.mended), (0, 2));
        (6..8).for_each(|frame| fact.bad(Cause::QueriesUnanswered, frame, ""));
        assert!(fact.failure(true).is_none(), "two of many are an accident");
        assert!(fact.failure(false).is_some(), "one is enough where it happens once");
        fact.bad(Cause::IcmpPort, 8, "");
        fact.bad(Cause::QueriesUnanswered, 9, "");
        assert_eq!(fact.failure(true).map(|it| it.cause), Some(Cause::IcmpPort));
        assert_eq!((fact.failed(), fact.run), (vec![6, 7, 8], 3));
    }
}
