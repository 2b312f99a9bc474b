//! Evaluates a filter for a message.

use std::cmp::Ordering;

use dissectors::kit::{Kind, Message, Node as FieldNode, Place, TreeView};

use super::attribute::Attribute;
use super::compile::{Compiled, Node, Predicate};
use super::literal::{Number, Operand};
use super::names::{Meanings, Source, Step};
use super::syntax::Comparison;
use super::value::Value;
use crate::message::MessageRef;

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
    /// Checks a value. Returns true if no other one matters.
    fn see(&mut self, value: &Value<'_>) -> bool {
        if let Some(is) = self.predicate.holds(value) {
            self.any = true;
            self.hit |= is;
        }
        self.hit
    }
}

/// Passes all values that a message has under a path to `see`.
pub(super) fn values(
    meanings: &Meanings,
    subject: &MessageRef<'_>,
    see: &mut dyn FnMut(Value<'_>) -> bool,
) {
    each(meanings.attribute.map(|(attribute, _)| attribute), &meanings.fields, subject, see);
}

/// Passes values to `see`, until that returns true.
fn each(
    attribute: Option<Attribute>,
    fields: &[Source],
    subject: &MessageRef<'_>,
    see: &mut dyn FnMut(Value<'_>) -> bool,
) {
    if attribute.is_some_and(|attribute| attribute.each_value(subject, see)) {
        return;
    }
    let (Some(message), Some(tree)) = (subject.kind, subject.tree) else { return };
    let walk = Walk { tree, payload: subject.payload.bytes };
    for field in fields.iter().filter(|field| std::ptr::eq(field.message, message)) {
        if walk.below(None, &field.steps, see) {
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
        let mut see = |value: Value<'_>| seen.see(&value);
        each(self.attribute, &self.fields, subject, &mut see);
        if self.is_none { seen.any && !seen.hit } else { seen.hit }
    }
}

impl Predicate {
    /// Whether a value satisfies the condition; `None` if it cannot be compared.
    fn holds(&self, value: &Value<'_>) -> Option<bool> {
        match self {
            Predicate::Present => Some(true),
            Predicate::Compare(comparison, operand) => compare(*comparison, value, operand),
            Predicate::In(set) => set.iter().fold(None, |is, (first, last)| {
                let here = match last {
                    None => compare(Comparison::Equal, value, first),
                    Some(last) => compare(Comparison::GreaterOrEqual, value, first)
                        .and_then(|is| Some(is && compare(Comparison::LessOrEqual, value, last)?)),
                };
                here.map_or(is, |here| Some(here || is.unwrap_or(false)))
            }),
            Predicate::Matches(regex) => match value {
                Value::Text(text) | Value::MapText(text) => Some(regex.is_match(text)),
                _ => None,
            },
            Predicate::Rules(codes) => match value {
                Value::Rule(code) => Some(codes.contains(code)),
                _ => None,
            },
            Predicate::Protocols(_) | Predicate::Messages(_) => None,
        }
    }
}

fn compare(comparison: Comparison, value: &Value<'_>, operand: &Operand) -> Option<bool> {
    if comparison == Comparison::Contains {
        return match value {
            Value::Text(text) | Value::MapText(text) => {
                Some(contains(text, operand.text.as_deref()?))
            }
            Value::Bytes(bytes) => Some(contains(bytes, operand.bytes.as_deref()?)),
            _ => None,
        };
    }
    let order = match value {
        Value::Number(number) => number.compare(operand.number?)?,
        Value::Id(id) => Number::Whole((*id).into()).compare(operand.number?)?,
        Value::Flag(flag) => flag.cmp(&operand.flag?),
        Value::Text(text) => (*text).cmp(operand.text.as_deref()?),
        Value::MapText(text) => match operand.text.as_deref() {
            Some(operand) => (*text).cmp(operand),
            None => {
                Number::read(std::str::from_utf8(text).ok()?.trim())?.compare(operand.number?)?
            }
        },
        Value::Bytes(bytes) => (*bytes).cmp(operand.bytes.as_deref()?),
        Value::Time(time) => time.cmp(&operand.time?),
        Value::Severity(severity) => severity.cmp(&operand.severity?),
        Value::End(end) => return Some(operand.network?.contains(*end)),
        Value::Address(address) => return Some(operand.network?.has(*address)),
        Value::Rule(_) | Value::Word(_) | Value::Presence => return None,
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

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The path to the values of a field.
#[derive(Clone, Copy)]
struct Walk<'a> {
    tree: TreeView<'a>,
    payload: &'a [u8],
}

impl<'a> Walk<'a> {
    /// Passes the values at the end of the steps, from below a node, to `see`, until that returns true.
    fn below(
        self,
        at: Option<usize>,
        steps: &[Step],
        see: &mut dyn FnMut(Value<'_>) -> bool,
    ) -> bool {
        let Some((step, rest)) = steps.split_first() else { return false };
        let shown = |place: Place| match at {
            None => place != Place::Framing,
            Some(_) => place == Place::Fields,
        };
        self.tree.children(at).filter(|(_, node)| shown(node.field.place)).any(|(at, node)| {
            match step {
                Step::Field(name) => node.field.name == &**name && self.at(at, node, rest, see),
                Step::Key(key) => node.field.kind == Kind::Pair && self.pair(at, key, see),
            }
        })
    }

    fn pair(self, at: usize, key: &[u8], see: &mut dyn FnMut(Value<'_>) -> bool) -> bool {
        let Some((its_key, value)) = self.tree.pair_nodes(at) else { return false };
        let its_key = self.tree.nodes.get(its_key).map(|node| self.tree.bytes(node, self.payload));
        if its_key != Some(key) {
            return false;
        }
        match value.and_then(|at| Some((at, self.tree.nodes.get(at)?))) {
            Some((_, node)) if node.field.kind == Kind::Text => {
                see(Value::MapText(self.tree.bytes(node, self.payload)))
            }
            Some((at, node)) => self.value(at, node, see),
            None => see(Value::MapText(b"")),
        }
    }

    fn at(
        self,
        at: usize,
        node: &FieldNode,
        steps: &[Step],
        see: &mut dyn FnMut(Value<'_>) -> bool,
    ) -> bool {
        match node.field.kind {
            Kind::List if steps.is_empty() => {
                let mut elements = self.elements(at);
                see(Value::Presence) || elements.any(|(at, element)| self.value(at, element, see))
            }
            Kind::List => self.elements(at).any(|(at, _)| self.below(Some(at), steps, see)),
            Kind::Group | Kind::Map if steps.is_empty() => see(Value::Presence),
            Kind::Group | Kind::Map => self.below(Some(at), steps, see),
            _ if steps.is_empty() => self.value(at, node, see),
            _ => false,
        }
    }

    fn elements(self, at: usize) -> impl Iterator<Item = (usize, &'a FieldNode)> {
        self.tree.children(Some(at)).filter(|(_, element)| element.field.place == Place::Fields)
    }

    fn value(self, at: usize, node: &FieldNode, see: &mut dyn FnMut(Value<'_>) -> bool) -> bool {
        match node.field.kind {
            Kind::Unsigned => see(Value::Number(Number::Whole(node.value.into()))),
            Kind::Id => see(Value::Id(node.value)),
            Kind::Signed => see(Value::Number(Number::Whole((node.value as i64).into()))),
            Kind::Float => {
                see(Value::Number(Number::Real(f32::from_bits(node.value as u32).into())))
            }
            Kind::Flag => see(Value::Flag(node.value != 0)),
            Kind::Char => {
                let mut utf8 = [0; 4];
                let text = char::from(node.value as u8).encode_utf8(&mut utf8);
                see(Value::Text(text.as_bytes()))
            }
            Kind::Text => see(Value::Text(self.tree.bytes(node, self.payload))),
            Kind::Bytes => see(Value::Bytes(node.recorded(self.payload))),
            Kind::Name => match self.tree.meaning(at, self.payload) {
                Some(name) => see(Value::Text(name.as_bytes())),
                None => see(Value::Number(Number::Whole(node.value.into()))),
            },
            Kind::Endpoint => see(Value::End(node.endpoint().into())),
            Kind::Endpoint6 => {
                node.endpoint6(self.payload).is_some_and(|end| see(Value::End(end.into())))
            }
            Kind::Group | Kind::List | Kind::Map | Kind::Pair => see(Value::Presence),
        }
    }
}
