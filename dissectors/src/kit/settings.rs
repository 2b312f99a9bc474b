//! Settings of a user: limits, keys, times, and thresholds of abuse; and the budget of limited
//! memory.

use serde::{Deserialize, Serialize};

use super::{Clock, Limit, Limits, Time};
use crate::ProtocolSettings;

/// A secret key, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Makes these bytes a secret.
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Secret {
        Secret(bytes.into())
    }

    /// The bytes, for computations.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// What the user can set. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a response, or the rest of one, may take, in nanoseconds.
    pub answer_timeout: i64,
    /// The thresholds of abuse.
    pub abuse: AbuseThresholds,
    /// The limits.
    pub limits: Limits,
    /// The settings of each protocol.
    pub protocols: ProtocolSettings,
}

impl Settings {
    /// The response timeout, as of now.
    pub fn clock(&self, now: Time) -> Clock {
        Clock { now, timeout: self.answer_timeout }
    }
}

/// The thresholds above which traffic is abuse. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbuseThresholds {
    /// One source sends the same request this many times within [`AbuseThresholds::repeat_window`].
    pub repeats: u32,
    /// See [`AbuseThresholds::repeats`].
    pub repeat_window: i64,
    /// This many sources send one or two packets each within [`AbuseThresholds::source_window`].
    pub sources: u32,
    /// See [`AbuseThresholds::sources`].
    pub source_window: i64,
    /// This many requests a second, over [`AbuseThresholds::flood_window`].
    pub flood_rate: u32,
    /// See [`AbuseThresholds::flood_rate`].
    pub flood_window: i64,
}

impl AbuseThresholds {
    /// The minimum number of packets within [`AbuseThresholds::flood_window`] that makes a flood.
    pub fn flood(&self) -> u64 {
        let window = u128::from(self.flood_window.unsigned_abs());
        (u128::from(self.flood_rate) * window / 1_000_000_000).max(1) as u64
    }

    /// What makes a flood in a capture of this length: one that is shorter than the window shows the rate over what there
    /// is, and what would be one in a second is one in any part of it.
    pub fn flood_of(&self, length: i64) -> FloodLimit {
        let window = self.flood_window.min(length.max(FloodLimit::SHORTEST));
        let least = AbuseThresholds {
            flood_window: window.max(self.flood_window.min(1_000_000_000)),
            ..*self
        };
        FloodLimit { packets: least.flood(), window, rate: self.flood_rate }
    }
}

/// What makes a flood in a capture.
#[derive(Clone, Copy, Debug)]
pub struct FloodLimit {
    /// The minimum number of packets within the window.
    pub packets: u64,
    /// The window in nanoseconds.
    pub window: i64,
    rate: u32,
}

impl FloodLimit {
    /// The length of a capture whose packets have one time.
    const SHORTEST: i64 = 1_000_000;

    /// The window in seconds.
    pub fn seconds(&self) -> f64 {
        self.window as f64 / 1e9
    }

    /// So many packets within the window, per second.
    pub fn rate_of(&self, packets: u64) -> f64 {
        packets as f64 / self.seconds()
    }

    /// Whether so many packets have the rate of a flood, and are too few to be one: the capture is too short to tell.
    pub fn is_too_short_for(&self, packets: u64) -> bool {
        packets < self.packets && self.rate_of(packets) >= self.rate.into()
    }
}

impl Default for AbuseThresholds {
    fn default() -> AbuseThresholds {
        AbuseThresholds {
            repeats: 20,
            repeat_window: 10_000_000_000,
            sources: 1000,
            source_window: 60_000_000_000,
            flood_rate: 1000,
            flood_window: 5_000_000_000,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            answer_timeout: 3_000_000_000,
            abuse: AbuseThresholds::default(),
            limits: Limits::default(),
            protocols: ProtocolSettings::default(),
        }
    }
}

/// Memory of unfinished responses over all flows, limits on decompression, and the limits that were
/// reached recently.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    held: usize,
    most: usize,
    /// Decompressed bytes that are allowed regardless of the ratio.
    credit: usize,
    /// The current second of the capture, and the bytes decompressed in it.
    second: i64,
    in_second: usize,
    /// A bit for each [`Limit`].
    met: u16,
}

