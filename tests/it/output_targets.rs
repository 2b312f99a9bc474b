//! Where output goes: a regular file is replaced when the output is complete, a FIFO or a device is written to,
//! anything else is refused, and a symbolic link stays one. For every option that names an output file.

use crate::support;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::project::Project;
use crate::support::{Run, skip::skipped};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;

/// The options that name an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Report,
    Scrub,
    Write,
    Baseline,
    /// It is appended to.
    Summary,
    Table,
}

const ALL: [Output; 6] = [
    Output::Report,
    Output::Scrub,
    Output::Write,
    Output::Baseline,
    Output::Summary,
    Output::Table,
];

fn sample() -> String {
    format!("{}/samples/a2s-quirks.pcap", env!("CARGO_MANIFEST_DIR"))
}

impl Output {
    /// The name of the file in its folder.
    fn name(self) -> &'static str {
        match self {
            Output::Table => "messages.ndjson",
            _ => "output",
        }
    }

    /// The command line for an output at this place.
    fn args(self, place: &Path) -> Vec<String> {
        let folder = place.parent().unwrap().to_str().unwrap();
        let (place, sample) = (place.to_str().unwrap(), sample());
        let args: &[&str] = match self {
            Output::Report => &["report", &sample, "-o", place],
            Output::Scrub => &["scrub", "--key", "k", &sample, "-o", place],
            Output::Write => &["dissect", &sample, "-w", place],
            Output::Baseline => &["check", &sample, "--write-baseline", place],
            Output::Summary => &["check", "--format", "github", "--summary", place, &sample],
            Output::Table => {
                &["export", "--format", "ndjson", "--tables", "messages", "-o", folder, &sample]
            }
        };
        args.iter().map(|&arg| arg.to_owned()).chain(["--no-config".to_owned()]).collect()
    }

    fn run(self, place: &Path) -> Run {
        support::gamewire(self.args(place))
    }
}

/// A folder for each output, and what it writes to a file of its own.
fn each(name: &str, test: impl Fn(Output, &Path, &[u8])) {
    let project = Project::new(name);
    for output in ALL {
        let folder = PathBuf::from(project.path(&format!("{output:?}")));
        let plain = folder.join("plain").join(output.name());
        fs::create_dir_all(plain.parent().unwrap()).unwrap();
        let run = output.run(&plain);
        assert!(run.code < 2, "{output:?}: {}", run.err);
        let content = fs::read(&plain).unwrap();
        assert!(content.len() > 50, "{output:?}");
        let place = folder.join("place").join(output.name());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        test(output, &place, &content);
        let left = fs::read_dir(place.parent().unwrap()).unwrap().count();
        assert!(left <= 1, "{output:?}: a temporary file is left");
    }
}

fn is_link(place: &Path) -> bool {
    fs::symlink_metadata(place).unwrap().is_symlink()
}

#[test]
fn a_fifo_is_written_to() {
    each("to-fifo", |output, place, content| {
        mkfifo(place, Mode::S_IRWXU).unwrap();
        let reader = {
            let place = place.to_owned();
            std::thread::spawn(move || fs::read(place).unwrap())
        };
        let run = output.run(place);
        let is_fifo = fs::symlink_metadata(place).unwrap().file_type().is_fifo();
        assert!(is_fifo, "{output:?}: it was replaced");
        assert!(run.code < 2, "{output:?}: {}", run.err);
        assert_eq!(reader.join().unwrap(), content, "{output:?}");
    });
}

/// A link is used in place of the device, which would otherwise be lost if this fails.
#[test]
fn a_link_to_a_device_stays_one() {
    each("to-null", |output, place, _| {
        symlink("/dev/null", place).unwrap();
        let run = output.run(place);
        assert!(run.code < 2, "{output:?}: {}", run.err);
        assert!(is_link(place), "{output:?}: it was replaced");
    });
}

