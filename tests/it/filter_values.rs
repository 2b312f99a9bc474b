//! Display filters: how values from the wire are compared.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;

/// Checks how many messages each filter selects in the capture of a script.
fn select(script: &str, setting: &Setting, filters: &[(&str, usize)]) {
    let (_project, file) = Project::of_script(script, setting);
    for &(filter, count) in filters {
        let run = gamewire(["dissect", "--no-config", "--format", "json", "-Y", filter, &file]);
        assert_eq!(run.code, 0, "{filter}: {}", run.err);
        assert_eq!(run.out.lines().count(), count, "{filter}: {}", run.out);
    }
}

/// A list of a GameSpy master, in the form that was asked for.
fn listed(form: &str, list: &str) -> String {
    format!(
        r"0.00 m > c  '\\basic\\\\secure\\XDWAOR'
        0.02 c > m  '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
        0.03 c > m  '\\list\\{form}\\gamename\\ut\\final\\'
        0.05 m > c  {list} fin"
    )
}

#[test]
fn addresses_of_lists_are_compared_as_such_in_texts_and_in_blocks() {
    let text = listed("", r"'\\ip\\203.0.113.5:7778\\ip\\10.0.0.2:7778\\final\\'");
    let blocks = listed("cmp", r"CB007105 1E62 0A000002 1E62 '\\final\\'");
    for script in [&text, &blocks] {
        let filters = [
            ("gamespy1.list_response.servers == 203.0.113.5:7778", 1),
            ("gamespy1.list_response.servers == 203.0.113.5:7779", 0),
            ("gamespy1.list_response.servers == 203.0.113.0/24", 1),
            ("gamespy1.list_response.servers in {192.0.2.1, 10.0.0.2}", 1),
            ("gamespy1.list_response.servers in {10.0.0.0..10.0.0.2}", 1),
            ("gamespy1.list_response.servers in {10.0.0.3..10.0.0.9}", 0),
            ("gamespy1.list_response.servers != 10.0.0.0/8", 0),
            ("gamespy1.list_response.servers != 192.0.2.0/24", 1),
        ];
        select(script, &Setting::tcp(28900), &filters);
    }
    let quoted = [
        ("gamespy1.list_response.servers == \"203.0.113.5:7778\"", 1),
        ("gamespy1.list_response.servers contains \"113.5\"", 1),
    ];
    select(&text, &Setting::tcp(28900), &quoted);
}

/// An info response whose map has these bytes.
fn with_map(map: &str) -> String {
    format!(
        "0.0 s > c  FFFFFFFF 49 11 'Mill Creek' 00 {map} 00 'tf' 00 'Team Fortress' 00 \
         B801 03 18 00 'd' 'l' 00 01 '1.0' 00"
    )
}

