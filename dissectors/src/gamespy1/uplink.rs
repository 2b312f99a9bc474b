//! A game server and a master on one UDP flow: heartbeats, challenges and their responses.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use crate::kit::{
    Clock, Context, CrossFlowEvent, Evidence, GameName, Mark, NeededEvidence, Payload,
    Registration, RegistrationStep, Reply, Request, SeenMessage, Settings, Side, Sink, Span, Time,
    keyed_hash,
};

use super::codes::{self, RecentChallenges, ValidateResult};
use super::decode::MessageKind;
use super::shared::{self, ServerAndMaster, ServerRecord};
use super::words::{Numbering, TextProperties};
use super::{GameSpy1, rules};

type Cx<'c> = Context<'c, GameSpy1>;

/// The query port and the game in a heartbeat.
type HeartbeatKey = (u16, Box<[u8]>);

/// The state of one flow.
#[derive(Default)]
pub(super) struct Uplink {
    /// The side that sends heartbeats, or should.
    server: Option<Side>,
    /// The latest heartbeat.
    beat: Option<HeartbeatKey>,
    /// The latest one of another server: two may share a socket.
    neighbour: Option<HeartbeatKey>,
    /// The first heartbeat while it waits for its challenge.
    first: Option<Request<()>>,
    /// A heartbeat came after its time: the next challenge is the answer to that one.
    is_first_over: bool,
    challenges: RecentChallenges,
    /// A challenge was given or answered: the heartbeat that caused it came before.
    met: bool,
    /// The side with an unanswered challenge that is not part of a query.
    challenged: Option<Side>,
    /// The latest challenge.
    given: Option<GivenChallenge>,
    /// When a validate without a pending challenge came.
    unasked: Option<Time>,
    /// The pending challenge.
    due: Option<Request<()>>,
    /// A heartbeat came after the latest challenge.
    is_beaten: bool,
    /// A challenge that was not answered in time, and the number of heartbeats since then.
    ignored: Option<(Request<()>, u8)>,
}

impl Uplink {
    /// Heap memory in bytes.
    pub(super) fn held(&self) -> usize {
        let games = self.beat.iter().chain(&self.neighbour).map(|(_, game)| game.len());
        games.sum()
    }

    /// Whether this side has an unanswered challenge that is not part of a query.
    pub(super) fn owes(&self, side: Side) -> bool {
        self.challenged == Some(side)
    }

    /// An ICMP error quotes this packet.
    pub(super) fn refuse(&mut self, frame: u64) {
        let waiting = [&mut self.first, &mut self.due];
        waiting.into_iter().flatten().for_each(|asked| asked.refused(frame));
    }

    /// A heartbeat after the first one, which may wait for its challenge.
    fn beats_again(&mut self, mark: Mark, clock: Clock) {
        match &mut self.first {
            Some(first) if first.waits(clock) => first.sent_again(mark),
            Some(_) => self.is_first_over = true,
            None => {}
        }
    }

    /// The response to a challenge. Returns whether it was due.
    fn is_answered<S: Sink>(&mut self, payload: &Payload<'_>, sink: &mut S) -> bool {
        self.met = true;
        self.challenged.take_if(|side| *side == payload.side);
        let due = self.due.take_if(|due| due.mark.side != payload.side).is_some();
        if let Some(given) = &mut self.given
            && given.mark.side != payload.side
            && !std::mem::replace(&mut given.answered, true)
        {
            sink.answers(Reply::to(given.mark.frame, given.mark.time));
        }
        self.unasked = (!due).then_some(payload.time);
        due
    }

    /// Whether this side is known to be a game server, so that the other one is a master.
    pub(super) fn is_server(&self, side: Side) -> bool {
        self.server == Some(side)
    }
}

/// A challenge.
struct GivenChallenge {
    hash: u64,
    mark: Mark,
    answered: bool,
}

/// So many heartbeats without a further challenge show that a master is content with a server: it challenges one that has not
/// proven its game.
const CONTENT: u8 = 3;

