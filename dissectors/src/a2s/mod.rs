//! A2S, the queries of Source and GoldSource game servers: Valve Developer Community, "Server
//! queries".
//!
//! What is odd about it: a request may first be answered by a challenge that it must then carry;
//! an answer may be split over packets in one of three layouts which do not tell themselves apart,
//! compressed or not (see `split`); info is answered in two forms; and games talk on the same port.

mod asked;
mod claim;
mod decode;
mod done;
mod facts;
mod fields;
mod inflate;
mod layout;
mod messages;
mod parts;
mod repeats;
pub(crate) mod rules;
mod split;
mod state;
mod talk;
mod tally;
mod waiting;
mod walk;

#[cfg(test)]
mod tests;

pub use state::{Book, Talk};

use crate::kit::{Claim, Context, Hint, Info, Payload, Protocol, Sink, Time};

/// The protocol.
pub struct A2s;

/// Ports that game servers usually answer on.
const PORTS: &[u16] =
    &[27015, 27016, 27017, 27018, 27019, 27020, 27025, 27035, 27045, 27115, 26900, 28015, 2303];

/// Whether servers usually answer on this port.
fn is_usual(port: u16) -> bool {
    PORTS.contains(&port)
}

impl Protocol for A2s {
    const INFO: Info = Info {
        id: "a2s",
        title: "A2S server queries",
        ports: PORTS,
        messages: messages::ALL,
        rules: rules::ALL,
        idle: Info::QUERIES,
    };
    type Talk = Talk;
    type Book = Book;

    #[inline]
    fn claim(bytes: &[u8], hint: Hint) -> Claim {
        claim::claim(bytes, hint)
    }

    fn opens(bytes: &[u8]) -> bool {
        claim::opens(bytes)
    }

    fn expects(book: &mut Book, payload: &Payload<'_>) -> bool {
        let header = payload.bytes.first_chunk();
        let is_whole =
            header.is_some_and(|header| matches!(*header, layout::SINGLE | layout::SPLIT));
        is_whole && book.waiting.expects(payload)
            || claim::is_for_server(payload.bytes) && talk::is_served(book, payload)
    }

    fn forgot(book: &Book) -> bool {
        book.issued.forgot() || book.blurred.forgot() || book.waiting.elsewhere.forgot()
    }

    fn message<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
        talk::message(cx, payload, sink);
        cx.talk.tidy();
    }

    fn refused(talk: &mut Talk, frame: u64) {
        talk.refused(frame);
    }

    fn again<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
        talk::again(cx, payload, sink);
    }

    fn held(talk: &Talk) -> usize {
        talk.held()
    }

    fn deadline(talk: &Talk) -> Option<Time> {
        talk.parts_so_far()?.due()
    }

    fn elapse<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
        parts::give_up_due(cx, now, end, sink);
        talk::expire(cx, now, end, sink);
        cx.talk.tidy();
    }
}
