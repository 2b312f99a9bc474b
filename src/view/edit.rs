//! An input line: for a display filter, with completion, or for a file name.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use dissectors::{Id, catalogue};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::filter::{Column, Filter, FilterError};

/// Characters of a line at most.
const MOST: usize = 4096;

/// Maximum number of completions shown.
const SHOWN: usize = 8;

/// A line, and the cursor in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InputLine {
    text: String,
    /// In bytes.
    at: usize,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyEffect {
    /// The line or the cursor changed, or nothing did.
    Edited,
    /// The line is complete.
    Done,
    /// The input was cancelled.
    GivenUp,
}

impl InputLine {
    /// This text, with the cursor at its end.
    pub(super) fn of(text: &str) -> InputLine {
        InputLine { text: text.to_owned(), at: text.len() }
    }

    /// What was typed.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The cursor's column, in characters.
    pub(super) fn column(&self) -> usize {
        self.before().chars().count()
    }

    fn before(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> KeyEffect {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return KeyEffect::Done,
            KeyCode::Esc => return KeyEffect::GivenUp,
            KeyCode::Char('u') if control => self.replace(0..self.at, ""),
            KeyCode::Char('w') if control => self.replace(self.word().start..self.at, ""),
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.len(),
            KeyCode::Char(letter) if !control => self.insert(letter.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => self.replace(self.previous()..self.at, ""),
            KeyCode::Delete => self.replace(self.at..self.next(), ""),
            KeyCode::Left => self.at = self.previous(),
            KeyCode::Right => self.at = self.next(),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            _ => {}
        }
        KeyEffect::Edited
    }

    /// Inserts a text, without characters that cannot be shown.
    pub(super) fn insert(&mut self, text: &str) {
        let text: String = text.chars().filter(|&c| !crate::text::is_hidden(c)).collect();
        if self.text.len() + text.len() <= MOST {
            self.replace(self.at..self.at, &text);
        }
    }

    fn replace(&mut self, range: Range<usize>, by: &str) {
        self.at = range.start + by.len();
        self.text.replace_range(range, by);
    }

    fn previous(&self) -> usize {
        self.before().char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn next(&self) -> usize {
        let after = self.text.get(self.at..).unwrap_or_default();
        self.at + after.chars().next().map_or(0, char::len_utf8)
    }

    /// The word before the cursor, with the spaces after it.
    fn word(&self) -> Range<usize> {
        let before = self.before().trim_end();
        let start = before.rfind(|c: char| !is_of_name(c)).map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
        });
        start.min(self.at)..self.at
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// A display filter that is typed.
#[derive(Clone, Debug, Default)]
pub(super) struct FilterLine {
    /// The line.
    pub(super) line: InputLine,
    /// Its error.
    pub(super) error: Option<FilterError>,
    /// Completions of the word.
    pub(super) names: Vec<&'static str>,
    /// The one that Tab inserts.
    pub(super) chosen: usize,
}

impl FilterLine {
    /// One that says this.
    pub(super) fn of(text: &str) -> FilterLine {
        let mut line = FilterLine { line: InputLine::of(text), ..FilterLine::default() };
        line.look();
        line
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> KeyEffect {
        match key.code {
            KeyCode::Tab => self.complete(),
            KeyCode::Down => self.choose(1),
            KeyCode::Up | KeyCode::BackTab => self.choose(self.names.len().saturating_sub(1)),
            _ => {
                let typed = self.line.key(key);
                self.look();
                return typed;
            }
        }
        KeyEffect::Edited
    }

    /// Puts a text in.
    pub(super) fn insert(&mut self, text: &str) {
        self.line.insert(text);
        self.look();
    }

    fn choose(&mut self, by: usize) {
        self.chosen = (self.chosen + by) % self.names.len().max(1);
    }

    /// Replaces the word by the selected completion.
    fn complete(&mut self) {
        if let Some(name) = self.names.get(self.chosen) {
            self.line.replace(self.line.word(), name);
            self.look();
        }
    }

    /// The filter; `None` for an empty line.
    ///
    /// # Errors
    /// It is invalid.
    pub(super) fn filter(&self) -> Result<Option<Filter>, FilterError> {
        let text = self.line.text().trim();
        if text.is_empty() { Ok(None) } else { self.line.text().parse().map(Some) }
    }

    fn look(&mut self) {
        self.error = self.filter().err();
        self.chosen = 0;
        let word = self.line.text.get(self.line.word()).unwrap_or_default();
        self.names.clear();
        if word.is_empty() || word.ends_with(' ') {
            return;
        }
        let begins = NAMES.iter().filter(|name| name.starts_with(word));
        // The last part of a field's path matches, too.
        let ends = NAMES.iter().filter(|name| {
            let own = name.rsplit('.').next().unwrap_or_default();
            own.starts_with(word) && !name.starts_with(word)
        });
        let names = begins.chain(ends).map(|name| &**name).filter(|name| *name != word);
        self.names.extend(names.take(SHOWN));
    }
}

/// All names in filters.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut names = BTreeSet::from_iter(Column::attributes().map(str::to_owned));
    for id in Id::ALL {
        let info = id.info();
        names.insert(info.id.to_owned());
        names.extend(info.messages.iter().map(|it| format!("{}.{}", info.id, it.name)));
    }
    // Keys from the wire cannot be listed.
    names.extend(catalogue::fields().into_iter().map(|it| it.path.replace(".*", "")));
    Vec::from_iter(names)
});

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> FilterLine {
        let mut line = FilterLine::default();
        for letter in text.chars() {
            line.key(KeyCode::Char(letter).into());
        }
        line
    }

    #[test]
    fn characters_are_inserted_at_the_cursor() {
        let mut line = InputLine::of("a\u{e9}c");
        for code in [KeyCode::Left, KeyCode::Left, KeyCode::Char('x'), KeyCode::Delete] {
            line.key(code.into());
        }
        assert_eq!((line.text(), line.column()), ("axc", 2));
        line.key(KeyCode::Backspace.into());
        line.key(KeyEvent::new(KeyCode::Char('e'), KeyModifiers::CONTROL));
        line.insert("\u{1b}[2J\u{202e}b");
        assert_eq!(line.text(), "ac[2Jb", "what a terminal obeys cannot be typed");
        line.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        line.key(KeyCode::Backspace.into());
        assert_eq!((line.text(), line.column()), ("", 0));
    }

    #[test]
    fn a_word_becomes_the_name_of_a_field() {
        let mut line = typed("not a2s.info_response.pl");
        assert!(line.names.contains(&"a2s.info_response.players"), "{:?}", line.names);
        while line.names[line.chosen] != "a2s.info_response.players" {
            line.key(KeyCode::Down.into());
        }
        line.key(KeyCode::Tab.into());
        assert_eq!(line.line.text(), "not a2s.info_response.players");
        let by_its_own_name = typed("response_ti");
        assert_eq!(by_its_own_name.names, ["response_time"]);
        assert!(typed("map").names.contains(&"a2s.info_response.map"));
        assert!(typed("port == ").names.is_empty());
    }

    #[test]
    fn an_error_has_its_place() {
        let line = typed("a2s.info_response.playrs > 0");
        let error = line.error.unwrap();
        assert_eq!(error.at(), 0..24);
        assert!(error.explained().contains("players"), "{}", error.explained());
        assert!(typed("players > 0").error.is_none());
        assert!(typed("  ").filter().unwrap().is_none());
    }
}
