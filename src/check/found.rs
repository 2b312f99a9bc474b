//! One finding, with all that a report may say of it.

use std::cell::OnceCell;
use std::net::SocketAddr;

use dissectors::kit::{
    Finding, Message, Payload, Reply, Rule, Severity, Side, Time, TreeView, Verdict, Who,
};

use crate::session::{FlowContext, MessageEvent};

/// How many bytes before and after the bytes in question are shown.
const AROUND: usize = 8;

/// How many bytes of a long run are shown.
const SHOWN: usize = 32;

/// Packets that a finding names, beside the last one.
const FRAMES: usize = 256;

/// A rule that was not simply kept, and where.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which rule.
    pub rule: &'static Rule,
    /// What came of it.
    pub verdict: Verdict,
    /// How much it weighs.
    pub severity: Severity,
    /// Which kind of party is at fault: where the rule is for anybody, what its sender plays.
    pub who: Who,
    /// The party at fault; nobody for the recording's own faults.
    pub party: Option<SocketAddr>,
    /// The flow's number; 0 for none.
    pub flow: u32,
    /// The packets it is about, the last one the one that completed the message; none where no
    /// packet shows it.
    pub frames: Vec<u64>,
    /// How many more there are, before the last.
    pub frames_left_out: u32,
    /// When that was.
    pub time: Time,
    /// Digits of a second that the capture has.
    pub digits: u8,
    /// What is wrong, in this message's own numbers.
    pub detail: String,
    /// The protocol's name; empty for none.
    pub protocol: &'static str,
    /// The message's name; empty where a past message or none is concerned.
    pub message: &'static str,
    /// The first byte in question, in the message.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
    /// Where these bytes begin in the capture file, where the last packet holds them as they are.
    pub file_offset: Option<u64>,
    /// Which of the captures it was found in, or which of the merged files its packet is from, if
    /// that is known.
    pub capture: Option<u32>,
    /// Some of the bytes round it.
    pub excerpt: Option<Excerpt>,
}

/// A few bytes of a message, those in question among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Where the first one is in the message.
    pub start: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Which of them are in question.
    pub marked: std::ops::Range<usize>,
}

/// The current message, which findings may be about.
pub(super) struct AtHand<'m> {
    pub(super) message: &'static Message,
    pub(super) payload: &'m Payload<'m>,
    pub(super) tree: Option<TreeView<'m>>,
    pub(super) reply: Option<&'m Reply>,
    /// The packets that carried it, as findings name them, and how many these leave out: a message
    /// of very many may have very many findings.
    frames: OnceCell<(Vec<u64>, u32)>,
}

impl<'m> AtHand<'m> {
    pub(super) fn of(m: &MessageEvent<'m>, payload: &'m Payload<'m>) -> AtHand<'m> {
        let (message, tree, reply) = (m.message(), m.tree(), m.reply());
        AtHand { message, payload, tree, reply, frames: OnceCell::new() }
    }

    fn frames(&self) -> (Vec<u64>, u32) {
        let named = || {
            let mut frames = Vec::new();
            self.payload.frames(&mut frames);
            let left_out = frames.len().saturating_sub(FRAMES + 1);
            if left_out > 0 {
                frames.drain(FRAMES..FRAMES + left_out);
            }
            (frames, left_out as u32)
        };
        self.frames.get_or_init(named).clone()
    }
}

impl Found {
    /// A finding in the context of its flow; about the current message, or about a past one that its mark names.
    pub(super) fn of(
        finding: &Finding,
        flow_context: &FlowContext,
        at_hand: Option<&AtHand<'_>>,
    ) -> Found {
        let at_hand = at_hand.filter(|_| finding.mark.is_none());
        let (payload, message) = (at_hand.map(|it| it.payload), at_hand.map(|it| it.message));
        let ((frames, frames_left_out), time, side) = match (at_hand, finding.mark) {
            (Some(it), _) => (it.frames(), it.payload.time, it.payload.side),
            (None, Some(mark)) => ((named(mark.frame), 0), mark.time, mark.side),
            (None, None) => ((Vec::new(), 0), Time(0), Side::First),
        };
        let (who, party) = at_fault(finding.rule, side, flow_context, message);
        Found {
            rule: finding.rule,
            verdict: finding.verdict,
            severity: finding.severity,
            who,
            party,
            flow: flow_context.flow.number,
            frames,
            frames_left_out,
            time,
            digits: flow_context.digits,
            detail: finding.detail.clone(),
            protocol: flow_context.protocol.map_or("", |id| id.info().id),
            message: message.map_or("", |message| message.name),
            offset: finding.span.start,
            length: finding.span.len(),
            file_offset: payload
                .and_then(|payload| file_offset(payload, finding.span.start, flow_context.packet)),
            capture: Some(0),
            excerpt: payload.map(|payload| {
                excerpt(payload.bytes, finding.span.start as usize, finding.span.end as usize)
            }),
        }
    }

