//! Single messages: the specification's examples byte for byte, and the forms that real software
//! sends.

use super::lab::{HeardMessage, Lab, bytes};

/// The specification's example reply for Counter-Strike: Source.
pub(super) const COUNTER_STRIKE: &str = "FFFFFFFF490267616D653278732E636F6D20436F756E7465722D537472696B6520536F7572636520233100\
     64655F6475737400637374726 96B6500436F756E7465722D537472696B653A20536F7572636500\
     F0000510 04646C0000312E302E302E323200";

/// For The Ship.
pub(super) const THE_SHIP: &str = "FFFFFFFF490753686970205365727665720062617461766965720073686970005468652053686970006009\
     0105006C770000010303312E302E302E3400";

/// For SiN 1 Multiplayer.
const SIN: &str = "FFFFFFFF492F53656E73656D616E6E2053694E20444D0070617261646F780053694E203100\
     53694E2031001D050010006C770000312E302E302E3000";

/// For Rag Doll Kung Fu.
const RAG_DOLL: &str = "FFFFFFFF49FC54686520447564652773 20646F6A6F00536F636365720052444B46536F63\
     6365720052616744 6F6C6C4B756E6746753A20536F6363657200EA030104000077000032 2E332E302E3000";

fn hex(text: &str) -> Vec<u8> {
    bytes(&text.replace(' ', ""))
}

/// What the server's response to this request is identified as.
fn answered(request: &str, response: &[u8]) -> HeardMessage {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes(request)).s(0.02, response).end(9.0);
    assert_eq!(lab.sink.heard.len(), 2, "{:?}", lab.names());
    lab.sink.heard.pop().unwrap()
}

fn info(response: &str) -> HeardMessage {
    answered("FFFFFFFF 54 'Source Engine Query' 00", &bytes(response))
}

/// A player request with the challenge it was given, and its response.
fn players(response: &str) -> HeardMessage {
    listed("55", response)
}

fn rules(response: &str) -> HeardMessage {
    listed("56", response)
}

fn listed(kind: &str, response: &str) -> HeardMessage {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes(&format!("FFFFFFFF {kind} FFFFFFFF")));
    lab.s(0.02, &bytes("FFFFFFFF 41 4BA1D522"));
    lab.c(0.03, &bytes(&format!("FFFFFFFF {kind} 4BA1D522")));
    lab.s(0.05, &bytes(response)).end(9.0);
    assert_eq!(lab.sink.heard.len(), 4, "{:?}", lab.names());
    lab.sink.heard.pop().unwrap()
}

fn request(request: &str) -> HeardMessage {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes(request));
    lab.sink.heard.pop().unwrap()
}

#[test]
fn the_info_responses_of_the_specification_decode_to_the_last_byte() {
    let games = [
        (COUNTER_STRIKE, "game2xs.com Counter-Strike Source #1", "de_dust", "240", "5", "1.0.0.22"),
        (THE_SHIP, "Ship Server", "batavier", "2400", "1", "1.0.0.4"),
        (SIN, "Sensemann SiN DM", "paradox", "1309", "0", "1.0.0.0"),
        (RAG_DOLL, "The Dude's dojo", "Soccer", "1002", "1", "2.3.0.0"),
    ];
    for (reply, name, map, app, players, version) in games {
        let heard = answered("FFFFFFFF 54 'Source Engine Query' 00", &hex(reply));
        assert_eq!(heard.name, "info_response");
        let reported =
            ["name", "map", "app_id", "players", "version"].map(|f| heard.value(f).unwrap());
        assert_eq!(reported, [name, map, app, players, version]);
        assert_eq!(heard.value("unparsed"), None);
        let allowed = |code: &String| code == "(SEC003)" || code == "(A2S011)";
        assert!(heard.codes().iter().all(allowed), "{name}: {:?}", heard.codes());
    }
}

