//! The same where the processor has AVX2, as most for x86-64 do since 2013: all digits of an address are
//! put in their places at once.
//!
//! Functions that say so may use these instructions, and are safe. To call one from elsewhere takes
//! somebody's word that the processor has them, and is not: [`Shuffle`] is that word.

#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::net::Ipv4Addr;

use super::{BEFORE, Endpoint, walk};

/// The processor has what is needed here.
#[derive(Clone, Copy)]
pub(super) struct Shuffle(());

impl Shuffle {
    #[inline]
    pub(super) fn new() -> Option<Shuffle> {
        let is_there = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1");
        is_there.then_some(Shuffle(()))
    }

    /// See [`each`](super::each).
    #[inline]
    pub(super) fn each<const N: usize>(
        self,
        bytes: &[u8],
        opening: &[u8; N],
        between: u8,
        entry: impl FnMut(usize, &[u8], &Endpoint) -> Option<usize>,
    ) -> (usize, u32) {
        // SAFETY: the processor has AVX2 and BMI1: `new` has seen it.
        unsafe { each(bytes, opening, between, entry) }
    }
}

#[target_feature(enable = "avx2,bmi1")]
fn each<const N: usize>(
    bytes: &[u8],
    opening: &[u8; N],
    between: u8,
    entry: impl FnMut(usize, &[u8], &Endpoint) -> Option<usize>,
) -> (usize, u32) {
    // A function of its own would not become part of the loop: the compiler finds it too large.
    let endpoint = |bytes: &[u8]| {
        let Some(text) = bytes.get(BEFORE..).and_then(<[u8]>::first_chunk::<TEXT>) else {
            return short(bytes, between);
        };
        let all = load(text);
        // What is less than ten above '0', counted from the least that a signed byte can be.
        let above = _mm256_sub_epi8(all, _mm256_set1_epi8(0x30_i8.wrapping_add(-128)));
        let others = _mm256_cmpgt_epi8(above, _mm256_set1_epi8(-128 + 9));
        let dots = _mm256_cmpeq_epi8(all, _mm256_set1_epi8(b'.' as i8));
        let marks = _mm256_movemask_epi8(others) as u32;
        let no_dots = _mm256_movemask_epi8(_mm256_andnot_si256(dots, others)) as u32;
        // Without the first one, the lowest bit that is set.
        let rest = |marks: u32| marks & marks.wrapping_sub(1);
        let fourth = rest(rest(rest(marks)));
        let fifth = rest(fourth);
        let (ends, last) = (marks ^ fifth, fourth ^ fifth);
        let address_end = last.trailing_zeros() as usize;
        // Without a fourth mark it is some byte that is none.
        if no_dots & ends != last || text[address_end % TEXT] != between {
            return None;
        }
        let form = hash(ends);
        if ENDS[form] != ends {
            return None;
        }
        let address = address(_mm256_castsi256_si128(all), &FORMS[form])?;
        let end = fifth.trailing_zeros() as usize;
        let number = number(text.get(address_end + 1..)?.first_chunk()?, end - address_end - 1)?;
        Some(Endpoint { address, address_end, number, end })
    };
    walk(bytes, opening, endpoint, entry)
}

/// Bytes that are looked at at once: an address and a number take 24 at most.
const TEXT: usize = 32;

/// The endpoint in bytes that are too few to be looked at at once.
#[cold]
#[inline(never)]
fn short(bytes: &[u8], between: u8) -> Option<Endpoint> {
    super::endpoint(bytes, between)
}

/// An address of this form. `None`: an octet is greater than 255, or begins with a zero it does not need.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
fn address(text: __m128i, form: &Form) -> Option<Ipv4Addr> {
    let digits = _mm_shuffle_epi8(text, half(&form.digits));
    let values = _mm_and_si128(digits, _mm_set1_epi8(0xF));
    let weights = _mm_set1_epi32(i32::from_le_bytes([100, 10, 1, 0]));
    let octets = _mm_madd_epi16(_mm_maddubs_epi16(values, weights), _mm_set1_epi16(1));
    let too_little = _mm_cmpgt_epi32(half(&form.least), octets);
    let wrong = _mm_or_si128(too_little, _mm_cmpgt_epi32(octets, _mm_set1_epi32(0xFF)));
    if _mm_testz_si128(wrong, wrong) == 0 {
        return None;
    }
    let lowest_first = _mm_set1_epi32(i32::from_le_bytes([12, 8, 4, 0]));
    let bits = _mm_cvtsi128_si32(_mm_shuffle_epi8(octets, lowest_first));
    Some(Ipv4Addr::from_bits(bits as u32))
}

