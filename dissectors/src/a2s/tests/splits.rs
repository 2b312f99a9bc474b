//! Split responses: every layout, every order, copies, loss, and bzip2.

use std::io::Write;

use bzip2::Compression;
use bzip2::write::BzEncoder;

use crate::a2s::rules;
use crate::kit::{Budget, Role, Rule};

use super::lab::{HeardMessage, Lab, S, TestRecorder, bytes};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    GoldSrc,
    Source,
    OrangeBox,
}

pub(super) const FORMS: [Form; 3] = [Form::GoldSrc, Form::Source, Form::OrangeBox];

impl Form {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Form::GoldSrc => "0",
            Form::Source => "1",
            Form::OrangeBox => "2",
        }
    }

    /// One packet.
    pub(super) fn packet(self, id: u32, number: u8, total: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0xFE, 0xFF, 0xFF, 0xFF];
        packet.extend(id.to_le_bytes());
        match self {
            Form::GoldSrc => packet.push(number << 4 | total),
            Form::Source => packet.extend([total, number]),
            Form::OrangeBox => packet.extend([total, number, 0xE0, 0x04]),
        }
        packet.extend(payload);
        packet
    }

    /// A whole response, in packets of 1248 bytes.
    pub(super) fn packets(self, id: u32, whole: &[u8]) -> Vec<Vec<u8>> {
        let chunks: Vec<_> = whole.chunks(1248).collect();
        let total = chunks.len() as u8;
        let packets = chunks.iter().enumerate();
        packets.map(|(number, chunk)| self.packet(id, number as u8, total, chunk)).collect()
    }
}

/// A rules response of this many rules, 34 bytes each.
pub(super) fn whole(rules: u16) -> Vec<u8> {
    let mut whole = bytes("FFFFFFFF 45");
    whole.extend(rules.to_le_bytes());
    for rule in 0..rules {
        write!(whole, "sv_rule_number_{rule:05}\0value_{rule:06}\0").unwrap();
    }
    whole
}

fn compressed(whole: &[u8]) -> Vec<u8> {
    let mut data = BzEncoder::new(Vec::new(), Compression::best());
    data.write_all(whole).unwrap();
    data.finish().unwrap()
}

/// What follows the first packet's header: size, sum, bzip2 data.
fn announced(size: u32, sum: u32, data: &[u8]) -> Vec<u8> {
    let mut all = size.to_le_bytes().to_vec();
    all.extend(sum.to_le_bytes());
    all.extend(data);
    all
}

/// A capture with a rules request without a response yet.
pub(super) fn asked() -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    ask(&mut lab, 0.0);
    lab
}

pub(super) fn ask(lab: &mut Lab<TestRecorder>, time: f64) {
    lab.c(time, &bytes("FFFFFFFF 56 FFFFFFFF")).s(time, &bytes("FFFFFFFF 41 4BA1D522"));
    lab.c(time, &bytes("FFFFFFFF 56 4BA1D522"));
}

pub(super) fn response(lab: &mut Lab<TestRecorder>, time: f64, packets: &[Vec<u8>]) {
    for (at, packet) in packets.iter().enumerate() {
        lab.s(time + at as f64 / 1000.0, packet);
    }
}

/// The messages after the request.
pub(super) fn reported(lab: &Lab<TestRecorder>) -> &[HeardMessage] {
    &lab.sink.heard[3..]
}

pub(super) fn verdict(lab: &Lab<TestRecorder>, rule: &Rule) -> [u64; 3] {
    let counts = lab.counts(rule);
    [counts.passed, counts.failed, counts.inconclusive]
}

/// All permutations.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for order in orders(count - 1) {
        for at in 0..count {
            let mut order = order.clone();
            order.insert(at, count - 1);
            all.push(order);
        }
    }
    all
}

#[test]
fn every_layout_is_reported_in_every_order() {
    for form in FORMS {
        for rules in [3, 60, 110, 140] {
            let packets = form.packets(7, &whole(rules));
            if packets.len() < 2 && form == Form::GoldSrc {
                continue;
            }
            for order in orders(packets.len()) {
                let mut lab = asked();
                let packets: Vec<_> = order.iter().map(|&at| packets[at].clone()).collect();
                response(&mut lab, 0.1, &packets);
                lab.end(9.0);
                let [heard] = reported(&lab) else { panic!("{form:?} {order:?}") };
                assert_eq!(
                    (heard.name, heard.value("layout")),
                    ("rules_response", Some(form.name()))
                );
                assert_eq!(heard.value("num_rules").unwrap(), rules.to_string());
                assert_eq!(heard.frames.len(), packets.len());
                let sorted = order.is_sorted();
                let codes = heard.codes();
                let allowed = |code: &String| code == "(A2S051)" || !sorted && code == "(A2S054)";
                assert!(codes.iter().all(allowed), "{form:?} {order:?} {codes:?}");
            }
        }
    }
}

