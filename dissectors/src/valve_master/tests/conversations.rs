//! Whole conversations.

use super::*;
use crate::valve_master::info_keys;
use crate::valve_master::pending::Asked;
use crate::valve_master::registration::Registration;

const GIVEN: &[u8] = b"\xFF\xFF\xFF\xFFs\n\x96\x2F\xDD\x4F";

fn info(challenge: &str) -> Vec<u8> {
    let before = r"\protocol\47\challenge\";
    let after = r"\players\0\max\2\bots\0\gamedir\cstrike\map\de_dust\type\d\password\0\os\l\secure\0\lan\0\version\1.1.2.5/Stdio\region\255\product\cstrike";
    format!("0\n{before}{challenge}{after}\n").into_bytes()
}

const ALL: &str = "0.0.0.0:0";
const A: &str = "10.0.0.2:27015";
const B: &str = "10.0.1.2:27015";
const C: &str = "10.0.2.2:27015";

#[test]
fn a_listing_page_by_page() {
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, r"\gamedir\tf")[..]),
        (20, MASTER, CLIENT, &reply(&[A, B], false)[..]),
        (30, CLIENT, MASTER, &query(B, r"\gamedir\tf")[..]),
        (50, MASTER, CLIENT, &reply(&[C], true)[..]),
        (60, CLIENT, MASTER, &query(ALL, "")[..]),
        (80, MASTER, CLIENT, &reply(&[A, B, C], true)[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    for code in ["VM020", "VM021", "VM022", "VM023", "VM024", "VM025", "VM026", "VM027"] {
        assert!(outcome.passed(code) > 0, "{code} is exercised");
    }
}

#[test]
fn an_immediate_repeat_of_a_page_does_not_continue_the_list() {
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &reply(&[A, B], false)[..]),
        (30, CLIENT, MASTER, &query(B, "")[..]),
        (50, MASTER, CLIENT, &reply(&[C], false)[..]),
        (60, CLIENT, MASTER, &query(B, "")[..]),
        (80, MASTER, CLIENT, &reply(&["10.0.3.2:27015"], false)[..]),
    ];
    assert_eq!(converse(&steps, 9000).failed(), ["VM021"]);
    // A client that got no response asks again, but not so soon.
    let later: Vec<_> =
        steps.iter().map(|&(t, f, to, b)| (if t >= 60 { t + 1000 } else { t }, f, to, b)).collect();
    assert_eq!(converse(&later, 9000).failed(), [""; 0]);
}

#[test]
fn a_query_sent_again_is_one_question() {
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (1000, CLIENT, MASTER, &query(ALL, "")[..]),
        (1020, MASTER, CLIENT, &reply(&[A], true)[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
}

/// As everywhere: each repeat prolongs the wait, up to three timeouts.
#[test]
fn each_repeat_prolongs_the_wait() {
    let (asks, lists) = (query(ALL, ""), reply(&[A], true));
    for (from, request, response) in [(CLIENT, &asks[..], &lists[..]), (SERVER, b"q", GIVEN)] {
        let sent = |times: &[i64]| {
            times.iter().map(|&time| (time, from, MASTER, request)).collect::<Vec<Step<'_>>>()
        };
        let mut steps = sent(&[0, 2000, 4000]);
        steps.push((4020, MASTER, from, response));
        let outcome = converse(&steps, 4100);
        let at = |ms: i64| Time(ms * 1_000_000);
        let repeated = Reply { began: at(0), tries: 3, ..Reply::to(3, at(4000)) };
        assert_eq!(outcome.replies[3], Some(repeated));
        assert_eq!(
            outcome.sendings,
            [Sending::New, Sending::Again(1), Sending::Again(2), Sending::New]
        );
        assert!(outcome.failed().is_empty(), "{:?}", outcome.findings);
        // The fifth one comes three timeouts after the first one.
        let outcome = converse(&sent(&[0, 2500, 5000, 7500, 9000]), 9100);
        let again = [1, 2, 3].map(Sending::Again);
        assert_eq!(outcome.sendings, [&[Sending::New], &again[..], &[Sending::New]].concat());
        // The answer is missing when the timeout has passed after the latest sending.
        let silent = |until| {
            let heard = (10, MASTER, from, &b"\xFF\xFF\xFF\xFFc 127.0.0.1:1"[..]);
            let steps = [sent(&[0]), vec![heard], sent(&[2000, 4000])].concat();
            let outcome = converse(&steps, until);
            (outcome.failed().len(), outcome.inconclusive().len())
        };
        assert_eq!([silent(6900), silent(7100)], [(0, 1), (1, 0)]);
    }
}

#[test]
fn a_query_sent_twice_may_be_answered_twice() {
    let (first, second) = (reply(&[A, B], false), reply(&[C], true));
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (10, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &first[..]),
        (30, CLIENT, MASTER, &query(B, "")[..]),
        (40, MASTER, CLIENT, &first[..]),
        (50, MASTER, CLIENT, &second[..]),
    ];
    // The second response comes before the next query, after it, or is another list.
    let orders = [[0, 1, 2, 4, 3, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4]];
    for order in orders {
        let outcome = converse(&order.map(|at| steps[at]), 9000);
        assert!(outcome.findings.is_empty(), "{order:?}: {:?}", outcome.findings);
        assert_eq!(outcome.passed("VM026"), 2);
    }
    let other = reply(&[A, C], false);
    let mut steps = orders[2].map(|at| steps[at]);
    steps[5].3 = &other;
    let outcome = converse(&steps, 9000);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    // A third one has no query.
    let third = reply(&[B], true);
    let steps = [&steps[..], &[(60, MASTER, CLIENT, &third[..])]].concat();
    assert_eq!(converse(&steps, 9000).failed(), ["VM027"]);
}

#[test]
fn a_copy_of_a_reply_proves_nothing() {
    let (first, second) = (reply(&[A, B], false), reply(&[C], false));
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &first[..]),
        (20, MASTER, CLIENT, &first[..]),
        (30, CLIENT, MASTER, &query(B, "")[..]),
        (50, MASTER, CLIENT, &second[..]),
        (51, MASTER, CLIENT, &first[..]),
        (60, CLIENT, MASTER, &query(C, "")[..]),
        (61, MASTER, CLIENT, &second[..]),
    ];
    // Of the lists, that is: each second copy answers nothing. (What the network doubles does not get here.)
    assert_eq!(converse(&steps, 9000).failed(), ["VM027", "VM027"]);
    // A master that has the same page for every query sends it all the same.
    let mut same = steps.to_vec();
    same.truncate(2);
    for at in 1..=3 {
        same.push((at * 30, CLIENT, MASTER, steps[3].3));
        same.push((at * 30 + 20, MASTER, CLIENT, &first));
    }
    assert_eq!(converse(&same, 9000).failed(), ["VM025", "VM025"]);
}

