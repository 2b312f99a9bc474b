//! The state of one flow, and the state that spans flows: pending requests, and a compact summary
//! of earlier messages.

use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;

use super::counters::{CoarseTime, Count, Counters};
use super::decode::{self, DecodeContext, MessageSummary};
use super::kinds::{RequestKind, ResponseKind};
use super::layout::Layout;
use super::pending::{CompactRequest, GOES_ON, PASSED_OVER, PendingRequest, REFUSED, ResponseDue};
use super::recent_responses::RecentResponses;
use super::split::{BufferPool, SplitResponse, SplitResponses};
use super::waiting::LatestRequests;

use crate::kit::{Host, Payload, PendingRequests, Recent, Seed, ShortMark, Side, Socket, Time};

/// The state of one flow.
#[derive(Default)]
pub struct Conversation {
    /// Pending requests.
    pending: PendingRequests<CompactRequest>,
    /// State that most flows do not need.
    more: Option<Box<MultiMessageState>>,
    /// A keyed hash of the last response, because networks and some recordings duplicate packets.
    last: Option<NonZeroU64>,
    pub(super) tally: Counters,
    /// Bits: see [`Conversation::has`].
    pub(super) flags: u16,
    /// When info was last answered.
    informed: CoarseTime,
    /// A message was seen. (The enum of all protocols stores its tag in the unused values of this
    /// byte.)
    pub(super) began: bool,
}

#[derive(Default)]
struct MultiMessageState {
    done: RecentResponses,
    open: Option<Box<Open>>,
}

/// State that flows need for a short time only.
#[derive(Default)]
struct Open {
    parts: SplitResponses,
    stray: Option<UnmatchedList>,
    /// The number of requests that were removed before they were overdue: each may still be
    /// answered.
    given_up: u8,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.stray.is_none() && self.given_up == 0
    }
}

/// A player list that came when info was due or had just come: from a hybrid server, if the
/// obsolete info comes as well.
pub(super) struct UnmatchedList {
    pub(super) mark: ShortMark,
    /// The info has not come so far.
    pub(super) instead: bool,
}

/// [`Side::First`] has sent a request; the next bit is for the other side.
pub(super) const ASKED: u16 = 1;
/// The capture has the earlier packets: a request was answered, or carries a challenge from the
/// capture.
pub(super) const FOLLOWED: u16 = 4;
/// The layout was used by the server.
pub(super) const USED: u16 = 8;
/// The server said that it runs The Ship.
pub(super) const SHIP: u16 = 16;
/// The server said that it runs another game.
pub(super) const OTHER_GAME: u16 = 32;
/// The first datagram was not a packet of the specification: it is A2S only because the user forces
/// it.
pub(super) const FORCED: u16 = 64;
/// The server has answered an info request with a challenge.
pub(super) const GUARDED: u16 = 1 << 15;
/// The layout of the server's last split response ([`USED`]), or the one that its info indicates:
/// its index plus one, or 0, in the two bits from this one on.
const LAYOUT_AT: u32 = 10;
/// The kind of the latest request that timed out: its response may still come. Its index plus one,
/// or 0, in the three bits from this one on.
const MISSED_AT: u32 = 12;

/// State that spans the flows between two hosts.
#[derive(Default)]
pub struct SharedState {
    /// Issued challenges, with address and server.
    pub(super) issued: Recent,
    /// Pairs of client and server with a challenge that the recording lost.
    pub(super) blurred: Recent,
    /// Endpoints that wait for a response, by the host that was asked.
    pub(super) waiting: LatestRequests,
    /// Pairs of hosts and servers that have responded to them: packets to these are for a server.
    pub(super) served: Recent,
    /// Buffers for the next split response.
    pub(super) spare: BufferPool,
    /// The seed of the hashes that recognize copies.
    pub(super) seed: Seed,
}

/// A client and a server.
pub(super) fn between(client: IpAddr, server: SocketAddr) -> (Host, Socket) {
    (Host(client), Socket(server))
}

/// A challenge that a server gave to an address. Challenges are bound to addresses, not to ports.
pub(super) fn issued(client: IpAddr, server: SocketAddr, challenge: i32) -> (Host, Socket, i32) {
    (Host(client), Socket(server), challenge)
}

impl SharedState {
    /// Whether an endpoint has responded to this host as a server.
    pub(super) fn is_served(&self, payload: &Payload<'_>) -> bool {
        self.served.contains(&between(payload.from.ip(), payload.to)) == Some(true)
    }
}

impl Conversation {
    pub(super) const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub(super) const fn asks(side: Side) -> u16 {
        match side {
            Side::First => ASKED,
            Side::Second => ASKED << 1,
        }
    }

