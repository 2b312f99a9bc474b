//! Display filters: which messages a user wants to see.
//!
//! The language is Wireshark's, as far as it has words for these protocols:
//! `a2s.info_response.players == 0 and ip.src == 10.0.0.0/8`. A filter is read and checked as a whole
//! before the first packet; see `docs/filters.md`. What it decides has no influence on what is decoded.

mod attribute;
mod column;
mod compile;
mod error;
mod evaluate;
mod literal;
mod names;
mod syntax;
mod value;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use dissectors::Id;
use dissectors::kit::{FlowFacts, Message, Payload, Reply, Rule, Severity, Side, TreeView};

#[doc(hidden)]
pub use column::Column;
pub use error::FilterError;
#[doc(hidden)]
pub use literal::Network;
#[doc(hidden)]
pub use syntax::Expression;
#[doc(hidden)]
pub use value::Value;

/// A filter that was read and checked. Clones share it.
///
/// ```
/// use gamewire::filter::Filter;
///
/// let filter: Filter = "a2s.info_response.players > 0".parse()?;
/// assert!(filter.needs_fields());
/// assert!("a2s.info_response.colour == 1".parse::<Filter>().is_err());
/// # Ok::<(), gamewire::filter::FilterError>(())
/// ```
#[derive(Clone)]
pub struct Filter {
    source: Arc<str>,
    root: Arc<compile::Node>,
    /// It looks at the ends of flows, or what carries them.
    needs_ends: bool,
}

/// What a filter decides about: a message, or, without `tree`, what is still known of one in the past.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Subject<'a> {
    /// Its protocol.
    pub protocol: Option<Id>,
    /// Which message of it.
    pub message: Option<&'static Message>,
    /// Its packets, ends and time.
    pub payload: &'a Payload<'a>,
    /// Its fields, if they are here.
    pub tree: Option<TreeView<'a>>,
    /// The request that it answers.
    pub reply: Option<&'a Reply>,
    /// The packet that it is a copy of.
    pub copy_of: Option<u64>,
    /// The rules that it broke, and how severe each is.
    pub broken: &'a Broken<'a>,
}

/// What is known of a message before it is decoded.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Known<'a> {
    /// Its protocol.
    pub protocol: Option<Id>,
    /// Its flow.
    pub flow: &'a FlowFacts,
    /// Which message it is, if that is known.
    pub message: Option<&'static Message>,
}

/// Shows rules that were broken, and how severe each is.
#[doc(hidden)]
pub type Broken<'a> = dyn Fn(&mut dyn FnMut(&'static Rule, Severity)) + 'a;

impl Filter {
    fn new(source: Arc<str>, root: compile::Node) -> Filter {
        let needs_ends = root.any(&|test| test.attribute.is_some_and(|it| it.is_of_ends()));
        Filter { source, root: Arc::new(root), needs_ends }
    }

    /// A filter that wants what all of these want; `None` if there are none.
    pub fn all(filters: impl IntoIterator<Item = Filter>) -> Option<Filter> {
        let filters = Vec::from_iter(filters);
        if filters.len() < 2 {
            return filters.into_iter().next();
        }
        let sources: Vec<_> = filters.iter().map(|filter| format!("({})", filter.source)).collect();
        let parts = filters.into_iter().map(|filter| compile::Node::Shared(filter.root)).collect();
        Some(Filter::new(sources.join(" and ").into(), compile::Node::And(parts)))
    }

    /// Whether it wants this message.
    pub fn matches(&self, subject: &Subject<'_>) -> bool {
        self.root.matches(subject)
    }

    /// Whether it wants messages of this flow, or this message of it, as far as that is known before its
    /// fields are read.
    pub fn decide(&self, known: &Known<'_>) -> Option<bool> {
        let payloads = [Side::First, Side::Second].map(|side| known.flow.payload(side, &[], &[]));
        let each_way = payloads.each_ref().map(|payload| Subject {
            protocol: known.protocol,
            message: known.message,
            payload,
            tree: None,
            reply: None,
            copy_of: None,
            broken: &|_| {},
        });
        self.root.decide(&each_way)
    }

    /// Whether what it decides of a flow depends on more than its protocol.
    #[inline]
    pub(crate) fn needs_ends(&self) -> bool {
        self.needs_ends
    }

    /// Whether it looks at fields of messages.
    pub fn needs_fields(&self) -> bool {
        self.root.any(&|test| test.has_fields())
    }

    /// Whether it looks at numbers of flows, which are known only where all flows are.
    pub fn needs_flow_numbers(&self) -> bool {
        self.root.any(&|test| test.has(attribute::Attribute::Flow))
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(source: &str) -> Result<Filter, FilterError> {
        let expression = Expression::read(source)?;
        let root = compile::compile(&expression, source)?;
        Ok(Filter::new(source.into(), root))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({:?})", self.source)
    }
}

#[cfg(test)]
mod tests;
