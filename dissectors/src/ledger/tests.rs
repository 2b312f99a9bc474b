//! Rules of the ledger, with events made by hand.

use crate::kit::{ListRules, Mark, Name, NewFor, Side};

use super::lists::LISTED;
use super::*;
use crate::a2s::rules::A2S053;
use crate::acr_master::rules::ACR031;
use crate::gamespy1::rules::GS1032;
use crate::valve_master::rules::VM046;

mod elsewhere;
mod filtered;
mod registrations;

/// The capture has a minute.
const SPAN: [Time; 2] = [Time(0), Time(60_000_000_000)];

fn seen(frame: u64, from: &str, to: &str) -> Basis {
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    let time = Time(frame as i64 * 1_000_000);
    let mark = Mark { frame, time, length: 9, side: Side::First };
    Basis { seen: SeenMessage { mark, from, to }, flow: frame as u32, began: true, lossy: false }
}

/// This event, beside which is nothing.
fn about(event: CrossFlowEvent, basis: Basis) -> CrossFlow<'static> {
    CrossFlow { event, basis, servers: &[], text: b"" }
}

/// One with room for this many entries of a kind.
fn ledger(most: usize) -> Ledger {
    Ledger::new(LedgerSettings::of(&Settings::default(), most))
}

/// Breaches with their frames, and passed rules with their counts.
fn review(events: &[(CrossFlowEvent, &str, &str)]) -> Vec<(String, bool, u64)> {
    let mut ledger = ledger(1000);
    for (frame, (event, from, to)) in (1..).zip(events) {
        let servers = &[listed(LISTED_SERVER.parse().unwrap())];
        ledger.cross_flow(&CrossFlow { servers, ..about(*event, seen(frame, from, to)) });
    }
    let review = ledger.review(Loads::default(), SPAN, |_| true);
    let broken = review.breaches;
    let broken = broken.map(|it| (it.rule.code.to_string(), false, it.basis.seen.mark.frame));
    let kept = review.kept.iter().map(|it| (it.rule.code.to_string(), true, it.times));
    broken.chain(kept).collect()
}

const S: &str = "10.0.0.2:27015";
const C: &str = "10.0.0.1:50000";
const D: &str = "10.0.1.1:50000";
const ACCEPTED: CrossFlowEvent = CrossFlowEvent::Accepted { challenge: 7, not_given: None };
const LISTED_EVENT: CrossFlowEvent =
    CrossFlowEvent::Listed(ListRules { queried: &GS1032, registered: None, filtered: None });
/// The one server of each list.
const LISTED_SERVER: &str = "10.0.0.2:7778";

#[test]
fn a_list_is_taken_as_far_as_there_is_room() {
    let servers = |from: u16| (from..from + 4).map(|port| listed(([10, 0, 0, 2], port).into()));
    let lists = |most, queried: &str| {
        let mut ledger = ledger(most);
        for from in [1, 3, 5] {
            let servers = &Vec::from_iter(servers(from));
            ledger.cross_flow(&CrossFlow { servers, ..about(LISTED_EVENT, seen(1, S, C)) });
        }
        ledger.cross_flow(&about(CrossFlowEvent::Queried, seen(2, C, queried)));
        let review = ledger.review(Loads::default(), SPAN, |_| true);
        let mut breaches = review.breaches;
        let breach = breaches.find(|breach| breach.rule.code == GS1032.code);
        (review.kept.len(), breach.map(|breach| breach.evidence.lossy))
    };
    assert_eq!(lists(9, "10.0.0.2:8"), (1, None));
    assert_eq!(lists(8, "10.0.0.2:8"), (1, None));
    assert_eq!(lists(7, "10.0.0.2:7"), (1, None));
    assert_eq!(lists(7, "10.0.0.2:8"), (0, Some(true)));
    assert_eq!(lists(8, "10.0.0.2:9"), (0, Some(false)));
    assert_eq!(lists(0, "10.0.0.2:1"), (0, None));
}

/// In a very long list, the server that the client queries may come after the stored ones.
#[test]
fn a_list_that_is_kept_in_part_proves_nothing() {
    let lossy = |servers: usize| {
        let mut ledger = ledger(2 * LISTED);
        let servers = (0..servers as u32).map(|n| listed((n.to_be_bytes(), 1).into()));
        let servers = &Vec::from_iter(servers);
        ledger.cross_flow(&CrossFlow { servers, ..about(LISTED_EVENT, seen(1, S, C)) });
        ledger.cross_flow(&about(CrossFlowEvent::Queried, seen(2, C, "0.0.64.0:1")));
        ledger
            .review(Loads::default(), SPAN, |_| true)
            .breaches
            .next()
            .map(|breach| breach.evidence.lossy)
    };
    assert_eq!(lossy(LISTED), Some(false));
    assert_eq!(lossy(LISTED + 1), Some(true));
}

#[test]
fn listed_servers_are_reported_apart() {
    let servers = [
        "10.0.0.2:1",
        "10.0.0.2:2",
        "10.0.0.3:1",
        "[::]:1",
        "[::]:2",
        "[::1]:1",
        "[1::]:1",
        "[1::1]:1",
        "[::a00:2]:1",
    ];
    let servers = servers.map(|server| listed(server.parse().unwrap()));
    assert_eq!(Set::from_iter(servers).len(), servers.len());
}