#[test]
fn every_layout_is_reported_when_every_packet_comes_twice() {
    for form in FORMS {
        let packets: Vec<_> =
            form.packets(7, &whole(110)).into_iter().flat_map(|p| [p.clone(), p]).collect();
        let mut lab = asked();
        response(&mut lab, 0.1, &packets);
        lab.end(9.0);
        let names: Vec<_> = reported(&lab).iter().map(|heard| heard.name).collect();
        assert_eq!(names, ["rules_response", "split_fragment"], "{form:?}");
        assert_eq!(reported(&lab)[0].codes(), ["(A2S044)"]);
        assert_eq!(reported(&lab)[1].codes(), ["(A2S044)"]);
    }
}

#[test]
fn a_contradictory_copy_is_reported_before_and_after_reassembly() {
    for form in FORMS {
        let mut packets = form.packets(7, &whole(60));
        let mut other = packets[0].clone();
        *other.last_mut().unwrap() ^= 1;
        packets.insert(1, other.clone());
        let mut lab = asked();
        response(&mut lab, 0.1, &packets);
        assert_eq!(reported(&lab)[0].codes(), ["A2S044"], "{form:?}");
        lab.s(0.2, &packets[0]).s(0.2, &packets[2]).end(9.0);
        assert_eq!(reported(&lab).len(), 3);

        let mut lab = asked();
        response(&mut lab, 0.1, &form.packets(7, &whole(60)));
        lab.s(0.2, &other).end(9.0);
        let codes: Vec<_> = reported(&lab).iter().map(HeardMessage::codes).collect();
        assert_eq!(codes, [vec![], vec!["A2S044".to_owned()]], "{form:?}");
    }
}

#[test]
fn a_late_copy_is_identified_while_another_response_is_pending() {
    for form in FORMS {
        let packets = form.packets(7, &whole(60));
        let mut lab = asked();
        response(&mut lab, 0.1, &packets);
        ask(&mut lab, 0.2);
        lab.s(0.3, &packets[1]);
        response(&mut lab, 0.4, &form.packets(8, &whole(70)));
        lab.end(9.0);
        assert_eq!(lab.codes(), ["(A2S044)"], "{form:?}");
        assert_eq!(lab.names().last(), Some(&"split_fragment"));
    }
}

/// If only requests are pending that it would be the wrong response to, or that were pending when
/// the first one came.
#[test]
fn a_late_copy_is_one_while_it_can_be_nothing_else() {
    let one = Form::OrangeBox.packets(7, &whole(30));
    let some = Form::OrangeBox.packets(7, &whole(60));
    let (rules, players) =
        (bytes("FFFFFFFF 56 4BA1D522"), "FFFFFFFF 44 01 00 'a' 00 00000000 f32:1");
    for packets in [&one, &some] {
        let notes = vec!["(A2S044)"; packets.len()];
        let codes = |lab: &Lab<TestRecorder>| {
            let codes = lab.codes();
            Vec::from_iter(codes.into_iter().filter(|code| code != "(A2S051)"))
        };
        // Another list is pending.
        let mut lab = asked();
        lab.c(0.05, &bytes("FFFFFFFF 55 4BA1D522"));
        response(&mut lab, 0.1, packets);
        response(&mut lab, 0.2, packets);
        lab.s(0.3, &bytes(players)).end(9.0);
        assert_eq!(codes(&lab), notes);
        // A request with -1 was sent twice.
        let mut lab = Lab::new();
        lab.c(0.0, &bytes("FFFFFFFF 56 FFFFFFFF"));
        ask(&mut lab, 0.0);
        response(&mut lab, 0.1, packets);
        response(&mut lab, 0.2, packets);
        lab.end(9.0);
        assert_eq!(codes(&lab), notes);
        // Request and response were recorded twice: no response is missing.
        let mut lab = asked();
        lab.c(0.01, &rules);
        response(&mut lab, 0.1, packets);
        response(&mut lab, 0.2, packets);
        lab.end(9.0);
        assert_eq!(codes(&lab), notes);
    }
}

