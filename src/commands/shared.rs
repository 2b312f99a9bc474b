//! One capture read by several threads; each follows the flows of its share of all pairs of
//! hosts.
//!
//! Every thread walks the whole capture, so that none waits for another: to read a packet's headers
//! takes less than to hand it over. Their events come here in batches, and are put in the order in
//! which one thread would have reported them. Flows get the numbers that one thread would have
//! given them.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::Failure;
use super::consumer::{Consumer, LOOK};
use super::notices::{Monitor, Notices};
use crate::capture::{self, Notice, Packets, Stop};
use crate::session::{Batch, Decoder, EventOrder, Options, Totals};

/// Files that are at least this large are read by several threads.
const LARGE: u64 = 4 << 20;

/// Batches of a thread that wait at most: with fewer, a thread that is ahead for a moment waits;
/// with more, what waits is in nobody's cache.
const WAITING: usize = 4;

/// Packets after which a batch is sent, whatever is in it: so many that to wake the thread that
/// puts batches in order costs little of what reading them does.
const PACKETS: u64 = 1 << 14;

/// Bytes that a batch holds at most, but for its last message.
const FULL: usize = 1 << 18;

/// A thread tells which flows are still needed when it has numbered so many, and twice as many as
/// are open: to look at those costs little of what numbering did.
const NUMBERED: usize = 1 << 12;

/// What a thread sends: some events, and what else is to be known of them.
struct Sent {
    events: Batch,
    /// When flows began that were numbered in it.
    begun: Vec<EventOrder>,
    /// After it only these flows and later ones are mentioned, where that is known.
    needed: Option<Vec<u32>>,
    /// Nothing earlier than this comes any more.
    through: EventOrder,
    notices: Notices,
    /// Bytes of the capture that were read.
    position: u64,
}

/// The readers of several threads that share a capture.
pub(super) struct Shares {
    readers: Vec<Box<dyn Packets + Send>>,
}

