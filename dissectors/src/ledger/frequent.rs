//! The sources that get most responses, of which there are too many to count each.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::sources::host_hash;

/// Limit: sources of one server, beyond a sample of them, whose responses are counted, by group of hosts | {} | SEC005
/// is not checked for others, which get fewer
const PLACES: usize = 128;

/// The places of sources. By majority, as in the algorithm of Boyer and Moore: whoever gets more responses than all others
/// of the same place together keeps it. No count is too high.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FrequentSources(Vec<Option<FrequentSource>>);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct FrequentSource {
    source: IpAddr,
    kind: u8,
    /// The start of the window, in tenths of a second, and the responses in it.
    window: u32,
    served: u32,
    /// How many responses to others it takes until one of these has the place.
    ahead: u32,
}

impl FrequentSources {
    /// Counts a response to a source, to a request of this kind. Returns the number of these within the window, as far as
    /// known.
    pub(super) fn is_answered(
        &mut self,
        source: IpAddr,
        kind: usize,
        now: u32,
        window: u32,
    ) -> u32 {
        if self.0.is_empty() {
            self.0 = vec![None; PLACES];
        }
        // The lowest bits chose the sample.
        let at = (host_hash(source) >> 16) as usize + kind;
        let Some(place) = self.0.get_mut(at % PLACES) else { return 0 };
        let kind = kind as u8;
        let is_over = |known: &FrequentSource| now.saturating_sub(known.window) >= window;
        match place {
            Some(known) if known.source == source && known.kind == kind => {
                if is_over(known) {
                    (known.window, known.served) = (now, 0);
                }
                known.served += 1;
                known.ahead = known.ahead.saturating_add(1).min(known.served);
                known.served
            }
            Some(known) if known.ahead > 0 && !is_over(known) => {
                known.ahead -= 1;
                0
            }
            _ => {
                let new = FrequentSource { source, kind, window: now, served: 1, ahead: 1 };
                *place = Some(new);
                1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_gets_many_responses_is_found_among_very_many() {
        let (mut all, one) = (FrequentSources::default(), IpAddr::from([198, 51, 100, 7]));
        let mut most = 0;
        for nth in 0..100_000_u32 {
            // 2,000 a second to others, 100 to this one.
            let other = IpAddr::from(nth.wrapping_mul(0x9E37_79B1).to_be_bytes());
            all.is_answered(other, 0, nth / 200, 100);
            if nth % 20 == 0 {
                most = most.max(all.is_answered(one, 0, nth / 200, 100));
            }
        }
        assert!((900..=1_000).contains(&most), "{most}");
        assert_eq!(all.is_answered(one, 1, 500, 100), 0, "of another kind, somebody has the place");
        assert_eq!(all.is_answered(one, 0, 900, 100), 1, "in a new window");
        assert_eq!(all.0.len(), PLACES);
    }
}
