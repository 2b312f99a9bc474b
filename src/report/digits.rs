//! Formats decimal digits, eight at a time.

/// Powers of ten at which a number is split.
const TEN_TO_8: u64 = 100_000_000;

/// An integer without leading zeros.
#[inline]
pub(crate) fn unsigned(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
    } else if value < TEN_TO_8 {
        short(out, value as u32);
    } else {
        long(out, value);
    }
}

/// The lowest `width` of eight digits, with leading zeros.
#[inline]
pub(super) fn padded(out: &mut Vec<u8>, value: u32, width: usize) {
    let digits = eight(value) >> (8 * (8 - width));
    leading(out, digits, width);
}

/// From 10 to 99,999,999.
#[inline]
fn short(out: &mut Vec<u8>, value: u32) {
    let (digits, length) = few(value);
    leading(out, digits, length);
}

/// The digits of an integer if it has at most eight, and their number, padded with zero bytes.
#[inline]
pub(super) fn word(value: u64) -> Option<([u8; 8], usize)> {
    let (digits, length) = few(value.try_into().ok().filter(|_| value < TEN_TO_8)?);
    Some((digits.to_le_bytes(), length))
}

#[inline]
fn few(value: u32) -> (u64, usize) {
    let digits = eight(value);
    let zeros = ((digits ^ ZEROS).trailing_zeros() / 8).min(7);
    (digits >> (8 * zeros), 8 - zeros as usize)
}

/// 100,000,000 and more: three times eight digits hold 64 bits.
#[inline(never)]
fn long(out: &mut Vec<u8>, value: u64) {
    let (high, low) = (value / TEN_TO_8, (value % TEN_TO_8) as u32);
    unsigned(out, high);
    padded(out, low, 8);
}

/// The first `width` of eight bytes, the lowest first.
#[inline]
fn leading(out: &mut Vec<u8>, bytes: u64, width: usize) {
    let end = out.len() + width;
    out.extend_from_slice(&bytes.to_le_bytes());
    out.truncate(end);
}

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// The eight digits of a number below 100,000,000, one per byte; the lowest byte is the first
/// digit.
///
/// The number is split three times, into fours, twos and single digits, in all parts of one word at
/// once. Division is done by multiplication and shift: 10486 / 2^20 is a hundredth, 103 / 2^10 a
/// tenth, both exact for these ranges.
#[inline]
fn eight(value: u32) -> u64 {
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    let ones = tens | (twos - 10 * tens) << 8;
    ones + ZEROS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"<".to_vec();
        write(&mut out);
        String::from_utf8(out).expect("ASCII").split_off(1)
    }

    #[test]
    fn every_number_of_four_digits() {
        for value in 0..10_000_u32 {
            assert_eq!(written(|out| unsigned(out, value.into())), value.to_string());
            let high = value * 10_000 + value;
            assert_eq!(written(|out| padded(out, high, 8)), format!("{high:08}"));
        }
    }

    #[test]
    fn where_the_length_changes() {
        let mut power = 1_u64;
        while let Some(next) = power.checked_mul(10) {
            for value in [power - 1, power, power + 1, next - 1, u64::MAX - power] {
                assert_eq!(written(|out| unsigned(out, value)), value.to_string());
            }
            power = next;
        }
        assert_eq!(written(|out| unsigned(out, u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn the_digits_of_a_word() {
        assert_eq!(word(0), Some((*b"0\0\0\0\0\0\0\0", 1)));
        assert_eq!(word(4_096), Some((*b"4096\0\0\0\0", 4)));
        assert_eq!(word(99_999_999), Some((*b"99999999", 8)));
        assert_eq!((word(100_000_000), word(1 << 32), word(u64::MAX)), (None, None, None));
    }

    #[test]
    fn leading_zeros() {
        assert_eq!(written(|out| padded(out, 42, 6)), "000042");
        assert_eq!(written(|out| padded(out, 0, 3)), "000");
    }

    proptest! {
        #[test]
        fn as_the_standard_library_writes_them(value: u64, shift in 0..64_u32) {
            let value = value >> shift;
            prop_assert_eq!(written(|out| unsigned(out, value)), value.to_string());
        }
    }
}
