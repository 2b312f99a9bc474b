//! The forms that lists have.

/// How a list is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// `\ip\ADDRESS:PORT`, over and over.
    #[default]
    Text,
    /// `\list\cmp\`: an address and a port in network order, over and over.
    Compact,
    /// `\list\groups\`: rooms, not servers.
    Groups,
    /// `\list\info2\`: servers with what they say of themselves.
    Info,
    /// The client's `\enctype\` asks for a cipher.
    Enciphered,
    /// Bytes that nothing explains.
    Unknown,
}

impl Form {
    /// The form that a request asks for: the value of its `\list\`.
    pub(super) fn asked(value: &[u8]) -> Form {
        match value {
            b"cmp" => Form::Compact,
            b"groups" => Form::Groups,
            b"info2" => Form::Info,
            _ => Form::Text,
        }
    }
}
