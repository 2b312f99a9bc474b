//! The load on one server: compact while it is small, as for most servers, and in detail from then
//! on.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::Basis;
use super::sources::{KINDS, SourceSample, host_hash};
use crate::kit::{Mark, Name, Payload, SeenMessage, Set, Time};

/// Number of buckets in the window of a flood.
pub(super) const BUCKETS: usize = 20;

/// The load on one server from the hosts of one group.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Load {
    Brief(Box<BriefLoad>),
    Detailed(Box<DetailedLoad>),
}

/// The first requests, all from one source, and the responses without a challenge to them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct BriefLoad {
    first: Mark,
    from: SocketAddr,
    to: SocketAddr,
    kinds: [Name; BriefLoad::KINDS],
    events: [LoadEvent; BriefLoad::EVENTS],
    count: u8,
}

/// A request, or a response to one.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct LoadEvent {
    /// Microseconds after the first request.
    after: u32,
    /// The message's length as sent.
    bytes: u32,
    /// For a response, the length of the request.
    asked: Option<u16>,
    /// The kind of request, as an index.
    kind: u8,
}

/// A request or response.
struct LoadMessage {
    what: Name,
    source: IpAddr,
    time: Time,
    bytes: u32,
    /// For a response, the length of the request.
    asked: Option<u32>,
}

/// Parameters of counting.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct LoadTerms {
    /// The length of a bucket, in nanoseconds.
    pub(super) bucket: i64,
    /// The minimum number of requests in a window for which its buckets are stored.
    pub(super) least: u64,
    /// The window in which responses to one source are counted, in tenths of a second.
    pub(super) window: u32,
    /// How often a client may ask within that.
    pub(super) repeats: u32,
}

/// The remaining room of a group.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct GroupRoom {
    pub(super) sources: usize,
    pub(super) buckets: usize,
}

/// The load on one server in detail.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct DetailedLoad {
    /// The first request and the time of the last.
    pub(super) first: Option<Basis>,
    pub(super) last: Time,
    pub(super) requests: u64,
    /// Counts by kind of request.
    pub(super) asked: Vec<(Name, u64)>,
    /// Requests of clients that returned their challenges, and ask no faster than clients do.
    pub(super) proven: u64,
    /// Responses without a challenge, the bytes of their requests, and their own bytes.
    pub(super) responses: u64,
    pub(super) bytes_to: u64,
    pub(super) bytes_of: u64,
    /// The source that received most responses within a window.
    pub(super) repeated: Option<(u32, IpAddr, Name)>,
    pub(super) sources: SourceSample,
    pub(super) rate: Rate,
}

impl Load {
    /// The first request to a server.
    pub(super) fn of(what: &'static str, payload: &Payload<'_>) -> Load {
        let SeenMessage { mark, from, to } = payload.seen();
        let mut kinds = [Name::default(); BriefLoad::KINDS];
        kinds[0] = Name(what);
        let event = LoadEvent { bytes: mark.length, ..LoadEvent::default() };
        let mut events = [LoadEvent::default(); BriefLoad::EVENTS];
        events[0] = event;
        Load::Brief(Box::new(BriefLoad { first: mark, from, to, kinds, events, count: 1 }))
    }

    /// Adds a request to the server. Returns whether there was room for its time and its source.
    pub(super) fn asks(
        &mut self,
        what: &'static str,
        payload: &Payload<'_>,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) -> bool {
        let (source, bytes) = (payload.from.ip(), payload.sent() as u32);
        self.takes(
            &LoadMessage { what: Name(what), source, time: payload.time, bytes, asked: None },
            settings,
            room,
        )
    }

    /// The server responds without a challenge to a request of this kind and length.
    pub(super) fn reflects(
        &mut self,
        what: &'static str,
        asked: u32,
        payload: &Payload<'_>,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) {
        let (source, bytes) = (payload.to.ip(), payload.sent() as u32);
        let asked = Some(asked);
        self.takes(
            &LoadMessage { what: Name(what), source, time: payload.time, bytes, asked },
            settings,
            room,
        );
    }

