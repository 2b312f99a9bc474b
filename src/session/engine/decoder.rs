//! Packets in, events out.

use dissectors::kit::{Blind, Time, Tree};

use super::shard_range::{self, Partition, ShardRange};
use super::{OpenFlows, Recorder, Session};
use crate::capture::{CaptureBytes, Notice, Packet};
use crate::flows::FlowRow;
use crate::session::{Batch, Event, EventOrder, Events, Options, OtherHosts, Totals, Traffic};

/// Decodes a capture: packets go in, [events](crate::session::Event) come out. It opens no file, reads no clock
/// and starts no thread.
///
/// ```
/// use gamewire::capture::{self, Event as Recorded};
/// use gamewire::{Decoder, Event, Needs, Options};
///
/// let needs = Needs { flows: true, ..Needs::messages_with_fields() };
/// let mut decoder = Decoder::new(Options { needs, ..Options::default() });
/// let (mut messages, mut flows) = (0, 0);
/// let mut read = |decoder: &mut Decoder| {
///     let mut events = decoder.events();
///     while let Some(event) = events.next() {
///         match event {
///             Event::Message(_) => messages += 1,
///             Event::FlowEnded(row) => flows += u64::from(row.protocol == "a2s"),
///             _ => {}
///         }
///     }
/// };
/// let mut packets = capture::open("samples/a2s-info-players-rules.pcap".as_ref())?;
/// while let Some(event) = packets.next() {
///     match event {
///         Recorded::Packet(packet) => decoder.push(&packet),
///         Recorded::Notice(notice) => decoder.notice(&notice),
///     }
///     read(&mut decoder);
/// }
/// while decoder.finish() {
///     read(&mut decoder);
/// }
/// assert_eq!((messages, flows), (10, 1));
/// assert_eq!(decoder.into_totals().flows, 1);
/// # Ok::<(), capture::CaptureError>(())
/// ```
pub struct Decoder {
    session: Session,
    recorder: AnyRecorder,
    end: EndState,
}

/// The progress of finishing a capture.
enum EndState {
    NotYet,
    /// These flows are still open.
    Ending(OpenFlows),
    Over,
}

/// A recorder that keeps fields, or one that does not, if no event needs them.
enum AnyRecorder {
    WithFields(Box<Recorder<Tree>>),
    WithoutFields(Box<Recorder<Blind>>),
}

/// Runs the same code with either kind of recorder.
macro_rules! either {
    ($kind:expr, $recorder:ident => $work:expr) => {
        match $kind {
            AnyRecorder::WithFields($recorder) => $work,
            AnyRecorder::WithoutFields($recorder) => $work,
        }
    };
}

impl Decoder {
    /// A new decoder.
    pub fn new(options: Options) -> Decoder {
        Decoder::of_thread(options, 0, 1)
    }

    /// One of several decoders that share a capture: the `nth`, from 0, of this many, at most
    /// [`Decoder::most_threads`]. Each reads all packets and reports the flows of its part; the
    /// first one also reports events without a flow.
    pub fn of_thread(options: Options, nth: usize, of: usize) -> Decoder {
        let range = ShardRange::of_thread(&options, nth, of);
        Decoder::of(options, range)
    }

    /// One of several decoders that each follow a partition of all pairs of hosts. It needs only
    /// the packets of its own pairs, and [`Decoder::go_to`] must pass it the time of the other
    /// packets; the first one also reports events without a flow.
    pub fn partition(options: Options, partition: Partition) -> Decoder {
        let range = ShardRange::of_partition(&options, partition);
        let mut decoder = Decoder::of(options, range);
        if partition.of > 1 {
            // Filtered lists may be in others.
            either!(&mut decoder.recorder, recorder => recorder.describe_until(Time(i64::MAX)));
        }
        decoder
    }

    fn of(options: Options, range: ShardRange) -> Decoder {
        let recorder = match options.needs.fields {
            Some(limits) => {
                AnyRecorder::WithFields(Box::new(Recorder::new(limits.tree(), &options)))
            }
            None => AnyRecorder::WithoutFields(Box::new(Recorder::new(Blind, &options))),
        };
        Decoder { session: Session::of_range(options, range), recorder, end: EndState::NotYet }
    }