#[test]
fn a_packet_of_a_response_that_is_too_long_is_named() {
    let form = Form::OrangeBox;
    let whole = whole(110);
    let parts = [&whole[..1248], &whole[1248..2648], &whole[2648..]];
    let packets = [0, 1, 2].map(|number| form.packet(7, number, 3, parts[usize::from(number)]));
    let mut lab = asked();
    response(&mut lab, 0.1, &packets);
    lab.end(9.0);
    let [long] = lab.sink.recalled()[..] else { panic!("{:?}", lab.codes()) };
    let mark = long.mark.unwrap();
    assert_eq!((long.rule.code, mark.frame, mark.length), (rules::A2S002.code, 5, 1412));
    assert_eq!(verdict(&lab, &rules::A2S002), [5, 1, 0]);
}

/// Each packet of request and response twice.
#[test]
fn duplicated_packets_are_not_missing_responses() {
    let mut lab = asked();
    lab.c(0.0, &bytes("FFFFFFFF 56 4BA1D522"));
    for packet in Form::OrangeBox.packets(7, &whole(60)) {
        lab.s(0.1, &packet).s(0.1, &packet);
    }
    lab.end(9.0);
    assert_eq!(lab.codes(), ["(A2S044)", "(A2S044)"]);
}

#[test]
fn a_capture_that_begins_inside_a_response_proves_nothing() {
    for form in FORMS {
        let packets = form.packets(7, &whole(110));
        let mut lab = Lab::new();
        response(&mut lab, 0.0, &packets[1..]);
        ask(&mut lab, 1.0);
        lab.end(9.0);
        assert_eq!(verdict(&lab, &rules::A2S043), [0, 0, 1], "{form:?}");
    }
}

#[test]
fn an_unrelated_request_proves_nothing() {
    let packets = Form::OrangeBox.packets(7, &whole(60));
    let (player, players) =
        (bytes("FFFFFFFF 55 4BA1D522"), bytes("FFFFFFFF 44 01 00 'a' 00 00000000 f32:1"));
    let mut lab = Lab::new();
    lab.c(0.0, &player).s(0.1, &packets[1]).s(0.2, &players).end(9.0);
    assert_eq!(verdict(&lab, &rules::A2S043), [0, 0, 1]);

    // Unless its challenge was recorded, from any port.
    let mut lab = asked();
    let other = "10.0.0.1:50009";
    lab.packet(0.0, other, S, &bytes("FFFFFFFF 56 4BA1D522"), false);
    lab.packet(0.1, S, other, &packets[1], false).end(9.0);
    assert_eq!(verdict(&lab, &rules::A2S043), [0, 1, 0]);

    // Once a request was answered, the capture has everything before the next response.
    let mut lab = Lab::new();
    lab.c(0.0, &player).s(0.1, &players);
    lab.c(0.2, &bytes("FFFFFFFF 56 4BA1D522")).s(0.3, &packets[1]).end(9.0);
    assert_eq!(verdict(&lab, &rules::A2S043), [0, 1, 0]);
}

#[test]
fn responses_may_be_interleaved() {
    for form in FORMS {
        let (one, two) = (form.packets(7, &whole(60)), form.packets(8, &whole(70)));
        let mut lab = asked();
        ask(&mut lab, 0.05);
        response(&mut lab, 0.1, &[one[0].clone(), two[1].clone(), two[0].clone(), one[1].clone()]);
        lab.end(9.0);
        let counts: Vec<_> =
            lab.sink.heard.iter().filter_map(|heard| heard.value("num_rules")).collect();
        assert_eq!(counts, ["70", "60"], "{form:?}");
        assert_eq!(lab.codes(), ["(A2S054)"]);
    }
}

#[test]
fn an_id_may_be_used_again_and_is_reported() {
    for form in FORMS {
        let mut lab = asked();
        response(&mut lab, 0.1, &form.packets(1, &whole(60)));
        ask(&mut lab, 5.0);
        response(&mut lab, 5.1, &form.packets(1, &whole(60)));
        lab.end(20.0);
        assert_eq!(lab.codes(), ["A2S052"], "{form:?}");
    }
}

