//! Looks for barriers in a page with axe-core, which `.ci/axe` fetches; without it, tests are skipped.

use std::path::Path;

use super::browser::Browser;
use super::skip;

/// The script of axe-core.
pub(crate) struct Axe(String);

impl Axe {
    /// Reads it, if it is here.
    pub(crate) fn new() -> Option<Axe> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/axe/axe.min.js");
        let Ok(script) = std::fs::read_to_string(script) else {
            skip::skipped("axe", "target/axe/axe.min.js is not there (.ci/axe fetches it)");
            return None;
        };
        Some(Axe(script))
    }

    /// What is wrong in the page or the frame that the browser is in: rule, element, explanation.
    pub(crate) fn violations(&self, browser: &Browser) -> Vec<String> {
        browser.run(&format!("if (!window.axe) {{ {} }}", self.0));
        let found = browser.run(
            "return axe.run(document, { iframes: false }).then(({ violations }) => violations.flatMap( \
             ({ id, nodes }) => nodes.map((it) => `${id}: ${it.target}: ${it.failureSummary}`)))",
        );
        let found = found.as_array().expect("a list").iter();
        found.map(|it| it.as_str().expect("a text").to_owned()).collect()
    }
}
