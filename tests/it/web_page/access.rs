//! Nobody is kept out: axe-core finds no barrier, on a wide and a narrow screen, light and dark.

use serde_json::json;

use super::{after, choose, give, opened, sample, show};
use crate::support::axe::Axe;
use crate::support::browser::Browser;
use crate::support::project::Project;

/// Widths of a screen.
const WIDTHS: [u64; 2] = [1440, 390];

fn set_screen(browser: &Browser, width: u64, scheme: &str) {
    let screen =
        json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
    browser.command("Emulation.setDeviceMetricsOverride", &screen);
    let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
    browser.command("Emulation.setEmulatedMedia", &json!({ "features": scheme }));
}

/// What axe-core finds on each screen, with the screen.
fn on_each_screen(browser: &Browser, axe: &Axe, what: &str, found: &mut Vec<String>) {
    for width in WIDTHS {
        for scheme in ["light", "dark"] {
            set_screen(browser, width, scheme);
            let violations = axe.violations(browser).into_iter();
            found.extend(violations.map(|it| format!("{what}, {width} pixels, {scheme}: {it}")));
        }
    }
}

#[test]
fn axe_finds_no_barrier() {
    let project = Project::new("web-page-axe");
    let Some(axe) = Axe::new() else { return };
    let Some((browser, _)) = opened(&project) else { return };
    let mut found = Vec::new();
    on_each_screen(&browser, &axe, "start", &mut found);
    give(&browser, &[&sample("a2s-quirks.pcap")]);
    on_each_screen(&browser, &axe, "report", &mut found);
    browser.enter("#report");
    browser.wait("return document.querySelectorAll('#servers tbody tr').length > 0");
    on_each_screen(&browser, &axe, "frame", &mut found);
    browser.leave();
    for view in ["Diagnose", "Check", "Messages"] {
        show(&browser, view);
        on_each_screen(&browser, &axe, view, &mut found);
    }
    choose(&browser, "format", "csv");
    on_each_screen(&browser, &axe, "CSV", &mut found);
    browser.run("document.getElementById('filter').value = 'a2s and'");
    after(&browser, || browser.click("#again"));
    on_each_screen(&browser, &axe, "message", &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // It does look.
    browser.run("document.querySelector('main').append(document.createElement('input'))");
    let found = axe.violations(&browser);
    assert!(found.iter().any(|it| it.starts_with("label: ")), "{found:?}");
}