#[test]
fn an_escape_is_a_byte_of_the_value() {
    let latin_1 = [
        (r#"map == "d\xe9""#, 1),
        (r#"map == "\x64\xE9""#, 1),
        (r#"map contains "\xe9""#, 1),
        (r#"map in {"x", "d\xe9"}"#, 1),
        (r#"map != "d\xe9""#, 0),
        (r#"map > "d\xe8""#, 1),
        (r#"map matches "(?-u:\xE9)""#, 1),
        (r#"map == "dé""#, 0),
        (r#"map == "d\\xe9""#, 0),
    ];
    select(&with_map("64E9"), &Setting::udp(27015), &latin_1);
    let utf_8 = [
        (r#"map == "d\xc3\x9c""#, 1),
        (r#"map contains "\x9c""#, 1),
        (r#"map == "dÜ""#, 1),
        (r#"map matches "\xdc""#, 1),
        (r#"map contains "\xdc""#, 0),
    ];
    select(&with_map("64C39C"), &Setting::udp(27015), &utf_8);
    let backslashes = [(r#"map == "d\\xe9\"""#, 1), (r#"map matches "d\\\\xe9""#, 1)];
    select(&with_map(r#"'d\\xe9"'"#), &Setting::udp(27015), &backslashes);
}

#[test]
fn floats_are_compared_as_they_are_shown() {
    let script = "0.0 s > c  FFFFFFFF 44 02 00 'Ann' 00 00000000 f32:3599.9 \
                  00 'Bob' 00 00000000 f32:0.1";
    let filters = [
        ("duration == 3599.9", 1),
        ("duration == 3599.9s", 1),
        ("duration == 3599.8", 0),
        ("duration != 0.1", 0),
        ("duration <= 0.1", 1),
        ("duration < 0.1", 0),
        ("duration > 3599.9", 0),
        ("duration in {0.05..0.1}", 1),
        ("duration in {3599.9..4000}", 1),
        ("duration in {1..3599}", 0),
    ];
    select(script, &Setting::udp(27015), &filters);
}

#[test]
fn ranges_of_times_addresses_and_texts_contain_both_ends() {
    let script = "0.0 c > s  FFFFFFFF 69\n1.0 s > c  FFFFFFFF 6A '00000000000000' 00\n\
                  2.0 d > s  FFFFFFFF 69\n2.5 s > d  FFFFFFFF 6A 'b' 00";
    let filters = [
        (r#"time in {"2026-01-01T00:00:01Z".."2026-01-01T00:00:02Z"}"#, 2),
        (r#"time in {"2026-01-01T00:00:01.5Z" .. "2026-01-01T00:00:01.9Z"}"#, 0),
        (r#"time in {2026-01-01T00:00:01Z..2026-01-01T00:00:02Z}"#, 2),
        (r#"time not in {"2026-01-01".."2026-01-02"}"#, 0),
        ("ip.src in {10.0.0.1..10.0.0.2}", 3),
        ("ip.src in {10.0.0.1..10.0.1.1}", 4),
        ("ip.src in {10.0.0.3..10.0.1.0, 192.0.2.1}", 0),
        ("host in {10.0.1.0..10.0.1.9}", 2),
        ("ip.src in {::..ffff::}", 0),
        (r#"a2s.ping_response.payload in {"a".."c"}"#, 1),
        (r#"a2s.ping_response.payload in {"b".."b", "x"}"#, 1),
        (r#"a2s.ping_response.payload in {"c".."d"}"#, 0),
    ];
    select(script, &Setting::udp(27015), &filters);
}

#[test]
fn a_list_without_elements_has_none_that_is_equal() {
    let script = "0.0 c > m  31 FF '0.0.0.0:0' 00 00\n0.1 m > c  FFFFFFFF 660A ip:0.0.0.0:0";
    let filters = [
        ("valve_master.reply.servers", 1),
        ("valve_master.reply.servers != 10.0.0.0/8", 1),
        ("valve_master.reply.servers == 10.0.0.0/8", 0),
        ("not valve_master.reply.servers != 10.0.0.0/8", 1),
    ];
    select(script, &Setting::udp(27010), &filters);
}

/// As `!=`: where there is no such field, no comparison is true.
#[test]
fn what_is_absent_is_in_no_set_and_not_outside_of_one() {
    let script = "0.0 c > s  FFFFFFFF 69\n0.1 s > c  FFFFFFFF 6A '00000000000000' 00\n\
                  0.2 d > s  FFFFFFFF 69\n0.3 s > d  FFFFFFFF 6A 'b' 00";
    let filters = [
        (r#"a2s.ping_response.payload not in {"b"}"#, 1),
        (r#"a2s.ping_response.payload not in {"x"}"#, 2),
        (r#"not a2s.ping_response.payload in {"b"}"#, 3),
        (r#"a2s.ping_response.payload not in {"b"} and frame == 2"#, 1),
        ("frame not in {1, 3}", 2),
        ("message not in {ping_response}", 2),
        ("protocol not in {a2s}", 0),
        ("ip.src not in {10.0.0.2}", 2),
    ];
    select(script, &Setting::udp(27015), &filters);
}
