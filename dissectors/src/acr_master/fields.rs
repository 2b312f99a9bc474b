//! The fields of the AssaultCube Reloaded master's messages.

use std::borrow::Cow;

use crate::kit::{Field, Kind, fields};

fields! {
    // HTTP
    METHOD = Field::new("method", "Method", Kind::Text).framing();
    PATH = Field::new("path", "Path", Kind::Text).framing();
    HTTP_VERSION = Field::new("http_version", "HTTP version", Kind::Text).framing();
    STATUS = Field::new("status", "Status", Kind::Unsigned).framing();
    STATUS_TEXT = Field::new("status", "Status", Kind::Text).framing();
    REASON = Field::new("reason", "Reason", Kind::Text).framing();
    HEADER = Field::new("header", "Header", Kind::Pair).framing();
    HEADER_NAME = Field::new("header_name", "Name", Kind::Text);
    HEADER_VALUE = Field::new("header_value", "Value", Kind::Text);
    BLANK = Field::new("blank", "End of the headers", Kind::Bytes).framing();
    BODY = Field::new("body", "Body", Kind::Text).framing();

    // Parameters. A number that is none shows as the text it is.
    PARAMETER = Field::new("parameter", "Parameter", Kind::Text).framing();
    BUILD_DEFS = Field::new("build_defs", "Client build environment", Kind::Unsigned);
    BUILD_DEFS_TEXT = Field::new("build_defs", "Client build environment", Kind::Text);
    GUID32 = Field::new("guid32", "GUID (deprecated)", Kind::Unsigned);
    GUID32_TEXT = Field::new("guid32", "GUID (deprecated)", Kind::Text);
    P = Field::new("p", "Server port number", Kind::Unsigned);
    P_TEXT = Field::new("p", "Server port number", Kind::Text);
    V = Field::new("v", "Protocol version number", Kind::Unsigned);
    V_TEXT = Field::new("v", "Protocol version number", Kind::Text);
    G = Field::new("g", "Game version number", Kind::Unsigned);
    G_TEXT = Field::new("g", "Game version number", Kind::Text);
    I = Field::new("i", "Request ID for state", Kind::Unsigned);
    I_TEXT = Field::new("i", "Request ID for state", Kind::Text);
    A_ADDRESS = Field::new("a", "Client IPv6 address", Kind::Text);
    U = Field::new("u", "User ID", Kind::Text);
    C = Field::new("c", "Client nonce", Kind::Text);
    A_DIGEST = Field::new("a", "Digest", Kind::Text);
    UNKNOWN = Field::new("unknown", "Parameter not in the document", Kind::Pair);
    SEPARATORS = Field::new("separators", "Separators", Kind::Bytes).framing();
    UNKNOWN_NAME = Field::new("parameter_name", "Name", Kind::Text);
    UNKNOWN_VALUE = Field::new("parameter_value", "Value", Kind::Text);
    REPEATED = Field::new("repeated", "Parameter given again", Kind::Text).framing();

    // Response lines
    KEYWORD = Field::new("keyword", "Keyword", Kind::Text).framing();
    FLAGS = Field::new("flags", "Flags", Kind::Unsigned).number(flags);
    FLAGS_TEXT = Field::new("flags", "Flags", Kind::Text);
    VERSION = Field::new("version", "Game version", Kind::Unsigned);
    VERSION_TEXT = Field::new("version", "Game version", Kind::Text);
    PROTOCOL = Field::new("protocol", "Protocol version", Kind::Unsigned);
    PROTOCOL_TEXT = Field::new("protocol", "Protocol version", Kind::Text);
    SERVERS = Field::new("servers", "Servers", Kind::List);
    SERVER = Field::new("server", "Server", Kind::Group);
    ADDRESS = Field::new("address", "Address", Kind::Text);
    PORT = Field::new("port", "Port", Kind::Unsigned);
    PORT_TEXT = Field::new("port", "Port", Kind::Text);
    WEIGHT = Field::new("weight", "Weight", Kind::Signed);
    WEIGHT_TEXT = Field::new("weight", "Weight", Kind::Text);
    LINE = Field::new("line", "Line", Kind::Text).framing();
    NEWLINE = Field::new("newline", "End of the line", Kind::Bytes).framing();
    TEXT = Field::new("text", "Text", Kind::Text);
    CONTROL = Field::new("control", "Control character", Kind::Char).framing();
    AUTH = Field::new("auth", "Authentication", Kind::Char).number(auth);
    CHALLENGE = Field::new("challenge", "Challenge", Kind::Text);
    LOOKUP = Field::new("lookup", "IP lookup", Kind::Text).text(lookup);
    RESULT = Field::new("result", "Result", Kind::Char).number(result);
    PRIVILEGE = Field::new("privilege", "Privilege", Kind::Char).number(privilege);
    NAME = Field::new("name", "Name", Kind::Text);

    // Socket check
    PROBE = Field::new("probe", "Probe", Kind::Bytes).framing();
}

fn flags(value: u64) -> Option<&'static str> {
    Some(match value & 0x03 {
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
