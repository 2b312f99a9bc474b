//! Messages as text: a line each, easy to read and to search.
//!
//! A line is never broken, whatever a packet contains: terminal controls are escaped, and a text
//! that is not a plain word is in quotes; a quote inside is written `\x22`. With [`DetailLevel::fields`]
//! the annotated fields follow the line, where a backslash in quotes is written `\\`; with
//! [`DetailLevel::bytes`] the bytes.

mod dump;
mod lines;
mod nodes;
mod summary;
mod value;

pub use self::lines::{FieldLine, field_lines};

use std::fmt::Display;

use dissectors::kit::{Finding, RuleCounts, Severity, Time, Verdict};

use self::dump::Dump;
use self::nodes::FindingNodes;
use crate::message::MessageRef;
use crate::report::clock::TimeFormatter;
use crate::report::json::address;
use crate::report::paint::{Paint, Tone};
use crate::report::view::MessageView;
use crate::report::{Envelope, NO_ANSWER, Report, put};
use crate::session::{IcmpEvent, UnansweredRequest};

/// The details after the line of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetailLevel {
    /// The annotated fields: `-v`.
    pub fields: bool,
    /// The bytes, each field's bytes marked: `-x`.
    pub bytes: bool,
    /// All bytes of decompressed messages, not only the first.
    pub full: bool,
}

/// One line per message. The date is printed above the first message of a day, so messages must
/// come in reading order.
pub struct Text {
    detail: DetailLevel,
    paint: Paint,
    stamp: TimeFormatter,
    /// The day that was written last.
    day: Vec<u8>,
    frames: Vec<u64>,
    /// The findings of the current message.
    counts: RuleCounts,
    placed: FindingNodes,
    dump: Dump,
}

impl Text {
    /// Widths of `source > destination`, and of the protocol and the message: longer texts shift
    /// the rest of the line.
    const ENDS_WIDTH: usize = 36;
    const NAMES_WIDTH: usize = 22;

    /// With this much detail, and these colours.
    pub fn new(detail: DetailLevel, paint: Paint) -> Text {
        Text {
            detail,
            paint,
            stamp: TimeFormatter::default(),
            day: Vec::new(),
            frames: Vec::new(),
            counts: RuleCounts::default(),
            placed: FindingNodes::default(),
            dump: Dump::default(),
        }
    }

    /// With times in this style.
    #[must_use]
    pub fn times(self, stamp: TimeFormatter) -> Text {
        Text { stamp, ..self }
    }

    fn date(&mut self, time: Time, out: &mut Vec<u8>) {
        let mut day = Vec::new();
        self.stamp.day(time, &mut day);
        if day == self.day {
            return;
        }
        self.paint.paint(Tone::Faint, out, |out| {
            out.extend_from_slice(b"-- ");
            out.extend_from_slice(&day);
            out.extend_from_slice(b" --");
        });
        self.day = day;
        out.push(b'\n');
    }

    fn line(&mut self, m: &Envelope<'_>, view: MessageView<'_>, out: &mut Vec<u8>) {
        let (paint, payload) = (self.paint, &m.message.payload);
        paint.paint(Tone::Faint, out, |out| {
            self.stamp.brief(payload.time, m.digits, out);
            put(out, format_args!(" {:>6}", payload.frame));
        });
        out.extend_from_slice(b"  ");
        let width = paint.paint(Tone::Endpoints, out, |out| {
            let start = out.len();
            address(out, payload.from);
            out.extend_from_slice(b" > ");
            address(out, payload.to);
            out.len() - start
        });
        pad(out, width, Text::ENDS_WIDTH);
        let (protocol, message) = (m.message.protocol_name(), m.message.name());
        paint.paint(Tone::Protocol, out, |out| out.extend_from_slice(protocol.as_bytes()));
        out.push(b' ');
        paint.paint(Tone::Message, out, |out| out.extend_from_slice(message.as_bytes()));
        pad(out, protocol.len() + 1 + message.len(), Text::NAMES_WIDTH);
        summary::write(&m.message, view, out);
        self.carriage(m, out);
        self.findings(m.message.checked.findings, out);
        trim(out);
        out.push(b'\n');
    }