#[test]
fn the_first_packet_of_two_servers_differs_by_its_size_field() {
    // Without FF FF FF FF only Size, and what is known about the server, distinguish the two.
    let mut headless = whole(60);
    headless.drain(..4);
    for form in [Form::Source, Form::OrangeBox] {
        let mut lab = asked();
        response(&mut lab, 0.1, &form.packets(7, &headless));
        lab.end(9.0);
        let heard = &reported(&lab)[0];
        assert_eq!((heard.name, heard.value("layout")), ("rules_response", Some(form.name())));
        assert_eq!(heard.codes(), ["A2S045"]);
        assert_eq!(heard.value("chosen_by"), Some("4"));
    }
}

#[test]
fn earlier_responses_and_info_indicate_the_layout() {
    // The payload's first two bytes could be a Size.
    let odd = bytes("E004 'motd'");
    let mut lab = Lab::new();
    let info = "FFFFFFFF 49 07 'n' 00 'm' 00 'f' 00 'g' 00 le16:240 05 10 00 'dl' 00 01 '1' 00";
    lab.c(0.0, &bytes("FFFFFFFF 54 'Source Engine Query' 00")).s(0.0, &bytes(info));
    lab.s(0.1, &Form::Source.packet(1, 0, 1, &odd));
    let heard = lab.sink.heard.last().unwrap();
    assert_eq!((heard.value("layout"), heard.value("chosen_by")), (Some("1"), Some("3")));

    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 56 FFFFFFFF"));
    lab.s(0.1, &Form::Source.packet(1, 0, 1, &odd));
    let heard = lab.sink.heard.last().unwrap();
    assert_eq!((heard.value("layout"), heard.value("chosen_by")), (Some("2"), Some("4")));
}

#[test]
fn an_inner_header_may_occur_twice() {
    let mut doubled = bytes("FFFFFFFF");
    doubled.extend(whole(60));
    for form in FORMS {
        let mut lab = asked();
        response(&mut lab, 0.1, &form.packets(7, &doubled));
        lab.end(9.0);
        let heard = &reported(&lab)[0];
        assert_eq!((heard.name, heard.value("layout")), ("rules_response", Some(form.name())));
        assert_eq!(heard.codes(), ["(A2S045)"], "{form:?}");
    }
}

#[test]
fn a_goldsrc_id_may_have_the_bit_that_means_compression_elsewhere() {
    let mut lab = asked();
    response(&mut lab, 0.1, &Form::GoldSrc.packets(0x8000_0001, &whole(60)));
    lab.end(9.0);
    let heard = &reported(&lab)[0];
    assert_eq!((heard.value("compressed"), heard.codes()), (Some("0"), vec![]));
    assert_eq!(heard.value("id"), Some("2147483649"));
}

#[test]
fn the_bit_tells_goldsrc_ids_apart_and_no_others() {
    for (form, [passed, failed]) in FORMS.into_iter().zip([[2, 0], [1, 1], [1, 1]]) {
        let mut lab = asked();
        response(&mut lab, 0.1, &form.packets(1, &whole(60)));
        ask(&mut lab, 1.0);
        let second = match form {
            Form::GoldSrc => form.packets(0x8000_0001, &whole(70)),
            _ => form.packets(0x8000_0001, &compressed(&whole(70))),
        };
        response(&mut lab, 1.1, &second);
        lab.end(9.0);
        assert_eq!(verdict(&lab, &rules::A2S052), [passed, failed, 0], "{form:?}");
    }
}

#[test]
fn a_split_packet_toward_a_server_is_its_senders() {
    let attack = Form::OrangeBox.packet(1, 0, 2, &bytes("FFFFFFFF 55 FFFFFFFF"));
    let mut lab = Lab::new();
    lab.c(0.0, &attack).end(9.0);
    assert_eq!(lab.codes(), ["SEC001"]);
    assert_eq!(lab.sink.heard[0].speaker, Role::Client);

    // A host that has sent a request is a client, whatever the packet holds.
    let mut lab = asked();
    lab.c(0.5, &Form::OrangeBox.packet(1, 7, 8, &[0; 100])).end(9.0);
    assert_eq!(verdict(&lab, &rules::SEC001)[1..], [1, 0]);
    assert_eq!(reported(&lab)[0].speaker, Role::Client);
}

