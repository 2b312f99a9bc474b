//! Recording a command through relays.

mod peers;

use std::io::Read;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use gamewire::capture::{self, Event, LinkType};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrIn};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::gamewire;
use crate::support::project::Project;
use peers::{Answer, GameServer};

/// Names the client that this program is to be.
const CLIENT: &str = "GAMEWIRE_TEST_CLIENT";

/// The command that other tests record: this program runs itself.
#[test]
#[ignore = "the client of other tests"]
fn as_client() {
    if let Ok(name) = std::env::var(CLIENT) {
        peers::client(&name);
    }
}

/// Runs the program in a project, with a client as its command.
fn with_client(project: &Project, args: &[&str], client: &str) -> Output {
    let this = std::env::current_exe().expect("a program");
    let this = this.to_string_lossy();
    let command = ["--", &this, "record::as_client", "--exact", "--ignored"];
    let mut program = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    let program = program.args(args).args(command).env(CLIENT, client);
    // A recording that is not kept is here in the meantime.
    let program = program.env("TMPDIR", project.path("")).current_dir(project.path(""));
    program.output().expect("the program runs")
}

/// Runs the program in a project, with a line of a shell as its command.
fn with_shell(project: &Project, args: &[&str], line: &str) -> Output {
    project.spawn("", &[args, &["--", "sh", "-c", line]].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A packet that was recorded.
struct Recorded {
    from: SocketAddr,
    to: SocketAddr,
    payload: Vec<u8>,
    /// SYN, FIN, RST, ACK, and the sequence number.
    tcp: Option<([bool; 4], u32)>,
}

/// The packets of a capture.
fn packets(file: &str) -> Vec<Recorded> {
    let mut capture = capture::open(Path::new(file)).expect("a capture");
    let mut packets = Vec::new();
    while let Some(event) = capture.next() {
        let Event::Packet(packet) = event else { panic!("a notice") };
        assert_eq!(packet.link, LinkType::RAW);
        let sliced = SlicedPacket::from_ip(packet.data).expect("IP");
        let hosts: [IpAddr; 2] = match sliced.net.expect("IP") {
            NetSlice::Ipv4(ip) => {
                [ip.header().source_addr().into(), ip.header().destination_addr().into()]
            }
            NetSlice::Ipv6(ip) => {
                [ip.header().source_addr().into(), ip.header().destination_addr().into()]
            }
            NetSlice::Arp(_) => panic!("ARP"),
        };
        let (ports, payload, tcp) = match sliced.transport.expect("a transport") {
            TransportSlice::Udp(it) => {
                ([it.source_port(), it.destination_port()], it.payload().to_owned(), None)
            }
            TransportSlice::Tcp(it) => {
                let flags = [it.syn(), it.fin(), it.rst(), it.ack()];
                let tcp = Some((flags, it.sequence_number()));
                ([it.source_port(), it.destination_port()], it.payload().to_owned(), tcp)
            }
            _ => panic!("UDP or TCP"),
        };
        let [from, to]: [SocketAddr; 2] =
            [(hosts[0], ports[0]).into(), (hosts[1], ports[1]).into()];
        packets.push(Recorded { from, to, payload, tcp });
    }
    packets
}

/// Checks a recording, also its checksums.
fn checked(file: &str) -> Value {
    let options = ["check", "--no-config", "--complete", "--verify-checksums", "--format", "json"];
    let run = gamewire(options.iter().chain([&file]));
    serde_json::from_str(&run.out).expect("JSON")
}

#[test]
fn a_command_is_recorded_as_client_and_server_mean_it() {
    let server = GameServer::start("127.0.0.1:0", Answer::Good);
    let project = Project::new("record-udp");
    let relay = format!("127.0.0.1:0={}", server.address);
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "info");
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(said.ends_with("gamewire: wrote 4 packets to x.pcapng\n"), "{said}");
    let recorded = packets(&project.path("x.pcapng"));
    let [request, challenge, second, answer] = &recorded[..] else { panic!("4 packets") };
    for asked in [request, second] {
        assert_eq!((asked.from, asked.to), (request.from, server.address));
    }
    for said in [challenge, answer] {
        assert_eq!((said.from, said.to), (server.address, request.from));
    }
    // The server was sent what the client said, and nothing else; by a socket of the relay.
    let asked = server.asked();
    assert_eq!(Vec::from_iter(asked.iter().map(|it| &it.1)), [&request.payload, &second.payload]);
    assert!(asked.iter().all(|(from, _)| *from == asked[0].0 && *from != request.from));
    let verdict = checked(&project.path("x.pcapng"));
    assert_eq!((&verdict["verdict"], &verdict["messages"]), (&"pass".into(), &4.into()));
    assert_eq!(project.names(), ["x.pcapng"]);
}

#[test]
fn a_command_is_checked_and_its_output_is_not_that_of_check() {
    let server = GameServer::start("127.0.0.1:0", Answer::Good);
    let project = Project::new("record-check");
    let relay = format!("udp:127.0.0.1:0={}", server.address);
    let check = ["check", "--no-config", "--complete", "--require-traffic", "--format", "json"];
    let run = with_client(&project, &[&check[..], &["--relay", &relay]].concat(), "info");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let verdict: Value = serde_json::from_slice(&run.stdout).expect("JSON alone");
    assert_eq!(verdict["captures"], serde_json::json!(["recording"]));
    assert_eq!((&verdict["verdict"], &verdict["messages"]), (&"pass".into(), &4.into()));
    assert!(text(&run.stderr).contains("running 1 test"), "the client's output");
    assert!(project.names().is_empty());
    // The same with a file that is kept.
    let kept = [&check[..], &["-w", "x.pcapng", "--relay", &relay]].concat();
    let run = with_client(&project, &kept, "info");
    let verdict: Value = serde_json::from_slice(&run.stdout).expect("JSON alone");
    assert_eq!(verdict["captures"], serde_json::json!(["x.pcapng"]));
    assert_eq!((run.status.code(), packets(&project.path("x.pcapng")).len()), (Some(0), 4));
}

/// A text with a 0 for each number.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }) {
        if !(c == '0' && shown.ends_with('0')) {
            shown.push(c);
        }
    }
    shown
}

