//! `gamewire scrub`: its output has the same verdicts, and no personal data.

use crate::support::examples;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::support::project::Project;
use crate::support::{gamewire, samples, skip, small_recorded_captures};
use captures::exchange::Setting;
use serde_json::Value;

/// A capture made of another one; removed when the test ends.
struct Scrubbed(PathBuf, String);

impl Scrubbed {
    fn of(input: &Path, key: &str, options: &[&str]) -> Scrubbed {
        let name = input.file_name().unwrap().to_string_lossy().into_owned();
        let id = std::process::id();
        let output = std::env::temp_dir().join(format!("gamewire-scrub-{id}-{key}-{name}.pcapng"));
        let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
        let args = ["scrub", "--no-config", "--key", key, from, "-o", to];
        let run = gamewire(args.iter().chain(options));
        assert_eq!((run.code, run.out.as_str()), (0, ""), "{name}: {}", run.err);
        Scrubbed(output, run.err)
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }

    /// The written file with all its fields, including those of decompressed responses.
    fn all_bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes();
        let messages = messages(&self.0);
        messages.iter().for_each(|it| bytes.extend(it["fields"].to_string().into_bytes()));
        bytes
    }
}

impl Drop for Scrubbed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn check(capture: &Path) -> Value {
    let path = capture.to_str().unwrap();
    let args = ["check", "--no-config", "--verify-checksums", "--format", "json", path];
    serde_json::from_str(&gamewire(args).out).unwrap()
}

/// How often each rule passed, failed and was inconclusive.
fn rules(report: &Value) -> BTreeMap<String, [u64; 3]> {
    let counts =
        |rule: &Value| ["passed", "failed", "inconclusive"].map(|key| rule[key].as_u64().unwrap());
    let rules = report["rules"].as_array().unwrap();
    rules.iter().map(|rule| (rule["code"].as_str().unwrap().to_owned(), counts(rule))).collect()
}

