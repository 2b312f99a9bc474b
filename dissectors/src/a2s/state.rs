//! What one flow is up to, and what spans flows: requests that wait, and the little that is kept of
//! what was said.

use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;

use super::counters::{CoarseTime, Count, Counters};
use super::decode::{self, DecodeContext, MessageSummary};
use super::kinds::{RequestKind, ResponseKind};
use super::layout::Layout;
use super::pending::{CompactRequest, GOES_ON, PASSED_OVER, PendingRequest, REFUSED, ResponseDue};
use super::recent_responses::RecentResponses;
use super::split::{Spare, SplitResponse, SplitResponses};
use super::waiting::LatestRequests;

use crate::kit::{Host, Payload, PendingRequests, Recent, Seed, ShortMark, Side, Socket, Time};

/// What one flow is up to.
#[derive(Default)]
pub struct Conversation {
    pending: PendingRequests<CompactRequest>,
    /// What most flows never have.
    more: Option<Box<More>>,
    /// A keyed hash of the last response: networks deliver packets twice, some recordings all.
    last: Option<NonZeroU64>,
    pub(super) tally: Counters,
    /// Bits: see [`Conversation::has`].
    pub(super) flags: u16,
    /// When info was last answered.
    informed: CoarseTime,
    /// A message was seen. (By what this byte cannot be, flows of other protocols are identified,
    /// so that these need no byte of their own.)
    pub(super) began: bool,
}

#[derive(Default)]
struct More {
    done: RecentResponses,
    open: Option<Box<Open>>,
}

/// What no flow has for long.
#[derive(Default)]
struct Open {
    parts: SplitResponses,
    stray: Option<UnmatchedList>,
    /// Requests that were given up before their time, for later ones' sake: each may be answered
    /// yet.
    given_up: u8,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.stray.is_none() && self.given_up == 0
    }
}

/// A player list that came where info was due or had just come: a hybrid server's, if the obsolete
/// info comes as well.
pub(super) struct UnmatchedList {
    pub(super) mark: ShortMark,
    /// The info did not come so far.
    pub(super) instead: bool,
}

/// [`Side::First`] has asked; the next bit says so of the other.
pub(super) const ASKED: u16 = 1;
/// The capture has what came before: a request was answered, or carries a challenge that it shows.
pub(super) const FOLLOWED: u16 = 4;
/// The layout is one that the server used.
pub(super) const USED: u16 = 8;
/// The server said that it runs The Ship.
pub(super) const SHIP: u16 = 16;
/// Or another game.
pub(super) const OTHER_GAME: u16 = 32;
/// The first datagram was not a packet of the specification: only the user's word makes it A2S.
pub(super) const FORCED: u16 = 64;
/// The server has answered info by a challenge.
pub(super) const GUARDED: u16 = 1 << 15;
/// The layout of the server's last split response ([`USED`]), or that its info speaks for: one more
/// than its place among all, or 0, in the two bits from this one on.
const LAYOUT_AT: u32 = 10;
/// What was asked in vain, the last time that was so: its response may come yet. One more than its
/// place among all, or 0, in the three bits from this one on.
const MISSED_AT: u32 = 12;

/// What spans the flows between two hosts.
#[derive(Default)]
pub struct SharedState {
    /// Challenges given: to which address, by which server.
    pub(super) issued: Recent,
    /// Between whom one was given that the recording lost.
    pub(super) blurred: Recent,
    /// Who waits for a response, by the host that was asked.
    pub(super) waiting: LatestRequests,
    /// Which server has answered which host: what is sent there is for a server.
    pub(super) served: Recent,
    /// For the next split response.
    pub(super) spare: Spare,
    /// Keys the hashes by which copies are recognized.
    pub(super) seed: Seed,
}

/// A client and a server.
pub(super) fn between(client: IpAddr, server: SocketAddr) -> (Host, Socket) {
    (Host(client), Socket(server))
}

/// That a server gave a challenge to an address. Challenges are bound to addresses, not to ports.
pub(super) fn issued(client: IpAddr, server: SocketAddr, challenge: i32) -> (Host, Socket, i32) {
    (Host(client), Socket(server), challenge)
}

impl SharedState {
    /// Whether an endpoint is known to this host as a server.
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

    /// Whether a message travels toward a server: from who asks to who does not. Before anybody
    /// has asked, the ports tell.
    pub(super) fn is_toward_server(&self, payload: &Payload<'_>) -> bool {
        let asked = |side| self.has(Conversation::asks(side));
        match (asked(payload.side), asked(payload.side.other())) {
            (false, false) => {
                !super::is_usual(payload.from.port()) && super::is_usual(payload.to.port())
            }
            (from, to) => from && !to,
        }
    }

