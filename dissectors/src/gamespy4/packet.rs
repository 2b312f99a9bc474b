//! The kind of a packet before it is decoded, and the properties that the conversation needs after
//! that.

use crate::kit::Read;

/// The first two bytes of a request.
pub(super) const MAGIC: u16 = 0xFEFD;
/// The byte of a challenge request and of its response.
pub(super) const CHALLENGE: u8 = 0x09;
/// The byte of an info request and of its response.
pub(super) const INFO: u8 = 0x00;

/// The kind of a request or response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PacketKind {
    Challenge,
    Info,
    #[default]
    Unknown,
}

impl PacketKind {
    /// The kind of the packets with this type.
    pub(super) fn of(kind: u8) -> PacketKind {
        match kind {
            CHALLENGE => PacketKind::Challenge,
            INFO => PacketKind::Info,
            _ => PacketKind::Unknown,
        }
    }

    /// The type of its packets.
    pub(super) fn byte(self) -> Option<u8> {
        match self {
            PacketKind::Challenge => Some(CHALLENGE),
            PacketKind::Info => Some(INFO),
            PacketKind::Unknown => None,
        }
    }
}

/// The layout of an info request or its response: the specification's, or another game's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RequestForm {
    /// Challenge and FF FF FF 01.
    Ut3,
    /// Challenge and 00 00 00 00.
    MinecraftFull,
    /// Challenge only; the response is a plain list.
    MinecraftBasic,
    /// The GameSpy SDK's three selectors and flags, and no challenge.
    Qr2,
    /// The same after a challenge, but not FF FF FF 01.
    Qr2Challenge,
    /// Challenge and FF FF FF 02; the response is one packet with another layout of players.
    JustCause,
    /// A response without a split header, which the GameSpy SDK sends if none was requested.
    Unsplit,
    /// A response with a split header from the GameSpy SDK for games other than UT3.
    Split,
    /// An unknown layout.
    #[default]
    Other,
}

impl RequestForm {
    /// Whether a request in this form carries a challenge.
    pub(super) fn has_challenge(self) -> bool {
        matches!(
            self,
            RequestForm::Ut3
                | RequestForm::MinecraftFull
                | RequestForm::MinecraftBasic
                | RequestForm::Qr2Challenge
                | RequestForm::JustCause
        )
    }
}

/// The properties of a request that the conversation needs.
#[derive(Clone, Copy, Default)]
pub(super) struct RequestSummary {
    pub(super) kind: PacketKind,
    pub(super) timestamp: Option<u32>,
    pub(super) challenge: Option<Read<i32>>,
    pub(super) form: RequestForm,
    /// It is valid so far.
    pub(super) sound: bool,
}

/// The properties of a response that the conversation needs.
#[derive(Clone, Copy, Default)]
pub(super) struct ResponseSummary {
    pub(super) timestamp: Option<Read<u32>>,
    /// Its challenge.
    pub(super) challenge: Option<i32>,
    /// The server names a game other than UT3, or uses another game's layout.
    pub(super) other_game: bool,
    /// The port for players.
    pub(super) game_port: Option<u16>,
}

/// Whether this is a request with damaged first bytes: it has the length and the type of one, and
/// one of the two bytes, or both in the wrong order.
pub(super) fn is_damaged_request(bytes: &[u8]) -> bool {
    let near = matches!(
        bytes,
        [0xFE, _, INFO | CHALLENGE, ..]
            | [_, 0xFD, INFO | CHALLENGE, ..]
            | [0xFD, 0xFE, INFO | CHALLENGE, ..]
    );
    near && matches!(bytes.len(), 7 | 11 | 15) && !bytes.starts_with(&MAGIC.to_be_bytes())
}

/// The number of digits, with the sign, of a challenge in the layout of known servers.
pub(super) fn challenge_digits(text: &[u8]) -> Option<usize> {
    let length = text.iter().position(|&byte| byte == 0)?;
    decimal(text.get(..length)?)?;
    let zeros = text.iter().skip(length).all(|&byte| byte == 0);
    (zeros && (text.len() == 12 || text.len() == length + 1)).then_some(length)
}

/// Whether a packet of an info response has its split header, whatever its type.
pub(super) fn has_split_header(bytes: &[u8]) -> bool {
    bytes.get(5..14) == Some(b"splitnum\0".as_slice()) && bytes.len() >= 16
}

/// The kind of a response and the timestamp that it repeats, from all bytes but the first.
pub(super) fn response_after_any_type(bytes: &[u8]) -> Option<(PacketKind, u32)> {
    let (timestamp, rest) = bytes.get(1..)?.split_first_chunk()?;
    let kind = match rest {
        _ if has_split_header(bytes) => PacketKind::Info,
        _ => challenge_digits(rest).map(|_| PacketKind::Challenge)?,
    };
    Some((kind, u32::from_be_bytes(*timestamp)))
}

/// A decimal number of 32 bits, signed; "This number can start with a minus sign".
pub(super) fn decimal(text: &[u8]) -> Option<i32> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
