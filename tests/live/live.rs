//! Live capture on the loopback interface. Tests are skipped without permission to capture, without libpcap,
//! or without a required client.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::sniffer::{INFO_REQUEST, Server, Sniffer, client, only, query};
use crate::support::skip::skipped;
use nix::pty::{Winsize, openpty};

#[test]
fn no_message_is_lost_at_20_000_packets_a_second() {
    const QUERIES: u32 = 20_000;
    let server = Server::start();
    let args =
        ["dissect", "--format", "json", "-c", &(2 * QUERIES).to_string(), "--duration", "60s"];
    let Some(mut sniffer) = Sniffer::start(server.port, &args) else { return };
    let lines = BufReader::new(sniffer.child.stdout.take().unwrap()).lines();
    let reading = std::thread::spawn(move || lines.map_while(Result::ok).count());
    let socket = client();
    let begun = Instant::now();
    for n in 0..QUERIES {
        query(&socket, server.port);
        let ahead = (n * Duration::from_micros(100)).saturating_sub(begun.elapsed());
        std::thread::sleep(if ahead > Duration::from_millis(2) { ahead } else { Duration::ZERO });
    }
    assert_eq!(reading.join().unwrap(), 2 * QUERIES as usize);
    let counts = sniffer.says("captured");
    assert!(counts.contains(" 0 dropped by the kernel") && counts.contains(" 0 came"), "{counts}");
    assert!(sniffer.output().status.success());
}

