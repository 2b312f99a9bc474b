//! Whether a connection uses this protocol: by a request with the game's parameters, by the
//! client's name, or by a response that only this master sends. Other sites have paths of one
//! letter, too.
//!
//! If the first request does not show it, a later one may, as long as little data has been sent.
//! Ordinary sites soon send more, and are then ignored.

use super::params::{ApiPath, QueryParameter, decimal, decoded, pieces, split};
use super::request;
use crate::kit::{Blind, Claim, StreamView, http};

/// Maximum number of bytes of a request or response that are read.
const FRONT: usize = 2048;

/// How requests for anything begin.
const METHOD: &[u8] = b"GET ";

/// While both sides have sent no more than this, a connection that began with other requests may
/// still be identified.
const LITTLE: usize = 1024;

pub(super) fn claim(view: &StreamView<'_>) -> Claim {
    for side in [0, 1] {
        let (requests, responses) = (requests(view.bytes[side]), view.bytes[1 - side]);
        let is_open = !view.ended[side] && !view.ended[1 - side];
        let is_little = view.bytes[side].len() + responses.len() <= LITTLE;
        let is_cut = requests.is_empty() && !responses.is_empty() && !view.began[1 - side];
        if is_cut && is_open && is_little && http::may_be_response(responses) {
            return Claim::Undecided;
        }
        if requests.is_empty() && !view.bytes[side].is_empty() && is_open && is_little {
            return Claim::Undecided;
        }
        if requests.is_empty() || http::is_response(requests) || !http::may_be_request(requests) {
            continue;
        }
        let front = requests.get(..FRONT.min(requests.len())).unwrap_or_default();
        let has_line =
            |request: &[u8]| request.contains(&b'\n') || request.len() >= FRONT || view.ended[side];
        if !has_line(front) {
            return Claim::Undecided;
        }
        if targets(front).any(|(request, target)| has_line(request) && is_ours(request, target)) {
            return Claim::Sure;
        }
        let Some((request, first)) = targets(front).next() else { return Claim::No };
        let claim = by_response(first, responses, !is_open);
        if claim == Claim::Sure {
            return claim;
        }
        // The client's name may appear in a header that has not arrived yet.
        let is_begun = request.len() < FRONT && http::whole_request(request).is_none();
        let may_follow = claim == Claim::Undecided || is_begun || is_little;
        return if is_open && may_follow { Claim::Undecided } else { Claim::No };
    }
    Claim::No
}

/// The bytes without empty lines before the first request, which servers ignore (RFC 9112 section 2.2).
fn requests(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(bytes.len());
    bytes.get(start..).unwrap_or_default()
}

/// Whether this request claims the connection, and not only its response.
pub(super) fn claims_connection(request: &[u8]) -> bool {
    target(request).is_some_and(|target| is_ours(request, target))
}

/// The ports of the server that registers with the request that begins with these bytes.
pub(super) fn registered_ports(request: &[u8]) -> Option<[u16; 2]> {
    // Nearly all segments are told by their first bytes.
    let front = request.get(..FRONT.min(request.len())).filter(|it| it.starts_with(METHOD))?;
    if !front.contains(&b'\n') || !claims_connection(front) {
        return None;
    }
    let request = request::request(front, &mut Blind);
    if request.endpoint == Some(ApiPath::Register) { request.ports() } else { None }
}

/// Whether a request by itself shows that it is the game's.
fn is_ours(request: &[u8], target: &[u8]) -> bool {
    let is_likely = |it: ApiPath| it.is_likely(split(target).1.unwrap_or_default());
    request::names_game(request) || ApiPath::of(target).is_some_and(is_likely)
}

/// The requests in these bytes and their targets. The last request may be incomplete.
fn targets(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let length = http::whole_request(bytes).unwrap_or(bytes.len());
        let (request, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        Some((request, target(request)?))
    })
}

