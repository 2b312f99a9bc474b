//! gamewire decodes the query and master-server protocols of games from captured packets, and checks
//! them against the protocols' specifications.
//!
//! As a library it is [`Decoder`]: packets go in, [`Event`]s come out. Without default features it opens
//! no file, reads no clock, starts no thread and needs no C library; `docs/library.md` lists the stable
//! public API.
//!
//! ```
//! use gamewire::capture::{LinkType, Packet};
//! use gamewire::{Decoder, Event, Needs, Options, Value};
//!
//! // An A2S_PLAYER request over UDP and IPv4.
//! let mut data = vec![0x45, 0, 0, 37, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
//! data.extend([0xC3, 0x50, 0x69, 0x87, 0, 17, 0, 0]); // port 50000 to port 27015
//! data.extend(b"\xFF\xFF\xFF\xFFU\x4B\xA1\xD5\x22");
//! let packet = Packet { link: LinkType::RAW, ..Packet::new(0, &data) };
//!
//! let mut decoder = Decoder::new(Options { needs: Needs::messages_with_fields(), ..Options::default() });
//! decoder.push(&packet);
//! let mut events = decoder.events();
//! let Some(Event::Message(message)) = events.next() else { panic!("a message") };
//! assert_eq!(message.path(), "a2s.player_request");
//! assert_eq!(message.field("challenge"), Some(Value::Signed(0x22D5_A14B)));
//! ```
//!
//! `ARCHITECTURE.md` describes the modules and their dependencies.

#[cfg(all(feature = "commands", not(feature = "cli")))]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "it stands for modules of which live captures use more"
)]
mod absent;
#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod abuse;
#[cfg(all(feature = "captures", not(feature = "files")))]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "it stands for modules of which live captures use more"
)]
#[doc(hidden)]
pub mod browser;
pub mod capture;
pub mod check;
#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "commands")]
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "without devices, nothing is captured live")
)]
#[doc(hidden)]
pub mod commands;
#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod config;
#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod diagnose;
#[cfg(feature = "commands")]
mod file_id;
pub mod filter;
#[doc(hidden)]
pub mod flows;
#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod limits;
#[cfg(feature = "live")]
#[doc(hidden)]
pub mod live;
pub mod message;
#[cfg(feature = "cli")]
mod metrics;
#[doc(hidden)]
pub mod net;
#[cfg(feature = "files")]
mod output_file;
#[cfg(feature = "partition")]
pub mod partition;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod play;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod probe;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod relay;
#[cfg(any(feature = "commands", feature = "tables"))]
#[cfg_attr(
    not(feature = "commands"),
    allow(dead_code, reason = "without the command line, only tables use JSON")
)]
#[doc(hidden)]
pub mod report;
#[cfg(any(feature = "commands", feature = "tables"))]
#[cfg_attr(
    not(feature = "commands"),
    allow(dead_code, reason = "without the command line, only tables use it")
)]
#[doc(hidden)]
pub mod rows;
#[cfg(feature = "commands")]
mod run;
#[doc(hidden)]
#[cfg(feature = "commands")]
pub mod scrub;
#[doc(hidden)]
pub mod session;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod spoken;
#[cfg(any(feature = "commands", feature = "partition", feature = "tables"))]
#[doc(hidden)]
pub mod summary;
#[cfg(any(feature = "commands", feature = "tables"))]
pub mod tables;
#[doc(hidden)]
pub mod text;
#[cfg(feature = "tui")]
#[doc(hidden)]
pub mod view;
#[doc(hidden)]
pub mod why;

#[cfg(all(feature = "live", not(unix)))]
compile_error!(
    "live capture, relays and `view` need Unix: build with --no-default-features --features program,parquet"
);

#[cfg(all(feature = "commands", not(feature = "cli")))]
use absent::{live, metrics, relay};
#[cfg(all(feature = "commands", not(feature = "files")))]
use browser::output_file;

#[doc(no_inline)]
pub use dissectors;
pub use dissectors::catalogue;
pub use dissectors::kit::{Finding, Rule, Secret, Settings, Severity, Verdict};
#[cfg(feature = "commands")]
#[doc(hidden)]
pub use file_id::FileId;
pub use flows::FlowRow;
#[cfg(feature = "commands")]
#[doc(hidden)]
pub use run::{FOUND, INTERRUPTED, RAN, Terminal, UNUSABLE, run};
pub use session::{
    Batch, Checked, CheckedEvent, CrossFlow, DatagramEvent, DatagramHeaders, Datagrams, Decoder,
    Event, EventDivider, EventOrder, EventPart, Events, FieldLimits, FieldsOf, FileEvent, Findings,
    FlowContext, IcmpEvent, LeftOut, ListedServers, Merge, MessageEvent, Messages, Needs, Options,
    PartMerge, PassedRule, Passes, Totals, UnansweredRequest, Value,
};

/// The example of this page is a test, too.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct LibraryPage;
