//! A command as a loop over events, independent of the source of packets.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::Failure;
use crate::capture::{Notice, Packet};
use crate::live::LaterOutput;
use crate::metrics::Metrics;
use crate::net;
use crate::session::{Decoder, Event, Needs, Totals};

/// Why a filter by port loses fragments, and what to do.
pub(super) const FRAGMENTS: &str = "only the first fragment of a datagram has its ports; add `or (ip[6:2] & 0x1fff \
     != 0) or (ip6 proto 44)`, or choose messages with --host or -Y in place of packets";

/// A command, as a reader of events.
pub(super) trait Consumer {
    /// The events that it needs.
    fn needs(&self) -> Needs;
    /// Whether it needs only the messages that the user selects.
    fn selects_messages(&self) -> bool {
        true
    }
    /// Whether the user states that captures are complete.
    fn complete(&self) -> bool {
        false
    }
    /// A capture begins; it has a name if there are several.
    fn begin(&mut self, name: Option<&str>) -> io::Result<()>;
    /// Whether it needs each packet: then a single thread reads.
    fn sees_packets(&self) -> bool {
        false
    }
    /// Whether its output should appear as soon as a packet was read.
    fn is_prompt(&self) -> bool {
        self.sees_packets()
    }
    /// The next packet, before its events, if a single thread reads; `frame`: its number.
    fn packet(&mut self, _frame: u64, _packet: &Packet<'_>) {}
    /// A notice about the recording, before the packets after it, if a single thread reads.
    fn notice(&mut self, _notice: &Notice) {}
    /// Reports the progress of reading files, if needed.
    fn meter(&self) -> Option<Arc<Meter>> {
        None
    }
    /// The next event, in the order of the capture.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;
    /// There are no more events for now. `live`: they come from a live capture, and output should
    /// appear immediately.
    fn pause(&mut self, _live: bool) -> io::Result<()> {
        Ok(())
    }
    /// A pipe is silent for a while: output should appear.
    fn idle(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// The interval of progress reports of a live capture.
    fn interval(&self) -> Option<Duration> {
        None
    }
    /// A live capture continues: the results so far.
    fn so_far(&mut self, _decoder: &mut Decoder) -> io::Result<()> {
        Ok(())
    }
    /// A live capture continues: updates its own metrics.
    fn measure(&mut self, _metrics: &Metrics) {}
    /// Text for the status line of a live capture, after the counts.
    fn running(&self) -> String {
        String::new()
    }
    /// The text for a capture without any selected traffic, with what it contains.
    fn no_traffic(&self, read: &Totals) -> Option<String> {
        read.no_traffic()
    }
    /// Whether the options that select messages selected any of the capture.
    fn has_selected(&self, read: &Totals) -> bool {
        read.selected > 0
    }
    /// A file, or the rest of it, cannot be read; the next one follows.
    fn unreadable(&mut self, _file: &str, _why: &Failure) {}
    /// The capture was read.
    fn end(&mut self, read: &mut Totals) -> io::Result<()>;
    /// What it writes at the end.
    fn makes(&self) -> Vec<LaterOutput> {
        Vec::new()
    }
}

/// The progress of reading a file.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Bytes that were read.
    pub(super) done: AtomicU64,
    /// Total bytes; 0: unknown.
    pub(super) all: AtomicU64,
}

/// Ends all open flows, and passes on their events.
pub(super) fn finish(decoder: &mut Decoder, consumer: &mut dyn Consumer) -> io::Result<()> {
    while decoder.finish() {
        decoder.each_event(|event| consumer.event(event))?;
    }
    Ok(())
}

/// Reports that a capture has none of the selected traffic, and what it contains. `selection`: the options that
/// select messages, as they were typed.
pub(super) fn warn_no_traffic(
    name: &str,
    read: &Totals,
    consumer: &dyn Consumer,
    selection: Option<&str>,
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
    // Unsupported packets are reported elsewhere.
    let is_unread = read.packets > 0 && read.unknown_links == read.packets;
    if let Some(there) = consumer.no_traffic(read).filter(|_| !is_unread) {
        writeln!(err, "gamewire: warning: {name}: {there}").ok();
    } else if let Some(selection) = selection.filter(|_| !is_unread && !consumer.has_selected(read))
    {
        writeln!(err, "gamewire: note: {name}: no message matches {selection}").ok();
    }
}
