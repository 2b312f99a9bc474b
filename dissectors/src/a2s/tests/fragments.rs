//! Packets of incomplete split responses: how they are read, and who is at fault.

use crate::a2s::rules;
use crate::kit::{Role, Span};

use super::lab::{C, Lab, S, bytes};
use super::splits::{FORMS, Form, ask, asked, reported, response, verdict, whole};

#[test]
fn a_missing_packet_is_checked_against_the_capture() {
    for form in FORMS {
        let packets = form.packets(7, &whole(110));
        for missing in 0..packets.len() {
            let mut left = packets.clone();
            left.remove(missing);
            let given_up = |end: f64| {
                let mut lab = asked();
                response(&mut lab, 0.1, &left);
                lab.end(end);
                lab
            };
            let lab = given_up(9.0);
            let fragments = reported(&lab);
            assert_eq!(fragments.len(), left.len());
            assert!(fragments.iter().all(|heard| heard.name == "split_fragment"));
            assert_eq!(verdict(&lab, &rules::A2S043), [0, 1, 0], "{form:?}");
            assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0]);
            if missing != 0 {
                assert_eq!(fragments[0].value("layout"), Some(form.name()));
                assert_eq!(fragments[0].value("total"), Some("4"));
            }
            let lab = given_up(0.2);
            assert_eq!(verdict(&lab, &rules::A2S043), [0, 0, 1], "{form:?}");
        }
    }
}

#[test]
fn the_layout_from_info_does_not_override_the_packets() {
    let info = "FFFFFFFF 6D 'a' 00 'n' 00 'm' 00 'f' 00 'g' 00 05 10 2F 'dl' 00 00 01 00";
    for form in FORMS {
        let packets = form.packets(7, &whole(110));
        for missing in 0..packets.len() {
            let mut left = packets.clone();
            left.remove(missing);
            let mut lab = Lab::new();
            lab.c(0.0, &bytes("FFFFFFFF 54 'Source Engine Query' 00")).s(0.0, &bytes(info));
            ask(&mut lab, 0.1);
            response(&mut lab, 0.2, &left);
            lab.end(9.0);
            let fragments = &lab.sink.heard[5..];
            assert_eq!(fragments.len(), left.len(), "{form:?} {missing}");
            assert!(fragments.iter().all(|heard| heard.value("layout") == Some(form.name())));
            assert_eq!(verdict(&lab, &rules::A2S043), [0, 1, 0], "{form:?} {missing}");
            assert_eq!(verdict(&lab, &rules::A2S044)[1], 0, "{form:?} {missing}");

            // Nor where each is on its own.
            for packet in &left {
                let mut lab = Lab::new();
                lab.c(0.0, &bytes("FFFFFFFF 54 'Source Engine Query' 00")).s(0.0, &bytes(info));
                lab.s(0.2, packet).end(9.0);
                let layout = lab.sink.heard[2].value("layout");
                assert_eq!(layout, Some(form.name()), "{form:?} {missing}");
            }
        }
    }
}

#[test]
fn a_packet_that_the_recording_cut_proves_nothing() {
    let packets = Form::OrangeBox.packets(7, &whole(60));
    let mut lab = asked();
    lab.packet(0.1, S, C, &packets[0][..600], true);
    lab.s(0.2, &packets[1]).end(9.0);
    let failed: u64 = rules::ALL.iter().map(|rule| lab.counts(rule).failed).sum();
    assert_eq!(failed, 0, "{:?}", lab.codes());
}

