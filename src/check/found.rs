//! One finding with everything that reports show.

use std::cell::OnceCell;
use std::net::SocketAddr;

use dissectors::kit::{Finding, Payload, Role, Rule, Severity, Side, Time, Verdict};
use dissectors::ledger::AttackOn;

use crate::message::MessageRef;
use crate::session::FlowContext;

/// Number of bytes shown before and after the bytes in question.
const AROUND: usize = 8;

/// Number of bytes shown of a long range.
const SHOWN: usize = 32;

/// Limit: packets that a finding of `check` names | {}, and the last; `dissect` names all | `frames_left_out`
const FRAMES: usize = 256;

/// A finding and its position.
#[derive(Clone, Debug)]
pub struct ReportedFinding {
    /// Which rule.
    pub rule: &'static Rule,
    /// The verdict.
    pub verdict: Verdict,
    /// The severity.
    pub severity: Severity,
    /// The kind of party at fault: if the rule is for any, the sender's role.
    pub who: Role,
    /// The party at fault; `None` for faults of the recording.
    pub party: Option<SocketAddr>,
    /// The attack, if many sources together are at fault.
    pub attack: Option<AttackOn>,
    /// The endpoint that was asked, if another one responded and several flows together show that.
    pub asked: Option<SocketAddr>,
    /// The client in the exchange that it is about, if several flows together show that.
    pub client: Option<SocketAddr>,
    /// The flow's number; 0 for none.
    pub flow: u32,
    /// The packets that it is about, the last one completed the message; empty if no packet shows
    /// it.
    pub frames: Vec<u64>,
    /// The number of further packets before the last one.
    pub frames_left_out: u32,
    /// The time of the last packet.
    pub time: Time,
    /// Number of digits of a second in the capture's times.
    pub digits: u8,
    /// What is wrong, with the values from this message.
    pub detail: String,
    /// The protocol's name; empty for none.
    pub protocol: &'static str,
    /// The message's name; empty if it is about an earlier message or none.
    pub message: &'static str,
    /// The offset of the bytes in question in the message.
    pub offset: u32,
    /// Their length.
    pub length: u32,
    /// The offset of these bytes in the capture file, if the last packet has them unchanged.
    pub file_offset: Option<u64>,
    /// The capture, or the merged file of its packet, if known.
    pub capture: Option<u32>,
    /// It is about a response that is missing on a flow without any packet of the asked party: proven only if that is heard
    /// in another flow.
    pub if_heard: bool,
    /// Some of the bytes around it.
    pub excerpt: Option<Excerpt>,
}

/// A few bytes of a message, including those in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The offset of the first one in the message.
    pub start: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The range of those in question.
    pub marked: std::ops::Range<usize>,
}

/// The current message, which findings may be about.
pub(super) struct CurrentMessage<'m> {
    pub(super) message: MessageRef<'m>,
    /// The packets that carried it, as findings name them, and the number of those left out.
    /// Cached, since a message of very many packets may have very many findings.
    frames: OnceCell<(Vec<u64>, u32)>,
}