/// A listing that is asked for again has the same pages as the one before.
#[test]
fn a_doubled_reply_does_not_hide_the_pages_of_a_listing_that_is_refreshed() {
    let pages = [A, B, C].map(|last| reply(&[last], false));
    let queries = ["0.0.0.0:0", A, B, C].map(|seed| query(seed, ""));
    let end = reply(&["10.0.9.9:27015"], true);
    for doubled in 0..3 {
        let mut steps = Vec::new();
        for start in [0, 1000, 9000] {
            for (at, now) in (0..4).zip((start..).step_by(50)) {
                steps.push((now, CLIENT, MASTER, &queries[at][..]));
                steps.push((now + 40, MASTER, CLIENT, pages.get(at).unwrap_or(&end)));
                if at == doubled && start > 0 {
                    steps.push((now + 55, MASTER, CLIENT, &pages[at]));
                }
            }
        }
        steps.sort_by_key(|step| step.0);
        let outcome = converse(&steps, 20_000);
        assert!(outcome.failed().is_empty(), "{doubled}: {:?}", outcome.findings);
    }
}

#[test]
fn replies_to_two_queries_may_come_in_the_other_order() {
    let (x, y) = (r"\map\x", r"\map\y");
    let (to_x, to_y) = (reply(&[A], false), reply(&[B], false));
    let (ask_x, ask_y, on) = (query(ALL, x), query(ALL, y), query(B, y));
    let wrong = query(C, y);
    let steps = |second, on| {
        [
            (0, CLIENT, MASTER, &ask_x[..]),
            (second, CLIENT, MASTER, &ask_y[..]),
            (second + 20, MASTER, CLIENT, &to_y[..]),
            (second + 30, MASTER, CLIENT, &to_x[..]),
            (second + 50, CLIENT, MASTER, on),
            (second + 70, MASTER, CLIENT, &to_x[..]),
        ]
    };
    for second in [10, 1000] {
        let outcome = converse(&steps(second, &on), 9000);
        assert!(!outcome.failed().contains(&"VM021"), "{:?}", outcome.findings);
    }
    // Old requests are no longer answered.
    let lost = [&steps(5000, &wrong)[..3], &steps(5000, &wrong)[4..]].concat();
    assert!(converse(&lost, 20_000).failed().contains(&"VM021"));
}

#[test]
fn an_unanswered_query_between_answered_ones_is_found() {
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &reply(&[A], true)[..]),
        (100, CLIENT, MASTER, &query(ALL, r"\gamedir\tf")[..]),
        (700, CLIENT, MASTER, &query(ALL, r"\gamedir\cstrike")[..]),
        (720, MASTER, CLIENT, &reply(&[B], true)[..]),
    ];
    assert_eq!(converse(&steps, 9000).failed(), ["VM026"]);
    assert_eq!(converse(&steps, 2000).inconclusive(), ["VM026"]);
}

