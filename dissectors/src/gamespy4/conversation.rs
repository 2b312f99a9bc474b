//! What one client and one server have said to each other: who asks, what waits for a response,
//! which challenges were given, and the packets of responses that are not whole yet. It knows no
//! rules.

use super::decode::Header;
use super::packet::{PacketKind, RequestForm, RequestSummary};
use super::recent_packets::RecentPackets;
use super::unfinished::{PartResult, Unfinished};
use crate::kit::{
    Budget, Limits, Payload, PendingRequests, Reply, Sending, ShortMark, Side, Time, room,
};

/// The state of a flow.
#[derive(Default)]
pub struct Conversation {
    /// Requests, also those that were answered and may be answered again.
    pending: PendingRequests<PendingRequest>,
    rest: Option<Box<Rest>>,
}

/// What only a flow has that said more than one thing.
#[derive(Default)]
struct Rest {
    /// Which side asks, where that is not who sent the latest request.
    client: Option<Side>,
    /// The port that answers has been checked.
    port_checked: bool,
    /// When the current exchange began: its first sending, where that is not the request's latest.
    began: Option<Time>,
    /// It has drawn a challenge, which no request has had so far.
    challenged: bool,
    /// The challenges given, the latest first.
    given: Vec<i32>,
    /// There were more than are remembered.
    gave_more: bool,
    /// Responses whose packets have not all come.
    open: Vec<Unfinished>,
    /// The latest answers.
    done: RecentPackets,
    /// Info requests before anything of the server.
    early: Vec<EarlyRequest>,
    /// The latest info requests whose challenge is not known to be right: timestamp and challenge.
    claimed: Vec<(u32, i32)>,
    /// Requests that were given up for later ones' sake, and may be answered yet.
    given_up: u8,
}

/// How many given challenges are remembered.
const GIVEN: usize = 8;

/// How many info requests wait for the server's first packet.
const EARLY: usize = 16;

/// A request, with its repetitions: millions of flows keep one.
#[derive(Clone, Copy)]
pub(super) struct PendingRequest {
    what: RequestedData,
    pub(super) timestamp: u32,
    /// The latest repetition.
    pub(super) mark: ShortMark,
    /// How often it was sent.
    times: u8,
    /// How often it was answered.
    pub(super) answers: u8,
    /// Bits: see [`PendingRequest::has`].
    traits: u8,
}

/// An info request before anything of the server.
pub(super) struct EarlyRequest {
    /// The challenge that it carries: 0 is left out.
    pub(super) challenge: i32,
    pub(super) mark: ShortMark,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestedData {
    Challenge,
    Info(RequestForm),
    Unknown,
}

/// Nothing is wrong with the request: it is owed a response.
pub(super) const OWED: u8 = 1;
/// The recording lost something of it.
pub(super) const LOST: u8 = 2;
/// Its challenge is right.
const RIGHT: u8 = 4;
/// Its challenge is wrong.
const WRONG: u8 = 8;
/// Its latest sending did not arrive.
pub(super) const REFUSED: u8 = 16;

/// What a response answers.
pub(super) enum ResponseMatch {
    /// A request that waits for it.
    Asked(PendingRequest),
    /// Nothing, but it is, byte for byte, a packet of a response before it.
    Copy,
    /// Perhaps a request that was given up.
    GivenUp,
    /// Nothing.
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
            answers: 0,
            traits: owed | lost | verified,
        })
    }

    /// The request was sent again: what was right once stays right.
    fn repeat(&mut self, again: &PendingRequest) {
        let verified = if self.has(RIGHT) { RIGHT } else { again.traits & (RIGHT | WRONG) };
        self.traits = (self.traits | again.traits) & OWED | again.traits & LOST | verified;
        self.times = self.times.saturating_add(1);
        (self.what, self.mark) = (again.what, again.mark);
    }

    pub(super) const fn has(&self, one: u8) -> bool {
        self.traits & one != 0
    }

    /// Whether its challenge is right, if that can be known.
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

    /// How many responses it is still owed: one for each time that it was sent.
    fn left(&self) -> usize {
        usize::from(self.times.saturating_sub(self.answers))
    }
}

impl Conversation {
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Which side asks.
    pub(super) fn client(&self) -> Option<Side> {
        let reported = self.rest.as_ref().and_then(|rest| rest.client);
        reported.or(self.pending.last().map(|asked| asked.mark.get().side))
    }

    /// This side asks.
    pub(super) fn set_client(&mut self, side: Side) {
        if self.client() != Some(side) {
            self.rest().client = Some(side);
        }
    }

