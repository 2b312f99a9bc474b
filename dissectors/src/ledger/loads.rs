//! What servers are asked, by how many, how fast, and what they answer without a challenge.
//!
//! Every request counts here: so it is counted where it is seen, by group of hosts, and what all
//! groups come to is told in the end. What is counted does not depend on who counts which group.

use std::net::{IpAddr, SocketAddr};

use super::sources::{KINDS, Sources, tenths};
use super::{Detail, Kept, Ruling, Witness, spell};
use crate::a2s::rules::{SEC005, SEC006};
use crate::kit::{Abuse, Evidence, Map, Payload, Rule, Seen, Socket, Time, Who};

/// Groups of hosts: all that two hosts say to each other is in one.
pub const GROUPS: usize = 8;

/// Requests toward one server, or answers toward one address, from which on they are judged.
pub(super) const JUDGED: u64 = 20;

/// Buckets that the window of a flood is divided into.
const BUCKETS: usize = 20;

/// A group has so small a share of a flood at least, or is left out of its rate.
const SHARE: u64 = 256;

/// Servers that are counted in a group.
const SERVERS: usize = 1 << 13;

/// Requests to servers, of one capture or of some groups of its hosts.
#[derive(Default)]
pub struct Loads {
    groups: [Group; GROUPS],
    most: usize,
    abuse: Abuse,
}

/// The servers that are asked by the hosts of a group.
#[derive(Default)]
struct Group {
    servers: Map<Socket, Load>,
    /// Sources and buckets of all of them.
    sources: usize,
    buckets: usize,
    /// The first request that there was no room for.
    left_out: Option<Witness>,
}