#[test]
fn no_response_is_due_to_an_unreadable_query() {
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &reply(&[A], true)[..]),
        (100, CLIENT, MASTER, &b"1\0\0\0\0"[..]),
    ];
    assert_eq!(converse(&steps, 9000).failed(), ["VM003", "VM001"]);
}

#[test]
fn a_capture_that_begins_in_a_listing_proves_nothing_about_its_start() {
    let steps =
        [(0, CLIENT, MASTER, &query(B, "")[..]), (20, MASTER, CLIENT, &reply(&[C], true)[..])];
    assert_eq!(converse(&steps, 9000).inconclusive(), ["VM020"]);
    assert_eq!(converse(&steps, 9000).failed(), [""; 0]);
}

#[test]
fn a_listing_does_not_change_its_socket() {
    let other = "10.0.0.1:50001";
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &reply(&[A, B], false)[..]),
        (30, other, MASTER, &query(B, "")[..]),
        (50, MASTER, other, &reply(&[A, B], false)[..]),
    ];
    assert_eq!(converse(&steps, 9000).failed(), ["VM022"]);
    // Another host may have any position.
    let strange = "10.0.5.1:50001";
    let steps = steps.map(|(t, f, to, b)| {
        (t, if f == other { strange } else { f }, if to == other { strange } else { to }, b)
    });
    assert_eq!(converse(&steps, 9000).failed(), [""; 0]);
    // And if the listing has continued on its own socket, another client is there.
    let own = (25, CLIENT, MASTER, &query(B, "")[..]);
    let steps = [steps[0], steps[1], own, steps[2], steps[3]];
    assert_eq!(converse(&steps, 2000).failed(), [""; 0]);
}

#[test]
fn a_listing_may_continue_after_a_silence() {
    let resumed = |client: &str, from_the_start: bool| {
        let mut lab = lab::Lab::<ValveMaster, _>::new();
        lab.complete = from_the_start;
        if from_the_start {
            lab.udp(0.0, CLIENT, MASTER, &query(ALL, ""));
        }
        lab.udp(0.1, MASTER, CLIENT, &reply(&[A, B], false)).end(900.0);
        lab.udp(1000.0, client, MASTER, &query(B, ""));
        lab.udp(1000.1, MASTER, client, &reply(&[C], true)).end(1900.0);
        lab.codes()
    };
    assert_eq!(resumed(CLIENT, true), [""; 0]);
    assert_eq!(resumed("10.0.0.1:50001", true), ["VM022"]);
    // Also where its query was sent before the capture.
    assert!(!resumed(CLIENT, false).contains(&"VM022".to_owned()));
    assert!(resumed("10.0.0.1:50001", false).contains(&"VM022".to_owned()));
}

#[test]
fn an_address_handed_out_on_two_pages_is_noted() {
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (20, MASTER, CLIENT, &reply(&[A, B], false)[..]),
        (30, CLIENT, MASTER, &query(B, "")[..]),
        (50, MASTER, CLIENT, &reply(&[C, A], true)[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert_eq!(outcome.failed(), ["VM025"]);
    assert_eq!(outcome.findings[0].1, Severity::Note);
    assert_eq!(outcome.detail("VM025"), "10.0.0.2:27015 is sent twice");
}

#[test]
fn a_server_s_life() {
    let (first, second) = (info("1339895702"), info("-7"));
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, GIVEN),
        (30, SERVER, MASTER, &first[..]),
        (300_000, SERVER, MASTER, b"q"),
        (300_020, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\xF9\xFF\xFF\xFF"),
        (300_030, SERVER, MASTER, &second[..]),
        (400_000, SERVER, MASTER, b"b\n"),
        (500_000, SERVER, MASTER, b"q"),
        (500_020, MASTER, SERVER, GIVEN),
        (500_030, SERVER, MASTER, &first[..]),
    ];
    let outcome = converse(&steps, 600_000);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    for code in
        ["VM040", "VM041", "VM042", "VM044", "VM045", "VM047", "VM049", "VM050", "VM051", "VM052"]
    {
        assert!(outcome.passed(code) > 0, "{code} is exercised");
    }
}

#[test]
fn a_challenge_may_stay_the_same_from_round_to_round() {
    let info = info("1339895702");
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, GIVEN),
        (30, SERVER, MASTER, &info[..]),
        (300_000, SERVER, MASTER, b"q"),
        (300_020, MASTER, SERVER, GIVEN),
        (300_030, SERVER, MASTER, &info[..]),
    ];
    let outcome = converse(&steps, 400_000);
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
}

