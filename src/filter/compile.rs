//! Compiles a filter: resolves names, and parses values. All errors are reported here, before the first
//! packet.

use std::ops::Range;
use std::sync::Arc;

use dissectors::Id;
use dissectors::catalogue;
use dissectors::kit::{Code, Kind, Message};
use regex::bytes::{Regex, RegexBuilder};

use super::attribute::{Attribute, Sort};
use super::error::FilterError;
use super::literal::{Measure, Operand};
use super::names::{self, Meanings, Source};
use super::syntax::{Comparison, Expression, FieldTest, Literal, Test, hex_byte, written};
use crate::text::nearest;

/// Maximum memory of a compiled regular expression in bytes.
const REGEX: usize = 1 << 20;

pub(super) enum Node {
    Or(Vec<Node>),
    And(Vec<Node>),
    Not(Box<Node>),
    Test(Box<Compiled>),
    Shared(Arc<Node>),
}

/// One comparison: the values to compare, and the condition.
pub(super) struct Compiled {
    pub(super) attribute: Option<Attribute>,
    pub(super) protocol: Option<Id>,
    pub(super) message: Option<&'static Message>,
    pub(super) fields: Vec<Source>,
    pub(super) predicate: Predicate,
    /// True if there are values, and none satisfies the condition.
    pub(super) is_none: bool,
}

/// A condition on one value.
pub(super) enum Predicate {
    Present,
    Compare(Comparison, Operand),
    /// It is one of these, or in one of these ranges.
    In(Vec<(Operand, Option<Operand>)>),
    Matches(Regex),
    Protocols(Vec<Id>),
    Messages(Vec<&'static Message>),
    Rules(Vec<Code>),
}

impl Node {
    /// Whether `is` holds for any of its comparisons.
    pub(super) fn any(&self, is: &dyn Fn(&Compiled) -> bool) -> bool {
        match self {
            Node::Or(nodes) | Node::And(nodes) => nodes.iter().any(|node| node.any(is)),
            Node::Not(node) => node.any(is),
            Node::Shared(node) => node.any(is),
            Node::Test(test) => is(test),
        }
    }
}

impl Predicate {
    /// Whether values with which its operands suit can be compared in this way: only some have an order.
    fn suits(&self, is_ordered: bool, suits: impl Fn(&Operand) -> bool) -> bool {
        match self {
            Predicate::Compare(Comparison::Equal, operand) => suits(operand),
            Predicate::Compare(_, operand) => is_ordered && suits(operand),
            Predicate::In(set) => set.iter().all(|(first, last)| {
                // Addresses have no order but that of a range.
                let has_range = |last| is_ordered || Operand::are_addresses(first, last);
                suits(first) && last.as_ref().is_none_or(|last| suits(last) && has_range(last))
            }),
            _ => false,
        }
    }
}

impl Compiled {
    pub(super) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    pub(super) fn has(&self, attribute: Attribute) -> bool {
        self.attribute == Some(attribute)
    }
}

pub(super) fn compile(expression: &Expression, source: &str) -> Result<Node, FilterError> {
    let each = |part| compile(part, source);
    Ok(match expression {
        Expression::Or(parts) => Node::Or(parts.iter().map(each).collect::<Result<_, _>>()?),
        Expression::And(parts) => Node::And(parts.iter().map(each).collect::<Result<_, _>>()?),
        Expression::Not(inner) => Node::Not(Box::new(compile(inner, source)?)),
        Expression::Test(test) => Node::Test(Box::new(Compiler { test, source }.compile()?)),
    })
}

struct Compiler<'s> {
    test: &'s Test,
    source: &'s str,
}