    /// The server responds to a request that returned its challenge.
    pub(super) fn serves(&mut self, payload: &Payload<'_>, settings: &LoadTerms) {
        // A brief load is small anyway.
        if let Load::Detailed(detailed) = self {
            detailed.serves(payload.to.ip(), payload.time, settings);
        }
    }

    fn takes(
        &mut self,
        exchange: &LoadMessage,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) -> bool {
        match self {
            Load::Detailed(detailed) => detailed.takes(exchange, settings, room),
            Load::Brief(brief) => {
                brief.takes(exchange) || {
                    let mut detailed = brief.in_detail(settings, room);
                    let is_whole = detailed.takes(exchange, settings, room);
                    *self = Load::Detailed(Box::new(detailed));
                    is_whole
                }
            }
        }
    }

    /// The number of requests.
    pub(super) fn requests(&self) -> u64 {
        match self {
            Load::Brief(brief) => brief.events().filter(|it| it.asked.is_none()).count() as u64,
            Load::Detailed(detailed) => detailed.requests,
        }
    }

    /// Adds the hosts that it comes from, as [`host_hash`].
    pub(super) fn add_clients(&self, clients: &mut Set<u32>) {
        match self {
            Load::Brief(brief) => _ = clients.insert(host_hash(brief.from.ip())),
            Load::Detailed(detailed) => clients.extend(detailed.sources.hashes()),
        }
    }

    /// Converts to the detailed form at the end.
    pub(super) fn finish(self, settings: &LoadTerms) -> DetailedLoad {
        let mut room = GroupRoom { sources: 1, buckets: BriefLoad::EVENTS };
        let mut detailed = match self {
            Load::Brief(brief) => brief.in_detail(settings, &mut room),
            Load::Detailed(detailed) => *detailed,
        };
        detailed.rate.keep(settings.least);
        detailed
    }
}

impl BriefLoad {
    const EVENTS: usize = 6;
    const KINDS: usize = 3;

    fn events(&self) -> impl Iterator<Item = &LoadEvent> {
        self.events.iter().take(self.count.into())
    }

    /// Adds a message, if there is room for it.
    fn takes(&mut self, exchange: &LoadMessage) -> bool {
        let &LoadMessage { what, source, time, bytes, asked } = exchange;
        let asked = match asked.map(u16::try_from) {
            None => None,
            Some(Ok(asked)) => Some(asked),
            Some(Err(_)) => return false,
        };
        let after = u32::try_from(time.since(self.first.time) / 1000);
        let kind = self.kinds.iter().position(|kind| *kind == what || *kind == Name::default());
        let place = self.events.get_mut(usize::from(self.count));
        let (Ok(after), Some(kind), Some(place)) = (after, kind, place) else { return false };
        if source != self.from.ip() {
            return false;
        }
        self.kinds[kind] = what;
        *place = LoadEvent { after, bytes, asked, kind: kind as u8 };
        self.count += 1;
        true
    }

    fn in_detail(&self, settings: &LoadTerms, room: &mut GroupRoom) -> DetailedLoad {
        let seen = SeenMessage { mark: self.first, from: self.from, to: self.to };
        let first = Basis { seen, flow: 0, began: true, lossy: false };
        let mut detailed = DetailedLoad { first: Some(first), ..DetailedLoad::default() };
        for event in self.events() {
            let what = self.kinds.get(usize::from(event.kind)).copied().unwrap_or_default();
            let time = Time(self.first.time.0.saturating_add(i64::from(event.after) * 1000));
            let (source, bytes) = (self.from.ip(), event.bytes);
            let asked = event.asked.map(u32::from);
            detailed.takes(&LoadMessage { what, source, time, bytes, asked }, settings, room);
        }
        detailed
    }
}

impl DetailedLoad {
    /// Counts a message. Returns whether there was room for its time and its source.
    fn takes(
        &mut self,
        exchange: &LoadMessage,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) -> bool {
        match exchange.asked {
            None => self.asks(exchange, settings, room),
            Some(asked) => {
                self.responds(exchange, asked, settings);
                true
            }
        }
    }

