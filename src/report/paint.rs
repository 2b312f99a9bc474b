//! Colours.
//!
//! Only this module uses ANSI styles, through owo-colors. The caller passes the environment and
//! whether the output is a terminal.

use std::ffi::OsString;

use dissectors::kit::{Severity, Verdict};
use owo_colors::Style;

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
    const fn style(self) -> Style {
        let style = Style::new();
        match self {
            Tone::Faint => style.dimmed(),
            Tone::Endpoints => style.blue(),
            Tone::Protocol => style.cyan(),
            Tone::Message => style.bold(),
            Tone::Label => style.cyan(),
            Tone::Finding(_, Verdict::Inconclusive) => style.magenta(),
            Tone::Finding(Severity::Error, _) => style.red().bold(),
            Tone::Finding(Severity::Warning, _) => style.yellow(),
            Tone::Finding(Severity::Note, _) => style.blue(),
            Tone::Good => style.green().bold(),
            Tone::Leaf(number) => match number % 4 {
                0 => style.cyan(),
                1 => style.yellow(),
                2 => style.green(),
                _ => style.magenta(),
            },
        }
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
        assert_eq!(painted(true), b"\x1b[36mName\x1b[0m");
        assert_eq!(painted(false), b"Name");
    }
}
