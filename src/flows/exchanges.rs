//! What counts as a request, and as answered: the exchanges of a flow. Every count of requests that is shown
//! comes from here.

use dissectors::kit::{Habit, Habits, Message, Payload, Purpose, Reply, Role, Sending, Transport};
use serde::{Deserialize, Serialize};

use super::per_flow::PerFlowValue;

/// A number of exchanges: requests, each with its repeats and its challenge round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeCounts {
    /// All of them.
    pub asked: u64,
    /// Those that received the requested data.
    pub answered: u64,
}

impl ExchangeCounts {
    /// Adds those of other flows or captures.
    pub fn add(&mut self, other: ExchangeCounts) {
        self.asked += other.asked;
        self.answered += other.answered;
    }

    /// Adds one.
    pub fn add_one(&mut self, is_answered: bool) {
        self.asked += 1;
        self.answered += u64::from(is_answered);
    }

    /// The number of those that did not receive it.
    pub fn missing(self) -> u64 {
        self.asked.saturating_sub(self.answered)
    }

    /// Adds the effect of a message.
    #[inline]
    pub fn message(&mut self, effect: ExchangeEffect) {
        self.asked += u64::from(effect.begins);
        self.answered =
            (self.answered + u64::from(effect.answers)).saturating_sub(u64::from(effect.reopens));
    }
}

/// The effect of a message on the exchanges of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeEffect {
    /// It is a request that begins one.
    pub begins: bool,
    /// It is the first response with the requested data.
    pub answers: bool,
    /// It is a request that continues the latest one: the challenge was not all that was requested.
    pub reopens: bool,
}

/// The exchanges of a flow that may still be answered. In a flood there are millions of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenExchanges {
    /// The packets of the latest requests that were answered, by the lower halves of their numbers.
    answered_latest: [u32; 2],
    /// Twice the number of exchanges that were not answered; odd: the latest answered one was answered only by
    /// a challenge.
    open: u32,
}

impl OpenExchanges {
    /// Counts a message, if it is a request or a response.
    #[inline]
    pub fn message(
        &mut self,
        message: &Message,
        sending: Sending,
        reply: Option<&Reply>,
        transport: Transport,
    ) -> ExchangeEffect {
        let purpose = message.purpose;
        let mut effect = ExchangeEffect::default();
        if sending == Sending::New && purpose.begins_exchange() {
            effect.begins = true;
            self.reopen();
        }
        // One may also continue a request whose challenge is not in the capture, which was not answered.
        let [latest, _] = self.answered_latest;
        if matches!(sending, Sending::GoesOn(before) if before as u32 == latest)
            && self.open & 1 > 0
        {
            effect.reopens = true;
            self.open -= 1;
            self.reopen();
        }
        if let Some(reply) = reply {
            // A challenge that is only required for the request does not answer it.
            let has_data = reply.complete && purpose.ends_exchange();
            if has_data || reply.challenge_alone {
                effect.answers = self.answers(reply, transport);
            }
        }
        effect
    }

    /// One more is open.
    #[inline]
    fn reopen(&mut self) {
        if self.open < u32::MAX - 1 {
            self.open += 2;
        }
    }

    /// A response: the first one answers the exchange. If no exchange is open, it is ignored: some servers
    /// respond to their master's check in the same way as to queries. Returns whether it answered one.
    fn answers(&mut self, reply: &Reply, transport: Transport) -> bool {
        let (request, [latest, _]) = (reply.request as u32, self.answered_latest);
        // One segment may have several requests, each with a response of its own.
        let is_again = transport == Transport::Udp && self.answered_latest.contains(&request);
        let is_first = self.open > 1 && !is_again;
        if is_first {
            self.answered_latest = [request, latest];
            self.open = ((self.open & !1) - 2) | u32::from(reply.challenge_alone);
        }
        is_first
    }
}

/// What rows of flows need of requests, besides their exchanges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Exchanges, and those that were answered.
    counts: [u32; 2],
    /// The first messages of its client, which identify its library.
    habits: Habits,
    /// Its client requested a list.
    pub for_lists: bool,
    /// Its client sent other requests.
    pub for_others: bool,
}

impl PerFlowValue for Asked {}

impl Asked {
    /// Counts a message with this effect.
    #[inline]
    pub fn message(&mut self, message: &Message, effect: ExchangeEffect) {
        let [asked, answered] = &mut self.counts;
        *asked = asked.saturating_add(effect.begins.into());
        *answered = answered.saturating_add(effect.answers.into());
        *answered = answered.saturating_sub(effect.reopens.into());
        if message.speaker == Role::Client {
            let is_for_list = message.purpose == Purpose::ListRequest;
            self.for_lists |= is_for_list;
            self.for_others |= !is_for_list;
        }
    }