#[test]
fn a_complete_response_is_not_an_attack() {
    let (client, server) = ("10.0.0.1:27015", "10.0.0.2:7778");
    let packets = Form::OrangeBox.packets(7, &whole(60));
    let mut lab = Lab::new();
    for packet in &packets {
        lab.packet(0.0, server, client, packet, false);
    }
    lab.end(9.0);
    assert_eq!((lab.names(), lab.codes()), (vec!["rules_response"], vec!["A2S061?".to_owned()]));

    // An incomplete response travels toward a server if only one of the ports is usual.
    let mut lab = Lab::new();
    lab.packet(0.0, server, client, &packets[1], false).end(9.0);
    assert_eq!(lab.codes(), ["SEC001"]);
    assert_eq!(lab.sink.heard[0].speaker, Role::Client);
    let mut lab = Lab::new();
    lab.packet(0.0, "10.0.0.2:27016", client, &packets[1], false).end(9.0);
    assert_eq!(lab.codes(), ["SEC001?", "A2S043?"]);
    assert_eq!(lab.sink.heard[0].speaker, Role::Any);

    // The next message shows the direction.
    let with = |from, to| {
        let mut lab = Lab::new();
        lab.packet(0.0, server, client, &packets[1], false);
        lab.packet(0.1, from, to, &bytes("FFFFFFFF 56 FFFFFFFF"), false).end(9.0);
        (verdict(&lab, &rules::SEC001), verdict(&lab, &rules::A2S043))
    };
    assert_eq!(with(client, server), ([1, 0, 0], [0, 0, 1]));
    assert_eq!(with(server, client), ([1, 1, 0], [0, 0, 0]));
}

#[test]
fn compressed_responses_are_read_in_both_layouts_and_any_order() {
    // Random values keep bzip2 from making one packet of it.
    let mut whole = bytes("FFFFFFFF 45 le16:200");
    let mut state = 1_u32;
    for rule in 0..200 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        write!(whole, "rule{rule}\0{state:08x}{:08x}\0", state.wrapping_mul(state)).unwrap();
    }
    let data = announced(whole.len() as u32, crc32fast::hash(&whole), &compressed(&whole));
    for form in [Form::Source, Form::OrangeBox] {
        let packets = form.packets(0x8000_0007, &data);
        assert!(packets.len() > 1);
        for order in orders(packets.len()) {
            let mut lab = asked();
            response(
                &mut lab,
                0.1,
                &order.iter().map(|&at| packets[at].clone()).collect::<Vec<_>>(),
            );
            lab.end(9.0);
            let heard = &reported(&lab)[0];
            assert_eq!((heard.name, heard.value("layout")), ("rules_response", Some(form.name())));
            assert_eq!(heard.value("num_rules"), Some("200"));
            assert_eq!(heard.value("decompressed_size").unwrap(), whole.len().to_string());
            assert!(
                !heard.codes().iter().any(|code| !code.starts_with('(')),
                "{:?}",
                heard.codes()
            );
        }
    }
}

/// One packet with this after its header, compressed.
fn one(data: &[u8]) -> Lab<TestRecorder> {
    let mut lab = asked();
    response(&mut lab, 0.1, &Form::OrangeBox.packets(0x8000_0007, data));
    lab.end(9.0);
    lab
}

#[test]
fn a_wrong_size_a_wrong_sum_and_no_bzip2_at_all() {
    let (whole, data) = (whole(60), compressed(&whole(60)));
    let (size, sum) = (whole.len() as u32, crc32fast::hash(&whole));
    let good = ["(A2S051)".to_owned()];
    assert_eq!(reported(&one(&announced(size, sum, &data)))[0].codes(), good);
    for wrong in [0, 1, size - 1, size + 1, u32::MAX] {
        let lab = one(&announced(wrong, sum, &data));
        assert_eq!(reported(&lab)[0].codes(), ["(A2S051)", "A2S047"], "{wrong}");
        assert_eq!(reported(&lab)[0].value("num_rules"), Some("60"));
    }
    let lab = one(&announced(size, !sum, &data));
    assert_eq!(reported(&lab)[0].codes(), ["(A2S051)", "A2S048"]);
    let lab = one(&announced(size + 1, !sum, &data));
    assert_eq!(reported(&lab)[0].codes(), ["(A2S051)", "A2S047", "A2S048"]);
    let lab = one(&announced(size, sum, &[&data[..], b"after"].concat()));
    assert_eq!(reported(&lab)[0].codes(), ["(A2S051)", "A2S006"]);
    for cut in [0, 3, 4, 10, data.len() - 1] {
        let lab = one(&announced(size, sum, &data[..cut]));
        assert_eq!(reported(&lab)[0].name, "unknown");
        assert_eq!(reported(&lab)[0].codes(), ["(A2S051)", "A2S046"], "{cut}");
        assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0]);
    }
    let lab = one(&data);
    assert_eq!(reported(&lab)[0].codes(), ["(A2S051)", "A2S047"], "without size and sum");
    assert_eq!(reported(&lab)[0].value("num_rules"), Some("60"));
    let plain = one(&whole);
    assert_eq!(
        (reported(&plain)[0].name, reported(&plain)[0].codes()),
        ("rules_response", vec!["A2S046".into()])
    );
}

