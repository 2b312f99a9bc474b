//! Which requests of a ladder belong to one exchange, and which of these were not answered: as the session counts them.

use dissectors::kit::{Map, Payload, Reply, Sending};

use super::{Ladder, STEPS};
use crate::session::{ExchangeEffect, UnansweredRequest};

/// The exchanges of the current capture that have a request with an arrow.
#[derive(Default)]
pub(super) struct LadderExchanges {
    all: Vec<LadderExchange>,
    /// The exchanges of requests without an arrow, by packet.
    undrawn: Map<u64, usize>,
    /// The packets of arrows that were reported as requests without an answer, and whether that is certain.
    silent: Map<u64, bool>,
}

/// A request with its repeats and its challenge round.
struct LadderExchange {
    /// The arrow of its latest request, or of the one that was reported as unanswered.
    request: usize,
    is_answered: bool,
    /// Whether it is certain that it was not answered.
    is_certain: bool,
}

impl LadderExchanges {
    /// An exchange begins, or goes on, with the request of this arrow.
    pub(super) fn asks(&mut self, earlier: Option<usize>, step: usize) -> usize {
        match earlier.and_then(|at| Some((at, self.all.get_mut(at)?))) {
            Some((at, exchange)) => {
                exchange.request = step;
                at
            }
            None => {
                let began = LadderExchange { request: step, is_answered: false, is_certain: true };
                self.all.push(began);
                self.all.len() - 1
            }
        }
    }

    fn answered(&mut self, at: Option<usize>, is_answered: bool) {
        if let Some(exchange) = at.and_then(|at| self.all.get_mut(at)) {
            exchange.is_answered = is_answered;
        }
    }
}

impl Ladder {
    /// A message without an arrow, which may answer a request that has one, or continue its exchange.
    pub fn undrawn(
        &mut self,
        effect: ExchangeEffect,
        sending: Sending,
        reply: Option<&Reply>,
        of: &Payload<'_>,
    ) {
        let exchange = self.exchange(effect, sending, reply, of);
        if let Some(exchange) = exchange.filter(|_| self.exchanges.undrawn.len() < STEPS) {
            self.exchanges.undrawn.insert(of.frame, exchange);
        }
    }

    /// Records the effect of a message on the exchange that it answers or continues. Returns the one that it continues.
    pub(super) fn exchange(
        &mut self,
        effect: ExchangeEffect,
        sending: Sending,
        reply: Option<&Reply>,
        of: &Payload<'_>,
    ) -> Option<usize> {
        if let Some(reply) = reply {
            let request = self.open_request(reply.request);
            let request = request.and_then(|at| self.steps.get_mut(at));
            let own = request.and_then(|request| {
                request.response = Some((of.frame, effect.answers));
                request.exchange
            });
            if effect.answers {
                let exchange = own.or_else(|| self.exchange_of(reply.request));
                self.exchanges.answered(exchange, true);
            }
        }
        let earlier = sending.earlier()?;
        let exchange = self.exchange_of(earlier);
        if effect.reopens {
            self.exchanges.answered(exchange, false);
            let request = self.step_of(earlier).and_then(|at| self.steps.get_mut(at));
            if let Some((_, answers)) = request.and_then(|request| request.response.as_mut()) {
                *answers = false;
            }
        }
        exchange
    }

    /// The arrow of the latest message of the current capture that this packet completed.
    pub(super) fn step_of(&self, frame: u64) -> Option<usize> {
        self.by_frame.get(&frame).copied().filter(|at| *at >= self.first)
    }

    /// The exchange of the request in this packet.
    fn exchange_of(&self, frame: u64) -> Option<usize> {
        let drawn = self.step_of(frame).and_then(|at| self.steps.get(at)?.exchange);
        drawn.or_else(|| self.exchanges.undrawn.get(&frame).copied())
    }

    /// The index of the first request in this packet that is not answered so far: a segment may have several.
    fn open_request(&self, frame: u64) -> Option<usize> {
        let latest = self.step_of(frame)?;
        let of_packet = self.steps.get(..=latest)?.iter().enumerate().rev();
        let of_packet = of_packet.take_while(|(_, step)| step.frame == frame);
        of_packet.filter(|(_, step)| step.is_open()).last().map(|(at, _)| at)
    }

    /// A request was not answered, as a finding says.
    pub fn unanswered(&mut self, request: &UnansweredRequest) {
        // Of those without an arrow there may be many.
        if self.step_of(request.frame).is_some() {
            self.exchanges.silent.insert(request.frame, request.is_certain);
        }
    }

    /// The capture has ended: the exchanges without an answer are known. Each has its mark at the request that a finding
    /// names, or else at its latest one. Some may still have been answered after the end.
    pub fn settle(&mut self) {
        let LadderExchanges { mut all, silent, .. } = std::mem::take(&mut self.exchanges);
        for (at, step) in self.steps.iter().enumerate().skip(self.first) {
            if let Some(&is_certain) = silent.get(&step.frame).filter(|_| step.is_open())
                && let Some(exchange) = step.exchange.and_then(|at| all.get_mut(at))
            {
                (exchange.request, exchange.is_certain) = (at, is_certain);
            }
        }
        for exchange in all.iter().filter(|exchange| !exchange.is_answered) {
            if let Some(request) = self.steps.get_mut(exchange.request) {
                request.unanswered = Some(exchange.is_certain);
            }
        }
        self.first = self.steps.len();
    }
}
