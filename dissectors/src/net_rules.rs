//! Rules about the recording itself, which show how far a capture can be trusted. They are not in a
//! specification. The layers that read packets check them; they are declared here.

use crate::kit::{Group, Rule};
use crate::rule;

/// Their group.
pub const GROUP: Group = Group { prefix: "NET", about: "the recording itself", document: None };

rule! {
    /// Bytes after the snap length were not recorded and cannot be checked. Record with -s 0.
    pub NET001 "snapped" { severity: Note, who: Capture, needs: Interval,
        asks: "no packet was cut by the snap length",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  snap=46 FFFFFFFF 41 4BA1D522" }
}
rule! {
    /// Routers drop such packets. One in a capture was damaged, forged, or recorded before the
    /// network card computed the checksum.
    pub NET002 "ip-checksum" { severity: Note, who: Any, needs: Message,
        asks: "the IPv4 header checksum is right",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF",
        wrong: "0.00 c > s  ipsum=bad FFFFFFFF 55 FFFFFFFF" }
}
rule! {
    /// The receiver drops such packets. Off by default: network cards compute the checksum after
    /// the packet has been recorded.
    pub NET003 "transport-checksum" { severity: Note, who: Any, needs: Message,
        asks: "the UDP or TCP checksum is right",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF",
        wrong: "0.00 c > s  udpsum=bad FFFFFFFF 55 FFFFFFFF" }
}
rule! {
    /// Overlapping fragments are used to bypass filters: operating systems differ in which copy
    /// they use. gamewire uses the first one.
    pub NET004 "fragment-overlap" { severity: Warning, who: Any, needs: Message,
        asks: "the IP fragments of one datagram do not overlap",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 56 4BA1D522\n0.02 s > c  frag=512 FFFFFFFF 45 0100 'motd' 00 'x'*1000 00",
        wrong: "",
        unshown: "this notation has no fragments that overlap" }
}
rule! {
    /// The datagram is not in the capture: its contents, and whether it was a response, are
    /// unknown.
    pub NET005 "fragment-missing" { severity: Note, who: Capture, needs: Interval,
        asks: "all IP fragments of every datagram are in the capture",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 56 4BA1D522\n0.02 s > c  frag=512 FFFFFFFF 45 0100 'motd' 00 'x'*1000 00",
        wrong: "",
        unshown: "this notation has no fragments that are missing" }
}
rule! {
    /// Bytes of a stream were not recorded; the bytes after the gap are read and marked.
    pub NET006 "tcp-gap" { severity: Note, who: Capture, needs: Interval,
        asks: "every byte of a stream is in the capture",
        cite: [],
        right: "",
        wrong: "",
        unshown: "it is about what was recorded of a stream, which this notation cannot say" }
}
rule! {
    /// One of the two copies is not from the sender: a broken middlebox changed it, or an attacker
    /// injected it.
    pub NET007 "tcp-overlap-differs" { severity: Warning, who: Any, needs: Message,
        asks: "a retransmission carries the same bytes as the original",
        cite: [],
        right: "",
        wrong: "",
        unshown: "this notation has no retransmissions with other bytes" }
}
rule! {
    /// The bytes do not match their header.
    pub NET008 "malformed-packet" { severity: Note, who: Any, needs: Message,
        asks: "link, IP, UDP and TCP headers parse",
        cite: [],
        right: "",
        wrong: "",
        unshown: "this notation has no headers that do not parse" }
}
rule! {
    /// The recorder was stopped, or the disk was full, in the middle of a packet. All packets
    /// before it are checked.
    pub NET009 "file-cut" { severity: Note, who: Capture, needs: Interval,
        asks: "the capture file ends after a whole record",
        cite: [],
        right: "",
        wrong: "",
        unshown: "it is about the end of the capture's file" }
}
rule! {
    /// The recorder was too slow: messages that seem to be missing may be among the dropped
    /// packets. Record with a filter, or with a larger buffer.
    pub NET010 "capture-drops" { severity: Note, who: Capture, needs: Interval,
        asks: "the recorder dropped no packet",
        cite: [],
        right: "",
        wrong: "",
        unshown: "it is about what the recorder counts" }
}

rule! {
    /// Limits prevent that the sender of packets controls how much memory and time reading takes.
    /// Messages left out because of a limit were not checked: raise the limit that the finding
    /// names with --limit and run again.
    pub NET011 "limit-met" { severity: Note, who: Capture, needs: Message,
        asks: "nothing was left out because of a limit on memory or length",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 56 4BA1D522\n0.02 s > c  FEFFFFFF 01000080 01 00 E004 D3C81000 00000000 425A6839314159265359B56577EA002A27C588E00002000402844002000008A0003100D34D022A68D07A92B5EBBEE39D8828A01980228A011AF8BB9229C28485AB2BBF50" }
}

rule! {
    /// Players do not see these servers in their lists: the servers are down, their ports are
    /// closed or filtered, or the responses go elsewhere. A capture without any response proves
    /// nothing good, even if all requests are correct.
    pub NET012 "nothing-answered" { severity: Error, who: Server, needs: Response,
        asks: "of all requests that are checked, at least one is answered",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  icmp=3.3\n1.00 c > s  FFFFFFFF 55 FFFFFFFF\n1.02 s > c  icmp=3.3" }
}
rule! {
    /// A copy of a datagram adds no information: a switch that mirrors both ends of a line, two taps,
    /// or a host before and behind its NAT recorded it twice. It is shown, but not counted.
    pub NET013 "datagram-copied" { severity: Note, who: Capture, needs: Message,
        asks: "no datagram arrives twice",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  twice FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522" }
}
rule! {
    /// Players do not see this server, although others work: it is down, its port is closed or
    /// filtered, or its responses go elsewhere. Ports that one client probes within 10 s of one another
    /// are no servers if another port of the host answers.
    pub NET014 "server-silent" { severity: Warning, who: Server, needs: Response,
        asks: "of the requests to one server, at least one is answered",
        cite: [],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.01 c > t  FFFFFFFF 55 FFFFFFFF\n0.02 m > c  icmp=3.1\n1.00 c > s  FFFFFFFF 55 FFFFFFFF\n1.02 s > c  FFFFFFFF 41 4BA1D522" }
}

/// All of them, by code.
pub static ALL: &[&Rule] = &[
    &NET001, &NET002, &NET003, &NET004, &NET005, &NET006, &NET007, &NET008, &NET009, &NET010,
    &NET011, &NET012, &NET013, &NET014,
];
