//! The habits of programs that request lists.

use crate::kit::{Bytes, Habit};

pub(super) static HABITS: &[Habit] =
    &[Habit { library: "GameSpy SDK", sends: &[Bytes::Containing(b"\\where\\")] }];
