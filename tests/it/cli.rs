//! The interface for scripts: exit codes, pipes, files of every kind, and errors.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{gamewire, samples};

/// A temporary folder of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("gamewire-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        Folder(folder)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("a writable folder");
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name)
}

fn binary() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gamewire"))
}

#[test]
fn the_captures_of_a_folder_are_read_in_its_place() {
    let folder = Folder::new("folder");
    let capture = fs::read(sample("a2s-info-players-rules.pcap")).expect("a sample");
    let other = fs::read(sample("valve-master-xash3d.pcapng")).expect("a sample");
    // Captures are identified by content, not by name.
    let names = [("b.pcap", &*other), ("a", &*capture), ("notes.pcap", b"notes"), ("zero", b"")];
    let paths = names.map(|(name, bytes)| folder.file(name, bytes));
    fs::create_dir(folder.0.join("inside")).expect("a folder");
    let shown = folder.0.to_string_lossy().into_owned();
    for command in ["check", "dissect", "flows"] {
        let run = gamewire([command, &shown]);
        let named = gamewire([command, &paths[1], &paths[0]]);
        assert_eq!((run.out, run.code), (named.out, named.code), "{command}");
        let skipped = [
            "skipped, no captures: notes.pcap, zero",
            "skipped, folders in it are not read: inside",
        ];
        let skipped = skipped.map(|it| format!("gamewire: {shown}: {it}\n")).concat();
        assert_eq!(run.err, skipped, "{command}");
    }
    let none = folder.0.join("inside").to_string_lossy().into_owned();
    let run = gamewire(["check", &none, &paths[1]]);
    assert!(run.code == 2 && run.err.contains("is a folder that holds none"), "{}", run.err);
}

#[test]
fn a_file_may_be_named_as_in_tcpdump() {
    let path = sample("a2s-quirks.pcap").to_string_lossy().into_owned();
    for command in ["check", "dissect", "flows"] {
        let [named, read] = [&[command, &path][..], &[command, "-r", &path]]
            .map(|args| gamewire(args.iter().copied()));
        assert_eq!((read.code, read.out), (named.code, named.out), "{command}");
    }
    assert_eq!(gamewire(["dissect", "-r", &path, "-i", "lo"]).code, 2);
}

#[test]
fn shells_complete_codes_and_names_of_rules() {
    for shell in ["bash", "zsh", "fish"] {
        let script = gamewire(["completions", shell]).out;
        assert!(script.contains("A2S030") && script.contains("player-count"), "{shell}");
    }
}

#[test]
fn shells_complete_the_fields_of_display_filters() {
    for (shell, before) in [
        ("bash", "--display-filter)"),
        ("zsh", "*--display-filter="),
        ("fish", "-s Y -l display-filter"),
    ] {
        let script = gamewire(["completions", shell]).out;
        let (_, filter) = script.split_once(before).expect(shell);
        let filter: String = filter.chars().take(20_000).collect();
        let filter = filter.split("--host").next().unwrap();
        for name in ["response_time", "ip.addr", "a2s.info_response.map"] {
            assert!(filter.contains(name), "{shell}: {name}");
        }
        assert!(!filter.contains(".*"), "{shell}: no filter begins so");
    }
}

#[test]
fn errors_about_other_files_name_their_type() {
    let folder = Folder::new("not-a-capture");
    for (name, bytes, seems) in [
        ("empty.pcap", b"".as_slice(), "is empty"),
        ("notes.pcap", b"these are notes\n", "seems to be text"),
        ("packed.pcap", b"PK\x03\x04rest", "seems to be a zip archive"),
        ("noise.pcap", b"\x01\x02\x03\x04\x05\x00\x00", "bytes of no format known here"),
    ] {
        let path = folder.file(name, bytes);
        let run = gamewire(["dissect", &path]);
        assert_eq!(run.code, 2, "{name}");
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        assert!(run.err.contains(name) && run.err.contains(seems), "{}", run.err);
    }
    let run = gamewire(["dissect", "/no/such/file.pcap"]);
    assert_eq!(
        (run.code, run.err.as_str()),
        (2, "gamewire: /no/such/file.pcap: no such file; check its name and folder\n")
    );
    let run = gamewire(["dissect", &folder.0.to_string_lossy()]);
    assert!(run.code == 2 && run.err.contains("is a folder"), "{}", run.err);
}

