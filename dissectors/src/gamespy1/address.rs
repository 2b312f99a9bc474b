//! `a.b.c.d:port` as lists are full of it: read eight bytes at a time.
//!
//! It knows the one form that masters write. It refuses to know what else an address may be: what
//! is not told here takes a closer look.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::kit::scan::word_at;

const ONES: u64 = u64::MAX / 0xFF;
const HIGHS: u64 = ONES << 7;

/// The address that `bytes` begin with, up to a backslash or the end, and how long it is: a port from
/// 1 to 65535 of at most five digits. `None`: it may be written otherwise.
#[inline]
pub(super) fn usual(bytes: &[u8]) -> Option<(SocketAddrV4, usize)> {
    let (a, b, middle) = two_octets(word_at(bytes, 0), b'.')?;
    let (c, d, length) = two_octets(word_at(bytes, middle), b':')?;
    let (port, digits) = port(word_at(bytes, middle + length))?;
    let end = middle + length + digits;
    let is_whole = matches!(bytes.get(end), None | Some(b'\\'));
    is_whole.then(|| (SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port), end))
}

/// The digits of a word as numbers, each in its byte; and a bit for each byte that is none.
#[inline]
fn digits(word: u64) -> (u64, u64) {
    let digits = word ^ (ONES * 0x30);
    let above_nine = (digits & !HIGHS) + ONES * (0x7F - 9);
    (digits, (above_nine | digits) & HIGHS)
}

/// Two numbers up to 255 with a dot between them and `behind` behind, and the bytes of all that.
#[inline]
fn two_octets(word: u64, behind: u8) -> Option<(u8, u8, usize)> {
    let (digits, others) = digits(word);
    let last = others & others.wrapping_sub(1);
    if last == 0 {
        return None;
    }
    let (first, last) = (others.trailing_zeros() & !7, last.trailing_zeros() & !7);
    if (word >> first) as u8 != b'.' || (word >> last) as u8 != behind {
        return None;
    }
    let behind_first = first + 8;
    let (a, b) = (octet(digits, first)?, octet(digits >> behind_first, last - behind_first)?);
    Some((a, b, last as usize / 8 + 1))
}

/// The number up to 255 whose digits are in the lowest `bits`, the first one lowest. What begins with
/// a zero is a zero.
#[inline]
fn octet(digits: u64, bits: u32) -> Option<u8> {
    let least = match bits {
        8 => 0,
        16 => 10,
        24 => 100,
        _ => return None,
    };
    let [_, hundreds, tens, ones] = ((digits as u32) << (32 - bits)).to_le_bytes();
    let value = u32::from(hundreds) * 100 + u32::from(tens) * 10 + u32::from(ones);
    (least..=255).contains(&value).then_some(value as u8)
}

/// The port that a word begins with, and how many digits it has.
#[inline]
fn port(word: u64) -> Option<(u16, usize)> {
    let (digits, others) = digits(word);
    let bits = others.trailing_zeros() & !7;
    if !(8..=40).contains(&bits) {
        return None;
    }
    // Zeros before the digits, the last digit highest: neighbours are joined, three times over.
    let ones = digits << (64 - bits);
    let tens = (ones.wrapping_mul(10).wrapping_add(ones >> 8)) & 0x00FF_00FF_00FF_00FF;
    let hundreds = (tens.wrapping_mul(100).wrapping_add(tens >> 16)) & 0x0000_FFFF_0000_FFFF;
    let value = hundreds.wrapping_mul(10_000).wrapping_add(hundreds >> 32) as u32;
    u16::try_from(value).ok().filter(|&port| port > 0).map(|port| (port, bits as usize / 8))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<(String, usize)> {
        usual(text.as_bytes()).map(|(address, length)| (address.to_string(), length))
    }

    #[test]
    fn an_address_ends_at_a_backslash_or_the_end() {
        assert_eq!(read("255.255.255.255:65535"), Some(("255.255.255.255:65535".into(), 21)));
        assert_eq!(read("1.2.3.4:1"), Some(("1.2.3.4:1".into(), 9)));
        assert_eq!(read(r"10.20.30.40:07778\ip\"), Some(("10.20.30.40:7778".into(), 17)));
        for other in [
            "",
            "1.2.3.4",
            "1.2.3.4:",
            "1.2.3.4:0",
            "1.2.3.4:65536",
            "1.2.3.4:000001",
            "1.2.3.4:1\0",
            "1.2.3.4:1 ",
            "1.2.3:1",
            "1.2.3.4.5:1",
            "1.2.3.04:1",
            "1.2.3.256:1",
            "1.2.3.1000:1",
            "1..3.4:1",
            "+1.2.3.4:1",
            "[::1]:1",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn every_number_is_read_and_no_other() {
        for number in 0..1100_u32 {
            let expected = (number < 256).then_some(number as u8);
            let read =
                |text: &str| usual(text.as_bytes()).map(|(address, _)| address.ip().octets());
            for (at, text) in [
                format!("{number}.0.0.0:1"),
                format!("0.{number}.0.0:1"),
                format!("0.0.{number}.0:1"),
                format!("0.0.0.{number}:1"),
            ]
            .iter()
            .enumerate()
            {
                assert_eq!(read(text).map(|octets| octets[at]), expected, "{text}");
            }
        }
        for port in 0..100_000_u32 {
            let expected = u16::try_from(port).ok().filter(|&port| port > 0);
            let text = format!("1.2.3.4:{port}");
            assert_eq!(usual(text.as_bytes()).map(|(address, _)| address.port()), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_read_is_what_the_standard_library_reads(
            text in r"([0-9]{0,4}|25[4-6]|[:.\\/@ -~])([.][0-9]{1,3}){2,4}[.:]?[.:;][0-9]{0,6}[0-9 .:\x00]?",
        ) {
            let parsed = text.parse::<SocketAddrV4>().ok();
            let digits = text.rsplit(':').next().unwrap_or_default().len();
            let expected = parsed.filter(|it| it.port() > 0 && digits <= 5).map(|it| (it, text.len()));
            prop_assert_eq!(usual(text.as_bytes()), expected);
        }

        #[test]
        fn what_is_written_is_read(address: u32, port in 1_u16.., behind in r"(\\[a-z0-9.:]{0,9})?") {
            let address = SocketAddrV4::new(address.into(), port);
            let text = address.to_string();
            let found = usual(format!("{text}{behind}").as_bytes());
            prop_assert_eq!(found, Some((address, text.len())));
        }
    }
}
