//! Colours.
//!
//! Only this module uses ANSI styles, through owo-colors. The caller passes the environment and
//! whether the output is a terminal.

use std::ffi::OsString;

use dissectors::kit::{Severity, Verdict};
use owo_colors::{Style, XtermColors};

use crate::report::put;

/// The user's choice with `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// Colours on a terminal.
    #[default]
    Auto,
    /// Colours.
    Always,
    /// No colours.
    Never,
}

/// How text for people is written.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// The width of the terminal; `None`: lines are not broken.
    pub terminal: Option<usize>,
    /// The colours.
    pub paint: Paint,
}

/// Whether to use colours. The user's choice has priority, then the variables `NO_COLOR`,
/// `CLICOLOR_FORCE`, `CLICOLOR` and `TERM`, then whether the output is a terminal.
pub fn enabled(
    choice: ColorChoice,
    is_terminal: bool,
    env: impl Fn(&'static str) -> Option<OsString>,
) -> bool {
    let is = |name, value: &str| env(name).is_some_and(|found| found == value);
    let set = |name| env(name).is_some_and(|found| !found.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR") => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
        ColorChoice::Auto => is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb"),
    }
}

/// Colours of medium brightness.
const RED: u8 = 160;
const ORANGE: u8 = 130;
const GREEN: u8 = 28;
const TEAL: u8 = 30;
const BLUE: u8 = 32;
const MAGENTA: u8 = 133;

/// The role of a piece of text, which determines its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Less important text: times, numbers of bytes, headings.
    Faint,
    /// Sender and receiver.
    Endpoints,
    /// The name of a protocol.
    Protocol,
    /// The name of a message.
    Message,
    /// The label of a field.
    Label,
    /// A finding of this severity.
    Finding(Severity, Verdict),
    /// Success, and headings.
    Good,
    /// The bytes of a leaf, by its number in the payload: neighbours differ.
    Leaf(usize),
}

impl Tone {
    /// Its colour, by the number in the palette of 256 colours: one of those that are the same in every theme of
    /// a terminal, and that can be read on black and on white.
    pub const fn colour(self) -> Option<u8> {
        match self {
            Tone::Faint | Tone::Message => None,
            Tone::Finding(_, Verdict::Inconclusive) => Some(MAGENTA),
            Tone::Endpoints | Tone::Finding(Severity::Note, _) => Some(BLUE),
            Tone::Finding(Severity::Error, _) => Some(RED),
            Tone::Finding(Severity::Warning, _) => Some(ORANGE),
            Tone::Protocol | Tone::Label => Some(TEAL),
            Tone::Good => Some(GREEN),
            Tone::Leaf(number) => Some([TEAL, ORANGE, GREEN, MAGENTA][number % 4]),
        }
    }

    /// Whether it is bold.
    pub const fn is_bold(self) -> bool {
        match self {
            Tone::Message | Tone::Good => true,
            Tone::Finding(_, Verdict::Inconclusive) => false,
            Tone::Finding(severity, _) => matches!(severity, Severity::Error),
            _ => false,
        }
    }

    fn style(self) -> Style {
        let style = match self.colour() {
            Some(colour) => Style::new().color(XtermColors::from(colour)),
            None if self == Tone::Faint => Style::new().dimmed(),
            None => Style::new(),
        };
        if self.is_bold() { style.bold() } else { style }
    }
}

/// Styles text, or leaves it unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    enabled: bool,
}

impl Paint {
    /// With colours, or without.
    pub const fn new(enabled: bool) -> Paint {
        Paint { enabled }
    }

    /// Whether there are colours.
    pub const fn is_enabled(self) -> bool {
        self.enabled
    }

    /// A text in this tone.
    pub(super) fn text(self, tone: Tone, text: impl std::fmt::Display) -> String {
        if !self.enabled {
            return text.to_string();
        }
        let style = tone.style();
        format!("{}{text}{}", style.prefix_formatter(), style.suffix_formatter())
    }

    /// Writes what `body` writes, in this tone.
    pub(super) fn paint<T>(
        self,
        tone: Tone,
        out: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>) -> T,
    ) -> T {
        if !self.enabled {
            return body(out);
        }
        let style = tone.style();
        put(out, format_args!("{}", style.prefix_formatter()));
        let value = body(out);
        put(out, format_args!("{}", style.suffix_formatter()));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(is_terminal: bool, env: &[(&str, &str)]) -> bool {
        decide(ColorChoice::Auto, is_terminal, env)
    }

    fn decide(choice: ColorChoice, is_terminal: bool, env: &[(&str, &str)]) -> bool {
        enabled(choice, is_terminal, |name| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn options_of_the_user_have_precedence() {
        assert!(decide(ColorChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!decide(ColorChoice::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn a_terminal_gets_colours_and_a_file_none() {
        assert!(auto(true, &[]));
        assert!(!auto(false, &[]));
        assert!(!auto(true, &[("TERM", "dumb")]));
        assert!(auto(true, &[("TERM", "xterm-256color")]));
    }

    #[test]
    fn the_variables_change_that() {
        assert!(!auto(true, &[("NO_COLOR", "1")]));
        assert!(auto(true, &[("NO_COLOR", "")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!auto(true, &[("CLICOLOR", "0")]));
    }

    #[test]
    fn paints_only_if_enabled() {
        let painted = |enabled| {
            let mut out = Vec::new();
            Paint::new(enabled).paint(Tone::Label, &mut out, |out| out.extend_from_slice(b"Name"));
            out
        };
        assert_eq!(painted(true), b"\x1b[38;5;30mName\x1b[0m");
        assert_eq!(painted(false), b"Name");
    }

    /// The contrast of a colour to black, and to white, as the Web Content Accessibility Guidelines measure it.
    fn contrasts(colour: u8) -> [f64; 2] {
        let level = |nth: u8| [0.0, 95.0, 135.0, 175.0, 215.0, 255.0][usize::from(nth)] / 255.0;
        let linear =
            |it: f64| if it <= 0.039 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) };
        let nth = colour.checked_sub(16).expect("one that is the same in every theme");
        let [red, green, blue] = [nth / 36, nth / 6 % 6, nth % 6].map(level).map(linear);
        let light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        [(light + 0.05) / 0.05, 1.05 / (light + 0.05)]
    }

    #[test]
    fn every_colour_can_be_read_on_black_and_on_white() {
        let severities = Severity::ALL.iter().flat_map(|severity| {
            [Verdict::Fail, Verdict::Inconclusive].map(|it| Tone::Finding(*severity, it))
        });
        let others = [Tone::Endpoints, Tone::Protocol, Tone::Label, Tone::Good];
        for tone in severities.chain(others).chain((0..4).map(Tone::Leaf)) {
            let contrasts = contrasts(tone.colour().expect("a colour"));
            assert!(contrasts.iter().all(|it| *it > 3.8), "{tone:?}: {contrasts:?}");
        }
    }
}