/// The target of a request line.
fn target(bytes: &[u8]) -> Option<&[u8]> {
    let line = bytes.split(|&byte| byte == b'\r' || byte == b'\n').next()?;
    let mut words = line.split(|&byte| byte == b' ');
    let method = words.next()?;
    if method.is_empty() || method.len() > 10 || !method.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    words.next().filter(|target| is_path(target))
}

/// Whether a target is a path of a web site. Some programs leave out the first slash.
fn is_path(target: &[u8]) -> bool {
    let mut path = split(target).0.iter();
    target.starts_with(b"http://") || path.len() > 0 && path.all(|&byte| byte != b':')
}

/// What the response to the first request shows. `No`: it is an ordinary site.
fn by_response(target: &[u8], response: &[u8], ended: bool) -> Claim {
    if !http::may_be_response(response) {
        return Claim::No;
    }
    let front = response.get(..FRONT.min(response.len())).unwrap_or_default();
    let Some(endpoint) = ApiPath::of(target) else { return Claim::No };
    let Some((body, is_all)) = http::body_so_far(front) else { return Claim::Undecided };
    let (line, is_whole) = match memchr::memchr(b'\n', &body) {
        Some(end) => (body.get(..end).unwrap_or_default(), true),
        None => (&*body, is_all),
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let begins = |word: &[u8]| word.starts_with(line) || line.starts_with(word);
    let is_registration =
        || endpoint == ApiPath::Register && (is_whole || ended) && registers(target, line);
    let is_server = || endpoint == ApiPath::Client && is_server(line, is_whole || ended);
    let is_ours = line.starts_with(FLAGS) || is_version(line) || is_control_line(line);
    if is_ours || is_server() || is_registration() {
        Claim::Sure
    } else if !is_whole && [FLAGS, VERSION, SERVER, b"*"].into_iter().any(begins) {
        Claim::Undecided
    } else {
        Claim::No
    }
}

/// Whether a single number as parameter, which other sites have, too, gets the response to a
/// registration.
fn registers(target: &[u8], line: &[u8]) -> bool {
    let (_, query) = split(target);
    let is_number = |piece: QueryParameter<'_>| {
        let is_known = ApiPath::Register.parameter(piece.name).is_some();
        is_known && decimal(&decoded(piece.value)).is_some()
    };
    let word = b"regist";
    query.is_some_and(|query| pieces(query, 0).all(is_number))
        && !line.iter().any(|byte| b"<{".contains(byte))
        && line.windows(word.len()).any(|found| found.eq_ignore_ascii_case(word))
}

const FLAGS: &[u8] = b"masterserver_flags ";
const VERSION: &[u8] = b"current_version ";
const SERVER: &[u8] = b"addserver ";

/// `current_version` and two numbers.
fn is_version(line: &[u8]) -> bool {
    let Some(numbers) = line.strip_prefix(VERSION) else { return false };
    let mut words = numbers.trim_ascii_end().split(|&byte| byte == b' ');
    let mut number = || words.next().and_then(decimal).is_some();
    number() && number()
}

/// `addserver` and an address: the list of a master that leaves out the lines before it.
fn is_server(line: &[u8], is_whole: bool) -> bool {
    let Some(words) = line.strip_prefix(SERVER) else { return false };
    let mut words = words.split(|&byte| byte == b' ');
    let address = words.next().and_then(|word| std::str::from_utf8(word).ok());
    let is_over = is_whole || words.next().is_some();
    is_over && address.is_some_and(|address| address.parse::<std::net::IpAddr>().is_ok())
}

