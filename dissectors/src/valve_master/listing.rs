//! The list that one socket requests from a master, page by page. It makes observations and checks no
//! rules.

use std::hash::BuildHasher;

use crate::kit::{
    Answer, Budget, Clock, Exchanges, Map, Mark, Payload, Reply, Request, ResponseDue, Side, Time,
    keyed_hash,
};

use super::endpoint::{Endpoint, ZERO};
use super::pending::{Asked, FilterHash, Query};
use super::reply::ReplySummary;

/// How a query relates to earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryPosition {
    /// It is the first on its socket. `elsewhere`: it continues where a listing on another socket
    /// of this host stopped.
    First { elsewhere: bool },
    /// It continues the listing of its socket after a silence.
    Resumed,
    /// It begins a new listing, from 0.0.0.0:0. `ended`: the previous one was complete.
    Anew { ended: bool },
    /// It repeats the previous one, which was not answered, or not in time.
    Again,
    /// It continues the listing.
    On {
        /// The last address of the previous reply, if known.
        last: Option<Endpoint>,
        /// The list has ended.
        ended: bool,
        /// What differs from the listing's first query.
        change: Option<Change>,
        /// The recording lost the previous reply, or its end.
        lost: bool,
    },
}

/// What a query asks for that differs from the listing's first query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Region,
    Filter,
}

/// How a reply relates to the queries before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyMatch {
    /// It answers this query. `due`: a response was due.
    Query { due: bool, asked: Reply },
    /// It may answer a query that was repeated or given up, or that a copy seemed to answer.
    Again,
    /// It is one of the latest replies, sent again.
    Copy,
    /// It follows a response immediately. `dialect`: Xash3D's masters send long lists so.
    More { dialect: bool },
    /// It follows a response after a long time.
    Late,
    /// There was no query before.
    Nothing,
}

/// Clients wait longer than this before they repeat a query: an earlier one continues the listing.
const SOONEST_RETRY: i64 = 400_000_000;

/// The number of replies that are compared to recognize copies.
const LATEST: usize = 4;

/// The listing of one socket: where it is, and what the master has sent.
#[derive(Default)]
pub(super) struct Listing {
    /// The latest query, and its packet.
    latest: Option<(Query, Mark)>,
    /// The latest query was repeated.
    retried: bool,
    /// Region and filter of the listing's first query.
    begun_with: Option<(u8, FilterHash)>,
    /// The last address of the latest reply.
    last: Option<Endpoint>,
    /// The latest reply had the end mark.
    ended: bool,
    /// The recording lost the end of the latest reply.
    lost: bool,
    /// The time of the latest reply.
    replied: Option<Time>,
    /// Hashes of the latest replies, the latest last.
    replies: [u64; LATEST],
    /// The number of copies in a row that were taken for responses.
    copies: u8,
    handed: SentAddresses,
    /// The hosts of these addresses, if the query asks for one server of each.
    hosts: SentAddresses,
    /// The filter of the latest query, if a server's description of itself may contradict it.
    pub(super) filter: Option<Box<[u8]>>,
}

/// The first query that waits, and its packet.
pub(super) fn first_query(requests: &Exchanges<Asked>) -> Option<(Query, Mark)> {
    requests.iter().find_map(|asked| Some((*asked.what.query()?, asked.mark)))
}

impl Listing {
    /// One that begins with the query that waits, if there is one.
    pub(super) fn of(requests: &Exchanges<Asked>) -> Listing {
        let latest = first_query(requests);
        let begun_with = latest.map(|(query, _)| (query.region, query.filter));
        Listing { latest, begun_with, ..Listing::default() }
    }

    /// Memory in bytes that the budget does not count.
    pub(super) fn held(&self) -> usize {
        self.filter.as_ref().map_or(0, |filter| filter.len())
    }

    /// The latest query, and its packet.
    pub(super) fn latest(&self) -> Option<(Query, Mark)> {
        self.latest
    }

