//! The load on one server: compact while it is small, as for most servers, and in detail from then
//! on.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::Basis;
use super::frequent::FrequentSources;
use super::rate::Rate;
use super::repeaters::{ClientPace, Repeated, Repeaters, rank};
use super::sources::{KINDS, SourceSample, host_hash, tenths};
use crate::kit::{Mark, Name, Payload, SeenMessage, Set, Time};

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
    /// The request is of a client that returned its challenge.
    is_proven: bool,
}

/// A request or response.
struct LoadMessage {
    what: Name,
    source: SocketAddr,
    time: Time,
    bytes: u32,
    /// For a response, the length of the request.
    asked: Option<u32>,
}

/// Parameters of counting.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct LoadThresholds {
    /// The length of a bucket, in nanoseconds.
    pub(super) bucket: i64,
    /// The minimum number of requests in a window for which its buckets are stored.
    pub(super) least: u64,
    /// The window in which responses to one source are counted, in tenths of a second.
    pub(super) window: u32,
    /// How often a client may ask within that.
    pub(super) repeats: u32,
}

impl LoadThresholds {
    /// How often a client may ask.
    pub(super) const fn pace(&self) -> ClientPace {
        ClientPace { window: self.window, repeats: self.repeats }
    }

    /// The number of the bucket of a time.
    pub(super) const fn bucket_of(&self, time: Time) -> i64 {
        time.0.div_euclid(self.bucket)
    }
}

