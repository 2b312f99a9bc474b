//! How servers of a protocol are diagnosed: the conditions for players to see one, and the rules that
//! show which one is not met.

use crate::kit::{Cause, Item, Rule};

/// What a finding about a server means for its players.
#[derive(Clone, Copy, Debug)]
pub struct Symptom {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// A part of the finding's text; empty matches any. The first matching symptom counts.
    pub words: &'static str,
    /// Why the condition is not met.
    pub cause: &'static Cause,
    /// The condition that is not met, or that is doubtful: the first one of the cause.
    pub item: Item,
}

impl Symptom {
    /// Any finding of this rule.
    pub const fn of(rule: &'static Rule, cause: &'static Cause) -> Symptom {
        Symptom::saying(rule, "", cause)
    }

    /// A finding of this rule with these words.
    pub const fn saying(
        rule: &'static Rule,
        words: &'static str,
        cause: &'static Cause,
    ) -> Symptom {
        let (([item, ..], _) | ([], [item, ..])) = (cause.no, cause.unknown) else {
            panic!("a finding is about a condition")
        };
        Symptom { rule, words, cause, item: *item }
    }
}

/// How servers of a protocol are diagnosed.
#[derive(Clone, Copy, Debug)]
pub struct Diagnosis {
    /// The conditions.
    pub items: &'static [Item],
    /// The causes that only this protocol has.
    pub causes: &'static [&'static Cause],
    /// What shows that a condition is not met.
    pub symptoms: &'static [Symptom],
    /// The rule that proves that a response to a master's challenge is correct, if that needs a
    /// secret key. Without such a rule, a response that breaks no rule is correct.
    pub proof: Option<&'static Rule>,
    /// The rule that a master passes only if it has accepted the server.
    pub accepts: Option<&'static Rule>,
    /// Why a server is not accepted that breaks that rule again and again.
    pub rechallenged: Option<&'static Cause>,
    /// Why a server is not listed that keeps to its own network.
    pub lan_only: Option<&'static Cause>,
    /// Requests whose responses may be too large for a packet, each with how many players that takes.
    pub large: &'static [(&'static str, u64)],
    /// Requests that are one message with different keywords: the keywords, and the field with it.
    pub keywords: Option<(&'static str, &'static [&'static str])>,
    /// Each request begins with one for a challenge, and both are one exchange.
    pub challenge_first: bool,
    /// How the keys of players begin, before their numbers, in a description that lists players.
    pub player_keys: &'static [&'static str],
    /// The words of findings about responses that do not end, and the cause if none does.
    pub endless: Option<(&'static str, &'static Cause)>,
    /// The protocol in which these servers register: their own, another one, or none.
    pub registers: Option<&'static str>,
}

impl Diagnosis {
    /// No condition, and nothing special.
    pub const NONE: Diagnosis = Diagnosis {
        items: &[],
        causes: &[],
        symptoms: &[],
        proof: None,
        accepts: None,
        rechallenged: None,
        lan_only: None,
        large: &[],
        keywords: None,
        challenge_first: false,
        player_keys: &[],
        endless: None,
        registers: None,
    };
}
