//! The first tab: what is wrong in the captures, whose it is, and what to do.

use std::net::{IpAddr, SocketAddr};

use super::model::{CaptureAnswer, Model, ReadingProgress};
use crate::report::TimeStyle;
use crate::report::answer::AnswerLine;
use crate::report::paint::Tone;
use crate::text::hanging;

/// The lines of the answers, and as they are broken for the screen.
#[derive(Default)]
pub(super) struct AnswerList {
    lines: Vec<AnswerLine>,
    /// Each with the index of its line.
    rows: Vec<(usize, String)>,
    width: usize,
}

impl AnswerList {
    /// Takes the answers that there are.
    pub(super) fn refresh(&mut self, model: &Model, time: TimeStyle) {
        self.lines = lines(model, time);
        self.break_lines();
    }

    /// Breaks the lines for a screen of this width.
    pub(super) fn fit(&mut self, width: usize) {
        if self.width != width {
            self.width = width;
            self.break_lines();
        }
    }

    fn break_lines(&mut self) {
        let width = Some(self.width).filter(|width| *width > 0);
        let each = self.lines.iter().enumerate().flat_map(|(at, line)| {
            let indent = " ".repeat(line.indent);
            let text = indent + &hanging(&line.text, line.indent, width);
            text.lines().map(|row| (at, row.to_owned())).collect::<Vec<_>>()
        });
        self.rows = each.collect();
    }

    /// How many rows there are.
    pub(super) fn length(&self) -> usize {
        self.rows.len()
    }

    /// A row, and how it looks.
    pub(super) fn row(&self, at: usize) -> Option<(Option<Tone>, &str)> {
        let (line, text) = self.rows.get(at)?;
        Some((self.lines.get(*line)?.tone, text))
    }

    /// Who a row is about.
    pub(super) fn about(&self, at: usize) -> Option<SocketAddr> {
        let (line, _) = self.rows.get(at)?;
        let about = self.lines.get(*line)?.about.as_deref()?;
        let host = || about.parse::<IpAddr>().ok().map(|host| SocketAddr::new(host, 0));
        about.parse().ok().or_else(host)
    }

    /// The whole line of a row.
    pub(super) fn line_text(&self, at: usize) -> Option<&str> {
        let (line, _) = self.rows.get(at)?;
        self.lines.get(*line).map(|line| &*line.text)
    }

    /// All of it.
    pub(super) fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| " ".repeat(line.indent) + &line.text + "\n");
        lines.collect()
    }
}

/// Attacks above faults, and these above everything else; in the order of the captures otherwise.
fn lines(model: &Model, time: TimeStyle) -> Vec<AnswerLine> {
    let mut answers: Vec<&CaptureAnswer> = model.answers().collect();
    answers.sort_by_key(|answer| answer.urgency());
    let is_one = answers.len() < 2;
    let mut lines = Vec::new();
    for (nth, answer) in answers.into_iter().enumerate() {
        if nth > 0 {
            lines.push(plain(""));
        }
        if !is_one {
            lines.push(plain(&format!("==> {} <==", answer.name)));
        }
        lines.extend(answer.lines(time));
    }
    lines.extend(waiting(model, lines.is_empty()).map(plain));
    lines
}

/// Why there is no answer yet, or not one about everything.
fn waiting(model: &Model, is_first: bool) -> Option<&'static str> {
    match (model.reading, is_first) {
        (ReadingProgress::Live, true) => {
            Some("Capturing. r judges what has been captured so far; the packets are kept.")
        }
        (ReadingProgress::Live, false) => Some("Capturing. r judges again what there is by now."),
        (ReadingProgress::Files(_), _) => {
            Some("Reading. The answer comes at the end; r judges what has been read so far.")
        }
        (ReadingProgress::Over, true) => Some("No capture could be read; the last line says why."),
        (ReadingProgress::Over, false) => None,
    }
}

fn plain(text: &str) -> AnswerLine {
    AnswerLine { tone: Some(Tone::Faint), indent: 0, text: text.to_owned(), about: None }
}