#[test]
fn the_ship_response_of_the_specification_has_its_three_fields() {
    let heard = answered("FFFFFFFF 54 'Source Engine Query' 00", &hex(THE_SHIP));
    let reported = ["mode", "witnesses", "duration"].map(|field| heard.value(field).unwrap());
    assert_eq!(reported, ["1", "3", "3"]);
}

#[test]
fn the_ping_and_challenge_of_the_specification() {
    let ping = hex("FFFFFFFF 6A303030303030303030303030303000");
    let heard = answered("FFFFFFFF 69", &ping);
    assert_eq!((heard.name, heard.value("payload")), ("ping_response", Some("00000000000000")));
    assert!(heard.findings.is_empty());

    let heard = answered("FFFFFFFF 57", &hex("FFFFFFFF 41 32425945"));
    let challenge = i32::from_le_bytes([0x32, 0x42, 0x59, 0x45]).to_string();
    assert_eq!((heard.name, heard.value("challenge")), ("challenge_response", Some(&*challenge)));
    assert!(heard.findings.is_empty());
}

#[test]
fn pings_are_answered_in_three_forms() {
    assert_eq!(answered("FFFFFFFF 69", &bytes("FFFFFFFF 6A 00")).codes(), [""; 0]);
    assert_eq!(answered("FFFFFFFF 69", &bytes("FFFFFFFF 6A")).codes(), ["(A2S063)"]);
    assert_eq!(answered("FFFFFFFF 69", &bytes("FFFFFFFF 6A 'x' 00")).codes(), ["A2S063"]);
}

#[test]
fn info_requests_with_a_challenge_with_padding_and_with_neither() {
    let plain = request("FFFFFFFF 54 'Source Engine Query' 00");
    assert_eq!((plain.name, plain.value("challenge")), ("info_request", None));
    let asks = request("FFFFFFFF 54 'Source Engine Query' 00 FFFFFFFF");
    assert_eq!((asks.value("challenge"), asks.codes()), (Some("-1"), vec![]));
    let zero = request("FFFFFFFF 54 'Source Engine Query' 00 00000000");
    assert_eq!((zero.value("challenge"), zero.codes()), (Some("0"), vec!["(A2S022)".into()]));
    let padded = request("FFFFFFFF 54 'Source Engine Query' 00 00*1175");
    assert_eq!((padded.value("challenge"), padded.codes()), (None, vec!["(A2S006)".into()]));
    let padded = request("FFFFFFFF 54 'Source Engine Query' 00 FFFFFFFF 00*20");
    assert_eq!((padded.value("challenge"), padded.codes()), (Some("-1"), vec!["(A2S006)".into()]));
    let short = request("FFFFFFFF 54 'Source Engine Query' 00 4BA1");
    assert_eq!((short.name, short.codes()), ("info_request", vec!["A2S010".into()]));
    let finding = &short.findings[0];
    assert_eq!((finding.span.start, finding.span.end), (25, 27));
    assert_eq!(&*finding.detail, "the challenge has 2 of 4 bytes");
    let open = request("FFFFFFFF 54 'Source Engine Query'");
    assert_eq!((open.name, open.codes()), ("info_request", vec!["A2S010".into()]));
}

#[test]
fn junk_for_a_challenge_is_shown_as_bytes() {
    for junk in ["'%s'", "", "4BA1D5"] {
        let heard = request(&format!("FFFFFFFF 55 {junk}"));
        assert_eq!(
            (heard.name, heard.codes()),
            ("player_request", vec!["A2S021".into()]),
            "{junk}"
        );
        assert_eq!(heard.value("challenge"), None);
    }
    // A longer one has a challenge, and bytes after it.
    let heard = request("FFFFFFFF 55 '4294967295'");
    assert_eq!((heard.name, heard.codes()[0].as_str()), ("player_request", "A2S006"));
    assert_eq!(heard.value("challenge"), Some("876163636"));
    let heard = answered("FFFFFFFF 55 FFFFFFFF", &bytes("FFFFFFFF 41 4BA1"));
    assert_eq!((heard.name, heard.codes()), ("challenge_response", vec!["A2S020".into()]));
    let heard = answered("FFFFFFFF 55 FFFFFFFF", &bytes("FFFFFFFF 41 4BA1D52200"));
    assert_eq!(
        (heard.codes(), heard.value("challenge")),
        (vec!["A2S020".into()], Some("584425803"))
    );
}

