//! The queries of one socket to a master, and the replies. It makes observations and checks no
//! rules.

use std::hash::BuildHasher;

use crate::kit::{
    self, Budget, Map, Mark, Payload, PendingRequests, ShortMark, Side, Time, keyed_hash,
};

use super::endpoint::{Endpoint, ZERO};
use super::reply::ReplySummary;

/// The remembered properties of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    pub(super) mark: ShortMark,
    /// The key that Xash3D's master must repeat, if the query is complete.
    pub(super) key: Option<Option<[u8; 4]>>,
    /// Identifies region and filter.
    pub(super) question: Question,
    /// The address after which it continues, if readable.
    pub(super) seed: Option<Endpoint>,
    pub(super) status: QueryStatus,
}

/// The status of a query. A response is due if the query is valid and complete; in Xash3D's
/// dialect, which is recognized by a key that only its clients send, a reply may have several
/// packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryStatus {
    Wrong,
    Due,
    WrongInDialect,
    DueInDialect,
}

impl QueryStatus {
    pub(super) fn of(due: bool, dialect: bool) -> QueryStatus {
        match (due, dialect) {
            (false, false) => QueryStatus::Wrong,
            (true, false) => QueryStatus::Due,
            (false, true) => QueryStatus::WrongInDialect,
            (true, true) => QueryStatus::DueInDialect,
        }
    }

    pub(super) fn is_due(self) -> bool {
        matches!(self, QueryStatus::Due | QueryStatus::DueInDialect)
    }

    fn is_dialect(self) -> bool {
        matches!(self, QueryStatus::WrongInDialect | QueryStatus::DueInDialect)
    }
}

/// A short hash of region and filter.
pub(super) type Question = [u8; 3];

impl Query {
    /// The hash (FNV-1a, without its lowest bits).
    pub(super) fn question(region: u8, filter: &[u8]) -> Question {
        let sign: u32 = std::iter::once(&region)
            .chain(filter)
            .fold(0x811C_9DC5, |sign, &byte| (sign ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let [_, question @ ..] = sign.to_le_bytes();
        question
    }
}

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
    /// It repeats the previous one, which was not answered, or not in time. `waits`: that one is
    /// still pending.
    Again { waits: bool },
    /// It continues the listing.
    On {
        /// The last address of the previous reply, if known.
        last: Option<Endpoint>,
        /// The list has ended.
        ended: bool,
        /// Region and filter are the same as before.
        same_question: bool,
    },
}

/// How a reply relates to the queries before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyMatch {
    /// It answers this query. `due`: a response was due.
    Query { due: bool, asked: kit::Reply },
    /// It answers a query that was repeated and already has a response, or that timed out.
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

/// The queries of one socket.
#[derive(Default)]
pub(super) struct Listing {
    /// The latest query.
    query: Option<Query>,
    /// The packet of its latest repeat, the time of that, and how often it was sent.
    sent: (u64, Time),
    tries: u32,
    /// The latest query was answered.
    answered: bool,
    /// The latest query was repeated.
    retried: bool,
    /// Queries that were repeated while pending, or timed out: each may have a reply of its own.
    repeats: u8,
    /// Region and filter of the listing's first query.
    question: Option<Question>,
    /// The last address of the latest reply.
    last: Option<Endpoint>,
    /// The latest reply had the end mark.
    ended: bool,
    /// The time of the latest reply.
    replied: Option<Time>,
    /// Hashes of the latest replies, the latest last.
    replies: [u64; LATEST],
    /// The number of copies in a row that were taken for responses.
    copies: u8,
    /// Older pending queries, the latest last.
    waiting: PendingRequests<Mark>,
    handed: SentAddresses,
    /// The filter of the latest query, if a server's description of itself may contradict it.
    pub(super) filter: Option<Box<[u8]>>,
}

impl Listing {
    /// Memory in bytes that the budget does not count.
    pub(super) fn held(&self) -> usize {
        let filter = self.filter.as_ref().map_or(0, |filter| filter.len());
        size_of::<Listing>() + self.waiting.held() + filter
    }

