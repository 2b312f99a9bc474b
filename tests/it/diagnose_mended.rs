//! What was wrong and no longer is, in `gamewire diagnose`: it is no fault, unless accident may explain that.

use std::fmt::Write;

use crate::support::diagnosis::{diagnosed, item};
use captures::exchange::Setting;

const A2S: Setting = Setting::udp(27015);
const PLAYERS: &str = "FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5";

/// Requests for players from a port of their own each, ten seconds apart: `answers` writes what follows each.
fn rounds(count: u32, answers: impl Fn(u32) -> String) -> String {
    let mut script = String::new();
    for nth in 0..count {
        let (at, port) = (nth * 10, 40_000 + nth);
        writeln!(script, "{at}.00 c:{port} > s  FFFFFFFF 55 FFFFFFFF").unwrap();
        writeln!(script, "{at}.02 s > c:{port}  FFFFFFFF 41 0{}000000", nth % 9 + 1).unwrap();
        writeln!(script, "{at}.04 c:{port} > s  FFFFFFFF 55 0{}000000", nth % 9 + 1).unwrap();
        let answer = answers(nth);
        writeln!(script, "{}", answer.replace("AT", &format!("{at}.08 s > c:{port} "))).unwrap();
    }
    format!("{script}end {}", count * 10 + 30)
}

/// The verdict on a condition of the server.
fn of(script: &str, name: &str) -> String {
    let (_, report) = diagnosed(script, &A2S, &[]);
    item(&report, "servers", name)
}

#[test]
fn what_is_right_since_is_no_fault_and_what_comes_and_goes_is_one() {
    let zeros = "AT 00000000 00000000 00000000";
    let wrong = |is_wrong: fn(u32) -> bool| {
        rounds(12, |nth| if is_wrong(nth) { zeros.to_owned() } else { format!("AT {PLAYERS}") })
    };
    assert_eq!(of(&wrong(|nth| nth < 6), "seen.readable"), "yes");
    assert_eq!(of(&wrong(|nth| nth >= 6), "seen.readable"), "no zero_filled");
    assert_eq!(of(&wrong(|nth| nth % 2 == 0), "seen.readable"), "no zero_filled");
    // Two right ones may be an accident.
    assert_eq!(of(&wrong(|nth| nth < 10), "seen.readable"), "no zero_filled");
}

/// Parts that are lost are reported long after later responses came.
#[test]
fn parts_that_came_again_are_mended_however_late_their_loss_is_known() {
    let parts = |nth: u32, second: bool| {
        let first = format!("AT FEFFFFFF 0{:x}000000 02 00 E004 FFFFFFFF 44 01 00 'An'", nth + 1);
        let second = second.then(|| {
            format!("\nAT FEFFFFFF 0{:x}000000 02 01 E004 'n' 00 03000000 f32:61.5", nth + 1)
        });
        first + &second.unwrap_or_default()
    };
    let script = |is_lost: fn(u32) -> bool| rounds(12, |nth| parts(nth, !is_lost(nth)));
    assert_eq!(of(&script(|nth| nth < 6), "seen.whole"), "yes");
    assert_eq!(of(&script(|nth| nth >= 6), "seen.whole"), "no split_part_missing");
}

/// One client gets wrong responses, and another one asks later: nothing shows that the first gets right ones now.
#[test]
fn each_client_that_got_wrong_responses_must_get_right_ones() {
    let zeros = |nth: u32| if nth < 6 { "AT 00000000 00000000" } else { "AT RIGHT" };
    let script = rounds(12, |nth| zeros(nth).replace("RIGHT", PLAYERS));
    let mut others = String::new();
    for line in script.lines() {
        let is_later = line.split('.').next().and_then(|it| it.parse().ok()).unwrap_or(0) >= 60;
        writeln!(others, "{}", if is_later { line.replace("c:", "d:") } else { line.into() })
            .unwrap();
    }
    assert_eq!(of(&others, "seen.readable"), "no zero_filled", "{others}");
}