    /// The same, where this many captures come before its own.
    pub(super) fn of_more(self, captures: u32) -> Found {
        let capture = self.capture.map(|capture| capture.saturating_add(captures));
        Found { capture, ..self }
    }

    /// The packet that it is about: the last of its frames; 0 for none.
    pub fn frame(&self) -> u64 {
        self.frames.last().copied().unwrap_or(0)
    }

    /// Which packet it is about, in words.
    pub fn place(&self) -> String {
        match self.frame() {
            0 => "no packet".to_owned(),
            frame => format!("frame {frame}"),
        }
    }
}

/// Which kind of party a rule holds to account for what one side of a flow says, and which party
/// that is: with the message if it is the current one.
pub(super) fn at_fault(
    rule: &Rule,
    sender: Side,
    flow_context: &FlowContext,
    message: Option<&Message>,
) -> (Who, Option<SocketAddr>) {
    let mut roles = flow_context.roles;
    if let Some(message) = message.filter(|message| message.speaker != Who::Any) {
        roles[sender.index()] = Some(message.speaker);
    }
    let side = party(rule.who, sender, roles);
    let plays = side.and_then(|side| roles[side.index()]).filter(|_| rule.who == Who::Any);
    (plays.unwrap_or(rule.who), side.map(|side| flow_context.flow.ends[side.index()]))
}

/// Which end is the party at fault: the one in that role; of a message that anybody may speak, its
/// sender.
fn party(who: Who, sender: Side, roles: [Option<Who>; 2]) -> Option<Side> {
    match who {
        Who::Capture => None,
        Who::Any => Some(sender),
        who => {
            let plays = |side: Side| roles[side.index()] == Some(who);
            let plays_another = |side: Side| {
                roles[side.index()].is_some_and(|role| role != Who::Any) && !plays(side)
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

fn file_offset(payload: &Payload<'_>, at: u32, (frame, begins): (u64, u64)) -> Option<u64> {
    // Pieces are in the order of the bytes.
    let after = payload.pieces.partition_point(|piece| piece.at <= at);
    let piece = payload.pieces.get(after.checked_sub(1)?)?;
    let holds = piece.frame == frame && at < piece.at.saturating_add(piece.length);
    let piece = Some(piece).filter(|_| holds && !payload.inflated)?;
    Some(begins + u64::from(piece.offset) + u64::from(at - piece.at))
}

/// What is found before the first packet, and what did not happen, is in no packet.
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
    use dissectors::a2s::A2s;
    use dissectors::kit::{Piece, Protocol, Transport};

    use super::*;

    #[test]
    fn of_very_many_packets_the_first_are_named_and_the_last() {
        let end = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let named = |packets: u64| {
            let piece = |at: u64| Piece { at: at as u32, length: 1, frame: 2 * at + 1, offset: 42 };
            let pieces = Vec::from_iter((0..packets).rev().map(piece));
            let payload = Payload {
                bytes: &[],
                pieces: &pieces,
                inflated: false,
                headers: 0,
                frame: 2 * packets + 1,
                time: Time(0),
                side: Side::First,
                from: end(1),
                to: end(2),
                flow: 1,
                transport: Transport::Tcp,
                lost: false,
                hash: None,
            };
            let (message, frames) = (A2s::INFO.messages[0], OnceCell::new());
            AtHand { message, payload: &payload, tree: None, reply: None, frames }.frames()
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