    fn asks(&mut self, exchange: &LoadMessage, settings: &LoadTerms, room: &mut GroupRoom) -> bool {
        let &LoadMessage { what, source, time, .. } = exchange;
        self.last = self.last.max(time);
        self.requests += 1;
        add_count(&mut self.asked, what, 1);
        let before = self.sources.len();
        if let Some(source) = self.sources.entry(source, time, room.sources == 0) {
            source.asks();
        }
        room.sources = (room.sources + before).saturating_sub(self.sources.len());
        let has_room = !self.sources.is_cut;
        if room.buckets == 0 {
            return false;
        }
        let kept = self.rate.add(time.0.div_euclid(settings.bucket), settings.least);
        room.buckets = room.buckets.saturating_sub(kept);
        has_room
    }

    fn responds(&mut self, exchange: &LoadMessage, asked: u32, settings: &LoadTerms) {
        let &LoadMessage { what, source, time, bytes, .. } = exchange;
        self.responses += 1;
        self.bytes_to += u64::from(asked);
        self.bytes_of += u64::from(bytes);
        let kind = self.asked.iter().position(|(name, _)| *name == what).unwrap_or(0) % KINDS;
        let Some(entry) = self.sources.known(source) else { return };
        let times = entry.is_answered(kind, time, settings.window);
        if self.repeated.is_none_or(|(most, ..)| times > most) {
            self.repeated = Some((times, source, what));
        }
    }

    /// The server responds to this client, which returned its challenge.
    fn serves(&mut self, client: IpAddr, now: Time, settings: &LoadTerms) {
        /// The request that drew the challenge, and the one that returned it.
        const REQUESTS: u64 = 2;
        let source = self.sources.known(client);
        if source.is_none_or(|source| source.is_proven(now, settings.window) <= settings.repeats) {
            self.proven += REQUESTS;
        }
    }

    /// Adds the requests of another group of hosts.
    pub(super) fn add(&mut self, other: DetailedLoad) {
        self.first = earlier(self.first, other.first);
        self.last = self.last.max(other.last);
        self.requests += other.requests;
        self.proven += other.proven;
        for (name, times) in other.asked {
            add_count(&mut self.asked, name, times);
        }
        self.asked.sort_unstable();
        self.responses += other.responses;
        self.bytes_to += other.bytes_to;
        self.bytes_of += other.bytes_of;
        // For equal counts, the first address.
        let rank = |(times, source, _): &(u32, IpAddr, Name)| (*times, std::cmp::Reverse(*source));
        self.repeated = self.repeated.into_iter().chain(other.repeated).max_by_key(rank);
        self.sources.add(other.sources);
        self.rate.add_all(other.rate);
    }
}

/// The number of requests in the latest buckets of time, and in earlier busy ones.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rate {
    /// The number of the latest bucket, and the counts up to it.
    now: i64,
    latest: [u32; BUCKETS],
    /// Stored buckets with their numbers, in busy periods.
    kept: Vec<(i64, u32)>,
}

impl Rate {
    fn place(bucket: i64) -> usize {
        bucket.rem_euclid(BUCKETS as i64) as usize
    }

    /// Adds a request at this time. Returns how many buckets are stored for it.
    pub(super) fn add(&mut self, bucket: i64, least: u64) -> usize {
        let before = self.kept.len();
        if bucket > self.now {
            self.keep(least);
            let over = bucket.saturating_sub(self.now).min(BUCKETS as i64);
            (0..over).for_each(|back| self.latest[Rate::place(bucket - back)] = 0);
            self.now = bucket;
        }
        // If the clock went backwards, it counts as now.
        let count = &mut self.latest[Rate::place(self.now)];
        *count = count.saturating_add(1);
        self.kept.len() - before
    }

    /// Adds the stored buckets of another group of hosts.
    pub(super) fn add_all(&mut self, other: Rate) {
        self.kept.extend(other.kept);
    }

    /// Stores the latest buckets, if they were busy.
    pub(super) fn keep(&mut self, least: u64) {
        let sum: u64 = self.latest.iter().map(|&count| u64::from(count)).sum();
        if sum < least.max(1) {
            return;
        }
        let kept = self.kept.last().map_or(i64::MIN, |&(bucket, _)| bucket);
        for bucket in (self.now - BUCKETS as i64 + 1)..=self.now {
            let count = self.latest[Rate::place(bucket)];
            if bucket > kept && count > 0 {
                self.kept.push((bucket, count));
            }
        }
    }

