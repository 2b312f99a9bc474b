//! The fields of the protocol's messages, in the order of the specification.

use crate::kit::{Field, Kind, PairFields, Treatment, fields};

use super::info_keys::{self, region};
use super::{conditions, kept};

fields! {
    HEADER = Field::new("header", "Header", Kind::Signed).framing();
    TYPE = Field::new("type", "Message Type", Kind::Char).framing().number(message_type).kept();
    LINE_FEED = Field::new("line_feed", "Line feed", Kind::Unsigned).framing().kept();
    TERMINATOR = Field::new("terminator", "Terminating zero", Kind::Unsigned).framing().kept();
    DIALECT = Field::new("dialect", "Dialect", Kind::Name).framing().number(dialect);
    BODY = Field::new("body", "Body", Kind::Bytes).framing().blocks_after(kept::broken_header);

    // Client to master server
    /// The region of the requested servers; 255 is the whole world.
    REGION = Field::new("region", "Region Code", Kind::Unsigned).number(region).kept();
    /// The last server of the reply before, or 0.0.0.0:0 for the first.
    SEED = Field::new("seed", "IP:Port", Kind::Text);
    /// What servers have to match, as keys and values after backslashes.
    FILTER = Field::new("filter", "Filter", Kind::Text);
    NOR = Field::new("nor", "None of", Kind::Group);
    NAND = Field::new("nand", "Not all of", Kind::Group);
    CONDITION = Field::new("condition", "Condition", Kind::Pair).pair(conditions::meaning);
    KEY = Field::new("key", "Key", Kind::Text).key(kept::is_key);
    VALUE = Field::new("value", "Value", Kind::Text).value(kept::value);

    // Reply format
    KEY_MARK = Field::new("key_mark", "Mark of a repeated key", Kind::Unsigned).framing().kept();
    REPLY_KEY = Field::new("key", "Key of the query", Kind::Unsigned).framing().treated(Treatment::Hexadecimal);
    RESERVED = Field::new("reserved", "Reserved", Kind::Unsigned).framing().kept();
    /// The servers that the master lists.
    SERVERS = Field::new("servers", "Servers", Kind::List).of(&[&SERVER, &SERVER6]);
    SERVER = Field::new("server", "Server address block", Kind::Endpoint);
    SERVER6 = Field::new("server", "Server address block", Kind::Endpoint6);
    /// How many there are, also of those that are no valid address.
    SERVER_COUNT = Field::new("server_count", "Number of servers", Kind::Unsigned).framing().kept();
    /// The list ends with this reply.
    END = Field::new("end", "End of the list", Kind::Flag);

    // Game server to master server
    SERVER_CHALLENGE_MARK =
        Field::new("server_challenge_mark", "Mark of the server's challenge", Kind::Unsigned).framing().kept();
    /// The number that the master must repeat in its challenge.
    SERVER_CHALLENGE = Field::new("server_challenge", "The server's challenge", Kind::Unsigned);
    /// The number that the master gives and the server must repeat.
    CHALLENGE = Field::new("challenge", "Challenge", Kind::Signed).treated(Treatment::Challenge);
    CHALLENGE_BYTES =
        Field::new("challenge_bytes", "Challenge, not 4 bytes long", Kind::Bytes).framing();
    /// The server's description of itself.
    INFO = Field::new("info", "Challenge information", Kind::Map).of(&[&INFO_PAIR]);
    /// The value of a key.
    INFO_PAIR = Field::new("pair", "Pair", Kind::Pair).pair(info_keys::meaning);
    ORDER = Field::new("order", "Order of the keys", Kind::Name).framing().number(order);
    FORM = Field::new("form", "Form", Kind::Name).framing().number(order);

    // Xash3D's dialect
    SEPARATOR = Field::new("separator", "Space", Kind::Char).framing().kept();
    /// Address and port of the client that wants to reach the server through NAT.
    CLIENT = Field::new("client", "Client", Kind::Text);
}

/// A condition of a filter.
pub(super) static CONDITION_FIELDS: PairFields =
    PairFields { pair: &CONDITION, key: &KEY, value: &VALUE };

/// A pair of an info string.
pub(super) static INFO_FIELDS: PairFields =
    PairFields { pair: &INFO_PAIR, key: &KEY, value: &VALUE };

/// The only value of [`DIALECT`].
pub(super) const XASH3D: u64 = 0;

fn message_type(value: u64) -> Option<&'static str> {
    Some(match value as u8 {
        b'1' => "query",
        b'f' => "reply",
        b'q' => "join",
        b's' => "challenge",
        b'0' => "challenge response",
        b'b' => "quit",
        b'c' => "notice of a client, not in the specification",
        _ => return None,
    })
}

fn dialect(value: u64) -> Option<&'static str> {
    (value == XASH3D).then_some("xash3d")
}

/// The engine that uses a form. The values are those of [`Engine`](info_keys::Engine).
fn order(value: u64) -> Option<&'static str> {
    ["goldsrc", "source", "orange_box"].get(value as usize).copied()
}
