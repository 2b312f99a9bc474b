//! Whole conversations over TCP: clients, masters, lists.

use crate::gamespy1::rules;

use super::lab::{C, L, Lab, LabSegment, S, TestRecorder};

const CHALLENGE: &str = r"\basic\\secure\XDWAOR";
const PROOF: &str = r"\gamename\ut\location\0\validate\3JOdDFU5\final\";
const LIST: &str = r"\list\\gamename\ut\final\";

/// A client's messages after the master's challenge.
fn client(words: &[&str]) -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    master(&mut lab, 0.0, CHALLENGE.as_bytes(), false);
    for word in words {
        lab.tcp(0.1, (C, L), C, word.as_bytes(), LabSegment::default());
    }
    lab
}

fn master(lab: &mut Lab<TestRecorder>, time: f64, bytes: &[u8], fin: bool) {
    lab.tcp(time, (L, C), C, bytes, LabSegment { fin });
}

/// The same, with the master's list.
fn listed(words: &[&str], list: &[u8]) -> Lab<TestRecorder> {
    let mut lab = client(words);
    master(&mut lab, 0.2, list, true);
    lab.end(9.0);
    lab
}

#[test]
fn the_client_s_words_in_one_segment_and_in_several() {
    let list = br"\ip\1.2.3.4:7778\final\";
    let both = format!("{PROOF}{LIST}");
    let (front, back) = both.split_at(30);
    for words in [&[PROOF, LIST][..], &[&both], &[front, back]] {
        let lab = listed(words, list);
        assert_eq!(lab.names(), ["secure", "validate", "list_request", "list_response"]);
        assert_eq!(lab.codes(), Vec::<String>::new());
    }
}

