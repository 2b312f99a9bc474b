//! Responses from other endpoints, unsolicited responses, and the load on servers.

use super::*;
use crate::a2s::rules::{A2S022, A2S024, A2S061, A2S062, A2S065};
use crate::abuse_rules::{SEC005, SEC006};
use crate::kit::{Payload, ResponseRules};

static RULES: ResponseRules =
    ResponseRules { from_asked: &A2S065, asked_for: Some(&A2S061), answered: &A2S062 };

/// Another host than [`S`].
const OTHER: &str = "10.7.0.9:27015";

const EVIDENCE: Evidence = Evidence {
    complete: false,
    began: true,
    lost: false,
    lossy: false,
    asked_party_seen: true,
    waited: true,
    refused: false,
};

fn unmatched(frame: u64, kinds: u8, due: bool) -> Unmatched {
    Unmatched {
        rules: &RULES,
        name: Name("it"),
        kinds,
        id: None,
        challenge: None,
        began: Time(frame as i64 * 1_000_000),
        tries: 1,
        due,
        parts: None,
        evidence: EVIDENCE,
    }
}

/// Breaches - with `?` if not proven - and passed rules, in the order of the codes.
fn reported(events: &[(u64, CrossFlowEvent, &str, &str)], most: usize) -> Vec<String> {
    let mut ledger = ledger(most);
    for &(frame, event, from, to) in events {
        ledger.cross_flow(&about(event, seen(frame, from, to)));
    }
    let review = ledger.review(Loads::default(), SPAN, |_| true);
    let broken = |rule: &Rule, evidence: Evidence| {
        format!("{}{}", rule.code, if evidence.suffices(rule.needs) { "" } else { "?" })
    };
    let mut reported = Vec::from_iter(review.breaches.map(|it| broken(it.rule, it.evidence)));
    reported.extend(review.kept.iter().map(|it| format!("{} kept", it.rule.code)));
    reported.extend(review.beyond.iter().map(|it| format!("{} {}x", broken(it.0, it.1), it.2)));
    reported.sort();
    reported
}

fn request(
    frame: u64,
    kind: u8,
    to: &'static str,
) -> (u64, CrossFlowEvent, &'static str, &'static str) {
    (frame, CrossFlowEvent::Unanswered(unmatched(frame, kind, true)), C, to)
}

fn response(frame: u64, kinds: u8) -> (u64, CrossFlowEvent, &'static str, &'static str) {
    (frame, CrossFlowEvent::Unasked(unmatched(frame, kinds, false)), OTHER, C)
}

#[test]
fn a_response_from_another_host_is_reported_once() {
    let events = [response(20, 2 | 4), request(1, 4, S)];
    assert_eq!(reported(&events, 100), ["A2S062 kept", "A2S065"]);
}

/// A flow that was evicted for lack of memory continues as another one.
#[test]
fn a_response_in_a_later_flow_of_the_same_hosts_is_not_from_another_host() {
    assert_eq!(reported(&[response(20, 4), request(1, 4, OTHER)], 100), ["A2S062 kept"]);
}

#[test]
fn a_response_does_not_belong_to_requests_of_another_kind_or_time() {
    let alone = ["A2S061", "A2S062"];
    assert_eq!(reported(&[response(20, 2), request(1, 4, S)], 100), alone);
    assert_eq!(reported(&[response(20, 4), request(21, 4, S)], 100), alone);
    assert_eq!(reported(&[response(3001, 4), request(1, 4, S)], 100), alone);
    assert_eq!(reported(&[response(3000, 4), request(1, 4, S)], 100), ["A2S062 kept", "A2S065"]);
}

#[test]
fn a_response_to_one_of_two_requests_proves_nothing() {
    let two = ["A2S061?", "A2S062?", "A2S062?"];
    assert_eq!(reported(&[request(1, 4, S), request(2, 4, D), response(20, 4)], 100), two);
    assert_eq!(reported(&[request(1, 4, S), request(2, 2, S), response(20, 2 | 4)], 100), two);
    let repeated = [request(1, 4, S), request(2, 4, S), response(20, 4), response(21, 4)];
    let each = ["A2S062 kept", "A2S062 kept", "A2S065", "A2S065"];
    assert_eq!(reported(&repeated, 100), each);
}

