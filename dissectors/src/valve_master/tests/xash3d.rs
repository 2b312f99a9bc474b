//! Xash3D's dialect, in the bytes that its programs send.

use super::*;

/// An info string of Xash3D's server, which no 0A ends.
const INFO: &[u8] = br"\protocol\49\challenge\3832634731\players\0\max\16\bots\0\gamedir\valve\map\crossfire\type\d\password\1\os\w\secure\0\lan\0\version\0.21\region\255\product\valve\nat\0";

#[test]
fn a_join_brings_a_challenge_that_comes_back() {
    let info = [b"0\n", INFO].concat();
    let steps = [
        (0, SERVER, MASTER, &b"q\xFF\x19\x9eU!"[..]),
        (3, MASTER, SERVER, &b"\xff\xff\xff\xffs\nk]q\xe4\x19\x9eU!"[..]),
        (50, SERVER, MASTER, &info[..]),
        (9000, SERVER, MASTER, &b"b\n"[..]),
    ];
    let outcome = converse(&steps, 20_000);
    assert_eq!(outcome.noted(), ["VM030", "VM031"]);
    assert_eq!(outcome.failed(), ["VM032"]);
    assert_eq!(outcome.detail("VM032"), "no 0A ends the info string");
    assert!(["VM033", "VM034", "VM035", "VM036"].iter().all(|code| outcome.passed(code) > 0));
    assert!(outcome.passed("VM040") > 0 && outcome.passed("VM051") > 0);

    let (_, lines) = shown(&info);
    assert_eq!(lines.last().unwrap(), "dialect 169..169 (xash3d)");
    let (_, lines) = shown(steps[0].3);
    assert_eq!(lines.last().unwrap(), "server_challenge 2..6 = 559259161");
}

#[test]
fn a_challenge_of_another_join_is_not_assigned() {
    let steps = [
        (0, SERVER, MASTER, &b"q\xFF\x19\x9eU!"[..]),
        (3, MASTER, SERVER, &b"\xff\xff\xff\xffs\nk]q\xe4\x19\x9eU?"[..]),
    ];
    assert_eq!(converse(&steps, 0).failed(), ["VM031"]);
    let steps = [(0, SERVER, MASTER, &b"q"[..]), steps[1]];
    assert_eq!(converse(&steps, 0).detail("VM031"), "the challenge has 8 bytes, not 4");
}

