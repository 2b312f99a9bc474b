//! What a path in a filter names: a field of messages, or something that is beside the fields.

use dissectors::Id;
use dissectors::catalogue;
use dissectors::kit::{Field, Kind, Message};

use super::literal::Measure;
use crate::text::nearest as nearest_of;

/// What every message has beside its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
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

impl Beside {
    /// Whether it is known of a flow beside its protocol, but for which end sends.
    pub(super) fn is_of_ends(self) -> bool {
        self.is_of_flow() && self != Beside::Protocol
    }

    /// Whether it is known of a flow, but for which end sends.
    pub(super) fn is_of_flow(self) -> bool {
        !matches!(
            self,
            Beside::Frame
                | Beside::Frames
                | Beside::Time
                | Beside::Length
                | Beside::Request
                | Beside::ResponseTime
                | Beside::Waited
                | Beside::Tries
                | Beside::CopyOf
                | Beside::Message
                | Beside::Rule
                | Beside::Severity
        )
    }
}

/// What can be compared with it.
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
    /// Nothing: it is there or not.
    Presence,
}

const COUNT: Sort = Sort::Number(None);

/// Their names, and how they compare.
pub(super) const BESIDE: [(&str, Beside, Sort); 36] = [
    ("frame", Beside::Frame, COUNT),
    ("frame.number", Beside::Frame, COUNT),
    ("frames", Beside::Frames, COUNT),
    ("flow", Beside::Flow, COUNT),
    ("time", Beside::Time, Sort::Time),
    ("length", Beside::Length, Sort::Number(Some(Measure::Size))),
    ("request", Beside::Request, COUNT),
    ("response_time", Beside::ResponseTime, Sort::Number(Some(Measure::Time))),
    ("waited", Beside::Waited, Sort::Number(Some(Measure::Time))),
    ("tries", Beside::Tries, COUNT),
    ("copy_of", Beside::CopyOf, COUNT),
    ("protocol", Beside::Protocol, Sort::Protocol),
    ("message", Beside::Message, Sort::Message),
    ("rule", Beside::Rule, Sort::Rule),
    ("severity", Beside::Severity, Sort::Severity),
    ("udp", Beside::Udp, Sort::Presence),
    ("tcp", Beside::Tcp, Sort::Presence),
    ("transport", Beside::Transport, Sort::Presence),
    ("src", Beside::From, Sort::End),
    ("dst", Beside::To, Sort::End),
    ("ip.addr", Beside::Address, Sort::Address),
    ("ip.src", Beside::Source, Sort::Address),
    ("ip.dst", Beside::Destination, Sort::Address),
    ("ipv6.addr", Beside::Address, Sort::Address),
    ("ipv6.src", Beside::Source, Sort::Address),
    ("ipv6.dst", Beside::Destination, Sort::Address),
    ("port", Beside::Port, COUNT),
    ("srcport", Beside::SourcePort, COUNT),
    ("dstport", Beside::DestinationPort, COUNT),
    ("udp.port", Beside::UdpPort, COUNT),
    ("udp.srcport", Beside::UdpSourcePort, COUNT),
    ("udp.dstport", Beside::UdpDestinationPort, COUNT),
    ("tcp.port", Beside::TcpPort, COUNT),
    ("tcp.srcport", Beside::TcpSourcePort, COUNT),
    ("tcp.dstport", Beside::TcpDestinationPort, COUNT),
    ("host", Beside::Host, Sort::End),
];

/// What to use in place of a request's fate.
pub(super) const ANSWERED: &str = "responses have `request` and `response_time`; `gamewire flows` counts \
    requests and answered ones, `gamewire check` finds those without a response";

/// One step from a node to those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The field of this name.
    Field(Box<str>),
    /// The value of this key, which comes from the wire.
    Key(Box<[u8]>),
}

/// A field of one message.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) protocol: Id,
    pub(super) message: &'static Message,
    pub(super) steps: Box<[Step]>,
    /// How its values read; for a list, its elements.
    pub(super) kinds: Vec<Kind>,
    pub(super) measure: Option<Measure>,
    /// It is a list, or in one.
    pub(super) is_many: bool,
}

/// All that a path may mean.
#[derive(Clone, Default)]
pub(super) struct Meanings {
    pub(super) beside: Option<(Beside, Sort)>,
    pub(super) protocol: Option<Id>,
    pub(super) message: Option<&'static Message>,
    pub(super) fields: Vec<Source>,
}