/// The same challenge within this time is a copy from the network or the recorder.
const COPIES: i64 = 500_000_000;

/// The valid times between heartbeats, with a tolerance of a tenth.
fn usual(settings: &Settings) -> RangeInclusive<i64> {
    let heartbeat = &settings.protocols.gamespy1.heartbeat;
    let (shortest, longest) = (heartbeat.start(), heartbeat.end());
    shortest - shortest / 10..=longest.saturating_add(longest / 10)
}

fn pair(server: SocketAddr, port: u16, master: SocketAddr) -> ServerAndMaster {
    (server.ip(), port, master)
}

/// A heartbeat without a validate.
pub(super) fn heartbeat<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    sink.joins(MessageKind::Heartbeat.message().label, payload);
    let Some((port, game)) = layout(words, sink) else { return };
    let (now, most) = (payload.time, cx.settings.limits.remembered);
    let pair = pair(payload.from, port, payload.to);
    let uplink = cx.conversation.uplink();
    uplink.server = Some(payload.side);
    uplink.is_beaten = true;
    if let Some((_, beats)) = &mut uplink.ignored {
        *beats = beats.saturating_add(1);
    }
    if uplink.beat.as_ref().is_none_or(|beat| (beat.0, &*beat.1) != (port, game)) {
        uplink.neighbour = uplink.beat.replace((port, shared::name(game)));
    }
    if words.exiting {
        cx.shared.forget(&pair);
        registers(payload, port, RegistrationStep::Left, sink);
        return;
    }
    registers(payload, port, RegistrationStep::Heartbeat(GameName::of(game)), sink);
    sink.announces(Some(port), payload);
    cx.shared.plays(&pair, payload.from.port(), game, most);
    let clock = cx.settings.clock(now);
    let answers = uplink.due.is_some_and(|due| !due.is_overdue(clock));
    let fresh = ServerRecord {
        latest: now,
        from: payload.from.port(),
        regular: (!words.statechanged).then_some(now),
        validated: None,
        has_continued: false,
        challenged: false,
    };
    let mut is_first = false;
    let Ok(record) = cx.shared.record(&pair, most).map_err(|never| {
        // A heartbeat after a change shows that the server is older than the capture, and so does a
        // challenge: the first heartbeat came before.
        is_first = never && !words.statechanged && !uplink.met && !payload.lost;
    }) else {
        if is_first {
            uplink.first = Some(Request::new((), payload.mark(), true));
            uplink.is_first_over = false;
            cx.shared.waits(&pair, payload.from.port(), true, most);
        }
        cx.shared.begin(pair, fresh, most);
        return;
    };
    uplink.beats_again(payload.mark(), clock);
    beats_on(record, fresh, answers, payload, cx.settings, sink);
}

/// A heartbeat of a server that the master knows; `fresh`: as if it were the first one. One that `answers` may be meant
/// as the response to a challenge.
fn beats_on<S: Sink>(
    record: &mut ServerRecord,
    fresh: ServerRecord,
    answers: bool,
    payload: &Payload<'_>,
    settings: &Settings,
    sink: &mut S,
) {
    let at = payload.whole();
    let latest = fresh.latest.since(record.latest);
    if !answers {
        let usual = usual(settings);
        let regular = record.regular.filter(|_| fresh.regular.is_some());
        let regular = regular.map(|regular| fresh.latest.since(regular));
        // What comes soon from another port may be of another server behind the same address.
        let is_same = record.from == fresh.from;
        let regular = regular.filter(|regular| is_same || regular >= usual.start());
        rules::interval(latest, regular, &usual, at, sink);
    }
    if latest > *settings.protocols.gamespy1.heartbeat.end() {
        *record = fresh;
        return;
    }
    if record.validated == Some(fresh.from) {
        // The first heartbeat behind the proof may be challenged yet.
        if !record.challenged && record.has_continued {
            rules::rechallenged(false, at, sink);
        }
        (record.has_continued, record.challenged) = (true, false);
    }
    (record.latest, record.from) = (fresh.latest, fresh.from);
    record.regular = fresh.regular.or(record.regular);
}

