//! The TCP connection on which a client gets a list.

use std::net::SocketAddr;

use crate::kit::{Evidence, Mark, Read, Set, Sink, Socket, Span, unreachable};
use crate::rule;

use super::GS1002;
use crate::gamespy1::words::is_address;

rule! {
    /// A client waits for the challenge, and does not understand another first message of the
    /// master.
    pub GS1010 "master-speaks-first" { severity: Error, who: Master, needs: Beginning,
        asks: "on TCP the master opens with basic and a secure challenge (secure without basic is a known deviation: a note); checked on the master's first message, whenever it comes",
        cite: [("Clients", "When a client opens a new connection, the masterserver responds with the secure/validate challenge")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: r"0.00 m:28900 > c  tcp '\\echo\\welcome\\final\\' fin" }
}

/// The master's first message. `challenge`: it contains one; `basic`: with this key before it.
pub(in crate::gamespy1) fn master_opens<S: Sink>(
    challenge: bool,
    basic: bool,
    at: Span,
    sink: &mut S,
) {
    if challenge && !basic {
        sink.noted(&GS1010, at, || "secure without basic".into());
        return;
    }
    sink.checked(&GS1010, challenge, at, || "the master's first words are not a challenge".into());
}

/// The master has sent nothing. `mark`: the client's first message.
pub(in crate::gamespy1) fn master_silent<S: Sink>(evidence: Evidence, mark: &Mark, sink: &mut S) {
    sink.recalled(&GS1010, false, evidence, mark, || "the master sends nothing".into());
}

rule! {
    /// Without the game's name, a master has no key to check the response with.
    pub GS1011 "client-validates" { severity: Error, who: Client, needs: Beginning,
        asks: "the client's first message has gamename, location and validate (a list request as the first message also breaks GS1012)",
        cite: [("Clients", "The client, if legitimate, responds with its game name, location and 8 byte validation code")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: concat!(
            r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'", "\n",
            r"0.02 c > m:28900  tcp '\\gamename\\ut\\validate\\3JOdDFU5\\final\\'") }
}

/// The keys that are missing in the client's first message.
pub(in crate::gamespy1) fn client_opens<S: Sink>(
    missing: Option<&'static str>,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&GS1011, missing.is_none(), at, || {
        format!("the client's first words lack {}", missing.unwrap_or_default())
    });
}

/// The same for a client of a game that the document exempts.
pub(in crate::gamespy1) fn client_exempt<S: Sink>(missing: &'static str, at: Span, sink: &mut S) {
    sink.noted(&GS1011, at, || {
        format!("the client's first words lack {missing}: this game's clients do not validate")
    });
}

rule! {
    /// A master gives lists to games only.
    pub GS1012 "list-after-validate" { severity: Error, who: Client, needs: Beginning,
        asks: "`\\list\\` is requested only after a validate",
        cite: [("Clients", "Immediately after sending the correct response, the client requests the list of game server addresses.")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: concat!(
            r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'", "\n",
            r"0.02 c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'", "\n",
            "0.03 m:28900 > c  tcp fin") }
}

pub(in crate::gamespy1) fn list_after_validate<S: Sink>(ok: bool, at: Span, sink: &mut S) {
    sink.checked(&GS1012, ok, at, || "a list is asked for without a validate".into());
}

/// The part of a finding about a list that is asked for in a datagram.
pub(in crate::gamespy1) const OVER_UDP: &str = "over UDP";

/// A list is asked for in a datagram.
pub(in crate::gamespy1) fn list_over_udp<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS1012, false, at, || {
        format!("a list is asked for {OVER_UDP}: masters give lists over TCP, after a validate")
    });
}