#[test]
fn usage_is_explained() {
    let run = gamewire(["dissect"]);
    assert!(run.code == 2 && run.err.contains("<FILE>"), "{}", run.err);
    let run = gamewire(["dissect", "-d", "udp.port==1,nothing", "x"]);
    assert!(run.code == 2 && run.err.contains("a2s"), "{}", run.err);
    let run = gamewire(["--help"]);
    assert!(run.code == 0 && run.out.contains("dissect") && run.out.contains("flows"));
    let run = gamewire(["--version"]);
    assert!(run.code == 0 && run.out.starts_with("gamewire "));
}

#[test]
fn a_truncated_file_is_read_to_its_end() {
    let folder = Folder::new("cut");
    let bytes = fs::read(sample("a2s-info-players-rules.pcap")).expect("the sample");
    let path = folder.file("cut.pcap", &bytes[..bytes.len() - 3]);
    let run = gamewire(["dissect", &path]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("cut.pcap: the file ends inside the record"), "{}", run.err);
    let whole = gamewire(["dissect", &sample("a2s-info-players-rules.pcap").to_string_lossy()]);
    let expected: Vec<_> = whole.out.lines().collect();
    // The last request's response was in the part that is missing.
    let lines = run.out.lines().map(|line| line.trim_end_matches("  no answer"));
    assert_eq!(Vec::from_iter(lines), expected[..expected.len() - 1]);
}