fn messages(capture: &Path) -> Vec<Value> {
    let path = capture.to_str().unwrap();
    let run = gamewire(["dissect", "--no-config", "--full", "--format", "json", path]);
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The differences between the verdicts on the output and on the capture, by rule; `None` if it has compressed
/// responses, whose contents cannot be compared.
fn differences(capture: &Path) -> Option<Vec<String>> {
    let (input, scrubbed) = (check(capture), Scrubbed::of(capture, "a key", &[]));
    let output = check(&scrubbed.0);
    if scrubbed.1.contains("compressed") {
        return None;
    }
    let mut differences = Vec::new();
    for key in ["messages", "answered"] {
        if input[key] != output[key] {
            differences.push(format!("{key}: {} became {}", input[key], output[key]));
        }
    }
    let after = rules(&output);
    for (code, mut before) in rules(&input) {
        let mut after = after[&code];
        // Headers and checksums of other traffic and of tunnels are not in the output.
        if ["NET002", "NET003", "NET004", "NET005", "NET013"].contains(&code.as_str()) {
            (before[0], after[0]) = (0, 0);
        }
        // Nor are the packets of other content that flood a server.
        if code == "SEC007" {
            continue;
        }
        if before != after {
            differences.push(format!("{code}: {before:?} became {after:?}"));
        }
    }
    Some(differences)
}

/// The answers of `diagnose`: for each server, items with verdict and cause.
fn answers(capture: &Path) -> Vec<String> {
    let path = capture.to_str().unwrap();
    let run = gamewire(["diagnose", "--no-config", "--format", "json", path]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let server = |server: &Value| {
        let items = server["items"].as_array().unwrap().iter();
        let item = |item: &Value| format!("{} {} {}", item["item"], item["verdict"], item["cause"]);
        Vec::from_iter(items.map(item)).join(", ")
    };
    let mut answers = Vec::from_iter(report["servers"].as_array().unwrap().iter().map(server));
    // The order of the servers is that of their addresses.
    answers.sort();
    answers
}

#[test]
fn diagnoses_stay_the_same() {
    let mut compared = 0;
    let recorded = small_recorded_captures().into_iter().flatten();
    for capture in samples().into_iter().chain(recorded) {
        let scrubbed = Scrubbed::of(&capture, "diagnose", &[]);
        if !scrubbed.1.contains("compressed") {
            assert_eq!(answers(&capture), answers(&scrubbed.0), "{}", capture.display());
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

/// Asserts that the verdicts are the same. Returns false if they cannot be compared.
fn keeps_its_verdicts(capture: &Path) -> bool {
    let differences = differences(capture);
    let compared = differences.is_some();
    assert_eq!(differences.unwrap_or_default(), [""; 0], "{}", capture.display());
    compared
}

#[test]
fn verdicts_stay_the_same() {
    let compared = samples().iter().filter(|sample| keeps_its_verdicts(sample)).count();
    assert!(compared > 25, "{compared}");
}

/// The same for the right and wrong examples of each rule.
#[test]
fn verdicts_of_every_rule_stay_the_same() {
    let path =
        std::env::temp_dir().join(format!("gamewire-scrub-rule-{}.pcap", std::process::id()));
    let (mut compared, mut failed, mut wrong) = (0, BTreeSet::new(), String::new());
    for rule in dissectors::catalogue::rules() {
        for is_right in [true, false] {
            let script = if is_right { rule.right } else { rule.wrong };
            std::fs::write(&path, examples::play(rule, script, is_right).unwrap()).unwrap();
            let Some(differences) = differences(&path) else { continue };
            compared += 1;
            let of = if is_right { "right" } else { "wrong" };
            for difference in differences {
                wrong += &format!("{}, {of}: {difference}\n", rule.code);
            }
            let counts = rules(&check(&path));
            failed.extend(counts.into_iter().filter(|it| it.1[1] > 0).map(|it| it.0));
        }
    }
    std::fs::remove_file(path).unwrap();
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(compared > 200, "{compared}");
    for code in ["NET001", "NET008", "NET009", "NET010", "NET012", "NET014"] {
        assert!(failed.contains(code), "{code}");
    }
}

/// Wireshark accepts the markers for packets that could not be read.
#[test]
fn tshark_reads_the_output() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/a2s-quirks.pcap");
    let path = std::env::temp_dir().join(format!("gamewire-scrub-cut-{}.pcap", std::process::id()));
    let mut bytes = std::fs::read(sample).unwrap();
    bytes.truncate(bytes.len() - 3);
    std::fs::write(&path, bytes).unwrap();
    let scrubbed = Scrubbed::of(&path, "tshark", &[]);
    std::fs::remove_file(path).unwrap();
    let [_, failed, _] = rules(&check(&scrubbed.0))["NET009"];
    assert_eq!(failed, 1);
    let ran = std::process::Command::new("tshark").arg("-r").arg(&scrubbed.0).output();
    match ran {
        Ok(ran) => {
            let err = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{err}");
            let lines = String::from_utf8_lossy(&ran.stdout).lines().count();
            assert_eq!(lines as u64, check(&scrubbed.0)["packets"].as_u64().unwrap());
        }
        Err(error) => skip::skipped("tshark", &error.to_string()),
    }
}

/// The addresses of a capture: of hosts, and in lists.
fn addresses(messages: &[Value]) -> BTreeSet<IpAddr> {
    let mut found = BTreeSet::new();
    for message in messages {
        let fields = &message["fields"];
        let servers = fields["servers"].as_array().into_iter().flatten();
        let ends = [&message["src"], &message["dst"], &fields["address"]];
        let ends = ends.into_iter().chain(servers).filter_map(Value::as_str);
        found.extend(ends.filter_map(|end| Some(end.parse::<SocketAddr>().ok()?.ip())));
    }
    found
}

/// Searches for the addresses of a capture in the output: as text, as bytes, and as reversed bytes. Returns their
/// number. Replacements of others may be there by chance.
fn loses_its_addresses(capture: &Path) -> usize {
    let scrubbed = Scrubbed::of(capture, "addresses", &[]);
    let (before, after) = (addresses(&messages(capture)), addresses(&messages(&scrubbed.0)));
    let is_gone = |it: &&IpAddr| !it.is_loopback() && !it.is_unspecified() && !after.contains(*it);
    let (bytes, mut searched) = (scrubbed.all_bytes(), 0);
    for address in before.iter().filter(is_gone) {
        let octets = match address {
            IpAddr::V4(it) => it.octets().to_vec(),
            IpAddr::V6(it) => it.octets().to_vec(),
        };
        let reversed = octets.iter().rev().copied().collect();
        let text = address.to_string().into_bytes();
        // Zeros and small numbers are also in many other fields.
        let is_telling = address.is_ipv6() || !octets.contains(&0);
        // A longer number may contain the text.
        let is_apart = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_digit());
        let forms = [(text, true), (octets, false), (reversed, false)];
        for (form, is_text) in forms.into_iter().filter(|(_, is_text)| *is_text || is_telling) {
            let at = memchr::memmem::find_iter(&bytes, &form).find(|&at| {
                let before = at.checked_sub(1).and_then(|at| bytes.get(at));
                !is_text || is_apart(before) && is_apart(bytes.get(at + form.len()))
            });
            assert_eq!(at, None, "{}: {address}", capture.display());
        }
        searched += 1;
    }
    searched
}

#[test]
fn no_address_is_left() {
    // With thousands of random addresses, some are found by chance.
    let is_small = |sample: &&PathBuf| !sample.to_string_lossy().contains("abuse-");
    let samples = samples();
    let searched = samples.iter().filter(is_small).map(|sample| loses_its_addresses(sample));
    let searched: usize = searched.sum();
    assert!(searched > 100, "{searched}");
    let Some(files) = small_recorded_captures() else { return };
    let searched = files.iter().map(|file| loses_its_addresses(file));
    let searched = Vec::from_iter(searched.filter(|count| *count > 0));
    assert!(searched.len() >= 8, "{searched:?}");
}

#[test]
fn recorded_captures_keep_their_verdicts_and_lose_their_names() {
    let Some(files) = small_recorded_captures() else { return };
    let (mut compared, mut searched) = (0, 0);
    for file in files {
        compared += usize::from(keeps_its_verdicts(&file));
        searched += loses_its_names(&file);
    }
    assert!(compared > 8 && searched > 20, "{compared} {searched}");
}

/// Texts of messages that are personal data.
fn private_texts(message: &Value, found: &mut BTreeSet<String>) {
    let fields = &message["fields"];
    let mut add = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        // A short text may be part of another one.
        if text.len() > 6 && text.is_ascii() && text.parse::<f64>().is_err() {
            found.insert(text.to_owned());
        }
    };
    ["name", "map", "game", "keywords", "sourcetv_name", "link", "steam_id"]
        .iter()
        .for_each(|key| add(&fields[*key]));
    for list in ["players", "teams"] {
        for player in fields[list].as_array().into_iter().flatten() {
            ["name", "steam_id", "player_"].iter().for_each(|key| add(&player[*key]));
        }
    }
    for map in [&fields["info"], &fields["properties"], fields] {
        ["hostname", "map", "mapname", "OwningPlayerName"].iter().for_each(|key| add(&map[*key]));
    }
}

fn text<'m>(fields: &'m Value, key: &str) -> Option<&'m str> {
    fields[key].as_str()
}

