//! Rules about what should have come before, in flows whose beginning is not in the capture.

use crate::kit::{Clock, Code, NeededEvidence, Rule, Time};

/// How many rounds in a row prove that what should have come before never comes.
const PROOF: usize = 3;

/// The rules of [`NeededEvidence::Beginning`] that a flow has broken in its latest rounds. Once may be because the capture
/// begins late; round after round is not.
#[derive(Debug, Default)]
pub struct Rounds(Vec<BrokenRounds>);

/// The latest rounds, which have all broken a rule.
#[derive(Debug)]
struct BrokenRounds {
    rule: Code,
    count: usize,
    latest: Time,
    /// What each round referred to, such as its challenge.
    numbers: [Option<u32>; PROOF],
}

impl BrokenRounds {
    /// Whether a breach belongs to another round: what comes soon after the latest one may have the same cause, and what
    /// was given before the capture may be used several times.
    fn is_another(&self, number: Option<u32>, clock: Clock) -> bool {
        let is_known = number.is_some() && self.numbers.contains(&number);
        !is_known && clock.is_over(self.latest)
    }
}

impl Rounds {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a breach that refers to this number is proven by those before it.
    pub fn prove(&self, rule: &Rule, number: Option<u32>, clock: Clock) -> bool {
        self.0.iter().find(|it| it.rule == rule.code).is_some_and(|it| {
            let count = it.count + usize::from(it.is_another(number, clock));
            count >= PROOF
        })
    }

    /// The rule was broken.
    pub fn broken(&mut self, rule: &Rule, number: Option<u32>, clock: Clock) {
        if rule.needs != NeededEvidence::Beginning {
            return;
        }
        let Some(it) = self.0.iter_mut().find(|it| it.rule == rule.code) else {
            let numbers = [number, None, None];
            self.0.push(BrokenRounds { rule: rule.code, count: 1, latest: clock.now, numbers });
            return;
        };
        if it.is_another(number, clock) {
            if let Some(place) = it.numbers.get_mut(it.count) {
                (*place, it.count) = (number, it.count + 1);
            }
            it.latest = clock.now;
        }
    }

    /// The rule was kept.
    pub fn kept(&mut self, rule: &Rule) {
        self.0.retain(|it| it.rule != rule.code);
    }

    /// Heap memory in bytes.
    pub fn held(&self) -> usize {
        crate::kit::room(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2s::rules::{A2S022, A2S023};

    fn clock(second: i64) -> Clock {
        Clock { now: Time(second * 1_000_000_000), timeout: 3_000_000_000 }
    }

    #[test]
    fn three_rounds_in_a_row_are_proof() {
        let mut rounds = Rounds::default();
        for (second, number, is_proof) in [
            (0, 1, false),
            (1, 2, false),
            (5, 1, false),
            (6, 3, false),
            (10, 3, false),
            (14, 4, true),
            (15, 4, true),
        ] {
            assert_eq!(rounds.prove(&A2S022, Some(number), clock(second)), is_proof, "{second}");
            rounds.broken(&A2S022, Some(number), clock(second));
        }
        rounds.kept(&A2S022);
        assert!(rounds.is_empty());
    }

    #[test]
    fn other_rules_need_no_beginning() {
        let mut rounds = Rounds::default();
        rounds.broken(&A2S023, None, clock(0));
        assert!(rounds.is_empty());
    }
}
