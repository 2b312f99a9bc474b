//! How a game server joins, stays in the list, and leaves it.

use crate::kit::{Evidence, Mark, SeenMessage, Settings, Sink, Span};
use crate::rule;
use crate::valve_master::info_keys::Engine;
use crate::valve_master::registration::Claimed;

rule! {
    /// The challenge proves that the server receives packets at its address. With another number it
    /// is not listed.
    pub VM040 "challenge-echo" { severity: Error, who: Server, needs: Beginning,
        asks: "the challenge in the info string is the master's 4 bytes read as a little-endian 32-bit int",
        cite: [("Challenge response, Goldsource", "The challenge number is simply the challenge sent by the master server converted to an int.")],
        right: joined!(goldsrc!("1339895702")),
        wrong: joined!(goldsrc!("2519719247"), "\n0.05 m > s:27015  FFFFFFFF 730A le32:133961823") }
}
rule! {
    /// A server that sends an info string before a challenge has guessed, or uses state from before
    /// a restart.
    pub VM042 "info-needs-challenge" { severity: Error, who: Server, needs: Beginning,
        asks: "an info string is sent only after a challenge",
        cite: [("Challenge response", "After receiving the challenge packet, the game server then sends its challenge information")],
        right: joined!(goldsrc!("1339895702")),
        wrong: concat!("0.00 s:27015 > m  71\n0.01 m > s:27015  FFFFFFFF 63 20 '10.0.0.1:50000'  # a notice, no challenge\n0.02 s:27015 > m  ", goldsrc!("1339895702"), "\n0.03 m > s:27015  FFFFFFFF 730A le32:1339895702") }
}
rule! {
    /// If joins are too rare, the master drops the server; if they are too frequent, it may treat
    /// them as a flood.
    pub VM044 "heartbeat-interval" { severity: Warning, who: Server, needs: Interval,
        asks: "joins to one master recur every 5 minutes (tolerance 10 %)",
        cite: [("Heartbeat", "A \"heartbeat\" occurs every five minutes in order to let the master servers know that a game server is still \"alive\".")],
        right: registered!("300.00 s:27015 > m  71\n300.02 m > s:27015  FFFFFFFF 730A le32:133961823\n300.03 s:27015 > m  ", goldsrc!("133961823")),
        wrong: registered!("60.00 s:27015 > m  71\n60.02 m > s:27015  FFFFFFFF 730A le32:133961823\n60.03 s:27015 > m  ", goldsrc!("133961823")) }
}
rule! {
    /// Each round proves again that the server receives packets at its address; an old challenge
    /// proves nothing, and masters have dropped it.
    pub VM045 "heartbeat-rejoins" { severity: Error, who: Server, needs: Interval,
        asks: "a heartbeat is a whole new join: an info string never reuses an earlier round's challenge",
        cite: [("Heartbeat", "The game server simply goes through the process of \"joining\" the master server list again.")],
        right: registered!("300.00 s:27015 > m  71\n300.02 m > s:27015  FFFFFFFF 730A le32:133961823\n300.03 s:27015 > m  ", goldsrc!("133961823")),
        wrong: registered!("300.00 s:27015 > m  ", goldsrc!("1339895702")) }
}
// The ledger checks this, because it needs all flows of a server.
rule! {
    /// A client queries one of the masters: a server that joins only one is not found by clients of
    /// the other.
    pub VM046 "two-masters" { severity: Note, who: Server, needs: Beginning,
        asks: "a server joins two masters",
        cite: [("Join", "Shortly after a game server has been initialized, it picks two master servers to \"join.\"")],
        right: registered!("0.04 s:27015 > n  71\n0.06 n > s:27015  FFFFFFFF 730A le32:133961823\n0.07 s:27015 > n  ", goldsrc!("133961823")),
        wrong: registered!("") }
}

/// The part of a finding about a challenge read in the wrong byte order.
pub(in crate::valve_master) const REVERSED: &str = "as big-endian";