/// The server does this at the master.
fn registers<S: Sink>(payload: &Payload<'_>, port: u16, step: RegistrationStep, sink: &mut S) {
    sink.cross_flow(CrossFlowEvent::Registered(Registration { port, step }), payload.seen());
}

/// Checks the heartbeat's own keys; those of an invalid text are not checked.
fn layout<'a, S: Sink>(words: &TextProperties<'a>, sink: &mut S) -> Option<(u16, &'a [u8])> {
    let port = words.heartbeat.filter(|_| words.is_sound())?;
    rules::heartbeat_layout(port, words.gamename, words.first, sink)
}

/// A challenge.
pub(super) fn secure<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    let Some(challenge) = words.secure.filter(|_| words.is_sound()) else { return };
    let (server, most) = (payload.side.other(), cx.settings.limits.remembered);
    let uplink = cx.conversation.uplink();
    let (hash, now) = (keyed_hash(payload.bytes), payload.time);
    let given = GivenChallenge { hash, mark: payload.mark(), answered: false };
    let before = uplink.given.replace(given);
    if before.is_some_and(|it| it.hash == hash && now.since(it.mark.time) < COPIES) {
        return;
    }
    if !payload.lost {
        rules::challenge_given(challenge.value, payload.seen(), sink);
    }
    let answered = uplink.unasked.take().is_some_and(|time| now.since(time) <= Time::MOMENT);
    uplink.is_beaten = false;
    challenged_again(cx, now, sink);
    let uplink = cx.conversation.uplink();
    uplink.challenges.give(challenge.value, payload);
    uplink.met = true;
    uplink.challenged = (!words.basic).then_some(server);
    if uplink.server.is_none() && words.basic && super::is_master_port(payload.from.port()) {
        uplink.server = Some(server);
    }
    let is_owed = rules::is_secure_string(challenge.value) && !payload.lost && !answered;
    if uplink.server != Some(server) {
        // A master may challenge from another port than that of heartbeats.
        let Some(first) = cx.shared.challenge(payload.to, payload.from.ip(), now, most) else {
            return;
        };
        if is_owed {
            uplink.due = Some(Request::new((), payload.mark(), true));
        }
        if first {
            rules::challenged(words.basic, challenge.at, sink);
        }
        return;
    }
    if is_owed {
        uplink.due = Some(Request::new((), payload.mark(), true));
    }
    if let Some(first) = uplink.first.take() {
        first_challenged(cx, &first, payload, words.basic, challenge.at, sink);
        return;
    }
    let Some((port, _)) = uplink.beat else { return };
    let record = cx.shared.record(&pair(payload.to, port, payload.from), most);
    if let Ok(record) = record
        && record.validated == Some(payload.to.port())
        && payload.time.since(record.latest) <= *cx.settings.protocols.gamespy1.heartbeat.end()
    {
        record.challenged = true;
        rules::rechallenged(true, challenge.at, sink);
    }
}

/// A challenge while the first heartbeat waits. `basic` comes before it.
fn first_challenged<S: Sink>(
    cx: &mut Cx<'_>,
    first: &Request<()>,
    payload: &Payload<'_>,
    basic: bool,
    at: Span,
    sink: &mut S,
) {
    let (uplink, most) = (cx.conversation.uplink(), cx.settings.limits.remembered);
    let port = uplink.beat.as_ref().map_or(payload.to.port(), |beat| beat.0);
    let (pair, from) = (pair(payload.to, port, payload.from), payload.to.port());
    let is_over = std::mem::take(&mut uplink.is_first_over);
    if !is_over {
        sink.answers(first.reply(true));
    }
    match cx.shared.was_challenged(&pair, from, first.mark.time, most) {
        true => {}
        // The server may have been validated before the recording, and is now challenged anew.
        false if is_over => {
            let missing = cx.flow.missing(first, cx.settings.clock(payload.time));
            let evidence = Evidence { asked_party_seen: false, ..missing };
            rules::unchallenged(evidence, &first.mark, sink);
        }
        false => rules::challenged(basic, at, sink),
    }
    cx.shared.waits(&pair, from, false, most);
}

