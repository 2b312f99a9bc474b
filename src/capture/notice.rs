//! Faults in a recording that are found while reading.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::text::escaped;

/// A fact about the recording that verdicts depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// The file ends inside a record.
    FileCut {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        offset: u64,
        /// The offset counts decompressed bytes.
        unpacked: bool,
    },
    /// A record or block is invalid and was skipped, or ends the reading.
    BrokenBlock {
        /// The file.
        path: PathBuf,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        what: Cow<'static, str>,
    },
    /// The recorder reports how many packets it dropped.
    Drops {
        /// The file.
        path: PathBuf,
        /// The interface in its file, as numbered for packets.
        interface: u32,
        /// The total until now: the last report of an interface counts. 0 means none.
        count: u64,
    },
    /// The interface was down for a while: packets in that time were not captured.
    InterfaceDown {
        /// Its name.
        path: PathBuf,
    },
    /// A packet's time does not fit in 64 bits of nanoseconds, and was replaced by the nearest that
    /// does. Reported once per file.
    TimeOutOfRange {
        /// The file.
        path: PathBuf,
        /// Where the packet's block begins.
        offset: u64,
    },
    /// Packets come behind later ones. Reported once per file.
    Unordered {
        /// The file.
        path: PathBuf,
        /// They are put in order: of a pipe, they are not.
        is_mended: bool,
    },
    /// The file became shorter while it was read.
    FileShrank {
        /// The file.
        path: PathBuf,
        /// Where reading stopped.
        offset: u64,
    },
    /// Reading was interrupted.
    Interrupted {
        /// The file.
        path: PathBuf,
        /// Packets that were read.
        packets: u64,
    },
    /// One of several files could not be opened when its packets were next: it was not read.
    Unopened {
        /// The file.
        path: PathBuf,
        /// The system's error, and what to do.
        what: String,
    },
    /// Reading or decompressing failed.
    ReadError {
        /// The file.
        path: PathBuf,
        /// Where reading stopped.
        offset: u64,
        /// The offset counts decompressed bytes.
        unpacked: bool,
        /// The error of the system or the decompressor, and what to do.
        what: String,
    },
}

impl Notice {
    /// The plural for this kind of notice.
    pub fn kind(&self) -> &'static str {
        match self {
            Notice::FileCut { .. } => "files that end inside a record",
            Notice::BrokenBlock { .. } => "broken records",
            Notice::Drops { .. } => "reports of dropped packets",
            Notice::InterfaceDown { .. } => "times that the interface was down",
            Notice::TimeOutOfRange { .. } => "files with times outside of the years 1677 to 2262",
            Notice::Unordered { .. } => "files whose packets are out of order",
            Notice::FileShrank { .. } => "files that became shorter",
            Notice::Interrupted { .. } => "files whose reading was interrupted",
            Notice::Unopened { .. } => "files that could not be opened",
            Notice::ReadError { .. } => "files whose reading stopped",
        }
    }

    /// Whether it is a fault of the recording.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Notice::Drops { count: 0, .. })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::FileCut { path, offset, unpacked } => write!(
                f,
                "{}: the file ends inside the record at byte {offset}{}; everything before it was \
                 read",
                shown(path),
                of_what(*unpacked)
            ),
            Notice::BrokenBlock { path, offset, what } => {
                write!(f, "{}: at byte {offset}: {what}", shown(path))
            }
            Notice::Drops { path, interface, count } => {
                let packets = if *count == 1 { "packet" } else { "packets" };
                let path = shown(path);
                write!(f, "{path}: the recorder dropped {count} {packets} of interface {interface}")
            }
            Notice::InterfaceDown { path } => {
                write!(f, "{}: the interface was down; what came meanwhile is missing", shown(path))
            }
            Notice::TimeOutOfRange { path, offset } => write!(
                f,
                "{}: the packet at byte {offset} has a time outside of the years 1677 to 2262",
                shown(path)
            ),
            Notice::Unordered { path, is_mended: true } => write!(
                f,
                "{}: its packets are out of order; they are read in the order of time, and numbered so, as in a \
                 file that `reordercap` has written",
                shown(path)
            ),
            Notice::Unordered { path, is_mended: false } => write!(
                f,
                "{}: its packets are out of order, so that responses may seem to be missing; those of a file are read \
                 in the order of time",
                shown(path)
            ),
            Notice::FileShrank { path, offset } => write!(
                f,
                "{}: the file became shorter while it was read; reading stopped at byte {offset}",
                shown(path)
            ),
            Notice::Interrupted { path, packets } => {
                let path = shown(path);
                write!(f, "{path}: interrupted after {packets} packets; what follows was not read")
            }
            Notice::Unopened { path, what } => {
                write!(f, "{}: none of it was read: {}", shown(path), escaped(what))
            }
            Notice::ReadError { path, offset, unpacked, what } => {
                let (path, of_what) = (shown(path), of_what(*unpacked));
                write!(f, "{path}: reading stopped at byte {offset}{of_what}: {}", escaped(what))
            }
        }
    }
}

/// Which bytes the offset counts, if not those of the file.
fn of_what(unpacked: bool) -> &'static str {
    if unpacked { " of what it unpacks to" } else { "" }
}

/// A path with terminal controls escaped.
pub(crate) fn shown(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => escaped(&path.to_string_lossy()).into_owned(),
    }
}