impl Compiler<'_> {
    fn error(&self, at: &Range<usize>, what: String, help: String) -> FilterError {
        FilterError::new(self.source, at.clone(), what, help)
    }

    fn compile(&self) -> Result<Compiled, FilterError> {
        let meanings = Meanings::of(&self.test.path);
        if meanings.is_empty() {
            return Err(self.unknown());
        }
        let Meanings { attribute, protocol, message, fields } = meanings;
        let mut compiled = Compiled {
            attribute: attribute.map(|(attribute, _)| attribute),
            protocol,
            message,
            fields,
            predicate: Predicate::Present,
            is_none: false,
        };
        let sort = attribute.map(|(_, sort)| sort);
        if !matches!(self.test.ask, FieldTest::Compare(Comparison::Matches, _)) {
            self.literals().into_iter().try_for_each(|literal| self.escapes(literal))?;
        }
        match &self.test.ask {
            FieldTest::Present => return Ok(compiled),
            FieldTest::In(set) => {
                let read = |literal: &Literal| Operand::of(literal);
                let set: Vec<_> = set
                    .iter()
                    .map(|(first, last)| (read(first), last.as_ref().map(read)))
                    .collect();
                compiled.predicate = Predicate::In(set);
            }
            FieldTest::Compare(Comparison::Matches, literal) => {
                compiled.predicate = Predicate::Matches(self.regex(literal)?);
            }
            FieldTest::Compare(comparison, literal) => {
                compiled.is_none = *comparison == Comparison::Unequal;
                let comparison = if compiled.is_none { Comparison::Equal } else { *comparison };
                compiled.predicate = Predicate::Compare(comparison, Operand::of(literal));
            }
        }
        self.keep_comparable(&mut compiled, sort)?;
        if let FieldTest::In(set) = &self.test.ask {
            set.iter().try_for_each(|(first, last)| self.range(first, last.as_ref()))?;
        }
        Ok(compiled)
    }

    /// Checks that a range is not empty.
    fn range(&self, first: &Literal, last: Option<&Literal>) -> Result<(), FilterError> {
        let Some(last) = last.filter(|last| Operand::of(first).is_above(&Operand::of(last))) else {
            return Ok(());
        };
        let what = "this range is empty: its end is below its beginning".to_owned();
        let written = |it: &Literal| match it.is_quoted {
            true => format!("\"{}\"", it.text),
            false => it.text.to_string(),
        };
        let help = format!("write {}..{}", written(last), written(first));
        Err(self.error(&(first.at.start..last.at.end), what, help))
    }

    /// Keeps the meanings whose values can be compared in this way.
    fn keep_comparable(
        &self,
        compiled: &mut Compiled,
        sort: Option<Sort>,
    ) -> Result<(), FilterError> {
        // Neither of them has a value.
        (compiled.protocol, compiled.message) = (None, None);
        let mut no_name = None;
        if let Some(sort) = sort {
            match self.named(sort) {
                Some(Ok(predicate)) => {
                    // The operands are names of protocols, messages or rules.
                    compiled.predicate = predicate;
                    compiled.fields.clear();
                    return Ok(());
                }
                Some(Err(error)) => {
                    compiled.attribute = None;
                    no_name = Some(error);
                }
                None if !self.is_comparable_sort(&compiled.predicate, sort) => {
                    compiled.attribute = None
                }
                None => {}
            }
        }
        let known = std::mem::take(&mut compiled.fields);
        let is_comparable = |field: &&Source| is_comparable(&compiled.predicate, field);
        compiled.fields = known.iter().filter(is_comparable).cloned().collect();
        if compiled.attribute.is_some() || compiled.has_fields() {
            return Ok(());
        }
        Err(no_name.unwrap_or_else(|| self.not_comparable(sort, &known)))
    }

    /// Checks that a text has no other escapes than those of the language. In regular expressions, there are more.
    fn escapes(&self, literal: &Literal) -> Result<(), FilterError> {
        let text = self.source.get(literal.at.clone()).unwrap_or_default();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            let Some((_, escape)) = (if c == '\\' { chars.next() } else { None }) else { continue };
            let is_known = match escape {
                '"' | '\\' => true,
                'x' => text.get(at + 2..at + 4).and_then(hex_byte).is_some(),
                _ => false,
            };
            if literal.is_quoted && !is_known {
                let start = literal.at.start + at;
                let place = start..start + 1 + escape.len_utf8();
                let help = r"write \\ for a backslash, \x41 for a byte".to_owned();
                return Err(self.error(&place, format!(r"there is no escape \{escape}"), help));
            }
        }
        Ok(())
    }

    fn literals(&self) -> Vec<&Literal> {
        match &self.test.ask {
            FieldTest::Present => Vec::new(),
            FieldTest::Compare(_, literal) => vec![literal],
            FieldTest::In(set) => set
                .iter()
                .flat_map(|(first, last)| [Some(first), last.as_ref()])
                .flatten()
                .collect(),
        }
    }

    /// For attributes that are compared with names, what the names refer to; otherwise `None`.
    fn named(&self, sort: Sort) -> Option<Result<Predicate, FilterError>> {
        if !matches!(sort, Sort::Protocol | Sort::Message | Sort::Rule) {
            return None;
        }
        let is_equality = matches!(
            self.test.ask,
            FieldTest::In(_) | FieldTest::Compare(Comparison::Equal | Comparison::Unequal, _)
        );
        if !is_equality {
            let help = "compare it with ==, != or `in {..}`".to_owned();
            let path = written(&self.test.path);
            let is_order = matches!(
                self.test.ask,
                FieldTest::Compare(
                    Comparison::Less
                        | Comparison::LessOrEqual
                        | Comparison::Greater
                        | Comparison::GreaterOrEqual,
                    _
                )
            );
            let what = match is_order {
                true => format!("`{path}` has no order"),
                false => format!("`{path}` is a name from a list, not a text"),
            };
            return Some(Err(self.error(&self.test.at, what, help)));
        }
        let literals = self.literals();
        let mut protocols = Vec::new();
        let mut messages = Vec::new();
        let mut rules = Vec::new();
        for literal in literals {
            let found = match sort {
                Sort::Protocol => self.protocol(literal).map(|id| protocols.push(id)),
                Sort::Message => self.messages(literal).map(|more| messages.extend(more)),
                _ => self.rules(literal).map(|more| rules.extend(more)),
            };
            if let Err(error) = found {
                return Some(Err(error));
            }
        }
        Some(Ok(match sort {
            Sort::Protocol => Predicate::Protocols(protocols),
            Sort::Message => Predicate::Messages(messages),
            _ => Predicate::Rules(rules),
        }))
    }

    fn protocol(&self, literal: &Literal) -> Result<Id, FilterError> {
        Id::named(&literal.text).ok_or_else(|| {
            let names: Vec<_> = Id::ALL.iter().map(|id| id.info().id).collect();
            let what = format!("there is no protocol `{}`", literal.text);
            self.error(&literal.at, what, format!("known protocols are {}", names.join(", ")))
        })
    }

    fn messages(&self, literal: &Literal) -> Result<Vec<&'static Message>, FilterError> {
        let all = Id::ALL.iter().flat_map(|id| {
            let info = id.info();
            info.messages.iter().map(|&message| (format!("{}.{}", info.id, message.name), message))
        });
        let all = Vec::from_iter(all);
        let is = |(path, message): &&(String, &Message)| {
            *path == literal.text || message.name == literal.text
        };
        let named: Vec<_> = all.iter().filter(is).map(|&(_, message)| message).collect();
        if !named.is_empty() {
            return Ok(named);
        }
        let names = all.iter().flat_map(|(path, it)| [path.clone(), it.name.to_owned()]);
        let what = format!("there is no message `{}`", literal.text);
        Err(self.error(&literal.at, what, suggestion(&literal.text, names, "fields")))
    }

    fn rules(&self, literal: &Literal) -> Result<Vec<Code>, FilterError> {
        let named = catalogue::rules_meant(&literal.text);
        if !named.is_empty() {
            return Ok(named.into_iter().map(|rule| rule.code).collect());
        }
        let names = catalogue::rules().into_iter();
        let names = names.flat_map(|rule| [rule.code.to_string(), rule.slug.to_owned()]);
        let what = format!("there is no rule `{}`", literal.text);
        Err(self.error(&literal.at, what, suggestion(&literal.text, names, "rules")))
    }

    fn regex(&self, literal: &Literal) -> Result<Regex, FilterError> {
        if !literal.is_quoted {
            let what = "a regular expression must be in double quotes".to_owned();
            return Err(self.error(&literal.at, what, format!("\"{}\"", literal.text)));
        }
        let mut builder = RegexBuilder::new(&literal.pattern());
        builder.case_insensitive(true).size_limit(REGEX).dfa_size_limit(REGEX);
        builder.build().map_err(|error| {
            let why = error.to_string();
            let why =
                why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            self.error(&literal.at, "invalid regular expression".to_owned(), why)
        })
    }

    /// Whether an attribute of this type can be compared in this way.
    fn is_comparable_sort(&self, predicate: &Predicate, sort: Sort) -> bool {
        let suits = |operand: &Operand| match sort {
            Sort::Number(measure) => is_number(operand, measure),
            Sort::Time => operand.time.is_some(),
            Sort::Address => operand.network.is_some_and(|network| !network.has_port()),
            Sort::End => operand.network.is_some(),
            Sort::Severity => operand.severity.is_some(),
            Sort::Protocol | Sort::Message | Sort::Rule | Sort::Presence => false,
        };
        let is_ordered = !matches!(sort, Sort::Address | Sort::End);
        let is_contained = matches!(predicate, Predicate::Compare(Comparison::Contains, _));
        !is_contained && predicate.suits(is_ordered, suits)
    }

    fn unknown(&self) -> FilterError {
        let path = &self.test.path;
        if **path == ["answered"] || **path == ["answered_by"] {
            let what = format!("`{}` is not yet known when a message is shown", written(path));
            return self.error(&self.test.at, what, names::ANSWERED.to_owned());
        }
        let mut near = names::nearest(path);
        if let [name] = &**path {
            // The name of a message without its protocol.
            near.splice(..0, names::messages_named(name));
        }
        let help = match &*near {
            [] => "`gamewire fields` lists them".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        self.error(&self.test.at, format!("there is no field `{}`", written(path)), help)
    }

    fn not_comparable(&self, sort: Option<Sort>, known: &[Source]) -> FilterError {
        let mut are: Vec<&str> =
            known.iter().flat_map(|it| it.kinds.iter().map(|it| it.name())).collect();
        are.extend(sort.map(|sort| match sort {
            Sort::Number(_) => "number",
            Sort::Time => "time",
            Sort::Address | Sort::End => "address",
            Sort::Severity => "severity",
            Sort::Protocol => "protocol",
            Sort::Message => "message",
            Sort::Rule => "rule",
            Sort::Presence => "transport",
        }));
        are.sort_unstable();
        are.dedup();
        let is = |name: &str| are.contains(&name);
        let help = if is("severity") {
            "severities are note, warning and error".to_owned()
        } else if is("time") {
            "write a time in quotes: \"2026-11-20T10:00:00Z\"".to_owned()
        } else if is("text") || is("character") {
            "put texts in double quotes".to_owned()
        } else if is("boolean") {
            "compare it with true or false".to_owned()
        } else if is("address") && matches!(self.test.ask, FieldTest::In(_)) {
            "write an address as 10.0.0.2, 10.0.0.0/8 or [::1]:27015, a range as 10.0.0.2..10.0.0.9"
                .to_owned()
        } else if is("address") {
            "write an address as 10.0.0.2, 10.0.0.0/8 or [::1]:27015".to_owned()
        } else if are.iter().any(|name| name.ends_with("integer")) {
            "compare it with a number".to_owned()
        } else if are.is_empty() || is("group") || is("map") || is("list") || is("transport") {
            "use it without a comparison to test whether it is present".to_owned()
        } else {
            "compare it with a number".to_owned()
        };
        let at = self.literals().first().map_or(&self.test.at, |literal| &literal.at);
        let path = written(&self.test.path);
        let what = match &*are {
            [] => format!("`{path}` has no value"),
            are => format!("`{path}` ({}) cannot be compared in this way", are.join(" or ")),
        };
        self.error(at, what, help)
    }
}