impl Shares {
    /// As many readers as there are to be threads; `None` where one thread reads it all: of what
    /// comes only once, or of little, or where to read it takes less than to put it in order.
    pub(super) fn of(
        wanted: Option<u16>,
        options: &Options,
        packets: &dyn Packets,
    ) -> Option<Shares> {
        let (_, total) = packets.progress()?;
        let wanted = if options.needs.datagrams { Some(1) } else { wanted };
        let threads = match wanted {
            Some(threads) => threads.into(),
            None if total < LARGE => 1,
            None => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        let threads = threads.min(Decoder::most_shares(options));
        if threads < 2 {
            return None;
        }
        let readers = (0..threads).map(|_| packets.fork()).collect::<Option<_>>()?;
        Some(Shares { readers })
    }

    /// Reads the capture.
    ///
    /// # Errors
    /// What the consumer says of its output.
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
                let mut decoder = Decoder::share(options.clone(), nth, of);
                if let Some(capture) = packets.in_memory() {
                    decoder.lend(capture);
                }
                let thread = Thread {
                    called: called.to_owned(),
                    stop: monitor.stop,
                    packets,
                    decoder,
                    sender,
                    spares,
                    notices: Notices::default(),
                    needed: None,
                    numbered: 0,
                };
                queues.push(Queue::new(receiver, spare));
                threads.push(scope.spawn(move || thread.run(count)));
            }
            let mut merge = Merge::new(queues);
            let merged = merge.run(consumer, monitor, progress);
            // Whoever still sends learns that nobody listens.
            drop(merge);
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
struct Thread {
    /// What the capture is called.
    called: String,
    stop: Stop,
    packets: Box<dyn Packets + Send>,
    decoder: Decoder,
    sender: SyncSender<Sent>,
    /// Empty batches, to be used again.
    spares: Receiver<Batch>,
    notices: Notices,
    /// See [`Sent::needed`], and how many flows had a number when that was looked at last.
    needed: Option<Vec<u32>>,
    numbered: u32,
}

impl Thread {
    fn run(mut self, count: Option<u64>) -> Totals {
        // Nobody listens any more: what was read is of no use.
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
                self.see_needed();
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

    /// Now and then, sees which flows are still needed: most of a long capture have ended.
    fn see_needed(&mut self) {
        let numbered = self.decoder.flows();
        let since = (numbered - self.numbered) as usize;
        if since < NUMBERED + 2 * self.decoder.open_flows() {
            return;
        }
        self.numbered = numbered;
        let mut needed = Vec::from_iter(self.decoder.open_numbers());
        needed.sort_unstable();
        self.needed = Some(needed);
    }

    fn send(&mut self) -> Option<()> {
        let position = if self.decoder.is_first() { self.packets.progress() } else { None };
        let empty = self.spares.try_recv().unwrap_or_default();
        let events = std::mem::replace(self.decoder.batch(), empty);
        let sent = Sent {
            events,
            begun: self.decoder.take_begun(),
            needed: self.needed.take(),
            through: self.decoder.order(),
            notices: std::mem::take(&mut self.notices),
            position: position.map_or(0, |(done, _)| done),
        };
        self.sender.send(sent).ok()
    }
}

/// What came of a thread and waits to be read.
struct Queue {
    receiver: Receiver<Sent>,
    /// Takes batches that were read.
    spare: SyncSender<Batch>,
    sent: Option<Sent>,
    /// Events of it that were read, and beginnings.
    event: usize,
    begun: usize,
    is_over: bool,
}

impl Queue {
    fn new(receiver: Receiver<Sent>, spare: SyncSender<Batch>) -> Queue {
        Queue { receiver, spare, sent: None, event: 0, begun: 0, is_over: false }
    }
}

/// What a queue has next.
#[derive(Clone, Copy)]
enum Head {
    /// Nothing that is here; what comes is not earlier than this.
    Unknown(EventOrder),
    Known(EventOrder),
}

impl Head {
    fn moment(self) -> EventOrder {
        match self {
            Head::Unknown(moment) | Head::Known(moment) => moment,
        }
    }
}

/// The events of all threads, in one order.
struct Merge {
    /// The numbers of each thread's flows in the whole capture.
    numbers: Vec<Numbers>,
    given: u32,
    queues: Vec<Queue>,
}

impl Merge {
    fn new(queues: Vec<Queue>) -> Merge {
        let numbers = queues.iter().map(|_| Numbers::default()).collect();
        Merge { numbers, given: 0, queues }
    }

