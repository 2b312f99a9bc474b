//! Where what a decoder finds goes. Nothing comes back but whether a message is wanted, which must not
//! alter what the conversation learns of it.

use std::net::SocketAddr;

use crate::kit::{
    CrossFlowEvent, Evidence, Field, Mark, Message, Payload, Reply, Rule, Seen, Sending, Span,
};

/// Receives fields, verdicts and whole messages in the order of the bytes. What a sink does not
/// care for it leaves out.
pub trait Sink {
    /// The fields that follow, up to `end`, are those of this message. Not every decoder says so.
    /// Returns whether anybody wants its fields and what they are checked for: if not, a decoder may
    /// leave out what no later message depends on.
    #[inline(always)]
    fn begins(&mut self, _: &'static Message) -> bool {
        true
    }
    /// A field. A text that is in the payload as it is has its place as value.
    #[inline(always)]
    fn leaf(&mut self, _: &'static Field, _: Span, _: u64) {}
    /// A text that differs from the payload's bytes: percent-decoded, joined.
    #[inline(always)]
    fn leaf_text(&mut self, _: &'static Field, _: Span, _: &[u8]) {}
    /// A group begins. The value is 0, or the place of its text for
    /// [`Kind::Text`](crate::kit::Kind::Text).
    #[inline(always)]
    fn open(&mut self, _: &'static Field, _: u32, _: u64) {}
    /// The innermost group ends.
    #[inline(always)]
    fn close(&mut self, _: u32) {}
    /// A group of fields that are known at once: each with its bytes and its value.
    #[inline(always)]
    fn group<const N: usize>(&mut self, group: &'static Field, span: Span, fields: [Leaf; N]) {
        one_by_one(self, group, span, &fields);
    }
    /// A rule was exercised by the message that is being decoded: kept or not, where, and what is
    /// wrong.
    #[inline(always)]
    fn checked(&mut self, _: &'static Rule, _: bool, _: Span, _: impl FnOnce() -> String) {}
    /// A rule was exercised and kept this many times, by fields with nothing else to report.
    #[inline(always)]
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        for _ in 0..times {
            self.checked(rule, true, Span::default(), String::new);
        }
    }
    /// A known form that deviates: a note under the rule's code; the rule passes.
    #[inline(always)]
    fn noted(&mut self, _: &'static Rule, _: Span, _: impl FnOnce() -> String) {}
    /// A rule was exercised by a message of the past, which the mark names.
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
    /// What is known of the recording round the messages that follow.
    #[inline(always)]
    fn evidence(&mut self, _: Evidence) {}
    /// A server that a list of the message names. Who lists it to whom, the fact after them all
    /// says.
    #[inline(always)]
    fn listed(&mut self, _: SocketAddr) {}
    /// The message shows something that matters beyond its flow.
    #[inline(always)]
    fn fact(&mut self, _: CrossFlowEvent, _: Seen) {}
    /// A rule is broken - at these bytes of the current message, or by one of the past - unless
    /// other flows explain it. Who hears of all flows leaves it to the fact; who sees one takes it
    /// as it is.
    #[inline(always)]
    fn unless_explained(
        &mut self,
        rule: &'static Rule,
        at: Option<Span>,
        fact: CrossFlowEvent,
        seen: Seen,
        detail: impl FnOnce() -> String,
    ) {
        match at {
            Some(at) => self.checked(rule, false, at, detail),
            None => self.recalled(rule, false, fact.evidence(), &seen.mark, detail),
        }
    }
    /// The message is a request to a server, for what this names. Every sending counts.
    #[inline(always)]
    fn asks(&mut self, _: &'static str, _: &Payload<'_>) {}
    /// The message answers a request, of this many bytes, that proved nothing of who sent it: it bore
    /// no challenge of the server.
    #[inline(always)]
    fn reflects(&mut self, _: &'static str, _: u32, _: &Payload<'_>) {}
    /// The message that is being decoded answers this request.
    #[inline(always)]
    fn answers(&mut self, _: Reply) {}
    /// The message that is being decoded is a request: what it is beside those before it, if
    /// that is not [`Sending::New`].
    #[inline(always)]
    fn sent(&mut self, _: Sending) {}
    /// The message is complete: everything since the last `end` belongs to it.
    #[inline(always)]
    fn end(&mut self, _: &'static Message, _: &Payload<'_>) {}
}

/// A field with its bytes and its value.
pub type Leaf = (&'static Field, Span, u64);

/// A group, field by field.
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

/// Inside of an `impl Sink`: fields go to this member, which is a sink.
#[macro_export]
macro_rules! forward_fields {
    ($to:tt) => {
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

/// Inside of an `impl Sink`: what is checked goes to this member, which is a sink.
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
    };
}

/// Passes fields and whole messages on, and nothing that checks: what is shown again was checked
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

/// Looks at nothing: what remains is the decoding itself, and the state it moves.
pub struct Blind;

impl Sink for Blind {}
