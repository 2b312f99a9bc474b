//! The way of a packet: headers, fragments, flow, protocol, view.
//!
//! ```text
//! Packet --net::decode--> Fragment --Defragmenter--+
//!                    \--> Datagram, Segment <------+
//! Datagram --Lane: Table, Identifier--> Talk::message --> View
//! Segment  --Lane: Table--> Stream (net::tcp) --frames--> Talk::message --> View
//! ```
//!
//! The session owns all state that outlives a packet and drives it by the capture's own clock. It
//! knows no output and no file, and no threads; but several sessions can share a capture: each reads
//! all of it, and follows the flows of its share of all pairs of hosts.

mod around;
mod cut;
mod files;
mod heard;
mod lane;
mod memory;
mod moment;
mod recent;
mod recording;
mod segments;
mod stream;
mod totals;
mod view;

use std::net::IpAddr;

use dissectors::kit::{FlowFacts, Piece, Rule, Settings, Time, Transport};
use dissectors::net_rules::{NET004, NET005};

use crate::capture::{LinkType, Memory, Packet};
use crate::flows::table::{InOrder, Slot};
use crate::flows::{Identifier, Key};
use crate::net::ip_defrag::{Event, EventKind, Joined};
use crate::net::limits::{FragmentLimits, NESTED_DATAGRAMS};
use crate::net::tcp;
use crate::net::{
    Defragmenter, Fragment, FrameRef, Glance, Ip, Outcome, SegmentHead, Whole, decode,
    decode_ip_payload, glance,
};

pub use cut::Cut;
pub use files::Files;
pub use heard::Heard;
use lane::Lane;
pub use lane::{LANES, of as lane_of, of as group};
pub use moment::{Moment, Numbers};
use recording::words;
pub use totals::{Foreign, Totals};
pub use view::{Quoted, Scene, View};

/// What a session is told before it begins.
#[derive(Clone, Debug)]
pub struct Options {
    /// How protocols are told apart.
    pub identifier: Identifier,
    /// What the protocols may be told.
    pub settings: Settings,
    /// The user vouches that the capture is complete.
    pub complete: bool,
    /// Judge IP, UDP and TCP checksums.
    pub verify_checksums: bool,
    /// Note whom the recording has heard; see [`Totals::heard`].
    pub hears: bool,
    /// Somebody lists flows: of each is counted what a listing asks for.
    pub lists: bool,
    /// Flows that are followed at a time.
    pub flows: usize,
    /// Bytes of memory that these flows take, unfinished answers and streams left out.
    pub flow_bytes: usize,
    /// Bytes that unfinished answers may hold, over all flows.
    pub unfinished_bytes: usize,
    /// What open IP fragments may hold, and for how long.
    pub fragments: FragmentLimits,
    /// What TCP connections may hold.
    pub streams: tcp::Limits,
    /// A flow that is silent for so long, in nanoseconds, has ended; `None`: its protocol says it.
    pub idle: Option<i64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            identifier: Identifier::default(),
            settings: Settings::default(),
            complete: false,
            verify_checksums: false,
            hears: false,
            lists: false,
            flows: 1 << 22,
            flow_bytes: 1 << 29,
            unfinished_bytes: 16 << 20,
            fragments: FragmentLimits::default(),
            streams: tcp::Limits::default(),
            idle: None,
        }
    }
}

/// Reads a capture's packets, one after the other.
pub struct Session {
    around: Around,
    /// The lanes of this session's share.
    lanes: Vec<Lane>,
    share: Share,
    fragment_events: Vec<Event>,
    /// Packets of a link type that cannot be read, and the first such link type.
    unknown_links: u64,
    unknown_link: Option<LinkType>,
    files: Files,
    /// As long as no flow's protocol was told.
    foreign: Foreign,
    passed_over: u64,
    /// Packets that were cut before their ports.
    cut: Cut,
}

/// Which lanes a session has.
#[derive(Clone, Copy)]
struct Share {
    /// The number of the first of them.
    first: usize,
    /// How many there are.
    lanes: usize,
    /// How many all shares have.
    all: usize,
}

