//! The state of a flow between a client and a server: which side sends requests, pending requests,
//! given challenges, and packets of incomplete responses. It checks no rules.

use super::decode::Header;
use super::packet::{PacketKind, RequestForm, RequestSummary};
use super::recent_packets::RecentPackets;
use super::unfinished::{IncompleteResponses, PartResult};
use crate::kit::{
    Budget, Limits, Payload, PendingRequests, Reply, Sending, ShortMark, Side, Time, room,
};

/// The state of a flow.
#[derive(Default)]
pub struct Conversation {
    /// Requests, also those that were answered and may be answered again.
    pending: PendingRequests<PendingRequest>,
    rest: Option<Box<MultiMessageState>>,
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
    /// It got a challenge that no request has used so far.
    challenged: bool,
    /// The challenges given, the latest first.
    given: Vec<i32>,
    /// There were more than are stored.
    gave_more: bool,
    /// Incomplete responses.
    open: Vec<IncompleteResponses>,
    /// The latest responses.
    done: RecentPackets,
    /// Info requests before any packet from the server.
    early: Vec<EarlyRequest>,
    /// The latest info requests whose challenge is not known to be correct: timestamp and
    /// challenge.
    claimed: Vec<(u32, i32)>,
    /// The number of requests that were removed to make room, and may still be answered.
    given_up: u8,
}

/// Maximum number of given challenges.
const GIVEN: usize = 8;

/// Maximum number of info requests before the server's first packet.
const EARLY: usize = 16;

/// A request with its repeats. It is compact, since captures may have millions of flows.
#[derive(Clone, Copy)]
pub(super) struct PendingRequest {
    what: RequestedData,
    pub(super) timestamp: u32,
    /// The latest repeat.
    pub(super) mark: ShortMark,
    /// How often it was sent.
    times: u8,
    /// How often it was answered.
    pub(super) responses: u8,
    /// Flags: see [`PendingRequest::has`].
    traits: u8,
}

/// An info request before any packet from the server.
pub(super) struct EarlyRequest {
    /// Its challenge; 0 is left out.
    pub(super) challenge: i32,
    pub(super) mark: ShortMark,
}

/// What is requested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestedData {
    Challenge,
    Info(RequestForm),
    Unknown,
}

/// The request is valid, so that a response is due.
pub(super) const OWED: u8 = 1;
/// The recording lost some of it.
pub(super) const LOST: u8 = 2;
/// Its challenge is correct.
const RIGHT: u8 = 4;
/// Its challenge is wrong.
const WRONG: u8 = 8;
/// Its latest repeat did not arrive.
pub(super) const REFUSED: u8 = 16;

/// The request that a response answers.
pub(super) enum ResponseMatch {
    /// A pending request.
    Asked(PendingRequest),
    /// None, but it is an identical copy of a packet of an earlier response.
    Copy,
    /// Possibly a request that was removed.
    GivenUp,
    /// None.
    Nothing,
}

impl PendingRequest {
    fn of(
        said: &RequestSummary,
        verified: Option<bool>,
        payload: &Payload<'_>,
    ) -> Option<PendingRequest> {
        let owed = if said.sound && verified != Some(false) { OWED } else { 0 };
        let lost = if payload.lost { LOST } else { 0 };
        let verified = match verified {
            Some(true) => RIGHT,
            Some(false) => WRONG,
            None => 0,
        };
        Some(PendingRequest {
            what: match said.kind {
                PacketKind::Challenge => RequestedData::Challenge,
                PacketKind::Info => RequestedData::Info(said.form),
                PacketKind::Unknown => RequestedData::Unknown,
            },
            timestamp: said.timestamp?,
            mark: payload.mark().into(),
            times: 1,
            responses: 0,
            traits: owed | lost | verified,
        })
    }

