//! The state of a flow between a client and a server: which side sends requests, pending requests,
//! given challenges, and packets of incomplete responses. It checks no rules.

use super::decode::Header;
use super::packet::{PacketKind, RequestForm, RequestSummary};
use super::pending::Asked;
use super::recent_packets::RecentPackets;
use super::unfinished::{PacketNumbers, PartResult};
use crate::kit::{
    Budget, Clock, Exchanges, FlowState, Limits, OnDemand, Payload, Question, Reply, Request,
    RequestFlags, ResponseDue, Sending, Settings, ShortMark, Side, Time, Unfinished,
    UnfinishedResponses, room,
};

/// The state of a flow.
#[derive(Default)]
pub struct Conversation {
    /// Requests, also those that were answered and may be answered again.
    requests: Exchanges<Asked>,
    rest: OnDemand<MultiMessageState>,
}

/// State of flows with more than one message.
#[derive(Default)]
struct MultiMessageState {
    /// The side that sends requests, if it did not send the latest one.
    client: Option<Side>,
    /// The port that responds has been checked.
    port_checked: bool,
    /// When the current exchange began, if it did not begin with the latest request.
    began: Option<Time>,
    /// The packet of the request that got a challenge, if no request has used it so far.
    challenged: Option<u64>,
    /// The challenges given, the latest first.
    given: Vec<i32>,
    /// There were more than are stored.
    gave_more: bool,
    /// One was given that cannot be read.
    gave_unreadable: bool,
    /// Incomplete responses.
    open: UnfinishedResponses<PacketNumbers>,
    /// The latest responses.
    done: RecentPackets,
    /// Info requests before any packet from the server.
    early: Vec<EarlyRequest>,
    /// The latest info requests whose challenge is not known to be correct: timestamp and
    /// challenge.
    claimed: Vec<(u32, i32)>,
}

/// Limit: challenges that are kept of a GameSpy 4 flow | {} | an older one is inconclusive
const GIVEN: usize = 8;

/// Limit: info requests before a challenge that are kept of a GameSpy 4 flow | {} | later ones are inconclusive
const EARLY: usize = 16;

/// An info request before any packet from the server.
pub(super) struct EarlyRequest {
    /// Its challenge; 0 is left out.
    pub(super) challenge: i32,
    pub(super) mark: ShortMark,
}

/// The request that a response answers.
pub(super) enum ResponseMatch {
    /// A pending request.
    Asked(Request<Asked>),
    /// None, but it is an identical copy of a packet of an earlier response.
    Copy,
    /// Possibly a request that was removed.
    GivenUp,
    /// None.
    Nothing,
}

impl FlowState for Conversation {
    fn held(&self) -> usize {
        let rest = self.rest.held(|rest| {
            let lists = room(&rest.given) + room(&rest.early) + room(&rest.claimed);
            lists + rest.open.held(PacketNumbers::held) + rest.done.held()
        });
        self.requests.held() + rest
    }

    fn refused(&mut self, frame: u64) {
        self.requests.refused(frame);
    }

    fn deadline(&self) -> Option<Time> {
        self.rest.get()?.open.due()
    }
}

impl Conversation {
    /// The side that sends requests.
    pub(super) fn client(&self) -> Option<Side> {
        let reported = self.rest.get().and_then(|rest| rest.client);
        reported.or(self.requests.iter().last().map(|asked| asked.mark.side))
    }

    /// This side sends requests.
    pub(super) fn set_client(&mut self, side: Side) {
        if self.client() != Some(side) {
            self.rest.get_or_default().client = Some(side);
        }
    }

    /// Whether the port that responds has not been checked yet; it counts as checked from now on.
    pub(super) fn checks_port(&mut self) -> bool {
        !std::mem::replace(&mut self.rest.get_or_default().port_checked, true)
    }

    /// The challenges that the client was given, the latest first.
    pub(super) fn given(&self) -> &[i32] {
        self.rest.get().map_or(&[], |rest| &rest.given)
    }

    /// Whether the client was given others, which could not be read or are no longer stored.
    pub(super) fn was_given_more(&self) -> bool {
        self.rest.get().is_some_and(|rest| rest.gave_more || rest.gave_unreadable)
    }

