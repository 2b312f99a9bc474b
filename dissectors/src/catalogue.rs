//! All rules, in the order of their codes: what listings, reports and tests are made from.

use crate::Id;
use crate::kit::Rule;
use crate::net_rules;

/// Every rule, by code.
pub fn rules() -> Vec<&'static Rule> {
    let protocols = Id::ALL.iter().flat_map(|id| id.info().rules.iter().copied());
    let mut rules: Vec<_> = protocols.chain(net_rules::ALL.iter().copied()).collect();
    rules.sort_by_key(|rule| rule.code);
    rules
}

/// The rule with this code or this slug, in either case.
pub fn rule(name: &str) -> Option<&'static Rule> {
    let named = |rule: &&Rule| {
        rule.code.to_string().eq_ignore_ascii_case(name) || rule.slug.eq_ignore_ascii_case(name)
    };
    rules().into_iter().find(named)
}

/// See [`Rule::asks_for_answer`].
pub fn asks_for_answer(rule: &Rule) -> bool {
    rule.asks_for_answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_slugs_are_unique() {
        let rules = rules();
        assert!(rules.windows(2).all(|pair| pair[0].code < pair[1].code));
        let mut slugs: Vec<_> = rules.iter().map(|rule| (rule.code.group(), rule.slug)).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), rules.len());
    }

    #[test]
    fn rules_are_found_by_code_and_by_slug() {
        assert_eq!(rule("a2s030").map(|rule| rule.slug), Some("player-count"));
        assert_eq!(rule("player-count").map(|rule| rule.code.to_string()), Some("A2S030".into()));
        assert!(rule("A2S999").is_none());
    }
}
