//! IPv4 addresses and short numbers as texts are full of them, read eight bytes at a time.
//!
//! It knows the one form that programs write. What is not told here may be written otherwise, and
//! takes a closer look.

use std::net::Ipv4Addr;

use crate::kit::scan::{HIGHS, ONES, word_at};

/// The address that `bytes` begin with, `behind` behind it, and the bytes of both.
#[inline(always)]
pub(crate) fn ipv4(bytes: &[u8], behind: u8) -> Option<(Ipv4Addr, usize)> {
    let (high, middle) = two_octets(word_at(bytes, 0), b'.')?;
    let (low, length) = two_octets(word_at(bytes, middle), behind)?;
    Some((Ipv4Addr::from_bits(high << 16 | low), middle + length))
}

/// The number that `bytes` begin with, of one to seven digits, and how many these are.
#[inline(always)]
pub(crate) fn number(bytes: &[u8]) -> Option<(u32, usize)> {
    let (digits, others) = digits(word_at(bytes, 0));
    let bits = others.trailing_zeros() & !7;
    if bits == 0 || bits > 56 {
        return None;
    }
    // Zeros before the digits, the last digit highest.
    let pairs = in_pairs(digits << (64 - bits));
    let value = pairs.wrapping_mul(10_000).wrapping_add(pairs >> 32) as u32;
    Some((value, bits as usize / 8))
}

/// The digits of a word as numbers, each in its byte; and a bit for each byte that is none.
#[inline(always)]
fn digits(word: u64) -> (u64, u64) {
    let digits = word ^ (ONES * 0x30);
    let above_nine = (digits & !HIGHS) + ONES * (0x7F - 9);
    (digits, (above_nine | digits) & HIGHS)
}

/// Of eight digits, the first one lowest, the numbers that each half spells, in halves of a word.
#[inline(always)]
fn in_pairs(digits: u64) -> u64 {
    let tens = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    tens.wrapping_mul(100).wrapping_add(tens >> 16) & 0x0000_FFFF_0000_FFFF
}

/// Two numbers up to 255 with a dot between them and `behind` behind: both in 16 bits, and how many
/// bytes that takes. What begins with a zero is a zero.
#[inline(always)]
fn two_octets(word: u64, behind: u8) -> Option<(u32, usize)> {
    let (digits, others) = digits(word);
    let later = others & others.wrapping_sub(1);
    if later == 0 {
        return None;
    }
    // In bits: the digits of the first, and those of the second.
    let first = others.trailing_zeros() & !7;
    let end = later.trailing_zeros() & !7;
    let second = end - first - 8;
    if (word >> first) as u8 != b'.' || (word >> end) as u8 != behind {
        return None;
    }
    // The last digit of each number highest in its half of the word.
    let behind_dot = digits >> first >> 8;
    let low = (digits as u32).wrapping_shl(32_u32.wrapping_sub(first));
    let high = (behind_dot as u32).wrapping_shl(32_u32.wrapping_sub(second));
    let octets = in_pairs(u64::from(low) | u64::from(high) << 32);
    let (a, b) = (octets as u32, (octets >> 32) as u32);
    let fit = (a | b) <= 255 && a >= least(first) && b >= least(second);
    fit.then_some((a << 8 | b, end as usize / 8 + 1))
}

/// The least number that so many bits of digits, eight to each, may spell; more than 255 for what
/// is no octet.
#[inline(always)]
fn least(bits: u32) -> u32 {
    const LEAST: [u32; 8] = [256, 0, 10, 100, 256, 256, 256, 256];
    LEAST[bits as usize / 8 % 8]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> Option<(String, usize)> {
        ipv4(text.as_bytes(), b':').map(|(address, length)| (address.to_string(), length))
    }

    #[test]
    fn an_address_ends_at_what_must_stand_behind() {
        assert_eq!(address("255.255.255.255:65535"), Some(("255.255.255.255".into(), 16)));
        assert_eq!(address("1.20.0.4:"), Some(("1.20.0.4".into(), 9)));
        for other in [
            "",
            ":",
            "1.2.3.4",
            "1.2.3:1",
            "1.2.3.4.5:1",
            "1.2.3.04:1",
            "00.2.3.4:1",
            "1.2.3.256:1",
            "1.2.3.1000:1",
            "1.2.3.4 :1",
            "1..3.4:1",
            ".2.3.4:1",
            "+1.2.3.4:1",
            "[::1]:1",
        ] {
            assert_eq!(address(other), None, "{other}");
        }
    }

    #[test]
    fn every_number_is_read() {
        for value in 0..1100_u32 {
            let expected = (value < 256).then_some(value as u8);
            for (at, text) in [
                format!("{value}.0.0.0:"),
                format!("0.{value}.0.0:"),
                format!("0.0.{value}.0:"),
                format!("0.0.0.{value}:"),
            ]
            .iter()
            .enumerate()
            {
                let octets = ipv4(text.as_bytes(), b':').map(|(address, _)| address.octets());
                assert_eq!(octets.map(|octets| octets[at]), expected, "{text}");
            }
        }
        for value in (0..100_000).chain([9_999_999]) {
            let text = value.to_string();
            assert_eq!(number(text.as_bytes()), Some((value, text.len())));
        }
        for (text, expected) in [
            ("", None),
            ("a", None),
            ("-1", None),
            ("10000000", None),
            ("007\n8", Some((7, 3))),
            ("1234567x", Some((1_234_567, 7))),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn an_address_is_what_the_standard_library_takes_for_one(
            text in r"([0-9]{0,4}|25[4-6]|[/ -~&&[^:]])([.]([0-9]{1,3}|25[3-7])){2,4}[.\x00é]?",
            rest in r"[:0-9]{0,9}",
        ) {
            let expected = text.parse().ok().map(|address: Ipv4Addr| (address, text.len() + 1));
            prop_assert_eq!(ipv4(format!("{text}:{rest}").as_bytes(), b':'), expected);
        }

        #[test]
        fn every_address_is_read(bits: u32, rest in r"[ -~]{0,9}") {
            let text = Ipv4Addr::from(bits).to_string();
            let found = ipv4(format!("{text} {rest}").as_bytes(), b' ');
            prop_assert_eq!(found, Some((bits.into(), text.len() + 1)));
        }

        #[test]
        fn a_number_is_all_its_digits(text in r"[0-9]{0,9}", rest in r"([^0-9][ -~]{0,9})?") {
            let expected = text.parse().ok().filter(|_| text.len() <= 7).map(|it| (it, text.len()));
            prop_assert_eq!(number(format!("{text}{rest}").as_bytes()), expected);
        }
    }
}
