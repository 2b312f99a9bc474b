//! Drops fields of messages that no event needs.

use dissectors::kit::{Field, Leaf, Sink, Span};

/// Passes fields on, or drops them if a filter has rejected the message, or if no event needs its
/// fields.
pub(super) struct Gate<F> {
    pub(super) fields: F,
    pub(super) is_shut: bool,
}

impl<F: Sink> Sink for Gate<F> {
    #[inline(always)]
    fn keeps_fields(&self) -> bool {
        !self.is_shut && self.fields.keeps_fields()
    }
    #[inline(always)]
    fn leaf(&mut self, field: &'static Field, span: Span, value: u64) {
        if !self.is_shut {
            self.fields.leaf(field, span, value);
        }
    }
    #[inline(always)]
    fn leaf_text(&mut self, field: &'static Field, span: Span, text: &[u8]) {
        if !self.is_shut {
            self.fields.leaf_text(field, span, text);
        }
    }
    #[inline(always)]
    fn open(&mut self, field: &'static Field, start: u32, value: u64) {
        if !self.is_shut {
            self.fields.open(field, start, value);
        }
    }
    #[inline(always)]
    fn close(&mut self, end: u32) {
        if !self.is_shut {
            self.fields.close(end);
        }
    }
    #[inline(always)]
    fn group<const N: usize>(&mut self, group: &'static Field, span: Span, fields: [Leaf; N]) {
        if !self.is_shut {
            self.fields.group(group, span, fields);
        }
    }
}
