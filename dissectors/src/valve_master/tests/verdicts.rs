//! What rules say of single messages and short exchanges.

use super::*;

const ALL: &str = "0.0.0.0:0";

/// The findings of a rule about a datagram to a server's master, after a join and a challenge.
fn of_info(code: &str, info: &str) -> Vec<String> {
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x01\0\0\0"),
        (30, SERVER, MASTER, info.as_bytes()),
    ];
    let findings = converse(&steps, 9000).findings.into_iter();
    findings.filter(|it| it.0 == code).map(|it| it.3).collect()
}

/// An info string with these pairs in place of its own ones.
fn info(pairs: &[(&str, &str)]) -> String {
    let usual = [
        ("protocol", "47"),
        ("challenge", "1"),
        ("players", "0"),
        ("max", "2"),
        ("bots", "0"),
        ("gamedir", "cstrike"),
        ("map", "de_dust"),
        ("type", "d"),
        ("password", "0"),
        ("os", "l"),
        ("secure", "0"),
        ("lan", "0"),
        ("version", "1.1.2.5"),
        ("region", "255"),
        ("product", "cstrike"),
    ];
    let value = |key| pairs.iter().find(|it| it.0 == key).map(|it| it.1);
    let text = usual.map(|(key, usual)| format!("\\{key}\\{}", value(key).unwrap_or(usual)));
    format!("0\n{}\n", text.concat())
}

/// The line feed of the header is left out: the blocks of the list show that it is one.
#[test]
fn a_list_without_the_line_feed_is_a_reply_with_a_wrong_header() {
    let known = Hint { from_port: true, to_port: false, known: true, forced: false };
    let list = b"\xFF\xFF\xFF\xFFf\x51\x02\x03\x04\x69\x87\0\0\0\0\0\0".as_slice();
    let words = b"\xFF\xFF\xFF\xFFfound nothing here".as_slice();
    assert_eq!(ValveMaster::claim(list, known), Claim::Weak);
    assert_eq!(ValveMaster::claim(words, known), Claim::No);
    let query = b"1\xFF0.0.0.0:0\0\0".as_slice();
    let steps = [(0, CLIENT, MASTER, query), (20, MASTER, CLIENT, list)];
    let codes = converse(&steps, 9000).findings.into_iter().map(|it| it.0);
    assert_eq!(codes.filter(|code| *code != "VM028").collect::<Vec<_>>(), ["VM010"]);
}

#[test]
fn one_server_of_each_address_is_listed_on_all_pages() {
    let filter = r"\collapse_addr_hash\1";
    let list = |second: &str| {
        let steps = [
            (0, CLIENT, MASTER, &query(ALL, filter)[..]),
            (20, MASTER, CLIENT, &reply(&["10.0.0.2:27015"], false)[..]),
            (30, CLIENT, MASTER, &query("10.0.0.2:27015", filter)[..]),
            (50, MASTER, CLIENT, &reply(&[second], true)[..]),
        ];
        converse(&steps, 9000)
    };
    let outcome = list("10.0.0.2:27016");
    assert_eq!(outcome.failed(), ["VM015"]);
    let expected = "one server for each address was asked for: 10.0.0.2:27016 is of an address that came before";
    assert_eq!(outcome.detail("VM015"), expected);
    assert_eq!(list("10.0.1.2:27015").passed("VM015"), 2);
}

#[test]
fn a_page_that_comes_twice_repeats_no_address() {
    let filter = r"\collapse_addr_hash\1";
    let asked = query(ALL, filter);
    let page = |servers: &[&str]| {
        let steps = [
            (0, CLIENT, MASTER, &asked[..]),
            (1000, CLIENT, MASTER, &asked[..]),
            (1020, MASTER, CLIENT, &reply(servers, true)[..]),
            (1040, MASTER, CLIENT, &reply(servers, true)[..]),
        ];
        converse(&steps, 9000).failed().contains(&"VM015")
    };
    assert!(!page(&["10.0.0.2:27015"]));
    assert!(page(&["10.0.0.2:27015", "10.0.0.2:27016"]));
}

#[test]
fn what_changes_while_a_listing_is_paged_is_named() {
    for (region, filter, detail, at) in [
        (3, "", "the region is not the listing's first query's", 1..2),
        (0xFF, r"\map\a", "the filter is not the listing's first query's", 17..23),
    ] {
        let mut next = query("10.0.0.2:27015", filter);
        next[1] = region;
        let mut lab = lab::Lab::<ValveMaster, _>::new();
        lab.udp(0.0, CLIENT, MASTER, &query(ALL, ""));
        lab.udp(0.02, MASTER, CLIENT, &reply(&["10.0.0.2:27015"], false));
        lab.udp(0.03, CLIENT, MASTER, &next);
        let finding = &lab.last().findings[0];
        assert_eq!((finding.rule.code.to_string(), &finding.detail[..]), ("VM024".into(), detail));
        assert_eq!(finding.span.start..finding.span.end, at);
    }
}