/// What surrounds a message, whosever it is: the packet at hand, the time, what was lost.
struct Around {
    options: Options,
    defragmenter: Defragmenter,
    pieces: Vec<Piece>,
    /// What its headers show of the packet at hand, for the message that it carries.
    headers: Vec<(&'static Rule, bool, String)>,
    /// Packets are missing, and nobody knows whose.
    lossy: bool,
    /// Some of them from before that was said.
    dropped: bool,
    frame: u64,
    /// Where the packet at hand begins in the capture file.
    offset: u64,
    moment: Moment,
    now: Time,
    numbers: Numbers,
    digits: u8,
    /// The earliest and the latest time of a packet.
    span: [i64; 2],
}

/// The flows that are open when a capture is over: of each lane, in the order of their numbers,
/// those without one behind.
pub struct Open {
    lanes: Vec<Left>,
}

/// The flows that a lane has left.
struct Left {
    /// The rank of the next one: its number less one, so that those without a number are behind.
    rank: u64,
    next: Option<Slot>,
    behind: InOrder,
}

impl Left {
    /// Goes on to the lane's next flow; one that made room for others meanwhile is not there any more.
    fn go_on(&mut self, lane: &Lane) {
        let next = self.behind.find_map(|slot| Some((slot, lane.table.get(slot)?.number)));
        self.next = next.map(|(slot, _)| slot);
        self.rank = next.map_or(u64::MAX, |(_, number)| number.wrapping_sub(1).into());
    }
}

/// Where the bytes of a payload were recorded.
#[derive(Clone, Copy)]
enum Recorded<'a> {
    /// In the packet at hand.
    Here,
    /// In the fragments that were joined.
    Joined(&'a Whole),
}

impl Session {
    /// A session that has seen nothing.
    pub fn new(options: Options) -> Session {
        Session::share(options, 0, 1)
    }

    /// One of several sessions that share a capture: the `nth`, from 0, of so many; of no more than
    /// [`Session::most_shares`]. The first one tells what concerns no flow.
    pub fn share(mut options: Options, nth: usize, of: usize) -> Session {
        let all = lane::count(&options);
        options.settings.limits.remembered /= all;
        let (first, end) = (all * nth / of, all * (nth + 1) / of);
        Session {
            lanes: (first..end).map(|_| Lane::new(&options, all)).collect(),
            share: Share { first, lanes: end - first, all },
            fragment_events: Vec::new(),
            unknown_links: 0,
            unknown_link: None,
            files: Files::default(),
            foreign: Foreign::default(),
            passed_over: 0,
            cut: Cut::default(),
            around: Around {
                defragmenter: Defragmenter::new(options.fragments),
                pieces: Vec::new(),
                headers: Vec::new(),
                lossy: false,
                dropped: false,
                frame: 0,
                offset: 0,
                moment: Moment::default(),
                now: Time(i64::MIN),
                numbers: Numbers::new(of > 1),
                digits: 6,
                span: [i64::MAX, i64::MIN],
                options,
            },
        }
    }

    /// The capture is in memory as a whole: what is kept of its packets can stay there.
    pub fn lend(&mut self, capture: Memory) {
        self.around.defragmenter.lend(capture);
    }

    /// How many sessions can share a capture.
    pub fn most_shares(options: &Options) -> usize {
        lane::count(options)
    }

    /// What was read so far.
    pub fn totals(&self) -> Totals {
        Totals {
            packets: self.around.frame,
            span: (self.around.span[0] <= self.around.span[1]).then(|| self.around.span.map(Time)),
            flows: self.around.numbers.given(),
            lossy: self.around.lossy,
            dropped: self.around.dropped,
            unknown_links: self.unknown_links,
            unknown_link: self.unknown_link,
            files: self.files.clone(),
            heard: Heard::default(),
            passed_over: self.passed_over,
            foreign: self.foreign.clone(),
            cut: if self.is_first() { self.cut.clone() } else { Cut::default() },
        }
    }

    /// What was read, whom it has heard, and what was cut, now that the capture is over.
    pub fn totals_in_the_end(&self) -> Totals {
        let mut totals = self.totals();
        for lane in &self.lanes {
            totals.heard.add(&lane.heard);
            totals.cut.add(&lane.cut);
        }
        totals
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.around.frame
    }

