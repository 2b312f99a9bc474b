//! Every limit is enforced, is reported by name as NET011, and does not end the run: each is set to a low
//! value and reached. Also captures that are designed to exhaust resources, in small sizes.

use std::io::Write;
use std::path::PathBuf;

use crate::support::{Run, gamewire};
use captures::bulk::{self, Input, Size};
use captures::bytes::hex;
use captures::exchange::{Setting, Transport, capture};
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::Value;

const UDP: Setting = Setting::udp(27015);

/// A capture in a temporary file.
struct Captured(PathBuf);

impl Captured {
    fn bytes(name: &str, bytes: &[u8]) -> Captured {
        let name = format!("gamewire-limits-{name}-{}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        Captured(path)
    }

    fn script(name: &str, script: &str, setting: &Setting) -> Captured {
        Captured::bytes(name, &capture(script, setting).expect("a good script").pcap())
    }

    fn run(&self, args: &[&str]) -> Run {
        let path = self.0.to_string_lossy().into_owned();
        gamewire(args.iter().copied().chain(["--no-config", &path]))
    }

    fn check(&self, limit: &str) -> Value {
        let limits = limit.split(',').flat_map(|limit| ["--limit", limit]);
        let args = ["check", "--format", "json"].into_iter().chain(limits);
        let run = self.run(&args.collect::<Vec<_>>());
        assert!(run.code < 2, "{}", run.err);
        serde_json::from_str(&run.out).expect("JSON")
    }

    /// Asserts that the limit is reached and reported with this text, and that the default is not reached.
    fn meets(&self, limit: &str, reported: &str) {
        let met = reported_of(&self.check(limit));
        assert!(met.iter().any(|detail| detail.contains(reported)), "{limit}: {met:?}");
        assert_eq!(reported_of(&self.check("flows=4M")).first(), None, "met by default");
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// The findings of NET011.
fn reported_of(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let met = findings.filter(|finding| finding["rule"] == "NET011");
    met.map(|finding| finding["message"].as_str().expect("a text").to_owned()).collect()
}

/// Lines with their number instead of `#` (two hex digits) and `@` (a time).
fn lines(count: usize, line: &str) -> String {
    let fill = |number: usize| {
        let time = format!("{}.{:03}", number / 1000, number % 1000);
        line.replace('#', &format!("{number:02X}")).replace('@', &time) + "\n"
    };
    (0..count).map(fill).collect()
}

#[test]
fn flows() {
    let script = "0.0 c > s FFFFFFFF 57\n0.1 c1 > s FFFFFFFF 57\n0.2 c2 > s FFFFFFFF 57";
    Captured::script("flows", script, &UDP).meets("flows=2", "the limit flows, 2, was met");
}

/// A flood evicts silent flows; rules about their later messages are inconclusive.
#[test]
fn flow_bytes() {
    let mut flood = Vec::new();
    bulk::write(Input::ManyFlows, Size::Packets(30_000), &mut flood).unwrap();
    let captured = Captured::bytes("flow-bytes", &flood);
    captured.meets("flow-bytes=200K", "the limit flow-bytes, 204800, was met");
    let fails = |report: &Value| -> Vec<String> {
        let rules = report["rules"].as_array().unwrap().iter();
        let fails = rules.filter(|rule| rule["verdict"] == "fail" && rule["code"] != "NET011");
        fails.map(|rule| rule["code"].to_string()).collect()
    };
    let (all, few) =
        (fails(&captured.check("flows=4M")), fails(&captured.check("flow-bytes=200K")));
    assert!(!all.is_empty() && !few.is_empty(), "the flood breaks rules: {all:?}, {few:?}");
    assert!(few.iter().all(|code| all.contains(code)), "only for want of memory: {few:?}");
}

/// Connections with nothing but their first segment.
#[test]
fn flow_bytes_of_connections() {
    let mut flood = Vec::new();
    bulk::write(Input::HalfOpen, Size::Packets(30_000), &mut flood).unwrap();
    let captured = Captured::bytes("half-open", &flood);
    for command in [["dissect", "--format=json"], ["check", "--format=json"]] {
        let [one, two] = ["1", "2"].map(|threads| {
            let limits = ["--limit", "flow-bytes=300K", "--threads", threads];
            let run = captured.run(&[&command[..], &limits].concat());
            assert_eq!(run.code, 0, "{}", run.err);
            (run.out, run.err)
        });
        assert_eq!(one, two);
    }
}

#[test]
fn memory() {
    let captured = Captured::script("memory", "0.0 c > s FFFFFFFF 57", &UDP);
    for (memory, reported) in [("1K", "the minimum is 16M"), ("much", "a number of bytes")] {
        let run = captured.run(&["check", "--memory", memory]);
        assert!(run.code == 2 && run.err.contains(reported), "{memory}: {}", run.err);
    }
    assert_eq!(captured.run(&["check", "--memory", "16M"]).code, 0);
}

#[test]
fn pending() {
    let script = lines(5, "@ c > s FFFFFFFF 54 'Source Engine Query' 00 #000000");
    Captured::script("pending", &script, &UDP).meets("pending=3", "the limit pending was met");
}

const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const CHALLENGED: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0\x4B\xA1\xD5\x22";
const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x4B\xA1\xD5\x22";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11n\0m\0f\0g\0\xDA\x02\x05\x10\x00dl\x00\x01\x31\0";

/// Datagrams with time in milliseconds, sender and receiver.
fn traffic(packets: &[(u64, &str, &str, &[u8])]) -> Captured {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut capture = Capture::new(Link::Ethernet);
    for &(time, from, to, payload) in packets {
        capture.push(START.after_ms(time), &Datagram::new(from, to, payload).packet());
    }
    Captured::bytes(&format!("traffic-{count}"), &capture.in_time().pcap())
}

/// Asserts that no limit is reached; returns how often a rule passed and failed.
fn fared_within_limits(captured: &Captured, code: &str) -> [u64; 2] {
    let report = captured.check("flows=4M");
    assert_eq!(reported_of(&report), Vec::<String>::new());
    let mut rules = report["rules"].as_array().expect("rules").iter();
    let rule = rules.find(|rule| rule["code"] == code).expect("the rule");
    ["passed", "failed"].map(|count| rule[count].as_u64().expect("a number"))
}

/// Three thousand servers within five seconds, from one socket and from one host.
#[test]
fn a_monitor_of_many_servers_meets_no_limit() {
    for one_socket in [true, false] {
        let ends = |n: u64| {
            let port = if one_socket { 50_000 } else { 10_000 + n };
            (format!("10.9.0.1:{port}"), format!("10.1.{}.{}:27015", n / 250, n % 250 + 1))
        };
        let ends = Vec::from_iter((0..3000).map(ends));
        let mut packets = Vec::new();
        for (n, (monitor, server)) in (0..).zip(&ends) {
            let (monitor, server, time) = (monitor.as_str(), server.as_str(), n * 5 / 3);
            packets.extend([
                (time, monitor, server, INFO),
                (time + 900, server, monitor, CHALLENGE),
                (time + 901, monitor, server, CHALLENGED),
                (time + 1800, server, monitor, ANSWER),
            ]);
        }
        assert_eq!(fared_within_limits(&traffic(&packets), "A2S062"), [6000, 0]);
    }
}

/// Repeated requests to servers that do not respond.
#[test]
fn a_monitor_of_dead_servers_meets_no_limit() {
    let servers = Vec::from_iter((1..=30).map(|n| format!("10.1.0.{n}:27015")));
    let polls = (0..100).flat_map(|poll| servers.iter().map(move |server| (poll, server)));
    let packets = Vec::from_iter(
        polls.map(|(poll, server)| (poll * 2000, "10.9.0.1:50000", server.as_str(), INFO)),
    );
    assert_eq!(fared_within_limits(&traffic(&packets), "A2S062"), [0, 0]);
}

/// Two thousand players send requests to a server that restarts, until it is back and challenges each.
/// Responses to requests with a challenge are not mistaken for responses to requests without.
#[test]
fn a_crowd_after_a_restart_meets_no_limit() {
    for one_host in [true, false] {
        let player = |n: u64| match one_host {
            true => format!("10.9.0.1:{}", 10_000 + n),
            false => format!("10.2.{}.{}:50000", n / 250, n % 250 + 1),
        };
        let players = Vec::from_iter((0..2000).map(player));
        let (server, mut packets) = ("10.0.0.2:27015", Vec::new());
        for (n, player) in (0..).zip(&players) {
            let player = player.as_str();
            packets.extend((0..20).map(|again| (n % 97 + again * 1000, player, server, INFO)));
            let back = 19_200 + n % 89;
            packets.extend([
                (back, server, player, CHALLENGE),
                (back + 20, player, server, CHALLENGED),
                (back + 21, server, player, CHALLENGE),
                (back + 40, server, player, ANSWER),
            ]);
        }
        let captured = traffic(&packets);
        assert_eq!(fared_within_limits(&captured, "SEC003"), [2000, 0]);
        assert_eq!(fared_within_limits(&captured, "A2S061")[1], 0);
    }
}

#[test]
fn unfinished() {
    let ask = "0.0 c > s FFFFFFFF 56 4BA1D522\n";
    let script = ask.to_owned() + &lines(4, "@ s > c FEFFFFFF #000000 03 00 E004 FFFFFFFF 45");
    let captured = Captured::script("unfinished", &script, &UDP);
    captured.meets("unfinished=3", "the limit unfinished was met");
    captured.meets("unfinished-bytes=100", "the limit unfinished-bytes was met");
    let shown = captured.run(&["dissect", "--format", "json", "--limit", "unfinished=3"]).out;
    assert_eq!(shown.matches(r#""message":"split_fragment""#).count(), 4, "{shown}");
}

#[test]
fn parts_bytes() {
    let ask = "0.0 c > s FFFFFFFF 56 4BA1D522\n";
    let script = ask.to_owned() + &lines(9, "@ s > c FEFFFFFF 07000000 0A # E004 'x'*100");
    let captured = Captured::script("parts-bytes", &script, &UDP);
    captured.meets("parts-bytes=500", "the limit parts-bytes was met");
}

#[test]
fn fragments() {
    let mut capture = capture("0.0 s > c frag=512 FFFFFFFF 45 0100 'x'*1400 00", &UDP).unwrap();
    let first = capture.packets.swap_remove(0);
    capture.packets.clear();
    // The first fragments of many datagrams that are never complete.
    for number in 0..600_u16 {
        let mut packet = first.clone();
        packet.bytes[18..20].copy_from_slice(&number.to_be_bytes());
        capture.packets.push(packet);
    }
    let captured = Captured::bytes("fragments", &capture.pcap());
    captured.meets("fragment-bytes=1M", "the limit fragment-bytes or fragments-bytes");
    captured.meets("fragments-bytes=1M", "the limit fragment-bytes or fragments-bytes");
    let report = captured.check("fragment-bytes=1M");
    let missing = report["rules"].as_array().unwrap().iter();
    let reported: u64 = missing
        .filter(|rule| rule["code"] == "NET005" || rule["code"] == "NET011")
        .map(|rule| rule["failed"].as_u64().unwrap() + rule["inconclusive"].as_u64().unwrap())
        .sum();
    assert_eq!(reported, 600, "each datagram is reported of");
}

#[test]
fn streams() {
    let setting = Setting { transport: Transport::Tcp, ..Setting::udp(28900) };
    let list = "0.0 c > m '\\\\list\\\\gamename\\\\ut\\\\final\\\\'\n\
        0.1 m > c '\\\\ip\\\\10.0.0.2:7778'\n\
        0.2 m > c lost '\\\\ip\\\\10.0.0.3:7778'\n\
        0.3 m > c '\\\\ip\\\\10.0.0.4:7778'*200\n\
        0.4 m > c '\\\\final\\\\' fin";
    let captured = Captured::script("streams", list, &setting);
    captured.meets("stream-bytes=1K", "the limit stream-bytes was met");
    captured.meets("streams-bytes=1K", "the limit streams-bytes was met");
}

/// A list that is read in parts because of a limit breaks no rule, wherever the parts begin.
#[test]
fn a_list_beyond_the_limit_breaks_no_rule() {
    let setting = Setting { transport: Transport::Tcp, ..Setting::udp(28900) };
    let mut list = "0.00 m > c '\\\\basic\\\\\\\\secure\\\\XDWAOR'\n\
        0.02 c > m '\\\\gamename\\\\ut\\\\location\\\\0\\\\validate\\\\3JOdDFU5\\\\final\\\\'\n\
        0.04 c > m '\\\\list\\\\gamename\\\\ut\\\\final\\\\'\n"
        .to_owned();
    for tenth in 1..9 {
        // Segments end between a key and its value.
        list += &format!(
            "0.{tenth} m > c '\\\\10.0.{tenth}.2:7778' '\\\\ip\\\\10.0.0.2:7778'*70 '\\\\ip'\n"
        );
    }
    list = list.replacen("'\\\\10.0.1.2:7778' ", "", 1);
    list += "0.9 m > c '\\\\10.0.9.2:7778\\\\final\\\\' fin";
    let captured = Captured::script("room", &list, &setting);
    captured.meets("stream-bytes=2K", "the limit stream-bytes was met");
    for limit in ["stream-bytes=2K", "streams-bytes=3K", "stream-bytes=1M"] {
        let report = captured.check(limit);
        let rules = report["rules"].as_array().unwrap().iter();
        let fails = rules.filter(|rule| rule["verdict"] == "fail" && rule["severity"] != "note");
        let fails: Vec<_> = fails.map(|rule| rule["code"].clone()).collect();
        assert!(fails.is_empty(), "{limit}: {fails:?}");
    }
}

#[test]
fn list_bytes() {
    let setting = Setting { transport: Transport::Tcp, ..Setting::udp(28900) };
    let list = "0.0 c > m '\\\\list\\\\gamename\\\\ut\\\\final\\\\'\n\
        0.1 m > c '\\\\ip\\\\10.0.0.2:7778'*200\n\
        0.2 m > c '\\\\final\\\\' fin";
    let captured = Captured::script("list", list, &setting);
    captured.meets("list-bytes=1K", "the limit list-bytes was met");
}

/// A count that met a limit is a least one.
#[test]
fn more_requests_than_are_remembered() {
    let asks = |count: u32| {
        let ask = |nth: u32| {
            format!("{}.0 c:{} > s  FFFFFFFF 54 'Source Engine Query' 00\n", nth, 40_000 + nth)
        };
        let script = (0..count).map(ask).collect::<String>() + &format!("end {}", count + 9);
        let captured = Captured::script("asked", &script, &UDP);
        captured.check("remembered=16")["findings"].to_string()
    };
    assert!(asks(4).contains("none of 4 requests was answered"));
    let many = asks(20);
    assert!(many.contains("none of at least 8 requests was answered"), "{many}");
}

/// More clients than are remembered; the first ones return with their earlier challenges.
#[test]
fn remembered() {
    let mut capture = Capture::new(Link::Ethernet);
    let mut time = 0;
    for (client, port) in (0..40).map(|n| (n, 5000)).chain((0..9).map(|n| (n, 5001))) {
        let (client, server) = (format!("10.0.1.{client}:{port}"), "10.0.0.2:27015");
        let (ask, given) =
            (b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF", b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04");
        let (again, players) = (b"\xFF\xFF\xFF\xFFU\x01\x02\x03\x04", b"\xFF\xFF\xFF\xFFD\x00");
        let conversation: [(bool, &[u8]); 4] =
            [(true, ask), (false, given), (true, again), (false, players)];
        for &(asks, payload) in &conversation[if port == 5000 { 0 } else { 2 }..] {
            let (from, to) = if asks { (&*client, server) } else { (server, &*client) };
            time += 1;
            capture.push(START.after_ms(time), &Datagram::new(from, to, payload).packet());
        }
    }
    let captured = Captured::bytes("remembered", &capture.pcap());
    captured.meets("remembered=8", "the limit remembered was met");
}

#[test]
fn http() {
    let script = "0.0 c > m 'GET /c HTTP/1.1\\r\\nHost: m\\r\\nX: ' 'x'*900 '\\r\\n\\r\\n'\n\
        0.1 m > c 'HTTP/1.1 200 OK\\r\\nContent-Length: 3000\\r\\n\\r\\n' 'masterserver_flags 0\\n' 'x'*2979 fin";
    let captured = Captured::script("http", script, &Setting::tcp(80));
    captured.meets("http-body=1K", "the limit http-body was met");
    let endless = "0.0 c > m 'GET /r?v=140&g=20700&p=28770 HTTP/1.0\\r\\n\\r\\n'\n\
        0.1 c > m 'GET /c HTTP/1.1\\r\\nX: ' 'x'*900\n\
        0.2 c > m 'x'*900\n0.3 c > m '\\r\\n\\r\\n'";
    let captured = Captured::script("http-header", endless, &Setting::tcp(80));
    captured.meets("http-header=1K", "the limit http-header was met");
}

#[test]
fn fields_and_depth() {
    let rules = "0.0 c > s FFFFFFFF 56 4BA1D522\n0.1 s > c FFFFFFFF 45 6400 'a\\0b\\0'*100";
    let captured = Captured::script("fields", rules, &UDP);
    for (limit, left_out) in [("fields=100", true), ("fields=1000", false)] {
        let run = captured.run(&["dissect", "--format", "json", "--tree", "--limit", limit]);
        assert_eq!(run.out.contains("fields_left_out"), left_out, "{limit}");
        for line in run.out.lines() {
            serde_json::from_str::<Value>(line).expect("JSON");
        }
    }
    let query = "0.0 c > m 31 FF '0.0.0.0:0' 00 '\\\\nor\\\\1'*12 '\\\\map\\\\x' 00";
    let captured = Captured::script("depth", query, &Setting::udp(27010));
    for (limit, deepest) in [("depth=5", 6), ("depth=32", 15)] {
        let run = captured.run(&["dissect", "--format", "json", "--tree", "--limit", limit]);
        assert_eq!(run.out.contains("fields_left_out"), deepest < 15, "{limit}: {}", run.out);
        let message: Value = serde_json::from_str(run.out.trim()).expect("JSON");
        assert!(depth(&message["tree"]) <= deepest, "{limit}: {}", depth(&message["tree"]));
    }
}

fn depth(nodes: &Value) -> usize {
    let below = nodes.as_array().into_iter().flatten().map(|node| depth(&node["children"]));
    below.max().map_or(0, |below| below + 1)
}

/// A bzip2 response that announces 4 KB and decompresses to much more.
fn bomb(megabytes: usize) -> String {
    let block = vec![b'x'; 1 << 20];
    packed_rules([b"motd\0".to_vec()].into_iter().chain(vec![block; megabytes]))
}

/// A bzip2 response with rules that announces 4 KB.
fn packed_rules(rules: impl IntoIterator<Item = Vec<u8>>) -> String {
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    packed.write_all(b"\xFF\xFF\xFF\xFF\x45\x01\x00").expect("memory takes all");
    rules.into_iter().for_each(|rule| packed.write_all(&rule).expect("memory takes all"));
    let packed = packed.finish().expect("memory takes all");
    format!(
        "0.0 c > s FFFFFFFF 56 4BA1D522\n\
         0.1 s > c FEFFFFFF 01000080 01 00 E004 le32:4096 00000000 {}",
        hex(&packed)
    )
}

#[test]
fn a_compressed_response_that_is_larger_than_announced() {
    let captured = Captured::script("bomb", &bomb(3), &UDP);
    let report = captured.check("flows=4M");
    let says = "the limit inflated-ratio was met";
    assert!(reported_of(&report).iter().any(|detail| detail.contains(says)));
    let report = captured.check("inflated-ratio=100000");
    let says = "the limit inflated was met";
    assert!(reported_of(&report).iter().any(|detail| detail.contains(says)));
    let run = captured.run(&["dissect", "--format", "json"]);
    assert_eq!(run.code, 0);
    assert!(run.out.contains(r#""decompressed_size":4096"#));
    // With a higher limit it is read completely, and only the size is wrong.
    let report = captured.check("inflated=4M,inflated-ratio=100000");
    assert_eq!(reported_of(&report), Vec::<String>::new());
    let fared = |code: &str| {
        let mut rules = report["rules"].as_array().unwrap().iter();
        rules.find(|rule| rule["code"] == code).unwrap()["verdict"].clone()
    };
    assert_eq!(fared("A2S047"), "fail");
}

/// Hundreds of such responses take little time, and the output is not thousands of times larger than the
/// capture.
#[test]
fn decompressed_bytes_are_shown_in_part() {
    // No two rows are equal, so that none is folded.
    let letters = Vec::from_iter((b'a'..=b'z').cycle().take(1 << 20));
    let script = packed_rules([b"motd\0".to_vec(), letters]);
    let captured = Captured::script("shown", &script, &UDP);
    let [cut, full] = [&["dissect", "-x"][..], &["dissect", "-x", "--full"]].map(|command| {
        let run = captured.run(command);
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    });
    assert!(cut.len() < 40_000, "{}", cut.len());
    assert!(cut.contains("more bytes; --full shows them"), "{cut}");
    assert!(full.len() > 5 * 64_000 && full.len() < 2_000_000, "{}", full.len());
    assert!(!full.contains("--full"));
}

/// Sixty different responses of this kind, each with about 200 bytes in the capture and twenty thousand
/// rules.
fn bombs() -> Captured {
    let mut script = "0.0 c > s FFFFFFFF 56 4BA1D522\n".to_owned();
    for at in 0..60 {
        let noise = (1..40_u32).map(|n| b'a' + ((at + 7) * n * n % 251 % 26) as u8);
        let first = noise.chain([0]).collect();
        let bomb = packed_rules([first, b"k\0v\0".repeat(20_000)]);
        let answer = bomb.lines().last().expect("an answer");
        let answer = answer.replace("01000080", &format!("le32:{}", 0x8000_0000_u32 + at));
        let answer = &answer["0.1 ".len()..];
        script += &format!("{}.{:02} {answer}\n", 1 + at / 20, at % 20);
    }
    Captured::script("bombs", &script, &UDP)
}

#[test]
fn decompressed_bytes_of_all_responses_are_limited() {
    let captured = bombs();
    let output = |command: &[&str]| {
        let run = captured.run(command);
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    // Of the first one as much as fits into a datagram, of the others 50 times their bytes; with a rate, nothing
    // of most of them.
    let decompressed = |limits: &[&str]| {
        let command = [&["dissect", "--format=json", "--tree", "--full"], limits].concat();
        let out = output(&command);
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let ends = lines.map(|line| {
            let last = line["tree"].as_array().expect("a tree").last().cloned().unwrap_or_default();
            last["offset"].as_u64().unwrap_or(0) + last["length"].as_u64().unwrap_or(0)
        });
        ends.sum::<u64>()
    };
    let all = decompressed(&[]);
    assert!((300_000..500_000).contains(&all), "{all}");
    let of_three_seconds = decompressed(&["--limit", "inflated-rate=50K"]);
    assert!((140_000..165_000).contains(&of_three_seconds), "{of_three_seconds}");
    for (limit, says) in [
        ("flows=4M", "the limit inflated-ratio was met"),
        ("inflated-rate=50K", "the limit inflated-rate was met"),
    ] {
        let details = reported_of(&captured.check(limit));
        assert!(details.iter().any(|detail| detail.contains(says)), "{details:?}");
    }
    // The output is in proportion to the capture, and reports the limit.
    let most = 600 * std::fs::metadata(&captured.0).expect("a file").len() as usize;
    for shown in [&["-v"][..], &["-x"], &["--format=json"], &["--format=json", "--tree"]] {
        let cut = output(&[&["dissect"], shown].concat());
        assert!(cut.len() < most, "{shown:?}: {}", cut.len());
        let says = ["fields left out; --full shows", "more bytes; --full shows", "fields_left_out"];
        assert!(says.iter().any(|says| cut.contains(says)), "{shown:?}");
        let full = output(&[&["dissect", "--full"], shown].concat());
        assert!(full.len() > cut.len() && !full.contains("--full"), "{shown:?}: {}", full.len());
    }
}

/// A capture with very many interfaces, and very many statistics about them.
#[test]
fn many_interfaces_and_statistics() {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let section = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
    let mut bytes = block(0x0A0D_0D0A, &section);
    for _ in 0..100_000 {
        bytes.extend(block(1, &[1, 0, 0, 0, 0, 0, 4, 0]));
    }
    for dropped in 1..100_000_u64 {
        let interface = (dropped as u32 % 50_000).to_le_bytes();
        let option = [&[5, 0, 8, 0][..], &dropped.to_le_bytes()].concat();
        bytes.extend(block(5, &[&interface[..], &[0; 8], &option].concat()));
    }
    let captured = Captured::bytes("interfaces", &bytes);
    for command in ["check", "dissect", "flows", "summary"] {
        let run = captured.run(&[command]);
        let lines = Vec::from_iter(run.err.lines());
        for what in [
            "34444 more broken records, 34464 in all",
            "99979 more reports of dropped packets, 99999 in all",
        ] {
            let reported = lines.iter().filter(|line| line.ends_with(what));
            assert_eq!(reported.count(), 1, "{command}: {}", run.err);
        }
        assert!(lines.len() <= 2 * 21 + 2, "{command}: {}", run.err);
    }
}

/// Three bytes with a finding each, three hundred thousand times, in a hundred bytes of capture.
#[test]
fn a_message_with_many_findings() {
    let script = packed_rules([b"\xFF\0\0".repeat(330_000)]);
    let captured = Captured::script("findings", &script, &UDP);
    let whole = ["--limit", "inflated-ratio=100000"];
    let run = captured.run(&[&["dissect", "--format", "json"], &whole[..]].concat());
    let message: Value = serde_json::from_str(run.out.lines().last().unwrap()).expect("JSON");
    let findings = message["findings"].as_array().unwrap().iter();
    assert_eq!(findings.filter(|finding| finding["rule"] == "A2S005").count(), 1000);
    assert_eq!(message["findings_left_out"], 329_000);
    let run = captured.run(&[&["dissect"], &whole[..]].concat());
    assert!(run.out.contains("(329000 findings left out)"), "{}", run.out);
    for selected in [&[][..], &["--who", "server"]] {
        let run = captured.run(&[&["check", "--format", "json"], &whole[..], selected].concat());
        let report: Value = serde_json::from_str(&run.out).expect("JSON");
        let mut rules = report["rules"].as_array().unwrap().iter();
        assert_eq!(rules.find(|rule| rule["code"] == "A2S005").unwrap()["failed"], 330_000);
        assert_eq!(report["findings_left_out"], 329_000);
    }
}

#[test]
fn a_split_response_of_255_packets_with_only_one_packet() {
    let script = "0.0 c > s FFFFFFFF 56 4BA1D522\n\
        0.1 s > c FEFFFFFF 07000000 FF FE E004 'x'*100\n9 c > s FFFFFFFF 57\nend 20";
    let captured = Captured::script("split-255", script, &UDP);
    let run = captured.run(&["dissect", "--format", "json"]);
    assert_eq!(run.code, 0);
    assert!(run.out.contains(r#""message":"split_fragment""#), "{}", run.out);
    let report = captured.check("flows=4M");
    let findings = report["findings"].as_array().unwrap().iter();
    assert!(findings.clone().any(|finding| finding["rule"] == "A2S043"), "{report}");
}

#[test]
fn a_record_of_four_gigabytes() {
    let mut bytes = capture("0.0 c > s FFFFFFFF 57", &UDP).unwrap().pcap();
    let mut record = vec![0; 8];
    record.extend([0xFF; 8]);
    record.extend([0; 100]);
    bytes.extend(record);
    let captured = Captured::bytes("record", &bytes);
    let run = captured.run(&["dissect"]);
    assert_eq!(run.code, 0);
    assert!(run.out.contains("challenge_request") && run.err.contains("warning"), "{}", run.err);
    let report = captured.check("flows=4M");
    let findings = report["findings"].as_array().unwrap().iter();
    assert_eq!(findings.filter(|finding| finding["rule"] == "NET009").count(), 1);
}

#[test]
fn the_error_about_an_unknown_limit_lists_all() {
    let captured = Captured::script("usage", "0.0 c > s FFFFFFFF 57", &UDP);
    for (limit, reported) in [
        ("flow=1", "valid names are flows, flow-bytes, fragment-bytes"),
        ("flows", "NAME=N"),
        ("flows=many", "a whole number"),
        ("fragment-bytes=1K", "at least 1048576"),
    ] {
        let run = captured.run(&["dissect", "--limit", limit]);
        assert!(run.code == 2 && run.err.contains(reported), "{limit}: {}", run.err);
    }
}