#[test]
fn a_reply_repeats_the_key_of_its_query() {
    let steps = [
        (0, CLIENT, MASTER, &b"1\xff0.0.0.0:0\0\\gamedir\\valve\\clver\\0.20\\key\\2578c967\0"[..]),
        (9, MASTER, CLIENT, &b"\xff\xff\xff\xfff\n\x7fg\xc9x%\x08\nM\0\x02i\x87\0\0\0\0\0\0"[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert_eq!(outcome.failed(), ["VM005", "VM005"]);
    assert_eq!(
        outcome.detail("VM005"),
        "\\clver is Xash3D's, and not in the specification's table"
    );
    let (_, lines) = shown(steps[1].3);
    let expected = [
        "header 0..4 = -1",
        "type 4..5 = 'f' (reply)",
        "line_feed 5..6 = 10",
        "key_mark 6..7 = 127",
        "key 7..11 = 628672871",
        "reserved 11..12 = 8",
        "dialect 12..12 (xash3d)",
        "servers 12..18",
        "  server 12..18 = 10.77.0.2:27015",
        "server_count 18..18 = 1",
        "end 18..24 = true",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn without_a_key_in_the_query_there_is_none_in_the_reply() {
    let first = hex("FFFFFFFF 660A 7F000001 6A08 0A000002 6987 000000000000");
    let steps = [(0, CLIENT, MASTER, &query("0.0.0.0:0", "")[..]), (9, MASTER, CLIENT, &first[..])];
    let outcome = converse(&steps, 9000);
    assert_eq!(outcome.failed(), ["VM016"]);
    assert_eq!(outcome.detail("VM016"), "127.0.0.1, a loopback address, is listed");
    assert_eq!(outcome.passed("VM012"), 1);
}

#[test]
fn one_query_may_get_several_packets() {
    let (first, second) = (reply(&["10.0.0.2:27015"], true), reply(&["10.0.1.2:27015"], true));
    let steps = [
        (0, CLIENT, MASTER, &query("0.0.0.0:0", r"\nat\0")[..]),
        (9, MASTER, CLIENT, &first[..]),
        (9, MASTER, CLIENT, &second[..]),
    ];
    let outcome = converse(&steps, 9000);
    // The key is not in the specification.
    assert_eq!(outcome.failed(), ["VM005"]);
    assert_eq!(outcome.noted(), ["VM027"]);
}

#[test]
fn over_ipv6_blocks_have_18_bytes() {
    let (client, master) = ("[fd00::1]:50000", "[fd00::9]:27010");
    let server = hex("FD000000000000000000000000000002 6987");
    let header = hex("FFFFFFFF 660A");
    for end in [6, 18] {
        let bytes = [&header[..], &server, &server[..17], b"\x88", &vec![0; end]].concat();
        let steps =
            [(0, client, master, &query("0.0.0.0:0", "")[..]), (9, master, client, &bytes[..])];
        let outcome = converse(&steps, 9000);
        assert_eq!(outcome.failed(), [""; 0]);
        assert_eq!(outcome.noted(), ["VM011"]);
        assert_eq!(outcome.passed("VM012"), 1);
    }
}

#[test]
fn the_specification_s_blocks_over_ipv6_differ_from_those_of_xash3d() {
    let (client, master) = ("[fd00::1]:50000", "[fd00::9]:27010");
    let servers = ["192.0.2.1:27015", "192.0.2.2:27015", "192.0.2.3:27015", "203.0.113.4:27015"];
    for (count, ended) in [(0, true), (2, true), (3, false), (3, true), (4, true)] {
        let bytes = reply(&servers[..count], ended);
        let steps =
            [(0, client, master, &query("0.0.0.0:0", "")[..]), (9, master, client, &bytes[..])];
        let outcome = converse(&steps, 9000);
        assert_eq!(outcome.findings.len(), 0, "{count} {ended}: {:?}", outcome.findings);
    }
    // An address all of whose bytes could be the specification's blocks, too; and an empty list.
    let address = hex("FFFFFFFF 660A 2A0104F80C170B8F0203040506070809 6987 000000000000");
    let empty = hex("FFFFFFFF 660A 000000000000000000000000000000000000");
    for bytes in [address, empty] {
        let steps =
            [(0, client, master, &query("0.0.0.0:0", "")[..]), (9, master, client, &bytes[..])];
        assert_eq!(converse(&steps, 9000).noted(), ["VM011"]);
    }
}

#[test]
fn an_end_among_blocks_over_ipv6_is_found() {
    let (client, master) = ("[fd00::1]:50000", "[fd00::9]:27010");
    let (server, server6) = (hex("01020304 6987"), hex("2A0104F80C170B8F0203040506070809 6987"));
    let between = |server: &[u8]| {
        let end = vec![0; server.len()];
        let (last, start) = server.split_last().unwrap();
        [&hex("FFFFFFFF 660A")[..], server, &end, start, &[last + 1]].concat()
    };
    for (bytes, noted) in [(between(&server), vec![]), (between(&server6), vec!["VM011"])] {
        let steps =
            [(0, client, master, &query("0.0.0.0:0", "")[..]), (9, master, client, &bytes[..])];
        let outcome = converse(&steps, 9000);
        assert_eq!((outcome.failed(), outcome.noted()), (vec!["VM012"], noted));
    }
}

#[test]
fn a_master_announces_a_client() {
    let (message, lines) = shown(b"\xff\xff\xff\xffc 127.0.0.1:33974");
    assert_eq!(message, "nat_notice");
    assert_eq!(lines[3..], ["client 6..21 = \"127.0.0.1:33974\"", "dialect 21..21 (xash3d)"]);
}
