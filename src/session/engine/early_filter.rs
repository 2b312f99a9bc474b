//! Finds messages that a display filter rejects before fields are read.
//!
//! It is called for every message, so results for a flow or a kind of message are cached.

use dissectors::Id;
use dissectors::kit::Message;

use crate::filter::Filter;
use crate::session::FlowContext;

/// Number of cached results for flows.
const FLOWS: usize = 1 << 12;

/// A filter with cached results.
pub(super) struct EarlyFilter {
    pub(super) filter: Filter,
    /// By the flow's number modulo the size of the cache; 0: empty.
    flows: Box<[(u32, bool)]>,
    /// By protocol and message, for a filter that needs nothing else before fields are read.
    kinds: Vec<(Option<Id>, Option<&'static Message>, bool)>,
}

impl EarlyFilter {
    pub(super) fn new(filter: Filter) -> EarlyFilter {
        let flows = if filter.needs_ends() { FLOWS } else { 0 };
        EarlyFilter { filter, flows: vec![(0, false); flows].into(), kinds: Vec::new() }
    }

    /// Whether it rejects all messages of a flow, or this one.
    #[inline]
    pub(super) fn rules_out(
        &mut self,
        context: &FlowContext,
        message: Option<&'static Message>,
    ) -> bool {
        if !self.filter.needs_ends() {
            return self.rules_out_kind(context, message);
        }
        let number = context.flow.number;
        // Several flows may have the last number.
        let has_own_number = number > 0 && number < u32::MAX && context.protocol.is_some();
        if message.is_some() || !has_own_number {
            return self.decide(context, message);
        }
        let at = number as usize % FLOWS;
        if let Some(&(same, is_ruled_out)) = self.flows.get(at).filter(|it| it.0 == number) {
            debug_assert_eq!((same, is_ruled_out), (number, self.decide(context, None)));
            return is_ruled_out;
        }
        let is_ruled_out = self.decide(context, None);
        if let Some(flow) = self.flows.get_mut(at) {
            *flow = (number, is_ruled_out);
        }
        is_ruled_out
    }

    #[inline]
    fn rules_out_kind(&mut self, context: &FlowContext, message: Option<&'static Message>) -> bool {
        let name = |message: Option<&'static Message>| message.map(std::ptr::from_ref);
        let is_same = |it: &&(Option<Id>, Option<&'static Message>, bool)| {
            it.0 == context.protocol && name(it.1) == name(message)
        };
        if let Some(&(.., is_ruled_out)) = self.kinds.iter().find(is_same) {
            return is_ruled_out;
        }
        let is_ruled_out = self.decide(context, message);
        self.kinds.push((context.protocol, message, is_ruled_out));
        is_ruled_out
    }

    fn decide(&self, context: &FlowContext, message: Option<&'static Message>) -> bool {
        self.filter.decide(context.protocol, message, &context.flow) == Some(false)
    }
}