    /// Whether a message travels toward a server: from the side that sends requests to the other.
    /// Before the first request, the ports decide.
    pub(super) fn is_toward_server(&self, payload: &Payload<'_>) -> bool {
        let asked = |side| self.has(Conversation::asks(side));
        match (asked(payload.side), asked(payload.side.other())) {
            (false, false) => {
                !super::is_usual(payload.from.port()) && super::is_usual(payload.to.port())
            }
            (from, to) => from && !to,
        }
    }

    /// Whether there was no request yet, so that only the ports show which end is the server.
    pub(super) const fn is_guessed(&self) -> bool {
        !self.has(ASKED) && !self.has(ASKED << 1)
    }

    /// The known layout of the server's packets.
    pub(super) fn layout(&self) -> Option<Layout> {
        let place = usize::from(self.flags >> LAYOUT_AT & 3).checked_sub(1)?;
        Layout::ALL.get(place).copied()
    }

    fn set_layout(&mut self, layout: Layout) {
        self.flags = self.flags & !(3 << LAYOUT_AT) | (layout as u16 + 1) << LAYOUT_AT;
    }

    /// The kind of the latest request that timed out, if its response may still come.
    pub(super) fn missed(&self) -> Option<RequestKind> {
        let place = usize::from(self.flags >> MISSED_AT & 7).checked_sub(1)?;
        RequestKind::ALL.get(place).copied()
    }

    pub(super) fn set_missed(&mut self, missed: Option<RequestKind>) {
        let place = missed.map_or(0, |request| request as u16 + 1);
        self.flags = self.flags & !(7 << MISSED_AT) | place << MISSED_AT;
    }

    /// Sets the layout of the last split response. Returns the previous one.
    pub(super) fn split_in(&mut self, layout: Layout) -> Option<Layout> {
        let before = self.layout().filter(|_| self.has(USED));
        self.set_layout(layout);
        self.flags |= USED;
        before
    }

    pub(super) fn known(&self, split: bool, toward_server: bool) -> DecodeContext {
        let ship = (self.has(SHIP) || self.has(OTHER_GAME)).then(|| self.has(SHIP));
        DecodeContext { ship, split, toward_server, lost: false }
    }

    fn open(&mut self) -> &mut Open {
        self.more.get_or_insert_default().open.get_or_insert_default()
    }

    fn open_so_far(&self) -> Option<&Open> {
        self.more.as_ref()?.open.as_deref()
    }

    fn open_if_any(&mut self) -> Option<&mut Open> {
        self.more.as_mut()?.open.as_deref_mut()
    }

    /// Frees the memory of completed work.
    pub(super) fn tidy(&mut self) {
        let Some(more) = &mut self.more else { return };
        more.open.take_if(|open| open.is_empty());
        if more.open.is_none() && more.done.is_empty() {
            self.more = None;
        }
    }

    /// The split responses of the flow.
    pub(super) fn parts(&mut self) -> &mut SplitResponses {
        &mut self.open().parts
    }

    /// The split responses of the flow, if any.
    pub(super) fn parts_so_far(&self) -> Option<&SplitResponses> {
        Some(&self.open_so_far()?.parts)
    }

    /// Its last complete split responses, if any.
    pub(super) fn done(&self) -> Option<&RecentResponses> {
        Some(&self.more.as_ref()?.done)
    }

    /// Adds a complete split response, with its ID and its message byte.
    pub(super) fn remember(&mut self, set: &SplitResponse, id: u32, layout: Layout, kind: u8) {
        self.more.get_or_insert_default().done.remember(set, id, layout, kind);
    }

    /// The player list whose meaning the rest of the exchange shows.
    pub(super) fn stray(&mut self) -> &mut Option<UnmatchedList> {
        &mut self.open().stray
    }

    /// The same, if it is `over` now.
    pub(super) fn take_stray(
        &mut self,
        is: impl FnOnce(&UnmatchedList) -> bool,
    ) -> Option<UnmatchedList> {
        self.open_if_any()?.stray.take_if(|stray| is(stray))
    }

    pub(super) fn held(&self) -> usize {
        let open = |open: &Open| size_of::<Open>() + open.parts.held();
        let more = |more: &MultiMessageState| {
            size_of::<MultiMessageState>() + more.done.held() + more.open.as_deref().map_or(0, open)
        };
        self.pending.held() + self.more.as_deref().map_or(0, more)
    }

