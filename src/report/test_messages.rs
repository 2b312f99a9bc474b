//! Messages for the tests of all formats: little protocols, decoded with the kit.

use std::borrow::Cow;
use std::net::SocketAddr;

use dissectors::kit::{
    Cut, Endings, Field, Finding, Kind, Message, Payload, Piece, Purpose, Reader, Role, Rule,
    Sending, Severity, Side, Sink, Span, Time, Tree, Verdict, decode,
};
use dissectors::{Id, rule};

use super::{Envelope, Report};
use crate::message::{Checked, LeftOut, MessageRef};
use crate::session::{ExchangeEffect, FlowContext};

pub(super) static HEADER: Field =
    Field::new("header", "Header", Kind::Signed).framing().number(header);
pub(super) static TYPE: Field =
    Field::new("type", "Message type", Kind::Char).framing().number(kind);
pub(super) static COUNT: Field = Field::new("num_players", "Num Players", Kind::Unsigned);
pub(super) static PLAYERS: Field = Field::new("players", "Players", Kind::List);
pub(super) static PLAYER: Field = Field::new("player", "Player", Kind::Group);
pub(super) static NAME: Field = Field::new("name", "Player Name", Kind::Text);
pub(super) static SCORE: Field = Field::new("score", "Kills", Kind::Signed);
pub(super) static DURATION: Field = Field::new("duration", "Time connected", Kind::Float);
pub(super) static SPLIT: Field = Field::new("split", "Split", Kind::Group).beside();
pub(super) static LAYOUT: Field = Field::new("layout", "Layout", Kind::Name).number(layout);
pub(super) static COMPRESSED: Field = Field::new("compressed", "Compressed", Kind::Flag);
pub(super) static ID: Field = Field::new("steam_id", "SteamID", Kind::Id);
pub(super) static PORT: Field = Field::new("port", "Port", Kind::Unsigned);
pub(super) static TEXT: Field = Field::new("text", "Text", Kind::Text).text(shout);
pub(super) static BODY: Field = Field::new("body", "Body", Kind::Bytes);
pub(super) static LETTER: Field = Field::new("letter", "Letter", Kind::Char);
pub(super) static SERVERS: Field = Field::new("servers", "Servers", Kind::List);
pub(super) static SERVER: Field = Field::new("server", "Server", Kind::Endpoint);
pub(super) static SERVER6: Field = Field::new("server6", "Server", Kind::Endpoint6);
pub(super) static INFO: Field = Field::new("info", "Info string", Kind::Map);
pub(super) static PAIR: Field = Field::new("pair", "Pair", Kind::Pair).pair(operating_system);
pub(super) static KEY: Field = Field::new("key", "Key", Kind::Text);
pub(super) static VALUE: Field = Field::new("value", "Value", Kind::Text);
pub(super) static NUMBER: Field = Field::new("number", "Number", Kind::Unsigned);
pub(super) static SEPARATOR: Field = Field::new("separator", "Separator", Kind::Bytes).framing();

fn header(value: u64) -> Option<&'static str> {
    (value as i64 == -1).then_some("single packet")
}

fn kind(value: u64) -> Option<&'static str> {
    (value == u64::from(b'D')).then_some("A2S_PLAYER response")
}

fn layout(value: u64) -> Option<&'static str> {
    ["goldsrc", "source", "orange_box"].get(value as usize).copied()
}

fn shout(text: &[u8]) -> Option<Cow<'static, str>> {
    text.ends_with(b"!").then(|| Cow::Owned(String::from_utf8_lossy(text).to_uppercase()))
}

fn operating_system(key: &[u8], value: &[u8]) -> Option<Cow<'static, str>> {
    (key == b"os" && value == b"l").then_some(Cow::Borrowed("Linux"))
}

rule! {
    /// Browsers that trust the number read past the end.
    pub A2S030 "player-count" { severity: Error, who: Server, needs: Message,
        asks: "as many entries as the number says", cite: [], right: "", wrong: "" }
}
rule! {
    /// Some servers number every player 0.
    pub A2S031 "player-index" { severity: Note, who: Server, needs: Message,
        asks: "indices rise", cite: [], right: "", wrong: "" }
}
rule! {
    /// A time is a number.
    pub A2S032 "player-duration" { severity: Warning, who: Server, needs: Message,
        asks: "time connected is finite", cite: [], right: "", wrong: "" }
}

pub(super) static PLAYER_RESPONSE: Message = message(
    "player_response",
    "{players#} of {num_players} players[, first {name}][, {absent} absent]",
);
pub(super) static OTHER: Message = message("other", "");

pub(super) const fn message(name: &'static str, summary: &'static str) -> Message {
    let (speaker, purpose) = (Role::Server, Purpose::Response);
    Message { name, label: "", speaker, purpose, summary, fields: &[], describes: None }
}

static ENDINGS: Endings = Endings { whole: None, terminated: None, utf8: None, after: None };

