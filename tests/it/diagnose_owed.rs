//! `gamewire diagnose`: requests that are owed no answer, beside others that are lost.

use crate::support::diagnosis::{diagnosed_at, item, rounds, verdict_of};
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

/// The verdict and the cause of an item of a client.
fn of_client(report: &Value, address: &str, name: &str) -> String {
    let clients = report["clients"].as_array().unwrap();
    let client = clients.iter().find(|it| it["client"] == address);
    verdict_of(client.unwrap_or(&Value::Null), name).join(" ").trim_end().to_owned()
}

/// A query at this tenth of a second, with its response unless that is lost.
fn asked(client: &str, at: u32, tenth: u32, is_answered: bool) -> String {
    let request = format!("{at}.{tenth}0 {client} > s  {INFO}\n");
    match is_answered {
        true => request + &format!("{at}.{tenth}2 s > {client}  {ANSWER}\n"),
        false => request,
    }
}

/// A challenge that a client got at a port comes back from this one, and is accepted from the same one only.
fn returned_from(client: &str, at: u32, tenth: u32, port: u32) -> String {
    let got = 50_000;
    let challenged = format!(
        "{at}.{tenth}0 {client}:{got} > s  {INFO}\n{at}.{tenth}2 s > {client}:{got}  FFFFFFFF 41 le32:{at}\n\
         {at}.{tenth}3 {client}:{port} > s  {INFO} le32:{at}\n"
    );
    match port == got {
        true => challenged + &format!("{at}.{tenth}5 s > {client}:{got}  {ANSWER}\n"),
        false => challenged,
    }
}

/// Some of the others' requests are lost, which does not make the server owe the client anything.
#[test]
fn what_is_owed_nothing_counts_in_no_number_beside_lost_requests() {
    let answered = |wrong: &dyn Fn(u32) -> String, lost: u32| {
        let others = |nth, at| asked("c", at, 2, nth >= lost) + &asked("e", at, 4, true);
        let script = rounds(12, |nth, at| others(nth, at) + &wrong(at));
        let report = diagnosed_at(&script, 27015);
        assert_eq!(item(&report, "servers", "seen.answered"), "yes", "{report:#}");
        assert!(!report.to_string().contains("banned"), "{report:#}");
        report
    };
    for lost in [0, 2] {
        let report = answered(&|at| returned_from("d", at, 6, 51_000), lost);
        assert_eq!(of_client(&report, "10.0.1.1", "ask.challenge"), "no challenge_other_port");
        let report = answered(&|at| format!("{at}.60 d > s  FEFD 09 00000007\n"), lost);
        assert_eq!(of_client(&report, "10.0.1.1", "ask.protocol"), "no wrong_protocol");
    }
}

/// The NAT in front of a client changes: from then on, or until then.
#[test]
fn a_client_whose_challenges_come_back_from_another_port_for_a_while() {
    let of = |is_wrong: &dyn Fn(u32) -> bool| {
        let script = rounds(24, |nth, at| {
            let port = if is_wrong(nth) { 51_000 + nth } else { 50_000 };
            returned_from("d", at, 2, port) + &asked("c", at, 6, true)
        });
        let report = diagnosed_at(&script, 27015);
        assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
        of_client(&report, "10.0.1.1", "ask.challenge")
    };
    assert_eq!(of(&|nth| nth >= 14), "no challenge_other_port");
    assert_eq!(of(&|nth| nth < 6), "yes");
    assert_eq!(of(&|nth| nth == 12), "yes", "one may be lost");
}

/// As many of the others' requests are lost as are no fault of a server: it is still the client, or the time, that tells the
/// rest from them.
#[test]
fn ordinary_loss_hides_neither_a_client_nor_a_time_without_answers() {
    let of = |is_answered: &dyn Fn(u32, &str) -> bool| {
        let script = rounds(20, |nth, at| {
            let ask = |(tenth, client)| asked(client, at, tenth, is_answered(nth, client));
            [(0, "c"), (2, "d"), (4, "e")].map(ask).concat()
        });
        let report = diagnosed_at(&script, 27015);
        (item(&report, "servers", "seen.answered"), report)
    };
    let is_lost = |nth: u32, client: &str| [1, 8, 15].contains(&nth) && client == "e";
    let (said, report) = of(&|nth, client| client != "d" && !is_lost(nth, client));
    assert_eq!(said, "no one_client_unanswered", "{report:#}");
    let (said, report) = of(&|nth, client| !is_lost(nth, client));
    assert_eq!(said, "yes", "{report:#}");
    let is_lost = |nth: u32, client: &str| [1, 5, 9, 17].contains(&nth) && client == "e";
    let (said, report) = of(&|nth, client| !(10..14).contains(&nth) && !is_lost(nth, client));
    assert_eq!(said, "no silent_period", "{report:#}");
}
