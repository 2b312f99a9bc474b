//! Whether large responses are lost on the way, where no ICMP error says that they are larger than the
//! path's MTU. That can be suspected, not known: there are other reasons for what it looks like.

use std::fmt::Display;

use dissectors::kit::{Item, causes};

use super::sizes::Sizes;
use super::{Kind, Server};
use crate::diagnose::CapturePosition;
use crate::diagnose::exchanges::kind_words::requests;
use crate::diagnose::facts::{Failure, FirstFrames, NO_ACCIDENT};
use crate::text::{counted, grouped};

/// Bytes in a packet that pass nearly everywhere.
const SMALL: u64 = 1_200;

/// Bytes in a packet above which hardly any are larger: if these pass, the MTU is not at fault.
const FULL: u64 = 1_360;

/// Whether large responses of a server may be lost on the way. `within`: after so many nanoseconds, who
/// asks again does not do so for want of a response.
pub(in crate::diagnose) fn suspect(server: &mut Server, position: CapturePosition, within: i64) {
    if server.fact(Item::Whole).run > 0 {
        return;
    }
    let found = missing(server, position).or_else(|| asked_again(server, position, within));
    if let Some((frames, why)) = found {
        server.fact_mut(Item::Whole).doubt(frames.iter().copied(), why);
    }
}

/// Nothing comes to requests whose responses may be large, where small ones come. A server that was
/// recorded at itself sends none.
fn missing(server: &Server, position: CapturePosition) -> Option<(FirstFrames, Failure)> {
    let large = server.query?.info().diagnosis.large;
    let largest = server.kinds.iter().map(|kind| kind.sizes.largest).max();
    let largest = largest.unwrap_or(0).max(server.largest_challenge);
    let challenges = server.fact(Item::Challenges).good > 0;
    let is_missing = |kind: &&Kind| {
        let fact = &kind.answered;
        let silence = [&causes::QUERIES_UNANSWERED, &causes::CHALLENGED_REQUEST_UNANSWERED];
        let is_silence = fact.failure(true).is_some_and(|failure| silence.contains(&failure.cause));
        // Who does not get so much as a challenge lacks more than large packets.
        let may_be_answered = !challenges || kind.was_challenged;
        let has_none = fact.good == 0 && fact.run >= NO_ACCIDENT;
        let is_large = |(request, players): &(&str, u64)| {
            *request == kind.name && server.players.is_none_or(|most| most >= *players)
        };
        is_silence && may_be_answered && has_none && large.iter().any(is_large)
    };
    let missing = server.kinds.iter().find(is_missing)?;
    if position == CapturePosition::Server || largest == 0 || largest >= FULL {
        return None;
    }
    let (largest, times) = (grouped(largest), counted(missing.answered.run, "time"));
    let values: [(_, &dyn Display); 3] =
        [("kind", &requests(missing.name)), ("largest", &largest), ("times", &times)];
    Some((missing.answered.failed(), Failure::with(&causes::LARGE_MISSING, 0, &values)))
}

/// Clients ask again for large responses that were sent, and never for small ones.
fn asked_again(
    server: &Server,
    position: CapturePosition,
    within: i64,
) -> Option<(FirstFrames, Failure)> {
    let is_large = |kind: &&Kind| kind.sizes.largest > SMALL;
    let lost = |kind: &&Kind| {
        kind.sizes.again >= NO_ACCIDENT && 2 * kind.sizes.again >= kind.sizes.responses
    };
    let kind = server.kinds.iter().filter(is_large).find(lost)?;
    let mut small = server.kinds.iter().filter(|kind| !is_large(kind)).peekable();
    // What came to the client was not lost on the way.
    if position == CapturePosition::Client
        || small.peek().is_none()
        || small.any(|kind| kind.sizes.again > 0)
    {
        return None;
    }
    let Sizes { again, responses, ref frames, .. } = kind.sizes;
    let (again, responses) = (grouped(again), grouped(responses));
    let values: [(_, &dyn Display); 4] = [
        ("again", &again),
        ("responses", &responses),
        ("kind", &requests(kind.name)),
        ("seconds", &(within / 1_000_000_000)),
    ];
    Some((frames.iter().copied().collect(), Failure::with(&causes::LARGE_ASKED_AGAIN, 0, &values)))
}
