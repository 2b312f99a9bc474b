//! What could not be kept because of the memory limit. What depends on it is not reported.

/// What was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Servers that get requests: what is sent toward a server cannot be told from what it sends.
    pub servers: bool,
    /// Addresses that get responses without requests, or packets known to crash servers.
    pub victims: bool,
    /// Real clients of a server or a master: those that are not kept cannot be told from forged sources.
    pub clients: bool,
    /// Requests: a response may belong to one that is not kept any more.
    pub requests: bool,
}

impl Omitted {
    /// Whether nothing was left out.
    pub fn is_nothing(self) -> bool {
        self == Omitted::default()
    }

    /// What a user should know.
    pub fn notes(self) -> impl Iterator<Item = &'static str> {
        [
            (
                self.servers || self.victims,
                "there are more targets than fit into memory; see --memory",
            ),
            (
                self.servers,
                "packets that crash servers are not reported from then on: it is unknown which hosts are servers",
            ),
            (
                self.clients,
                "a server or a master has more clients than fit into memory, so that a flood of it is not reported; \
                 see --memory",
            ),
            (
                self.requests,
                "some responses are not judged, as there were more requests in 30 s than fit into memory; see \
                 --memory",
            ),
        ]
        .into_iter()
        .filter_map(|(is_so, note)| is_so.then_some(note))
    }
}
