//! Messages and verdicts do not depend on the boundaries and the order of segments, as long as none is
//! missing.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::{Setting, Transport, capture};
use captures::wire::{Capture, TimedPacket, flags};
use dissectors::catalogue;
use serde_json::Value;

/// The results for a capture: the messages of each direction, and the verdicts on all rules.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    messages: Vec<(String, String, String)>,
    rules: Vec<(String, [u64; 3])>,
}

/// The JSON output of a command for a capture.
fn reported(project: &Project, command: &str, capture: &Capture) -> String {
    project.write("streams.pcap", capture.pcap());
    project.run(&[command, "--format", "json", "streams.pcap"]).out
}

fn said(project: &Project, capture: &Capture) -> Said {
    let run = |command| reported(project, command, capture);
    let text = |value: &Value| value.to_string();
    let message = |line: &str| {
        let message: Value = serde_json::from_str(line).expect("JSON");
        (text(&message["src"]), text(&message["message"]), text(&message["fields"]))
    };
    let mut messages: Vec<_> = run("dissect").lines().map(message).collect();
    // Sorted by direction: messages that do not respond to each other have no common order.
    messages.sort_by(|one, other| one.0.cmp(&other.0));
    let checked: Value = serde_json::from_str(&run("check")).expect("JSON");
    let count = |rule: &Value, key: &str| rule[key].as_u64().expect("a count");
    let rules = checked["rules"].as_array().expect("rules").iter().map(|rule| {
        let counts = ["passed", "failed", "inconclusive"].map(|key| count(rule, key));
        (text(&rule["code"]), counts)
    });
    // Rules about the recording count segments.
    let rules = rules.filter(|(code, _)| !code.contains("NET"));
    Said { messages, rules: rules.collect() }
}

/// After Ethernet and IPv4 without options.
const TCP: usize = 14 + 20;

/// The start of the payload of a segment that has one, or FIN.
fn payload(packet: &TimedPacket) -> Option<usize> {
    let tcp = packet.bytes.get(TCP..)?;
    let (start, flags) = (TCP + usize::from(tcp.get(12)? >> 4) * 4, tcp.get(13)?);
    let plain = packet.bytes[14] == 0x45 && packet.bytes[23] == 6 && tcp[13] & flags::SYN == 0;
    let matters = packet.bytes.len() > start || flags & (flags::FIN | flags::RST) != 0;
    (plain && matters && flags & flags::RST == 0).then_some(start)
}

/// Divides every segment into two.
fn halved(mut capture: Capture) -> Capture {
    let packets = std::mem::take(&mut capture.packets);
    capture.packets = packets.into_iter().flat_map(halves).collect();
    capture
}

fn halves(packet: TimedPacket) -> Vec<TimedPacket> {
    let Some(start) = payload(&packet).filter(|start| packet.bytes.len() - start > 1) else {
        return vec![packet];
    };
    let middle = (start + packet.bytes.len()) / 2;
    let part = |from: usize, to: usize| {
        let mut part = packet.clone();
        part.bytes = [&packet.bytes[..start], &packet.bytes[from..to]].concat();
        let length = (part.bytes.len() - 14) as u16;
        part.bytes[16..18].copy_from_slice(&length.to_be_bytes());
        let sequence = part.bytes[TCP + 4..].first_chunk_mut().expect("a sequence number");
        *sequence = (u32::from_be_bytes(*sequence) + (from - start) as u32).to_be_bytes();
        part
    };
    let (mut front, back) = (part(start, middle), part(middle, packet.bytes.len()));
    front.bytes[TCP + 13] &= !flags::FIN;
    vec![front, back]
}

/// Captures in which two packets at this distance are exchanged. The times are not.
fn swapped(capture: &Capture, apart: usize) -> Vec<Capture> {
    let carries = |at: usize| capture.packets.get(at).and_then(payload).is_some();
    let firsts = (0..capture.packets.len()).filter(|&at| carries(at) && carries(at + apart));
    let swap = |first: usize| {
        let mut swapped = capture.clone();
        swapped.packets.swap(first, first + apart);
        for at in [first, first + apart] {
            swapped.packets[at].time = capture.packets[at].time;
        }
        swapped
    };
    firsts.map(swap).collect()
}