impl Budget {
    /// At most `most` bytes.
    pub const fn new(most: usize) -> Budget {
        let credit = Limits::INFLATED_ALWAYS;
        Budget { held: 0, most, credit, second: 0, in_second: 0, met: 0 }
    }

    /// Takes `bytes`, unless that exceeds the budget.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> bool {
        let held = self.held.saturating_add(bytes);
        if held > self.most {
            self.meet(Limit::UnfinishedBytes);
            return false;
        }
        self.held = held;
        true
    }

    /// The maximum length of a response of this many compressed bytes at this time, and the limit
    /// that sets it.
    pub fn inflatable(&mut self, compressed: usize, now: Time, limits: &Limits) -> (usize, Limit) {
        let second = now.0.div_euclid(1_000_000_000);
        if second != self.second {
            (self.second, self.in_second) = (second, 0);
        }
        let by_ratio = compressed.saturating_mul(limits.inflated_ratio).saturating_add(self.credit);
        let by_rate = limits.inflated_rate.saturating_sub(self.in_second);
        let bounds = [(by_ratio, Limit::InflatedRatio), (by_rate, Limit::InflatedRate)];
        let least = |least: (usize, Limit), bound: (usize, Limit)| {
            if bound.0 < least.0 { bound } else { least }
        };
        bounds.into_iter().fold((limits.inflated, Limit::Inflated), least)
    }

    /// This many compressed bytes were decompressed to this many.
    pub fn inflated(&mut self, compressed: usize, bytes: usize, limits: &Limits) {
        self.in_second = self.in_second.saturating_add(bytes);
        let by_ratio = compressed.saturating_mul(limits.inflated_ratio).saturating_add(self.credit);
        self.credit = by_ratio.saturating_sub(bytes).min(Limits::INFLATED_ALWAYS);
    }

    /// A limit was reached.
    pub fn meet(&mut self, limit: Limit) {
        self.met |= 1 << limit as u8;
    }

    /// Whether limits were reached since the last call of `take_met`.
    #[inline]
    pub const fn is_met(&self) -> bool {
        self.met != 0
    }

    /// The limits that were reached since the last call.
    pub fn take_met(&mut self) -> impl Iterator<Item = Limit> + use<> {
        let met = std::mem::take(&mut self.met);
        Limit::ALL.into_iter().filter(move |&limit| met >> limit as u8 & 1 == 1)
    }

    /// Returns `bytes`.
    pub fn give(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
    }

    /// Bytes taken and not given back.
    pub const fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decompressed_bytes_are_bounded_in_total_and_per_second() {
        let limits = Limits { inflated_rate: 100_000, ..Limits::default() };
        let (mut budget, second) = (Budget::new(0), |second: i64| Time(second * 1_000_000_000));
        let mut inflate = |compressed, now, bytes: usize| {
            let (most, limit) = budget.inflatable(compressed, now, &limits);
            budget.inflated(compressed, bytes.min(most), &limits);
            (most, limit)
        };
        // The first one uses the whole allowance; after that, only the ratio counts.
        let first = 64 * 1024 + 180 * 50;
        assert_eq!(inflate(180, second(1), usize::MAX), (first, Limit::InflatedRatio));
        assert_eq!(inflate(180, second(1), usize::MAX), (9000, Limit::InflatedRatio));
        // Responses with an ordinary ratio refill it, up to its maximum.
        for _ in 0..50 {
            inflate(1000, second(2), 1);
        }
        assert_eq!(inflate(180, second(2), usize::MAX), (first, Limit::InflatedRatio));
        // Also if they are large when compressed.
        let left = 100_000 - 50 - first;
        assert_eq!(inflate(5000, second(2), usize::MAX), (left, Limit::InflatedRate));
        assert_eq!(inflate(5000, second(2), usize::MAX), (0, Limit::InflatedRate));
        assert_eq!(inflate(5000, second(3), 0), (100_000, Limit::InflatedRate));
        assert_eq!(inflate(50_000, second(4), 0).0, 100_000);
        let roomy = Limits { inflated_rate: usize::MAX, ..limits };
        assert_eq!(budget.inflatable(50_000, second(4), &roomy), (1 << 20, Limit::Inflated));
    }
}
