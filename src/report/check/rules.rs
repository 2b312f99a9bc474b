//! The catalogue of rules, as a list and rule by rule.

use dissectors::kit::{Rule, Severities, Severity};
use serde::Serialize;

use super::put;
use crate::report::paint::{Paint, Tone};
use crate::text::{beside, hanging, width};

#[derive(Serialize)]
struct Entry {
    code: String,
    slug: &'static str,
    severity: &'static str,
    /// The catalogue's severity, if the project has changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_severity: Option<&'static str>,
    who: &'static str,
    asks: &'static str,
    why: String,
    cite: Vec<Citation>,
}

#[derive(Serialize)]
struct Citation {
    document: &'static str,
    section: &'static str,
    quote: &'static str,
}

/// All rules, a line each, with their severities in this project; on a terminal of this width, long ones go on
/// below.
pub fn list(rules: &[&Rule], severities: &Severities, terminal: Option<usize>, out: &mut String) {
    for rule in rules {
        let (code, slug) = (rule.code.to_string(), rule.slug);
        let (severity, who) = (severities.of(rule).name(), rule.who.name());
        let before = format!("{code:<8}{slug:<28}{severity:<9}{who:<9}");
        put(out, format_args!("{}\n", beside(&before, rule.asks, 8, terminal)));
    }
}

/// All rules, as one JSON array.
///
/// # Errors
/// None that a `Vec` can have.
pub fn json(rules: &[&Rule], severities: &Severities, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let entries = rules.iter().map(|rule| Entry {
        code: rule.code.to_string(),
        slug: rule.slug,
        severity: severities.of(rule).name(),
        default_severity: Some(rule.severity)
            .filter(|&default| default != severities.of(rule))
            .map(Severity::name),
        who: rule.who.name(),
        asks: rule.asks,
        why: why(rule),
        cite: rule
            .cite
            .iter()
            .map(|cite| Citation {
                document: rule.document(),
                section: cite.section,
                quote: cite.quote,
            })
            .collect(),
    });
    serde_json::to_writer_pretty(&mut *out, &entries.collect::<Vec<_>>())?;
    out.push(b'\n');
    Ok(())
}

/// One rule: its requirement, citations, reason and examples. `severity`: its severity in this
/// project.
pub fn explain(
    rule: &Rule,
    severity: Severity,
    paint: Paint,
    terminal: Option<usize>,
    out: &mut String,
) {
    let head = paint.text(Tone::Good, format!("{} {}", rule.code, rule.slug));
    let (default, who) = (rule.severity.name(), rule.who.name());
    let changed = if severity == rule.severity {
        String::new()
    } else {
        format!(", here {}", severity.name())
    };
    put(out, format_args!("{head}  ({default}{changed}, {who})\n\n"));
    let asks = hanging(&format!("{}.", rule.asks), 6, terminal);
    put(out, format_args!("Asks: {asks}\n\n{}\n", hanging(&why(rule), 0, terminal)));
    for cite in rule.cite {
        let colon = if cite.quote.is_empty() { "" } else { ":" };
        let source = format!("{}, \"{}\"{colon}", rule.document(), cite.section);
        put(out, format_args!("\n{}\n", hanging(&source, 0, terminal)));
        if !cite.quote.is_empty() {
            let quote = hanging(&format!("\"{}\"", cite.quote), 2, terminal);
            put(out, format_args!("  {quote}\n"));
        }
    }
    for (name, script) in rule.examples() {
        let script = match script {
            Ok(script) => script,
            Err(why) => {
                put(out, format_args!("\n{name}: not shown; {why}\n"));
                continue;
            }
        };
        put(out, format_args!("\n{name}:\n"));
        for line in script.lines().map(str::trim) {
            // Bytes that have no room go on below those of their packet.
            let bytes = line.find("  ").map_or(0, |end| end + 2);
            let (head, bytes) = line.split_at(bytes);
            put(out, format_args!("  {head}{}\n", hanging(bytes, 2 + width(head), terminal)));
        }
    }
}

/// The reason, as one paragraph.
pub(super) fn why(rule: &Rule) -> String {
    rule.why.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}
