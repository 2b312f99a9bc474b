//! The habits of query libraries: their timestamps, which never change.

use crate::kit::{Bytes, Habit};

pub(super) static HABITS: &[Habit] = &[
    Habit { library: "qstat", sends: &[Bytes::Exactly(b"\xFE\xFD\x09\x10\x20\x30\x40")] },
    Habit {
        library: "qstat",
        sends: &[Bytes::Around(b"\xFE\xFD\0\x10\x20\x30\x40", 0, b"\xFF\xFF\xFF\x01")],
    },
    Habit { library: "opengsq", sends: &[Bytes::Exactly(b"\xFE\xFD\x09\x04\x05\x06\x07")] },
    Habit {
        library: "opengsq",
        sends: &[Bytes::Around(b"\xFE\xFD\0\x04\x05\x06\x07", 0, b"\xFF\xFF\xFF\x01")],
    },
    // Four bytes without a meaning follow.
    Habit { library: "gamedig", sends: &[Bytes::Exactly(b"\xFE\xFD\x09\0\0\0\x01\0\0\0\0")] },
];
