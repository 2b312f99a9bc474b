//! `gamewire diagnose --server`: a server that is named, by whichever of its addresses, is the same one as among all.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::support::diagnosis::{diagnosed, item, report_of};
use crate::support::project::Project;
use crate::support::{captures_of_reports, samples};
use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::Value;

/// Captures with more servers take too long.
const MOST: usize = 25;

fn servers(report: &Value) -> &[Value] {
    report["servers"].as_array().unwrap()
}

/// All addresses in a server's result, its name first.
fn addresses(server: &Value) -> Vec<&str> {
    let list = |key: &str| server[key].as_array().into_iter().flatten();
    let own = list("addresses").map(|it| &it["address"]);
    let all = [&server["server"]].into_iter().chain(own).chain(list("probed"));
    all.map(|address| address.as_str().unwrap()).collect()
}

/// Names each server of these captures by each of its addresses; returns how many there were of both.
fn compare(files: &[PathBuf]) -> [usize; 2] {
    let (mut named, mut by_others) = (0, 0);
    for file in files {
        let file = file.to_str().unwrap();
        let (_, all) = report_of(file, &[]);
        if servers(&all).len() > MOST {
            continue;
        }
        for server in servers(&all) {
            let names = BTreeSet::from_iter(addresses(server));
            named += 1;
            by_others += names.len() - 1;
            for name in names {
                let (code, report) = report_of(file, &["--server", name]);
                assert_eq!(servers(&report), std::slice::from_ref(server), "{file} {name}");
                assert_eq!(code == 1, server["verdict"] == "fault", "{file} {name}");
            }
        }
    }
    [named, by_others]
}

#[test]
fn a_server_of_a_sample_is_the_same_by_each_of_its_addresses() {
    let [named, _] = compare(&samples());
    assert!(named > 40, "{named}");
}

#[test]
fn a_server_of_a_report_is_the_same_by_each_of_its_addresses() {
    let Some(files) = captures_of_reports() else { return };
    let [named, by_others] = compare(&files);
    assert!(named > 100 && by_others > 10, "{named} {by_others}");
}

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";

/// An answer that announces a port for players.
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 80 8C69";

#[test]
fn ports_where_a_server_is_not_queried_are_its_own() {
    let script = format!("0.0 c > s  {INFO}\n0.1 s > c  {ANSWER}\nend 9");
    let named = |name: &str| {
        let (_, report) = diagnosed(&script, &Setting::udp(27015), &["--server", name]);
        servers(&report)[0]["server"].clone()
    };
    assert_eq!(named("10.0.0.2:27020"), "10.0.0.2:27015", "it announces that port for players");
    assert_eq!(named("10.0.0.2:27021"), "10.0.0.2:27021", "nothing is known of this one");

    let (_, report) = report_of("samples/acr-master.pcap", &["--server", "10.0.0.2:28771"]);
    assert_eq!(servers(&report)[0]["server"], "10.0.0.2:28770", "its master probes that port");
}

/// A server that joins and answers at one port is listed with another one, which a client asks in vain, or nobody asks.
#[test]
fn the_port_with_which_a_master_lists_a_server_is_its_own() {
    let joins = "0.0 s > m:27010  71\n0.02 m:27010 > s  FFFFFFFF 730A le32:7\n";
    let listed = "10.0 c > m:27010  31FF '0.0.0.0:0' 00 00\n\
                  10.1 m:27010 > c  FFFFFFFF 660A ip:10.0.0.2:27099 00*6\n";
    let asked = format!("20.0 c > s  {INFO}\n20.1 s > c  {ANSWER}\n");
    let in_vain: String = (3..7).map(|nth| format!("{nth}5.0 c > s:27099  {INFO}\n")).collect();
    for in_vain in [&in_vain, ""] {
        let script = format!("{joins}{listed}{asked}{in_vain}end 90");
        let shown = |options: &[&str]| diagnosed(&script, &Setting::udp(27015), options).1;
        let all = shown(&[]);
        let [server] = servers(&all) else { panic!("not one: {all:#}") };
        assert_eq!(server["server"], "10.0.0.2:27015");
        assert_eq!(item(&all, "servers", "list.address"), "no listed_other_port");
        assert_eq!(servers(&shown(&["--server", "10.0.0.2:27099"])), std::slice::from_ref(server));
    }
}