#[test]
fn all_extra_data_in_the_order_of_the_specification() {
    let heard = info(
        "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 05 10 00 'Dm' 00 01 '1' 00 F1 \
         le16:27015 le64:90071992547758081 le16:27020 'tv' 00 'a,b' 00 le64:730",
    );
    let reported =
        ["edf", "port", "steam_id", "sourcetv_port", "sourcetv_name", "keywords", "game_id"];
    let reported = reported.map(|field| heard.value(field).unwrap());
    assert_eq!(reported, ["241", "27015", "90071992547758081", "27020", "tv", "a,b", "730"]);
    assert_eq!(heard.codes(), ["(SEC003)"]);
}

#[test]
fn the_obsolete_info_with_and_without_a_mod() {
    let start = "FFFFFFFF 6D '10.0.0.2:27015' 00 'n' 00 'm' 00 'cstrike' 00 'g' 00 05 10 2F 'dw'";
    let plain = info(&format!("{start} 00 00 01 02"));
    assert_eq!((plain.value("vac"), plain.value("bots")), (Some("1"), Some("2")));
    assert_eq!(plain.codes(), ["(A2S019)", "(SEC003)"]);
    let proxy = info(&format!("{} 00 00 01 02", start.replace("'dw'", "'pw'")));
    assert_eq!(proxy.codes(), ["(SEC003)"], "HLTV proxies may keep this form");
    let section = "'l' 00 'd' 00 00 le32:1 le32:184000000 00 01";
    let modded = info(&format!("{start} 00 01 {section} 01 02"));
    assert_eq!((modded.value("mod_size"), modded.value("bots")), (Some("184000000"), Some("2")));
    assert_eq!(modded.codes(), ["(A2S019)", "(SEC003)"]);
    let missing = info(&format!("{start} 00 01 01 02"));
    assert_eq!(missing.codes(), ["(A2S019)", "A2S015", "(SEC003)"]);
    assert_eq!((missing.value("vac"), missing.value("bots")), (Some("1"), Some("2")));
    let stray = info(&format!("{start} 00 00 {section} 01 02"));
    assert_eq!(stray.codes(), ["(A2S019)", "A2S015", "(SEC003)"]);
    assert_eq!((stray.value("link"), stray.value("bots")), (Some("l"), Some("2")));
}

#[test]
fn too_many_players_are_reported_in_a_truncated_response() {
    let obsolete = "FFFFFFFF 6D 'a' 00 'n' 00 'm' 00 'f' 00 'g' 00";
    let newer = "FFFFFFFF 49 30 'n' 00 'm' 00 'f' 00 'g' 00 le16:10";
    for (start, rest) in [(obsolete, ""), (obsolete, "30 'dl' 00"), (newer, "")] {
        let codes = |players: &str| info(&format!("{start} {players} {rest}")).codes();
        assert!(codes("11 10").contains(&"A2S014".into()), "{start} {rest}");
        assert!(!codes("10 10").contains(&"A2S014".into()), "{start} {rest}");
        assert!(codes("11 10").contains(&"A2S007".into()), "{start} {rest}");
    }
}

