//! The format of requests.

use std::net::IpAddr;

use super::lossy;
use crate::acr_master::params::address;
use crate::kit::{Sink, Span};
use crate::rule;

rule! {
    /// A master that follows the specification handles no other methods.
    pub ACR001 "method-get" { severity: Error, who: Any, needs: Message,
        asks: "every request uses GET",
        cite: [("Specification", "Every endpoint uses the GET method")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\n'"),
        wrong: concat!(
            r"0.00 c > m  tcp 'POST /c?build_defs=4 HTTP/1.0\r\n\r\n'", "\n",
            r"0.02 m > c  tcp 'HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\n' fin") }
}

pub(in crate::acr_master) fn method_get<S: Sink>(method: &[u8], at: Span, sink: &mut S) {
    sink.checked(&ACR001, method == b"GET", at, || {
        format!("the method is {}", crate::kit::Quoted(method))
    });
}

rule! {
    /// A request to another path gets no response.
    pub ACR002 "endpoint-known" { severity: Error, who: Any, needs: Message,
        asks: "the endpoint is /c, /r, /a or /v",
        cite: [("Specification", "The specification is presented as a list of GET endpoints with GET parameters and response lines separated by line feed (LF) characters.")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\n'"),
        wrong: concat!(
            r"0.00 c > m  tcp 'GET /c?build_defs=4 HTTP/1.1\r\n\r\n'", "\n",
            r"0.02 m > c  tcp 'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nmasterserver_flags 0\n'", "\n",
            r"0.03 c > m  tcp 'GET /s HTTP/1.1\r\n\r\n'", "\n",
            r"0.05 m > c  tcp 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n' fin") }
}

pub(in crate::acr_master) fn endpoint_known<S: Sink>(
    ok: bool,
    target: &[u8],
    at: Span,
    sink: &mut S,
) {
    sink.checked(&ACR002, ok, at, || format!("{} is not an endpoint", crate::kit::Quoted(target)));
}

rule! {
    /// A misspelt parameter is ignored, and its default used; if it occurs twice, masters differ in
    /// which one they use.
    pub ACR003 "parameter-known" { severity: Warning, who: Any, needs: Message,
        asks: "all parameters are in the endpoint's list, and none occurs twice",
        cite: [("Specification", "parameters (all optional)")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4&builddefs=4" => r"'masterserver_flags 0\n'") }
}

pub(in crate::acr_master) fn parameter_known<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&ACR003, true, at, String::new);
}

pub(in crate::acr_master) fn parameter_unknown<S: Sink>(name: &[u8], at: Span, sink: &mut S) {
    sink.checked(&ACR003, false, at, || {
        format!("the specification has no parameter {}", crate::kit::Quoted(name))
    });
}

pub(in crate::acr_master) fn parameter_repeated<S: Sink>(name: &str, at: Span, sink: &mut S) {
    sink.checked(&ACR003, false, at, || format!("{name} is given again; the first one counts"));
}

rule! {
    /// Without them the master cannot answer.
    pub ACR004 "parameter-required" { severity: Error, who: Server, needs: Message,
        asks: "/r has v, /a has a, /v has i, c and a",
        cite: [("Specification", "v protocol version number (uint32)"),
               ("Specification", "a client IPv6 address"),
               ("Specification", "i request ID for state (uint32)")],
        right: registered!(),
        wrong: asked!("0", "s:40000" "/r?p=28770&g=180300" => "'server registered'") }
}

pub(in crate::acr_master) fn parameter_required<S: Sink>(
    endpoint: &str,
    missing: Option<&str>,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&ACR004, missing.is_none(), at, || {
        format!("{endpoint} lacks {}", missing.unwrap_or_default())
    });
}

rule! {
    /// A larger value is cut off or refused, depending on the master's implementation.
    pub ACR005 "parameter-range" { severity: Error, who: Any, needs: Message,
        asks: "numbers are decimal and in range: build_defs up to 255, p of /a and /v up to 65535, the others up to 4294967295 (/r's p above 65534 is a note: the master probes port p+1)",
        cite: [("Specification", "build_defs description of client build environment according to its ACR protocol implementation (uint8)")],
        right: asked!("0", "c" "/c?build_defs=255" => r"'masterserver_flags 0\n'"),
        wrong: asked!("0", "c" "/c?build_defs=256" => r"'masterserver_flags 0\n'") }
}

pub(in crate::acr_master) fn parameter_range<S: Sink>(
    name: &str,
    text: &[u8],
    number: Option<u64>,
    most: u64,
    at: Span,
    sink: &mut S,
) {
    let is_of_register = name == "p" && most > u16::MAX.into();
    if let Some(port) =
        number.filter(|port| is_of_register && (u16::MAX.into()..=most).contains(port))
    {
        sink.noted(&ACR005, at, || {
            format!("p is {port}: the master probes port p+1, which is none")
        });
        return;
    }
    sink.checked(&ACR005, number.is_some_and(|number| number <= most), at, || match number {
        Some(number) => format!("{name} is {number}, the most is {most}"),
        None => format!("{name} is {}, not a decimal number", crate::kit::Quoted(text)),
    });
}

rule! {
    /// Masters no longer read it, and it identifies players to the network.
    pub ACR006 "parameter-deprecated" { severity: Note, who: Any, needs: Message,
        asks: "guid32 is left out: it is deprecated",
        cite: [("Specification", "guid32 client GUID (uint32, deprecated)")],
        right: asked!("0", "c" "/c?build_defs=4" => r"'masterserver_flags 0\n'"),
        wrong: asked!("0", "c" "/c?build_defs=4&guid32=3735928559" => r"'masterserver_flags 0\n'") }
}

pub(in crate::acr_master) fn parameter_deprecated<S: Sink>(there: bool, at: Span, sink: &mut S) {
    sink.checked(&ACR006, !there, at, || "guid32 is deprecated".into());
}

rule! {
    /// A master looks up IPv6 addresses: IPv4 players are in its lists in their mapped form.
    pub ACR007 "address-ipv6" { severity: Error, who: Server, needs: Message,
        asks: "/a's a is an IPv6 address; an IPv4 address is mapped to ::ffff:0:0/96",
        cite: [("Specification", "a.b.c.d (IPv4) is mapped to ::ffff:a.b.c.d first.")],
        right: registered!(asked!("1", "s:40001" "/a?p=28770&a=::ffff:c000:027f" => r"'*a\n'")),
        wrong: registered!(asked!("1", "s:40001" "/a?p=28770&a=192.0.2.127" => r"'*a\n'")) }
}

/// Returns whether the address is valid.
pub(in crate::acr_master) fn address_ipv6<S: Sink>(text: &[u8], at: Span, sink: &mut S) -> bool {
    let address = address(text);
    let ok = matches!(address, Some(IpAddr::V6(_)));
    sink.checked(&ACR007, ok, at, || match address {
        Some(_) => format!("{} is IPv4 and not mapped", lossy(text)),
        None => format!("{} is not an IPv6 address", crate::kit::Quoted(text)),
    });
    ok
}

rule! {
    /// Both sides must compute with the same bytes: with an additional or an uppercase digit they
    /// do not.
    pub ACR008 "nonce-hex" { severity: Error, who: Server, needs: Message,
        asks: "/v's c is 96 lowercase hex digits, its a 64",
        cite: [("Specification", "c client nonce in lowercase hex (char[96])"),
               ("Specification", "a lowercase hex-encoded 256-bit digest (char[64])")],
        right: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=7&c=' '5f'*48 '&a=' '0a'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\n*d\n' fin")),
        wrong: challenged!(concat!(
            "2.00 s:40002 > m  tcp 'GET /v?p=28770&i=7&c=' '5F'*48 '&a=' '0a'*32 ", r"' HTTP/1.0\r\n\r\n'", "\n",
            r"2.02 m > s:40002  tcp 'HTTP/1.0 200 OK\r\n\r\n*d\n' fin")) }
}

/// `bytes`: the expected number of bytes.
pub(in crate::acr_master) fn nonce_hex<S: Sink>(
    what: &str,
    bytes: usize,
    text: &[u8],
    ok: bool,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&ACR008, ok, at, || {
        let (length, wanted) = (text.len(), 2 * bytes);
        if length == wanted {
            format!("{what} has other characters than lowercase hex digits")
        } else {
            format!("{what} has {}, not {wanted}", crate::kit::counted(length, "character"))
        }
    });
}

rule! {
    /// One of them alone is ignored: the player is admitted without a proof.
    pub ACR009 "pair-whole" { severity: Warning, who: Server, needs: Message,
        asks: "i and u are both present, or both absent",
        cite: [("Specification", "optional, ignored unless both are present")],
        right: challenged!(),
        wrong: registered!(asked!("1", "s:40001" "/a?p=28770&a=::ffff:192.0.2.127&i=7" => r"'*a\n'")) }
}

pub(in crate::acr_master) fn pair_whole<S: Sink>(id: bool, user: bool, at: Span, sink: &mut S) {
    sink.checked(&ACR009, id && user, at, || {
        if id { "i is given without u".into() } else { "u is given without i".into() }
    });
}
