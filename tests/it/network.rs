//! Effects of the layers below a message: checksums, fragments, truncated packets, link types.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::{Setting, capture};
use captures::wire::{ByteOrder, Capture, Interface, Ip, Link, PcapNg, START, tunnel};
use serde_json::Value;

/// Plays an exchange with an A2S server and returns the messages and standard error.
fn dissect(script: &str, options: &[&str]) -> (Vec<Value>, String) {
    let bytes = capture(script, &Setting::udp(27015)).expect("a good script").pcap();
    read(&bytes, options)
}

fn read(bytes: &[u8], options: &[&str]) -> (Vec<Value>, String) {
    let path = std::env::temp_dir().join(format!(
        "gamewire-network-{}-{:?}.pcap",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::write(&path, bytes).expect("a writable folder");
    let name = path.to_string_lossy().into_owned();
    let args = ["dissect", "--format", "json"].iter().chain(options);
    let run = gamewire(args.map(|arg| (*arg).to_owned()).chain([name]));
    std::fs::remove_file(&path).ok();
    assert_eq!(run.code, 0, "{}", run.err);
    let messages = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    (messages.collect(), run.err)
}

fn rules(message: &Value) -> Vec<&str> {
    let findings = message["findings"].as_array().expect("findings");
    findings.iter().map(|finding| finding["rule"].as_str().expect("a code")).collect()
}

/// Responses of servers to several clients in one aggregated frame of 802.11 (A-MSDU).
#[test]
fn aggregated_frames_are_read_in_order() {
    let mut packets = Vec::new();
    for (flags, what) in [(0x01, "0.0 c > s  FFFFFFFF 69"), (0x02, "0.0 s > c  FFFFFFFF 6A 00*15")]
    {
        let mut body = vec![0x80, 0];
        for host in 0..24 {
            let [client, server] = ["cde", "stu"].map(|letters| &letters[host / 8..=host / 8]);
            let party = |letter: &str| format!(" {letter}{} ", host % 8);
            let script = what.replace(" c ", &party(client)).replace(" s ", &party(server));
            let one = capture(&script, &Setting::udp(27015)).expect("a good script");
            let ip = &one.packets[0].bytes[14..];
            let length = (ip.len() as u16 + 8).to_be_bytes();
            body.extend([&[2; 12][..], &length, &[0xAA, 0xAA, 3, 0, 0, 0, 8, 0], ip].concat());
            body.resize((body.len() - 2).next_multiple_of(4) + 2, 0);
        }
        packets.push([&[0x88, flags, 0, 0][..], &[2; 18], &[0, 0], &body].concat());
    }
    let mut bytes = pcap_header(105);
    packets.iter().for_each(|packet| bytes.extend(record(packet)));
    let project = Project::new("aggregates");
    project.write("aggregates.pcap", &bytes);
    let dissect = |threads| {
        project.run(&["dissect", "--format=json", "--threads", threads, "aggregates.pcap"]).out
    };
    let one = dissect("1");
    let messages: Vec<Value> =
        one.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let flows = messages.iter().map(|message| message["flow"].as_u64().expect("a flow"));
    assert!(flows.eq((1..=24).chain(1..=24)), "{one}");
    assert!(messages.iter().zip(0..).all(|(message, at)| message["frame"] == 1 + at / 24));
    assert_eq!(dissect("4"), one);
    let scrubbed = project.run(&["scrub", "aggregates.pcap", "-o", "scrubbed.pcap"]);
    assert_eq!(scrubbed.code, 0, "{}", scrubbed.err);
    let run = project.run(&["dissect", "--format=json", "scrubbed.pcap"]);
    assert_eq!(run.out.lines().count(), messages.len(), "{}", run.err);
}

fn pcap_header(link: u8) -> Vec<u8> {
    let magic = 0xA1B2_C3D4_u32.to_le_bytes();
    [&magic[..], &[2, 0, 4, 0], &[0; 8], &[0, 0, 4, 0], &[link, 0, 0, 0]].concat()
}

/// A packet at time 0.
fn record(packet: &[u8]) -> Vec<u8> {
    let length = (packet.len() as u32).to_le_bytes();
    [&[0; 8][..], &length, &length, packet].concat()
}

#[test]
fn transport_checksums_are_checked_only_on_request() {
    let script =
        "0.00 c > s  udpsum=bad FFFFFFFF 55 FFFFFFFF\n0.02 s > c  ipsum=bad FFFFFFFF 41 4BA1D522";
    let (messages, _) = dissect(script, &[]);
    assert_eq!([rules(&messages[0]), rules(&messages[1])], [vec![], vec!["NET002"]]);
    let (messages, _) = dissect(script, &["--verify-checksums"]);
    assert_eq!(rules(&messages[0]), ["NET003"]);
    assert_eq!(rules(&messages[1]), ["NET002"]);
}

#[test]
fn fragments_are_joined_and_named() {
    let script = "0.00 c > s  FFFFFFFF 56 FFFFFFFF\n0.02 s > c  frag=512 FFFFFFFF 45 0100 'motd' 00 'x'*1000 00";
    let (messages, _) = dissect(script, &[]);
    assert_eq!(messages[1]["message"], "rules_response");
    assert_eq!(messages[1]["frames"], serde_json::json!([2, 3]));
    assert_eq!(messages[1]["fields"]["rules"][0]["value"].as_str().map(str::len), Some(1000));
}

#[test]
fn a_truncated_response_is_shown_and_breaks_no_rule() {
    let script = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  snap=49 FFFFFFFF 41 4BA1D522";
    let (messages, _) = dissect(script, &[]);
    assert_eq!(messages[1]["message"], "challenge_response");
    assert_eq!(rules(&messages[1]), ["NET001"]);
}

/// The conclusive findings of `check`: rule, packets and text.
fn findings(project: &Project, script: &str, setting: &Setting) -> Vec<(String, Value, String)> {
    project.play("snapped.pcap", setting, script);
    let one = project.run(&["check", "--format", "json", "--threads", "1", "snapped.pcap"]);
    let three = project.run(&["check", "--format", "json", "--threads", "3", "snapped.pcap"]);
    assert_eq!(one.out, three.out);
    let outcome: Value = serde_json::from_str(&one.out).expect("JSON");
    let findings = outcome["findings"].as_array().expect("findings").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = findings.filter(|it| it["verdict"] != "inconclusive");
    findings.map(|it| (text(&it["rule"]), it["frames"].clone(), text(&it["message"]))).collect()
}

#[test]
fn a_truncated_packet_without_a_message_is_named() {
    let script = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
        0.03 s > c  snap=45 FEFFFFFF 01000000 02 00 E004 'x'*100";
    let project = Project::new("snapped-part");
    let found = findings(&project, script, &Setting::udp(27015));
    let cut = found.iter().filter(|(rule, ..)| rule == "NET001").map(|(_, frames, _)| frames);
    assert_eq!(Vec::from_iter(cut), [&serde_json::json!([3])]);
}

#[test]
fn a_copy_of_a_packet_without_a_message_is_named() {
    let script = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522\n\
        0.03 s > c  twice 00*64";
    let project = Project::new("copied-part");
    let found = findings(&project, script, &Setting::udp(27015));
    let copied = found.iter().filter(|(rule, ..)| rule == "NET013").map(|(_, frames, _)| frames);
    assert_eq!(Vec::from_iter(copied), [&serde_json::json!([4])]);
}

#[test]
fn packets_that_are_truncated_before_their_payload_are_counted() {
    let script = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  snap=30 FFFFFFFF 41 4BA1D522\n\
        0.03 s > c  snap=13 FFFFFFFF 41 4BA1D522";
    let project = Project::new("snapped-headers");
    let found = findings(&project, script, &Setting::udp(27015));
    let cut = found.iter().filter(|(rule, ..)| rule == "NET001");
    let cut = Vec::from_iter(cut.map(|(_, frames, detail)| (frames.to_string(), detail.as_str())));
    let detail = "2 packets, from this one on, were cut by the snap length before their protocol \
        could be identified";
    assert_eq!(cut, [("[2]".to_owned(), detail)]);
}

#[test]
fn a_short_snap_length_is_one_note_and_breaks_no_rule() {
    let info = "FFFFFFFF 54 'Source Engine Query' 00";
    let response = "FFFFFFFF 49 11 'name' 00 'map' 00 'folder' 00 'game' 00 0000 00 08 00 'dl' 00 01 '1' 00 00";
    let list = r"'\\list\\\\gamename\\ut\\final\\'";
    for (snap, counted) in [(42, 9), (50, 5), (60, 3), (68, 1)] {
        let mut script = String::new();
        for at in 0..2 {
            script += &format!(
                "{at}.0 c > s  snap={snap} {info}\n{at}.1 s > c  snap={snap} {response}\n\
                 {at}.2 c > s:53  snap={snap} 'a question, or so it seems'\n"
            );
        }
        script += &format!(
            "3.0 c > m:28900  tcp snap={snap} {list}\n3.1 m > c tcp snap={snap} '\\\\final\\\\' fin"
        );
        let project = Project::new("snap-length");
        let found = findings(&project, &script, &Setting::udp(27015));
        assert!(found.iter().all(|(rule, ..)| rule == "NET001"), "{snap}: {found:?}");
        let is_count = |detail: &str| detail.ends_with("protocol could be identified");
        let counts = Vec::from_iter(found.iter().filter(|(.., detail)| is_count(detail)));
        let [(.., detail)] = counts[..] else { panic!("{snap}: {found:?}") };
        let said = if counted == 1 {
            "cut by".to_owned()
        } else {
            format!("{counted} packets, from this one on, were cut by")
        };
        assert!(detail.starts_with(&said), "{snap}: {detail}");
    }
}

/// The names of fields that are shown with an empty text.
fn empty(value: &Value, name: &str, names: &mut Vec<String>) {
    match value {
        Value::String(text) if text.is_empty() => names.push(name.to_owned()),
        Value::Array(values) => values.iter().for_each(|value| empty(value, name, names)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| empty(value, name, names)),
        _ => {}
    }
}

#[test]
fn a_field_of_which_no_byte_was_recorded_is_absent() {
    let exchanges = [
        (
            27015,
            "FFFFFFFF 55 FFFFFFFF",
            "FFFFFFFF 49 11 'name' 00 'map' 00 'folder' 00 'game' 00 0A00 01 08 00 'dl' 00 01 '1.0' 00 F1 8769 0100000000000000 8869 'tv' 00 'words' 00 0A00000000000000",
        ),
        (
            27015,
            "FFFFFFFF 55 FFFFFFFF",
            "FFFFFFFF 6D '10.0.0.2:27015' 00 'name' 00 'map' 00 'folder' 00 'game' 00 01 08 2F 'dl' 00 01 'link' 00 'down' 00 00 01000000 02000000 00 00 01 00",
        ),
        (
            27015,
            "FFFFFFFF 55 FFFFFFFF",
            "FFFFFFFF 44 02 00 'one' 00 01000000 0000803F 00 'two' 00 01000000 0000803F",
        ),
        (27015, "FFFFFFFF 56 FFFFFFFF", "FFFFFFFF 45 0200 'one' 00 '1' 00 'two' 00 '2' 00"),
        (
            27011,
            "'1' FF '0.0.0.0:0' 00 '\\\\gamedir\\\\cstrike\\\\nor\\\\1\\\\map\\\\a' 00",
            "FFFFFFFF 660A ip:10.0.0.2:27015 00*6",
        ),
        (
            27011,
            "'0' 0A '\\\\protocol\\\\7\\\\challenge\\\\12345\\\\players\\\\1\\\\gamedir\\\\cstrike\\\\map\\\\a' 0A",
            "FFFFFFFF 660A 00*6",
        ),
        (
            7778,
            "'\\\\status\\\\'",
            "'\\\\gamename\\\\ut\\\\gamever\\\\436\\\\hostname\\\\a\\\\player_0\\\\b\\\\final\\\\\\\\queryid\\\\1.1'",
        ),
        (
            29900,
            "FEFD 00 01020304 FFFFFF 01",
            "00 01020304 'splitnum' 00 80 00 'hostname' 00 'a' 00 'map' 00 'b' 00 00 01 'player_' 00 00 'one' 00 'two' 00 00 'score_' 00 00 '1' 00 '2' 00 00 00 02 'team_t' 00 00 'red' 00 00 00",
        ),
    ];
    for (port, request, response) in exchanges {
        let play = |request: &str, response: &str| {
            let script = format!("0.0 c > s  {request}\n0.1 s > c  {response}");
            let bytes = capture(&script, &Setting::udp(port)).expect("a good script").pcap();
            read(&bytes, &[]).0
        };
        let empty_in = |messages: &[Value], at: usize| {
            let mut names = Vec::new();
            if let Some(message) = messages.get(at) {
                empty(&message["fields"], "", &mut names);
            }
            names
        };
        let whole = play(request, response);
        assert_eq!(whole.len(), 2, "{request}");
        for at in 0..2 {
            let there = empty_in(&whole, at);
            for snap in 43..260 {
                let cut = format!("snap={snap} {}", [request, response][at]);
                let mut both = [request, response];
                both[at] = &cut;
                let messages = play(both[0], both[1]);
                let found = empty_in(&messages, at);
                let new = Vec::from_iter(found.iter().filter(|name| !there.contains(name)));
                assert!(new.is_empty(), "{cut}: {}", messages[at]["fields"]);
            }
        }
    }
}

#[test]
fn a_truncated_segment_is_reported() {
    let script = "0.0 c > m  tcp 'GET /c?build_defs=4 HTTP/1.1\\r\\n\\r\\n'\n\
        0.1 m > c  tcp snap=100 'HTTP/1.1 200 OK\\r\\nContent-Length: 120\\r\\n\\r\\n' 'x'*120 fin";
    let project = Project::new("snapped");
    project.play("snapped.pcap", &Setting::tcp(80), script);
    let run = project.run(&["check", "--format", "json", "snapped.pcap"]);
    let outcome: Value = serde_json::from_str(&run.out).expect("JSON");
    let findings = outcome["findings"].as_array().expect("findings");
    let snapped: Vec<_> = findings.iter().filter(|it| it["rule"] == "NET001").collect();
    let lost = findings.iter().find(|it| it["rule"] == "NET006").expect("bytes are missing");
    assert_eq!((snapped.len(), &snapped[0]["frames"]), (1, &lost["frames"]));
}

#[test]
fn a_clock_that_is_set_back_ends_no_flow() {
    for ahead in [0, 1200, 900_000_000] {
        let mut script =
            format!("{ahead} d > t  FFFFFFFF 69\n+0 t > d  FFFFFFFF 6A '{:014}' 00\n", 0);
        for client in 0..10 {
            script += &format!("0.{client} c{client} > s  FFFFFFFF 69\n");
        }
        for client in 0..10 {
            script += &format!("1.{client} s > c{client}  FFFFFFFF 6A '{:014}' 00\n", 0);
        }
        let (messages, _) = dissect(&(script + "end 20"), &[]);
        assert_eq!(messages.len(), 22);
        for message in &messages {
            let rules = rules(message);
            assert!(!rules.contains(&"A2S061") && !rules.contains(&"A2S062"), "{message}");
        }
        let flows = messages.iter().map(|message| message["flow"].as_u64()).max().flatten();
        assert_eq!(flows, Some(11));
    }
}

#[test]
fn an_unknown_link_type_is_one_warning() {
    let script = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522";
    let packets = capture(script, &Setting::udp(27015)).expect("a good script").packets;
    let mut file = PcapNg::new(ByteOrder::Little);
    let known = file.interface(Interface::new(Link::Ethernet));
    let after = file.clone().done().len();
    let unknown = file.interface(Interface::new(Link::Ethernet));
    packets.iter().zip([known, unknown]).for_each(|(packet, of)| file.enhanced(of, packet));
    let mut bytes = file.done();
    bytes[after + 8] = 195;
    let (messages, err) = read(&bytes, &[]);
    assert_eq!((messages.len(), err.lines().count()), (1, 1));
    assert!(
        err.contains(
            "gamewire cannot read 1 of 2 packets: link type 195 (IEEE 802.15.4); record on"
        ),
        "{err}"
    );
}

/// Fragmentation does not change the verdict on a segment.
#[test]
fn fragmented_segments_are_checked_after_reassembly() {
    let file = std::fs::read("samples/gamespy1-faults.pcap").expect("a sample");
    let mut packets = Vec::new();
    let mut rest = &file[24..];
    while let Some((header, more)) = rest.split_at_checked(16) {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| header[at + n]));
        let (frame, more) = more.split_at(word(8) as usize);
        packets.push((u64::from(word(0)) * 1000 + u64::from(word(4)) / 1000, frame));
        rest = more;
    }
    let verdicts = |size: usize| {
        let mut capture = Capture::new(Link::Ethernet);
        let ends = ["30.0.0.1", "40.0.0.1"].map(|address| address.parse().expect("an address"));
        for (id, (time, frame)) in (1..).zip(&packets) {
            let outer = Ip { id, ..Ip::new(ends[0], ends[1]) };
            let tunnel = tunnel::vxlan(&outer, 51_000, 7, frame);
            let time = START.after_ms(time - packets[0].0);
            let fragments = outer.fragments(tunnel[9], size, &tunnel[20..]);
            fragments.iter().for_each(|packet| capture.push(time, packet));
        }
        let name = format!("gamewire-network-{}-fragments-{size}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, capture.pcap()).expect("a writable folder");
        let run = gamewire(["check", "--format=json", &path.to_string_lossy()].map(str::to_owned));
        std::fs::remove_file(&path).ok();
        let report: Value = serde_json::from_str(&run.out).expect("JSON");
        let rules = report["rules"].as_array().expect("rules").iter();
        let own = rules.filter(|rule| !rule["code"].to_string().contains("NET"));
        own.cloned().collect::<Vec<_>>()
    };
    let whole = verdicts(1400);
    assert!(whole.iter().any(|rule| rule["verdict"] == "fail"));
    for size in [8, 16, 64] {
        assert_eq!(verdicts(size), whole, "fragments of {size} bytes");
    }
}

#[test]
fn lost_bytes_are_reported_with_their_message() {
    let script = concat!(
        r"0.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'",
        "\n",
        r"0.02 c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'",
        "\n",
        r"0.03 c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'",
        "\n",
        r"0.05 m:28900 > c  tcp '\\ip\\10.0.0.2:7778\\ip\\10.0.1'",
        "\n",
        r"0.06 m:28900 > c  tcp lost '.2:7778'",
        "\n",
        r"0.07 m:28900 > c  tcp '\\final\\' fin",
    );
    let project = Project::new("lost-bytes");
    project.play("cut.pcap", &Setting::udp(27900), script);
    let frames = |format: &[&str]| -> Vec<Value> {
        let run = project.run(&[format, &["--format", "json", "cut.pcap"]].concat());
        run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let messages = frames(&["dissect"]);
    let lists = messages.iter().filter(|message| message["message"] == "list_response");
    let outcome = &frames(&["check"])[0];
    let findings = outcome["findings"].as_array().expect("findings").iter();
    let lost: Vec<_> = findings
        .filter(|it| it["rule"] == "NET006" && it["verdict"] == "inconclusive")
        .map(|it| &it["frames"])
        .collect();
    assert_eq!(lost, Vec::from_iter(lists.map(|list| &list["frames"])), "{outcome}");
}

#[test]
fn an_unknown_layer_is_reported_once() {
    let frame = |ether_type: [u8; 2], rest: &[u8]| {
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &ether_type, rest].concat()
    };
    let esp = [&[0x45, 0, 0, 28, 0, 1, 0, 0, 64, 50, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &[7; 8]]
        .concat();
    let packets = [frame([8, 0], &esp), frame([8, 0], &esp), frame([0x88, 0xE5], &[0; 40])];
    let mut bytes = pcap_header(1);
    packets.iter().for_each(|packet| bytes.extend(record(packet)));
    let (messages, said) = read(&bytes, &[]);
    assert!(messages.is_empty());
    let notes: Vec<_> = said.lines().filter(|line| line.contains("not read")).collect();
    assert_eq!(notes.len(), 2, "{said}");
    assert!(notes[0].contains("1 packet of MACsec is not read"), "{said}");
    assert!(notes[1].contains("2 packets of IPsec (ESP) are not read"), "{said}");
}