    /// The server gave a challenge.
    pub(super) fn give(&mut self, challenge: i32) {
        let MultiMessageState { given, gave_more, .. } = self.rest.get_or_default();
        given.retain(|&other| other != challenge);
        *gave_more |= given.len() >= GIVEN;
        given.truncate(GIVEN - 1);
        given.insert(0, challenge);
    }

    /// The server gave a challenge that cannot be read.
    pub(super) fn give_unreadable(&mut self) {
        self.rest.get_or_default().gave_unreadable = true;
    }

    /// Whether the server gave a challenge, whatever it was.
    pub(super) fn was_given_any(&self) -> bool {
        self.rest.get().is_some_and(|rest| rest.gave_unreadable || !rest.given.is_empty())
    }

    /// Stores a challenge that is not known to be correct. That of the first request of a flow is
    /// not stored, to save memory in captures with millions of flows of one packet.
    pub(super) fn claimed(&mut self, timestamp: u32, challenge: i32) {
        if self.rest.is_none() && self.requests.is_empty() {
            return;
        }
        let claimed = &mut self.rest.get_or_default().claimed;
        claimed.retain(|&(other, _)| other != timestamp);
        claimed.truncate(GIVEN - 1);
        claimed.insert(0, (timestamp, challenge));
    }

    /// The challenge of the info request with this timestamp, if it is not known to be right.
    pub(super) fn claim_of(&self, timestamp: u32) -> Option<i32> {
        let mut claimed = self.rest.get().into_iter().flat_map(|rest| &rest.claimed);
        claimed.find(|&&(other, _)| other == timestamp).map(|&(_, challenge)| challenge)
    }

    /// Adds a request. Returns how it relates to earlier ones, and an overdue one that is removed.
    /// `verified`: whether its challenge is correct, if known.
    pub(super) fn ask(
        &mut self,
        summary: &RequestSummary,
        verified: Option<bool>,
        payload: &Payload<'_>,
        settings: &Settings,
        budget: &mut Budget,
    ) -> (Sending, Option<Request<Asked>>) {
        let Some(timestamp) = summary.timestamp.map(u32::to_le_bytes) else {
            return (Sending::New, None);
        };
        let (kind, form) = (summary.kind, summary.form);
        let is_due = summary.sound && verified != Some(false);
        let asked = Asked { kind, form, timestamp, verified };
        let mut asked = Request::new(asked, payload.mark(), is_due);
        asked.flags.set(RequestFlags::LOST, payload.lost);
        let is_challenge = kind == PacketKind::Challenge;
        let clock = settings.clock(payload.time);
        // A client whose info request stays unanswered may begin anew: it is the same exchange.
        let waits = |info: Request<Asked>| info.is_open() && info.waits(clock);
        let info = summary.timestamp.and_then(|timestamp| self.info_asked(timestamp));
        let begins_anew =
            info.filter(|info| is_challenge && waits(*info)).map(|info| info.mark.frame);
        let rest = self.rest.get_mut().filter(|_| !is_challenge);
        let goes_on = rest.and_then(|rest| rest.challenged.take());
        let goes_on = goes_on.or_else(|| self.goes_on_unseen(summary, payload, clock));
        let mut overdue = None;
        if let Some(at) = self.requests.latest(|other| asked.what.repeats(&other.what)) {
            let Some(before) = self.requests.get(at) else { return (Sending::New, None) };
            if before.waits(clock) {
                self.requests.change(at, |same| repeat(same, asked));
                self.rest.get_or_default().began.get_or_insert(before.mark.time);
                let again = before.is_open().then_some(before.mark.frame);
                return (Sending::of(goes_on, again.or(begins_anew)), None);
            }
            self.requests.take(at);
            overdue = Some(before).filter(Request::is_open);
        }
        // Another challenge begins another exchange.
        if is_challenge
            && begins_anew.is_none()
            && let Some(rest) = self.rest.get_mut()
        {
            (rest.began, rest.challenged) = (None, None);
        }
        let sending = Sending::of(goes_on, begins_anew);
        let removed = self.requests.push(asked, settings, budget);
        (sending, overdue.or(removed))
    }

