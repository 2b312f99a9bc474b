//! The annotated fields below a message's line: a line each, with its bytes and findings. A pair is
//! one line, too, unless its key or value has a finding.

use dissectors::kit::{Finding, Kind, Node, Span};

use super::{detail, finding_tone, name, value};
use crate::report::paint::{Paint, Tone};
use crate::report::put;
use crate::report::view::MessageView;

/// Spaces before everything that belongs to a line.
const INDENT: &str = "    ";

/// The node of each finding. Reused between messages.
#[derive(Default)]
pub(super) struct FindingNodes {
    /// Findings by their first byte.
    by_start: Vec<usize>,
    /// For each finding, its node and that node's length: the shortest that contains all bytes in
    /// question.
    node: Vec<Option<(usize, u32)>>,
    /// Findings by their node, those without one last.
    order: Vec<usize>,
}

/// An element with a line.
pub(super) enum NodeLine<'m> {
    /// The field at this place.
    Field(usize, &'m Node),
    /// A finding, and the field of its bytes.
    Finding(&'m Finding, Option<&'m Node>),
}

impl FindingNodes {
    /// Writes the fields, and each finding beneath the field whose bytes it names.
    pub(super) fn write(
        &mut self,
        view: MessageView<'_>,
        findings: &[Finding],
        paint: Paint,
        out: &mut Vec<u8>,
    ) {
        let offset = offset_width(view.payload.len());
        self.each(view, findings, |entry| match entry {
            NodeLine::Field(at, node) => line(view, at, node, offset, paint, out),
            NodeLine::Finding(finding, Some(node)) => {
                found(finding, range_width(offset) + 2 + indent(node), paint, out);
            }
            NodeLine::Finding(finding, None) => found(finding, 0, paint, out),
        });
    }

    /// Shows the fields, and each finding after the field whose bytes it names.
    pub(super) fn each<'m>(
        &mut self,
        view: MessageView<'m>,
        findings: &'m [Finding],
        mut see: impl FnMut(NodeLine<'m>),
    ) {
        self.place(view.tree.nodes, findings);
        let mut order = self.order.iter().peekable();
        let mut pair = None;
        for (at, node) in view.tree.nodes.iter().enumerate() {
            let here = |&&finding: &&usize| matches!(self.node.get(finding), Some(Some((n, _))) if *n == at);
            let is_shown = pair.is_some_and(|(key, value)| at == key || Some(at) == value);
            if is_shown && node.descendants == 0 && !order.peek().is_some_and(here) {
                continue;
            }
            if node.field.kind == Kind::Pair {
                pair = view.pair(at);
            }
            see(NodeLine::Field(at, node));
            while let Some(finding) = order.next_if(here).and_then(|&index| findings.get(index)) {
                see(NodeLine::Finding(finding, Some(node)));
            }
        }
        for finding in order.filter_map(|&index| findings.get(index)) {
            see(NodeLine::Finding(finding, None));
        }
    }

    fn place(&mut self, nodes: &[Node], findings: &[Finding]) {
        let FindingNodes { by_start, node, order } = self;
        for list in [&mut *by_start, &mut *order] {
            list.clear();
            list.extend(0..findings.len());
        }
        node.clear();
        node.resize(findings.len(), None);
        if findings.is_empty() {
            return;
        }
        let start = |&index: &usize| findings.get(index).map_or(0, |finding| finding.span.start);
        by_start.sort_by_key(start);
        // Fields without bytes, of which there may be many at one position, have no findings.
        for (at, Node { span, .. }) in nodes.iter().enumerate().filter(|(_, n)| !n.span.is_empty())
        {
            let first = by_start.partition_point(|index| start(index) < span.start);
            let after = by_start.iter().skip(first);
            for &index in after.take_while(|index| start(index) <= span.end) {
                let (Some(finding), Some(best)) = (findings.get(index), node.get_mut(index)) else {
                    continue;
                };
                let nearer = best.is_none_or(|(_, length)| span.len() <= length);
                if finding.mark.is_none() && nearer && holds(*span, finding.span) {
                    *best = Some((at, span.len()));
                }
            }
        }
        let node_of = |&index: &usize| node.get(index).copied().flatten().map(|(at, _)| at);
        order.sort_by_key(|index| node_of(index).unwrap_or(usize::MAX));
    }
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Columns that an offset in a payload takes: `0x`, and at least two digits.
fn offset_width(length: usize) -> usize {
    2 + format!("{length:02x}").len()
}

fn line(
    view: MessageView<'_>,
    at: usize,
    node: &Node,
    offset: usize,
    paint: Paint,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(INDENT.as_bytes());
    paint.paint(Tone::Faint, out, |out| range(node.span, offset, out));
    put(out, format_args!("{:1$}", "", indent(node)));
    paint.paint(Tone::Label, out, |out| out.extend_from_slice(node.field.label.as_bytes()));
    value_text(view, at, node, paint, out);
    out.push(b'\n');
}

/// Columns of a range with offsets of this width.
fn range_width(offset: usize) -> usize {
    2 * offset + 1
}

/// The value of a field, and its meaning: everything after its label.
pub(super) fn value_text(
    view: MessageView<'_>,
    at: usize,
    node: &Node,
    paint: Paint,
    out: &mut Vec<u8>,
) {
    if node.field.kind != Kind::Group {
        out.extend_from_slice(b": ");
        value::full(view, at, node, out);
    }
    if node.field.kind != Kind::Name
        && let Some(meaning) = view.meaning(at)
    {
        paint.paint(Tone::Faint, out, |out| {
            out.extend_from_slice(b" (");
            value::meaning(&meaning, out);
            out.push(b')');
        });
    }
}

/// Spaces between the range and the label: two more for each group that the field is in.
fn indent(node: &Node) -> usize {
    2 + 2 * node.depth as usize
}

/// First and last byte, with offsets of this width: `0x04-0x07`, `0x04`, or `-` for a field without bytes.
fn range(span: Span, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    match span.len() {
        0 => out.push(b'-'),
        1 => put(out, format_args!("{:#0width$x}", span.start)),
        _ => put(out, format_args!("{:#0width$x}-{:#0width$x}", span.start, span.end - 1)),
    }
    let missing = range_width(width).saturating_sub(out.len() - start);
    out.resize(out.len() + missing, b' ');
}

fn found(finding: &Finding, indent: usize, paint: Paint, out: &mut Vec<u8>) {
    put(out, format_args!("{INDENT}{:indent$}", ""));
    paint.paint(finding_tone(finding), out, |out| {
        name(finding, out);
        detail(finding, out);
    });
    out.push(b'\n');
}
