//! The state of one flow: pending requests, and a compact summary of earlier messages.

use std::hash::BuildHasher;
use std::num::NonZeroU64;

use bitflags::bitflags;

use super::counters::{CoarseTime, Count, Counters};
use super::decode::{self, DecodeContext, MessageSummary};
use super::kinds::{RequestKind, ResponseKind};
use super::layout::Layout;
use super::pending::{Asked, Notes};
use super::recent_responses::RecentResponses;
use super::split::{LayoutReadings, SplitResponse};

use crate::kit::{
    Clock, Exchanges, FlowState, OnDemand, Payload, Request, RequestFlags, ResponseDue, Seed,
    ShortMark, Side, Time, UnfinishedResponses,
};

/// The state of one flow.
#[derive(Default)]
pub struct Conversation {
    /// Requests that wait for a response, or may get a further one.
    pub(super) requests: Exchanges<Asked>,
    more: OnDemand<SplitState>,
    /// A keyed hash of the last response, because networks and some recordings duplicate packets.
    last: Option<NonZeroU64>,
    pub(super) tally: Counters,
    pub(super) known: Known,
    /// The layout of the server's last split response ([`Known::SPLIT`]), or the one that its info
    /// indicates.
    pub(super) layout: Option<Layout>,
    /// The kind of the latest request that timed out: its response may still come.
    pub(super) missed: Option<RequestKind>,
    /// When info was last answered.
    informed: CoarseTime,
    /// A message was seen. (The enum of all protocols stores its tag in the unused values of this
    /// byte.)
    pub(super) began: bool,
}

/// State of flows with split responses, or with a list whose meaning is not known yet.
#[derive(Default)]
struct SplitState {
    done: RecentResponses,
    open: OnDemand<Open>,
}

/// State that these need for a short time only.
#[derive(Default)]
struct Open {
    split: UnfinishedResponses<LayoutReadings>,
    /// When a split response was last evicted to make room.
    spilled: Option<Time>,
    stray: Option<UnmatchedList>,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.split.is_empty() && self.spilled.is_none() && self.stray.is_none()
    }
}

/// A player list that came when info was due or had just come: from a hybrid server, if the
/// obsolete info comes as well.
pub(super) struct UnmatchedList {
    pub(super) mark: ShortMark,
    /// The info has not come so far.
    pub(super) instead: bool,
    /// It followed no other message soon: if it has no request, that is missing from the capture.
    pub(super) alone: bool,
}

bitflags! {
    /// What is known about a flow and its server.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Known: u16 {
        /// [`Side::First`] has sent a request.
        const FIRST_ASKED = 1;
        /// [`Side::Second`] has.
        const SECOND_ASKED = 1 << 1;
        /// The capture has the earlier packets: a request was answered, or carries a challenge from
        /// the capture.
        const FOLLOWED = 1 << 2;
        /// The server has sent split responses in the layout that is stored.
        const SPLIT = 1 << 3;
        /// The server said that it runs The Ship.
        const SHIP = 1 << 4;
        /// The server said that it runs another game.
        const OTHER_GAME = 1 << 5;
        /// The first datagram was not a packet of the specification: it is A2S only because the user
        /// forces it.
        const FORCED = 1 << 6;
        /// The server has answered an info request with a challenge.
        const GUARDED = 1 << 7;
        /// The server said that it runs a game whose servers answer pings.
        const PINGS = 1 << 8;
        /// The server said that it runs a game whose servers answer requests for a challenge alone.
        const CHALLENGES = 1 << 9;
        /// [`Side::First`] also sends packets of the game from this port: what it gets need not be a response.
        const FIRST_PLAYS = 1 << 10;
        /// [`Side::Second`] does.
        const SECOND_PLAYS = 1 << 11;
        /// Packets of the game go both ways.
        const BOTH_PLAY = Known::FIRST_PLAYS.bits() | Known::SECOND_PLAYS.bits();
        /// A request or a part of a response waited in vain for the answer timeout, or the flow was silent for so long: what
        /// was in progress when the capture of the flow began has ended.
        const OUTLASTED = 1 << 12;
        /// [`Side::First`] has sent an unknown message, which the next response may answer.
        const FIRST_SAYS = 1 << 13;
        /// [`Side::Second`] has.
        const SECOND_SAYS = 1 << 14;
        /// The last message was a challenge that no request waited for.
        const STRAY_CHALLENGE = 1 << 15;
        /// What the game of a server says of its other flows, too.
        const OF_GAME = Known::PINGS.bits() | Known::CHALLENGES.bits();
    }
}