    /// What was told last was told at this moment; nothing will be told at an earlier one.
    pub fn moment(&self) -> Moment {
        self.around.moment
    }

    /// When the flows began whose protocol was told since the last time, in the order of their
    /// numbers; kept only by sessions that share a capture.
    pub fn take_begun(&mut self) -> Vec<Moment> {
        self.around.numbers.take_begun()
    }

    /// How many flows have got a number so far.
    pub fn numbered(&self) -> u32 {
        self.around.numbers.given()
    }

    /// How many flows are followed.
    pub fn followed(&self) -> usize {
        self.lanes.iter().map(|lane| lane.table.len()).sum()
    }

    /// The numbers of the flows that are followed, as far as they have one.
    pub fn followed_numbers(&self) -> impl Iterator<Item = u32> {
        let flows = self.lanes.iter().flat_map(|lane| lane.table.iter());
        flows.map(|(_, flow)| flow.number).filter(|&number| number > 0)
    }

    /// The next packet.
    pub fn packet<V: View>(&mut self, packet: &Packet<'_>, view: &mut V) {
        let around = &mut self.around;
        around.frame += 1;
        let has_no_file = self.files.go_on(around.frame, packet.file);
        around.span = [around.span[0].min(packet.time), around.span[1].max(packet.time)];
        around.digits = packet.digits;
        around.offset = packet.offset;
        around.now = Time(packet.time);
        around.moment = Moment::before(around.frame);
        self.elapse(view);
        self.around.moment = Moment::at(self.around.frame);
        let time = Time(packet.time);
        if has_no_file && self.is_first() {
            self.around.files_end(time, view);
        }
        let Some(glance) = glance(packet.link, packet.data) else {
            let outcome = decode(packet.link, packet.data, packet.original_length);
            return self.outcome(&outcome, time, Recorded::Here, 0, view);
        };
        if glance.is_fragment() {
            return self.outcome(&glance.outcome(), time, Recorded::Here, 0, view);
        }
        let [source, destination] = glance.hosts().map(IpAddr::from);
        if let Some(lane) = self.share.place_of(source, destination) {
            let transport = if glance.is_udp() { Transport::Udp } else { Transport::Tcp };
            // Made of what was read, not of what was written for the outcome: a processor that reads in
            // other pieces than were just written waits for all that was written before.
            let key = Key { source, destination, ports: glance.ports(), transport };
            match glance.segment_head().filter(|_| !self.around.options.verify_checksums) {
                Some(head) => self.glanced(lane, key, &glance, &head, view),
                None => self.carried(lane, key, &glance.outcome(), time, Recorded::Here, view),
            }
        }
    }

    /// A segment told at a glance, for this lane. Most do nothing: no more of these is looked at.
    #[inline]
    fn glanced<V: View>(
        &mut self,
        lane: usize,
        key: Key,
        glance: &Glance<'_>,
        head: &SegmentHead,
        view: &mut V,
    ) {
        let Some(lane) = self.lanes.get_mut(lane) else { return };
        let around = &mut self.around;
        let time = around.now;
        lane.ask_due(around, view);
        lane.hear(around, key.source);
        if let Some(place) = lane.place(&key, head, time)
            && let Outcome::Tcp(segment) = glance.outcome()
        {
            lane.segment(around, &key, place, &segment, time, Recorded::Here, view);
        }
        lane.limits_met(around, time, view);
        self.foreign.see(&key, &self.around.numbers);
    }

    /// The next packet is not wanted: it only counts.
    pub fn pass_over(&mut self) {
        self.around.frame += 1;
        self.passed_over += 1;
    }

    /// No packet has come until now: what was due by then is judged, and what is idle ends.
    pub fn reach<V: View>(&mut self, now: Time, view: &mut V) {
        /// Flows that are looked at in one turn.
        const MOST: u32 = 1000;
        self.around.now = self.around.now.max(now);
        self.expire(view);
        for lane in &mut self.lanes {
            lane.elapse(&mut self.around, view);
            lane.end_idle(MOST, &mut self.around, view);
        }
    }

