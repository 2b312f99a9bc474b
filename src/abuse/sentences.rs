//! Attacks in a few words, for the headlines of other commands.

use std::collections::BTreeSet;

use super::{Attack, AttackKind};

/// What attacks do to their targets, a sentence each.
pub fn sentences(attacks: &[Attack]) -> Vec<String> {
    Vec::from_iter(BTreeSet::from_iter(attacks.iter().flat_map(Attack::sentences)))
}

impl Attack {
    fn sentences(&self) -> impl Iterator<Item = String> {
        let second = self.also.filter(|_| self.kind != AttackKind::Transit);
        let kinds = [Some(self.kind), second];
        kinds.into_iter().flatten().map(|kind| self.sentence(kind))
    }

    fn sentence(&self, kind: AttackKind) -> String {
        let host = self.target.ip();
        let (target, are) = match self.network {
            Some(bits) => (format!("{host}/{bits}"), "is"),
            None if self.targets.len() > 1 => {
                (format!("{} ports of {host}", self.targets.len()), "are")
            }
            None => (self.target.to_string(), "is"),
        };
        match kind {
            AttackKind::FloodedServer | AttackKind::FloodedMaster => {
                format!("{target} {are} flooded")
            }
            AttackKind::Reflector => format!("{target} {are} misused to flood others"),
            AttackKind::Victim => {
                let host = if self.network.is_some() { target } else { host.to_string() };
                format!("{host} gets many responses that it did not ask for")
            }
            AttackKind::Transit => format!("{target} {are} attacked across this link"),
            AttackKind::CrashAttempt => format!("{target} {are} sent what crashes servers"),
        }
    }
}