#[test]
fn the_page_shows_real_output() {
    if Command::new("python3").arg("--version").output().is_err() {
        return crate::support::skip::skipped("python", "there is no python3 here");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/record.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let (_, client) = page.split_once("```python\n").expect("a client");
    let client = client.split("```").next().unwrap_or_default();
    let server = GameServer::start("127.0.0.1:0", Answer::Good);
    let project = Project::new("record-page");
    project.write("a2s.py", client);
    let relay = format!("127.0.0.1:0={}", server.address);
    let mut shown = String::new();
    for line in [
        "record -w a2s.pcapng --relay RELAY -- python3 a2s.py",
        "dissect a2s.pcapng",
        "check --complete --relay RELAY -- python3 a2s.py",
    ] {
        let args = line.split(' ').map(|arg| if arg == "RELAY" { &relay } else { arg });
        let run = project.spawn("", &Vec::from_iter(args));
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        shown += &(text(&run.stderr) + &text(&run.stdout));
    }
    let (page, shown) = (without_numbers(&page), without_numbers(&shown));
    let lines = |text: &str| Vec::from_iter(text.lines().map(str::trim_end).map(str::to_owned));
    let page = lines(&page);
    for line in lines(&shown) {
        assert!(page.contains(&line), "the page does not show:\n{line}");
    }
}

#[test]
fn a_request_without_a_response_fails() {
    let server = GameServer::start("127.0.0.1:0", Answer::None);
    let project = Project::new("record-silent");
    let relay = format!("127.0.0.1:0={}", server.address);
    let args = ["check", "--no-config", "--complete", "--fail-on", "warning", "--linger", "50ms"];
    let run = with_client(&project, &[&args[..], &["--relay", &relay]].concat(), "unanswered");
    let said = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{said}{}", text(&run.stderr));
    assert!(said.starts_with("FAIL  recording: ") && said.contains("0 of 1 request"), "{said}");
    assert!(said.ends_with("gamewire diagnose FILE (-w FILE keeps the recording)\n"), "{said}");
}

#[test]
fn an_answer_from_another_port_is_recorded_as_such() {
    let server = GameServer::start("127.0.0.1:0", Answer::OtherPort);
    let project = Project::new("record-port");
    let relay = format!("127.0.0.1:0={}", server.address);
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "info");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let recorded = packets(&project.path("x.pcapng"));
    let ends = recorded.last().map(|packet| (packet.from, packet.to));
    assert_eq!((recorded.len(), ends), (4, Some((server.other, recorded[0].from))));
}

#[cfg(target_os = "linux")]
#[test]
fn what_another_host_sends_is_not_forwarded() {
    let server = GameServer::start("127.0.0.1:0", Answer::OtherAddress);
    let project = Project::new("record-stranger");
    let relay = format!("127.0.0.1:0={}", server.address);
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "info");
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: 1 datagram from other hosts than TARGET"), "{said}");
    assert_eq!(packets(&project.path("x.pcapng")).len(), 4);
}

#[test]
fn two_clients_at_once_are_two_flows() {
    let server = GameServer::start("127.0.0.1:0", Answer::Good);
    let project = Project::new("record-two");
    let relay = format!("127.0.0.1:0={}", server.address);
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "two");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let verdict = checked(&project.path("x.pcapng"));
    let counts = ["verdict", "flows", "messages"].map(|name| &verdict[name]);
    assert_eq!(counts, [&"pass".into(), &Value::from(2), &Value::from(8)]);
    let asked = server.asked();
    assert_ne!(asked[0].0, asked[1].0, "the server can tell clients apart");
}

