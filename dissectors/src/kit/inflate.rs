//! Decompresses bzip2 responses. One takes as long as hundreds of other packets, and a server sends
//! all clients the same response until one of its rules changes. Therefore recent results are
//! cached by the compressed bytes.

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bzip2::bufread::BzDecoder;
use lru::LruCache;

use crate::kit::Seed;

/// Maximum size of the cache, compressed and decompressed bytes together.
const KEPT: usize = 2 << 20;

/// Maximum number of cached responses.
const RESPONSES: NonZeroUsize = NonZeroUsize::new(1 << 8).expect("more than 0");

/// The result of decompression.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Inflated {
    pub(crate) bytes: Vec<u8>,
    /// The response is longer than `most` bytes.
    pub(crate) more: bool,
    /// Number of bytes after the compressed ones, if those were read to their end.
    pub(crate) after: usize,
}

/// Decompresses, up to `most` bytes.
pub(crate) fn inflate(bytes: &[u8], most: usize) -> Result<Arc<Inflated>, &'static str> {
    static LATELY: LazyLock<Mutex<RecentlyInflated>> = LazyLock::new(Mutex::default);
    inflate_with(&LATELY, bytes, most)
}

/// Does not hold the lock during decompression.
fn inflate_with(
    lately: &Mutex<RecentlyInflated>,
    bytes: &[u8],
    most: usize,
) -> Result<Arc<Inflated>, &'static str> {
    let lately = || lately.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lately().find(bytes);
    if let Some(known) = known.filter(|known| known.bytes.len() <= most) {
        return Ok(known);
    }
    let inflated = Arc::new(anew(bytes, most)?);
    lately().keep(bytes, &inflated);
    Ok(inflated)
}

/// Recently decompressed responses, by their compressed bytes.
struct RecentlyInflated {
    responses: LruCache<Box<[u8]>, Arc<Inflated>, Seed>,
    /// Bytes of all of them.
    held: usize,
}

impl Default for RecentlyInflated {
    fn default() -> RecentlyInflated {
        RecentlyInflated { responses: LruCache::with_hasher(RESPONSES, Seed::default()), held: 0 }
    }
}

/// Bytes that a cached response takes.
fn cost(compressed: &[u8], inflated: &Inflated) -> usize {
    compressed.len() + inflated.bytes.len()
}

impl RecentlyInflated {
    fn find(&mut self, bytes: &[u8]) -> Option<Arc<Inflated>> {
        self.responses.get(bytes).cloned()
    }

    /// Caches a result, if it is complete and not too long.
    fn keep(&mut self, bytes: &[u8], inflated: &Arc<Inflated>) {
        let more = cost(bytes, inflated);
        if inflated.more || more > KEPT / 4 {
            return;
        }
        self.held += more;
        // The oldest one, or, if another thread has cached the same, that one.
        let gone = self.responses.push(bytes.into(), Arc::clone(inflated));
        self.held -= gone.map_or(0, |(bytes, inflated)| cost(&bytes, &inflated));
        while self.held > KEPT
            && let Some((bytes, inflated)) = self.responses.pop_lru()
        {
            self.held -= cost(&bytes, &inflated);
        }
    }
}

fn anew(bytes: &[u8], most: usize) -> Result<Inflated, &'static str> {
    let Some((level, rest)) = bytes.strip_prefix(b"BZh").and_then(<[u8]>::split_first) else {
        return Err("no bzip2 data follows");
    };
    // The level determines how much memory is allocated, up to 3.6 MB; responses hardly ever need
    // more than the lowest one. If one does, it is tried again.
    let inflated = match inflate_at(b'1', rest, most) {
        Err(_) if *level != b'1' => inflate_at(*level, rest, most),
        inflated => inflated,
    };
    inflated.map_err(|_| "the bytes do not decompress as bzip2")
}

/// Decompresses what follows the level, up to `most`.
fn inflate_at(level: u8, rest: &[u8], most: usize) -> io::Result<Inflated> {
    let head = [b'B', b'Z', b'h', level];
    let limit = (most as u64).saturating_add(1);
    let mut bytes = Vec::new();
    let mut decoder = BzDecoder::new(head.as_slice().chain(rest));
    decoder.by_ref().take(limit).read_to_end(&mut bytes)?;
    let more = bytes.len() > most;
    bytes.truncate(most);
    bytes.shrink_to_fit();
    let left = ((head.len() + rest.len()) as u64).saturating_sub(decoder.total_in());
    Ok(Inflated { bytes, more, after: if more { 0 } else { left as usize } })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use bzip2::Compression;
    use bzip2::write::BzEncoder;

    use super::*;

    fn noise(length: usize, mut state: u32) -> Vec<u8> {
        let next = || {
            state = state.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
            (state >> 24) as u8
        };
        std::iter::repeat_with(next).take(length).collect()
    }

    fn compress(bytes: &[u8], level: u32) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn blocks_of_every_size_decompress_as_far_as_they_may() {
        for (length, level) in [(20_000, 1), (20_000, 9), (300_000, 1), (300_000, 9)] {
            let noise = noise(length, 1);
            let compressed = compress(&noise, level);
            let whole = Inflated { bytes: noise.clone(), more: false, after: 0 };
            let beginning = Inflated { bytes: noise[..1000].to_vec(), more: true, after: 0 };
            let followed = [&compressed[..], b"\0behind"].concat();
            let left = |most| inflate(&followed, most).map(|inflated| inflated.after);
            assert_eq!((left(length), left(length - 1)), (Ok(7), Ok(0)));
            // With growing and shrinking limits: a cached result must not be used for another
            // limit.
            for most in [1 << 20, length, 1000, length, 1 << 20] {
                let expected = if most < length { &beginning } else { &whole };
                assert_eq!(inflate(&compressed, most).as_deref(), Ok(expected));
            }
            assert!(inflate(&compressed[..compressed.len() / 2], 1 << 20).is_err());
            assert!(inflate(&compressed[4..], 1 << 20).is_err());
        }
        assert!(inflate(b"BZh", 1).is_err() && inflate(b"BZh9", 1).is_err());
    }

    #[test]
    fn the_latest_entries_are_kept_up_to_a_limit() {
        let lately = Mutex::<RecentlyInflated>::default();
        let inflate = |bytes: &[u8], most| inflate_with(&lately, bytes, most).unwrap();
        let responses: Vec<_> = (0..300).map(|n| compress(&noise(9000, n), 1)).collect();
        let first = inflate(&responses[0], 1 << 20);
        for response in &responses {
            let again = inflate(&responses[0], 1 << 20);
            assert!(Arc::ptr_eq(&first, &again), "an answer that is asked for again stays");
            inflate(response, 1 << 20);
            let lately = lately.lock().unwrap();
            let held: usize = lately.responses.iter().map(|(bytes, it)| cost(bytes, it)).sum();
            assert!(
                lately.held == held && held <= KEPT && lately.responses.len() <= RESPONSES.get()
            );
        }
        assert!(lately.lock().unwrap().responses.len() > 100);
        let second = inflate(&responses[1], 1 << 20);
        assert_eq!(second.bytes, noise(9000, 1));
        // One that would fill the whole cache is not cached.
        inflate(&compress(&vec![0; KEPT + 1], 9), KEPT * 2);
        assert!(Arc::ptr_eq(&second, &inflate(&responses[1], 1 << 20)));
    }
}
