//! Replaces addresses, preserving common prefixes; different addresses stay different.
//!
//! Some messages contain addresses as text, where the replacement must have the same length.
//! Therefore octets are replaced one by one, each by one with the same number of digits, depending
//! on the octets before it; in IPv6 addresses, hexadecimal digits. The kind of address is
//! preserved: private, loopback, link-local and multicast addresses remain so.
//!
//! The key determines all replacements: none is stored but the first octets'.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::secret::{Key, Purpose};

/// Replaces addresses.
pub struct Addresses {
    key: Key,
    shuffle: Shuffle,
    first: [u8; 256],
    /// The replacements of second octets after each first one, as far as they were needed.
    second: Vec<[Option<u8>; 256]>,
    /// The latest IPv6 prefix of 64 bits and its replacement: addresses of a network often follow
    /// each other.
    latest: Option<([u8; 8], [u8; 8])>,
    /// IPv4 addresses and their replacements, each at a place of its own: masters' lists repeat them.
    recent: Vec<(Ipv4Addr, Ipv4Addr)>,
}

/// The number of places for recent addresses, as a power of two.
const RECENT: u32 = 14;

/// Octets with the same number of digits, of the same kind of address: the first, and how many.
type OctetRange = (u8, u8);

/// The range of the octet after these. `None`: it is kept.
fn octet_range(before: &[u8], octet: u8) -> Option<OctetRange> {
    Some(match (before, octet) {
        // Kinds of addresses, and ends of networks.
        ([], 10 | 100 | 127 | 169 | 172 | 192 | 224..) | (_, 0 | 255) => return None,
        ([192], 168) | ([169], 254) => return None,
        // Addresses that every host has.
        ([127, 0, 0], 1) | ([224, 0, 0], 1..=2) | ([239, 255, 255], 250) => return None,
        // Private addresses, and those of carriers.
        ([172], 16..=31) => (16, 16),
        ([100], 64..=99) => (64, 36),
        ([100], 100..=127) => (100, 28),
        (_, 1..=9) => (1, 9),
        (_, 10..=99) => (10, 90),
        _ => (100, 155),
    })
}

impl Addresses {
    /// By this key.
    pub fn new(key: Key) -> Addresses {
        let shuffle = Shuffle::new(&key);
        let second = vec![[None; 256]; 256];
        // Before others are there: 0.0.0.0, which stays.
        let recent = vec![(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED); 1 << RECENT];
        let mut addresses =
            Addresses { key, shuffle, first: [0; 256], second, latest: None, recent };
        addresses.first = std::array::from_fn(|octet| addresses.octet(&[], octet as u8));
        addresses
    }

