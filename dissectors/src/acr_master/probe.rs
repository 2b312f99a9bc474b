//! Socket checks: a master that gets a registration sends a byte to the UDP port above the
//! server's, and the server responds.

use crate::kit::{Context, Evidence, Mark, Message, Payload, Request, Side, Sink, Time};

use super::fields::PROBE;
use super::rules::{self, SocketCheckResult};
use super::shared::{CheckKey, SocketCheck};
use super::{AcrMaster, messages};

type Cx<'c> = Context<'c, AcrMaster>;

/// The state of a flow of a socket check.
pub(super) struct ProbeState {
    /// The side that probes.
    prober: Side,
    /// The latest probe.
    probe: Option<Request<()>>,
    /// The check, and its registration.
    check: Option<(CheckKey, Mark)>,
}

impl ProbeState {
    /// An ICMP error says that this packet did not arrive.
    pub(super) fn refused(&mut self, frame: u64) {
        self.probe.iter_mut().for_each(|probe| probe.refused(frame));
    }

    /// A probe, or a repeat of the one before.
    fn probes(&mut self, mark: Mark, timeout: i64) {
        let asked = Request::new((), mark, true);
        match &mut self.probe {
            Some(probe) if asked.is_again(probe, timeout) => probe.sent_again(mark),
            probe => *probe = Some(asked),
        }
    }
}

/// Whether a datagram of a socket check is the probe and not the response.
fn is_probe(cx: &mut Cx<'_>, payload: &Payload<'_>) -> bool {
    match cx.conversation.probing.get() {
        Some(probing) => probing.prober == payload.side,
        None => {
            cx.shared.reply(payload).is_none() && cx.shared.reply_from_elsewhere(payload).is_none()
        }
    }
}

/// Reports a datagram with its only field.
fn show<S: Sink>(is_probe: bool, payload: &Payload<'_>, sink: &mut S) -> &'static Message {
    sink.leaf(&PROBE, payload.whole(), 0);
    if is_probe { &messages::SOCKET_CHECK } else { &messages::SOCKET_CHECK_REPLY }
}

/// A datagram of a socket check.
pub(super) fn socket_check<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let is_probe = is_probe(cx, payload);
    let prober = if is_probe { payload.side } else { payload.side.other() };
    let new = || ProbeState { prober, probe: None, check: None };
    let probing = cx.conversation.probing.get_or_insert_with(new);
    if is_probe {
        probing.probes(payload.mark(), cx.settings.answer_timeout);
        if let Some((key, check)) = cx.shared.probe(payload) {
            check.prober.get_or_insert(payload.from);
            check.zero |= payload.bytes == [0x00];
            check.reported = true;
            probing.check = Some((key, check.mark));
        }
    } else {
        if let Some(check) = cx.shared.reply(payload) {
            check.answered |= !payload.bytes.is_empty();
        } else if let Some(check) = cx.shared.reply_from_elsewhere(payload) {
            check.elsewhere = Some(payload.from.port());
        }
        let clock = cx.settings.clock(payload.time);
        // One that comes long after an answered probe answers another one, which the capture lacks.
        if let Some(probe) = probing.probe.as_mut().filter(|probe| probe.may_be_answered(clock)) {
            sink.answers(probe.reply(true));
            probe.settle();
        }
    }
    let message = show(is_probe, payload, sink);
    sink.end(message, payload);
}

/// See [`crate::kit::Protocol::again`].
pub(super) fn again<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let message = show(is_probe(cx, payload), payload, sink);
    sink.end(message, payload);
}

/// The flow of a socket check has ended. If the check is still pending, it is completed here, where
/// it is known whether the probe arrived.
pub(super) fn ended<S: Sink>(cx: &mut Cx<'_>, now: Time, sink: &mut S) {
    let Some(probing) = cx.conversation.probing.take() else { return };
    let (Some((key, mark)), Some(probe)) = (probing.check, probing.probe) else { return };
    let Some(check) = cx.shared.take_check(&key, &mark) else { return };
    let missing = cx.flow.missing(&probe, cx.settings.clock(now));
    let evidence = Evidence { asked_party_seen: true, ..missing };
    rules::socket_check(checked(&check), key.0.port(), evidence, &probe.mark, sink);
}

/// Completes the socket check for a registration on this flow.
pub(super) fn check_probe<S: Sink>(
    cx: &Cx<'_>,
    key: CheckKey,
    check: &SocketCheck,
    now: Time,
    sink: &mut S,
) {
    let checked = checked(check);
    let evidence = Evidence {
        lost: check.late && checked == SocketCheckResult::NotAtAll,
        asked_party_seen: cx.flow.seen[check.mark.side.other().index()],
        waited: now.since(check.mark.time) >= cx.settings.answer_timeout,
        ..Evidence::default()
    };
    rules::socket_check(checked, key.0.port(), evidence, &check.mark, sink);
}

/// The result of a check.
fn checked(check: &SocketCheck) -> SocketCheckResult {
    match check {
        check if check.prober.is_none() => SocketCheckResult::NotAtAll,
        check if !check.answered => {
            check.elsewhere.map_or(SocketCheckResult::Unanswered, SocketCheckResult::Elsewhere)
        }
        check if check.zero => SocketCheckResult::WithZero,
        _ => SocketCheckResult::Answered,
    }
}