/// Of two facts, the one about this side.
const fn of_side(side: Side, [first, second]: [Known; 2]) -> Known {
    match side {
        Side::First => first,
        Side::Second => second,
    }
}

/// That this side has sent an unknown message.
const fn says(side: Side) -> Known {
    of_side(side, [Known::FIRST_SAYS, Known::SECOND_SAYS])
}

impl FlowState for Conversation {
    fn held(&self) -> usize {
        let open = |more: &SplitState| more.open.held(|open| open.split.held(|_| 0));
        self.requests.held() + self.more.held(|more| more.done.held() + open(more))
    }

    fn refused(&mut self, frame: u64) {
        self.requests.refused(frame);
    }

    fn deadline(&self) -> Option<Time> {
        self.split_so_far()?.due()
    }
}

impl Conversation {
    pub(super) const fn has(&self, known: Known) -> bool {
        self.known.contains(known)
    }

    /// That this side has sent a request.
    pub(super) const fn asks(side: Side) -> Known {
        of_side(side, [Known::FIRST_ASKED, Known::SECOND_ASKED])
    }

    /// That this side has sent packets of the game.
    pub(super) const fn plays(side: Side) -> Known {
        of_side(side, [Known::FIRST_PLAYS, Known::SECOND_PLAYS])
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
        !self.has(Known::FIRST_ASKED) && !self.has(Known::SECOND_ASKED)
    }

    /// Sets the layout of the last split response. Returns the previous one.
    pub(super) fn split_in(&mut self, layout: Layout) -> Option<Layout> {
        let before = self.layout.filter(|_| self.has(Known::SPLIT));
        self.layout = Some(layout);
        self.known |= Known::SPLIT;
        before
    }

    pub(super) fn decoding(&self, split: bool, toward_server: bool) -> DecodeContext {
        let is_known = self.known.intersects(Known::SHIP | Known::OTHER_GAME);
        let ship = is_known.then(|| self.has(Known::SHIP));
        DecodeContext { ship, split, toward_server, lost: false, gap: None, unasked: false }
    }

    fn open(&mut self) -> &mut Open {
        self.more.get_or_default().open.get_or_default()
    }

    fn open_so_far(&self) -> Option<&Open> {
        self.more.get()?.open.get()
    }

    fn open_if_any(&mut self) -> Option<&mut Open> {
        self.more.get_mut()?.open.get_mut()
    }

    /// Frees the memory of completed work.
    pub(super) fn tidy(&mut self) {
        let Some(more) = self.more.get_mut() else { return };
        more.open.free_if(Open::is_empty);
        self.more.free_if(|more| more.open.is_none() && more.done.is_empty());
    }

    /// The unfinished split responses of the flow.
    pub(super) fn split(&mut self) -> &mut UnfinishedResponses<LayoutReadings> {
        &mut self.open().split
    }

    /// The same, if any.
    pub(super) fn split_so_far(&self) -> Option<&UnfinishedResponses<LayoutReadings>> {
        Some(&self.open_so_far()?.split)
    }

    /// One of them was evicted to make room.
    pub(super) fn spills(&mut self, now: Time) {
        self.open().spilled = Some(now);
    }

    /// When one was last evicted.
    pub(super) fn spilled(&self) -> Option<Time> {
        self.open_so_far()?.spilled
    }

    /// Its last complete split responses, if any.
    pub(super) fn done(&self) -> Option<&RecentResponses> {
        Some(&self.more.get()?.done)
    }

