//! The static part of a page: its head, verdicts, rules, and the elements that the script fills.

use std::collections::BTreeMap;

use dissectors::kit::{Code, Rule, Severity};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Capture, STYLE, overview};
use crate::text::escaped;

/// Everything above the data.
pub(super) fn above(captures: &[Capture], policy: &str, version: &str) -> Markup {
    let names: Vec<_> = captures.iter().map(|it| escaped(&it.name)).collect();
    let title = match &names[..] {
        [one] => one.to_string(),
        several => format!("{} captures", several.len()),
    };
    PreEscaped(
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " - gamewire report" }
                    style { (PreEscaped(STYLE)) }
                }
                (body(captures, &names, version))
            }
        }
        .into_string()
        .trim_end_matches("</body></html>")
        .to_owned(),
    )
}

fn body(captures: &[Capture], names: &[impl AsRef<str>], version: &str) -> Markup {
    html! {
        body {
            a class="skip" href="#main" data-skip { "Skip to the report" }
            header class="top" {
                p class="brand" { "gamewire report" }
                @if captures.len() > 1 {
                    label class="pick" { "Capture "
                        select id="capture" {
                            @for (nth, name) in names.iter().enumerate() {
                                option value=(nth) { (name.as_ref()) }
                            }
                        }
                    }
                }
                @if captures.len() > 1 { (overview::overview(captures)) }
                @for (nth, (capture, name)) in captures.iter().zip(names).enumerate() {
                    (verdict(nth, capture, name.as_ref()))
                }
                noscript { p { "Charts, tables and messages are drawn by this page's own script, which does not run here." } }
            }
            div class="columns" {
                aside class="facets" aria-label="What is shown" {
                    form id="search" role="search" {
                        label for="q" { "Search messages" }
                        input id="q" type="search" placeholder="address, name, rule, text" autocomplete="off" spellcheck="false";
                    }
                    details id="choices" class="choices" open {
                        summary { "Choices" }
                        div id="facets" {}
                    }
                }
                main id="main" tabindex="-1" {
                    p id="chosen" class="chosen" role="status" {}
                    p id="sampled" class="note" hidden {}
                    (findings(captures))
                    (timeline())
                    (section("servers", "Servers", "Game servers that were asked, or that made themselves known to a master."))
                    (section("masters", "Master servers", "Servers that list game servers."))
                    (section("clients", "Clients", "Hosts that sent requests."))
                    section id="times-section" aria-labelledby="times-title" {
                        h2 id="times-title" { "Response times" }
                        p class="about" { "From a request to its response, on a logarithmic scale." }
                        div id="times" {}
                    }
                    (section("flows", "Conversations", "All messages between two sockets. Choose a conversation to see only its messages."))
                    (ladder())
                }
            }
            (message())
            footer { "Made by gamewire " (version) ". This file holds all that it shows and requests nothing from anywhere." }
        }
    }
}

/// The answer, and conformance as one line below it; the colour is that of the worse one.
fn verdict(nth: usize, capture: &Capture, name: &str) -> Markup {
    let (answer, words) = (&capture.answer, &capture.verdict);
    let mut worst = ["fail", "warning", "pass"].into_iter();
    let tone = worst.find(|it| [answer.tone, words.tone].contains(it));
    html! {
        section class={ "verdict " (tone.unwrap_or("unknown")) } data-capture=(nth) hidden[nth > 0] {
            h1 class=(answer.tone) { (answer.headline) }
            p class="recording" { bdi { (name) } ": " (capture.recording) }
            (answer.body)
            @if words.sentences.is_empty() {
                p class={ "conformance " (words.tone) } { (words.headline) }
            } @else {
                details class={ "conformance " (words.tone) } {
                    summary { (words.headline) }
                    ul { @for sentence in &words.sentences { li { (sentence) } } }
                }
            }
            @if let Some((typed, lacking)) = &capture.selected {
                p class="note selected" {
                    "The verdict is of the whole capture. What is below is of the messages that " code { (typed) } " selects."
                    @if let Some(lacking) = lacking { " " (lacking) }
                }
            }
        }
    }
}

/// A section with a table.
fn section(id: &str, title: &str, about: &str) -> Markup {
    html! {
        section id={ (id) "-section" } aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            p class="about" { (about) }
            div id=(id) class="table" {}
        }
    }
}

fn timeline() -> Markup {
    html! {
        section id="timeline-section" aria-labelledby="timeline-title" {
            h2 id="timeline-title" { "Timeline" }
            p class="about" {
                "Messages a second by protocol. Drag over the chart, or move the two sliders, to choose a span of \
                 time: all that follows is of that span. "
                span class="key" { span class="mark finding" aria-hidden="true" {} "finding " }
                span class="key" { span class="mark unanswered" aria-hidden="true" {} "unanswered request" }
            }
            div id="timeline" {}
            div class="sliders" {
                label { "From " input id="from" type="range"; output id="from-time" for="from" {} }
                label { "To " input id="to" type="range"; output id="to-time" for="to" {} }
                button id="whole" type="button" { "Whole time" }
            }
        }
    }
}

