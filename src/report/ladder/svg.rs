//! The ladder as a picture.

use super::{Ladder, severity};
use crate::report::clock::TimeFormatter;
use crate::report::put;
use crate::text::shortened;

/// Pixels: between two lines, between two arrows, left of the first line, right of the last.
const GAP: usize = 260;
const STEP: usize = 34;
const LEFT: usize = 210;
const RIGHT: usize = 680;

/// Maximum length of the text next to an arrow, and of a name above a line.
const TEXT: usize = 90;
const NAME: usize = 34;

const STYLE: &str = "text{font:12px ui-monospace,monospace;fill:#1a1a1a}.time{fill:#666}.name{font-weight:600;\
text-anchor:middle}.message{text-anchor:middle}line{stroke:#888}.arrow{stroke:#205493;stroke-width:1.5}\
.lost{stroke-dasharray:5 4}.error{fill:#b50909}.warning{fill:#8a5300}.note{fill:#555}\
@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#e6e6e6}.time,.note{fill:#a0a0a0}\
.arrow{stroke:#73b3e7}.error{fill:#ff8d7b}.warning{fill:#f5c26b}}";

impl Ladder {
    /// Draws it.
    pub fn svg(&self, stamp: &mut TimeFormatter, out: &mut Vec<u8>) {
        let rows: usize = self.steps.iter().map(|step| 1 + step.findings.len()).sum();
        let lanes = self.parties.len().saturating_sub(1) * GAP;
        let (width, height) = (LEFT + lanes + RIGHT, 60 + (rows + 1) * STEP);
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
        for (at, name) in self.names().iter().enumerate() {
            let (x, name, bottom) = (LEFT + at * GAP, xml(&shortened(name, NAME)), height - 10);
            put(out, format_args!("<text class=\"name\" x=\"{x}\" y=\"24\">{name}</text>\n"));
            put(out, format_args!("<line x1=\"{x}\" y1=\"34\" x2=\"{x}\" y2=\"{bottom}\"/>\n"));
        }
        let mut y = 60 + STEP / 2;
        for step in &self.steps {
            let mut time = Vec::new();
            stamp.whole(step.time, step.digits, &mut time);
            stamp.seen(step.time);
            let time = String::from_utf8_lossy(&time);
            let [from, to] = [step.from, step.to].map(|at| LEFT + at * GAP);
            let (middle, above, lost) = (
                usize::midpoint(from, to),
                y - 5,
                if step.lost || step.icmp { " lost" } else { "" },
            );
            let end = if to > from { to - 1 } else { to + 1 };
            put(out, format_args!("<text class=\"time\" x=\"6\" y=\"{y}\">{time}</text>\n"));
            put(
                out,
                format_args!(
                    "<line class=\"arrow{lost}\" x1=\"{from}\" y1=\"{y}\" x2=\"{end}\" y2=\"{y}\" \
                     marker-end=\"url(#head)\"/>\n<text class=\"message\" x=\"{middle}\" y=\"{above}\">{}</text>\n",
                    xml(step.message)
                ),
            );
            let beside = LEFT + lanes + 14;
            let details = xml(&shortened(&self.details(step), TEXT));
            put(out, format_args!("<text x=\"{beside}\" y=\"{y}\">{details}</text>\n"));
            for (weight, verdict, what) in &step.findings {
                y += STEP;
                let (class, word) = (weight.name(), severity(*weight, *verdict));
                let what = xml(&shortened(what, TEXT));
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
