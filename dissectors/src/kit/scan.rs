//! Searches bytes eight or sixteen at a time. Most texts of these protocols have about a dozen
//! bytes: for these, the setup of a general search costs more than the search.

use wide::{CmpEq, i8x16};

/// A text that ends in a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminated<'a> {
    /// The bytes before the zero.
    pub(crate) text: &'a [u8],
    /// The bytes after it.
    pub(crate) after: &'a [u8],
    /// Whether the text is ASCII.
    pub(crate) is_ascii: bool,
}

/// The lowest bit of each byte of a word.
pub(crate) const ONES: u64 = u64::MAX / 0xFF;
/// The highest one.
pub(crate) const HIGHS: u64 = ONES << 7;

/// Whether these are printable ASCII characters and white space only.
pub(crate) fn is_plain_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// The text at the start of `bytes`. `None` if it has no zero.
#[inline]
pub(crate) fn terminated(bytes: &[u8]) -> Option<Terminated<'_>> {
    let (text, rest) = bytes.split_at_checked(memchr::memchr(0, bytes)?)?;
    let (_, after) = rest.split_first()?;
    Some(Terminated { text, after, is_ascii: text.is_ascii() })
}

/// Iterates over the positions of zeros. It searches blocks of 64 bytes, which avoids a
/// mispredicted branch per zero.
pub(crate) struct Zeros<'a> {
    bytes: &'a [u8],
    /// The offset of the current block.
    block: usize,
    /// A bit for each byte of it that is a zero and was not returned yet, the first one lowest.
    marks: u64,
}

impl<'a> Zeros<'a> {
    /// The zeros in `bytes` from offset `from` on.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], from: usize) -> Zeros<'a> {
        let mut zeros = Zeros { bytes, block: from, marks: 0 };
        zeros.look();
        zeros
    }

    /// Reads the bytes of a block. `None` at the end.
    #[inline]
    fn look(&mut self) -> Option<()> {
        let bytes = self.bytes.get(self.block..).filter(|bytes| !bytes.is_empty())?;
        self.marks = match (bytes.first_chunk(), self.bytes.last_chunk()) {
            (Some(block), _) => zero_marks(block),
            (None, Some(last)) => zero_marks(last) >> (64 - bytes.len()),
            (None, None) => {
                let mut block = [1; 64];
                block.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                zero_marks(&block)
            }
        };
        Some(())
    }
}

impl Iterator for Zeros<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.marks == 0 {
            self.block = self.block.saturating_add(64);
            self.look()?;
        }
        let at = self.block + self.marks.trailing_zeros() as usize;
        self.marks &= self.marks - 1;
        Some(at)
    }
}

/// A bit for each byte that is a zero.
#[inline]
fn zero_marks(block: &[u8; 64]) -> u64 {
    let parts = block.as_chunks().0.iter().zip((0..).step_by(16));
    parts.fold(0, |all, (part, shift)| all | u64::from(marks(0, part)) << shift)
}

/// A bit for each byte that equals `byte`, the first one lowest.
#[inline(always)]
fn marks(byte: u8, bytes: &[u8; 16]) -> u16 {
    sixteen(bytes).cmp_eq(i8x16::splat(byte as i8)).move_mask() as u16
}

/// The length of the valid UTF-8 at the start of the bytes, in whole characters.
pub(crate) fn utf8_up_to(bytes: &[u8]) -> usize {
    simdutf8::compat::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len)
}

/// Sixteen bytes, to be looked at together.
#[inline(always)]
pub(crate) fn sixteen(bytes: &[u8; 16]) -> i8x16 {
    i8x16::from(bytes.map(|byte| byte as i8))
}

/// The eight bytes at `at`, the first one lowest, zero-padded after the end.
#[inline(always)]
pub(crate) fn word_at(bytes: &[u8], at: usize) -> u64 {
    let there = bytes.get(at..).unwrap_or_default();
    match there.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => last_word(bytes, there.len()),
    }
}

/// The last `length` bytes, fewer than eight, in the form of [`word_at`].
#[inline]
fn last_word(bytes: &[u8], length: usize) -> u64 {
    match bytes.last_chunk() {
        Some(last) if length > 0 => u64::from_le_bytes(*last) >> (64 - 8 * length as u32 % 64),
        _ => bytes.iter().rev().take(length).fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn byte_by_byte(bytes: &[u8]) -> Option<Terminated<'_>> {
        let length = bytes.iter().position(|&byte| byte == 0)?;
        let (text, after) = (&bytes[..length], &bytes[length + 1..]);
        Some(Terminated { text, after, is_ascii: text.is_ascii() })
    }

    #[test]
    fn every_length_and_position_of_zeros_and_non_ascii_bytes() {
        for length in 0..20 {
            for zero in 0..=length {
                for odd in 0..=length {
                    let mut bytes = vec![0x01; length];
                    bytes.iter_mut().skip(odd).take(1).for_each(|byte| *byte = 0x80);
                    bytes.iter_mut().skip(zero).take(1).for_each(|byte| *byte = 0);
                    assert_eq!(terminated(&bytes), byte_by_byte(&bytes), "{bytes:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn finds_what_a_look_at_each_byte_finds(
            bytes in vec(prop_oneof![0_u8..3, 0x7E_u8..0x83, any::<u8>()], 0..40),
        ) {
            prop_assert_eq!(terminated(&bytes), byte_by_byte(&bytes));
        }

        #[test]
        fn zeros_are_reported_where_they_stand(
            bytes in vec(prop_oneof![4 => Just(b'a'), 1 => Just(0_u8), 1 => any::<u8>()], 0..400),
            from in 0..450_usize,
        ) {
            let after = bytes.iter().enumerate().skip(from);
            let expected = after.filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
            let mut zeros = Zeros::new(&bytes, from);
            prop_assert_eq!(zeros.by_ref().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            prop_assert_eq!(zeros.next(), None);
        }

        #[test]
        fn a_word_is_the_bytes_there_and_zeros_after(bytes in vec(any::<u8>(), 0..20), at in 0..24_usize) {
            let there = bytes.iter().skip(at).copied().chain([0; 8]);
            let word: Vec<u8> = there.take(8).collect();
            prop_assert_eq!(word_at(&bytes, at).to_le_bytes().to_vec(), word);
        }
    }
}