    fn run<C: Consumer>(
        &mut self,
        consumer: &mut C,
        monitor: &mut Monitor<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Failure> {
        loop {
            let heads = (0..self.queues.len()).filter_map(|nth| Some((self.head(nth)?, nth)));
            let Some((head, nth)) = heads.clone().min_by_key(|(head, _)| head.moment()) else {
                return Ok(());
            };
            match head {
                Head::Unknown(_) => self.receive(nth, monitor, progress),
                Head::Known(moment) => {
                    let others = heads.filter(|&(_, other)| other != nth);
                    let until = others.map(|(head, _)| head.moment()).min();
                    let until = until.map(|until| until.max(moment.next()));
                    self.hand_over(nth, until, consumer)?;
                    consumer.pause(false)?;
                }
            }
        }
    }

    /// What a thread has next, if it is not over, in the order of the whole capture.
    fn head(&self, nth: usize) -> Option<Head> {
        let queue = self.queues.get(nth).filter(|queue| !queue.is_over)?;
        let Some(sent) = &queue.sent else { return Some(Head::Unknown(EventOrder::default())) };
        let numbers = self.numbers.get(nth)?;
        let whole = |moment: EventOrder| moment.renumbered(|local| numbers.whole(local));
        let event = sent.events.order(queue.event);
        let next = event.into_iter().chain(sent.begun.get(queue.begun).copied()).min();
        Some(match next {
            Some(moment) => Head::Known(whole(moment)),
            None => Head::Unknown(whole(sent.through).next()),
        })
    }

    fn receive(&mut self, nth: usize, monitor: &mut Monitor<'_>, progress: &mut dyn FnMut(u64)) {
        let Some(queue) = self.queues.get_mut(nth) else { return };
        (queue.event, queue.begun) = (0, 0);
        if let Some(mut read) = queue.sent.take() {
            if let (Some(needed), Some(numbers)) = (read.needed, self.numbers.get_mut(nth)) {
                numbers.keep(&needed);
            }
            read.events.clear();
            // Where there are enough, or nobody wants any, its memory goes.
            queue.spare.try_send(read.events).ok();
        }
        match queue.receiver.recv() {
            Ok(mut sent) => {
                monitor.warn(std::mem::take(&mut sent.notices));
                if sent.position > 0 {
                    progress(sent.position);
                }
                queue.sent = Some(sent);
            }
            Err(_) => queue.is_over = true,
        }
    }

    /// Hands over what a thread has before this moment; all it has, if nobody else has anything.
    fn hand_over<C: Consumer>(
        &mut self,
        nth: usize,
        until: Option<EventOrder>,
        consumer: &mut C,
    ) -> std::io::Result<()> {
        let Merge { numbers, given, queues } = self;
        let (Some(queue), Some(numbers)) = (queues.get_mut(nth), numbers.get_mut(nth)) else {
            return Ok(());
        };
        let Some(sent) = &mut queue.sent else { return Ok(()) };
        loop {
            let whole = |moment: EventOrder| moment.renumbered(|local| numbers.whole(local));
            let is_due = |moment: EventOrder| until.is_none_or(|until| whole(moment) < until);
            let order = sent.events.order(queue.event);
            // A flow has its number before anything of it is reported.
            if let Some(&begun) = sent.begun.get(queue.begun)
                && order.is_none_or(|order| begun <= order)
            {
                if !is_due(begun) {
                    return Ok(());
                }
                *given = given.saturating_add(1);
                numbers.push(*given);
                queue.begun += 1;
            } else if order.is_some_and(is_due) {
                sent.events.renumber(queue.event, |local| numbers.whole(local));
                if let Some(event) = sent.events.event(queue.event) {
                    consumer.event(&event)?;
                }
                queue.event += 1;
            } else {
                return Ok(());
            }
        }
    }
}

/// The numbers of a thread's flows in the whole capture, by its own, as far as they are needed.
#[derive(Default)]
struct Numbers {
    /// Those that were kept: own number, and that in the whole capture.
    kept: Vec<(u32, u32)>,
    /// The last one before all others, which come one after the other.
    before: u32,
    latest: Vec<u32>,
}

impl Numbers {
    /// The number of the thread's next flow.
    fn push(&mut self, whole: u32) {
        self.latest.push(whole);
    }

    /// The number in the whole capture. A flow whose beginning is not reported yet comes before all
    /// others: nothing of it is reported before that.
    fn whole(&self, own: u32) -> u32 {
        if own == 0 {
            return 0;
        }
        let whole = match own.checked_sub(self.before + 1) {
            Some(at) => self.latest.get(at as usize).copied(),
            None => {
                let at = self.kept.binary_search_by_key(&own, |&(own, _)| own).ok();
                at.and_then(|at| self.kept.get(at)).map(|&(_, whole)| whole)
            }
        };
        whole.unwrap_or(1)
    }

    /// Forgets all but these, which are in order.
    fn keep(&mut self, needed: &[u32]) {
        self.kept = needed.iter().map(|&own| (own, self.whole(own))).collect();
        self.before = self.before.saturating_add(self.latest.len() as u32);
        self.latest = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_known_as_long_as_they_are_needed() {
        let mut numbers = Numbers::default();
        (1..=9).for_each(|own| numbers.push(own * 10));
        numbers.keep(&[0, 2, 5, 9]);
        (10..=12).for_each(|own| numbers.push(own * 10));
        let known = [0, 2, 5, 9, 10, 11, 12];
        assert_eq!(known.map(|own| numbers.whole(own)), known.map(|own| own * 10));
        numbers.keep(&[5, 11]);
        numbers.push(130);
        assert_eq!([5, 11, 13].map(|own| numbers.whole(own)), [50, 110, 130]);
        assert_eq!((numbers.kept.len(), numbers.latest.len()), (2, 1));
        assert_eq!(numbers.whole(14), 1, "it comes before all others");
    }
}