/// What one server is asked.
#[derive(Default)]
struct Load {
    /// The first request and the time of the last.
    first: Option<Witness>,
    last: Time,
    requests: u64,
    bytes: u64,
    /// By what was asked.
    asked: Vec<(&'static str, u64)>,
    /// Answers without a challenge, and what they are to.
    answers: u64,
    bytes_to: u64,
    bytes_of: u64,
    /// The source that was answered so most often within a window.
    repeated: Option<(u32, IpAddr, &'static str)>,
    sources: Sources,
    rate: Rate,
}

/// Requests in the latest buckets of time, and in earlier ones that matter.
#[derive(Default)]
struct Rate {
    /// The number of the latest bucket, and those up to it.
    now: i64,
    latest: [u32; BUCKETS],
    /// Buckets with their numbers, as far as there were many requests round them.
    kept: Vec<(i64, u32)>,
}

impl Rate {
    fn place(bucket: i64) -> usize {
        bucket.rem_euclid(BUCKETS as i64) as usize
    }

    /// One more at this time. How many buckets are kept for it.
    fn add(&mut self, bucket: i64, least: u64) -> usize {
        let before = self.kept.len();
        if bucket > self.now {
            self.keep(least);
            let over = bucket.saturating_sub(self.now).min(BUCKETS as i64);
            (0..over).for_each(|back| self.latest[Rate::place(bucket - back)] = 0);
            self.now = bucket;
        }
        // Where the clock went back, it counts as one of now.
        let count = &mut self.latest[Rate::place(self.now)];
        *count = count.saturating_add(1);
        self.kept.len() - before
    }

    /// Keeps the latest buckets, if there were many.
    fn keep(&mut self, least: u64) {
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
}

impl Loads {
    /// None yet. Of servers, their sources, and times, at most so many are kept.
    pub fn new(most: usize, abuse: Abuse) -> Loads {
        Loads { most: (most / GROUPS).max(1), abuse, ..Loads::default() }
    }

    fn bucket(&self, now: Time) -> i64 {
        now.0.div_euclid((self.abuse.flood_window / BUCKETS as i64).max(1))
    }

    /// Requests within the window of a flood that make one.
    fn flood(&self) -> u64 {
        let window = u128::from(self.abuse.flood_window.unsigned_abs());
        (u128::from(self.abuse.flood_rate) * window / 1_000_000_000).max(1) as u64
    }

    /// A server is asked for this. `group`: that of the two hosts.
    pub fn asks(&mut self, group: usize, what: &'static str, payload: &Payload<'_>) {
        let (most, bucket, least) = (self.most, self.bucket(payload.time), self.flood() / SHARE);
        let Some(group) = self.groups.get_mut(group % GROUPS) else { return };
        let is_known = group.servers.contains_key(&Socket(payload.to));
        if !is_known && group.servers.len() >= most.min(SERVERS) {
            group.left_out.get_or_insert_with(|| Witness::of(payload));
            return;
        }
        let load = group.servers.entry(Socket(payload.to)).or_default();
        load.first.get_or_insert_with(|| Witness::of(payload));
        load.last = load.last.max(payload.time);
        load.requests += 1;
        load.bytes += payload.bytes.len() as u64;
        count(&mut load.asked, what, 1);
        let before = load.sources.len();
        let is_full = group.sources >= most;
        if let Some(source) = load.sources.entry(payload.from.ip(), payload.time, is_full) {
            source.asks();
        }
        group.sources = (group.sources + load.sources.len()).saturating_sub(before);
        if group.buckets < most {
            group.buckets += load.rate.add(bucket, least);
        } else {
            group.left_out.get_or_insert_with(|| Witness::of(payload));
        }
    }

    /// A server that was asked for this, in so many bytes, answers without a challenge.
    pub fn reflects(
        &mut self,
        group: usize,
        what: &'static str,
        asked: u32,
        payload: &Payload<'_>,
    ) {
        let window = tenths(Time(self.abuse.repeat_window));
        let Some(group) = self.groups.get_mut(group % GROUPS) else { return };
        let Some(load) = group.servers.get_mut(&Socket(payload.from)) else { return };
        load.answers += 1;
        load.bytes_to += u64::from(asked);
        load.bytes_of += payload.bytes.len() as u64;
        let kind = load.asked.iter().position(|(name, _)| *name == what).unwrap_or(0) % KINDS;
        // Who is answered has asked: there is an entry, or there was no room for one.
        let Some(source) = load.sources.entry(payload.to.ip(), payload.time, true) else { return };
        let times = source.is_answered(kind, payload.time, window);
        if load.repeated.is_none_or(|(most, ..)| times > most) {
            load.repeated = Some((times, payload.to.ip(), what));
        }
    }

    /// Adds what another one counted, of other groups.
    pub fn add(&mut self, other: Loads) {
        let least = self.flood() / SHARE;
        for (mine, theirs) in self.groups.iter_mut().zip(other.groups) {
            mine.left_out = earlier(mine.left_out, theirs.left_out);
            // In whatever order: what they come to is the same.
            theirs.servers.into_iter().for_each(|(server, mut load)| {
                load.rate.keep(least);
                mine.servers.entry(server).or_default().add(load);
            });
        }
    }

    /// What it comes to. Hands back the first request that was left out, if there is one.
    pub(super) fn review(
        mut self,
        rulings: &mut Vec<Ruling>,
        kept: &mut Vec<Kept>,
    ) -> Option<Witness> {
        let mut left_out = None;
        let least = self.flood() / SHARE;
        let mut all: Map<Socket, Load> = Map::default();
        for group in &mut self.groups {
            left_out = earlier(left_out, group.left_out);
            group.servers.drain().for_each(|(server, mut load)| {
                load.rate.keep(least);
                all.entry(server).or_default().add(load);
            });
        }
        let mut all: Vec<_> = all.into_iter().filter(|(_, it)| it.requests >= JUDGED).collect();
        all.sort_unstable_by_key(|(server, _)| server.0);
        for (Socket(server), mut load) in all {
            self.judge(server, &mut load, rulings, kept);
        }
        left_out
    }

    fn judge(
        &self,
        server: SocketAddr,
        load: &mut Load,
        rulings: &mut Vec<Ruling>,
        kept: &mut Vec<Kept>,
    ) {
        let Some(witness) = load.first else { return };
        let Seen { mark, from, to } = witness.seen;
        let mut judge = |rule: &'static Rule, witness, speaker, detail: Option<String>| {
            let evidence = Evidence::default();
            match detail.map(Detail::Text) {
                None => kept.push(Kept { rule, server: Some(server), times: 1 }),
                Some(detail) => rulings.push(Ruling {
                    rule,
                    evidence,
                    witness,
                    speaker,
                    of_flow: false,
                    detail,
                }),
            }
        };
        let flooded = self.flooded(server, load);
        judge(&SEC006, witness, Who::Client, flooded);
        let seen = Seen { mark, from: to, to: from };
        judge(&SEC005, Witness { seen, ..witness }, Who::Server, self.reflected(server, load));
    }

    /// In words, how fast a server was asked, if that was too fast.
    fn flooded(&self, server: SocketAddr, load: &mut Load) -> Option<String> {
        let most = load.rate.most();
        if most < self.flood() {
            return None;
        }
        let seconds = (self.abuse.flood_window / 1_000_000).max(1) as f64 / 1e3;
        let rate = (most as f64 / seconds).round();
        let single = load.sources.iter().filter(|source| source.asked == 1).count();
        let share = (100 * single).checked_div(load.sources.len()).unwrap_or(0);
        let asked = load.asked.iter().map(|(name, count)| format!("{count} {name}"));
        let asked = Vec::from_iter(asked).join(", ");
        Some(format!(
            "up to {rate} requests a second over {seconds} s to {server}, from {}, {share} % of them \
             with one packet: {asked}",
            load.sources.count(),
        ))
    }

    /// In words, how a server was used against others, if it was.
    fn reflected(&self, server: SocketAddr, load: &Load) -> Option<String> {
        let is_crowd = |load: &Load| {
            let goes_on = |asked: u8| asked > 2;
            let window = tenths(Time(self.abuse.source_window));
            load.sources.within(window, |source| source.is_served && !goes_on(source.asked))
        };
        let repeated = load.repeated.filter(|(times, ..)| *times >= self.abuse.repeats);
        let how = match repeated {
            Some((times, source, what)) => {
                let seconds = self.abuse.repeat_window as f64 / 1e9;
                format!(
                    "{source} is answered {times} times within {seconds} s, to {what} each time"
                )
            }
            None => {
                let crowd = is_crowd(load);
                if crowd < self.abuse.sources.into() {
                    return None;
                }
                let seconds = self.abuse.source_window as f64 / 1e9;
                format!("{crowd} sources ask once or twice within {seconds} s and never go on")
            }
        };
        let first = load.first.map(|witness| witness.seen.mark.time).unwrap_or_default();
        let &Load { requests, answers, bytes_to, bytes_of, last, .. } = load;
        let factor = bytes_of as f64 / bytes_to.max(1) as f64;
        Some(format!(
            "{server} answers without a challenge: {how}; {requests} requests of {}, {answers} \
             answers, {bytes_to} bytes asked, {bytes_of} answered, {factor:.1} times as many, from \
             {} to {}",
            load.sources.count(),
            spell(first),
            spell(last),
        ))
    }
}

impl Load {
    fn add(&mut self, other: Load) {
        self.first = earlier(self.first, other.first);
        self.last = self.last.max(other.last);
        self.requests += other.requests;
        self.bytes += other.bytes;
        for (name, times) in other.asked {
            count(&mut self.asked, name, times);
        }
        self.asked.sort_unstable();
        self.answers += other.answers;
        self.bytes_to += other.bytes_to;
        self.bytes_of += other.bytes_of;
        // Of those that came as often, the first address.
        let rank = |(times, source, _): &(u32, IpAddr, &str)| (*times, std::cmp::Reverse(*source));
        self.repeated = self.repeated.into_iter().chain(other.repeated).max_by_key(rank);
        self.sources.add(other.sources);
        self.rate.kept.extend(other.rate.kept);
    }
}

impl Rate {
    /// The most requests within the window.
    fn most(&mut self) -> u64 {
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

impl Witness {
    /// A message; of its flow nothing is said.
    fn of(payload: &Payload<'_>) -> Witness {
        Witness { seen: payload.seen(), flow: 0, began: true, lossy: false }
    }
}

fn earlier(a: Option<Witness>, b: Option<Witness>) -> Option<Witness> {
    a.into_iter().chain(b).min_by_key(|witness| witness.seen.mark.frame)
}

/// So many more of what has this name.
fn count(counts: &mut Vec<(&'static str, u64)>, name: &'static str, times: u64) {
    match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, count)) => *count += times,
        None => counts.push((name, times)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Half of what was counted here, half there, comes to the same.
    #[test]
    fn what_is_counted_apart_comes_together() {
        let (mut one, mut other) = (Rate::default(), Rate::default());
        (0..100).for_each(|n| _ = one.add(1000 + n / 4, 1));
        (0..100).for_each(|n| _ = other.add(1000 + n / 2, 1));
        one.keep(1);
        other.keep(1);
        one.kept.extend(other.kept);
        assert_eq!(one.most(), 20 * 4 + 20 * 2);
    }
}
