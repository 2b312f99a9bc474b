//! A client and a master on one TCP connection: challenge, validate, list, close.

use crate::kit::{Closed as How, Context, Evidence, Mark, Payload, Seen, Side, Sink, Time};

use super::book;
use super::codes::{Challenges, Worth};
use super::list::Form;
use super::rules::{Closed, Closing, Grant};
use super::validate::RESPONSE;
use super::words::Words;
use super::{GameSpy1, rules};

type Cx<'c> = Context<'c, GameSpy1>;

/// What a client has answered.
struct Validated {
    game: Box<[u8]>,
    worth: Worth,
    mark: Mark,
    /// The response, where it came before the challenge.
    early: Option<[u8; RESPONSE]>,
    lost: bool,
}

/// What one connection has shown.
#[derive(Default)]
pub(super) struct Connection {
    client: Option<Side>,
    client_spoke: bool,
    master_spoke: bool,
    /// The master's first words were not what they must be.
    misopened: bool,
    challenges: Challenges,
    validated: Option<Validated>,
    /// The form of the list that was asked for last.
    asked: Option<Form>,
    /// How the client wants it enciphered.
    enctype: u8,
    /// A list without its end: `true` where the recording may have lost that.
    cut: Option<(Mark, bool)>,
    /// Why the master should close.
    closing: Option<(Closing, Mark)>,
    closed: [bool; 2],
}

impl Connection {
    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        size_of::<Connection>() + self.validated.as_ref().map_or(0, |it| it.game.len())
    }

    /// Whether this side is known to be the master's.
    pub(super) fn is_master(&self, side: Side) -> bool {
        self.client == Some(side.other())
    }

    /// The form of the list that the master owes now, if it was asked for one.
    pub(super) fn owes(&self) -> Option<Form> {
        let asked = self.asked?;
        Some(if self.enctype != 0 { Form::Enciphered } else { asked })
    }

    /// The form of the list that this side owes, if the other one asks for it so.
    pub(super) fn owed(&self, side: Side, words: &Words<'_>) -> Option<Form> {
        let form = Form::asked(words.list.filter(|_| self.client != Some(side))?.value);
        let plain = self.enctype == 0 && words.enctype == 0;
        Some(if plain { form } else { Form::Enciphered })
    }

    /// Learns who is who: from a message that only one party sends, or from who opened.
    fn learn(&mut self, client: Option<Side>, began: bool) {
        let opener = began.then_some(Side::First);
        self.client = self.client.or(client).or(opener);
    }
}

/// The master speaks. `challenge`: it gives one, `basic` before it.
fn master_speaks<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    challenge: bool,
    basic: bool,
    sink: &mut S,
) {
    let connection = cx.talk.connection();
    let first = !std::mem::replace(&mut connection.master_spoke, true);
    if first {
        connection.misopened = !challenge;
        rules::master_opens(challenge, basic, payload.whole(), sink);
    }
    // The first challenge is no answer, wherever it was recorded.
    if let Some((why @ Closing::BadValidate, mark)) = connection.closing
        && !(first && challenge)
    {
        connection.closing = None;
        let evidence = Evidence { began: cx.flow.began, ..Evidence::default() };
        rules::master_closes(why, Closed::Spoke, evidence, &mark, sink);
    }
}

/// A challenge.
pub(super) fn secure<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &Words<'_>,
    sink: &mut S,
) {
    cx.talk.connection().learn(Some(payload.side.other()), cx.flow.began);
    if !cx.talk.connection().is_master(payload.side) {
        return;
    }
    master_speaks(cx, payload, true, words.basic, sink);
    let connection = cx.talk.connection();
    let Some(challenge) = words.secure.filter(|_| words.is_sound()) else { return };
    connection.challenges.give(challenge.value, payload);
    let Some(validated) = &mut connection.validated else { return };
    let Some(early) = validated.early.take() else { return };
    if let Some(expected) =
        connection.challenges.expected(&validated.game, connection.enctype, cx.settings)
    {
        let lost = validated.lost || payload.lost;
        rules::early_code(&early, expected, lost, &validated.mark, sink);
        validated.worth = if early == expected { Worth::Right } else { Worth::Wrong };
        if validated.worth == Worth::Wrong && !lost {
            connection.closing = Some((Closing::BadValidate, validated.mark));
        }
    }
}

/// A client's first words, or what stands in their place.
pub(super) fn validate<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &Words<'_>,
    sink: &mut S,
) {
    cx.talk.connection().learn(Some(payload.side), cx.flow.began);
    let connection = cx.talk.connection();
    if connection.is_master(payload.side) {
        other(cx, payload, sink);
        return;
    }
    let first = !std::mem::replace(&mut connection.client_spoke, true);
    if !words.is_sound() {
        return;
    }
    if first {
        let missing = [
            (words.gamename.is_none(), "gamename"),
            (!words.location, "location"),
            (words.validate.is_none(), "validate"),
        ];
        let missing = missing.into_iter().find_map(|(missing, what)| missing.then_some(what));
        rules::client_opens(missing, payload.whole(), sink);
    }
    connection.enctype = words.enctype;
    let Some(code) = words.validate else { return };
    let game = words.gamename.map(|game| game.value);
    let worth = connection.challenges.judge(game, (code, words.enctype), cx.settings, sink);
    let early = connection.challenges.is_empty() && !connection.master_spoke;
    let lost = payload.lost;
    let wrong = worth == Worth::Wrong && !lost;
    connection.closing = wrong.then_some((Closing::BadValidate, payload.mark()));
    connection.validated = Some(Validated {
        game: book::name(game.unwrap_or_default()),
        worth: if lost { Worth::Unknown } else { worth },
        mark: payload.mark(),
        early: code.value.try_into().ok().filter(|_| early),
        lost,
    });
}

