//! Packets that were skipped because of their link type.

use std::fmt;

use crate::capture::LinkType;
use crate::net;
use crate::session::Totals;

/// Packets that were skipped because of their link type.
#[derive(Debug)]
pub struct UnknownLinks {
    name: String,
    count: u64,
    of: u64,
    link: LinkType,
}

impl UnknownLinks {
    /// Those of a capture with this name, if any.
    pub fn of(name: &str, read: &Totals) -> Option<UnknownLinks> {
        let (link, count, of) = (read.unknown_link?, read.unknown_links, read.packets);
        Some(UnknownLinks { name: name.to_owned(), count, of, link })
    }

    /// Whether all packets were skipped.
    pub fn is_all(&self) -> bool {
        self.count == self.of
    }
}

impl fmt::Display for UnknownLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownLinks { name, count, of, link } = self;
        let called = net::link_name(*link).map_or(String::new(), |it| format!(" ({it})"));
        let packets = match count {
            _ if count == of => "any of its packets".to_owned(),
            1 => format!("1 of {of} packets"),
            count => format!("{count} of {of} packets"),
        };
        write!(
            f,
            "{name}: gamewire cannot read {packets}: link type {}{called}; record on an \
             interface that carries IP",
            link.0
        )
    }
}
