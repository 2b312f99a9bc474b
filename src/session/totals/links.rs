//! The link types of a capture's packets.

use serde::{Deserialize, Serialize};

use crate::capture::LinkType;
use crate::net::link_name;

/// Maximum number of link types that are counted separately.
const MOST: usize = 16;

/// The link types of packets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Links {
    last: Option<LinkType>,
    met: Vec<LinkType>,
    /// There were more.
    has_more: bool,
}

impl Links {
    /// Adds the link type of a packet.
    #[inline]
    pub(crate) fn see(&mut self, link: LinkType) {
        if self.last != Some(link) {
            self.last = Some(link);
            self.another(link);
        }
    }

    /// Adds those of another recording.
    pub fn add(&mut self, other: &Links) {
        other.met.iter().for_each(|link| self.see(*link));
        self.has_more |= other.has_more;
    }

    #[cold]
    fn another(&mut self, link: LinkType) {
        if self.met.contains(&link) {
            return;
        }
        match self.met.len() < MOST {
            true => self.met.push(link),
            false => self.has_more = true,
        }
    }

    /// Their names, in the order of their numbers; the number if one has no name.
    pub fn names(&self) -> Vec<String> {
        let mut links = self.met.clone();
        links.sort_by_key(|link| link.0);
        let name = |link: &LinkType| {
            link_name(*link).map_or_else(|| format!("link type {}", link.0), str::to_owned)
        };
        let more = self.has_more.then(|| "others".to_owned());
        links.iter().map(name).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_type_is_named_once() {
        let mut links = Links::default();
        assert!(links.names().is_empty());
        for link in [113, 1, 1, 113, 1, 6000] {
            links.see(LinkType(link));
        }
        assert_eq!(links.names(), ["Ethernet", "Linux cooked capture", "link type 6000"]);
        (7000..8000).for_each(|link| links.see(LinkType(link)));
        let names = links.names();
        assert_eq!((names.len(), names.last().map(String::as_str)), (MOST + 1, Some("others")));
    }
}
