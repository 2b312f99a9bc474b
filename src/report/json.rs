//! Messages as JSON, one object a line: the envelope.
//!
//! Written directly from the tree into a reused buffer: no intermediate values, and no allocation
//! per message or field. All keys except the envelope's own come from the tree.

mod fields;
mod keys;
mod names;
mod nodes;
mod rows;
mod short;
mod visible;
mod write;

use std::net::SocketAddr;

use dissectors::kit::{Finding, Payload};

use self::fields::{Projection, Scratch};
#[cfg(feature = "commands")]
pub(super) use self::visible::line;
#[cfg(feature = "commands")]
pub(super) use self::write::hex;
use self::write::ip4;
pub(crate) use self::write::string;
use crate::message::MessageRef;
use crate::report::clock::Clock;
use crate::report::digits::unsigned;
use crate::report::view::MessageView;
use crate::report::{Envelope, Report, put};
use crate::session::IcmpEvent;

pub(super) use self::write::Escaped;

/// One object a line.
#[derive(Default)]
pub struct Json {
    with_tree: bool,
    /// The members about the capture in each object.
    capture: Vec<u8>,
    clock: Clock,
    frames: Vec<u64>,
    scratch: Scratch,
}

impl Json {
    /// With `tree` beside `fields`, or without.
    pub fn new(with_tree: bool) -> Json {
        Json { with_tree, ..Json::default() }
    }

    /// For several captures: each object names its own.
    #[must_use]
    pub fn of(self, capture: &str) -> Json {
        let mut out = Vec::new();
        of_capture(capture, &mut out);
        Json { capture: out, ..self }
    }

    /// The tree alone: `,"tree":[...]`.
    pub(super) fn tree(&mut self, m: &MessageRef<'_>, out: &mut Vec<u8>) {
        let view = MessageView::of(m);
        let line = std::mem::take(out);
        let scratch = &mut self.scratch;
        let mut projection = Projection { view, scratch, out: line, has_beside: false };
        projection.nodes();
        *out = projection.out;
    }

    /// Its fields only: an object. Returns the members next to them as another one, if any.
    pub(crate) fn fields(&mut self, m: &MessageRef<'_>, out: &mut String) -> Option<String> {
        let view = MessageView::of(m);
        let (line, scratch) = (std::mem::take(out).into_bytes(), &mut self.scratch);
        let mut projection = Projection { view, scratch, out: line, has_beside: false };
        projection.object_of_fields();
        *out = String::from_utf8(std::mem::take(&mut projection.out)).unwrap_or_default();
        if !projection.has_beside {
            return None;
        }
        projection.beside();
        let beside = String::from_utf8(projection.out).unwrap_or_default();
        Some(format!("{{{}}}", beside.trim_start_matches(',')))
    }

    fn frames(&mut self, payload: &Payload<'_>, out: &mut Vec<u8>) {
        payload.frames(&mut self.frames);
        for (index, &frame) in self.frames.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            unsigned(out, frame);
        }
    }

    fn head(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) {
        let payload = &m.message.payload;
        out.extend_from_slice(b"{\"frame\":");
        let start = out.len();
        unsigned(out, payload.frame);
        let frame = start..out.len();
        out.extend_from_slice(b",\"frames\":[");
        if payload.pieces.iter().all(|piece| piece.frame == payload.frame) {
            out.extend_from_within(frame);
        } else {
            self.frames(payload, out);
        }
        out.extend_from_slice(b"],\"time\":\"");
        self.clock.rfc3339(payload.time, m.digits, out);
        out.extend_from_slice(b"\",\"flow\":");
        unsigned(out, payload.flow.into());
        out.extend_from_slice(b",\"transport\":\"");
        out.extend_from_slice(payload.transport.name().as_bytes());
        out.extend_from_slice(b"\",\"src\":\"");
        address(out, payload.from);
        out.extend_from_slice(b"\",\"dst\":\"");
        address(out, payload.to);
        out.extend_from_slice(b"\",\"protocol\":\"");
        out.extend_from_slice(m.message.protocol_name().as_bytes());
        out.extend_from_slice(b"\",\"message\":\"");
        out.extend_from_slice(m.message.name().as_bytes());
        out.extend_from_slice(b"\",\"length\":");
        unsigned(out, payload.sent());
        if let Some(via) = m.via {
            out.extend_from_slice(b",\"via\":\"");
            let _ = std::fmt::write(&mut Escaped(out), format_args!("{via}"));
            out.push(b'"');
        }
    }
}

