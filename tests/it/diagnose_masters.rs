//! `gamewire diagnose`: each master has its own items, and packets without messages count, too.

use crate::support::diagnosis::{self, diagnosed_at as diagnosed, item_with as item, validated};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use captures::wire::{START, TimedPacket};
use serde_json::Value;

/// A server's heartbeats to a text master, one a minute.
fn heartbeats(master: &str, count: u32, after: impl Fn(u32) -> String) -> String {
    let beat = |nth: u32| {
        let at = nth * 60;
        let text = r"'\\heartbeat\\7778\\gamename\\ut\\'";
        format!("{at}.00 s:7778 > {master}:27900  {text}\n{}", after(at))
    };
    (0..count).map(beat).collect()
}

#[test]
fn a_master_that_stops_challenging_has_accepted_the_server() {
    let once = |at: u32| if at == 0 { validated("m", 0) } else { String::new() };
    let good = diagnosed(&(heartbeats("m", 4, once) + "end 300"), 7778);
    assert_eq!(item(&good, "reg.accepted", "10.0.0.9"), "yes");
    // One that challenges at each heartbeat has not.
    let always = diagnosed(&(heartbeats("m", 5, |at| validated("m", at)) + "end 400"), 7778);
    assert_eq!(item(&always, "reg.accepted", "10.0.0.9"), "no rechallenged_always");
    // After the first heartbeat behind the answer, that is not known yet.
    let early = diagnosed(&(heartbeats("m", 2, once) + "end 100"), 7778);
    assert_eq!(item(&early, "reg.accepted", "10.0.0.9"), "unknown not_in_capture");
}

