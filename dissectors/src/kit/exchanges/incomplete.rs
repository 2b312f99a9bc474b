//! Responses in several parts of which some are missing.

use crate::kit::{
    CrossFlowEvent, Evidence, PartsFound, ResponseRules, SeenMessage, Sink, Span, Time, Unmatched,
};

/// A response of which not all parts came from the address that these came from: the others may have come from another one.
pub struct IncompleteResponse {
    /// The rules about it: that it comes from the address asked, and, with or without a request, that it is complete.
    pub rules: &'static ResponseRules,
    /// What all its parts have in common.
    pub id: u32,
    /// Those that came.
    pub parts: PartsFound,
    /// Their sender was asked.
    pub is_asked: bool,
    /// The first of them.
    pub first: SeenMessage,
    /// The evidence that no more came.
    pub evidence: Evidence,
}

impl IncompleteResponse {
    /// A bit of its own, besides those of requests.
    const KIND: u8 = 1 << 7;

    /// Reports it, unless the other parts came from another address. `timeout`: they may come so many nanoseconds before, or
    /// after, in any order.
    pub fn report<S: Sink>(self, timeout: i64, sink: &mut S) {
        let IncompleteResponse { rules, id, parts, is_asked, first, evidence } = self;
        let began = Time(first.mark.time.0.saturating_sub(timeout));
        let name = "a part of a split answer";
        let unmatched = Unmatched::new(rules, name, Self::KIND, began, evidence);
        let unmatched = Unmatched { id: Some(id), parts: Some(parts), ..unmatched };
        let (event, seen) = if is_asked {
            let seen = SeenMessage { from: first.to, to: first.from, ..first };
            (CrossFlowEvent::Unanswered(unmatched), seen)
        } else {
            (CrossFlowEvent::Unasked(unmatched), first)
        };
        let at = Some(Span::default());
        sink.unless_explained(rules.answered, at, event, seen, || parts.to_string());
    }
}
