//! The format of responses.

use crate::acr_master::digest::{CHALLENGE, period};
use crate::acr_master::lines::{Line, Response};
use crate::acr_master::params::ApiPath;
use crate::kit::{Sink, Span};
use crate::rule;

rule! {
    /// Programs that split at LF keep the CR, which changes the last word of each line.
    pub ACR010 "lines-lf" { severity: Error, who: Master, needs: Message,
        asks: "response lines are separated by LF alone",
        cite: [("Specification", "response lines separated by line feed (LF) characters")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\ncurrent_version 20700 140\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\r\ncurrent_version 20700 140\r\n'") }
}

pub(in crate::acr_master) fn lines_lf<S: Sink>(
    at: Span,
    carriage: bool,
    is_cut: bool,
    sink: &mut S,
) {
    sink.checked(&ACR010, !carriage && !is_cut, at, || {
        if carriage { "there is a carriage return".into() } else { LINES_LOST.into() }
    });
}

rule! {
    /// It shows the client whether it is banned.
    pub ACR011 "flags-line" { severity: Error, who: Master, needs: Message,
        asks: "the response to GET /c has a line `masterserver_flags` with a number up to 65535",
        cite: [("Specification", "masterserver_flags [flags]"),
               ("Specification", "All lines are mandatory unless otherwise stated.")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 1\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4" => r"'current_version 20700 140\n'") }
}

pub(in crate::acr_master) fn flags_line<S: Sink>(line: &[u8], ok: bool, at: Span, sink: &mut S) {
    sink.checked(&ACR011, ok, at, || {
        format!("{} holds no 16-bit number", crate::kit::Quoted(line))
    });
}

pub(in crate::acr_master) fn flags_missing<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&ACR011, false, at, || "there is no line masterserver_flags".into());
}

rule! {
    /// Future clients may use bits that are reserved today.
    pub ACR012 "flags-reserved" { severity: Error, who: Master, needs: Message,
        asks: "flags & 0xFC is 0",
        cite: [("Specification", "these bits are reserved (flags & 0xFC must be 0)")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 3\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 4\n'") }
}

pub(in crate::acr_master) fn flags_reserved<S: Sink>(flags: u64, at: Span, sink: &mut S) {
    sink.checked(&ACR012, flags & 0xFC == 0, at, || {
        format!("flags are {flags}: of the reserved bits {:#04x} is set", flags & 0xFC)
    });
}

rule! {
    /// Clients compare it with their own version, and offer an update.
    pub ACR013 "version-line" { severity: Error, who: Master, needs: Message,
        asks: "`current_version`, if present, has two 32-bit numbers",
        cite: [("Specification", "current_version [version] [protocol] with the ACR latest game and protocol version numbers (uint32, uint32, optional)")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\ncurrent_version 20700 140\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\ncurrent_version 2.7\n'") }
}

pub(in crate::acr_master) fn version_line<S: Sink>(line: &[u8], ok: bool, at: Span, sink: &mut S) {
    sink.checked(&ACR013, ok, at, || {
        format!("{} holds no two 32-bit numbers", crate::kit::Quoted(line))
    });
}

rule! {
    /// The client executes the line unchanged: with an unreadable address, the server is not shown.
    pub ACR014 "addserver-line" { severity: Error, who: Master, needs: Message,
        asks: "a server line has an IPv4 or IPv6 address, and optionally a port from 0 to 65534 and a 32-bit weight",
        cite: [("Specification", "[ip] IPv4 (dotted-decimal format in RFC 1123) or IPv6 (RFC 4291) address (string)"),
               ("Specification", "[weight] (int32, optional, default 0)")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\naddserver 10.0.0.2\naddserver 2001:db8::2 28780 -1\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\naddserver 10.0.0.2 65535\n'") }
}

pub(in crate::acr_master) fn addserver_line<S: Sink>(
    line: &[u8],
    fault: Option<&str>,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&ACR014, fault.is_none(), at, || {
        format!("{} {}", crate::kit::Quoted(line), fault.unwrap_or_default())
    });
}

rule! {
    /// The client executes every line: a master that sends other commands runs them on players'
    /// machines.
    pub ACR015 "line-known" { severity: Warning, who: Master, needs: Message,
        asks: "the response to /c has `masterserver_flags`, `current_version` and `addserver` lines only",
        cite: [("Specification", "response lines")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\naddserver 10.0.0.2\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\necho hello\n'") }
}

/// `line`: an unknown one.
pub(in crate::acr_master) fn line_known<S: Sink>(line: Option<&[u8]>, at: Span, sink: &mut S) {
    sink.checked(&ACR015, line.is_none(), at, || {
        format!("the specification has no line {}", crate::kit::Quoted(line.unwrap_or_default()))
    });
}

/// The part of a finding about a body that the client cannot read.
pub(in crate::acr_master) const ENCODED: &str = "the body has a coding";

/// No client can read in the body what its endpoint demands: the request accepts no coding.
pub(in crate::acr_master) fn encoded<S: Sink>(endpoint: ApiPath, at: Span, sink: &mut S) {
    let rule = match endpoint {
        ApiPath::Client => &ACR011,
        ApiPath::Register => &ACR020,
        ApiPath::Auth => &ACR022,
        ApiPath::Verify => &ACR023,
    };
    sink.checked(rule, false, at, || {
        format!("{ENCODED}, such as gzip, that the request does not accept")
    });
}

/// Lines that the recording lost count as one, because their number is unknown.
pub(in crate::acr_master) fn lines_lost<S: Sink>(at: Span, sink: &mut S) {
    for rule in [&ACR014, &ACR015] {
        sink.checked(rule, false, at, || LINES_LOST.into());
    }
}

const LINES_LOST: &str = "the capture does not hold the lines that follow";

/// This many valid server lines.
pub(in crate::acr_master) fn server_lines<S: Sink>(times: u32, sink: &mut S) {
    sink.kept(&ACR014, times);
    sink.kept(&ACR015, times);
}

rule! {
    /// A challenge that can be guessed lets an attacker prepare the digest of a player whom he has
    /// watched before.
    pub ACR016 "challenge-random" { severity: Note, who: Master, needs: Message,
        asks: "/a's 256 hex digits are not of one value or a short period",
        cite: [("Specification", "cryptography-grade 1024-bit random challenge")],
        right: registered!(
            asked!("1", "s:40001" "/a?p=28770&a=::ffff:192.0.2.127&i=7&u=42" => "'*c' 'ab'*127 'cd' " r"'\n*a\n'")),
        wrong: registered!(
            asked!("1", "s:40001" "/a?p=28770&a=::ffff:192.0.2.127&i=7&u=42" => "'*c' 'ab'*128 " r"'\n*a\n'")) }
}

/// The longest period that is noticed, in bytes.
pub(in crate::acr_master) const LONGEST_PERIOD: usize = 32;

pub(in crate::acr_master) fn challenge_random<S: Sink>(
    challenge: &[u8; CHALLENGE],
    at: Span,
    sink: &mut S,
) {
    let period = period(challenge, LONGEST_PERIOD);
    sink.checked(&ACR016, period.is_none(), at, || match period.unwrap_or_default() {
        1 => "all bytes of the challenge are the same".into(),
        period => format!("the challenge repeats {period} bytes"),
    });
}

rule! {
    /// Server operators read it in their logs; with a * it looks like the response to another
    /// request.
    pub ACR020 "register-answer" { severity: Error, who: Master, needs: Message,
        asks: "/r is answered by a text that is not empty and does not start with *",
        cite: [("Specification", "a human-readable response not starting with the control character * must be returned")],
        right: registered!(),
        wrong: asked!("0", "s:40000" "/r?v=140&g=180300&p=28770" => "'*registered'") }
}

pub(in crate::acr_master) fn register_response<S: Sink>(text: &[u8], at: Span, sink: &mut S) {
    sink.checked(&ACR020, !text.is_empty() && !text.starts_with(b"*"), at, || {
        let what = if text.is_empty() { "is empty" } else { "starts with *" };
        format!("the text {what}")
    });
}

rule! {
    /// The server expects the challenge in the first line; after the lookup it may not read it.
    pub ACR021 "auth-answer" { severity: Error, who: Master, needs: Message,
        asks: "/a with i and u is answered first by *f, or *c and 256 lowercase hex digits; without them that line is absent",
        cite: [("Specification", "If the i/u pair is sent, one of"),
               ("Specification", "[nonce] lowercase hex-encoded cryptography-grade 1024-bit random challenge (char[256])")],
        right: challenged!(),
        wrong: registered!(
            asked!("1", "s:40001" "/a?p=28770&a=::ffff:192.0.2.127&i=7&u=42" => r"'*a\n*c' 'ab'*128 '\n'")) }
}

/// `first`: the first line that is not empty. `wanted`: a challenge was requested.
pub(in crate::acr_master) fn auth_response<S: Sink>(
    wanted: bool,
    first: Option<Line<'_>>,
    response: &Response,
    all: Span,
    sink: &mut S,
) {
    if !wanted {
        let at = if response.auth.is_some() { response.auth_at } else { all };
        sink.checked(&ACR021, response.auth.is_none(), at, || {
            "there is an auth line, but i and u were not both sent".into()
        });
        return;
    }
    let Some(auth) = response.auth else {
        sink.checked(&ACR021, false, all, || "there is neither *f nor *c".into());
        return;
    };
    let comes_first = first.is_some_and(|first| first.at == response.auth_at);
    let length = response.auth_at.len() as usize;
    let sound = match auth {
        b'c' => response.challenge.is_some(),
        _ => length == 2,
    };
    let is_alone = response.auth_lines == 1;
    sink.checked(&ACR021, comes_first && sound && is_alone, response.auth_at, || {
        let digits = length.saturating_sub(2);
        if sound && !is_alone {
            format!("there are {} auth lines, not one", response.auth_lines)
        } else if sound {
            "the auth line comes after the lookup's".into()
        } else if auth == b'c' && digits != 2 * CHALLENGE {
            format!("the challenge has {}, not 256", crate::kit::counted(digits, "character"))
        } else if auth == b'c' {
            "the challenge has other characters than lowercase hex digits".into()
        } else {
            crate::kit::counted(digits, "byte follows/bytes follow") + " *f"
        }
    });
}

rule! {
    /// Without it a banned player can enter.
    pub ACR022 "address-answer" { severity: Error, who: Master, needs: Message,
        asks: "/a is answered by one of *bw, *bi, *bm and *a",
        cite: [("Specification", "IP lookup result: one of")],
        right: registered!(asked!("1", "s:40001" "/a?p=28770&a=2001:db8::7" => r"'*bw\n'")),
        wrong: registered!(asked!("1", "s:40001" "/a?p=28770&a=2001:db8::7" => r"'*bx\n'")) }
}

/// `line`: the first of this many lookup lines.
pub(in crate::acr_master) fn address_response<S: Sink>(
    line: Option<Line<'_>>,
    lines: usize,
    all: Span,
    sink: &mut S,
) {
    let known = line.is_some_and(|line| matches!(line.text, b"*bw" | b"*bi" | b"*bm" | b"*a"));
    let at = line.filter(|_| lines == 1).map_or(all, |line| line.at);
    sink.checked(&ACR022, known && lines == 1, at, || match line {
        Some(_) if lines > 1 => format!("{lines} results of a lookup, not one"),
        Some(line) => format!("{} is not the result of a lookup", crate::kit::Quoted(line.text)),
        None => "there is no result of the lookup".into(),
    });
}

rule! {
    /// The server gives the player the rights in this line.
    pub ACR023 "verify-answer" { severity: Error, who: Master, needs: Message,
        asks: "/v is answered by *f, *d, or *s with a privilege of x, 0, 1, 2 or 3 and a name",
        cite: [("Specification", "result of auth: one of"),
               ("Specification", "[name] is the full username (string)")],
        right: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=7&c=' '5f'*48 '&a=' '0a'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\n*d\n' fin")),
        wrong: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=7&c=' '5f'*48 '&a=' '0a'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\ndenied\n' fin")) }
}

/// `line`: the first one that begins with `*` and another character, among this many that are not
/// empty.
pub(in crate::acr_master) fn verify_response<S: Sink>(
    line: Option<&[u8]>,
    lines: usize,
    at: Span,
    sink: &mut S,
) {
    let fault = match line {
        Some(_) if lines > 1 => Some("is not the only line"),
        Some(b"*f" | b"*d" | [b'*', b's', b'x' | b'0'..=b'3', _, ..]) => None,
        Some([b'*', b's', b'x' | b'0'..=b'3']) => Some("has no name"),
        Some([b'*', b's', ..]) => Some("has no privilege of x, 0, 1, 2 or 3"),
        Some(_) => Some("is not a result"),
        None => Some(""),
    };
    sink.checked(&ACR023, fault.is_none(), at, || match line {
        Some(line) => format!("{} {}", crate::kit::Quoted(line), fault.unwrap_or_default()),
        None => "there is not a result".into(),
    });
}