#[test]
fn what_is_no_server_is_shown_by_its_name() {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..4 {
        let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
        let asked = Datagram::new("10.0.0.1:50000", "10.0.0.255:27015", info);
        capture.push(START.after(nth * 1_000_000_000), &asked.packet());
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    let shown = |options: &[&str]| report_of(&file, options).1;
    assert!(servers(&shown(&[])).is_empty());
    let report = shown(&["--server", "10.0.0.255:27015"]);
    assert_eq!(servers(&report)[0]["server"], "10.0.0.255:27015");
    assert_eq!(servers(&report)[0]["items"][0]["item"], "seen.asked");
    assert_eq!(servers(&report)[0]["items"][0]["verdict"], "yes", "{report}");
}

/// Without its join, what is listed may be another server of its host, or the port from which it joins.
#[test]
fn another_port_of_the_host_in_a_list_proves_nothing_without_the_join() {
    let listed = "1.0 c > m:27010  31FF '0.0.0.0:0' 00 00\n\
                  1.1 m:27010 > c  FFFFFFFF 660A ip:10.0.0.2:27099 00*6\n";
    let asked = format!("2.0 c > s  {INFO}\n2.1 s > c  {ANSWER}\nend 60");
    let (_, report) = diagnosed(&format!("{listed}{asked}"), &Setting::udp(27015), &[]);
    let shown = ["list.listed", "list.address"].map(|name| item(&report, "servers", name));
    assert_eq!(shown, ["unknown not_in_capture"; 2], "{report:#}");
}

/// A container's joins leave from another port than it answers on, and players ask there.
#[test]
fn the_port_from_which_a_server_joins_is_asked_in_vain() {
    let script = |in_vain: u32| {
        let joins = "0.0 s:1024 > m:27010  71\n0.02 m:27010 > s:1024  FFFFFFFF 730A le32:7\n";
        let answered = |at: u32| format!("{at}.0 c > s  {INFO}\n{at}.1 s > c  {ANSWER}\n");
        let asked = |nth: u32| format!("{}.0 d > s:1024  {INFO}\n", 30 + 5 * nth);
        let answered: String = [1, 5, 10].map(answered).concat();
        let in_vain: String = (0..in_vain).map(asked).collect();
        format!("{joins}{answered}{in_vain}end 90")
    };
    let address = |in_vain: u32| {
        let (_, report) = diagnosed(&script(in_vain), &Setting::udp(27015), &[]);
        assert_eq!(servers(&report).len(), 1, "{report:#}");
        item(&report, "servers", "list.address")
    };
    assert_eq!(address(4), "no listed_other_port");
    assert_eq!(address(2), "unknown not_in_capture");
}

/// A server behind NAT that forgets its port between heartbeats is one.
#[test]
fn a_host_that_joins_from_one_port_after_another_is_one_server() {
    let join = |at: u32, port: u16| {
        format!("{at}.0 s:{port} > m:27010  71\n{at}.1 m:27010 > s:{port}  FFFFFFFF 730A le32:7\n")
    };
    let named = |joins: String, end: u32| {
        let (_, report) = diagnosed(&format!("{joins}end {end}"), &Setting::udp(27015), &[]);
        servers(&report).iter().map(|it| it["server"].to_string()).collect::<Vec<_>>()
    };
    let one = join(0, 61_000) + &join(300, 61_007) + &join(600, 61_014);
    assert_eq!(named(one.clone(), 610), [r#""10.0.0.2:61014""#]);
    assert_eq!(named(one.clone() + &join(601, 61_000), 650).len(), 3, "two at a time");
    assert_eq!(named(join(0, 61_000) + &join(2, 61_007), 100).len(), 2, "each joins once");
    // Where players ask another port, that is the server's, and the joins are its heartbeats.
    let asked = "20.0 c > s:27015  FFFFFFFF 55 FFFFFFFF\n20.1 s:27015 > c  FFFFFFFF 44 00\n";
    let script = format!("{asked}{one}{}end 910", join(900, 61_021));
    let (_, report) = diagnosed(&script, &Setting::udp(27015), &[]);
    let [server] = servers(&report) else { panic!("one server: {report:#}") };
    assert_eq!(server["server"], "10.0.0.2:27015");
    let roles =
        Vec::from_iter(server["addresses"].as_array().unwrap().iter().map(|it| &it["role"]));
    assert_eq!(roles, ["query", "join", "join", "join", "join"], "{report:#}");
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "yes", "{report:#}");
}
