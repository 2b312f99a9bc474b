//! One finding, with all that a report may say of it.

use std::net::SocketAddr;

use dissectors::kit::{Finding, Message, Payload, Rule, Severity, Side, Time, Verdict, Who};

use crate::session::Scene;

/// How many bytes before and behind the bytes in question are shown.
const AROUND: usize = 8;

/// How many bytes of a long run are shown.
const SHOWN: usize = 32;

/// Packets that a finding names.
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
    /// When that was.
    pub time: Time,
    /// Digits behind the second that the capture has.
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
    /// Where the first one stands in the message.
    pub start: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Which of them are in question.
    pub marked: std::ops::Range<usize>,
}

impl Found {
    /// A finding in its scene; about `message`, or about a past one that its mark names.
    pub(super) fn of(
        finding: Finding,
        scene: &Scene,
        message: Option<(&'static Message, &Payload<'_>)>,
    ) -> Found {
        let message = message.filter(|_| finding.mark.is_none());
        let (frames, time, side) = match (&message, finding.mark) {
            (Some((_, payload)), _) => (frames(payload), payload.time, payload.side),
            (None, Some(mark)) => (named(mark.frame), mark.time, mark.side),
            (None, None) => (Vec::new(), Time(0), Side::First),
        };
        let (who, party) = at_fault(finding.rule, side, scene, message.map(|(it, _)| it));
        Found {
            rule: finding.rule,
            verdict: finding.verdict,
            severity: finding.severity,
            who,
            party,
            flow: scene.flow.number,
            frames,
            time,
            digits: scene.digits,
            detail: finding.detail,
            protocol: scene.protocol.map_or("", |id| id.info().id),
            message: message.as_ref().map_or("", |(message, _)| message.name),
            offset: finding.span.start,
            length: finding.span.len(),
            file_offset: message
                .as_ref()
                .and_then(|(_, payload)| file_offset(payload, finding.span.start, scene.packet)),
            capture: Some(0),
            excerpt: message.map(|(_, payload)| {
                excerpt(payload.bytes, finding.span.start as usize, finding.span.end as usize)
            }),
        }
    }

    /// The same, where so many captures stand before its own.
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
/// that is: with the message if it is the one at hand.
pub(super) fn at_fault(
    rule: &Rule,
    sender: Side,
    scene: &Scene,
    message: Option<&Message>,
) -> (Who, Option<SocketAddr>) {
    let mut roles = scene.roles;
    if let Some(message) = message.filter(|message| message.speaker != Who::Any) {
        roles[sender.index()] = Some(message.speaker);
    }
    let side = party(rule.who, sender, roles);
    let plays = side.and_then(|side| roles[side.index()]).filter(|_| rule.who == Who::Any);
    (plays.unwrap_or(rule.who), side.map(|side| scene.flow.ends[side.index()]))
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
    // Pieces stand in the order of the bytes.
    let behind = payload.pieces.partition_point(|piece| piece.at <= at);
    let piece = payload.pieces.get(behind.checked_sub(1)?)?;
    let holds = piece.frame == frame && at < piece.at.saturating_add(piece.length);
    let piece = Some(piece).filter(|_| holds && !payload.inflated)?;
    Some(begins + u64::from(piece.offset) + u64::from(at - piece.at))
}

fn frames(payload: &Payload<'_>) -> Vec<u64> {
    let pieces = payload.pieces.iter().take(FRAMES).map(|piece| piece.frame);
    let mut frames: Vec<u64> = pieces.chain([payload.frame]).collect();
    frames.sort_unstable();
    frames.dedup();
    frames
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
