//! `HOST:PORT`: who is asked.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use dissectors::kit::is_broadcast;

use super::ProbeError;
use crate::text::escaped;

/// The one name that is looked up without leave: it is this host's.
const THIS_HOST: &str = "localhost";

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name, if it has one.
    pub name: Option<String>,
    /// Its first address.
    pub address: SocketAddr,
}

impl Host {
    /// Reads what was typed, and looks up a name, once.
    ///
    /// # Errors
    /// It is no host, or another one, which must be allowed, or it has no address.
    pub fn of(typed: &str, allows_remote: bool) -> Result<Host, ProbeError> {
        if let Ok(address) = typed.parse() {
            return Host { name: None, address }.allowed(allows_remote);
        }
        let form = || ProbeError::Form(typed.to_owned());
        let (name, port) = typed.rsplit_once(':').ok_or_else(form)?;
        let is_number = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
        let port: u16 = port.parse().map_err(|_| match is_number {
            true => ProbeError::Port(typed.to_owned()),
            false => form(),
        })?;
        let is_name = |c: char| c.is_alphanumeric() || "-._".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(form());
        }
        if !allows_remote && name != THIS_HOST {
            return Err(ProbeError::Remote(typed.to_owned()));
        }
        let unknown = |why: String| ProbeError::Unknown(escaped(name).into_owned(), why);
        let mut found =
            (name, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        let address = found.next().ok_or_else(|| unknown("none was found".to_owned()))?;
        Host { name: Some(name.to_owned()), address }.allowed(allows_remote)
    }

    fn allowed(self, allows_remote: bool) -> Result<Host, ProbeError> {
        let ip: IpAddr = self.address.ip().to_canonical();
        if is_broadcast(ip) || ip.is_unspecified() || self.address.port() == 0 {
            return Err(ProbeError::Several(self.address));
        }
        if !allows_remote && !ip.is_loopback() {
            return Err(ProbeError::Remote(self.address.to_string()));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_of_this_machine_is_allowed() {
        for typed in ["127.0.0.1:27015", "127.8.0.1:1", "[::1]:27015", "localhost:27015"] {
            assert!(Host::of(typed, false).unwrap().address.ip().is_loopback(), "{typed}");
        }
    }

    #[test]
    fn others_need_leave_and_several_are_none() {
        for (typed, says) in [
            ("192.0.2.7:27015", "192.0.2.7:27015 is not a loopback address or localhost"),
            ("game.example.net:27015", "--allow-remote"),
            ("127.0.0.1", "expected HOST:PORT"),
            ("example.net:http", "expected HOST:PORT"),
            ("192.0.2.0/24:27015", "expected HOST:PORT"),
            ("127.0.0.1:99999", "is not a number from 1 to 65535"),
            ("127.0.0.1:0", "nothing can be asked at 127.0.0.1:0"),
        ] {
            let error = Host::of(typed, false).unwrap_err().to_string();
            assert!(error.contains(says), "{typed}: {error}");
        }
        for typed in ["255.255.255.255:27015", "0.0.0.0:27015", "[ff02::1]:27015"] {
            let error = Host::of(typed, true).unwrap_err().to_string();
            assert!(error.contains("name the address and port of one server"), "{error}");
        }
        assert!(Host::of("192.0.2.7:27015", true).is_ok());
    }
}