    /// The request was repeated: if it was correct once, it stays correct.
    fn repeat(&mut self, again: &PendingRequest) {
        let verified = if self.has(RIGHT) { RIGHT } else { again.traits & (RIGHT | WRONG) };
        self.traits = (self.traits | again.traits) & OWED | again.traits & LOST | verified;
        self.times = self.times.saturating_add(1);
        (self.what, self.mark) = (again.what, again.mark);
    }

    pub(super) const fn has(&self, one: u8) -> bool {
        self.traits & one != 0
    }

    /// Whether its challenge is correct, if known.
    pub(super) fn verified(&self) -> Option<bool> {
        (self.has(RIGHT) || self.has(WRONG)).then(|| self.has(RIGHT))
    }

    /// How often it was sent.
    pub(super) const fn times(&self) -> u8 {
        self.times
    }

    pub(super) fn kind(&self) -> PacketKind {
        match self.what {
            RequestedData::Challenge => PacketKind::Challenge,
            RequestedData::Info(_) => PacketKind::Info,
            RequestedData::Unknown => PacketKind::Unknown,
        }
    }

    fn form(&self) -> Option<RequestForm> {
        match self.what {
            RequestedData::Info(form) => Some(form),
            RequestedData::Challenge | RequestedData::Unknown => None,
        }
    }

    /// The number of responses that are still due: one for each time that it was sent.
    fn left(&self) -> usize {
        usize::from(self.times.saturating_sub(self.responses))
    }
}

impl Conversation {
    fn rest(&mut self) -> &mut MultiMessageState {
        self.rest.get_or_insert_default()
    }

    /// The side that sends requests.
    pub(super) fn client(&self) -> Option<Side> {
        let reported = self.rest.as_ref().and_then(|rest| rest.client);
        reported.or(self.pending.last().map(|asked| asked.mark.get().side))
    }

    /// This side sends requests.
    pub(super) fn set_client(&mut self, side: Side) {
        if self.client() != Some(side) {
            self.rest().client = Some(side);
        }
    }

    /// Whether the port that responds has not been checked yet; it counts as checked from now on.
    pub(super) fn checks_port(&mut self) -> bool {
        !std::mem::replace(&mut self.rest().port_checked, true)
    }

    /// The challenges that the client was given, the latest first.
    pub(super) fn given(&self) -> &[i32] {
        self.rest.as_ref().map_or(&[], |rest| &rest.given)
    }

