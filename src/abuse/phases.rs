//! The busy times of a target, which may be an attack, apart from its calm ones: what players asked for hours before says nothing
//! of a flood.

use std::borrow::Cow;
use std::mem;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::Time;

use super::SECOND;
use super::packet::SampledPacket;
use super::sources::{PlainAnswers, Sources};
use super::target::{Target, TargetRoom};
use super::timeline::{MOST, PAUSE, Timeline};

/// Limit: packets of a second of a target that `abuse` keeps until it is known whether an attack begins with them | {}
/// | others count as before the attack
const RECENT: usize = 128;

/// The traffic of a target by times. It is busy at first, so that an attack from the first packet on is whole.
#[derive(Clone, Default)]
pub(super) struct Phases {
    /// The traffic of the current time, busy or calm, and the real clients of all times.
    pub(super) current: Target,
    /// That of the other times, if there were any.
    other: Option<Box<Target>>,
    is_calm: bool,
    /// There was an attack in the busy times. Those without one are counted as calm ones once they end.
    is_attacked: bool,
    /// The last second of the busy time, if nothing more happens.
    until: Option<i64>,
    second: CurrentSecond,
}

/// The current second.
#[derive(Clone, Default)]
struct CurrentSecond {
    at: i64,
    /// The number of packets in it.
    packets: u32,
    /// Those of a calm one, with what they are, which are the first of a busy time if there are many more.
    kept: Vec<(SampledPacket, (Option<Id>, &'static str))>,
    /// The most of them in any second, for which there was room.
    places: usize,
    /// The number of responses before it, and their bytes.
    before: [u64; 2],
}

impl CurrentSecond {
    fn keep(&mut self, packet: SampledPacket, what: (Option<Id>, &'static str), room: &mut usize) {
        if self.kept.len() == self.places && self.places < RECENT && *room > 0 {
            (self.places, *room) = (self.places + 1, *room - 1);
        }
        if self.kept.len() < self.places {
            self.kept.push((packet, what));
        }
    }
}

impl Phases {
    /// It gets a packet of this kind. The packet gets what only its target shows.
    pub(super) fn gets(
        &mut self,
        what: (Option<Id>, &'static str),
        to: SocketAddr,
        bytes: &[u8],
        packet: &mut SampledPacket,
        room: &mut TargetRoom,
    ) {
        self.counts(packet.time, to, room);
        let answers = self.current.is_sent(what, to, bytes, packet, room);
        let answers = answers.filter(|it| it.are_many(packet.time, room.window, room.repeats));
        if let Some(answers) = answers {
            self.is_attacked = true;
            self.is_busy_after(packet.time.0.div_euclid(SECOND));
            if self.is_calm {
                self.becomes_busy();
                self.moves_source(what, to, packet, answers, room);
            }
        }
        if self.is_calm {
            self.second.keep(*packet, what, &mut room.packets);
        }
    }

    /// Counts a packet in its second.
    fn counts(&mut self, time: Time, to: SocketAddr, room: &mut TargetRoom) {
        let second = time.0.div_euclid(SECOND);
        if self.second.at != second || self.until.is_none() {
            let until = *self.until.get_or_insert(second.saturating_add(PAUSE));
            if !self.is_calm && second > until {
                self.becomes_calm(room);
            }
            (self.second.at, self.second.packets) = (second, 0);
            self.second.kept.clear();
            self.second.before = [self.current.packets[1], self.current.bytes[1]];
        }
        self.second.packets = self.second.packets.saturating_add(1);
        if self.second.packets == room.busy {
            self.is_busy_after(second);
            if self.is_calm {
                self.becomes_busy();
                self.moves_second(to, room);
            }
        }
    }

    fn is_busy_after(&mut self, second: i64) {
        self.until = self.until.max(Some(second.saturating_add(PAUSE)));
    }

    fn becomes_busy(&mut self) {
        self.is_calm = false;
        self.switch();
    }

    fn becomes_calm(&mut self, room: &mut TargetRoom) {
        self.is_calm = true;
        self.is_attacked |= is_flood(&self.current, room);
        if self.is_attacked {
            self.switch();
        } else if let Some(mut calm) = self.other.take() {
            // Only traffic is added: the clients are those of all times.
            let clients = mem::take(&mut self.current.clients);
            let mut spans = room.spans;
            [&*calm, &self.current].into_iter().for_each(|it| room.gets_back(it));
            calm.continues(&self.current, &mut spans);
            room.is_taken_by(&calm);
            (self.current, self.current.clients) = (*calm, clients);
        }
    }

    /// From now on, traffic counts toward the other times.
    fn switch(&mut self) {
        let other = &mut **self.other.get_or_insert_default();
        mem::swap(&mut self.current, other);
        mem::swap(&mut self.current.clients, &mut other.clients);
        self.current.protocol = self.current.protocol.or(other.protocol);
    }

    /// What came and was answered in this second is of the busy time. Which of its sources were answered is not moved: they
    /// are less than a tenth of a second's in a flood.
    fn moves_second(&mut self, to: SocketAddr, room: &mut TargetRoom) {
        let Some(calm) = &mut self.other else { return };
        let [packets, bytes] = self.second.before;
        let responses =
            [calm.packets[1].saturating_sub(packets), calm.bytes[1].saturating_sub(bytes)];
        calm.gives_responses(&mut self.current, responses);
        for (packet, what) in self.second.kept.drain(..) {
            calm.was_sent(&packet, what.1, 1);
            let mut moved = packet;
            self.current.is_sent(what, to, packet.head(), &mut moved, room);
        }
    }

    /// What the packet's source asked within the window, and the answers, are of the busy time.
    fn moves_source(
        &mut self,
        what: (Option<Id>, &'static str),
        to: SocketAddr,
        packet: &SampledPacket,
        answers: PlainAnswers,
        room: &mut TargetRoom,
    ) {
        let Some(calm) = &mut self.other else { return };
        calm.was_sent(packet, what.1, u64::from(answers.times) + 1);
        for mut asked in asked_before(calm.sample.packets(), packet, answers) {
            let head = asked;
            self.current.is_sent(what, to, head.head(), &mut asked, room);
        }
        let responses = [answers.times, answers.bytes].map(u64::from);
        calm.gives_responses(&mut self.current, responses);
        if let Some(source) = calm.sources.known(packet.source) {
            source.responses = source.responses.saturating_sub(answers.times);
            source.answers = PlainAnswers::default();
        }
        if let Some(source) = self.current.sources.known(packet.source) {
            source.responses = source.responses.saturating_add(answers.times);
            source.answers = answers;
        }
    }

    /// The traffic of all times.
    pub(super) fn all_times(&self) -> Cow<'_, Target> {
        let Some(other) = &self.other else { return Cow::Borrowed(&self.current) };
        let mut all = Target::clone(other);
        all.continues(&self.current, &mut MOST.clone());
        Cow::Owned(all)
    }

    /// The traffic of an attack: of the busy times, if it is in these. The clients, and from where packets are captured, are
    /// those of all times.
    pub(super) fn of_attack(&self, room: &TargetRoom) -> Cow<'_, Target> {
        let Some(other) = &self.other else { return Cow::Borrowed(&self.current) };
        let busy = if self.is_calm { other } else { &self.current };
        if !self.is_attacked && !is_flood(busy, room) {
            return self.all_times();
        }
        let mut all = Target::clone(busy);
        all.clients = self.current.clients.clone();
        for each in self.each() {
            all.protocol = all.protocol.or(each.protocol);
            all.hops.iter_mut().zip(each.hops).for_each(|(mine, theirs)| mine.add(theirs));
        }
        Cow::Owned(all)
    }

    /// The traffic of the current times, and of the others, if there were any.
    pub(super) fn each(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.current).chain(self.other.as_deref())
    }

    /// Packets to it, and from it, at all times.
    pub(super) fn packets(&self) -> [u64; 2] {
        self.each().fold([0; 2], |[to, from], it| [to + it.packets[0], from + it.packets[1]])
    }

    /// Packets by kind, at all times: a kind may be there twice.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.each().flat_map(|it| it.kinds.iter().copied())
    }

    /// The sources of all times.
    pub(super) fn sources(&self) -> Cow<'_, Sources> {
        let Some(other) = &self.other else { return Cow::Borrowed(&self.current.sources) };
        let mut sources = other.sources.clone();
        sources.add(&self.current.sources);
        Cow::Owned(sources)
    }