#[test]
fn a_wrong_challenge_is_answered_by_another() {
    let (wrong, right, other) = (info("2519719247"), info("7"), given(7));
    let mut steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, GIVEN),
        (30, SERVER, MASTER, &wrong[..]),
        (50, MASTER, SERVER, &other[..]),
        (60, SERVER, MASTER, &right[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert_eq!(outcome.failed(), ["VM040"]);
    assert_eq!(outcome.detail("VM040"), "reads the master's 96 2F DD 4F as big-endian");
    assert_eq!(outcome.passed("VM043"), 1);
    assert_eq!(converse(&steps[..3], 9000).failed(), ["VM040", "VM043"]);
    // The same number is no new challenge.
    let right = info("1339895702");
    (steps[3].3, steps[4].3) = (GIVEN, &right[..]);
    assert_eq!(converse(&steps, 9000).failed(), ["VM040", "VM043"]);
}

/// A challenge.
fn given(value: u32) -> Vec<u8> {
    [b"\xFF\xFF\xFF\xFFs\n", &value.to_le_bytes()[..]].concat()
}

#[test]
fn one_challenge_does_not_answer_both_a_join_and_a_wrong_challenge() {
    let (wrong, right, first, second) = (info("6"), info("7"), given(5), given(7));
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, &first[..]),
        (30, SERVER, MASTER, &wrong[..]),
        (300_000, SERVER, MASTER, b"q"),
        (300_020, MASTER, SERVER, &second[..]),
        (300_030, SERVER, MASTER, &right[..]),
    ];
    let outcome = converse(&steps, 400_000);
    assert_eq!(outcome.failed(), ["VM040", "VM043"]);
    assert_eq!(outcome.passed("VM047"), 2);
    // With two joins, each has its challenge.
    let mut both = steps.to_vec();
    both.insert(5, (300_021, MASTER, SERVER, &second[..]));
    let outcome = converse(&both, 400_000);
    assert_eq!(outcome.failed(), ["VM040"]);
    assert_eq!((outcome.passed("VM043"), outcome.passed("VM047")), (1, 2));
}

/// The challenge of the second join is missing, or the join, too.
#[test]
fn an_answer_to_a_challenge_that_is_missing_proves_nothing() {
    let (right, other) = (info("1339895702"), info("7"));
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, GIVEN),
        (30, SERVER, MASTER, &right[..]),
        (300_000, SERVER, MASTER, b"q"),
        (300_030, SERVER, MASTER, &other[..]),
    ];
    for missing in [None, Some(3)] {
        let mut steps = steps.to_vec();
        missing.into_iter().for_each(|at| _ = steps.remove(at));
        let outcome = converse(&steps, 400_000);
        assert!(!outcome.failed().contains(&"VM040"), "{:?}", outcome.findings);
        assert!(outcome.inconclusive().contains(&"VM040"), "{:?}", outcome.findings);
    }
}

/// The join of a round is missing: a challenge where a join is due shows it.
#[test]
fn a_join_that_was_not_recorded_is_no_fault() {
    let (right, second) = (info("1339895702"), info("7"));
    let (third, other) = (given(7), given(8));
    let mut steps = vec![
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, GIVEN),
        (30, SERVER, MASTER, &right[..]),
        (300_020, MASTER, SERVER, &third[..]),
        (300_030, SERVER, MASTER, &second[..]),
        (600_000, SERVER, MASTER, b"q"),
        (600_020, MASTER, SERVER, GIVEN),
        (600_030, SERVER, MASTER, &right[..]),
    ];
    let outcome = converse(&steps, 610_000);
    assert_eq!((outcome.failed(), outcome.inconclusive()), (vec![], vec!["VM041"]));
    assert_eq!(outcome.passed("VM044"), 1);
    // Not where none is due.
    for step in &mut steps[3..5] {
        step.0 -= 150_000;
    }
    assert_eq!(converse(&steps, 610_000).failed(), ["VM041", "VM044"]);
    // Nor again and again.
    steps.truncate(3);
    steps.push((300_020, MASTER, SERVER, &third[..]));
    steps.push((600_020, MASTER, SERVER, &other[..]));
    assert!(converse(&steps, 610_000).failed().contains(&"VM041"));
}

#[test]
fn a_challenge_given_before_the_capture_may_come_back() {
    let (first, second) = (info("1"), info("2"));
    let (one, two) = (given(1), given(2));
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (10, SERVER, MASTER, b"q"),
        (20, MASTER, SERVER, &one[..]),
        (30, MASTER, SERVER, &two[..]),
        (40, SERVER, MASTER, &first[..]),
        (50, SERVER, MASTER, &second[..]),
    ];
    assert!(converse(&steps, 9000).findings.is_empty());
    let outcome = converse(&steps[3..], 9000);
    assert_eq!((outcome.failed(), outcome.passed("VM040")), (vec![], 1));
    assert!(outcome.inconclusive().contains(&"VM040"), "{:?}", outcome.findings);
    // No further response is due.
    assert_eq!(converse(&steps[3..5], 9000).failed(), [""; 0]);
    // A number that no challenge would make right is proven, and so is one after a join that was
    // seen.
    let (no_int, strange) = (info("0x10"), info("9"));
    let steps = [steps[3], (40, SERVER, MASTER, &no_int[..])];
    assert_eq!(converse(&steps, 1000).failed(), ["VM040"]);
    let swapped = info("33554432");
    let steps = [steps[0], (40, SERVER, MASTER, &swapped[..])];
    assert_eq!(converse(&steps, 1000).failed(), ["VM040"]);
    let steps = [
        steps[0],
        (40, SERVER, MASTER, &second[..]),
        (300_000, SERVER, MASTER, b"q"),
        (300_020, MASTER, SERVER, &one[..]),
        (300_030, SERVER, MASTER, &strange[..]),
    ];
    assert_eq!(converse(&steps, 300_040).failed(), ["VM040"]);
}

