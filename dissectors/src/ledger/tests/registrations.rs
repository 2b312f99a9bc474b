//! Lists compared with the servers that are registered.

use crate::gamespy1::rules::GS1027;
use crate::kit::{GameName, ListRules, Registration, RegistrationStep};

use super::*;

const M: &str = "10.0.0.9:27900";
const REGISTERED: &str = "10.0.0.2:7778";
const OTHER: &str = "10.0.0.3:7778";

/// One that has room for this many servers.
struct Registrar(Ledger);

impl Registrar {
    fn at(&mut self, minute: f64, from: &str, to: &str, event: CrossFlowEvent, list: &[&str]) {
        let servers = &Vec::from_iter(list.iter().map(|server| listed(server.parse().unwrap())));
        let basis = seen((minute * 60_000.0) as u64, from, to);
        self.0.cross_flow(&CrossFlow { servers, ..about(event, basis) });
    }

    /// A server does this.
    fn step(&mut self, minute: f64, server: &str, step: RegistrationStep) {
        let event = CrossFlowEvent::Registered(Registration { port: 7778, step });
        self.at(minute, server, M, event, &[]);
    }

    /// A client gets this list of a game.
    fn list(&mut self, minute: f64, client: &str, game: &[u8], list: &[&str]) {
        let registered = Some((&GS1027, GameName::of(game)));
        let rules = ListRules { queried: &GS1032, registered, filtered: None };
        self.at(minute, "10.0.0.9:28900", client, CrossFlowEvent::Listed(rules), list);
    }

    /// How often the rule passed, and the breaches.
    fn results(self) -> (u64, Vec<String>) {
        let Review { breaches, kept, .. } = self.0.review(Loads::default(), SPAN, |_| true);
        let passed = kept.iter().filter(|it| it.rule.code == GS1027.code).map(|it| it.times).sum();
        let broken = breaches.filter(|it| it.rule.code == GS1027.code);
        (passed, broken.map(|it| it.detail.to_string()).collect())
    }
}

/// A server that is validated at the start.
fn validated() -> Registrar {
    let mut registrar = Registrar(ledger(1000));
    registrar.step(0.0, REGISTERED, RegistrationStep::Heartbeat(GameName::of(b"ut")));
    registrar.step(0.01, REGISTERED, RegistrationStep::Validated);
    registrar
}

/// The same with another one.
fn with_other() -> Registrar {
    let mut registrar = validated();
    registrar.step(0.0, OTHER, RegistrationStep::Heartbeat(GameName::of(b"ut")));
    registrar
}

#[test]
fn a_list_has_what_is_registered_and_not_what_is_silent() {
    let mut at = validated();
    at.list(2.0, C, b"UT", &[REGISTERED, OTHER]);
    at.list(14.0, C, b"ut", &[REGISTERED]);
    assert_eq!(at.results(), (2, vec![]));

    let mut at = validated();
    at.step(1.0, OTHER, RegistrationStep::Heartbeat(GameName::of(b"ut")));
    at.list(1.5, C, b"ut", &[OTHER]);
    at.list(16.0, C, b"ut", &[REGISTERED]);
    let missing = "10.0.0.2:7778 is missing, validated 1.5 min before";
    let silent = "10.0.0.2:7778 is listed 16.0 min after its latest heartbeat in the capture";
    assert_eq!(at.results(), (0, vec![missing.to_owned(), silent.to_owned()]));
}

#[test]
fn an_empty_list_lacks_what_is_registered_and_each_server_is_reported() {
    let mut at = validated();
    at.list(1.5, C, b"ut", &[]);
    let missing = "10.0.0.2:7778 is missing, validated 1.5 min before";
    assert_eq!(at.results(), (0, vec![missing.to_owned()]));

    let mut at = with_other();
    at.list(16.0, C, b"ut", &[REGISTERED, OTHER]);
    let silent =
        |server| format!("{server} is listed 16.0 min after its latest heartbeat in the capture");
    assert_eq!(at.results(), (0, vec![silent(REGISTERED), silent(OTHER)]));
}

