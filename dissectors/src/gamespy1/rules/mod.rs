//! The rules of the protocol, by topic, and their list. Rules have no state: their inputs are
//! fields or results of the conversation.

/// A client that has answered the master's challenge, and what follows.
macro_rules! validated {
    ($($rest:literal),+) => {
        concat!(
            r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'", "\n",
            r"0.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'",
            $("\n", $rest),+
        )
    };
}

/// The list for it, and what follows.
macro_rules! listed {
    ($list:literal $(, $rest:literal)*) => {
        concat!(
            validated!(r"0.03 c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'"), "\n",
            "0.05 m:28900 > c  tcp '", $list, "'", $($rest),*
        )
    };
}

/// A game server's first heartbeat, the master's challenge, and what follows.
macro_rules! challenged {
    ($($rest:literal),+) => {
        concat!(
            r"0.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'", "\n",
            r"0.02 m > s:7778  '\\basic\\\\secure\\l8jfVy'",
            $("\n", $rest),+
        )
    };
}

/// A validated game server, and what follows.
macro_rules! registered {
    ($($rest:literal),*) => {
        challenged!(
            r"0.03 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\validate\\SAaJHX96\\final\\'"
            $(, $rest)*
        )
    };
}

mod challenge;
mod listing;
mod query;
mod text;
mod uplink;

pub(super) use challenge::*;
pub(crate) use listing::*;
pub(crate) use query::*;
pub(super) use text::*;
pub(super) use uplink::*;

use crate::kit::Rule;

/// All of them, by code.
pub(super) static ALL: &[&Rule] = &[
    &GS1001, &GS1002, &GS1003, &GS1004, &GS1005, &GS1006, &GS1010, &GS1011, &GS1012, &GS1013,
    &GS1014, &GS1015, &GS1016, &GS1017, &GS1018, &GS1019, &GS1020, &GS1021, &GS1022, &GS1023,
    &GS1024, &GS1025, &GS1026, &GS1027, &GS1030, &GS1031, &GS1032, &GS1033, &GS1034,
];