    /// Whether a query other than the latest one waits.
    fn is_earlier(&self, asked: &Request<Asked>) -> bool {
        let is_latest = |query| self.latest.is_some_and(|(latest, _)| latest.repeats(query));
        asked.is_open() && asked.what.query().is_some_and(|query| !is_latest(query))
    }

    /// The filter of the query that a reply at this time answers, if there is one and no other query waits.
    pub(super) fn answered_filter(
        &self,
        requests: &Exchanges<Asked>,
        clock: Clock,
    ) -> Option<&[u8]> {
        let (_, mark) = self.latest?;
        let is_clear = clock.now.since(mark.time) <= clock.timeout
            && !requests.iter().any(|asked| self.is_earlier(&asked));
        self.filter.as_deref().filter(|_| is_clear)
    }

    /// A query is sent, which is not among those that wait yet. Returns how it relates to earlier ones.
    pub(super) fn ask(
        &mut self,
        query: Query,
        mark: Mark,
        requests: &mut Exchanges<Asked>,
        clock: Clock,
    ) -> QueryPosition {
        let Some((before, sent)) = self.latest.replace((query, mark)) else {
            self.begun_with = Some((query.region, query.filter));
            return QueryPosition::First { elsewhere: false };
        };
        let pause = mark.time.since(sent.time);
        let is_same = query.repeats(&before);
        let waits = |asked: Request<Asked>| {
            asked.is_open() && asked.what.query().is_some_and(|asked| asked.repeats(&query))
        };
        if is_same
            && (requests.iter().any(waits) || pause >= SOONEST_RETRY && query.seed != Some(ZERO))
        {
            self.retried = true;
            return QueryPosition::Again;
        }
        self.retried = false;
        // A query to which no response is due waits only until the next one.
        requests.retain(|asked| asked.due != ResponseDue::No || asked.what.query().is_none());
        if pause >= clock.timeout {
            requests.forget_given_up();
            requests.retain(|asked| asked.is_open() || !asked.is_overdue(clock));
        }
        if query.seed == Some(ZERO) || query.seed.is_none() {
            let ended = self.ended;
            self.begun_with = Some((query.region, query.filter));
            self.last = None;
            self.ended = false;
            // Pages of the previous listing are not copies in this one.
            self.replies = [0; LATEST];
            (self.handed.stale, self.hosts.stale) = (true, true);
            return QueryPosition::Anew { ended };
        }
        let change = match self.begun_with {
            Some((region, _)) if region != query.region => Some(Change::Region),
            Some((_, filter)) if filter == query.filter => None,
            _ => Some(Change::Filter),
        };
        // It asks from an address of the reply to the query before, which the capture lacks.
        let is_before = |asked: &Request<Asked>| {
            asked.is_open() && asked.what.query().is_some_and(|asked| asked.repeats(&before))
        };
        if ![self.last, before.seed].contains(&query.seed)
            && let Some(at) = requests.position(is_before)
        {
            requests.may_be_answered(at);
            return QueryPosition::On { last: None, ended: false, change, lost: true };
        }
        QueryPosition::On { last: self.last, ended: self.ended, change, lost: self.lost }
    }

    /// Adds a reply; `known`: it is complete. Returns how it relates to the queries.
    pub(super) fn reply(
        &mut self,
        reply: &ReplySummary<'_>,
        known: bool,
        payload: &Payload<'_>,
        requests: &mut Exchanges<Asked>,
        clock: Clock,
    ) -> ReplyMatch {
        let copy = self.is_copy(payload, clock.timeout);
        let waits = |asked: Request<Asked>| self.is_earlier(&asked) && !asked.is_overdue(clock);
        let other_waits = requests.iter().any(waits);
        let answers = self.answers(copy, reply.keyed, payload, requests, clock);
        if copy && !matches!(answers, ReplyMatch::Query { .. }) {
            return answers;
        }
        // After two replies to one query, the client may continue from either; the same for two
        // replies to two queries, which may have been reordered.
        let known = known && answers != ReplyMatch::Again && !other_waits;
        self.last = if known { reply.last() } else { None };
        self.ended = known && reply.ended;
        self.lost = payload.lost;
        self.replied = Some(payload.time);
        self.copies = if copy { self.copies.saturating_add(1) } else { 0 };
        answers
    }

