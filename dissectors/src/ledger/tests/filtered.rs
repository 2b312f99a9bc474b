//! Filtered lists, and what their servers say of themselves.

use super::*;
use crate::catalogue;

fn rule(code: &str) -> &'static Rule {
    catalogue::rules().into_iter().find(|rule| rule.code.to_string() == code).unwrap()
}

const MASTER: &str = "10.0.0.9:27011";

/// An event at this second.
fn at(second: f64, from: &str, to: &str) -> Basis {
    let mut basis = seen((second * 10.0) as u64 + 1, from, to);
    basis.seen.mark.time = Time((second * 1e9) as i64);
    basis
}

fn list(ledger: &mut Ledger, second: f64, filter: &str, servers: &[&str]) {
    let rules =
        ListRules { queried: rule("VM028"), registered: None, filtered: Some(rule("VM015")) };
    let servers: Vec<_> = servers.iter().map(|it| listed(it.parse().unwrap())).collect();
    let event = CrossFlowEvent::Listed(rules);
    let (servers, text, basis) = (&*servers, filter.as_bytes(), at(second, MASTER, C));
    ledger.cross_flow(&CrossFlow { event, basis, servers, text });
}

fn says(ledger: &mut Ledger, second: f64, server: &str, text: &str) {
    let described = about(CrossFlowEvent::Described, at(second, server, C));
    ledger.cross_flow(&CrossFlow { text: text.as_bytes(), ..described });
}

/// The notes, and how often the rule passed otherwise.
fn notes(ledger: Ledger) -> (Vec<String>, u64) {
    let (review, code) = (ledger.review(Loads::default(), SPAN, |_| true), rule("VM015").code);
    let notes = review.breaches.filter(|it| it.rule.code == code);
    let notes = notes.map(|it| {
        assert!(it.is_note);
        it.detail.to_string()
    });
    let kept = review.kept.iter().filter(|it| it.rule.code == code).map(|it| it.times).sum();
    (notes.collect(), kept)
}

const SERVERS: [&str; 4] = ["10.0.0.2:27015", "10.0.1.2:27015", "10.0.2.2:27015", "10.0.3.2:27015"];

#[test]
fn a_server_that_the_filter_excludes_is_noted_once_for_each_list() {
    let mut ledger = ledger(1000);
    list(&mut ledger, 0.0, r"\appid\440\map\de_dust2", &SERVERS);
    for (server, map) in SERVERS.iter().zip(["cs_office", "de_dust2", "cs_militia", "a"]) {
        says(&mut ledger, 0.4, server, &format!(r"\appid\440\map\{map}"));
        says(&mut ledger, 0.5, server, r"\map\another");
    }
    let expected = r"10.0.0.2:27015 was listed for \appid\440\map\de_dust2, and says \map\cs_office 0.4 s later, and 2 more";
    assert_eq!(notes(ledger), (vec![expected.to_owned()], 0));
}

#[test]
fn a_list_that_its_servers_confirm_passes() {
    let mut ledger = ledger(1000);
    list(&mut ledger, 0.0, r"\full\1", &SERVERS);
    says(&mut ledger, 1.0, SERVERS[0], r"\map\a");
    says(&mut ledger, 1.5, SERVERS[0], r"\players\3\max\4");
    assert_eq!(notes(ledger), (Vec::new(), 1));
}

#[test]
fn the_first_description_after_the_latest_list_counts_within_a_minute() {
    let later = |second: f64| {
        let mut ledger = ledger(1000);
        says(&mut ledger, 0.0, SERVERS[0], r"\players\4\max\4");
        list(&mut ledger, 1.0, r"\full\1", &SERVERS);
        says(&mut ledger, second, SERVERS[0], r"\players\4\max\4");
        notes(ledger)
    };
    assert_eq!(later(61.5), (Vec::new(), 0));
    let expected = r"10.0.0.2:27015 was listed for \full\1, and says \players\4\max\4 60.0 s later";
    assert_eq!(later(61.0), (vec![expected.to_owned()], 0));
    let mut again = ledger(1000);
    list(&mut again, 0.0, r"\full\1", &SERVERS);
    list(&mut again, 30.0, r"\empty\1", &SERVERS[..1]);
    says(&mut again, 70.0, SERVERS[0], r"\players\4\max\4");
    assert_eq!(notes(again), (Vec::new(), 1));
}

#[test]
fn texts_cannot_make_a_line_of_their_own_or_a_long_one() {
    let mut ledger = ledger(1000);
    list(&mut ledger, 0.0, r"\map\de_dust2", &SERVERS);
    says(&mut ledger, 0.1, SERVERS[0], &format!("\\map\\\n{}", "x".repeat(1000)));
    let (notes, _) = notes(ledger);
    assert!(notes[0].contains(r"says \map\\nxxx") && notes[0].len() < 200, "{notes:?}");
}

#[test]
fn no_more_servers_are_kept_than_there_is_room_for() {
    let mut small = ledger(4);
    list(&mut small, 0.0, r"\map\de_dust2", &SERVERS);
    assert!(small.full && small.filtered.entries() <= 5, "{}", small.filtered.entries());
    // A list that is over makes room.
    list(&mut small, 100.0, r"\map\de_dust2", &SERVERS[..1]);
    assert_eq!(small.filtered.entries(), 2);
    let mut long = ledger(100);
    for second in 0..1000 {
        list(&mut long, f64::from(second), &r"\map\a".repeat(100), &SERVERS[..1]);
    }
    assert!(long.filtered.entries() < 200, "{}", long.filtered.entries());
}