rule! {
    /// The response proves one game: it gives no access to lists of other games.
    pub GS1013 "list-game" { severity: Error, who: Client, needs: Interval,
        asks: "the list is requested for the validated game",
        cite: [("Clients", "\\list\\gamename\\ut")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: validated!(r"0.03 c > m:28900  tcp '\\list\\\\gamename\\unreal\\final\\'", "0.05 m:28900 > c  tcp fin") }
}

/// Returns whether it is the same game.
pub(in crate::gamespy1) fn list_game<S: Sink>(
    asked: Option<Read<&[u8]>>,
    validated: &[u8],
    sink: &mut S,
) -> bool {
    let at = asked.map(|asked| asked.at).unwrap_or_default();
    let same = asked.is_some_and(|asked| asked.value.eq_ignore_ascii_case(validated));
    sink.checked(&GS1013, same, at, || {
        let validated = crate::kit::Quoted(validated);
        match asked {
            Some(asked) => format!(
                "the list of {} is asked for, {validated} was validated",
                crate::kit::Quoted(asked.value)
            ),
            None => format!("the list of no game is asked for, {validated} was validated"),
        }
    });
    same
}

rule! {
    /// The challenge protects nothing if the list is sent without its response.
    pub GS1014 "list-guarded" { severity: Error, who: Master, needs: Beginning,
        asks: "no list for a client whose validate is missing or wrong",
        cite: [("Clients", "When the challenge is not properly answered, the connection will be closed without further notice.")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: concat!(
            r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'", "\n",
            r"0.02 m:28900 > c  tcp '\\ip\\10.0.0.2:7778\\final\\' fin") }
}

/// No list is due to the client. `mark`: its validate, or its request without one.
pub(in crate::gamespy1) fn list_refused<S: Sink>(mark: &Mark, sink: &mut S) {
    sink.recalled(&GS1014, true, Evidence::default(), mark, String::new);
}

/// The validate before a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gamespy1) enum PriorValidate {
    /// It is correct.
    Right,
    /// It is wrong.
    Wrong,
    /// There is none.
    Missing,
}

pub(in crate::gamespy1) fn list_guarded<S: Sink>(grant: PriorValidate, at: Span, sink: &mut S) {
    sink.checked(&GS1014, grant == PriorValidate::Right, at, || {
        let what = if grant == PriorValidate::Wrong { "is wrong" } else { "is missing" };
        format!("a list for a client whose validate {what}")
    });
}

/// A list for a client whose validate answers a challenge that is not in the capture.
pub(in crate::gamespy1) fn list_unproven<S: Sink>(mark: &Mark, sink: &mut S) {
    let evidence = Evidence { lost: true, ..Evidence::default() };
    sink.recalled(&GS1014, false, evidence, mark, || {
        "a list for a client whose challenge is not in the capture".into()
    });
}

rule! {
    /// Clients query the servers in the list; they cannot see a server with an invalid address.
    pub GS1015 "list-addresses" { severity: Error, who: Master, needs: Message,
        asks: "every `\\ip\\` value is a dotted-decimal IPv4 address, ':' and a port 1-65535",
        cite: [("Clients", "a complete list of server addresses consisting of the IP and query port")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: listed!(r"\\ip\\10.0.0.2\\final\\", " fin") }
}

/// An address of a list in text.
pub(in crate::gamespy1) fn list_address<S: Sink>(address: Read<&[u8]>, sink: &mut S) {
    sink.checked(&GS1015, is_address(address.value), address.at, || {
        format!("{} is not an address with a port", crate::kit::Quoted(address.value))
    });
}

/// This many valid addresses of a list in text.
pub(in crate::gamespy1) fn list_addresses<S: Sink>(times: u32, sink: &mut S) {
    sink.kept(&GS1015, times);
}

/// Addresses that the recording lost count as one, because their number is unknown.
pub(in crate::gamespy1) fn list_lost<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS1015, false, at, || "the capture does not hold the rest of the list".into());
}

/// A block of a compact list.
pub(in crate::gamespy1) fn list_block<S: Sink>(block: Read<[u8; 6]>, sink: &mut S) {
    let [.., high, low] = block.value;
    sink.checked(&GS1015, [high, low] != [0, 0], block.at, || "the port is 0".into());
}

/// Bytes that are not a complete block.
pub(in crate::gamespy1) fn list_bytes_over<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS1015, false, at, || {
        crate::kit::counted(at.len() as usize, "byte is/bytes are") + " left over: a block has 6"
    });
}