    /// Whether a reply is a copy of one of the latest; it is then added to these.
    fn is_copy(&mut self, payload: &Payload<'_>, timeout: i64) -> bool {
        let hash = keyed_hash(payload.bytes);
        let soon = self.replied.is_some_and(|replied| payload.time.since(replied) <= timeout);
        let copy = soon && self.replies.contains(&hash);
        if !copy {
            self.replies.rotate_left(1);
            self.replies[LATEST - 1] = hash;
        }
        copy
    }

    /// A client that sends another query has given up the one before: the youngest one is answered.
    fn answers(
        &mut self,
        copy: bool,
        keyed: bool,
        payload: &Payload<'_>,
        requests: &mut Exchanges<Asked>,
        clock: Clock,
    ) -> ReplyMatch {
        let Some((query, _)) = self.latest.filter(|(_, mark)| mark.side != payload.side) else {
            return ReplyMatch::Nothing;
        };
        let is_query = |asked: &Request<Asked>| asked.what.query().map(|_| 0);
        let best = requests.best(is_query, true, payload.side, clock);
        match best.and_then(|(_, at)| requests.answer(at, Answer::ONLY, |_| false, clock)) {
            Some(asked) if asked.is_open() => {
                // The network may have duplicated a page, so that the response is still to come.
                if copy {
                    requests.give_up();
                }
                let due = asked.due == ResponseDue::Yes;
                return ReplyMatch::Query { due, asked: asked.reply(true) };
            }
            Some(_) => return ReplyMatch::Again,
            None if requests.take_given_up() => return ReplyMatch::Again,
            None => {}
        }
        match self.replied {
            _ if copy => ReplyMatch::Copy,
            Some(replied) if payload.time.since(replied) <= clock.timeout => {
                ReplyMatch::More { dialect: keyed || query.is_dialect }
            }
            _ => ReplyMatch::Late,
        }
    }

    /// The first block of a reply that was sent before in this listing, by its index.
    pub(super) fn repeated(
        &mut self,
        reply: &ReplySummary<'_>,
        budget: &mut Budget,
    ) -> Result<Option<usize>, MaybeSentBefore> {
        if self.is_doubled() {
            return Err(MaybeSentBefore);
        }
        let repeated = self.handed.take(reply, SentAddresses::key, budget);
        if reply.ended {
            self.handed.release(budget);
        }
        repeated
    }

    /// The same for the first block whose host was sent before, at whatever port; in the same page, if the page may have
    /// been sent before.
    pub(super) fn repeated_host(
        &mut self,
        reply: &ReplySummary<'_>,
        budget: &mut Budget,
    ) -> Result<Option<usize>, MaybeSentBefore> {
        if self.is_doubled() {
            let mut page = SentAddresses::default();
            let repeated = page.take(reply, SentAddresses::host, budget);
            page.release(budget);
            return repeated;
        }
        let repeated = self.hosts.take(reply, SentAddresses::host, budget);
        if reply.ended {
            self.hosts.release(budget);
        }
        repeated
    }

    /// Whether the latest reply may be a second one to the same query. One copy after a new query may come from the
    /// network, several come from the master.
    fn is_doubled(&self) -> bool {
        self.retried || self.copies == 1 && !self.handed.stale
    }

    /// The side whose listing is incomplete, and the last address that it received.
    pub(super) fn stands_at(&self) -> Option<(Side, Endpoint)> {
        let (_, mark) = self.latest?;
        self.last.filter(|_| !self.ended).map(|last| (mark.side, last))
    }

    /// Frees memory.
    pub(super) fn release(&mut self, budget: &mut Budget) {
        self.handed.release(budget);
        self.hosts.release(budget);
    }
}

/// The addresses of one listing so far.
#[derive(Default)]
struct SentAddresses {
    blocks: Map<u64, ()>,
    /// The number of addresses that the budget has granted.
    granted: usize,
    /// Some did not fit.
    forgot: bool,
    /// They belong to an earlier listing.
    stale: bool,
}

