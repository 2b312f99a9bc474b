//! A client and a master on one TCP connection: challenge, validate, list, close.

use crate::kit::{
    Closed as How, Context, Evidence, FlowFacts, GameName, Mark, Payload, Reply, Side, Sink, Time,
};

use super::codes::{self, RecentChallenges, ValidateResult};
use super::form::Form;
use super::list::ListPlace;
use super::rules::{CloseReason, CloseTiming, PriorValidate};
use super::shared;
use super::validate::RESPONSE;
use super::words::TextProperties;
use super::{GameSpy1, rules};

type Cx<'c> = Context<'c, GameSpy1>;

/// The client's validate.
struct ClientValidate {
    game: Box<[u8]>,
    worth: ValidateResult,
    mark: Mark,
    /// The response, if it came before the challenge.
    early: Option<[u8; RESPONSE]>,
    lost: bool,
}

/// The state of one connection.
#[derive(Default)]
pub(super) struct MasterConnection {
    client: Option<Side>,
    /// The side whose first text began before the other side sent anything.
    opener: Option<Side>,
    /// The client's first message.
    client_first: Option<Mark>,
    master_spoke: bool,
    /// The master's first message was wrong.
    misopened: bool,
    challenges: RecentChallenges,
    /// The latest challenge that is not answered yet.
    challenge: Option<Mark>,
    validated: Option<ClientValidate>,
    /// The form of the latest list request that is not answered yet.
    asked: Option<(Form, Mark)>,
    /// That request is not wrong, and the master has sent nothing else since then.
    is_due: bool,
    /// The client asks for the list of a game whose clients send no correct code.
    is_exempt: bool,
    /// The side that synchronises its list with the other one's: it is a master, too.
    synchronises: Option<Side>,
    /// A whole list was sent, and no other was requested since.
    listed: bool,
    /// The encryption that the client asks for.
    enctype: u8,
    /// A list without its end: `true` if the recording may have lost the end.
    cut: Option<(Mark, bool)>,
    /// Why the master should close the connection.
    closing: Option<(CloseReason, Mark)>,
    closed: [bool; 2],
}

impl MasterConnection {
    /// Heap memory in bytes.
    pub(super) fn held(&self) -> usize {
        self.validated.as_ref().map_or(0, |it| it.game.len())
    }

    /// Whether this side is known to be the master's.
    pub(super) fn is_master(&self, side: Side) -> bool {
        self.client == Some(side.other())
    }

    /// The form of the list that is due from the master, if one was requested.
    pub(super) fn owes(&self) -> Option<Form> {
        let asked = self.asks()?;
        Some(if self.enctype != 0 { Form::Enciphered } else { asked })
    }

    /// The form of the list that is due from the master, before encryption.
    pub(super) fn asks(&self) -> Option<Form> {
        self.asked.map(|(form, _)| form)
    }

    /// Whether the other side has asked for this one's whole list, as masters do.
    pub(super) fn is_due_to_synchronise(&self, side: Side) -> bool {
        self.synchronises == Some(side.other())
    }

    /// The form of the list that is due from this side, if the other side requested one.
    pub(super) fn due(&self, side: Side, words: &TextProperties<'_>) -> Option<Form> {
        let form = Form::asked(words.list.filter(|_| self.client != Some(side))?.value);
        let plain = self.enctype == 0 && words.enctype == 0;
        Some(if plain { form } else { Form::Enciphered })
    }

    /// Determines which side is the master: from a message that only one party sends, or from the side that
    /// opened the connection.
    fn learn(&mut self, client: Option<Side>, began: bool) {
        let opener = began.then_some(Side::First);
        self.client = self.client.or(client).or(opener);
    }

    /// The client sent something. Returns whether this was its first message.
    fn client_speaks<S: Sink>(&mut self, payload: &Payload<'_>, sink: &mut S) -> bool {
        let first = self.client_first.is_none();
        self.client_first.get_or_insert(payload.mark());
        if first && self.challenge.is_some() {
            rules::client_waits(self.opener != Some(payload.side), payload.whole(), sink);
        }
        first
    }

    /// The client's own fault if it gets no list: a wrong validate, or a request without one.
    /// `began`: no validate can have been sent before the recording.
    fn is_refused(&self, began: bool) -> Option<Mark> {
        match (&self.validated, &self.asked) {
            _ if self.is_exempt => None,
            (Some(ClientValidate { worth: ValidateResult::Wrong, mark, .. }), _) => Some(*mark),
            (None, Some((_, mark))) if began => Some(*mark),
            _ => None,
        }
    }
}

