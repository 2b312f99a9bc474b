//! The captures for measurements: generated or given ones, and their first packets.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use captures::bulk::{self, Input, Size, Written};
use nix::sys::statvfs::statvfs;

use crate::bench::options::Options;

/// The magic number of pcap files as most programs write them: little-endian, microseconds.
const MAGIC: [u8; 4] = [0xD4, 0xC3, 0xB2, 0xA1];

/// A capture. A generated one is removed at the end, unless `--keep` is given.
#[derive(Debug)]
pub(super) struct Capture {
    pub(super) path: PathBuf,
    pub(super) holds: Written,
    is_ours: bool,
}

impl Drop for Capture {
    fn drop(&mut self) {
        if self.is_ours {
            fs::remove_file(&self.path).ok();
            // Fails if the folder is not empty.
            self.path.parent().map(fs::remove_dir);
        }
    }
}

impl Capture {
    /// One of the large inputs.
    pub(super) fn input(input: Input, options: &Options) -> io::Result<Self> {
        let Some(given) = &options.given else {
            return Self::make(input.name(), input, Size::Packets(options.packets(input)), options);
        };
        let path = given.join(input.name()).with_extension("pcap");
        let holds = copy(&path, u64::MAX, &mut io::sink())?;
        match options.packets {
            Some(most) if most < holds.packets => {
                let whole = Self { path, holds, is_ours: false };
                whole.first(most, options)
            }
            _ => Ok(Self { path, holds, is_ours: false }),
        }
    }

    /// Makes a capture.
    pub(super) fn make(
        name: &str,
        input: Input,
        size: Size,
        options: &Options,
    ) -> io::Result<Self> {
        Self::new(name, options, |file| bulk::write(input, size, file))
    }

    /// A capture of the first packets of this one.
    pub(super) fn first(&self, packets: u64, options: &Options) -> io::Result<Self> {
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        Self::new(&format!("{name}-{packets}"), options, |file| copy(&self.path, packets, file))
    }

    fn new(
        name: &str,
        options: &Options,
        write: impl FnOnce(&mut dyn Write) -> io::Result<Written>,
    ) -> io::Result<Self> {
        fs::create_dir_all(&options.folder)?;
        let path = options.folder.join(name).with_extension("pcap");
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        let mut capture = Self { path, holds: Written::default(), is_ours: true };
        capture.holds = write(&mut file)?;
        file.flush()?;
        capture.is_ours = !options.keep;
        Ok(capture)
    }
}

/// Free bytes of a folder's file system.
pub(super) fn room(folder: &Path) -> io::Result<u64> {
    let found = statvfs(folder)?;
    Ok((found.blocks_available() as u64).saturating_mul(found.fragment_size() as u64))
}

/// Copies the first records of a pcap file.
fn copy(path: &Path, packets: u64, to: &mut dyn Write) -> io::Result<Written> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(named)?;
    copy_records(BufReader::with_capacity(1 << 20, file), packets, to).map_err(named)
}

fn copy_records(mut from: impl Read, packets: u64, to: &mut dyn Write) -> io::Result<Written> {
    let mut header = [0; 24];
    from.read_exact(&mut header)?;
    if header[..4] != MAGIC {
        let says = "not a pcap file of this machine's byte order and with microseconds";
        return Err(io::Error::new(io::ErrorKind::InvalidData, says));
    }
    to.write_all(&header)?;
    let mut written = Written { packets: 0, bytes: 24 };
    let mut head = [0; 16];
    while written.packets < packets {
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        let length = u64::from(u32::from_le_bytes([head[8], head[9], head[10], head[11]]));
        to.write_all(&head)?;
        if io::copy(&mut from.by_ref().take(length), to)? < length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "cut inside a record"));
        }
        written.packets += 1;
        written.bytes += 16 + length;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packets_are_those_of_a_smaller_capture() {
        let (mut more, mut few) = (Vec::new(), Vec::new());
        let all = bulk::write(Input::Tcp, Size::Packets(50), &mut more).unwrap();
        bulk::write(Input::Tcp, Size::Packets(20), &mut few).unwrap();
        let mut copied = Vec::new();
        assert_eq!(copy_records(&more[..], 20, &mut copied).unwrap().packets, 20);
        assert_eq!(copied, few);
        assert_eq!(copy_records(&more[..], u64::MAX, &mut io::sink()).unwrap(), all);
        assert!(copy_records(&more[..more.len() - 1], u64::MAX, &mut io::sink()).is_err());
        assert!(copy_records(&[0; 24][..], 1, &mut io::sink()).is_err());
    }
}