#[test]
fn ipv6_is_recorded_as_ipv6() {
    if UdpSocket::bind("[::1]:0").is_err() {
        return crate::support::skip::skipped("ipv6", "there is no IPv6 here");
    }
    let server = GameServer::start("[::1]:0", Answer::Good);
    let project = Project::new("record-ipv6");
    let relay = format!("[::1]:0={}", server.address);
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "info");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(packets(&project.path("x.pcapng")).iter().all(|packet| packet.from.is_ipv6()));
    assert_eq!(checked(&project.path("x.pcapng"))["verdict"], "pass");
}

#[test]
fn a_list_over_tcp_is_recorded_with_handshake_and_end() {
    let (master, thread) = peers::master();
    let project = Project::new("record-tcp");
    let relay = format!("tcp:127.0.0.1:0={master}");
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "list");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    thread.join().expect("the master ends");
    let recorded = packets(&project.path("x.pcapng"));
    let flags = |packet: &Recorded| packet.tcp.expect("TCP").0;
    let begins = Vec::from_iter(recorded.iter().take(3).map(flags));
    let [syn, accepts, ack] =
        [[true, false, false, false], [true, false, false, true], [false, false, false, true]];
    assert_eq!(begins, [syn, accepts, ack]);
    assert_eq!((recorded[0].to, recorded[1].from), (master, master));
    assert_eq!(recorded.iter().filter(|packet| flags(packet)[1]).count(), 2, "FIN of both");
    assert!(recorded.iter().all(|packet| packet.payload.len() <= 1460));
    let of_master = recorded.iter().filter(|packet| packet.from == master);
    let mut next = None;
    let mut said = Vec::new();
    for packet in of_master {
        let (flags, sequence) = packet.tcp.expect("TCP");
        assert_eq!(next.unwrap_or(sequence), sequence, "no gap");
        let takes = packet.payload.len() as u32 + u32::from(flags[0]) + u32::from(flags[1]);
        next = Some(sequence.wrapping_add(takes));
        said.extend_from_slice(&packet.payload);
    }
    assert!(said.ends_with(&peers::list()));
    let verdict = checked(&project.path("x.pcapng"));
    assert_eq!((&verdict["verdict"], &verdict["messages"]), (&"pass".into(), &4.into()));
}

#[test]
fn a_refused_connection_is_reset_and_recorded() {
    // Its port is taken, but nothing listens there.
    let (family, flags) = (AddressFamily::Inet, SockFlag::empty());
    let closed = socket::socket(family, SockType::Stream, flags, None).expect("a socket");
    socket::bind(closed.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).expect("a free port");
    let port = socket::getsockname::<SockaddrIn>(closed.as_raw_fd()).expect("a port").port();
    let project = Project::new("record-refused");
    let relay = format!("tcp:127.0.0.1:0=127.0.0.1:{port}");
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "refused");
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    let recorded = packets(&project.path("x.pcapng"));
    let flags = Vec::from_iter(recorded.iter().map(|packet| packet.tcp.expect("TCP").0));
    assert_eq!(flags, [[true, false, false, false], [false, false, true, true]]);
}

#[test]
fn a_reset_is_forwarded_and_recorded() {
    let (server, thread) = peers::resetting();
    let project = Project::new("record-reset");
    let relay = format!("tcp:127.0.0.1:0={server}");
    let run = with_client(&project, &["record", "-w", "x.pcapng", "--relay", &relay], "reset");
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    thread.join().expect("the server ends");
    let recorded = packets(&project.path("x.pcapng"));
    let last = recorded.last().expect("a packet");
    let is_reset = |packet: &Recorded| packet.tcp.expect("TCP").0 == [false, false, true, true];
    assert!(last.from == server && is_reset(last));
    assert_eq!(recorded.iter().filter(|packet| is_reset(packet)).count(), 1);
}

/// A relay to a server that is not there.
const NOBODY: [&str; 2] = ["--relay", "127.0.0.1:0=127.0.0.1:9"];

#[test]
fn the_exit_code_is_that_of_the_command_unless_the_verdict_fails() {
    let project = Project::new("record-codes");
    let record = [&["record", "-w", "x.pcapng"], &NOBODY[..]].concat();
    for (line, code) in [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143)] {
        let run = with_shell(&project, &record, line);
        let said = text(&run.stderr);
        assert_eq!(run.status.code(), Some(code), "{line}: {said}");
        assert!(said.contains("warning: nothing came to a relay"), "{said}");
        assert_eq!(packets(&project.path("x.pcapng")).len(), 0);
    }
    let check = [&["check", "--no-config"], &NOBODY[..]].concat();
    let require = [&check[..], &["--require-traffic"]].concat();
    for (args, line, code) in [
        (&check, "exit 0", 0),
        (&check, "exit 3", 3),
        (&require, "exit 0", 1),
        (&require, "exit 3", 1),
    ] {
        let run = with_shell(&project, args, line);
        assert_eq!(run.status.code(), Some(code), "{args:?} {line}: {}", text(&run.stderr));
    }
}