/// A text of this side begins before the other side sends anything.
pub(super) fn opens(cx: &mut Cx<'_>, side: Side) {
    cx.conversation.connection().opener.get_or_insert(side);
}

/// The master sent something. `challenge`: it gives one; `basic` comes before it.
fn master_speaks<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    challenge: bool,
    basic: bool,
    sink: &mut S,
) {
    let connection = cx.conversation.connection();
    let first = !std::mem::replace(&mut connection.master_spoke, true);
    connection.is_due &= challenge;
    if first {
        connection.misopened = !challenge;
        rules::master_opens(challenge, basic, payload.whole(), sink);
    }
    // The first challenge does not answer anything.
    if let Some((why @ CloseReason::BadValidate, mark)) = connection.closing
        && !(first && challenge)
    {
        connection.closing = None;
        let evidence = Evidence { began: cx.flow.began, ..Evidence::default() };
        rules::master_closes(why, CloseTiming::Spoke, evidence, &mark, sink);
    }
}

/// A challenge.
pub(super) fn secure<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    cx.conversation.connection().learn(Some(payload.side.other()), cx.flow.began);
    if !cx.conversation.connection().is_master(payload.side) {
        return;
    }
    master_speaks(cx, payload, true, words.basic, sink);
    let connection = cx.conversation.connection();
    if connection.challenge.is_none()
        && connection.challenges.is_empty()
        && let Some(first) = connection.client_first
    {
        rules::client_hastens(cx.flow.evidence(), &first, sink);
    }
    connection.challenge = Some(payload.mark());
    let Some(challenge) = words.secure.filter(|_| words.is_sound()) else { return };
    connection.challenges.give(challenge.value, payload);
    if !payload.lost {
        rules::challenge_given(challenge.value, payload.seen(), sink);
    }
    let Some(validated) = &mut connection.validated else { return };
    let Some(early) = validated.early.take() else { return };
    if let Some(expected) =
        connection.challenges.expected(&validated.game, connection.enctype, cx.settings)
    {
        let lost = validated.lost || payload.lost;
        rules::early_code(&early, expected, lost, &validated.mark, sink);
        validated.worth =
            if early == expected { ValidateResult::Right } else { ValidateResult::Wrong };
        if validated.worth == ValidateResult::Wrong && !lost {
            connection.closing = Some((CloseReason::BadValidate, validated.mark));
        }
    }
}

/// A client's first message, or what it sent instead.
pub(super) fn validate<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    cx.conversation.connection().learn(Some(payload.side), cx.flow.began);
    let connection = cx.conversation.connection();
    if connection.is_master(payload.side) {
        other(cx, payload, sink);
        return;
    }
    let first = connection.client_speaks(payload, sink);
    if let Some(challenge) = connection.challenge.take() {
        sink.answers(Reply::to(challenge.frame, challenge.time));
    }
    if !words.is_sound() {
        return;
    }
    connection.is_exempt |= words.is_exempt();
    if first {
        client_opens(payload, words, sink);
    }
    connection.enctype = words.enctype;
    let Some(code) = words.code() else { return };
    let game = words.gamename.map(|game| game.value);
    let worth = connection.challenges.check(
        game,
        code,
        words.enctype,
        payload.time,
        false,
        cx.settings,
        sink,
    );
    let early = connection.challenges.is_empty() && !connection.master_spoke;
    let lost = payload.lost;
    let wrong = worth == ValidateResult::Wrong && !lost && !connection.is_exempt;
    // A later validate does not undo a wrong one.
    if !matches!(connection.closing, Some((CloseReason::BadValidate, _))) {
        connection.closing = wrong.then_some((CloseReason::BadValidate, payload.mark()));
    }
    connection.validated = Some(ClientValidate {
        game: shared::name(game.unwrap_or_default()),
        worth: if lost { ValidateResult::Unknown } else { worth },
        mark: payload.mark(),
        early: code.value.try_into().ok().filter(|_| early),
        lost,
    });
}

/// Checks a client's first message.
fn client_opens<S: Sink>(payload: &Payload<'_>, words: &TextProperties<'_>, sink: &mut S) {
    let missing = [
        (words.gamename.is_none(), "gamename"),
        (!words.location, "location"),
        (words.code().is_none(), "validate"),
    ];
    let missing = missing.into_iter().find_map(|(missing, what)| missing.then_some(what));
    match missing.filter(|_| words.code().is_none() && words.is_exempt()) {
        Some(missing) => rules::client_exempt(missing, payload.whole(), sink),
        None => rules::client_opens(missing, payload.whole(), sink),
    }
}