/// A list is asked for.
pub(super) fn list_request<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    words: &Words<'_>,
    sink: &mut S,
) {
    cx.talk.connection().learn(Some(payload.side), cx.flow.began);
    let connection = cx.talk.connection();
    if connection.is_master(payload.side) {
        other(cx, payload, sink);
        return;
    }
    connection.client_spoke = true;
    let value = words.list.map(|list| list.value).unwrap_or_default();
    connection.asked = Some(Form::asked(value));
    let at = words.list.map_or(payload.whole(), |list| list.at);
    rules::list_after_validate(connection.validated.is_some(), at, sink);
    if let Some(validated) = &connection.validated
        && words.is_sound()
        && !validated.game.is_empty()
    {
        rules::list_game(words.gamename, &validated.game, sink);
    }
}

/// Whether a list that comes now is the master's, which lists servers to the client: who is who is
/// learnt from it.
pub(super) fn lists(cx: &mut Cx<'_>, payload: &Payload<'_>) -> Option<Seen> {
    cx.talk.connection().learn(Some(payload.side.other()), cx.flow.began);
    cx.talk.connection().is_master(payload.side).then(|| payload.seen())
}

/// A list was given; `complete`: with its end, `None` where that cannot be seen.
pub(super) fn list_response<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    complete: Option<bool>,
    sink: &mut S,
) {
    cx.talk.connection().learn(Some(payload.side.other()), cx.flow.began);
    let connection = cx.talk.connection();
    if !connection.is_master(payload.side) {
        other(cx, payload, sink);
        return;
    }
    // A list in answer to a wrong validate is told as such.
    connection.closing.take_if(|(why, _)| matches!(why, Closing::BadValidate));
    master_speaks(cx, payload, false, false, sink);
    if payload.lost && complete == Some(false) {
        rules::list_lost(payload.whole(), sink);
    }
    let connection = cx.talk.connection();
    connection.asked = None;
    let worth = connection.validated.as_ref().map(|validated| validated.worth);
    let grant = match worth {
        None => Some(Grant::Missing),
        Some(Worth::Right) => Some(Grant::Right),
        Some(Worth::Wrong) => Some(Grant::Wrong),
        Some(Worth::Unknown) => None,
    };
    // A master that never gave a challenge has nothing to guard the list with: that is told.
    if let Some(grant) = grant.filter(|_| !connection.misopened) {
        rules::list_guarded(grant, payload.whole(), sink);
    }
    let mark = payload.mark();
    let open = !connection.closed[payload.side.index()];
    connection.closing = open.then_some((Closing::Listed, mark));
    match complete {
        Some(true) => rules::list_complete(payload.whole(), sink),
        Some(false) if !connection.closed[payload.side.other().index()] => {
            connection.closing = None;
            connection.cut = Some((mark, payload.lost));
            if connection.closed[payload.side.index()] {
                judge_cut(cx, sink);
            }
        }
        Some(false) => connection.closing = None,
        None => {}
    }
}

fn judge_cut<S: Sink>(cx: &mut Cx<'_>, sink: &mut S) {
    if let Some((mark, lost)) = cx.talk.connection().cut.take() {
        rules::list_cut(lost, &mark, sink);
    }
}

/// Something else is said.
pub(super) fn other<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    cx.talk.connection().learn(None, cx.flow.began);
    let connection = cx.talk.connection();
    let Some(client) = connection.client else { return };
    if client == payload.side {
        if !std::mem::replace(&mut connection.client_spoke, true) {
            rules::client_opens(Some("gamename"), payload.whole(), sink);
        }
        return;
    }
    master_speaks(cx, payload, false, false, sink);
}

/// A direction has ended.
pub(super) fn closed<S: Sink>(cx: &mut Cx<'_>, _: How, payload: &Payload<'_>, sink: &mut S) {
    let (began, timeout) = (cx.flow.began, cx.settings.answer_timeout);
    let connection = cx.talk.connection();
    if let Some(closed) = connection.closed.get_mut(payload.side.index()) {
        *closed = true;
    }
    if !connection.is_master(payload.side) {
        return;
    }
    if let Some((why, mark)) = connection.closing.take() {
        let late = payload.time.since(mark.time);
        let client_left = connection.closed[payload.side.other().index()];
        if late <= timeout || !client_left {
            let closed = if late <= timeout { Closed::InTime } else { Closed::Late(late) };
            let evidence = Evidence { began, lost: payload.lost, ..Evidence::default() };
            rules::master_closes(why, closed, evidence, &mark, sink);
        }
    }
    judge_cut(cx, sink);
}

/// The flow has ended: what is open is judged.
pub(super) fn end<S: Sink>(cx: &mut Cx<'_>, now: Time, sink: &mut S) {
    let (seen, began, timeout) = (cx.flow.seen, cx.flow.began, cx.settings.answer_timeout);
    let Some(connection) = cx.talk.connection_so_far() else { return };
    if let Some((mark, _)) = connection.cut.take() {
        // The end of the list may have come behind the end of the recording.
        rules::list_cut(true, &mark, sink);
    }
    let Some((why, mark)) = connection.closing.take() else { return };
    let Some(client) = connection.client else { return };
    if connection.closed[client.index()] {
        return;
    }
    let evidence = Evidence {
        began,
        asked_party_seen: seen[client.other().index()],
        waited: now.since(mark.time) >= timeout,
        ..Evidence::default()
    };
    rules::master_closes(why, Closed::Open, evidence, &mark, sink);
}