impl Meanings {
    pub(super) fn of(path: &[String]) -> Meanings {
        let mut meanings = Meanings::default();
        let whole = path.join(".");
        let beside = BESIDE.iter().find(|(name, ..)| *name == whole);
        meanings.beside = beside.map(|&(_, beside, sort)| (beside, sort));
        let id =
            Id::ALL.iter().copied().find(|id| path.first().is_some_and(|it| it == id.info().id));
        match (id, path) {
            (Some(id), [_]) => meanings.protocol = Some(id),
            (Some(id), [_, message]) => {
                meanings.message = id.info().messages.iter().copied().find(|it| it.name == message);
            }
            _ => {}
        }
        let mut lists: Vec<(&'static Message, String)> = Vec::new();
        for listed in catalogue::fields() {
            if listed.field.kind == Kind::List {
                lists.push((listed.message, listed.path.clone()));
            }
            let pattern: Vec<&str> = listed.path.split('.').collect();
            // The whole path, or the last part of one alone.
            let start = if id.is_some() { 0 } else { starts_at(&pattern, path) };
            let Some(steps) = pattern.get(start..).and_then(|rest| steps(rest, path)) else {
                continue;
            };
            let before = pattern.get(2..start).unwrap_or_default();
            if before.contains(&"*") {
                continue;
            }
            let mut all: Vec<Step> = before.iter().map(|&name| Step::Field(name.into())).collect();
            // The protocol and the message lead to no node.
            all.extend(steps.into_iter().skip(2_usize.saturating_sub(start)));
            let (kinds, unit) = kinds(listed.field, &listed.otherwise);
            let measure = match unit {
                "seconds" => Some(Measure::Time),
                "bytes" => Some(Measure::Size),
                _ => None,
            };
            let is_many = kinds.contains(&Kind::List)
                || lists.iter().any(|(message, path)| {
                    std::ptr::eq(*message, listed.message)
                        && listed
                            .path
                            .strip_prefix(&**path)
                            .is_some_and(|rest| rest.starts_with('.'))
                });
            let its = |id: &Id| pattern.first().is_some_and(|first| *first == id.info().id);
            let Some(protocol) = Id::ALL.iter().copied().find(its) else { continue };
            let (message, steps) = (listed.message, all.into());
            meanings.fields.push(Source { protocol, message, steps, kinds, measure, is_many });
        }
        meanings
    }

    /// Whether a message may have several values of it.
    pub(super) fn has_many(&self) -> bool {
        let many = [Beside::Frames, Beside::Rule, Beside::Severity, Beside::Address, Beside::Port];
        self.beside.is_some_and(|(beside, _)| many.contains(&beside))
            || self.fields.iter().any(|field| field.is_many)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.beside.is_none()
            && self.protocol.is_none()
            && self.message.is_none()
            && self.fields.is_empty()
    }
}

/// Where a path that names no protocol may begin in a listed one: so that it ends where that ends.
fn starts_at(pattern: &[&str], path: &[String]) -> usize {
    match pattern.iter().position(|part| *part == "*") {
        // The keys of a map may have dots: the map's own name must be named.
        Some(key) => pattern
            .get(..key)
            .unwrap_or_default()
            .iter()
            .rposition(|part| path.first().is_some_and(|first| first == part))
            .unwrap_or(usize::MAX),
        None => {
            pattern.len().checked_sub(path.len()).filter(|&start| start >= 1).unwrap_or(usize::MAX)
        }
    }
}

/// The steps of a path, if it is of this pattern.
fn steps(pattern: &[&str], path: &[String]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    for (at, part) in pattern.iter().enumerate() {
        let (first, more) = rest.split_first()?;
        if *part != "*" {
            if part != first {
                return None;
            }
            steps.push(Step::Field((*part).into()));
            rest = more;
        } else if at + 1 == pattern.len() {
            steps.push(Step::Key(rest.join(".").into_bytes().into()));
            rest = &[];
        } else {
            steps.push(Step::Key(first.as_bytes().into()));
            rest = more;
        }
    }
    rest.is_empty().then_some(steps)
}

/// How the values of a field read, and their unit.
fn kinds(field: &'static Field, otherwise: &[Kind]) -> (Vec<Kind>, &'static str) {
    if field.kind != Kind::List {
        return ([&[field.kind], otherwise].concat(), field.unit);
    }
    let elements = field.children.iter().map(|element| element.kind);
    let unit = field.children.first().map_or("", |element| element.unit);
    ([&[Kind::List], &Vec::from_iter(elements)[..], otherwise].concat(), unit)
}

/// The paths of the messages of this name.
pub(super) fn messages_named(name: &str) -> Vec<String> {
    let infos = Id::ALL.iter().map(|id| id.info());
    let named = infos.filter(|info| info.messages.iter().any(|message| message.name == name));
    named.map(|info| format!("`{}.{name}`", info.id)).collect()
}

/// The names that are nearest to a path, and so may have been meant.
pub(super) fn nearest(path: &[String]) -> Vec<String> {
    let typed = path.join(".");
    let parts = typed.split('.').count();
    let mut names: Vec<String> = BESIDE.iter().map(|(name, ..)| (*name).to_owned()).collect();
    for id in Id::ALL {
        let info = id.info();
        names.push(info.id.to_owned());
        names.extend(info.messages.iter().map(|message| format!("{}.{}", info.id, message.name)));
    }
    for listed in catalogue::fields().into_iter().filter(|listed| !listed.path.contains('*')) {
        if parts == 1 {
            names.extend(listed.path.rsplit('.').next().map(str::to_owned));
        }
        names.push(listed.path);
    }
    nearest_of(&typed, names)
}
