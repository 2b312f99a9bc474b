//! Several checkers of one capture, each of a share of its flows, and what they come to together.

use std::net::SocketAddr;

use dissectors::kit::{Fact, Span};
use dissectors::ledger::{Ledger, Listed, Review, Witness, listed};

use super::{Checker, Found, KEPT, Kept};
use crate::session::Moment;

/// What a flow shows that other flows have to do with.
#[derive(Clone, Copy, Debug)]
pub struct FlowFact {
    /// What.
    pub fact: Fact,
    /// The message that shows it, and what is known of its flow.
    pub witness: Witness,
    /// Where the servers of a list stand among those that wait with it, in bytes.
    servers: Span,
}

/// What is known across flows: judged here, or waiting to be taken to where it is.
pub(super) struct Across {
    ledger: Option<Box<Ledger>>,
    waiting: Vec<(Moment, FlowFact)>,
    /// The listed servers of what waits, and those that the next fact tells of.
    servers: Vec<u8>,
    /// Where these begin.
    next: usize,
}

impl Across {
    /// Judged, where there is a ledger.
    pub(super) fn new(ledger: Option<Ledger>) -> Across {
        let ledger = ledger.map(Box::new);
        Across { ledger, waiting: Vec::new(), servers: Vec::new(), next: 0 }
    }

    #[inline]
    pub(super) fn listed(&mut self, server: SocketAddr) {
        self.servers.extend_from_slice(&listed(server));
    }

    #[inline]
    pub(super) fn fact(&mut self, moment: Moment, fact: Fact, witness: Witness) {
        let servers = match fact {
            Fact::Listed => Span::new(self.next, self.servers.len()),
            _ => Span::default(),
        };
        match &mut self.ledger {
            Some(ledger) => {
                ledger.fact(fact, lists(&self.servers, servers), &witness);
                self.servers.clear();
            }
            None => self.waiting.push((moment, FlowFact { fact, witness, servers })),
        }
        self.next = self.servers.len();
    }

    pub(super) fn review(&mut self) -> Option<Review> {
        Some(self.ledger.take()?.review())
    }
}

fn lists(servers: &[u8], at: Span) -> &[Listed] {
    let servers = servers.get(at.start as usize..at.end as usize).unwrap_or_default();
    servers.as_chunks().0
}

impl Checker {
    /// A checker of a share of the flows. Its facts are to be taken, in the order of the capture, to
    /// the checker that joins all parts in the end.
    pub fn part(&self) -> Checker {
        Checker { across: Across::new(None), ..Checker::new(self.selection.clone(), 0) }
    }

    /// How many bytes the facts take that wait in a part.
    pub fn waiting(&self) -> usize {
        self.across.waiting.len() * size_of::<FlowFact>() + self.across.servers.len()
    }

    /// Takes the facts that wait in a part, with the moments at which they were told, and the
    /// listed servers that they tell of. Gives it empty lists for those that follow.
    pub fn exchange_facts(&mut self, facts: &mut Vec<(Moment, FlowFact)>, servers: &mut Vec<u8>) {
        std::mem::swap(&mut self.across.waiting, facts);
        std::mem::swap(&mut self.across.servers, servers);
        self.across.next = 0;
    }

    /// Judges a fact of a part, whose flow has its number in the whole capture. `servers`: those
    /// that were taken with it.
    pub fn hear(&mut self, told: &FlowFact, witness: &Witness, servers: &[u8]) {
        if let Some(ledger) = &mut self.across.ledger {
            ledger.fact(told.fact, lists(servers, told.servers), witness);
        }
    }

    /// Takes over what all parts counted and found; `number` says which number a part's flow has in
    /// the whole capture. What comes out is what one checker would have found.
    pub fn join(&mut self, parts: Vec<Checker>, number: impl Fn(usize, u32) -> u32) {
        let last = parts.iter().filter_map(|part| part.scene).max_by_key(|scene| scene.moment);
        self.scene = last.or(self.scene);
        // In the room of the first part's: they may be many.
        let mut found: Vec<Found> = Vec::new();
        for (nth, part) in parts.into_iter().enumerate() {
            self.judge.add(&part.judge);
            self.messages += part.messages;
            self.cut |= part.cut;
            for (all, more) in self.others.iter_mut().zip(&*part.others) {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            }
            for (all, more) in self.kept.iter_mut().zip(&*part.kept) {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            }
            let mut of_part = part.found;
            for found in &mut of_part {
                found.flow = if found.flow == 0 { 0 } else { number(nth, found.flow) };
                found.moment = found.moment.renumbered(|flow| number(nth, flow));
            }
            if found.is_empty() {
                found = of_part;
            } else {
                found.append(&mut of_part);
            }
        }
        // What is told at the same moment by several was told in their order.
        found.sort_by_cached_key(|found| found.moment);
        let mut shown = [Kept::default(); dissectors::kit::CODES];
        found.retain(|found| {
            let shown = &mut shown[found.rule.code.index()][found.verdict as usize];
            *shown += 1;
            *shown <= KEPT
        });
        self.left_out = self.kept.iter().flatten().map(|kept| kept.saturating_sub(KEPT)).sum();
        self.found = found;
    }
}
