//! One capture read by several threads, each of which follows the flows of its share of all pairs of
//! hosts.
//!
//! Every thread walks the whole capture, so that none waits for another: to read a packet's headers
//! takes less than to hand it over. What they tell comes here in slices, and is put in the order in
//! which one thread would have told it. Flows get the numbers that one thread would have given them.

use std::io::Write;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::Failure;
use super::read::{Command, Slice};
use crate::capture::{Event, Notice, Packets};
use crate::session::{Cut, EventOrder, Foreign, Heard, Options, Session, Totals};

/// Files that are at least this large are read by several threads.
const LARGE: u64 = 4 << 20;

/// Slices of a thread that wait at most: with fewer, a thread that is ahead for a moment waits, with
/// more, what waits is in nobody's cache.
const WAITING: usize = 4;

/// Packets after which a slice is sent, whatever is in it: so many that to wake the one who puts
/// slices in order costs little of what reading them does.
const PACKETS: u64 = 1 << 14;

/// Bytes that a slice holds at most, but for its last message.
const FULL: usize = 1 << 17;

/// A thread tells which flows are still needed when it has numbered so many, and twice as many as
/// are open: to look at those costs little of what numbering did.
const NUMBERED: usize = 1 << 12;

/// A slice, and what else a thread tells.
struct Batch<E> {
    slice: Slice<E>,
    /// When flows began that were numbered in it.
    begun: Vec<EventOrder>,
    /// Behind it only these flows and later ones are told of, where that is told.
    needed: Option<Vec<u32>>,
    /// Nothing earlier than this comes any more.
    through: EventOrder,
    notices: Vec<Notice>,
    /// Bytes of the capture that were read.
    position: u64,
}

/// What several threads read a capture with.
pub(super) struct Shares<O> {
    readers: Vec<Box<dyn Packets + Send>>,
    observers: Vec<O>,
}

impl<O> Shares<O> {
    /// So many readers and observers as there are to be threads; `None` where one thread reads it all:
    /// of what comes only once, of little, or for a command that must see everything.
    pub(super) fn of<C: Command<Observer = O>>(
        wanted: Option<u16>,
        options: &Options,
        packets: &dyn Packets,
        command: &C,
    ) -> Option<Shares<O>> {
        let (_, total) = packets.progress()?;
        let threads = match wanted {
            Some(threads) => threads.into(),
            None if total < LARGE => 1,
            None => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        let threads = threads.min(Session::most_shares(options));
        if threads < 2 {
            return None;
        }
        // A capture waits for all readers that it was forked for: none is made in vain.
        let observers = (0..threads).map(|_| command.part()).collect::<Option<_>>()?;
        let readers = (0..threads).map(|_| packets.fork()).collect::<Option<_>>()?;
        Some(Shares { readers, observers })
    }

    /// Reads the capture.
    ///
    /// # Errors
    /// What the command says of its output.
    pub(super) fn read<C: Command<Observer = O>>(
        self,
        options: &Options,
        count: Option<u64>,
        command: &mut C,
        err: &mut dyn Write,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Totals, Failure>
    where
        O: Send,
    {
        let of = self.readers.len();
        let parts = std::thread::scope(|scope| {
            let (mut queues, mut threads) = (Vec::new(), Vec::new());
            for (nth, (packets, part)) in self.readers.into_iter().zip(self.observers).enumerate() {
                let (sender, receiver) = sync_channel(WAITING);
                let mut session = Session::share(options.clone(), nth, of);
                if let Some(capture) = packets.in_memory() {
                    session.lend(capture);
                }
                let notices = Vec::new();
                let (spare, spares) = sync_channel(WAITING);
                let (needed, numbered) = (None, 0);
                let thread = Thread::<C> {
                    packets,
                    session,
                    part,
                    sender,
                    spares,
                    notices,
                    needed,
                    numbered,
                };
                queues.push(Queue::new(receiver, spare));
                threads.push(scope.spawn(move || thread.run(count)));
            }
            let mut merge = Merge::new(queues);
            let merged = merge.run(command, err, progress);
            // Whoever still sends learns that nobody listens.
            drop(merge);
            let parts: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            merged.map(|()| parts)
        })?;
        let parts = parts.into_iter();
        let parts = parts.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)));
        let (observers, totals): (Vec<_>, Vec<_>) = parts.unzip();
        let flows = totals.iter().fold(0u32, |sum, read| sum.saturating_add(read.flows));
        command.join(observers);
        let (mut foreign, mut heard) = (Foreign::default(), Heard::default());
        let mut cut = Cut::default();
        for read in &totals {
            foreign.add(&read.foreign);
            heard.add(&read.heard);
            cut.add(&read.cut);
        }
        Ok(Totals { flows, foreign, heard, cut, ..totals.first().cloned().unwrap_or_default() })
    }
}