    /// The filter of the query that a reply at this time answers, if there is one and no other query waits.
    pub(super) fn answered_filter(&self, now: Time, timeout: i64) -> Option<&[u8]> {
        let asked = self.query.filter(|query| now.since(query.mark.get().time) <= timeout);
        self.filter.as_deref().filter(|_| asked.is_some() && self.waiting.iter().next().is_none())
    }

    /// The latest query.
    pub(super) fn query(&self) -> Option<&Query> {
        self.query.as_ref()
    }

    /// The latest query, if it was not answered yet.
    pub(super) fn awaited(&self) -> Option<&Query> {
        self.query.as_ref().filter(|_| !self.answered)
    }

    /// Adds a query. Returns how it relates to earlier ones, and which of them is removed for it if
    /// more than `most` are pending.
    pub(super) fn ask(
        &mut self,
        query: Query,
        timeout: i64,
        most: usize,
    ) -> (QueryPosition, Option<Mark>) {
        let mark = query.mark.get();
        self.sent = (mark.frame, mark.time);
        let Some(before) = self.query else {
            self.tries = 1;
            self.query = Some(query);
            self.question = Some(query.question);
            return (QueryPosition::First { elsewhere: false }, None);
        };
        let same = before.seed == query.seed && before.question == query.question;
        let pause = query.mark.get().time.since(before.mark.get().time);
        let waits = !self.answered && before.status.is_due();
        if same && (!self.answered || pause >= SOONEST_RETRY && query.seed != Some(ZERO)) {
            let overdue = waits && pause >= timeout;
            // A query for which no response is due does not wait for ever.
            let is_anew = self.answered || pause >= timeout;
            let given_up = if overdue { self.wait(before.mark.get(), most) } else { None };
            if !self.answered && !overdue {
                self.repeats = self.repeats.saturating_add(1);
            }
            // The client has been waiting since the first one.
            if is_anew {
                self.query = Some(query);
                self.answered = false;
                self.tries = 0;
            }
            self.tries = self.tries.saturating_add(1);
            self.retried = true;
            return (QueryPosition::Again { waits: self.tries > 1 }, given_up);
        }
        let given_up = if waits { self.wait(before.mark.get(), most) } else { None };
        self.query = Some(query);
        self.tries = 1;
        self.answered = false;
        self.retried = false;
        if pause >= timeout {
            self.repeats = 0;
        }
        if query.seed == Some(ZERO) || query.seed.is_none() {
            let ended = self.ended;
            self.question = Some(query.question);
            self.last = None;
            self.ended = false;
            // Pages of the previous listing are not copies in this one.
            self.replies = [0; LATEST];
            self.handed.stale = true;
            return (QueryPosition::Anew { ended }, given_up);
        }
        let same_question = self.question == Some(query.question);
        (QueryPosition::On { last: self.last, ended: self.ended, same_question }, given_up)
    }

    fn wait(&mut self, mark: Mark, most: usize) -> Option<Mark> {
        let given_up = self.waiting.push_within(mark, most);
        self.repeats = self.repeats.saturating_add(u8::from(given_up.is_some()));
        given_up
    }

