//! The clock of an interface in a pcapng file.
//!
//! Times are computed here because pcap-parser's helpers lack power-of-two resolutions, cut
//! fractions to 32 bits, overflow with a negative offset and read the offset in one byte order
//! only.

/// The clock of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InterfaceClock {
    /// Option if_tsresol: a power of ten, or of two if the upper bit is set.
    pub(super) resolution: u8,
    /// Option if_tsoffset: seconds to add.
    pub(super) offset: i64,
}

impl InterfaceClock {
    /// The default: microseconds since 1970.
    pub(super) const DEFAULT: InterfaceClock = InterfaceClock { resolution: 6, offset: 0 };

    /// Nanoseconds since 1970; `Err` has the nearest value in 64 bits.
    #[inline]
    pub(super) fn nanoseconds(self, units: u64) -> Result<i64, i64> {
        let usual = match (self.resolution, self.offset) {
            (6, 0) => units.checked_mul(1_000),
            (9, 0) => Some(units),
            _ => None,
        };
        match usual.map(i64::try_from) {
            Some(Ok(time)) => Ok(time),
            _ => self.exactly(units),
        }
    }

    #[cold]
    fn exactly(self, units: u64) -> Result<i64, i64> {
        const SECOND: i128 = 1_000_000_000;
        let (units, power) = (i128::from(units), u32::from(self.resolution & 0x7F));
        let since = if self.resolution & 0x80 != 0 {
            (units * SECOND) >> power
        } else if power <= 9 {
            units * 10_i128.pow(9 - power)
        } else {
            // 64 bits of such small units are less than a nanosecond.
            10_i128.checked_pow(power - 9).map_or(0, |unit| units / unit)
        };
        let time = since + i128::from(self.offset) * SECOND;
        i64::try_from(time).map_err(|_| if time < 0 { i64::MIN } else { i64::MAX })
    }

    /// Digits of a second: 6 if these suffice, else 9.
    pub(super) fn digits(self) -> u8 {
        if self.resolution <= 6 { 6 } else { 9 }
    }
}

#[cfg(test)]
mod tests {
    use super::InterfaceClock;

    fn at(resolution: u8, offset: i64, units: u64) -> Result<i64, i64> {
        InterfaceClock { resolution, offset }.nanoseconds(units)
    }

    #[test]
    fn decimal_resolutions() {
        assert_eq!(at(0, 0, 7), Ok(7_000_000_000));
        assert_eq!(at(3, 0, 1_500), Ok(1_500_000_000));
        assert_eq!(at(6, 0, 1_700_000_000_123_456), Ok(1_700_000_000_123_456_000));
        assert_eq!(at(7, 0, 15), Ok(1_500));
        assert_eq!(at(9, 0, 1_700_000_000_123_456_789), Ok(1_700_000_000_123_456_789));
        assert_eq!(at(12, 0, 1_234_567_890_123_999), Ok(1_234_567_890_123));
        assert_eq!(at(19, 0, u64::MAX), Ok(1_844_674_407));
        assert_eq!(at(29, 0, u64::MAX), Ok(0));
        assert_eq!(at(0x7F, 0, u64::MAX), Ok(0));
    }

    #[test]
    fn power_of_two_resolutions() {
        assert_eq!(at(0x80, 0, 3), Ok(3_000_000_000));
        assert_eq!(at(0x8A, 0, 1024 + 512), Ok(1_500_000_000));
        assert_eq!(at(0x9E, 0, (5 << 30) + (1 << 29)), Ok(5_500_000_000));
        assert_eq!(at(0xBF, 0, 1 << 63), Ok(1_000_000_000));
        assert_eq!(at(0xBF, 0, 1 << 62), Ok(500_000_000));
        assert_eq!(at(0xC0, 0, u64::MAX), Ok(999_999_999));
        assert_eq!(at(0xFF, 0, u64::MAX), Ok(0));
    }

    #[test]
    fn offsets_of_either_sign_are_added() {
        assert_eq!(at(6, -1, 500_000), Ok(-500_000_000));
        assert_eq!(at(6, 1_000_000_000, 250_000), Ok(1_000_000_000_250_000_000));
        assert_eq!(at(9, i64::from(i32::MIN), 0), Ok(-2_147_483_648_000_000_000));
    }

    #[test]
    fn out_of_range_times_are_clamped() {
        assert_eq!(at(6, 0, u64::MAX), Err(i64::MAX));
        assert_eq!(at(9, 0, u64::MAX), Err(i64::MAX));
        assert_eq!(at(0, 0, u64::MAX), Err(i64::MAX));
        assert_eq!(at(0x80, i64::MAX, u64::MAX), Err(i64::MAX));
        assert_eq!(at(6, i64::MIN, 0), Err(i64::MIN));
        assert_eq!(at(9, 0, i64::MAX as u64), Ok(i64::MAX));
        // Out of range before the offset is added, in range after it.
        assert_eq!(at(0, -10_000_000_000, 10_000_000_001), Ok(1_000_000_000));
    }

    #[test]
    fn six_digits_are_shown_if_they_are_exact() {
        let digits = |resolution| InterfaceClock { resolution, offset: 0 }.digits();
        assert_eq!([0, 3, 6, 7, 9, 12, 0x8A].map(digits), [6, 6, 6, 9, 9, 9, 9]);
    }
}