/// Checks the challenge of an info string against those that this master has given to this server.
pub(in crate::valve_master) fn claimed<S: Sink>(claimed: Claimed, at: Span, sink: &mut S) {
    match claimed {
        Claimed::Unclear => {}
        Claimed::Unchallenged => sink.checked(&VM042, false, at, || TOO_EARLY.to_owned()),
        Claimed::Given => {
            sink.checked(&VM040, true, at, String::new);
            sink.checked(&VM042, true, at, String::new);
            sink.checked(&VM045, true, at, String::new);
        }
        Claimed::Spent { value } => {
            sink.checked(&VM042, true, at, String::new);
            sink.checked(&VM045, false, at, || {
                format!("the challenge {} is an earlier round's", value.cast_signed())
            });
        }
        Claimed::Other { value, given, .. } => {
            sink.checked(&VM042, true, at, String::new);
            sink.checked(&VM040, false, at, || {
                if value == given.swap_bytes() {
                    let [a, b, c, d] = given.to_le_bytes();
                    return format!(
                        "reads the master's {a:02X} {b:02X} {c:02X} {d:02X} {REVERSED}"
                    );
                }
                let [value, given] = [value, given].map(u32::cast_signed);
                format!("the challenge is {value}, the master gave {given}")
            });
        }
        Claimed::NoInt => {
            sink.checked(&VM042, true, at, String::new);
            sink.checked(&VM040, false, at, || "the challenge is not a 32-bit int".to_owned());
        }
    }
}

const TOO_EARLY: &str = "the info string comes before any challenge";

/// An earlier info string came before any challenge, and was followed by one.
pub(in crate::valve_master) fn challenged_late<S: Sink>(
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(&VM042, false, evidence, mark, || TOO_EARLY.to_owned());
}

/// An info string came before any challenge, and none followed. One challenge may be missing from the capture; if each of
/// several rounds lacks one and the master's host is heard elsewhere, there was none.
pub(in crate::valve_master) fn never_challenged<S: Sink>(
    evidence: Evidence,
    seen: SeenMessage,
    sink: &mut S,
) {
    sink.unless_unheard(&VM042, TOO_EARLY, evidence, seen);
}

/// In nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// The part of a finding about a late join.
pub(in crate::valve_master) const JOINS_LATE: &str = "joins again only after";

/// Whether joins follow each other as often as they should, after so many nanoseconds.
pub(in crate::valve_master) fn is_heartbeat(interval: i64, settings: &Settings) -> bool {
    let settings = &settings.protocols.valve_master;
    let usual = settings.heartbeat;
    let most = u128::from(usual.unsigned_abs()) * u128::from(settings.heartbeat_tolerance);
    u128::from(interval.abs_diff(usual)) * 100 <= most
}

/// `interval`: nanoseconds since the previous join.
pub(in crate::valve_master) fn rejoined<S: Sink>(
    interval: i64,
    settings: &Settings,
    at: Span,
    sink: &mut S,
) {
    let is_near = |interval: i64| is_heartbeat(interval, settings);
    let usual = settings.protocols.valve_master.heartbeat;
    sink.checked(&VM044, is_near(interval), at, || {
        let joins = if interval > usual { JOINS_LATE } else { "joins again after" };
        let [seconds, usual] = [interval, usual].map(|nanoseconds| nanoseconds / SECOND);
        // Not rounded to what is tolerated.
        let seconds = seconds + i64::from(is_near(seconds * SECOND));
        format!("{joins} {seconds} s, not after {usual} s")
    });
}

rule! {
    /// The two engines have different quit messages, and masters for one engine need not read the
    /// other's.
    pub VM051 "quit-matches-engine" { severity: Warning, who: Server, needs: Interval,
        asks: "the form of the quit matches the engine that the info string shows",
        cite: [("Quit", "")],
        right: registered!("9.00 s:27015 > m  62 0A"),
        wrong: registered!("9.00 s:27015 > m  62 0A 00") }
}

pub(in crate::valve_master) fn quit_form<S: Sink>(
    form: Engine,
    shown: Engine,
    at: Span,
    sink: &mut S,
) {
    let ok = (form == Engine::GoldSrc) == (shown == Engine::GoldSrc);
    sink.checked(&VM051, ok, at, || {
        format!("a {} quit, after an info string in {} order", form.name(), shown.name())
    });
}

rule! {
    /// The master has removed the server from its list; a later message adds it again although it
    /// is not running.
    pub VM052 "silent-after-quit" { severity: Warning, who: Server, needs: Interval,
        asks: "only a new join follows a quit",
        cite: [("Quit", "to signal that the game server has shut down.")],
        right: registered!("9.00 s:27015 > m  62 0A\n20.00 s:27015 > m  71\n20.02 m > s:27015  FFFFFFFF 730A le32:133961823\n20.03 s:27015 > m  ", goldsrc!("133961823")),
        wrong: registered!("9.00 s:27015 > m  62 0A\n9.01 s:27015 > m  62 0A") }
}

/// `joins`: a join follows the quit.
pub(in crate::valve_master) fn after_quit<S: Sink>(joins: bool, at: Span, sink: &mut S) {
    sink.checked(&VM052, joins, at, || {
        "the server has quit, and sends a message without a join".to_owned()
    });
}
