//! Requests of a flow, which are only stored if rows of flows are needed.

use dissectors::kit::{Habit, Habits, Message, Payload, Purpose, Reply, Role, Sending};

use super::per_flow::PerFlowValue;

/// The exchanges of a flow. In a flood there are millions of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Exchanges: requests with their repeats and challenges.
    pub exchanges: u32,
    /// Those that were answered.
    pub answered: u32,
    /// The packets of the latest requests that were answered, by the lower halves of their numbers.
    answered_latest: [u32; 2],
    /// The latest of these was answered only by a challenge.
    by_challenge: bool,
    /// The first messages of its client, which identify its library.
    habits: Habits,
    /// Its client requested a list.
    pub for_lists: bool,
    /// Its client sent other requests.
    pub for_others: bool,
}

impl PerFlowValue for Asked {}

impl Asked {
    /// Counts a message, if it is a request or a response.
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
            // The latest challenge was not all that was requested.
            self.answered = self.answered.saturating_sub(1);
        }
        if let Some(reply) = reply.filter(|reply| reply.challenge_alone) {
            self.by_challenge = self.answers(reply.request);
        }
        // A challenge that is only required for the request does not answer it.
        if let Some(reply) = reply.filter(|reply| reply.complete && purpose.ends_exchange()) {
            self.answers(reply.request);
        }
    }

    /// A response to the request in this packet: the first one answers the exchange. If no exchange is open, it
    /// is ignored: some servers respond to their master's check in the same way as to queries. Returns whether
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

    /// Its client sends a message. Returns the library if this message identifies it.
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
    fn exchanges_of_a_flow_take_little_memory() {
        assert!(size_of::<Asked>() <= 24);
    }

    #[test]
    fn an_exchange_is_answered_once_and_only_if_one_is_open() {
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