    /// The replacement of an address.
    pub fn of(&mut self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => self.of_v4(address).into(),
            IpAddr::V6(address) => self.of_v6(address).into(),
        }
    }

    /// The replacement of an IPv4 address.
    pub fn of_v4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let place = address.to_bits().wrapping_mul(0x9E37_79B1) >> (u32::BITS - RECENT);
        if let Some(&(known, other)) = self.recent.get(place as usize)
            && known == address
        {
            return other;
        }
        let other = self.replaced_v4(address);
        if let Some(recent) = self.recent.get_mut(place as usize) {
            *recent = (address, other);
        }
        other
    }

    fn replaced_v4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let octets @ [a, b, c, d] = address.octets();
        let known = self.second.get(usize::from(a)).and_then(|second| second[usize::from(b)]);
        let of_b = known.unwrap_or_else(|| self.octet(&[a], b));
        if let Some(second) = self.second.get_mut(usize::from(a)) {
            second[usize::from(b)] = Some(of_b);
        }
        let [of_c, of_d] = [(&octets[..2], c), (&octets[..3], d)].map(|(it, o)| self.octet(it, o));
        [self.first[usize::from(a)], of_b, of_c, of_d].into()
    }

    /// The replacement of the octet after these.
    fn octet(&self, before: &[u8], octet: u8) -> u8 {
        let Some((least, count)) = octet_range(before, octet) else { return octet };
        let mut prefix = [0, 0, 0, before.len() as u8, least];
        prefix.iter_mut().zip(before).for_each(|(place, octet)| *place = *octet);
        let tweak = self.key.number(Purpose::Octet, &prefix);
        let mut place = octet - least;
        // Octets of another range, or that are kept, are passed over: the others of the cycle stay
        // a cycle.
        loop {
            place = self.shuffle.place(place, count, tweak);
            if octet_range(before, least + place) == Some((least, count)) {
                return least + place;
            }
        }
    }

    /// The replacement of an IPv6 address.
    pub fn of_v6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        if let Some(mapped) = address.to_ipv4_mapped() {
            return self.of_v4(mapped).to_ipv6_mapped();
        }
        let is_usual_group =
            matches!(address.segments(), [0xFF00..=0xFFFF, 0, 0, 0, 0, 0, 0, 0..=0xFF]);
        if address.is_loopback() || address.is_unspecified() || is_usual_group {
            return address;
        }
        let mut other = address.octets();
        let digits: [u8; 32] = std::array::from_fn(|at| other[at / 2] >> (4 * (1 - at % 2)) & 0xF);
        // The first digits determine the kind of address: fe80, fd, ff02, 2001.
        let kept = if digits[0] == 0xF { 4 } else { 1 };
        let prefix: [u8; 8] = address.octets().first_chunk().copied().unwrap_or_default();
        let known = self.latest.filter(|latest| latest.0 == prefix);
        if let Some((_, known)) = known {
            other[..8].copy_from_slice(&known);
        }
        let from = if known.is_some() { 16 } else { kept };
        for at in from..32 {
            let digit = self.digit(digits.get(..at).unwrap_or_default(), digits[at]);
            let shift = 4 * (1 - at % 2);
            other[at / 2] = other[at / 2] & !(0xF << shift) | digit << shift;
        }
        let new = other.first_chunk().copied().unwrap_or_default();
        self.latest = Some((prefix, new));
        other.into()
    }

    /// The replacement of the hexadecimal digit after these. Texts omit leading zeros, so their
    /// number must be kept; letters and figures have the same length.
    fn digit(&self, before: &[u8], digit: u8) -> u8 {
        if digit == 0 {
            return 0;
        }
        let tweak = self.key.number(Purpose::Digit, before);
        1 + self.shuffle.place(digit - 1, 15, tweak)
    }

    /// Appends the replacement of an address text with the same length, if the text is an address,
    /// with or without a port. Returns whether it is.
    pub fn of_text(&mut self, text: &[u8], out: &mut Vec<u8>) -> bool {
        if let Some((address, rest)) = dotted(text)
            && is_port(rest)
        {
            let other = self.of_v4(address.into()).octets();
            let mut octets = other.iter();
            for part in
                text.get(..text.len() - rest.len()).unwrap_or_default().split(|b| *b == b'.')
            {
                if octets.len() < 4 {
                    out.push(b'.');
                }
                let octet = octets.next().copied().unwrap_or_default();
                let digits = [octet / 100, octet / 10 % 10, octet % 10].map(|it| b'0' + it);
                out.extend(digits.get(3_usize.saturating_sub(part.len())..).unwrap_or_default());
            }
            out.extend_from_slice(rest);
            return true;
        }
        self.of_text_v6(text, out)
    }

    fn of_text_v6(&mut self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let is_possible = |byte: &u8| byte.is_ascii_hexdigit() || b"[]:.".contains(byte);
        if !text.contains(&b':') || !text.iter().all(is_possible) {
            return false;
        }
        let (before, inner, after) = match text.strip_prefix(b"[") {
            Some(rest) => match rest.iter().position(|&byte| byte == b']') {
                Some(at) if is_port(&rest[at + 1..]) => (&b"["[..], &rest[..at], &rest[at..]),
                _ => return false,
            },
            None => (&b""[..], text, &b""[..]),
        };
        let Some(inner) = std::str::from_utf8(inner).ok() else { return false };
        let Ok(address) = inner.parse::<Ipv6Addr>() else { return false };
        let Some(other) = written_like(self.of_v6(address), inner) else { return false };
        if other.len() != inner.len() {
            return false;
        }
        [before, other.as_bytes(), after].iter().for_each(|part| out.extend_from_slice(part));
        true
    }
}

