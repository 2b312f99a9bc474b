//! Styles, with colours and without.

use dissectors::kit::{Severity, Verdict};
use ratatui::style::{Color, Modifier, Style};

use crate::report::paint::Tone;

/// Colours of the palette of 256, which terminals do not redefine: each is readable on black and on white.
const BLUE: Color = Color::Indexed(32);
const CYAN: Color = Color::Indexed(30);
const GREEN: Color = Color::Indexed(28);
const MAGENTA: Color = Color::Indexed(133);
const RED: Color = Color::Indexed(160);
const YELLOW: Color = Color::Indexed(130);

/// With colours, or only with attributes that every terminal has.
#[derive(Clone, Copy)]
pub(super) struct Theme {
    pub(super) colours: bool,
}

impl Theme {
    /// The same roles as in reports.
    pub(super) fn tone(self, tone: Tone) -> Style {
        let style = Style::new();
        let (colour, modifier) = match tone {
            Tone::Faint => (None, Modifier::DIM),
            Tone::Message => (None, Modifier::BOLD),
            Tone::Endpoints => (Some(BLUE), Modifier::empty()),
            Tone::Protocol | Tone::Label => (Some(CYAN), Modifier::empty()),
            Tone::Good => (Some(GREEN), Modifier::empty()),
            Tone::Finding(_, Verdict::Inconclusive) => (Some(MAGENTA), Modifier::empty()),
            Tone::Finding(Severity::Error, _) => (Some(RED), Modifier::BOLD),
            Tone::Finding(Severity::Warning, _) => (Some(YELLOW), Modifier::empty()),
            Tone::Finding(Severity::Note, _) => (Some(BLUE), Modifier::empty()),
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
        self.selected()
    }
}

/// Columns that a text takes.
pub(super) fn columns(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}
