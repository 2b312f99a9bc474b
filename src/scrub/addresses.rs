//! Replaces addresses, preserving common prefixes; different addresses stay different.
//!
//! Some messages contain addresses as text, where the replacement must have the same length.
//! Therefore octets are replaced one by one, each by one with the same number of digits, depending
//! on the octets before it; in IPv6 addresses, hexadecimal digits. The kind of address is
//! preserved: private, loopback, link-local and multicast addresses remain so.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::secret::Key;

/// Maximum number of tables, each of which maps the octets after a prefix.
const KEPT: usize = 4096;

/// Maximum number of cached addresses.
const KNOWN: usize = 1 << 18;

/// Replaces addresses.
pub struct Addresses {
    key: Key,
    /// A cache of replaced addresses, since the same ones recur.
    known: HashMap<IpAddr, IpAddr>,
    /// By the octets before.
    octets: HashMap<Vec<u8>, Box<[u8; 256]>>,
    /// By the hexadecimal digits before, and how many they are.
    digits: HashMap<Vec<u8>, [u8; 16]>,
}

const OCTET: u8 = 4;
const DIGIT: u8 = 6;

impl Addresses {
    /// By this key.
    pub fn new(key: Key) -> Addresses {
        Addresses { key, known: HashMap::new(), octets: HashMap::new(), digits: HashMap::new() }
    }

    /// The replacement of an address.
    pub fn of(&mut self, address: IpAddr) -> IpAddr {
        if let Some(other) = self.known.get(&address) {
            return *other;
        }
        let other = match address {
            IpAddr::V4(address) => self.of_v4(address).into(),
            IpAddr::V6(address) => self.of_v6(address).into(),
        };
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        self.known.insert(address, other);
        other
    }

    /// The replacement of an IPv4 address.
    pub fn of_v4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let octets = address.octets();
        if matches!(octets[0], 0 | 127 | 224..) {
            return address;
        }
        let mut other = octets;
        for (at, octet) in other.iter_mut().enumerate() {
            let before = octets.get(..at).unwrap_or_default();
            if self.octets.len() > KEPT {
                self.octets.clear();
            }
            let key = &self.key;
            let table =
                self.octets.entry(before.to_vec()).or_insert_with(|| Box::new(table(key, before)));
            *octet = table[usize::from(*octet)];
        }
        other.into()
    }

    /// The replacement of an IPv6 address.
    pub fn of_v6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        if let Some(mapped) = address.to_ipv4_mapped() {
            return self.of_v4(mapped).to_ipv6_mapped();
        }
        if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
            return address;
        }
        let digits =
            Vec::from_iter(address.octets().into_iter().flat_map(|it| [it >> 4, it & 0xF]));
        // The first digits determine the kind of address: fe80, fd, 2001.
        let kept = if digits.first() == Some(&0xF) { 3 } else { 1 };
        let mut other = digits.clone();
        for (at, digit) in other.iter_mut().enumerate().skip(kept) {
            let before = digits.get(..at).unwrap_or_default();
            if self.digits.len() > KEPT {
                self.digits.clear();
            }
            let key = &self.key;
            let table = self.digits.entry(before.to_vec()).or_insert_with(|| {
                let mut table: [u8; 16] = std::array::from_fn(|digit| digit as u8);
                // Texts omit leading zeros, so their number must be kept; letters and figures have
                // the same length.
                shuffle(&mut table[1..], &mut key.numbers(DIGIT, before));
                table
            });
            *digit = table[usize::from(*digit & 0xF)];
        }
        let mut octets = [0; 16];
        for (octet, pair) in octets.iter_mut().zip(other.chunks_exact(2)) {
            *octet = pair.iter().fold(0, |octet, digit| octet << 4 | digit);
        }
        octets.into()
    }

    /// The replacement of an address text with the same length, if the text is an address, with or
    /// without a port.
    pub fn of_text(&mut self, text: &str) -> Option<String> {
        let other = if let Ok(address) = text.parse::<IpAddr>() {
            match (address, self.of(address)) {
                (IpAddr::V6(_), IpAddr::V6(other)) if !text.contains('.') => hex_text(other, text)?,
                (_, other) => other.to_string(),
            }
        } else {
            let end = text.parse::<SocketAddr>().ok()?;
            SocketAddr::new(self.of(end.ip()), end.port()).to_string()
        };
        (other.len() == text.len()).then_some(other)
    }
}

/// An address in hexadecimal, with groups as wide as this text's.
fn hex_text(address: Ipv6Addr, text: &str) -> Option<String> {
    let groups = address.segments();
    let wide =
        |text: &str| Vec::from_iter(text.split(':').filter(|it| !it.is_empty()).map(str::len));
    let (front, back) = text.split_once("::").unwrap_or((text, ""));
    let (front, back) = (wide(front), wide(back));
    let write = |groups: &[u16], widths: &[usize]| {
        let groups = groups.iter().zip(widths).map(|(group, &width)| format!("{group:0width$x}"));
        Vec::from_iter(groups).join(":")
    };
    let first = write(groups.get(..front.len())?, &front);
    let last = write(groups.get(8 - back.len()..)?, &back);
    let other = if text.contains("::") { format!("{first}::{last}") } else { first };
    let is_upper = text.contains(|c: char| c.is_ascii_uppercase());
    Some(if is_upper { other.to_ascii_uppercase() } else { other })
}