    /// Whether nobody has asked yet, so that only the ports tell who is the server.
    pub(super) const fn is_guessed(&self) -> bool {
        !self.has(ASKED) && !self.has(ASKED << 1)
    }

    /// What the server's packets are known to look like.
    pub(super) fn layout(&self) -> Option<Layout> {
        let place = usize::from(self.flags >> LAYOUT_AT & 3).checked_sub(1)?;
        Layout::ALL.get(place).copied()
    }

    fn set_layout(&mut self, layout: Layout) {
        self.flags = self.flags & !(3 << LAYOUT_AT) | (layout as u16 + 1) << LAYOUT_AT;
    }

    /// What was asked in vain, the last time that was so, if its response may come yet.
    pub(super) fn missed(&self) -> Option<RequestKind> {
        let place = usize::from(self.flags >> MISSED_AT & 7).checked_sub(1)?;
        RequestKind::ALL.get(place).copied()
    }

    pub(super) fn set_missed(&mut self, missed: Option<RequestKind>) {
        let place = missed.map_or(0, |request| request as u16 + 1);
        self.flags = self.flags & !(7 << MISSED_AT) | place << MISSED_AT;
    }

    /// The layout of the last split response; it is this one from now on.
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

    /// Gives back the room of what is over.
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

    /// The split responses of the flow, if there is one.
    pub(super) fn parts_so_far(&self) -> Option<&SplitResponses> {
        Some(&self.open_so_far()?.parts)
    }

    /// Its last split responses that were whole, if there were any.
    pub(super) fn done(&self) -> Option<&RecentResponses> {
        Some(&self.more.as_ref()?.done)
    }

    /// A split response is whole, under this ID, with this message byte.
    pub(super) fn remember(&mut self, set: &SplitResponse, id: u32, layout: Layout, kind: u8) {
        self.more.get_or_insert_default().done.remember(set, id, layout, kind);
    }

    /// The player list whose meaning the rest of the exchange shows.
    pub(super) fn stray(&mut self) -> &mut Option<UnmatchedList> {
        &mut self.open().stray
    }

    /// The same, if it `is` over now.
    pub(super) fn take_stray(
        &mut self,
        is: impl FnOnce(&UnmatchedList) -> bool,
    ) -> Option<UnmatchedList> {
        self.open_if_any()?.stray.take_if(|stray| is(stray))
    }

    pub(super) fn held(&self) -> usize {
        let open = |open: &Open| size_of::<Open>() + open.parts.held();
        let more = |more: &More| {
            size_of::<More>() + more.done.held() + more.open.as_deref().map_or(0, open)
        };
        self.pending.held() + self.more.as_deref().map_or(0, more)
    }

