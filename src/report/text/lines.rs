//! The annotated fields as lines, each with its bytes.

use std::ops::Range;

use super::nodes::{FindingNodes, NodeLine, value_text};
use super::{detail, finding_tone, name};
use crate::message::MessageRef;
use crate::report::paint::{Paint, Tone};
use crate::report::view::MessageView;

/// A field of a message, or a finding about the field above.
#[derive(Clone, Debug)]
pub struct FieldLine {
    /// How many groups it is in.
    pub depth: usize,
    /// The field's label; of a finding, nothing.
    pub label: &'static str,
    /// The text after the label: the value and its meaning; for a finding, all of it.
    pub text: String,
    /// How a finding looks.
    pub finding: Option<Tone>,
    /// Its bytes in the message.
    pub bytes: Range<usize>,
}

/// The fields of a message, each followed by its findings, in the order of `-v`.
pub fn field_lines(m: &MessageRef<'_>) -> Vec<FieldLine> {
    let view = MessageView::of(m);
    let mut lines = Vec::new();
    FindingNodes::default().each(view, m.checked.findings, |entry| {
        let mut out = Vec::new();
        let (node, label, finding, span) = match entry {
            NodeLine::Field(at, node) => {
                value_text(view, at, node, Paint::new(false), &mut out);
                (Some(node), node.field.label, None, node.span)
            }
            NodeLine::Finding(finding, node) => {
                name(finding, &mut out);
                detail(finding, &mut out);
                (node, "", Some(finding_tone(finding)), finding.span)
            }
        };
        lines.push(FieldLine {
            depth: node.map_or(0, |node| node.depth as usize),
            label,
            text: String::from_utf8_lossy(&out).into_owned(),
            finding,
            bytes: span.start as usize..span.end as usize,
        });
    });
    lines
}