#[test]
fn compressed_and_piped_captures_have_the_same_output() {
    let folder = Folder::new("compressed");
    for sample in samples() {
        let bytes = fs::read(&sample).expect("the sample");
        let path = sample.to_string_lossy().into_owned();
        let plain = gamewire(["dissect", "--format", "json", &path]);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let zstd = ruzstd::encoding::compress_to_vec(
            bytes.as_slice(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        for (name, bytes) in [("a.bin", &gzip), ("b.bin", &zstd)] {
            let path = folder.file(name, bytes);
            assert_eq!(gamewire(["dissect", "--format", "json", &path]).out, plain.out, "{path}");
        }
        let mut child = binary()
            .args(["dissect", "--format", "json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let write = move || stdin.write_all(&bytes).expect("the binary reads");
        let writing = std::thread::spawn(write);
        let output = child.wait_with_output().expect("the binary ends");
        writing.join().expect("all is written");
        assert_eq!(String::from_utf8_lossy(&output.stdout), plain.out);
    }
}

/// Overlapping files of a merge are open at the same time. Those beyond the limit of open files are reported
/// as unreadable files.
#[cfg(unix)]
#[test]
fn files_that_a_merge_cannot_open_are_an_error() {
    let folder = Folder::new("unopened");
    let capture = fs::read(sample("a2s-info-players-rules.pcap")).expect("a sample");
    let files: Vec<_> = (10..60).map(|n| folder.file(&format!("{n}.pcap"), &capture)).collect();
    let run = |args: &[&str]| {
        let limited = "ulimit -n 24; exec \"$@\"";
        let args = [args, &["--merge", "--no-config"]].concat();
        let mut command = Command::new("sh");
        command.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_gamewire")]).args(args);
        let ran = command.args(&files).output().expect("a shell");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (ran.status.code(), text(ran.stdout), text(ran.stderr))
    };
    for threads in ["1", "2"] {
        let (code, out, err) = run(&["dissect", "--threads", threads]);
        assert_eq!(code, Some(2), "{err}");
        assert!(out.contains("a2s info_response"), "what could be read is shown");
        assert!(err.contains("raise the limit, for example with ulimit -n 4096"), "{err}");
        let last = err.lines().last().expect("an error");
        let words: Vec<_> = last.split(' ').collect();
        let ["gamewire:", count, "of", "50", "files", "could", ..] = words[..] else {
            panic!("{last}")
        };
        let count: usize = count.parse().expect("a number");
        assert!((20..50).contains(&count), "{last}");
        assert!(err.contains(&format!("{} more files that could not be opened", count - 20)));
        // No file is named twice.
        assert_eq!(err.matches(".pcap: ").count(), 20, "{err}");
    }
    let (code, out, _) = run(&["check", "--format", "json", "--threads", "1"]);
    let checked: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let rules = checked["rules"].as_array().expect("rules");
    let lost = rules.iter().find(|rule| rule["code"] == "NET009").expect("NET009");
    assert_eq!((code, &lost["verdict"]), (Some(2), &"fail".into()));
    let (code, out, _) = run(&["check", "--format", "junit"]);
    assert!(
        code == Some(2) && out.contains("59.pcap") && out.contains("type=\"unreadable\""),
        "{out}"
    );
}

#[test]
fn halves_of_a_capture_are_merged() {
    let folder = Folder::new("merged");
    let sample = sample("a2s-split-order.pcap");
    let bytes = fs::read(&sample).expect("the sample");
    let (header, mut rest) = bytes.split_at(24);
    let mut halves = [header.to_vec(), header.to_vec()];
    let mut at = 0;
    while let Some(length) = rest.get(8..12) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let (record, after) = rest.split_at(16 + length);
        halves[usize::from(at >= 10)].extend_from_slice(record);
        (rest, at) = (after, at + 1);
    }
    let first = folder.file("first.pcap", &halves[0]);
    let second = folder.file("second.pcap", &halves[1]);
    let merged = gamewire(["dissect", "--merge", &second, &first]);
    assert_eq!(merged.out, gamewire(["dissect", &sample.to_string_lossy()]).out);
    let apart = gamewire(["dissect", &first, &second]);
    assert!(apart.out.starts_with("==> ") && apart.out.matches("==> ").count() == 2);
    // In formats for programs, each line names its capture.
    for command in ["dissect", "flows"] {
        for threads in ["1", "2"] {
            let args = [command, "--format", "json", "--threads", threads, &first, &second];
            let of = gamewire(args).out;
            let of: Vec<serde_json::Value> =
                of.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let count = |name: &str| of.iter().filter(|line| line["capture"] == name).count();
            assert!(count(&first) > 0 && count(&first) + count(&second) == of.len());
        }
        let alone = gamewire([command, "--format", "json", &first]).out;
        assert!(!alone.contains("\"capture\""));
    }
    let table = gamewire(["flows", "--format", "csv", &first, &second]).out;
    assert!(table.lines().next().is_some_and(|head| head.ends_with(",capture")));
    assert!(table.lines().last().is_some_and(|row| row.ends_with("second.pcap")), "{table}");
}

#[test]
fn a_protocol_can_be_forced_on_a_port() {
    let path = sample("a2s-info-players-rules.pcap").to_string_lossy().into_owned();
    let run = gamewire(["dissect", "-d", "udp.port==27015,valve_master", &path]);
    let messages: Vec<_> = run.out.lines().skip(1).collect();
    assert!(run.code == 0 && messages.len() > 5, "{}", run.out);
    assert!(messages.iter().all(|line| line.contains(" valve_master ")), "{}", run.out);
}

#[test]
fn a_count_ends_the_reading() {
    let path = sample("a2s-info-players-rules.pcap").to_string_lossy().into_owned();
    let run = gamewire(["dissect", "-c", "4", "--format", "json", &path]);
    assert_eq!(run.out.lines().count(), 4);
}

#[test]
fn an_interrupted_pipe_reports_its_results() {
    let name = sample("a2s-info-players-rules.pcap");
    let mut child = binary()
        .args([OsStr::new("check"), name.as_os_str(), OsStr::new("-")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut pipe = child.stdin.take().expect("a pipe");
    // More than the buffer of a pipe: when all is written, a part has been read.
    let capture = fs::read(&name).expect("a sample");
    let (header, packets) = capture.split_at(24);
    pipe.write_all(header).expect("it is read");
    (0..200).for_each(|_| pipe.write_all(packets).expect("it is read"));
    // Earlier files are reported while the pipe is still open.
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.starts_with("PASS ") && first.contains("a2s-info-players-rules.pcap"), "{first}");
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    let rest: Vec<_> = lines.map(|line| line.expect("text")).collect();
    assert!(rest.iter().any(|line| line.starts_with("PASS  -: ")), "{rest:?}");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    drop(pipe);
}

#[test]
fn a_pipe_that_is_interrupted_before_its_first_packet_has_no_result() {
    let mut child = binary()
        .args([OsStr::new("check"), sample("gamespy1-query.pcap").as_os_str(), OsStr::new("-")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.starts_with("PASS "), "{first}");
    // It is waiting for the pipe by now.
    std::thread::sleep(Duration::from_millis(500));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    assert!(lines.all(|line| !line.expect("text").starts_with("PASS  -")));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let said = "gamewire: standard input: interrupted before anything came\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), said);
}

/// What `tcpdump -w -` has written before its first packet.
#[test]
fn a_pipe_that_is_interrupted_after_its_header_has_no_result() {
    let folder = Folder::new("header-alone");
    let header = &fs::read(sample("gamespy1-query.pcap")).expect("a sample")[..24];
    for args in [
        &["check", "-"][..],
        &["summary", "-"],
        &["dissect", "-"],
        &["export", "-", "--format", "csv", "-o", "tables"],
        &["report", "-", "-o", "page.html"],
        &["scrub", "-", "-o", "copy.pcapng"],
    ] {
        let mut command = binary();
        let command = command.args(args).current_dir(&folder.0).stdin(Stdio::piped());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(header).expect("it is read");
        std::thread::sleep(Duration::from_millis(500));
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        drop(pipe);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{args:?}: {err}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert_eq!(err, "gamewire: interrupted: nothing was written\n", "{args:?}");
    }
}

#[test]
fn a_closed_output_pipe_ends_it_silently() {
    let path = sample("a2s-split-order.pcap");
    let files = std::iter::repeat_n(path, 400);
    let mut child = binary()
        .args(["dissect", "-v"])
        .args(files)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut [0; 10]).expect("some output");
    drop(out);
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_reader_of_dev_stdout_that_goes_away_ends_it_silently() {
    let capture = sample("a2s-quirks.pcap");
    for command in ["report", "scrub"] {
        let mut child = binary()
            .args([command, "--no-config", "-o", "/dev/stdout"])
            .arg(&capture)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*err), (Some(0), ""), "{command}");
    }
}

/// A file with this name is a trap.
#[test]
fn no_output_is_called_as_standard_output_is() {
    let folder = Folder::new("dash");
    let capture = sample("a2s-quirks.pcap");
    for args in [
        &["report", "-o", "-"][..],
        &["scrub", "-o", "-"],
        &["export", "--format", "csv", "-o", "-"],
        &["export", "--format", "vectors", "-o", "-"],
        &["check", "--write-baseline", "-"],
        &["check", "--summary", "-"],
    ] {
        let run = binary().current_dir(&folder.0).args(args).arg(&capture).output();
        let run = run.expect("the binary runs");
        let (err, refused) =
            (String::from_utf8_lossy(&run.stderr), format!("{} -: ", args[args.len() - 2]));
        assert!(run.status.code() == Some(2) && err.contains(&refused), "{args:?}: {err}");
    }
    assert_eq!(fs::read_dir(&folder.0).expect("a folder").count(), 0);
}

#[test]
fn a_report_of_a_pipe_that_is_interrupted_before_its_first_packet() {
    let folder = Folder::new("report-interrupted");
    let mut child = binary()
        .args(["report", "-", "-o", "page.html"])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(Duration::from_millis(500));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    let pipe = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(pipe);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert_eq!(err, "gamewire: interrupted: nothing was written\n");
}

/// What came is shown before more comes, from standard input and from a named pipe.
#[test]
fn a_slow_pipe_is_shown_while_it_is_read() {
    let folder = Folder::new("slow");
    let named = folder.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&named).status().expect("mkfifo runs").success());
    let capture = fs::read(sample("a2s-info-players-rules.pcap")).expect("a sample");
    for from in [Path::new("-"), &named] {
        let mut child = binary()
            .args(["dissect", "--no-config", "--format", "json"])
            .arg(from)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut pipe: Box<dyn Write> = match from == named {
            true => Box::new(fs::OpenOptions::new().write(true).open(&named).expect("a reader")),
            false => Box::new(child.stdin.take().expect("a pipe")),
        };
        let (whole, cut) = capture.split_at(capture.len() - 9);
        pipe.write_all(whole).expect("it is read");
        pipe.flush().expect("it is read");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        assert!(first.starts_with("{\"frame\":1,"), "{first}");
        pipe.write_all(cut).expect("it is read");
        drop(pipe);
        assert!(lines.count() > 5);
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn a_recording_of_serve_ends_in_order_with_its_terminal() {
    let folder = Folder::new("serve-hangup");
    let mut child = binary()
        .args(["serve", "a2s", "--listen", "127.0.0.1:0", "--record", "file.pcapng"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.next().expect("a line").expect("text").starts_with("a2s at 127.0.0.1:"));
    std::thread::sleep(Duration::from_millis(300));
    let status = Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("wrote file.pcapng"), "{err}");
    let names =
        fs::read_dir(&folder.0).expect("a folder").map(|it| it.expect("a file").file_name());
    assert_eq!(Vec::from_iter(names), ["file.pcapng"]);
}