    /// The most requests within the window.
    pub(super) fn most(&mut self) -> u64 {
        self.kept.sort_unstable();
        let (mut start, mut sum, mut most) = (0, 0_u64, 0);
        for &(bucket, count) in &self.kept {
            sum += u64::from(count);
            while let Some(&(first, gone)) = self.kept.get(start)
                && bucket - first >= BUCKETS as i64
            {
                sum -= u64::from(gone);
                start += 1;
            }
            most = most.max(sum);
        }
        most
    }
}

/// The earlier one of two.
pub(super) fn earlier(a: Option<Basis>, b: Option<Basis>) -> Option<Basis> {
    a.into_iter().chain(b).min_by_key(|basis| basis.seen.mark.frame)
}

/// Adds to the count of this name.
pub(super) fn add_count(counts: &mut Vec<(Name, u64)>, name: Name, times: u64) {
    match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, count)) => *count += times,
        None => counts.push((name, times)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::{Side, Transport};

    fn most(times: impl Iterator<Item = i64>) -> u64 {
        let mut rate = Rate::default();
        times.for_each(|bucket| _ = rate.add(bucket, 2));
        rate.keep(2);
        rate.most()
    }

    #[test]
    fn the_most_within_a_window_is_found() {
        assert_eq!(most(std::iter::repeat_n(5, 7)), 7);
        assert_eq!(most(100..130), 20);
        assert_eq!(most((100..130).chain(std::iter::repeat_n(140, 15))), 24);
        assert_eq!(most((0..10).map(|n| n * 1000)), 0);
    }

    /// Compact counting gives the same result as detailed counting from the first request on.
    #[test]
    fn brief_and_detailed_counts_agree() {
        let settings = LoadTerms { bucket: 500_000_000, least: 1, window: 600, repeats: 20 };
        let (client, server) =
            ("10.0.0.1:50000".parse().unwrap(), "10.0.0.2:27015".parse().unwrap());
        let send = |from, to, ms: i64, bytes| Payload {
            bytes,
            pieces: &[],
            inflated: false,
            unlisted: 0,
            frame: 1 + ms as u64,
            time: Time(ms * 1_000_000),
            side: Side::First,
            from,
            to,
            flow: 1,
            transport: Transport::Udp,
            lost: false,
            hash: None,
        };
        for count in 1..12 {
            let mut room = GroupRoom { sources: 9, buckets: 99 };
            let first = send(client, server, 0, &[7; 25]);
            let mut load = Load::of("info", &first);
            let mut detailed =
                DetailedLoad { first: Some(Basis::of(&first)), ..DetailedLoad::default() };
            let mut take = |what, source: SocketAddr, time, bytes, asked| {
                let exchange =
                    LoadMessage { what: Name(what), source: source.ip(), time, bytes, asked };
                detailed.takes(&exchange, &settings, &mut GroupRoom { sources: 9, buckets: 99 });
            };
            take("info", client, Time(0), 25, None);
            for n in 1..count {
                let what = ["info", "player", "rules", "ping"][n as usize / 2 % 4];
                if n % 3 == 2 {
                    let response = send(server, client, n * 300, &[7; 900]);
                    load.reflects(what, 25, &response, &settings, &mut room);
                    take(what, client, response.time, 900, Some(25));
                } else {
                    let request = send(client, server, n * 300, &[7; 29]);
                    assert!(load.asks(what, &request, &settings, &mut room));
                    take(what, client, request.time, 29, None);
                }
            }
            assert_eq!(matches!(load, Load::Brief(_)), count <= 6);
            assert_eq!(load.requests(), detailed.requests);
            detailed.rate.keep(settings.least);
            assert_eq!(format!("{:?}", load.finish(&settings)), format!("{detailed:?}"));
        }
    }

    /// Counting in two halves gives the same result.
    #[test]
    fn separate_counts_are_added() {
        let (mut one, mut other) = (Rate::default(), Rate::default());
        (0..100).for_each(|n| _ = one.add(1000 + n / 4, 1));
        (0..100).for_each(|n| _ = other.add(1000 + n / 2, 1));
        one.keep(1);
        other.keep(1);
        one.kept.extend(other.kept);
        assert_eq!(one.most(), 20 * 4 + 20 * 2);
    }
}
