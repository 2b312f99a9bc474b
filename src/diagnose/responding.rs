//! Whether a server responds, as all exchanges with it show together.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{CauseKind, Item, causes};

use super::Diagnosis;
use super::fact::{Failure, NO_ACCIDENT};
use super::pattern::PatternFailure;
use super::server::{Odd, Server};
use crate::session::Totals;
use crate::summary::described;
use crate::text::grouped;

impl Diagnosis {
    /// What all exchanges with a server show together.
    pub(super) fn patterns(&self, address: SocketAddr, server: &mut Server, read: &Totals) {
        let is_lossy = self.is_lossy(read);
        self.excuse(address, server);
        let is_heard = self.is_heard(address.ip(), read);
        self.too_few(server);
        let why = server.fact(Item::Answered).failure(true).map(|failure| failure.cause);
        let answers = server.pattern.all.answered > 0;
        // What the unanswered requests have in common says more than that they are unanswered.
        let is_silence = answers && why == Some(&causes::QUERIES_UNANSWERED);
        let from_elsewhere = server.fact(Item::FromAsked);
        let is_open = (why.is_none() || is_silence)
            && from_elsewhere.run == 0
            && from_elsewhere.open.is_none();
        if is_lossy {
            for item in [Item::Verified, Item::Answered, Item::Whole] {
                let fact = server.fact_mut(item);
                if fact.failure(true).is_some_and(|failure| failure.cause.kind != CauseKind::Icmp) {
                    let text = "the recording lost packets: what is missing proves nothing";
                    fact.fails_by(Vec::new());
                    fact.doubt(Vec::new(), Failure::new(&causes::CAPTURE_DROPS, 0, text));
                }
            }
            return;
        }
        odd_responses(server);
        challenged_again(server);
        too_many(server, Item::Whole);
        too_many(server, Item::Readable);
        if !is_open {
            return;
        }
        let (all, fact) = (server.pattern.all, server.fact(Item::Answered));
        if fact.good == 0 && all.asked > 0 && is_relay(address.ip()) {
            let why = Failure::with(&causes::answers::FAKE_ADDRESS, server.pattern.frame(), &[]);
            server.fact_mut(Item::Answered).open_by(why);
        } else if fact.good == 0
            && all.answered == 0
            && all.asked < NO_ACCIDENT
            && let Some(other) = self.answering.get(&address.ip()).filter(|it| **it != address)
        {
            let frame = server.pattern.frame();
            let values: [(_, &dyn Display); 1] = [("other", other)];
            let why = Failure::with(&causes::answers::OTHER_PORT_ANSWERS, frame, &values);
            server.fact_mut(Item::Answered).open_by(why);
        } else if fact.good == 0 && all.answered == 0 && all.asked >= NO_ACCIDENT && is_heard {
            let frame = server.pattern.frame();
            let text = format!("none of {} requests is answered", grouped(all.asked));
            server.fact_mut(Item::Answered).bad(&causes::QUERIES_UNANSWERED, frame, text);
        } else if (fact.good > 0 || is_silence)
            && let Some(found) = server.pattern.failure()
            && !responds_in_part(server, &found)
        {
            server.fact_mut(Item::Answered).fails_by(vec![found.failure.clone()]);
            server.unanswered = Some(found);
        }
    }

    /// That one or two requests are not answered proves no silence, unless the capture is complete.
    fn too_few(&self, server: &mut Server) {
        let all = server.pattern.all;
        let fact = server.fact_mut(Item::Answered);
        let is_few = fact.good == 0 && fact.run < NO_ACCIDENT && all.asked < NO_ACCIDENT;
        let why = fact.failure(true).filter(|why| why.cause == &causes::QUERIES_UNANSWERED);
        if let Some(why) = why.filter(|_| is_few && !self.complete).cloned() {
            fact.fails_by(Vec::new());
            fact.open(&causes::CAPTURE_TOO_SHORT, why.frame, why.text);
        }
    }

