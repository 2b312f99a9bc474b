//! The catalogue as a page for people: a table for each group, then rule by rule.

use dissectors::kit::{Cite, Rule, Severities};

use super::put;
use super::rules::why;

/// The page's head.
const HEAD: &str = "\
# Rules

The rules that `gamewire check` applies to captures. This page is written by `cargo run -p xtask -- docs`;
`gamewire rules` lists the same, `gamewire explain CODE` shows one. Codes and names never change.

**Severity.** An *error* contradicts a statement of the specification. A *warning* has legal bytes, but
contradicts the specification's stated practice or its example. A *note* is worth knowing. A known deviation
is a note under the rule's code, and the rule is not broken.

**Who** is at fault: the client, the server or the master; *any*: the sender; *capture*: no party,
because it is a fault of the recording.

**Verdict on a capture.** *fail*: broken at least once. *pass*: checked at least once, never broken.
*inconclusive*: there were occasions, but missing packets could explain each. *not exercised*: there was no
occasion.
";

/// Appends the page, with the severities of rules from `severities`.
pub fn write(rules: &[&Rule], severities: &Severities, out: &mut String) {
    out.push_str(HEAD);
    for of_group in rules.chunk_by(|a, b| a.code.group() == b.code.group()) {
        let Some(first) = of_group.first() else { continue };
        put(out, format_args!("\n## {}\n\n", first.code.group().title()));
        out.push_str("| code | name | severity | who | asks |\n|---|---|---|---|---|\n");
        for rule in of_group {
            let (code, slug, asks) = (rule.code, rule.slug, marked(rule.asks).replace('|', "\\|"));
            let (severity, who) = (severities.of(rule).name(), rule.who.name());
            let link = format!("{}-{slug}", code.to_string().to_lowercase());
            put(
                out,
                format_args!("| [{code}](#{link}) | {slug} | {severity} | {who} | {asks} |\n"),
            );
        }
        of_group.iter().for_each(|rule| one(rule, severities, out));
    }
}

fn one(rule: &Rule, severities: &Severities, out: &mut String) {
    let (severity, who) = (severities.of(rule).name(), rule.who.name());
    put(out, format_args!("\n### {} {}\n\n", rule.code, rule.slug));
    put(out, format_args!("*{severity}, {who}.* Asks: {}.\n\n", marked(rule.asks)));
    put(out, format_args!("{}\n", marked(&why(rule))));
    rule.cite.iter().for_each(|cite| cited(rule.document(), cite, out));
    for (name, script) in rule.examples() {
        match script {
            Ok(script) => {
                put(out, format_args!("\n{name}:\n\n```text\n"));
                for line in script.lines() {
                    put(out, format_args!("{}\n", line.trim()));
                }
                out.push_str("```\n");
            }
            Err(why) => put(out, format_args!("\n{name}: not shown; {}.\n", marked(why))),
        }
    }
}

fn cited(document: &str, cite: &Cite, out: &mut String) {
    put(out, format_args!("\n{document}, \"{}\"", marked(cite.section)));
    if cite.quote.is_empty() {
        out.push_str(".\n");
    } else {
        put(out, format_args!(":\n\n> {}\n", marked(cite.quote)));
    }
}

/// Text as it is, outside of backticks: Markdown gives `<`, `*`, `_` and `\` a meaning.
fn marked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for c in text.chars() {
        is_code ^= c == '`';
        match c {
            '<' if !is_code => out.push_str("&lt;"),
            '*' | '_' | '\\' | '[' if !is_code => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_keeps_the_text_as_it_is() {
        assert_eq!(marked("a <b> *c* `\\d_<e>` [f]"), "a &lt;b> \\*c\\* `\\d_<e>` \\[f]");
    }
}