/// The examples over TCP.
fn conversations() -> Vec<(String, String, Setting)> {
    let rules = catalogue::rules().into_iter();
    let rules = rules.filter(|rule| ["GS1", "ACR"].contains(&rule.code.group().prefix));
    let examples = rules.flat_map(|rule| {
        [("right", rule.right), ("wrong", rule.wrong)].map(|(what, script)| {
            (
                format!("{what} {}", rule.code),
                script.to_owned(),
                Setting::of_rule(&rule.code.to_string()),
            )
        })
    });
    let is_stream = |(_, script, setting): &(String, String, Setting)| {
        script.contains(" tcp ") || setting.transport == Transport::Tcp
    };
    examples.filter(is_stream).collect()
}

#[test]
fn boundaries_and_order_of_segments_change_nothing() {
    let project = Project::new("streams");
    for (name, script, setting) in conversations() {
        let whole = capture(&script, &setting).expect("a good script");
        let expected = said(&project, &whole);
        let halved = halved(whole.clone());
        let others = [vec![halved.clone()], swapped(&whole, 1), swapped(&halved, 1)].concat();
        for (nth, other) in others.iter().enumerate() {
            assert_eq!(said(&project, other), expected, "{name}, recording {nth}");
        }
    }
}

#[test]
fn segments_that_are_recorded_late_break_no_rule() {
    let project = Project::new("streams-late");
    for (name, script, setting) in conversations() {
        let whole = capture(&script, &setting).expect("a good script");
        let expected = said(&project, &whole);
        let halved = halved(whole.clone());
        let far = [2, 3].map(|apart| [swapped(&whole, apart), swapped(&halved, apart)].concat());
        for (nth, other) in far.concat().iter().enumerate() {
            let found = said(&project, other);
            let both = found.rules.iter().zip(&expected.rules);
            // A socket check is outside of the connection.
            for (found, before) in both.filter(|(found, _)| !found.0.contains("ACR034")) {
                assert!(found.1[1] <= before.1[1], "{name}, recording {nth}: {}", found.0);
            }
        }
    }
}

/// A segment between the same sockets as another one, without payload, and so far ahead of it.
fn forged(like: &TimedPacket, flags: u8, ahead: u32) -> Option<TimedPacket> {
    let mut packet = like.clone();
    payload(like)?;
    packet.bytes.truncate(TCP + 20);
    packet.bytes[16..18].copy_from_slice(&40_u16.to_be_bytes());
    packet.bytes[TCP + 12] = 5 << 4;
    packet.bytes[TCP + 13] = flags;
    let sequence = packet.bytes[TCP + 4..].first_chunk_mut().expect("a sequence number");
    *sequence = u32::from_be_bytes(*sequence).wrapping_add(ahead).to_be_bytes();
    Some(packet)
}

/// Whoever cannot see a connection does not know its numbers.
#[test]
fn resets_and_syns_outside_of_the_window_change_nothing() {
    let project = Project::new("streams-forged");
    for (name, script, setting) in conversations() {
        let whole = capture(&script, &setting).expect("a good script");
        let expected = said(&project, &whole);
        for (flags, ahead) in [(flags::RST, 100_000), (flags::SYN, 100_000), (flags::SYN, 1 << 31)]
        {
            let mut other = whole.clone();
            let packets = std::mem::take(&mut other.packets).into_iter();
            other.packets = packets
                .flat_map(|packet| [forged(&packet, flags, ahead), Some(packet)])
                .flatten()
                .collect();
            assert_eq!(said(&project, &other), expected, "{name}, {flags}, {ahead}");
        }
    }
}

/// The messages of an exchange with the AssaultCube Reloaded master, and their packets.
fn messages(name: &str, script: &str) -> Vec<(String, u64)> {
    let capture = capture(script, &Setting::tcp(80)).expect("a good script");
    let reported = reported(&Project::new(name), "dissect", &capture);
    let message = |line: &str| {
        let message: Value = serde_json::from_str(line).expect("JSON");
        let name = message["message"].as_str().expect("a name").to_owned();
        (name, message["frame"].as_u64().expect("a number"))
    };
    reported.lines().map(message).collect()
}

#[test]
fn a_response_that_identifies_the_protocol_at_its_end_is_read_after_its_request() {
    let script = r"0.0 c > m 'GET /r?v=140 HTTP/1.0\r\n\r\n'
        0.1 m > c 'HTTP/1.0 200 OK\r\n\r\nserver registered'
        0.2 m > c fin
        end 9";
    let expected = [("register_request".to_owned(), 4), ("register_response".to_owned(), 5)];
    assert_eq!(messages("end", script), expected);
}

