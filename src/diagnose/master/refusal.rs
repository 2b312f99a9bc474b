//! What a master sends a client in place of a list that it can use.

use std::fmt::Display;

use dissectors::kit::{Cause, Item, Masters, Verdict, causes};

use super::own_words::{redirected_to, text_after_headers};
use crate::diagnose::facts::Failure;
use crate::diagnose::signs::symptom;
use crate::session::MessageEvent;
use crate::summary::described;
use crate::text::counted;

/// Why a master does not accept the client to which it sends this list, or something else in its place, for the so
/// many-th time. `clients`: all that it does not accept.
pub(in crate::diagnose) fn refusal(
    event: &MessageEvent<'_>,
    masters: Option<&Masters>,
    times: u64,
    clients: impl FnOnce() -> String,
) -> Option<Failure> {
    let frame = event.frame();
    let value = |path: &str| event.field(path).and_then(described::number);
    let times = counted(times, "time");
    let in_words = |text: String| {
        let values: [(_, &dyn Display); 2] = [("times", &times), ("text", &text)];
        Failure::with(&causes::answers::REFUSED_IN_WORDS, frame, &values)
    };
    let status = masters.and_then(|it| it.status).and_then(|(path, fine)| {
        let status = value(path)?;
        (status != fine).then_some(status)
    });
    let is_banned = masters
        .and_then(|it| it.banned)
        .is_some_and(|(path, bits, number)| value(path).map(|flags| flags & bits) == Some(number));
    match status {
        Some(status @ 300..400) => {
            let address = redirected_to(event).unwrap_or_else(|| "no address".to_owned());
            let values: [(_, &dyn Display); 2] = [("status", &status), ("address", &address)];
            Some(Failure::with(&causes::masters::REDIRECTED, frame, &values))
        }
        Some(status @ 500..600) => {
            let values: [(_, &dyn Display); 2] = [("status", &status), ("times", &times)];
            Some(Failure::with(&causes::masters::SERVER_ERROR, frame, &values))
        }
        Some(status) => Some(in_words(format!("status {status}"))),
        None if is_banned => {
            let values: [(_, &dyn Display); 1] = [("clients", &clients())];
            Some(Failure::with(&causes::masters::BANNED, frame, &values))
        }
        None if described::is_no_list(event) => {
            text_after_headers(event).map(|text| in_words(format!("\"{text}\"")))
        }
        None => None,
    }
}

/// Whether a master says that a client has its latest list already: it sends none then.
pub(in crate::diagnose) fn is_unchanged(
    event: &MessageEvent<'_>,
    masters: Option<&Masters>,
) -> bool {
    let unchanged = masters.and_then(|it| Some((it.status?.0, it.unchanged?)));
    unchanged
        .is_some_and(|(path, status)| event.field(path).and_then(described::number) == Some(status))
}

/// Why its client cannot read this list, if a rule says so.
pub(in crate::diagnose) fn unreadable<'b>(
    event: &MessageEvent<'b>,
) -> Option<(&'static Cause, &'b str)> {
    event.checked().findings.iter().filter(|it| it.verdict == Verdict::Fail).find_map(|it| {
        let symptom = symptom(it.rule, &it.detail).filter(|it| it.item == Item::GivesList)?;
        Some((symptom.cause, &*it.detail))
    })
}
