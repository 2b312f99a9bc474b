//! Messages in words, which engines send with the header of A2S: a player who joins, a remote console, the queries of the
//! first servers of Half-Life.

/// The words with which such messages begin; those of clients first.
static COMMANDS: [&[u8]; 16] = [
    b"details",
    b"players",
    b"rules",
    b"ping",
    b"infostring",
    b"getchallenge",
    b"connect",
    b"qconnect",
    b"rcon",
    b"challenge",
    b"getinfo",
    b"getstatus",
    b"disconnect",
    b"infostringresponse",
    b"statusResponse",
    b"print",
];

/// How many of them only clients send, and no other protocol than the engines' of A2S on their ports.
const OF_CLIENTS: usize = 9;

/// The word that a message begins with, if it is one of them. What follows is no letter: `qconnect0x01B4D3E5`.
#[inline]
pub(super) fn command(message: &[u8]) -> Option<&'static [u8]> {
    among(&COMMANDS, message)
}

/// The same of what only clients send.
pub(super) fn command_of_client(message: &[u8]) -> Option<&'static [u8]> {
    among(COMMANDS.get(..OF_CLIENTS)?, message)
}

fn among(commands: &[&'static [u8]], message: &[u8]) -> Option<&'static [u8]> {
    // The message bytes of most requests and responses are capital letters.
    if !message.first()?.is_ascii_lowercase() {
        return None;
    }
    let letters = message.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = message.get(..letters)?;
    commands.iter().find(|&&command| command == word).copied()
}

/// How many of the first bytes are text: characters that can be shown, and the ends of lines. Letters beyond ASCII may be in
/// any character set.
pub(super) fn text_length(bytes: &[u8]) -> usize {
    let is_shown = |byte: u8| byte >= 0xA0 || matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    bytes.iter().take_while(|&&byte| is_shown(byte)).count()
}

/// Whether all bytes are text, with or without zeros at the end; mostly in ASCII, as binary data is not.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let length = text_length(bytes);
    let (text, rest) = bytes.split_at(length);
    let ascii = text.iter().filter(|byte| byte.is_ascii()).count();
    length > 0 && rest.iter().all(|&byte| byte == 0) && 4 * ascii >= 3 * length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_ends_where_its_letters_end() {
        assert_eq!(command(b"qconnect0x01B4D3E5"), Some(&b"qconnect"[..]));
        assert_eq!(command(b"connect 48 1 \"\\prot\\3\""), Some(&b"connect"[..]));
        assert_eq!(command(b"connected"), None);
        assert_eq!(command_of_client(b"print\nhello"), None);
    }

    #[test]
    fn binary_data_is_no_text() {
        assert!(is_text(b" 1 \"10.1.0.1:27005\" 1 8684\0") && is_text(b"J\xF6rg, bad challenge\n"));
        for binary in [&b""[..], b"\0\0", b"a\0b", b"\xE9\xC3\xA4\xF0", b"\x01ab"] {
            assert!(!is_text(binary), "{binary:?}");
        }
    }
}
