//! Exchanges of a flow: which requests wait for a response, which of them a response answers, what
//! repeats and challenges change about that, and when to stop waiting.
//!
//! A protocol says what its requests ask ([`Question`]) and which responses fit which of them; the rest
//! is the same for all. Nothing here checks a rule.

mod elsewhere;
mod incomplete;
mod pending;
mod request;
mod unfinished;

pub use elsewhere::LatestRequests;
pub use incomplete::IncompleteResponse;
pub use pending::PendingRequests;
pub use request::{CompactRequest, Question, Request, RequestFlags, ResponseDue};
pub use unfinished::{Unfinished, UnfinishedResponses};

use crate::kit::{
    Budget, Clock, CrossFlowEvent, Evidence, FlowFacts, FlowState, Limit, Mark, ResponseRules,
    SeenMessage, Sending, Settings, Side, Sink, Unmatched,
};

/// The requests of one flow that wait for a response or may get a further one, in the order in which
/// they were sent.
#[derive(Debug)]
pub struct Exchanges<Q>(PendingRequests<CompactRequest<Q>>);

impl<Q> Default for Exchanges<Q> {
    fn default() -> Exchanges<Q> {
        Exchanges(PendingRequests::default())
    }
}

/// How a request relates to the earlier ones.
#[derive(Clone, Copy, Debug)]
pub struct Sent<Q> {
    /// Whether it begins an exchange, repeats a request, or continues an exchange.
    pub sending: Sending,
    /// The request whose response must have been the challenge in this one.
    pub challenged: Option<Q>,
    /// An overdue request, which was removed to make room.
    pub overdue: Option<Request<Q>>,
}

/// A response to one of the requests.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// It has the requested data, or is the requested challenge.
    pub complete: bool,
    /// It is a challenge.
    pub challenges: bool,
    /// It may be a copy of an earlier one, so that the one that is due may still come.
    pub is_copy: bool,
    /// More responses may follow it.
    pub goes_on: bool,
}

impl Answer {
    /// The only response to a request.
    pub const ONLY: Answer =
        Answer { complete: true, challenges: false, is_copy: false, goes_on: false };
}

