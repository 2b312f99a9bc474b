//! Whether the responses of a server agree with each other. What they say may be wrong without being a fault.

use std::fmt::Display;

use dissectors::kit::{Item, causes};

use super::Server;
use super::repeated_answers::Surplus;
use crate::diagnose::exchanges::kind_words::requests;
use crate::diagnose::facts::{Failure, NO_ACCIDENT, is_too_much};
use crate::text::counted;

/// Whether what it says can be read, and believed.
pub(in crate::diagnose) fn conclude(server: &mut Server) {
    never_ends(server);
    let counts = &server.counts;
    let is_often = counts.differed > counts.agreed
        || is_too_much(counts.differed, counts.differed + counts.agreed);
    let differs = counts.differs.as_ref().filter(|_| is_often);
    let why = differs.map(|(numbers, frame)| {
        let values: [(_, &dyn Display); 1] = [("numbers", numbers)];
        Failure::with(&causes::answers::COUNTS_DISAGREE, *frame, &values)
    });
    let wrapped = counts.wrapped.map(|(info, most, frame)| {
        let values: [(_, &dyn Display); 2] = [("info", &info), ("most", &most)];
        Failure::with(&causes::answers::WRAPPED_COUNTS, frame, &values)
    });
    let unnamed = counts.unnamed.map(|(unnamed, all, frame)| {
        let values: [(_, &dyn Display); 2] = [("unnamed", &unnamed), ("all", &all)];
        Failure::with(&causes::answers::NAMES_MISSING, frame, &values)
    });
    let why = wrapped.or(why).or(unnamed).or_else(|| two_hosts(server));
    let why = why.or_else(|| two_answers(server));
    if let Some(why) = why {
        server.fact_mut(Item::Believable).open_by(why);
    } else if server.fact(Item::Believable).open.is_none() {
        let readable = server.fact(Item::Readable);
        let (unread, first) = (readable.open.clone(), readable.shown.first().copied());
        let unread = unread.filter(|it| it.cause.unknown.contains(&Item::Believable));
        // What cannot be read may say something else.
        if let Some(unread) = unread {
            server.fact_mut(Item::Believable).open = Some(unread);
        } else if let Some(frame) = first {
            server.good(Item::Believable, frame);
        }
    }
}

/// Responses are one part that does not end: each of them, or some of a server whose other responses have one part, too.
/// Had those that end several parts, the rest of the others would be lost.
fn never_ends(server: &mut Server) {
    let endless = server.query.and_then(|id| id.info().diagnosis.endless);
    let Some((words, cause)) = endless else { return };
    let whole = server.fact(Item::Whole);
    let failures = whole.failures();
    // The rest of the last one may come after the end of the capture.
    let last = whole.open.as_deref();
    let are_single = server.packets <= 1 && server.kinds.iter().all(|it| it.sizes.responses > 0);
    let is_never = whole.run > 0
        && whole.times_not() + u64::from(last.is_some()) >= NO_ACCIDENT
        && (are_single || whole.good == 0 && server.fact(Item::Readable).good == 0)
        && failures.iter().chain(last).all(|failure| failure.text.contains(words));
    if is_never {
        let failures: Vec<_> = failures.iter().map(|it| Failure { cause, ..it.clone() }).collect();
        server.fact_mut(Item::Whole).fails_by(failures.clone());
        server.fact_mut(Item::Readable).fails_by(failures);
    }
}

/// Responses to kinds of requests, or challenges, come with other hop limits, always the same for a kind.
fn two_hosts(server: &Server) -> Option<Failure> {
    let kinds = server.kinds.iter().map(|kind| (requests(kind.name), kind.hops));
    let challenges = ("requests for a challenge".to_owned(), server.challenge_hops);
    let mut kinds = kinds
        .chain([challenges])
        .filter_map(|(kind, hops)| Some((kind, hops.of_all(NO_ACCIDENT)?)));
    let (one, first) = kinds.next()?;
    let (other, second) = kinds.find(|(_, hops)| *hops != first)?;
    let (one, other) = (format!("responses to {one}"), format!("to {other}"));
    let values: [(_, &dyn Display); 4] =
        [("one", &one), ("other", &other), ("first", &first), ("second", &second)];
    Some(Failure::with(&causes::answers::TWO_HOSTS, 0, &values))
}

/// Two programs, or two hosts, answer each request, and say different things.
fn two_answers(server: &Server) -> Option<Failure> {
    let Surplus { further, of_another, first, hops, .. } = server.surplus;
    let answered = server.fact(Item::Answered).good;
    if !is_too_much(of_another, further + answered) {
        return None;
    }
    let [one, other] = hops.map(|hops| hops.of_all(NO_ACCIDENT));
    if let Some((one, other)) = one.zip(other).filter(|(one, other)| one != other) {
        let values: [(_, &dyn Display); 4] = [
            ("one", &"the first responses"),
            ("other", &"further ones to the same requests"),
            ("first", &one),
            ("second", &other),
        ];
        return Some(Failure::with(&causes::answers::TWO_HOSTS, first, &values));
    }
    let times = counted(of_another, "time");
    Some(Failure::with(&causes::answers::ANSWERS_DIFFER, first, &[("times", &times)]))
}
