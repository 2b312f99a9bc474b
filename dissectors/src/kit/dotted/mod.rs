//! Parses IPv4 addresses and short numbers in texts, eight bytes at a time.
//!
//! It recognizes only the usual spelling. Other spellings are left to a slower parser.

use std::net::Ipv4Addr;

use wide::{CmpGt, i8x16};

use crate::kit::scan::{HIGHS, ONES, sixteen, word_at};

/// An address, a separator, and a number. Offsets count from the address's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DottedEndpoint {
    pub(crate) address: Ipv4Addr,
    /// The offset of the address's end.
    pub(crate) address_end: usize,
    pub(crate) number: u32,
    /// The offset of the number's end. It has one to seven digits.
    pub(crate) end: usize,
}

/// Number of arbitrary bytes before an address.
const BEFORE: usize = 4;

/// The bytes that are read: those, then an address and a number of maximum length, and a few more.
type Window = [u8; 37];

/// Reads a sequence of entries that begin with `opening` and an endpoint, with `between` separating
/// address and number, as long as `entry` returns the length of the whole. `entry` is called with
/// the offset of the entry, the bytes from there on, and the endpoint. Returns the length of all
/// entries, and their number.
#[inline(always)]
pub(crate) fn each<const N: usize>(
    bytes: &[u8],
    opening: &[u8; N],
    between: u8,
    mut entry: impl FnMut(usize, &[u8], &DottedEndpoint) -> Option<usize>,
) -> (usize, u32) {
    const { assert!(N >= BEFORE) };
    let (mut at, mut times) = (0, 0);
    while let Some(rest) = bytes.get(at..)
        && rest.starts_with(opening)
        && let Some(endpoint) = rest.get(N - BEFORE..).and_then(|bytes| endpoint(bytes, between))
        && let Some(length) = entry(at, rest, &endpoint)
    {
        at += length;
        times += 1;
    }
    (at, times)
}

/// The endpoint [`BEFORE`] bytes into `bytes`, with `between` separating address and number.
#[inline(always)]
fn endpoint(bytes: &[u8], between: u8) -> Option<DottedEndpoint> {
    let padded;
    let window = match bytes.first_chunk() {
        Some(window) => window,
        None => {
            padded = pad(bytes);
            &padded
        }
    };
    let marks = marks(window)?;
    // The first five, from the lowest bit on.
    let second = marks & (marks - 1);
    let third = second & (second - 1);
    let fourth = third & (third - 1);
    let fifth = fourth & (fourth - 1);
    let place = |marks: u32| marks.trailing_zeros() as usize;
    let is_marked = |marks, byte: u8| window.get(BEFORE + place(marks)) == Some(&byte);
    let dotted = is_marked(marks, b'.') && is_marked(second, b'.') && is_marked(third, b'.');
    // Without four digits in a row, the ends of the octets determine where they begin.
    let two = !marks & !marks >> 1;
    let is_long = two & two >> 2 & (fourth ^ (fourth - 1)) != 0;
    if !dotted || !is_marked(fourth, between) || is_long {
        return None;
    }
    let last =
        |marks| window.get(1 + place(marks)..)?.first_chunk().copied().map(u32::from_le_bytes);
    // The bytes before the address may look like digits.
    let first = last(marks)? | 0x000F_0F0F_u32.wrapping_shr(8 * place(marks) as u32);
    let (a, b, c, d) =
        (octet(first), octet(last(second)?), octet(last(third)?), octet(last(fourth)?));
    let (address_end, end) = (place(fourth), place(fifth));
    let digits = end.wrapping_sub(address_end + 1);
    if (a | b | c | d) > 0xFF || digits.wrapping_sub(1) > 6 {
        return None;
    }
    let address = Ipv4Addr::from_bits((a << 8 | b) << 16 | c << 8 | d);
    let number = u64::from_le_bytes(*window.get(BEFORE + address_end + 1..)?.first_chunk()?);
    let number = decimal((number ^ (ONES * 0x30)) << (64 - 8 * digits as u32));
    Some(DottedEndpoint { address, address_end, number, end })
}

/// Zero-pads bytes that are too few for a window.
#[cold]
fn pad(bytes: &[u8]) -> Window {
    let mut window: Window = [0; size_of::<Window>()];
    window.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    window
}

/// A bit for each of the 24 bytes of an endpoint that is not a digit, the first one lowest; the
/// bits above are set.
#[inline(always)]
fn marks(window: &Window) -> Option<u32> {
    let (_, text) = window.split_first_chunk::<BEFORE>()?;
    let ([a, b, ..], _) = text.as_chunks() else { return None };
    Some(u32::from(no_digits(a)) | u32::from(no_digits(b)) << 16 | 0xFF00_0000)
}

/// A bit for each byte that is not a digit, the first one lowest.
#[inline(always)]
fn no_digits(bytes: &[u8; 16]) -> u16 {
    // Digits are less than ten above '0', counted from the smallest signed byte.
    let above = sixteen(bytes) - i8x16::splat(0x30_i8.wrapping_add(-128));
    above.cmp_gt(i8x16::splat(-128 + 9)).move_mask() as u16
}

/// The octet in the first three of four bytes: up to three digits after a byte that is not one.
/// Returns more than 255 if it is not an octet or has a needless leading zero. Only the lower half
/// of each byte is read.
#[inline(always)]
fn octet(bytes: u32) -> u32 {
    // The lower halves of the three bytes in a row, the last one lowest.
    let halves = (bytes & 0x000F_0F0F).wrapping_mul(0x1001_0010) >> 20;
    OCTETS.get(halves as usize).map_or(0x100, |&octet| octet.into())
}

/// The octet for each combination of three halves, where values above 9 mark bytes that are not
/// digits.
static OCTETS: [u16; 0x1000] = {
    let mut octets = [0x100; 0x1000];
    let mut halves = 0;
    while halves < octets.len() {
        let [hundreds, tens, ones] = [halves >> 8, halves >> 4 & 0xF, halves & 0xF];
        let value = match () {
            () if ones > 9 => 0x100,
            () if tens > 9 => ones,
            () if hundreds > 9 && tens > 0 => 10 * tens + ones,
            () if hundreds > 9 || hundreds == 0 => 0x100,
            () => 100 * hundreds + 10 * tens + ones,
        };
        if value <= 0xFF {
            octets[halves] = value as u16;
        }
        halves += 1;
    }
    octets
};

/// The number of one to seven digits at the start of `bytes`, and its number of digits.
#[inline(always)]
pub(crate) fn number(bytes: &[u8]) -> Option<(u32, usize)> {
    let (digits, others) = digits(word_at(bytes, 0));
    let bits = others.trailing_zeros() & !7;
    if bits == 0 || bits > 56 {
        return None;
    }
    Some((decimal(digits << (64 - bits)), bits as usize / 8))
}

/// The digits of a word as numbers, each in its byte; and the highest bit of each byte that is not
/// a digit. After a byte that is not ASCII, a digit may be missed.
#[inline(always)]
fn digits(word: u64) -> (u64, u64) {
    let digits = word ^ (ONES * 0x30);
    let above_nine = digits.wrapping_add(ONES * (0x7F - 9));
    (digits, (above_nine | digits) & HIGHS)
}

/// The number of eight digits, the first one lowest.
#[inline(always)]
fn decimal(digits: u64) -> u32 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) as u32
}

#[cfg(test)]
mod tests;
