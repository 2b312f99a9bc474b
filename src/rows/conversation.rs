//! Conversations of `view`: the flows of a capture while it is read.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use dissectors::Id;
use dissectors::kit::{Severity, Time, Transport, Verdict};

use super::column::{columns, shown};
use super::{Cell, Rows};
use crate::session::ExchangeCounts;

/// The width of an IPv4 address with its port, which is never cut.
const END: usize = 21;

/// The table of conversations.
pub enum ConversationTable {}

/// A conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationRow {
    /// Its number in all captures, from 0.
    pub number: u32,
    /// The index of its capture.
    pub capture: usize,
    /// Both ends, the sender of its first packet first.
    pub ends: [SocketAddr; 2],
    /// What carries it.
    pub transport: Transport,
    /// Its protocol.
    pub protocol: Id,
    /// Its first message.
    pub message: &'static str,
    /// When that was sent.
    pub start: Time,
    /// The packet of its first message, and that which completed its last one: the maximum if they
    /// are too far apart.
    pub frames: [u64; 2],
    /// How many messages it has.
    pub messages: u32,
    /// Requests, with all their repeats and challenges counted as one, and answered ones.
    pub exchanges: ExchangeCounts,
    /// The maximum response time in microseconds.
    pub slowest: Option<u32>,
    /// How many findings there are, and the gravest.
    pub findings: u16,
    /// The most severe finding.
    pub worst: Option<(Severity, Verdict)>,
}

impl ConversationRow {
    /// Whether packets between these ends may belong to it.
    pub fn is_between(&self, ends: [SocketAddr; 2]) -> bool {
        self.ends == ends || self.ends == [ends[1], ends[0]]
    }

    /// The range of its messages' packets.
    pub fn packets(&self) -> RangeInclusive<u64> {
        self.frames[0]..=self.frames[1]
    }
}

impl Rows for ConversationTable {
    const NAME: &'static str = "conversations";
    const TITLE: &'static str = "Conversations";
    const ABOUT: &'static str =
        "A row for each conversation, in the order of their first messages.";
    type Row<'r> = ConversationRow;

    columns! { ConversationTable, it =>
        /// The time of its first message.
        first: Time = it.start, shown("START").useful(3);
        /// The sender of the first recorded packet.
        a: Text = it.ends[0], shown("FROM").shortened(END).usual(END);
        /// The other end.
        b: Text = it.ends[1], shown("TO").shortened(END).usual(END);
        /// The protocol.
        protocol: Text = it.protocol.info().id, shown("PROTOCOL").useful(1);
        /// Its first message.
        message: Text = it.message, shown("FIRST MESSAGE").spare(1).usual(18);
        /// The number of its messages.
        messages: Count = it.messages, shown("MSGS").usual(5).useful(2);
        /// Requests, with all their repeats and challenges counted as one.
        requests: Count = it.exchanges.asked, shown("ASKED").spare(0).usual(5);
        /// The number of these that were answered: that received the requested data.
        answered: Count = it.exchanges.answered, shown("ANSWERED").of("requests").usual(8),
            Cell::Portion(it.exchanges.answered, it.exchanges.asked);
        /// Maximum response time, in seconds.
        response_time_max: Seconds or absent = it.slowest.map(|time| Cell::Seconds(i64::from(time) * 1000)),
            shown("SLOWEST").useful(0);
        /// The gravest of its findings, and their number.
        findings: Text or absent = it.worst.map(|(severity, verdict)| {
            Cell::Severity(severity, verdict, it.findings.into())
        }), shown("FINDINGS").usual(10).toned();
    }
}
