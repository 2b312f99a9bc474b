//! The rules of the protocol, by topic, and their list. Rules have no state: their inputs are
//! fields or results of the conversation.

/// A request on a connection of its own, and its response. `at`: the second in which it begins.
macro_rules! asked {
    ($at:literal, $from:literal $target:literal => $($body:literal)+) => {
        concat!(
            $at, ".00 ", $from, " > m  tcp 'GET ", $target, r" HTTP/1.0\r\n\r\n'", "\n",
            $at, ".02 m > ", $from, r"  tcp 'HTTP/1.0 200 OK\r\n\r\n' ", $($body, " ",)+ "fin\n"
        )
    };
}

/// A game server registers, and the master checks whether it can be reached.
macro_rules! registered {
    ($($rest:expr),* $(,)?) => {
        concat!(
            r"0.00 s:40000 > m  tcp 'GET /r?v=140&g=180300&p=28770 HTTP/1.0\r\n\r\n'", "\n",
            "0.01 m:41000 > s:28771  udp 01\n",
            "0.02 s:28771 > m:41000  udp 01 'AC'\n",
            r"0.03 m > s:40000  tcp 'HTTP/1.0 200 OK\r\n\r\nserver registered' fin", "\n",
            $($rest),*
        )
    };
}

/// A registered server requests a challenge for user 42, request 7.
macro_rules! challenged {
    ($($rest:expr),* $(,)?) => {
        registered!(
            asked!("1", "s:40001" "/a?p=28770&a=::ffff:192.0.2.127&i=7&u=42" => "'*c' 'ab'*128" r"'\n*a\n'"),
            $($rest),*
        )
    };
}

/// Text from the wire, for findings.
fn lossy(text: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(text)
}

mod request;
mod response;
mod state;

pub(super) use request::*;
pub(super) use response::*;
pub(crate) use state::*;

use crate::kit::Rule;

/// All of them, by code.
pub(super) static ALL: &[&Rule] = &[
    &ACR001, &ACR002, &ACR003, &ACR004, &ACR005, &ACR006, &ACR007, &ACR008, &ACR009, &ACR010,
    &ACR011, &ACR012, &ACR013, &ACR014, &ACR015, &ACR016, &ACR020, &ACR021, &ACR022, &ACR023,
    &ACR030, &ACR031, &ACR032, &ACR033, &ACR034, &ACR035,
];