/// Searches for the texts of a capture in the output, also reversed. Returns their number.
fn loses_its_names(capture: &Path) -> usize {
    let mut texts = BTreeSet::new();
    let messages = messages(capture);
    messages.iter().for_each(|message| private_texts(message, &mut texts));
    // Names of games are kept, and some maps and servers have the same name.
    let mut games = Vec::new();
    for fields in messages.iter().map(|message| &message["fields"]) {
        games.extend([text(fields, "folder"), text(fields, "gamename")]);
        games.push(text(&fields["properties"], "gamename"));
    }
    let games = Vec::from_iter(games.into_iter().flatten());
    texts.retain(|text| !games.iter().any(|game| game.contains(text.as_str())));
    let scrubbed = Scrubbed::of(capture, "names", &[]);
    let bytes = scrubbed.all_bytes();
    for text in &texts {
        let reversed: Vec<u8> = text.bytes().rev().collect();
        for form in [text.as_bytes(), &reversed] {
            let found = bytes.windows(form.len()).any(|window| window == form);
            assert!(!found, "{}: {text:?}", capture.display());
        }
    }
    texts.len()
}

#[test]
fn no_name_is_left() {
    let searched: usize = samples().iter().map(|sample| loses_its_names(sample)).sum();
    assert!(searched > 60, "{searched}");
}

