//! Conversations grouped by the pair of hosts that have them.

use std::collections::HashMap;

use dissectors::kit::sorted;
use roaring::RoaringBitmap;

use super::model::Model;
use super::tabs::{self, ShownRow};
use crate::check::weight;
use crate::report::TimeStyle;
use crate::rows::ConversationRow;
use crate::text::counted;

/// The conversations of two hosts.
pub(super) struct PairRow {
    /// Their numbers.
    pub(super) numbers: RoaringBitmap,
    pub(super) shown: ShownRow,
}

/// What the conversations of two hosts have together, in the form of the first one.
struct Together {
    numbers: RoaringBitmap,
    sum: ConversationRow,
    has_several_protocols: bool,
}

impl Together {
    fn of(first: ConversationRow) -> Together {
        Together { numbers: [first.number].into(), sum: first, has_several_protocols: false }
    }

    fn add(&mut self, it: &ConversationRow) {
        let sum = &mut self.sum;
        self.numbers.insert(it.number);
        self.has_several_protocols |= it.protocol != sum.protocol;
        sum.start = sum.start.min(it.start);
        sum.messages = sum.messages.saturating_add(it.messages);
        sum.exchanges.add(it.exchanges);
        sum.slowest = sum.slowest.max(it.slowest);
        sum.findings = sum.findings.saturating_add(it.findings);
        let heavy =
            |worst: Option<_>| worst.map_or(0, |(severity, verdict)| weight(severity, verdict));
        if heavy(it.worst) > heavy(sum.worst) {
            sum.worst = it.worst;
        }
    }

    fn row(self, model: &Model, time: TimeStyle) -> PairRow {
        let mut shown = tabs::conversation(&self.sum, None, model, time);
        let [a, b] = self.sum.ends.map(|end| end.ip().to_string());
        let count = counted(self.numbers.len(), "conversation");
        let messages = counted(self.sum.messages.into(), "message");
        shown.whole = format!("{a} and {b}: {count}, {messages}");
        for (heading, text) in [("FROM", a), ("TO", b), ("FIRST MESSAGE", count)] {
            shown.set(heading, text);
        }
        if self.has_several_protocols {
            shown.set("PROTOCOL", "several".to_owned());
        }
        PairRow { numbers: self.numbers, shown }
    }
}

/// The pairs of hosts of these conversations, in the order of their first ones.
pub(super) fn pairs(numbers: &[u32], model: &Model, time: TimeStyle) -> Vec<PairRow> {
    let (mut places, mut pairs) = (HashMap::new(), Vec::<Together>::new());
    for it in numbers.iter().filter_map(|number| model.index.get(*number)) {
        let at = *places.entry(sorted(it.ends.map(|end| end.ip()))).or_insert(pairs.len());
        match pairs.get_mut(at) {
            Some(pair) => pair.add(&it),
            None => pairs.push(Together::of(it)),
        }
    }
    pairs.into_iter().map(|pair| pair.row(model, time)).collect()
}