    /// Maximum packets within this many seconds.
    pub(super) fn most_within(&self, seconds: i64) -> u64 {
        self.most_of(|timeline| timeline.most_within(seconds))
    }

    /// The same without the packets of real clients.
    pub(super) fn most_unproven_within(&self, seconds: i64) -> u64 {
        self.most_of(|timeline| timeline.most_unproven_within(seconds))
    }

    fn most_of(&self, most: impl Fn(&Timeline) -> u64) -> u64 {
        let alone = most(&self.current.timeline);
        let Some(other) = &self.other else { return alone };
        // A flood may be in both, and one that is in a shorter timeline is not lost among longer spans.
        let mut both = other.timeline.clone();
        both.add(&self.current.timeline);
        alone.max(most(&both)).max(most(&other.timeline))
    }
}

/// This packet of a source, and those before it that were answered: as far as they are in the sample, and as many like it.
fn asked_before(
    sample: &[SampledPacket],
    packet: &SampledPacket,
    answers: PlainAnswers,
) -> Vec<SampledPacket> {
    let (begin, all) = (answers.begin(packet.time), (answers.times as usize).saturating_add(1));
    let is_asked = |it: &&SampledPacket| it.source == packet.source && it.time >= begin;
    let mut asked: Vec<_> = sample.iter().filter(is_asked).take(all).copied().collect();
    let missing = all.saturating_sub(asked.len()) as i64;
    let between = packet.time.since(begin) / missing.max(1);
    asked.extend((0..missing).map(|nth| {
        let (mut like, after) = (*packet, between.saturating_mul(nth));
        (like.time, like.identification) = (begin.after(after), None);
        like
    }));
    asked.sort_by_key(|it| it.time);
    asked
}

