//! The documentation says what the program does.

mod support;

use std::path::Path;

use support::gamewire;

fn page(name: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(page).expect("the page is there")
}

#[test]
fn the_page_of_rules_is_what_the_catalogue_says() {
    let run = gamewire(["rules", "--no-config", "--format", "markdown"]);
    assert_eq!(run.code, 0);
    let says = "docs/rules.md is out of date: cargo run -p xtask -- docs";
    assert!(page("docs/rules.md") == run.out, "{says}");
    assert_eq!(run.out.matches("\n### ").count(), gamewire(["rules"]).out.lines().count());
}