#[test]
fn addresses_are_replaced_consistently_and_keep_their_prefixes() {
    let ends = |messages: &[Value]| -> Vec<IpAddr> {
        let mut found = Vec::new();
        for message in messages {
            for key in ["src", "dst"] {
                found.push(message[key].as_str().unwrap().parse::<SocketAddr>().unwrap().ip());
            }
            for server in message["fields"]["servers"].as_array().into_iter().flatten() {
                let text = server.as_str().unwrap_or_default();
                found.extend(text.parse::<SocketAddr>().map(|end| end.ip()));
            }
        }
        found
    };
    let mut changed = 0;
    for name in ["valve-master-list.pcap", "gamespy1-list.pcap", "valve-master-xash3d.pcapng"] {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name);
        let scrubbed = Scrubbed::of(&sample, "addresses", &[]);
        let (before, after) = (ends(&messages(&sample)), ends(&messages(&scrubbed.0)));
        assert_eq!(before.len(), after.len(), "{name}");
        let mut others = BTreeMap::new();
        for (old, new) in before.iter().zip(&after) {
            assert_eq!(others.entry(old).or_insert(new), &new, "{name}: {old}");
            changed += usize::from(old != new);
        }
        assert_eq!(BTreeSet::from_iter(others.values()).len(), others.len(), "{name}");
        let octets = |address: &IpAddr| match address {
            IpAddr::V4(it) => it.octets().to_vec(),
            IpAddr::V6(it) => it.octets().to_vec(),
        };
        let common = |a: &IpAddr, b: &IpAddr| {
            octets(a).iter().zip(octets(b)).take_while(|(a, b)| **a == *b).count()
        };
        for ((one, new_one), (other, new_other)) in others.iter().zip(others.iter().skip(1)) {
            assert_eq!(common(one, other), common(new_one, new_other), "{name}: {one} {other}");
        }
    }
    assert!(changed > 100, "{changed}");
}

#[test]
fn replacements_depend_on_the_key() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/gamespy4-ut3.pcap");
    let of = |key| Scrubbed::of(&sample, key, &[]).bytes();
    assert_eq!(of("one"), of("one"));
    assert_ne!(of("one"), of("two"));
}

#[test]
fn other_traffic_is_left_out_unless_its_headers_are_requested() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/silence-others.pcap");
    let without = Scrubbed::of(&sample, "without", &[]);
    assert!(without.1.contains("4 packets of other traffic left out"), "{}", without.1);
    let with = Scrubbed::of(&sample, "with", &["--keep-foreign"]);
    let report = check(&with.0);
    assert_eq!(report["packets"], 4);
    assert!(with.1.contains("wrote 4 packets"), "{}", with.1);
}

#[test]
fn messages_can_be_selected() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    for (name, filter, count) in [
        ("a2s-info-players-rules.pcap", "a2s.info_response", 1),
        ("gamespy1-list.pcap", "gamespy1.secure", 2),
    ] {
        let sample = samples.join(name);
        let scrubbed = Scrubbed::of(&sample, "chosen", &["-Y", filter]);
        let messages = messages(&scrubbed.0);
        assert_eq!(messages.len(), count, "{name}: {messages:?}");
        let expected = filter.rsplit('.').next().unwrap();
        assert!(messages.iter().all(|message| message["message"] == expected), "{name}");
    }
}