/// Whether it is nothing, or a colon and a port.
fn is_port(text: &[u8]) -> bool {
    match text.split_first() {
        None => true,
        Some((b':', port)) => (1..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    }
}

/// The IPv4 address at the beginning of a text, whose octets may have leading zeros, and the text
/// after it.
fn dotted(text: &[u8]) -> Option<([u8; 4], &[u8])> {
    let mut octets = [0; 4];
    let mut rest = text;
    for (at, octet) in octets.iter_mut().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(b".")?;
        }
        let length = rest.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, after) = rest.split_at_checked(length)?;
        if !(1..=3).contains(&length) {
            return None;
        }
        let number = digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
        *octet = u8::try_from(number).ok()?;
        rest = after;
    }
    Some((octets, rest))
}

/// An IPv6 address in the spelling of another one.
fn written_like(address: Ipv6Addr, text: &str) -> Option<String> {
    let mut text = text;
    let mut end = String::new();
    let mut groups = Vec::from(address.segments());
    // The last 32 bits as an IPv4 address.
    if let Some((before, dotted)) = text.rsplit_once(':').filter(|(_, last)| last.contains('.')) {
        let [.., a, b, c, d] = address.octets();
        let octets = [a, b, c, d].into_iter().zip(dotted.split('.'));
        let octets = octets.map(|(octet, part)| format!("{octet:0width$}", width = part.len()));
        end = format!(":{}", Vec::from_iter(octets).join("."));
        text = if before.ends_with(':') { text.strip_suffix(dotted)? } else { before };
        if before.ends_with(':') {
            end.remove(0);
        }
        groups.truncate(6);
    }
    let wide =
        |text: &str| Vec::from_iter(text.split(':').filter(|it| !it.is_empty()).map(str::len));
    let (front, back) = text.split_once("::").unwrap_or((text, ""));
    let (front, back) = (wide(front), wide(back));
    let write = |groups: &[u16], widths: &[usize]| {
        let groups = groups.iter().zip(widths).map(|(group, &width)| format!("{group:0width$x}"));
        Vec::from_iter(groups).join(":")
    };
    let first = write(groups.get(..front.len())?, &front);
    let last = write(groups.get(groups.len().checked_sub(back.len())?..)?, &back);
    let other = if text.contains("::") { format!("{first}::{last}") } else { first };
    let is_upper = text.contains(|c: char| c.is_ascii_uppercase());
    Some(if is_upper { other.to_ascii_uppercase() } else { other } + &end)
}

/// Permutations of a few numbers, each determined by a tweak (a swap-or-not shuffle, Hoang, Morris
/// and Rogaway, 2012). The key determines the tables, and each tweak is a number of it, too.
struct Shuffle {
    rounds: [(u64, [u64; 4]); ROUNDS],
}

const ROUNDS: usize = 24;

impl Shuffle {
    fn new(key: &Key) -> Shuffle {
        let mut numbers = key.numbers(Purpose::Shuffle, b"");
        let rounds =
            std::array::from_fn(|_| (numbers.next(), std::array::from_fn(|_| numbers.next())));
        Shuffle { rounds }
    }

