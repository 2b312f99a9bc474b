//! Packets in, events out.

use dissectors::kit::{Blind, Time, Tree};

use super::batch::{Batch, Event};
use super::events::Events;
use super::recorder::Recorder;
use super::share::{self, Partition, Share};
use super::{EventOrder, Heard, Open, Options, Session, Totals, Traffic};
use crate::capture::{self, Memory, Notice, Packet, Packets};
use crate::flows::FlowRow;

/// Decodes a capture: packets go in, [events](super::Event) come out. It opens no file, reads no clock
/// and starts no thread.
pub struct Decoder {
    session: Session,
    recorder: AnyRecorder,
    end: EndState,
}

/// How far the end of the capture is dealt with.
enum EndState {
    NotYet,
    /// These flows are still open.
    Ending(Open),
    Over,
}

/// Whether messages are decoded with their fields: what nobody reads is not made.
enum AnyRecorder {
    WithFields(Box<Recorder<Tree>>),
    WithoutFields(Box<Recorder<Blind>>),
}

/// Does the same with either kind of recorder.
macro_rules! either {
    ($kind:expr, $recorder:ident => $work:expr) => {
        match $kind {
            AnyRecorder::WithFields($recorder) => $work,
            AnyRecorder::WithoutFields($recorder) => $work,
        }
    };
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new(options: Options) -> Decoder {
        Decoder::share(options, 0, 1)
    }

    /// One of several decoders that share a capture: the `nth`, from 0, of this many; of no more than
    /// [`Decoder::most_shares`]. Each reads all packets and reports the flows of its share; the
    /// first one also reports what concerns no flow.
    pub fn share(options: Options, nth: usize, of: usize) -> Decoder {
        let share = Share::of_thread(&options, nth, of);
        Decoder::of(options, share)
    }

    /// One of several decoders that follow a partition of all pairs of hosts each. It needs no packets
    /// but those of its own pairs, and must be made to [go on](Decoder::go_to) with the time of the others;
    /// the first one also reports what concerns no flow.
    pub fn partition(options: Options, partition: Partition) -> Decoder {
        let share = Share::of_partition(&options, partition);
        Decoder::of(options, share)
    }

    fn of(options: Options, share: Share) -> Decoder {
        let recorder = match options.needs.fields {
            Some(limits) => {
                AnyRecorder::WithFields(Box::new(Recorder::new(limits.tree(), &options)))
            }
            None => AnyRecorder::WithoutFields(Box::new(Recorder::new(Blind, &options))),
        };
        Decoder { session: Session::share(options, share), recorder, end: EndState::NotYet }
    }

    /// How many decoders can share a capture.
    pub fn most_shares(options: &Options) -> usize {
        share::count_shards(options)
    }

    /// Reads a capture to its end, and hands every event to `each`.
    pub fn read(mut self, packets: &mut dyn Packets, mut each: impl FnMut(&Event<'_>)) -> Totals {
        if let Some(capture) = packets.in_memory() {
            self.lend(capture);
        }
        while let Some(event) = packets.next() {
            match event {
                capture::Event::Packet(packet) => self.push(&packet),
                capture::Event::Notice(notice) => self.notice(&notice),
            }
            self.drain(&mut each);
        }
        while self.finish() {
            self.drain(&mut each);
        }
        self.into_totals()
    }

    /// Hands the events that were not read yet to `each`.
    fn drain(&mut self, each: &mut impl FnMut(&Event<'_>)) {
        let mut events = self.events();
        while let Some(event) = events.next() {
            each(&event);
        }
    }

    /// The capture is in memory as a whole: what is kept of its packets can stay there.
    pub fn lend(&mut self, capture: Memory) {
        self.session.context.defragmenter.lend(capture);
    }

    /// The next packet.
    #[inline]
    pub fn push(&mut self, packet: &Packet<'_>) {
        either!(&mut self.recorder, recorder => self.session.packet(packet, recorder));
    }

    /// The next packet is not wanted: it only counts.
    pub fn pass_over(&mut self) {
        self.session.context.frame += 1;
        self.session.passed_over += 1;
    }

    /// The capture went on to this packet, which others follow, and which came then.
    pub fn go_to(&mut self, frame: u64, time: Time) {
        let context = &mut self.session.context;
        (context.frame, context.now) = (frame, time);
    }

    /// These hosts were heard by others, with packets that are not datagrams of ours.
    pub fn heard(&mut self, heard: &Heard) {
        self.session.heard.add(heard);
    }

    /// Something was said about the recording itself.
    pub fn notice(&mut self, notice: &Notice) {
        either!(&mut self.recorder, recorder => self.session.notice(notice, recorder));
    }

    /// No packet has come until now: requests may be overdue, and idle flows end.
    pub fn reach(&mut self, now: Time) {
        either!(&mut self.recorder, recorder => self.session.reach(now, recorder));
    }

    /// The capture is over: ends one of the flows that are still open. To be called until it returns
    /// `false`: there is nothing more. Events are to be read after each `true`: there may be millions of flows.
    pub fn finish(&mut self) -> bool {
        let mut open = match std::mem::replace(&mut self.end, EndState::Over) {
            EndState::NotYet => {
                either!(&mut self.recorder, recorder => self.session.finish(recorder))
            }
            EndState::Ending(open) => open,
            EndState::Over => return false,
        };
        if either!(&mut self.recorder, recorder => self.session.finish_next(&mut open, recorder)) {
            self.end = EndState::Ending(open);
        }
        true
    }

    /// What was reported since it was last read.
    #[inline]
    pub fn events(&mut self) -> Events<'_> {
        Events::new(self.batch())
    }

    /// Whether there are events to be read.
    #[inline]
    pub fn has_events(&self) -> bool {
        either!(&self.recorder, recorder => !recorder.batch.is_empty())
    }

    #[inline]
    pub(crate) fn batch(&mut self) -> &mut Batch {
        either!(&mut self.recorder, recorder => &mut recorder.batch)
    }

    /// What was read and counted, now that the capture is over.
    pub fn into_totals(self) -> Totals {
        let (rules, traffic) = either!(self.recorder, recorder => recorder.into_counts());
        Totals { rules, traffic, ..self.session.totals() }
    }

    /// What was read so far, while the capture goes on; `each` is handed what a listing of flows would
    /// show of those that are open. It lacks what is counted of rules and of messages.
    pub fn so_far(&mut self, each: impl FnMut(&FlowRow)) -> Totals {
        self.session.open_rows(each);
        self.session.totals()
    }

    /// What messages there were so far, if that is counted.
    pub fn traffic(&self) -> Option<&Traffic> {
        either!(&self.recorder, recorder => recorder.traffic())
    }

    /// Bytes of the packets read so far, as they were on the wire.
    pub fn bytes(&self) -> u64 {
        self.session.context.bytes
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.session.context.frame
    }

    /// How many flows have a number so far.
    pub fn flows(&self) -> u32 {
        self.session.context.numbers.given()
    }

    /// What is reported from now on comes at this point of the capture or later.
    pub fn order(&self) -> EventOrder {
        self.session.context.moment
    }

    /// When the flows began that got a number since the last time, in the order of their numbers; known
    /// only to decoders that share a capture.
    pub fn take_begun(&mut self) -> Vec<EventOrder> {
        self.session.context.numbers.take_begun()
    }

    /// Whether it reports what concerns no flow.
    pub fn is_first(&self) -> bool {
        self.session.is_first()
    }

    /// How many flows are open.
    pub fn open_flows(&self) -> usize {
        self.session.shards.iter().map(|shard| shard.table.len()).sum()
    }

    /// The numbers of the open flows that have one.
    pub fn open_numbers(&self) -> impl Iterator<Item = u32> {
        let flows = self.session.shards.iter().flat_map(|shard| shard.table.iter());
        flows.map(|(_, flow)| flow.number).filter(|&number| number > 0)
    }
}