/// Scrubs a capture that a script makes, and gives its fields.
fn fields_of(script: &str, port: u16) -> Vec<Value> {
    let name = format!("gamewire-scrub-script-{}-{port}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    let capture =
        captures::exchange::capture(script, &captures::exchange::Setting::udp(port)).unwrap();
    std::fs::write(&path, capture.pcap()).unwrap();
    let scrubbed = Scrubbed::of(&path, "script", &[]);
    std::fs::remove_file(path).unwrap();
    messages(&scrubbed.0).into_iter().map(|message| message["fields"].clone()).collect()
}

/// A backslash in a value makes values of keys, and keys of values.
#[test]
fn keys_and_values_that_change_places_are_replaced() {
    let fields = fields_of(
        concat!(
            r"0.00 c > s:7778  '\\status\\'",
            "\n",
            r"0.02 s:7778 > c  '\\gamename\\ut\\hostname\\Bob\\x\\mapname\\Anns place\\",
            r"player_0\\\\o/\\frags_0\\3\\player_1\\ZebtQuxa\\final\\\\queryid\\1.1'"
        ),
        7778,
    );
    let properties = fields[1]["properties"].as_object().unwrap();
    assert_eq!((properties.len(), &properties["gamename"]), (7, &Value::from("ut")));
    let all = fields[1].to_string();
    for lost in ["Bob", "Anns", "place", "ZebtQuxa"] {
        assert!(!all.contains(lost), "{lost}: {all}");
    }
    // Words of the protocol are nobody's secret, also where a value is expected.
    assert!(properties.values().any(|value| value == "player_0"), "{all}");
}

/// Short numbers and flags are kept only where they are known to be some.
#[test]
fn values_of_unknown_keys_are_replaced() {
    let fields = fields_of(
        "0.00 c > s  FFFFFFFF 56 4BA1D522\n0.02 s > c  FFFFFFFF 45 0400 'rcon_pw' 00 '4711' 00 \
         'sv_pwd' 00 '2580' 00 'mp_timelimit' 00 '30' 00 'sv_contact' 00 '5550123' 00",
        27015,
    );
    let rules = fields[1]["rules"].as_array().unwrap();
    let value = |at: usize| rules[at]["value"].as_str().unwrap();
    assert_eq!((value(2), &rules[2]["name"]), ("30", &Value::from("mp_timelimit")));
    assert!(value(0) != "4711" && value(1) != "2580" && value(3) != "5550123", "{rules:?}");
    assert!(rules[0]["name"] != "rcon_pw" && value(0).len() == 4);
}

#[test]
fn invalid_options_are_rejected() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/gamespy4-ut3.pcap");
    let sample = sample.to_str().unwrap();
    let nowhere = "/nonexistent/out.pcapng";
    for (args, why) in [
        (vec![sample, "-o", sample], "would be destroyed"),
        (vec![sample, sample, "-o", nowhere], "scrub reads one capture"),
        (vec![sample, "-o", nowhere], "cannot write /nonexistent/out.pcapng"),
        (vec![sample, "-o", nowhere, "-w", nowhere], "are for other commands"),
    ] {
        let run = gamewire(["scrub", "--no-config"].iter().chain(&args));
        assert!(run.code == 2 && run.err.contains(why), "{args:?}: {}", run.err);
    }
}

/// A compressed list, ten lists of which a part is missing, and an info response.
fn compressed_and_cut_short() -> String {
    let data = "425A6839314159265359AA00404D0000094580E0000200064684000000A000220341908069A68428DDAE9E330B538F177245385090AA00404D";
    let ask = |at: u32| {
        format!(
            "{at}.00 c > s  FFFFFFFF 56 FFFFFFFF\n{at}.02 s > c  FFFFFFFF 41 4BA1D522\n\
             {at}.04 c > s  FFFFFFFF 56 4BA1D522\n"
        )
    };
    let (first, second) = data.split_at(40);
    let mut script = ask(0);
    script += &format!("0.06 s > c  FEFFFFFF 01000080 02 00 E004 le32:18 217F1CC2 {first}\n");
    script += &format!("0.07 s > c  FEFFFFFF 01000080 02 01 E004 {second}\n");
    for nth in 1..=10 {
        script += &ask(5 * nth);
        let header = format!("FEFFFFFF le32:{} 03", 100 + nth);
        let at = 5 * nth;
        script += &format!("{at}.06 s > c  {header} 00 1400 FFFFFFFF 45 0100 'motd' 00\n");
        script += &format!("{at}.07 s > c  {header} 01 1400 'abcdefghijkl'\n");
    }
    script += "80.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n";
    script += "80.02 s > c  FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00\n";
    script + "end 90"
}