impl<'m> CurrentMessage<'m> {
    pub(super) fn of(message: MessageRef<'m>) -> CurrentMessage<'m> {
        CurrentMessage { message, frames: OnceCell::new() }
    }

    /// The side that sends it, and what it is by that.
    pub(super) fn speaks(&self) -> Option<(Side, Role)> {
        Some((self.message.payload.side, self.message.kind?.speaker))
    }

    fn frames(&self) -> (Vec<u64>, u32) {
        let named = || {
            let mut frames = Vec::new();
            self.message.payload.frames(&mut frames);
            let left_out = frames.len().saturating_sub(FRAMES + 1);
            if left_out > 0 {
                frames.drain(FRAMES..FRAMES + left_out);
            }
            (frames, left_out as u32)
        };
        self.frames.get_or_init(named).clone()
    }
}

impl ReportedFinding {
    /// A finding in the context of its flow, about the current message, or about the earlier one
    /// that its mark identifies.
    pub(super) fn of(
        finding: &Finding,
        flow_context: &FlowContext,
        current: Option<&CurrentMessage<'_>>,
    ) -> ReportedFinding {
        let speaks = current.and_then(CurrentMessage::speaks);
        let current = current.filter(|_| finding.mark.is_none());
        let payload = current.map(|it| &it.message.payload);
        let ((frames, frames_left_out), time, side) = match (current, finding.mark) {
            (Some(it), _) => (it.frames(), it.message.payload.time, it.message.payload.side),
            (None, Some(mark)) => ((named(mark.frame), 0), mark.time, mark.side),
            (None, None) => ((Vec::new(), 0), Time(0), Side::First),
        };
        let (who, party) = at_fault(finding.rule, side, flow_context, speaks);
        let (frame, begins) = flow_context.packet;
        ReportedFinding {
            rule: finding.rule,
            verdict: finding.verdict,
            severity: finding.severity,
            who,
            party,
            attack: None,
            asked: None,
            client: None,
            flow: flow_context.flow.number,
            frames,
            frames_left_out,
            time,
            digits: flow_context.digits,
            detail: finding.detail.clone(),
            protocol: flow_context.protocol.map_or("", |id| id.info().id),
            message: current.map_or("", |it| it.message.name()),
            offset: finding.span.start,
            length: finding.span.len(),
            file_offset: payload
                .and_then(|payload| file_offset(payload, finding.span.start, frame, begins)),
            capture: Some(0),
            if_heard: finding.if_heard,
            excerpt: payload.map(|payload| {
                excerpt(payload.bytes, finding.span.start as usize, finding.span.end as usize)
            }),
        }
    }

    /// The party at fault, if it is not many sources.
    pub fn one_party(&self) -> Option<SocketAddr> {
        self.party.filter(|_| self.attack.is_none())
    }

    /// The party at fault, as reports name it: an endpoint, or many sources.
    pub fn named_party(&self) -> Option<String> {
        let one = || self.party.map(|party| party.to_string());
        self.attack.as_ref().map(AttackOn::to_string).or_else(one)
    }

    /// The party at fault with its role, if it has one.
    pub fn party_with_role(&self) -> Option<String> {
        let one = || self.party.map(|party| format!("{} {party}", self.who.name()));
        self.attack.as_ref().map(AttackOn::to_string).or_else(one)
    }

    /// This finding, with this many captures before its own.
    pub(super) fn of_more(self, captures: u32) -> ReportedFinding {
        let capture = self.capture.map(|capture| capture.saturating_add(captures));
        ReportedFinding { capture, ..self }
    }

    /// The packet that it is about: the last of its frames; 0 for none.
    pub fn frame(&self) -> u64 {
        self.frames.last().copied().unwrap_or(0)
    }