    /// The pending requests, the oldest first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = PendingRequest> {
        self.pending.iter().map(|kept| kept.get())
    }

    /// The index of the oldest such request.
    pub(super) fn place(&self, is: impl Fn(&PendingRequest) -> bool) -> Option<usize> {
        self.waiting().position(|asked| is(&asked))
    }

    /// Whether this side was ever seen to receive a request.
    pub(super) const fn was_asked(&self, side: Side) -> bool {
        self.has(Conversation::asks(side.other()))
    }

    /// Whether such a request waits for a response from this side, or no request was ever seen.
    pub(super) fn awaits(&self, from: Side, is_such: impl Fn(&PendingRequest) -> bool) -> bool {
        let waits = |asked: &PendingRequest| {
            matches!(asked.owed, ResponseDue::Yes | ResponseDue::No) && asked.mark.side != from
        };
        !self.was_asked(from) || self.waiting().any(|asked| waits(&asked) && is_such(&asked))
    }

    /// Whether a response is due from this side, and none came that may be it.
    pub(super) fn is_due(&self, from: Side, now: Time, timeout: i64) -> bool {
        let due = |asked: PendingRequest| {
            let is_open = matches!(asked.owed, ResponseDue::Yes | ResponseDue::No);
            is_open && asked.mark.side != from && now.since(asked.mark.time) < timeout
        };
        self.waiting().any(due)
    }

    /// Whether the capture has all packets of the responses from this side: no response was in
    /// progress when the capture of the flow began.
    pub(super) fn is_followed(&self, from: Side, began: bool) -> bool {
        self.was_asked(from) && (began || self.has(FOLLOWED))
    }

    /// Removes the oldest request early, to make room.
    pub(super) fn evict_oldest(&mut self) {
        self.take(0);
        let open = self.open();
        open.given_up = open.given_up.saturating_add(1);
    }

    /// Whether a response may answer a request that was removed early: each may have one.
    pub(super) fn take_given_up(&mut self) -> bool {
        let Some(open) = self.open_if_any() else { return false };
        let left = open.given_up.checked_sub(1);
        open.given_up = left.unwrap_or(0);
        left.is_some()
    }

    /// Adds a pending request.
    pub(super) fn push(&mut self, asked: PendingRequest) {
        self.pending.push(asked.into());
    }

    /// Takes the request at this index; 0 is the oldest.
    pub(super) fn take(&mut self, at: usize) -> Option<PendingRequest> {
        self.pending.remove(at).map(CompactRequest::get)
    }

    /// The request at this index; 0 is the oldest.
    pub(super) fn at(&self, at: usize) -> Option<PendingRequest> {
        self.pending.get(at).map(|kept| kept.get())
    }

    /// Replaces the request at this index.
    pub(super) fn put(&mut self, at: usize, asked: PendingRequest) {
        if let Some(kept) = self.pending.get_mut(at) {
            *kept = asked.into();
        }
    }

    /// The request at this index was answered: an earlier request for the same, if recent, may take
    /// the response, too. Returns the index of the request.
    pub(super) fn join_alike(&mut self, mut at: usize, now: Time, timeout: i64) -> usize {
        let Some(mut asked) = self.at(at) else { return at };
        let is_alike = |other: &PendingRequest| {
            other.owed == ResponseDue::Yes
                && other.repeats(&asked)
                && now.since(other.mark.time) < timeout
        };
        let Some(place) = self.place(is_alike) else { return at };
        if let Some(alike) = self.take(place) {
            at -= usize::from(place < at);
            asked.left = asked.left.saturating_add(alike.left);
            self.put(at, asked);
        }
        at
    }

    /// A response came that may belong to the request at this index.
    pub(super) fn may_be_answered(&mut self, at: usize) {
        let Some(mut asked) = self.at(at) else { return };
        if asked.owed == ResponseDue::Answered {
            asked.answered();
        } else {
            asked.owed = ResponseDue::NoMore;
        }
        self.put(at, asked);
    }

    /// An ICMP error says that this packet did not arrive.
    pub(super) fn refused(&mut self, frame: u64) {
        let Some(at) = self.place(|asked| asked.mark.frame == frame) else { return };
        if let Some(mut asked) = self.at(at) {
            asked.past |= REFUSED;
            self.put(at, asked);
        }
    }

    /// The request that a response fits best: of those that are not overdue, the oldest, or for a
    /// `challenge` the youngest; otherwise the latest. Requests that may have been answered come
    /// after the others, then repeats of answered ones; for a challenge, after all others that
    /// request one.
    pub(super) fn best(
        &self,
        fits: impl Fn(&PendingRequest) -> Option<u8>,
        challenge: bool,
        from: Side,
        now: Time,
        timeout: i64,
    ) -> Option<(u8, usize)> {
        let fits = |(at, asked): (usize, PendingRequest)| {
            let mark = asked.mark;
            let late = now.since(mark.time) >= timeout;
            let place = match (late, challenge) {
                (_, true) => u64::MAX - mark.frame,
                (true, false) => u64::MAX - at as u64,
                (false, false) => at as u64,
            };
            let may_be = mark.side != from && asked.may_be_answered(now, timeout);
            let fit = fits(&asked).filter(|_| may_be)?;
            let after = matches!(asked.owed, ResponseDue::NoMore | ResponseDue::Answered);
            let class = if challenge { fit / 2 } else { fit };
            Some(((late, class, after, asked.owed == ResponseDue::Answered, fit, place), at))
        };
        let (best, at) = self.waiting().enumerate().filter_map(fits).min_by_key(|fit| fit.0)?;
        Some((best.4, at))
    }

    /// A response came that is too damaged to show which request it answers: a request keeps
    /// waiting, but a missing response is not a fault.
    pub(super) fn answered_somehow(&mut self, from: Side, now: Time, timeout: i64) {
        self.answered_perhaps(|_| Some(0), from, now, timeout);
    }

    /// The same for responses that answer only requests they fit.
    pub(super) fn answered_perhaps(
        &mut self,
        fits: impl Fn(&PendingRequest) -> Option<u8>,
        from: Side,
        now: Time,
        timeout: i64,
    ) {
        if let Some((_, at)) = self.best(fits, false, from, now, timeout) {
            self.may_be_answered(at);
        }
    }

    /// The index of the oldest request that is not overdue, of any kind.
    pub(super) fn first_due(&self, from: Side, now: Time, timeout: i64) -> Option<usize> {
        self.place(|asked| {
            asked.owed != ResponseDue::Answered
                && asked.mark.side != from
                && now.since(asked.mark.time) < timeout
        })
    }

    /// A list was the right response to another request than those that wait for one.
    pub(super) fn pass_over(&mut self, response: ResponseKind) {
        for kept in self.pending.iter_mut() {
            let mut asked = kept.get();
            if response.is_for(asked.request) {
                asked.past |= PASSED_OVER;
                *kept = asked.into();
            }
        }
    }

    /// Whether a response repeats the last one of this side, by a keyed hash of its bytes, for
    /// which collisions cannot be constructed. It becomes the last one.
    pub(super) fn repeats(&mut self, payload: &Payload<'_>, seed: &Seed) -> bool {
        let hash = payload.hash.or_else(|| NonZeroU64::new(seed.hash_one(payload.bytes)));
        // If the hash is 0, a copy goes unnoticed.
        let hash = hash.and_then(|hash| NonZeroU64::new(hash.get() ^ payload.side.index() as u64));
        hash.is_some() && std::mem::replace(&mut self.last, hash) == hash
    }

    /// An info request was answered in this form: the other forms of hybrid servers may follow.
    /// Returns whether this explains an earlier player list.
    pub(super) fn informed(&mut self, response: ResponseKind, now: CoarseTime) -> bool {
        self.informed = now;
        if response == ResponseKind::Info {
            self.tally.add(Count::ObsoleteInfo);
            if let Some(stray) = self.open_if_any().and_then(|open| open.stray.as_mut()) {
                stray.instead = false;
            }
            return false;
        }
        self.tally.add(Count::Info);
        self.explain()
    }

    /// The info request that this side answered in one form, if it is still known.
    pub(super) fn informed_of(&self, by: Side) -> Option<PendingRequest> {
        let is_it = |asked: &PendingRequest| {
            let answered = asked.owed == ResponseDue::Answered && !asked.is(GOES_ON);
            answered && asked.request == RequestKind::Info && asked.mark.side != by
        };
        self.waiting().filter(is_it).last()
    }

    /// Whether info was answered in one form and may still come in others.
    pub(super) fn has_forms(&self) -> bool {
        Count::FORMS.iter().any(|&form| self.tally.get(form) > 0)
    }

    /// Other forms are accepted as long as a response may come; after that they are unsolicited.
    /// `silence`: how long the flow was silent before.
    pub(super) fn forget_forms(&mut self, now: Time, silence: u64, timeout: i64) {
        let is_near = || {
            silence / 2 <= timeout.unsigned_abs()
                && CoarseTime::of(now, timeout).is_near(self.informed)
        };
        if self.has_forms() && !is_near() {
            self.tally.clear(&Count::FORMS);
        }
    }

    /// The obsolete info answered a request: a player list may follow, or has come.
    pub(super) fn explain(&mut self) -> bool {
        let explained = self.take_stray(|_| true).is_some();
        if !explained {
            self.tally.add(Count::Players);
        }
        explained
    }

    /// The layout of split packets that info indicates: engines before Orange Box have no Size.
    pub(super) fn learn(&mut self, said: &MessageSummary) {
        let Some(protocol) = said.protocol else { return };
        if let Some(app_id @ 1..) = said.app_id {
            let game = if app_id == decode::THE_SHIP { SHIP } else { OTHER_GAME };
            self.flags = self.flags & !(SHIP | OTHER_GAME) | game;
        }
        let layout = match (said.kind, said.app_id, protocol) {
            (b'm', ..) | (_, _, 48) => Layout::GoldSrc,
            (_, Some(215 | 17550 | 17700 | 240), 7) => Layout::Source,
            _ => return,
        };
        if !self.has(USED) {
            self.set_layout(layout);
        }
    }
}