#[test]
fn a_list_in_blocks() {
    let words = [PROOF, r"\list\cmp\gamename\ut\final\"];
    let mut lab = Lab::new();
    master(&mut lab, 0.0, br"\basic\\secure\XDWAOR\final\", false);
    for word in words {
        lab.tcp(0.1, (C, L), C, word.as_bytes(), LabSegment::default());
    }
    master(&mut lab, 0.2, b"\x0a\x4d\x00\x02\x1e\x62\\final\\", true);
    assert_eq!(lab.last().fields, "servers=[10.77.0.2:7778]");
    // The first address begins with a backslash's byte.
    let lab = listed(&words, b"\\\x01\x02\x03\x1e\x62\x0a\x4d\x00\x02\x1e\x62\\final\\");
    assert_eq!(lab.last().fields, "servers=[92.1.2.3:7778 10.77.0.2:7778]");
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(lab.counts(&rules::GS1015).passed, 2);
    assert_eq!(lab.counts(&rules::GS1016).passed, 1);
    // Or the beginning of a list in text; or the end of one.
    let lab = listed(&words, b"\\ip\\\x1e\x62\\final\x0a\x4d\x00\x02\x1e\x62\\final\\");
    let servers = "servers=[92.105.112.92:7778 92.102.105.110:24940 10.77.0.2:7778]";
    assert_eq!(lab.last().fields, servers);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(listed(&words, br"\ip\1.2.3.4:5\final\").last().fields, "servers=[1.2.3.4:5]");
    assert_eq!(listed(&words, b"\\final\\").last().fields, "servers=[]");
    assert_eq!(listed(&words, b"\x0a\x4d\x00\x02\x00\x00\\final\\").codes(), ["GS1015", "GS1026"]);
    let twice = listed(&words, br"\ip\1.2.3.4:5\ip\127.0.0.1:5\ip\1.2.3.4:5\final\");
    assert_eq!(twice.codes(), ["GS1026", "(GS1026)"]);
    assert_eq!(twice.details(), ["127.0.0.1:5 is a loopback address", "1.2.3.4:5 stands twice"]);
    assert_eq!(listed(&words, b"\x0a\x4d\x00\x02\x1e\x62\\final\\more").codes(), ["GS1002"]);
    assert_eq!(listed(&words, b"\x0a\x4d\x00\x02\x1e\x62\x0a\x4d").codes(), ["GS1016"]);
}

#[test]
fn an_enciphered_list_is_identified() {
    let proof = PROOF.replace("3JOdDFU5", "jXrSG2Hx").replace(r"\final", r"\enctype\1\final");
    let lab = listed(&[&proof, r"\list\cmp\gamename\ut\final\"], b"\xE4\x00\\final\\\x01\x02");
    assert_eq!((lab.last().name, lab.last().fields.as_str()), ("list_response", ""));
    let leaves: Vec<_> = lab.last().leaves.iter().map(|leaf| leaf.0).collect();
    assert_eq!(leaves, ["form", "enciphered"]);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(lab.counts(&rules::GS1005).passed + lab.counts(&rules::GS1005).failed, 0);
}

#[test]
fn other_lists_are_recognised() {
    for form in ["groups", "info2"] {
        let request = format!(r"\list\{form}\gamename\ut\final\");
        let lab = listed(&[PROOF, &request], br"\fieldcount\1\name\final\");
        assert_eq!(lab.last().name, "list_response", "{form}");
    }
}

#[test]
fn a_list_in_many_segments() {
    let mut lab = client(&[PROOF, LIST]);
    let addresses: String =
        (0..3000).map(|i| format!(r"\ip\10.0.{}.{}:7778", i / 250, i % 250)).collect();
    let list = format!(r"{addresses}\final\");
    for segment in list.as_bytes().chunks(1460) {
        master(&mut lab, 0.2, segment, false);
    }
    master(&mut lab, 0.3, b"", true);
    lab.end(9.0);
    assert_eq!(lab.counts(&rules::GS1015).passed, 3000);
    assert_eq!(lab.last().frames.len(), list.len().div_ceil(1460));
    assert_eq!(lab.codes(), Vec::<String>::new());
}

#[test]
fn a_list_that_the_close_cuts_is_shown_as_it_is() {
    let lab = listed(&[PROOF, LIST], br"\ip\1.2.3.4:7778\ip\1.2");
    assert_eq!(lab.last().fields, "servers=[1.2.3.4:7778 1.2]");
    assert_eq!(lab.codes(), ["GS1016"]);
    // If the capture ends before the connection does, the end may have come.
    let mut lab = client(&[PROOF, LIST]);
    master(&mut lab, 0.2, br"\ip\1.2.3.4:7778\ip\1.2", false);
    lab.end(9.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
}

#[test]
fn a_close_in_place_of_the_list_shows_that_none_comes() {
    assert_eq!(listed(&[PROOF, LIST], b"").codes(), ["GS1016"]);
    let exempt = [PROOF, LIST].map(|words| words.replace("ut", "deusex").replace("3JOdDFU5", ""));
    assert_eq!(listed(&[&exempt[0], &exempt[1]], b"").codes(), ["(GS1011)", "GS1016"]);
    let unknown = [PROOF, LIST].map(|words| words.replace("ut", "nobodys"));
    assert_eq!(listed(&[&unknown[0], &unknown[1]], b"").codes(), ["GS1016?"], "is one owed?");
    let wrong = PROOF.replace("3JOdDFU5", "12345678");
    assert_eq!(listed(&[&wrong, LIST], b"").codes(), ["GS1005"], "none is owed");
    assert_eq!(listed(&[PROOF, &unknown[1]], b"").codes(), ["GS1013"], "of another game");
    assert_eq!(listed(&[PROOF], b"").counts(&rules::GS1016).failed, 0, "none is asked for");
    // The master says why, or the client has left before.
    let told = listed(&[PROOF, LIST], br"\echo\Too many requests.\final\");
    assert_eq!(told.counts(&rules::GS1016).failed, 0);
    let mut lab = client(&[PROOF, LIST]);
    lab.tcp(0.15, (C, L), C, b"", LabSegment { fin: true });
    master(&mut lab, 0.2, b"", true);
    lab.end(9.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
}

#[test]
fn lists_require_a_valid_code() {
    let list = br"\ip\1.2.3.4:7778\final\";
    let wrong = PROOF.replace("3JOdDFU5", "12345678");
    let codes = ["GS1011", "GS1012", "GS1014"];
    assert_eq!(listed(&[LIST], list).codes(), codes, "two parties are at fault");
    assert_eq!(listed(&[&wrong, LIST], list).codes(), ["GS1005", "GS1018", "GS1014"]);
    let later = listed(&[&wrong, PROOF, LIST], list);
    assert_eq!(later.codes(), ["GS1005", "GS1018"], "a right one does not undo a wrong one");
    let unknown = PROOF.replace(r"\ut\", r"\deusex\");
    let request = LIST.replace("ut", "deusex");
    let lab = listed(&[&unknown, &request], list);
    assert_eq!(lab.codes(), Vec::<String>::new(), "the game's key is not known");
    assert_eq!(lab.counts(&rules::GS1005), Default::default());
    assert_eq!(listed(&[PROOF, &request], list).codes(), ["GS1013"]);
}

/// The document names Deus Ex among the games whose clients send no correct code: they may leave it out, or
/// leave it empty, and get their list all the same.
#[test]
fn clients_of_exempt_games_need_no_code() {
    let list = br"\ip\1.2.3.4:7778\final\";
    let (proof, request) = (PROOF.replace("ut", "deusex"), LIST.replace("ut", "deusex"));
    let none = proof.replace(r"\validate\3JOdDFU5", "");
    let empty = proof.replace("3JOdDFU5", "");
    for words in [none, empty] {
        let lab = listed(&[&words, &request], list);
        assert_eq!(lab.codes(), ["(GS1011)"], "{words}");
        assert!(lab.details()[0].contains("lack validate"), "{words}");
        assert_eq!(lab.counts(&rules::GS1014).passed, 0);
    }
    let short = proof.replace("3JOdDFU5", "3JOd");
    assert_eq!(listed(&[&short, &request], list).codes(), ["GS1004"], "a code that is none");
    let other = PROOF.replace("3JOdDFU5", "");
    assert_eq!(
        listed(&[&other, LIST], list).codes(),
        ["GS1004", "GS1018", "GS1014"],
        "of another game"
    );
}

#[test]
fn faults_of_the_challenge_are_not_faults_of_the_list() {
    let mut lab = Lab::new();
    master(&mut lab, 0.0, br"\basic\\secure\abcdefghi", false);
    let words = PROOF.replace("3JOdDFU5", "QnhL/w4kprNl") + LIST;
    lab.tcp(0.1, (C, L), C, words.as_bytes(), LabSegment::default());
    master(&mut lab, 0.2, br"\ip\1.2.3.4:7778\final\", true);
    assert_eq!(lab.end(9.0).codes(), ["GS1003", "GS1004"]);
}

#[test]
fn a_backslash_in_place_of_final_ends_a_validate() {
    let words = PROOF.replace(r"\final\", r"\") + LIST;
    let lab = listed(&[&words], br"\ip\1.2.3.4:7778\final\");
    assert_eq!(lab.names(), ["secure", "validate", "list_request", "list_response"]);
    assert_eq!(lab.codes(), ["GS1002"]);
}

#[test]
fn text_after_final_without_a_backslash_is_not_part_of_the_list() {
    let lab = listed(&[PROOF, LIST], b"\\ip\\1.2.3.4:7778\\final\r\n");
    assert_eq!(lab.names()[3..], ["list_response", "text"]);
    assert_eq!(lab.codes(), ["GS1002"]);
    assert_eq!(lab.counts(&rules::GS1016).passed, 1);
}

#[test]
fn what_follows_final_is_no_pair() {
    for after in [r"\junk", r"\key\value"] {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\info\");
        let response = format!(r"\hostname\A\queryid\1.1\final{after}");
        lab.udp(0.1, S, C, response.as_bytes());
        lab.end(9.0);
        let failed = |rule| lab.counts(rule).failed;
        assert_eq!((failed(&rules::GS1002), failed(&rules::GS1001)), (1, 0), "{after}");
    }
}

#[test]
fn a_wrong_validate_closes_the_connection() {
    let wrong = PROOF.replace("3JOdDFU5", "12345678");
    assert_eq!(listed(&[&wrong], b"").codes(), ["GS1005"]);
    assert_eq!(listed(&[&wrong, LIST], b"").codes(), ["GS1005"]);
    for said in [&br"\echo\No.\final\"[..], br"\basic\\secure\QWERTY"] {
        assert_eq!(listed(&[&wrong], said).codes(), ["GS1005", "GS1018"]);
    }
    let run = |close: Option<f64>| {
        let mut lab = client(&[&wrong]);
        if let Some(close) = close {
            master(&mut lab, close, b"", true);
        }
        lab.end(9.0);
        lab.codes()
    };
    assert_eq!(run(Some(3.0)), ["GS1005"]);
    assert_eq!(run(Some(4.0)), ["GS1005", "GS1018"]);
    assert_eq!(run(None), ["GS1005", "GS1018"]);
}

#[test]
fn the_master_closes_after_the_list() {
    let run = |close: Option<f64>, client_first: bool, end: f64| {
        let mut lab = client(&[PROOF, LIST]);
        master(&mut lab, 0.2, br"\ip\1.2.3.4:7778\final\", false);
        if client_first {
            lab.tcp(0.3, (C, L), C, b"", LabSegment { fin: true });
        }
        if let Some(close) = close {
            master(&mut lab, close, b"", true);
        }
        lab.end(end);
        lab.codes()
    };
    assert_eq!(run(Some(0.4), false, 9.0), Vec::<String>::new());
    assert_eq!(run(Some(8.0), false, 9.0), ["GS1017"]);
    assert_eq!(run(None, false, 9.0), ["GS1017"]);
    assert_eq!(run(None, false, 1.0), ["GS1017?"]);
    assert_eq!(run(None, true, 9.0), Vec::<String>::new());
}

#[test]
fn a_master_alone_is_read_message_by_message() {
    let words = format!(r"{CHALLENGE}\ip\1.2.3.4:7778\final\");
    for cut in 1..words.len() {
        let (front, back) = words.split_at(cut);
        let mut lab = Lab::new();
        master(&mut lab, 0.0, front.as_bytes(), false);
        master(&mut lab, 0.1, back.as_bytes(), true);
        lab.end(9.0);
        assert_eq!(lab.names(), ["secure", "list_response"], "cut at {cut}");
        assert!(!lab.codes().contains(&"GS1001".to_owned()), "cut at {cut}");
    }
}

#[test]
fn binary_data_is_not_part_of_a_challenge() {
    let blocks = b"\x0a\x09\x16\x87\x1c\x14\x0a\x09\x3e\x07\x22\x18\\final\\".as_slice();
    let enciphered = b"\x9d\x11\xe3!>\xc0BU\xb0\xbf[\x11}\\[\x1dF\xc8\x96\x99".as_slice();
    for (closing, list) in
        ["", r"\final", r"\final\"].into_iter().flat_map(|it| [(it, blocks), (it, enciphered)])
    {
        let challenge = format!("{CHALLENGE}{closing}").into_bytes();
        for segments in [vec![&challenge[..], list], vec![&[&challenge, list].concat()]] {
            let mut lab = Lab::new();
            for segment in segments {
                master(&mut lab, 0.1, segment, false);
            }
            master(&mut lab, 0.2, b"", true);
            lab.end(9.0);
            assert_eq!(lab.sink.heard[0].fields, r#"challenge="XDWAOR""#, "{closing}");
            let expected = if list == blocks { &["GS1014"][..] } else { &[] };
            assert_eq!(lab.codes(), expected, "{closing}: the client is missing");
            assert_eq!(lab.counts(&rules::GS1003).passed, 1);
        }
    }
}

#[test]
fn first_words() {
    let mut lab = Lab::new();
    master(&mut lab, 0.0, br"\secure\XDWAOR", false);
    lab.end(1.0);
    assert_eq!(lab.codes(), ["(GS1010)"]);
    assert_eq!(client(&[r"\gamename\ut\validate\3JOdDFU5\final\"]).end(1.0).codes(), ["GS1011"]);
    assert_eq!(client(&[r"\gamename\ut\location\0\final\"]).end(1.0).codes(), ["GS1011"]);
    assert_eq!(client(&[r"\echo\hello\final\"]).end(1.0).codes(), ["GS1011"]);
}

#[test]
fn words_that_come_before_the_challenge() {
    let run = |code: &str| {
        let mut lab = Lab::new();
        let words = PROOF.replace("3JOdDFU5", code) + LIST;
        lab.tcp(0.0, (C, L), C, words.as_bytes(), LabSegment::default());
        master(&mut lab, 0.1, CHALLENGE.as_bytes(), false);
        master(&mut lab, 0.2, b"", true);
        lab.end(9.0);
        assert_eq!(lab.counts(&rules::GS1010).failed, 0);
        lab.codes()
    };
    assert_eq!(run("12345678"), ["GS1019", "GS1005"]);
    assert_eq!(run("3JOdDFU5"), ["GS1019"]);
    let lab = listed(&[PROOF, LIST], br"\ip\1.2.3.4:7778\final\");
    assert_eq!(lab.counts(&rules::GS1019).passed, 1);
}

#[test]
fn a_master_that_opens_otherwise() {
    for opening in [r"\basic\\final\", r"\error\go away\final\", r"\error\go away", "welcome\r\n"] {
        let mut lab = Lab::new();
        lab.claims = true;
        master(&mut lab, 0.0, opening.as_bytes(), false);
        lab.tcp(0.1, (C, L), C, PROOF.as_bytes(), LabSegment::default());
        master(&mut lab, 0.2, b"", true);
        lab.end(9.0);
        assert_eq!(lab.codes(), ["GS1010"], "{opening}");
        assert_eq!(lab.names().len(), 2, "{opening}");
    }
    // Not at all.
    let run = |closes: bool, end: f64| {
        let mut lab = Lab::new();
        lab.tcp(0.0, (C, L), C, PROOF.as_bytes(), LabSegment::default());
        if closes {
            master(&mut lab, 0.2, b"", true);
        }
        lab.end(end);
        lab.codes()
    };
    assert_eq!(run(true, 1.0), ["GS1010"]);
    assert_eq!(run(false, 9.0), ["GS1010"]);
    assert_eq!(run(false, 1.0), ["GS1010?"]);
}

#[test]
fn a_refusal_keeps_the_list() {
    let wrong = PROOF.replace("3JOdDFU5", "12345678");
    for (words, said, codes) in [
        (&[&*wrong, LIST][..], "", &["GS1005"][..]),
        (&[&wrong], r"\echo\No.\final\", &["GS1005", "GS1018"]),
        (&[LIST], "", &["GS1011", "GS1012"]),
    ] {
        let lab = listed(words, said.as_bytes());
        assert_eq!(lab.codes(), codes);
        let counts = lab.counts(&rules::GS1014);
        assert_eq!((counts.passed, counts.failed), (1, 0), "{words:?}");
    }
    assert_eq!(listed(&[PROOF], b"").counts(&rules::GS1014).passed, 0, "it owes one");
}

#[test]
fn a_client_that_has_waited_for_the_close_may_close_itself() {
    let wrong = PROOF.replace("3JOdDFU5", "12345678");
    let list = br"\ip\1.2.3.4:7778\final\";
    let run = |words: &[&str], list: &[u8], leaves: f64| {
        let mut lab = client(words);
        master(&mut lab, 0.2, list, false);
        lab.tcp(leaves, (C, L), C, b"", LabSegment { fin: true });
        master(&mut lab, leaves + 0.1, b"", true);
        lab.end(30.0);
        lab.codes()
    };
    assert_eq!(run(&[PROOF, LIST], list, 1.0), [""; 0]);
    assert_eq!(run(&[PROOF, LIST], list, 9.0), ["GS1017"]);
    assert_eq!(run(&[&wrong], b"", 9.0), ["GS1005", "GS1018"]);
}

#[test]
fn data_after_a_list_breaks_no_rule_of_lists() {
    let list = r"\ip\1.2.3.4:7778\final\";
    for after in [r"\ip\1.2.3.5:7778\final\", r"\ip\1.2.3.5:7778\ip\1.2", r"\final\"] {
        let lab = listed(&[PROOF, LIST], format!("{list}{after}").as_bytes());
        assert_eq!(lab.codes(), ["GS1002"], "{after}");
        assert_eq!(lab.counts(&rules::GS1016).passed, 1);
    }
    // Another one may be requested.
    let mut lab = client(&[PROOF, LIST]);
    master(&mut lab, 0.2, list.as_bytes(), false);
    lab.tcp(0.3, (C, L), C, LIST.as_bytes(), LabSegment::default());
    master(&mut lab, 0.4, list.as_bytes(), true);
    assert_eq!(lab.end(9.0).codes(), [""; 0]);
}

#[test]
fn a_list_that_is_asked_for_before_the_validate() {
    let proof = r"\gamename\ut\location\0\validate\3JOdDFU5\final\";
    for request in [r"\list\\gamename\ut\", r"\list\\gamename\ut", r"\list\gamename\ut\"] {
        let words = format!("{request}{proof}");
        for cut in 1..words.len() {
            let (front, back) = words.split_at(cut);
            let lab = listed(&[front, back], br"\ip\1.2.3.4:7778\final\");
            let names = ["secure", "list_request", "validate", "list_response"];
            assert_eq!(lab.names(), names, "{request}, cut at {cut}");
            assert_eq!(lab.codes(), ["GS1011", "GS1012"], "{request}, cut at {cut}");
        }
    }
}

#[test]
fn a_plain_list_is_read_after_any_request() {
    let proof = PROOF.replace("3JOdDFU5", "jXrSG2Hx").replace(r"\final", r"\enctype\1\final");
    for (request, list, fields) in [
        (LIST, &br"\ip\1.2.3.4:7778\final\"[..], "servers=[1.2.3.4:7778]"),
        (
            r"\list\cmp\gamename\ut\final\",
            b"\x0a\x4d\x00\x02\x1e\x62\\final\\",
            "servers=[10.77.0.2:7778]",
        ),
        (
            r"\list\cmp\gamename\ut\final\",
            b"\\\x4d\x00\x02\x1e\x62\\final\\",
            "servers=[92.77.0.2:7778]",
        ),
        (LIST, br"\final\", "servers=[]"),
        (
            r"\list\groups\gamename\ut\final\",
            br"\fieldcount\1\name\x\final\",
            "fieldcount:1 name:x",
        ),
    ] {
        let lab = listed(&[&proof, request], list);
        assert_eq!((lab.last().name, &*lab.last().fields), ("list_response", fields));
        assert_eq!(lab.codes(), [""; 0], "{request}");
        assert_eq!(lab.counts(&rules::GS1016).passed, 1, "{request}");
    }
}

#[test]
fn a_list_that_is_too_long_to_wait_for_has_its_end_in_a_later_piece() {
    let mut lab = client(&[PROOF, LIST]);
    lab.settings.limits.list_bytes = 60;
    for i in 0..9 {
        master(&mut lab, 0.2, format!(r"\ip\10.0.0.{i}:7778").as_bytes(), false);
    }
    master(&mut lab, 0.3, br"\final\", true);
    lab.end(9.0);
    assert_eq!(lab.counts(&rules::GS1016).failed, 0, "{:?}", lab.details());
    assert_eq!(lab.codes(), [""; 0]);
}

/// The results of a conversation: messages, findings, and counts of every rule.
type Summary = (Vec<(&'static str, String)>, Vec<(String, String)>, Vec<crate::kit::Counts>);

/// Sender and receiver, and the segments.
type Turn<'a> = ((&'a str, &'a str), Vec<&'a [u8]>);

fn said(turns: &[Turn<'_>]) -> Summary {
    let mut lab = Lab::new();
    for (turn, (way, segments)) in turns.iter().enumerate() {
        for (i, segment) in segments.iter().enumerate() {
            let fin = turn + 1 == turns.len() && i + 1 == segments.len();
            let time = turn as f64 / 10.0 + i as f64 / 10_000.0;
            lab.tcp(time, *way, C, segment, LabSegment { fin });
        }
    }
    lab.end(9.0);
    let reported = lab.sink.heard.iter().map(|heard| (heard.name, heard.fields.clone())).collect();
    let details = lab.details().into_iter().map(str::to_owned);
    let findings = lab.codes().into_iter().zip(details).collect();
    (reported, findings, rules::ALL.iter().map(|rule| lab.counts(rule)).collect())
}

/// The boundaries of segments make no difference, whatever the contents.
#[test]
fn boundaries_of_segments_do_not_matter() {
    let proof = r"\gamename\ut\location\0\validate\3JOdDFU5\final";
    let list = r"\ip\10.0.0.2:7778\ip\10.0.0.3:7778\final\";
    let wire =
        |challenge: &str, words: &str, list: &str| [challenge, words, list].map(str::to_owned);
    let words = format!("{PROOF}{LIST}");
    let conversations = [
        // As the specification prints it, and as it is sent.
        wire(
            r"\basic\secure\XDWAOR",
            &format!(r"{proof}\list\gamename\ut"),
            &list[..list.len() - 1],
        ),
        wire(CHALLENGE, &words, list),
        wire(CHALLENGE, &words, r"\final\"),
        // In a game's own variants.
        wire(CHALLENGE, &words.replacen(r"\ut\", r"\UT\", 1), list),
        wire(CHALLENGE, &words.replace(r"\ut\final", r"\ut\where\mapname='x'\final"), list),
        wire(CHALLENGE, &words.replacen(r"\final\", r"\final\\queryid\1.1\", 1), list),
        wire(CHALLENGE, &words.replacen(r"\final\", "", 1), list),
        wire(CHALLENGE, &words.replacen(r"\final\", r"\", 1), list),
        wire(CHALLENGE, &words.replace("ut", "deusex"), list),
        wire(r"\secure\XDWAOR\final\", &words, list),
        // With faults.
        wire(CHALLENGE, &format!(r"{PROOF}\list\\gamename\unreal\final\"), list),
        wire(r"\basic\\secure\XDWAORX", &words, list),
        wire(r"\basic\\secure\XDW", &words, list),
        wire(CHALLENGE, &words, &format!(r"{list}rest\x")),
        wire(CHALLENGE, &words, &list.replace(r"\final\", "\\final\r\n")),
        wire(CHALLENGE, &words, &format!(r"{list}{list}")),
        wire(CHALLENGE, &words, &list[..25]),
        wire(CHALLENGE, &format!(r"{PROOF}foo\bar\{LIST}"), list),
        wire(CHALLENGE, &words.replace("3JOdDFU5", "3JOdDFU"), list),
        wire(CHALLENGE, proof, list),
        wire(CHALLENGE, LIST, list),
    ];
    for conversation in &conversations {
        let ways = [(L, C), (C, L), (L, C)];
        let texts: Vec<&[u8]> = conversation.iter().map(|text| text.as_bytes()).collect();
        let turns = |segments: &dyn Fn(usize) -> Vec<Vec<u8>>| {
            let segments: Vec<_> = (0..3).map(segments).collect();
            let of = |turn: usize| segments[turn].iter().map(Vec::as_slice).collect();
            said(&[0, 1, 2].map(|turn| (ways[turn], of(turn))))
        };
        let whole = turns(&|turn| vec![texts[turn].to_vec()]);
        let bytes = turns(&|turn| texts[turn].iter().map(|byte| vec![*byte]).collect());
        assert_eq!(bytes, whole, "{conversation:?}");
        for (cut_turn, text) in texts.iter().enumerate() {
            for cut in 1..text.len() {
                let halves = turns(&|turn| match texts[turn].split_at_checked(cut) {
                    Some((front, back)) if turn == cut_turn => vec![front.to_vec(), back.to_vec()],
                    _ => vec![texts[turn].to_vec()],
                });
                assert_eq!(halves, whole, "{conversation:?}, turn {cut_turn} cut at {cut}");
            }
        }
    }
}

#[test]
fn the_request_of_the_specification_is_found_after_its_validate() {
    let words = r"\gamename\ut\location\0\validate\3JOdDFU5\final\list\gamename\ut";
    let lab = listed(&[words], br"\ip\1.2.3.4:7778\final");
    assert_eq!(lab.names(), ["secure", "validate", "list_request", "list_response"]);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(lab.counts(&rules::GS1013).passed, 1);
}

#[test]
fn data_after_a_list_is_reported_separately() {
    let lab = listed(&[PROOF, LIST], br"\ip\1.2.3.4:7778\final\rest\x");
    assert_eq!(lab.names()[3..], ["list_response", "text"]);
    assert_eq!(lab.codes(), ["GS1002"]);
    assert_eq!(lab.details(), [r"6 bytes follow \final"]);
}

#[test]
fn words_that_nothing_follows_are_reported_in_time() {
    let mut lab = client(&[PROOF]);
    assert_eq!(lab.names(), ["secure"]);
    lab.udp(4.0, "10.0.0.7:1", "10.0.0.8:1", br"\status\");
    assert_eq!(lab.names(), ["secure", "validate", "query"]);
    // Half a request may arrive late.
    let mut lab = client(&[PROOF, r"\list\\game"]);
    lab.udp(4.0, "10.0.0.7:1", "10.0.0.8:1", br"\status\");
    lab.tcp(5.0, (C, L), C, br"name\ut\final\", LabSegment::default()).end(9.0);
    assert_eq!(lab.last().fields, r#"gamename="ut""#);
}
