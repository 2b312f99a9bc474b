//! The specification's examples, byte for byte.

use super::*;
use crate::valve_master::decode::{self, DecodeContext};

const EVERYTHING: &str = "31 FF 30 2E 30 2E 30 2E 30 3A 30 00 00";

const NOT_LEFT_4_DEAD: &str = "
    31 ff 30 2e 30 2e 30 2e 30 3a 30 00 5c 6e 61 70
    70 5c 35 30 30 00";

const GOLDSRC: &str = "
    30 0a 5c 70 72 6f
    74 6f 63 6f 6c 5c 34 37 5c 63 68 61 6c 6c 65 6e
    67 65 5c 31 33 33 39 38 39 35 37 30 32 5c 70 6c
    61 79 65 72 73 5c 30 5c 6d 61 78 5c 32 5c 62 6f
    74 73 5c 30 5c 67 61 6d 65 64 69 72 5c 63 73 74
    72 69 6b 65 5c 6d 61 70 5c 64 65 5f 64 75 73 74
    5c 74 79 70 65 5c 64 5c 70 61 73 73 77 6f 72 64
    5c 30 5c 6f 73 5c 6c 5c 73 65 63 75 72 65 5c 30
    5c 6c 61 6e 5c 30 5c 76 65 72 73 69 6f 6e 5c 31
    2e 31 2e 32 2e 35 2f 53 74 64 69 6f 5c 72 65 67
    69 6f 6e 5c 32 35 35 5c 70 72 6f 64 75 63 74 5c
    63 73 74 72 69 6b 65 0a";

const SOURCE: &str = "
    30 0a 5c 70 72 6f
    74 6f 63 6f 6c 5c 37 5c 63 68 61 6c 6c 65 6e 67
    65 5c 31 33 33 39 36 31 38 32 33 5c 70 6c 61 79
    65 72 73 5c 30 5c 6d 61 78 5c 32 5c 62 6f 74 73
    5c 30 5c 67 61 6d 65 64 69 72 5c 63 73 74 72 69
    6b 65 5c 6d 61 70 5c 64 65 5f 64 75 73 74 5c 70
    61 73 73 77 6f 72 64 5c 30 5c 6f 73 5c 6c 5c 6c
    61 6e 5c 30 5c 72 65 67 69 6f 6e 5c 32 35 35 5c
    74 79 70 65 5c 64 5c 73 65 63 75 72 65 5c 30 5c
    76 65 72 73 69 6f 6e 5c 31 2e 30 2e 30 2e 32 38
    5c 70 72 6f 64 75 63 74 5c 63 73 74 72 69 6b 65
    0a";

const ORANGE_BOX: &str = "
    30 0a 5c 70 72 6f 74 6f 63 6f 6c 5c 37 5c 63 68
    61 6c 6c 65 6e 67 65 5c 31 39 35 39 36 38 37 33
    39 39 5c 70 6c 61 79 65 72 73 5c 31 5c 6d 61 78
    5c 34 5c 62 6f 74 73 5c 30 5c 67 61 6d 65 64 69
    72 5c 74 66 5c 6d 61 70 5c 61 72 65 6e 61 5f 62
    61 64 6c 61 6e 64 73 5c 70 61 73 73 77 6f 72 64
    5c 30 5c 6f 73 5c 77 5c 6c 61 6e 5c 31 5c 72 65
    67 69 6f 6e 5c 2d 31 5c 67 61 6d 65 74 79 70 65
    5c 61 72 65 6e 61 5c 74 79 70 65 5c 6c 5c 73 65
    63 75 72 65 5c 30 5c 76 65 72 73 69 6f 6e 5c 31
    2e 30 2e 34 2e 33 5c 70 72 6f 64 75 63 74 5c 74
    66 0a";

/// Every message that the specification shows.
pub(in super::super) fn all() -> Vec<Vec<u8>> {
    let messages = [
        EVERYTHING,
        NOT_LEFT_4_DEAD,
        "FFFFFFFF 660A 0A000002 6987 00000000 0000",
        "71",
        "FFFFFFFF 730A 962FDD4F",
        GOLDSRC,
        SOURCE,
        ORANGE_BOX,
        "62 0A",
        "62 0A 00",
    ];
    messages.iter().map(|message| hex(message)).collect()
}