/// One of the threads.
struct Thread<C: Command> {
    packets: Box<dyn Packets + Send>,
    session: Session,
    part: C::Observer,
    sender: SyncSender<Batch<C::Entry>>,
    /// Empty slices, to be used again.
    spares: Receiver<Slice<C::Entry>>,
    notices: Vec<Notice>,
    /// See [`Batch::needed`], and how many flows had a number when that was looked at last.
    needed: Option<Vec<u32>>,
    numbered: u32,
}

impl<C: Command> Thread<C> {
    fn run(mut self, count: Option<u64>) -> (C::Observer, Totals) {
        // Nobody listens any more: what was read is of no use.
        self.work(count).unwrap_or_default();
        let totals = self.session.totals_in_the_end();
        (self.part, totals)
    }

    fn work(&mut self, count: Option<u64>) -> Option<()> {
        while let Some(event) = self.packets.next() {
            match event {
                Event::Packet(packet) => self.session.packet(&packet, &mut self.part),
                Event::Notice(notice) => {
                    self.session.notice(&notice, &mut self.part);
                    if self.session.is_first() && notice.is_warning() {
                        self.notices.push(notice);
                    }
                }
            }
            let read = self.session.packets();
            if read.is_multiple_of(PACKETS) || C::waiting(&self.part) >= FULL {
                self.see_needed();
                self.send()?;
            }
            if count.is_some_and(|count| read >= count) {
                break;
            }
        }
        let mut open = self.session.finish(&mut self.part);
        while self.session.finish_next(&mut open, &mut self.part) {
            if C::waiting(&self.part) >= FULL {
                self.send()?;
            }
        }
        self.send()
    }

    /// Now and then, sees which flows are still needed: most of a long capture have ended.
    fn see_needed(&mut self) {
        let numbered = self.session.numbered();
        let since = (numbered - self.numbered) as usize;
        if since < NUMBERED + 2 * self.session.followed() {
            return;
        }
        self.numbered = numbered;
        let mut needed = Vec::from_iter(self.session.followed_numbers());
        needed.sort_unstable();
        self.needed = Some(needed);
    }

    fn send(&mut self) -> Option<()> {
        let position = if self.session.is_first() { self.packets.progress() } else { None };
        let mut slice = self.spares.try_recv().unwrap_or_default();
        C::cut(&mut self.part, &mut slice);
        let batch = Batch {
            slice,
            begun: self.session.take_begun(),
            needed: self.needed.take(),
            through: self.session.moment(),
            notices: std::mem::take(&mut self.notices),
            position: position.map_or(0, |(done, _)| done),
        };
        self.sender.send(batch).ok()
    }
}

/// What came of a thread and waits to be told.
struct Queue<E> {
    receiver: Receiver<Batch<E>>,
    /// Takes slices that were told.
    spare: SyncSender<Slice<E>>,
    batch: Option<Batch<E>>,
    /// Entries of the batch that were told, and beginnings.
    entry: usize,
    begun: usize,
    is_over: bool,
}