    /// The packet of the request for a challenge that an info request continues, if that challenge is not in the capture.
    fn goes_on_unseen(
        &mut self,
        summary: &RequestSummary,
        payload: &Payload<'_>,
        clock: Clock,
    ) -> Option<u64> {
        let challenge = summary.challenge.filter(|_| summary.kind == PacketKind::Info)?.value;
        // 0 is what clients send that have none.
        if challenge == 0 || self.given().contains(&challenge) {
            return None;
        }
        let asked = self.requests.get(self.unchallenged_before(payload.frame)?)?;
        let goes_on = asked.waits(clock).then_some(asked.mark.frame)?;
        self.rest.get_or_default().began.get_or_insert(asked.began);
        Some(goes_on)
    }

    /// The place of the latest request for a challenge before this packet, if that challenge did not come.
    fn unchallenged_before(&self, frame: u64) -> Option<usize> {
        self.requests.latest(|asked| {
            asked.what.kind == PacketKind::Challenge && asked.is_open() && asked.mark.frame < frame
        })
    }

    /// Data answers an info request with a challenge that is not in the capture: that proves that the server gave it.
    /// Returns the request for it, which no longer waits.
    pub(super) fn was_given_unseen(
        &mut self,
        challenge: i32,
        asked: &Request<Asked>,
    ) -> Option<Request<Asked>> {
        let at = self.unchallenged_before(asked.mark.frame)?;
        self.give(challenge);
        self.requests.take(at)
    }

    /// The place of the request with the timestamp of a response, unchanged or masked.
    fn echoed(&self, kind: PacketKind, timestamp: u32) -> Option<usize> {
        let is = |asked: &Request<Asked>| asked.what.kind == kind;
        let exactly = |asked: &Request<Asked>| asked.what.timestamp() == timestamp;
        let masked = |asked: &Request<Asked>| echoes(asked.what.timestamp(), timestamp);
        let exact = self.requests.latest(|asked| is(asked) && exactly(asked));
        exact.or_else(|| self.requests.latest(|asked| is(asked) && masked(asked)))
    }

    /// The info request with the timestamp of a response.
    fn info_asked(&self, timestamp: u32) -> Option<Request<Asked>> {
        self.requests.get(self.echoed(PacketKind::Info, timestamp)?)
    }

    /// The form of the request with this timestamp, if there was one.
    pub(super) fn form(&self, timestamp: u32) -> Option<RequestForm> {
        self.info_asked(timestamp).map(|asked| asked.what.form)
    }

    /// The request that a response answers: the one with its timestamp, or else any of its kind.
    pub(super) fn answer(
        &mut self,
        kind: PacketKind,
        timestamp: u32,
        bytes: &[u8],
    ) -> ResponseMatch {
        let echoed = self.echoed(kind, timestamp);
        if echoed.is_none() && self.is_copy(bytes) {
            return ResponseMatch::Copy;
        }
        let exact = echoed.and_then(|at| self.requests.get(at));
        let is_exact = exact.is_some_and(|asked| asked.what.timestamp() == timestamp);
        let given_up = !is_exact && self.requests.take_given_up();
        let waits = |asked: &Request<Asked>| asked.what.kind == kind && asked.is_open();
        let at = echoed.or_else(|| self.requests.latest(waits));
        // It is unknown which of the two it answers, so that none is reported as unanswered.
        if given_up {
            at.and_then(|at| self.requests.change(at, Request::settle));
            return ResponseMatch::GivenUp;
        }
        at.and_then(|at| self.settle_at(at)).map_or(ResponseMatch::Nothing, ResponseMatch::Asked)
    }

    /// The request at this place was answered: if no further response is due, it no longer waits.
    fn settle_at(&mut self, at: usize) -> Option<Request<Asked>> {
        let asked = self.requests.change(at, Request::settle)?;
        if asked.left == 0 {
            let client = self.client();
            self.requests.take(at);
            if self.client() != client {
                self.rest.get_or_default().client = client;
            }
        }
        Some(asked)
    }