#[test]
fn an_empty_filter_is_valid() {
    assert_eq!(converse(&[(0, CLIENT, MASTER, &query(ALL, ""))], 9000).passed("VM004"), 1);
}

#[test]
fn an_info_string_is_quoted_as_it_was_sent() {
    let twice = info(&[("product", r"cstrike\map\x")]);
    assert_eq!(of_info("VM033", &twice), [r"a key occurs twice: \map\x"]);
}

#[test]
fn other_bytes_than_a_line_feed_begin_no_right_info_string() {
    for before in ["\r\n", "\r", "\0", ""] {
        let sent = info(&[]).replacen('\n', before, 1);
        assert_eq!(of_info("VM032", &sent), ["30 is not followed by 0A"], "{before:?}");
        assert_eq!(of_info("VM033", &sent), [""; 0], "{before:?}");
        assert_eq!(of_info("VM049", &sent), [""; 0], "{before:?}");
    }
    assert_eq!(of_info("VM032", &(info(&[]) + "\0")), ["1 zero follows the last 0A"]);
}

#[test]
fn a_large_number_is_a_number() {
    let sent = info(&[("max", "100000000000000000000")]);
    assert_eq!(of_info("VM036", &sent), [""; 0]);
    assert_eq!(
        of_info("VM036", &info(&[("max", "1e3")])),
        [r#"\max is "1e3", not a decimal number"#]
    );
}

#[test]
fn a_heartbeat_that_is_barely_too_late_is_not_rounded_to_one_in_time() {
    let sent = info(&[]);
    let round = |at: i64| {
        [
            (at, SERVER, MASTER, &b"q"[..]),
            (at + 20, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x01\0\0\0"),
            (at + 30, SERVER, MASTER, sent.as_bytes()),
        ]
    };
    for (second, detail) in [
        (330_100, "joins again only after 331 s, not after 300 s"),
        (269_900, "joins again after 269 s, not after 300 s"),
    ] {
        let steps = [round(0), round(second)].concat();
        assert_eq!(converse(&steps, 400_000).detail("VM044"), detail);
    }
}

#[test]
fn a_challenge_is_answered_even_if_the_server_has_quit() {
    let sent = info(&[("challenge", "5")]);
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (1000, SERVER, MASTER, b"b\n"),
        (1010, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x05\0\0\0"),
        (1020, SERVER, MASTER, sent.as_bytes()),
    ];
    let outcome = converse(&steps, 9000);
    assert_eq!(outcome.failed(), ["VM052"]);
    assert_eq!(outcome.passed("VM049"), 1);
}

#[test]
fn a_reply_in_several_packets_shows_its_key_itself() {
    let keyed = |server: &[u8]| {
        [b"\xFF\xFF\xFF\xFFf\n\x7F\x78\x56\x34\x12\x08", server, b"\x69\x87"].concat()
    };
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &keyed(&[10, 0, 0, 2])[..]),
        (21, MASTER, CLIENT, &keyed(&[10, 0, 1, 2])[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert_eq!((outcome.failed(), outcome.noted()), (vec![], vec!["VM027"]));
}

/// The numbers of results of rules in a conversation of which the recording cut one datagram: passed, failed and
/// inconclusive.
fn cut(steps: &[(&str, &str, &[u8], bool)], codes: &[&str]) -> Vec<[u64; 3]> {
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    for (second, &(from, to, bytes, lost)) in (0..).zip(steps) {
        lab.datagram(f64::from(second) * 0.01, from, to, bytes, lost);
    }
    lab.end(9.0);
    let counts = codes.iter().map(|code| {
        let rule = super::super::rules::ALL.iter().find(|rule| rule.code.to_string() == **code);
        let counts = lab.counts(rule.expect("the rule is in the list"));
        [counts.passed, counts.failed, counts.inconclusive]
    });
    counts.collect()
}

#[test]
fn what_is_whole_in_a_cut_message_is_judged_and_the_rest_is_inconclusive() {
    let sent = info(&[("players", "none")]);
    let end = sent.find(r"\max\2").unwrap() + 5;
    let steps = [
        (SERVER, MASTER, &b"q"[..], false),
        (MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x01\0\0\0", false),
        (SERVER, MASTER, &sent.as_bytes()[..end], true),
    ];
    let counts = cut(&steps, &["VM033", "VM034", "VM035", "VM036", "VM037", "VM040"]);
    assert_eq!(counts, [[0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 0, 0]]);
    let asked = query(ALL, r"\gamedir\cstrike\dedicated\0\map\de_dust");
    let steps = [
        (CLIENT, MASTER, &asked[..asked.len() - 4], true),
        (MASTER, CLIENT, &reply(&["10.0.0.2:27015"], true), false),
    ];
    let counts = cut(&steps, &["VM004", "VM005", "VM006", "VM026"]);
    assert_eq!(counts, [[0, 0, 1], [2, 0, 1], [1, 1, 1], [1, 0, 0]]);
}

#[test]
fn after_a_cut_reply_the_seed_is_inconclusive() {
    let page = reply(&["10.0.0.2:27015", "10.0.1.2:27015"], false);
    let steps = [
        (CLIENT, MASTER, &query(ALL, "")[..], false),
        (MASTER, CLIENT, &page[..14], true),
        (CLIENT, MASTER, &query("10.0.1.2:27015", ""), false),
    ];
    assert_eq!(cut(&steps, &["VM021", "VM023"]), [[0, 0, 1]; 2]);
}

#[test]
fn a_challenge_of_an_earlier_round_is_no_answer_to_a_newer_one() {
    let [stale, fresh] = ["1", "3"].map(|number| info(&[("challenge", number)]));
    let after = |interval: i64| {
        let steps = [
            (0, SERVER, MASTER, &b"q"[..]),
            (20, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x01\0\0\0"),
            (interval, SERVER, MASTER, b"q"),
            (interval + 20, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x02\0\0\0"),
            (interval + 30, SERVER, MASTER, stale.as_bytes()),
            (interval + 50, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x03\0\0\0"),
            (interval + 60, SERVER, MASTER, fresh.as_bytes()),
        ];
        converse(&steps, interval + 9000)
    };
    let outcome = after(30_000);
    assert_eq!(outcome.failed(), ["VM045"]);
    assert_eq!(outcome.detail("VM045"), "the challenge 1 is an earlier round's");
    assert_eq!(outcome.passed("VM041"), 3);
    // Of one round, the master may want the answer to its latest challenge.
    let outcome = after(1000);
    assert_eq!(outcome.failed(), [""; 0]);
    assert_eq!(outcome.passed("VM041"), 3);
}

#[test]
fn a_master_answers_from_another_port_than_was_asked() {
    const ELSEWHERE: &str = "10.0.0.9:27099";
    let challenge = b"\xFF\xFF\xFF\xFFs\n\x01\0\0\0";
    let outcome = converse(
        &[
            (0, CLIENT, MASTER, &query(ALL, "")),
            (20, ELSEWHERE, CLIENT, &reply(&["10.0.0.2:27015"], true)),
        ],
        9000,
    );
    // Without the beginning of the other flow, the reply may have had a query there.
    assert_eq!((outcome.failed(), outcome.inconclusive()), (vec![], vec!["VM027"]));
    assert_eq!(outcome.detail("VM027"), format!("the query was sent to {MASTER}"));
    assert_eq!(outcome.passed("VM026"), 1);
    let outcome = converse(
        &[
            (0, SERVER, MASTER, b"q"),
            (20, ELSEWHERE, SERVER, challenge),
            (30, SERVER, MASTER, info(&[]).as_bytes()),
        ],
        9000,
    );
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    assert_eq!((outcome.passed("VM047"), outcome.passed("VM041")), (1, 1));
    // A list is no answer to a join, and no request has two answers.
    let outcome = converse(
        &[
            (0, SERVER, MASTER, b"q"),
            (20, ELSEWHERE, SERVER, &reply(&["10.0.0.2:27015"], true)),
            (4000, CLIENT, MASTER, &query(ALL, "")),
            (4020, MASTER, CLIENT, &reply(&["10.0.0.2:27015"], true)),
            (4030, ELSEWHERE, CLIENT, &reply(&["10.0.0.2:27015"], true)),
        ],
        9000,
    );
    assert_eq!(outcome.inconclusive(), ["VM027", "VM027", "VM047"]);
    assert_eq!(outcome.detail("VM027"), "there is no query on this socket");
}

/// The reply to the query before is missing: where a query goes on from an address that nobody is known to have sent, it
/// came.
#[test]
fn a_query_after_a_missing_reply_is_not_compared_with_the_one_before_it() {
    let query = |seed: &str| [b"1\xFF", seed.as_bytes(), b"\0\0"].concat();
    let page = b"\xFF\xFF\xFF\xFFf\n\x51\x02\x03\x04\x69\x87".as_slice();
    let queries = [ALL, "81.2.3.4:27015", "81.2.9.9:27015"].map(query);
    let [first, second, third] = &queries;
    let missing = [
        (0, CLIENT, MASTER, &first[..]),
        (20, MASTER, CLIENT, page),
        (100, CLIENT, MASTER, second),
        (200, CLIENT, MASTER, third),
        (220, MASTER, CLIENT, b"\xFF\xFF\xFF\xFFf\n\0\0\0\0\0\0"),
    ];
    let codes = |steps: &[(i64, &'static str, &'static str, &[u8])]| {
        let found = converse(steps, 9000);
        [found.failed().contains(&"VM021"), found.failed().contains(&"VM026")]
    };
    assert_eq!(codes(&missing), [false, false]);
    let wrong = [missing[0], missing[1], (100, CLIENT, MASTER, third), missing[4]];
    assert_eq!(codes(&wrong), [true, false], "the reply before is there");
}
