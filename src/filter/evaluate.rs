//! Evaluates a filter for a message.

use std::cmp::Ordering;

use dissectors::kit::Message;

use super::attribute::Attribute;
use super::compile::{Compiled, Node, Predicate};
use super::literal::{Number, Operand};
use super::names::Source;
use super::syntax::Comparison;
use crate::message::{Fields, MessageRef, Value};

impl Node {
    pub(super) fn matches(&self, subject: &MessageRef<'_>) -> bool {
        match self {
            Node::Or(nodes) => nodes.iter().any(|node| node.matches(subject)),
            Node::And(nodes) => nodes.iter().all(|node| node.matches(subject)),
            Node::Not(node) => !node.matches(subject),
            Node::Shared(node) => node.matches(subject),
            Node::Test(test) => test.matches(subject),
        }
    }
}

impl Node {
    /// The result for a message that is only partly known; `None` if it depends on the rest. There is one
    /// subject for each end as the sender.
    pub(super) fn decide(&self, each_way: &[MessageRef<'_>; 2]) -> Option<bool> {
        // Whether the result of any of them is `so`; `None` if that depends on an unknown one.
        let any = |nodes: &[Node], so: bool| {
            let mut known = true;
            for node in nodes {
                match node.decide(each_way) {
                    Some(is) if is == so => return Some(true),
                    Some(_) => {}
                    None => known = false,
                }
            }
            known.then_some(false)
        };
        match self {
            Node::Or(nodes) => any(nodes, true),
            Node::And(nodes) => any(nodes, false).map(|is| !is),
            Node::Not(node) => node.decide(each_way).map(|is| !is),
            Node::Shared(node) => node.decide(each_way),
            Node::Test(test) => test.decide(each_way),
        }
    }
}

/// The state of a comparison over several values.
struct SeenValues<'p> {
    predicate: &'p Predicate,
    /// There is a value that can be compared.
    any: bool,
    /// There is a value that satisfies the condition.
    hit: bool,
}

impl SeenValues<'_> {
    /// Checks a value, which may be that of a key. Returns true if no other one matters.
    fn see(&mut self, value: &Value<'_>, is_of_key: bool) -> bool {
        // Of a list that is present, no element is equal if there are none.
        self.any |= *value == Value::Presence;
        if let Some(is) = self.predicate.holds(value, is_of_key) {
            self.any = true;
            self.hit |= is;
        }
        self.hit
    }
}

