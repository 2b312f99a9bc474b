//! Identifies the protocol of a payload: by its bytes on any port. Ports and earlier packets of the
//! flow are only a tie-breaker.

use std::str::FromStr;

use dissectors::Id;
use dissectors::kit::{Claim, Hint, StreamView, Transport};

use super::{is_usual, is_usual_of};

/// A protocol that the user forces on a port: `udp.port==27999,a2s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeAs {
    /// What carries it.
    pub transport: Transport,
    /// A port of either end.
    pub port: u16,
    /// The protocol.
    pub protocol: Id,
}

impl FromStr for DecodeAs {
    type Err = String;

    fn from_str(text: &str) -> Result<DecodeAs, String> {
        let form = "write it as udp.port==27999,a2s";
        let (place, name) = text.split_once(',').ok_or_else(|| form.to_owned())?;
        let (layer, port) = place.split_once("==").ok_or_else(|| form.to_owned())?;
        let transport = match layer.trim() {
            "udp.port" => Transport::Udp,
            "tcp.port" => Transport::Tcp,
            other => return Err(format!("`{other}` is neither udp.port nor tcp.port; {form}")),
        };
        let port = port.trim().parse().map_err(|_| format!("`{port}` is not a port; {form}"))?;
        let protocol = Id::named(name.trim()).ok_or_else(|| {
            let names: Vec<_> = Id::ALL.iter().map(|id| id.info().id).collect();
            format!("`{name}` is not a protocol; known protocols are {}", names.join(", "))
        })?;
        Ok(DecodeAs { transport, port, protocol })
    }
}

/// Identifies protocols.
#[derive(Clone, Debug, Default)]
pub struct Identifier {
    forced: Vec<DecodeAs>,
}

impl Identifier {
    /// With protocols that the user forces on ports.
    pub fn new(forced: Vec<DecodeAs>) -> Identifier {
        Identifier { forced }
    }

    /// The protocol that is forced on a packet between these ports.
    pub fn forced(&self, transport: Transport, ports: [u16; 2]) -> Option<Id> {
        if self.forced.is_empty() {
            return None;
        }
        let mut forced = self.forced.iter().filter(|f| f.transport == transport);
        forced.find(|forced| ports.contains(&forced.port)).map(|forced| forced.protocol)
    }

    /// The protocol of a datagram. `known`: the flow's protocol so far; `ports`: of source and
    /// destination.
    pub fn datagram(&self, bytes: &[u8], ports: [u16; 2], known: Option<Id>) -> Option<Id> {
        self.datagram_unless(bytes, ports, known, || false)
    }

    /// The same. `is_among_others`: whether packets of other protocols come between these sockets, so that the ports are no
    /// sign.
    pub fn datagram_unless(
        &self,
        bytes: &[u8],
        ports: [u16; 2],
        known: Option<Id>,
        is_among_others: impl FnOnce() -> bool,
    ) -> Option<Id> {
        if let Some(forced) = self.forced(Transport::Udp, ports) {
            return Some(forced);
        }
        if let Some(known) = known
            && known.claim(bytes, Hint { known: true, ..hint(known, ports) }) >= Claim::Weak
        {
            return Some(known);
        }
        best(|id, hint| id.claim(bytes, hint), ports, is_among_others)
    }

    /// The protocol of a stream, from its first bytes; `Err`: whether more bytes may decide.
    pub fn stream(&self, view: &StreamView<'_>, ports: [u16; 2]) -> Result<Id, Undecided> {
        if let Some(forced) = self.forced(Transport::Tcp, ports) {
            return Ok(forced);
        }
        let claim = |id: Id, hint| id.claim_stream(view, hint);
        if let Some(id) = best(claim, ports, || false) {
            return Ok(id);
        }
        let undecided = Id::ALL.iter().any(|&id| claim(id, hint(id, ports)) == Claim::Undecided);
        Err(if undecided { Undecided::More } else { Undecided::None })
    }
}

/// Why a stream's protocol is not identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// More bytes may decide.
    More,
    /// It is not a supported protocol.
    None,
}

fn hint(id: Id, [from, to]: [u16; 2]) -> Hint {
    let (from_port, to_port) = (is_usual_of(id, from), is_usual_of(id, to));
    Hint { from_port, to_port, ..Hint::default() }
}

/// The first protocol in the list that is sure; otherwise the first that is possible, if the port
/// indicates it.
fn best(
    claim: impl Fn(Id, Hint) -> Claim,
    ports: [u16; 2],
    is_among_others: impl FnOnce() -> bool,
) -> Option<Id> {
    let mut weak = None;
    let usual = ports.into_iter().any(is_usual);
    for &id in Id::ALL {
        let hint = if usual { hint(id, ports) } else { Hint::default() };
        match claim(id, hint) {
            Claim::Sure => return Some(id),
            Claim::Weak if hint.any() => weak = weak.or(Some(id)),
            Claim::Weak | Claim::Undecided | Claim::No => {}
        }
    }
    weak.filter(|_| !is_among_others())
}
