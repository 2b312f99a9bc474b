//! Captures whose packets are not in the order of time.

use crate::support::project::Project;
use crate::support::{diagnosis, gamewire};
use captures::wire::{Capture, Datagram, Link, START};

const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ASKED_AGAIN: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0\x07\0\x01\0";
const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x07\0\x01\0";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// Rounds with a challenge, as a recorder writes them that has the packets of each direction in blocks of so many.
fn blocks(of: usize) -> Vec<u8> {
    let (client, server) = ("203.0.113.9:50000", "192.0.2.7:27015");
    let mut sides = [Vec::new(), Vec::new()];
    for nth in 0..30 {
        for (ms, is_answer, bytes) in
            [(0, 0, INFO), (40, 1, CHALLENGE), (41, 0, ASKED_AGAIN), (80, 1, ANSWER)]
        {
            let ends = if is_answer > 0 { [server, client] } else { [client, server] };
            let time = START.after((nth * 4000 + ms) * 1_000_000);
            sides[is_answer].push((time, Datagram::new(ends[0], ends[1], bytes).packet()));
        }
    }
    let mut capture = Capture::new(Link::Ethernet);
    let [asked, answered] = sides;
    for (asked, answered) in asked.chunks(of).zip(answered.chunks(of)) {
        for (time, packet) in [answered, asked].concat() {
            capture.push(time, &packet);
        }
    }
    capture.pcap()
}

#[test]
fn packets_in_blocks_are_read_in_the_order_of_time() {
    for of in [1, 2, 7, 30] {
        let (_project, file) = Project::of_capture(blocks(of));
        let check = gamewire(["check", "--no-config", &file]);
        assert_eq!(check.code, 0, "{of}: {}", check.out);
        assert!(check.out.contains("30 of 30"), "{}", check.out);
        assert!(check.err.contains("reordercap"), "{}", check.err);
        let (code, report) = diagnosis::report_of(&file, &[]);
        assert_eq!(code, 0);
        assert_eq!(diagnosis::item(&report, "servers", "seen.verified"), "yes", "{report:#}");
        let dissect = |threads| {
            gamewire(["dissect", "--no-config", "--format", "json", "--threads", threads, &file])
        };
        let [one, several] = ["1", "4"].map(dissect);
        assert_eq!(one.out, several.out);
        assert_eq!(one.err, several.err);
        let frames = one.out.lines().enumerate();
        assert!(
            frames
                .into_iter()
                .all(|(nth, line)| { line.starts_with(&format!("{{\"frame\":{},", nth + 1)) })
        );
    }
}
