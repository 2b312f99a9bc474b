//! Pseudorandom numbers from a key, which determine all replacements.

use std::hash::Hasher;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use siphasher::sip::SipHasher24;

/// What numbers are for: the same bytes have other numbers for another purpose.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Purpose {
    Text,
    Bytes,
    Challenge,
    Timestamp,
    Hexadecimal,
    Octet,
    Digit,
    Shuffle,
    Identification,
    Sequence,
    Network,
    Host,
}

const PURPOSES: usize = Purpose::Host as usize + 1;

/// A key: with the same one, texts and addresses have the same replacements.
#[derive(Clone)]
pub struct Key([[u8; 16]; PURPOSES]);

impl Key {
    /// From bytes of any length.
    pub fn new(bytes: &[u8]) -> Key {
        // HMAC accepts keys of any length; only the trait allows an error.
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(bytes);
        let mac = mac.unwrap_or_else(|_| Hmac::new(&Default::default()));
        Key(std::array::from_fn(|purpose| {
            let mut mac = mac.clone();
            mac.update(&[purpose as u8]);
            mac.finalize().into_bytes().first_chunk().copied().unwrap_or_default()
        }))
    }

    /// The number for `what`.
    pub(super) fn number(&self, purpose: Purpose, what: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0[purpose as usize]);
        hasher.write(what);
        hasher.finish()
    }

    /// The numbers for `what`.
    pub(super) fn numbers(&self, purpose: Purpose, what: &[u8]) -> NumberStream {
        NumberStream(self.number(purpose, what))
    }
}

/// A stream of numbers (SplitMix64). Each begins with a number that only the key determines.
pub(super) struct NumberStream(u64);

impl NumberStream {
    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `end`, uniformly distributed but for an error of 2^-32 times `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_key_purpose_and_text() {
        let of = |key: &[u8], purpose, what: &[u8]| {
            let mut numbers = Key::new(key).numbers(purpose, what);
            Vec::from_iter((0..40).map(|_| numbers.below(1000)))
        };
        let first = of(b"key", Purpose::Text, b"text");
        assert_eq!(first, of(b"key", Purpose::Text, b"text"));
        for other in [
            of(b"kez", Purpose::Text, b"text"),
            of(b"key", Purpose::Bytes, b"text"),
            of(b"key", Purpose::Text, b"texu"),
        ] {
            assert!(first.iter().zip(&other).filter(|(a, b)| a == b).count() < 5);
        }
        assert!(first.iter().all(|&number| number < 1000) && first.iter().any(|&it| it > 900));
    }
}
