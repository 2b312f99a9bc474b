//! `ip:port`, as text and as the six bytes of an address block.

/// An IPv4 address and a port, in network order.
pub(super) type Endpoint = [u8; 6];

/// The start of a listing, and its end mark.
pub(super) const ZERO: Endpoint = [0; 6];

/// Parses dotted-decimal IPv4, ':' and a decimal port up to 65535.
pub(super) fn parse(text: &[u8]) -> Option<Endpoint> {
    let colon = text.iter().position(|&byte| byte == b':')?;
    let [a, b, c, d] = address(text.get(..colon)?)?;
    let port = number(text.get(colon + 1..)?, 5, 65535)?;
    let [e, f] = (port as u16).to_be_bytes();
    Some([a, b, c, d, e, f])
}

/// Parses dotted-decimal IPv4.
pub(super) fn address(text: &[u8]) -> Option<[u8; 4]> {
    let mut parts = text.split(|&byte| byte == b'.').map(|part| number(part, 3, 255));
    let mut part = || Some(parts.next()?? as u8);
    let address = [part()?, part()?, part()?, part()?];
    parts.next().is_none().then_some(address)
}

/// Parses 1 to `digits` decimal digits, up to `most`.
pub(super) fn number(text: &[u8], digits: usize, most: u32) -> Option<u32> {
    if text.is_empty() || text.len() > digits.min(10) || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = text.iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    u32::try_from(value).ok().filter(|&value| value <= most)
}

/// Whether a text is decimal digits, however many.
pub(super) fn is_decimal(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Parses decimal digits that fit in 32 bits.
pub(super) fn count(text: &[u8]) -> Option<u32> {
    number(text, 10, u32::MAX)
}

/// The text form.
pub(super) fn shown([a, b, c, d, e, f]: Endpoint) -> String {
    format!("{a}.{b}.{c}.{d}:{}", u16::from_be_bytes([e, f]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_endpoints_are_read() {
        assert_eq!(parse(b"0.0.0.0:0"), Some(ZERO));
        assert_eq!(parse(b"10.0.0.2:27015"), Some([10, 0, 0, 2, 0x69, 0x87]));
        assert_eq!(parse(b"255.255.255.255:65535"), Some([0xFF; 6]));
        for text in [
            "",
            ":",
            "0.0.0.0",
            "0.0.0.0:",
            "1.2.3:4",
            "1.2.3.4.5:6",
            "256.0.0.1:1",
            "1.2.3.4:65536",
            "1.2.3.4:27015r",
            " 1.2.3.4:1",
            "1.2.3.4:-1",
            "1..3.4:1",
            "0001.2.3.4:1",
            "[::1]:27015",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
