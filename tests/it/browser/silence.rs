//! Requests without an answer are marked in the ladder of the page.

use std::collections::BTreeSet;

use super::{is_alone, opened, resize};
use crate::support::gamewire;
use crate::support::project::Project;
use serde_json::Value;

#[test]
fn requests_without_an_answer_have_the_mark_of_other_ladders() {
    let project = Project::new("browser-silence");
    let file = "samples/silence-unanswered.pcap";
    let Some((browser, page)) = opened(&project, &[file]) else { return };
    let json = gamewire(["follow", "--no-config", "--format", "json", file]).out;
    let ladder: Value = serde_json::from_str(&json).unwrap();
    let steps = ladder["steps"].as_array().unwrap().iter();
    let silent = steps.filter(|step| step["answered"] == false);
    let silent = BTreeSet::from_iter(silent.map(|step| step["frame"].as_u64().unwrap()));
    for width in [1440, 768, 390] {
        resize(&browser, width);
        browser.open(&page, "");
        let marked = browser.run(
            "return [...document.querySelectorAll('.step')].filter((it) => it.querySelector('.silent')?.textContent === 'no answer') \
             .map((it) => Number(it.dataset.frame))",
        );
        let marked = marked.as_array().unwrap().iter().filter_map(Value::as_u64);
        assert_eq!(marked.collect::<BTreeSet<_>>(), silent, "{width}");
    }
    is_alone(&browser, &page);
}
