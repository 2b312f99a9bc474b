//! Pseudorandom numbers from a key, which determine the replacements of names and addresses.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A key: with the same one, texts and addresses have the same replacements.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    /// From bytes of any length.
    pub fn new(bytes: &[u8]) -> Key {
        // HMAC accepts keys of any length; only the trait allows an error.
        let mac = Hmac::new_from_slice(bytes).unwrap_or_else(|_| Hmac::new(&Default::default()));
        Key(mac)
    }

    /// The numbers for `what`, for this `purpose`.
    pub(super) fn numbers(&self, purpose: u8, what: &[u8]) -> NumberStream {
        let mut mac = self.0.clone();
        mac.update(&[purpose]);
        mac.update(what);
        let seed = mac.finalize().into_bytes();
        NumberStream { key: Key::new(&seed), block: [0; 32], taken: 32, count: 0 }
    }
}

/// A stream of numbers.
pub(super) struct NumberStream {
    key: Key,
    block: [u8; 32],
    /// Number of bytes of the block that were used.
    taken: usize,
    count: u64,
}

impl NumberStream {
    fn byte(&mut self) -> u8 {
        if self.taken == self.block.len() {
            let mut mac = self.key.0.clone();
            mac.update(&self.count.to_le_bytes());
            self.block = mac.finalize().into_bytes().into();
            (self.count, self.taken) = (self.count + 1, 0);
        }
        let byte = self.block.get(self.taken).copied().unwrap_or(0);
        self.taken += 1;
        byte
    }

    /// A number below `end`, which is at least 1, uniformly distributed with an error of 2^-16.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        let wide = (0..4).fold(0, |wide, _| wide << 8 | u32::from(self.byte()));
        wide % end.max(1)
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
        let first = of(b"key", 1, b"text");
        assert_eq!(first, of(b"key", 1, b"text"));
        for other in [of(b"kez", 1, b"text"), of(b"key", 2, b"text"), of(b"key", 1, b"texu")] {
            assert!(first.iter().zip(&other).filter(|(a, b)| a == b).count() < 5);
        }
        assert!(first.iter().all(|&number| number < 1000) && first.iter().any(|&it| it > 900));
    }
}