#[test]
fn a_closed_output_pipe_ends_it_silently() {
    let server = Server::start();
    let args = ["dissect", "--format", "json", "-c", "100"];
    let Some(mut sniffer) = Sniffer::start(server.port, &args) else { return };
    query(&client(), server.port);
    let mut first = String::new();
    BufReader::new(sniffer.child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("\"info_request\""), "{first}");
    // The pipe is closed, and there are no more packets.
    let begun = Instant::now();
    assert!(sniffer.child.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn signals_request_counts_and_end_it_with_the_verdict() {
    let folder = std::env::temp_dir().join(format!("gamewire-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kept = folder.join("kept.pcapng");
    let server = Server::start();
    let args = ["check", "--format", "json", "-Z", "root", "-w", kept.to_str().unwrap()];
    if let Some(sniffer) = Sniffer::start(server.port, &args) {
        let socket = client();
        (0..5).for_each(|_| query(&socket, server.port));
        std::thread::sleep(Duration::from_millis(500));
        sniffer.signal("-USR1");
        assert!(sniffer.says("captured").contains(" 10 packets captured"));
        sniffer.signal("-INT");
        let output = sniffer.output();
        assert_eq!(output.status.code(), Some(0));
        let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&outcome["packets"], &outcome["messages"]), (&10.into(), &10.into()));
        assert_eq!(outcome["captures"][0], "lo");
        // The written file has the same verdict.
        let again = Command::new(env!("CARGO_BIN_EXE_gamewire"))
            .args(["check", "--format", "json", "--no-config"])
            .arg(&kept)
            .output()
            .unwrap();
        let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!((&again["packets"], &again["rules"]), (&outcome["packets"], &outcome["rules"]));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_that_cannot_be_reopened_stays_in_use() {
    let folder = std::env::temp_dir().join(format!("gamewire-anew-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kept = folder.join("kept.pcap");
    let server = Server::start();
    let args = ["check", "--format", "json", "-Z", "root", "-w", kept.to_str().unwrap()];
    let Some(sniffer) = Sniffer::start(server.port, &args) else {
        return std::fs::remove_dir_all(folder).unwrap();
    };
    std::fs::remove_dir_all(folder).unwrap();
    sniffer.signal("-HUP");
    let said = sniffer.says("kept.pcap");
    assert!(said.contains("warning: cannot write") && said.contains("continues"), "{said}");
    query(&client(), server.port);
    std::thread::sleep(Duration::from_millis(500));
    sniffer.signal("-INT");
    let output = sniffer.output();
    assert_eq!(output.status.code(), Some(0));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["packets"], 2);
}

#[test]
fn packets_that_the_kernel_drops_are_reported_and_prove_nothing() {
    let server = Server::start();
    let args = ["check", "--format", "json", "--buffer-size", "32"];
    let Some(sniffer) = Sniffer::start(server.port, &args) else { return };
    // It does not read for a while, so the small buffer fills up.
    sniffer.stop();
    let client = client();
    for _ in 0..2000 {
        client.send_to(INFO_REQUEST, ("127.0.0.1", server.port)).unwrap();
    }
    // The responses are also sent while it does not read.
    std::thread::sleep(Duration::from_millis(500));
    sniffer.signal("-CONT");
    std::thread::sleep(Duration::from_millis(1500));
    sniffer.signal("-INT");
    let output = sniffer.output();
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let captured = outcome["packets"].as_u64().unwrap();
    assert!((1..2000).contains(&captured), "{captured}");
    let findings = outcome["findings"].as_array().unwrap();
    let drops = findings.iter().find(|finding| finding["rule"] == "NET010").unwrap();
    assert!(drops["message"].as_str().unwrap().contains("dropped"), "{drops}");
    // A request whose response was lost is not a fault.
    let is_fault = |it: &serde_json::Value| it["severity"] == "error" && it["verdict"] == "fail";
    assert!(!findings.iter().any(is_fault), "{findings:?}");
}

#[test]
fn an_interface_that_goes_down_is_evidence() {
    let gamewire = env!("CARGO_BIN_EXE_gamewire");
    let script = format!(
        "mount -t sysfs sys /sys && ip link add va type veth peer name vb || {{ echo no veth >&2; exit 77; }}
        ip link set va up; ip link set vb up
        {gamewire} check -i va --no-config --format json --duration 5s &
        sleep 1.5; ip link set va down; sleep 1; ip link set va up; wait"
    );
    let ran = Command::new("unshare").args(["-nm", "sh", "-c", &script]).output();
    let Ok(ran) = ran.map_err(|error| skipped("veth", &format!("unshare: {error}"))) else {
        return;
    };
    let said = String::from_utf8_lossy(&ran.stderr);
    if !said.contains("listening on") {
        return skipped("veth", said.trim());
    }
    assert!(said.contains("va: the interface was down; what came meanwhile is missing"), "{said}");
    assert!(said.contains("the interface was down once"), "{said}");
    let outcome: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let findings = outcome["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["rule"] == "NET010"), "{findings:?}");
}

#[test]
fn a_summary_shows_the_current_state() {
    let server = Server::start();
    let args = ["summary", "--format", "json", "--interval", "1s", "--duration", "4s"];
    let Some(sniffer) = Sniffer::start(server.port, &args) else { return };
    let socket = client();
    for _ in 0..30 {
        query(&socket, server.port);
        std::thread::sleep(Duration::from_millis(100));
    }
    let output = sniffer.child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    let answered = |line: &serde_json::Value| line["servers"][0]["answered"].as_u64();
    let counts: Vec<_> = lines.iter().map(answered).collect();
    assert!(counts.is_sorted(), "{counts:?}");
    // Open flows count.
    assert!(counts[counts.len() - 2] > Some(0), "{counts:?}");
    assert_eq!(counts.last(), Some(&Some(30)));
}

#[test]
fn reports_on_attacks_at_intervals_are_about_their_own_packets() {
    let server = Server::start();
    let args = ["abuse", "--format", "json", "--interval", "5s", "--duration", "11s"];
    let Some(sniffer) = Sniffer::start(server.port, &args) else { return };
    let socket = client();
    for _ in 0..30 {
        query(&socket, server.port);
        std::thread::sleep(Duration::from_millis(300));
    }
    let output = sniffer.child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let seen = lines.lines().map(|line| {
        let report: serde_json::Value = serde_json::from_str(line).unwrap();
        ["packets", "read"].map(|name| report["seen"][name].as_u64().unwrap())
    });
    let seen = Vec::from_iter(seen);
    assert!(seen.len() >= 3, "{lines}");
    // All are queries and their answers.
    assert!(seen.iter().all(|[packets, read]| packets == read), "{seen:?}");
    assert_eq!(seen.iter().map(|[packets, _]| packets).sum::<u64>(), 60, "{seen:?}");
}

#[test]
fn findings_show_as_they_happen() {
    let server = Server::start();
    let Some(mut sniffer) = Sniffer::start(server.port, &["check", "--color", "never"]) else {
        return;
    };
    // A split header sent to a server, which has no response.
    let attack = b"\xFE\xFF\xFF\xFF\x01\0\0\0\x02\0\xE0\x04\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF";
    let socket = client();
    query(&socket, server.port);
    socket.send_to(attack, ("127.0.0.1", server.port)).unwrap();
    let mut out = BufReader::new(sniffer.child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("SEC001") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended without the finding");
    }
    sniffer.signal("-TERM");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("RULE") && rest.contains("SEC001"), "{rest}");
}

#[test]
fn third_party_clients_are_decoded() {
    let server = Server::start();
    let address = format!("127.0.0.1:{}", server.port);
    let python = format!(
        "import a2s; a = ('127.0.0.1', {}); a2s.info(a); a2s.players(a); a2s.rules(a)",
        server.port
    );
    let clients: [(&str, Vec<&str>); 2] =
        [("quakestat", vec!["-a2s", &address]), ("python3", vec!["-c", &python])];
    for (program, arguments) in clients {
        let args = ["dissect", "--format", "json"];
        let Some(sniffer) = Sniffer::start(server.port, &args) else { return };
        let ran = Command::new(program).args(&arguments).output();
        if !ran.is_ok_and(|ran| ran.status.success()) {
            skipped("clients", &format!("{program} cannot ask here"));
            sniffer.signal("-INT");
            sniffer.output();
            continue;
        }
        std::thread::sleep(Duration::from_millis(500));
        sniffer.signal("-INT");
        let output = sniffer.output();
        let lines = String::from_utf8(output.stdout).unwrap();
        assert!(lines.contains("\"info_response\""), "{program}: {lines}");
    }
}

/// The reader of the output is slow, so packets wait in the queue: the first signal reports their number,
/// the second discards them, and earlier results are written.
#[test]
fn a_second_signal_discards_unread_packets() {
    let server = Server::start();
    let Some(mut sniffer) = Sniffer::start(server.port, &["dissect", "-x", "--full"]) else {
        return;
    };
    let socket = client();
    (0..10_000).for_each(|_| query(&socket, server.port));
    std::thread::sleep(Duration::from_millis(500));
    sniffer.signal("-INT");
    std::thread::sleep(Duration::from_millis(300));
    // Read until the signal is noticed.
    let mut out = sniffer.child.stdout.take().unwrap();
    let (mut some, mut said) = (Vec::new(), String::new());
    while !said.contains("still unread") {
        let mut more = vec![0; 50_000];
        out.read_exact(&mut more).expect("it is not over before it was noticed");
        some.extend(more);
        said = sniffer.said.recv_timeout(Duration::from_millis(20)).unwrap_or_default();
    }
    assert!(said.contains("Ctrl-C again discards them"), "{said}");
    sniffer.signal("-INT");
    std::thread::sleep(Duration::from_millis(300));
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).unwrap();
    let said = sniffer.says("captured");
    assert!(said.contains(" 20000 packets captured") && said.contains("left unread"), "{said}");
    assert_eq!(sniffer.output().status.code(), Some(0));
    some.extend(rest);
    let messages = String::from_utf8_lossy(&some).matches("info_re").count();
    assert!(messages > 100 && messages < 19_000, "{messages}");
}

/// The screen of `view` starts when the process is confined already.
#[test]
fn view_draws_and_reads_keys_while_it_captures() {
    let size = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let server = Server::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    command.args(["view", "-i", "lo", "--no-config"]);
    command.args(only(&format!("udp port {}", server.port)));
    command.stdin(terminal.slave.try_clone().unwrap()).stdout(terminal.slave);
    command.stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    drop(command);
    let (mut screen, mut shown) = (File::from(terminal.master), String::new());
    let socket = client();
    let mut buffer = [0; 4096];
    // Reading from a terminal without a writer is an error, not the end of a file.
    while let Ok(read @ 1..) = screen.read(&mut buffer) {
        let is_new = !shown.contains("live, ");
        shown.push_str(&String::from_utf8_lossy(&buffer[..read]));
        if is_new && shown.contains("live, ") {
            query(&socket, server.port);
            screen.write_all(b"q").unwrap();
        }
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    if said.contains("no permission (") || said.contains("not installed") {
        return skipped("live", &said);
    }
    assert!(output.status.success() && shown.contains("live, "), "{shown} {said}");
}

/// The output is not read, so the first signals are not noticed: the third one ends it nevertheless.
#[test]
fn a_third_signal_ends_it_while_it_is_blocked() {
    let server = Server::start();
    let Some(sniffer) = Sniffer::start(server.port, &["dissect", "-x"]) else { return };
    let socket = client();
    (0..2_000).for_each(|_| query(&socket, server.port));
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(500));
        sniffer.signal("-INT");
    }
    let Sniffer { mut child, .. } = sniffer;
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