impl Report for Json {
    fn message(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) -> usize {
        self.head(m, out);
        request(m, out);
        let view = MessageView::of(&m.message);
        let line = std::mem::take(out);
        let mut projection =
            Projection { view, scratch: &mut self.scratch, out: line, has_beside: false };
        projection.fields();
        if projection.has_beside {
            projection.beside();
        }
        if self.with_tree {
            projection.nodes();
        }
        *out = projection.out;
        if view.tree.left_out > 0 {
            out.extend_from_slice(b",\"fields_left_out\":");
            unsigned(out, view.tree.left_out.into());
        }
        out.extend_from_slice(b",\"findings\":[");
        let checked = m.message.checked;
        for (index, found) in checked.findings.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            finding(found, out);
        }
        out.push(b']');
        let left_out = checked.findings_left_out();
        if left_out > 0 {
            out.extend_from_slice(b",\"findings_left_out\":");
            unsigned(out, left_out);
        }
        out.extend_from_slice(&self.capture);
        let end = out.len();
        out.extend_from_slice(b"}\n");
        end
    }

    fn icmp(&self, notes: &mut dyn Iterator<Item = &IcmpEvent>, out: &mut Vec<u8>) {
        for (index, note) in notes.enumerate() {
            out.extend_from_slice(if index > 0 { b"," } else { b",\"icmp\":[" });
            let IcmpEvent { frame, from, kind: [kind, code], meaning, mtu, .. } = note;
            put(
                out,
                format_args!(
                    "{{\"frame\":{frame},\"from\":\"{from}\",\"type\":{kind},\
                     \"code\":{code},\"meaning\":\"{meaning}\""
                ),
            );
            if let Some(mtu) = mtu {
                put(out, format_args!(",\"mtu\":{mtu}"));
            }
            out.push(b'}');
        }
        out.push(b']');
    }
}

/// The request of a response, and the original of a copy.
fn request(m: &Envelope<'_>, out: &mut Vec<u8>) {
    if let Some(reply) = m.message.reply {
        let now = m.message.payload.time;
        out.extend_from_slice(b",\"request\":");
        unsigned(out, reply.request);
        out.extend_from_slice(b",\"response_time\":");
        seconds(out, now.since(reply.sent), m.digits);
        if reply.began != reply.sent {
            out.extend_from_slice(b",\"waited\":");
            seconds(out, now.since(reply.began), m.digits);
        }
        if reply.tries > 1 {
            out.extend_from_slice(b",\"tries\":");
            unsigned(out, reply.tries.into());
        }
    }
    if let Some(frame) = m.message.copy_of {
        out.extend_from_slice(b",\"copy_of\":");
        unsigned(out, frame);
    }
}

/// Nanoseconds as seconds, with as many digits as the capture has.
pub(super) fn seconds(out: &mut Vec<u8>, nanoseconds: i64, digits: u8) {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    match digits {
        6 => put(out, format_args!("{whole}.{:06}", rest / 1000)),
        _ => put(out, format_args!("{whole}.{rest:09}")),
    }
}

/// The member that says which capture an object is of.
pub(super) fn of_capture(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"capture\":\"");
    string(out, name.as_bytes());
    out.push(b'"');
}

fn finding(found: &Finding, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"rule\":\"");
    put(out, format_args!("{}", found.rule.code));
    for (key, value) in [
        ("\",\"slug\":\"", found.rule.slug),
        ("\",\"severity\":\"", found.severity.name()),
        ("\",\"verdict\":\"", found.verdict.name()),
    ] {
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(value.as_bytes());
    }
    out.extend_from_slice(b"\",\"message\":\"");
    string(out, found.detail.as_bytes());
    out.extend_from_slice(b"\",\"offset\":");
    unsigned(out, found.span.start.into());
    out.extend_from_slice(b",\"length\":");
    unsigned(out, found.span.len().into());
    if let Some(mark) = found.mark {
        out.extend_from_slice(b",\"frame\":");
        unsigned(out, mark.frame);
    }
    out.push(b'}');
}

/// `10.0.0.2:27015`, `[::1]:27015`.
pub(super) fn address(out: &mut Vec<u8>, address: SocketAddr) {
    match address {
        SocketAddr::V4(address) => ip4(out, address),
        SocketAddr::V6(address) => put(out, format_args!("{address}")),
    }
}

#[cfg(test)]
mod tests;
