//! The rules of A2S, by topic, and their list. Rules have no state: their inputs are fields, and what the conversation
//! knows.

/// A player request that is answered by these bytes, after the challenge the specification asks
/// for.
macro_rules! players_answered {
    ($response:literal) => {
        concat!(
            "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n",
            "0.02 s > c  FFFFFFFF 41 4BA1D522\n",
            "0.03 c > s  FFFFFFFF 55 4BA1D522\n",
            "0.05 s > c  ",
            $response
        )
    };
}

/// The same for a rules request.
macro_rules! rules_answered {
    ($response:literal) => {
        concat!(
            "0.00 c > s  FFFFFFFF 56 FFFFFFFF\n",
            "0.02 s > c  FFFFFFFF 41 4BA1D522\n",
            "0.03 c > s  FFFFFFFF 56 4BA1D522\n",
            "0.05 s > c  ",
            $response
        )
    };
}

/// An info request that is answered by these bytes.
macro_rules! info_answered {
    ($response:literal) => {
        concat!(
            "0.00 c > s  FFFFFFFF 54 'Source Engine Query' 00\n",
            "0.02 s > c  FFFFFFFF ",
            $response
        )
    };
}

mod abuse;
mod challenge;
mod exchange;
mod info;
mod layout;
mod lists;
mod split;

pub(crate) use abuse::*;
pub(crate) use challenge::*;
pub(crate) use exchange::*;
pub(super) use info::*;
pub(super) use layout::*;
pub(super) use lists::*;
pub(crate) use split::*;

use crate::kit::Rule;

/// All of them, by code.
pub(super) static ALL: &[&Rule] = &[
    &A2S001, &A2S002, &A2S003, &A2S004, &A2S005, &A2S006, &A2S007, &A2S008, &A2S010, &A2S011,
    &A2S012, &A2S013, &A2S014, &A2S015, &A2S016, &A2S017, &A2S018, &A2S019, &A2S020, &A2S021,
    &A2S022, &A2S023, &A2S024, &A2S025, &A2S026, &A2S027, &A2S030, &A2S031, &A2S032, &A2S033,
    &A2S034, &A2S040, &A2S041, &A2S042, &A2S043, &A2S044, &A2S045, &A2S046, &A2S047, &A2S048,
    &A2S050, &A2S051, &A2S052, &A2S053, &A2S054, &A2S055, &A2S060, &A2S061, &A2S062, &A2S063,
    &A2S064, &A2S065, &A2S066, &A2S067, &SEC001, &SEC002, &SEC003,
];
