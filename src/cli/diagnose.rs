//! Arguments of `gamewire diagnose`.

use std::net::{IpAddr, SocketAddr};

use clap::{Args, ValueEnum};
use dissectors::Id;

use super::InputArgs;
use crate::report::paint::ColorChoice;

/// What a probe has asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfProbe {
    /// The master, if it was one.
    pub master: Option<(Id, SocketAddr)>,
}

/// `gamewire diagnose`.
#[derive(Args, Debug)]
pub struct DiagnoseArgs {
    /// The capture is of what gamewire asked by itself: neither it nor a registration is judged.
    #[arg(skip)]
    pub of_probe: Option<OfProbe>,
    /// Show all items of this server
    ///
    /// By default, all items are shown if there is only one server, else one line per server.
    #[arg(long, value_name = "IP[:PORT]", value_parser = server)]
    pub server: Option<(IpAddr, Option<u16>)>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: DiagnoseFormat,
    /// State that the capture is complete: messages that are missing from it were not sent
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub complete: Option<bool>,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Parses an address with an optional port.
fn server(named: &str) -> Result<(IpAddr, Option<u16>), String> {
    let end = named.parse().map(|end: SocketAddr| (end.ip(), Some(end.port())));
    let host = || named.trim_matches(['[', ']']).parse().map(|ip: IpAddr| (ip, None));
    end.or_else(|_| host()).map_err(|_| {
        "expected an address such as 203.0.113.5, 203.0.113.5:27015 or [2001:db8::5]:27015"
            .to_owned()
    })
}

/// Output formats of `diagnose`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiagnoseFormat {
    /// The problems, then each item with the packets that show it
    Text,
    /// One JSON object per capture
    Json,
    /// A table for an issue or a web page
    Markdown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_addresses_with_or_without_a_port() {
        let ip: IpAddr = [203, 0, 113, 5].into();
        assert_eq!(server("203.0.113.5"), Ok((ip, None)));
        assert_eq!(server("203.0.113.5:27015"), Ok((ip, Some(27015))));
        assert_eq!(server("[::1]:5"), Ok(("::1".parse().unwrap(), Some(5))));
        assert_eq!(server("::1"), Ok(("::1".parse().unwrap(), None)));
        for wrong in ["", "example.net", "203.0.113.5:", "203.0.113.5:99999"] {
            assert!(server(wrong).is_err(), "{wrong}");
        }
    }
}
