//! The protocols of a summary.

use super::cell::nth;
use super::column::{columns, shown};
use super::{Cell, Rows};
use crate::summary::Protocol;

/// The table of protocols.
pub enum ProtocolTable {}

impl Rows for ProtocolTable {
    const NAME: &'static str = "protocols";
    const TITLE: &'static str = "The protocols";
    const ABOUT: &'static str = "A row for each protocol, as in `summary`.";
    type Row<'r> = &'r Protocol;

    columns! { ProtocolTable, it =>
        /// The protocol.
        protocol: Text = it.id.info().id, shown("PROTOCOL");
        /// Its messages.
        messages: Count = it.messages, shown("MESSAGES");
        /// Its flows.
        flows: Count = it.flows, shown("FLOWS").useful(1);
        /// Requests, with all their repeats and challenges counted as one.
        exchanges: Count = it.exchanges.asked, shown("ASKED");
        /// The number of these that were answered.
        answered: Count = it.exchanges.answered, shown("ANSWERED").of("exchanges"),
            Cell::Portion(it.exchanges.answered, it.exchanges.asked);
        /// Median response time, in seconds.
        response_time_p50: Seconds or absent = nth(&it.times, 0), shown("P50").useful(3);
        /// 95th percentile of response times, in seconds.
        response_time_p95: Seconds or absent = nth(&it.times, 1), shown("P95").useful(0);
        /// Maximum response time, in seconds.
        response_time_max: Seconds or absent = nth(&it.times, 2), shown("MAX").useful(2);
        /// Certain findings in its flows.
        findings: Count = it.findings.certain(), shown("FINDINGS").toned();
    }
}