impl<Q: Question> Exchanges<Q> {
    /// The requests, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Request<Q>> + ExactSizeIterator {
        self.0.iter().map(CompactRequest::get)
    }

    /// The place of the oldest such request; 0 is the oldest of all.
    pub fn position(&self, is: impl Fn(&Request<Q>) -> bool) -> Option<usize> {
        self.iter().position(|asked| is(&asked))
    }

    /// The place of the latest such request.
    pub fn latest(&self, is: impl Fn(&Request<Q>) -> bool) -> Option<usize> {
        self.iter().rposition(|asked| is(&asked))
    }

    /// The request at this place.
    pub fn get(&self, at: usize) -> Option<Request<Q>> {
        self.0.get(at).map(CompactRequest::get)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Changes the request at this place, and returns it as it is then.
    pub fn change(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut Request<Q>),
    ) -> Option<Request<Q>> {
        let kept = self.0.get_mut(at)?;
        let mut asked = kept.get();
        change(&mut asked);
        *kept = asked.into();
        Some(asked)
    }

    /// Changes all of them.
    pub fn change_all(&mut self, mut change: impl FnMut(&mut Request<Q>)) {
        for kept in self.0.iter_mut() {
            let mut asked = kept.get();
            change(&mut asked);
            *kept = asked.into();
        }
    }

    /// Takes out the request at this place.
    pub fn take(&mut self, at: usize) -> Option<Request<Q>> {
        self.0.remove(at).map(|kept| kept.get())
    }

    /// Forgets all that are not such requests.
    pub fn retain(&mut self, is_kept: impl Fn(&Request<Q>) -> bool) {
        self.0.retain(|kept| is_kept(&kept.get()));
    }

    /// Takes out all of them, the oldest first.
    pub fn take_all(&mut self) -> impl Iterator<Item = Request<Q>> + use<Q> {
        self.0.take().map(|kept| kept.get())
    }

    /// Adds a request: a repeat, the continuation of an exchange with the challenge in its response, or a
    /// new one.
    pub fn send(
        &mut self,
        mut asked: Request<Q>,
        settings: &Settings,
        budget: &mut Budget,
    ) -> Sent<Q> {
        let clock = settings.clock(asked.mark.time);
        if let Some(at) = self.position(|before| asked.is_again(before, clock.timeout)) {
            let mut frame = 0;
            self.change(at, |before| {
                frame = before.mark.frame;
                before.sent_again(asked.mark);
            });
            return Sent { sending: Sending::Again(frame), challenged: None, overdue: None };
        }
        let (goes_on, challenged) = self.go_on(&mut asked, clock.timeout);
        let sending = Sending::of(goes_on, self.begin_anew(&mut asked, clock.timeout));
        let overdue = self.push(asked, settings, budget);
        Sent { sending, challenged, overdue }
    }

    /// Adds a request that is none of those that wait. To make room, the oldest one is removed, and
    /// before all others one that was answered. Returns it if it is overdue.
    pub fn push(
        &mut self,
        asked: Request<Q>,
        settings: &Settings,
        budget: &mut Budget,
    ) -> Option<Request<Q>> {
        let is_full = self.0.len() >= settings.limits.pending.max(1);
        let clock = settings.clock(asked.mark.time);
        let overdue = if is_full { self.make_room(clock, budget) } else { None };
        self.0.push(asked.into());
        overdue
    }

    fn make_room(&mut self, clock: Clock, budget: &mut Budget) -> Option<Request<Q>> {
        if let Some(at) = self.position(|asked| asked.due == ResponseDue::Answered) {
            self.take(at);
            return None;
        }
        let oldest = self.take(0)?;
        if oldest.is(RequestFlags::REFUSED) || oldest.is_overdue(clock) {
            return Some(oldest);
        }
        budget.meet(Limit::Pending);
        self.give_up();
        None
    }

    /// A request no longer waits, but may still be answered.
    pub fn give_up(&mut self) {
        self.0.set_given_up(self.0.given_up().saturating_add(1));
    }

    /// Whether there are such requests.
    pub fn has_given_up(&self) -> bool {
        self.0.given_up() > 0
    }

    /// Whether a response may answer one of these; then there is one fewer.
    pub fn take_given_up(&mut self) -> bool {
        let may_be = self.has_given_up();
        self.0.set_given_up(self.0.given_up().saturating_sub(1));
        may_be
    }

    /// No response to one of these will come.
    pub fn forget_given_up(&mut self) {
        self.0.set_given_up(0);
    }

    /// A client that repeats a request which was or may have been answered has not recognized the
    /// response, wants a new one, or continues with the challenge from it. Returns in the latter
    /// case the packet of the request that it continues, and which request's response must have been that
    /// challenge.
    fn go_on(&mut self, asked: &mut Request<Q>, timeout: i64) -> (Option<u64>, Option<Q>) {
        let (mut challenged, mut continued) = (None, None);
        let mut before = self.position(|before| asked.goes_on_from(before));
        if before.is_none()
            && let Some((at, what)) = self.trade(asked, timeout)
        {
            (before, challenged) = (Some(at), Some(what));
        }
        if before.is_none() {
            before = self.position(|before| asked.goes_on_from_elsewhere(before, timeout));
        }
        if let Some(at) = before
            && let Some(before) = self.change(at, |it| it.flags -= RequestFlags::GOES_ON)
        {
            asked.began = before.began;
            continued = Some(before.mark.frame);
        }
        while let Some(at) = self.position(|before| asked.replaces(before))
            && let Some(before) = self.take(at)
        {
            if before.due == ResponseDue::Answered && asked.repeats(&before) {
                asked.lend(before.left);
            }
        }
        (continued, challenged)
    }

    /// A client whose request with a challenge stays unanswered begins anew: with a request for another challenge, then with
    /// that challenge. It is still the same exchange. Returns the packet of the unanswered request if this request does so.
    fn begin_anew(&mut self, asked: &mut Request<Q>, timeout: i64) -> Option<u64> {
        let at = self.position(|before| asked.begins_anew(before, timeout))?;
        let before = self.get(at)?;
        asked.began = before.began.min(asked.began);
        if asked.what.has_challenge() {
            asked.tries = asked.tries.saturating_add(before.tries);
            asked.lend(before.left);
            self.take(at);
        }
        Some(before.mark.frame)
    }

    /// A client that continues with a challenge shows which request it belongs to, or that it no longer
    /// waits for one. If the challenge seemed to belong to another request, that one's response may
    /// still come.
    fn trade(&mut self, asked: &Request<Q>, timeout: i64) -> Option<(usize, Q)> {
        let clock = Clock { now: asked.mark.time, timeout };
        let is_mine = |other: &Request<Q>| {
            other.mark.side == asked.mark.side && !other.what.carries_challenge()
        };
        let drew = |other: &Request<Q>| {
            let waits = other.due == ResponseDue::Yes && !other.is_overdue(clock);
            waits && other.what.is_alike(&asked.what) && is_mine(other)
        };
        let seemed_to = |other: &Request<Q>| {
            other.is(RequestFlags::GOES_ON) && !other.what.is_alike(&asked.what) && is_mine(other)
        };
        let at = self.position(drew).filter(|_| asked.what.has_challenge())?;
        let other = self.position(seemed_to);
        let mine = self.change(at, |mine| {
            mine.due = ResponseDue::Answered;
            mine.flags |= RequestFlags::GOES_ON;
            if other.is_some() {
                mine.answered();
            }
        })?;
        if let Some(other) = other {
            self.change(other, |other| other.lend(1));
        }
        Some((self.join_alike(at, clock), mine.what))
    }

    /// The request that a response from this side fits best: of those that are not overdue, the oldest,
    /// or for a `challenge` the youngest; otherwise the latest. Requests that may have been answered
    /// come after the others, then repeats of answered ones; for a challenge, after all others that
    /// request one. `fits`: how well it fits, the lower, the better; for a challenge, 0 and 1 are
    /// alike. Returns that with the place.
    pub fn best(
        &self,
        fits: impl Fn(&Request<Q>) -> Option<u8>,
        challenge: bool,
        from: Side,
        clock: Clock,
    ) -> Option<(u8, usize)> {
        let fits = |(at, asked): (usize, Request<Q>)| {
            let late = asked.is_overdue(clock);
            let place = match (late, challenge) {
                (_, true) => u64::MAX - asked.mark.frame,
                (true, false) => u64::MAX - at as u64,
                (false, false) => at as u64,
            };
            let may_be = asked.mark.side != from && asked.may_be_answered(clock);
            let fit = fits(&asked).filter(|_| may_be)?;
            let class = if challenge { fit / 2 } else { fit };
            let is_answered = asked.due == ResponseDue::Answered;
            Some(((late, class, !asked.is_open(), is_answered, fit, place), at))
        };
        let (best, at) = self.iter().enumerate().filter_map(fits).min_by_key(|fit| fit.0)?;
        Some((best.4, at))
    }

    /// The place of the oldest request that this side has not answered and that is not overdue.
    pub fn first_due(&self, from: Side, clock: Clock) -> Option<usize> {
        self.position(|asked| {
            asked.due != ResponseDue::Answered
                && asked.mark.side != from
                && !asked.is_overdue(clock)
        })
    }

    /// Whether a response is due from this side, and none came that may be it.
    pub fn is_due(&self, from: Side, clock: Clock) -> bool {
        self.iter()
            .any(|asked| asked.is_open() && asked.mark.side != from && !asked.is_overdue(clock))
    }

    /// The request at this place was answered: returns it as it was before. It no longer waits, unless
    /// its repeats may be answered, or the client may continue with the challenge. `is_other`: a
    /// request has another challenge than the one that came.
    pub fn answer(
        &mut self,
        at: usize,
        answer: Answer,
        is_other: impl Fn(&Q) -> bool,
        clock: Clock,
    ) -> Option<Request<Q>> {
        let asked = self.get(at)?;
        let mut after = asked;
        after.answered();
        if !answer.complete {
            after.flags |= RequestFlags::GOES_ON;
            // A client that still waits has as much time for the next step.
            if asked.is_overdue(clock) {
                after.mark.time = clock.now;
            }
            self.lend(&mut after, clock);
        }
        if asked.due == ResponseDue::Answered {
            after.flags = asked.flags;
            if answer.challenges {
                self.excuse(&asked, is_other, clock);
            }
        } else if answer.is_copy {
            after.due = ResponseDue::NoMore;
        } else {
            after.due = ResponseDue::Answered;
        }
        self.change(at, |kept| *kept = after);
        let at = self.join_alike(at, clock);
        let after = self.get(at)?;
        if after.left == 0 && !after.is(RequestFlags::GOES_ON) && !answer.goes_on {
            self.take(at);
        }
        Some(asked)
    }

    /// A packet from this side may answer the request that it fits best, as in [`Exchanges::best`]. Returns that request.
    pub fn answered_perhaps(
        &mut self,
        fits: impl Fn(&Request<Q>) -> Option<u8>,
        from: Side,
        clock: Clock,
    ) -> Option<Request<Q>> {
        let (_, at) = self.best(fits, false, from, clock)?;
        self.may_be_answered(at);
        self.get(at)
    }

    /// A response came that may belong to the request at this place: it keeps waiting, but a missing
    /// response is not a fault.
    pub fn may_be_answered(&mut self, at: usize) {
        self.change(at, |asked| match asked.due {
            ResponseDue::Answered => asked.answered(),
            _ => asked.due = ResponseDue::NoMore,
        });
    }

    /// The request at this place was answered: an earlier request for the same, if recent, may take
    /// the response, too. Returns the place of the request.
    fn join_alike(&mut self, at: usize, clock: Clock) -> usize {
        let Some(asked) = self.get(at) else { return at };
        let is_alike = |other: &Request<Q>| {
            other.due == ResponseDue::Yes && other.repeats(&asked) && !other.is_overdue(clock)
        };
        let Some(place) = self.position(is_alike) else { return at };
        let Some(alike) = self.take(place) else { return at };
        let at = at - usize::from(place < at);
        self.change(at, |asked| asked.lend(alike.left));
        at
    }

    /// A challenge that seems to answer a repeat of a request may belong to the request that continues
    /// it: a client that waits with one challenge may have been given another.
    fn excuse(&mut self, before: &Request<Q>, is_other: impl Fn(&Q) -> bool, clock: Clock) {
        let may_have_drawn = |asked: &Request<Q>| {
            asked.due == ResponseDue::Yes
                && asked.what.has_challenge()
                && is_other(&asked.what)
                && asked.is_alike(before)
                && !asked.is_overdue(clock)
        };
        if let Some(at) = self.position(may_have_drawn) {
            self.change(at, |asked| asked.due = ResponseDue::NoMore);
        }
    }

    /// A challenge that answers one request may belong to a repeat of another; then the next challenge
    /// belongs to this one.
    fn lend(&mut self, to: &mut Request<Q>, clock: Clock) {
        let may_lend = |asked: &Request<Q>| {
            asked.due == ResponseDue::Answered
                && asked.mark.side == to.mark.side
                && !asked.what.carries_challenge()
                && asked.may_be_answered(clock)
        };
        if to.due != ResponseDue::Answered
            && let Some(at) = self.position(may_lend)
        {
            self.change(at, Request::answered);
            to.lend(1);
        }
    }

    /// Takes out the oldest request if it is overdue, or at the `end`. `waits`: it is waited for all the same,
    /// because its response is on its way, or because the party that was asked may still appear.
    pub fn take_overdue(
        &mut self,
        end: bool,
        waits: impl Fn(&Request<Q>) -> bool,
        clock: Clock,
    ) -> Option<Request<Q>> {
        let is_over = |asked: &Request<Q>| end || asked.is_overdue(clock) && !waits(asked);
        self.get(0).filter(is_over).and_then(|_| self.take(0))
    }
}