/// The remaining room of a group.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct GroupRoom {
    pub(super) sources: usize,
    pub(super) buckets: usize,
    pub(super) sockets: usize,
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
    /// Responses without a challenge, the bytes of their requests, and their own bytes.
    pub(super) responses: u64,
    pub(super) bytes_to: u64,
    pub(super) bytes_of: u64,
    /// The source that received most responses within a window.
    pub(super) repeated: Option<Repeated>,
    /// Whether clients share the addresses of such sources.
    pub(super) repeaters: Repeaters,
    pub(super) sources: SourceSample,
    /// Those of the others that get most responses.
    frequent: FrequentSources,
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
        settings: &LoadThresholds,
        room: &mut GroupRoom,
    ) -> bool {
        let (source, bytes) = (payload.from, payload.sent() as u32);
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
        settings: &LoadThresholds,
        room: &mut GroupRoom,
    ) {
        let (source, bytes) = (payload.to, payload.sent() as u32);
        let asked = Some(asked);
        self.takes(
            &LoadMessage { what: Name(what), source, time: payload.time, bytes, asked },
            settings,
            room,
        );
    }

    /// A client returned the challenge in its request at the first of these times; at the other one is the request that
    /// drew the challenge.
    pub(super) fn returned(
        &mut self,
        client: IpAddr,
        times: [Time; 2],
        now: Time,
        settings: &LoadThresholds,
    ) {
        let is_slow = match self {
            Load::Brief(_) => true,
            Load::Detailed(detailed) => detailed.is_slow(client, now, settings),
        };
        // Where it knew the challenge from before, both are the same request.
        let requests = if times[0] == times[1] { 1 } else { 2 };
        times
            .iter()
            .take(requests)
            .filter(|_| is_slow)
            .for_each(|time| self.proves(*time, settings));
    }

    /// The request at this time is of a client that is real, and asks no faster than clients do.
    pub(super) fn proves(&mut self, time: Time, settings: &LoadThresholds) {
        match self {
            Load::Brief(brief) => brief.proves(time),
            Load::Detailed(detailed) => detailed.rate.proves(settings.bucket_of(time)),
        }
    }

    fn takes(
        &mut self,
        message: &LoadMessage,
        settings: &LoadThresholds,
        room: &mut GroupRoom,
    ) -> bool {
        match self {
            Load::Detailed(detailed) => detailed.takes(message, settings, room),
            Load::Brief(brief) => {
                brief.takes(message) || {
                    let mut detailed = brief.in_detail(settings, room);
                    let is_whole = detailed.takes(message, settings, room);
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
    pub(super) fn finish(self, settings: &LoadThresholds) -> DetailedLoad {
        let mut room =
            GroupRoom { sources: 1, buckets: BriefLoad::EVENTS, sockets: BriefLoad::EVENTS };
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
    fn takes(&mut self, message: &LoadMessage) -> bool {
        let &LoadMessage { what, source, time, bytes, asked } = message;
        let asked = match asked.map(u16::try_from) {
            None => None,
            Some(Ok(asked)) => Some(asked),
            Some(Err(_)) => return false,
        };
        let after = u32::try_from(time.since(self.first.time) / 1000);
        let kind = self.kinds.iter().position(|kind| *kind == what || *kind == Name::default());
        let place = self.events.get_mut(usize::from(self.count));
        let (Ok(after), Some(kind), Some(place)) = (after, kind, place) else { return false };
        if source.ip() != self.from.ip() {
            return false;
        }
        self.kinds[kind] = what;
        *place = LoadEvent { after, bytes, asked, kind: kind as u8, is_proven: false };
        self.count += 1;
        true
    }

    /// The request at this time is of a real client.
    fn proves(&mut self, time: Time) {
        let after = time.since(self.first.time) / 1000;
        let of_then = |it: &&mut LoadEvent| {
            it.asked.is_none() && !it.is_proven && i64::from(it.after) == after
        };
        let mut events = self.events.iter_mut().take(self.count.into());
        events.find(of_then).into_iter().for_each(|event| event.is_proven = true);
    }

    fn in_detail(&self, settings: &LoadThresholds, room: &mut GroupRoom) -> DetailedLoad {
        let seen = SeenMessage { mark: self.first, from: self.from, to: self.to };
        let first = Basis { seen, flow: 0, began: true, lossy: false };
        let mut detailed = DetailedLoad { first: Some(first), ..DetailedLoad::default() };
        for event in self.events() {
            let what = self.kinds.get(usize::from(event.kind)).copied().unwrap_or_default();
            let time = self.first.time.after(i64::from(event.after) * 1000);
            let (source, bytes) = (self.from, event.bytes);
            let asked = event.asked.map(u32::from);
            detailed.takes(&LoadMessage { what, source, time, bytes, asked }, settings, room);
            if event.is_proven {
                detailed.rate.proves(settings.bucket_of(time));
            }
        }
        detailed
    }
}

impl DetailedLoad {
    /// Counts a message. Returns whether there was room for its time and its source.
    fn takes(
        &mut self,
        message: &LoadMessage,
        settings: &LoadThresholds,
        room: &mut GroupRoom,
    ) -> bool {
        match message.asked {
            None => self.asks(message, settings, room),
            Some(asked) => {
                self.responds(message, asked, settings, &mut room.sockets);
                true
            }
        }
    }

    fn asks(
        &mut self,
        message: &LoadMessage,
        settings: &LoadThresholds,
        room: &mut GroupRoom,
    ) -> bool {
        let &LoadMessage { what, source, time, .. } = message;
        self.last = self.last.max(time);
        self.requests += 1;
        add_count(&mut self.asked, what, 1);
        let before = self.sources.len();
        if let Some(source) = self.sources.entry(source.ip(), time, room.sources == 0) {
            source.asks();
        }
        room.sources = (room.sources + before).saturating_sub(self.sources.len());
        let has_room = !self.sources.is_cut;
        if room.buckets == 0 {
            return false;
        }
        let kept = self.rate.add(settings.bucket_of(time), settings.least);
        room.buckets = room.buckets.saturating_sub(kept);
        has_room
    }

    fn responds(
        &mut self,
        message: &LoadMessage,
        asked: u32,
        settings: &LoadThresholds,
        room: &mut usize,
    ) {
        let &LoadMessage { what, source, time, bytes, .. } = message;
        self.responses += 1;
        self.bytes_to += u64::from(asked);
        self.bytes_of += u64::from(bytes);
        let kind = self.asked.iter().position(|(name, _)| *name == what).unwrap_or(0) % KINDS;
        let host = source.ip();
        let times = match self.sources.known(host) {
            Some(source) => source.is_answered(kind, time, settings.window),
            None => self.frequent.is_answered(host, kind, tenths(time), settings.window),
        };
        if self.repeated.is_none_or(|(most, ..)| times > most) {
            self.repeated = Some((times, host, what));
        }
        self.repeaters.is_answered(source, times, what, time, settings.pace(), room);
    }

    /// Whether a client that returned its challenge, and is answered now, asks no faster than clients do, as far as known.
    fn is_slow(&mut self, client: IpAddr, now: Time, settings: &LoadThresholds) -> bool {
        let source = self.sources.known(client);
        source.is_none_or(|source| source.is_proven(now, settings.window) <= settings.repeats)
    }

    /// Adds the requests of another group of hosts.
    pub(super) fn add(&mut self, other: DetailedLoad) {
        self.first = earlier(self.first, other.first);
        self.last = self.last.max(other.last);
        self.requests += other.requests;
        for (name, times) in other.asked {
            add_count(&mut self.asked, name, times);
        }
        self.asked.sort_unstable();
        self.responses += other.responses;
        self.bytes_to += other.bytes_to;
        self.bytes_of += other.bytes_of;
        self.repeated = self.repeated.into_iter().chain(other.repeated).max_by_key(rank);
        self.repeaters.add(other.repeaters);
        self.sources.add(other.sources);
        self.rate.add_all(other.rate);
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

    /// Compact counting gives the same result as detailed counting from the first request on.
    #[test]
    fn brief_and_detailed_counts_agree() {
        let settings = LoadThresholds { bucket: 500_000_000, least: 1, window: 600, repeats: 20 };
        let (client, server) =
            ("10.0.0.1:50000".parse().unwrap(), "10.0.0.2:27015".parse().unwrap());
        let send = |from, to, ms: i64, bytes| Payload {
            frame: 1 + ms as u64,
            time: Time(ms * 1_000_000),
            ..Payload::of(bytes, [from, to])
        };
        for count in 1..12 {
            let mut room = GroupRoom { sources: 9, buckets: 99, sockets: 9 };
            let first = send(client, server, 0, &[7; 25]);
            let mut load = Load::of("info", &first);
            let mut detailed =
                DetailedLoad { first: Some(Basis::of(&first)), ..DetailedLoad::default() };
            let mut take = |what, source: SocketAddr, time, bytes, asked| {
                let message = LoadMessage { what: Name(what), source, time, bytes, asked };
                detailed.takes(
                    &message,
                    &settings,
                    &mut GroupRoom { sources: 9, buckets: 99, sockets: 9 },
                );
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
}