#[test]
fn a_broken_header_is_reported_of_its_packet_and_its_byte() {
    // Of a response in four packets one is missing, and the third that comes is wrong.
    let with = |form: Form, missing: usize, at: usize, flip: u8| {
        let packets = form.packets(7, &whole(110));
        let mut wrong = packets[1].clone();
        wrong[at] ^= flip;
        let mut lab = asked();
        response(&mut lab, 0.1, &[packets[3 - missing].clone(), packets[2].clone(), wrong]);
        lab.end(9.0);
        let findings = reported(&lab).iter().map(|heard| {
            heard.findings.iter().map(|f| (f.rule.code.to_string(), f.span.start, f.span.end))
        });
        findings.map(Iterator::collect::<Vec<_>>).collect::<Vec<_>>()
    };
    let third = |code: &str, start, end| vec![vec![], vec![], vec![(code.to_owned(), start, end)]];
    // Which number is missing is known where the totals are right.
    let twice = |start, end| {
        let mut found = third("A2S044", start, end);
        found[0].push(("A2S043".to_owned(), 0, 0));
        found
    };
    for missing in [0, 3] {
        for form in [Form::Source, Form::OrangeBox] {
            assert_eq!(with(form, missing, 9, 8), third("A2S041", 9, 10));
            assert_eq!(with(form, missing, 9, 3), twice(9, 10));
            assert_eq!(with(form, missing, 8, 2), third("A2S042", 8, 9));
            assert_eq!(with(form, missing, 7, 0x80), third("A2S042", 7, 8));
        }
        assert_eq!(with(Form::GoldSrc, missing, 8, 0x80), third("A2S041", 8, 9));
        assert_eq!(with(Form::GoldSrc, missing, 8, 0x30), twice(8, 9));
        assert_eq!(with(Form::GoldSrc, missing, 8, 2), third("A2S042", 8, 9));
    }
    assert_eq!(with(Form::OrangeBox, 3, 10, 1), third("A2S042", 10, 12));

    let mut lab = asked();
    lab.s(0.1, &Form::OrangeBox.packet(7, 0, 0, &whole(10))).end(9.0);
    let total = &reported(&lab)[0].findings[0];
    assert_eq!((total.rule.code.to_string(), total.span), ("A2S040".to_owned(), Span::new(8, 9)));
}

/// The trap of a byte with two halves, and of two bytes next to each other.
#[test]
fn number_and_total_are_exchanged() {
    let exchange = |form: Form, packet: &mut Vec<u8>| match form {
        Form::GoldSrc => packet[8] = packet[8].rotate_left(4),
        _ => packet.swap(8, 9),
    };
    for form in FORMS {
        let mut packets = form.packets(7, &whole(110));
        packets.iter_mut().for_each(|packet| exchange(form, packet));
        let mut lab = asked();
        response(&mut lab, 0.1, &packets);
        lab.end(9.0);
        for fragment in reported(&lab) {
            assert_eq!(fragment.value("layout"), Some(form.name()), "{form:?}");
        }
        assert_eq!(lab.codes(), ["A2S040", "A2S042", "A2S041"], "{form:?}");
    }
}

#[test]
fn a_capture_that_began_late_explains_no_part_after_the_timeout() {
    for form in FORMS {
        let mut left = form.packets(7, &whole(110));
        left.pop();
        let mut lab = Lab::new();
        for round in 0..3 {
            let time = f64::from(round) * 10.0;
            lab.c(time, &bytes("FFFFFFFF 56 4BA1D522"));
            response(&mut lab, time + 0.1, &left);
        }
        lab.end(40.0);
        assert_eq!(verdict(&lab, &rules::A2S043), [0, 2, 1], "{form:?}");
    }
}

/// What a game sends in two packets.
fn snapshot(form: Form, id: u32) -> Vec<Vec<u8>> {
    form.packets(id, &[[id as u8, 1, 2, 3].as_slice(), &[7; 1600]].concat())
}

