//! Breaches that several flows together show, in the order of the packets.

use super::Ruling;
use super::elsewhere::{Elsewhere, RulingPlace};
use crate::kit::Code;

/// Breaches. A flood may cause very many: each is assembled when it is read.
pub struct Rulings {
    rulings: Vec<Option<Ruling>>,
    elsewhere: Elsewhere,
    order: std::vec::IntoIter<(u64, Code, RulingPlace)>,
}

impl Rulings {
    pub(super) fn new(
        rulings: Vec<Ruling>,
        elsewhere: Elsewhere,
        mut places: Vec<(u64, Code, RulingPlace)>,
    ) -> Rulings {
        places.extend((0..).zip(&rulings).map(|(at, ruling)| {
            (ruling.witness.seen.mark.frame, ruling.rule.code, RulingPlace::Ruling(at))
        }));
        places.sort_unstable();
        let rulings = rulings.into_iter().map(Some).collect();
        Rulings { rulings, elsewhere, order: places.into_iter() }
    }
}

impl Iterator for Rulings {
    type Item = Ruling;

    fn next(&mut self) -> Option<Ruling> {
        match self.order.next()?.2 {
            RulingPlace::Ruling(at) => self.rulings.get_mut(at as usize)?.take(),
            place => self.elsewhere.ruling(place),
        }
    }
}