#[test]
fn the_result_follows_the_best_master() {
    let refused = |at: u32| {
        let mut rest = if at == 0 { validated("m", 0) } else { String::new() };
        rest += &format!(
            "{at}.10 s:7778 > n:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\n{at}.11 n > s:7778  icmp=3.1\n"
        );
        rest
    };
    let report = diagnosed(&(heartbeats("m", 4, refused) + "end 300"), 7778);
    let masters: std::collections::BTreeSet<_> = report["servers"][0]["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["master"].as_str())
        .collect();
    assert_eq!(masters.len(), 2, "{masters:?}");
    assert_eq!(report["servers"][0]["verdict"], "ok");
    let dead = masters.iter().find(|master| !master.starts_with("10.0.0.9:")).unwrap();
    assert_eq!(item(&report, "reg.challenged", dead), "no icmp_host_unreachable");
    assert_eq!(item(&report, "reg.accepted", "10.0.0.9:"), "yes");
}

#[test]
fn a_challenge_alone_proves_no_registration() {
    let join = "0.0 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le32:7\n";
    let info = |lan: u8| {
        format!(
            "{join}0.03 s:27015 > m  300A '\\\\protocol\\\\47\\\\challenge\\\\7\\\\players\\\\3\\\\max\\\\24\\\\bots\\\\0\\\\gamedir\\\\tfc\\\\map\\\\2fort\\\\type\\\\d\\\\password\\\\0\\\\os\\\\l\\\\secure\\\\0\\\\lan\\\\{lan}\\\\version\\\\1.1.2.5/Stdio\\\\region\\\\255\\\\product\\\\tfc\\n'\nend 30"
        )
    };
    let report = diagnosed(&info(0), 27010);
    assert_eq!(item(&report, "reg.accepted", ""), "unknown not_in_capture");
    assert_eq!(item(&report, "reg.join", ""), "yes");
    assert_eq!(item(&diagnosed(&info(1), 27010), "reg.join", ""), "no lan_only");
}

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
/// With the game port 27016.
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 80 8869";

/// Three queries that are answered, and these packets.
fn answered(rest: &str) -> String {
    let round = |nth: u32| format!("{0}.0 c > s  {INFO}\n{0}.02 s > c  {ANSWER}\n", nth * 5);
    (0..3).map(round).collect::<String>() + rest + "\nend 60"
}

#[test]
fn the_announced_game_port_is_open_closed_or_silent() {
    let open = |rest: &str| item(&diagnosed(&answered(rest), 27015), "play.open", "");
    for packet in ["0102", "FFFFFFFF 'getchallenge steam' 0A 00", "FFFFFFFF 'qconnect 0x1' 00"] {
        let join = |at: u32| format!("{at}.0 c:61000 > s:27016  {packet}\n");
        let joins: String = (20..23).map(join).collect();
        assert_eq!(open(&format!("{joins}22.1 s:27016 > c:61000  0304")), "yes", "{packet}");
        assert_eq!(open(&format!("{joins}22.1 s > c:61000  icmp=3.3")), "no game_port_closed");
        assert_eq!(open(&joins), "no game_port_silent", "{packet}");
        assert_eq!(open(&join(20)), "unknown game_port_silent", "{packet}");
    }
}

#[test]
fn a_server_that_talks_to_steam_registers_there() {
    let steam = "20.0 s:27015 > n:27019  'VS01' 00\n20.1 n:27019 > s:27015  'VS01' 01";
    let report = diagnosed(&answered(steam), 27015);
    assert_eq!(item(&report, "reg.elsewhere", ""), "unknown registers_through_steam");
    let other = "20.0 s:27015 > n:27019  'XX01' 00\n20.1 n:27019 > s:27015  'XX01' 01";
    let items = diagnosed(&answered(other), 27015)["servers"][0]["items"].to_string();
    assert!(!items.contains("reg.elsewhere"), "{items}");
}

#[test]
fn a_text_master_that_accepts_connections_and_says_nothing() {
    let silent =
        "0.0 c > m:28900 tcp ''\n10.0 c > m:28900 tcp fin\n10.1 m:28900 > c tcp fin\nend 20";
    let report = diagnosed(silent, 28900);
    let items = report["masters"][0]["items"].to_string();
    assert!(items.contains("never_speaks"), "{report:#}");
}

/// Three seconds of requests to connect, to this address.
fn flood_of(to: &str) -> String {
    let packet = |nth: u32| {
        let (at, port) = (20.0 + f64::from(nth) / 2_000.0, 1_024 + nth);
        format!("{at:.4} d:{port} > {to}  'qconnect' {nth:08X}\n")
    };
    (0..6_000).map(packet).collect()
}

#[test]
fn a_flood_of_any_content_comes_before_everything_else() {
    let flood = flood_of("s");
    let report = diagnosed(&answered(&flood), 27015);
    assert_eq!(item(&report, "attack.none", ""), "no flooded");
    assert_eq!(report["servers"][0]["first_no"], "attack.none");
    // Few of them are none.
    let few: String = flood.lines().take(50).map(|line| format!("{line}\n")).collect();
    let items = diagnosed(&answered(&few), 27015)["servers"][0]["items"].to_string();
    assert!(!items.contains("attack.none"), "{items}");
}

/// It is the server's flood, whose answers announce that port; and nobody who plays was kept out.
#[test]
fn a_flood_of_the_game_port_is_one_of_the_server() {
    let flood = flood_of("s1");
    let (_project, file) = Project::of_script(&answered(&flood), &Setting::udp(27015));
    let (_, report) = diagnosis::report_of(&file, &[]);
    assert_eq!(item(&report, "attack.none", ""), "no flooded");
    assert_eq!(diagnosis::item(&report, "servers", "play.open"), "absent", "{report:#}");
    let address = &report["servers"][0]["addresses"][1];
    assert_eq!((&address["address"], &address["role"]), (&"10.0.0.2:27016".into(), &"game".into()));
    let run = gamewire(["diagnose", "--no-config", &file]);
    assert_eq!(run.out.matches("under attack").count(), 2, "headline and item: {}", run.out);
}

/// A list of a text master, in this second, with this one server.
fn list(master: &str, at: u32, server: &str) -> String {
    format!(
        "{at}.00 {master}:28900 > c tcp '\\\\basic\\\\\\\\secure\\\\XDWAOR'\n\
         {at}.02 c > {master}:28900 tcp '\\\\gamename\\\\ut\\\\location\\\\0\\\\validate\\\\3JOdDFU5\\\\final\\\\'\n\
         {at}.03 c > {master}:28900 tcp '\\\\list\\\\\\\\gamename\\\\ut\\\\final\\\\'\n\
         {at}.05 {master}:28900 > c tcp '\\\\ip\\\\{server}\\\\final\\\\' fin\n\
         {at}.06 c > {master}:28900 tcp fin\n"
    )
}

#[test]
fn each_of_two_masters_lists_the_server_with_another_port() {
    let beats = |at: u32| {
        let mut both = if at == 0 { validated("m", 0) } else { String::new() };
        both +=
            &format!("{at}.10 s:7778 > n:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\'\n");
        both + &if at == 0 { validated("n", 1) } else { String::new() }
    };
    let other = "10.0.0.2:7779";
    let script = heartbeats("m", 4, beats) + &list("m", 200, other) + &list("n", 210, other);
    let report = diagnosed(&(script + "end 300"), 7778);
    for master in ["10.0.0.9", "10.0.1.9"] {
        assert_eq!(item(&report, "list.address", master), "no listed_other_port", "{master}");
    }
    let items = report["servers"][0]["items"].as_array().unwrap();
    let listed = items.iter().filter(|item| item["item"] == "list.listed");
    assert!(
        listed.clone().count() == 2 && listed.clone().all(|it| it["text"] == "as 10.0.0.2:7779")
    );
}

/// Packets of others show that the recorder works, but not that it sees what the client gets.
#[test]
fn a_master_is_silent_if_the_client_gets_other_packets() {
    let ask = |at: u32| format!("{at}.00 c > m:27010  31FF '0.0.0.0:0' 00 00\n");
    let asks: String = (0..3).map(|nth| ask(nth * 5)).collect();
    let verdict = |others: &str| {
        let report = diagnosed(&format!("{asks}{others}end 40"), 27010);
        report["masters"][0]["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(""), "unknown");
    assert_eq!(verdict("12.0 d:50001 > o:53  'q'\n12.1 o:53 > d:50001  'a'\n"), "unknown");
    assert_eq!(verdict("12.0 c:50001 > o:53  'q'\n12.1 o:53 > c:50001  'a'\n"), "fault");
}

/// A list of AssaultCube Reloaded's master, with what comes before its lines and after them, and how it is closed.
fn acr_list(before: &str, after: &str, close: &str) -> Value {
    let script = format!(
        r"0.00 s:40000 > m tcp 'GET /r?v=140&g=20700&p=28770 HTTP/1.0\r\n\r\n'
0.02 m > s:40000 tcp 'HTTP/1.0 200 OK\r\n\r\nserver registered' fin
0.03 s:40000 > m tcp fin
20.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.0\r\n\r\n'
20.03 m > c tcp 'HTTP/1.1 200 OK\r\n{before}masterserver_flags 0\naddserver 10.0.1.2 28770 1\n{after}'
20.04 m > c tcp {close}
end 60"
    );
    let (_project, file) = Project::of_script(&script, &Setting::tcp(80));
    let run = gamewire(["diagnose", "--no-config", "--format", "json", &file]);
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn a_redirected_registration_says_where_to() {
    let script = r"0.00 s:40000 > m tcp 'GET /r?v=140&g=20700&p=28770 HTTP/1.0\r\n\r\n'
0.02 m > s:40000 tcp 'HTTP/1.1 301 Moved\r\nLocation: https://ms.example/r\r\nContent-Length: 0\r\n\r\n' fin
0.03 s:40000 > m tcp fin
end 60";
    let (_project, file) = Project::of_script(script, &Setting::tcp(80));
    let run = gamewire(["diagnose", "--no-config", &file]);
    assert!(run.out.contains("status 301, which points to https://ms.example/r"), "{}", run.out);
}

/// The verdict on a condition of the only master, and the cause.
fn of_master(report: &Value, name: &str) -> String {
    let items = report["masters"][0]["items"].as_array().unwrap();
    let item = items.iter().find(|it| it["item"] == name).unwrap();
    let cause = item["cause"].as_str().unwrap_or_default();
    format!("{} {cause}", item["verdict"].as_str().unwrap()).trim_end().to_owned()
}

#[test]
fn a_list_over_http_is_whole_if_its_body_ends() {
    let said = |before: &str, after: &str, close: &str| {
        let report = acr_list(before, after, close);
        [item(&report, "list.listed", ""), of_master(&report, "master.whole")]
    };
    let chunked = r"Transfer-Encoding: chunked\r\n\r\n30\r\n";
    for (before, after) in
        [(r"\r\n", ""), (r"Content-Length: 48\r\n\r\n", ""), (chunked, r"\r\n0\r\n\r\n")]
    {
        assert_eq!(said(before, after, "fin"), ["no not_in_list", "yes"], "{before}");
    }
    for (before, after, close) in [
        (r"\r\n", "", "rst"),
        (r"Content-Length: 600\r\n\r\n", "", "fin"),
        (r"Content-Length: 600\r\n\r\n", "", "rst"),
        (chunked, r"\r\n", "fin"),
    ] {
        assert_eq!(said(before, after, close), ["unknown list_cut", "no list_cut"], "{before}");
    }
}

/// Two clients ask a Valve master for lists, one of which it never answers; both are parties.
#[test]
fn clients_that_ask_for_lists_are_parties() {
    let list = "FFFFFFFF 66 0A 0A000102 6987 00000000 0000";
    let asked = |others: &str| {
        let round = |nth: u32| {
            let at = nth * 20;
            let ask = "31FF '0.0.0.0:0' 00 00";
            let answered =
                format!("{at}.00 c:5{nth} > m:27010  {ask}\n{at}.05 m:27010 > c:5{nth}  {list}\n");
            answered + &others.replace("AT", &(at + 5).to_string()).replace("ASK", ask)
        };
        (0..4).map(round).collect::<String>() + "end 100"
    };
    let report = diagnosed(&asked("AT.00 d:50001 > m:27010  ASK\n"), 27010);
    let of = |client: &str| {
        let all = report["clients"].as_array().unwrap();
        let client = all.iter().find(|it| it["client"] == client).unwrap();
        (client["verdict"].as_str().unwrap(), diagnosis::verdict_of(client, "ask.answered"))
    };
    assert_eq!(of("10.0.0.1"), ("ok", ["yes", ""].map(str::to_owned)));
    let ignored = ["no", "one_client_unanswered"].map(str::to_owned);
    let other = report["clients"].as_array().unwrap().iter().find(|it| it["client"] != "10.0.0.1");
    assert_eq!(of(other.unwrap()["client"].as_str().unwrap()), ("fault", ignored), "{report}");
    assert_eq!(of_master(&report, "master.lists"), "yes");
}

/// What a master refuses at first and gives later is mended, for each client on its own.
#[test]
fn a_client_that_is_accepted_later_is_not_refused() {
    let visit = |client: &str, at: u32, flags: u32| {
        format!(
            "{at}.00 {client} > m tcp 'GET /c?build_defs=4 HTTP/1.0\\r\\n\\r\\n'\n\
             {at}.03 m > {client} tcp 'HTTP/1.1 200 OK\\r\\n\\r\\nmasterserver_flags {flags}\\naddserver 10.0.1.2 28770 1\\n'\n\
             {at}.04 m > {client} tcp fin\n{at}.05 {client} > m tcp fin\n"
        )
    };
    let accepts = |script: String| {
        let (_project, file) = Project::of_script(&(script + "end 200"), &Setting::tcp(80));
        of_master(&diagnosis::report_of(&file, &[]).1, "master.accepts")
    };
    let banned = |client: &str, at: u32| visit(client, at, 2);
    let fine = |client: &str, at: u32| visit(client, at, 0);
    // Further bits say nothing of that.
    assert_eq!(accepts(fine("c:5001", 0) + &visit("c:5002", 60, 6)), "no banned");
    assert_eq!(accepts(banned("c:5001", 0) + &fine("c:5002", 60)), "yes");
    assert_eq!(accepts(fine("c:5001", 0) + &banned("c:5002", 60)), "no banned");
    assert_eq!(accepts(banned("c:5001", 0) + &fine("d:5002", 60)), "no banned");
}

/// A page of something else, in place of a list, is no list: a client behind a login page gets none.
#[test]
fn a_page_in_place_of_a_list_is_shown() {
    let visit = |at: u32, body: &str| {
        format!(
            "{at}.00 c:50{at:02} > m tcp 'GET /c?build_defs=4 HTTP/1.0\\r\\n\\r\\n'\n\
             {at}.03 m > c:50{at:02} tcp 'HTTP/1.1 200 OK\\r\\n\\r\\n{body}'\n\
             {at}.04 m > c:50{at:02} tcp fin\n{at}.05 c:50{at:02} > m tcp fin\n"
        )
    };
    let list = "masterserver_flags 0\\naddserver 10.0.1.2 28770 1\\n";
    let page = "<html><title>Please log in</title></html>";
    let accepts = |bodies: [&str; 2]| {
        let script = visit(10, bodies[0]) + &visit(40, bodies[1]) + "end 90";
        let (_project, file) = Project::of_script(&script, &Setting::tcp(80));
        of_master(&diagnosis::report_of(&file, &[]).1, "master.accepts")
    };
    assert_eq!(accepts([list, page]), "no refused_in_words");
    assert_eq!(accepts([page, page]), "no refused_in_words");
    assert_eq!(accepts([page, list]), "yes");
    assert_eq!(accepts([list, "masterserver_flags 0\\n"]), "yes", "an empty list is one");
}

/// Each page of a Valve list that is asked for once must come soon.
#[test]
fn a_page_that_comes_late_is_slow() {
    let listed = |late: u32| {
        let round = |nth: u32| {
            let at = nth * 40;
            format!(
                "{at}.00 c:500{nth}0 > m:27010  31FF '0.0.0.0:0' 00 00\n\
                 {}.05 m:27010 > c:500{nth}0  FFFFFFFF 660A 0A000002 6987 000000000000\n",
                at + late
            )
        };
        let script = (0..4).map(round).collect::<String>() + "end 200";
        of_master(&diagnosed(&script, 27010), "master.in_time")
    };
    assert_eq!(listed(27), "no list_slow");
    assert_eq!(listed(2), "yes");
}

/// While a client's window is closed, its master may not send.
#[test]
fn a_list_that_a_client_does_not_read_is_not_slow() {
    let script = r"0.00 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
0.02 c > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
0.03 c > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
0.05 m:28900 > c tcp '\\ip\\10.0.0.2:7778'
0.06 c > m:28900 tcp
27.00 c > m:28900 tcp
27.02 m:28900 > c tcp '\\ip\\10.0.1.2:7778\\final\\' fin
27.04 c > m:28900 tcp fin
end 60";
    let listed = |window: u16| {
        let mut capture = captures::exchange::capture(script, &Setting::udp(27015)).unwrap();
        let is_stop = |packet: &&mut TimedPacket| packet.time == START.after_ms(60);
        let stop = capture.packets.iter_mut().find(is_stop).unwrap();
        stop.bytes[14 + 20 + 14..][..2].copy_from_slice(&window.to_be_bytes());
        let (_project, file) = Project::of_capture(capture.pcap());
        of_master(&diagnosis::report_of(&file, &[]).1, "master.in_time")
    };
    assert_eq!(listed(0), "yes");
    assert_eq!(listed(500), "no list_slow");
}

/// A master answers a heartbeat in words, to the port that it came from.
#[test]
fn a_text_master_that_refuses_a_server_asks_it_nothing() {
    let told = |text: &str| {
        let words = |at: u32| format!("{at}.02 m:27900 > s:7778  '{text}'\n");
        diagnosed(&(heartbeats("m", 4, words) + "end 300"), 7778)
    };
    let banned = told(r"\\echo\\You are banned from this master server\\final\\");
    assert_eq!(item(&banned, "reg.accepted", "10.0.0.9"), "no registration_refused");
    let unclear = told(r"\\error\\Version outdated: 3\\final\\");
    assert_eq!(item(&unclear, "reg.accepted", "10.0.0.9"), "unknown registration_unclear");
    assert!(unclear.to_string().contains("Version outdated"), "{unclear:#}");
}

/// What is listed is the other server's.
#[test]
fn of_two_servers_of_a_host_one_is_listed() {
    let of_port = |port: &str, second: &str| {
        heartbeats("m", 4, |at| if at == 0 { validated("m", 0) } else { String::new() })
            .replace("7778", port)
            .replace(".0", &format!(".{second}"))
    };
    let lines = of_port("7778", "0") + &of_port("7788", "1");
    let mut lines: Vec<_> = lines.lines().collect();
    let time = |line: &&str| line.split(' ').next().unwrap().parse::<f64>().unwrap();
    lines.sort_by(|one, other| time(one).total_cmp(&time(other)));
    let script = lines.join("\n") + "\n" + &list("m", 200, "10.0.0.2:7778") + "end 300";
    let report = diagnosed(&script, 7778);
    let servers = report["servers"].as_array().unwrap();
    let found = |server: &str| {
        let server = servers.iter().find(|it| it["server"] == server).unwrap();
        diagnosis::verdict_of(server, "list.listed").join(" ")
    };
    assert_eq!(found("10.0.0.2:7778"), "yes ");
    assert_eq!(found("10.0.0.2:7788"), "no not_in_list", "{report:#}");
}

/// What a master lacks in its response is no refusal, and words of the protocol are not its own.
#[test]
fn a_response_without_its_first_line_is_no_refusal() {
    let accepts = |body: &str| {
        let length = body.len();
        let response = format!(r"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
        let script = format!(
            r"0.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.1\r\n\r\n'
0.02 m > c tcp '{response}' fin
end 60"
        );
        let report = diagnosis::diagnosed(&script, &Setting::tcp(80), &[]).1;
        diagnosis::item(&report, "masters", "master.accepts")
    };
    assert_ne!(accepts("current_version 20700 140 "), "no refused_in_words");
    assert_ne!(accepts("masterserve"), "no refused_in_words", "a word that was cut");
    assert_eq!(accepts("you are banned"), "no refused_in_words");
}

#[test]
fn a_list_from_a_port_that_nobody_asked_does_not_arrive() {
    let asked = |at: u32, port: u16| {
        format!(
            "{at}.00 c > m:27011  31 FF '0.0.0.0:0' 00 00\n\
             {at}.02 m:{port} > c  FFFFFFFF 660A 0A000002 6987 00000000 0000\n"
        )
    };
    let lists = |port: u16| {
        let script = String::from_iter([0, 20, 40].map(|at| asked(at, port)));
        let report = diagnosed(&(script + "end 90"), 27011);
        diagnosis::item(&report, "masters", "master.lists")
    };
    assert_eq!(lists(27011), "yes");
    assert_eq!(lists(27012), "no answers_from_other_port");
}

/// What a master gives in answer to a request for its list with these headers: a response of these bytes.
fn acr_answer(headers: &str, response: &str) -> Value {
    let script = format!(
        r"0.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.1\r\n{headers}\r\n'
0.02 m > c tcp {response} fin
end 60"
    );
    diagnosis::diagnosed(&script, &Setting::tcp(80), &[]).1
}

#[test]
fn a_response_that_ends_within_its_headers_is_no_whole_list() {
    for response in ["'HTTP/1.1 20'", r"'HTTP/1.1 200 OK\r\nContent-Ty'", r"'HTTP/1.1 200 OK\r\n'"]
    {
        let report = acr_answer("", response);
        assert_eq!(of_master(&report, "master.whole"), "no list_cut", "{response}");
        assert_eq!(of_master(&report, "master.accepts"), "yes", "{response}");
    }
    let refused = acr_answer("", r"'HTTP/1.1 404 Not Fou'");
    assert_eq!(of_master(&refused, "master.accepts"), "no refused_in_words");
}

#[test]
fn a_compressed_list_is_not_called_fine() {
    let gzip = r"'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n' 1F8B0800";
    let unasked = acr_answer("", gzip);
    assert_eq!(of_master(&unasked, "master.lists"), "no list_unreadable");
    assert_ne!(of_master(&unasked, "master.whole"), "yes");
    let asked = acr_answer(r"Accept-Encoding: gzip\r\n", gzip);
    assert_eq!(of_master(&asked, "master.lists"), "yes");
    let cut = acr_answer(r"Accept-Encoding: gzip\r\n", &gzip.replace("Length: 4", "Length: 9"));
    assert_eq!(of_master(&cut, "master.whole"), "no list_cut");
}

#[test]
fn a_registration_whose_response_cannot_be_read_is_unclear() {
    let accepted = |response: &str| {
        let script = format!(
            r"0.00 s:40000 > m tcp 'GET /r?v=140&g=20700&p=28770 HTTP/1.0\r\n\r\n'
0.02 m > s:40000 tcp {response} fin
0.03 s:40000 > m tcp fin
end 60"
        );
        item(&diagnosis::diagnosed(&script, &Setting::tcp(80), &[]).1, "reg.accepted", "")
    };
    let gzip = r"'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n' 1F8B0800";
    assert_eq!(accepted(gzip), "unknown registration_unclear");
    assert_eq!(accepted(r"'HTTP/1.1 200 OK\r\nContent-Ty'"), "no registration_unanswered");
    let empty = r"'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'";
    assert_eq!(accepted(empty), "unknown registration_unclear", "it says neither yes nor no");
}

/// Words in place of a list are the master's response, and say why there is none.
#[test]
fn a_master_that_refuses_in_words_after_a_right_validate_is_quoted() {
    let visit = |at: u32, words: &str| {
        format!(
            r"{at}.00 m:28900 > c:50{at}  tcp '\\basic\\\\secure\\XDWAOR'
{at}.02 c:50{at} > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
{at}.03 c:50{at} > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'
{at}.10 m:28900 > c:50{at}  tcp '{words}' fin
"
        )
    };
    let of = |words: &str| {
        let script = visit(10, words) + &visit(30, words) + &visit(50, words) + "end 90";
        diagnosis::diagnosed(&script, &Setting::tcp(28900), &[]).1
    };
    let refused = of("You failed to authenticate.");
    assert_eq!(of_master(&refused, "master.accepts"), "no refused_in_words", "{refused:#}");
    assert_ne!(of_master(&refused, "master.lists"), "no list_unanswered", "{refused:#}");
    assert!(refused.to_string().contains("You failed to authenticate."), "{refused:#}");
    assert_eq!(of_master(&of("Go away"), "master.accepts"), "no refused_in_words");
}

/// Advice must be possible: only requests of one protocol have filters.
#[test]
fn a_list_that_is_not_given_is_asked_for_without_a_filter_only_if_it_has_one() {
    let advice = dissectors::kit::causes::masters::LIST_UNANSWERED.advice;
    assert!(advice.ends_with("without a filter if the request has one."), "{advice}");
}

/// A list has one size, also where some of its servers are none: that which `dissect` shows.
#[test]
fn the_size_of_a_list_is_the_same_everywhere() {
    let valve = "0.00 c > m  31FF '0.0.0.0:0' 00 00\n\
        0.05 m > c  FFFFFFFF 660A 0A000002 6987 000000000000 00000000 6987 0A000004 0000 0A000002 6987 000000000000 AABB\n\
        end 60";
    let text = r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'
0.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
0.03 c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'
0.05 m:28900 > c  tcp '\\ip\\10.0.0.2:7778\\ip\\10.0.0.3\\ip\\0.0.0.0:0\\ip\\10.0.0.2:7778\\ip\\x\\final\\' fin
end 60";
    let http = r"0.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.0\r\n\r\n'
0.02 m > c tcp 'HTTP/1.1 200 OK\r\n\r\nmasterserver_flags 0\naddserver 10.0.1.2 28770 1\naddserver 10.0.1.3 65535\naddserver x\naddserver 0.0.0.0\naddserver 10.0.1.2 28770\n' fin
end 60";
    let settings = [Setting::udp(27010), Setting::tcp(28900), Setting::tcp(80)];
    for (script, setting) in [valve, text, http].into_iter().zip(settings) {
        let (_project, file) = Project::of_script(script, &setting);
        let dissected = gamewire(["dissect", "--no-config", &file]);
        assert!(dissected.out.contains("5 servers"), "{}", dissected.out);
        let json = gamewire(["dissect", "--no-config", "--format", "json", &file]);
        let lists = json.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let sizes = lists.filter_map(|it| Some(it.pointer("/fields/servers")?.as_array()?.len()));
        assert_eq!(Vec::from_iter(sizes), [5], "{}", json.out);
        let report = diagnosis::report_of(&file, &[]).1;
        let items = report["masters"][0]["items"].as_array().unwrap();
        let list = items.iter().find(|it| it["item"] == "master.lists").unwrap();
        assert_eq!(list["text"], "5 servers in 1 packet");
    }
}

/// A filter explains why others are absent, not that a port is there.
#[test]
fn a_filtered_list_shows_a_wrong_port_as_well() {
    const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
    let report = |filter: &str| {
        let asked = |at: u32| {
            format!(
                "{at}.0 c > s:27999  {INFO}\n{at}.1 c > s  {INFO}\n\
                 {at}.2 s > c  FFFFFFFF 49 11 'A' 00 'b' 00 'cstrike' 00 'c' 00 F000 01 18 00 'd' 'l' 00 01 '1' 00 00\n"
            )
        };
        let script = format!(
            "0.0 c > m:27010  31FF '0.0.0.0:0' 00 {filter} 00\n\
             0.1 m:27010 > c  FFFFFFFF 66 0A ip:10.0.0.2:27999 ip:10.0.7.7:27015 ip:0.0.0.0:0\n{}end 60",
            [5, 10, 15].map(asked).concat()
        );
        diagnosed(&script, 27015)
    };
    for filter in ["", r"'\\gamedir\\cstrike'"] {
        let address = diagnosis::item(&report(filter), "servers", "list.address");
        assert_eq!(address, "no listed_other_port", "{filter}");
    }
}

/// What a server asks about its players is no registration.
#[test]
fn a_check_of_a_player_that_is_not_answered_ends_no_registration() {
    let asked = |at: u32, port: u32, path: &str, answer: &str| {
        format!(
            "{at}.00 s:{port} > m tcp 'GET {path} HTTP/1.0\\r\\n\\r\\n'\n{at}.02 m > s:{port} tcp {answer} fin\n\
             {at}.03 s:{port} > m tcp fin\n"
        )
    };
    let check = asked(20, 40_002, "/a?p=28770&a=::ffff:c000:027f&i=7&u=42", "");
    let accepted = |before: &str| {
        let script = format!("{before}{check}end 60");
        let report = diagnosis::diagnosed(&script, &Setting::tcp(80), &[]).1;
        diagnosis::item(&report, "servers", "reg.accepted")
    };
    let text = r"'HTTP/1.0 200 OK\r\n\r\nserver registered'";
    let register = "/r?v=140&g=20700&p=28770";
    assert_eq!(accepted(&asked(0, 40_001, register, text)), "yes");
    assert_eq!(accepted(&asked(0, 40_001, register, "")), "no registration_unanswered");
    assert!(accepted("").starts_with("unknown"));
}
