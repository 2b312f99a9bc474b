//! The ladder as a sequence diagram of Mermaid, which GitHub and GitLab draw in Markdown.

use super::Ladder;
use crate::report::clock::TimeFormatter;
use crate::report::{put, to_text};

impl Ladder {
    /// Writes the diagram, with the time of each message before its name. The arrow of a request without an answer
    /// ends with a cross.
    pub fn mermaid(&self, stamp: &mut TimeFormatter, out: &mut Vec<u8>) {
        out.extend_from_slice(b"sequenceDiagram\n");
        for (at, name) in self.names().iter().enumerate() {
            put(out, format_args!("    participant p{at} as {}\n", plain(name)));
        }
        for step in &self.steps {
            let arrow = match step.lost || step.icmp {
                true => "--x",
                false if step.is_silent() => "-x",
                false => "->>",
            };
            let details = self.details(step);
            let (from, to, message) = (step.from, step.to, step.message);
            let time = to_text(|out| stamp.brief(step.time, step.digits, out));
            stamp.seen(step.time);
            let line = plain(&format!("{time} {message} {details}"));
            put(out, format_args!("    p{from}{arrow}p{to}: {line}\n"));
            for found in &step.findings {
                let (weight, what) = (found.word(), plain(&found.text));
                let (left, right) = (from.min(to), from.max(to));
                put(out, format_args!("    Note over p{left},p{right}: {weight} {what}\n"));
            }
        }
    }
}

/// The text, with characters that are special in Mermaid or HTML as character references.
fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " .,:/+-_()!?'".contains(c);
    let mut out = String::new();
    for c in text.chars() {
        if is_plain(c) { out.push(c) } else { out += &format!("#{};", u32::from(c)) }
    }
    out
}