/// The help text for an unknown name.
fn suggestion(typed: &str, names: impl Iterator<Item = String>, command: &str) -> String {
    match &*nearest(typed, names) {
        [] => format!("`gamewire {command}` lists them"),
        near => format!("did you mean {}?", near.join(" or ")),
    }
}

/// Whether some values of a field can be compared in this way.
fn is_comparable(predicate: &Predicate, field: &Source) -> bool {
    let mut kinds = field.kinds.iter();
    kinds.any(|&kind| {
        let suits = |operand: &Operand| match kind {
            // It is a text in JSON, but is compared with numbers.
            Kind::Id => operand.number.is_some() && operand.measure.is_none(),
            Kind::Unsigned | Kind::Signed | Kind::Float => is_number(operand, field.measure),
            Kind::Flag => operand.flag.is_some(),
            Kind::Text | Kind::Name | Kind::Char => operand.text.is_some(),
            Kind::Bytes => operand.bytes.is_some(),
            Kind::Endpoint | Kind::Endpoint6 => operand.network.is_some(),
            Kind::Pair => {
                field.is_of_key() && (operand.text.is_some() || is_number(operand, field.measure))
            }
            Kind::Group | Kind::List | Kind::Map => false,
        };
        let is_text = matches!(kind, Kind::Text | Kind::Name | Kind::Char | Kind::Pair);
        let is_ordered = !matches!(kind, Kind::Flag | Kind::Endpoint | Kind::Endpoint6);
        match predicate {
            Predicate::Matches(_) => is_text,
            Predicate::Compare(Comparison::Contains, operand) => match kind {
                Kind::Bytes => operand.bytes.is_some(),
                _ => is_text && operand.text.is_some(),
            },
            _ => predicate.suits(is_ordered, suits),
        }
    })
}

/// Whether it is a number, without a unit or with one of the field.
fn is_number(operand: &Operand, measure: Option<Measure>) -> bool {
    operand.number.is_some()
        && operand.text.is_none()
        && (operand.measure.is_none() || operand.measure == measure)
}