/// A request that was sent twice may have two responses, and is one request all the same.
#[test]
fn a_response_to_each_repeat_is_reported_once() {
    let mut asked = unmatched(1, 4, true);
    asked.tries = 2;
    let request = (500, CrossFlowEvent::Unanswered(asked), C, S);
    let both = [request, response(20, 4), response(520, 4)];
    assert_eq!(reported(&both, 100), ["A2S062 kept", "A2S065"]);
    assert_eq!(reported(&[both[0], both[1], both[2], response(530, 4)], 100).len(), 3);
}

#[test]
fn an_id_in_both_messages_decides() {
    let with = |(frame, event, from, to): (u64, CrossFlowEvent, &'static str, &'static str), id| {
        let event = match event {
            CrossFlowEvent::Unasked(it) => {
                CrossFlowEvent::Unasked(Unmatched { id: Some(id), ..it })
            }
            CrossFlowEvent::Unanswered(it) => {
                CrossFlowEvent::Unanswered(Unmatched { id: Some(id), ..it })
            }
            event => event,
        };
        (frame, event, from, to)
    };
    let events = [with(request(1, 4, S), 7), with(request(2, 4, D), 8), with(response(20, 4), 8)];
    assert_eq!(reported(&events, 100), ["A2S062", "A2S062 kept", "A2S065"]);
}

/// The client cannot know that the challenge is not from the server that it asked.
#[test]
fn a_challenge_from_another_host_may_be_used() {
    let mut given = unmatched(20, 2 | 4, false);
    given.challenge = Some(7);
    let given = (20, CrossFlowEvent::Unasked(given), OTHER, C);
    let used = |challenge| {
        (30, CrossFlowEvent::NotGiven { challenge, evidence: EVIDENCE, rule: &A2S022 }, C, S)
    };
    let accepted =
        (40, CrossFlowEvent::Accepted { challenge: 7, not_given: Some((EVIDENCE, &A2S024)) }, S, C);
    let events = [request(1, 4, S), given, used(7), accepted];
    assert_eq!(reported(&events, 100), ["A2S022 kept", "A2S062 kept", "A2S065"]);
    let other = [request(1, 4, S), given, used(8)];
    assert_eq!(reported(&other, 100), ["A2S022", "A2S062 kept", "A2S065"]);
    // Its use shows which of the two servers was asked.
    let two = [request(1, 4, S), request(2, 4, D), given, used(7)];
    assert_eq!(reported(&two, 100), ["A2S022 kept", "A2S062", "A2S062 kept", "A2S065"]);
    // A response is due to a request with it.
    let mut asked = unmatched(30, 4, false);
    asked.challenge = Some(7);
    let ignored = [events[0], events[1], used(7), (30, CrossFlowEvent::Unanswered(asked), C, S)];
    assert_eq!(reported(&ignored, 100), ["A2S022 kept", "A2S062", "A2S062 kept", "A2S065"]);
    assert_eq!(A2S022.code.to_string(), "A2S022");
}

/// Beyond the maximum, everything is checked by itself, and the missing room is reported.
#[test]
fn flows_beyond_the_limit_are_checked_individually() {
    let events = Vec::from_iter((1..=5).map(|frame| request(frame * 4000, 4, S)));
    assert_eq!(reported(&events, 3), ["A2S062", "A2S062", "A2S062", "A2S062 2x", "NET011"]);
}

/// A response may belong to a request that did not fit, and the reverse.
#[test]
fn what_something_beyond_the_limit_may_explain_is_inconclusive() {
    let requests = |count: u64| (1..=count).map(|frame| request(frame * 4000, 4, S));
    let responses = |count: u64| (1..=count).map(|frame| response(frame * 4000 + 3500, 4));
    let many = Vec::from_iter(requests(5).chain(responses(1)));
    let doubtful = ["A2S061?", "A2S062", "A2S062", "A2S062", "A2S062? 2x", "NET011"];
    assert_eq!(reported(&many, 3), doubtful);
    let many = Vec::from_iter(responses(5).chain(requests(1)));
    let doubtful = ["A2S061", "A2S061", "A2S061", "A2S061? 2x", "A2S062?", "NET011"];
    assert_eq!(reported(&many, 3), doubtful);
    // Another host was asked, too, as far as is known.
    let matched = [request(1, 4, S), response(20, 4), request(9000, 4, S), request(18_000, 4, S)];
    assert_eq!(reported(&matched, 3), ["A2S062", "A2S062", "A2S062 kept", "A2S065"]);
    assert_eq!(reported(&matched, 2), ["A2S062", "A2S062 kept", "A2S062? 1x", "A2S065?", "NET011"]);
}

