//! The format of all texts.

use crate::kit::{Sink, Span};
use crate::rule;

rule! {
    /// Readers take keys and values alternately: after a key without a value, every value is read
    /// as a key.
    pub GS1001 "pairs" { severity: Error, who: Any, needs: Message,
        asks: "a text is `\\key\\value` pairs; the keyword `final` alone has no value",
        cite: [("Servers", "\\heartbeat\\7778\\gamename\\ut\\")],
        right: registered!(),
        wrong: r"0.00 s:7778 > m  '\\heartbeat\\7778\\gamename'" }
}

/// `fault`: the first thing that is not a pair.
pub(in crate::gamespy1) fn pairs<S: Sink>(fault: Option<(Span, &'static str)>, sink: &mut S) {
    let (at, what) = fault.unwrap_or_default();
    sink.checked(&GS1001, fault.is_none(), at, || what.to_owned());
}

rule! {
    /// A reader of a stream waits for `\final\`: without it the message does not end, and the
    /// following bytes cannot be assigned.
    pub GS1002 "final-closes" { severity: Error, who: Any, needs: Message,
        asks: "`\\final` closes a validate, a list and a query response, followed by nothing except a backslash (a list cut by the close breaks GS1016)",
        cite: [("Clients", "\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final"),
               ("Clients", "\\ip\\255.255.255.255:7778\\ip\\255.255.255.255:7778\\...\\final")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: concat!(
            r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'", "\n",
            r"0.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5'", "\n",
            "0.05 m:28900 > c  tcp fin") }
}

/// What a finding says of a text without `\final`.
pub(in crate::gamespy1) const NOT_CLOSED: &str = "no \\final closes it";

/// `closed`: the position of `\final`; `after`: invalid bytes after it; `numbered`: a `\queryid\`
/// follows, as in GameSpy's own software.
pub(in crate::gamespy1) fn final_closes<S: Sink>(
    closed: Option<Span>,
    after: Option<Span>,
    numbered: bool,
    sink: &mut S,
) {
    match (closed, after) {
        (None, _) => sink.checked(&GS1002, false, Span::default(), || NOT_CLOSED.into()),
        (Some(_), Some(after)) => sink.checked(&GS1002, false, after, || {
            crate::kit::counted(after.len() as usize, "byte follows/bytes follow") + " \\final"
        }),
        (Some(at), None) if numbered => sink.noted(&GS1002, at, || {
            "\\queryid\\ follows \\final\\, as GameSpy's own software writes it".into()
        }),
        (Some(at), None) => sink.checked(&GS1002, true, at, String::new),
    }
}
