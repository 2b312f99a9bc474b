//! Tests with arbitrary bytes: no panic, every byte in one leaf, and the same conversation with
//! every sink.

use proptest::prelude::*;

use crate::kit::lab::{Lab, LabSegment, TestRecorder};
use crate::kit::*;

/// Sender and receiver of packets, and for TCP the side that opened the connection.
pub(crate) struct TestRoute {
    from: &'static str,
    to: &'static str,
    opener: Option<&'static str>,
}

impl TestRoute {
    pub(crate) const fn udp(from: &'static str, to: &'static str) -> TestRoute {
        TestRoute { from, to, opener: None }
    }

    pub(crate) const fn tcp(
        from: &'static str,
        to: &'static str,
        opener: &'static str,
    ) -> TestRoute {
        TestRoute { from, to, opener: Some(opener) }
    }
}

/// One packet: milliseconds since the last one, the index of its route, whether it closes the
/// stream, the bytes.
pub(crate) type TestPacket = (u16, u8, bool, Vec<u8>);

/// A sink that overrides nothing: the overrides of [`Tree`] and [`RuleResults`] must have the same
/// results.
#[derive(Default)]
struct OneByOne {
    tree: Tree,
    results: RuleResults,
    trees: Vec<Vec<Compared>>,
}

/// The parts of a node that are compared.
type Compared = (&'static str, Span, u64, u32);

fn shapes(tree: &Tree) -> Vec<Compared> {
    let shape = |node: &Node| (node.field.name, node.span, node.value, node.descendants);
    tree.nodes().iter().map(shape).collect()
}

impl Sink for OneByOne {
    fn leaf(&mut self, field: &'static Field, span: Span, value: u64) {
        self.tree.leaf(field, span, value);
    }
    fn leaf_text(&mut self, field: &'static Field, span: Span, text: &[u8]) {
        self.tree.leaf_text(field, span, text);
    }
    fn open(&mut self, field: &'static Field, start: u32, value: u64) {
        self.tree.open(field, start, value);
    }
    fn close(&mut self, end: u32) {
        self.tree.close(end);
    }
    fn checked(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        at: Span,
        detail: impl FnOnce() -> String,
    ) {
        self.results.checked(rule, ok, at, detail);
    }
    fn noted(&mut self, rule: &'static Rule, at: Span, detail: impl FnOnce() -> String) {
        self.results.noted(rule, at, detail);
    }
    fn recalled(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        evidence: Evidence,
        mark: &Mark,
        detail: impl FnOnce() -> String,
    ) {
        self.results.recalled(rule, ok, evidence, mark, detail);
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.results.evidence(evidence);
    }
    fn whole_elements(&mut self, are: bool) {
        self.results.whole_elements(are);
    }
    fn end(&mut self, _: &'static Message, _: &Payload<'_>) {
        self.trees.push(shapes(&self.tree));
        self.tree.clear();
    }
}

fn play<P: Protocol, S: Sink>(routes: &[TestRoute], packets: &[TestPacket], sink: S) -> S {
    let mut lab = Lab::<P, S>::with(sink);
    let mut now = 0.0;
    for (pause, route, fin, bytes) in packets {
        now += f64::from(*pause) / 1000.0;
        let TestRoute { from, to, opener } = routes[usize::from(*route) % routes.len()];
        match opener {
            None => lab.udp(now, from, to, bytes),
            Some(opener) => lab.tcp(now, (from, to), opener, bytes, LabSegment { fin: *fin }),
        };
    }
    lab.end(now + 9.0);
    lab.sink
}

/// The counts of every rule, and the state that each sink left in the conversation, which later
/// messages show.
pub(crate) fn run<P: Protocol>(routes: &[TestRoute], packets: &[TestPacket]) {
    let recorder = play::<P, _>(routes, packets, TestRecorder::default());
    let one_by_one = play::<P, _>(routes, packets, OneByOne::default());
    let results = play::<P, _>(routes, packets, RuleResults::default());
    play::<P, _>(routes, packets, Tree::default());
    play::<P, _>(routes, packets, Blind);
    for rule in P::INFO.rules {
        let counts = recorder.results.counts(rule);
        assert_eq!(counts, results.counts(rule), "{rule:?}");
        assert_eq!(counts, one_by_one.results.counts(rule), "{rule:?}");
    }
    let trees: Vec<_> = recorder.heard.iter().map(|heard| shapes(&heard.tree)).collect();
    assert_eq!(trees, one_by_one.trees);
}

/// Every message cut at every length.
pub(crate) fn cut(samples: &[Vec<u8>], everywhere: impl Fn(&[u8])) {
    assert!(!samples.is_empty());
    for sample in samples {
        (0..sample.len()).for_each(|length| everywhere(&sample[..length]));
    }
}

/// Every message with each of its first `most` bytes changed.
pub(crate) fn flip(samples: &[Vec<u8>], flips: &[u8], most: usize, everywhere: impl Fn(&[u8])) {
    assert!(!samples.is_empty());
    for sample in samples {
        for at in 0..sample.len().min(most) {
            for flip in flips {
                let mut changed = sample.clone();
                changed[at] ^= flip;
                everywhere(&changed);
            }
        }
    }
}

/// Random packets: these messages, changed or cut ones, `likely` ones, and noise.
pub(crate) fn packets(
    samples: Vec<Vec<u8>>,
    likely: impl Strategy<Value = Vec<u8>> + 'static,
) -> impl Strategy<Value = Vec<TestPacket>> {
    let sample = proptest::sample::select(samples);
    let changed = (sample.clone(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>())
        .prop_map(|(mut sample, at, value, cut)| {
            let at = at.index(sample.len());
            sample[at] = value;
            if cut {
                sample.truncate(at);
            }
            sample
        });
    let noise = prop::collection::vec(any::<u8>(), 0..80);
    let bytes = prop_oneof![sample, changed, likely, noise];
    let pause = prop_oneof![Just(1_u16), Just(500), Just(4000)];
    prop::collection::vec((pause, any::<u8>(), prop::bool::weighted(0.1), bytes), 1..24)
}

/// A stream in segments whose lengths cycle through these.
pub(crate) fn segments(stream: &[u8], lengths: &[usize], route: u8) -> Vec<TestPacket> {
    let (mut packets, mut rest) = (Vec::new(), stream);
    for length in lengths.iter().cycle() {
        let (segment, left) = rest.split_at((*length).min(rest.len()));
        packets.push((1, route, left.is_empty(), segment.to_vec()));
        if left.is_empty() {
            break;
        }
        rest = left;
    }
    packets
}
