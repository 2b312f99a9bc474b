//! `gamewire diagnose`: what it says is understood by those who run servers, and fits their terminals.

use crate::support::project::Project;
use crate::support::terminal::{on_a_terminal, plain};
use crate::support::{gamewire, samples};
use captures::exchange::Setting;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

/// What it says of a script's capture.
fn said(script: &str) -> String {
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    gamewire(["diagnose", "--no-config", &file]).out
}

/// The line after the one with this text.
fn after<'s>(said: &'s str, text: &str) -> &'s str {
    let at = said.lines().position(|line| line.contains(text));
    at.and_then(|at| said.lines().nth(at + 1)).unwrap_or_else(|| panic!("{text}: {said}")).trim()
}

#[test]
fn all_lines_fit_a_terminal_of_80_columns() {
    for sample in samples() {
        for command in ["diagnose", "check"] {
            let file = &format!("samples/{}", sample.file_name().unwrap().display());
            let shown = plain(&on_a_terminal(80, None, &[command, "--no-config", file]));
            let long = shown.lines().find(|line| line.chars().count() > 80);
            assert_eq!(long, None, "{command} {file}");
        }
    }
}

#[test]
fn at_the_server_its_time_is_its_own() {
    // It is an end of all packets, and its clients are several hosts.
    let asks = ["c", "d", "c", "d"].into_iter().zip([10, 20, 30, 40]).map(|(client, at)| {
        format!("{at}.0 {client} > s  {INFO}\n{}.0 s > {client}  {ANSWER}\n", at + 5)
    });
    let said = said(&(asks.collect::<String>() + "end 90"));
    assert!(said.contains("captured at the server"), "{said}");
    let advice = after(&said, "NO   responds in time");
    assert!(advice.starts_with("This time is the server's own"), "{said}");
}

#[test]
fn advice_is_given_also_where_something_else_is_in_the_headline() {
    let answer = ANSWER.replace(" 00 00", " 00 80 le16:7779");
    let round = |nth: u32| {
        format!(
            "{nth}0.0 c > s:27017  {INFO}\n{nth}0.02 s:27017 > c  {answer}\n{nth}1.0 c > s:7779  {INFO}\n"
        )
    };
    let said = said(&((1..5).map(round).collect::<String>() + "end 90"));
    assert_eq!(after(&said, "announces as the game port"), "Ask the other port.", "{said}");
}

#[test]
fn kinds_of_requests_are_named_in_words() {
    let round = |nth: u32| {
        format!(
            "{nth}0.0 c > s  {INFO}\n{nth}0.02 s > c  {ANSWER}\n{nth}0.1 c > s  FFFFFFFF 55 FFFFFFFF\n\
             {nth}0.12 s > c  FFFFFFFF 41 le32:7\n{nth}0.2 c > s  FFFFFFFF 55 le32:7\n\
             {nth}0.22 s > c  FFFFFFFF 44 00\n{nth}0.3 c > s  FFFFFFFF 56 le32:7\n"
        )
    };
    let said = said(&((1..5).map(round).collect::<String>() + "end 90"));
    assert!(said.contains("it answers other requests, but never rules requests"), "{said}");
    assert!(said.contains("none of 4 rules requests is answered; others are"), "{said}");
    assert!(!said.contains("rules_request"), "{said}");
}

#[test]
fn a_name_that_ends_in_a_letter_of_latin_1_is_read() {
    let answer = ANSWER.replace("'A'", "'Caf' E9");
    let script = format!("0.0 c > s  {INFO}\n0.02 s > c  {answer}\nend 9");
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    for command in ["diagnose", "summary", "dissect"] {
        let shown = gamewire([command, &file]).out;
        assert!(shown.contains("Caf\u{E9}") && shown.contains("(Latin-1)"), "{command}: {shown}");
    }
}
