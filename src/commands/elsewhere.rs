//! Parts of split responses from servers that were not asked: where they complete another server's
//! response, nothing is missing. `check` knows this at the end of a capture; output that is written
//! while packets come needs it before.

use std::collections::VecDeque;
use std::net::SocketAddr;

use dissectors::kit::{CrossFlowEvent, Exchange, Finding, Rule, SeenMessage, Time};

use crate::session::CrossFlow;

/// Maximum number of stray parts that are remembered.
const PARTS: usize = 256;

/// The latest stray parts, and the finding that they explain.
#[derive(Default)]
pub(super) struct StrayParts {
    latest: VecDeque<StrayPart>,
    /// The packet of a message and the rule that it does not break.
    explained: Option<(u64, &'static Rule)>,
}

struct StrayPart {
    client: SocketAddr,
    id: u32,
    time: Time,
}

impl StrayParts {
    /// Remembers a stray part, or searches those that a response lacks.
    pub(super) fn event(&mut self, it: &CrossFlow<'_>) {
        let seen = it.basis.seen;
        match it.event {
            CrossFlowEvent::StrayPart(id) => {
                if self.latest.len() >= PARTS {
                    self.latest.pop_front();
                }
                self.latest.push_back(StrayPart { client: seen.to, id, time: seen.mark.time });
            }
            CrossFlowEvent::Unanswered(exchange) if self.complete(&exchange, &seen) => {
                self.explained = Some((seen.mark.frame, exchange.rules.answered));
            }
            _ => {}
        }
    }

    /// Whether stray parts complete the response that this client got a part of.
    fn complete(&self, exchange: &Exchange, seen: &SeenMessage) -> bool {
        let (Some(parts), Some(id)) = (exchange.parts, exchange.id) else { return false };
        let timeout = seen.mark.time.since(exchange.began);
        let belongs = |it: &&StrayPart| {
            let apart = it.time.since(seen.mark.time).saturating_abs();
            it.client == seen.from && it.id == id && apart <= timeout
        };
        let strays = self.latest.iter().filter(belongs).count();
        strays > 0 && usize::from(parts.found) + strays >= usize::from(parts.total)
    }

    /// The findings of the message in this packet without the one that stray parts explain.
    pub(super) fn certain<'f>(
        &mut self,
        frame: u64,
        findings: &'f [Finding],
        room: &'f mut Vec<Finding>,
    ) -> &'f [Finding] {
        let Some((_, rule)) = self.explained.take_if(|(of, _)| *of == frame) else {
            return findings;
        };
        room.extend(findings.iter().filter(|it| it.rule.code != rule.code).cloned());
        room
    }
}