/// A master asks another one for its whole list.
pub(super) fn sync_request<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    other(cx, payload, sink);
    cx.conversation.connection().synchronises = Some(payload.side);
}

/// A list request.
pub(super) fn list_request<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &TextProperties<'_>,
    sink: &mut S,
) {
    cx.conversation.connection().learn(Some(payload.side), cx.flow.began);
    let connection = cx.conversation.connection();
    if connection.is_master(payload.side) {
        other(cx, payload, sink);
        return;
    }
    connection.is_exempt |= words.is_exempt();
    if connection.client_speaks(payload, sink) && words.is_sound() {
        client_opens(payload, words, sink);
    }
    let value = words.list.map(|list| list.value).unwrap_or_default();
    connection.asked = Some((Form::asked(value), payload.mark()));
    connection.listed = false;
    let validated = connection.validated.as_ref();
    let is_in_turn = validated.map_or(connection.is_exempt, |it| it.early.is_none());
    connection.is_due = words.is_sound() && !payload.lost && is_in_turn;
    let at = words.list.map_or(payload.whole(), |list| list.at);
    if connection.validated.is_some() || !connection.is_exempt {
        rules::list_after_validate(connection.validated.is_some(), at, sink);
    }
    if let Some(validated) = &connection.validated
        && words.is_sound()
        && !validated.game.is_empty()
    {
        connection.is_due &= rules::list_game(words.gamename, &validated.game, sink);
    }
}

/// Whether a list that comes now is the master's list of servers; it also shows which side is the master.
pub(super) fn lists(cx: &mut Cx<'_>, payload: &Payload<'_>) -> Option<ListPlace> {
    let connection = cx.conversation.connection();
    connection.learn(Some(payload.side.other()), cx.flow.began);
    let is_due = connection.asked.is_some() && connection.cut.is_none() && !payload.lost;
    let game = connection.validated.as_ref().filter(|it| is_due && !it.game.is_empty());
    let game = game.map(|validated| GameName::of(&validated.game));
    connection.is_master(payload.side).then(|| ListPlace { seen: payload.seen(), game })
}

/// Checks that a list was sent to a client that may have it.
fn list_granted<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let connection = cx.conversation.connection();
    if let Some(validated) = &connection.validated
        && validated.worth == ValidateResult::Unknown
        && connection.challenges.are_unseen()
        && may_lack_challenge(cx.flow)
        && codes::has_key(&validated.game, cx.settings)
    {
        rules::list_unproven(&payload.mark(), sink);
    }
    let worth = connection.validated.as_ref().map(|validated| validated.worth);
    let grant = match worth {
        Some(ValidateResult::Right) => Some(PriorValidate::Right),
        _ if connection.is_exempt => None,
        None => Some(PriorValidate::Missing),
        Some(ValidateResult::Wrong) => Some(PriorValidate::Wrong),
        Some(ValidateResult::Unknown) => None,
    };
    // A master that never gave a challenge cannot protect its list: that is reported.
    if let Some(grant) = grant.filter(|_| !connection.misopened || !cx.flow.began) {
        rules::list_guarded(grant, payload.whole(), sink);
    }
}

/// A list was sent; `complete`: with its end, `None` if that is unknown.
pub(super) fn list_response<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    complete: Option<bool>,
    sink: &mut S,
) {
    cx.conversation.connection().learn(Some(payload.side.other()), cx.flow.began);
    let connection = cx.conversation.connection();
    if !connection.is_master(payload.side) {
        other(cx, payload, sink);
        return;
    }
    // If the client is recorded, it has not requested another one.
    if connection.listed && connection.asked.is_none() && cx.flow.seen == [true; 2] {
        rules::list_after(payload.whole(), sink);
        return;
    }
    master_speaks(cx, payload, false, false, sink);
    if payload.lost && complete == Some(false) {
        rules::list_lost(payload.whole(), sink);
    }
    let connection = cx.conversation.connection();
    if let Some((_, asked)) = connection.asked.take() {
        sink.answers(Reply::to(asked.frame, asked.time));
    }
    connection.listed = complete != Some(false);
    list_granted(cx, payload, sink);
    let connection = cx.conversation.connection();
    let mark = payload.mark();
    let open = !connection.closed[payload.side.index()];
    connection.closing = open.then_some((CloseReason::Listed, mark));
    match complete {
        Some(true) => {
            // It may have arrived in pieces.
            connection.cut = None;
            rules::list_complete(payload.whole(), sink);
        }
        Some(false) if !connection.closed[payload.side.other().index()] => {
            connection.closing = None;
            connection.cut = Some((mark, payload.lost));
            if connection.closed[payload.side.index()] {
                check_cut(cx, sink);
            }
        }
        Some(false) => connection.closing = None,
        None => {}
    }
}

