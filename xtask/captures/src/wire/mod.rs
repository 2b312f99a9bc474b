//! Packets and capture files, from the payload outwards: [`Datagram`] or [`Segment`], [`Ip`],
//! a [`tunnel`], a [`Link`] header, a [`Capture`] written as pcap, or [`PcapNg`].
//!
//! ```
//! use captures::wire::{Capture, Datagram, Link, START};
//!
//! let question = Datagram::new("10.0.0.1:50000", "10.0.0.2:27015", b"\xFF\xFF\xFF\xFFi");
//! let mut capture = Capture::new(Link::Ethernet);
//! capture.push(START, &question.packet());
//! assert_eq!(capture.pcap().len(), 24 + 16 + 14 + 20 + 8 + 5);
//! ```
//!
//! Every header is as its standard wants it unless the caller says otherwise. What happens to
//! packets on their way - loss, repetition, another order - happens to the `Vec` they are in.

mod capture;
mod checksum;
pub mod icmp;
mod ip;
mod layers;
mod link;
pub(crate) mod pcap;
mod pcapng;
mod prng;
mod tcp;
pub mod tunnel;
mod udp;

pub use capture::{Capture, START, Time, TimedPacket};
pub use checksum::{Checksum, internet_checksum, transport_checksum};
pub use ip::{Ip, extension, protocol};
pub use layers::{Layered, layers};
pub use link::{Link, Tag, ethernet, ethertype};
pub use pcap::{ByteOrder, PcapFormat, Precision};
pub use pcapng::{Interface, PcapNg, block};
pub use prng::Prng;
pub use tcp::{Connection, End, Segment, flags};
pub use udp::Datagram;
