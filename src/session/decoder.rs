//! Packets in, events out.

use dissectors::kit::{Blind, Time, Tree};

use super::batch::{Batch, Events};
use super::recorder::Recorder;
use super::{EventOrder, Open, Options, Session, Totals};
use crate::capture::{Memory, Notice, Packet};

/// Decodes a capture: packets go in, [events](super::Event) come out. It opens no file, reads no clock
/// and starts no thread.
pub struct Decoder {
    session: Session,
    recorder: Kind,
    open: Option<Open>,
}

/// Whether messages are decoded with their fields: what nobody reads is not made.
enum Kind {
    WithFields(Box<Recorder<Tree>>),
    WithoutFields(Box<Recorder<Blind>>),
}

/// Does the same with either kind of recorder.
macro_rules! with_recorder {
    ($decoder:expr, |$session:ident, $recorder:ident| $work:expr) => {{
        let $session = &mut $decoder.session;
        match &mut $decoder.recorder {
            Kind::WithFields($recorder) => $work,
            Kind::WithoutFields($recorder) => $work,
        }
    }};
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new(options: Options) -> Decoder {
        Decoder::share(options, 0, 1)
    }

    /// One of several decoders that share a capture: the `nth`, from 0, of so many; of no more than
    /// [`Decoder::most_shares`]. Each reads all packets and reports the flows of its share; the
    /// first one also reports what concerns no flow.
    pub fn share(options: Options, nth: usize, of: usize) -> Decoder {
        let recorder = match options.needs.fields {
            Some(limits) => {
                let tree = Tree::bounded(limits.fields, limits.depth);
                Kind::WithFields(Box::new(Recorder::new(tree, &options)))
            }
            None => Kind::WithoutFields(Box::new(Recorder::new(Blind, &options))),
        };
        Decoder { session: Session::share(options, nth, of), recorder, open: None }
    }

    /// How many decoders can share a capture.
    pub fn most_shares(options: &Options) -> usize {
        Session::most_shares(options)
    }

    /// The capture is in memory as a whole: what is kept of its packets can stay there.
    pub fn lend(&mut self, capture: Memory) {
        self.session.lend(capture);
    }

    /// The next packet.
    #[inline]
    pub fn push(&mut self, packet: &Packet<'_>) {
        with_recorder!(self, |session, recorder| session.packet(packet, recorder));
    }

    /// The next packet is not wanted: it only counts.
    pub fn pass_over(&mut self) {
        self.session.pass_over();
    }

    /// Something was said about the recording itself.
    pub fn notice(&mut self, notice: &Notice) {
        with_recorder!(self, |session, recorder| session.notice(notice, recorder));
    }

    /// No packet has come until now: requests may be overdue, and idle flows end.
    pub fn reach(&mut self, now: Time) {
        with_recorder!(self, |session, recorder| session.reach(now, recorder));
    }

    /// The capture is over: ends one of the flows that are still open. To be called until it returns
    /// `false`, and its events to be read in between: there may be millions of flows.
    pub fn finish(&mut self) -> bool {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => with_recorder!(self, |session, recorder| session.finish(recorder)),
        };
        let more =
            with_recorder!(self, |session, recorder| session.finish_next(&mut open, recorder));
        self.open = Some(open);
        more
    }

    /// What was reported since it was last read.
    #[inline]
    pub fn events(&mut self) -> Events<'_> {
        Events::new(self.batch())
    }

    /// Whether there are events to be read.
    #[inline]
    pub fn has_events(&self) -> bool {
        match &self.recorder {
            Kind::WithFields(recorder) => !recorder.batch.is_empty(),
            Kind::WithoutFields(recorder) => !recorder.batch.is_empty(),
        }
    }

    #[inline]
    pub(crate) fn batch(&mut self) -> &mut Batch {
        match &mut self.recorder {
            Kind::WithFields(recorder) => &mut recorder.batch,
            Kind::WithoutFields(recorder) => &mut recorder.batch,
        }
    }

    /// What was read and counted, now that the capture is over.
    pub fn into_totals(self) -> Totals {
        let (rules, traffic) = match self.recorder {
            Kind::WithFields(recorder) => recorder.into_counts(),
            Kind::WithoutFields(recorder) => recorder.into_counts(),
        };
        Totals { rules, traffic, ..self.session.totals_in_the_end() }
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.session.packets()
    }

    /// How many flows have a number so far.
    pub fn flows(&self) -> u32 {
        self.session.numbered()
    }

    /// What is reported from now on comes at this point of the capture or later.
    pub fn order(&self) -> EventOrder {
        self.session.moment()
    }

    /// When the flows began that got a number since the last time, in the order of their numbers; known
    /// only to decoders that share a capture.
    pub fn take_begun(&mut self) -> Vec<EventOrder> {
        self.session.take_begun()
    }

    /// Whether it reports what concerns no flow.
    pub fn is_first(&self) -> bool {
        self.session.is_first()
    }

    /// How many flows are open.
    pub fn open_flows(&self) -> usize {
        self.session.followed()
    }

    /// The numbers of the open flows that have one.
    pub fn open_numbers(&self) -> impl Iterator<Item = u32> {
        self.session.followed_numbers()
    }
}