    /// Whether the client was given earlier ones that are no longer stored.
    pub(super) fn was_given_more(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.gave_more)
    }

    /// The server gave a challenge.
    pub(super) fn give(&mut self, challenge: i32) {
        let MultiMessageState { given, gave_more, .. } = self.rest();
        given.retain(|&other| other != challenge);
        *gave_more |= given.len() >= GIVEN;
        given.truncate(GIVEN - 1);
        given.insert(0, challenge);
    }

    /// Stores a challenge that is not known to be correct. That of the first request of a flow is
    /// not stored, to save memory in captures with millions of flows of one packet.
    pub(super) fn claimed(&mut self, timestamp: u32, challenge: i32) {
        if self.rest.is_none() && self.pending.is_empty() {
            return;
        }
        let claimed = &mut self.rest().claimed;
        claimed.retain(|&(other, _)| other != timestamp);
        claimed.truncate(GIVEN - 1);
        claimed.insert(0, (timestamp, challenge));
    }

    /// The challenge of the info request with this timestamp, if it is not known to be right.
    pub(super) fn claim_of(&self, timestamp: u32) -> Option<i32> {
        let mut claimed = self.rest.iter().flat_map(|rest| &rest.claimed);
        claimed.find(|&&(other, _)| other == timestamp).map(|&(_, challenge)| challenge)
    }

    /// Adds a request. Returns how it relates to earlier ones, and a request that is removed to
    /// make room.
    pub(super) fn ask(
        &mut self,
        said: &RequestSummary,
        verified: Option<bool>,
        payload: &Payload<'_>,
        limits: &Limits,
    ) -> (Sending, Option<PendingRequest>) {
        let Some(asked) = PendingRequest::of(said, verified, payload) else {
            return (Sending::New, None);
        };
        let same = |other: &PendingRequest| {
            other.kind() == asked.kind() && other.timestamp == asked.timestamp
        };
        let is_challenge = asked.kind() == PacketKind::Challenge;
        let goes_on = !is_challenge
            && self.rest.as_mut().is_some_and(|rest| std::mem::take(&mut rest.challenged));
        if let Some(same) = self.find(same) {
            let (before, waits) = (same.mark.get().time, same.responses == 0);
            same.repeat(&asked);
            self.rest().began.get_or_insert(before);
            let again = if waits { Sending::Again } else { Sending::New };
            return (if goes_on { Sending::GoesOn } else { again }, None);
        }
        // Another challenge begins another exchange.
        if is_challenge && let Some(rest) = &mut self.rest {
            (rest.began, rest.challenged) = (None, false);
        }
        let sending = if goes_on { Sending::GoesOn } else { Sending::New };
        let given_up = self.pending.push_within(asked, limits.pending);
        if given_up.is_some() {
            let rest = self.rest();
            rest.given_up = rest.given_up.saturating_add(1);
        }
        (sending, given_up)
    }

    /// The latest such request.
    fn find(&mut self, is: impl Fn(&PendingRequest) -> bool) -> Option<&mut PendingRequest> {
        self.pending.iter_mut().rfind(|asked| is(asked))
    }

    /// This packet did not arrive.
    pub(super) fn refused(&mut self, frame: u64) {
        if let Some(asked) = self.find(|asked| asked.mark.get().frame == frame) {
            asked.traits |= REFUSED;
        }
    }

    /// The request with the timestamp of a response, unchanged or masked.
    fn echoed(&mut self, kind: PacketKind, timestamp: u32) -> Option<&mut PendingRequest> {
        let repeats = |asked: &PendingRequest| asked.kind() == kind && asked.timestamp == timestamp;
        let exactly = self.find(repeats).is_some();
        let is =
            |asked: &PendingRequest| asked.kind() == kind && echoes(asked.timestamp, timestamp);
        self.find(|asked| if exactly { repeats(asked) } else { is(asked) })
    }

    /// Whether a response may answer a request that was removed: each may have one.
    fn take_given_up(&mut self) -> bool {
        let given_up = self.rest.as_mut().map(|rest| &mut rest.given_up);
        given_up.is_some_and(|left| match left.checked_sub(1) {
            Some(less) => {
                *left = less;
                true
            }
            None => false,
        })
    }

    /// The form of the request with this timestamp, if there was one.
    pub(super) fn form(&mut self, timestamp: u32) -> Option<RequestForm> {
        self.echoed(PacketKind::Info, timestamp).and_then(|asked| asked.form())
    }

    /// The request that a response answers: the one with its timestamp, or else any of its kind.
    pub(super) fn answer(
        &mut self,
        kind: PacketKind,
        timestamp: u32,
        bytes: &[u8],
    ) -> ResponseMatch {
        let exact = self.echoed(kind, timestamp).map(|asked| asked.timestamp);
        if exact.is_none() && self.is_copy(bytes) {
            return ResponseMatch::Copy;
        }
        let given_up = exact != Some(timestamp) && self.take_given_up();
        let found = self.find(|asked| match exact {
            Some(exact) => asked.kind() == kind && asked.timestamp == exact,
            None => asked.kind() == kind && asked.responses == 0,
        });
        let asked = found.map(|found| {
            found.responses = found.responses.saturating_add(1);
            *found
        });
        // It is unknown which of the two it answers, so that none is reported as unanswered.
        if given_up {
            return ResponseMatch::GivenUp;
        }
        let Some(asked) = asked else { return ResponseMatch::Nothing };
        if asked.responses >= asked.times {
            self.forget(|other| other.kind() == kind && other.timestamp == asked.timestamp);
        }
        ResponseMatch::Asked(asked)
    }

    /// The request in the form for a sink. The challenge round and the following info request are
    /// one exchange.
    pub(super) fn reply_to(&mut self, asked: &PendingRequest) -> Reply {
        let sent = asked.mark.get();
        let complete = asked.kind() == PacketKind::Info;
        let rest = self.rest();
        let began = rest.began.unwrap_or(sent.time);
        rest.began = (!complete).then_some(began);
        rest.challenged = !complete;
        Reply {
            began,
            tries: asked.times.into(),
            complete,
            challenge_alone: !complete,
            ..Reply::to(sent.frame, sent.time)
        }
    }

    /// The response to the request with this timestamp is incomplete, but the request counts as
    /// answered.
    pub(super) fn settle(&mut self, timestamp: u32) {
        let Some(asked) = self.echoed(PacketKind::Info, timestamp) else { return };
        asked.responses = asked.responses.saturating_add(1);
        if asked.responses >= asked.times {
            let timestamp = asked.timestamp;
            self.forget(|asked| asked.kind() == PacketKind::Info && asked.timestamp == timestamp);
        }
    }

    /// Whether a request of this kind with the timestamp of a response is pending.
    pub(super) fn waits(&self, kind: PacketKind, timestamp: u32) -> bool {
        self.pending.iter().any(|asked| asked.kind() == kind && echoes(asked.timestamp, timestamp))
    }

    /// Whether an info request is pending.
    pub(super) fn waits_for_info(&mut self) -> bool {
        self.find(|asked| asked.kind() == PacketKind::Info).is_some()
    }

    fn forget(&mut self, is: impl Fn(&PendingRequest) -> bool) {
        if self.pending.last().is_some_and(&is) {
            let client = self.client();
            self.rest().client = client;
        }
        self.pending.retain(|asked| !is(asked));
    }

    /// All requests that are pending at the end of the flow, the oldest first.
    pub(super) fn take_asked(&mut self) -> impl Iterator<Item = PendingRequest> + use<> {
        self.pending.take()
    }

    /// A response with variables is complete. `asked`: its request is in the capture.
    pub(super) fn done<'a>(
        &mut self,
        timestamp: u32,
        asked: bool,
        packets: impl Iterator<Item = &'a [u8]>,
    ) {
        self.rest().done.whole(timestamp, asked, packets);
    }

    /// A request for a challenge was answered.
    pub(super) fn done_challenge(&mut self, bytes: &[u8]) {
        self.rest().done.challenge(bytes);
    }

    /// Whether this is an identical copy of a packet of one of the latest responses.
    pub(super) fn is_copy(&self, bytes: &[u8]) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.done.has(bytes))
    }

    /// Whether the request of the latest whole response is in the capture.
    pub(super) fn done_was_asked(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.done.was_asked())
    }

    /// Whether the pending request with this timestamp, if any, has been answered.
    pub(super) fn is_answered(&mut self, timestamp: u32) -> Option<bool> {
        self.echoed(PacketKind::Info, timestamp).map(|asked| asked.responses > 0)
    }

    /// Stores an info request until the server's first packet, if there is room.
    pub(super) fn came_early(&mut self, request: EarlyRequest) -> bool {
        let early = &mut self.rest().early;
        let room = early.len() < EARLY;
        if room {
            early.push(request);
        }
        room
    }

    /// The info requests before any packet from the server.
    pub(super) fn take_early(&mut self) -> Vec<EarlyRequest> {
        self.rest.as_mut().map(|rest| std::mem::take(&mut rest.early)).unwrap_or_default()
    }

    /// The timestamp of the response that a packet with an unknown timestamp belongs to: that of
    /// the only pending info request, unless its response has a packet of this index.
    pub(super) fn stray(&mut self, header: Header, payload: &Payload<'_>) -> Option<u32> {
        let timestamp = header.timestamp;
        if self.echoed(PacketKind::Info, timestamp).is_some() || self.is_open(timestamp) {
            return None;
        }
        let rest = self.rest();
        if rest.done.is_latest(timestamp) || rest.given_up > 0 || rest.done.has(payload.bytes) {
            return None;
        }
        let waits = |asked: &&PendingRequest| asked.kind() == PacketKind::Info;
        let mut waiting = self.pending.iter().filter(waits);
        let asked =
            waiting.next().filter(|asked| asked.responses == 0 && waiting.next().is_none())?;
        let asked = asked.timestamp;
        let mut open = self.rest.iter().flat_map(|rest| &rest.open);
        match open.find(|open| open.side == payload.side && echoes(asked, open.timestamp)) {
            Some(open) => (!open.has_index(header.index)).then_some(open.timestamp),
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
        let asked = self.echoed(PacketKind::Info, header.timestamp);
        let asked = asked.map(|asked| (asked.left(), asked.responses > 0));
        let rest = self.rest();
        let is = |open: &IncompleteResponses| {
            open.timestamp == header.timestamp && open.side == payload.side
        };
        let at = match rest.open.iter().position(is) {
            Some(at) => at,
            None => {
                let answered = asked.map(|(_, answered)| answered);
                if let Some(reported) = rest.done.after(header, payload.bytes, answered) {
                    return reported;
                }
                let asked = asked.is_some();
                rest.open.push(IncompleteResponses::new(header.timestamp, payload, timeout, asked));
                rest.open.len() - 1
            }
        };
        let Some(open) = rest.open.get_mut(at) else { return PartResult::Full };
        let (left, answered) = asked.unwrap_or((1, false));
        open.has_copy |= answered && rest.done.has(payload.bytes);
        open.has_copy |= left > 1 && open.has(payload.bytes);
        // Copies may form one more response than is due.
        let most = left + usize::from(open.has_copy);
        match open.add(header, payload, most, limits, budget) {
            PartResult::Kept if open.is_whole() => PartResult::Whole(rest.open.remove(at)),
            part => part,
        }
    }

    /// Memory in bytes that the budget does not count.
    pub(super) fn held(&self) -> usize {
        let pending = self.pending.held();
        let Some(rest) = &self.rest else { return pending };
        let open: usize = rest.open.iter().map(IncompleteResponses::held).sum();
        let lists = room(&rest.given) + room(&rest.open) + open;
        pending
            + size_of::<MultiMessageState>()
            + lists
            + rest.done.held()
            + room(&rest.early)
            + room(&rest.claimed)
    }

    /// Whether the response with this timestamp is incomplete.
    pub(super) fn is_open(&self, timestamp: u32) -> bool {
        let open = self.rest.as_ref().map_or(&[][..], |rest| &rest.open);
        open.iter().any(|open| open.timestamp == timestamp)
    }

    /// Removes the incomplete response with this timestamp.
    pub(super) fn take_open(&mut self, timestamp: u32) -> Option<IncompleteResponses> {
        let open = &mut self.rest.as_mut()?.open;
        let at = open.iter().position(|open| open.timestamp == timestamp)?;
        Some(open.remove(at))
    }

    /// Removes a response that is overdue, or any with `all`, or one too many.
    pub(super) fn take_overdue(
        &mut self,
        now: Time,
        all: bool,
        most: usize,
    ) -> Option<IncompleteResponses> {
        let open = &mut self.rest.as_mut()?.open;
        let due = |unfinished: &IncompleteResponses| all || unfinished.deadline <= now;
        let at = open.iter().position(due).or((open.len() > most).then_some(0))?;
        Some(open.remove(at))
    }

    /// When the first incomplete response times out.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.rest.as_ref()?.open.iter().map(|open| open.deadline).min()
    }
}

/// Whether a response's timestamp matches a request's, which Minecraft masks.
fn echoes(asked: u32, got: u32) -> bool {
    got == asked || got == asked & 0x0F0F_0F0F
}
