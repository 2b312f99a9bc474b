use super::*;
use crate::diagnose::exchanges::{Burst, Pace, Request, WINDOWS};

const SECOND: i64 = 1_000_000_000;

/// An exchange of a client every second, or with this gap, at this time.
fn exchange(client: u8, kind: &'static str, at: i64, is_answered: bool) -> Exchange {
    let request = Request {
        client: std::net::SocketAddr::from(([10, 0, 0, client], 50_000)),
        server: "10.0.1.1:27015".parse().unwrap(),
        kind,
        protocol: Id::ALL[0],
        frame: at as u64 + 1,
        time: Time(at * SECOND),
        challenge: None,
        challenge_age: None,
        length: 25,
        is_query: true,
        is_cut: false,
        is_wrong: false,
        is_optional: false,
    };
    let mut exchange = Exchange::new(request, pace(SECOND, 0));
    exchange.is_answered = is_answered;
    exchange
}

fn pace(gap: i64, before: u32) -> [Pace; 2] {
    let before = [before; WINDOWS.len()];
    [Pace { gap: Some(gap), before, ..Pace::default() }; 2]
}

fn cause(exchanges: impl IntoIterator<Item = Exchange>) -> Option<&'static str> {
    let mut pattern = Pattern::default();
    exchanges.into_iter().for_each(|exchange| pattern.add(&exchange));
    pattern.failure().map(|it| it.failure.cause.name)
}

#[test]
fn patterns_are_named() {
    let of = |is_answered: &dyn Fn(i64) -> bool| {
        (0..100).map(|at| exchange(at as u8 % 7, "info", at, is_answered(at))).collect::<Vec<_>>()
    };
    assert_eq!(cause(of(&|_| true)), None);
    assert_eq!(cause(of(&|at| at % 20 != 3)), None, "5 % are lost anywhere");
    assert_eq!(cause(of(&|at| at % 6 != 3)), Some("sometimes_unanswered"));
    assert_eq!(cause(of(&|at| !(30..60).contains(&at))), Some("silent_period"));
    let twice = |at: i64| !(30..60).contains(&at) && !(70..80).contains(&at);
    assert_eq!(cause(of(&twice)), Some("silent_period"));
    assert_eq!(cause(of(&|at| at < 50)), Some("silent_period"));
    assert_eq!(cause(of(&|at| at as u8 % 7 != 2)), Some("one_client_unanswered"));
    let other = (0..5).map(|at| exchange(1, "rules", at, false));
    assert_eq!(cause(of(&|_| true).into_iter().chain(other)), Some("only_some_kinds_answered"));
    let other = (0..5).map(|at| {
        let mut appended = exchange(1, "info", at, false);
        appended.request.challenge = Some(-1);
        appended
    });
    assert_eq!(cause(of(&|_| true).into_iter().chain(other)), Some("appended_challenge_ignored"));
    let fast = (0..40).map(|at| {
        let mut fast = exchange(at as u8 % 7, "info", at, at % 5 == 0);
        fast.paces = pace(SECOND / 20, 0);
        fast
    });
    assert_eq!(cause(of(&|_| true).into_iter().chain(fast)), Some("rate_limited"));
    // Six in a burst, of which the first four are answered.
    let bursts = (0..60).map(|at| {
        let mut exchange = exchange(1, "info", at, at % 6 < 4);
        exchange.paces = pace(SECOND / 10, (at % 6) as u32);
        exchange
    });
    assert_eq!(cause(bursts), Some("rate_limited"));
}

#[test]
fn what_follows_many_others_in_several_bursts_is_limited() {
    let bursts = |count: i64, is_answered: &dyn Fn(i64, i64) -> bool| {
        let length = 48 / count;
        cause((0..48).map(|at| {
            let (number, before) = (at / length, at % length);
            let mut exchange = exchange(1, "info", at, is_answered(number, before));
            let begun = Time((at - before) * SECOND);
            for pace in &mut exchange.paces {
                pace.burst = Burst { begun, before: before as u32 };
            }
            exchange
        }))
    };
    assert_eq!(bursts(3, &|_, before| before < 10), Some("rate_limited"));
    assert_eq!(bursts(1, &|_, before| before < 30), Some("silent_period"), "it may have stopped");
    // One burst breaks off, and of another one, a single request is lost.
    let stray = |number, before| (number != 1 || before < 4) && (number != 2 || before != 1);
    assert_ne!(bursts(3, &stray), Some("rate_limited"));
}

