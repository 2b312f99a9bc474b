//! A capture that is in memory already, in place of a mapped file.

use std::sync::Arc;

/// Pages are mapped ahead in stretches of this many bytes; here there is nothing to map.
pub(super) const STRETCH: usize = 1 << 30;

/// The bytes of a capture.
pub(super) struct Mapping(Arc<Vec<u8>>);

impl Mapping {
    /// Of these bytes.
    pub(super) fn new(bytes: Arc<Vec<u8>>) -> Mapping {
        Mapping(bytes)
    }

    /// The bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds a reader. They are not counted.
    pub(super) fn add_reader(&self) -> u8 {
        0
    }

    /// A reader enters a stretch.
    pub(super) fn enter(&self, _stretch: usize, _nth: u8) {}

    /// Memory does not become shorter.
    #[inline]
    pub(super) fn shrank(&self) -> bool {
        false
    }

    /// The same.
    pub(super) fn is_shorter(&self) -> bool {
        false
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// There is no such hint here.
#[inline]
pub(super) fn prefetch(_: &u8) {}
