//! Output as a user sees it.

use dissectors::kit::{Field, Kind, Mark, Piece, Side, Sink, Span, TextPlace, Time, Tree, Verdict};
use proptest::prelude::*;

use super::{DetailLevel, Text};
use crate::report::paint::Paint;
use crate::report::test_messages::*;

const LINE: DetailLevel = DetailLevel { fields: false, bytes: false, full: false };
const FIELDS: DetailLevel = DetailLevel { fields: true, bytes: false, full: false };
const BYTES: DetailLevel = DetailLevel { fields: false, bytes: true, full: false };
const BOTH: DetailLevel = DetailLevel { fields: true, bytes: true, full: false };

fn plain(sample: &Sample, detail: DetailLevel) -> String {
    sample.report(&mut Text::new(detail, Paint::new(false)))
}

/// With `^[` for the escape character, as terminals show it.
fn coloured(sample: &Sample, detail: DetailLevel) -> String {
    sample.report(&mut Text::new(detail, Paint::new(true))).replace('\x1B', "^[")
}

/// The text after the names of the protocol and the message.
fn summary(sample: &Sample) -> String {
    let text = plain(sample, LINE);
    let line = text.lines().last().unwrap_or_default();
    line.split_once(sample.message.name).map(|(_, rest)| rest.trim().to_owned()).unwrap_or_default()
}

fn text_message(text: &[u8]) -> Sample {
    static PRINT: dissectors::kit::Message = message("print", "{text}");
    let mut tree = Tree::default();
    tree.leaf_text(&TEXT, Span::new(0, 0), text);
    Sample::of(b"", &PRINT, tree)
}

