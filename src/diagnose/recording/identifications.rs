//! IPv4 identifications: where a host counts its datagrams, the numbers that are missing show what was not recorded.

use std::net::IpAddr;

use dissectors::kit::RecentMap;

use crate::diagnose::facts::{ENOUGH, is_too_much};
use crate::session::{DatagramHeaders, ExchangeCounts};

/// The next number is at most so much greater. Otherwise the host sends much that does not pass the recorder, or does not
/// count at all.
const STEP: u16 = 16;

/// Shares are the same if neither is more than so many times the other: a missing answer may be one of several datagrams.
const TIMES: u64 = 3;

/// The identifications of all hosts.
#[derive(Default)]
pub(in crate::diagnose) struct Identifications(RecentMap<IpAddr, Series>);

/// Those of one host.
#[derive(Clone, Copy, Default)]
struct Series {
    latest: u16,
    /// How often the next one followed, at once or after a few that are missing.
    steps: u64,
    at_once: u64,
    missing: u64,
    /// How often it did not follow.
    jumps: u64,
    /// The host also sends what is no datagram.
    has_others: bool,
}

impl Identifications {
    /// A datagram; `most`: how many hosts are remembered.
    pub(in crate::diagnose) fn datagram(&mut self, headers: &DatagramHeaders, most: usize) {
        let (host, Some(latest)) = (headers.from.ip(), headers.identification) else { return };
        let new = || Series { latest, ..Series::default() };
        self.0.get_or_insert_with(host, new, most).next(latest);
    }

    /// A host sends something else than datagrams, which counts, too.
    pub(in crate::diagnose) fn other(&mut self, host: IpAddr, most: usize) {
        if let Some(series) = self.0.get_mut(&host, most) {
            series.has_others = true;
        }
    }

    /// Whether those of a host show that the recorder lost as many of its datagrams as answers are missing.
    pub(in crate::diagnose) fn explain(
        &mut self,
        host: IpAddr,
        counts: ExchangeCounts,
        most: usize,
    ) -> bool {
        let series = self.0.get_mut(&host, most);
        series.is_some_and(|series| series.counts() && series.explains(counts))
    }
}

impl Series {
    fn next(&mut self, identification: u16) {
        match identification.wrapping_sub(self.latest) {
            // It was recorded at several interfaces.
            0 => return,
            step @ 1..=STEP => {
                self.steps += 1;
                self.at_once += u64::from(step == 1);
                self.missing += u64::from(step - 1);
            }
            _ => self.jumps += 1,
        }
        self.latest = identification;
    }

    /// Whether the host counts its datagrams, of which most were recorded.
    fn counts(&self) -> bool {
        let follow = 2 * self.at_once >= self.steps && 20 * self.jumps <= self.steps;
        self.steps >= ENOUGH && follow && !self.has_others
    }

    /// Whether the share of those that are missing is that of the missing answers.
    fn explains(&self, counts: ExchangeCounts) -> bool {
        let missing = self.missing.saturating_mul(counts.asked);
        let unanswered = counts.missing().saturating_mul(self.steps + self.missing);
        is_too_much(counts.missing(), counts.asked)
            && missing.saturating_mul(TIMES) >= unanswered
            && unanswered.saturating_mul(TIMES) >= missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(identifications: impl IntoIterator<Item = u16>) -> Series {
        let mut series = Series::default();
        identifications.into_iter().for_each(|it| series.next(it));
        series
    }

    #[test]
    fn numbers_are_missing_only_where_a_host_counts() {
        let counts = ExchangeCounts { asked: 100, answered: 89 };
        let gaps = series((1..200).filter(|it| it % 10 != 0));
        assert!(gaps.counts() && gaps.explains(counts));
        let all = series(1..200);
        assert!(all.counts() && !all.explains(counts), "none is missing");
        let over = series((0..400_u16).map(|it| it.wrapping_add(65_400)));
        assert!(over.counts() && over.missing == 0, "they begin anew after the last one");
        assert!(!series((1..200).map(|it| it * 2)).counts(), "it sends as much elsewhere");
        assert!(!series((1..200_u16).map(|it| it.wrapping_mul(40_503))).counts(), "at random");
        assert!(!series((1..9).chain(10..11)).counts(), "too few");
    }
}
