//! The names that programs use for themselves.

use crate::kit::{Bytes, Habit};

pub(super) static HABITS: &[Habit] = &[
    Habit {
        library: "AssaultCube Reloaded",
        sends: &[Bytes::Containing(b"\r\nUser-Agent: ACR-Client/")],
    },
    Habit { library: "curl", sends: &[Bytes::Containing(b"\r\nUser-Agent: curl/")] },
];