#[test]
fn messages_that_are_identified_late_are_read_in_the_order_of_the_capture() {
    let script = r"0.0 c > m 'GET /r?v=140 HTTP/1.1\r\n\r\n'
        0.1 m > c 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx\n'
        0.2 c > m 'GET /a?p=1&a=::1 HTTP/1.1\r\n\r\n'
        0.3 m > c 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n*a\n'
        end 9";
    let frames: Vec<_> = messages("late", script).into_iter().map(|(_, frame)| frame).collect();
    assert_eq!(frames, [4, 5, 6, 7]);
}

/// The counts of a rule in an exchange with the AssaultCube Reloaded master.
fn fared(name: &str, code: &str, script: &str) -> [u64; 3] {
    let capture = capture(script, &Setting::tcp(80)).expect("a good script");
    let found = said(&Project::new(name), &capture);
    let rule = found.rules.iter().find(|(it, _)| it.contains(code));
    rule.expect("the rule").1
}

#[test]
fn a_probe_before_the_response_that_identifies_the_registration_is_its_check() {
    let script = |probe: &str| {
        format!(
            r"0.0 s:40000 > m tcp 'GET /r?v=140 HTTP/1.0\r\n\r\n'
            {probe}
            0.3 m > s:40000 tcp 'HTTP/1.0 200 OK\r\n\r\nserver registered' fin
            end 9"
        )
    };
    let (probe, reply) = ("0.1 m:41000 > s:28771 udp 01", "0.2 s:28771 > m:41000 udp 'AC'");
    let fared = |probe: &str| fared("early", "ACR034", &script(probe));
    assert_eq!(fared(&format!("{probe}\n{reply}")), [1, 0, 0]);
    assert_eq!(fared(probe), [0, 1, 0]);
    assert_eq!(fared(reply), [0, 0, 1], "it may have been there");
}

#[test]
fn a_registration_that_its_response_identifies_has_no_version() {
    let script = r"0.0 s:40000 > m tcp 'GET /r?p=28770 HTTP/1.0\r\n\r\n'
        0.3 m > s:40000 tcp 'HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nregistered'
        end 9";
    assert_eq!(fared("lacks", "ACR004", script), [0, 1, 0]);
}

#[test]
fn targets_without_a_leading_slash_are_requests() {
    let script = r"0.0 s:40000 > m tcp 'GET ms/r?v=140&p=28770 HTTP/1.0\r\nUser-Agent: ACR-Server/20700\r\n\r\n'
        0.1 m > s:40000 tcp fin
        0.2 s:40001 > m tcp 'GET ms/a?a=::1 HTTP/1.0\r\nUser-Agent: ACR-Server/20700\r\n\r\n'
        0.3 m > s:40001 tcp fin
        end 9";
    assert_eq!(fared("slash", "ACR035", script), [0, 2, 0]);
    assert_eq!(fared("slash", "ACR002", script), [2, 0, 0]);
}