impl<E> Queue<E> {
    fn new(receiver: Receiver<Batch<E>>, spare: SyncSender<Slice<E>>) -> Queue<E> {
        Queue { receiver, spare, batch: None, entry: 0, begun: 0, is_over: false }
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

/// What all threads tell, in one order.
struct Merge<E> {
    /// The numbers of each thread's flows in the whole capture.
    numbers: Vec<Numbers>,
    given: u32,
    queues: Vec<Queue<E>>,
}

impl<E> Merge<E> {
    fn new(queues: Vec<Queue<E>>) -> Merge<E> {
        let numbers = queues.iter().map(|_| Numbers::default()).collect();
        Merge { numbers, given: 0, queues }
    }

    fn run<C: Command<Entry = E>>(
        &mut self,
        command: &mut C,
        err: &mut dyn Write,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Failure> {
        loop {
            let heads = (0..self.queues.len()).filter_map(|nth| Some((self.head(nth)?, nth)));
            let Some((head, nth)) = heads.clone().min_by_key(|(head, _)| head.moment()) else {
                return Ok(());
            };
            match head {
                Head::Unknown(_) => self.receive(nth, err, progress),
                Head::Known(moment) => {
                    let others = heads.filter(|&(_, other)| other != nth);
                    let until = others.map(|(head, _)| head.moment()).min();
                    self.tell(nth, until.map(|until| until.max(moment.next())), command);
                    command.check()?;
                }
            }
        }
    }

    /// What a thread has next, if it is not over, in the order of the whole capture.
    fn head(&self, nth: usize) -> Option<Head> {
        let queue = self.queues.get(nth).filter(|queue| !queue.is_over)?;
        let Some(batch) = &queue.batch else { return Some(Head::Unknown(EventOrder::default())) };
        let numbers = self.numbers.get(nth)?;
        let whole = |moment: EventOrder| moment.renumbered(|local| numbers.whole(local));
        let entry = batch.slice.entries.get(queue.entry).map(|&(moment, _)| moment);
        let next = entry.into_iter().chain(batch.begun.get(queue.begun).copied()).min();
        Some(match next {
            Some(moment) => Head::Known(whole(moment)),
            None => Head::Unknown(whole(batch.through).next()),
        })
    }

    fn receive(&mut self, nth: usize, err: &mut dyn Write, progress: &mut dyn FnMut(u64)) {
        let Some(queue) = self.queues.get_mut(nth) else { return };
        (queue.entry, queue.begun) = (0, 0);
        if let Some(mut told) = queue.batch.take() {
            if let (Some(needed), Some(numbers)) = (told.needed, self.numbers.get_mut(nth)) {
                numbers.keep(&needed);
            }
            told.slice.entries.clear();
            told.slice.text.clear();
            // Where there are enough, or nobody wants any, its memory goes.
            queue.spare.try_send(told.slice).ok();
        }
        match queue.receiver.recv() {
            Ok(batch) => {
                for notice in &batch.notices {
                    writeln!(err, "gamewire: warning: {notice}").ok();
                }
                if batch.position > 0 {
                    progress(batch.position);
                }
                queue.batch = Some(batch);
            }
            Err(_) => queue.is_over = true,
        }
    }

    /// Tells what a thread has before this moment; all it has, if nobody else has anything.
    fn tell<C: Command<Entry = E>>(
        &mut self,
        nth: usize,
        until: Option<EventOrder>,
        command: &mut C,
    ) {
        let Merge { numbers, given, queues } = self;
        let (Some(queue), Some(numbers)) = (queues.get_mut(nth), numbers.get_mut(nth)) else {
            return;
        };
        let Some(batch) = &mut queue.batch else { return };
        loop {
            let whole = |moment: EventOrder| moment.renumbered(|local| numbers.whole(local));
            let is_due = |moment: EventOrder| until.is_none_or(|until| whole(moment) < until);
            let entry = batch.slice.entries.get_mut(queue.entry);
            let moment = entry.as_ref().map(|entry| entry.0);
            // A flow has its number before anything of it is told.
            if let Some(&begun) = batch.begun.get(queue.begun)
                && moment.is_none_or(|moment| begun <= moment)
            {
                if !is_due(begun) {
                    return;
                }
                *given = given.saturating_add(1);
                numbers.push(*given);
                queue.begun += 1;
            } else if let Some((moment, entry)) = entry
                && is_due(*moment)
            {
                command.take(*moment, entry, &batch.slice.text, &|local| numbers.whole(local));
                queue.entry += 1;
            } else {
                return;
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

    /// The number in the whole capture. A flow whose beginning is not told yet comes before all
    /// others: nothing of it is told before that.
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

    /// Forgets all but these, which stand in order.
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