    /// How the message was carried, if it was not a single packet.
    fn carriage(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) {
        let Envelope { message, via, .. } = m;
        message.payload.frames(&mut self.frames);
        let is_verbose = self.detail.fields;
        let mut note = |text: &dyn Display| {
            trim(out);
            self.paint.paint(Tone::Faint, out, |out| put(out, format_args!("  ({text})")));
        };
        if self.frames.len() > 1 {
            note(&format_args!("{} packets", self.frames.len()));
        }
        if let Some(frame) = message.copy_of {
            note(&format_args!("copy of {frame}"));
        }
        if let Some(reply) = message.reply.filter(|_| is_verbose) {
            let milliseconds = message.payload.time.since(reply.sent) as f64 / 1e6;
            note(&format_args!("answers {} after {milliseconds:.3} ms", reply.request));
        }
        if message.payload.lost {
            note(&"not whole in the capture");
        }
        let (fields, findings) = (message.fields_left_out(), message.checked.findings_left_out());
        if fields > 0 {
            let is_cut = message.payload.inflated && !self.detail.full;
            let how = if is_cut { "; --full shows them" } else { "" };
            note(&format_args!("{fields} fields left out{how}"));
        }
        if findings > 0 {
            note(&format_args!("{findings} findings left out"));
        }
        if let Some(via) = via {
            note(&format_args!("via {}", crate::text::escaped(&via.to_string())));
        }
    }

    /// Each rule once, at the end of the line: with its text, unless that follows below. Notes are
    /// shown only with the fields.
    fn findings(&mut self, findings: &[Finding], out: &mut Vec<u8>) {
        let is_verbose = self.detail.fields;
        let is_reported = |it: &&Finding| is_verbose || it.severity > Severity::Note;
        for finding in findings.iter().filter(is_reported) {
            self.counts.of_mut(finding.rule).count(finding.verdict, 1);
        }
        for finding in findings.iter().filter(is_reported) {
            let count = std::mem::take(self.counts.of_mut(finding.rule)).findings();
            if count == 0 {
                continue;
            }
            trim(out);
            out.extend_from_slice(b"  ");
            self.paint.paint(finding_tone(finding), out, |out| {
                name(finding, out);
                if !self.detail.fields {
                    detail(finding, out);
                }
                if count > 1 {
                    put(out, format_args!(" (and {} more)", count - 1));
                }
            });
        }
    }

    /// The time and the packet of a line of its own.
    fn place(&mut self, frame: u64, time: Time, digits: u8, out: &mut Vec<u8>) {
        self.date(time, out);
        self.paint.paint(Tone::Faint, out, |out| {
            self.stamp.brief(time, digits, out);
            put(out, format_args!(" {frame:>6}"));
        });
    }

    /// `! port unreachable, from 10.0.0.2`
    fn icmp_note(&self, note: &IcmpEvent, out: &mut Vec<u8>) {
        self.paint.paint(Tone::Finding(Severity::Warning, Verdict::Fail), out, |out| {
            put(out, format_args!("! {}, from {}", note.meaning, note.from));
        });
    }
}

impl Report for Text {
    fn heading(&mut self, time: Time, out: &mut Vec<u8>) {
        self.date(time, out);
    }

    fn message(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) -> usize {
        let (view, payload) = (MessageView::of(&m.message), &m.message.payload);
        self.line(m, view, out);
        self.stamp.seen(payload.time);
        let end = out.len().saturating_sub(1);
        if self.detail.fields {
            self.placed.write(view, m.message.checked.findings, self.paint, out);
        }
        if self.detail.bytes {
            self.dump.write(view, payload.inflated, self.detail.full, self.paint, out);
        }
        end
    }