    /// The request in the form for a sink. The challenge round and the following info request are
    /// one exchange.
    pub(super) fn reply_to(&mut self, asked: &Request<Asked>) -> Reply {
        let complete = asked.what.kind == PacketKind::Info;
        let rest = self.rest.get_or_default();
        let began = rest.began.unwrap_or(asked.mark.time);
        rest.began = (!complete).then_some(began);
        rest.challenged = (!complete).then_some(asked.mark.frame);
        Reply { began, challenge_alone: !complete, ..asked.reply(complete) }
    }

    /// The response to the request with this timestamp is incomplete, but the request counts as
    /// answered.
    pub(super) fn settle(&mut self, timestamp: u32) {
        if let Some(at) = self.echoed(PacketKind::Info, timestamp) {
            self.settle_at(at);
        }
    }

    /// Something else than a response may answer the oldest request that waits. Returns that request's kind.
    pub(super) fn answered_somehow(&mut self, from: Side, clock: Clock) -> Option<PacketKind> {
        Some(self.requests.answered_perhaps(|_| Some(0), from, clock)?.what.kind)
    }

    /// Whether a request of this kind with the timestamp of a response is pending.
    pub(super) fn waits(&self, kind: PacketKind, timestamp: u32) -> bool {
        self.echoed(kind, timestamp).is_some()
    }

    /// Whether another host may have given the client a challenge: it has asked for one, and none came on this flow.
    pub(super) fn may_be_challenged_elsewhere(&self) -> bool {
        !self.was_given_any() && self.waits_for_challenge()
    }

    /// Whether the client has asked for a challenge that did not come so far.
    pub(super) fn waits_for_challenge(&self) -> bool {
        let waits =
            |asked: &Request<Asked>| asked.what.kind == PacketKind::Challenge && asked.is_open();
        self.requests.iter().any(|asked| waits(&asked))
    }

    /// Whether an info request is pending.
    pub(super) fn waits_for_info(&self) -> bool {
        self.requests.iter().any(|asked| asked.what.kind == PacketKind::Info)
    }

    /// All requests that are pending at the end of the flow, the oldest first.
    pub(super) fn take_asked(&mut self) -> impl Iterator<Item = Request<Asked>> + use<> {
        self.requests.take_all()
    }

