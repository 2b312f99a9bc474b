//! Reports keys and values as fields.

use crate::kit::{Endings, Field, Kind, Reader, Sink, Span, TextPlace};

/// The reader checks no rules: the text is split before it is read.
pub(super) static ENDINGS: Endings =
    Endings { whole: None, terminated: None, utf8: None, after: None };

/// A text whose bytes include its backslashes and its key.
pub(super) fn framing<S: Sink>(
    r: &mut Reader<'_, S>,
    field: &'static Field,
    at: Span,
    place: Span,
) {
    debug_assert!(field.kind == Kind::Text);
    r.leaf(field, (at.end as usize).saturating_sub(r.at()), TextPlace::at(place).value());
}