rule! {
    /// Clients query every address of a list: of these, none can answer, or the client itself does.
    pub GS1026 "list-usable" { severity: Warning, who: Master, needs: Message,
        asks: "no listed address is 0.0.0.0, loopback, multicast, broadcast or port 0; none stands twice (a note)",
        cite: [("Clients", "a complete list of server addresses consisting of the IP and query port")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\ip\\10.0.1.2:7778\\final\\", " fin"),
        wrong: listed!(r"\\ip\\127.0.0.1:7778\\ip\\10.0.1.2:7778\\final\\", " fin") }
}

rule! {
    /// Clients query every server of a list in vain that no longer runs, and never find one that is
    /// missing.
    ///
    /// The ledger checks this rule, because it needs more than one pair of hosts.
    pub GS1027 "listed-is-alive" { severity: Warning, who: Master, needs: Beginning,
        asks: "a master lists a server at most 15 minutes after its latest heartbeat (settable: `gamespy-listed-longest`) and not after a wrong answer to its challenge, and a whole list has each server of the game that was validated a minute ago or more and sends heartbeats; checked of servers whose heartbeats to this master are in the capture, twice a minute at most",
        cite: [("Servers", "The masterserver does not verify the UT server anymore, as long as it keeps sending heartbeats to demonstrate that it is still online.")],
        right: registered!(
            r"90.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'",
            r"100.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'",
            r"100.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'",
            r"100.03 c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'",
            r"100.05 m:28900 > c  tcp '\\ip\\10.0.0.2:7778\\final\\' fin"),
        wrong: registered!(
            r"1000.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'",
            r"1000.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'",
            r"1000.03 c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'",
            r"1000.05 m:28900 > c  tcp '\\ip\\10.0.0.2:7778\\final\\' fin") }
}

/// The servers of a list so far.
#[derive(Default)]
pub(in crate::gamespy1) struct UsableServers {
    /// How many can be reached.
    usable: u32,
    known: Set<Socket>,
    /// The first one that was known.
    repeated: Option<Read<SocketAddr>>,
}

impl UsableServers {
    /// Checks a server.
    pub(in crate::gamespy1) fn add<S: Sink>(&mut self, server: SocketAddr, at: Span, sink: &mut S) {
        // Servers have addresses of their own network behind NAT.
        let why = unreachable(server.ip()).filter(|kind| *kind != "link-local");
        if why.is_some() || server.port() == 0 {
            sink.checked(&GS1026, false, at, || match why {
                Some("unspecified") => format!("{server} is no address"),
                Some(kind) => format!("{server} is a {kind} address"),
                None => format!("{server} has no port"),
            });
        } else {
            self.usable += 1;
        }
        if self.repeated.is_none() && !self.known.insert(Socket(server)) {
            self.repeated = Some(Read { value: server, at });
        }
    }

    /// The list ends.
    pub(in crate::gamespy1) fn end<S: Sink>(self, sink: &mut S) {
        sink.kept(&GS1026, self.usable);
        if let Some(Read { value: server, at }) = self.repeated {
            sink.noted(&GS1026, at, || format!("{server} stands twice"));
        }
    }
}

rule! {
    /// Without `\final\` a client cannot distinguish a short list from a broken connection.
    pub GS1016 "list-complete" { severity: Error, who: Master, needs: Interval,
        asks: "a list ends in `\\final\\` before the connection closes",
        cite: [("Clients", "\\ip\\255.255.255.255:7778\\ip\\255.255.255.255:7778\\...\\final")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: listed!(r"\\ip\\10.0.0.2:7778\\ip\\10.0.1.2:7778", " fin") }
}

pub(in crate::gamespy1) fn list_complete<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS1016, true, at, String::new);
}

/// Words of a list that began.
pub(in crate::gamespy1) const BEFORE_END: &str = "before \\final\\";

/// The master closed the connection without a word on a list request.
pub(in crate::gamespy1) fn list_withheld<S: Sink>(evidence: Evidence, mark: &Mark, sink: &mut S) {
    sink.recalled(&GS1016, false, evidence, mark, || {
        "the connection closes, and no list has come".into()
    });
}

/// A list without its end. `lost`: the recording may have lost the end.
pub(in crate::gamespy1) fn list_cut<S: Sink>(lost: bool, mark: &Mark, sink: &mut S) {
    let evidence = Evidence { lost, ..Evidence::default() };
    sink.recalled(&GS1016, false, evidence, mark, || match lost {
        true => "what follows the list is not in the capture".into(),
        false => format!("the connection closes {BEFORE_END}"),
    });
}

/// A list after a list.
pub(in crate::gamespy1) fn list_after<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS1002, false, at, || "another list follows \\final".into());
}