#[test]
fn challenges_beyond_the_limit_are_inconclusive_if_some_came_from_elsewhere() {
    let used = |frame, challenge| {
        (frame, CrossFlowEvent::NotGiven { challenge, evidence: EVIDENCE, rule: &A2S022 }, C, S)
    };
    let alone = [used(30, 7), used(31, 8), used(32, 9)];
    assert_eq!(reported(&alone, 2), ["A2S022", "A2S022", "A2S022 1x", "NET011"]);
    let mut given = unmatched(20, 2 | 4, false);
    given.challenge = Some(9);
    let given = (20, CrossFlowEvent::Unasked(given), OTHER, C);
    let with = [request(1, 4, S), given, alone[0], alone[1], alone[2]];
    let all = ["A2S022", "A2S022", "A2S022? 1x", "A2S062 kept", "A2S065", "NET011"];
    assert_eq!(reported(&with, 2), all);
    // The server's challenge may have come with a response that did not fit.
    let without = [response(1, 4), response(2, 4), response(3, 4), used(30, 7)];
    assert_eq!(reported(&without, 2), ["A2S022?", "A2S061", "A2S061", "A2S061 1x", "NET011"]);
}

#[test]
fn an_address_that_may_have_asked_is_not_called_a_victim() {
    let accused = |events: &[(u64, CrossFlowEvent, &'static str, &'static str)], most| {
        reported(events, most).contains(&"SEC005".to_owned())
    };
    let responses = Vec::from_iter((1..=60).map(|n| response(n * 10, 4)));
    assert!(accused(&responses, 1000) && accused(&responses, 10));
    // It asked another host, which may be the one that responds.
    let asked = |count: u64| (0..count).map(|n| request(n * 4000 + 9000, 4, S));
    let events = Vec::from_iter(responses.iter().copied().chain(asked(1)));
    assert!(accused(&events, 1000) && !accused(&events, 10));
    // It is unknown who sent the requests that did not fit.
    let mut few = responses[..30].to_vec();
    assert!(accused(&few, 40));
    few.extend(asked(41));
    assert!(!accused(&few, 40));
}

/// Responses are counted in the order of time, whether they fit or not.
#[test]
fn responses_beyond_the_limit_do_not_add_to_earlier_windows() {
    let slow = Vec::from_iter((1..=60).map(|n| response(n * 1000, 4)));
    for most in [10, 1000] {
        assert!(reported(&slow, most).contains(&"SEC005 kept".to_owned()), "{most}");
    }
}

#[test]
fn many_unsolicited_responses_are_one_finding() {
    let checked = |responses: u64, apart: u64| {
        let events = Vec::from_iter((1..=responses).map(|n| response(n * apart, 4)));
        let reported = reported(&events, 1000);
        Vec::from_iter(reported.into_iter().filter(|it| it.starts_with("SEC005")))
    };
    assert_eq!(checked(19, 10), [""; 0]);
    assert_eq!(checked(20, 10), ["SEC005"]);
    assert_eq!(checked(200, 10), ["SEC005"]);
    assert_eq!(checked(20, 1000), ["SEC005 kept"]);
    let mut ledger = ledger(1000);
    for n in 0..40 {
        let server = format!("10.8.{}.1:27015", n % 4);
        let CrossFlowEvent::Unasked(unmatched) = response(n, 4).1 else { return };
        ledger.cross_flow(&about(CrossFlowEvent::Unasked(unmatched), seen(n, &server, C)));
    }
    let breaches = Vec::from_iter(ledger.review(Loads::default(), SPAN, |_| true).breaches);
    let mut found = breaches.iter().filter(|breach| breach.rule.code == SEC005.code);
    let detail = found.next().unwrap().detail.to_string();
    assert_eq!(
        detail,
        "40 answers, 360 bytes, went to 10.0.0.1, which never asked, from 4 sources, \
         10.8.0.1:27015 among them: up to 40 within 10 s, from 1970-01-01 00:00:00.000 to \
         1970-01-01 00:00:00.039"
    );
    assert!(found.next().is_none());
}

/// The findings for requests from these sources at these milliseconds, each of them answered.
fn asked(requests: impl Iterator<Item = (u32, i64)>) -> Vec<String> {
    asked_within(1 << 16, requests)
}

