//! Breaches that several flows together show, in the order of the packets.

use super::CrossFlowBreach;
use super::elsewhere::{Elsewhere, RulingPlace};
use crate::kit::Code;

/// Breaches. A flood may cause very many: each is assembled when it is read.
pub struct CrossFlowBreaches {
    rulings: Vec<Option<CrossFlowBreach>>,
    elsewhere: Elsewhere,
    order: std::vec::IntoIter<(u64, Code, RulingPlace)>,
}

impl CrossFlowBreaches {
    pub(super) fn new(
        rulings: Vec<CrossFlowBreach>,
        elsewhere: Elsewhere,
        mut places: Vec<(u64, Code, RulingPlace)>,
    ) -> CrossFlowBreaches {
        places.extend((0..).zip(&rulings).map(|(at, ruling)| {
            (ruling.witness.seen.mark.frame, ruling.rule.code, RulingPlace::Ruling(at))
        }));
        places.sort_unstable();
        let rulings = rulings.into_iter().map(Some).collect();
        CrossFlowBreaches { rulings, elsewhere, order: places.into_iter() }
    }
}

impl Iterator for CrossFlowBreaches {
    type Item = CrossFlowBreach;

    fn next(&mut self) -> Option<CrossFlowBreach> {
        match self.order.next()?.2 {
            RulingPlace::Ruling(at) => self.rulings.get_mut(at as usize)?.take(),
            place => self.elsewhere.ruling(place),
        }
    }
}
