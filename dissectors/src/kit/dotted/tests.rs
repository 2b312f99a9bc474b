use proptest::prelude::*;

use super::*;

/// The endpoint at the start of a text, after any bytes, parsed in all ways.
fn read(text: &str, between: u8) -> Option<DottedEndpoint> {
    let found = endpoint(format!("    {text}").as_bytes(), between);
    for before in [b"\\ip\\", b"1234", b"\x7f\0\xC3\xA9", b"...1"] {
        for after in [0, 100] {
            let bytes = [before, text.as_bytes(), &vec![0; after]].concat();
            assert_eq!(endpoint(&bytes, between), found, "{text} after {before:?}");
            let mut best = None;
            let taken = each(&bytes, before, between, |at, rest, endpoint| {
                assert_eq!((at, rest), (0, &*bytes));
                best = Some(*endpoint);
                None
            });
            assert_eq!((best, taken), (found, (0, 0)), "{text} after {before:?}");
        }
    }
    found
}

fn address(text: &str) -> Option<(String, usize)> {
    let found = read(&format!("{text}:1"), b':')?;
    assert_eq!((found.number, found.end), (1, found.address_end + 2));
    Some((found.address.to_string(), found.address_end))
}

#[test]
fn an_address_is_four_octets() {
    assert_eq!(address("255.255.255.255"), Some(("255.255.255.255".into(), 15)));
    assert_eq!(address("1.20.0.4"), Some(("1.20.0.4".into(), 8)));
    for other in [
        "",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.04",
        "00.2.3.4",
        "1.2.3.256",
        "1.2.3.1000",
        "1000.2.3.4",
        "1.2.3.4 ",
        "1..3.4",
        ".2.3.4",
        "+1.2.3.4",
        "[::1]",
    ] {
        assert_eq!(address(other), None, "{other}");
    }
    assert_eq!(read("1.2.3.4:1", b' '), None);
    assert_eq!(endpoint(b"", b':'), None);
    assert_eq!(endpoint(b"1.2.3.4:1", b':'), None);
}

#[test]
fn values_are_read_until_the_reader_stops() {
    let bytes = b"at:1.2.3.4:5 at:10.20.30.40:50 at:100.200.30.4:5000 at:6.7.8.9:10 at:1.2.3:4 at:1.2.3.4:5";
    let read = |most: usize| {
        let mut found = Vec::new();
        let taken = each(bytes, b"  at:", b':', |_, _, _| unreachable!("it begins otherwise"));
        assert_eq!(taken, (0, 0));
        let taken = each(&bytes[..], b"at:1", b':', |_, _, _| unreachable!("there is a dot"));
        assert_eq!(taken, (0, 0));
        let bytes = [b" ", &bytes[..]].concat();
        let taken = each(&bytes, b" at:", b':', |at, rest, endpoint| {
            assert_eq!(rest, &bytes[at..]);
            found.push((endpoint.address.to_string(), endpoint.number));
            (found.len() < most).then_some(4 + endpoint.end)
        });
        (found, taken)
    };
    let (found, taken) = read(9);
    let text = |address: &str, number| (address.to_owned(), number);
    let all = [
        text("1.2.3.4", 5),
        text("10.20.30.40", 50),
        text("100.200.30.4", 5000),
        text("6.7.8.9", 10),
    ];
    assert_eq!((&*found, taken), (&all[..], (66, 4)));
    let (found, taken) = read(2);
    assert_eq!((&*found, taken), (&all[..2], (13, 1)), "the second one is not taken");
}

#[test]
fn a_number_is_read_after() {
    let number = |after: &str| {
        let found = read(&format!("255.255.255.255 {after}"), b' ')?;
        Some((found.number, found.end - 16))
    };
    for (text, expected) in [
        ("65535", Some((65535, 5))),
        ("0", Some((0, 1))),
        ("0080\\", Some((80, 4))),
        ("9999999 7", Some((9_999_999, 7))),
        ("9\u{e9}", Some((9, 1))),
        ("12345678", None),
        ("123456789012345678", None),
        ("", None),
        ("a", None),
        ("-1", None),
    ] {
        assert_eq!(number(text), expected, "{text}");
    }
}

#[test]
fn every_number_is_read() {
    for value in 0..1100_u32 {
        let expected = (value < 256).then_some(value as u8);
        for (at, text) in [
            format!("{value}.0.0.0:1"),
            format!("0.{value}.0.0:1"),
            format!("0.0.{value}.0:1"),
            format!("0.0.0.{value}:1"),
        ]
        .iter()
        .enumerate()
        {
            let octets = read(text, b':').map(|found| found.address.octets());
            assert_eq!(octets.map(|octets| octets[at]), expected, "{text}");
        }
    }
    for value in (0..100_000).chain([9_999_999]) {
        let text = value.to_string();
        assert_eq!(number(text.as_bytes()), Some((value, text.len())));
    }
    for (text, expected) in [
        ("", None),
        ("a", None),
        ("-1", None),
        ("10000000", None),
        ("007\n8", Some((7, 3))),
        ("1234567x", Some((1_234_567, 7))),
    ] {
        assert_eq!(number(text.as_bytes()), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_address_is_what_the_standard_library_takes_for_one(
        text in r"([0-9]{0,4}|25[4-6]|[/ -~&&[^:]])([.]([0-9]{1,3}|25[3-7])){2,4}[.\x00é]?",
        rest in r"[:.a-z\\][ -~]{0,20}",
    ) {
        let expected = text.parse().ok().map(|address: Ipv4Addr| (address, text.len(), 7));
        let found = read(&format!("{text}:7{rest}"), b':');
        prop_assert_eq!(found.map(|it| (it.address, it.address_end, it.number)), expected);
    }

    #[test]
    fn every_endpoint_is_read(bits: u32, number in 0..10_000_000_u32, rest in r"([ -.:-~][ -~]{0,20})?") {
        let text = Ipv4Addr::from(bits).to_string();
        let end = text.len() + 1 + number.to_string().len();
        let expected = DottedEndpoint { address: bits.into(), address_end: text.len(), number, end };
        prop_assert_eq!(read(&format!("{text} {number}{rest}"), b' '), Some(expected));
    }

    #[test]
    fn a_number_is_all_its_digits(text in r"[0-9]{0,9}", rest in r"([^0-9][ -~]{0,9})?") {
        let expected = text.parse().ok().filter(|_| text.len() <= 7).map(|it| (it, text.len()));
        prop_assert_eq!(number(format!("{text}{rest}").as_bytes()), expected);
    }
}
