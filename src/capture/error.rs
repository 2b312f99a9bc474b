//! Why a capture cannot be read.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use super::interrupt::was_interrupted;
use super::notice::shown;
use crate::why;

/// Why a capture cannot be read at all. Each error names the file, the fault, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("{}: {}", shown(path), unreadable(error))]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Reading was interrupted before the first packet.
    #[error("{}: interrupted before anything came", shown(path))]
    Interrupted {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a capture.
    #[error(
        "{}: not a capture file: it {seems}; give a pcap or pcapng file, as tcpdump -w writes it",
        shown(path)
    )]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What kind of file it seems to be.
        seems: &'static str,
    },
    /// The file is a capture of a version that cannot be read.
    #[error("{}: {what}; convert it with a current version of the recorder", shown(path))]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not supported.
        what: String,
    },
}

/// Why a capture cannot be opened.
pub(super) fn unopened(path: &Path, error: io::Error) -> CaptureError {
    let path = path.to_owned();
    match was_interrupted(&error) {
        true => CaptureError::Interrupted { path },
        false => CaptureError::Open { path, error },
    }
}

/// The text for a failed read. An error that is not the system's comes from the decompressor: the
/// capture is damaged.
pub(super) fn unreadable(error: &io::Error) -> Cow<'static, str> {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
            if error.raw_os_error().is_none() =>
        {
            format!("{error}: the file is damaged; fetch it again").into()
        }
        _ => why::unreadable(error),
    }
}

/// A capture format of another recorder.
macro_rules! recorder {
    ($name:literal) => {
        concat!("seems to be a capture of ", $name, ": convert it with editcap -F pcap")
    };
}

/// The kind of a file that is not a capture, by its first bytes.
pub(super) fn seems(bytes: &[u8]) -> &'static str {
    const MAGICS: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "seems to be a zip archive: unpack it first"),
        (b"\xFD7zXZ\0", "seems to be compressed with xz: unpack it first"),
        (b"\x04\x22\x4D\x18", "seems to be compressed with lz4: unpack it first"),
        (b"BZh", "seems to be compressed with bzip2: unpack it first"),
        (b"7z\xBC\xAF\x27\x1C", "seems to be a 7z archive: unpack it first"),
        (b"\x7FELF", "seems to be a program"),
        (b"MZ", "seems to be a Windows program"),
        (b"%PDF", "seems to be a PDF document"),
        (b"\x89PNG", "seems to be a picture"),
        (b"snoop\0\0\0", recorder!("Solaris snoop")),
        (b"GMBU", recorder!("Microsoft Network Monitor")),
        (b"RTSS", recorder!("Microsoft Network Monitor")),
        (b"TRSNIFF data", recorder!("a Network General Sniffer")),
        (b"\x1C\x00\x01", recorder!("an Ixia device")),
        (b"\xAC\x01\x00\x1C", recorder!("an Ixia device")),
        (b"\xAB\x01\x00\x1C", recorder!("an Ixia device")),
        (b"XCP\0", recorder!("NetXray")),
        (b"VL\0\0", recorder!("NetXray")),
        (b"iptrace ", recorder!("AIX iptrace")),
        (b"\x05VNF", recorder!("Visual Networks")),
        (b"\x7Fver", recorder!("OmniPeek")),
        (b"ObserverPktBufferVersion=", recorder!("Network Instruments Observer")),
        (b"btsnoop\0", recorder!("Bluetooth (btsnoop)")),
        (b"\0\0\x02\0\x12\x05\0\x10", recorder!("a Tektronix K12")),
        (b"+---------+---------------+", recorder!("a Tektronix K12, as text")),
        (b"\xAA\xAA\xAA\xAA", recorder!("Accellent 5Views")),
        (b"\x01\x10\x4C\0\x01\x05", recorder!("Novell LANalyzer")),
        (b"TR\0d\0", recorder!("HP-UX nettl")),
        (b"SQLite format 3", "seems to be a SQLite database"),
        // Compressed data is decompressed before this function is called.
        (b"\x1F\x8B", "is compressed twice: unpack it first"),
        (b"\x28\xB5\x2F\xFD", "is compressed twice: unpack it first"),
        (b"\n\r\r\n", "begins as a pcapng file and is damaged after that"),
    ];
    if bytes.is_empty() {
        return "is empty";
    }
    if let Some((_, seems)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return seems;
    }
    if is_erf(bytes) {
        return recorder!("a DAG card (ERF)");
    }
    if is_commview(bytes) {
        return recorder!("CommView");
    }
    if bytes.get(257..).is_some_and(|bytes| bytes.starts_with(b"ustar")) {
        return "seems to be a tar archive: unpack it first";
    }
    let printable = |byte: &&u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7E | 0x80..);
    if bytes.iter().filter(printable).count() == bytes.len() && bytes.iter().any(u8::is_ascii) {
        return "seems to be text";
    }
    "begins with bytes of no format known here"
}

