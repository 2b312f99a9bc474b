//! A program ends when its terminal does, and SIGHUP destroys no recording.

#![cfg(target_os = "linux")]

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::session::{PATIENCE, Session, TerminalKind};
use crate::support::skip::skipped;
use gamewire::capture::{self, Event, Notice};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

const PROGRAM: &str = env!("CARGO_BIN_EXE_gamewire");

/// Waits for something that takes less than a second.
fn until(what: &str, is_it: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_it() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder for recordings, and what is recorded. It is removed on drop.
struct Recording {
    folder: PathBuf,
    to: UdpSocket,
    from: UdpSocket,
}

impl Recording {
    /// `None` if it is not possible to capture here.
    fn new(name: &str) -> Option<Recording> {
        let folder = std::env::temp_dir().join(format!("gamewire-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [to, from] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let recording = Recording { folder, to, from };
        let args = ["dissect", "-i", "lo", "-f", "udp", "--no-config", "--duration", "10ms"];
        let tried = Command::new(PROGRAM).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&tried.stderr);
        if said.contains("no permission (") || said.contains("not installed") {
            skipped("live", &said);
            return None;
        }
        assert!(tried.status.success(), "{said}");
        Some(recording)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The command line that records into this file.
    fn args(&self, command: &[&str], file: Option<&str>) -> Vec<String> {
        let filter = format!("udp port {}", self.to.local_addr().unwrap().port());
        let file = file.map(|name| self.path(name).display().to_string());
        let write = file.iter().flat_map(|file| ["-w", file.as_str()]);
        let args = [PROGRAM].into_iter().chain(command.iter().copied());
        let args =
            args.chain(["-i", "lo", "-f", &filter, "--no-config", "-Z", "root"]).chain(write);
        args.map(str::to_owned).collect()
    }

    fn send(&self, packets: usize) {
        for _ in 0..packets {
            let request = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
            self.from.send_to(request, self.to.local_addr().unwrap()).unwrap();
        }
    }

    /// Waits until this many packets are in a file.
    fn has(&self, name: &str, packets: usize) {
        until(&format!("{packets} packets in {name}"), || self.count(name) == packets);
    }

    /// The number of packets in a file, which is whole.
    fn count(&self, name: &str) -> usize {
        let Ok(mut packets) = capture::open(&self.path(name)) else { return 0 };
        let mut count = 0;
        while let Some(event) = packets.next() {
            match event {
                Event::Packet(_) => count += 1,
                Event::Notice(Notice::Drops { count: 0, .. }) => {}
                Event::Notice(notice) => panic!("{name}: {notice}"),
            }
        }
        count
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// The files of the two formats.
const FILES: [&str; 2] = ["kept.pcap", "kept.pcapng"];

#[test]
fn a_closed_terminal_ends_a_recording_in_order() {
    let Some(recording) = Recording::new("closed") else { return };
    // Started by a shell, which ends with the terminal, or in its place.
    for (shell, file) in [&[][..], &["sh", "-c", "\"$@\"; :", "sh"]].into_iter().zip(FILES) {
        let args = recording.args(&["check", "--all-rules"], Some(file));
        let args: Vec<_> = shell.iter().map(|&it| it.to_owned()).chain(args).collect();
        let log = File::create(recording.path("log")).unwrap();
        let mut session = Session::start(TerminalKind::Controlling, &args, Some(log));
        session.says("listening on lo");
        recording.send(200);
        recording.has(file, 200);
        session.hang_up();
        let ended = session.ends();
        assert!(session.err.contains("lo: 200 packets captured, 0 dropped"), "{}", session.err);
        assert_eq!(recording.count(file), 200);
        let log = fs::read_to_string(recording.path("log")).unwrap();
        assert!(log.contains("200 messages") && log.contains("A2S001"), "{log}");
        if shell.is_empty() {
            assert_eq!(ended.code(), Some(0), "{}", session.err);
        }
    }
}

/// Shells send SIGHUP to their jobs, and the system to the processes of the terminal. The reader of the output is
/// slow: what waits in the queue is not lost.
#[test]
fn several_hangup_signals_are_as_one() {
    let Some(recording) = Recording::new("several") else { return };
    let (mut reader, writer) = std::io::pipe().unwrap();
    let args = recording.args(&["dissect", "-x", "--full"], None);
    let output = File::from(OwnedFd::from(writer));
    let mut session = Session::start(TerminalKind::Controlling, &args, Some(output));
    session.says("listening on lo");
    recording.send(5000);
    session.waits_in("anon_pipe_write");
    for _ in 0..5 {
        session.signal("-HUP");
        std::thread::sleep(Duration::from_millis(200));
    }
    let mut out = String::new();
    reader.read_to_string(&mut out).unwrap();
    assert_eq!(session.ends().code(), Some(0), "{}", session.err);
    // The capture ends with the first signal, and packets that the system has not yet delivered are not captured.
    let captured =
        session.err.split_once("lo: ").unwrap().1.split_once(" packets captured").unwrap().0;
    assert!(captured.parse::<usize>().unwrap() > 500, "{}", session.err);
    assert_eq!(out.matches("info_request").count().to_string(), captured, "{}", session.err);
}

#[test]
fn a_recording_that_ignores_hangups_goes_on_without_its_terminal() {
    let Some(recording) = Recording::new("nohup") else { return };
    for file in FILES {
        let args = recording.args(&["check"], Some(file));
        let args: Vec<_> = ["nohup".to_owned()].into_iter().chain(args).collect();
        let log = File::create(recording.path("log")).unwrap();
        let mut session = Session::start(TerminalKind::Controlling, &args, Some(log));
        session.says("listening on lo");
        recording.send(50);
        recording.has(file, 50);
        session.hang_up();
        std::thread::sleep(Duration::from_millis(500));
        recording.send(50);
        recording.has(file, 100);
        session.signal("-TERM");
        assert_eq!(session.ends().code(), Some(0), "{}", session.err);
        assert_eq!(recording.count(file), 100);
    }
}

/// Without a terminal, and with one that stays open.
fn each_recording(name: &str, test: impl Fn(&Recording, &mut Session, &str)) {
    let Some(recording) = Recording::new(name) else { return };
    for (kind, file) in [TerminalKind::None, TerminalKind::Controlling].into_iter().zip(FILES) {
        let args = recording.args(&["check"], Some(file));
        let mut session = Session::start(kind, &args, None);
        session.says("listening on lo");
        recording.send(50);
        recording.has(file, 50);
        test(&recording, &mut session, file);
        session.signal("-INT");
        assert_eq!(session.ends().code(), Some(0), "{}", session.err);
        assert!(session.err.contains("lo: 100 packets captured"), "{}", session.err);
    }
}

#[test]
fn a_hangup_signal_without_a_rename_goes_on_in_the_same_file() {
    each_recording("same", |recording, session, file| {
        session.signal("-HUP");
        std::thread::sleep(Duration::from_millis(500));
        recording.send(50);
        recording.has(file, 100);
    });
}

#[test]
fn a_hangup_signal_after_a_rename_starts_a_new_file() {
    each_recording("renamed", |recording, session, file| {
        fs::rename(recording.path(file), recording.path("old")).unwrap();
        if file.ends_with("ng") {
            // Some programs that rename files make the new one, too.
            File::create(recording.path(file)).unwrap();
        }
        session.signal("-HUP");
        let is_begun = || fs::metadata(recording.path(file)).is_ok_and(|it| it.len() > 0);
        until("a new file", is_begun);
        recording.send(50);
        recording.has(file, 50);
        assert_eq!(recording.count("old"), 50);
    });
}

#[test]
fn a_hangup_signal_never_overwrites_a_file() {
    each_recording("occupied", |recording, session, file| {
        fs::rename(recording.path(file), recording.path("old")).unwrap();
        fs::write(recording.path(file), "precious").unwrap();
        session.signal("-HUP");
        session.says("continues");
        assert!(session.err.contains("it is there already"), "{}", session.err);
        recording.send(50);
        recording.has("old", 100);
        assert_eq!(fs::read(recording.path(file)).unwrap(), b"precious");
    });
}

/// A link, also after what it leads to was renamed.
#[test]
fn a_recording_follows_a_symbolic_link() {
    let Some(recording) = Recording::new("link") else { return };
    fs::create_dir(recording.path("elsewhere")).unwrap();
    symlink("elsewhere/kept.pcap", recording.path("link.pcap")).unwrap();
    let args = recording.args(&["check"], Some("link.pcap"));
    let mut session = Session::start(TerminalKind::None, &args, None);
    session.says("listening on lo");
    recording.send(50);
    recording.has("elsewhere/kept.pcap", 50);
    fs::rename(recording.path("elsewhere/kept.pcap"), recording.path("old")).unwrap();
    session.signal("-HUP");
    until("a new file", || recording.path("elsewhere/kept.pcap").exists());
    recording.send(20);
    recording.has("elsewhere/kept.pcap", 20);
    session.signal("-INT");
    assert_eq!(session.ends().code(), Some(0), "{}", session.err);
    assert_eq!(recording.count("old"), 50);
    assert!(recording.path("link.pcap").is_symlink());
}

#[test]
fn a_recording_goes_into_a_fifo_or_a_device() {
    let Some(recording) = Recording::new("streams") else { return };
    mkfifo(&recording.path("fifo"), Mode::S_IRWXU).unwrap();
    symlink("/dev/null", recording.path("null")).unwrap();
    for file in ["fifo", "null"] {
        let args = recording.args(&["check"], Some(file));
        let mut session = Session::start(TerminalKind::None, &args, None);
        let path = recording.path("fifo");
        let reader = (file == "fifo").then(|| std::thread::spawn(move || fs::read(path).unwrap()));
        session.says("listening on lo");
        // It cannot be renamed: this changes nothing.
        session.signal("-HUP");
        recording.send(20);
        std::thread::sleep(Duration::from_millis(500));
        session.signal("-INT");
        assert_eq!(session.ends().code(), Some(0), "{}", session.err);
        if let Some(reader) = reader {
            fs::write(recording.path("read"), reader.join().unwrap()).unwrap();
            assert_eq!(recording.count("read"), 20);
        }
        let kind = fs::metadata(recording.path(file)).unwrap().file_type();
        assert!(kind.is_fifo() || kind.is_char_device());
    }
}

/// They are opened when the process is confined already.
#[test]
fn what_is_written_at_the_end_goes_where_its_path_leads() {
    let Some(recording) = Recording::new("later") else { return };
    fs::create_dir(recording.path("elsewhere")).unwrap();
    symlink("elsewhere/known", recording.path("link")).unwrap();
    mkfifo(&recording.path("fifo"), Mode::S_IRWXU).unwrap();
    let (pipe, writer) = std::io::pipe().unwrap();
    let pipe = File::from(OwnedFd::from(pipe));
    let writer = File::from(OwnedFd::from(writer));
    let places =
        ["link", "link", "fifo", "/dev/fd/1"].into_iter().zip([None, None, None, Some(writer)]);
    let mut confined = Vec::new();
    for (place, output) in places {
        let path = recording.path(place);
        let args = recording.args(&["check", "--write-baseline", path.to_str().unwrap()], None);
        let reads_fifo = path.clone();
        let reader =
            (place == "fifo").then(|| std::thread::spawn(move || fs::read(reads_fifo).unwrap()));
        let mut session = Session::start(TerminalKind::None, &args, output);
        session.says("listening on lo");
        recording.send(1);
        session.signal("-INT");
        assert_eq!(session.ends().code(), Some(0), "{place}: {}", session.err);
        confined.push(session.err.lines().next().unwrap().to_owned());
        let written = match reader {
            Some(reader) => String::from_utf8(reader.join().unwrap()).unwrap(),
            None if place == "link" => fs::read_to_string(&path).unwrap(),
            None => std::io::read_to_string(&pipe).unwrap(),
        };
        assert!(written.contains("\"findings\": ["), "{place}: {written}");
    }
    assert!(recording.path("link").is_symlink() && recording.path("elsewhere/known").is_file());
    assert!(confined.iter().all(|said| *said == confined[0]), "{confined:?}");
}

/// As when the arguments are wrong.
#[test]
fn a_recording_that_cannot_begin_destroys_no_earlier_one() {
    let Some(recording) = Recording::new("earlier") else { return };
    if !nix::unistd::geteuid().is_root() {
        return skipped("root", "only root can switch to another user");
    }
    fs::write(recording.path("kept.pcap"), "precious").unwrap();
    let mut args = recording.args(&["check"], Some("kept.pcap"));
    args.iter_mut().filter(|arg| *arg == "root").for_each(|user| *user = "no such user".to_owned());
    let mut session = Session::start(TerminalKind::None, &args, None);
    assert_eq!(session.ends().code(), Some(2));
    assert!(session.err.contains("no such user"), "{}", session.err);
    assert_eq!(fs::read(recording.path("kept.pcap")).unwrap(), b"precious");
}

#[test]
fn a_recording_is_refused_by_a_socket_and_by_a_planted_link() {
    let Some(recording) = Recording::new("refused") else { return };
    let _socket = UnixListener::bind(recording.path("socket")).unwrap();
    fs::write(recording.path("precious"), "precious").unwrap();
    fs::create_dir(recording.path("open")).unwrap();
    fs::set_permissions(recording.path("open"), Permissions::from_mode(0o1777)).unwrap();
    symlink("../precious", recording.path("open/link")).unwrap();
    for (file, why) in [
        ("socket", "it is a socket; name a regular file"),
        ("open/link", "it is a symbolic link in a folder that other users can write to"),
    ] {
        let args = recording.args(&["check"], Some(file));
        let mut session = Session::start(TerminalKind::None, &args, None);
        assert_eq!(session.ends().code(), Some(2));
        assert!(session.err.contains(why), "{}", session.err);
    }
    assert_eq!(fs::read(recording.path("precious")).unwrap(), b"precious");
}

/// A job in the background gets no SIGHUP when its terminal is closed, unless its shell sends one, which may be
/// before the terminal is closed.
#[test]
fn a_job_in_the_background_goes_on_until_its_shell_ends_it() {
    let Some(recording) = Recording::new("job") else { return };
    let shell = ["sh", "-c", "set -m; \"$@\" & echo job $! >&2; wait", "sh"];
    for (is_told, file) in [false, true].into_iter().zip(FILES) {
        let args = recording.args(&["check", "--duration", "120s"], Some(file));
        let args: Vec<_> = shell.map(str::to_owned).into_iter().chain(args).collect();
        let log = File::create(recording.path("log")).unwrap();
        let mut session = Session::start(TerminalKind::Controlling, &args, Some(log));
        session.says("listening on lo");
        session.says("job ");
        let job =
            session.err.lines().find_map(|line| line.strip_prefix("job ")).unwrap().to_owned();
        recording.send(50);
        recording.has(file, 50);
        let signal = |name| {
            let killed = Command::new("kill").args([name, job.as_str()]).status();
            assert!(killed.unwrap().success(), "it still runs");
        };
        if is_told {
            signal("-HUP");
            std::thread::sleep(Duration::from_millis(300));
            session.hang_up();
        } else {
            session.hang_up();
            std::thread::sleep(Duration::from_millis(500));
            recording.send(50);
            recording.has(file, 100);
            signal("-INT");
        }
        session.ends();
        let packets = if is_told { 50 } else { 100 };
        assert!(
            session.err.contains(&format!("lo: {packets} packets captured")),
            "{}",
            session.err
        );
        assert_eq!(recording.count(file), packets);
    }
}

/// Each command, without a file and with one. Its terminal is closed, or it gets a signal.
#[test]
fn a_live_command_ends_with_its_terminal_or_by_a_signal() {
    let Some(recording) = Recording::new("commands") else { return };
    let commands = ["dissect", "flows", "summary", "check", "abuse", "diagnose", "follow"];
    for (nth, command) in commands.into_iter().enumerate() {
        for (end, kind) in [
            (None, TerminalKind::Controlling),
            (None, TerminalKind::Other),
            (Some("-HUP"), TerminalKind::Other),
            (Some("-TERM"), TerminalKind::Other),
        ] {
            let file = FILES[nth % 2];
            fs::remove_file(recording.path(file)).ok();
            let args = recording.args(&[command], end.is_none().then_some(file));
            let mut session = Session::start(kind, &args, None);
            session.says("listening on lo");
            recording.send(10);
            match end {
                None => {
                    recording.has(file, 10);
                    session.hang_up();
                }
                Some(signal) => {
                    std::thread::sleep(Duration::from_millis(200));
                    session.signal(signal);
                }
            }
            let ended = session.ends();
            assert!(
                ended.code().is_some_and(|code| code < 2),
                "{command} {end:?}: {}",
                session.err
            );
            assert!(session.err.contains("lo: 10 packets captured"), "{command}: {}", session.err);
            if end.is_none() {
                assert_eq!(recording.count(file), 10, "{command}");
            }
        }
    }
}

/// `gamewire view` of a file, and of an interface.
fn each_view(test: impl Fn(&mut Session)) {
    let sample = format!("{}/samples/a2s-quirks.pcap", env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![[PROGRAM, "view", "--no-config", &sample].map(str::to_owned).to_vec()];
    let recording = Recording::new("view");
    if let Some(recording) = &recording {
        all.push(recording.args(&["view"], None));
        all.push(recording.args(&["view"], Some("kept.pcapng")));
    }
    for kind in [TerminalKind::Controlling, TerminalKind::Other] {
        for args in &all {
            let mut session = Session::start(kind, args, None);
            session.shows("\x1b[?1049h");
            session.shows("Conversations");
            test(&mut session);
            let ended = session.ends();
            assert_eq!(ended.code(), Some(0), "{args:?}: {}", session.err);
        }
    }
}

#[test]
fn a_view_ends_with_its_terminal() {
    each_view(Session::hang_up);
}

#[test]
fn signals_end_a_view() {
    for name in ["-TERM", "-HUP", "-INT"] {
        each_view(|session| session.signal(name));
    }
}

/// Nobody reads what it draws, as when a connection is lost.
#[test]
fn signals_end_a_view_whose_terminal_takes_no_output() {
    let sample = format!("{}/samples/a2s-quirks.pcap", env!("CARGO_MANIFEST_DIR"));
    let mut session =
        Session::start(TerminalKind::Controlling, &[PROGRAM, "view", "--no-config", &sample], None);
    session.shows("\x1b[?1049h");
    session.shows("Conversations");
    // Each key opens or closes the help, which is drawn.
    for _ in 0..1000 {
        session.types("?");
        std::thread::sleep(Duration::from_millis(5));
        if session.is_in("wait_woken") {
            break;
        }
    }
    session.signal("-TERM");
    session.ends();
}

/// A FIFO without a writer, and one without a reader.
#[test]
fn signals_end_the_wait_for_the_other_end_of_a_fifo() {
    let folder = std::env::temp_dir().join(format!("gamewire-fifo-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // This is also the name of a table.
    let fifo = folder.join("messages.ndjson");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let [fifo, out] = [&fifo, &folder].map(|path| path.to_str().unwrap());
    let sample = format!("{}/samples/a2s-quirks.pcap", env!("CARGO_MANIFEST_DIR"));
    let waits: [&[&str]; 10] = [
        &["dissect", fifo],
        &["view", fifo],
        &["check", "--merge", &sample, fifo],
        &["report", &sample, "-o", fifo],
        &["scrub", &sample, "-o", fifo],
        &["dissect", &sample, "-w", fifo],
        &["check", &sample, "--write-baseline", fifo],
        &["check", &sample, "--format", "github", "--summary", fifo],
        &["export", &sample, "--format", "ndjson", "--tables", "messages", "-o", out],
        &["check", "-i", "lo", "-w", fifo],
    ];
    let can_capture = Recording::new("fifo-live").is_some();
    for args in waits {
        if args.contains(&"-i") && !can_capture {
            continue;
        }
        for name in ["-INT", "-TERM"] {
            let args: Vec<_> =
                [PROGRAM].iter().chain(args).chain(&["--no-config"]).copied().collect();
            let mut session = Session::start(TerminalKind::Controlling, &args, None);
            session.waits_in("wait_for_partner");
            session.signal(name);
            assert_eq!(session.ends().code(), Some(130), "{args:?} {name}: {}", session.err);
        }
    }
    fs::remove_dir_all(folder).unwrap();
}
