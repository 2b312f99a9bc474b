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
    /// The style of a tone, as in reports.
    pub(super) fn tone(self, tone: Tone) -> Style {
        let mut style = Style::new();
        if tone == Tone::Faint {
            style = style.add_modifier(Modifier::DIM);
        }
        if tone.is_bold() {
            style = style.add_modifier(Modifier::BOLD);
        }
        match tone.colour().filter(|_| self.colours) {
            Some(colour) => style.fg(Color::Indexed(colour)),
            None => style,
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
