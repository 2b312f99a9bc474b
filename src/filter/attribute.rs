//! Attributes of messages, which are not fields: frame, time, addresses, request, broken rules.

use dissectors::kit::Transport;

use super::literal::Measure;
use crate::message::{MessageRef, Value};

/// An attribute of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Frame,
    Frames,
    Flow,
    Time,
    Length,
    Request,
    ResponseTime,
    Waited,
    Tries,
    CopyOf,
    Protocol,
    Message,
    Rule,
    Severity,
    Udp,
    Tcp,
    Transport,
    From,
    To,
    Source,
    Destination,
    Address,
    SourcePort,
    DestinationPort,
    Port,
    UdpPort,
    UdpSourcePort,
    UdpDestinationPort,
    TcpPort,
    TcpSourcePort,
    TcpDestinationPort,
    Host,
}

impl Attribute {
    /// Whether it is known for a flow, except for the direction, and is not the protocol.
    pub(super) fn is_of_ends(self) -> bool {
        self.is_of_flow() && self != Attribute::Protocol
    }

    /// Whether it is known for a flow, except for the direction.
    pub(super) fn is_of_flow(self) -> bool {
        !matches!(
            self,
            Attribute::Frame
                | Attribute::Frames
                | Attribute::Time
                | Attribute::Length
                | Attribute::Request
                | Attribute::ResponseTime
                | Attribute::Waited
                | Attribute::Tries
                | Attribute::CopyOf
                | Attribute::Message
                | Attribute::Rule
                | Attribute::Severity
        )
    }

    /// Passes a message's values of it to `see`, until that returns true. Returns whether it did.
    pub(super) fn each_value(
        self,
        subject: &MessageRef<'_>,
        see: &mut dyn FnMut(Value<'_>) -> bool,
    ) -> bool {
        let (payload, reply) = (&subject.payload, subject.reply);
        let is_udp = payload.transport == Transport::Udp;
        let ends = [payload.from, payload.to];
        match self {
            Attribute::Frame | Attribute::Frames => {
                let pieces = payload.pieces.iter().map(|piece| piece.frame);
                let mut last = None;
                let mut frames = pieces
                    .chain([payload.frame])
                    .filter(|&frame| last.replace(frame) != Some(frame));
                frames.any(|frame| see(count(frame)))
            }
            Attribute::Flow => see(count(payload.flow)),
            Attribute::Time => see(Value::Time(payload.time)),
            Attribute::Length => see(count(payload.sent())),
            Attribute::Request => reply.is_some_and(|reply| see(count(reply.request))),
            Attribute::ResponseTime => {
                reply.is_some_and(|reply| see(seconds(payload.time.since(reply.sent))))
            }
            Attribute::Waited => {
                let reply = reply.filter(|reply| reply.began != reply.sent);
                reply.is_some_and(|reply| see(seconds(payload.time.since(reply.began))))
            }
            Attribute::Tries => {
                reply.is_some_and(|reply| reply.tries > 1 && see(count(reply.tries)))
            }
            Attribute::CopyOf => subject.copy_of.is_some_and(|frame| see(count(frame))),
            Attribute::Protocol => {
                subject.protocol.is_some_and(|id| see(Value::Name(id.info().id)))
            }
            Attribute::Message => {
                subject.kind.is_some_and(|message| see(Value::Name(message.name)))
            }
            Attribute::Rule => subject.checked.broken().any(|it| see(Value::Rule(it.rule.code))),
            Attribute::Severity => {
                subject.checked.broken().any(|it| see(Value::Severity(it.severity)))
            }
            Attribute::Udp => is_udp && see(Value::Name("udp")),
            Attribute::Tcp => !is_udp && see(Value::Name("tcp")),
            Attribute::Transport => see(Value::Name(if is_udp { "udp" } else { "tcp" })),
            Attribute::From => see(Value::Endpoint(payload.from)),
            Attribute::To => see(Value::Endpoint(payload.to)),
            Attribute::Source => see(Value::Address(payload.from.ip())),
            Attribute::Destination => see(Value::Address(payload.to.ip())),
            Attribute::Address => ends.iter().any(|end| see(Value::Address(end.ip()))),
            Attribute::Host => ends.iter().any(|end| see(Value::Endpoint(*end))),
            Attribute::Port => ends.iter().any(|end| see(count(end.port()))),
            Attribute::SourcePort => see(count(payload.from.port())),
            Attribute::DestinationPort => see(count(payload.to.port())),
            Attribute::UdpPort => is_udp && Attribute::Port.each_value(subject, see),
            Attribute::UdpSourcePort => is_udp && see(count(payload.from.port())),
            Attribute::UdpDestinationPort => is_udp && see(count(payload.to.port())),
            Attribute::TcpPort => !is_udp && Attribute::Port.each_value(subject, see),
            Attribute::TcpSourcePort => !is_udp && see(count(payload.from.port())),
            Attribute::TcpDestinationPort => !is_udp && see(count(payload.to.port())),
        }
    }
}

fn count<'v>(number: impl Into<u64>) -> Value<'v> {
    Value::Unsigned(number.into())
}

fn seconds<'v>(nanoseconds: i64) -> Value<'v> {
    Value::Seconds(nanoseconds as f64 / 1e9)
}

/// The type of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Number(Option<Measure>),
    Time,
    /// An address.
    Address,
    /// An address and a port.
    End,
    Protocol,
    Message,
    Rule,
    Severity,
    /// It has no value, and is either present or not.
    Presence,
}

