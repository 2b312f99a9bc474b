//! One message, as filters, tables, checks and reports see it.

mod fields;
mod value;

use dissectors::Id;
pub use dissectors::kit::LeftOut;
use dissectors::kit::{
    Finding, Message, Node, Payload, Purpose, Reply, Rule, Side, TreeView, Verdict,
};
pub(crate) use fields::{FieldPath, Fields};
use serde::{Deserialize, Serialize};
pub use value::Value;

/// A message with its fields and its results of rules. Of an earlier message, of one that is not decoded,
/// or of a single datagram, only some of it is known.
#[derive(Clone, Copy)]
pub struct MessageRef<'a> {
    /// Its protocol, if identified.
    pub protocol: Option<Id>,
    /// The message of the protocol, if known.
    pub kind: Option<&'static Message>,
    /// Its bytes, where they were recorded, its ends and its time.
    pub payload: Payload<'a>,
    /// Its fields, if known.
    pub tree: Option<TreeView<'a>>,
    /// The request that it answers, if it is a response to one.
    pub reply: Option<&'a Reply>,
    /// The original packet, if its datagram is a duplicate.
    pub copy_of: Option<u64>,
    /// Its results of rules.
    pub checked: Checked<'a>,
}

/// The results of rules.
#[derive(Clone, Copy, Default)]
pub struct Checked<'b> {
    /// The findings with a text.
    pub findings: &'b [Finding],
    /// The other findings.
    pub left_out: &'b [LeftOut],
    /// The rules that passed, if requested.
    pub passes: &'b [PassedRule],
}

/// A rule that was passed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PassedRule {
    /// The rule.
    pub rule: &'static Rule,
    /// The sender of the earlier message that passed it; `None`: this message did.
    pub side: Option<Side>,
    /// How often.
    pub times: u64,
}

impl<'b> Checked<'b> {
    /// The number of findings without a text; inconclusive ones do not count.
    pub fn findings_left_out(&self) -> u64 {
        let left_out = self.left_out.iter().filter(|it| it.verdict != Verdict::Inconclusive);
        left_out.map(|it| it.times).sum()
    }

    /// All findings, without their texts.
    pub fn without_texts(&self) -> impl Iterator<Item = LeftOut> + 'b {
        self.findings.iter().map(LeftOut::of).chain(self.left_out.iter().copied())
    }

    /// Those by which a rule is broken, or that are notes: inconclusive ones show neither.
    pub fn broken(&self) -> impl Iterator<Item = LeftOut> + 'b {
        self.without_texts().filter(|it| it.verdict != Verdict::Inconclusive)
    }
}

/// Limit: fields that `dissect` shows of a decompressed message, without `--full` | {}, and {INFLATED_PER_BYTE} for
/// each compressed byte | `fields_left_out`, and in text
const INFLATED: usize = 512;
const INFLATED_PER_BYTE: usize = 2;

impl<'a> MessageRef<'a> {
    /// A message of which only the packets and the ends are known.
    pub fn undecoded(payload: Payload<'a>) -> MessageRef<'a> {
        MessageRef {
            protocol: None,
            kind: None,
            payload,
            tree: None,
            reply: None,
            copy_of: None,
            checked: Checked::default(),
        }
    }

    /// The protocol's name; empty if it is unknown.
    pub fn protocol_name(&self) -> &'static str {
        self.protocol.map_or("", |id| id.info().id)
    }

    /// The message's name; empty if it is unknown.
    pub fn name(&self) -> &'static str {
        self.kind.map_or("", |kind| kind.name)
    }

    /// What it is for, if that is known.
    pub fn purpose(&self) -> Option<Purpose> {
        self.kind.map(|kind| kind.purpose)
    }

    /// The number of fields that did not fit.
    pub fn fields_left_out(&self) -> u32 {
        self.tree.map_or(0, |tree| tree.left_out)
    }

    /// The same message with a limited number of fields, because a few compressed bytes may decompress to
    /// very many. `room` stores the remaining fields.
    #[must_use]
    pub fn brief<'r>(self, room: &'r mut Vec<Node>) -> MessageRef<'r>
    where
        'a: 'r,
    {
        if !self.payload.inflated {
            return self;
        }
        let most = INFLATED.saturating_add(INFLATED_PER_BYTE * self.payload.sent() as usize);
        MessageRef { tree: self.tree.map(|tree| tree.first(most, room)), ..self }
    }
}
