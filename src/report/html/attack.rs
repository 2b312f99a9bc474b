//! The attacks of a capture: the figures of `abuse`, and the texts of filters.

use maud::{Markup, html};

use crate::abuse::Attack;
use crate::report::abuse::AbuseReport;
use crate::report::abuse_filters::EMITTED;
use crate::report::answer::{AnswerTimes, filters};
use crate::report::firewall::{Firewall, RuleNames};
use crate::text::escaped;

/// The firewalls whose filters are on a page, with their names.
const FIREWALLS: [(Firewall, &str); 2] =
    [(Firewall::Nft, "nftables"), (Firewall::Iptables, "iptables")];

/// The headline of each attack, and its block.
pub(super) fn blocks(attacks: &[Attack], times: AnswerTimes) -> Vec<(String, Markup)> {
    let each = attacks.iter().map(|attack| {
        let report = times.report(attack);
        let headline = report.headline(attack, &mut report.stamp());
        (headline, block(&report, attack))
    });
    each.collect()
}

/// A line with advice.
pub(super) fn what_to_do(todo: &str) -> Markup {
    html! { p class="todo" { b { "What to do: " } (escaped(todo)) } }
}

/// The figures, and the filters to copy, which a click selects whole.
fn block(report: &AbuseReport<'_>, attack: &Attack) -> Markup {
    let figures = report.figures(attack, &mut report.stamp());
    html! {
        @for todo in filters(&figures) { (what_to_do(todo)) }
        details {
            summary { "Figures, sources and filters" }
            div class="scroll" {
                table class="figures" {
                    @for (name, text) in &figures {
                        tr { th scope="row" { (name) } td { (escaped(text.trim_end_matches(EMITTED))) } }
                    }
                }
            }
            @if attack.applied > 0 {
                @for (firewall, name) in FIREWALLS {
                    h3 { "Filter for " (name) }
                    pre class="filter" tabindex="0" { (filter(report, firewall)) }
                }
            }
        }
    }
}

fn filter(report: &AbuseReport<'_>, firewall: Firewall) -> String {
    let (mut text, mut names) = (Vec::new(), RuleNames::default());
    report.rules(firewall, &mut names, &mut text);
    text.extend_from_slice(names.end(firewall).as_bytes());
    escaped_lines(&String::from_utf8_lossy(&text))
}

/// Lines with other control characters escaped.
fn escaped_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(escaped).collect();
    lines.join("\n")
}