#[test]
fn many_challenges_may_be_open_at_once() {
    let rounds = |count: u32| -> Vec<(Vec<u8>, Vec<u8>)> {
        (1..=count).map(|n| (given(n), info(&n.to_string()))).collect()
    };
    for count in [6, 40] {
        let rounds = rounds(count);
        let mut steps: Vec<Step<'_>> = vec![(0, SERVER, MASTER, b"q"); rounds.len()];
        steps.extend(rounds.iter().map(|(given, _)| (20, MASTER, SERVER, &given[..])));
        steps.extend(rounds.iter().map(|(_, info)| (30, SERVER, MASTER, &info[..])));
        let outcome = converse(&steps, 9000);
        assert!(outcome.findings.is_empty(), "{count}: {:?}", outcome.findings);
        assert!(outcome.passed("VM040") >= 6);
    }
    // Used challenges are dropped first, which does not affect the others.
    let (rounds, wrong) = (rounds(40), info("99"));
    let mut steps: Vec<Step<'_>> = vec![];
    for ((given, info), at) in rounds.iter().zip((0..).step_by(300_000)) {
        steps.push((at, SERVER, MASTER, b"q"));
        steps.push((at + 20, MASTER, SERVER, given));
        steps.push((at + 30, SERVER, MASTER, info));
    }
    steps.last_mut().unwrap().3 = &wrong;
    assert_eq!(converse(&steps, 39 * 300_000 + 40).failed(), ["VM040"]);
}

#[test]
fn a_challenge_that_cannot_be_read_was_given() {
    let reported = info("5");
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x05\0\0"),
        (30, SERVER, MASTER, &reported[..]),
    ];
    let outcome = converse(&steps, 9000);
    assert_eq!(outcome.findings.len(), 1, "{:?}", outcome.findings);
    assert_eq!(outcome.failed(), ["VM031"]);
    // But not for a second info string.
    let second = info("6");
    let next = given(7);
    let steps = [
        steps[0],
        steps[1],
        steps[2],
        (60, SERVER, MASTER, b"q"),
        (80, MASTER, SERVER, &next[..]),
        (90, SERVER, MASTER, &second[..]),
    ];
    assert_eq!(converse(&steps, 100).failed(), ["VM031", "VM044", "VM040"]);
}

#[test]
fn info_strings_show_rounds_without_recorded_challenges() {
    let infos: Vec<_> = (1..4).map(|n| info(&n.to_string())).collect();
    let every = |pause: i64| {
        let mut steps: Vec<Step<'_>> = vec![];
        for (at, info) in infos.iter().enumerate() {
            let at = at as i64 * pause;
            steps.extend([(at, SERVER, MASTER, &b"q"[..]), (at + 20, SERVER, MASTER, info)]);
        }
        converse(&steps, 3 * pause)
    };
    assert_eq!(every(60_000).failed(), ["VM044", "VM044"]);
    assert_eq!(every(300_000).failed(), [""; 0]);
    assert_eq!(every(300_000).passed("VM044"), 2);
}

#[test]
fn on_an_unusual_port_the_first_join_is_not_reported() {
    let master = "10.0.0.9:5555";
    let (first, second, reported, again) = (given(5), given(6), info("5"), info("6"));
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    (lab.claims, lab.complete) = (true, true);
    lab.udp(0.0, SERVER, master, b"q");
    lab.udp(0.02, master, SERVER, &first).udp(0.04, SERVER, master, &reported);
    lab.udp(300.0, SERVER, master, b"q");
    lab.udp(300.02, master, SERVER, &second).udp(300.04, SERVER, master, &again);
    lab.end(400.0);
    let round = ["join", "challenge", "challenge_response"];
    assert_eq!(lab.names(), [&round[1..], &round[..]].concat());
    assert_eq!(lab.codes(), [""; 0]);
    // A later unsolicited challenge is found.
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    lab.complete = true;
    lab.udp(0.0, master, SERVER, &first).udp(9.0, master, SERVER, &second).end(20.0);
    assert_eq!(lab.codes(), ["VM041", "VM049"]);
}

