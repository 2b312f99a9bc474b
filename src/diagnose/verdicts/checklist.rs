//! What a capture shows about the conditions of a party that is no server.

use std::borrow::Cow;

use dissectors::kit::{Item, Values, causes};

use super::{ItemVerdict, Met};
use crate::diagnose::facts::{Fact, FirstFrames};

/// The conditions of which something is known.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct Checklist(Vec<(Item, Fact)>);

impl Checklist {
    /// The state of a condition.
    pub(in crate::diagnose) fn fact(&mut self, item: Item) -> &mut Fact {
        let at = self.0.iter().position(|(known, _)| *known == item);
        let at = at.unwrap_or_else(|| {
            self.0.push((item, Fact::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// The condition is met, as this packet shows. That mends no failure.
    pub(in crate::diagnose) fn good(&mut self, item: Item, frame: u64) {
        let fact = self.fact(item);
        if fact.run == 0 {
            fact.good(frame);
        }
    }

    /// The same, which mends all failures before.
    pub(in crate::diagnose) fn good_again(&mut self, item: Item, frame: u64) {
        self.fact(item).good(frame);
    }

    /// Whether the condition was met.
    pub(in crate::diagnose) fn is_met(&mut self, item: Item) -> bool {
        let fact = self.fact(item);
        fact.good > 0 && fact.run == 0
    }

    /// The verdicts on these conditions.
    pub(in crate::diagnose) fn verdicts(&mut self, items: &[Item]) -> Vec<ItemVerdict> {
        items.iter().map(|item| verdict(*item, self.fact(*item))).collect()
    }
}

/// A condition is not met if it was not, and that is not mended: most of what a client or a master does wrong is not, by
/// what it does right.
fn verdict(item: Item, fact: &Fact) -> ItemVerdict {
    let of = |met, cause, frames, text: Cow<'static, str>, values: Values| ItemVerdict {
        met,
        cause,
        frames,
        text,
        values,
        ..ItemVerdict::new(item)
    };
    if let Some(failure) = fact.failure(false) {
        let (text, values) = (failure.text.clone().into(), failure.values.clone());
        let mut verdict = of(Met::No, Some(failure.cause), fact.failed(), text, values);
        verdict.has_more = fact.run > verdict.frames.len() as u64;
        return verdict;
    }
    if fact.good > 0 {
        let mut verdict = of(Met::Yes, None, fact.shown, Cow::default(), Values::new());
        verdict.has_more = fact.good > fact.shown.len() as u64;
        return verdict;
    }
    match &fact.open {
        Some(open) => {
            let frames = FirstFrames::from_iter([open.frame]);
            let (text, values) = (open.text.clone().into(), open.values.clone());
            of(Met::Unknown, Some(open.cause), frames, text, values)
        }
        None => {
            let (cause, frames) = (Some(&causes::NOT_IN_CAPTURE), FirstFrames::default());
            of(Met::Unknown, cause, frames, "not in this capture".into(), Values::new())
        }
    }
}
