//! A position in a line of a script.

use super::ScriptError;

/// Reads a line from left to right, and tracks the position for errors.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    line: usize,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str, line: usize) -> Self {
        Self { text, line, at: 0 }
    }

    /// The byte offset of the next character, for errors.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn line(&self) -> usize {
        self.line
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips white space; returns whether only a comment is left.
    pub(super) fn is_done(&mut self) -> bool {
        self.at = self.text.len() - self.rest().trim_start().len();
        matches!(self.peek(), None | Some('#'))
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes the character if it is the next.
    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// Takes characters as long as `wanted` holds.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Skips white space and takes the characters up to the next.
    pub(super) fn word(&mut self) -> &'a str {
        if self.is_done() {
            return "";
        }
        self.take_while(|c| !c.is_whitespace())
    }

    /// An error at a byte of the line.
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> ScriptError {
        let column = self.text[..at].chars().count() + 1;
        ScriptError { line: self.line, column, message: message.into() }
    }
}