fn check_cut<S: Sink>(cx: &mut Cx<'_>, sink: &mut S) {
    if let Some((mark, lost)) = cx.conversation.connection().cut.take() {
        rules::list_cut(lost, &mark, sink);
    }
}

/// Any other message.
pub(super) fn other<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    cx.conversation.connection().learn(None, cx.flow.began);
    let connection = cx.conversation.connection();
    let Some(client) = connection.client else { return };
    if client == payload.side {
        if connection.client_speaks(payload, sink) {
            rules::client_opens(Some("gamename"), payload.whole(), sink);
        }
        return;
    }
    master_speaks(cx, payload, false, false, sink);
}

/// A direction has ended.
pub(super) fn closed<S: Sink>(cx: &mut Cx<'_>, _: How, payload: &Payload<'_>, sink: &mut S) {
    let (began, timeout) = (cx.flow.began, cx.settings.answer_timeout);
    let connection = cx.conversation.connection();
    if let Some(closed) = connection.closed.get_mut(payload.side.index()) {
        *closed = true;
    }
    let is_master = connection.is_master(payload.side);
    let client_left = connection.closed[payload.side.other().index()];
    if let Some((why, mark)) = connection.closing {
        let late = payload.time.since(mark.time);
        let evidence = Evidence { began, lost: payload.lost, ..Evidence::default() };
        let closed = match is_master {
            true if late <= timeout => Some(CloseTiming::InTime),
            true if !client_left => Some(CloseTiming::Late(late)),
            // The timeout has passed.
            false if late > timeout => Some(CloseTiming::Left(late)),
            _ => None,
        };
        if let Some(closed) = closed {
            rules::master_closes(why, closed, evidence, &mark, sink);
        }
        if is_master || closed.is_some() {
            connection.closing = None;
        }
    }
    if !is_master {
        return;
    }
    if !connection.listed && connection.cut.is_none() {
        match connection.is_refused(began) {
            Some(mark) => rules::list_refused(&mark, sink),
            None if !client_left => list_withheld(cx, payload.lost, sink),
            None => {}
        }
    }
    check_cut(cx, sink);
}

/// The master closes the connection, and has sent no list, nor anything in its place.
fn list_withheld<S: Sink>(cx: &mut Cx<'_>, lost: bool, sink: &mut S) {
    let evidence = cx.flow.evidence();
    let connection = cx.conversation.connection();
    let Some((_, mark)) = connection.asked.take_if(|_| connection.is_due) else { return };
    // Without the game's key it is unknown whether it owes one.
    let worth = connection.validated.as_ref().map(|validated| validated.worth);
    let is_owed = worth == Some(ValidateResult::Right) || connection.is_exempt;
    rules::list_withheld(Evidence { lost: lost || !is_owed, ..evidence }, &mark, sink);
}

/// Whether a challenge may have been given that is not in the capture.
fn may_lack_challenge(flow: &FlowFacts) -> bool {
    flow.lossy || !flow.began || flow.seen != [true; 2]
}

/// The flow has ended: checks what is pending.
pub(super) fn end<S: Sink>(cx: &mut Cx<'_>, now: Time, sink: &mut S) {
    let (flow, timeout) = (cx.flow, cx.settings.answer_timeout);
    let Some(connection) = cx.conversation.connection_so_far() else { return };
    if let Some((mark, _)) = connection.cut.take() {
        // The end of the list may have come after the end of the recording.
        rules::list_cut(true, &mark, sink);
    }
    if let Some(validated) = &connection.validated
        && validated.early.is_some()
        && may_lack_challenge(flow)
        && codes::has_key(&validated.game, cx.settings)
    {
        rules::challenge_unseen(&validated.mark, sink);
    }
    let Some(client) = connection.client else { return };
    let is_closed = |side: Side| connection.closed[side.index()];
    if let Some(first) = connection.client_first.filter(|_| !connection.master_spoke) {
        let waited = now.since(first.time) >= timeout || is_closed(client.other());
        let evidence = Evidence { lost: !waited, ..flow.evidence() };
        rules::master_silent(evidence, &first, sink);
    }
    let Some((why, mark)) = connection.closing.take() else { return };
    if connection.closed[client.index()] {
        return;
    }
    let evidence = flow.unanswered(client.other(), mark.time, now, timeout);
    // A filter that passes only segments with bytes hides the beginning and the end.
    let evidence = Evidence { lossy: !flow.began, ..evidence };
    rules::master_closes(why, CloseTiming::Open, evidence, &mark, sink);
}
