//! A live capture that was started as root gives up all privileges.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::metrics::metrics_of;
use crate::sniffer::{Server, Sniffer, client, query};
use crate::support::skip::skipped;

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
