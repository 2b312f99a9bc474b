//! Runs the release build on hostile captures: randomly damaged ones, and ones that are designed to exhaust
//! resources. Every run must end with exit code 0, 1 or 2, within a memory limit of the system.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use captures::bulk::{self, Input, Size};
use captures::exchange::{self, Setting};
use captures::exhausting::EXHAUSTING;
use captures::mutate::mutated;
use captures::wire::Prng;

use crate::built;

/// Maximum anonymous memory in KiB; mapped files do not count.
const MEMORY: u32 = 64 << 10;

/// The commands to run on each capture.
const COMMANDS: [&[&str]; 4] = [
    &["check", "--format", "json"],
    &["dissect", "-v", "-x"],
    &["dissect", "--format", "json", "--tree"],
    &["flows"],
];

/// Commands to run with a smaller memory limit.
const WITHIN: [&[&str]; 3] = [
    &["check", "--format", "json", "--memory", "32M"],
    &["dissect", "--format", "json", "--memory", "32M"],
    &["report", "-o", "target/attack/report.html", "--memory", "32M"],
];

struct Range<'a> {
    program: PathBuf,
    folder: PathBuf,
    out: &'a mut dyn Write,
    broken: usize,
}

/// Damages samples, `count` times in all.
pub(crate) fn mutate(root: &Path, count: u64, out: &mut dyn Write) -> io::Result<ExitCode> {
    let mut range = Range::new(root, out)?;
    let samples: Vec<_> =
        captures::samples::all().map(|sample| (sample.name, (sample.make)())).collect();
    for (number, (name, bytes)) in (0..count).zip(samples.iter().cycle()) {
        let damaged = mutated(bytes, &mut Prng::new(number));
        let command = COMMANDS[(number / samples.len() as u64) as usize % COMMANDS.len()];
        range.run(&format!("{name}, seed {number}"), &damaged, &[command])?;
    }
    range.done(&format!("{count} damaged captures"))
}

/// Runs captures that cost much more to process than to send.
pub(crate) fn exhaust(root: &Path, out: &mut dyn Write) -> io::Result<ExitCode> {
    let mut range = Range::new(root, out)?;
    for (name, make) in EXHAUSTING {
        let bytes = make();
        writeln!(range.out, "{name}: {} bytes", bytes.len())?;
        range.run(name, &bytes, &COMMANDS)?;
    }
    // Without `flows`, which stores more flows for sorting than fit into this memory.
    let (name, bytes) = ("a flood of forged sources", flood()?);
    writeln!(range.out, "{name}: {} bytes", bytes.len())?;
    range.run(name, &bytes, &WITHIN)?;
    drop(bytes);
    range.crowd()?;
    range.done(&format!("{} attacks", EXHAUSTING.len() + 2))
}

impl<'a> Range<'a> {
    fn new(root: &Path, out: &'a mut dyn Write) -> io::Result<Range<'a>> {
        let program = built(root, "release")?;
        let folder = root.join("target/attack");
        fs::create_dir_all(&folder)?;
        Ok(Range { program, folder, out, broken: 0 })
    }

    /// Runs the commands on a capture, which is kept if one of them fails.
    fn run(&mut self, name: &str, bytes: &[u8], commands: &[&[&str]]) -> io::Result<()> {
        let path = self.folder.join("capture");
        fs::write(&path, bytes)?;
        for command in commands {
            let ran = self
                .limited(command)
                .arg(&path)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .output()?;
            if !matches!(ran.status.code(), Some(0..=2)) {
                self.broken += 1;
                let kept = self.folder.join(format!("broken-{}", self.broken));
                fs::copy(&path, &kept)?;
                let said = String::from_utf8_lossy(&ran.stderr).into_owned();
                writeln!(self.out, "{name}: {command:?}: {}, {}", ran.status, kept.display())?;
                writeln!(self.out, "    {}", said.lines().next_back().unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// The program with a command, with the memory limit.
    fn limited(&self, command: &[&str]) -> Command {
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &MEMORY.to_string()]);
        limited.arg(&self.program).args(command).arg("--no-config");
        limited
    }

    /// Millions of sources, generated while they are read: memory must not depend on their number.
    fn crowd(&mut self) -> io::Result<()> {
        writeln!(self.out, "a server that {SOURCES} sources ask")?;
        let mut abuse = self
            .limited(&["abuse", "--format", "json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let made = abuse.stdin.take().map_or(Ok(()), |mut to| crowd(&mut to));
        let ran = abuse.wait_with_output()?;
        let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
        let sources = &report["attacks"][0]["sources"];
        let [count, error] = ["count", "error"].map(|it| sources[it].as_f64().unwrap_or(0.0));
        let off = (count - f64::from(SOURCES)).abs() / f64::from(SOURCES);
        let is_right = error > 0.0 && error < 0.01 && off <= 4.0 * error;
        if made.is_err() || !ran.status.success() || !is_right {
            self.broken += 1;
            writeln!(self.out, "{SOURCES} sources: {}, {made:?}: {report}", ran.status)?;
        }
        Ok(())
    }

    fn done(self, what: &str) -> io::Result<ExitCode> {
        let mebibytes = MEMORY >> 10;
        writeln!(self.out, "{what}, {} runs broken, each within {mebibytes} MiB", self.broken)?;
        Ok(if self.broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn flood() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bulk::write(Input::ManyFlows, Size::Packets(2_000_000), &mut bytes)?;
    Ok(bytes)
}

/// Sources that ask one server, each once.
const SOURCES: u32 = 10_000_000;

/// The capture of these, 50,000 a second.
fn crowd(to: &mut dyn Write) -> io::Result<()> {
    let text = "0 c > s FFFFFFFF 54 'Source Engine Query' 00";
    let one = exchange::capture(text, &Setting::udp(27015)).map_err(io::Error::other)?.pcap();
    // The header of the file, then those of the record, of Ethernet, and of IP.
    let (file, record) = one.split_at(24);
    let mut chunk = file.to_vec();
    for number in 0..SOURCES {
        let begin = chunk.len();
        chunk.extend_from_slice(record);
        let mut set = |at: usize, bytes: [u8; 4]| {
            chunk[begin + at..begin + at + 4].copy_from_slice(&bytes);
        };
        set(0, (1_700_000_000 + number / 50_000).to_le_bytes());
        set(4, (number % 50_000 * 20).to_le_bytes());
        set(16 + 14 + 12, number.wrapping_mul(0x9E37_79B1).to_be_bytes());
        if chunk.len() > 1 << 16 {
            to.write_all(&chunk)?;
            chunk.clear();
        }
    }
    to.write_all(&chunk)
}
