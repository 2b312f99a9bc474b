//! Reads one capture with several threads; each follows the flows of its part of all pairs of
//! hosts.
//!
//! Every thread reads the whole capture, because reading a packet's headers takes less time than
//! passing it to another thread. Batches of events are merged here into the order of a single
//! thread, with its flow numbers.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::Failure;
use super::consumer::Consumer;
use super::notices::{Monitor, Notices};
use crate::capture::{Notice, Packets};
use crate::session::{
    Batch, Datagrams, Decoder, Drive, Event, EventDivider, EventPart, Merge, Observer, Options,
    PartMerge, Totals,
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
    pub(super) fn read(
        self,
        options: &Options,
        called: &str,
        count: Option<u64>,
        consumer: &mut dyn Consumer,
        monitor: &mut Monitor<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Totals, Failure> {
        let of = self.readers.len();
        let parts = std::thread::scope(|scope| {
            let (mut queues, mut threads) = (Vec::new(), Vec::new());
            for (nth, mut packets) in self.readers.into_iter().enumerate() {
                let (sender, receiver) = sync_channel(WAITING);
                let (spare, spares) = sync_channel(WAITING);
                let decoder = Decoder::of_thread(options.clone(), nth, of);
                let drive = Drive::new(called, count, monitor.stop);
                let thread = ThreadSender {
                    sender,
                    spares,
                    notices: Notices::default(),
                    divider: EventDivider::default(),
                    position: 0,
                    due: PACKETS,
                };
                queues.push((receiver, spare));
                threads.push(scope.spawn(move || thread.read(drive, &mut *packets, decoder)));
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

/// What one of the threads sends.
struct ThreadSender {
    sender: SyncSender<ThreadReport>,
    /// Empty batches, to be used again.
    spares: Receiver<Batch>,
    notices: Notices,
    divider: EventDivider,
    /// The position of the first thread in the capture.
    position: u64,
    /// The number of packets after which the next batch is sent, if it is not full before.
    due: u64,
}

/// The receiver is gone: the results are not needed.
struct Unneeded;

impl Observer for ThreadSender {
    type Error = Unneeded;

    fn notice(&mut self, decoder: &Decoder, notice: Notice) {
        let is_own = matches!(notice, Notice::Unopened { .. });
        if (decoder.is_first() || is_own) && notice.is_warning() {
            self.notices.push(notice);
        }
    }

    #[inline]
    fn events(&mut self, decoder: &mut Decoder) -> Result<(), Unneeded> {
        if decoder.batch().size() >= FULL { self.send(decoder) } else { Ok(()) }
    }

    #[inline]
    fn goes_on(&mut self, decoder: &mut Decoder, packets: &dyn Packets) -> Result<bool, Unneeded> {
        if decoder.packets() >= self.due {
            let position = if decoder.is_first() { packets.progress() } else { None };
            self.position = position.map_or(0, |(done, _)| done);
            self.send(decoder)?;
        }
        Ok(true)
    }
}

impl ThreadSender {
    /// Reads the capture of a thread.
    fn read(mut self, drive: Drive, packets: &mut dyn Packets, mut decoder: Decoder) -> Totals {
        let read = drive.run(packets, &mut decoder, &mut self);
        // Whether the last batch is needed makes no difference here.
        read.and_then(|()| self.send(&mut decoder)).unwrap_or_default();
        decoder.into_totals()
    }

    fn send(&mut self, decoder: &mut Decoder) -> Result<(), Unneeded> {
        self.due = decoder.packets().saturating_add(PACKETS);
        let empty = self.spares.try_recv().unwrap_or_default();
        let sent = ThreadReport {
            part: self.divider.take(decoder, empty),
            notices: std::mem::take(&mut self.notices),
            position: self.position,
        };
        self.sender.send(sent).map_err(|_| Unneeded)
    }
}

/// Receives the threads' batches for a consumer.
struct Received<'c, 'm> {
    /// The queue of each thread, and its queue of empty batches.
    queues: Vec<(Receiver<ThreadReport>, SyncSender<Batch>)>,
    consumer: &'c mut dyn Consumer,
    monitor: &'c mut Monitor<'m>,
    progress: &'c mut dyn FnMut(u64),
}

impl PartMerge for Received<'_, '_> {
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