/// What waits is all that a simple protocol keeps.
impl<Q: Question + Send> FlowState for Exchanges<Q> {
    fn held(&self) -> usize {
        self.0.held()
    }

    fn refused(&mut self, frame: u64) {
        if let Some(at) = self.latest(|asked| asked.mark.frame == frame) {
            self.change(at, |asked| asked.refused(frame));
        }
    }
}

impl FlowFacts {
    /// The evidence that a request was not answered by now.
    pub fn missing<Q: Question>(&self, asked: &Request<Q>, clock: Clock) -> Evidence {
        let Mark { side, time, .. } = asked.mark;
        Evidence {
            lost: asked.is(RequestFlags::LOST),
            lossy: self.lossy,
            refused: asked.is(RequestFlags::REFUSED),
            ..self.unanswered(side.other(), time, clock.now, clock.timeout)
        }
    }

    /// An earlier message of this flow, for an event.
    pub fn seen_in(&self, mark: Mark) -> SeenMessage {
        let [from, to] = self.ends_from(mark.side);
        SeenMessage { mark, from, to }
    }
}

impl Unmatched {
    /// A request that the asked endpoint did not answer.
    pub fn in_vain<Q>(
        rules: &'static ResponseRules,
        name: &'static str,
        kind: u8,
        asked: &Request<Q>,
        evidence: Evidence,
    ) -> Unmatched {
        let due = asked.due == ResponseDue::Yes;
        let unmatched = Unmatched::new(rules, name, kind, asked.began, evidence);
        Unmatched { tries: asked.tries, due, ..unmatched }
    }

    /// The request `seen` is no longer waited for: if a response was due, and no other endpoint has sent it, this is a
    /// fault.
    pub fn ends_unanswered<S: Sink>(
        self,
        seen: SeenMessage,
        sink: &mut S,
        detail: impl FnOnce() -> String,
    ) {
        let event = CrossFlowEvent::Unanswered(self);
        if self.due {
            sink.unless_explained(self.rules.answered, None, event, seen, detail);
        } else {
            sink.cross_flow(event, seen);
        }
    }
}