/// The response to a challenge, from either side.
pub(super) fn validate<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    // Not in a response to a query.
    if words.heartbeat.is_some() {
        sink.joins(MessageKind::Validate.message().label, payload);
    }
    let Some(code) = words.validate.filter(|_| words.is_sound()) else { return };
    let most = cx.settings.limits.remembered;
    challenged_again(cx, payload.time, sink);
    let uplink = cx.conversation.uplink();
    // A heartbeat since the latest challenge, if that was answered, may have drawn another.
    let lacks_some = uplink.is_beaten && uplink.given.as_ref().is_none_or(|given| given.answered);
    let due = uplink.is_answered(payload, sink);
    let announced = announced(due, payload, words, sink);
    if let Some(announced) = announced {
        let at = words.heartbeat.unwrap_or(code).at;
        match &uplink.beat {
            Some((port, game)) if uplink.server == Some(payload.side) => {
                let neighbour = uplink.neighbour.as_ref().map(|(port, game)| (*port, &**game));
                let neighbour = neighbour.filter(|neighbour| *neighbour == announced);
                rules::same_server(neighbour.unwrap_or((*port, game)), announced, at, sink);
            }
            None if !cx.flow.began => rules::heartbeat_unseen(&payload.mark(), sink),
            _ => {}
        }
    }
    let beat = uplink.beat.as_ref().filter(|_| uplink.server == Some(payload.side));
    let game = words.gamename.map(|game| game.value).or(beat.map(|beat| &*beat.1));
    let game = game.or_else(|| cx.shared.game(payload.from, payload.to.ip(), most));
    let challenges = &uplink.challenges;
    let worth =
        challenges.check(game, code, words.enctype, payload.time, lacks_some, cx.settings, sink);
    let is_whole = cx.flow.began && cx.flow.seen[payload.side.other().index()];
    let is_unseen = !is_whole && uplink.challenges.are_unseen()
        || lacks_some && worth == ValidateResult::Unknown && !uplink.challenges.is_empty();
    if is_unseen && codes::is_known(game, code, cx.settings) {
        rules::challenge_unseen(&payload.mark(), sink);
    }
    let port = announced.map(|announced| announced.0).or(beat.map(|beat| beat.0));
    let Some(port) = port.filter(|_| !uplink.challenges.is_empty()) else { return };
    if worth == ValidateResult::Wrong {
        registers(payload, port, RegistrationStep::Refused, sink);
        return;
    }
    registers(payload, port, RegistrationStep::Validated, sink);
    if let Ok(record) = cx.shared.record(&pair(payload.from, port, payload.to), most) {
        let before = record.validated.replace(payload.from.port());
        if before.is_some_and(|before| before != payload.from.port()) {
            (record.has_continued, record.challenged) = (false, false);
        }
        if words.heartbeat.is_some() {
            sink.returns_challenge([payload.time, record.latest], payload);
        }
    }
}

/// The query port and the game of a heartbeat that comes with the response to a challenge, which is `due` or not.
fn announced<'a, S: Sink>(
    due: bool,
    payload: &Payload<'_>,
    words: &TextProperties<'a>,
    sink: &mut S,
) -> Option<(u16, &'a [u8])> {
    // A key missing in the response to a challenge is not a fault of its heartbeat.
    let heartbeat = words.heartbeat.filter(|_| !due || words.gamename.is_some());
    let announced = heartbeat.map(|_| layout(words, sink));
    if due && announced != Some(None) {
        let as_query = words.numbering != Numbering::Absent;
        let missing = match (words.heartbeat, words.gamename, words.closed) {
            (None, ..) => Some("heartbeat"),
            (_, None, _) => Some("gamename"),
            (.., None) if !as_query => Some("final"),
            _ => None,
        };
        // A response to a query has its `\final` in its last part.
        if missing.is_some() || words.closed.is_some() {
            rules::challenge_answered(missing, as_query, payload.lost, &payload.mark(), sink);
        }
    }
    announced.flatten()
}

