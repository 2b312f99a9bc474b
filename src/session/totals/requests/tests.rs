use dissectors::kit::{FlowFacts, Side, Transport};

use super::*;
use crate::net::Tunnels;
use crate::session::EventOrder;

const SERVER: &str = "10.0.0.2:27015";
const OTHER: &str = "10.0.0.3:27015";

fn ask(requests: &mut Requests, server: &str, frame: u64, evidence: Evidence) {
    ask_by(requests, "10.0.0.1:50000", server, frame, evidence);
}

fn ask_by(requests: &mut Requests, client: &str, server: &str, frame: u64, evidence: Evidence) {
    let ends = [client, server].map(|end| end.parse().unwrap());
    let (began, seen, silence, lossy) = (true, [true, false], 0, false);
    let (number, transport) = (1, Transport::Udp);
    let flow_context = FlowContext {
        protocol: None,
        flow: FlowFacts { ends, began, seen, silence, lossy, number, transport },
        roles: [None; 2],
        packet: (frame, 24),
        moment: EventOrder::at(frame),
        digits: 6,
        copy_of: None,
        tunnels: Tunnels::default(),
        hop_limit: 64,
        direction: Default::default(),
        window_closed: [0; 2],
    };
    let (time, length, side) = (Time(frame as i64), 25, Side::First);
    requests.unanswered(&flow_context, evidence, &Mark { frame, time, length, side }, None);
}

/// Broken rules, each with whether it is proven, and with its packet.
fn broken(requests: &mut Requests, heard: &[&str], complete: bool) -> Vec<(String, bool, u64)> {
    let mut hosts = OtherHosts::default();
    let other = "10.0.9.9".parse().unwrap();
    heard.iter().for_each(|host| hosts.insert(host.parse().unwrap(), other, 64));
    let review = requests.review(&hosts, &ProbedPorts::default(), complete, false);
    let broken = review
        .unanswered
        .iter()
        .map(|it| (it.rule.code.to_string(), it.evidence.suffices(it.rule.needs), it.mark.frame));
    broken.collect()
}

const WAITED: Evidence = Evidence {
    waited: true,
    complete: false,
    began: false,
    lost: false,
    lossy: false,
    asked_party_seen: false,
    refused: false,
};

fn both(is_proven: bool, frame: u64) -> Vec<(String, bool, u64)> {
    ["NET012", "NET014"].map(|code| (code.to_owned(), is_proven, frame)).to_vec()
}

#[test]
fn three_requests_to_a_host_that_is_heard_prove_a_silence() {
    let asked = |times: u64| {
        let mut requests = Requests::new(10);
        (1..=times).for_each(|frame| ask(&mut requests, SERVER, frame, WAITED));
        requests
    };
    assert_eq!(broken(&mut asked(3), &["10.0.0.2"], false), both(true, 3));
    assert_eq!(broken(&mut asked(2), &["10.0.0.2"], false), both(false, 2));
    assert_eq!(broken(&mut asked(6), &["10.0.0.1"], false), both(false, 6));
    assert_eq!(broken(&mut asked(1), &[], true), both(true, 1));
    assert!(broken(&mut asked(0), &[], true).is_empty());
}

#[test]
fn an_icmp_error_proves_a_missing_response_despite_losses() {
    let mut requests = Requests::new(10);
    ask(&mut requests, SERVER, 1, Evidence { refused: true, lossy: true, ..WAITED });
    assert_eq!(broken(&mut requests, &[], false), both(true, 1));
    ask(&mut requests, SERVER, 1, Evidence { lossy: true, ..WAITED });
    assert_eq!(broken(&mut requests, &[], true), both(false, 1));
    // The other request may still be answered.
    ask(&mut requests, SERVER, 1, Evidence { refused: true, ..Evidence::default() });
    ask(&mut requests, SERVER, 2, Evidence::default());
    assert_eq!(broken(&mut requests, &[], false), both(false, 2));
}