#[test]
fn a_relay_with_255_slots_may_be_incomplete() {
    let start = "FFFFFFFF 49 30 'n' 00 'm' 00 'f' 00 'g' 00 le16:10 05";
    assert_eq!(info(&format!("{start} FF 00 'p'")).codes(), ["(A2S007)", "(SEC003)"]);
    assert_eq!(info(&format!("{start} 10 00 'p'")).codes(), ["A2S007", "(SEC003)"]);
    // Inside a text as well.
    for rest in ["", "'1.2'", "'1.2' 00 20 'ta'", "'1.2' 00 40 le16:27020 'tv'"] {
        let heard = info(&format!("{start} FF 00 'pl' 00 00 {rest}"));
        assert_eq!(heard.codes(), ["(A2S007)", "(SEC003)"], "{rest}");
        let cut = info(&format!("{start} 10 00 'pl' 00 00 {rest}")).codes();
        assert!(cut.iter().any(|code| code == "A2S004"), "{rest}");
    }
    assert_eq!(info(&format!("{start} FF 00 'pl' 00 00 '1.2'")).value("version"), Some("1.2"));
}

#[test]
fn players_are_counted_and_indexed() {
    let heard = players("FFFFFFFF 44 02 00 'Ann' 00 FFFFFFFF f32:61.5 01 '' 00 02000000 f32:1");
    assert_eq!(heard.values("name"), ["Ann", ""]);
    assert_eq!(heard.values("score"), ["-1", "2"]);
    assert_eq!(heard.values("duration"), ["61.5", "1"]);
    assert_eq!(heard.codes(), [""; 0]);
    let zeros = players("FFFFFFFF 44 02 00 'a' 00 00000000 f32:1 00 'b' 00 00000000 f32:1");
    assert_eq!(zeros.codes(), ["(A2S031)"]);
    let more = players("FFFFFFFF 44 01 00 'a' 00 00000000 f32:1 01 'b' 00 00000000 f32:1");
    assert_eq!((more.codes(), more.values("name").len()), (vec!["A2S030".into()], 2));
    let none = players("FFFFFFFF 44 00");
    assert_eq!((none.value("num_players"), none.codes()), (Some("0"), vec![]));
    for nonsense in ["NaN", "-1", "inf"] {
        let list = players(&format!("FFFFFFFF 44 01 00 'a' 00 00000000 f32:{nonsense}"));
        assert_eq!(list.codes(), ["A2S032"], "{nonsense}");
    }
}

/// The 16 bits of ID are 0 if the application ID does not fit.
#[test]
fn a_game_without_an_id_is_named_by_its_game_id_alone() {
    let with = |id: &str| {
        let start = "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00";
        info(&format!("{start} {id} 05 10 00 'dl' 00 01 '1' 00 01 le64:252490")).codes()
    };
    assert_eq!(with("le16:0"), ["(SEC003)"]);
    assert_eq!(with("le16:55882"), ["(SEC003)"]);
    assert_eq!(with("le16:730"), ["(A2S018)", "(SEC003)"]);
}

#[test]
fn a_server_type_of_zero_is_rag_doll_kung_fus() {
    let with = |id: u16| {
        let start = "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00";
        info(&format!("{start} le16:{id} 05 10 00 00 'l' 00 01 '1' 00")).codes()
    };
    assert_eq!(with(1002), ["(A2S011)", "(SEC003)"]);
    assert_eq!(with(730), ["A2S011", "(SEC003)"]);
}

#[test]
fn a_proxy_counts_no_bots() {
    let with = |kind: char, end: &str| {
        let start = "FFFFFFFF 6D '10.0.0.2:27020' 00 'n' 00 'm' 00 'f' 00 'g' 00 05 10 2F";
        let codes = info(&format!("{start} '{kind}l' 00 00 01 {end}")).codes();
        Vec::from_iter(codes.into_iter().filter(|code| code.contains("A2S00")))
    };
    assert_eq!(with('p', ""), ["(A2S007)"]);
    assert_eq!(with('d', ""), ["A2S007"]);
    assert_eq!(with('p', "00"), Vec::<String>::new());
}

