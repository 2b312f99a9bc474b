//! Several checkers of one capture, each of a share of its flows, and what they come to together.

use dissectors::kit::Fact;
use dissectors::ledger::{Ledger, Review, Witness};

use super::{Checker, Found, KEPT};
use crate::session::Moment;

/// What a flow shows that other flows have to do with.
#[derive(Clone, Copy, Debug)]
pub struct FlowFact {
    /// What.
    pub fact: Fact,
    /// The message that shows it, and what is known of its flow.
    pub witness: Witness,
}

/// What is known across flows: judged here, or waiting to be taken to where it is.
pub(super) enum Across {
    Judged(Box<Ledger>),
    Waiting(Vec<(Moment, FlowFact)>),
}

impl Across {
    #[inline]
    pub(super) fn fact(&mut self, moment: Moment, told: FlowFact) {
        match self {
            Across::Judged(ledger) => ledger.fact(told.fact, &told.witness),
            Across::Waiting(facts) => facts.push((moment, told)),
        }
    }

    pub(super) fn review(&mut self) -> Option<Review> {
        match std::mem::replace(self, Across::Waiting(Vec::new())) {
            Across::Judged(ledger) => Some(ledger.review()),
            Across::Waiting(_) => None,
        }
    }
}

impl Checker {
    /// A checker of a share of the flows. Its facts are to be taken, in the order of the capture, to
    /// the checker that joins all parts in the end.
    pub fn part(&self) -> Checker {
        Checker { across: Across::Waiting(Vec::new()), ..Checker::new(self.selection.clone(), 0) }
    }

    /// How many facts wait in a part.
    pub fn waiting(&self) -> usize {
        match &self.across {
            Across::Judged(_) => 0,
            Across::Waiting(facts) => facts.len(),
        }
    }

    /// Takes the facts that wait in a part, with the moments at which they were told, and gives it
    /// an empty list for those that follow.
    pub fn exchange_facts(&mut self, empty: &mut Vec<(Moment, FlowFact)>) {
        if let Across::Waiting(facts) = &mut self.across {
            std::mem::swap(facts, empty);
        }
    }

    /// Judges a fact of a part, whose flow has its number in the whole capture.
    pub fn hear(&mut self, moment: Moment, told: FlowFact) {
        self.across.fact(moment, told);
    }

    /// Takes over what all parts counted and found; `number` says which number a part's flow has in
    /// the whole capture. What comes out is what one checker would have found.
    pub fn join(&mut self, parts: Vec<Checker>, number: impl Fn(usize, u32) -> u32) {
        let last = parts.iter().filter_map(|part| part.scene).max_by_key(|scene| scene.moment);
        self.scene = last.or(self.scene);
        let mut found: Vec<Found> = Vec::new();
        for (nth, part) in parts.into_iter().enumerate() {
            self.judge.add(&part.judge);
            self.messages += part.messages;
            self.cut |= part.cut;
            self.drops |= part.drops;
            for (all, more) in self.others.iter_mut().zip(&*part.others) {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            }
            for (all, more) in self.kept.iter_mut().zip(&*part.kept) {
                *all += more;
            }
            found.extend(part.found.into_iter().map(|found| Found {
                flow: if found.flow == 0 { 0 } else { number(nth, found.flow) },
                moment: found.moment.renumbered(|flow| number(nth, flow)),
                ..found
            }));
        }
        // What is told at the same moment by several was told in their order.
        found.sort_by_key(|found| found.moment);
        let mut shown = [0; dissectors::kit::CODES];
        found.retain(|found| {
            let shown = &mut shown[found.rule.code.index()];
            *shown += 1;
            *shown <= KEPT
        });
        self.left_out = self.kept.iter().map(|kept| kept.saturating_sub(KEPT)).sum();
        self.found = found;
    }
}
