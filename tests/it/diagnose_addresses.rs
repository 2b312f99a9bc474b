//! All addresses of a server in `gamewire diagnose`, and what they are; broadcasts at several ports.

use crate::support::diagnosis;
use crate::support::project::Project;
use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::Value;

/// The addresses of the first server of a capture with their roles, after `--server` found it by each of them.
fn roles(file: &str) -> Vec<[String; 2]> {
    let (_, report) = diagnosis::report_of(file, &[]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let server = text(&report["servers"][0]["server"]);
    let addresses = report["servers"][0]["addresses"].as_array().unwrap().iter();
    let all = Vec::from_iter(addresses.map(|it| [&it["address"], &it["role"]].map(text)));
    for [address, _] in &all {
        let (_, named) = diagnosis::report_of(file, &["--server", address]);
        assert_eq!(named["servers"].as_array().unwrap().len(), 1, "{address}: {named:#}");
        assert_eq!(named["servers"][0]["server"], *server, "{address}: {named:#}");
    }
    all
}

fn roles_of(script: &str, setting: &Setting) -> Vec<[String; 2]> {
    let (_project, file) = Project::of_script(script, setting);
    roles(&file)
}

#[test]
fn the_port_of_a_heartbeat_and_that_which_sends_it_are_addresses_of_the_server() {
    let beat = r"0.0 s:7779 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\'";
    let closed = r"1.0 m:40001 > s:7778  '\\basic\\'
1.01 s:7778 > m:40001  icmp=3.3
2.0 c > s:7788  '\\info\\'
2.02 s:7788 > c  '\\hostname\\A\\mapname\\M\\numplayers\\0\\maxplayers\\8\\queryid\\1.1\\final\\'";
    let text = Setting::udp(7778);
    assert_eq!(
        roles_of(&format!("{beat}\n{closed}\nend 60"), &text),
        [["10.0.0.2:7788", "query"], ["10.0.0.2:7778", "query"], ["10.0.0.2:7779", "join"]]
    );
    assert_eq!(
        roles_of(&format!("{beat}\nend 60"), &text),
        [["10.0.0.2:7778", "query"], ["10.0.0.2:7779", "join"]]
    );
}

#[test]
fn the_port_for_players_and_that_which_a_master_probes_are_addresses_of_the_server() {
    let info = "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 80";
    let script =
        format!("0.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n0.1 s > c  {info} 8869\nend 9");
    assert_eq!(
        roles_of(&script, &Setting::udp(27015)),
        [["10.0.0.2:27015", "query"], ["10.0.0.2:27016", "game"]]
    );
    let script = r"0.00 s > m tcp  'GET /r?v=2060&p=28770 HTTP/1.0\r\n\r\n'
0.02 m > s tcp  'HTTP/1.0 200 OK\r\n\r\nregistered successfully.' fin
end 60";
    assert_eq!(
        roles_of(script, &Setting::tcp(80)),
        [["10.0.0.2:28770", "join"], ["10.0.0.2:28771", "probe"]]
    );
}

/// Games ask all hosts of their network at several ports, one after the other.
#[test]
fn who_answers_a_broadcast_was_asked_at_its_own_port() {
    let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let client = "10.0.0.1:50000";
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..4 {
        let at = |ms: u64| START.after((nth * 20_000 + ms) * 1_000_000);
        for port in 27015..27019 {
            let to = format!("255.255.255.255:{port}");
            capture.push(at(0), &Datagram::new(client, &to, info).packet());
        }
        for from in ["10.0.0.2:27015", "10.0.0.3:27016", "10.0.0.4:30000"] {
            capture.push(at(20), &Datagram::new(from, client, answer).packet());
        }
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    let (_, report) = diagnosis::report_of(&file, &[]);
    let broadcasts = report["broadcasts"].as_array().unwrap().iter();
    let answered: Vec<_> = broadcasts.map(|it| it["answered_by"].to_string()).collect();
    // One that was not asked at its port answers the latest.
    assert_eq!(
        answered,
        [r#"["10.0.0.2:27015"]"#, r#"["10.0.0.3:27016"]"#, "[]", r#"["10.0.0.4:30000"]"#]
    );
}

/// Players in the server's network ask its public address, and their router lets them down: players elsewhere are well.
#[test]
fn only_players_in_the_network_of_the_server_get_answers_from_its_inner_address() {
    let (info, players) =
        (b"\xFF\xFF\xFF\xFFTSource Engine Query\0", b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF");
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let challenge = b"\xFF\xFF\xFF\xFFA\x07\0\0\0";
    let public = "23.17.34.51:27015";
    for (request, response) in [(&info[..], &answer[..]), (players, challenge)] {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..6 {
            let mut send = |ms: u64, from: &str, to: &str, bytes: &[u8]| {
                let at = START.after((nth * 20_000 + ms) * 1_000_000);
                capture.push(at, &Datagram::new(from, to, bytes).packet());
            };
            let [inside, outside] =
                ["192.168.1.20", "198.51.100.7"].map(|it| format!("{it}:{}", 50_000 + nth));
            send(0, &inside, public, request);
            send(5, "192.168.1.10:27015", &inside, response);
            send(1_000, &outside, public, info);
            send(1_020, public, &outside, answer);
        }
        let (_project, file) = Project::of_capture(capture.pcap());
        let (code, report) = diagnosis::report_of(&file, &[]);
        let server = report["servers"].as_array().unwrap().iter().find(|it| it["server"] == public);
        let from_asked = diagnosis::verdict_of(server.unwrap(), "seen.from_asked");
        assert_eq!(
            (code, from_asked),
            (0, ["unknown", "nat_loopback"].map(str::to_owned)),
            "{report:#}"
        );
    }
}

/// The only client whose challenges, or data, come from another port is named.
#[test]
fn one_client_gets_responses_from_another_port() {
    const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
    const ANSWER: &str =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let of = |[challenges, data]: [u32; 2]| {
        let script = diagnosis::rounds(4, |_, at| {
            let ask = |(nth, client): (u32, &str)| {
                let [challenges, data] =
                    if client == "d" { [challenges, data] } else { [27015; 2] };
                let challenged = format!(
                    "{at}.{nth}0 {client} > s  {INFO}\n\
                     {at}.{nth}2 s:{challenges} > {client}  FFFFFFFF 41 le32:{at}\n"
                );
                let goes_on = format!(
                    "{at}.{nth}4 {client} > s  {INFO} le32:{at}\n\
                     {at}.{nth}6 s:{data} > {client}  {ANSWER}\n"
                );
                if challenges == 27015 { challenged + &goes_on } else { challenged }
            };
            (0..).zip(["c", "d", "e", "c1", "e1", "c2", "e2"]).map(ask).collect()
        });
        diagnosis::diagnosed_at(&script, 27015)
    };
    for ports in [[61001, 27015], [27015, 61001]] {
        let report = of(ports);
        let from = diagnosis::item(&report, "servers", "seen.from_asked");
        assert_eq!(from, "no answers_from_other_port", "{report:#}");
        assert!(report["servers"][0].to_string().contains("all to 10.0.1.1"), "{report:#}");
    }
    assert_eq!(of([27015; 2])["servers"][0]["verdict"], "ok");
}
