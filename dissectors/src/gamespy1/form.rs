//! The forms of lists.

/// The form of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// `\ip\ADDRESS:PORT`, repeated.
    #[default]
    Text,
    /// `\list\cmp\`: an address and a port in network order, repeated.
    Compact,
    /// `\list\groups\`: rooms, not servers.
    Groups,
    /// `\list\info2\`: servers with their descriptions.
    Info,
    /// The client's `\enctype\` requests encryption.
    Enciphered,
    /// Unknown bytes.
    Unknown,
}

impl Form {
    /// The form of a request, from the value of its `\list\`.
    pub(super) fn asked(value: &[u8]) -> Form {
        match value {
            b"cmp" => Form::Compact,
            b"groups" => Form::Groups,
            b"info2" => Form::Info,
            _ => Form::Text,
        }
    }
}
