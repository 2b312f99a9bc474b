//! What users read: views of the one decoded tree.
//!
//! A report is handed every message with its annotated fields and its findings, in capture order,
//! and appends to a buffer. It decodes nothing, checks nothing, opens nothing, and writes no name
//! of its own but those of the envelope: fields, messages and rules are named where they are
//! declared.
//!
//! - [`json`]: one object a line, for scripts.
//! - [`text`]: one line a message, the annotated fields and the bytes beneath it, for people.
//! - [`columns`]: chosen fields of messages as a table.
//! - [`check`]: verdicts, and the catalogue of rules.
//! - [`fields`]: the catalogue of fields.
//! - [`flows`]: the rows of `gamewire flows`.
//! - [`html`]: the page of `gamewire report`.
//! - [`ladder`]: who said what to whom, as a diagram.
//! - [`summary`]: the tables of `gamewire summary`.
//! - [`paint`]: the only place that knows colours.

#[cfg(feature = "cli")]
pub mod abuse;
#[cfg(feature = "cli")]
pub mod abuse_report;
#[cfg(feature = "cli")]
pub mod check;
pub(crate) mod clock;
#[cfg(feature = "cli")]
pub mod columns;
#[cfg(feature = "cli")]
pub mod diagnose;
mod digits;
#[cfg(feature = "cli")]
pub mod fields;
#[cfg(feature = "cli")]
pub mod firewall;
#[cfg(feature = "cli")]
pub mod flows;
#[cfg(feature = "cli")]
pub mod html;
pub mod json;
#[cfg(feature = "cli")]
pub mod ladder;
#[cfg(feature = "cli")]
mod markdown;
#[cfg(feature = "cli")]
pub mod paint;
#[cfg(feature = "cli")]
pub mod summary;
#[cfg(test)]
mod test_messages;
#[cfg(feature = "cli")]
pub mod text;
mod view;

pub use clock::{Stamp, TimeStyle};
#[cfg(feature = "cli")]
use text::parts as comment_parts;

use std::fmt;

use dissectors::Id;
use dissectors::kit::{Finding, Info, Message, Node, Payload, Reply, Time, TreeView};

use crate::session::{IcmpEvent, MessageEvent};

/// One message as a report sees it.
#[derive(Clone, Copy)]
pub struct Envelope<'a> {
    /// The protocol it belongs to.
    pub info: &'static Info,
    /// Which message of it.
    pub message: &'static Message,
    /// The bytes it was decoded from, and where they were recorded.
    pub payload: &'a Payload<'a>,
    /// Its fields.
    pub tree: TreeView<'a>,
    /// What was found in it.
    pub findings: &'a [Finding],
    /// How many more were found.
    pub findings_left_out: u64,
    /// Digits of a second that the capture has: 6, or 9 for anything finer.
    pub digits: u8,
    /// The request that it answers, where it is a response to one.
    pub reply: Option<&'a Reply>,
    /// The packet that its own is a copy of, where the datagram was doubled on the way.
    pub copy_of: Option<u64>,
    /// The tunnels that its packets passed through, if any.
    pub via: Option<&'a dyn fmt::Display>,
}

impl<'a> Envelope<'a> {
    /// A message of a session, with `payload` taken from it; `None`: its fields were not asked for.
    pub fn of(m: &MessageEvent<'a>, payload: &'a Payload<'a>) -> Option<Envelope<'a>> {
        let (context, checked) = (m.context(), m.checked());
        Some(Envelope {
            info: Id::info(context.protocol?),
            message: m.message(),
            payload,
            tree: m.tree()?,
            findings: checked.findings,
            findings_left_out: checked.findings_left_out(),
            digits: context.digits,
            reply: m.reply(),
            copy_of: context.copy_of,
            via: None,
        })
    }
}

/// Fields that are shown of any decompressed message.
const INFLATED: usize = 512;

impl<'a> Envelope<'a> {
    /// The same message, which was sent in this many bytes, with no more of its fields than anyone reads: a
    /// few compressed bytes may stand for any number. `room` holds those that are left.
    #[must_use]
    pub fn brief<'r>(self, length: u64, room: &'r mut Vec<Node>) -> Envelope<'r>
    where
        'a: 'r,
    {
        if !self.payload.inflated {
            return self;
        }
        let most = INFLATED.saturating_add(2 * length as usize);
        Envelope { tree: self.tree.first(most, room), ..self }
    }
}

/// One format. Messages come in the order of the capture; the text they become is appended.
pub trait Report {
    /// Appends what is above a message of this time, if something does.
    fn heading(&mut self, _: Time, _: &mut Vec<u8>) {}

    /// Appends one message. Returns where its line ends: what [`Report::icmp`] says belongs there.
    fn message(&mut self, m: &Envelope<'_>, out: &mut Vec<u8>) -> usize;

    /// Appends what still waits, because it is laid out with what comes after it.
    fn rest(&mut self, _: &mut Vec<u8>) {}

    /// Appends what is put into the line of a message that did not arrive.
    fn icmp(&self, notes: &mut dyn Iterator<Item = &IcmpEvent>, out: &mut Vec<u8>);

    /// Appends a line of its own about a message that was written before. Says whether there is
    /// one.
    fn icmp_late(&mut self, _note: &IcmpEvent, _out: &mut Vec<u8>) -> bool {
        false
    }
}

/// Formats into bytes, which cannot fail.
fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = out.write_fmt(text);
}
