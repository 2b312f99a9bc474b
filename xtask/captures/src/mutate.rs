//! Damages captures at random, reproducibly for each seed.

use crate::wire::Prng;

/// Extreme values of lengths and counts.
const EXTREMES: [u32; 8] = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF];

/// The bytes with one to eight kinds of damage.
pub fn mutated(bytes: &[u8], prng: &mut Prng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=prng.below(8) {
        if bytes.is_empty() {
            break;
        }
        damage(&mut bytes, prng);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, prng: &mut Prng) {
    let length = bytes.len();
    let at = prng.below(length as u64) as usize;
    let run = 1 + prng.below(64.min(length as u64)) as usize;
    let end = (at + run).min(length);
    match prng.below(8) {
        0 => bytes[at] ^= 1 << prng.below(8),
        1 => bytes[at] = prng.next() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let copy = bytes[at..end].to_vec();
            let to = prng.below(length as u64) as usize;
            bytes.splice(to..to, copy);
        }
        5 => {
            let extreme = EXTREMES[prng.below(EXTREMES.len() as u64) as usize];
            let width = 1 << prng.below(3);
            let number = extreme.to_le_bytes();
            for (to, from) in bytes.iter_mut().skip(at).take(width).zip(number) {
                *to = from;
            }
        }
        6 => bytes[at..end].fill(prng.next() as u8),
        _ => {
            let other = prng.below(length as u64) as usize;
            bytes.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_does_the_same_damage() {
        let bytes: Vec<u8> = (0..=255).collect();
        let damaged = |seed| mutated(&bytes, &mut Prng::new(seed));
        assert_eq!(damaged(7), damaged(7));
        let changed = (0..100).filter(|&seed| damaged(seed) != bytes).count();
        assert!(changed > 90, "{changed}");
        assert_eq!(mutated(&[], &mut Prng::new(1)), Vec::<u8>::new());
    }
}
