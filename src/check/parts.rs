//! Several checkers of one capture, each of a share of its flows, and what they come to together.

use std::net::SocketAddr;

use dissectors::kit::{CrossFlowEvent, Span};
use dissectors::ledger::{Ledger, Listed, Loads, Review, Terms, Witness, listed};

use super::{Checker, Found, KEPT, Kept};
use crate::session::EventOrder;

/// What a part has to tell.
#[derive(Debug)]
pub struct Tidings(What);

#[derive(Debug)]
enum What {
    /// What a flow shows that other flows have to do with.
    CrossFlowEvent {
        fact: CrossFlowEvent,
        /// The message that shows it, and what is known of its flow.
        witness: Witness,
        /// Where the servers of a list stand among those that wait with it, in bytes.
        servers: Span,
    },
    /// Until it is heard.
    Found(Option<Box<Found>>),
}

/// What is to be known of all flows: facts that are judged, and findings that are kept, here, or wait
/// to be taken to where that is done.
pub(super) struct Across {
    /// None in a part: all that is told there waits.
    ledger: Option<Box<Ledger>>,
    waiting: Vec<(EventOrder, Tidings)>,
    /// How many findings are among them.
    findings: usize,
    /// The listed servers of what waits, and those that the next fact tells of.
    servers: Vec<u8>,
    /// Where these begin.
    next: usize,
}

impl Across {
    /// Judged and kept, where there is a ledger.
    pub(super) fn new(ledger: Option<Ledger>) -> Across {
        let ledger = ledger.map(Box::new);
        Across { ledger, waiting: Vec::new(), findings: 0, servers: Vec::new(), next: 0 }
    }

    #[inline]
    pub(super) fn listed(&mut self, server: SocketAddr) {
        self.servers.extend_from_slice(&listed(server));
    }

    #[inline]
    pub(super) fn fact(&mut self, moment: EventOrder, fact: CrossFlowEvent, witness: Witness) {
        let servers = match fact {
            CrossFlowEvent::Listed => Span::new(self.next, self.servers.len()),
            _ => Span::default(),
        };
        match &mut self.ledger {
            Some(ledger) => {
                ledger.fact(fact, lists(&self.servers, servers), &witness);
                self.servers.clear();
            }
            None => {
                let told = What::CrossFlowEvent { fact, witness, servers };
                self.waiting.push((moment, Tidings(told)));
            }
        }
        self.next = self.servers.len();
    }

    /// Gives a finding back that is to be kept here.
    pub(super) fn found(&mut self, moment: EventOrder, found: Found) -> Option<Found> {
        if self.ledger.is_some() {
            return Some(found);
        }
        self.findings += 1;
        self.waiting.push((moment, Tidings(What::Found(Some(Box::new(found))))));
        None
    }

    /// What the facts come to. An empty ledger stays: what it finds is kept here.
    pub(super) fn review(&mut self, terms: Terms, loads: Loads) -> Option<Review> {
        let ledger = self.ledger.as_deref_mut()?;
        Some(std::mem::replace(ledger, Ledger::new(terms)).review(loads))
    }
}

fn lists(servers: &[u8], at: Span) -> &[Listed] {
    let servers = servers.get(at.start as usize..at.end as usize).unwrap_or_default();
    servers.as_chunks().0
}

impl Checker {
    /// A checker of a share of the flows. What it tells is to be taken, in the order of the capture,
    /// to the checker that joins all parts in the end.
    pub fn part(&self) -> Checker {
        let requests = self.requests.like();
        let checker = Checker::new(self.selection.clone(), self.terms);
        Checker { across: Across::new(None), requests, ..checker }
    }

    /// How many bytes that takes which a part has to tell.
    pub fn waiting(&self) -> usize {
        let Across { waiting, findings, servers, .. } = &self.across;
        waiting.len() * size_of::<Tidings>() + findings * size_of::<Found>() + servers.len()
    }

    /// Takes what a part has to tell, with the moments at which it was told, and the listed servers
    /// that it tells of. Gives it empty lists for those that follow.
    pub fn exchange(&mut self, told: &mut Vec<(EventOrder, Tidings)>, servers: &mut Vec<u8>) {
        std::mem::swap(&mut self.across.waiting, told);
        std::mem::swap(&mut self.across.servers, servers);
        (self.across.findings, self.across.next) = (0, 0);
    }

    /// Takes over what a part told, once; `servers`: those that were taken with it. `number` says
    /// which number a flow of the part has in the whole capture.
    pub fn hear(&mut self, told: &mut Tidings, servers: &[u8], number: impl Fn(u32) -> u32) {
        match &mut told.0 {
            What::CrossFlowEvent { fact, witness, servers: at } => {
                let witness = Witness { flow: number(witness.flow), ..*witness };
                if let Some(ledger) = &mut self.across.ledger {
                    ledger.fact(*fact, lists(servers, *at), &witness);
                }
            }
            What::Found(found) => {
                if let Some(mut found) = found.take().filter(|found| self.has_room(found)) {
                    found.flow = number(found.flow);
                    self.found.push(*found);
                }
            }
        }
    }

    /// Takes over what all parts counted, when they have told everything. What comes out is what one
    /// checker would have found.
    pub fn join(&mut self, parts: Vec<Checker>) {
        let last = parts
            .iter()
            .filter_map(|part| part.flow_context)
            .max_by_key(|flow_context| flow_context.moment);
        self.flow_context = last.or(self.flow_context);
        // What was heard of is among what they counted.
        self.kept.fill(Kept::default());
        for part in parts {
            self.judge.add(&part.judge);
            self.loads.add(part.loads);
            self.messages += part.messages;
            self.requests.join(part.requests);
            self.traffic.join(part.traffic);
            self.parties.join(part.parties);
            self.cut |= part.cut;
            for (all, more) in self.others.iter_mut().zip(&*part.others) {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            }
            for (all, more) in self.kept.iter_mut().zip(&*part.kept) {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            }
        }
        self.left_out = self.kept.iter().flatten().map(|kept| kept.saturating_sub(KEPT)).sum();
    }
}
