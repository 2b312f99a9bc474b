//! Hosts that send requests.

use std::borrow::Cow;

use dissectors::kit::Host;

use super::column::{columns, shown};
use super::{Cell, Rows};
use crate::summary::{Client, Kind};

/// The table of clients.
pub enum ClientTable {}

impl Rows for ClientTable {
    const NAME: &'static str = "clients";
    const TITLE: &'static str = "Hosts that send requests";
    const ABOUT: &'static str = "A row for each client, as in `summary`: every host that sent requests, but not masters \
        that check servers. As many as fit into a part of `--memory`.";
    const ORDER: &'static str = "sent";
    type Row<'r> = (Host, &'r Client);

    columns! { ClientTable, (Host(address), it) =>
        /// Its address.
        client: Text = address, shown("CLIENT");
        /// The number of ports that it sent requests from: 256 at most.
        sockets: Count = it.sockets.len(), shown("SOCKETS").useful(0);
        /// The time of its first request.
        first: Time or absent = it.seen.map(|seen| seen.first), shown("FIRST").spare(0);
        /// The time of its last request.
        last: Time or absent = it.seen.map(|seen| seen.last), shown("LAST").spare(0);
        /// Requests that it sent, with repeats.
        sent: Count = it.sent, shown("SENT");
        /// The same, without repeats of a request that was still waiting.
        requests: Count = it.requests;
        /// Requests per second, if it sent several.
        rate: Rate or absent = it.rate().map(rounded), shown("RATE").useful(2), it.rate().map(Cell::Rate);
        /// Requests, with all their repeats and challenges counted as one.
        exchanges: Count = it.exchanges.asked, shown("ASKED");
        /// The number of these that were answered.
        answered: Count = it.exchanges.answered, shown("ANSWERED").of("exchanges"),
            Cell::Portion(it.exchanges.answered, it.exchanges.asked);
        /// The number of requests by message; in CSV, each as `message=number`.
        kinds: Counts = kinds(it), shown("REQUESTS").shortened(20);
        /// The libraries or programs that it was recognized by.
        libraries: Texts = libraries(it), shown("LIBRARY").useful(1).shortened(10);
    }
}

/// More digits would exceed the precision of a rate.
fn rounded(rate: f64) -> Cell<'static> {
    Cell::Rate((rate * 1000.0).round() / 1000.0)
}

fn kinds(client: &Client) -> Cell<'static> {
    let kind = |kind: &Kind| (format!("{}.{}", kind.id.info().id, kind.message.name), kind.count);
    Cell::Counts(client.kinds().iter().map(kind).collect())
}

fn libraries(client: &Client) -> Cell<'static> {
    Cell::Texts(Cow::Owned(client.libraries().into_iter().map(Into::into).collect()))
}
