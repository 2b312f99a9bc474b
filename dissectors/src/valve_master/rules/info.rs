//! The format of the info string of a challenge response.

use crate::kit::{Rule, Sink, Span};
use crate::rule;

rule! {
    /// Masters recognize an info string by 30 0A, and its end by the last 0A.
    pub VM032 "info-frame" { severity: Error, who: Server, needs: Message,
        asks: "a challenge response is 30 0A, the info string and a last 0A",
        cite: [("Challenge response", "the game server then sends its challenge information in the following format:")],
        right: joined!(goldsrc!("1339895702")),
        wrong: joined!(goldsrc!("1339895702"), " 00") }
}

/// The bytes around an info string.
#[derive(Clone, Copy, Debug)]
pub(in crate::valve_master) struct InfoFrame {
    /// 0A follows the 30.
    pub(in crate::valve_master) fed: bool,
    /// 0A ends it.
    pub(in crate::valve_master) closed: bool,
    /// The number of bytes after that.
    pub(in crate::valve_master) after: usize,
}

impl InfoFrame {
    /// It conforms to the specification.
    pub(in crate::valve_master) fn is_right(self) -> bool {
        self.fed && self.closed && self.after == 0
    }
}

pub(in crate::valve_master) fn info_frame<S: Sink>(frame: InfoFrame, at: Span, sink: &mut S) {
    sink.checked(&VM032, frame.is_right(), at, || match frame {
        InfoFrame { fed: false, .. } => "30 is not followed by 0A".to_owned(),
        InfoFrame { closed: false, .. } => "no 0A ends the info string".to_owned(),
        InfoFrame { after, .. } => {
            format!("{} the last 0A", crate::kit::counted(after, "zero follows/zeros follow"))
        }
    });
}

rule! {
    /// Only backslashes separate keys and values: if one is missing, all following keys and values
    /// are swapped.
    pub VM033 "info-grammar" { severity: Error, who: Server, needs: Message,
        asks: "the info string is `\\key\\value` pairs, no key empty, none twice",
        cite: [("Challenge response", "")],
        right: joined!(goldsrc!("1339895702")),
        wrong: joined!(r"30 0A '\\protocol\\47\\challenge\\1339895702\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\cstrike\\map\\de_dust2' 0A") }
}

/// `wrong`: the first fault, at `at` in the payload; the info string begins at `start`.
pub(in crate::valve_master) fn info_grammar<S: Sink>(
    wrong: Option<&'static str>,
    at: Span,
    text: &[u8],
    start: u32,
    sink: &mut S,
) {
    sink.checked(&VM033, wrong.is_none(), at, || {
        format!("{}: {}", wrong.unwrap_or_default(), piece(text, at, start))
    });
}

/// The bytes `at` a span of the payload, in a text that begins at `start`.
fn piece(text: &[u8], at: Span, start: u32) -> String {
    let range = at.start.saturating_sub(start) as usize..at.end.saturating_sub(start) as usize;
    let parts = text.get(range).unwrap_or_default().split(|&byte| byte == b'\\');
    let parts: Vec<_> = parts.map(|part| part.escape_ascii().to_string()).collect();
    parts.join("\\")
}

rule! {
    /// Browsers filter by these keys; a server without them is listed wrongly, or not at all.
    pub VM034 "info-required-keys" { severity: Error, who: Server, needs: Message,
        asks: "the info string has all of protocol, challenge, players, max, bots, gamedir, map, type, password, os, secure, lan, version, region, product",
        cite: [("Differences", "Goldsource protocol challenge players max bots gamedir map type password os secure lan version region product")],
        right: joined!(goldsrc!("1339895702")),
        wrong: joined!(r"30 0A '\\protocol\\47\\challenge\\1339895702\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\cstrike' 0A") }
}

pub(in crate::valve_master) fn info_required<S: Sink, N: Iterator<Item = &'static str>>(
    ok: bool,
    missing: impl FnOnce() -> N,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&VM034, ok, at, || {
        format!("missing: {}", missing().collect::<Vec<_>>().join(", "))
    });
}

rule! {
    /// Some masters, and programs that replace them, read the pairs by position.
    pub VM035 "info-key-order" { severity: Warning, who: Server, needs: Message,
        asks: "the keys are in the order of the GoldSrc, the Source or the Orange Box example",
        cite: [("Differences", "The field order is a bit different with Source than with Goldsource.")],
        right: joined!(goldsrc!("1339895702")),
        wrong: joined!(r"30 0A '\\protocol\\47\\challenge\\1339895702\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\product\\cstrike\\region\\255' 0A") }
}

/// `stray`: the first key that fits none of the orders.
pub(in crate::valve_master) fn info_order<S: Sink>(
    stray: Option<Span>,
    at: Span,
    text: &[u8],
    sink: &mut S,
) {
    sink.checked(&VM035, stray.is_none(), stray.unwrap_or(at), || {
        let key = piece(text, stray.unwrap_or(at), at.start);
        format!("\\{key} is in another place in each of the orders")
    });
}

rule! {
    /// Browsers show and filter by these values; other values are interpreted differently by each.
    pub VM036 "info-values" { severity: Warning, who: Server, needs: Message,
        asks: "os is l or w, type d, l or p, password, secure and lan are 0 or 1, the counts are decimal, players <= max",
        cite: [("Challenge response", "")],
        right: joined!(goldsrc!("1339895702")),
        wrong: joined!(r"30 0A '\\protocol\\47\\challenge\\1339895702\\players\\3\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\cstrike' 0A") }
}

/// Checks the value of a key, for VM036 or VM037.
pub(in crate::valve_master) fn info_value<S: Sink>(
    rule: &'static Rule,
    key: &'static str,
    value: &[u8],
    allowed: &'static str,
    ok: bool,
    at: Span,
    sink: &mut S,
) {
    sink.checked(rule, ok, at, || {
        format!("\\{key} is {}, not {allowed}", crate::kit::Quoted(value))
    });
}

/// Pairs that the recording lost count as one, because their number is unknown.
pub(in crate::valve_master) fn info_lost<S: Sink>(at: Span, sink: &mut S) {
    for rule in [&VM033, &VM034, &VM035, &VM036, &VM037] {
        sink.checked(rule, false, at, || {
            "the capture does not hold the rest of the info string".to_owned()
        });
    }
}

rule! {
    /// Browsers filter by these, too.
    pub VM037 "info-domains" { severity: Warning, who: Server, needs: Message,
        asks: "protocol is a number, region 0 to 7 or 255 (-1 as in the Orange Box example); gamedir, map, version and product are not empty",
        cite: [("Region codes", "Rest of the world"), ("Challenge response", "")],
        right: joined!(goldsrc!("1339895702")),
        wrong: joined!(r"30 0A '\\protocol\\47\\challenge\\1339895702\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\9\\product\\cstrike' 0A") }
}

/// The part of a finding about more players than the maximum.
pub(in crate::valve_master) const PLAYERS_FIT: &str = " fit";

pub(in crate::valve_master) fn info_players<S: Sink>(
    players: u32,
    most: u32,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&VM036, players <= most, at, || {
        format!("{} where {most}{PLAYERS_FIT}", crate::kit::counted(players as usize, "player"))
    });
}