/// The number that so many digits spell: one to seven.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
fn number(bytes: &[u8; 8], length: usize) -> Option<u32> {
    let bits = LAST.get(length.wrapping_sub(1))?;
    let digits = _mm_cvtsi64_si128(i64::from_le_bytes(*bytes));
    let values = _mm_and_si128(digits, _mm_set1_epi8(0xF));
    let last = _mm_shuffle_epi8(values, _mm_cvtsi64_si128(i64::from_le_bytes(*bits)));
    let tens = _mm_set1_epi16(i16::from_le_bytes([10, 1]));
    let hundreds = _mm_set1_epi32(100 | 1 << 16);
    let fours = _mm_madd_epi16(_mm_maddubs_epi16(last, tens), hundreds);
    let both = _mm_cvtsi128_si64(fours) as u64;
    Some(both as u32 * 10_000 + (both >> 32) as u32)
}

/// From where each of eight digits comes, if there are one to seven, those that are there behind.
static LAST: [[u8; 8]; 7] = {
    let mut last = [[NO_DIGIT; 8]; 7];
    let mut length = 1;
    while length <= 7 {
        let mut digit = 0;
        while digit < length {
            last[length - 1][8 - length + digit] = digit as u8;
            digit += 1;
        }
        length += 1;
    }
    last
};

/// Eight bytes each, the first ones lowest.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
fn load(text: &[u8; TEXT]) -> __m256i {
    let [a, b, c, d] = words(text);
    _mm256_set_epi64x(d, c, b, a)
}

#[target_feature(enable = "avx2,bmi1")]
#[inline]
fn half(bytes: &[u8; 16]) -> __m128i {
    let [a, b] = words(bytes);
    _mm_set_epi64x(b, a)
}

#[inline(always)]
fn words<const N: usize>(bytes: &[u8]) -> [i64; N] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|at| words.get(at).copied().map_or(0, i64::from_le_bytes))
}

/// One of the 81 ways in which the digits of an address can stand.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Form {
    /// From where hundreds, tens and ones of each octet come, and a zero; what is [`NO_DIGIT`] is one,
    /// too.
    digits: [u8; 16],
    /// The least number that each octet with so many digits can be, of four bytes.
    least: [u8; 16],
}

/// Comes from nowhere.
const NO_DIGIT: u8 = 0x80;

/// Each at the [`hash`] of its ends.
static FORMS: [Form; 0x100] = TABLES.0;
/// For each form a bit for each byte that ends an octet, the first one lowest.
static ENDS: [u32; 0x100] = TABLES.1;

const TABLES: ([Form; 0x100], [u32; 0x100]) = {
    let mut tables = ([Form { digits: [NO_DIGIT; 16], least: [0; 16] }; 0x100], [0; 0x100]);
    let mut way = 0;
    while way < 81 {
        let lengths = [way / 27 % 3 + 1, way / 9 % 3 + 1, way / 3 % 3 + 1, way % 3 + 1];
        let mut form = Form { digits: [NO_DIGIT; 16], least: [0; 16] };
        let (mut octet, mut at, mut ends) = (0, 0, 0);
        while octet < 4 {
            form.least[4 * octet] = [0, 0, 10, 100][lengths[octet]];
            let mut digit = 3 - lengths[octet];
            while digit < 3 {
                form.digits[4 * octet + digit] = at;
                digit += 1;
                at += 1;
            }
            ends |= 1 << at;
            octet += 1;
            at += 1;
        }
        assert!(tables.1[hash(ends)] == 0, "each has a place of its own");
        tables.0[hash(ends)] = form;
        tables.1[hash(ends)] = ends;
        way += 1;
    }
    tables
};

/// Tells the 81 forms apart by eight bits.
#[inline(always)]
const fn hash(ends: u32) -> usize {
    (ends.wrapping_mul(3359) >> 7) as u8 as usize
}
