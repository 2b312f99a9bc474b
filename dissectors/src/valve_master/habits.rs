//! The habits of programs that request lists.

use crate::kit::{Bytes, Habit};

pub(super) static HABITS: &[Habit] =
    &[Habit { library: "Xash3D", sends: &[Bytes::Containing(b"\\clver\\")] }];
