//! Sets of ports.

use std::sync::LazyLock;

use dissectors::Id;

/// A bit for each port, so that a lookup reads a single word.
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

/// The usual ports of all protocols' servers: most datagrams have neither port in it, so that no
/// protocol needs to be checked.
static USUAL: LazyLock<Ports> = LazyLock::new(|| usual(Id::ALL));

/// Those of each protocol, in the order of the list.
static USUAL_OF: LazyLock<Vec<Ports>> =
    LazyLock::new(|| Id::ALL.iter().map(|&id| usual(&[id])).collect());

fn usual(ids: &[Id]) -> Ports {
    let mut usual = Ports::default();
    ids.iter().flat_map(|id| id.info().ports).for_each(|&port| usual.insert(port));
    usual
}

/// Whether servers of some protocol usually have this port.
#[inline]
pub fn is_usual(port: u16) -> bool {
    USUAL.contains(port)
}

/// Whether servers of this protocol usually have this port.
#[inline]
pub fn is_usual_of(id: Id, port: u16) -> bool {
    USUAL_OF.get(id as usize).is_some_and(|usual| usual.contains(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_ports_are_those_of_the_protocol() {
        for port in 0..=u16::MAX {
            let of = |id: &Id| id.info().ports.contains(&port);
            assert_eq!(is_usual(port), Id::ALL.iter().any(of), "{port}");
            for &id in Id::ALL {
                assert_eq!(is_usual_of(id, port), of(&id), "{port} of {id:?}");
            }
        }
    }
}
