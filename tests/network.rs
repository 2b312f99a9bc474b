//! What the layers below a message show of it: checksums, fragments, snapped packets, links.

mod support;

use serde_json::Value;
use support::gamewire;
use xtask::exchange::{Setting, capture};
use xtask::wire::{ByteOrder, Interface, Link, PcapNg};

/// Plays an exchange with an A2S server and returns the messages, and what went to the errors.
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

#[test]
fn checksums_are_judged_only_when_asked() {
    let script =
        "0.00 c > s  udpsum=bad FFFFFFFF 55 FFFFFFFF\n0.02 s > c  ipsum=bad FFFFFFFF 41 4BA1D522";
    let (messages, _) = dissect(script, &[]);
    assert!(messages.iter().all(|message| rules(message).is_empty()));
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
fn a_snapped_answer_shows_what_was_recorded_and_blames_nobody() {
    let script = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  snap=49 FFFFFFFF 41 4BA1D522";
    let (messages, _) = dissect(script, &[]);
    assert_eq!(messages[1]["message"], "challenge_response");
    assert_eq!(rules(&messages[1]), ["NET001"]);
}

#[test]
fn a_clock_that_is_set_back_ends_nothing() {
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
    let behind = file.clone().done().len();
    let unknown = file.interface(Interface::new(Link::Ethernet));
    packets.iter().zip([known, unknown]).for_each(|(packet, of)| file.enhanced(of, packet));
    let mut bytes = file.done();
    bytes[behind + 8] = 200;
    let (messages, err) = read(&bytes, &[]);
    assert_eq!((messages.len(), err.lines().count()), (1, 1));
    assert!(err.contains("the link type of 1 of 2 packets, 200 the first; record on"), "{err}");
}