#[test]
fn a_line() {
    insta::assert_snapshot!(plain(&Sample::players(), LINE), @r#"
    -- 2026-11-20 UTC --
    10:00:00.123456      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s player_response     2 of 3 players, first Ann  ! error A2S030 player-count: Num Players says 3, the packet holds 2 entries  ! warning A2S032 player-duration: NaN
    "#);
}

#[test]
fn a_line_in_colours() {
    insta::assert_snapshot!(coloured(&Sample::players(), LINE), @r#"
    ^[[2m-- 2026-11-20 UTC --^[[0m
    ^[[2m10:00:00.123456      7^[[0m  ^[[38;5;32m10.0.0.2:27015 > 10.0.0.1:50000^[[0m       ^[[38;5;30ma2s^[[0m ^[[1mplayer_response^[[0m     2 of 3 players, first Ann  ^[[38;5;160;1m! error A2S030 player-count: Num Players says 3, the packet holds 2 entries^[[0m  ^[[38;5;130m! warning A2S032 player-duration: NaN^[[0m
    "#);
}

#[test]
fn the_fields() {
    insta::assert_snapshot!(plain(&Sample::players(), FIELDS), @r#"
    -- 2026-11-20 UTC --
    10:00:00.123456      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s player_response     2 of 3 players, first Ann  ! error A2S030 player-count  ! warning A2S032 player-duration  ! note A2S031 player-index (and 1 more)
        -          Split
        -            Layout: orange_box
        -            Compressed: false
        0x00-0x03  Header: -1 (single packet)
        0x04       Message type: 'D' (A2S_PLAYER response)
        0x05       Num Players: 3
                     ! error A2S030 player-count: Num Players says 3, the packet holds 2 entries
        0x06-0x24  Players: 2
        0x06-0x11    Player
                       ! note A2S031 player-index: no index
        0x06-0x09      Player Name: Ann
        0x0a-0x0d      Kills: 5
        0x0e-0x11      Time connected: 12.5
        0x12-0x24    Player
                       ! note A2S031 player-index: no index
        0x12-0x1c      Player Name: "B\x1B[2J \x22b\x22\xFF"
        0x1d-0x20      Kills: -2
        0x21-0x24      Time connected: NaN
                         ! warning A2S032 player-duration: NaN
    "#);
}

#[test]
fn the_fields_in_colours() {
    insta::assert_snapshot!(coloured(&Sample::players(), FIELDS), @r#"
    ^[[2m-- 2026-11-20 UTC --^[[0m
    ^[[2m10:00:00.123456      7^[[0m  ^[[38;5;32m10.0.0.2:27015 > 10.0.0.1:50000^[[0m       ^[[38;5;30ma2s^[[0m ^[[1mplayer_response^[[0m     2 of 3 players, first Ann  ^[[38;5;160;1m! error A2S030 player-count^[[0m  ^[[38;5;130m! warning A2S032 player-duration^[[0m  ^[[38;5;32m! note A2S031 player-index (and 1 more)^[[0m
        ^[[2m-        ^[[0m  ^[[38;5;30mSplit^[[0m
        ^[[2m-        ^[[0m    ^[[38;5;30mLayout^[[0m: orange_box
        ^[[2m-        ^[[0m    ^[[38;5;30mCompressed^[[0m: false
        ^[[2m0x00-0x03^[[0m  ^[[38;5;30mHeader^[[0m: -1^[[2m (single packet)^[[0m
        ^[[2m0x04     ^[[0m  ^[[38;5;30mMessage type^[[0m: 'D'^[[2m (A2S_PLAYER response)^[[0m
        ^[[2m0x05     ^[[0m  ^[[38;5;30mNum Players^[[0m: 3
                     ^[[38;5;160;1m! error A2S030 player-count: Num Players says 3, the packet holds 2 entries^[[0m
        ^[[2m0x06-0x24^[[0m  ^[[38;5;30mPlayers^[[0m: 2
        ^[[2m0x06-0x11^[[0m    ^[[38;5;30mPlayer^[[0m
                       ^[[38;5;32m! note A2S031 player-index: no index^[[0m
        ^[[2m0x06-0x09^[[0m      ^[[38;5;30mPlayer Name^[[0m: Ann
        ^[[2m0x0a-0x0d^[[0m      ^[[38;5;30mKills^[[0m: 5
        ^[[2m0x0e-0x11^[[0m      ^[[38;5;30mTime connected^[[0m: 12.5
        ^[[2m0x12-0x24^[[0m    ^[[38;5;30mPlayer^[[0m
                       ^[[38;5;32m! note A2S031 player-index: no index^[[0m
        ^[[2m0x12-0x1c^[[0m      ^[[38;5;30mPlayer Name^[[0m: "B\x1B[2J \x22b\x22\xFF"
        ^[[2m0x1d-0x20^[[0m      ^[[38;5;30mKills^[[0m: -2
        ^[[2m0x21-0x24^[[0m      ^[[38;5;30mTime connected^[[0m: NaN
                         ^[[38;5;130m! warning A2S032 player-duration: NaN^[[0m
    "#);
}

#[test]
fn the_bytes() {
    insta::assert_snapshot!(plain(&Sample::players(), BYTES), @r#"
    -- 2026-11-20 UTC --
    10:00:00.123456      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s player_response     2 of 3 players, first Ann  ! error A2S030 player-count: Num Players says 3, the packet holds 2 entries  ! warning A2S032 player-duration: NaN
        0x0000 |ff ff ff ff|44|03|41 6e  6e 00|05 00 00 00|00 00  ....D.Ann.......  header type num_players name score duration
        0x0010  48 41|42 1b 5b 32 4a 20  22 62 22 ff 00|fe ff ff  HAB.[2J "b".....  ..duration name score
        0x0020  ff|00 00 c0 7f                                    .....             ..score duration
    "#);
}

#[test]
fn the_bytes_in_colours() {
    insta::assert_snapshot!(coloured(&Sample::players(), BYTES), @r#"
    ^[[2m-- 2026-11-20 UTC --^[[0m
    ^[[2m10:00:00.123456      7^[[0m  ^[[38;5;32m10.0.0.2:27015 > 10.0.0.1:50000^[[0m       ^[[38;5;30ma2s^[[0m ^[[1mplayer_response^[[0m     2 of 3 players, first Ann  ^[[38;5;160;1m! error A2S030 player-count: Num Players says 3, the packet holds 2 entries^[[0m  ^[[38;5;130m! warning A2S032 player-duration: NaN^[[0m
    ^[[2m    0x0000 ^[[0m^[[38;5;30m ff ff ff ff^[[0m^[[38;5;130m 44^[[0m^[[38;5;28m 03^[[0m^[[38;5;133m 41 6e  6e 00^[[0m^[[38;5;30m 05 00 00 00^[[0m^[[38;5;130m 00 00^[[0m  ^[[38;5;30m....^[[0m^[[38;5;130mD^[[0m^[[38;5;28m.^[[0m^[[38;5;133mAnn.^[[0m^[[38;5;30m....^[[0m^[[38;5;130m..^[[0m  ^[[38;5;30mheader^[[0m ^[[38;5;130mtype^[[0m ^[[38;5;28mnum_players^[[0m ^[[38;5;133mname^[[0m ^[[38;5;30mscore^[[0m ^[[38;5;130mduration^[[0m
    ^[[2m    0x0010 ^[[0m^[[38;5;130m 48 41^[[0m^[[38;5;28m 42 1b 5b 32 4a 20  22 62 22 ff 00^[[0m^[[38;5;133m fe ff ff^[[0m  ^[[38;5;130mHA^[[0m^[[38;5;28mB.[2J "b"..^[[0m^[[38;5;133m...^[[0m  ^[[38;5;130m..duration^[[0m ^[[38;5;28mname^[[0m ^[[38;5;133mscore^[[0m
    ^[[2m    0x0020 ^[[0m^[[38;5;133m ff^[[0m^[[38;5;30m 00 00 c0 7f^[[0m                                    ^[[38;5;133m.^[[0m^[[38;5;30m....^[[0m             ^[[38;5;133m..score^[[0m ^[[38;5;30mduration^[[0m
    "#);
}

#[test]
fn every_kind_of_field() {
    let bytes: Vec<u8> = (0..=255).collect();
    let mut tree = Tree::default();
    tree.leaf(&ID, Span::new(0, 8), u64::MAX);
    tree.leaf(&LETTER, Span::new(8, 9), b'x'.into());
    tree.leaf(&LETTER, Span::new(9, 10), 0x9B);
    tree.leaf(&SERVER, Span::new(10, 16), 0x0A00_0001_6987);
    tree.leaf(&SERVER6, Span::new(16, 34), 0);
    tree.leaf(&SERVER6, Span::new(250, 256), 0);
    tree.leaf(&LAYOUT, Span::new(34, 34), 9);
    tree.open(&INFO, 34, 0);
    tree.open(&PAIR, 34, 0);
    tree.leaf_text(&KEY, Span::new(34, 37), b"os");
    tree.leaf(&SEPARATOR, Span::new(37, 38), 0);
    tree.leaf_text(&VALUE, Span::new(38, 40), b"l");
    tree.close(40);
    tree.close(40);
    tree.leaf_text(&TEXT, Span::new(40, 50), b"hey \x07!");
    tree.leaf(&DURATION, Span::new(50, 54), f32::MAX.to_bits().into());
    tree.leaf(Field::UNPARSED, Span::new(54, 256), 0);
    insta::assert_snapshot!(plain(&Sample::of(&bytes, &OTHER, tree), FIELDS), @r#"
    -- 2026-11-20 UTC --
    10:00:00.123456      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s other
        0x000-0x007  SteamID: 18446744073709551615
        0x008        Letter: 'x'
        0x009        Letter: 0x9B
        0x00a-0x00f  Server: 10.0.0.1:27015
        0x010-0x021  Server: [1011:1213:1415:1617:1819:1a1b:1c1d:1e1f]:8225
        0x0fa-0x0ff  Server: fa fb fc fd fe ff
        -            Layout: 9
        0x022-0x027  Info string: 1
        0x022-0x027    Pair: os = l (Linux)
        0x025            Separator: 25
        0x028-0x031  Text: "hey \x07!" (HEY \x07!)
        0x032-0x035  Time connected: 3.4028235e+38
        0x036-0x0ff  Unparsed: 36 37 38 39 3a 3b 3c 3d 3e 3f 40 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50 51 52 53 54 55 56 57 58 59 5a 5b 5c 5d 5e 5f 60 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 71 72 73 74 75... (202 bytes)
    "#);
}

#[test]
fn fields_and_bytes_of_decompressed_responses() {
    let mut sample =
        Sample::decoded(b"a long text that reaches into the next row\0z", &OTHER, |r| {
            r.text(&TEXT)?;
            Ok(())
        });
    sample.inflated = true;
    insta::assert_snapshot!(plain(&sample, BOTH), @r#"
    -- 2026-11-20 UTC --
    10:00:00.123456      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s other
        0x00-0x2a  Text: "a long text that reaches into the next row"
        0x2b       Unparsed: 7a
        decompressed:
        0x0000 |61 20 6c 6f 6e 67 20 74  65 78 74 20 74 68 61 74  a long text that  text
        0x0010  20 72 65 61 63 68 65 73  20 69 6e 74 6f 20 74 68   reaches into th  ..text
        0x0020  65 20 6e 65 78 74 20 72  6f 77 00|7a              e next row.z      ..text unparsed
    "#);
}

#[test]
fn bytes_that_no_field_has() {
    let mut tree = Tree::default();
    tree.leaf(&BODY, Span::new(2, 4), 0);
    tree.leaf(&KEY, Span::new(3, 5), 0);
    tree.leaf(&NUMBER, Span::new(7, 99), 0);
    insta::assert_snapshot!(plain(&Sample::of(b"0123456789", &OTHER, tree), BYTES), @r#"
    -- 2026-11-20 UTC --
    10:00:00.123456      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s other
        0x0000  30 31|32 33 34|35 36|37  38 39                    0123456789        body ..key number
    "#);
}

#[test]
fn the_date_is_shown_when_the_day_changes() {
    let report = &mut Text::new(LINE, Paint::new(false));
    let mut sample = Sample::of(b"", &OTHER, Tree::default());
    sample.digits = 9;
    let mut out = Vec::new();
    for time in [-1, 0, 86_399_999_999_999, 86_400_000_000_000] {
        sample.time = Time(time);
        sample.report_into(report, &mut out);
    }
    insta::assert_snapshot!(String::from_utf8_lossy(&out), @r#"
    -- 1969-12-31 UTC --
    23:59:59.999999999      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s other
    -- 1970-01-01 UTC --
    00:00:00.000000000      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s other
    23:59:59.999999999      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s other
    -- 1970-01-02 UTC --
    00:00:00.000000000      7  10.0.0.2:27015 > 10.0.0.1:50000       a2s other
    "#);
}

#[test]
fn packets_of_a_message() {
    let mut sample = Sample::of(b"", &OTHER, Tree::default());
    sample.pieces = [5, 6].map(|frame| Piece { frame, ..Piece::default() }).into();
    (sample.lost, sample.via) = (true, Some("vxlan\n42"));
    sample.ends =
        ["[2001:db8::1]:27015", "[2001:db8::2]:50000"].map(|end| end.parse().expect("valid"));
    insta::assert_snapshot!(plain(&sample, LINE), @r#"
    -- 2026-11-20 UTC --
    10:00:00.123456      7  [2001:db8::1]:27015 > [2001:db8::2]:50000  a2s other  (3 packets)  (not whole in the capture)  (via vxlan\x0A42)
    "#);
}

#[test]
fn summaries() {
    static GIST: dissectors::kit::Message = message(
        "summary",
        "{num_players}/{absent}[, {servers#} servers][, {absent} x], {port} {os}[!",
    );
    let mut tree = Tree::default();
    tree.open(&PLAYER, 0, 0);
    tree.leaf(&COUNT, Span::new(0, 0), 1);
    tree.leaf(&PORT, Span::new(0, 0), 80);
    tree.close(0);
    tree.leaf(&COUNT, Span::new(0, 0), 2);
    tree.open(&SERVERS, 0, 0);
    tree.leaf(&SERVER, Span::new(0, 0), 0);
    tree.leaf(&SEPARATOR, Span::new(0, 0), 0);
    tree.leaf(&SERVER, Span::new(0, 0), 0);
    tree.close(0);
    tree.open(&PAIR, 0, 0);
    tree.leaf_text(&KEY, Span::new(0, 0), b"os");
    tree.leaf_text(&VALUE, Span::new(0, 0), b"w");
    tree.close(0);
    assert_eq!(summary(&Sample::of(b"", &GIST, tree)), "2/?, 2 servers, 80 w!");
}

#[test]
fn summaries_have_counts_flags_and_meanings() {
    static COUNTS: dissectors::kit::Message = message(
        "counts",
        "{servers# server}, {players# entry/entries}[, {num_players?crowded}][, {port?open}], {header=}, {port=}",
    );
    let counted = |servers: usize, players: u64| {
        let mut tree = Tree::default();
        for (list, count) in [(&SERVERS, servers), (&PLAYERS, players as usize)] {
            tree.open(list, 0, 0);
            for _ in 0..count {
                tree.leaf(&SERVER, Span::new(0, 0), 0);
            }
            tree.close(0);
        }
        tree.leaf(&COUNT, Span::new(0, 0), players);
        tree.leaf(&PORT, Span::new(0, 0), 0);
        tree.leaf(&HEADER, Span::new(0, 0), u64::MAX);
        summary(&Sample::of(b"", &COUNTS, tree))
    };
    assert_eq!(counted(1, 0), "1 server, 0 entries, single packet, 0");
    assert_eq!(counted(0, 1), "0 servers, 1 entry, crowded, single packet, 0");
    assert_eq!(counted(2, 2), "2 servers, 2 entries, crowded, single packet, 0");
}

#[test]
fn floats_are_short_in_a_gist() {
    static FLOAT: dissectors::kit::Message = message("float", "{duration}");
    for (value, text) in [(1.0 / 3.0, "0.3"), (f32::NAN, "NaN"), (1e30, "1e+30"), (-7.0, "-7.0")] {
        let mut tree = Tree::default();
        tree.leaf(&DURATION, Span::new(0, 0), value.to_bits().into());
        assert_eq!(summary(&Sample::of(b"", &FLOAT, tree)), text);
    }
}

#[test]
fn texts_are_quoted_unless_they_are_a_word() {
    let long = "x".repeat(65);
    let cut = format!("\"{}\"...", "x".repeat(64));
    let cases: [(&[u8], &str); 9] = [
        (b"de_dust2", "de_dust2"),
        (br"\gamename\ut\", r"\gamename\ut\"),
        (b"J\xFCrgens \x93x\x94", "\"J\u{FC}rgens \u{201C}x\u{201D}\" (Windows-1252)"),
        (b"", r#""""#),
        (b"my server", r#""my server""#),
        (b"x\" ! error", r#""x\x22 ! error""#),
        (b"\xFF\xE2\x81\n", r#""\xFF\xE2\x81\x0A""#),
        ("\u{202E}東\u{9B}".as_bytes(), r#""\u{202E}東\u{9B}""#),
        (long.as_bytes(), &cut),
    ];
    for (text, shown) in cases {
        assert_eq!(summary(&text_message(text)), shown);
    }
}

#[test]
fn different_texts_have_different_fields() {
    let cases: [(&[u8], &str); 4] = [
        (b"a\xFF", r#""a\xFF""#),
        // There are no escapes in a plain word.
        (br"a\xFF", r"a\xFF"),
        (b"a\\\xFF\n", r#""a\\\xFF\x0A""#),
        (br"a \x22\", r#""a \\x22\\""#),
    ];
    for (text, shown) in cases {
        let fields = plain(&text_message(text), FIELDS);
        assert!(fields.ends_with(&format!(": {shown}\n")), "{fields}");
    }
}

#[test]
fn a_rule_that_is_broken_often_is_named_once() {
    let mut sample = Sample::players();
    sample.findings.push(finding(&A2S030, Verdict::Inconclusive, Span::new(0, 1), "again"));
    let report = &mut Text::new(LINE, Paint::new(false));
    let first = sample.report(report);
    assert!(first.ends_with(
        "! error A2S030 player-count: Num Players says 3, the packet holds 2 entries (and 1 more)  \
         ! warning A2S032 player-duration: NaN\n"
    ));
    // The counters are reset: only the date is missing the second time.
    assert_eq!(first.split_once('\n').map(|(_, line)| line), Some(&*sample.report(report)));
}

#[test]
fn a_finding_is_below_the_shortest_field_that_contains_it() {
    let mut sample = Sample::players();
    let mut old = finding(&A2S030, Verdict::Inconclusive, Span::new(0, 9), "unanswered\n");
    old.mark = Some(Mark { frame: 2, time: Time(0), length: 9, side: Side::First });
    sample.findings = vec![
        old,
        finding(&A2S031, Verdict::Note, Span::new(0, 900), "nowhere"),
        finding(&A2S031, Verdict::Note, Span::new(5, 18), "over two outermost fields"),
        finding(&A2S031, Verdict::Note, Span::new(6, 29), "in the list"),
        finding(&A2S031, Verdict::Note, Span::new(10, 18), "in the first player"),
        finding(&A2S031, Verdict::Note, Span::new(11, 11), "in the kills"),
    ];
    let text = plain(&sample, FIELDS);
    let of = |label: &str| {
        let mut lines = text.lines().skip_while(|line| !line.ends_with(label)).skip(1);
        lines.next().unwrap_or_default().trim().to_owned()
    };
    assert_eq!(of("Players: 2"), "! note A2S031 player-index: in the list");
    assert_eq!(of("  Player"), "! note A2S031 player-index: in the first player");
    assert_eq!(of("Kills: 5"), "! note A2S031 player-index: in the kills");
    let ends: Vec<_> = text.lines().rev().take(3).map(str::trim).collect();
    assert_eq!(ends[2], r"? error A2S030 player-count (packet 2): unanswered\x0A");
    assert_eq!(ends[1], "! note A2S031 player-index: nowhere");
    assert_eq!(ends[0], "! note A2S031 player-index: over two outermost fields");
}

#[test]
fn a_pair_is_one_line_unless_something_is_found_in_it() {
    let mut tree = Tree::default();
    tree.open(&PAIR, 0, 0);
    tree.leaf(&KEY, Span::new(0, 3), TextPlace::at(Span::new(1, 3)).value());
    tree.leaf(&VALUE, Span::new(3, 5), TextPlace::at(Span::new(4, 5)).value());
    tree.close(5);
    let mut sample = Sample::of(br"\os\x", &OTHER, tree);
    let fields = |sample: &Sample| {
        plain(sample, FIELDS).lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(fields(&sample), ["    0x00-0x04  Pair: os = x"]);
    sample.findings = vec![finding(&A2S031, Verdict::Note, Span::new(4, 5), "neither l nor w")];
    let found = "                   ! note A2S031 player-index: neither l nor w";
    assert_eq!(
        fields(&sample),
        ["    0x00-0x04  Pair: os = x", "    0x03-0x04    Value: x", found]
    );
}

#[test]
fn omitted_fields_are_reported() {
    let mut tree = Tree::default();
    for at in 0..Tree::MOST + 2 {
        tree.leaf(&NUMBER, Span::new(at, at + 1), 1);
    }
    let sample = Sample::of(&vec![0; Tree::MOST + 2], &OTHER, tree);
    assert_eq!(summary(&sample), "(2 fields left out)");
}

proptest! {
    #[test]
    fn no_bytes_break_a_line_or_reach_the_terminal(
        text: Vec<u8>,
        key: Vec<u8>,
        detail: String,
        spans in prop::collection::vec((0..80_usize, 0..80_usize), 0..8),
        length in 0..70_usize,
        paint: bool,
    ) {
        static ALL: dissectors::kit::Message = message("all", "{text} {key} {body}");
        static LIST: Field = Field::new("list", "List", Kind::List);
        let mut tree = Tree::default();
        tree.leaf_text(&TEXT, Span::new(0, 4), &text);
        tree.open(&LIST, 4, 0);
        tree.leaf_text(&KEY, Span::new(4, 9), &key);
        tree.leaf(&BODY, Span::new(9, 20), 0);
        for &(start, end) in &spans {
            tree.leaf(&VALUE, Span::new(start, end), TextPlace::at(Span::new(start, end)).value());
        }
        tree.close(length as u32);
        let mut sample = Sample::of(&vec![0x1B; length], &ALL, tree);
        for &(start, end) in &spans {
            sample.findings.push(finding(&A2S030, Verdict::Fail, Span::new(start, end), &detail));
        }
        let shown = sample.report(&mut Text::new(BOTH, Paint::new(paint)));
        let rows = sample.bytes.len().div_ceil(16);
        let nodes = sample.tree.nodes().len();
        let most = 2 + nodes + spans.len() + rows;
        let folded = most.checked_sub(shown.lines().count());
        // The first row of padding, the mark and the last row are always shown.
        prop_assert!(folded.is_some_and(|folded| folded <= rows.saturating_sub(3)));
        let bare = if paint { without_colours(&shown) } else { shown };
        prop_assert!(bare.chars().all(|c| c == '\n' || !crate::text::is_hidden(c)));
    }
}

/// Takes the colours out, and nothing else that begins with an escape character.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1B[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (style, rest) = part.split_once('m').unwrap_or(("?", part));
        assert!(style.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{style:?}");
        out.push_str(rest);
    }
    out
}