#[test]
fn a_challenge_given_to_another_address_is_shared() {
    let shared = [(CrossFlowEvent::Challenged(7), S, C), (ACCEPTED, S, D)];
    assert_eq!(review(&shared), [("SEC004".to_owned(), false, 2)]);
    let other_port = [(CrossFlowEvent::Challenged(7), S, C), (ACCEPTED, S, "10.0.0.1:50001")];
    assert_eq!(review(&other_port), []);
    let never_given = [(CrossFlowEvent::Challenged(8), S, C), (ACCEPTED, S, D)];
    assert_eq!(review(&never_given), []);
}

#[test]
fn a_shared_challenge_is_proven_if_the_flow_is_complete() {
    let proven = |began: bool, lossy: bool| {
        let mut ledger = ledger(8);
        ledger.cross_flow(&about(CrossFlowEvent::Challenged(7), seen(1, S, C)));
        ledger.cross_flow(&about(ACCEPTED, Basis { began, lossy, ..seen(2, S, D) }));
        let breaches = Vec::from_iter(ledger.review(Loads::default(), SPAN, |_| true).breaches);
        assert_eq!(breaches.len(), 1);
        breaches[0].evidence.suffices(SEC004.needs)
    };
    assert!(proven(true, false));
    assert!(!proven(false, false));
    assert!(!proven(true, true));
}

#[test]
fn one_server_has_one_layout_for_all() {
    let events = [
        (CrossFlowEvent::Split(Name("Orange Box"), &A2S053), S, C),
        (CrossFlowEvent::Split(Name("Orange Box"), &A2S053), S, D),
        (CrossFlowEvent::Split(Name("GoldSrc"), &A2S053), S, "10.0.2.1:50000"),
    ];
    let breaches = [("A2S053".to_owned(), false, 3), ("A2S053".to_owned(), true, 1)];
    assert_eq!(review(&events), breaches);
}

#[test]
fn a_challenge_is_counted_once() {
    let (m, n) = ("10.0.0.9:80", "10.0.1.9:80");
    let event = CrossFlowEvent::HandedOut([7; 16], &ACR031, NewFor::All);
    let events = [(event, m, C), (event, n, C), (event, m, D)];
    let breaches = [(false, 3), (true, 2)];
    assert_eq!(review(&events), breaches.map(|(ok, frame)| ("ACR031".to_owned(), ok, frame)));
}

#[test]
fn lists_and_masters_are_reported_at_their_first_message() {
    let m = "10.0.0.9:28900";
    let queried = [(LISTED_EVENT, m, C), (CrossFlowEvent::Queried, C, LISTED_SERVER)];
    assert_eq!(review(&queried), [("GS1032".to_owned(), true, 1)]);
    assert_eq!(review(&queried[..1]), [("GS1032".to_owned(), false, 1)]);
    let other = [queried[0], (CrossFlowEvent::Queried, C, S)];
    assert_eq!(review(&other), [("GS1032".to_owned(), false, 1)]);
    let joins = [
        (CrossFlowEvent::Joined(&VM046), S, m),
        (CrossFlowEvent::Joined(&VM046), S, "10.0.1.9:27010"),
    ];
    assert_eq!(review(&joins), [("VM046".to_owned(), true, 1)]);
    assert_eq!(review(&joins[..1]), [("VM046".to_owned(), false, 1)]);
}

#[test]
fn listed_servers_are_remembered_up_to_a_limit() {
    let mut ledger = ledger(8);
    for host in 1..100 {
        let client = format!("10.9.0.{host}:50000");
        let servers = &[listed(S.parse().unwrap())];
        ledger.cross_flow(&CrossFlow { servers, ..about(LISTED_EVENT, seen(1, D, &client)) });
        ledger.cross_flow(&about(CrossFlowEvent::Queried, seen(2, &client, S)));
    }
    assert_eq!(ledger.lists.len(), 8);
    assert_eq!(ledger.review(Loads::default(), SPAN, |_| true).kept[0].times, 8);
}

/// When the limit is reached, new addresses are ignored and known ones still count.
#[test]
fn known_items_still_count_when_the_limit_is_reached() {
    let (m, n) = ("10.0.0.9:27010", "10.0.1.9:27010");
    let others = ["10.0.2.1:1", "10.0.2.2:1", "10.0.2.3:1"];
    let full = |first: CrossFlowEvent, to: &str| {
        let mut ledger = ledger(3);
        ledger.cross_flow(&about(first, seen(1, S, to)));
        for other in others {
            ledger.cross_flow(&about(first, seen(2, other, other)));
        }
        ledger
    };
    let codes = |ledger: Ledger| {
        let breaches = Vec::from_iter(ledger.review(Loads::default(), SPAN, |_| true).breaches);
        Vec::from_iter(
            breaches.iter().map(|breach| (breach.rule.code, breach.basis.seen.mark.frame)),
        )
    };
    // The missing room is reported, too, for the message that did not fit.
    let mut server = full(CrossFlowEvent::Split(Name("GoldSrc"), &A2S053), C);
    server.cross_flow(&about(CrossFlowEvent::Split(Name("Orange Box"), &A2S053), seen(3, S, D)));
    assert_eq!(codes(server), [(NET011.code, 2), (A2S053.code, 3)]);
    let mut master = full(CrossFlowEvent::HandedOut([7; 16], &ACR031, NewFor::All), C);
    master.cross_flow(&about(
        CrossFlowEvent::HandedOut([7; 16], &ACR031, NewFor::All),
        seen(3, S, D),
    ));
    assert_eq!(codes(master), [(NET011.code, 2), (ACR031.code, 3)]);
    let mut server = full(CrossFlowEvent::Joined(&VM046), m);
    server.cross_flow(&about(CrossFlowEvent::Joined(&VM046), seen(3, S, n)));
    assert_eq!(server.review(Loads::default(), SPAN, |_| true).kept[0].times, 1);
}