    /// Its exchanges.
    pub fn counts(&self) -> ExchangeCounts {
        let [asked, answered] = self.counts.map(u64::from);
        ExchangeCounts { asked, answered }
    }

    /// Its client sends a message. Returns the library if this message identifies it.
    #[inline]
    pub fn library(
        &mut self,
        habits: &'static [Habit],
        sending: Sending,
        payload: &Payload<'_>,
    ) -> Option<&'static str> {
        if sending.is_again() || !self.habits.is_open() {
            return None;
        }
        self.habits.sends(habits, payload.bytes)
    }
}

#[cfg(test)]
mod tests {
    use dissectors::Id;
    use dissectors::kit::Time;

    use super::*;

    #[test]
    fn exchanges_of_a_flow_take_little_memory() {
        assert!(size_of::<OpenExchanges>() <= 12 && size_of::<Asked>() <= 16);
    }

    /// The message of a protocol with this purpose.
    fn message(purpose: Purpose) -> &'static Message {
        let all = Id::ALL.iter().flat_map(|id| id.info().messages);
        all.into_iter().find(|it| it.purpose == purpose).unwrap()
    }

    /// What is counted of requests and of the packets that responses answer.
    struct Counting(OpenExchanges, ExchangeCounts, Asked);

    impl Counting {
        fn new() -> Counting {
            Counting(OpenExchanges::default(), ExchangeCounts::default(), Asked::default())
        }

        fn see(&mut self, purpose: Purpose, sending: Sending, reply: Option<Reply>) -> [u64; 2] {
            let Counting(exchanges, counts, asked) = self;
            let effect =
                exchanges.message(message(purpose), sending, reply.as_ref(), Transport::Udp);
            counts.message(effect);
            asked.message(message(purpose), effect);
            assert_eq!(*counts, asked.counts());
            [counts.asked, counts.answered]
        }

        fn ask(&mut self, sending: Sending) -> [u64; 2] {
            self.see(Purpose::Query, sending, None)
        }

        fn answer(&mut self, request: u64) -> [u64; 2] {
            self.see(Purpose::Response, Sending::New, Some(Reply::to(request, Time(0))))
        }
    }

    #[test]
    fn an_exchange_is_answered_once_and_only_if_one_is_open() {
        let mut counting = Counting::new();
        assert_eq!(counting.answer(1), [0, 0]);
        (0..3).for_each(|_| _ = counting.ask(Sending::New));
        assert_eq!(counting.ask(Sending::Again(3)), [3, 0]);
        assert_eq!(counting.answer(1), [3, 1]);
        assert_eq!(counting.answer(1), [3, 1]);
        assert_eq!(counting.answer(2), [3, 2]);
        assert_eq!(counting.answer(1), [3, 2]);
        assert_eq!(counting.answer((1 << 32) + 7), [3, 3]);
        assert_eq!(counting.answer(9), [3, 3]);
    }

    #[test]
    fn requests_in_one_segment_are_answered_each() {
        let (mut exchanges, mut counts) = (OpenExchanges::default(), ExchangeCounts::default());
        let mut see = |purpose, reply: Option<Reply>| {
            let (message, reply) = (message(purpose), reply.as_ref());
            counts.message(exchanges.message(message, Sending::New, reply, Transport::Tcp));
            [counts.asked, counts.answered]
        };
        (0..2).for_each(|_| _ = see(Purpose::Query, None));
        let reply = Some(Reply::to(1, Time(0)));
        assert_eq!([(); 3].map(|()| see(Purpose::Response, reply)), [[2, 1], [2, 2], [2, 2]]);
    }

    #[test]
    fn a_challenge_answers_unless_a_request_continues_with_it() {
        let challenge =
            |request| Some(Reply { challenge_alone: true, ..Reply::to(request, Time(0)) });
        let mut counting = Counting::new();
        assert_eq!(counting.see(Purpose::ChallengeRequest, Sending::New, None), [1, 0]);
        for _ in 0..2 {
            let counted = counting.see(Purpose::ClientChallenge, Sending::New, challenge(1));
            assert_eq!(counted, [1, 1], "also sent twice");
        }
        assert_eq!(counting.ask(Sending::GoesOn(1)), [1, 0]);
        assert_eq!(counting.answer(3), [1, 1]);
        assert_eq!(counting.ask(Sending::GoesOn(3)), [1, 1], "it had all that was requested");
    }
}