#[test]
fn the_property_that_tells_best_is_named() {
    let by = |exchanges: Vec<Exchange>| {
        let mut pattern = Pattern::default();
        exchanges.iter().for_each(|exchange| pattern.add(exchange));
        let found = pattern.failure().unwrap();
        assert_eq!(found.failure.cause.name, "sometimes_unanswered");
        found.by.map(|(by, which)| format!("{by} {which}"))
    };
    let all = |of: &dyn Fn(i64) -> Exchange| (0..60).map(of).collect::<Vec<_>>();
    // Each second request of a kind, which always comes soon after another one.
    let kinds = all(&|at| match at % 3 {
        0 => exchange(1, "info", at, true),
        1 => exchange(1, "rules", at, true),
        _ => {
            let mut players = exchange(1, "players", at, at % 2 == 0);
            players.paces = pace(SECOND / 10, 0);
            players
        }
    });
    assert_eq!(by(kinds).as_deref(), Some("kind players"));
    let clients = all(&|at| exchange(at as u8 % 4, "info", at, at % 4 != 1 || at % 12 == 1));
    assert_eq!(by(clients).as_deref(), Some("client 10.0.0.1"));
    let lengths = all(&|at| {
        let mut request = exchange(1, "info", at, at % 2 == 0);
        request.length = if at % 2 == 0 { 25 } else { 1200 };
        request
    });
    assert_eq!(by(lengths).as_deref(), Some("length 1,200"));
}

#[test]
fn errors_in_place_of_answers_come_first() {
    let refused = (0..60).map(|at| {
        let mut exchange = exchange(1, "info", at, at % 5 != 0);
        let why = Failure::new(&causes::ICMP_PORT, 7, "10.0.1.9 says: port unreachable");
        exchange.refusal = Some(Box::new(why)).filter(|_| at % 5 == 0);
        exchange
    });
    let mut pattern = Pattern::default();
    refused.for_each(|exchange| pattern.add(&exchange));
    let failure = pattern.failure().unwrap().failure;
    assert_eq!(failure.text, "12 requests: 10.0.1.9 says: port unreachable");
}

/// Whoever answers a few requests at random is silent between them, again and again.
#[test]
fn chance_is_no_silence() {
    for percent in [5, 10, 15, 20, 25, 50] {
        let silences = (1..=200_u64).filter(|seed| {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut is_answered = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % 100 < percent
            };
            let exchanges = (0..40).map(|at| exchange(at as u8 % 4, "info", at, is_answered()));
            cause(exchanges) == Some("silent_period")
        });
        let silences = silences.count();
        assert!(silences <= 10, "{silences} of 200 with {percent} % answered");
    }
}

/// A port that is closed is closed to all.
#[test]
fn errors_toward_some_name_them() {
    let refused = |is_refused: &dyn Fn(i64) -> bool, gap: &dyn Fn(i64) -> i64| {
        cause((0..60).map(|at| {
            let mut exchange = exchange(at as u8 % 5, "info", at, !is_refused(at));
            exchange.paces = pace(gap(at), 0);
            let why = Failure::new(&causes::ICMP_PORT, 7, "10.0.1.9 says: port unreachable");
            exchange.refusal = Some(Box::new(why)).filter(|_| is_refused(at));
            exchange
        }))
    };
    let slow = |_| SECOND;
    assert_eq!(refused(&|at| at % 5 == 2, &slow), Some("one_client_unanswered"));
    assert_eq!(refused(&|at| at % 5 == 2 && at > 20, &slow), Some("sometimes_unanswered"));
    let fast = |at: i64| if at % 3 == 0 { SECOND } else { SECOND / 50 };
    assert_eq!(refused(&|at| at % 3 > 0, &fast), Some("icmp_port_unreachable"), "a fact");
    assert_eq!(refused(&|at| (20..40).contains(&at), &slow), Some("icmp_port_unreachable"));
    assert_eq!(refused(&|at| at % 7 < 2, &slow), Some("icmp_port_unreachable"), "for no reason");
}