/// Engines split long packets of the game alike.
#[test]
fn split_packets_of_who_plays_are_no_messages() {
    for form in FORMS {
        let mut lab = Lab::new();
        // The first one comes before it is known that somebody plays.
        response(&mut lab, 0.0, &snapshot(form, 1));
        lab.c(0.1, &bytes("64000000 'move'")).s(0.2, &bytes("65000000 'state'"));
        response(&mut lab, 0.3, &snapshot(form, 2));
        response(&mut lab, 0.4, &snapshot(form, 3)[..1]);
        for packet in snapshot(form, 4) {
            lab.c(0.5, &packet);
        }
        lab.end(20.0);
        assert!(lab.sink.heard.is_empty(), "{form:?}: {:?}", lab.sink.heard[0].name);
        assert_eq!(lab.codes(), Vec::<String>::new(), "{form:?}");

        // What was asked for, and what is a message, is one nevertheless.
        ask(&mut lab, 21.0);
        response(&mut lab, 21.1, &form.packets(9, &whole(60)));
        lab.end(40.0);
        assert_eq!(lab.sink.heard.last().unwrap().name, "rules_response", "{form:?}");
    }
}

/// Where nobody plays, they are a response that cannot be read, also where its request was not recorded.
#[test]
fn split_packets_of_who_does_not_play_are_messages() {
    for form in FORMS {
        let mut lab = Lab::new();
        lab.s(0.0, &bytes("65000000 'state'"));
        response(&mut lab, 0.3, &snapshot(form, 2));
        lab.end(20.0);
        assert_eq!(verdict(&lab, &rules::A2S045), [0, 1, 0], "{form:?}");
    }
}

#[test]
fn a_split_header_toward_a_server_is_an_attack_whatever_follows() {
    for length in 4..=12 {
        let packet = [&bytes("FEFFFFFF")[..], &[0xFF; 8]].concat();
        let mut lab = Lab::new();
        lab.c(0.0, &packet[..length]).c(0.1, &bytes("64000000 'move'")).end(20.0);
        assert_eq!(verdict(&lab, &rules::SEC001), [0, 1, 0], "{length}");
    }
}

/// Junk after a split header may look like the only packet of a response. Toward a server it is none, and breaks no rule
/// about responses.
#[test]
fn junk_that_looks_complete_is_no_response_of_who_sends_it_or_gets_it() {
    for (junk, name) in [
        ("0CE2DB4F 01 9CDB55", "a total of 1 in one layout"),
        ("0CE2DBCF 01 00 E004 26699CCF F0F2", "with the bit for compression"),
        ("0CE2DB4F 01 00 E004 41 0DDB0CE7EE5D", "like a challenge"),
        ("0CE2DB4F 01 00 E004 49 3EB9D8E3D539", "like info"),
    ] {
        let mut lab = Lab::new();
        lab.c(0.0, &bytes(&format!("FEFFFFFF {junk}"))).end(20.0);
        assert_eq!(lab.codes(), ["SEC001"], "{name}");
        assert_eq!(lab.sink.heard[0].speaker, Role::Client, "{name}");

        // Where both ports are those of servers, it is nobody's.
        let mut lab = Lab::new();
        lab.packet(0.0, "10.0.0.1:27016", S, &bytes(&format!("FEFFFFFF {junk}")), false).end(20.0);
        assert!(lab.sink.heard.iter().all(|message| message.speaker == Role::Any), "{name}");
        assert!(lab.codes().iter().all(|code| code.ends_with('?')), "{name}: {:?}", lab.codes());
    }
}

/// Parts that all have the number 0: one of them is repeated, and another one never comes.
#[test]
fn a_number_that_never_comes_is_missing_though_another_one_came_twice() {
    for form in FORMS {
        let mut lab = asked();
        for (at, content) in
            [&bytes("FFFFFFFF 45 0100 'a' 00 'b' 00"), &bytes("'y'*30")].iter().enumerate()
        {
            lab.s(0.5 + at as f64 / 1000.0, &form.packet(7, 0, 2, content));
        }
        lab.end(20.0);
        assert_eq!(verdict(&lab, &rules::A2S044)[1], 1, "{form:?}");
        assert_eq!(verdict(&lab, &rules::A2S043), [0, 1, 0], "{form:?}");
    }
}