#[test]
fn a_device_is_written_to_and_its_errors_are_reported() {
    let project = Project::new("devices");
    let device = |name: &str, minor| {
        let made =
            mknod(Path::new(&project.path(name)), SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, minor));
        made.and_then(|()| {
            File::options().write(true).open(project.path(name)).map_err(|_| nix::Error::EPERM)
        })
    };
    if let Err(error) = device("null", 3).and_then(|_| device("full", 7)) {
        return skipped("root", &format!("cannot make a device: {error}"));
    }
    each("to-device", |output, place, _| {
        for (name, writes) in [("null", true), ("full", false)] {
            let minor = if writes { 3 } else { 7 };
            mknod(place, SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, minor)).unwrap();
            let run = output.run(place);
            let is_device = fs::symlink_metadata(place).unwrap().file_type().is_char_device();
            assert!(is_device, "{output:?}: {name} was replaced");
            assert_eq!(run.code < 2, writes, "{output:?}: {}", run.err);
            assert_eq!(run.err.to_lowercase().contains("no space left"), !writes, "{}", run.err);
            fs::remove_file(place).unwrap();
        }
    });
}

#[test]
fn a_socket_is_refused() {
    each("to-socket", |output, place, _| {
        let _socket = UnixListener::bind(place).unwrap();
        let run = output.run(place);
        let is_socket = fs::symlink_metadata(place).unwrap().file_type().is_socket();
        assert!(is_socket, "{output:?}: it was replaced");
        assert_eq!(run.code, 2, "{output:?}: {}", run.err);
        let (name, err) = (place.to_string_lossy(), &run.err);
        let is_named =
            err.contains(&*name) || err.contains(&*place.parent().unwrap().to_string_lossy());
        assert!(is_named && err.contains("it is a socket; name a regular file"), "{err}");
    });
}

#[test]
fn a_folder_is_refused() {
    each("to-folder", |output, place, _| {
        fs::create_dir(place).unwrap();
        let run = output.run(place);
        assert_eq!(run.code, 2, "{output:?}: {}", run.err);
        assert!(run.err.contains("it is a folder"), "{output:?}: {}", run.err);
        assert!(place.is_dir());
    });
}

/// What is at the end of links is replaced, also if the second link is relative, and if nothing is there yet.
#[test]
fn the_target_of_a_symbolic_link_is_replaced() {
    each("to-link", |output, place, content| {
        let folder = place.parent().unwrap().parent().unwrap().join("elsewhere");
        fs::create_dir(&folder).unwrap();
        let target = folder.join("target");
        symlink("target", folder.join("between")).unwrap();
        for before in [None, Some("before\n")] {
            symlink(folder.join("between"), place).unwrap();
            before.iter().for_each(|before| fs::write(&target, before).unwrap());
            let run = output.run(place);
            assert!(run.code < 2, "{output:?}: {}", run.err);
            assert!(is_link(place) && is_link(&folder.join("between")), "{output:?}: replaced");
            let kept = before.filter(|_| output == Output::Summary).unwrap_or_default();
            assert_eq!(fs::read(&target).unwrap(), [kept.as_bytes(), content].concat());
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "{output:?}: more files");
            fs::remove_file(&target).unwrap();
            fs::remove_file(place).unwrap();
        }
    });
}

/// Others could choose the file that is replaced.
#[test]
fn a_link_in_a_folder_that_others_may_write_to_is_refused() {
    each("planted", |output, place, _| {
        let folder = place.parent().unwrap();
        let target = folder.parent().unwrap().join("precious");
        fs::write(&target, "precious").unwrap();
        symlink(&target, place).unwrap();
        // Also if a link of one's own leads there.
        let own = folder.parent().unwrap().join("own").join(output.name());
        fs::create_dir(own.parent().unwrap()).unwrap();
        symlink(place, &own).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o1777)).unwrap();
        for place in [place, &own] {
            let run = output.run(place);
            assert_eq!(run.code, 2, "{output:?}: {}", run.err);
            let why = "symbolic link in a folder that other users can write to";
            assert!(run.err.contains(why), "{output:?}: {}", run.err);
            assert_eq!(fs::read(&target).unwrap(), b"precious");
            assert!(is_link(place));
        }
    });
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    each("mode", |output, place, content| {
        fs::write(place, "").unwrap();
        fs::set_permissions(place, Permissions::from_mode(0o600)).unwrap();
        let run = output.run(place);
        assert!(run.code < 2, "{output:?}: {}", run.err);
        assert_eq!(fs::read(place).unwrap(), content);
        let mode = fs::metadata(place).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{output:?}");
    });
}

