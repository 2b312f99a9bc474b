//! The specification's own lines, byte for byte, and in their form on the wire.

use crate::gamespy1::{GameSpy1, rules};
use crate::kit::Protocol;

use super::lab::{C, L, Lab, LabSegment, M, S};

/// The message that a UDP text is identified as, and its findings.
fn udp(from: &str, to: &str, text: &str) -> (&'static str, String, Vec<String>) {
    let mut lab = Lab::new();
    lab.claims = true;
    lab.udp(0.0, from, to, text.as_bytes());
    let heard = lab.last();
    (heard.name, heard.fields.clone(), lab.codes())
}

fn reported(name: &'static str, fields: &str) -> (&'static str, String, Vec<String>) {
    (name, fields.to_owned(), vec![])
}

#[test]
fn heartbeats() {
    let expected = reported("heartbeat", r#"port=7778 gamename="ut""#);
    assert_eq!(udp(S, M, r"\heartbeat\7778\gamename\ut\"), expected);
    assert_eq!(udp(S, M, r"\heartbeat\7778\gamename\ut"), expected);
    let expected = reported("heartbeat", r#"port=7778 gamename="ut" statechanged:1"#);
    assert_eq!(udp(S, M, r"\heartbeat\7778\gamename\ut\statechanged\1"), expected);
    let expected = reported("heartbeat", r#"port=7778 gamename="ut" statechanged:"#);
    assert_eq!(udp(S, M, r"\heartbeat\7778\gamename\ut\statechanged\"), expected);
}

#[test]
fn challenges() {
    let expected = reported("secure", r#"challenge="l8jfVy""#);
    assert_eq!(udp(M, S, r"\basic\secure\l8jfVy"), expected);
    assert_eq!(udp(M, S, r"\basic\\secure\l8jfVy"), expected);
    assert_eq!(udp(M, S, r"\secure\l8jfVy"), expected);
    assert_eq!(udp(M, S, r"\basic\\secure\l8jfVy\final\"), expected);
}

#[test]
fn the_udp_exchange_has_a_wrong_code() {
    let mut lab = Lab::new();
    lab.udp(0.0, S, M, br"\heartbeat\7778\gamename\ut\");
    lab.udp(0.02, M, S, br"\basic\secure\l8jfVy");
    lab.udp(0.04, S, M, br"\heartbeat\7778\gamename\ut\validate\XuXkWPKC\final\");
    lab.end(9.0);
    assert_eq!(lab.names(), ["heartbeat", "secure", "validate"]);
    assert_eq!(lab.last().fields, r#"port=7778 gamename="ut" validate="XuXkWPKC""#);
    assert_eq!(lab.codes(), ["GS1005"]);
    assert_eq!(lab.details(), [r#"the response is "XuXkWPKC", the algorithm gives "SAaJHX96""#]);
    for rule in [&rules::GS1002, &rules::GS1020, &rules::GS1021, &rules::GS1022, &rules::GS1023] {
        assert!(lab.counts(rule).passed > 0, "{rule:?}");
    }
}

#[test]
fn the_tcp_exchange_is_right() {
    let list = br"\ip\255.255.255.255:7778\ip\255.255.255.255:7778\final\";
    type Step<'a> = (f64, (&'a str, &'a str), &'a [u8], bool);
    let steps: [Step<'_>; 5] = [
        (0.00, (L, C), br"\basic\secure\XDWAOR", false),
        (0.02, (C, L), br"\gamename\ut\location\0\validate\3JOdDFU5\final", false),
        (0.03, (C, L), br"\list\gamename\ut", false),
        (0.05, (L, C), list, true),
        (0.06, (C, L), b"", true),
    ];
    let mut lab = Lab::new();
    for (time, way, bytes, fin) in steps {
        lab.tcp(time, way, C, bytes, LabSegment { fin });
    }
    lab.end(9.0);
    let reported: Vec<_> =
        lab.sink.heard.iter().map(|heard| (heard.name, &*heard.fields)).collect();
    let servers = "servers=[255.255.255.255:7778 255.255.255.255:7778]";
    assert_eq!(
        reported,
        [
            ("secure", r#"challenge="XDWAOR""#),
            ("validate", r#"gamename="ut" location="0" validate="3JOdDFU5""#),
            ("list_request", r#"gamename="ut""#),
            ("list_response", servers),
        ]
    );
    // The document prints broadcast addresses as placeholders.
    assert_eq!(lab.codes(), ["GS1026", "GS1026", "(GS1026)"]);
    for rule in rules::ALL.iter().filter(|rule| (10..18).contains(&(rule.code.index() % 100))) {
        assert!(lab.counts(rule).passed > 0, "{rule:?}");
    }
}

#[test]
fn the_ellipsis_of_the_printed_list_is_not_a_pair() {
    let printed = br"\ip\255.255.255.255:7778\ip\255.255.255.255:7778\...\final\";
    let mut lab = Lab::new();
    lab.udp(0.0, L, C, printed);
    assert_eq!(lab.last().fields, "servers=[255.255.255.255:7778 255.255.255.255:7778]");
    assert_eq!(lab.codes(), ["GS1026", "GS1026", "(GS1026)", "GS1001"]);
}

#[test]
fn queries() {
    for (text, fields) in [
        (r"\info\", r#"query="info""#),
        (r"\status\", r#"query="status""#),
        (r"\basic\", r#"query="basic""#),
        (r"\echo\hello", r#"query="echo" argument="hello""#),
        (r"\status\xserverquery", r#"query="status" argument="xserverquery""#),
        (r"\info\\rules\\players\", r#"query="info""#),
        (r"\info\rules\players\", r#"query="info""#),
        (r"\status\\secure\ABCDEF", r#"query="status" challenge="ABCDEF""#),
    ] {
        assert_eq!(udp(C, S, text), reported("query", fields), "{text}");
    }
}

#[test]
fn wrong_heartbeats() {
    for (text, code) in [
        (r"\heartbeat\0\gamename\ut", "GS1020"),
        (r"\heartbeat\65536\gamename\ut", "GS1020"),
        (r"\heartbeat\x\gamename\ut", "GS1020"),
        (r"\heartbeat\\gamename\ut", "GS1020"),
        (r"\heartbeat\7778\gamename\", "GS1020"),
        (r"\heartbeat\7778\", "GS1020"),
        (r"\gamename\ut\heartbeat\7778", "GS1020"),
        (r"\heartbeat\7778\gamename", "GS1001"),
    ] {
        let (name, _, codes) = udp(S, M, text);
        assert_eq!((name, codes), ("heartbeat", vec![code.to_owned()]), "{text}");
    }
}

/// What tools that count packets see of a response that the snap length cut.
#[test]
fn a_response_that_was_cut_is_outlined_as_one() {
    let name = |bytes: &[u8]| GameSpy1::outline(bytes).map(|outline| outline.message.name);
    let cut = br"\hostname\Test\hostport\7777\mapname\DM-Deck16][\numpl";
    assert_eq!(name(cut), Some("query_response"));
    assert_eq!(name(br"\info\"), Some("query"));
    assert_eq!(name(br"\hostname\Test"), Some("text"), "too little to say");
}