/// A query may contain a challenge: its response, which is due for the query, may hold a validate.
pub(super) fn challenged_in_query(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
) {
    if let Some(challenge) = words.secure {
        cx.conversation.uplink().challenges.give(challenge.value, payload);
    }
}

/// A response to a query, or a part of one, also answers a challenge if one was given and there is
/// a validate in it. Its other keys may be the game's own, except for a server's heartbeat.
pub(super) fn answered<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    let Some(uplink) = cx.conversation.uplink_so_far() else { return };
    let Some(code) = words.validate.filter(|_| words.is_sound()) else { return };
    if uplink.challenges.is_empty() {
        return;
    }
    let heartbeat = words.heartbeat.filter(|_| uplink.is_server(payload.side));
    rules::validate_string(code, sink);
    validate(cx, payload, &TextProperties { heartbeat, ..*words }, sink);
}

/// Removes overdue challenges and heartbeats, or with `end` all. While the capture has no packet of
/// the party that should respond, it may still appear.
pub(super) fn expire<S: Sink>(cx: &mut Cx<'_>, now: Time, end: bool, sink: &mut S) {
    let (flow, clock) = (cx.flow, cx.settings.clock(now));
    let Some(uplink) = cx.conversation.uplink_so_far() else { return };
    let is_due = |asked: &mut Request<()>| {
        end || asked.is_overdue(clock) && flow.seen[asked.mark.side.other().index()]
    };
    if let Some(first) = uplink.first.take_if(is_due) {
        let [server, master] = flow.ends_from(first.mark.side);
        let port = uplink.beat.as_ref().map_or(server.port(), |beat| beat.0);
        let (pair, most) = (pair(server, port, master), cx.settings.limits.remembered);
        // The effect of a challenge from another port was reported when it came.
        if !cx.shared.was_challenged(&pair, server.port(), first.mark.time, most) {
            rules::unchallenged(flow.missing(&first, clock), &first.mark, sink);
        }
        cx.shared.waits(&pair, server.port(), false, most);
    }
    if let Some(due) = uplink.due.take_if(is_due) {
        let (evidence, mark) = (flow.missing(&due, clock), due.mark);
        let is_proven = evidence.suffices(NeededEvidence::Response);
        let port = uplink.beat.as_ref().map(|beat| beat.0);
        // What the master does then shows whether the response was only not recorded.
        let before = uplink.ignored.replace((due, 0));
        if let Some((before, _)) = before {
            rules::challenge_ignored(flow.missing(&before, clock), &before.mark, sink);
        }
        if let Some(port) = port.filter(|_| is_proven) {
            let [to, from] = cx.flow.ends_from(mark.side);
            let step = Registration { port, step: RegistrationStep::Ignored };
            sink.cross_flow(CrossFlowEvent::Registered(step), SeenMessage { mark, from, to });
        }
    }
    if end && let Some((ignored, beats)) = cx.conversation.uplink().ignored.take() {
        let missing = flow.missing(&ignored, clock);
        let lossy = missing.lossy || beats >= CONTENT && !missing.refused && !missing.complete;
        rules::challenge_ignored(Evidence { lossy, ..missing }, &ignored.mark, sink);
    }
}

/// The server is challenged again, or answers late: an earlier challenge, which it left without an answer, was not answered
/// somewhere else.
fn challenged_again<S: Sink>(cx: &mut Cx<'_>, now: Time, sink: &mut S) {
    if let Some((ignored, _)) = cx.conversation.uplink().ignored.take() {
        let evidence = cx.flow.missing(&ignored, cx.settings.clock(now));
        rules::challenge_ignored(evidence, &ignored.mark, sink);
    }
}