#[test]
fn a_write_protected_file_is_refused() {
    each("protected", |output, place, _| {
        fs::write(place, "precious").unwrap();
        fs::set_permissions(place, Permissions::from_mode(0o444)).unwrap();
        let run = output.run(place);
        assert_eq!(run.code, 2, "{output:?}: {}", run.err);
        assert!(run.err.contains("it is write-protected"), "{output:?}: {}", run.err);
        assert_eq!(fs::read(place).unwrap(), b"precious");
    });
}

/// Also a compressed one. A capture may replace another one.
#[test]
fn no_capture_is_replaced_by_what_is_none() {
    let sample = fs::read(sample()).unwrap();
    let pcapng: &[u8] = b"\n\r\r\n\x1C\0\0\0\x4D\x3C\x2B\x1A";
    let captures = [&sample, pcapng, b"\x1F\x8B\x08\0", b"\x28\xB5\x2F\xFD\x04"];
    each("onto-capture", |output, place, content| {
        for capture in captures {
            fs::write(place, capture).unwrap();
            let run = output.run(place);
            if matches!(output, Output::Scrub | Output::Write) {
                assert!(run.code < 2, "{output:?}: {}", run.err);
                assert_eq!(fs::read(place).unwrap(), content, "{output:?}");
                continue;
            }
            assert_eq!((run.code, fs::read(place).unwrap()), (2, capture.to_vec()), "{output:?}");
            let says = ": it is a capture, which would be lost; name another file\n";
            let folder = place.parent().unwrap().to_string_lossy();
            let is_named = run.err.contains(&*folder) && run.err.contains(output.name());
            assert!(is_named && run.err.ends_with(says), "{output:?}: {}", run.err);
        }
    });
}

/// A limit on the size of files stands for a full disk.
#[test]
fn a_file_stays_as_it_was_if_its_replacement_cannot_be_completed() {
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    each("full", |output, place, _| {
        fs::write(place, "before").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_gamewire")]).args(output.args(place));
        let run = command.stdout(Stdio::null()).output().unwrap();
        let err = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{output:?}: {err}");
        assert_eq!(fs::read(place).unwrap(), b"before", "{output:?}: {err}");
    });
}

/// Shells name pipes to other programs /dev/fd/63.
#[test]
fn a_pipe_of_this_process_is_written_to() {
    if !Path::new("/proc/self/fd").exists() {
        return skipped("proc", "there is no /proc");
    }
    each("to-stdout", |output, place, content| {
        if output == Output::Table {
            return;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
        // The pipe is standard input: standard output has text of its own.
        let (mut reader, writer) = std::io::pipe().unwrap();
        command.args(output.args(Path::new("/dev/fd/0"))).stdin(writer).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        drop(command);
        let mut out = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut out).unwrap();
        assert!(child.wait().unwrap().code().unwrap() < 2, "{output:?}");
        assert_eq!(out, content, "{output:?}");
        // A regular file cannot be replaced through a descriptor.
        fs::write(place, "before").unwrap();
        let file = File::options().append(true).open(place).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gamewire"));
        command.args(output.args(Path::new("/dev/fd/0"))).stdin(file);
        let run = command.output().unwrap();
        let err = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{output:?}: {err}");
        assert!(err.contains("an open file; name the file itself"), "{output:?}: {err}");
        assert_eq!(fs::read(place).unwrap(), b"before", "{output:?}");
    });
}
