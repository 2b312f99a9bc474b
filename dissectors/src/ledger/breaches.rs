//! Breaches that several flows together show, in the order of the packets.

use super::CrossFlowBreach;
use super::elsewhere::{BreachPlace, Elsewhere};
use crate::kit::Code;

/// Breaches. A flood may cause very many: each is assembled when it is read.
pub struct CrossFlowBreaches {
    breaches: Vec<Option<CrossFlowBreach>>,
    elsewhere: Elsewhere,
    order: std::vec::IntoIter<(u64, Code, BreachPlace)>,
}

impl CrossFlowBreaches {
    pub(super) fn new(
        breaches: Vec<CrossFlowBreach>,
        elsewhere: Elsewhere,
        mut places: Vec<(u64, Code, BreachPlace)>,
    ) -> CrossFlowBreaches {
        places.extend((0..).zip(&breaches).map(|(at, breach)| {
            (breach.basis.seen.mark.frame, breach.rule.code, BreachPlace::Breach(at))
        }));
        places.sort_unstable();
        let breaches = breaches.into_iter().map(Some).collect();
        CrossFlowBreaches { breaches, elsewhere, order: places.into_iter() }
    }
}

impl Iterator for CrossFlowBreaches {
    type Item = CrossFlowBreach;

    fn next(&mut self) -> Option<CrossFlowBreach> {
        match self.order.next()?.2 {
            BreachPlace::Breach(at) => self.breaches.get_mut(at as usize)?.take(),
            place => self.elsewhere.breach(place),
        }
    }
}
