//! Which request a response answers, what an ICMP error and a copy do to it, and answers that begin
//! as no text does.

use crate::gamespy1::GameSpy1;
use crate::gamespy1::rules;
use crate::kit::{
    Budget, Context, Evidence, Field, FlowFacts, Judge, Mark, Message, Payload, Protocol, Reply,
    Rule, Settings, Side, Sink, Span, Time, Transport,
};

use super::lab::{C, L, Lab, M, S, Segment};

/// Messages and what they answer; and what is judged.
#[derive(Default)]
struct Replies {
    judge: Judge,
    reply: Option<Reply>,
    fields: Vec<&'static str>,
    told: Vec<(&'static str, Option<Reply>)>,
}

impl Sink for Replies {
    fn leaf(&mut self, field: &'static Field, _: Span, _: u64) {
        self.fields.push(field.name);
    }
    fn judged(&mut self, rule: &'static Rule, ok: bool, at: Span, detail: impl FnOnce() -> String) {
        self.judge.judged(rule, ok, at, detail);
    }
    fn recalled(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        evidence: Evidence,
        mark: &Mark,
        detail: impl FnOnce() -> String,
    ) {
        self.judge.recalled(rule, ok, evidence, mark, detail);
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.judge.evidence(evidence);
    }
    fn answers(&mut self, reply: Reply) {
        self.reply = Some(reply);
    }
    fn end(&mut self, message: &'static Message, _: &Payload<'_>) {
        self.told.push((message.name, self.reply.take()));
    }
}

fn at(second: f64) -> Time {
    Time((second * 1e9).round() as i64)
}

/// The request of each message that has one.
fn replies(datagrams: &[(f64, &str, &str, &str)]) -> Vec<(&'static str, Reply)> {
    let mut lab: super::lab::Lab<Replies> = Lab::with(Replies::default());
    for (time, from, to, text) in datagrams {
        lab.udp(*time, from, to, text.as_bytes());
    }
    lab.end(99.0);
    lab.sink.told.iter().filter_map(|(name, reply)| Some((*name, (*reply)?))).collect()
}

const ANSWER: &str = r"\hostname\Test\queryid\1.1\final\";

#[test]
fn an_answer_knows_its_query() {
    let told = replies(&[(1.0, C, S, r"\info\"), (1.1, S, C, ANSWER)]);
    assert_eq!(told, [("query_response", Reply::to(1, at(1.0)))]);
    // In parts: the whole does.
    let parts = [r"\hostname\Test\queryid\1.1", r"\player_0\Ann\queryid\1.2\final\"];
    let told = replies(&[(1.0, C, S, r"\status\"), (1.1, S, C, parts[1]), (1.2, S, C, parts[0])]);
    assert_eq!(told, [("query_response", Reply::to(1, at(1.0)))]);
    // Nobody has asked.
    assert_eq!(replies(&[(1.0, S, C, ANSWER)]), []);
}

#[test]
fn a_query_that_is_sent_again_is_one_request() {
    let asked = [0.0, 1.0, 2.0].map(|time| (time, C, S, r"\info\"));
    let told = replies(&[asked[0], asked[1], asked[2], (2.1, S, C, ANSWER)]);
    let reply = Reply { request: 3, sent: at(2.0), began: at(0.0), tries: 3, complete: true };
    assert_eq!(told, [("query_response", reply)]);
}

#[test]
fn a_challenge_and_a_validate_know_what_they_answer() {
    let told = replies(&[
        (0.0, S, M, r"\heartbeat\7778\gamename\ut\"),
        (0.1, M, S, r"\basic\\secure\l8jfVy"),
        (0.2, S, M, r"\heartbeat\7778\gamename\ut\validate\SAaJHX96\final\"),
    ]);
    let expected = [("secure", Reply::to(1, at(0.0))), ("validate", Reply::to(2, at(0.1)))];
    assert_eq!(told, expected);
}

/// Datagrams between a client, that speaks first, and a server which is seen.
struct Flow {
    conversation: super::super::Conversation,
    shared: super::super::SharedState,
    facts: FlowFacts,
    sink: Replies,
    frame: u64,
}

impl Flow {
    fn new() -> Flow {
        let facts = FlowFacts {
            ends: [C.parse().unwrap(), S.parse().unwrap()],
            began: true,
            seen: [true, false],
            silence: 0,
            lossy: false,
            number: 1,
            transport: Transport::Udp,
        };
        let (conversation, shared) = Default::default();
        Flow { conversation, shared, facts, sink: Replies::default(), frame: 0 }
    }

    /// The next datagram; or a copy of one.
    fn datagram(&mut self, second: f64, side: Side, text: &str, is_copy: bool) -> &mut Flow {
        self.frame += 1;
        let payload = self.facts.payload(side, text.as_bytes(), &[]);
        let payload = Payload { frame: self.frame, time: at(second), ..payload };
        let mut cx = Context {
            conversation: &mut self.conversation,
            shared: &mut self.shared,
            flow: &self.facts,
            settings: &Settings::default(),
            budget: &mut Budget::new(1 << 20),
        };
        if is_copy {
            GameSpy1::again(&mut cx, &payload, &mut crate::kit::Unjudged(&mut self.sink));
        } else {
            GameSpy1::message(&mut cx, &payload, &mut self.sink);
        }
        self
    }

    fn end(&mut self, second: f64) -> &mut Flow {
        let mut cx = Context {
            conversation: &mut self.conversation,
            shared: &mut self.shared,
            flow: &self.facts,
            settings: &Settings::default(),
            budget: &mut Budget::new(1 << 20),
        };
        GameSpy1::elapse(&mut cx, at(second), true, &mut self.sink);
        self
    }

    /// How often a query was left unanswered for certain, and perhaps.
    fn unanswered(&self) -> [u64; 2] {
        let counts = self.sink.judge.counts(&rules::GS1030);
        [counts.failed, counts.inconclusive]
    }
}

#[test]
fn a_query_that_is_refused_is_unanswered_for_certain() {
    let asked = |refused: &[u64], times: u32| {
        let mut flow = Flow::new();
        for time in 0..times {
            flow.datagram(f64::from(time), Side::First, r"\info\", false);
            if refused.contains(&flow.frame) {
                GameSpy1::refused(&mut flow.conversation, flow.frame);
            }
        }
        flow.end(1.5).unanswered()
    };
    assert_eq!(asked(&[], 1), [0, 1]);
    assert_eq!(asked(&[1], 1), [1, 0]);
    // The latest sending counts.
    assert_eq!(asked(&[1], 2), [0, 1]);
    assert_eq!(asked(&[2], 2), [1, 0]);
}

#[test]
fn a_copy_is_shown_and_changes_nothing() {
    let mut flow = Flow::new();
    flow.datagram(0.0, Side::First, r"\info\", false);
    flow.datagram(0.0, Side::First, r"\info\", true);
    flow.datagram(0.0, Side::Second, r"\hostname\x", false);
    flow.datagram(0.0, Side::Second, r"\hostname\x", true);
    flow.datagram(0.1, Side::First, r"\status\", false);
    flow.datagram(0.2, Side::Second, r"\hostname\x\queryid\1.1", false);
    flow.datagram(0.2, Side::Second, r"\hostname\x\queryid\1.1", true).end(9.0);
    let names: Vec<_> = flow.sink.told.iter().map(|(name, _)| *name).collect();
    let shown = ["query_response", "query_response", "query", "query_fragment", "query_fragment"];
    assert_eq!(names, [&["query", "query"][..], &shown].concat());
    assert_eq!(flow.sink.judge.counts(&rules::GS1030).passed, 2);
    let tries = flow.sink.told.iter().filter_map(|(_, reply)| Some((*reply)?.tries));
    assert_eq!(tries.collect::<Vec<_>>(), [1]);
}

#[test]
fn an_answer_that_begins_as_no_text_does_is_one() {
    for answer in [
        r"hostname\Test\queryid\1.1\final\",
        "\u{1}\u{2}",
        r"X\Y",
        "infoResponse\n\\hostname\\Test",
    ] {
        let mut lab = Lab::new();
        lab.claims = true;
        lab.udp(0.0, C, S, br"\info\").udp(0.1, S, C, answer.as_bytes()).end(9.0);
        assert_eq!(lab.names(), ["query", "query_response"], "{answer:?}");
        assert!(lab.codes().contains(&"GS1001".to_owned()), "{answer:?}");
        assert_eq!(lab.counts(&rules::GS1030).passed, 1);
        assert_eq!(lab.counts(&rules::GS1030).failed, 0);
    }
    let mut lab = Lab::new();
    lab.claims = true;
    lab.udp(0.0, C, S, br"\info\")
        .udp(0.1, S, C, b"\xFF\xFF\xFF\xFFstatusResponse\n\\a\\b")
        .end(9.0);
    assert_eq!(lab.codes(), ["GS1001"]);
    // In parts, each without; and what games say between these ports is nothing.
    let mut lab = Lab::new();
    lab.claims = true;
    lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, br"hostname\Test\queryid\1.1");
    lab.udp(0.1, S, C, br"player_0\Ann\queryid\1.2\final\").udp(0.2, S, C, b"\x01\x02\x03");
    lab.udp(0.2, C, S, b"\x01\x02\x03").end(9.0);
    assert_eq!(lab.names(), ["query", "query_response"]);
    assert_eq!(lab.codes(), ["GS1001"]);
    assert_eq!(lab.counts(&rules::GS1031).passed, 1);
}

#[test]
fn a_heartbeat_without_its_backslash_is_one() {
    let mut lab = Lab::new();
    lab.claims = true;
    lab.udp(0.0, S, M, br"\heartbeat\7778\gamename\ut\").udp(0.1, M, S, br"\basic\\secure\l8jfVy");
    lab.udp(0.2, S, M, br"heartbeat\7778\gamename\ut\validate\SAaJHX96\final\");
    lab.udp(290.0, S, M, br"heartbeat\7778\gamename\ut\");
    lab.udp(580.0, S, M, br"\heartbeat\7778\gamename\ut\").end(599.0);
    assert_eq!(lab.names(), ["heartbeat", "secure", "validate", "heartbeat", "heartbeat"]);
    assert_eq!(lab.codes(), ["GS1001", "GS1001"]);
    assert_eq!(lab.counts(&rules::GS1024).passed, 2);
}

#[test]
fn in_a_stream_a_validate_and_a_list_know_what_they_answer() {
    let mut lab: super::lab::Lab<Replies> = Lab::with(Replies::default());
    let turns: [(&str, &str, &str); 3] = [
        (L, C, r"\basic\\secure\XDWAOR"),
        (C, L, r"\gamename\ut\location\0\validate\3JOdDFU5\final\\list\\gamename\ut\final\"),
        (L, C, r"\ip\1.2.3.4:7778\final\"),
    ];
    for (i, (from, to, text)) in turns.into_iter().enumerate() {
        lab.tcp(i as f64, (from, to), C, text.as_bytes(), Segment::default());
    }
    lab.end(9.0);
    let told: Vec<_> =
        lab.sink.told.iter().filter_map(|(it, reply)| Some((*it, (*reply)?))).collect();
    let expected = [("validate", Reply::to(1, at(0.0))), ("list_response", Reply::to(2, at(1.0)))];
    assert_eq!(told, expected);
}
