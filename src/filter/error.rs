//! Errors in filters, with their position.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::text::escaped;

/// An error in a filter. Its text shows the position, and help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    pub(super) source: String,
    /// The position in the source, in bytes.
    pub(super) at: Range<usize>,
    pub(super) what: String,
    /// What to do.
    pub(super) help: String,
}

impl FilterError {
    pub(super) fn new(
        source: &str,
        at: Range<usize>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> FilterError {
        FilterError { source: source.to_owned(), at, what: what.into(), help: help.into() }
    }

    /// The position in the filter, in bytes.
    pub fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// The error and the help text, without the filter.
    pub fn explained(&self) -> String {
        format!("{}; {}", escaped(&self.what), escaped(&self.help))
    }
}

impl std::error::Error for FilterError {}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = escaped(&self.what);
        let is_plain = escaped(&self.source) == self.source && !self.source.is_empty();
        if !is_plain || self.source.len() > 1000 {
            return write!(f, "{what} ({}, at byte {})", escaped(&self.help), self.at.start);
        }
        // At least one column: if something is missing at the end, the position is after it.
        let (start, mut end) = (self.at.start, self.at.end.max(self.at.start + 1));
        // Mark whole characters.
        while end < self.source.len() && !self.source.is_char_boundary(end) {
            end += 1;
        }
        let source = match end > self.source.len() {
            true => format!("{} ", self.source),
            false => self.source.clone(),
        };
        let help = escaped(&self.help);
        let mark = AnnotationKind::Primary.span(start..end.min(source.len())).label(&*help);
        let report = [Level::ERROR
            .no_name()
            .primary_title(&*what)
            .element(Snippet::source(&*source).annotation(mark))];
        f.write_str(&Renderer::plain().render(&report))
    }
}