#[test]
fn an_info_string_without_its_first_backslash_is_one() {
    let reported = String::from_utf8(info("5")).unwrap().replacen('\\', "", 1);
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    lab.claims = true;
    lab.udp(0.0, SERVER, MASTER, b"q").udp(0.02, MASTER, SERVER, &given(5));
    lab.udp(0.04, SERVER, MASTER, reported.as_bytes()).end(9.0);
    assert_eq!((lab.last().name, lab.codes()), ("challenge_response", vec!["VM033".to_owned()]));
}

#[test]
fn an_info_string_before_any_challenge_is_proven_by_the_challenge_after_it() {
    let (strange, reported) = (info("77"), info("5"));
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (9000, SERVER, MASTER, &strange[..]),
        (9100, MASTER, SERVER, &given(5)[..]),
        (9120, SERVER, MASTER, &reported[..]),
    ];
    assert_eq!(converse(&steps, 20_000).failed(), ["VM042"]);
    // If the capture begins after the join, the challenge may appear before it;
    assert_eq!(converse(&steps[1..], 20_000).inconclusive(), ["VM042"]);
    // and if another join comes between, it may be missing, like other messages of the master.
    let again = (9050, SERVER, MASTER, &b"q"[..]);
    let again = [steps[0], steps[1], again, steps[2], steps[3]];
    assert!(converse(&again, 20_000).inconclusive().contains(&"VM042"));
    assert!(!converse(&again, 20_000).failed().contains(&"VM042"));
    assert_eq!(converse(&steps[..2], 20_000).inconclusive(), ["VM042", "VM047"]);
}

#[test]
fn a_truncated_header_of_a_reply_is_checked() {
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    lab.complete = true;
    lab.udp(0.0, MASTER, CLIENT, b"\xFF\xFF\xFF\xFFf").end(9.0);
    assert_eq!(lab.codes(), ["VM010", "VM027"]);
}

#[test]
fn truncated_messages_do_not_show_their_form() {
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    lab.datagram(0.0, SERVER, MASTER, b"q", true);
    lab.udp(0.02, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x05\0\0\0\x01\x02\x03\x04");
    lab.end(9.0);
    assert_eq!(lab.codes(), ["(VM031)", "VM049"]);
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    lab.datagram(0.0, CLIENT, MASTER, &query(ALL, "")[..12], true);
    let keyed = hex("FFFFFFFF 660A 7F 5AB7E1F0 08 0A000002 6987 00000000 0000");
    lab.udp(0.02, MASTER, CLIENT, &keyed);
    assert!(lab.last().value("key").is_some(), "{:?}", lab.last().leaves);
}

#[test]
fn a_server_that_is_one_challenge_behind_reuses_them() {
    let infos = ["1339895702", "-7", "9"].map(info);
    let round = |at: i64, challenge: &'static [u8], info: usize| {
        [
            (at, SERVER, MASTER, &b"q"[..]),
            (at + 20, MASTER, SERVER, challenge),
            (at + 30, SERVER, MASTER, &infos[info][..]),
        ]
    };
    let [second, third] =
        [b"\xFF\xFF\xFF\xFFs\n\xF9\xFF\xFF\xFF", b"\xFF\xFF\xFF\xFFs\n\x09\0\0\0"];
    let behind = [round(0, GIVEN, 1), round(300_000, second, 0), round(600_000, third, 1)].concat();
    assert_eq!(converse(&behind, 700_000).failed(), ["VM040", "VM045", "VM043", "VM045"]);
    let right = [round(0, GIVEN, 0), round(300_000, second, 1), round(600_000, third, 2)].concat();
    assert_eq!(converse(&right, 700_000).failed(), [""; 0]);
}

#[test]
fn a_heartbeat_without_a_join_reuses_its_challenge() {
    let info = info("1339895702");
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, GIVEN),
        (30, SERVER, MASTER, &info[..]),
        (300_030, SERVER, MASTER, &info[..]),
    ];
    assert_eq!(converse(&steps, 400_000).failed(), ["VM045"]);
    // The network, or the server, may duplicate a datagram.
    let steps = [steps[0], steps[1], steps[2], (40, SERVER, MASTER, &info[..])];
    assert_eq!(converse(&steps, 9000).failed(), [""; 0]);
}

#[test]
fn unanswered_joins_are_not_heartbeats() {
    let info = info("1339895702");
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (20, MASTER, SERVER, GIVEN),
        (30, SERVER, MASTER, &info[..]),
        (300_000, SERVER, MASTER, b"q"),
        (310_000, SERVER, MASTER, b"q"),
        (320_000, SERVER, MASTER, b"q"),
        (320_020, MASTER, SERVER, GIVEN),
        (320_030, SERVER, MASTER, &info[..]),
        (620_000, SERVER, MASTER, b"q"),
        (620_020, MASTER, SERVER, GIVEN),
        (620_030, SERVER, MASTER, &info[..]),
    ];
    let outcome = converse(&steps, 700_000);
    assert_eq!(outcome.failed(), ["VM047", "VM047"]);
    assert_eq!(outcome.passed("VM044"), 2);
}

