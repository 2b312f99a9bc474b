//! Reads one capture with several threads; each follows the flows of its share of all pairs of
//! hosts.
//!
//! Every thread reads the whole capture, because reading a packet's headers takes less time than
//! passing it to another thread. Batches of events are merged here into the order of a single
//! thread, with its flow numbers.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::Failure;
use super::consumer::{Consumer, LOOK};
use super::notices::{Monitor, Notices};
use crate::capture::{self, Notice, Packets, Stop};
use crate::session::{
    Batch, Datagrams, Decoder, Event, EventDivider, EventPart, Merge, Options, PartMerge, Totals,
};

/// Minimum size of a file that is read by several threads.
const LARGE: u64 = 4 << 20;

/// Maximum number of waiting batches per thread: with fewer, threads wait for each other; with
/// more, batches leave the caches.
const WAITING: usize = 4;

/// Maximum number of packets per batch: enough that waking the merging thread costs little in
/// comparison.
const PACKETS: u64 = 1 << 14;

/// Maximum bytes of a batch, without its last message.
const FULL: usize = 1 << 18;

/// A message from a thread: events and its progress.
struct ThreadReport {
    part: EventPart,
    notices: Notices,
    /// Bytes of the capture that were read.
    position: u64,
}

/// The readers of threads that share a capture.
pub(super) struct CaptureReaders {
    readers: Vec<Box<dyn Packets + Send>>,
}

impl CaptureReaders {
    /// One reader per thread; `None` if one thread reads everything: for input that can be read
    /// only once, for small input, or if merging takes longer than reading.
    pub(super) fn of(
        wanted: Option<u16>,
        options: &Options,
        packets: &dyn Packets,
    ) -> Option<CaptureReaders> {
        let (_, total) = packets.progress()?;
        let wanted = if options.needs.datagrams == Datagrams::Only { Some(1) } else { wanted };
        let threads = match wanted {
            Some(threads) => threads.into(),
            None if total < LARGE => 1,
            None => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        let threads = threads.min(Decoder::most_threads(options));
        if threads < 2 {
            return None;
        }
        let readers = (0..threads).map(|_| packets.fork()).collect::<Option<_>>()?;
        Some(CaptureReaders { readers })
    }

    /// Reads the capture.
    ///
    /// # Errors
    /// Those of the consumer's output.
    pub(super) fn read<C: Consumer>(
        self,
        options: &Options,
        called: &str,
        count: Option<u64>,
        consumer: &mut C,
        monitor: &mut Monitor<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Totals, Failure> {
        let of = self.readers.len();
        let parts = std::thread::scope(|scope| {
            let (mut queues, mut threads) = (Vec::new(), Vec::new());
            for (nth, packets) in self.readers.into_iter().enumerate() {
                let (sender, receiver) = sync_channel(WAITING);
                let (spare, spares) = sync_channel(WAITING);
                let mut decoder = Decoder::of_thread(options.clone(), nth, of);
                if let Some(capture) = packets.in_memory() {
                    decoder.lend(capture);
                }
                let thread = ReaderThread {
                    called: called.to_owned(),
                    stop: monitor.stop,
                    packets,
                    decoder,
                    sender,
                    spares,
                    notices: Notices::default(),
                    divider: EventDivider::default(),
                };
                queues.push((receiver, spare));
                threads.push(scope.spawn(move || thread.run(count)));
            }
            let mut received = Received { queues, consumer, monitor, progress };
            let merged = Merge::new(of).run(&mut received);
            // Sending threads notice that the receiver is gone.
            drop(received);
            let parts: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            merged.map(|()| parts)
        })?;
        let parts = parts.into_iter();
        let mut parts = parts.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)));
        let mut totals = parts.next().unwrap_or_default();
        parts.for_each(|part| totals.add_share(part));
        Ok(totals)
    }
}

/// One of the threads.
struct ReaderThread {
    /// The name of the capture.
    called: String,
    stop: Stop,
    packets: Box<dyn Packets + Send>,
    decoder: Decoder,
    sender: SyncSender<ThreadReport>,
    /// Empty batches, to be used again.
    spares: Receiver<Batch>,
    notices: Notices,
    divider: EventDivider,
}

impl ReaderThread {
    fn run(mut self, count: Option<u64>) -> Totals {
        // The receiver is gone: the results are not needed.
        self.work(count).unwrap_or_default();
        self.decoder.into_totals()
    }

    fn work(&mut self, count: Option<u64>) -> Option<()> {
        while let Some(event) = self.packets.next() {
            match event {
                capture::Event::Packet(packet) => self.decoder.push(&packet),
                capture::Event::Notice(notice) => {
                    self.decoder.notice(&notice);
                    let is_own = matches!(notice, Notice::Unopened { .. });
                    if (self.decoder.is_first() || is_own) && notice.is_warning() {
                        self.notices.push(notice);
                    }
                }
            }
            let read = self.decoder.packets();
            if read.is_multiple_of(PACKETS) || self.decoder.batch().size() >= FULL {
                self.send()?;
            }
            if count.is_some_and(|count| read >= count) {
                break;
            }
            if read.is_multiple_of(LOOK) && self.stop.is_asked() {
                let path = self.called.as_str().into();
                let notice = Notice::Interrupted { path, packets: read };
                self.decoder.notice(&notice);
                if self.decoder.is_first() {
                    self.notices.push(notice);
                }
                break;
            }
        }
        while self.decoder.finish() {
            if self.decoder.batch().size() >= FULL {
                self.send()?;
            }
        }
        self.send()
    }

    fn send(&mut self) -> Option<()> {
        let position = if self.decoder.is_first() { self.packets.progress() } else { None };
        let empty = self.spares.try_recv().unwrap_or_default();
        let sent = ThreadReport {
            part: self.divider.take(&mut self.decoder, empty),
            notices: std::mem::take(&mut self.notices),
            position: position.map_or(0, |(done, _)| done),
        };
        self.sender.send(sent).ok()
    }
}

/// Receives the threads' batches for a consumer.
struct Received<'c, 'm, C> {
    /// The queue of each thread, and its queue of empty batches.
    queues: Vec<(Receiver<ThreadReport>, SyncSender<Batch>)>,
    consumer: &'c mut C,
    monitor: &'c mut Monitor<'m>,
    progress: &'c mut dyn FnMut(u64),
}

impl<C: Consumer> PartMerge for Received<'_, '_, C> {
    type Error = Failure;

    fn next(&mut self, nth: usize) -> Option<EventPart> {
        let (receiver, _) = self.queues.get(nth)?;
        let mut sent = receiver.recv().ok()?;
        self.monitor.warn(std::mem::take(&mut sent.notices));
        if sent.position > 0 {
            (self.progress)(sent.position);
        }
        Some(sent.part)
    }

    fn done(&mut self, nth: usize, events: Batch) {
        if let Some((_, spare)) = self.queues.get(nth) {
            // If the thread has enough of them, or has ended, the memory is freed.
            spare.try_send(events).ok();
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        Ok(self.consumer.event(event)?)
    }

    fn pause(&mut self) -> Result<(), Failure> {
        Ok(self.consumer.pause(false)?)
    }
}
