//! What a client asks a master.

use crate::kit::{Asking, Inquiry, Transport};

/// The bytes before the addresses of a list.
const REPLY: &[u8] = b"\xFF\xFF\xFF\xFFf\n";

/// Bytes of an address in a list.
const ADDRESS: usize = 6;

/// The address from which a list begins, and with which it ends, whatever follows.
const ZERO: [u8; ADDRESS] = [0; ADDRESS];

/// The list of all servers, from its beginning.
pub(super) static ASKING: &[Asking] = &[Asking {
    name: "valve_master",
    transport: Transport::Udp,
    is_usual: false,
    is_of_master: true,
    questions: &[Inquiry { label: "list of servers", request: list, most: u32::MAX }],
    elsewhere: &[],
}];

fn list(answer: &[u8]) -> Option<Vec<u8>> {
    let seed = match answer {
        [] => ZERO,
        answer => {
            let (addresses, _) = answer.strip_prefix(REPLY)?.as_chunks();
            *addresses.last().filter(|_| !addresses.contains(&ZERO))?
        }
    };
    let [a, b, c, d, high, low] = seed;
    let port = u16::from_be_bytes([high, low]);
    let seed = format!("{a}.{b}.{c}.{d}:{port}");
    Some([&b"1\xFF"[..], seed.as_bytes(), b"\0\0"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_after_its_last_address_until_its_end() {
        assert_eq!(list(&[]).unwrap(), b"1\xFF0.0.0.0:0\0\0");
        assert_eq!(
            list(b"\xFF\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87").unwrap(),
            b"1\xFF10.0.0.2:27015\0\0"
        );
        assert_eq!(list(b"\xFF\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87\0\0\0\0\0\0"), None);
        assert_eq!(list(b"\xFF\xFF\xFF\xFFI"), None);
        assert_eq!(list(b"\xFF\xFF\xFF\xFFf\n"), None);
        // Bytes after the end, or after the last address, are no address.
        for more in [&b"\x0A"[..], b"\x0A\0\0\x03\x69", b"\x0A\0\0\x03\x69\x87"] {
            let ended = [b"\xFF\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87\0\0\0\0\0\0", more].concat();
            assert_eq!(list(&ended), None, "{more:?}");
        }
        let over = b"\xFF\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87\x0A\0";
        assert_eq!(list(over).unwrap(), b"1\xFF10.0.0.2:27015\0\0");
    }
}
