//! Writes captured packets to files: pcap, or pcapng by file extension, with or without rotation.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::outputs::OutputPlace;
use super::queue::QueueCounts;
use crate::capture::write;

/// Maximum number of names that are tried for the next file of a rotation.
const NAMES: u64 = 1000;

/// The files to write, and when the next one starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// The name; with rotation, a number and a time are inserted before its extension.
    pub path: PathBuf,
    /// Maximum duration of a file in seconds.
    pub seconds: Option<u64>,
    /// Maximum size of a file in bytes.
    pub bytes: Option<u64>,
    /// Number of files to keep, the newest ones.
    pub files: Option<usize>,
}

impl FilePlan {
    /// Whether there may be several files.
    pub fn rotates(&self) -> bool {
        self.seconds.is_some() || self.bytes.is_some()
    }

    /// The name of a file of a rotation: `game_00001_20261121030000.pcap`.
    fn name(&self, number: u64, time: i64) -> PathBuf {
        let time = jiff::Timestamp::from_nanosecond(time.into()).unwrap_or_default();
        let mut name = self.path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("_{number:05}_{}", time.strftime("%Y%m%d%H%M%S")));
        if let Some(ending) = self.path.extension() {
            name.push(".");
            name.push(ending);
        }
        self.path.with_file_name(name)
    }

    /// Creates a file of a rotation, with this number or a later one: no file is overwritten.
    fn create(
        &self,
        folder: &OutputPlace,
        number: u64,
        time: i64,
    ) -> io::Result<(File, PathBuf, u64)> {
        let mut at = number;
        loop {
            let path = self.name(at, time);
            match folder.create_anew(&path) {
                Ok(file) => return Ok((file, path, at)),
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && at < number + NAMES =>
                {
                    at += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The device, for the headers of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceDescription {
    pub(super) interface: String,
    /// The link type in the numbering of capture files.
    pub(super) link: u16,
    pub(super) snaplen: u32,
    /// Digits of a second: 6 or 9.
    pub(super) digits: u8,
}

/// Writes the files of a plan.
pub(super) struct FileWriter {
    plan: FilePlan,
    description: DeviceDescription,
    folder: Arc<OutputPlace>,
    file: BufWriter<File>,
    path: PathBuf,
    /// Bytes in this file.
    written: u64,
    /// When it was started.
    started: i64,
    number: u64,
    older: VecDeque<PathBuf>,
    /// A file that could not be removed, and why.
    not_removed: Option<(PathBuf, io::Error)>,
}

impl FileWriter {
    /// Starts the first file in its folder. `file`: it is open already, and at this path.
    pub(super) fn new(
        plan: FilePlan,
        folder: Arc<OutputPlace>,
        file: Option<(File, PathBuf)>,
        description: DeviceDescription,
        now: i64,
    ) -> io::Result<FileWriter> {
        let (file, path, number) = match file {
            Some((file, path)) => (file, path, 1),
            None => plan.create(&folder, 1, now)?,
        };
        let mut writer = FileWriter {
            plan,
            description,
            folder,
            file: empty(file)?,
            path,
            written: 0,
            started: now,
            number,
            older: VecDeque::new(),
            not_removed: None,
        };
        writer.head()?;
        Ok(writer)
    }

    /// A file beyond the number to keep that could not be removed, and why; each is told once.
    pub(super) fn not_removed(&mut self) -> Option<(PathBuf, io::Error)> {
        self.not_removed.take()
    }

    /// The current file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn is_pcapng(&self) -> bool {
        self.plan.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pcapng"))
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn head(&mut self) -> io::Result<()> {
        self.written = 0;
        let DeviceDescription { link, snaplen, digits, .. } = self.description;
        if self.is_pcapng() {
            let mut blocks = Vec::new();
            write::section(&mut blocks);
            let name = Some(self.description.interface.as_str());
            write::interface(name, link, snaplen, digits, 0, &mut blocks);
            self.put(&blocks)?;
            return self.flush();
        }
        let magic: u32 = if digits == 9 { 0xA1B2_3C4D } else { 0xA1B2_C3D4 };
        let head = [
            &magic.to_le_bytes()[..],
            &[2, 0, 4, 0],
            &[0; 8],
            &snaplen.to_le_bytes(),
            &u32::from(link).to_le_bytes(),
        ];
        self.put(&head.concat())?;
        self.flush()
    }

    fn block(&mut self, number: u32, body: &[u8]) -> io::Result<()> {
        let mut block = Vec::with_capacity(body.len() + 16);
        write::block(number, body, &mut block);
        self.put(&block)
    }

    /// A packet. `time` is in nanoseconds since 1970.
    pub(super) fn packet(&mut self, time: i64, length: u32, data: &[u8]) -> io::Result<()> {
        let full = self.plan.bytes.is_some_and(|bytes| self.written >= bytes)
            || self.plan.seconds.is_some_and(|seconds| {
                time.saturating_sub(self.started) / 1_000_000_000 >= seconds.min(1 << 40) as i64
            });
        if full {
            self.next(time)?;
        }
        let digits = self.description.digits;
        let unit = if digits == 9 { 1 } else { 1000 };
        let captured = data.len() as u32;
        if self.is_pcapng() {
            let ticks = (time / unit) as u64;
            let numbers = [0, (ticks >> 32) as u32, ticks as u32, captured, length];
            let mut body: Vec<u8> =
                numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            body.extend_from_slice(data);
            return self.block(6, &body);
        }
        let second = time.div_euclid(1_000_000_000) as u32;
        let fraction = (time.rem_euclid(1_000_000_000) / unit) as u32;
        for number in [second, fraction, captured, length] {
            self.put(&number.to_le_bytes())?;
        }
        self.put(data)
    }

    /// Makes all written packets visible to readers of the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Ends the file; pcapng has the counters, too.
    pub(super) fn end(&mut self, now: i64, counts: QueueCounts) -> io::Result<()> {
        if self.is_pcapng() {
            let unit = if self.description.digits == 9 { 1 } else { 1000 };
            let ticks = (now / unit) as u64;
            let numbers = [0, (ticks >> 32) as u32, ticks as u32];
            let mut body: Vec<u8> =
                numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            write::option(4, &(counts.captured + counts.lost()).to_le_bytes(), &mut body);
            write::option(5, &counts.dropped_by_interface.to_le_bytes(), &mut body);
            write::option(7, &(counts.dropped + counts.missed).to_le_bytes(), &mut body);
            write::option(0, &[], &mut body);
            self.block(5, &body)?;
        }
        self.flush()
    }

    /// Goes on in a new file if the current one was renamed or removed, else in the same. After an error, the
    /// current file stays in use. No file is overwritten.
    pub(super) fn reopen(&mut self, now: i64) -> io::Result<()> {
        self.flush()?;
        if self.folder.has(&self.path, self.file.get_ref())? {
            return Ok(());
        }
        if self.plan.rotates() {
            return self.next(now);
        }
        let file = self.folder.create_anew(&self.path)?;
        self.begin(file, now)
    }

    /// Starts the next file of the rotation. After an error, the current one stays in use.
    fn next(&mut self, now: i64) -> io::Result<()> {
        self.flush()?;
        let (file, path, number) = self.plan.create(&self.folder, self.number + 1, now)?;
        self.number = number;
        self.older.push_back(std::mem::replace(&mut self.path, path));
        self.remove_older();
        self.begin(file, now)
    }

    fn begin(&mut self, file: File, now: i64) -> io::Result<()> {
        self.file = empty(file)?;
        self.started = now;
        self.head()
    }

    /// Removes the oldest files beyond the number to keep.
    fn remove_older(&mut self) {
        let Some(files) = self.plan.files else { return self.older.clear() };
        while self.older.len() >= files.max(1) {
            let Some(oldest) = self.older.pop_front() else { return };
            match self.folder.remove(&oldest) {
                // It was moved away.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => self.not_removed = Some((oldest, error)),
                Ok(()) => {}
            }
        }
    }
}

/// Truncates a file, and buffers it. A pipe or a device has no length.
fn empty(file: File) -> io::Result<BufWriter<File>> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(BufWriter::with_capacity(1 << 16, file))
}

#[cfg(test)]
mod tests {
    use crate::capture::{self, Event, Notice};

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let name = format!("gamewire-write-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn writer(plan: FilePlan, digits: u8, now: i64) -> FileWriter {
        let folder = OutputPlace::open(plan.path.parent().unwrap()).unwrap();
        // A single file is opened before.
        let single = (!plan.rotates()).then(|| plan.path.clone());
        let file = single.map(|path| (File::create(&path).unwrap(), path));
        FileWriter::new(plan, Arc::new(folder), file, description(digits), now).unwrap()
    }

    fn description(digits: u8) -> DeviceDescription {
        DeviceDescription { interface: "lo".to_owned(), link: 1, snaplen: 262_144, digits }
    }

    /// Times, lengths and bytes of a file's packets, as gamewire reads them; and its dropped ones.
    fn read(path: &Path) -> (Vec<(i64, u32, Vec<u8>)>, u64) {
        let mut packets = capture::open(path).unwrap();
        let (mut read, mut dropped) = (Vec::new(), 0);
        while let Some(event) = packets.next() {
            match event {
                Event::Packet(p) => read.push((p.time, p.original_length, p.data.to_vec())),
                Event::Notice(Notice::Drops { count, .. }) => dropped = count,
                Event::Notice(other) => panic!("{other}"),
            }
        }
        (read, dropped)
    }

    #[test]
    fn written_packets_read_back() {
        let folder = folder("back");
        for (name, digits) in [("a.pcap", 6), ("b.pcap", 9), ("c.pcapng", 6), ("d.pcapng", 9)] {
            let path = folder.join(name);
            let plan = FilePlan { path: path.clone(), ..FilePlan::default() };
            let time = 1_795_000_000_123_456_000 + i64::from(digits == 9) * 789;
            let mut writer = writer(plan, digits, time);
            for n in 0..5 {
                writer.packet(time + n * 1_000_000, 1500, &vec![n as u8; n as usize]).unwrap();
            }
            writer.flush().unwrap();
            assert_eq!(read(&path).0.len(), 5, "readable up to the last packet");
            let counts =
                QueueCounts { captured: 5, dropped: 2, missed: 1, ..QueueCounts::default() };
            writer.end(time, counts).unwrap();
            let (packets, dropped) = read(&path);
            let expected: Vec<_> =
                (0..5).map(|n| (time + n * 1_000_000, 1500, vec![n as u8; n as usize])).collect();
            assert_eq!(packets, expected, "{name}");
            assert_eq!(dropped, if name.ends_with("ng") { 3 } else { 0 });
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn full_files_are_rotated() {
        let folder = folder("rotate");
        let path = folder.join("game.pcap");
        let plan = FilePlan { path, seconds: Some(10), bytes: Some(300), files: Some(2) };
        let start = 1_795_000_000_000_000_000;
        let mut writer = writer(plan, 9, start);
        // Three packets of 116 bytes fill a file; the fourth starts the next one, the fifth is too late for it.
        for (second, data) in
            [(0, [0; 100]), (1, [1; 100]), (2, [2; 100]), (3, [3; 100]), (30, [4; 100])]
        {
            writer.packet(start + second * 1_000_000_000, 100, &data).unwrap();
        }
        writer.end(start, QueueCounts::default()).unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["game_00002_20261118110643.pcap", "game_00003_20261118110710.pcap"]);
        let first = |name: &std::ffi::OsString| read(&folder.join(name)).0[0].2[0];
        assert_eq!(names.iter().map(first).collect::<Vec<_>>(), [3, 4]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_removed_is_reported_once() {
        let folder = folder("stays");
        let path = folder.join("game.pcap");
        let plan = FilePlan { path, seconds: Some(10), bytes: None, files: Some(1) };
        let mut writer = writer(plan, 9, 0);
        // A folder is in its place.
        let first = writer.path().to_owned();
        std::fs::remove_file(&first).unwrap();
        std::fs::create_dir(&first).unwrap();
        writer.next(1_000_000_000).unwrap();
        let (path, _) = writer.not_removed().unwrap();
        assert_eq!(path, first);
        // One that was moved away is none of these.
        std::fs::remove_file(writer.path()).unwrap();
        writer.next(2_000_000_000).unwrap();
        assert!(writer.not_removed().is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// A writer that has written one packet.
    fn begun(plan: &FilePlan) -> FileWriter {
        let mut writer = writer(plan.clone(), 6, 0);
        writer.packet(0, 1, b"a").unwrap();
        writer
    }

    fn first(path: &Path) -> Vec<Vec<u8>> {
        read(path).0.into_iter().map(|(_, _, bytes)| bytes).collect()
    }

    #[test]
    fn a_file_is_reopened_if_its_name_is_no_longer_its_own() {
        let folder = folder("anew");
        for name in ["game.pcap", "game.pcapng"] {
            let [path, old] = [name, "old"].map(|name| folder.join(name));
            let plan = FilePlan { path: path.clone(), ..FilePlan::default() };
            let mut writer = begun(&plan);
            writer.reopen(0).unwrap();
            writer.packet(0, 1, b"b").unwrap();
            writer.flush().unwrap();
            assert_eq!(first(&path), [b"a", b"b"], "it was not renamed");
            std::fs::rename(&path, &old).unwrap();
            std::fs::write(&path, "of others").unwrap();
            assert_eq!(writer.reopen(0).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            writer.packet(0, 1, b"c").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"of others");
            std::fs::remove_file(&path).unwrap();
            writer.reopen(0).unwrap();
            writer.packet(0, 1, b"d").unwrap();
            writer.end(0, QueueCounts::default()).unwrap();
            assert_eq!(first(&old), [b"a", b"b", b"c"]);
            assert_eq!(first(&path), [b"d"]);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_of_a_rotation_overwrite_no_others() {
        let folder = folder("others");
        let plan =
            FilePlan { path: folder.join("game.pcap"), bytes: Some(40), ..FilePlan::default() };
        let name = |number| plan.name(number, 0);
        for number in [1, 3] {
            std::fs::write(name(number), "of others").unwrap();
        }
        let mut writer = begun(&plan);
        writer.reopen(0).unwrap();
        assert_eq!(writer.path(), name(2), "it was not renamed");
        std::fs::rename(name(2), folder.join("old")).unwrap();
        writer.reopen(0).unwrap();
        assert_eq!(writer.path(), name(4));
        writer.packet(0, 1, b"b").unwrap();
        writer.packet(0, 1, b"c").unwrap();
        writer.end(0, QueueCounts::default()).unwrap();
        assert_eq!(first(&folder.join("old")), [b"a"]);
        for (number, bytes) in [(4, b"b"), (5, b"c")] {
            assert_eq!(first(&name(number)), [bytes]);
        }
        for number in [1, 3] {
            assert_eq!(std::fs::read(name(number)).unwrap(), b"of others");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
