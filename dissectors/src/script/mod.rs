//! The language of scripts of conversations: rules have their examples in it.
//!
//! Each line is a step; blank lines and comments, from a `#` to the end of the line, are skipped.
//!
//! ```
//! use dissectors::script::{What, parse};
//!
//! let script = r"
//!     ## TIME FROM > TO  [options]  payload
//!     0.00   c > s      FFFFFFFF 54 'Source Engine Query' 00
//!     +0.02  s > c      FFFFFFFF 41 le32:1234
//!     0.50   c > m tcp  '\\list\\gamename\\ut\\final\\'      # \\ is one backslash
//!     0.60   m > c tcp  '\\ip\\10.0.0.2:7778\\final\\' fin
//!     end 5
//! ";
//! let steps = parse(script)?;
//! let What::Say(say) = &steps[1].what else { panic!("a message") };
//! assert_eq!((steps[1].at, say.payload.len()), (20_000_000, 9));
//! # Ok::<(), dissectors::script::ScriptError>(())
//! ```
//!
//! **Time**: seconds from the start, or with a `+` from the previous step.
//!
//! **Parties**: a letter is a host: `c d e` are clients, `s t u` game servers, `m n o` master servers. A port
//! belongs to a letter and an optional digit (`s2`), or is after a colon (`s:27016`).
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
//! | `udp`, `tcp` | the transport, if it is not the [usual](Usual) one |
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
//! | `refused` | not a message: the receiver opens a connection, and the sender refuses it, by an ICMP error if there is `icmp=` |
//!
//! **TCP**: the first step between two parties is preceded by a handshake. It is opened by the client, or the
//! game server if there is no client, regardless of who sends first. A step's bytes are in segments of at most
//! 1460. A step without bytes is a bare acknowledgement, or only opens the connection. After `fin` from both
//! ends, or `rst` from one, a further step opens a new connection.
//!
//! `end TIME`: nothing more is said until then.

mod cursor;
mod parse;
mod party;
mod payload;

use std::error::Error;
use std::fmt;

use crate::kit::{Group, Role, Transport};
use crate::{GROUPS, Id};

pub use parse::parse;
pub use payload::payload;

/// A line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Nanoseconds from the start of the capture.
    pub at: u64,
    /// Its line, for errors that occur when it is played.
    pub line: usize,
    /// What it says.
    pub what: What,
}

/// A step's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A message, or a step of a connection without bytes.
    Say(Box<Say>),
    /// Nothing more is said until this time.
    End,
}

/// A message, with its sender and receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Say {
    /// The sender.
    pub from: Party,
    /// The receiver.
    pub to: Party,
    /// How it is sent and recorded.
    pub options: Options,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// How a message is sent and recorded; the module's table has the words for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The transport, if it is not the usual one.
    pub transport: Option<Transport>,
    /// Its packets are sent, and not recorded.
    pub lost: bool,
    /// The packet of the step that is not recorded, counted from 1.
    pub lacks: Option<usize>,
    /// Its packets are recorded twice.
    pub twice: bool,
    /// Type and code of an ICMP error.
    pub icmp: Option<[u8; 2]>,
    /// The MTU that the error names.
    pub mtu: Option<u16>,
    /// IPv4's "don't fragment".
    pub dont_fragment: bool,
    /// Recorded bytes of each packet.
    pub snap: Option<usize>,
    /// Bytes of each IP fragment.
    pub fragment: Option<usize>,
    /// VLAN tags, the outermost first.
    pub vlans: Vec<u16>,
    /// The time to live.
    pub ttl: Option<u8>,
    /// IPv4's checksum.
    pub ip_checksum: Checksum,
    /// UDP's checksum.
    pub udp_checksum: Option<Checksum>,
    /// TCP's checksum.
    pub tcp_checksum: Option<Checksum>,
    /// The capture starts after the connection's handshake.
    pub nosyn: bool,
    /// The sender closes its direction.
    pub fin: bool,
    /// The sender resets the connection.
    pub rst: bool,
    /// The sender refuses the receiver's connection.
    pub refused: bool,
}

/// A party of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// What it is.
    pub role: Role,
    /// Which host of its role, 0 to 2.
    pub host: u8,
    /// Its digit, which stands for a port.
    pub digit: u8,
    /// The port after its colon.
    pub port: Option<u16>,
}

/// What a header's checksum field is to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// The sum.
    #[default]
    Right,
    /// Another number; never 0, which means "none" in UDP.
    Wrong,
    /// 0.
    Absent,
}

/// The transport of steps that name none, and the port of servers and masters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usual {
    /// The port.
    pub port: u16,
    /// The transport.
    pub transport: Transport,
}

impl Usual {
    /// Those of the rules that are of no protocol.
    const OF_NONE: Usual = Usual { port: 27015, transport: Transport::Udp };

    /// Those of the examples of a rule, by its code: the most usual port of its protocol, and how that is asked first.
    pub fn of_rule(code: &str) -> Option<Usual> {
        let is_of = |group: &Group| code.starts_with(group.prefix);
        let at = GROUPS.iter().position(is_of)?;
        // The groups of the protocols come first.
        let Some(id) = Id::ALL.get(at) else { return Some(Usual::OF_NONE) };
        let (port, asking) = (*id.info().ports.first()?, id.info().asking.first()?);
        Some(Usual { port, transport: asking.transport })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_rule_shows_its_port_and_its_transport() {
        let of = |code| Usual::of_rule(code).map(|usual| (usual.port, usual.transport));
        assert_eq!(of("VM001"), Some((27010, Transport::Udp)));
        assert_eq!(of("GS1001"), Some((27900, Transport::Udp)));
        assert_eq!(of("GS4001"), Some((6500, Transport::Udp)));
        assert_eq!(of("ACR001"), Some((80, Transport::Tcp)));
        assert_eq!((of("A2S001"), of("SEC001")), (of("NET001"), of("NET001")));
        assert_eq!(of("XYZ001"), None);
    }
}
