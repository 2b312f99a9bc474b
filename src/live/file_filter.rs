//! A filter in libpcap's language for the packets of files.

use std::collections::HashMap;
use std::sync::Arc;

use super::LiveError;
use super::libpcap::{BpfFilter, Handle, Library};
use crate::capture::{LinkType, Packet};

/// A link type in the library's numbering.
fn library_number(link: LinkType) -> i32 {
    match link {
        LinkType::RAW => 12,
        LinkType(number) => number.into(),
    }
}

/// A filter for the packets of files, compiled for each link type when it first occurs.
pub struct FileFilter {
    library: Arc<Library>,
    expression: String,
    compiled: HashMap<u16, BpfFilter>,
}

impl FileFilter {
    /// Compiles a filter in libpcap's language for Ethernet, so that errors are reported at once.
    ///
    /// # Errors
    /// The library is missing, or the expression is invalid.
    pub fn new(expression: &str) -> Result<FileFilter, LiveError> {
        let library = Library::load().ok_or_else(LiveError::without_library)?;
        let (expression, compiled) = (expression.to_owned(), HashMap::new());
        let mut filter = FileFilter { library, expression, compiled };
        filter.compile(LinkType::ETHERNET)?;
        Ok(filter)
    }

    fn compile(&mut self, link: LinkType) -> Result<(), LiveError> {
        let refused = |why| LiveError::Filter { expression: self.expression.clone(), why };
        let handle = Handle::dead(&self.library, library_number(link), 262_144)
            .ok_or_else(|| refused("libpcap is out of memory".to_owned()))?;
        let filter = handle.compile(&self.expression).map_err(refused)?;
        self.compiled.insert(link.0, filter);
        Ok(())
    }

    /// Whether a packet matches.
    ///
    /// # Errors
    /// The expression is not possible for the packet's link type.
    pub fn takes(&mut self, packet: &Packet<'_>) -> Result<bool, LiveError> {
        if !self.compiled.contains_key(&packet.link.0) {
            self.compile(packet.link)?;
        }
        let filter = self.compiled.get(&packet.link.0);
        Ok(filter.is_some_and(|filter| filter.takes(packet.data, packet.original_length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_types_have_two_numbers() {
        assert_eq!(library_number(LinkType::RAW), 12);
        assert_eq!(library_number(LinkType::ETHERNET), 1);
    }
}