    /// The requests that wait, the oldest first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = PendingRequest> {
        self.pending.iter().map(|kept| kept.get())
    }

    /// Where the oldest such request is.
    pub(super) fn place(&self, is: impl Fn(&PendingRequest) -> bool) -> Option<usize> {
        self.waiting().position(|asked| is(&asked))
    }

    /// Whether this side was ever seen to be asked.
    pub(super) const fn was_asked(&self, side: Side) -> bool {
        self.has(Conversation::asks(side.other()))
    }

    /// Whether such a request waits for a response from this side, or nobody was ever seen to ask.
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

    /// Whether the responses from this side that the capture has begin with what it has of the
    /// requests: none is under way whose packets may have come before.
    pub(super) fn is_followed(&self, from: Side, began: bool) -> bool {
        self.was_asked(from) && (began || self.has(FOLLOWED))
    }

    /// The oldest request makes room for another, before its time.
    pub(super) fn evict_oldest(&mut self) {
        self.take(0);
        let open = self.open();
        open.given_up = open.given_up.saturating_add(1);
    }

    /// Whether a response may be to a request that was given up before its time: each may have one.
    pub(super) fn take_given_up(&mut self) -> bool {
        let Some(open) = self.open_if_any() else { return false };
        let left = open.given_up.checked_sub(1);
        open.given_up = left.unwrap_or(0);
        left.is_some()
    }

    /// One more request waits.
    pub(super) fn push(&mut self, asked: PendingRequest) {
        self.pending.push(asked.into());
    }

    /// Takes the request in this place; 0 is the oldest.
    pub(super) fn take(&mut self, at: usize) -> Option<PendingRequest> {
        self.pending.remove(at).map(CompactRequest::get)
    }

    /// The request in this place; 0 is the oldest.
    pub(super) fn at(&self, at: usize) -> Option<PendingRequest> {
        self.pending.get(at).map(|kept| kept.get())
    }

    /// The request in this place is this from now on.
    pub(super) fn put(&mut self, at: usize, asked: PendingRequest) {
        if let Some(kept) = self.pending.get_mut(at) {
            *kept = asked.into();
        }
    }

    /// The request in this place was answered: who asked for just that before, and not too long
    /// ago, may take that for the response. Returns where the request is now.
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

    /// What came may be the response to the request in this place, or not.
    pub(super) fn may_be_answered(&mut self, at: usize) {
        let Some(mut asked) = self.at(at) else { return };
        if asked.owed == ResponseDue::Answered {
            asked.answered();
        } else {
            asked.owed = ResponseDue::NoMore;
        }
        self.put(at, asked);
    }

    /// An ICMP error says that what was sent in this packet did not arrive.
    pub(super) fn refused(&mut self, frame: u64) {
        let Some(at) = self.place(|asked| asked.mark.frame == frame) else { return };
        if let Some(mut asked) = self.at(at) {
            asked.past |= REFUSED;
            self.put(at, asked);
        }
    }

    /// The request that a response fits best: of those that are not overdue, the oldest, or for a
    /// `challenge` the youngest; else the latest. One that may have been answered comes after the
    /// others, then the further sendings of one that was; for a challenge, after all others that
    /// ask for one.
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

    /// A response came with too little of it readable to say what it responds to: a request waits
    /// on, but is owed nothing more.
    pub(super) fn answered_somehow(&mut self, from: Side, now: Time, timeout: i64) {
        self.answered_perhaps(|_| Some(0), from, now, timeout);
    }

    /// The same of what answers only requests that it fits.
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

    /// Where the oldest request is that is not overdue, whatever it asked for.
    pub(super) fn first_due(&self, from: Side, now: Time, timeout: i64) -> Option<usize> {
        self.place(|asked| {
            asked.owed != ResponseDue::Answered
                && asked.mark.side != from
                && now.since(asked.mark.time) < timeout
        })
    }

    /// A list was the right response to another request than those that wait for one.
    pub(super) fn pass_over(&mut self, answer: ResponseKind) {
        for kept in self.pending.iter_mut() {
            let mut asked = kept.get();
            if answer.is_for(asked.request) {
                asked.past |= PASSED_OVER;
                *kept = asked.into();
            }
        }
    }

    /// Whether a response is the last one of this side once more, by a keyed hash of its bytes:
    /// nobody can make another that is taken for it. It is the last one from now on.
    pub(super) fn repeats(&mut self, payload: &Payload<'_>, seed: &Seed) -> bool {
        let hash = payload.hash.or_else(|| NonZeroU64::new(seed.hash_one(payload.bytes)));
        // Where nothing is left of a hash, a copy goes unnoticed.
        let hash = hash.and_then(|hash| NonZeroU64::new(hash.get() ^ payload.side.index() as u64));
        hash.is_some() && std::mem::replace(&mut self.last, hash) == hash
    }

    /// An info request was answered in this form: those in which hybrid servers answer it as well
    /// may come. Says whether a player list that came before is explained.
    pub(super) fn informed(&mut self, answer: ResponseKind, now: CoarseTime) -> bool {
        self.informed = now;
        if answer == ResponseKind::Info {
            self.tally.add(Count::ObsoleteInfo);
            if let Some(stray) = self.open_if_any().and_then(|open| open.stray.as_mut()) {
                stray.instead = false;
            }
            return false;
        }
        self.tally.add(Count::Info);
        self.explain()
    }

    /// The info request that this side answered in one form, as far as it is kept.
    pub(super) fn informed_of(&self, by: Side) -> Option<PendingRequest> {
        let is_it = |asked: &PendingRequest| {
            let answered = asked.owed == ResponseDue::Answered && !asked.is(GOES_ON);
            answered && asked.request == RequestKind::Info && asked.mark.side != by
        };
        self.waiting().filter(is_it).last()
    }

    /// Whether info was answered in one form and may yet be in others.
    pub(super) fn has_forms(&self) -> bool {
        Count::FORMS.iter().any(|&form| self.tally.get(form) > 0)
    }

    /// The other forms come while a response may, or nobody asked for them. `silence`: how long the
    /// flow said nothing before.
    pub(super) fn forget_forms(&mut self, now: Time, silence: u64, timeout: i64) {
        let is_near = || {
            silence / 2 <= timeout.unsigned_abs()
                && CoarseTime::of(now, timeout).is_near(self.informed)
        };
        if self.has_forms() && !is_near() {
            self.tally.clear(&Count::FORMS);
        }
    }

    /// The obsolete info came to a request: a player list may come, or has.
    pub(super) fn explain(&mut self) -> bool {
        let explained = self.take_stray(|_| true).is_some();
        if !explained {
            self.tally.add(Count::Players);
        }
        explained
    }

    /// What info says of the server's split packets: engines before Orange Box have no Size.
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
