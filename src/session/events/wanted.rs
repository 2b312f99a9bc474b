//! Applies a display filter to a reported message.

use dissectors::kit::Verdict;

use crate::filter::{Filter, Subject};
use crate::session::MessageEvent;

impl MessageEvent<'_> {
    /// Whether a display filter selects it.
    pub fn is_wanted(&self, filter: &Filter) -> bool {
        let (payload, context, checked) = (self.payload(), self.context(), self.checked());
        filter.matches(&Subject {
            protocol: context.protocol,
            message: Some(self.message()),
            payload: &payload,
            tree: self.tree(),
            reply: self.reply(),
            copy_of: context.copy_of,
            broken: &|see| {
                let broken = checked.findings.iter();
                let certain = broken.filter(|it| it.verdict != Verdict::Inconclusive);
                certain.for_each(|it| see(it.rule, it.severity));
                checked.left_out.iter().for_each(|it| see(it.rule, it.rule.severity));
            },
        })
    }
}