/// What all unanswered exchanges have in common, or else their cause.
fn named(exchanges: impl IntoIterator<Item = Exchange>) -> String {
    let mut pattern = Pattern::default();
    exchanges.into_iter().for_each(|exchange| pattern.add(&exchange));
    let found = pattern.failure();
    let name = |it: PatternFailure| match it.by {
        Some((by, which)) => format!("{by} {which}"),
        None => it.failure.cause.name.to_owned(),
    };
    found.map_or_else(|| "none".to_owned(), name)
}

/// The same exchange of a client in another network.
fn from_network(network: [u8; 3], mut exchange: Exchange) -> Exchange {
    let [a, b, c] = network;
    if let std::net::SocketAddr::V4(client) = &mut exchange.request.client {
        let [.., d] = client.ip().octets();
        client.set_ip([a, b, c, d].into());
    }
    exchange
}

#[test]
fn networks_whose_clients_get_nothing_are_named() {
    // Each client asks once or twice.
    let of = |own: [u8; 3], other: [u8; 3]| {
        named((0..40).map(|at| {
            let is_answered = at % 2 == 0;
            let network = if is_answered { own } else { other };
            from_network(network, exchange((at / 3) as u8, "info", 5 * at, is_answered))
        }))
    };
    assert_eq!(of([203, 0, 113], [198, 51, 100]), "network 198.51.100.0/24");
    assert_eq!(of([10, 0, 0], [198, 51, 100]), "network the Internet");
    let mixed = (0..40).map(|at| {
        let network = if at % 4 < 2 { [203, 0, 113] } else { [198, 51, 100] };
        from_network(network, exchange((at / 3) as u8, "info", 5 * at, at % 2 == 0))
    });
    assert!(!named(mixed).starts_with("network"));
}

#[test]
fn some_lost_requests_of_others_do_not_hide_a_client() {
    let of = |lost: &[i64]| {
        named(
            (0..96)
                .map(|at| exchange(at as u8 % 8, "info", at, at % 8 != 3 && !lost.contains(&at))),
        )
    };
    assert_eq!(of(&[]), "client 10.0.0.3");
    assert_eq!(of(&[20, 54]), "client 10.0.0.3");
    let many = Vec::from_iter((0..96).filter(|at| at % 8 != 3 && at % 5 == 0));
    assert!(!of(&many).starts_with("client"), "many of all are lost");
}

#[test]
fn who_asks_while_nobody_is_answered_is_not_left_out() {
    // One client asks again and again in that time, as others do now and then.
    let down = 40..60;
    let usual = (0..20).map(|nth| (5 * nth, nth as u8 % 3));
    let again = (40..60).map(|at| (at, 7));
    let all = Vec::from_iter(usual.chain(again));
    let is_answered = |at: i64| !down.contains(&at);
    let span = all.iter().map(|&(at, client)| exchange(client, "info", at, is_answered(at)));
    assert_eq!(cause(span), Some("silent_period"));
    // Others are answered meanwhile.
    let ban = all.iter().map(|&(at, client)| exchange(client, "info", at, client != 7));
    assert_eq!(cause(ban), Some("one_client_unanswered"));
}

#[test]
fn what_was_silent_until_it_began_is_mended() {
    let of = |silent: std::ops::Range<i64>| {
        cause((0..60).map(|at| exchange(at as u8 % 3, "info", at, !silent.contains(&at))))
    };
    assert_eq!(of(0..12), None);
    assert_eq!(of(12..24), Some("silent_period"));
    assert_eq!(of(48..60), Some("silent_period"));
}

#[test]
fn one_request_in_several_seconds_is_no_limit_for_all() {
    let of = |gap: i64| {
        let mut pattern = Pattern::default();
        for at in 0..60 {
            let mut exchange = exchange(at as u8 % 31, "info", at, at % 3 == 0);
            let [client, anybody] = &mut exchange.paces;
            (client.gap, anybody.gap) = (None, Some(if at % 3 == 0 { 60 * SECOND } else { gap }));
            pattern.add(&exchange);
        }
        pattern.failure().unwrap().failure.cause.name
    };
    assert_eq!(of(SECOND / 10), "rate_limited");
    assert_eq!(of(5 * SECOND), "sometimes_unanswered");
}
