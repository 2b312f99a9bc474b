//! The tree itself, node by node: `--tree`.

use dissectors::kit::{Kind, Node};

use super::fields::Projection;
use super::write::{hex, string};
use crate::report::digits::unsigned;

impl Projection<'_> {
    /// `,"tree":[...]`
    pub(super) fn nodes(&mut self) {
        self.out.extend_from_slice(b",\"tree\":");
        self.level(None);
    }

    fn level(&mut self, at: Option<usize>) {
        self.out.push(b'[');
        for (nth, (at, node)) in self.view.children(at).enumerate() {
            if nth > 0 {
                self.out.push(b',');
            }
            self.node(at, node);
        }
        self.out.push(b']');
    }

    fn node(&mut self, at: usize, node: &Node) {
        let field = node.field;
        self.out.extend_from_slice(b"{\"name\":\"");
        self.out.extend_from_slice(field.name.as_bytes());
        self.out.extend_from_slice(b"\",\"label\":\"");
        string(&mut self.out, field.label.as_bytes());
        self.out.extend_from_slice(b"\",\"value\":");
        if matches!(field.kind, Kind::Group | Kind::List | Kind::Map | Kind::Pair) {
            self.out.extend_from_slice(b"null");
        } else {
            self.value(at, node);
        }
        self.lossless(node);
        if let Some(meaning) = self.view.meaning(at) {
            self.out.extend_from_slice(b",\"meaning\":\"");
            string(&mut self.out, meaning.as_bytes());
            self.out.push(b'"');
        }
        self.out.extend_from_slice(b",\"offset\":");
        unsigned(&mut self.out, node.span.start.into());
        self.out.extend_from_slice(b",\"length\":");
        unsigned(&mut self.out, node.span.len().into());
        if node.descendants > 0 {
            self.out.extend_from_slice(b",\"children\":");
            self.level(Some(at));
        }
        self.out.push(b'}');
    }

    /// The bytes in hex, if the value does not determine them: for a text that is not UTF-8, and
    /// for a float that is not a number.
    fn lossless(&mut self, node: &Node) {
        let bytes = match node.field.kind {
            Kind::Text => self.view.text(node),
            Kind::Float => self.view.bytes(node),
            _ => return,
        };
        let has_value = match node.field.kind {
            Kind::Text => std::str::from_utf8(bytes).is_ok(),
            _ => f32::from_bits(node.value as u32).is_finite(),
        };
        if !has_value {
            self.out.extend_from_slice(b",\"bytes\":\"");
            hex(&mut self.out, bytes);
            self.out.push(b'"');
        }
    }
}
