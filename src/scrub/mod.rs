//! Replaces personal data in messages and packets, for captures that are shared. What is not known
//! to be structure is replaced.
//!
//! `message` decides this for the contents of messages, `headers` for those of packets. It handles
//! bytes and fields, not files.

mod addresses;
mod headers;
mod message;
mod numbers;
mod packets;
mod queue;
mod secret;
mod seen;
mod texts;

pub use self::addresses::Addresses;
pub use self::message::Scrubber;
pub use self::packets::{Lost, Written};
pub use self::queue::{PacketQueue, Queued};
pub use self::secret::Key;
pub use self::seen::Seen;
