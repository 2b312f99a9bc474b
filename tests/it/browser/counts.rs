//! The page counts as the commands do.

use super::{QUIRKS, is_alone, opened};
use crate::support::browser::Browser;
use crate::support::project::Project;
use serde_json::json;

/// The number beside a choice.
fn choice(browser: &Browser, value: &str) -> String {
    let number = format!(
        "return document.querySelector('[data-value=\"{value}\"]').parentElement.querySelector('.number').textContent"
    );
    browser.run(&number).as_str().unwrap().to_owned()
}

/// The number of findings on the card of a rule.
fn count(browser: &Browser, rule: &str, severity: &str) -> String {
    browser.text(&format!("[data-rule='{rule}'][data-severity='{severity}'] [data-count]"))
}

/// Only the first findings of a rule are kept.
#[test]
fn of_many_findings_all_are_counted() {
    let project = Project::new("browser-findings");
    let Some((browser, page)) = opened(&project, &["samples/abuse-query-flood.pcap"]) else {
        return;
    };
    assert_eq!(count(&browser, "A2S062", "warning"), "601 \u{D7}, 1,825 inconclusive (399 listed)");
    let party = browser.text("[data-rule='A2S062'] .party > summary");
    assert_eq!(party, "server 23.17.34.51:27015: 601 \u{D7}, at least 399 inconclusive");
    let notes = browser.text("[data-notes] > summary");
    assert_eq!(notes, "Notes: 1,220 of 1 rule");
    assert_eq!(choice(&browser, "A2S026"), "1,220");
    assert_eq!(choice(&browser, "A2S062"), "2,426");
    is_alone(&browser, &page);
}

#[test]
fn what_a_rule_notes_is_apart_from_what_breaks_it() {
    let project = Project::new("browser-severities");
    let Some((browser, page)) = opened(&project, &[QUIRKS]) else { return };
    assert!(browser.text(".verdict .conformance").starts_with("Passed, with 5 warnings, 16 notes"));
    let warnings = browser.run(
        "return [...document.querySelectorAll('[data-rule][data-severity=warning] [data-count]')].map((it) => it.textContent)",
    );
    assert_eq!(warnings, json!(["2 \u{D7}", "1 \u{D7}", "1 \u{D7}", "1 \u{D7}"]));
    assert_eq!(browser.text("[data-notes] > summary"), "Notes: 16 of 11 rules");
    is_alone(&browser, &page);
}

#[test]
fn copies_count_nowhere() {
    let project = Project::new("browser-copies");
    let file = "samples/silence-doubled.pcap";
    let Some((browser, page)) = opened(&project, &[file]) else { return };
    assert_eq!(browser.text("#pages"), "4 messages");
    assert_eq!(choice(&browser, "a2s"), "4");
    assert_eq!(browser.text("#flows td:nth-child(6)"), "4");
    is_alone(&browser, &page);
}

/// An ICMP error is no message.
#[test]
fn the_ladder_counts_messages_alone() {
    let project = Project::new("browser-icmp");
    let Some((browser, _)) = opened(&project, &["samples/silence-icmp.pcap"]) else { return };
    let check = crate::support::gamewire(["check", "--no-config", "samples/silence-icmp.pcap"]).out;
    let shown = browser.text("#pages");
    assert!(check.contains(&format!(", {shown} in ")), "{shown}: {check}");
}
