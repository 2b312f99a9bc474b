//! A page of several captures.

use super::{QUIRKS, is_alone, opened, picture, resize};
use crate::support::axe::Axe;
use crate::support::project::Project;
use serde_json::json;

#[test]
fn a_row_of_the_overview_selects_its_capture() {
    let project = Project::new("browser-overview");
    let files = ["samples/abuse-players.pcap", QUIRKS];
    let Some((browser, page)) = opened(&project, &files) else { return };
    let shown = "return document.querySelector('.verdict:not([hidden])').dataset.capture";
    assert_eq!(browser.run(shown), "0");
    browser.click("[data-of='1'] td");
    assert_eq!(browser.run(shown), "1");
    assert_eq!(browser.count("[data-of='1'][aria-current=true]"), 1);
    browser.click("[data-of='0'] a");
    assert_eq!(browser.run(shown), "0");
    assert_eq!(browser.count("[aria-current=true]"), 1);
    is_alone(&browser, &page);
}

/// Captures of several kinds, of which the page begins with a table.
const SEVERAL: [&str; 5] = [
    QUIRKS,
    "samples/a2s-info-players-rules.pcap",
    "samples/abuse-query-flood.pcap",
    "samples/silence-unanswered.pcap",
    "samples/valve-master-faults.pcap",
];

#[test]
fn the_overview_of_several_captures_has_the_worst_on_top() {
    let project = Project::new("browser-several");
    let Some((browser, page)) = opened(&project, &SEVERAL) else { return };
    let heads = browser.run(
        "return [...document.querySelectorAll('[data-of] td:nth-child(2)')].map((it) => it.textContent)",
    );
    let heads = heads.as_array().unwrap();
    assert_eq!(heads[0], "Under attack: 23.17.34.51:27015 is flooded");
    assert_eq!(heads.len(), SEVERAL.len());
    picture(&browser, "overview");
    is_alone(&browser, &page);
}

#[test]
fn axe_finds_no_barrier_in_a_page_of_several_captures() {
    let Some(axe) = Axe::new() else { return };
    let project = Project::new("browser-several-axe");
    // It looks at each element: a flood would take minutes.
    let small = SEVERAL.iter().filter(|file| !file.contains("flood"));
    let small = Vec::from_iter(small.copied());
    let Some((browser, page)) = opened(&project, &small) else { return };
    let mut found = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.command("Emulation.setEmulatedMedia", &features);
        for width in [1440, 390] {
            resize(&browser, width);
            for hash in ["", "#capture=2&m=0"] {
                browser.open(&page, hash);
                let own = axe.violations(&browser).into_iter();
                found.extend(own.map(|it| format!("{scheme} {width} {hash}: {it}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
