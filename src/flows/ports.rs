//! Sets of ports.

use std::sync::LazyLock;

use dissectors::Id;

/// A bit for each port: whether it is one of them is told by one word of memory.
pub struct Ports([u64; 1024]);

impl Default for Ports {
    fn default() -> Ports {
        Ports([0; 1024])
    }
}

impl Ports {
    /// Puts a port in.
    pub fn insert(&mut self, port: u16) {
        self.0[usize::from(port >> 6)] |= 1 << (port & 63);
    }

    /// Whether it is there.
    #[inline]
    pub fn contains(&self, port: u16) -> bool {
        self.0[usize::from(port >> 6)] >> (port & 63) & 1 == 1
    }
}

/// Those that servers of some protocol usually have: of most datagrams, neither port is such a one,
/// and no protocol's list need be read.
static USUAL: LazyLock<Ports> = LazyLock::new(|| {
    let mut usual = Ports::default();
    Id::ALL.iter().flat_map(|id| id.info().ports).for_each(|&port| usual.insert(port));
    usual
});

/// Whether servers of some protocol usually have this port.
#[inline]
pub fn is_usual(port: u16) -> bool {
    USUAL.contains(port)
}