#[test]
fn a_failure_of_its_own_is_two_and_leaves_no_file() {
    let project = Project::new("record-failures");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let taken = format!("{}=127.0.0.1:9", socket.local_addr().unwrap());
    for (args, command, says) in [
        (&NOBODY[..], "no-such-program", "cannot run no-such-program: there is no such program"),
        (&["--relay", "0.0.0.0:0=127.0.0.1:9"], "true", "other hosts can send to 0.0.0.0:0"),
        (&["--relay", "127.0.0.1:9"], "true", "expected LISTEN=TARGET"),
        (&["--relay", &taken], "true", "cannot listen at udp 127.0.0.1:"),
        (&["--relay", "127.0.0.1:48211=127.0.0.1:48211"], "true", "name the server itself"),
        (&[], "true", "--relay <LISTEN=TARGET>"),
        (&["--linger", "1min", NOBODY[0], NOBODY[1]], "true", "at most 5s"),
    ] {
        let all = [&["record", "-w", "x.pcapng"], args, &["--", command]].concat();
        let run = project.spawn("", &all);
        let said = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{all:?}: {said}");
        assert!(said.contains(says) && said.starts_with("gamewire: "), "{said}");
        assert!(project.names().is_empty(), "{all:?}: {:?}", project.names());
    }
    for (args, says) in [
        (&["record", "-w", "x.pcapng", NOBODY[0], NOBODY[1]][..], "<COMMAND>"),
        (&["record", "-w", "-", NOBODY[0], NOBODY[1], "--", "true"], "name a file with --write"),
        (&["check", NOBODY[0], NOBODY[1]], "<COMMAND>"),
        (&["check", NOBODY[0], NOBODY[1], "x.pcap", "--", "true"], "cannot be used with"),
        // Without a relay, what follows is a file.
        (&["check", "--", "true"], "true: no such file"),
        (
            &["check", "--config", "none.toml", NOBODY[0], NOBODY[1], "--", "touch", "ran"],
            "none.toml",
        ),
    ] {
        let run = project.spawn("", args);
        let said = text(&run.stderr);
        assert!(run.status.code() == Some(2) && said.contains(says), "{args:?}: {said}");
    }
    assert!(project.names().is_empty(), "no command was run");
}

#[test]
fn listening_for_other_hosts_must_be_allowed() {
    let project = Project::new("record-remote");
    let args = ["record", "-w", "x.pcapng", "--allow-remote", "--relay", "0.0.0.0:0=127.0.0.1:9"];
    assert_eq!(with_shell(&project, &args, "true").status.code(), Some(0));
}

#[test]
fn chosen_ports_are_printed_and_in_the_environment() {
    let project = Project::new("record-ports");
    let args = [
        "record",
        "-w",
        "x.pcapng",
        "--relay",
        "127.0.0.1:0=127.0.0.1:9",
        "--relay",
        "tcp:127.0.0.1:0=127.0.0.1:10",
    ];
    let run = with_shell(&project, &args, "echo $GAMEWIRE_RELAY_1 $GAMEWIRE_RELAY_2");
    let (shown, said) = (text(&run.stdout), text(&run.stderr));
    let (one, two) = shown.trim_end().split_once(' ').expect("two addresses");
    assert!(one.parse::<SocketAddr>().is_ok_and(|one| one.port() > 0), "{one}");
    let expected = format!(
        "gamewire: relay 1: udp {one} -> 127.0.0.1:9\ngamewire: relay 2: tcp {two} -> 127.0.0.1:10\n"
    );
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn a_signal_ends_the_command_and_the_recording_is_kept() {
    let project = Project::new("record-signal");
    let line = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done";
    let mut program = Command::new(env!("CARGO_BIN_EXE_gamewire"));
    let program = program.args(["record", "-w", "x.pcapng"]).args(NOBODY);
    let program = program.args(["--", "sh", "-c", line]).current_dir(project.path(""));
    let mut run = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut ready = [0; 6];
    run.stdout.as_mut().expect("a pipe").read_exact(&mut ready).expect("the command runs");
    kill(Pid::from_raw(run.id().try_into().unwrap()), Signal::SIGTERM).expect("it is signalled");
    let run = run.wait_with_output().expect("it ends");
    assert_eq!(run.status.code(), Some(7), "{}", text(&run.stderr));
    assert_eq!(packets(&project.path("x.pcapng")).len(), 0);
}