    /// The capture is over: what is open is judged, flow after flow, as often as the flows that
    /// are left are asked for.
    #[must_use]
    pub fn finish<V: View>(&mut self, view: &mut V) -> Open {
        self.around.moment = Moment::END;
        self.around.defragmenter.finish(&mut self.fragment_events);
        self.fragment_events(view);
        let left = |lane: &mut Lane| {
            let mut left = Left { rank: 0, next: None, behind: lane.table.in_order() };
            left.go_on(lane);
            left
        };
        Open { lanes: self.lanes.iter_mut().map(left).collect() }
    }

    /// Ends the next of the flows that are still open. Returns whether there was one.
    pub fn finish_next<V: View>(&mut self, open: &mut Open, view: &mut V) -> bool {
        // There are few lanes: to look at each takes less than to keep them in order.
        let lanes = open.lanes.iter_mut().enumerate();
        if let Some((at, left)) = lanes.min_by_key(|(_, left)| left.rank)
            && let (Some(slot), Some(lane)) = (left.next, self.lanes.get_mut(at))
        {
            let number = (left.rank as u32).wrapping_add(1);
            left.go_on(lane);
            self.around.moment = Moment::end_of(number, self.share.first + at);
            lane.end_flow(&mut self.around, slot, view);
            return true;
        }
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            self.around.moment = Moment::end_of(0, self.share.first + at);
            lane.see_forgotten();
            lane.limits_met(&self.around, self.around.now, view);
        }
        false
    }

    /// What time has decided, before the packet at hand.
    fn elapse<V: View>(&mut self, view: &mut V) {
        self.expire(view);
        // One lane after the other has its turn; the packet's own looks after itself.
        let turn = self.around.frame as usize & (self.share.all - 1);
        if let Some(lane) = turn.checked_sub(self.share.first).and_then(|at| self.lanes.get_mut(at))
        {
            lane.elapse(&mut self.around, view);
        }
    }

    fn expire<V: View>(&mut self, view: &mut V) {
        self.around.defragmenter.expire(self.around.now.0, &mut self.fragment_events);
        if !self.fragment_events.is_empty() {
            self.fragment_events(view);
        }
    }

    fn outcome<V: View>(
        &mut self,
        outcome: &Outcome<'_>,
        time: Time,
        recorded: Recorded<'_>,
        depth: usize,
        view: &mut V,
    ) {
        let Some(key) = lane::key_of(outcome) else {
            return self.no_message(outcome, time, recorded, depth, view);
        };
        match self.share.place_of(key.source, key.destination) {
            Some(lane) => self.carried(lane, key, outcome, time, recorded, view),
            None => self.around.headers.clear(),
        }
    }

    /// A datagram or a segment, for this lane.
    #[inline]
    fn carried<V: View>(
        &mut self,
        lane: usize,
        key: Key,
        outcome: &Outcome<'_>,
        time: Time,
        recorded: Recorded<'_>,
        view: &mut V,
    ) {
        let Some(lane) = self.lanes.get_mut(lane) else { return };
        let around = &mut self.around;
        lane.ask_due(around, view);
        if around.options.verify_checksums {
            around.checksums(outcome);
        }
        match outcome {
            Outcome::Udp(datagram) => {
                around.note(datagram.note.as_ref());
                lane.datagram(around, &key, datagram, time, recorded, view);
            }
            Outcome::Icmp(error) => {
                lane.hear(around, error.ip.source);
                lane.icmp(around, &key, error, view);
            }
            Outcome::Tcp(segment) => {
                lane.hear(around, key.source);
                around.note(segment.note.as_ref());
                if let Some(place) = lane.place(&key, &segment.head(), time) {
                    lane.segment(around, &key, place, segment, time, recorded, view);
                }
            }
            _ => {}
        }
        lane.limits_met(around, time, view);
        self.headers(time, view);
        self.foreign.see(&key, &self.around.numbers);
    }

