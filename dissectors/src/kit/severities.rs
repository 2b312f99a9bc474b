//! What rules weigh where the user says otherwise.

use std::collections::BTreeMap;

use crate::kit::{Code, Rule, Severity};

/// Severities that the user has changed, by rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Severities(BTreeMap<Code, Severity>);

impl Severities {
    /// From now on, a breach of the rule weighs so much.
    pub fn set(&mut self, rule: &Rule, severity: Severity) {
        if severity == rule.severity {
            self.0.remove(&rule.code);
        } else {
            self.0.insert(rule.code, severity);
        }
    }

    /// How much a breach of the rule weighs.
    pub fn of(&self, rule: &Rule) -> Severity {
        self.0.get(&rule.code).copied().unwrap_or(rule.severity)
    }

    /// The rules that do not weigh what the catalogue says, and what they weigh instead.
    pub fn changed(&self) -> impl Iterator<Item = (Code, Severity)> {
        self.0.iter().map(|(&code, &severity)| (code, severity))
    }
}
