//! Requests that are wrong by what came before them: something of that may be missing, and what follows shows it.

use std::net::SocketAddr;

use dissectors::kit::{Finding, NeededEvidence};

use super::exchange_log::Exchange;
use super::fact::Failure;
use super::find_or_add::keep_latest;

/// Maximum number of each kind.
const KEPT: usize = 8;

/// The requests of a client that seem to be wrong.
#[derive(Debug, Default)]
pub(super) struct UnprovenFaults {
    /// Those that may be answered.
    waiting: Vec<Unproven>,
    /// Those that were not, with the packet of each.
    unanswered: Vec<Failure>,
    /// In this packet, the client had done several times in a row what it should do.
    mended: u64,
}

/// One of them.
#[derive(Debug)]
struct Unproven {
    ends: [SocketAddr; 2],
    /// The key of its exchange.
    key: &'static str,
    why: Failure,
}

/// Whether something that is missing before a request may explain why it seems to be wrong.
pub(super) fn is_unproven(finding: &Finding) -> bool {
    finding.rule.needs == NeededEvidence::Beginning
}

impl UnprovenFaults {
    /// A request between these two, in an exchange with this key, seems to be wrong.
    pub(super) fn seen(&mut self, ends: [SocketAddr; 2], key: &'static str, why: Failure) {
        keep_latest(&mut self.waiting, KEPT, Unproven { ends, key, why });
    }

    /// An exchange has ended: what the server answers is right. Returns how many wrong requests are in it.
    pub(super) fn ended(&mut self, exchange: &Exchange) -> u64 {
        let request = &exchange.request;
        let is_of = |it: &mut Unproven| {
            it.ends == [request.client, request.server]
                && it.key == request.key()
                && it.why.frame >= request.frame
        };
        let mut wrong = 0;
        for Unproven { why, .. } in self.waiting.extract_if(.., is_of) {
            if !exchange.is_answered {
                keep_latest(&mut self.unanswered, KEPT, why);
                wrong += 1;
            }
        }
        wrong
    }

    /// The client has done several times in a row what it should do.
    pub(super) fn mended(&mut self, frame: u64) {
        self.mended = frame;
    }

    /// The requests that were wrong, and are since.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Failure> + use<> {
        let mended = self.mended;
        let unanswered = std::mem::take(&mut self.unanswered);
        unanswered.into_iter().filter(move |why| why.frame > mended)
    }
}
