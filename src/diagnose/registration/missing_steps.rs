//! Steps of a registration that the capture lacks, and what shows that they were taken all the same.

use std::net::IpAddr;

use dissectors::kit::{Cause, CauseKind, Item, causes};

use super::Registration;
use crate::diagnose::facts::{Failure, NO_ACCIDENT, NOT_WHOLE};

/// The recording lost packets: what is missing may be among them.
pub(in crate::diagnose) fn proves_nothing(registration: &mut Registration) {
    for item in [Item::Challenged, Item::Echo, Item::Probed, Item::ProbeBack, Item::Accepted] {
        let fact = registration.fact_mut(item);
        if let Some(why) = fact.silence().cloned() {
            fact.fails_by(Vec::new());
            fact.open_by(Failure { cause: &causes::CAPTURE_DROPS, ..why });
        }
    }
    for item in [Item::Echo, Item::Heartbeats] {
        let fact = registration.fact_mut(item);
        let is_accident = fact.good > 0 || fact.run < NO_ACCIDENT;
        let why = fact.failure(false).filter(|why| is_accident && depends(item, why.cause));
        if let Some(why) = why.cloned() {
            fact.fails_by(Vec::new());
            fact.doubt(Vec::new(), Failure { cause: &causes::CAPTURE_DROPS, ..why });
        }
    }
}

/// The master's challenges are not in the capture, or not to be told from other packets of it. `gets_nothing`: what is sent
/// to the server was not recorded.
pub(in crate::diagnose) fn not_recorded(registration: &mut Registration, gets_nothing: bool) {
    let cut = registration.cut.map(|frame| (&causes::CAPTURE_DROPS, frame, NOT_WHOLE));
    let text = "nothing that is sent to its host is in the capture";
    let one_sided = gets_nothing.then_some((&causes::CAPTURE_ONE_SIDED, 0, text));
    let Some((cause, frame, text)) = one_sided.or(cut) else { return };
    for item in [Item::Challenged, Item::Echo] {
        let fact = registration.fact_mut(item);
        let is_silence = |why: &Failure| why.cause.kind == CauseKind::Silence;
        let is_without = |why: &Failure| depends(item, why.cause) && gets_nothing;
        let fails = fact.failure(false).is_some_and(|why| is_silence(why) || is_without(why));
        if fails || item == Item::Challenged && fact.good == 0 && fact.run == 0 {
            fact.fails_by(Vec::new());
            fact.doubt(Vec::new(), Failure::new(cause, frame, text));
        }
    }
}

/// Whether such a failure shows only between two messages, of which another may be missing.
fn depends(item: Item, cause: &Cause) -> bool {
    match item {
        Item::Heartbeats => cause == &causes::HEARTBEAT_RARE,
        _ => cause != &causes::CHALLENGE_BYTESWAPPED && cause.kind != CauseKind::Icmp,
    }
}

/// A master that queries the server reacts to its heartbeats. `asks`: whether a host does.
pub(in crate::diagnose) fn queried_by_master(
    registration: &mut Registration,
    asks: impl Fn(&IpAddr) -> bool,
) {
    let is_asked = registration.master.is_some_and(|master| asks(&master.ip()));
    let challenged = registration.fact_mut(Item::Challenged);
    if let Some(frame) = challenged.silence().map(|why| why.frame).filter(|_| is_asked) {
        challenged.fails_by(Vec::new());
        challenged.open(&causes::NOT_IN_CAPTURE, frame, "the master queries it instead");
    }
}

/// A master that accepts the server after a challenge or a probe got its answer, though the capture lacks that one.
pub(in crate::diagnose) fn accepted_since(registration: &mut Registration) {
    let accepted = registration.fact(Item::Accepted);
    if accepted.good == 0 || accepted.run > 0 {
        return;
    }
    let since = accepted.latest();
    let is_missing = |why: &Failure| why.cause.kind == CauseKind::Silence;
    let echo = registration.fact_mut(Item::Echo);
    if echo.failures().iter().all(is_missing) {
        echo.mend(since);
    }
    // A master may say that it has registered a server, and not list it.
    let is_listed = registration.fact(Item::Listed).run == 0;
    let probed = registration.fact_mut(Item::ProbeBack);
    let is_accident = probed.good > 0 || probed.run < NO_ACCIDENT;
    if is_listed && is_accident && probed.failures().iter().all(is_missing) {
        probed.mend(since);
    }
}