/// A session of GameSpy 4 whose number changes is not answered: no server is at fault, whether the client does so on and
/// on, or now and then.
#[test]
fn a_session_that_changes_is_the_clients_fault() {
    let script = |is_changed: fn(u32) -> bool| {
        let mut script = String::new();
        for nth in 0..12 {
            let (at, port) = (nth * 10, 40_000 + nth);
            let session = if is_changed(nth) { "01020305" } else { "01020304" };
            writeln!(script, "{at}.00 c:{port} > s  FEFD 09 01020304").unwrap();
            writeln!(script, "{at}.02 s > c:{port}  09 01020304 '7' 00").unwrap();
            writeln!(script, "{at}.04 c:{port} > s  FEFD 00 {session} 00000007 FFFFFF01").unwrap();
            if !is_changed(nth) {
                let pairs = "'splitnum' 00 80 00 'hostname' 00 'A' 00 'hostport' 00 '7777' 00 00";
                writeln!(script, "{at}.08 s > c:{port}  00 01020304 {pairs}").unwrap();
            }
        }
        format!("{script}end 200")
    };
    let gs4 = Setting::udp(6500);
    let of = |is_changed: fn(u32) -> bool| {
        let (_, report) = diagnosed(&script(is_changed), &gs4, &[]);
        [item(&report, "servers", "seen.answered"), item(&report, "clients", "ask.wellformed")]
    };
    assert_eq!(of(|nth| nth >= 6), ["yes", "no session_changed"]);
    assert_eq!(of(|nth| nth == 5), ["yes", "yes"], "it does it right since");
}

/// The latest info string counts.
#[test]
fn a_server_that_no_longer_keeps_to_its_network_is_well() {
    let round = |at: u32, lan: u8| {
        format!(
            "{at}.00 s > m  'q'\n{at}.02 m > s  FFFFFFFF 73 0A 07000000\n\
             {at}.03 s > m  300A '\\\\protocol\\\\47\\\\challenge\\\\7\\\\players\\\\3\\\\max\\\\24\\\\bots\\\\0\\\\gamedir\\\\tfc\\\\map\\\\2fort\\\\type\\\\d\\\\password\\\\0\\\\os\\\\l\\\\secure\\\\0\\\\lan\\\\{lan}\\\\version\\\\1.1.2.5/Stdio\\\\region\\\\255\\\\product\\\\tfc\\n'\n"
        )
    };
    let of = |lan: [u8; 3]| {
        let rounds = [(0, lan[0]), (300, lan[1]), (600, lan[2])];
        let script: String = rounds.into_iter().map(|(at, lan)| round(at, lan)).collect();
        let (_, report) = diagnosed(&format!("{script}end 700"), &Setting::udp(27010), &[]);
        item(&report, "servers", "reg.join")
    };
    assert_eq!(of([1, 1, 0]), "yes");
    assert_eq!(of([0, 0, 1]), "no lan_only");
}

/// A challenge that its own server answers with another one, again and again, for one kind of request alone.
#[test]
fn one_kind_of_request_that_is_challenged_again_and_again_is_a_loop() {
    let mut script = String::new();
    for nth in 0..3 {
        let (at, port) = (nth * 10, 40_000 + nth);
        let info = "FFFFFFFF 54 'Source Engine Query' 00";
        writeln!(script, "{at}.00 c:{port} > s  {info}").unwrap();
        for again in 1..6 {
            writeln!(script, "{at}.{again}0 s > c:{port}  FFFFFFFF 41 0{again}000000").unwrap();
            writeln!(script, "{at}.{again}5 c:{port} > s  {info} 0{again}000000").unwrap();
        }
        writeln!(script, "{at}.60 s > c:{port}  FFFFFFFF 41 06000000").unwrap();
        writeln!(script, "{}.00 d > s  FFFFFFFF 55 FFFFFFFF", at + 3).unwrap();
        writeln!(script, "{}.02 s > d  FFFFFFFF 41 09000000", at + 3).unwrap();
        writeln!(script, "{}.04 d > s  FFFFFFFF 55 09000000", at + 3).unwrap();
        writeln!(script, "{}.06 s > d  {PLAYERS}", at + 3).unwrap();
    }
    assert_eq!(of(&script, "seen.verified"), "no challenge_loop");
}