/// A whole join with this info string is valid, and its order is recognized.
fn assert_joins(challenge: i32, info: &str, order: &str) {
    let (given, info) = ([&hex("FFFFFFFF 730A")[..], &challenge.to_le_bytes()].concat(), hex(info));
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, &given[..]),
        (30, SERVER, MASTER, &info[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert_eq!(outcome.messages, ["join", "challenge", "challenge_response"]);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    for code in ["VM032", "VM033", "VM034", "VM035", "VM036", "VM040", "VM041", "VM042", "VM047"] {
        assert!(outcome.passed(code) > 0, "{code} is exercised");
    }
    let (_, lines) = shown(&info);
    assert!(lines.iter().any(|line| line.ends_with(&format!("({order})"))), "{lines:#?}");
}

#[test]
fn the_query_for_all_servers() {
    let (message, lines) = shown(&hex(EVERYTHING));
    assert_eq!(message, "query");
    let expected = [
        "type 0..1 = '1' (query)",
        "region 1..2 = 255 (Rest of the world)",
        "seed 2..12 = \"0.0.0.0:0\"",
        "filter 12..13 = \"\"",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_query_without_left_4_dead() {
    let (message, lines) = shown(&hex(NOT_LEFT_4_DEAD));
    assert_eq!(message, "query");
    let expected = [
        "type 0..1 = '1' (query)",
        "region 1..2 = 255 (Rest of the world)",
        "seed 2..12 = \"0.0.0.0:0\"",
        "filter 12..22 = \"\\\\napp\\\\500\"",
        "  condition 12..21 (servers that are not running game 500)",
        "    key 12..17 = \"napp\"",
        "    value 17..21 = \"500\"",
        "  terminator 21..22 = 0",
    ];
    assert_eq!(lines, expected);
}

/// The conditions and groups of a filter, each after its depth.
fn grouped(filter: &str) -> Vec<String> {
    let (_, lines) = shown(&query("0.0.0.0:0", filter));
    let node = |line: &String| {
        let words = line.trim_start();
        let name = words.split(' ').next()?;
        let depth = (line.len() - words.len()) / 2;
        matches!(name, "nor" | "nand" | "condition").then(|| format!("{depth} {name}"))
    };
    lines.iter().filter_map(node).collect()
}

#[test]
fn conditions_of_a_group_are_inside_it() {
    let filter = r"\map\a\nor\2\secure\1\nand\1\full\1\linux\1";
    let expected = [
        "1 condition",
        "1 nor",
        "2 condition",
        "2 condition",
        "2 nand",
        "3 condition",
        "3 condition",
        "1 condition",
    ];
    assert_eq!(grouped(filter), expected);
    let (_, lines) = shown(&query("0.0.0.0:0", filter));
    let nor = "(no servers that match any of the following 2 conditions)";
    assert!(lines.iter().any(|line| line.ends_with(nor)), "{lines:#?}");
}

#[test]
fn a_group_in_a_group_may_count_with_all_it_takes() {
    let broken = |filter: &str| {
        let query = query("0.0.0.0:0", filter);
        let outcome = converse(&[(0, CLIENT, MASTER, &query[..])], 0);
        outcome.findings.into_iter().find(|finding| finding.0 == "VM004").map(|finding| finding.3)
    };
    let nested = r"\nor\4\map\cp_dustbowl\nand\2\gametype\payload\gametype\payloadrace";
    assert_eq!(broken(nested), None);
    let expected = [
        "1 nor",
        "2 condition",
        "2 condition",
        "2 nand",
        "3 condition",
        "3 condition",
        "3 condition",
    ];
    assert_eq!(grouped(nested), expected);
    let after = format!(r"{nested}\linux\1");
    assert_eq!(broken(&after), None);
    assert_eq!(grouped(&after), [&expected[..], &["1 condition"]].concat());
    // If both ways fit, the specification's "conditions" are used: nand and two maps.
    let both = r"\nor\3\nand\1\secure\1\map\a\map\b";
    assert_eq!(grouped(both).last().unwrap(), "2 condition");
    // Neither way fits: too few follow the group, or the inner one takes what the outer needs.
    let few = r"\nor\5\map\a\nand\2\map\b\map\c";
    assert_eq!(broken(few).unwrap(), "a group takes 5 conditions, and has 2");
    let crossed = r"\nor\3\nand\3\map\a\map\b\map\c";
    assert_eq!(broken(crossed).unwrap(), "a group takes 3 conditions, and has 1");
}

#[test]
fn a_reply_is_blocks_and_an_end() {
    let (message, lines) = shown(&hex("FFFFFFFF 660A 0A000002 6987 00000000 0000"));
    assert_eq!(message, "reply");
    let expected = [
        "header 0..4 = -1",
        "type 4..5 = 'f' (reply)",
        "line_feed 5..6 = 10",
        "servers 6..12",
        "  server 6..12 = 10.0.0.2:27015",
        "server_count 12..12 = 1",
        "end 12..18 = true",
    ];
    assert_eq!(lines, expected);
    let (_, lines) = shown(&hex("FFFFFFFF 660A 0A000002 6987"));
    assert_eq!(lines.last().unwrap(), "end 12..12 = false");
}

#[test]
fn a_join_is_one_byte() {
    assert_eq!(shown(b"q"), ("join", vec!["type 0..1 = 'q' (join)".to_owned()]));
}

#[test]
fn a_challenge_is_a_signed_number() {
    let (message, lines) = shown(&hex("FFFFFFFF 730A 962FDD4F"));
    assert_eq!(message, "challenge");
    assert_eq!(lines.last().unwrap(), "challenge 6..10 = 1339895702");
    let (_, lines) = shown(&hex("FFFFFFFF 730A FFFFFFFF"));
    assert_eq!(lines.last().unwrap(), "challenge 6..10 = -1");
}

#[test]
fn goldsrc_joins() {
    assert_joins(1_339_895_702, GOLDSRC, "goldsrc");
}

#[test]
fn source_joins() {
    assert_joins(133_961_823, SOURCE, "source");
}

#[test]
fn orange_box_joins() {
    assert_joins(1_959_687_399, ORANGE_BOX, "orange_box");
}

#[test]
fn pairs_of_an_info_string_are_explained() {
    let (message, lines) = shown(&hex(ORANGE_BOX));
    assert_eq!(message, "challenge_response");
    let pairs: Vec<_> = lines.iter().filter(|line| line.starts_with("  pair ")).collect();
    assert_eq!(pairs.len(), 16);
    assert!(pairs.iter().all(|line| line.ends_with(')')), "{pairs:#?}");
    assert!(pairs[10].ends_with("(Rest of the world)"));
    assert_eq!(lines[lines.len() - 2], "line_feed 177..178 = 10");
}

#[test]
fn both_quits() {
    let expected = ["type 0..1 = 'b' (quit)", "line_feed 1..2 = 10", "form 2..2 (goldsrc)"];
    assert_eq!(shown(b"b\n"), ("quit", expected.map(str::to_owned).to_vec()));
    let (_, lines) = shown(b"b\n\0");
    assert_eq!(lines.last().unwrap(), "form 3..3 (source)");
}

/// What is wrong with a reply by this rule, and where.
fn faults(reply: &[u8], code: &str) -> Vec<(String, u32)> {
    let mut results = RuleResults::default();
    decode::message(reply, DecodeContext::default(), &mut results);
    let found = results.findings.iter().filter(|it| it.rule.code.to_string() == code);
    found.map(|it| (it.detail.clone(), it.span.start)).collect()
}

#[test]
fn each_server_that_cannot_be_reached_is_reported() {
    let reply = b"\xFF\xFF\xFF\xFFf\n\0\0\0\0\x69\x87\x01\x02\x03\x04\0\0\x0A\0\0\x03\x69\x87";
    let text = ["a server is listed as 0.0.0.0:27015", "a server is listed with port 0"];
    let [one, other] = text.map(str::to_owned);
    assert_eq!(faults(reply, "VM013"), [(one, 6), (other, 12)]);
}

#[test]
fn each_address_that_is_not_public_is_reported() {
    let reply =
        b"\xFF\xFF\xFF\xFFf\n\x7F\0\0\x01\x69\x87\x01\x02\x03\x04\x69\x87\xE0\0\0\x01\x69\x87";
    let text =
        ["127.0.0.1, a loopback address, is listed", "224.0.0.1, a multicast address, is listed"];
    let [one, other] = text.map(str::to_owned);
    assert_eq!(faults(reply, "VM016"), [(one, 6), (other, 18)]);
}

#[test]
fn lost_servers_of_a_list_count_once() {
    let reply = b"\xFF\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87\x0A\0\0\x03\x69\x87\0\0\0\0\0\0";
    for cut in 5..reply.len() {
        let known = DecodeContext { lost: true, ..DecodeContext::default() };
        let mut results = RuleResults::default();
        results.evidence(Evidence { lost: true, ..Evidence::default() });
        decode::message(&reply[..cut], known, &mut results);
        let recorded = cut.saturating_sub(6) / 6;
        for (code, passed) in [("VM011", 0), ("VM012", 0), ("VM013", recorded.min(1)), ("VM014", 0)]
        {
            let rules = ValveMaster::INFO.rules.iter();
            let rule = rules.copied().find(|rule| rule.code.to_string() == code).unwrap();
            let counts = results.counts(rule);
            let found = (counts.passed, counts.failed, counts.inconclusive);
            assert_eq!(found, (passed as u64, 0, 1), "{code} cut at {cut}");
        }
    }
}

/// Who asks for the page after an address has got that address.
#[test]
fn a_query_for_a_further_page_goes_on() {
    let goes_on = |bytes: &[u8]| ValveMaster::outline(bytes).is_some_and(|it| it.goes_on);
    assert!(!goes_on(b"1\xFF0.0.0.0:0\0\\gamedir\\tf\0"));
    assert!(goes_on(b"1\xFF10.0.0.2:27015\0\\gamedir\\tf\0"));
    assert!(!goes_on(b"1\xFF10.0.0.2:270"), "it is cut");
}
