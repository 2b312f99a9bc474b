//! Challenges that a client gets, and what it returns.

use std::fmt::Display;
use std::net::SocketAddr;

use dissectors::kit::{Item, causes};

use super::challenge_text::text_as_challenge;
use super::{CHALLENGES, Client, KINDS};
use crate::diagnose::facts::find_or_add::{find_or_add, keep_latest};
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::session::MessageEvent;

/// A challenge that it got.
#[derive(Debug)]
pub(super) struct GivenChallenge {
    pub(super) server: SocketAddr,
    /// Its own port.
    pub(super) port: u16,
    pub(super) number: String,
    /// The key of the exchange of the request that the server answered with it.
    pub(super) kind: Option<&'static str>,
    /// How many requests the client had sent: several challenges may answer one.
    pub(super) asked: u64,
}

/// It got this challenge, and returns 0.
fn zero_sent(frame: u64, given: &str) -> Failure {
    Failure::with(&causes::clients::CHALLENGE_ZERO_SENT, frame, &[("given", &given)])
}

impl Client {
    /// What is wrong with the challenge in a request, if anything is.
    pub(super) fn wrong_challenge(
        &mut self,
        event: &MessageEvent<'_>,
        challenge: Option<&str>,
        key: &'static str,
    ) -> Option<Failure> {
        let (payload, challenge) = (event.payload(), challenge?);
        let (from, to, frame) = (payload.from, payload.to, payload.frame);
        if let Some(text) = event.bytes_from("challenge").and_then(text_as_challenge)
            && !self.given.iter().any(|given| given.server == to && given.number == challenge)
        {
            let cause = &causes::clients::CHALLENGE_AS_TEXT;
            return Some(Failure::with(cause, frame, &[("text", &text)]));
        }
        // Where a challenge begins each exchange, another socket's is none of its own.
        let is_of_socket =
            || event.context().protocol.is_some_and(|id| id.info().diagnosis.challenge_first);
        let is_given = |given: &GivenChallenge| {
            given.server == to
                && (given.port == from.port() || given.number == "0" || !is_of_socket())
        };
        if challenge == "0" && !self.given.iter().any(is_given) {
            let text = "it sends the challenge 0, which it was not given";
            let why = Failure::new(&causes::clients::CHALLENGE_WRONG, frame, text);
            self.unproven.seen([from, to], key, why, true);
            return None;
        }
        let given = self.given.iter().rev().filter(|given| given.server == to);
        let (mut of_port, mut of_other, mut returned) = (None, None, None);
        for GivenChallenge { port, number, kind, asked, .. } in given {
            if number == challenge {
                returned = returned.or(*kind);
            }
            if *port == from.port() {
                let (latest, latest_asked) = *of_port.get_or_insert((number, *asked));
                // Of several that answer one request, it may return any.
                if latest_asked == *asked && latest != number && number == challenge {
                    of_port = Some((number, *asked));
                }
            } else if number == challenge {
                of_other = of_other.or(Some(*port));
            }
        }
        // Perhaps in a request of another kind.
        let kinds = &mut self.kinds;
        if let Some((_, times, _)) =
            returned.and_then(|kind| find_or_add(kinds, KINDS, |it| it.0 == kind, || (kind, 0, 0)))
        {
            *times += 1;
        }
        let of_port = of_port.map(|(number, _)| number);
        if of_port.is_some_and(|number| number == challenge) {
            if challenge == "0" {
                self.doubt(to, Item::WellFormed, zero_sent(frame, challenge));
            }
            self.returns_rightly(frame);
            return None;
        }
        if let Some(given) = of_other.filter(|_| of_port.is_none()) {
            let values: [(_, &dyn Display); 3] =
                [("server", &to), ("given", &given), ("port", &from.port())];
            let cause = &causes::clients::CHALLENGE_OTHER_PORT;
            let why = Failure::with(cause, frame, &values);
            self.moved = Some(why.clone());
            self.unproven.seen([from, to], key, why.clone(), false);
            self.doubt(to, Item::ReturnsChallenge, why);
            return None;
        }
        let given = of_port?.clone();
        self.another_challenge(to, frame, &given, challenge)
    }

    /// It got one challenge, and returns another one.
    fn another_challenge(
        &mut self,
        server: SocketAddr,
        frame: u64,
        given: &str,
        challenge: &str,
    ) -> Option<Failure> {
        // Of one that is no number, nobody can say what should be returned.
        let number: i64 = given.parse().ok()?;
        if challenge.parse().is_ok_and(|it: i64| (number as i32).swap_bytes() == it as i32) {
            let text = format!("it got {given}, and returns {challenge}: the bytes are reversed");
            return Some(Failure::new(&causes::CHALLENGE_BYTESWAPPED, frame, text));
        }
        let why = match challenge {
            // It may ask for another challenge.
            "-1" => return None,
            "0" => zero_sent(frame, given),
            _ => {
                let text = format!("it got the challenge {given}, and returns {challenge}");
                Failure::new(&causes::clients::CHALLENGE_WRONG, frame, text)
            }
        };
        self.doubt(server, Item::WellFormed, why);
        None
    }

    /// It returns a challenge as it got it. Several times in a row, that mends what it did wrong with challenges before.
    pub(super) fn returns_rightly(&mut self, frame: u64) {
        self.rightly += 1;
        self.items.good(Item::ReturnsChallenge, frame);
        let before = self.items.fact(Item::WellFormed);
        let is_about_challenges = |why: &Failure| {
            [&causes::CHALLENGE_BYTESWAPPED, &causes::clients::CHALLENGE_AS_TEXT]
                .contains(&why.cause)
        };
        let is_wrong = before.run > 0 && before.failures().iter().all(is_about_challenges);
        if self.rightly >= NO_ACCIDENT {
            self.unproven.mended(frame);
        }
        if self.rightly >= NO_ACCIDENT && is_wrong {
            self.is_mended = true;
            self.items.good_again(Item::WellFormed, frame);
        }
    }

    /// It gets a challenge, in an exchange with this key.
    pub(in crate::diagnose) fn is_challenged(
        &mut self,
        event: &MessageEvent<'_>,
        kind: Option<&'static str>,
    ) {
        let payload = event.payload();
        let Some(challenge) = event.field("challenge").filter(|_| !payload.lost) else {
            // What the client should return now is unknown.
            let (server, port) = (payload.from, payload.to.port());
            self.given.retain(|given| (given.server, given.port) != (server, port));
            return;
        };
        let (server, port) = (payload.from, payload.to.port());
        let (number, asked) = (challenge.to_string(), self.asked);
        let given = GivenChallenge { server, port, number, kind, asked };
        keep_latest(&mut self.given, CHALLENGES, given);
    }
}
