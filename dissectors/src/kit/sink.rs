//! Receives the results of a decoder. A sink returns only whether a message and its fields are wanted,
//! which must not affect the state of the conversation.

use std::net::SocketAddr;

use crate::kit::{
    CrossFlowEvent, Evidence, Field, Mark, Message, Name, Payload, Reply, Rule, SeenMessage,
    Sending, Span, Time,
};

/// Receives fields, verdicts and whole messages in the order of the bytes. Sinks implement only the
/// methods that they need.
pub trait Sink {
    /// The following fields, up to `end`, belong to this message. Not every decoder calls this.
    /// Returns whether its fields and rules are wanted: if not, a decoder may skip everything that
    /// no later message depends on.
    #[inline(always)]
    fn begins(&mut self, _: &'static Message) -> bool {
        true
    }
    /// Whether fields that come now are kept. If not, a decoder need not compute what it would only
    /// show.
    #[inline(always)]
    fn keeps_fields(&self) -> bool {
        true
    }
    /// A field. The value of a text that the payload contains unchanged is its position.
    #[inline(always)]
    fn leaf(&mut self, _: &'static Field, _: Span, _: u64) {}
    /// A text that differs from the payload's bytes: percent-decoded, joined.
    #[inline(always)]
    fn leaf_text(&mut self, _: &'static Field, _: Span, _: &[u8]) {}
    /// A group begins. The value is 0, or for [`Kind::Text`](crate::kit::Kind::Text) the position
    /// of its text.
    #[inline(always)]
    fn open(&mut self, _: &'static Field, _: u32, _: u64) {}
    /// The innermost group ends.
    #[inline(always)]
    fn close(&mut self, _: u32) {}
    /// A group whose fields are all known: each with its span and its value.
    #[inline(always)]
    fn group<const N: usize>(&mut self, group: &'static Field, span: Span, fields: [Leaf; N]) {
        one_by_one(self, group, span, &fields);
    }
    /// A rule was checked for the current message: whether it is kept, where, and what is wrong.
    #[inline(always)]
    fn checked(&mut self, _: &'static Rule, _: bool, _: Span, _: impl FnOnce() -> String) {}
    /// A rule was checked and kept this many times, for fields without other results.
    #[inline(always)]
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        for _ in 0..times {
            self.checked(rule, true, Span::default(), String::new);
        }
    }
    /// A known deviation: a note under the rule's code; the rule passes.
    #[inline(always)]
    fn noted(&mut self, _: &'static Rule, _: Span, _: impl FnOnce() -> String) {}
    /// A rule was checked for an earlier message, which the mark identifies.
    #[inline(always)]
    fn recalled(
        &mut self,
        _: &'static Rule,
        _: bool,
        _: Evidence,
        _: &Mark,
        _: impl FnOnce() -> String,
    ) {
    }
    /// The evidence for the messages that follow.
    #[inline(always)]
    fn evidence(&mut self, _: Evidence) {}
    /// The message has this number, such as a challenge, which its receiver must have given before: used again, it says
    /// nothing new.
    #[inline(always)]
    fn claims_number(&mut self, _: u32) {}
    /// What is checked from now on is about elements of a list that were recorded whole, or (`false`) about the message,
    /// of which the recording may have lost something.
    #[inline(always)]
    fn whole_elements(&mut self, _: bool) {}
    /// A server in a list of the message. The event after the last one names sender and receiver.
    #[inline(always)]
    fn listed(&mut self, _: SocketAddr) {}
    /// The message shows something that matters for rules that span flows.
    #[inline(always)]
    fn cross_flow(&mut self, _: CrossFlowEvent, _: SeenMessage) {}
    /// The same, with a text beside the event.
    #[inline(always)]
    fn cross_flow_with(&mut self, event: CrossFlowEvent, seen: SeenMessage, _: &[u8]) {
        self.cross_flow(event, seen);
    }
    /// The sender, a game server, describes itself. The text of [`CrossFlowEvent::Described`] is made only if it is
    /// needed.
    #[inline(always)]
    fn describes(&mut self, _: SeenMessage, _: impl FnOnce() -> Vec<u8>) {}
    /// A rule is broken - at these bytes of the current message, or by an earlier one - unless
    /// other flows explain it. Sinks that see all flows use the event instead; sinks that see one
    /// flow report the breach.
    #[inline(always)]
    fn unless_explained(
        &mut self,
        rule: &'static Rule,
        at: Option<Span>,
        event: CrossFlowEvent,
        seen: SeenMessage,
        detail: impl FnOnce() -> String,
    ) {
        match at {
            Some(at) => self.checked(rule, false, at, detail),
            None => self.recalled(rule, false, event.evidence(), &seen.mark, detail),
        }
    }
    /// The sender broke a rule about what should have come before, and nothing of the receiver is on this flow: `what` is
    /// wrong if other flows show that the receiver's host was recorded.
    fn unless_unheard(
        &mut self,
        rule: &'static Rule,
        what: &'static str,
        evidence: Evidence,
        seen: SeenMessage,
    ) {
        let event = CrossFlowEvent::Unheard { what: Name(what), evidence, rule };
        self.unless_explained(rule, None, event, seen, || what.to_owned());
    }
    /// A server's message announces the port that players join: reported if it is not its own.
    fn announces(&mut self, port: Option<u16>, payload: &Payload<'_>) {
        if let Some(port) = port.filter(|port| *port != payload.from.port() && *port != 0) {
            self.cross_flow(CrossFlowEvent::Announced(port), payload.seen());
        }
    }
    /// The message is a request of this kind to a server. Called for every packet, also repeats.
    #[inline(always)]
    fn asks(&mut self, _: &'static str, _: &Payload<'_>) {}
    /// The message is a join or a heartbeat to a master. Called for every packet, also repeats.
    #[inline(always)]
    fn joins(&mut self, _: &'static str, _: &Payload<'_>) {}
    /// The packet is no message of a supported protocol, or goes to a server and asks for nothing: many such are a
    /// flood.
    #[inline(always)]
    fn other_packet(&mut self, _: &Payload<'_>) {}
    /// From this packet on, the two ends of a flow with messages are known to send each other packets of the game.
    #[inline(always)]
    fn begins_to_play(&mut self, _: &Payload<'_>) {}
    /// The message answers a request of this many bytes that did not prove its sender's address: it
    /// had no challenge from the server.
    #[inline(always)]
    fn reflects(&mut self, _: &'static str, _: u32, _: &Payload<'_>) {}
    /// The message answers a request that returned the server's challenge: its sender is who it says. The times are those
    /// of the request, and of the one before it that drew the challenge.
    #[inline(always)]
    fn serves(&mut self, _: [Time; 2], _: &Payload<'_>) {}
    /// The message of a server returns the challenge of its master: its sender is who it says. The times are those of the
    /// message, and of the one before it that drew the challenge.
    #[inline(always)]
    fn returns_challenge(&mut self, _: [Time; 2], _: &Payload<'_>) {}
    /// The current message answers this request.
    #[inline(always)]
    fn answers(&mut self, _: Reply) {}
    /// The current message is a request with this relation to earlier ones, if it is not
    /// [`Sending::New`].
    #[inline(always)]
    fn sent(&mut self, _: Sending) {}
    /// The current message is a request that its server need not answer.
    #[inline(always)]
    fn optional(&mut self) {}
    /// The message is complete: all calls since the last `end` belong to it.
    #[inline(always)]
    fn end(&mut self, _: &'static Message, _: &Payload<'_>) {}
}

/// A field with its span and its value.
pub type Leaf = (&'static Field, Span, u64);

/// Reports a group field by field.
#[inline(always)]
pub(super) fn one_by_one<S: Sink + ?Sized>(
    sink: &mut S,
    group: &'static Field,
    span: Span,
    fields: &[Leaf],
) {
    sink.open(group, span.start, 0);
    for &(field, span, value) in fields {
        sink.leaf(field, span, value);
    }
    sink.close(span.end);
}

/// For use in an `impl Sink`: forwards fields to this member.
#[macro_export]
macro_rules! forward_fields {
    ($to:tt) => {
        #[inline(always)]
        fn keeps_fields(&self) -> bool {
            self.$to.keeps_fields()
        }
        #[inline(always)]
        fn leaf(
            &mut self,
            field: &'static $crate::kit::Field,
            span: $crate::kit::Span,
            value: u64,
        ) {
            self.$to.leaf(field, span, value);
        }
        #[inline(always)]
        fn leaf_text(
            &mut self,
            field: &'static $crate::kit::Field,
            span: $crate::kit::Span,
            text: &[u8],
        ) {
            self.$to.leaf_text(field, span, text);
        }
        #[inline(always)]
        fn open(&mut self, field: &'static $crate::kit::Field, start: u32, value: u64) {
            self.$to.open(field, start, value);
        }
        #[inline(always)]
        fn close(&mut self, end: u32) {
            self.$to.close(end);
        }
        #[inline(always)]
        fn group<const N: usize>(
            &mut self,
            group: &'static $crate::kit::Field,
            span: $crate::kit::Span,
            fields: [$crate::kit::Leaf; N],
        ) {
            self.$to.group(group, span, fields);
        }
    };
}

/// For use in an `impl Sink`: forwards results of rules to this member.
#[macro_export]
macro_rules! forward_verdicts {
    ($to:tt) => {
        #[inline]
        fn checked(
            &mut self,
            rule: &'static $crate::kit::Rule,
            ok: bool,
            at: $crate::kit::Span,
            detail: impl FnOnce() -> String,
        ) {
            self.$to.checked(rule, ok, at, detail);
        }
        #[inline]
        fn kept(&mut self, rule: &'static $crate::kit::Rule, times: u32) {
            self.$to.kept(rule, times);
        }
        fn noted(
            &mut self,
            rule: &'static $crate::kit::Rule,
            at: $crate::kit::Span,
            detail: impl FnOnce() -> String,
        ) {
            self.$to.noted(rule, at, detail);
        }
        fn recalled(
            &mut self,
            rule: &'static $crate::kit::Rule,
            ok: bool,
            evidence: $crate::kit::Evidence,
            mark: &$crate::kit::Mark,
            detail: impl FnOnce() -> String,
        ) {
            self.$to.recalled(rule, ok, evidence, mark, detail);
        }
        fn evidence(&mut self, evidence: $crate::kit::Evidence) {
            self.$to.evidence(evidence);
        }
        fn claims_number(&mut self, number: u32) {
            self.$to.claims_number(number);
        }
        fn whole_elements(&mut self, are: bool) {
            self.$to.whole_elements(are);
        }
    };
}

/// Forwards fields and whole messages, but no results of rules, because the message was checked
/// before.
pub struct Unchecked<'s, S>(pub &'s mut S);

impl<S: Sink> Sink for Unchecked<'_, S> {
    forward_fields!(0);
    fn begins(&mut self, message: &'static Message) -> bool {
        self.0.begins(message)
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        self.0.end(message, payload);
    }
}

/// Ignores everything: only the state of the conversation changes.
pub struct Blind;

impl Sink for Blind {
    #[inline(always)]
    fn keeps_fields(&self) -> bool {
        false
    }
}