    /// Adds a reply; `known`: it is complete. Returns how it relates to the queries.
    pub(super) fn reply(
        &mut self,
        reply: &ReplySummary<'_>,
        known: bool,
        payload: &Payload<'_>,
        timeout: i64,
    ) -> ReplyMatch {
        let copy = self.is_copy(payload, timeout);
        let waits = |mark: &Mark| payload.time.since(mark.time) < timeout;
        let other_waits = self.waiting.iter().any(waits);
        let answers = self.answers(copy, reply.keyed, payload, timeout);
        if copy && !matches!(answers, ReplyMatch::Query { .. }) {
            return answers;
        }
        // After two replies to one query, the client may continue from either; the same for two
        // replies to two queries, which may have been reordered.
        let known = known && answers != ReplyMatch::Again && !other_waits;
        self.last = if known { reply.last() } else { None };
        self.ended = known && reply.ended;
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

    fn answers(
        &mut self,
        copy: bool,
        keyed: bool,
        payload: &Payload<'_>,
        timeout: i64,
    ) -> ReplyMatch {
        let Some(query) = self.query.filter(|query| query.mark.get().side != payload.side) else {
            return ReplyMatch::Nothing;
        };
        if !self.answered {
            self.answered = true;
            // The network may have duplicated a page, so that the response is still to come.
            self.repeats = self.repeats.saturating_add(u8::from(copy));
            let ((request, sent), began) = (self.sent, query.mark.get().time);
            let asked = kit::Reply { began, tries: self.tries, ..kit::Reply::to(request, sent) };
            return ReplyMatch::Query { due: query.status.is_due(), asked };
        }
        if let Some(mark) = self.waiting.pop() {
            let asked = kit::Reply::to(mark.frame, mark.time);
            return ReplyMatch::Query { due: true, asked };
        }
        if self.repeats > 0 {
            self.repeats -= 1;
            return ReplyMatch::Again;
        }
        match self.replied {
            _ if copy => ReplyMatch::Copy,
            Some(replied) if payload.time.since(replied) <= timeout => {
                ReplyMatch::More { dialect: keyed || query.status.is_dialect() }
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
        // One copy after a new query may come from the network, several come from the master.
        let doubled = self.copies == 1 && !self.handed.stale;
        if self.retried || doubled {
            return Err(MaybeSentBefore);
        }
        let repeated = self.handed.take(reply, budget);
        if reply.ended {
            self.handed.release(budget);
        }
        repeated
    }

    /// The pending queries, with the packets of their latest repeats.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = (Mark, u64)> + '_ {
        let latest = self.query.filter(|query| !self.answered && query.status.is_due());
        let older = self.waiting.iter().map(|&mark| (mark, mark.frame));
        older.chain(latest.map(|query| (query.mark.get(), self.sent.0)))
    }

    /// The side whose listing is incomplete, and the last address that it received.
    pub(super) fn stands_at(&self) -> Option<(Side, Endpoint)> {
        let side = self.query?.mark.get().side;
        self.last.filter(|_| !self.ended).map(|last| (side, last))
    }

    /// Frees memory.
    pub(super) fn release(&mut self, budget: &mut Budget) {
        self.handed.release(budget);
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

    /// Adds a reply's addresses. Returns the first repeated one.
    fn take(
        &mut self,
        reply: &ReplySummary<'_>,
        budget: &mut Budget,
    ) -> Result<Option<usize>, MaybeSentBefore> {
        if self.stale {
            self.release(budget);
        }
        let blocks = reply.blocks.chunks_exact(reply.block.max(1));
        self.make_room(blocks.len(), budget)?;
        let mut repeated = None;
        for (at, block) in blocks.enumerate() {
            if self.blocks.insert(self.key(block), ()).is_some() {
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
        assert_eq!(first.take(&page(0), &mut budget), Ok(None));
        assert!(first.blocks.capacity() * size_of::<u64>() <= budget.held());
        assert_eq!(
            first.take(&page(0), &mut budget),
            Err(MaybeSentBefore),
            "so many more do not fit"
        );
        assert_eq!((first.blocks.capacity(), budget.held()), (0, 0));
        // Memory that one frees is available to others.
        assert_eq!(second.take(&page(80), &mut budget), Ok(None));
        assert_eq!(first.take(&page(0), &mut budget), Err(MaybeSentBefore));
        first.release(&mut budget);
        second.release(&mut budget);
        assert_eq!(budget.held(), 0);
        let mut budget = Budget::new(1 << 20);
        assert_eq!(first.take(&page(0), &mut budget), Ok(None));
        assert_eq!(first.take(&page(80), &mut budget), Ok(Some(0)));
        assert_eq!(first.take(&page(120), &mut budget), Ok(Some(0)));
        assert_eq!(first.blocks.len(), 240);
    }
}