    /// Maximum number of decoders that can share a capture.
    pub fn most_threads(options: &Options) -> usize {
        shard_range::count_shards(options)
    }

    /// Calls `each` with the unread events.
    ///
    /// # Errors
    /// Those of `each`, which then gets none of the others.
    #[inline]
    pub(crate) fn each_event<E>(
        &mut self,
        mut each: impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.has_events() {
            let mut events = self.events();
            while let Some(event) = events.next() {
                each(&event)?;
            }
        }
        Ok(())
    }

    /// The whole capture is in memory: parts of it can be referenced instead of copied.
    pub fn lend(&mut self, capture: CaptureBytes) {
        self.session.context.defragmenter.lend(capture);
    }

    /// The next packet.
    #[inline]
    pub fn push(&mut self, packet: &Packet<'_>) {
        either!(&mut self.recorder, recorder => self.session.packet(packet, recorder));
    }

    /// The next packet is not wanted: it is only counted.
    pub fn pass_over(&mut self) {
        self.session.context.frame += 1;
        self.session.totals.passed_over += 1;
    }

    /// The capture continued to this packet and time; more packets follow.
    pub fn go_to(&mut self, frame: u64, time: Time) {
        let context = &mut self.session.context;
        (context.frame, context.now) = (frame, time);
    }

    /// Other decoders have seen packets from these hosts that are not datagrams of supported
    /// protocols.
    pub fn heard(&mut self, heard: &OtherHosts) {
        self.session.totals.heard.add(heard);
    }

    /// A notice about the recording.
    pub fn notice(&mut self, notice: &Notice) {
        either!(&mut self.recorder, recorder => self.session.notice(notice, recorder));
    }

    /// No packet has come until now: requests may be overdue, and idle flows end.
    pub fn reach(&mut self, now: Time) {
        either!(&mut self.recorder, recorder => self.session.reach(now, recorder));
    }

    /// The capture is over: ends one of the open flows. Call it until it returns `false`. Read the
    /// events after each `true`, since there may be millions of flows.
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

    /// The unread events.
    #[inline]
    pub fn events(&mut self) -> Events<'_> {
        Events::new(self.batch())
    }

    /// Whether there are unread events.
    #[inline]
    pub fn has_events(&self) -> bool {
        either!(&self.recorder, recorder => !recorder.batch.is_empty())
    }

    #[inline]
    pub(crate) fn batch(&mut self) -> &mut Batch {
        either!(&mut self.recorder, recorder => &mut recorder.batch)
    }

    /// The totals at the end of the capture.
    pub fn into_totals(self) -> Totals {
        let selected = either!(&self.recorder, recorder => recorder.selected());
        let (rules, traffic) = either!(self.recorder, recorder => recorder.into_counts());
        Totals { rules, traffic, selected, ..self.session.totals() }
    }

    /// The totals so far, while the capture continues; `each` is called with the rows of open
    /// flows. Counts of rules and messages are missing.
    pub fn so_far(&mut self, each: impl FnMut(&FlowRow)) -> Totals {
        self.session.open_rows(each);
        self.session.totals()
    }

    /// The counts of messages so far, if requested.
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

    /// All later events have this order or a later one.
    pub fn order(&self) -> EventOrder {
        self.session.context.moment
    }

    /// The order of the flows that were numbered since the last call, by number; only for decoders that
    /// share a capture.
    pub fn take_begun(&mut self) -> Vec<EventOrder> {
        self.session.context.numbers.take_begun()
    }

    /// Whether it reports events without a flow.
    pub fn is_first(&self) -> bool {
        self.session.is_first()
    }

    /// How many flows are open.
    pub fn open_flows(&self) -> usize {
        self.session.shards.iter().map(|shard| shard.table.len()).sum()
    }

    /// The numbers of open flows.
    pub fn open_numbers(&self) -> impl Iterator<Item = u32> {
        let flows = self.session.shards.iter().flat_map(|shard| shard.table.iter());
        flows.map(|(_, flow)| flow.number).filter(|&number| number > 0)
    }
}