    /// A response with variables is complete. `asked`: its request is in the capture.
    pub(super) fn done<'a>(
        &mut self,
        timestamp: u32,
        asked: bool,
        packets: impl Iterator<Item = &'a [u8]>,
    ) {
        self.rest.get_or_default().done.whole(timestamp, asked, packets);
    }

    /// A request for a challenge was answered.
    pub(super) fn done_challenge(&mut self, bytes: &[u8]) {
        self.rest.get_or_default().done.challenge(bytes);
    }

    /// Whether this is an identical copy of a packet of one of the latest responses.
    pub(super) fn is_copy(&self, bytes: &[u8]) -> bool {
        self.rest.get().is_some_and(|rest| rest.done.has(bytes))
    }

    /// Whether the request of the latest whole response is in the capture.
    pub(super) fn done_was_asked(&self) -> bool {
        self.rest.get().is_some_and(|rest| rest.done.was_asked())
    }

    /// Whether data with this timestamp, for which no request is in the capture, was asked for with a challenge that is, and
    /// is not what came before.
    pub(super) fn is_of_another_request(&self, kind: PacketKind, timestamp: u32) -> bool {
        let is_latest = self.rest.get().is_some_and(|rest| rest.done.is_latest(timestamp));
        kind == PacketKind::Info && self.was_given_any() && !is_latest
    }

    /// Whether the pending request with this timestamp, if any, has been answered.
    pub(super) fn is_answered(&self, timestamp: u32) -> Option<bool> {
        self.info_asked(timestamp).map(|asked| !asked.is_open())
    }

    /// Stores an info request until the server's first packet, if there is room.
    pub(super) fn came_early(&mut self, request: EarlyRequest) -> bool {
        let early = &mut self.rest.get_or_default().early;
        let room = early.len() < EARLY;
        if room {
            early.push(request);
        }
        room
    }

    /// The info requests before any packet from the server.
    pub(super) fn take_early(&mut self) -> Vec<EarlyRequest> {
        self.rest.get_mut().map(|rest| std::mem::take(&mut rest.early)).unwrap_or_default()
    }

    /// The timestamp of the response that a packet with an unknown timestamp belongs to: that of
    /// the only pending info request, unless its response has a packet of this index.
    pub(super) fn stray(&mut self, header: Header, payload: &Payload<'_>) -> Option<u32> {
        let timestamp = header.timestamp;
        if self.waits(PacketKind::Info, timestamp) || self.is_open(timestamp) {
            return None;
        }
        let rest = self.rest.get_or_default();
        if rest.done.is_latest(timestamp)
            || self.requests.has_given_up()
            || rest.done.has(payload.bytes)
        {
            return None;
        }
        let waits = |asked: &Request<Asked>| asked.what.kind == PacketKind::Info;
        let mut waiting = self.requests.iter().filter(waits);
        let asked = waiting.next().filter(|asked| asked.is_open() && waiting.next().is_none())?;
        let asked = asked.what.timestamp();
        let mut open = self.rest.get().into_iter().flat_map(|rest| rest.open.iter());
        match open.find(|open| open.side == payload.side && echoes(asked, open.id)) {
            Some(open) => (!open.has_index(header.index)).then_some(open.id),
            None => Some(asked),
        }
    }

    /// Adds a packet of a response with several packets.
    pub(super) fn part(
        &mut self,
        header: Header,
        payload: &Payload<'_>,
        limits: &Limits,
        timeout: i64,
        budget: &mut Budget,
    ) -> PartResult {
        let asked = self.info_asked(header.timestamp);
        let asked = asked.map(|asked| (usize::from(asked.left), !asked.is_open()));
        let rest = self.rest.get_or_default();
        let (side, id) = (payload.side, header.timestamp);
        if rest.open.find(side, id).is_none() {
            let answered = asked.map(|(_, answered)| answered);
            if let Some(reported) = rest.done.after(header, payload.bytes, answered) {
                return reported;
            }
            let open = Unfinished::new(id, side, asked.is_some(), PacketNumbers::default());
            let due = payload.time.after(timeout);
            rest.open.push(Box::new(Unfinished { due, ..open }));
        }
        let Some(open) = rest.open.find_mut(side, id) else { return PartResult::Full };
        let (left, answered) = asked.unwrap_or((1, false));
        open.more.has_copy |= answered && rest.done.has(payload.bytes);
        open.more.has_copy |= left > 1 && open.has(payload.bytes);
        // Copies may form one more response than is due.
        let most = left + usize::from(open.more.has_copy);
        match open.add(header, payload, most, limits, budget) {
            PartResult::Kept if open.is_whole() => {
                rest.open.take(side, id).map_or(PartResult::Kept, PartResult::Whole)
            }
            part => part,
        }
    }

    /// Whether the response with this timestamp is incomplete.
    pub(super) fn is_open(&self, timestamp: u32) -> bool {
        let mut open = self.rest.get().into_iter().flat_map(|rest| rest.open.iter());
        open.any(|open| open.id == timestamp)
    }

    /// The incomplete responses, if there are any.
    pub(super) fn open(&mut self) -> Option<&mut UnfinishedResponses<PacketNumbers>> {
        Some(&mut self.rest.get_mut()?.open)
    }
}

/// A request was sent again: if its challenge was correct once, it stays correct.
fn repeat(asked: &mut Request<Asked>, again: Request<Asked>) {
    let is_right = asked.what.verified == Some(true);
    let verified = if is_right { Some(true) } else { again.what.verified };
    asked.sent_again(again.mark);
    asked.flags = again.flags;
    asked.what = Asked { verified, ..again.what };
    if asked.due == ResponseDue::No {
        asked.due = again.due;
    }
}

/// Whether a response's timestamp matches a request's, which Minecraft masks.
fn echoes(asked: u32, got: u32) -> bool {
    got == asked || got == asked & 0x0F0F_0F0F
}
