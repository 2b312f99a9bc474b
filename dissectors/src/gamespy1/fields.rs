//! The fields of the messages. The backslashes and the key belong to the value's bytes.

use super::form::Form;
use super::kept;
use crate::kit::{Field, Kind, PairFields, Treatment, fields, is_game, is_small_number};

fields! {
    // Heartbeats, challenges and the responses to them
    /// The port on which the server takes queries.
    PORT = Field::new("port", "Query port", Kind::Unsigned).kept();
    PORT_TEXT = Field::new("port_text", "Query port, no number", Kind::Text).framing();
    /// Name of the game, as the master knows it.
    GAMENAME = Field::new("gamename", "Game name", Kind::Text).kept_if(is_game);
    /// Region of the client.
    LOCATION = Field::new("location", "Location", Kind::Text).kept_if(is_small_number);
    /// The code that proves knowledge of the game's key.
    VALIDATE = Field::new("validate", "Validation code", Kind::Text).treated(Treatment::Code);
    /// The challenge from which the validation code is computed.
    CHALLENGE = Field::new("challenge", "Secure challenge", Kind::Text).treated(Treatment::CodeChallenge);

    // Lists
    /// The form of the requested list.
    LIST = Field::new("list", "Kind of list", Kind::Text).kept_if(kept::is_list);
    FORM = Field::new("form", "Form", Kind::Name).framing().number(form);
    /// The servers that the master lists.
    SERVERS = Field::new("servers", "Servers", Kind::List).of(&[&ADDRESS, &BLOCK]);
    ADDRESS = Field::new("address", "IP and query port", Kind::Text);
    BLOCK = Field::new("address", "IP and query port", Kind::Endpoint);
    /// How many there are, also of those that are no valid address.
    SERVER_COUNT = Field::new("server_count", "Number of servers", Kind::Unsigned).framing().kept();
    WHOLE = Field::new("whole", "Whole", Kind::Flag).framing();
    ENCIPHERED = Field::new("enciphered", "Enciphered list", Kind::Bytes).framing();

    // Queries and their responses
    /// The first keyword of the query.
    QUERY = Field::new("query", "Query", Kind::Text).kept_if(kept::is_keyword);
    /// The argument of the query.
    ARGUMENT = Field::new("argument", "Argument", Kind::Text).kept_if(kept::is_argument);
    /// The server's description of itself, its players and teams.
    PROPERTIES = Field::new("properties", "Properties", Kind::Map).of(&[&PAIR]);
    /// What a master says in plain text, without a key.
    WORDS = Field::new("words", "Words", Kind::Text);
    QUERYID = Field::new("queryid", "Query id", Kind::Text).framing().treated(Treatment::Words(is_small_number));
    /// The number that all packets of one response share.
    FRAGMENT_OF = Field::new("queryid", "Query id", Kind::Unsigned);
    /// The number of this packet, from 1.
    PART = Field::new("part", "Part", Kind::Unsigned);

    // Any message
    KEYWORD = Field::new("keyword", "Keyword", Kind::Text).framing().kept_if(kept::is_keyword);
    FINAL = Field::new("final", "End of the message", Kind::Text).framing().kept_if(kept::is_keyword);
    BACKSLASH = Field::new("backslash", "Backslash", Kind::Text).framing();
    /// The value of a key.
    PAIR = Field::new("pair", "Pair", Kind::Pair);
    KEY = Field::new("key", "Key", Kind::Text).key(kept::is_key_or_game);
    VALUE = Field::new("value", "Value", Kind::Text).value(kept::value);
}

/// A key that is not in the specification, and its value.
pub(super) static OTHER: PairFields = PairFields { pair: &PAIR, key: &KEY, value: &VALUE };

fn form(value: u64) -> Option<&'static str> {
    Some(match value {
        v if v == Form::Text as u64 => "text",
        v if v == Form::Compact as u64 => "compact: blocks of 4 bytes of address and 2 of port",
        v if v == Form::Groups as u64 => "groups",
        v if v == Form::Info as u64 => "info2",
        v if v == Form::Enciphered as u64 => "enciphered, as the client's enctype asks: not read",
        v if v == Form::Unknown as u64 => "neither text nor blocks of addresses",
        _ => return None,
    })
}
