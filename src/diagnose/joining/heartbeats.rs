//! Whether a server registers again in time, where no rule says it.

use dissectors::kit::{Item, Time, causes};

use super::symptoms;
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::diagnose::registration::{LONGEST, Registration};
use crate::diagnose::server::Server;
use crate::text::long_span;

/// Joins in shorter intervals, in nanoseconds, are no heartbeats.
const USUAL: i64 = 30_000_000_000;

/// Heartbeats that no rule judges.
pub(super) fn unjudged_heartbeats(registration: &mut Registration) {
    let is_regular = |interval: i64| interval > USUAL && interval <= LONGEST;
    let beats = registration.fact(Item::Heartbeats);
    if beats.good > 0 || registration.joins.is_none() {
        return;
    }
    if registration.interval().is_some_and(is_regular) && beats.run == 0 {
        let joins = registration.fact(Item::Join).shown.last().copied();
        return registration.good(Item::Heartbeats, joins.unwrap_or(0));
    }
    let is_known = |interval: &i64| *interval > LONGEST || registration.joined() >= NO_ACCIDENT;
    let interval = registration.interval().filter(is_known);
    let interval = interval.map(|interval| long_span(interval.unsigned_abs()));
    let (cause, text) = match interval {
        Some(it) => {
            let text = format!("one every {it} was recorded; no rule judges that");
            (&causes::NOT_IN_CAPTURE, text)
        }
        None => (&causes::CAPTURE_TOO_SHORT, "too short to see when it comes again".to_owned()),
    };
    registration.fact_mut(Item::Heartbeats).open(cause, 0, text);
}

/// The last heartbeat came long before the end: whether that is all is unknown, unless the server still answered much later:
/// `heard` is when it did last.
pub(super) fn ceased(
    server: &Server,
    registration: &mut Registration,
    end: Time,
    heard: Option<Time>,
) {
    let beats = registration.fact(Item::Heartbeats);
    // That more should follow a single one, a rule shows, unless the master still lists the server.
    let is_rule = symptoms(server).iter().any(|it| it.cause == &causes::HEARTBEAT_RARE);
    let is_expected = beats.good > 0 || is_rule && registration.fact(Item::Listed).good == 0;
    let Some((_, last, _)) = registration.joins.filter(|_| is_expected && beats.run == 0) else {
        return;
    };
    let since = end.since(last);
    if since <= 2 * LONGEST {
        return;
    }
    let frame = beats.latest().max(registration.fact(Item::Join).latest());
    let text = format!("none in the last {}", long_span(since.unsigned_abs()));
    // Who has announced that it is gone sends none.
    let is_there = heard.is_some_and(|heard| heard.since(last) > 2 * LONGEST)
        && registration.fact(Item::Stays).run == 0;
    let beats = registration.fact_mut(Item::Heartbeats);
    match is_there {
        true => beats.fails_by(vec![Failure::new(&causes::HEARTBEAT_RARE, frame, text)]),
        false => beats.doubt(vec![frame], Failure::new(&causes::NOT_IN_CAPTURE, frame, text)),
    }
}
