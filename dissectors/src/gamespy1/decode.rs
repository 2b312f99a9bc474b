//! Decodes the fields of one whole message.

use super::fields as f;
use super::form::Form;
use super::framing::{ENDINGS, framing};
use super::list;
use super::words::{self, TextPairs, TextProperties, decimal, is_query};
use super::{messages, rules};
use crate::kit::{Message, Pair, Reader, Sink, Span, Transport, decode};

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    Heartbeat,
    Secure,
    Validate,
    ListRequest,
    /// In this form.
    ListResponse(Form),
    Query,
    Response,
    SyncRequest,
    SyncResponse,
    Other,
}

impl MessageKind {
    pub(super) fn message(self) -> &'static Message {
        match self {
            MessageKind::Heartbeat => &messages::HEARTBEAT,
            MessageKind::Secure => &messages::SECURE,
            MessageKind::Validate => &messages::VALIDATE,
            MessageKind::ListRequest => &messages::LIST_REQUEST,
            MessageKind::ListResponse(_) => &messages::LIST_RESPONSE,
            MessageKind::Query => &messages::QUERY,
            MessageKind::Response => &messages::QUERY_RESPONSE,
            MessageKind::SyncRequest => &messages::SYNC_REQUEST,
            MessageKind::SyncResponse => &messages::SYNC_RESPONSE,
            MessageKind::Other => &messages::TEXT,
        }
    }

    /// The kind of a text.
    pub(super) fn of(words: &TextProperties<'_>, transport: Transport, wants: Form) -> MessageKind {
        let tcp = transport == Transport::Tcp;
        let numbered = words.numbering != words::Numbering::Absent;
        // Whatever its keys: a game may use any names.
        if !tcp && (numbered && words.properties > 0 || words.is_part()) {
            return MessageKind::Response;
        }
        match words.first {
            b"ip" => return MessageKind::ListResponse(Form::Text),
            b"list" => return MessageKind::ListRequest,
            words::FINAL if tcp => return MessageKind::ListResponse(wants),
            _ => {}
        }
        if words.heartbeat.is_some() {
            let answers = words.validate.is_some();
            return if answers { MessageKind::Validate } else { MessageKind::Heartbeat };
        }
        if words.validate.is_some() && (tcp || words.properties == 0) {
            return MessageKind::Validate;
        }
        if words.secure.is_some() && words.queries == 0 && !numbered {
            return MessageKind::Secure;
        }
        if tcp {
            return match (words.first, wants) {
                (b"gamename", _) => MessageKind::Validate,
                // A master may greet before its list.
                (b"echo", _) if words.lists => MessageKind::ListResponse(Form::Text),
                (b"echo", _) => MessageKind::Other,
                (b"sync", _) => MessageKind::SyncRequest,
                (_, Form::Groups | Form::Info) => MessageKind::ListResponse(wants),
                _ => MessageKind::Other,
            };
        }
        let query = is_query(words.first) || words.first == b"secure";
        match () {
            () if query && !numbered && words.properties == 0 => MessageKind::Query,
            () if words.asks_unknown => MessageKind::Query,
            () if numbered || words.closed.is_some() => MessageKind::Response,
            () if words.properties > 0 && words.gamename.is_some() => MessageKind::Response,
            () => MessageKind::Other,
        }
    }
}

/// Decodes a text, and checks the rules about a single text: its pairs and its end.
pub(super) fn message<S: Sink>(
    bytes: &[u8],
    words: &TextProperties<'_>,
    kind: MessageKind,
    sink: &mut S,
) {
    if kind == MessageKind::ListResponse(Form::Text) {
        list::text(bytes, None, sink);
        return;
    }
    decode(bytes, &ENDINGS, sink, |r| {
        if let MessageKind::ListResponse(form) = kind {
            r.leaf(&f::FORM, 0, form as u64);
        }
        let in_map = matches!(
            kind,
            MessageKind::Response
                | MessageKind::SyncRequest
                | MessageKind::SyncResponse
                | MessageKind::Other
        );
        if in_map {
            properties(r, bytes, 0, kind);
        } else {
            pairs(r, bytes, 0, kind);
        }
        Ok(())
    });
    rules::pairs(words.first_fault(), sink);
    if !words.is_sound() {
        return;
    }
    // A numbered one may be a part: the end is in another.
    let numbered = words.numbering != words::Numbering::Absent;
    let owes_final = kind == MessageKind::Validate || kind == MessageKind::Response && !numbered;
    if owes_final || words.closed.is_some() {
        rules::final_closes(words.closed, words.after, words.numbered_after, sink);
    }
    // In a response they may be the game's own keys: the conversation decides.
    if kind == MessageKind::Response {
        return;
    }
    if let Some(challenge) = words.secure {
        rules::secure_string(challenge, sink);
    }
    if let Some(code) = words.code() {
        rules::validate_string(code, sink);
    }
}

/// Shows the bytes after the `\final\` of a list.
pub(super) fn loose<S: Sink>(bytes: &[u8], sink: &mut S) {
    decode(bytes, &ENDINGS, sink, |r| {
        properties(r, bytes, 0, MessageKind::Other);
        Ok(())
    });
    let whole = Span::new(0, bytes.len());
    rules::final_closes(Some(whole), Some(whole), false, sink);
}

/// Shows words, and the pairs after them, if there are any.
pub(super) fn plain<S: Sink>(bytes: &[u8], sink: &mut S) {
    decode(bytes, &ENDINGS, sink, |r| {
        let length = bytes.iter().position(|byte| *byte == b'\\').unwrap_or(bytes.len());
        r.text_of(&f::WORDS, length);
        if let Some(rest) = bytes.get(length..).filter(|rest| !rest.is_empty()) {
            properties(r, rest, length, MessageKind::Other);
        }
        Ok(())
    });
}

