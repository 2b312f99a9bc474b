//! Responses from servers that were not asked, and parts of split ones: where they answer another server's request, or
//! complete its response, nothing is missing. `check` knows this at the end of a capture; output that is written while
//! packets come needs it before.

use std::collections::VecDeque;
use std::net::SocketAddr;

use dissectors::kit::{CrossFlowEvent, Finding, Rule, SeenMessage, Time, Unmatched};

use crate::session::{CrossFlow, UnansweredRequest};

/// Maximum number of parts, and of responses, that are remembered.
const MOST: usize = 256;

/// The latest of them, and what they explain.
#[derive(Default)]
pub(super) struct Elsewhere {
    parts: VecDeque<StrayPart>,
    responses: VecDeque<(SocketAddr, Unmatched)>,
    /// The packet of a message and the rule that it does not break.
    explained: Option<(u64, &'static Rule)>,
    /// The packet of a request that another server may have answered.
    answered: Option<u64>,
}

struct StrayPart {
    client: SocketAddr,
    id: u32,
    time: Time,
}

impl Elsewhere {
    /// Remembers a part or a response, or searches what a response or a request lacks.
    pub(super) fn event(&mut self, it: &CrossFlow<'_>) {
        let seen = it.basis.seen;
        match it.event {
            CrossFlowEvent::StrayPart(id) => {
                let part = StrayPart { client: seen.to, id, time: seen.mark.time };
                keep(&mut self.parts, part);
            }
            CrossFlowEvent::Unasked(unmatched) if unmatched.parts.is_none() => {
                keep(&mut self.responses, (seen.to, unmatched));
            }
            CrossFlowEvent::Unanswered(unmatched) if self.complete(&unmatched, &seen) => {
                self.explained = Some((seen.mark.frame, unmatched.rules.answered));
            }
            CrossFlowEvent::Unanswered(unmatched) if self.answer(&unmatched, &seen) => {
                self.answered = Some(seen.mark.frame);
            }
            _ => {}
        }
    }

    /// Whether stray parts complete the response that this client got a part of.
    fn complete(&self, unmatched: &Unmatched, seen: &SeenMessage) -> bool {
        let (Some(parts), Some(id)) = (unmatched.parts, unmatched.id) else { return false };
        let timeout = seen.mark.time.since(unmatched.began);
        let belongs = |it: &&StrayPart| {
            let apart = it.time.since(seen.mark.time).saturating_abs();
            it.client == seen.from && it.id == id && apart <= timeout
        };
        let strays = self.parts.iter().filter(belongs).count();
        strays > 0 && usize::from(parts.found) + strays >= usize::from(parts.total)
    }

    /// Whether another server sent the client a response to such a request after it, and thus perhaps to this one.
    fn answer(&self, asked: &Unmatched, seen: &SeenMessage) -> bool {
        let fits = |response: &Unmatched| {
            response.rules.from_asked == asked.rules.from_asked
                && response.kinds & asked.kinds != 0
                && response.id == asked.id
                && response.began >= asked.began
        };
        asked.parts.is_none()
            && self.responses.iter().any(|(client, it)| *client == seen.from && fits(it))
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
        room.extend(findings.iter().filter(|it| it.rule != rule).cloned());
        room
    }

    /// Whether another server may have answered a request that the asked one did not answer.
    pub(super) fn answers(&mut self, request: &UnansweredRequest) -> bool {
        self.answered.take_if(|frame| *frame == request.frame).is_some()
    }
}

/// Adds one, in place of the oldest if there are many.
fn keep<T>(latest: &mut VecDeque<T>, more: T) {
    if latest.len() >= MOST {
        latest.pop_front();
    }
    latest.push_back(more);
}
