//! A scripting language for conversations, and the packets of a script.
//!
//! Each line is a step; blank lines and comments, from a `#` to the end of the line, are skipped.
//!
//! ```
//! use captures::exchange::{Setting, capture};
//!
//! let script = r"
//!     ## TIME FROM > TO  [options]  payload
//!     0.00   c > s      FFFFFFFF 54 'Source Engine Query' 00
//!     +0.02  s > c      FFFFFFFF 41 le32:1234
//!     0.50   c > m tcp  '\\list\\gamename\\ut\\final\\'      # \\ is one backslash
//!     0.60   m > c tcp  '\\ip\\10.0.0.2:7778\\final\\' fin
//!     end 5
//! ";
//! assert_eq!(capture(script, &Setting::udp(27015))?.packets.len(), 2 + 3 + 1 + 3 + 1);
//! # Ok::<(), captures::exchange::ScriptError>(())
//! ```
//!
//! **Time**: seconds from the start of the capture ([`START`](crate::wire::START)), or with a `+` from the
//! previous step. Packets are in the order of the steps, regardless of their times.
//!
//! **Parties**: a letter is a host; a port belongs to a letter and an optional digit, or is
//! after a colon (`s:27016`).
//!
//! | letters | who | hosts | port |
//! |---|---|---|---|
//! | `c d e` | clients | 10.0.0.1, 10.0.1.1, 10.0.2.1 | 50000 + digit |
//! | `s t u` | game servers | 10.0.0.2, 10.0.1.2, 10.0.2.2 | the [`Setting`]'s + digit |
//! | `m n o` | master servers | 10.0.0.9, 10.0.1.9, 10.0.2.9 | the same |
//!
//! These are the hosts of [network](Setting::network) 0; for each further network, the third byte is four
//! higher.
//!
//! **Payload**: a sequence of tokens, each optionally repeated with `*N`:
//! hex digits in pairs (`FFFFFFFF`), `'text'` with `\n \r \t \0 \\ \' \xNN`, numbers
//! `le16:N le32:N le64:N be16:N be32:N f32:X` (from the smallest signed to the largest unsigned),
//! and `ip:1.2.3.4:27015`, an address and port in network order.
//!
//! **Options**, in front of the payload (`fin` and `rst` may also come after it):
//!
//! | option | |
//! |---|---|
//! | `udp`, `tcp` | the transport, if it is not [`Setting::transport`] |
//! | `lost` | the step's packets are sent, and not recorded |
//! | `lacks=N` | the step's Nth packet is sent, and not recorded |
//! | `twice` | the step's packets are recorded twice each |
//! | `icmp=T.C` | not a datagram, but an ICMP error of this type and code, about the latest datagram that the receiver has sent |
//! | `mtu=N` | the MTU that the error reports |
//! | `df` | IPv4's "don't fragment" |
//! | `snap=N` | N bytes are recorded of each packet, link header included |
//! | `frag=N` | IP fragments with N bytes each, a multiple of 8 |
//! | `vlan=N` | a VLAN tag; twice: provider's and customer's |
//! | `ttl=N` | the time to live, instead of 64 |
//! | `ipsum=bad` | a wrong IPv4 header checksum |
//! | `udpsum=bad`, `udpsum=none`, `tcpsum=bad` | a wrong checksum, or none |
//! | `nosyn` | the capture starts after the handshake of this connection |
//! | `fin` | closes the sender's direction; the other end acknowledges |
//! | `rst` | resets the connection |
//! | `refused` | not a message: the receiver opens a connection, and the sender refuses it |
//!
//! **TCP**: the first step between two parties is preceded by a handshake. It is opened by the client, or the
//! game server if there is no client, regardless of who sends first. A step's bytes are in segments of at most
//! 1460. A step without bytes is a bare acknowledgement, or only opens the connection. After `fin` from both
//! ends, or `rst` from one, a further step opens a new connection. All packets of a step have its time.
//!
//! `end TIME` makes the capture last until then, with a datagram of other hosts (192.0.2.1 to 192.0.2.2,
//! port 9).

mod cursor;
mod parse;
mod party;
mod payload;
mod play;

use std::error::Error;
use std::fmt;

use crate::wire::{Capture, Link};

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A stream.
    Tcp,
}

/// Defaults of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The port of servers and masters over UDP.
    pub udp_port: u16,
    /// The port of servers and masters over TCP.
    pub tcp_port: u16,
    /// The transport of steps without one.
    pub transport: Transport,
    /// The link type of the capture.
    pub link: Link,
    /// Hosts have IPv6 addresses: `fd00::` and their IPv4 address in the last four bytes.
    pub ipv6: bool,
    /// The network of the hosts, 0 to 16383: conversations of different networks share no hosts.
    pub network: u16,
}

impl Setting {
    /// A protocol over UDP whose servers have this port, on Ethernet.
    pub const fn udp(port: u16) -> Self {
        Self {
            udp_port: port,
            tcp_port: port,
            transport: Transport::Udp,
            link: Link::Ethernet,
            ipv6: false,
            network: 0,
        }
    }

    /// A protocol over TCP whose servers have this port, on Ethernet.
    pub const fn tcp(port: u16) -> Self {
        Self { transport: Transport::Tcp, ..Self::udp(port) }
    }

    /// The usual port of the protocol that a rule belongs to, by the rule's code.
    ///
    /// # Panics
    /// No protocol has rules of this code.
    pub fn of_rule(code: &str) -> Self {
        match code.get(..3).unwrap_or_default() {
            "VM0" => Self::udp(27010),
            "A2S" | "SEC" | "NET" => Self::udp(27015),
            "GS4" => Self::udp(6500),
            "GS1" => Self::udp(27900),
            "ACR" => Self::tcp(80),
            _ => panic!("no protocol has a rule {code}"),
        }
    }

    pub(crate) const fn port(&self, transport: Transport) -> u16 {
        match transport {
            Transport::Udp => self.udp_port,
            Transport::Tcp => self.tcp_port,
        }
    }
}

/// An error in a script, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl Error for ScriptError {}

/// The capture of a script's conversation.
///
/// # Errors
/// If the script does not follow the grammar, or a step is impossible, such as one on a connection that its
/// sender has closed.
pub fn capture(script: &str, setting: &Setting) -> Result<Capture, ScriptError> {
    play::play(&parse::parse(script)?, setting)
}
