//! `[udp:|tcp:]LISTEN=TARGET`: what a relay forwards, and where to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// Streams.
    Tcp,
}

impl fmt::Display for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
        })
    }
}

/// What one relay does: what comes to `listen` goes to `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayPlan {
    /// What is forwarded.
    pub transport: Transport,
    /// Where clients send to. Port 0: any that is free.
    pub listen: SocketAddr,
    /// The server.
    pub target: SocketAddr,
}

impl RelayPlan {
    /// Whether what this relay sends to its target would arrive at `other`.
    pub(super) fn leads_into(&self, other: &RelayPlan) -> bool {
        let is_heard = other.listen.ip() == self.target.ip() || other.listen.ip().is_unspecified();
        self.transport == other.transport && self.target.port() == other.listen.port() && is_heard
    }
}

impl fmt::Display for RelayPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} -> {}", self.transport, self.listen, self.target)
    }
}

/// Why a text is no plan of a relay, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is no `=`.
    #[error(
        "expected LISTEN=TARGET, two addresses with ports: 127.0.0.1:27015=127.0.0.1:27016, or tcp:[::1]:0=[::1]:28900"
    )]
    Form,
    /// One of the two is no address.
    #[error(
        "{0:?} is no IP address with a port; write numbers, such as 127.0.0.1:27015 or [::1]:27015 (`getent hosts NAME` has the address of a name)"
    )]
    Address(String),
    /// Nothing can be sent there.
    #[error("nothing can be sent to {0}; name the address and port of one server")]
    Target(SocketAddr),
    /// A packet has two addresses of the same version of IP.
    #[error("LISTEN and TARGET have different versions of IP; write both as IPv4 or both as IPv6")]
    Versions,
}

impl FromStr for RelayPlan {
    type Err = PlanError;

    fn from_str(typed: &str) -> Result<RelayPlan, PlanError> {
        let (transport, ends) = match (typed.strip_prefix("udp:"), typed.strip_prefix("tcp:")) {
            (_, Some(ends)) => (Transport::Tcp, ends),
            (udp, None) => (Transport::Udp, udp.unwrap_or(typed)),
        };
        let (listen, target) = ends.split_once('=').ok_or(PlanError::Form)?;
        let address = |typed: &str| typed.parse().map_err(|_| PlanError::Address(typed.to_owned()));
        let (listen, target): (SocketAddr, SocketAddr) = (address(listen)?, address(target)?);
        let ip = target.ip();
        let is_several = ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST);
        if target.port() == 0 || ip.is_unspecified() || is_several {
            return Err(PlanError::Target(target));
        }
        if listen.is_ipv4() != target.is_ipv4() {
            return Err(PlanError::Versions);
        }
        Ok(RelayPlan { transport, listen, target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_datagrams_unless_it_says_otherwise() {
        for (typed, shown) in [
            ("127.0.0.1:1=127.0.0.1:2", "udp 127.0.0.1:1 -> 127.0.0.1:2"),
            ("udp:127.0.0.1:0=192.0.2.5:27015", "udp 127.0.0.1:0 -> 192.0.2.5:27015"),
            ("tcp:[::1]:0=[2001:db8::1]:28900", "tcp [::1]:0 -> [2001:db8::1]:28900"),
        ] {
            assert_eq!(typed.parse::<RelayPlan>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_plan_is_refused_with_a_remedy() {
        for (typed, says) in [
            ("127.0.0.1:1", "expected LISTEN=TARGET"),
            ("sctp:127.0.0.1:1=127.0.0.1:2", "\"sctp:127.0.0.1:1\" is no IP address"),
            ("127.0.0.1:1=example.net:2", "`getent hosts NAME`"),
            ("127.0.0.1:1=127.0.0.1", "\"127.0.0.1\" is no IP address"),
            ("127.0.0.1:1=127.0.0.1:0", "nothing can be sent to 127.0.0.1:0"),
            ("127.0.0.1:1=0.0.0.0:2", "nothing can be sent to 0.0.0.0:2"),
            ("127.0.0.1:1=255.255.255.255:2", "name the address and port of one server"),
            ("[::1]:1=[ff02::1]:2", "nothing can be sent to [ff02::1]:2"),
            ("127.0.0.1:1=[::1]:2", "different versions of IP"),
        ] {
            let error = typed.parse::<RelayPlan>().unwrap_err().to_string();
            assert!(error.contains(says), "{typed}: {error}");
        }
    }

    #[test]
    fn a_relay_that_sends_to_a_relay_is_recognized() {
        let plan = |typed: &str| typed.parse::<RelayPlan>().unwrap();
        let one = plan("127.0.0.1:1=127.0.0.1:2");
        assert!(one.leads_into(&plan("127.0.0.1:2=127.0.0.1:3")));
        assert!(one.leads_into(&plan("0.0.0.0:2=127.0.0.1:3")));
        assert!(plan("127.0.0.1:1=127.0.0.1:1").leads_into(&plan("127.0.0.1:1=127.0.0.1:1")));
        assert!(!one.leads_into(&plan("127.0.0.1:3=127.0.0.1:2")));
        assert!(!one.leads_into(&plan("tcp:127.0.0.1:2=127.0.0.1:3")));
    }
}
