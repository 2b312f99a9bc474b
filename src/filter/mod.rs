//! Display filters, which select messages.
//!
//! The language is that of Wireshark, as far as it applies to these protocols:
//! `a2s.info_response.players == 0 and ip.src == 10.0.0.0/8`. A filter is parsed and checked before
//! the first packet; see `docs/filters.md`. It does not influence decoding.

mod attribute;
mod column;
mod compile;
mod error;
mod evaluate;
mod literal;
mod names;
mod networks;
mod syntax;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use dissectors::Id;
use dissectors::kit::{FlowFacts, Message, Side};

use crate::message::MessageRef;

#[doc(hidden)]
pub use column::Column;
pub use error::FilterError;
#[doc(hidden)]
pub use literal::Network;
#[doc(hidden)]
pub use networks::{Networks, first_address};
#[doc(hidden)]
pub use syntax::Expression;

/// A compiled filter. Clones share it.
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
    /// It depends on addresses, ports or transports.
    needs_ends: bool,
}

impl Filter {
    fn new(source: Arc<str>, root: compile::Node) -> Filter {
        let needs_ends = root.any(&|test| test.attribute.is_some_and(|it| it.is_of_ends()));
        Filter { source, root: Arc::new(root), needs_ends }
    }

    /// The conjunction of filters; `None` if there are none.
    pub fn all(filters: impl IntoIterator<Item = Filter>) -> Option<Filter> {
        let filters = Vec::from_iter(filters);
        if filters.len() < 2 {
            return filters.into_iter().next();
        }
        let sources: Vec<_> = filters.iter().map(|filter| format!("({})", filter.source)).collect();
        let parts = filters.into_iter().map(|filter| compile::Node::Shared(filter.root)).collect();
        Some(Filter::new(sources.join(" and ").into(), compile::Node::And(parts)))
    }

    /// Whether it matches a message.
    pub fn matches(&self, message: &MessageRef<'_>) -> bool {
        self.root.matches(message)
    }

    /// Whether it matches all messages of a flow, if that is already known from the protocol, the flow's ends, and
    /// the kind of message, if that is known.
    pub fn decide(
        &self,
        protocol: Option<Id>,
        kind: Option<&'static Message>,
        flow: &FlowFacts,
    ) -> Option<bool> {
        let payloads = Side::BOTH.map(|side| flow.payload(side, &[], &[]));
        let each_way =
            payloads.map(|payload| MessageRef { protocol, kind, ..MessageRef::undecoded(payload) });
        self.root.decide(&each_way)
    }

    /// Whether its result for a flow depends on more than the protocol.
    #[inline]
    pub(crate) fn needs_ends(&self) -> bool {
        self.needs_ends
    }

    /// Whether it depends on fields of messages.
    pub fn needs_fields(&self) -> bool {
        self.root.any(&|test| test.has_fields())
    }

    /// Whether it depends on flow numbers, which are only known if all flows are.
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