/// The challenge was recorded but may not have reached the server: no info string follows.
#[test]
fn a_join_without_an_info_string_is_not_a_heartbeat() {
    let info = info("1339895702");
    for pause in [2000, 10_000] {
        let steps = [
            (0, SERVER, MASTER, &b"q"[..]),
            (20, MASTER, SERVER, GIVEN),
            (pause, SERVER, MASTER, b"q"),
            (pause + 20, MASTER, SERVER, GIVEN),
            (pause + 30, SERVER, MASTER, &info[..]),
            (300_000, SERVER, MASTER, b"q"),
        ];
        let outcome = converse(&steps, 300_001);
        assert!(outcome.failed().is_empty(), "{:?}", outcome.findings);
        assert_eq!(outcome.passed("VM044"), 1);
    }
}

#[test]
fn a_clock_that_is_set_back_tells_no_interval() {
    let mut registration = Registration::default();
    for (time, interval) in [(400, None), (0, None), (300, Some(300))] {
        let mark = Mark { frame: 1, time: Time(time), length: 1, side: Side::First };
        let join = Request::new(Asked::Challenge(None), mark, true);
        assert_eq!(registration.join(&join, false, 3).interval, interval, "{time}");
        registration.challenge(Some(1), Some(join));
        registration.info(&info_keys::InfoSummary::default(), mark.time, 3);
    }
}

#[test]
fn a_quit_that_is_recorded_twice_is_one() {
    for (pause, failed) in [(0, &[][..]), (5, &[]), (6, &["VM052"])] {
        let steps = [
            (0, SERVER, MASTER, &b"q"[..]),
            (20, MASTER, SERVER, GIVEN),
            (1000, SERVER, MASTER, b"b\n"),
            (1000 + pause, SERVER, MASTER, b"b\n"),
        ];
        assert_eq!(converse(&steps, 9000).failed(), failed, "{pause}");
    }
}

#[test]
fn requests_that_are_dropped_early_break_no_rule() {
    let mut lab = lab::Lab::<ValveMaster, _>::with(RuleResults::default());
    lab.complete = true;
    for number in 0..30 {
        lab.udp(0.0, CLIENT, MASTER, &query(ALL, &format!(r"\map\m{number}")));
    }
    for number in 0..30 {
        lab.udp(0.1, MASTER, CLIENT, &reply(&[&format!("10.0.0.{number}:27015")], true));
    }
    lab.end(9.0);
    assert!(lab.sink.findings.is_empty(), "{:?}", lab.sink.findings);
}

#[test]
fn memory_is_always_bounded() {
    let unanswered: Vec<Vec<u8>> = (0..200).map(|n| query(ALL, &format!(r"\map\m{n}"))).collect();
    let mut steps: Vec<Step<'_>> = vec![];
    for (at, query) in unanswered.iter().enumerate() {
        steps.push((at as i64 * 10_000, CLIENT, MASTER, query));
    }
    let last = reply(&[A], false);
    steps.push((2_000_000, MASTER, CLIENT, &last));
    let outcome = converse(&steps, 3_000_000);
    let unanswered = outcome.failed().len() + outcome.inconclusive().len();
    assert_eq!(unanswered, 199);
}

#[test]
fn two_hundred_replies_to_one_query_are_not_a_dialect() {
    let pages: Vec<_> = (0..200).map(|n| reply(&[&format!("10.1.{n}.2:27015")], false)).collect();
    let mut steps = vec![(0, CLIENT, MASTER, query(ALL, r"\gamedir\tf"))];
    steps.extend(pages.iter().map(|page| (20, MASTER, CLIENT, page.clone())));
    let listing = |first: Vec<u8>| {
        let mut steps = steps.clone();
        steps[0].3 = first;
        let steps: Vec<_> = steps.iter().map(|(t, f, to, b)| (*t, *f, *to, &b[..])).collect();
        converse(&steps, 9000)
    };
    let outcome = listing(query(ALL, r"\gamedir\tf"));
    assert_eq!(outcome.failed(), ["VM027"; 199]);
    assert!(outcome.detail("VM027").contains("answered already"));
    let outcome = listing(query(ALL, r"\gamedir\valve\nat\0"));
    // The key is not in the specification.
    assert_eq!((outcome.failed(), outcome.noted().len()), (vec!["VM005"], 199), "Xash3D's dialect");
}

