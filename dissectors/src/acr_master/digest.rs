//! The proof of a player: HMAC-SHA256 over both sides' random bytes.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Bytes of the client's nonce.
pub(super) const NONCE: usize = 48;
/// Bytes of the master's challenge.
pub(super) const CHALLENGE: usize = 128;
/// Bytes of the digest.
pub(super) const DIGEST: usize = 32;

/// A fingerprint of bytes, for comparisons.
pub(super) fn fingerprint(bytes: &[u8]) -> [u8; 16] {
    Sha256::digest(bytes).first_chunk().copied().unwrap_or_default()
}

/// The period of bytes, if it is no longer than this: random bytes have none.
pub(super) fn period(bytes: &[u8], longest: usize) -> Option<usize> {
    let longest = longest.min(bytes.len() / 2);
    let repeats = |period: &usize| {
        bytes.iter().zip(bytes.iter().skip(*period)).all(|(one, other)| one == other)
    };
    (1..=longest).find(repeats)
}

/// Whether a digest was computed with the key.
pub(super) fn is_right(
    key: &[u8],
    nonce: &[u8; NONCE],
    challenge: &[u8; CHALLENGE],
    digest: &[u8; DIGEST],
) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return false };
    mac.update(nonce);
    mac.update(challenge);
    mac.verify_slice(digest).is_ok()
}