    /// Whether this is the first time that the port that answers is checked.
    pub(super) fn checks_port(&mut self) -> bool {
        !std::mem::replace(&mut self.rest().port_checked, true)
    }

    /// The challenges that the client was given, the latest first.
    pub(super) fn given(&self) -> &[i32] {
        self.rest.as_ref().map_or(&[], |rest| &rest.given)
    }

    /// Whether the client was given others before those.
    pub(super) fn was_given_more(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.gave_more)
    }

    /// The server gave a challenge.
    pub(super) fn give(&mut self, challenge: i32) {
        let Rest { given, gave_more, .. } = self.rest();
        given.retain(|&other| other != challenge);
        *gave_more |= given.len() >= GIVEN;
        given.truncate(GIVEN - 1);
        given.insert(0, challenge);
    }

    /// The client asks with a challenge that is not known to be right. The very first request of a
    /// flow is left out, for the sake of millions of flows that have no other.
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

    /// The client asks. Says what that is beside what it asked before, and hands back a request
    /// that has waited so long that there is no room for it.
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
            let (before, waits) = (same.mark.get().time, same.answers == 0);
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

    /// What was sent in this packet did not arrive.
    pub(super) fn refused(&mut self, frame: u64) {
        if let Some(asked) = self.find(|asked| asked.mark.get().frame == frame) {
            asked.traits |= REFUSED;
        }
    }

    /// The request whose timestamp a response repeats: as it is, or else masked.
    fn echoed(&mut self, kind: PacketKind, timestamp: u32) -> Option<&mut PendingRequest> {
        let repeats = |asked: &PendingRequest| asked.kind() == kind && asked.timestamp == timestamp;
        let exactly = self.find(repeats).is_some();
        let is =
            |asked: &PendingRequest| asked.kind() == kind && echoes(asked.timestamp, timestamp);
        self.find(|asked| if exactly { repeats(asked) } else { is(asked) })
    }

    /// Whether a response may be to a request that was given up: each may have one.
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

    /// How the response with this timestamp was asked for, if it was.
    pub(super) fn form(&mut self, timestamp: u32) -> Option<RequestForm> {
        self.echoed(PacketKind::Info, timestamp).and_then(|asked| asked.form())
    }

    /// What a response answers: the request with its timestamp, or else any of its kind.
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
            None => asked.kind() == kind && asked.answers == 0,
        });
        let asked = found.map(|found| {
            found.answers = found.answers.saturating_add(1);
            *found
        });
        // Which of the two it answers cannot be known: neither is said to have none.
        if given_up {
            return ResponseMatch::GivenUp;
        }
        let Some(asked) = asked else { return ResponseMatch::Nothing };
        if asked.answers >= asked.times {
            self.forget(|other| other.kind() == kind && other.timestamp == asked.timestamp);
        }
        ResponseMatch::Asked(asked)
    }

    /// The request, for the code that sees its response. The challenge round and the info request
    /// that follows it are one exchange.
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

    /// What came for the request with this timestamp is not a whole response, but no silence either.
    pub(super) fn settle(&mut self, timestamp: u32) {
        let Some(asked) = self.echoed(PacketKind::Info, timestamp) else { return };
        asked.answers = asked.answers.saturating_add(1);
        if asked.answers >= asked.times {
            let timestamp = asked.timestamp;
            self.forget(|asked| asked.kind() == PacketKind::Info && asked.timestamp == timestamp);
        }
    }

    /// Whether a request of this kind waits whose timestamp a response repeats.
    pub(super) fn waits(&self, kind: PacketKind, timestamp: u32) -> bool {
        self.pending.iter().any(|asked| asked.kind() == kind && echoes(asked.timestamp, timestamp))
    }

    /// Whether an info request waits for a response.
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

    /// All requests that are left when the flow has ended, the oldest first.
    pub(super) fn take_asked(&mut self) -> impl Iterator<Item = PendingRequest> + use<> {
        self.pending.take()
    }

    /// A response with variables was whole. `asked`: its request is in the capture.
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

    /// Whether this is, byte for byte, a packet of one of the latest answers.
    pub(super) fn is_copy(&self, bytes: &[u8]) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.done.has(bytes))
    }

    /// Whether the request of the latest whole response is in the capture.
    pub(super) fn done_was_asked(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.done.was_asked())
    }

    /// Whether the request with this timestamp, if one waits, has had a response.
    pub(super) fn is_answered(&mut self, timestamp: u32) -> Option<bool> {
        self.echoed(PacketKind::Info, timestamp).map(|asked| asked.answers > 0)
    }

    /// Remembers an info request until the server speaks, if there is room.
    pub(super) fn came_early(&mut self, request: EarlyRequest) -> bool {
        let early = &mut self.rest().early;
        let room = early.len() < EARLY;
        if room {
            early.push(request);
        }
        room
    }

    /// The info requests before anything of the server.
    pub(super) fn take_early(&mut self) -> Vec<EarlyRequest> {
        self.rest.as_mut().map(|rest| std::mem::take(&mut rest.early)).unwrap_or_default()
    }

    /// The timestamp of the response that a packet with one of no request belongs to: that of the
    /// only info request that waits, where that packet of it is not there yet.
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
            waiting.next().filter(|asked| asked.answers == 0 && waiting.next().is_none())?;
        let asked = asked.timestamp;
        let mut open = self.rest.iter().flat_map(|rest| &rest.open);
        match open.find(|open| open.side == payload.side && echoes(asked, open.timestamp)) {
            Some(open) => (!open.has_index(header.index)).then_some(open.timestamp),
            None => Some(asked),
        }
    }

    /// A packet of a response in several comes.
    pub(super) fn part(
        &mut self,
        header: Header,
        payload: &Payload<'_>,
        limits: &Limits,
        timeout: i64,
        budget: &mut Budget,
    ) -> PartResult {
        let asked = self.echoed(PacketKind::Info, header.timestamp);
        let asked = asked.map(|asked| (asked.left(), asked.answers > 0));
        let rest = self.rest();
        let is =
            |open: &Unfinished| open.timestamp == header.timestamp && open.side == payload.side;
        let at = match rest.open.iter().position(is) {
            Some(at) => at,
            None => {
                let answered = asked.map(|(_, answered)| answered);
                if let Some(reported) = rest.done.after(header, payload.bytes, answered) {
                    return reported;
                }
                let asked = asked.is_some();
                rest.open.push(Unfinished::new(header.timestamp, payload, timeout, asked));
                rest.open.len() - 1
            }
        };
        let Some(open) = rest.open.get_mut(at) else { return PartResult::Full };
        let (left, answered) = asked.unwrap_or((1, false));
        open.has_copy |= answered && rest.done.has(payload.bytes);
        open.has_copy |= left > 1 && open.has(payload.bytes);
        // Copies make a response more that nobody is owed.
        let most = left + usize::from(open.has_copy);
        match open.add(header, payload, most, limits, budget) {
            PartResult::Kept if open.is_whole() => PartResult::Whole(rest.open.remove(at)),
            part => part,
        }
    }

    /// Bytes held beside what the budget counts.
    pub(super) fn held(&self) -> usize {
        let pending = self.pending.held();
        let Some(rest) = &self.rest else { return pending };
        let open: usize = rest.open.iter().map(Unfinished::held).sum();
        let lists = room(&rest.given) + room(&rest.open) + open;
        pending
            + size_of::<Rest>()
            + lists
            + rest.done.held()
            + room(&rest.early)
            + room(&rest.claimed)
    }

    /// Whether packets of the response with this timestamp wait for the rest.
    pub(super) fn is_open(&self, timestamp: u32) -> bool {
        let open = self.rest.as_ref().map_or(&[][..], |rest| &rest.open);
        open.iter().any(|open| open.timestamp == timestamp)
    }

    /// Takes out the unfinished response with this timestamp.
    pub(super) fn take_open(&mut self, timestamp: u32) -> Option<Unfinished> {
        let open = &mut self.rest.as_mut()?.open;
        let at = open.iter().position(|open| open.timestamp == timestamp)?;
        Some(open.remove(at))
    }

    /// Takes out a response that is overdue, or any with `all`, or one too many.
    pub(super) fn take_overdue(&mut self, now: Time, all: bool, most: usize) -> Option<Unfinished> {
        let open = &mut self.rest.as_mut()?.open;
        let due = |unfinished: &Unfinished| all || unfinished.deadline <= now;
        let at = open.iter().position(due).or((open.len() > most).then_some(0))?;
        Some(open.remove(at))
    }

    /// When the first unfinished response is given up.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.rest.as_ref()?.open.iter().map(|open| open.deadline).min()
    }
}

/// Whether a response's timestamp is a request's, which Minecraft masks.
fn echoes(asked: u32, got: u32) -> bool {
    got == asked || got == asked & 0x0F0F_0F0F
}