/// What is cut from a compressed response says nothing about others.
#[test]
fn a_compressed_response_hides_no_fault_of_others() {
    let (_project, file) = Project::of_script(&compressed_and_cut_short(), &Setting::udp(27015));
    let input = Path::new(&file);
    let scrubbed = Scrubbed::of(input, "compressed", &[]);
    assert!(scrubbed.1.contains("1 compressed response"), "{}", scrubbed.1);
    let reports = [check(input), check(&scrubbed.0)];
    for key in ["verdict", "messages", "answered"] {
        assert_eq!(reports[0][key], reports[1][key], "{key}");
    }
    let [before, after] = reports.each_ref().map(rules);
    for code in ["A2S042", "A2S043", "A2S052", "A2S053", "A2S054", "A2S061", "A2S062", "SEC004"] {
        assert_eq!(before[code], after[code], "{code}");
    }
    assert_eq!(before["A2S043"], [1, 10, 0]);
    assert_eq!((before["A2S046"], after["A2S046"]), ([1, 0, 0], [0, 0, 1]));
    let diagnosed = |path: &Path| gamewire(["diagnose", "--no-config", path.to_str().unwrap()]);
    assert_eq!((diagnosed(input).code, diagnosed(&scrubbed.0).code), (1, 1));
    // What was cut may contradict the others.
    let same = r#""seen.believable" "yes" null"#;
    let unknown = r#""seen.believable" "unknown" "capture_drops""#;
    let before = answers(input).iter().map(|it| it.replace(same, unknown)).collect::<Vec<_>>();
    assert_eq!(before, Vec::from_iter(answers(&scrubbed.0)));
}

/// Lists that contradict the description are compressed: that nothing contradicts it is not known of the copy.
#[test]
fn what_a_compressed_response_contradicts_is_unknown() {
    let Some(files) = crate::support::captures("recorded") else {
        return skip::skipped("captures", "no recorded captures are here");
    };
    let is_it =
        |file: &&PathBuf| file.ends_with("a2s_stub-server_source_split-sourcebz2_clients.pcap");
    let Some(file) = files.iter().find(is_it) else {
        return skip::skipped("captures", "it is not here");
    };
    let scrubbed = Scrubbed::of(file, "contradicts", &[]);
    let said = |path: &Path| {
        let run = gamewire(["diagnose", "--no-config", path.to_str().unwrap()]).out;
        let line = run.lines().find(|line| line.contains("says the same in all responses"));
        line.expect("a line").to_owned()
    };
    assert!(said(file).starts_with("?    ") && said(file).contains("60 in its list"));
    let copy = said(&scrubbed.0);
    assert!(copy.starts_with("?    ") && copy.contains("it was not recorded whole"), "{copy}");
}

/// A few of very many names stay too much the same when they are replaced: what they become is no name of
/// another one.
#[test]
fn different_names_of_a_message_stay_different() {
    let names: String = (0..2000).map(|nth| format!("'r{nth:05}' 00 '1' 00 ")).collect();
    let script = format!(
        "0.00 c > s  FFFFFFFF 56 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
         0.04 c > s  FFFFFFFF 56 4BA1D522\n0.06 s > c  FFFFFFFF 45 D007 {names}"
    );
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    for key in ["names", "b", "c", "d"] {
        let scrubbed = Scrubbed::of(Path::new(&file), key, &[]);
        assert_eq!(rules(&check(&scrubbed.0))["A2S034"], [1, 0, 0], "{key}");
    }
}
