//! A command as a loop over events, and what is the same for all of them, wherever packets come from.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::Failure;
use crate::capture::Packet;
use crate::metrics::Metrics;
use crate::net;
use crate::session::{Decoder, Event, Needs, Totals};

/// How many packets pass until it is looked whether to stop.
pub(super) const LOOK: u64 = 1 << 10;

/// Why a filter of ports loses fragments, and what to do.
pub(super) const FRAGMENTS: &str = "only the first fragment of a datagram has its ports; add `or (ip[6:2] & 0x1fff \
     != 0) or (ip6 proto 44)`, or choose messages with --host or -Y in place of packets";

/// Reads the events of captures: what a command does with them.
pub(super) trait Consumer {
    /// Which events it wants to read.
    fn needs(&self) -> Needs;
    /// Whether it wants to be handed only the messages that the user wants to see.
    fn selects_messages(&self) -> bool {
        true
    }
    /// Whether the user vouches that captures are complete.
    fn complete(&self) -> bool {
        false
    }
    /// A capture begins; it has a name where there are several.
    fn begin(&mut self, name: Option<&str>) -> io::Result<()>;
    /// Whether it wants to see each packet: one thread reads then.
    fn sees_packets(&self) -> bool {
        false
    }
    /// The next packet of what one thread reads, before its events; `frame`: its number.
    fn packet(&mut self, _frame: u64, _packet: &Packet<'_>) {}
    /// Where it wants to see how far the reading of files is.
    fn meter(&self) -> Option<Arc<Meter>> {
        None
    }
    /// The next event, in the order of the capture.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;
    /// No more events are here for now. `live`: they come from a live capture, and somebody may wait for
    /// what there is to say.
    fn pause(&mut self, _live: bool) -> io::Result<()> {
        Ok(())
    }
    /// How often it wants to hear how far a live capture is.
    fn interval(&self) -> Option<Duration> {
        None
    }
    /// A live capture goes on: what there is so far.
    fn so_far(&mut self, _decoder: &mut Decoder) -> io::Result<()> {
        Ok(())
    }
    /// A live capture goes on: what is counted of it beside packets and messages.
    fn measure(&mut self, _metrics: &Metrics) {}
    /// What the line of a live capture shows beside the counts.
    fn running(&self) -> String {
        String::new()
    }
    /// That a capture has nothing that was asked for, and what it has.
    fn no_traffic(&self, read: &Totals) -> Option<String> {
        read.no_traffic()
    }
    /// A file, or the rest of it, cannot be read, and why; the next one follows.
    fn unreadable(&mut self, _file: &str, _why: &Failure) {}
    /// The capture was read.
    fn end(&mut self, read: &mut Totals) -> io::Result<()>;
    /// A file that it makes when all has been read.
    fn makes(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// How far the reading of a file is.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Bytes that were read.
    pub(super) done: AtomicU64,
    /// Bytes that there are; 0: not known.
    pub(super) all: AtomicU64,
}

/// Hands the events that are here to a consumer.
#[inline]
pub(super) fn consume<C: Consumer>(decoder: &mut Decoder, consumer: &mut C) -> io::Result<()> {
    if decoder.has_events() {
        let mut events = decoder.events();
        while let Some(event) = events.next() {
            consumer.event(&event)?;
        }
    }
    Ok(())
}

/// Ends all flows that are open, and hands over the events of that.
pub(super) fn finish<C: Consumer>(decoder: &mut Decoder, consumer: &mut C) -> io::Result<()> {
    while decoder.finish() {
        consume(decoder, consumer)?;
    }
    Ok(())
}

/// Of a capture with nothing that was asked for, says so, and what it has.
pub(super) fn tell_no_traffic<C: Consumer>(
    name: &str,
    read: &Totals,
    consumer: &C,
    err: &mut dyn Write,
) {
    for layer in net::UnreadLayer::ALL {
        let (count, layer) = (read.unread[layer as usize], layer.name());
        if count > 0 {
            let (packets, are) = if count == 1 { ("packet", "is") } else { ("packets", "are") };
            writeln!(err, "gamewire: note: {name}: {count} {packets} of {layer} {are} not read")
                .ok();
        }
    }
    // Packets that cannot be read are reported elsewhere.
    let is_unread = read.packets > 0 && read.unknown_links == read.packets;
    if let Some(there) = consumer.no_traffic(read).filter(|_| !is_unread) {
        writeln!(err, "gamewire: warning: {name}: {there}").ok();
    }
}
