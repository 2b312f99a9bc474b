//! The rules of the protocol, by topic, and their list. Rules have no state: their inputs are
//! fields or results of the conversation.

/// A query, and the reply to it.
macro_rules! listed {
    ($query:literal) => {
        concat!("0.00 c > m  ", $query, "\n0.02 m > c  FFFFFFFF 660A ip:10.0.0.2:27015 00*6")
    };
}

/// The reply to a query for everything.
macro_rules! replied {
    ($reply:literal) => {
        concat!("0.00 c > m  31 FF '0.0.0.0:0' 00 00\n0.02 m > c  ", $reply)
    };
}

/// The first page of a list, from a query for everything, and what follows.
macro_rules! paged {
    ($rest:literal) => {
        concat!(
            "0.00 c > m  31 FF '0.0.0.0:0' 00 00\n",
            "0.02 m > c  FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27015\n",
            $rest
        )
    };
}

/// A GoldSrc server's description after its challenge, without the keys that a rule is about.
macro_rules! goldsrc {
    ($challenge:literal) => {
        concat!(
            r"30 0A '\\protocol\\47\\challenge\\",
            $challenge,
            r"\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0",
            r"\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\cstrike' 0A"
        )
    };
}

/// A join, its challenge, and what the server sends with it.
macro_rules! joined {
    ($($response:expr),+) => {
        concat!(
            "0.00 s:27015 > m  71\n",
            "0.02 m > s:27015  FFFFFFFF 730A le32:1339895702\n",
            "0.03 s:27015 > m  ",
            $($response),+
        )
    };
}

/// A whole join of a GoldSrc server, and what follows.
macro_rules! registered {
    ($($rest:expr),+) => {
        joined!(goldsrc!("1339895702"), "\n", $($rest),+)
    };
}

mod exchange;
mod heartbeat;
mod info;
mod join;
mod paging;
mod query;
mod reply;

pub(super) use exchange::*;
pub(crate) use heartbeat::*;
pub(super) use info::*;
pub(super) use join::*;
pub(super) use paging::*;
pub(super) use query::*;
pub(super) use reply::*;

use crate::kit::Rule;

/// All of them, by code.
pub(super) static ALL: &[&Rule] = &[
    &VM001, &VM002, &VM003, &VM004, &VM005, &VM006, &VM010, &VM011, &VM012, &VM013, &VM014, &VM015,
    &VM016, &VM017, &VM020, &VM021, &VM022, &VM023, &VM024, &VM025, &VM026, &VM027, &VM028, &VM030,
    &VM031, &VM032, &VM033, &VM034, &VM035, &VM036, &VM037, &VM040, &VM041, &VM042, &VM043, &VM044,
    &VM045, &VM046, &VM047, &VM048, &VM049, &VM050, &VM051, &VM052,
];