/// One message with all it needs to be shown.
pub(super) struct Sample {
    pub(super) bytes: Vec<u8>,
    pub(super) message: &'static Message,
    pub(super) tree: Tree,
    pub(super) findings: Vec<Finding>,
    pub(super) findings_left_out: u64,
    pub(super) pieces: Vec<Piece>,
    pub(super) time: Time,
    pub(super) digits: u8,
    pub(super) ends: [SocketAddr; 2],
    pub(super) lost: bool,
    pub(super) inflated: bool,
    pub(super) via: Option<&'static str>,
}

impl Sample {
    /// A message that is decoded by `body`.
    pub(super) fn decoded(
        bytes: &[u8],
        message: &'static Message,
        body: impl FnOnce(&mut Reader<'_, Tree>) -> Result<(), Cut>,
    ) -> Sample {
        let mut tree = Tree::default();
        decode(bytes, &ENDINGS, &mut tree, body);
        Sample::of(bytes, message, tree)
    }

    /// A message with a tree made by hand.
    pub(super) fn of(bytes: &[u8], message: &'static Message, tree: Tree) -> Sample {
        let end = |text: &str| text.parse().expect("an endpoint");
        Sample {
            bytes: bytes.to_vec(),
            message,
            tree,
            findings: Vec::new(),
            findings_left_out: 0,
            pieces: vec![Piece { at: 0, length: bytes.len() as u32, frame: 7, offset: 42 }],
            time: Time(1_795_168_800_123_456_789),
            digits: 6,
            ends: [end("10.0.0.2:27015"), end("10.0.0.1:50000")],
            lost: false,
            inflated: false,
            via: None,
        }
    }

    /// A response with two players that says it has three.
    pub(super) fn players() -> Sample {
        let mut bytes = b"\xFF\xFF\xFF\xFFD\x03".to_vec();
        bytes.extend(b"Ann\0\x05\0\0\0");
        bytes.extend(12.5_f32.to_le_bytes());
        bytes.extend(b"B\x1B[2J \"b\"\xFF\0\xFE\xFF\xFF\xFF");
        bytes.extend(f32::NAN.to_le_bytes());
        let mut sample = Sample::decoded(&bytes, &PLAYER_RESPONSE, |r| {
            split(r.sink);
            r.i32_le(&HEADER)?;
            r.u8(&TYPE)?;
            r.u8(&COUNT)?;
            r.open(&PLAYERS);
            while !r.is_empty() {
                r.open(&PLAYER);
                r.text(&NAME)?;
                r.i32_le(&SCORE)?;
                r.f32_le(&DURATION)?;
                r.close();
            }
            r.close();
            Ok(())
        });
        let end = bytes.len();
        let detail = "Num Players says 3, the packet holds 2 entries";
        sample.findings = vec![
            finding(&A2S030, Verdict::Fail, Span::new(5, 6), detail),
            finding(&A2S032, Verdict::Fail, Span::new(end - 4, end), "NaN"),
            finding(&A2S031, Verdict::Note, Span::new(6, 18), "no index"),
            finding(&A2S031, Verdict::Note, Span::new(18, end), "no index"),
        ];
        sample
    }

    /// Shows it.
    pub(super) fn report(&self, report: &mut impl Report) -> String {
        let mut out = Vec::new();
        self.report_into(report, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    pub(super) fn report_into(&self, report: &mut impl Report, out: &mut Vec<u8>) {
        let ([from, to], flow) = (self.ends, FlowContext::outside(6).flow);
        let payload = Payload {
            inflated: self.inflated,
            frame: 7,
            time: self.time,
            from,
            to,
            flow: 3,
            lost: self.lost,
            ..flow.payload(Side::Second, &self.bytes, &self.pieces)
        };
        let via = self.via.as_ref().map(|via| via as &dyn std::fmt::Display);
        let left_out = LeftOut {
            rule: &A2S030,
            verdict: Verdict::Fail,
            severity: A2S030.severity,
            side: None,
            times: self.findings_left_out,
        };
        let (findings, left_out) = (&self.findings[..], &[left_out][..]);
        let message = MessageRef {
            protocol: Some(Id::A2s),
            kind: Some(self.message),
            tree: Some(self.tree.view()),
            checked: Checked { findings, left_out, passes: &[] },
            ..MessageRef::undecoded(payload)
        };
        let (digits, exchange) = (self.digits, ExchangeEffect::default());
        let sending = Sending::New;
        let envelope = Envelope { message, digits, exchange, sending, via };
        report.heading(self.time, out);
        report.message(&envelope, out);
    }
}

pub(super) fn finding(rule: &'static Rule, verdict: Verdict, span: Span, detail: &str) -> Finding {
    let severity = if verdict == Verdict::Note { Severity::Note } else { rule.severity };
    Finding::of(rule, verdict, severity, span, detail.to_owned())
}

/// The fields about splitting of a split message.
pub(super) fn split(sink: &mut impl Sink) {
    sink.open(&SPLIT, 0, 0);
    sink.leaf(&LAYOUT, Span::new(0, 0), 2);
    sink.leaf(&COMPRESSED, Span::new(0, 0), 0);
    sink.close(0);
}