    /// Adds a complete split response, with its ID and its message byte.
    pub(super) fn remember(&mut self, set: &SplitResponse, id: u32, layout: Layout, kind: u8) {
        self.more.get_or_default().done.remember(set, id, layout, kind);
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

    /// This side sends an unknown message.
    pub(super) fn says(&mut self, side: Side) {
        self.known |= says(side);
    }

    /// Whether what this side sends may answer an unknown message of the other one: it is answered then.
    pub(super) fn answers_words(&mut self, from: Side) -> bool {
        let is_said = self.has(says(from.other()));
        self.known.remove(says(from.other()));
        is_said
    }

    /// Whether this side was ever seen to receive a request.
    pub(super) const fn was_asked(&self, side: Side) -> bool {
        self.has(Conversation::asks(side.other()))
    }

    /// Whether such a request waits for a response from this side, or no request was ever seen.
    pub(super) fn awaits(&self, from: Side, is_such: impl Fn(&Request<Asked>) -> bool) -> bool {
        let waits = |asked: &Request<Asked>| asked.is_open() && asked.mark.side != from;
        !self.was_asked(from) || self.requests.iter().any(|asked| waits(&asked) && is_such(&asked))
    }

    /// Whether the capture has all packets of the responses from this side: no response was in
    /// progress when the capture of the flow began.
    pub(super) fn is_followed(&self, from: Side, began: bool) -> bool {
        self.was_asked(from) && (began || self.known.intersects(Known::FOLLOWED | Known::OUTLASTED))
    }

    /// A response came that is too damaged to show which request it answers: a request keeps
    /// waiting, but a missing response is not a fault.
    pub(super) fn answered_somehow(&mut self, from: Side, clock: Clock) {
        self.requests.answered_perhaps(|_| Some(0), from, clock);
    }

    /// A list was the right response to another request than those that wait for one.
    pub(super) fn pass_over(&mut self, response: ResponseKind) {
        self.requests.change_all(|asked| {
            let is_for = response.is_for(asked.what.kind);
            asked.what.notes.set(Notes::PASSED_OVER, is_for || asked.what.has(Notes::PASSED_OVER));
        });
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
    pub(super) fn informed_of(&self, by: Side) -> Option<Request<Asked>> {
        let is_it = |asked: &Request<Asked>| {
            let goes_on = asked.is(RequestFlags::GOES_ON);
            let answered = asked.due == ResponseDue::Answered && !goes_on;
            answered && asked.what.kind == RequestKind::Info && asked.mark.side != by
        };
        self.requests.iter().rfind(is_it)
    }

    /// Whether info was answered in one form and may still come in others.
    pub(super) fn has_forms(&self) -> bool {
        Count::FORMS.iter().any(|&form| self.tally.get(form) > 0)
    }

    /// Other forms are accepted as long as a response may come; after that they are unsolicited.
    /// `silence`: how long the flow was silent before.
    pub(super) fn forget_forms(&mut self, silence: u64, clock: Clock) {
        let is_near = || {
            silence / 2 <= clock.timeout.unsigned_abs()
                && CoarseTime::of(clock).is_near(self.informed)
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

    /// What info says of the server: the layout of its split packets, because engines before Orange Box have no Size, and
    /// its game. Returns whether it answers requests for which that was not known.
    pub(super) fn learn(&mut self, summary: &MessageSummary) -> bool {
        let Some(protocol) = summary.protocol else { return false };
        let before = self.known & Known::OF_GAME;
        if let Some(app_id @ 1..) = summary.app_id {
            let is_ship = app_id == decode::THE_SHIP;
            self.known.set(Known::SHIP, is_ship);
            self.known.set(Known::OTHER_GAME, !is_ship);
            self.known.set(Known::PINGS, !decode::WITHOUT_PING.contains(&app_id));
            self.known.set(Known::CHALLENGES, decode::gives_challenges(app_id, protocol));
        }
        let layout = match (summary.kind, summary.app_id, protocol) {
            (b'm', ..) | (_, _, 48) => Some(Layout::GoldSrc),
            (_, Some(215 | 17550 | 17700 | 240), 7) => Some(Layout::Source),
            _ => None,
        };
        if !self.has(Known::SPLIT) {
            self.layout = layout.or(self.layout);
        }
        self.known & Known::OF_GAME != before
    }
}