#[test]
fn a_reply_names_the_latest_sending_of_its_query() {
    let steps = [
        (0, CLIENT, MASTER, &query(ALL, "")[..]),
        (1000, CLIENT, MASTER, &query(ALL, "")[..]),
        (1020, MASTER, CLIENT, &reply(&[A], false)[..]),
        (1030, CLIENT, MASTER, &query(A, "")[..]),
        (1050, MASTER, CLIENT, &reply(&[B], true)[..]),
        (1060, SERVER, MASTER, b"q"),
        (1080, MASTER, SERVER, GIVEN),
    ];
    let replies = converse(&steps, 9000).replies;
    let at = |ms: i64| Time(ms * 1_000_000);
    let repeated = Reply { began: at(0), tries: 2, ..Reply::to(2, at(1000)) };
    let expected = [(2, repeated), (4, Reply::to(4, at(1030))), (6, Reply::to(6, at(1060)))];
    for (place, reply) in expected {
        assert_eq!(replies[place], Some(reply));
    }
    assert_eq!(replies.iter().flatten().count(), 3);
}

#[test]
fn a_challenge_answers_no_old_join_that_an_info_string_followed() {
    let (first, reported, second, late) = (given(4), info("4"), info("5"), given(6));
    let steps = [
        (0, SERVER, MASTER, &b"q"[..]),
        (50, MASTER, SERVER, &first[..]),
        (60, SERVER, MASTER, &reported[..]),
        (300_000, SERVER, MASTER, &b"q"[..]),
        (300_060, SERVER, MASTER, &second[..]),
        (1_500_000, MASTER, SERVER, &late[..]),
    ];
    assert_eq!(converse(&steps, 1_600_000).replies[5], None);
    // Without the info string, it is a late one.
    let late = [&steps[..4], &steps[5..]].concat();
    assert_eq!(converse(&late, 1_600_000).replies[4].map(|reply| reply.request), Some(4));
}

#[test]
fn what_was_refused_is_unanswered_for_certain() {
    let asked = [(0, CLIENT, MASTER, &query(ALL, "")[..]), (20, CLIENT, MASTER, &[REFUSED, 1][..])];
    assert_eq!(converse(&asked, 30).failed(), ["VM026"]);
    assert_eq!(converse(&asked[..1], 9000).failed(), [""; 0]);
    let again = [asked[0], asked[1], (500, CLIENT, MASTER, &query(ALL, "")[..])];
    assert_eq!(converse(&again, 600).failed(), [""; 0], "the latest sending was not refused");
    let joined = [(0, SERVER, MASTER, &b"q"[..]), (20, SERVER, MASTER, &[REFUSED, 1][..])];
    assert_eq!(converse(&joined, 30).failed(), ["VM047"]);
}

#[test]
fn a_response_with_another_header_is_a_reply_with_an_error() {
    let query = (0, CLIENT, MASTER, &b"1\xFF0.0.0.0:0\0\0"[..]);
    let foreign =
        |at| (at, MASTER, CLIENT, &b"\xFF\xFF\xFF\xFFg\n\x0A\0\0\x02\x69\x87\0\0\0\0\0\0"[..]);
    let outcome = converse(&[query, foreign(20)], 20_000);
    assert_eq!((outcome.messages.len(), outcome.failed()), (2, vec!["VM010"]));
    assert_eq!(outcome.replies[1].map(|reply| reply.request), Some(1));
    assert_eq!(outcome.passed("VM026"), 1);
    // If no reply is due, it is not one.
    let reply = (20, MASTER, CLIENT, &b"\xFF\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87\0\0\0\0\0\0"[..]);
    let outcome = converse(&[query, reply, foreign(40)], 20_000);
    assert_eq!((outcome.messages.len(), outcome.failed()), (2, vec![]));
}

/// `bytes` with others from `at` on, and the same CRC32: its polynomial is added.
fn with_the_same_crc32(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut other = bytes.to_vec();
    let polynomial = 1_u64 << 32 | 0x04C1_1DB7;
    for (place, bit) in (0..=32).rev().enumerate() {
        other[at + place / 8] ^= ((polynomial >> bit & 1) as u8) << (place % 8);
    }
    assert_eq!(crc32fast::hash(bytes), crc32fast::hash(&other));
    other
}

/// An attacker can construct other bytes with the same checksum: they are not copies.
#[test]
fn a_reply_with_the_same_checksum_is_not_a_copy() {
    let first = reply(&[A, B], true);
    let findings = |second: &[u8]| {
        let steps = [
            (0, CLIENT, MASTER, &query(ALL, "")[..]),
            (20, MASTER, CLIENT, &first[..]),
            (40, MASTER, CLIENT, second),
        ];
        let outcome = converse(&steps, 9000);
        outcome.findings.iter().map(|it| format!("{it:?}")).collect::<String>()
    };
    let another = findings(&reply(&[A, C], true));
    assert!(!another.is_empty() && findings(&first) != another);
    assert_eq!(findings(&with_the_same_crc32(&first, 7)), another);
}