#[test]
fn a_header_may_occur_twice() {
    let heard = players("FFFFFFFF FFFFFFFF 44 01 00 'a' 00 00000000 f32:1");
    assert_eq!((heard.name, heard.codes()), ("player_response", vec!["(A2S001)".into()]));
    // A server compares a request byte by byte.
    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF FFFFFFFF 54 'Source Engine Query' 00")).end(9.0);
    let heard = lab.sink.heard.pop().unwrap();
    assert_eq!(heard.name, "info_request");
    assert_eq!(heard.codes(), ["(A2S001)", "A2S010"]);
}

#[test]
fn the_ship_adds_deaths_and_money() {
    let plain = "FFFFFFFF 44 02 00 'a' 00 00000000 f32:1 01 'b' 00 00000000 f32:1";
    let after = players(&format!("{plain} le32:3 le32:100 le32:4 le32:200"));
    assert_eq!(after.codes(), ["(A2S006)"]);
    assert_eq!(
        (after.values("deaths"), after.values("money")),
        (vec!["3", "4"], vec!["100", "200"])
    );

    let in_debt = players(&format!("{plain} le32:3 FEFFFFFF FFFFFFFF le32:200"));
    assert_eq!(
        (in_debt.values("deaths"), in_debt.values("money")),
        (vec!["3", "-1"], vec!["-2", "200"])
    );

    let inside = "FFFFFFFF 44 02 00 'a' 00 00000000 f32:1 le32:3 le32:100 \
                  01 'b' 00 00000000 f32:1 le32:4 le32:200";
    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 54 'Source Engine Query' 00")).s(0.1, &hex(THE_SHIP));
    lab.c(0.2, &bytes("FFFFFFFF 55 FFFFFFFF")).s(0.3, &bytes("FFFFFFFF 41 4BA1D522"));
    lab.c(0.4, &bytes("FFFFFFFF 55 4BA1D522")).s(0.5, &bytes(inside));
    let inside = lab.sink.heard.pop().unwrap();
    assert_eq!((inside.values("name"), inside.codes()), (vec!["a", "b"], vec!["(A2S006)".into()]));
    let noted =
        "each entry has deaths and money after Duration, which The Ship sends after the list";
    assert_eq!(inside.findings[0].detail, noted);
    assert_eq!(inside.values("money"), ["100", "200"]);
}

#[test]
fn rules_may_be_binary_in_chunks() {
    let heard = rules("FFFFFFFF 45 0200 0102 00 FE0101 00 0202 00 80 00");
    assert_eq!(heard.codes(), ["(A2S005)", "(A2S005)"]);
    let heard = rules("FFFFFFFF 45 0100 'motd' 00 80 00");
    assert_eq!(heard.codes(), ["A2S005"]);
    // Two letters cannot be number and total in such a short list.
    let heard = rules("FFFFFFFF 45 0100 'ab' 00 80 00");
    assert_eq!(heard.codes(), ["A2S005"]);
}

#[test]
fn names_of_many_rules_are_compared() {
    let rule = |n: u32| format!("'sv_rule_{n}' 00 '1' 00");
    let many: String = (0..60).map(rule).collect::<Vec<_>>().join(" ");
    assert_eq!(rules(&format!("FFFFFFFF 45 le16:60 {many}")).codes(), [""; 0]);
    let twice = rules(&format!("FFFFFFFF 45 le16:61 {many} {}", rule(17)));
    assert_eq!(twice.codes(), ["A2S034"]);
    assert_eq!(twice.findings[0].detail, "the rule \"sv_rule_17\" occurs twice");
}