/// The same with this maximum of sources.
fn asked_within(most: usize, requests: impl Iterator<Item = (u32, i64)>) -> Vec<String> {
    let mut loads = Loads::new(most, AbuseThresholds::default());
    for (frame, (source, time)) in (1..).zip(requests) {
        let payload = |bytes, from: &str, to: &str| Payload {
            frame,
            time: Time(time * 1_000_000),
            ..Payload::of(bytes, [from, to].map(|end| end.parse().unwrap()))
        };
        let client = format!("{}:50000", std::net::Ipv4Addr::from(source));
        let group = source as usize % GROUPS;
        loads.asks(group, "A2S_INFO", &payload(&[7; 25], &client, S));
        loads.reflects(group, "A2S_INFO", 25, &payload(&[7; 100], S, &client));
    }
    let review = ledger(1000).review(loads, SPAN, |_| true);
    let mut reported = Vec::from_iter(review.breaches.map(|it| it.detail.to_string()));
    reported.extend(review.kept.iter().map(|it| format!("{} kept", it.rule.code)));
    reported.sort();
    reported
}

#[test]
fn many_responses_to_one_source_are_reflection() {
    assert_eq!(asked((0..19).map(|n| (1, n))), [""; 0]);
    assert_eq!(asked((0..40).map(|n| (1, n * 600))), ["SEC005 kept", "SEC006 kept", "SEC007 kept"]);
    let reported = asked((0..40).map(|n| (1, n * 100)));
    assert_eq!(
        reported[0],
        "10.0.0.2:27015 answers without a challenge: 0.0.0.1 is answered 40 times within 10 s, to \
         A2S_INFO each time; 40 requests of 1 source, 40 answers, 1000 bytes asked, 4000 answered, \
         4.0 times as many, from 1970-01-01 00:00:00.000 to 1970-01-01 00:00:03.900"
    );
    assert_eq!(reported[1..], ["SEC006 kept", "SEC007 kept"]);
}

#[test]
fn responses_to_many_sources_that_never_continue_are_reflection() {
    let crowd = |sources: u32, times: u32, apart: u32| {
        let all = (0..sources).flat_map(move |n| (0..times).map(move |_| (n, (n * apart).into())));
        asked(all).iter().any(|reported| reported.contains("answers without a challenge"))
    };
    assert!(!crowd(999, 1, 10));
    assert!(crowd(1000, 1, 10));
    assert!(crowd(1000, 2, 10));
    assert!(!crowd(1000, 3, 10));
    assert!(!crowd(1000, 1, 100));
}

/// Of sources that are not all kept, it is unknown how many continue.
#[test]
fn sources_that_are_not_all_kept_prove_no_reflection() {
    for times in [1, 3] {
        let all = (0..1500).flat_map(|n: u32| (0..times).map(move |_| (n, (n * 10).into())));
        let reported = asked_within(100 * GROUPS, all);
        assert_eq!(
            reported,
            ["SEC006 kept", "SEC007 kept", "the limit remembered was met"],
            "{times}"
        );
    }
    let flood = asked_within(100 * GROUPS, (0..15_000).map(|n| (n, (n / 2).into())));
    assert!(flood.iter().any(|it| it.contains("from more than 800 sources")), "{flood:?}");
    let repeated = (0..1500).map(|n: u32| (n, i64::from(n))).chain((0..40).map(|n| (1, 2000 + n)));
    let repeated = asked_within(100 * GROUPS, repeated);
    assert!(repeated[0].contains("0.0.0.1 is answered 41 times within 10 s"), "{repeated:?}");
}

#[test]
fn a_flood_is_reported_for_any_number_of_sources() {
    let flood = |requests: u32, sources: u32, a_second: u32| {
        asked((0..requests).map(|n| (n % sources, (n * 1000 / a_second).into())))
    };
    assert!(flood(4990, 1, 5000).contains(&"SEC006 kept".to_owned()));
    assert!(flood(20_000, 1, 900).contains(&"SEC006 kept".to_owned()));
    let reported = flood(15_000, 7500, 2000);
    assert!(reported[0].starts_with("10.0.0.2:27015 answers without a challenge"), "{reported:?}");
    let (rate, sources) =
        ("up to 2000 requests a second over 5 s to 10.0.0.2:27015, from about ", "");
    assert!(reported[2].starts_with(rate) && reported[2].contains(sources), "{reported:?}");
    assert!(reported[2].ends_with("0 % of them with one packet: 15000 A2S_INFO"), "{reported:?}");
    let reported = flood(10_000, 3000, 2000);
    assert!(reported[2].contains("from 3000 sources, 0 % of them"), "{reported:?}");
    assert_eq!(SEC006.slug, "query-flood");
}
