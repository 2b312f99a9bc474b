//! What was asked in a flow: kept of each where somebody reads rows of flows.

use dissectors::kit::{Habit, Habits, Message, Payload, Purpose, Reply, Role, Sending};

use super::per_flow::PerFlowValue;

/// What was asked in a flow, and what came of it. In a flood there are millions of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Exchanges: requests with the challenge rounds that they took.
    pub exchanges: u32,
    /// Those that brought what was asked for.
    pub answered: u32,
    /// The packets of the latest requests that were answered, by the lower halves of their numbers.
    answered_latest: [u32; 2],
    /// The latest of these was answered by a challenge alone.
    by_challenge: bool,
    /// What its client sent first.
    habits: Habits,
    /// Its client asked for a list.
    pub for_lists: bool,
    /// Its client asked for something else.
    pub for_others: bool,
}

impl PerFlowValue for Asked {}

impl Asked {
    /// A message asks, or answers, or neither.
    #[inline]
    pub fn message(&mut self, message: &Message, sending: Sending, reply: Option<&Reply>) {
        let purpose = message.purpose;
        if sending == Sending::New && purpose.begins_exchange() {
            self.exchanges = self.exchanges.saturating_add(1);
        }
        if message.speaker == Role::Client {
            let is_for_list = purpose == Purpose::ListRequest;
            self.for_lists |= is_for_list;
            self.for_others |= !is_for_list;
        }
        if sending == Sending::GoesOn && std::mem::take(&mut self.by_challenge) {
            // The latest challenge was not all that was asked for.
            self.answered = self.answered.saturating_sub(1);
        }
        if let Some(reply) = reply.filter(|reply| reply.challenge_alone) {
            self.by_challenge = self.answers(reply.request);
        }
        // A challenge that a request must have first is not what was asked for.
        if let Some(reply) = reply.filter(|reply| reply.complete && purpose.ends_exchange()) {
            self.answers(reply.request);
        }
    }

    /// A response to what this packet asked for: the first one answers the exchange. Some servers answer
    /// their master's check as they answer queries: where no exchange is open, it is that. Returns whether
    /// it answered one.
    fn answers(&mut self, request: u64) -> bool {
        let (request, [latest, _]) = (request as u32, self.answered_latest);
        let is_open = self.answered < self.exchanges;
        let is_first = is_open && !self.answered_latest.contains(&request);
        if is_first {
            self.answered = self.answered.saturating_add(1);
            self.answered_latest = [request, latest];
            self.by_challenge = false;
        }
        is_first
    }

    /// Its client sends a message. Returns the library whose habit that completes.
    #[inline]
    pub fn library(
        &mut self,
        habits: &'static [Habit],
        sending: Sending,
        payload: &Payload<'_>,
    ) -> Option<&'static str> {
        if sending == Sending::Again || !self.habits.is_open() {
            return None;
        }
        self.habits.sends(habits, payload.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_in_a_flow_takes_little() {
        assert!(size_of::<Asked>() <= 24);
    }

    #[test]
    fn an_exchange_is_answered_once_and_only_where_one_is_open() {
        let mut asked = Asked::default();
        let mut answered = |exchanges: u32, request: u64| {
            asked.exchanges = exchanges;
            asked.answers(request);
            asked.answered
        };
        assert_eq!(answered(0, 1), 0);
        assert_eq!(answered(3, 1), 1);
        assert_eq!(answered(3, 1), 1);
        assert_eq!(answered(3, 2), 2);
        assert_eq!(answered(3, 1), 2);
        assert_eq!(answered(3, (1 << 32) + 7), 3);
        assert_eq!(answered(3, 9), 3);
    }
}