#[test]
fn a_bomb_is_defused() {
    let mut bomb = bytes("FFFFFFFF 45 0100 'motd' 00");
    bomb.resize(64 << 20, b'x');
    let data = announced(bomb.len() as u32, crc32fast::hash(&bomb), &compressed(&bomb));
    assert!(data.len() < 8 << 10, "{}", data.len());
    let lab = one(&data);
    let heard = &reported(&lab)[0];
    let value = heard.value("value").unwrap();
    assert!(value.len() < lab.settings.limits.inflated, "{}", value.len());
    let failed: u64 = rules::ALL.iter().map(|rule| lab.counts(rule).failed).sum();
    assert_eq!(failed, lab.counts(&rules::A2S051).failed, "{:?}", lab.codes());
    assert_eq!(verdict(&lab, &rules::A2S047), [0, 0, 1]);
}

#[test]
fn headers_that_disagree() {
    let packets = Form::OrangeBox.packets(7, &whole(60));
    let with = |at: usize, value: u8| {
        let mut packets = packets.clone();
        packets[1][at] = value;
        let mut lab = asked();
        response(&mut lab, 0.1, &packets);
        lab.end(9.0);
        lab.codes().into_iter().filter(|code| !code.starts_with('(')).collect::<Vec<_>>()
    };
    assert_eq!(with(8, 3), ["A2S042"]); // total
    assert_eq!(with(8, 0), ["A2S042"]);
    assert_eq!(with(9, 2), ["A2S041"]); // number
    assert_eq!(with(9, 0), ["A2S043", "A2S044"]);
    assert_eq!(with(10, 1), ["A2S042"]); // Size
    assert_eq!(with(7, 0x80), ["A2S042"]); // the compressed bit
}

#[test]
fn goldsrc_totals_out_of_range() {
    for total in [0, 1] {
        let mut lab = asked();
        lab.s(0.1, &Form::GoldSrc.packet(7, 0, total, &whole(10))).end(9.0);
        assert!(lab.codes().contains(&"A2S040".into()), "{total}: {:?}", lab.codes());
        assert_eq!(reported(&lab)[0].value("layout"), Some("0"));
    }
}

#[test]
fn two_layouts_of_one_server() {
    let mut lab = asked();
    response(&mut lab, 0.1, &Form::OrangeBox.packets(7, &whole(60)));
    ask(&mut lab, 1.0);
    response(&mut lab, 1.1, &Form::GoldSrc.packets(8, &whole(60)));
    lab.end(9.0);
    assert_eq!(lab.codes(), ["A2S053"]);
}

#[test]
fn limits_of_simultaneous_responses() {
    let mut lab = asked();
    for id in 0..100 {
        lab.s(0.1, &Form::OrangeBox.packet(id, 0, 3, &whole(10)));
    }
    lab.end(0.2);
    assert_eq!(lab.names().iter().filter(|name| **name == "split_fragment").count(), 100);
    assert_eq!(verdict(&lab, &rules::A2S043), [0, 0, 100]);

    let mut lab = asked();
    lab.budget = Budget::new(2000);
    response(&mut lab, 0.1, &Form::OrangeBox.packets(7, &whole(110)));
    lab.end(9.0);
    assert_eq!(reported(&lab).len(), 4);
    assert_eq!(lab.counts(&rules::A2S043).failed, 0, "{:?}", lab.codes());
}

#[test]
fn many_packets_under_one_id_are_bounded() {
    let mut lab = asked();
    for at in 0..2000_u32 {
        lab.s(0.1, &Form::OrangeBox.packet(7, 0, 9, &at.to_le_bytes()));
    }
    lab.end(9.0);
    assert_eq!(reported(&lab).len(), 2000);
}
