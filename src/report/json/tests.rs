//! Lines are read back with `serde_json`, and the most usual one is shown as it is.

use std::net::Ipv4Addr;

use dissectors::kit::{Field, Mark, Piece, Side, Sink, Span, TextPlace, Time, Tree, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Json;
use crate::report::test_messages::*;

fn read(sample: &Sample) -> Value {
    serde_json::from_str(&sample.report(&mut Json::new(false))).expect("JSON")
}

fn fields(bytes: &[u8], build: impl FnOnce(&mut Tree)) -> Value {
    let mut tree = Tree::default();
    build(&mut tree);
    read(&Sample::of(bytes, &OTHER, tree))["fields"].clone()
}

fn text(start: usize, end: usize) -> u64 {
    TextPlace::at(Span::new(start, end)).value()
}

/// `key=value;` pairs, each a group of its key, a separator and its value.
fn pairs(bytes: &[u8], at: usize, tree: &mut Tree) {
    let mut start = at;
    for pair in bytes[at..].split_inclusive(|&byte| byte == b';') {
        let end = start + pair.len();
        tree.open(&PAIR, start as u32, 0);
        let middle = pair.iter().position(|&byte| byte == b'=').map_or(end - 1, |at| start + at);
        tree.leaf(&KEY, Span::new(start, middle), text(start, middle));
        if middle + 1 < end {
            tree.leaf(&SEPARATOR, Span::new(middle, middle + 1), 0);
            tree.leaf(&VALUE, Span::new(middle + 1, end - 1), text(middle + 1, end - 1));
        }
        tree.leaf(&SEPARATOR, Span::new(end - 1, end), 0);
        tree.close(end as u32);
        start = end;
    }
}

#[test]
fn a_line() {
    insta::assert_snapshot!(Sample::players().report(&mut Json::new(false)), @r#"{"frame":7,"frames":[7],"time":"2026-11-20T10:00:00.123456Z","flow":3,"transport":"udp","src":"10.0.0.2:27015","dst":"10.0.0.1:50000","protocol":"a2s","message":"player_response","length":37,"fields":{"num_players":3,"players":[{"name":"Ann","score":5,"duration":12.5},{"name":"B\u001b[2J \"b\"�","score":-2,"duration":null}]},"split":{"layout":"orange_box","compressed":false},"findings":[{"rule":"A2S030","slug":"player-count","severity":"error","verdict":"fail","message":"Num Players says 3, the packet holds 2 entries","offset":5,"length":1},{"rule":"A2S032","slug":"player-duration","severity":"warning","verdict":"fail","message":"NaN","offset":33,"length":4},{"rule":"A2S031","slug":"player-index","severity":"note","verdict":"note","message":"no index","offset":6,"length":12},{"rule":"A2S031","slug":"player-index","severity":"note","verdict":"note","message":"no index","offset":18,"length":19}]}"#);
}

#[test]
fn a_line_with_its_tree() {
    let line = Sample::players().report(&mut Json::new(true));
    let (_, tree) = line.split_once("\"tree\":").expect("a tree");
    let (tree, _) = tree.split_once(",\"findings\"").expect("findings after it");
    insta::assert_snapshot!(tree.replace(",{", ",\n{"), @r#"
    [{"name":"split","label":"Split","value":null,"offset":0,"length":0,"children":[{"name":"layout","label":"Layout","value":"orange_box","meaning":"orange_box","offset":0,"length":0},
    {"name":"compressed","label":"Compressed","value":false,"offset":0,"length":0}]},
    {"name":"header","label":"Header","value":-1,"meaning":"single packet","offset":0,"length":4},
    {"name":"type","label":"Message type","value":"D","meaning":"A2S_PLAYER response","offset":4,"length":1},
    {"name":"num_players","label":"Num Players","value":3,"offset":5,"length":1},
    {"name":"players","label":"Players","value":null,"offset":6,"length":31,"children":[{"name":"player","label":"Player","value":null,"offset":6,"length":12,"children":[{"name":"name","label":"Player Name","value":"Ann","offset":6,"length":4},
    {"name":"score","label":"Kills","value":5,"offset":10,"length":4},
    {"name":"duration","label":"Time connected","value":12.5,"offset":14,"length":4}]},
    {"name":"player","label":"Player","value":null,"offset":18,"length":19,"children":[{"name":"name","label":"Player Name","value":"B\u001b[2J \"b\"�","bytes":"421b5b324a20226222ff","offset":18,"length":11},
    {"name":"score","label":"Kills","value":-2,"offset":29,"length":4},
    {"name":"duration","label":"Time connected","value":null,"bytes":"0000c07f","offset":33,"length":4}]}]}]
    "#);
}

#[test]
fn every_kind_of_scalar() {
    let bytes: Vec<u8> = (0..=255).collect();
    let fields = fields(&bytes, |tree| {
        tree.leaf(&NUMBER, Span::new(0, 8), u64::MAX);
        tree.leaf(&SCORE, Span::new(0, 4), -2_i64 as u64);
        tree.leaf(&DURATION, Span::new(0, 4), 0.1_f32.to_bits().into());
        tree.leaf(&ID, Span::new(0, 8), u64::MAX);
        tree.leaf(&LETTER, Span::new(0, 1), 0xE9);
        tree.leaf(&COMPRESSED, Span::new(0, 0), 1);
        tree.leaf(&LAYOUT, Span::new(0, 0), 1);
        tree.leaf(&TEXT, Span::new(65, 68), text(65, 67));
        tree.leaf(&BODY, Span::new(9, 13), 0);
        tree.leaf(&SERVER, Span::new(1, 7), 0x0A00_0001_6987);
        tree.leaf(&SERVER6, Span::new(0, 18), 0);
        tree.leaf(&HEADER, Span::new(0, 4), 0);
    });
    let expected = json!({
        "number": u64::MAX, "score": -2, "duration": 0.1, "steam_id": "18446744073709551615",
        "letter": "é", "compressed": true, "layout": "source", "text": "AB", "body": "090a0b0c",
        "server": "10.0.0.1:27015", "server6": "[1:203:405:607:809:a0b:c0d:e0f]:4113",
    });
    assert_eq!(fields, expected);
}

#[test]
fn values_that_have_no_ordinary_form() {
    let fields = fields(b"12345", |tree| {
        tree.leaf(&DURATION, Span::new(0, 4), f32::INFINITY.to_bits().into());
        tree.leaf(&LAYOUT, Span::new(0, 0), 9);
        tree.leaf(&LETTER, Span::new(0, 1), 0);
        tree.leaf(&SERVER6, Span::new(0, 5), 0);
        tree.leaf_text(&TEXT, Span::new(0, 5), b"stored \xFF");
    });
    let expected = json!({
        "duration": null, "layout": "9", "letter": "\0", "server6": null, "text": "stored \u{FFFD}",
    });
    assert_eq!(fields, expected);
}

#[test]
fn lists_of_scalars_and_of_objects() {
    let fields = fields(&[0; 32], |tree| {
        tree.open(&SERVERS, 0, 0);
        tree.leaf(&SERVER, Span::new(0, 6), 0x7F00_0001_0050);
        tree.leaf(&SEPARATOR, Span::new(6, 7), 0);
        tree.leaf(&SERVER6, Span::new(7, 25), 0);
        tree.close(25);
        tree.open(&PLAYERS, 25, 0);
        for score in [1, 2] {
            tree.open(&PLAYER, 25, 0);
            tree.leaf(&SCORE, Span::new(25, 26), score);
            tree.leaf(&SEPARATOR, Span::new(26, 27), 0);
            tree.close(27);
        }
        tree.close(27);
    });
    let expected = json!({
        "servers": ["127.0.0.1:80", "[::]:0"], "players": [{"score": 1}, {"score": 2}],
    });
    assert_eq!(fields, expected);
}

#[test]
fn a_framing_group_is_left_out_with_all_below() {
    static FRAME: Field = Field::new("frame", "Frame", dissectors::kit::Kind::Group).framing();
    let fields = fields(&[0; 4], |tree| {
        tree.open(&FRAME, 0, 0);
        tree.leaf(&NUMBER, Span::new(0, 4), 1);
        tree.close(4);
    });
    assert_eq!(fields, json!({}));
}

#[test]
fn a_text_with_fields_of_its_own_is_a_text() {
    let sample = Sample::decoded(b"1.2.3.4:80", &OTHER, |r| {
        r.open_text(&TEXT, 10);
        r.text_of(&KEY, 7);
        r.text_of(&VALUE, 3);
        r.close();
        Ok(())
    });
    assert_eq!(read(&sample)["fields"], json!({"text": "1.2.3.4:80"}));
}

#[test]
fn in_a_map_the_first_of_a_key_counts() {
    let bytes = b"os=l;map=x;os=w;flag;\xFF=1;\xFE=2;empty=;";
    let mut tree = Tree::default();
    tree.open(&INFO, 0, 0);
    pairs(bytes, 0, &mut tree);
    tree.close(bytes.len() as u32);
    let line = Sample::of(bytes, &OTHER, tree).report(&mut Json::new(false));
    let expected = "\"fields\":{\"info\":{\"os\":\"l\",\"map\":\"x\",\"flag\":\"\",\
                    \"\u{FFFD}\":\"1\",\"empty\":\"\"}}";
    assert!(line.contains(expected), "{line}");
}

#[test]
fn a_pair_in_the_message_is_a_member_and_never_a_field() {
    let bytes = b"7port=1;name=x;port_=2;port=3;";
    let fields = fields(bytes, |tree| {
        pairs(bytes, 1, tree);
        tree.leaf(&PORT, Span::new(0, 1), 7);
    });
    assert_eq!(fields, json!({"port": 7, "port_": "1", "name": "x"}));
}

#[test]
fn the_value_of_a_pair_may_be_a_number() {
    let fields = fields(b"port=28763", |tree| {
        tree.open(&PAIR, 0, 0);
        tree.leaf(&KEY, Span::new(0, 4), text(0, 4));
        tree.leaf(&SEPARATOR, Span::new(4, 5), 0);
        tree.leaf(&NUMBER, Span::new(5, 10), 28763);
        tree.close(10);
    });
    assert_eq!(fields, json!({"port": 28763}));
}

#[test]
fn a_list_of_pairs_is_a_list_of_objects() {
    let fields = fields(b"a=1;b=2;", |tree| {
        tree.open(&PLAYERS, 0, 0);
        pairs(b"a=1;b=2;", 0, tree);
        tree.close(8);
    });
    assert_eq!(fields, json!({"players": [{"a": "1"}, {"b": "2"}]}));
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "two fields of one object are named number"))]
fn of_two_fields_with_one_name_the_first_counts() {
    let fields = fields(&[0; 2], |tree| {
        tree.leaf(&NUMBER, Span::new(0, 1), 1);
        tree.leaf(&NUMBER, Span::new(1, 2), 2);
    });
    assert_eq!(fields, json!({"number": 1}));
}

#[test]
fn many_pairs_and_the_message_after_them() {
    let keys = (0..20_000).map(|n| format!("{}={n};", n / 2));
    let bytes: Vec<u8> = keys.collect::<String>().into_bytes();
    let mut tree = Tree::default();
    pairs(&bytes, 0, &mut tree);
    let many = Sample::of(&bytes, &OTHER, tree);
    let json = &mut Json::new(false);
    let line: Value = serde_json::from_str(&many.report(json)).expect("JSON");
    let fields = line["fields"].as_object().expect("an object");
    assert_eq!(
        (fields.len(), &fields["0"], &fields["9999"]),
        (10_000, &json!("0"), &json!("19998"))
    );
    assert_eq!(Sample::players().report(json), Sample::players().report(&mut Json::new(false)));
}

#[test]
fn the_envelope() {
    let mut sample = Sample::of(b"", &OTHER, Tree::default());
    sample.ends = ["[::1]:27015", "[::ffff:10.0.0.1]:1"].map(|end| end.parse().expect("valid"));
    sample.pieces = [9, 5, 9, 6].map(|frame| Piece { frame, ..Piece::default() }).into();
    (sample.time, sample.digits, sample.via) = (Time(-1), 9, Some("\"gre\""));
    let expected = json!({
        "frame": 7, "frames": [5, 6, 7, 9], "time": "1969-12-31T23:59:59.999999999Z", "flow": 3,
        "transport": "udp", "src": "[::1]:27015", "dst": "[::ffff:10.0.0.1]:1", "via": "\"gre\"",
        "protocol": "a2s", "message": "other", "length": 0, "fields": {}, "findings": [],
    });
    assert_eq!(read(&sample), expected);
}

#[test]
fn a_finding_about_another_message_names_its_packet() {
    let mut sample = Sample::of(b"", &OTHER, Tree::default());
    let mut found = finding(&A2S030, Verdict::Inconclusive, Span::new(0, 9), "\x1B[31m\"");
    found.mark = Some(Mark { frame: 2, time: Time(0), length: 9, side: Side::First });
    sample.findings.push(found);
    let expected = json!([{
        "rule": "A2S030", "slug": "player-count", "severity": "error", "verdict": "inconclusive",
        "message": "\x1B[31m\"", "offset": 0, "length": 9, "frame": 2,
    }]);
    assert_eq!(read(&sample)["findings"], expected);
}

#[test]
fn omitted_fields_are_reported() {
    let fields = Tree::MOST + 5;
    let mut tree = Tree::default();
    tree.open(&SERVERS, 0, 0);
    for at in 0..fields {
        tree.leaf(&NUMBER, Span::new(at, at + 1), 1);
    }
    tree.close(fields as u32);
    let left_out = tree.left_out();
    let line = read(&Sample::of(&vec![0; fields], &OTHER, tree));
    assert_eq!(line["fields_left_out"], left_out);
    assert_eq!(line["fields"]["servers"].as_array().map(Vec::len), Some(Tree::MOST - 1));
}

#[test]
fn the_tree_has_more_than_the_fields() {
    let line = Sample::players().report(&mut Json::new(true));
    let line: Value = serde_json::from_str(&line).expect("JSON");
    let second = &line["tree"][4]["children"][1]["children"];
    assert_eq!(second[0]["value"], "B\x1B[2J \"b\"\u{FFFD}");
    assert_eq!(second[0]["bytes"], "421b5b324a20226222ff");
    assert_eq!((&second[2]["value"], &second[2]["bytes"]), (&Value::Null, &json!("0000c07f")));
}

/// The value that `fields` must have, made of `Value`s: slow, and plain to read.
fn plain(key: &[u8], value: &[u8]) -> (String, Value) {
    (String::from_utf8_lossy(key).into(), String::from_utf8_lossy(value).into())
}

proptest! {
    #[test]
    fn any_bytes_make_a_line_that_reads_back(
        texts: Vec<Vec<u8>>,
        entries in prop::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>()), 0..20),
    ) {
        let mut tree = Tree::default();
        let at = Span::new(0, 0);
        tree.open(&SERVERS, 0, 0);
        for text in &texts {
            tree.leaf_text(&TEXT, at, text);
        }
        tree.close(0);
        tree.open(&INFO, 0, 0);
        for (key, value) in &entries {
            tree.open(&PAIR, 0, 0);
            tree.leaf_text(&KEY, at, key);
            tree.leaf_text(&VALUE, at, value);
            tree.close(0);
        }
        tree.close(0);
        let sample = Sample::of(b"", &OTHER, tree);
        let line = sample.report(&mut Json::new(true));
        prop_assert_eq!(line.find(char::is_control), Some(line.len() - 1));
        let line: Value = serde_json::from_str(&line).expect("JSON");
        let texts: Vec<_> = texts.iter().map(|text| String::from_utf8_lossy(text)).collect();
        let info: Value = Value::Object(entries.iter().rev().map(|(k, v)| plain(k, v)).collect());
        prop_assert_eq!(&line["fields"], &json!({"servers": texts, "info": info}));
    }

    #[test]
    fn a_list_of_values_reads_back_whatever_they_are(
        values in prop::collection::vec(("[ -~]{0,40}|.{0,4}", any::<u64>(), 0..9_u8), 0..299),
    ) {
        let mut tree = Tree::default();
        let (at, mut expected) = (Span::new(0, 0), Vec::new());
        tree.open(&SERVERS, 0, 0);
        for (text, number, form) in &values {
            match form {
                0 => tree.leaf(&SEPARATOR, at, 0),
                1 => {
                    tree.leaf(&SCORE, at, *number);
                    expected.push(json!(*number as i64));
                }
                2 => {
                    tree.leaf(&NUMBER, at, *number % 1_000_000_000);
                    expected.push(json!(*number % 1_000_000_000));
                }
                3 | 4 => {
                    let endpoint = *number >> 16;
                    tree.leaf(&SERVER, at, endpoint);
                    let address = Ipv4Addr::from_bits((endpoint >> 16) as u32);
                    expected.push(json!(format!("{address}:{}", endpoint as u16)));
                }
                5 => {
                    tree.open(&PLAYER, 0, 0);
                    tree.leaf_text(&TEXT, at, text.as_bytes());
                    tree.close(0);
                    expected.push(json!({"text": text}));
                }
                _ => {
                    tree.leaf_text(&TEXT, at, text.as_bytes());
                    expected.push(json!(text));
                }
            }
        }
        tree.close(0);
        let line = read(&Sample::of(b"", &OTHER, tree));
        prop_assert_eq!(&line["fields"], &json!({"servers": expected}));
    }

    #[test]
    fn a_list_of_objects_reads_back_whatever_they_have_in_common(
        players in prop::collection::vec(("[ -~]{0,40}|.{0,4}", any::<i32>(), 0..9_u8), 0..99),
    ) {
        let mut tree = Tree::default();
        let at = Span::new(0, 0);
        tree.open(&PLAYERS, 0, 0);
        for (text, score, form) in &players {
            tree.open(&PLAYER, 0, 0);
            tree.leaf(&SEPARATOR, at, 0);
            tree.leaf_text(if *form == 1 { &KEY } else { &TEXT }, at, text.as_bytes());
            if *form != 2 {
                tree.leaf(&SCORE, at, i64::from(*score) as u64);
            }
            tree.close(0);
        }
        tree.close(0);
        let value = |(text, score, form): &(String, i32, u8)| match form {
            1 => json!({KEY.name: text, "score": score}),
            2 => json!({"text": text}),
            _ => json!({"text": text, "score": score}),
        };
        let expected: Vec<_> = players.iter().map(value).collect();
        let line = read(&Sample::of(b"", &OTHER, tree));
        prop_assert_eq!(&line["fields"], &json!({"players": expected}));
    }
}