/// A server that was validated just now, that is silent or has signed off, of another game, or one
/// beside the master that clients elsewhere see at another address.
#[test]
fn a_server_need_not_be_in_a_list() {
    let mut at = with_other();
    at.list(0.5, C, b"ut", &[OTHER]);
    at.list(3.0, C, b"ut", &[OTHER]);
    at.list(3.0, C, b"unreal", &[OTHER]);
    assert_eq!(at.results(), (2, vec![]));

    let mut at = with_other();
    at.step(1.0, REGISTERED, RegistrationStep::Left);
    at.list(1.5, C, b"ut", &[OTHER]);
    assert_eq!(at.results(), (1, vec![]));

    let mut at = with_other();
    at.list(1.5, "198.51.100.7:4000", b"ut", &[OTHER]);
    assert_eq!(at.results(), (1, vec![]));

    // After NAT, a server is listed with another address than that of its heartbeats.
    let mut at = validated();
    at.list(1.5, C, b"ut", &[OTHER]);
    assert_eq!(at.results(), (0, vec![]));

    let mut at = Registrar(ledger(1000));
    for server in [REGISTERED, OTHER] {
        at.step(0.0, server, RegistrationStep::Heartbeat(GameName::of(b"ut")));
    }
    at.list(1.5, C, b"ut", &[OTHER]);
    assert_eq!(at.results(), (1, vec![]));
}

#[test]
fn a_server_that_failed_its_validation_is_not_listed() {
    let mut at = Registrar(ledger(1000));
    at.step(0.0, REGISTERED, RegistrationStep::Heartbeat(GameName::of(b"ut")));
    at.step(0.01, REGISTERED, RegistrationStep::Refused);
    at.list(0.5, C, b"ut", &[REGISTERED]);
    let refused = "10.0.0.2:7778 is listed, and its answer to the master's challenge was wrong";
    assert_eq!(at.results(), (0, vec![refused.to_owned()]));

    let mut at = Registrar(ledger(1000));
    at.step(0.0, REGISTERED, RegistrationStep::Heartbeat(GameName::of(b"ut")));
    at.step(0.01, REGISTERED, RegistrationStep::Refused);
    at.step(0.02, REGISTERED, RegistrationStep::Validated);
    at.list(0.5, C, b"ut", &[REGISTERED]);
    assert_eq!(at.results(), (1, vec![]));
}

#[test]
fn a_server_that_answers_no_challenge_is_not_listed() {
    let listed = |ignored: u32, is_validated: bool| {
        let mut at = Registrar(ledger(1000));
        at.step(0.0, REGISTERED, RegistrationStep::Heartbeat(GameName::of(b"ut")));
        (0..ignored).for_each(|nth| {
            at.step(f64::from(nth), REGISTERED, RegistrationStep::Ignored);
        });
        if is_validated {
            at.step(4.0, REGISTERED, RegistrationStep::Validated);
        }
        at.list(5.0, C, b"ut", &[REGISTERED]);
        at.results()
    };
    let ignored = "10.0.0.2:7778 is listed, and left 3 challenges of the master without an answer";
    assert_eq!(listed(3, false), (0, vec![ignored.to_owned()]));
    // Packets are lost; it may have been validated before the capture.
    assert_eq!(listed(2, false), (1, vec![]));
    assert_eq!(listed(3, true), (1, vec![]));
}

/// Lists within half a minute of each other are alike.
#[test]
fn lists_are_compared_twice_a_minute() {
    let mut at = validated();
    for second in 0..60 {
        at.list(1.0 + f64::from(second) / 60.0, C, b"ut", &[REGISTERED]);
    }
    assert_eq!(at.results(), (2, vec![]));
}

#[test]
fn a_server_that_changes_its_game_is_in_the_list_of_the_new_one() {
    let mut at = validated();
    at.step(1.0, REGISTERED, RegistrationStep::Heartbeat(GameName::of(b"unreal")));
    at.list(2.0, C, b"ut", &[]);
    at.list(2.0, C, b"unreal", &[REGISTERED]);
    assert_eq!(at.results(), (1, vec![]));
}
