//! The fields of the AssaultCube Reloaded master's messages.

use std::borrow::Cow;

use super::kept;
use crate::kit::{Field, Kind, Treatment, fields};

fields! {
    PATH = Field::new("path", "Path", Kind::Text).framing().treated(Treatment::Words(kept::is_path));

    // Parameters. One that should be a number but is not is shown as text.
    PARAMETER = Field::new("parameter", "Parameter", Kind::Text).framing().treated(Treatment::Words(kept::is_parameter));
    /// The environment that the client was built in.
    BUILD_DEFS = Field::new("build_defs", "Client build environment", Kind::Unsigned).kept();
    /// The environment that the client was built in, not a number.
    BUILD_DEFS_TEXT = Field::new("build_defs", "Client build environment", Kind::Text);
    /// Identifies the client; deprecated.
    GUID32 = Field::new("guid32", "GUID (deprecated)", Kind::Unsigned);
    /// Identifies the client, not a number; deprecated.
    GUID32_TEXT = Field::new("guid32", "GUID (deprecated)", Kind::Text);
    /// Port of the server; 28770 if it is absent.
    P = Field::new("p", "Server port number", Kind::Unsigned).kept();
    /// Port of the server, not a number.
    P_TEXT = Field::new("p", "Server port number", Kind::Text);
    /// Version of the game's network protocol.
    V = Field::new("v", "Protocol version number", Kind::Unsigned).kept();
    /// Version of the game's network protocol, not a number.
    V_TEXT = Field::new("v", "Protocol version number", Kind::Text);
    /// Version of the game.
    G = Field::new("g", "Game version number", Kind::Unsigned).kept();
    /// Version of the game, not a number.
    G_TEXT = Field::new("g", "Game version number", Kind::Text);
    /// The server's number for this authentication: `/v` repeats that of `/a`.
    I = Field::new("i", "Request ID for state", Kind::Unsigned).kept();
    /// The server's number for this authentication, not a number.
    I_TEXT = Field::new("i", "Request ID for state", Kind::Text);
    /// Address of the client that connects to the server.
    A_ADDRESS = Field::new("a", "Client IPv6 address", Kind::Text);
    /// ID of the user, if the client has one.
    U = Field::new("u", "User ID", Kind::Text);
    /// The client's input to the digest.
    C = Field::new("c", "Client nonce", Kind::Text);
    /// HMAC of the challenge by the user's key, in hex.
    A_DIGEST = Field::new("a", "Digest", Kind::Text);
    /// Any other parameter, by its name.
    UNKNOWN = Field::new("unknown", "Parameter not in the specification", Kind::Pair);
    SEPARATORS = Field::new("separators", "Separators", Kind::Bytes).framing().kept_if(kept::are_separators);
    UNKNOWN_NAME = Field::new("parameter_name", "Name", Kind::Text);
    UNKNOWN_VALUE = Field::new("parameter_value", "Value", Kind::Text);
    REPEATED = Field::new("repeated", "Parameter given again", Kind::Text).framing();

    // Response lines
    /// Whether the master sent the list to its end.
    WHOLE = Field::new("whole", "Whole", Kind::Flag).framing();
    /// The body has a coding, such as gzip, and cannot be read.
    ENCODED = Field::new("encoded", "Encoded", Kind::Flag).framing();
    KEYWORD = Field::new("keyword", "Keyword", Kind::Text).framing().kept_if(kept::is_line);
    /// Whether the client is listed: 1 whitelisted, 2 banned, 3 muted.
    FLAGS = Field::new("flags", "Flags", Kind::Unsigned).number(flags).kept();
    /// Whether the client is listed, not a number.
    FLAGS_TEXT = Field::new("flags", "Flags", Kind::Text);
    /// The latest version of the game.
    VERSION = Field::new("version", "Game version", Kind::Unsigned).kept();
    /// The latest version of the game, not a number.
    VERSION_TEXT = Field::new("version", "Game version", Kind::Text);
    /// The latest version of the game's network protocol.
    PROTOCOL = Field::new("protocol", "Protocol version", Kind::Unsigned).kept();
    /// The latest version of the game's network protocol, not a number.
    PROTOCOL_TEXT = Field::new("protocol", "Protocol version", Kind::Text);
    /// The servers that the master lists.
    SERVERS = Field::new("servers", "Servers", Kind::List).of(&[&SERVER]);
    SERVER = Field::new("server", "Server", Kind::Group)
        .of(&[&ADDRESS, &PORT, &PORT_TEXT, &WEIGHT, &WEIGHT_TEXT]);
    /// Address of the server.
    ADDRESS = Field::new("address", "Address", Kind::Text);
    /// Port of the server; 28770 if it is absent.
    PORT = Field::new("port", "Port", Kind::Unsigned).kept();
    /// Port of the server, not a number.
    PORT_TEXT = Field::new("port", "Port", Kind::Text);
    /// The position of the server in the client's list: a greater weight is higher; 0 if it is absent.
    WEIGHT = Field::new("weight", "Weight", Kind::Signed).kept();
    /// The position of the server in the client's list, not a number.
    WEIGHT_TEXT = Field::new("weight", "Weight", Kind::Text);
    /// How many there are, also of those that are no valid address.
    SERVER_COUNT = Field::new("server_count", "Number of servers", Kind::Unsigned).framing().kept();
    LINE = Field::new("line", "Line", Kind::Text).framing();
    NEWLINE = Field::new("newline", "End of the line", Kind::Bytes).framing().kept();
    /// What the master says about the registration.
    TEXT = Field::new("text", "Text", Kind::Text).treated(Treatment::Words(kept::is_said));
    CONTROL = Field::new("control", "Control character", Kind::Char).framing().kept();
    /// f: failed, c: a challenge follows.
    AUTH = Field::new("auth", "Authentication", Kind::Char).number(auth).kept();
    /// The challenge from which the client computes the digest.
    CHALLENGE = Field::new("challenge", "Challenge", Kind::Text).kept_if(kept::is_periodic);
    /// The entry for the client's address in the master's lists: bw, bi, bm or a.
    LOOKUP = Field::new("lookup", "IP lookup", Kind::Text).text(lookup).kept_if(kept::is_lookup);
    /// f: failed, d: the digest does not match, s: succeeded.
    RESULT = Field::new("result", "Result", Kind::Char).number(result).kept();
    /// The user's rights on servers: x, or 0 to 3.
    PRIVILEGE = Field::new("privilege", "Privilege", Kind::Char).number(privilege).kept();
    /// Name of the user.
    NAME = Field::new("name", "Name", Kind::Text);

    // Socket check
    PROBE = Field::new("probe", "Probe", Kind::Bytes).framing();
}

