//! The order in which a session tells things, and in which flows get their numbers.

/// When something is told, in the order of a capture. Sessions that share a capture never tell
/// something of flows at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// From here on a capture has no more packets.
    pub const END: Moment = Moment(1 << 63);

    /// Lanes of which the last moments can be told apart.
    const LANES: u64 = 1 << 8;

    /// A packet has come, and is not looked at yet.
    pub const fn before(frame: u64) -> Moment {
        Moment(frame << 1)
    }

    /// A packet is looked at.
    pub const fn at(frame: u64) -> Moment {
        Moment(frame << 1 | 1)
    }

    /// A flow ends with the capture: one that has a number, or, behind all of those, one of this
    /// lane that has none, which is 0.
    pub const fn end_of(number: u32, lane: usize) -> Moment {
        let rank = number.wrapping_sub(1) as u64 + 1;
        Moment(Moment::END.0 + rank * Moment::LANES + lane as u64 % Moment::LANES)
    }

    /// The first moment after this one.
    pub const fn next(self) -> Moment {
        Moment(self.0.saturating_add(1))
    }

    /// The same moment of the whole capture, by the flow's number there.
    pub fn renumbered(self, number: impl FnOnce(u32) -> u32) -> Moment {
        let Some(end) = self.0.checked_sub(Moment::END.0) else { return self };
        let (rank, lane) = (end / Moment::LANES, end % Moment::LANES);
        if rank == 0 || rank > u64::from(u32::MAX) {
            return self;
        }
        Moment::end_of(number(rank as u32), lane as usize)
    }
}

/// Numbers flows, from 1, in the order in which their protocols are told.
pub struct Numbers {
    given: u32,
    /// When each was given, where that is asked for.
    begun: Option<Vec<Moment>>,
}

impl Numbers {
    pub(super) fn new(remembered: bool) -> Numbers {
        Numbers { given: 0, begun: remembered.then(Vec::new) }
    }

    /// A number for one more flow.
    pub(super) fn next(&mut self, moment: Moment) -> u32 {
        self.given = self.given.saturating_add(1);
        if let Some(begun) = &mut self.begun {
            begun.push(moment);
        }
        self.given
    }

    /// How many were given.
    pub(super) fn given(&self) -> u32 {
        self.given
    }

    pub(super) fn take_begun(&mut self) -> Vec<Moment> {
        self.begun.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_with_the_capture_comes_last_and_in_the_order_of_the_flows() {
        let moments = [
            Moment::default(),
            Moment::before(1),
            Moment::at(1),
            Moment::before(u64::from(u32::MAX) * 1000),
            Moment::END,
            Moment::end_of(1, 7),
            Moment::end_of(2, 0),
            Moment::end_of(u32::MAX, 7),
            Moment::end_of(0, 0),
            Moment::end_of(0, 7),
        ];
        assert!(moments.is_sorted_by(|a, b| a < b), "{moments:?}");
        let renumbered = moments.map(|moment| moment.renumbered(|number| number.min(9) + 10));
        assert_eq!(renumbered[..5], moments[..5]);
        assert_eq!(renumbered[5], Moment::end_of(11, 7));
        assert_eq!(renumbered[7], Moment::end_of(19, 7));
        assert_eq!(renumbered[8..], moments[8..]);
    }
}
