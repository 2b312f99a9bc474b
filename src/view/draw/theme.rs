//! Styles, with colours and without.

use dissectors::kit::{Severity, Verdict};
use ratatui::style::{Color, Modifier, Style};

use crate::report::paint::Tone;

/// With colours, or only with attributes that every terminal has.
#[derive(Clone, Copy)]
pub(super) struct Theme {
    pub(super) colours: bool,
}

impl Theme {
    /// The same as in reports.
    pub(super) fn tone(self, tone: Tone) -> Style {
        let style = Style::new();
        let (colour, modifier) = match tone {
            Tone::Faint => (None, Modifier::DIM),
            Tone::Message => (None, Modifier::BOLD),
            Tone::Endpoints => (Some(Color::Blue), Modifier::empty()),
            Tone::Protocol | Tone::Label => (Some(Color::Cyan), Modifier::empty()),
            Tone::Good => (Some(Color::Green), Modifier::empty()),
            Tone::Finding(_, Verdict::Inconclusive) => (Some(Color::Magenta), Modifier::empty()),
            Tone::Finding(Severity::Error, _) => (Some(Color::Red), Modifier::BOLD),
            Tone::Finding(Severity::Warning, _) => (Some(Color::Yellow), Modifier::empty()),
            Tone::Finding(Severity::Note, _) => (Some(Color::Blue), Modifier::empty()),
            Tone::Leaf(_) => (None, Modifier::empty()),
        };
        match colour.filter(|_| self.colours) {
            Some(colour) => style.fg(colour).add_modifier(modifier),
            None => style.add_modifier(modifier),
        }
    }

    /// What is selected.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Bytes of the selected field.
    pub(super) fn marked(self) -> Style {
        match self.colours {
            true => Style::new().fg(Color::Black).bg(Color::Yellow),
            false => self.selected(),
        }
    }

    /// What is wrong.
    pub(super) fn error(self) -> Style {
        self.tone(Tone::Finding(Severity::Error, Verdict::Fail))
    }

    /// The last line.
    pub(super) fn bar(self) -> Style {
        match self.colours {
            true => Style::new().fg(Color::White).bg(Color::DarkGray),
            false => self.selected(),
        }
    }
}

/// Columns that a text takes.
pub(super) fn columns(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}
