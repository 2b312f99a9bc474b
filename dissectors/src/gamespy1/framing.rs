//! How keys and values become fields.

use crate::kit::{Endings, Field, Kind, Reader, Sink, Span, TextPlace};

/// Nothing is checked by the reader alone: the text is split before it is read.
pub(super) static ENDINGS: Endings =
    Endings { whole: None, terminated: None, utf8: None, after: None };

/// A text whose backslashes, and whose key, belong to its bytes.
pub(super) fn framing<S: Sink>(
    r: &mut Reader<'_, S>,
    field: &'static Field,
    at: Span,
    place: Span,
) {
    debug_assert!(field.kind == Kind::Text);
    r.leaf(field, (at.end as usize).saturating_sub(r.at()), TextPlace::at(place).value());
}