/// Whether there may be a flood in these times, of any part of a second on.
fn is_flood(target: &Target, room: &TargetRoom) -> bool {
    let most = || target.timeline.most_unproven_within(room.flood_seconds.saturating_add(1));
    target.packets[0] >= room.flood && most() >= room.flood
}

#[cfg(test)]
mod tests {
    use super::super::sources::RoomForSources;
    use super::*;

    fn room() -> TargetRoom {
        TargetRoom {
            sources: RoomForSources { entries: 100_000, sketches: 8 },
            clients: 1000,
            packets: 100_000,
            networks: 100_000,
            spans: 100_000,
            lengths: [24, 48],
            window: 10 * SECOND,
            repeats: 20,
            busy: 100,
            flood: 5000,
            flood_seconds: 5,
        }
    }

    /// So many packets within a second, each of another source.
    fn get(target: &mut Phases, second: i64, packets: u32, room: &mut TargetRoom) {
        let server = SocketAddr::from(([192, 0, 2, 1], 27015));
        for nth in 0..packets {
            let time = Time(second * SECOND + i64::from(nth) * 1_000);
            let mut packet = SampledPacket::example(second as u32 * 10_000 + nth, time);
            target.gets((None, "request"), server, b"", &mut packet, room);
            target.current.sends(packet.source, 50, 64, false);
        }
    }

    #[test]
    fn a_flood_is_apart_from_what_comes_before_and_after_it() {
        let (mut target, mut room) = (Phases::default(), room());
        for second in 0..1000 {
            let is_flood = matches!(second, 300..306 | 600..606);
            get(&mut target, second, if is_flood { 2000 } else { 3 }, &mut room);
        }
        let (attack, all) = (target.of_attack(&room), target.all_times());
        // With what comes in the pauses that do not end it.
        assert_eq!((attack.packets, attack.bytes), ([24_018; 2], [600_450, 1_200_900]));
        assert_eq!(attack.kinds, [("request", 24_018)]);
        assert_eq!(attack.timeline.peak()[0], 2000.0);
        assert_eq!(all.packets, [24_000 + 3 * 988; 2]);
        assert_eq!((target.packets(), target.most_within(5)), (all.packets, 10_000));
    }

    #[test]
    fn busy_seconds_without_a_flood_are_calm_times_and_take_no_more_room() {
        let (mut target, mut room) = (Phases::default(), room());
        for second in 0..2000 {
            get(&mut target, second, if second % 9 == 0 { 150 } else { 3 }, &mut room);
        }
        let all = target.all_times();
        assert_eq!(all.packets, [150 * 223 + 3 * 1777; 2]);
        assert!(all.sample.packets().len() <= 4096 && !target.is_attacked);
        let taken = |target: &Target| target.sample.packets().len();
        let kept = target.each().map(taken).sum::<usize>() + target.second.places;
        assert_eq!(room.packets + kept, 100_000);
        let spans = target.each().map(|it| it.timeline.room()).sum::<usize>();
        assert_eq!(room.spans + spans, 100_000);
        let sources = target.each().map(|it| it.sources.room()[0]).sum::<usize>();
        assert_eq!(room.sources.entries + sources, 100_000);
    }

    #[test]
    fn a_source_that_is_answered_again_and_again_makes_a_busy_time() {
        let (mut target, mut room) = (Phases::default(), room());
        let server = SocketAddr::from(([192, 0, 2, 1], 27015));
        for second in 0..500 {
            get(&mut target, second, 1, &mut room);
            for nth in 0..if (300..340).contains(&second) { 3 } else { 0 } {
                let time = Time(second * SECOND + nth * SECOND / 3);
                let mut packet = SampledPacket::example(7, time);
                target.gets((None, "request"), server, b"", &mut packet, &mut room);
                let source = target.current.sends(packet.source, 50, 64, false);
                source.into_iter().for_each(|it| it.answers.see(time, 50, room.window));
            }
        }
        let mut attack = target.of_attack(&room).into_owned();
        let victim = SampledPacket::example(7, Time(0)).source;
        let source = attack.sources.known(victim).copied().unwrap_or_default();
        assert_eq!((source.packets, source.responses), (120, 120));
        assert_eq!(attack.span.map(|[begin, _]| begin), Some(Time(300 * SECOND)));
        assert_eq!((target.packets(), attack.packets[1]), ([620; 2], attack.packets[0]));
        assert!(attack.packets[0] <= 120 + 40 + PAUSE as u64, "{:?}", attack.packets);
    }
}
