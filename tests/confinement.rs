//! What a process may still do while it captures, asked from inside: each case starts this test
//! program again, because confinement lasts as long as the process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/skip.rs"]
mod skip;

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gamewire::live::{CaptureRequest, FilePlan, LaterOutput, Live};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::kill;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::{Uid, getppid};
use skip::skipped;

/// The variables that tell the process inside what to do.
const FOLDER: &str = "GAMEWIRE_CONFINED_FOLDER";
const USER: &str = "GAMEWIRE_CONFINED_USER";
const SECONDS: &str = "GAMEWIRE_CONFINED_SECONDS";

/// What it says when it has come to the end.
const ASKED: &str = "asked from inside";

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("gamewire-confined-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("secret"), "of somebody else").unwrap();
        Folder(folder)
    }

    /// Captures in a process that writes into this folder, and asks from inside it. `None`: it is not
    /// possible here.
    fn ask(&self, user: &str, seconds: &str) -> Option<Output> {
        if !Uid::effective().is_root() {
            skipped("root", "only root has privileges to drop");
            return None;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "inside", "--ignored", "--nocapture"])
            .envs([
                (FOLDER, self.0.as_os_str()),
                (USER, user.as_ref()),
                (SECONDS, seconds.as_ref()),
            ])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some(why) = said.lines().find_map(|line| line.strip_prefix("not here: ")) {
            skipped("live", why);
            return None;
        }
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(ASKED), "{said}{error}");
        Some(output)
    }

    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The case of the default: a file in a folder of root, and a user who may write nothing there.
#[test]
fn a_capture_into_a_folder_of_root_reads_no_files_and_starts_nothing() {
    let folder = Folder::new("root");
    if folder.ask("nobody", "").is_some() {
        assert_eq!(folder.files(), ["kept.pcap", "later", "secret"]);
    }
}

/// Root's files are its own, so more depends on the confinement.
#[test]
fn a_capture_that_stays_root_has_no_capability_and_reads_no_files() {
    let folder = Folder::new("stays");
    if folder.ask("root", "1").is_some() {
        let files = folder.files();
        assert!(files.len() == 3 && files[0].starts_with("kept_00001_"), "{files:?}");
    }
}

#[test]
fn a_capture_into_a_folder_of_its_user_reads_no_files_there() {
    let folder = Folder::new("own");
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    if Uid::effective().is_root() {
        for path in [folder.0.clone(), folder.0.join("secret")] {
            chown(path, Some(nobody.uid.as_raw()), Some(nobody.gid.as_raw())).unwrap();
        }
    }
    folder.ask("nobody", "1");
}

/// Run by the tests above, in a process of its own.
#[test]
#[ignore = "confines the process that runs it"]
fn inside() {
    let variable = |name| std::env::var(name).unwrap();
    let folder = PathBuf::from(variable(FOLDER));
    let later = folder.join("later");
    fs::create_dir(&later).unwrap();
    let (path, seconds) = (folder.join("kept.pcap"), variable(SECONDS).parse().ok());
    let request = CaptureRequest {
        interface: "lo".to_owned(),
        snaplen: 1000,
        buffer: Some(1 << 20),
        user: Some(variable(USER)),
        write: Some(FilePlan { path, seconds, ..FilePlan::default() }),
        later: vec![LaterOutput::Folder { path: later.clone(), is_new: true }],
        ..CaptureRequest::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut status = File::open("/proc/thread-self/status").unwrap();
    let mut out = io::stdout();
    let live = match Live::open(&request) {
        Ok(live) => live,
        Err(
            error @ (gamewire::live::LiveError::NoLibrary
            | gamewire::live::LiveError::NoRight { .. }),
        ) => {
            return writeln!(out, "\nnot here: {error}").unwrap();
        }
        Err(error) => panic!("{error}"),
    };
    let confinement = live.confinement();
    // Threads that are started from now on are confined, too.
    let asked = std::thread::spawn(move || ask(&folder, &listener, confinement));
    asked.join().unwrap();
    fs::write(later.join("report"), "written at the end").unwrap();
    let mut about = String::new();
    status.read_to_string(&mut about).unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(about.contains(&format!("{set}:\t0000000000000000")), "{about}");
    }
    assert!(about.contains("NoNewPrivs:\t1"), "{about}");
    writeln!(out, "{ASKED}").unwrap();
}

/// Tries what a process that was taken over would try.
fn ask(folder: &Path, listener: &TcpListener, confinement: gamewire::live::Confinement) {
    if confinement.files {
        ask_for_files(folder);
    } else {
        skipped("landlock", "this system lacks Landlock");
    }
    if confinement.calls {
        ask_for_calls(folder, listener);
    } else {
        skipped("seccomp", "this system lacks seccomp");
    }
}

fn ask_for_files(folder: &Path) {
    let secret = folder.join("secret");
    let files = [
        "/etc/shadow",
        "/etc/passwd",
        "/etc/hosts",
        "/proc/self/status",
        "/proc/1/environ",
        "/proc/self/net/tcp",
        "/sys/class/net/lo/flags",
        "/dev/null",
        env!("CARGO_MANIFEST_DIR"),
        secret.to_str().unwrap(),
    ];
    for file in files {
        refused(&format!("reading {file}"), File::open(file));
    }
    for place in ["/", "/etc", "/usr/share", "/proc", folder.to_str().unwrap()] {
        refused(&format!("listing {place}"), fs::read_dir(place));
    }
    let outside = std::env::temp_dir().join("gamewire-confined-outside");
    refused("creating a file elsewhere", File::create(&outside));
    refused("creating a folder", fs::create_dir(folder.join("made")));
    refused("creating a link", std::os::unix::fs::symlink("/etc", folder.join("link")));
    refused("moving a file away", fs::rename(&secret, &outside));
}

fn ask_for_calls(folder: &Path, listener: &TcpListener) {
    let program = CString::new("/bin/true").unwrap();
    let args = [program.clone()];
    refused("starting a program", Command::new("/bin/true").status());
    refused("becoming a program", nix::unistd::execv(&program, &args));
    refused("a UDP socket", UdpSocket::bind("127.0.0.1:0"));
    refused("a TCP socket", TcpListener::bind("127.0.0.1:0"));
    refused("a TCP connection", TcpStream::connect(listener.local_addr().unwrap()));
    refused("a Unix socket", UnixDatagram::unbound());
    refused("a pair of sockets for datagrams", UnixDatagram::pair());
    let raw = |family| socket(family, SockType::Raw, SockFlag::empty(), None);
    refused("a raw socket", raw(AddressFamily::Packet));
    refused("a netlink socket", raw(AddressFamily::Netlink));
    refused("ptrace", nix::sys::ptrace::traceme());
    refused("ptrace of another process", nix::sys::ptrace::attach(getppid()));
    refused("a signal to another process", kill(getppid(), None));
    refused("a user namespace", unshare(CloneFlags::CLONE_NEWUSER));
    refused("another root folder", nix::unistd::chroot(folder));
    let kept = fs::set_permissions(folder.join("later"), Permissions::from_mode(0o777));
    refused("other permissions of a file", kept);
    // What a capture needs still works.
    UnixStream::pair().unwrap();
    assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
    kill(nix::unistd::getpid(), None).unwrap();
    listener.set_nonblocking(true).unwrap();
    let nobody = listener.accept().unwrap_err();
    assert_eq!(nobody.kind(), io::ErrorKind::WouldBlock);
}

fn refused<T, E: Into<io::Error>>(what: &str, done: Result<T, E>) {
    match done.map_err(Into::into) {
        Ok(_) => panic!("{what}: it worked"),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{what}: {error}"),
    }
}
