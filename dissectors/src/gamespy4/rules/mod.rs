//! The rules of GameSpy 4, by topic, and their one list.

mod exchange;
mod properties;
mod request;
mod response;
mod split;

pub(super) use exchange::*;
pub(super) use properties::*;
pub(super) use request::*;
pub(super) use response::*;
pub(super) use split::*;

use crate::kit::Rule;

/// All of them, by code.
pub(super) static ALL: &[&Rule] = &[
    &GS4001, &GS4002, &GS4003, &GS4004, &GS4005, &GS4006, &GS4007, &GS4008, &GS4009, &GS4010,
    &GS4020, &GS4021, &GS4022, &GS4023, &GS4024, &GS4025, &GS4026, &GS4027, &GS4028, &GS4030,
    &GS4031, &GS4032, &GS4033, &GS4034, &GS4035, &GS4036, &GS4037, &GS4038,
];