#[test]
fn a_list_cut_off_at_about_1260_bytes_is_one_fault() {
    let long = "FFFFFFFF 45 le16:9 'motd' 00 'x'*1200 00";
    for rest in ["'name' 00 'x'*30", "'x'*36"] {
        assert_eq!(rules(&format!("{long} {rest}")).codes(), ["A2S008"], "{rest}");
    }
    // Neither a shorter list nor one of whole entries was cut off there.
    assert_eq!(rules(&format!("{long} 'n' 00 80")).codes(), ["A2S004", "A2S033"]);
    assert_eq!(rules(&format!("{long} 'name' 00 'x'*25 00")).codes(), ["A2S033"]);
    let names = "01 'abcdefghij' 00 00000000 f32:1 ".repeat(62);
    for (rest, expected) in [("", "A2S030"), ("01 'ab'", "A2S008")] {
        let codes = players(&format!("FFFFFFFF 44 FF {names} {rest}")).codes();
        let of_end = ["A2S004", "A2S007", "A2S008", "A2S030"].map(String::from);
        let of_end: Vec<_> = codes.iter().filter(|code| of_end.contains(code)).collect();
        assert_eq!(of_end, [expected], "{rest}");
    }
}

#[test]
fn a_list_that_ends_inside_an_entry_has_too_few() {
    let list = |announced| {
        let entries = "00 'Ann' 00 03000000 f32:61.5 01 'Bob' 00 0300";
        players(&format!("FFFFFFFF 44 0{announced} {entries}"))
    };
    assert_eq!(list(2).codes(), ["A2S007"], "the last one is there, if not whole");
    let short = list(3);
    assert_eq!(short.codes(), ["A2S030", "A2S007"]);
    let expected = "Num Players says 3, the packet holds 1 entry and a part of another";
    assert_eq!(short.findings[0].detail, expected);
}

#[test]
fn other_texts_and_messages_are_shown() {
    let heard = info("FFFFFFFF 6C 'Banned by server' 0A00");
    assert_eq!((heard.name, heard.value("text")), ("print", Some("Banned by server\n")));
    assert_eq!(heard.codes(), ["(A2S003)"]);
    let heard = info("FFFFFFFF 39 'redirected'");
    assert_eq!((heard.name, heard.codes()), ("unknown", vec!["(A2S003)".into()]));
    assert_eq!(heard.value("text"), Some("redirected"));
    let heard = info("FFFFFFFF 39 0102");
    assert_eq!((heard.value("text"), heard.value("body")), (None, Some("0")));
    let heard = info("00*64");
    assert_eq!((heard.name, heard.codes()), ("unknown", vec!["A2S001".into()]));
}

#[test]
fn messages_of_the_game_are_named_by_their_words() {
    for (written, command, text, body) in [
        ("'getchallenge steam' 0A", "getchallenge", Some("steam"), None),
        ("'qconnect0x01B4D3E5' 00*9", "qconnect", Some("0x01B4D3E5"), None),
        ("'connect 48 1 x' 0A 01FF02", "connect", Some("48 1 x"), Some("0")),
        ("'rcon 7 status' 00", "rcon", Some("7 status"), None),
        ("'infostring ' 00", "infostring", None, None),
        ("'details'", "details", None, None),
    ] {
        let mut lab = Lab::new();
        lab.c(0.0, &bytes(&format!("FFFFFFFF {written}")));
        let heard = &lab.sink.heard[0];
        let shown = ["command", "text", "body"].map(|field| heard.value(field));
        assert_eq!((heard.name, shown), ("unknown", [Some(command), text, body]), "{written}");
        assert_eq!(heard.codes(), ["(A2S003)"], "{written}");
        let expected = format!("\"{command}\" is a message of the game, not of A2S");
        assert_eq!(heard.findings[0].detail, expected);
    }
}

#[test]
fn invalid_text_is_shown_with_its_place() {
    let heard =
        info("FFFFFFFF 49 11 'n' E4 00 'm' 00 'f' 00 'g' 00 le16:730 05 10 00 'dl' 00 01 '1' 00");
    assert_eq!(
        (heard.value("name"), heard.codes()),
        (Some("n\u{FFFD}"), vec!["A2S005".into(), "(SEC003)".into()])
    );
}