/// Passes values to `see`, until that returns true; with each, whether it is that of a key.
pub(super) fn each(
    attribute: Option<Attribute>,
    fields: &[Source],
    subject: &MessageRef<'_>,
    see: &mut dyn FnMut(Value<'_>, bool) -> bool,
) {
    if attribute.is_some_and(|it| it.each_value(subject, &mut |value| see(value, false))) {
        return;
    }
    let (Some(message), Some(tree)) = (subject.kind, subject.tree) else { return };
    let known = Fields { tree, payload: subject.payload.bytes, with_framing: false };
    for field in fields.iter().filter(|field| std::ptr::eq(field.message, message)) {
        let is_of_key = field.is_of_key();
        let is_seen = known.each(&*field.steps, &mut |value| match value {
            Value::Presence if is_of_key => see(Value::Text(b""), true),
            value => see(value, is_of_key),
        });
        if is_seen {
            return;
        }
    }
}

impl Compiled {
    fn decide(&self, each_way: &[MessageRef<'_>; 2]) -> Option<bool> {
        let [MessageRef { protocol, kind: message, .. }, _] = each_way;
        let may_have = |field: &Source| match message {
            Some(message) => std::ptr::eq(field.message, *message),
            None => protocol.is_none_or(|protocol| field.protocol == protocol),
        };
        let asks_message = self.message.is_some() || self.attribute == Some(Attribute::Message);
        let is_known = self.attribute.is_none_or(|it| it.is_of_flow() || it == Attribute::Message)
            && !self.fields.iter().any(may_have)
            && (!asks_message || message.is_some());
        if !is_known {
            return None;
        }
        let [one, other] = each_way.each_ref().map(|subject| self.matches(subject));
        (one == other).then_some(one)
    }

    fn matches(&self, subject: &MessageRef<'_>) -> bool {
        match &self.predicate {
            Predicate::Protocols(ids) => {
                let is = subject.protocol.map(|id| ids.contains(&id));
                return is.is_some_and(|is| is != self.is_none);
            }
            Predicate::Messages(messages) => {
                let is = |message: &'static Message| {
                    messages.iter().any(|it| std::ptr::eq(*it, message))
                };
                return subject.kind.map(is).is_some_and(|is| is != self.is_none);
            }
            Predicate::Present => {
                let is_protocol = self.protocol.is_some() && self.protocol == subject.protocol;
                let is =
                    |message: &Message| subject.kind.is_some_and(|it| std::ptr::eq(it, message));
                if is_protocol || self.message.is_some_and(is) {
                    return true;
                }
            }
            _ => {}
        }
        let mut seen = SeenValues { predicate: &self.predicate, any: false, hit: false };
        let mut see = |value: Value<'_>, is_of_key| seen.see(&value, is_of_key);
        each(self.attribute, &self.fields, subject, &mut see);
        if self.is_none { seen.any && !seen.hit } else { seen.hit }
    }
}

impl Predicate {
    /// Whether a value satisfies the condition; `None` if it cannot be compared.
    fn holds(&self, value: &Value<'_>, is_of_key: bool) -> Option<bool> {
        let compare =
            |comparison, operand: &Operand| compare(comparison, value, operand, is_of_key);
        match self {
            Predicate::Present => Some(true),
            Predicate::Compare(comparison, operand) => compare(*comparison, operand),
            Predicate::In(set) => set.iter().fold(None, |is, (first, last)| {
                let here = match last {
                    None => compare(Comparison::Equal, first),
                    Some(last) => compare(Comparison::GreaterOrEqual, first)
                        .and_then(|is| Some(is && compare(Comparison::LessOrEqual, last)?)),
                };
                here.map_or(is, |here| Some(here || is.unwrap_or(false)))
            }),
            Predicate::Matches(regex) => value.as_text().map(|text| regex.is_match(&text)),
            Predicate::Rules(codes) => match value {
                Value::Rule(code) => Some(codes.contains(code)),
                _ => None,
            },
            Predicate::Protocols(_) | Predicate::Messages(_) => None,
        }
    }
}

fn compare(
    comparison: Comparison,
    value: &Value<'_>,
    operand: &Operand,
    is_of_key: bool,
) -> Option<bool> {
    if comparison == Comparison::Contains {
        return match value {
            Value::Bytes(bytes) => Some(contains(bytes, operand.bytes.as_deref()?)),
            value => Some(contains(&value.as_text()?, operand.text.as_deref()?)),
        };
    }
    let is_equality = comparison == Comparison::Equal;
    let order = match *value {
        Value::Text(text) if is_of_key && operand.text.is_none() => {
            Number::read(std::str::from_utf8(text).ok()?.trim())?.compare(operand.number?)?
        }
        // Some lists have addresses as texts, and some as bytes.
        Value::Text(text) if operand.text.is_none() => {
            return compare(comparison, &address(text)?, operand, is_of_key);
        }
        Value::Text(_) | Value::Name(_) | Value::Char(_) => {
            (*value.as_text()?).cmp(operand.text.as_deref()?)
        }
        Value::Flag(flag) => flag.cmp(&operand.flag?),
        Value::Bytes(bytes) => bytes.cmp(operand.bytes.as_deref()?),
        Value::Time(time) => time.0.cmp(&operand.time?),
        Value::Severity(severity) => severity.cmp(&operand.severity?),
        Value::Endpoint(end) if is_equality => return Some(operand.network?.contains(end)),
        Value::Address(address) if is_equality => {
            let network = operand.network?;
            return Some(!network.has_port() && network.has(address));
        }
        // An end of a range.
        Value::Endpoint(end) => operand.network?.order(end.ip())?,
        Value::Address(address) => operand.network?.order(address)?,
        value => Number::of(&value)?.compare(operand.number?)?,
    };
    Some(match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::Unequal => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
        Comparison::Contains | Comparison::Matches => return None,
    })
}

/// An address that is written as a text, with or without a port.
fn address(text: &[u8]) -> Option<Value<'static>> {
    let text = std::str::from_utf8(text).ok()?;
    let end = text.parse().map(Value::Endpoint);
    end.or_else(|_| text.parse().map(Value::Address)).ok()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}