/// It is unknown whether an address was sent before: it may have been forgotten, or the same page
/// was requested twice, or duplicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MaybeSentBefore;

impl SentAddresses {
    /// The memory of an address: a map may be half empty.
    const COST: usize = 3 * size_of::<u64>();

    /// Adds what `key` makes of a reply's addresses. Returns the first repeated one.
    fn take(
        &mut self,
        reply: &ReplySummary<'_>,
        key: impl Fn(&SentAddresses, &[u8]) -> u64,
        budget: &mut Budget,
    ) -> Result<Option<usize>, MaybeSentBefore> {
        if self.stale {
            self.release(budget);
        }
        let blocks = reply.blocks.chunks_exact(reply.block.max(1));
        self.make_room(blocks.len(), budget)?;
        let mut repeated = None;
        for (at, block) in blocks.enumerate() {
            if self.blocks.insert(key(self, block), ()).is_some() {
                repeated = repeated.or(Some(at));
            }
        }
        Ok(repeated)
    }

    /// Makes room for more addresses. If there is none, the present ones are dropped.
    fn make_room(&mut self, more: usize, budget: &mut Budget) -> Result<(), MaybeSentBefore> {
        if self.forgot {
            return Err(MaybeSentBefore);
        }
        let lacking = (self.blocks.len() + more).saturating_sub(self.granted);
        if !budget.take(lacking * SentAddresses::COST) {
            self.release(budget);
            self.forgot = true;
            return Err(MaybeSentBefore);
        }
        self.granted += lacking;
        self.blocks.reserve(more);
        Ok(())
    }

    /// An address with its port; a hash if it is longer.
    #[inline]
    fn key(&self, block: &[u8]) -> u64 {
        match *block {
            [a, b, c, d, high, low] => u64::from_ne_bytes([a, b, c, d, high, low, 0, 0]),
            _ => self.blocks.hasher().hash_one(block),
        }
    }

    /// An address without its port.
    fn host(&self, block: &[u8]) -> u64 {
        match *block {
            [a, b, c, d, _, _] => u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]),
            [ref host @ .., _, _] => self.blocks.hasher().hash_one(host),
            _ => self.blocks.hasher().hash_one(block),
        }
    }

    fn release(&mut self, budget: &mut Budget) {
        budget.give(self.granted * SentAddresses::COST);
        *self = SentAddresses::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_take_no_room_that_the_budget_does_not_grant() {
        let blocks: Vec<u8> = (0..240u32).flat_map(|at| [10, 0, at as u8, 2, 0x69, 0x87]).collect();
        let page = |from: usize| ReplySummary {
            blocks: &blocks[from * 6..][..120 * 6],
            block: 6,
            ..ReplySummary::default()
        };
        let mut budget = Budget::new(200 * SentAddresses::COST);
        let (mut first, mut second) = (SentAddresses::default(), SentAddresses::default());
        assert_eq!(first.take(&page(0), SentAddresses::key, &mut budget), Ok(None));
        assert!(first.blocks.capacity() * size_of::<u64>() <= budget.held());
        assert_eq!(
            first.take(&page(0), SentAddresses::key, &mut budget),
            Err(MaybeSentBefore),
            "so many more do not fit"
        );
        assert_eq!((first.blocks.capacity(), budget.held()), (0, 0));
        // Memory that one frees is available to others.
        assert_eq!(second.take(&page(80), SentAddresses::key, &mut budget), Ok(None));
        assert_eq!(first.take(&page(0), SentAddresses::key, &mut budget), Err(MaybeSentBefore));
        first.release(&mut budget);
        second.release(&mut budget);
        assert_eq!(budget.held(), 0);
        let mut budget = Budget::new(1 << 20);
        assert_eq!(first.take(&page(0), SentAddresses::key, &mut budget), Ok(None));
        assert_eq!(first.take(&page(80), SentAddresses::key, &mut budget), Ok(Some(0)));
        assert_eq!(first.take(&page(120), SentAddresses::key, &mut budget), Ok(Some(0)));
        assert_eq!(first.blocks.len(), 240);
    }
}
