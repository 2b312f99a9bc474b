//! Challenges that masters hand out: whether each is new.

use super::{Basis, Ledger, MINUTE};
use crate::kit::{NewFor, Role, Rule, SeenMessage, TRANSLATED_WITHIN, is_private};

impl Ledger {
    /// A master gives a server this challenge.
    pub(super) fn handed_out(
        &mut self,
        challenge: [u8; 16],
        rule: &'static Rule,
        new_for: NewFor,
        basis: Basis,
    ) {
        let SeenMessage { from, to, mark } = basis.seen;
        let challenge = (from.ip(), challenge);
        if !self.has_room(self.handed_out.len(), |it| it.handed_out.contains_key(&challenge)) {
            return;
        }
        let before = self.handed_out.insert(challenge, (to, mark.time));
        let is_new = before.is_none_or(|(other, time)| {
            let since = mark.time.since(time);
            // One datagram, recorded before and behind NAT.
            let is_translated =
                is_private(other.ip()) != is_private(to.ip()) && since <= TRANSLATED_WITHIN;
            match new_for {
                NewFor::All => false,
                _ if is_translated => true,
                NewFor::OtherHosts => other.ip() == to.ip() || since > MINUTE,
                NewFor::OtherSockets => other == to || since > MINUTE,
            }
        });
        let detail = || match (new_for, before) {
            (NewFor::OtherHosts | NewFor::OtherSockets, Some((other, _))) => {
                format!("{other} was given the same challenge")
            }
            _ => "this challenge was given before".to_owned(),
        };
        self.rule(rule, is_new, basis, Role::Master, detail);
    }
}
