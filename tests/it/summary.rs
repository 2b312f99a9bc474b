//! `gamewire summary`: what people read, and its numbers against a count of their own over `dissect` and
//! `flows`.

use crate::support::exchanges;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::exchanges::Between;
use crate::support::project::Project;
use crate::support::{gamewire, samples, small_recorded_captures};
use captures::exchange::Setting;
use dissectors::Id;
use dissectors::kit::Habits;
use serde_json::Value;

fn out(args: &[&str]) -> String {
    let run = gamewire(args.iter().chain(&["--no-config"]));
    assert_eq!(run.code, 0, "{args:?}: {}", run.err);
    run.out
}

fn lines(args: &[&str]) -> Vec<Value> {
    out(args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_people_read() {
    for name in ["a2s-quirks", "gamespy4-ut3", "acr-master", "valve-master-registration"] {
        let file = format!("samples/{name}.pcap");
        insta::assert_snapshot!(format!("summary-{name}"), out(&["summary", &file]));
    }
    let file = "samples/a2s-quirks.pcap";
    let markdown = out(&["summary", "--format", "markdown", "--table", "servers", file]);
    insta::assert_snapshot!("summary-markdown", markdown);
    insta::assert_snapshot!("summary-csv", out(&["summary", "--format", "csv", file, file]));
}

/// What one table of a summary has in a column, by the first column.
fn column(summary: &Value, table: &str, key: &str, name: &str) -> BTreeMap<String, Value> {
    let rows = summary[table].as_array().unwrap().iter();
    rows.map(|row| (row[key].as_str().unwrap().to_owned(), row[name].clone())).collect()
}

/// Counts that are not 0.
fn some(counts: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn counts(summary: &Value, table: &str, key: &str, name: &str) -> BTreeMap<String, u64> {
    let column = column(summary, table, key, name).into_iter();
    some(column.map(|(key, value)| (key, value.as_u64().unwrap())).collect())
}

fn host(end: &Value) -> String {
    let end: std::net::SocketAddr = end.as_str().unwrap().parse().unwrap();
    end.ip().to_string()
}

/// Who speaks a message, as the list of fields and messages has it.
fn is_request(message: &Value) -> bool {
    let name = message["message"].as_str().unwrap();
    match message["protocol"].as_str().unwrap() {
        "a2s" | "gamespy4" => name.ends_with("_request"),
        "valve_master" => name == "query",
        "acr_master" => name == "client_request",
        _ => matches!(name, "list_request" | "query"),
    }
}

/// Holds a summary against a count over what `dissect` and `flows` say of the same capture.
fn is_true(file: &Path) {
    let file = file.to_str().unwrap();
    let summary = lines(&["summary", "--format", "json", file]).remove(0);
    let mut messages = lines(&["dissect", "--format", "json", file]);
    messages.retain(|message| message.get("copy_of").is_none());
    let flows = lines(&["flows", "--format", "json", file]);

    let mut by_protocol = BTreeMap::new();
    let (mut asked, mut sent) = (BTreeMap::new(), BTreeMap::new());
    let mut largest_time: BTreeMap<String, f64> = BTreeMap::new();
    let (mut whole, mut listed, mut waiting) = (0, BTreeSet::new(), BTreeSet::new());
    for message in &messages {
        let protocol = message["protocol"].as_str().unwrap();
        *by_protocol.entry(protocol.to_owned()).or_insert(0) += 1;
        if is_request(message) {
            *sent.entry(host(&message["src"])).or_insert(0) += 1;
            let name = message["message"].as_str().unwrap();
            if matches!(protocol, "a2s" | "gamespy4") || (protocol, name) == ("gamespy1", "query") {
                let server = message["dst"].as_str().unwrap().to_owned();
                *asked.entry(server).or_insert(0) += 1;
            }
        }
        if let Some(time) = message.get("response_time").and_then(Value::as_f64) {
            let longest = largest_time.entry(protocol.to_owned()).or_default();
            *longest = longest.max(time);
        }
        if message["message"] == "query" && message["fields"]["seed"] == "0.0.0.0:0" {
            waiting.insert(message["src"].to_string());
        }
        if message["message"] == "reply" && protocol == "valve_master" {
            let is_end = message["fields"]["end"] == true;
            whole += u64::from(is_end && waiting.remove(&message["dst"].to_string()));
            let servers = message["fields"]["servers"].as_array().into_iter().flatten();
            listed.extend(servers.map(|it| it.as_str().unwrap().to_owned()));
        }
    }
    // A master that checks servers is not a client, unless it asks for a list itself.
    let from = |name: &str| -> BTreeSet<String> {
        let sent = messages.iter().filter(|message| message["message"] == name);
        sent.map(|message| host(&message["src"])).collect()
    };
    let (checking, asking) = (from("secure"), from("list_request"));
    sent.retain(|host, _| asking.contains(host) || !checking.contains(host));
    listed.retain(|server| !server.starts_with("0.0.0.0:"));

    assert_eq!(counts(&summary, "protocols", "protocol", "messages"), by_protocol, "{file}");
    assert_eq!(counts(&summary, "servers", "server", "sent"), asked, "{file}");
    let kinds =
        column(&summary, "clients", "client", "kinds").into_iter().map(|(client, kinds)| {
            let of_ours = kinds.as_object().unwrap().iter().filter(|(name, _)| {
                let (protocol, message) = name.split_once('.').unwrap();
                is_request(&serde_json::json!({"protocol": protocol, "message": message}))
            });
            (client, of_ours.map(|(_, count)| count.as_u64().unwrap()).sum())
        });
    assert_eq!(some(kinds.collect()), sent, "{file}");
    for (protocol, longest) in column(&summary, "protocols", "protocol", "response_time_max") {
        let longest = longest.as_f64().unwrap_or_default();
        let counted = largest_time.get(&protocol).copied().unwrap_or_default();
        assert!((longest - counted).abs() < 2e-6, "{file}: {protocol}: {longest} {counted}");
    }
    let masters = summary["masters"].as_array().unwrap().iter();
    let masters: Vec<_> = masters.filter(|it| it["protocol"] == "valve_master").collect();
    let sum = |name: &str| masters.iter().map(|it| it[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("lists_whole"), whole, "{file}");
    if masters.iter().filter(|it| it["listed"] != 0).count() == 1 {
        assert_eq!(sum("listed"), listed.len() as u64, "{file}");
    }
    let of_flows = |name: &str| -> u64 {
        let of_ours = flows.iter().filter(|it| !it["protocol"].is_null());
        of_ours.map(|flow| flow[name].as_u64().unwrap()).sum()
    };
    let sum =
        |name: &str| -> u64 { counts(&summary, "protocols", "protocol", name).values().sum() };
    assert_eq!(sum("findings"), of_flows("findings"), "{file}");
    exchanges_are_true(file, &summary, &messages);
    assert_eq!(summary["cut"], serde_json::json!([]), "{file}");

    // Of what a server answered, `dissect` says how often it had been sent.
    let mut repeats = BTreeMap::new();
    for message in messages.iter().filter(|message| message.get("tries").is_some()) {
        let server = message["src"].as_str().unwrap().to_owned();
        *repeats.entry(server).or_insert(0) += message["tries"].as_u64().unwrap() - 1;
    }
    let requests = counts(&summary, "servers", "server", "requests");
    for (server, sent) in &asked {
        let most = sent - repeats.get(server).copied().unwrap_or_default();
        assert!((1..=most).contains(&requests[server]), "{file}: {server}: {requests:?} {most}");
    }
}

/// Samples in which challenges come from elsewhere, so that nobody can say which exchange goes on with them.
const FROM_ELSEWHERE: [&str; 2] =
    ["abuse-answers-from-another-host.pcap", "diagnose-queries-faults.pcap"];

/// Holds the exchanges of a summary against a count of them.
fn exchanges_are_true(file: &str, summary: &Value, messages: &[Value]) {
    if FROM_ELSEWHERE.iter().any(|name| file.ends_with(name)) {
        return;
    }
    let counted = exchanges::count(messages);
    let sums = |key: &dyn Fn(&Between) -> Option<String>| {
        let mut sums = BTreeMap::<_, [u64; 2]>::new();
        for (key, it) in counted.iter().filter_map(|(between, it)| Some((key(between)?, it))) {
            let [asked, answered] = sums.entry(key).or_default();
            (*asked, *answered) = (*asked + it.asked, *answered + it.answered);
        }
        sums
    };
    let rows = |table: &str, key: &str| {
        let rows = summary[table].as_array().unwrap().iter();
        let numbers = |row: &Value| ["exchanges", "answered"].map(|it| row[it].as_u64().unwrap());
        rows.map(|row| (row[key].as_str().unwrap().to_owned(), numbers(row)))
            .collect::<BTreeMap<_, _>>()
    };
    let mut of_protocols = sums(&|it| Some(it.protocol.clone()));
    let protocols = rows("protocols", "protocol");
    for name in protocols.keys() {
        of_protocols.entry(name.clone()).or_default();
    }
    assert_eq!(protocols, of_protocols, "{file}");
    let is_of_servers = |it: &&Between| matches!(&*it.protocol, "a2s" | "gamespy4" | "gamespy1");
    let of_servers = sums(&|it| is_of_servers(&it).then(|| it.asked.clone()));
    for (server, numbers) in rows("servers", "server") {
        assert_eq!(
            numbers,
            of_servers.get(&server).copied().unwrap_or_default(),
            "{file}: {server}"
        );
    }
    let of_clients = sums(&|it| it.client.clone());
    for (client, numbers) in rows("clients", "client") {
        assert_eq!(numbers, of_clients[&client], "{file}: {client}");
    }
}

#[test]
fn numbers_are_those_of_a_count_of_its_own() {
    let samples = samples();
    assert!(!samples.is_empty());
    samples.iter().for_each(|sample| is_true(sample));
}

#[test]
fn numbers_of_recorded_captures_are_true() {
    let files = small_recorded_captures();
    files.into_iter().flatten().for_each(|file| is_true(&file));
}

#[test]
fn tables_are_chosen_sorted_and_shortened() {
    let file = "samples/a2s-quirks.pcap";
    let by_name = out(&["summary", "--table", "servers", "--sort", "name", "--top", "2", file]);
    let names: Vec<_> = by_name.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(names, ["NAME", "Hybrid", "Trailing", "server;"], "{by_name}");
    assert!(by_name.ends_with("1 more server; see --top\n"), "{by_name}");
    // A column is known by its heading, too.
    let servers = |by: &str| out(&["summary", "--table", "servers", "--sort", by, file]);
    assert_eq!(servers("P95"), servers("response_time_p95"));
    assert_eq!(servers("asked"), servers("exchanges"));
    assert_ne!(servers("asked"), servers("SERVER"));
    assert_eq!(gamewire(["summary", "--sort", "", file]).code, 2);
    let ports = out(&["summary", "--table", "ports", "samples/silence-others.pcap"]);
    assert_eq!(
        ports,
        "TRANSPORT   PORT  PACKETS  PROTOCOL\nudp           53        2  -\n\
         udp        27960        2  Quake 3\n"
    );
    let some = lines(&["summary", "--format", "json", "--host", "10.0.2.2", file]);
    let servers = column(&some[0], "servers", "server", "sent");
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["10.0.2.2:27015"]);
    let filter = "a2s.info_response.max_players > 24";
    let wanted = lines(&["flows", "--format", "json", "-Y", filter, file]);
    let some = lines(&["summary", "--format", "json", "-Y", filter, file]);
    assert_eq!(some[0]["protocols"][0]["flows"], wanted.len(), "only their flows count");
    assert_eq!(some[0]["protocols"][0]["messages"], 2, "only these messages do");
}

#[test]
fn a_shortened_table_has_the_first_rows_of_the_whole_one() {
    let sample = |name| format!("samples/{name}.pcap");
    for file in ["a2s-quirks", "silence-others", "valve-master-list"].map(sample) {
        for (table, column) in [("servers", "sent"), ("clients", "rate"), ("ports", "port")] {
            let args = ["summary", "--format", "csv", "--table", table, "--sort", column, &file];
            let whole = out(&args);
            for top in 1..=whole.lines().count() {
                let some = out(&[&args[..], &["--top", &top.to_string()]].concat());
                let rows = whole.lines().take(1 + top);
                assert!(some.lines().eq(rows), "{file} {table} {top}: {some}");
            }
        }
    }
}

#[test]
fn changes_are_a_column_if_there_are_any() {
    let headings = |file: &str| {
        let table = out(&["summary", "--table", "servers", &format!("samples/{file}.pcap")]);
        table.lines().next().unwrap().to_owned()
    };
    assert!(headings("a2s-quirks").contains("  CHANGES  "));
    assert!(!headings("a2s-info-players-rules").contains("CHANGES"));
}

#[test]
fn the_rate_of_a_slow_client_is_not_none() {
    let clients = out(&["summary", "--table", "clients", "samples/diagnose-masters.pcap"]);
    assert!(clients.contains("  15.0/min  ") && clients.contains("  6.2/h  "), "{clients}");
    assert!(!clients.contains(" 0.0"), "{clients}");
}

#[test]
fn doubled_datagrams_are_no_other_traffic() {
    let ports = |file: &str| out(&["summary", "--table", "ports", "--format", "csv", file]);
    let only = "transport,port,packets,protocol,capture\r\n";
    assert_eq!(ports("samples/gamespy4-ut3-split.pcap"), only);
    let doubled = "samples/silence-doubled.pcap";
    assert_eq!(ports(doubled), format!("{only}udp,9,1,,{doubled}\r\n"));
}

#[test]
fn links_are_named() {
    let links = |file: &str| lines(&["summary", "--format", "json", file])[0]["links"].clone();
    assert_eq!(links("samples/a2s-quirks.pcap"), serde_json::json!(["Ethernet"]));
    let all: BTreeSet<_> =
        samples().iter().map(|it| links(&it.to_string_lossy()).to_string()).collect();
    assert!(all.len() > 2, "samples have several link types: {all:?}");
}

#[test]
fn a_table_that_is_cut_says_so() {
    let args = ["summary", "--limit", "flow-bytes=4096", "samples/a2s-quirks.pcap"];
    let cut = out(&args);
    assert!(cut.contains("there are more servers than fit into memory; see --memory"), "{cut}");
}

/// The summary of a script's capture.
fn of_script(name: &str, script: &str, port: u16) -> Value {
    let project = Project::new(&format!("summary-{name}"));
    project.play("capture.pcap", &Setting::udp(port), script);
    lines(&["summary", "--format", "json", &project.path("capture.pcap")]).remove(0)
}

#[test]
fn repeats_of_what_waits_are_one_request() {
    let numbers = |summary: &Value, table: &str| {
        ["sent", "requests", "exchanges", "answered"]
            .map(|it| summary[table][0][it].as_u64().unwrap())
    };
    let a2s = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.5 c > s  FFFFFFFF 55 FFFFFFFF\n\
        0.6 s > c  FFFFFFFF 41 le32:7\n0.7 c > s  FFFFFFFF 55 le32:7\n1.2 c > s  FFFFFFFF 55 le32:7\n\
        1.3 s > c  FFFFFFFF 44 00\n20.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n\
        20.5 c > s  FFFFFFFF 54 'Source Engine Query' 00\nend 60";
    let summary = of_script("a2s", a2s, 27015);
    // Players with and without a challenge, and info: three requests, two exchanges.
    assert_eq!(numbers(&summary, "servers"), [6, 3, 2, 1]);
    assert_eq!(numbers(&summary, "clients"), [6, 3, 2, 1]);
    let text = r"0.0 c > s '\\info\\'
0.5 c > s '\\info\\'
0.6 s > c '\\hostname\\A\\queryid\\1.1\\final\\'
9.0 c > s '\\info\\'
9.1 s > c '\\hostname\\A\\queryid\\2.1\\final\\'
end 60";
    assert_eq!(numbers(&of_script("gamespy1", text, 7778), "servers"), [3, 2, 2, 2]);
    let ut3 = "0.0 c > s  FEFD 09 00000007\n0.5 c > s  FEFD 09 00000007\n\
        0.6 s > c  09 00000007 '9' 00\n0.7 c > s  FEFD 00 00000008 00000009 FFFFFF01\nend 60";
    assert_eq!(numbers(&of_script("gamespy4", ut3, 6500), "servers")[..2], [3, 2]);
    // A client that begins anew while its request waits goes on with the same exchange.
    let round = |at: f64, number: u8| {
        format!(
            "{at:.2} c > s  FEFD 09 00000007\n+0.02 s > c  09 00000007 '{number}' 00\n\
             +0.02 c > s  FEFD 00 00000007 be32:{number} FFFFFF01\n"
        )
    };
    let rounds = [round(0.0, 9), round(1.1, 8), round(2.2, 8)].concat();
    let summary = of_script("gamespy4-anew", &format!("{rounds}end 60"), 6500);
    assert_eq!(numbers(&summary, "servers")[2..], [1, 0]);
    let rounds = [round(0.0, 9), round(1.1, 8), round(9.0, 7)].concat();
    let summary = of_script("gamespy4-later", &format!("{rounds}end 60"), 6500);
    assert_eq!(numbers(&summary, "servers")[2..], [2, 0]);
    let master = "0.0 c > m  31FF '0.0.0.0:0' 00 00\n0.5 c > m  31FF '0.0.0.0:0' 00 00\n\
        0.6 m > c  FFFFFFFF 660A ip:10.0.0.2:27015 ip:0.0.0.0:0\nend 60";
    let summary = of_script("valve", master, 27010);
    assert_eq!(numbers(&summary, "clients")[..2], [2, 1]);
}

#[test]
fn a_challenge_that_was_all_that_was_asked_for_is_an_answer() {
    let challenge = "{at}.0 c > s  FEFD 09 000000{nth}\n{at}.02 s > c  09 000000{nth} '77' 00\n";
    let challenge =
        |at: u32| challenge.replace("{at}", &at.to_string()).replace("{nth}", &format!("{at:02}"));
    let info = |at: u32| format!("{at}.0 c > s  FEFD 00 000000{at:02} be32:77 FFFFFF01\n");
    let response = |at: u32| {
        format!("{at}.02 s > c  00 000000{at:02} 'splitnum' 00 80 00 'hostport' 00 '1' 00 00\n")
    };
    let fared = |nth: u32, steps: &[String]| {
        let script = format!("{}end 40", steps.concat());
        let summary = of_script(&format!("summary-challenges-{nth}"), &script, 6500);
        let protocols = summary["protocols"].as_array().unwrap();
        let protocol = protocols.iter().find(|it| it["protocol"] == "gamespy4").unwrap();
        let [asked, answered] =
            ["exchanges", "answered"].map(|name| protocol[name].as_u64().unwrap());
        assert_eq!(summary["servers"][0]["answered"], answered, "{script}");
        assert_eq!(summary["clients"][0]["answered"], answered, "{script}");
        [asked, answered]
    };
    assert_eq!(fared(1, &[challenge(1), challenge(11)]), [2, 2]);
    assert_eq!(fared(2, &[challenge(1), info(2)]), [1, 0], "the variables were asked for");
    assert_eq!(fared(3, &[challenge(1), info(2), response(2), challenge(11)]), [2, 2]);
    // It did not know the challenge, and asks the same again with it.
    let later = |step: String| step.replacen("1.0", "3.0", 1);
    assert_eq!(fared(5, &[info(1), challenge(2), later(info(1)), later(response(1))]), [2, 1]);
    assert_eq!(fared(4, &[challenge(1), challenge(11), info(12), info(13)]), [3, 1]);
}

#[test]
fn a_list_that_is_cut_is_not_whole() {
    let given = |name: &str| {
        let summary =
            lines(&["summary", "--format", "json", &format!("samples/{name}.pcap")]).remove(0);
        let masters = summary["masters"].as_array().unwrap().iter();
        let masters = masters.filter(|it| it["protocol"] == "gamespy1" && it["lists_asked"] != 0);
        masters.map(|it| it["lists_whole"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(given("diagnose-masters"), [1, 1]);
    assert_eq!(given("diagnose-masters-faults"), [0], "it ends without \\final\\");
}

#[test]
fn an_enciphered_list_may_be_whole_or_not() {
    let files = small_recorded_captures().into_iter().flatten();
    let mut files = files.filter(|file| file.to_string_lossy().contains("list-3500servers"));
    let Some(file) = files.next() else { return };
    let file = file.to_str().unwrap();
    let summary = lines(&["summary", "--format", "json", file]).remove(0);
    let master = &summary["masters"][0];
    let lists = ["lists_asked", "lists_whole", "lists_enciphered"].map(|it| master[it].as_u64());
    assert_eq!(lists, [Some(4), Some(1), Some(2)]);
    let text = out(&["summary", "--table", "masters", file]);
    assert!(text.contains("  1, 2 ?  "), "{text}");
}

#[test]
fn all_habits_are_looked_for() {
    let most = dissectors::Id::ALL.iter().map(|id| id.info().habits.len()).max();
    assert!(most <= Some(16), "a socket's possible habits are 16 bits: {most:?}");
}

fn libraries(summary: &Value) -> BTreeSet<String> {
    let clients = summary["clients"].as_array().unwrap().iter();
    let names = clients.flat_map(|client| client["libraries"].as_array().unwrap());
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn libraries_of_recorded_clients() {
    let Some(files) = small_recorded_captures() else { return };
    let expected = [
        (
            "a2s_xash3d-fwgs_13clients_plain.pcap",
            &["GameQ", "python-a2s or ValvePython/steam", "qstat", "source-server-query"][..],
        ),
        ("gs4_gamespy-sdk-qr2_clients_plain.pcap", &["gamedig", "opengsq", "qstat"]),
        ("acr-http_acrms-php_acserver-curl_plain.pcap", &["AssaultCube Reloaded", "curl"]),
        ("gsv1_333net-qt5_list-3500servers_plain.pcap", &["GameSpy SDK"]),
        ("xash3d_master_real.pcap", &["Xash3D"]),
    ];
    for (name, libraries_of) in expected {
        let file = files.iter().find(|file| file.ends_with(name)).unwrap();
        let summary = lines(&["summary", "--format", "json", file.to_str().unwrap()]).remove(0);
        let expected: BTreeSet<_> = libraries_of.iter().map(|it| it.to_string()).collect();
        assert_eq!(libraries(&summary), expected, "{name}");
    }
}

/// What was recorded of each library, and no entry without such.
#[test]
fn each_habit_is_one_that_was_recorded() {
    const PYTHON: &str = "python-a2s or ValvePython/steam";
    let info = |rest: &[u8]| [&b"\xFF\xFF\xFF\xFFTSource Engine Query\0"[..], rest].concat();
    let asks = |kind: u8, rest: &[u8]| [&[0xFF, 0xFF, 0xFF, 0xFF, kind][..], rest].concat();
    let (given, none, twice) =
        (&[7, 1, 2, 3][..], &[0xFF; 4][..], &[7, 1, 2, 3, 255, 255, 255, 255][..]);
    let gs4 = |bytes: &[u8], rest: &[u8]| [b"\xFE\xFD", bytes, rest].concat();
    let full = b"\xFF\xFF\xFF\x01";
    let recorded: [(Id, &str, Vec<Vec<u8>>); 15] = [
        (Id::A2s, PYTHON, vec![asks(b'U', &[0; 4]), asks(b'U', given)]),
        (Id::A2s, PYTHON, vec![asks(b'V', &[0; 4]), asks(b'V', given)]),
        (Id::A2s, "GameQ", vec![asks(b'V', &[0; 4]), info(given)]),
        (Id::A2s, "source-server-query", vec![asks(b'U', twice)]),
        (Id::A2s, "source-server-query", vec![asks(b'V', twice)]),
        (Id::A2s, "qstat", vec![info(b""), asks(b'U', none), asks(b'V', given)]),
        (Id::GameSpy4, "qstat", vec![gs4(b"\x09\x10\x20\x30\x40", b"")]),
        (Id::GameSpy4, "qstat", vec![gs4(b"\0\x10\x20\x30\x40", full)]),
        (Id::GameSpy4, "opengsq", vec![gs4(b"\x09\x04\x05\x06\x07", b"")]),
        (Id::GameSpy4, "opengsq", vec![gs4(b"\0\x04\x05\x06\x07", full)]),
        (Id::GameSpy4, "gamedig", vec![gs4(b"\x09\0\0\0\x01", &[0; 4])]),
        (Id::GameSpy1, "GameSpy SDK", vec![br"\list\cmp\gamename\mohaa\where\\final\".to_vec()]),
        (
            Id::ValveMaster,
            "Xash3D",
            vec![b"1\xFF0.0.0.0:0\0\\gamedir\\valve\\nat\\0\\clver\\0.21\0".to_vec()],
        ),
        (
            Id::AcrMaster,
            "AssaultCube Reloaded",
            vec![b"GET /c HTTP/1.1\r\nUser-Agent: ACR-Client/20700\r\n\r\n".to_vec()],
        ),
        (Id::AcrMaster, "curl", vec![b"GET /c HTTP/1.1\r\nUser-Agent: curl/8.5\r\n\r\n".to_vec()]),
    ];
    for (id, library, messages) in &recorded {
        let mut sent = Habits::default();
        let named = messages.iter().filter_map(|message| sent.sends(id.info().habits, message));
        assert_eq!(named.last(), Some(*library), "{messages:02X?}");
    }
    let entries: usize = Id::ALL.iter().map(|id| id.info().habits.len()).sum();
    assert_eq!(recorded.len(), entries, "each entry has what was recorded of it");
}

#[test]
fn a_library_is_named_where_its_habit_is_its_own() {
    let script = |first: &str, second: &str| {
        format!("0.0 c > s  {first}\n0.02 s > c  FFFFFFFF 41 le32:7\n0.1 c > s  {second}\nend 9")
    };
    let of = |name: &str, first: &str, second: &str| {
        libraries(&of_script(name, &script(first, second), 27015)).into_iter().collect::<Vec<_>>()
    };
    let (players, rules) = ("FFFFFFFF 55", "FFFFFFFF 56");
    let python = of("python", &format!("{players} 00000000"), &format!("{players} le32:7"));
    assert_eq!(python, ["python-a2s or ValvePython/steam"]);
    let source =
        of("source", &format!("{players} FFFFFFFF"), &format!("{players} le32:7 FFFFFFFF"));
    assert!(source.is_empty(), "the request with an appended challenge has a socket of its own");
    let info = "FFFFFFFF 54 'Source Engine Query' 00";
    assert_eq!(of("gameq", &format!("{rules} 00000000"), &format!("{info} le32:7")), ["GameQ"]);
    assert!(of("anybody", info, &format!("{info} le32:7")).is_empty(), "all libraries do so");
}

#[test]
fn a_library_is_known_by_all_that_it_sent_whatever_messages_are_wanted() {
    let project = Project::new("summary-wanted-library");
    let script = "0.0 c > s  FFFFFFFF 56 00000000\n0.02 s > c  FFFFFFFF 41 le32:7\n\
                  0.1 c > s  FFFFFFFF 54 'Source Engine Query' 00 le32:7\nend 9";
    project.play("capture.pcap", &Setting::udp(27015), script);
    let file = project.path("capture.pcap");
    let of = |wanted: &str| {
        let args = ["summary", "--format", "json", "-Y", wanted, &file];
        libraries(&lines(&args).remove(0)).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(of("a2s.info_request"), ["GameQ"]);
    assert!(of("a2s.rules_request").is_empty(), "that alone shows nothing");
}

#[test]
fn names_that_are_not_utf8_are_read_as_windows_1252_and_say_so() {
    let script = "0.000  c > s  FFFFFFFF 54 'Source Engine Query' 00\n\
                  0.020  s > c  FFFFFFFF 49 11 'Caf' E9 ' Paris' 00 'm' 00 'f' 00 'g' 00 le16:730 \
                  00 10 00 'dl' 00 01 '1' 00\n";
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    for command in [&["summary"][..], &["summary", "--format", "json"], &["dissect"]] {
        let run = gamewire(command.iter().chain(&["--no-config", &*file]));
        assert!(run.out.contains("Caf\u{E9} Paris"), "{command:?}: {} {}", run.out, run.err);
        assert!(run.out.contains("(Latin-1)"), "{command:?}: {}", run.out);
    }
    let said = gamewire(["diagnose", "--no-config", &*file]).out;
    assert!(said.contains("\"Caf\u{E9} Paris (Latin-1)\""), "{said}");
    let (_project, windows) = Project::of_script(&script.replace("E9", "93"), &Setting::udp(27015));
    for command in ["summary", "dissect", "diagnose"] {
        let out = gamewire([command, "--no-config", &*windows]).out;
        assert!(out.contains("Caf\u{201C} Paris"), "{command}: {out}");
        assert!(out.contains("(Windows-1252)"), "{command}: {out}");
    }
    // The tree keeps the bytes.
    let tree = gamewire(["dissect", "--tree", "--format", "json", "--no-config", &*file]).out;
    assert!(tree.contains("436166e9205061726973"), "{tree}");
}

#[test]
fn other_traffic_of_a_known_server_is_named_by_its_port() {
    let query = "0.000  c:5000 > s  FFFFFFFF 54 'Source Engine Query' 00\n\
                 0.020  s > c:5000  FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 \
                 00 10 00 'dl' 00 01 '1' 00\n";
    let game = "0.100  c:5001 > s  01020304 05\n0.110  s > c:5001  01020304 06\n";
    let (_project, file) = Project::of_script(&[query, game].concat(), &Setting::udp(27015));
    let said = out(&["summary", &file]);
    assert!(said.contains("other traffic: 2 packets (UDP 27015: 2)"), "{said}");
}

#[test]
fn near_protocols_are_named() {
    let script = "0.000  c > s:28960  FFFFFFFF 'getstatus' 0A\n\
                  0.020  s:28960 > c  FFFFFFFF 'statusResponse' 0A\n\
                  1.000  c > s:9987  'TS3INIT1' 00 65\n\
                  2.000  c > s:5000  01020304 05\n";
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    let said = out(&["summary", &file]);
    let expected = "other traffic: 4 packets (UDP 28960, Quake 3: 2, UDP 5000: 1, \
                    UDP 9987, TeamSpeak 3: 1)";
    assert!(said.contains(expected), "{said}");
}

/// Of a flow that is alone, both commands have the same times.
#[test]
fn response_times_are_those_of_flows() {
    let script = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n\
                  0.01 s > c  FFFFFFFF 41 11223344\n\
                  0.02 c > s  FFFFFFFF 55 11223344\n\
                  0.52 s > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5\n\
                  end 20";
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    let summary = &lines(&["summary", "--format", "json", &file])[0]["servers"][0];
    let flow = &lines(&["flows", "--format", "json", &file])[0];
    for name in ["p50", "p95", "max"] {
        let name = format!("response_time_{name}");
        assert!(summary[&name].is_number(), "{summary:#}");
        assert_eq!(summary[&name], flow[&name], "{name}: {flow:#}");
    }
}
