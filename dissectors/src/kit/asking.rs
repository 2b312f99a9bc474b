//! What a client asks servers and masters, to find out whether and how they answer.

use super::Transport;

/// How to ask one kind of server or master.
pub struct Asking {
    /// The name in scripts.
    pub name: &'static str,
    /// How what is asked is sent.
    pub transport: Transport,
    /// It is tried where no protocol is named.
    pub is_usual: bool,
    /// A master is asked.
    pub is_of_master: bool,
    /// What is asked, the most important question first.
    pub questions: &'static [Inquiry],
    /// Other ports where a server may be that is silent at the one that is known.
    pub elsewhere: &'static [Elsewhere],
}

/// A question: a request, or several, each of which returns something of the answer before it, such as a challenge.
pub struct Inquiry {
    /// What is asked, in a few words.
    pub label: &'static str,
    /// The request after an answer with these bytes, or the first one after none. `None`: there is nothing more to
    /// ask; before any answer, over TCP: the other party speaks first.
    pub request: fn(answer: &[u8]) -> Option<Vec<u8>>,
    /// Maximum number of requests, where an answer may demand another one for ever.
    pub most: u32,
}

/// Requests for an answer that takes a challenge: the first one, and those with a challenge until it is renewed so often
/// that the server never takes it.
pub const WITH_CHALLENGE: u32 = 5;

/// Another port of the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// So many above the one that is known.
    Above(u16),
    /// So many below.
    Below(u16),
    /// This one.
    At(u16),
}

impl Elsewhere {
    /// Which one, if there is such a port.
    pub fn port(self, known: u16) -> Option<u16> {
        let port = match self {
            Elsewhere::Above(count) => known.checked_add(count)?,
            Elsewhere::Below(count) => known.checked_sub(count)?,
            Elsewhere::At(port) => port,
        };
        (port != 0 && port != known).then_some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_ports_are_ports() {
        assert_eq!(Elsewhere::Above(1).port(27015), Some(27016));
        assert_eq!(Elsewhere::Above(1).port(65535), None);
        assert_eq!(Elsewhere::Below(1).port(1), None);
        assert_eq!(Elsewhere::At(6500).port(6500), None);
    }
}
