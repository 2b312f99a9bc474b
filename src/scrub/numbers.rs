//! Replaces numbers that other messages repeat in another form.

use super::secret::{Key, Purpose};

/// Numbers below this one are no personal data.
const SMALL: u32 = 1 << 16;

/// How often another number is tried: more often than any form of a challenge needs, by far.
const MOST_TRIES: u32 = 1 << 16;

/// Whether a number is kept.
pub(super) fn is_small(number: i64) -> bool {
    number.unsigned_abs() < u64::from(SMALL)
}

/// The replacement of a challenge. That of one with its bytes reversed is the reversed replacement;
/// its decimal text has the same length, signed and unsigned; and it is ASCII if the challenge is.
pub(super) fn challenge(key: &Key, challenge: u32) -> u32 {
    let reversed = challenge.swap_bytes();
    if [challenge, reversed].into_iter().any(|it| is_small(it.cast_signed().into())) {
        return challenge;
    }
    // Both are made from the smaller one.
    let (of, is_reversed) =
        if challenge <= reversed { (challenge, false) } else { (reversed, true) };
    let form = |number: u32| {
        let signed = number.cast_signed();
        let digits = [number, signed.unsigned_abs()].map(|it| it.ilog10());
        (digits, signed < 0, number.to_be_bytes().is_ascii())
    };
    let forms = [form(of), form(of.swap_bytes())];
    let is_large = |number: u32| !is_small(number.cast_signed().into());
    // Numbers are drawn in the byte order in which fewer have the form.
    let size = |number: u32| number.cast_signed().unsigned_abs().max(1);
    let swaps = size(of.swap_bytes()) < size(of);
    let drawn = if swaps { of.swap_bytes() } else { of };
    let least = 10_u32.pow(size(drawn).ilog10()).max(SMALL);
    let count = (u64::from(least) * 10).min(1 << 31).saturating_sub(least.into()).max(1) as u32;
    let mut numbers = key.numbers(Purpose::Challenge, &of.to_be_bytes());
    let mut tries = (0..2 * MOST_TRIES).map(|_| {
        let size = least.saturating_add(numbers.below(count));
        let number = if drawn.cast_signed() < 0 { size.wrapping_neg() } else { size };
        let number = if swaps { number.swap_bytes() } else { number };
        // What is the same in both orders stays so.
        if of == of.swap_bytes() {
            number & 0xFFFF_0000 | number.swap_bytes() & 0xFFFF
        } else {
            number
        }
    });
    let fits = |other: u32| {
        let both = [other, other.swap_bytes()];
        other != of && both.into_iter().all(is_large) && both.map(form) == forms
    };
    // Where none has the form in both byte orders, that in which fewer have it counts.
    let first = tries.by_ref().take(MOST_TRIES as usize).find(|&other| fits(other));
    let has_form = |other: &u32| match swaps {
        true => form(other.swap_bytes()) == forms[1],
        false => form(*other) == forms[0],
    };
    let other = first.or_else(|| tries.find(has_form)).unwrap_or(of ^ 0x0100_0001);
    if is_reversed { other.swap_bytes() } else { other }
}

/// The replacement of a timestamp: masked, it is the replacement of the masked timestamp.
pub(super) fn timestamp(key: &Key, timestamp: u32) -> u32 {
    const MASK: u32 = 0x0F0F_0F0F;
    let (masked, rest) = (timestamp & MASK, timestamp & !MASK);
    if is_small(timestamp.into()) && rest == 0 {
        return timestamp;
    }
    let other = |half: u32, mask: u32, with: u32| {
        if half == 0 {
            return 0;
        }
        let what = [half.to_be_bytes(), with.to_be_bytes()].concat();
        let mut numbers = key.numbers(Purpose::Timestamp, &what);
        (0..MOST_TRIES).map(|_| numbers.next() as u32 & mask).find(|&it| it != 0).unwrap_or(mask)
    };
    let other_masked = if is_small(masked.into()) { masked } else { other(masked, MASK, 0) };
    other_masked | other(rest, !MASK, masked)
}

/// The replacement of a number with as many hexadecimal digits.
pub(super) fn hexadecimal(key: &Key, number: u32) -> u32 {
    if number < 0x100 {
        return number;
    }
    let top = number.ilog2() / 4 * 4;
    let (first, mask) = (number >> top, (1_u32 << top) - 1);
    let mut numbers = key.numbers(Purpose::Hexadecimal, &number.to_be_bytes());
    let digit = 1 + (first + numbers.below(15)) % 15;
    let rest = (numbers.next() as u32 ^ number) & mask;
    let other = digit << top | rest;
    if other == number { other ^ 0x11 & mask } else { other }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_challenge_can_be_reversed_and_written(number: u32) {
            let key = Key::new(b"k");
            let other = challenge(&key, number);
            prop_assert_eq!(challenge(&key, number.swap_bytes()), other.swap_bytes());
            prop_assert_eq!(other.to_string().len(), number.to_string().len());
            let signed = |number: u32| number.cast_signed().to_string().len();
            prop_assert_eq!(signed(other), signed(number));
            let both = [number, number.swap_bytes()];
            let is_small = both.into_iter().any(|it| is_small(it.cast_signed().into()));
            prop_assert_eq!(other == number, is_small);
        }

        #[test]
        fn challenges_of_few_digits_too(number in 65_536_u32..3_000_000) {
            let other = challenge(&Key::new(b"k"), number);
            prop_assert_eq!(other.to_string().len(), number.to_string().len());
        }

        #[test]
        fn a_timestamp_can_be_masked(number: u32) {
            let (key, mask) = (Key::new(b"k"), 0x0F0F_0F0F);
            let other = timestamp(&key, number);
            prop_assert_eq!(timestamp(&key, number & mask), other & mask);
            prop_assert_eq!(other & !mask == 0, number & !mask == 0);
            prop_assert!(other != number || number & !mask == 0);
        }

        #[test]
        fn hexadecimal_digits_stay_as_many(number: u32) {
            let other = hexadecimal(&Key::new(b"k"), number);
            prop_assert_eq!(format!("{other:x}").len(), format!("{number:x}").len());
            prop_assert!(other != number || number < 0x100);
        }
    }

    #[test]
    fn small_numbers_and_minus_one_stay() {
        let key = Key::new(b"k");
        for number in [0, 1, 0x0100_0000, u32::MAX, 65_535] {
            assert_eq!(challenge(&key, number), number);
        }
        assert_eq!([timestamp(&key, 0), timestamp(&key, 7), hexadecimal(&key, 7)], [0, 7, 7]);
    }
}
