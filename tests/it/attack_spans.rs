//! What `abuse` says of an attack is of the attack's time, whatever came before and after it.

use std::path::Path;

use captures::wire::{Capture, Link, START};
use serde_json::{Value, json};

use crate::attacks::{attacks_of, number};
use crate::flood_sources::{self, anyone};
use crate::support::project::Project;

const SERVER: &str = "23.17.34.51:27015";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// How a server answers clients.
#[derive(Clone, Copy, PartialEq)]
enum Answers {
    /// With a challenge, that they return, or do not.
    Returned,
    Challenge,
    Plainly,
}

/// A datagram, so many milliseconds after the start, with this hop limit.
fn say(capture: &mut Capture, at_ms: u64, ends: [&str; 2], bytes: &[u8], ttl: u8) {
    flood_sources::say(capture, START.after_ms(at_ms), ends, bytes, ttl);
}

/// A client asks each second, another one each time.
fn quiet(capture: &mut Capture, seconds: std::ops::Range<u64>, answers: Answers) {
    for second in seconds {
        let client = format!("12.{}.{}.7:{}", second % 7, second % 250, 40_000 + second % 5_000);
        let (there, back) = ([client.as_str(), SERVER], [SERVER, client.as_str()]);
        let (at, ttl) = (second * 1_000, 100 + (second % 20) as u8);
        say(capture, at, there, INFO, ttl);
        match answers {
            Answers::Plainly => say(capture, at + 1, back, ANSWER, 64),
            _ => say(capture, at + 1, back, CHALLENGE, 64),
        }
        if answers == Answers::Returned {
            say(capture, at + 50, there, &[INFO, &CHALLENGE[5..]].concat(), ttl);
            say(capture, at + 51, back, ANSWER, 64);
        }
    }
}

/// The only attack in a capture.
fn attack(capture: Capture) -> Value {
    let (_project, file) = Project::of_capture(capture.in_time().pcap());
    let mut found = attacks_of(Path::new(&file));
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

/// Whether two numbers are about the same.
fn is_near(value: &Value, wanted: f64) -> bool {
    (number(value) - wanted).abs() <= wanted / 100.0
}

#[test]
fn figures_of_a_flood_are_of_its_time() {
    for (answers, pause) in
        [(Answers::Returned, 10), (Answers::Challenge, 10), (Answers::Returned, 0)]
    {
        let mut capture = Capture::new(Link::Ethernet);
        quiet(&mut capture, 0..3_600, answers);
        for nth in 0..12_000_u64 {
            let from = anyone(nth as u32);
            let at = 3_600_000 + pause * 1_000 + nth / 2;
            say(&mut capture, at, [&from, SERVER], INFO, 244);
        }
        // Players ask during the flood, too, and long after it.
        quiet(&mut capture, 3_600 + pause..5_400, answers);
        let found = attack(capture);
        assert_eq!(found["seat"], "flooded_server");
        assert!(is_near(&found["packets"], 12_000.0), "{found:#}");
        let rate = &found["rate"];
        assert!(is_near(&rate["mean"], 2_000.0) && is_near(&rate["peak"], 2_000.0), "{rate}");
        assert!(number(&rate["peak_bits"]) >= number(&rate["mean_bits"]), "{rate}");
        assert!(number(&found["answered"]) < 0.01, "{found:#}");
        assert!(is_near(&found["sources"]["count"], 12_000.0), "{found:#}");
        let begins = format!("T01:00:{:02}", pause);
        assert!(found["begin"].as_str().unwrap().contains(&begins), "{found:#}");
        let best = &found["filters"][0];
        assert!(number(&best["drops"]) > 0.9, "{best:#}");
        assert_eq!(best["kind"], "hop_limit", "{best:#}");
        assert_eq!(found["kinds"].as_array().unwrap().len(), 1, "{found:#}");
    }
}

#[test]
fn figures_of_a_reflection_are_of_its_time() {
    for pause in [100, 0] {
        let (mut capture, victim) = (Capture::new(Link::Ethernet), "198.51.100.7:80");
        quiet(&mut capture, 0..1_100, Answers::Plainly);
        for nth in 0..400_u64 {
            let at = (1_100 + pause) * 1_000 + nth * 100;
            say(&mut capture, at, [victim, SERVER], INFO, 240);
            say(&mut capture, at + 1, [SERVER, victim], ANSWER, 64);
        }
        quiet(&mut capture, 1_100 + pause..2_000, Answers::Plainly);
        let found = attack(capture);
        assert_eq!(found["seat"], "reflector");
        // With 50 requests of others: meanwhile, and before it was silent for long enough.
        let packets = number(&found["packets"]);
        assert!((400.0..=450.0).contains(&packets), "{found:#}");
        assert_eq!(number(&found["responses"]["packets"]), packets, "{found:#}");
        assert!(number(&found["sources"]["count"]) <= 51.0, "{found:#}");
        assert_eq!(found["sources"]["top"][0], json!({"name": "198.51.100.7", "packets": 400}));
        let begin = 1_100 + pause;
        let begins = format!("T00:{:02}:{:02}", begin / 60, begin % 60);
        assert!(found["begin"].as_str().unwrap().contains(&begins), "{found:#}");
        let end = found["end"].as_str().unwrap();
        assert!(
            end < format!("2026-01-01T00:{:02}:{:02}", (begin + 45) / 60, (begin + 45) % 60)
                .as_str()
        );
        assert_ne!(found["filters"][0]["kind"], "length", "{found:#}");
    }
}
