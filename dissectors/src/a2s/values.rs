//! What a server says of itself in an info response, by the names that a master's filters compare: those of the info
//! strings with which servers join a master.

use super::decode::{DecodeContext, message};
use super::fields as f;
use crate::kit::{Field, Kind, Tree};

/// The fields of an info response, and their keys.
static KEYS: [(&Field, &str); 13] = [
    (&f::NAME, "name"),
    (&f::MAP, "map"),
    (&f::FOLDER, "gamedir"),
    (&f::PLAYERS_COUNT, "players"),
    (&f::MAX_PLAYERS, "max"),
    (&f::SERVER_TYPE, "type"),
    (&f::ENVIRONMENT, "os"),
    (&f::VISIBILITY, "password"),
    (&f::VAC, "secure"),
    (&f::VERSION, "version"),
    (&f::KEYWORDS, "gametype"),
    (&f::APP_ID, APP_ID),
    (&f::FULL_APP_ID, APP_ID),
];

const APP_ID: &str = "appid";

/// The values as `\key\value`; nothing if the response is cut.
pub(super) fn values(bytes: &[u8]) -> Vec<u8> {
    let mut tree = Tree::default();
    if !message(bytes, DecodeContext::default(), &mut tree).whole {
        return Vec::new();
    }
    let (view, mut values) = (tree.view(), Values(Vec::new()));
    // The whole number follows the one of 16 bits, if it has more.
    let mut app_id = 0;
    for node in view.nodes {
        let key = KEYS.iter().find(|(field, _)| std::ptr::eq(*field, node.field));
        match (key.map(|(_, key)| *key), node.field.kind) {
            (None, _) => {}
            (Some(APP_ID), _) => app_id = node.value,
            (Some(key @ ("type" | "os")), _) => values.add(key, &[node.value as u8]),
            (Some(key), Kind::Text) => values.add(key, view.bytes(node, bytes)),
            (Some(key), _) => values.add(key, node.value.to_string().as_bytes()),
        }
    }
    if app_id > 0 {
        values.add(APP_ID, app_id.to_string().as_bytes());
    }
    values.0
}

/// Keys and values.
struct Values(Vec<u8>);

impl Values {
    /// A value with a backslash would be taken for more keys: such a one is unknown.
    fn add(&mut self, key: &str, value: &[u8]) {
        if !value.contains(&b'\\') {
            self.0.extend([b"\\", key.as_bytes(), b"\\", value].concat());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of an info response with these bytes after its version.
    fn values_of(after: &[u8]) -> String {
        let start = b"\xFF\xFF\xFF\xFFI\x11Mill Creek\0ctf_2fort\0tf\0Team Fortress\0\xB8\x01\x03\x18\x01dl\x00\x011.0\0";
        String::from_utf8(values(&[start, after].concat())).unwrap()
    }

    const COMMON: &str = r"\name\Mill Creek\map\ctf_2fort\gamedir\tf\players\3\max\24\type\d\os\l\password\0\secure\1\version\1.0";

    #[test]
    fn values_have_the_names_of_info_strings() {
        assert_eq!(values_of(b""), format!(r"{COMMON}\appid\440"));
        let all = b"\xF1\x87\x69\x01\0\0\0\0\0\0\0\x88\x69TV\0alltalk,cp\0\x41\x42\x0F\0\0\0\0\0";
        assert_eq!(values_of(all), format!(r"{COMMON}\gametype\alltalk,cp\appid\1000001"));
        let obsolete = b"\xFF\xFF\xFF\xFFm10.0.0.2:27015\0A\\B\0de_dust\0cstrike\0CS\0\x01\x10\x2Fdw\x01\0\x01\0";
        let expected =
            r"\map\de_dust\gamedir\cstrike\players\1\max\16\type\d\os\w\password\1\secure\1";
        assert_eq!(String::from_utf8(values(obsolete)).unwrap(), expected);
    }

    #[test]
    fn a_cut_response_has_no_values() {
        assert_eq!(values_of(b"\xA0\x87\x69alltalk"), "");
        assert_eq!(values(b"\xFF\xFF\xFF\xFFI\x11Mill"), b"");
        assert_eq!(values(b"\xFF\xFF\xFF\xFFA1234"), b"");
    }
}
