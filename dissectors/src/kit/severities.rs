//! Severities of rules that the user has changed.

use std::collections::BTreeMap;

use crate::kit::{Code, Rule, Severity};

/// Severities that the user has changed, by rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Severities(BTreeMap<Code, Severity>);

impl Severities {
    /// Sets the severity of a breach of the rule.
    pub fn set(&mut self, rule: &Rule, severity: Severity) {
        if severity == rule.severity {
            self.0.remove(&rule.code);
        } else {
            self.0.insert(rule.code, severity);
        }
    }

    /// The severity of a breach of the rule.
    pub fn of(&self, rule: &Rule) -> Severity {
        self.0.get(&rule.code).copied().unwrap_or(rule.severity)
    }

    /// The rules whose severity was changed, with the new one.
    pub fn changed(&self) -> impl Iterator<Item = (Code, Severity)> {
        self.0.iter().map(|(&code, &severity)| (code, severity))
    }
}