#[test]
fn a_filled_gap_does_not_excuse_earlier_messages_of_the_other_end() {
    let script = r"0.0 m:28900 > c tcp '\\basic\\\\secure\\XDWAO'
        0.1 c > m:28900 tcp '\\'
        0.1 c > m:28900 tcp 'gamename\\ut\\location\\0\\validate\\3JOdDFU=\\final\\\\list\\\\g'
        0.1 c > m:28900 tcp 'amename\\ut\\final\\'
        0.2 m:28900 > c tcp '\\ip\\10.0.0.2:7778\\final\\' fin
        end 9";
    let mut capture = capture(script, &Setting::udp(27900)).expect("a good script");
    let of_client = |packet: &TimedPacket| packet.bytes.ends_with(br"\");
    let first = capture.packets.iter().position(of_client).expect("the client's first segment");
    capture.packets[first..first + 3].rotate_right(1);
    let found = said(&Project::new("hole"), &capture);
    let rule = found.rules.iter().find(|(code, _)| code.contains("GS1003")).expect("the rule");
    assert_eq!(rule.1, [0, 1, 0]);
}

#[test]
fn a_stream_without_an_end_marker_is_complete_after_its_fin() {
    let script = r"0.0 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
        0.1 c > m:28900 tcp lost '\\gamename\\ut\\locatio'
        0.1 c > m:28900 tcp 'n\\0\\validate\\3JOdDFU5\\final\\\\list\\\\gamename\\ut\\final\\'
        0.2 m:28900 > c tcp '\\ip\\10.0.0.2:7778\\final\\' fin";
    let capture = capture(script, &Setting::udp(27900)).expect("a good script");
    let found = said(&Project::new("waits"), &capture);
    let counts = |code: &str| found.rules.iter().find(|(it, _)| it.contains(code)).map(|it| it.1);
    assert_eq!(counts("GS1016"), Some([1, 0, 0]));
    assert_eq!(counts("GS1014"), Some([0, 0, 0]), "it is unknown what was validated");
    assert!(!reported(&Project::new("whole"), "dissect", &capture).contains("recording lost"));
}

/// The result of `check` for a rule: how often it passed, failed and was inconclusive; and the findings.
fn checked(name: &str, capture: &Capture, code: &str) -> ([u64; 3], Vec<Value>) {
    let reported = reported(&Project::new(name), "check", capture);
    let reported: Value = serde_json::from_str(&reported).expect("JSON");
    let rules = reported["rules"].as_array().expect("rules");
    let rule = rules.iter().find(|rule| rule["code"] == code).expect("the rule");
    let counts =
        ["passed", "failed", "inconclusive"].map(|key| rule[key].as_u64().expect("a count"));
    let findings = reported["findings"].as_array().expect("findings").iter();
    (counts, findings.filter(|finding| finding.to_string().contains(code)).cloned().collect())
}

/// A client that is validated and requests the list.
const VALIDATED: &str = r"0.0 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
    0.1 c > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\\\list\\\\gamename\\ut\\final\\'
";

#[test]
fn a_fin_after_a_gap_has_its_own_time_and_so_has_the_gap() {
    let script = format!(
        r"{VALIDATED}
        0.2 m:28900 > c tcp '\\ip\\10.0.0.2:7778\\final\\'
        0.2 m:28900 > c tcp lost '\\'
        0.3 m:28900 > c tcp fin
        end 20"
    );
    let capture = capture(&script, &Setting::udp(27900)).expect("a good script");
    assert_eq!(checked("fin", &capture, "GS1017").0, [1, 0, 0]);
    let (_, gaps) = checked("gap", &capture, "NET006");
    let times: Vec<_> = gaps.iter().map(|gap| gap["time"].to_string()).collect();
    assert!(times.iter().all(|time| time.contains(".3")), "{times:?}");
    assert!(!times.is_empty());
}

#[test]
fn an_acknowledgment_of_missing_bytes_reveals_them() {
    for (name, script) in [
        (
            "last",
            format!(
                r"{VALIDATED}
            0.2 m:28900 > c tcp lost '\\ip\\10.0.0.2:7778\\final\\'
            0.3 c > m:28900 tcp
            end 9"
            ),
        ),
        (
            "fin",
            format!(
                r"{VALIDATED}
            0.2 m:28900 > c tcp lost '\\ip\\10.0.0.2:7778\\final\\'
            0.3 c > m:28900 tcp fin
            end 9"
            ),
        ),
        (
            "one",
            VALIDATED.replace("m:28900 > c tcp", "m:28900 > c tcp nosyn lost")
                + r"0.2 m:28900 > c tcp lost '\\ip\\10.0.0.2:7778\\final\\'
            0.3 c > m:28900 tcp
            end 9",
        ),
        ("first", VALIDATED.replace("m:28900 > c tcp", "m:28900 > c tcp lost") + "end 9"),
    ] {
        let capture = capture(&script, &Setting::udp(27900)).expect("a good script");
        let (counts, findings) = checked(name, &capture, "NET006");
        assert!(counts[1] > 0, "{name}: {counts:?}, {findings:?}");
    }
}

#[test]
fn data_after_a_reset_is_read() {
    let script = format!(
        r"{VALIDATED}
        0.2 m:28900 > c tcp '\\ip\\10.0.0.2:7778\\final\\'
        end 9"
    );
    let whole = capture(&script, &Setting::udp(27900)).expect("a good script");
    let expected = said(&Project::new("reset"), &whole).messages;
    assert_eq!(expected.len(), 4);
    for at in 3..whole.packets.len() - 1 {
        let mut forged = whole.clone();
        let mut reset = forged.packets[at].clone();
        let start = payload(&reset).unwrap_or(reset.bytes.len());
        reset.bytes.truncate(start);
        let length = (start - 14) as u16;
        reset.bytes[16..18].copy_from_slice(&length.to_be_bytes());
        reset.bytes[TCP + 13] = flags::RST;
        forged.packets.insert(at, reset);
        assert_eq!(said(&Project::new("forged"), &forged).messages, expected, "before {at}");
    }
}

/// A response that is truncated by the snap length and recorded before its request still waits for it.
#[test]
fn a_response_before_a_gap_waits_for_its_request() {
    let project = Project::new("streams-gap");
    let exchange = |from: u32, path: &str, cut: &str| {
        let answer = "HTTP/1.1 200 OK\\r\\nContent-Length: 19\\r\\n\\r\\nserver registered\\r\\n";
        format!(
            "0.{from} c > m tcp 'GET {path} HTTP/1.1\\r\\n\\r\\n'\n0.{} m > c tcp {cut}'{answer}'\n",
            from + 1
        )
    };
    for next in ["", &exchange(4, "/r?v=140", "")] {
        let first = exchange(0, "/r?v=140", "");
        let script = format!("{first}{}{next}end 9", exchange(2, "/r?v=141", "snap=100 "));
        let whole = capture(&script, &Setting::tcp(80)).expect("a good script");
        let expected = said(&project, &whole);
        let rest = expected.messages.iter().filter(|(_, message, _)| message.contains("response"));
        assert_eq!(rest.count(), if next.is_empty() { 2 } else { 3 }, "{:?}", expected.messages);
        for (nth, other) in swapped(&whole, 1).iter().enumerate() {
            assert_eq!(said(&project, other), expected, "recording {nth}\n{script}");
        }
    }
}

/// A list whose connection was closed before its announced length.
#[test]
fn a_list_that_its_master_cuts_is_marked() {
    let lines = r"masterserver_flags 0\naddserver 10.0.0.2\n";
    for (length, marked) in [(40, false), (90, true)] {
        let script = format!(
            "0.00 c > m  tcp 'GET /c?build_defs=4 HTTP/1.1\\r\\n\\r\\n'\n\
             0.02 m > c  tcp 'HTTP/1.1 200 OK\\r\\nContent-Length: {length}\\r\\n\\r\\n{lines}' fin"
        );
        let setting = Setting { transport: Transport::Tcp, ..Setting::udp(28770) };
        let (_project, file) = Project::of_script(&script, &setting);
        let out = gamewire(["dissect", "--no-config", &file]).out;
        assert!(out.contains("1 server"), "{out}");
        assert_eq!(out.contains("1 server, not whole"), marked, "{out}");
        assert!(!out.contains("not whole in the capture"), "{out}");
    }
}

/// Servers ignore empty lines before a request (RFC 9112 section 2.2).
#[test]
fn an_empty_line_before_a_request_hides_nothing() {
    let script = r"0.00 c > m tcp '\r\n\r\nGET /c?build_defs=4 HTTP/1.0\r\n\r\n'
0.02 m > c tcp 'HTTP/1.1 200 OK\r\n\r\nmasterserver_flags 0\naddserver 10.0.1.2 28770 1\n' fin
1.00 d > m tcp '\r'
1.10 d > m tcp '\nGET /c?build_defs=4 HTTP/1.0\r\n\r\n'
1.12 m > d tcp 'HTTP/1.1 200 OK\r\n\r\nmasterserver_flags 0\naddserver 10.0.1.2 28770 1\n' fin
end 60";
    let (_project, file) = Project::of_script(script, &Setting::tcp(80));
    let run = gamewire(["dissect", "--no-config", &file]);
    for name in ["client_request", "client_response"] {
        assert_eq!(run.out.matches(name).count(), 2, "{}{}", run.out, run.err);
    }
}

/// What comes before the client resets the connection need not be all that the master would have sent.
#[test]
fn a_response_that_ends_within_its_headers_is_a_fault_if_the_master_ends_it() {
    for (end, expected) in [("m > c tcp fin", 1), ("m > c tcp rst", 1), ("c > m tcp rst", 0)] {
        let script = format!(
            r"0.00 c > m tcp 'GET /c?build_defs=4 HTTP/1.0\r\n\r\n'
0.02 m > c tcp 'HTTP/1.1 200 OK\r\nContent-Ty'
0.03 {end}
end 60"
        );
        let (_project, file) = Project::of_script(&script, &Setting::tcp(80));
        let run = gamewire(["check", "--no-config", "--format", "json", &file]);
        let outcome: Value = serde_json::from_str(&run.out).unwrap();
        let rule = outcome["rules"].as_array().unwrap().iter().find(|it| it["code"] == "ACR035");
        assert_eq!(rule.unwrap()["failed"], expected, "{end}");
    }
}
