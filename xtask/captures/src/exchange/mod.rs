//! The packets of a script of a conversation. [`dissectors::script`] has the language of scripts.
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
//! The parties' sockets:
//!
//! | letters | who | hosts | port |
//! |---|---|---|---|
//! | `c d e` | clients | 10.0.0.1, 10.0.1.1, 10.0.2.1 | 50000 + digit |
//! | `s t u` | game servers | 10.0.0.2, 10.0.1.2, 10.0.2.2 | the [`Setting`]'s + digit |
//! | `m n o` | master servers | 10.0.0.9, 10.0.1.9, 10.0.2.9 | the same |
//!
//! These are the hosts of [network](Setting::network) 0; for each further network, the third byte is four
//! higher. The capture starts at [`START`](crate::wire::START); all packets of a step have its time. `end TIME`
//! adds a datagram of other hosts (192.0.2.1 to 192.0.2.2, port 9).

mod address;
mod play;

pub use dissectors::kit::Transport;
pub use dissectors::script::ScriptError;
use dissectors::script::{self, Usual};

use crate::wire::{Capture, Link};

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
        let usual = Usual::of_rule(code);
        let usual = usual.unwrap_or_else(|| panic!("no protocol has a rule {code}"));
        Self { transport: usual.transport, ..Self::udp(usual.port) }
    }

    pub(crate) const fn port(&self, transport: Transport) -> u16 {
        match transport {
            Transport::Udp => self.udp_port,
            Transport::Tcp => self.tcp_port,
        }
    }
}

/// The capture of a script's conversation.
///
/// # Errors
/// If the script does not follow the grammar, or a step is impossible, such as one on a connection that its
/// sender has closed.
pub fn capture(script: &str, setting: &Setting) -> Result<Capture, ScriptError> {
    play::play(&script::parse(script)?, setting)
}
