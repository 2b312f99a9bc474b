//! The ladder as a picture.

use dissectors::kit::Time;

use super::{Arrow, ArrowText, Ladder};
use crate::report::clock::TimeFormatter;
use crate::report::{put, to_text};
use crate::text::{brief_span, shortened};

/// Pixels: between two lines, between two arrows, left of the first line, right of the last.
const GAP: usize = 260;
const STEP: usize = 34;
const LEFT: usize = 340;
const RIGHT: usize = 680;

/// Arrows after which the names are repeated.
const AGAIN: usize = 20;

/// Maximum length of the text next to an arrow, and of a name above a line.
const TEXT: usize = 90;
const NAME: usize = 34;

const STYLE: &str = "text{font:12px ui-monospace,monospace;fill:#1a1a1a}.time{fill:#666}.name{font-weight:600;\
text-anchor:middle}.message{text-anchor:middle}line{stroke:#888}.end{text-anchor:end}\
.arrow{stroke:#205493;stroke-width:1.5;fill:none}\
.lost{stroke-dasharray:5 4}.error{fill:#b50909}.warning,.silent{fill:#8a5300}.note{fill:#555}\
.silent{font-weight:600}\
@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#e6e6e6}.time,.note{fill:#a0a0a0}\
.arrow{stroke:#73b3e7}.error{fill:#ff8d7b}.warning,.silent{fill:#f5c26b}}";

impl Ladder {
    /// Draws it.
    pub fn svg(&self, stamp: &mut TimeFormatter, out: &mut Vec<u8>) {
        let heads = self.steps.len().div_ceil(AGAIN).max(1);
        let rows = heads + self.steps.iter().map(|step| 1 + step.findings.len()).sum::<usize>();
        let lanes = self.parties.len().saturating_sub(1) * GAP;
        let (width, height) = (LEFT + lanes + RIGHT, 40 + rows * STEP);
        put(
            out,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
                 viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{} messages between {} hosts</title>\n\
                 <style>{STYLE}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
                 markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#5b8fc7\"/>\
                 </marker></defs>\n",
                self.steps.len(),
                self.parties.len(),
            ),
        );
        let names = self.names();
        let mut y = 24;
        let mut before = None;
        if self.steps.is_empty() {
            heads_at(y, &names, out);
        }
        for (nth, step) in self.steps.iter().enumerate() {
            // The names are repeated, so that they stay in sight.
            if nth % AGAIN == 0 {
                heads_at(y, &names, out);
                y += STEP;
            }
            lanes_at(y, step.findings.len(), names.len(), out);
            times(y, step, before, stamp, out);
            before = Some(step.time);
            arrow(y, step, out);
            let beside = LEFT + lanes + 14;
            let details = self.beside(step).svg();
            put(out, format_args!("<text x=\"{beside}\" y=\"{y}\">{details}</text>\n"));
            for found in &step.findings {
                y += STEP;
                let (class, word) = (found.severity.name(), found.word());
                let what = xml(&shortened(&found.text, TEXT));
                put(
                    out,
                    format_args!(
                        "<text class=\"{class}\" x=\"{beside}\" y=\"{y}\">{word} {what}</text>\n"
                    ),
                );
            }
            y += STEP;
        }
        out.extend_from_slice(b"</svg>\n");
    }
}

impl ArrowText {
    /// The content of a text, with the mark in a colour of its own.
    fn svg(&self) -> String {
        let before = self.ports.as_ref().map_or(0, |ports| ports.chars().count() + 2);
        let mark = self.mark.map_or(0, |mark| mark.chars().count() + 2);
        let rest = self.rest.as_ref().map(|it| shortened(it, TEXT.saturating_sub(before + mark)));
        let parts = [
            self.ports.as_deref().map(xml),
            self.mark.map(|mark| format!("<tspan class=\"silent\">{mark}</tspan>")),
            rest.as_deref().map(xml),
        ];
        Vec::from_iter(parts.into_iter().flatten()).join("  ")
    }
}

/// The names of the columns.
fn heads_at(y: usize, names: &[String], out: &mut Vec<u8>) {
    for (at, name) in names.iter().enumerate() {
        let (x, name) = (LEFT + at * GAP, xml(&shortened(name, NAME)));
        put(out, format_args!("<text class=\"name\" x=\"{x}\" y=\"{y}\">{name}</text>\n"));
    }
}

/// The lines of the columns along an arrow with this many findings.
fn lanes_at(y: usize, findings: usize, columns: usize, out: &mut Vec<u8>) {
    let (top, bottom) = (y - STEP + 10, y + findings * STEP + 10);
    for x in (0..columns).map(|at| LEFT + at * GAP) {
        put(out, format_args!("<line x1=\"{x}\" y1=\"{top}\" x2=\"{x}\" y2=\"{bottom}\"/>\n"));
    }
}

/// The time of an arrow, the time since the one before it, and its packet.
fn times(
    y: usize,
    step: &Arrow,
    before: Option<Time>,
    stamp: &mut TimeFormatter,
    out: &mut Vec<u8>,
) {
    let time = to_text(|out| stamp.whole(step.time, step.digits, out));
    stamp.seen(step.time);
    put(out, format_args!("<text class=\"time\" x=\"6\" y=\"{y}\">{time}</text>\n"));
    let mut beside = |x: usize, text: String| {
        put(out, format_args!("<text class=\"time end\" x=\"{x}\" y=\"{y}\">{text}</text>\n"));
    };
    if let Some(before) = before {
        let after = brief_span(step.time.since(before).max(0).unsigned_abs());
        beside(LEFT - 76, format!("+{after}"));
    }
    beside(LEFT - 14, step.frame.to_string());
}

/// The line from one column to another, or from one to itself, and the name of the message above it.
fn arrow(y: usize, step: &Arrow, out: &mut Vec<u8>) {
    let [from, to] = [step.from, step.to].map(|at| LEFT + at * GAP);
    let lost = if step.lost || step.icmp { " lost" } else { "" };
    let (way, middle) = match from == to {
        true => (format!("M{from} {}h34v10h-33", y - 6), from + 70),
        false => {
            let end = if to > from { to - 1 } else { to + 1 };
            (format!("M{from} {y}H{end}"), usize::midpoint(from, to))
        }
    };
    put(
        out,
        format_args!(
            "<path class=\"arrow{lost}\" d=\"{way}\" marker-end=\"url(#head)\"/>\n\
             <text class=\"message\" x=\"{middle}\" y=\"{}\">{}</text>\n",
            y - 5,
            xml(step.message)
        ),
    );
}

/// The text with XML's special characters escaped.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}
