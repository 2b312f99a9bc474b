//! A page of many messages stays quick.

use std::fmt::Write;

use super::{is_alone, opened};
use crate::support::browser::Browser;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::json;

/// A capture with 10,000 messages, each player's name in one of them.
fn five_thousand_exchanges(project: &Project) {
    let mut script = String::new();
    for nth in 0..5000 {
        let at = f64::from(nth) / 1000.0;
        let (client, answered) = (nth % 10, at + 0.0004);
        writeln!(script, "{at:.4} c{client} > s FFFFFFFF 55 11223344").unwrap();
        writeln!(
            script,
            "{answered:.4} s > c{client} FFFFFFFF 44 01 00 'Player {nth}' 00 05000000 0000803F"
        )
        .unwrap();
    }
    project.play("many.pcap", &Setting::udp(27015), &script);
}

#[test]
fn of_ten_thousand_messages_only_some_are_drawn() {
    let project = Project::new("browser-many");
    five_thousand_exchanges(&project);
    let Some((browser, page)) = opened(&project, &[&project.path("many.pcap")]) else { return };
    browser.wait("return performance.getEntriesByName('shown').length === 1");
    assert!(browser.text("#pages").contains("10,000 messages"));
    // The work of the browser is counted, because its time depends on the machine.
    let drawn = || {
        let count = browser.run("return document.getElementsByTagName('*').length");
        assert!(count.as_u64().unwrap() < 5000, "{count} elements");
        count.as_u64().unwrap()
    };
    let all = drawn();
    browser.run("document.querySelector('[data-value=\"yes\"]').click()");
    assert_ne!(drawn(), all, "the choice changes what is drawn");
    is_alone(&browser, &page);
}

#[test]
fn a_page_with_some_of_the_messages_counts_all() {
    let project = Project::new("browser-some");
    let mut script = String::new();
    for nth in 0..6500 {
        let (at, client) = (f64::from(nth) / 1000.0, nth % 10);
        writeln!(script, "{at:.4} c{client} > s FFFFFFFF 55 11223344").unwrap();
        if nth % 10 != 3 {
            let at = at + 0.0004;
            writeln!(script, "{at:.4} s > c{client} FFFFFFFF 44 00").unwrap();
        }
    }
    project.play("some.pcap", &Setting::udp(27015), &script);
    let Some((browser, _)) = opened(&project, &[&project.path("some.pcap")]) else { return };
    let described =
        "return document.querySelector('#timeline svg[role=img]').getAttribute('aria-label')";
    let described = browser.run(described);
    let described = described.as_str().unwrap();
    assert!(described.ends_with(": 12,350 messages, 1 unanswered request"), "{described}");
    // What is known of all is not estimated from some, and what is estimated says so.
    let numbers = browser.run(
        "return ['a2s', 'yes', 'a2s.player_request'].map((it) => \
         document.querySelector(`[data-value='${it}']`).parentElement.querySelector('.number').textContent)",
    );
    let numbers = Vec::from_iter(numbers.as_array().unwrap().iter().map(|it| it.as_str().unwrap()));
    assert_eq!(numbers[..2], ["12,350", "5,850"]);
    assert!(numbers[2].starts_with("\u{2248} 6,"), "{numbers:?}");
    let headline = browser.text(".verdict:not([hidden])");
    assert!(headline.contains("5,850 of 5,851 requests were answered"), "{headline}");
}

#[test]
fn a_large_page_is_drawn_when_typing_pauses() {
    let project = Project::new("browser-typing");
    let Some((browser, page)) = opened(&project, &["samples/abuse-query-flood.pcap"]) else {
        return;
    };
    let typed = "const q = document.getElementById('q'), before = document.querySelector('.step'); \
                 for (const text of ['a', 'a2', 'a2s']) { q.value = text; q.dispatchEvent(new Event('input')); } \
                 return document.querySelector('.step') === before";
    assert_eq!(browser.run(typed), true, "not yet");
    browser.wait("return location.hash.includes('q=a2s')");
    is_alone(&browser, &page);
}

/// Shows what a search finds, as if it was typed; returns the result of a script before the browser does
/// anything else.
fn searched(browser: &Browser, words: &str, then: &str) -> serde_json::Value {
    browser.run(&format!(
        "const steps = () => [...document.querySelectorAll('.step')].map((it) => it.dataset.frame).join(); \
         const before = steps(); \
         history.replaceState(null, '', '#q={words}'); dispatchEvent(new PopStateEvent('popstate')); {then}"
    ))
}

/// What is out of sight need not be drawn before the next letter.
#[test]
fn what_is_in_sight_is_drawn_first_and_all_else_soon() {
    let project = Project::new("browser-sight");
    five_thousand_exchanges(&project);
    let Some((browser, page)) = opened(&project, &[&project.path("many.pcap")]) else { return };
    let chosen = "const chosen = document.getElementById('chosen').textContent; ";
    let at_once = format!("{chosen} return [chosen.includes(' of 10,000 '), steps() === before]");
    assert_eq!(searched(&browser, "player%2077", &at_once), json!([true, true]));
    let others = "return [...document.querySelectorAll('.step')].every((it) => !['1', '2'].includes(it.dataset.frame))";
    browser.wait(others);
    // Whoever looks at the ladder gets it at once, and a print has everything.
    browser.run("document.getElementById('ladder-section').scrollIntoView()");
    assert_eq!(searched(&browser, "player%20777", "return steps() === before"), false);
    browser.run("scrollTo(0, 0)");
    let printed = "dispatchEvent(new Event('beforeprint')); return steps() === before";
    assert_eq!(searched(&browser, "player%204321", printed), false);
    is_alone(&browser, &page);
}
