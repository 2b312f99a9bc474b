//! Counters of a flow, up to three each, packed into a number; and a coarse time in a byte.

use super::kinds::{RequestKind, ResponseKind};
use crate::kit::Clock;

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// How often in a row a valid challenge was answered with another one, by kind of request.
    InfoRounds,
    PlayerRounds,
    RulesRounds,
    /// Responses in these forms that may still come to info requests which were answered in another
    /// form.
    Info,
    ObsoleteInfo,
    Players,
    /// Packets toward the server that are shorter than a header.
    Runts,
}

impl Count {
    /// The forms in which hybrid servers answer one info request.
    pub(super) const FORMS: [Count; 3] = [Count::Info, Count::ObsoleteInfo, Count::Players];

    /// The counter of challenge rounds of a request that carries a challenge.
    pub(super) const fn rounds(request: RequestKind) -> Option<Count> {
        match request {
            RequestKind::Info => Some(Count::InfoRounds),
            RequestKind::Player => Some(Count::PlayerRounds),
            RequestKind::Rules => Some(Count::RulesRounds),
            RequestKind::Challenge | RequestKind::Ping => None,
        }
    }

    /// The counter of a form in which a hybrid server answers info.
    pub(super) const fn form(response: ResponseKind) -> Option<Count> {
        match response {
            ResponseKind::Info => Some(Count::Info),
            ResponseKind::ObsoleteInfo => Some(Count::ObsoleteInfo),
            ResponseKind::Players => Some(Count::Players),
            ResponseKind::Challenge
            | ResponseKind::Rules
            | ResponseKind::Ping
            | ResponseKind::Other => None,
        }
    }
}

/// The counts, two bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters(u16);

impl Counters {
    /// The maximum of a counter.
    pub(super) const MOST: u8 = 3;

    pub(super) const fn get(self, count: Count) -> u8 {
        (self.0 >> (2 * count as u16)) as u8 & Counters::MOST
    }

    fn set(&mut self, count: Count, value: u8) {
        let at = 2 * count as u16;
        self.0 = self.0 & !(u16::from(Counters::MOST) << at)
            | u16::from(value.min(Counters::MOST)) << at;
    }

    /// Increments a counter, up to the maximum.
    pub(super) fn add(&mut self, count: Count) {
        self.set(count, self.get(count) + 1);
    }

    /// Decrements a counter. Returns whether it was above 0.
    pub(super) fn spend(&mut self, count: Count) -> bool {
        let there = self.get(count);
        self.set(count, there.saturating_sub(1));
        there > 0
    }

    /// Sets these counters to 0.
    pub(super) fn clear(&mut self, counts: &[Count]) {
        for &count in counts {
            self.set(count, 0);
        }
    }
}

/// A time in a byte, in quarters of the response timeout. It wraps after 64 timeouts, so that times
/// must be compared within that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoarseTime(u8);

impl CoarseTime {
    pub(super) fn of(Clock { now, timeout }: Clock) -> CoarseTime {
        CoarseTime(now.0.div_euclid((timeout / 4).max(1)) as u8)
    }

    /// Whether the two times are at most the timeout, or a quarter more, apart.
    pub(super) const fn is_near(self, other: CoarseTime) -> bool {
        self.0.wrapping_sub(other.0).wrapping_add(4) <= 8
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::Time;

    use super::*;

    #[test]
    fn coarse_times_are_near_for_the_time_of_a_response() {
        for start in [-300, -1, 0, 7, 250, 1_700_000_000] {
            let at = |time| CoarseTime::of(Clock { now: Time(time), timeout: 40 });
            let near = |after: i64| at(start + after).is_near(at(start));
            assert!((-30..=40).all(near), "{start}");
            assert!((50..=2500).chain(-2500..=-50).all(|after| !near(after)), "{start}");
        }
    }

    #[test]
    fn counts_do_not_touch_each_other() {
        let mut tally = Counters::default();
        for _ in 0..5 {
            tally.add(Count::PlayerRounds);
        }
        tally.add(Count::Players);
        assert_eq!(tally.get(Count::PlayerRounds), Counters::MOST);
        assert_eq!((tally.get(Count::InfoRounds), tally.get(Count::RulesRounds)), (0, 0));
        assert_eq!([tally.spend(Count::Players), tally.spend(Count::Players)], [true, false]);
        tally.clear(&[Count::PlayerRounds]);
        assert_eq!(tally, Counters::default());
    }
}
