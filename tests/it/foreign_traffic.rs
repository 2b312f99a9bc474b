//! `gamewire check`: what real programs send beside the documents' conversations breaks no rule.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

/// The verdicts on the rules that a script's capture exercises.
fn verdicts(script: &str, port: u16) -> BTreeMap<String, String> {
    let (_project, file) = Project::of_script(script, &Setting::udp(port));
    let run = gamewire(["check", "--no-config", "--format", "json", &file]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rules = report["rules"].as_array().unwrap().iter();
    let verdicts = rules.map(|rule| (text(&rule["code"]), text(&rule["verdict"])));
    verdicts.filter(|(_, verdict)| verdict != "not_exercised").collect()
}

/// The rules that fail.
fn failed(script: &str, port: u16) -> Vec<String> {
    let failed = verdicts(script, port).into_iter().filter(|(_, verdict)| verdict == "fail");
    failed.map(|(code, _)| code).collect()
}

/// The names of the messages.
fn messages(script: &str, port: u16) -> Vec<String> {
    let (_project, file) = Project::of_script(script, &Setting::udp(port));
    let run = gamewire(["dissect", "--format", "json", &file]);
    let name = |line: &str| {
        let message: Value = serde_json::from_str(line).unwrap();
        message["message"].as_str().unwrap().to_owned()
    };
    run.out.lines().map(name).collect()
}

#[test]
fn masters_that_synchronise_their_lists() {
    let script = r"0.00 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR\\final\\'
0.02 c > m:28900 tcp '\\gamename\\333networks\\gamever\\1\\location\\0\\validate\\3JOdDFU5\\final\\'
0.03 c > m:28900 tcp '\\sync\\all\\msid\\0123abc'
0.05 m:28900 > c tcp '\\ut\\192.0.2.4:7778 192.0.2.5:7778\\final\\' fin
0.06 c > m:28900 tcp fin
end 20";
    let failed = failed(script, 28900);
    assert!(!failed.contains(&"GS1002".to_owned()), "{failed:?}");
    assert_eq!(messages(script, 28900), ["secure", "validate", "sync_request", "sync_response"]);
}

/// A client of a game, without a validate.
fn unvalidated(game: &str) -> String {
    format!(
        r"0.00 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
0.02 c > m:28900 tcp '\\gamename\\{game}\\location\\0\\final\\'
0.03 c > m:28900 tcp '\\list\\\\gamename\\{game}\\final\\'
0.05 m:28900 > c tcp '\\ip\\192.0.2.4:7778\\final\\' fin
0.06 c > m:28900 tcp fin
end 20"
    )
}

#[test]
fn the_game_that_the_document_exempts_needs_no_validate() {
    let codes = ["GS1011", "GS1012", "GS1014"];
    let of = |game: &str| {
        let verdicts = verdicts(&unvalidated(game), 28900);
        codes.map(|code| verdicts.get(code).cloned().unwrap_or_default())
    };
    assert_eq!(of("ut"), ["fail"; 3]);
    let [note, ..] = of("deusex");
    let (_project, file) = Project::of_script(&unvalidated("deusex"), &Setting::udp(28900));
    assert_eq!(gamewire(["check", "--no-config", &file]).code, 0, "GS1011 is a note: {note}");
}

#[test]
fn game_spy_2_and_qr2_are_other_protocols() {
    let two = "0.0 c > s  FEFD00 01020304 FF0000\n0.02 s > c  00 01020304 'hostname\\0A\\0\\0'\n\
               1.0 c > s  FEFD00 01020304 00FF00\n1.02 s > c  00 01020304 'a\\0b\\0c'\nend 9";
    assert_eq!(failed(two, 10481), Vec::<String>::new());
    let qr2 = "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'\n\
               1.00 c > s  FEFD08 11223344\n2.00 c > s  FEFD05 11223344\nend 9";
    assert_eq!(failed(qr2, 6500), ["GS4002"], "05 is neither, 08 is QR2's");
}

#[test]
fn a_player_who_joins_gets_no_challenge_of_the_query_protocol() {
    let info = "FFFFFFFF 54 'Source Engine Query' 00";
    let answer =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let script = format!(
        "0.0 c > s  {info}\n0.02 s > c  {answer}\n1.0 c:27005 > s  FFFFFFFF 'getchallenge steam'\n\
         1.02 s > c:27005  FFFFFFFF 'A00000000 1234567 3 1m 0' 0A\nend 9"
    );
    assert_eq!(messages(&script, 27015)[3], "game_connection");
    let failed = failed(&script, 27015);
    assert!(!failed.contains(&"A2S020".to_owned()), "{failed:?}");
    // In answer to a request for a challenge, it is one.
    let asked = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D52299\nend 9";
    assert!(self::failed(asked, 27015).contains(&"A2S020".to_owned()));
}

#[test]
fn lists_are_cut_off_at_the_size_of_a_datagram() {
    let list = |length: usize| {
        // 10 bytes before the name, as many behind it as it takes.
        format!(
            "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n0.03 c > s  FFFFFFFF 55 4BA1D522\n\
             0.05 s > c  FFFFFFFF 44 02 00 'Ann' 00 03000000 f32:61.5 01 'x'*{}\nend 9",
            length - 20
        )
    };
    for length in [1_200, 1_248, 1_260, 1_400, 1_460] {
        // A2S002 is about the packet's size.
        let mut failed = failed(&list(length), 27015);
        failed.retain(|code| code != "A2S002");
        assert_eq!(failed, ["A2S008"], "{length}");
    }
    assert!(!failed(&list(900), 27015).contains(&"A2S008".to_owned()));
}

#[test]
fn a_gamespy_answer_goes_to_the_query_that_asks_for_its_keys() {
    let script = r"0.0 c > s  '\\status\\'
1.0 c > s  '\\info\\'
1.02 s > c  '\\hostname\\A\\mapname\\M\\numplayers\\0\\maxplayers\\8\\queryid\\1.1\\final\\'
end 20";
    let (_project, file) = Project::of_script(script, &Setting::udp(7778));
    let run = gamewire(["check", "--no-config", "--select", "GS1030", &file]);
    assert!(run.out.contains("status"), "{}", run.out);
    let run = gamewire(["dissect", "--format", "json", &file]);
    assert!(run.out.lines().nth(2).unwrap().contains("\"request\":2"), "{}", run.out);
}

#[test]
fn a_master_under_two_names_repeats_the_challenge_of_either_join() {
    let script = "0.00 s:27015 > m  71 FF le32:111\n0.01 s:27015 > m  71 FF le32:999\n\
                  0.03 m > s:27015  FFFFFFFF 730A le32:5000 le32:111\n\
                  0.04 m > s:27015  FFFFFFFF 730A le32:6000 le32:999\nend 1";
    assert!(!failed(script, 27010).contains(&"VM031".to_owned()));
    let other = script.replace("le32:5000 le32:111", "le32:5000 le32:222");
    assert!(failed(&other, 27010).contains(&"VM031".to_owned()));
}

#[test]
fn messages_of_a_game_are_shown_in_its_words() {
    let info = "FFFFFFFF 54 'Source Engine Query' 00";
    let answer =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    // Other clients than the one that asks for info.
    let script = format!(
        "0.0 c > s  {info}\n0.02 s > c  {answer}\n1.0 c2 > s  FFFFFFFF 'qconnect0x01B4D3E5' 00000000\n\
         1.1 c3 > s  FFFFFFFF 'rcon 7 status' 0A\n1.12 s > c3  FFFFFFFF 'banned' 00\nend 9"
    );
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    let dissect = gamewire(["dissect", &file]).out;
    for words in
        ["a2s unknown             qconnect 0x01B4D3E5", "rcon \"7 status\"", "byte 'b' anned"]
    {
        assert!(dissect.contains(words), "{words}: {dissect}");
    }
    let json = gamewire(["dissect", "--format", "json", &file]).out;
    assert!(json.contains(r#""fields":{"command":"rcon","text":"7 status"}"#), "{json}");
    let check = gamewire(["check", "--no-config", "--format", "json", &file]).out;
    assert!(check.contains(r#"\"rcon\" is a message of the game, not of A2S"#), "{check}");
    let follow = gamewire(["follow", "2", &file]).out;
    assert!(follow.contains("0x01B4D3E5"), "{follow}");
}

#[test]
fn game_traffic_of_a_known_server_is_of_no_other_game() {
    // A player's packets are numbered from any number on: 0x79 and 0x80 are those of Unreal 2's queries.
    let played: String = (0..4)
        .map(|n| {
            format!(
                "{n}.1 c:27005 > s  79000000 0{n}000000 'x'*40\n{n}.2 s > c:27005  80000000 0{n}000000 'y'*90\n"
            )
        })
        .collect();
    let info = "FFFFFFFF 54 'Source Engine Query' 00";
    let answer =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let script = format!("0.0 c > s  {info}\n0.02 s > c  {answer}\n{played}end 9");
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    for command in ["summary", "diagnose"] {
        let shown = gamewire([command, &file]).out;
        assert!(!shown.contains("Unreal"), "{command}: {shown}");
    }
    // Its own queries still are.
    let query = "0.0 c > s  79000000 00\n0.02 s > c  80000000 00 'x'*20\nend 9";
    let (_project, file) = Project::of_script(query, &Setting::udp(7778));
    let shown = gamewire(["diagnose", &file]).out;
    assert!(shown.contains("Unreal 2"), "{shown}");
}

/// Packets of a game count up: some begin as a master's query, or as a GameSpy 4 request, and a player's client may have
/// the port of a master.
#[test]
fn packets_of_a_game_are_no_messages_however_they_begin() {
    let traffic = |[client, server]: [u16; 2], begins: &str| {
        let mut script = String::new();
        for nth in 0..40 {
            let (at, bytes) =
                (nth as f64 / 10.0, format!("{begins} {nth:02x}000000 B1652216 4A58"));
            writeln!(script, "{at:.2} c:{client} > s:{server}  {bytes}").unwrap();
            writeln!(script, "{:.2} s:{server} > c:{client}  {bytes} 00", at + 0.01).unwrap();
        }
        // Eight packets each way before one that may be a message.
        script + "end 60"
    };
    let counting = |ports, begins: &str| {
        let script = traffic(ports, "02000000");
        let late = format!(
            "5.00 c:{0} > s:{1}  {begins} B1652216 4A58\n5.01 s:{1} > c:{0}  {begins} B1652216 4A58\nend 60",
            ports[0], ports[1]
        );
        messages(&script.replace("end 60", &late), 27015)
    };
    assert_eq!(counting([27010, 27014], "31000000 31000000"), Vec::<String>::new());
    assert_eq!(counting([50000, 6500], "FEFD0000 FBFD0000 00"), Vec::<String>::new());
    // Queries of the same socket are still messages.
    assert_eq!(
        counting([27010, 27014], "FFFFFFFF 54 'Source Engine Query' 00"),
        ["info_request"; 2]
    );
}

/// Where the capture begins in the middle of a game, one of the first packets may have any number.
#[test]
fn the_first_packets_of_a_game_are_no_messages_whatever_their_numbers() {
    for first in [0x30_u32, 0x0130, 0x2030, 0x5C2F, 0x0001_0030, 0x0001_5C2F] {
        let mut script = String::new();
        for nth in 0..3 {
            let number = |by| {
                let bytes = u32::to_le_bytes(first + nth + by);
                bytes.map(|byte| format!("{byte:02x}")).concat()
            };
            let (own, confirmed) = (number(0), number(7));
            writeln!(script, "{nth}.00 c:27010 > s:27014  {own} {confirmed} B1652216 4A58")
                .unwrap();
            writeln!(script, "{nth}.01 s:27014 > c:27010  {confirmed} {own} 00000000").unwrap();
        }
        assert_eq!(messages(&(script + "end 60"), 27015), Vec::<String>::new(), "{first:x}");
    }
}

/// What a client asks in one word is a query, whether its name is known or not.
#[test]
fn a_word_between_backslashes_is_a_query() {
    let answer = "'\\\\hostname\\\\A\\\\mapname\\\\M\\\\numplayers\\\\0\\\\maxplayers\\\\8\\\\queryid\\\\1.1\\\\final\\\\'";
    let script = format!("0.0 c > s  '\\\\bots\\\\'\n0.1 s > c  {answer}\nend 20");
    assert_eq!(messages(&script, 7790).len(), 2, "{script}");
}