/// The rules that did not simply pass, the most severe first, with their requirements and
/// citations. A rule that was broken, and has notes as well, is there twice.
fn findings(captures: &[Capture]) -> Markup {
    let rules = captures.iter().flat_map(|capture| &capture.rules);
    let rules: BTreeMap<(Code, Severity), &Rule> = rules.map(|(key, rule)| (*key, *rule)).collect();
    let of = |severity| rules.iter().filter(move |((_, it), _)| *it == severity);
    let of = |severity| of(severity).map(|((code, _), rule)| (*code, *rule));
    html! {
        section id="findings-section" aria-labelledby="findings-title" {
            h2 id="findings-title" { "Findings" }
            p class="about" {
                "Messages that break their protocol's specification, by rule and by party. An "
                em { "error" } " breaks a statement of it, a " em { "warning" } " its stated practice; a " em { "note" }
                " is worth knowing. With " em { "?" } " a finding is inconclusive: packets missing from the capture could explain it."
            }
            p id="no-findings" hidden { "No findings in what is shown." }
            @for severity in [Severity::Error, Severity::Warning] {
                @for (code, rule) in of(severity) { (card(code, rule, severity)) }
            }
            (notes(of(Severity::Note)))
        }
    }
}

/// Notes together: a line for each server below each of them.
fn notes<'r>(rules: impl Iterator<Item = (Code, &'r Rule)>) -> Markup {
    let mut rules = rules.peekable();
    html! {
        @if rules.peek().is_some() {
            details class="notes" data-notes {
                summary { "Notes" }
                p class="about" { "What is worth knowing, and no fault: above all practice that is documented, and deviates from a specification." }
                @for (code, rule) in rules { (card(code, rule, Severity::Note)) }
            }
        }
    }
}

fn card(code: Code, rule: &Rule, severity: Severity) -> Markup {
    html! {
        article class={ "rule " (severity.name()) } data-rule=(code) data-severity=(severity.name())
            data-answer[rule.requires_response] aria-labelledby={ "rule-" (code) "-" (severity.name()) } {
            h3 id={ "rule-" (code) "-" (severity.name()) } {
                span class={ "badge " (severity.name()) } { (severity.name()) }
                " " span class="code" { (code) } " " (rule.slug)
                span class="count" data-count {}
            }
            p class="asks" { (rule.asks) }
            @if severity > Severity::Note { (citations(rule)) }
            details class="why" {
                summary { "Why it matters" }
                p { (rule.why.trim()) }
                @if severity == Severity::Note { (citations(rule)) }
            }
            div class="parties" data-parties {}
        }
    }
}

fn citations(rule: &Rule) -> Markup {
    html! {
        @for cite in rule.cite.iter().take(2) {
            @if !cite.quote.is_empty() { blockquote { "\u{201C}" (cite.quote) "\u{201D}" } }
            p class="cite" { cite { (rule.document()) } ", \u{201C}" (cite.section) "\u{201D}" }
        }
    }
}

fn ladder() -> Markup {
    html! {
        section id="ladder-section" aria-labelledby="ladder-title" {
            h2 id="ladder-title" { "Messages" }
            p class="about" {
                "A column for each host, an arrow for each message: click it, or press Enter on it, for its fields and \
                 bytes. Up and Down go from one to the next."
            }
            div class="controls" {
                fieldset class="choice" { legend { "Spacing" }
                    label { input type="radio" name="spacing" value="even" checked; " even" }
                    label { input type="radio" name="spacing" value="time"; " to scale in time" }
                }
                nav id="pages" aria-label="Pages of messages" {}
            }
            div id="ladder" class="ladder" {}
        }
    }
}

fn message() -> Markup {
    html! {
        dialog id="message" aria-labelledby="message-title" {
            div class="bar" {
                h2 id="message-title" {}
                button type="button" id="previous" { "Previous" }
                button type="button" id="next" { "Next" }
                button type="button" id="close" { "Close" }
            }
            div id="message-facts" {}
            div class="panes" {
                section aria-labelledby="tree-title" {
                    h3 id="tree-title" { "Fields" }
                    div id="tree" class="tree" {}
                }
                section aria-labelledby="bytes-title" {
                    h3 id="bytes-title" { "Bytes" }
                    p id="field" class="about" role="status" {}
                    div id="bytes" class="bytes" {}
                }
            }
        }
    }
}
