//! What an answer to a query has.

use super::lab::{C, Lab, S};

#[test]
fn an_answer_has_what_was_asked_for() {
    let answered = |query: &str, answer: &str| {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, query.as_bytes());
        lab.udp(0.1, S, C, format!(r"{answer}\queryid\1.1\final\").as_bytes()).end(9.0);
        let details: Vec<_> = lab.details().iter().map(ToString::to_string).collect();
        assert!(lab.codes().iter().all(|code| code == "GS1034"), "{details:?}");
        details
    };
    for (query, answer) in [
        (r"\info\", r"\hostname\x\mapname\y\numplayers\4\maxplayers\4"),
        (r"\basic\", r"\gamename\ut"),
        (r"\players\", r"\player_0\Ann\frags_0\3"),
        (r"\rules\", r"\timelimit\10"),
        (r"\status\", r"\hostname\x"),
        (r"\players\", ""),
    ] {
        assert_eq!(answered(query, answer), [""; 0], "{query}");
    }
    for (query, answer, wrong) in [
        (r"\info\", r"\hostname\x\mapname\y", r"the answer to \info\ has no numplayers"),
        (r"\basic\", r"\gamever\451", r"the answer to \basic\ has no gamename"),
        (r"\players\", r"\player\Ann", r"the answer to \players\ numbers no player"),
        (r"\status\", r"\hostport\-1", r#"hostport is "-1", not a decimal number"#),
        (r"\status\", r"\numplayers\5\maxplayers\4", "numplayers is 5, maxplayers 4"),
        (r"\rules\", r"\mutators\a\mutators\b", r#""mutators" stands twice"#),
    ] {
        assert_eq!(answered(query, answer), [wrong], "{query}");
    }
    // Each fault is reported.
    let answer = r"\mapname\y\hostport\x\maxplayers\-1\a\1\b\2\a\3\b\4";
    let wrong = [
        r"the answer to \info\ has no hostname",
        r"the answer to \info\ has no numplayers",
        r#"hostport is "x", not a decimal number"#,
        r#"maxplayers is "-1", not a decimal number"#,
        r#""a" stands twice"#,
        r#""b" stands twice"#,
    ];
    assert_eq!(answered(r"\info\", answer), wrong);
}

/// An answer with the keys of another query than those that wait may answer one that the capture lacks, or that was given up.
#[test]
fn an_answer_belongs_to_the_query_that_asks_for_its_keys() {
    let info = r"\hostname\x\mapname\y\numplayers\4";
    let (rules, players) = (r"\mutators\x", r"\player_0\Ann");
    let codes = |queries: &[(f64, &str)], answers: &[(f64, &str)]| {
        let mut lab = Lab::new();
        let mut all: Vec<_> = queries.iter().map(|it| (it.0, it.1, None)).collect();
        all.extend((1..).zip(answers).map(|(nth, it)| (it.0, it.1, Some(nth))));
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (time, text, nth) in all {
            match nth {
                None => lab.udp(time, C, S, text.as_bytes()),
                Some(nth) => {
                    let text = format!(r"{text}\queryid\{nth}.1\final\");
                    lab.udp(time, S, C, text.as_bytes())
                }
            };
        }
        lab.end(30.0);
        lab.codes()
    };
    let late = [(0.0, r"\rules\"), (0.1, r"\players\")];
    assert_eq!(codes(&late, &[(0.2, info), (0.3, rules), (0.4, players)]), [""; 0]);
    let slow = [(0.0, r"\players\"), (3.5, r"\info\")];
    assert_eq!(codes(&slow, &[(3.6, players), (3.7, info)]), [""; 0]);
    let slow = [(0.0, r"\info\"), (1.0, r"\players\"), (4.5, r"\info\")];
    assert_eq!(codes(&slow, &[(0.1, info), (4.6, players), (4.7, info)]), ["GS1030"]);
    assert_eq!(codes(&[(0.0, r"\info\")], &[(0.1, rules)]), ["GS1034", "GS1034", "GS1034"]);
}

/// Numbers of answers come again after a server's restart.
#[test]
fn a_part_from_before_a_query_is_of_another_answer() {
    let mut lab = Lab::new();
    lab.udp(0.0, S, C, br"\a\b\queryid\69.2\final\").udp(2.3, C, S, br"\basic\");
    lab.udp(2.4, S, C, br"\gamename\ut\queryid\69.1\final\").end(9.0);
    assert_eq!(lab.codes(), ["GS1031?"]);
}

#[test]
fn the_end_comes_in_an_earlier_part_than_the_last() {
    let part = |number: u32, end: &str| format!(r"\key_{number}\x\queryid\5.{number}{end}");
    let in_part_one = part(1, r"\final\");
    let wrong = |most| format!(r"\final\ is in part 1, and there is a part {most} as well");
    // The part with the end counts as the whole response.
    for (others, most) in [(&[(2, "")][..], 2), (&[(2, r"\final\")], 2), (&[(2, ""), (3, "")], 2)] {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, in_part_one.as_bytes());
        for (number, end) in others {
            lab.udp(0.1, S, C, part(*number, end).as_bytes());
        }
        lab.end(9.0);
        assert_eq!(lab.names()[1..3], ["query_response", "query_fragment"]);
        assert_eq!(lab.codes(), ["GS1031"]);
        assert_eq!(lab.details(), [wrong(most)]);
    }
    // Parts that came before it are kept.
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, part(2, "").as_bytes());
    lab.udp(0.1, S, C, in_part_one.as_bytes()).end(9.0);
    assert_eq!(lab.names(), ["query", "query_response"]);
    assert_eq!(lab.details(), [wrong(2)]);
    // Another query may have the same number.
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, in_part_one.as_bytes());
    lab.udp(1.0, C, S, br"\status\").udp(1.1, S, C, part(2, r"\final\").as_bytes());
    lab.udp(1.1, S, C, part(1, "").as_bytes()).end(9.0);
    assert_eq!(lab.names(), ["query", "query_response", "query", "query_response"]);
    assert_eq!(lab.codes(), [""; 0]);
}