    fn icmp(&self, notes: &mut dyn Iterator<Item = &IcmpEvent>, out: &mut Vec<u8>) {
        for note in notes {
            out.extend_from_slice(b"  ");
            self.icmp_note(note, out);
        }
    }

    fn icmp_late(&mut self, note: &IcmpEvent, out: &mut Vec<u8>) -> bool {
        self.place(note.frame, note.time, note.digits, out);
        out.extend_from_slice(b"  ");
        self.icmp_note(note, out);
        put(out, format_args!(", for packet {}\n", note.message));
        true
    }

    fn unanswered(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"  ");
        self.paint.paint(Tone::Finding(Severity::Warning, Verdict::Fail), out, |out| {
            out.extend_from_slice(NO_ANSWER.as_bytes());
        });
    }

    fn unanswered_late(&mut self, request: UnansweredRequest, out: &mut Vec<u8>) {
        let UnansweredRequest { frame, time, digits, .. } = request;
        self.place(frame, time, digits, out);
        self.unanswered(out);
        out.push(b'\n');
    }
}

/// A finding in words.
#[derive(Clone, Debug)]
pub struct FindingText {
    /// Its severity.
    pub severity: Severity,
    /// The verdict.
    pub verdict: Verdict,
    /// The rule, and what is wrong.
    pub text: String,
}

impl FindingText {
    /// `error`, or `error?` if it is inconclusive.
    pub fn word(&self) -> String {
        let mark = if self.verdict == Verdict::Inconclusive { "?" } else { "" };
        format!("{}{mark}", self.severity.name())
    }
}

/// The summary of a message, and its findings one by one.
pub fn parts(m: &MessageRef<'_>) -> (String, Vec<FindingText>) {
    let mut out = Vec::new();
    summary::write(m, MessageView::of(m), &mut out);
    trim(&mut out);
    let findings = m.checked.findings.iter().map(|found| {
        let detail = crate::text::escaped(&found.detail);
        let text = format!("{} {}: {detail}", found.rule.code, found.rule.slug);
        FindingText { severity: found.severity, verdict: found.verdict, text }
    });
    (String::from_utf8_lossy(&out).into_owned(), findings.collect())
}

/// The summary of a message in a line, and its findings in further lines: for other programs.
pub fn comment(m: &MessageRef<'_>) -> String {
    let mut out = format!("{} {}  ", m.protocol_name(), m.name()).into_bytes();
    summary::write(m, MessageView::of(m), &mut out);
    trim(&mut out);
    for found in m.checked.findings {
        out.push(b'\n');
        name(found, &mut out);
        detail(found, &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn finding_tone(finding: &Finding) -> Tone {
    Tone::Finding(finding.severity, finding.verdict)
}

/// `! error A2S030 player-count`; with `?` if inconclusive.
fn name(finding: &Finding, out: &mut Vec<u8>) {
    let mark = if finding.verdict == Verdict::Inconclusive { '?' } else { '!' };
    let (severity, rule) = (finding.severity.name(), finding.rule);
    put(out, format_args!("{mark} {severity} {} {}", rule.code, rule.slug));
}

/// `: Num Players says 12, the packet holds 11 entries`
fn detail(finding: &Finding, out: &mut Vec<u8>) {
    if let Some(mark) = finding.mark {
        put(out, format_args!(" (packet {})", mark.frame));
    }
    put(out, format_args!(": {}", crate::text::escaped(&finding.detail)));
}

/// Spaces up to the next column, at least two.
fn pad(out: &mut Vec<u8>, width: usize, column: usize) {
    out.resize(out.len() + column.saturating_sub(width) + 2, b' ');
}

/// Removes trailing spaces.
fn trim(out: &mut Vec<u8>) {
    let spaces = out.iter().rev().take_while(|&&byte| byte == b' ').count();
    out.truncate(out.len() - spaces);
}

#[cfg(test)]
mod tests;
