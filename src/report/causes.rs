//! The conditions and causes of `diagnose`, as tables for a page.

use dissectors::kit::{Cause, Item};

use super::check::put;

/// The conditions with what makes them a NO; then the causes, of a NO, of a ? and beside a yes: what they say, and what
/// to do.
pub fn markdown(causes: &[&Cause], out: &mut String) {
    out.push_str("| condition | in JSON | causes of a NO |\n|---|---|---|\n");
    for item in Item::ALL {
        let no = causes.iter().filter(|cause| cause.no.contains(item));
        let no = Vec::from_iter(no.map(|cause| format!("`{}`", cause.name))).join(", ");
        put(out, format_args!("| {} | `{}` | {no} |\n", item.does(), item.name()));
    }
    out.push_str("\n| cause of a NO | what is wrong | what to do |\n|---|---|---|\n");
    for cause in causes.iter().filter(|cause| !cause.no.is_empty()) {
        let (says, remedy) = (cell(cause.says), remedies(cause, true));
        put(out, format_args!("| `{}` | {says} | {remedy} |\n", cause.name));
    }
    out.push_str("\n| cause of a ? | of | why | what to do |\n|---|---|---|---|\n");
    for cause in causes.iter().filter(|cause| !cause.unknown.is_empty()) {
        let items = match cause.unknown {
            items if items == Item::ALL => "any".to_owned(),
            items => names(items),
        };
        let (says, remedy) = (cell(cause.says), remedies(cause, false));
        put(out, format_args!("| `{}` | {items} | {says} | {remedy} |\n", cause.name));
    }
    out.push_str("\n| cause beside a yes | of | what is seen | what to do |\n|---|---|---|---|\n");
    for cause in causes.iter().filter(|cause| !cause.yes.is_empty()) {
        let (items, says, remedy) = (names(cause.yes), cell(cause.says), cell(cause.remedy(false)));
        put(out, format_args!("| `{}` | {items} | {says} | {remedy} |\n", cause.name));
    }
}

/// What to do, wherever the capture was taken.
fn remedies(cause: &Cause, is_no: bool) -> String {
    match cause.at_server {
        "" => cell(cause.remedy(is_no)),
        at_server => {
            format!("{} Captured at the server: {}", cell(cause.remedy(is_no)), cell(at_server))
        }
    }
}

/// The names of conditions, for a cell.
fn names(items: &[Item]) -> String {
    Vec::from_iter(items.iter().map(|it| format!("`{}`", it.name()))).join(", ")
}

/// A text of the program, which may have code in it, for a cell.
fn cell(text: &str) -> String {
    text.replace('\\', r"\\").replace('|', r"\|")
}
