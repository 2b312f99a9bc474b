//! Responses whose requests the recorder lost, on flows with other requests.

use crate::kit::{CrossFlowEvent, FlowFacts, Payload, Sink, Time};

impl FlowFacts {
    /// Reports that the request of the current message is missing: a response that no request waits for, on a flow with
    /// requests. One that follows another message soon may be a copy of a response, as some servers send.
    pub fn response_alone<S: Sink>(&self, payload: &Payload<'_>, sink: &mut S) {
        if !self.goes_on() {
            sink.cross_flow(CrossFlowEvent::RequestMissing, payload.seen());
        }
    }

    /// Whether the current message follows another one soon.
    pub const fn goes_on(&self) -> bool {
        self.silence <= Time::SOON.unsigned_abs()
    }
}