/// Whether records of a format without a magic number begin here: three plausible records in a row,
/// or two if there are no more. `length`: the length of the record at the start, if it is
/// plausible.
fn are_records(mut bytes: &[u8], mut length: impl FnMut(&[u8]) -> Option<usize>) -> bool {
    let mut count = 0;
    while let Some(rest) = length(bytes).and_then(|length| bytes.get(length..)) {
        (count, bytes) = (count + 1, rest);
        if count == 3 {
            return true;
        }
    }
    count == 2 && bytes.is_empty()
}

/// Whether records of ERF begin here.
fn is_erf(bytes: &[u8]) -> bool {
    /// 1990, in seconds since 1970; a week.
    const EARLIEST: u32 = 631_152_000;
    const WEEK: u32 = 7 * 24 * 3600;
    /// Known record types; these two carry no packet.
    const LAST: u8 = 48;
    const WITHOUT_PACKET: [u8; 2] = [27, 48];
    let mut before = None;
    are_records(bytes, |bytes| {
        let &[_, _, _, _, t0, t1, t2, t3, kind, _, r0, r1, _, _, w0, w1] = bytes.first_chunk()?;
        let (seconds, kind) = (u32::from_le_bytes([t0, t1, t2, t3]), kind & 0x7F);
        let [recorded, sent] = [[r0, r1], [w0, w1]].map(u16::from_be_bytes);
        let is_in_order = |before: u32| {
            (before.saturating_sub(1)..=before.saturating_add(WEEK)).contains(&seconds)
        };
        let is_record = (1..=LAST).contains(&kind)
            && recorded >= 16
            && (sent > 0 || WITHOUT_PACKET.contains(&kind))
            && seconds >= EARLIEST
            && before.replace(seconds).is_none_or(is_in_order);
        is_record.then_some(recorded.into())
    })
}

/// Whether records of CommView begin here: those of NCF, or of NCFX.
fn is_commview(bytes: &[u8]) -> bool {
    let ncf = |bytes: &[u8]| {
        let head: &[u8; 24] = bytes.first_chunk()?;
        let length = u16::from_le_bytes(*head.first_chunk()?);
        let is_record = head[4] == 0 && is_date(&head[5..16]) && head[16] & 0x8F <= 2;
        is_record.then_some(head.len() + usize::from(length))
    };
    let ncfx = |bytes: &[u8]| {
        let head: &[u8; 20] = bytes.first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*head.first_chunk()?)).ok()?;
        let is_record = is_date(&head[4..15]) && head[15] <= 2;
        is_record.then(|| head.len().saturating_add(length))
    };
    are_records(bytes, ncf) || are_records(bytes, ncfx)
}

/// Whether this is a plausible date and time of CommView: year, month, day, hour, minute, second,
/// microseconds.
fn is_date(bytes: &[u8]) -> bool {
    let &[y0, y1, month, day, hour, minute, second, u0, u1, u2, u3] = bytes else { return false };
    (1990..2038).contains(&u16::from_le_bytes([y0, y1]))
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 60
        && u32::from_le_bytes([u0, u1, u2, u3]) < 1_000_000
}
