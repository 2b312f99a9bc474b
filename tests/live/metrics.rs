//! `--metrics`: what is measured during a capture.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::sniffer::{INFO, Server, Sniffer, client, query};

/// The response to a request for metrics.
fn scrape(address: SocketAddr, request: &str) -> String {
    scrape_by(&address.to_string(), address, request)
}

/// The same with another `Host`.
fn scrape_by(host: &str, address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// The address of metrics, from its own message.
pub(crate) fn metrics_of(sniffer: &Sniffer) -> SocketAddr {
    let said = sniffer.says("metrics at");
    let address = said.split("http://").nth(1).and_then(|rest| rest.strip_suffix("/metrics"));
    address.unwrap().parse().unwrap()
}

/// Waits until the metrics have this line.
fn shows(address: SocketAddr, line: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let page = scrape(address, "GET /metrics");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("# EOF\n"), "{page}");
        if page.lines().any(|it| it.starts_with(line)) {
            return;
        }
        assert!(Instant::now() < until, "{line} is not in\n{page}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn metrics_are_served_during_capture() {
    for command in ["summary", "check"] {
        let server = Server::start();
        let args = [command, "--metrics", "0", "--metrics-host", "game.example"];
        let Some(sniffer) = Sniffer::start(server.port, &args) else { return };
        let address = metrics_of(&sniffer);
        assert!(address.ip().is_loopback(), "{address}");
        let socket = client();
        (0..5).for_each(|_| query(&socket, server.port));
        shows(address, "gamewire_answered_requests_total{protocol=\"a2s\"} 5");
        shows(address, "gamewire_messages_total{protocol=\"a2s\",message=\"info_request\"} 5");
        shows(address, "gamewire_packets_total 10");
        shows(address, "gamewire_lost_packets_total{by=\"kernel\"} 0");
        shows(address, "gamewire_servers{protocol=\"a2s\"} 1");
        shows(address, "gamewire_resident_memory_bytes ");
        if command == "check" {
            // Counters without findings exist, so that the first finding is an increase.
            shows(address, "gamewire_findings_total{rule=\"SEC001\",severity=\"warning\"} 0");
            let attack =
                b"\xFE\xFF\xFF\xFF\x01\0\0\0\x02\0\xE0\x04\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF";
            socket.send_to(attack, ("127.0.0.1", server.port)).unwrap();
            shows(address, "gamewire_findings_total{rule=\"SEC001\",severity=\"warning\"} 1");
        }
        let page = scrape_by("evil.example", address, "GET /metrics");
        assert!(page.starts_with("HTTP/1.1 421 ") && !page.contains("gamewire_"), "{page}");
        let page = scrape_by("game.example:80", address, "GET /metrics");
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        assert!(scrape(address, "GET /").starts_with("HTTP/1.1 404 "));
        assert!(scrape(address, "POST /metrics").starts_with("HTTP/1.1 405 "));
        // The initial privileges were dropped.
        if nix::unistd::geteuid().is_root() {
            let status = format!("/proc/{}/status", sniffer.child.id());
            let status = std::fs::read_to_string(status).unwrap();
            assert!(!status.contains("Uid:\t0\t") && status.contains("CapEff:\t0000000000000000"));
        }
        sniffer.signal("-INT");
        assert!(sniffer.output().status.code().is_some_and(|code| code < 2));
        assert!(TcpStream::connect(address).is_err(), "it serves no more");
    }
}

/// Metrics show attacks also without `--interval`, and the report is about the complete capture.
#[test]
fn attacks_are_measured_and_reported_during_capture() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-reports");
    std::fs::remove_dir_all(&folder).ok();
    let to = folder.to_str().unwrap();
    let reporter = "Example <abuse@example.net>";
    let args = ["abuse", "--metrics", "0", "--report", to, "--reporter", reporter];
    let Some(sniffer) = Sniffer::start(port, &args) else { return };
    let address = metrics_of(&sniffer);
    let victim = client();
    // Responses without requests: more than a client asks for.
    for _ in 0..300 {
        server.send_to(INFO, victim.local_addr().unwrap()).unwrap();
    }
    shows(address, "gamewire_attacks{seat=\"victim\"} 1");
    shows(address, "gamewire_attacks{seat=\"flooded_server\"} 0");
    shows(address, "gamewire_attack_packets_per_second{seat=\"victim\",target=\"127.0.0.1:");
    // The attack has ended in metrics, but is in the report.
    shows(address, "gamewire_attacks{seat=\"victim\"} 0");
    sniffer.signal("-INT");
    sniffer.says("wrote 1 report");
    let output = sniffer.output();
    assert_eq!(output.status.code(), Some(0));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("127.0.0.1 gets") && out.matches("packets ").count() == 1, "{out}");
    let files = std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name());
    let mut files: Vec<_> = files.map(|it| it.into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["attack1-127.0.0.1.txt", "attack1-127.0.0.1.xarf.json"]);
    std::fs::remove_dir_all(&folder).ok();
}

#[test]
fn capture_does_not_wait_for_clients_of_metrics() {
    let server = Server::start();
    let args = ["check", "--format", "json", "--metrics", "127.0.0.1:0"];
    let Some(sniffer) = Sniffer::start(server.port, &args) else { return };
    let address = metrics_of(&sniffer);
    let slow: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nA: ").unwrap();
            stream
        })
        .collect();
    let socket = client();
    (0..2_000).for_each(|_| query(&socket, server.port));
    std::thread::sleep(Duration::from_millis(500));
    sniffer.signal("-INT");
    let counts = sniffer.says("captured");
    assert!(counts.contains(" 4000 packets captured, 0 dropped"), "{counts}");
    assert!(counts.contains(" 0 came faster"), "{counts}");
    assert_eq!(sniffer.output().status.code(), Some(0));
    drop(slow);
}
