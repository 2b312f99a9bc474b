//! What a client asks a master.

use crate::kit::{Asking, Inquiry, Transport};

/// The bytes before the addresses of a list.
const REPLY: &[u8] = b"\xFF\xFF\xFF\xFFf\n";

/// Bytes of an address in a list.
const ADDRESS: usize = 6;

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
        [] => [0; ADDRESS],
        answer => *answer.strip_prefix(REPLY)?.last_chunk()?,
    };
    let is_end = !answer.is_empty() && seed == [0; ADDRESS];
    let [a, b, c, d, high, low] = seed;
    let port = u16::from_be_bytes([high, low]);
    let seed = format!("{a}.{b}.{c}.{d}:{port}");
    (!is_end).then(|| [&b"1\xFF"[..], seed.as_bytes(), b"\0\0"].concat())
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
    }
}