#[test]
fn one_server_is_silent_and_another_responds() {
    let mut requests = Requests::new(10);
    (1..4).for_each(|frame| ask(&mut requests, SERVER, frame, WAITED));
    requests.responds(OTHER.parse().unwrap(), None);
    let heard = ["10.0.0.2", "10.0.0.3"];
    assert_eq!(broken(&mut requests, &heard, false), both(true, 3)[1..]);
    ask(&mut requests, SERVER, 1, WAITED);
    requests.responds(SERVER.parse().unwrap(), None);
    assert!(broken(&mut requests, &heard, true).is_empty());
}

#[test]
fn ports_that_a_client_probes_are_no_servers_if_another_one_answers() {
    let probed = |answers: &str| {
        let mut requests = Requests::new(10);
        for round in 0..3 {
            for (at, port) in [27016, 27017, 27018].into_iter().enumerate() {
                let server = format!("10.0.0.2:{port}");
                ask(&mut requests, &server, round * 60 + at as u64, WAITED);
            }
        }
        requests.responds(answers.parse().unwrap(), None);
        broken(&mut requests, &["10.0.0.2"], false).len()
    };
    assert_eq!([probed(SERVER), probed(OTHER)], [0, 3]);
    // One port is a server that is down.
    let mut requests = Requests::new(10);
    (1..4).for_each(|frame| ask(&mut requests, "10.0.0.2:27016", frame, WAITED));
    requests.responds(SERVER.parse().unwrap(), None);
    assert_eq!(broken(&mut requests, &[], false), both(true, 3)[1..]);
}

#[test]
fn several_clients_may_probe_the_same_ports() {
    let left = |other: &str| {
        let mut requests = Requests::new(10);
        for client in ["10.0.0.1:5", "10.0.0.3:5", "10.0.0.4:5"] {
            for (port, frame) in (27016..27019).zip(1..) {
                ask_by(&mut requests, client, &format!("10.0.0.2:{port}"), frame, WAITED);
            }
        }
        ask_by(&mut requests, "10.0.0.5:5", other, 4, WAITED);
        requests.responds(SERVER.parse().unwrap(), None);
        broken(&mut requests, &["10.0.0.2"], false).len()
    };
    // A client that asks one port knows that there is a server.
    assert_eq!([left(SERVER), left("10.0.0.2:27016")], [0, 1]);
}

#[test]
fn nothing_answered_is_proven_by_one_overdue_response() {
    let asked = |evidence: Evidence| {
        let mut requests = Requests::new(10);
        (1..4).for_each(|frame| ask(&mut requests, SERVER, frame, WAITED));
        ask(&mut requests, OTHER, 4, evidence);
        broken(&mut requests, &["10.0.0.2"], false)
    };
    // Three requests that are overdue prove it, whatever becomes of another one.
    for evidence in [WAITED, Evidence::default()] {
        let expected = [("NET012", true, 4), ("NET014", true, 3), ("NET014", false, 4)];
        let expected = expected.map(|(code, ok, frame)| (code.to_owned(), ok, frame));
        assert_eq!(asked(evidence), expected);
    }
}

#[test]
fn sums_of_parts_equal_the_total() {
    let (mut one, mut other, mut whole) = (Requests::new(10), Requests::new(10), Requests::new(10));
    for frame in 1..9 {
        let part = if frame % 2 == 0 { &mut one } else { &mut other };
        for requests in [part, &mut whole] {
            ask(requests, if frame < 5 { SERVER } else { OTHER }, frame, WAITED);
        }
    }
    one.join(other);
    let heard = ["10.0.0.2"];
    assert_eq!(broken(&mut one, &heard, false), broken(&mut whole, &heard, false));
}

#[test]
fn servers_are_kept_up_to_a_bound() {
    let mut requests = Requests::new(1);
    ask(&mut requests, SERVER, 1, WAITED);
    ask(&mut requests, OTHER, 2, WAITED);
    assert!(requests.is_full);
    assert!(broken(&mut requests, &[], true).is_empty());
}
