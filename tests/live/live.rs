//! Live capture on the loopback interface. Tests are skipped without permission to capture, without libpcap,
//! or without a required client.

use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::support::skip::skipped;
use nix::pty::{Winsize, openpty};

const INFO_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";

const INFO: &[u8] =
    b"\xFF\xFF\xFF\xFFI\x11Loop\0de_dust2\0cstrike\0Counter-Strike\0\x0A\0\x05\x10\0dl\0\x011.0\0";

const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";

const PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFD\x01\0Ann\0\x07\0\0\0\0\0\x80\x3F";

const RULES: &[u8] = b"\xFF\xFF\xFF\xFFE\x01\0sv_lan\x001\0";

/// A game server that responds until it is dropped.
struct Server {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    fn start() -> Server {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let port = socket.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 2048];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
                let asks = bytes[5..length].starts_with(b"\xFF\xFF\xFF\xFF") || length < 9;
                let answer = match bytes[4] {
                    b'T' => INFO,
                    b'U' | b'V' | b'W' if asks => CHALLENGE,
                    b'U' => PLAYERS,
                    b'V' => RULES,
                    _ => continue,
                };
                socket.send_to(answer, from).unwrap();
            }
        });
        Server { port, stop, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// A running gamewire, with the lines of its standard error.
struct Sniffer {
    child: Child,
    said: mpsc::Receiver<String>,
}

impl Sniffer {
    /// Starts it and waits until it listens. `None` if that is not possible here.
    fn start(port: u16, args: &[&str]) -> Option<Sniffer> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gamewire"))
            .args(args)
            .args(["-i", "lo", "-f", &format!("udp port {port}"), "--no-config"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, said) = mpsc::channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        let first = said.recv_timeout(Duration::from_secs(20)).expect("a first line");
        if first.contains("no permission (") || first.contains("not installed") {
            skipped("live", &first);
            child.wait().unwrap();
            return None;
        }
        assert!(first.contains("listening on lo; Ctrl-C ends it; "), "{first}");
        assert!(first.contains("; confined by ") || first.contains("; not confined: "), "{first}");
        Some(Sniffer { child, said })
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Stops the process, and waits until it is stopped.
    fn stop(&self) {
        self.signal("-STOP");
        let status = format!("/proc/{}/status", self.child.id());
        let until = Instant::now() + Duration::from_secs(20);
        while !std::fs::read_to_string(&status).unwrap().contains("State:\tT") {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for a line with this text.
    fn says(&self, what: &str) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.said.recv_timeout(left).unwrap_or_else(|_| panic!("never said {what}"));
            if line.contains(what) {
                return line;
            }
        }
    }

    /// Its output, when it has ended.
    fn output(self) -> Output {
        self.child.wait_with_output().unwrap()
    }
}

fn query(socket: &UdpSocket, port: u16) {
    socket.send_to(INFO_REQUEST, ("127.0.0.1", port)).unwrap();
    let mut answer = [0; 2048];
    let (length, _) = socket.recv_from(&mut answer).unwrap();
    assert_eq!(&answer[..length], INFO);
}

fn client() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

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

/// A folder that belongs to root, for tests of what root gives up. `None`: this is not root.
fn folder_of_root(name: &str, mode: u32) -> Option<PathBuf> {
    if !nix::unistd::geteuid().is_root() {
        skipped("root", "only root has privileges to drop");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("gamewire-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
    Some(folder)
}

/// Makes the user, as whom captures of tests run, the owner of a folder.
fn give_to_nobody(folder: &Path) {
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    std::os::unix::fs::chown(folder, Some(nobody.uid.as_raw()), Some(nobody.gid.as_raw())).unwrap();
}

/// Also if it stays root, which needs no capability for its own files.
#[test]
fn root_gives_up_all_privileges_before_it_rotates_files() {
    for user in ["nobody", "root"] {
        let Some(folder) = folder_of_root(&format!("rotate-{user}"), 0o755) else { return };
        if user == "nobody" {
            give_to_nobody(&folder);
        }
        let (kept, baseline) = (folder.join("kept.pcapng"), folder.join("baseline.json"));
        let server = Server::start();
        let [kept, baseline] = [&kept, &baseline].map(|path| path.to_str().unwrap());
        let args = ["check", "-Z", user, "-w", kept, "-G", "1", "--metrics", "0"];
        let args = [&args[..], &["--write-baseline", baseline]].concat();
        let Some(sniffer) = Sniffer::start(server.port, &args) else {
            return std::fs::remove_dir_all(folder).unwrap();
        };
        metrics_of(&sniffer);
        has_no_privileges(&sniffer, user);
        for _ in 0..3 {
            query(&client(), server.port);
            std::thread::sleep(Duration::from_millis(1100));
        }
        sniffer.signal("-INT");
        let output = sniffer.output();
        assert!(output.status.success(), "{output:?}");
        let made = std::fs::read_dir(&folder).unwrap().count();
        assert!(made >= 3, "files in turn, and a baseline: {made}");
        assert!(Path::new(baseline).exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// All threads of a capture have the rights of a user, and no others.
fn has_no_privileges(sniffer: &Sniffer, user: &str) {
    let mut threads = 0;
    for task in std::fs::read_dir(format!("/proc/{}/task", sniffer.child.id())).unwrap() {
        threads += 1;
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let line = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().to_owned()
        };
        assert_eq!(line("NoNewPrivs"), "1");
        for set in ["CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"] {
            assert_eq!(u64::from_str_radix(&line(set), 16).unwrap(), 0, "{user}: {status}");
        }
        assert_eq!(line("Uid") == "0", user == "root");
    }
    assert!(threads > 1, "those of the capture and the metrics");
}

/// Each case needs a file that the unprivileged user cannot create: that is an error before the
/// capture, and nothing is created or truncated.
#[test]
fn what_the_unprivileged_user_cannot_write_is_refused_at_the_start() {
    let Some(folder) = folder_of_root("refused", 0o755) else { return };
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (kept, baseline, summary) = (path("kept.pcap"), path("known.json"), path("summary.md"));
    std::fs::write(&kept, "recorded").unwrap();
    std::fs::create_dir(folder.join("reports")).unwrap();
    let reports = path("reports");
    let reporter = ["--reporter", "Example <abuse@example.net>"];
    let cases = [
        vec!["check", "-w", &kept, "-C", "100", "-W", "5"],
        vec!["check", "-w", &kept, "-G", "60"],
        vec!["check", "-w", &kept, "--write-baseline", &baseline],
        vec!["check", "--format", "github", "--summary", &summary],
        [&["abuse", "--report", &reports][..], &reporter].concat(),
    ];
    for case in cases {
        let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
            .args(&case)
            .args(["-Z", "nobody", "-i", "lo", "--no-config", "--duration", "1ms"])
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        if said.contains("no permission (") || said.contains("not installed") {
            skipped("live", &said);
            break;
        }
        assert_eq!(ran.status.code(), Some(2), "{case:?}: {said}");
        let why = "it belongs to root, and once the interface is open, gamewire has only the rights of nobody";
        assert!(said.contains("cannot create files in '/") && said.contains(why), "{said}");
        assert!(said.contains("; use -Z root, or another directory"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let mut names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["kept.pcap", "reports"], "{case:?}");
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "recorded", "{case:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// In a sticky folder, only the owner of a file may remove it: it is the unprivileged user's.
#[test]
fn rotation_removes_the_first_file_in_a_sticky_folder() {
    let Some(folder) = folder_of_root("sticky", 0o1777) else { return };
    let kept = folder.join("kept.pcap");
    let server = Server::start();
    let args = ["check", "-Z", "nobody", "-w", kept.to_str().unwrap(), "-G", "1", "-W", "1"];
    if let Some(sniffer) = Sniffer::start(server.port, &args) {
        let names = || {
            let names = std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name());
            names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        let until = Instant::now() + Duration::from_secs(20);
        while !matches!(&names()[..], [only] if only.starts_with("kept_00003_")) {
            assert!(Instant::now() < until, "{:?}", names());
            query(&client(), server.port);
            std::thread::sleep(Duration::from_millis(300));
        }
        sniffer.signal("-INT");
        let output = sniffer.output();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(names().len(), 1, "{:?}", names());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A single file can be anywhere; whether it could be followed by another one is told at the start.
#[test]
fn a_single_file_in_a_folder_of_root_belongs_to_the_unprivileged_user() {
    let Some(folder) = folder_of_root("single", 0o755) else { return };
    let kept = folder.join("kept.pcap");
    let server = Server::start();
    let args = ["check", "-Z", "nobody", "-w", kept.to_str().unwrap()];
    if let Some(sniffer) = Sniffer::start(server.port, &args) {
        let said = sniffer.says("note: SIGHUP cannot start a new file");
        assert!(said.contains("it belongs to root") && said.contains("use -Z root"), "{said}");
        query(&client(), server.port);
        std::thread::sleep(Duration::from_millis(500));
        sniffer.signal("-INT");
        assert!(sniffer.output().status.success());
        let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
        let about = std::fs::metadata(&kept).unwrap();
        assert_eq!((about.uid(), about.gid()), (nobody.uid.as_raw(), nobody.gid.as_raw()));
        assert!(about.len() > 24, "two packets");
    }
    std::fs::remove_dir_all(folder).unwrap();
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
    command.args(["view", "-i", "lo", "-f", &format!("udp port {}", server.port), "--no-config"]);
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
fn metrics_of(sniffer: &Sniffer) -> SocketAddr {
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
    // Responses without requests.
    for _ in 0..30 {
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
