//! Output formats: views of the decoded tree.
//!
//! A report gets every message with its annotated fields and its findings, in capture order, and
//! appends to a buffer. It decodes, checks and opens nothing, and uses no names of its own except
//! those of the envelope: fields, messages and rules are named where they are declared.
//!
//! [`json`]: one object a line, for scripts. [`text`]: one line a message, with annotated fields
//! and bytes, for people. [`columns`]: chosen fields of messages as a table. [`check`]: verdicts,
//! and the catalogue of rules. [`causes`]: the causes of `diagnose`. [`fields`]: the catalogue of
//! fields. [`table`], [`lines`]: the rows of any table for people and for scripts; [`tables`]: the
//! catalogue of tables and their columns. [`html`]: the page of `gamewire report`. [`answer`],
//! [`conformance`]: what is wrong in a capture, in words. [`ladder`]: conversations as a diagram. [`summary`]: the tables of `gamewire summary`. [`paint`]: the only
//! place that knows colours.

#[cfg(feature = "commands")]
pub mod abuse;
#[cfg(feature = "commands")]
mod abuse_figures;
#[cfg(feature = "commands")]
mod abuse_filters;
#[cfg(feature = "commands")]
pub mod abuse_report;
#[cfg(feature = "commands")]
pub mod answer;
#[cfg(feature = "commands")]
pub mod causes;
#[cfg(feature = "commands")]
pub mod check;
pub(crate) mod clock;
#[cfg(feature = "commands")]
pub mod columns;
#[cfg(feature = "commands")]
pub mod conformance;
#[cfg(feature = "commands")]
pub mod coverage;
#[cfg(feature = "commands")]
pub mod diagnose;
mod digits;
#[cfg(feature = "commands")]
pub mod fields;
#[cfg(feature = "commands")]
pub mod firewall;
#[cfg(feature = "commands")]
pub mod html;
pub mod json;
#[cfg(feature = "commands")]
pub mod ladder;
#[cfg(feature = "commands")]
pub mod lines;
#[cfg(feature = "commands")]
mod markdown;
#[cfg(feature = "commands")]
pub mod paint;
#[cfg(feature = "commands")]
mod ranges;
pub(crate) mod spreadsheet;
#[cfg(feature = "commands")]
pub mod summary;
#[cfg(feature = "commands")]
pub mod table;
#[cfg(feature = "commands")]
pub mod tables;
#[cfg(test)]
mod test_messages;
#[cfg(feature = "commands")]
pub mod text;
#[cfg(feature = "commands")]
mod text_table;
mod view;
#[cfg(feature = "commands")]
mod xdp;

pub use clock::{TimeFormatter, TimeStyle};
#[cfg(feature = "commands")]
use text::{FindingText, parts as comment_parts};

use std::fmt;

use dissectors::kit::{Finding, Sending, Time};

use crate::message::MessageRef;
use crate::session::{Checked, ExchangeEffect, IcmpEvent, MessageEvent, UnansweredRequest};

/// One message with what only reports show beside it.
#[derive(Clone, Copy)]
pub struct Envelope<'a> {
    /// The message.
    pub message: MessageRef<'a>,
    /// Number of digits of a second in the capture's times: 6, or 9 for anything finer.
    pub digits: u8,
    /// Its effect on the exchanges of its flow.
    pub exchange: ExchangeEffect,
    /// How it relates to earlier requests, if it is a request.
    pub sending: Sending,
    /// The tunnels that its packets passed through, if any.
    pub via: Option<&'a dyn fmt::Display>,
}

impl<'a> Envelope<'a> {
    /// A message of a session; `None`: its fields were not requested.
    pub fn of(m: &MessageEvent<'a>) -> Option<Envelope<'a>> {
        let (message, digits) = (m.to_ref(), m.context().digits);
        message.tree?;
        let (exchange, sending) = (m.exchange(), m.sending());
        Some(Envelope { message, digits, exchange, sending, via: None })
    }

    /// The same message with these findings.
    #[must_use]
    pub fn with_findings(self, findings: &'a [Finding]) -> Envelope<'a> {
        let checked = Checked { findings, ..self.message.checked };
        Envelope { message: MessageRef { checked, ..self.message }, ..self }
    }
}

/// The note at a request that was not answered.
#[cfg(feature = "commands")]
const NO_ANSWER: &str = "no answer";

/// One format. Messages come in the order of the capture; their text is appended.
pub trait Report {
    /// Appends a heading above a message of this time, if needed.
    fn heading(&mut self, _: Time, _: &mut Vec<u8>) {}

    /// Appends one message. Returns the end of its line, where [`Report::icmp`] inserts notes.
    fn message(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) -> usize;

    /// Appends buffered text, in formats whose layout depends on later messages.
    fn rest(&mut self, _: &mut Vec<u8>) {}

    /// Appends the notes for the line of a message that did not arrive.
    fn icmp(&self, notes: &mut dyn Iterator<Item = &IcmpEvent>, out: &mut Vec<u8>);

    /// Appends a separate line about a message that was already written. Returns whether the format
    /// has such lines.
    fn icmp_late(&mut self, _note: &IcmpEvent, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Appends the note for the line of a request that was not answered, if the format has such notes.
    fn unanswered(&self, _out: &mut Vec<u8>) {}

    /// Appends a separate line about such a request, if its own line was already written.
    fn unanswered_late(&mut self, _request: UnansweredRequest, _out: &mut Vec<u8>) {}
}

/// Formats into bytes, which cannot fail.
fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = out.write_fmt(text);
}

/// What is written, as text.
#[cfg(feature = "commands")]
fn to_text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}