/// `*a`, `*bw`, `*c...`, `*s3...`: the responses to `/a` and `/v`.
fn is_control_line(line: &[u8]) -> bool {
    match line {
        [b'*', b'a' | b'f' | b'd'] | [b'*', b'b', b'w' | b'i' | b'm'] => true,
        [b'*', b'c', rest @ ..] => rest.len() >= 16 && rest.iter().all(u8::is_ascii_hexdigit),
        [b'*', b's', b'x' | b'0'..=b'3', ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim_of(request: &[u8], response: &[u8]) -> Claim {
        claim(&StreamView { bytes: [request, response], began: [true; 2], ended: [false; 2] })
    }

    #[test]
    fn requests_of_the_game_are_claimed() {
        let ours: [&[u8]; 12] = [
            b"GET ms/r?v=140&p=28770 HTTP/1.0\r\n",
            b"GET c HTTP/1.0\r\nUser-Agent: ACR-Server/180300\r\n\r\n",
            b"GET /r?v=140&g=180300&p=28770&guid32=1 HTTP/1.0\r\n",
            b"GET /ms/a?p=28770&a=::ffff:192.0.2.1 HTTP/1.0\r\n",
            b"GET /v?p=28770&i=1&c=zz&a=00 HTTP/1.1\r\n",
            b"GET /c?build_defs=4 HTTP/1.1\r\n",
            b"GET /other HTTP/1.0\r\nUser-Agent: ACR-Server/180300\r\n\r\n",
            b"GET /r?v=140 HTTP/1.0\r\nUser-Agent:acr-server/180300\r\n\r\n",
            b"GET /r?v=140 HTTP/1.0\r\nUser-Agent:  ACR-Server/180300\r\n\r\n",
            b"GET /r?v=%31%34%30&p=2877%30 HTTP/1.0\r\n",
            b"GET /%72?%76=140&p=28770 HTTP/1.0\r\n",
            b"HEAD /r?v=140&p=28770 HTTP/1.0\r\n",
        ];
        for request in ours {
            assert_eq!(claim_of(request, b""), Claim::Sure, "{}", request.escape_ascii());
            for cut in 1..request.iter().position(|&byte| byte == b'\n').unwrap() {
                assert_eq!(claim_of(&request[..cut], b""), Claim::Undecided);
            }
        }
    }

    #[test]
    fn a_registration_names_the_ports_of_its_server() {
        let request = b"GET /r?v=140&g=180300&p=2000&guid32=1 HTTP/1.0\r\n";
        assert_eq!(registered_ports(request), Some([2000, 2001]));
        assert_eq!(registered_ports(b"GET /r?v=140&g=180300 HTTP/1.0\r\n"), Some([28770, 28771]));
        for other in [
            &request[..request.len() - 1],
            b"GET /r?v=140&g=180300&p=65535 HTTP/1.0\r\n",
            b"GET /c?build_defs=4 HTTP/1.1\r\n",
            b"GET /r?page=2 HTTP/1.1\r\n",
            b"HTTP/1.0 200 OK\r\n\r\nregistered\n",
        ] {
            assert_eq!(registered_ports(other), None, "{}", other.escape_ascii());
        }
    }

    #[test]
    fn empty_lines_before_a_request_are_ignored() {
        let request = b"GET /r?v=140&p=28770 HTTP/1.0\r\n";
        for lines in [b"\r\n".as_slice(), b"\n", b"\r\n\r\n"] {
            let bytes = [lines, request].concat();
            for cut in 1..bytes.len() {
                assert_eq!(claim_of(&bytes[..cut], b""), Claim::Undecided, "{cut}");
            }
            assert_eq!(claim_of(&bytes, b""), Claim::Sure);
        }
        assert_eq!(claim_of(b"\r\nSSH-2.0-OpenSSH_9.2\r\n", b""), Claim::No);
        assert_eq!(claim_of(&b"\r\n".repeat(LITTLE), b""), Claim::No);
    }

    #[test]
    fn a_bare_path_is_identified_by_its_response() {
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nmaste\r\nf\r\nrserver_flags 0\n\r\n";
        let whole = b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nregistered";
        let whole_chunk =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nregistered\r\n0\r\n\r\n";
        let list = b"HTTP/1.0 200 OK\r\n\r\naddserver 192.0.2.1 28770 0\n";
        let responses: [(&[u8], &[u8], usize); 10] = [
            (b"GET /c HTTP/1.1\r\n\r\n", list, list.len() - 8),
            (b"GET /r?p=28770 HTTP/1.1\r\n\r\n", whole, whole.len()),
            (b"GET r?p=28770 HTTP/1.1\r\n\r\n", whole, whole.len()),
            (b"GET /r?v=140 HTTP/1.1\r\n\r\n", whole_chunk, whole_chunk.len()),
            (b"GET /c HTTP/1.1\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\n", 38),
            (b"GET /c HTTP/1.1\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\ncurrent_version 1 2\n", 38),
            (b"GET /c HTTP/1.1\r\n\r\n", chunked, chunked.len() - 4),
            (b"GET /a HTTP/1.1\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n*bw\n", 22),
            (b"GET /r?v=140 HTTP/1.1\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\nServer registered\n", 37),
            (b"GET /v HTTP/1.1\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n*sxName\n", 22),
        ];
        for (request, response, claims_connection) in responses {
            for cut in 0..request.len() {
                assert_eq!(
                    claim_of(&request[..cut], b""),
                    if cut == 0 { Claim::No } else { Claim::Undecided }
                );
            }
            for cut in 0..=response.len() {
                let expected = if cut < claims_connection { Claim::Undecided } else { Claim::Sure };
                assert_eq!(
                    claim_of(request, &response[..cut]),
                    expected,
                    "{}",
                    response[..cut].escape_ascii()
                );
            }
        }
    }

    #[test]
    fn a_later_request_identifies_a_short_stream() {
        let page = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx\n";
        let long = [page.as_slice(), &[b'x'; LITTLE]].concat();
        for first in
            [b"GET /index.html HTTP/1.1\r\n\r\n".as_slice(), b"GET /r?v=140 HTTP/1.1\r\n\r\n"]
        {
            assert_eq!(claim_of(first, page), Claim::Undecided);
            assert_eq!(claim_of(first, &long), Claim::No);
            let both = [first, b"GET /a?a=::1 HTTP/1.1\r\n"].concat();
            assert_eq!(claim_of(&both, page), Claim::Sure);
            assert_eq!(claim_of(&both[..both.len() - 1], page), Claim::Undecided);
        }
    }

    #[test]
    fn a_response_to_an_earlier_request_is_followed_by_a_request() {
        let response = b"HTTP/1.1 200 OK\r\n\r\nregistered".as_slice();
        for (began, expected) in [(false, Claim::Undecided), (true, Claim::No)] {
            let (bytes, ended) = ([response, b""], [false; 2]);
            assert_eq!(claim(&StreamView { bytes, began: [began, true], ended }), expected);
        }
    }

    #[test]
    fn ordinary_web_traffic_is_not_claimed() {
        let others: [(&[u8], &[u8]); 12] = [
            (b"GET /c HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\naddserver x\n"),
            (b"GET /v HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\naddserver 192.0.2.1\n"),
            (b"OPTIONS sip:r@192.0.2.1 SIP/2.0\r\n", b""),
            (b"GET /r?page=2 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nregistered\n"),
            (b"GET / HTTP/1.1\r\nHost: example.com\r\n", b""),
            (b"GET /index.html HTTP/1.1\r\n", b""),
            (b"POST /api/v1 HTTP/1.1\r\n", b""),
            (b"SSH-2.0-OpenSSH_9.2\r\n", b""),
            (b"\x16\x03\x01\x02\x00", b""),
            (b"GET /c HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n<html>"),
            (b"GET /r?v=2 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n{\"registered\":true}\n"),
            (b"GET /v?v=2 HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n1.2.3\n"),
        ];
        for (request, response) in others {
            assert_ne!(claim_of(request, response), Claim::Sure, "{}", request.escape_ascii());
            let bytes = [request, response];
            let over = StreamView { bytes, began: [true; 2], ended: [true; 2] };
            assert_eq!(claim(&over), Claim::No, "{}", request.escape_ascii());
        }
        let page = [b"HTTP/1.1 200 OK\r\n\r\n<html>".as_slice(), &[b' '; LITTLE]].concat();
        assert_eq!(claim_of(b"GET /c HTTP/1.1\r\n\r\n", &page), Claim::No);
    }
}