    /// The packet that it is about, as text.
    pub fn place(&self) -> String {
        match self.frame() {
            0 => "no packet".to_owned(),
            frame => format!("frame {frame}"),
        }
    }
}

/// The kind of party at fault for a message of one side, and the party itself. `speaks`: the side that sends the
/// current message, and what it is by that.
fn at_fault(
    rule: &Rule,
    sender: Side,
    flow_context: &FlowContext,
    speaks: Option<(Side, Role)>,
) -> (Role, Option<SocketAddr>) {
    let mut roles = flow_context.roles;
    if let Some((side, speaker)) = speaks.filter(|(_, speaker)| *speaker != Role::Any) {
        roles[side.index()] = Some(speaker);
    }
    let is_known = |role: &Option<Role>| role.is_some_and(|role| role != Role::Any);
    if !roles.iter().any(is_known)
        && let Some(client) = client_by_port(flow_context)
    {
        roles[client.index()] = Some(Role::Client);
    }
    let side = party(rule.who, sender, roles);
    let plays = side.and_then(|side| roles[side.index()]).filter(|_| rule.who == Role::Any);
    (plays.unwrap_or(rule.who), side.map(|side| flow_context.flow.ends[side.index()]))
}

/// The same for results about an earlier message of a side, or else about the current message.
pub(super) fn at_fault_by(
    rule: &Rule,
    side: Option<Side>,
    flow_context: &FlowContext,
    current: Option<&CurrentMessage<'_>>,
) -> Option<(Role, Option<SocketAddr>)> {
    let current = current.filter(|_| side.is_none());
    let sender = side.or(current.map(|it| it.message.payload.side))?;
    Some(at_fault(rule, sender, flow_context, current.and_then(CurrentMessage::speaks)))
}

/// The client of a flow whose messages do not show it: the end without a port of the protocol.
fn client_by_port(flow_context: &FlowContext) -> Option<Side> {
    let ports = flow_context.protocol?.info().ports;
    match flow_context.flow.ends.map(|end| ports.contains(&end.port())) {
        [true, false] => Some(Side::Second),
        [false, true] => Some(Side::First),
        _ => None,
    }
}

/// The party at fault: the end with that role; for a rule about any party, the sender.
fn party(who: Role, sender: Side, roles: [Option<Role>; 2]) -> Option<Side> {
    match who {
        Role::Capture => None,
        Role::Any => Some(sender),
        who => {
            let plays = |side: Side| roles[side.index()] == Some(who);
            let plays_another = |side: Side| {
                roles[side.index()].is_some_and(|role| role != Role::Any) && !plays(side)
            };
            let other = sender.other();
            Some(if plays(sender) {
                sender
            } else if plays(other) || plays_another(sender) {
                other
            } else {
                sender
            })
        }
    }
}

fn file_offset(payload: &Payload<'_>, at: u32, frame: u64, begins: u64) -> Option<u64> {
    // Pieces are sorted by their position.
    let after = payload.pieces.partition_point(|piece| piece.at <= at);
    let piece = payload.pieces.get(after.checked_sub(1)?)?;
    let holds = piece.frame == frame && at < piece.at.saturating_add(piece.length);
    let piece = Some(piece).filter(|_| holds && !payload.inflated)?;
    Some(begins + u64::from(piece.offset) + u64::from(at - piece.at))
}

/// A finding before the first packet, or about a missing message, names no packet.
fn named(frame: u64) -> Vec<u64> {
    if frame == 0 { Vec::new() } else { vec![frame] }
}

fn excerpt(bytes: &[u8], start: usize, end: usize) -> Excerpt {
    let (start, end) = (start.min(bytes.len()), end.min(bytes.len()).min(start + SHOWN));
    let from = start.saturating_sub(AROUND);
    let to = (end.max(start) + AROUND).min(bytes.len());
    let marked = start - from..end.max(start) - from;
    Excerpt { start: from, bytes: bytes.get(from..to).unwrap_or_default().to_vec(), marked }
}

#[cfg(test)]
mod tests {
    use dissectors::kit::Piece;

    use super::*;

    #[test]
    fn of_very_many_packets_the_first_are_named_and_the_last() {
        let named = |packets: u64| {
            let piece = |at: u64| Piece { at: at as u32, length: 1, frame: 2 * at + 1, offset: 42 };
            let pieces = Vec::from_iter((0..packets).rev().map(piece));
            let nowhere = FlowContext::outside(6).flow;
            let payload = nowhere.payload(Side::First, &[], &pieces);
            let payload = Payload { frame: 2 * packets + 1, ..payload };
            CurrentMessage::of(MessageRef::undecoded(payload)).frames()
        };
        assert_eq!(named(0), (vec![1], 0));
        assert_eq!(named(2), (vec![1, 3, 5], 0));
        let (most, left_out) = named(FRAMES as u64);
        assert_eq!((most.len(), most.last(), left_out), (FRAMES + 1, Some(&513), 0));
        let (most, left_out) = named(FRAMES as u64 + 100);
        assert_eq!((most.len(), most.last(), left_out), (FRAMES + 1, Some(&713), 100));
        assert!(most.is_sorted());
        assert_eq!(most.get(FRAMES - 1), Some(&(2 * FRAMES as u64 - 1)));
    }
}