rule! {
    /// Many clients read until the connection is closed: an open one keeps them waiting.
    pub GS1017 "master-closes" { severity: Warning, who: Master, needs: Response,
        asks: "the master closes the connection after the list, within the answer timeout",
        cite: [("Clients", "When the list has been sent, the masterserver closes the connection.")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: listed!(r"\\ip\\10.0.0.2:7778\\final\\", "\nend 9") }
}
rule! {
    /// An error message would help an attacker; the specification requires that the master sends
    /// nothing.
    pub GS1018 "bad-validate-closed" { severity: Warning, who: Master, needs: Response,
        asks: "on TCP a wrong validate closes the connection without a response",
        cite: [("Clients", "When the challenge is not properly answered, the connection will be closed without further notice.")],
        right: concat!(
            r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'", "\n",
            r"0.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\12345678\\final\\'", "\n",
            "0.03 m:28900 > c  tcp fin"),
        wrong: concat!(
            r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'", "\n",
            r"0.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\12345678\\final\\'", "\n",
            r"0.03 m:28900 > c  tcp '\\echo\\You failed to authenticate.\\final\\' fin") }
}

/// Why a master should close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gamespy1) enum CloseReason {
    /// It has sent the list.
    Listed,
    /// The client's validate is wrong.
    BadValidate,
}

/// Its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gamespy1) enum CloseTiming {
    InTime,
    /// This many nanoseconds later.
    Late(i64),
    /// Not before the client did, this many nanoseconds later.
    Left(i64),
    /// Not so far.
    Open,
    /// It sent a message instead.
    Spoke,
}

/// `mark`: the list, or the validate. `evidence`: whether the time that has passed proves anything.
pub(in crate::gamespy1) fn master_closes<S: Sink>(
    why: CloseReason,
    closed: CloseTiming,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    let (rule, after) = match why {
        CloseReason::Listed => (&GS1017, "the list"),
        CloseReason::BadValidate => (&GS1018, "a wrong validate"),
    };
    // A late close, or a message instead, is proven by itself.
    let evidence = match closed {
        CloseTiming::InTime | CloseTiming::Open => evidence,
        CloseTiming::Late(_) | CloseTiming::Left(_) | CloseTiming::Spoke => {
            Evidence { waited: true, asked_party_seen: true, ..evidence }
        }
    };
    sink.recalled(rule, closed == CloseTiming::InTime, evidence, mark, || match closed {
        CloseTiming::Late(late) => {
            format!("the connection is closed {:.1} s after {after}", late as f64 / 1e9)
        }
        CloseTiming::Left(late) => {
            format!("the client closes the connection, {:.1} s after {after}", late as f64 / 1e9)
        }
        CloseTiming::Spoke => format!("{after} is answered"),
        CloseTiming::InTime | CloseTiming::Open => {
            format!("the connection stays open after {after}")
        }
    });
}

rule! {
    /// A message before the challenge cannot answer it, and the master may already have read it as
    /// the response.
    pub GS1019 "client-waits" { severity: Warning, who: Client, needs: Beginning,
        asks: "on TCP the client's first message follows the master's challenge (checked if the capture has a challenge from the master)",
        cite: [("Clients", "When a client opens a new connection, the masterserver responds with the secure/validate challenge")],
        right: listed!(r"\\ip\\10.0.0.2:7778\\final\\", " fin"),
        wrong: concat!(
            r"0.00 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'", "\n",
            r"0.02 m:28900 > c  tcp '\\basic\\secure\\XDWAOR'", "\n",
            "0.03 m:28900 > c  tcp fin") }
}

/// The part of a finding about a client that has not waited.
const HASTENS: &str = "the client sends a message before the master's challenge";

/// The client's first message ends after the challenge. `waits`: it begins after it, too.
pub(in crate::gamespy1) fn client_waits<S: Sink>(waits: bool, at: Span, sink: &mut S) {
    sink.checked(&GS1019, waits, at, || HASTENS.into());
}

/// The client has not waited for the challenge. `mark`: its first message.
pub(in crate::gamespy1) fn client_hastens<S: Sink>(evidence: Evidence, mark: &Mark, sink: &mut S) {
    sink.recalled(&GS1019, false, evidence, mark, || HASTENS.into());
}