    /// Requests of clients that ask wrongly are owed no answer.
    fn excuse(&self, address: SocketAddr, server: &mut Server) {
        // A few wrong requests do not explain why many are not answered.
        let is_faulty = |host: &IpAddr| {
            let missing = server.pattern.of_client(*host).missing();
            let wrong = self.faulty.get(host).map(|faults| faults.toward(address));
            wrong.is_some_and(|wrong| wrong.saturating_mul(2) >= missing)
        };
        let other_port = &causes::clients::CHALLENGE_OTHER_PORT;
        let from_other_port = |host: &IpAddr| {
            self.faulty.get(host).is_some_and(|faults| faults.cause == Some(other_port))
        };
        let not_returned = match server.left_by.iter().any(from_other_port) {
            true => other_port,
            false => &causes::clients::CHALLENGE_NOT_RETURNED,
        };
        let missing = Vec::from_iter(server.pattern.clients_missing());
        let all_are_faulty = !missing.is_empty() && missing.iter().all(is_faulty);
        let only_rounds = server.left == 0
            && server.pattern.all.asked > 0
            && server.pattern.clients().all(|host| {
                self.faulty.get(&host).is_some_and(|faults| {
                    faults.cause == Some(&causes::clients::CHALLENGE_NOT_RETURNED)
                })
            });
        let are_left = (server.left > 0 || only_rounds)
            && server.fact(Item::Verified).good == 0
            && server.fact(Item::Verified).run == 0;
        if are_left {
            let text = match not_returned == other_port {
                true => "no client returns its challenge from the port that got it",
                false => "no client returns its challenge",
            };
            let frame = server.left_frame;
            for item in [Item::Verified, Item::Answered] {
                if server.fact(item).good == 0 && server.fact(item).run == 0 {
                    server.fact_mut(item).open(not_returned, frame, text);
                }
            }
        }
        if all_are_faulty {
            let text = "the requests are wrong: see the client";
            for item in [Item::Verified, Item::Answered] {
                let is_answered = item == Item::Answered && server.pattern.all.answered > 0;
                let fact = server.fact_mut(item);
                fact.fails_by(Vec::new());
                if is_answered {
                    fact.good(0);
                }
                // That challenges are not returned says more.
                if fact.good == 0 && !(are_left && fact.open.is_some()) {
                    fact.open(&causes::REQUEST_WRONG, 0, text);
                }
            }
            server.pattern = Default::default();
        }
    }
}

/// Whether an address stands for a relay of Steam.
fn is_relay(host: IpAddr) -> bool {
    matches!(host, IpAddr::V4(host) if host.is_link_local())
}

/// Whether it answers the kind of request that is never answered, but not whole.
fn responds_in_part(server: &Server, found: &PatternFailure) -> bool {
    if server.in_part > 0 || server.fact(Item::Whole).failure(true).is_some() {
        return true;
    }
    let kind = found.by.as_ref().filter(|(name, _)| *name == "kind");
    let answers =
        |name: &str| server.kinds.iter().any(|it| it.name == name && it.answered.good > 0);
    kind.is_some_and(|(_, kind)| answers(kind))
}

/// It answers its own challenges with others, or gives two at a time.
fn challenged_again(server: &mut Server) {
    let ((looped, frame), verified) = (server.looped, server.fact(Item::Verified));
    if looped >= NO_ACCIDENT && verified.good == 0 && verified.run == 0 {
        let why = Failure::with(&causes::CHALLENGE_LOOP, frame, &[]);
        server.fact_mut(Item::Verified).fails(why);
        return;
    }
    let (times, frame) = server.doubly_challenged;
    if times >= NO_ACCIDENT && server.fact(Item::Verified).run == 0 {
        let values: [(_, &dyn Display); 1] = [("times", &grouped(times))];
        let why = Failure::with(&causes::answers::TWO_CHALLENGES, frame, &values);
        server.fact_mut(Item::Verified).doubt(vec![frame], why);
    }
}

/// It often sends something else than a response.
fn odd_responses(server: &mut Server) {
    let Some(odd) = server.odd.iter().max_by_key(|odd| odd.times) else { return };
    let good = server.fact(Item::Readable).good;
    if 10 * odd.times < odd.times + good {
        return;
    }
    let (times, all) = (grouped(odd.times), grouped(odd.times + good));
    let (cause, text) = match &odd.is {
        Odd::Zeros => (&causes::answers::ZERO_FILLED, String::new()),
        Odd::Text(text) if described::is_refusal(text) => {
            (&causes::answers::REFUSED_IN_WORDS, text.clone())
        }
        Odd::Text(text) => (&causes::answers::OTHER_PROTOCOL, text.clone()),
    };
    let text = format!("\"{text}\"");
    let values: [(_, &dyn Display); 3] = [("times", &times), ("all", &all), ("text", &text)];
    let failure = |frame: &u64| Failure::with(cause, *frame, &values);
    let failures: Vec<_> = odd.frames.iter().map(failure).collect();
    let is_accident = odd.times < NO_ACCIDENT;
    let (frames, readable) = (odd.frames.clone(), server.fact_mut(Item::Readable));
    match failures.first().filter(|_| is_accident) {
        Some(why) if readable.run == 0 => readable.doubt(frames, why.clone()),
        Some(_) => {}
        None => readable.fails_by(failures),
    }
}

/// A condition is not met too often to be an accident, though it is met at other times.
fn too_many(server: &mut Server, item: Item) {
    let fact = server.fact(item);
    if fact.failure(true).is_some() {
        return;
    }
    let Some((latest, bad, all)) = fact.share() else { return };
    let text = format!("{} of {} responses: {}", grouped(bad), grouped(all), latest.text);
    let failure = Failure { text, ..latest.clone() };
    server.fact_mut(item).fails_by(vec![failure]);
}