const COUNT: Sort = Sort::Number(None);

/// Their names and types.
pub(super) const ATTRIBUTES: [(&str, Attribute, Sort); 36] = [
    ("frame", Attribute::Frame, COUNT),
    ("frame.number", Attribute::Frame, COUNT),
    ("frames", Attribute::Frames, COUNT),
    ("flow", Attribute::Flow, COUNT),
    ("time", Attribute::Time, Sort::Time),
    ("length", Attribute::Length, Sort::Number(Some(Measure::Size))),
    ("request", Attribute::Request, COUNT),
    ("response_time", Attribute::ResponseTime, Sort::Number(Some(Measure::Time))),
    ("waited", Attribute::Waited, Sort::Number(Some(Measure::Time))),
    ("tries", Attribute::Tries, COUNT),
    ("copy_of", Attribute::CopyOf, COUNT),
    ("protocol", Attribute::Protocol, Sort::Protocol),
    ("message", Attribute::Message, Sort::Message),
    ("rule", Attribute::Rule, Sort::Rule),
    ("severity", Attribute::Severity, Sort::Severity),
    ("udp", Attribute::Udp, Sort::Presence),
    ("tcp", Attribute::Tcp, Sort::Presence),
    ("transport", Attribute::Transport, Sort::Presence),
    ("src", Attribute::From, Sort::End),
    ("dst", Attribute::To, Sort::End),
    ("ip.addr", Attribute::Address, Sort::Address),
    ("ip.src", Attribute::Source, Sort::Address),
    ("ip.dst", Attribute::Destination, Sort::Address),
    ("ipv6.addr", Attribute::Address, Sort::Address),
    ("ipv6.src", Attribute::Source, Sort::Address),
    ("ipv6.dst", Attribute::Destination, Sort::Address),
    ("port", Attribute::Port, COUNT),
    ("srcport", Attribute::SourcePort, COUNT),
    ("dstport", Attribute::DestinationPort, COUNT),
    ("udp.port", Attribute::UdpPort, COUNT),
    ("udp.srcport", Attribute::UdpSourcePort, COUNT),
    ("udp.dstport", Attribute::UdpDestinationPort, COUNT),
    ("tcp.port", Attribute::TcpPort, COUNT),
    ("tcp.srcport", Attribute::TcpSourcePort, COUNT),
    ("tcp.dstport", Attribute::TcpDestinationPort, COUNT),
    ("host", Attribute::Host, Sort::End),
];
