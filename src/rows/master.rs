//! Master servers.

use std::net::SocketAddr;

use dissectors::kit::Socket;

use super::Rows;
use super::cell::nth;
use super::column::{columns, shown};
use crate::summary::Master;
use crate::text::grouped;

/// The table of masters.
pub enum MasterTable {}

impl Rows for MasterTable {
    const NAME: &'static str = "masters";
    const TITLE: &'static str = "Master servers";
    const ABOUT: &'static str = "A row for each master server, as in `summary`: every host that was asked for a list, \
        or that servers joined or sent heartbeats to. As many as fit into a part of `--memory`.";
    const ORDER: &'static str = "lists_asked";
    type Row<'r> = (Socket, &'r Master);

    columns! { MasterTable, (Socket(end), it) =>
        /// The master, as `address:port`.
        master: Text = end, shown("MASTER");
        /// Its address.
        [Extra] address: Text = end.ip();
        /// Its port.
        [Extra] port: Integer = end.port();
        /// The name that the protocol's document gives it, by its address.
        name: Text or absent = known(end, it), shown("NAME").rare().useful(5);
        /// The protocol of the latest message from or to it.
        protocol: Text or absent = it.protocol.get().map(|id| id.info().id), shown("PROTOCOL").useful(3);
        /// The first time that it sent or got a message.
        first: Time or absent = it.seen().map(|seen| seen.first), shown("FIRST").spare(0);
        /// The last such time.
        last: Time or absent = it.seen().map(|seen| seen.last), shown("LAST").spare(0);
        /// Lists that clients requested; further pages of a list are not counted.
        lists_asked: Count = it.lists_asked, shown("LISTS ASKED");
        /// The number of these that were sent to their ends.
        lists_whole: Count = it.lists_whole, shown("WHOLE"), whole(it);
        /// The number of these that are enciphered: it is unknown whether they were sent to their ends.
        lists_enciphered: Count = it.lists_enciphered;
        /// The number of different servers in its lists.
        listed: Count = it.listed.len(), shown("SERVERS LISTED").useful(7);
        /// Joins and registrations of servers.
        joins: Count = it.joins, shown("JOINS");
        /// Heartbeats of servers.
        heartbeats: Count = it.heartbeats, shown("HEARTBEATS").useful(6);
        /// Registrations that it refused.
        rejected: Count = it.rejected, shown("REJECTED").useful(4);
        /// Median response time, in seconds.
        response_time_p50: Seconds or absent = nth(&it.times, 0), shown("P50").useful(2);
        /// 95th percentile of response times, in seconds.
        response_time_p95: Seconds or absent = nth(&it.times, 1), shown("P95").useful(0);
        /// Maximum response time, in seconds.
        response_time_max: Seconds or absent = nth(&it.times, 2), shown("MAX").useful(1);
        /// Certain findings in its flows with clients.
        findings: Count = it.findings.certain(), shown("FINDINGS").toned();
    }
}

/// The name of a master that the protocol's document lists.
fn known(end: SocketAddr, master: &Master) -> Option<&'static str> {
    (master.protocol.get()?.info().masters?.known)(end)
}

/// Whole lists, and those that nobody can tell.
fn whole(master: &Master) -> String {
    match master.lists_enciphered {
        0 => grouped(master.lists_whole),
        more => format!("{}, {} ?", grouped(master.lists_whole), grouped(more)),
    }
}
