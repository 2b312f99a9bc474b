//! `gamewire diagnose`: ICMP errors about responses and challenges, and what they say more than guesses do.

use crate::support::diagnosis::{self, diagnosed_at, item, rounds, verdict_of};
use captures::exchange::Setting;
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
const CHALLENGE: &str = "FFFFFFFF 41 le32:7";

/// A request of each of these clients, with an answer, and an ICMP error of a host about it if it is refused.
fn refused(
    at: u32,
    clients: &[&str],
    [answer, by]: [&str; 2],
    is: impl Fn(&str) -> bool,
) -> String {
    let one = |(nth, client): (usize, &&str)| {
        let error = if is(client) {
            format!("{at}.{nth}3 {by} > s  {}\n", "icmp=3.13")
        } else {
            String::new()
        };
        format!("{at}.{nth}0 {client} > s  {INFO}\n{at}.{nth}2 s > {client}  {answer}\n{error}")
    };
    clients.iter().enumerate().map(one).collect()
}

fn client<'r>(report: &'r Value, address: &str) -> &'r Value {
    let clients = report["clients"].as_array().unwrap();
    clients.iter().find(|it| it["client"] == address).unwrap()
}

fn of_client(report: &Value, address: &str, name: &str) -> String {
    verdict_of(client(report, address), name).join(" ").trim_end().to_owned()
}

#[test]
fn responses_that_are_refused_reach_nobody() {
    for answer in [ANSWER, CHALLENGE] {
        let of = |is: &dyn Fn(u32, &str) -> bool| {
            let script = rounds(8, |nth, at| {
                refused(at, &["c", "d", "e"], [answer, "n"], |client| is(nth, client))
            });
            diagnosis::diagnosed(&script, &Setting::udp(27015), &[])
        };
        let (code, report) = of(&|_, _| true);
        let answered = item(&report, "servers", "seen.answered");
        assert_eq!((code, &*answered), (1, "no responses_refused"), "{report:#}");
        let text =
            "24 of 24 responses dropped on the way: 10.0.1.9 says: administratively prohibited";
        assert!(report["servers"][0].to_string().contains(text), "{report:#}");
        assert_eq!(of_client(&report, "10.0.1.1", "ask.answered"), "unknown responses_refused");
        // That was so at first only, or now and then.
        for report in [of(&|nth, _| nth < 2).1, of(&|nth, client| nth == 3 && client == "c").1] {
            assert_ne!(item(&report, "servers", "seen.answered"), "no responses_refused");
            assert_ne!(of_client(&report, "10.0.1.1", "ask.answered"), "unknown responses_refused");
        }
    }
}

/// What is refused to one client of several is its own router's matter.
#[test]
fn responses_that_are_refused_to_one_client_are_its_matter() {
    let of = |clients: &[&str], by: &str| {
        let script = rounds(8, |_, at| refused(at, clients, [ANSWER, by], |client| client == "d"));
        diagnosed_at(&script, 27015)
    };
    let report = of(&["c", "d", "e"], "n");
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
    assert_eq!(of_client(&report, "10.0.1.1", "ask.answered"), "no one_client_unanswered");
    assert!(client(&report, "10.0.1.1").to_string().contains("10.0.1.9 says: "), "{report:#}");
    assert_eq!(of_client(&report, "10.0.0.1", "ask.answered"), "yes");
    // Of the only client, it may be the matter of either.
    let report = of(&["d"], "n");
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown responses_refused");
    assert_eq!(of_client(&report, "10.0.1.1", "ask.answered"), "unknown responses_refused");
}

/// A client that has closed its port is no fault of the server, and none of its network.
#[test]
fn a_client_that_has_gone_refuses_nothing() {
    let script = rounds(8, |_, at| {
        let gone = |client: &str, tenth: u32| {
            format!(
                "{at}.{tenth}0 {client} > s  {INFO}\n{at}.{tenth}2 s > {client}  {ANSWER}\n\
                     {at}.{tenth}3 {client} > s  icmp=3.3\n"
            )
        };
        gone("c", 0) + &gone("d", 1)
    });
    let report = diagnosed_at(&script, 27015);
    assert_eq!(item(&report, "servers", "seen.answered"), "yes", "{report:#}");
    assert_eq!(of_client(&report, "10.0.0.1", "ask.answered"), "yes");
}

/// Each second request of a client draws an error: that says more than how soon it comes.
#[test]
fn errors_come_before_a_rate() {
    let of = |second: &str| {
        let script: String = (0..12)
            .map(|nth| {
                let at = nth * 20;
                format!(
                    "{at}.0 c:{0} > s  {INFO}\n{at}.02 s > c:{0}  {ANSWER}\n{at}.2 c:{1} > s  {INFO}\n{second}",
                    40_000 + nth,
                    50_000 + nth,
                )
                .replace("AT", &at.to_string())
                .replace("PORT", &(50_000 + nth).to_string())
            })
            .collect();
        diagnosed_at(&format!("{script}end 300"), 27015)
    };
    let report = of("AT.23 n > c:PORT  icmp=3.1\n");
    assert_eq!(item(&report, "servers", "seen.answered"), "no icmp_host_unreachable");
    let said = report["servers"][0].to_string();
    assert!(said.contains("10.0.1.9 says: host unreachable; requests "), "{said}");
    assert_eq!(item(&of(""), "servers", "seen.answered"), "no rate_limited");
}

/// What comes less often than every ten seconds is no rate.
#[test]
fn slow_requests_meet_no_limit_of_a_rate() {
    let of = |soon: u32| {
        let script: String = (0..12)
            .map(|nth| {
                let at = nth * 100;
                let [first, second] = [40_000, 50_000].map(|port| format!("c:{}", port + nth));
                format!(
                    "{at}.0 {first} > s  {INFO}\n{at}.02 s > {first}  {ANSWER}\n{}.0 {second} > s  {INFO}\n",
                    at + soon
                )
            })
            .collect();
        item(&diagnosed_at(&format!("{script}end 1300"), 27015), "servers", "seen.answered")
    };
    assert_eq!(of(2), "no rate_limited");
    assert!(!of(30).contains("rate"), "{}", of(30));
}

/// The host of the server refuses the challenge of its master.
#[test]
fn a_masters_challenge_that_is_refused_is_named() {
    let joined = |after: &str| {
        let script = rounds(6, |_, at| {
            format!(
                "{at}.0 s > m:27010  71\n{at}.02 m:27010 > s  FFFFFFFF 730A le32:7\n{}",
                after.replace("AT", &at.to_string())
            )
        });
        item(&diagnosed_at(&script, 27015), "servers", "reg.echo")
    };
    assert_eq!(joined("AT.03 s > m:27010  icmp=3.3\n"), "no icmp_port_unreachable");
    assert_eq!(joined("AT.03 n > m:27010  icmp=3.10\n"), "no icmp_admin_prohibited");
    assert_eq!(joined(""), "no challenge_unanswered");
}