/// The mapping of the octets after these.
fn table(key: &Key, before: &[u8]) -> [u8; 256] {
    let mut table: [u8; 256] = std::array::from_fn(|octet| octet as u8);
    // The private range 172.16.0.0/12, and that of carriers, 100.64.0.0/10.
    let within = match before {
        [172] => 16..=31,
        [100] => 64..=127,
        _ => 0..=0,
    };
    let class = |octet: u8| {
        let fixed = match before {
            [] => matches!(octet, 0 | 10 | 100 | 127 | 169 | 172 | 192 | 224..),
            [192] => matches!(octet, 0 | 168 | 255),
            [169] => matches!(octet, 0 | 254 | 255),
            _ => matches!(octet, 0 | 255),
        };
        // Digits and range; a fixed octet is alone in its class.
        if fixed {
            1000 + u32::from(octet)
        } else {
            octet.checked_ilog10().map_or(1, |it| it + 1) * 2 + u32::from(within.contains(&octet))
        }
    };
    let mut numbers = key.numbers(OCTET, before);
    for wanted in 2..8 {
        let places = Vec::from_iter((0..=255_u8).filter(|&octet| class(octet) == wanted));
        let mut others = places.clone();
        shuffle(&mut others, &mut numbers);
        for (place, other) in places.into_iter().zip(others) {
            table[usize::from(place)] = other;
        }
    }
    table
}

fn shuffle(values: &mut [u8], numbers: &mut super::secret::NumberStream) {
    for at in (1..values.len()).rev() {
        values.swap(at, numbers.below(at as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn addresses() -> Addresses {
        Addresses::new(Key::new(b"a key"))
    }

    /// How many leading parts two lists have in common.
    fn common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }

    fn digits(address: Ipv6Addr) -> Vec<u8> {
        address.octets().into_iter().flat_map(|it| [it >> 4, it & 0xF]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn prefixes_are_kept(a: [u8; 4], b: [u8; 4], shared in 0..5_usize) {
            let mut b = b;
            b[..shared].copy_from_slice(&a[..shared]);
            let mut addresses = addresses();
            let [x, y] = [a, b].map(|it| addresses.of_v4(it.into()).octets());
            prop_assert_eq!(common(&a, &b), common(&x, &y));
            prop_assert_eq!(Ipv4Addr::from(a).to_string().len(), Ipv4Addr::from(x).to_string().len());
            prop_assert_eq!(Ipv4Addr::from(a).is_private(), Ipv4Addr::from(x).is_private());
        }

        #[test]
        fn prefixes_of_ipv6_are_kept(a: u128, b: u128, shared in 0..129_u32) {
            let mask = u128::MAX.checked_shl(128 - shared).unwrap_or(0);
            let (a, b) = (Ipv6Addr::from(a), Ipv6Addr::from(a & mask | b & !mask));
            let mut addresses = addresses();
            let (x, y) = (addresses.of_v6(a), addresses.of_v6(b));
            if a.to_ipv4_mapped().is_none() && b.to_ipv4_mapped().is_none() {
                prop_assert_eq!(common(&digits(a), &digits(b)), common(&digits(x), &digits(y)));
            }
            prop_assert_eq!(a.to_string().len(), x.to_string().len());
            prop_assert_eq!(a.is_unicast_link_local(), x.is_unicast_link_local());
        }
    }

    #[test]
    fn special_addresses_keep_their_range() {
        let mut addresses = addresses();
        for same in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "224.0.0.1", "::1", "::", "ff02::1"]
        {
            assert_eq!(addresses.of_text(same).as_deref(), Some(same));
        }
        for (text, start) in [
            ("10.1.2.3:27015", "10."),
            ("192.168.1.10", "192.168."),
            ("169.254.7.7", "169.254."),
            ("[fe80::12]:27015", "[fe80::"),
        ] {
            let other = addresses.of_text(text).unwrap();
            assert!(other.starts_with(start) && other != text, "{other}");
            assert_eq!(
                other.rsplit_once(':').map(|it| it.1 == "27015"),
                text.rsplit_once(':').map(|it| it.1 == "27015")
            );
        }
        assert_eq!(addresses.of_text("de_dust2"), None);
    }

    #[test]
    fn no_two_become_one() {
        let mut addresses = addresses();
        let all = (0..=255).flat_map(|a| (0..=40).map(move |b| Ipv4Addr::new(a, 7, b, 9)));
        let others: HashSet<_> = all.map(|it| addresses.of_v4(it)).collect();
        assert_eq!(others.len(), 256 * 41);
    }
}