    /// The number in place of this one, which is below `count`.
    fn place(&self, place: u8, count: u8, tweak: u64) -> u8 {
        let (mut place, count) = (u32::from(place), u32::from(count));
        let mut tweak = tweak;
        for (key, bits) in &self.rounds {
            tweak = (tweak ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            let pivot = (((tweak & 0xFFFF_FFFF) * u64::from(count)) >> 32) as u32;
            // A number and its partner are either both swapped or both not.
            let partner = if pivot >= place { pivot - place } else { pivot + count - place };
            let bit = place.max(partner).wrapping_add((tweak >> 56) as u32) & 0xFF;
            if bits[bit as usize / 64] >> (bit % 64) & 1 == 1 {
                place = partner;
            }
        }
        place as u8
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

    fn text(addresses: &mut Addresses, text: &str) -> Option<String> {
        let mut out = Vec::new();
        addresses.of_text(text.as_bytes(), &mut out).then(|| String::from_utf8(out).unwrap())
    }

    /// How many leading parts two lists have in common.
    fn common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }

    fn digits(address: Ipv6Addr) -> Vec<u8> {
        address.octets().into_iter().flat_map(|it| [it >> 4, it & 0xF]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

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
            prop_assert_eq!(addresses.of_v6(a), x, "the latest prefix");
        }

        #[test]
        fn texts_have_the_address_s_replacement(v4: u32, v6: u128, port: u16) {
            let (v4, v6) = (Ipv4Addr::from(v4), Ipv6Addr::from(v6));
            let mut addresses = addresses();
            let (x, y) = (addresses.of_v4(v4), addresses.of_v6(v6));
            for (old, new) in [
                (format!("{v4}:{port}"), format!("{x}:{port}")),
                (v4.to_string(), x.to_string()),
                (format!("[{v6}]:{port}"), format!("[{y}]:{port}")),
                (format!("::ffff:{v4}"), format!("::ffff:{x}")),
            ] {
                prop_assert_eq!(text(&mut addresses, &old), Some(new));
            }
        }
    }

    #[test]
    fn special_addresses_keep_their_range() {
        let mut addresses = addresses();
        for same in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "224.0.0.1", "::1", "::", "ff02::1"]
        {
            assert_eq!(text(&mut addresses, same).as_deref(), Some(same));
        }
        for (old, start) in [
            ("10.1.2.3:27015", "10."),
            ("192.168.1.10", "192.168."),
            ("169.254.7.7", "169.254."),
            ("[fe80::12]:27015", "[fe80::"),
            ("ff02::1:ff00:42", "ff02::"),
            ("239.1.2.3", "239."),
            ("2001:DB8::A.B.C.D", ""),
            ("010.001.2.3", "010."),
        ] {
            let Some(other) = text(&mut addresses, old) else {
                assert!(start.is_empty(), "{old}");
                continue;
            };
            assert!(other.starts_with(start) && other != old, "{other}");
            assert_eq!(other.len(), old.len());
            assert_eq!(other.ends_with(":27015"), old.ends_with(":27015"));
        }
        for other in ["de_dust2", "1.2.3", "1.2.3.4.5", "1.2.3.4:", "256.1.1.1", "::g", "", "["] {
            assert_eq!(text(&mut addresses, other), None, "{other}");
        }
    }

    #[test]
    fn no_two_become_one() {
        let mut addresses = addresses();
        let all = (0..=255).flat_map(|a| (0..=40).map(move |b| Ipv4Addr::new(a, 7, b, 9)));
        let others: HashSet<_> = all.map(|it| addresses.of_v4(it)).collect();
        assert_eq!(others.len(), 256 * 41);
        for a in [100, 172, 127, 192] {
            let others = (0..=255).map(|b| addresses.of_v4([a, b, 0, 0].into()));
            assert_eq!(HashSet::<_>::from_iter(others).len(), 256);
        }
    }

    #[test]
    fn the_shuffle_depends_on_each_bit_of_the_tweak() {
        let shuffle = Shuffle::new(&Key::new(b"k"));
        let of = |tweak| Vec::from_iter((0..155).map(|place| shuffle.place(place, 155, tweak)));
        let first = of(7);
        for bit in 0..64 {
            let same = first.iter().zip(of(7 ^ 1 << bit)).filter(|(a, b)| **a == *b).count();
            assert!(same < 12, "{bit}: {same}");
        }
    }
}
