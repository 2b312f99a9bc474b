//! Whether a connection speaks this protocol: by a request of ours with parameters of ours, by who
//! asks, or by an answer that only our master gives. Other sites have paths of one letter, too.

use super::http;
use super::params::{Endpoint, split};
use crate::kit::{Claim, StreamView};

/// Bytes of a request that are looked at.
const FRONT: usize = 2048;

pub(super) fn claim(view: &StreamView<'_>) -> Claim {
    for side in [0, 1] {
        let (request, answer) = (view.bytes[side], view.bytes[1 - side]);
        if request.is_empty() || http::is_response(request) {
            continue;
        }
        let ended = view.ended[side];
        if is_beginning_of_method(request) && !ended {
            return Claim::Undecided;
        }
        let front = request.get(..FRONT.min(request.len())).unwrap_or_default();
        let Some(target) = target(front) else { continue };
        if !front.contains(&b'\n') && !ended && request.len() < FRONT {
            return Claim::Undecided;
        }
        if names_game(front) {
            return Claim::Sure;
        }
        let Some(endpoint) = Endpoint::of(target) else { return Claim::No };
        if endpoint.is_likely(split(target).1.unwrap_or_default()) {
            return Claim::Sure;
        }
        return by_answer(answer, ended || view.ended[1 - side]);
    }
    Claim::No
}

/// Not even the method is there yet.
fn is_beginning_of_method(bytes: &[u8]) -> bool {
    [b"GET /".as_slice(), b"POST /"].iter().any(|method| method.starts_with(bytes))
}

/// What a request line asks for.
fn target(bytes: &[u8]) -> Option<&[u8]> {
    let line = bytes.split(|&byte| byte == b'\r' || byte == b'\n').next()?;
    let mut words = line.split(|&byte| byte == b' ');
    let method = words.next()?;
    if method.is_empty() || method.len() > 10 || !method.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    words.next().filter(|path| path.starts_with(b"/") || path.starts_with(b"http://"))
}

/// The game's own programs say who they are.
fn names_game(request: &[u8]) -> bool {
    let agent = b"\nUser-Agent: ACR-";
    request.windows(agent.len()).any(|window| window.eq_ignore_ascii_case(agent))
}

fn by_answer(answer: &[u8], ended: bool) -> Claim {
    if !answer.is_empty() && !http::is_response(answer) {
        return Claim::No;
    }
    let undecided = if ended { Claim::No } else { Claim::Undecided };
    let front = answer.get(..FRONT.min(answer.len())).unwrap_or_default();
    let blank = front.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
    let Some(body) = blank.and_then(|at| front.get(at..)) else { return undecided };
    let begins = |text: &[u8]| body.starts_with(text);
    if begins(b"masterserver_flags ") || is_control_line(body) {
        Claim::Sure
    } else if b"masterserver_flags ".starts_with(body) || body == b"*" {
        undecided
    } else {
        Claim::No
    }
}

/// `*a`, `*bw`, `*c...`, `*s3...`: how `/a` and `/v` are answered.
fn is_control_line(body: &[u8]) -> bool {
    let line = body.split(|&byte| byte == b'\n').next().unwrap_or_default();
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

    fn claim_of(request: &[u8], answer: &[u8]) -> Claim {
        claim(&StreamView { bytes: [request, answer], began: [true; 2], ended: [false; 2] })
    }

    #[test]
    fn requests_of_the_game_are_claimed() {
        let ours: [&[u8]; 5] = [
            b"GET /r?v=140&g=180300&p=28770&guid32=1 HTTP/1.0\r\n",
            b"GET /ms/a?p=28770&a=::ffff:192.0.2.1 HTTP/1.0\r\n",
            b"GET /v?p=28770&i=1&c=zz&a=00 HTTP/1.1\r\n",
            b"GET /c?build_defs=4 HTTP/1.1\r\n",
            b"GET /other HTTP/1.0\r\nUser-Agent: ACR-Server/180300\r\n\r\n",
        ];
        for request in ours {
            assert_eq!(claim_of(request, b""), Claim::Sure, "{}", request.escape_ascii());
        }
    }

    #[test]
    fn a_bare_path_is_told_by_its_answer() {
        let request = b"GET /c HTTP/1.1\r\n\r\n";
        assert_eq!(claim_of(b"GET ", b""), Claim::Undecided);
        assert_eq!(claim_of(b"GET /c HTT", b""), Claim::Undecided);
        assert_eq!(claim_of(request, b""), Claim::Undecided);
        assert_eq!(
            claim_of(request, b"HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\n"),
            Claim::Sure
        );
        assert_eq!(claim_of(request, b"HTTP/1.0 200 OK\r\n\r\n<html>"), Claim::No);
    }

    #[test]
    fn ordinary_web_traffic_is_not_claimed() {
        let others: [&[u8]; 5] = [
            b"GET / HTTP/1.1\r\nHost: example.com\r\n",
            b"GET /index.html HTTP/1.1\r\n",
            b"POST /api/v1 HTTP/1.1\r\n",
            b"SSH-2.0-OpenSSH_9.2\r\n",
            b"\x16\x03\x01\x02\x00",
        ];
        for request in others {
            assert_eq!(claim_of(request, b""), Claim::No, "{}", request.escape_ascii());
        }
    }
}
