//! Info requests that are answered although their challenge is not known to be correct.

use super::packet::PacketKind;
use super::pending::Asked;
use super::{GameSpy4, request_message, rules};
use crate::kit::{Context, CrossFlowEvent, Evidence, Payload, Request, ResponseDue, Sink};

/// An info request is answered although its challenge is not known to be correct.
pub(super) fn accepted<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    asked: &Request<Asked>,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let claimed = cx.conversation.claim_of(asked.what.timestamp());
    // The server has given it since then: the recording may have the two in the wrong order.
    if claimed.is_some_and(|challenge| cx.conversation.given().contains(&challenge)) {
        return;
    }
    if let Some(challenge) = claimed
        && asked.what.verified == Some(false)
        && cx.conversation.may_be_challenged_elsewhere()
    {
        let evidence = Evidence { began: false, ..cx.flow.evidence() };
        sink.evidence(evidence);
        rules::challenge_of_another_answered(challenge, evidence, payload.seen(), sink);
        sink.evidence(Evidence { lost: payload.lost, ..cx.flow.evidence() });
        given_unseen(cx, challenge, asked, sink);
        return;
    }
    if let Some(challenge) = claimed.filter(|_| asked.what.verified.is_none()) {
        given_unseen(cx, challenge, asked, sink);
    }
    // The challenge may have come before the capture, or be another client's.
    let is_unknown =
        asked.what.form.has_challenge() && !cx.flow.began && !cx.conversation.was_given_any();
    if asked.what.verified == Some(false) || is_unknown {
        rules::wrong_challenge_answered(claimed, sink);
    }
    if let Some(challenge) = claimed.filter(|&challenge| challenge != 0) {
        let event = CrossFlowEvent::Accepted { challenge: challenge as u32, not_given: None };
        sink.cross_flow(event, payload.seen());
    }
}

/// An info request is answered, and its challenge is not on this flow: the request for that was answered, too, perhaps by
/// another endpoint.
fn given_unseen<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    challenge: i32,
    asked: &Request<Asked>,
    sink: &mut S,
) {
    if let Some(challenged) = cx.conversation.was_given_unseen(challenge, asked) {
        let challenged = Request { due: ResponseDue::No, ..challenged };
        let name = request_message(PacketKind::Challenge).name;
        rules::answered_by_another(name, &challenged, cx.flow.evidence(), cx.flow, sink);
    }
}