    /// What carries no message, or is not known yet to carry one.
    fn no_message<V: View>(
        &mut self,
        outcome: &Outcome<'_>,
        time: Time,
        recorded: Recorded<'_>,
        depth: usize,
        view: &mut V,
    ) {
        if self.around.options.verify_checksums {
            self.around.checksums(outcome);
        }
        match outcome {
            Outcome::Fragment(fragment) => self.fragment(fragment, time, recorded, depth, view),
            Outcome::Malformed(malformed) => self.around.note(Some(malformed)),
            Outcome::UnknownLink(link) => {
                self.unknown_links += 1;
                self.unknown_link.get_or_insert(*link);
            }
            // It may have been anybody's.
            Outcome::Snapped => {
                self.around.lossy = true;
                self.cut.see(&self.around);
            }
            Outcome::Other | Outcome::Udp(_) | Outcome::Tcp(_) | Outcome::Icmp(_) => {}
        }
        if self.is_first() {
            self.headers(time, view);
        }
        self.around.headers.clear();
    }

    /// A part of a datagram, and the datagram if it is whole with it.
    fn fragment<V: View>(
        &mut self,
        fragment: &Fragment<'_>,
        time: Time,
        recorded: Recorded<'_>,
        depth: usize,
        view: &mut V,
    ) {
        self.around.note(fragment.note.as_ref());
        let at = FrameRef { frame: self.around.frame, time: time.0 };
        let (share, mut is_of_others) = (self.share, false);
        let wanted = |joined: Joined<'_>| {
            // What may be a tunnel, or no good, is for every share.
            is_of_others = depth < NESTED_DATAGRAMS && joined.is_udp() && !share.has(joined.ip);
            !is_of_others
        };
        let (defragmenter, events) = (&mut self.around.defragmenter, &mut self.fragment_events);
        let whole = match recorded {
            Recorded::Here => defragmenter.add(fragment, at, events, wanted),
            Recorded::Joined(outer) => defragmenter.add_inside(fragment, outer, at, events, wanted),
        };
        if is_of_others {
            self.around.headers.clear();
        }
        if !self.fragment_events.is_empty() {
            if whole.as_ref().is_some_and(|whole| whole.overlapped) {
                let overlaps = |event: &mut Event| matches!(event.kind, EventKind::Overlap { .. });
                for event in self.fragment_events.extract_if(.., overlaps) {
                    self.around.headers.push((&NET004, false, words(&event)));
                }
            }
            self.fragment_events(view);
        }
        let Some(whole) = whole else { return };
        self.around.headers.push((&NET005, true, String::new()));
        if !whole.overlapped {
            self.around.headers.push((&NET004, true, String::new()));
        }
        if depth < NESTED_DATAGRAMS {
            let outcome = decode_ip_payload(whole.ip, whole.protocol, &whole.bytes);
            self.outcome(&outcome, time, Recorded::Joined(&whole), depth + 1, view);
        }
        self.around.defragmenter.recycle(whole);
    }

    /// Tells what the packet's headers show, where no message of it has told it.
    #[inline]
    fn headers<V: View>(&mut self, time: Time, view: &mut V) {
        if self.around.headers.is_empty() {
            return;
        }
        for (rule, ok, detail) in std::mem::take(&mut self.around.headers) {
            self.around.about_packet(rule, ok, time, view, || detail);
        }
    }

    /// Whether this session tells what concerns no flow.
    pub fn is_first(&self) -> bool {
        self.share.first == 0
    }
}

impl Share {
    /// The place of two hosts' lane in this share; `None` if it is of another's.
    #[inline]
    fn place_of(self, a: IpAddr, b: IpAddr) -> Option<usize> {
        let at = lane::of(a, b, self.all).checked_sub(self.first)?;
        (at < self.lanes).then_some(at)
    }

    /// Whether the lane of a packet's hosts is among them.
    fn has(self, ip: &Ip) -> bool {
        self.place_of(ip.source, ip.destination).is_some()
    }
}

/// Stands for the flow of what belongs to none.
const NOWHERE: FlowFacts = FlowFacts {
    ends: [std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0); 2],
    began: false,
    seen: [false; 2],
    silence: 0,
    lossy: false,
    number: 0,
    transport: Transport::Udp,
};