/// Decodes a response that was joined from datagrams; each ends at one of `ends`. `closed`: only
/// the last part has `\final\`. Returns the texts of the response.
pub(super) fn joined<'a, S: Sink>(
    bytes: &'a [u8],
    ends: &[usize],
    closed: bool,
    sink: &mut S,
) -> TextProperties<'a> {
    decode(bytes, &ENDINGS, sink, |r| {
        r.open(&f::PROPERTIES);
        for &end in ends {
            let start = r.at();
            pairs(r, bytes.get(start..end).unwrap_or_default(), start, MessageKind::Response);
        }
        r.close();
        Ok(())
    });
    let mut words = TextProperties::default();
    let mut start = 0;
    for &end in ends {
        words.read(bytes.get(start..end).unwrap_or_default(), start);
        start = end;
    }
    rules::pairs(words.first_fault(), sink);
    if words.is_sound() && closed {
        rules::final_closes(words.closed, words.after, words.numbered_after, sink);
    }
    words
}

/// Decodes a datagram of an incomplete response.
pub(super) fn fragment<S: Sink>(
    bytes: &[u8],
    words: &TextProperties<'_>,
    response: u32,
    part: u32,
    sink: &mut S,
) {
    decode(bytes, &ENDINGS, sink, |r| {
        r.leaf(&f::FRAGMENT_OF, 0, response.into());
        r.leaf(&f::PART, 0, part.into());
        properties(r, bytes, 0, MessageKind::Response);
        Ok(())
    });
    rules::pairs(words.first_fault(), sink);
}

/// The fields that have been shown already, for those that are shown once.
#[derive(Default)]
struct ShownValue {
    port: bool,
    gamename: bool,
    location: bool,
    validate: bool,
    challenge: bool,
    query: bool,
}

/// The pairs of a text as a map.
fn properties<S: Sink>(r: &mut Reader<'_, S>, text: &[u8], start: usize, kind: MessageKind) {
    r.open(&f::PROPERTIES);
    pairs(r, text, start, kind);
    r.close();
}

fn pairs<S: Sink>(r: &mut Reader<'_, S>, text: &[u8], start: usize, kind: MessageKind) {
    let mut shown = ShownValue::default();
    for pair in TextPairs::new(text, start) {
        match pair.key {
            b"" if pair.value.is_none() => framing(r, &f::BACKSLASH, pair.at(), pair.at()),
            words::FINAL => framing(r, &f::FINAL, pair.at(), pair.key_at()),
            words::QUERYID => framing(r, &f::QUERYID, pair.at(), pair.value_at()),
            _ => keyed(r, &pair, kind, &mut shown),
        }
    }
}

fn keyed<S: Sink>(
    r: &mut Reader<'_, S>,
    pair: &Pair<'_>,
    kind: MessageKind,
    shown: &mut ShownValue,
) {
    let first = |shown: &mut bool| !std::mem::replace(shown, true);
    let field = match (kind, pair.key) {
        (MessageKind::Response | MessageKind::Other | MessageKind::ListResponse(_), _) => None,
        (MessageKind::Heartbeat | MessageKind::Validate, b"heartbeat")
            if first(&mut shown.port) =>
        {
            return port(r, pair);
        }
        (MessageKind::Query, b"secure") if !shown.query && first(&mut shown.query) => {
            return query(r, pair);
        }
        (MessageKind::Query, key) if is_query(key) && first(&mut shown.query) => {
            return query(r, pair);
        }
        (MessageKind::Secure | MessageKind::Query, b"secure") if first(&mut shown.challenge) => {
            Some(&f::CHALLENGE)
        }
        (_, b"gamename") if first(&mut shown.gamename) => Some(&f::GAMENAME),
        (MessageKind::Validate, b"location") if first(&mut shown.location) => Some(&f::LOCATION),
        (MessageKind::Validate, b"validate") if first(&mut shown.validate) => Some(&f::VALIDATE),
        (MessageKind::ListRequest, b"list") if !pair.text().is_empty() => Some(&f::LIST),
        _ => None,
    };
    let bare = pair.text().is_empty() && words::is_bare(pair.key);
    match field {
        Some(field) => framing(r, field, pair.at(), pair.value_at()),
        None if bare && !matches!(kind, MessageKind::Response | MessageKind::Other) => {
            framing(r, &f::KEYWORD, pair.at(), pair.key_at());
        }
        None => r.pair(&f::OTHER, pair),
    }
}

fn port<S: Sink>(r: &mut Reader<'_, S>, pair: &Pair<'_>) {
    match decimal::<u32>(pair.text()).filter(|_| !pair.text().is_empty()) {
        Some(port) => {
            r.leaf(&f::PORT, pair.at().len() as usize, port.into());
        }
        None => framing(r, &f::PORT_TEXT, pair.at(), pair.value_at()),
    }
}

/// The first keyword of a query, and its argument.
fn query<S: Sink>(r: &mut Reader<'_, S>, pair: &Pair<'_>) {
    let (key, at) = (pair.key_at(), pair.at());
    if pair.text().is_empty() {
        framing(r, &f::QUERY, at, key);
        return;
    }
    framing(r, &f::QUERY, Span { start: at.start, end: key.end }, key);
    let field = if pair.key == b"secure" { &f::CHALLENGE } else { &f::ARGUMENT };
    framing(r, field, at, pair.value_at());
}