/// The bit that masters set for muted clients, where the specification reserves it.
const MUTED: u64 = 0x04;

fn flags(value: u64) -> Option<&'static str> {
    Some(match value & 0x03 {
        0 if value & MUTED != 0 => "unlisted; muted by a reserved bit",
        1 if value & MUTED != 0 => "whitelisted; muted by a reserved bit",
        2 if value & MUTED != 0 => "blacklisted: banned; muted by a reserved bit",
        0 => "unlisted",
        1 => "whitelisted",
        2 => "blacklisted: banned",
        _ => "blacklisted: muted",
    })
}

fn auth(value: u64) -> Option<&'static str> {
    match value as u8 {
        b'f' => Some("failed"),
        b'c' => Some("a challenge follows"),
        _ => None,
    }
}

fn lookup(text: &[u8]) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match text {
        b"bw" => "whitelisted",
        b"bi" => "blacklisted, not whitelisted",
        b"bm" => "muted: may not speak, kick or ban",
        b"a" => "no matches",
        _ => return None,
    }))
}

fn result(value: u64) -> Option<&'static str> {
    match value as u8 {
        b'f' => Some("failed"),
        b'd' => Some("the digest does not match"),
        b's' => Some("succeeded"),
        _ => None,
    }
}

fn privilege(value: u64) -> Option<&'static str> {
    match value as u8 {
        b'x' => Some("name verification only"),
        b'0' => Some("deban"),
        b'1' => Some("master"),
        b'2' => Some("admin"),
        b'3' => Some("owner"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_shown_with_the_bit_of_muted_clients() {
        assert_eq!(
            [0, 1, 2, 3].map(flags).map(|text| text.unwrap().contains("reserved")),
            [false; 4]
        );
        for (value, meaning) in [
            (4, "unlisted; muted by a reserved bit"),
            (6, "blacklisted: banned; muted by a reserved bit"),
            (7, "blacklisted: muted"),
            (8, "unlisted"),
        ] {
            assert_eq!(flags(value), Some(meaning), "{value}");
        }
    }
}
