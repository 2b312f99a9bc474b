//! Decimal digits.

/// Appends an integer without leading zeros.
#[inline]
pub(crate) fn unsigned(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends six digits, with leading zeros.
#[inline]
pub(super) fn six(out: &mut Vec<u8>, value: u32) {
    leading(out, 1_000_000 + value);
}

/// Appends three digits, with leading zeros.
#[inline]
pub(super) fn three(out: &mut Vec<u8>, value: u32) {
    leading(out, 1_000 + value);
}

/// Appends all digits but the first.
#[inline]
fn leading(out: &mut Vec<u8>, value: u32) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(value).as_bytes();
    out.extend_from_slice(digits.get(1..).unwrap_or_default());
}

/// Writes an integer at the start of a buffer; returns the number of bytes.
#[inline]
pub(super) fn put<I: itoa::Integer>(out: &mut [u8], value: I) -> Option<usize> {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(value).as_bytes();
    out.get_mut(..digits.len())?.copy_from_slice(digits);
    Some(digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"<".to_vec();
        write(&mut out);
        String::from_utf8(out).expect("ASCII").split_off(1)
    }

    #[test]
    fn digits_with_leading_zeros() {
        for (value, digits) in [(0, "000000"), (42, "000042"), (999_999, "999999")] {
            assert_eq!(written(|out| six(out, value)), digits);
        }
        assert_eq!([7, 70, 700].map(|it| written(|out| three(out, it))), ["007", "070", "700"]);
    }

    #[test]
    fn a_buffer_may_be_too_short_for_an_integer() {
        let mut buffer = [b'!'; 5];
        assert_eq!(put(&mut buffer, -100_i64), Some(4));
        assert_eq!(buffer, *b"-100!");
        assert_eq!(
            (put(&mut buffer, 65_535_u16), put(&mut buffer, 1_000_000_u64)),
            (Some(5), None)
        );
        assert_eq!(written(|out| unsigned(out, u64::MAX)), u64::MAX.to_string());
    }
}
